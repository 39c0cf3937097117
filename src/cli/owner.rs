//! `kdna`: the owner's commands, by name. Anything else is refused by name.

use crate::cli::environment::Environment;
use crate::cli::grammar::JSON_ERRORS;
use crate::cli::help::{OWNER, Page};
use crate::cli::outcome::Outcome;
use crate::cli::{asset, host_consent, resolve};
#[cfg(feature = "runtime")]
use crate::cli::{attach, change, cleanup, doctor, pack, protect, switch};
use crate::foundation::refusal::Reason;
use crate::system::os::{self, OsSystem};

/// The recorded words for a command that there is none of.
pub(crate) const NO_COMMAND: &str = "command is not in the approved allowlist";

/// Runs one command.
pub(crate) fn run(environment: &Environment) -> Outcome {
    let (command, words) = match environment.arguments.split_first() {
        None => ("help", &[][..]),
        Some((command, words)) => (command.as_str(), words),
    };
    if let Some(page) = OWNER.asked(command, words) {
        return page;
    }
    match command {
        "help" | "--help" | "-h" => OWNER.help(words),
        "version" | "--version" | "-v" => alone("version", words, Outcome::text(crate::broker::VERSION)),
        _ => match os::start::check_platform() {
            Ok(_) => {
                with_errors(&OWNER, command, words, |words| dispatch(OsSystem::new(), environment, command, words))
            }
            Err(_) => Outcome::refused(&Reason::KernelTooOld.into()),
        },
    }
}

/// Takes `--json-errors` out of the arguments of a command that knows it. Options with a value take none that begins
/// with `--`, so it is nobody's value.
pub(crate) fn with_errors(
    page: &Page,
    command: &str,
    words: &[String],
    run: impl FnOnce(&[String]) -> Outcome,
) -> Outcome {
    // What stands behind `--` is another program's.
    let (own, others) = words.split_at(words.iter().position(|word| word == "--").unwrap_or(words.len()));
    if !page.knows_json_errors(command) || own.iter().all(|word| word != JSON_ERRORS) {
        return run(words);
    }
    let words: Vec<String> = own.iter().filter(|word| *word != JSON_ERRORS).chain(others).cloned().collect();
    run(&words).with_json_errors()
}

fn dispatch(system: OsSystem, environment: &Environment, command: &str, words: &[String]) -> Outcome {
    let outcome = match command {
        #[cfg(feature = "runtime")]
        "attach" => attach::attach(&system, environment, words),
        #[cfg(feature = "runtime")]
        "attachments" => attach::attachments(&system, environment, words),
        #[cfg(feature = "runtime")]
        "enable" => change::run(&system, environment, "enable", words),
        #[cfg(feature = "runtime")]
        "disable" => change::run(&system, environment, "disable", words),
        #[cfg(feature = "runtime")]
        "rollback" => change::run(&system, environment, "rollback", words),
        #[cfg(feature = "runtime")]
        "remove" => change::run(&system, environment, "remove", words),
        #[cfg(feature = "runtime")]
        "switch" => switch::run(&system, environment, words),
        #[cfg(feature = "runtime")]
        "cleanup" => cleanup::run(&system, environment, words),
        #[cfg(feature = "runtime")]
        "doctor" => doctor::run(&system, environment, words),
        #[cfg(feature = "runtime")]
        "pack" => pack::pack(&system, words),
        #[cfg(feature = "runtime")]
        "protect" => protect::protect(&system, words),
        "resolve" => resolve::resolve(&system, environment, words),
        "plan-load" => asset::plan_load(&system, words),
        "load" => asset::load(&system, words),
        "inspect" => asset::inspect(&system, words),
        "validate" => asset::validate(&system, words),
        "host-consent" => host_consent::run(&system, environment, words),
        other => Err(Outcome::not_understood(&OWNER.unknown(NO_COMMAND, other))),
    };
    outcome.unwrap_or_else(|refused| refused)
}

/// `version` takes nothing more, and says so in the recorded words.
pub(crate) fn alone(command: &str, words: &[String], outcome: Outcome) -> Outcome {
    if words.is_empty() { outcome } else { Outcome::not_understood(&format!("{command} does not accept arguments.")) }
}
