//! A real workspace with one attached asset and one consent, the real server over it, and what the kernel knows of its
//! processes. Everything lies in a scratch directory of one test.

use super::command::{Finished, LIMIT, Program, Scratch, Server, run};
use super::documents::{at, parse};
use kdna_broker::capability::state::open_state;
use kdna_broker::consent::document::ConsentFacts;
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::value::Value;
use kdna_broker::journal::{self, verify_directory};
use kdna_broker::system::os::OsSystem;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const HOST: &str = "golden-host";
pub(crate) const TASK: &str = "review the pull request";
/// A text that only the asset's Capsule holds.
pub(crate) const CANARY: &str = "tired on-call engineer";
pub(crate) const RECORD: &[u8] =
    include_bytes!("../../fixtures/golden/cases/mcp-load-ok/files/ws/.kdna/attachments.json");
pub(crate) const ASSET: &[u8] = include_bytes!("../../fixtures/assets/review.kdna");
pub(crate) const OTHER_ASSET: &[u8] = include_bytes!("../../fixtures/assets/tiny.kdna");
pub(crate) const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// The workspace `ws`, the consent `private/consent.json`, the state directory `state`.
pub(crate) struct Place {
    pub(crate) scratch: Scratch,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self { scratch: Scratch::new() };
        place.scratch.directory("ws/.kdna/assets", 0o755);
        place.scratch.directory("private", 0o700);
        place.scratch.file("ws/.kdna/attachments.json", RECORD, 0o600);
        place.scratch.file(Self::snapshot(), ASSET, 0o600);
        place.allow();
        place
    }

    /// The snapshot, below the scratch directory.
    pub(crate) fn snapshot() -> String {
        format!("ws/.kdna/assets/sha256-{}.kdna", Digest::of(ASSET).hex())
    }

    /// Writes the consent that fits.
    pub(crate) fn allow(&self) -> PathBuf {
        self.scratch.file("private/consent.json", self.consent().bytes(), 0o600)
    }

    /// The facts of the consent that fits.
    pub(crate) fn consent(&self) -> ConsentFacts {
        let record = Record::read(RECORD).expect("the record");
        let attachment = &record.attachments()[0];
        ConsentFacts {
            nonce: "a".repeat(32),
            host_id: HOST.into(),
            workspace_root_digest: of_root_path(self.path("ws").to_str().expect("a plain path")),
            asset_digest: attachment.asset.digest,
            attachment_id: attachment.id.clone(),
            scope_digest: attachment.scope_digest(),
            processor: "Example Inference Ltd".into(),
            profile: "compact".into(),
        }
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// `kdna-broker` with these arguments and all coordinates of this place.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.scratch.command(Program::Broker, arguments);
        command
            .env("KDNA_MCP_WORKSPACE_ROOT", self.path("ws"))
            .env("KDNA_MCP_HOST_ID", HOST)
            .env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", self.path("private/consent.json"));
        command
    }

    /// A server after its handshake.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(|command| command)
    }

    /// As [`Place::serve`], with the command changed.
    pub(crate) fn serve_with(&self, change: impl FnOnce(&mut Command) -> &mut Command) -> Server {
        let mut command = self.command(&["mcp"]);
        change(&mut command);
        let mut server = Server::start(command);
        let opened = server.ask(OPEN);
        assert!(opened.contains("serverInfo"), "{opened}");
        server
    }

    /// A call of one tool in the workspace.
    pub(crate) fn call(&self, id: u32, tool: &str, more: &[(&str, Value)]) -> String {
        self.call_in("ws", id, tool, more)
    }

    /// A call of one tool somewhere else.
    pub(crate) fn call_in(&self, directory: &str, id: u32, tool: &str, more: &[(&str, Value)]) -> String {
        let cwd = [("cwd", Value::copied(self.path(directory).to_str().expect("a plain path")))];
        let arguments = cwd.into_iter().chain(more.iter().cloned());
        let arguments = Value::Object(arguments.map(|(name, value)| (name.to_owned(), value)).collect());
        let message = Value::object([
            ("jsonrpc", Value::from("2.0")),
            ("id", Value::from(id)),
            ("method", Value::from("tools/call")),
            ("params", Value::object([("name", Value::copied(tool)), ("arguments", arguments)])),
        ]);
        write::compact(&message).expect("JSON")
    }

    /// A load of the task that the record allows.
    pub(crate) fn load(&self, id: u32) -> String {
        self.call(id, "kdna.workspace-load", &[("task", Value::from(TASK))])
    }

    /// One load by a server of its own.
    pub(crate) fn try_load(&self) -> String {
        self.serve().ask(&self.load(1))
    }

    /// What a server that does not start says.
    pub(crate) fn start(&self, change: impl FnOnce(&mut Command) -> &mut Command) -> Finished {
        let mut command = self.command(&["mcp"]);
        change(&mut command);
        run(command, None)
    }

    /// How many rows the journal has; every row must verify.
    pub(crate) fn rows(&self) -> u64 {
        let system = OsSystem::new();
        let path = AbsolutePath::parse(self.scratch.state().to_str().expect("a plain path")).expect("a path");
        let below = RelativePath::parse(journal::DIRECTORY).expect("a name");
        let directory = open_state(&system, &path.join(&below)).expect("the journal's directory");
        verify_directory(&system, &directory).expect("a readable journal").expect("a journal that verifies").rows
    }

    /// The text of the whole journal.
    pub(crate) fn journal(&self) -> String {
        fs::read_to_string(self.scratch.state().join("journal/journal-000001.jsonl")).unwrap_or_default()
    }
}

