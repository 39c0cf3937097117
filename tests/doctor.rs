//! `kdna-broker doctor` says what a load would meet and changes nothing; `kdna-broker mcp --verbose` says on standard
//! error how workers ended, escaped, and never to the model.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::value::Value;
use std::fs;
use std::process::Command;
use support::command::{Exit, Finished, run};
use support::documents::parse;
use support::real::{Place, delivered, reason, refused};
use support::tree::tree;

fn doctor(place: &Place, change: impl FnOnce(&mut Command) -> &mut Command) -> Finished {
    let mut command = place.command(&["doctor"]);
    change(&mut command);
    run(command, None)
}

/// The state of one topic, and what to do about it.
fn topic(place: &Place, change: impl FnOnce(&mut Command) -> &mut Command, name: &str) -> (String, String, Exit) {
    let mut command = place.command(&["doctor", "--json"]);
    change(&mut command);
    let ended = run(command, None);
    let document = parse(&ended.stdout).unwrap_or_else(|| panic!("{}", ended.stdout_text()));
    let ready = document.get("ready").and_then(Value::as_bool).unwrap();
    assert_eq!(ended.exit, Exit::Status(i32::from(!ready)));
    let findings = document.get("findings").and_then(Value::as_array).unwrap();
    let text = |finding: &Value, key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let finding = findings.iter().find(|finding| text(finding, "topic") == name);
    let finding = finding.unwrap_or_else(|| panic!("{name} is not in {}", ended.stdout_text()));
    (text(finding, "state"), text(finding, "remedy"), ended.exit)
}

#[test]
fn a_place_where_a_load_works_is_called_so_and_nothing_is_changed() {
    let place = Place::new();
    assert!(delivered(&place.try_load()), "it does work");
    let before = tree(place.scratch.path());
    let ended = doctor(&place, |command| command);
    assert_eq!((ended.exit, ended.stderr_text()), (Exit::Status(0), String::new()), "{}", ended.stdout_text());
    let text = ended.stdout_text();
    for (word, name) in [("good", "kernel"), ("good", "worker"), ("good", "journal"), ("good", "root")] {
        assert!(text.lines().any(|line| line.starts_with(word) && line.contains(name)), "{name}: {text}");
    }
    assert!(text.contains("Landlock ABI") && text.contains("3 rows") && text.contains("A load could work"), "{text}");
    assert!(!text.contains("missing"), "{text}");
    assert_eq!(tree(place.scratch.path()), before, "it looks and changes nothing");
}

#[test]
fn a_place_that_no_server_has_seen_is_left_as_it_is() {
    let place = Place::new();
    fs::remove_dir(place.scratch.state()).unwrap();
    let before = tree(place.scratch.path());
    assert_eq!(topic(&place, |command| command, "state").0, "note");
    assert_eq!(tree(place.scratch.path()), before);
}

#[test]
fn each_thing_that_is_missing_is_named_with_what_to_do() {
    let place = Place::new();
    let ws = place.path("ws");
    let open = place.scratch.directory("open", 0o755);
    let inside = place.scratch.file("ws/password", "pw", 0o600);
    let changes = [
        ("root", "KDNA_MCP_WORKSPACE_ROOT", "/nonexistent"),
        ("root", "HOME", ws.to_str().unwrap()),
        ("home", "HOME", "relative"),
        ("host", "KDNA_MCP_HOST_ID", "../x"),
        ("consent", "KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", "/nonexistent/consent.json"),
        ("state", "KDNA_BROKER_STATE_DIR", open.to_str().unwrap()),
        ("state", "KDNA_BROKER_STATE_DIR", "relative"),
        ("password", "KDNA_MCP_AUTHORIZATION_FILE", inside.to_str().unwrap()),
    ];
    for (name, variable, value) in changes {
        let (state, remedy, exit) = topic(&place, |command| command.env(variable, value), name);
        assert_eq!((state.as_str(), exit), ("missing", Exit::Status(1)), "{variable}={value}");
        assert!(remedy.len() > 10, "{variable}={value}: {remedy}");
    }
    drop(place.serve());
    fs::write(place.scratch.state().join("journal/journal-000001.jsonl"), "{}\n").unwrap();
    assert_eq!(topic(&place, |command| command, "journal").0, "missing");
}

