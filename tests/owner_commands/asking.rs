//! `kdna-broker consent request` and `kdna host-consent`: who is asked, what an answer does, and what it leaves.

use crate::person::{Person, Seen, answer};
use crate::scene::{HOST, PROCESSOR, Scene, delivered, load};
use crate::support::command::{Exit, Finished, Program, run};
use crate::support::documents::parse;
use crate::support::tree::{Entry, tree};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::value::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

pub(crate) const FILE: &str = "KDNA_MCP_HOST_PROCESSING_CONSENT_FILE";
pub(crate) const STORED: &str = "state/consent/processing-consent.json";
pub(crate) const REQUEST: [&str; 6] = ["consent", "request", "--host", HOST, "--processor", PROCESSOR];

/// What a question may leave beside its answer: the journal, and how often was declined.
pub(crate) fn left(scene: &Scene) -> std::collections::BTreeMap<String, Entry> {
    let records = |name: &str| name.starts_with("state/journal") || name == "state/declines.json";
    tree(scene.scratch.path()).into_iter().filter(|(name, _)| !records(name)).collect()
}

/// Something that somebody does to a scene.
pub(crate) type Act = fn(&Scene);

pub(crate) fn asked() -> Scene {
    let scene = Scene::new();
    scene.attach("ws");
    scene
}

pub(crate) fn request(scene: &Scene, extra: &[&str], arrange: impl FnOnce(&mut Command), keys: &[u8]) -> Seen {
    let cwd = scene.text("ws");
    let arguments = [&REQUEST, &["--cwd", &cwd][..], extra].concat();
    ask(scene, Program::Broker, &arguments, arrange, keys)
}

/// A question in the one-file place, whatever was declined before.
pub(crate) fn ask(
    scene: &Scene,
    program: Program,
    arguments: &[&str],
    arrange: impl FnOnce(&mut Command),
    keys: &[u8],
) -> Seen {
    let _ = fs::remove_file(scene.at("state/declines.json"));
    answer(&scene.scratch, program, arguments, |command| arrange(command.env(FILE, scene.at(STORED))), keys)
}

/// Nobody is asked: the command is refused with this code, and nothing changes.
pub(crate) fn assert_not_asked(
    scene: &Scene,
    label: &str,
    extra: &[&str],
    arrange: impl FnOnce(&mut Command),
    code: &str,
) {
    let before = left(scene);
    let seen = request(scene, extra, arrange, b"y\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), false), "{label}: {}", seen.screen);
    assert!(seen.screen.starts_with(&format!("Error: [{code}] ")), "{label}: {}", seen.screen);
    assert_eq!(left(scene), before, "{label}: nothing is made");
}

/// Sets a variable of the command's environment.
pub(crate) fn set(name: &'static str, value: impl AsRef<OsStr>) -> impl Fn(&mut Command) {
    let value = value.as_ref().to_owned();
    move |command| {
        command.env(name, &value);
    }
}

pub(crate) fn broker(scene: &Scene, arguments: &[&str]) -> Finished {
    let mut command = scene.scratch.command(Program::Broker, arguments);
    command.env(FILE, scene.at(STORED));
    run(command, None)
}

#[test]
fn yes_writes_one_private_document_that_a_server_accepts() {
    for (keys, umask) in [("y\n", "000"), ("yes\n", "077"), (" Y \n", "022"), ("YES\n", "027")] {
        let scene = asked();
        let seen = with_umask(&scene, umask, keys.as_bytes());
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(0), true), "{keys:?}: {}", seen.screen);
        let mode = |name: &str| fs::metadata(scene.at(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("state/consent"), mode(STORED)), (0o700, 0o600), "{umask}");
        let names: Vec<String> = tree(&scene.at("state/consent")).into_keys().collect();
        assert_eq!(names, ["processing-consent.json"], "no temporary stays");
        let document = parse(&fs::read(scene.at(STORED)).unwrap()).unwrap();
        let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        assert_eq!((text("host_id").as_str(), text("capsule_profile").as_str()), (HOST, "compact"));
        assert_eq!(document.get("approved").and_then(Value::as_bool), Some(true));
        assert!(seen.screen.contains(&Digest::of(&fs::read(scene.at(STORED)).unwrap()).to_string()));
        let mut command = scene.server_command("ws");
        command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", scene.at(STORED));
        let mut server = crate::support::command::Server::start(command);
        assert_eq!(load(&mut server, scene.at("ws")), delivered());
    }
}

