//! Consent, settled before a host is started: what is there and holds is not asked for again.

use crate::broker::approval::{Approval, ApprovalRequest, ConsentPlace, Question};
use crate::broker::settle::{Validity, check};
use crate::capability::workspace;
use crate::consent::draft::DraftFacts;
use crate::delegate::Delegate;
use crate::foundation::path::RelativePath;
use crate::foundation::record::Record;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::System;

/// How it was settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// It holds for all of these; whether the person was asked for one of them just now.
    Hold {
        /// What each is about: never none, and the same root and host in all.
        facts: Vec<DraftFacts>,
        /// Whether the person was asked.
        asked: bool,
    },
    /// The person declined.
    Declined,
    /// Nobody could be asked.
    NoTerminal,
}

/// Asks on the person's terminal for each attachment whose consent does not hold, this destination included. A file holds
/// one consent, so there it must be clear which attachment is meant; a set holds one for each that is enabled.
pub fn settle<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    request: &ApprovalRequest<'_>,
    place: &ConsentPlace,
    details: bool,
) -> Result<Settled, Refusal> {
    let several = match place {
        ConsentPlace::Set(_) if request.attachment.is_none() => enabled(system, request)?,
        _ => Vec::new(),
    };
    let each: Vec<ApprovalRequest<'_>> = if several.is_empty() {
        vec![request.clone()]
    } else {
        several.iter().map(|id| ApprovalRequest { attachment: Some(id), ..request.clone() }).collect()
    };
    let (mut facts, mut asked) = (Vec::new(), false);
    for request in &each {
        let question = Question::prepare_with(system, delegate, request)?;
        facts.push(question.draft().as_facts().clone());
        if matches!(check(system, request, place)?, Validity::Valid { .. }) {
            continue;
        }
        match question.ask(system, place, details)? {
            Approval::Allowed { .. } => asked = true,
            Approval::Declined => return Ok(Settled::Declined),
            Approval::NoTerminal => return Ok(Settled::NoTerminal),
        }
    }
    Ok(Settled::Hold { facts, asked })
}

/// The attachments that are enabled in the nearest record.
fn enabled<S: System>(system: &S, request: &ApprovalRequest<'_>) -> Result<Vec<String>, Refusal> {
    let found = workspace::locate(system, request.cwd, None, request.home)?.ok_or(Reason::ConsentWorkspaceMissing)?;
    let record = workspace::read_record(system, &found.directory, &RelativePath::default());
    let record = Record::read(&record.map_err(|_| Reason::RecordUnsafe)?.bytes)?;
    Ok(record.attachments().iter().filter(|entry| entry.enabled).map(|entry| entry.id.clone()).collect())
}