/// Whether an answer hands over anything of an asset.
pub(crate) fn delivered(answer: &str) -> bool {
    answer.contains("kdna.runtime-capsule") || answer.contains(CANARY)
}

/// The code of a refused call.
pub(crate) fn code(answer: &str) -> String {
    let message = parse(answer.as_bytes()).unwrap_or_else(|| panic!("no JSON: {answer}"));
    let text = at(&message, "/result/content/0/text").and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}"));
    let document = parse(text.as_bytes()).expect("a document");
    at(&document, "/error/code").and_then(Value::as_str).unwrap_or("none").to_owned()
}

/// The closed reason of a refused call.
pub(crate) fn reason(answer: &str) -> String {
    let message = parse(answer.as_bytes()).unwrap_or_else(|| panic!("no JSON: {answer}"));
    let meta = at(&message, "/result/_meta").and_then(|meta| meta.get("kdna-broker/reason"));
    meta.and_then(Value::as_str).unwrap_or("none").to_owned()
}

/// Asserts that a load delivers nothing, under this code.
#[track_caller]
pub(crate) fn refused(answer: &str, expected: &str) {
    assert!(!delivered(answer), "delivered: {}", answer.get(..200).unwrap_or(answer));
    assert_eq!(code(answer), expected, "{answer}");
}

/// Sends a signal to a process of this test.
pub(crate) fn signal(id: u32, signal: Signal) {
    let process = i32::try_from(id).ok().and_then(Pid::from_raw).expect("a process id");
    let _ = kill_process(process, signal);
}

/// The children of all threads of a process, zombies included.
pub(crate) fn children(id: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// One line of a process's status, without its name.
pub(crate) fn status(id: u32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(|rest| rest.trim().to_owned()))
}

/// Whether a process is there and no zombie.
pub(crate) fn alive(id: u32) -> bool {
    status(id, "State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends loads until a worker of the server is caught and stopped in the middle of one: its id, and that of the load that
/// waits for it. Answers of loads that were too fast are taken away.
pub(crate) fn stop_a_worker(server: &mut Server, place: &Place) -> (u32, u32) {
    for request in 100..10_000 {
        server.send(&place.load(request));
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(200) {
            let Some(worker) = children(server.id()).first().copied() else { continue };
            // Not before it has confined itself: until then its end with the broker is not arranged.
            if status(worker, "Seccomp").as_deref() != Some("2") {
                continue;
            }
            signal(worker, Signal::STOP);
            if server.receive(Duration::from_millis(50)).is_none() && alive(worker) {
                return (worker, request);
            }
            signal(worker, Signal::CONT);
            break;
        }
        while server.receive(Duration::from_millis(100)).is_some() {}
    }
    panic!("no worker was caught");
}
