//! What a loss of power leaves.

use crate::support::{absolute, relative};
use crate::{read, scene};
use kdna_broker::system::sim::{Content, Crash, Entries, HookAction, SimDirectory, SimSystem};
use kdna_broker::system::{Fault, Observe, System};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn replace(system: &SimSystem, root: &SimDirectory, sync: bool, sync_directory: bool) -> Result<(), Fault> {
    let file = system.create_file(root, "notes.new", 0o600)?;
    system.write(&file, b"second")?;
    if sync {
        system.sync_file(&file)?;
    }
    system.rename(root, "notes.new", "notes")?;
    if sync_directory { system.sync_directory(root) } else { Ok(()) }
}

#[test]
fn a_crash_drops_what_was_not_synced_and_keeps_what_was() {
    let after = |sync, sync_directory, entries, content| {
        let (system, root) = scene();
        replace(&system, &root, sync, sync_directory).unwrap();
        read(&system.crash(Crash { entries, content }), "/w/app/notes").unwrap()
    };
    // Nothing synced: each half is lost or kept by itself.
    assert_eq!(after(false, false, Entries::Lost, Content::Lost), b"first");
    assert_eq!(after(false, false, Entries::Lost, Content::Kept), b"first");
    assert_eq!(after(false, false, Entries::Kept, Content::Lost), b"", "the classic empty file");
    assert_eq!(after(false, false, Entries::Kept, Content::Torn), b"sec");
    assert_eq!(after(false, false, Entries::Kept, Content::Kept), b"second");
    // The content synced, the rename not.
    assert_eq!(after(true, false, Entries::Lost, Content::Lost), b"first");
    assert_eq!(after(true, false, Entries::Kept, Content::Lost), b"second");
    // The rename synced, the content not.
    assert_eq!(after(false, true, Entries::Lost, Content::Lost), b"");
    for crash in Crash::ALL {
        assert_eq!(after(true, true, crash.entries, crash.content), b"second", "{crash:?}");
    }
}

#[test]
fn a_durable_replacement_is_whole_at_every_crash() {
    let (system, root) = scene();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let crashes = Arc::clone(&seen);
    system.set_hook(move |world, _| {
        crashes.lock().unwrap().extend(Crash::ALL.map(|crash| world.crash(crash)));
        HookAction::Proceed
    });
    replace(&system, &root, true, true).unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 5 * Crash::ALL.len(), "before each of the five calls, in every way");
    let contents: Vec<_> = seen.iter().map(|crashed| read(crashed, "/w/app/notes").unwrap()).collect();
    assert!(contents.iter().all(|content| content == b"first" || content == b"second"));
    assert!(contents.iter().any(|content| content == b"second"), "a crash after the rename may show the new one");
}

#[test]
fn an_interrupted_append_is_torn_after_what_was_synced() {
    let (system, root) = scene();
    let file = system.open_append(&root, "notes", 0o600).unwrap();
    system.write(&file, b"|synced").unwrap();
    system.sync_file(&file).unwrap();
    system.write(&file, b"|later").unwrap();
    let after = |content| read(&system.crash(Crash { entries: Entries::Kept, content }), "/w/app/notes").unwrap();
    assert_eq!(after(Content::Lost), b"first|synced");
    assert_eq!(after(Content::Torn), b"first|synced|la");
    assert_eq!(after(Content::Kept), b"first|synced|later");
    assert_eq!(read(&system, "/w/app/notes").unwrap(), b"first|synced|later", "the old world goes on");
}

#[test]
fn a_crash_loses_a_directory_whose_parent_was_not_synced() {
    let (system, root) = scene();
    system.make_directory(&root, "made", 0o700).unwrap();
    let made = system.open_directory_beneath(&root, &relative("made")).unwrap();
    let file = system.create_file(&made, "file", 0o600).unwrap();
    assert_eq!((system.sync_file(&file), system.sync_directory(&made)), (Ok(()), Ok(())));
    let lost = Crash { entries: Entries::Lost, content: Content::Lost };
    assert_eq!(system.crash(lost).arrange(|world| world.paths()), ["/", "/w", "/w/app", "/w/app/notes"]);
    system.sync_directory(&root).unwrap();
    assert!(read(&system.crash(lost), "/w/app/made/file").is_some());
    let file = system.create_file(&root, "again", 0o600).unwrap();
    let crashed = system.crash(lost);
    assert_eq!(crashed.file_facts(&file), Err(Fault::Io(9)), "a handle does not survive");
    assert_eq!(crashed.open_directory(&absolute("/w/app")).and_then(|root| crashed.list(&root)).unwrap().len(), 2);
}

#[test]
fn a_change_by_others_makes_only_itself_durable() {
    let (system, root) = scene();
    system.create_file(&root, "mine", 0o600).unwrap();
    system.arrange(|world| world.file("/w/app/theirs", 0o600, b"x")).unwrap();
    let crashed = system.crash(Crash { entries: Entries::Lost, content: Content::Lost });
    assert_eq!(crashed.arrange(|world| world.paths()), ["/", "/w", "/w/app", "/w/app/notes", "/w/app/theirs"]);
    assert_eq!(read(&crashed, "/w/app/theirs").unwrap(), b"x");
}

#[test]
fn a_crash_frees_locks() {
    let (system, root) = scene();
    let file = system.open_append(&root, "notes", 0o600).unwrap();
    let _held = system.lock(&file, Duration::ZERO).unwrap();
    let crashed = system.crash(Crash { entries: Entries::Lost, content: Content::Lost });
    let root = crashed.open_directory(&absolute("/w/app")).unwrap();
    let file = crashed.open_append(&root, "notes", 0o600).unwrap();
    assert!(crashed.lock(&file, Duration::ZERO).is_ok());
}
