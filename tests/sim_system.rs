//! What the simulated system promises to the tests that are built on it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/sim.rs"]
mod support;

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::system::sim::{
    Call, CallEvent, Content, Crash, Entries, HookAction, Hooked, SimDirectory, SimSystem, World,
};
use kdna_broker::system::{
    Cancel, ChildFault, ChildOrder, ChildReport, Enforcement, Fault, NoTerminal, Observe, Program, System,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::{absolute, relative};

fn scene() -> (SimSystem, SimDirectory) {
    let system = SimSystem::new(7);
    system.arrange(|world| {
        world.directory("/w", 0o700).unwrap();
        world.file("/w/app/notes", 0o600, b"first").unwrap();
    });
    let root = system.open_directory(&absolute("/w/app")).unwrap();
    (system, root)
}

fn read(system: &SimSystem, path: &str) -> Option<Vec<u8>> {
    system.arrange(|world| world.content_of(path).ok())
}

fn report(output: &[u8]) -> ChildReport {
    let enforcement = Enforcement { landlock: 1, seccomp: true, sealed: true };
    ChildReport { exit: 0, enforcement, output: output.to_vec(), errors: vec![] }
}

fn order<'a>(directory: Option<&'a SimDirectory>, cancel: &'a Cancel) -> ChildOrder<'a, SimSystem> {
    ChildOrder {
        program: Program::Embedded,
        directory,
        sealed: None,
        request: b"{}",
        input: b"task",
        deadline: Duration::from_secs(30),
        output_limit: 8,
        cancel,
    }
}

#[test]
fn the_simulated_system_conforms() {
    let system = SimSystem::new(1);
    system.arrange(|world| world.directory("/srv/base", 0o700)).unwrap();
    support::conforms(&system, &absolute("/srv/base"));
}

#[test]
fn the_simulated_system_conforms_on_links() {
    let system = SimSystem::new(1);
    arrange_links(&system);
    support::conforms_on_links(&system, &absolute("/srv/base"));
}

#[test]
fn a_hooked_system_conforms_when_the_hook_lets_everything_pass() {
    let system = SimSystem::new(1);
    arrange_links(&system);
    system.arrange(|world| world.directory("/srv/empty", 0o700)).unwrap();
    let hooked = Hooked::new(system.clone(), |_: &CallEvent| HookAction::Proceed);
    support::conforms(&hooked, &absolute("/srv/empty"));
    support::conforms_on_links(&hooked, &absolute("/srv/base"));
}

fn arrange_links(system: &SimSystem) {
    system.arrange(|world| {
        world.file("/srv/base/real/file", 0o600, b"inside").unwrap();
        world.directory("/srv/base/real/deep", 0o700).unwrap();
        world.link("/srv/base/link", "real").unwrap();
        world.link("/srv/base/absolute-link", "/srv/base/real").unwrap();
        world.link("/srv/base/file-link", "real/file").unwrap();
        world.link("/srv/base/dangling", "nowhere").unwrap();
        world.fifo("/srv/base/fifo", 0o600).unwrap();
    });
}

#[test]
fn a_handle_survives_renaming_and_replacing_its_path() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    system.arrange(|world| {
        world.rename("/w/app", "/w/app.old").unwrap();
        world.file("/w/app/notes", 0o600, b"other").unwrap();
    });
    assert_eq!(system.read(&file, 10).unwrap(), b"first");
    let again = system.open_file_beneath(&root, &relative("notes")).unwrap();
    assert_eq!(system.read(&again, 10).unwrap(), b"first", "the held directory is still the old one");
    assert_ne!(system.look(&absolute("/w/app")).unwrap().identity, system.directory_facts(&root).unwrap().identity);

    system.arrange(|world| world.link("/w/app", "/w/app.old")).unwrap();
    assert_eq!(system.open_directory(&absolute("/w/app")).err(), Some(Fault::Link));
    assert_eq!(system.list(&root).unwrap(), ["notes"]);
}

#[test]
fn a_removed_directory_is_empty_and_takes_no_files() {
    let (system, root) = scene();
    system.arrange(|world| world.remove("/w/app")).unwrap();
    assert_eq!(system.list(&root), Ok(vec![]));
    assert_eq!(system.directory_facts(&root).unwrap().links, 0);
    assert_eq!(system.create_file(&root, "late", 0o600).err(), Some(Fault::NotFound));
    assert_eq!(system.arrange(|world| world.paths()), ["/", "/w"]);
}

