//! Settling consent before the first load: is it there, and if not, asks once. For launchers and for `consent check`.

use crate::broker::approval::{Approval, ApprovalRequest, ConsentPlace, Question};
use crate::broker::stored;
use crate::broker::subject::Subject;
use crate::consent::binding::{ConsentLease, Coordinates, Moment, check_time};
use crate::consent::managed;
use crate::consent::store::ConsentSource;
use crate::delegate::Delegate;
use crate::foundation::digest::Digest;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Code, Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::journal;
use crate::system::System;
use std::borrow::Borrow;

/// How consent stands for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Validity {
    /// A load would accept it now.
    Valid {
        /// The document's digest.
        consent: Digest,
        /// Its end, if it has one.
        expires_at: Option<Timestamp>,
        /// Where it lies.
        file: AbsolutePath,
    },
    /// A person must be asked; why. `consent_expired` is one reason.
    Needed(Refusal),
}

/// How settling ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was there; nobody was asked.
    Valid {
        /// The document's digest.
        consent: Digest,
        /// Where it lies.
        file: AbsolutePath,
    },
    /// The person was asked.
    Asked(Approval),
}

/// What a consent that was settled is about, for who goes on with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettledSubject {
    /// The attachment.
    pub attachment_id: String,
    /// The root that the server will be pinned to.
    pub host_root: AbsolutePath,
}

/// Whether a consent for this request is there and holds now. Asks nobody, starts nothing, writes nothing.
///
/// `Err` is what no question could change: no workspace, a host root or a place that a server would refuse, the ledger, the
/// managed policy, a clock that went back.
pub fn check<S: System>(system: &S, request: &ApprovalRequest<'_>, place: &ConsentPlace) -> Result<Validity, Refusal> {
    judge(system, request, place, Some(request.processor))
}

/// As [`check`], and where a consent holds, whether the runtime is confined as the managed policy asks. A policy that asks for
/// nothing of the kind starts nothing; for another one the asset is planned once. `runtime` gives what would load it. Refuses
/// `policy_enforcement`, and what stands against the stored asset or the runtime.
pub fn check_with<S: System, D: Borrow<Delegate<S>>>(
    system: &S,
    runtime: impl FnOnce() -> Result<D, Refusal>,
    request: &ApprovalRequest<'_>,
    place: &ConsentPlace,
) -> Result<Validity, Refusal> {
    let validity = check(system, request, place)?;
    let policy = managed::look(system)?.filter(|policy| policy.judges_enforcement());
    if let (Validity::Valid { .. }, Some(policy)) = (&validity, policy) {
        let subject = Subject::find(system, request)?;
        let reply = stored::verify_with(system, runtime()?.borrow(), &subject.workspace, &subject.attachment.asset)?;
        policy.allows_enforcement(Some(reply.enforcement))?;
    }
    Ok(validity)
}

/// As [`check`], for whatever destination the consent itself names: what a server would meet.
pub fn standing<S: System>(
    system: &S,
    request: &ApprovalRequest<'_>,
    place: &ConsentPlace,
) -> Result<Validity, Refusal> {
    judge(system, request, place, None)
}

fn judge<S: System>(
    system: &S,
    request: &ApprovalRequest<'_>,
    place: &ConsentPlace,
    destination: Option<&str>,
) -> Result<Validity, Refusal> {
    let subject = Subject::find(system, request)?;
    let ledger = subject.check_ledger(system, request)?;
    let attachment = &subject.attachment;
    let coordinates = Coordinates {
        host_id: request.host_id,
        host_root: subject.host_root.path(),
        workspace_root: &subject.workspace.root,
        asset_digest: attachment.asset.digest,
        attachment_id: &attachment.id,
        scope_digest: attachment.scope_digest(),
        entry_digest: attachment.entry_digest().ok_or(Reason::Internal)?,
        profile: request.profile,
    };
    if let Some(policy) = managed::look(system)? {
        match destination {
            Some(processor) => policy.allows_destination(request.host_id, processor)?,
            None => policy.allows_host(request.host_id)?,
        }
        policy.allows_asset(attachment.asset.digest)?;
    }
    let (file, set) = match place {
        ConsentPlace::File(file) => (Some(file.as_str()), None),
        ConsentPlace::Set(directory) => (None, Some(directory.as_str())),
    };
    let source = ConsentSource::bind_either(system, file, set, subject.host_root.identity());
    let judged = ConsentLease::obtain(system, &source, &coordinates).and_then(|lease| {
        if destination.is_some_and(|processor| lease.processor() != processor) {
            return Err(Reason::ConsentForOtherProcessor.into());
        }
        if ledger.is_revoked(lease.digest()) {
            return Err(Reason::ConsentTakenBack.into());
        }
        let latest = journal::latest(system, request.state)?;
        check_time(lease.consent(), Moment { now: system.now(), latest })?;
        let timed = lease.consent().timed();
        let changed = timed.map(|timed| timed.issued_at).zip(ledger.changed_at(&subject.key()));
        if changed.is_some_and(|(issued_at, changed_at)| changed_at > issued_at) {
            return Err(Reason::ConsentOlderThanChange.into());
        }
        if let Some(policy) = managed::look(system)? {
            policy.allows_destination(request.host_id, lease.processor())?;
            policy.allows_consent(&lease, system.now())?;
        }
        Ok((lease.digest(), timed.and_then(|timed| timed.expires_at)))
    });
    match judged {
        Ok((consent, expires_at)) => Ok(Validity::Valid { consent, expires_at, file: place.file_for(&coordinates) }),
        Err(refusal) if is_for_a_person(&refusal) => Ok(Validity::Needed(refusal)),
        Err(refusal) => Err(refusal),
    }
}

/// Whether asking a person for a consent could help against a refusal.
pub fn is_for_a_person(refusal: &Refusal) -> bool {
    match refusal.reason() {
        Reason::ConsentParentInsecure
        | Reason::ConsentInsideWorkspace
        | Reason::ConsentParentChanged
        | Reason::HostIdInvalid => false,
        Reason::PolicyConsentAge | Reason::PolicyConsentRevoked => true,
        _ => matches!(
            refusal.code(),
            Code::HostProcessingConsentRequired
                | Code::HostProcessingConsentInvalid
                | Code::HostProcessingDestinationUnknown
                | Code::LocalProcessingAttestationRequired
                | Code::ConsentExpired
                | Code::ConsentNotYetValid
        ),
    }
}

/// Settles consent for this request: where none holds, asks the person once, and stores an allowance. Refuses as
/// [`check_with`] and [`Question::ask`].
pub fn settle<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    request: &ApprovalRequest<'_>,
    place: &ConsentPlace,
    details: bool,
) -> Result<(SettledSubject, Settled), Refusal> {
    let subject = Subject::find(system, request)?;
    let about =
        SettledSubject { attachment_id: subject.attachment.id.clone(), host_root: subject.host_root.path().clone() };
    let settled = match check_with(system, || Ok(delegate), request, place)? {
        Validity::Valid { consent, file, .. } => Settled::Valid { consent, file },
        Validity::Needed(_) => {
            Settled::Asked(Question::prepare_with(system, delegate, request)?.ask(system, place, details)?)
        }
    };
    Ok((about, settled))
}
