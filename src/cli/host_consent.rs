//! `kdna host-consent`: the recorded command, in its recorded default place, asking the question of `kdna-broker
//! consent` and writing version 0.1.0. A draft is compared with the workspace and never taken for it.

use crate::broker::approval::{Approval, ApprovalRequest, ConsentPlace, Question};
use crate::capability::private_file::read_private;
use crate::capability::root::named;
use crate::capability::{home, state};
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::OWNER;
use crate::cli::outcome::Outcome;
use crate::cli::{broker, consent, input};
use crate::consent::document::Schema;
use crate::consent::host_draft::HostDraft;
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
        return Err(OWNER.misused("host-consent"));
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
        return Ok(self::revoke(system, environment, &file, &arguments)?);
    }
    if status {
        let held = ConsentFile::open(system, &file)?;
        return Ok(Outcome::document(&store::status(system, held.as_ref())?));
    }
    if !arguments.has("--from-workspace") {
        let draft = draft(system, &arguments)?;
        let wish = Wish {
            cwd: draft.workspace_root.as_str(),
            attachment: Some(&draft.attachment_id),
            host_id: &draft.host_id,
            processor: &draft.processor,
            profile: &draft.profile,
            draft: Some(&draft),
        };
        return Ok(ask(system, environment, &file, &wish, arguments.has("--json"))?);
    }
    let (Some(host_id), Some(processor)) = (arguments.value("--host"), arguments.value("--processor")) else {
        return Err(usage("--from-workspace requires --host <host-id> and --processor <named-remote-provider>."));
    };
    let (cwd, profile) = (arguments.value("--cwd").unwrap_or("."), arguments.value("--profile").unwrap_or("compact"));
    let wish = Wish { cwd, attachment: None, host_id, processor, profile, draft: None };
    Ok(ask(system, environment, &file, &wish, arguments.has("--json"))?)
}

/// What is asked for.
struct Wish<'a> {
    cwd: &'a str,
    attachment: Option<&'a str>,
    host_id: &'a str,
    processor: &'a str,
    profile: &'a str,
    draft: Option<&'a HostDraft>,
}

/// The draft in the named private file, else on standard input.
fn draft<S: System>(system: &S, arguments: &Arguments) -> Result<HostDraft, Refusal> {
    let bytes = match arguments.value("--input-file") {
        Some(text) => {
            let unsafe_file = "The Host consent draft file must be one private regular file.";
            let read = || {
                let (parent, name) = named(system, text).ok()?.split_last().map(|(at, name)| (at, name.to_owned()))?;
                let file = system.open_file_in(&system.open_directory(&parent).ok()?, &name).ok()?;
                read_private(system, &file, limits::TASK_BYTES).ok()
            };
            read().ok_or_else(|| Refusal::labelled(Reason::ConsentDraftInvalid, unsafe_file))?
        }
        None => input::read_piped(limits::TASK_BYTES).map_err(|fault| match fault {
            input::InputFault::Empty => Refusal::labelled(Reason::ConsentDraftInvalid, NO_DRAFT),
            input::InputFault::TooLarge => {
                Refusal::labelled(Reason::ConsentDraftInvalid, "The Host consent draft exceeds its size limit.")
            }
            input::InputFault::Unreadable => Reason::ConsentDraftNeeded.into(),
        })?,
    };
    if bytes.trim_ascii().is_empty() {
        return Err(Refusal::labelled(Reason::ConsentDraftInvalid, NO_DRAFT));
    }
    HostDraft::read(&bytes)
}

const NO_DRAFT: &str = "Host consent requires a structured draft object.";

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

fn revoke<S: System>(
    system: &S,
    environment: &Environment,
    file: &AbsolutePath,
    arguments: &Arguments,
) -> Result<Outcome, Refusal> {
    let (_, note) = consent::take_away(system, environment, file)?;
    let errors = note.unwrap_or_default();
    if !arguments.has("--json") {
        return Ok(Outcome { errors, ..Outcome::text("KDNA Host processing consent revoked.") });
    }
    let document = Outcome::document(&Value::object([
        ("operation", Value::from("revoke")),
        ("document_type", Value::from(STATUS_TYPE)),
        ("present", Value::from(false)),
        ("revoked", Value::from(true)),
    ]));
    Ok(Outcome { errors, ..document })
}

fn ask<S: System>(
    system: &S,
    environment: &Environment,
    file: &AbsolutePath,
    wish: &Wish<'_>,
    json: bool,
) -> Result<Outcome, Refusal> {
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let request = ApprovalRequest {
        cwd: wish.cwd,
        attachment: wish.attachment,
        host_root: None,
        host_id: wish.host_id,
        processor: wish.processor,
        profile: wish.profile,
        lifetime: None,
        schema: Schema::Plain,
        require_ledger: environment.settings.require_ledger,
        home: environment.settings.home.as_deref(),
        state: &state,
    };
    let question = Question::prepare_with(system, &broker::delegate(system, environment)?, &request)?;
    if let Some(draft) = wish.draft {
        question.agrees_with(draft)?;
    }
    match question.ask(system, &ConsentPlace::File(file.clone()), false)? {
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
            ("consent_path", Value::copied(file.as_str())),
        ]))),
        Approval::Allowed { .. } => {
            let shown = display(file.as_str(), limits::PATH_UNITS);
            let back = consent::take_back(file);
            Ok(Outcome::text(format!(
                "KDNA Host processing consent approved and written to {shown}\nTake it back with: {back}"
            )))
        }
    }
}
