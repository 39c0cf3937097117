//! Private files: modes, owners, kinds, sizes, temporary names.

use super::simulated::{broker, load, system};
use super::{CONSENT_INVALID, CONSENT_REQUIRED, in_a_process_of_its_own, meanwhile};
use crate::support::command::Server;
use crate::support::real::{Place, delivered, refused, status};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::limits::CONSENT_BYTES;
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::system::{Fault, System};
use rustix::fs::{CWD, FileType, Mode, RenameFlags};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn file_mode_matrix() {
    let place = Place::new();
    let (file, parent) = (place.path("private/consent.json"), place.path("private"));
    let mut accepted = Vec::new();
    for above in [0o700, 0o750, 0o755, 0o770, 0o1777] {
        chmod(&parent, above);
        let mut server = place.serve();
        for mode in [0o600, 0o400, 0o640, 0o604, 0o660, 0o666, 0o700, 0o4600, 0o2600, 0o1600] {
            chmod(&file, mode);
            let answer = server.ask(&place.load(1));
            if delivered(&answer) {
                accepted.push((above, mode));
            } else {
                let expected = if above == 0o700 { CONSENT_INVALID } else { CONSENT_REQUIRED };
                refused(&answer, expected);
            }
        }
    }
    let open: Vec<_> = accepted.iter().filter(|(above, mode)| *above != 0o700 || mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "open to others and accepted: {open:?}");
    assert!(accepted.contains(&(0o700, 0o600)), "the control");
}

