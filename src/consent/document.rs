//! The consent document, versions 0.1.0 and 0.2.0: the one reader and the one writer. Never opens a file and never compares
//! with the present; that is `store` and `binding`.
//!
//! In 0.1.0 `workspace_root_digest` means the server's root. In 0.2.0 that root is `host_root_digest`, and
//! `workspace_root_digest` means the directory of the record.

use crate::foundation::digest::Digest;
use crate::foundation::json::{JsonFault, read_strict, write};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};

/// `document_type` of every consent document.
pub const DOCUMENT_TYPE: &str = "kdna.mcp.host-processing-consent";
/// The older version: no time, no entry, no question.
pub const SCHEMA_VERSION: &str = "0.1.0";
/// The version that is written unless the older one is asked for.
pub const TIMED_SCHEMA_VERSION: &str = "0.2.0";
/// The only approval source.
pub const APPROVAL_SOURCE: &str = "user_explicit_natural_language";
/// The only kind of use.
pub const USE_KIND: &str = "workspace_attachment";
/// The kind of a destination with a name.
pub const NAMED_REMOTE: &str = "named_remote";
/// The kind of a claim that this program cannot verify.
pub const VERIFIED_LOCAL_ONLY: &str = "verified_local_only";

/// The members of 0.1.0, in the order they are written. A document has all of them and no other, in any order.
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

/// The members of 0.2.0, in the only order in which they are written and accepted.
pub const TIMED_FIELDS: [&str; 16] = [
    "document_type",
    "schema_version",
    "nonce",
    "host_id",
    "host_root_digest",
    "workspace_root_digest",
    "asset_digest",
    "use_boundary",
    "entry_digest",
    "processing_boundary",
    "capsule_profile",
    "approval_source",
    "prompt_digest",
    "issued_at",
    "expires_at",
    "approved",
];

/// Which version a new document is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schema {
    /// 0.1.0, for readers that know no other.
    Plain,
    /// 0.2.0.
    #[default]
    Timed,
}

impl Schema {
    /// Reads `0.1.0` or `0.2.0`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            SCHEMA_VERSION => Some(Self::Plain),
            TIMED_SCHEMA_VERSION => Some(Self::Timed),
            _ => None,
        }
    }
}

/// What 0.2.0 says beyond 0.1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Digest of the path of the directory that holds the record.
    pub workspace_root_digest: Digest,
    /// Digest of the attachment's whole entry, as it stood in the record.
    pub entry_digest: Digest,
    /// Digest of the question as the person saw it.
    pub prompt_digest: Digest,
    /// When the person allowed it.
    pub issued_at: Timestamp,
    /// From when on it holds no more; `None`: until it is revoked.
    pub expires_at: Option<Timestamp>,
}

/// The members of `use_boundary`, in the only order that binds.
pub const USE_FIELDS: [&str; 3] = ["kind", "attachment_id", "scope_digest"];

/// A well-formed consent document. It says what somebody allowed, not yet that it is about the load at hand.
#[derive(Clone, Debug, PartialEq)]
pub struct Consent {
    digest: Digest,
    nonce: String,
    host_id: String,
    host_root_digest: Digest,
    asset_digest: Digest,
    use_boundary: Object,
    processing_boundary: Object,
    capsule_profile: String,
    timed: Option<Timed>,
}

