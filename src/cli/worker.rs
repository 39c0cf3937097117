//! The runtime worker: confines itself before its first read of foreign bytes, says how, then serves exactly one request
//! and exits. It has no environment, no arguments but its own flag, no terminal and no network; what it learns comes in
//! on its standard input.
//!
//! Exit: what the public command would exit with. Standard error: at most one word, the closed code of a failure.

use super::is_only_argument;
use crate::delegate::contract::{LoadRequest, PlanRequest, Request, ResolveRequest};
use crate::foundation::digest::Digest;
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::value::Value;
use crate::runtime::resolver::{self, Inspector, NotAnAsset, Selection, TaskSource};
use crate::runtime::writer::{self, Argon2id, Fresh, ProtectFault};
use crate::runtime::{
    self, Asset, Container, EntitlementStatus, InputKind, LoadInput, LoadProfile, PlanInput, RuntimeFault, Standing,
};
use crate::system::os::{OsSystem, confine, worker_io};
use crate::system::{Observe, System as _};

/// The one argument of a worker.
pub(crate) const FLAG: &str = "--runtime-worker";

/// If this process was started as a worker: serve and exit.
pub(crate) fn serve_if_asked() {
    if is_only_argument(FLAG) {
        std::process::exit(serve());
    }
}

/// Confinement first, everything else after it.
fn serve() -> i32 {
    let Some(parent) = worker_io::parent_id() else { return FAILED };
    // The broker starts a worker in `/` exactly when it gives it no directory to read beneath.
    let readable = OsSystem::confined().working_directory().is_ok_and(|path| !path.is_filesystem_root());
    let confined = confine::confine(readable, None, parent).map(|level| (level, ()));
    let Some(()) = worker_io::report(confined) else { return FAILED };
    let Ok(input) = worker_io::receive() else { return FAILED };
    let Some(request) = Request::read(&input.request) else { return FAILED };
    let bytes = match input.sealed.as_ref().map(|sealed| worker_io::read_sealed(sealed, limits::SNAPSHOT_BYTES)) {
        Some(Ok(bytes)) => bytes,
        Some(Err(_)) => return FAILED,
        None => Vec::new(),
    };
    match &request {
        Request::Protect => finish_protecting(protect(&bytes, &input.input)),
        request => finish(answer(request, &bytes, &input.input)),
    }
}

/// The status of a failure without a document.
const FAILED: i32 = 1;
/// The status of bytes that are no container at all.
const UNRECOGNISED: i32 = 2;

/// A document as text and its status, or the closed code of a failure and its status.
type Reply = Result<(String, i32), (Option<&'static str>, i32)>;

fn answer(request: &Request, bytes: &[u8], input: &[u8]) -> Reply {
    if let Request::Resolve(request) = request {
        return resolve(request, input);
    }
    if !runtime::recognise(bytes) {
        return Err((None, UNRECOGNISED));
    }
    match request {
        Request::PlanLoad(request) => plan(request, bytes),
        Request::Load(request) => load(request, bytes, input),
        Request::Inspect(switches) => {
            let container = Container::read_with(bytes, *switches).map_err(failure)?;
            let document = Asset::read(&container).and_then(|asset| asset.inspect()).map_err(failure)?;
            printed(&document, 0)
        }
        Request::Validate { plan, planned } => {
            let input = planned.then(|| plan_input(plan));
            let container = Container::read_with(bytes, plan.switches).map_err(failure)?;
            let asset = Asset::read(&container).map_err(failure)?;
            let (document, exit) = asset.validate(input.as_ref()).map_err(failure)?;
            printed(&document, i32::from(exit))
        }
        Request::Resolve(_) | Request::Protect => Err((None, FAILED)),
    }
}

fn failure(fault: RuntimeFault) -> (Option<&'static str>, i32) {
    (fault.word(), FAILED)
}

fn plan_input(request: &PlanRequest) -> PlanInput<'_> {
    PlanInput {
        has_password: request.has_password,
        entitlement_status: request.entitlement_status.as_deref().and_then(EntitlementStatus::parse),
        source_path: request.source_path.as_deref(),
    }
}

