//! What overtakes and what does not, cancellation, lists of messages, and how a session ends.

use crate::client::*;
use kdna_broker::mcp::Ending;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

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
    let (operations, ending) = without_reader(&[
        call("1", "kdna.workspace-load", r#"{"cwd":"/hold","task":"t"}"#),
        call("2", "kdna.workspace-status", r#"{"cwd":"/never"}"#),
    ]);
    assert_eq!((ending, ending.exit_code()), (Ending::OutputClosed, 0));
    assert!(operations.log.holds("cancelled load-compact /hold"));
    assert!(!operations.log.holds("start status /never"));
}

#[test]
fn an_output_or_input_that_fails_ends_the_session_with_a_failure() {
    assert_eq!(with_failing_output(), Ending::Failed);
    assert_eq!(with_failing_input(), Ending::Failed);
    assert_eq!(Ending::Failed.exit_code(), 1);
}
