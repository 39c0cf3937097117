//! Writing on the real system: exact modes, nothing overwritten by accident, locks that exclude, copies that stay.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::system::os::{Directory, OsSystem};
use kdna_broker::system::{Fault, Observe, System};
use std::fs;
use std::io::Write as _;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SYSTEM: OsSystem = OsSystem::new();

fn place() -> (TempDir, Directory) {
    let space = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(space.path()).unwrap();
    let directory = SYSTEM.open_directory(&AbsolutePath::parse(path.to_str().unwrap()).unwrap()).unwrap();
    (space, directory)
}

fn mode(space: &TempDir, name: &str) -> u32 {
    fs::metadata(space.path().join(name)).unwrap().permissions().mode() & 0o7777
}

#[test]
fn modes_are_exact_whatever_the_umask() {
    let (space, directory) = place();
    // 0666 and 0777 lose bits to every usual umask.
    SYSTEM.make_directory(&directory, "open", 0o777).unwrap();
    SYSTEM.make_directory(&directory, "closed", 0o700).unwrap();
    SYSTEM.create_file(&directory, "wide", 0o666).unwrap();
    SYSTEM.create_file(&directory, "narrow", 0o600).unwrap();
    SYSTEM.open_append(&directory, "journal", 0o622).unwrap();
    let modes = ["open", "closed", "wide", "narrow", "journal"].map(|name| mode(&space, name));
    assert_eq!(modes, [0o777, 0o700, 0o666, 0o600, 0o622]);
    // What was there keeps its mode.
    SYSTEM.open_append(&directory, "journal", 0o600).unwrap();
    assert_eq!(mode(&space, "journal"), 0o622);
    SYSTEM.set_directory_mode(&directory, 0o711).unwrap();
    assert_eq!(mode(&space, "."), 0o711);
}

#[test]
fn creation_is_exclusive_and_follows_no_link() {
    let (space, directory) = place();
    fs::write(space.path().join("victim"), "untouched").unwrap();
    symlink("victim", space.path().join("link")).unwrap();
    symlink("absent", space.path().join("dangling")).unwrap();
    for name in ["victim", "link", "dangling"] {
        assert_eq!(SYSTEM.create_file(&directory, name, 0o600).map(drop), Err(Fault::Exists), "{name}");
        assert_eq!(SYSTEM.make_directory(&directory, name, 0o700), Err(Fault::Exists), "{name}");
    }
    assert_eq!(SYSTEM.open_append(&directory, "link", 0o600).map(drop), Err(Fault::Link));
    assert_eq!(SYSTEM.open_append(&directory, "dangling", 0o600).map(drop), Err(Fault::Link));
    fs::create_dir(space.path().join("folder")).unwrap();
    assert_eq!(SYSTEM.open_append(&directory, "folder", 0o600).map(drop), Err(Fault::WrongKind));
    for name in ["", ".", "..", "a/b", "../x", "a\0"] {
        assert_eq!(SYSTEM.create_file(&directory, name, 0o600).map(drop), Err(Fault::Escapes), "{name:?}");
        assert_eq!(SYSTEM.remove(&directory, name), Err(Fault::Escapes), "{name:?}");
        assert_eq!(SYSTEM.rename(&directory, "victim", name), Err(Fault::Escapes), "{name:?}");
        assert_eq!(SYSTEM.link(&directory, "victim", name), Err(Fault::Escapes), "{name:?}");
    }
    assert_eq!(fs::read_to_string(space.path().join("victim")).unwrap(), "untouched");
    assert!(!space.path().join("absent").exists());
}

#[test]
fn writes_go_to_the_end() {
    let (space, directory) = place();
    let file = SYSTEM.create_file(&directory, "file", 0o600).unwrap();
    SYSTEM.write(&file, b"one ").unwrap();
    fs::OpenOptions::new().append(true).open(space.path().join("file")).unwrap().write_all(b"two ").unwrap();
    SYSTEM.write(&file, b"three").unwrap();
    SYSTEM.sync_file(&file).unwrap();
    SYSTEM.sync_directory(&directory).unwrap();
    assert_eq!(SYSTEM.read(&file, 100).unwrap(), b"one two three");
    SYSTEM.truncate(&file, 4).unwrap();
    SYSTEM.write(&file, b"two").unwrap();
    assert_eq!(SYSTEM.read(&file, 100).unwrap(), b"one two");
}

#[test]
fn a_replacement_is_one_step_and_a_second_name_is_never_taken() {
    let (space, directory) = place();
    let file = SYSTEM.create_file(&directory, "new", 0o600).unwrap();
    SYSTEM.write(&file, b"new").unwrap();
    fs::write(space.path().join("document"), "old").unwrap();
    assert_eq!(SYSTEM.link(&directory, "new", "document"), Err(Fault::Exists));
    SYSTEM.rename(&directory, "new", "document").unwrap();
    assert_eq!(fs::read_to_string(space.path().join("document")).unwrap(), "new");
    SYSTEM.link(&directory, "document", "second").unwrap();
    assert_eq!(fs::metadata(space.path().join("second")).unwrap().nlink(), 2);
    assert_eq!(SYSTEM.list(&directory).unwrap(), ["document", "second"]);
    SYSTEM.remove(&directory, "document").unwrap();
    assert_eq!(SYSTEM.remove(&directory, "document"), Err(Fault::NotFound));
    assert_eq!(SYSTEM.list(&directory).unwrap(), ["second"]);
    assert_eq!(SYSTEM.list(&directory).unwrap(), ["second"], "a second listing starts anew");
}

