//! The one home of the private-file rule: consent, journal, pins. A password file is judged by the same rule, except that
//! its parent has a rule of its own (`capability/secret.rs`): others may read that directory.
//!
//! A private directory is a real directory of this user without any group or other permission, reached without
//! symbolic links, below directories that nobody else can rename things in. A private file lies directly in it: regular,
//! one link, owned by this user (root gets no exemption), no group or other permission, and unchanged while it was
//! read. Never follows a link, never blocks on a FIFO, never reads more than its limit.

use crate::foundation::digest::hex;
use crate::foundation::path::AbsolutePath;
use crate::system::{Facts, Fault, Identity, Kind, Observe, System};

/// Why a file or directory is not private.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrivateFault {
    /// There is no such file or directory.
    #[error("it does not exist")]
    Missing,
    /// It, or something above it, is a symbolic link.
    #[error("a symbolic link is in the way")]
    Link,
    /// It is not a regular file (or not a directory).
    #[error("it is not the right kind of file")]
    WrongKind,
    /// It belongs to somebody else.
    #[error("it belongs to another user")]
    WrongOwner,
    /// Group or others may do something with it.
    #[error("others have permissions on it")]
    TooOpen,
    /// It has a second name.
    #[error("it has more than one link")]
    ManyLinks,
    /// A directory above it can be changed by others.
    #[error("a directory above it can be changed by others")]
    InsecureAncestor,
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is larger than its limit.
    #[error("it is larger than its limit")]
    TooLarge,
    /// It changed while it was read, or the directory was replaced.
    #[error("it changed")]
    Changed,
    /// The system refused.
    #[error("{0}")]
    System(Fault),
}

impl From<Fault> for PrivateFault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::NotFound => PrivateFault::Missing,
            Fault::Link => PrivateFault::Link,
            Fault::WrongKind => PrivateFault::WrongKind,
            Fault::TooLarge => PrivateFault::TooLarge,
            Fault::Changed => PrivateFault::Changed,
            other => PrivateFault::System(other),
        }
    }
}

/// How often a file that is being replaced is read again.
const READS: usize = 8;

/// A held private directory.
pub struct PrivateDirectory<S: Observe> {
    directory: S::Directory,
    identity: Identity,
    path: AbsolutePath,
}

impl<S: Observe> PrivateDirectory<S> {
    /// Opens and judges a directory, and all that is above it.
    pub fn open(system: &S, path: &AbsolutePath) -> Result<Self, PrivateFault> {
        let directory = system.open_directory(path)?;
        let facts = system.directory_facts(&directory)?;
        judge(system, &facts, Kind::Directory)?;
        judge_ancestors(system, path)?;
        Ok(Self { directory, identity: facts.identity, path: path.clone() })
    }

    /// The held directory.
    pub fn handle(&self) -> &S::Directory {
        &self.directory
    }

    /// The path it was opened by.
    pub fn path(&self) -> &AbsolutePath {
        &self.path
    }

    /// Whether the path still names the held directory, and it is still private.
    pub fn assert_unchanged(&self, system: &S) -> Result<(), PrivateFault> {
        let now = system.look(&self.path)?;
        if now.identity != self.identity {
            return Err(PrivateFault::Changed);
        }
        judge(system, &system.directory_facts(&self.directory)?, Kind::Directory)
    }

    /// Reads a private file directly in this directory: 1 to `limit` bytes, in one open. A read that met the file's
    /// replacement by a rename is done again by its name, so that a rotation is seen before or after and never as a
    /// broken file; a file that was changed in place is refused.
    pub fn read(&self, system: &S, name: &str, limit: u64) -> Result<Vec<u8>, PrivateFault> {
        for _ in 1..READS {
            let file = system.open_file_in(&self.directory, name)?;
            let read = read_private(system, &file, limit);
            let replaced = read == Err(PrivateFault::Changed) && system.file_facts(&file)?.links == 0;
            if !replaced {
                return read;
            }
        }
        read_private(system, &system.open_file_in(&self.directory, name)?, limit)
    }
}

impl<S: System> PrivateDirectory<S> {
    /// Stores a private file durably in the place of an old one: an exclusive temporary, synced, renamed over it. On any
    /// failure before the rename the old one stands and no temporary remains.
    pub fn replace(&self, system: &S, name: &str, bytes: &[u8]) -> Result<(), PrivateFault> {
        self.assert_unchanged(system)?;
        self.rename_over(system, &temporary_name(system, ".tmp")?, name, bytes)?;
        Ok(system.sync_directory(&self.directory)?)
    }

