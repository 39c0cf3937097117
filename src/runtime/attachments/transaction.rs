//! Attaching: one transaction from approved facts to a new entry in the record. All of it happens or nothing of it is
//! seen; a crash between the two writes leaves a snapshot that no record names.

use super::lock::locked;
use super::proposal::Proposal;
use super::storage::{Storage, write_failed};
use crate::capability::workspace::Located;
use crate::foundation::digest::{self, Digest};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::Value;
use crate::system::System;

/// Stores a proposal that the person approved, and gives the new entry. `asset` is the asset as it is now.
///
/// Refuses with `approval_asset_changed` or `mutation_root_changed` if asset or workspace are not the approved ones any
/// more, `record_locked`, `attachment_limit` (64 enabled attachments are all that a host may be shown), the reasons of a
/// record, `snapshot_name_taken`, `record_changed`, `storage_irregular`, `gitignore_irregular`, `write_failed`. After a
/// refusal record and snapshots are as they were; the empty layout may have been made.
pub fn attach<S: System>(
    system: &S,
    workspace: &Located<S>,
    proposal: &Proposal,
    asset: &[u8],
) -> Result<Value, Refusal> {
    if Digest::of(asset) != proposal.asset().digest {
        return Err(Reason::ApprovalAssetChanged.into());
    }
    if workspace.root != *proposal.root() {
        return Err(Reason::MutationRootChanged.into());
    }
    workspace.assert_unchanged(system)?;
    let storage = Storage::open(system, &workspace.directory)?;
    locked(system, storage.kdna(), || {
        workspace.assert_unchanged(system)?;
        append(system, &storage, proposal, asset)
    })
}

fn append<S: System>(
    system: &S,
    storage: &Storage<'_, S>,
    proposal: &Proposal,
    asset: &[u8],
) -> Result<Value, Refusal> {
    let (record, former) = storage.record()?;
    if record.attachments().iter().filter(|attachment| attachment.enabled).count() >= limits::CANDIDATES {
        return Err(Reason::AttachmentLimit.into());
    }
    let mut id = [0; 12];
    system.random(&mut id).map_err(write_failed)?;
    let entry = proposal.entry(&format!("att_{}", digest::hex(&id)), &system.now().to_string());
    let bytes = record.appended(entry.clone())?.to_bytes()?;
    let new = storage.store_snapshot(proposal.asset(), asset)?;
    let stored = storage.replace_record(&bytes, former);
    if stored.is_err() && new {
        storage.discard_snapshot(proposal.asset());
    }
    stored.map(|()| entry)
}
