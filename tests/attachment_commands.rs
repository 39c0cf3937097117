//! The owner's commands as a person and as a script meet them: readable at a terminal, JSON in a pipe, refusals that a
//! program can read, and a switch that is confirmed by its preview.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]
#![cfg(feature = "runtime")]

mod support;

use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::value::Value;
use kdna_broker::system::os::pty::open_pair;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::command::{Exit, Finished, Program, Scratch, run};
use support::documents::{at, parse};
use support::package;

fn project() -> Scratch {
    let scratch = Scratch::new();
    scratch.directory("ws", 0o755);
    for (case, name) in [("attach-preview", "one.kdna"), ("switch-yes", "two.kdna")] {
        let bytes = fs::read(package().join("fixtures/golden/cases").join(case).join("files/a.kdna")).unwrap();
        scratch.file(name, bytes, 0o644);
    }
    scratch
}

fn kdna(scratch: &Scratch, arguments: &[&str]) -> Finished {
    run(scratch.command(Program::Owner, arguments.iter().chain(&["--cwd", "ws"])), None)
}

fn text<'v>(document: &'v Value, pointer: &str) -> &'v str {
    at(document, pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no text at {pointer}"))
}

/// Attaches the first asset and gives the attachment's id.
fn attached(scratch: &Scratch) -> String {
    let done = kdna(scratch, &["attach", "one.kdna", "--applies-to", "review", "--yes", "--scope-user-approved"]);
    text(&parse(&done.stdout).expect("a document"), "/attachment/attachment_id").to_owned()
}

fn record(scratch: &Scratch) -> Record {
    Record::read(&fs::read(scratch.path().join("ws/.kdna/attachments.json")).unwrap()).unwrap()
}

#[test]
fn a_switch_is_confirmed_by_the_digest_of_its_preview() {
    let scratch = project();
    let id = attached(&scratch);
    let switch = ["switch", &id, "two.kdna", "--retain-scope"];
    let preview = || kdna(&scratch, &[&switch[..], &["--preview"]].concat());
    let (one, other) = (parse(&preview().stdout).unwrap(), parse(&preview().stdout).unwrap());
    let digest = text(&one, "/preview/consent_digest").to_owned();
    assert_eq!(digest, text(&other, "/preview/consent_digest"), "the time of a preview is not part of it");
    assert!(record(&scratch).attachments()[0].history.is_empty(), "a preview changes nothing");

    let wrong = format!("sha256:{}", "0".repeat(64));
    let refused = kdna(&scratch, &[&switch[..], &["--yes", "--consent-digest", &wrong]].concat());
    assert_eq!(refused.exit, Exit::Status(2));
    assert!(refused.stderr_text().starts_with("Error: [approval_binding_changed] The switch workspace"), "{refused:?}");
    let done = kdna(&scratch, &[&switch[..], &["--yes", "--consent-digest", &digest]].concat());
    assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    assert_eq!(record(&scratch).attachments()[0].asset.version, "1.1.0");
    assert_eq!(kdna(&scratch, &["rollback", &id]).exit, Exit::Status(0));
    assert_eq!(record(&scratch).attachments()[0].asset.version, "1.0.0");
}

#[test]
fn a_damaged_version_is_left_only_where_the_person_says_so_and_the_preview_says_it_too() {
    let scratch = project();
    let id = attached(&scratch);
    let snapshot = format!("ws/.kdna/{}", record(&scratch).attachments()[0].asset.snapshot);
    scratch.file(&snapshot, b"damaged", 0o600);
    let switch = ["switch", &id, "two.kdna", "--retain-scope"];
    let refused = kdna(&scratch, &[&switch[..], &["--preview"]].concat());
    assert!(refused.stderr_text().starts_with("Error: [snapshot_digest_mismatch] "), "{refused:?}");
    let preview = kdna(&scratch, &[&switch[..], &["--from-damaged", "--preview"]].concat());
    let preview = parse(&preview.stdout).expect("a preview");
    assert!(text(&preview, "/preview/note").contains("missing or damaged"));
    assert_eq!(at(&preview, "/preview/authorization/old"), Some(&Value::Null));
    let digest = text(&preview, "/preview/consent_digest");
    let without = kdna(&scratch, &[&switch[..], &["--yes", "--consent-digest", digest]].concat());
    assert_eq!(without.exit, Exit::Status(2), "the digest alone does not leave it");
    let done = kdna(&scratch, &[&switch[..], &["--from-damaged", "--yes", "--consent-digest", digest]].concat());
    assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    let back = kdna(&scratch, &["rollback", &id]);
    assert!(back.stderr_text().starts_with("Error: [snapshot_digest_mismatch] "), "{back:?}");
}

