//! Command lines that cannot be understood: refused with status 2, and what is repeated of them is escaped.

use crate::commands::{Input, lay_out, refused, run, words};
use crate::place::{Place, report};
use crate::support::command::{Exit, Program};

/// What a terminal would act on.
const ESCAPE: &str = "\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\r\n";
/// Stands for the path of a good asset.
const ASSET: &str = "{ASSET}";

const COMMANDS: [&str; 8] =
    ["attach", "attachments", "resolve", "plan-load", "load", "inspect", "validate", "host-consent"];

const OWNER: &[&[&str]] = &[
    &[ESCAPE],
    &["--\u{1b}"],
    &["help", ESCAPE],
    &["version", ESCAPE],
    &["load", ASSET, "--profile", ESCAPE],
    &["load", ASSET, "--as", ESCAPE],
    &["load", ASSET, "--password"],
    &["load", ASSET, "--password=x"],
    &["load", ASSET, "--remote-server", "x"],
    &["load", ASSET, "--has-password"],
    &["load", ASSET, ASSET],
    &["load"],
    &["plan-load", ASSET, "--entitlement-status", ESCAPE],
    &["validate", ASSET, "--runtime", "--entitlement-status", ESCAPE],
    &["attach", ASSET, "--cwd", "ws"],
    &["attach", ASSET, "--cwd", "ws", "--role", ESCAPE, "--applies-to", "x", "--preview"],
    &["attach", ASSET, "--cwd", "ws", "--role", "r", "--applies-to", ESCAPE, "--preview"],
    &["attach", ASSET, "--cwd", "ws", "--role", "r", "--applies-to", "x", "--yes", "--consent-digest", ESCAPE],
    &["attach", ASSET, "--cwd", ESCAPE, "--all-workspace", "--preview"],
    &["attach", ASSET, "--cwd", "fifo.kdna", "--all-workspace", "--preview"],
    &["attach", "no.kdna", "--cwd", "ws", "--all-workspace", "--preview"],
    &["attach", "junk.txt", "--cwd", "ws", "--all-workspace", "--preview"],
    &["attachments", ESCAPE],
    &["attachments", "--cwd", "fifo.kdna"],
    &["attachments", "--cwd", "/dev/zero"],
    &["attachments", "--cwd", "ws", "--workspace-root", "folder.kdna"],
    &["resolve", "--cwd", "ws", "--task-file", ESCAPE],
    &["resolve", "--cwd", "ws", "--task-file", "/dev/zero"],
    &["resolve", "--cwd", "ws", "--task-file", "/dev/null"],
    &["resolve", "--cwd", "ws", "--task-file", "fifo.kdna"],
    &["resolve", "--cwd", "ws", "--task-file", "folder.kdna"],
    &["resolve", "--cwd", "ws", "--task-file", "link.kdna"],
    &["resolve", "--cwd", "ws", "--task-file", "huge.kdna"],
    &["resolve", "--cwd", "ws", "--task-file", "empty.kdna"],
    &["resolve", "--cwd", "ws", "--task-file", "junk.kdna"],
    &["resolve", "--cwd", "ws", "--task-stdin", "--task-file", "x"],
    &["resolve", "--cwd", "ws", "--task-file", "ws/.kdna/attachments.json", "--select-attachment", ESCAPE],
    &["host-consent", "--status", "--revoke"],
    &["host-consent", "--from-workspace", "--status"],
    &["host-consent", "--input-file", ESCAPE],
    &["host-consent", "--from-workspace", "--cwd", "ws", "--host", ESCAPE, "--processor", "x"],
    &["host-consent", "--from-workspace", "--cwd", "ws", "--host", "h", "--processor", ESCAPE],
    &["host-consent", "--from-workspace", "--cwd", ESCAPE, "--host", "h", "--processor", "x"],
    &["host-consent", "--from-workspace", "--cwd", "ws", "--host", "h", "--processor", "x", "--profile", ESCAPE],
];

