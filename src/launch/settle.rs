//! Consent, settled before a host is started: what is there and holds is not asked for again.

use crate::broker::approval::{Approval, ApprovalRequest, Question};
use crate::consent::binding::{ConsentLease, Coordinates};
use crate::consent::draft::DraftFacts;
use crate::consent::store::ConsentSource;
use crate::delegate::Delegate;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::Refusal;
use crate::system::System;

/// How it was settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It holds; whether the person was asked for it just now.
    Holds {
        /// What it is about.
        facts: Box<DraftFacts>,
        /// Whether the person was asked.
        asked: bool,
    },
    /// The person declined.
    Declined,
    /// Nobody could be asked.
    NoTerminal,
}

/// Asks on the person's terminal, unless the consent in the file is about exactly this, this destination included.
pub fn settle<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    request: &ApprovalRequest<'_>,
    file: &AbsolutePath,
    details: bool,
) -> Result<Settled, Refusal> {
    let question = Question::prepare_with(system, delegate, request)?;
    let facts = Box::new(question.draft().as_facts().clone());
    if holds(system, &facts, file) {
        return Ok(Settled::Holds { facts, asked: false });
    }
    Ok(match question.ask(system, file, details)? {
        Approval::Allowed { .. } => Settled::Holds { facts, asked: true },
        Approval::Declined => Settled::Declined,
        Approval::NoTerminal => Settled::NoTerminal,
    })
}

/// Whether a server with these coordinates would accept what is in the file.
fn holds<S: System>(system: &S, facts: &DraftFacts, file: &AbsolutePath) -> bool {
    let Ok(root) = system.look(&facts.host_root) else { return false };
    let source = ConsentSource::bind(system, Some(file.as_str()), root.identity);
    let coordinates = Coordinates {
        host_id: &facts.host_id,
        host_root: &facts.host_root,
        asset_digest: facts.asset_digest,
        attachment_id: &facts.attachment_id,
        scope_digest: facts.scope_digest,
        profile: &facts.profile,
    };
    ConsentLease::obtain(system, &source, &coordinates).is_ok_and(|lease| lease.processor() == facts.processor)
}
