//! Consents that are stored: what is said of them, how they are taken back, and where a server reads them.

use crate::asking::{Act, FILE, REQUEST, STORED, ask, asked, broker, left, request, set};
use crate::person::{Person, answer};
use crate::scene::{HOST, PROCESSOR, Reply, delivered, load};
use crate::support::command::{Exit, Program, run};
use crate::support::documents::parse;
use crate::support::tree::{Entry, tree};
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::value::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

#[test]
fn status_and_revoke_say_what_is_there() {
    let scene = asked();
    let status = || {
        let done = broker(&scene, &["consent", "status"]);
        assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
        let document = parse(&done.stdout).unwrap();
        document.get("present").and_then(Value::as_bool).map(|present| (present, write::compact(&document).unwrap()))
    };
    let before = left(&scene);
    assert!(!status().unwrap().0);
    let revoke = || {
        let done = broker(&scene, &["consent", "revoke"]);
        (done.exit, done.stdout_text())
    };
    let looked = format!("There was no consent to revoke in {}\n--file PATH names another one.\n", scene.text(STORED));
    let none = (Exit::Status(0), looked);
    assert_eq!(revoke(), none);
    assert_eq!(left(&scene), before, "asking makes nothing");
    assert_eq!(request(&scene, &[], |_| {}, b"y\n").exit, Exit::Status(0));
    let (present, document) = status().unwrap();
    assert!(
        present && document.contains(HOST) && document.contains(PROCESSOR) && document.contains(r#""revoked":false"#)
    );
    let first = fs::read(scene.at(STORED)).unwrap();
    assert_eq!(request(&scene, &[], |_| {}, b"n\n").exit, Exit::Status(10));
    assert_eq!(fs::read(scene.at(STORED)).unwrap(), first, "a declined question leaves the old permission");
    assert_eq!(request(&scene, &["--profile", "full"], |_| {}, b"y\n").exit, Exit::Status(0));
    assert_ne!(fs::read(scene.at(STORED)).unwrap(), first);
    assert_eq!(revoke(), (Exit::Status(0), "Revoked. No load is delivered under it any more.\n".to_owned()));
    assert_eq!((status().unwrap().0, revoke()), (false, none));
    assert_eq!(tree(&scene.at("state/consent")).len(), 0);
}

/// A consent cut short.
const DAMAGED: &[u8] = br#"{"document_type":"kdna.mcp.host-processing-consent","#;

#[test]
fn revoking_ends_a_consent_and_no_other_file() {
    let scene = asked();
    let diary = scene.scratch.file("private/diary", b"not a consent", 0o600);
    fs::create_dir(scene.at("private/folder")).unwrap();
    for name in ["private/diary", "private/folder"] {
        let named =
            run(scene.scratch.command(Program::Broker, ["consent", "revoke", "--file", &scene.text(name)]), None);
        let mut command = scene.scratch.command(Program::Broker, ["consent", "revoke"]);
        command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", scene.at(name));
        for refused in [named, run(command, None)] {
            assert_eq!((refused.exit, refused.stdout.len()), (Exit::Status(2), 0), "{name}");
            assert!(refused.stderr_text().starts_with("Error: [host_consent_invalid] "), "{name}");
        }
    }
    assert_eq!(fs::read(diary).unwrap(), b"not a consent");
    assert!(scene.at("private/folder").is_dir());
}

#[test]
fn a_document_that_is_not_private_is_not_read_but_can_be_revoked() {
    let scene = asked();
    let place = |arguments: &[&str]| {
        let mut command = scene.scratch.command(Program::Broker, arguments);
        command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", scene.consent_path());
        run(command, None)
    };
    let victim = scene.scratch.file("victim", b"{}", 0o600);
    let stands: [(&str, Act); 4] = [
        ("open", |scene| drop(scene.scratch.file("private/consent.json", DAMAGED, 0o644))),
        ("link", |scene| symlink(scene.at("victim"), scene.consent_path()).unwrap()),
        ("no JSON", |scene| drop(scene.scratch.file("private/consent.json", DAMAGED, 0o600))),
        ("empty", |scene| drop(scene.scratch.file("private/consent.json", b"", 0o600))),
    ];
    for (label, stand) in stands {
        stand(&scene);
        let status = place(&["consent", "status"]);
        assert_eq!((status.exit, status.stdout.len()), (Exit::Status(2), 0), "{label}");
        assert!(status.stderr_text().starts_with("Error: [host_consent_invalid] "), "{label}");
        assert_eq!(place(&["consent", "revoke"]).exit, Exit::Status(0), "{label}");
        assert!(fs::symlink_metadata(scene.consent_path()).is_err(), "{label}");
        assert_eq!(fs::read(&victim).unwrap(), b"{}", "{label}");
    }
}

#[test]
fn a_revocation_ends_deliveries_of_a_running_server() {
    let scene = asked();
    let place = set("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", scene.consent_path());
    let mut server = scene.server("ws");
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused("host_processing_consent_invalid"));
    assert_eq!(request(&scene, &[], &place, b"y\n").exit, Exit::Status(0));
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    let mut revoke = scene.scratch.command(Program::Broker, ["consent", "revoke"]);
    place(&mut revoke);
    assert_eq!(run(revoke, None).exit, Exit::Status(0));
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused("host_processing_consent_invalid"));
}

