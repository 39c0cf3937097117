//! A switch of one attachment to another asset, and the digest that binds a confirmation to exactly these facts. The time
//! of the approval is shown and not digested, so that a preview can be confirmed.

use super::change;
use super::policy::AttachmentPolicy;
use super::proposal::Proposal;
use crate::foundation::digest::{self, Digest};
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::{AssetReference, Attachment};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};

/// What a preview says about a stored copy that is left because it is damaged.
const DAMAGED: &str = "The stored copy of the present version is missing or damaged. It is kept in the history, but rolling \
    back to it will be refused.";

/// What is known of the version that is left.
#[derive(Clone, Copy, Debug)]
pub enum Former<'a> {
    /// Its stored copy was verified; its plan.
    Verified(&'a LoadPlan),
    /// Its stored copy is missing or damaged, and the person chose to leave it all the same.
    Damaged,
}

/// What the person asks for.
#[derive(Clone, Debug)]
pub struct SwitchRequest<'a> {
    /// The real path of the workspace.
    pub root: &'a AbsolutePath,
    /// The attachment as the record has it.
    pub attachment: &'a Attachment,
    /// What is known of the version that is left.
    pub former: Former<'a>,
    /// The digest of the new asset.
    pub digest: Digest,
    /// The plan of the new asset.
    pub plan: &'a LoadPlan,
    /// The new role and scope.
    pub policy: AttachmentPolicy,
}

/// An attachment, an asset, a policy and a workspace that belong together.
#[derive(Clone, Debug)]
pub struct Switch {
    proposal: Proposal,
    id: String,
    entry: Value,
    former_authorization: Option<Value>,
}

impl Switch {
    /// Proposes the switch. Refuses with `source_not_plannable` as an attach does.
    pub fn new(request: SwitchRequest<'_>) -> Result<Self, Refusal> {
        let former_authorization = match request.former {
            Former::Verified(plan) => Some(Value::object([
                ("access", Value::from(plan.access().ok_or(Reason::SnapshotOtherIdentity)?.as_str())),
                ("required_before_load", Value::from(!plan.can_load_now())),
                ("load_plan_state", Value::from(plan.state().as_str())),
            ])),
            Former::Damaged => None,
        };
        Ok(Self {
            proposal: Proposal::new(request.root, request.digest, request.plan, request.policy)?,
            id: request.attachment.id.clone(),
            entry: request.attachment.entry().clone(),
            former_authorization,
        })
    }

    /// The new asset.
    pub fn asset(&self) -> &AssetReference {
        self.proposal.asset()
    }

    /// The new version as an attachment of its own.
    pub fn proposal(&self) -> &Proposal {
        &self.proposal
    }

    /// The new role and scope.
    pub fn policy(&self) -> &AttachmentPolicy {
        self.proposal.policy()
    }

    /// The real path of the workspace.
    pub fn root(&self) -> &AbsolutePath {
        self.proposal.root()
    }

    /// The attachment's identifier.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The entry as it was when the switch was proposed.
    pub fn entry(&self) -> &Value {
        &self.entry
    }

    /// Whether a damaged stored copy is left.
    pub fn leaves_damaged(&self) -> bool {
        self.former_authorization.is_none()
    }

    /// The digest over workspace, attachment, both versions and both authorizations, without the time.
    pub fn consent_digest(&self) -> Result<Digest, Refusal> {
        let facts = Value::object([
            ("workspace_root", Value::copied(self.root().as_str())),
            ("attachment_id", Value::copied(self.id.as_str())),
            ("old_attachment", Value::Object(change::version_of(&self.entry))),
            ("new_attachment", Value::Object(self.next())),
            ("authorization", self.authorization()),
        ]);
        digest::of_document(&facts).ok_or_else(|| Reason::Internal.into())
    }

    /// Whether a digest given with `--yes` is that of these facts. Refuses with `switch_drift`.
    pub fn confirm(&self, digest: Digest) -> Result<(), Refusal> {
        if self.consent_digest()? == digest { Ok(()) } else { Err(Reason::SwitchDrift.into()) }
    }

    /// What a preview prints; names as in [`Proposal::preview`]. `now` is shown as the time of an approval now.
    pub fn preview(&self, display_root: &str, boundary: &str, now: Timestamp) -> Result<Value, Refusal> {
        Ok(Value::object([
            ("operation", Value::from("switch")),
            ("mode", Value::from("preview")),
            ("workspace_root", Value::copied(display_root)),
            ("confirmation_required", Value::from(true)),
            ("preview", self.facts(boundary, now)?),
        ]))
    }

    /// The inner part of the preview.
    pub fn facts(&self, boundary: &str, now: Timestamp) -> Result<Value, Refusal> {
        let mut next = self.next();
        next.insert("approved_at", now.to_string());
        let contract = Value::object([
            ("inherited_without_review", Value::from(false)),
            ("asset_declared_preload_boundary", Value::from("not_available_in_current_manifest_contract")),
            ("runtime_boundary_remains_authoritative", Value::from(true)),
        ]);
        let workspace = Value::object([("kind", Value::from("exact_workspace")), ("root", Value::copied(boundary))]);
        let mut facts: Object = [
            ("operation", Value::from("switch")),
            ("consent_digest", Value::from(self.consent_digest()?)),
            ("workspace_boundary", workspace),
            ("attachment_id", Value::copied(self.id.as_str())),
            ("old_attachment", Value::Object(change::version_of(&self.entry))),
            ("new_attachment", Value::Object(next)),
            ("authorization", self.authorization()),
            ("scope_contract", contract),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        if self.leaves_damaged() {
            facts.insert("note", DAMAGED);
        }
        Ok(Value::Object(facts))
    }

    /// The six members that take the place of the present ones.
    pub(super) fn version(&self, approved_at: &str) -> Object {
        let mut version = self.next();
        version.remove("state");
        version.insert("approved_at", approved_at.to_owned());
        version
    }

    /// The new version without its time; the state stays what it is.
    fn next(&self) -> Object {
        let mut next = self.proposal.members();
        next.insert("state", self.entry.get("state").cloned().unwrap_or(Value::Null));
        next
    }

    fn authorization(&self) -> Value {
        Value::object([
            ("old", self.former_authorization.clone().unwrap_or(Value::Null)),
            ("new", self.proposal.authorization()),
        ])
    }
}
