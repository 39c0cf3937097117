//! The changes of a record, each one transaction: under both locks the record is read, one entry is changed, and the new
//! record takes the old one's place in one rename. All of it happens or nothing of it is seen; a crash between the two
//! writes of an attach or switch leaves a snapshot that no record names.

use super::change;
use super::inventory::{self, Stored};
use super::leftovers;
use super::lock::locked;
use super::proposal::Proposal;
use super::storage::{Storage, write_failed};
use super::switching::Switch;
use crate::capability::workspace::Located;
use crate::foundation::digest::{self, Digest};
use crate::foundation::limits;
use crate::foundation::record::{AssetReference, Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
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
    transact(system, workspace, |storage| {
        let (record, former) = storage.record()?;
        refuse_one_more(&record)?;
        let mut id = [0; 12];
        system.random(&mut id).map_err(write_failed)?;
        let entry = proposal.entry(&format!("att_{}", digest::hex(&id)), &system.now().to_string());
        let record = record.appended(entry.clone())?;
        store_with_asset(storage, &record, former, (proposal.asset(), asset))?;
        Ok(entry)
    })
}

/// Switches an attachment on or off and gives its entry. Where it is switched on, `verified` names the asset whose stored
/// copy the caller verified; its bytes are compared once more.
///
/// Refuses with `attachment_id_invalid`, `attachment_unknown`, `attachment_moved` if it names another asset by now,
/// `attachment_limit`, the reasons of a snapshot, and those of [`attach`] that are about storage.
pub fn set_enabled<S: System>(
    system: &S,
    workspace: &Located<S>,
    id: &str,
    verified: Option<&AssetReference>,
) -> Result<Value, Refusal> {
    change(system, workspace, id, |storage, record, attachment| {
        if let Some(asset) = verified {
            same_asset(&attachment.asset, asset)?;
            if !attachment.enabled {
                refuse_one_more(record)?;
            }
            storage.check_snapshot(asset)?;
        }
        Ok(change::with_state(attachment.entry(), verified.is_some()))
    })
}

/// Puts an attachment back to what it was before its last switch, its approval time included, and gives its entry. The
/// caller verified the stored copies of `current` and `previous`; their bytes are compared once more. What it was until
/// now is lost from the record.
///
/// Refuses with `history_missing`, and as [`set_enabled`].
pub fn rollback<S: System>(
    system: &S,
    workspace: &Located<S>,
    id: &str,
    current: &AssetReference,
    previous: &AssetReference,
) -> Result<Value, Refusal> {
    change(system, workspace, id, |storage, _, attachment| {
        same_asset(&attachment.asset, current)?;
        same_asset(attachment.history.last().ok_or(Reason::HistoryMissing)?, previous)?;
        storage.check_snapshot(current)?;
        storage.check_snapshot(previous)?;
        change::rolled_back(attachment.entry())
    })
}

/// Changes nothing but the layout, which becomes what it should be: what a change that is refused leaves as well. Refuses
/// with `record_locked` and the other reasons of [`attach`] that are about storage.
pub fn refresh<S: System>(system: &S, workspace: &Located<S>) -> Result<(), Refusal> {
    transact(system, workspace, |_| Ok(()))
}

/// Takes an attachment out of the record. Gives its entry, and what the storage still holds: snapshots stay.
///
/// Refuses with `attachment_id_invalid`, `attachment_unknown`, and those of [`attach`] that are about storage.
pub fn remove<S: System>(system: &S, workspace: &Located<S>, id: &str) -> Result<(Value, Stored), Refusal> {
    transact(system, workspace, |storage| {
        let (record, former) = storage.record()?;
        let entry = find(&record, id)?.entry().clone();
        let stored = inventory::count(storage);
        storage.replace_record(&record.without(id)?.to_bytes()?, former)?;
        Ok((entry, stored))
    })
}

/// Stores a switch that the person approved, and gives the entry. `asset` is the new asset as it is now.
///
/// Refuses with `approval_asset_changed`, `mutation_root_changed`, `attachment_moved` if the entry is not the shown one
/// any more, the reasons of a snapshot unless the person chose to leave a damaged one, `record_shape` beyond 1,024 former
/// versions, and those of [`attach`] that are about storage.
pub fn switch<S: System>(system: &S, workspace: &Located<S>, switch: &Switch, asset: &[u8]) -> Result<Value, Refusal> {
    if Digest::of(asset) != switch.asset().digest {
        return Err(Reason::ApprovalAssetChanged.into());
    }
    if workspace.root != *switch.root() {
        return Err(Reason::MutationRootChanged.into());
    }
    transact(system, workspace, |storage| {
        let (record, former) = storage.record()?;
        let attachment = find(&record, switch.id())?;
        if attachment.entry() != switch.entry() {
            return Err(Reason::AttachmentMoved.into());
        }
        if !switch.leaves_damaged() {
            storage.check_snapshot(&attachment.asset)?;
        }
        let now = system.now().to_string();
        let entry = change::switched(attachment.entry(), &switch.version(&now), &now);
        let record = record.replaced(switch.id(), &entry)?;
        store_with_asset(storage, &record, former, (switch.asset(), asset))?;
        Ok(entry)
    })
}

/// Runs a change of the storage while nobody else makes one.
pub(super) fn transact<S: System, T>(
    system: &S,
    workspace: &Located<S>,
    run: impl FnOnce(&Storage<'_, S>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    workspace.assert_unchanged(system)?;
    let storage = Storage::open(system, &workspace.directory)?;
    locked(system, storage.kdna(), || {
        workspace.assert_unchanged(system)?;
        leftovers::clear(&storage);
        run(&storage)
    })
}

/// Replaces one entry.
fn change<S: System>(
    system: &S,
    workspace: &Located<S>,
    id: &str,
    entry: impl FnOnce(&Storage<'_, S>, &Record, &Attachment) -> Result<Value, Refusal>,
) -> Result<Value, Refusal> {
    transact(system, workspace, |storage| {
        let (record, former) = storage.record()?;
        let entry = entry(storage, &record, find(&record, id)?)?;
        storage.replace_record(&record.replaced(id, &entry)?.to_bytes()?, former)?;
        Ok(entry)
    })
}

/// Finds the attachment that a person named.
fn find<'r>(record: &'r Record, id: &str) -> Result<&'r Attachment, Refusal> {
    if !text::is_attachment_id(id) {
        return Err(Reason::AttachmentIdInvalid.into());
    }
    record
        .find(id)
        .ok_or_else(|| Refusal::labelled(Reason::AttachmentUnknown, format!("Attachment {id} was not found.")))
}

/// Stores an asset and the record that names it; takes the asset back if it was new and the record could not be stored.
fn store_with_asset<S: System>(
    storage: &Storage<'_, S>,
    record: &Record,
    former: Option<Digest>,
    (asset, bytes): (&AssetReference, &[u8]),
) -> Result<(), Refusal> {
    let document = record.to_bytes()?;
    let new = storage.store_snapshot(asset, bytes)?;
    let stored = storage.replace_record(&document, former);
    if stored.is_err() && new {
        storage.discard_snapshot(asset);
    }
    stored
}

fn refuse_one_more(record: &Record) -> Result<(), Refusal> {
    let enabled = record.attachments().iter().filter(|attachment| attachment.enabled).count();
    if enabled >= limits::CANDIDATES { Err(Reason::AttachmentLimit.into()) } else { Ok(()) }
}

fn same_asset(now: &AssetReference, verified: &AssetReference) -> Result<(), Refusal> {
    if now == verified { Ok(()) } else { Err(Reason::AttachmentMoved.into()) }
}
