//! Standard input of the owner's commands: bounded. A little past its limit is drained so that the writer is not cut off;
//! input without end is not waited for.

use crate::foundation::limits;
use crate::system::os::streams::Waiting;
use std::io::{IsTerminal as _, Read};

/// Why it was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputFault {
    /// Nothing came.
    Empty,
    /// More than the limit came.
    TooLarge,
    /// It could not be read.
    Unreadable,
}

/// As [`read_stdin`], but not from a terminal: nobody types a document.
pub(crate) fn read_piped(limit: u64) -> Result<Vec<u8>, InputFault> {
    if std::io::stdin().is_terminal() { Err(InputFault::Unreadable) } else { read_stdin(limit) }
}

/// Everything on standard input, 1 to `limit` bytes.
pub(crate) fn read_stdin(limit: u64) -> Result<Vec<u8>, InputFault> {
    let mut input = Waiting(std::io::stdin().lock());
    let mut bytes = Vec::new();
    let taken = input.by_ref().take(limit + 1).read_to_end(&mut bytes);
    let length = taken.ok().and_then(|length| u64::try_from(length).ok()).ok_or(InputFault::Unreadable)?;
    match length {
        0 => Err(InputFault::Empty),
        length if length > limit => {
            let _ = std::io::copy(&mut input.take(limits::DRAINED_BYTES), &mut std::io::sink());
            Err(InputFault::TooLarge)
        }
        _ => Ok(bytes),
    }
}
