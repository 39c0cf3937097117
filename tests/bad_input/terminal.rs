//! What a person sees on a terminal: foreign texts that would steer it are shown escaped, whoever wrote them.

use crate::place::{Place, quoted};
use crate::session::titled_asset;
use crate::support::command::{Exit, Program};
use crate::support::documents::{at, parse};
use kdna_broker::system::os::pty::open_pair;
use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread::spawn;
use std::time::Duration;

/// Runs a command whose standard output is a terminal; what the terminal got, its own line ends undone.
fn on_terminal(mut command: Command) -> (Exit, Vec<u8>) {
    let (mut terminal, slave) = open_pair().unwrap();
    let mut child = command.stdin(Stdio::null()).stdout(slave).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    let reader = spawn(move || {
        let mut shown = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..count]);
        }
        shown
    });
    let exit = Exit::from(child.wait().unwrap());
    let shown = String::from_utf8(reader.join().unwrap()).unwrap();
    (exit, shown.replace("\r\n", "\n").into_bytes())
}

fn is_harmless(shown: &[u8]) -> bool {
    shown.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
}

/// Every kind of character that could do harm, without one that may be shown.
const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}\u{2066}\u{200b}\u{e0041}\u{7f}";

#[test]
fn a_record_of_a_stranger_is_shown_on_a_terminal_without_steering_it() {
    let place = Place::new();
    let text = String::from_utf8(place.session.record().to_vec()).unwrap();
    let hostile = text.replace("\"change-review\"", &quoted(HOSTILE));
    fs::write(place.session.record_path(), &hostile).unwrap();
    let command = || place.session.scratch.command(Program::Owner, ["attachments", "--cwd", "ws"]);
    let (exit, shown) = on_terminal(command());
    assert_eq!(exit, Exit::Status(0));
    // A table for people: what is cut ends in an ellipsis, which is ours.
    let table = String::from_utf8(shown).unwrap().replace('…', "...");
    assert!(is_harmless(table.as_bytes()), "{table:?}");
    assert!(table.contains("\\u{1b}]0;x\\u{7}") && table.contains("SINCE\nenabled "), "{table}");
    // Into a pipe goes the document as it always was.
    let piped = command().output().unwrap();
    assert!(String::from_utf8_lossy(&piped.stdout).contains("\u{9b}31m\u{202e}"));
}

#[test]
fn an_asset_of_a_stranger_is_shown_on_a_terminal_without_steering_it() {
    let place = Place::new();
    let file = place.session.scratch.file("evil.kdna", titled_asset(HOSTILE), 0o644);
    for words in [&["inspect"][..], &["inspect", "--json"], &["plan-load"], &["load"], &["validate"]] {
        let mut command = place.session.scratch.command(Program::Owner, words);
        command.arg(&file);
        let (exit, shown) = on_terminal(command);
        assert_eq!(exit, Exit::Status(0));
        // What is cut ends in an ellipsis, which is ours.
        let plain = String::from_utf8(shown.clone()).unwrap().replace('…', "...");
        assert!(is_harmless(plain.as_bytes()), "{plain:?}");
        // A person is shown a card, everything else is the document as a pipe would get it.
        assert_eq!(parse(&shown).is_some(), words != ["inspect"], "{words:?}: {plain}");
    }
}

#[test]
fn a_directory_with_a_hostile_name_cannot_forge_the_question_or_what_is_printed_after_it() {
    let place = Place::new();
    let name = format!("x{HOSTILE}\nKDNA_MCP_HOST_ID=forged\n");
    let root = place.session.scratch.path().join(&name);
    fs::rename(place.session.root(), &root).unwrap();
    let (mut terminal, slave) = open_pair().unwrap();
    let consent = place.session.consent_path().with_file_name("another.json");
    let mut command = place.session.scratch.command(
        Program::Broker,
        ["--on-terminal", "consent", "request", "--host", "h", "--processor", "Example Inference Ltd"],
    );
    command.current_dir(&root).env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", &consent).stdin(slave);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    let mut answered = false;
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        if !answered && shown.ends_with(b"[y/N] ") {
            answered = true;
            std::thread::sleep(Duration::from_millis(20));
            terminal.write_all(b"y\n").unwrap();
        }
    }
    let ended = child.wait_with_output().unwrap();
    assert!(answered && ended.status.success(), "{ended:?}");
    let shown: Vec<u8> = shown.into_iter().filter(|byte| *byte != b'\r').collect();
    for said in [&shown, &ended.stdout, &ended.stderr] {
        assert!(
            said.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\n') || *byte >= 0x80),
            "{}",
            String::from_utf8_lossy(said)
        );
        assert!(
            !String::from_utf8_lossy(said)
                .chars()
                .any(|character| matches!(character, '\u{80}'..='\u{9f}' | '\u{202e}'))
        );
        assert!(
            !String::from_utf8_lossy(said).lines().any(|line| line.trim_start().starts_with("KDNA_MCP_HOST_ID=forged"))
        );
    }
    assert!(at(&parse(&fs::read(consent).unwrap()).unwrap(), "/approved").is_some());
}
