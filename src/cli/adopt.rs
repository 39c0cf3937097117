//! `kdna-broker adopt`: approves, after one question, the attachments of a record that came with its workspace.

use crate::broker::adopting::{self, Adoption, AdoptionRequest};
use crate::capability::state;
use crate::cli::broker;
use crate::cli::consent::{DECLINED, NO_TERMINAL};
use crate::cli::environment::Environment;
use crate::cli::grammar::Options;
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::foundation::refusal::Reason;
use crate::system::System;
use crate::system::os::{self, OsSystem};

const OPTIONS: Options = Options { flags: &[], values: &["--cwd", "--attachment"], repeatable: &[], flags_once: false };

/// Runs it.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    with_errors(&BROKER, "adopt", words, |words| {
        adopt(&OsSystem::new(), environment, words).unwrap_or_else(|refused| refused)
    })
}

fn adopt<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(BROKER.misused("adopt"));
    }
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let request = AdoptionRequest {
        cwd: arguments.value("--cwd").unwrap_or("."),
        attachment: arguments.value("--attachment"),
        home: environment.settings.home.as_deref(),
        state: &state,
    };
    Ok(match adopting::adopt(system, &broker::delegate(system, environment)?, &request)? {
        Adoption::Adopted(1) => Outcome::text("Approved for this workspace on this machine: 1 attachment."),
        Adoption::Adopted(count) => {
            Outcome::text(format!("Approved for this workspace on this machine: {count} attachments."))
        }
        Adoption::Nothing => Outcome::text("Nothing to do: every attachment here is approved on this machine."),
        Adoption::Declined => Outcome::text("Declined. Nothing was changed.").exiting(DECLINED),
        Adoption::NoTerminal => Outcome::refused(&Reason::ConsentNoTerminal.into()).exiting(NO_TERMINAL),
    })
}
