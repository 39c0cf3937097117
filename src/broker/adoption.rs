//! The adoption document (`kdna.mcp.workspace-adoption` 0.3.0): always all keys, in the contract's order
//! (docs/contract/mcp.md), null where a key does not apply.

use crate::broker::Selection;
use crate::consent::binding::ConsentLease;
use crate::foundation::capsule::Capsule;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::record::Attachment;
use crate::foundation::resolution::{ReasonCode, Resolution};
use crate::foundation::value::Value;

/// The product's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The base profile of the embedded runtime.
const CORE: &str = "kdna-core-profile@0.21.0";

/// The CLI and Core of an external runtime; `None` for the embedded one.
pub(super) type Runtime<'a> = Option<(&'a str, &'a str)>;

/// Everything that a delivery is made of. Each part is a proof of an earlier step.
pub(super) struct Delivered<'a> {
    pub(super) runtime: Runtime<'a>,
    pub(super) resolution: &'a Resolution,
    pub(super) attachment: &'a Attachment,
    pub(super) selection: Option<&'a Selection>,
    pub(super) lease: &'a ConsentLease,
    pub(super) plan: &'a LoadPlan,
    pub(super) capsule: &'a Capsule,
}

/// The document of a delivered load.
pub(super) fn delivered(parts: &Delivered<'_>) -> Value {
    document(Parts {
        runtime: parts.runtime,
        adoption: "load",
        resolution: parts.resolution.authorized(),
        scope: Value::Object(parts.attachment.scope_object().clone()),
        controls: controls(&parts.attachment.id),
        selection: one_task_selection(parts),
        host_processing: parts.lease.binding_document(),
        load_plan: parts.plan.document().clone(),
        runtime_capsule: parts.capsule.document().clone(),
        judgment_decision: parts.capsule.judgment_decision(),
    })
}

/// The document of any other decision.
pub(super) fn withheld(resolution: &Resolution, runtime: Runtime<'_>) -> Value {
    document(Parts {
        runtime,
        adoption: resolution.decision().as_str(),
        resolution: resolution.document().clone(),
        scope: Value::Null,
        controls: Value::Null,
        selection: Value::Null,
        host_processing: Value::Null,
        load_plan: Value::Null,
        runtime_capsule: Value::Null,
        judgment_decision: Value::Null,
    })
}

struct Parts<'a> {
    runtime: Runtime<'a>,
    adoption: &'static str,
    resolution: Value,
    scope: Value,
    controls: Value,
    selection: Value,
    host_processing: Value,
    load_plan: Value,
    runtime_capsule: Value,
    judgment_decision: Value,
}

fn document(parts: Parts<'_>) -> Value {
    Value::object([
        ("document_type", Value::from("kdna.mcp.workspace-adoption")),
        ("schema_version", Value::from("0.3.0")),
        ("adapter", adapter(parts.runtime)),
        ("adoption", Value::from(parts.adoption)),
        ("resolution", parts.resolution),
        ("scope", parts.scope),
        ("controls", parts.controls),
        ("one_task_selection", parts.selection),
        ("host_processing", parts.host_processing),
        ("load_plan", parts.load_plan),
        ("runtime_capsule", parts.runtime_capsule),
        ("judgment_decision", parts.judgment_decision),
    ])
}

/// What a one-task selection chose; it is never stored.
fn one_task_selection(parts: &Delivered<'_>) -> Value {
    match parts.selection {
        Some(chosen) if parts.resolution.reason() == ReasonCode::ExplicitTaskAttachmentSelection => Value::object([
            ("attachment_id", Value::copied(chosen.attachment_id.as_str())),
            ("task_digest", Value::copied(chosen.task_digest.as_str())),
            ("persisted", Value::from(false)),
        ]),
        _ => Value::Null,
    }
}

fn adapter(runtime: Runtime<'_>) -> Value {
    let (cli, core) = match runtime {
        Some((cli, core)) => (cli.to_owned(), core),
        None => (format!("kdna@{VERSION}"), CORE),
    };
    Value::object([
        ("name", Value::from("kdna-broker")),
        ("version", Value::from(VERSION)),
        ("cli", Value::from(cli)),
        ("core", Value::copied(core)),
    ])
}

fn controls(attachment: &str) -> Value {
    Value::object(
        [
            ("view", "kdna attachments --cwd <workspace>".to_owned()),
            ("disable", format!("kdna disable {attachment} --cwd <workspace>")),
            ("switch", format!("kdna switch {attachment} <new-file.kdna> --cwd <workspace> --retain-scope --preview")),
            ("rollback", format!("kdna rollback {attachment} --cwd <workspace>")),
        ]
        .map(|(key, text)| (key, Value::from(text))),
    )
}
