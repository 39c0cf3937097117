//! The attachment record (`.kdna/attachments.json`), read strictly and kept in its own key order.
//!
//! Digests are taken over parts of it as they stand in the file, so the document is kept beside the typed view. Reads
//! no file, writes no file, and never repairs: what does not follow the rules is refused with the place named.

mod shape;

use crate::foundation::digest::{self, Digest};
use crate::foundation::json::{JsonFault, read_strict, write};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};

macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),+ }
        impl $name {
            /// The word in the document.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
            /// Reads the word; `None` for any other text.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some($name::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

/// `document_type` of a record.
pub const DOCUMENT_TYPE: &str = "kdna.workspace-attachments";
/// `schema_version` of a record, and of everything the resolver says.
pub const SCHEMA_VERSION: &str = "0.3.0";
/// `workspace.root_marker` of a record.
pub const ROOT_MARKER: &str = ".kdna/attachments.json";
/// `resolution_policy` of every attachment.
pub const RESOLUTION_POLICY: &str = "load_when_clear_ask_when_ambiguous";
/// `update_policy` of every attachment.
pub const UPDATE_POLICY: &str = "explicit_switch_only";
/// `scope.kind` of every attachment.
pub const SCOPE_KIND: &str = "workspace";
/// `scope.authority` of every attachment.
pub const SCOPE_AUTHORITY: &str = "user_approved_routing_hint";

words! {
    /// How a scope is meant.
    Application { TaskHints = "task_hints", AllWorkspace = "all_workspace" }
}
words! {
    /// What happens to a task that no phrase matches.
    MatchingPolicy {
        OpenWorldAsk = "open_world_ask",
        ClosedWorldSkip = "closed_world_skip",
        AllWorkspace = "all_workspace",
    }
}
words! {
    /// How the person approved.
    ApprovalSource { UserExplicit = "user_explicit", PreviewConfirmed = "preview_confirmed" }
}

/// Which asset an attachment names, and where its snapshot lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetReference {
    /// The asset's own identifier.
    pub id: String,
    /// The asset's own version.
    pub version: String,
    /// The digest of the whole asset file.
    pub digest: Digest,
    /// Where its snapshot lies below `.kdna`; always [`snapshot_path`] of the digest.
    pub snapshot: String,
}

/// Where the snapshot of an asset lies, below `.kdna`.
pub fn snapshot_path(digest: &Digest) -> String {
    ["assets/sha256-", &digest.hex(), ".kdna"].concat()
}

/// The name of the snapshot of an asset, in `.kdna/assets`.
pub fn snapshot_name(digest: &Digest) -> String {
    ["sha256-", &digest.hex(), ".kdna"].concat()
}

/// For which tasks an attachment was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// How the scope is meant.
    pub application: Application,
    /// What happens to an unmatched task.
    pub matching_policy: MatchingPolicy,
    /// How the person approved.
    pub approval_source: ApprovalSource,
    /// Phrases that speak for the asset; empty exactly for an all-workspace scope.
    pub applies_to: Vec<String>,
    /// Phrases that speak against it.
    pub does_not_apply_to: Vec<String>,
}

/// One entry of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    /// `att_` and 24 hexadecimal digits, unique in its record.
    pub id: String,
    /// The asset.
    pub asset: AssetReference,
    /// Whether its state is `enabled`.
    pub enabled: bool,
    /// The purpose the person approved, in the person's words.
    pub role: String,
    /// The scope.
    pub scope: Scope,
    /// When the person approved.
    pub approved_at: Timestamp,
    /// The assets of its former versions, oldest first; each is still a reference to its snapshot.
    pub history: Vec<AssetReference>,
    entry: Value,
}

static NO_SCOPE: Object = Object::new();

impl Attachment {
    /// The scope as it stands in the file.
    pub fn scope_object(&self) -> &Object {
        self.entry.get("scope").and_then(Value::as_object).unwrap_or(&NO_SCOPE)
    }

    /// The digest of the scope's compact JSON in file key order (what a consent binds). Computed when it is asked for:
    /// a decision about a task needs none.
    pub fn scope_digest(&self) -> Digest {
        // A scope that was checked holds texts and lists of texts alone, which always have a JSON form.
        digest::of_object(self.scope_object()).unwrap_or_else(|| Digest::of(b""))
    }

    /// The digest of the whole entry's compact JSON in file key order.
    pub fn entry_digest(&self) -> Option<Digest> {
        digest::of_document(&self.entry)
    }

    /// The whole entry as it stands in the file.
    pub fn entry(&self) -> &Value {
        &self.entry
    }
}

/// A record that follows every rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The document with an empty list in the place of the entries, of which each attachment holds its own.
    frame: Object,
    attachments: Vec<Attachment>,
}

