//! One of this product's own commands on a pseudo-terminal that answers its question: for the demonstration where there
//! is no person. Anything that runs as the person could do the same; SECURITY.md says so.

use crate::foundation::path::AbsolutePath;
use crate::launch::host::attend;
use crate::system::Fault;
use crate::system::os::forward::Forwarding;
use crate::system::os::host_process::{Ending, HostOrder, HostProcess, Stream};
use crate::system::os::pty;
use std::ffi::OsString;
use std::io::{Read, Write};

/// The argument by which a command takes its standard input as its controlling terminal first. Internal: the
/// demonstration uses it, no help names it, and it may go without notice.
const FLAG: &str = "--on-terminal";
/// What a question ends with.
const PROMPT: &[u8] = b"[y/N] ";

/// If the first argument asks for it: takes standard input as the controlling terminal, and gives the arguments that
/// follow. `None` if it was not asked for; the error of the call if it failed.
pub fn continue_on_terminal(arguments: &[String]) -> Option<Result<&[String], Fault>> {
    let (first, rest) = arguments.split_first()?;
    (first == FLAG).then(|| pty::adopt_terminal_from_stdin().map(|()| rest))
}

/// Runs one of this executable's commands on a new pseudo-terminal, types `answer` at its question, and gives what was
/// shown and how it ended.
pub fn answer_on_terminal(
    arguments: &[&str],
    environment: Vec<(OsString, OsString)>,
    directory: &AbsolutePath,
    answer: &str,
) -> Result<(String, Ending), Fault> {
    let (mut terminal, slave) = pty::open_pair()?;
    let mut process = HostProcess::start(HostOrder {
        program: "/proc/self/exe".into(),
        arguments: std::iter::once(FLAG).chain(arguments.iter().copied()).map(OsString::from).collect(),
        environment,
        directory: directory.clone(),
        input: Stream::Given(slave),
        output: Stream::Null,
        errors: Stream::Inherit,
    })?;
    let mut shown = Vec::new();
    let mut answered = false;
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if !answered && shown.ends_with(PROMPT) {
            answered = true;
            terminal.write_all(format!("{answer}\n").as_bytes()).map_err(|_| Fault::NotFound)?;
        }
    }
    Ok((String::from_utf8_lossy(&shown).replace('\r', ""), process.wait()?))
}

/// Runs one of this executable's commands where the person is: their terminal, this process's streams but its output. What
/// this process is told meanwhile is passed on to it.
pub fn run_command(
    arguments: &[&str],
    environment: Vec<(OsString, OsString)>,
    directory: &AbsolutePath,
    signals: &Forwarding,
) -> Result<Ending, Fault> {
    let order = HostOrder {
        program: "/proc/self/exe".into(),
        arguments: arguments.iter().map(OsString::from).collect(),
        environment,
        directory: directory.clone(),
        input: Stream::Null,
        output: Stream::Null,
        errors: Stream::Inherit,
    };
    attend(&mut HostProcess::start_attended(order, signals)?, signals, || {})
}