/// What is done to a place before the doctor comes, and to the doctor's environment.
type Arrange = (fn(&Place), fn(&Place, &mut Command));

const FILE: &str = "KDNA_MCP_HOST_PROCESSING_CONSENT_FILE";
const PASSWORD: &str = "KDNA_MCP_AUTHORIZATION_FILE";

#[test]
fn a_load_that_cannot_work_is_never_called_one_that_could_and_the_next_command_is_named() {
    let set = |place: &Place| drop(place.scratch.directory("private/set", 0o700));
    let in_set = |place: &Place, command: &mut Command| {
        command.env_remove(FILE).env("KDNA_BROKER_CONSENT_DIR", place.path("private/set"));
    };
    let disabled = |place: &Place| {
        let path = place.path("ws/.kdna/attachments.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("\"enabled\"", "\"disabled\"")).unwrap();
    };
    let open = |place: &Place| drop(place.scratch.file("private/password", "pw", 0o644));
    let with_password = |place: &Place, command: &mut Command| {
        command.env(PASSWORD, place.path("private/password"));
    };
    let without_root = |place: &Place, command: &mut Command| {
        command.env(PASSWORD, place.path("private/password")).env_remove("KDNA_MCP_WORKSPACE_ROOT");
    };
    let no_consent = |_: &Place, command: &mut Command| {
        command.env_remove(FILE);
    };
    let other_host = |_: &Place, command: &mut Command| {
        command.env("KDNA_MCP_HOST_ID", "another-host");
    };
    let ledger = |_: &Place, command: &mut Command| {
        command.env("KDNA_BROKER_REQUIRE_LEDGER", "1");
    };
    let bare = |place: &Place| fs::remove_dir_all(place.path("ws/.kdna")).unwrap();
    let no_copy = |place: &Place| fs::remove_file(place.path(Place::snapshot())).unwrap();
    let as_it_is: fn(&Place) = |_| {};
    let as_it_was: fn(&Place, &mut Command) = |_, _| {};
    let request = "Next: kdna-broker consent request --host ";
    let cases: [(&str, Arrange, &str, &str); 10] = [
        ("an empty consent set", (set, in_set), "load", request),
        ("no consent is named", (as_it_is, no_consent), "consent", "KDNA_BROKER_CONSENT_DIR="),
        ("a consent for another host", (as_it_is, other_host), "load", request),
        ("a ledger without an entry", (as_it_is, ledger), "load", "Next: kdna-broker adopt --cwd "),
        ("every attachment is disabled", (disabled, as_it_was), "load", "kdna enable ID --cwd "),
        ("nothing is attached", (bare, as_it_was), "load", "Next: kdna attach FILE.kdna --cwd "),
        ("the stored copy is gone", (no_copy, as_it_was), "load", "Next: kdna switch att_"),
        ("the password file is not there", (as_it_is, with_password), "password", "0600"),
        ("others can read the password", (open, with_password), "password", "0600"),
        ("others can read it, and no root is named", (open, without_root), "password", "0600"),
    ];
    for (label, (change, arrange), name, next) in cases {
        let place = Place::new();
        change(&place);
        let before = tree(place.scratch.path());
        let arranged = |command: &mut Command| arrange(&place, command);
        let (state, remedy, exit) = topic(
            &place,
            |command| {
                arranged(command);
                command
            },
            name,
        );
        assert_eq!((state.as_str(), exit), ("missing", Exit::Status(1)), "{label}");
        assert!(remedy.contains(next), "{label}: {remedy}");
        let text = doctor(&place, |command| {
            arranged(command);
            command
        })
        .stdout_text();
        assert!(text.ends_with("A load cannot work until what is missing is there.\n"), "{label}: {text}");
        assert_eq!(tree(place.scratch.path()), before, "{label}: it looks and changes nothing");
    }
}

