//! Revision 2026-07-28: no handshake, each request names its revision in `_meta`. Requests of both kinds in one process.

use crate::client::*;
use kdna_broker::mcp::ToolNames;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(crate) const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
pub(crate) const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
const ALL_METHODS: [&str; 8] = [
    "server/discover",
    "tools/list",
    "tools/call",
    "ping",
    "initialize",
    "logging/setLevel",
    "resources/list",
    "subscriptions/listen",
];

/// The `_meta` of a whole request, as clients write it.
pub(crate) fn meta() -> String {
    format!(r#"{{{VERSION},"io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}},{CAPABILITIES}}}"#)
}

/// A request with this `_meta` and these further members of its params.
pub(crate) fn request(id: &str, method: &str, meta: &str, more: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{meta}{more}}}}}"#)
}

pub(crate) fn tool(id: &str, tool: &str, arguments: &str) -> String {
    request(id, "tools/call", &meta(), &format!(r#","name":"kdna.workspace-{tool}","arguments":{arguments}"#))
}

fn status(id: &str) -> String {
    tool(id, "status", r#"{"cwd":"/ok"}"#)
}

/// Whether anything in a reply is of the stateless revision alone.
pub(crate) fn is_stateless(reply: &Value) -> bool {
    let text = reply.to_string();
    ["resultType", "ttlMs", "cacheScope", "io.modelcontextprotocol"].iter().any(|word| text.contains(word))
}

fn server() -> Value {
    json!({"name": "kdna-broker", "version": "9.8.7"})
}

pub(crate) fn calls_begun(client: &Client) -> usize {
    client.log.lines().iter().filter(|line| line.starts_with("start")).count()
}

#[test]
fn discover_then_list_then_call_needs_no_handshake() {
    let mut client = Client::start();
    let named = json!({"io.modelcontextprotocol/serverInfo": server()});
    let reply = client.ask(&request("1", "server/discover", &meta(), ""));
    assert_eq!(
        reply,
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 300_000, "cacheScope": "private", "_meta": named,
        }})
    );
    let list = client.ask(&request("2", "tools/list", &meta(), ""))["result"].clone();
    assert_eq!((&list["resultType"], &list["_meta"]), (&json!("complete"), &named));
    assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(300_000), &json!("private")));
    let newest = Client::handshaken("2025-11-25").ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert_eq!(list["tools"], newest["result"]["tools"], "the tools are the same");
    let result = client.ask(&status("3"))["result"].clone();
    let document = r#"{"document_type":"status","cwd":"/ok","filler":""}"#;
    assert_eq!(
        result,
        json!({
            "resultType": "complete", "content": [{"type": "text", "text": document}],
            "structuredContent": serde_json::from_str::<Value>(document).unwrap(),
            "_meta": {
                "io.modelcontextprotocol/serverInfo": server(),
                "kdna-broker/enforcement": {"landlock": 4, "seccomp": true, "sealed": true, "pin": "embedded"},
            },
        })
    );
}