#[test]
fn the_recorded_command_keeps_its_default_place() {
    let scene = asked();
    let cwd = scene.text("ws");
    symlink("home", scene.at("home-link")).unwrap();
    let arguments = ["host-consent", "--from-workspace", "--host", HOST, "--processor", PROCESSOR, "--cwd", &cwd];
    let owner = |home: &str, extra: &[&str], keys: &[u8]| {
        let home =
            if home.ends_with('/') { format!("{}/", scene.text(home.trim_end_matches('/'))) } else { scene.text(home) };
        answer(&scene.scratch, Program::Owner, extra, set("HOME", home), keys)
    };
    let declined = owner("home", &arguments, b"n\n");
    assert_eq!((declined.exit, declined.was_asked()), (Exit::Status(0), true), "{}", declined.screen);
    assert!(
        declined.screen.ends_with("KDNA Host processing consent declined.\n") && tree(&scene.at("home")).is_empty()
    );
    // However the home is named, it is the same place.
    for home in ["home", "home/", "home-link"] {
        let allowed = owner(home, &arguments, b"y\n");
        assert_eq!(allowed.exit, Exit::Status(0), "{home}: {}", allowed.screen);
        let written = tree(&scene.at("home"));
        assert_eq!(written.get(".kdna"), Some(&Entry::Directory { mode: 0o700 }));
        assert!(matches!(written.get(".kdna/host-processing-consent.json"), Some(Entry::File { mode: 0o600, .. })));
        assert!(written.len() == 2 && !scene.at("state/consent").exists(), "{home}");
        let status = owner(home, &["host-consent", "--status"], b"");
        assert!(status.exit == Exit::Status(0) && status.screen.contains("\"present\": true"), "{}", status.screen);
        let revoked = owner(home, &["host-consent", "--revoke"], b"");
        assert!(revoked.exit == Exit::Status(0) && tree(&scene.at("home")).len() == 1, "{}", revoked.screen);
    }
    // That a home has its own `.kdna` now makes no project of it.
    let done = run(scene.owner(["attachments", "--cwd", &scene.text("home")]), None);
    assert_eq!((done.exit, done.stdout_text().as_str()), (Exit::Status(0), "null\n"));
}

#[test]
fn a_question_is_asked_on_the_terminal_and_nowhere_else() {
    let scene = asked();
    // Standard output and error elsewhere: the question is on the terminal, the result where it belongs.
    let streams = |command: &mut Command| *command = scene.in_shell(command, "exec \"$0\" \"$@\" >out 2>err");
    let seen = request(&scene, &[], streams, b"y\n");
    assert!(seen.was_asked() && seen.exit == Exit::Status(0), "{}", seen.screen);
    assert!(fs::read_to_string(scene.at("out")).unwrap().starts_with("Allowed. "));
    assert_eq!(fs::read(scene.at("err")).unwrap(), b"");
}

