//! Content that looks random and is the same for the same seed: manifests, payloads and attachments that the gates accept.
#![allow(dead_code, clippy::unwrap_used, clippy::indexing_slicing, reason = "each test file uses its own part")]

use kdna_broker::foundation::json::read_javascript;
use kdna_broker::foundation::json::write::compact;
use kdna_broker::foundation::value::{Object, Value};

/// A payload with one of everything that a compact Capsule shows.
pub(crate) const SMALL_PAYLOAD: &str = r#"{"profile":"kdna.payload.judgment","profile_version":"0.1.0","core":{"highest_question":"Why?","axioms":["One.",{"statement":"Two.","note":"n"}],"boundaries":["Never."]},"reasoning":{"self_check":["Sure?"]},"extra":[true,null,1.5]}"#;

/// The seed of this run: `KDNA_SEED`, else a fixed one.
pub(crate) fn seed() -> u64 {
    std::env::var("KDNA_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x6b64_6e61)
}

/// Numbers that look random (xorshift).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        // The generator stays at zero for ever.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }
}

/// A text of 1 to 40 characters that is not blank, of every kind that JSON escapes or does not.
pub(crate) fn text(numbers: &mut Numbers) -> String {
    const PIECES: [&str; 16] = [
        "a",
        "judgment",
        " ",
        "\"",
        "\\",
        "\n",
        "\u{1}",
        "\u{7f}",
        "é",
        "e\u{301}",
        "写",
        "\u{1f600}",
        "\u{2028}",
        "\u{feff}",
        "/",
        "__proto__ ",
    ];
    let length = 1 + numbers.below(8);
    std::iter::once("t").chain((0..length).map(|_| PIECES[numbers.below(PIECES.len())])).collect()
}

fn number(numbers: &mut Numbers) -> f64 {
    let bits = numbers.next();
    match numbers.below(6) {
        0 => f64::from(u32::try_from(bits % 300).unwrap()),
        1 => -f64::from(u32::try_from(bits % 70_000).unwrap()),
        2 => f64::from(u32::MAX) + f64::from(u32::try_from(bits % 3).unwrap()) - 1.0,
        3 => -f64::from(u32::MAX) - f64::from(u32::try_from(bits % 4).unwrap()),
        4 => f64::from(u32::try_from(bits % 1000).unwrap()) / 7.0,
        _ => Some(f64::from_bits(bits)).filter(|number| number.is_finite()).unwrap_or(0.5),
    }
}

/// Any value, nested at most `depth` deep.
pub(crate) fn value(numbers: &mut Numbers, depth: usize) -> Value {
    match numbers.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => Value::Bool(numbers.below(2) == 0),
        2 => Value::Number(number(numbers)),
        3 | 4 => Value::from(text(numbers)),
        5 => Value::Array((0..length(numbers)).map(|_| value(numbers, depth - 1)).collect()),
        _ => Value::Object(members(numbers, depth)),
    }
}

/// Mostly short, so that a tree stays small; sometimes beyond what is searched one by one.
fn length(numbers: &mut Numbers) -> usize {
    if numbers.below(20) == 0 { numbers.below(40) } else { numbers.below(6) }
}

/// A map of 0 to 39 members, some with keys that JavaScript would sort.
fn members(numbers: &mut Numbers, depth: usize) -> Object {
    let mut object = Object::new();
    for _ in 0..length(numbers) {
        let key = if numbers.below(4) == 0 { numbers.below(200).to_string() } else { text(numbers) };
        object.insert(key, value(numbers, depth - 1));
    }
    object.order_as_javascript();
    object
}

/// A manifest that the gates accept, of a public judgment asset, with unknown fields.
pub(crate) fn manifest(numbers: &mut Numbers) -> Value {
    let mut manifest = read_javascript(br#"{"format_version":"0.1.0","asset_id":"kdna:test:content","asset_uid":"urn:uuid:t","asset_type":"domain","title":"t","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}}"#).unwrap();
    if let Value::Object(object) = &mut manifest {
        object.insert("title", text(numbers));
        object.insert("x_unknown", value(numbers, 3));
        object.order_as_javascript();
    }
    manifest
}

/// A judgment payload that the gates accept, with unknown fields at every place that may have them.
pub(crate) fn payload(numbers: &mut Numbers) -> Value {
    let mut core = Object::new();
    core.insert("highest_question", text(numbers));
    core.insert("axioms", (0..=numbers.below(20)).map(|_| Value::from(text(numbers))).collect::<Vec<_>>());
    core.insert("x_core", value(numbers, 5));
    core.order_as_javascript();
    let mut payload = Object::new();
    payload.insert("profile", "kdna.payload.judgment");
    payload.insert("profile_version", "0.1.0");
    payload.insert("core", core);
    payload.insert("patterns", (0..numbers.below(5)).map(|_| value(numbers, 2)).collect::<Vec<_>>());
    for (key, member) in members(numbers, 6) {
        if !["core", "reasoning", "evolution", "scenarios", "cases", "patterns", "ciphertext"].contains(&&*key) {
            payload.insert(key, member);
        }
    }
    payload.order_as_javascript();
    Value::Object(payload)
}

/// 0 to 4 attachments: JSON, text that compresses, noise, nothing.
pub(crate) fn attachments(numbers: &mut Numbers) -> Vec<(String, Vec<u8>)> {
    let one = |at: usize, numbers: &mut Numbers| match numbers.below(4) {
        0 => (format!("attachments/{at}.json"), b"{\"b\":1,\"a\":[2]}".to_vec()),
        1 => (format!("attachments/deep/er/{at}.txt"), vec![b'x'; numbers.below(100_000)]),
        2 => (format!("attachments/é{at}.bin"), (0..numbers.below(2_000)).map(|_| numbers.byte()).collect()),
        _ => (format!("attachments/{at}"), Vec::new()),
    };
    (0..numbers.below(5)).map(|at| one(at, numbers)).collect()
}

/// A Capsule without the digest of the container's own bytes, which every change shows in.
pub(crate) fn without_asset_digest(capsule: &Value) -> String {
    let part = |value: &Value, left_out: &str| -> Object {
        let members = value.as_object().unwrap().iter().filter(|(key, _)| *key != left_out);
        members.map(|(key, value)| (key.to_owned(), value.clone())).collect()
    };
    let mut rest = part(capsule, "digests");
    rest.insert("digests", part(capsule.get("digests").unwrap(), "asset"));
    compact(&Value::Object(rest)).unwrap()
}
