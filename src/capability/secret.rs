//! The password: one fixed buffer, locked in memory where allowed and wiped when dropped. No `String`, no `Debug`, no
//! clone; read only when a plan asks for it, and never part of an error.

use crate::capability::private_file::{self, PrivateFault};
use crate::capability::root::PinnedRoot;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::memory::LockedBuffer;
use crate::system::{Facts, Fault, Kind, Observe};

/// The bytes of a password.
pub struct Secret {
    buffer: LockedBuffer,
    length: usize,
}

impl Secret {
    /// The password without its line end.
    pub fn expose(&self) -> &[u8] {
        self.buffer.as_slice().get(..self.length).unwrap_or_default()
    }

    /// Whether it is kept out of swap.
    pub const fn is_locked(&self) -> bool {
        self.buffer.is_locked()
    }
}

/// Where the password would come from: bound by facts before consent is read, opened only in stage `authorization`.
pub struct AuthorizationSource {
    path: AbsolutePath,
    facts: Facts,
}

impl AuthorizationSource {
    /// Judges the file that the coordinate names, without opening it: regular, one link, owned by this user, no group or
    /// other permission, 1 to 16,386 bytes, no writable ancestor, outside the workspace.
    pub fn bind<S: Observe>(system: &S, coordinate: &str, root: &PinnedRoot<S>) -> Result<Self, Refusal> {
        let refuse = |_| Refusal::new(Reason::AuthorizationFileInvalid);
        let path = AbsolutePath::parse(coordinate).map_err(|_| Reason::AuthorizationFileInvalid)?;
        let facts = system.look(&path).map_err(|fault| refuse(PrivateFault::from(fault)))?;
        judge(system, &facts).map_err(refuse)?;
        private_file::judge_ancestors(system, &path).map_err(refuse)?;
        if root.holds(system, &path) {
            return Err(Reason::AuthorizationFileInvalid.into());
        }
        Ok(Self { path, facts })
    }

    /// Reads the password, if the file is still exactly the one that was bound. Strict UTF-8; one final LF or CRLF is
    /// dropped, a lone CR stays; 1 to 16,384 bytes remain.
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
        let capacity = usize::try_from(limits::PASSWORD_FILE_BYTES).map_err(|_| PrivateFault::TooLarge)?;
        let mut buffer = system.secret_memory(capacity);
        let filled = system.fill(&file, buffer.as_mut_slice())?;
        unchanged(system.file_facts(&file)?)?;
        let content = buffer.as_slice().get(..filled).ok_or(PrivateFault::TooLarge)?;
        let length = without_line_end(content).len();
        let valid = std::str::from_utf8(content).is_ok() && (1..=limits::PASSWORD_BYTES).contains(&length);
        let whole = u64::try_from(filled).is_ok_and(|filled| filled == self.facts.size);
        if !valid || !whole {
            return Err(PrivateFault::WrongKind);
        }
        Ok(Secret { buffer, length })
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
    use super::without_line_end;

    #[test]
    fn one_line_end_is_dropped_and_a_lone_carriage_return_stays() {
        for (content, password) in [
            ("pw", "pw"),
            ("pw\n", "pw"),
            ("pw\r\n", "pw"),
            ("pw\r", "pw\r"),
            ("pw\n\n", "pw\n"),
            ("p\nw", "p\nw"),
            ("\n", ""),
        ] {
            assert_eq!(without_line_end(content.as_bytes()), password.as_bytes());
        }
    }
}
