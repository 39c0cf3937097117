//! Starting a host, or a command that yields a secret: programs that the person named. They get exactly the environment,
//! directory and streams stated here; nothing is inherited by silence, and no shell is involved.

use super::forward::Forwarding;
use crate::foundation::path::AbsolutePath;
use crate::system::Fault;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{Access, access};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

/// What one stream of the process is.
#[derive(Debug)]
pub enum Stream {
    /// A pipe to this process.
    Pipe,
    /// The same as this process's.
    Inherit,
    /// `/dev/null`.
    Null,
    /// An open file, such as the other end of a pseudo-terminal.
    Given(OwnedFd),
}

/// What to start.
#[derive(Debug)]
pub struct HostOrder {
    /// The program: a path with a slash, never looked up in `PATH`.
    pub program: OsString,
    /// Its arguments, without the name.
    pub arguments: Vec<OsString>,
    /// Its whole environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Its directory.
    pub directory: AbsolutePath,
    /// Standard input.
    pub input: Stream,
    /// Standard output.
    pub output: Stream,
    /// Standard error.
    pub errors: Stream,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It returned this status.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}

/// What can become of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It stopped, for job control.
    Stopped,
    /// It ended.
    Ended(Ending),
}

/// The argument by which this executable becomes another program. Internal: it may go without notice.
pub const SHIM: &str = "--host-shim";
/// The status of a program that was not found, as shells have it.
pub const NOT_FOUND: u8 = 127;
/// The status of a program that could not be started, as shells have it.
pub const NOT_STARTED: u8 = 126;

/// Becomes a program: a list of signals to let through, its path, its arguments. The status to end with, if that failed.
pub fn become_program(words: &[OsString]) -> u8 {
    let [list, program, arguments @ ..] = words else { return NOT_STARTED };
    if list.to_str().is_none_or(|list| super::forward::let_through(list).is_err()) {
        return NOT_STARTED;
    }
    let error = Command::new(program).args(arguments).exec();
    if error.kind() == std::io::ErrorKind::NotFound { NOT_FOUND } else { NOT_STARTED }
}

/// Where a program that a person named by one word lies: in the first absolute directory of `path` that has it. Relative
/// entries are passed over: they would let the directory that the person happens to be in choose the program.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    let directories = path.as_bytes().split(|byte| *byte == b':').map(|entry| Path::new(OsStr::from_bytes(entry)));
    let candidates = directories.filter(|directory| directory.is_absolute()).map(|directory| directory.join(name));
    candidates.into_iter().find(|candidate| candidate.is_file() && access(candidate, Access::EXEC_OK).is_ok())
}

/// Whether a path names the file that this process runs.
pub fn is_own_program(path: &AbsolutePath) -> bool {
    let identity = |path: &Path| {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok()
    };
    let own = identity(Path::new("/proc/self/exe"));
    own.is_some() && own == identity(Path::new(path.as_str()))
}

/// A started process. Ended and reaped when dropped.
#[derive(Debug)]
pub struct HostProcess(Child);

impl HostProcess {
    /// Starts a program. [`Fault::NotFound`] if `program` is a bare name.
    pub fn start(order: HostOrder) -> Result<Self, Fault> {
        Ok(Self(with_usual_signals(command(order)?)?))
    }

    /// As [`HostProcess::start`], with the signal mask that this process was started with. It is this program first, which
    /// lets the signals through and becomes the other one ([`become_program`]); if it cannot, it ends with 126 or 127.
    pub fn start_attended(order: HostOrder, signals: &Forwarding) -> Result<Self, Fault> {
        let first = [SHIM.into(), signals.to_let_through().into(), order.program];
        let arguments = first.into_iter().chain(order.arguments).collect();
        Ok(Self(command(HostOrder { program: "/proc/self/exe".into(), arguments, ..order })?.spawn()?))
    }

