//! Changes while a worker is held in the middle of a load.

use super::CONSENT_INVALID;
use crate::support::real::{OTHER_ASSET, Place, RECORD, alive, delivered, refused, signal, stop_a_worker, wait_until};
use kdna_broker::consent::document::Timed;
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::system::System as _;
use kdna_broker::system::os::OsSystem;
use rustix::process::Signal;
use std::fs;
use std::time::Duration;

/// Stops a worker of a load, changes something, lets it go on, and gives the answer.
fn answer_after(change: impl Fn(&Place)) -> (Place, String) {
    let place = Place::new();
    let mut server = place.serve();
    let (worker, _) = stop_a_worker(&mut server, &place);
    change(&place);
    signal(worker, Signal::CONT);
    let answer = server.receive(Duration::from_secs(20)).expect("an answer");
    wait_until("the end of the worker", || !alive(worker));
    let rest = server.close();
    assert!(!delivered(&rest.stdout_text()), "and nothing came behind it: {}", rest.stdout_text());
    (place, answer)
}

#[test]
fn bind_change_mid_load() {
    let other = String::from_utf8(RECORD.to_vec()).unwrap().replace("write documentation", "write documents");
    let (place, answer) =
        answer_after(|place| drop(place.scratch.file("ws/.kdna/attachments.json", other.as_bytes(), 0o600)));
    refused(&answer, "workspace_binding_changed");
    assert!(place.journal().lines().last().unwrap().contains(r#""event":"refused""#));
    let (_, answer) = answer_after(|place| {
        fs::rename(place.path("ws"), place.path("ws.old")).unwrap();
        place.scratch.directory("ws", 0o755);
    });
    assert!(!delivered(&answer), "{answer}");
}

#[test]
fn bind_revoke_inflight() {
    let (place, answer) = answer_after(|place| fs::remove_file(place.path("private/consent.json")).unwrap());
    refused(&answer, CONSENT_INVALID);
    assert!(place.journal().lines().last().unwrap().contains(r#""event":"refused""#));
}

#[test]
fn revoking_by_command_in_the_middle_of_a_load_delivers_nothing() {
    let (place, answer) = answer_after(|place| {
        let done = crate::support::command::run(place.command(&["consent", "revoke"]), None);
        assert_eq!(done.stdout_text(), "Revoked. No load is delivered under it any more.\n", "{}", done.stderr_text());
    });
    refused(&answer, CONSENT_INVALID);
    let rows = place.journal();
    let events: Vec<bool> = rows.lines().map(|row| row.contains(r#""event":"revoked""#)).collect();
    assert!(events.contains(&true) && rows.lines().last().unwrap().contains(r#""event":"refused""#), "{rows}");
}

#[test]
fn a_consent_that_ends_in_the_middle_of_a_load_delivers_nothing() {
    let place = Place::new();
    let now = OsSystem::new().now().milliseconds();
    let record = Record::read(RECORD).unwrap();
    let end = Timestamp::from_milliseconds(now + 3000);
    let timed = Timed {
        workspace_root_digest: of_root_path(place.path("ws").to_str().unwrap()),
        entry_digest: record.attachments()[0].entry_digest().unwrap(),
        prompt_digest: Digest::of(b"a question"),
        issued_at: Timestamp::from_milliseconds(now),
        expires_at: Some(end),
    };
    place.scratch.file("private/consent.json", place.consent().timed_bytes(&timed), 0o600);
    let mut server = place.serve();
    let (worker, _) = stop_a_worker(&mut server, &place);
    wait_until("the consent's end", || OsSystem::new().now() > end);
    signal(worker, Signal::CONT);
    let answer = server.receive(Duration::from_secs(20)).expect("an answer");
    refused(&answer, "consent_expired");
    assert!(!delivered(&server.close().stdout_text()));
}

#[test]
fn bind_name_not_content() {
    // Same name, size and time, other bytes.
    let place = Place::new();
    let path = place.path(Place::snapshot());
    let facts = fs::metadata(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let mut server = place.serve();
    assert!(delivered(&server.ask(&place.load(1))), "the control");
    fs::write(&path, &bytes).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(facts.modified().unwrap()).unwrap();
    assert!(!delivered(&server.ask(&place.load(2))));
    let (_, answer) = answer_after(|place| fs::write(place.path(Place::snapshot()), OTHER_ASSET).unwrap());
    assert!(!delivered(&answer), "{answer}");
}