#[test]
fn one_attachment_that_works_is_enough_and_without_coordinates_nothing_is_promised() {
    let place = Place::new();
    let text = doctor(&place, |command| command).stdout_text();
    assert!(text.lines().any(|line| line.starts_with("good     load") && line.contains("golden-host")), "{text}");
    let bare = doctor(&place, |command| command.env_remove("KDNA_MCP_WORKSPACE_ROOT").env_remove("KDNA_MCP_HOST_ID"));
    let text = bare.stdout_text();
    assert!(!text.contains("A load could work") && !text.contains("A load cannot work"), "{text}");
    assert!(text.contains("Nothing stands against a load"), "{text}");
}

#[test]
fn coordinates_that_are_not_set_are_noted_and_not_judged() {
    let place = Place::new();
    for name in ["KDNA_MCP_WORKSPACE_ROOT", "KDNA_MCP_HOST_ID"] {
        let short = if name.ends_with("ROOT") { "root" } else { "host" };
        let (state, remedy, exit) = topic(&place, |command| command.env_remove(name), short);
        assert_eq!((state.as_str(), exit), ("note", Exit::Status(0)), "{name}");
        assert!(remedy.contains("environment"), "{remedy}");
    }
}

#[test]
fn foreign_text_is_shown_escaped() {
    let place = Place::new();
    let root = place.scratch.directory("a\u{1b}[2J\u{202e}b", 0o755);
    let ended = doctor(&place, |command| command.env("KDNA_MCP_WORKSPACE_ROOT", root));
    let text = ended.stdout_text();
    assert!(text.contains("\\u{1b}[2J\\u{202e}b"), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
}

#[test]
fn more_words_are_refused() {
    let place = Place::new();
    for words in [&["doctor", "now"][..], &["doctor", "--yaml"]] {
        let ended = run(place.command(words), None);
        assert_eq!((ended.exit, ended.stdout_text()), (Exit::Status(2), String::new()), "{words:?}");
    }
}

#[test]
fn a_worker_that_cannot_confine_itself_is_named_by_its_measure() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", "without_sessions_in_a_process_of_its_own"]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "run by a_worker_that_cannot_confine_itself_is_named_by_its_measure, in a process of its own"]
fn without_sessions_in_a_process_of_its_own() {
    let place = Place::new();
    let filter = seccompiler::SeccompFilter::new(
        [(libc::SYS_setsid, Vec::new())].into_iter().collect(),
        seccompiler::SeccompAction::Allow,
        seccompiler::SeccompAction::Errno(1),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    rustix::thread::set_no_new_privs(true).unwrap();
    let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    let (state, remedy, exit) = topic(&place, |command| command, "worker");
    assert_eq!((state.as_str(), exit), ("missing", Exit::Status(1)));
    assert!(remedy.contains("sandbox"), "{remedy}");
    for verbose in [true, false] {
        let mut server = place.serve_with(|command| if verbose { command.arg("--verbose") } else { command });
        let answer = server.ask(&place.load(1));
        refused(&answer, "sandbox_unavailable");
        assert!(!answer.contains("session"), "the measure is for the person, not the model: {answer}");
        let said = server.close().stderr_text();
        assert_eq!(said.contains("did not get through its sandbox: session"), verbose, "{said}");
        assert!(verbose || said.is_empty(), "{said}");
    }
}

#[test]
fn what_a_worker_says_goes_to_standard_error_alone_and_only_when_asked_for() {
    let place = Place::new();
    for verbose in [true, false] {
        let mut server = place.serve_with(|command| if verbose { command.arg("--verbose") } else { command });
        let blank = place.call(1, "kdna.workspace-load", &[("task", Value::from(" \n "))]);
        let answer = server.ask(&blank);
        assert_eq!(reason(&answer), "task_refused");
        assert!(!answer.contains("worker"), "{answer}");
        assert!(delivered(&server.ask(&place.load(2))));
        let said = server.close().stderr_text();
        assert_eq!(said.contains("resolve: the worker ended with status"), verbose, "{said}");
        assert_eq!(said.lines().count(), usize::from(verbose), "one line, and none of a worker that ended well");
    }
}
