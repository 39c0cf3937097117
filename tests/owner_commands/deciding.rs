//! Consents of a set: who is asked, what is checked without asking, what a host's draft may say, and what this machine
//! remembers of it all.

use crate::person::{Seen, answer};
use crate::scene::{HOST, PROCESSOR, Reply, Scene, delivered, has_setsid, load};
use crate::support::command::{Exit, Finished, Program, Server, run};
use crate::support::documents::{at, parse};
use crate::support::tree::tree;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::value::{Object, Value};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const WANTED: [&str; 4] = ["--host", HOST, "--processor", PROCESSOR];
pub(crate) const REQUIRED: &str = "host_processing_consent_required";
pub(crate) const INVALID: &str = "host_processing_consent_invalid";

pub(crate) fn asked() -> Scene {
    let scene = Scene::new();
    scene.attach("ws");
    scene
}

fn request(scene: &Scene, workspace: &str, extra: &[&str], keys: &[u8]) -> Seen {
    let _ = fs::remove_file(scene.at("state/declines.json"));
    let cwd = scene.text(workspace);
    let arguments = [&["consent", "request"], &WANTED[..], &["--cwd", &cwd], extra].concat();
    answer(&scene.scratch, Program::Broker, &arguments, |_| {}, keys)
}

pub(crate) fn allow(scene: &Scene, workspace: &str, extra: &[&str]) {
    let seen = request(scene, workspace, extra, b"y\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(0), true), "{}", seen.screen);
}

pub(crate) fn broker(scene: &Scene, arguments: &[&str]) -> Finished {
    run(scene.scratch.command(Program::Broker, arguments), None)
}

fn owner(scene: &Scene, arguments: &[&str]) {
    let done = run(scene.scratch.command(Program::Owner, arguments), None);
    assert_eq!(done.exit, Exit::Status(0), "{arguments:?}: {}", done.stderr_text());
    assert_eq!(done.stderr_text(), "", "the ledger was written");
}

/// A server with the default set.
pub(crate) fn serve(scene: &Scene, root: &str, more: &[(&str, &str)]) -> Server {
    let mut command = scene.server_command(root);
    command.env_remove("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE");
    command.env("KDNA_BROKER_CONSENT_DIR", scene.at("state/consents")).envs(more.iter().copied());
    Server::start(command)
}

/// The status, reason and exit of a check.
pub(crate) fn check(scene: &Scene, workspace: &str, extra: &[&str]) -> (String, Option<String>, Exit) {
    let cwd = scene.text(workspace);
    let before = tree(scene.scratch.path());
    let done = broker(scene, &[&["consent", "check"], &WANTED[..], &["--cwd", &cwd], extra].concat());
    assert_eq!(tree(scene.scratch.path()), before, "a check changes nothing");
    assert_eq!((done.stdout_text().lines().count(), done.stderr_text().as_str()), (1, ""));
    let line = parse(&done.stdout).unwrap();
    let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
    (text("status").unwrap(), text("reason"), done.exit)
}

pub(crate) fn stored(scene: &Scene) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(scene.at("state/consents")) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

pub(crate) fn rows(scene: &Scene) -> Vec<String> {
    let text = fs::read_to_string(scene.at("state/journal/journal-000001.jsonl")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_set_keeps_one_consent_for_each_coordinates_and_a_server_finds_them_all() {
    let scene = asked();
    let mut server = serve(&scene, "ws", &[]);
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(REQUIRED));
    for (count, extra) in [(1, &[][..]), (2, &["--profile", "full"]), (2, &["--expires-in", "1h"])] {
        allow(&scene, "ws", extra);
        assert_eq!(stored(&scene).len(), count, "{extra:?}");
        assert_eq!(load(&mut server, scene.at("ws")), delivered());
    }
    scene.attach("second");
    allow(&scene, "second", &[]);
    assert_eq!(stored(&scene).len(), 3, "another project replaces nothing");
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    assert_eq!(load(&mut serve(&scene, "second", &[]), scene.at("second")), delivered());
    for file in stored(&scene) {
        let document = parse(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(document.get("schema_version").and_then(Value::as_str), Some("0.2.0"));
    }
    let list = parse(&broker(&scene, &["consent", "list"]).stdout).unwrap();
    assert_eq!(list.get("consents").and_then(Value::as_array).map(<[Value]>::len), Some(3));
    let unclear = broker(&scene, &["consent", "revoke"]);
    assert!(unclear.stderr_text().starts_with("Error: [host_consent_usage_invalid] Several"), "which one?");
    assert_eq!(stored(&scene).len(), 3);
    // The single file wins where both are set.
    scene.allow("second", "second");
    let file = scene.text("private/consent.json");
    let mut other = serve(&scene, "ws", &[("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", &file)]);
    assert_eq!(load(&mut other, scene.at("ws")), Reply::refused(INVALID));
}

#[test]
fn every_profile_an_all_workspace_attachment_and_a_nested_workspace_can_be_consented() {
    let scene = Scene::new();
    scene.scratch.directory("root/nested/ws", 0o755);
    let asset = crate::scene::asset();
    let cwd = scene.text("root/nested/ws");
    owner(
        &scene,
        &[
            "attach",
            asset.to_str().unwrap(),
            "--cwd",
            &cwd,
            "--role",
            "Review",
            "--all-workspace",
            "--yes",
            "--scope-user-approved",
        ],
    );
    let root = scene.text("root");
    let mut server = serve(&scene, "root", &[]);
    assert_eq!(load(&mut server, scene.at("root/nested/ws")), Reply::refused(REQUIRED));
    for profile in ["index", "scenario", "full", "compact"] {
        allow(&scene, "root/nested/ws", &["--profile", profile, "--host-root", &root]);
    }
    assert_eq!(stored(&scene).len(), 4);
    assert_eq!(load(&mut server, scene.at("root/nested/ws")), delivered());
    assert_eq!(check(&scene, "root/nested/ws", &["--host-root", &root]).0, "valid");
    // The same record under another root is another matter.
    assert_eq!(
        check(&scene, "root/nested/ws", &[]),
        ("needed".into(), Some("consent_not_in_set".into()), Exit::Status(10))
    );
}

#[test]
fn a_check_tells_whether_a_person_must_be_asked_and_asks_nobody() {
    let scene = asked();
    let needed = |reason: &str| ("needed".to_owned(), Some(reason.to_owned()), Exit::Status(10));
    assert_eq!(check(&scene, "ws", &[]), needed("consent_parent_missing"));
    allow(&scene, "ws", &[]);
    assert_eq!(check(&scene, "ws", &[]), ("valid".into(), None, Exit::Status(0)));
    let other = ["consent", "check", "--host", HOST, "--processor", "Another Ltd", "--cwd", &scene.text("ws")];
    let line = broker(&scene, &other);
    assert!(line.exit == Exit::Status(10) && line.stdout_text().contains("consent_for_other_processor"));
    let id = scene.ids("ws").pop().unwrap();
    for command in ["disable", "enable"] {
        owner(&scene, &[command, &id, "--cwd", &scene.text("ws")]);
    }
    assert_eq!(check(&scene, "ws", &[]), needed("consent_older_than_change"));
    allow(&scene, "ws", &[]);
    assert_eq!(check(&scene, "ws", &[]).0, "valid");
    let file = stored(&scene).pop().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("\"expires_at\": null").unwrap();
    let ended = format!("{before}\"expires_at\": \"2020-01-02T00:00:00.000Z\"{after}");
    let issued = parse(text.as_bytes()).unwrap().get("issued_at").and_then(Value::as_str).unwrap().to_owned();
    fs::write(&file, ended.replace(&issued, "2020-01-01T00:00:00.000Z")).unwrap();
    let expired = ("expired".to_owned(), Some("consent_ended".to_owned()), Exit::Status(10));
    assert_eq!(check(&scene, "ws", &[]), expired);
    fs::set_permissions(scene.at("state/consents"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let refused = ("refused".to_owned(), Some("consent_parent_insecure".to_owned()), Exit::Status(2));
    assert_eq!(check(&scene, "ws", &[]), refused);
    let usage = broker(&scene, &["consent", "check", "--host", HOST]);
    assert_eq!((usage.exit, usage.stdout.len()), (Exit::Status(2), 0));
}

#[test]
fn an_attachment_that_changed_in_any_way_needs_a_new_approval() {
    type Change = (&'static str, fn(&Scene, &str), &'static str);
    let other = |scene: &Scene, id: &str| {
        let file = crate::support::package().join("fixtures/assets/tiny.kdna");
        let file = file.to_str().unwrap().to_owned();
        let cwd = scene.text("ws");
        owner(scene, &["switch", id, &file, "--cwd", &cwd, "--retain-scope", "--yes", "--scope-user-approved"]);
    };
    let changes: [Change; 5] = [
        (
            "disabled, removed, and its entry put back by who may write the workspace",
            |scene, id| {
                let path = scene.at("ws/.kdna/attachments.json");
                let record = fs::read(&path).unwrap();
                let cwd = scene.text("ws");
                owner(scene, &["disable", id, "--cwd", &cwd]);
                owner(scene, &["remove", id, "--cwd", &cwd]);
                fs::write(path, record).unwrap();
            },
            "consent_older_than_change",
        ),
        (
            "disabled and enabled",
            |scene, id| {
                owner(scene, &["disable", id, "--cwd", &scene.text("ws")]);
                owner(scene, &["enable", id, "--cwd", &scene.text("ws")]);
            },
            "consent_older_than_change",
        ),
        ("switched", other, "consent_for_other_asset"),
        (
            "switched and rolled back",
            |scene, id| {
                let file = crate::support::package().join("fixtures/assets/tiny.kdna");
                let cwd = scene.text("ws");
                let words = [
                    "switch",
                    id,
                    file.to_str().unwrap(),
                    "--cwd",
                    &cwd,
                    "--retain-scope",
                    "--yes",
                    "--scope-user-approved",
                ];
                owner(scene, &words);
                owner(scene, &["rollback", id, "--cwd", &cwd]);
            },
            "consent_older_than_change",
        ),
        (
            "another role",
            |scene, _| {
                let path = scene.at("ws/.kdna/attachments.json");
                let record = fs::read_to_string(&path).unwrap().replace("\"Review\"", "\"Approve\"");
                fs::write(path, record).unwrap();
            },
            "consent_entry_changed",
        ),
    ];
    for (label, change, reason) in changes {
        let scene = asked();
        allow(&scene, "ws", &[]);
        let mut server = serve(&scene, "ws", &[]);
        assert_eq!(load(&mut server, scene.at("ws")), delivered(), "{label}");
        change(&scene, &scene.ids("ws").pop().unwrap());
        assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(INVALID), "{label}");
        assert!(
            rows(&scene).last().unwrap().contains(&format!("\"reason\":\"{reason}\"")),
            "{label}: {:?}",
            rows(&scene).last()
        );
        assert_eq!(check(&scene, "ws", &[]).1.as_deref(), Some(reason), "{label}");
    }
}

/// Asks with a draft on standard input, the terminal being elsewhere.
fn with_draft(scene: &Scene, bytes: &[u8], program: Program, extra: &[&str]) -> Seen {
    let _ = fs::remove_file(scene.at("state/declines.json"));
    scene.scratch.file("draft.json", bytes, 0o600);
    let words: Vec<&str> = match program {
        Program::Broker => [&["consent", "request", "--draft-stdin"], extra].concat(),
        Program::Owner => [&["host-consent"], extra].concat(),
    };
    let from_file = |command: &mut Command| {
        *command = scene.on_terminal(command, "\"$0\" \"$@\" <draft.json");
        command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", scene.consent_path());
    };
    answer(&scene.scratch, program, &words, from_file, b"y\n")
}

#[test]
fn a_draft_that_says_something_else_than_the_workspace_is_refused_and_nothing_is_shown() {
    if !has_setsid() {
        return;
    }
    let scene = asked();
    let whole = scene.draft("ws");
    let bytes = |draft: &Object| write::compact_object(draft).unwrap().into_bytes();
    for program in [Program::Broker, Program::Owner] {
        let seen = with_draft(&scene, &bytes(&whole), program, &[]);
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(0), true), "the control: {}", seen.screen);
        fs::remove_file(scene.consent_path()).unwrap();
        let other = Digest::of(b"other").to_string();
        scene.scratch.directory("elsewhere", 0o755);
        for (field, value) in [
            ("asset_id", "kdna:other"),
            ("asset_version", "9.9.9"),
            ("asset_digest", &other),
            ("role", "Reviewer"),
            ("scope_digest", &other),
        ] {
            let mut changed = whole.clone();
            changed.insert(field, value.to_owned());
            refused_unseen(&scene, &with_draft(&scene, &bytes(&changed), program, &[]), field);
        }
        for field in ["applies_to", "does_not_apply_to"] {
            let mut changed = whole.clone();
            changed.insert(field, vec![Value::from("everything")]);
            refused_unseen(&scene, &with_draft(&scene, &bytes(&changed), program, &[]), field);
        }
        for (field, value) in
            [("workspace_root", scene.text("elsewhere")), ("attachment_id", "att_0123456789abcdef01234567".into())]
        {
            let mut changed = whole.clone();
            changed.insert(field, value);
            refused_unseen(&scene, &with_draft(&scene, &bytes(&changed), program, &[]), "");
        }
    }
    for (option, value, field) in [
        ("--host", "another-host", "host_id"),
        ("--processor", "Another Ltd", "processor"),
        ("--profile", "full", "capsule_profile"),
    ] {
        refused_unseen(&scene, &with_draft(&scene, &bytes(&whole), Program::Broker, &[option, value]), field);
    }
}

fn refused_unseen(scene: &Scene, seen: &Seen, field: &str) {
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), false), "{field}: {}", seen.screen);
    assert!(seen.screen.contains(field) && !seen.screen.contains("Destination"), "{field}: {}", seen.screen);
    assert!(!scene.consent_path().exists());
}

