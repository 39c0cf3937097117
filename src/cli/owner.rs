//! `kdna`: the owner's commands, by name. Anything else is refused by name.

use crate::cli::environment::Environment;
use crate::cli::outcome::Outcome;
use crate::cli::{asset, help, host_consent, resolve};
#[cfg(feature = "runtime")]
use crate::cli::{attach, pack};
use crate::foundation::refusal::Reason;
use crate::foundation::text::display;
use crate::system::os::{self, OsSystem};

/// Runs one command.
pub(crate) fn run(environment: &Environment) -> Outcome {
    let (command, words) = match environment.arguments.split_first() {
        None => ("help", &[][..]),
        Some((command, words)) => (command.as_str(), words),
    };
    match command {
        "help" | "--help" | "-h" => {
            alone(command, words, Outcome { output: help::OWNER.to_owned(), ..Outcome::default() })
        }
        "version" | "--version" | "-v" => alone(command, words, Outcome::text(crate::broker::VERSION)),
        _ => match os::start::check_platform() {
            Ok(_) => dispatch(OsSystem::new(), environment, command, words),
            Err(_) => Outcome::refused(&Reason::KernelTooOld.into()),
        },
    }
}

fn dispatch(system: OsSystem, environment: &Environment, command: &str, words: &[String]) -> Outcome {
    let outcome = match command {
        #[cfg(feature = "runtime")]
        "attach" => attach::attach(&system, environment, words),
        #[cfg(feature = "runtime")]
        "attachments" => attach::attachments(&system, environment, words),
        #[cfg(feature = "runtime")]
        "pack" => pack::pack(&system, words),
        "resolve" => resolve::resolve(&system, environment, words),
        "plan-load" => asset::plan_load(&system, words),
        "load" => asset::load(&system, words),
        "inspect" => asset::inspect(&system, words),
        "validate" => asset::validate(&system, words),
        "host-consent" => host_consent::run(&system, environment, words),
        other => Err(Outcome::usage(&format!("command is not in the approved allowlist: {}", display(other, 64)))),
    };
    outcome.unwrap_or_else(|refused| refused)
}

/// `help` and `version` take nothing more.
pub(crate) fn alone(command: &str, words: &[String], outcome: Outcome) -> Outcome {
    if words.is_empty() { outcome } else { Outcome::usage(&format!("Usage: kdna {}", command.trim_start_matches('-'))) }
}
