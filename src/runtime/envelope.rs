//! Opens a password envelope (and [`closing`] makes one): the password gives a key, that key unwraps the content key, and
//! the content key opens the payload, which is bound to the asset's identity and version.
//!
//! Every failure has the same code, `KDNA_DECRYPT_FAILED`: a caller cannot tell a wrong password from a damaged envelope.
//! Only a derivation that would cost too much is told apart, by a word beside the code: its cost is in the clear, and no
//! password was tried. Never looks at a recovery slot, and never returns a byte that
//! was not authenticated.

mod closing;
mod kdf;

pub use closing::{Argon2id, Fresh};
pub(super) use closing::{PROFILE, close};

use super::fault::{RuntimeFault, code};
use crate::foundation::value::Tree;
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_kw::KwAes256;
use base64::engine::{Engine, general_purpose::STANDARD};
use kdf::Kdf;
use zeroize::Zeroizing;

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

impl From<Unopened> for Closed {
    fn from(_: Unopened) -> Self {
        Self
    }
}

/// Why nothing was opened.
enum Unopened {
    Closed,
    TooCostly,
}

impl From<Closed> for Unopened {
    fn from(Closed: Closed) -> Self {
        Self::Closed
    }
}

/// The decrypted payload bytes of an envelope that the password opens. `KDNA_DECRYPT_FAILED` for every failure.
pub(super) fn open(
    manifest: &Tree<'_>,
    envelope: &Tree<'_>,
    password: &[u8],
) -> Result<Zeroizing<Vec<u8>>, RuntimeFault> {
    try_open(manifest, envelope, password).map_err(|unopened| match unopened {
        Unopened::Closed => RuntimeFault::coded(code::DECRYPT_FAILED),
        Unopened::TooCostly => RuntimeFault::TOO_COSTLY,
    })
}

