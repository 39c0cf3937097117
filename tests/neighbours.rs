//! What follows from the contract next to the recorded cases: the same answer for the same kind of fault, whoever asks.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::limits;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::writer::{Parts, Payload, pack};
use std::fs;
use std::process::Stdio;
use support::command::{Exit, Finished, Program, run};
use support::documents::parse;
use support::package;
use support::real::{ASSET, OTHER_ASSET, Place, RECORD, TASK, refused};

const ID: &str = "att_000000000000000000000001";

fn kdna(place: &Place, words: &[&str], input: Option<&[u8]>) -> Finished {
    let mut command = place.scratch.command(Program::Owner, words);
    command.current_dir(place.path("ws"));
    run(command, input)
}

/// The workspace with another stored copy, which the record names by its digest.
fn storing(bytes: &[u8]) -> Place {
    let place = Place::new();
    let (old, new) = (Digest::of(ASSET).hex(), Digest::of(bytes).hex());
    let record = String::from_utf8(RECORD.to_vec()).unwrap().replace(&old, &new);
    assert!(record.contains(&new), "the control");
    place.scratch.file("ws/.kdna/attachments.json", &record, 0o600);
    place.scratch.file(format!("ws/.kdna/assets/sha256-{new}.kdna"), bytes, 0o600);
    place
}

#[test]
fn a_stored_copy_that_cannot_be_taken_apart_is_no_asset_and_can_be_left() {
    for case in ["plan-traversal", "plan-flipped", "plan-junk", "plan-extra-entry"] {
        let bytes = fs::read(package().join(format!("fixtures/golden/cases/{case}/files/a.kdna"))).unwrap();
        let place = storing(&bytes);
        let before = fs::read(place.path("ws/.kdna/attachments.json")).unwrap();
        let said = kdna(&place, &["enable", ID], None);
        assert_eq!(said.exit, Exit::Status(2), "{case}");
        let text = "Error: [asset_invalid] Workspace snapshot is not a valid KDNA container.";
        assert!(said.stderr_text().starts_with(text), "{case}: {}", said.stderr_text());
        assert_eq!(fs::read(place.path("ws/.kdna/attachments.json")).unwrap(), before, "{case}");
        place.scratch.file("ws/other.kdna", OTHER_ASSET, 0o600);
        let switch = ["switch", ID, "other.kdna", "--retain-scope", "--preview"];
        assert!(kdna(&place, &switch, None).stderr_text().starts_with(text), "{case}");
        let left = kdna(&place, &[&switch[..], &["--from-damaged"]].concat(), None);
        assert_eq!(left.exit, Exit::Status(0), "{case}: {}", left.stderr_text());
    }
}

/// A record with so many enabled attachments that all fit the task.
fn many(place: &Place, count: usize) {
    let record = parse(RECORD).unwrap();
    let one = record.get("attachments").unwrap().as_array().unwrap()[0].clone();
    let entry = |number: usize| {
        let mut entry = one.as_object().unwrap().clone();
        entry.insert("attachment_id", format!("att_{number:024}"));
        Value::Object(entry)
    };
    let mut all = record.as_object().unwrap().clone();
    all.insert("attachments", (1..=count).map(entry).collect::<Vec<_>>());
    let text = kdna_broker::foundation::json::write::pretty(&Value::Object(all)).unwrap();
    place.scratch.file("ws/.kdna/attachments.json", text, 0o600);
}

#[test]
fn the_owner_is_told_of_more_attachments_than_a_host_is() {
    let place = Place::new();
    for (count, host) in [(limits::CANDIDATES, true), (limits::CANDIDATES + 1, false), (200, false)] {
        many(&place, count);
        let said = kdna(&place, &["resolve", "--cwd", ".", "--task-stdin"], Some(TASK.as_bytes()));
        assert_eq!(said.exit, Exit::Status(0), "{count}: {}", said.stderr_text());
        let document = parse(&said.stdout).unwrap();
        assert_eq!(document.get("candidates").and_then(Value::as_array).unwrap().len(), count);
        let answer = place.serve().ask(&place.call(1, "kdna.workspace-resolve", &[("task", Value::from(TASK))]));
        if host {
            assert!(answer.contains("attachment_conflict"), "{answer}");
        } else {
            refused(&answer, "resolver_contract_invalid");
        }
    }
}

