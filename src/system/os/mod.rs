//! The real operating system: Linux through safe calls only.
//!
//! [`OsSystem`] implements [`Observe`] and [`System`]; the pieces live in one file each. Nothing here decides whether
//! something is allowed, keeps a path for later, or falls back to a weaker call when a strong one is missing.

pub mod ancestry;
mod child;
pub mod confine;
pub mod external;
mod fault;
pub mod file_system;
pub mod forward;
pub mod hidden;
pub mod host_process;
mod observe;
mod process;
pub mod pty;
pub mod scratch;
mod seal;
mod seccomp;
pub mod signals;
pub mod start;
mod store;
pub mod streams;
mod terminal;
mod walk;
mod wire;
pub mod worker_io;

use super::{Ancestor, ChildFault, ChildOrder, ChildReport, Fault, NoTerminal, System};
use crate::foundation::digest::Digest;
use crate::foundation::time::Timestamp;
use cap_std::fs::Dir;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::rand::GetRandomFlags;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use process::Standby;
pub use rustix::fd::OwnedFd as Inherited;
pub use seal::Sealed;
pub use store::Lock;

/// The operating system. Holds nothing; cheap to copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsSystem {
    confined: bool,
}

/// A held directory.
///
/// `cap_std::fs::Dir` is the type that says "a capability", but its own opens follow links inside the directory, so
/// no path is ever resolved through it: every open here names its own rules to the kernel.
#[derive(Clone)]
pub struct Directory(Arc<Held>);

struct Held {
    directory: Dir,
    /// The mount that it lies on, once that was asked: a descriptor stays on its mount.
    mount: OnceLock<u64>,
}

/// A held file.
pub struct File(OwnedFd);

impl OsSystem {
    /// The system as the broker sees it.
    pub const fn new() -> Self {
        Self { confined: false }
    }

    /// The system as the sandboxed worker sees it. There the call filter refuses openat2, whose flags it cannot look at,
    /// so paths are walked one component at a time with the same refusals: links, `..`, other mounts.
    pub const fn confined() -> Self {
        Self { confined: true }
    }

    /// The directory that this process was started in: what the worker may read beneath.
    pub fn start_directory(&self) -> Result<Directory, Fault> {
        let flags = walk::DIRECTORY;
        let opened = rustix::fs::openat(rustix::fs::CWD, ".", flags, rustix::fs::Mode::empty())?;
        Ok(Directory::new(opened))
    }
}

impl Directory {
    fn new(opened: OwnedFd) -> Self {
        let directory = Dir::from_std_file(std::fs::File::from(opened));
        Self(Arc::new(Held { directory, mount: OnceLock::new() }))
    }