#[test]
fn new_content_keeps_the_identity_and_a_new_file_changes_it() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    let facts = system.file_facts(&file).unwrap();
    system.arrange(|world| world.set_content("/w/app/notes", b"FIRST")).unwrap();
    let changed = system.file_facts(&file).unwrap();
    assert_eq!((changed.identity, changed.size), (facts.identity, facts.size));
    assert!(changed.modified > facts.modified && changed.changed > facts.changed, "though no time passed");

    system.arrange(|world| world.set_modified("/w/app/notes", facts.modified)).unwrap();
    let back_dated = system.file_facts(&file).unwrap();
    assert_eq!(back_dated.modified, facts.modified);
    assert_ne!(back_dated, facts, "the time of change tells");

    system.arrange(|world| world.file("/w/app/notes", 0o600, b"first")).unwrap();
    assert_ne!(system.look(&absolute("/w/app/notes")).unwrap().identity, facts.identity);
    assert_eq!(system.file_facts(&file).unwrap().links, 0, "the old file has lost its name");
}

#[test]
fn every_change_of_facts_shows() {
    type Change = fn(&mut World) -> Result<(), Fault>;
    let changes: [(&str, Change); 4] = [
        ("mode", |world| world.set_mode("/w/app/notes", 0o644)),
        ("owner", |world| world.set_owner("/w/app/notes", 0)),
        ("links", |world| world.hard_link("/w/app/notes", "/w/second")),
        ("moved", |world| world.rename("/w/app/notes", "/w/elsewhere")),
    ];
    for (name, change) in changes {
        let (system, root) = scene();
        let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
        let before = system.file_facts(&file).unwrap();
        system.arrange(change).unwrap();
        let after = system.file_facts(&file).unwrap();
        assert_ne!(after, before, "{name}");
        assert_eq!((after.identity, after.modified), (before.identity, before.modified), "{name}");
    }
}

#[test]
fn another_mount_is_refused_beneath_and_taken_by_absolute_path() {
    let (system, root) = scene();
    system.arrange(|world| {
        world.directory("/w/app/disk", 0o700).unwrap();
        world.mount("/w/app/disk", 9).unwrap();
        world.file("/w/app/disk/notes", 0o600, b"foreign").unwrap();
        world.directory("/w/app/same", 0o700).unwrap();
        world.bind("/w/app/same").unwrap();
        world.file("/w/app/bound", 0o600, b"bound").unwrap();
        world.bind("/w/app/bound").unwrap();
    });
    for path in ["disk", "same"] {
        assert_eq!(system.open_directory_beneath(&root, &relative(path)).err(), Some(Fault::Escapes), "{path}");
        assert_eq!(system.look_beneath(&root, &relative(path)), Err(Fault::Escapes), "{path}");
    }
    for path in ["disk/notes", "bound"] {
        assert_eq!(system.open_file_beneath(&root, &relative(path)).err(), Some(Fault::Escapes), "{path}");
    }
    assert!(system.open_file_in(&root, "bound").is_ok(), "a private file may be a bind mount");
    let disk = system.open_directory(&absolute("/w/app/disk")).unwrap();
    assert_eq!(system.directory_facts(&disk).unwrap().identity.device, 9);
    assert!(system.open_file_beneath(&disk, &relative("notes")).is_ok(), "within one mount");
    assert_eq!(system.remove(&root, "bound"), Err(Fault::Io(16)));
}

#[test]
fn a_name_that_leaves_the_directory_escapes() {
    let (system, root) = scene();
    for name in ["..", "../notes", "/w", "a/b", ""] {
        assert_eq!(system.open_file_in(&root, name).err(), Some(Fault::Escapes), "{name:?}");
        assert_eq!(system.create_file(&root, name, 0o600).err(), Some(Fault::Escapes), "{name:?}");
    }
    assert_eq!(system.arrange(|world| world.paths()), ["/", "/w", "/w/app", "/w/app/notes"]);
}

#[test]
fn a_ring_of_links_ends() {
    let system = SimSystem::new(1);
    system.arrange(|world| {
        world.link("/one", "/other").unwrap();
        world.link("/other", "one").unwrap();
    });
    assert_eq!(system.look(&absolute("/one/x")), Err(Fault::Link));
    assert_eq!(system.canonical_directory(&absolute("/one/x")), Err(Fault::Link));
}

