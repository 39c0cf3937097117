//! `kdna-broker consent status | list | show | revoke`: consents that are stored. Asks nobody and writes no consent.

use super::place;
use super::told::{self, text_of};
use crate::broker::approval::{self, ApprovalRequest, ConsentPlace};
use crate::broker::settle::{self, Validity};
use crate::capability::state;
use crate::cli::broker;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::consent::document::{Consent, Schema};
use crate::consent::store::{self, ConsentFile};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::system::System;

const PLACE: Options = Options { flags: &[], values: &["--file"], repeatable: &[], flags_once: false };
const SHOW: Options =
    Options { flags: &[], values: &["--file", "--cwd", "--host-root"], repeatable: &[], flags_once: false };
const LIST: Options = Options { flags: &[], values: &[], repeatable: &[], flags_once: false };

/// Runs one of the four.
pub(super) fn run<S: System>(
    system: &S,
    environment: &Environment,
    command: &str,
    words: &[String],
) -> Result<Outcome, Outcome> {
    let options = match command {
        "show" => SHOW,
        "list" => LIST,
        _ => PLACE,
    };
    let arguments = options.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(BROKER.misused(&format!("consent {command}")));
    }
    match command {
        "list" => Ok(list(system, &place(system, environment)?)?),
        "show" => show(system, environment, &arguments),
        "revoke" => Ok(revoke(system, environment, &meant(system, environment, &arguments)?)?),
        _ => {
            let file = meant(system, environment, &arguments)?;
            let held = ConsentFile::open(system, &file)?;
            Ok(Outcome::document(&store::status_with_place(system, held.as_ref())?))
        }
    }
}

/// The file that `--file` names, else the named one, else the only one of the set (a name that nothing has, if the set is
/// empty).
fn meant<S: System>(system: &S, environment: &Environment, arguments: &Arguments) -> Result<AbsolutePath, Refusal> {
    if let Some(text) = arguments.value("--file") {
        let message = "--file must name one absolute regular-file path.";
        let named = ConsentFile::<S>::coordinate(text);
        return named.map_err(|refusal| Refusal::labelled(refusal.reason(), message));
    }
    match place(system, environment)? {
        ConsentPlace::File(file) => Ok(file),
        ConsentPlace::Set(set) => match store::names_of_set(system, &set)?.as_slice() {
            [] => Ok(beneath(&set, "consent")),
            [only] => Ok(beneath(&set, only)),
            _ => Err(Reason::ConsentChoiceNeeded.into()),
        },
    }
}

fn beneath(directory: &AbsolutePath, name: &str) -> AbsolutePath {
    directory.join(&RelativePath::parse(name).unwrap_or_default())
}

fn list<S: System>(system: &S, place: &ConsentPlace) -> Result<Outcome, Refusal> {
    let files = match place {
        ConsentPlace::File(file) => vec![file.clone()],
        ConsentPlace::Set(set) => store::names_of_set(system, set)?.iter().map(|name| beneath(set, name)).collect(),
    };
    let consents: Vec<Value> = files
        .iter()
        .map(|file| {
            let held = ConsentFile::open(system, file);
            let status = held.and_then(|held| store::status_with_place(system, held.as_ref()));
            let path = Value::copied(file.as_str());
            match status {
                Ok(status) => Value::object([("file", path), ("status", status), ("problem", Value::Null)]),
                Err(refusal) => Value::object([
                    ("file", path),
                    ("status", Value::Null),
                    ("problem", refusal.reason().as_str().into()),
                ]),
            }
        })
        .collect();
    Ok(Outcome::document(&Value::object([
        ("document_type", Value::from("kdna-broker.consent-list")),
        ("schema_version", "0.1.0".into()),
        ("consents", consents.into()),
    ])))
}

/// The approved question, made again from what the workspace says now, and whether it is the one that was approved; where
/// it cannot be made again, what the document says.
fn show<S: System>(system: &S, environment: &Environment, arguments: &Arguments) -> Result<Outcome, Outcome> {
    let file = meant(system, environment, arguments)?;
    let held = ConsentFile::open(system, &file)?.ok_or(Reason::ConsentMissing).map_err(Refusal::new)?;
    let consent = Consent::read(&held.read(system)?)?;
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let attachment = text_of(consent.use_boundary(), "attachment_id");
    let processor = text_of(consent.processing_boundary(), "processor");
    let request = ApprovalRequest {
        cwd: arguments.value("--cwd").unwrap_or("."),
        attachment: Some(&attachment),
        host_root: arguments.value("--host-root"),
        host_id: consent.host_id(),
        processor: &processor,
        profile: consent.capsule_profile(),
        lifetime: None,
        schema: Schema::Timed,
        require_ledger: false,
        home: environment.settings.home.as_deref(),
        state: &state,
    };
    let delegate = broker::delegate(system, environment)?;
    let shown = match approval::question_of(system, &delegate, &request, &consent) {
        Ok(shown) => shown,
        Err(refusal) => {
            let why = told::why(system, (request.cwd, request.home), &consent, &refusal);
            let approved = told::approved(&consent);
            let text = format!(
                "The approved question cannot be made again here. What was approved, as the consent says it:\n{approved}\n\
                 It does not apply here. {why}"
            );
            return Ok(Outcome::text(text).exiting(1));
        }
    };
    let same = consent.timed().map(|timed| timed.prompt_digest == Digest::of(shown.as_bytes()));
    let says = match same {
        Some(true) => "This is the text that was approved: its digest is the one in the consent.",
        Some(false) => "This is NOT the text that was approved: what it is about has changed since.",
        None => "A consent of version 0.1.0 does not tell which text was approved.",
    };
    let now = match settle::check(system, &request, &ConsentPlace::File(file)) {
        Ok(Validity::Valid { .. }) => String::new(),
        Ok(Validity::Needed(refusal)) | Err(refusal) => {
            format!("\nIt allows nothing now: {} ({}).", refusal.message(), refusal.reason())
        }
    };
    Ok(Outcome::text(format!("{shown}\n\n{says}{now}")).exiting(u8::from(same == Some(false))))
}

fn revoke<S: System>(system: &S, environment: &Environment, file: &AbsolutePath) -> Result<Outcome, Refusal> {
    let (there, note) = take_away(system, environment, file)?;
    let outcome = Outcome::text(if there {
        "Revoked. No load is delivered under it any more.".to_owned()
    } else {
        let shown = display(file.as_str(), limits::PATH_UNITS);
        format!("There was no consent to revoke in {shown}\n--file PATH names another one.")
    });
    Ok(Outcome { errors: note.unwrap_or_default(), ..outcome })
}

/// Removes a consent, and remembers that it was taken back; whether there was one, and what could not be remembered.
pub(crate) fn take_away<S: System>(
    system: &S,
    environment: &Environment,
    file: &AbsolutePath,
) -> Result<(bool, Option<String>), Refusal> {
    let Some(held) = ConsentFile::open(system, file)? else { return Ok((false, None)) };
    let digest = held.digest(system);
    let there = held.revoke(system)?;
    let state = state::state_path(system, environment.settings.state_directory.as_deref());
    let recorded = digest.map(|digest| state.and_then(|state| approval::record_revocation(system, &state, digest)));
    let note = match recorded {
        Some(Err(refusal)) => Some(format!(
            "Note: it was removed, but that could not be recorded ({}): a copy of the file would still be valid.\n",
            refusal.reason()
        )),
        _ => None,
    };
    Ok((there, note))
}
