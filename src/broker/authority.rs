//! The steps that ask whether somebody still stands behind a load: this person's ledger, the times of the consent, the policy
//! of whoever manages the machine. Each is asked once more before delivery.

use crate::broker::Broker;
use crate::broker::load::{Load, Step, done, proved};
use crate::consent::binding::{Moment, check_time};
use crate::consent::ledger::{Key, Ledger};
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::system::{Enforcement, System};

/// The attachment was approved on this machine, where that is required.
pub(super) fn ledger<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    done(broker.check_ledger(load).map(drop))
}

/// The consent is neither too early nor over, was not taken back, and nothing happened to its attachment since.
pub(super) fn consent_time<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let ledger = broker.check_ledger(load)?;
    done(broker.check_consent_time(load, &ledger))
}

/// Nothing in the managed policy stands against it.
pub(super) fn policy_allows<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    // A task is resolved without an asset. How this one will be given is known; how it was is judged again at the end.
    let sealed = broker.delegate.is_given_sealed_bytes();
    done(broker.check_policy(load, load.enforcement.map(|level| Enforcement { sealed, ..level })))
}

impl<S: System> Broker<S> {
    fn check_ledger(&self, load: &Load<'_, S>) -> Result<Ledger, Refusal> {
        let state = self.state.as_ref().ok_or(Reason::LedgerUnreadable)?;
        let ledger = Ledger::read(&self.system, state)?;
        if self.require_ledger || load.policy.as_ref().is_some_and(|policy| policy.requires_ledger()) {
            ledger.check(&key(load)?, proved(load.entry_digest)?)?;
        }
        Ok(ledger)
    }

    fn check_consent_time(&self, load: &Load<'_, S>, ledger: &Ledger) -> Result<(), Refusal> {
        let lease = proved(load.lease.as_ref())?;
        if ledger.is_revoked(lease.digest()) {
            return Err(Refusal::new(Reason::ConsentTakenBack).at(Stage::ConsentTime));
        }
        let latest = self.journal.as_ref().and_then(crate::journal::Journal::latest);
        check_time(lease.consent(), Moment { now: self.system.now(), latest })?;
        let issued_at = lease.consent().timed().map(|timed| timed.issued_at);
        let changed_at = ledger.changed_at(&key(load)?);
        // What happened to the attachment between approval and now shows in no digest if it was undone.
        if issued_at.zip(changed_at).is_some_and(|(issued_at, changed_at)| changed_at > issued_at) {
            return Err(Refusal::new(Reason::ConsentOlderThanChange).at(Stage::ConsentTime));
        }
        Ok(())
    }

    fn check_policy(&self, load: &Load<'_, S>, reached: Option<Enforcement>) -> Result<(), Refusal> {
        match &load.policy {
            Some(policy) => policy.allows(proved(load.lease.as_ref())?, self.system.now(), reached),
            None => Ok(()),
        }
    }

    /// All of it once more, as it is now, before delivery: the load's own process was the last to reach a level.
    pub(super) fn authority_again(&self, load: &mut Load<'_, S>) -> Result<(), Refusal> {
        let again = |refusal: Refusal| refusal.at(Stage::ConsentAgain);
        load.policy = self.managed.current(&self.system).map_err(again)?;
        let ledger = self.check_ledger(load).map_err(again)?;
        self.check_consent_time(load, &ledger).map_err(again)?;
        self.check_policy(load, load.enforcement).map_err(again)
    }
}

fn key<S: System>(load: &Load<'_, S>) -> Result<Key, Refusal> {
    let attachment = proved(load.attachment.as_ref())?;
    Ok(Key::new(proved(load.workspace_root.as_ref())?, &attachment.id))
}
