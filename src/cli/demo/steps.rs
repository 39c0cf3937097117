//! The steps: attach, serve, status, resolve, load refused, the question, load delivered, tampering refused, revocation
//! refused, the journal, the host entry. Each returns why it did not end as it should.

use super::screen::Screen;
use crate::broker::Settings;
use crate::cli::attach;
use crate::cli::environment::Environment;
use crate::cli::outcome::Outcome;
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::journal::{Journal, verify_directory};
use crate::launch::{Server, answer_on_terminal, run_command};
use crate::system::os::OsSystem;
use crate::system::os::forward::Forwarding;
use crate::system::os::host_process::Ending;
use crate::system::os::scratch::Scratch;
use crate::system::{Observe, System};
use std::ffi::OsString;

/// Written for this project; its origin stands in `fixtures/assets/README.md`.
const ASSET: &[u8] = include_bytes!("../../../fixtures/assets/review.kdna");
const TASK: &str = "review the pull request";
const HOST: &str = "demo-host";
const PROCESSOR: &str = "Example Inference Ltd";
/// One row for the start, two for each of four loads, one for the allowance and one for the revocation.
const ROWS: u64 = 11;

/// Why a step did not end as it should.
type Failure = String;

/// The temporary world of one demonstration.
pub(crate) struct Demo {
    system: OsSystem,
    scratch: Scratch,
    workspace: AbsolutePath,
    consent: AbsolutePath,
    attachment: String,
    digest: String,
    /// The signal that ended a command which the demonstration ran, if one did: it was meant for both.
    ended_by: Option<i32>,
    /// The last to go: until then no signal ends this process.
    signals: Forwarding,
}

impl Demo {
    /// Makes the temporary workspace and the asset's file.
    pub(crate) fn prepare() -> Result<Self, Failure> {
        let system = OsSystem::new();
        // From here on something could be left behind: nothing but SIGKILL ends this process unnoticed.
        let signals = Forwarding::begin().map_err(failed("signals cannot be held back"))?;
        let scratch =
            Scratch::create(&system, &std::env::temp_dir(), "kdna-demo").map_err(failed("no temporary directory"))?;
        let base = system.open_directory(scratch.path()).map_err(failed("no temporary directory"))?;
        system.make_directory(&base, "project", 0o755).map_err(failed("no workspace"))?;
        let file = system.create_file(&base, "review.kdna", 0o644).map_err(failed("no asset file"))?;
        system.write(&file, ASSET).map_err(failed("no asset file"))?;
        let below = |text: &str| scratch.path().resolve(text).ok_or_else(|| "no path".to_owned());
        let (workspace, consent) = (below("project")?, below("state/consent/processing-consent.json")?);
        let digest = Digest::of(ASSET).to_string();
        Ok(Self { system, signals, ended_by: None, scratch, workspace, consent, attachment: String::new(), digest })
    }

    /// Leaves nothing behind, and gives the signal that asked for the end before it, if one did.
    pub(crate) fn remove(self) -> Option<i32> {
        let asked = self.ended_by.or_else(|| self.signals.asked_to_end());
        drop(self);
        asked
    }

    /// Every step, in order.
    pub(crate) fn run(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        screen.line("kdna-broker: one consented load, in a temporary workspace that is removed at the end.");
        self.attach(screen)?;
        screen.step("serve", "kdna-broker mcp, started as a host starts it, over pipes");
        let mut server = self.serve(screen)?;
        self.look(screen, &mut server)?;
        screen.step("load", "before anybody allowed it");
        self.refused(screen, &mut server, "host_processing_consent_invalid", "consent_missing")?;
        self.question(screen)?;
        self.delivered(screen, &mut server)?;
        self.tampered(screen, &mut server)?;
        self.revoked(screen, &mut server)?;
        if !server.finish().map_err(failed("the server did not end"))? {
            return Err("the server did not end cleanly".into());
        }
        self.journal(screen)?;
        Self::next(screen);
        Ok(())
    }

