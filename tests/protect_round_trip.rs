//! What is protected comes back with its password, and in no other way: the same content, a manifest that says how it is
//! protected, and no changed bit that goes unnoticed.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/content.rs"]
mod content;

use content::{Numbers, without_asset_digest};
use kdna_broker::foundation::json::read_javascript;
use kdna_broker::foundation::json::write::{compact, pretty};
use kdna_broker::foundation::limits;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::writer::{Argon2id, Fresh, Parts, Payload, ProtectFault, pack, protect};
use kdna_broker::runtime::{self, Asset, Container, InputKind, LoadInput, LoadProfile, PlanInput, RuntimeFault};

/// The cheapest derivation there is.
const CHEAP: Argon2id = Argon2id { memory_kib: 8, passes: 1, lanes: 1 };
/// What protecting may change in a manifest.
const ANNOUNCED: [&str; 4] = ["payload", "access", "entitlement", "encryption"];

fn load(bytes: &[u8], profile: LoadProfile, password: Option<&[u8]>) -> Result<Value, RuntimeFault> {
    runtime::load(bytes, profile, password, None, Timestamp::from_milliseconds(0), InputKind::PackagedBytes)
}

fn fresh(numbers: &mut Numbers) -> Fresh {
    let drawn = Fresh::draw(|bytes| {
        bytes.fill_with(|| numbers.byte());
        Ok::<(), ()>(())
    });
    drawn.unwrap()
}

fn packed(manifest: &Value, payload: Payload, attachments: Vec<(String, Vec<u8>)>) -> Vec<u8> {
    pack(&Parts { manifest: compact(manifest).unwrap().into_bytes(), payload, attachments }).unwrap()
}

fn random_asset(numbers: &mut Numbers) -> (Value, Vec<u8>) {
    let manifest = content::manifest(numbers);
    let payload = Payload::Json(pretty(&content::payload(numbers)).unwrap().into_bytes());
    let bytes = packed(&manifest, payload, content::attachments(numbers));
    (manifest, bytes)
}

fn small_asset(manifest: &Value) -> Vec<u8> {
    packed(manifest, Payload::Json(content::SMALL_PAYLOAD.into()), vec![("attachments/a.json".into(), b"[1]".to_vec())])
}

fn plain_manifest(extra: &str) -> Value {
    let manifest = compact(&content::manifest(&mut Numbers::new(5))).unwrap();
    read_javascript(manifest.replacen('{', &format!("{{{extra}"), 1).as_bytes()).unwrap()
}

fn context<'a>(capsule: &'a Value, part: &str) -> &'a Value {
    capsule.get("context").unwrap().get(part).unwrap()
}

/// The members of a manifest that protecting must leave alone.
fn kept(manifest: &Value) -> String {
    let members = manifest.as_object().unwrap().iter().filter(|(key, _)| !ANNOUNCED.contains(key));
    compact(&Value::Object(members.map(|(key, value)| (key.to_owned(), value.clone())).collect())).unwrap()
}

#[test]
fn random_content_comes_back_with_its_password_and_with_no_other() {
    let seed = content::seed();
    println!("seed {seed}");
    let mut numbers = Numbers::new(seed);
    for round in 0..60 {
        let (manifest, public) = random_asset(&mut numbers);
        let password: Vec<u8> = content::text(&mut numbers).into_bytes();
        let locked = protect(&public, &password, &fresh(&mut numbers), CHEAP).unwrap();

        let facts = runtime::inspect(&locked).unwrap();
        assert_eq!(facts.get("payload_encrypted"), Some(&Value::Bool(true)), "round {round}");
        assert_eq!(facts.get("title"), manifest.get("title"), "round {round}");
        let plan = runtime::plan(&locked, &PlanInput::default()).unwrap();
        assert_eq!(plan.get("state").and_then(Value::as_str), Some("needs_password"), "round {round}");
        assert_eq!(plan.get("checks").unwrap().get("overall_valid"), Some(&Value::Bool(true)), "round {round}");

        let (before, after) =
            (load(&public, LoadProfile::Full, None), load(&locked, LoadProfile::Full, Some(&password)));
        let (before, after) = (before.unwrap(), after.unwrap());
        assert_eq!(compact(context(&after, "payload")), compact(context(&before, "payload")), "round {round}");
        assert_eq!(kept(context(&after, "manifest")), kept(&manifest), "round {round}");
        let compact_context = |bytes, password| {
            compact(load(bytes, LoadProfile::Compact, password).unwrap().get("context").unwrap()).unwrap()
        };
        assert_eq!(compact_context(&locked, Some(&password)), compact_context(&public, None), "round {round}");

        let longer = [&password[..], b"\n"].concat();
        for wrong in [&password[1..], &longer, b"wrong"] {
            let fault = load(&locked, LoadProfile::Full, Some(wrong)).map(|_| "a Capsule").unwrap_err();
            assert_eq!(fault.code(), Some("KDNA_DECRYPT_FAILED"), "round {round}");
        }
        assert_eq!(load(&locked, LoadProfile::Index, None).unwrap_err().code(), Some("KDNA_AUTH_PASSWORD_REQUIRED"));
    }
}

