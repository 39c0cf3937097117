//! Starts one runtime process for one request and judges how it ended. A reply that is not the contract's document, a
//! death, a flood or a missing sandbox are refusals; what the process says on standard error never goes to the model.

use crate::capability::secret::Secret;
use crate::capability::snapshot::SealedSnapshot;
use crate::delegate::contract::{LoadRequest, PlanRequest, Request, ResolveRequest};
use crate::delegate::external;
use crate::delegate::pin::PinnedRuntime;
use crate::foundation::capsule::Capsule;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::resolution::Resolution;
use crate::foundation::switches::Switches;
use crate::foundation::value::Value;
use crate::system::{Cancel, ChildFault, ChildOrder, ChildReport, Enforcement, Program, System};
use std::sync::Arc;
use std::time::Duration;

/// How the runtime gets an asset's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As a sealed descriptor: what was digested is what is parsed.
    Sealed,
    /// By its path below the workspace: a swap is caught by the digest checks around the call and by the Capsule's own
    /// digest.
    PathBound,
}

/// Is told how each process ended, for the person who runs the server. What a process said on standard error is foreign:
/// show it through `text::display` only, and never to the model.
pub type Witness = fn(Stage, &Result<ChildReport, ChildFault>);

/// The pinned delegated runtime.
pub struct Delegate<S: System> {
    shape: Shape,
    pinned: Option<Arc<PinnedRuntime<S>>>,
    witness: Option<Witness>,
}

/// Where the process for the request after this one stands by: its start is most of what a request costs, so it is made
/// while this one is worked on. The process that is found there serves this request.
pub type Ahead<'a, S> = Option<&'a mut Option<<S as System>::Standby>>;

/// What a load asks for.
pub struct LoadOrder<'a, S: System> {
    /// The profile's name.
    pub profile: &'a str,
    /// The password, where the asset asks for one.
    pub password: Option<&'a Secret>,
    /// The process that stands by for it, if one does.
    pub standby: Option<S::Standby>,
}

/// A validated reply and how strongly the process was confined.
pub struct Reply<T> {
    /// The validated document.
    pub value: T,
    /// The sandbox it ran in.
    pub enforcement: Enforcement,
}

impl<S: System> Delegate<S> {
    /// This executable's own worker mode, given sealed bytes.
    pub const fn embedded() -> Self {
        Self { shape: Shape::Sealed, pinned: None, witness: None }
    }

    /// The same program, given a path below the workspace. For simulation of external runtimes.
    pub const fn path_bound() -> Self {
        Self { shape: Shape::PathBound, pinned: None, witness: None }
    }

    /// A pinned external runtime, given a path below the workspace.
    pub fn external(pinned: PinnedRuntime<S>) -> Self {
        Self { shape: Shape::PathBound, pinned: Some(Arc::new(pinned)), witness: None }
    }

    /// The same, with somebody who is told how each process ended.
    #[must_use]
    pub fn witnessed(self, witness: Witness) -> Self {
        Self { witness: Some(witness), ..self }
    }

    /// Starts one process that is given nothing, only to see how far its sandbox gets.
    pub fn probe(&self, system: &S) -> Result<Enforcement, ChildFault> {
        let call = Call { request: Request::Inspect(Switches::NONE), directory: None, sealed: None, input: b"" };
        start(system, &call, Program::Embedded, &call.request.write(), Start::ahead(None), &Cancel::new())
            .map(|report| report.enforcement)
    }

    /// Whether an asset is given to it as sealed bytes.
    pub fn is_given_sealed_bytes(&self) -> bool {
        self.shape == Shape::Sealed
    }

    /// Where the pins of an external runtime were read.
    pub fn pins_coordinate(&self) -> Option<&AbsolutePath> {
        self.pinned.as_ref().map(|pinned| pinned.coordinate())
    }

    /// The CLI and the Core that an external runtime was pinned to, each as `name@version`.
    pub fn pinned_names(&self) -> Option<(&str, &str)> {
        let pins = self.pinned.as_ref()?.pins();
        Some((&pins.cli, &pins.core))
    }

    /// Decides one task. `runtime_rejected` for a refused task, `resolver_contract_invalid` for a wrong reply.
    pub fn resolve(
        &self,
        system: &S,
        directory: &S::Directory,
        request: ResolveRequest,
        task: &[u8],
        ahead: Ahead<'_, S>,
        cancel: &Cancel,
    ) -> Result<Reply<Resolution>, Refusal> {
        self.resolution(system, directory, request, task, ahead, cancel, Resolution::check)
    }

