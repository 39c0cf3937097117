//! The question: what it shows of hostile texts, who is asked, and what an answer is.

use crate::person::{Person, Seen, answer};
use crate::scene::{HOST, PROCESSOR, Scene, has_setsid};
use crate::support::command::{Exit, Program};
use crate::support::documents::parse;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::text::is_deceptive;
use kdna_broker::foundation::value::Value;
use std::fs;
use std::process::Command;

/// A workspace whose record has this role and this phrase, as a repository could bring it.
fn place(role: &str, phrase: &str) -> Scene {
    let scene = Scene::new();
    scene.attach("ws");
    let path = scene.at("ws/.kdna/attachments.json");
    let record = fs::read_to_string(&path).unwrap();
    let text = |text: &str| write::compact(&text.into()).unwrap();
    let record =
        record.replacen("\"Review\"", &text(role), 1).replacen("\"review the pull request\"", &text(phrase), 1);
    fs::write(path, record).unwrap();
    scene
}

fn words<'a>(cwd: &'a str, processor: &'a str) -> [&'a str; 8] {
    ["consent", "request", "--host", HOST, "--processor", processor, "--cwd", cwd]
}

fn ask(scene: &Scene, processor: &str, keys: &[u8]) -> Seen {
    let _ = fs::remove_file(scene.at("state/declines.json"));
    answer(&scene.scratch, Program::Broker, &words(&scene.text("ws"), processor), |_| {}, keys)
}

/// The question that was shown. Rows and cells are what a terminal of 24 rows and 80 columns holds.
fn question(seen: &Seen) -> Vec<String> {
    let (shown, _) = seen.screen.rsplit_once("[y/N] ").expect("a question");
    let rows: Vec<String> = shown.split('\n').map(str::to_owned).collect();
    assert!(rows.len() <= 24, "{} rows", rows.len());
    for row in &rows {
        let cells: usize = row.chars().map(|character| if character.is_ascii() { 1 } else { 2 }).sum();
        assert!(cells < 80, "{cells} cells: {row}");
        assert!(!row.chars().any(is_deceptive), "{row:?}");
    }
    let last = &rows[rows.len().saturating_sub(12)..];
    for label in ["  Host         ", "  Destination  "] {
        assert_eq!(rows.iter().filter(|row| row.starts_with(label)).count(), 1, "one {label}");
        assert!(last.iter().any(|row| row.starts_with(label)), "{label} in the last rows");
    }
    rows
}

fn assert_declined(scene: &Scene, seen: &Seen) {
    assert_eq!(seen.exit, Exit::Status(10), "{}", seen.screen);
    assert!(!scene.at("state/consents").exists());
}

#[test]
fn prompt_ansi() {
    let controls: String = (1..=0x9f).filter_map(char::from_u32).filter(|character| character.is_control()).collect();
    let sequences = "\u{1b}[2J\u{1b}]0;x\u{7}\u{1b}[1A\r\u{8}\u{7}\u{7f}\u{9b}2J\u{1b}]8;;http://x\u{1b}\\\u{1b}]52;c;AA==\u{7}\u{1b}P1\u{1b}\\";
    for text in [sequences, &controls] {
        let scene = place(text, &format!("a{text}b"));
        let seen = ask(&scene, PROCESSOR, b"\n");
        let rows = question(&seen);
        assert!(
            rows.iter().any(|row| row.contains("\\u{1b}") || row.contains("\\u{1}")),
            "shown, not dropped: {rows:?}"
        );
        assert_declined(&scene, &seen);
    }
}

#[test]
fn prompt_bidi() {
    let hidden = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}\u{200b}\u{200d}\u{ad}\u{e0001}\u{e0041}\u{e007f}\u{fe0f}\u{e0100}\u{2028}\u{2029}\u{fff9}\u{fffa}\u{fffb}";
    let stack = format!("a{}", "\u{301}".repeat(64));
    for text in [hidden, &stack] {
        let scene = place(text, text);
        let seen = ask(&scene, PROCESSOR, b"n\n");
        let rows = question(&seen);
        assert!(rows.iter().any(|row| row.contains("\\u{202a}") || row.contains("\\u{301}")), "{rows:?}");
        assert_declined(&scene, &seen);
    }
}

