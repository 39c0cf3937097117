//! The rules of a record, in the order in which they speak. Messages name the place and never quote what stands there; a
//! place is put in words only where something is wrong.

use super::{
    Application, ApprovalSource, AssetReference, Attachment, DOCUMENT_TYPE, MatchingPolicy, RESOLUTION_POLICY,
    ROOT_MARKER, SCHEMA_VERSION, SCOPE_AUTHORITY, SCOPE_KIND, Scope, UPDATE_POLICY, snapshot_path,
};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};
use std::collections::HashSet;
use std::fmt::Display;

const RECORD_KEYS: [&str; 4] = ["document_type", "schema_version", "workspace", "attachments"];
const ATTACHMENT_KEYS: [&str; 9] = [
    "attachment_id",
    "asset",
    "state",
    "role",
    "scope",
    "resolution_policy",
    "update_policy",
    "approved_at",
    "history",
];
const ASSET_KEYS: [&str; 4] = ["id", "version", "digest", "snapshot"];
const SCOPE_KEYS: [&str; 7] =
    ["kind", "application", "matching_policy", "authority", "approval_source", "applies_to", "does_not_apply_to"];
const HISTORY_KEYS: [&str; 7] =
    ["asset", "role", "scope", "resolution_policy", "approved_at", "update_policy", "replaced_at"];

/// Checks a whole record and gives its attachments, in which the entries as they stand in the document are still missing.
pub(super) fn attachments(document: &Value) -> Result<Vec<Attachment>, Refusal> {
    let record = fields(Some(document), &"record", &RECORD_KEYS)?;
    versions(record)?;
    let workspace = fields(record.get("workspace"), &"record.workspace", &["root_marker"])?;
    constant(workspace, "root_marker", ROOT_MARKER, &"record.workspace.root_marker is unsupported.")?;
    let entries = bounded_array(record.get("attachments"), &"record.attachments", limits::ATTACHMENTS)?;
    let attachments = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| attachment(entry, &format_args!("attachments[{index}]"), index))
        .collect::<Result<Vec<_>, _>>()?;
    let ids: HashSet<&str> = attachments.iter().map(|attachment| attachment.id.as_str()).collect();
    require(ids.len() == attachments.len(), || "attachment_id values must be unique.".to_owned())?;
    Ok(attachments)
}

fn versions(record: &Object) -> Result<(), Refusal> {
    if record.get("document_type").and_then(Value::as_str) != Some(DOCUMENT_TYPE) {
        return Err(Reason::RecordShape.into());
    }
    let former = match record.get("schema_version").and_then(Value::as_str) {
        Some(SCHEMA_VERSION) => return Ok(()),
        Some("0.1.0") => "0.1.0",
        Some("0.2.0") => "0.2.0",
        _ => return Err(Reason::RecordShape.into()),
    };
    Err(Refusal::labelled(
        Reason::RecordMigration,
        format!(
            "Workspace attachment schema {former} is an unreleased historical candidate; re-attach under schema \
             {SCHEMA_VERSION} so switch history preserves exact policy and open/closed-world applicability."
        ),
    ))
}

fn attachment(value: &Value, label: &dyn Display, index: usize) -> Result<Attachment, Refusal> {
    let entry = fields(Some(value), label, &ATTACHMENT_KEYS)?;
    let id = attachment_id(entry, label)?;
    let asset = asset(entry.get("asset"), &format_args!("{label}.asset"))?;
    let enabled = state(entry, label)?;
    let role = bounded_text(entry.get("role"), &format_args!("{label}.role"))?;
    let scope = scope(entry.get("scope"), &format_args!("{label}.scope"))?;
    let approved_at = policies(entry, label)?;
    let history = history(entry.get("history"), label, index)?;
    Ok(Attachment { id: id.to_owned(), asset, enabled, role, scope, approved_at, history, entry: Value::Null })
}

fn attachment_id<'v>(entry: &'v Object, label: &dyn Display) -> Result<&'v str, Refusal> {
    let id = entry.get("attachment_id").and_then(Value::as_str).filter(|id| text::is_attachment_id(id));
    id.ok_or_else(|| refuse(format!("{label}.attachment_id must be att_ plus 24 lowercase hexadecimal characters.")))
}

fn state(entry: &Object, label: &dyn Display) -> Result<bool, Refusal> {
    match entry.get("state").and_then(Value::as_str) {
        Some("enabled") => Ok(true),
        Some("disabled") => Ok(false),
        _ => Err(refuse(format!("{label}.state must be enabled or disabled."))),
    }
}

