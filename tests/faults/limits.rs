//! Every bound at its limit and one beyond.

use crate::support::documents::parse;
use crate::support::real::{Place, RECORD, delivered, refused, status};
use kdna_broker::foundation::limits;
use kdna_broker::foundation::value::Value;

fn tasks(place: &Place, task: String) -> String {
    place.call(1, "kdna.workspace-load", &[("task", Value::from(task))])
}

#[test]
fn bind_cap_exceeded_fails_open() {
    let place = Place::new();
    let mut server = place.serve();
    let room = usize::try_from(limits::TASK_BYTES).unwrap();
    let task = |bytes: usize| format!("review the pull request {}", "x".repeat(bytes - 24));
    assert!(delivered(&server.ask(&tasks(&place, task(room)))), "exactly the limit");
    refused(&server.ask(&tasks(&place, task(room + 1))), "arguments_invalid");
    // Whitespace behind the record, up to its limit.
    let room = usize::try_from(limits::RECORD_BYTES).unwrap();
    let record = |bytes: usize| [RECORD, &vec![b' '; bytes - RECORD.len()]].concat();
    place.scratch.file("ws/.kdna/attachments.json", record(room), 0o600);
    assert!(delivered(&server.ask(&place.load(2))), "exactly the limit");
    place.scratch.file("ws/.kdna/attachments.json", record(room + 1), 0o600);
    let answer = server.ask(&place.load(3));
    assert!(!delivered(&answer), "{answer}");
    assert!(answer.contains("attachment_schema_unsupported"), "{answer}");
    place.scratch.file("ws/.kdna/attachments.json", RECORD, 0o600);
    // Names.
    for (length, fits) in [(limits::HOST_ID_BYTES, true), (limits::HOST_ID_BYTES + 1, false)] {
        let mut consent = place.consent();
        consent.host_id = "h".repeat(length);
        place.scratch.file("private/consent.json", consent.bytes(), 0o600);
        let host = consent.host_id.clone();
        let answer = place.serve_with(|command| command.env("KDNA_MCP_HOST_ID", host)).ask(&place.load(1));
        assert_eq!(delivered(&answer), fits, "{length}: {answer}");
    }
    for (length, fits) in [(limits::PROCESSOR_UNITS, true), (limits::PROCESSOR_UNITS + 1, false)] {
        let mut consent = place.consent();
        consent.processor = "p".repeat(length);
        place.scratch.file("private/consent.json", consent.bytes(), 0o600);
        assert_eq!(delivered(&server.ask(&place.load(1))), fits, "{length}");
    }
}

#[test]
fn proto_huge_line() {
    let place = Place::new();
    let mut server = place.serve();
    let base = r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":""}}"#;
    let line = |bytes: usize| base.replace(r#""x":"""#, &format!(r#""x":"{}""#, "y".repeat(bytes - base.len())));
    for (bytes, served) in
        [(limits::FRAME_BYTES - 1, true), (limits::FRAME_BYTES, true), (limits::FRAME_BYTES + 1, false)]
    {
        let answer = parse(server.ask(&line(bytes)).as_bytes()).unwrap();
        assert_eq!(answer.get("result").is_some(), served, "{bytes}");
    }
    let resident = || status(server.id(), "VmRSS").unwrap().trim_end_matches(" kB").parse::<u64>().unwrap();
    let before = resident();
    let (flood, next) = ("z".repeat(24 << 20), place.load(9));
    let mut server = server;
    assert!(server.ask(&format!("{flood}\n{next}")).contains("-32700"));
    let after = status(server.id(), "VmRSS").unwrap().trim_end_matches(" kB").parse::<u64>().unwrap();
    assert!(after < before + 4096, "{before} KiB grew to {after}");
    let answer = server.receive(std::time::Duration::from_secs(20)).unwrap();
    assert!(delivered(&answer), "the session goes on: {answer}");
}

#[test]
fn proto_tool_arg_authority() {
    let place = Place::new();
    let mut server = place.serve();
    for name in ["consentFile", "hostId", "password", "entitlement", "root", "env", "workspaceRoot", "processor"] {
        let more = [("task", Value::from("review the pull request")), (name, Value::from("x"))];
        refused(&server.ask(&place.call(1, "kdna.workspace-load", &more)), "arguments_invalid");
    }
    assert!(delivered(&server.ask(&place.load(2))), "the control");
}
