//! Starts the executables with a scratch home, a scratch state directory and no other environment, always with a time
//! limit. Never touches the caller's home; ends only what it started.

use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// What every test may wait at most for one program.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The signals that end a server, and the status that says so. Whoever starts the tests with a signal ignored, as a shell
/// does for what it puts into the background, hands that on to every program: such a signal is left out.
pub(crate) fn ending_signals() -> Vec<(Signal, i32)> {
    let own = fs::read_to_string("/proc/self/status").expect("/proc");
    let ignored = own.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask");
    let heard = |signal: &Signal| ignored >> (signal.as_raw() - 1) & 1 == 0;
    let (heard, not): (Vec<_>, Vec<_>) = [Signal::TERM, Signal::INT, Signal::HUP].into_iter().partition(heard);
    for signal in not {
        println!("skipped: {signal:?} is ignored in this session");
    }
    assert!(!heard.is_empty(), "a session that hears no signal shows nothing");
    heard.into_iter().map(|signal| (signal, 128 + signal.as_raw())).collect()
}

/// The two executables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    Broker,
    Owner,
}

impl Program {
    pub(crate) fn path(self) -> &'static str {
        match self {
            Program::Broker => env!("CARGO_BIN_EXE_kdna-broker"),
            Program::Owner => env!("CARGO_BIN_EXE_kdna"),
        }
    }
}

/// A private place for one test, removed at its end: `home/`, `state/` (0700) and whatever the test adds.
pub(crate) struct Scratch {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("kdna-test-").tempdir().expect("a scratch directory");
        let root = fs::canonicalize(folder.path()).expect("its real path");
        let scratch = Self { _folder: folder, root };
        scratch.directory("home", 0o755);
        scratch.directory("state", 0o700);
        scratch
    }

    /// The real path of the scratch directory.
    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Makes a directory with exactly this mode, and those above it.
    pub(crate) fn directory(&self, name: impl AsRef<Path>, mode: u32) -> PathBuf {
        let path = self.root.join(name);
        fs::DirBuilder::new().recursive(true).mode(mode).create(&path).expect("a directory");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        path
    }

    /// Writes a file with exactly this mode.
    pub(crate) fn file(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.root.join(name);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(mode)
            .open(&path)
            .expect("a file that can be written");
        file.write_all(bytes.as_ref()).expect("its content");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its mode");
        path
    }

    /// A command with the base environment of the recorded cases and this scratch place's home and state.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, program: Program, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(program.path());
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.home())
            .env("LANG", "C.UTF-8")
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC")
            .env("KDNA_BROKER_STATE_DIR", self.state());
        command
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Status(i32),
    Signal(i32),
    TimedOut,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        status.code().map_or_else(|| Exit::Signal(status.signal().unwrap_or(0)), Exit::Status)
    }
}

/// What a program said.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) exit: Exit,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Finished {
    pub(crate) fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// Runs a command to its end; `None` as input means /dev/null.
pub(crate) fn run(mut command: Command, input: Option<&[u8]>) -> Finished {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let stdout = collect(child.stdout.take().expect("its output"));
    let stderr = collect(child.stderr.take().expect("its error output"));
    let writer = child.stdin.take().map(|mut stdin| {
        let input = input.unwrap_or_default().to_vec();
        // A program may end without reading all: that is its right, and not this helper's failure.
        spawn(move || drop(stdin.write_all(&input)))
    });
    let exit = wait(&mut child, LIMIT);
    if let Some(writer) = writer {
        let _ = writer.join();
    }
    Finished { exit, stdout: stdout.join().expect("its output"), stderr: stderr.join().expect("its error output") }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for the end, or ends it after the limit.
fn wait(child: &mut Child, limit: Duration) -> Exit {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait().expect("its status") {
            return status.into();
        }
        if Instant::now() > end {
            child.kill().expect("ending it");
            let _ = child.wait();
            return Exit::TimedOut;
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// A running MCP server, spoken to line by line.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let (send, lines) = channel();
        let stdout = child.stdout.take().expect("its output");
        spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let stderr = Some(collect(child.stderr.take().expect("its error output")));
        let input = child.stdin.take();
        Self { child, input, lines, stderr }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends one line; the newline is added.
    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
    }

    /// Sends one line that need not be text.
    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("an open input");
        input.write_all(&[line, b"\n"].concat()).and_then(|()| input.flush()).expect("the server reads");
    }

    /// The next line, or `None` if there is none within the time or the server closed its output.
    pub(crate) fn receive(&self, within: Duration) -> Option<String> {
        self.lines.recv_timeout(within).ok()
    }

    /// Sends one line and returns the next line that comes back.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.receive(LIMIT).expect("an answer")
    }

    /// Closes its input and waits for its end. `stdout` holds the lines that nobody received.
    pub(crate) fn close(mut self) -> Finished {
        drop(self.input.take());
        let exit = wait(&mut self.child, LIMIT);
        let mut stdout = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(LIMIT) {
            stdout.extend_from_slice(line.as_bytes());
            stdout.push(b'\n');
        }
        let stderr = self.stderr.take().expect("its error output").join().expect("its error output");
        Finished { exit, stdout, stderr }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
