//! Adopting a record that came with its workspace: entries → one question → the ledger. What the record says of its own
//! approval counts for nothing here.

use crate::broker::asking::{About, Asker};
use crate::broker::stored;
use crate::broker::subject;
use crate::capability::state;
use crate::capability::workspace;
use crate::consent::adoption;
use crate::consent::ledger::{Key, Ledger};
use crate::consent::prompt;
use crate::delegate::Delegate;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::journal::Event;
use crate::system::{NoTerminal, System};

/// What the person's command line says.
#[derive(Clone, Copy, Debug)]
pub struct AdoptionRequest<'a> {
    /// Where to look for the workspace.
    pub cwd: &'a str,
    /// Which attachment; all that are not approved yet by default.
    pub attachment: Option<&'a str>,
    /// `HOME`.
    pub home: Option<&'a str>,
    /// The broker's state directory.
    pub state: &'a AbsolutePath,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// So many attachments are approved now.
    Adopted(usize),
    /// All of them were approved here already; nobody was asked.
    Nothing,
    /// Declined; nothing was changed.
    Declined,
    /// There is no terminal to ask on; nothing was changed.
    NoTerminal,
}

/// Asks the person once about what this machine's ledger does not know, and remembers a yes. Refuses where there is no
/// record, where a stored asset is not the one that its entry names, more attachments than one question can show, and as
/// a question about a consent does.
pub fn adopt<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    request: &AdoptionRequest<'_>,
) -> Result<Adoption, Refusal> {
    let workspace = workspace::locate(system, request.cwd, None, request.home)?.ok_or(Reason::RecordNotFound)?;
    let record = workspace.settled_record(system)?;
    let ledger = subject::ledger(system, request.state)?;
    let entries = unknown(&Record::read(&record.bytes)?, request.attachment, |attachment| {
        let digest = attachment.entry_digest().ok_or(Reason::Internal)?;
        Ok(ledger.check(&Key::new(&workspace.root, &attachment.id), digest).is_err())
    })?;
    let Some(first) = entries.first() else { return Ok(Adoption::Nothing) };
    if entries.len() > adoption::TOGETHER {
        return Err(Reason::AdoptionTooMany.into());
    }
    let asker = Asker::admit(system, request.state, About::attachment(first))?;
    let mut shown = Vec::new();
    for entry in &entries {
        let plan = stored::verify_with(system, delegate, &workspace, &entry.asset)?.value;
        shown.push((entry.clone(), plan.title().unwrap_or_default().to_owned()));
    }
    let question = adoption::question(&workspace.root, &shown);
    if !prompt::holds(&question, system.window().unwrap_or(prompt::SMALLEST)) {
        return Err(Reason::ConsentWindowTooSmall.into());
    }
    match system.ask(&question) {
        Err(NoTerminal) => return Ok(Adoption::NoTerminal),
        Ok(answer) if !prompt::allows(&answer) => {
            asker.declined(system);
            return Ok(Adoption::Declined);
        }
        Ok(_) => {}
    }
    if workspace.settled_record(system)?.digest != record.digest {
        return Err(Reason::ApprovalDrift.into());
    }
    workspace.assert_unchanged(system)?;
    let state = state::open_state(system, request.state)?;
    for entry in &entries {
        asker.about(About::attachment(entry)).answered(system, Event::Attached)?;
        let digest = entry.entry_digest().ok_or(Reason::Internal)?;
        Ledger::approve(system, &state, &Key::new(&workspace.root, &entry.id), digest)?;
    }
    Ok(Adoption::Adopted(entries.len()))
}

/// The entries that are meant and not known. Refuses `attachment_unknown`.
fn unknown(
    record: &Record,
    id: Option<&str>,
    is_unknown: impl Fn(&Attachment) -> Result<bool, Refusal>,
) -> Result<Vec<Attachment>, Refusal> {
    if id.is_some_and(|id| record.find(id).is_none()) {
        return Err(Reason::AttachmentUnknown.into());
    }
    let meant = record.attachments().iter().filter(|entry| id.is_none_or(|id| entry.id == id));
    let mut found = Vec::new();
    for entry in meant {
        if is_unknown(entry)? {
            found.push(entry.clone());
        }
    }
    Ok(found)
}
