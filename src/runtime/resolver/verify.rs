//! Verifies the snapshots that a resolution lists: the approved bytes, a valid asset, the approved identity. Opens beneath
//! the workspace, reads each snapshot once, keeps only the facts.

use super::ResolveRequest;
use crate::capability::snapshot;
use crate::capability::workspace::{is_own, is_own_directory, read_beneath};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::RelativePath;
use crate::foundation::record::AssetReference;
use crate::foundation::resolution::ReasonCode;
use crate::foundation::value::Value;
use crate::system::{Fault, Observe};
use std::collections::HashMap;

/// The bytes are no asset that a plan can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnAsset;

/// What plans an asset from its bytes, without any password or entitlement.
pub trait Inspector {
    /// The `LoadPlan` document.
    fn plan(&self, bytes: &[u8]) -> Result<Value, NotAnAsset>;
}

impl<F: Fn(&[u8]) -> Result<Value, NotAnAsset>> Inspector for F {
    fn plan(&self, bytes: &[u8]) -> Result<Value, NotAnAsset> {
        self(bytes)
    }
}

/// What a resolution needs to know about a verified snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verified {
    pub(super) can_load_now: bool,
    pub(super) needs_password: bool,
}

/// Verifies snapshots of one workspace. Attachments that share a snapshot share its one reading.
pub(super) struct Verifier<'a, S: Observe> {
    system: &'a S,
    directory: &'a S::Directory,
    workspace: &'a RelativePath,
    /// Whether only what is the user's own, and nobody else may write, is accepted.
    own: bool,
    inspector: &'a dyn Inspector,
    plans: HashMap<Digest, Result<LoadPlan, ReasonCode>>,
}

impl<'a, S: Observe> Verifier<'a, S> {
    pub(super) fn new(
        system: &'a S,
        directory: &'a S::Directory,
        request: &'a ResolveRequest<'_>,
        inspector: &'a dyn Inspector,
    ) -> Self {
        let (workspace, own) = (&request.workspace, request.hardened);
        Self { system, directory, workspace, own, inspector, plans: HashMap::new() }
    }

    pub(super) fn verify(&mut self, asset: &AssetReference) -> Result<Verified, ReasonCode> {
        if !self.plans.contains_key(&asset.digest) {
            let plan = self.plan(asset);
            self.plans.insert(asset.digest, plan);
        }
        let plan = match self.plans.get(&asset.digest) {
            Some(Ok(plan)) => plan,
            Some(Err(reason)) => return Err(*reason),
            None => return Err(ReasonCode::AssetInvalid),
        };
        let same = plan.asset_id() == Some(&asset.id) && plan.asset_version() == Some(&asset.version);
        if !same || !plan.is_usable() {
            return Err(ReasonCode::AssetInvalid);
        }
        Ok(Verified { can_load_now: plan.can_load_now(), needs_password: plan.needs_password() })
    }

    fn plan(&self, asset: &AssetReference) -> Result<LoadPlan, ReasonCode> {
        let path = snapshot::place(asset).ok_or(ReasonCode::AssetInvalid)?;
        let path = self.workspace.join(&path);
        let (bytes, facts) = match read_beneath(self.system, self.directory, &path, limits::SNAPSHOT_BYTES) {
            Ok(read) => read,
            Err(Fault::NotFound) => return Err(ReasonCode::SnapshotMissing),
            Err(_) => return Err(ReasonCode::AssetInvalid),
        };
        if self.own && !(is_own(self.system, &facts) && self.holds_own_assets()) {
            return Err(ReasonCode::AssetInvalid);
        }
        if Digest::of(&bytes) != asset.digest {
            return Err(ReasonCode::SnapshotDigestMismatch);
        }
        let plan = self.inspector.plan(&bytes).map_err(|_| ReasonCode::AssetInvalid)?;
        LoadPlan::check(plan).map_err(|_| ReasonCode::AssetInvalid)
    }
    fn holds_own_assets(&self) -> bool {
        is_own_directory(self.system, self.directory, &self.workspace.join(&snapshot::directory()))
    }
}
