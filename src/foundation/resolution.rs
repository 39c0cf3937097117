//! The resolution document: what the resolver says about one task. Writes it, and judges one that a runtime replied.
//!
//! A reply is taken only when every field is what the contract says; `Resolution` is the proof of that.

use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::record::{SCHEMA_VERSION, words};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::foundation::value::{Object, Value};

/// `document_type` of a resolution.
pub const DOCUMENT_TYPE: &str = "kdna.workspace-resolution";
/// `document_type` of a selection plan.
pub const PLAN_DOCUMENT_TYPE: &str = "kdna.workspace-selection-plan";

words! {
    /// What to do with the task.
    Decision { Load = "load", Ask = "ask", Skip = "skip", Block = "block" }
}
words! {
    /// Why.
    ReasonCode {
        SingleApprovedAttachmentClearlyApplies = "single_approved_attachment_clearly_applies",
        ExplicitTaskAttachmentSelection = "explicit_task_attachment_selection",
        AmbiguousScope = "ambiguous_scope",
        AttachmentConflict = "attachment_conflict",
        ApplicabilityUnresolved = "applicability_unresolved",
        NoApprovedAttachment = "no_approved_attachment",
        ExplicitlyOutsideScope = "explicitly_outside_scope",
        ClosedWorldNoMatch = "closed_world_no_match",
        NoApplicableAttachment = "no_applicable_attachment",
        AdapterIncompatible = "adapter_incompatible",
        AttachmentSchemaUnsupported = "attachment_schema_unsupported",
        SnapshotMissing = "snapshot_missing",
        SnapshotDigestMismatch = "snapshot_digest_mismatch",
        AssetInvalid = "asset_invalid",
        AuthorizationRequired = "authorization_required",
        SelectionBindingChanged = "selection_binding_changed",
        SelectionNotCurrentCandidate = "selection_not_current_candidate",
        SelectionReceiptRequired = "selection_receipt_required",
    }
}
words! {
    /// Whether the asset may be opened as things stand.
    Authorization {
        NotChecked = "not_checked",
        NotSelected = "not_selected",
        Required = "required",
        Satisfied = "satisfied",
    }
}
words! {
    /// Whether the snapshot is the approved one.
    Integrity { NotChecked = "not_checked", Verified = "verified", Failed = "failed" }
}

impl ReasonCode {
    /// The one decision that this reason belongs to.
    pub const fn decision(self) -> Decision {
        use ReasonCode as R;
        match self {
            R::SingleApprovedAttachmentClearlyApplies | R::ExplicitTaskAttachmentSelection => Decision::Load,
            R::AmbiguousScope | R::AttachmentConflict | R::ApplicabilityUnresolved => Decision::Ask,
            R::NoApprovedAttachment | R::ExplicitlyOutsideScope | R::ClosedWorldNoMatch | R::NoApplicableAttachment => {
                Decision::Skip
            }
            R::AdapterIncompatible
            | R::AttachmentSchemaUnsupported
            | R::SnapshotMissing
            | R::SnapshotDigestMismatch
            | R::AssetInvalid
            | R::AuthorizationRequired
            | R::SelectionBindingChanged
            | R::SelectionNotCurrentCandidate
            | R::SelectionReceiptRequired => Decision::Block,
        }
    }
}

/// One attachment that the resolver considered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The attachment.
    pub attachment_id: String,
    /// The asset's identifier.
    pub asset_id: String,
    /// The asset's version.
    pub version: String,
    /// The asset's digest.
    pub digest: Digest,
    /// The approved purpose.
    pub role: String,
    /// Never [`Authorization::NotSelected`].
    pub authorization: Authorization,
    /// What the verification found.
    pub integrity: Integrity,
}

impl Candidate {
    /// The candidate in the document's key order.
    pub fn to_value(&self) -> Value {
        Value::borrowing([
            ("attachment_id", Value::from(self.attachment_id.as_str())),
            ("asset_id", Value::from(self.asset_id.as_str())),
            ("version", Value::from(self.version.as_str())),
            ("digest", Value::from(self.digest)),
            ("role", Value::from(self.role.as_str())),
            ("authorization", Value::from(self.authorization.as_str())),
            ("integrity", Value::from(self.integrity.as_str())),
        ])
    }
}

/// What an ask lets a person choose from, bound to task, record and candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionPlan {
    /// The digest of the task's raw bytes.
    pub task_digest: Digest,
    /// The digest of the record's bytes.
    pub record_digest: Digest,
    /// The digest of the candidates as listed.
    pub candidate_set_digest: Digest,
    /// The digest over all of it and the absolute workspace root.
    pub plan_digest: Digest,
}

/// A resolution that follows the contract, and the document it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    decision: Decision,
    reason: ReasonCode,
    workspace_root: String,
    selected: Option<Candidate>,
    candidates: Vec<Candidate>,
    authorization: Authorization,
    integrity: Integrity,
    selection_plan: Option<SelectionPlan>,
    document: Value,
}

/// The parts of a resolution that is being written.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Why; the decision follows from it.
    pub reason: ReasonCode,
    /// The workspace as seen from the working directory: `.`, `..`, …
    pub workspace_root: String,
    /// The candidate to load, for a load.
    pub selected: Option<Candidate>,
    /// All candidates, in the order of the rule that applied.
    pub candidates: Vec<Candidate>,
    /// Over all.
    pub authorization: Authorization,
    /// Over all.
    pub integrity: Integrity,
    /// For an ask.
    pub selection_plan: Option<SelectionPlan>,
}

