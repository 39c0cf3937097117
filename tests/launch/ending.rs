//! Signals, job control, and what is left when a launcher does not come to its own end.

use crate::person::Person;
use crate::processes::{children, is_running, signal, status};
use crate::stage::{HOST, PROCESSOR, PUBLIC, Stage, canary, locked, wait_until};
use crate::support::command::{Exit, LIMIT, Program, run};
use kdna_broker::system::os::pty::open_pair;
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A launcher without a terminal; ended should a test fail.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn wait(&mut self) -> Exit {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code().map_or_else(|| Exit::Signal(status.signal().unwrap()), Exit::Status);
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Exit::TimedOut
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in children(self.id()) {
            signal(child, Signal::KILL);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host that ends itself after a while, should nobody do so, and says that it is there.
const WAITS: &str = "echo $$ >pid; mv pid up; for i in $(seq 1500); do sleep 0.02; [ -e go ] && exit 5; done";

#[test]
fn what_is_sent_to_the_launcher_is_passed_on_to_the_host() {
    let stage = Stage::allowed(PUBLIC);
    for (name, sent) in [
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("TERM", Signal::TERM),
    ] {
        let mut running =
            Running::start(stage.command(&[], &format!("trap 'echo {name} >>got; exit 9' {name}; {WAITS}")));
        stage.wait_for("up");
        signal(running.id(), sent);
        assert_eq!(running.wait(), Exit::Status(9), "{name}");
        assert_eq!(fs::read_to_string(stage.path("got")).unwrap(), format!("{name}\n"), "once, and nothing else");
        assert!(stage.sessions().is_empty(), "{name}");
        fs::remove_file(stage.path("got")).unwrap();
        fs::remove_file(stage.path("up")).unwrap();
    }
    // A host that does nothing about it is ended by it, and so is the launcher.
    let mut running = Running::start(stage.command(&[], WAITS));
    stage.wait_for("up");
    signal(running.id(), Signal::TERM);
    assert_eq!(running.wait(), Exit::Signal(15));
    assert!(stage.sessions().is_empty());
}

#[test]
fn when_the_end_is_asked_for_the_password_is_gone_at_once_whatever_the_host_does() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("source", &password, 0o600);
    for (name, sent) in [("TERM", Signal::TERM), ("HUP", Signal::HUP)] {
        let script = format!("trap 'echo >trapped' {name}; {WAITS}");
        let mut running = Running::start(stage.command(&["--secret-from", "command:cat source"], &script));
        let host: u32 = stage.wait_for("up").trim().parse().unwrap();
        let [session] = stage.sessions().try_into().unwrap();
        assert!(session.join("password").exists());
        signal(running.id(), sent);
        wait_until("its end", || stage.sessions().is_empty());
        stage.wait_for("trapped");
        assert!(is_running(host) && is_running(running.id()), "{name}: the host goes on");
        stage.scratch.file("go", "", 0o600);
        assert_eq!(running.wait(), Exit::Status(5), "{name}");
        for name in ["go", "up", "trapped"] {
            fs::remove_file(stage.path(name)).unwrap();
        }
    }
}

#[test]
fn whatever_signal_comes_no_password_stays_and_no_host_is_left_behind() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("source", &password, 0o600);
    for name in ["ALRM", "VTALRM", "PROF", "XCPU", "IO", "PWR", "STKFLT", "RTMIN+2", "RTMAX"] {
        let mut running = Running::start(stage.command(&["--secret-from", "command:cat source"], WAITS));
        let host: u32 = stage.wait_for("up").trim().parse().unwrap();
        assert_eq!(stage.sessions().len(), 1, "{name}");
        let held = |process: u32| u64::from_str_radix(&status(process, "SigBlk").unwrap(), 16).unwrap();
        // A shell holds back everything for a moment whenever it starts something.
        wait_until("the mask that the launcher was started with", || held(host) == held(std::process::id()));
        let sent = Command::new("bash").args(["-c", &format!("kill -s {name} {}", running.id())]).status().unwrap();
        assert!(sent.success(), "{name}");
        assert!(matches!(running.wait(), Exit::Signal(_)), "{name}: it ends as its host ended");
        assert!(!is_running(host) && stage.sessions().is_empty(), "{name}");
        fs::remove_file(stage.path("up")).unwrap();
    }
}

#[test]
fn a_host_is_started_with_the_mask_that_the_launcher_was_started_with() {
    let stage = Stage::allowed(PUBLIC);
    // Not a shell: some of them clear their mask themselves.
    let words = ["launch", "--host", HOST, "--processor", PROCESSOR, "--workspace", "ws", "--"];
    let mut command = stage.scratch.command(Program::Broker, words);
    command.args(["grep", "SigBlk", "/proc/self/status"]);
    stage.arrange(&mut command);
    let seen = run(command, None);
    assert_eq!(seen.exit, Exit::Status(0), "{}", seen.stderr_text());
    let alone = std::process::Command::new("grep").args(["SigBlk", "/proc/self/status"]).output().unwrap();
    assert_eq!(seen.stdout_text(), String::from_utf8_lossy(&alone.stdout), "as without the launcher");
}

