//! Many processes change one record on a real disk: what was acknowledged is there, the record can always be read, no lock
//! is lost; and whoever is killed in the middle leaves a record that the next command works on.
//!
//! 16 processes at a time make 6 changes each, and 24 more are killed; `KDNA_STORM=50` makes it 50 each.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]
#![cfg(feature = "runtime")]

mod support;

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::value::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use support::command::{Exit, Finished, Program, Scratch, run};
use support::documents::{at, parse};
use support::package;

const WRITERS: usize = 16;

fn changes_each() -> usize {
    std::env::var("KDNA_STORM").ok().and_then(|text| text.parse().ok()).unwrap_or(6)
}

struct Project {
    scratch: Scratch,
    assets: [PathBuf; 2],
}

impl Project {
    fn new() -> Self {
        let scratch = Scratch::new();
        scratch.directory("ws", 0o755);
        let asset = |case: &str, name: &str| {
            let bytes = fs::read(package().join("fixtures/golden/cases").join(case).join("files/a.kdna")).unwrap();
            scratch.file(name, bytes, 0o644)
        };
        let assets = [asset("attach-preview", "one.kdna"), asset("switch-yes", "two.kdna")];
        Self { scratch, assets }
    }

    fn kdna(&self, arguments: &[&str]) -> Finished {
        run(self.scratch.command(Program::Owner, arguments.iter().chain(&["--cwd", "ws"])), None)
    }

    fn attach(&self, role: &str) -> Finished {
        let asset = self.assets[0].to_str().unwrap();
        let approved = ["--yes", "--scope-user-approved"];
        self.kdna(&[&["attach", asset, "--role", role, "--applies-to", "review"][..], &approved].concat())
    }

    fn kdna_directory(&self) -> PathBuf {
        self.scratch.path().join("ws/.kdna")
    }

    /// The record as any reader sees it now.
    fn record(&self) -> Record {
        let bytes = fs::read(self.kdna_directory().join("attachments.json")).expect("a record");
        Record::read(&bytes).expect("a record that can be read")
    }

    fn assert_whole(&self) {
        for asset in self.record().references() {
            let stored = fs::read(self.kdna_directory().join(&asset.snapshot)).expect("a snapshot");
            assert_eq!(Digest::of(&stored), asset.digest);
        }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.kdna_directory()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn id_of(done: &Finished) -> String {
    let document = parse(&done.stdout).expect("a document");
    at(&document, "/attachment/attachment_id").and_then(Value::as_str).expect("an id").to_owned()
}

/// What one writer was told about its own attachments: id, whether enabled, how often switched.
type Told = BTreeMap<String, (bool, usize)>;

/// One change of an attachment of the writer's own. Tells whether it was acknowledged; a refusal is always the lock's.
fn change(project: &Project, told: &mut Told, role: &str, step: usize) -> bool {
    let oldest = told.keys().next().cloned();
    let two = project.assets[1].to_str().unwrap();
    let retain = ["--retain-scope", "--yes", "--scope-user-approved"];
    let (done, id) = match (step % 5, oldest) {
        (_, None) | (0, Some(_)) => (project.attach(role), None),
        (1, Some(id)) => (project.kdna(&["disable", &id]), Some(id)),
        (2, Some(id)) => (project.kdna(&["enable", &id]), Some(id)),
        (3, Some(id)) => (project.kdna(&[&["switch", &id, two][..], &retain].concat()), Some(id)),
        (_, Some(id)) => (project.kdna(&["remove", &id]), Some(id)),
    };
    if done.exit != Exit::Status(0) {
        assert_eq!(done.exit, Exit::Status(2), "{}", done.stderr_text());
        assert!(done.stderr_text().starts_with("Error: [workspace_locked] "), "{}", done.stderr_text());
        return false;
    }
    match (id, step % 5) {
        (None, _) => drop(told.insert(id_of(&done), (true, 0))),
        (Some(id), 1) => told.get_mut(&id).unwrap().0 = false,
        (Some(id), 2) => told.get_mut(&id).unwrap().0 = true,
        (Some(id), 3) => told.get_mut(&id).unwrap().1 += 1,
        (Some(id), _) => drop(told.remove(&id)),
    }
    true
}

/// Another program of the field, which knows only the published lock: counts in the role of its own attachment. Tells
/// whether it got the lock.
fn foreign_change(kdna: &Path, id: &str) -> bool {
    let owner = kdna.join(".attachments-lock-owner-foreign.tmp");
    let lock = kdna.join("attachments.lock");
    fs::write(&owner, format!("{{\"pid\":{},\"created_at\":\"2026-06-01T09:00:00.000Z\"}}\n", std::process::id()))
        .unwrap();
    let taken = fs::hard_link(&owner, &lock).is_ok();
    fs::remove_file(&owner).unwrap();
    if !taken {
        return false;
    }
    let path = kdna.join("attachments.json");
    let record = Record::read(&fs::read(&path).unwrap()).unwrap();
    let attachment = record.find(id).unwrap();
    let count: usize = attachment.role.strip_prefix("foreign ").unwrap().parse().unwrap();
    let mut entry = attachment.entry().as_object().unwrap().clone();
    entry.insert("role", format!("foreign {}", count + 1));
    let new = record.replaced(id, &Value::Object(entry)).unwrap();
    let temporary = kdna.join(".attachments-foreign.tmp");
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&temporary).unwrap();
    std::io::Write::write_all(&mut file, &new.to_bytes().unwrap()).unwrap();
    fs::rename(&temporary, &path).unwrap();
    fs::remove_file(&lock).unwrap();
    true
}

#[test]
fn whatever_was_acknowledged_is_in_the_record() {
    let project = Project::new();
    let foreign = id_of(&project.attach("foreign 0"));
    let over = AtomicBool::new(false);
    let (reads, refused, counted) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let told: Vec<Told> = std::thread::scope(|scope| {
        let readers = [
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    project.record();
                    reads.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                }
            }),
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let shown = project.kdna(&["attachments"]);
                    assert_eq!(shown.exit, Exit::Status(0), "{}", shown.stderr_text());
                    Record::read(&shown.stdout).expect("a record");
                    std::thread::sleep(Duration::from_millis(50));
                }
            }),
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    let done = foreign_change(&project.kdna_directory(), &foreign);
                    counted.fetch_add(usize::from(done), Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(7));
                }
            }),
        ];
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (project, refused) = (&project, &refused);
                scope.spawn(move || {
                    let mut told = Told::new();
                    for step in 0..changes_each() {
                        let done = change(project, &mut told, &format!("writer {writer}"), step);
                        refused.fetch_add(usize::from(!done), Ordering::SeqCst);
                    }
                    told
                })
            })
            .collect();
        let told = writers.into_iter().map(|writer| writer.join().expect("a writer")).collect();
        over.store(true, Ordering::SeqCst);
        for reader in readers {
            reader.join().expect("a reader");
        }
        told
    });
    let record = project.record();
    let is: Told = record
        .attachments()
        .iter()
        .filter(|attachment| attachment.id != foreign)
        .map(|attachment| (attachment.id.clone(), (attachment.enabled, attachment.history.len())))
        .collect();
    let expected: Told = told.into_iter().flatten().collect();
    assert_eq!(is, expected);
    let counted = counted.load(Ordering::SeqCst);
    assert_eq!(record.find(&foreign).unwrap().role, format!("foreign {counted}"));
    let made = WRITERS * changes_each() - refused.load(Ordering::SeqCst);
    assert!(made > WRITERS && counted > 0 && reads.load(Ordering::SeqCst) > 10, "{made}, {counted}");
    project.assert_whole();
    assert_eq!(project.names(), [".attachments-lock.tmp", ".gitignore", "assets", "attachments.json"]);
}

