//! A search of everything that could have been written to, after loads of every ending.

use crate::session::{Names, PHRASE, Reply, Session, asset, canary, children, files_below, holds, signal, stop_worker};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Larger files are none that a load could have left.
const LARGEST: u64 = 32 << 20;

/// Every file in the scratch place, and everything in shared memory and the temporary folders that was changed since.
fn places(session: &Session, since: SystemTime) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files_below(session.scratch.path(), &mut found);
    for folder in ["/dev/shm", "/tmp", "/var/tmp", "/run/user"] {
        recent_below(Path::new(folder), since, &mut found);
    }
    recent_below(&std::env::temp_dir(), since, &mut found);
    found
}

/// As `files_below`, without what is older than `since`: a directory that was not changed can still hold a file that was,
/// so only files are judged by their time.
fn recent_below(folder: &Path, since: SystemTime, found: &mut Vec<PathBuf>) {
    let mut all = Vec::new();
    files_below(folder, &mut all);
    let floor = i64::try_from(since.duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    found.extend(
        all.into_iter().filter(|file| {
            fs::symlink_metadata(file).is_ok_and(|facts| facts.ctime() >= floor && facts.len() <= LARGEST)
        }),
    );
}

/// The files that hold one of the texts, but for the stored asset; and memory files of any process that do.
fn holders(session: &Session, since: SystemTime, texts: &[&str]) -> Vec<PathBuf> {
    let memory = memory_files();
    let all = places(session, since).into_iter().chain(memory).filter(|file| *file != session.snapshot_path());
    let guilty = |file: &PathBuf| fs::read(file).is_ok_and(|bytes| texts.iter().any(|text| holds(&bytes, text)));
    let guilty: BTreeSet<PathBuf> = all.filter(guilty).collect();
    guilty.into_iter().collect()
}

/// Every memory file that a process of this user holds open or mapped.
fn memory_files() -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let descriptors = processes.flat_map(|process| fs::read_dir(process.join("fd")).into_iter().flatten().flatten());
    descriptors
        .map(|entry| entry.path())
        .filter(|link| {
            fs::read_link(link).is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"))
        })
        .collect()
}

#[test]
fn nothing_on_disk_in_shared_memory_or_in_temporary_folders_holds_a_capsule_or_a_task() {
    let since = SystemTime::now();
    let (judgment, task) = (canary("judgment"), canary("task"));
    let bytes = asset(&judgment, 1 << 19);
    assert!(holds(&bytes, &judgment), "the asset stores its judgment openly");
    let names = Names { consent: "consent".into(), authorization: "password".into() };
    let session = Session::new(&bytes, names);
    let ask = format!("{PHRASE} {task}");

    let mut server = session.start();
    for id in 1..=3 {
        let reply = server.ask(&session.load(id, &ask));
        assert!(Reply::read(&reply).is_delivered() && holds(reply.as_bytes(), &judgment));
    }
    assert!(!Reply::read(&server.ask(&session.load(4, &format!("about {task}")))).is_delivered());
    fs::remove_file(session.consent_path()).unwrap();
    let refused = server.ask(&session.load(5, &ask));
    assert!(!holds(refused.as_bytes(), &judgment) && !holds(refused.as_bytes(), &task));
    session.allow('b');
    server.send(&session.load(6, &ask));
    if let Some(worker) = stop_worker(server.id(), 3, Duration::from_secs(10)) {
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#);
        assert!(crate::session::all_end(&[worker.0], Duration::from_secs(1)));
    } else {
        server.receive(Duration::from_secs(10));
    }
    assert!(Reply::read(&server.ask(&session.load(7, &ask))).is_delivered());
    assert!(children(server.id()).is_empty());
    let held = fs::read_dir(format!("/proc/{}/fd", server.id()));
    let names = held.into_iter().flatten().flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    assert!(
        names.into_iter().all(|name| !name.to_string_lossy().contains("memfd")),
        "an idle server holds a memory file"
    );

    let mut stderr = server.close().stderr;
    let mut killed = 0;
    for number in [1, 2, 3, 3] {
        let mut server = session.start();
        server.send(&session.load(1, &ask));
        if stop_worker(server.id(), number, Duration::from_secs(10)).is_some() {
            signal(server.id(), Signal::KILL);
            killed += 1;
        }
        stderr.extend(server.close().stderr);
    }
    assert!(killed >= 1, "no server could be killed in the middle of a load");

    let texts = [judgment.as_str(), task.as_str()];
    assert_eq!(holders(&session, since, &texts), Vec::<PathBuf>::new());
    assert!(texts.iter().all(|text| !holds(&stderr, text)), "standard error holds content");
    let mut journal = Vec::new();
    files_below(&session.scratch.state(), &mut journal);
    assert!(journal.iter().any(|file| file.extension().is_some_and(|end| end == "jsonl")), "the journal was searched");

    // The same search finds what is there.
    let planted = session.scratch.file("state/journal/planted", format!("x{judgment}x"), 0o600);
    assert_eq!(holders(&session, since, &texts).as_slice(), std::slice::from_ref(&planted));
    fs::remove_file(planted).unwrap();
    let elsewhere = tempfile::Builder::new().prefix("kdna-planted-").tempdir().unwrap();
    let planted = elsewhere.path().join("file");
    fs::write(&planted, format!("\u{fffd}{task}")).unwrap();
    assert!(holders(&session, since, &texts).contains(&planted));
    let memory = rustix::fs::memfd_create("planted", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&memory, task.as_bytes()).unwrap();
    let is_memory = |file: &PathBuf| file.starts_with("/proc");
    assert!(holders(&session, since, &texts).iter().any(is_memory));
}
