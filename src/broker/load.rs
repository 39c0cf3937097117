//! The steps of a load, one function each, in the order of `checks.rs`. A step takes what earlier steps proved and adds
//! its own proof; the message for the host is made from proofs alone, so there is no second way to deliver.

use crate::broker::place::FoundRecord;
use crate::broker::receipts::{Receipt, Reservation};
use crate::broker::{Answer, Broker, Profile, Selection, Task, adoption};
use crate::capability::secret::{AuthorizationSource, Secret};
use crate::capability::snapshot::{self, SealedSnapshot};
use crate::capability::workspace::{self, RecordBytes};
use crate::consent::binding::{ConsentLease, Coordinates};
use crate::consent::document::Consent;
use crate::consent::managed::Managed;
use crate::delegate::child::LoadOrder;
use crate::delegate::contract::ResolveRequest;
use crate::foundation::capsule::Capsule;
use crate::foundation::digest::Digest;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::resolution::{Authorization, Decision, ReasonCode, Resolution};
use crate::journal::OperationId;
use crate::system::{Cancel, Enforcement, System};
use std::sync::Arc;

/// What a step says about the sequence.
pub enum Flow {
    /// Go on.
    Continue,
    /// The answer is known already: a decision other than load.
    Answer(Box<Resolution>),
}

/// Makes the whole message for the host.
pub(super) type Render<'a> = &'a dyn Fn(&Answer) -> Result<Vec<u8>, Refusal>;

/// One load (or resolution) under way: its arguments, and the proofs gathered so far.
pub struct Load<'a, S: System> {
    pub(super) cwd: &'a str,
    pub(super) task: &'a Task,
    pub(super) selection: Option<&'a Selection>,
    pub(super) profile: Profile,
    pub(super) cancel: &'a Cancel,
    pub(super) render: Option<Render<'a>>,
    pub(super) operation: Option<OperationId>,
    pub(super) enforcement: Option<Enforcement>,
    pub(super) message: Option<Vec<u8>>,
    canonical: Option<AbsolutePath>,
    start: Option<RelativePath>,
    found: Option<FoundRecord<S>>,
    resolution: Option<Resolution>,
    pub(super) attachment: Option<Attachment>,
    pub(super) policy: Option<Arc<Managed>>,
    pub(super) workspace_root: Option<AbsolutePath>,
    pub(super) entry_digest: Option<Digest>,
    authorization: Option<AuthorizationSource>,
    consent_bytes: Option<Vec<u8>>,
    consent: Option<Consent>,
    pub(super) lease: Option<ConsentLease>,
    snapshot: Option<SealedSnapshot<S>>,
    standby: Option<S::Standby>,
    plan: Option<LoadPlan>,
    receipt: Option<Reservation>,
    secret: Option<Secret>,
    capsule: Option<Capsule>,
}

impl<'a, S: System> Load<'a, S> {
    /// Nothing proved yet.
    pub(super) fn new(cwd: &'a str, task: &'a Task, selection: Option<&'a Selection>, cancel: &'a Cancel) -> Self {
        Self {
            cwd,
            task,
            selection,
            profile: Profile::default(),
            cancel,
            render: None,
            operation: None,
            enforcement: None,
            message: None,
            canonical: None,
            start: None,
            found: None,
            resolution: None,
            attachment: None,
            policy: None,
            workspace_root: None,
            entry_digest: None,
            authorization: None,
            consent_bytes: None,
            consent: None,
            lease: None,
            snapshot: None,
            standby: None,
            plan: None,
            receipt: None,
            secret: None,
            capsule: None,
        }
    }

    /// A load rather than a resolution.
    pub(super) fn delivering(mut self, profile: Profile, render: Render<'a>) -> Self {
        self.profile = profile;
        self.render = Some(render);
        self
    }

    /// The resolution, when the sequence of `workspace-resolve` has ended.
    pub(super) fn take_resolution(&mut self) -> Result<Resolution, Refusal> {
        proved(self.resolution.take())
    }

    fn found(&self) -> Result<&FoundRecord<S>, Refusal> {
        proved(self.found.as_ref())
    }
}

/// A proof that an earlier step must have given. Its absence is a defect of the table and refuses.
pub(super) fn proved<T>(value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| Reason::Internal.into())
}