impl Consent {
    /// Reads a document of at most [`limits::CONSENT_BYTES`] bytes. Refusals: `consent_not_private` (too long),
    /// `consent_not_json`, `consent_ambiguous_json`, then in the order of the contract `consent_fields_wrong`,
    /// `consent_version_unknown`, `consent_nonce_invalid`, `consent_approval_missing`, `consent_boundary_invalid`,
    /// `consent_times_invalid`.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        if u64::try_from(bytes.len()).map_or(true, |length| length > limits::CONSENT_BYTES) {
            return Err(Reason::ConsentNotPrivate.into());
        }
        let document = read_strict(bytes, limits::CONSENT_DEPTH).map_err(|fault| match fault {
            JsonFault::DuplicateKey | JsonFault::TooDeep => Reason::ConsentAmbiguousJson,
            _ => Reason::ConsentNotJson,
        })?;
        let object = document.as_object().ok_or(Reason::ConsentFieldsWrong)?;
        let is_timed = object.get("schema_version").and_then(Value::as_str) == Some(TIMED_SCHEMA_VERSION);
        let fits = if is_timed { object.keys().eq(TIMED_FIELDS) } else { object.has_exactly(&FIELDS) };
        if !fits {
            return Err(Reason::ConsentFieldsWrong.into());
        }
        Self::from_fields(Digest::of(bytes), object, is_timed).map_err(Refusal::from)
    }

    fn from_fields(digest: Digest, object: &Object, is_timed: bool) -> Result<Self, Reason> {
        let says = |key: &str, word: &str| object.get(key).and_then(Value::as_str) == Some(word);
        if !says("document_type", DOCUMENT_TYPE) || !(is_timed || says("schema_version", SCHEMA_VERSION)) {
            return Err(Reason::ConsentVersionUnknown);
        }
        let nonce = text(object, "nonce").filter(|nonce| is_nonce(nonce)).ok_or(Reason::ConsentNonceInvalid)?;
        let host_id = text(object, "host_id").ok_or(Reason::ConsentFieldsWrong)?;
        let root = if is_timed { "host_root_digest" } else { "workspace_root_digest" };
        let host_root_digest = digest_of(object, root).ok_or(Reason::ConsentFieldsWrong)?;
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
        let timed = if is_timed { Some(read_timed(object)?) } else { None };
        Ok(Self {
            digest,
            nonce,
            host_id,
            host_root_digest,
            asset_digest,
            use_boundary,
            processing_boundary,
            capsule_profile,
            timed,
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
    /// Digest of the path of the server's root.
    pub fn host_root_digest(&self) -> Digest {
        self.host_root_digest
    }
    /// What 0.2.0 says beyond 0.1.0; `None` for 0.1.0.
    pub fn timed(&self) -> Option<&Timed> {
        self.timed.as_ref()
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

fn read_timed(object: &Object) -> Result<Timed, Reason> {
    let time = |key: &str| object.get(key).and_then(Value::as_str).and_then(Timestamp::parse);
    let expires_at = match object.get("expires_at") {
        Some(Value::Null) => None,
        _ => Some(time("expires_at").ok_or(Reason::ConsentTimesInvalid)?),
    };
    let issued_at = time("issued_at").ok_or(Reason::ConsentTimesInvalid)?;
    if expires_at.is_some_and(|expires_at| expires_at <= issued_at) {
        return Err(Reason::ConsentTimesInvalid);
    }
    Ok(Timed {
        workspace_root_digest: digest_of(object, "workspace_root_digest").ok_or(Reason::ConsentFieldsWrong)?,
        entry_digest: digest_of(object, "entry_digest").ok_or(Reason::ConsentFieldsWrong)?,
        prompt_digest: digest_of(object, "prompt_digest").ok_or(Reason::ConsentFieldsWrong)?,
        issued_at,
        expires_at,
    })
}

/// What a new document says. Made by `ConsentDraft::facts`, after the person said yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentFacts {
    /// From [`nonce`].
    pub nonce: String,
    /// A host identifier.
    pub host_id: String,
    /// Digest of the path of the server's root, which 0.1.0 calls so.
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
    /// The document in 0.1.0: two-space JSON and a final newline.
    pub fn bytes(&self) -> Vec<u8> {
        self.written(None)
    }

    /// The document in 0.2.0.
    pub fn timed_bytes(&self, timed: &Timed) -> Vec<u8> {
        self.written(Some(timed))
    }

    fn written(&self, timed: Option<&Timed>) -> Vec<u8> {
        let fields: &[&str] = if timed.is_some() { &TIMED_FIELDS } else { &FIELDS };
        let members = fields.iter().map(|field| ((*field).to_owned(), self.member(field, timed)));
        // Texts and one boolean always have a JSON form; no bytes at all would be refused by `install`.
        write::pretty(&Value::Object(members.collect())).map(String::into_bytes).unwrap_or_default()
    }

    fn member(&self, field: &str, timed: Option<&Timed>) -> Value {
        match (field, timed) {
            ("document_type", _) => DOCUMENT_TYPE.into(),
            ("schema_version", None) => SCHEMA_VERSION.into(),
            ("schema_version", Some(_)) => TIMED_SCHEMA_VERSION.into(),
            ("nonce", _) => self.nonce.clone().into(),
            ("host_id", _) => self.host_id.clone().into(),
            ("host_root_digest", _) | ("workspace_root_digest", None) => self.workspace_root_digest.into(),
            ("workspace_root_digest", Some(timed)) => timed.workspace_root_digest.into(),
            ("asset_digest", _) => self.asset_digest.into(),
            ("use_boundary", _) => Value::Object(use_boundary(&self.attachment_id, self.scope_digest)),
            ("entry_digest", Some(timed)) => timed.entry_digest.into(),
            ("processing_boundary", _) => {
                Value::object([("kind", NAMED_REMOTE.into()), ("processor", self.processor.clone().into())])
            }
            ("capsule_profile", _) => self.profile.clone().into(),
            ("approval_source", _) => APPROVAL_SOURCE.into(),
            ("prompt_digest", Some(timed)) => timed.prompt_digest.into(),
            ("issued_at", Some(timed)) => timed.issued_at.to_string().into(),
            ("expires_at", Some(timed)) => timed.expires_at.map(|time| time.to_string()).into(),
            ("approved", _) => true.into(),
            _ => Value::Null,
        }
    }
}

/// The use boundary as it must stand in a document, members in the order that binds.
pub fn use_boundary(attachment_id: &str, scope_digest: Digest) -> Object {
    let values = [Value::from(USE_KIND), Value::copied(attachment_id), scope_digest.into()];
    USE_FIELDS.into_iter().zip(values).collect()
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