#[test]
fn a_record_that_is_too_large_is_answered_as_any_other_that_breaks_the_rules() {
    let place = Place::new();
    let ask = |tool: &str, more: &[(&str, Value)]| place.serve().ask(&place.call(1, tool, more));
    let task = [("task", Value::from(TASK))];
    let sized = |size: u64| {
        let text = " ".repeat(usize::try_from(size).unwrap());
        place.scratch.file("ws/.kdna/attachments.json", text, 0o600)
    };
    for size in [limits::RECORD_BYTES, limits::RECORD_BYTES + 1, limits::SERVED_RECORD_BYTES] {
        sized(size);
        refused(&ask("kdna.workspace-status", &[]), "runtime_rejected");
        for tool in ["kdna.workspace-resolve", "kdna.workspace-load"] {
            let answer = ask(tool, &task);
            assert!(answer.contains("attachment_schema_unsupported"), "{tool} {size}: {answer}");
        }
    }
    sized(limits::SERVED_RECORD_BYTES + 1);
    for (tool, more) in [("kdna.workspace-status", &[][..]), ("kdna.workspace-load", &task)] {
        refused(&ask(tool, more), "workspace_contract_invalid");
    }
}

#[test]
fn a_usage_error_has_the_recorded_line() {
    let place = Place::new();
    for (words, line) in [
        (
            &["attach"][..],
            "kdna attach <file.kdna> [--cwd <workspace>] (--attachment-stdin | [--role <text>] (--applies-to <text>... [--closed-world-scope] | --all-workspace) [--does-not-apply-to <text>...]) [--preview | (--yes (--scope-user-approved | --consent-digest <sha256:...>))]",
        ),
        (&["attachments", "x"], "kdna attachments [--cwd <start>] [--workspace-root <boundary>]"),
        (&["enable"], "kdna enable <attachment-id> [--cwd <start>] [--workspace-root <boundary>]"),
        (&["disable", "a", "b"], "kdna disable <attachment-id> [--cwd <start>] [--workspace-root <boundary>]"),
        (&["remove"], "kdna remove <attachment-id> [--cwd <start>] [--workspace-root <boundary>]"),
        (
            &["cleanup", "x"],
            "kdna cleanup [--cwd <start>] [--workspace-root <boundary>] [--plan-digest <sha256:...> --yes]",
        ),
        (
            &["resolve", "x", "--cwd", ".", "--task-stdin"],
            "kdna resolve --cwd <start> [--workspace-root <boundary>] (--task-stdin | --task-file <file>) [--adapter-schema 0.3.0] [--select-attachment <id> --selection-task-digest <sha256:...> [--selection-plan-digest <sha256:...>] --selection-approved] [--defer-password-authorization]",
        ),
    ] {
        let said = kdna(&place, words, Some(b""));
        assert_eq!((said.exit, said.stdout.len()), (Exit::Status(2), 0), "{words:?}");
        assert_eq!(said.stderr_text().lines().next().unwrap(), format!("Error: [input_invalid] Usage: {line}"));
    }
}

#[test]
fn a_change_that_is_refused_leaves_the_layout_in_order_and_says_first_who_holds_the_lock() {
    let place = Place::new();
    let list = place.path("ws/.kdna/.gitignore");
    assert!(!list.exists(), "the control");
    for words in [["enable", "att_000000000000000000000009"], ["disable", "x"], ["rollback", ID]] {
        let _ = fs::remove_file(&list);
        assert_eq!(kdna(&place, &words, None).exit, Exit::Status(2), "{words:?}");
        assert!(list.exists(), "{words:?}");
    }
    assert_eq!(fs::read(place.path("ws/.kdna/attachments.json")).unwrap(), RECORD, "the record is as it was");
    let lock = format!("{{\"pid\":{},\"created_at\":\"2999-01-01T00:00:00.000Z\"}}", std::process::id());
    place.scratch.file("ws/.kdna/attachments.lock", lock, 0o600);
    let said = kdna(&place, &["disable", "x"], None);
    assert!(said.stderr_text().starts_with("Error: [workspace_locked]"), "{}", said.stderr_text());
}

