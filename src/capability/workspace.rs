//! Where a workspace is, and its record's bytes. Looks and reads only; judges no record and grants nothing.
//!
//! The search under a pinned root ([`nearest_record`]) goes only through opens beneath the held directory. The owner
//! commands find theirs with [`locate`].

mod locate;

pub use locate::{Located, check_directory, locate, mutation_root};

use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::refusal::Reason;
use crate::system::{Facts, Fault, Identity, Kind, Observe};

/// The directory of a workspace's record and snapshots.
pub const KDNA: &str = ".kdna";
/// The record, below the workspace.
pub const RECORD: &str = ".kdna/attachments.json";

/// Why a search ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchFault {
    /// A directory on the way up cannot be opened beneath the root.
    #[error("a directory on the way cannot be opened: {0}")]
    Directory(Fault),
    /// `.kdna` is a link, no directory, or on another file system.
    #[error(".kdna is not a real directory")]
    KdnaDirectory,
    /// The record is a link or no regular file.
    #[error("the record is not a regular file")]
    RecordFile,
    /// The system did not say.
    #[error("the record cannot be inspected: {0}")]
    Uninspectable(Fault),
}

impl SearchFault {
    /// What an owner command says about it.
    pub const fn reason(self) -> Reason {
        match self {
            SearchFault::KdnaDirectory => Reason::KdnaDirectoryIrregular,
            SearchFault::RecordFile => Reason::RecordFileIrregular,
            SearchFault::Directory(_) | SearchFault::Uninspectable(_) => Reason::RecordUninspectable,
        }
    }
}

/// The directory that holds the nearest record.
pub struct Found<S: Observe> {
    /// Where it is, below the directory that was searched.
    pub workspace: RelativePath,
    /// The directory itself, held.
    pub directory: S::Directory,
    /// Which directory it is: ask `Homes::is_home`.
    pub identity: Identity,
}

/// Looks for a record from `start` upwards, `root` included; the nearest wins and nothing above it is looked at.
pub fn nearest_record<S: Observe>(
    system: &S,
    root: &S::Directory,
    start: &RelativePath,
) -> Result<Option<Found<S>>, SearchFault> {
    for workspace in start.ancestors() {
        let directory = match system.open_directory_beneath(root, &workspace) {
            // It may be passed but not read: enough to see that it holds nothing.
            Err(Fault::Denied)
                if system.look_beneath(root, &workspace.join(&relative(KDNA))) == Err(Fault::NotFound) =>
            {
                continue;
            }
            other => other.map_err(SearchFault::Directory)?,
        };
        if holds_record(system, &directory)? {
            let identity = system.directory_facts(&directory).map_err(SearchFault::Directory)?.identity;
            return Ok(Some(Found { workspace, directory, identity }));
        }
    }
    Ok(None)
}

/// Whether there is a record in a held directory, and both it and `.kdna` are what they should be.
pub fn holds_record<S: Observe>(system: &S, directory: &S::Directory) -> Result<bool, SearchFault> {
    let is = |path: &str, kind: Kind, wrong: SearchFault| match system.look_beneath(directory, &relative(path)) {
        Ok(facts) if facts.kind == kind => Ok(true),
        Ok(_) | Err(Fault::Link | Fault::WrongKind | Fault::Escapes) => Err(wrong),
        Err(Fault::NotFound) => Ok(false),
        Err(fault) => Err(SearchFault::Uninspectable(fault)),
    };
    Ok(is(KDNA, Kind::Directory, SearchFault::KdnaDirectory)? && is(RECORD, Kind::Regular, SearchFault::RecordFile)?)
}

/// The bytes of a record, and which file they came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordBytes {
    /// At most [`limits::RECORD_BYTES`], and for a server [`limits::SERVED_RECORD_BYTES`].
    pub bytes: Vec<u8>,
    /// Their digest.
    pub digest: Digest,
    /// The file's facts, equal before and after the read.
    pub facts: Facts,
}

/// Reads the record of a workspace beneath a held root, in one open. [`Fault::TooLarge`] above
/// [`limits::RECORD_BYTES`], [`Fault::Changed`] if it changed meanwhile.
pub fn read_record<S: Observe>(
    system: &S,
    root: &S::Directory,
    workspace: &RelativePath,
) -> Result<RecordBytes, Fault> {
    read_within(system, root, workspace, limits::RECORD_BYTES)
}

