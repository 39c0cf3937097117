//! Signals without handlers: what must not end this process at once is blocked, and waited for where somebody acts on it.
//!
//! A blocked signal interrupts nothing, so no call fails halfway and no code runs in between. The mask is inherited by
//! threads and by programs that are started: a worker is ended by SIGKILL alone, and a host is started with the mask that
//! this process was started with.

use crate::system::Fault;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The signals that end a server: the terminal went, the person pressed Control-C, somebody asked.
const ENDING: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];
/// What is never held back: the kernel's word about a mistake of this very process, which cannot go on after it.
const FAULTS: [Signal; 7] =
    [Signal::SIGSEGV, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGTRAP, Signal::SIGABRT, Signal::SIGSYS];
/// What does nothing to a process that does not ask for it.
const HARMLESS: [Signal; 2] = [Signal::SIGWINCH, Signal::SIGURG];
/// The first real-time signal, as the kernel counts them.
const REAL_TIME: u32 = 32;
/// Added to a signal's number, it is the exit status of a process that ended because of it, as shells have it.
const STATUS: u8 = 128;

/// A write beyond the file size limit becomes an error value (EFBIG) instead of the end of the process. Call it before
/// other threads are started.
pub fn survive_file_size_limit() -> Result<(), Fault> {
    let before = file_size_limit().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    FILE_SIZE_HELD_BACK.store(!before.contains(Signal::SIGXFSZ), Ordering::SeqCst);
    Ok(())
}

/// Whether [`survive_file_size_limit`] holds back what this process was started to let through.
static FILE_SIZE_HELD_BACK: AtomicBool = AtomicBool::new(false);

/// Whether this process holds back a signal from its beginning on that it was started to let through.
pub(super) fn is_held_back_by_us(signal: Signal) -> bool {
    signal == Signal::SIGXFSZ && FILE_SIZE_HELD_BACK.load(Ordering::SeqCst)
}

/// Undoes [`survive_file_size_limit`] for this thread, so that a program it starts gets the usual mask. Only for a thread
/// that has written no file: a signal that waits would be delivered.
pub(super) fn usual_file_size_limit() -> Result<(), Fault> {
    Ok(file_size_limit().thread_unblock()?)
}

fn file_size_limit() -> SigSet {
    SigSet::from_iter([Signal::SIGXFSZ])
}

/// SIGHUP, SIGINT and SIGTERM, blocked: they wait until somebody asks for them.
#[derive(Clone, Copy, Debug)]
pub struct EndSignals(SigSet);

impl EndSignals {
    /// Blocks them, except those that this process was started to ignore (as `nohup` and background jobs are). Call it
    /// before other threads are started.
    pub fn block() -> Result<Self, Fault> {
        let ignored = ignored_mask();
        let set: SigSet = ENDING.into_iter().filter(|signal| !is_in(ignored, *signal)).collect();
        set.thread_block()?;
        Ok(Self(set))
    }

    /// Waits for one of them and gives the exit status that says which: 129, 130 or 143. Waits for ever if all of them
    /// are ignored.
    pub fn wait(&self) -> u8 {
        loop {
            if self.0.iter().next().is_none() {
                std::thread::park();
            } else if let Ok(signal) = self.0.wait() {
                return u8::try_from(signal as i32).map_or(STATUS, |number| STATUS.saturating_add(number));
            }
        }
    }
}

/// What would end or stop this process while it must not, blocked until dropped. Readable while one of them waits; none is
/// taken, so that it takes effect when they are let through again.
#[derive(Debug)]
pub(super) struct HeldBack {
    before: SigSet,
    waiting: SignalFd,
}

impl HeldBack {
    pub(super) fn begin() -> Result<Self, Fault> {
        // With SIGTTIN and SIGTTOU: a terminal that this process lost would stop it in the middle.
        let all = everything();
        let mut ends = all;
        // These end nothing; SIGXFSZ waits already where a write failed because of it.
        for signal in [Signal::SIGTTIN, Signal::SIGTTOU, Signal::SIGCHLD, Signal::SIGCONT, Signal::SIGXFSZ] {
            ends.remove(signal);
        }
        let before = all.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        match SignalFd::with_flags(&ends, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK) {
            Ok(waiting) => Ok(Self { before, waiting }),
            Err(errno) => {
                let _ = before.thread_set_mask();
                Err(errno.into())
            }
        }
    }
}

impl AsFd for HeldBack {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waiting.as_fd()
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}

/// Ends this process after a time, wherever its other threads are: for a server that was told to end and is kept by
/// somebody who does not read its output.
pub fn exit_after(time: Duration, status: u8) -> ! {
    std::thread::sleep(time);
    std::process::exit(i32::from(status))
}

/// Every signal that can be held back and would do something, real-time ones included, except those that this process was
/// started to ignore.
pub(super) fn everything() -> SigSet {
    let ignored = ignored_mask();
    let mut all = SigSet::all();
    for signal in Signal::iterator() {
        if FAULTS.contains(&signal) || HARMLESS.contains(&signal) || is_in(ignored, signal) {
            all.remove(signal);
        }
    }
    all
}

/// The real-time signals, all of them.
pub(super) fn real_time() -> SigSet {
    let mut all = SigSet::all();
    Signal::iterator().for_each(|signal| all.remove(signal));
    all
}

/// Whether this thread holds back a real-time signal.
pub(super) fn holds_back_real_time() -> bool {
    mask("SigBlk:") >> REAL_TIME != 0
}

/// Whether this process was started to ignore the signal of this number.
pub(super) fn is_ignored(number: i32) -> bool {
    is_number_in(ignored_mask(), number)
}

/// The signals that this process ignores, bit by bit; none if the kernel does not say.
fn ignored_mask() -> u64 {
    mask("SigIgn:")
}

fn mask(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn is_in(mask: u64, signal: Signal) -> bool {
    is_number_in(mask, signal as i32)
}

fn is_number_in(mask: u64, number: i32) -> bool {
    u32::try_from(number - 1).ok().and_then(|bit| mask.checked_shr(bit)).is_some_and(|rest| rest & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_mask_is_read_bit_by_bit() {
        assert!(is_in(1, Signal::SIGHUP) && is_in(0b10, Signal::SIGINT) && is_in(1 << 14, Signal::SIGTERM));
        assert!(!is_in(0, Signal::SIGHUP) && !is_in(!(1 << 14), Signal::SIGTERM));
        // Rust's start code ignores SIGPIPE in every program.
        assert!(is_in(ignored_mask(), Signal::SIGPIPE));
    }
}