#[test]
fn what_a_killed_launcher_left_is_swept_by_the_next_one_and_a_live_session_is_not() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("source", &password, 0o600);
    let command = |script: &str| stage.command(&["--secret-from", "command:cat source"], script);
    let mut killed = Running::start(command(WAITS));
    let orphan: u32 = stage.wait_for("up").trim().parse().unwrap();
    let [dead] = stage.sessions().try_into().unwrap();
    signal(killed.id(), Signal::KILL);
    assert_eq!(killed.wait(), Exit::Signal(9));
    assert!(dead.join("password").exists(), "nobody could remove it");
    fs::remove_file(stage.path("up")).unwrap();
    let alive = Running::start(command(WAITS));
    stage.wait_for("up");
    assert!(!dead.exists(), "the next start removed it");
    let [live] = stage.sessions().try_into().unwrap();
    let ended = run(command("ls -A \"$XDG_RUNTIME_DIR\" >there"), None);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    assert_eq!(fs::read_to_string(stage.path("there")).unwrap().lines().count(), 2, "its own and the live one");
    assert_eq!(stage.sessions(), std::slice::from_ref(&live), "another session left it alone");
    assert_eq!(fs::read_to_string(live.join("password")).unwrap(), format!("{password}\r\n"));
    // What looks like a session and is none of this user's making is not followed.
    let decoy = stage.memory().join("kdna-broker-session-0000000000000000");
    std::os::unix::fs::symlink(stage.path("ws"), &decoy).unwrap();
    assert_eq!(run(command("exit 0"), None).exit, Exit::Status(0));
    assert!(stage.path("ws/.kdna/attachments.json").exists() && decoy.is_symlink());
    signal(orphan, Signal::KILL);
    drop(alive);
}

/// Starts a launcher that was given a password, with a host that does this first, and kills it.
fn killed(stage: &Stage, first: &str) -> PathBuf {
    let script = format!("{first} {WAITS}");
    let mut killed = Running::start(stage.command(&["--secret-from", "command:cat source"], &script));
    let orphan: u32 = stage.wait_for("up").trim().parse().unwrap();
    fs::remove_file(stage.path("up")).unwrap();
    let sessions = stage.sessions().into_iter().filter(|path| path.join("password").exists());
    let [dead] = sessions.collect::<Vec<_>>().try_into().unwrap();
    signal(killed.id(), Signal::KILL);
    assert_eq!(killed.wait(), Exit::Signal(9));
    signal(orphan, Signal::KILL);
    dead
}

#[test]
fn whatever_others_put_beside_a_dead_session_it_is_swept() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("source", &password, 0o600);
    let dead = killed(&stage, "");
    let foreign = stage.memory().join(OsStr::from_bytes(b"kdna-broker-session-\xff\xfe"));
    fs::write(&foreign, "x").unwrap();
    // More names than are read of any other directory.
    for number in 0..65_537 {
        fs::hard_link(&foreign, stage.memory().join(format!("a{number}"))).unwrap();
    }
    let ended = run(stage.command(&["--secret-from", "command:cat source"], "exit 4"), None);
    assert_eq!(ended.exit, Exit::Status(4), "{}", ended.stderr_text());
    assert!(!dead.exists() && foreign.exists(), "the session is gone and nothing else");
    assert_eq!(stage.sessions().len(), 65_538);
}

