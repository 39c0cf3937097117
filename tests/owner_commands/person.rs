//! A person at a terminal, played: starts one of the executables on a pseudo-terminal of its own, waits for its question
//! and types an answer. Always with a time limit.

use crate::support::command::{Exit, LIMIT, Program, Scratch};
use kdna_broker::system::os::pty::open_pseudo_terminal;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What a question ends with.
const PROMPT: &str = "[y/N] ";
/// What a question for a password ends with.
const HIDDEN: &str = "): ";

/// A command on a terminal of its own.
pub(crate) struct Person {
    terminal: Option<File>,
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
        let (master, path) = open_pseudo_terminal().expect("a pseudo-terminal");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(path, flags, Mode::empty()).expect("its other end");
        let mut terminal = File::from(master);
        terminal.write_all(typed_ahead).expect("typing");
        let mut command = scratch.command(program, std::iter::once(&"--on-terminal").chain(arguments));
        arrange(&mut command);
        let end = || Stdio::from(other.try_clone().expect("one more end"));
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().expect("the program starts");
        let (send, screen) = channel();
        let mut reader = terminal.try_clone().expect("one more end");
        std::thread::spawn(move || {
            let mut step = [0; 4096];
            // The read fails when the last process has let go of the terminal.
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
        let until = Instant::now() + LIMIT;
        while ![PROMPT, HIDDEN].iter().any(|end| self.screen().ends_with(end)) {
            if !self.look(until) {
                return false;
            }
        }
        true
    }

    pub(crate) fn type_keys(&mut self, keys: &[u8]) {
        self.terminal.as_mut().expect("a terminal").write_all(keys).expect("typing");
    }

    /// Goes away without an answer.
    pub(crate) fn hang_up(&mut self) {
        self.terminal = None;
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
