//! A workspace of a person with one attached asset, a consent and a private state, and the real server over it. Makes
//! its own assets, so that a text in one can be looked for everywhere else. Touches nothing outside its scratch place.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "../runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "processes.rs"]
mod processes;

use crate::support::command::{Exit, Finished, Program, Scratch, Server};
use crate::support::documents::{at, parse};
#[allow(unused_imports, reason = "each test file uses its own part")]
pub(crate) use processes::{Caught, WORKER, all_end, children, is_running, signal, stop_worker};

use asset_bytes::{Entry, zip};
use kdna_broker::consent::document::ConsentFacts;
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::value::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// The host that the consent names.
pub(crate) const HOST: &str = "privacy-host";
/// The task that the attachment is for; every load of it is clear.
pub(crate) const PHRASE: &str = "review the pull request";
/// What one command may take.
pub(crate) const COMMAND_LIMIT: Duration = Duration::from_secs(5);

/// A text that stands nowhere else: letters that no program would print by accident, and a number drawn anew.
pub(crate) fn canary(word: &str) -> String {
    let mut random = [0; 8];
    fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random)).expect("random bytes");
    format!("zq{word}{:016x}qz", u64::from_le_bytes(random))
}

/// A public asset whose judgment holds `text`, and `bulk` bytes of filler to keep the runtime busy.
pub(crate) fn asset(text: &str, bulk: usize) -> Vec<u8> {
    let filler = (0..bulk / 1024).map(|number| cbor_text(&format!("{number:01024}")));
    let axioms: Vec<_> = std::iter::once(cbor_text(&format!("Axiom {text}."))).chain(filler).collect();
    let core = cbor_map(&[
        ("highest_question", cbor_text(&format!("Where does {text} go?"))),
        ("axioms", cbor_array(&axioms)),
    ]);
    let payload = cbor_map(&[
        ("profile", cbor_text("kdna.payload.judgment")),
        ("profile_version", cbor_text("0.1.0")),
        ("core", core),
        ("patterns", cbor_array(&[])),
        ("scenarios", cbor_array(&[])),
        ("cases", cbor_array(&[])),
    ]);
    pack("privacy", "false", "", &payload)
}

/// A public asset with this title.
pub(crate) fn titled_asset(title: &str) -> Vec<u8> {
    let axioms = cbor_array(&[cbor_text(title)]);
    let core = cbor_map(&[("highest_question", cbor_text(title)), ("axioms", axioms)]);
    let payload = cbor_map(&[
        ("profile", cbor_text("kdna.payload.judgment")),
        ("profile_version", cbor_text("0.1.0")),
        ("core", core),
        ("patterns", cbor_array(&[])),
    ]);
    pack(title, "false", "", &payload)
}

/// An asset that asks for a password, and that no password opens.
pub(crate) fn locked_asset(text: &str) -> Vec<u8> {
    let payload = cbor_map(&[
        ("profile", cbor_text("kdna.encryption.password")),
        ("profile_version", cbor_text("0.1.0")),
        ("ciphertext", cbor_text(text)),
        ("wrapped_key", cbor_text("AAAA")),
    ]);
    let encryption = r#","encryption":{"profile":"kdna.encryption.password","profile_version":"0.1.0","encrypted_entries":["payload.kdnab"]},"access":"licensed","entitlement":{"profile":"password"}"#;
    pack("privacy", "true", encryption, &payload)
}

fn pack(title: &str, encrypted: &str, more: &str, payload: &[u8]) -> Vec<u8> {
    let title = write::compact(&Value::copied(title)).expect("a text");
    let manifest = format!(
        r#"{{"format_version":"0.1.0","asset_id":"kdna:test:privacy","asset_uid":"urn:uuid:f08fec12-e525-13fb-8fe4-672f18791ca2","asset_type":"domain","title":{title},"version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-05-04T08:00:00.000Z","updated_at":"2026-05-04T08:00:00.000Z","creator":{{"name":"Test","id":"test"}},"lineage":{{"type":"original","fork_of":null,"derived_from":null}},"payload":{{"path":"payload.kdnab","encoding":"cbor","encrypted":{encrypted}}},"compatibility":{{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"}}{more}}}"#
    );
    let entry = |name, data| Entry { crc: crc32(data), ..Entry::stored(name, data) };
    zip(&[
        entry("mimetype", b"application/vnd.kdna.asset"),
        entry("kdna.json", manifest.as_bytes()),
        entry("payload.kdnab", payload),
    ])
}

