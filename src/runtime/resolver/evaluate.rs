//! The ten rules: from what the phrases say to one decision. No ranking and no tie-break; record order throughout.

use super::phrase::{Assessment, Polarity, assess};
use super::task::Task;
use crate::foundation::record::{Application, Attachment, MatchingPolicy};
use crate::foundation::resolution::ReasonCode;
use crate::foundation::text::normalise_phrase;
use std::collections::HashSet;

/// What the phrases of all enabled attachments say, before any snapshot was looked at.
#[derive(Debug)]
pub(super) struct Verdict<'a> {
    pub(super) reason: ReasonCode,
    /// In the order in which the rule lists them.
    pub(super) candidates: Vec<&'a Attachment>,
    /// The enabled attachments that one of their own exclusions fits without doubt, whatever else fits.
    pub(super) excluded: Vec<&'a Attachment>,
}

/// One enabled attachment and what its phrases say.
#[derive(Clone, Copy)]
struct Evaluated<'a> {
    attachment: &'a Attachment,
    says: Says,
    uncertain: bool,
    excluded: bool,
    open_world: bool,
}

/// Which of an attachment's phrases match the task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    Nothing,
    For,
    Against,
    Both,
}

impl<'a> Evaluated<'a> {
    fn of(task: &Task<'_>, attachment: &'a Attachment) -> Self {
        let scope = &attachment.scope;
        let all = |phrases: &[String], polarity| -> Vec<Assessment> {
            phrases.iter().map(|phrase| assess(task, phrase, polarity)).collect()
        };
        let against = all(&scope.does_not_apply_to, Polarity::Against);
        let pro = all(&scope.applies_to, Polarity::For);
        let matched = |list: &[Assessment]| list.iter().any(|found| found.matched);
        let all_workspace = scope.application == Application::AllWorkspace;
        let says = match (matched(&pro), matched(&against)) {
            (_, false) if all_workspace => Says::For,
            (_, true) if all_workspace => Says::Against,
            (true, false) => Says::For,
            (false, true) => Says::Against,
            (true, true) => Says::Both,
            (false, false) => Says::Nothing,
        };
        Self {
            attachment,
            says,
            uncertain: pro.iter().chain(&against).any(|found| found.matched && found.uncertain),
            excluded: against.iter().any(|found| found.matched && !found.uncertain),
            open_world: scope.matching_policy == MatchingPolicy::OpenWorldAsk,
        }
    }

    fn is_positive(&self) -> bool {
        self.says == Says::For
    }
    fn is_negative(&self) -> bool {
        self.says == Says::Against
    }
    fn is_ambiguous(&self) -> bool {
        self.says == Says::Both
    }
    fn is_open_unmatched(&self) -> bool {
        self.says == Says::Nothing && self.open_world
    }
    fn is_closed_unmatched(&self) -> bool {
        self.says == Says::Nothing && !self.open_world
    }
    /// What an uncertain answer lists: everything but the closed unmatched and the certainly excluded.
    fn could_apply(&self) -> bool {
        match self.says {
            Says::For | Says::Both => true,
            Says::Against => self.uncertain,
            Says::Nothing => self.open_world,
        }
    }
}

/// Applies the rules to all enabled attachments; the first that fits decides.
pub(super) fn evaluate<'a>(task: &Task<'_>, attachments: &'a [Attachment]) -> Verdict<'a> {
    let all: Vec<Evaluated<'a>> =
        attachments.iter().filter(|attachment| attachment.enabled).map(|one| Evaluated::of(task, one)).collect();
    let list = |belongs: fn(&Evaluated<'a>) -> bool| -> Vec<&'a Attachment> {
        all.iter().filter(|one| belongs(one)).map(|one| one.attachment).collect()
    };
    let (ambiguous, positive, negative) =
        (list(Evaluated::is_ambiguous), list(Evaluated::is_positive), list(Evaluated::is_negative));
    let (open, closed) = (list(Evaluated::is_open_unmatched), list(Evaluated::is_closed_unmatched));
    let contradicting = contradicting(&positive, &negative);
    let uncertain = all.iter().any(|one| one.uncertain);
    let (reason, candidates) = match () {
        () if all.is_empty() => (ReasonCode::NoApprovedAttachment, Vec::new()),
        () if uncertain => (ReasonCode::AmbiguousScope, list(Evaluated::could_apply)),
        () if !ambiguous.is_empty() => (ReasonCode::AmbiguousScope, [ambiguous, positive, open].concat()),
        () if positive.len() > 1 || !contradicting.is_empty() => {
            (ReasonCode::AttachmentConflict, [positive, contradicting, open].concat())
        }
        () if !open.is_empty() => (ReasonCode::ApplicabilityUnresolved, [positive, open].concat()),
        () if !positive.is_empty() => (ReasonCode::SingleApprovedAttachmentClearlyApplies, positive),
        () if closed.is_empty() => (ReasonCode::ExplicitlyOutsideScope, negative),
        () if negative.is_empty() => (ReasonCode::ClosedWorldNoMatch, closed),
        () => (ReasonCode::NoApplicableAttachment, [negative, closed].concat()),
    };
    Verdict { reason, candidates, excluded: list(|one| one.excluded) }
}

/// The excluded attachments that have the same role as one that applies.
fn contradicting<'a>(positive: &[&Attachment], negative: &[&'a Attachment]) -> Vec<&'a Attachment> {
    let roles: HashSet<String> = positive.iter().map(|one| normalise_phrase(&one.role)).collect();
    negative.iter().filter(|one| roles.contains(&normalise_phrase(&one.role))).copied().collect()
}