    fn mount(&self) -> Result<u64, Fault> {
        if let Some(mount) = self.0.mount.get() {
            return Ok(*mount);
        }
        let mount = walk::mount_of(self.as_fd())?;
        Ok(*self.0.mount.get_or_init(|| mount))
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.directory.as_fd()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl System for OsSystem {
    type Sealed = Sealed;
    type Lock = Lock;
    type Standby = Standby;

    fn make_directory(&self, parent: &Directory, name: &str, mode: u32) -> Result<(), Fault> {
        store::make_directory(parent.as_fd(), name, mode)
    }
    fn create_file(&self, directory: &Directory, name: &str, mode: u32) -> Result<File, Fault> {
        store::create_file(directory.as_fd(), name, mode).map(File)
    }
    fn open_append(&self, directory: &Directory, name: &str, mode: u32) -> Result<File, Fault> {
        store::open_append(directory.as_fd(), name, mode).map(File)
    }
    fn write(&self, file: &File, bytes: &[u8]) -> Result<(), Fault> {
        store::write_all(file.as_fd(), bytes)
    }
    fn truncate(&self, file: &File, length: u64) -> Result<(), Fault> {
        Ok(rustix::io::retry_on_intr(|| rustix::fs::ftruncate(file, length))?)
    }
    fn sync_file(&self, file: &File) -> Result<(), Fault> {
        Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(file))?)
    }
    fn sync_directory(&self, directory: &Directory) -> Result<(), Fault> {
        Ok(rustix::io::retry_on_intr(|| rustix::fs::fsync(directory))?)
    }
    fn set_directory_mode(&self, directory: &Directory, mode: u32) -> Result<(), Fault> {
        store::set_mode(directory.as_fd(), mode)
    }
    fn rename(&self, directory: &Directory, from: &str, to: &str) -> Result<(), Fault> {
        store::rename(directory.as_fd(), from, to)
    }
    fn link(&self, directory: &Directory, from: &str, to: &str) -> Result<(), Fault> {
        store::link(directory.as_fd(), from, to)
    }
    fn link_across(&self, directory: &Directory, from: &str, target: &Directory, to: &str) -> Result<(), Fault> {
        store::link_across(directory.as_fd(), from, target.as_fd(), to)
    }
    fn remove_directory(&self, parent: &Directory, name: &str) -> Result<(), Fault> {
        store::remove_directory(parent.as_fd(), name)
    }
    fn remove(&self, directory: &Directory, name: &str) -> Result<(), Fault> {
        store::remove(directory.as_fd(), name)
    }
    fn list(&self, directory: &Directory) -> Result<Vec<String>, Fault> {
        store::list(directory.as_fd())
    }
    fn list_own(&self, directory: &Directory, beginning: &str) -> Result<Vec<String>, Fault> {
        store::list_own(directory.as_fd(), beginning)
    }
    fn clear(&self, directory: &Directory, kept: &str) -> Result<(), Fault> {
        store::clear(directory.as_fd(), kept)
    }
    fn lock(&self, file: &File, wait: Duration) -> Result<Lock, Fault> {
        store::lock(file.as_fd(), wait)
    }

    fn seal(&self, file: &File, limit: u64) -> Result<(Sealed, Digest), Fault> {
        seal::seal(file.as_fd(), limit)
    }
    fn seal_bytes(&self, bytes: &[u8]) -> Result<Sealed, Fault> {
        seal::seal_bytes(bytes)
    }
    fn stand_by(&self) -> Result<Standby, Fault> {
        process::stand_by()
    }
    fn run_by(
        &self,
        process: Option<Standby>,
        order: &ChildOrder<'_, Self>,
        meanwhile: impl FnOnce(),
    ) -> Result<ChildReport, ChildFault> {
        process::run_by(process, order, meanwhile)
    }

    fn ask(&self, question: &str) -> Result<String, NoTerminal> {
        terminal::ask(question)
    }
    fn ask_secret(&self, question: &str, answer: &mut [u8]) -> Result<Option<usize>, NoTerminal> {
        terminal::ask_secret(question, answer)
    }
    fn window(&self) -> Option<(u16, u16)> {
        terminal::window()
    }
    fn ancestors(&self) -> Result<Vec<Ancestor>, Fault> {
        ancestry::ancestors()
    }
    fn session(&self) -> u32 {
        // Where the session was begun outside of this PID namespace it has the number 0, for which rustix has no value.
        nix::unistd::getsid(None).ok().and_then(|session| u32::try_from(session.as_raw()).ok()).unwrap_or(0)
    }
    fn random(&self, buffer: &mut [u8]) -> Result<(), Fault> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += rustix::io::retry_on_intr(|| rustix::rand::getrandom(&mut *rest, GetRandomFlags::empty()))?;
        }
        Ok(())
    }
    fn now(&self) -> Timestamp {
        let time = clock_gettime(ClockId::Realtime);
        Timestamp::from_milliseconds(time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000))
    }
    fn monotonic(&self) -> Duration {
        duration(clock_gettime(ClockId::Monotonic))
    }
}

fn duration(time: Timespec) -> Duration {
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