/// What is wrong with a record: the first problem of each of its parts, in their order. Empty exactly where
/// [`attachments`] finds none.
pub(super) fn problems(document: &Value) -> Vec<Refusal> {
    let mut found = Vec::new();
    found.extend(fields(Some(document), &"record", &RECORD_KEYS).err());
    let Some(record) = document.as_object() else { return found };
    if let Err(refusal) = versions(record) {
        // By other rules than these: nothing more can be said of it.
        found.push(refusal);
        return found;
    }
    let workspace = fields(record.get("workspace"), &"record.workspace", &["root_marker"]);
    let marker = workspace.and_then(|workspace| {
        constant(workspace, "root_marker", ROOT_MARKER, &"record.workspace.root_marker is unsupported.")
    });
    found.extend(marker.err());
    match bounded_array(record.get("attachments"), &"record.attachments", limits::ATTACHMENTS) {
        Ok(entries) => {
            for (index, entry) in entries.iter().enumerate() {
                attachment_problems(entry, index, &mut found);
            }
        }
        Err(refusal) => found.push(refusal),
    }
    if found.is_empty() {
        found.extend(attachments(document).err());
    }
    found
}

fn attachment_problems(value: &Value, index: usize, found: &mut Vec<Refusal>) {
    let label = &format!("attachments[{index}]");
    found.extend(fields(Some(value), label, &ATTACHMENT_KEYS).err());
    let Some(entry) = value.as_object() else { return };
    found.extend(attachment_id(entry, label).err());
    found.extend(asset(entry.get("asset"), &format_args!("{label}.asset")).err());
    found.extend(state(entry, label).err());
    found.extend(bounded_text(entry.get("role"), &format_args!("{label}.role")).err());
    found.extend(scope(entry.get("scope"), &format_args!("{label}.scope")).err());
    found.extend(policies(entry, label).err());
    match bounded_array(entry.get("history"), &format_args!("{label}.history"), limits::ATTACHMENTS) {
        Ok(versions) => {
            found.extend(
                versions.iter().enumerate().filter_map(|(at, version)| former(version, label, index, at).err()),
            );
        }
        Err(refusal) => found.push(refusal),
    }
}

/// The two fixed policies and the time between them, as every version of an attachment has them.
fn policies(entry: &Object, label: &dyn Display) -> Result<Timestamp, Refusal> {
    constant(
        entry,
        "resolution_policy",
        RESOLUTION_POLICY,
        &format_args!("{label}.resolution_policy is unsupported."),
    )?;
    let approved_at = timestamp(entry.get("approved_at"), &format_args!("{label}.approved_at"))?;
    constant(entry, "update_policy", UPDATE_POLICY, &format_args!("{label}.update_policy is unsupported."))?;
    Ok(approved_at)
}

fn history(value: Option<&Value>, label: &dyn Display, index: usize) -> Result<Vec<AssetReference>, Refusal> {
    let entries = bounded_array(value, &format_args!("{label}.history"), limits::ATTACHMENTS)?;
    entries.iter().enumerate().map(|(position, value)| former(value, label, index, position)).collect()
}

/// One former version; gives its asset.
fn former(value: &Value, label: &dyn Display, index: usize, position: usize) -> Result<AssetReference, Refusal> {
    let place = format!("{label}.history[{position}]");
    let entry = fields(Some(value), &place, &HISTORY_KEYS)?;
    let asset = asset(entry.get("asset"), &format_args!("{place}.asset"))?;
    bounded_text(entry.get("role"), &format_args!("{place}.role"))?;
    // From here on the contract names the place of a former version in one bracket.
    let former = format!("attachments[{index}.history.{position}]");
    scope(entry.get("scope"), &format_args!("{former}.scope"))?;
    policies(entry, &former)?;
    timestamp(entry.get("replaced_at"), &format_args!("{place}.replaced_at"))?;
    Ok(asset)
}

fn asset(value: Option<&Value>, label: &dyn Display) -> Result<AssetReference, Refusal> {
    let asset = fields(value, label, &ASSET_KEYS)?;
    let id = identifier(asset.get("id"), &format_args!("{label}.id"))?;
    let version = identifier(asset.get("version"), &format_args!("{label}.version"))?;
    let digest = asset
        .get("digest")
        .and_then(Value::as_str)
        .and_then(Digest::parse)
        .ok_or_else(|| refuse(format!("{label}.digest must be a lowercase SHA-256 digest.")))?;
    let snapshot = snapshot_path(&digest);
    constant(
        asset,
        "snapshot",
        &snapshot,
        &format_args!("{label}.snapshot must be the digest-derived path {snapshot}."),
    )?;
    Ok(AssetReference { id, version, digest, snapshot })
}

