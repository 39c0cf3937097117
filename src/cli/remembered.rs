//! What the owner's commands tell the ledger after they changed a record. The change has happened by then: what cannot be
//! remembered is said on standard error, and a load that needs the ledger is refused.

use crate::capability::private_file::PrivateDirectory;
use crate::capability::state;
use crate::cli::environment::Environment;
use crate::consent::ledger::{Key, Ledger};
use crate::foundation::digest::{self, Digest};
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::Value;
use crate::system::System;

/// The entry was approved by the person, as it is now.
pub(crate) fn approved<S: System>(
    system: &S,
    environment: &Environment,
    root: &AbsolutePath,
    before: Option<&Value>,
    entry: &Value,
) -> String {
    note(with(system, environment, root, entry, |state, key, now| {
        // A switch is a change too: what was allowed for the former version must be asked for again.
        if before.is_some() {
            Ledger::changed(system, state, key, None, now)?;
        }
        Ledger::approve(system, state, key, now)
    }))
}

/// The person's command changed the entry, and nobody was asked.
pub(crate) fn changed<S: System>(
    system: &S,
    environment: &Environment,
    root: &AbsolutePath,
    before: &Value,
    entry: &Value,
) -> String {
    if before == entry {
        return String::new();
    }
    let before = digest::of_document(before);
    note(with(system, environment, root, entry, |state, key, now| Ledger::changed(system, state, key, before, now)))
}

/// The entry is gone.
pub(crate) fn removed<S: System>(system: &S, environment: &Environment, root: &AbsolutePath, entry: &Value) -> String {
    note(with(system, environment, root, entry, |state, key, _| Ledger::removed(system, state, key)))
}

fn with<S: System>(
    system: &S,
    environment: &Environment,
    root: &AbsolutePath,
    entry: &Value,
    tell: impl FnOnce(&PrivateDirectory<S>, &Key, Digest) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let id = entry.get("attachment_id").and_then(Value::as_str).ok_or(Reason::Internal)?;
    let now = digest::of_document(entry).ok_or(Reason::Internal)?;
    let path = state::state_path(system, environment.settings.state_directory.as_deref())?;
    tell(&state::open_state(system, &path)?, &Key::new(root, id), now)
}

fn note(told: Result<(), Refusal>) -> String {
    match told {
        Ok(()) => String::new(),
        Err(refusal) => format!(
            "Note: this machine's ledger was not written ({}). Make the broker's state directory private and writable (a damaged attachment-ledger.json is to be moved away), \
             then run 'kdna-broker adopt' here.\n",
            refusal.reason()
        ),
    }
}
