//! The question as it stands on the screen, byte for byte, and what becomes of the terminal whatever ends the question.
//!
//! `UPDATE_SCREENS=1 cargo test --test owner_commands screens` writes `tests/owner_commands/screens/` anew; read the
//! difference before committing it.

use crate::person::{Person, answer, wrapped};
use crate::scene::{HOST, PROCESSOR, Scene, has_setsid};
use crate::support::command::{Exit, Program, run};
use crate::support::package;
use crate::support::tree::tree;
use rustix::process::Signal;
use std::fs;
use std::process::Command;

/// A scene whose record has another role and other phrases, as a repository could bring it.
fn with_record(role: &str, phrases: &[&str]) -> Scene {
    let scene = Scene::new();
    scene.attach("ws");
    let path = scene.at("ws/.kdna/attachments.json");
    let text = |text: &str| kdna_broker::foundation::json::write::compact(&text.into()).unwrap();
    let record = fs::read_to_string(&path).unwrap();
    let phrases: Vec<String> = phrases.iter().map(|phrase| text(phrase)).collect();
    let record = record.replacen("\"Review\"", &text(role), 1);
    let record = record.replacen("\"review the pull request\"", &phrases.join(","), 1);
    fs::write(path, record).unwrap();
    scene
}

fn arguments<'a>(cwd: &'a str, processor: &'a str) -> [&'a str; 8] {
    ["consent", "request", "--host", HOST, "--processor", processor, "--cwd", cwd]
}

/// What stands on the screen when the question is asked.
fn screen(scene: &Scene, processor: &str, extra: &[&str]) -> String {
    let cwd = scene.text("ws");
    let arguments = [&arguments(&cwd, processor)[..], extra].concat();
    let seen = answer(&scene.scratch, Program::Broker, &arguments, |_| {}, b"n\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(10), true), "{}", seen.screen);
    let (question, after) = seen.screen.rsplit_once("[y/N] ").unwrap();
    assert_eq!(after, "n\nDeclined. Nothing was changed.\n");
    // A path of a fixed length stands for the scratch directory, which has a new name each time.
    format!("{}[y/N] \n", question.replace(&cwd, "<workspace>"))
}

/// The screen that is kept under this name.
fn kept(name: &str, shown: &str) -> String {
    let path = package().join(format!("tests/owner_commands/screens/{name}.txt"));
    if std::env::var_os("UPDATE_SCREENS").is_some_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, shown).unwrap();
    }
    fs::read_to_string(path).unwrap_or_default()
}

fn assert_screen(name: &str, shown: &str) {
    let kept = kept(name, shown);
    let rows: Vec<&str> = shown.trim_end_matches('\n').split('\n').collect();
    assert!(rows.len() <= 24, "{name}: {} rows", rows.len());
    let last = &rows[rows.len().saturating_sub(12)..];
    for label in ["  Host         ", "  Destination  "] {
        assert_eq!(rows.iter().filter(|row| row.starts_with(label)).count(), 1, "{name}: one {label}");
        assert!(last.iter().any(|row| row.starts_with(label)), "{name}: {label} in the last rows");
    }
    let harmless = |character: char| character == '\n' || !kdna_broker::foundation::text::is_deceptive(character);
    assert!(shown.chars().all(harmless), "{name}: {shown:?}");
    assert_eq!(shown, kept, "{name}");
}

#[test]
fn a_plain_question_is_this_screen() {
    assert_screen("plain", &screen(&with_record("Review", &["review the pull request"]), PROCESSOR, &[]));
}

#[test]
fn a_long_question_is_this_screen() {
    let long = "each change of the interface, its tests and its documentation, one after the other; ".repeat(6);
    let phrases: Vec<String> = (0..40).map(|number| format!("phrase number {number} of many")).collect();
    let phrases: Vec<&str> = phrases.iter().map(String::as_str).collect();
    let processor = "Example Inference and Retention Holding of Somewhere Ltd ".repeat(4);
    assert_screen("long", &screen(&with_record(&long, &phrases), processor.trim_end(), &[]));
}