#[test]
fn only_what_is_drawn_anew_makes_two_protected_forms_differ() {
    let mut numbers = Numbers::new(2);
    let (_, public) = random_asset(&mut numbers);
    let locked = |seed| protect(&public, b"pw", &fresh(&mut Numbers::new(seed)), CHEAP).unwrap();
    assert!(locked(1) == locked(1), "the same for the same random bytes");
    assert!(locked(1) != locked(2), "another salt and another key each time");
}

#[test]
fn composed_and_decomposed_letters_are_two_passwords() {
    let public = small_asset(&plain_manifest(""));
    let locked = protect(&public, "caf\u{e9}".as_bytes(), &fresh(&mut Numbers::new(1)), CHEAP).unwrap();
    assert!(load(&locked, LoadProfile::Full, Some("caf\u{e9}".as_bytes())).is_ok());
    assert!(load(&locked, LoadProfile::Full, Some("cafe\u{301}".as_bytes())).is_err());
}

#[test]
fn a_container_gives_what_its_envelope_holds_to_one_load_alone() {
    let public = small_asset(&plain_manifest(""));
    let locked = protect(&public, b"pw", &fresh(&mut Numbers::new(1)), CHEAP).unwrap();
    let container = Container::read(&locked).unwrap();
    let load = |password: &[u8]| {
        let (loaded_at, input_kind) = (Timestamp::from_milliseconds(0), InputKind::PackagedBytes);
        let (profile, password) = (LoadProfile::Full, Some(password));
        let input = LoadInput { profile, password, entitlement_status: None, loaded_at, input_kind };
        Asset::read_for_load(&container).unwrap().load_text(&input)
    };
    assert_eq!(load(b"no").unwrap_err().code(), Some("KDNA_DECRYPT_FAILED"));
    assert!(load(b"pw").is_ok());
    assert_eq!(load(b"no").unwrap_err().code(), Some("KDNA_DECRYPT_FAILED"), "what is kept opens nothing");
    assert_eq!(load(b"pw").unwrap_err().code(), None);
}

#[test]
fn a_changed_bit_is_refused_or_changes_nothing_that_is_delivered() {
    let public = small_asset(&plain_manifest(""));
    let mut bytes = protect(&public, b"pw", &fresh(&mut Numbers::new(1)), CHEAP).unwrap();
    let control = without_asset_digest(&load(&bytes, LoadProfile::Full, Some(b"pw")).unwrap());
    let (mut refused, mut same) = (0, 0);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            match load(&bytes, LoadProfile::Full, Some(b"pw")) {
                Err(_) => refused += 1,
                Ok(capsule) => {
                    assert!(without_asset_digest(&capsule) == control, "byte {at}, bit {bit}: another Capsule");
                    same += 1;
                }
            }
            bytes[at] ^= 1 << bit;
        }
    }
    assert!(refused > 4 * same && same > 0, "{refused} refused, {same} the same");
}

