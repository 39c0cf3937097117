//! The consent document, version 0.1.0: the one reader and the one writer. Never opens a file and never compares with
//! the present; that is `store` and `binding`.

use crate::foundation::digest::Digest;
use crate::foundation::json::{JsonFault, read_strict, write};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};

/// `document_type` of every consent document.
pub const DOCUMENT_TYPE: &str = "kdna.mcp.host-processing-consent";
/// The version read and written here.
pub const SCHEMA_VERSION: &str = "0.1.0";
/// The only approval source of 0.1.0.
pub const APPROVAL_SOURCE: &str = "user_explicit_natural_language";
/// The only kind of use of 0.1.0.
pub const USE_KIND: &str = "workspace_attachment";
/// The kind of a destination with a name.
pub const NAMED_REMOTE: &str = "named_remote";
/// The kind of a claim that this program cannot verify.
pub const VERIFIED_LOCAL_ONLY: &str = "verified_local_only";

/// The members, in the order they are written. A document has all of them and no other, in any order.
pub const FIELDS: [&str; 11] = [
    "document_type",
    "schema_version",
    "nonce",
    "host_id",
    "workspace_root_digest",
    "asset_digest",
    "use_boundary",
    "processing_boundary",
    "capsule_profile",
    "approval_source",
    "approved",
];

/// The members of `use_boundary`, in the only order that binds.
pub const USE_FIELDS: [&str; 3] = ["kind", "attachment_id", "scope_digest"];

/// A well-formed consent document. It says what somebody allowed, not yet that it is about the load at hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    digest: Digest,
    nonce: String,
    host_id: String,
    workspace_root_digest: Digest,
    asset_digest: Digest,
    use_boundary: Object,
    processing_boundary: Object,
    capsule_profile: String,
}

impl Consent {
    /// Reads a document of at most [`limits::CONSENT_BYTES`] bytes. Refusals: `consent_not_private` (too long),
    /// `consent_not_json`, `consent_ambiguous_json`, then in the order of the contract `consent_fields_wrong`,
    /// `consent_version_unknown`, `consent_nonce_invalid`, `consent_approval_missing`, `consent_boundary_invalid`.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        if u64::try_from(bytes.len()).map_or(true, |length| length > limits::CONSENT_BYTES) {
            return Err(Reason::ConsentNotPrivate.into());
        }
        let document = read_strict(bytes, limits::CONSENT_DEPTH).map_err(|fault| match fault {
            JsonFault::DuplicateKey | JsonFault::TooDeep => Reason::ConsentAmbiguousJson,
            _ => Reason::ConsentNotJson,
        })?;
        let object = document.as_object().filter(|object| object.has_exactly(&FIELDS));
        Self::from_fields(Digest::of(bytes), object.ok_or(Reason::ConsentFieldsWrong)?).map_err(Refusal::from)
    }

    fn from_fields(digest: Digest, object: &Object) -> Result<Self, Reason> {
        let says = |key: &str, word: &str| object.get(key).and_then(Value::as_str) == Some(word);
        if !says("document_type", DOCUMENT_TYPE) || !says("schema_version", SCHEMA_VERSION) {
            return Err(Reason::ConsentVersionUnknown);
        }
        let nonce = text(object, "nonce").filter(|nonce| is_nonce(nonce)).ok_or(Reason::ConsentNonceInvalid)?;
        let host_id = text(object, "host_id").ok_or(Reason::ConsentFieldsWrong)?;
        let workspace_root_digest = digest_of(object, "workspace_root_digest").ok_or(Reason::ConsentFieldsWrong)?;
        let asset_digest = digest_of(object, "asset_digest").ok_or(Reason::ConsentFieldsWrong)?;
        let use_boundary = nested(object, "use_boundary").ok_or(Reason::ConsentFieldsWrong)?;
        if !use_boundary.has_exactly(&USE_FIELDS) {
            return Err(Reason::ConsentFieldsWrong);
        }
        let capsule_profile = text(object, "capsule_profile").ok_or(Reason::ConsentFieldsWrong)?;
        if !says("approval_source", APPROVAL_SOURCE) || object.get("approved") != Some(&Value::Bool(true)) {
            return Err(Reason::ConsentApprovalMissing);
        }
        let processing_boundary = nested(object, "processing_boundary").ok_or(Reason::ConsentBoundaryInvalid)?;
        Ok(Self {
            digest,
            nonce,
            host_id,
            workspace_root_digest,
            asset_digest,
            use_boundary,
            processing_boundary,
            capsule_profile,
        })
    }

    /// SHA-256 of the file's bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
    /// 32 lowercase hexadecimal digits, drawn when the document was written.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }
    /// The host that was allowed; foreign text until it was compared.
    pub fn host_id(&self) -> &str {
        &self.host_id
    }
    /// Digest of the host root's path.
    pub fn workspace_root_digest(&self) -> Digest {
        self.workspace_root_digest
    }
    /// Digest of the asset.
    pub fn asset_digest(&self) -> Digest {
        self.asset_digest
    }
    /// The use that was allowed, members in the document's order.
    pub fn use_boundary(&self) -> &Object {
        &self.use_boundary
    }
    /// Where the content may be processed; not judged yet.
    pub fn processing_boundary(&self) -> &Object {
        &self.processing_boundary
    }
    /// The profile that was allowed.
    pub fn capsule_profile(&self) -> &str {
        &self.capsule_profile
    }
}

