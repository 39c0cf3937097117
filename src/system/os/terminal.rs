//! Asking the person. The question goes to the controlling terminal, never to standard output; what was typed before the
//! question was shown is thrown away; the terminal's settings are put back on every path.
//!
//! A signal that would end or stop the process while the question is open is held back until the settings are put back:
//! there is no handler, it is only blocked, seen, and let through afterwards. Whoever blocked it before still has it.

use super::signals::HeldBack;
use super::store;
use crate::system::NoTerminal;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};

/// An answer is read up to here; a longer line is no answer.
const ANSWER: usize = 16;
const CONTROL_C: u8 = 0x03;
const CONTROL_BACKSLASH: u8 = 0x1c;

/// Rows and columns of the controlling terminal, where it tells them.
pub(super) fn window() -> Option<(u16, u16)> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let device = rustix::fs::open("/dev/tty", flags, Mode::empty()).ok()?;
    let size = tcgetwinsize(device).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

pub(super) fn ask(question: &str) -> Result<String, NoTerminal> {
    let held = HeldBack::begin().map_err(|_| NoTerminal)?;
    // Let through when this function ends, after the settings were put back.
    let answer = ask_with(&held, question);
    drop(held);
    answer
}

fn ask_with(held: &HeldBack, question: &str) -> Result<String, NoTerminal> {
    let terminal = Asking::begin()?;
    tcflush(&terminal.device, QueueSelector::IFlush).map_err(|_| NoTerminal)?;
    store::write_all(terminal.device.as_fd(), question.as_bytes()).map_err(|_| NoTerminal)?;
    let answer = if terminal.wait(held) { terminal.line()? } else { String::new() };
    // What is left of a long line must not reach the shell as a command.
    let _ = tcflush(&terminal.device, QueueSelector::IFlush);
    Ok(answer)
}

/// A terminal in line mode, until dropped.
pub(super) struct Asking {
    device: OwnedFd,
    before: Termios,
}

impl Asking {
    pub(super) fn begin() -> Result<Self, NoTerminal> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = rustix::fs::open("/dev/tty", flags, Mode::empty()).map_err(|_| NoTerminal)?;
        // A background process would be stopped by its first read or change of settings.
        if tcgetpgrp(&device).map_err(|_| NoTerminal)? != getpgrp() {
            return Err(NoTerminal);
        }
        let before = tcgetattr(&device).map_err(|_| NoTerminal)?;
        let mut lines = before.clone();
        lines.input_modes.insert(InputModes::ICRNL);
        lines.input_modes.remove(InputModes::IGNCR | InputModes::INLCR);
        lines.output_modes.insert(OutputModes::OPOST | OutputModes::ONLCR);
        lines.local_modes.insert(LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ECHO | LocalModes::ECHOE);
        // Control-C ends the line instead of the process: the answer is then empty and the settings are put back.
        lines.local_modes.remove(LocalModes::ISIG);
        lines.special_codes[SpecialCodeIndex::VEOL] = CONTROL_C;
        lines.special_codes[SpecialCodeIndex::VEOL2] = CONTROL_BACKSLASH;
        let asking = Self { device, before };
        tcsetattr(&asking.device, OptionalActions::Now, &lines).map_err(|_| NoTerminal)?;
        Ok(asking)
    }

    /// What is typed from now on is not shown.
    pub(super) fn hide(&self) -> Result<(), NoTerminal> {
        let mut hidden = tcgetattr(&self.device).map_err(|_| NoTerminal)?;
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ECHOE | LocalModes::ECHOK | LocalModes::ECHONL);
        tcsetattr(&self.device, OptionalActions::Now, &hidden).map_err(|_| NoTerminal)
    }

    pub(super) fn device(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    /// Waits for a line; false if a signal that was held back came first.
    fn wait(&self, held: &HeldBack) -> bool {
        loop {
            let mut both = [PollFd::new(&self.device, PollFlags::IN), PollFd::new(held, PollFlags::IN)];
            match poll(&mut both, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return true,
            }
            let [line, signal] = both.map(|one| !one.revents().is_empty());
            if signal || line {
                return !signal;
            }
        }
    }

    /// One line without its end. Empty for anything that is not a whole short line: end of input, Control-C, too long.
    fn line(&self) -> Result<String, NoTerminal> {
        let mut answer = [0; ANSWER + 1];
        let read = match rustix::io::retry_on_intr(|| rustix::io::read(&self.device, &mut answer)) {
            Ok(read) => read,
            // The other side of the terminal is gone.
            Err(Errno::IO) => 0,
            Err(_) => return Err(NoTerminal),
        };
        let line = answer.get(..read).and_then(|line| line.strip_suffix(b"\n")).unwrap_or_default();
        Ok(std::str::from_utf8(line).unwrap_or_default().to_owned())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.device, OptionalActions::Now, &self.before);
    }
}
