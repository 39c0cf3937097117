//! Workspaces as the owner's command makes them, a server over them, and what its tools answer, in one word.
#![allow(dead_code, reason = "each test file uses its own part")]

use crate::support::command::{Exit, Program, Scratch, Server, run};
use crate::support::documents::parse;
use crate::support::package;
use kdna_broker::consent::document::ConsentFacts;
use kdna_broker::foundation::digest::of_root_path;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::value::{Object, Value};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(crate) const TASK: &str = "review the pull request";
pub(crate) const HOST: &str = "scene-host";
pub(crate) const PROCESSOR: &str = "Example Inference Ltd";
/// A text that only a Capsule of the fixture holds.
pub(crate) const CAPSULE_CANARY: &str = "tired on-call engineer";

/// The fixture asset.
pub(crate) fn asset() -> PathBuf {
    package().join("fixtures/assets/review.kdna")
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The record with these attachments.
    Record(Vec<String>),
    /// No record was found.
    NoRecord,
    /// A decision; for a load, with whether a Capsule came.
    Decision(String, bool),
    /// A refusal's code.
    Refused(String),
}

impl Reply {
    pub(crate) fn refused(code: &str) -> Self {
        Self::Refused(code.to_owned())
    }

    pub(crate) fn of(id: &str) -> Self {
        Self::Record(vec![id.to_owned()])
    }

    fn read(line: &str) -> Self {
        let message = parse(line.as_bytes()).unwrap_or_else(|| panic!("no document: {line}"));
        let text = crate::support::documents::at(&message, "/result/content/0/text").and_then(Value::as_str);
        let document = parse(text.unwrap_or_else(|| panic!("no text: {line}")).as_bytes()).expect("a document");
        let word = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        if let Some(error) = document.get("error") {
            return Self::Refused(word(error.get("code")).expect("a code"));
        }
        match word(document.get("document_type")).as_deref() {
            Some("kdna.mcp.workspace-status") => match document.get("attachments").filter(|record| !record.is_null()) {
                None => Self::NoRecord,
                Some(record) => {
                    let entries = record.get("attachments").and_then(Value::as_array).expect("entries");
                    Self::Record(entries.iter().map(|entry| word(entry.get("attachment_id")).expect("an id")).collect())
                }
            },
            Some("kdna.mcp.workspace-adoption") => Self::Decision(
                word(document.get("adoption")).expect("a decision"),
                document.get("runtime_capsule").is_some_and(|capsule| !capsule.is_null()),
            ),
            _ => Self::Decision(word(document.get("decision")).expect("a decision"), false),
        }
    }
}

