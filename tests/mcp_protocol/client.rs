//! A client over two pipes, and operations that do what the `cwd` of a call says.

use kdna_broker::broker::{Answer, Operations, Profile, Selection, Task};
use kdna_broker::foundation::refusal::{Reason, Refusal};
use kdna_broker::foundation::value::Value as Document;
use kdna_broker::mcp::{Ending, ServeOptions, ToolNames, serve};
use kdna_broker::system::{Cancel, Enforcement};
use serde_json::Value;
use std::io::{BufRead, BufReader, PipeWriter, Write, pipe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
pub(crate) const PING: &str = r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;

pub(crate) fn code(reply: &Value) -> i64 {
    reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {reply}"))
}

pub(crate) fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap()
}

pub(crate) fn cancel(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"r"}}}}"#)
}

/// Longer than anything here takes; only a fault waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happened, in order: calls that started and ended, and writes.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn note(&self, line: impl Into<String>) {
        self.0.lock().unwrap().push(line.into());
    }
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
    pub(crate) fn holds(&self, line: &str) -> bool {
        self.lines().iter().any(|known| known == line)
    }
    pub(crate) fn wait_for(&self, line: &str) {
        let start = std::time::Instant::now();
        while !self.holds(line) {
            assert!(start.elapsed() < PATIENCE, "never came: {line}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Operations without a workspace: the `cwd` is the script.
#[derive(Default)]
pub(crate) struct Scripted {
    pub(crate) log: Log,
    pub(crate) released: AtomicBool,
}

impl Scripted {
    fn act(&self, what: &str, cwd: &str, cancel: &Cancel) -> Result<Answer, Refusal> {
        self.log.note(format!("start {what} {cwd}"));
        let (word, number) = cwd.split_once(':').unwrap_or((cwd, "0"));
        let size = match word {
            "/hold" | "/deaf" => {
                while !self.released.load(Ordering::SeqCst) && !cancel.is_set() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if cancel.is_set() {
                    self.log.note(format!("cancelled {what} {cwd}"));
                    if word == "/hold" {
                        return Err(Refusal::new(Reason::CallCancelled));
                    }
                }
                0
            }
            "/refuse" => return Err(Refusal::new(Reason::ConsentMissing)),
            "/panic" => panic!("asked for"),
            "/size" => number.parse().unwrap(),
            _ => 0,
        };
        let filler = "\"".repeat(size);
        let document = Document::object(
            [("document_type", what), ("cwd", cwd), ("filler", &filler)].map(|(k, v)| (k, Document::copied(v))),
        );
        Ok(Answer {
            document,
            enforcement: Some(Enforcement {
                landlock: 4,
                seccomp: true,
                sealed: true,
                pin: kdna_broker::system::PinKind::Embedded,
                secret_locked: None,
            }),
        })
    }
}

fn task_word(task: &Task) -> &'static str {
    match task {
        Task::Text(_) => "text",
        Task::NotUnicode => "not-unicode",
    }
}

impl Operations for Scripted {
    fn status(&self, cwd: &str, cancel: &Cancel) -> Result<Answer, Refusal> {
        self.act("status", cwd, cancel)
    }
    fn resolve(&self, cwd: &str, task: &Task, _: Option<&Selection>, cancel: &Cancel) -> Result<Answer, Refusal> {
        if *task == Task::NotUnicode {
            return Err(Refusal::new(Reason::TaskNotUtf8));
        }
        self.act(&format!("resolve-{}", task_word(task)), cwd, cancel)
    }
    fn load(
        &self,
        cwd: &str,
        _: &Task,
        selection: Option<&Selection>,
        profile: Profile,
        render: &dyn Fn(&Answer) -> Result<Vec<u8>, Refusal>,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, Refusal> {
        let selected = if selection.is_some() { "-selected" } else { "" };
        let answer = self.act(&format!("load-{}{selected}", profile.as_str()), cwd, cancel)?;
        let mut message = render(&answer)?;
        // A mark that only these exact bytes hold: blanks after the document are still one line of JSON.
        let end = message.pop();
        message.extend_from_slice(b"   ");
        message.extend(end);
        Ok(message)
    }
}

/// Notes every write before passing it on, so that whoever has read a message finds its note.
struct Noted(Log, PipeWriter);

impl Write for Noted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let id = serde_json::from_slice::<Value>(bytes).map_or("?".to_owned(), |message| message["id"].to_string());
        self.0.note(if bytes.ends_with(b"\n") { format!("write {id}") } else { format!("part {}", bytes.len()) });
        let count = self.1.write(bytes)?;
        if count < bytes.len() {
            self.0.note(format!("only {count}"));
        }
        Ok(count)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        self.1.flush()
    }
}

/// One session and its client.
pub(crate) struct Client {
    input: Option<PipeWriter>,
    lines: Receiver<Vec<u8>>,
    server: JoinHandle<Ending>,
    pub(crate) operations: Arc<Scripted>,
    pub(crate) log: Log,
}

impl Client {
    pub(crate) fn start() -> Self {
        Self::with(ToolNames::Dotted)
    }

    pub(crate) fn with(tool_names: ToolNames) -> Self {
        let (server_input, input) = pipe().unwrap();
        let (output, server_output) = pipe().unwrap();
        let operations = Arc::new(Scripted::default());
        let log = operations.log.clone();
        let shared: Arc<dyn Operations> = operations.clone();
        let noted = Noted(log.clone(), server_output);
        let options = ServeOptions { tool_names, server_version: "9.8.7".to_owned() };
        let server = std::thread::spawn(move || serve(server_input, noted, shared, options));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { input: Some(input), lines, server, operations, log }
    }

    pub(crate) fn handshaken(revision: &str) -> Self {
        let mut client = Self::start();
        client.initialize(revision);
        client
    }

    pub(crate) fn initialize(&mut self, revision: &str) -> Value {
        self.line(&format!(
            r#"{{"jsonrpc":"2.0","id":"init","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
        ));
        let reply = self.next();
        self.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        reply
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(crate) fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    pub(crate) fn call(&mut self, id: &str, tool: &str, arguments: &str) {
        self.line(&call(id, tool, arguments));
    }

    pub(crate) fn status(&mut self, id: &str, cwd: &str) {
        self.call(id, "kdna.workspace-status", &format!(r#"{{"cwd":"{cwd}"}}"#));
    }

    pub(crate) fn load(&mut self, id: &str, cwd: &str) {
        self.call(id, "kdna.workspace-load", &format!(r#"{{"cwd":"{cwd}","task":"t"}}"#));
    }

    /// The exact bytes of the next message.
    pub(crate) fn next_bytes(&self) -> Vec<u8> {
        self.lines.recv_timeout(PATIENCE).expect("an answer")
    }

    pub(crate) fn next(&self) -> Value {
        let bytes = self.next_bytes();
        assert!(bytes.ends_with(b"\n") && !bytes.ends_with(b"\r\n"));
        serde_json::from_slice(&bytes).expect("a line of JSON")
    }

    /// Asks and takes the answer.
    pub(crate) fn ask(&mut self, line: &str) -> Value {
        self.line(line);
        self.next()
    }

    /// Shows that nothing was written since the last answer: the next one is that of a ping sent now.
    pub(crate) fn assert_silent(&mut self) {
        self.line(r#"{"jsonrpc":"2.0","id":"silent?","method":"ping"}"#);
        assert_eq!(self.next(), serde_json::json!({"jsonrpc": "2.0", "id": "silent?", "result": {}}));
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Closes the input, takes all that still comes and the way the session ended.
    pub(crate) fn finish(mut self) -> (Vec<Value>, Ending) {
        self.close_input();
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => rest.push(serde_json::from_slice(&line).expect("a line of JSON")),
                Err(RecvTimeoutError::Disconnected) => return (rest, self.server.join().unwrap()),
                Err(RecvTimeoutError::Timeout) => panic!("the session does not end"),
            }
        }
    }
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

/// A session over given bytes, to its end.
pub(crate) fn served(input: &[u8]) -> Vec<Value> {
    let mut client = Client::start();
    client.bytes(input);
    let (replies, ending) = client.finish();
    assert_eq!(ending, Ending::InputEnded);
    replies
}

/// A client that sends and never reads: its end of the output is closed once the first call runs.
pub(crate) fn without_reader(lines: &[String]) -> (Arc<Scripted>, Ending) {
    let (server_input, mut input) = pipe().unwrap();
    let (output, server_output) = pipe().unwrap();
    let operations = Arc::new(Scripted::default());
    let shared: Arc<dyn Operations> = operations.clone();
    let server = std::thread::spawn(move || serve(server_input, server_output, shared, options()));
    for line in lines {
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }
    operations.log.wait_for("start load-compact /hold");
    drop(output);
    input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n").unwrap();
    // The input stays open: the session must not wait for it.
    let ending = server.join().unwrap();
    drop(input);
    (operations, ending)
}

/// Fails at every use.
struct Failing;

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::ConnectionReset.into())
    }
}

pub(crate) fn with_failing_output() -> Ending {
    serve(&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"[..], Failing, Arc::new(Scripted::default()), options())
}

pub(crate) fn with_failing_input() -> Ending {
    serve(Failing, std::io::sink(), Arc::new(Scripted::default()), options())
}

fn options() -> ServeOptions {
    ServeOptions { tool_names: ToolNames::Dotted, server_version: "9.8.7".to_owned() }
}
