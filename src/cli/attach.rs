//! `kdna attach | attachments`: shows what would be approved, takes the person's approval, and hands over to the one
//! transaction that stores it. Never parses the asset: its plan comes from the sandboxed worker.

use crate::broker::approval::plan_of_source;
use crate::capability::root::named;
use crate::capability::workspace::{self, Located};
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::outcome::Outcome;
use crate::cli::{asset, input};
use crate::consent::prompt::allows;
use crate::foundation::digest::Digest;
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::record::{ApprovalSource, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::runtime::attachments::{self, AttachmentPolicy, PolicyArguments, Proposal};
use crate::system::{Fault, System};
use std::io::IsTerminal;

const ATTACH: Options = Options {
    flags: &[
        "--attachment-stdin",
        "--all-workspace",
        "--closed-world-scope",
        "--preview",
        "--yes",
        "--scope-user-approved",
    ],
    values: &["--cwd", "--role", "--applies-to", "--does-not-apply-to", "--consent-digest"],
    repeatable: &["--applies-to", "--does-not-apply-to"],
    flags_once: false,
};
const LIST: Options =
    Options { flags: &[], values: &["--cwd", "--workspace-root"], repeatable: &[], flags_once: false };
const USAGE: &str = "Usage: kdna attach <file.kdna> [--cwd <workspace>] (--attachment-stdin | [--role <text>] \
    (--applies-to <text>... [--closed-world-scope] | --all-workspace) [--does-not-apply-to <text>...]) [--preview | \
    (--yes (--scope-user-approved | --consent-digest <sha256:...>))]";
const MODES: &str = "Attach requires either --preview, interactive confirmation, --yes --scope-user-approved, or --yes \
    --consent-digest <preview digest>.";

/// How the person approves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Preview,
    UserExplicit,
    Digest(Digest),
    Interactive,
}

/// `kdna attachments`: the nearest record as it stands, or `null`.
pub(crate) fn attachments<S: System>(
    system: &S,
    environment: &Environment,
    words: &[String],
) -> Result<Outcome, Outcome> {
    let arguments = LIST.parse(words).map_err(|text| refused(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(Outcome::usage("Usage: kdna attachments [--cwd <start>] [--workspace-root <boundary>]"));
    }
    let cwd = arguments.value("--cwd").unwrap_or(".");
    let boundary = arguments.value("--workspace-root");
    let located = workspace::locate(system, cwd, boundary, environment.settings.home.as_deref())?;
    Ok(match located {
        None => Outcome::document(&Value::Null),
        Some(located) => Outcome::document(record(system, &located)?.document()),
    })
}

fn record<S: System>(system: &S, located: &Located<S>) -> Result<Record, Refusal> {
    let read = workspace::read_record(system, &located.directory, &RelativePath::default());
    let bytes = read.map_err(|fault| match fault {
        Fault::TooLarge => Refusal::labelled(
            Reason::RecordUnsafe,
            "Workspace attachment record changed before it was opened or exceeds its size limit.",
        ),
        _ => Reason::RecordUnsafe.into(),
    })?;
    Record::read(&bytes.bytes)
}

/// `kdna attach`.
pub(crate) fn attach<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = ATTACH.parse(words).map_err(|text| refused(&text))?;
    let file = arguments.only_positional().ok_or_else(|| refused(USAGE))?;
    let stdin = read_policy(&arguments)?;
    let approval = approval(&arguments)?;
    let source = if approval == Approval::UserExplicit {
        ApprovalSource::UserExplicit
    } else {
        ApprovalSource::PreviewConfirmed
    };
    let bytes = read_source(system, file)?;
    let plan = plan_of_source(system, &bytes.1)?;
    let cwd = arguments.value("--cwd").unwrap_or(".");
    let located = workspace::mutation_root(system, cwd, environment.settings.home.as_deref())?;
    let policy = match &stdin {
        Some(stdin) => AttachmentPolicy::from_stdin(stdin, source)?,
        None => from_arguments(&arguments, source)?,
    };
    let proposal = Proposal::new(&located.root, Digest::of(&bytes.0), &plan, policy)?;
    let boundary = boundary(system, &located.root);
    match approval {
        Approval::Preview => return Ok(Outcome::document(&proposal.preview(&located.display, &boundary)?)),
        Approval::Digest(digest) => proposal.confirm(digest)?,
        Approval::UserExplicit => {}
        Approval::Interactive => confirm(system, &proposal.facts(&boundary)?)?,
    }
    // The file may have changed while the person was looking at the preview.
    let now = read_source(system, file)?.0;
    let entry = attachments::attach(system, &located, &proposal, &now)?;
    Ok(Outcome::document(&attachments::attached(&located.display, &entry)))
}

