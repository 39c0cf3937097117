//! Verifies a journal from its bytes: every row well-formed, numbered without gap, chained to the row before. Says which
//! row is the first bad one and why. Cannot show that rows at the end are complete; only a checkpoint kept elsewhere can.

use super::examine::{Damage, examine};
use super::row::{self, Link};
use super::{segment_name, segment_number};
use crate::capability::private_file::{PrivateDirectory, judge};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Kind, System};
use std::collections::HashSet;

/// A journal that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many rows.
    pub rows: u64,
    /// Digest of the last row; compare it with one kept elsewhere to show that nothing was cut off.
    pub head: Option<Digest>,
}

/// The first row that does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {number}: {why}")]
pub struct BadRow {
    /// Counted from 1 over all segments.
    pub number: u64,
    /// What is wrong with it.
    pub why: Why,
}

/// Why a row does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It does not end in a newline.
    #[error("it is not complete")]
    NotComplete,
    /// It is longer than [`limits::JOURNAL_ROW_BYTES`].
    #[error("it is longer than a row may be")]
    TooLong,
    /// It is not one strict JSON document.
    #[error("it is not JSON")]
    NotJson,
    /// It names a member twice.
    #[error("it names a field twice")]
    DuplicateKey,
    /// Its members are not exactly those of a row, in order.
    #[error("its fields are not those of a row")]
    Fields,
    /// A member does not have its form.
    #[error("a field has a value that it cannot have")]
    Value,
    /// It is not written as this program writes.
    #[error("it is not written in the one form of a row")]
    Form,
    /// Its number is not the one after the row before.
    #[error("its number does not follow the row before it")]
    Sequence,
    /// Its `previous` is not the digest of the row before: this row or that one was changed, or one is missing.
    #[error("it does not chain to the row before it")]
    Chain,
    /// Its event identifier stands in an earlier row.
    #[error("its event identifier stands in an earlier row")]
    Repeated,
}

/// Verifies one journal held in memory.
pub fn verify(bytes: &[u8]) -> Result<Verified, BadRow> {
    let mut verifier = Verifier::new();
    verifier.segment(bytes)?;
    Ok(verifier.finish())
}

/// Verifies segment after segment.
#[derive(Debug, Default)]
pub struct Verifier {
    rows: u64,
    sequence: u32,
    head: Option<Digest>,
    events: HashSet<String>,
}

impl Verifier {
    /// Nothing verified yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Verifies the next segment.
    pub fn segment(&mut self, bytes: &[u8]) -> Result<(), BadRow> {
        bytes.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| self.next(line).map(drop))
    }

    /// Verifies the next row, with its newline.
    pub(super) fn next(&mut self, line: &[u8]) -> Result<Link, BadRow> {
        let link = self.row(line).map_err(|why| BadRow { number: self.rows + 1, why })?;
        self.rows += 1;
        Ok(link)
    }

    fn row(&mut self, line: &[u8]) -> Result<Link, Why> {
        let line = line.strip_suffix(b"\n").ok_or(Why::NotComplete)?;
        let checked = row::check(line)?;
        if Some(checked.sequence) != self.sequence.checked_add(1) {
            return Err(Why::Sequence);
        }
        if checked.previous != self.head {
            return Err(Why::Chain);
        }
        if !self.events.insert(checked.event_id.clone()) {
            return Err(Why::Repeated);
        }
        self.sequence = checked.sequence;
        self.head = Some(Digest::of(line));
        Ok(checked)
    }

    /// What was verified so far.
    pub(super) fn so_far(&self) -> Verified {
        Verified { rows: self.rows, head: self.head }
    }

    /// What was verified.
    pub fn finish(self) -> Verified {
        Verified { rows: self.rows, head: self.head }
    }
}

/// Verifies all segments of a journal directory, from the first. `Err` of the outer result (`journal_torn`,
/// `journal_unwritable`): the journal cannot be read under the private-file rule, or a segment is missing.
pub fn verify_directory<S: System>(
    system: &S,
    directory: &PrivateDirectory<S>,
) -> Result<Result<Verified, BadRow>, Refusal> {
    let found = examine(system, directory, &mut |_, _| ())?;
    match found.damage {
        None => Ok(Ok(found.verified)),
        Some(Damage::Row { bad, .. }) => Ok(Err(bad)),
        Some(Damage::Segment(_)) => Err(Reason::JournalTorn.into()),
    }
}

/// The numbers of the segments there are, in their order.
pub(super) fn segments<S: System>(system: &S, directory: &PrivateDirectory<S>) -> Result<Vec<u32>, Refusal> {
    let names = system.list(directory.handle()).map_err(|_| Reason::JournalUnwritable)?;
    let mut numbers: Vec<u32> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// The bytes of a segment, which may be empty.
pub(super) fn read_segment<S: System>(
    system: &S,
    directory: &PrivateDirectory<S>,
    number: u32,
) -> Result<Vec<u8>, Refusal> {
    let file = system.open_file_in(directory.handle(), &segment_name(number)).map_err(|_| Reason::JournalUnwritable)?;
    read_held(system, &file)
}

/// The bytes of a held segment under the private-file rule, except that it may be empty.
pub(super) fn read_held<S: System>(system: &S, file: &S::File) -> Result<Vec<u8>, Refusal> {
    let facts = system.file_facts(file).map_err(|_| Reason::JournalUnwritable)?;
    judge(system, &facts, Kind::Regular).map_err(|_| Reason::JournalUnwritable)?;
    system.read(file, limits::JOURNAL_SEGMENT_BYTES).map_err(|_| Reason::JournalTorn.into())
}