#[test]
fn a_draft_with_two_meanings_is_refused_and_nothing_is_shown() {
    if !has_setsid() {
        return;
    }
    let scene = asked();
    let text = write::compact_object(&scene.draft("ws")).unwrap();
    let open = text.strip_suffix('}').unwrap();
    for (label, bytes) in [
        ("a second document", format!("{text}{text}")),
        ("bytes behind it", format!("{text}\0")),
        ("a comment", format!("{text}//")),
        ("a repeated key", format!("{open},\"processor\":\"Another Ltd\"}}")),
        ("an unknown key", format!("{open},\"approved\":true}}")),
        ("a byte order mark", format!("\u{feff}{text}")),
        ("no text", text.replace("\"compact\"", "\"\\ud800\"")),
        ("a list", format!("[{text}]")),
        ("a missing member", text.replacen("\"role\"", "\"roles\"", 1)),
    ] {
        for program in [Program::Broker, Program::Owner] {
            let seen = with_draft(&scene, bytes.as_bytes(), program, &[]);
            refused_unseen(&scene, &seen, "[host_consent_draft_invalid]");
            assert!(!seen.screen.contains("Another"), "{label}: nothing is quoted");
        }
    }
}

#[test]
fn showing_a_consent_makes_the_approved_text_again_and_tells_whether_it_is_still_the_same() {
    let scene = asked();
    let seen = request(&scene, "ws", &["--details", "--expires-in", "2d"], b"y\n");
    assert_eq!(seen.exit, Exit::Status(0));
    let cwd = scene.text("ws");
    let show = || broker(&scene, &["consent", "show", "--cwd", &cwd]);
    let done = show();
    assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    let shown = done.stdout_text();
    let (question, says) = shown.split_once("\n\n").map(|_| shown.rsplit_once("\n\n").unwrap()).unwrap();
    assert!(says.starts_with("This is the text that was approved") && seen.screen.contains(question), "{shown}");
    let document = parse(&fs::read(stored(&scene).pop().unwrap()).unwrap()).unwrap();
    let digest = document.get("prompt_digest").and_then(Value::as_str).unwrap().to_owned();
    assert_eq!(digest, Digest::of(question.as_bytes()).to_string());
    let path = scene.at("ws/.kdna/attachments.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"Review\"", "\"Approve\"")).unwrap();
    let done = show();
    assert!(
        done.exit == Exit::Status(1) && done.stdout_text().contains("This is NOT the text"),
        "{}",
        done.stdout_text()
    );
}

