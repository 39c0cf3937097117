//! What the simulated system promises to the tests that are built on it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "sim_system/child.rs"]
mod child;
#[path = "sim_system/crash.rs"]
mod crash;
#[path = "sim_system/hooks.rs"]
mod hooks;
#[path = "support/sim.rs"]
mod support;
#[path = "sim_system/tree.rs"]
mod tree;

use kdna_broker::system::sim::{Call, CallEvent, Content, Crash, Entries, HookAction, Hooked, SimDirectory, SimSystem};
use kdna_broker::system::{Cancel, ChildOrder, ChildReport, Enforcement, Fault, Observe, Program, System};
use std::collections::BTreeMap;
use std::time::Duration;
use support::{absolute, relative};

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

fn scene() -> (SimSystem, SimDirectory) {
    let system = SimSystem::new(7);
    system.arrange(|world| {
        world.directory("/w", 0o700).unwrap();
        world.file("/w/app/notes", 0o600, b"first").unwrap();
    });
    let root = system.open_directory(&absolute("/w/app")).unwrap();
    (system, root)
}

/// The scene with something for every changing call to change.
fn full_scene() -> (SimSystem, SimDirectory) {
    let (system, root) = scene();
    system.arrange(|world| world.directory("/w/app/empty", 0o700)).unwrap();
    (system, root)
}

fn read(system: &SimSystem, path: &str) -> Option<Vec<u8>> {
    system.arrange(|world| world.content_of(path).ok())
}

fn report(output: &[u8]) -> ChildReport {
    let enforcement = Enforcement {
        landlock: 1,
        seccomp: true,
        sealed: true,
        pin: kdna_broker::system::PinKind::Embedded,
        secret_locked: None,
    };
    ChildReport { exit: 0, enforcement, output: output.to_vec(), errors: vec![] }
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
        Call::LinkAcross => system.link_across(root, "notes", root, "second"),
        Call::RemoveDirectory => system.remove_directory(root, "empty"),
        Call::Remove => system.remove(root, "notes"),
        other => panic!("{other:?} changes nothing"),
    }
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
    let _ = file.as_ref().map(|file| system.fill(file, &mut [0; 9]));
    let _ = system.resolve_link(&absolute("/w"));
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
    let _ = (system.link_across(&root, "g", &root, "h"), system.remove_directory(&root, "d"));
    let _ = (system.list(&root), system.ask("Allow?"), system.random(&mut [0; 4]));
    let _ = (system.window(), system.ancestors());
    let cancel = Cancel::new();
    let _ = system.stand_by();
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
