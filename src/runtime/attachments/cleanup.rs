//! Deleting snapshots that no attachment and no former version names: first a plan with its digest, then, if the person
//! confirms exactly that plan, the deletion by way of a staging directory. Never touches the record, a snapshot that it
//! names, a damaged one, or anything with another name.

use super::inventory::{self, Found};
use super::staging::{self, Staging};
use super::storage::Storage;
use super::transaction::transact;
use crate::capability::workspace::Located;
use crate::foundation::digest::{self, Digest};
use crate::foundation::record::snapshot_path;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};
use crate::system::System;
use std::collections::HashSet;

/// What a cleanup would delete, and what it keeps and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupPlan {
    record: Digest,
    eligible: Vec<Digest>,
    referenced: usize,
    unknown: usize,
}

impl CleanupPlan {
    /// The digest that a confirmation names: over the record's digest and the snapshots that would go.
    pub fn digest(&self) -> Result<Digest, Refusal> {
        let plan = Value::object([
            ("record_digest", Value::from(self.record)),
            ("eligible_snapshots", listed(&self.eligible)),
        ]);
        digest::of_document(&plan).ok_or_else(|| Reason::Internal.into())
    }

    /// The snapshots that would go, in the order of their names.
    pub fn eligible(&self) -> &[Digest] {
        &self.eligible
    }

    /// What a command prints: a preview, or with the `deleted` snapshots what was done.
    pub fn document(&self, display_root: &str, deleted: Option<&[Digest]>) -> Result<Value, Refusal> {
        let kept = [
            ("attachment_or_rollback_reference", self.referenced),
            ("unrecognized_storage_entry", self.unknown),
            ("awaiting_explicit_cleanup", if deleted.is_none() { self.eligible.len() } else { 0 }),
        ];
        let reasons: Object = kept
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(reason, count)| ((*reason).to_owned(), number(*count)))
            .collect();
        let none = deleted.unwrap_or_default();
        Ok(Value::object([
            ("operation", Value::from("cleanup")),
            ("workspace_root", Value::copied(display_root)),
            ("mode", Value::from(if deleted.is_none() { "preview" } else { "execute" })),
            ("confirmation_required", Value::from(deleted.is_none())),
            ("plan_digest", Value::from(self.digest()?)),
            ("record_digest", Value::from(self.record)),
            ("eligible_snapshots", listed(&self.eligible)),
            ("attachment_record_changed", Value::from(false)),
            ("eligible_snapshot_count", number(self.eligible.len())),
            ("deleted_snapshot_count", number(none.len())),
            ("deleted_snapshot_digests", digests(none)),
            ("retained_snapshot_count", number(kept.iter().map(|(_, count)| count).sum())),
            ("retained_reason_counts", Value::Object(reasons)),
            ("projection_cache_deleted_count", number(0)),
            ("projection_cache_retained_count", number(0)),
            ("projection_cache_reason", Value::from("no_workspace_projection_cache_surface")),
        ]))
    }
}

/// The plan of now. An interrupted cleanup is recovered first: its snapshots are put back.
///
/// Refuses with `record_not_found`, `cleanup_path_unsafe`, `cleanup_snapshot_other`, `cleanup_unrecoverable`, and the
/// reasons of lock, record and storage.
pub fn preview_cleanup<S: System>(system: &S, workspace: &Located<S>) -> Result<CleanupPlan, Refusal> {
    transact(system, workspace, |storage| {
        staging::recover(storage)?;
        plan(storage)
    })
}

/// Deletes what the plan with this digest names, and gives that plan.
///
/// Refuses as [`preview_cleanup`], with `cleanup_plan_other` if the plan of now is another one, `record_changed` if the
/// record changed meanwhile (nothing was deleted), and `cleanup_incomplete` if a deletion failed: what was not yet
/// deleted was put back.
pub fn cleanup<S: System>(system: &S, workspace: &Located<S>, confirmed: Digest) -> Result<CleanupPlan, Refusal> {
    transact(system, workspace, |storage| {
        staging::recover(storage)?;
        let plan = plan(storage)?;
        if plan.digest()? != confirmed {
            return Err(Reason::CleanupPlanOther.into());
        }
        if !plan.eligible.is_empty() {
            let staged = Staging::fill(storage, confirmed, &plan.eligible)?;
            match storage.record() {
                Ok((_, Some(now))) if now == plan.record => {}
                _ => {
                    staged.put_back()?;
                    return Err(Reason::RecordChanged.into());
                }
            }
            staged.delete()?;
        }
        Ok(plan)
    })
}

fn plan<S: System>(storage: &Storage<'_, S>) -> Result<CleanupPlan, Refusal> {
    let (record, digest) = storage.record()?;
    let referenced: HashSet<Digest> = record.references().map(|asset| asset.digest).collect();
    let mut plan =
        CleanupPlan { record: digest.ok_or(Reason::RecordNotFound)?, eligible: Vec::new(), referenced: 0, unknown: 0 };
    for name in storage.system().list(storage.assets()).map_err(|_| Reason::CleanupPathUnsafe)? {
        match inventory::look(storage, &name) {
            Found::Snapshot(digest) if referenced.contains(&digest) => plan.referenced += 1,
            Found::Snapshot(digest) => plan.eligible.push(digest),
            Found::Unknown => plan.unknown += 1,
            Found::Damaged => return Err(Reason::CleanupSnapshotOther.into()),
            Found::Irregular { .. } => return Err(Reason::CleanupPathUnsafe.into()),
        }
    }
    Ok(plan)
}

/// Snapshots as plans list them.
pub(super) fn listed(snapshots: &[Digest]) -> Value {
    let one = |digest: &Digest| {
        Value::object([("snapshot", Value::from(snapshot_path(digest))), ("digest", Value::from(*digest))])
    };
    Value::Array(snapshots.iter().map(one).collect())
}

/// Digests as receipts list them.
pub(super) fn digests(snapshots: &[Digest]) -> Value {
    Value::Array(snapshots.iter().map(|digest| Value::from(*digest)).collect())
}

/// A count as a JSON number.
pub(super) fn number(count: usize) -> Value {
    Value::from(u32::try_from(count).unwrap_or(u32::MAX))
}