#[test]
fn a_consent_whose_question_cannot_be_made_again_is_told_from_its_document_and_why_it_does_not_apply_here() {
    let scene = asked();
    let allowed = request(&scene, "ws", &["--expires-in", "2d"], b"y\n");
    assert_eq!(allowed.exit, Exit::Status(0));
    scene.attach("other");
    let (cwd, other, bare) = (scene.text("ws"), scene.text("other"), scene.text("bare"));
    scene.scratch.directory("bare", 0o755);
    let id = scene.ids("ws").pop().unwrap();
    let consent = fs::read(stored(&scene).pop().unwrap()).unwrap();
    let digest = parse(&consent).unwrap().get("asset_digest").and_then(Value::as_str).unwrap().to_owned();
    let told = |cwd: &str, why: &str| {
        let done = broker(&scene, &["consent", "show", "--cwd", cwd]);
        let shown = done.stdout_text();
        assert_eq!((done.exit, done.stderr_text().as_str()), (Exit::Status(1), ""), "{shown}");
        for says in [&format!("  Host         {HOST}\n"), &format!("  Destination  \"{PROCESSOR}\"\n"), &digest, &id] {
            assert!(shown.contains(says.as_str()), "{says}: {shown}");
        }
        assert!(shown.contains("It does not apply here. ") && shown.contains(why), "{why}: {shown}");
        assert!(
            !shown.contains("no longer") && !shown.contains("Attach an asset"),
            "where it was given it holds: {shown}"
        );
        assert!(!shown.contains("[y/N]"), "no question is shown that was not asked: {shown}");
    };
    told(&other, "It was given for another workspace than ");
    told(&bare, "or above it. Name the workspace that it was given for with --cwd.");
    let owner = |words: &[&str]| run(scene.scratch.command(Program::Owner, words), None);
    assert_eq!(owner(&["disable", &id, "--cwd", &cwd]).exit, Exit::Status(0));
    told(&cwd, "The attachment is disabled. Next: kdna enable ");
    assert_eq!(owner(&["remove", &id, "--cwd", &cwd]).exit, Exit::Status(0));
    told(&cwd, "The attachment is not in the record of ");
    assert_eq!(fs::read(stored(&scene).pop().unwrap()).unwrap(), consent, "it is looked at and left as it is");
}

