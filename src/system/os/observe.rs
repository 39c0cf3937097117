//! Looking and reading. Changes nothing, follows no link on an open, reads no more than asked, never blocks on a FIFO.

use super::{Directory, File, OsSystem, walk};
use crate::foundation::digest::{Digest, Hasher};
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::system::{Facts, Fault, Kind, Observe};
use nix::unistd::{Uid, User};
use rustix::buffer::spare_capacity;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use zeroize::Zeroize;

/// One read of a file that is digested.
const DIGEST_STEP: usize = 256 * 1024;

impl OsSystem {
    fn open_beneath(self, base: &Directory, path: &RelativePath, flags: OFlags) -> Result<OwnedFd, Fault> {
        self.open_and_look_beneath(base, path, flags).map(|(opened, _)| opened)
    }

    /// As `open_beneath`, with the facts of what was opened where they came along.
    fn open_and_look_beneath(
        self,
        base: &Directory,
        path: &RelativePath,
        flags: OFlags,
    ) -> Result<(OwnedFd, Option<Facts>), Fault> {
        if self.confined {
            return walk::open_stepwise(base.as_fd(), path, flags, Some(base.mount()?));
        }
        let name = if path.is_here() { "." } else { path.as_str() };
        walk::open_resolved(base.as_fd(), name, flags, Mode::empty(), walk::BENEATH).map(|opened| (opened, None))
    }
}

impl Observe for OsSystem {
    type Directory = Directory;
    type File = File;

    fn open_directory(&self, path: &AbsolutePath) -> Result<Directory, Fault> {
        if self.confined {
            let top = rustix::fs::openat(CWD, "/", walk::DIRECTORY | OFlags::PATH, Mode::empty())?;
            let below = RelativePath::parse(path.as_str().trim_start_matches('/')).ok_or(Fault::Escapes)?;
            return walk::open_stepwise(top.as_fd(), &below, walk::DIRECTORY, None)
                .map(|(opened, _)| Directory::new(opened));
        }
        let opened = walk::open_resolved(CWD, path.as_str(), walk::DIRECTORY, Mode::empty(), walk::NO_LINKS)?;
        Ok(Directory::new(opened))
    }

    fn open_directory_beneath(&self, directory: &Directory, path: &RelativePath) -> Result<Directory, Fault> {
        if path.is_here() {
            return Ok(directory.clone());
        }
        self.open_beneath(directory, path, walk::DIRECTORY).map(Directory::new)
    }

    fn open_file_beneath(&self, directory: &Directory, path: &RelativePath) -> Result<File, Fault> {
        self.open_beneath(directory, path, walk::FILE).map(File)
    }

    fn open_file_with_facts(&self, directory: &Directory, path: &RelativePath) -> Result<(File, Facts), Fault> {
        let (opened, facts) = self.open_and_look_beneath(directory, path, walk::FILE)?;
        let facts = facts.map_or_else(|| walk::facts_of(opened.as_fd()), Ok)?;
        Ok((File(opened), facts))
    }

    fn open_file_in(&self, directory: &Directory, name: &str) -> Result<File, Fault> {
        let name = single_name(name)?;
        if self.confined {
            let path = RelativePath::parse(name).ok_or(Fault::Escapes)?;
            return walk::open_stepwise(directory.as_fd(), &path, walk::FILE, None).map(|(opened, _)| File(opened));
        }
        walk::open_resolved(directory.as_fd(), name, walk::FILE, Mode::empty(), walk::INSIDE).map(File)
    }

    fn directory_facts(&self, directory: &Directory) -> Result<Facts, Fault> {
        walk::facts_of(directory.as_fd())
    }

    fn file_facts(&self, file: &File) -> Result<Facts, Fault> {
        walk::facts_of(file.as_fd())
    }

    fn read(&self, file: &File, limit: u64) -> Result<Vec<u8>, Fault> {
        read_bounded(file.as_fd(), limit)
    }