pub(super) type Step = Result<Flow, Refusal>;

pub(super) fn done(verdict: Result<(), Refusal>) -> Step {
    verdict.map(|()| Flow::Continue)
}

pub(super) fn cwd<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    load.canonical = Some(crate::capability::root::PinnedRoot::canonical_cwd(&broker.system, load.cwd)?);
    Ok(Flow::Continue)
}

pub(super) fn root<S: System>(broker: &Broker<S>, _: &mut Load<'_, S>) -> Step {
    done(broker.root.assert_unchanged(&broker.system))
}

pub(super) fn containment<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    load.start = Some(broker.root.contain(proved(load.canonical.as_ref())?)?);
    Ok(Flow::Continue)
}

pub(super) fn record_search<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    match broker.find_record(proved(load.start.as_ref())?)? {
        Some(found) => load.found = Some(found),
        None => return Ok(Flow::Answer(Box::new(Resolution::no_record()))),
    }
    Ok(Flow::Continue)
}

pub(super) fn home_guard<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    done(broker.guard_home(load.found()?))
}

pub(super) fn task_text<S: System>(_: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    match load.task {
        Task::Text(_) => Ok(Flow::Continue),
        Task::NotUnicode => Err(Reason::TaskNotUtf8.into()),
    }
}

pub(super) fn journal_open<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    load.operation = Some(broker.journal_intent()?);
    Ok(Flow::Continue)
}

pub(super) fn managed_policy<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    load.policy = broker.managed.current(&broker.system)?;
    Ok(Flow::Continue)
}

pub(super) fn resolve<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let Task::Text(task) = load.task else { return Err(Reason::TaskNotUtf8.into()) };
    let found = load.found()?;
    let start = proved(load.start.as_ref())?;
    let request = ResolveRequest {
        workspace: RelativePath::default(),
        start: below(start, &found.place.workspace)?,
        display_root: start.display_of_ancestor(&found.place.workspace),
        absolute_root: broker.root.path().join(&found.place.workspace).as_str().to_owned(),
        selection: load
            .selection
            .map(|chosen| (chosen.attachment_id.clone(), chosen.task_digest.clone(), chosen.plan_digest.clone())),
        defer_password: broker.authorization.is_some(),
        hardened: broker.hardened,
    };
    // A resolution is all that is asked for where nothing is to be delivered.
    let mut standby = None;
    let ahead = load.render.map(|_| &mut standby);
    let (system, directory) = (&broker.system, &found.place.directory);
    let reply = broker.delegate.resolve(system, directory, request, task.as_bytes(), ahead, load.cancel)?;
    load.standby = standby;
    load.enforcement = Some(reply.enforcement);
    load.resolution = Some(reply.value);
    Ok(Flow::Continue)
}

pub(super) fn resolution_binding<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let found = load.found()?;
    let resolution = proved(load.resolution.as_ref())?;
    let start = proved(load.start.as_ref())?;
    if resolution.workspace_root() != start.display_of_ancestor(&found.place.workspace)
        && resolution.decision() == Decision::Load
    {
        return Err(Reason::AttachmentChanged.into());
    }
    broker.record_unchanged(found, Stage::ResolutionBinding)?;
    if resolution.decision() != Decision::Load {
        return Ok(Flow::Answer(Box::new(proved(load.resolution.take())?)));
    }
    let attachment = selected_attachment(resolution, &found.bytes)?;
    let workspace_root = broker.root.path().join(&found.place.workspace);
    load.entry_digest = Some(proved(attachment.entry_digest())?);
    load.workspace_root = Some(workspace_root);
    load.attachment = Some(attachment);
    Ok(Flow::Continue)
}

/// Where the caller stands, from the workspace.
fn below(start: &RelativePath, workspace: &RelativePath) -> Result<RelativePath, Refusal> {
    let steps = workspace.components().count();
    let rest: Vec<&str> = start.components().skip(steps).collect();
    proved(RelativePath::parse(&rest.join("/")))
}