#[test]
fn a_question_below_a_program_with_the_mark_of_a_session_is_not_asked_whatever_it_is_called() {
    let scene = asked();
    let cwd = scene.text("ws");
    let arguments = [&["consent", "request"], &WANTED[..], &["--cwd", &cwd]].concat();
    for (mark, refused) in [("/dev/shm/a-session", true), ("", false)] {
        let marked = |command: &mut Command| {
            command.env("KDNA_BROKER_SESSION", mark);
        };
        let seen = answer(&scene.scratch, Program::Broker, &arguments, marked, b"n\n");
        assert_eq!(seen.was_asked(), !refused, "{mark}: {}", seen.screen);
        assert_eq!(rows(&scene).pop().unwrap().contains("\"reason\":\"consent_asked_by_host\""), refused);
    }
}

#[test]
fn after_three_declines_nobody_is_asked_for_a_minute_whichever_command_asks() {
    let scene = asked();
    let cwd = scene.text("ws");
    let arguments = [&["consent", "request"], &WANTED[..], &["--cwd", &cwd]].concat();
    let ask = |keys: &[u8]| answer(&scene.scratch, Program::Broker, &arguments, |_| {}, keys);
    for _ in 0..3 {
        let seen = ask(b"n\n");
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(10), true), "{}", seen.screen);
    }
    let recorded = rows(&scene).len();
    for program in [Program::Broker, Program::Owner, Program::Broker] {
        let words: Vec<&str> = match program {
            Program::Broker => arguments.clone(),
            Program::Owner => [&["host-consent", "--from-workspace"], &WANTED[..], &["--cwd", &cwd]].concat(),
        };
        let seen = answer(&scene.scratch, program, &words, |_| {}, b"y\n");
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), false), "{}", seen.screen);
        assert!(seen.screen.contains("Three questions were declined"), "{}", seen.screen);
    }
    let new = rows(&scene).split_off(recorded);
    assert_eq!(new.len(), 1, "once, not for each: {new:?}");
    assert!(new[0].contains("\"reason\":\"consent_asked_too_often\""));
    let counted = parse(&fs::read(scene.at("state/declines.json")).unwrap()).unwrap();
    assert_eq!(counted.get("refused_since").and_then(Value::as_number), Some(3.0));
    // A minute later, told by the file's own time.
    let text = fs::read_to_string(scene.at("state/declines.json")).unwrap();
    let last = counted.get("last").and_then(Value::as_str).unwrap();
    scene.scratch.file("state/declines.json", text.replace(last, "2020-01-01T00:00:00.000Z"), 0o600);
    assert_eq!(ask(b"y\n").exit, Exit::Status(0));
    assert!(!scene.at("state/declines.json").exists(), "an allowance ends it");
}

