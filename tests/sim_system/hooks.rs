//! The hook, the log and the decorator.

use crate::support::{absolute, relative};
use crate::{change, counted, every_call, full_scene, read, report, scene, stored};
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::system::sim::{Call, CallEvent, HookAction, Hooked, SimSystem};
use kdna_broker::system::{Cancel, ChildFault, Fault, NoTerminal, Observe, System};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
        let (system, root) = full_scene();
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

#[test]
fn calls_without_a_fault_fail_in_their_own_way() {
    let (system, root) = scene();
    let cancel = Cancel::new();
    system.set_script(|_, _| panic!("no child was to start"));
    system.arrange(|world| world.answer("y"));
    system.set_hook(|_, _| HookAction::Fail(Fault::Io(5)));
    assert_eq!(system.run(&crate::child::order(Some(&root), &cancel)), Err(ChildFault::NotStarted(Fault::Io(5))));
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
fn a_decorated_system_fails_where_the_hook_says_so() {
    for call in Call::ALL.iter().copied().filter(|call| call.changes()) {
        let (system, root) = full_scene();
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
