//! A protected asset from a public one: the payload goes into a password envelope, the manifest says so, the checksums are
//! made anew, and every other entry stays as it is and as readable as it was. Works on bytes alone and draws no randomness.

use super::{PackFault, Parts, Payload, pack, payload_cbor};
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::value::{Object, Value};
use crate::runtime::asset::Asset;
use crate::runtime::container::{CHECKSUMS, Container, MANIFEST, MIMETYPE, PAYLOAD};
use crate::runtime::decision::{NEEDS_PASSWORD, decide};
use crate::runtime::envelope::{Argon2id, Fresh, PROFILE, close};
use crate::runtime::manifest::declares_encryption;
use crate::runtime::plan::PlanInput;
use crate::runtime::validation::Validation;

/// Why an asset is not protected. Quotes nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtectFault {
    /// No valid asset, or one that could not be loaded: remote, with dependencies, for another loader, behind an
    /// entitlement that is no password.
    #[error("only a valid asset that is public, or asks for nothing but a password, can be protected")]
    NotLoadable,
    /// The payload is an envelope already.
    #[error("it is protected already")]
    Protected,
    /// A password of no bytes.
    #[error("the password is empty")]
    NoPassword,
    /// The payload is larger than an envelope may hold.
    #[error("the payload is larger than a protected one may be (786,432 bytes)")]
    TooLarge,
}

impl ProtectFault {
    const ALL: [ProtectFault; 4] = [Self::NotLoadable, Self::Protected, Self::NoPassword, Self::TooLarge];

    /// The one word that the worker says of it.
    pub const fn word(self) -> &'static str {
        match self {
            ProtectFault::NotLoadable => "PROTECT_NOT_LOADABLE",
            ProtectFault::Protected => "PROTECT_PROTECTED",
            ProtectFault::NoPassword => "PROTECT_NO_PASSWORD",
            ProtectFault::TooLarge => "PROTECT_TOO_LARGE",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.word() == word)
    }
}

impl From<PackFault> for ProtectFault {
    fn from(_: PackFault) -> Self {
        ProtectFault::TooLarge
    }
}

/// Bytes of a payload whose ciphertext is, in base64, no longer than a text of an entry may be.
const PAYLOAD_BYTES: usize = limits::ENTRY_TEXT_UNITS / 4 * 3;

/// The protected form of a packaged asset. Deterministic for the same bytes, password, cost and random part.
pub fn protect(asset: &[u8], password: &[u8], fresh: &Fresh, cost: Argon2id) -> Result<Vec<u8>, ProtectFault> {
    let container = Container::read(asset).map_err(|_| ProtectFault::NotLoadable)?;
    let asset = Asset::read_for_load(&container).map_err(|_| ProtectFault::NotLoadable)?;
    demand_loadable(&asset)?;
    if password.is_empty() {
        return Err(ProtectFault::NoPassword);
    }
    let plain = asset.entry(PAYLOAD);
    if plain.len() > PAYLOAD_BYTES {
        return Err(ProtectFault::TooLarge);
    }
    let manifest = protected(&asset.manifest.to_value());
    let envelope = close(&manifest, plain, password, fresh, cost).ok_or(ProtectFault::NotLoadable)?;
    let manifest = write::pretty(&manifest).map_err(|_| ProtectFault::NotLoadable)?;
    let others = asset.container.entries.iter();
    let others = others.filter(|entry| ![MIMETYPE, MANIFEST, PAYLOAD, CHECKSUMS].contains(&&*entry.name));
    let attachments = others.map(|entry| (entry.name.to_string(), entry.data.to_vec())).collect();
    let payload = Payload::Cbor(payload_cbor(&envelope)?);
    Ok(pack(&Parts { manifest: manifest.into_bytes(), payload, attachments })?)
}

/// Valid, in the clear, and to be loaded with nothing more than a password.
fn demand_loadable(asset: &Asset<'_>) -> Result<(), ProtectFault> {
    let validation = Validation::of(asset).map_err(|_| ProtectFault::NotLoadable)?;
    if validation.is_valid() && declares_encryption(&asset.manifest) {
        return Err(ProtectFault::Protected);
    }
    let outcome = decide(&asset.manifest, &validation, &PlanInput::default()).outcome;
    if outcome.loadable || outcome.state == NEEDS_PASSWORD.state { Ok(()) } else { Err(ProtectFault::NotLoadable) }
}

/// Digests over the public form: not true of the protected one, and a way to try out guesses at the content.
const STALE: [&str; 4] = ["asset_digest", "container_sha256", "content_digest", "digests"];

/// The manifest of the protected form.
fn protected(manifest: &Value) -> Value {
    let mut manifest = members(Some(manifest));
    for stale in STALE {
        manifest.remove(stale);
    }
    if manifest.contains_key("authoring") {
        change(&mut manifest, "authoring", |authoring| drop(authoring.remove("content_digest")));
    }
    change(&mut manifest, "payload", |payload| drop(payload.insert("encrypted", true)));
    manifest.insert("access", "licensed");
    change(&mut manifest, "entitlement", |entitlement| {
        for (key, value) in
            [("profile", Value::from("password")), ("offline", true.into()), ("revocable", false.into())]
        {
            entitlement.insert(key, value);
        }
    });
    let encryption = [
        ("profile", Value::from(PROFILE)),
        ("profile_version", "0.1.0".into()),
        ("encrypted_entries", vec![PAYLOAD.into()].into()),
    ];
    manifest.insert("encryption", Value::object(encryption));
    if manifest.contains_key("load_contract") {
        change(&mut manifest, "load_contract", |contract| change(contract, "profiles", demand_decryption));
    }
    manifest.into()
}

/// Every profile of a protected asset needs the password, whatever the public form said.
fn demand_decryption(profiles: &mut Object) {
    let names: Vec<String> = profiles.keys().map(str::to_owned).collect();
    for name in names {
        change(profiles, &name, |profile| {
            if profile.contains_key("requires_decryption") {
                profile.insert("requires_decryption", true);
            }
        });
    }
}

/// Changes a part that is a map; a part that is none stays, a missing one is made.
fn change(whole: &mut Object, key: &str, how: impl FnOnce(&mut Object)) {
    if whole.get(key).is_none_or(|part| part.as_object().is_some()) {
        let mut part = members(whole.get(key));
        how(&mut part);
        whole.insert(key.to_owned(), part);
    }
}

fn members(part: Option<&Value>) -> Object {
    part.and_then(Value::as_object).cloned().unwrap_or_default()
}