    /// The owner's preview and its confirmation, as the command does it.
    fn attach(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        screen.step("attach", &format!("an asset to the project, for tasks like \"{TASK}\""));
        let policy = ["--role", "change review", "--applies-to", TASK, "--does-not-apply-to", "write documentation"];
        let preview = self.owner(&policy, &["--preview"])?;
        let digest = text(&preview, &["preview", "consent_digest"])?;
        screen.note(&format!("preview: nothing changed yet; what would be approved has the digest\n{digest}"));
        let done = self.owner(&policy, &["--yes", "--consent-digest", &digest])?;
        self.attachment = text(&done, &["attachment", "attachment_id"])?;
        screen.given(&format!("attached as {}", self.attachment));
        Ok(())
    }

    fn owner(&self, policy: &[&str], approval: &[&str]) -> Result<Value, Failure> {
        let file = format!("{}/review.kdna", self.scratch.path().as_str());
        let start = [file.as_str(), "--cwd", self.workspace.as_str()];
        let words: Vec<String> = start.iter().chain(policy).chain(approval).map(|word| (*word).to_owned()).collect();
        let outcome = attach::attach(&self.system, &self.environment(), &words).unwrap_or_else(|refused| refused);
        printed(&outcome)
    }

    fn environment(&self) -> Environment {
        let state = format!("{}/state", self.scratch.path().as_str());
        let settings = Settings { state_directory: Some(state), home: None, ..Settings::default() };
        Environment { settings, ..Environment::default() }
    }