/// The request under a umask.
fn with_umask(scene: &Scene, umask: &str, keys: &[u8]) -> Seen {
    request(
        scene,
        &[],
        |command| *command = scene.in_shell(command, &format!("umask {umask}; exec \"$0\" \"$@\"")),
        keys,
    )
}

#[test]
fn anything_but_yes_declines_and_changes_nothing() {
    let scene = asked();
    let before = left(&scene);
    let long = [b"y".repeat(4000), b"\n".to_vec()].concat();
    let answers: [&[u8]; 16] = [
        b"n\n",
        b"\n",
        b"no\n",
        b"yes please\n",
        b"yy\n",
        b"y\x00\n",
        b"\xffy\n",
        b"y y\n",
        b"yes yes yes yes\n",
        b"               y\n",
        b"\x03",
        b"y\x03",
        b"\x1c",
        b"\x04",
        b"y\x04\x04",
        &long,
    ];
    for keys in answers {
        let seen = request(&scene, &[], |_| {}, keys);
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(10), true), "{keys:?}: {}", seen.screen);
        assert!(seen.screen.ends_with("Declined. Nothing was changed.\n"), "{keys:?}: {}", seen.screen);
        assert_eq!(left(&scene), before, "{keys:?}");
    }
}

#[test]
fn what_was_typed_before_the_question_answers_nothing() {
    let scene = asked();
    let cwd = scene.text("ws");
    let arguments = [&REQUEST[..], &["--cwd", &cwd]].concat();
    let mut person =
        Person::sit_down(&scene.scratch, Program::Broker, &arguments, set(FILE, scene.at(STORED)), b"y\nyes\ny\n");
    assert!(person.is_asked(), "the question comes all the same");
    person.type_keys(b"n\n");
    assert_eq!(person.finish().exit, Exit::Status(10));
    assert!(!scene.at("state/consent").exists());
}

#[test]
fn a_person_who_goes_away_has_not_answered() {
    let scene = asked();
    let before = left(&scene);
    let cwd = scene.text("ws");
    let arguments = [&REQUEST[..], &["--cwd", &cwd]].concat();
    let mut person = Person::sit_down(&scene.scratch, Program::Broker, &arguments, set(FILE, scene.at(STORED)), b"");
    assert!(person.is_asked());
    person.hang_up();
    // Asked and left: nothing more is waited for here, the command is ended.
    drop(person);
    assert_eq!(left(&scene), before);
}

#[test]
fn without_a_terminal_nobody_is_asked() {
    let scene = asked();
    let before = left(&scene);
    let cwd = scene.text("ws");
    for program in [Program::Broker, Program::Owner] {
        let arguments: Vec<&str> = match program {
            Program::Broker => [&REQUEST[..], &["--cwd", &cwd]].concat(),
            Program::Owner => {
                vec!["host-consent", "--from-workspace", "--host", HOST, "--processor", PROCESSOR, "--cwd", &cwd]
            }
        };
        let command = scene.scratch.command(program, &arguments);
        let command = scene.in_shell(&command, "exec setsid \"$0\" \"$@\"");
        if Command::new("setsid").arg("--version").output().is_err() {
            println!("skipped: no setsid here");
            return;
        }
        // Answers on standard input are nobody's.
        let done = run(command, Some(&b"y\n".repeat(100)));
        let exit = if program == Program::Broker { 11 } else { 2 };
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(exit), 0), "{}", done.stderr_text());
        assert!(done.stderr_text().starts_with("Error: [host_consent_confirmation_unavailable] "));
        assert_eq!(left(&scene), before);
    }
}

