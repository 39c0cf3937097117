//! Consent, settled before a host is started: what is there and holds is not asked for again.

use crate::broker::approval::{Approval, ApprovalRequest, ConsentPlace};
use crate::broker::settle::{self, SettledSubject};
use crate::capability::workspace;
use crate::delegate::Delegate;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::Record;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::System;

/// A consent that the person gave just now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Where it lies.
    pub file: AbsolutePath,
    /// Whether it took the place of another one.
    pub replaced: bool,
    /// False if what stood there before could not be remembered as taken back.
    pub remembered: bool,
}

/// How it was settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It holds for all of these; what the person allowed just now.
    Hold {
        /// What each is about: never none, and the same root in all.
        subjects: Vec<SettledSubject>,
        /// The consents that the person gave.
        allowed: Vec<Allowed>,
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
    let (mut subjects, mut allowed) = (Vec::new(), Vec::new());
    for request in &each {
        let (subject, settled) = settle::settle(system, delegate, request, place, details)?;
        subjects.push(subject);
        match settled {
            settle::Settled::Valid { .. } => {}
            settle::Settled::Asked(Approval::Allowed { file, replaced, remembered, .. }) => {
                allowed.push(Allowed { file, replaced, remembered });
            }
            settle::Settled::Asked(Approval::Declined) => return Ok(Settled::Declined),
            settle::Settled::Asked(Approval::NoTerminal) => return Ok(Settled::NoTerminal),
        }
    }
    Ok(Settled::Hold { subjects, allowed })
}

/// The attachments that are enabled in the nearest record.
fn enabled<S: System>(system: &S, request: &ApprovalRequest<'_>) -> Result<Vec<String>, Refusal> {
    let found = workspace::locate(system, request.cwd, None, request.home)?.ok_or(Reason::ConsentWorkspaceMissing)?;
    let record = Record::read(&found.settled_record(system)?.bytes)?;
    Ok(record.attachments().iter().filter(|entry| entry.enabled).map(|entry| entry.id.clone()).collect())
}