fn plan(request: &PlanRequest, bytes: &[u8]) -> Reply {
    let container = Container::read_with(bytes, request.switches).map_err(failure)?;
    let asset = Asset::read_for_load(&container).map_err(failure)?;
    let document = asset.plan(&plan_input(request)).map_err(failure)?;
    let exit =
        match (document.get("state").and_then(Value::as_str), document.get("can_load_now").and_then(Value::as_bool)) {
            (Some("invalid"), _) => 1,
            (_, Some(true)) => 0,
            _ => 3,
        };
    printed(&document, exit)
}

fn load(request: &LoadRequest, bytes: &[u8], input: &[u8]) -> Reply {
    let profile = LoadProfile::parse(&request.profile).ok_or((None, FAILED))?;
    let input = LoadInput {
        profile,
        password: request.password.then_some(input),
        entitlement_status: request.entitlement_status.as_deref().and_then(EntitlementStatus::parse),
        loaded_at: request.loaded_at,
        input_kind: InputKind::PackagedFile,
    };
    let container = Container::read_with(bytes, request.switches).map_err(failure)?;
    let asset = Asset::read_for_load(&container).map_err(failure)?;
    asset.load_text(&input).map(|text| (text, 0)).map_err(failure)
}

fn resolve(request: &ResolveRequest, task: &[u8]) -> Reply {
    let system = OsSystem::confined();
    let directory = system.start_directory().map_err(|_| (None, FAILED))?;
    let order = resolver::ResolveRequest {
        workspace: request.workspace.clone(),
        display_root: request.display_root.clone(),
        absolute_root: request.absolute_root.clone(),
        task,
        task_source: TaskSource::Stdin,
        selection: selection(request)?,
        defer_password: request.defer_password,
        hardened: request.hardened,
    };
    let document = resolver::resolve(&system, &directory, &order, &Embedded).map_err(|_| (None, UNRECOGNISED))?;
    printed(&document, 0)
}

/// The protected form of an asset, whose secret part is drawn here and nowhere else.
fn protect(bytes: &[u8], password: &[u8]) -> Result<Vec<u8>, ProtectFault> {
    let fresh = Fresh::draw(|random| OsSystem::confined().random(random)).map_err(|_| ProtectFault::NotLoadable)?;
    writer::protect(bytes, password, &fresh, Argon2id::WRITTEN)
}

/// The one reply that is no document: the asset's bytes.
fn finish_protecting(protected: Result<Vec<u8>, ProtectFault>) -> i32 {
    match protected {
        Ok(bytes) if worker_io::write_output(&bytes).is_ok() => 0,
        Ok(_) => FAILED,
        Err(fault) => {
            let _ = worker_io::write_error(fault.word().as_bytes());
            FAILED
        }
    }
}

/// The selection's digests, as digests.
fn selection(request: &ResolveRequest) -> Result<Option<Selection>, (Option<&'static str>, i32)> {
    let Some((attachment_id, task_digest, plan_digest)) = &request.selection else { return Ok(None) };
    let digest = |text: &String| Digest::parse(text).ok_or((None, UNRECOGNISED));
    Ok(Some(Selection {
        attachment_id: attachment_id.clone(),
        task_digest: digest(task_digest)?,
        plan_digest: plan_digest.as_ref().map(digest).transpose()?,
    }))
}

/// Plans a snapshot inside this process: it is the sandboxed one.
struct Embedded;

impl Inspector for Embedded {
    fn standing(&self, bytes: &[u8]) -> Result<Standing, NotAnAsset> {
        runtime::standing(bytes).map_err(|_| NotAnAsset)
    }
}

/// A document's text, unless it has none or would be longer than the broker reads.
fn printed(document: &Value, exit: i32) -> Reply {
    let text = write::pretty_within(document, limits::RUNTIME_OUTPUT_BYTES).ok().flatten();
    text.map(|text| (text, exit)).ok_or((None, FAILED))
}

fn finish(reply: Reply) -> i32 {
    match reply {
        Ok((text, exit)) if worker_io::write_output(text.as_bytes()).is_ok() => exit,
        Ok(_) => FAILED,
        Err((code, exit)) => {
            let _ = worker_io::write_error(code.unwrap_or_default().as_bytes());
            exit
        }
    }
}
