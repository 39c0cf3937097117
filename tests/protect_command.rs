//! `kdna protect` leaves an asset that exactly this password opens, or nothing; the password comes over standard input or
//! is typed twice and never shown.
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
use kdna_broker::foundation::json::write::compact;
use kdna_broker::system::os::pty::open_pair;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use support::command::{Exit, Finished, Program, Scratch, run};

const PASSWORD: &str = "caf\u{e9} canary-51";

/// An authoring directory `source` that packs, and the public asset `public.kdna` made of it.
struct Author(Scratch);

impl Author {
    fn new() -> Self {
        let author = Self(Scratch::new());
        author.0.directory("source/attachments", 0o755);
        author.0.file("source/kdna.json", compact(&content::manifest(&mut Numbers::new(3))).unwrap(), 0o644);
        author.0.file("source/payload.json", SMALL_PAYLOAD, 0o644);
        author.0.file("source/attachments/a.txt", "readable", 0o644);
        let packed = author.kdna(&["pack", "source", "public.kdna"], "");
        assert_eq!(packed.exit, Exit::Status(0), "{}", packed.stderr_text());
        author
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn kdna(&self, words: &[&str], input: &str) -> Finished {
        run(self.0.command(Program::Owner, words), Some(input.as_bytes()))
    }

    fn load(&self, file: &str, password: &str) -> Finished {
        self.kdna(&["load", file, "--profile=full", "--password-stdin"], password)
    }

    fn protect(&self, source: &str, input: &str) -> Finished {
        self.kdna(&["protect", source, "a.kdna", "--password-stdin"], input)
    }

    /// What lies in the scratch place, besides what was there before.
    fn made(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let before = ["home", "state", "source", "public.kdna"];
        let mut made: Vec<String> = names.filter(|name| !before.contains(&name.as_str())).collect();
        made.sort();
        made
    }

    fn assert_refused(&self, words: &[&str], input: &str, status: i32, why: &str) {
        let finished = self.kdna(words, input);
        assert_eq!((finished.exit, finished.stdout_text().as_str()), (Exit::Status(status), ""), "{why}");
        assert!(finished.stderr_text().contains(why), "{why}: {}", finished.stderr_text());
        assert!(!finished.stderr_text().contains("canary"), "the password was shown");
        assert_eq!(self.made(), Vec::<String>::new(), "{why}");
    }
}

#[test]
fn a_directory_and_a_public_asset_are_protected_and_open_with_the_password_alone() {
    for source in ["source", "public.kdna"] {
        let author = Author::new();
        let before = fs::read(author.path("public.kdna")).unwrap();
        // One line end is the terminal's, not the password's.
        let protected = author.protect(source, &format!("{PASSWORD}\n"));
        assert_eq!(protected.exit, Exit::Status(0), "{}", protected.stderr_text());
        let said = protected.stdout_text();
        assert!(said.contains("\"access\": \"licensed\"") && said.contains("\"encrypted_entries\": [\n"), "{said}");
        assert_eq!(author.made(), ["a.kdna"], "no temporary file is left");
        assert_eq!(fs::metadata(author.path("a.kdna")).unwrap().permissions().mode() & 0o777, 0o644);
        assert!(fs::read(author.path("public.kdna")).unwrap() == before, "the source stays as it is");

        let opened = author.load("a.kdna", PASSWORD);
        assert_eq!(opened.exit, Exit::Status(0), "{}", opened.stderr_text());
        assert!(opened.stdout_text().contains("\"highest_question\": \"Why?\""));
        let decomposed = PASSWORD.replace('\u{e9}', "e\u{301}");
        for wrong in [&decomposed, "caf\u{e9}", &format!("{PASSWORD}\n\n")] {
            let refused = author.load("a.kdna", wrong);
            assert_eq!((refused.exit, refused.stdout_text().as_str()), (Exit::Status(1), ""), "{wrong:?}");
        }
        assert_eq!(author.kdna(&["plan-load", "a.kdna"], "").exit, Exit::Status(3), "it asks for a password");
        let again = ["protect", "a.kdna", "b.kdna", "--password-stdin"];
        let again = author.kdna(&again, PASSWORD);
        assert_eq!(again.exit, Exit::Status(1));
        assert!(again.stderr_text().contains("it is protected already"), "{}", again.stderr_text());
        assert_eq!(author.made(), ["a.kdna"]);
    }
}

#[test]
fn the_content_is_nowhere_in_the_protected_file() {
    let author = Author::new();
    author.0.file("source/payload.json", SMALL_PAYLOAD.replace("Why?", &"canary question ".repeat(30)), 0o644);
    assert_eq!(author.protect("source", PASSWORD).exit, Exit::Status(0));
    let bytes = fs::read(author.path("a.kdna")).unwrap();
    let shown = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(!shown("canary") && !shown("Never."));
    assert!(shown("readable"), "the control: attachments are not encrypted");
}

#[test]
fn what_is_no_password_makes_nothing() {
    let author = Author::new();
    let protect = ["protect", "source", "a.kdna", "--password-stdin"];
    author.assert_refused(&protect, "", 2, "Password input is empty.");
    author.assert_refused(&protect, "\n", 2, "Password input is empty.");
    author.assert_refused(&protect, "\u{feff}\r\n", 2, "Password input is empty.");
    author.assert_refused(&protect, &"a".repeat(16_385), 2, "exceeds the size limit");
    author.assert_refused(&protect, &"a".repeat(1 << 20), 2, "exceeds the size limit");
    let bytes = run(author.0.command(Program::Owner, protect), Some(b"pw\xff"));
    assert_eq!(bytes.exit, Exit::Status(2));
    assert!(bytes.stderr_text().contains("strict UTF-8"), "{}", bytes.stderr_text());
    let nothing = run(author.0.command(Program::Owner, protect), None);
    assert_eq!(nothing.exit, Exit::Status(2), "no input at all");
    let in_arguments = "--password is not supported";
    author.assert_refused(&["protect", "source", "a.kdna", "--password=canary"], "", 2, in_arguments);
    author.assert_refused(&["protect", "source", "a.kdna", "--password", "canary"], "", 2, in_arguments);
    // The longest there may be; a line end is not counted.
    let longest = author.protect("source", &format!("{}\r\n", "a".repeat(16_384)));
    assert_eq!(longest.exit, Exit::Status(0), "{}", longest.stderr_text());
}

#[test]
fn what_is_not_valid_leaves_nothing_behind_and_names_the_problem() {
    let author = Author::new();
    let manifest = fs::read_to_string(author.path("source/kdna.json")).unwrap();
    let protect = ["protect", "source", "a.kdna", "--password-stdin"];
    for (members, why) in [
        (r#""access":"remote","#, "only a valid asset that is public"),
        (r#""access":"licensed","entitlement":{"profile":"org"},"#, "only a valid asset that is public"),
        (r#""dependencies":{"a":"1"},"#, "no dependency resolver"),
        (r#""access":"licensed","#, "must have required property 'entitlement'"),
        (&format!(r#""content_digest":"sha256:{}","#, "0".repeat(64)), "KDNA_CONTENT_DIGEST_MISMATCH"),
    ] {
        author.0.file("source/kdna.json", manifest.replacen('{', &format!("{{{members}"), 1), 0o644);
        author.assert_refused(&protect, PASSWORD, 1, why);
    }
    author.0.file("source/kdna.json", &manifest, 0o644);
    author.0.file("source/payload.json", "{}", 0o644);
    author.assert_refused(&protect, PASSWORD, 1, "payload: <root> must have required property");
    let damaged = author.0.file("public.kdna", "no asset", 0o644);
    let from_file = ["protect", "public.kdna", "a.kdna", "--password-stdin"];
    author.assert_refused(&from_file, PASSWORD, 2, "Target is not a KDNA container or source directory.");
    fs::remove_file(damaged).unwrap();
    author.assert_refused(&from_file, PASSWORD, 2, "Target is not a KDNA container or source directory.");
}

#[test]
fn no_link_is_followed_and_nothing_is_replaced_unasked() {
    let author = Author::new();
    let protect = ["protect", "source", "a.kdna", "--password-stdin"];
    let link = author.path("source/attachments/link");
    symlink(author.path("public.kdna"), &link).unwrap();
    author.assert_refused(&protect, PASSWORD, 1, "is a link or no file");
    fs::remove_file(&link).unwrap();
    symlink(author.path("state"), &link).unwrap();
    author.assert_refused(&protect, PASSWORD, 1, "is a link or no file");
    fs::remove_file(&link).unwrap();
    for (name, to) in [("linked", "source"), ("linked.kdna", "public.kdna")] {
        symlink(author.path(to), author.path(name)).unwrap();
        let finished = author.protect(name, PASSWORD);
        assert_eq!((finished.exit, author.path("a.kdna").exists()), (Exit::Status(2), false), "{name}");
        fs::remove_file(author.path(name)).unwrap();
    }
    let target = author.0.file("a.kdna", "before", 0o644);
    let refused = author.protect("source", PASSWORD);
    assert_eq!(refused.exit, Exit::Status(2));
    assert!(refused.stderr_text().contains("--force"));
    assert_eq!(fs::read(&target).unwrap(), b"before");
    let forced = |source| author.kdna(&["protect", source, "a.kdna", "--password-stdin", "--force"], PASSWORD);
    assert_eq!(forced("public.kdna").exit, Exit::Status(0));
    assert_eq!(author.load("a.kdna", PASSWORD).exit, Exit::Status(0));
    assert_eq!(forced("a.kdna").exit, Exit::Status(1), "protected already");
    assert_eq!(author.load("a.kdna", PASSWORD).exit, Exit::Status(0), "and still there");
    assert_eq!(author.made(), ["a.kdna"]);
}

#[test]
fn an_asset_does_not_become_part_of_the_next_one() {
    let author = Author::new();
    symlink(author.path("source/attachments"), author.path("shortcut")).unwrap();
    for target in ["source/a.kdna", "source/attachments/a.kdna", "shortcut/a.kdna"] {
        for command in [&["protect", "source", target, "--password-stdin"][..], &["pack", "source", target]] {
            let finished = author.kdna(command, PASSWORD);
            assert_eq!((finished.exit, finished.stdout_text().as_str()), (Exit::Status(2), ""), "{command:?}");
            assert!(finished.stderr_text().contains("the directory that it is made of"), "{}", finished.stderr_text());
            assert_eq!(fs::read_dir(author.path("source")).unwrap().count(), 3, "{command:?}");
            assert_eq!(fs::read_dir(author.path("source/attachments")).unwrap().count(), 1, "{command:?}");
        }
    }
}

#[test]
fn the_command_line_is_understood_or_refused() {
    let author = Author::new();
    author.assert_refused(&["protect", "source"], PASSWORD, 2, "Usage: kdna protect SOURCE_DIR|FILE.kdna FILE.kdna");
    author.assert_refused(&["protect", "source", "a.zip"], PASSWORD, 2, "The name of an asset ends in .kdna: a.zip");
    author.assert_refused(&["protect", "nowhere", "a.kdna", "--password-stdin"], PASSWORD, 2, "not a KDNA container");
    let nowhere = ["protect", "source", "nowhere/a.kdna", "--password-stdin"];
    author.assert_refused(&nowhere, "", 1, "the target directory cannot be written");
    author.assert_refused(&["protect", "source", "a.kdna", "--x"], PASSWORD, 2, "Unknown option: --x");
}

/// The command on a terminal of its own, and the person's end of that.
fn on_terminal(author: &Author) -> (impl Read + Write, Child) {
    let (master, other) = open_pair().unwrap();
    let mut command = author.0.command(Program::Owner, ["--on-terminal", "protect", "source", "a.kdna"]);
    // The command holds the terminal's other end until it is dropped, here.
    (master, command.stdin(other).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
}

/// What a person saw who typed these lines, what was said to standard error, and how the command ended.
fn typed(author: &Author, lines: &[&str]) -> (String, String, i32) {
    let (mut master, child) = on_terminal(author);
    let (mut shown, mut lines, mut answered) = (Vec::new(), lines.iter(), 0);
    let mut buffer = [0; 256];
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
        let asked = String::from_utf8_lossy(&shown).matches(": ").count();
        if asked > answered && shown.ends_with(b": ") {
            answered = asked;
            master.write_all(lines.next().map_or("\u{3}", |line| line).as_bytes()).unwrap();
        }
    }
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    (String::from_utf8_lossy(&shown).into_owned(), said, ended.status.code().unwrap())
}

#[test]
fn a_typed_password_is_asked_twice_and_never_shown() {
    let author = Author::new();
    let line = format!("{PASSWORD}\n");
    let (shown, _, exit) = typed(&author, &[&line, &line]);
    assert_eq!(exit, 0, "{shown}");
    assert!(shown.contains("Password for the protected asset: ") && shown.contains("The same again: "), "{shown}");
    assert!(!shown.contains("canary") && !shown.contains('*'), "{shown}");
    assert_eq!(author.load("a.kdna", PASSWORD).exit, Exit::Status(0), "exactly what was typed");
    fs::remove_file(author.path("a.kdna")).unwrap();
    let long = format!("{}\n", "x".repeat(1025));
    let (cancelled, empty) = ("Error: Cancelled: ", "Error: Password input is empty.");
    for (lines, says) in [
        (&[&*line, "another\n"][..], "Error: The two passwords differ. Nothing was written."),
        (&["\n"], empty),
        (&[&line, "\n"], empty),
        (&["\u{3}"], cancelled),
        (&["canary\u{4}"], cancelled),
        (&[&line, "\u{3}"], cancelled),
        (&[&long, &long], cancelled),
    ] {
        let (shown, said, exit) = typed(&author, lines);
        assert!(said.starts_with(says) && said.lines().count() == 1, "{lines:?}: {said}");
        assert_eq!((exit, author.made()), (2, Vec::new()), "{lines:?}: {shown}");
        assert!(!shown.contains("canary"), "{shown}");
    }
    let alone = run(author.0.command(Program::Owner, ["protect", "source", "a.kdna"]), None);
    // Where this test has a terminal itself, a question waits there; a program that runs the tests has none.
    assert!(alone.exit == Exit::Status(2) || alone.exit == Exit::TimedOut, "{}", alone.stderr_text());
}

/// When the question shows, the public form of the directory has been packed and judged.
#[test]
fn what_is_in_the_clear_never_has_a_name_and_a_killed_command_leaves_nothing() {
    let author = Author::new();
    let (mut master, mut child) = on_terminal(&author);
    let mut shown = Vec::new();
    let mut buffer = [0; 256];
    while !shown.ends_with(b"asset: ") {
        let count = master.read(&mut buffer).unwrap();
        shown.extend_from_slice(&buffer[..count]);
    }
    assert_eq!(author.made(), Vec::<String>::new());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(author.made(), Vec::<String>::new());
}