#[test]
fn a_switch_takes_exactly_one_policy() {
    let scratch = project();
    let id = attached(&scratch);
    for policy in [&["--preview"][..], &["--retain-scope", "--applies-to", "x", "--preview"]] {
        let refused = kdna(&scratch, &[&["switch", &id, "two.kdna"][..], policy].concat());
        assert!(refused.stderr_text().contains("Switch requires exactly one reviewed policy source: "), "{refused:?}");
    }
    for words in [&["switch", &id][..], &["enable"], &["remove", "a", "b"], &["cleanup", "x"], &["doctor", "x"]] {
        let refused = kdna(&scratch, words);
        let usage = format!("Error: [input_invalid] Usage: kdna {} ", words[0]);
        assert!(refused.stderr_text().starts_with(&usage), "{refused:?}");
        assert!(refused.stderr_text().ends_with("\nSee 'kdna help COMMAND' or 'kdna-broker help COMMAND'.\n"));
        assert_eq!((refused.exit, refused.stdout.len()), (Exit::Status(2), 0));
    }
    let refused = kdna(&scratch, &["cleanup", "--yes"]);
    assert!(refused.stderr_text().contains("Cleanup execution requires both --plan-digest and --yes."), "{refused:?}");
}

#[test]
fn ids_that_are_none_and_workspaces_that_are_none_are_refused_and_nothing_is_made() {
    let scratch = project();
    for command in ["enable", "disable", "rollback", "remove"] {
        let refused = kdna(&scratch, &[command, "att_x"]);
        assert!(
            refused
                .stderr_text()
                .starts_with("Error: [attachment_not_found] No workspace attachment record was found.\n")
        );
    }
    assert!(!scratch.path().join("ws/.kdna").exists());
    attached(&scratch);
    for command in ["enable", "disable", "rollback", "remove"] {
        let refused = kdna(&scratch, &[command, "att_x"]);
        assert!(refused.stderr_text().starts_with("Error: [input_invalid] Attachment ID must be att_ plus 24 "));
    }
}

#[test]
fn a_refusal_is_one_json_object_where_a_program_asks_for_it() {
    let scratch = project();
    let refused = |arguments: &[&str]| {
        let done = kdna(&scratch, &[arguments, &["--json-errors"]].concat());
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{done:?}");
        let said = done.stderr_text();
        assert_eq!(said.lines().count(), 1, "{said}");
        let document = parse(said.as_bytes()).expect("JSON");
        let keys: Vec<&str> = document.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["code", "reason", "message", "remedy"]);
        document
    };
    let document = refused(&["remove", "att_000000000000000000000001"]);
    assert_eq!(text(&document, "/code"), "attachment_not_found");
    assert_eq!(text(&document, "/reason"), "record_not_found");
    let document = refused(&["attach", "one.kdna", "--aplies-to", "x"]);
    assert_eq!(text(&document, "/message"), "Unknown option: --aplies-to");
    assert_eq!(text(&document, "/remedy"), "Did you mean --applies-to?");
    for command in [&["resolve"][..], &["enable"], &["cleanup", "--yes"], &["doctor", "x"], &["host-consent", "x"]] {
        refused(command);
    }
    let request = ["consent", "request", "--host", "x", "--json-errors"];
    let done = run(scratch.command(Program::Broker, request), None);
    assert!(parse(&done.stderr).is_some(), "{done:?}");
    assert_eq!(kdna(&scratch, &["attachments", "--json-errors"]).stdout, b"null\n", "an answer stays what it is");
}

#[test]
fn each_command_has_a_page_of_its_own_and_a_mistyped_one_is_answered_with_the_nearest() {
    let scratch = project();
    for words in [&["help", "remove"][..], &["remove", "--help"], &["remove", "x", "--help"]] {
        let page = run(scratch.command(Program::Owner, words), None);
        assert_eq!((page.exit, page.stderr_text().as_str()), (Exit::Status(0), ""), "{words:?}");
        assert!(page.stdout_text().starts_with("Usage: kdna remove ID\n"), "{words:?}: {}", page.stdout_text());
        assert!(!page.stdout_text().contains("rollback"), "of that one command alone");
    }
    for (words, said) in [
        (&["help", "remov"][..], "Error: [input_invalid] There is no command: remov\nDid you mean remove?\n"),
        (&["remov", "x"], "Error: command is not in the approved allowlist: remov\nDid you mean remove?\n"),
    ] {
        let refused = run(scratch.command(Program::Owner, words), None);
        assert_eq!((refused.exit, refused.stdout.len()), (Exit::Status(2), 0), "{words:?}");
        assert!(refused.stderr_text().starts_with(said), "{words:?}: {}", refused.stderr_text());
    }
}