#[test]
fn links_with_dots_are_followed_in_questions() {
    let (system, _) = scene();
    system.arrange(|world| world.link("/w/app/up", "./../../w/./app")).unwrap();
    assert!(system.look(&absolute("/w/app/up/notes")).is_ok());
    system.arrange(|world| world.directory("/w/app/deep", 0o700)).unwrap();
    assert_eq!(system.canonical_directory(&absolute("/w/app/up/deep")), Ok(absolute("/w/app/deep")));
}

#[test]
fn a_denied_file_is_not_opened_and_a_denied_directory_not_searched() {
    let (system, root) = scene();
    system.arrange(|world| world.set_denied("/w/app/notes", true)).unwrap();
    assert_eq!(system.open_file_beneath(&root, &relative("notes")).err(), Some(Fault::Denied));
    assert!(system.look(&absolute("/w/app/notes")).is_ok(), "its facts can be asked for");
    system.arrange(|world| world.set_denied("/w/app", true)).unwrap();
    assert_eq!(system.open_directory(&absolute("/w/app")).err(), Some(Fault::Denied));
    assert_eq!(system.look(&absolute("/w/app/notes")), Err(Fault::Denied));
    assert_eq!(system.create_file(&root, "new", 0o600).err(), Some(Fault::Denied));
}

#[test]
fn who_and_where_are_arranged() {
    let (system, root) = scene();
    assert_eq!((system.user(), system.account_home()), (1000, Some(absolute("/home/person"))));
    system.arrange(|world| {
        world.set_user(0);
        world.set_account_home(None);
        world.set_working_directory("/w/app").unwrap();
        world.rename("/w/app", "/w/moved").unwrap();
    });
    assert_eq!((system.user(), system.account_home()), (0, None));
    assert_eq!(system.working_directory(), Ok(absolute("/w/moved")));
    let made = system.create_file(&root, "made", 0o600).unwrap();
    assert_eq!(system.file_facts(&made).unwrap().owner, 0);
    system.arrange(|world| world.remove("/w/moved")).unwrap();
    assert_eq!(system.working_directory(), Err(Fault::NotFound));
}

#[test]
fn a_seal_is_immune_to_later_changes() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    let (sealed, digest) = system.seal(&file, 100).unwrap();
    system.arrange(|world| world.set_content("/w/app/notes", b"later")).unwrap();
    assert_eq!(sealed.bytes(), b"first");
    assert_eq!(digest, Digest::of(b"first"));
    assert_eq!(system.read(&file, 100).unwrap(), b"later", "the change did happen");
}

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

/// Makes every call of both traits once, on a system where each can succeed.
fn every_call<S: System>(system: &S) {
    let root = system.open_directory(&absolute("/w/app"));
    let Ok(root) = root else { panic!("the scene has it") };
    let notes = relative("notes");
    let _ = system.open_directory_beneath(&root, &relative(""));
    let file = system.open_file_beneath(&root, &notes).ok();
    let _ = system.open_file_in(&root, "notes");
    let _ = system.directory_facts(&root);
    let _ = file.as_ref().map(|file| (system.file_facts(file), system.read(file, 9), system.seal(file, 9).is_ok()));
    let _ = (system.look(&absolute("/w")), system.look_beneath(&root, &notes));
    let _ = (system.canonical_directory(&absolute("/w")), system.working_directory());
    let _ = (system.user(), system.account_home(), system.now(), system.monotonic());
    let _ = system.make_directory(&root, "d", 0o700);
    let _ = system.create_file(&root, "f", 0o600).map(|file| system.write(&file, b"text"));
    let _ = system.open_append(&root, "notes", 0o600).map(|file| {
        let _ = (system.truncate(&file, 2), system.sync_file(&file), system.lock(&file, Duration::ZERO).is_ok());
    });
    let _ = (system.sync_directory(&root), system.set_directory_mode(&root, 0o711));
    let _ = (system.link(&root, "f", "l"), system.rename(&root, "f", "g"), system.remove(&root, "l"));
    let _ = (system.list(&root), system.ask("Allow?"), system.random(&mut [0; 4]));
    let cancel = Cancel::new();
    let _ = system.run(&ChildOrder {
        program: Program::Embedded,
        directory: Some(&root),
        sealed: None,
        request: b"",
        input: b"",
        deadline: Duration::MAX,
        output_limit: 9,
        cancel: &cancel,
    });
}

