//! A started process that cannot be forgotten: it is reaped when asked for, and ended and reaped when dropped.

use crate::system::Fault;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, pidfd_send_signal, waitid,
};
use std::process::{Child, ExitStatus};

/// A child of the thread that started it.
pub(super) struct OwnedChild {
    child: Child,
    group: Pid,
    descriptor: OwnedFd,
    reaped: bool,
}

impl OwnedChild {
    /// Takes a process over; ends it if it cannot be held.
    pub(super) fn new(mut child: Child) -> Result<Self, Fault> {
        let group = Pid::from_child(&child);
        // The number cannot have been given to another process: nobody has reaped this one.
        match pidfd_open(group, PidfdFlags::empty()) {
            Ok(descriptor) => Ok(Self { child, group, descriptor, reaped: false }),
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(errno.into())
            }
        }
    }

    /// Readable when the process has ended.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Waits for the end.
    pub(super) fn reap(mut self) -> Result<ExitStatus, Fault> {
        Ok(self.finish()?)
    }

    /// Whoever is left in its group is ended while the number is still its own, and only then is it given back.
    fn finish(&mut self) -> std::io::Result<ExitStatus> {
        self.reaped = true;
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if retry_on_intr(|| waitid(WaitId::PidFd(self.descriptor.as_fd()), ended)).is_ok() {
            let _ = kill_process_group(self.group, Signal::KILL);
        }
        self.child.wait()
    }
}

impl Drop for OwnedChild {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
            let _ = self.finish();
        }
    }
}
