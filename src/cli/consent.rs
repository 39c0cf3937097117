//! `kdna-broker consent request | check | status | list | show | revoke`: one plain question, what is allowed now, and taking
//! it back. Reads an answer from the terminal only.

mod stored;
mod told;

use crate::broker::approval::{Approval, ApprovalRequest, ConsentPlace, NOT_REMEMBERED, Question, lifetime};
use crate::broker::settle::{self, Validity};
use crate::capability::state;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options, shell_word};
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::cli::{broker, input};
use crate::consent::document::Schema;
use crate::consent::host_draft::HostDraft;
use crate::consent::store::ConsentFile;
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Code, Reason, Refusal};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::system::System;
use crate::system::os::{self, OsSystem};

pub(crate) use stored::take_away;

const REQUEST: Options = Options {
    flags: &["--details", "--draft-stdin"],
    values: &["--host", "--processor", "--profile", "--attachment", "--host-root", "--cwd", "--expires-in", "--schema"],
    repeatable: &[],
    flags_once: false,
};

/// Declined by the person; or, from `check`, that a person must be asked.
pub(crate) const DECLINED: u8 = 10;
/// No terminal to ask on.
pub(crate) const NO_TERMINAL: u8 = 11;

/// Runs one of them.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    let system = OsSystem::new();
    with_errors(&BROKER, "consent", words, |words| {
        let Some((command, words)) = words.split_first() else { return BROKER.misused("consent") };
        let outcome = match command.as_str() {
            "request" => request(&system, environment, words),
            "check" => check(&system, environment, words),
            "status" | "list" | "show" | "revoke" => stored::run(&system, environment, command, words),
            other => Err(Outcome::usage(&BROKER.unknown("There is no command", &format!("consent {other}")))),
        };
        outcome.unwrap_or_else(|refused| refused)
    })
}

/// Where consents are kept: the named file, else the named set, else the set in the broker's private state.
pub(crate) fn place<S: System>(system: &S, environment: &Environment) -> Result<ConsentPlace, Refusal> {
    if let Some(named) = named_place::<S>(environment)? {
        return Ok(named);
    }
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    Ok(ConsentPlace::Set(state::consent_set_path(&state)))
}

/// The same, of what the environment names: all that a server reads.
pub(crate) fn named_place<S: System>(environment: &Environment) -> Result<Option<ConsentPlace>, Refusal> {
    let named = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(file) = named(&environment.settings.consent_file) {
        return ConsentFile::<S>::coordinate(&file).map(|file| Some(ConsentPlace::File(file)));
    }
    let Some(set) = named(&environment.settings.consent_directory) else { return Ok(None) };
    let message = "KDNA_BROKER_CONSENT_DIR must name one absolute directory path.";
    let path = ConsentFile::<S>::coordinate(&set).map_err(|refusal| Refusal::labelled(refusal.reason(), message))?;
    Ok(Some(ConsentPlace::Set(path)))
}

/// The command that takes back the consent in this file.
pub(crate) fn take_back(file: &AbsolutePath) -> String {
    let shown = display(file.as_str(), limits::PATH_UNITS);
    let escaped = if shown == file.as_str() { "" } else { "  (the path is shown escaped)" };
    format!("kdna-broker consent revoke --file {}{escaped}", shell_word(&shown))
}

/// The draft on standard input, where it is asked for.
fn draft(arguments: &Arguments) -> Result<Option<HostDraft>, Refusal> {
    if !arguments.has("--draft-stdin") {
        return Ok(None);
    }
    let bytes = input::read_piped(limits::TASK_BYTES).map_err(|_| Reason::ConsentDraftNeeded)?;
    HostDraft::read(&bytes).map(Some)
}

/// What the command line asks for. With a draft, host, destination and the rest may be left to it.
fn asked<'a>(
    command: &str,
    environment: &'a Environment,
    arguments: &'a Arguments,
    draft: Option<&'a HostDraft>,
    state: &'a AbsolutePath,
) -> Result<ApprovalRequest<'a>, Outcome> {
    let given = |option: &str, drafted: Option<&'a String>| arguments.value(option).or(drafted.map(String::as_str));
    let (Some(host_id), Some(processor), []) = (
        given("--host", draft.map(|draft| &draft.host_id)),
        given("--processor", draft.map(|draft| &draft.processor)),
        arguments.positionals(),
    ) else {
        return Err(BROKER.misused(command));
    };
    let unknown = || Outcome::usage("--schema must be 0.1.0 or 0.2.0.");
    let schema = arguments.value("--schema").map_or(Some(Schema::default()), Schema::parse).ok_or_else(unknown)?;
    let lifetime = arguments.value("--expires-in").map(lifetime).transpose()?;
    if lifetime.is_some() && schema == Schema::Plain {
        return Err(Outcome::usage("--expires-in needs --schema 0.2.0: a consent of version 0.1.0 has no end."));
    }
    Ok(ApprovalRequest {
        cwd: arguments.value("--cwd").or(draft.map(|draft| draft.workspace_root.as_str())).unwrap_or("."),
        attachment: given("--attachment", draft.map(|draft| &draft.attachment_id)),
        host_root: arguments.value("--host-root"),
        host_id,
        processor,
        profile: given("--profile", draft.map(|draft| &draft.profile)).unwrap_or("compact"),
        lifetime,
        schema,
        require_ledger: environment.settings.require_ledger,
        home: environment.settings.home.as_deref(),
        state,
    })
}

