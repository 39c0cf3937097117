//! Against the published schemas and the recorded sessions.

use crate::client::*;
use crate::published;
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
