//! A question whose answer is not shown: for a password. The answer goes straight into the caller's buffer, the terminal's
//! settings are put back on every path, and a signal that is taken ([`Forwarding`]) ends the wait.

use super::forward::Forwarding;
pub use super::terminal::Line;
use super::terminal::{Asking, Echo, ask_line};
use crate::system::{Fault, NoTerminal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};

/// Asks on the controlling terminal. What was typed before the question was shown is thrown away.
pub fn ask_hidden(question: &str, buffer: &mut [u8], signals: &Forwarding) -> Result<Line, NoTerminal> {
    ask_line(Echo::Hidden, question, buffer, |terminal| Ok(signals.readable(terminal)?))
}

/// Nothing that is typed shows until this is dropped: for the time between two questions whose answers do not show.
pub struct Silence {
    _terminal: Asking,
}

impl Silence {
    /// Begins it; `None` where there is no terminal.
    pub fn begin() -> Option<Self> {
        Asking::begin(Echo::Hidden).ok().map(|terminal| Self { _terminal: terminal })
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