fn counted(events: &[CallEvent]) -> BTreeMap<Call, usize> {
    events.iter().fold(BTreeMap::new(), |mut counts, event| {
        *counts.entry(event.call).or_default() += 1;
        counts
    })
}

#[test]
fn the_hook_fires_before_every_call_exactly_once() {
    let (system, _) = scene();
    system.clear_log();
    system.set_script(|_, _| Ok(report(b"")));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&seen);
    system.set_hook(move |_, event| {
        events.lock().unwrap().push(event.clone());
        HookAction::Proceed
    });
    every_call(&system);
    let seen = seen.lock().unwrap();
    assert_eq!(counted(&seen), Call::ALL.iter().map(|call| (*call, 1)).collect());
    assert_eq!(*seen, system.log(), "the log holds the same");
    assert!(seen.iter().zip(1..).all(|(event, number)| event.number == number && !event.in_child));
}

#[test]
fn a_failing_hook_suppresses_the_effect() {
    for call in Call::ALL.iter().copied().filter(|call| call.changes()) {
        let (system, root) = scene();
        // Something unsynced, so that the two sync calls have an effect to suppress.
        let file = system.open_append(&root, "notes", 0o600).unwrap();
        system.write(&file, b"|more").unwrap();
        system.create_file(&root, "unsynced", 0o600).unwrap();

        let before = stored(&system);
        system.set_hook(move |_, event| {
            assert_eq!(event.call, call);
            HookAction::Fail(Fault::Io(5))
        });
        assert_eq!(change(&system, &root, &file, call), Err(Fault::Io(5)), "{call:?}");
        assert_eq!(stored(&system), before, "{call:?} had an effect");
        system.clear_hook();
        assert_eq!(change(&system, &root, &file, call), Ok(()), "the control");
        assert_ne!(stored(&system), before, "the control: {call:?} has an effect");
    }
}

/// Path, mode and content.
type Stored = (String, u32, Option<Vec<u8>>);

/// Everything that a call can change: the tree now, and the tree after a loss of power.
fn stored(system: &SimSystem) -> [Vec<Stored>; 2] {
    let lost = Crash { entries: Entries::Lost, content: Content::Lost };
    [system.clone(), system.crash(lost)].map(|system| {
        system.arrange(|world| {
            let paths = world.paths().into_iter();
            paths.map(|p| (p.clone(), world.facts_of(&p).unwrap().mode, world.content_of(&p).ok())).collect()
        })
    })
}

fn change<S: System>(system: &S, root: &S::Directory, file: &S::File, call: Call) -> Result<(), Fault> {
    match call {
        Call::MakeDirectory => system.make_directory(root, "made", 0o700),
        Call::CreateFile => system.create_file(root, "made", 0o600).map(drop),
        Call::OpenAppend => system.open_append(root, "made", 0o600).map(drop),
        Call::Write => system.write(file, b"0123"),
        Call::Truncate => system.truncate(file, 1),
        Call::SyncFile => system.sync_file(file),
        Call::SyncDirectory => system.sync_directory(root),
        Call::SetDirectoryMode => system.set_directory_mode(root, 0o711),
        Call::Rename => system.rename(root, "notes", "renamed"),
        Call::Link => system.link(root, "notes", "second"),
        Call::Remove => system.remove(root, "notes"),
        other => panic!("{other:?} changes nothing"),
    }
}

#[test]
fn calls_without_a_fault_fail_in_their_own_way() {
    let (system, root) = scene();
    let cancel = Cancel::new();
    system.set_script(|_, _| panic!("no child was to start"));
    system.arrange(|world| world.answer("y"));
    system.set_hook(|_, _| HookAction::Fail(Fault::Io(5)));
    assert_eq!(system.run(&order(Some(&root), &cancel)), Err(ChildFault::NotStarted(Fault::Io(5))));
    assert_eq!(system.ask("Allow?"), Err(NoTerminal));
    assert_eq!(system.account_home(), None);
    assert_eq!(system.user(), 1000);
    assert!(system.arrange(|world| world.questions().is_empty()), "the person saw nothing");
}

