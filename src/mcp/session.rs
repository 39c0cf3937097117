//! One session: a thread that reads and answers what needs no work, and one (the caller's) that runs the calls, one
//! at a time and in order. Both write whole messages through one lock; nothing else ever reaches the output.
//!
//! The session ends when the input does (after everything received is answered) or when nobody reads the output any
//! more. The reading thread may then still wait for input; it holds nothing but the transport.

use super::frame::{Line, Lines};
use super::queue::Queue;
use super::reader::Reader;
use super::reply::ReplyFrame;
use super::revisions::Revision;
use super::schema::ToolNames;
use super::worker;
use super::workspace::Workspace;
use crate::broker::Operations;
use crate::foundation::value::Value;
use crate::system::Cancel;
use serde_json::value::RawValue;
use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What the server is told at its start.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// How the tools are named.
    pub tool_names: ToolNames,
    /// The version in `serverInfo`.
    pub server_version: String,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The input ended; everything received was answered.
    InputEnded,
    /// The client closed the output.
    OutputClosed,
    /// The input or the output failed, or the reading thread could not be started.
    Failed,
    /// The watcher ended the session, with this exit status: the running call was cancelled, what waited was dropped.
    Stopped(u8),
}

impl Ending {
    /// The exit status of the process: 0, 1 for [`Ending::Failed`], and the one that came with [`Ending::Stopped`].
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::InputEnded | Self::OutputClosed => 0,
            Self::Failed => 1,
            Self::Stopped(status) => status,
        }
    }
}

/// Serves the three workspace tools until the session ends. Blocks; calls run on the calling thread.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    operations: Arc<dyn Operations>,
    options: ServeOptions,
) -> Ending {
    let ServeOptions { tool_names: names, server_version } = options;
    run(input, output, Workspace { operations, names }, server_info("kdna-broker", server_version))
}

/// As [`serve`], with a watcher: it runs on a thread of its own and may end the session at any time by calling what it
/// is given, with an exit status. No half message is left on the output then, unless nobody reads it.
pub fn serve_watched(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    operations: Arc<dyn Operations>,
    options: ServeOptions,
    watcher: impl FnOnce(&dyn Fn(u8)) + Send + 'static,
) -> Ending {
    let ServeOptions { tool_names: names, server_version } = options;
    run_watched(input, output, Workspace { operations, names }, server_info("kdna-broker", server_version), watcher)
}

/// Why a call could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadFault {
    /// There is no such tool, or no name.
    UnknownTool,
    /// The tool is known, its arguments are wrong.
    Arguments,
}

/// The tools of one server, as the transport sees them.
pub(crate) trait Toolset: Send + Sync + 'static {
    /// A call with typed arguments.
    type Request: Send;
    /// The members of the result of `tools/list`, as JSON.
    fn list(&self, revision: Revision) -> String;
    /// Reads a call from the raw members of its `params`.
    fn read(&self, name: Option<&RawValue>, arguments: Option<&RawValue>) -> Result<Self::Request, ReadFault>;
    /// Whether its answer must be written as it is, at once, before anything else is done.
    fn delivers(&self, request: &Self::Request) -> bool;
    /// Runs a call and builds its whole message.
    fn call(&self, request: &Self::Request, reply: &ReplyFrame<'_>, cancel: &Cancel) -> Vec<u8>;
}

/// What both threads share.
pub(crate) struct Session<T: Toolset> {
    pub(crate) tools: T,
    pub(crate) queue: Queue<T::Request>,
    /// The `serverInfo` object.
    pub(crate) server_info: Value,
    output: Mutex<Box<dyn Write + Send>>,
    failure: Mutex<Option<Ending>>,
}

impl<T: Toolset> Session<T> {
    /// Writes one whole message; false, and the session is over, if nobody takes it.
    pub(crate) fn send(&self, message: &[u8]) -> bool {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = output.write_all(message).and_then(|()| output.flush());
        drop(output);
        match written {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => self.break_off(Ending::OutputClosed),
            Err(_) => self.break_off(Ending::Failed),
        }
    }

    /// Waits until the message that is being written is whole; nothing reaches the output after it.
    fn mute(&self) {
        *self.output.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(std::io::sink());
    }

    fn break_off(&self, ending: Ending) -> bool {
        self.fail(ending);
        self.queue.break_off();
        false
    }

    fn fail(&self, ending: Ending) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(ending);
    }
}

/// Runs a session over any tools.
pub(crate) fn run<T: Toolset>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    tools: T,
    server_info: Value,
) -> Ending {
    run_watched(input, output, tools, server_info, |_| ())
}

/// As [`run`], with a watcher that may end the session.
pub(crate) fn run_watched<T: Toolset>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    tools: T,
    server_info: Value,
    watcher: impl FnOnce(&dyn Fn(u8)) + Send + 'static,
) -> Ending {
    let session = Arc::new(Session {
        tools,
        queue: Queue::new(),
        server_info,
        output: Mutex::new(Box::new(output)),
        failure: Mutex::new(None),
    });
    let reading = Arc::clone(&session);
    let reader = std::thread::Builder::new().name("mcp-input".to_owned()).spawn(move || read_all(&reading, input));
    let watched = Arc::clone(&session);
    let stop = move |status| {
        watched.break_off(Ending::Stopped(status));
    };
    let watcher = std::thread::Builder::new().name("mcp-watcher".to_owned()).spawn(move || watcher(&stop));
    if reader.is_err() || watcher.is_err() {
        return Ending::Failed;
    }
    while let Some(job) = session.queue.next() {
        if worker::run(&session, &job).is_some_and(|message| !session.send(&message)) {
            break;
        }
    }
    session.mute();
    let failure = *session.failure.lock().unwrap_or_else(PoisonError::into_inner);
    failure.unwrap_or(Ending::InputEnded)
}

/// The `serverInfo` object.
fn server_info(name: &str, version: String) -> Value {
    Value::object([("name", Value::copied(name)), ("version", Value::from(version))])
}

/// Closes the queue when the reading thread ends, however it ends.
struct Closing<'a, T: Toolset>(&'a Session<T>);

impl<T: Toolset> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.0.queue.close();
    }
}

fn read_all<T: Toolset>(session: &Session<T>, input: impl Read) {
    let _closing = Closing(session);
    let mut lines = Lines::new(input);
    let mut reader = Reader::new(session);
    loop {
        let goes_on = match lines.next() {
            Ok(Line::Whole(line)) => reader.receive(line),
            Ok(Line::Oversize) => reader.refuse_line(),
            Ok(Line::End) => return,
            Err(_) => return session.fail(Ending::Failed),
        };
        if !goes_on || session.queue.is_broken() {
            return;
        }
    }
}
