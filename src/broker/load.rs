//! The steps of a load, one function each, in the order of `checks.rs`. A step takes what earlier steps proved and adds
//! its own proof; the message for the host is made from proofs alone, so there is no second way to deliver.

use crate::broker::{Answer, Broker, Profile, Selection, Task, adoption};
use crate::capability::secret::{AuthorizationSource, Secret};
use crate::capability::snapshot::{self, SealedSnapshot};
use crate::capability::workspace::{self, Found, RecordBytes, SearchFault};
use crate::consent::binding::{ConsentLease, Coordinates};
use crate::consent::document::Consent;
use crate::delegate::contract::ResolveRequest;
use crate::foundation::capsule::Capsule;
use crate::foundation::digest::Digest;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::resolution::{Authorization, Decision, Resolution};
use crate::journal::OperationId;
use crate::system::{Cancel, Enforcement, System};

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
    authorization: Option<AuthorizationSource>,
    consent_bytes: Option<Vec<u8>>,
    consent: Option<Consent>,
    pub(super) lease: Option<ConsentLease>,
    snapshot: Option<SealedSnapshot<S>>,
    plan: Option<LoadPlan>,
    secret: Option<Secret>,
    capsule: Option<Capsule>,
}

/// The nearest record, as first read.
pub(super) struct FoundRecord<S: System> {
    pub(super) place: Found<S>,
    pub(super) bytes: RecordBytes,
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
            authorization: None,
            consent_bytes: None,
            consent: None,
            lease: None,
            snapshot: None,
            plan: None,
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
fn proved<T>(value: Option<T>) -> Result<T, Refusal> {
    value.ok_or_else(|| Reason::Internal.into())
}

type Step = Result<Flow, Refusal>;

fn done(verdict: Result<(), Refusal>) -> Step {
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

pub(super) fn managed_policy<S: System>(broker: &Broker<S>, _: &mut Load<'_, S>) -> Step {
    done(broker.refuse_unread_policy())
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
    };
    let reply =
        broker.delegate.resolve(&broker.system, &found.place.directory, request, task.as_bytes(), load.cancel)?;
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
    load.attachment = Some(selected_attachment(resolution, &found.bytes)?);
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

pub(super) fn authorization_source<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let resolution = proved(load.resolution.as_ref())?;
    if resolution.authorization() == Authorization::Required {
        let coordinate = proved(broker.authorization.as_deref())?;
        load.authorization = Some(AuthorizationSource::bind(&broker.system, coordinate, &broker.root)?);
    }
    Ok(Flow::Continue)
}

pub(super) fn consent_read<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    load.consent_bytes = Some(broker.consent.read(&broker.system)?);
    Ok(Flow::Continue)
}

pub(super) fn consent_shape<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    broker.checked_host_id()?;
    load.consent = Some(Consent::read(proved(load.consent_bytes.as_deref())?)?);
    Ok(Flow::Continue)
}

pub(super) fn consent_binding<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let attachment = proved(load.attachment.as_ref())?;
    let coordinates = coordinates(broker, attachment, load.profile)?;
    done(crate::consent::binding::check_binding(proved(load.consent.as_ref())?, &coordinates))
}

fn coordinates<'a, S: System>(
    broker: &'a Broker<S>,
    attachment: &'a Attachment,
    profile: Profile,
) -> Result<Coordinates<'a>, Refusal> {
    Ok(Coordinates {
        host_id: broker.checked_host_id()?,
        host_root: broker.root.path(),
        asset_digest: attachment.asset.digest,
        attachment_id: &attachment.id,
        scope_digest: attachment.scope_digest(),
        profile: profile.as_str(),
    })
}

pub(super) fn destination<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let attachment = proved(load.attachment.as_ref())?;
    let coordinates = coordinates(broker, attachment, load.profile)?;
    load.lease = Some(ConsentLease::judge(proved(load.consent.take())?, &coordinates)?);
    Ok(Flow::Continue)
}

pub(super) fn snapshot_seal<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let attachment = proved(load.attachment.as_ref())?;
    let path = proved(snapshot::place(&attachment.asset))?;
    let snapshot =
        SealedSnapshot::seal(&broker.system, &load.found()?.place.directory, &path, attachment.asset.digest)?;
    load.snapshot = Some(snapshot);
    Ok(Flow::Continue)
}

pub(super) fn plan<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let snapshot = proved(load.snapshot.as_ref())?;
    let reply = broker.delegate.plan(&broker.system, &load.found()?.place.directory, snapshot, load.cancel)?;
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
    match (&load.authorization, plan.needs_password()) {
        (Some(source), true) => load.secret = Some(source.read(&broker.system)?),
        _ => return Err(Reason::AssetNotAuthorized.into()),
    }
    Ok(Flow::Continue)
}

pub(super) fn load<S: System>(broker: &Broker<S>, load: &mut Load<'_, S>) -> Step {
    let secret = load.secret.take();
    let reply = broker.delegate.load(
        &broker.system,
        &load.found()?.place.directory,
        proved(load.snapshot.as_ref())?,
        load.profile.as_str(),
        secret.as_ref(),
        load.cancel,
    )?;
    load.enforcement = Some(reply.enforcement);
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
    done(proved(load.lease.as_ref())?.assert_unchanged(&broker.system, &broker.consent))
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
    proved(load.message.as_ref()).map(|_| Flow::Continue)
}

impl<S: System> Broker<S> {
    /// The nearest record from `start` up to the root, read once; `None` if there is none.
    pub(super) fn find_record(&self, start: &RelativePath) -> Result<Option<FoundRecord<S>>, Refusal> {
        let root = self.root.handle();
        let found = workspace::nearest_record(&self.system, root, start).map_err(|fault| match fault {
            SearchFault::KdnaDirectory => Reason::KdnaDirectoryInvalid,
            SearchFault::Directory(_) => Reason::CwdUnavailable,
            SearchFault::RecordFile | SearchFault::Uninspectable(_) => Reason::RecordFileInvalid,
        })?;
        let Some(place) = found else { return Ok(None) };
        let bytes = workspace::read_record(&self.system, &place.directory, &RelativePath::default());
        Ok(Some(FoundRecord { bytes: bytes.map_err(|_| Reason::RecordFileInvalid)?, place }))
    }

    /// A record found in a home directory is no project authority.
    pub(super) fn guard_home(&self, found: &FoundRecord<S>) -> Result<(), Refusal> {
        if self.homes.is_home(found.place.identity) { Err(Reason::RecordInHome.into()) } else { Ok(()) }
    }

    /// The record at its place beneath the pinned root still has the bytes first read. It is looked up anew from the
    /// root: a replaced directory is a change too.
    pub(super) fn record_unchanged(&self, found: &FoundRecord<S>, stage: Stage) -> Result<(), Refusal> {
        let now = workspace::read_record(&self.system, self.root.handle(), &found.place.workspace);
        match now {
            Ok(now) if now.digest == found.bytes.digest => Ok(()),
            _ => Err(Refusal::new(Reason::RecordChanged).at(stage)),
        }
    }
}
