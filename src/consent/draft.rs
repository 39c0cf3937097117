//! A consent before it is asked for: checked facts, from the record and the plan, about one attachment. What is asked
//! ([`super::prompt`]) and what is written ([`ConsentFacts`]) both come from here, so they cannot differ.

use super::document::{ConsentFacts, Schema, Timed};
use super::prompt;
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::{collapse_whitespace, is_attachment_id, is_deceptive, is_host_id, utf16_len};
use crate::foundation::time::Timestamp;

/// The facts as the record, the plan and the person's command line give them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftFacts {
    /// The asset's title, in its own words. Foreign.
    pub asset_title: String,
    /// The asset's id. Foreign.
    pub asset_id: String,
    /// The asset's version. Foreign.
    pub asset_version: String,
    /// Digest of the asset.
    pub asset_digest: Digest,
    /// The attachment.
    pub attachment_id: String,
    /// The role recorded in this workspace. Foreign.
    pub role: String,
    /// What it is recorded for; empty means everything in the workspace. Foreign.
    pub applies_to: Vec<String>,
    /// What it is recorded not to be used for. Foreign.
    pub does_not_apply_to: Vec<String>,
    /// Digest of the attachment's scope.
    pub scope_digest: Digest,
    /// Digest of the attachment's whole entry.
    pub entry_digest: Digest,
    /// The directory that holds the record.
    pub workspace: AbsolutePath,
    /// The root that the server will be pinned to: the consent binds this one.
    pub host_root: AbsolutePath,
    /// The host.
    pub host_id: String,
    /// The named destination.
    pub processor: String,
    /// The capsule profile: index, compact, scenario or full.
    pub profile: String,
    /// From when on an allowance holds no more; `None`: until it is revoked.
    pub expires_at: Option<Timestamp>,
}

/// Facts that may be asked about and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsentDraft(DraftFacts);

impl ConsentDraft {
    /// Checks what will be written. Refuses `consent_draft_invalid`; the message names the field and quotes nothing.
    pub fn new(facts: DraftFacts) -> Result<Self, Refusal> {
        let rules = [
            (is_host_id(&facts.host_id), HOST_ID),
            (facts.workspace.below(&facts.host_root).is_some(), ROOT),
            (is_attachment_id(&facts.attachment_id), ATTACHMENT),
            (is_processor(&facts.processor), PROCESSOR),
            (profile_in_words(&facts.profile).is_some(), PROFILE),
        ];
        match rules.into_iter().find(|(holds, _)| !holds) {
            Some((_, message)) => Err(Refusal::labelled(Reason::ConsentDraftInvalid, message)),
            None => Ok(Self(facts)),
        }
    }

    /// The checked facts.
    pub fn as_facts(&self) -> &DraftFacts {
        &self.0
    }

    /// The document that is written, with a nonce from [`super::document::nonce`] and the time of the answer.
    pub fn document(&self, schema: Schema, nonce: String, issued_at: Timestamp) -> Vec<u8> {
        let facts = self.facts(nonce);
        match schema {
            Schema::Plain => facts.bytes(),
            Schema::Timed => facts.timed_bytes(&Timed {
                workspace_root_digest: of_root_path(self.0.workspace.as_str()),
                entry_digest: self.0.entry_digest,
                prompt_digest: prompt::digest(self),
                issued_at,
                expires_at: self.0.expires_at,
            }),
        }
    }

    /// What will be written, with a nonce from [`super::document::nonce`].
    pub fn facts(&self, nonce: String) -> ConsentFacts {
        ConsentFacts {
            nonce,
            host_id: self.0.host_id.clone(),
            workspace_root_digest: of_root_path(self.0.host_root.as_str()),
            asset_digest: self.0.asset_digest,
            attachment_id: self.0.attachment_id.clone(),
            scope_digest: self.0.scope_digest,
            processor: self.0.processor.clone(),
            profile: self.0.profile.clone(),
        }
    }
}

const HOST_ID: &str = "The Host consent draft requires a bounded host_id: 1 to 128 characters of a-z 0-9 . _ -, beginning with a letter or digit.";
const ROOT: &str = "The Host consent draft requires one absolute workspace root that holds the workspace.";
const ATTACHMENT: &str = "The Host consent draft requires an attachment_id of the workspace's record.";
const PROCESSOR: &str = "The Host consent draft requires one named remote processor: 1 to 256 characters, none of them a control, invisible or reordering one, and no spaces at its ends or side by side.";
const PROFILE: &str = "The capsule profile must be index, compact, scenario or full.";

/// A destination that may be written: stricter than what reading accepts, so that what the person saw is what it says.
fn is_processor(text: &str) -> bool {
    (1..=limits::PROCESSOR_UNITS).contains(&utf16_len(text))
        && collapse_whitespace(text) == text
        && !text.chars().any(is_deceptive)
}

/// What a profile hands over, in a person's words; `None` for no profile.
pub(super) fn profile_in_words(profile: &str) -> Option<&'static str> {
    Some(match profile {
        "index" => "its card: title, summary, keywords (profile index)",
        "compact" => "its readable rules, boundaries and checks (profile compact)",
        "scenario" => "its readable scenarios (profile scenario)",
        "full" => "everything in it, readable (profile full)",
        _ => return None,
    })
}
