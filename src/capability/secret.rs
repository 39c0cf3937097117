//! The password: one fixed buffer, locked in memory where allowed and wiped when dropped, and the one rule on what of it
//! counts. No `String`, no `Debug`, no clone; read only when a plan asks for it, and never part of an error.

use crate::capability::private_file::{self, PrivateFault};
use crate::capability::root::PinnedRoot;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::memory::LockedBuffer;
use crate::system::{Facts, Fault, Kind, Observe};
use std::ops::Range;

/// The bytes of a password.
pub struct Secret {
    buffer: LockedBuffer,
    counts: Range<usize>,
}

impl Secret {
    /// Takes a buffer whose first `filled` bytes were read. One final LF or CRLF is dropped, a lone CR stays; a leading
    /// byte order mark is dropped, and may leave nothing. Before that, 1 to 16,384 bytes of strict UTF-8 must remain.
    pub fn new(buffer: LockedBuffer, filled: usize) -> Result<Self, PasswordFault> {
        let line = without_line_end(buffer.as_slice().get(..filled).ok_or(PasswordFault::TooLarge)?);
        let counts = match std::str::from_utf8(line) {
            _ if line.is_empty() => return Err(PasswordFault::Empty),
            _ if line.len() > limits::PASSWORD_BYTES => return Err(PasswordFault::TooLarge),
            Err(_) => return Err(PasswordFault::NotUtf8),
            Ok(text) => text.len() - text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).len()..line.len(),
        };
        Ok(Self { buffer, counts })
    }

    /// An empty buffer for the longest password, its line end, and one byte that shows that there is more.
    pub fn buffer<S: Observe>(system: &S) -> LockedBuffer {
        system.secret_memory(usize::try_from(limits::PASSWORD_FILE_BYTES).unwrap_or_default() + 1)
    }

    /// What of it is the password; empty where there was a byte order mark alone.
    pub fn expose(&self) -> &[u8] {
        self.buffer.as_slice().get(self.counts.clone()).unwrap_or_default()
    }

    /// Whether it is kept out of swap.
    pub const fn is_locked(&self) -> bool {
        self.buffer.is_locked()
    }
}

/// Why bytes are no password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordFault {
    /// Nothing but a line end.
    Empty,
    /// More than 16,384 bytes.
    TooLarge,
    /// Not strict UTF-8.
    NotUtf8,
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Where the password would come from: bound by facts before consent is read, opened only in stage `authorization`.
pub struct AuthorizationSource {
    path: AbsolutePath,
    facts: Facts,
}

impl AuthorizationSource {
    /// Judges the file that the coordinate names, without opening it: regular, one link, owned by this user, no group or
    /// other permission, 1 to 16,386 bytes, no writable ancestor, outside the workspace.
    pub fn bind<S: Observe>(system: &S, coordinate: &str, root: &PinnedRoot<S>) -> Result<Self, Refusal> {
        let source = Self::bind_beside(system, coordinate)?;
        if root.holds(system, &source.path) {
            return Err(Reason::AuthorizationFileInvalid.into());
        }
        Ok(source)
    }

    /// As [`AuthorizationSource::bind`], where no workspace is known: only to look at, never for a load.
    pub fn bind_beside<S: Observe>(system: &S, coordinate: &str) -> Result<Self, Refusal> {
        let refuse = |_| Refusal::new(Reason::AuthorizationFileInvalid);
        let path = AbsolutePath::parse(coordinate).map_err(|_| Reason::AuthorizationFileInvalid)?;
        let facts = system.look(&path).map_err(|fault| refuse(PrivateFault::from(fault)))?;
        judge(system, &facts).map_err(refuse)?;
        private_file::judge_ancestors(system, &path).map_err(refuse)?;
        Ok(Self { path, facts })
    }

    /// Reads the password ([`Secret::new`]), if the file is still exactly the one that was bound.
    pub fn read<S: Observe>(&self, system: &S) -> Result<Secret, Refusal> {
        self.read_bytes(system)
            .map_err(|_| Refusal::new(Reason::AuthorizationFileInvalid).at(Reason::AssetNotAuthorized.stage()))
    }

