//! `kdna-broker launch`: settles consent, obtains a password where one is needed, and starts a host with exactly the
//! variables that the server needs. Ends as the host ends.

use crate::broker::approval::{ApprovalRequest, lifetime};
use crate::capability::state;
use crate::cli::consent::{DECLINED, NO_TERMINAL};
use crate::cli::environment::{Environment, inherited};
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::cli::{broker, consent};
use crate::consent::document::Schema;
use crate::foundation::refusal::{Reason, Refusal};
use crate::hosts::known;
use crate::launch::secret::SecretSource;
use crate::launch::{LaunchOrder, Launched, host, launch};
use crate::system::Observe;
use crate::system::os::host_process::{Ending, NOT_FOUND, NOT_STARTED};
use crate::system::os::{self, OsSystem};
use std::ffi::OsString;

const OPTIONS: Options = Options {
    flags: &["--details", "--no-transcript"],
    values: &[
        "--host",
        "--processor",
        "--workspace",
        "--host-root",
        "--profile",
        "--attachment",
        "--expires-in",
        "--secret-from",
    ],
    repeatable: &[],
    flags_once: true,
};

/// If this process was started to become a host: it does, or this is how it ends.
pub(crate) fn become_host_if_asked() -> Option<Outcome> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    host::become_host(&words).map(|(refusal, status)| Outcome::refused(&refusal).exiting(status))
}

/// Runs it.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    with_errors(&BROKER, "launch", words, |words| parsed(environment, words))
}

fn parsed(environment: &Environment, words: &[String]) -> Outcome {
    let Some(at) = words.iter().position(|word| word == "--") else { return BROKER.misused("launch") };
    let (own, rest) = words.split_at(at);
    match OPTIONS.parse(own) {
        Err(text) => Outcome::usage(&text),
        Ok(arguments) => {
            started(environment, &arguments, rest.get(1..).unwrap_or_default()).unwrap_or_else(|refused| refused)
        }
    }
}

fn started(environment: &Environment, arguments: &Arguments, command: &[String]) -> Result<Outcome, Outcome> {
    let (Some(host_id), Some(processor), [], Some((word, _))) =
        (arguments.value("--host"), arguments.value("--processor"), arguments.positionals(), command.split_first())
    else {
        return Err(BROKER.misused("launch"));
    };
    if command.iter().any(|word| word.contains('\0')) {
        return Err(Outcome::usage("The host's command must be UTF-8."));
    }
    // First of all: nothing else may be opened under the number of a descriptor that is named.
    let secret = SecretSource::parse(arguments.value("--secret-from").unwrap_or("tty"));
    let secret = secret.ok_or_else(|| Outcome::usage("Invalid --secret-from."))??;
    let system = OsSystem::new();
    let here = system.working_directory().map_err(|_| Refusal::from(Reason::CwdUnavailable))?;
    let variables = inherited();
    let program = host::program(word, &here, &variables).map_err(|refusal| not_started(&refusal))?;
    let transcript = transcript(word, command, arguments.has("--no-transcript"))?;
    let state = state::state_path(&system, environment.settings.state_directory.as_deref())?;
    let order = LaunchOrder {
        request: ApprovalRequest {
            cwd: arguments.value("--workspace").unwrap_or("."),
            attachment: arguments.value("--attachment"),
            host_root: arguments.value("--host-root"),
            host_id,
            processor,
            profile: arguments.value("--profile").unwrap_or("compact"),
            lifetime: arguments.value("--expires-in").map(lifetime).transpose()?,
            schema: Schema::default(),
            require_ledger: true,
            home: environment.settings.home.as_deref(),
            state: &state,
        },
        consent: &consent::place(&system, environment)?,
        take_back: consent::take_back,
        details: arguments.has("--details"),
        secret,
        here: &here,
        program,
        arguments: transcript.command.get(1..).unwrap_or_default(),
        environment: &variables,
        runtime_directory: environment.runtime_directory.as_deref(),
    };
    let delegate = broker::delegate(&system, environment)?;
    let mut says = std::io::stderr();
    transcript.note.iter().for_each(|note| broker::say(note));
    Ok(ended(launch(&system, &delegate, order, &mut says).map_err(|refusal| not_started(&refusal))?))
}

/// The command as it will be started, and what to say about the host's transcript.
struct Transcript {
    command: Vec<String>,
    note: Option<String>,
}

fn transcript(word: &str, command: &[String], wanted: bool) -> Result<Transcript, Outcome> {
    let host = known::by_program(word);
    if wanted {
        let changed = host.and_then(|host| host.without_transcript(command));
        let command = changed.ok_or_else(|| Outcome::refused(&Reason::TranscriptFlagUnknown.into()))?;
        return Ok(Transcript { command, note: None });
    }
    let note = host.and_then(|host| host.transcript_note(command));
    Ok(Transcript { command: command.to_vec(), note })
}

fn not_started(refusal: &Refusal) -> Outcome {
    let exit = match refusal.reason() {
        Reason::HostNotFound => NOT_FOUND,
        Reason::HostNotStarted => NOT_STARTED,
        _ => 2,
    };
    Outcome::refused(refusal).exiting(exit)
}

fn ended(launched: Launched) -> Outcome {
    match launched {
        Launched::Ended(Ending::Exit(status)) => {
            Outcome { exit: u8::try_from(status).unwrap_or(u8::MAX), ..Outcome::default() }
        }
        Launched::Ended(Ending::Signal(number)) | Launched::Cancelled(Some(number)) => Outcome::ended_by(number),
        Launched::Cancelled(None) => Outcome::error("Cancelled. The host was not started.".to_owned(), DECLINED),
        Launched::Declined => Outcome::error("Declined. The host was not started.".to_owned(), DECLINED),
        Launched::NoTerminal => Outcome::refused(&Reason::ConsentNoTerminal.into()).exiting(NO_TERMINAL),
    }
}