#[test]
fn a_mistyped_flag_keeps_its_recorded_first_line() {
    let scratch = project();
    let said = kdna(&scratch, &["attachments", "--workspace-rot", "x"]).stderr_text();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[..2],
        ["Error: [input_invalid] Unknown option: --workspace-rot", "Did you mean --workspace-root?"]
    );
}

/// Runs a command as a person does, on a terminal for everything; types `answer` at the question, if there is one.
fn at_terminal(scratch: &Scratch, arguments: &[&str], answer: &str) -> (String, Option<i32>) {
    let (mut terminal, slave) = open_pair().unwrap();
    let words = ["--on-terminal"].iter().chain(arguments).chain(&["--cwd", "ws"]);
    let mut command = scratch.command(Program::Owner, words);
    let second = || Stdio::from(rustix::io::dup(&slave).unwrap());
    command.stdin(second()).stdout(second()).stderr(second());
    let mut child = command.spawn().unwrap();
    drop((slave, command));
    let (mut shown, mut buffer, started) = (Vec::new(), [0; 4096], Instant::now());
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        if shown.ends_with(b"[y/N] ") {
            terminal.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    let exit = child.wait().unwrap().code();
    (String::from_utf8(shown).unwrap().replace('\r', ""), exit)
}

#[test]
fn a_person_reads_what_is_approved_and_what_to_type_next() {
    let scratch = project();
    let attach = ["attach", "one.kdna", "--role", "change review", "--applies-to", "review the change"];
    let (shown, exit) = at_terminal(&scratch, &attach, "n");
    assert!(
        shown.contains("Attach an asset to this workspace:\n") && shown.contains("\"review the change\""),
        "{shown}"
    );
    assert!(shown.contains("Error: [approval_required] Attachment approval was not granted."), "{shown}");
    assert_eq!(exit, Some(2));
    assert!(!scratch.path().join("ws/.kdna").exists());

    let (shown, exit) = at_terminal(&scratch, &attach, "y");
    assert_eq!(exit, Some(0), "{shown}");
    assert!(shown.contains("Attached: kdna:golden:review 1.0.0\n"), "{shown}");
    assert!(shown.ends_with("Next: kdna attachments --cwd ws\n"), "{shown}");
    assert!(!shown.contains('{'), "no JSON for people: {shown}");
    let id = record(&scratch).attachments()[0].id.clone();

    let (shown, _) = at_terminal(&scratch, &["attachments"], "");
    assert!(shown.contains("STATE     ASSET") && shown.contains(&id), "{shown}");

    let (shown, _) = at_terminal(&scratch, &["switch", &id, "two.kdna", "--retain-scope", "--preview"], "");
    assert!(shown.contains("  Version       1.1.0\n    version was 1.0.0\n"), "{shown}");
    assert!(shown.contains("the same as until now") && shown.contains("Nothing was changed.\n"), "{shown}");
    let next = shown.lines().find_map(|line| line.strip_prefix("Next: kdna ")).expect("the next command");
    let next: Vec<&str> = next.split(' ').filter(|word| *word != "--cwd" && *word != "ws").collect();
    assert_eq!(kdna(&scratch, &next).exit, Exit::Status(0), "what is shown can be typed: {next:?}");
    assert_eq!(record(&scratch).attachments()[0].asset.version, "1.1.0");

    let (shown, _) = at_terminal(&scratch, &["doctor"], "");
    assert!(shown.ends_with("Nothing to complain about.\n"), "{shown}");
    at_terminal(&scratch, &["remove", &id], "");
    let (shown, _) = at_terminal(&scratch, &["cleanup"], "");
    let next =
        shown.lines().find_map(|line| line.strip_prefix("Next: kdna cleanup --cwd ws ")).expect("the next command");
    let words: Vec<&str> = ["cleanup"].into_iter().chain(next.split(' ')).collect();
    assert_eq!(kdna(&scratch, &words).exit, Exit::Status(0));
    assert_eq!(fs::read_dir(scratch.path().join("ws/.kdna/assets")).unwrap().count(), 0);
}