#[test]
fn prompt_homoglyph() {
    let scene = place("Review", "review");
    let rows = question(&ask(&scene, "open\u{430}i", b"n\n"));
    let warning = "  Careful      the destination mixes Latin and Cyrillic letters: U+0430";
    assert!(rows.iter().any(|row| row == warning), "{rows:?}");
    // An identifier is ASCII, so no host can look like another.
    let host = ["consent", "request", "--host", "open\u{430}i", "--processor", PROCESSOR, "--cwd", &scene.text("ws")];
    let seen = answer(&scene.scratch, Program::Broker, &host, |_| {}, b"y\n");
    assert!(!seen.was_asked() && seen.exit == Exit::Status(2), "{}", seen.screen);
}

#[test]
fn prompt_scroll_pad() {
    for padding in [" ".repeat(3000), "\n".repeat(3000), "\u{3000}".repeat(1000), format!("x{}", "\t".repeat(3000))] {
        let scene = place(&format!("a{padding}\n  Destination  nothing"), &format!("b{padding}c"));
        let seen = ask(&scene, PROCESSOR, b"n\n");
        let rows = question(&seen);
        assert!(rows.contains(&format!("  Destination  {PROCESSOR}")), "{rows:?}");
    }
    let scene = place("Review", "review");
    let seen = ask(&scene, &"x".repeat(257), b"y\n");
    assert!(!seen.was_asked() && seen.exit == Exit::Status(2), "over-long is refused and not cut: {}", seen.screen);
}

/// Asks with a draft on standard input, the terminal being elsewhere.
fn with_draft(scene: &Scene, draft: &str) -> Seen {
    let _ = fs::remove_file(scene.at("state/declines.json"));
    scene.scratch.file("draft.json", draft, 0o600);
    let from_file = |command: &mut Command| *command = scene.on_terminal(command, "\"$0\" \"$@\" <draft.json");
    answer(&scene.scratch, Program::Broker, &["consent", "request", "--draft-stdin"], from_file, b"y\n")
}

fn draft(scene: &Scene) -> String {
    write::compact_object(&scene.draft("ws")).unwrap()
}

#[test]
fn prompt_misrepresent() {
    if !has_setsid() {
        return;
    }
    let scene = place("Review", "review");
    let honest = draft(&scene);
    for (from, to) in
        [("\"Review\"", "\"Nothing\""), ("[\"review\"]", "[\"nothing\"]"), ("golden:review", "golden:other")]
    {
        assert!(honest.contains(from), "{from}");
        let seen = with_draft(&scene, &honest.replace(from, to));
        assert!(!seen.was_asked() && seen.exit == Exit::Status(2), "{}", seen.screen);
        assert!(seen.screen.contains("says something else than the workspace"), "{}", seen.screen);
    }
    assert!(!scene.at("state/consents").exists());
    let seen = with_draft(&scene, &honest);
    assert!(seen.was_asked() && seen.exit == Exit::Status(0), "the control: {}", seen.screen);
}

#[test]
fn prompt_what_is_shown_is_signed() {
    if !has_setsid() {
        return;
    }
    let scene = place("Review", "review");
    let honest = draft(&scene);
    let open = honest.strip_suffix('}').unwrap();
    for bad in [
        format!("{honest}x"),
        format!("{honest}\n{honest}"),
        format!("// yes\n{honest}"),
        format!("{open},\"processor\":\"Other\"}}"),
        format!("{open},\"more\":1}}"),
    ] {
        let seen = with_draft(&scene, &bad);
        assert!(!seen.was_asked() && seen.exit == Exit::Status(2), "{}", seen.screen);
    }
    let seen = ask(&scene, PROCESSOR, b"y\n");
    let (shown, _) = seen.screen.rsplit_once("[y/N] ").unwrap();
    let stored = fs::read_dir(scene.at("state/consents")).unwrap().next().unwrap().unwrap().path();
    let document = parse(&fs::read(stored).unwrap()).unwrap();
    // What stands above the heading tells where the record came from, and is no part of the question.
    let (above, question) = shown.split_at(shown.find("A host asks").unwrap());
    assert!(above.starts_with("  Origin       it came with the workspace"), "{above}");
    let digest = Digest::of(format!("{question}[y/N] ").as_bytes()).to_string();
    assert_eq!(document.get("prompt_digest").and_then(Value::as_str), Some(digest.as_str()));
}

