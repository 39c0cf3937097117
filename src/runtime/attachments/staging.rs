//! The staging directory of a cleanup: snapshots go into it before any is deleted, so that whatever interrupts the work
//! leaves each of them either deleted as confirmed or where the next cleanup finds it and puts it back. Holds no snapshot
//! that a record names.

use super::cleanup::{digests, listed, number};
use super::storage::{New, Storage, discard, entry, replace, write_failed};
use crate::foundation::digest::Digest;
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::record::{SCHEMA_VERSION, snapshot_name};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};
use crate::system::{Fault, System};

const PREFIX: &str = ".cleanup-staging-";
const PLAN: &str = "plan.json";
const PLAN_TYPE: &str = "kdna.workspace-cleanup-plan";
const RECEIPT: &str = "cleanup-last-receipt.json";
const RECEIPT_TYPE: &str = "kdna.workspace-cleanup-receipt";

/// A staging directory, held.
pub(super) struct Staging<'s, S: System> {
    storage: &'s Storage<'s, S>,
    directory: S::Directory,
    name: String,
    plan: Digest,
    snapshots: Vec<Digest>,
}

impl<'s, S: System> Staging<'s, S> {
    /// Moves snapshots into a new staging directory. What fails is undone: `write_failed`.
    pub(super) fn fill(storage: &'s Storage<'s, S>, plan: Digest, snapshots: &[Digest]) -> Result<Self, Refusal> {
        let name = format!("{PREFIX}{}", plan.hex());
        let (system, kdna) = (storage.system(), storage.kdna());
        system.make_directory(kdna, &name, 0o700).map_err(write_failed)?;
        let opened = system.open_directory_beneath(kdna, &entry(&name));
        let directory = opened.map_err(|fault| {
            let _ = system.remove_directory(kdna, &name);
            write_failed(fault)
        })?;
        let staging = Self { storage, directory, name, plan, snapshots: snapshots.to_vec() };
        match staging.write_plan().and_then(|()| staging.take_in().map_err(write_failed)) {
            Ok(()) => Ok(staging),
            Err(refusal) => {
                staging.put_back()?;
                Err(refusal)
            }
        }
    }

    /// Deletes everything, with a receipt after each step. If one step fails, the rest is put back: `cleanup_incomplete`.
    pub(super) fn delete(self) -> Result<(), Refusal> {
        for (deleted, digest) in self.snapshots.iter().enumerate() {
            let gone = self.snapshots.get(..=deleted).unwrap_or_default();
            let removed = self.storage.system().remove(&self.directory, &snapshot_name(digest));
            let done = removed.map_err(write_failed).and_then(|()| self.receipt("IN_PROGRESS", gone, None));
            if done.is_err() {
                return Err(self.stop(removed.is_ok(), deleted));
            }
        }
        // Everything is deleted: what fails now leaves an empty directory for the next cleanup, or an older receipt.
        let _ = self.storage.system().sync_directory(&self.directory);
        let _ = self.dissolve();
        let _ = self.receipt("PASS", &self.snapshots, None);
        Ok(())
    }

    fn stop(&self, last_is_gone: bool, position: usize) -> Refusal {
        let (gone, kept) = self.snapshots.split_at(position + usize::from(last_is_gone));
        match self.put_back() {
            Ok(()) => {
                let _ = self.receipt("PARTIAL", gone, Some(kept));
                Reason::CleanupIncomplete.into()
            }
            Err(refusal) => refusal,
        }
    }

    /// Moves every snapshot that is here back and removes the directory. `cleanup_unrecoverable` if one cannot be moved;
    /// then the directory stays, and the next cleanup tries again.
    pub(super) fn put_back(&self) -> Result<(), Refusal> {
        let system = self.storage.system();
        let mut staged = Vec::new();
        for digest in &self.snapshots {
            let name = snapshot_name(digest);
            match system.look_beneath(&self.directory, &entry(&name)) {
                Ok(_) => staged.push(name),
                Err(Fault::NotFound) => {}
                Err(_) => return Err(Reason::CleanupUnrecoverable.into()),
            }
        }
        for name in &staged {
            match system.link_across(&self.directory, name, self.storage.assets(), name) {
                Ok(()) | Err(Fault::Exists) => {}
                Err(_) => return Err(Reason::CleanupUnrecoverable.into()),
            }
        }
        for digest in &self.snapshots {
            let whole = || self.storage.snapshot_is(digest);
            if staged.contains(&snapshot_name(digest)) && !whole() && !whole() {
                return Err(Reason::CleanupUnrecoverable.into());
            }
        }
        system.sync_directory(self.storage.assets()).map_err(write_failed)?;
        for name in &staged {
            discard(system, &self.directory, name);
        }
        self.dissolve()
    }

    /// Removes the empty directory.
    fn dissolve(&self) -> Result<(), Refusal> {
        let (system, kdna) = (self.storage.system(), self.storage.kdna());
        discard(system, &self.directory, PLAN);
        let removed = system.remove_directory(kdna, &self.name);
        removed.or_else(|_| system.remove_directory(kdna, &self.name)).map_err(|_| Reason::CleanupUnrecoverable)?;
        let _ = system.sync_directory(kdna);
        Ok(())
    }

