//! A workspace with one attached asset, a private place in memory, and the launcher over both.

use crate::person::{Person, Seen};
use crate::protect;
use crate::support::command::{Exit, Finished, LIMIT, Program, Scratch, run};
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) const HOST: &str = "script-host";
pub(crate) const PROCESSOR: &str = "Example Inference Ltd";
pub(crate) const TASK: &str = "review the pull request";
pub(crate) const PUBLIC: &[u8] = include_bytes!("../../fixtures/assets/review.kdna");

/// Everything that a launch needs.
pub(crate) struct Stage {
    pub(crate) scratch: Scratch,
    memory: tempfile::TempDir,
}

/// A text that stands nowhere else.
pub(crate) fn canary(word: &str) -> String {
    let mut random = [0; 8];
    fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut random)).unwrap();
    format!("zq{word}{:016x}qz", u64::from_le_bytes(random))
}

/// An asset that this password opens, with a cheap derivation.
pub(crate) fn locked(password: &str) -> Vec<u8> {
    locked_with(password, (8, 1, 1))
}

/// The same, with a derivation of so many KiB, passes and lanes.
pub(crate) fn locked_with(password: &str, cost: (u32, u32, u32)) -> Vec<u8> {
    let judgment = protect::judgment().bytes();
    let envelope = protect::envelope_for(password.as_bytes(), &judgment, Some(cost));
    protect::asset(&envelope.bytes(), "kdna.encryption.password")
}

impl Stage {
    /// Attaches the asset as a person would.
    pub(crate) fn with(asset: &[u8]) -> Self {
        let scratch = Scratch::new();
        // A session lies in memory and nowhere else; this is where every machine has some.
        let memory = tempfile::Builder::new().prefix("kdna-test-").tempdir_in("/dev/shm").expect("a place in memory");
        fs::set_permissions(memory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        scratch.directory("ws", 0o755);
        let file = scratch.file("asset.kdna", asset, 0o600);
        let stage = Self { scratch, memory };
        stage.attach(&file, "ws");
        fs::remove_file(file).unwrap();
        stage
    }

    /// Attaches a file to a workspace.
    pub(crate) fn attach(&self, file: &Path, workspace: &str) {
        let file = file.to_str().unwrap();
        let words = ["attach", file, "--cwd", workspace, "--role", "change review", "--applies-to", TASK];
        let approve = ["--yes", "--scope-user-approved"];
        let ended = run(self.scratch.command(Program::Owner, words.into_iter().chain(approve)), None);
        assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    }

    /// The same, with a consent that was given on a terminal.
    pub(crate) fn allowed(asset: &[u8]) -> Self {
        let stage = Self::with(asset);
        let words = ["consent", "request", "--host", HOST, "--processor", PROCESSOR, "--cwd", "ws"];
        let seen = crate::person::answer(&stage.scratch, Program::Broker, &words, |_| {}, b"y\n");
        assert_eq!(seen.exit, Exit::Status(0), "{}", seen.screen);
        stage
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Where sessions lie.
    pub(crate) fn memory(&self) -> &Path {
        self.memory.path()
    }

    /// The sessions that are there.
    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let mut found: Vec<_> = fs::read_dir(self.memory()).unwrap().map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }

    /// The words of a launch of a shell script, with more options.
    pub(crate) fn words<'a>(more: &[&'a str], script: &'a str) -> Vec<&'a str> {
        let own = ["launch", "--host", HOST, "--processor", PROCESSOR, "--workspace", "ws"];
        own.into_iter().chain(more.iter().copied()).chain(["--", "sh", "-c", script]).collect()
    }

    pub(crate) fn arrange(&self, command: &mut Command) {
        command.env("XDG_RUNTIME_DIR", self.memory()).env("BROKER", Program::Broker.path());
    }

    /// The launcher, without a terminal.
    pub(crate) fn command(&self, more: &[&str], script: &str) -> Command {
        let mut command = self.scratch.command(Program::Broker, Self::words(more, script));
        self.arrange(&mut command);
        command
    }

    pub(crate) fn launch(&self, more: &[&str], script: &str) -> Finished {
        run(self.command(more, script), None)
    }

    /// The launcher, on a terminal of its own.
    pub(crate) fn sit_down(&self, more: &[&str], script: &str) -> Person {
        let words = Self::words(more, script);
        Person::sit_down(&self.scratch, Program::Broker, &words, |command| self.arrange(command), b"")
    }

    /// The launcher on a terminal, where each of these keys is typed at the next question.
    pub(crate) fn launch_typing(&self, more: &[&str], script: &str, keys: &[&[u8]]) -> Seen {
        let mut person = self.sit_down(more, script);
        for (number, keys) in keys.iter().enumerate() {
            if !person.is_asked_times(number + 1) {
                break;
            }
            person.type_keys(keys);
        }
        person.finish()
    }

    /// A shell that has a terminal of its own and what the launcher needs; `$LAUNCH` begins a launch of a script.
    pub(crate) fn shell(&self, words: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        command.args(["-w", "-c", "sh"]).args(words).current_dir(self.scratch.path()).env_clear();
        let base = self.scratch.command(Program::Broker, ["x"]);
        command.envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let words = Self::words(&[], "").into_iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ");
        let launch = format!("\"$BROKER\" {}", words.trim_end_matches(" ''"));
        command.env("LAUNCH", launch).env("PS1", "ready> ");
        self.arrange(&mut command);
        command
    }

    /// Waits for a file that the script makes.
    pub(crate) fn wait_for(&self, name: &str) -> String {
        let path = self.path(name);
        wait_until(name, || path.exists());
        fs::read_to_string(path).unwrap()
    }
}

/// Waits for something that must come.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "it never came: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A script that speaks MCP to the server as a host does: one load, its answer in `answer`.
pub(crate) fn loading(stage: &Stage, then: &str) -> String {
    let load = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"kdna.workspace-load","arguments":{{"cwd":"{}","task":"{TASK}"}}}}}}"#,
        stage.path("ws").display()
    );
    stage.scratch.file("frames", format!("{}\n{load}\n", crate::support::real::OPEN), 0o600);
    format!(
        "mkfifo in; \"$BROKER\" mcp <in >answers 2>said & exec 3>in; cat frames >&3; \
         until grep -q '\"id\":1' answers; do sleep 0.02; done; {then} exec 3>&-; wait; mv answers answer"
    )
}
