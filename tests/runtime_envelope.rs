//! A protected asset opens with its password and in no other way. Whatever is wrong, the answer is the same and nothing
//! of the content is in it.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "support/protect.rs"]
mod protect;

use kdna_broker::foundation::json::write::pretty;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::{self, EntitlementStatus, InputKind, LoadProfile, PlanInput, RuntimeFault};
use protect::{HIDDEN, Item, PASSWORD, asset, asset_named, binary, envelope, judgment, slot, text};

const ARGON2ID: &str = "kdna.encryption.password";
const SCRYPT: &str = "kdna.encryption.password.scrypt";
/// The cheapest derivation there is.
const CHEAP: (u32, u32, u32) = (8, 1, 1);
const ALL: [LoadProfile; 4] = [LoadProfile::Index, LoadProfile::Compact, LoadProfile::Scenario, LoadProfile::Full];

fn load(bytes: &[u8], profile: LoadProfile, password: Option<&[u8]>) -> Result<Value, RuntimeFault> {
    runtime::load(bytes, profile, password, None, Timestamp::from_milliseconds(0), InputKind::PackagedBytes)
}

fn code(bytes: &[u8]) -> Option<&'static str> {
    load(bytes, LoadProfile::Full, Some(PASSWORD)).unwrap_err().code()
}

fn cheap() -> Item {
    envelope(&judgment().bytes(), Some(CHEAP))
}

fn opens(envelope: &Item) -> bool {
    load(&asset(&envelope.bytes(), ARGON2ID), LoadProfile::Full, Some(PASSWORD)).is_ok()
}

#[test]
fn both_profiles_open_with_their_password_for_every_profile_of_a_load() {
    for (bytes, profile) in [(cheap().bytes(), ARGON2ID), (envelope(&judgment().bytes(), None).bytes(), SCRYPT)] {
        let bytes = asset(&bytes, profile);
        let shown = pretty(&load(&bytes, LoadProfile::Full, Some(PASSWORD)).unwrap()).unwrap();
        assert!(shown.contains(HIDDEN) && shown.contains("\"access\": \"licensed\""));
        for profile in ALL {
            assert!(load(&bytes, profile, Some(PASSWORD)).is_ok(), "{profile:?}");
            for (password, refusal) in [
                (None, "KDNA_AUTH_PASSWORD_REQUIRED"),
                (Some(&b""[..]), "KDNA_AUTH_PASSWORD_REQUIRED"),
                (Some(b"wrong"), "KDNA_DECRYPT_FAILED"),
            ] {
                let fault = load(&bytes, profile, password).unwrap_err();
                assert_eq!(fault.code(), Some(refusal), "{profile:?}");
                assert!(!fault.to_string().contains("wrong"));
            }
        }
        let minimal = |password| load(&bytes, LoadProfile::Minimal, Some(password)).unwrap_err().code();
        assert_eq!(minimal(b"wrong"), Some("KDNA_DECRYPT_FAILED"), "no profile is judged before the password");
        assert_eq!(minimal(PASSWORD), None);
    }
}

#[test]
fn any_single_wrong_bit_of_the_envelope_opens_nothing() {
    let honest = cheap().bytes();
    assert!(load(&asset(&honest, ARGON2ID), LoadProfile::Full, Some(PASSWORD)).is_ok(), "the control opens");
    // A name that is not read leaves the costly default: one bit of each of its letters is enough.
    let name = honest.windows(10).position(|window| window == b"memory_kib").unwrap();
    let mut refused = 0;
    for at in 0..honest.len() * 8 {
        if (name..name + 10).contains(&(at / 8)) && at % 8 != at / 8 % 8 {
            continue;
        }
        let mut damaged = honest.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        let fault = load(&asset(&damaged, ARGON2ID), LoadProfile::Full, Some(PASSWORD)).err();
        let fault = fault.unwrap_or_else(|| panic!("bit {at} of the envelope is without meaning"));
        // Where the entry is no envelope any more, the plan says so before any password is tried.
        assert!(matches!(fault.code(), Some("KDNA_DECRYPT_FAILED" | "KDNA_FORMAT_INVALID")), "bit {at}: {fault}");
        refused += 1;
    }
    assert_eq!(refused, (honest.len() - 10) * 8 + 10);
}

