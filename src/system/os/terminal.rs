//! Asking the person. The question goes to the controlling terminal, never to standard output; what was typed before the
//! question was shown is thrown away; the terminal's settings are put back on every path.

use super::signals::EndSignals;
use super::store;
use crate::system::NoTerminal;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcsetattr,
};
use std::sync::{Mutex, Once, PoisonError};

/// An answer is read up to here; a longer line is no answer.
const ANSWER: usize = 16;
/// The same of a secret: far below where the terminal itself would begin to drop what is typed.
const SECRET: usize = 1024;
const CONTROL_C: u8 = 0x03;
const CONTROL_BACKSLASH: u8 = 0x1c;

pub(super) fn ask(question: &str) -> Result<String, NoTerminal> {
    let mut answer = [0; ANSWER + 1];
    let length = Asking::begin(Echo::Shown)?.answer(question, &mut answer)?;
    Ok(answer.get(..length).and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default().to_owned())
}

/// The answer lands in the caller's buffer alone. While it is typed a signal that ends this process puts the settings back
/// first: nobody should be left with a terminal that shows nothing.
pub(super) fn ask_secret(question: &str, answer: &mut [u8]) -> Result<usize, NoTerminal> {
    let room = answer.len().min(SECRET + 1);
    let answer = answer.get_mut(..room).unwrap_or_default();
    Asking::begin(Echo::Hidden)?.answer(question, answer)
}

/// Whether what is typed shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Shown,
    Hidden,
}

/// The settings of a terminal that shows nothing at the moment.
static HIDDEN: Mutex<Option<Termios>> = Mutex::new(None);
static WATCH: Once = Once::new();

/// From now on a signal that would end this process puts a hidden terminal's settings back, then ends it with the status
/// that says which.
fn watch_signals() {
    WATCH.call_once(|| {
        let Ok(signals) = EndSignals::block() else { return };
        let _ = std::thread::Builder::new().spawn(move || {
            let status = signals.wait();
            let hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(before), Ok(device)) = (&*hidden, open()) {
                let _ = tcsetattr(&device, OptionalActions::Flush, before);
            }
            std::process::exit(i32::from(status))
        });
    });
}

fn open() -> Result<OwnedFd, Errno> {
    rustix::fs::open("/dev/tty", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
}

/// A terminal in line mode, until dropped.
struct Asking {
    device: OwnedFd,
    before: Termios,
    echo: Echo,
}

impl Asking {
    fn begin(echo: Echo) -> Result<Self, NoTerminal> {
        let device = open().map_err(|_| NoTerminal)?;
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
        if echo == Echo::Hidden {
            // The line's end shows all the same.
            lines.local_modes.remove(LocalModes::ECHO | LocalModes::ECHOE);
            lines.local_modes.insert(LocalModes::ECHONL);
            watch_signals();
            *HIDDEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before.clone());
        }
        let asking = Self { device, before, echo };
        tcsetattr(&asking.device, OptionalActions::Now, &lines).map_err(|_| NoTerminal)?;
        Ok(asking)
    }

    /// Shows the question, throws away what was typed before it, and reads one line. What is left of a long line must not
    /// reach the shell as a command.
    fn answer(&self, question: &str, answer: &mut [u8]) -> Result<usize, NoTerminal> {
        tcflush(&self.device, QueueSelector::IFlush).map_err(|_| NoTerminal)?;
        store::write_all(self.device.as_fd(), question.as_bytes()).map_err(|_| NoTerminal)?;
        let length = self.line(answer);
        let _ = tcflush(&self.device, QueueSelector::IFlush);
        length
    }

    /// The length of one line without its end. 0 for anything that is not a whole line that fits: end of input, Control-C,
    /// too long.
    fn line(&self, answer: &mut [u8]) -> Result<usize, NoTerminal> {
        let read = match rustix::io::retry_on_intr(|| rustix::io::read(&self.device, &mut *answer)) {
            Ok(read) => read,
            // The other side of the terminal is gone.
            Err(Errno::IO) => 0,
            Err(_) => return Err(NoTerminal),
        };
        Ok(answer.get(..read).and_then(|line| line.strip_suffix(b"\n")).map_or(0, <[u8]>::len))
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = tcsetattr(&self.device, OptionalActions::Now, &self.before);
        if self.echo == Echo::Hidden {
            *hidden = None;
        }
    }
}