/// The judgment asset with one member of its payload, as CBOR, instead of another.
fn with_member(key: &str, cbor: &[u8], in_core: bool) -> Vec<u8> {
    let text = |text: &str| [&[0x60 + u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let own = [text(key), cbor.to_vec()].concat();
    let mut core = [text("highest_question"), text("Why?"), text("axioms"), vec![0x81], text("a")].concat();
    let mut payload = [text("profile"), text("kdna.payload.judgment"), text("profile_version"), text("0.1.0")].concat();
    let (in_payload, core_members) = if in_core { (0, 3) } else { (1, 2) };
    if in_core {
        core.extend(&own);
    } else {
        payload.extend(&own);
    }
    let bytes = [vec![0xa3 + in_payload], payload, text("core"), vec![0xa0 + core_members], core].concat();
    pack(&Parts { manifest: MANIFEST.into(), payload: Payload::Cbor(bytes), attachments: Vec::new() }).unwrap()
}

const MANIFEST: &str = r#"{"format_version":"0.1.0","asset_id":"kdna:golden:review","asset_uid":"urn:uuid:b","asset_type":"domain","title":"neighbour","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}}"#;

#[test]
fn a_member_without_a_value_is_none_and_a_number_without_a_form_is_a_wrong_one() {
    const UNDEFINED: &[u8] = &[0xf7];
    const WIDE: &[u8] = &[0x1b, 0, 0, 0, 0, 0, 0, 0, 5];
    let place = Place::new();
    let validated = |bytes: Vec<u8>| {
        place.scratch.file("ws/a.kdna", bytes, 0o600);
        let said = kdna(&place, &["validate", "a.kdna"], None);
        let problems = parse(&said.stdout).unwrap().get("problems").and_then(Value::as_array).unwrap().to_vec();
        problems.iter().map(|problem| problem.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (key, in_core) in [("patterns", false), ("reasoning", false), ("worldview", true), ("boundaries", true)] {
        assert_eq!(validated(with_member(key, UNDEFINED, in_core)), [""; 0], "{key}");
        assert!(!validated(with_member(key, WIDE, in_core)).is_empty(), "{key}");
        let loaded = kdna(&place, &["load", "a.kdna"], None);
        assert_eq!(loaded.exit, Exit::Status(1), "{key}: what is wrong is not loaded");
    }
    let missing = validated(with_member("axioms", UNDEFINED, true));
    assert!(missing.iter().any(|problem| problem.contains("must have required property 'axioms'")), "{missing:?}");
}

#[test]
fn another_format_of_a_load_is_refused_only_where_the_load_would_succeed() {
    let place = Place::new();
    place.scratch.file("ws/good.kdna", ASSET, 0o600);
    let flipped = fs::read(package().join("fixtures/golden/cases/plan-flipped/files/a.kdna")).unwrap();
    place.scratch.file("ws/bad.kdna", flipped, 0o600);
    for format in ["--as=prompt", "--as=raw"] {
        let good = kdna(&place, &["load", "good.kdna", format], None);
        assert_eq!((good.exit, good.stdout.len()), (Exit::Status(2), 0));
        assert_eq!(good.stderr_text(), "Error: This version prints load results as json only.\n");
        assert_eq!(
            kdna(&place, &["load", "bad.kdna", format], None).exit,
            kdna(&place, &["load", "bad.kdna"], None).exit
        );
        let status = kdna(&place, &["load", "good.kdna", format, "--entitlement-status", "bad"], None);
        assert!(!status.stderr_text().contains("json only"), "{}", status.stderr_text());
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_not_passed_over_in_silence() {
    let place = Place::new();
    place.scratch.file("ws/good.kdna", ASSET, 0o600);
    let mut command = place.scratch.command(Program::Owner, ["plan-load", "good.kdna"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = command.current_dir(place.path("ws")).stdout(full).stdin(Stdio::null()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "Error: Standard output could not be written.\n");
}
