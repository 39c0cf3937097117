//! A record is read strictly and kept as it stands: its order, its words, its digests. What breaks a rule is refused with
//! the place named and nothing of it quoted.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::refusal::{Code, Reason};
use kdna_broker::foundation::value::Value;
use support::documents::{at, parse, with};
use support::simulated::{Recorded, recorded_ids};

const HEX: &str = "3b488470a12c1c96b7f7b22acc4020d23c7f55ee28ff48889e2ed9f0648e4d63";

/// A record with one attachment that has one former version.
fn record() -> Value {
    let asset = format!(
        r#"{{"id":"kdna:example:deployment-review","version":"1.0.0","digest":"sha256:{HEX}","snapshot":"assets/sha256-{HEX}.kdna"}}"#
    );
    let scope = r#"{"kind":"workspace","application":"task_hints","matching_policy":"open_world_ask","authority":"user_approved_routing_hint","approval_source":"preview_confirmed","applies_to":["draft article","写文章 é"],"does_not_apply_to":["code"]}"#;
    let rest = r#""resolution_policy":"load_when_clear_ask_when_ambiguous","update_policy":"explicit_switch_only","approved_at":"2026-06-01T09:00:00.000Z""#;
    let former = format!(
        r#"{{"asset":{asset},"role":"Former","scope":{scope},{rest},"replaced_at":"2026-06-02T09:00:00.000Z"}}"#
    );
    parse(
        format!(
            r#"{{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{{"root_marker":".kdna/attachments.json"}},"attachments":[{{"attachment_id":"att_0123456789abcdef01234567","asset":{asset},"state":"enabled","role":"Article Writing","scope":{scope},{rest},"history":[{former}]}}]}}"#
        )
        .as_bytes(),
    )
    .expect("a document")
}

fn read(value: &Value) -> Result<Record, kdna_broker::foundation::refusal::Refusal> {
    Record::read(write::pretty(value).unwrap().as_bytes())
}

#[test]
fn a_scope_digest_is_over_the_scope_as_it_stands() {
    let record = read(&record()).unwrap();
    let attachment = record.find("att_0123456789abcdef01234567").expect("an attachment");
    assert_eq!(
        attachment.scope_digest().to_string(),
        "sha256:37f32d8bcb4095550925c1dfe5f7932891f2678d163f5355cdef1157c912bbe3"
    );
    let mut scope = attachment.scope_object().clone();
    let kind = scope.remove("kind").unwrap();
    scope.insert("kind", kind);
    let moved = with(record.document(), "/attachments/0/scope", Some(Value::Object(scope)));
    let moved = read(&moved).unwrap();
    assert_ne!(moved.attachments()[0].scope_digest(), attachment.scope_digest());
    assert_eq!(moved.attachments()[0].scope, attachment.scope);
    assert!(record.find("att_0123456789abcdef01234568").is_none());
}

