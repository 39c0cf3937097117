//! A cloned repository with a hostile `.kdna` harms nothing: no command follows it outside, hangs on it, writes its control
//! characters to the terminal or changes what it should not; and the doctor says what is wrong with it.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]
#![cfg(feature = "runtime")]

mod support;

use kdna_broker::foundation::value::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use support::command::{Exit, Finished, Program, Scratch, run};
use support::documents::{at, parse};
use support::package;

const ID: &str = "att_000000000000000000000001";
const SECRET: &[u8] = b"what lies outside of the project";
/// Escape, a reordering mark, an invisible letter and a bell: none of these may reach a terminal.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{202e}\u{200b}";

/// A project as it was cloned, beside a file that is nobody's business.
struct Clone {
    scratch: Scratch,
}

impl Clone {
    /// A workspace with one sound attachment.
    fn sound() -> Self {
        let scratch = Scratch::new();
        let case = package().join("fixtures/golden/cases/disable/files/ws/.kdna");
        scratch.directory("ws/.kdna", 0o700);
        scratch.directory("ws/.kdna/assets", 0o700);
        for (from, to, mode) in [("_gitignore", ".gitignore", 0o644), ("attachments.json", "attachments.json", 0o600)] {
            scratch.file(format!("ws/.kdna/{to}"), fs::read(case.join(from)).unwrap(), mode);
        }
        let assets = fs::read_dir(case.join("assets")).unwrap();
        for asset in assets.map(|entry| entry.unwrap()) {
            let name = asset.file_name().into_string().unwrap();
            scratch.file(format!("ws/.kdna/assets/{name}"), fs::read(asset.path()).unwrap(), 0o600);
        }
        scratch.file("secret", SECRET, 0o600);
        scratch.directory("outside", 0o700);
        scratch.file("outside/attachments.json", SECRET, 0o600);
        let source = package().join("fixtures/golden/cases/attach-preview/files/a.kdna");
        scratch.file("a.kdna", fs::read(source).unwrap(), 0o644);
        Self { scratch }
    }

    fn kdna(&self) -> PathBuf {
        self.scratch.path().join("ws/.kdna")
    }

