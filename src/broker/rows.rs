//! What the journal learns of a load: an intent before anything is started, and one outcome. Nothing that is not a closed
//! word, a digest or a checked identifier can be said here.

use crate::broker::Broker;
use crate::broker::load::Load;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::journal::{Event, OperationId, RowDraft};
use crate::system::System;

impl<S: System> Broker<S> {
    /// Writes the intent, which proves that the outcome can be written too. `journal_unavailable` otherwise.
    pub(super) fn journal_intent(&self) -> Result<OperationId, Refusal> {
        let journal = self.journal.as_ref().ok_or(Reason::JournalUnwritable)?;
        let operation = OperationId::draw(&self.system)?;
        journal.prove(&self.system, &operation, self.checked_host_id().ok())?;
        Ok(operation)
    }

    /// Records a delivery, before it happens. What cannot be recorded is not delivered.
    pub(super) fn journal_delivery(&self, load: &Load<'_, S>) -> Result<(), Refusal> {
        let operation = load.operation.as_ref().ok_or(Reason::Internal)?;
        self.append(load, RowDraft::new(operation, Event::Delivered).stage(Stage::Deliver))
            .map_err(|_| Reason::OutcomeNotRecorded.into())
    }

    /// Records a decision other than load. Nothing is delivered, so a row that cannot be written changes no answer.
    pub(super) fn journal_withheld(&self, load: &Load<'_, S>) {
        if let Some(operation) = &load.operation {
            let _ = self.append(load, RowDraft::new(operation, Event::Withheld).stage(Stage::ResolutionBinding));
        }
    }

    /// Records a refusal, with whatever coordinates were known. Nothing is delivered, so a row that cannot be written
    /// changes no answer.
    pub(super) fn journal_refusal(&self, load: &Load<'_, S>, refusal: &Refusal) {
        let operation = load.operation.clone().or_else(|| OperationId::draw(&self.system).ok());
        if let Some(operation) = operation {
            let _ = self.append(load, RowDraft::new(&operation, Event::Refused).refusal(refusal));
        }
    }

    /// Records the start. A server that cannot journal still answers status and resolve, and refuses every load.
    pub(super) fn journal_start(&self) {
        let Some(journal) = &self.journal else { return };
        let Ok(operation) = OperationId::draw(&self.system) else { return };
        let row = RowDraft::new(&operation, Event::Started).stage(Stage::Start);
        let _ = self.with_host(row).and_then(|row| journal.append(&self.system, &row));
    }

    fn append(&self, load: &Load<'_, S>, row: RowDraft) -> Result<(), Refusal> {
        let journal = self.journal.as_ref().ok_or(Reason::JournalUnwritable)?;
        let mut row = self.with_host(row)?;
        if let Some(attachment) = &load.attachment {
            row = row.attachment(&attachment.id)?.asset(attachment.asset.digest);
        }
        if let Some(lease) = &load.lease {
            row = row.consent(lease.digest()).processor(lease.processor())?;
        }
        if let Some(policy) = &load.policy {
            row = row.policy(policy.digest());
        }
        if let Some(enforcement) = load.enforcement {
            row = row.enforcement(enforcement);
        }
        journal.append(&self.system, &row).map(|_| ())
    }

    fn with_host(&self, row: RowDraft) -> Result<RowDraft, Refusal> {
        match self.checked_host_id() {
            Ok(host) => row.host(host),
            Err(_) => Ok(row),
        }
    }
}
