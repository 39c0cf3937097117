//! `kdna-broker doctor`: what a load would meet on this machine with these coordinates, in words, and what to do about
//! what is missing. Looks, starts workers and, where a host's entry names this program, its server; creates and changes
//! nothing that stays, and opens no password.

mod coordinates;
mod hosts;
mod loads;

use crate::broker::{MANAGED_POLICY, Settings};
use crate::capability::home::Homes;
use crate::capability::private_file::PrivateDirectory;
use crate::capability::state;
use crate::cli::environment::Environment;
use crate::cli::grammar::Options;
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::consent::ledger::Ledger;
use crate::consent::managed;
use crate::delegate::Delegate;
use crate::delegate::pin::PinnedRuntime;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::journal::{self, Examined};
use crate::system::memory::LockedBuffer;
use crate::system::os::{self, OsSystem};
use crate::system::{Enforcement, Fault, System};

const OPTIONS: Options = Options { flags: &["--json"], values: &[], repeatable: &[], flags_once: true };
/// The newest Landlock ABI that a measure of the sandbox is for.
const FULL_LANDLOCK: u32 = 6;

/// How something stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// As it should be.
    Good,
    /// Worth knowing; a load works all the same.
    Note,
    /// A load cannot work.
    Missing,
}

/// One thing that was looked at.
struct Finding {
    topic: &'static str,
    state: State,
    says: String,
    /// What to do about it; empty where nothing is to be done.
    remedy: String,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Note => "note",
            State::Missing => "missing",
        }
    }
}

fn good(topic: &'static str, says: impl Into<String>) -> Finding {
    Finding { topic, state: State::Good, says: says.into(), remedy: String::new() }
}

fn note(topic: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { topic, state: State::Note, says: says.into(), remedy: remedy.into() }
}

fn missing(topic: &'static str, says: impl Into<String>, remedy: impl Into<String>) -> Finding {
    Finding { topic, state: State::Missing, says: says.into(), remedy: remedy.into() }
}

fn refused(topic: &'static str, refusal: &Refusal) -> Finding {
    missing(topic, format!("{} ({})", refusal.message(), refusal.reason()), refusal.remedy())
}

/// Runs the command.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    let arguments = match OPTIONS.parse(words) {
        Ok(arguments) if arguments.positionals().is_empty() => arguments,
        Ok(_) => return BROKER.misused("doctor"),
        Err(text) => return Outcome::usage(&text),
    };
    let findings = findings(OsSystem::new(), environment);
    let ready = findings.iter().all(|finding| finding.state != State::Missing);
    let outcome = if arguments.has("--json") { document(&findings, ready) } else { in_words(&findings, ready) };
    outcome.exiting(u8::from(!ready))
}

fn findings(system: OsSystem, environment: &Environment) -> Vec<Finding> {
    let settings = &environment.settings;
    let mut found = vec![kernel()];
    // Nothing else can be looked at safely on a kernel without openat2.
    if found.iter().all(|finding| finding.state == State::Good) {
        found.extend(worker(&system));
        found.extend(environment.runtime_pins.as_deref().map(|coordinate| external_runtime(&system, coordinate)));
        found.push(memory());
        found.push(homes(&system, settings));
        found.extend(private_state(&system, settings));
        found.push(policy(&system));
        found.extend(coordinates::examine(&system, environment));
        found.extend(hosts::examine(system, environment));
    }
    found
}

fn kernel() -> Finding {
    match os::start::check_platform() {
        Ok(abi) => good("kernel", format!("openat2 is there, Landlock is there (ABI {abi})")),
        Err(fault) => {
            let remedy = Refusal::new(Reason::KernelTooOld);
            missing("kernel", format!("{fault}"), remedy.remedy())
        }
    }
}

fn worker<S: System>(system: &S) -> Vec<Finding> {
    if cfg!(not(feature = "runtime")) {
        return vec![refused("worker", &Reason::RuntimeAbsent.into())];
    }
    match Delegate::embedded().probe(system) {
        Ok(level) => vec![good("worker", "a worker was started, confined itself and ended"), confinement(level)],
        Err(fault) => {
            let remedy = "Start the broker where no other sandbox or container denies it Landlock, seccomp or /proc.";
            vec![missing("worker", fault.to_string(), remedy)]
        }
    }
}