#[test]
fn a_short_write_leaves_a_prefix() {
    for (length, left) in [(0, "first"), (3, "first012"), (99, "first0123")] {
        let (system, root) = scene();
        let file = system.open_append(&root, "notes", 0o600).unwrap();
        system.set_hook(move |_, _| HookAction::Short(length));
        assert_eq!(system.write(&file, b"0123"), Err(Fault::NoSpace));
        assert_eq!(read(&system, "/w/app/notes").unwrap(), left.as_bytes());
        assert_eq!(
            system.create_file(&root, "made", 0o600).err(),
            Some(Fault::NoSpace),
            "nothing else is done in part"
        );
        assert_eq!(read(&system, "/w/app/made"), None);
    }
}

#[test]
fn a_hook_changes_the_world_just_before_the_call() {
    let (system, root) = scene();
    system.arrange(|world| world.file("/w/evil/notes", 0o600, b"evil")).unwrap();
    system.set_hook(|world, event| {
        if event.call == Call::OpenFileBeneath {
            world.swap("/w/app", "/w/evil").unwrap();
            world.set_now(Timestamp::from_milliseconds(5));
            world.advance(Duration::from_secs(1));
        }
        HookAction::Proceed
    });
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    assert_eq!(system.read(&file, 10).unwrap(), b"first", "the held directory is not the path's");
    let fresh = system.open_directory(&absolute("/w/app")).unwrap();
    assert_eq!(read(&system, "/w/app/notes").unwrap(), b"evil");
    assert_ne!(system.directory_facts(&fresh).unwrap().identity, system.directory_facts(&root).unwrap().identity);
    assert_eq!((system.now().milliseconds(), system.monotonic()), (1005, Duration::from_secs(1)));
}

#[test]
fn a_directory_is_never_moved_into_itself() {
    let (system, _) = scene();
    let refused = system.arrange(|world| [world.rename("/w", "/w/app/w"), world.swap("/w/app", "/w/app/notes")]);
    assert_eq!(refused, [Err(Fault::Io(22)); 2]);
    assert_eq!(system.arrange(|world| world.paths()), ["/", "/w", "/w/app", "/w/app/notes"]);
}

#[test]
fn a_lock_excludes_and_times_out_in_virtual_time() {
    let (system, root) = scene();
    let open = || system.open_append(&root, "notes", 0o600).unwrap();
    let (one, other) = (open(), open());
    let held = system.lock(&one, Duration::ZERO).unwrap();
    assert_eq!(system.lock(&other, Duration::from_secs(3600)).err(), Some(Fault::Locked));
    assert_eq!(system.monotonic(), Duration::from_secs(3600));
    drop(held);
    assert!(system.lock(&other, Duration::ZERO).is_ok());
}

#[test]
fn another_process_holds_a_lock_for_its_time() {
    let (system, root) = scene();
    let file = system.open_append(&root, "notes", 0o600).unwrap();
    system.arrange(|world| world.hold_lock("/w/app/notes", Duration::from_secs(2))).unwrap();
    assert_eq!(system.lock(&file, Duration::from_secs(1)).err(), Some(Fault::Locked));
    assert!(system.lock(&file, Duration::from_secs(5)).is_ok());
    assert_eq!(system.monotonic(), Duration::from_secs(2), "it waited no longer than it had to");
    system.arrange(|world| world.hold_lock("/w/app/notes", Duration::MAX)).unwrap();
    assert_eq!(system.lock(&file, Duration::from_secs(5)).err(), Some(Fault::Locked));
}

#[test]
fn threads_wait_for_each_others_lock() {
    let (system, root) = scene();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let file = system.open_append(&root, "notes", 0o600).unwrap();
                    let _lock = system.lock(&file, Duration::from_secs(60)).unwrap();
                    system.truncate(&file, 0).unwrap();
                    system.write(&file, b"one").unwrap();
                    assert_eq!(system.read(&file, 10).unwrap(), b"one", "nobody else wrote meanwhile");
                }
            });
        }
    });
    assert_eq!(system.calls(Call::Lock), 200);
}