#[test]
fn what_a_server_would_refuse_is_not_asked() {
    let scene = asked();
    let nothing = |_: &mut Command| {};
    for root in ["home", "", "ws/none", "ws/.kdna", "other", "link"] {
        scene.scratch.directory("other", 0o755);
        let _ = symlink("ws", scene.at("link"));
        let code = match root {
            "home" | "" => "host_root_invalid",
            "ws/none" | "link" => "workspace_unavailable",
            _ => "host_consent_draft_invalid",
        };
        let path = scene.text(root);
        assert_not_asked(&scene, root, &["--host-root", &path], nothing, code);
    }
    assert_not_asked(&scene, "root /", &["--host-root", "/"], nothing, "host_root_invalid");
    let inside = scene.text("ws/state");
    assert_not_asked(&scene, "state inside", &[], set("KDNA_BROKER_STATE_DIR", inside), "host_root_invalid");
    let ambiguous = "host_consent_attachment_ambiguous";
    for (extra, code) in [
        (["--profile", "minimal"], "host_consent_draft_invalid"),
        (["--attachment", "att_000000000000000000000000"], ambiguous),
        (["--attachment", "../x"], ambiguous),
    ] {
        assert_not_asked(&scene, extra[1], &extra, nothing, code);
    }
}

#[test]
fn a_host_or_destination_that_could_deceive_is_not_asked_about() {
    let scene = asked();
    let before = left(&scene);
    let cwd = scene.text("ws");
    let long = "x".repeat(257);
    for (host, processor) in [
        ("Upper", PROCESSOR),
        ("-dash", PROCESSOR),
        ("a/b", PROCESSOR),
        ("..", PROCESSOR),
        ("\u{43e}penai", PROCESSOR),
        ("h\n", PROCESSOR),
        (HOST, " "),
        (HOST, "\u{a0}"),
        (HOST, "two  blanks"),
        (HOST, " edge"),
        (HOST, "line\nfeed"),
        (HOST, "esc\u{1b}[2J"),
        (HOST, "c1\u{9b}"),
        (HOST, "bidi\u{202e}"),
        (HOST, "zero\u{200b}width"),
        (HOST, "tag\u{e0041}"),
        (HOST, "line\u{2028}"),
        (HOST, &long),
    ] {
        let arguments = ["consent", "request", "--host", host, "--processor", processor, "--cwd", &cwd];
        let seen = ask(&scene, Program::Broker, &arguments, |_| {}, b"y\n");
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), false), "{host:?} {processor:?}: {}", seen.screen);
        assert!(seen.screen.starts_with("Error: [host_consent_draft_invalid] "), "{}", seen.screen);
        assert!(!seen.screen.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "nothing is quoted");
        assert_eq!(left(&scene), before);
    }
}

#[test]
fn a_workspace_that_is_not_clear_is_not_asked_about() {
    let scene = Scene::new();
    scene.scratch.directory("ws", 0o755);
    let nothing = |_: &mut Command| {};
    assert_not_asked(&scene, "no record", &[], nothing, "host_consent_workspace_missing");
    scene.attach("ws");
    let snapshot = fs::read_dir(scene.at("ws/.kdna/assets")).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&snapshot).unwrap();
    let mut flipped = bytes.clone();
    flipped[bytes.len() / 2] ^= 1;
    let others: [(&str, &[u8]); 3] = [("other bytes", &flipped), ("cut", &bytes[..100]), ("empty", b"")];
    for (label, other) in others {
        fs::write(&snapshot, other).unwrap();
        assert_not_asked(&scene, label, &[], nothing, "snapshot_digest_mismatch");
    }
    fs::remove_file(&snapshot).unwrap();
    assert_not_asked(&scene, "no snapshot", &[], nothing, "snapshot_missing");
    fs::write(scene.at("copy"), &bytes).unwrap();
    symlink(scene.at("copy"), &snapshot).unwrap();
    assert_not_asked(&scene, "a link", &[], nothing, "asset_invalid");
    fs::remove_file(&snapshot).unwrap();
    fs::write(&snapshot, &bytes).unwrap();
    let record = fs::read(scene.at("ws/.kdna/attachments.json")).unwrap();
    fs::write(scene.at("ws/.kdna/attachments.json"), &record[..record.len() - 5]).unwrap();
    assert_not_asked(&scene, "a cut record", &[], nothing, "attachment_schema_unsupported");
    fs::write(scene.at("ws/.kdna/attachments.json"), &record).unwrap();
    scene.attach("ws");
    assert_not_asked(&scene, "two attachments", &[], nothing, "host_consent_attachment_ambiguous");
    // Which of the two is said: then it is clear.
    let second = scene.ids("ws").pop().unwrap();
    assert_eq!(request(&scene, &["--attachment", &second], |_| {}, b"n\n").exit, Exit::Status(10));
}