/// The record's entry for the selected candidate: there, enabled, and equal in role, asset identity and digest.
fn selected_attachment(resolution: &Resolution, record: &RecordBytes) -> Result<Attachment, Refusal> {
    let record = Record::read(&record.bytes).map_err(|_| Reason::AttachmentChanged)?;
    let candidate = proved(resolution.selected())?;
    record
        .find(&candidate.attachment_id)
        .filter(|entry| {
            entry.enabled
                && entry.role == candidate.role
                && entry.asset.id == candidate.asset_id
                && entry.asset.version == candidate.version
                && entry.asset.digest == candidate.digest
        })
        .cloned()
        .ok_or_else(|| Reason::AttachmentChanged.into())
}

/// A selection is for one task, once. It stays held until the load is delivered or has failed.
pub(super) fn selection<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let resolution = proved(load.resolution.as_ref())?;
    let (Some(chosen), ReasonCode::ExplicitTaskAttachmentSelection) = (load.selection, resolution.reason()) else {
        return Ok(Flow::Continue);
    };
    let Task::Text(task) = load.task else { return Err(Reason::TaskNotUtf8.into()) };
    let found = load.found()?;
    let plan = chosen.plan_digest.as_deref().map(|plan| Digest::parse(plan).ok_or(Reason::Internal)).transpose()?;
    load.receipt = Some(broker.receipts.reserve(Receipt {
        workspace: found.place.workspace.clone(),
        attachment: proved(load.attachment.as_ref())?.id.clone(),
        task: Digest::of(task.as_bytes()),
        plan,
        record: found.bytes.digest,
    })?);
    Ok(Flow::Continue)
}

pub(super) fn authorization_source<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let resolution = proved(load.resolution.as_ref())?;
    if resolution.authorization() == Authorization::Required {
        let coordinate = proved(broker.authorization.as_deref())?;
        load.authorization = Some(AuthorizationSource::bind(&broker.system, coordinate, &broker.root)?);
    }
    Ok(Flow::Continue)
}

pub(super) fn consent_read<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    // The host's own identifier is judged after the document was read, as recorded.
    let host_id = broker.host_id.as_deref().unwrap_or_default();
    let name = coordinates(broker, load, host_id)?.set_name();
    load.consent_bytes = Some(broker.consent.read_for(&broker.system, &name)?);
    Ok(Flow::Continue)
}

pub(super) fn consent_shape<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    broker.checked_host_id()?;
    load.consent = Some(Consent::read(proved(load.consent_bytes.as_deref())?)?);
    Ok(Flow::Continue)
}

pub(super) fn consent_binding<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let coordinates = coordinates(broker, load, broker.checked_host_id()?)?;
    done(crate::consent::binding::check_binding(proved(load.consent.as_ref())?, &coordinates))
}

fn coordinates<'a, S: System>(
    broker: &'a Broker<S>,
    load: &'a Load<'_, S>,
    host_id: &'a str,
) -> Result<Coordinates<'a>, Refusal> {
    let attachment = proved(load.attachment.as_ref())?;
    Ok(Coordinates {
        host_id,
        host_root: broker.root.path(),
        workspace_root: proved(load.workspace_root.as_ref())?,
        asset_digest: attachment.asset.digest,
        attachment_id: &attachment.id,
        scope_digest: attachment.scope_digest(),
        entry_digest: proved(load.entry_digest)?,
        profile: load.profile.as_str(),
    })
}

pub(super) fn destination<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let consent = proved(load.consent.take())?;
    let coordinates = coordinates(broker, load, broker.checked_host_id()?)?;
    load.lease = Some(ConsentLease::judge(consent, &coordinates)?);
    Ok(Flow::Continue)
}

pub(super) fn snapshot_seal<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let attachment = proved(load.attachment.as_ref())?;
    let path = proved(snapshot::place(&attachment.asset))?;
    let snapshot =
        SealedSnapshot::seal(&broker.system, &load.found()?.place.directory, &path, attachment.asset.digest)?;
    if broker.hardened && !is_own_snapshot(broker, load.found()?, &snapshot) {
        return Err(Reason::SnapshotNotOwn.into());
    }
    load.snapshot = Some(snapshot);
    Ok(Flow::Continue)
}