#[test]
fn any_single_wrong_bit_of_the_password_opens_nothing() {
    let bytes = asset(&cheap().bytes(), ARGON2ID);
    for at in 0..PASSWORD.len() * 8 {
        let mut wrong = PASSWORD.to_vec();
        wrong[at / 8] ^= 1 << (at % 8);
        let fault = load(&bytes, LoadProfile::Index, Some(&wrong)).unwrap_err();
        assert_eq!(fault.code(), Some("KDNA_DECRYPT_FAILED"), "bit {at}");
    }
    let longer = [PASSWORD, b"\0"].concat();
    let decomposed = String::from_utf8(PASSWORD.to_vec()).unwrap().replace('\u{e9}', "e\u{301}");
    for wrong in [&longer[..], &PASSWORD[1..], &PASSWORD[..PASSWORD.len() - 1], decomposed.as_bytes()] {
        assert_eq!(load(&bytes, LoadProfile::Index, Some(wrong)).unwrap_err().code(), Some("KDNA_DECRYPT_FAILED"));
    }
}

#[test]
fn an_envelope_opens_only_in_the_asset_and_version_that_it_was_made_for() {
    let bytes = cheap().bytes();
    assert!(
        load(&asset_named(&bytes, ARGON2ID, protect::ASSET_ID, "1.0.0"), LoadProfile::Full, Some(PASSWORD)).is_ok()
    );
    assert_eq!(code(&asset_named(&bytes, ARGON2ID, "kdna:t:other", "1.0.0")), Some("KDNA_DECRYPT_FAILED"));
    assert_eq!(code(&asset_named(&bytes, ARGON2ID, protect::ASSET_ID, "1.0.1")), Some("KDNA_DECRYPT_FAILED"));
}

#[test]
fn what_a_lenient_reader_would_take_is_refused() {
    let honest = cheap();
    assert!(opens(&honest), "the control opens");
    let tag = [0; 16];
    let b64 = |key: &str| honest.member(key).as_text().to_owned();
    let lenient = |key: &'static str, change: fn(&str) -> String| honest.with(&[key], text(&change(&b64(key))));
    let mut lies = vec![
        ("no tag", honest.without("tag")),
        ("no iv", honest.without("iv")),
        ("no slots", honest.without("key_slots").with(&["wrapped_key"], binary(&tag))),
        ("no derivation parameters", honest.without("password_kdf")),
        ("another algorithm", honest.with(&["alg"], text("AES-128-GCM"))),
        ("another wrapping", honest.with(&["key_wrapping"], text("none"))),
        ("another derivation", honest.with(&["kdf"], text("scrypt-sha256"))),
        ("the other profile's derivation", honest.with(&["kdf"], text("argon2id"))),
        ("another kind of slot", honest.with(&["key_slots"], Item::List(vec![slot("recovery", &[0; 40])]))),
        ("a foreign slot first", honest.with(&["key_slots"], Item::List(vec![slot("password", &[0; 40])]))),
        ("a short wrapped key", honest.with(&["key_slots"], Item::List(vec![slot("password", &[0; 24])]))),
        ("a long wrapped key", honest.with(&["key_slots"], Item::List(vec![slot("password", &[0; 48])]))),
        ("a salt that is too short", honest.with(&["password_kdf", "salt"], binary(b"1234567"))),
        ("a salt beyond any use", honest.with(&["password_kdf", "salt"], binary(&[0; 4096]))),
        ("no padding", lenient("tag", |text| text.trim_end_matches('=').to_owned())),
        ("a space", lenient("ciphertext", |text| format!("{} {}", &text[..4], &text[4..]))),
        ("a line end", lenient("ciphertext", |text| format!("{text}\n"))),
        ("something after the padding", lenient("tag", |text| format!("{text}AAAA"))),
        ("a number for text", honest.with(&["iv"], Item::Number(7))),
    ];
    for length in [0, 4, 8, 12, 13, 15, 17, 32] {
        let full = [9; 32];
        lies.push(("a cut or longer tag", honest.with(&["tag"], binary(&full[..length]))));
    }
    for length in [0, 8, 11, 13, 16] {
        lies.push(("another iv length", honest.with(&["iv"], binary(&[9; 16][..length]))));
    }
    for (why, lie) in lies {
        assert_eq!(code(&asset(&lie.bytes(), ARGON2ID)), Some("KDNA_DECRYPT_FAILED"), "{why}");
    }
}

/// A truncated tag made of the honest tag's own first bytes, which lenient readers accept.
#[test]
fn a_tag_cut_short_is_refused_though_its_bytes_are_right() {
    let honest = cheap();
    let whole = asset_bytes::base64(honest.member("tag").as_text());
    assert!(opens(&honest.with(&["tag"], binary(&whole))), "the control opens");
    for length in [4, 8, 12, 13, 14, 15] {
        assert!(!opens(&honest.with(&["tag"], binary(&whole[..length]))), "{length} bytes");
    }
}

