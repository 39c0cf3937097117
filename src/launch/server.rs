//! A server as a child: one line out, one line in, as a host speaks. Waits for a quiet server no longer than its caller
//! says.

use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::value::Value;
use crate::system::Fault;
use crate::system::os::host_process::{ChildStdin, ChildStdout, Ending, HostOrder, HostProcess, Stream};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Nesting of a reply: a Capsule inside the envelope.
const REPLY_DEPTH: usize = limits::RUNTIME_REPLY_DEPTH + 8;

/// A started server. Ended and reaped when dropped.
pub struct Server {
    process: HostProcess,
    input: Option<ChildStdin>,
    replies: Receiver<String>,
    /// When its replies must be there.
    until: Option<Instant>,
    requests: u32,
}

/// Time that a server started quietly has for all of its replies.
const PATIENCE: Duration = Duration::from_secs(10);

impl Server {
    /// Starts this executable's `mcp` with exactly this environment.
    pub fn start(directory: &AbsolutePath, environment: Vec<(OsString, OsString)>) -> Result<Self, Fault> {
        let arguments = vec!["mcp".into()];
        Self::over(own(arguments, directory, environment, Stream::Inherit), None)
    }

    /// Starts this executable with exactly these arguments and this environment; what it says on standard error is
    /// dropped. All of its replies must be there 10 seconds from now, or it is ended and the one who asks gets
    /// [`Fault::Locked`].
    pub fn start_quietly(
        arguments: &[String],
        directory: &AbsolutePath,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, Fault> {
        let arguments = arguments.iter().map(Into::into).collect();
        Self::over(own(arguments, directory, environment, Stream::Null), Some(PATIENCE))
    }

    fn over(order: HostOrder, patience: Option<Duration>) -> Result<Self, Fault> {
        let mut process = HostProcess::start(order)?;
        let input = process.take_input();
        let replies = lines(process.take_output().ok_or(Fault::WrongKind)?)?;
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        Ok(Self { process, input, replies, until, requests: 0 })
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Greets it and asks for the names of its tools.
    pub fn tools(&mut self) -> Result<Vec<String>, Fault> {
        let client = Value::object([("name", Value::from("kdna-broker")), ("version", Value::from("1"))]);
        let greeting = Value::object([
            ("protocolVersion", Value::from("2025-06-18")),
            ("capabilities", Value::object::<&str, 0>([])),
            ("clientInfo", client),
        ]);
        self.request("initialize", greeting)?;
        self.notify("notifications/initialized")?;
        let listed = self.request("tools/list", Value::object::<&str, 0>([]))?;
        let tools = listed.get("tools").and_then(Value::as_array).ok_or(Fault::WrongKind)?;
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
        tools.iter().map(name).collect::<Option<_>>().ok_or(Fault::WrongKind)
    }

    /// Sends one request and reads its reply's `result`.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, Fault> {
        self.requests += 1;
        self.send(&Value::object([
            ("jsonrpc", Value::from("2.0")),
            ("id", Value::from(self.requests)),
            ("method", Value::copied(method)),
            ("params", params),
        ]))?;
        let reply = self.receive()?;
        if reply.get("id").and_then(Value::as_number) != Some(f64::from(self.requests)) {
            return Err(Fault::Changed);
        }
        reply.get("result").cloned().ok_or(Fault::WrongKind)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str) -> Result<(), Fault> {
        self.send(&Value::object([("jsonrpc", Value::from("2.0")), ("method", Value::copied(method))]))
    }

    fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let mut line = write::compact(message).map_err(|_| Fault::WrongKind)?;
        line.push('\n');
        let input = self.input.as_mut().ok_or(Fault::NotFound)?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(|_| Fault::NotFound)
    }

    /// The next reply; [`Fault::Locked`] if it is not there in time, and then the server is ended.
    fn receive(&mut self) -> Result<Value, Fault> {
        let line = match self.until {
            None => self.replies.recv().map_err(|_| Fault::NotFound)?,
            Some(until) => match self.replies.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => line,
                Err(RecvTimeoutError::Disconnected) => return Err(Fault::NotFound),
                Err(RecvTimeoutError::Timeout) => {
                    self.process.kill()?;
                    return Err(Fault::Locked);
                }
            },
        };
        read_strict(line.as_bytes(), REPLY_DEPTH).map_err(|_| Fault::WrongKind)
    }

    /// Closes its input and waits for its end.
    pub fn finish(mut self) -> Result<bool, Fault> {
        self.input = None;
        Ok(self.process.wait_at_most(Duration::from_secs(5))? == Some(Ending::Exit(0)))
    }
}

/// This executable.
fn own(
    arguments: Vec<OsString>,
    directory: &AbsolutePath,
    environment: Vec<(OsString, OsString)>,
    errors: Stream,
) -> HostOrder {
    HostOrder {
        program: "/proc/self/exe".into(),
        arguments,
        environment,
        directory: directory.clone(),
        input: Stream::Pipe,
        output: Stream::Pipe,
        errors,
    }
}

/// The lines of a server, read in a thread of their own so that one can stop waiting; it ends with the server.
fn lines(output: ChildStdout) -> Result<Receiver<String>, Fault> {
    let room = u64::try_from(limits::MESSAGE_BYTES).map_err(|_| Fault::TooLarge)? + 1;
    let (sender, receiver) = sync_channel(0);
    let mut output = BufReader::new(output);
    std::thread::Builder::new().name("server-replies".to_owned()).spawn(move || {
        let mut line = String::new();
        while output.by_ref().take(room).read_line(&mut line).is_ok_and(|count| count > 0)
            && sender.send(std::mem::take(&mut line)).is_ok()
        {}
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(program: &str, arguments: &[&str], patience: Duration) -> Server {
        let directory = AbsolutePath::parse("/").unwrap();
        let arguments = arguments.iter().map(Into::into).collect();
        let order = HostOrder { program: program.into(), ..own(arguments, &directory, Vec::new(), Stream::Null) };
        Server::over(order, Some(patience)).unwrap()
    }

    #[test]
    fn a_server_that_does_not_answer_in_time_is_ended_and_not_waited_for() {
        let mut server = started("/bin/sh", &["-c", "exec sleep 1000"], Duration::from_millis(20));
        assert_eq!(server.tools(), Err(Fault::Locked));
        let ended = server.process.wait_at_most(Duration::from_secs(30)).unwrap();
        assert_eq!(ended, Some(Ending::Signal(9)), "it does not stay behind");
    }

    #[test]
    fn a_server_that_ends_without_an_answer_is_told_from_one_that_is_slow() {
        let mut server = started("/bin/sh", &["-c", "read line"], Duration::from_secs(600));
        assert_eq!(server.tools(), Err(Fault::NotFound));
    }
}