#[test]
fn prompt_non_tty() {
    let scene = place("Review", "review");
    let cwd = scene.text("ws");
    if !has_setsid() {
        return;
    }
    // No controlling terminal, and many answers on standard input.
    let command = scene.scratch.command(Program::Broker, words(&cwd, PROCESSOR));
    let command = scene.in_shell(&command, "exec setsid \"$0\" \"$@\"");
    let done = crate::support::command::run(command, Some(&b"y\n".repeat(100)));
    assert_eq!(done.exit, Exit::Status(11), "{}", done.stderr_text());
    // A terminal of which this is a background process.
    let background = |command: &mut Command| {
        *command = scene.on_terminal(command, "set -m; \"$0\" \"$@\" </dev/tty & wait $!");
    };
    let seen = answer(&scene.scratch, Program::Broker, &words(&cwd, PROCESSOR), background, b"y\n");
    assert!(!seen.was_asked() && seen.exit == Exit::Status(11), "{}", seen.screen);
    // What was typed ahead answers nothing.
    let mut person = Person::sit_down(&scene.scratch, Program::Broker, &words(&cwd, PROCESSOR), |_| {}, b"y\ny\n");
    assert!(person.is_asked());
    person.type_keys(b"\n");
    assert_declined(&scene, &person.finish());
}

#[test]
fn prompt_tty_confusion() {
    let scene = place("Review", "review");
    // Standard streams are files: the question and its answer are on the session's own terminal all the same.
    scene.scratch.file("answers", b"y\ny\ny\n", 0o600);
    let elsewhere = |command: &mut Command| {
        *command = scene.in_shell(command, "exec \"$0\" \"$@\" >out 2>err");
    };
    let cwd = scene.text("ws");
    let seen = answer(&scene.scratch, Program::Broker, &words(&cwd, PROCESSOR), elsewhere, b"n\n");
    question(&seen);
    assert_declined(&scene, &seen);
    let rows = fs::read_to_string(scene.at("state/journal/journal-000001.jsonl")).unwrap();
    let row = parse(rows.lines().last().unwrap().as_bytes()).unwrap();
    let asked_by = row.get("asked_by").expect("what asked");
    assert!(asked_by.get("session").and_then(Value::as_number).is_some_and(|session| session > 0.0), "{rows}");
}

#[test]
fn prompt_rate() {
    let scene = place("Review", "review");
    let cwd = scene.text("ws");
    let mut asked = 0;
    for _ in 0..12 {
        let seen = answer(&scene.scratch, Program::Broker, &words(&cwd, PROCESSOR), |_| {}, b"n\n");
        asked += u32::from(seen.was_asked());
        assert_eq!(seen.exit, Exit::Status(if seen.was_asked() { 10 } else { 2 }), "{}", seen.screen);
    }
    assert_eq!(asked, 3);
    let rows = fs::read_to_string(scene.at("state/journal/journal-000001.jsonl")).unwrap();
    let count = |word: &str| rows.lines().filter(|row| row.contains(word)).count();
    assert_eq!((count("\"event\":\"declined\""), count("\"reason\":\"consent_asked_too_often\"")), (3, 1), "{rows}");
    let counted = parse(&fs::read(scene.at("state/declines.json")).unwrap()).unwrap();
    assert_eq!(counted.get("refused_since").and_then(Value::as_number), Some(9.0));
}