    fn read_sized(&self, file: &File, facts: &Facts, limit: u64, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        read_sized(file.as_fd(), facts, limit, bytes)
    }

    fn digest(&self, file: &File, limit: u64) -> Result<Digest, Fault> {
        digest(file.as_fd(), limit)
    }

    fn fill(&self, file: &File, buffer: &mut [u8]) -> Result<usize, Fault> {
        fill(file.as_fd(), buffer)
    }

    fn resolve_link(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
        let (parent, _) = path.split_last().ok_or(Fault::WrongKind)?;
        let target =
            rustix::fs::readlinkat(CWD, path.as_str(), Vec::new())?.into_string().map_err(|_| Fault::WrongKind)?;
        parent.resolve(&target).ok_or(Fault::Escapes)
    }

    fn look(&self, path: &AbsolutePath) -> Result<Facts, Fault> {
        walk::look_at(CWD, path.as_str(), AtFlags::SYMLINK_NOFOLLOW)
    }

    fn look_beneath(&self, directory: &Directory, path: &RelativePath) -> Result<Facts, Fault> {
        if path.is_here() {
            return walk::facts_of(directory.as_fd());
        }
        walk::facts_of(self.open_beneath(directory, path, walk::ENTRY)?.as_fd())
    }

    fn canonical_directory(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
        let flags = walk::ENTRY | OFlags::DIRECTORY;
        let held = match rustix::fs::openat(CWD, path.as_str(), flags, Mode::empty()) {
            Err(Errno::NOTDIR) => return Err(walk::link_or_wrong_kind(CWD, path.as_str())),
            other => other?,
        };
        let canonical = path_of(held.as_fd())?;
        // It may have been moved since: the text must still lead back to it.
        if walk::look_at(CWD, canonical.as_str(), AtFlags::SYMLINK_NOFOLLOW)?.identity
            != walk::facts_of(held.as_fd())?.identity
        {
            return Err(Fault::Changed);
        }
        Ok(canonical)
    }

    fn user(&self) -> u32 {
        rustix::process::geteuid().as_raw()
    }

    fn account_home(&self) -> Option<AbsolutePath> {
        if self.confined {
            return None;
        }
        let account = User::from_uid(Uid::effective()).ok()??;
        let home = account.dir.to_str().filter(|home| home.starts_with('/'))?;
        AbsolutePath::parse("/").ok()?.resolve(home)
    }

    fn working_directory(&self) -> Result<AbsolutePath, Fault> {
        text_path(rustix::process::getcwd(Vec::new())?.into_bytes())
    }
}

/// A name in a directory: one component.
pub(super) fn single_name(name: &str) -> Result<&str, Fault> {
    let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
    if plain { Ok(name) } else { Err(Fault::Escapes) }
}

fn path_of(held: BorrowedFd<'_>) -> Result<AbsolutePath, Fault> {
    use std::os::fd::AsRawFd as _;
    let link = rustix::fs::readlinkat(CWD, format!("/proc/self/fd/{}", held.as_raw_fd()), Vec::new())?;
    let bytes = link.into_bytes();
    if bytes.ends_with(b" (deleted)") {
        return Err(Fault::NotFound);
    }
    text_path(bytes)
}

fn text_path(bytes: Vec<u8>) -> Result<AbsolutePath, Fault> {
    let text = String::from_utf8(bytes).map_err(|_| Fault::Io(Errno::ILSEQ.raw_os_error()))?;
    // "(unreachable)…" is what the kernel says of a place outside this process's root.
    AbsolutePath::parse(&text).map_err(|_| Fault::NotFound)
}

