//! Recorded replies of the owner's commands beyond those that are stored here. They are read from the shared data; what
//! this product answers otherwise on purpose is listed with its reason, and anything else is a failure.

use crate::scene::Scene;
use crate::support::command::{Exit, Finished, run};
use crate::support::documents::parse;
use crate::support::golden::{Case, Deviation};
use crate::support::shared;
use kdna_broker::foundation::value::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Cases that other tests judge: a person types in them, or they need a receipt, or the matching of Chinese.
const ELSEWHERE: [(&str, &str); 6] = [
    ("consent-approve", "typed at a terminal: see typed.rs"),
    ("consent-decline", "typed at a terminal: see typed.rs"),
    ("consent-eof", "typed at a terminal: see typed.rs"),
    ("consent-draft-err-profile-", "every profile is accepted, so that the question would be asked: see typed.rs"),
    ("resolve-cjk-", "matching without spaces: see resolver.rs"),
    ("resolve-sel-", "a selection's receipt binds the place of the recording"),
];
const ELSEWHERE_EXACTLY: [&str; 2] = ["consent-fromws-allworkspace", "resolve-kana-hangul"];

/// What is refused where the reference accepts, with the code and the reason.
const REFUSED: [(&str, &str, &str); 6] = [
    ("attach-nonstring-terms", "input_invalid", "a phrase that is no string is nobody's phrase"),
    ("attach-preview-dupkeys", "input_invalid", "a key twice has two meanings"),
    ("attach-preview-limits", "input_invalid", "a role of more than 512 characters can never be shown in a question"),
    ("attachments-badutf8", "attachment_schema_unsupported", "bytes that are no text are not repaired"),
    ("attachments-err-impossible-date", "attachment_schema_unsupported", "30 February is no day"),
    ("consent-unknown-flag", "", "an option that nobody knows is refused, not skipped"),
];

/// A file that stays: the advisory lock.
const LOCK_STAYS: [&str; 4] = ["attach-argv-policy", "attach-confirm", "attach-stale-lock", "attach-user-approved"];

fn at(pointer: &str, expect: &str) -> Deviation {
    Deviation::Value { at: pointer.to_owned(), expect: Some(expect.to_owned()) }
}

/// Drafts that are refused with another message than the recorded one, and why.
const OTHER_MESSAGE: [(&str, &str, &str, &str); 4] = [
    (
        "consent-draft-err-applies-257",
        "host_consent_draft_invalid",
        "applies_to.",
        "a phrase may be longer; what it says must be what the workspace says",
    ),
    (
        "consent-draft-err-applies-empty",
        "host_consent_draft_invalid",
        "applies_to.",
        "an attachment for the whole workspace has no phrase; this one has",
    ),
    ("consent-draft-err-bom", "host_consent_draft_invalid", "strict JSON.", "a byte order mark is no JSON"),
    (
        "consent-draft-err-wsmissing",
        "workspace_invalid",
        "Working directory does not exist.",
        "the draft is JSON; its workspace is not there",
    ),
];

/// What is expected to differ in a case.
fn deviations(folder: &Path, id: &str) -> Vec<Deviation> {
    let mut expected = Vec::new();
    if let Some((_, code, _)) = REFUSED.iter().find(|(refused, ..)| *refused == id) {
        let code = if code.is_empty() { "input_invalid] Unknown option: " } else { &format!("{code}] ") };
        let start = format!("Error: [{code}");
        expected.extend([Deviation::Exit(2), at("", "\"\""), Deviation::Stderr(start)]);
    }
    if LOCK_STAYS.contains(&id) {
        expected.push(Deviation::LeftBehind("ws/.kdna/.attachments-lock.tmp".to_owned()));
    }
    if id.starts_with("resolve-err-") {
        expected.push(Deviation::Stderr("Error: [input_invalid] ".to_owned()));
    }
    expected.extend(consent_status(folder, id));
    if let Some((_, code, message, _)) = OTHER_MESSAGE.iter().find(|(other, ..)| *other == id) {
        expected.extend([Deviation::Stderr(format!("Error: [{code}] ")), Deviation::Stderr((*message).to_owned())]);
        return expected;
    }
    // The same message, with its code in front and the remedy behind.
    let said = fs::read_to_string(folder.join(id).join("stderr")).unwrap();
    if let Some(message) = said.strip_prefix("Error: ").filter(|_| id != "consent-status-null") {
        expected.push(Deviation::Stderr(format!("] {message}")));
    }
    expected
}