fn refused(message: &str) -> Outcome {
    Outcome::refused(&Refusal::labelled(Reason::Usage, message.to_owned()))
}

/// The policy document on standard input, where it is asked for. Read before anything else is judged.
fn read_policy(arguments: &Arguments) -> Result<Option<Vec<u8>>, Outcome> {
    if !arguments.has("--attachment-stdin") {
        return Ok(None);
    }
    let given =
        ["--role", "--applies-to", "--does-not-apply-to"].iter().any(|option| arguments.value(option).is_some())
            || ["--all-workspace", "--closed-world-scope"].iter().any(|flag| arguments.has(flag));
    if given {
        return Err(refused("Attachment stdin and role/scope argv options are mutually exclusive."));
    }
    input::read_stdin(limits::TASK_BYTES).map(Some).map_err(|fault| {
        refused(match fault {
            input::InputFault::Empty => "Attachment stdin must not be empty.",
            input::InputFault::TooLarge => "Attachment stdin exceeds the size limit.",
            input::InputFault::Unreadable => "Attachment stdin could not be read.",
        })
    })
}

fn approval(arguments: &Arguments) -> Result<Approval, Outcome> {
    let digest = arguments.value("--consent-digest").map(Digest::parse);
    match (arguments.has("--preview"), arguments.has("--yes"), arguments.has("--scope-user-approved"), digest) {
        (true, false, false, None) => Ok(Approval::Preview),
        (false, true, true, None) => Ok(Approval::UserExplicit),
        (false, true, false, Some(Some(digest))) => Ok(Approval::Digest(digest)),
        (false, true, false, Some(None)) => Err(refused("--consent-digest must be a lowercase SHA-256 digest.")),
        (false, false, false, None) => Ok(Approval::Interactive),
        _ => Err(refused(MODES)),
    }
}

/// The asset's bytes, and a sealed copy for the worker; the two are compared by digest.
fn read_source<S: System>(system: &S, file: &str) -> Result<(Vec<u8>, S::Sealed), Outcome> {
    let has_suffix = std::path::Path::new(file).extension().is_some_and(|suffix| suffix == "kdna");
    if !has_suffix {
        return Err(Outcome::from(Refusal::new(Reason::SourceNotKdna)));
    }
    let unsafe_source = || Outcome::from(Refusal::new(Reason::SourceUnsafe));
    let path = named(system, file).map_err(|_| unsafe_source())?;
    let held = asset::open_named(system, &path).map_err(|_| unsafe_source())?;
    let bytes = system.read(&held, limits::SNAPSHOT_BYTES).map_err(|_| unsafe_source())?;
    let (sealed, digest) = system.seal(&held, limits::SNAPSHOT_BYTES).map_err(|_| unsafe_source())?;
    if bytes.is_empty() || digest != Digest::of(&bytes) {
        return Err(unsafe_source());
    }
    Ok((bytes, sealed))
}

fn from_arguments(arguments: &Arguments, source: ApprovalSource) -> Result<AttachmentPolicy, Refusal> {
    AttachmentPolicy::from_arguments(
        &PolicyArguments {
            role: arguments.value("--role"),
            applies_to: &arguments.all("--applies-to"),
            does_not_apply_to: &arguments.all("--does-not-apply-to"),
            all_workspace: arguments.has("--all-workspace"),
            closed_world: arguments.has("--closed-world-scope"),
        },
        source,
    )
}

/// The workspace as named from the process's working directory; shown, never digested.
fn boundary<S: System>(system: &S, root: &AbsolutePath) -> String {
    system.working_directory().map_or_else(|_| root.as_str().to_owned(), |base| base.name_of(root))
}

/// The question on the person's terminal. Standard input and output must be one too: a script is told to use `--yes`.
fn confirm<S: System>(system: &S, facts: &Value) -> Result<(), Refusal> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Reason::ApprovalNotInteractive.into());
    }
    let facts = write::pretty(facts).map_err(|_| Reason::Internal)?;
    let shown: Vec<String> = facts.lines().map(|line| display(line, usize::MAX)).collect();
    let question =
        format!("Attachment preview:\n{}\nApprove this exact asset for the workspace? [y/N] ", shown.join("\n"));
    match system.ask(&question) {
        Ok(answer) if allows(&answer) => Ok(()),
        _ => Err(Reason::ApprovalDeclined.into()),
    }
}
