//! From what the phrases say to the base result: snapshots are verified, authorization is looked at, and hardened mode
//! turns a load into a question. Every part of a resolution that is written is made here.

use super::ResolveRequest;
use super::evaluate::Verdict;
use super::task::Task;
use super::verify::{Verified, Verifier};
use crate::foundation::digest::{self, Digest};
use crate::foundation::record::{Attachment, SCHEMA_VERSION};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::resolution::{
    Authorization, Candidate, Decision, Integrity, PLAN_DOCUMENT_TYPE, Parts, ReasonCode, SelectionPlan,
    candidates_value,
};
use crate::foundation::value::Value;
use crate::system::Observe;

/// The base result: a load or an ask stands only if the snapshots listed verify.
pub(super) fn decide<S: Observe>(
    request: &ResolveRequest<'_>,
    task: &Task<'_>,
    verdict: &Verdict<'_>,
    snapshots: &mut Verifier<'_, S>,
) -> Parts {
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
            Err(reason) => return failed(request, reason, unchecked(attachment)),
        }
    }
    let answer = Parts { integrity: Integrity::Verified, ..outcome(request, verdict.reason, listed) };
    match (verdict.reason.decision(), last) {
        (Decision::Load, Some(verified)) => load(request, task, answer, verified),
        _ => Parts { authorization: Authorization::NotSelected, ..answer },
    }
}

/// A load of one candidate, unless its authorization is missing and may not be deferred, or hardened mode heard a word
/// that denies or restricts.
fn load(request: &ResolveRequest<'_>, task: &Task<'_>, answer: Parts, verified: Verified) -> Parts {
    let authorization = authorization(verified);
    if !may_load(request, verified) {
        return Parts { reason: ReasonCode::AuthorizationRequired, authorization, ..answer };
    }
    if request.hardened && task.negates() {
        let reason = ReasonCode::AmbiguousScope;
        return Parts { reason, authorization: Authorization::NotSelected, ..answer };
    }
    Parts { selected: answer.candidates.first().cloned(), authorization, ..answer }
}

/// Whether the authorization is there, or may come later.
pub(super) fn may_load(request: &ResolveRequest<'_>, verified: Verified) -> bool {
    verified.can_load_now || (request.defer_password && verified.needs_password)
}

/// A result without any verification.
pub(super) fn outcome(request: &ResolveRequest<'_>, reason: ReasonCode, candidates: Vec<Candidate>) -> Parts {
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

/// The block of a candidate whose snapshot does not verify.
pub(super) fn failed(request: &ResolveRequest<'_>, reason: ReasonCode, candidate: Candidate) -> Parts {
    Parts { integrity: Integrity::Failed, ..outcome(request, reason, vec![candidate]) }
}

pub(super) fn authorization(verified: Verified) -> Authorization {
    if verified.can_load_now { Authorization::Satisfied } else { Authorization::Required }
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

/// What an ask lets a person choose from. No nonce, no time, no secret: it binds, and proves nothing about a person.
pub(super) fn selection_plan(
    request: &ResolveRequest<'_>,
    candidates: &[Candidate],
    task_digest: Digest,
    record_digest: Digest,
) -> Result<SelectionPlan, Refusal> {
    let candidate_set_digest = digest::of_document(&candidates_value(candidates)).ok_or(Reason::Internal)?;
    let facts = Value::object([
        ("document_type", Value::from(PLAN_DOCUMENT_TYPE)),
        ("schema_version", Value::from(SCHEMA_VERSION)),
        ("workspace_root", Value::copied(request.display_root.as_str())),
        ("absolute_workspace_root", Value::copied(request.absolute_root.as_str())),
        ("task_digest", Value::from(task_digest)),
        ("record_digest", Value::from(record_digest)),
        ("candidate_set_digest", Value::from(candidate_set_digest)),
    ]);
    let plan_digest = digest::of_document(&facts).ok_or(Reason::Internal)?;
    Ok(SelectionPlan { task_digest, record_digest, candidate_set_digest, plan_digest })
}
