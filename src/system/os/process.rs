//! Running one delegated runtime process: start, talk, bound, end, reap. Never passes on an environment, a terminal or a
//! descriptor that is not named here, never sends anything before READY, and never leaves a process behind.
//!
//! The program is `/proc/self/exe`: the kernel's own reference to the file that this process runs. It is pinned as
//! firmly as a descriptor opened at start (neither is a path that is looked up again, both survive renaming and removal)
//! and needs no number kept free of close-on-exec.

use super::child::OwnedChild;
use super::wire::{Dialogue, Errors, Output, send_programs};
use super::{Directory, File, OsSystem};
use crate::foundation::limits;
use crate::system::{ChildFault, ChildOrder, ChildReport, Enforcement, Fault, PinKind, Program};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a cancellation is looked for.
const TICK: Duration = Duration::from_millis(20);

/// A started process and the broker's ends of its wire. On every way out it is ended and reaped as it goes out of scope.
/// It is owned by one thread, because its parent-death signal is bound to that thread.
pub struct Standby {
    child: OwnedChild,
    socket: OwnedFd,
    output: OwnedFd,
    errors: OwnedFd,
}

/// An embedded process that is given nothing yet, and no directory.
pub(super) fn stand_by() -> Result<Standby, Fault> {
    start(Program::Embedded, None)
}

/// The time of the order begins now: how long a process has stood by does not count.
pub(super) fn run_by(
    process: Option<Standby>,
    order: &ChildOrder<'_, OsSystem>,
    meanwhile: impl FnOnce(),
) -> Result<ChildReport, ChildFault> {
    let deadline = Instant::now() + order.deadline;
    if order.request.len() > limits::RUNTIME_REQUEST_BYTES || order.input.len() > limits::RUNTIME_INPUT_BYTES {
        return Err(ChildFault::NotStarted(Fault::TooLarge));
    }
    if order.cancel.is_set() {
        return Err(ChildFault::Cancelled);
    }
    let fits = matches!(order.program, Program::Embedded) && order.directory.is_none();
    let process = match process {
        Some(_) if !fits => Err(Fault::WrongKind),
        Some(process) => Ok(process),
        None => start(order.program, order.directory),
    };
    let Standby { child, socket, output, errors } = process.map_err(ChildFault::NotStarted)?;
    let mut exchange = Exchange {
        dialogue: Dialogue::new(socket, order),
        output: Output::new(output, order.output_limit),
        errors: Errors::new(errors),
        pin: order.program.pin(),
    };
    // One that stood by may take its order at once.
    exchange.advance()?;
    meanwhile();
    while !exchange.wait(&child, deadline)? {
        if order.cancel.is_set() {
            return Err(ChildFault::Cancelled);
        }
        exchange.advance()?;
    }
    // Only what is in the pipes already: a descendant might hold them open.
    exchange.advance()?;
    let status = child.reap().map_err(ChildFault::NotStarted)?;
    exchange.report(status, order.sealed.is_some())
}

fn start(program: Program<'_, File, Directory>, directory: Option<&Directory>) -> Result<Standby, Fault> {
    let (socket, child_socket) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let (output, child_output) = pipe_with(PipeFlags::CLOEXEC)?;
    let (errors, child_errors) = pipe_with(PipeFlags::CLOEXEC)?;
    for end in [&socket, &output, &errors] {
        fcntl_setfl(end, OFlags::NONBLOCK)?;
    }
    let flag = match program {
        Program::Embedded => "--runtime-worker",
        Program::External(external) => {
            send_programs(&socket, external)?;
            "--external-shim"
        }
    };
    let here = directory.map(|directory| format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd()));
    let child = Command::new("/proc/self/exe")
        .arg0("kdna-broker")
        .arg(flag)
        .env_clear()
        .current_dir(here.as_deref().unwrap_or("/"))
        .stdin(Stdio::from(child_socket))
        .stdout(Stdio::from(child_output))
        .stderr(Stdio::from(child_errors))
        .spawn()?;
    Ok(Standby { child: OwnedChild::new(child)?, socket, output, errors })
}

struct Exchange<'a> {
    dialogue: Dialogue<'a>,
    output: Output,
    errors: Errors,
    pin: PinKind,
}

impl Exchange<'_> {
    /// Waits until there is something to do, at most a tick. `true` when the child has ended.
    fn wait(&self, child: &OwnedChild, deadline: Instant) -> Result<bool, ChildFault> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ChildFault::Deadline);
        }
        let mut watched = vec![PollFd::from_borrowed_fd(child.descriptor(), PollFlags::IN)];
        watched.extend(self.dialogue.watched());
        watched.extend(self.output.watched());
        watched.extend(self.errors.watched());
        let time = left.min(TICK);
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut watched, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(ChildFault::NotStarted(errno.into())),
        }
        Ok(watched.first().is_some_and(|child| child.revents().contains(PollFlags::IN)))
    }

    /// Does all that can be done without waiting.
    fn advance(&mut self) -> Result<(), ChildFault> {
        self.errors.advance();
        self.output.advance()?;
        self.dialogue.advance()
    }

    fn report(self, status: ExitStatus, sealed: bool) -> Result<ChildReport, ChildFault> {
        if let Some(signal) = status.signal() {
            return Err(ChildFault::Signal(signal));
        }
        let level = self.dialogue.level().ok_or(ChildFault::Sandbox("no-ready"))?;
        Ok(ChildReport {
            exit: status.code().ok_or(ChildFault::Sandbox("no-ready"))?,
            enforcement: Enforcement {
                landlock: level.landlock,
                seccomp: level.seccomp,
                sealed,
                pin: self.pin,
                secret_locked: None,
            },
            output: self.output.bytes(),
            errors: self.errors.bytes(),
        })
    }
}
