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

/// What stops a process, and what a write beyond the file size limit leaves behind: none of them ends anything.
const STOPPING: [i32; 4] = [libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGXFSZ];
/// The word for the real-time signals in the list of what is to be let through.
const REAL_TIME: &str = "rt";

/// The signals, blocked until dropped: all that would end or stop this process or say something of a child, except what
/// nothing can hold back (SIGKILL, SIGSTOP, the faults of the process itself). SIGWINCH is not among them: the terminal
/// tells the whole group.
#[derive(Debug)]
pub struct Forwarding {
    descriptor: SignalFd,
    before: SigSet,
    /// Whether no real-time signal was held back before.
    open_real_time: bool,
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
    /// End (SIGHUP, SIGTERM, and what ends a process that has no use for it: SIGALRM, SIGXCPU, SIGPWR, a real-time one):
    /// what must not be left behind is to be removed now. Its number.
    End(i32),
    /// Anything else: for the host to decide (SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGXFSZ, the stopping ones). Its number.
    Other(i32),
}

impl Forwarding {
    /// Takes them, except those that this process was started to ignore (as `nohup` and background jobs are). Call it
    /// before other threads are started.
    pub fn begin() -> Result<Self, Fault> {
        let taken = signals::everything();
        let open_real_time = !signals::holds_back_real_time();
        let before = taken.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let descriptor = SignalFd::with_flags(&taken, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
        Ok(Self { descriptor, before, open_real_time, asked: AtomicI32::new(0) })
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
        let signal = match number {
            libc::SIGCHLD => HostSignal::Child,
            libc::SIGCONT => HostSignal::Continue,
            _ if ends(number) || STOPPING.contains(&number) => HostSignal::Other(number),
            // A real-time one cannot be left out by its number alone.
            _ if signals::is_ignored(number) => HostSignal::Continue,
            _ => HostSignal::End(number),
        };
        // What a process sends has a code of zero or less.
        Ok(Some(Notice { signal, from_kernel: read.ssi_code > 0 }))
    }

    /// The signal that ends this process, if one has come: any but those that stop it, let it go on or tell of a child.
    /// For the time before there is somebody to pass signals on to: takes what has come until now, and remembers the answer.
    pub fn asked_to_end(&self) -> Option<i32> {
        while let Ok(Some(notice)) = self.waiting() {
            let number = match notice.signal {
                HostSignal::End(number) => number,
                HostSignal::Other(number) if ends(number) => number,
                _ => continue,
            };
            let _ = self.asked.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
        }
        Some(self.asked.load(Ordering::SeqCst)).filter(|number| *number != 0)
    }

    /// The signals that this process was started without holding back, by their numbers: what a program that it starts
    /// must let through again ([`let_through`]). The real-time ones together, where none of them was held back.
    pub(super) fn to_let_through(&self) -> String {
        let held = |signal: Signal| self.before.contains(signal) && !signals::is_held_back_by_us(signal);
        let open = Signal::iterator().filter(|signal| !held(*signal));
        let numbers = open.map(|signal| (signal as i32).to_string());
        numbers.chain(self.open_real_time.then(|| REAL_TIME.to_owned())).collect::<Vec<_>>().join(",")
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

/// Whether what is otherwise the host's to decide ends this process while there is no host.
fn ends(number: i32) -> bool {
    [libc::SIGINT, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2].contains(&number)
}

/// Lets these signals through, by the list that [`Forwarding`] gives. For a process that is about to become a program: the
/// launcher itself never lets one through, in no thread, so that none can end it between two steps.
pub(super) fn let_through(list: &str) -> Result<(), Fault> {
    let mut set = SigSet::empty();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        if word == REAL_TIME {
            // By themselves: a union of two sets keeps only the signals that have a name.
            signals::real_time().thread_unblock()?;
        } else {
            let number: i32 = word.parse().map_err(|_| Fault::WrongKind)?;
            set.add(Signal::try_from(number)?);
        }
    }
    Ok(set.thread_unblock()?)
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
