//! The end of a journal: where the next row goes and what it must chain to.

use super::verify::{read_held, read_segment, segments};
use super::{row, segment_name};
use crate::capability::private_file::{PrivateDirectory, PrivateFault};
use crate::foundation::digest::Digest;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::system::{Facts, System};

/// The last row of a journal; the default is a journal without rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Number of the last row, 0 if there is none.
    pub(super) sequence: u32,
    /// Digest of the last row.
    pub(super) head: Option<Digest>,
    /// Its time: the latest of all, since no row is written with an earlier one than the row before.
    pub(super) at: Option<Timestamp>,
}

/// What this process knows about the end since its own last append: as long as the file's facts are equal, nobody wrote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) segment: u32,
    pub(super) facts: Facts,
    pub(super) tail: Tail,
}

/// How a journal ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// The last whole row.
    pub(super) tail: Tail,
    /// Whether a row behind it was begun and never finished.
    pub(super) torn: bool,
}

/// Reads the end of a held segment, and of the ones before as long as none has a whole row. Refuses `journal_torn` if the
/// last whole row is not well-formed or does not chain to the row before it.
pub(super) fn read<S: System>(
    system: &S,
    directory: &PrivateDirectory<S>,
    file: &S::File,
    segment: u32,
) -> Result<Ending, Refusal> {
    let mut bytes = read_held(system, file)?;
    let mut torn = false;
    for number in (1..=segment).rev() {
        let whole = whole_rows(&bytes);
        torn |= whole.len() < bytes.len();
        if !whole.is_empty() {
            let tail = last(whole).ok_or(Reason::JournalTorn)?;
            return Ok(Ending { tail, torn });
        }
        // A segment was begun and its first row never written, or not finished.
        if let Some(before) = number.checked_sub(1).filter(|before| *before > 0) {
            bytes = read_segment(system, directory, before)?;
        }
    }
    // No row at all: nothing was written yet, or the very first row was cut off.
    if segment == 1 || torn { Ok(Ending { tail: Tail::default(), torn }) } else { Err(Reason::JournalTorn.into()) }
}

/// The rows of a segment that end, with their ends.
fn whole_rows(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or_default()
}

/// The latest time in the journal of a state directory; `None` where there is no journal or no row. Makes nothing. Refuses
/// `journal_unwritable` for one that is not private and `journal_torn` for a damaged one; a row that was cut off at the end
/// is none.
pub fn latest<S: System>(system: &S, state: &AbsolutePath) -> Result<Option<Timestamp>, Refusal> {
    let path = state.join(&RelativePath::parse(super::DIRECTORY).unwrap_or_default());
    let directory = match PrivateDirectory::open(system, &path) {
        Err(PrivateFault::Missing) => return Ok(None),
        other => other.map_err(|_| Reason::JournalUnwritable)?,
    };
    let Some(segment) = segments(system, &directory)?.last().copied() else { return Ok(None) };
    let file = system.open_file_in(directory.handle(), &segment_name(segment)).map_err(|_| Reason::JournalTorn)?;
    Ok(read(system, &directory, &file, segment)?.tail.at)
}

/// The tail of a segment's bytes; `None` if it is torn.
pub(super) fn last(bytes: &[u8]) -> Option<Tail> {
    if bytes.is_empty() {
        return Some(Tail::default());
    }
    let mut lines = bytes.strip_suffix(b"\n")?.rsplit(|byte| *byte == b'\n');
    let line = lines.next()?;
    let checked = row::check(line).ok()?;
    let chained = match lines.next() {
        Some(before) => checked.previous == Some(Digest::of(before)),
        None => (checked.sequence == 1) == checked.previous.is_none(),
    };
    chained.then(|| Tail { sequence: checked.sequence, head: Some(Digest::of(line)), at: Some(checked.at) })
}
