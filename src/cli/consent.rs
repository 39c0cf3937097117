//! `kdna-broker consent request | status | revoke`: one plain question, what is allowed now, and taking it back. Reads an
//! answer from the terminal only.

use crate::broker::approval::{Approval, ApprovalRequest, Question};
use crate::capability::state;
use crate::cli::broker;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::consent::store::{self, ConsentFile};
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
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
const NOTHING: Options = Options { flags: &[], values: &[], repeatable: &[], flags_once: false };
const USAGE: &str = "Usage: kdna-broker consent request --host <id> --processor <name> [--profile <profile>] \
                     [--attachment <id>] [--host-root <dir>] [--cwd <dir>] [--details] | status | revoke";

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
            "status" => nothing_more(words).and_then(|()| Ok(status(&system, environment)?)),
            "revoke" => nothing_more(words).and_then(|()| Ok(revoke(&system, environment)?)),
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
    let below = RelativePath::parse("consent/processing-consent.json").ok_or(Reason::Internal)?;
    Ok(state.join(&below))
}

fn nothing_more(words: &[String]) -> Result<(), Outcome> {
    match NOTHING.parse(words) {
        Ok(arguments) if arguments.positionals().is_empty() => Ok(()),
        Ok(_) => Err(Outcome::usage(USAGE)),
        Err(text) => Err(Outcome::usage(&text)),
    }
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
        Approval::Allowed { consent } => Ok(Outcome::text(format!(
            "Allowed. The consent {consent} was written.\nGive the server these values:\n  \
             KDNA_MCP_WORKSPACE_ROOT={}\n  KDNA_MCP_HOST_ID={}\n  KDNA_MCP_HOST_PROCESSING_CONSENT_FILE={}\n\
             Take it back with: kdna-broker consent revoke",
            display(root.as_str(), limits::PATH_UNITS),
            request.host_id,
            display(file.as_str(), limits::PATH_UNITS)
        ))),
        Approval::Declined => Ok(Outcome::text("Declined. Nothing was changed.").exiting(DECLINED)),
        Approval::NoTerminal => Ok(Outcome::refused(&Reason::ConsentNoTerminal.into()).exiting(NO_TERMINAL)),
    }
}

fn status<S: System>(system: &S, environment: &Environment) -> Result<Outcome, Refusal> {
    let held = ConsentFile::open(system, &file(system, environment)?)?;
    Ok(Outcome::document(&store::status(system, held.as_ref())?))
}

fn revoke<S: System>(system: &S, environment: &Environment) -> Result<Outcome, Refusal> {
    let there = match ConsentFile::open(system, &file(system, environment)?)? {
        Some(held) => held.revoke(system)?,
        None => false,
    };
    Ok(Outcome::text(if there {
        "Revoked. No load is delivered under it any more."
    } else {
        "There was no consent to revoke."
    }))
}
