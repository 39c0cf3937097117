//! The signals of a process that stands before another one: none of them ends it by surprise, each can be passed on, and
//! it stops, goes on and ends as the other one does. Without handlers: the signals are blocked and read one by one.

use super::signals;
use crate::system::Fault;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::{Errno, retry_on_intr};
use std::sync::atomic::{AtomicI32, Ordering};

/// What is taken instead of being acted on. SIGWINCH is not among them: the terminal tells the whole group.
const TAKEN: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGTSTP,
    Signal::SIGCONT,
    Signal::SIGCHLD,
];

/// The signals, blocked until dropped.
#[derive(Debug)]
pub struct Forwarding {
    descriptor: SignalFd,
    before: SigSet,
    /// The signal that asked for the end before there was somebody to pass it on to; 0 for none.
    asked: AtomicI32,
}

/// One signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which one.
    pub signal: HostSignal,
    /// Whether the kernel sent it: a key or the end of the terminal, of which the whole group in the foreground is told.
    pub from_kernel: bool,
}

/// The signals that count, by what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSignal {
    /// A child ended, stopped or went on.
    Child,
    /// Go on (SIGCONT).
    Continue,
    /// End (SIGHUP, SIGTERM): what must not be left behind is to be removed now. Its number.
    End(i32),
    /// Anything else. Its number.
    Other(i32),
}

impl Forwarding {
    /// Takes them, except those that this process was started to ignore (as `nohup` and background jobs are). Call it
    /// before other threads are started.
    pub fn begin() -> Result<Self, Fault> {
        let taken: SigSet = TAKEN.into_iter().filter(|signal| !signals::is_ignored(*signal)).collect();
        let before = taken.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let descriptor = SignalFd::with_flags(&taken, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { descriptor, before, asked: AtomicI32::new(0) })
    }

    /// The next signal; waits for one.
    pub fn next(&self) -> Result<Notice, Fault> {
        loop {
            if let Some(notice) = self.waiting()? {
                return Ok(notice);
            }
            retry_on_intr(|| poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], None))?;
        }
    }

    /// The next signal that has come already.
    pub fn waiting(&self) -> Result<Option<Notice>, Fault> {
        let Some(read) = self.descriptor.read_signal()? else { return Ok(None) };
        let number = i32::try_from(read.ssi_signo).map_err(|_| Fault::WrongKind)?;
        let signal = match Signal::try_from(number)? {
            Signal::SIGCHLD => HostSignal::Child,
            Signal::SIGCONT => HostSignal::Continue,
            Signal::SIGHUP | Signal::SIGTERM => HostSignal::End(number),
            _ => HostSignal::Other(number),
        };
        // What a process sends has a code of zero or less.
        Ok(Some(Notice { signal, from_kernel: read.ssi_code > 0 }))
    }

    /// The signal that ends this process, if one has come: SIGHUP, SIGINT, SIGQUIT or SIGTERM. For the time before there
    /// is somebody to pass signals on to: takes what has come until now, and remembers the answer.
    pub fn asked_to_end(&self) -> Option<i32> {
        while let Ok(Some(notice)) = self.waiting() {
            let number = match notice.signal {
                HostSignal::End(number) => number,
                HostSignal::Other(number) if number == libc::SIGINT || number == libc::SIGQUIT => number,
                _ => continue,
            };
            let _ = self.asked.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
        }
        Some(self.asked.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }

    /// The signals that this process was started without holding back, by their numbers: what a program that it starts
    /// must let through again ([`let_through`]).
    pub(super) fn to_let_through(&self) -> String {
        let open = TAKEN.into_iter().chain([Signal::SIGXFSZ]).filter(|signal| !self.before.contains(*signal));
        open.map(|signal| (signal as i32).to_string()).collect::<Vec<_>>().join(",")
    }

    /// Waits until a descriptor can be read (`true`), or somebody asks for the end ([`Forwarding::asked_to_end`]).
    pub(super) fn readable(&self, descriptor: BorrowedFd<'_>) -> Result<bool, Errno> {
        while self.asked_to_end().is_none() {
            let mut watched =
                [PollFd::from_borrowed_fd(descriptor, PollFlags::IN), PollFd::new(&self.descriptor, PollFlags::IN)];
            retry_on_intr(|| poll(&mut watched, None))?;
            let [descriptor, signal] = &watched;
            if signal.revents().is_empty() && !descriptor.revents().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stops this process, as the person's terminal would, until somebody lets it go on. Does nothing where nobody could:
    /// in a group without a shell above it.
    pub fn stop(&self) -> Result<(), Fault> {
        let stop = SigSet::from_iter([Signal::SIGTSTP]);
        // Sent before it is let in: together with one that waits already it is one, and stops this process once.
        kill(nix::unistd::getpid(), Signal::SIGTSTP)?;
        stop.thread_unblock()?;
        Ok(stop.thread_block()?)
    }
}

impl AsFd for Forwarding {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        // What came meanwhile was meant for what has ended; delivered now it would end this process before its own end.
        while let Ok(Some(_)) = self.waiting() {}
        let _ = self.before.thread_set_mask();
    }
}

/// Lets these signals through, by the list that [`Forwarding`] gives. For a process that is about to become a program: the
/// launcher itself never lets one through, in no thread, so that none can end it between two steps.
pub(super) fn let_through(list: &str) -> Result<(), Fault> {
    let signal = |word: &str| Signal::try_from(word.parse::<i32>().ok()?).ok();
    let set: Option<SigSet> = list.split(',').filter(|word| !word.is_empty()).map(signal).collect();
    Ok(set.ok_or(Fault::WrongKind)?.thread_unblock()?)
}

/// Ends this process by the same signal that ended another one, so that whoever waits for it sees the same. Returns where
/// that signal does not end a process; the caller then exits with 128 and its number.
pub fn end_by(number: i32) {
    let Ok(signal) = Signal::try_from(number) else { return };
    let _ = SigSet::from_iter([signal]).thread_unblock();
    // The first one only takes away the handler that reports a stack overflow, where there is one.
    let _ = kill(nix::unistd::getpid(), signal);
    let _ = kill(nix::unistd::getpid(), signal);
}
