//! `kdna-broker consent request | status | revoke`: one plain question, what is allowed now, and taking it back. Reads an
//! answer from the terminal only.

use crate::broker::approval::{Approval, ApprovalRequest, Question};
use crate::capability::state;
use crate::cli::broker;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options, shell_word};
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::consent::store::{self, ConsentFile};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::system::System;
use crate::system::os::{self, OsSystem};

const REQUEST: Options = Options {
    flags: &["--details"],
    values: &["--host", "--processor", "--profile", "--attachment", "--host-root", "--cwd"],
    repeatable: &[],
    flags_once: false,
};
const PLACE: Options = Options { flags: &[], values: &["--file"], repeatable: &[], flags_once: false };
const USAGE: &str = "Usage: kdna-broker consent request --host <id> --processor <name> [--profile <profile>] \
                     [--attachment <id>] [--host-root <dir>] [--cwd <dir>] [--details] | status [--file <path>] | revoke [--file <path>]";

/// Declined by the person.
pub(crate) const DECLINED: u8 = 10;
/// No terminal to ask on.
pub(crate) const NO_TERMINAL: u8 = 11;

/// Runs one of the three.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    let Some((command, words)) = words.split_first() else { return Outcome::usage(USAGE) };
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    let system = OsSystem::new();
    with_errors("consent", words, |words| {
        let outcome = match command.as_str() {
            "request" => request(&system, environment, words),
            "status" => place(&system, environment, words).and_then(|file| Ok(status(&system, &file)?)),
            "revoke" => place(&system, environment, words).and_then(|file| Ok(revoke(&system, &file)?)),
            _ => Err(Outcome::usage(USAGE)),
        };
        outcome.unwrap_or_else(|refused| refused)
    })
}

/// Where the consent lies: the named file, else the default one in the broker's private state.
pub(crate) fn file<S: System>(system: &S, environment: &Environment) -> Result<AbsolutePath, Refusal> {
    if let Some(text) = environment.settings.consent_file.as_deref().filter(|text| !text.is_empty()) {
        return ConsentFile::<S>::coordinate(text);
    }
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    Ok(state::consent_path(&state))
}

/// The file that `--file` names, else [`file`].
fn place<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<AbsolutePath, Outcome> {
    let arguments = PLACE.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(Outcome::usage(USAGE));
    }
    let Some(text) = arguments.value("--file") else { return Ok(file(system, environment)?) };
    let named = ConsentFile::<S>::coordinate(text);
    let message = "--file must name one absolute regular-file path.";
    named.map_err(|refusal| Refusal::labelled(refusal.reason(), message).into())
}

/// The command that takes back the consent in this file; only the account's default place needs no name.
pub(crate) fn take_back<S: System>(system: &S, file: &AbsolutePath) -> String {
    let command = "kdna-broker consent revoke";
    if state::state_path(system, None).is_ok_and(|state| state::consent_path(&state) == *file) {
        return command.to_owned();
    }
    let shown = display(file.as_str(), limits::PATH_UNITS);
    let escaped = if shown == file.as_str() { "" } else { "  (the path is shown escaped)" };
    format!("{command} --file {}{escaped}", shell_word(&shown))
}

fn request<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = REQUEST.parse(words).map_err(|text| Outcome::usage(&text))?;
    let (Some(host_id), Some(processor), []) =
        (arguments.value("--host"), arguments.value("--processor"), arguments.positionals())
    else {
        return Err(Outcome::usage(USAGE));
    };
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let request = ApprovalRequest {
        cwd: arguments.value("--cwd").unwrap_or("."),
        attachment: arguments.value("--attachment"),
        host_root: arguments.value("--host-root"),
        host_id,
        processor,
        profile: arguments.value("--profile").unwrap_or("compact"),
        home: environment.settings.home.as_deref(),
        state: &state,
    };
    Ok(ask(system, environment, &request, &arguments)?)
}

fn ask<S: System>(
    system: &S,
    environment: &Environment,
    request: &ApprovalRequest<'_>,
    arguments: &Arguments,
) -> Result<Outcome, Refusal> {
    let question = Question::prepare_with(system, &broker::delegate(system, environment)?, request)?;
    let file = file(system, environment)?;
    let root = question.draft().as_facts().host_root.clone();
    match question.ask(system, &file, arguments.has("--details"))? {
        Approval::Allowed { consent, replaced } => Ok(Outcome::text(format!(
            "Allowed. The consent {consent} was written.\n{}Give the server these values:\n  \
             KDNA_MCP_WORKSPACE_ROOT={}\n  KDNA_MCP_HOST_ID={}\n  KDNA_MCP_HOST_PROCESSING_CONSENT_FILE={}\n\
             Take it back with: {}",
            if replaced {
                "It replaced the consent that was in this file, which allows nothing any more.\n"
            } else {
                ""
            },
            display(root.as_str(), limits::PATH_UNITS),
            request.host_id,
            display(file.as_str(), limits::PATH_UNITS),
            take_back(system, &file)
        ))),
        Approval::Declined => Ok(Outcome::text("Declined. Nothing was changed.").exiting(DECLINED)),
        Approval::NoTerminal => Ok(Outcome::refused(&Reason::ConsentNoTerminal.into()).exiting(NO_TERMINAL)),
    }
}

fn status<S: System>(system: &S, file: &AbsolutePath) -> Result<Outcome, Refusal> {
    let held = ConsentFile::open(system, file)?;
    Ok(Outcome::document(&store::status_with_place(system, held.as_ref())?))
}

fn revoke<S: System>(system: &S, file: &AbsolutePath) -> Result<Outcome, Refusal> {
    let there = match ConsentFile::open(system, file)? {
        Some(held) => held.revoke(system)?,
        None => false,
    };
    Ok(Outcome::text(if there {
        "Revoked. No load is delivered under it any more.".to_owned()
    } else {
        let shown = display(file.as_str(), limits::PATH_UNITS);
        format!("There was no consent to revoke in {shown}\n--file PATH names another one.")
    }))
}