#[test]
fn the_runtime_script_reads_as_a_child_and_hooks_fire_in_it() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    let (sealed, _) = system.seal(&file, 100).unwrap();
    system.set_script(|child, order| {
        assert_eq!((order.request, order.input, order.sealed), (&b"{}"[..], &b"task"[..], Some(&b"first"[..])));
        let directory = order.directory.ok_or(ChildFault::Sandbox("directory"))?;
        let file = child.open_file_beneath(directory, &relative("notes")).map_err(ChildFault::NotStarted)?;
        Ok(report(&child.read(&file, 100).map_err(ChildFault::NotStarted)?))
    });
    system.set_hook(|world, event| {
        if event.in_child && event.step == "load" && event.call == Call::OpenFileBeneath {
            world.set_content("/w/app/notes", b"swapped").unwrap();
        }
        HookAction::Proceed
    });
    let cancel = Cancel::new();
    let order = || ChildOrder { sealed: Some(&sealed), ..order(Some(&root), &cancel) };
    system.set_step("plan");
    assert_eq!(system.run(&order()).unwrap().output, b"first");
    system.set_step("load");
    system.clear_log();
    assert_eq!(system.run(&order()).unwrap().output, b"swapped");
    let log: Vec<_> = system.log().into_iter().map(|e| (e.call, e.at, e.in_child, e.step)).collect();
    let event = |call, at: &str, in_child| (call, at.to_owned(), in_child, "load".to_owned());
    let notes = "/w/app/notes";
    assert_eq!(
        log,
        [event(Call::Run, "/w/app", false), event(Call::OpenFileBeneath, notes, true), event(Call::Read, notes, true)]
    );
}

#[test]
fn a_child_can_do_no_more_than_its_sandbox_lets_it() {
    let (system, root) = scene();
    system.set_script(|_, _| Ok(report(b"")));
    system.arrange(|world| world.answer("y"));
    let child = system.as_child(Some(&root));
    let before = stored(&system);
    let file = child.open_file_beneath(&root, &relative("notes")).unwrap();
    let writable = system.open_append(&root, "notes", 0o600).unwrap();
    assert_eq!(child.open_directory(&absolute("/w")).err(), Some(Fault::Denied));
    assert!(child.open_directory(&absolute("/w/app")).is_ok(), "what it was given");
    assert_eq!(system.as_child(None).open_directory(&absolute("/w/app")).err(), Some(Fault::Denied));
    assert_eq!(child.account_home(), None);
    for call in Call::ALL.iter().copied().filter(|call| call.changes()) {
        assert_eq!(change(&child, &root, &writable, call), Err(Fault::Denied), "{call:?}");
    }
    assert_eq!(child.seal(&file, 100).err(), Some(Fault::Denied));
    assert_eq!(child.lock(&file, Duration::ZERO).err(), Some(Fault::Denied));
    assert_eq!(child.ask("Allow?"), Err(NoTerminal));
    let cancel = Cancel::new();
    assert_eq!(child.run(&order(None, &cancel)), Err(ChildFault::NotStarted(Fault::Denied)));
    assert_eq!(stored(&system), before);
    assert!(system.run(&order(None, &cancel)).is_ok(), "the control: outside it runs");
}

#[test]
fn a_child_is_held_to_its_bounds() {
    let (system, root) = scene();
    let cancel = Cancel::new();
    let unscripted = system.run(&order(Some(&root), &cancel));
    assert!(matches!(unscripted, Err(ChildFault::NotStarted(Fault::Unsupported(_)))));

    system.set_script(|_, _| Ok(report(b"12345678")));
    assert!(system.run(&order(Some(&root), &cancel)).is_ok(), "at the limit");
    system.set_script(|_, _| Ok(report(b"123456789")));
    assert_eq!(system.run(&order(Some(&root), &cancel)), Err(ChildFault::OutputTooLarge));
    system.set_script(|child, _| {
        child.advance(Duration::from_secs(31));
        Ok(report(b""))
    });
    assert_eq!(system.run(&order(Some(&root), &cancel)), Err(ChildFault::Deadline));
    system.set_script(|_, _| Err(ChildFault::Signal(9)));
    assert_eq!(system.run(&order(Some(&root), &cancel)), Err(ChildFault::Signal(9)));
    system.set_script(|_, order| {
        order.cancel.set();
        Ok(report(b""))
    });
    assert_eq!(system.run(&order(Some(&root), &cancel)), Err(ChildFault::Cancelled));
    system.set_script(|_, _| panic!("a cancelled order starts nothing"));
    assert_eq!(system.run(&order(Some(&root), &cancel)), Err(ChildFault::Cancelled));
}

