//! The list, the results, the refusals and the sizes.

use crate::client::*;
use kdna_broker::mcp::ToolNames;
use serde_json::{Value, json};

/// The recorded list.
const RECORDED_LIST: &str = r#"{"jsonrpc":"2.0","id":"abc","result":{"tools":[{"name":"kdna.workspace-status","description":"Show only the approved attachments for the current workspace; never scan globally.","inputSchema":{"type":"object","additionalProperties":false,"required":["cwd"],"properties":{"cwd":{"type":"string","minLength":1,"maxLength":4096}}}},{"name":"kdna.workspace-resolve","description":"Resolve one task against approved attachments, including a receipt-bound one-task user selection.","inputSchema":{"type":"object","additionalProperties":false,"required":["cwd","task"],"properties":{"cwd":{"type":"string","minLength":1,"maxLength":4096},"task":{"type":"string","minLength":1,"maxLength":65536},"selection":{"type":"object","additionalProperties":false,"required":["attachment_id","task_digest","approved"],"properties":{"attachment_id":{"type":"string","pattern":"^att_[0-9a-f]{24}$"},"task_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"plan_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"approved":{"const":true}}}}}},{"name":"kdna.workspace-load","description":"Resolve, plan, authorize, and load one approved workspace attachment, including a receipt-bound one-task user selection.","inputSchema":{"type":"object","additionalProperties":false,"required":["cwd","task"],"properties":{"cwd":{"type":"string","minLength":1,"maxLength":4096},"task":{"type":"string","minLength":1,"maxLength":65536},"selection":{"type":"object","additionalProperties":false,"required":["attachment_id","task_digest","approved"],"properties":{"attachment_id":{"type":"string","pattern":"^att_[0-9a-f]{24}$"},"task_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"plan_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"approved":{"const":true}}},"profile":{"type":"string","enum":["index","compact","scenario","full"]}}}}]}}"#;

#[test]
fn a_known_revision_is_echoed_and_any_other_request_gets_the_newest() {
    for revision in REVISIONS {
        let reply = Client::start().initialize(revision);
        assert_eq!(reply["result"]["protocolVersion"], revision);
        assert_eq!(reply["result"]["serverInfo"], json!({"name": "kdna-broker", "version": "9.8.7"}));
        assert_eq!(reply["result"]["capabilities"], json!({"tools": {}}));
    }
    for params in
        ["{\"protocolVersion\":\"2026-07-28\"}", "{\"protocolVersion\":7}", "{}", "{\"protocolVersion\":\"\\ud800\"}"]
    {
        let reply =
            Client::start().ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#));
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{params}");
    }
}

