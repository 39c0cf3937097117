//! `kdna pack` leaves a valid asset or nothing, follows no link, and replaces nothing unasked; `kdna inspect` shows a card
//! to a person and the document to a program.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "support/content.rs"]
mod content;
mod support;

use content::{Numbers, SMALL_PAYLOAD};
use kdna_broker::foundation::json::read_strict;
use kdna_broker::foundation::json::write::compact;
use kdna_broker::foundation::value::Value;
use kdna_broker::system::os::pty::open_pair;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use support::command::{Exit, Finished, Program, Scratch, run};

/// An authoring directory `source` that packs, in a scratch place.
struct Author(Scratch);

impl Author {
    fn new() -> Self {
        let author = Self(Scratch::new());
        author.0.directory("source/attachments/deep", 0o755);
        author.write("kdna.json", &compact(&content::manifest(&mut Numbers::new(3))).unwrap());
        author.write("payload.json", SMALL_PAYLOAD);
        author.write("attachments/b.txt", "judgment judgment judgment judgment");
        author.write("attachments/deep/a.json", "[1]");
        author
    }

    fn write(&self, name: &str, text: &str) {
        self.0.file(format!("source/{name}"), text, 0o644);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn kdna(&self, words: &[&str]) -> Finished {
        run(self.0.command(Program::Owner, words), None)
    }

    /// What lies in the scratch place, besides what was there before.
    fn made(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut made: Vec<String> =
            names.filter(|name| !["home", "state", "source"].contains(&name.as_str())).collect();
        made.sort();
        made
    }

    fn assert_refused(&self, words: &[&str], status: i32, why: &str) {
        let finished = self.kdna(words);
        assert_eq!((finished.exit, finished.stdout_text().as_str()), (Exit::Status(status), ""), "{why}");
        assert!(finished.stderr_text().contains(why), "{why}: {}", finished.stderr_text());
        assert_eq!(self.made(), Vec::<String>::new(), "{why}");
    }
}

#[test]
fn a_program_is_told_in_one_line_why_no_asset_was_made() {
    let author = Author::new();
    author.write("kdna.json", "{\"title\":\"a\\nb\"}");
    for (words, said) in [
        (&["pack", "source", "a.kdna"][..], "required property 'format_version'"),
        (&["pack", "source", "missing/a.kdna"], "the target directory cannot be written"),
        (&["protect", "source", "a.kdna", "--password-stdin"], "required property 'format_version'"),
    ] {
        let input = Some(&b"a password"[..]).filter(|_| words.contains(&"--password-stdin"));
        let words = [words, &["--json-errors"]].concat();
        let ended = run(author.0.command(Program::Owner, &words), input);
        assert_eq!((ended.exit, ended.stdout.len()), (Exit::Status(1), 0), "{words:?}: {}", ended.stderr_text());
        let text = ended.stderr_text();
        assert_eq!(text.lines().count(), 1, "{text}");
        let document = read_strict(text.trim_end().as_bytes(), 4).unwrap();
        let member = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
        assert_eq!((member("code"), member("reason")), ("asset_invalid", "asset_not_made"), "{text}");
        assert!(member("message").starts_with("Nothing was written: ") && member("message").contains(said), "{text}");
        assert!(!member("remedy").is_empty());
    }
    assert_eq!(author.made(), [""; 0], "nothing is left");
}

#[test]
fn a_directory_is_packed_to_the_same_bytes_each_time_and_loads() {
    let author = Author::new();
    author.write(".gitignore", "ignored");
    author.write("attachments/.DS_Store", "ignored");
    author.write("checksums.json", "made anew");
    let packed = author.kdna(&["pack", "source", "a.kdna"]);
    assert_eq!(packed.exit, Exit::Status(0), "{}", packed.stderr_text());
    assert!(packed.stdout_text().contains("\"entries\": 6\n"), "{}", packed.stdout_text());
    fs::remove_file(author.path("source/checksums.json")).unwrap();
    assert_eq!(author.kdna(&["pack", "source", "b.kdna"]).exit, Exit::Status(0));
    assert_eq!(fs::read(author.path("a.kdna")).unwrap(), fs::read(author.path("b.kdna")).unwrap());
    assert_eq!(author.made(), ["a.kdna", "b.kdna"], "no temporary file is left");
    assert_eq!(fs::metadata(author.path("a.kdna")).unwrap().permissions().mode() & 0o777, 0o644);
    let loaded = author.kdna(&["load", "a.kdna", "--profile=full"]);
    assert_eq!(loaded.exit, Exit::Status(0), "{}", loaded.stderr_text());
    assert!(loaded.stdout_text().contains("\"highest_question\": \"Why?\""));
}

#[test]
fn a_payload_of_cbor_is_taken_as_it_is() {
    let author = Author::new();
    assert_eq!(author.kdna(&["pack", "source", "a.kdna"]).exit, Exit::Status(0));
    let payload = kdna_broker::runtime::writer::payload_cbor(
        &kdna_broker::foundation::json::read_javascript(SMALL_PAYLOAD.as_bytes()).unwrap(),
    );
    fs::remove_file(author.path("source/payload.json")).unwrap();
    author.0.file("source/payload.kdnab", payload.unwrap(), 0o644);
    assert_eq!(author.kdna(&["pack", "source", "b.kdna"]).exit, Exit::Status(0));
    assert_eq!(fs::read(author.path("a.kdna")).unwrap(), fs::read(author.path("b.kdna")).unwrap());
}

#[test]
fn what_is_not_valid_leaves_nothing_behind() {
    let author = Author::new();
    let pack = ["pack", "source", "a.kdna"];
    for (name, text, why) in [
        (
            "payload.json",
            r#"{"profile":"kdna.payload.judgment"}"#,
            "payload: <root> must have required property 'core'",
        ),
        ("payload.json", r#"{"a":1,"a":2}"#, "payload.json is not one JSON document"),
        ("payload.json", r#"{"__proto__":2}"#, "would not come back"),
        ("kdna.json", r#"{"title":"\u001b[2J"}"#, "must have required property 'asset_id'"),
        ("kdna.json", "not JSON", "every .json attachment must be JSON"),
        ("attachments/c.json", "not JSON", "every .json attachment must be JSON"),
        ("notes.md", "?", "\"notes.md\" has no place in an asset"),
        ("attachments/e\u{301}.txt", "?", "is no name that an entry may have"),
        ("attachments/a\u{5c}b", "?", "is no name that an entry may have"),
    ] {
        let path = author.path(&format!("source/{name}"));
        let before = fs::read_to_string(&path).ok();
        author.write(name, text);
        author.assert_refused(&pack, 1, why);
        match before {
            Some(before) => author.write(name, &before),
            None => fs::remove_file(path).unwrap(),
        }
    }
    author.write("payload.kdnab", "twice");
    author.assert_refused(&pack, 1, "there must be one of payload.json and payload.kdnab");
    fs::remove_file(author.path("source/payload.kdnab")).unwrap();
    let other = format!("sha256:{}", "0".repeat(64));
    let manifest = fs::read_to_string(author.path("source/kdna.json")).unwrap();
    author.write("kdna.json", &manifest.replacen('{', &format!("{{\"content_digest\":\"{other}\","), 1));
    author.assert_refused(&pack, 1, "could not be loaded [KDNA_CONTENT_DIGEST_MISMATCH]");
    author.write("kdna.json", &manifest);
    assert_eq!(author.kdna(&pack).exit, Exit::Status(0), "the control");
}

#[test]
fn no_link_is_followed_and_nothing_special_is_read() {
    let author = Author::new();
    author.0.file("secret", "not mine to pack", 0o600);
    let pack = ["pack", "source", "made/a.kdna"];
    let nothing_packed = |why: &str| {
        let finished = author.kdna(&pack);
        assert_eq!((finished.exit, finished.stdout_text().as_str()), (Exit::Status(1), ""), "{why}");
        assert_eq!(fs::read_dir(author.path("made")).unwrap().count(), 0, "{why}");
    };
    author.0.directory("made", 0o755);
    for name in ["attachments/link", "payload.json", "kdna.json"] {
        let path = author.path(&format!("source/{name}"));
        let before = fs::read(&path).ok();
        let _ = fs::remove_file(&path);
        symlink(author.path("secret"), &path).unwrap();
        nothing_packed(name);
        fs::remove_file(&path).unwrap();
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
    }
    symlink(author.path("home"), author.path("source/attachments/folder")).unwrap();
    nothing_packed("a linked folder");
    fs::remove_file(author.path("source/attachments/folder")).unwrap();
    let fifo = author.path("source/attachments/fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    nothing_packed("a FIFO, which would block");
    fs::remove_file(fifo).unwrap();
    symlink(author.path("source"), author.path("linked")).unwrap();
    let linked = author.kdna(&["pack", "linked", "made/a.kdna"]);
    assert_eq!(linked.exit, Exit::Status(2), "the directory itself is a link");
    assert_eq!(author.kdna(&pack).exit, Exit::Status(0), "the control");
}

#[test]
fn a_file_that_is_there_stays_unless_it_is_to_be_replaced() {
    let author = Author::new();
    let target = author.0.file("a.kdna", "before", 0o644);
    let refused = author.kdna(&["pack", "source", "a.kdna"]);
    assert_eq!(refused.exit, Exit::Status(2));
    assert!(refused.stderr_text().contains("--force"));
    assert_eq!(fs::read(&target).unwrap(), b"before");
    author.write("kdna.json", "not JSON");
    assert_eq!(author.kdna(&["pack", "source", "a.kdna", "--force"]).exit, Exit::Status(1));
    assert_eq!(fs::read(&target).unwrap(), b"before", "what is not valid replaces nothing");
    author.write("kdna.json", &compact(&content::manifest(&mut Numbers::new(3))).unwrap());
    assert_eq!(author.kdna(&["pack", "source", "a.kdna", "--force"]).exit, Exit::Status(0));
    assert!(fs::read(&target).unwrap().starts_with(b"PK"));
    assert_eq!(author.made(), ["a.kdna"]);
    fs::remove_file(&target).unwrap();
    symlink("elsewhere.kdna", &target).unwrap();
    assert_eq!(author.kdna(&["pack", "source", "a.kdna"]).exit, Exit::Status(2), "a dangling link is a name in use");
    assert_eq!(author.kdna(&["pack", "source", "a.kdna", "--force"]).exit, Exit::Status(0));
    assert!(fs::symlink_metadata(&target).unwrap().is_file(), "the link was replaced, not followed");
}

#[test]
fn the_command_line_is_understood_or_refused() {
    let author = Author::new();
    author.assert_refused(&["pack", "source"], 2, "Usage: kdna pack SOURCE_DIR FILE.kdna [--force]");
    author.assert_refused(&["pack", "source", "a.kdna", "more"], 2, "Usage: kdna pack");
    author.assert_refused(&["pack", "source", "a.zip"], 2, "The name of an asset ends in .kdna: a.zip");
    author.assert_refused(&["pack", "source", ".kdna"], 2, "ends in .kdna");
    author.assert_refused(&["pack", "nowhere", "a.kdna"], 2, "Not a directory: nowhere");
    author.assert_refused(&["pack", "source/kdna.json", "a.kdna"], 2, "Not a directory");
    author.assert_refused(&["pack", "source", "nowhere/a.kdna"], 1, "the target directory cannot be written");
    author.assert_refused(&["pack", "source", "a.kdna", "--x"], 2, "Unknown option: --x");
}

/// What a command shows on a terminal.
fn on_terminal(author: &Author, words: &[&str]) -> String {
    let (mut master, other) = open_pair().unwrap();
    let mut command = author.0.command(Program::Owner, words);
    let mut child = command.stdin(std::process::Stdio::null()).stdout(other).spawn().unwrap();
    drop(command);
    let mut shown = Vec::new();
    master.read_to_end(&mut shown).unwrap();
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap()
}

#[test]
fn a_person_sees_a_card_and_a_program_the_document() {
    let author = Author::new();
    assert_eq!(author.kdna(&["pack", "source", "a.kdna"]).exit, Exit::Status(0));
    let piped = author.kdna(&["inspect", "a.kdna"]).stdout_text();
    assert!(piped.starts_with("{\n  \"format_version\": \"0.1.0\","));
    let card = on_terminal(&author, &["inspect", "a.kdna"]);
    assert!(card.contains("holds         2 rules, 1 boundary, 1 self-check,"), "{card}");
    assert!(card.contains("asks          Why?") && card.contains("access        public, not encrypted"), "{card}");
    assert!(!card.contains('{') || card.contains("\\u{"), "a card is no document: {card}");
    let document = on_terminal(&author, &["inspect", "a.kdna", "--json"]);
    // On a terminal what could steer it is written as JSON escapes: the same document.
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(value(&document), value(&piped));
}

#[test]
fn directories_in_each_other_are_taken_to_their_limit_and_named_beyond_it() {
    let author = Author::new();
    let deep = |levels: usize| format!("attachments/{}", vec!["d"; levels].join("/"));
    fs::create_dir_all(author.path(&format!("source/{}", deep(16)))).unwrap();
    author.write(&format!("{}/note.txt", deep(16)), "text");
    let packed = author.kdna(&["pack", "source", "deep.kdna"]);
    assert_eq!(packed.exit, Exit::Status(0), "{}", packed.stderr_text());
    fs::remove_file(author.path("deep.kdna")).unwrap();
    fs::create_dir_all(author.path(&format!("source/{}", deep(17)))).unwrap();
    author.assert_refused(&["pack", "source", "deep.kdna"], 1, "more directories in each other than an asset may have");
}