    /// The plan is durable before anything moves.
    fn write_plan(&self) -> Result<(), Refusal> {
        let plan = Value::object([
            ("document_type", Value::from(PLAN_TYPE)),
            ("schema_version", Value::from(SCHEMA_VERSION)),
            ("plan_digest", Value::from(self.plan)),
            ("eligible_snapshots", listed(&self.snapshots)),
        ]);
        let bytes = write::pretty(&plan).map_err(|_| Reason::Internal)?;
        let new = New { name: PLAN, stem: ".plan", mode: 0o600, bytes: bytes.as_bytes() };
        replace(self.storage.system(), &self.directory, &new, |_| Ok(()))?;
        let system = self.storage.system();
        system.sync_directory(&self.directory).map_err(write_failed)?;
        system.sync_directory(self.storage.kdna()).map_err(write_failed)
    }

    /// A snapshot has its second name, durably, before it loses its first.
    fn take_in(&self) -> Result<(), Fault> {
        let (system, assets) = (self.storage.system(), self.storage.assets());
        let names: Vec<String> = self.snapshots.iter().map(snapshot_name).collect();
        for name in &names {
            system.link_across(assets, name, &self.directory, name)?;
        }
        system.sync_directory(&self.directory)?;
        for name in &names {
            system.remove(assets, name)?;
        }
        system.sync_directory(assets)
    }

    fn receipt(&self, status: &'static str, deleted: &[Digest], restored: Option<&[Digest]>) -> Result<(), Refusal> {
        let mut receipt = Object::new();
        receipt.insert("document_type", RECEIPT_TYPE);
        receipt.insert("schema_version", SCHEMA_VERSION);
        receipt.insert("status", status);
        receipt.insert("plan_digest", self.plan);
        receipt.insert("deleted_snapshot_count", number(deleted.len()));
        receipt.insert("deleted_snapshot_digests", digests(deleted));
        if let Some(restored) = restored {
            receipt.insert("restored_snapshot_count", number(restored.len()));
            receipt.insert("restored_snapshot_digests", digests(restored));
        }
        let bytes = write::pretty(&Value::Object(receipt)).map_err(|_| Reason::Internal)?;
        let new = New { name: RECEIPT, stem: ".attachments-cleanup-receipt", mode: 0o600, bytes: bytes.as_bytes() };
        replace(self.storage.system(), self.storage.kdna(), &new, |_| Ok(()))
    }
}

/// Puts back what an interrupted cleanup left in its staging directory, and writes a receipt of it. Refuses with
/// `cleanup_unrecoverable` where there is more than one such directory, or something in it that no cleanup put there.
pub(super) fn recover<S: System>(storage: &Storage<'_, S>) -> Result<(), Refusal> {
    let unrecoverable = || Refusal::from(Reason::CleanupUnrecoverable);
    let names = storage.system().list(storage.kdna()).map_err(|_| unrecoverable())?;
    let mut staged = names.into_iter().filter(|name| name.starts_with(PREFIX));
    let Some(name) = staged.next() else { return Ok(()) };
    let named_so = name.strip_prefix(PREFIX).and_then(Digest::parse_hex).is_some();
    if staged.next().is_some() || !named_so {
        return Err(unrecoverable());
    }
    let directory =
        storage.system().open_directory_beneath(storage.kdna(), &entry(&name)).map_err(|_| unrecoverable())?;
    let inside = storage.system().list(&directory).map_err(|_| unrecoverable())?;
    let (plans, inside): (Vec<_>, Vec<_>) = inside.into_iter().partition(|name| is_plan_temporary(name));
    for plan in plans {
        discard(storage.system(), &directory, &plan);
    }
    if inside.is_empty() {
        // Interrupted before anything was moved, or after everything was done.
        return storage.system().remove_directory(storage.kdna(), &name).map_err(|_| unrecoverable());
    }
    let bytes = storage.read(&directory, PLAN, limits::CLEANUP_PLAN_BYTES).map_err(|_| unrecoverable())?;
    let (plan, snapshots) = read_plan(&bytes).ok_or_else(unrecoverable)?;
    let expected: Vec<String> = snapshots.iter().map(snapshot_name).collect();
    for file in inside.iter().filter(|file| *file != PLAN) {
        let digest = snapshots.iter().zip(&expected).find(|(_, name)| *name == file).map(|(digest, _)| digest);
        let bytes = storage.read(&directory, file, limits::SNAPSHOT_BYTES).ok();
        if digest.is_none() || bytes.map(|bytes| Digest::of(&bytes)).as_ref() != digest {
            return Err(unrecoverable());
        }
    }
    let staging = Staging { storage, directory, name, plan, snapshots };
    staging.put_back()?;
    let (restored, deleted): (Vec<Digest>, Vec<Digest>) =
        staging.snapshots.iter().partition(|digest| storage.snapshot_is(digest));
    staging.receipt("RECOVERED_AFTER_INTERRUPTION", &deleted, Some(&restored))
}

fn is_plan_temporary(name: &str) -> bool {
    name.starts_with(".plan-") && std::path::Path::new(name).extension().is_some_and(|extension| extension == "tmp")
}

fn read_plan(bytes: &[u8]) -> Option<(Digest, Vec<Digest>)> {
    let plan = read_strict(bytes, limits::POLICY_DEPTH).ok()?;
    let text = |key: &str| plan.get(key).and_then(Value::as_str);
    if text("document_type") != Some(PLAN_TYPE) || text("schema_version") != Some(SCHEMA_VERSION) {
        return None;
    }
    let digest = |value: &Value| value.get("digest").and_then(Value::as_str).and_then(Digest::parse);
    let snapshots = plan.get("eligible_snapshots")?.as_array()?.iter().map(digest).collect::<Option<Vec<_>>>()?;
    Some((Digest::parse(text("plan_digest")?)?, snapshots))
}