#[test]
fn ping_works_before_the_handshake_and_what_is_not_offered_is_a_method_not_found() {
    let mut client = Client::start();
    assert_eq!(client.ask(PING), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    for method in ["resources/list", "logging/setLevel", "subscriptions/listen", "nope"] {
        assert_eq!(code(&client.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#))), -32601);
    }
    assert_eq!(client.ask(PING)["id"], "p");
}

#[test]
fn the_list_without_a_handshake_is_the_recorded_one_byte_for_byte() {
    let mut client = Client::start();
    for _ in 0..2 {
        client.line(r#"{"jsonrpc": "2.0", "id": "abc", "method": "tools/list"}"#);
        assert_eq!(client.next_bytes(), format!("{RECORDED_LIST}\n").as_bytes());
    }
}

#[test]
fn portable_names_hold_no_dot_and_the_dotted_ones_are_then_unknown() {
    let mut client = Client::with(ToolNames::Portable);
    let list = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    let names: Vec<_> =
        list["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kdna_workspace_status", "kdna_workspace_resolve", "kdna_workspace_load"]);
    client.status("1", "/ok");
    assert_eq!(code(&client.next()), -32602);
    client.call("2", "kdna_workspace_status", r#"{"cwd":"/ok"}"#);
    assert!(client.next()["result"]["isError"].is_null());
}

#[test]
fn a_result_is_compact_text_and_structured_only_where_the_revision_has_it() {
    for revision in REVISIONS {
        let mut client = Client::handshaken(revision);
        client.status("1", "/ok");
        let result = client.next()["result"].clone();
        let document = r#"{"document_type":"status","cwd":"/ok","filler":""}"#;
        assert_eq!(result["content"], json!([{"type": "text", "text": document}]));
        if revision < "2025-06-18" {
            assert_eq!(result.as_object().unwrap().len(), 1, "{revision}");
        } else {
            assert_eq!(result["structuredContent"], serde_json::from_str::<Value>(document).unwrap());
            assert_eq!(
                result["_meta"],
                json!({"kdna-broker/enforcement": {"landlock": 4, "seccomp": true, "sealed": true, "pin": "embedded"}})
            );
            assert!(result["isError"].is_null());
        }
    }
}

#[test]
fn a_refusal_is_a_tool_error_with_code_and_message_and_its_reason_only_where_the_revision_has_it() {
    for revision in REVISIONS {
        let mut client = Client::handshaken(revision);
        client.load("1", "/refuse");
        let result = client.next()["result"].clone();
        let error = r#"{"error":{"code":"host_processing_consent_invalid","message":"The Host processing consent is invalid or unavailable."}}"#;
        assert_eq!((result["content"][0]["text"].as_str(), &result["isError"]), (Some(error), &json!(true)));
        assert!(result["structuredContent"].is_null());
        if revision < "2025-06-18" {
            assert!(result["_meta"].is_null(), "{revision}");
        } else {
            assert_eq!(result["_meta"]["kdna-broker/reason"], "consent_missing");
            assert_eq!(result["_meta"]["kdna-broker/stage"], "consent-read");
            assert!(result["_meta"]["kdna-broker/remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()));
        }
    }
}

#[test]
fn wrong_arguments_are_a_protocol_error_first_and_a_tool_error_from_2025_06_18_on() {
    for revision in REVISIONS {
        let mut client = Client::handshaken(revision);
        for arguments in ["[]", "null", "{}", r#"{"cwd":""}"#, r#"{"cwd":"/ok","x":1}"#] {
            client.call("1", "kdna.workspace-status", arguments);
            let reply = client.next();
            if revision < "2025-06-18" {
                assert_eq!(code(&reply), -32602);
            } else {
                assert_eq!(reply["result"]["isError"], true, "{reply}");
                assert!(text(&reply).starts_with(r#"{"error":{"code":"arguments_invalid""#));
                assert_eq!(reply["result"]["_meta"]["kdna-broker/stage"], "arguments");
            }
        }
        client.call("1", "kdna.unknown", r#"{"cwd":"/ok"}"#);
        assert_eq!(code(&client.next()), -32602, "an unknown tool is always a protocol error");
        assert!(client.log.lines().iter().all(|line| !line.starts_with("start")));
    }
}

#[test]
fn arguments_reach_the_operation_as_they_were_given() {
    let mut client = Client::start();
    let digest = format!("sha256:{}", "0".repeat(64));
    client.call("1", "kdna.workspace-load", &format!(r#"{{"profile":"full","selection":{{"approved":true,"task_digest":"{digest}","attachment_id":"att_000000000000000000000001"}},"task":"t","cwd":"/\u006fk"}}"#));
    client.next();
    client.load("2", "/ok");
    client.next();
    client.call("3", "kdna.workspace-resolve", r#"{"cwd":"/ok","task":"a \ud800 b"}"#);
    assert!(text(&client.next()).contains("task_input_invalid"));
    assert!(client.log.holds("start load-full-selected /ok") && client.log.holds("start load-compact /ok"));
    assert!(!client.log.lines().iter().any(|line| line.contains("resolve")));
}

#[test]
fn what_would_be_larger_than_eight_mebibytes_becomes_a_tool_error_and_never_a_cut_message() {
    // A quotation mark takes two bytes in the document and four in the text.
    for (revision, each) in [("2024-11-05", 4), ("2025-11-25", 6)] {
        let mut client = Client::handshaken(revision);
        let fits = (8_388_608 - 2000) / each;
        for tool in ["status", "load"] {
            let task = if tool == "load" { r#","task":"t""# } else { "" };
            let name = format!("kdna.workspace-{tool}");
            client.call("1", &name, &format!(r#"{{"cwd":"/size:{fits}"{task}}}"#));
            let reply = client.next();
            assert!(reply["result"]["isError"].is_null() && text(&reply).len() > fits * 2, "{revision} {tool}");
            client.call("2", &name, &format!(r#"{{"cwd":"/size:{}"{task}}}"#, fits + 2000));
            let reply = client.next();
            assert!(text(&reply).contains("result_too_large"), "{revision} {tool}");
            assert!(text(&reply).contains("8 MiB") && text(&reply).len() < 300);
        }
    }
}

#[test]
fn a_load_is_written_exactly_as_it_came_back_in_one_write() {
    let mut client = Client::start();
    client.load("1", "/ok");
    assert!(client.next_bytes().ends_with(b"}   \n"), "the bytes of the operation, not a second rendering");
    client.assert_silent();
    let writes: Vec<_> = client.log.lines().into_iter().filter(|line| !line.starts_with("start")).collect();
    assert_eq!(writes, ["write 1", "write \"silent?\""]);
}

#[test]
fn an_operation_that_panics_costs_one_call_and_not_the_session() {
    let mut client = Client::start();
    client.status("1", "/panic");
    assert_eq!(code(&client.next()), -32603);
    client.status("2", "/ok");
    assert!(client.next()["result"]["isError"].is_null());
}
