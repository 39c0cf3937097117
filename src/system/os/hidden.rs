//! A question whose answer is not shown: for a password. The answer goes straight into the caller's buffer, the terminal's
//! settings are put back on every path, and a signal that is taken ([`Forwarding`]) ends the wait.

use super::forward::Forwarding;
use super::store;
use super::terminal::Asking;
use crate::system::{Fault, NoTerminal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenAnswer {
    /// A whole line; so many bytes of the buffer, its line end included.
    Line(usize),
    /// Control-C, end of input, a line that is too long, or the terminal went away.
    Cancelled,
    /// A signal came, and waits to be read.
    Interrupted,
}

/// Asks on the controlling terminal. What was typed before the question was shown is thrown away.
pub fn ask_hidden(question: &str, buffer: &mut [u8], signals: &Forwarding) -> Result<HiddenAnswer, NoTerminal> {
    let terminal = Asking::begin()?;
    terminal.hide()?;
    let device = terminal.device();
    tcflush(device, QueueSelector::IFlush).map_err(|_| NoTerminal)?;
    store::write_all(device, question.as_bytes()).map_err(|_| NoTerminal)?;
    let answer = match signals.readable(device) {
        Ok(true) => line(rustix::io::retry_on_intr(|| rustix::io::read(device, &mut *buffer)), buffer),
        Ok(false) => HiddenAnswer::Interrupted,
        Err(_) => return Err(NoTerminal),
    };
    let _ = tcflush(device, QueueSelector::IFlush);
    // The key that ended the line was not shown either.
    let _ = store::write_all(device.as_fd(), b"\n");
    Ok(answer)
}

fn line(read: Result<usize, Errno>, buffer: &[u8]) -> HiddenAnswer {
    match read {
        Ok(count) if buffer.get(..count).is_some_and(|line| line.ends_with(b"\n")) => HiddenAnswer::Line(count),
        _ => HiddenAnswer::Cancelled,
    }
}

/// How a source was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filled {
    /// To its end; so many bytes.
    Whole(usize),
    /// It holds more than the buffer.
    TooMuch,
    /// A signal came, and waits to be read.
    Interrupted,
}

/// Reads a pipe or file to its end, straight into a buffer; never allocates, so that a secret is in one place only.
pub fn fill_from(source: impl AsFd, buffer: &mut [u8], signals: &Forwarding) -> Result<Filled, Fault> {
    let mut filled = 0;
    let mut beyond = [0; 1];
    loop {
        let rest = buffer.get_mut(filled..).filter(|rest| !rest.is_empty());
        let full = rest.is_none();
        if !signals.readable(source.as_fd())? {
            return Ok(Filled::Interrupted);
        }
        let target = rest.unwrap_or(&mut beyond);
        match rustix::io::retry_on_intr(|| rustix::io::read(&source, &mut *target))? {
            0 => return Ok(Filled::Whole(filled)),
            _ if full => return Ok(Filled::TooMuch),
            count => filled += count,
        }
    }
}

/// Opens a descriptor that this process was started with once more, for reading. [`Fault::WrongKind`] for the standard
/// streams and for a terminal, which would show what is typed.
pub fn inherited(number: u32) -> Result<OwnedFd, Fault> {
    let opened = match number {
        0..=2 => return Err(Fault::WrongKind),
        _ => rustix::fs::open(format!("/proc/self/fd/{number}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?,
    };
    if rustix::termios::isatty(&opened) { Err(Fault::WrongKind) } else { Ok(opened) }
}
