//! One workspace with one attached asset, a consent, a copy of the stand-in runtime, its pins, and a server over them.

use crate::support::command::{Exit, Finished, LIMIT, Program, Scratch, Server, run};
use crate::support::package;
use kdna_broker::consent::document::ConsentFacts;
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::json::{read_strict, write};
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::value::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const NODE: &str = "/usr/bin/node";
const ASSET: &[u8] = include_bytes!("../../fixtures/assets/tiny.kdna");
pub(crate) const OTHER_ASSET: &[u8] = include_bytes!("../../fixtures/assets/review.kdna");
const ATTACHMENT: &str = "att_000000000000000000000001";
/// A text that only a Capsule of the fixture holds.
pub(crate) const CAPSULE_CANARY: &str = "say what would change your mind";

pub(crate) struct Stage {
    pub(crate) scratch: Scratch,
}

/// A stage, or `None` after saying that this machine has no Node.
pub(crate) fn stage() -> Option<Stage> {
    if Path::new(NODE).exists() {
        return Some(Stage::new());
    }
    println!("skipped: no node");
    None
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self { scratch: Scratch::new() };
        stage.scratch.directory("private", 0o700);
        stage.scratch.directory("ws/.kdna/assets", 0o755);
        stage.scratch.directory("ws/below", 0o755);
        stage.scratch.directory("outside", 0o755);
        stage.scratch.directory("bin", 0o755);
        stage.scratch.file("outside/secret", "outside", 0o644);
        stage.scratch.file(stage.snapshot(), ASSET, 0o644);
        stage.scratch.file("ws/.kdna/attachments.json", record(), 0o644);
        stage.scratch.file("private/consent.json", stage.consent(), 0o600);
        copy(&package().join("tests/interop/node"), &stage.runtime());
        stage
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.scratch.path().join(below)
    }
    pub(crate) fn snapshot(&self) -> PathBuf {
        self.path(&format!("ws/.kdna/{}", snapshot_name()))
    }
    /// The folder of the runtime.
    pub(crate) fn runtime(&self) -> PathBuf {
        self.path("runtime")
    }
    /// The pins.
    pub(crate) fn pins(&self) -> PathBuf {
        self.path("private/pins.json")
    }

    /// Makes the runtime behave otherwise.
    pub(crate) fn behave(&self, script: &str) {
        self.scratch.file("runtime/src/behaviour.js", script, 0o644);
    }

    /// Pins the runtime as it is now.
    pub(crate) fn pin(&self) {
        let done = self.try_pin(NODE, &self.runtime(), "src/cli.js", &[]);
        assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    }

    pub(crate) fn try_pin(&self, interpreter: &str, package: &Path, entry: &str, more: &[&str]) -> Finished {
        let (package, pins) = (package.to_str().unwrap(), self.pins());
        let words = ["runtime", "pin", "--interpreter", interpreter, "--package", package, "--entry", entry, "--out"];
        let words = words.into_iter().chain([pins.to_str().unwrap()]).chain(more.iter().copied());
        run(self.scratch.command(Program::Broker, words), None)
    }

    /// The command of a server over this stage.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.scratch.command(Program::Broker, ["mcp"]);
        command
            .env("KDNA_MCP_WORKSPACE_ROOT", self.path("ws"))
            .env("KDNA_MCP_HOST_ID", "golden-host")
            .env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", self.path("private/consent.json"))
            .env("KDNA_BROKER_RUNTIME_PINS", self.pins());
        command
    }

    /// Pins and serves.
    pub(crate) fn serve(&self) -> Host {
        self.pin();
        Host::start(self.command())
    }

    fn consent(&self) -> Vec<u8> {
        let attached = Record::read(&record()).unwrap();
        let attachment = &attached.attachments()[0];
        ConsentFacts {
            nonce: "a".repeat(32),
            host_id: "golden-host".into(),
            workspace_root_digest: of_root_path(self.path("ws").to_str().unwrap()),
            asset_digest: attachment.asset.digest,
            attachment_id: attachment.id.clone(),
            scope_digest: attachment.scope_digest(),
            processor: "Example Inference Ltd".into(),
            profile: "compact".into(),
        }
        .bytes()
    }

    /// The journal's rows.
    pub(crate) fn journal(&self) -> String {
        fs::read_to_string(self.path("state/journal/journal-000001.jsonl")).unwrap()
    }
}

fn snapshot_name() -> String {
    format!("assets/sha256-{}.kdna", Digest::of(ASSET).hex())
}

