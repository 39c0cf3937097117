//! Lines, ids, requests and notifications.

use crate::client::*;
use serde_json::{Value, json};

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