#[test]
fn a_place_where_no_server_would_read_it_is_refused_before_the_question() {
    let scene = asked();
    scene.scratch.directory("open", 0o755);
    scene.scratch.directory("writable", 0o777);
    scene.scratch.directory("ws/private", 0o700);
    scene.scratch.directory("private/directory", 0o700);
    scene.scratch.file("file", b"", 0o600);
    symlink("private", scene.at("link")).unwrap();
    for (file, code) in [
        ("open/c.json", "host_consent_parent_insecure"),
        ("writable/c.json", "host_consent_parent_insecure"),
        ("writable/new/c.json", "host_consent_parent_insecure"),
        ("writable/a/b/c.json", "host_consent_parent_insecure"),
        ("link/c.json", "host_consent_parent_insecure"),
        ("link/new/c.json", "host_consent_parent_insecure"),
        ("file/c.json", "host_consent_parent_insecure"),
        ("ws/c.json", "host_consent_parent_insecure"),
        ("ws/private/c.json", "host_consent_parent_insecure"),
        ("ws/new/a/c.json", "host_consent_parent_insecure"),
        ("ws/.kdna/c.json", "host_consent_parent_insecure"),
        ("private/directory", "host_consent_invalid"),
        ("private/../private/c.json", "host_consent_coordinate_invalid"),
        ("private/", "host_consent_coordinate_invalid"),
    ] {
        let path = scene.at(file);
        let path =
            if file.ends_with('/') { format!("{}/", scene.text("private")).into() } else { path.into_os_string() };
        let place = set("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", path);
        assert_not_asked(&scene, file, &[], place, code);
    }
    let relative = set("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", "c.json");
    assert_not_asked(&scene, "relative", &[], relative, "host_consent_coordinate_invalid");
}

#[test]
fn a_place_that_does_not_exist_yet_is_made_for_a_yes_alone() {
    let scene = asked();
    let file = scene.at("new/a/c.json");
    let place = set("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", &file);
    assert_eq!(request(&scene, &[], &place, b"n\n").exit, Exit::Status(10));
    assert!(!scene.at("new").exists());
    assert_eq!(request(&scene, &[], &place, b"y\n").exit, Exit::Status(0));
    let made = tree(&scene.at("new"));
    assert_eq!(made.get("a"), Some(&Entry::Directory { mode: 0o700 }));
    assert!(matches!(made.get("a/c.json"), Some(Entry::File { mode: 0o600, .. })) && made.len() == 2);
}

#[test]
fn what_stands_at_the_place_is_replaced_and_never_followed() {
    let scene = asked();
    let victim = scene.scratch.file("victim", b"victim", 0o644);
    let place = set("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", scene.consent_path());
    let stands: [(&str, Act); 4] = [
        ("a link", |scene| symlink(scene.at("victim"), scene.consent_path()).unwrap()),
        ("a second name", |scene| fs::hard_link(scene.at("victim"), scene.consent_path()).unwrap()),
        ("an open file", |scene| drop(scene.scratch.file("private/consent.json", b"x", 0o666))),
        ("a FIFO", |scene| {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
            rustix::fs::mknodat(rustix::fs::CWD, scene.consent_path(), kind, mode, 0).unwrap();
        }),
    ];
    for (label, stand) in stands {
        let _ = fs::remove_file(scene.consent_path());
        stand(&scene);
        let seen = request(&scene, &[], &place, b"y\n");
        assert_eq!(seen.exit, Exit::Status(0), "{label}: {}", seen.screen);
        let left = tree(&scene.at("private"));
        assert!(
            matches!(left.get("consent.json"), Some(Entry::File { mode: 0o600, .. })) && left.len() == 1,
            "{label}"
        );
        assert_eq!(fs::read(&victim).unwrap(), b"victim", "{label}");
    }
}

