//! Where a one-task selection goes on from the base result: to a load of the chosen candidate, or to a block that names
//! what does not fit. Nothing of a selection is stored, and none of it is believed: every digest is computed here anew.

use super::answer::{authorization, failed, may_load, outcome};
use super::evaluate::Verdict;
use super::task::Task;
use super::verify::Verifier;
use super::{ResolveRequest, Selection};
use crate::foundation::digest::Digest;
use crate::foundation::record::{Attachment, Record};
use crate::foundation::resolution::{Authorization, Candidate, Decision, Integrity, Parts, ReasonCode};
use crate::system::Observe;

/// What the base result was made from.
pub(super) struct Continuation<'a, 'v, S: Observe> {
    pub(super) request: &'a ResolveRequest<'a>,
    pub(super) task: &'a Task<'a>,
    pub(super) record: &'v Record,
    pub(super) verdict: &'a Verdict<'v>,
    pub(super) snapshots: Verifier<'a, S>,
    /// The digest of the record's bytes now; `None` if it cannot be read any more.
    pub(super) record_now: &'a dyn Fn() -> Option<Digest>,
    pub(super) record_digest: Digest,
}

impl<S: Observe> Continuation<'_, '_, S> {
    /// The result with the selection.
    pub(super) fn go_on(mut self, base: Parts, selection: &Selection) -> Parts {
        if selection.task_digest != self.task.digest() {
            return self.block(base, ReasonCode::SelectionBindingChanged);
        }
        if base.reason.decision() == Decision::Block {
            return base;
        }
        let (chosen, attachment) = match self.judge(&base, selection) {
            Ok(chosen) => chosen,
            Err(reason) => return self.block(base, reason),
        };
        let verified = match self.snapshots.verify(&attachment.asset) {
            Ok(verified) => verified,
            Err(reason) => return failed(self.request, reason, chosen),
        };
        if !may_load(self.request, verified) {
            let blocked = outcome(self.request, ReasonCode::AuthorizationRequired, vec![chosen]);
            let authorization = Authorization::Required;
            return Parts { authorization, integrity: Integrity::Verified, ..blocked };
        }
        if (self.record_now)() != Some(self.record_digest) {
            return self.block(base, ReasonCode::SelectionBindingChanged);
        }
        Parts {
            selected: Some(chosen),
            authorization: authorization(verified),
            integrity: Integrity::Verified,
            ..outcome(self.request, ReasonCode::ExplicitTaskAttachmentSelection, base.candidates)
        }
    }

    /// The chosen candidate and its entry, if this selection may choose it.
    fn judge(&self, base: &Parts, selection: &Selection) -> Result<(Candidate, Attachment), ReasonCode> {
        let id = selection.attachment_id.as_str();
        let chosen = base.candidates.iter().find(|candidate| candidate.attachment_id == id);
        let chosen = chosen.ok_or(ReasonCode::SelectionNotCurrentCandidate)?;
        let decision = base.reason.decision();
        let named = || !self.request.hardened && self.task.names(id);
        let given = selection.plan_digest;
        if (decision == Decision::Skip && !named())
            || (given.is_none() && decision == Decision::Ask && !named())
            || (given.is_none() && self.request.hardened)
        {
            return Err(ReasonCode::SelectionReceiptRequired);
        }
        if given.is_some() && given != base.selection_plan.map(|plan| plan.plan_digest) {
            return Err(ReasonCode::SelectionBindingChanged);
        }
        if self.request.hardened && self.verdict.excluded.iter().any(|attachment| attachment.id == id) {
            return Err(ReasonCode::SelectionNotCurrentCandidate);
        }
        let attachment = self.record.find(id).filter(|attachment| attachment.enabled);
        Ok((chosen.clone(), attachment.ok_or(ReasonCode::SelectionNotCurrentCandidate)?.clone()))
    }

    fn block(&self, base: Parts, reason: ReasonCode) -> Parts {
        outcome(self.request, reason, base.candidates)
    }
}