    /// The same for the owner, who may be told of everything that the record holds.
    pub fn resolve_for_owner(
        &self,
        system: &S,
        directory: &S::Directory,
        request: ResolveRequest,
        task: &[u8],
    ) -> Result<Reply<Resolution>, Refusal> {
        self.resolution(system, directory, request, task, None, &Cancel::new(), Resolution::check_for_owner)
    }

    #[allow(clippy::too_many_arguments, reason = "one for each thing that a request is made of")]
    fn resolution(
        &self,
        system: &S,
        directory: &S::Directory,
        request: ResolveRequest,
        task: &[u8],
        ahead: Ahead<'_, S>,
        cancel: &Cancel,
        check: fn(Value, bool) -> Result<Resolution, Refusal>,
    ) -> Result<Reply<Resolution>, Refusal> {
        let deferred = request.defer_password;
        let call = Call { request: Request::Resolve(request), directory: Some(directory), sealed: None, input: task };
        let report = self.run(system, &call, Start::ahead(ahead), cancel, Stage::Resolve)?;
        if report.exit != 0 {
            return Err(Reason::TaskRefused.into());
        }
        let value = check(document(&report, Stage::Resolve)?, deferred)?;
        Ok(Reply { value, enforcement: report.enforcement })
    }

    /// Plans the snapshot. Exit 0, 1 and 3 come with a plan; all else is `runtime_rejected`.
    pub fn plan(
        &self,
        system: &S,
        workspace: &S::Directory,
        snapshot: &SealedSnapshot<S>,
        ahead: Ahead<'_, S>,
        cancel: &Cancel,
    ) -> Result<Reply<LoadPlan>, Refusal> {
        let source_path = Some(snapshot.path().as_str().to_owned());
        let bound = matches!(self.shape, Shape::PathBound).then(|| snapshot.path().clone());
        let request = Request::PlanLoad(PlanRequest { source_path, snapshot: bound, ..PlanRequest::default() });
        let call = self.asset_call(request, workspace, snapshot, b"");
        let report = self.run(system, &call, Start::ahead(ahead), cancel, Stage::Plan)?;
        if !matches!(report.exit, 0 | 1 | 3) {
            return Err(Refusal::new(Reason::RuntimeRefused).at(Stage::Plan));
        }
        let mut document = document(&report, Stage::Plan)?;
        if matches!(self.shape, Shape::PathBound) {
            name_source(&mut document, snapshot.path().as_str());
        }
        let value = LoadPlan::check(document).map_err(|refusal| refusal.at(Stage::Plan))?;
        Ok(Reply { value, enforcement: report.enforcement })
    }

    /// Loads the snapshot. Any exit but 0 is `authorization_rejected` where a password was given, else
    /// `runtime_rejected`.
    pub fn load(
        &self,
        system: &S,
        workspace: &S::Directory,
        snapshot: &SealedSnapshot<S>,
        order: LoadOrder<'_, S>,
        cancel: &Cancel,
    ) -> Result<Reply<Capsule>, Refusal> {
        let LoadOrder { profile, password, standby } = order;
        let request = Request::Load(LoadRequest {
            profile: profile.to_owned(),
            password: password.is_some(),
            entitlement_status: None,
            loaded_at: system.now(),
            snapshot: matches!(self.shape, Shape::PathBound).then(|| snapshot.path().clone()),
            switches: Switches::NONE,
        });
        let input = password.map_or(&b""[..], Secret::expose);
        let call = self.asset_call(request, workspace, snapshot, input);
        let report = self.run(system, &call, Start { process: standby, next: None }, cancel, Stage::Load)?;
        if report.exit != 0 {
            return Err(if password.is_some() { Reason::PasswordRejected } else { Reason::RuntimeRefused }.into());
        }
        let value = Capsule::check(document(&report, Stage::Load)?)?;
        Ok(Reply { value, enforcement: report.enforcement })
    }

    /// Runs any request over bytes that the person named on the command line; the report is for the command to judge.
    pub fn run_sealed(
        &self,
        system: &S,
        request: Request,
        sealed: &S::Sealed,
        input: &[u8],
        cancel: &Cancel,
    ) -> Result<ChildReport, Refusal> {
        self.run(
            system,
            &Call { request, directory: None, sealed: Some(sealed), input },
            Start::ahead(None),
            cancel,
            Stage::Load,
        )
    }

