//! No bytes make the embedded asset runtime panic, run away, or deliver something that was not checked.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;

use asset_bytes::{Entry, base64, zip};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write::pretty;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::{self, InputKind, LoadProfile, PlanInput, RuntimeFault};

const REVIEW: &[u8] = include_bytes!("../fixtures/assets/review.kdna");
const MANIFEST: &[u8] = br#"{"format_version":"0.1.0","asset_id":"kdna:t:a","asset_uid":"urn:uuid:t","asset_type":"domain","title":"t","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}}"#;
const PROFILES: [LoadProfile; 5] =
    [LoadProfile::Index, LoadProfile::Compact, LoadProfile::Scenario, LoadProfile::Full, LoadProfile::Minimal];

fn load(bytes: &[u8], profile: LoadProfile) -> Result<Value, RuntimeFault> {
    runtime::load(bytes, profile, None, None, Timestamp::from_milliseconds(0), InputKind::PackagedBytes)
}

/// Asks every question about the bytes. Whatever is answered can be printed, and a Capsule names exactly these bytes.
/// Says whether a Capsule was delivered.
fn ask_everything(bytes: &[u8]) -> bool {
    let _ = runtime::recognise(bytes);
    for document in [
        runtime::plan(bytes, &PlanInput::default()),
        runtime::inspect(bytes),
        runtime::validate(bytes, Some(&PlanInput::default())).map(|(document, _)| document),
    ]
    .into_iter()
    .flatten()
    {
        assert!(pretty(&document).is_ok());
    }
    let mut delivered = false;
    for capsule in PROFILES.into_iter().filter_map(|profile| load(bytes, profile).ok()) {
        assert!(pretty(&capsule).is_ok());
        let digest = capsule.get("digests").unwrap().get("asset").unwrap().get("value").unwrap();
        assert_eq!(digest.as_str(), Some(Digest::of(bytes).to_string().as_str()));
        delivered = true;
    }
    delivered
}

/// Numbers that look random and are the same every time (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    /// A few bytes replaced, one perhaps removed or doubled.
    fn damage(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(damaged.len());
            damaged[at] = u8::try_from(self.below(256)).unwrap();
        }
        match self.below(8) {
            0 => drop(damaged.remove(self.below(bytes.len()))),
            1 => damaged.insert(self.below(bytes.len()), 0x9f),
            _ => {}
        }
        damaged
    }
}

#[test]
fn an_asset_cut_at_any_byte_is_not_an_asset() {
    assert!(ask_everything(REVIEW), "the control is delivered");
    for length in 0..REVIEW.len() {
        assert!(!runtime::recognise(&REVIEW[..length]), "{length}");
        assert!(!ask_everything(&REVIEW[..length]), "{length}");
    }
}

#[test]
fn damaged_containers_never_panic_and_damaged_content_is_never_delivered() {
    let mut numbers = Numbers(0x6b64_6e61);
    let control = load(REVIEW, LoadProfile::Full).unwrap();
    for _ in 0..1_000 {
        let damaged = numbers.damage(REVIEW);
        if let Ok(capsule) = load(&damaged, LoadProfile::Full) {
            assert_eq!(capsule.get("context"), control.get("context"), "only bytes that carry nothing may differ");
        }
        ask_everything(&damaged);
    }
}

#[test]
fn damaged_payloads_and_manifests_without_checksums_never_panic() {
    let mut numbers = Numbers(0x7061_796c);
    let control = payload_of_vectors();
    assert!(ask_everything(&zip(&asset(MANIFEST, &control))), "the control is delivered");
    for round in 0..600 {
        let bytes = if round % 2 == 0 {
            zip(&asset(MANIFEST, &numbers.damage(&control)))
        } else {
            zip(&asset(&numbers.damage(MANIFEST), &control))
        };
        ask_everything(&bytes);
    }
}

