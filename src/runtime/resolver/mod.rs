//! Decides for one task whether an approved attachment is to be loaded, asked about, skipped or blocked.
//!
//! Reads the record and the snapshots beneath a held directory; matches the task only against the phrases that the person
//! approved. Never decrypts, never looks at an asset's content, never ranks: more than one possibility always asks.

mod evaluate;
mod phrase;
mod task;
mod verify;
mod vocabulary;

pub use verify::{Inspector, NotAnAsset};

use crate::capability::workspace::read_record;
use crate::foundation::digest::{self, Digest};
use crate::foundation::path::RelativePath;
use crate::foundation::record::{Attachment, Record, SCHEMA_VERSION};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::resolution::{
    Authorization, Candidate, Decision, Integrity, PLAN_DOCUMENT_TYPE, Parts, ReasonCode, SelectionPlan,
    candidates_value,
};
pub use crate::foundation::task::TaskSource;
use crate::foundation::value::Value;
use crate::system::Observe;
use evaluate::Verdict;
use task::Task;
use verify::{Verified, Verifier};

/// A one-task selection; its parts are well-formed, nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The attachment chosen.
    pub attachment_id: String,
    /// The digest of the task it was chosen for.
    pub task_digest: Digest,
    /// The digest of the plan it was chosen from.
    pub plan_digest: Option<Digest>,
}

/// One question to the resolver.
#[derive(Clone, Debug)]
pub struct ResolveRequest<'a> {
    /// The workspace, below the directory that is held.
    pub workspace: RelativePath,
    /// The workspace as seen from the working directory: `.`, `..`, …
    pub display_root: String,
    /// The workspace's real path, for the plan digest; never shown, never opened.
    pub absolute_root: String,
    /// The task's raw bytes.
    pub task: &'a [u8],
    /// Where they came from.
    pub task_source: TaskSource,
    /// The one-task selection, if one was made.
    pub selection: Option<Selection>,
    /// Whether a load may be said although the password is still missing.
    pub defer_password: bool,
}

/// Resolves one task: the resolution document, whatever the decision. Refuses only a task that is not 1 to 65,536 bytes
/// of UTF-8 text that is not blank (`task_refused`).
pub fn resolve<S: Observe>(
    system: &S,
    directory: &S::Directory,
    request: &ResolveRequest<'_>,
    inspector: &dyn Inspector,
) -> Result<Value, Refusal> {
    let task = Task::read(request.task, request.task_source)?;
    let stored = read_record(system, directory, &request.workspace);
    let record = stored.ok().and_then(|stored| Some((Record::read(&stored.bytes).ok()?, stored.digest)));
    let Some((record, record_digest)) = record else {
        return Ok(outcome(request, ReasonCode::AttachmentSchemaUnsupported, Vec::new()).to_value());
    };
    let snapshots = Verifier::new(system, directory, &request.workspace, inspector);
    let mut base = decide(request, &evaluate::evaluate(&task, record.attachments()), snapshots);
    if base.reason.decision() == Decision::Ask {
        base.selection_plan = Some(selection_plan(request, &base, task.digest(), record_digest)?);
    }
    let parts = match &request.selection {
        Some(selection) => continuation(request, base, selection),
        None => base,
    };
    Ok(parts.to_value())
}

/// Where a selection continues from the base result. Until receipts are understood every selection is blocked.
fn continuation(request: &ResolveRequest<'_>, base: Parts, _selection: &Selection) -> Parts {
    outcome(request, ReasonCode::SelectionBindingChanged, base.candidates)
}

/// From the verdict on the phrases to the base result: a load or an ask stands only if the snapshots listed verify.
fn decide<S: Observe>(request: &ResolveRequest<'_>, verdict: &Verdict<'_>, mut snapshots: Verifier<'_, S>) -> Parts {
    if verdict.reason.decision() == Decision::Skip {
        let listed = verdict.candidates.iter().map(|attachment| unchecked(attachment)).collect();
        return outcome(request, verdict.reason, listed);
    }
    let mut listed = Vec::new();
    let mut last = None;
    for attachment in &verdict.candidates {
        match snapshots.verify(&attachment.asset) {
            Ok(verified) => {
                listed.push(checked(attachment, verified));
                last = Some(verified);
            }
            Err(reason) => {
                let failed = outcome(request, reason, vec![unchecked(attachment)]);
                return Parts { integrity: Integrity::Failed, ..failed };
            }
        }
    }
    let answer = Parts { integrity: Integrity::Verified, ..outcome(request, verdict.reason, listed) };
    match (verdict.reason.decision(), last) {
        (Decision::Load, Some(verified)) => load(request, answer, verified),
        _ => Parts { authorization: Authorization::NotSelected, ..answer },
    }
}

/// A load of one candidate, unless its authorization is missing and may not be deferred.
fn load(request: &ResolveRequest<'_>, answer: Parts, verified: Verified) -> Parts {
    let deferred = request.defer_password && verified.needs_password;
    let authorization = authorization(verified);
    if authorization == Authorization::Required && !deferred {
        return Parts { reason: ReasonCode::AuthorizationRequired, authorization, ..answer };
    }
    Parts { selected: answer.candidates.first().cloned(), authorization, ..answer }
}

fn outcome(request: &ResolveRequest<'_>, reason: ReasonCode, candidates: Vec<Candidate>) -> Parts {
    Parts {
        reason,
        workspace_root: request.display_root.clone(),
        selected: None,
        candidates,
        authorization: Authorization::NotChecked,
        integrity: Integrity::NotChecked,
        selection_plan: None,
    }
}

fn unchecked(attachment: &Attachment) -> Candidate {
    Candidate {
        attachment_id: attachment.id.clone(),
        asset_id: attachment.asset.id.clone(),
        version: attachment.asset.version.clone(),
        digest: attachment.asset.digest,
        role: attachment.role.clone(),
        authorization: Authorization::NotChecked,
        integrity: Integrity::NotChecked,
    }
}

fn checked(attachment: &Attachment, verified: Verified) -> Candidate {
    Candidate { authorization: authorization(verified), integrity: Integrity::Verified, ..unchecked(attachment) }
}

fn authorization(verified: Verified) -> Authorization {
    if verified.can_load_now { Authorization::Satisfied } else { Authorization::Required }
}

fn selection_plan(
    request: &ResolveRequest<'_>,
    base: &Parts,
    task_digest: Digest,
    record_digest: Digest,
) -> Result<SelectionPlan, Refusal> {
    let candidate_set_digest = digest::of_document(&candidates_value(&base.candidates)).ok_or(Reason::Internal)?;
    let facts = Value::object([
        ("document_type", Value::from(PLAN_DOCUMENT_TYPE)),
        ("schema_version", Value::from(SCHEMA_VERSION)),
        ("workspace_root", Value::from(request.display_root.as_str())),
        ("absolute_workspace_root", Value::from(request.absolute_root.as_str())),
        ("task_digest", Value::from(task_digest)),
        ("record_digest", Value::from(record_digest)),
        ("candidate_set_digest", Value::from(candidate_set_digest)),
    ]);
    let plan_digest = digest::of_document(&facts).ok_or(Reason::Internal)?;
    Ok(SelectionPlan { task_digest, record_digest, candidate_set_digest, plan_digest })
}
