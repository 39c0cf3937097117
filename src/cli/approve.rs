//! What `attach` and `switch` have in common: how the person approves, the policy they give, the file they name, and the
//! question. Decides nothing about assets or records.

use crate::capability::root::named;
use crate::cli::grammar::Arguments;
use crate::cli::outcome::Outcome;
use crate::cli::{asset, input, progress};
use crate::consent::fitted::{Fitted, Part};
use crate::consent::prompt::{SMALLEST, allows};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::ApprovalSource;
use crate::foundation::refusal::{Reason, Refusal};
use crate::runtime::attachments::{AttachmentPolicy, PolicyArguments};
use crate::system::System;
use std::io::IsTerminal;

/// The flags of both commands.
pub(crate) const POLICY_VALUES: [&str; 3] = ["--role", "--applies-to", "--does-not-apply-to"];
const POLICY_FLAGS: [&str; 2] = ["--all-workspace", "--closed-world-scope"];

/// What is asked. It fits a row of 40 cells, its answer included.
const QUESTION: &str = "Allow? Only y or yes allows. [y/N] ";

/// How the person approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    Preview,
    UserExplicit,
    Digest(Digest),
    Interactive,
}

impl Approval {
    /// Reads it from the flags; `command` begins the recorded refusal.
    pub(crate) fn of(arguments: &Arguments, command: &str) -> Result<Self, Outcome> {
        let digest = arguments.value("--consent-digest").map(Digest::parse);
        match (arguments.has("--preview"), arguments.has("--yes"), arguments.has("--scope-user-approved"), digest) {
            (true, false, false, None) => Ok(Approval::Preview),
            (false, true, true, None) => Ok(Approval::UserExplicit),
            (false, true, false, Some(Some(digest))) => Ok(Approval::Digest(digest)),
            (false, true, false, Some(None)) => {
                Err(Outcome::usage("--consent-digest must be a lowercase SHA-256 digest."))
            }
            (false, false, false, None) => Ok(Approval::Interactive),
            _ => Err(Outcome::usage(&format!(
                "{command} requires either --preview, interactive confirmation, --yes --scope-user-approved, or --yes \
                 --consent-digest <preview digest>."
            ))),
        }
    }

    /// What is recorded of it.
    pub(crate) fn source(self) -> ApprovalSource {
        match self {
            Approval::UserExplicit => ApprovalSource::UserExplicit,
            _ => ApprovalSource::PreviewConfirmed,
        }
    }
}

/// Whether a policy is given by options.
pub(crate) fn has_policy_options(arguments: &Arguments) -> bool {
    POLICY_VALUES.iter().any(|option| arguments.value(option).is_some())
        || POLICY_FLAGS.iter().any(|flag| arguments.has(flag))
}

/// The policy document on standard input, where it is asked for. Read before anything else is judged.
pub(crate) fn read_policy(arguments: &Arguments) -> Result<Option<Vec<u8>>, Outcome> {
    if !arguments.has("--attachment-stdin") {
        return Ok(None);
    }
    if has_policy_options(arguments) {
        return Err(Outcome::usage("Attachment stdin and role/scope argv options are mutually exclusive."));
    }
    input::read_stdin(limits::TASK_BYTES).map(Some).map_err(|fault| {
        Outcome::usage(match fault {
            input::InputFault::Empty => "Attachment stdin must not be empty.",
            input::InputFault::TooLarge => "Attachment stdin exceeds the size limit.",
            input::InputFault::Unreadable => "Attachment stdin could not be read.",
        })
    })
}

/// The policy of standard input or of the options.
pub(crate) fn policy(
    arguments: &Arguments,
    stdin: Option<&[u8]>,
    source: ApprovalSource,
) -> Result<AttachmentPolicy, Refusal> {
    if let Some(stdin) = stdin {
        return AttachmentPolicy::from_stdin(stdin, source);
    }
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

/// The asset's bytes, and a sealed copy for the worker; the two are compared by digest.
pub(crate) fn read_source<S: System>(system: &S, file: &str) -> Result<(Vec<u8>, S::Sealed), Outcome> {
    let has_suffix = std::path::Path::new(file).extension().is_some_and(|suffix| suffix == "kdna");
    if !has_suffix {
        return Err(Outcome::from(Refusal::new(Reason::SourceNotKdna)));
    }
    let unsafe_source = || Outcome::from(Refusal::new(Reason::SourceUnsafe));
    let path = named(system, file).map_err(|_| unsafe_source())?;
    let held = asset::open_named(system, &path).map_err(|_| unsafe_source())?;
    progress::during(progress::HASHING, || {
        let bytes = system.read(&held, limits::SNAPSHOT_BYTES).ok()?;
        let (sealed, digest) = system.seal(&held, limits::SNAPSHOT_BYTES).ok()?;
        (!bytes.is_empty() && digest == Digest::of(&bytes)).then_some((bytes, sealed))
    })
    .ok_or_else(unsafe_source)
}

/// The workspace as named from the process's working directory; shown, never digested.
pub(crate) fn boundary<S: System>(system: &S, root: &AbsolutePath) -> String {
    system.working_directory().map_or_else(|_| root.as_str().to_owned(), |base| base.name_of(root))
}

/// The question on the person's terminal, no larger than its window. Standard input and output must be one too: a script is
/// told to use `--yes`.
pub(crate) fn confirm<S: System>(system: &S, heading: &str, parts: &[Part]) -> Result<(), Refusal> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Reason::ApprovalNotInteractive.into());
    }
    let question = Fitted { heading, parts, ask: QUESTION };
    let shown = question.text(system.window().unwrap_or(SMALLEST)).ok_or(Reason::ApprovalWindowTooSmall)?;
    match system.ask(&shown) {
        Ok(answer) if allows(&answer) => Ok(()),
        _ => Err(Reason::ApprovalDeclined.into()),
    }
}
