//! `_meta` written in every wrong way, and with every byte changed: always one answer, under its id.

use crate::client::*;
use crate::stateless::{calls_begun, is_stateless, meta, request, tool};
use serde_json::{Value, json};

/// What is to be answered, said a second time and without the program's own parser.
fn expected(method: &str, meta: &Meta) -> &'static str {
    let discover = method == "server/discover";
    match (meta.version, meta.capabilities) {
        _ if !meta.sound => "-32602",
        ("", "") if !discover => match method {
            "ping" | "initialize" | "tools/list" | "tools/call" => "legacy",
            _ => "-32601",
        },
        ("\"2026-07-28\"", "{}" | r#"{"roots":{}}"#) => match method {
            "server/discover" | "tools/list" | "tools/call" => "stateless",
            _ => "-32601",
        },
        ("\"2026-07-28\"" | "" | "7" | "null" | "{}", _) => "-32602",
        _ => "-32022",
    }
}

/// One way to write `_meta`.
struct Meta {
    version: &'static str,
    capabilities: &'static str,
    sound: bool,
    text: String,
}

fn every_meta() -> Vec<Meta> {
    let mut all = Vec::new();
    for version in ["", "\"2026-07-28\"", "\"2025-06-18\"", "\"\"", r#""\u0000""#, "7", "null", "{}"] {
        for capabilities in ["", "{}", r#"{"roots":{}}"#, "null", "[]", "1", "\"{}\""] {
            for extra in ["", r#""progressToken":0"#, r#""a":{"b":[]}"#, r#""a":1,"a":1"#, r#""a":1,"\u0061":1"#] {
                let pair = |key: &str, value: &str| format!(r#""io.modelcontextprotocol/{key}":{value}"#);
                let parts = [
                    (!version.is_empty()).then(|| pair("protocolVersion", version)),
                    (!extra.is_empty()).then(|| extra.to_owned()),
                    (!capabilities.is_empty()).then(|| pair("clientCapabilities", capabilities)),
                ];
                let text = format!("{{{}}}", parts.into_iter().flatten().collect::<Vec<_>>().join(","));
                all.push(Meta { version, capabilities, sound: !extra.contains(":1,"), text });
            }
        }
    }
    for text in ["null", "[]", "1", "true", "\"x\"", "[{}]"] {
        // What is no object names nothing: the request is one of the handshake.
        all.push(Meta { version: "", capabilities: "", sound: true, text: text.to_owned() });
    }
    all
}

#[test]
fn every_way_to_write_meta_gets_one_answer_under_its_id_and_a_notification_none() {
    let mut client = Client::start();
    let more = r#","name":"kdna.workspace-status","arguments":{"cwd":"/ok"},"protocolVersion":"2025-11-25""#;
    let mut ran = 0;
    for (at, meta) in every_meta().iter().enumerate() {
        for method in ["server/discover", "tools/list", "tools/call", "ping", "initialize", "nope"] {
            let line = request(&at.to_string(), method, &meta.text, more);
            client.line(&line.replacen(&format!(r#""id":{at},"#), "", 1));
            let reply = client.ask(&line);
            let got = match (&reply["error"]["code"], is_stateless(&reply)) {
                (Value::Null, true) => "stateless".to_owned(),
                (Value::Null, false) => "legacy".to_owned(),
                (code, false) => code.to_string(),
                (code, true) => panic!("{code} with members of a result"),
            };
            assert_eq!((&reply["id"], got.as_str()), (&json!(at), expected(method, meta)), "{line}");
            ran += usize::from(method == "tools/call" && reply["error"].is_null());
        }
    }
    client.assert_silent();
    assert!(ran > 0 && calls_begun(&client) == ran, "what was refused, and what was told, never ran");
}

#[test]
fn a_request_with_any_byte_of_its_meta_changed_is_answered_exactly_once() {
    let mut client = Client::start();
    let (head, tail) = (
        r#"{"jsonrpc":"2.0","id":"f","method":"tools/call","params":{"_meta":"#,
        tool("1", "status", r#"{"cwd":"/ok"}"#),
    );
    let tail = tail.split_once(&meta()).unwrap().1.to_owned();
    let (mut ran, mut refused) = (0, 0);
    for at in 0..meta().len() {
        for byte in *b"{}[]\",:\\0x \x01\xff" {
            let mut changed = meta().into_bytes();
            changed[at] = byte;
            client.bytes(&[head.as_bytes(), &changed, tail.as_bytes(), b"\n"].concat());
            let reply = client.next();
            match (&reply["id"], reply["error"]["code"].as_i64()) {
                (Value::String(id), None) if id == "f" => ran += 1,
                (Value::String(id), Some(-32602 | -32600 | -32022)) if id == "f" => refused += 1,
                (Value::Null, Some(-32700)) => refused += 1,
                _ => panic!("{reply} to {}", String::from_utf8_lossy(&changed)),
            }
            // A message that can be read ends the row of errors without an id.
            assert_eq!(client.ask(PING)["result"], json!({}), "and nothing more was written");
        }
    }
    assert!(ran > 0 && refused > 0 && calls_begun(&client) == ran);
}