/// Reads a regular file from its start, at most `limit` bytes. The buffer is allocated once for the size that the facts
/// tell; a file that grows meanwhile moves to a larger buffer and the smaller one is wiped, since it may hold a secret.
pub(super) fn read_bounded(file: BorrowedFd<'_>, limit: u64) -> Result<Vec<u8>, Fault> {
    let facts = walk::facts_of(file)?;
    if facts.kind != Kind::Regular {
        return Err(Fault::WrongKind);
    }
    if facts.size > limit {
        return Err(Fault::TooLarge);
    }
    let limit = usize::try_from(limit).map_err(|_| Fault::TooLarge)?;
    // One byte more than expected, so that the end is seen as a read of nothing and not as a full buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(facts.size).map_err(|_| Fault::TooLarge)?.saturating_add(1));
    loop {
        let offset = u64::try_from(bytes.len()).map_err(|_| Fault::TooLarge)?;
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, spare_capacity(&mut bytes), offset));
        match read {
            Ok(0) => return Ok(bytes),
            Ok(_) if bytes.len() > limit => {
                bytes.zeroize();
                return Err(Fault::TooLarge);
            }
            Ok(_) if bytes.len() == bytes.capacity() => bytes = grown(bytes, limit),
            Ok(_) => {}
            Err(errno) => {
                bytes.zeroize();
                return Err(errno.into());
            }
        }
    }
}

/// Reads a regular file of these facts: its size and, if there is more, some of that. The end is not looked for
/// where the size was read: whether the file grew is seen in the facts afterwards.
fn read_sized(file: BorrowedFd<'_>, facts: &Facts, limit: u64, bytes: &mut Vec<u8>) -> Result<(), Fault> {
    if facts.kind != Kind::Regular {
        return Err(Fault::WrongKind);
    }
    if facts.size > limit {
        return Err(Fault::TooLarge);
    }
    let size = usize::try_from(facts.size).map_err(|_| Fault::TooLarge)?;
    bytes.clear();
    bytes.reserve_exact(size.saturating_add(1));
    loop {
        let offset = u64::try_from(bytes.len()).map_err(|_| Fault::TooLarge)?;
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, spare_capacity(bytes), offset))?;
        if read == 0 || bytes.len() >= size {
            return Ok(());
        }
    }
}

/// Digests a regular file in steps, so that no large file is held in memory.
fn digest(file: BorrowedFd<'_>, limit: u64) -> Result<Digest, Fault> {
    let before = walk::facts_of(file)?;
    if before.kind != Kind::Regular {
        return Err(Fault::WrongKind);
    }
    let mut hasher = Hasher::new();
    let mut step = Vec::with_capacity(DIGEST_STEP.min(usize::try_from(before.size).unwrap_or(DIGEST_STEP) + 1));
    let mut offset = 0;
    loop {
        step.clear();
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(file, spare_capacity(&mut step), offset))?;
        if read == 0 {
            break;
        }
        offset += u64::try_from(read).map_err(|_| Fault::TooLarge)?;
        if offset > limit {
            return Err(Fault::TooLarge);
        }
        hasher.update(&step);
    }
    if offset != before.size || walk::facts_of(file)? != before {
        return Err(Fault::Changed);
    }
    Ok(hasher.finish())
}

/// Reads a regular file from its start into a buffer, and makes sure that nothing is left.
fn fill(file: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize, Fault> {
    if walk::facts_of(file)?.kind != Kind::Regular {
        return Err(Fault::WrongKind);
    }
    let mut filled = 0;
    let mut beyond = [0; 1];
    loop {
        let offset = u64::try_from(filled).map_err(|_| Fault::TooLarge)?;
        let rest = buffer.get_mut(filled..).filter(|rest| !rest.is_empty());
        let full = rest.is_none();
        let target = rest.unwrap_or(&mut beyond);
        match rustix::io::retry_on_intr(|| rustix::io::pread(file, &mut *target, offset))? {
            0 => return Ok(filled),
            _ if full => return Err(Fault::TooLarge),
            count => filled += count,
        }
    }
}

fn grown(mut bytes: Vec<u8>, limit: usize) -> Vec<u8> {
    let capacity = bytes.len().saturating_mul(2).max(4096).min(limit.saturating_add(1));
    let mut larger = Vec::with_capacity(capacity);
    larger.extend_from_slice(&bytes);
    bytes.zeroize();
    larger
}
