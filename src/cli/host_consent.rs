//! `kdna host-consent`: the recorded command, in its recorded default place, asking the question of `kdna-broker
//! consent`. Takes no draft: the facts come from the workspace.

use crate::broker::approval::{Approval, ApprovalRequest, Question};
use crate::capability::{home, state};
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::outcome::Outcome;
use crate::cli::{broker, consent};
use crate::consent::store::{self, ConsentFile, STATUS_TYPE};
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::system::System;

const OPTIONS: Options = Options {
    flags: &["--json", "--status", "--revoke", "--from-workspace"],
    values: &["--cwd", "--host", "--processor", "--profile", "--input-file"],
    repeatable: &[],
    flags_once: false,
};

/// Runs it.
pub(crate) fn run<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(Outcome::usage("Usage: kdna host-consent [--json] [--status] [--revoke]"));
    }
    let file = file(system, environment)?;
    let (status, revoke) = (arguments.has("--status"), arguments.has("--revoke"));
    if status && revoke {
        return Err(usage("--revoke and --status are mutually exclusive."));
    }
    if arguments.has("--from-workspace") && (status || revoke) {
        return Err(usage("--from-workspace cannot be combined with --revoke or --status."));
    }
    if revoke {
        return Ok(self::revoke(system, &file, &arguments)?);
    }
    if status {
        let held = ConsentFile::open(system, &file)?;
        return Ok(Outcome::document(&store::status(system, held.as_ref())?));
    }
    if !arguments.has("--from-workspace") {
        return Err(Outcome::refused(&Reason::ConsentDraftNeeded.into()));
    }
    let (Some(host), Some(processor)) = (arguments.value("--host"), arguments.value("--processor")) else {
        return Err(usage("--from-workspace requires --host <host-id> and --processor <named-remote-provider>."));
    };
    Ok(ask(system, environment, &file, &arguments, (host, processor))?)
}

fn usage(message: &'static str) -> Outcome {
    Outcome::refused(&Refusal::labelled(Reason::ConsentUsage, message))
}

/// The named file, else `.kdna/host-processing-consent.json` in the home directory.
fn file<S: System>(system: &S, environment: &Environment) -> Result<AbsolutePath, Refusal> {
    if let Some(text) = environment.settings.consent_file.as_deref().filter(|text| !text.is_empty()) {
        return ConsentFile::<S>::coordinate(text);
    }
    let home = match environment.settings.home.as_deref() {
        Some(text) => home::parse(text).map_err(|_| Reason::ConsentCoordinate)?,
        None => system.account_home().ok_or(Reason::ConsentCoordinate)?,
    };
    // Private directories are reached without links, so a home behind one is named by its real path.
    let home = home::real(system, &home).unwrap_or(home);
    let below = RelativePath::parse(".kdna/host-processing-consent.json").ok_or(Reason::Internal)?;
    Ok(home.join(&below))
}

fn revoke<S: System>(system: &S, file: &AbsolutePath, arguments: &Arguments) -> Result<Outcome, Refusal> {
    if let Some(held) = ConsentFile::open(system, file)? {
        held.revoke(system)?;
    }
    if !arguments.has("--json") {
        return Ok(Outcome::text("KDNA Host processing consent revoked."));
    }
    Ok(Outcome::document(&Value::object([
        ("operation", Value::from("revoke")),
        ("document_type", Value::from(STATUS_TYPE)),
        ("present", Value::from(false)),
        ("revoked", Value::from(true)),
    ])))
}

fn ask<S: System>(
    system: &S,
    environment: &Environment,
    file: &AbsolutePath,
    arguments: &Arguments,
    (host_id, processor): (&str, &str),
) -> Result<Outcome, Refusal> {
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let request = ApprovalRequest {
        cwd: arguments.value("--cwd").unwrap_or("."),
        attachment: None,
        host_root: None,
        host_id,
        processor,
        profile: arguments.value("--profile").unwrap_or("compact"),
        home: environment.settings.home.as_deref(),
        state: &state,
    };
    let json = arguments.has("--json");
    match Question::prepare_with(system, &broker::delegate(system, environment)?, &request)?.ask(system, file, false)? {
        Approval::NoTerminal => Err(Reason::ConsentNoTerminal.into()),
        Approval::Declined if json => Ok(Outcome::document(&Value::object([
            ("operation", Value::from("decline")),
            ("approved", Value::from(false)),
            ("consent_digest", Value::Null),
        ]))),
        Approval::Declined => Ok(Outcome::text("KDNA Host processing consent declined.")),
        Approval::Allowed { consent, .. } if json => Ok(Outcome::document(&Value::object([
            ("operation", Value::from("approve")),
            ("document_type", Value::from(STATUS_TYPE)),
            ("present", Value::from(true)),
            ("approved", Value::from(true)),
            ("consent_digest", Value::from(consent)),
            ("consent_path", Value::from(file.as_str())),
        ]))),
        Approval::Allowed { .. } => {
            let shown = display(file.as_str(), limits::PATH_UNITS);
            let back = consent::take_back(system, file);
            Ok(Outcome::text(format!(
                "KDNA Host processing consent approved and written to {shown}\nTake it back with: {back}"
            )))
        }
    }
}
