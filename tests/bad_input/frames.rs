//! Lines that are no message, and messages that ask for nothing there is.

use crate::place::{Place, answers, report};
use crate::session::call;
use crate::support::documents::{at, parse};
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::value::Value;

/// A line, and the errors that answer it: id and number.
fn frames(place: &Place) -> Vec<(Vec<u8>, &'static str)> {
    let foreign = &place.foreign;
    let parse_error = "null -32700";
    let invalid = "null -32600";
    let mut rows: Vec<(Vec<u8>, &'static str)> = vec![
        ([b"{\"x\":\"".as_slice(), &[0x80, 0xff], b"\"}"].concat(), parse_error),
        ([foreign.as_bytes(), b"\0\0"].concat(), parse_error),
        (vec![b'x'; (1 << 20) + 1], parse_error),
        ([vec![b'"'; 1], vec![b'x'; 1 << 20]].concat(), parse_error),
        (vec![b'['; 300_000], parse_error),
        ("{\"a\":".repeat(100_000).into_bytes(), parse_error),
        (place.hostile().replace('\r', "").into_bytes(), parse_error),
    ];
    let text = [
        ("{".to_owned(), parse_error),
        ("{}{}".to_owned(), parse_error),
        (format!("{{{foreign}:1}}"), parse_error),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}{foreign}"#), parse_error),
        (format!(r#"{{"jsonrpc":"2.0","id":"{foreign}"#), parse_error),
        (format!("{{\"jsonrpc\":\"2.0\",\"id\":\"\u{1b}{foreign}\",\"method\":\"ping\"}}"), parse_error),
        ("[]".to_owned(), invalid),
        ("1".to_owned(), invalid),
        ("null".to_owned(), invalid),
        (format!("\"{foreign}\""), invalid),
        ("{}".to_owned(), invalid),
        (format!(r#"{{"{foreign}":1}}"#), invalid),
        (format!(r#"[{{"jsonrpc":"2.0","id":1,"method":"{foreign}"}}]"#), invalid),
        (format!(r#"{{"jsonrpc":"2.0","id":null,"method":"{foreign}"}}"#), invalid),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#.to_owned(), invalid),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_owned(), invalid),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.to_owned(), invalid),
        (format!(r#"{{"jsonrpc":"1.0","id":1,"method":"{foreign}"}}"#), "1 -32600"),
        (format!(r#"{{"id":1,"method":"{foreign}"}}"#), "1 -32600"),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), "1 -32600"),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":["{foreign}"]}}"#), "1 -32600"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#.to_owned(), "1 -32600"),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{foreign}"}}"#), "1 -32601"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#.to_owned(), "1 -32601"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#.to_owned(),
            "1 -32601",
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#.to_owned(), "1 -32602"),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["{foreign}"]}}"#), "1 -32602"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(), "1 -32602"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#.to_owned(), "1 -32602"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":null}}"#.to_owned(), "1 -32602"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\u001b"}}"#.to_owned(), "1 -32602"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#.to_owned(), "1 -32602"),
        (call(1, foreign, "{}"), "1 -32602"),
        (call(1, "kdna.workspace-load\\u0000", "{}"), "1 -32602"),
        (call(1, "../kdna.workspace-load", "{}"), "1 -32602"),
        (format!(r#"{{"jsonrpc":"2.0","method":"{foreign}"}}"#), ""),
        (format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{foreign}"}}}}"#), ""),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":"{foreign}"}}}}"#), ""),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":1,"message":"{foreign}"}}}}"#), ""),
        (String::new(), ""),
        (" \t ".to_owned(), ""),
    ];
    rows.extend(text.into_iter().map(|(line, expected)| (line.into_bytes(), expected)));
    rows
}

fn error(line: &str) -> String {
    let document = parse(line.as_bytes()).unwrap_or(Value::Null);
    let number = |pointer| at(&document, pointer).map(|value| write::compact(value).unwrap_or_default());
    format!("{} {}", number("/id").unwrap_or_default(), number("/error/code").unwrap_or_default())
}

#[test]
fn a_line_that_is_no_request_gets_the_error_of_the_protocol_and_is_not_repeated() {
    let place = Place::new();
    let mut server = place.session.start();
    let mut faults = Vec::new();
    for (line, expected) in frames(&place) {
        let shown = String::from_utf8_lossy(&line[..line.len().min(120)]).into_owned();
        let lines = answers(&mut server, &line);
        let given = lines.iter().map(|line| error(line)).collect::<Vec<_>>().join(", ");
        if given != expected {
            faults.push(format!("{shown:?}: {given:?}, expected {expected:?}"));
        }
        faults.extend(place.faults_of_reply(&lines.join("\n")).into_iter().map(|fault| format!("{shown:?}: {fault}")));
    }
    report(&faults);
    let finished = server.close();
    assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (b"".as_slice(), b"".as_slice()));
}