/// Whether the runtime that a server would start is still the one that was pinned; starts nothing.
fn external_runtime<S: System>(system: &S, coordinate: &str) -> Finding {
    match PinnedRuntime::open(system, coordinate) {
        Ok(_) => good("external runtime", "it is as it was pinned; loads go to it"),
        Err(refusal) => refused("external runtime", &refusal),
    }
}

fn confinement(level: Enforcement) -> Finding {
    let filter = if level.seccomp { "its system call filter is on" } else { "it has no system call filter" };
    let says = format!("a worker reached Landlock ABI {}; {filter}", level.landlock);
    if !level.seccomp {
        return missing("sandbox", says, "The kernel must be built with seccomp filters.");
    }
    if level.landlock < FULL_LANDLOCK {
        let remedy =
            "Below ABI 6 the filter covers what Landlock cannot: a newer kernel is a second lock, not the first.";
        return note("sandbox", says, remedy);
    }
    good("sandbox", says)
}

fn memory() -> Finding {
    let length = usize::try_from(limits::PASSWORD_FILE_BYTES).unwrap_or_default();
    if LockedBuffer::new(length).is_locked() {
        return good("memory", "a password can be locked in memory");
    }
    let remedy = "Raise the limit on locked memory (ulimit -l) to 64 KiB or more.";
    note("memory", "a password could not be locked in memory and might be written to swap", remedy)
}

fn homes<S: System>(system: &S, settings: &Settings) -> Finding {
    let home = settings.home.as_deref().map_or_else(|| "unset".to_owned(), shown);
    let account = system.account_home().map_or_else(|| "none".to_owned(), |path| shown(path.as_str()));
    match Homes::find(system, settings.home.as_deref()) {
        Ok(_) => {
            good("home", format!("HOME is {home}, the account's home is {account}; neither can be a workspace root"))
        }
        Err(refusal) => refused("home", &refusal),
    }
}

fn private_state<S: System>(system: &S, settings: &Settings) -> Vec<Finding> {
    let path = match state::state_path(system, settings.state_directory.as_deref()) {
        Ok(path) => path,
        Err(refusal) => return vec![refused("state", &refusal)],
    };
    let place = shown(path.as_str());
    if matches!(system.look(&path), Err(Fault::NotFound)) {
        return vec![note("state", format!("{place} is not there yet"), "The first start of the server creates it.")];
    }
    let Ok(directory) = PrivateDirectory::open(system, &path) else {
        return vec![refused("state", &Reason::StateInsecure.into())];
    };
    let ledger = match Ledger::read(system, &directory) {
        Ok(_) => good("ledger", "what was approved on this machine can be read"),
        Err(refusal) => refused("ledger", &refusal),
    };
    vec![good("state", format!("{place} is private")), journal(system, &path), ledger]
}

fn journal<S: System>(system: &S, state: &AbsolutePath) -> Finding {
    let path = state.join(&RelativePath::parse(journal::DIRECTORY).unwrap_or_default());
    if matches!(system.look(&path), Err(Fault::NotFound)) {
        return note("journal", "there is none yet", "The first start of the server begins it.");
    }
    let Ok(directory) = PrivateDirectory::open(system, &path) else {
        return refused("journal", &Reason::JournalUnwritable.into());
    };
    match journal::examine(system, &directory, &mut |_, _| ()) {
        Ok(Examined { verified, damage: None, .. }) => {
            good("journal", format!("{} rows, each chained to the one before", verified.rows))
        }
        Ok(Examined { ends_torn: true, damage: Some(damage), .. }) => {
            let remedy = "Nothing need be done: the next row says that the chain goes on behind it.";
            note("journal", format!("{damage}, as after a loss of power"), remedy)
        }
        Ok(Examined { damage: Some(damage), .. }) => {
            missing("journal", damage.to_string(), Refusal::new(Reason::JournalTorn).remedy())
        }
        Err(refusal) => refused("journal", &refusal),
    }
}