/// `{profile, profile_version, core: {highest_question, axioms: [text, {...}]}, extra: [true, null, 1.5]}`
fn payload_of_vectors() -> Vec<u8> {
    let text = |text: &str| [&[0x60 | u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    let mut payload = vec![0xa4];
    for word in ["profile", "kdna.payload.judgment", "profile_version", "0.1.0", "core"] {
        payload.extend(text(word));
    }
    payload.push(0xa2);
    for word in ["highest_question", "Why?", "axioms"] {
        payload.extend(text(word));
    }
    payload.extend([0x82]);
    payload.extend(text("One."));
    payload.push(0xa2);
    for word in ["statement", "Two.", "note"] {
        payload.extend(text(word));
    }
    payload.extend(text("more"));
    payload.extend(text("extra"));
    payload.extend([0x83, 0xf5, 0xf6, 0xf9, 0x3e, 0x00]);
    payload
}

fn asset<'a>(manifest: &'a [u8], payload: &'a [u8]) -> Vec<Entry<'a>> {
    vec![
        Entry::stored("mimetype", b"application/vnd.kdna.asset"),
        Entry::stored("kdna.json", manifest),
        Entry::stored("payload.kdnab", payload),
    ]
}

/// Refused before anything of it is printed: no plan, no inspection, no Capsule.
fn assert_refused(bytes: &[u8], code: Option<&str>, why: &str) {
    let faults = [
        runtime::plan(bytes, &PlanInput::default()).unwrap_err(),
        runtime::inspect(bytes).unwrap_err(),
        runtime::validate(bytes, None).unwrap_err(),
        load(bytes, LoadProfile::Compact).unwrap_err(),
    ];
    assert_eq!(faults.map(|fault| fault.code()), [code; 4], "{why}");
}

/// Something done to an honest entry.
type Change<'a> = &'a dyn Fn(&mut Entry<'_>);

#[test]
fn hostile_containers_are_refused_whole() {
    let payload = payload_of_vectors();
    let good = asset(MANIFEST, &payload);
    assert!(load(&zip(&good), LoadProfile::Compact).is_ok());
    let with = |change: Change<'_>| {
        let mut entries = asset(MANIFEST, &payload);
        entries.push(Entry::stored("attachments/a", b"abc"));
        change(entries.last_mut().unwrap());
        zip(&entries)
    };
    assert!(load(&with(&|_| {}), LoadProfile::Compact).is_ok(), "the control is delivered");
    assert!(load(&with(&|entry| entry.crc = 0x3524_41c2), LoadProfile::Compact).is_ok(), "a CRC-32 that holds");
    assert!(load(&with(&|entry| entry.flags = 8), LoadProfile::Compact).is_ok(), "a data descriptor may follow");
    let changes: [(&str, Change<'_>); 12] = [
        ("a CRC-32 that does not hold", &|entry| entry.crc = 1),
        ("an encrypted entry", &|entry| entry.flags = 1),
        ("another local name", &|entry| entry.local_name = "attachments/b"),
        ("a directory", &|entry| entry.mode = 0o040_755),
        ("a symbolic link", &|entry| entry.mode = 0o120_777),
        ("a device", &|entry| entry.mode = 0o020_666),
        ("an unknown method", &|entry| entry.method = 12),
        ("a size that lies", &|entry| entry.size = 4),
        ("a size beyond the limit", &|entry| entry.size = 5_242_881),
        ("a ratio beyond the limit", &|entry| entry.size = 301),
        ("the bytes of another entry", &|entry| entry.at = Some(0)),
        ("a name that climbs", &|entry| (entry.name, entry.local_name) = ("attachments/../b", "attachments/../b")),
    ];
    for (why, change) in changes {
        assert_refused(&with(change), None, why);
    }
    assert_refused(&with(&|entry| entry.at = Some(u32::MAX)), Some("ERR_OUT_OF_RANGE"), "an offset past the end");
}

/// Found by fuzzing: such a file was no asset to the commands, but one to a caller that did not ask first.
#[test]
fn a_container_that_is_not_recognised_is_refused_unparsed() {
    let payload = payload_of_vectors();
    let good = zip(&asset(MANIFEST, &payload));
    let end = good.len() - 22;
    let directory = u32::from_le_bytes(good[end + 16..end + 20].try_into().unwrap());
    // The same records one byte further on: every offset inside the file is moved along.
    let mut prefixed = [b"x", good.as_slice()].concat();
    let mut at = usize::try_from(directory).unwrap() + 1;
    for _ in 0..3 {
        let offset = u32::from_le_bytes(prefixed[at + 42..at + 46].try_into().unwrap()) + 1;
        prefixed[at + 42..at + 46].copy_from_slice(&offset.to_le_bytes());
        at += 46 + usize::from(prefixed[at + 28]);
    }
    prefixed[end + 17..end + 21].copy_from_slice(&(directory + 1).to_le_bytes());
    assert!(runtime::recognise(&good) && load(&good, LoadProfile::Compact).is_ok(), "the control is delivered");
    assert!(!runtime::recognise(&prefixed));
    assert_refused(&prefixed, None, "a byte before the first record");
}

#[test]
fn entries_that_share_bytes_are_refused() {
    // A quoted local header inside another entry's data: every name and size agrees, only the ranges overlap.
    let inner = zip(&[Entry::stored("attachments/b", b"xyz")]);
    let payload = payload_of_vectors();
    let mut entries = asset(MANIFEST, &payload);
    entries.push(Entry::stored("attachments/a", &inner));
    let apart = zip(&entries);
    assert!(load(&apart, LoadProfile::Compact).is_ok());
    let at = apart.windows(inner.len()).position(|window| window == inner).unwrap();
    entries.push(Entry { at: Some(u32::try_from(at).unwrap()), ..Entry::stored("attachments/b", b"xyz") });
    assert_refused(&zip(&entries), None, "overlap");
}

#[test]
fn a_bomb_is_refused_by_its_declared_ratio_or_stopped_at_its_declared_size() {
    let bomb = bomb();
    let payload = payload_of_vectors();
    for (size, why) in [(50_000_000, "as large as it is"), (5_242_880, "at the limit"), (1000, "small")] {
        let mut entries = asset(MANIFEST, &payload);
        entries.push(Entry { size, method: 8, ..Entry::stored("attachments/a", &bomb) });
        assert_refused(&zip(&entries), None, why);
    }
}

/// Fifty million zero bytes as one DEFLATE stream: a fixed-code block of the longest matches.
fn bomb() -> Vec<u8> {
    // Bits, least significant first: final block, fixed codes, literal 0, then matches of length 258 at distance 1.
    let mut bits: Vec<bool> = vec![true, true, false];
    bits.extend([false, false, true, true, false, false, false, false]);
    for _ in 0..193_798 {
        bits.extend([true, true, false, false, false, true, false, true]);
        bits.extend([false; 5]);
    }
    bits.extend([false; 7]);
    bits.chunks(8).map(|byte| byte.iter().rev().fold(0, |value, bit| value << 1 | u8::from(*bit))).collect()
}

#[test]
fn deep_and_wide_payloads_end_in_a_refusal() {
    let nested = [vec![0x81; 4_000_000], vec![0]].concat();
    let wide = [vec![0x9a, 0, 0x10, 0, 0], vec![0; 1_048_576]].concat();
    let promised = [0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff].to_vec();
    for (payload, words) in
        [(nested, "exceeds maximum JSON depth"), (wide, "exceeding 10000 items"), (promised, "not valid CBOR")]
    {
        let bytes = zip(&asset(MANIFEST, &payload));
        let plan = runtime::plan(&bytes, &PlanInput::default()).unwrap();
        assert_eq!(plan.get("state").unwrap().as_str(), Some("invalid"));
        assert!(pretty(&plan).unwrap().contains(words), "{words}");
        assert_eq!(load(&bytes, LoadProfile::Full).unwrap_err().code(), Some("KDNA_FORMAT_INVALID"));
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_refused(&zip(&asset(deep.as_bytes(), b"\x01")), None, "a deep manifest");
}

#[test]
fn a_password_never_opens_what_is_not_encrypted() {
    let cases: serde_json::Value = serde_json::from_str(include_str!("../fixtures/core/problems.json")).unwrap();
    let case = cases.as_array().unwrap().iter().find(|case| case["id"] == "pay-lic-entry").unwrap();
    let bytes = base64(case["kdna_b64"].as_str().unwrap());
    let status = Some(runtime::EntitlementStatus::Active);
    let load = |password| {
        runtime::load(
            &bytes,
            LoadProfile::Index,
            password,
            status,
            Timestamp::from_milliseconds(0),
            InputKind::PackagedFile,
        )
        .unwrap_err()
        .code()
    };
    assert_eq!(load(None), Some("KDNA_AUTH_PASSWORD_REQUIRED"));
    assert_eq!(load(Some(b"")), Some("KDNA_AUTH_PASSWORD_REQUIRED"), "an empty password is none");
    assert_eq!(load(Some(b"anything")), Some("KDNA_DECRYPT_FAILED"));
    let manifest = String::from_utf8(MANIFEST.to_vec()).unwrap();
    let manifest = manifest.replacen('{', r#"{"access":"licensed","entitlement":{"profile":"password"},"#, 1);
    let payload = payload_of_vectors();
    let plain = zip(&asset(manifest.as_bytes(), &payload));
    let load = |password| {
        runtime::load(
            &plain,
            LoadProfile::Full,
            password,
            None,
            Timestamp::from_milliseconds(0),
            InputKind::PackagedFile,
        )
        .unwrap_err()
        .code()
    };
    assert_eq!(load(Some(b"anything")), Some("KDNA_DECRYPT_FAILED"), "no password could ever be wrong here");
    assert_eq!(load(None), Some("KDNA_AUTH_PASSWORD_REQUIRED"));
}

#[test]
fn a_declared_digest_that_does_not_hold_delivers_nothing() {
    let payload = payload_of_vectors();
    let declaring = |members: &str| {
        let manifest = String::from_utf8(MANIFEST.to_vec()).unwrap().replacen('{', &format!("{{{members},"), 1);
        let bytes = zip(&asset(manifest.as_bytes(), &payload));
        let plan = runtime::plan(&bytes, &PlanInput::default()).unwrap();
        assert_eq!(plan.get("state").unwrap().as_str(), Some("ready"), "a plan does not look at it");
        load(&bytes, LoadProfile::Compact)
    };
    let capsule = load(&zip(&asset(MANIFEST, &payload)), LoadProfile::Compact).unwrap();
    let content = capsule.get("digests").unwrap().get("content").unwrap().get("value").unwrap().as_str().unwrap();
    let other = Digest::of(b"").to_string();
    let own = |value: &str| format!(r#""content_digest":"{value}""#);
    let authoring = |value: &str| format!(r#""authoring":{{"content_digest":"{value}"}}"#);
    let code = |members: String| declaring(&members).unwrap_err().code();
    assert!(declaring(&own(content)).is_ok(), "a digest is not over itself");
    assert_eq!(code(own(&other)), Some("KDNA_CONTENT_DIGEST_MISMATCH"));
    assert_eq!(code(authoring(&other)), Some("KDNA_CONTENT_DIGEST_MISMATCH"));
    assert_eq!(code(own("sha256:0")), Some("KDNA_DIGEST_EXPECTATION_INVALID"));
    assert_eq!(code(r#""content_digest":7"#.to_owned()), Some("KDNA_DIGEST_EXPECTATION_INVALID"));
    assert_eq!(
        code(format!("{},{}", own(content), authoring(&other))),
        Some("KDNA_CONTENT_DIGEST_DECLARATION_CONFLICT")
    );
}
