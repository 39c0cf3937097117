//! Whether a person may be asked at all, and the record of how they answered: what started the command, how often it asked
//! lately, the journal. Asks nothing by itself and decides nothing about a consent.

use crate::capability::private_file::{self, PrivateDirectory};
use crate::capability::state;
use crate::consent::cooldown::{self, Patience};
use crate::consent::draft::DraftFacts;
use crate::foundation::digest::Digest;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::Attachment;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::journal::{AskedBy, Event, Journal, OperationId, RowDraft};
use crate::system::{Ancestor, System};

/// Commands below which nobody is asked: what runs there is a host's, or serves one.
const HOSTS_COMMANDS: [&str; 2] = ["mcp", "launch"];

/// What a question is about, as the journal names it.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    attachment_id: &'a str,
    asset_digest: Digest,
    destination: Option<(&'a str, &'a str)>,
}

impl<'a> About<'a> {
    /// A consent.
    pub(super) fn consent(facts: &'a DraftFacts) -> Self {
        let destination = Some((facts.host_id.as_str(), facts.processor.as_str()));
        Self { attachment_id: &facts.attachment_id, asset_digest: facts.asset_digest, destination }
    }

    /// An attachment.
    pub(super) fn attachment(attachment: &'a Attachment) -> Self {
        Self { attachment_id: &attachment.id, asset_digest: attachment.asset.digest, destination: None }
    }
}

/// Somebody who may ask now.
pub(super) struct Asker<'a> {
    state: &'a AbsolutePath,
    about: About<'a>,
    asked_by: AskedBy,
}

impl<'a> Asker<'a> {
    /// Refuses `consent_asker_unknown`, `consent_asked_by_host`, `consent_asked_too_often`, and a state directory in which
    /// the answer could not be recorded. Makes nothing, except that a refusal is recorded.
    pub(super) fn admit<S: System>(system: &S, state: &'a AbsolutePath, about: About<'a>) -> Result<Self, Refusal> {
        private_file::judge_place(system, state).map_err(|_| Reason::StateInsecure)?;
        let ancestors = system.ancestors().map_err(|_| Reason::ConsentAskerUnknown)?;
        let programs = ancestors.iter().map(|ancestor| ancestor.name.as_str());
        let asker = Self { state, about, asked_by: AskedBy::new(system.session(), programs) };
        if ancestors.iter().any(is_hosts) {
            return Err(asker.refuse(system, Reason::ConsentAskedByHost));
        }
        match cooldown::patience(system, PrivateDirectory::open(system, state).ok().as_ref()) {
            Patience::Ask => Ok(asker),
            Patience::Wait { first: true } => Err(asker.refuse(system, Reason::ConsentAskedTooOften)),
            Patience::Wait { first: false } => Err(Reason::ConsentAskedTooOften.into()),
        }
    }

    /// Records a question that is not asked. What cannot be recorded is refused all the same.
    fn refuse<S: System>(&self, system: &S, reason: Reason) -> Refusal {
        let refusal = Refusal::new(reason);
        let _ = self.record(system, Event::Refused, |row| row.refusal(&refusal));
        refusal
    }

    /// Records a decline, and that it was one.
    pub(super) fn declined<S: System>(&self, system: &S) {
        let _ = self.record(system, Event::Declined, |row| row.stage(Stage::Consent));
        if let Ok(state) = state::open_state(system, self.state) {
            let _ = cooldown::declined(system, &state);
        }
    }

    /// The same for another part of the same question.
    pub(super) fn about(&self, about: About<'a>) -> Self {
        Self { state: self.state, about, asked_by: self.asked_by.clone() }
    }

    /// Records a consent that was allowed, before it is in force. What cannot be recorded is not allowed:
    /// `journal_unavailable`.
    pub(super) fn allowed<S: System>(&self, system: &S, consent: Digest) -> Result<(), Refusal> {
        self.yes(system, Event::Allowed, |row| row.stage(Stage::Consent).consent(consent))
    }

    /// Records another yes, before it is in force.
    pub(super) fn answered<S: System>(&self, system: &S, event: Event) -> Result<(), Refusal> {
        self.yes(system, event, |row| row.stage(Stage::Consent))
    }

    fn yes<S: System>(
        &self,
        system: &S,
        event: Event,
        complete: impl FnOnce(RowDraft) -> RowDraft,
    ) -> Result<(), Refusal> {
        self.record(system, event, complete)?;
        if let Ok(state) = PrivateDirectory::open(system, self.state) {
            cooldown::allowed(system, &state);
        }
        Ok(())
    }

    /// Records that an allowance could not be stored after all.
    pub(super) fn not_stored<S: System>(&self, system: &S, refusal: &Refusal) {
        let _ = self.record(system, Event::Refused, |row| row.refusal(refusal));
    }

    fn record<S: System>(
        &self,
        system: &S,
        event: Event,
        complete: impl FnOnce(RowDraft) -> RowDraft,
    ) -> Result<(), Refusal> {
        let state = state::open_state(system, self.state)?;
        let journal = Journal::open(system, &state)?;
        let mut row = RowDraft::new(&OperationId::draw(system)?, event)
            .attachment(self.about.attachment_id)?
            .asset(self.about.asset_digest)
            .asked_by(self.asked_by.clone());
        if let Some((host_id, processor)) = self.about.destination {
            row = row.host(host_id)?.processor(processor)?;
        }
        journal.append(system, &complete(row)).map(drop)
    }
}

/// Whether a process is this product's server, or belongs to a session that it started for a host.
fn is_hosts(ancestor: &Ancestor) -> bool {
    ancestor.in_session || (ancestor.is_ours && HOSTS_COMMANDS.contains(&ancestor.command.as_str()))
}