#[test]
fn the_person_answers_from_a_list_and_then_is_gone() {
    let system = SimSystem::new(1);
    system.arrange(|world| {
        world.answer("yes");
        world.answer("sixteen bytes ä and more");
        world.answer("fifteen bytes: ä");
    });
    assert_eq!(system.ask("One? [y/N] "), Ok("yes".to_owned()));
    assert_eq!(system.ask("Two? [y/N] "), Ok("sixteen bytes ä".to_owned()));
    assert_eq!(system.ask("Three? [y/N] "), Ok("fifteen bytes: ".to_owned()), "no half character");
    assert_eq!(system.ask("Four? [y/N] "), Err(NoTerminal));
    let shown = system.arrange(|world| world.questions().to_vec());
    assert_eq!(shown, ["One? [y/N] ", "Two? [y/N] ", "Three? [y/N] "]);
}

#[test]
fn the_same_seed_gives_the_same_log() {
    let play = |seed| {
        let system = SimSystem::new(seed);
        system.arrange(|world| world.file("/w/app/notes", 0o600, b"first")).unwrap();
        system.set_script(|_, _| Ok(report(b"")));
        system.arrange(|world| world.answer("y"));
        every_call(&system);
        let mut bytes = [0; 32];
        system.random(&mut bytes).unwrap();
        let facts = system.arrange(|world| world.facts_of("/w/app/notes")).unwrap();
        (system.log(), stored(&system), facts, system.now(), bytes)
    };
    let (one, same, other) = (play(3), play(3), play(4));
    assert_eq!(one, same);
    assert_ne!(one.4, other.4, "another seed gives other bytes");
}

#[test]
fn the_log_tells_what_was_not_opened() {
    let (system, root) = scene();
    system.arrange(|world| world.file("/w/app/secret", 0o600, b"password")).unwrap();
    let _ = system.open_file_in(&root, "notes");
    let _ = system.look_beneath(&root, &relative("secret"));
    assert_eq!((system.opens("/w/app/notes"), system.opens("/w/app/secret")), (1, 0), "looking is not opening");
    system.set_hook(|_, _| HookAction::Fail(Fault::Denied));
    let _ = system.open_file_in(&root, "secret");
    assert_eq!(system.opens("/w/app/secret"), 1, "trying is opening");
    assert_eq!(system.calls(Call::Run), 0);
}

#[test]
fn handles_of_another_world_are_refused() {
    let ((system, root), (other, _)) = (scene(), scene());
    assert_eq!(other.list(&root), Err(Fault::Io(9)));
    assert_eq!(system.list(&root).unwrap(), ["notes"]);
}

#[test]
fn a_decorated_system_fails_where_the_hook_says_so() {
    for call in Call::ALL.iter().copied().filter(|call| call.changes()) {
        let (system, root) = scene();
        let file = system.open_append(&root, "notes", 0o600).unwrap();
        system.clear_log();
        let before = stored(&system);
        let hooked = Hooked::new(system.clone(), |_: &CallEvent| HookAction::Fail(Fault::Io(5)));
        assert_eq!(change(&hooked, &root, &file, call), Err(Fault::Io(5)), "{call:?}");
        assert!(system.log().is_empty(), "{call:?} did not get through");
        assert_eq!(stored(&system), before);
    }
}

#[test]
fn a_decorated_system_hooks_every_call_once_and_writes_short() {
    let (system, root) = scene();
    system.set_script(|_, _| Ok(report(b"")));
    system.clear_log();
    let events = Mutex::new(Vec::new());
    let hooked = Hooked::new(system.clone(), |event: &CallEvent| {
        events.lock().unwrap().push(event.clone());
        if event.call == Call::Write { HookAction::Short(2) } else { HookAction::Proceed }
    });
    every_call(&hooked);
    assert_eq!(counted(&events.lock().unwrap()), counted(&system.log()), "each was handed on");
    assert_eq!(counted(&events.lock().unwrap()), Call::ALL.iter().map(|call| (*call, 1)).collect());
    let file = hooked.create_file(&root, "short", 0o600).unwrap();
    assert_eq!(hooked.write(&file, b"text"), Err(Fault::NoSpace));
    assert_eq!(read(&system, "/w/app/short").unwrap(), b"te");
}