#[test]
fn a_chinese_question_is_this_screen() {
    let role = "在合并之前审阅每一个改动，并说明理由。".repeat(8);
    let scene = with_record(&role, &["审阅合并请求", "检查接口文档"]);
    assert_screen("chinese", &screen(&scene, "示例推理有限公司", &[]));
}

#[test]
fn a_question_written_from_right_to_left_is_this_screen() {
    let scene = with_record("مراجعة كل تغيير قبل الدمج", &["סקירת בקשת המיזוג", "مراجعة"]);
    assert_screen("right-to-left", &screen(&scene, "שירות דוגמה", &[]));
}

#[test]
fn a_hostile_question_is_this_screen() {
    let role = "\u{1b}[2J\u{1b}[1;1H\u{1b}]0;x\u{7}\r\n  Destination  nothing at all\n\nAllow? [y/N] y\u{202e}\u{9b}1A";
    let padding = format!("a{}b", " ".repeat(900));
    let scene = with_record(role, &[&padding, "\u{200b}\u{2066}x\u{2069}", "\"\\\" Host         safe"]);
    assert_screen("hostile", &screen(&scene, "open\u{430}i", &[]));
}

#[test]
fn an_end_is_said_to_the_minute() {
    let scene = with_record("Review", &["review the pull request"]);
    let shown = screen(&scene, PROCESSOR, &["--expires-in", "30d"]);
    let row = shown.lines().find(|row| row.starts_with("  Valid        until ")).expect("a row");
    let (day, rest) = row.strip_prefix("  Valid        until ").unwrap().split_at(10);
    assert!(rest.ends_with(" UTC, or until you revoke it") && rest.len() == 34, "{row}");
    assert!(kdna_broker::foundation::time::Timestamp::parse(&format!("{day}T00:00:00.000Z")).is_some(), "{row}");
}

#[test]
fn a_window_too_small_for_the_decision_is_not_asked_in_and_a_small_one_is() {
    let scene = with_record("Review", &["review the pull request"]);
    let cwd = scene.text("ws");
    let long = "x".repeat(200);
    for (window, processor, asked) in [
        ((24, 80), PROCESSOR, true),
        ((24, 80), &*long, true),
        ((10, 40), PROCESSOR, true),
        ((10, 40), &*long, false),
        ((3, 80), PROCESSOR, false),
        ((24, 1), PROCESSOR, false),
    ] {
        let _ = fs::remove_file(scene.at("state/declines.json"));
        let arguments = arguments(&cwd, processor);
        let mut person = Person::sit_down_at(&scene.scratch, Program::Broker, &arguments, |_| {}, b"", Some(window));
        assert_eq!(person.is_asked(), asked, "{window:?} {}", processor.len());
        if asked {
            person.type_keys(b"n\n");
        }
        let seen = person.finish();
        assert_eq!(seen.exit, Exit::Status(if asked { 10 } else { 2 }), "{}", seen.screen);
        if !asked {
            assert!(seen.screen.starts_with("Error: [host_consent_confirmation_unavailable] The terminal's window"));
            continue;
        }
        // What a screen of this size still shows: the rows of a terminal wrap at its width, and the last ones stay.
        let (question, _) = seen.screen.split_once("[y/N] ").unwrap();
        let lines = wrapped(question, window.1);
        let shown = lines[lines.len().saturating_sub(usize::from(window.0))..].join("\n");
        assert!(shown.contains(&format!("  Host         {HOST}")), "{window:?}\n{shown}");
        assert!(shown.contains("  Destination  "), "{window:?}\n{shown}");
        if window == (10, 40) {
            assert_eq!(format!("{shown}[y/N] \n"), kept("small", &format!("{shown}[y/N] \n")));
        }
    }
}