#[test]
fn whatever_a_host_puts_into_its_session_nothing_of_it_stays_and_no_link_is_followed() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("source", &password, 0o600);
    stage.scratch.directory("outside", 0o755);
    let kept = stage.scratch.file("outside/kept", "x", 0o644);
    let fill = format!(
        "cd \"$KDNA_BROKER_SESSION\" && mkdir -p sub/deep && : >sub/deep/f && ln -s '{}' sub/link && ln -s '{}' link && \
         : >\"$(printf '\\377')\" && chmod 500 sub/deep && cd - >&2;",
        stage.path("outside").display(),
        kept.display()
    );
    let ended = run(stage.command(&["--secret-from", "command:cat source"], &fill), None);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    assert!(stage.sessions().is_empty(), "after its own end");
    for lock in ["mkdir lock && : >lock/f", "mkfifo lock", "ln -s /dev/null lock", ":"] {
        let replaced = format!("{fill} (cd \"$KDNA_BROKER_SESSION\" && rm lock && {lock});");
        let dead = killed(&stage, &replaced);
        assert!(dead.join("password").exists() && dead.join("sub/deep/f").exists(), "{lock}: the control");
        let ended = run(stage.command(&["--secret-from", "command:cat source"], "exit 4"), None);
        assert_eq!(ended.exit, Exit::Status(4), "{}", ended.stderr_text());
        assert!(stage.sessions().is_empty(), "{lock}: {:?}", stage.sessions());
    }
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o644);
    assert_eq!(fs::metadata(stage.path("outside")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_launcher_that_is_killed_anywhere_leaves_nothing_that_the_next_one_does_not_sweep() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    stage.scratch.file("source", &password, 0o600);
    let command = |script: &str| stage.command(&["--secret-from", "command:cat source"], script);
    let begun = Instant::now();
    assert_eq!(run(command("exit 0"), None).exit, Exit::Status(0));
    let whole = begun.elapsed();
    for part in 0..12 {
        let mut running = Running::start(command("exit 0"));
        std::thread::sleep(whole * part / 12);
        let _ = running.0.kill();
        running.wait();
    }
    assert_eq!(run(command("exit 0"), None).exit, Exit::Status(0));
    assert!(stage.sessions().is_empty(), "{:?}", stage.sessions());
}

#[test]
fn the_keys_of_the_terminal_reach_the_host_and_the_launcher_waits_for_it() {
    let stage = Stage::allowed(PUBLIC);
    // A host that takes Control-C as a wish and ends in its own way: the server does.
    let own =
        ["launch", "--host", HOST, "--processor", PROCESSOR, "--workspace", "ws", "--", Program::Broker.path(), "mcp"];
    let mut person = Person::sit_down(&stage.scratch, Program::Broker, &own, |command| stage.arrange(command), b"");
    let takes_interrupts = |process: &u32| {
        let mask = status(*process, "SigBlk").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
        // What it is before it has become the host has other words.
        let words = format!("{}\0mcp\0", Program::Broker.path());
        let is_host = fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|found| found == words.as_bytes());
        is_host && mask.is_some_and(|mask| mask & 0b10 != 0)
    };
    wait_until("the host", || children(person.id()).iter().any(takes_interrupts));
    person.type_keys(b"\x03");
    let seen = person.finish();
    assert_eq!(seen.exit, Exit::Status(130), "it ended as the host ended, not by the key: {}", seen.screen);
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_terminal_that_goes_away_ends_the_session() {
    let password = canary("secret");
    let stage = Stage::allowed(&locked(&password));
    let (mut terminal, other) = open_pair().unwrap();
    let mut command =
        stage.scratch.command(Program::Broker, ["--on-terminal"].into_iter().chain(Stage::words(&[], WAITS)));
    stage.arrange(&mut command);
    let mut running = Running(command.stdin(other).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    drop(command);
    let mut shown = Vec::new();
    let mut step = [0; 256];
    while !shown.ends_with(b"): ") {
        let count = terminal.read(&mut step).unwrap();
        shown.extend_from_slice(&step[..count]);
    }
    terminal.write_all(format!("{password}\n").as_bytes()).unwrap();
    let host: u32 = stage.wait_for("up").trim().parse().unwrap();
    assert_eq!(stage.sessions().len(), 1);
    drop(terminal);
    assert_eq!(running.wait(), Exit::Signal(1), "it ends as its host ended");
    assert!(!is_running(host) && stage.sessions().is_empty());
}

#[test]
fn control_z_stops_both_and_fg_lets_both_go_on() {
    let stage = Stage::allowed(PUBLIC);
    let mut person = Person::start(stage.shell(&["-i"]), b"", None);
    assert!(person.is_shown("ready> "));
    person.type_keys(b"eval \"$LAUNCH 'echo \\$\\$ >pid; mv pid up; read x; echo got-\\$x >answer; exit 6'\"\n");
    let host: u32 = stage.wait_for("up").trim().parse().unwrap();
    let launcher: u32 = status(host, "PPid").unwrap().parse().unwrap();
    let is = |process: u32, letter: char| status(process, "State").is_some_and(|state| state.starts_with(letter));
    for _ in 0..2 {
        person.type_keys(b"\x1a");
        wait_until("both stopped", || is(host, 'T') && is(launcher, 'T'));
        person.type_keys(b"echo ba\"\"ck\n");
        assert!(person.is_shown_again("back"), "the shell has the terminal");
        assert_eq!(stage.sessions().len(), 1, "a stopped session is alive");
        assert_eq!(run(stage.command(&[], "exit 0"), None).exit, Exit::Status(0));
        assert_eq!(stage.sessions().len(), 1, "and is not swept");
        person.type_keys(b"fg\n");
        wait_until("both go on", || !is(host, 'T') && !is(launcher, 'T'));
    }
    person.type_keys(b"hello\n");
    assert_eq!(stage.wait_for("answer").trim(), "got-hello");
    wait_until("the end", || stage.sessions().is_empty());
    person.type_keys(b"exit 0\n");
    assert_ne!(person.finish().exit, Exit::TimedOut);
}
