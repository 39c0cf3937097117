//! The contract of a resolution, field by field. `None` is the only refusal: a reply is not explained to a model.

use super::{
    Authorization, Candidate, DOCUMENT_TYPE, Decision, Integrity, PLAN_DOCUMENT_TYPE, Parts, ReasonCode, Resolution,
    SCHEMA_VERSION, SelectionPlan, Value, limits, text,
};
use crate::foundation::digest::Digest;
use crate::foundation::value::Object;
use std::collections::HashSet;

const KEYS: [&str; 9] = [
    "document_type",
    "schema_version",
    "decision",
    "reason_code",
    "workspace_root",
    "selected",
    "candidates",
    "authorization",
    "integrity",
];
const CANDIDATE_KEYS: [&str; 7] =
    ["attachment_id", "asset_id", "version", "digest", "role", "authorization", "integrity"];
const PLAN_KEYS: [&str; 7] = [
    "document_type",
    "schema_version",
    "workspace_root",
    "task_digest",
    "record_digest",
    "candidate_set_digest",
    "plan_digest",
];

/// How much a resolution may say.
pub(super) struct Bounds {
    candidates: usize,
    asset_id: usize,
    version: usize,
    role: usize,
}

/// What a host may be shown.
pub(super) const HOST: Bounds = Bounds {
    candidates: limits::CANDIDATES,
    asset_id: limits::ASSET_ID_UNITS,
    version: limits::VERSION_UNITS,
    role: limits::ROLE_UNITS,
};
/// What a record can hold.
pub(super) const OWNER: Bounds = Bounds {
    candidates: limits::ATTACHMENTS,
    asset_id: limits::TEXT_UNITS,
    version: limits::TEXT_UNITS,
    role: limits::TEXT_UNITS,
};

pub(super) fn resolution(document: Value, deferred: bool, bounds: &Bounds) -> Option<Resolution> {
    let object = document.as_object()?;
    let selected = match object.get("selected")? {
        Value::Null => None,
        value => Some(candidate(value, bounds)?),
    };
    let selection_plan = match object.get("selection_plan") {
        None => None,
        Some(value) => Some(plan(value)?),
    };
    let parts = Parts {
        reason: word(object, "reason_code").and_then(ReasonCode::parse)?,
        workspace_root: relative_root(object)?,
        selected,
        candidates: candidates(object.get("candidates")?.as_array()?, bounds)?,
        authorization: word(object, "authorization").and_then(Authorization::parse)?,
        integrity: word(object, "integrity").and_then(Integrity::parse)?,
        selection_plan,
    };
    let holds = has_keys(object)
        && word(object, "document_type")? == DOCUMENT_TYPE
        && word(object, "schema_version")? == SCHEMA_VERSION
        && Decision::parse(word(object, "decision")?)? == parts.reason.decision()
        && agrees(&parts, deferred);
    holds.then(|| Resolution::of(parts, document))
}

fn has_keys(object: &Object) -> bool {
    let known = KEYS.len() + usize::from(object.contains_key("selection_plan"));
    object.len() == known && KEYS.iter().all(|key| object.contains_key(key))
}

/// What must hold between the fields.
fn agrees(parts: &Parts, deferred: bool) -> bool {
    let decision = parts.reason.decision();
    let ids: HashSet<&str> = parts.candidates.iter().map(|candidate| candidate.attachment_id.as_str()).collect();
    let different = ids.len() == parts.candidates.len();
    let selected = match &parts.selected {
        Some(selected) => decision == Decision::Load && parts.candidates.contains(selected),
        None => decision != Decision::Load,
    };
    let open =
        parts.authorization == Authorization::Satisfied || (deferred && parts.authorization == Authorization::Required);
    let ready = decision != Decision::Load || (open && parts.integrity == Integrity::Verified);
    different && selected && ready && parts.selection_plan.is_some() == (decision == Decision::Ask)
}

fn candidates(values: &[Value], bounds: &Bounds) -> Option<Vec<Candidate>> {
    let within = values.len() <= bounds.candidates;
    within.then(|| values.iter().map(|value| candidate(value, bounds)).collect())?
}

fn candidate(value: &Value, bounds: &Bounds) -> Option<Candidate> {
    let object = value.as_object().filter(|object| object.has_exactly(&CANDIDATE_KEYS))?;
    let authorization = Authorization::parse(word(object, "authorization")?)?;
    if authorization == Authorization::NotSelected {
        return None;
    }
    Some(Candidate {
        attachment_id: word(object, "attachment_id").filter(|id| text::is_attachment_id(id))?.to_owned(),
        asset_id: bounded(object, "asset_id", bounds.asset_id)?,
        version: bounded(object, "version", bounds.version)?,
        digest: digest(object, "digest")?,
        role: bounded(object, "role", bounds.role)?,
        authorization,
        integrity: word(object, "integrity").and_then(Integrity::parse)?,
    })
}

fn plan(value: &Value) -> Option<SelectionPlan> {
    let object = value.as_object().filter(|object| object.has_exactly(&PLAN_KEYS))?;
    let typed = word(object, "document_type")? == PLAN_DOCUMENT_TYPE
        && word(object, "schema_version")? == SCHEMA_VERSION
        && relative_root(object).is_some();
    typed.then_some(SelectionPlan {
        task_digest: digest(object, "task_digest")?,
        record_digest: digest(object, "record_digest")?,
        candidate_set_digest: digest(object, "candidate_set_digest")?,
        plan_digest: digest(object, "plan_digest")?,
    })
}

fn relative_root(object: &Object) -> Option<String> {
    let root = bounded(object, "workspace_root", limits::PATH_UNITS)?;
    (!root.starts_with('/')).then_some(root)
}

fn word<'v>(object: &'v Object, key: &str) -> Option<&'v str> {
    object.get(key).and_then(Value::as_str)
}

fn bounded(object: &Object, key: &str, limit: usize) -> Option<String> {
    let text = word(object, key)?;
    (!text.is_empty() && text::utf16_len(text) <= limit && !text.contains('\0')).then(|| text.to_owned())
}

fn digest(object: &Object, key: &str) -> Option<Digest> {
    Digest::parse(word(object, key)?)
}
