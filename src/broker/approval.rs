//! One approval: record and LoadPlan → draft → question → answer → stored consent. The only way by which a consent comes
//! to be; the facts come from the workspace and the asset, never from whoever asks.

use crate::broker::asking::{About, Asker};
use crate::broker::stored;
use crate::broker::subject::Subject;
use crate::capability::private_file;
use crate::capability::state;
use crate::consent::binding::Coordinates;
use crate::consent::document::{self, Consent, Schema};
use crate::consent::draft::{ConsentDraft, DraftFacts};
use crate::consent::host_draft::HostDraft;
use crate::consent::ledger::Ledger;
use crate::consent::managed;
use crate::consent::prompt;
use crate::consent::store::{ConsentFile, Standing};
use crate::delegate::Delegate;
use crate::delegate::child::Reply;
use crate::delegate::contract::{PlanRequest, Request};
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::time::Timestamp;
use crate::journal::{Event, Journal, OperationId, RowDraft};
use crate::system::{Cancel, Enforcement, Kind, NoTerminal, System};

/// What the person's command line says.
#[derive(Clone, Debug)]
pub struct ApprovalRequest<'a> {
    /// Where to look for the workspace.
    pub cwd: &'a str,
    /// Which attachment, where several are enabled.
    pub attachment: Option<&'a str>,
    /// The root that the server will be pinned to; the workspace itself by default.
    pub host_root: Option<&'a str>,
    /// The host.
    pub host_id: &'a str,
    /// The named destination.
    pub processor: &'a str,
    /// The capsule profile.
    pub profile: &'a str,
    /// How long an allowance holds, in milliseconds; `None`: until it is revoked. [`lifetime`] reads it.
    pub lifetime: Option<i64>,
    /// Which version of the document is written. 0.1.0 knows no end.
    pub schema: Schema,
    /// Whether an attachment that this machine's ledger does not know is refused.
    pub require_ledger: bool,
    /// `HOME`.
    pub home: Option<&'a str>,
    /// The broker's state directory, which no host root may contain.
    pub state: &'a AbsolutePath,
}

/// Where a consent is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentPlace {
    /// One file, which holds one consent (`KDNA_MCP_HOST_PROCESSING_CONSENT_FILE`).
    File(AbsolutePath),
    /// A private directory with one document for each coordinates (`KDNA_BROKER_CONSENT_DIR`).
    Set(AbsolutePath),
}

impl ConsentPlace {
    /// The variable by which a server finds it, and the path that it holds.
    pub const fn variable(&self) -> (&'static str, &AbsolutePath) {
        match self {
            Self::File(file) => ("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", file),
            Self::Set(set) => ("KDNA_BROKER_CONSENT_DIR", set),
        }
    }

    /// The file for these coordinates.
    pub fn file_for(&self, coordinates: &Coordinates<'_>) -> AbsolutePath {
        match self {
            Self::File(file) => file.clone(),
            Self::Set(directory) => directory.join(&RelativePath::parse(&coordinates.set_name()).unwrap_or_default()),
        }
    }
}

/// How the question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Allowed and stored.
    Allowed {
        /// The stored document's digest.
        consent: Digest,
        /// Whether a consent that stood there before holds no more.
        replaced: bool,
        /// False if what stood there before could not be remembered as taken back: a copy of it would still be valid.
        remembered: bool,
        /// Where it lies.
        file: AbsolutePath,
    },
    /// Declined; nothing was changed.
    Declined,
    /// There is no terminal to ask on; nothing was changed.
    NoTerminal,
}

/// What a person is told where an allowance is in force and what it replaced could not be remembered as taken back.
pub const NOT_REMEMBERED: &str =
    "It replaced what was in this file. That could not be recorded: a copy of the former file would still be valid.";

/// A question about one attachment of one workspace, ready to be asked.
pub struct Question<S: System> {
    draft: ConsentDraft,
    subject: Subject<S>,
    approved_here: bool,
    schema: Schema,
    state: AbsolutePath,
}

impl<S: System> Question<S> {
    /// As [`Question::prepare_with`] the embedded runtime.
    pub fn prepare(system: &S, request: &ApprovalRequest<'_>) -> Result<Self, Refusal> {
        Self::prepare_with(system, &Delegate::embedded(), request)
    }

    /// Gathers the facts; the asset is looked at by the given runtime. Refuses where there is no workspace, no single
    /// enabled attachment, where the stored asset is not the approved one, where the host root would be refused by the
    /// server, where the ledger is required and does not know the entry, and what the managed policy forbids: also where
    /// this runtime was confined less than the policy asks of a load.
    pub fn prepare_with(system: &S, delegate: &Delegate<S>, request: &ApprovalRequest<'_>) -> Result<Self, Refusal> {
        let subject = Subject::find(system, request)?;
        let Reply { value: plan, enforcement } =
            stored::verify_with(system, delegate, &subject.workspace, &subject.attachment.asset)?;
        let ledger = subject.check_ledger(system, request)?;
        let expires_at = Self::end_within_policy(system, request, &subject, enforcement)?;
        let draft = ConsentDraft::new(facts(request, &subject, &plan, expires_at)?)?;
        let approved_here = ledger.check(&subject.key(), draft.as_facts().entry_digest).is_ok();
        Ok(Self { draft, subject, approved_here, schema: request.schema, state: request.state.clone() })
    }