#[test]
fn a_lock_excludes_threads_and_is_released_when_dropped() {
    let (_space, directory) = place();
    let file = SYSTEM.create_file(&directory, "lock", 0o600).unwrap();
    let held = SYSTEM.lock(&file, Duration::ZERO).unwrap();
    let start = Instant::now();
    assert_eq!(SYSTEM.lock(&file, Duration::from_millis(50)).map(drop), Err(Fault::Locked));
    assert!(start.elapsed() >= Duration::from_millis(50) && start.elapsed() < Duration::from_secs(5));
    drop(held);
    let inside = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let _held = SYSTEM.lock(&file, Duration::from_secs(20)).unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two held it");
                    std::thread::yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                }
            });
        }
    });
}

#[test]
fn a_sealed_copy_has_the_digest_and_the_bytes_of_the_file() {
    let (space, directory) = place();
    for length in [0, 1, 262_144, 262_145, 1_048_576, 1_048_577, 5_000_001] {
        let bytes: Vec<u8> = (0..length).map(|index: usize| u8::try_from(index % 251).unwrap()).collect();
        fs::write(space.path().join("file"), &bytes).unwrap();
        let file = SYSTEM.open_file_in(&directory, "file").unwrap();
        let (sealed, digest) = SYSTEM.seal(&file, 1 << 30).unwrap();
        assert_eq!(digest, Digest::of(&bytes), "{length}");
        assert_eq!(sealed.length(), u64::try_from(length).unwrap());
        let copy = fs::read(format!("/proc/self/fd/{}", sealed.as_fd().as_raw_fd())).unwrap();
        assert!(copy == bytes, "{length}");
        let limit = u64::try_from(length).unwrap();
        assert!(SYSTEM.seal(&file, limit).is_ok());
        assert!(length == 0 || matches!(SYSTEM.seal(&file, limit - 1), Err(Fault::TooLarge)));
    }
}

#[test]
fn nobody_changes_a_sealed_copy() {
    let (space, directory) = place();
    fs::write(space.path().join("file"), "sealed").unwrap();
    let file = SYSTEM.open_file_in(&directory, "file").unwrap();
    let (of_file, digest) = SYSTEM.seal(&file, 100).unwrap();
    fs::write(space.path().join("file"), "changed").unwrap();
    let of_bytes = SYSTEM.seal_bytes(b"sealed").unwrap();
    for sealed in [of_file, of_bytes] {
        assert_eq!(sealed.length(), 6);
        let path = format!("/proc/self/fd/{}", sealed.as_fd().as_raw_fd());
        assert!(rustix::io::pwrite(sealed.as_fd(), b"x", 0).is_err(), "the descriptor is for reading");
        if let Ok(mut again) = fs::OpenOptions::new().write(true).open(&path) {
            assert!(again.write_all(b"x").is_err(), "the seal holds on a writable descriptor");
            assert!(again.set_len(0).is_err() && again.set_len(100).is_err());
        }
        assert_eq!(Digest::of(&fs::read(&path).unwrap()), digest);
        assert_eq!(fs::read(&path).unwrap(), b"sealed");
    }
}

#[test]
fn a_file_that_changes_while_it_is_sealed_is_refused_or_sealed_whole() {
    let (space, directory) = place();
    let path = space.path().join("file");
    fs::write(&path, vec![0; 2 << 20]).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut fill = 1;
            while !stop.load(Ordering::Relaxed) {
                let target = fs::OpenOptions::new().write(true).open(&path).unwrap();
                rustix::io::pwrite(&target, &vec![fill; 2 << 20], 0).unwrap();
                fill = if fill == 255 { 1 } else { fill + 1 };
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut refused = 0;
        let start = Instant::now();
        while refused < 20 && start.elapsed() < Duration::from_secs(20) {
            let file = SYSTEM.open_file_in(&directory, "file").unwrap();
            match SYSTEM.seal(&file, 1 << 30) {
                Err(Fault::Changed) => refused += 1,
                Ok((sealed, digest)) => {
                    let copy = fs::read(format!("/proc/self/fd/{}", sealed.as_fd().as_raw_fd())).unwrap();
                    assert_eq!(Digest::of(&copy), digest, "what was digested is what is kept");
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(refused > 0, "no change was noticed");
    });
}

#[test]
fn time_goes_on_and_chance_is_chance() {
    let (before, now) = (SYSTEM.monotonic(), SYSTEM.now());
    assert!(now.milliseconds() > 1_700_000_000_000);
    assert!(SYSTEM.monotonic() >= before);
    let (mut one, mut other) = ([0; 300], [0; 300]);
    SYSTEM.random(&mut one).unwrap();
    SYSTEM.random(&mut other).unwrap();
    assert_ne!(one, other);
}