fn scope(value: Option<&Value>, label: &dyn Display) -> Result<Scope, Refusal> {
    let scope = fields(value, label, &SCOPE_KEYS)?;
    constant(scope, "kind", SCOPE_KIND, &format_args!("{label}.kind must be workspace."))?;
    constant(
        scope,
        "authority",
        SCOPE_AUTHORITY,
        &format_args!("{label}.authority must remain a user-approved routing hint."),
    )?;
    let approval_source = word(scope, "approval_source", label, ApprovalSource::parse)?;
    let application = word(scope, "application", label, Application::parse)?;
    let matching_policy = word(scope, "matching_policy", label, MatchingPolicy::parse)?;
    let applies_to = phrases(scope.get("applies_to"), &format_args!("{label}.applies_to"))?;
    let does_not_apply_to = phrases(scope.get("does_not_apply_to"), &format_args!("{label}.does_not_apply_to"))?;
    let scope_of = Scope { application, matching_policy, approval_source, applies_to, does_not_apply_to };
    require(is_executable(&scope_of), || {
        format!("{label}.application and applies_to do not form an executable scope.")
    })?;
    Ok(scope_of)
}

fn is_executable(scope: &Scope) -> bool {
    let all = scope.application == Application::AllWorkspace;
    all == scope.applies_to.is_empty() && all == (scope.matching_policy == MatchingPolicy::AllWorkspace)
}

fn phrases(value: Option<&Value>, label: &dyn Display) -> Result<Vec<String>, Refusal> {
    let items = bounded_array(value, label, limits::PHRASES)?;
    let mut seen = HashSet::new();
    let mut phrases = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let phrase = bounded_text(Some(item), &format_args!("{label}[{index}]"))?;
        let new = seen.insert(text::normalise_phrase(&phrase));
        require(new, || format!("{label} must contain unique phrases."))?;
        phrases.push(phrase);
    }
    Ok(phrases)
}

fn word<T>(object: &Object, key: &str, label: &dyn Display, parse: impl Fn(&str) -> Option<T>) -> Result<T, Refusal> {
    let word = object.get(key).and_then(Value::as_str).and_then(parse);
    word.ok_or_else(|| refuse(format!("{label}.{key} is unsupported.")))
}

fn fields<'v>(value: Option<&'v Value>, label: &dyn Display, keys: &[&str]) -> Result<&'v Object, Refusal> {
    let object = value.and_then(Value::as_object).ok_or_else(|| refuse(format!("{label} must be an object.")))?;
    require(object.has_exactly(keys), || format!("{label} contains missing or unknown fields."))?;
    Ok(object)
}

fn bounded_array<'v>(value: Option<&'v Value>, label: &dyn Display, limit: usize) -> Result<&'v [Value], Refusal> {
    let items = value.and_then(Value::as_array).filter(|items| items.len() <= limit);
    items.ok_or_else(|| refuse(format!("{label} must be a bounded array.")))
}

fn bounded_text(value: Option<&Value>, label: &dyn Display) -> Result<String, Refusal> {
    let text = value.and_then(Value::as_str).filter(|text| text::utf16_len(text) <= limits::TEXT_UNITS);
    let text = text.ok_or_else(|| refuse(format!("{label} must be a bounded string.")))?;
    require(!text::is_blank(text), || format!("{label} must not be empty."))?;
    Ok(text.to_owned())
}

/// A text that other programs take as a name: U+0000 would end it early for some of them.
fn identifier(value: Option<&Value>, label: &dyn Display) -> Result<String, Refusal> {
    let text = bounded_text(value, label)?;
    require(!text.contains('\0'), || format!("{label} must be a bounded string."))?;
    Ok(text)
}

fn timestamp(value: Option<&Value>, label: &dyn Display) -> Result<Timestamp, Refusal> {
    let time = value.and_then(Value::as_str).and_then(Timestamp::parse);
    time.ok_or_else(|| refuse(format!("{label} must be a UTC RFC 3339 timestamp.")))
}

fn constant(object: &Object, key: &str, expected: &str, message: &dyn Display) -> Result<(), Refusal> {
    require(object.get(key).and_then(Value::as_str) == Some(expected), || message.to_string())
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), Refusal> {
    if holds { Ok(()) } else { Err(refuse(message())) }
}

fn refuse(message: String) -> Refusal {
    Refusal::labelled(Reason::RecordShape, message)
}
