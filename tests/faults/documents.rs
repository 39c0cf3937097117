//! Documents that two readers could understand differently, as consents and as journal rows.

use super::CONSENT_INVALID;
use crate::support::command::Server;
use crate::support::real::{Place, delivered, reason, refused};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::journal::{Why, verify};
use std::fs;
use std::time::{Duration, Instant};

/// A running server over a place, and the text of the consent that fits.
fn served() -> (Place, Server, String) {
    let place = Place::new();
    let server = place.serve();
    let text = String::from_utf8(place.consent().bytes()).unwrap();
    (place, server, text)
}

/// Whether a consent with this text is accepted; a refusal must be the one code, quickly, and quote nothing.
fn accepts(place: &Place, server: &mut Server, text: impl AsRef<[u8]>) -> bool {
    place.scratch.file("private/consent.json", text, 0o600);
    let begun = Instant::now();
    let answer = server.ask(&place.load(1));
    assert!(begun.elapsed() < Duration::from_secs(5));
    if delivered(&answer) {
        return true;
    }
    refused(&answer, CONSENT_INVALID);
    assert!(!answer.contains("canary"), "{answer}");
    false
}

#[test]
fn json_dup_struct() {
    let (place, mut server, text) = served();
    assert!(accepts(&place, &mut server, &text), "the control");
    for second in [r#""approved":true,"#, r#""appr\u006fved":true,"#, r#""nonce":"canary","#] {
        assert!(!accepts(&place, &mut server, text.replacen('{', &format!("{{{second}"), 1)), "{second}");
        assert_eq!(reason(&server.ask(&place.load(2))), "consent_ambiguous_json", "{second}");
    }
}

#[test]
fn json_dup_map() {
    let (place, mut server, text) = served();
    let nested = text.replacen(r#""processor":"#, r#""processor": "canary", "processor":"#, 1);
    assert_ne!(nested, text, "the consent has a nested processor");
    assert!(!accepts(&place, &mut server, &nested));
    assert_eq!(reason(&server.ask(&place.load(2))), "consent_ambiguous_json");
}

#[test]
fn json_dup_verdict() {
    let place = Place::new();
    assert!(delivered(&place.try_load()));
    let journal = place.journal();
    assert!(verify(journal.as_bytes()).is_ok(), "the control");
    let twice = journal.replacen(r#""event":"#, r#""event":"delivered","event":"#, 1);
    assert_eq!(verify(twice.as_bytes()).unwrap_err().why, Why::DuplicateKey);
}

#[test]
fn json_depth() {
    let (place, mut server, text) = served();
    for depth in [127, 128, 200, 8000] {
        assert!(!accepts(&place, &mut server, "[".repeat(depth) + &"]".repeat(depth)), "{depth}");
        assert!(!accepts(&place, &mut server, "{\"a\":".repeat(depth.min(3000))), "{depth}");
    }
    assert!(!accepts(&place, &mut server, format!("{}{}", "[0,".repeat(5000), "0")));
    assert!(!accepts(&place, &mut server, "1".repeat(16_384)), "a long number");
    // The record and the frame have limits of their own; none of them overflows a stack.
    place.scratch.file("private/consent.json", &text, 0o600);
    let million = "[".repeat(500_000) + &"]".repeat(500_000);
    let answer = server.ask(&place.load(3).replace(r#""task":""#, &format!(r#""x":{million},"task":""#)));
    assert!(!delivered(&answer), "{}", &answer[..200.min(answer.len())]);
    place.scratch.file("ws/.kdna/attachments.json", &million, 0o600);
    assert!(!delivered(&server.ask(&place.load(4))));
}

#[test]
fn json_trailing() {
    let (place, mut server, text) = served();
    for behind in ["\0", "{}", &text, ",", "canary", "\u{feff}"] {
        assert!(!accepts(&place, &mut server, format!("{text}{behind}")), "{behind:?}");
    }
    assert!(!accepts(&place, &mut server, format!("{text}{}", " ".repeat(1 << 20))), "bounded whitespace");
    assert!(accepts(&place, &mut server, format!("{text}\n")), "the control");
}

#[test]
fn json_unknown_field() {
    let (place, mut server, text) = served();
    for field in [r#""canary":1"#, r#""__proto__":{}"#, r#""approvd":true"#, r#""expires_at":null"#] {
        assert!(!accepts(&place, &mut server, text.replacen('{', &format!("{{{field},"), 1)), "{field}");
    }
}

/// A consent is known by the digest of its bytes: the same facts written otherwise are another consent, and say so.
#[test]
fn json_canonical_digest() {
    let (place, mut server, text) = served();
    let spaced = text.replacen('{', "{  ", 1);
    let mut digests = Vec::new();
    for written in [&text, &spaced] {
        assert!(accepts(&place, &mut server, written));
        let digest = Digest::of(&fs::read(place.path("private/consent.json")).unwrap()).to_string();
        assert!(server.ask(&place.load(2)).contains(&digest), "the Capsule names the consent that was read");
        digests.push(digest);
    }
    assert_ne!(digests[0], digests[1]);
}