    fn read_bytes<S: Observe>(&self, system: &S) -> Result<Secret, PrivateFault> {
        let (parent, name) = self.path.split_last().ok_or(PrivateFault::WrongKind)?;
        let directory = system.open_directory(&parent)?;
        let file = system.open_file_in(&directory, name)?;
        let unchanged = |facts: Facts| if facts == self.facts { Ok(()) } else { Err(PrivateFault::Changed) };
        unchanged(system.file_facts(&file)?)?;
        let mut buffer = Secret::buffer(system);
        let filled = system.fill(&file, buffer.as_mut_slice())?;
        unchanged(system.file_facts(&file)?)?;
        if u64::try_from(filled) != Ok(self.facts.size) {
            return Err(PrivateFault::Changed);
        }
        match Secret::new(buffer, filled) {
            Ok(secret) if !secret.expose().is_empty() => Ok(secret),
            Ok(_) | Err(PasswordFault::Empty) => Err(PrivateFault::Empty),
            Err(PasswordFault::TooLarge) => Err(PrivateFault::TooLarge),
            Err(PasswordFault::NotUtf8) => Err(PrivateFault::WrongKind),
        }
    }
}

fn judge<S: Observe>(system: &S, facts: &Facts) -> Result<(), PrivateFault> {
    private_file::judge(system, facts, Kind::Regular)?;
    match facts.size {
        0 => Err(PrivateFault::Empty),
        size if size > limits::PASSWORD_FILE_BYTES => Err(Fault::TooLarge.into()),
        _ => Ok(()),
    }
}

fn without_line_end(content: &[u8]) -> &[u8] {
    match content.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => content,
    }
}

#[cfg(test)]
mod tests {
    use super::{PasswordFault, Secret};
    use crate::system::sim::SimSystem;

    fn password(content: &[u8]) -> Result<Vec<u8>, PasswordFault> {
        let mut buffer = Secret::buffer(&SimSystem::new(1));
        let room = buffer.as_mut_slice();
        let filled = content.len().min(room.len());
        room[..filled].copy_from_slice(&content[..filled]);
        Secret::new(buffer, filled).map(|secret| secret.expose().to_vec())
    }

    #[test]
    fn one_line_end_is_dropped_and_a_lone_carriage_return_stays() {
        for (content, expected) in [
            ("pw", "pw"),
            ("pw\n", "pw"),
            ("pw\r\n", "pw"),
            ("pw\r", "pw\r"),
            ("pw\n\n", "pw\n"),
            ("p\nw", "p\nw"),
            (" pw ", " pw "),
            ("\u{feff}pw\n", "pw"),
            ("pw\u{feff}", "pw\u{feff}"),
            ("\u{feff}", ""),
            ("p\0w", "p\0w"),
        ] {
            assert_eq!(password(content.as_bytes()).unwrap(), expected.as_bytes(), "{content:?}");
        }
    }

    #[test]
    fn what_is_no_password_is_told_apart() {
        for content in ["", "\n", "\r\n"] {
            assert_eq!(password(content.as_bytes()), Err(PasswordFault::Empty), "{content:?}");
        }
        for content in [&b"\xff"[..], b"\xed\xa0\x80", b"\xc0\x80", b"pw\xc3"] {
            assert_eq!(password(content), Err(PasswordFault::NotUtf8), "{content:?}");
        }
        let long = |length: usize, end: &str| [&vec![b'a'; length], end.as_bytes()].concat();
        for end in ["", "\n", "\r\n"] {
            assert_eq!(password(&long(16_384, end)).unwrap().len(), 16_384);
            assert_eq!(password(&long(16_385, end)), Err(PasswordFault::TooLarge));
        }
        assert_eq!(password(&long(1 << 20, "")), Err(PasswordFault::TooLarge));
    }
}