#[test]
fn a_change_while_the_person_reads_is_no_consent() {
    let changes: [(&str, Act); 4] = [
        ("another attachment", |scene| drop(scene.attach("ws"))),
        ("another workspace", |scene| {
            fs::rename(scene.at("ws"), scene.at("old")).unwrap();
            scene.attach("ws");
        }),
        ("no record", |scene| fs::remove_file(scene.at("ws/.kdna/attachments.json")).unwrap()),
        ("an open directory", |scene| {
            fs::set_permissions(scene.at("state"), fs::Permissions::from_mode(0o777)).unwrap();
        }),
    ];
    for (label, change) in changes {
        let scene = asked();
        let cwd = scene.text("ws");
        let arguments = [&REQUEST[..], &["--cwd", &cwd]].concat();
        let mut person =
            Person::sit_down(&scene.scratch, Program::Broker, &arguments, set(FILE, scene.at(STORED)), b"");
        assert!(person.is_asked(), "{label}");
        change(&scene);
        person.type_keys(b"y\n");
        let seen = person.finish();
        assert_eq!(seen.exit, Exit::Status(2), "{label}: {}", seen.screen);
        assert!(!scene.at("state/consent").exists(), "{label}");
    }
}

/// Puts a command into a PID namespace of its own, as a container is; `setsid` may give it a terminal from outside.
fn in_container(scene: &Scene, command: &Command, setsid: &str, proc: &str) -> Command {
    let script = format!("exec {setsid} unshare --user --map-root-user --pid --fork {proc} \"$0\" \"$@\"");
    scene.in_shell(command, &script)
}

#[test]
fn in_a_container_a_question_is_asked_or_refused_as_anywhere() {
    let scene = asked();
    let cwd = scene.text("ws");
    let alone = scene.scratch.command(Program::Broker, [&REQUEST, &["--cwd", &cwd][..]].concat());
    let refused = "Error: [host_consent_confirmation_unavailable] ";
    for proc in ["", "--mount-proc"] {
        // For an ordinary user the directories above belong to nobody there, so that no place is private.
        let mut root_is_root = Command::new("sh");
        root_is_root.args(["-c", "test \"$(stat -c %u /)\" = 0"]);
        if run(in_container(&scene, &root_is_root, "", proc), None).exit != Exit::Status(0) {
            println!("skipped: no PID namespace of root's here");
            continue;
        }
        // Its session and its process group stand outside and have no number there.
        let done = run(in_container(&scene, &alone, "", proc), None);
        assert_eq!(done.exit, Exit::Status(11), "{}", done.stderr_text());
        assert!(done.stderr_text().starts_with(refused), "{}", done.stderr_text());
        // On a terminal from outside nobody can tell whether it is the one in front.
        let outside = in_container(&scene, &alone, "setsid --ctty --wait", proc);
        let mut person = Person::start(outside, b"", None);
        assert!(!person.is_asked());
        let seen = person.finish();
        assert_eq!(seen.exit, Exit::Status(11), "{}", seen.screen);
        assert!(seen.screen.starts_with(refused), "{}", seen.screen);
        assert!(!scene.at(STORED).exists(), "and nothing was allowed");
        // On a terminal of its own a yes is a yes.
        let seen = request(&scene, &[], |command| *command = in_container(&scene, command, "", proc), b"y\n");
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(0), true), "{}", seen.screen);
        fs::remove_file(scene.at(STORED)).unwrap();
    }
}
