//! One entry of a record, changed: switched on or off, switched to another asset, put back. Values in, values out; keeps
//! the entry's own key order and reads no file.

use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};

/// What a former version keeps of an entry, and a rollback puts back, in the order of the contract.
const VERSION: [&str; 6] = ["asset", "role", "scope", "resolution_policy", "approved_at", "update_policy"];

/// The entry with another state.
pub(super) fn with_state(entry: &Value, enabled: bool) -> Value {
    let mut entry = members(entry);
    entry.insert("state", if enabled { "enabled" } else { "disabled" });
    Value::Object(entry)
}

/// What a history keeps of an entry.
pub(super) fn version_of(entry: &Value) -> Object {
    let kept = VERSION.iter().filter_map(|key| Some(((*key).to_owned(), entry.get(key)?.clone())));
    kept.collect()
}

/// The entry with the six members of `next`; what they were goes to the end of its history.
pub(super) fn switched(entry: &Value, next: &Object, replaced_at: &str) -> Value {
    let mut former = version_of(entry);
    former.insert("replaced_at", replaced_at.to_owned());
    let mut history = history(entry).to_vec();
    history.push(Value::Object(former));
    put(entry, next, history)
}

/// The entry as it was before its last switch; what it is now is lost. Refuses with `history_missing`.
pub(super) fn rolled_back(entry: &Value) -> Result<Value, Refusal> {
    let (last, earlier) = history(entry).split_last().ok_or(Reason::HistoryMissing)?;
    Ok(put(entry, &version_of(last), earlier.to_vec()))
}

fn put(entry: &Value, version: &Object, history: Vec<Value>) -> Value {
    let mut entry = members(entry);
    for key in VERSION {
        if let Some(value) = version.get(key) {
            entry.insert(key, value.clone());
        }
    }
    entry.insert("history", history);
    Value::Object(entry)
}

fn history(entry: &Value) -> &[Value] {
    entry.get("history").and_then(Value::as_array).unwrap_or_default()
}

fn members(entry: &Value) -> Object {
    entry.as_object().cloned().unwrap_or_default()
}
