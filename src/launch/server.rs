//! A server as a child: one line out, one line in, as a host speaks.

use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::value::Value;
use crate::system::Fault;
use crate::system::os::host_process::{ChildStdin, ChildStdout, Ending, HostOrder, HostProcess, Stream};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

/// Nesting of a reply: a Capsule inside the envelope.
const REPLY_DEPTH: usize = limits::RUNTIME_REPLY_DEPTH + 8;

/// A started server. Ended and reaped when dropped.
pub struct Server {
    process: HostProcess,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u32,
}

impl Server {
    /// Starts this executable's `mcp` with exactly this environment.
    pub fn start(directory: &AbsolutePath, environment: Vec<(OsString, OsString)>) -> Result<Self, Fault> {
        Self::with(vec!["mcp".into()], directory, environment, Stream::Inherit)
    }

    /// Starts this executable with exactly these arguments and this environment; what it says on standard error is
    /// dropped.
    pub fn start_quietly(
        arguments: &[String],
        directory: &AbsolutePath,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Self, Fault> {
        Self::with(arguments.iter().map(Into::into).collect(), directory, environment, Stream::Null)
    }

    fn with(
        arguments: Vec<OsString>,
        directory: &AbsolutePath,
        environment: Vec<(OsString, OsString)>,
        errors: Stream,
    ) -> Result<Self, Fault> {
        let mut process = HostProcess::start(HostOrder {
            program: "/proc/self/exe".into(),
            arguments,
            environment,
            directory: directory.clone(),
            input: Stream::Pipe,
            output: Stream::Pipe,
            errors,
        })?;
        let input = process.take_input();
        let output = BufReader::new(process.take_output().ok_or(Fault::WrongKind)?);
        Ok(Self { process, input, output, requests: 0 })
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
            ("method", Value::from(method)),
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
        self.send(&Value::object([("jsonrpc", Value::from("2.0")), ("method", Value::from(method))]))
    }

    fn send(&mut self, message: &Value) -> Result<(), Fault> {
        let mut line = write::compact(message).map_err(|_| Fault::WrongKind)?;
        line.push('\n');
        let input = self.input.as_mut().ok_or(Fault::NotFound)?;
        input.write_all(line.as_bytes()).and_then(|()| input.flush()).map_err(|_| Fault::NotFound)
    }

    fn receive(&mut self) -> Result<Value, Fault> {
        let room = u64::try_from(limits::MESSAGE_BYTES).map_err(|_| Fault::TooLarge)? + 1;
        let mut line = String::new();
        self.output.by_ref().take(room).read_line(&mut line).map_err(|_| Fault::NotFound)?;
        read_strict(line.as_bytes(), REPLY_DEPTH).map_err(|_| Fault::WrongKind)
    }

    /// Closes its input and waits for its end.
    pub fn finish(mut self) -> Result<bool, Fault> {
        self.input = None;
        Ok(self.process.wait_at_most(Duration::from_secs(5))? == Some(Ending::Exit(0)))
    }
}