const BROKER: &[&[&str]] = &[
    &[ESCAPE],
    &["mcp", ESCAPE],
    &["mcp", "--tool-names"],
    &["mcp", "--tool-names", ESCAPE],
    &["mcp", "--x\u{1b}"],
    &["demo", ESCAPE],
    &["help", ESCAPE],
    &["--on-terminal", "mcp"],
    &["consent"],
    &["consent", ESCAPE],
    &["consent", "status", ESCAPE],
    &["consent", "revoke", "--x\u{1b}"],
    &["consent", "request"],
    &["consent", "request", "--host", "h"],
    &["consent", "request", "--host", ESCAPE, "--processor", "x", "--cwd", "ws"],
    &["consent", "request", "--host", "h", "--processor", ESCAPE, "--cwd", "ws"],
    &["consent", "request", "--host", "h", "--processor", "x", "--cwd", ESCAPE],
    &["consent", "request", "--host", "h", "--processor", "x", "--cwd", "ws", "--host-root", ESCAPE],
    &["consent", "request", "--host", "h", "--processor", "x", "--cwd", "ws", "--attachment", ESCAPE],
    &["consent", "request", "--host", "h", "--processor", "x", "--cwd", "ws", "--profile", ESCAPE],
];

fn refuse_all(place: &Place, program: Program, lines: &[&[&str]], faults: &mut Vec<String>) {
    let asset = place.session.snapshot_path().to_str().expect("a plain path").to_owned();
    for line in lines {
        let line: Vec<String> = line.iter().map(|word| word.replace(ASSET, &asset)).collect();
        refused(place, program, &line, Input::Nothing, &[2], faults);
    }
}

#[test]
fn a_wrong_option_or_value_is_shown_escaped_or_not_at_all() {
    let place = Place::new();
    lay_out(&place);
    let mut faults = Vec::new();
    refuse_all(&place, Program::Owner, OWNER, &mut faults);
    refuse_all(&place, Program::Broker, BROKER, &mut faults);
    let line = words(&["consent", "request", "--host", "h", "--processor", "x", "--cwd", "ws"]);
    refused(&place, Program::Broker, &line, Input::Nothing, &[11], &mut faults);
    report(&faults);
}

#[test]
fn every_command_refuses_options_that_it_does_not_know_and_files_that_are_not_there() {
    let place = Place::new();
    lay_out(&place);
    let mut faults = Vec::new();
    for command in COMMANDS {
        for more in
            [&["--x\u{1b}\u{9b}\u{202e}"][..], &["--\u{7}=1"], &["--cwd"], &["--cwd", ""], &["--json=1"], &["--"]]
        {
            let line: Vec<String> = [command].iter().chain(more).map(|word| (*word).to_owned()).collect();
            refused(&place, Program::Owner, &line, Input::Nothing, &[2], &mut faults);
        }
        let file = format!("./no{ESCAPE}.kdna");
        let file = if command == "resolve" || command == "attachments" { format!("--cwd={file}") } else { file };
        refused(&place, Program::Owner, &words(&[command, &file]), Input::Nothing, &[2], &mut faults);
    }
    report(&faults);
}

#[test]
fn what_a_person_typed_is_repeated_in_its_escaped_form() {
    let place = Place::new();
    for (line, said) in [
        (&["load", "./a\u{1b}[2Jb"][..], "Error: File not found: ./a\\u{1b}[2Jb\n"),
        (&["load", "./a\\u{1b}b"], "Error: File not found: ./a\\\\u{1b}b\n"),
        (&["load", "x", "--no\u{202e}"], "Error: Unknown option: --no\\u{202e}\n"),
        (&["no\r\nsuch"], "Error: command is not in the approved allowlist: no\\u{d}\\u{a}such\n"),
    ] {
        let given = run(&place, Program::Owner, &words(line), Input::Nothing);
        assert_eq!((given.exit, given.stderr_text().as_str()), (Exit::Status(2), said));
        assert!(given.stdout.is_empty());
    }
}
