//! What an external runtime must not be able to do, at every Landlock level: this executable is pinned as one, started
//! through the shim's own steps, and tries each forbidden action after it was executed anew.

use crate::Check;
use crate::forbidden::{self, Facts, told};
use crate::stage::{Stage, kernel_abi};
use kdna_broker::delegate::pin::{PinRequest, RuntimePins, record};
use kdna_broker::foundation::json::{read_strict, write};
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::value::Value;
use kdna_broker::system::os::{Directory, File, OsSystem, external, worker_io};
use kdna_broker::system::{ChildFault, Enforcement, External, Observe, PinKind, Program};
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

/// What an interpreter may do as well, because it harms nobody: lower its own limits, stand elsewhere, ask how much there
/// is to read.
const HARMLESS: [&str; 3] = ["change_its_limits", "change_directory", "control_a_device"];

pub(crate) fn checks() -> Vec<Check> {
    let check = |name: &str, run: fn()| -> Check { (format!("an_external_runtime::{name}"), Box::new(run)) };
    vec![
        check("is_refused_every_forbidden_action", forbidden_actions_are_refused),
        check("gets_two_variables_and_its_command_line", gets_two_variables),
        check("reports_the_level_it_has_reached", reports),
        check("is_ended_at_the_deadline", is_ended),
        check("is_not_started_without_its_files", needs_its_files),
    ]
}

/// The shim with a Landlock ceiling that the test wrote down.
pub(crate) fn shim() -> ExitCode {
    let ceiling = fs::read_to_string("script").unwrap().parse().unwrap();
    let parent = worker_io::parent_id().unwrap();
    let programs = match external::confine(true, Some(ceiling), parent) {
        Ok((level, programs)) => {
            worker_io::ready(level).unwrap();
            programs
        }
        Err(measure) => {
            worker_io::refused(measure).unwrap();
            return ExitCode::from(3);
        }
    };
    let request = read_strict(&worker_io::receive_request().unwrap(), 1).unwrap();
    let words: Vec<String> = request.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    external::become_interpreter(&programs.interpreter, &words)
}

/// The runtime: acts as told.
pub(crate) fn act(words: &[String]) -> ExitCode {
    let answer = match words[0].as_str() {
        "environment" => {
            let descriptors = (3..64).filter(|number: &i32| nix::unistd::close(*number).is_ok()).count();
            format!("{:?} {descriptors}", std::env::vars().collect::<Vec<_>>())
        }
        "hangs" => {
            std::thread::sleep(Duration::from_secs(600));
            String::new()
        }
        name => {
            let facts =
                Facts { outside: words[1].clone(), port: words[2].parse().unwrap(), broker: words[3].parse().unwrap() };
            told(forbidden::find(name).unwrap()(&facts))
        }
    };
    worker_io::write_output(answer.as_bytes()).unwrap();
    ExitCode::SUCCESS
}

/// This executable as a pinned runtime.
struct Pinned {
    stage: Stage,
    external: External<File, Directory>,
}

impl Pinned {
    fn new() -> Self {
        let stage = Stage::new();
        let package = stage.path("package");
        fs::create_dir(&package).unwrap();
        fs::write(package.join("entry"), "entry").unwrap();
        let absolute = |path: &std::path::Path| AbsolutePath::parse(path.to_str().unwrap()).unwrap();
        let (interpreter, package) = (std::env::current_exe().unwrap(), absolute(&package));
        let request = PinRequest {
            interpreter: &absolute(&interpreter),
            package: &package,
            entry: "entry",
            cli_version: Some("1"),
            core_version: Some("1"),
        };
        let pins: RuntimePins = record(&OsSystem::new(), &request).unwrap();
        let external = External {
            interpreter: open(&pins.interpreter.0),
            libraries: pins.libraries.iter().map(|(path, _)| open(path)).collect(),
            package: OsSystem::new().open_directory(&pins.package).unwrap(),
        };
        Self { stage, external }
    }

    fn run(&self, abi: u32, action: &str, deadline: Duration) -> Result<(String, Enforcement), ChildFault> {
        let words = ["--external-action", action].into_iter().chain(self.stage.facts().lines());
        let request = write::compact(&Value::Array(words.map(Value::copied).collect())).unwrap();
        let report = self.stage.run_with(&abi.to_string(), |order| {
            order.program = Program::External(&self.external);
            order.request = request.as_bytes();
            order.deadline = deadline;
        })?;
        assert_eq!(report.exit, 0, "{action}: {}", String::from_utf8_lossy(&report.errors));
        Ok((String::from_utf8(report.output).unwrap(), report.enforcement))
    }

    fn answer(&self, abi: u32, action: &str) -> (String, Enforcement) {
        self.run(abi, action, Duration::from_secs(20)).unwrap_or_else(|fault| panic!("{action}: {fault:?}"))
    }
}

fn open(path: &AbsolutePath) -> File {
    let (parent, name) = path.split_last().unwrap();
    OsSystem::new().open_file_in(&OsSystem::new().open_directory(&parent).unwrap(), name).unwrap()
}

fn forbidden_actions_are_refused() {
    let pinned = Pinned::new();
    let before = pinned.stage.state();
    for abi in 1..=kernel_abi() {
        for name in forbidden::names().filter(|name| !HARMLESS.contains(name)) {
            let (answer, _) = pinned.answer(abi, name);
            assert!(answer.starts_with("refused"), "{name} at Landlock ABI {abi}: {answer}");
        }
        for name in HARMLESS {
            assert_eq!(pinned.answer(abi, name).0, "allowed", "{name}: a harmless action is in the wrong list");
        }
    }
    assert_eq!(pinned.stage.state(), before, "something was changed");
}

fn gets_two_variables() {
    let (seen, _) = Pinned::new().answer(1, "environment");
    assert_eq!(seen, r#"[("LANG", "C.UTF-8"), ("TZ", "UTC")] 0"#);
}

fn reports() {
    let pinned = Pinned::new();
    for abi in 1..=kernel_abi() {
        let (_, level) = pinned.answer(abi, "environment");
        assert_eq!(
            level,
            Enforcement { landlock: abi, seccomp: true, sealed: false, pin: PinKind::External, secret_locked: None }
        );
    }
}

fn is_ended() {
    let begun = std::time::Instant::now();
    let ended = Pinned::new().run(1, "hangs", Duration::from_millis(300));
    assert_eq!(ended.unwrap_err(), ChildFault::Deadline);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

fn needs_its_files() {
    let mut pinned = Pinned::new();
    pinned.external.libraries.clear();
    let ended = pinned.run(1, "environment", Duration::from_secs(20));
    assert!(matches!(ended, Err(ChildFault::Signal(_))), "a library that was not handed over was used: {ended:?}");
}