/// What a new document says. Made by `ConsentDraft::facts`, after the person said yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentFacts {
    /// From [`nonce`].
    pub nonce: String,
    /// A host identifier.
    pub host_id: String,
    /// Digest of the host root's path.
    pub workspace_root_digest: Digest,
    /// Digest of the asset.
    pub asset_digest: Digest,
    /// The attachment.
    pub attachment_id: String,
    /// Digest of the attachment's scope.
    pub scope_digest: Digest,
    /// The named destination.
    pub processor: String,
    /// The capsule profile.
    pub profile: String,
}

impl ConsentFacts {
    /// The document: two-space JSON and a final newline.
    pub fn bytes(&self) -> Vec<u8> {
        let document = Value::object([
            ("document_type", Value::from(DOCUMENT_TYPE)),
            ("schema_version", SCHEMA_VERSION.into()),
            ("nonce", self.nonce.as_str().into()),
            ("host_id", self.host_id.as_str().into()),
            ("workspace_root_digest", self.workspace_root_digest.into()),
            ("asset_digest", self.asset_digest.into()),
            ("use_boundary", Value::Object(use_boundary(&self.attachment_id, self.scope_digest))),
            (
                "processing_boundary",
                Value::object([("kind", NAMED_REMOTE.into()), ("processor", self.processor.as_str().into())]),
            ),
            ("capsule_profile", self.profile.as_str().into()),
            ("approval_source", APPROVAL_SOURCE.into()),
            ("approved", true.into()),
        ]);
        // Texts and one boolean always have a JSON form; no bytes at all would be refused by `install`.
        write::pretty(&document).map(String::into_bytes).unwrap_or_default()
    }
}

/// The use boundary as it must stand in a document, members in the order that binds.
pub fn use_boundary(attachment_id: &str, scope_digest: Digest) -> Object {
    let values = [Value::from(USE_KIND), attachment_id.into(), scope_digest.into()];
    USE_FIELDS.into_iter().map(str::to_owned).zip(values).collect()
}

/// The nonce as it is written: 16 random bytes in lowercase hexadecimal digits.
pub fn nonce(random: [u8; 16]) -> String {
    crate::foundation::digest::hex(&random)
}

fn is_nonce(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn text(object: &Object, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn digest_of(object: &Object, key: &str) -> Option<Digest> {
    object.get(key).and_then(Value::as_str).and_then(Digest::parse)
}

fn nested(object: &Object, key: &str) -> Option<Object> {
    object.get(key).and_then(Value::as_object).cloned()
}
