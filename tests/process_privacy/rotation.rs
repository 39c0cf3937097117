//! Consent is read anew for every load: replaced, it counts at once; taken back, nothing is delivered.

use crate::session::{Names, PHRASE, Reply, Session, asset, canary};
use crate::support::documents::{at, with};
use crate::support::tree::tree;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::value::Value;
use std::fs;

fn names() -> Names {
    Names { consent: "consent".into(), authorization: "password".into() }
}

/// What may differ between two deliveries: the consent's digest and the time of the load.
fn without_what_changes(document: &Value) -> Value {
    ["/host_processing/consent_digest", "/runtime_capsule/trace/loaded_at"]
        .into_iter()
        .fold(document.clone(), |document, pointer| with(document, pointer, None))
}

#[test]
fn a_replaced_consent_counts_for_the_next_load_and_a_revoked_one_for_none() {
    let session = Session::new(&asset(&canary("judgment"), 0), names());
    let first = Digest::of(&session.consent('a'));
    let mut server = session.start();
    let before = tree(&session.root());
    let one = Reply::read(&server.ask(&session.load(1, PHRASE)));
    let second = session.allow('b');
    let two = Reply::read(&server.ask(&session.load(2, PHRASE)));
    fs::remove_file(session.consent_path()).unwrap();
    let three = Reply::read(&server.ask(&session.load(3, PHRASE)));
    let third = session.allow('c');
    let four = Reply::read(&server.ask(&session.load(4, PHRASE)));
    for (reply, consent) in [(&one, first), (&two, second), (&four, third)] {
        assert!(reply.is_delivered());
        assert_eq!(reply.text("/host_processing/consent_digest"), Some(consent.to_string()));
        assert_eq!(
            without_what_changes(reply.document().unwrap()),
            without_what_changes(one.document().unwrap()),
            "something else changed"
        );
    }
    assert!(first != second && second != third);
    assert_eq!(three.refusal(), Some(("host_processing_consent_invalid".into(), "consent_missing".into())));
    assert!(
        !three.is_delivered() && three.document().is_none_or(|document| at(document, "/runtime_capsule").is_none())
    );
    assert_eq!(tree(&session.root()), before, "the workspace was written to");
    assert_eq!(fs::read(session.consent_path()).unwrap(), session.consent('c'));
    server.close();
}

#[test]
fn a_consent_for_anything_else_does_not_carry_over() {
    let session = Session::new(&asset(&canary("judgment"), 0), names());
    let mut server = session.start();
    assert!(Reply::read(&server.ask(&session.load(1, PHRASE))).is_delivered());
    let good = String::from_utf8(session.consent('b')).unwrap();
    let path = session.consent_path();
    for (old, new, reason) in [
        ("privacy-host", "another-host", "consent_for_other_host"),
        ("\"compact\"", "\"full\"", "consent_for_other_profile"),
        ("att_000000000000000000000001", "att_000000000000000000000002", "consent_for_other_attachment"),
        ("\"approved\": true", "\"approved\": false", "consent_approval_missing"),
    ] {
        assert!(good.contains(old), "{old}");
        let beside = session.scratch.file(path.with_file_name("new"), good.replace(old, new), 0o600);
        fs::rename(beside, &path).unwrap();
        let reply = Reply::read(&server.ask(&session.load(2, PHRASE)));
        assert_eq!(reply.refusal(), Some(("host_processing_consent_invalid".into(), reason.into())));
    }
    session.allow('d');
    assert!(Reply::read(&server.ask(&session.load(3, PHRASE))).is_delivered());
    server.close();
}
