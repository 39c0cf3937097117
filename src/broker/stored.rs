//! Whether a stored copy is still the asset that a record names: its bytes by digest, its identity by the plan that the
//! sandboxed worker makes. What the owner's commands ask before they switch something on. Changes nothing.

use crate::capability::snapshot::{self, SealedSnapshot};
use crate::capability::workspace::Located;
use crate::delegate::Delegate;
use crate::delegate::child::Reply;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::record::AssetReference;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Cancel, Fault, System};

/// Whether a reason is one of a stored copy that is missing or is not what the record names.
pub fn is_damaged(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::SnapshotNotFound
            | Reason::SnapshotIrregular
            | Reason::SnapshotOtherBytes
            | Reason::SnapshotNotAsset
            | Reason::SnapshotOtherIdentity
    )
}

/// Verifies the stored copy of an asset and gives its plan. An asset that still needs an authorization is as good as any.
///
/// Refuses with `snapshot_not_found`, `snapshot_irregular`, `snapshot_other_bytes`, `snapshot_not_asset`,
/// `snapshot_other_identity`, and the reasons of a runtime that could not be run.
pub fn verify<S: System>(system: &S, workspace: &Located<S>, asset: &AssetReference) -> Result<LoadPlan, Refusal> {
    verify_with(system, &Delegate::embedded(), workspace, asset).map(|reply| reply.value)
}

/// As [`verify`], with the runtime that will load it, and how strongly that runtime was confined.
pub fn verify_with<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    workspace: &Located<S>,
    asset: &AssetReference,
) -> Result<Reply<LoadPlan>, Refusal> {
    let path = snapshot::place(asset).ok_or(Reason::Internal)?;
    match system.look_beneath(&workspace.directory, &path) {
        Err(Fault::NotFound) => return Err(Reason::SnapshotNotFound.into()),
        Err(_) => return Err(Reason::SnapshotIrregular.into()),
        Ok(_) => {}
    }
    let sealed = SealedSnapshot::seal(system, &workspace.directory, &path, asset.digest);
    let sealed = sealed.map_err(|refusal| match refusal.reason() {
        Reason::SnapshotChanged => Reason::SnapshotOtherBytes,
        _ => Reason::SnapshotIrregular,
    })?;
    let plan = delegate.plan(system, &workspace.directory, &sealed, None, &Cancel::new());
    let reply = plan.map_err(|refusal| match refusal.reason() {
        Reason::RuntimeRefused => Reason::SnapshotNotAsset.into(),
        // Our own worker says nothing of a container that it cannot take apart; another runtime may just be broken.
        Reason::RuntimeOutputRefused if delegate.is_given_sealed_bytes() => Reason::SnapshotNotAsset.into(),
        _ => refusal,
    })?;
    let plan = &reply.value;
    let same = plan.asset_id() == Some(&asset.id) && plan.asset_version() == Some(&asset.version);
    if same && plan.is_usable() { Ok(reply) } else { Err(Reason::SnapshotOtherIdentity.into()) }
}