    fn snapshot(&self) -> PathBuf {
        let mut assets = fs::read_dir(self.kdna().join("assets")).unwrap();
        assets
            .find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.extension().is_some()))
            .expect("a snapshot")
    }

    fn rewrite(&self, change: impl FnOnce(String) -> String) {
        let path = self.kdna().join("attachments.json");
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    }

    fn run(&self, arguments: &[&str], input: Option<&[u8]>) -> Finished {
        let done = run(self.scratch.command(Program::Owner, arguments.iter().chain(&["--cwd", "ws"])), input);
        assert!(matches!(done.exit, Exit::Status(0..=3)), "{arguments:?}: {:?} {}", done.exit, done.stderr_text());
        let said = done.stderr_text();
        for character in said.chars().filter(|character| *character != '\n') {
            let shown = !character.is_control() && !('\u{200b}'..='\u{200f}').contains(&character);
            assert!(shown && !('\u{202a}'..='\u{202e}').contains(&character), "{arguments:?}: {said:?}");
        }
        assert!(!done.stdout.contains(&0x1b) && !done.stdout.contains(&0x07), "{arguments:?}");
        done
    }

    /// Everything that a person may type here; every command ends, whatever lies in `.kdna`.
    fn everything(&self) {
        let approved = ["--yes", "--scope-user-approved"];
        self.run(&["attachments"], None);
        self.run(&["doctor"], None);
        self.run(&["resolve", "--task-stdin"], Some(b"review the pull request"));
        self.run(&["attach", "a.kdna", "--applies-to", "x", "--preview"], None);
        self.run(&["switch", ID, "a.kdna", "--retain-scope", "--preview"], None);
        self.run(&["enable", ID], None);
        self.run(&["rollback", ID], None);
        self.run(&["cleanup"], None);
        self.run(&[&["switch", ID, "a.kdna", "--retain-scope"][..], &approved].concat(), None);
        self.run(&[&["attach", "a.kdna", "--applies-to", "x"][..], &approved].concat(), None);
        self.run(&["disable", ID], None);
        self.run(&["remove", ID], None);
        assert_eq!(fs::read(self.scratch.path().join("secret")).unwrap(), SECRET);
        let outside = self.scratch.path().join("outside");
        assert_eq!(fs::read(outside.join("attachments.json")).unwrap(), SECRET);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1, "nothing was made outside");
    }

    /// The doctor's findings as `refused place: problem`.
    fn findings(&self) -> Vec<(bool, String, String)> {
        let done = self.run(&["doctor"], None);
        let document = parse(&done.stdout).expect("a document");
        let findings = at(&document, "/findings").and_then(Value::as_array).expect("findings");
        let text = |finding: &Value, key: &str| finding.get(key).and_then(Value::as_str).expect("a text").to_owned();
        let listed: Vec<_> = findings
            .iter()
            .map(|finding| {
                assert!(text(finding, "remedy").ends_with('.'), "every finding says what to do");
                let refused = finding.get("refused").and_then(Value::as_bool).unwrap();
                (refused, text(finding, "place"), text(finding, "problem"))
            })
            .collect();
        let exit = i32::from(listed.iter().any(|(refused, _, _)| *refused));
        assert_eq!(done.exit, Exit::Status(exit), "{listed:?}");
        listed
    }

    #[track_caller]
    fn assert_found(&self, refused: bool, place: &str, problem: &str) {
        let found = self.findings();
        let met = |(is, at, what): &(bool, String, String)| *is == refused && at == place && what.contains(problem);
        assert!(found.iter().any(met), "{place}: {problem:?} is not in {found:#?}");
    }
}

#[test]
fn a_sound_workspace_has_nothing_to_complain_about() {
    let clone = Clone::sound();
    assert_eq!(clone.findings(), []);
    assert_eq!(clone.run(&["doctor"], None).exit, Exit::Status(0));
    let empty = Scratch::new();
    empty.directory("ws", 0o755);
    let done = run(empty.command(Program::Owner, ["doctor", "--cwd", "ws"]), None);
    assert_eq!(done.exit, Exit::Status(0));
    assert!(!empty.path().join("ws/.kdna").exists(), "looking makes nothing");
}

#[test]
fn symbolic_links_lead_nowhere() {
    type Trap = (&'static str, &'static str, fn(&Clone));
    let traps: [Trap; 5] = [
        (".kdna", "symbolic link", |clone| {
            fs::rename(clone.kdna(), clone.scratch.path().join("moved")).unwrap();
            symlink("../outside", clone.kdna()).unwrap();
        }),
        (".kdna/assets", "symbolic link", |clone| {
            fs::rename(clone.kdna().join("assets"), clone.scratch.path().join("moved")).unwrap();
            symlink("../../outside", clone.kdna().join("assets")).unwrap();
        }),
        (".kdna/attachments.json", "symbolic link", |clone| {
            fs::remove_file(clone.kdna().join("attachments.json")).unwrap();
            symlink("../../secret", clone.kdna().join("attachments.json")).unwrap();
        }),
        (".kdna/.gitignore", "symbolic link", |clone| {
            fs::remove_file(clone.kdna().join(".gitignore")).unwrap();
            symlink("../../secret", clone.kdna().join(".gitignore")).unwrap();
        }),
        (".kdna/attachments.lock", "symbolic link", |clone| {
            symlink("../../secret", clone.kdna().join("attachments.lock")).unwrap();
        }),
    ];
    for (place, problem, trap) in traps {
        let clone = Clone::sound();
        trap(&clone);
        clone.assert_found(true, place, problem);
        clone.everything();
    }
    let clone = Clone::sound();
    let snapshot = clone.snapshot();
    fs::remove_file(&snapshot).unwrap();
    symlink("../../../secret", &snapshot).unwrap();
    let place = format!(".kdna/assets/{}", snapshot.file_name().unwrap().to_str().unwrap());
    clone.assert_found(true, &place, "symbolic link");
    clone.everything();
}

