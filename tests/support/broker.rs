//! A broker over the simulated system: one workspace with one attached asset, one consent, and a scripted runtime that
//! runs the embedded resolver, planner and loader in the child's place.

#![allow(dead_code, reason = "each test file uses its own part")]

use kdna_broker::broker::checks::Checks;
use kdna_broker::broker::{Answer, Broker, Operations, Profile, Settings, Task};
use kdna_broker::consent::document::{ConsentFacts, Timed};
use kdna_broker::delegate::Delegate;
use kdna_broker::delegate::contract::Request;
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::path::RelativePath;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::refusal::Refusal;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::resolver::{self, NotAnAsset, Selection, TaskSource};
use kdna_broker::runtime::{self, InputKind, LoadProfile, PlanInput};
use kdna_broker::system::sim::{SimOrder, SimSystem, World};
use kdna_broker::system::{Cancel, ChildFault, ChildReport, Enforcement, Observe, System as _};

pub(crate) const ROOT: &str = "/w/app";
pub(crate) const RECORD_PATH: &str = "/w/app/.kdna/attachments.json";
pub(crate) const CONSENT_PATH: &str = "/private/consent.json";
pub(crate) const TASK: &str = "review the pull request";
/// A text that only a Capsule of the fixture holds.
pub(crate) const CAPSULE_CANARY: &str = "tired on-call engineer";
pub(crate) const RECORD: &[u8] =
    include_bytes!("../../fixtures/golden/cases/mcp-load-ok/files/ws/.kdna/attachments.json");
pub(crate) const ASSET: &[u8] = include_bytes!("../../fixtures/assets/review.kdna");
/// Another asset that loads just as well.
pub(crate) const OTHER_ASSET: &[u8] = include_bytes!("../../fixtures/assets/tiny.kdna");

/// The path of the stored asset.
pub(crate) fn snapshot_path() -> String {
    format!("{ROOT}/.kdna/assets/sha256-{}.kdna", Digest::of(ASSET).hex())
}

/// A consent for the fixture, with this nonce.
pub(crate) fn consent(nonce: char, profile: Profile) -> Vec<u8> {
    consent_for(RECORD, nonce, profile)
}

/// A consent for the first attachment of a record.
pub(crate) fn consent_for(record: &[u8], nonce: char, profile: Profile) -> Vec<u8> {
    facts_for(record, nonce, profile).bytes()
}

fn facts_for(record: &[u8], nonce: char, profile: Profile) -> ConsentFacts {
    let record = Record::read(record).unwrap();
    let attachment = &record.attachments()[0];
    ConsentFacts {
        nonce: nonce.to_string().repeat(32),
        host_id: "golden-host".into(),
        workspace_root_digest: of_root_path(ROOT),
        asset_digest: attachment.asset.digest,
        attachment_id: attachment.id.clone(),
        scope_digest: attachment.scope_digest(),
        processor: "Example Inference Ltd".into(),
        profile: profile.as_str().into(),
    }
}

/// When the simulated world begins.
pub(crate) fn beginning() -> Timestamp {
    SimSystem::new(7).now()
}

/// So many seconds later.
pub(crate) fn after(seconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(beginning().milliseconds() + seconds * 1000)
}

/// What 0.2.0 says of the fixture: given at the beginning, for an hour.
pub(crate) fn timed() -> Timed {
    Timed {
        workspace_root_digest: of_root_path(ROOT),
        entry_digest: Record::read(RECORD).unwrap().attachments()[0].entry_digest().unwrap(),
        prompt_digest: Digest::of(b"a question"),
        issued_at: beginning(),
        expires_at: Some(after(3600)),
    }
}

/// A consent of 0.2.0 for the fixture.
pub(crate) fn timed_consent(nonce: char, timed: &Timed) -> Vec<u8> {
    facts_for(RECORD, nonce, Profile::Compact).timed_bytes(timed)
}