#[test]
fn members_that_are_not_read_change_nothing() {
    let honest = cheap();
    let slots = honest.member("key_slots").clone();
    let Item::List(slots) = slots else { panic!("slots") };
    let both = Item::List([vec![slot("recovery", &[0; 40])], slots].concat());
    for harmless in [
        honest.with(&["note"], text("x")),
        honest.with(&["password_kdf", "name"], text("anything")),
        honest.with(&["key_slots"], both),
    ] {
        assert!(opens(&harmless), "{harmless:?}");
    }
    let scrypt = envelope(&judgment().bytes(), None);
    let cheaper = scrypt.with(&["scrypt_params", "N"], Item::Number(2)).with(&["scrypt_params", "r"], Item::Number(1));
    assert!(
        load(&asset(&cheaper.bytes(), SCRYPT), LoadProfile::Full, Some(PASSWORD)).is_ok(),
        "no asset makes its own derivation cheaper"
    );
}

#[test]
fn an_asset_cannot_choose_a_long_or_large_derivation() {
    let honest = cheap();
    let costs: [(&[&'static str], u32); 7] = [
        (&["password_kdf", "memory_kib"], 262_145),
        (&["password_kdf", "memory_kib"], u32::MAX),
        (&["password_kdf", "memory_kib"], 0),
        (&["password_kdf", "iterations"], 17),
        (&["password_kdf", "iterations"], 0),
        (&["password_kdf", "parallelism"], 9),
        (&["password_kdf", "parallelism"], 0),
    ];
    for (path, value) in costs {
        let lie = honest.with(path, Item::Number(value));
        let refused = load(&asset(&lie.bytes(), ARGON2ID), LoadProfile::Full, Some(PASSWORD)).unwrap_err();
        assert_eq!(refused.code(), Some("KDNA_DECRYPT_FAILED"), "{path:?} {value}");
        let told = if value == 0 { "KDNA_DECRYPT_FAILED" } else { "KDNA_KDF_COST_REFUSED" };
        assert_eq!(refused.word(), Some(told), "{path:?} {value}: only what costs too much is told apart");
    }
    let both = honest
        .with(&["password_kdf", "memory_kib"], Item::Number(262_144))
        .with(&["password_kdf", "iterations"], Item::Number(16));
    assert_eq!(code(&asset(&both.bytes(), ARGON2ID)), Some("KDNA_DECRYPT_FAILED"));
}

#[test]
fn what_the_password_opens_must_be_a_valid_payload() {
    let judged = judgment();
    let nested = cheap().bytes();
    let invalid: [(&str, Vec<u8>); 8] = [
        ("nothing", vec![]),
        ("null", vec![0xf6]),
        ("a number", vec![1]),
        ("JSON", b"{}".to_vec()),
        ("bytes after the end", [judged.bytes(), vec![0]].concat()),
        ("no axioms", judged.with(&["core"], Item::Map(vec![("highest_question", text("Why?"))])).bytes()),
        ("another shape", Item::Map(vec![("profile", text("kdna.payload.bundle"))]).bytes()),
        ("an envelope in the envelope", nested),
    ];
    for (why, plaintext) in invalid {
        let sealed = envelope(&plaintext, Some(CHEAP));
        if plaintext.is_empty() {
            // An empty ciphertext is no ciphertext: the plan refuses it before.
            assert_eq!(code(&asset(&sealed.bytes(), ARGON2ID)), Some("KDNA_FORMAT_INVALID"), "{why}");
            continue;
        }
        assert_eq!(code(&asset(&sealed.bytes(), ARGON2ID)), Some("KDNA_PAYLOAD_INVALID"), "{why}");
        let wrong = load(&asset(&sealed.bytes(), ARGON2ID), LoadProfile::Full, Some(b"wrong")).unwrap_err();
        assert_eq!(wrong.code(), Some("KDNA_DECRYPT_FAILED"), "{why}: told only to who has the password");
    }
}

#[test]
fn a_claimed_status_opens_nothing() {
    let bytes = asset(&cheap().bytes(), ARGON2ID);
    let claims = [EntitlementStatus::Active, EntitlementStatus::OfflineGrace];
    for status in claims {
        let input = PlanInput { entitlement_status: Some(status), ..PlanInput::default() };
        let plan = runtime::plan(&bytes, &input).unwrap();
        assert_eq!(plan.get("can_load_now").and_then(Value::as_bool), Some(false), "{status:?}");
        let now = Timestamp::from_milliseconds(0);
        let load =
            |password| runtime::load(&bytes, LoadProfile::Index, password, Some(status), now, InputKind::PackagedFile);
        assert_eq!(load(None).unwrap_err().code(), Some("KDNA_AUTH_PASSWORD_REQUIRED"), "{status:?}");
        assert_eq!(load(Some(b"wrong")).unwrap_err().code(), Some("KDNA_DECRYPT_FAILED"), "{status:?}");
        assert!(load(Some(PASSWORD)).is_ok(), "{status:?}");
    }
}
