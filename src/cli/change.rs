//! `kdna enable | disable | rollback | remove`: one attachment, named by its id, changed in one transaction. What is
//! switched on again is verified first, in the sandboxed worker.

use crate::broker::stored;
use crate::capability::workspace::Located;
use crate::cli::attach::{located, record};
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::OWNER;
use crate::cli::outcome::Outcome;
use crate::cli::{people, remembered};
use crate::foundation::record::Attachment;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::foundation::value::Value;
use crate::runtime::attachments::{self, Stored};
use crate::system::System;

const OPTIONS: Options =
    Options { flags: &[], values: &["--cwd", "--workspace-root"], repeatable: &[], flags_once: false };
const RETAINED: &str = "remove_preserves_managed_workspace_snapshots_for_references_and_explicit_cleanup";

/// Runs one of the four.
pub(crate) fn run<S: System>(
    system: &S,
    environment: &Environment,
    command: &'static str,
    words: &[String],
) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    let id = arguments.only_positional().ok_or_else(|| OWNER.misused(command))?;
    let located = located(system, environment, &arguments)?;
    let done = match command {
        "remove" => remove(system, environment, &located, id, &arguments),
        "rollback" => rollback(system, environment, &located, id, &arguments),
        _ => set_enabled(system, environment, &located, (id, command == "enable"), &arguments),
    };
    done.map_err(|refusal| left_in_order(system, &located, refusal).into())
}

/// The layout is made what it should be also where nothing is changed. That somebody holds the lock is said first.
pub(crate) fn left_in_order<S: System>(system: &S, located: &Located<S>, refusal: Refusal) -> Refusal {
    match attachments::refresh(system, located) {
        Err(locked) if locked.reason() == Reason::RecordLocked => locked,
        _ => refusal,
    }
}

/// The attachment with this id as the record has it now.
pub(crate) fn find<S: System>(system: &S, located: &Located<S>, id: &str) -> Result<Attachment, Refusal> {
    if !text::is_attachment_id(id) {
        return Err(Reason::AttachmentIdInvalid.into());
    }
    let record = record(system, located)?;
    record
        .find(id)
        .cloned()
        .ok_or_else(|| Refusal::labelled(Reason::AttachmentUnknown, format!("Attachment {id} was not found.")))
}

fn set_enabled<S: System>(
    system: &S,
    environment: &Environment,
    located: &Located<S>,
    (id, enabled): (&str, bool),
    arguments: &Arguments,
) -> Result<Outcome, Refusal> {
    let attachment = find(system, located, id)?;
    let verified = if enabled {
        stored::verify(system, located, &attachment.asset)?;
        Some(&attachment.asset)
    } else {
        None
    };
    let entry = attachments::set_enabled(system, located, id, verified)?;
    let (operation, done) = if enabled { ("enable", "Enabled") } else { ("disable", "Disabled") };
    let errors = remembered::changed(system, environment, &located.root, attachment.entry(), &entry);
    let done = people::changed(done, &entry, arguments.value("--cwd"));
    Ok(Outcome { errors, ..document(operation, located, &entry).shown_as(done) })
}

fn rollback<S: System>(
    system: &S,
    environment: &Environment,
    located: &Located<S>,
    id: &str,
    arguments: &Arguments,
) -> Result<Outcome, Refusal> {
    let attachment = find(system, located, id)?;
    let previous = attachment.history.last().ok_or(Reason::HistoryMissing)?;
    stored::verify(system, located, &attachment.asset)?;
    stored::verify(system, located, previous)?;
    let entry = attachments::rollback(system, located, id, &attachment.asset, previous)?;
    let errors = remembered::changed(system, environment, &located.root, attachment.entry(), &entry);
    let done = people::changed("Rolled back", &entry, arguments.value("--cwd"));
    Ok(Outcome { errors, ..document("rollback", located, &entry).shown_as(done) })
}

fn remove<S: System>(
    system: &S,
    environment: &Environment,
    located: &Located<S>,
    id: &str,
    arguments: &Arguments,
) -> Result<Outcome, Refusal> {
    let (entry, kept) = attachments::remove(system, located, id)?;
    let errors = remembered::removed(system, environment, &located.root, &entry);
    let done = people::removed(&entry, kept, arguments.value("--cwd"));
    Ok(Outcome { errors, ..Outcome::document(&removed(&located.display, &entry, kept)).shown_as(done) })
}

/// What a command that changed one entry prints.
pub(crate) fn document<S: System>(operation: &str, located: &Located<S>, entry: &Value) -> Outcome {
    Outcome::document(&Value::object([
        ("operation", Value::copied(operation)),
        ("workspace_root", Value::copied(located.display.as_str())),
        ("attachment", entry.clone()),
    ]))
}

fn removed(display_root: &str, entry: &Value, kept: Stored) -> Value {
    let number = |count: usize| Value::from(u32::try_from(count).unwrap_or(u32::MAX));
    Value::object([
        ("operation", Value::from("remove")),
        ("workspace_root", Value::copied(display_root)),
        ("attachment_removed", Value::from(true)),
        ("removed_attachment", entry.clone()),
        ("snapshot_retained", Value::from(kept.managed > 0)),
        ("retained_snapshot_count", number(kept.managed)),
        ("retained_snapshot_reason", Value::from(RETAINED)),
        ("unknown_storage_entry_count", number(kept.unknown)),
        ("blocked_storage_entry_count", number(kept.blocked)),
    ])
}