/// A scratch place with a private directory for the consent.
pub(crate) struct Scene {
    pub(crate) scratch: Scratch,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let scratch = Scratch::new();
        scratch.directory("private", 0o700);
        Self { scratch }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.scratch.path().to_owned() } else { self.scratch.path().join(name) }
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.at(name).to_str().expect("a plain path").to_owned()
    }

    pub(crate) fn owner<const N: usize>(&self, arguments: [&str; N]) -> Command {
        self.scratch.command(Program::Owner, arguments)
    }

    /// The arguments that attach the fixture in a directory.
    pub(crate) fn attach_command(&self, workspace: &str) -> Command {
        let asset = asset();
        let asset = asset.to_str().expect("a plain path");
        let cwd = self.text(workspace);
        self.owner([
            "attach",
            asset,
            "--cwd",
            &cwd,
            "--role",
            "Review",
            "--applies-to",
            TASK,
            "--yes",
            "--scope-user-approved",
        ])
    }

    /// Makes a workspace and attaches the fixture; gives the attachment's id.
    pub(crate) fn attach(&self, workspace: &str) -> String {
        self.scratch.directory(workspace, 0o755);
        let done = run(self.attach_command(workspace), None);
        assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
        self.ids(workspace).pop().expect("an attachment")
    }

    pub(crate) fn record(&self, workspace: &str) -> Record {
        Record::read(&fs::read(self.at(workspace).join(".kdna/attachments.json")).expect("a record"))
            .expect("a readable record")
    }

    pub(crate) fn ids(&self, workspace: &str) -> Vec<String> {
        self.record(workspace).attachments().iter().map(|entry| entry.id.clone()).collect()
    }

    pub(crate) fn consent_path(&self) -> PathBuf {
        self.at("private/consent.json")
    }

    /// Allows the only attachment of a workspace for a server with this root.
    pub(crate) fn allow(&self, root: &str, workspace: &str) {
        let record = self.record(workspace);
        let attachment = &record.attachments()[0];
        let facts = ConsentFacts {
            nonce: "a".repeat(32),
            host_id: HOST.to_owned(),
            workspace_root_digest: of_root_path(&self.text(root)),
            asset_digest: attachment.asset.digest,
            attachment_id: attachment.id.clone(),
            scope_digest: attachment.scope_digest(),
            processor: PROCESSOR.to_owned(),
            profile: "compact".to_owned(),
        };
        self.scratch.file("private/consent.json", facts.bytes(), 0o600);
    }

    /// A host's draft about the only attachment of a workspace, as it is recorded.
    pub(crate) fn draft(&self, workspace: &str) -> Object {
        let record = self.record(workspace);
        let entry = &record.attachments()[0];
        let list = |texts: &[String]| Value::Array(texts.iter().map(|text| Value::copied(text)).collect());
        let members = [
            ("host_id", Value::from(HOST)),
            ("workspace_root", Value::copied(self.text(workspace).as_ref())),
            ("asset_id", entry.asset.id.clone().into()),
            ("asset_version", entry.asset.version.clone().into()),
            ("asset_digest", entry.asset.digest.into()),
            ("attachment_id", entry.id.clone().into()),
            ("role", entry.role.clone().into()),
            ("applies_to", list(&entry.scope.applies_to)),
            ("does_not_apply_to", list(&entry.scope.does_not_apply_to)),
            ("scope_digest", entry.scope_digest().into()),
            ("processor", PROCESSOR.into()),
            ("capsule_profile", "compact".into()),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Lets a shell on the command's terminal run it, as `"$0" "$@"` of the script.
    pub(crate) fn on_terminal(&self, command: &Command, script: &str) -> Command {
        let mut shell = Command::new("setsid");
        shell.args(["--ctty", "--wait", "/bin/sh", "-c", script]).arg(command.get_program());
        // The shell has the terminal already.
        shell.args(command.get_args().filter(|word| *word != "--on-terminal")).current_dir(self.at("")).env_clear();
        shell.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        shell
    }

    pub(crate) fn server_command(&self, root: &str) -> Command {
        let mut command = self.scratch.command(Program::Broker, ["mcp"]);
        command
            .env("KDNA_MCP_WORKSPACE_ROOT", self.at(root))
            .env("KDNA_MCP_HOST_ID", HOST)
            .env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", self.consent_path());
        command
    }

    pub(crate) fn server(&self, root: &str) -> Server {
        Server::start(self.server_command(root))
    }

    /// A command started by a shell script, which runs it as `"$0" "$@"`.
    pub(crate) fn in_shell(&self, command: &Command, script: &str) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).arg(command.get_program()).args(command.get_args()).current_dir(self.at(""));
        shell.env_clear().envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
        shell
    }

    /// Starts the server in a mount namespace of its own, after a shell script has mounted there. `None` where the
    /// kernel does not allow that.
    pub(crate) fn server_with_mounts(&self, root: &str, script: &str) -> Option<Server> {
        let server = self.server_command(root);
        let in_namespace = |script: &str| {
            let mut command = Command::new("unshare");
            let inner = self.in_shell(&server, &format!("set -e; {script}"));
            command.args(["--user", "--map-root-user", "--mount"]).arg(inner.get_program()).args(inner.get_args());
            command.current_dir(self.at("")).env_clear();
            command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
            command
        };
        if !in_namespace(script).stdin(Stdio::null()).output().is_ok_and(|tried| tried.status.success()) {
            println!("skipped: no mounts of one's own here");
            return None;
        }
        Some(Server::start(in_namespace(&format!("{script}; exec \"$0\" \"$@\""))))
    }
}

/// The line of one call.
pub(crate) fn call_line(tool: &str, cwd: &str) -> String {
    let mut arguments = vec![("cwd", Value::copied(cwd))];
    if tool != "kdna.workspace-status" {
        arguments.push(("task", Value::from(TASK)));
    }
    let mut object = Object::new();
    for (key, value) in arguments {
        object.insert(key, value);
    }
    let message = Value::object([
        ("jsonrpc", Value::from("2.0")),
        ("id", Value::from(1_u32)),
        ("method", Value::from("tools/call")),
        ("params", Value::object([("name", Value::copied(tool)), ("arguments", Value::Object(object))])),
    ]);
    write::compact(&message).expect("a message")
}

fn call(server: &mut Server, tool: &str, cwd: &Path) -> (Reply, String) {
    server.send(&call_line(tool, cwd.to_str().expect("a plain path")));
    let line = server.receive(Duration::from_secs(60)).expect("an answer");
    (Reply::read(&line), line)
}

pub(crate) fn status(server: &mut Server, cwd: impl AsRef<Path>) -> Reply {
    call(server, "kdna.workspace-status", cwd.as_ref()).0
}

pub(crate) fn resolve(server: &mut Server, cwd: impl AsRef<Path>) -> Reply {
    call(server, "kdna.workspace-resolve", cwd.as_ref()).0
}

/// A load; what is not a delivery holds nothing of an asset.
pub(crate) fn load(server: &mut Server, cwd: impl AsRef<Path>) -> Reply {
    let (reply, line) = call(server, "kdna.workspace-load", cwd.as_ref());
    let delivered = matches!(reply, Reply::Decision(_, true));
    assert_eq!(line.contains(CAPSULE_CANARY), delivered, "{reply:?}");
    reply
}

/// A load that delivered.
pub(crate) fn delivered() -> Reply {
    Reply::Decision("load".to_owned(), true)
}

/// Whether a shell can be given a terminal of its own here; says so if not.
pub(crate) fn has_setsid() -> bool {
    let there = Command::new("setsid").arg("--version").output().is_ok();
    if !there {
        println!("skipped: no setsid here");
    }
    there
}
