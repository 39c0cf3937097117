//! Writing in held directories: exclusive creation, durable replacement, locks. Every name is one component; every mode
//! is set by descriptor, so the umask does not matter. Never opens a link and never writes by path.

use super::observe::single_name;
use super::walk;
use crate::foundation::limits;
use crate::system::{Fault, Kind};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, fchmod, flock, openat2};
use rustix::io::Errno;
use std::ffi::CString;
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

const WRITABLE: OFlags = walk::FILE.union(OFlags::RDWR).union(OFlags::APPEND);

/// Directories in one another that are removed with what they lie in.
const TREE_DEPTH: usize = 64;

/// An exclusive lock, released when dropped.
///
/// It is taken on an open file of its own, so two threads of one process exclude each other as two processes do.
#[derive(Debug)]
pub struct Lock(OwnedFd);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would do, but not before a child that is just being started has closed its copy.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

pub(super) fn make_directory(parent: BorrowedFd<'_>, name: &str, mode: u32) -> Result<(), Fault> {
    let name = single_name(name)?;
    rustix::fs::mkdirat(parent, name, Mode::RWXU & Mode::from_raw_mode(mode))?;
    let created = walk::open_resolved(parent, name, walk::DIRECTORY, Mode::empty(), walk::BENEATH)?;
    if walk::facts_of(created.as_fd())?.owner != rustix::process::geteuid().as_raw() {
        return Err(Fault::Changed);
    }
    set_mode(created.as_fd(), mode)
}

pub(super) fn create_file(directory: BorrowedFd<'_>, name: &str, mode: u32) -> Result<OwnedFd, Fault> {
    let flags = WRITABLE | OFlags::CREATE | OFlags::EXCL;
    let closed = Mode::RUSR | Mode::WUSR;
    let created = walk::open_resolved(directory, single_name(name)?, flags, closed, walk::INSIDE)?;
    set_mode(created.as_fd(), mode)?;
    Ok(created)
}

pub(super) fn open_append(directory: BorrowedFd<'_>, name: &str, mode: u32) -> Result<OwnedFd, Fault> {
    // Two steps instead of O_CREAT alone: only who created the file may set its mode.
    for _ in 0..8 {
        match walk::open_resolved(directory, single_name(name)?, WRITABLE, Mode::empty(), walk::INSIDE) {
            Err(Fault::NotFound) => {}
            other => return other.and_then(regular),
        }
        match create_file(directory, name, mode) {
            Err(Fault::Exists) => {}
            other => return other,
        }
    }
    Err(Fault::Changed)
}

fn regular(file: OwnedFd) -> Result<OwnedFd, Fault> {
    if walk::facts_of(file.as_fd())?.kind == Kind::Regular { Ok(file) } else { Err(Fault::WrongKind) }
}

pub(super) fn set_mode(held: BorrowedFd<'_>, mode: u32) -> Result<(), Fault> {
    Ok(fchmod(held, Mode::from_raw_mode(mode & 0o7777))?)
}

pub(super) fn write_all(file: BorrowedFd<'_>, mut bytes: &[u8]) -> Result<(), Fault> {
    while !bytes.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(file, bytes))?;
        if written == 0 {
            return Err(Fault::NoSpace);
        }
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

pub(super) fn rename(directory: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Fault> {
    Ok(rustix::fs::renameat(directory, single_name(from)?, directory, single_name(to)?)?)
}

pub(super) fn link(directory: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Fault> {
    link_across(directory, from, directory, to)
}

pub(super) fn link_across(
    directory: BorrowedFd<'_>,
    from: &str,
    target: BorrowedFd<'_>,
    to: &str,
) -> Result<(), Fault> {
    Ok(rustix::fs::linkat(directory, single_name(from)?, target, single_name(to)?, AtFlags::empty())?)
}

pub(super) fn remove_directory(parent: BorrowedFd<'_>, name: &str) -> Result<(), Fault> {
    Ok(rustix::fs::unlinkat(parent, single_name(name)?, AtFlags::REMOVEDIR)?)
}

pub(super) fn remove(directory: BorrowedFd<'_>, name: &str) -> Result<(), Fault> {
    Ok(rustix::fs::unlinkat(directory, single_name(name)?, AtFlags::empty())?)
}

pub(super) fn list(directory: BorrowedFd<'_>) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_str().map_err(|_| Fault::Io(Errno::ILSEQ.raw_os_error()))?;
        if name == "." || name == ".." {
            continue;
        }
        if names.len() == limits::DIRECTORY_NAMES {
            return Err(Fault::TooLarge);
        }
        names.push(name.to_owned());
    }
    names.sort_unstable();
    Ok(names)
}

pub(super) fn list_own(directory: BorrowedFd<'_>, beginning: &str) -> Result<Vec<String>, Fault> {
    let user = rustix::process::geteuid().as_raw();
    let is_own =
        |name: &str| walk::look_at(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|facts| facts.owner == user);
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with(beginning) && is_own(name) && names.len() < limits::DIRECTORY_NAMES {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

pub(super) fn clear(directory: BorrowedFd<'_>, kept: &str) -> Result<(), Fault> {
    let mut left = limits::DIRECTORY_NAMES;
    clear_tree(directory, kept.as_bytes(), TREE_DEPTH, &mut left)
}

/// Names are bytes here: whoever made them chose them.
fn clear_tree(directory: BorrowedFd<'_>, kept: &[u8], depth: usize, left: &mut usize) -> Result<(), Fault> {
    let mut names: Vec<CString> = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if ![b".".as_slice(), b"..", kept].contains(&name.to_bytes()) && names.len() < *left {
            names.push(name);
        }
    }
    *left -= names.len().min(*left);
    for name in &names {
        // A link is removed, never followed; a directory is not removed so.
        if rustix::fs::unlinkat(directory, name, AtFlags::empty()).is_err() && depth > 0 {
            let _ = open_wide(directory, name).map(|below| clear_tree(below.as_fd(), b"", depth - 1, left));
            let _ = rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR);
        }
    }
    Ok(())
}

/// Opens a directory that is to be emptied, whatever its mode was.
fn open_wide(parent: BorrowedFd<'_>, name: &CString) -> Result<OwnedFd, Fault> {
    let entry = openat2(parent, name, walk::ENTRY | OFlags::DIRECTORY, Mode::empty(), walk::BENEATH)?;
    // A descriptor of this kind has no other way to its mode; it names the directory itself, never a link.
    rustix::fs::chmod(format!("/proc/self/fd/{}", entry.as_raw_fd()), Mode::RWXU)?;
    walk::open_resolved(entry.as_fd(), ".", walk::DIRECTORY, Mode::empty(), walk::BENEATH)
}

pub(super) fn lock(file: BorrowedFd<'_>, wait: Duration) -> Result<Lock, Fault> {
    let own = reopen(file)?;
    let start = Instant::now();
    let mut pause = Duration::from_micros(250);
    loop {
        match flock(&own, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Lock(own)),
            Err(Errno::AGAIN | Errno::INTR) if start.elapsed() < wait => {
                std::thread::sleep(pause.min(wait.saturating_sub(start.elapsed())));
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Err(Errno::AGAIN | Errno::INTR) => return Err(Fault::Locked),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Opens a held file once more. Through its descriptor, so it is the same file whatever its name says now.
fn reopen(file: BorrowedFd<'_>) -> Result<OwnedFd, Fault> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let open = |access| rustix::fs::open(&path, access | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty());
    // Network file systems want write access for an exclusive lock.
    match open(OFlags::RDWR) {
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Ok(open(OFlags::RDONLY)?),
        other => Ok(other?),
    }
}