fn policy<S: System>(system: &S) -> Finding {
    match managed::look(system) {
        Ok(None) => good("policy", "no managed policy narrows what is allowed"),
        Ok(Some(policy)) => {
            let says = format!("{MANAGED_POLICY} ({}) narrows what is allowed", policy.digest());
            note("policy", says, "What it forbids is refused with policy_forbids: ask whoever manages this machine.")
        }
        Err(refusal) => refused("policy", &refusal),
    }
}

fn shown(text: &str) -> String {
    display(text, limits::PATH_UNITS)
}

fn in_words(findings: &[Finding], ready: bool) -> Outcome {
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format_row(finding));
    }
    let judged = findings.iter().any(|finding| finding.topic == loads::TOPIC);
    text.push_str(match (ready, judged) {
        (true, true) => "\nA load could work, as far as can be told from here.\n",
        (true, false) => {
            "\nNothing stands against a load; whether one is allowed cannot be told without what is not set.\n"
        }
        (false, _) => "\nA load cannot work until what is missing is there.\n",
    });
    Outcome { output: text, ..Outcome::default() }
}

fn format_row(finding: &Finding) -> String {
    let row = format!("{:8} {:9} {}\n", finding.state.word(), finding.topic, finding.says);
    if finding.remedy.is_empty() { row } else { format!("{row}{:18} {}\n", "", finding.remedy) }
}

fn document(findings: &[Finding], ready: bool) -> Outcome {
    let rows = findings.iter().map(|finding| {
        let remedy = Some(finding.remedy.clone()).filter(|text| !text.is_empty());
        Value::object([
            ("topic", Value::from(finding.topic)),
            ("state", Value::from(finding.state.word())),
            ("says", Value::from(finding.says.clone())),
            ("remedy", Value::from(remedy)),
        ])
    });
    Outcome::document(&Value::object([
        ("document_type", Value::from("kdna-broker.doctor")),
        ("schema_version", Value::from("0.1.0")),
        ("ready", Value::from(ready)),
        ("findings", Value::Array(rows.collect())),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::sim::SimSystem;

    #[test]
    fn a_managed_policy_is_named_with_its_digest_and_a_bad_one_is_missing_for_a_load() {
        let bytes = br#"{"document_type":"kdna-broker.managed-policy","schema_version":"0.1.0"}"#;
        let system = SimSystem::new(1);
        assert!(policy(&system).state == State::Good, "none");
        system.arrange(|world| {
            world.file(MANAGED_POLICY, 0o644, bytes).unwrap();
            for path in ["/etc", "/etc/kdna-broker", MANAGED_POLICY] {
                world.set_owner(path, 0).unwrap();
            }
        });
        let found = policy(&system);
        let digest = crate::foundation::digest::Digest::of(bytes).to_string();
        assert!(found.state == State::Note && found.says.contains(MANAGED_POLICY) && found.says.contains(&digest));
        system.arrange(|world| world.set_mode(MANAGED_POLICY, 0o666).unwrap());
        let found = policy(&system);
        assert!(found.state == State::Missing && found.remedy.contains(MANAGED_POLICY), "{}", found.says);
        system.arrange(|world| {
            world.set_mode(MANAGED_POLICY, 0o644).unwrap();
            world.set_content(MANAGED_POLICY, b"{}").unwrap();
        });
        assert!(policy(&system).state == State::Missing);
    }

    #[test]
    fn a_system_whose_etc_is_a_link_has_no_policy_unless_one_is_behind_it() {
        let system = SimSystem::new(1);
        system.arrange(|world| {
            world.directory("/real", 0o755).unwrap();
            world.link("/etc", "/real").unwrap();
        });
        assert!(policy(&system).state == State::Good);
        system.arrange(|world| world.file("/real/kdna-broker/policy.json", 0o644, b"{}").unwrap());
        assert!(policy(&system).state == State::Missing, "it is not followed to, and not ignored");
    }
}