    /// The end that an allowance given now would have: the one asked for, else the latest that the managed policy allows.
    /// Refuses what the policy would refuse of every load under it.
    fn end_within_policy(
        system: &S,
        request: &ApprovalRequest<'_>,
        subject: &Subject<S>,
        reached: Enforcement,
    ) -> Result<Option<Timestamp>, Refusal> {
        let now = system.now();
        let is_timed = request.schema == Schema::Timed;
        let wished = request.lifetime.filter(|_| is_timed).map(|lifetime| later(now, lifetime));
        let Some(policy) = managed::look(system)? else { return Ok(wished) };
        policy.allows_destination(request.host_id, request.processor)?;
        policy.allows_asset(subject.attachment.asset.digest)?;
        let end = wished.or_else(|| policy.end_of(now).filter(|_| is_timed));
        policy.allows_lifetime(now, end)?;
        policy.allows_enforcement(Some(reached))?;
        Ok(end)
    }

    /// Whether a host's own draft says exactly what the facts say. Refuses `consent_draft_mismatch`.
    pub fn agrees_with(&self, draft: &HostDraft) -> Result<(), Refusal> {
        draft.agree(self.draft.as_facts())
    }

    /// The text that the person sees, where this stands at the place of the consent.
    pub fn text(&self, standing: &Standing, details: bool) -> String {
        let above = prompt::Above { standing: standing.clone(), approved_here: self.approved_here, details };
        prompt::shown(&self.draft, &above)
    }

    /// The facts that the consent will bind.
    pub fn draft(&self) -> &ConsentDraft {
        &self.draft
    }

    /// Asks on the person's terminal, and stores an allowance at its place. What changed while the person was reading is
    /// refused with `approval_binding_changed`. The answer is recorded before an allowance is in force.
    pub fn ask(self, system: &S, place: &ConsentPlace, details: bool) -> Result<Approval, Refusal> {
        let file = place.file_for(&self.subject.coordinates(self.draft.as_facts()));
        // Looked at first: nobody is asked for what could not be stored, and nothing is made for what is declined.
        judge_place(system, &file, &self.subject)?;
        let asker = Asker::admit(system, &self.state, About::consent(self.draft.as_facts()))?;
        if !prompt::fits(&self.draft, system.window().unwrap_or(prompt::SMALLEST)) {
            return Err(Reason::ConsentWindowTooSmall.into());
        }
        let standing = Standing::at(system, &file);
        match system.ask(&self.text(&standing, details)) {
            Err(NoTerminal) => return Ok(Approval::NoTerminal),
            Ok(answer) if !prompt::allows(&answer) => {
                asker.declined(system);
                return Ok(Approval::Declined);
            }
            Ok(_) => {}
        }
        let issued_at = system.now();
        self.assert_as_asked(system, &file, &standing, issued_at)?;
        let mut random = [0; 16];
        system.random(&mut random).map_err(|_| Reason::WriteFailed)?;
        let bytes = self.draft.document(self.schema, document::nonce(random), issued_at);
        let target = ConsentFile::create(system, &file)?;
        asker.allowed(system, Digest::of(&bytes))?;
        let before = target.digest(system);
        let consent = target.install(system, &bytes).inspect_err(|refusal| asker.not_stored(system, refusal))?;
        let replaced = matches!(standing, Standing::Consent(_));
        Ok(Approval::Allowed { consent, replaced, remembered: self.forget(system, before), file })
    }

    /// A copy of what was replaced allows nothing either; false if that could not be remembered.
    fn forget(&self, system: &S, old: Option<Digest>) -> bool {
        let Some(old) = old else { return true };
        let state = state::open_state(system, &self.state);
        state.is_ok_and(|state| Ledger::revoke(system, &state, old).is_ok())
    }

    /// What the person was told is still so, and what would be replaced is what they were told of.
    fn assert_as_asked(
        &self,
        system: &S,
        file: &AbsolutePath,
        standing: &Standing,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        if self.draft.as_facts().expires_at.is_some_and(|expires_at| now >= expires_at) {
            return Err(Reason::ConsentEnded.into());
        }
        let record = self.subject.workspace.settled_record(system);
        if record.ok().map(|now| now.digest) != Some(self.subject.record.digest)
            || Standing::at(system, file) != *standing
        {
            return Err(Reason::ApprovalDrift.into());
        }
        self.subject.workspace.assert_unchanged(system)
    }
}