    /// One exclusive temporary, written and synced, renamed over the target; on a failure no temporary remains. That the
    /// rename is durable is the caller's to see to.
    pub fn rename_over(&self, system: &S, temporary: &str, name: &str, bytes: &[u8]) -> Result<(), Fault> {
        let file = system.create_file(&self.directory, temporary, 0o600)?;
        let written = system
            .write(&file, bytes)
            .and_then(|()| system.sync_file(&file))
            .and_then(|()| system.rename(&self.directory, temporary, name));
        if written.is_err() {
            let _ = system.remove(&self.directory, temporary);
        }
        written
    }
}

/// A name that nobody else uses.
pub fn temporary_name<S: System>(system: &S, stem: &str) -> Result<String, Fault> {
    let mut random = [0; 8];
    system.random(&mut random)?;
    Ok(format!("{stem}-{}", hex(&random)))
}

/// Reads a held file under the private-file rule: 1 to `limit` bytes.
pub fn read_private<S: Observe>(system: &S, file: &S::File, limit: u64) -> Result<Vec<u8>, PrivateFault> {
    let before = system.file_facts(file)?;
    judge(system, &before, Kind::Regular)?;
    match before.size {
        0 => return Err(PrivateFault::Empty),
        size if size > limit => return Err(PrivateFault::TooLarge),
        _ => {}
    }
    let bytes = system.read(file, limit)?;
    let length = u64::try_from(bytes.len()).map_err(|_| PrivateFault::TooLarge)?;
    if system.file_facts(file)? != before || length != before.size {
        return Err(PrivateFault::Changed);
    }
    Ok(bytes)
}

/// Judges facts by the rule, without looking at size.
pub fn judge<S: Observe>(system: &S, facts: &Facts, kind: Kind) -> Result<(), PrivateFault> {
    if facts.kind != kind {
        return Err(if facts.kind == Kind::Link { PrivateFault::Link } else { PrivateFault::WrongKind });
    }
    if facts.owner != system.user() {
        return Err(PrivateFault::WrongOwner);
    }
    // A file may be read and written by its owner, nothing else; a directory may also be entered.
    let allowed = if kind == Kind::Directory { 0o700 } else { 0o600 };
    if facts.mode & !allowed != 0 {
        return Err(PrivateFault::TooOpen);
    }
    match facts.links {
        // Opened by its name, and replaced or removed since.
        0 => Err(PrivateFault::Changed),
        2.. if kind == Kind::Regular => Err(PrivateFault::ManyLinks),
        _ => Ok(()),
    }
}

/// Every directory above must belong to root or this user and be writable by nobody else, sticky directories excepted.
pub fn judge_ancestors<S: Observe>(system: &S, path: &AbsolutePath) -> Result<(), PrivateFault> {
    path.ancestors().skip(1).try_for_each(|ancestor| judge_ancestor(system, &ancestor))
}

fn judge_ancestor<S: Observe>(system: &S, ancestor: &AbsolutePath) -> Result<(), PrivateFault> {
    let facts = system.look(ancestor)?;
    let owned = facts.owner == 0 || facts.owner == system.user();
    let closed = facts.mode & 0o022 == 0 || facts.mode & 0o1000 != 0;
    let fits = facts.kind == Kind::Directory && owned && closed;
    if fits { Ok(()) } else { Err(PrivateFault::InsecureAncestor) }
}

/// Judges the place of a private directory that is there or is to be made; makes nothing.
pub fn judge_place<S: Observe>(system: &S, path: &AbsolutePath) -> Result<(), PrivateFault> {
    match system.look(path) {
        Ok(_) => return PrivateDirectory::open(system, path).map(|_| ()),
        Err(Fault::NotFound) => {}
        Err(fault) => return Err(fault.into()),
    }
    let missing = |above: &AbsolutePath| system.look(above) == Err(Fault::NotFound);
    path.ancestors().skip_while(missing).try_for_each(|above| judge_ancestor(system, &above))
}

/// Creates a private directory, and what is missing above it, with mode 0700, and opens it. Nothing is made in a place
/// that would then be refused.
pub fn make_private<S: System>(system: &S, path: &AbsolutePath) -> Result<PrivateDirectory<S>, PrivateFault> {
    judge_place(system, path)?;
    make_missing(system, path)
}

fn make_missing<S: System>(system: &S, path: &AbsolutePath) -> Result<PrivateDirectory<S>, PrivateFault> {
    if let Some((parent, name)) = path.split_last() {
        match system.look(path) {
            Err(Fault::NotFound) => {
                let parent = match system.open_directory(&parent) {
                    Err(Fault::NotFound) => make_missing(system, &parent)?.directory,
                    other => other?,
                };
                match system.make_directory(&parent, name, 0o700) {
                    Ok(()) | Err(Fault::Exists) => {}
                    Err(fault) => return Err(fault.into()),
                }
            }
            Err(fault) => return Err(fault.into()),
            Ok(_) => {}
        }
    }
    PrivateDirectory::open(system, path)
}