    fn asset_call<'a>(
        &self,
        request: Request,
        workspace: &'a S::Directory,
        snapshot: &'a SealedSnapshot<S>,
        input: &'a [u8],
    ) -> Call<'a, S> {
        match self.shape {
            Shape::Sealed => Call { request, directory: None, sealed: Some(snapshot.sealed()), input },
            Shape::PathBound => Call { request, directory: Some(workspace), sealed: None, input },
        }
    }

    fn run(
        &self,
        system: &S,
        call: &Call<'_, S>,
        from: Start<'_, S>,
        cancel: &Cancel,
        stage: Stage,
    ) -> Result<ChildReport, Refusal> {
        let Some(pinned) = &self.pinned else {
            // One that is given a path is started with it: none can stand by for it.
            let from = if self.shape == Shape::Sealed { from } else { Start::ahead(None) };
            let result = start(system, call, Program::Embedded, &call.request.write(), from, cancel);
            return self.judge(stage, result);
        };
        let held = pinned.current(system).map_err(|refusal| refusal.at(stage))?;
        let words = external::command_line(pinned.pins(), &call.request).ok_or(Reason::RequestNotPublic)?;
        let result = start(system, call, Program::External(held.external()), &words, Start::ahead(None), cancel);
        let report = self.judge(stage, result);
        // It reads its files by path while it runs: what it says counts only if nobody touched them meanwhile.
        pinned.untouched(system, &held).map_err(|refusal| refusal.at(stage))?;
        report
    }

    fn judge(&self, stage: Stage, result: Result<ChildReport, ChildFault>) -> Result<ChildReport, Refusal> {
        if let Some(witness) = self.witness {
            witness(stage, &result);
        }
        result.map_err(|fault| refusal(fault).at(stage))
    }
}

fn start<S: System>(
    system: &S,
    call: &Call<'_, S>,
    program: Program<'_, S::File, S::Directory>,
    request: &[u8],
    from: Start<'_, S>,
    cancel: &Cancel,
) -> Result<ChildReport, ChildFault> {
    let order = ChildOrder {
        program,
        directory: call.directory,
        sealed: call.sealed,
        request,
        input: call.input,
        deadline: Duration::from_millis(limits::RUNTIME_MILLISECONDS),
        output_limit: limits::RUNTIME_OUTPUT_BYTES,
        cancel,
    };
    let Start { process, next } = from;
    system.run_by(process, &order, || {
        if let Some(next) = next {
            // Where none can be started now, the next request starts its own and says what is wrong.
            *next = system.stand_by().ok();
        }
    })
}

/// By which process a request is served, and where one is to stand by for the next.
struct Start<'a, S: System> {
    process: Option<S::Standby>,
    next: Ahead<'a, S>,
}

impl<'a, S: System> Start<'a, S> {
    fn ahead(mut next: Ahead<'a, S>) -> Self {
        Self { process: next.as_mut().and_then(|process| process.take()), next }
    }
}

struct Call<'a, S: System> {
    request: Request,
    directory: Option<&'a S::Directory>,
    sealed: Option<&'a S::Sealed>,
    input: &'a [u8],
}

fn document(report: &ChildReport, stage: Stage) -> Result<Value, Refusal> {
    read_strict(&report.output, limits::RUNTIME_REPLY_DEPTH)
        .map_err(|_| Refusal::new(Reason::RuntimeOutputRefused).at(stage))
}

/// A runtime that was given a path may name the file as it likes; the model sees it as the workspace does.
fn name_source(plan: &mut Value, path: &str) {
    let Value::Object(plan) = plan else { return };
    let Some(Value::Object(source)) = plan.get("source") else { return };
    let mut source = source.clone();
    if source.contains_key("path") {
        source.insert("path", path.to_owned());
        plan.insert("source", source);
    }
}

fn refusal(fault: ChildFault) -> Refusal {
    match fault {
        ChildFault::NotStarted(_) => Reason::RuntimeNotStarted,
        ChildFault::Sandbox(_) => Reason::SandboxIncomplete,
        ChildFault::Deadline => Reason::RuntimeDeadline,
        ChildFault::Cancelled => Reason::CallCancelled,
        ChildFault::OutputTooLarge => Reason::RuntimeOutputTooLarge,
        ChildFault::Signal(_) => Reason::RuntimeDied,
    }
    .into()
}
