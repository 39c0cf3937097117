//! The real server, asked in revision 2026-07-28: without any handshake a load passes the same checks and leaves the same
//! rows in the journal as one after a handshake.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::value::Value;
use std::fs;
use support::command::{Exit, Server};
use support::documents::parse;
use support::real::{Place, code, delivered, refused};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The same request, naming the revision for itself.
fn stateless(line: &str) -> String {
    line.replacen(r#""params":{"#, &format!(r#""params":{{{META},"#), 1)
}

fn without_handshake(place: &Place) -> Server {
    Server::start(place.command(&["mcp"]))
}

/// The rows of the journal from this one on, without what is new in every row.
fn rows(place: &Place, from: usize) -> Vec<Vec<(String, Value)>> {
    let journal = place.journal();
    let row = |line: &str| {
        let row = parse(line.as_bytes()).unwrap().as_object().unwrap().clone();
        let new = ["sequence", "event_id", "operation_id", "at", "previous"];
        row.into_iter()
            .filter(|(key, _)| !new.contains(&&**key))
            .map(|(key, value)| (key.into_owned(), value))
            .collect()
    };
    journal.lines().skip(from).map(row).collect()
}

#[test]
fn a_load_without_a_handshake_is_delivered_and_journaled_as_any_other() {
    let place = Place::new();
    let mut server = without_handshake(&place);
    let discovered =
        server.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}"#));
    assert!(discovered.contains(r#""supportedVersions":["2026-07-28"]"#), "{discovered}");
    let answer = server.ask(&stateless(&place.load(2)));
    assert!(delivered(&answer) && answer.contains(r#""resultType":"complete""#), "{answer}");
    assert_eq!(server.close().exit, Exit::Status(0));
    let first = rows(&place, 0);
    let mut server = place.serve();
    let answer = server.ask(&place.load(2));
    assert!(delivered(&answer) && !answer.contains("resultType"), "{answer}");
    assert_eq!(server.close().exit, Exit::Status(0));
    let second = rows(&place, first.len());
    assert_eq!(first, second);
    let events: Vec<_> =
        first.iter().map(|row| row.iter().find(|(key, _)| key == "event").unwrap().1.clone()).collect();
    assert_eq!(events, ["started", "intended", "delivered"].map(Value::from));
    assert_eq!(place.rows(), 6, "and the chain holds");
}

#[test]
fn no_way_of_asking_passes_a_check_that_another_does_not() {
    let place = Place::new();
    let mut server = without_handshake(&place);
    assert!(delivered(&server.ask(&stateless(&place.load(1)))), "the control: it works");
    fs::remove_file(place.path("private/consent.json")).unwrap();
    let (stated, settled) = (server.ask(&stateless(&place.load(2))), server.ask(&place.load(3)));
    for answer in [&stated, &settled] {
        refused(answer, &code(&settled));
        assert!(answer.contains(r#""isError":true"#));
    }
    let seen = rows(&place, 0);
    let before = place.rows();
    for line in [
        stateless(&place.load(4)).replace("2026-07-28", "2027-01-01"),
        stateless(&place.load(5)).replace("clientCapabilities", "capabilities"),
    ] {
        let answer = server.ask(&line);
        assert!(!delivered(&answer) && answer.contains(r#""error":{"code":-32"#), "{answer}");
    }
    assert_eq!(place.rows(), before, "what is no call leaves no row");
    let [stated, settled] = [&seen[seen.len() - 3..seen.len() - 2], &seen[seen.len() - 1..]].map(<[_]>::to_vec);
    assert_eq!(server.close().exit, Exit::Status(0));
    assert_eq!(stated, settled, "{seen:?}");
}