    /// What became of it since this was asked last, if anything: it stopped, or it ended.
    pub fn change(&mut self) -> Result<Option<Change>, Fault> {
        let stopped = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
        let id = WaitId::Pid(Pid::from_child(&self.0));
        match retry_on_intr(|| waitid(id.clone(), stopped)) {
            Ok(Some(status)) if status.stopped() => return Ok(Some(Change::Stopped)),
            // It has ended and was waited for: nothing can have stopped it.
            Ok(_) | Err(rustix::io::Errno::CHILD) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(self.0.try_wait()?.map(|status| Change::Ended(ending(status))))
    }

    /// Lets it go on (SIGCONT). Harmless if it runs, or has ended.
    pub fn resume(&mut self) -> Result<(), Fault> {
        self.signal(Signal::CONT.as_raw())
    }

    /// Sends it a signal by its number; SIGTERM instead of a real-time one, which means the same to whoever does not
    /// expect it. Harmless after its end.
    pub fn signal(&mut self, number: i32) -> Result<(), Fault> {
        let signal = Signal::from_named_raw(number).unwrap_or(Signal::TERM);
        if self.0.try_wait()?.is_some() {
            return Ok(());
        }
        Ok(kill_process(Pid::from_child(&self.0), signal)?)
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// The pipe to its standard input, once. Dropping it says end of input.
    pub fn take_input(&mut self) -> Option<ChildStdin> {
        self.0.stdin.take()
    }

    /// The pipe from its standard output, once.
    pub fn take_output(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// The pipe from its standard error, once.
    pub fn take_errors(&mut self) -> Option<ChildStderr> {
        self.0.stderr.take()
    }

    /// Waits for its end (closes the pipe to its input first).
    pub fn wait(&mut self) -> Result<Ending, Fault> {
        Ok(ending(self.0.wait()?))
    }

    /// Waits for its end; `None` if somebody asks for this process's own end first ([`Forwarding::asked_to_end`]).
    pub fn wait_attended(&mut self, signals: &Forwarding) -> Result<Option<Ending>, Fault> {
        let its_end = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty())?;
        if signals.readable(its_end.as_fd())? { self.wait().map(Some) } else { Ok(None) }
    }

    /// Waits at most so long; `None` if it still runs.
    pub fn wait_at_most(&mut self, time: Duration) -> Result<Option<Ending>, Fault> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(500);
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(ending(status)));
            }
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Asks it to end (SIGTERM). Harmless after its end.
    pub fn terminate(&mut self) -> Result<(), Fault> {
        if self.0.try_wait()?.is_some() {
            return Ok(());
        }
        Ok(kill_process(Pid::from_child(&self.0), Signal::TERM)?)
    }

    /// Ends it (SIGKILL). Harmless after its end; still to be waited for.
    pub fn kill(&mut self) -> Result<(), Fault> {
        Ok(self.0.kill()?)
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts from a thread of its own: a program inherits the mask of the thread that starts it, and this process's own
/// masks are none of its business.
fn with_usual_signals(mut command: Command) -> Result<Child, Fault> {
    std::thread::scope(|scope| {
        let starter = scope.spawn(move || {
            super::signals::usual_file_size_limit()?;
            Ok(command.spawn()?)
        });
        starter.join().unwrap_or(Err(Fault::Io(0)))
    })
}

fn command(order: HostOrder) -> Result<Command, Fault> {
    if !order.program.as_encoded_bytes().contains(&b'/') {
        return Err(Fault::NotFound);
    }
    let mut command = Command::new(&order.program);
    command
        .args(&order.arguments)
        .env_clear()
        .envs(order.environment)
        .current_dir(order.directory.as_str())
        .stdin(stdio(order.input))
        .stdout(stdio(order.output))
        .stderr(stdio(order.errors));
    Ok(command)
}

fn stdio(stream: Stream) -> Stdio {
    match stream {
        Stream::Pipe => Stdio::piped(),
        Stream::Inherit => Stdio::inherit(),
        Stream::Null => Stdio::null(),
        Stream::Given(file) => Stdio::from(file),
    }
}

fn ending(status: std::process::ExitStatus) -> Ending {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().map_or_else(|| Ending::Signal(status.signal().unwrap_or(0)), Ending::Exit)
}
