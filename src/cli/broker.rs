//! `kdna-broker`: the server, the consent question and the demonstration.

use crate::broker::{Broker, VERSION};
#[cfg(feature = "runtime")]
use crate::cli::demo;
use crate::cli::environment::Environment;
use crate::cli::grammar::Options;
use crate::cli::outcome::Outcome;
use crate::cli::{consent, help, owner, runtime};
use crate::delegate::Delegate;
use crate::delegate::pin::PinnedRuntime;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::mcp::{self, ServeOptions, ToolNames};
use crate::system::System;
use crate::system::os::streams::Waiting;
use crate::system::os::{self, OsSystem};
use std::sync::Arc;

/// Runs one command.
pub(crate) fn run(environment: &Environment) -> Outcome {
    let (command, words) = match environment.arguments.split_first() {
        None => ("help", &[][..]),
        Some((command, words)) => (command.as_str(), words),
    };
    match command {
        "mcp" => serve(environment, words),
        "consent" => consent::run(environment, words),
        "runtime" => runtime::run(words),
        #[cfg(feature = "runtime")]
        "demo" => demo::run(environment, words),
        "help" | "--help" | "-h" => {
            owner::alone(command, words, Outcome { output: help::BROKER.to_owned(), ..Outcome::default() })
        }
        "version" | "--version" | "-v" => owner::alone(command, words, Outcome::text(VERSION)),
        other => Outcome::usage(&format!("command is not in the approved allowlist: {}", display(other, 64))),
    }
}

const SERVE: Options = Options { flags: &[], values: &["--tool-names"], repeatable: &[], flags_once: true };

fn serve(environment: &Environment, words: &[String]) -> Outcome {
    let arguments = match SERVE.parse(words) {
        Ok(arguments) if arguments.positionals().is_empty() => arguments,
        Ok(_) => return Outcome::usage("Usage: kdna-broker mcp [--tool-names dotted|portable]"),
        Err(text) => return Outcome::usage(&text),
    };
    let Some(tool_names) = ToolNames::parse(arguments.value("--tool-names").unwrap_or("dotted")) else {
        return Outcome::usage("Invalid --tool-names. Use dotted or portable.");
    };
    match start(environment) {
        Ok(broker) => {
            let options = ServeOptions { tool_names, server_version: VERSION.to_owned() };
            let (input, output) = (Waiting(std::io::stdin()), Waiting(std::io::stdout()));
            match mcp::serve(input, output, Arc::new(broker), options).exit_code() {
                0 => Outcome::default(),
                exit => Outcome::error(NOT_SERVED.to_owned(), exit),
            }
        }
        Err(refusal) => startup_failure(&refusal),
    }
}

const NOT_SERVED: &str = "Error: The session ended early: its input or output failed, or its reading thread could not be \
                          started (too many processes or too little memory).";

fn start(environment: &Environment) -> Result<Broker<OsSystem>, Refusal> {
    os::start::check_platform().map_err(|_| Reason::KernelTooOld)?;
    let system = OsSystem::new();
    let delegate = delegate(&system, environment)?;
    Broker::start(system, environment.settings.clone(), delegate)
}

/// The runtime that the environment names: an external one where pins are given, else the embedded one.
pub(crate) fn delegate<S: System>(system: &S, environment: &Environment) -> Result<Delegate<S>, Refusal> {
    match environment.runtime_pins.as_deref() {
        Some(coordinate) => Ok(Delegate::external(PinnedRuntime::open(system, coordinate)?)),
        None if cfg!(feature = "runtime") => Ok(Delegate::embedded()),
        None => Err(Reason::RuntimeAbsent.into()),
    }
}

/// One line: the recorded phrase, the reason, the remedy. Exit 1, nothing on standard output.
fn startup_failure(refusal: &Refusal) -> Outcome {
    Outcome::failed(format!(
        "Error: [{}] {} ({}) {}",
        refusal.code(),
        refusal.message(),
        refusal.reason(),
        refusal.remedy()
    ))
}
