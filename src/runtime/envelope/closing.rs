//! The other direction: a password envelope around a payload, by the same rules and bounds that a reader judges it with.
//! Draws no randomness itself, and gives out no key.

use super::kdf::{ARGON2ID, Kdf};
use super::{Closed, IV, KEY, PROFILE_VERSION, TAG, WRAPPED_KEY, associated_data};
use crate::foundation::value::Value;
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_kw::KwAes256;
use base64::engine::{Engine, general_purpose::STANDARD};
use zeroize::Zeroizing;

const SALT: usize = 16;
const KEY_WRAPPING: &str = "AES-256-KW";

/// What an Argon2id derivation costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argon2id {
    /// Memory in KiB.
    pub memory_kib: u32,
    /// Passes over it.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
}

impl Argon2id {
    /// What is written: 64 MiB, 3 passes, 4 lanes, which every reader of the contract accepts.
    pub const WRITTEN: Argon2id = Argon2id { memory_kib: 65_536, passes: 3, lanes: 4 };
}

/// The random part of one envelope. For one envelope only: a content key seals one payload. Has no `Debug`.
pub struct Fresh {
    content_key: Zeroizing<[u8; KEY]>,
    salt: [u8; SALT],
    iv: [u8; IV],
}

impl Fresh {
    /// Takes content key, salt and initial value from a source of random bytes.
    pub fn draw<E>(mut random: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut fresh = Fresh { content_key: Zeroizing::new([0; KEY]), salt: [0; SALT], iv: [0; IV] };
        random(fresh.content_key.as_mut_slice())?;
        random(&mut fresh.salt)?;
        random(&mut fresh.iv)?;
        Ok(fresh)
    }
}

/// The profile of what is written, as manifests name it.
pub(in crate::runtime) const PROFILE: &str = ARGON2ID;

/// The envelope of a payload, for a manifest that names its `asset_id` and `version`. `None` where a reader would not
/// accept the cost, or the manifest has no such members.
pub(in crate::runtime) fn close(
    manifest: &Value,
    payload: &[u8],
    password: &[u8],
    fresh: &Fresh,
    cost: Argon2id,
) -> Option<Value> {
    try_close(manifest, payload, password, fresh, cost).ok()
}

fn try_close(
    manifest: &Value,
    payload: &[u8],
    password: &[u8],
    fresh: &Fresh,
    cost: Argon2id,
) -> Result<Value, Closed> {
    let head = head(&fresh.salt, cost);
    let mut wrapping_key = Zeroizing::new([0; KEY]);
    Kdf::of(&head)?.derive(password, &mut wrapping_key)?;
    let mut wrapped = [0; WRAPPED_KEY];
    let wrapper = KwAes256::new((&*wrapping_key).into());
    wrapper.wrap_key(fresh.content_key.as_slice(), &mut wrapped).map_err(|_| Closed)?;
    let mut content = Zeroizing::new(payload.to_vec());
    let tag = encrypt(&fresh.content_key, &fresh.iv, &associated_data(manifest, &head)?, &mut content)?;
    let Value::Object(mut envelope) = head else { return Err(Closed) };
    let slot = [("slot", "password".into()), ("wrap", KEY_WRAPPING.into()), ("wrapped_key", base64(&wrapped))];
    envelope.insert("key_slots", vec![Value::object(slot)]);
    envelope.insert("iv", base64(&fresh.iv));
    envelope.insert("tag", base64(&tag));
    envelope.insert("ciphertext", base64(&content));
    Ok(envelope.into())
}

/// What comes before everything that a key made, in the order that writers have.
fn head(salt: &[u8], cost: Argon2id) -> Value {
    let parameters = Value::object([
        ("name", Value::from("Argon2id")),
        ("salt", base64(salt)),
        ("memory_kib", cost.memory_kib.into()),
        ("iterations", cost.passes.into()),
        ("parallelism", cost.lanes.into()),
    ]);
    Value::object([
        ("profile", Value::from(PROFILE)),
        ("profile_version", PROFILE_VERSION.into()),
        ("alg", "AES-256-GCM".into()),
        ("kdf", "Argon2id".into()),
        ("key_wrapping", KEY_WRAPPING.into()),
        ("password_kdf", parameters),
    ])
}

/// AES-256-GCM in place.
fn encrypt(key: &[u8; KEY], iv: &[u8; IV], associated: &[u8], content: &mut [u8]) -> Result<[u8; TAG], Closed> {
    let tag = Aes256Gcm::new(key.into()).encrypt_inout_detached(iv.into(), associated, content.into());
    tag.map(Into::into).map_err(|_| Closed)
}

fn base64(bytes: &[u8]) -> Value {
    let mut digits = vec![0; bytes.len().div_ceil(3).saturating_mul(4)];
    let length = STANDARD.encode_slice(bytes, &mut digits).unwrap_or_default();
    digits.truncate(length);
    String::from_utf8(digits).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    const CHEAP: Argon2id = Argon2id { memory_kib: 8, passes: 1, lanes: 1 };

    fn manifest(id: &str) -> Value {
        Value::object([("asset_id", Value::copied(id)), ("version", "1.0.0".into())])
    }

    fn fresh(first: u8) -> Fresh {
        let mut next = first;
        let counted = |bytes: &mut [u8]| {
            bytes.fill(next);
            next += 1;
            Ok::<(), ()>(())
        };
        Fresh::draw(counted).unwrap()
    }

    #[test]
    fn what_is_closed_opens_with_its_password_for_its_manifest_alone() {
        let close = |fresh: &Fresh| close(&manifest("a:b"), b"payload", b"pw", fresh, CHEAP).unwrap();
        let envelope = close(&fresh(1));
        assert!(open(&manifest("a:b"), &envelope, b"pw").is_ok_and(|payload| payload.as_slice() == b"payload"));
        for (id, password) in [("a:b", "pW"), ("a:b", ""), ("a:b", "pw\n"), ("a:c", "pw")] {
            assert!(open(&manifest(id), &envelope, password.as_bytes()).is_err(), "{id} {password:?}");
        }
        assert!(close(&fresh(1)) == envelope, "the same for the same random bytes");
        for member in ["password_kdf", "key_slots", "iv", "tag", "ciphertext"] {
            assert!(close(&fresh(9)).get(member) != envelope.get(member), "{member} does not depend on them");
        }
    }

    #[test]
    fn nothing_is_written_that_a_reader_would_refuse_for_its_cost() {
        let close = |cost| close(&manifest("a:b"), b"payload", b"pw", &fresh(1), cost);
        assert!(close(Argon2id { memory_kib: 262_144, passes: 5, lanes: 1 }).is_none());
        assert!(close(Argon2id { lanes: 2, ..CHEAP }).is_none());
        assert!(super::super::closing::close(&Value::Null, b"payload", b"pw", &fresh(1), CHEAP).is_none());
    }
}