impl Parts {
    /// The document in the contract's key order.
    pub fn to_value(&self) -> Value {
        let mut document = Object::new();
        document.insert("document_type", DOCUMENT_TYPE);
        document.insert("schema_version", SCHEMA_VERSION);
        document.insert("decision", self.reason.decision().as_str());
        document.insert("reason_code", self.reason.as_str());
        document.insert("workspace_root", self.workspace_root.as_str());
        document.insert("selected", self.selected.as_ref().map(Candidate::to_value));
        document.insert("candidates", candidates_value(&self.candidates));
        document.insert("authorization", self.authorization.as_str());
        document.insert("integrity", self.integrity.as_str());
        if let Some(plan) = &self.selection_plan {
            document.insert("selection_plan", plan.to_value(&self.workspace_root));
        }
        Value::Object(document)
    }
}

/// The candidates as the document lists them; this is what `candidate_set_digest` is taken over.
pub fn candidates_value(candidates: &[Candidate]) -> Value {
    Value::Array(candidates.iter().map(Candidate::to_value).collect())
}

impl SelectionPlan {
    fn to_value(self, workspace_root: &str) -> Value {
        Value::object([
            ("document_type", Value::from(PLAN_DOCUMENT_TYPE)),
            ("schema_version", Value::from(SCHEMA_VERSION)),
            ("workspace_root", Value::from(workspace_root)),
            ("task_digest", Value::from(self.task_digest)),
            ("record_digest", Value::from(self.record_digest)),
            ("candidate_set_digest", Value::from(self.candidate_set_digest)),
            ("plan_digest", Value::from(self.plan_digest)),
        ])
    }
}

impl Resolution {
    /// Judges a reply. `deferred`: whether a load that still needs the password was asked for. Refuses with
    /// `resolution_refused`.
    pub fn check(document: Value, deferred: bool) -> Result<Self, Refusal> {
        check::resolution(document, deferred).ok_or_else(|| Reason::ResolutionRefused.into())
    }

    /// The skip that is said where there is no record; no resolver is asked.
    pub fn no_record() -> Self {
        Self::unasked(ReasonCode::NoApprovedAttachment)
    }

    /// A decision about the workspace itself, without candidates; no resolver is asked.
    pub fn unasked(reason: ReasonCode) -> Self {
        let parts = Parts {
            reason,
            workspace_root: ".".to_owned(),
            selected: None,
            candidates: Vec::new(),
            authorization: Authorization::NotChecked,
            integrity: Integrity::NotChecked,
            selection_plan: None,
        };
        Self::from_parts(parts)
    }

    fn from_parts(parts: Parts) -> Self {
        let document = parts.to_value();
        Self {
            decision: parts.reason.decision(),
            reason: parts.reason,
            workspace_root: parts.workspace_root,
            selected: parts.selected,
            candidates: parts.candidates,
            authorization: parts.authorization,
            integrity: parts.integrity,
            selection_plan: parts.selection_plan,
            document,
        }
    }

    /// The document as the adoption of a finished load shows it: the selected candidate's authorization is satisfied
    /// and its integrity verified, wherever it is listed; the rest is unchanged.
    pub fn authorized(&self) -> Value {
        let Some(selected) = &self.selected else { return self.document.clone() };
        let proven = |value: &Value| {
            with(
                with(value.clone(), "authorization", Authorization::Satisfied.as_str()),
                "integrity",
                Integrity::Verified.as_str(),
            )
        };
        let is_selected =
            |value: &Value| value.get("attachment_id").and_then(Value::as_str) == Some(&selected.attachment_id);
        let listed = self.document.get("candidates").and_then(Value::as_array).unwrap_or_default();
        let candidates: Vec<Value> =
            listed.iter().map(|value| if is_selected(value) { proven(value) } else { value.clone() }).collect();
        let chosen = self.document.get("selected").map(proven);
        let document = with(with(self.document.clone(), "selected", chosen), "candidates", candidates);
        with(document, "authorization", Authorization::Satisfied.as_str())
    }

    /// What to do.
    pub fn decision(&self) -> Decision {
        self.decision
    }
    /// Why.
    pub fn reason(&self) -> ReasonCode {
        self.reason
    }
    /// The workspace as seen from the working directory.
    pub fn workspace_root(&self) -> &str {
        &self.workspace_root
    }
    /// The candidate to load: there exactly for a load.
    pub fn selected(&self) -> Option<&Candidate> {
        self.selected.as_ref()
    }
    /// All candidates listed.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }
    /// Over all.
    pub fn authorization(&self) -> Authorization {
        self.authorization
    }
    /// Over all.
    pub fn integrity(&self) -> Integrity {
        self.integrity
    }
    /// What may be chosen from: there exactly for an ask.
    pub fn selection_plan(&self) -> Option<&SelectionPlan> {
        self.selection_plan.as_ref()
    }
    /// The document, unchanged.
    pub fn document(&self) -> &Value {
        &self.document
    }
}

fn with(value: Value, key: &'static str, member: impl Into<Value>) -> Value {
    let Value::Object(mut object) = value else { return value };
    object.insert(key, member);
    Value::Object(object)
}

mod check;
