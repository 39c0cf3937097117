//! The protocol as a client meets it: framing, ids, order, cancellation, endings, and what each revision may hear.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "mcp_protocol/client.rs"]
mod client;
#[path = "mcp_protocol/published.rs"]
mod published;

use client::{Client, call, served};
use kdna_broker::mcp::{Ending, ToolNames};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

/// The recorded list.
const RECORDED_LIST: &str = r#"{"jsonrpc":"2.0","id":"abc","result":{"tools":[{"name":"kdna.workspace-status","description":"Show only the approved attachments for the current workspace; never scan globally.","inputSchema":{"type":"object","additionalProperties":false,"required":["cwd"],"properties":{"cwd":{"type":"string","minLength":1,"maxLength":4096}}}},{"name":"kdna.workspace-resolve","description":"Resolve one task against approved attachments, including a receipt-bound one-task user selection.","inputSchema":{"type":"object","additionalProperties":false,"required":["cwd","task"],"properties":{"cwd":{"type":"string","minLength":1,"maxLength":4096},"task":{"type":"string","minLength":1,"maxLength":65536},"selection":{"type":"object","additionalProperties":false,"required":["attachment_id","task_digest","approved"],"properties":{"attachment_id":{"type":"string","pattern":"^att_[0-9a-f]{24}$"},"task_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"plan_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"approved":{"const":true}}}}}},{"name":"kdna.workspace-load","description":"Resolve, plan, authorize, and load one approved workspace attachment, including a receipt-bound one-task user selection.","inputSchema":{"type":"object","additionalProperties":false,"required":["cwd","task"],"properties":{"cwd":{"type":"string","minLength":1,"maxLength":4096},"task":{"type":"string","minLength":1,"maxLength":65536},"selection":{"type":"object","additionalProperties":false,"required":["attachment_id","task_digest","approved"],"properties":{"attachment_id":{"type":"string","pattern":"^att_[0-9a-f]{24}$"},"task_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"plan_digest":{"type":"string","pattern":"^sha256:[0-9a-f]{64}$"},"approved":{"const":true}}},"profile":{"type":"string","enum":["index","compact","scenario","full"]}}}}]}}"#;

fn code(reply: &Value) -> i64 {
    reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {reply}"))
}

fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap()
}

fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#)
}