#[test]
fn each_rule_names_the_place_and_quotes_nothing() {
    let secret = "do-not-quote-me";
    let text = |words: &str| Some(Value::copied(words));
    let long = "r".repeat(4097);
    let many = Value::Array((0..257).map(|n| Value::from(format!("phrase {n}"))).collect());
    let rows: Vec<(&str, Option<Value>, &str)> = vec![
        ("/extra", text(secret), "record contains missing or unknown fields."),
        ("/workspace", text(secret), "record.workspace must be an object."),
        ("/workspace/root_marker", text(secret), "record.workspace.root_marker is unsupported."),
        ("/document_type", text(secret), "Unsupported workspace attachment document or schema."),
        ("/schema_version", text("0.4.0"), "Unsupported workspace attachment document or schema."),
        ("/attachments", text(secret), "record.attachments must be a bounded array."),
        ("/attachments/0", text(secret), "attachments[0] must be an object."),
        ("/attachments/0/extra", text(secret), "attachments[0] contains missing or unknown fields."),
        (
            "/attachments/0/attachment_id",
            Some(Value::Array(vec![Value::from("att_0123456789abcdef01234567")])),
            "attachments[0].attachment_id must be att_ plus 24 lowercase hexadecimal characters.",
        ),
        ("/attachments/0/asset/id", text(" "), "attachments[0].asset.id must not be empty."),
        ("/attachments/0/asset/id", text("a\0b"), "attachments[0].asset.id must be a bounded string."),
        (
            "/attachments/0/asset/digest",
            text("sha256:AB"),
            "attachments[0].asset.digest must be a lowercase SHA-256 digest.",
        ),
        (
            "/attachments/0/asset/snapshot",
            text("../elsewhere"),
            "attachments[0].asset.snapshot must be the digest-derived path assets/sha256-3b488470a12c1c96b7f7b22acc4020d23c7f55ee28ff48889e2ed9f0648e4d63.kdna.",
        ),
        ("/attachments/0/state", text(secret), "attachments[0].state must be enabled or disabled."),
        ("/attachments/0/role", text(&long), "attachments[0].role must be a bounded string."),
        ("/attachments/0/scope/kind", text(secret), "attachments[0].scope.kind must be workspace."),
        (
            "/attachments/0/scope/authority",
            text(secret),
            "attachments[0].scope.authority must remain a user-approved routing hint.",
        ),
        ("/attachments/0/scope/approval_source", text(secret), "attachments[0].scope.approval_source is unsupported."),
        ("/attachments/0/scope/application", text(secret), "attachments[0].scope.application is unsupported."),
        ("/attachments/0/scope/matching_policy", text(secret), "attachments[0].scope.matching_policy is unsupported."),
        (
            "/attachments/0/scope/applies_to",
            Some(Value::Array(Vec::new())),
            "attachments[0].scope.application and applies_to do not form an executable scope.",
        ),
        (
            "/attachments/0/scope/application",
            text("all_workspace"),
            "attachments[0].scope.application and applies_to do not form an executable scope.",
        ),
        (
            "/attachments/0/scope/matching_policy",
            text("all_workspace"),
            "attachments[0].scope.application and applies_to do not form an executable scope.",
        ),
        ("/attachments/0/scope/applies_to", Some(many), "attachments[0].scope.applies_to must be a bounded array."),
        (
            "/attachments/0/scope/applies_to",
            Some(Value::Array(vec![Value::from("Ａ  b"), Value::from("a b")])),
            "attachments[0].scope.applies_to must contain unique phrases.",
        ),
        (
            "/attachments/0/scope/does_not_apply_to/0",
            Some(Value::Null),
            "attachments[0].scope.does_not_apply_to[0] must be a bounded string.",
        ),
        ("/attachments/0/resolution_policy", text(secret), "attachments[0].resolution_policy is unsupported."),
        ("/attachments/0/update_policy", text(secret), "attachments[0].update_policy is unsupported."),
        (
            "/attachments/0/approved_at",
            text("2026-02-30T00:00:00.000Z"),
            "attachments[0].approved_at must be a UTC RFC 3339 timestamp.",
        ),
        (
            "/attachments/0/approved_at",
            text("2026-02-20T24:00:00.000Z"),
            "attachments[0].approved_at must be a UTC RFC 3339 timestamp.",
        ),
        ("/attachments/0/history", text(secret), "attachments[0].history must be a bounded array."),
        (
            "/attachments/0/history/0/extra",
            text(secret),
            "attachments[0].history[0] contains missing or unknown fields.",
        ),
        ("/attachments/0/history/0/role", text(" "), "attachments[0].history[0].role must not be empty."),
        ("/attachments/0/history/0/scope/kind", text(secret), "attachments[0.history.0].scope.kind must be workspace."),
        (
            "/attachments/0/history/0/replaced_at",
            text(secret),
            "attachments[0].history[0].replaced_at must be a UTC RFC 3339 timestamp.",
        ),
    ];
    assert!(read(&record()).is_ok());
    for (pointer, value, message) in rows {
        let refusal = read(&with(record(), pointer, value)).expect_err(pointer);
        assert_eq!((refusal.message(), refusal.reason()), (message, Reason::RecordShape), "{pointer}");
        assert!(!refusal.message().contains(secret));
    }
}

#[test]
fn two_entries_may_not_share_an_identifier() {
    let entry = at(&record(), "/attachments/0").unwrap().clone();
    let refusal = read(&record()).unwrap().appended(entry).unwrap_err();
    assert_eq!(refusal.message(), "attachment_id values must be unique.");
}

#[test]
fn older_schemas_are_named_and_not_read() {
    for version in ["0.1.0", "0.2.0"] {
        let refusal = read(&with(record(), "/schema_version", Some(Value::from(version)))).unwrap_err();
        assert_eq!(refusal.code(), Code::AttachmentSchemaMigrationRequired);
        assert!(refusal.message().starts_with(&format!("Workspace attachment schema {version} is")));
    }
}