/// The time after which the `n`th process is killed: from before its first step until after its last.
fn moment(n: usize) -> Duration {
    Duration::from_micros(u64::try_from(n * 7919 % 60_000).unwrap())
}

#[test]
fn whoever_is_killed_leaves_a_record_that_the_next_command_works_on() {
    let project = Project::new();
    let id = id_of(&project.attach("kept"));
    let two = project.assets[1].to_str().unwrap();
    let retain = ["--retain-scope", "--yes", "--scope-user-approved"];
    let commands: [Vec<&str>; 3] = [
        vec!["disable", &id],
        [&["switch", &id, two][..], &retain].concat(),
        [&["attach", two, "--applies-to", "review"][..], &retain[1..]].concat(),
    ];
    for n in 0..changes_each() * 4 {
        let mut command = project.scratch.command(Program::Owner, commands[n % 3].iter().chain(&["--cwd", "ws"]));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(moment(n));
        child.kill().unwrap();
        child.wait().unwrap();
        project.assert_whole();
        assert!(project.record().find(&id).is_some());
    }
    let next = project.kdna(&["disable", &id]);
    assert_eq!(next.exit, Exit::Status(0), "{}", next.stderr_text());
    assert!(!project.record().find(&id).unwrap().enabled);
    assert_eq!(project.names(), [".attachments-lock.tmp", ".gitignore", "assets", "attachments.json"]);
    let mode = fs::metadata(project.kdna_directory().join("attachments.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[test]
fn the_lock_of_another_program_is_respected_while_it_lives() {
    let project = Project::new();
    let id = id_of(&project.attach("kept"));
    let lock = project.kdna_directory().join("attachments.lock");
    let before = fs::read(project.kdna_directory().join("attachments.json")).unwrap();
    fs::write(&lock, format!("{{\"pid\":{},\"created_at\":\"2026-06-01T09:00:00.000Z\"}}\n", std::process::id()))
        .unwrap();
    let refused = project.kdna(&["disable", &id]);
    assert_eq!(refused.exit, Exit::Status(2));
    assert!(refused.stderr_text().starts_with("Error: [workspace_locked] "), "{}", refused.stderr_text());
    assert_eq!(fs::read(project.kdna_directory().join("attachments.json")).unwrap(), before);
    assert!(lock.exists(), "it is not ours to remove");
    fs::write(&lock, "{\"pid\":4194303,\"created_at\":\"2026-06-01T09:00:00.000Z\"}\n").unwrap();
    assert_eq!(project.kdna(&["disable", &id]).exit, Exit::Status(0));
    assert!(!lock.exists());
}