fn cbor_head(kind: u8, length: usize) -> Vec<u8> {
    let length = u32::try_from(length).expect("a small length");
    [&[kind << 5 | 0x1a], length.to_be_bytes().as_slice()].concat()
}

fn cbor_text(text: &str) -> Vec<u8> {
    [cbor_head(3, text.len()), text.as_bytes().to_vec()].concat()
}

fn cbor_array(items: &[Vec<u8>]) -> Vec<u8> {
    [cbor_head(4, items.len()), items.concat()].concat()
}

fn cbor_map(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let body = members.iter().flat_map(|(key, value)| [cbor_text(key), value.clone()].concat()).collect();
    [cbor_head(5, members.len()), body].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

/// The names of the person's private places; tests give names that can be looked for.
#[derive(Clone)]
pub(crate) struct Names {
    /// The directory of the consent.
    pub(crate) consent: String,
    /// The directory of the password file.
    pub(crate) authorization: String,
}

/// One workspace with an attached asset, a consent for it, a password file and the broker's state.
pub(crate) struct Session {
    pub(crate) scratch: Scratch,
    names: Names,
    asset: Digest,
    record: Vec<u8>,
}

impl Session {
    /// Lays everything out: `ws/` with record and snapshot, the two private directories, `tmp/`.
    pub(crate) fn new(asset: &[u8], names: Names) -> Self {
        let scratch = Scratch::new();
        let digest = Digest::of(asset);
        let record = record(&digest);
        scratch.directory("ws/.kdna/assets", 0o755);
        scratch.directory("tmp", 0o700);
        scratch.directory(&names.consent, 0o700);
        scratch.directory(&names.authorization, 0o700);
        let session = Self { scratch, names, asset: digest, record };
        session.scratch.file(session.record_path(), &session.record, 0o644);
        session.scratch.file(session.snapshot_path(), asset, 0o644);
        session.scratch.file(session.authorization_path(), "the password\n", 0o600);
        session.allow('a');
        session
    }

    /// The workspace root.
    pub(crate) fn root(&self) -> PathBuf {
        self.scratch.path().join("ws")
    }

    pub(crate) fn record_path(&self) -> PathBuf {
        self.root().join(".kdna/attachments.json")
    }

    pub(crate) fn snapshot_path(&self) -> PathBuf {
        self.root().join(format!(".kdna/assets/sha256-{}.kdna", self.asset.hex()))
    }

    pub(crate) fn consent_path(&self) -> PathBuf {
        self.scratch.path().join(&self.names.consent).join("consent.json")
    }

    pub(crate) fn authorization_path(&self) -> PathBuf {
        self.scratch.path().join(&self.names.authorization).join("password")
    }

    /// The record as it was laid out.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }

    /// A consent for exactly this load, under a nonce of this digit.
    pub(crate) fn consent(&self, nonce: char) -> Vec<u8> {
        let record = Record::read(&self.record).expect("the record");
        let attachment = &record.attachments()[0];
        ConsentFacts {
            nonce: nonce.to_string().repeat(32),
            host_id: HOST.into(),
            workspace_root_digest: of_root_path(self.root().to_str().expect("a plain path")),
            asset_digest: attachment.asset.digest,
            attachment_id: attachment.id.clone(),
            scope_digest: attachment.scope_digest(),
            processor: "Example Inference Ltd".into(),
            profile: "compact".into(),
        }
        .bytes()
    }

    /// Puts a consent in place as the commands do: a private file beside it, one rename.
    pub(crate) fn allow(&self, nonce: char) -> Digest {
        let bytes = self.consent(nonce);
        let beside = self.scratch.file(self.consent_path().with_file_name("new"), &bytes, 0o600);
        fs::rename(beside, self.consent_path()).expect("a consent in its place");
        Digest::of(&bytes)
    }

    /// `kdna-broker mcp` as a host would start it.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.scratch.command(Program::Broker, ["mcp"]);
        command
            .current_dir(self.root())
            .env("TMPDIR", self.scratch.path().join("tmp"))
            .env("KDNA_MCP_WORKSPACE_ROOT", self.root())
            .env("KDNA_MCP_HOST_ID", HOST)
            .env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", self.consent_path())
            .env("KDNA_MCP_AUTHORIZATION_FILE", self.authorization_path());
        command
    }

    /// A server that was greeted.
    pub(crate) fn start(&self) -> Server {
        greet(Server::start(self.command()))
    }

    /// The message of a load of `task` in the workspace.
    pub(crate) fn load(&self, id: u32, task: &str) -> String {
        let arguments = Value::object([
            ("cwd", Value::copied(self.root().to_str().expect("a plain path"))),
            ("task", Value::copied(task)),
        ]);
        call(id, "kdna.workspace-load", &write::compact(&arguments).expect("arguments"))
    }
}