#[test]
fn what_two_readers_could_take_differently_is_refused() {
    let good = write::pretty(&record()).unwrap();
    for bad in [
        Vec::new(),
        format!("\u{feff}{good}").into_bytes(),
        good.replacen("\"state\"", "\"state\": \"disabled\", \"state\"", 1).into_bytes(),
        good.replacen("Article", "\u{1}", 1).into_bytes(),
        [good.as_bytes(), b"x"].concat(),
        good.clone().into_bytes().into_iter().map(|byte| if byte == b'W' { 0xff } else { byte }).collect(),
    ] {
        assert_eq!(Record::read(&bad).unwrap_err().reason(), Reason::RecordNotJson);
    }
    let mut padded = good.into_bytes();
    padded.resize(1_048_576, b' ');
    assert!(Record::read(&padded).is_ok());
    padded.push(b' ');
    assert_eq!(Record::read(&padded).unwrap_err().reason(), Reason::RecordTooLarge);
}

#[test]
fn a_record_keeps_its_key_order_through_a_change() {
    let document = record();
    let mut members: Vec<(String, Value)> =
        document.as_object().unwrap().iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    members.reverse();
    let turned = read(&Value::Object(members.into_iter().collect())).unwrap();
    let entry = with(
        at(&document, "/attachments/0").unwrap().clone(),
        "/attachment_id",
        Some(Value::from("att_ffffffffffffffffffffffff")),
    );
    let changed = turned.appended(entry).unwrap();
    assert_eq!(
        changed.document().as_object().unwrap().keys().collect::<Vec<_>>(),
        ["attachments", "workspace", "schema_version", "document_type"]
    );
    assert_eq!(changed.attachments().len(), 2);
    assert_eq!(turned.attachments().len(), 1);
    assert_eq!(Record::read(&changed.to_bytes().unwrap()), Ok(changed));
}

#[test]
fn an_empty_record_is_written_as_the_field_writes_it() {
    assert_eq!(
        String::from_utf8(Record::empty().to_bytes().unwrap()).unwrap(),
        "{\n  \"document_type\": \"kdna.workspace-attachments\",\n  \"schema_version\": \"0.3.0\",\n  \"workspace\": {\n    \"root_marker\": \".kdna/attachments.json\"\n  },\n  \"attachments\": []\n}\n"
    );
}

#[test]
fn a_record_has_room_for_1024_entries_and_no_more() {
    let entry = at(&record(), "/attachments/0").unwrap().clone();
    let entry = with(entry, "/history", Some(Value::Array(Vec::new())));
    let numbered = |n: usize, role: &str| {
        let entry = with(entry.clone(), "/role", Some(Value::copied(role)));
        with(entry, "/attachment_id", Some(Value::from(format!("att_{n:024}"))))
    };
    let full = |role: &str| {
        let entries = (0..1024).map(|n| numbered(n, role)).collect();
        write::compact(&with(record(), "/attachments", Some(Value::Array(entries)))).unwrap()
    };
    let read = Record::read(full("r").as_bytes()).unwrap();
    assert_eq!(read.appended(numbered(1024, "r")).map(|_| ()).unwrap_err().reason(), Reason::AttachmentLimit);
    // Fits as it stands, and not any more as it would be written.
    let room = (1_048_576 - full("").len()) / 1024;
    let tight = Record::read(full(&"r".repeat(room)).as_bytes()).unwrap();
    assert_eq!(tight.to_bytes().map(|_| ()).unwrap_err().reason(), Reason::RecordTooLarge);
}

/// Where strictness answers otherwise than the recorded reply: invalid UTF-8 and an impossible date.
#[test]
fn recorded_records_are_shown_or_refused_as_recorded() {
    for id in recorded_ids("attachments-") {
        let case = Recorded::named(&id);
        let path = format!("/golden/{id}/ws/.kdna/attachments.json");
        let Ok(bytes) = case.system.arrange(|world| world.content_of(&path)) else { continue };
        if id == "attachments-boundary" || id == "attachments-symlink" {
            continue;
        }
        match Record::read(&bytes) {
            Ok(record) => assert_eq!(write::pretty(&record.document()).unwrap().into_bytes(), case.stdout, "{id}"),
            Err(_) if id == "attachments-badutf8" || id == "attachments-err-impossible-date" => {}
            Err(refusal) => assert_eq!(format!("Error: {}\n", refusal.message()), case.stderr, "{id}"),
        }
    }
    let bytes = Recorded::named("mcp-load-ask");
    let bytes = bytes.system.arrange(|world| world.content_of("/golden/mcp-load-ask/ws/.kdna/attachments.json"));
    let record = Record::read(&bytes.clone().unwrap()).unwrap();
    assert_eq!(Digest::of(&record.to_bytes().unwrap()), Digest::of(&bytes.unwrap()));
}
