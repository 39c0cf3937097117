//! Floor 8: the commands. The only place that reads the environment and the command line; everything below is given
//! what it needs.

mod adopt;
#[cfg(feature = "runtime")]
mod approve;
#[cfg(feature = "runtime")]
mod approve_question;
mod asset;
#[cfg(feature = "runtime")]
mod attach;
mod audit;
mod broker;
mod card;
#[cfg(feature = "runtime")]
mod change;
#[cfg(feature = "runtime")]
mod cleanup;
mod consent;
#[cfg(feature = "runtime")]
mod demo;
#[cfg(feature = "runtime")]
mod doctor;
mod environment;
mod grammar;
mod help;
mod host_config;
mod host_consent;
mod input;
mod launch;
mod machine;
#[cfg(feature = "runtime")]
mod made;
mod outcome;
mod owner;
#[cfg(feature = "runtime")]
mod pack;
#[cfg(feature = "runtime")]
mod people;
mod progress;
#[cfg(feature = "runtime")]
mod protect;
#[cfg(feature = "runtime")]
mod remembered;
mod resolve;
mod runtime;
mod shim;
#[cfg(feature = "runtime")]
mod switch;
#[cfg(feature = "runtime")]
mod worker;

use crate::foundation::refusal::Reason;
use crate::system::os;
use environment::Environment;
use outcome::Outcome;
use std::process::ExitCode;

/// Must be the first call of any program that embeds the broker: if this process was started as a runtime worker, it
/// confines itself, serves its one request (or becomes the pinned external runtime) and never returns.
pub fn worker_entry() {
    shim::serve_if_asked();
    #[cfg(feature = "runtime")]
    worker::serve_if_asked();
}

/// Whether this process was started with exactly this one argument.
fn is_only_argument(flag: &str) -> bool {
    let mut words = std::env::args_os().skip(1);
    words.next().is_some_and(|word| word == flag) && words.next().is_none()
}

/// What both executables run: dispatches on the name it was started by. Any name but `kdna` is the broker.
pub fn main_entry() -> ExitCode {
    worker_entry();
    if let Some(outcome) = launch::become_host_if_asked() {
        return outcome.finish();
    }
    if let Err(part) = prepare_process() {
        return Outcome::failed(format!("Error: [platform_unsupported] The process could not be prepared: {part}."))
            .finish();
    }
    let mut environment = Environment::read();
    match crate::launch::continue_on_terminal(&environment.arguments) {
        Some(Ok(arguments)) => environment.arguments = arguments.to_vec(),
        Some(Err(_)) => return Outcome::refused(&Reason::ConsentNoTerminal.into()).finish(),
        None => {}
    }
    let outcome = if environment.program_is("kdna") { owner::run(&environment) } else { broker::run(&environment) };
    outcome.finish()
}

/// Before anything else: no stray descriptor is passed on, none of the standard ones is closed, nobody may trace this
/// process or find its memory in a core file. Names the part that failed.
fn prepare_process() -> Result<(), &'static str> {
    os::start::reopen_standard_streams().map_err(|_| "standard streams")?;
    os::start::set_cloexec_everywhere();
    os::signals::survive_file_size_limit().map_err(|_| "file size signal")?;
    os::start::not_dumpable().map_err(|_| "not dumpable")?;
    os::start::no_core().map_err(|_| "no core file")
}