pub(crate) const LEDGER_PATH: &str = "/state/attachment-ledger.json";
pub(crate) const POLICY_PATH: &str = "/etc/kdna-broker/policy.json";
/// A policy that allows the fixture.
pub(crate) const POLICY: &str = r#"{"document_type":"kdna-broker.managed-policy","schema_version":"0.1.0",
    "allowed_hosts":["golden-host"],"allowed_processors":["Example Inference Ltd"],"maximum_consent_age_seconds":7200,
    "minimum_enforcement":{"landlock":1,"seccomp":true},"require_ledger":true,"require_journal":true,
    "revoked_assets":[],"revoked_consents":[]}"#;

/// The ledger with the fixture's attachment, approved with this entry, changed then, and these consents taken back.
pub(crate) fn ledger(entry: Digest, changed_at: Option<Timestamp>, revoked: &[Digest]) -> String {
    let revoked: Vec<String> = revoked
        .iter()
        .map(|digest| format!(r#"{{"consent_digest":"{digest}","revoked_at":"{}"}}"#, beginning()))
        .collect();
    format!(
        r#"{{"document_type":"kdna-broker.attachment-ledger","schema_version":"0.1.0","attachments":[{{
        "workspace_root_digest":"{}","attachment_id":"att_000000000000000000000001","entry_digest":"{entry}",
        "approved_at":"{}","changed_at":{}}}],"revoked_consents":[{}]}}"#,
        of_root_path(ROOT),
        beginning(),
        changed_at.map_or("null".to_owned(), |time| format!("\"{time}\"")),
        revoked.join(",")
    )
}

/// The world in which every step has something to judge: a consent of 0.2.0, the ledger, a managed policy.
pub(crate) fn full_system() -> SimSystem {
    let system = system();
    system.arrange(|world| {
        world.file(CONSENT_PATH, 0o600, &timed_consent('a', &timed())).unwrap();
        world.file(LEDGER_PATH, 0o600, ledger(timed().entry_digest, None, &[]).as_bytes()).unwrap();
        world.file(POLICY_PATH, 0o644, POLICY.as_bytes()).unwrap();
        for path in ["/etc", "/etc/kdna-broker", POLICY_PATH] {
            world.set_owner(path, 0).unwrap();
        }
    });
    system
}

/// The world: the workspace, the consent, a home, and the runtime's script.
pub(crate) fn system() -> SimSystem {
    let system = SimSystem::new(7);
    system.arrange(|world: &mut World| {
        world.file(RECORD_PATH, 0o600, RECORD).unwrap();
        world.file(&snapshot_path(), 0o600, ASSET).unwrap();
        world.directory("/private", 0o700).unwrap();
        world.set_owner("/private", 1000).unwrap();
        world.file(CONSENT_PATH, 0o600, &consent('a', Profile::Compact)).unwrap();
        world.directory("/home/person", 0o700).unwrap();
        world.directory("/state", 0o700).unwrap();
        world.set_owner("/state", 1000).unwrap();
        world.set_working_directory("/").unwrap();
    });
    system.set_script(script);
    system
}

/// The coordinates that the environment would name.
pub(crate) fn settings() -> Settings {
    Settings {
        workspace_root: Some(ROOT.into()),
        host_id: Some("golden-host".into()),
        consent_file: Some(CONSENT_PATH.into()),
        consent_directory: None,
        require_ledger: false,
        authorization_file: None,
        state_directory: Some("/state".into()),
        home: Some("/home/person".into()),
        hardened: false,
    }
}

/// A started broker.
pub(crate) fn broker(
    system: &SimSystem,
    delegate: Delegate<SimSystem>,
    checks: Option<Box<dyn Checks>>,
) -> Broker<SimSystem> {
    let broker = Broker::start(system.clone(), settings(), delegate).unwrap();
    match checks {
        Some(checks) => broker.with_checks(checks),
        None => broker,
    }
}

/// One load; the message is the document's compact JSON.
pub(crate) fn load(broker: &Broker<SimSystem>) -> Result<String, Refusal> {
    let render = |answer: &Answer| Ok(write::compact(&answer.document).unwrap().into_bytes());
    let task = Task::Text(TASK.into());
    let message = broker.load(ROOT, &task, None, Profile::Compact, &render, &Cancel::new())?;
    Ok(String::from_utf8(message).unwrap())
}

