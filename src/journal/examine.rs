//! A whole journal, segment after segment: what verifies, the first thing that does not and where it stands. Each row is
//! handed on once it is verified. Changes nothing, and shows no more than verifying does.

use super::append::hold_lock;
use super::verify::{BadRow, Verified, Verifier, read_segment, segments};
use crate::capability::private_file::PrivateDirectory;
use crate::foundation::digest::Digest;
use crate::foundation::refusal::Refusal;
use crate::foundation::time::Timestamp;
use crate::system::System;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The rows that verify, up to the first that does not.
    pub verified: Verified,
    /// How many segments there are.
    pub segments: usize,
    /// What does not verify; nothing after it was looked at.
    pub damage: Option<Damage>,
    /// The last row that verifies.
    pub last: Option<Row>,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// A row.
    Row {
        /// The number of its segment.
        segment: u32,
        /// Its line there, from 1.
        line: u64,
        /// Its number and what is wrong with it.
        bad: BadRow,
    },
    /// A segment of this number is missing, and later ones are there.
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
    let mut verifier = Verifier::new();
    let mut found = Examined { verified: verifier.so_far(), segments: numbers.len(), damage: None, last: None };
    for (number, expected) in numbers.into_iter().zip(1..) {
        if number != expected {
            found.damage = Some(Damage::Segment(expected));
            break;
        }
        let bytes = read_segment(system, directory, number)?;
        for (line, at) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
            match verifier.next(line) {
                Ok(link) => {
                    let verified = verifier.so_far();
                    let digest = verified.head.unwrap_or_else(|| Digest::of(b""));
                    let row = Row { number: verified.rows, digest, at: link.at, install_id: link.install_id };
                    visit(&row, line.strip_suffix(b"\n").unwrap_or(line));
                    found.last = Some(row);
                }
                Err(bad) => {
                    found.damage = Some(Damage::Row { segment: number, line: at, bad });
                    break;
                }
            }
        }
        if found.damage.is_some() {
            break;
        }
    }
    found.verified = verifier.finish();
    Ok(found)
}