fn record() -> Vec<u8> {
    let (digest, snapshot) = (Digest::of(ASSET), snapshot_name());
    format!(
        r#"{{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{{"root_marker":".kdna/attachments.json"}},"attachments":[{{"attachment_id":"{ATTACHMENT}","asset":{{"id":"kdna:golden:tiny","version":"1.0.0","digest":"{digest}","snapshot":"{snapshot}"}},"state":"enabled","role":"review","scope":{{"kind":"workspace","application":"task_hints","matching_policy":"open_world_ask","authority":"user_approved_routing_hint","approval_source":"preview_confirmed","applies_to":["review this change"],"does_not_apply_to":[]}},"resolution_policy":"load_when_clear_ask_when_ambiguous","update_policy":"explicit_switch_only","approved_at":"2026-01-01T00:00:00.000Z","history":[]}}]}}
"#
    )
    .into_bytes()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// A host over a running server.
pub(crate) struct Host {
    server: Server,
    requests: u32,
}

/// What one load gave.
pub(crate) struct Loaded {
    pub(crate) line: String,
    pub(crate) reply: Value,
}

impl Host {
    pub(crate) fn start(command: Command) -> Self {
        let mut host = Self { server: Server::start(command), requests: 0 };
        let hello = r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
        host.server.ask(&format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{hello}}}"#));
        host.server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        host
    }

    /// Sends the load without waiting; gives its id.
    pub(crate) fn begin(&mut self, cwd: &Path) -> u32 {
        self.requests += 1;
        let cwd = cwd.to_str().unwrap();
        self.server.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"kdna.workspace-load","arguments":{{"cwd":"{cwd}","task":"please review this change","profile":"compact"}}}}}}"#,
            self.requests
        ));
        self.requests
    }

    pub(crate) fn cancel(&mut self, id: u32) {
        self.server
            .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#));
    }

    pub(crate) fn finish(&self) -> Loaded {
        let line = self.receive(LIMIT).expect("an answer");
        let reply = read_strict(line.as_bytes(), 100).expect("JSON");
        Loaded { line, reply }
    }

    pub(crate) fn receive(&self, within: Duration) -> Option<String> {
        self.server.receive(within)
    }

    pub(crate) fn load(&mut self, cwd: &Path) -> Loaded {
        self.begin(cwd);
        self.finish()
    }

    /// Page faults of all children that the server has waited for: they grow with every process, and not without one.
    pub(crate) fn faults_of_children(&self) -> u64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.server.id())).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(8).unwrap().parse().unwrap()
    }

    /// Its children now.
    pub(crate) fn child_ids(&self) -> Vec<u32> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.server.id())).unwrap();
        let children = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
        children.flat_map(|ids| ids.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<u32>>()).collect()
    }

    /// The command lines of its children now.
    pub(crate) fn children(&self) -> Vec<String> {
        self.child_ids().into_iter().map(command_line).collect()
    }
}

/// The command line of a process, empty if there is none.
pub(crate) fn command_line(process: u32) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

impl Loaded {
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.reply, |value, key| value.get(key))
    }

    pub(crate) fn document(&self, path: &[&str]) -> Option<&Value> {
        let path: Vec<&str> = ["result", "structuredContent"].iter().chain(path).copied().collect();
        self.at(&path)
    }

    /// Compact text of a part of the delivered document.
    pub(crate) fn text(&self, path: &[&str]) -> String {
        self.document(path).map(|value| write::compact(value).unwrap()).unwrap_or_default()
    }

    /// Asserts a delivery.
    pub(crate) fn assert_delivered(&self) {
        assert_eq!(self.text(&["adoption"]), "\"load\"", "{}", self.line);
        assert!(self.line.contains(CAPSULE_CANARY));
    }

    /// Whether a word stands in the answer.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.line.contains(word)
    }

    /// Asserts a refusal with this code and reason, and that nothing of the Capsule is in it.
    pub(crate) fn assert_refused(&self, code: &str, reason: &str) {
        assert!(
            self.line.contains(&format!("\\\"{code}\\\"")) || self.line.contains(&format!("\"{code}\"")),
            "{}",
            self.line
        );
        assert!(self.line.contains(&format!("\"{reason}\"")), "{reason}: {}", self.line);
        assert!(!self.line.contains(CAPSULE_CANARY) && !self.line.contains("runtime-capsule"), "{}", self.line);
    }
}
