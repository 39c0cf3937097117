//! `kdna-broker`: the server, the consent question and the demonstration.

use crate::broker::{Broker, Settings, VERSION};
#[cfg(feature = "runtime")]
use crate::cli::demo;
use crate::cli::environment::Environment;
use crate::cli::grammar::Options;
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::cli::{adopt, audit, consent, host_config, launch, machine, owner, runtime};
use crate::delegate::Delegate;
use crate::delegate::pin::PinnedRuntime;
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::text::display;
use crate::mcp::{self, ServeOptions, ToolNames};
use crate::system::System;
use crate::system::os::signals::{self, EndSignals};
use crate::system::os::streams::Waiting;
use crate::system::os::{self, OsSystem};
use crate::system::{ChildFault, ChildReport};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Runs one command.
pub(crate) fn run(environment: &Environment) -> Outcome {
    let (command, words) = match environment.arguments.split_first() {
        None => ("help", &[][..]),
        Some((command, words)) => (command.as_str(), words),
    };
    if let Some(page) = BROKER.asked(command, words) {
        return page;
    }
    match command {
        "mcp" => serve(environment, words),
        "consent" => consent::run(environment, words),
        "adopt" => adopt::run(environment, words),
        "host-config" => host_config::run(environment, words),
        "launch" => launch::run(environment, words),
        "runtime" => runtime::run(words),
        "audit" => audit::run(environment, words),
        "doctor" => machine::run(environment, words),
        #[cfg(feature = "runtime")]
        "demo" => demo::run(environment, words),
        "help" | "--help" | "-h" => BROKER.help(words),
        "version" | "--version" | "-v" => owner::alone("version", words, Outcome::text(VERSION)),
        other => Outcome::usage(&BROKER.unknown(owner::NO_COMMAND, other)),
    }
}

const SERVE: Options =
    Options { flags: &["--hardened", "--verbose"], values: &["--tool-names"], repeatable: &[], flags_once: true };

/// Whether a command line starts the server, and then whether its tools have portable names.
pub(crate) fn serves(words: &[String]) -> Option<bool> {
    let (command, words) = words.split_first()?;
    let arguments = SERVE.parse(words).ok().filter(|arguments| arguments.positionals().is_empty())?;
    let names = ToolNames::parse(arguments.value("--tool-names").unwrap_or("dotted"))?;
    (command == "mcp").then_some(names == ToolNames::Portable)
}

fn serve(environment: &Environment, words: &[String]) -> Outcome {
    let arguments = match SERVE.parse(words) {
        Ok(arguments) if arguments.positionals().is_empty() => arguments,
        Ok(_) => {
            return BROKER.misused("mcp");
        }
        Err(text) => return Outcome::usage(&text),
    };
    let Some(tool_names) = ToolNames::parse(arguments.value("--tool-names").unwrap_or("dotted")) else {
        return Outcome::usage("Invalid --tool-names. Use dotted or portable.");
    };
    let Ok(signals) = EndSignals::block() else {
        return Outcome::failed("Error: [platform_unsupported] The process could not be prepared: signals.".to_owned());
    };
    match start(environment, arguments.has("--hardened"), arguments.has("--verbose")) {
        Ok(broker) => {
            let options = ServeOptions { tool_names, server_version: VERSION.to_owned() };
            let watcher = move |stop: &dyn Fn(u8)| end_on_signal(signals, stop);
            let (input, output) = (Waiting(std::io::stdin()), Waiting(std::io::stdout()));
            let served = mcp::serve_watched(input, output, Arc::new(broker), options, watcher);
            match served {
                mcp::Ending::Failed => Outcome::error(NOT_SERVED.to_owned(), served.exit_code()),
                _ => Outcome { exit: served.exit_code(), ..Outcome::default() },
            }
        }
        Err(refusal) => startup_failure(&refusal),
    }
}

const NOT_SERVED: &str = "Error: The session ended early: its input or output failed, or its reading thread could not be \
                          started (too many processes or too little memory).";

/// How long a server that was told to end waits for a reader of its output to take the message that is being written.
const LAST_MESSAGE: Duration = Duration::from_secs(2);

/// Ends the session cleanly on the first signal, and the process where the session cannot end.
fn end_on_signal(signals: EndSignals, stop: &dyn Fn(u8)) {
    let status = signals.wait();
    stop(status);
    signals::exit_after(LAST_MESSAGE, status)
}

fn start(environment: &Environment, hardened: bool, verbose: bool) -> Result<Broker<OsSystem>, Refusal> {
    os::start::check_platform().map_err(|_| Reason::KernelTooOld)?;
    let system = OsSystem::new();
    let delegate = delegate(&system, environment)?;
    let delegate = if verbose { delegate.witnessed(tell) } else { delegate };
    let settings = Settings { hardened: hardened || environment.settings.hardened, ..environment.settings.clone() };
    Broker::start(system, settings, delegate)
}

/// The runtime that the environment names: an external one where pins are given, else the embedded one.
pub(crate) fn delegate<S: System>(system: &S, environment: &Environment) -> Result<Delegate<S>, Refusal> {
    match environment.runtime_pins.as_deref() {
        Some(coordinate) => Ok(Delegate::external(PinnedRuntime::open(system, coordinate)?)),
        None if cfg!(feature = "runtime") => Ok(Delegate::embedded()),
        None => Err(Reason::RuntimeAbsent.into()),
    }
}

/// What `--verbose` says of each worker, on the server's own standard error: how it ended, and the end of what it said,
/// escaped. Says nothing of one that ended well in silence.
fn tell(stage: Stage, result: &Result<ChildReport, ChildFault>) {
    let text = match result {
        Ok(report) if report.exit == 0 && report.errors.is_empty() => return,
        Ok(report) => {
            let said = display(&String::from_utf8_lossy(&report.errors), limits::RUNTIME_STDERR_BYTES);
            format!("kdna-broker: {stage}: the worker ended with status {}, saying: {said}\n", report.exit)
        }
        Err(fault) => format!("kdna-broker: {stage}: {fault}\n"),
    };
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// One line for the person, on standard error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "kdna-broker: {text}");
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
