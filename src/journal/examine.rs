//! A whole journal, segment after segment: what verifies, the first thing that does not and where it stands. Each row is
//! handed on once it is verified. Changes nothing, and shows no more than verifying does.

use super::append::hold_lock;
use super::row;
use super::verify::{BadRow, Verified, Verifier, Why, read_segment, segments};
use crate::capability::private_file::PrivateDirectory;
use crate::foundation::digest::Digest;
use crate::foundation::refusal::Refusal;
use crate::foundation::time::Timestamp;
use crate::system::System;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The rows that verify, up to the first thing that does not.
    pub verified: Verified,
    /// How many segments there are.
    pub segments: usize,
    /// What does not verify; nothing after it was looked at.
    pub damage: Option<Damage>,
    /// The last row that verifies.
    pub last: Option<Row>,
    /// Whether all that is wrong is a last row that was cut off: the next append goes on behind it.
    pub ends_torn: bool,
    /// Rows that were cut off while they were written, and behind which the chain goes on with a row that says so.
    pub tears: Vec<Tear>,
}

/// Where a row was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tear {
    /// The number of its segment, which it ends.
    pub segment: u32,
    /// Its line there, from 1.
    pub line: u64,
    /// The number of the row with which the chain goes on.
    pub continued: u64,
}

/// What a row says of its place and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Counted from 1 over all segments.
    pub number: u64,
    /// SHA-256 of its bytes, without the newline: what the next row names.
    pub digest: Digest,
    /// When it was written.
    pub at: Timestamp,
    /// The installation that wrote it.
    pub install_id: String,
}

/// The first thing that does not verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// A row.
    #[error("{bad} (line {line} of segment {segment})")]
    Row {
        /// The number of its segment.
        segment: u32,
        /// Its line there, from 1.
        line: u64,
        /// Its number and what is wrong with it.
        bad: BadRow,
    },
    /// A segment of this number is missing, and later ones are there.
    #[error("segment {0} is missing")]
    Segment(u32),
}

/// Walks a journal's directory from its first row; `visit` gets each row that verifies, and its line without the newline.
/// Refuses `journal_unwritable` and `journal_torn` where a segment cannot be read under the private-file rule.
pub fn examine<S: System>(
    system: &S,
    directory: &PrivateDirectory<S>,
    visit: &mut dyn FnMut(&Row, &[u8]),
) -> Result<Examined, Refusal> {
    // So that no append is seen half done. What cannot be locked (a copy on a read-only disk) is verified all the same.
    let _lock = hold_lock(system, directory).ok();
    let numbers = segments(system, directory)?;
    let mut walk = Walk::default();
    let segments = numbers.len();
    let damage = numbers.into_iter().zip(1..).find_map(|(number, expected)| {
        if number != expected {
            return Some(Ok(walk.unfinished().unwrap_or(Damage::Segment(expected))));
        }
        match read_segment(system, directory, number) {
            Ok(bytes) => walk.segment(number, &bytes, visit).map(Ok),
            Err(refusal) => Some(Err(refusal)),
        }
    });
    let damage = damage.transpose()?;
    let unfinished = walk.unfinished();
    Ok(Examined {
        ends_torn: damage.is_none() && unfinished.is_some(),
        damage: damage.or(unfinished),
        verified: walk.verifier.finish(),
        segments,
        last: walk.last,
        tears: walk.tears,
    })
}

/// Where a walk stands.
#[derive(Default)]
struct Walk {
    verifier: Verifier,
    last: Option<Row>,
    tears: Vec<Tear>,
    /// The ends of segments that no row was found for yet with which the chain goes on.
    open: Vec<(u32, u64)>,
}

impl Walk {
    /// The first damage of a segment.
    fn segment(&mut self, number: u32, bytes: &[u8], visit: &mut dyn FnMut(&Row, &[u8])) -> Option<Damage> {
        bytes.split_inclusive(|byte| *byte == b'\n').zip(1..).find_map(|(line, at)| {
            // Only the last line of a segment can be without its end.
            if !line.ends_with(b"\n") {
                self.open.push((number, at));
                return None;
            }
            self.row(number, at, line, visit).err()
        })
    }

    fn row(&mut self, segment: u32, at: u64, line: &[u8], visit: &mut dyn FnMut(&Row, &[u8])) -> Result<(), Damage> {
        if let Some(damage) = self.unfinished()
            && !line.strip_suffix(b"\n").is_some_and(|line| row::check(line).is_ok_and(|link| link.recovers))
        {
            return Err(damage);
        }
        let link = self.verifier.next(line).map_err(|bad| Damage::Row { segment, line: at, bad })?;
        let Verified { rows, head } = self.verifier.so_far();
        self.tears.extend(self.open.drain(..).map(|(segment, line)| Tear { segment, line, continued: rows }));
        let digest = head.unwrap_or_else(|| Digest::of(b""));
        let row = Row { number: rows, digest, at: link.at, install_id: link.install_id };
        visit(&row, line.strip_suffix(b"\n").unwrap_or(line));
        self.last = Some(row);
        Ok(())
    }

    /// The row that was cut off and that nothing goes on behind.
    fn unfinished(&self) -> Option<Damage> {
        let (segment, line) = *self.open.first()?;
        let number = self.last.as_ref().map_or(0, |row| row.number).saturating_add(1);
        Some(Damage::Row { segment, line, bad: BadRow { number, why: Why::NotComplete } })
    }
}
