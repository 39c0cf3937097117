//! `kdna resolve`: locates the workspace here, decides in the sandboxed worker beneath it. Prints every decision with exit
//! 0, `block` included; what cannot be understood is refused with exit 2.

use crate::capability::root::named;
use crate::capability::workspace;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::OWNER;
use crate::cli::input::{self, InputFault};
use crate::cli::outcome::Outcome;
use crate::delegate::Delegate;
use crate::delegate::contract::ResolveRequest;
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::resolution::{ReasonCode, Resolution};
use crate::foundation::task::{self, TaskSource};
use crate::foundation::text;
use crate::system::{Fault, System};

const OPTIONS: Options = Options {
    flags: &["--task-stdin", "--selection-approved", "--defer-password-authorization", "--hardened"],
    values: &[
        "--cwd",
        "--workspace-root",
        "--task-file",
        "--adapter-schema",
        "--select-attachment",
        "--selection-task-digest",
        "--selection-plan-digest",
    ],
    repeatable: &[],
    flags_once: false,
};
const ONE_TASK: &str = "Resolve requires exactly one of --task-stdin or --task-file.";
const SCHEMA: &str = "0.3.0";

/// Runs it.
pub(crate) fn resolve<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(OWNER.misused("resolve"));
    }
    let cwd = arguments.value("--cwd").ok_or_else(|| Outcome::usage(ONE_TASK))?;
    let task = match (arguments.has("--task-stdin"), arguments.value("--task-file")) {
        (true, None) => Source::Stdin(read_stdin()?),
        (false, Some(file)) => Source::File(file),
        _ => return Err(Outcome::usage(ONE_TASK)),
    };
    workspace::check_directory(system, cwd)?;
    if arguments.value("--adapter-schema").is_some_and(|schema| schema != SCHEMA) {
        return Ok(print(&Resolution::unasked(ReasonCode::AdapterIncompatible)));
    }
    let selection = selection(&arguments)?;
    let (source, bytes) = match task {
        Source::Stdin(bytes) => (TaskSource::Stdin, bytes),
        Source::File(file) => (TaskSource::File, read_file(system, file)?),
    };
    task::text_of(&bytes, source).map_err(|refusal| Outcome::usage(refusal.message()))?;
    let located =
        workspace::locate(system, cwd, arguments.value("--workspace-root"), environment.settings.home.as_deref());
    let Ok(located) = located else {
        return Ok(print(&Resolution::unasked(ReasonCode::AttachmentSchemaUnsupported)));
    };
    let Some(located) = located else { return Ok(print(&Resolution::no_record())) };
    let request = ResolveRequest {
        start: RelativePath::default(),
        workspace: RelativePath::default(),
        display_root: located.display,
        absolute_root: located.root.as_str().to_owned(),
        selection,
        defer_password: arguments.has("--defer-password-authorization"),
        hardened: arguments.has("--hardened") || environment.settings.hardened,
    };
    let reply = Delegate::embedded().resolve_for_owner(system, &located.directory, request, &bytes)?;
    Ok(print(&reply.value))
}

enum Source<'a> {
    Stdin(Vec<u8>),
    File(&'a str),
}

fn print(resolution: &Resolution) -> Outcome {
    Outcome::document(resolution.document())
}

fn read_stdin() -> Result<Vec<u8>, Outcome> {
    input::read_stdin(limits::TASK_BYTES).map_err(|fault| {
        Outcome::usage(match fault {
            InputFault::Empty => "Task stdin must not be empty.",
            InputFault::TooLarge => "Task stdin exceeds the size limit.",
            InputFault::Unreadable => "Task stdin could not be read.",
        })
    })
}

fn read_file<S: System>(system: &S, file: &str) -> Result<Vec<u8>, Outcome> {
    let path = named(system, file).map_err(|_| Outcome::usage("Task file was not found."))?;
    let read = super::asset::open_named(system, &path).and_then(|file| system.read(&file, limits::TASK_BYTES));
    read.map_err(|fault| {
        Outcome::usage(match fault {
            Fault::NotFound => "Task file was not found.",
            Fault::TooLarge => "Task file exceeds the size limit.",
            Fault::Link | Fault::WrongKind => "Task file must be a regular non-symlink file.",
            _ => "Task file could not be read safely.",
        })
    })
}

/// The one-task selection flags: all or nothing.
fn selection(arguments: &Arguments) -> Result<Option<(String, String, Option<String>)>, Outcome> {
    let attachment = arguments.value("--select-attachment");
    let task_digest = arguments.value("--selection-task-digest");
    let plan_digest = arguments.value("--selection-plan-digest");
    let approved = arguments.has("--selection-approved");
    let Some(attachment) = attachment else {
        return if task_digest.is_some() || plan_digest.is_some() || approved {
            Err(Outcome::usage(INCOMPLETE))
        } else {
            Ok(None)
        };
    };
    let task_digest = task_digest.filter(|_| approved).ok_or_else(|| Outcome::usage(INCOMPLETE))?;
    if arguments.value("--workspace-root").is_none() {
        return Err(Outcome::usage("A one-task attachment selection requires an explicit workspace root."));
    }
    if !text::is_attachment_id(attachment) {
        return Err(Outcome::usage("Selected attachment ID is invalid."));
    }
    if [Some(task_digest), plan_digest].into_iter().flatten().any(|digest| Digest::parse(digest).is_none()) {
        return Err(Outcome::usage("Selection task and plan digests must be lowercase SHA-256 digests."));
    }
    Ok(Some((attachment.to_owned(), task_digest.to_owned(), plan_digest.map(str::to_owned))))
}

const INCOMPLETE: &str =
    "A one-task attachment selection requires an attachment ID, task digest, and explicit approval.";