// --- handshake

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
fn ping_works_before_the_handshake_and_discovery_is_a_method_not_found() {
    let mut client = Client::start();
    assert_eq!(client.ask(PING), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    for method in ["server/discover", "resources/list", "logging/setLevel", "nope"] {
        assert_eq!(code(&client.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#))), -32601);
    }
    assert_eq!(client.ask(PING)["id"], "p");
}

// --- framing

#[test]
fn every_line_end_is_understood_and_only_line_feeds_are_written() {
    let input = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}\r\n\n  \t\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nope\"}\r{\"jsonrpc\":\"2.0\",\"id\":\"a\u{2028}b\",\"method\":\"nope\"}";
    let replies = served(input.as_bytes());
    let ids: Vec<_> = replies.iter().map(|reply| reply["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2), json!("a\u{2028}b")]);
    assert!(replies.iter().all(|reply| code(reply) == -32601));
}

#[test]
fn malformed_json_and_invalid_utf8_get_a_parse_error_and_the_session_goes_on() {
    let mut client = Client::start();
    for bad in [
        &b"{\n"[..],
        b"hello\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}\n",
        b"\xef\xbb\xbf{}\n",
        b"{}x\n",
    ] {
        client.bytes(bad);
        assert_eq!(client.next(), json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}));
        assert_eq!(client.ask(PING)["id"], "p");
    }
}

#[test]
fn a_line_over_one_mebibyte_is_answered_once_and_one_of_exactly_that_size_is_served() {
    let mut client = Client::start();
    let ping =
        |size: usize| format!(r#"{{"jsonrpc":"2.0","id":"p","method":"ping"{}}}"#, " ".repeat(size - PING.len()));
    assert_eq!(client.ask(&ping(1_048_576))["id"], "p");
    assert_eq!(code(&client.ask(&ping(1_048_577))), -32700);
    for _ in 0..64 {
        client.bytes(&vec![b'x'; 1_048_576]);
    }
    client.line("");
    assert_eq!(code(&client.next()), -32700);
    client.assert_silent();
}

#[test]
fn lines_of_every_usual_buffer_size_pass_whole() {
    let mut client = Client::start();
    for size in [4096, 16_384, 65_535, 65_536, 65_537, 131_072, 900_000] {
        let id = "i".repeat(size);
        assert_eq!(client.ask(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#))["id"], id);
    }
}

#[test]
fn a_storm_of_malformed_lines_is_answered_a_hundred_times_and_the_next_message_is_served() {
    let mut input = "x\n".repeat(5000);
    input.push_str(PING);
    let replies = served(input.as_bytes());
    assert_eq!(replies.len(), 101);
    assert!(replies[..100].iter().all(|reply| code(reply) == -32700 && reply["id"].is_null()));
    assert_eq!(replies[100]["id"], "p");
    // A message that can be read ends the row.
    let mut client = Client::start();
    for _ in 0..3 {
        client.bytes(b"x\n".repeat(100).as_slice());
        assert!((0..100).all(|_| code(&client.next()) == -32700));
        client.assert_silent();
    }
}

#[test]
fn deep_nesting_surrogates_and_huge_numbers_in_arguments_keep_the_id() {
    let mut client = Client::start();
    let deep = format!("{}{}", "[".repeat(400_000), "]".repeat(400_000));
    for value in [deep.as_str(), "1e999", "\"\\ud800\"", "{\"a\":1,\"a\":1}"] {
        let reply = client.ask(&call("\"mine\"", "kdna.workspace-status", &format!(r#"{{"cwd":{value}}}"#)));
        assert_eq!((&reply["id"], code(&reply)), (&json!("mine"), -32602));
    }
    assert!(client.log.lines().iter().all(|line| !line.starts_with("start")));
}

// --- ids, requests, notifications

#[test]
fn ids_are_echoed_exactly_as_they_were_written() {
    let mut client = Client::start();
    for id in ["0", "-1", "12345678901234567890123", r#""""#, r#""\u0061\/""#, r#""é""#, r#""\ud800""#] {
        client.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!(client.next_bytes(), format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").as_bytes());
        client.status(id, "/ok");
        assert!(client.next_bytes().starts_with(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":").as_bytes()));
    }
    for id in ["null", "1.5", "1.0", "true", "[1]", "{}"] {
        let reply = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        assert_eq!((&reply["id"], code(&reply)), (&Value::Null, -32600), "{id}");
    }
}

#[test]
fn an_invalid_request_gets_its_own_id_back() {
    let mut client = Client::start();
    for rest in [
        r#""method":"ping""#,
        r#""jsonrpc":"1.0","method":"ping""#,
        r#""jsonrpc":"2.0","method":5"#,
        r#""jsonrpc":"2.0""#,
        r#""jsonrpc":"2.0","method":"ping","method":"ping""#,
    ] {
        let reply = client.ask(&format!(r#"{{"id":"mine",{rest}}}"#));
        assert_eq!((&reply["id"], code(&reply)), (&json!("mine"), -32600), "{rest}");
    }
    let reply = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":2}"#);
    assert_eq!((&reply["id"], code(&reply)), (&Value::Null, -32600));
}

#[test]
fn no_notification_and_no_stray_answer_is_ever_answered() {
    let mut client = Client::start();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"kdna.workspace-status","arguments":{"cwd":"/ok"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/unknown","params":null}"#,
        r#"{"method":"x"}"#,
        r#"{"jsonrpc":"2.0","method":"x","params":[],"params":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        &cancel("99"),
        &cancel("null"),
    ] {
        client.line(line);
    }
    client.assert_silent();
    assert!(!client.log.holds("start status /ok"));
}

#[test]
fn wrong_params_are_refused_before_any_operation_runs() {
    let mut client = Client::start();
    for params in [
        "null",
        "[]",
        "\"x\"",
        "{}",
        r#"{"name":7}"#,
        r#"{"name":"kdna.unknown","arguments":{"cwd":"/ok"}}"#,
        r#"{"name":"kdna_workspace_status","arguments":{"cwd":"/ok"}}"#,
        r#"{"name":"kdna.workspace-status"}"#,
        r#"{"name":"kdna.workspace-status","arguments":null}"#,
        r#"{"name":"kdna.workspace-status","arguments":[]}"#,
        r#"{"name":"kdna.workspace-status","arguments":{"cwd":"/ok"},"arguments":{"cwd":"/ok"}}"#,
        r#"{"name":"kdna.workspace-status","arguments":{"cwd":"/ok","task":"t"}}"#,
    ] {
        let reply = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#));
        assert_eq!(
            reply,
            json!({"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"Invalid params"}}),
            "{params}"
        );
    }
    assert_eq!(code(&client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call"}"#)), -32602);
    assert_eq!(code(&client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":null}"#)), -32602);
    assert!(client.log.lines().iter().all(|line| !line.starts_with("start")));
    // Members of params beside name and arguments are the protocol's own and may come.
    let reply = client.ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":0},"name":"kdna.workspace-status","arguments":{"cwd":"/ok"}}}"#);
    assert!(reply["result"]["isError"].is_null());
}

// --- tools

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
                json!({"kdna-broker/enforcement": {"landlock": 4, "seccomp": true, "sealed": true}})
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

// --- order, overtaking, cancellation

#[test]
fn each_result_is_written_before_the_next_call_starts() {
    let mut input = String::new();
    for id in 0..20 {
        input.push_str(&call(&id.to_string(), "kdna.workspace-load", &format!(r#"{{"cwd":"/{id}","task":"t"}}"#)));
        input.push('\n');
    }
    let mut client = Client::start();
    client.bytes(input.as_bytes());
    let log = client.log.clone();
    let (replies, _) = client.finish();
    assert_eq!(replies.len(), 20);
    let expected: Vec<_> =
        (0..20).flat_map(|id| [format!("start load-compact /{id}"), format!("write {id}")]).collect();
    assert_eq!(log.lines(), expected);
}

#[test]
fn ping_list_and_handshake_overtake_a_running_load_and_calls_do_not() {
    let mut client = Client::start();
    client.load("1", "/hold");
    client.status("2", "/ok");
    client.call("3", "kdna.unknown", "{}");
    client.log.wait_for("start load-compact /hold");
    assert_eq!(client.ask(PING)["id"], "p");
    assert_eq!(client.ask(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#)["id"], "l");
    assert_eq!(client.initialize("2025-06-18")["id"], "init");
    assert!(!client.log.holds("start status /ok"));
    client.operations.released.store(true, Ordering::SeqCst);
    let first = client.next();
    assert_eq!(first["id"], 1);
    assert!(first["result"]["structuredContent"].is_null(), "served as when it came");
    assert_eq!((client.next()["id"].clone(), client.next()["id"].clone()), (json!(2), json!(3)));
}

#[test]
fn a_cancelled_call_is_told_and_never_answered() {
    for cwd in ["/hold", "/deaf"] {
        let mut client = Client::start();
        client.load("\"\\u0061\"", cwd);
        client.log.wait_for(&format!("start load-compact {cwd}"));
        client.line(&cancel("\"a\""));
        client.log.wait_for(&format!("cancelled load-compact {cwd}"));
        client.status("2", "/ok");
        assert_eq!(client.next()["id"], 2, "only the next call is answered");
        client.assert_silent();
    }
}

#[test]
fn a_waiting_call_can_be_cancelled_and_then_never_starts() {
    let mut client = Client::start();
    client.load("1", "/hold");
    client.status("2", "/never");
    client.status("3", "/ok");
    client.line(&cancel("2"));
    client.line(&cancel("4"));
    client.line(&cancel("\"3\""));
    assert_eq!(client.ask(PING)["id"], "p");
    client.operations.released.store(true, Ordering::SeqCst);
    assert_eq!((client.next()["id"].clone(), client.next()["id"].clone()), (json!(1), json!(3)));
    assert!(!client.log.holds("start status /never"));
    // What was answered cannot be cancelled any more, and its id may be used again.
    client.line(&cancel("3"));
    client.status("3", "/ok");
    assert_eq!(client.next()["id"], 3);
}

#[test]
fn more_calls_than_may_wait_are_all_served_in_order() {
    let mut client = Client::start();
    let mut input = String::new();
    for id in 0..3000 {
        let _ = writeln!(input, "{}", call(&id.to_string(), "kdna.workspace-status", r#"{"cwd":"/ok"}"#));
    }
    client.bytes(input.as_bytes());
    let (replies, ending) = client.finish();
    assert_eq!(ending, Ending::InputEnded);
    assert!(replies.iter().enumerate().all(|(at, reply)| reply["id"] == at) && replies.len() == 3000);
}

// --- lists of messages

#[test]
fn a_list_of_messages_is_one_invalid_request_except_under_2025_03_26() {
    for revision in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Client::handshaken(revision);
        let reply = client.ask(&format!("[{PING},{PING}]"));
        assert_eq!((&reply["id"], code(&reply)), (&Value::Null, -32600));
        client.assert_silent();
    }
    assert_eq!(code(&Client::start().ask(&format!("[{PING}]"))), -32600);
}

#[test]
fn under_2025_03_26_a_list_is_answered_by_one_list_in_its_order() {
    let mut client = Client::handshaken("2025-03-26");
    let load = |id: &str| call(id, "kdna.workspace-load", r#"{"cwd":"/ok","task":"t"}"#);
    let status = call("4", "kdna.workspace-status", r#"{"cwd":"/ok"}"#);
    let list = [
        PING,
        r#"{"jsonrpc":"2.0","method":"x"}"#,
        &load("2"),
        "7",
        r#"{"jsonrpc":"2.0","id":3,"method":"initialize"}"#,
        &status,
        &load("5"),
    ];
    let replies = client.ask(&format!("[{}]", list.join(",")));
    let ids: Vec<_> = replies.as_array().unwrap().iter().map(|reply| reply["id"].clone()).collect();
    assert_eq!(ids, [json!("p"), json!(2), Value::Null, json!(3), json!(4), json!(5)]);
    assert!(replies[1]["result"]["content"].is_array() && replies[4]["result"]["content"].is_array());
    assert_eq!((code(&replies[2]), code(&replies[3]), code(&replies[5])), (-32600, -32600, -32600));
    // The delivery comes last, so that nothing stands between it and its writing.
    assert_eq!(client.log.lines()[1..], ["start status /ok", "start load-compact /ok", "write null"]);
    client.line(r#"[{"jsonrpc":"2.0","method":"x"}]"#);
    client.assert_silent();
    for refused in ["[]".to_owned(), format!("[{}]", vec![PING; 257].join(","))] {
        assert_eq!(code(&client.ask(&refused)), -32600);
    }
    assert!(client.ask(&format!("[[{PING}]]"))[0]["error"].is_object());
}

#[test]
fn a_cancelled_message_of_a_list_is_left_out() {
    let mut client = Client::handshaken("2025-03-26");
    let load = call("2", "kdna.workspace-load", r#"{"cwd":"/deaf","task":"t"}"#);
    client.line(&format!("[{PING},{load}]"));
    client.log.wait_for("start load-compact /deaf");
    client.line(&cancel("2"));
    assert_eq!(client.next(), json!([{"jsonrpc": "2.0", "id": "p", "result": {}}]));
    client.assert_silent();
}

// --- endings

#[test]
fn fifty_requests_and_the_end_of_input_are_all_answered() {
    let mut input = String::new();
    for id in 0..50 {
        let _ = writeln!(input, "{}", call(&id.to_string(), "kdna.workspace-load", r#"{"cwd":"/ok","task":"t"}"#));
    }
    let replies = served(input.trim_end().as_bytes());
    assert!(replies.iter().enumerate().all(|(at, reply)| reply["id"] == at) && replies.len() == 50);
}

#[test]
fn a_load_that_runs_at_the_end_of_input_is_still_answered() {
    let mut client = Client::start();
    client.load("1", "/hold");
    client.log.wait_for("start load-compact /hold");
    client.close_input();
    client.operations.released.store(true, Ordering::SeqCst);
    let (replies, ending) = client.finish();
    assert_eq!((replies.len(), replies[0]["id"].clone(), ending), (1, json!(1), Ending::InputEnded));
    assert_eq!(ending.exit_code(), 0);
}

#[test]
fn nothing_at_all_is_a_session_too() {
    assert!(served(b"").is_empty() && served(b"\n\r\n").is_empty() && served(b"\xef\xbb\xbf").is_empty());
}

#[test]
fn a_client_that_closes_its_output_ends_the_session_and_cancels_what_runs() {
    let (operations, ending) = client::without_reader(&[
        call("1", "kdna.workspace-load", r#"{"cwd":"/hold","task":"t"}"#),
        call("2", "kdna.workspace-status", r#"{"cwd":"/never"}"#),
    ]);
    assert_eq!((ending, ending.exit_code()), (Ending::OutputClosed, 0));
    assert!(operations.log.holds("cancelled load-compact /hold"));
    assert!(!operations.log.holds("start status /never"));
}

#[test]
fn an_output_or_input_that_fails_ends_the_session_with_a_failure() {
    assert_eq!(client::with_failing_output(), Ending::Failed);
    assert_eq!(client::with_failing_input(), Ending::Failed);
    assert_eq!(Ending::Failed.exit_code(), 1);
}

// --- against what is published and recorded

fn shared(path: &str) -> Option<Vec<u8>> {
    let Ok(folder) = std::env::var("KDNA_SHARED") else {
        println!("skipped: KDNA_SHARED is not set");
        return None;
    };
    Some(std::fs::read(format!("{folder}/{path}")).unwrap())
}

#[test]
fn every_message_of_every_revision_is_valid_by_its_published_schema() {
    for revision in REVISIONS {
        let Some(bytes) = shared(&format!("spec/mcp-schemas/{revision}.json")) else { return };
        let schema: Value = serde_json::from_slice(&bytes).unwrap();
        let (error, success) = if revision == "2025-11-25" {
            ("JSONRPCErrorResponse", "JSONRPCResultResponse")
        } else {
            ("JSONRPCError", "JSONRPCResponse")
        };
        let assert_valid =
            |name: &str, value: &Value| assert_eq!(published::fault(&schema, name, value), None, "{revision}: {value}");
        let mut client = Client::start();
        let reply = client.initialize(revision);
        assert_valid(success, &reply);
        assert_valid("InitializeResult", &reply["result"]);
        let reply = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
        assert_valid(success, &reply);
        assert_valid("ListToolsResult", &reply["result"]);
        for cwd in ["/ok", "/refuse"] {
            client.load("\"x\"", cwd);
            let reply = client.next();
            assert_valid(success, &reply);
            assert_valid("CallToolResult", &reply["result"]);
        }
        assert_valid("EmptyResult", &client.ask(PING)["result"]);
        assert_valid(error, &client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#));
        assert!(published::fault(&schema, "CallToolResult", &json!({"content": 1})).is_some(), "the validator bites");
    }
}

#[test]
fn the_recorded_sessions_are_answered_as_recorded_but_for_the_listed_deviations() {
    for case in [
        "mcp-rpc-crlf",
        "mcp-rpc-no-final-newline",
        "mcp-rpc-u2028",
        "mcp-rpc-badutf8",
        "mcp-tools-list",
        "mcp-notification",
        "mcp-invalid-params",
        "mcp-initialize",
        "mcp-err-surrogate",
    ] {
        let (Some(input), Some(recorded)) =
            (shared(&format!("golden/cases/{case}/stdin")), shared(&format!("golden/cases/{case}/stdout")))
        else {
            return;
        };
        let recorded = String::from_utf8(recorded).unwrap();
        let mut expected: Vec<Value> = recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        match case {
            // Invalid UTF-8 is refused, not replaced.
            "mcp-rpc-badutf8" => {
                expected[0] = json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}})
            }
            // Ping is served.
            "mcp-notification" => expected[0] = json!({"jsonrpc":"2.0","id":1,"result":{}}),
            // `arguments: null` is a wrong argument, not an internal error, and is answered in its turn.
            "mcp-invalid-params" => {
                let mut last = expected.pop().unwrap();
                last["error"] = json!({"code":-32602,"message":"Invalid params"});
                expected.insert(16, last);
            }
            // The version asked for is served, and the name is this product's.
            "mcp-initialize" => {
                expected[0]["result"]["protocolVersion"] = json!("2025-06-18");
                expected[0]["result"]["serverInfo"] = json!({"name":"kdna-broker","version":"9.8.7"});
            }
            // Text is compact.
            "mcp-err-surrogate" => {
                let compact = serde_json::from_str::<Value>(text(&expected[0])).unwrap().to_string();
                expected[0]["result"]["content"][0]["text"] = json!(compact);
            }
            _ => {}
        }
        assert_eq!(served(&input), expected, "{case}");
    }
}
