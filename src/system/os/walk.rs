//! Opens by path, with the rules named to the kernel: openat2 outside the sandbox, a walk of single components inside.
//!
//! Neither follows a link, obeys `..` or, beneath a held directory, crosses a mount. Outside, a kernel without openat2 is
//! an error, never a reason to walk; the walk exists because the sandbox's call filter cannot judge openat2.

use crate::foundation::path::RelativePath;
use crate::system::{Facts, Fault, Identity, Kind};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Statx, StatxFlags, openat, openat2, statx};
use rustix::io::Errno;

/// How a directory is held.
pub(super) const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
/// How a file is opened for reading: at once, whatever it is.
pub(super) const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);
/// How an entry is held only to be looked at.
pub(super) const ENTRY: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// No symbolic link, no magic link.
pub(super) const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
/// As [`NO_LINKS`], and never above the directory started from.
pub(super) const INSIDE: ResolveFlags = NO_LINKS.union(ResolveFlags::BENEATH);
/// As [`INSIDE`], and on the same mount.
pub(super) const BENEATH: ResolveFlags = INSIDE.union(ResolveFlags::NO_XDEV);

/// The kernel asks for another try when a rename ran meanwhile; somebody who renames in a loop is refused.
const ATTEMPTS: usize = 64;

/// Opens under resolve rules. [`Fault::Changed`] if renames keep getting in the way.
pub(super) fn open_resolved(
    base: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    mode: Mode,
    resolve: ResolveFlags,
) -> Result<OwnedFd, Fault> {
    for _ in 0..ATTEMPTS {
        match openat2(base, path, flags, mode, resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(Errno::NOSYS) => return Err(Fault::Unsupported("openat2")),
            // A call filter around the broker says EPERM; a write open of an immutable file does too.
            Err(Errno::PERM) if !flags.intersects(OFlags::RWMODE) => return Err(Fault::Unsupported("openat2")),
            other => return Ok(other?),
        }
    }
    Err(Fault::Changed)
}

/// Opens beneath a held directory, one component at a time, with plain openat; all of them on `mount`, if one is given.
/// Also gives what was seen of the last one where its mount was judged: the facts come with the same call.
pub(super) fn open_stepwise(
    base: BorrowedFd<'_>,
    path: &RelativePath,
    flags: OFlags,
    mount: Option<u64>,
) -> Result<(OwnedFd, Option<Facts>), Fault> {
    let mut held = None;
    let mut seen = None;
    let mut parts = path.components().peekable();
    if parts.peek().is_none() {
        return Ok((openat(base, ".", flags, Mode::empty())?, None));
    }
    while let Some(part) = parts.next() {
        let directory = held.as_ref().map_or(base, OwnedFd::as_fd);
        let last = parts.peek().is_none();
        let next = open_component(directory, part, if last { flags } else { DIRECTORY | OFlags::PATH })?;
        if let Some(mount) = mount {
            let found = look_into(next.as_fd(), StatxFlags::BASIC_STATS | StatxFlags::MNT_ID)?;
            if mount_in(&found)? != mount {
                return Err(Fault::Escapes);
            }
            seen = Some(facts(&found));
        }
        held = Some(next);
    }
    held.map(|held| (held, seen)).ok_or(Fault::NotFound)
}

fn open_component(directory: BorrowedFd<'_>, part: &str, flags: OFlags) -> Result<OwnedFd, Fault> {
    if part == ".." || part.contains('/') {
        return Err(Fault::Escapes);
    }
    match rustix::io::retry_on_intr(|| openat(directory, part, flags | OFlags::NOFOLLOW, Mode::empty())) {
        // With O_DIRECTORY the kernel calls a link "not a directory"; tell the two apart.
        Err(Errno::NOTDIR) => Err(link_or_wrong_kind(directory, part)),
        other => Ok(other?),
    }
}

/// What stands in the way of a directory open: a link, or a file.
pub(super) fn link_or_wrong_kind(directory: BorrowedFd<'_>, name: &str) -> Fault {
    match look_at(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(Facts { kind: Kind::Link, .. }) => Fault::Link,
        _ => Fault::WrongKind,
    }
}

/// The mount that a descriptor lies on. Device numbers do not tell: a bind mount keeps them.
pub(super) fn mount_of(held: BorrowedFd<'_>) -> Result<u64, Fault> {
    mount_in(&look_into(held, StatxFlags::MNT_ID)?)
}

fn look_into(held: BorrowedFd<'_>, wanted: StatxFlags) -> Result<Statx, Fault> {
    Ok(rustix::io::retry_on_intr(|| statx(held, "", AtFlags::EMPTY_PATH, wanted))?)
}

fn mount_in(found: &Statx) -> Result<u64, Fault> {
    if found.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
        return Err(Fault::Unsupported("statx mount identifiers"));
    }
    Ok(found.stx_mnt_id)
}

/// The facts of a descriptor.
pub(super) fn facts_of(held: BorrowedFd<'_>) -> Result<Facts, Fault> {
    look_at(held, "", AtFlags::EMPTY_PATH)
}

/// The facts of a name.
pub(super) fn look_at(base: BorrowedFd<'_>, path: &str, flags: AtFlags) -> Result<Facts, Fault> {
    let found = rustix::io::retry_on_intr(|| statx(base, path, flags, StatxFlags::BASIC_STATS))?;
    Ok(facts(&found))
}

fn facts(found: &Statx) -> Facts {
    let mode = u32::from(found.stx_mode);
    let kind = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Kind::Regular,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    };
    let nanoseconds = |seconds: i64, rest: u32| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Facts {
        identity: Identity {
            device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
        },
        kind,
        mode: mode & 0o7777,
        owner: found.stx_uid,
        links: u64::from(found.stx_nlink),
        size: found.stx_size,
        modified: nanoseconds(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
        changed: nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
    }
}