fn request<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = REQUEST.parse(words).map_err(|text| Outcome::usage(&text))?;
    let draft = draft(&arguments)?;
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let request = asked("consent request", environment, &arguments, draft.as_ref(), &state)?;
    let question = Question::prepare_with(system, &broker::delegate(system, environment)?, &request)?;
    if let Some(draft) = &draft {
        question.agrees_with(draft)?;
    }
    let place = place(system, environment)?;
    let root = question.draft().as_facts().host_root.clone();
    match question.ask(system, &place, arguments.has("--details"))? {
        Approval::Allowed { consent, replaced, remembered, file } => Ok(Outcome::text(format!(
            "Allowed. The consent {consent} was written.\n{}Give the server these values:\n  \
             KDNA_MCP_WORKSPACE_ROOT={}\n  KDNA_MCP_HOST_ID={}\n  {}\nTake it back with: {}",
            match (replaced, remembered) {
                (_, false) => format!("{NOT_REMEMBERED}\n"),
                (true, true) =>
                    "It replaced the consent that was in this file, which allows nothing any more.\n".to_owned(),
                (false, true) => String::new(),
            },
            display(root.as_str(), limits::PATH_UNITS),
            request.host_id,
            variable(&place),
            take_back(&file)
        ))),
        Approval::Declined => Ok(Outcome::text("Declined. Nothing was changed.").exiting(DECLINED)),
        Approval::NoTerminal => Ok(Outcome::refused(&Reason::ConsentNoTerminal.into()).exiting(NO_TERMINAL)),
    }
}

/// The variable by which a server finds the consent.
fn variable(place: &ConsentPlace) -> String {
    let (name, path) = place.variable();
    format!("{name}={}", display(path.as_str(), limits::PATH_UNITS))
}

/// Whether a load would be allowed, without asking: one JSON line, exit 0, 10 or 2.
fn check<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = REQUEST.parse(words).map_err(|text| Outcome::usage(&text))?;
    if arguments.has("--draft-stdin") || arguments.has("--details") {
        return Err(Outcome::usage("--draft-stdin and --details belong to 'consent request'."));
    }
    let state = match state::state_path(system, environment.settings.state_directory.as_deref()) {
        Ok(state) => state,
        Err(refusal) => return checked(&Err(refusal)),
    };
    let request = asked("consent check", environment, &arguments, None, &state)?;
    let runtime = || broker::delegate(system, environment);
    checked(&place(system, environment).and_then(|place| settle::check_with(system, runtime, &request, &place)))
}

/// The line that says how consent stands.
fn checked(judged: &Result<Validity, Refusal>) -> Result<Outcome, Outcome> {
    let (word, refusal, exit) = match judged {
        Ok(Validity::Valid { .. }) => ("valid", None, 0),
        Ok(Validity::Needed(refusal)) if refusal.code() == Code::ConsentExpired => ("expired", Some(refusal), DECLINED),
        Ok(Validity::Needed(refusal)) => ("needed", Some(refusal), DECLINED),
        Err(refusal) => ("refused", Some(refusal), 2),
    };
    let (consent, expires_at, file) = match judged {
        Ok(Validity::Valid { consent, expires_at, file }) => (Some(*consent), *expires_at, Some(file)),
        _ => (None, None, None),
    };
    let line = Value::object([
        ("status", Value::from(word)),
        ("code", refusal.map(|refusal| refusal.code().as_str()).into()),
        ("reason", refusal.map(|refusal| refusal.reason().as_str()).into()),
        ("consent_digest", consent.into()),
        ("expires_at", expires_at.map(|time| time.to_string()).into()),
        ("file", file.map(|file| file.as_str().to_owned()).into()),
    ]);
    let line = write::compact(&line).map_err(|_| Outcome::failed("Error: operation failed safely.".to_owned()))?;
    Ok(Outcome::text(line).exiting(exit))
}
