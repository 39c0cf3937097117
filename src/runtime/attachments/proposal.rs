//! One attachment as it would be stored, and the digest that binds a confirmation to exactly these facts.

use super::policy::AttachmentPolicy;
use crate::foundation::digest::{self, Digest};
use crate::foundation::limits;
use crate::foundation::load_plan::{Access, LoadPlan, State};
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::{AssetReference, RESOLUTION_POLICY, SCOPE_AUTHORITY, UPDATE_POLICY, snapshot_path};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::foundation::value::{Object, Value};

/// An asset, a policy and a workspace that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    root: AbsolutePath,
    asset: AssetReference,
    policy: AttachmentPolicy,
    access: Access,
    state: State,
    can_load_now: bool,
}

impl Proposal {
    /// Proposes to attach the asset with this digest and plan to the workspace at the real path `root`. An asset that
    /// still needs an authorization may be attached. Refuses with `source_not_plannable`: no valid plan, or an
    /// identifier or version that is absent or longer than a host may be shown.
    pub fn new(
        root: &AbsolutePath,
        digest: Digest,
        plan: &LoadPlan,
        policy: AttachmentPolicy,
    ) -> Result<Self, Refusal> {
        let bounded = |name: Option<&str>, limit| {
            name.filter(|name| text::utf16_len(name) <= limit && !text::is_blank(name) && !name.contains('\0'))
                .map(str::to_owned)
                .ok_or(Reason::SourceNotPlannable)
        };
        if !plan.is_usable() {
            return Err(Reason::SourceNotPlannable.into());
        }
        let asset = AssetReference {
            id: bounded(plan.asset_id(), limits::ASSET_ID_UNITS)?,
            version: bounded(plan.asset_version(), limits::VERSION_UNITS)?,
            digest,
            snapshot: snapshot_path(&digest),
        };
        Ok(Self {
            root: root.clone(),
            asset,
            policy,
            access: plan.access().ok_or(Reason::SourceNotPlannable)?,
            state: plan.state(),
            can_load_now: plan.can_load_now(),
        })
    }

    /// The asset.
    pub fn asset(&self) -> &AssetReference {
        &self.asset
    }

    /// The real path of the workspace.
    pub fn root(&self) -> &AbsolutePath {
        &self.root
    }

    /// Role and scope.
    pub fn policy(&self) -> &AttachmentPolicy {
        &self.policy
    }

    /// Whether the asset needs an authorization before it can be loaded.
    pub fn needs_authorization(&self) -> bool {
        !self.can_load_now
    }

    /// The attachment without what is decided when it is stored (id, time, history).
    pub fn attachment(&self) -> Value {
        Value::Object(self.members())
    }

    /// The digest over workspace, attachment and authorization facts. It says that the facts are the same, not that a
    /// person saw them.
    pub fn consent_digest(&self) -> Result<Digest, Refusal> {
        let facts = Value::object([
            ("workspace_root", Value::copied(self.root.as_str())),
            ("attachment", self.attachment()),
            ("authorization", self.authorization()),
        ]);
        digest::of_document(&facts).ok_or_else(|| Reason::Internal.into())
    }

    /// Whether a digest given with `--yes` is that of these facts. Refuses with `approval_drift`.
    pub fn confirm(&self, digest: Digest) -> Result<(), Refusal> {
        if self.consent_digest()? == digest { Ok(()) } else { Err(Reason::ApprovalDrift.into()) }
    }

    /// What a preview prints. `display_root` names the workspace from `--cwd`, `boundary` from the process's working
    /// directory; neither is in the digest.
    pub fn preview(&self, display_root: &str, boundary: &str) -> Result<Value, Refusal> {
        Ok(Value::object([
            ("operation", Value::from("attach")),
            ("mode", Value::from("preview")),
            ("workspace_root", Value::copied(display_root)),
            ("confirmation_required", Value::from(true)),
            ("preview", self.facts(boundary)?),
        ]))
    }

    /// What an interactive confirmation shows: the inner part of the preview.
    pub fn facts(&self, boundary: &str) -> Result<Value, Refusal> {
        let contract = Value::object([
            ("authority", Value::from(SCOPE_AUTHORITY)),
            ("asset_declared_preload_boundary", Value::from("not_available_in_current_manifest_contract")),
            ("runtime_boundary_remains_authoritative", Value::from(true)),
        ]);
        let workspace = Value::object([("kind", Value::from("exact_workspace")), ("root", Value::copied(boundary))]);
        Ok(Value::object([
            ("operation", Value::from("attach")),
            ("consent_digest", Value::from(self.consent_digest()?)),
            ("workspace_boundary", workspace),
            ("attachment", self.attachment()),
            ("authorization", self.authorization()),
            ("scope_contract", contract),
        ]))
    }

    /// The entry as it is stored.
    pub(super) fn entry(&self, id: &str, approved_at: &str) -> Value {
        let mut entry = Object::new();
        entry.insert("attachment_id", id.to_owned());
        for (key, value) in self.members() {
            entry.insert(key, value);
        }
        entry.insert("approved_at", approved_at.to_owned());
        entry.insert("history", Vec::new());
        Value::Object(entry)
    }

    pub(super) fn members(&self) -> Object {
        let asset = Value::object([
            ("id", Value::copied(self.asset.id.as_str())),
            ("version", Value::copied(self.asset.version.as_str())),
            ("digest", Value::from(self.asset.digest)),
            ("snapshot", Value::copied(self.asset.snapshot.as_str())),
        ]);
        let mut members = Object::new();
        members.insert("asset", asset);
        members.insert("state", "enabled");
        members.insert("role", self.policy.role().to_owned());
        members.insert("scope", self.policy.scope_value());
        members.insert("resolution_policy", RESOLUTION_POLICY);
        members.insert("update_policy", UPDATE_POLICY);
        members
    }

    pub(super) fn authorization(&self) -> Value {
        Value::object([
            ("access", Value::from(self.access.as_str())),
            ("required_before_load", Value::from(!self.can_load_now)),
            ("load_plan_state", Value::from(self.state.as_str())),
        ])
    }
}

/// What a finished attach prints.
pub fn attached(display_root: &str, entry: &Value) -> Value {
    Value::object([
        ("operation", Value::from("attach")),
        ("workspace_root", Value::copied(display_root)),
        ("attachment", entry.clone()),
    ])
}