#[test]
fn below_a_server_or_a_hosts_session_nobody_is_asked_and_the_journal_says_who_was_above() {
    let scene = asked();
    let cwd = scene.text("ws");
    let arguments = [&["consent", "request"], &WANTED[..], &["--cwd", &cwd]].concat();
    fs::copy("/bin/sh", scene.at("kdna-broker")).unwrap();
    for (session, refused) in [("mcp", true), ("launch", true), ("consent", false)] {
        let _ = fs::remove_file(scene.at("state/declines.json"));
        // A program of that name, started with that command, which starts the question below itself.
        scene.scratch.file(session, "\"$@\"\n", 0o755);
        let below = |command: &mut Command| {
            let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
            let mut shell = Command::new(scene.at("kdna-broker"));
            shell.arg(session).arg(command.get_program()).args(words).current_dir(scene.at("")).env_clear();
            shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
            *command = shell;
        };
        let seen = answer(&scene.scratch, Program::Broker, &arguments, below, b"n\n");
        assert_eq!(seen.was_asked(), !refused, "{session}: {}", seen.screen);
        let row = rows(&scene).pop().unwrap();
        let event = if refused { "\"reason\":\"consent_asked_by_host\"" } else { "\"event\":\"declined\"" };
        assert!(row.contains(event), "{session}: {row}");
        assert!(row.contains("\"asked_by\":{\"session\":") && row.contains("\"programs\":[\"kdna-broker\""), "{row}");
        assert_eq!(seen.exit, Exit::Status(if refused { 2 } else { 10 }), "{session}: {}", seen.screen);
    }
    let verified = broker(&scene, &["doctor", "--json"]);
    assert!(verified.stdout_text().contains("each chained to the one before"), "{}", verified.stdout_text());
}