/// The question that a stored consent would be asked for now. Refuses where its facts cannot be gathered any more.
pub fn question_of<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    request: &ApprovalRequest<'_>,
    consent: &Consent,
) -> Result<String, Refusal> {
    let subject = Subject::find(system, request)?;
    let plan = stored::verify_with(system, delegate, &subject.workspace, &subject.attachment.asset)?.value;
    let expires_at = consent.timed().and_then(|timed| timed.expires_at);
    Ok(prompt::question(&ConsentDraft::new(facts(request, &subject, &plan, expires_at)?)?))
}

/// Remembers that a consent was taken back: in the ledger, so that no copy of it allows anything, and in the journal.
pub fn record_revocation<S: System>(system: &S, state: &AbsolutePath, consent: Digest) -> Result<(), Refusal> {
    let state = state::open_state(system, state)?;
    Ledger::revoke(system, &state, consent)?;
    let row = RowDraft::new(&OperationId::draw(system)?, Event::Revoked).stage(Stage::Consent).consent(consent);
    Journal::open(system, &state)?.append(system, &row).map(drop)
}

/// A time so many milliseconds later.
fn later(now: Timestamp, milliseconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(now.milliseconds().saturating_add(milliseconds))
}

/// Reads a lifetime: a whole number of minutes, hours or days (`45m`, `12h`, `30d`), at most 3660 days, in milliseconds.
/// Refuses `consent_lifetime_invalid`.
pub fn lifetime(text: &str) -> Result<i64, Refusal> {
    const MINUTE: i64 = 60_000;
    let read = || {
        let (last, digits) = (text.chars().last()?, text.get(..text.len().checked_sub(1)?)?);
        let unit = match last {
            'm' => MINUTE,
            'h' => 60 * MINUTE,
            'd' => 24 * 60 * MINUTE,
            _ => return None,
        };
        let plain = !digits.is_empty() && digits.len() <= 7 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let time = plain.then(|| digits.parse::<i64>().ok())?.and_then(|number| number.checked_mul(unit))?;
        (1..=3660 * 24 * 60 * MINUTE).contains(&time).then_some(time)
    };
    read().ok_or_else(|| Reason::ConsentLifetimeInvalid.into())
}

/// The plan of a file that the person wants to attach: valid, with an identity. `source_not_container` or
/// `source_not_plannable` otherwise.
pub fn plan_of_source<S: System>(system: &S, sealed: &S::Sealed) -> Result<LoadPlan, Refusal> {
    let request = Request::PlanLoad(PlanRequest::default());
    let report = Delegate::embedded().run_sealed(system, request, sealed, b"", &Cancel::new())?;
    if report.output.is_empty() {
        return Err(Reason::SourceNotContainer.into());
    }
    let document =
        read_strict(&report.output, limits::RUNTIME_REPLY_DEPTH).map_err(|_| Reason::RuntimeOutputRefused)?;
    let plan = LoadPlan::check(document)?;
    if plan.is_usable() { Ok(plan) } else { Err(Reason::SourceNotPlannable.into()) }
}

/// Whether an allowance could be stored there and a server would read it there; makes nothing.
fn judge_place<S: System>(system: &S, file: &AbsolutePath, subject: &Subject<S>) -> Result<(), Refusal> {
    let (directory, _) = file.split_last().ok_or(Reason::ConsentCoordinate)?;
    if subject.host_root.holds(system, &directory) {
        return Err(Reason::ConsentPlaceInWorkspace.into());
    }
    private_file::judge_place(system, &directory).map_err(|_| Reason::ConsentDirectoryInsecure)?;
    match system.look(file) {
        Ok(facts) if facts.kind == Kind::Directory => Err(Reason::ConsentFileInvalid.into()),
        _ => Ok(()),
    }
}

fn facts<S: System>(
    request: &ApprovalRequest<'_>,
    subject: &Subject<S>,
    plan: &LoadPlan,
    expires_at: Option<Timestamp>,
) -> Result<DraftFacts, Refusal> {
    let attachment = &subject.attachment;
    Ok(DraftFacts {
        asset_title: plan.title().unwrap_or_default().to_owned(),
        asset_id: attachment.asset.id.clone(),
        asset_version: attachment.asset.version.clone(),
        asset_digest: attachment.asset.digest,
        attachment_id: attachment.id.clone(),
        role: attachment.role.clone(),
        applies_to: attachment.scope.applies_to.clone(),
        does_not_apply_to: attachment.scope.does_not_apply_to.clone(),
        scope_digest: attachment.scope_digest(),
        entry_digest: attachment.entry_digest().ok_or(Reason::Internal)?,
        workspace: subject.workspace.root.clone(),
        host_root: subject.host_root.path().clone(),
        host_id: request.host_id.to_owned(),
        processor: request.processor.to_owned(),
        profile: request.profile.to_owned(),
        expires_at,
    })
}