#[test]
fn the_command_that_is_shown_takes_back_this_consent_from_anywhere() {
    let scene = asked();
    let file = scene.at("a place's/c.json");
    let seen = request(&scene, &[], set("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", &file), b"y\n");
    assert_eq!(seen.exit, Exit::Status(0), "{}", seen.screen);
    let shown = seen.screen.split_once("Take it back with: kdna-broker ").expect("the command").1.trim_end().to_owned();
    assert!(seen.screen.contains("(how is shown when you allow)") && !seen.screen.contains("It replaced"));
    // Elsewhere the bare command finds nothing, and says where it looked.
    let elsewhere = broker(&scene, &["consent", "revoke"]).stdout_text();
    assert!(elsewhere.contains(&scene.text(STORED)) && file.exists(), "{elsewhere}");
    let status = broker(&scene, &["consent", "status", "--file", file.to_str().unwrap()]);
    let document = parse(&status.stdout).unwrap();
    let root = kdna_broker::foundation::digest::of_root_path(&scene.text("ws")).to_string();
    assert_eq!(document.get("workspace_root_digest").and_then(Value::as_str), Some(root.as_str()));
    let broker_command = scene.scratch.command(Program::Broker, [""; 0]);
    let done = run(scene.in_shell(&broker_command, &format!("exec \"$0\" {shown}")), None);
    assert_eq!(done.stdout_text(), "Revoked. No load is delivered under it any more.\n", "{shown}");
    assert!(!file.exists());
}

#[test]
fn a_named_file_follows_the_rules_of_the_coordinate() {
    let scene = asked();
    for command in ["status", "revoke"] {
        for bad in ["c.json", "/a/../b", "/a/", "/"] {
            let done = broker(&scene, &["consent", command, "--file", bad]);
            assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{command} {bad}");
            let said = done.stderr_text();
            assert!(said.starts_with("Error: [host_consent_coordinate_invalid] --file must"), "{said}");
        }
        for bad in [&["--file"][..], &["--file", "/a", "--file", "/b"], &["/a"]] {
            assert_eq!(
                broker(&scene, &[&["consent", command], bad].concat()).exit,
                Exit::Status(2),
                "{command} {bad:?}"
            );
        }
    }
    let hostile = scene.text("private/none\u{1b}[2J");
    let done = broker(&scene, &["consent", "revoke", "--file", &hostile]).stdout_text();
    assert!(done.contains("none\\u{1b}[2J") && !done.contains('\u{1b}'), "{done}");
}

#[test]
fn a_second_project_does_not_replace_the_first_ones_consent_without_a_word() {
    let scene = asked();
    let first = request(&scene, &[], |_| {}, b"y\n");
    assert!(first.exit == Exit::Status(0) && !first.screen.contains("Replaces"), "{}", first.screen);
    scene.attach("second");
    let second = scene.text("second");
    let arguments = [&REQUEST[..], &["--cwd", &second]].concat();
    let seen = ask(&scene, Program::Broker, &arguments, |_| {}, b"y\n");
    let row = format!("  Replaces     ANOTHER root's consent: \"{HOST}\", \"{PROCESSOR}\"");
    assert!(seen.exit == Exit::Status(0) && seen.screen.contains(&row), "{}", seen.screen);
    assert!(seen.screen.contains("It replaced the consent that was in this file"), "{}", seen.screen);
    // What the person was told must still be so when they answer.
    let mut person = Person::sit_down(&scene.scratch, Program::Broker, &arguments, set(FILE, scene.at(STORED)), b"");
    assert!(person.is_asked());
    assert_eq!(broker(&scene, &["consent", "revoke"]).exit, Exit::Status(0));
    person.type_keys(b"y\n");
    assert_eq!(person.finish().exit, Exit::Status(2));
    assert!(!scene.at(STORED).exists());
}

#[test]
fn a_server_that_was_there_first_delivers_after_the_question_in_the_default_place() {
    let scene = asked();
    let start = |file: std::path::PathBuf| {
        let mut command = scene.server_command("ws");
        command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", file);
        crate::support::command::Server::start(command)
    };
    let mut server = start(scene.at(STORED));
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused("host_processing_consent_invalid"));
    let mode = fs::metadata(scene.at("state/consent")).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode, tree(&scene.at("state/consent")).len()), (0o700, 0));
    assert_eq!(request(&scene, &[], |_| {}, b"y\n").exit, Exit::Status(0));
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    // No other place is made by a server.
    for other in ["elsewhere/c.json", "state/other/c.json", "state/consent/deeper/c.json"] {
        let mut server = start(scene.at(other));
        assert_eq!(load(&mut server, scene.at("ws")), Reply::refused("host_processing_consent_required"), "{other}");
        assert!(!scene.at(other).parent().unwrap().exists(), "{other}");
    }
}