#[test]
fn where_the_ledger_is_required_only_what_was_approved_here_is_loaded() {
    let scene = asked();
    allow(&scene, "ws", &[]);
    let required = [("KDNA_BROKER_REQUIRE_LEDGER", "1")];
    let mut server = serve(&scene, "ws", &required);
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    // A repository that brings the same record: nothing of it was approved here.
    let cloned = Scene::new();
    fs::create_dir(cloned.at("ws")).unwrap();
    let copied =
        Command::new("cp").args(["-a", "--"]).arg(scene.at("ws/.kdna")).arg(cloned.at("ws/")).status().unwrap();
    assert!(copied.success());
    allow(&cloned, "ws", &[]);
    let mut server = serve(&cloned, "ws", &required);
    assert_eq!(load(&mut server, cloned.at("ws")), Reply::refused("attachment_not_approved_here"));
    assert_eq!(
        load(&mut serve(&cloned, "ws", &[]), cloned.at("ws")),
        delivered(),
        "without the demand it is consent alone"
    );
    let id = cloned.ids("ws").pop().unwrap();
    // Switching it off and on is no approval.
    for command in ["disable", "enable"] {
        owner(&cloned, &[command, &id, "--cwd", &cloned.text("ws")]);
    }
    assert_eq!(load(&mut server, cloned.at("ws")), Reply::refused("attachment_not_approved_here"));
    let cwd = cloned.text("ws");
    let adopt = |keys: &[u8]| answer(&cloned.scratch, Program::Broker, &["adopt", "--cwd", &cwd], |_| {}, keys);
    assert_eq!(adopt(b"n\n").exit, Exit::Status(10));
    assert_eq!(load(&mut server, cloned.at("ws")), Reply::refused("attachment_not_approved_here"));
    let seen = adopt(b"y\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(0), true), "{}", seen.screen);
    assert!(rows(&cloned).last().unwrap().contains("\"event\":\"attached\""));
    let again = adopt(b"y\n");
    assert_eq!((again.exit, again.was_asked()), (Exit::Status(0), false), "once is enough: {}", again.screen);
    allow(&cloned, "ws", &[]);
    assert_eq!(load(&mut server, cloned.at("ws")), delivered());
    let ledger = fs::metadata(cloned.at("state/attachment-ledger.json")).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&ledger.permissions()) & 0o7777, 0o600);
    // What somebody else edits afterwards is not what was approved.
    let path = cloned.at("ws/.kdna/attachments.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"Review\"", "\"Approve\"")).unwrap();
    assert_eq!(load(&mut server, cloned.at("ws")), Reply::refused("attachment_not_approved_here"));
}

