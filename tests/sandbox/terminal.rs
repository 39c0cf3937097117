//! Asking on a terminal: a person is played through a pseudo-terminal.

use crate::Check;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::os::host_process::{HostOrder, HostProcess, Stream};
use kdna_broker::system::os::pty::{adopt_terminal_from_stdin, open_pseudo_terminal};
use kdna_broker::system::{NoTerminal, System};
use rustix::fd::OwnedFd;
use rustix::termios::{LocalModes, Termios, tcgetattr};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const QUESTION: &str = "Allow? [y/N] ";

pub(crate) fn checks() -> Vec<Check> {
    let check = |name: &str, run: fn()| -> Check { (format!("a_question::{name}"), Box::new(run)) };
    vec![
        check("gets_the_line_that_was_typed_after_it", gets_line),
        check("is_not_answered_by_what_was_typed_before", discards_typeahead),
        check("gets_an_empty_answer_for_anything_but_a_short_line", empty_answers),
        check("leaves_the_terminal_as_it_was", restores_settings),
        check("is_not_asked_without_a_terminal", needs_terminal),
        check("is_not_asked_from_the_background", needs_foreground),
        check("about_a_secret_shows_nothing_of_the_answer", hides_secret),
        check("about_a_secret_gets_a_whole_line_or_nothing", secret_answers),
        check("about_a_secret_leaves_the_terminal_as_it_was", restores_hidden_settings),
    ]
}

/// The process that asks.
pub(crate) fn asker(way: &str) -> ExitCode {
    match way {
        "foreground" => adopt_terminal_from_stdin().unwrap(),
        "background" => {
            adopt_terminal_from_stdin().unwrap();
            let child = Command::new("/proc/self/exe").args(["--asker", "here"]).process_group(0).status();
            return ExitCode::from(u8::from(!child.unwrap().success()));
        }
        "alone" => drop(rustix::process::setsid().unwrap()),
        _ => {}
    }
    if way == "secret" {
        adopt_terminal_from_stdin().unwrap();
        let mut answer = [0; 4096];
        let length = OsSystem::new().ask_secret(QUESTION, &mut answer).unwrap().unwrap_or(0);
        println!("secret {length} {}", String::from_utf8_lossy(&answer[..length]));
        return ExitCode::SUCCESS;
    }
    match OsSystem::new().ask(QUESTION) {
        Ok(answer) => println!("answer {answer:?}"),
        Err(NoTerminal) => println!("no terminal"),
    }
    ExitCode::SUCCESS
}

struct Person {
    master: OwnedFd,
    asker: HostProcess,
    before: Termios,
}

impl Person {
    fn sit_down(way: &str, typed_ahead: &[u8]) -> Self {
        let (master, path) = open_pseudo_terminal().unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
        let other = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        let before = tcgetattr(&master).unwrap();
        rustix::io::write(&master, typed_ahead).unwrap();
        let asker = HostProcess::start(HostOrder {
            program: "/proc/self/exe".into(),
            arguments: vec!["--asker".into(), way.into()],
            environment: Vec::new(),
            directory: AbsolutePath::parse("/").unwrap(),
            input: Stream::Given(other),
            output: Stream::Pipe,
            errors: Stream::Inherit,
        })
        .unwrap();
        Self { master, asker, before }
    }

    /// Waits until the question is on the screen.
    fn read_question(&self) {
        let start = Instant::now();
        let mut screen = Vec::new();
        while !String::from_utf8_lossy(&screen).contains(QUESTION) {
            let mut step = [0; 256];
            let read = rustix::io::read(&self.master, &mut step).unwrap();
            screen.extend_from_slice(&step[..read]);
            assert!(start.elapsed() < Duration::from_secs(10));
        }
    }

    fn type_in(&self, keys: &[u8]) {
        rustix::io::write(&self.master, keys).unwrap();
    }

    fn outcome(mut self) -> String {
        let mut text = String::new();
        self.asker.take_output().unwrap().read_to_string(&mut text).unwrap();
        self.asker.wait().unwrap();
        text.trim_end().to_owned()
    }
}

fn answer_to(typed_ahead: &[u8], keys: &[u8]) -> String {
    let person = Person::sit_down("foreground", typed_ahead);
    person.read_question();
    person.type_in(keys);
    person.outcome()
}

