//! A host's own private draft of a consent. It is never a source of facts: every field must say what the record and the
//! plan say, or the request is refused and nothing is shown. Quotes nothing of what it was given.

use super::draft::DraftFacts;
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::{is_attachment_id, utf16_len};
use crate::foundation::value::{Object, Value};

const FIELDS: [&str; 12] = [
    "host_id",
    "workspace_root",
    "asset_id",
    "asset_version",
    "asset_digest",
    "attachment_id",
    "role",
    "applies_to",
    "does_not_apply_to",
    "scope_digest",
    "processor",
    "capsule_profile",
];

/// A draft of the right form. What it claims is compared before anything of it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDraft {
    /// The host that it is for.
    pub host_id: String,
    /// The workspace, as it names it.
    pub workspace_root: AbsolutePath,
    /// The attachment.
    pub attachment_id: String,
    /// The destination.
    pub processor: String,
    /// The profile.
    pub profile: String,
    asset_id: String,
    asset_version: String,
    asset_digest: Digest,
    role: String,
    applies_to: Vec<String>,
    does_not_apply_to: Vec<String>,
    scope_digest: Digest,
}

impl HostDraft {
    /// Reads a draft: strict JSON with exactly the known members (`capsule_profile` may be left out: compact). Refuses
    /// `consent_draft_invalid`, its message naming what is wrong, in the recorded order.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let Ok(document) = read_strict(bytes, limits::POLICY_DEPTH) else {
            return Err(refused("The Host consent draft must be strict JSON."));
        };
        let object = document.as_object().ok_or_else(|| refused("Host consent requires a structured draft object."))?;
        if !object.keys().all(|key| FIELDS.contains(&key)) {
            return Err(refused("The Host consent draft contains unknown fields."));
        }
        let host_id = text(object, "host_id", 256).ok_or_else(|| refused(HOST_ID))?;
        let workspace_root = text(object, "workspace_root", limits::PATH_UNITS)
            .and_then(|text| AbsolutePath::parse(&text).ok())
            .ok_or_else(|| refused("The Host consent draft requires one absolute workspace root."))?;
        let asset = || {
            let id = text(object, "asset_id", limits::ASSET_ID_UNITS)?;
            let version = text(object, "asset_version", limits::VERSION_UNITS)?;
            Some((id, version, digest(object, "asset_digest")?))
        };
        let (asset_id, asset_version, asset_digest) = asset().ok_or_else(|| refused(ASSET))?;
        let used = || {
            let id = text(object, "attachment_id", 64).filter(|id| is_attachment_id(id))?;
            let role = text(object, "role", limits::ROLE_UNITS)?;
            let lists = (phrases(object, "applies_to")?, phrases(object, "does_not_apply_to")?);
            Some((id, role, lists, digest(object, "scope_digest")?))
        };
        let (attachment_id, role, (applies_to, does_not_apply_to), scope_digest) =
            used().ok_or_else(|| refused(USE))?;
        let processor = text(object, "processor", limits::PROCESSOR_UNITS)
            .ok_or_else(|| refused("The Host consent draft requires one named remote processor."))?;
        let profile = match object.get("capsule_profile") {
            None => "compact".to_owned(),
            Some(profile) => profile
                .as_str()
                .filter(|profile| super::draft::profile_in_words(profile).is_some())
                .ok_or_else(|| refused("The capsule profile must be index, compact, scenario or full."))?
                .to_owned(),
        };
        Ok(Self {
            host_id,
            workspace_root,
            attachment_id,
            processor,
            profile,
            asset_id,
            asset_version,
            asset_digest,
            role,
            applies_to,
            does_not_apply_to,
            scope_digest,
        })
    }

    /// Whether the draft says of every field what the facts say. Refuses `consent_draft_mismatch`, naming the field.
    pub fn agree(&self, facts: &DraftFacts) -> Result<(), Refusal> {
        let fields = [
            ("host_id", self.host_id == facts.host_id),
            ("workspace_root", self.workspace_root == facts.workspace),
            ("asset_id", self.asset_id == facts.asset_id),
            ("asset_version", self.asset_version == facts.asset_version),
            ("asset_digest", self.asset_digest == facts.asset_digest),
            ("attachment_id", self.attachment_id == facts.attachment_id),
            ("role", self.role == facts.role),
            ("applies_to", self.applies_to == facts.applies_to),
            ("does_not_apply_to", self.does_not_apply_to == facts.does_not_apply_to),
            ("scope_digest", self.scope_digest == facts.scope_digest),
            ("processor", self.processor == facts.processor),
            ("capsule_profile", self.profile == facts.profile),
        ];
        match fields.into_iter().find(|(_, same)| !same) {
            Some((field, _)) => Err(Refusal::labelled(
                Reason::ConsentDraftMismatch,
                format!("The Host consent draft says something else than the workspace: {field}."),
            )),
            None => Ok(()),
        }
    }
}

const HOST_ID: &str = "The Host consent draft requires a bounded host_id.";
const ASSET: &str = "The Host consent draft requires asset id, version, and sha256 digest.";
const USE: &str = "The Host consent draft requires attachment_id, role, applies_to, does_not_apply_to, and the workspace scope_digest.";

fn refused(message: &'static str) -> Refusal {
    Refusal::labelled(Reason::ConsentDraftInvalid, message)
}

fn is_bounded(text: &str, units: usize) -> bool {
    (1..=units).contains(&utf16_len(text)) && !text.contains('\0')
}

fn text(object: &Object, key: &str, units: usize) -> Option<String> {
    object.get(key)?.as_str().filter(|text| is_bounded(text, units)).map(str::to_owned)
}

fn digest(object: &Object, key: &str) -> Option<Digest> {
    object.get(key)?.as_str().and_then(Digest::parse)
}

fn phrases(object: &Object, key: &str) -> Option<Vec<String>> {
    let phrase = |item: &Value| item.as_str().filter(|text| is_bounded(text, limits::TEXT_UNITS)).map(str::to_owned);
    object.get(key)?.as_array()?.iter().map(phrase).collect()
}