/// As [`read_record`], also of a record that is too large to be read as one, up to [`limits::SERVED_RECORD_BYTES`]: a server
/// says of it what it says of every other record that breaks the rules.
pub fn read_served_record<S: Observe>(
    system: &S,
    root: &S::Directory,
    workspace: &RelativePath,
) -> Result<RecordBytes, Fault> {
    read_within(system, root, workspace, limits::SERVED_RECORD_BYTES)
}

fn read_within<S: Observe>(
    system: &S,
    root: &S::Directory,
    workspace: &RelativePath,
    limit: u64,
) -> Result<RecordBytes, Fault> {
    let (bytes, facts) = read_beneath(system, root, &workspace.join(&relative(RECORD)), limit)?;
    Ok(RecordBytes { digest: Digest::of(&bytes), bytes, facts })
}

/// How often a file that is being replaced is read again.
const READS: usize = 32;

/// Does a read again that met a replacement: replacing a file changes the facts of the former one, so what comes back is
/// whole, old or new. For people's commands that read without a lock; never for a load, where a change is to be refused.
/// [`Fault::Changed`] only if it changes every time.
pub fn settled<T>(mut read: impl FnMut() -> Result<T, Fault>) -> Result<T, Fault> {
    for _ in 1..READS {
        match read() {
            Err(Fault::Changed) => {}
            other => return other,
        }
    }
    read()
}

/// Reads the record of a held workspace for a person, [`settled`]. Faults as [`read_record`].
pub fn settled_record<S: Observe>(system: &S, workspace: &S::Directory) -> Result<RecordBytes, Fault> {
    settled(|| read_record(system, workspace, &RelativePath::default()))
}

/// Reads a workspace file beneath a held directory, in one open: regular, at most `limit` bytes, unchanged while it was
/// read. Owner and mode are not judged here.
pub fn read_beneath<S: Observe>(
    system: &S,
    directory: &S::Directory,
    path: &RelativePath,
    limit: u64,
) -> Result<(Vec<u8>, Facts), Fault> {
    let mut bytes = Vec::new();
    let facts = read_beneath_into(system, directory, path, limit, &mut bytes)?;
    Ok((bytes, facts))
}

/// The same, with the bytes in the place of those that `bytes` holds. What it holds after a fault means nothing.
pub fn read_beneath_into<S: Observe>(
    system: &S,
    directory: &S::Directory,
    path: &RelativePath,
    limit: u64,
    bytes: &mut Vec<u8>,
) -> Result<Facts, Fault> {
    let (file, before) = system.open_file_with_facts(directory, path)?;
    match before.kind {
        Kind::Regular if before.size > limit => return Err(Fault::TooLarge),
        Kind::Regular => {}
        Kind::Link => return Err(Fault::Link),
        Kind::Directory | Kind::Special => return Err(Fault::WrongKind),
    }
    system.read_sized(&file, &before, limit, bytes)?;
    let length = u64::try_from(bytes.len()).map_err(|_| Fault::TooLarge)?;
    if system.file_facts(&file)? != before || length != before.size {
        return Err(Fault::Changed);
    }
    Ok(before)
}

/// Whether a file or directory is the user's own, root included, and nobody else may write it.
pub fn is_own<S: Observe>(system: &S, facts: &Facts) -> bool {
    facts.owner == system.user() && facts.mode & 0o022 == 0
}

/// The same for a directory beneath a held one, judged through its descriptor.
pub fn is_own_directory<S: Observe>(system: &S, directory: &S::Directory, path: &RelativePath) -> bool {
    let held = system.open_directory_beneath(directory, path);
    held.and_then(|held| system.directory_facts(&held)).is_ok_and(|facts| is_own(system, &facts))
}

/// The same for a record that was read, and the `.kdna` that it lies in.
pub fn is_own_record<S: Observe>(
    system: &S,
    root: &S::Directory,
    workspace: &RelativePath,
    record: &RecordBytes,
) -> bool {
    is_own(system, &record.facts) && is_own_directory(system, root, &workspace.join(&relative(KDNA)))
}

/// A path made of literals or validated names.
fn relative(path: &str) -> RelativePath {
    RelativePath::parse(path).unwrap_or_default()
}