#[test]
fn version_0_1_0_is_written_where_it_is_asked_for() {
    let scene = asked();
    allow(&scene, "ws", &["--schema", "0.1.0"]);
    let document = parse(&fs::read(stored(&scene).pop().unwrap()).unwrap()).unwrap();
    assert_eq!(document.get("schema_version").and_then(Value::as_str), Some("0.1.0"));
    assert!(document.get("issued_at").is_none());
    assert_eq!(load(&mut serve(&scene, "ws", &[]), scene.at("ws")), delivered());
    for (extra, says) in [
        (&["--schema", "0.1.0", "--expires-in", "1d"][..], "--expires-in needs --schema 0.2.0"),
        (&["--schema", "0.3.0"], "--schema must be"),
        (&["--expires-in", "0d"], "The lifetime"),
        (&["--expires-in", "1"], "The lifetime"),
        (&["--expires-in", "1w"], "The lifetime"),
        (&["--expires-in", "99999d"], "The lifetime"),
    ] {
        let seen = request(&scene, "ws", extra, b"y\n");
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), false), "{extra:?}: {}", seen.screen);
        assert!(seen.screen.contains(says), "{extra:?}: {}", seen.screen);
    }
}

#[test]
fn the_delivered_document_says_under_which_consent_of_which_version() {
    let scene = asked();
    allow(&scene, "ws", &["--expires-in", "1d"]);
    let mut server = serve(&scene, "ws", &[]);
    server.send(&crate::scene::call_line("kdna.workspace-load", &scene.text("ws")));
    let line = server.receive(std::time::Duration::from_secs(60)).unwrap();
    let message = parse(line.as_bytes()).unwrap();
    let text = at(&message, "/result/content/0/text").and_then(Value::as_str).unwrap().to_owned();
    let document = parse(text.as_bytes()).unwrap();
    let bound = document.get("host_processing").and_then(Value::as_object).unwrap();
    let keys = bound.keys().collect::<Vec<_>>().join(" ");
    assert_eq!(
        keys,
        "document_type schema_version host_id processing_boundary capsule_profile asset_digest use_boundary \
         host_root_digest workspace_root_digest entry_digest issued_at expires_at approval_source consent_digest"
    );
    let digest = Digest::of(&fs::read(stored(&scene).pop().unwrap()).unwrap()).to_string();
    assert_eq!(bound.get("consent_digest").and_then(Value::as_str), Some(digest.as_str()));
}

#[test]
fn a_draft_is_not_waited_for_at_a_terminal() {
    let scene = asked();
    for (program, words) in
        [(Program::Owner, &["host-consent"][..]), (Program::Broker, &["consent", "request", "--draft-stdin"])]
    {
        let seen = answer(&scene.scratch, program, words, |_| {}, b"");
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), false), "{}", seen.screen);
        assert!(seen.screen.starts_with("Error: [host_consent_draft_required] "), "{}", seen.screen);
    }
}