    /// Exactly what a host entry would give the server.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        [
            ("KDNA_MCP_WORKSPACE_ROOT", self.workspace.as_str().to_owned()),
            ("KDNA_MCP_HOST_ID", HOST.to_owned()),
            ("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", self.consent.as_str().to_owned()),
            ("KDNA_BROKER_STATE_DIR", format!("{}/state", self.scratch.path().as_str())),
        ]
        .map(|(name, value)| (name.into(), value.into()))
        .to_vec()
    }

    fn serve(&self, screen: &Screen) -> Result<Server, Failure> {
        let mut server =
            Server::start(&self.workspace, self.variables()).map_err(failed("the server did not start"))?;
        let hello = Value::object([
            ("protocolVersion", Value::from("2025-06-18")),
            ("capabilities", Value::object::<&str, 0>([])),
            (
                "clientInfo",
                Value::object([("name", "demo"), ("version", "1")].map(|(key, value)| (key, Value::from(value)))),
            ),
        ]);
        let answer = server.request("initialize", hello).map_err(failed("the handshake failed"))?;
        server.notify("notifications/initialized").map_err(failed("the handshake failed"))?;
        let revision = text(&answer, &["protocolVersion"])?;
        screen.given(&format!("process {}, MCP revision {}", server.id(), display(&revision, 20)));
        Ok(server)
    }

    fn look(&self, screen: &mut Screen, server: &mut Server) -> Result<(), Failure> {
        screen.step("status", "what is attached here");
        let (document, _) = self.call(server, "kdna.workspace-status", &[])?;
        let record = document.get("attachments").and_then(|record| record.get("attachments"));
        let listed = record.and_then(Value::as_array).map_or(0, <[Value]>::len);
        expect(listed == 1, "one attachment")?;
        screen.given("one attachment, enabled");
        screen.step("resolve", &format!("the task \"{TASK}\""));
        let (document, _) = self.call(server, "kdna.workspace-resolve", &[("task", TASK)])?;
        expect(text(&document, &["decision"])? == "load", "the decision load")?;
        screen.given(&format!("load: {}", text(&document, &["reason_code"])?));
        Ok(())
    }

    /// A load that must be refused with this code and reason.
    fn refused(&self, screen: &Screen, server: &mut Server, code: &str, reason: &str) -> Result<(), Failure> {
        let (document, meta) = self.call(server, "kdna.workspace-load", &[("task", TASK)])?;
        expect(text(&document, &["error", "code"])? == code, code)?;
        expect(text(&meta, &["kdna-broker/reason"])? == reason, reason)?;
        screen.refused(&format!("refused: {code} ({reason})"));
        Ok(())
    }

    /// The human question: on the person's own terminal, or on a pseudo-terminal that says so.
    fn question(&mut self, screen: &mut Screen) -> Result<(), Failure> {
        screen.step("ask", "the person, once, on their terminal");
        let workspace = self.workspace.clone();
        let words = ["consent", "request", "--host", HOST, "--processor", PROCESSOR, "--cwd", workspace.as_str()];
        let (shown, ending) = if has_terminal() {
            (String::new(), self.command(&words)?)
        } else {
            screen.note("There is no terminal here: the demonstration answers \"y\" on a pseudo-terminal of its own.");
            answer_on_terminal(&words, self.variables(), &self.workspace, "y")
                .map_err(failed("nobody could be asked"))?
        };
        screen.line(&indented(&shown));
        match ending {
            Ending::Exit(0) => {
                screen.given(&format!("allowed: {HOST}, processed by {PROCESSOR}"));
                Ok(())
            }
            Ending::Exit(10) => Err("the person declined, which is a good answer, but ends the demonstration".into()),
            _ => Err("the question was not answered".into()),
        }
    }

    /// Runs one of this program's commands where the person is.
    fn command(&mut self, words: &[&str]) -> Result<Ending, Failure> {
        let ending = run_command(words, self.variables(), &self.workspace, &self.signals);
        let ending = ending.map_err(failed("a command could not be run"))?;
        if let Ending::Signal(number) = ending {
            self.ended_by = Some(number);
        }
        Ok(ending)
    }

    fn delivered(&self, screen: &mut Screen, server: &mut Server) -> Result<(), Failure> {
        screen.step("load", "now that it is allowed");
        let (document, meta) = self.call(server, "kdna.workspace-load", &[("task", TASK)])?;
        expect(text(&document, &["adoption"])? == "load", "a delivered load")?;
        let capsule = text(&document, &["runtime_capsule", "digests", "asset", "value"])?;
        let allowed = text(&document, &["host_processing", "asset_digest"])?;
        expect(capsule == self.digest && allowed == self.digest, "the digest that was allowed")?;
        let question = text(&document, &["runtime_capsule", "context", "highest_question"])?;
        screen.given("delivered: the Capsule of exactly the asset that was allowed");
        screen.note(&format!("its highest question: \"{}\"", display(&question, 100)));
        let level = meta.get("kdna-broker/enforcement").ok_or("no enforcement level")?;
        let abi = level.get("landlock").and_then(Value::as_number).ok_or("no enforcement level")?;
        screen.note(&format!(
            "the runtime ran without network, files or environment (Landlock ABI {abi}, system call filter)"
        ));
        Ok(())
    }

    /// One byte of the stored asset is changed: nothing is delivered; then it is put back.
    fn tampered(&self, screen: &mut Screen, server: &mut Server) -> Result<(), Failure> {
        screen.step("tamper", "one byte of the stored asset is changed");
        let mut forged = ASSET.to_vec();
        let middle = forged.len() / 2;
        if let Some(byte) = forged.get_mut(middle) {
            *byte ^= 1;
        }
        self.store(&forged)?;
        let (document, _) = self.call(server, "kdna.workspace-load", &[("task", TASK)])?;
        let adoption = text(&document, &["adoption"])?;
        let reason = text(&document, &["resolution", "reason_code"])?;
        expect(adoption == "block" && reason == "snapshot_digest_mismatch", "a blocked load")?;
        expect(document.get("runtime_capsule").is_some_and(Value::is_null), "no Capsule")?;
        screen.refused(&format!("refused: {adoption} ({reason})"));
        self.store(ASSET)
    }

    fn store(&self, bytes: &[u8]) -> Result<(), Failure> {
        let place = RelativePath::parse(".kdna/assets").unwrap_or_default();
        let assets = self.workspace.join(&place);
        let directory = self.system.open_directory(&assets).map_err(failed("no asset directory"))?;
        let name = format!("sha256-{}.kdna", Digest::of(ASSET).hex());
        let replaced = self
            .system
            .create_file(&directory, "replacement", 0o600)
            .and_then(|file| self.system.write(&file, bytes))
            .and_then(|()| self.system.rename(&directory, "replacement", &name));
        replaced.map_err(failed("the stored asset could not be replaced"))
    }

    fn revoked(&mut self, screen: &mut Screen, server: &mut Server) -> Result<(), Failure> {
        screen.step("revoke", "the person takes it back");
        let ending = self.command(&["consent", "revoke"])?;
        expect(ending == Ending::Exit(0), "a revocation")?;
        self.refused(screen, server, "host_processing_consent_invalid", "consent_missing")
    }

    /// The chain of what happened.
    fn journal(&self, screen: &mut Screen) -> Result<(), Failure> {
        screen.step("journal", "what was recorded: codes and digests, no content");
        let state = self.scratch.path().resolve("state").ok_or("no path")?;
        let state = crate::capability::state::open_state(&self.system, &state).map_err(failed("no journal"))?;
        let journal = Journal::open(&self.system, &state).map_err(failed("no journal"))?;
        let verified = verify_directory(&self.system, journal.directory())
            .map_err(failed("a journal that cannot be read"))?
            .map_err(failed("a broken journal"))?;
        expect(
            verified.rows == ROWS,
            "one start, an intent and an outcome for each load, the allowance and the revocation",
        )?;
        screen.given(&format!("{} rows, chained and verified", verified.rows));
        Ok(())
    }

    /// What to do with it now.
    fn next(screen: &Screen) {
        screen.line("\nTo continue with a host of your own: attach your asset with 'kdna attach', run 'kdna-broker consent request',");
        screen.line("and give the host this entry (field names differ between hosts):\n");
        let program = std::env::current_exe()
            .map_or_else(|_| "/path/to/kdna-broker".into(), |path| path.to_string_lossy().into_owned());
        screen.line(&format!("  command  {}\n  args     mcp", display(&program, 200)));
        screen.line("  env      KDNA_MCP_WORKSPACE_ROOT=/path/to/project");
        screen.line("           KDNA_MCP_HOST_ID=your-host");
        screen.line("           KDNA_MCP_HOST_PROCESSING_CONSENT_FILE=/path/that/consent-request/printed");
    }

    fn call(&self, server: &mut Server, tool: &str, arguments: &[(&str, &str)]) -> Result<(Value, Value), Failure> {
        let cwd = [("cwd", self.workspace.as_str())];
        let arguments = cwd.iter().chain(arguments).map(|(key, value)| ((*key).to_owned(), Value::copied(value)));
        let params = Value::object([("name", Value::copied(tool)), ("arguments", Value::Object(arguments.collect()))]);
        let result = server.request("tools/call", params).map_err(failed("the server did not answer"))?;
        let meta = result.get("_meta").cloned().unwrap_or(Value::Null);
        let content = result.get("content").and_then(Value::as_array).and_then(<[Value]>::first);
        let text = content.and_then(|content| content.get("text")?.as_str()).ok_or("no answer")?;
        let document = read_strict(text.as_bytes(), 100).map_err(|_| "an answer that is no document".to_owned())?;
        Ok((document, meta))
    }
}

fn has_terminal() -> bool {
    use std::io::IsTerminal;
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn failed<E>(what: &str) -> impl FnOnce(E) -> Failure {
    let what = what.to_owned();
    move |_| what
}

fn expect(holds: bool, what: &str) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(format!("expected {what}")) }
}

fn text(document: &Value, path: &[&str]) -> Result<String, Failure> {
    path.iter()
        .try_fold(document, |value, key| value.get(key))
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| format!("expected {}", path.join(".")))
}

fn printed(outcome: &Outcome) -> Result<Value, Failure> {
    if outcome.exit != 0 {
        return Err(outcome.errors.lines().next().unwrap_or("a refused command").to_owned());
    }
    read_strict(outcome.output.as_bytes(), 100).map_err(|_| "a command's output is no document".to_owned())
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("     {line}")).collect::<Vec<_>>().join("\n")
}
