//! Standard input of the owner's commands: bounded, drained for a while past its limit so that a writer of one document is
//! not cut off; one that never ends is.

use std::io::Read;

/// Bytes that are read past the limit and thrown away.
const DRAINED: u64 = 16 << 20;

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

/// Everything on standard input, 1 to `limit` bytes.
pub(crate) fn read_stdin(limit: u64) -> Result<Vec<u8>, InputFault> {
    let mut input = std::io::stdin().lock();
    let mut bytes = Vec::new();
    let taken = input.by_ref().take(limit + 1).read_to_end(&mut bytes);
    let length = taken.ok().and_then(|length| u64::try_from(length).ok()).ok_or(InputFault::Unreadable)?;
    match length {
        0 => Err(InputFault::Empty),
        length if length > limit => {
            let _ = std::io::copy(&mut input.take(DRAINED), &mut std::io::sink());
            Err(InputFault::TooLarge)
        }
        _ => Ok(bytes),
    }
}