/// A document that is there is not revoked; the reference says it is. A document that is no object has none of its fields.
fn consent_status(folder: &Path, id: &str) -> Vec<Deviation> {
    let recorded = parse(&fs::read(folder.join(id).join("stdout")).unwrap());
    let says_revoked = recorded.as_ref().and_then(|document| document.get("revoked")).and_then(Value::as_bool);
    match id {
        "consent-status-array" => vec![at("/revoked", "false"), at("/host_id", "null"), at("/asset_digest", "null")],
        "consent-status-null" => {
            let digest = "sha256:74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
            let document = format!(
                r#"{{"document_type":"kdna.cli.host-processing-consent-status","schema_version":"0.1.0","present":true,"consent_digest":"{digest}","host_id":null,"asset_digest":null,"processor":null,"capsule_profile":null,"approval_source":null,"approved_at":null,"revoked":false}}"#
            );
            vec![Deviation::Exit(0), at("", &document), Deviation::Stderr(String::new())]
        }
        _ if id.starts_with("consent-status-") && says_revoked == Some(true) => vec![at("/revoked", "false")],
        _ => Vec::new(),
    }
}

fn is_elsewhere(id: &str) -> bool {
    ELSEWHERE.iter().any(|(start, _)| id.starts_with(start)) || ELSEWHERE_EXACTLY.contains(&id)
}

#[test]
fn a_task_that_is_no_text_is_refused_as_an_input() {
    let scene = Scene::new();
    scene.attach("ws");
    let cwd = scene.text("ws");
    fs::write(scene.at("task"), b"\xff").unwrap();
    symlink("task", scene.at("link")).unwrap();
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
    rustix::fs::mknodat(rustix::fs::CWD, scene.at("fifo"), kind, mode, 0).unwrap();
    let large = vec![b'x'; 65_537];
    let inputs: [&[u8]; 5] = [b"", b" \n\t", b"\xff", b"ok\xc3(", &large];
    let refused = |done: Finished, label: &str| {
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{label}");
        assert!(done.stderr_text().starts_with("Error: [input_invalid] Task "), "{label}: {}", done.stderr_text());
    };
    for input in inputs {
        refused(
            run(scene.owner(["resolve", "--cwd", &cwd, "--task-stdin"]), Some(input)),
            &format!("{:?}", input.first()),
        );
    }
    for file in ["task", "link", "fifo", "none", "ws", "/dev/null", "/dev/zero", "/dev/stdin"] {
        refused(run(scene.owner(["resolve", "--cwd", &cwd, "--task-file", file]), Some(b"x")), file);
    }
}

#[test]
fn recorded_replies_of_the_owners_commands_hold_or_differ_for_a_reason() {
    let Some(folder) = shared().map(|shared| shared.join("golden/cases")) else { return };
    let mine = ["attach-", "attachments-", "resolve-", "consent-"];
    let cases: Vec<Case> = Case::all(&folder)
        .into_iter()
        .filter(|case| mine.iter().any(|start| case.id.starts_with(start)) && !is_elsewhere(&case.id))
        .collect();
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let named = REFUSED.iter().map(|(id, ..)| id).chain(OTHER_MESSAGE.iter().map(|(id, ..)| id));
    assert!(named.into_iter().all(|id| ids.contains(id)), "each row names a case");
    let problems: Vec<String> = cases
        .iter()
        .flat_map(|case| {
            let found = case.problems(&deviations(&folder, &case.id));
            found.into_iter().map(move |problem| format!("{}: {problem}", case.id))
        })
        .collect();
    assert!(problems.is_empty(), "{} of {} cases:\n{}", problems.len(), cases.len(), problems.join("\n"));
}
