//! `kdna attach | attachments`: shows what would be approved, takes the person's approval, and hands over to the one
//! transaction that stores it. Never parses the asset: its plan comes from the sandboxed worker.

use crate::broker::approval::plan_of_source;
use crate::capability::workspace::{self, Located};
use crate::cli::approve::{self, Approval};
use crate::cli::approve_question::{ATTACHING, attach_question};
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::OWNER;
use crate::cli::outcome::Outcome;
use crate::cli::{people, remembered};
use crate::foundation::digest::Digest;
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::Value;
use crate::runtime::attachments::{self, Proposal};
use crate::system::{Fault, System};

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

/// `kdna attachments`: the nearest record as it stands, or `null`.
pub(crate) fn attachments<S: System>(
    system: &S,
    environment: &Environment,
    words: &[String],
) -> Result<Outcome, Outcome> {
    let arguments = LIST.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(OWNER.misused("attachments"));
    }
    let Some(located) = locate(system, environment, &arguments)? else {
        return Ok(Outcome::document(&Value::Null).shown_as(people::nothing_attached()));
    };
    let record = record(system, &located)?;
    let shown = people::table(&approve::boundary(system, &located.root), &record);
    Ok(Outcome::document(&record.document()).shown_as(shown))
}

/// The workspace that a command's `--cwd` and `--workspace-root` mean.
pub(crate) fn locate<S: System>(
    system: &S,
    environment: &Environment,
    arguments: &Arguments,
) -> Result<Option<Located<S>>, Refusal> {
    let cwd = arguments.value("--cwd").unwrap_or(".");
    let home = environment.settings.home.as_deref();
    workspace::locate(system, cwd, arguments.value("--workspace-root"), home)
}

/// As [`locate`]; `record_not_found` where there is none.
pub(crate) fn located<S: System>(
    system: &S,
    environment: &Environment,
    arguments: &Arguments,
) -> Result<Located<S>, Refusal> {
    locate(system, environment, arguments)?.ok_or_else(|| Reason::RecordNotFound.into())
}

/// The record of a workspace, without any lock: whole, old or new.
pub(crate) fn record<S: System>(system: &S, located: &Located<S>) -> Result<Record, Refusal> {
    let read = workspace::settled_record(system, &located.directory);
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
    let arguments = ATTACH.parse(words).map_err(|text| Outcome::usage(&text))?;
    let file = arguments.only_positional().ok_or_else(|| OWNER.misused("attach"))?;
    let stdin = approve::read_policy(&arguments)?;
    let approval = Approval::of(&arguments, "Attach")?;
    let source = approve::read_source(system, file)?;
    let plan = plan_of_source(system, &source.1)?;
    let cwd = arguments.value("--cwd").unwrap_or(".");
    let located = workspace::mutation_root(system, cwd, environment.settings.home.as_deref())?;
    let policy = approve::policy(&arguments, stdin.as_deref(), approval.source())?;
    let proposal = Proposal::new(&located.root, Digest::of(&source.0), &plan, policy)?;
    let boundary = approve::boundary(system, &located.root);
    match approval {
        Approval::Preview => {
            let shown = people::attach_preview(&boundary, &proposal, plan.title());
            let document = proposal.preview(&located.display, &boundary)?;
            let next = people::confirm_command("attach", words, proposal.consent_digest()?, stdin.is_some());
            return Ok(Outcome::document(&document).shown_as(shown + &next));
        }
        Approval::Digest(digest) => proposal.confirm(digest)?,
        Approval::UserExplicit => {}
        Approval::Interactive => {
            approve::confirm(system, ATTACHING, &attach_question(&boundary, &proposal, plan.title()))?;
        }
    }
    // The file may have changed while the person was looking at the preview.
    let now = approve::read_source(system, file)?.0;
    let entry = attachments::attach(system, &located, &proposal, &now)?;
    let done = people::changed("Attached", &entry, arguments.value("--cwd"));
    let errors = attached_already(system, &located, &entry).unwrap_or_default()
        + &remembered::approved(system, environment, &located.root, None, &entry);
    Ok(Outcome { errors, ..Outcome::document(&attachments::attached(&located.display, &entry)).shown_as(done) })
}

/// One line for the person where another enabled attachment names the same asset.
fn attached_already<S: System>(system: &S, located: &Located<S>, entry: &Value) -> Option<String> {
    let record = record(system, located).ok()?;
    let id = entry.get("attachment_id")?.as_str()?;
    let digest = record.attachments().iter().find(|attachment| attachment.id == id)?.asset.digest;
    let same = |other: &&Attachment| other.enabled && other.id != id && other.asset.digest == digest;
    let other = &record.attachments().iter().find(same)?.id;
    Some(format!("Note: this asset is attached already as {other}; a task that fits both is asked about.\n"))
}