#[test]
fn file_parent_writable() {
    let place = Place::new();
    place.scratch.directory("above", 0o777);
    place.scratch.directory("above/private", 0o700);
    fs::rename(place.path("private/consent.json"), place.path("above/private/consent.json")).unwrap();
    let path = place.path("above/private/consent.json");
    let load = || {
        let mut server = place.serve_with(|command| command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", &path));
        server.ask(&place.load(1))
    };
    refused(&load(), CONSENT_REQUIRED);
    chmod(&place.path("above"), 0o1777);
    assert!(delivered(&load()), "a sticky directory lets nobody exchange what is another's");
}

/// The consent exchanged for something else, while a server runs and before one starts.
fn odd(make: impl Fn(&Path)) {
    let place = Place::new();
    let path = place.path("private/consent.json");
    let mut server = place.serve();
    fs::remove_file(&path).unwrap();
    make(&path);
    let begun = Instant::now();
    refused(&server.ask(&place.load(1)), CONSENT_INVALID);
    refused(&place.try_load(), CONSENT_INVALID);
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn file_fifo_consent() {
    odd(|path| {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0).unwrap();
    });
}

#[test]
fn file_device_socket() {
    odd(|path| drop(UnixListener::bind(path).unwrap()));
    odd(|path| fs::create_dir(path).unwrap());
    let place = Place::new();
    let mut server = place.serve_with(|command| command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", "/dev/zero"));
    refused(&server.ask(&place.load(1)), CONSENT_REQUIRED);
    // A device in the private directory itself needs a right that only root has.
    let path = place.path("private/device");
    let (kind, mode) = (FileType::CharacterDevice, Mode::from_raw_mode(0o600));
    if rustix::fs::mknodat(CWD, &path, kind, mode, rustix::fs::makedev(1, 5)).is_ok() {
        let mut server = place.serve_with(|command| command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", &path));
        refused(&server.ask(&place.load(1)), CONSENT_INVALID);
    }
}

fn resident(server: &Server) -> u64 {
    status(server.id(), "VmRSS").unwrap().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn file_huge_sparse() {
    let place = Place::new();
    let path = place.path("private/consent.json");
    let mut server = place.serve();
    let whole = place.consent().bytes();
    assert!(delivered(&server.ask(&place.load(1))));
    let before = resident(&server);
    for length in [1 << 40, CONSENT_BYTES + 1, 0] {
        place.allow();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        refused(&server.ask(&place.load(2)), CONSENT_INVALID);
    }
    assert!(resident(&server) < before + 1024, "{before} KiB grew to {}", resident(&server));
    let padded = |length: u64| [whole.clone(), vec![b' '; usize::try_from(length).unwrap() - whole.len()]].concat();
    place.scratch.file("private/consent.json", padded(CONSENT_BYTES), 0o600);
    assert!(delivered(&server.ask(&place.load(3))), "exactly the limit is allowed");
    place.scratch.file("private/consent.json", padded(CONSENT_BYTES + 1), 0o600);
    refused(&server.ask(&place.load(4)), CONSENT_INVALID);
}

#[test]
fn file_predictable_tmp() {
    for name in ["journal-000001.jsonl", "install-id", "lock"] {
        let place = Place::new();
        place.scratch.directory("state/journal", 0o700);
        place.scratch.file("victim", "precious", 0o600);
        symlink(place.path("victim"), place.path(format!("state/journal/{name}"))).unwrap();
        refused(&place.try_load(), "journal_unavailable");
        assert_eq!(fs::read(place.path("victim")).unwrap(), b"precious", "{name}");
    }
    in_a_process_of_its_own("files::without_a_umask_in_a_process_of_its_own");
}

#[test]
#[ignore = "run by file_predictable_tmp and secret_world_readable_transient, in a process of its own"]
fn without_a_umask_in_a_process_of_its_own() {
    let place = Place::new();
    rustix::process::umask(Mode::empty());
    let mut open = Vec::new();
    // Another user who looks as often as possible.
    let look = || {
        for entry in fs::read_dir(place.scratch.state().join("journal")).into_iter().flatten().flatten() {
            let mode = entry.metadata().map_or(0, |facts| facts.permissions().mode());
            if mode & 0o077 != 0 {
                open.push(format!("{mode:o} {}", entry.path().display()));
            }
        }
    };
    let ((), looks) = meanwhile(look, || {
        for _ in 0..10 {
            assert!(delivered(&place.try_load()));
            fs::remove_dir_all(place.scratch.state().join("journal")).unwrap();
        }
        assert!(delivered(&place.try_load()));
    });
    assert!(open.is_empty() && looks > 100, "{looks} looks: {open:?}");
    let names: Vec<_> = fs::read_dir(place.scratch.state().join("journal")).unwrap().map(|e| e.unwrap()).collect();
    assert!(names.len() >= 3);
    assert!(names.iter().all(|entry| entry.metadata().unwrap().permissions().mode() & 0o7777 == 0o600));
}

#[test]
fn secret_world_readable_transient() {
    in_a_process_of_its_own("files::without_a_umask_in_a_process_of_its_own");
}

#[test]
fn file_owner_root_run() {
    // Root in the simulated system, whoever runs this.
    let system = system();
    system.arrange(|world| {
        world.set_user(0);
        for path in ["/private", "/state", "/w", "/w/app"] {
            world.set_owner(path, 0).unwrap();
        }
    });
    let refusal = load(&broker(&system, Delegate::embedded(), None)).unwrap_err();
    assert_eq!(refusal.reason(), Reason::ConsentNotPrivate, "the consent still belongs to user 1000");
    system.arrange(|world| world.set_owner("/private/consent.json", 0)).unwrap();
    assert!(load(&broker(&system, Delegate::embedded(), None)).is_ok(), "the control");
    // Root on this machine, if this is root.
    let place = Place::new();
    if chown(place.path("private/consent.json"), Some(1000), None).is_ok() {
        refused(&place.try_load(), CONSENT_INVALID);
    }
}

#[test]
fn file_tmp_absent_config_created() {
    let system = system();
    system.arrange(|world| world.remove("/private/consent.json")).unwrap();
    let tried = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&tried);
    system.set_script(move |child, order| {
        let directory = child.as_child(order.directory);
        if let Some(here) = order.directory {
            seen.lock().unwrap().push(directory.create_file(here, "consent.json", 0o600).map(drop));
        }
        Err(kdna_broker::system::ChildFault::Signal(9))
    });
    let server = broker(&system, Delegate::embedded(), None);
    assert_eq!(load(&server).unwrap_err().reason(), Reason::RuntimeDied);
    assert_eq!(*tried.lock().unwrap(), [Err(Fault::Denied)], "the child tried and could not");
    assert!(system.arrange(|world| world.paths()).iter().all(|path| !path.ends_with("consent.json")));
}

#[test]
fn file_lstat_then_read() {
    let place = Place::new();
    let mut foreign = place.consent();
    foreign.processor = "Foreign Inference Ltd".into();
    place.scratch.directory("foreign", 0o700);
    place.scratch.file("foreign/consent.json", foreign.bytes(), 0o600);
    symlink(place.path("foreign/consent.json"), place.path("private/link.json")).unwrap();
    let (file, link) = (place.path("private/consent.json"), place.path("private/link.json"));
    let (mut passed, mut stopped) = (0, 0);
    let swap = || {
        for _ in 0..2 {
            rustix::fs::renameat_with(CWD, &file, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
        std::thread::sleep(Duration::from_micros(200));
    };
    meanwhile(swap, || {
        let mut server = place.serve();
        for id in 0..300 {
            let answer = server.ask(&place.load(id));
            assert!(!answer.contains("Foreign Inference"), "{answer}");
            if delivered(&answer) {
                passed += 1;
            } else {
                refused(&answer, CONSENT_INVALID);
                stopped += 1;
            }
        }
    });
    assert!(passed + stopped == 300 && stopped > 0, "{passed} delivered, {stopped} refused");
    assert!(!place.journal().contains("Foreign Inference"));
}
