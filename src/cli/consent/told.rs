//! A consent whose question cannot be made again: what its document says was approved, and why it does not apply here. Nothing
//! is taken from the workspace for what was approved: what stands there now may be something else.

use crate::capability::workspace;
use crate::cli::grammar::shell_word;
use crate::consent::document::Consent;
use crate::consent::prompt::in_quotes;
use crate::foundation::digest::of_root_path;
use crate::foundation::limits;
use crate::foundation::record::Record;
use crate::foundation::refusal::Refusal;
use crate::foundation::text::display;
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};
use crate::system::System;

/// Cells of a label.
const LABEL: usize = 15;

/// A text of an object; empty where there is none.
pub(super) fn text_of(object: &Object, key: &str) -> String {
    object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// What the document says, one fact a row. Paths are in it as digests alone.
pub(super) fn approved(consent: &Consent) -> String {
    let time = |time: Option<Timestamp>, none: &str| time.map_or_else(|| none.to_owned(), |time| time.to_string());
    let timed = consent.timed();
    let mut rows = vec![
        ("Host", display(consent.host_id(), limits::TEXT_UNITS)),
        ("Destination", in_quotes(&text_of(consent.processing_boundary(), "processor"), limits::PROCESSOR_UNITS)),
        ("Profile", display(consent.capsule_profile(), limits::TEXT_UNITS)),
        ("Asset", consent.asset_digest().to_string()),
        ("Attachment", display(&text_of(consent.use_boundary(), "attachment_id"), limits::TEXT_UNITS)),
        ("Server root", format!("the path with the digest {}", consent.host_root_digest())),
    ];
    if let Some(timed) = timed {
        rows.push(("Workspace", format!("the path with the digest {}", timed.workspace_root_digest)));
        rows.push(("Approved", timed.issued_at.to_string()));
    }
    rows.push(("Valid until", time(timed.and_then(|timed| timed.expires_at), "(no end)")));
    rows.iter().flat_map(|(label, says)| [format!("{:LABEL$}", format!("  {label}")), format!("{says}\n")]).collect()
}

/// Why it does not apply from here, in plain words, and what to do.
pub(super) fn why<S: System>(
    system: &S,
    (start, home): (&str, Option<&str>),
    consent: &Consent,
    refusal: &Refusal,
) -> String {
    let other = || format!("{} ({}) {}", refusal.message(), refusal.reason(), refusal.remedy());
    let located = match workspace::locate(system, start, None, home) {
        Ok(Some(located)) => located,
        // The consent may be as good as ever where it was given.
        Ok(None) => {
            let start = shell_word(&display(start, limits::PATH_UNITS));
            return format!(
                "Nothing is attached in {start} or above it. Name the workspace that it was given for with --cwd."
            );
        }
        Err(_) => return other(),
    };
    let here = shell_word(&display(located.root.as_str(), limits::PATH_UNITS));
    if consent.timed().is_some_and(|timed| timed.workspace_root_digest != of_root_path(located.root.as_str())) {
        return format!("It was given for another workspace than {here}. Name that one with --cwd.");
    }
    let Ok(bytes) = located.settled_record(system) else { return other() };
    let Ok(record) = Record::read(&bytes.bytes) else { return other() };
    match record.find(&text_of(consent.use_boundary(), "attachment_id")) {
        None => format!("The attachment is not in the record of {here}: it was removed, or is in another workspace."),
        Some(entry) if !entry.enabled => {
            format!("The attachment is disabled. Next: kdna enable {} --cwd {here}, then ask anew.", entry.id)
        }
        Some(_) => other(),
    }
}
