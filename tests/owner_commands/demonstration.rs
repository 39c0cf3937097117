//! The demonstration, where a person is asked: whatever ends it, nothing of it stays.

use crate::person::Person;
use crate::scene::Scene;
use crate::support::command::{Exit, Program};
use rustix::process::Signal;
use std::fs;

/// What the demonstration left in the directory for temporary files.
fn left(scene: &Scene) -> Vec<String> {
    let entries = fs::read_dir(scene.at("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

fn sit_down(scene: &Scene) -> Person {
    scene.scratch.directory("tmp", 0o700);
    let temporary = scene.at("tmp");
    let arrange = |command: &mut std::process::Command| {
        command.env("TMPDIR", temporary);
    };
    Person::sit_down(&scene.scratch, Program::Broker, &["demo"], arrange, b"")
}

#[test]
fn a_demonstration_that_is_ended_at_its_question_leaves_nothing() {
    type End = (&'static str, fn(&mut Person), Exit);
    let ends: [End; 5] = [
        ("SIGHUP", |person| person.signal(Signal::HUP), Exit::Signal(1)),
        ("SIGINT", |person| person.signal(Signal::INT), Exit::Signal(2)),
        ("SIGQUIT", |person| person.signal(Signal::QUIT), Exit::Signal(3)),
        ("SIGTERM", |person| person.signal(Signal::TERM), Exit::Signal(15)),
        ("Control-C", |person| person.type_keys(b"\x03"), Exit::Status(1)),
    ];
    for (label, end, expected) in ends {
        let scene = Scene::new();
        let mut person = sit_down(&scene);
        assert!(person.is_asked(), "{label}");
        assert_eq!(left(&scene).len(), 1, "{label}: the question is about something");
        end(&mut person);
        let seen = person.finish();
        assert_eq!(seen.exit, expected, "{label}: {}", seen.screen);
        assert_eq!(left(&scene), Vec::<String>::new(), "{label}");
    }
}

#[test]
fn a_demonstration_that_is_allowed_goes_on_to_its_end_and_leaves_nothing() {
    let scene = Scene::new();
    let mut person = sit_down(&scene);
    assert!(person.is_asked());
    person.type_keys(b"y\n");
    let seen = person.finish();
    assert_eq!(seen.exit, Exit::Status(0), "{}", seen.screen);
    assert!(seen.screen.contains("Every step ended as it should."), "{}", seen.screen);
    assert_eq!(left(&scene), Vec::<String>::new());
}