#[test]
fn every_result_begins_with_its_type_and_the_list_is_constant_byte_for_byte() {
    let listed = |client: &mut Client, meta: &str| {
        client.line(&request("\"l\"", "tools/list", meta, ""));
        client.next_bytes()
    };
    let mut client = Client::start();
    let first = listed(&mut client, &meta());
    assert!(first.starts_with(br#"{"jsonrpc":"2.0","id":"l","result":{"resultType":"complete","tools":[{"name":"#));
    client.initialize("2025-03-26");
    let other = format!(r#"{{{CAPABILITIES},"progressToken":0,{VERSION},"x":[1e999,"\ud800"]}}"#);
    assert!([listed(&mut client, &other), listed(&mut Client::start(), &meta())].iter().all(|list| *list == first));
    for line in [status("4"), tool("4", "load", r#"{"cwd":"/refuse","task":"t"}"#)] {
        client.line(&line);
        let start = br#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","content":[{"type":"text","text":""#;
        assert!(client.next_bytes().starts_with(start));
    }
}

#[test]
fn both_kinds_of_request_in_one_process_are_each_answered_in_their_own() {
    for revision in [None, Some("2024-11-05"), Some("2025-03-26"), Some("2025-06-18"), Some("2025-11-25")] {
        let mut client = Client::start();
        let mut alone = Client::start();
        if let Some(revision) = revision {
            assert!(is_stateless(&client.ask(&request("9", "tools/list", &meta(), ""))), "before it too");
            assert!(!is_stateless(&client.initialize(revision)));
            alone.initialize(revision);
        }
        let by_handshake = [
            PING.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":0}}}"#.to_owned(),
            call("2", "kdna.workspace-status", r#"{"cwd":"/ok"}"#),
            call("3", "kdna.workspace-load", r#"{"cwd":"/refuse","task":"t"}"#),
            call("4", "kdna.workspace-status", "[]"),
            call("5", "kdna.unknown", "{}"),
        ];
        for (at, line) in by_handshake.iter().enumerate() {
            let reply = client.ask(&status(&at.to_string()));
            assert!(is_stateless(&reply) && reply["result"]["structuredContent"].is_object(), "{reply}");
            client.line(line);
            alone.line(line);
            let reply = client.next_bytes();
            assert_eq!(reply, alone.next_bytes(), "as without the others, {revision:?}: {line}");
            assert!(!is_stateless(&serde_json::from_slice(&reply).unwrap()), "{revision:?}: {line}");
            let reply = client.ask(&tool("1", "status", "[]"));
            assert!(is_stateless(&reply) && text(&reply).contains("arguments_invalid"), "{reply}");
        }
    }
}

#[test]
fn a_handshake_that_asks_for_the_stateless_revision_gets_the_newest_that_has_one() {
    let mut client = Client::start();
    let reply = client.initialize("2026-07-28");
    assert_eq!(reply["result"]["protocolVersion"], "2025-11-25");
    assert!(!is_stateless(&reply) && !is_stateless(&client.ask(PING)));
    client.status("1", "/ok");
    let reply = client.next();
    assert!(reply["result"]["structuredContent"].is_object() && !is_stateless(&reply));
}

#[test]
fn an_unknown_version_is_told_which_one_is_served_and_nothing_runs() {
    let mut client = Client::start();
    let (longest, long) = ("9".repeat(64), "9".repeat(65));
    for (asked, requested) in [
        ("2027-01-01", "2027-01-01"),
        ("2025-11-25", "2025-11-25"),
        ("", ""),
        (r#"\"a\\"#, "\"a\\"),
        (&longest, &longest),
        (&long, ""),
        (r"a\u0007b", ""),
        ("\u{202e}2026", ""),
        (r"\ud800", ""),
    ] {
        for capabilities in [format!(",{CAPABILITIES}"), String::new()] {
            let meta = format!(r#"{{"io.modelcontextprotocol/protocolVersion":"{asked}"{capabilities}}}"#);
            for method in ALL_METHODS {
                let more = r#","name":"kdna.workspace-status","arguments":{"cwd":"/ok"}"#;
                assert_eq!(
                    client.ask(&request("\"v\"", method, &meta, more)),
                    json!({"jsonrpc": "2.0", "id": "v", "error": {
                        "code": -32022, "message": "Unsupported protocol version",
                        "data": {"supported": ["2026-07-28"], "requested": requested},
                    }}),
                    "{method} {asked}"
                );
            }
        }
    }
    assert_eq!(calls_begun(&client), 0);
    client.assert_silent();
}

#[test]
fn without_its_capabilities_or_its_version_no_call_is_run() {
    let mut client = Client::start();
    for meta in [
        format!("{{{VERSION}}}"),
        format!("{{{CAPABILITIES}}}"),
        format!(r#"{{{VERSION},"io.modelcontextprotocol/clientCapabilities":null}}"#),
        format!(r#"{{{VERSION},"io.modelcontextprotocol/clientCapabilities":[]}}"#),
        format!(r#"{{"io.modelcontextprotocol/protocolVersion":20260728,{CAPABILITIES}}}"#),
        format!("{{{VERSION},{CAPABILITIES},{VERSION}}}"),
        format!(r#"{{{VERSION},{CAPABILITIES},"x":1,"\u0078":2}}"#),
    ] {
        for method in ALL_METHODS {
            let more = r#","name":"kdna.workspace-load","arguments":{"cwd":"/ok","task":"t"}"#;
            let refused = json!({"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid params"}});
            assert_eq!(client.ask(&request("7", method, &meta, more)), refused, "{method} {meta}");
        }
    }
    // Neither is there, so the handshake decides: except for the method that is of no other revision.
    let nothing = ["", r#","params":{}"#, r#","params":{"_meta":{}}"#, r#","params":null"#];
    for params in nothing.into_iter().chain([r#","params":{"_meta":null}"#, r#","params":{"_meta":"2026-07-28"}"#]) {
        let reply = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":7,"method":"server/discover"{params}}}"#));
        assert_eq!(code(&reply), -32602, "{params}");
    }
    let twice =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{0},"_meta":{0}}}}}"#, meta());
    assert_eq!(code(&client.ask(&twice)), -32602);
    assert_eq!(calls_begun(&client), 0);
    client.assert_silent();
}

#[test]
fn what_the_revision_removed_is_a_method_not_found_and_leaves_the_handshake_as_it_was() {
    let mut client = Client::handshaken("2024-11-05");
    let more = r#","protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}"#;
    for method in &ALL_METHODS[3..] {
        assert_eq!(code(&client.ask(&request("1", method, &meta(), more))), -32601, "{method}");
    }
    client.status("2", "/ok");
    assert!(client.next()["result"]["structuredContent"].is_null(), "still 2024-11-05");
    assert_eq!(client.ask(PING)["result"], json!({}));
}

#[test]
fn nothing_that_a_client_says_of_itself_is_quoted_or_changes_an_answer() {
    let plain = Client::start().ask(&status("1"));
    for extra in [
        r#""io.modelcontextprotocol/clientInfo":"canary-7""#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"canary-7","version":"canary-7"}"#,
        r#""io.modelcontextprotocol/logLevel":"debug""#,
        r#""progressToken":"canary-7""#,
        r#""kdna-broker/enforcement":{"sealed":false},"canary-7":1"#,
    ] {
        let mut client = Client::start();
        let meta = format!(
            r#"{{{VERSION},"io.modelcontextprotocol/clientCapabilities":{{"canary-7":{{"a":1,"a":2}}}},{extra}}}"#
        );
        let more = r#","name":"kdna.workspace-status","arguments":{"cwd":"/ok"},"requestState":"canary-7""#;
        assert_eq!(client.ask(&request("1", "tools/call", &meta, more)), plain, "{extra}");
        for method in ALL_METHODS {
            let reply = client.ask(&request("1", method, &meta, "")).to_string();
            assert!(!reply.contains("canary-7"), "{method} {extra}");
        }
        client.assert_silent();
    }
}

#[test]
fn wrong_arguments_are_a_tool_error_and_wrong_params_a_protocol_error() {
    let mut client = Client::with(ToolNames::Portable);
    let asked = |name: &str, rest: &str| request("1", "tools/call", &meta(), &format!(r#","name":{name}{rest}"#));
    for rest in ["", r#","arguments":null"#, r#","arguments":[]"#, r#","arguments":{"cwd":"/ok","x":1}"#] {
        let result = client.ask(&asked("\"kdna_workspace_status\"", rest))["result"].clone();
        assert_eq!((&result["isError"], &result["resultType"]), (&json!(true), &json!("complete")));
        assert!(result["structuredContent"].is_null());
        assert_eq!(result["_meta"]["kdna-broker/stage"], "arguments");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"], server());
    }
    for name in ["7", "null", "\"kdna.workspace-status\"", "\"nope\"", r#""kdna_workspace_status","name":"x""#] {
        let reply = client.ask(&asked(name, r#","arguments":{"cwd":"/ok"}"#));
        assert_eq!((code(&reply), is_stateless(&reply)), (-32602, false), "{name}");
    }
    assert_eq!(calls_begun(&client), 0);
}

#[test]
fn a_list_of_messages_never_holds_a_stateless_request() {
    let mut client = Client::handshaken("2025-03-26");
    let load = tool("1", "load", r#"{"cwd":"/ok","task":"t"}"#);
    let mine = call("2", "kdna.workspace-load", r#"{"cwd":"/mine","task":"t"}"#);
    let replies = client.ask(&format!("[{load},{},{mine},{PING}]", request("3", "server/discover", &meta(), "")));
    assert_eq!((code(&replies[0]), code(&replies[1])), (-32600, -32600));
    assert!(replies[2]["result"]["content"].is_array() && replies[3]["result"].is_object() && !is_stateless(&replies));
    assert_eq!(client.log.lines()[1..], ["start load-compact /mine", "write null"], "and takes no place of another");
    let mut client = Client::start();
    assert_eq!(code(&client.ask(&format!("[{}]", status("1")))), -32600);
    assert_eq!(calls_begun(&client), 0);
}

#[test]
fn order_and_cancellation_are_the_same() {
    let mut client = Client::start();
    client.line(&tool("1", "load", r#"{"cwd":"/hold","task":"t"}"#));
    client.line(&tool("2", "status", r#"{"cwd":"/never"}"#));
    client.line(&request("3", "tools/call", &meta(), r#","name":"nope""#));
    client.line(&status("4"));
    client.log.wait_for("start load-compact /hold");
    assert_eq!(client.ask(&request("\"d\"", "server/discover", &meta(), ""))["id"], "d");
    assert_eq!(client.ask(&request("\"l\"", "tools/list", &meta(), ""))["id"], "l");
    client.line(&cancel("2"));
    let with_meta = format!(r#"{{"requestId":1,"_meta":{}}}"#, meta());
    client.line(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{with_meta}}}"#));
    client.log.wait_for("cancelled load-compact /hold");
    assert_eq!((client.next()["id"].clone(), client.next()["id"].clone()), (json!(3), json!(4)));
    client.assert_silent();
    assert!(!client.log.holds("start status /never"));
}

#[test]
fn a_load_of_a_stateless_request_is_written_exactly_as_it_came_back() {
    let mut client = Client::start();
    client.line(&tool("1", "load", r#"{"cwd":"/ok","task":"t"}"#));
    assert!(client.next_bytes().ends_with(b"}   \n"), "the bytes of the operation, not a second rendering");
    client.assert_silent();
    let writes: Vec<_> = client.log.lines().into_iter().filter(|line| !line.starts_with("start")).collect();
    assert_eq!(writes, ["write 1", "write \"silent?\""]);
}

#[test]
fn fifty_stateless_requests_and_the_end_of_input_are_all_answered() {
    let mut input = String::new();
    for id in 0..50 {
        let _ = writeln!(input, "{}", status(&id.to_string()));
    }
    let replies = served(input.trim_end().as_bytes());
    assert!(replies.iter().enumerate().all(|(at, reply)| reply["id"] == at && is_stateless(reply)));
    assert_eq!(replies.len(), 50);
}

#[test]
fn what_would_be_too_large_becomes_a_tool_error_of_the_same_revision() {
    let mut client = Client::start();
    let reply = client.ask(&tool("1", "status", r#"{"cwd":"/size:1398102"}"#));
    assert!(text(&reply).contains("result_too_large") && is_stateless(&reply));
    assert!(reply["result"]["structuredContent"].is_null());
}
