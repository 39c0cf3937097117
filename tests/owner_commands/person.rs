//! A person at a terminal, played: starts one of the executables on a pseudo-terminal of its own, waits for its question
//! and types an answer. Always with a time limit.
#![allow(dead_code, reason = "each test file uses its own part")]

use crate::support::command::{Exit, LIMIT, Program, Scratch};
use kdna_broker::system::os::pty::{PersonsEnd, open_pair};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a question ends with.
const PROMPT: &str = "[y/N] ";
/// What a question for a password ends with.
const HIDDEN: &str = " of 3): ";

/// A command on a terminal of its own.
pub(crate) struct Person {
    terminal: Option<PersonsEnd>,
    screen: Receiver<Vec<u8>>,
    shown: Vec<u8>,
    child: Child,
}

/// How a command on a terminal ended, and all that it showed there.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) exit: Exit,
    pub(crate) screen: String,
}

impl Seen {
    pub(crate) fn was_asked(&self) -> bool {
        self.screen.contains(PROMPT)
    }
}

impl Person {
    /// Starts a command whose standard streams are all the same new terminal.
    pub(crate) fn sit_down(
        scratch: &Scratch,
        program: Program,
        arguments: &[&str],
        arrange: impl FnOnce(&mut Command),
        typed_ahead: &[u8],
    ) -> Self {
        Self::sit_down_at(scratch, program, arguments, arrange, typed_ahead, None)
    }

    /// As [`Person::sit_down`], at a window of so many rows and columns.
    pub(crate) fn sit_down_at(
        scratch: &Scratch,
        program: Program,
        arguments: &[&str],
        arrange: impl FnOnce(&mut Command),
        typed_ahead: &[u8],
        window: Option<(u16, u16)>,
    ) -> Self {
        let mut command = scratch.command(program, std::iter::once(&"--on-terminal").chain(arguments));
        arrange(&mut command);
        Self::start(command, typed_ahead, window)
    }

    /// Starts a command as it is; it, or what it starts, takes the terminal.
    pub(crate) fn start(mut command: Command, typed_ahead: &[u8], window: Option<(u16, u16)>) -> Self {
        let (mut terminal, other) = open_pair().expect("a pseudo-terminal");
        if let Some((ws_row, ws_col)) = window {
            let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
            tcsetwinsize(&terminal, size).expect("a window's size");
        }
        terminal.write_all(typed_ahead).expect("typing");
        let end = || Stdio::from(other.try_clone().expect("one more end"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("the program starts");
        let (send, screen) = channel();
        let mut reader = terminal.second().expect("one more end");
        std::thread::spawn(move || {
            let mut step = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut step) {
                if send.send(step[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { terminal: Some(terminal), screen, shown: Vec::new(), child }
    }

    fn look(&mut self, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        match self.screen.recv_timeout(left) {
            Ok(step) => self.shown.extend(step),
            Err(_) => return false,
        }
        true
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.shown).replace("\r\n", "\n")
    }

    /// Waits until the question is there; false if the command ends without one.
    pub(crate) fn is_asked(&mut self) -> bool {
        self.is_asked_times(1)
    }

    /// Waits until so many questions have been asked in all.
    pub(crate) fn is_asked_times(&mut self, times: usize) -> bool {
        let until = Instant::now() + LIMIT;
        let asked =
            |screen: &str| [PROMPT, HIDDEN].iter().map(|end| screen.matches(end).count()).sum::<usize>() >= times;
        while !asked(&self.screen()) || ![PROMPT, HIDDEN].iter().any(|end| self.screen().ends_with(end)) {
            if !self.look(until) {
                return false;
            }
        }
        true
    }

    pub(crate) fn type_keys(&mut self, keys: &[u8]) {
        self.terminal.as_mut().expect("a terminal").write_all(keys).expect("typing");
    }

    /// The terminal's settings, as the command left them.
    pub(crate) fn settings(&self) -> String {
        let settings = tcgetattr(self.terminal.as_ref().expect("a terminal")).expect("settings");
        format!("{settings:?}")
    }

    /// Waits until the screen holds a text; false if the command ends without it.
    pub(crate) fn is_shown(&mut self, text: &str) -> bool {
        let until = Instant::now() + LIMIT;
        while !self.screen().contains(text) {
            if !self.look(until) {
                return false;
            }
        }
        true
    }

    /// Whether the screen holds a text by now; waits for nothing.
    pub(crate) fn has_shown(&mut self, text: &str) -> bool {
        while let Ok(step) = self.screen.try_recv() {
            self.shown.extend(step);
        }
        self.screen().contains(text)
    }

    /// As [`Person::is_shown`], for what was not there when this was asked last.
    pub(crate) fn is_shown_again(&mut self, text: &str) -> bool {
        let seen = self.is_shown(text);
        self.shown.clear();
        seen
    }

    /// The process that was started.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether the terminal shows what is typed.
    pub(crate) fn echoes(&self) -> bool {
        let settings = tcgetattr(self.terminal.as_ref().expect("a terminal")).expect("settings");
        settings.local_modes.contains(rustix::termios::LocalModes::ECHO)
    }

    /// Sends the command a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.child);
        kill_process(process, signal).expect("a signal");
    }

    /// Goes away without an answer.
    pub(crate) fn hang_up(&mut self) {
        self.terminal = None;
    }

    /// As [`Person::finish`], and the terminal's settings at the end.
    pub(crate) fn finish_with_settings(mut self) -> (Seen, String) {
        let until = Instant::now() + LIMIT;
        while self.child.try_wait().expect("its status").is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        let settings = self.settings();
        (self.finish(), settings)
    }

    /// Reads to the end of the command.
    pub(crate) fn finish(mut self) -> Seen {
        let until = Instant::now() + LIMIT;
        while self.look(until) {}
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                break Some(status);
            }
            if Instant::now() > until {
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        Seen { exit: status.map_or(Exit::TimedOut, Exit::from), screen: self.screen() }
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text of narrow characters as a terminal of so many columns shows it.
pub(crate) fn wrapped(text: &str, columns: u16) -> Vec<String> {
    let pieces = |row: &str| {
        let cells: Vec<char> = row.chars().collect();
        let pieces =
            cells.chunks(usize::from(columns)).map(|piece| piece.iter().collect::<String>()).collect::<Vec<_>>();
        if pieces.is_empty() { vec![String::new()] } else { pieces }
    };
    text.split('\n').flat_map(pieces).collect()
}

/// Runs a command on a terminal; types the keys if it asks.
pub(crate) fn answer(
    scratch: &Scratch,
    program: Program,
    arguments: &[&str],
    arrange: impl FnOnce(&mut Command),
    keys: &[u8],
) -> Seen {
    let mut person = Person::sit_down(scratch, program, arguments, arrange, b"");
    if person.is_asked() {
        person.type_keys(keys);
    }
    person.finish()
}
