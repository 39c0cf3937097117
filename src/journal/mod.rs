//! Floor 3: what happened, as rows chained by digest. `policy/journal.json` describes the format.
//!
//! Content-free by construction: a [`RowDraft`] takes closed words, digests and checked identifiers, and nothing else.
//! Appends under a lock, durably, whole rows or none. Never deletes, never rewrites a row, never repairs: behind a row that
//! a loss of power cut off, the chain goes on with one that says so.

mod append;
mod checkpoint;
mod examine;
mod row;
mod tail;
mod verify;

pub use append::Journal;
pub use checkpoint::{Checkpoint, Coverage};
pub use examine::{Damage, Examined, Row, Tear, examine};
pub use row::{AskedBy, Event, OperationId, RowDraft};
pub use tail::latest;
pub use verify::{BadRow, Verified, Verifier, Why, verify, verify_directory};

use std::ops::RangeInclusive;

/// The journal's directory below the state directory.
pub const DIRECTORY: &str = "journal";
/// The lock that every append holds.
const LOCK_FILE: &str = "lock";
/// The file that holds the install identifier.
const INSTALL_FILE: &str = "install-id";
/// Numbers that a segment may have.
const SEGMENTS: RangeInclusive<u32> = 1..=999_999;

/// The name of a segment: `journal-000001.jsonl`.
fn segment_name(number: u32) -> String {
    format!("journal-{number:06}.jsonl")
}

/// The number of a segment's name; `None` for every other name.
fn segment_number(name: &str) -> Option<u32> {
    let number = name.strip_prefix("journal-")?.strip_suffix(".jsonl")?.parse().ok()?;
    (SEGMENTS.contains(&number) && segment_name(number) == name).then_some(number)
}
