//! Decides for one task whether an approved attachment is to be loaded, asked about, skipped or blocked.
//!
//! Reads the record and the snapshots beneath a held directory; matches the task only against the phrases that the person
//! approved. Never decrypts, never looks at an asset's content, never ranks: more than one possibility always asks.

mod answer;
mod continuation;
mod cues;
mod evaluate;
mod patterns;
mod phrase;
mod sequence;
mod task;
mod unspaced;
mod verify;
mod vocabulary;

#[cfg(test)]
mod testing;

pub use verify::{Inspector, NotAnAsset};

use crate::capability::workspace::{self, RecordBytes};
use crate::foundation::digest::Digest;
use crate::foundation::path::RelativePath;
use crate::foundation::record::Record;
use crate::foundation::refusal::Refusal;
use crate::foundation::resolution::{Decision, ReasonCode};
pub use crate::foundation::task::TaskSource;
use crate::foundation::value::Value;
use crate::system::Observe;
use continuation::Continuation;
use task::Task;
use verify::Verifier;

/// A one-task selection; its parts are well-formed, nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The attachment chosen.
    pub attachment_id: String,
    /// The digest of the task it was chosen for.
    pub task_digest: Digest,
    /// The digest of the plan it was chosen from.
    pub plan_digest: Option<Digest>,
}

/// One question to the resolver.
#[derive(Clone, Debug)]
pub struct ResolveRequest<'a> {
    /// The workspace, below the directory that is held.
    pub workspace: RelativePath,
    /// The workspace as seen from the working directory: `.`, `..`, …
    pub display_root: String,
    /// The workspace's real path, for the plan digest; never shown, never opened.
    pub absolute_root: String,
    /// The task's raw bytes.
    pub task: &'a [u8],
    /// Where they came from.
    pub task_source: TaskSource,
    /// The one-task selection, if one was made.
    pub selection: Option<Selection>,
    /// Whether a load may be said although the password is still missing.
    pub defer_password: bool,
    /// Whether doubts that the contract overlooks count: denials anywhere in the task, exclusions that a selection would
    /// override, files that others own or may write. Never leads to a load that would not be said without it.
    pub hardened: bool,
}

/// Resolves one task: the resolution document, whatever the decision. Refuses only a task that is not 1 to 65,536 bytes
/// of UTF-8 text that is not blank (`task_refused`).
pub fn resolve<S: Observe>(
    system: &S,
    directory: &S::Directory,
    request: &ResolveRequest<'_>,
    inspector: &dyn Inspector,
) -> Result<Value, Refusal> {
    let task = Task::read(request.task, request.task_source)?;
    let stored = read_record(system, directory, request);
    let record = stored.and_then(|stored| Some((Record::read(&stored.bytes).ok()?, stored.digest)));
    let Some((record, record_digest)) = record else {
        return Ok(answer::outcome(request, ReasonCode::AttachmentSchemaUnsupported, Vec::new()).to_value());
    };
    let verdict = evaluate::evaluate(&task, record.attachments());
    let mut snapshots = Verifier::new(system, directory, request, inspector);
    let mut base = answer::decide(request, &task, &verdict, &mut snapshots);
    if base.reason.decision() == Decision::Ask {
        base.selection_plan = Some(answer::selection_plan(request, &base.candidates, task.digest(), record_digest)?);
    }
    let Some(selection) = &request.selection else { return Ok(base.to_value()) };
    let record_now = || read_record(system, directory, request).map(|stored| stored.digest);
    let from = Continuation {
        request,
        task: &task,
        record: &record,
        verdict: &verdict,
        snapshots,
        record_now: &record_now,
        record_digest,
    };
    Ok(from.go_on(base, selection).to_value())
}

/// The record's bytes; `None` for one that cannot be read, or that hardened mode does not accept.
fn read_record<S: Observe>(system: &S, directory: &S::Directory, request: &ResolveRequest<'_>) -> Option<RecordBytes> {
    let stored = workspace::read_record(system, directory, &request.workspace).ok()?;
    let accepted = !request.hardened || workspace::is_own_record(system, directory, &request.workspace, &stored);
    accepted.then_some(stored)
}

/// How many characters, tokens and classes comparing a task with a record looks at: the work, for those who hold it to a
/// bound. Refuses like [`resolve`]; opens nothing.
pub fn effort(task: &[u8], record: &Record) -> Result<u64, Refusal> {
    let task = Task::read(task, TaskSource::Stdin)?;
    let _ = evaluate::evaluate(&task, record.attachments());
    Ok(task.steps())
}