/// A digest of the public form is no longer true, and would let anybody try out guesses at the content.
#[test]
fn no_digest_of_the_public_form_stays_in_the_manifest() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let contract = r#""load_contract":{"default_profile":"compact","profiles":{"index":{"requires_decryption":false},"compact":{},"scenario":{},"full":{}}},"#;
    let stale = format!(
        r#""content_digest":"{digest}","asset_digest":"{digest}","container_sha256":"x","digests":{{"payload":{{"algorithm":"sha256","value":"{digest}"}}}},"authoring":{{"tool":"t","content_digest":"{digest}"}},{contract}"#
    );
    let public = small_asset(&plain_manifest(&stale));
    let locked = protect(&public, b"pw", &fresh(&mut Numbers::new(1)), CHEAP).unwrap();
    let manifest = load(&locked, LoadProfile::Full, Some(b"pw")).unwrap();
    let manifest = compact(context(&manifest, "manifest")).unwrap();
    assert!(!manifest.contains("digest") && !manifest.contains("container_sha256"), "{manifest}");
    assert!(manifest.contains(r#""authoring":{"tool":"t"}"#), "{manifest}");
    assert!(manifest.contains(r#""index":{"requires_decryption":true},"compact":{}"#), "{manifest}");
}

#[test]
fn what_cannot_be_protected_is_refused_with_its_reason() {
    let fresh = || fresh(&mut Numbers::new(1));
    let refused = |bytes: &[u8], password: &[u8]| protect(bytes, password, &fresh(), CHEAP).unwrap_err();
    let public = small_asset(&plain_manifest(""));
    let locked = protect(&public, b"pw", &fresh(), CHEAP).unwrap();
    assert_eq!(refused(&locked, b"pw"), ProtectFault::Protected);
    assert_eq!(refused(&public, b""), ProtectFault::NoPassword);
    assert_eq!(refused(b"PK", b"pw"), ProtectFault::NotLoadable);
    for unloadable in [
        r#""access":"remote","#,
        r#""access":"licensed","entitlement":{"profile":"account"},"#,
        r#""access":"licensed","entitlement":{"profile":"local_receipt"},"#,
        r#""dependencies":{"a":"1"},"#,
        r#""creator":7,"#,
        r#""access":"public","encryption":{"profile":"kdna.encryption.password","profile_version":"0.1.0","encrypted_entries":["payload.kdnab"]},"#,
    ] {
        assert_eq!(
            refused(&small_asset(&plain_manifest(unloadable)), b"pw"),
            ProtectFault::NotLoadable,
            "{unloadable}"
        );
    }
    // Behind a password already, but in the clear: now nobody gets in without one.
    let promised = plain_manifest(r#""access":"licensed","entitlement":{"profile":"password","note":"n"},"#);
    let kept = protect(&small_asset(&promised), b"pw", &fresh(), CHEAP).unwrap();
    assert!(load(&kept, LoadProfile::Full, Some(b"pw")).is_ok() && load(&kept, LoadProfile::Full, Some(b"x")).is_err());
}

#[test]
fn the_largest_payload_is_protected_and_opened_and_one_byte_more_is_refused() {
    let bound = limits::ENTRY_TEXT_UNITS / 4 * 3;
    let of = |length: usize| {
        let payload = |note: usize| {
            let text = content::SMALL_PAYLOAD.replacen('{', &format!("{{\"note\":\"{}\",", "n".repeat(note)), 1);
            runtime::writer::payload_cbor(&read_javascript(text.as_bytes()).unwrap()).unwrap()
        };
        let overhead = payload(100_000).len() - 100_000;
        let payload = payload(length - overhead);
        assert_eq!(payload.len(), length);
        packed(&plain_manifest(""), Payload::Cbor(payload), Vec::new())
    };
    let fresh = || fresh(&mut Numbers::new(1));
    let locked = protect(&of(bound), b"pw", &fresh(), CHEAP).unwrap();
    assert!(load(&locked, LoadProfile::Index, Some(b"pw")).is_ok());
    assert_eq!(protect(&of(bound + 1), b"pw", &fresh(), CHEAP), Err(ProtectFault::TooLarge));
}