fn try_open(manifest: &Tree<'_>, envelope: &Tree<'_>, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, Unopened> {
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

/// AES-256-GCM in place. Where the tag does not fit nothing is decrypted.
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
fn associated_data(manifest: &Tree<'_>, envelope: &Tree<'_>) -> Result<Vec<u8>, Closed> {
    let lines =
        [text(envelope, "profile")?, PROFILE_VERSION, text(manifest, "asset_id")?, text(manifest, "version")?, ENTRY];
    Ok(lines.join("\n").into_bytes())
}

/// The first slot for a password.
fn password_slot<'v, 'a>(envelope: &'v Tree<'a>) -> Result<&'v Tree<'a>, Closed> {
    let slots = envelope.get("key_slots").and_then(Tree::as_array).ok_or(Closed)?;
    slots.iter().find(|slot| slot.get("slot").and_then(Tree::as_str) == Some("password")).ok_or(Closed)
}

/// Each member must be exactly its text.
fn demand(envelope: &Tree<'_>, constants: &[(&str, &str)]) -> Result<(), Closed> {
    let holds = |(key, expected): &(&str, &str)| envelope.get(key).and_then(Tree::as_str) == Some(*expected);
    if constants.iter().all(holds) { Ok(()) } else { Err(Closed) }
}

fn text<'v>(object: &'v Tree<'_>, key: &str) -> Result<&'v str, Closed> {
    object.get(key).and_then(Tree::as_str).ok_or(Closed)
}

/// A member in base64 of exactly `N` bytes.
fn fixed<const N: usize>(object: &Tree<'_>, key: &str) -> Result<[u8; N], Closed> {
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

#[cfg(test)]
#[allow(clippy::print_stdout, clippy::string_slice, reason = "a skipped test says so; hexadecimal is ASCII")]
mod tests {
    use super::*;
    use crate::foundation::json::read_javascript;
    use crate::foundation::value::Value;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// RFC 3394, section 4.6.
    #[test]
    fn the_published_key_wrap_vector_unwraps_and_no_other_does() {
        let key: [u8; KEY] =
            hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f").try_into().unwrap();
        let wrapped: [u8; WRAPPED_KEY] =
            hex("28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21").try_into().unwrap();
        let mut content_key = [0; KEY];
        assert!(unwrap_key(&key, &wrapped, &mut content_key).is_ok());
        assert_eq!(content_key.as_slice(), hex("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f"));
        for at in 0..WRAPPED_KEY * 8 {
            let mut damaged = wrapped;
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(unwrap_key(&key, &damaged, &mut content_key).is_err(), "bit {at}");
        }
    }

    #[test]
    fn only_standard_base64_is_read() {
        assert!(decoded("AAEC/w==", 4).is_ok_and(|bytes| bytes == [0, 1, 2, 255]));
        assert!(decoded("AAEC/w==", 3).is_err(), "too long");
        for lenient in
            ["AAEC_w==", "AAEC/w", "AAEC/w=", "AAEC /w==", "AAEC/w==\n", "AAEC/x==", "AAEC/w===", "=", "AAEC/w==AAAA"]
        {
            assert!(decoded(lenient, 64).is_err(), "{lenient:?}");
        }
    }

    /// The published envelopes are of another profile, which nothing here opens; their parts are made the same way.
    #[test]
    fn published_keys_and_plaintexts_are_reproduced() {
        let Some(shared) = std::env::var_os("KDNA_SHARED").filter(|value| !value.is_empty()) else {
            println!("skipped: KDNA_SHARED is not set");
            return;
        };
        let folder = std::path::Path::new(&shared).join("vectors/core/envelope-aead");
        let mut opened = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let vector = read_javascript(&std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
            let (inputs, expected) = (vector.get("inputs").unwrap(), vector.get("expected").unwrap());
            let kek: [u8; KEY] = fixed(expected, "kek").ok().unwrap();
            let mut derived = [0; KEY];
            let kdf = Kdf::of(&as_readable(inputs)).ok().unwrap();
            assert!(kdf.derive(text(inputs, "password").ok().unwrap().as_bytes(), &mut derived).is_ok());
            assert_eq!(derived, kek);
            for (envelope, associated, other) in [
                ("envelope", "aad", None),
                ("envelope_entry_1", "aad_entry_1", Some("aad_entry_2")),
                ("envelope_entry_2", "aad_entry_2", Some("aad_entry_1")),
            ] {
                let Some(envelope) = expected.get(envelope) else { continue };
                assert!(open_parts(&kek, envelope, inputs, associated), "{associated}");
                assert!(other.is_none_or(|other| !open_parts(&kek, envelope, inputs, other)), "bound to its entry");
                opened += 1;
            }
        }
        assert_eq!(opened, 4);
    }

    /// The vector's derivation, in the words of the profiles that are read here.
    fn as_readable(inputs: &Value) -> Value {
        let (profile, kdf, parameters) = if inputs.get("argon2_params").is_some() {
            ("kdna.encryption.password", "Argon2id", "password_kdf")
        } else {
            ("kdna.encryption.password.scrypt", "scrypt-sha256", "scrypt_params")
        };
        let salt = Value::object([("salt", Value::copied(text(inputs, "salt").ok().unwrap()))]);
        Value::object([("profile", profile.into()), ("kdf", kdf.into()), (parameters, salt)])
    }

    fn open_parts(kek: &[u8; KEY], envelope: &Value, inputs: &Value, associated: &str) -> bool {
        let content_key: [u8; KEY] = fixed(inputs, "cek").ok().unwrap();
        let wrapped = fixed(password_slot(envelope).ok().unwrap(), "wrapped_key").ok().unwrap();
        let mut unwrapped = [0; KEY];
        assert!(unwrap_key(kek, &wrapped, &mut unwrapped).is_ok());
        assert_eq!(unwrapped, content_key);
        let mut content = Zeroizing::new(decoded(text(envelope, "ciphertext").ok().unwrap(), 1024).ok().unwrap());
        let (iv, tag) = (fixed(envelope, "iv").ok().unwrap(), fixed(envelope, "tag").ok().unwrap());
        let associated = text(inputs, associated).ok().unwrap().as_bytes();
        decrypt(&content_key, &iv, associated, &mut content, &tag).is_ok()
            && content.as_slice() == text(inputs, "plaintext").ok().unwrap().as_bytes()
    }
}
