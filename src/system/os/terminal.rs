//! Asking the person. The question goes to the controlling terminal, never to standard output; what was typed before the
//! question was shown is thrown away; the terminal's settings are put back on every path.
//!
//! A signal that would end or stop the process while the question is open is held back until the settings are put back:
//! there is no handler, it is only blocked, seen, and let through afterwards. Whoever blocked it before still has it.

use super::signals::HeldBack;
use super::store;
use crate::system::{Fault, NoTerminal};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};

/// An answer is read up to here; a longer line is no answer.
const ANSWER: usize = 16;
/// The same for a line that is not shown, in bytes.
const SECRET: usize = 1024;
const CONTROL_C: u8 = 0x03;
const CONTROL_BACKSLASH: u8 = 0x1c;

/// Rows and columns of the controlling terminal, where it tells them.
pub(super) fn window() -> Option<(u16, u16)> {
    let size = tcgetwinsize(open().ok()?).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Asks for a line that shows while it is typed. Empty for anything that is no whole short line.
pub(super) fn ask(question: &str) -> Result<String, NoTerminal> {
    let mut answer = [0; ANSWER + 1];
    let length = ask_held_back(Echo::Shown, question, &mut answer)?.unwrap_or(0);
    Ok(answer.get(..length).and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default().to_owned())
}

/// Asks for a line that does not show. The answer lands in the caller's buffer alone.
pub(super) fn ask_secret(question: &str, answer: &mut [u8]) -> Result<Option<usize>, NoTerminal> {
    let room = answer.len().min(SECRET + 1);
    ask_held_back(Echo::Hidden, question, answer.get_mut(..room).unwrap_or_default())
}

fn ask_held_back(echo: Echo, question: &str, answer: &mut [u8]) -> Result<Option<usize>, NoTerminal> {
    let held = HeldBack::begin().map_err(|_| NoTerminal)?;
    // Signals are let through when this function ends, after the settings were put back.
    let asked = ask_line(echo, question, answer, |terminal| line_comes_first(terminal, &held));
    drop(held);
    Ok(match asked? {
        Line::Whole(length) => Some(length),
        Line::Cancelled | Line::Interrupted => None,
    })
}

/// Whether what is typed shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    Shown,
    Hidden,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A whole line: so many bytes of the buffer, without its end.
    Whole(usize),
    /// Control-C, end of input, a line that does not fit, or the terminal went away.
    Cancelled,
    /// A signal came, and still waits to be taken.
    Interrupted,
}

/// Shows a question and reads one line straight into the buffer. What is left of a long line must not reach the shell as a
/// command. `ready` waits for the terminal to be readable; false if something else came first.
pub(super) fn ask_line(
    echo: Echo,
    question: &str,
    answer: &mut [u8],
    ready: impl FnOnce(BorrowedFd<'_>) -> Result<bool, Fault>,
) -> Result<Line, NoTerminal> {
    let terminal = Asking::begin(echo)?;
    let device = terminal.device.as_fd();
    tcflush(device, QueueSelector::IFlush).map_err(|_| NoTerminal)?;
    store::write_all(device, question.as_bytes()).map_err(|_| NoTerminal)?;
    let line = match ready(device) {
        Ok(true) => read_line(device, answer)?,
        Ok(false) => Line::Interrupted,
        Err(_) => return Err(NoTerminal),
    };
    let _ = tcflush(device, QueueSelector::IFlush);
    Ok(line)
}

fn read_line(device: BorrowedFd<'_>, answer: &mut [u8]) -> Result<Line, NoTerminal> {
    let read = match rustix::io::retry_on_intr(|| rustix::io::read(device, &mut *answer)) {
        Ok(read) => read,
        // The other side of the terminal is gone.
        Err(Errno::IO) => 0,
        Err(_) => return Err(NoTerminal),
    };
    let line = answer.get(..read).and_then(|line| line.strip_suffix(b"\n"));
    Ok(line.map_or(Line::Cancelled, |line| Line::Whole(line.len())))
}

fn line_comes_first(terminal: BorrowedFd<'_>, held: &HeldBack) -> Result<bool, Fault> {
    loop {
        let mut both = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(held, PollFlags::IN)];
        match poll(&mut both, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let [line, signal] = both.map(|one| !one.revents().is_empty());
        if signal || line {
            return Ok(!signal);
        }
    }
}

fn open() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

/// A terminal in line mode, until dropped.
pub(super) struct Asking {
    device: OwnedFd,
    before: Termios,
}

impl Asking {
    pub(super) fn begin(echo: Echo) -> Result<Self, NoTerminal> {
        let device = open().map_err(|_| NoTerminal)?;
        // A background process would be stopped by its first read or change of settings.
        // nix, since a group from outside of this PID namespace is 0: it is refused, as two zeros may be two groups.
        if tcgetpgrp(&device).map_err(|_| NoTerminal)?.as_raw_pid() != nix::unistd::getpgrp().as_raw() {
            return Err(NoTerminal);
        }
        let before = tcgetattr(&device).map_err(|_| NoTerminal)?;
        let asking = Self { device, before };
        tcsetattr(&asking.device, OptionalActions::Now, &line_mode(&asking.before, echo)).map_err(|_| NoTerminal)?;
        Ok(asking)
    }
}

fn line_mode(before: &Termios, echo: Echo) -> Termios {
    let mut lines = before.clone();
    lines.input_modes.insert(InputModes::ICRNL);
    lines.input_modes.remove(InputModes::IGNCR | InputModes::INLCR);
    lines.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
    lines.local_modes.insert(LocalModes::ICANON | LocalModes::IEXTEN);
    match echo {
        Echo::Shown => lines.local_modes.insert(LocalModes::ECHO | LocalModes::ECHOE),
        Echo::Hidden => {
            lines.local_modes.remove(LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK);
            // The line's end shows all the same.
            lines.local_modes.insert(LocalModes::ECHONL);
        }
    }
    // Control-C ends the line instead of the process: the answer is then empty and the settings are put back.
    lines.local_modes.remove(LocalModes::ISIG);
    lines.special_codes[SpecialCodeIndex::VEOL] = CONTROL_C;
    lines.special_codes[SpecialCodeIndex::VEOL2] = CONTROL_BACKSLASH;
    lines
}

impl Drop for Asking {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.device, OptionalActions::Now, &self.before);
    }
}
