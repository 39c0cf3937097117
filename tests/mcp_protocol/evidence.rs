//! Against the published schemas and the recorded sessions.

use crate::client::*;
use crate::published;
use crate::stateless::{CAPABILITIES, VERSION, meta, request, tool};
use serde_json::{Value, json};

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
fn every_message_without_a_handshake_is_valid_by_its_published_schema_and_so_is_what_was_asked() {
    let Some(bytes) = shared("spec/mcp-schemas/2026-07-28.json") else { return };
    let schema: Value = serde_json::from_slice(&bytes).unwrap();
    let assert_valid = |name: &str, value: &Value| assert_eq!(published::fault(&schema, name, value), None, "{value}");
    let mut client = Client::start();
    let mut asked = |kind: &str, line: String, answers: [&str; 2]| {
        assert_valid(kind, &serde_json::from_str(&line).unwrap());
        let reply = client.ask(&line);
        let part = match answers[1] {
            "UnsupportedProtocolVersionError" => &reply,
            _ if reply["result"].is_null() => &reply["error"],
            _ => &reply["result"],
        };
        assert_valid(answers[0], &reply);
        assert_valid(answers[1], part);
        reply
    };
    let result = ["JSONRPCResultResponse", "CallToolResult"];
    let error = |name| ["JSONRPCErrorResponse", name];
    asked(
        "DiscoverRequest",
        request("1", "server/discover", &meta(), ""),
        ["DiscoverResultResponse", "DiscoverResult"],
    );
    asked("ListToolsRequest", request("2", "tools/list", &meta(), ""), ["ListToolsResultResponse", "ListToolsResult"]);
    for name in ["status", "resolve", "load"] {
        let task = if name == "status" { "" } else { r#","task":"t""# };
        for (cwd, fails) in [("/ok", false), ("/refuse", true), ("", true)] {
            let line = tool("\"x\"", name, &format!(r#"{{"cwd":"{cwd}"{task}}}"#));
            let reply = asked("CallToolRequest", line, result);
            assert_eq!(reply["result"]["isError"] == true, fails, "{name} {cwd}");
        }
    }
    asked("CallToolRequest", tool("3", "nope", "{}"), error("InvalidParamsError"));
    asked("JSONRPCRequest", request("4", "ping", &meta(), ""), error("MethodNotFoundError"));
    asked("JSONRPCRequest", request("5", "tools/list", &format!("{{{VERSION}}}"), ""), error("InvalidParamsError"));
    asked("CallToolRequest", tool("6", "status", r#"{"cwd":"/panic"}"#), error("InternalError"));
    for version in ["2027-01-01".to_owned(), "9".repeat(65)] {
        let other = format!(r#"{{"io.modelcontextprotocol/protocolVersion":"{version}",{CAPABILITIES}}}"#);
        asked("ListToolsRequest", request("7", "tools/list", &other, ""), error("UnsupportedProtocolVersionError"));
    }
    for (name, wrong) in [
        ("CallToolResult", json!({"content": []})),
        ("DiscoverResult", json!({"resultType": "complete"})),
        ("UnsupportedProtocolVersionError", json!({"jsonrpc": "2.0", "error": {"code": -32022, "message": "m"}})),
    ] {
        assert!(published::fault(&schema, name, &wrong).is_some(), "the validator bites: {name}");
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
                expected[0] = json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}});
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
