//! Rotating a consent: readers see one whole document at any time, and a process that is killed leaves the old or the new.

use super::in_a_process_of_its_own;
use kdna_broker::consent::{Consent, ConsentFacts, ConsentFile, ConsentSource};
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::system::Identity;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::sim::{CallEvent, HookAction, Hooked};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const ROTATIONS: u32 = 10_000;
const PLACE: &str = "KDNA_TEST_PLACE";
const LAST_CALL: &str = "KDNA_TEST_LAST_CALL";

fn document(number: u32) -> Vec<u8> {
    ConsentFacts {
        nonce: format!("{number:032x}"),
        host_id: "host".into(),
        workspace_root_digest: of_root_path("/srv/w"),
        asset_digest: Digest::of(b"asset"),
        attachment_id: "att_000000000000000000000001".into(),
        scope_digest: Digest::of(b"scope"),
        processor: "Example Inference Ltd".into(),
        profile: "compact".into(),
    }
    .bytes()
}

/// A private directory, in memory where there is such a place: this is about what readers see, not about disks.
fn private() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = tempfile::Builder::new().prefix("kdna-test-").tempdir_in(memory);
    let place = place.or_else(|_| tempfile::tempdir()).unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
    place
}

fn consent_in(place: &Path) -> AbsolutePath {
    AbsolutePath::parse(place.canonicalize().unwrap().join("consent.json").to_str().unwrap()).unwrap()
}

#[test]
fn a_reader_that_loops_during_ten_thousand_rotations_never_sees_a_missing_or_partial_document() {
    let place = private();
    let path = consent_in(place.path());
    let system = OsSystem::new();
    let file = ConsentFile::open(&system, &path).unwrap().unwrap();
    file.install(&system, &document(0)).unwrap();
    let source = ConsentSource::bind(&system, Some(path.as_str()), Identity { device: 0, inode: 0 });
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (over, path, source, system) = (&over, &path, &source, &system);
        let plain = scope.spawn(move || {
            let mut seen = 0;
            while !over.load(Ordering::SeqCst) || seen == 0 {
                // Whoever just reads the file: there, and whole.
                assert!(Consent::read(&fs::read(path.as_str()).unwrap()).is_ok());
                seen += 1;
            }
            seen
        });
        let careful = scope.spawn(move || {
            let mut seen = 0;
            while !over.load(Ordering::SeqCst) || seen == 0 {
                match source.read(system) {
                    Ok(bytes) => {
                        assert!(Consent::read(&bytes).is_ok());
                        seen += 1;
                    }
                    // It was replaced between two looks: refused, and neither missing nor mixed.
                    Err(refusal) => assert!(
                        [Reason::ConsentChangedWhileRead, Reason::ConsentNotPrivate].contains(&refusal.reason()),
                        "{refusal:?}"
                    ),
                }
            }
            seen
        });
        for number in 1..=ROTATIONS {
            file.install(system, &document(number)).unwrap();
        }
        over.store(true, Ordering::SeqCst);
        assert!(plain.join().unwrap() > 0 && careful.join().unwrap() > 0);
    });
    assert_eq!(fs::read(path.as_str()).unwrap(), document(ROTATIONS));
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["consent.json"]);
}

#[test]
#[ignore = "run by killing_at_every_step_leaves_the_old_document_or_the_new_one, in a process of its own"]
fn installs_and_is_killed_in_a_process_of_its_own() {
    let (Some(place), Some(last)) = (std::env::var_os(PLACE), std::env::var_os(LAST_CALL)) else { return };
    let last: u64 = last.to_str().unwrap().parse().unwrap();
    let path = consent_in(Path::new(&place));
    // Counts down from here on: 0 before, and when it has happened.
    let left = std::sync::Arc::new(AtomicU64::new(0));
    let counted = left.clone();
    let system = Hooked::new(OsSystem::new(), move |_: &CallEvent| {
        if counted.load(Ordering::SeqCst) > 0 && counted.fetch_sub(1, Ordering::SeqCst) == 1 {
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
        }
        HookAction::Proceed
    });
    let file = ConsentFile::open(&system, &path).unwrap().unwrap();
    left.store(last, Ordering::SeqCst);
    file.install(&system, &document(2)).unwrap();
}

#[test]
fn killing_at_every_step_leaves_the_old_document_or_the_new_one() {
    let (mut old, mut new, mut call) = (0, 0, 1u32);
    loop {
        let place = private();
        let path = consent_in(place.path());
        let file = ConsentFile::open(&OsSystem::new(), &path).unwrap().unwrap();
        file.install(&OsSystem::new(), &document(1)).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "rotations::installs_and_is_killed_in_a_process_of_its_own"]);
        let ended = command.env(PLACE, place.path()).env(LAST_CALL, call.to_string()).output().unwrap().status;
        let found = fs::read(path.as_str()).unwrap();
        assert!(found == document(1) || found == document(2), "killed before call {call}");
        if ended.success() {
            assert_eq!(found, document(2));
            break;
        }
        assert_eq!(ended.signal(), Some(9), "before call {call}");
        if found == document(1) {
            old += 1;
        } else {
            new += 1;
        }
        // What was left beside it is nobody's document, and the next rotation works.
        file.install(&OsSystem::new(), &document(3)).unwrap();
        assert_eq!(fs::read(path.as_str()).unwrap(), document(3));
        call += 1;
    }
    assert!(old > 3 && new > 0, "{old} left the old one, {new} the new one");
    in_a_process_of_its_own("rotations::installs_and_is_killed_in_a_process_of_its_own");
}
