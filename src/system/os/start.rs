//! What a broker process does to itself before anything else, and whether this kernel is good enough.
//!
//! Rust's start code has already set SIGPIPE to ignored (a closed pipe is an error value, not a signal) and opened
//! `/dev/null` where one of the descriptors 0 to 2 was closed; [`reopen_standard_streams`] makes sure of the second for
//! programs whose `main` is not Rust's.

use super::walk;
use crate::system::Fault;
use landlock::{LandlockStatus, RestrictSelf};
use rustix::fd::{BorrowedFd, IntoRawFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Marks every descriptor above 2 close-on-exec, so that nothing that was inherited is passed on.
pub fn set_cloexec_everywhere() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// Opens `/dev/null` on each of the descriptors 0 to 2 that is closed, so that no later open becomes one of them.
pub fn reopen_standard_streams() -> Result<(), Fault> {
    let streams: [BorrowedFd<'static>; 3] = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
    for stream in streams {
        if rustix::io::fcntl_getfd(stream) == Err(Errno::BADF) {
            // The kernel gives the lowest free number, and lower ones are taken by now. It stays open for good.
            let _ = rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())?.into_raw_fd();
        }
    }
    Ok(())
}

/// Other processes of the same user may not trace this one or read its memory, and it leaves no core file.
pub fn not_dumpable() -> Result<(), Fault> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// No core file, by limit as well.
pub fn no_core() -> Result<(), Fault> {
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// Nobody else may read or write what this process, and what it starts, makes from now on: umask 077.
pub fn keep_new_files_private() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// The Landlock ABI of this kernel, or [`Fault::Unsupported`] naming what it lacks: `openat2` (Linux 5.6) or `Landlock`
/// (Linux 5.13, and enabled at boot).
pub fn check_platform() -> Result<u32, Fault> {
    walk::open_resolved(CWD, "/", walk::ENTRY | OFlags::DIRECTORY, Mode::empty(), walk::NO_LINKS)?;
    match landlock_abi() {
        0 => Err(Fault::Unsupported("Landlock")),
        abi => Ok(abi),
    }
}

/// The Landlock ABI that this kernel and this program both know; 0 if there is none.
pub(super) fn landlock_abi() -> u32 {
    // With no flag asked for this restricts nothing; it is the way to learn the version without a raw call.
    match RestrictSelf::default().no_new_privs(false).apply().map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => effective_abi as u32,
        _ => 0,
    }
}