#[test]
fn a_fifo_blocks_nobody() {
    for name in ["attachments.json", ".gitignore", "attachments.lock", ".attachments-lock.tmp", "assets/x"] {
        let clone = Clone::sound();
        let path = clone.kdna().join(name);
        let _ = fs::remove_file(&path);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        clone.assert_found(true, &format!(".kdna/{name}"), "FIFO");
        clone.everything();
    }
}

#[test]
fn huge_and_sparse_files_are_not_read() {
    for (name, size) in [("attachments.json", 1 << 40), (".gitignore", 1 << 40), ("attachments.lock", 1 << 40)] {
        let clone = Clone::sound();
        let file =
            fs::OpenOptions::new().create(true).truncate(false).write(true).open(clone.kdna().join(name)).unwrap();
        file.set_len(size).unwrap();
        clone.assert_found(true, &format!(".kdna/{name}"), "larger than its limit");
        clone.everything();
    }
    let clone = Clone::sound();
    let snapshot = clone.snapshot();
    fs::OpenOptions::new().write(true).open(&snapshot).unwrap().set_len(1 << 40).unwrap();
    let place = format!(".kdna/assets/{}", snapshot.file_name().unwrap().to_str().unwrap());
    clone.assert_found(true, &place, "larger than its limit");
    clone.everything();
}

#[test]
fn changed_and_missing_copies_are_named() {
    let clone = Clone::sound();
    let snapshot = clone.snapshot();
    let place = format!(".kdna/assets/{}", snapshot.file_name().unwrap().to_str().unwrap());
    let bytes = fs::read(&snapshot).unwrap();
    fs::write(&snapshot, [&bytes[..], b" "].concat()).unwrap();
    clone.assert_found(true, &place, "digest differs");
    fs::remove_file(&snapshot).unwrap();
    clone.assert_found(true, &place, "was not found");
    clone.everything();
}

#[test]
fn texts_of_the_record_deceive_nobody() {
    let clone = Clone::sound();
    let escaped: String = HOSTILE.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat();
    clone.rewrite(|text| {
        text.replace("change-review", &format!("x{escaped}")).replace("write documentation", &format!("y{escaped}"))
    });
    clone.assert_found(false, ".kdna/attachments.json", "attachments[0].role holds 4 control");
    clone.assert_found(false, ".kdna/attachments.json", "attachments[0].scope.does_not_apply_to[0] holds 4 control");
    clone.everything();
}

#[test]
fn every_problem_of_a_record_is_named_not_only_the_first() {
    let clone = Clone::sound();
    clone.rewrite(|text| {
        text.replace(ID, "att_x")
            .replace("\"state\": \"disabled\"", "\"state\": \"on\"")
            .replace("enabled", "on")
            .replace("\"kind\": \"workspace\"", "\"kind\": \"world\"")
    });
    for problem in ["attachment_id must be", "state must be", "scope.kind must be"] {
        clone.assert_found(true, ".kdna/attachments.json", problem);
    }
    for (bytes, problem) in [
        (&b"{"[..], "not valid JSON"),
        (b"\xff", "not valid UTF-8"),
        (br#"{"a":1,"a":2}"#, "a key twice"),
        (b"[]", "must be an object"),
    ] {
        fs::write(clone.kdna().join("attachments.json"), bytes).unwrap();
        clone.assert_found(true, ".kdna/attachments.json", problem);
        clone.everything();
    }
}

#[test]
fn what_others_can_change_is_named() {
    let clone = Clone::sound();
    let mode = |path: PathBuf, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let snapshot = clone.snapshot();
    mode(clone.kdna().join("attachments.json"), 0o666);
    mode(snapshot.clone(), 0o666);
    mode(clone.kdna().join("assets"), 0o777);
    mode(clone.kdna(), 0o777);
    fs::hard_link(&snapshot, clone.scratch.path().join("second")).unwrap();
    let place = format!(".kdna/assets/{}", snapshot.file_name().unwrap().to_str().unwrap());
    for place in [".kdna", ".kdna/assets", ".kdna/attachments.json", &place] {
        clone.assert_found(false, place, "Other users can change it");
    }
    clone.assert_found(false, &place, "second name");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&snapshot, Some(1), None).unwrap();
        clone.assert_found(false, &place, "belongs to another user");
    }
    clone.everything();
}

