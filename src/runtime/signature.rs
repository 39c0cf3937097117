//! The signature entry, where signatures are switched on: that an asset's content is what a key signed. The key is the
//! asset's own, so this proves integrity and never whom to trust; nobody is asked about a key, and none is remembered.

use super::asset::Asset;
use super::container::SIGNATURE;
use super::digests::content_tree;
use super::fault::code;
use crate::foundation::digest::{Digest, from_hex};
use crate::foundation::json::read_javascript;
use crate::foundation::value::{Object, Tree, Value};
use ed25519_dalek::{Signature as Ed25519, VerifyingKey};

const PROFILE: &str = "kdsig.ed25519";
const VERSION: &str = "0.1.0";
/// The members of the document, all of them texts, in the order in which they are asked for.
const FIELDS: [&str; 6] = ["algorithm", "content_digest", "profile", "profile_version", "public_key", "signature"];

/// What the gate says: `absent`, `verified` with its evidence, or `invalid` with one problem.
pub(super) enum Signature {
    Absent,
    Verified { key_fingerprint: Digest, content_digest: Digest },
    Invalid(Problem),
}

/// Why a signature does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    NotJson,
    NotObject,
    NotText(&'static str),
    OtherFields,
    Profile,
    Version,
    Algorithm,
    DigestForm,
    KeyForm,
    SignatureForm,
    Content,
    Key,
    Signature,
}

impl Problem {
    /// The problem as gates list it.
    pub(super) fn text(self) -> String {
        let text = match self {
            Problem::NotJson => "not valid JSON",
            Problem::NotObject => "must be an object",
            Problem::NotText(field) => return format!("signature: {field} must be a string"),
            Problem::OtherFields => "must NOT have additional properties",
            Problem::Profile => "unsupported profile (expected kdsig.ed25519)",
            Problem::Version => "unsupported profile_version (expected 0.1.0)",
            Problem::Algorithm => "unsupported algorithm (expected ed25519)",
            Problem::DigestForm => "content_digest must be sha256 and 64 lower-case hexadecimal digits",
            Problem::KeyForm => "public_key must be 64 lower-case hexadecimal digits",
            Problem::SignatureForm => "signature must be 128 lower-case hexadecimal digits",
            Problem::Content => "content_digest does not match the content",
            Problem::Key => "public_key is no usable key",
            Problem::Signature => "the signature does not verify",
        };
        format!("signature: {text}")
    }

    /// The code of the issue that a plan makes of it.
    const fn code(self) -> &'static str {
        match self {
            Problem::Version => code::SIGNATURE_VERSION_UNSUPPORTED,
            Problem::Profile | Problem::Algorithm => code::SIGNATURE_PROFILE_UNSUPPORTED,
            _ => code::SIGNATURE_FAILED,
        }
    }
}

/// The code for a problem's text, if it is one of a signature that is not supported.
pub(super) fn unsupported_code(text: &str) -> Option<&'static str> {
    let unsupported = [Problem::Profile, Problem::Version, Problem::Algorithm];
    unsupported.into_iter().find(|problem| problem.text() == text).map(Problem::code)
}

impl Signature {
    /// Verifies the entry against the content, if there is one.
    pub(super) fn of(asset: &Asset<'_>) -> Self {
        match asset.container.entry(SIGNATURE) {
            None => Signature::Absent,
            Some(bytes) => verify(asset, bytes).unwrap_or_else(Signature::Invalid),
        }
    }

    pub(super) const fn is_valid(&self) -> bool {
        !matches!(self, Signature::Invalid(_))
    }

    /// The word in plans, validation results and Capsules.
    pub(super) const fn state(&self) -> &'static str {
        match self {
            Signature::Absent => "absent",
            Signature::Verified { .. } => "verified",
            Signature::Invalid(_) => "invalid",
        }
    }

    /// What was verified, without the state; `None` unless it was.
    pub(super) fn evidence(&self) -> Option<Object> {
        let Signature::Verified { key_fingerprint, content_digest } = *self else { return None };
        let members = [
            ("profile", Value::from(PROFILE)),
            ("profile_version", VERSION.into()),
            ("key_fingerprint", key_fingerprint.into()),
            ("content_digest", content_digest.into()),
        ];
        Some(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// `signature` of a Capsule.
    pub(super) fn shown(&self) -> Value {
        let mut shown = Object::with_room_for(1);
        shown.insert("state", Tree::text(self.state()));
        for (key, value) in self.evidence().unwrap_or_default() {
            shown.insert(key, value);
        }
        shown.into()
    }
}

fn verify(asset: &Asset<'_>, bytes: &[u8]) -> Result<Signature, Problem> {
    let document = read_javascript(bytes).map_err(|_| Problem::NotJson)?;
    let members = document.as_object().ok_or(Problem::NotObject)?;
    let text = |field| members.get(field).and_then(Value::as_str).ok_or(Problem::NotText(field));
    for field in FIELDS {
        text(field)?;
    }
    if members.len() != FIELDS.len() {
        return Err(Problem::OtherFields);
    }
    for (field, expected, otherwise) in [
        ("profile", PROFILE, Problem::Profile),
        ("profile_version", VERSION, Problem::Version),
        ("algorithm", "ed25519", Problem::Algorithm),
    ] {
        demand(text(field)? == expected, otherwise)?;
    }
    let content_digest = Digest::parse(text("content_digest")?).ok_or(Problem::DigestForm)?;
    let key: [u8; 32] = from_hex(text("public_key")?).ok_or(Problem::KeyForm)?;
    let signature: [u8; 64] = from_hex(text("signature")?).ok_or(Problem::SignatureForm)?;
    demand(content_tree(asset).is_ok_and(|actual| actual == content_digest), Problem::Content)?;
    let message = format!("{PROFILE}:{VERSION}:{content_digest}");
    let verifier = VerifyingKey::from_bytes(&key).map_err(|_| Problem::Key)?;
    let verified = verifier.verify_strict(message.as_bytes(), &Ed25519::from_bytes(&signature));
    demand(verified.is_ok(), Problem::Signature)?;
    Ok(Signature::Verified { key_fingerprint: Digest::of(&key), content_digest })
}

fn demand(holds: bool, otherwise: Problem) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(otherwise) }
}
