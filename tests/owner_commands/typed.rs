//! Recorded replies of `kdna host-consent` in which a person types at a terminal. They are read from the shared data; what
//! this product answers otherwise on purpose is listed here with its reason.

use crate::person::Person;
use crate::scene::has_setsid;
use crate::support::command::Exit;
use crate::support::documents::parse;
use crate::support::golden::{Case, Stage};
use crate::support::shared;
use kdna_broker::consent::Consent;
use kdna_broker::foundation::value::Value;
use std::fs;
use std::process::Command;

/// What happens instead of what is recorded.
enum Instead {
    /// Nobody is asked: the code.
    Refused(&'static str),
    /// The person is asked, and allows.
    Allowed,
    /// The person is asked, declines, and is told so.
    Declined,
}

const OTHERWISE: [(&str, Instead, &str); 7] = [
    ("consent-eof", Instead::Declined, "the reference ends without a word"),
    ("consent-approve-badhost", Instead::Refused("host_consent_draft_invalid"), "no server accepts such a host"),
    (
        "consent-approve-control-chars",
        Instead::Refused("host_consent_draft_invalid"),
        "the draft says another role and destination than could be shown",
    ),
    (
        "consent-approve-no-record",
        Instead::Refused("host_consent_workspace_missing"),
        "the facts come from the workspace, and there is none",
    ),
    ("consent-fromws-allworkspace", Instead::Allowed, "an attachment for the whole workspace can be consented"),
    ("consent-draft-err-profile-index", Instead::Allowed, "every profile can be consented"),
    ("consent-draft-err-profile-scenario", Instead::Allowed, "every profile can be consented"),
];

/// Runs a case on a terminal of its own: its draft from a file, its output into one.
fn run(case: &Case, stage: &Stage<'_>, typed: &str) -> (Exit, String, String) {
    let command = stage.whole_command();
    let input = stage.input();
    fs::write(stage.path("../stdin"), input.as_deref().unwrap_or_default()).unwrap();
    let mut shell = Command::new("setsid");
    let script = "\"$0\" \"$@\" <../stdin >../stdout";
    let script = if input.is_some() { script.to_owned() } else { script.replace(" <../stdin", "") };
    shell.args(["--ctty", "--wait", "/bin/sh", "-c", &script]).arg(command.get_program()).args(command.get_args());
    shell.current_dir(stage.path("")).env_clear();
    shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let mut person = Person::start(shell, b"", None);
    if person.is_asked() {
        person.type_keys(typed.as_bytes());
    }
    let seen = person.finish();
    let stdout = fs::read_to_string(stage.path("../stdout")).unwrap();
    assert!(seen.was_asked() || seen.exit != Exit::Status(0), "{}: {}", case.id, seen.screen);
    (seen.exit, seen.screen, stdout)
}

#[test]
fn recorded_replies_that_a_person_types_hold_or_differ_for_a_reason() {
    let Some(folder) = shared().map(|shared| shared.join("golden/cases")) else { return };
    if !has_setsid() {
        return;
    }
    let otherwise = |id: &str| OTHERWISE.iter().find(|(other, ..)| *other == id).map(|(_, instead, _)| instead);
    let cases: Vec<Case> = Case::all(&folder)
        .into_iter()
        .filter(|case| case.id.starts_with("consent-") && (case.typed.is_some() || otherwise(&case.id).is_some()))
        .collect();
    assert!(cases.len() >= 16, "only {} cases", cases.len());
    assert!(OTHERWISE.iter().all(|(id, ..)| cases.iter().any(|case| case.id == *id)), "each row names a case");
    for case in cases {
        let stage = Stage::of(&case);
        let consent = stage.path("private/processing-consent.json");
        let before = fs::read(&consent).ok();
        let (exit, screen, stdout) = run(&case, &stage, case.typed.as_deref().unwrap_or("y\n"));
        let label = format!("{}: {screen}\n{stdout}", case.id);
        match otherwise(&case.id) {
            Some(Instead::Refused(code)) => {
                assert_eq!(exit, Exit::Status(2), "{label}");
                assert!(!screen.contains("[y/N]") && screen.contains(&format!("[{code}]")), "{label}");
                assert_eq!(fs::read(&consent).ok(), before, "{label}");
            }
            Some(Instead::Allowed) => {
                assert_eq!(exit, Exit::Status(0), "{label}");
                assert!(Consent::read(&fs::read(&consent).unwrap()).is_ok(), "{label}");
            }
            Some(Instead::Declined) => {
                assert_eq!((exit, fs::read(&consent).ok()), (Exit::Status(0), before), "{label}");
                assert!(stdout.contains("\"operation\": \"decline\""), "{label}");
            }
            None => holds(&case, (exit, &screen, &stdout), (before, fs::read(&consent).ok())),
        }
    }
}

/// The exit status, what is printed (but for digest and path), and what is written are as recorded.
fn holds(case: &Case, (exit, screen, stdout): (Exit, &str, &str), (before, after): (Option<Vec<u8>>, Option<Vec<u8>>)) {
    let label = format!("{}: {screen}\n{stdout}", case.id);
    assert_eq!(exit, Exit::Status(case.exit), "{label}");
    let recorded = case.recorded("stdout");
    let Some(document) = parse(recorded.as_bytes()) else {
        // Where a consent lies, and how it is taken back, is said besides.
        let first = |text: &str| text.lines().next().unwrap_or_default().split(" to /").next().unwrap().to_owned();
        assert_eq!(first(stdout), first(&recorded), "{label}");
        return;
    };
    let given = parse(stdout.as_bytes()).unwrap_or_else(|| panic!("{label}"));
    let (document, given) = (document.as_object().unwrap().clone(), given.as_object().unwrap().clone());
    assert!(document.keys().eq(given.keys()), "{label}");
    for (key, value) in document.iter().filter(|(key, _)| !["consent_digest", "consent_path"].contains(key)) {
        assert_eq!(given.get(key), Some(value), "{label}");
    }
    if document.get("approved").and_then(Value::as_bool) == Some(true) {
        let written = Consent::read(&after.unwrap()).unwrap();
        assert_eq!(given.get("consent_digest"), Some(&written.digest().into()), "{label}");
        assert!(written.timed().is_none(), "the recorded command writes the recorded version");
    } else {
        assert_eq!(after, before, "{label}");
    }
}
