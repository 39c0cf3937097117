//! One approval: record and LoadPlan → draft → question → answer → stored consent. The only way by which a consent comes
//! to be; the facts come from the workspace and the asset, never from whoever asks.

use crate::broker::stored;
use crate::capability::home::Homes;
use crate::capability::private_file;
use crate::capability::root::PinnedRoot;
use crate::capability::workspace::{self, Located, RecordBytes};
use crate::consent::document;
use crate::consent::draft::{ConsentDraft, DraftFacts};
use crate::consent::prompt;
use crate::consent::store::{ConsentFile, Standing};
use crate::delegate::Delegate;
use crate::delegate::contract::{PlanRequest, Request};
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Cancel, Kind, NoTerminal, System};

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
    /// `HOME`.
    pub home: Option<&'a str>,
    /// The broker's state directory, which no host root may contain.
    pub state: &'a AbsolutePath,
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
    },
    /// Declined; nothing was changed.
    Declined,
    /// There is no terminal to ask on; nothing was changed.
    NoTerminal,
}

/// A question about one attachment of one workspace, ready to be asked.
pub struct Question<S: System> {
    draft: ConsentDraft,
    workspace: Located<S>,
    host_root: PinnedRoot<S>,
    record: RecordBytes,
}

impl<S: System> Question<S> {
    /// As [`Question::prepare_with`] the embedded runtime.
    pub fn prepare(system: &S, request: &ApprovalRequest<'_>) -> Result<Self, Refusal> {
        Self::prepare_with(system, &Delegate::embedded(), request)
    }

    /// Gathers the facts; the asset is looked at by the given runtime. Refuses where there is no workspace, no single enabled attachment, where the stored asset is
    /// not the approved one, or where the host root would be refused by the server.
    pub fn prepare_with(system: &S, delegate: &Delegate<S>, request: &ApprovalRequest<'_>) -> Result<Self, Refusal> {
        let workspace =
            workspace::locate(system, request.cwd, None, request.home)?.ok_or(Reason::ConsentWorkspaceMissing)?;
        let record = workspace::settled_record(system, &workspace.directory).map_err(|_| Reason::RecordUnsafe)?;
        let attachment = choose(&Record::read(&record.bytes)?, request.attachment)?;
        let plan = stored::verify_with(system, delegate, &workspace, &attachment.asset)?;
        let host_root = host_root(system, request, &workspace)?;
        let draft = ConsentDraft::new(facts(request, &workspace, host_root.path().clone(), &attachment, &plan))?;
        Ok(Self { draft, workspace, host_root, record })
    }

    /// The text that the person sees, where this stands at the place of the consent.
    pub fn text(&self, standing: &Standing, details: bool) -> String {
        prompt::question(&self.draft, standing, details)
    }

    /// The facts that the consent will bind.
    pub fn draft(&self) -> &ConsentDraft {
        &self.draft
    }

    /// Asks on the person's terminal, and stores an allowance in the file. What changed while the person was reading is
    /// refused with `approval_binding_changed`.
    pub fn ask(self, system: &S, file: &AbsolutePath, details: bool) -> Result<Approval, Refusal> {
        // Looked at first: nobody is asked for what could not be stored, and nothing is made for what is declined.
        judge_place(system, file, &self.host_root)?;
        let standing = Standing::at(system, file);
        match system.ask(&self.text(&standing, details)) {
            Err(NoTerminal) => return Ok(Approval::NoTerminal),
            Ok(answer) if !prompt::allows(&answer) => return Ok(Approval::Declined),
            Ok(_) => {}
        }
        let now = workspace::settled_record(system, &self.workspace.directory);
        // What would be replaced must be what the person was told.
        if now.map(|now| now.digest) != Ok(self.record.digest) || Standing::at(system, file) != standing {
            return Err(Reason::ApprovalDrift.into());
        }
        self.workspace.assert_unchanged(system)?;
        let mut random = [0; 16];
        system.random(&mut random).map_err(|_| Reason::WriteFailed)?;
        let target = ConsentFile::create(system, file)?;
        let bytes = self.draft.facts(document::nonce(random)).bytes();
        let replaced = matches!(standing, Standing::Consent(_));
        Ok(Approval::Allowed { consent: target.install(system, &bytes)?, replaced })
    }
}

/// The attachment that is meant: the named one, else the only enabled one.
fn choose(record: &Record, id: Option<&str>) -> Result<Attachment, Refusal> {
    let mut enabled = record.attachments().iter().filter(|entry| entry.enabled && id.is_none_or(|id| entry.id == id));
    match (enabled.next(), enabled.count()) {
        (Some(only), 0) => Ok(only.clone()),
        (first, more) => Err(Refusal::labelled(
            Reason::ConsentAttachmentAmbiguous,
            format!(
                "Host processing consent requires exactly one enabled workspace attachment; found {}.",
                usize::from(first.is_some()) + more
            ),
        )),
    }
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

/// The root that the consent binds, under the same rules as a server's.
fn host_root<S: System>(
    system: &S,
    request: &ApprovalRequest<'_>,
    workspace: &Located<S>,
) -> Result<PinnedRoot<S>, Refusal> {
    let root = match request.host_root {
        None => workspace.root.clone(),
        Some(text) => PinnedRoot::canonical_cwd(system, text)?,
    };
    let homes = Homes::find(system, request.home)?;
    PinnedRoot::pin(system, Some(root.as_str()), &homes, request.state)
}

/// Whether an allowance could be stored there and a server would read it there; makes nothing.
fn judge_place<S: System>(system: &S, file: &AbsolutePath, host_root: &PinnedRoot<S>) -> Result<(), Refusal> {
    let (directory, _) = file.split_last().ok_or(Reason::ConsentCoordinate)?;
    if host_root.holds(system, &directory) {
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
    workspace: &Located<S>,
    host_root: AbsolutePath,
    attachment: &Attachment,
    plan: &LoadPlan,
) -> DraftFacts {
    DraftFacts {
        asset_title: plan.title().unwrap_or_default().to_owned(),
        asset_id: attachment.asset.id.clone(),
        asset_version: attachment.asset.version.clone(),
        asset_digest: attachment.asset.digest,
        attachment_id: attachment.id.clone(),
        role: attachment.role.clone(),
        applies_to: attachment.scope.applies_to.clone(),
        does_not_apply_to: attachment.scope.does_not_apply_to.clone(),
        scope_digest: attachment.scope_digest(),
        workspace: workspace.root.clone(),
        host_root,
        host_id: request.host_id.to_owned(),
        processor: request.processor.to_owned(),
        profile: request.profile.to_owned(),
    }
}
