//! Opens a password envelope: the password gives a key, that key unwraps the content key, and the content key opens the
//! payload, which is bound to the asset's identity and version.
//!
//! Every failure is the same refusal, `KDNA_DECRYPT_FAILED`: a caller cannot tell a wrong password from a damaged
//! envelope or from a derivation that would cost too much. Never looks at a recovery slot, and never returns a byte that
//! was not authenticated.

mod kdf;

use super::fault::{RuntimeFault, code};
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_kw::KwAes256;
use base64::engine::{Engine, general_purpose::STANDARD};
use kdf::Kdf;
use zeroize::Zeroizing;

use crate::foundation::value::Value;

/// Bytes of the key that the password gives, and of the content key.
const KEY: usize = 32;
const WRAPPED_KEY: usize = KEY + 8;
const IV: usize = 12;
const TAG: usize = 16;
/// Longest accepted salt; writers use 16 bytes.
const SALT: usize = 1024;

const PROFILE_VERSION: &str = "0.1.0";
const ENTRY: &str = "payload.kdnab";

/// What makes opening fail: anything.
struct Closed;

/// The decrypted payload bytes of an envelope that the password opens. `KDNA_DECRYPT_FAILED` for every failure.
pub(super) fn open(manifest: &Value, envelope: &Value, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, RuntimeFault> {
    try_open(manifest, envelope, password).map_err(|Closed| RuntimeFault::coded(code::DECRYPT_FAILED))
}

fn try_open(manifest: &Value, envelope: &Value, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Closed> {
    // What can be judged without the password is judged before the expensive derivation.
    let kdf = Kdf::of(envelope)?;
    demand(envelope, &[("profile_version", PROFILE_VERSION), ("alg", "AES-256-GCM"), ("key_wrapping", "AES-256-KW")])?;
    let associated = associated_data(manifest, envelope)?;
    let iv: [u8; IV] = fixed(envelope, "iv")?;
    let tag: [u8; TAG] = fixed(envelope, "tag")?;
    let wrapped: [u8; WRAPPED_KEY] = fixed(password_slot(envelope)?, "wrapped_key")?;
    let mut content = Zeroizing::new(decoded(text(envelope, "ciphertext")?, usize::MAX)?);

    let mut wrapping_key = Zeroizing::new([0; KEY]);
    kdf.derive(password, &mut wrapping_key)?;
    let mut content_key = Zeroizing::new([0; KEY]);
    unwrap_key(&wrapping_key, &wrapped, &mut content_key)?;
    decrypt(&content_key, &iv, &associated, &mut content, &tag)?;
    Ok(content)
}

/// RFC 3394, with its default initial value.
fn unwrap_key(
    wrapping_key: &[u8; KEY],
    wrapped: &[u8; WRAPPED_KEY],
    content_key: &mut [u8; KEY],
) -> Result<(), Closed> {
    let cipher = KwAes256::new(wrapping_key.into());
    cipher.unwrap_key(wrapped, content_key).map(drop).map_err(|_| Closed)
}

/// AES-256-GCM in place. Nothing is left in `content` where the tag does not fit.
fn decrypt(
    key: &[u8; KEY],
    iv: &[u8; IV],
    associated: &[u8],
    content: &mut Zeroizing<Vec<u8>>,
    tag: &[u8; TAG],
) -> Result<(), Closed> {
    let cipher = Aes256Gcm::new(key.into());
    cipher.decrypt_inout_detached(iv.into(), associated, content.as_mut_slice().into(), tag.into()).map_err(|_| Closed)
}

/// What the payload is bound to: profile, version, the asset's identity and version, and the entry.
fn associated_data(manifest: &Value, envelope: &Value) -> Result<Vec<u8>, Closed> {
    let lines =
        [text(envelope, "profile")?, PROFILE_VERSION, text(manifest, "asset_id")?, text(manifest, "version")?, ENTRY];
    Ok(lines.join("\n").into_bytes())
}

/// The first slot for a password.
fn password_slot(envelope: &Value) -> Result<&Value, Closed> {
    let slots = envelope.get("key_slots").and_then(Value::as_array).ok_or(Closed)?;
    slots.iter().find(|slot| slot.get("slot").and_then(Value::as_str) == Some("password")).ok_or(Closed)
}

/// Each member must be exactly its text.
fn demand(envelope: &Value, constants: &[(&str, &str)]) -> Result<(), Closed> {
    let holds = |(key, expected): &(&str, &str)| envelope.get(key).and_then(Value::as_str) == Some(*expected);
    if constants.iter().all(holds) { Ok(()) } else { Err(Closed) }
}

fn text<'a>(object: &'a Value, key: &str) -> Result<&'a str, Closed> {
    object.get(key).and_then(Value::as_str).ok_or(Closed)
}

/// A member in base64 of exactly `N` bytes.
fn fixed<const N: usize>(object: &Value, key: &str) -> Result<[u8; N], Closed> {
    decoded(text(object, key)?, N)?.try_into().map_err(|_| Closed)
}

/// Standard base64 with its padding and nothing else: no other alphabet, no spaces, no stray bits in the last digit.
fn decoded(text: &str, limit: usize) -> Result<Vec<u8>, Closed> {
    let room = base64::decoded_len_estimate(text.len());
    if room / 2 > limit {
        return Err(Closed);
    }
    let mut bytes = vec![0; room];
    let length = STANDARD.decode_slice(text, &mut bytes).map_err(|_| Closed)?;
    bytes.truncate(length);
    if length <= limit { Ok(bytes) } else { Err(Closed) }
}