/// Whether a load handed over anything of an asset.
pub(crate) fn delivered(outcome: &Result<String, Refusal>) -> bool {
    outcome.as_ref().is_ok_and(|message| message.contains("kdna.runtime-capsule"))
}

/// The runtime: each request answered as the worker would.
pub(crate) fn script(system: &SimSystem, order: &SimOrder<'_>) -> Result<ChildReport, ChildFault> {
    // A worker that cannot read its request ends without a word.
    let request = Request::read(order.request).ok_or(ChildFault::Signal(6))?;
    let (document, exit) = match &request {
        Request::Resolve(request) => {
            let inspector = |bytes: &[u8]| runtime::plan(bytes, &PlanInput::default()).map_err(|_| NotAnAsset);
            let question = resolver::ResolveRequest {
                workspace: request.workspace.clone(),
                display_root: request.display_root.clone(),
                absolute_root: request.absolute_root.clone(),
                task: order.input,
                task_source: TaskSource::Stdin,
                selection: request.selection.as_ref().map(|(id, task, plan)| Selection {
                    attachment_id: id.clone(),
                    task_digest: Digest::parse(task).unwrap(),
                    plan_digest: plan.as_ref().map(|plan| Digest::parse(plan).unwrap()),
                }),
                defer_password: request.defer_password,
                hardened: request.hardened,
            };
            (resolver::resolve(system, order.directory.unwrap(), &question, &inspector).ok(), 0)
        }
        Request::PlanLoad(request) => {
            let bytes = bytes(system, order, request.snapshot.as_ref());
            let input = PlanInput { source_path: request.source_path.as_deref(), ..PlanInput::default() };
            (runtime::plan(&bytes, &input).ok(), 0)
        }
        Request::Load(request) => {
            let bytes = bytes(system, order, request.snapshot.as_ref());
            let profile = LoadProfile::parse(&request.profile).unwrap();
            let password = request.password.then_some(order.input);
            (runtime::load(&bytes, profile, password, None, request.loaded_at, InputKind::PackagedFile).ok(), 0)
        }
        Request::Inspect | Request::Validate(_) => (None, 1),
    };
    Ok(report(order, document, exit))
}

/// What the child parses: the sealed bytes, or whatever lies at the path while it runs.
fn bytes(system: &SimSystem, order: &SimOrder<'_>, path: Option<&RelativePath>) -> Vec<u8> {
    match (order.sealed, path) {
        (Some(sealed), _) => sealed.to_vec(),
        (None, Some(path)) => system
            .open_file_beneath(order.directory.unwrap(), path)
            .and_then(|file| system.read(&file, 1 << 20))
            .unwrap_or_default(),
        (None, None) => Vec::new(),
    }
}

fn report(order: &SimOrder<'_>, document: Option<Value>, exit: i32) -> ChildReport {
    let exit = if document.is_some() { exit } else { 1 };
    let output = document.map(|document| write::pretty(&document).unwrap().into_bytes()).unwrap_or_default();
    let enforcement = Enforcement {
        landlock: 7,
        seccomp: true,
        sealed: order.sealed.is_some(),
        pin: kdna_broker::system::PinKind::Embedded,
        secret_locked: None,
    };
    ChildReport { exit, enforcement, output, errors: Vec::new() }
}

/// As [`script`], but the Capsule says that it was made of another asset.
pub(crate) fn lying_script(system: &SimSystem, order: &SimOrder<'_>) -> Result<ChildReport, ChildFault> {
    let mut report = script(system, order)?;
    if matches!(Request::read(order.request), Some(Request::Load(_))) {
        let (honest, other) = (Digest::of(ASSET).to_string(), Digest::of(b"another asset").to_string());
        let text = String::from_utf8(report.output).unwrap();
        assert!(text.contains(&honest));
        report.output = text.replace(&honest, &other).into_bytes();
    }
    Ok(report)
}