/// The handshake of the newest revision that has one with structured results.
pub(crate) fn greet(mut server: Server) -> Server {
    server.ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#);
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server
}

/// The message of one tool call; the arguments are JSON text, sound or not.
pub(crate) fn call(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

fn record(asset: &Digest) -> Vec<u8> {
    let text = include_str!("../../fixtures/golden/cases/mcp-load-ok/files/ws/.kdna/attachments.json");
    let recorded = "0ce68818faeac40a1a50be6205ee5b303e99adb558118d56d12ac5bdb76caecb";
    assert!(text.contains(recorded) && text.contains("kdna:golden:review") && text.contains(PHRASE));
    text.replace(recorded, &asset.hex()).replace("kdna:golden:review", "kdna:test:privacy").into_bytes()
}

/// What the server answered to one call.
pub(crate) struct Reply(Value);

impl Reply {
    pub(crate) fn read(line: &str) -> Self {
        Self(parse(line.as_bytes()).unwrap_or_else(|| panic!("no document: {line}")))
    }

    /// The document of the result.
    pub(crate) fn document(&self) -> Option<&Value> {
        at(&self.0, "/result/structuredContent")
    }

    /// Whether a Capsule came with it.
    pub(crate) fn is_delivered(&self) -> bool {
        let of = |pointer| self.document().and_then(|document| at(document, pointer));
        of("/adoption").and_then(Value::as_str) == Some("load")
            && of("/runtime_capsule").is_some_and(|it| !it.is_null())
    }

    /// The code and the reason of a refusal, or the number of a protocol error.
    pub(crate) fn refusal(&self) -> Option<(String, String)> {
        if let Some(code) = at(&self.0, "/error/code").and_then(Value::as_number) {
            return Some((format!("{code}"), String::new()));
        }
        let text = at(&self.0, "/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
        let error = parse(text.as_bytes())?;
        let code = at(&error, "/error/code").and_then(Value::as_str)?.to_owned();
        let meta = at(&self.0, "/result/_meta").and_then(|meta| meta.get("kdna-broker/reason"));
        Some((code, meta.and_then(Value::as_str).unwrap_or_default().to_owned()))
    }

    /// A text of the result's document.
    pub(crate) fn text(&self, pointer: &str) -> Option<String> {
        at(self.document()?, pointer).and_then(Value::as_str).map(str::to_owned)
    }
}

/// Runs a command with exactly this input; ended, and `TimedOut`, after [`COMMAND_LIMIT`].
pub(crate) fn run_bounded(mut command: Command, input: Stdio) -> Finished {
    let mut child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let stdout = collect(child.stdout.take().expect("output"));
    let stderr = collect(child.stderr.take().expect("errors"));
    let end = Instant::now() + COMMAND_LIMIT;
    let exit = loop {
        if let Some(status) = child.try_wait().expect("its status") {
            break Exit::from(status);
        }
        if Instant::now() > end {
            child.kill().expect("ending it");
            let _ = child.wait();
            break Exit::TimedOut;
        }
        sleep(Duration::from_millis(1));
    };
    Finished { exit, stdout: stdout.join().expect("output"), stderr: stderr.join().expect("errors") }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

/// Whether bytes hold a text of ASCII letters.
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
}

/// Every regular file below a directory; what goes away meanwhile is not there.
pub(crate) fn files_below(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), found),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
}