#[test]
fn whatever_ends_the_question_the_terminal_has_its_settings_back_and_nothing_is_stored() {
    type End = (&'static str, fn(&mut Person), Exit);
    let ends: [End; 9] = [
        ("SIGTERM", |person| person.signal(Signal::TERM), Exit::Signal(15)),
        ("SIGINT", |person| person.signal(Signal::INT), Exit::Signal(2)),
        ("SIGHUP", |person| person.signal(Signal::HUP), Exit::Signal(1)),
        ("SIGQUIT", |person| person.signal(Signal::QUIT), Exit::Signal(3)),
        ("Control-C", |person| person.type_keys(b"\x03"), Exit::Status(10)),
        ("Control-D", |person| person.type_keys(b"\x04"), Exit::Status(10)),
        ("Control-Z", |person| person.type_keys(b"\x1a\n"), Exit::Status(10)),
        ("yes, then Control-Z", |person| person.type_keys(b"y\x1a\n"), Exit::Status(10)),
        // The group of a session's leader is orphaned, so that this one is dropped when it is let through.
        ("SIGTSTP", |person| person.signal(Signal::TSTP), Exit::Status(10)),
    ];
    for (label, end, expected) in ends {
        let scene = with_record("Review", &["review the pull request"]);
        let cwd = scene.text("ws");
        let arguments = arguments(&cwd, PROCESSOR);
        let mut person = Person::sit_down(&scene.scratch, Program::Broker, &arguments, |_| {}, b"");
        let before = person.settings();
        assert!(person.is_asked(), "{label}");
        assert_ne!(person.settings(), before, "{label}: the question has settings of its own");
        end(&mut person);
        let (seen, after) = person.finish_with_settings();
        assert_eq!((seen.exit, after), (expected, before), "{label}: {}", seen.screen);
        assert!(!scene.at("state/consents").exists(), "{label}");
        let left: Vec<String> = tree(&scene.at("state")).into_keys().collect();
        assert!(left.iter().all(|name| !name.contains("tmp")), "{label}: {left:?}");
    }
}

#[test]
fn nobody_is_asked_from_the_background() {
    let scene = with_record("Review", &["review the pull request"]);
    if !has_setsid() {
        return;
    }
    let cwd = scene.text("ws");
    let arguments = arguments(&cwd, PROCESSOR);
    // A shell with job control puts the command into a group of its own, which is not the terminal's.
    let background = |command: &mut Command| {
        *command = scene.on_terminal(command, "set -m; \"$0\" \"$@\" </dev/tty & wait $!");
    };
    let seen = answer(&scene.scratch, Program::Broker, &arguments, background, b"y\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(11), false), "{}", seen.screen);
    assert!(seen.screen.contains("[host_consent_confirmation_unavailable]"), "{}", seen.screen);
    assert!(!scene.at("state/consents").exists());
}

#[test]
fn what_was_typed_ahead_is_thrown_away_whatever_it_was() {
    for ahead in [&b"y\n"[..], b"yes\ny\nY\n", b"\x04", b"\x03", b"y"] {
        let scene = with_record("Review", &["review the pull request"]);
        let cwd = scene.text("ws");
        let arguments = arguments(&cwd, PROCESSOR);
        let mut person = Person::sit_down(&scene.scratch, Program::Broker, &arguments, |_| {}, ahead);
        if !person.is_asked() {
            // A terminal that acts on Control-C at once ends a command that has not asked yet.
            assert_eq!(ahead, b"\x03");
            continue;
        }
        person.type_keys(b"\n");
        assert_eq!(person.finish().exit, Exit::Status(10), "{ahead:?}");
        assert!(!scene.at("state/consents").exists());
    }
}

#[test]
fn adopting_is_this_screen() {
    let scene = with_record("Review", &["review the pull request"]);
    let cwd = scene.text("ws");
    let seen = answer(&scene.scratch, Program::Broker, &["adopt", "--cwd", &cwd], |_| {}, b"n\n");
    assert_eq!(seen.exit, Exit::Status(0), "approved at attach: {}", seen.screen);
    fs::remove_file(scene.at("state/attachment-ledger.json")).unwrap();
    let seen = answer(&scene.scratch, Program::Broker, &["adopt", "--cwd", &cwd], |_| {}, b"n\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(10), true), "{}", seen.screen);
    let (question, _) = seen.screen.split_once("[y/N] ").unwrap();
    let shown = format!("{}[y/N] \n", question.replace(&cwd, "<workspace>"));
    assert_eq!(shown, kept("adopt", &shown));
    let done = run(scene.scratch.command(Program::Broker, ["help"]), None);
    assert!(done.stdout_text().contains("\n  adopt "));
}