fn gets_line() {
    assert_eq!(answer_to(b"", b"y\n"), r#"answer "y""#);
    assert_eq!(answer_to(b"", b"no\r"), r#"answer "no""#);
    assert_eq!(answer_to(b"", b"\n"), r#"answer """#);
    assert_eq!(answer_to(b"", b"1234567890123456\n"), r#"answer "1234567890123456""#);
}

fn discards_typeahead() {
    assert_eq!(answer_to(b"y\ny\ny", b"n\n"), r#"answer "n""#);
}

fn empty_answers() {
    let long = [b"y".as_slice(), &[b' '; 40], b"no\n"].concat();
    for keys in [b"\x03".as_slice(), b"y\x03", b"\x04", b"y\x04", b"\x1c", &long, b"y\xff\n"] {
        assert_eq!(answer_to(b"", keys), r#"answer """#, "{keys:?}");
    }
}

fn restores_settings() {
    for keys in [b"y\n".as_slice(), b"\x03", b"\x04"] {
        let person = Person::sit_down("foreground", b"");
        person.read_question();
        let during = tcgetattr(&person.master).unwrap();
        assert!(!during.local_modes.contains(LocalModes::ISIG), "the control: settings do change");
        person.type_in(keys);
        let (before, master) = (person.before.clone(), rustix::io::dup(&person.master).unwrap());
        person.outcome();
        let after = tcgetattr(master).unwrap();
        assert_eq!(format!("{before:?}"), format!("{after:?}"));
    }
}

fn needs_terminal() {
    let alone = Command::new("/proc/self/exe").args(["--asker", "alone"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(alone.stdout, b"no terminal\n");
}

fn needs_foreground() {
    assert_eq!(Person::sit_down("background", b"").outcome(), "no terminal");
}

fn secret_to(keys: &[u8]) -> String {
    let person = Person::sit_down("secret", b"typed ahead\n");
    person.read_question();
    person.type_in(keys);
    person.outcome()
}

fn hides_secret() {
    let person = Person::sit_down("secret", b"");
    person.read_question();
    person.type_in(b"canary\n");
    let mut screen = [0; 256];
    let read = rustix::io::read(&person.master, &mut screen).unwrap();
    assert_eq!(&screen[..read], b"\r\n", "the end of the line and nothing else");
    assert_eq!(person.outcome(), "secret 6 canary");
}

fn secret_answers() {
    assert_eq!(secret_to("caf\u{e9} 1\n".as_bytes()), "secret 7 caf\u{e9} 1");
    assert_eq!(secret_to(b"\n"), "secret 0");
    let longest = "x".repeat(1024);
    assert_eq!(secret_to(format!("{longest}\n").as_bytes()), format!("secret 1024 {longest}"));
    let long = format!("{longest}x\n");
    // Enough to fill what the terminal itself keeps of a line, and more than one read.
    let longer = format!("{}\n", longest.repeat(3));
    for keys in ["\x03", "pw\x03", "pw\x04", "pw\x1c", &long, &longer] {
        assert_eq!(secret_to(keys.as_bytes()), "secret 0", "{} keys", keys.len());
    }
}

/// Also when a signal ends the process that asks.
fn restores_hidden_settings() {
    // By number: TERM, HUP, INT, USR1, USR2, ALRM, VTALRM, PROF, XCPU, IO, PWR, and two of the real-time ones.
    let signals = [15, 1, 2, 10, 12, 14, 26, 27, 24, 29, 30, 36, 64];
    for end in std::iter::once(None).chain(signals.map(Some)) {
        let person = Person::sit_down("secret", b"");
        person.read_question();
        let during = tcgetattr(&person.master).unwrap();
        assert!(!during.local_modes.contains(LocalModes::ECHO), "the control: nothing shows");
        match end {
            None => person.type_in(b"pw\n"),
            Some(signal) => {
                let kill = format!("kill -{signal} {}", person.asker.id());
                assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{signal}");
            }
        }
        let (before, master) = (person.before.clone(), rustix::io::dup(&person.master).unwrap());
        let outcome = person.outcome();
        assert_eq!(outcome.is_empty(), end.is_some(), "{end:?}: {outcome}");
        assert_eq!(format!("{before:?}"), format!("{:?}", tcgetattr(master).unwrap()), "{end:?}");
    }
}