fn is_own_snapshot<S: System>(broker: &Broker<S>, found: &FoundRecord<S>, snapshot: &SealedSnapshot<S>) -> bool {
    workspace::is_own(&broker.system, snapshot.facts())
        && workspace::is_own_directory(&broker.system, &found.place.directory, &snapshot::directory())
}

pub(super) fn plan<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let mut standby = load.standby.take();
    let (snapshot, workspace) = (proved(load.snapshot.as_ref())?, &load.found()?.place.directory);
    let reply = broker.delegate.plan(&broker.system, workspace, snapshot, Some(&mut standby), load.cancel)?;
    load.standby = standby;
    load.plan = Some(reply.value);
    Ok(Flow::Continue)
}

pub(super) fn binding_before_secret<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let found = load.found()?;
    broker.record_unchanged(found, Stage::BindingBeforeSecret)?;
    done(
        proved(load.snapshot.as_ref())?
            .assert_unchanged(&broker.system, &found.place.directory)
            .map_err(|refusal| refusal.at(Stage::BindingBeforeSecret)),
    )
}

pub(super) fn authorization<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let plan = proved(load.plan.as_ref())?;
    if plan.can_load_now() {
        return Ok(Flow::Continue);
    }
    let secret = match (&load.authorization, plan.needs_password()) {
        (Some(source), true) => source.read(&broker.system)?,
        _ => return Err(Reason::AssetNotAuthorized.into()),
    };
    let secret_locked = Some(secret.is_locked());
    load.enforcement = load.enforcement.map(|level| Enforcement { secret_locked, ..level });
    load.secret = Some(secret);
    Ok(Flow::Continue)
}

pub(super) fn load<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let (secret, standby) = (load.secret.take(), load.standby.take());
    let reply = broker.delegate.load(
        &broker.system,
        &load.found()?.place.directory,
        proved(load.snapshot.as_ref())?,
        LoadOrder { profile: load.profile.as_str(), password: secret.as_ref(), standby },
        load.cancel,
    )?;
    let secret_locked = secret.as_ref().map(Secret::is_locked);
    drop(secret);
    load.enforcement = Some(Enforcement { secret_locked, ..reply.enforcement });
    load.capsule = Some(reply.value);
    Ok(Flow::Continue)
}

pub(super) fn capsule_identity<S: System>(_: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let capsule = proved(load.capsule.as_ref())?;
    let expected: Digest = proved(load.attachment.as_ref())?.asset.digest;
    if capsule.asset_digest() != expected || capsule.profile() != load.profile.as_str() {
        return Err(Reason::CapsuleForeign.into());
    }
    Ok(Flow::Continue)
}

pub(super) fn root_again<S: System>(broker: &Broker<S>, _: &mut Load<'_, S>) -> Step {
    done(broker.root.assert_unchanged(&broker.system).map_err(|refusal| refusal.at(Stage::RootAgain)))
}

pub(super) fn binding_again<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    done(broker.record_unchanged(load.found()?, Stage::BindingAgain))
}

pub(super) fn snapshot_again<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    done(proved(load.snapshot.as_ref())?.assert_unchanged(&broker.system, &load.found()?.place.directory))
}

pub(super) fn consent_again<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    proved(load.lease.as_ref())?.assert_unchanged(&broker.system, &broker.consent)?;
    done(broker.authority_again(load))
}

/// Makes the message and records the delivery; what cannot be recorded is not delivered.
pub(super) fn journal<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    if load.cancel.is_set() {
        return Err(Refusal::new(Reason::CallCancelled).at(Stage::Journal));
    }
    let document = adoption::delivered(&adoption::Delivered {
        runtime: broker.delegate.pinned_names(),
        resolution: proved(load.resolution.as_ref())?,
        attachment: proved(load.attachment.as_ref())?,
        selection: load.selection,
        lease: proved(load.lease.as_ref())?,
        plan: proved(load.plan.as_ref())?,
        capsule: proved(load.capsule.as_ref())?,
    });
    let answer = Answer { document, enforcement: load.enforcement };
    load.message = Some(proved(load.render)?(&answer)?);
    done(broker.journal_delivery(load))
}

pub(super) fn deliver<S: System>(_: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    proved(load.message.as_ref())?;
    if let Some(receipt) = load.receipt.take() {
        receipt.spend();
    }
    Ok(Flow::Continue)
}
