//! Writes protected assets for tests: honest ones with a cheap derivation, and every lie about one part of the envelope.
//! Public test values only.
#![allow(dead_code, clippy::unwrap_used)]

use super::asset_bytes::{Entry, zip};
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_kw::KwAes256;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::engine::{Engine, general_purpose::STANDARD};

pub(crate) const PASSWORD: &[u8] = "caf\u{e9} canary-7f3d".as_bytes();
/// A text that only the decrypted payload holds.
pub(crate) const HIDDEN: &str = "Only for whoever has the password.";
pub(crate) const ASSET_ID: &str = "kdna:t:locked";

/// A CBOR value, as far as envelopes need it.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Text(String),
    Number(u32),
    List(Vec<Item>),
    Map(Vec<(&'static str, Item)>),
}

impl Item {
    fn head(major: u8, value: usize) -> Vec<u8> {
        let major = major << 5;
        match u32::try_from(value).unwrap() {
            small @ 0..24 => vec![major | u8::try_from(small).unwrap()],
            byte @ 24..256 => vec![major | 0x18, u8::try_from(byte).unwrap()],
            large => [vec![major | 0x1a], large.to_be_bytes().to_vec()].concat(),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Item::Text(text) => [Self::head(3, text.len()), text.as_bytes().to_vec()].concat(),
            Item::Number(number) => Self::head(0, usize::try_from(*number).unwrap()),
            Item::List(items) => {
                [Self::head(4, items.len()), items.iter().flat_map(Item::bytes).collect::<Vec<u8>>()].concat()
            }
            Item::Map(members) => {
                let pairs = members.iter().flat_map(|(key, item)| [text(key).bytes(), item.bytes()].concat());
                [Self::head(5, members.len()), pairs.collect::<Vec<u8>>()].concat()
            }
        }
    }

    /// The same map with another value for a member; a new member where there was none.
    pub(crate) fn with(&self, path: &[&'static str], item: Item) -> Item {
        let (Item::Map(members), Some((key, rest))) = (self, path.split_first()) else { return item };
        let mut members = members.clone();
        match members.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = old.with(rest, item),
            None => members.push((key, item)),
        }
        Item::Map(members)
    }

    pub(crate) fn without(&self, key: &str) -> Item {
        let Item::Map(members) = self else { return self.clone() };
        Item::Map(members.iter().filter(|(known, _)| *known != key).cloned().collect())
    }

    pub(crate) fn member(&self, key: &str) -> &Item {
        let Item::Map(members) = self else { panic!("no map") };
        &members.iter().find(|(known, _)| *known == key).unwrap().1
    }

    pub(crate) fn as_text(&self) -> &str {
        let Item::Text(text) = self else { panic!("no text") };
        text
    }
}

pub(crate) fn text(text: &str) -> Item {
    Item::Text(text.to_owned())
}

pub(crate) fn binary(bytes: &[u8]) -> Item {
    let mut room = vec![0; bytes.len().div_ceil(3) * 4];
    let length = STANDARD.encode_slice(bytes, &mut room).unwrap();
    text(std::str::from_utf8(&room[..length]).unwrap())
}

/// The least judgment that is valid.
pub(crate) fn judgment() -> Item {
    let core = Item::Map(vec![("highest_question", text("Why?")), ("axioms", Item::List(vec![text(HIDDEN)]))]);
    Item::Map(vec![("profile", text("kdna.payload.judgment")), ("profile_version", text("0.1.0")), ("core", core)])
}

/// A judgment of at least this many bytes.
pub(crate) fn long_judgment(bytes: usize) -> Item {
    judgment().with(&["note"], text(&"n".repeat(bytes)))
}

const SALT: &[u8] = b"0123456789abcdef";

/// A key from [`PASSWORD`], and what an envelope says about it.
struct Derived {
    profile: &'static str,
    kdf: &'static str,
    parameters: (&'static str, Item),
    key: [u8; 32],
}

fn derived_by_argon2id(password: &[u8], (memory, passes, lanes): (u32, u32, u32)) -> Derived {
    let parameters = Item::Map(vec![
        ("salt", binary(SALT)),
        ("memory_kib", Item::Number(memory)),
        ("iterations", Item::Number(passes)),
        ("parallelism", Item::Number(lanes)),
    ]);
    let params = Params::new(memory, passes, lanes, Some(32)).unwrap();
    let mut key = [0; 32];
    let mut blocks = vec![Block::new(); params.block_count()];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(password, SALT, &mut key, blocks.as_mut_slice())
        .unwrap();
    let parameters = ("password_kdf", parameters);
    Derived { profile: "kdna.encryption.password", kdf: "Argon2id", parameters, key }
}

fn derived_by_scrypt(password: &[u8]) -> Derived {
    let mut key = [0; 32];
    scrypt::scrypt(password, SALT, &scrypt::Params::new(15, 8, 1).unwrap(), &mut key).unwrap();
    let parameters = ("scrypt_params", Item::Map(vec![("salt", binary(SALT))]));
    Derived { profile: "kdna.encryption.password.scrypt", kdf: "scrypt-sha256", parameters, key }
}

/// An envelope around a plaintext: only the members that are read, so that no bit of it is without meaning. `cost`:
/// KiB, passes and lanes of Argon2id; `None` for scrypt.
pub(crate) fn envelope(plaintext: &[u8], cost: Option<(u32, u32, u32)>) -> Item {
    envelope_for(PASSWORD, plaintext, cost)
}

/// The same for another password.
pub(crate) fn envelope_for(password: &[u8], plaintext: &[u8], cost: Option<(u32, u32, u32)>) -> Item {
    let derived = cost.map_or_else(|| derived_by_scrypt(password), |cost| derived_by_argon2id(password, cost));
    let Derived { profile, kdf, parameters, key } = derived;
    let content_key = [7; 32];
    let mut wrapped = [0; 40];
    KwAes256::new(&key.into()).wrap_key(&content_key, &mut wrapped).unwrap();
    let associated = format!("{profile}\n0.1.0\n{ASSET_ID}\n1.0.0\npayload.kdnab");
    let mut content = plaintext.to_vec();
    let cipher = Aes256Gcm::new(&content_key.into());
    let tag =
        cipher.encrypt_inout_detached(&[9; 12].into(), associated.as_bytes(), content.as_mut_slice().into()).unwrap();
    Item::Map(vec![
        ("profile", text(profile)),
        ("profile_version", text("0.1.0")),
        ("alg", text("AES-256-GCM")),
        ("kdf", text(kdf)),
        ("key_wrapping", text("AES-256-KW")),
        parameters,
        ("key_slots", Item::List(vec![slot("password", &wrapped)])),
        ("iv", binary(&[9; 12])),
        ("tag", binary(&tag)),
        ("ciphertext", binary(&content)),
    ])
}

pub(crate) fn slot(name: &str, wrapped: &[u8]) -> Item {
    Item::Map(vec![("slot", text(name)), ("wrapped_key", binary(wrapped))])
}

/// An asset with this envelope, and nothing that protects it besides: no checksums, no CRC-32.
pub(crate) fn asset(envelope: &[u8], profile: &str) -> Vec<u8> {
    asset_named(envelope, profile, ASSET_ID, "1.0.0")
}

pub(crate) fn asset_named(envelope: &[u8], profile: &str, id: &str, version: &str) -> Vec<u8> {
    let manifest = format!(
        r#"{{"format_version":"0.1.0","asset_id":"{id}","asset_uid":"urn:uuid:t","asset_type":"domain","title":"Locked","version":"{version}","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"}},"payload":{{"path":"payload.kdnab","encoding":"cbor","encrypted":true}},"access":"licensed","entitlement":{{"profile":"password"}},"encryption":{{"profile":"{profile}","profile_version":"0.1.0","encrypted_entries":["payload.kdnab"]}}}}"#
    );
    zip(&[
        Entry::stored("mimetype", b"application/vnd.kdna.asset"),
        Entry::stored("kdna.json", manifest.as_bytes()),
        Entry::stored("payload.kdnab", envelope),
    ])
}