impl Record {
    /// Reads a record: at most [`limits::RECORD_BYTES`] of strict JSON.
    ///
    /// Refuses with `record_too_large`, `record_not_json`, `record_migration` (an older version) or `record_shape`,
    /// whose message names the place.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        Self::check(Self::parse(bytes)?)
    }

    /// Everything that [`Record::read`] would refuse, the first problem of each part. Empty exactly for a record that can
    /// be read.
    pub fn problems(bytes: &[u8]) -> Vec<Refusal> {
        match Self::parse(bytes) {
            Ok(document) => shape::problems(&document),
            Err(refusal) => vec![refusal],
        }
    }

    fn parse(bytes: &[u8]) -> Result<Value, Refusal> {
        if u64::try_from(bytes.len()).map_or(true, |length| length > limits::RECORD_BYTES) {
            return Err(Reason::RecordTooLarge.into());
        }
        read_strict(bytes, limits::RECORD_DEPTH).map_err(|fault| match fault {
            JsonFault::DuplicateKey => {
                Refusal::labelled(Reason::RecordNotJson, "Workspace attachment record holds a key twice.")
            }
            JsonFault::NotUtf8 => {
                Refusal::labelled(Reason::RecordNotJson, "Workspace attachment record is not valid UTF-8.")
            }
            _ => Refusal::new(Reason::RecordNotJson),
        })
    }

    /// A record without attachments.
    pub fn empty() -> Self {
        Self { frame: frame(), attachments: Vec::new() }
    }

    /// The document in its own key order.
    pub fn document(&self) -> Value {
        self.framed(self.attachments.iter().map(|attachment| attachment.entry.clone()).collect())
    }

    fn framed(&self, entries: Vec<Value>) -> Value {
        let mut document = self.frame.clone();
        document.insert(ATTACHMENTS, entries);
        Value::Object(document)
    }

    /// The entries, in file order.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// The entry with this identifier.
    pub fn find(&self, id: &str) -> Option<&Attachment> {
        self.attachments.iter().find(|attachment| attachment.id == id)
    }

    /// The same record with one more entry at its end. Refuses with `attachment_limit` or, if the entry breaks a rule,
    /// `record_shape`.
    pub fn appended(&self, entry: Value) -> Result<Self, Refusal> {
        if self.attachments.len() >= limits::ATTACHMENTS {
            return Err(Reason::AttachmentLimit.into());
        }
        let mut entries: Vec<Value> = self.attachments.iter().map(|attachment| attachment.entry.clone()).collect();
        entries.push(entry);
        self.with_entries(entries)
    }

    fn with_entries(&self, entries: Vec<Value>) -> Result<Self, Refusal> {
        Self::check(self.framed(entries))
    }

    /// The same record with another entry in the place of the one with this identifier. Refuses with
    /// `attachment_unknown`, or with `record_shape` if the entry breaks a rule.
    pub fn replaced(&self, id: &str, entry: &Value) -> Result<Self, Refusal> {
        if self.find(id).is_none() {
            return Err(Reason::AttachmentUnknown.into());
        }
        let kept = |attachment: &Attachment| if attachment.id == id { entry } else { &attachment.entry }.clone();
        self.with_entries(self.attachments.iter().map(kept).collect())
    }

    /// The same record without the entry with this identifier. Refuses with `attachment_unknown`.
    pub fn without(&self, id: &str) -> Result<Self, Refusal> {
        if self.find(id).is_none() {
            return Err(Reason::AttachmentUnknown.into());
        }
        let others = self.attachments.iter().filter(|attachment| attachment.id != id);
        self.with_entries(others.map(|attachment| attachment.entry.clone()).collect())
    }

    /// Every asset that the record names: live ones and those of former versions.
    pub fn references(&self) -> impl Iterator<Item = &AssetReference> {
        self.attachments
            .iter()
            .flat_map(|attachment| std::iter::once(&attachment.asset).chain(attachment.history.iter()))
    }

    /// The bytes of the file: two-space JSON and a newline. Refuses with `record_too_large`.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Refusal> {
        let text = write::pretty(&self.document()).map_err(|_| Reason::RecordShape)?;
        if u64::try_from(text.len()).map_or(true, |length| length > limits::RECORD_BYTES) {
            return Err(Reason::RecordTooLarge.into());
        }
        Ok(text.into_bytes())
    }

    fn check(document: Value) -> Result<Self, Refusal> {
        let mut attachments = shape::attachments(&document)?;
        let Value::Object(mut frame) = document else { return Err(Reason::RecordShape.into()) };
        if let Some(Value::Array(entries)) = frame.insert(ATTACHMENTS, Vec::new()) {
            for (attachment, entry) in attachments.iter_mut().zip(entries) {
                attachment.entry = entry;
            }
        }
        Ok(Self { frame, attachments })
    }
}

const ATTACHMENTS: &str = "attachments";

fn frame() -> Object {
    let mut frame = Object::new();
    frame.insert("document_type", DOCUMENT_TYPE);
    frame.insert("schema_version", SCHEMA_VERSION);
    frame.insert("workspace", Value::object([("root_marker", Value::from(ROOT_MARKER))]));
    frame.insert(ATTACHMENTS, Vec::new());
    frame
}