#[test]
fn names_that_differ_in_case_alone_and_names_that_do_not_belong_there_are_named() {
    let clone = Clone::sound();
    clone.scratch.file("ws/.kdna/ATTACHMENTS.json", b"{}", 0o600);
    clone.scratch.directory("ws/.KDNA", 0o700);
    clone.scratch.file(format!("ws/.kdna/x{HOSTILE}"), b"", 0o600);
    clone.scratch.file("ws/.kdna/.attachments-4194303-0123456789abcdef.tmp", b"", 0o600);
    clone.scratch.file("ws/.kdna/assets/notes.txt", b"", 0o600);
    clone.scratch.directory(format!("ws/.kdna/.cleanup-staging-{}", "0".repeat(64)), 0o700);
    clone.assert_found(false, ".kdna/attachments.json", "case alone");
    clone.assert_found(false, ".kdna", "case alone");
    clone.assert_found(false, ".kdna/x\\u{1b}]0;owned\\u{7}\\u{202e}\\u{200b}", "does not belong");
    clone.assert_found(false, ".kdna/.attachments-4194303-0123456789abcdef.tmp", "killed command");
    clone.assert_found(false, ".kdna/assets/notes.txt", "does not belong");
    clone.assert_found(false, &format!(".kdna/.cleanup-staging-{}", "0".repeat(64)), "interrupted");
    clone.everything();
}

#[test]
fn locks_and_the_list_for_git_are_looked_at() {
    let clone = Clone::sound();
    let lock = clone.kdna().join("attachments.lock");
    fs::write(&lock, format!("{{\"pid\":{}}}", std::process::id())).unwrap();
    clone.assert_found(true, ".kdna/attachments.lock", "workspace_locked");
    fs::write(&lock, "{\"pid\":4194303}").unwrap();
    clone.assert_found(false, ".kdna/attachments.lock", "left its lock");
    fs::write(clone.kdna().join(".gitignore"), "/assets/\n").unwrap();
    clone.assert_found(false, ".kdna/.gitignore", "6 of its 7 lines are missing");
    fs::remove_file(clone.kdna().join(".gitignore")).unwrap();
    clone.assert_found(false, ".kdna/.gitignore", "missing");
    assert_eq!(clone.run(&["disable", ID], None).exit, Exit::Status(0), "as the remedy says");
    assert_eq!(clone.findings(), []);
}

#[test]
fn a_name_that_is_no_text_is_said_to_be_one() {
    use std::os::unix::ffi::OsStrExt as _;
    let clone = Clone::sound();
    fs::write(clone.kdna().join("assets").join(std::ffi::OsStr::from_bytes(b"\xff")), b"").unwrap();
    clone.assert_found(true, ".kdna/assets", "cannot be listed");
    let removed = clone.run(&["remove", ID], None);
    assert_eq!(removed.exit, Exit::Status(0), "no name keeps an attachment that a person removes");
    clone.everything();
}

#[test]
fn looking_changes_nothing() {
    let clone = Clone::sound();
    let before = support::tree::tree(clone.scratch.path());
    clone.run(&["doctor"], None);
    clone.run(&["attachments"], None);
    assert_eq!(support::tree::tree(clone.scratch.path()), before);
    clone.run(&["disable", ID], None);
    assert_ne!(support::tree::tree(clone.scratch.path()), before, "the control");
}
