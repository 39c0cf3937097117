//! The scripted runtime, the person, other processes and threads.

use crate::support::{absolute, relative};
use crate::{change, full_scene, report, scene, stored};
use kdna_broker::system::sim::{Call, HookAction, SimDirectory, SimSystem};
use kdna_broker::system::{Cancel, ChildFault, ChildOrder, Fault, NoTerminal, Observe, Program, System};
use std::time::{Duration, Instant};

pub(crate) fn order<'a>(directory: Option<&'a SimDirectory>, cancel: &'a Cancel) -> ChildOrder<'a, SimSystem> {
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
    let (system, root) = full_scene();
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
    assert_eq!(child.seal_bytes(b"x").err(), Some(Fault::Denied));
    assert_eq!(child.lock(&file, Duration::ZERO).err(), Some(Fault::Denied));
    assert_eq!(child.ask("Allow?"), Err(NoTerminal));
    assert_eq!(child.ask_secret("Password: ", &mut [0; 8]), Err(NoTerminal));
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
    system.arrange(|world| world.answer("a secret of more than sixteen bytes"));
    let mut room = [0; 64];
    assert_eq!(system.ask_secret("Five: ", &mut room), Ok(Some(35)));
    assert_eq!(&room[..36], b"a secret of more than sixteen bytes\0");
    system.arrange(|world| world.answer("longer than its room"));
    assert_eq!(system.ask_secret("Six: ", &mut room[..5]), Ok(None), "no part of an answer");
    assert_eq!(system.ask_secret("Seven: ", &mut room), Err(NoTerminal));
    let shown = system.arrange(|world| world.questions().to_vec());
    assert_eq!(shown, ["One? [y/N] ", "Two? [y/N] ", "Three? [y/N] ", "Five: ", "Six: "]);
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
fn a_waiting_thread_is_woken_when_the_lock_is_free() {
    let (system, root) = scene();
    let open = || system.open_append(&root, "notes", 0o600).unwrap();
    let held = system.lock(&open(), Duration::ZERO).unwrap();
    let started = Instant::now();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| system.lock(&open(), Duration::from_secs(60)).is_ok());
        // The log can be read only once the waiter has let go of the world, that is, while it waits.
        while system.calls(Call::Lock) < 2 {
            std::thread::yield_now();
        }
        drop(held);
        assert!(waiter.join().unwrap());
    });
    assert!(started.elapsed() < Duration::from_secs(50), "it slept on");
}
