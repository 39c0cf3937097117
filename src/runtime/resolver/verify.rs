//! Verifies the snapshots that a resolution lists: the approved bytes, a valid asset, the approved identity. Opens beneath
//! the workspace, reads each snapshot once, keeps only the facts.
//!
//! The directory of the snapshots is opened once for all of them, so that a record with many attachments does not walk the
//! same way again for each.

use super::ResolveRequest;
use crate::capability::snapshot;
use crate::capability::workspace::{is_own, is_own_directory, read_beneath_into};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::path::RelativePath;
use crate::foundation::record::{AssetReference, snapshot_name};
use crate::foundation::resolution::ReasonCode;
use crate::foundation::value::Value;
use crate::runtime::Standing;
use crate::system::{Facts, Fault, Observe};
use std::cell::OnceCell;
use std::collections::HashMap;

/// The bytes are no asset that a plan can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnAsset;

/// What plans an asset from its bytes, without any password or entitlement.
pub trait Inspector {
    /// How a usable asset stands: what its `LoadPlan` says of it, as far as a resolution asks. An asset whose plan is
    /// invalid, or breaks the contract, is none.
    fn standing(&self, bytes: &[u8]) -> Result<Standing, NotAnAsset>;
}

/// For who has the `LoadPlan` document.
impl<F: Fn(&[u8]) -> Result<Value, NotAnAsset>> Inspector for F {
    fn standing(&self, bytes: &[u8]) -> Result<Standing, NotAnAsset> {
        let plan = LoadPlan::check(self(bytes)?).map_err(|_| NotAnAsset)?;
        match (plan.asset_id(), plan.asset_version()) {
            (Some(asset_id), Some(version)) if plan.is_usable() => Ok(Standing {
                asset_id: asset_id.to_owned(),
                version: version.to_owned(),
                can_load_now: plan.can_load_now(),
                needs_password: plan.needs_password(),
            }),
            _ => Err(NotAnAsset),
        }
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
    /// The directory of the snapshots, once it was asked for; `None` inside where it cannot be held.
    assets: OnceCell<Option<S::Directory>>,
    standings: HashMap<Digest, Result<Standing, ReasonCode>>,
    /// Room for the snapshot that is looked at.
    bytes: Vec<u8>,
}

/// What is kept of the room, at most: a large snapshot's would be in the way of what the next one is decoded to.
const KEPT: usize = 1 << 20;

impl<'a, S: Observe> Verifier<'a, S> {
    pub(super) fn new(
        system: &'a S,
        directory: &'a S::Directory,
        request: &'a ResolveRequest<'_>,
        inspector: &'a dyn Inspector,
    ) -> Self {
        let (workspace, own) = (&request.workspace, request.hardened);
        Self {
            system,
            directory,
            workspace,
            own,
            inspector,
            assets: OnceCell::new(),
            standings: HashMap::new(),
            bytes: Vec::new(),
        }
    }

    pub(super) fn verify(&mut self, asset: &AssetReference) -> Result<Verified, ReasonCode> {
        if !self.standings.contains_key(&asset.digest) {
            let mut bytes = std::mem::take(&mut self.bytes);
            let standing = self.standing(asset, &mut bytes);
            if bytes.capacity() <= KEPT {
                self.bytes = bytes;
            }
            self.standings.insert(asset.digest, standing);
        }
        let standing = match self.standings.get(&asset.digest) {
            Some(Ok(standing)) => standing,
            Some(Err(reason)) => return Err(*reason),
            None => return Err(ReasonCode::AssetInvalid),
        };
        if standing.asset_id != asset.id || standing.version != asset.version {
            return Err(ReasonCode::AssetInvalid);
        }
        Ok(Verified { can_load_now: standing.can_load_now, needs_password: standing.needs_password })
    }

    fn standing(&self, asset: &AssetReference, bytes: &mut Vec<u8>) -> Result<Standing, ReasonCode> {
        let facts = match self.read(asset, bytes).ok_or(ReasonCode::AssetInvalid)? {
            Ok(facts) => facts,
            Err(Fault::NotFound) => return Err(ReasonCode::SnapshotMissing),
            Err(_) => return Err(ReasonCode::AssetInvalid),
        };
        if self.own && !(is_own(self.system, &facts) && self.holds_own_assets()) {
            return Err(ReasonCode::AssetInvalid);
        }
        if Digest::of(bytes) != asset.digest {
            return Err(ReasonCode::SnapshotDigestMismatch);
        }
        self.inspector.standing(bytes).map_err(|_| ReasonCode::AssetInvalid)
    }

    /// Reads the snapshot's bytes; `None` only for a reference that no record admits.
    fn read(&self, asset: &AssetReference, bytes: &mut Vec<u8>) -> Option<Result<Facts, Fault>> {
        let (directory, path) = match self.assets() {
            Some(assets) => (assets, RelativePath::parse(&snapshot_name(&asset.digest))?),
            // The way is named to the system anew, so that the fault is that of the snapshot.
            None => (self.directory, self.workspace.join(&snapshot::place(asset)?)),
        };
        Some(read_beneath_into(self.system, directory, &path, limits::SNAPSHOT_BYTES, bytes))
    }

    fn assets(&self) -> Option<&S::Directory> {
        let held = self.assets.get_or_init(|| {
            let path = self.workspace.join(&snapshot::directory());
            self.system.open_directory_beneath(self.directory, &path).ok()
        });
        held.as_ref()
    }

    /// Whether the directory that the snapshots are read from is the user's own.
    fn holds_own_assets(&self) -> bool {
        match self.assets() {
            Some(held) => self.system.directory_facts(held).is_ok_and(|facts| is_own(self.system, &facts)),
            None => is_own_directory(self.system, self.directory, &self.workspace.join(&snapshot::directory())),
        }
    }
}
