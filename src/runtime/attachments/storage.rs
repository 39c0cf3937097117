//! What lies below `.kdna`, through held directories only: the layout, the record, the snapshots. Every file is made
//! under a temporary name, synced, and takes its name in one rename; what fails leaves what was there before.

use crate::capability::workspace::{KDNA, read_beneath, settled};
use crate::foundation::digest::{self, Digest};
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::record::{AssetReference, Record, snapshot_name};
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::system::{Fault, Kind, System};

const ASSETS: &str = "assets";
const RECORD_NAME: &str = "attachments.json";
const GITIGNORE: &str = ".gitignore";
/// The lines of `.kdna/.gitignore`: what must never be committed by accident, in the contract's order.
pub const IGNORED: [&str; 7] = [
    "/.gitignore",
    "/assets/",
    "/attachments.json",
    "/attachments.lock",
    "/.attachments-*.tmp",
    "/cleanup-last-receipt.json",
    "/.cleanup-staging-*/",
];

/// The held storage of one workspace.
pub(super) struct Storage<'a, S: System> {
    system: &'a S,
    kdna: S::Directory,
    assets: S::Directory,
}

impl<'a, S: System> Storage<'a, S> {
    /// Opens the storage of a held workspace, making what is missing: `.kdna` and `assets` 0700, `.gitignore` 0644.
    /// Refuses with `storage_irregular`, `gitignore_irregular` or `write_failed`.
    pub(super) fn open(system: &'a S, workspace: &S::Directory) -> Result<Self, Refusal> {
        let kdna = private_directory(system, workspace, KDNA)?;
        let assets = private_directory(system, &kdna, ASSETS)?;
        let storage = Self { system, kdna, assets };
        storage.ignore()?;
        Ok(storage)
    }

    /// The held `.kdna`.
    pub(super) fn kdna(&self) -> &S::Directory {
        &self.kdna
    }

    /// The record that is there and the digest of its bytes; without one, an empty record.
    pub(super) fn record(&self) -> Result<(Record, Option<Digest>), Refusal> {
        match self.read(&self.kdna, RECORD_NAME, limits::RECORD_BYTES) {
            Ok(bytes) => Ok((Record::read(&bytes)?, Some(Digest::of(&bytes)))),
            Err(Fault::NotFound) => Ok((Record::empty(), None)),
            Err(Fault::Link | Fault::WrongKind) => Err(Reason::RecordFileIrregular.into()),
            Err(_) => Err(Reason::RecordUnsafe.into()),
        }
    }

    /// Stores a record in place of the one whose bytes have the digest `former` (`None`: of no record). If another one
    /// is there by now it stays: `record_changed`.
    pub(super) fn replace_record(&self, bytes: &[u8], former: Option<Digest>) -> Result<(), Refusal> {
        let new = New { name: RECORD_NAME, stem: ".attachments", mode: 0o600, bytes };
        replace(self.system, &self.kdna, &new, |_| {
            let now = match self.read(&self.kdna, RECORD_NAME, limits::RECORD_BYTES) {
                Ok(bytes) => Some(Digest::of(&bytes)),
                Err(Fault::NotFound) => None,
                Err(_) => return Err(Reason::RecordUnsafe.into()),
            };
            if now == former { Ok(()) } else { Err(record_changed()) }
        })
    }

    /// Stores the bytes of an asset under the name of their digest, durably. Tells whether they were new; a name taken
    /// by other bytes is refused with `snapshot_name_taken`.
    pub(super) fn store_snapshot(&self, asset: &AssetReference, bytes: &[u8]) -> Result<bool, Refusal> {
        let name = snapshot_name(&asset.digest);
        match self.read(&self.assets, &name, limits::SNAPSHOT_BYTES) {
            Ok(stored) if Digest::of(&stored) == asset.digest => return Ok(false),
            Err(Fault::NotFound) => {}
            Ok(_) | Err(_) => return Err(Reason::SnapshotNameTaken.into()),
        }
        let new = New { name: &name, stem: ".snapshot", mode: 0o600, bytes };
        replace(self.system, &self.assets, &new, |file| {
            let written = self.system.read(file, limits::SNAPSHOT_BYTES).map_err(write_failed)?;
            if Digest::of(&written) == asset.digest { Ok(()) } else { Err(other_bytes()) }
        })?;
        let durable = self.system.sync_directory(&self.assets).map_err(write_failed);
        let proven = durable.and_then(|()| match self.read(&self.assets, &name, limits::SNAPSHOT_BYTES) {
            Ok(stored) if Digest::of(&stored) == asset.digest => Ok(true),
            _ => Err(other_bytes()),
        });
        if proven.is_err() {
            discard(self.system, &self.assets, &name);
        }
        proven
    }

    /// Takes back a snapshot that this transaction stored.
    pub(super) fn discard_snapshot(&self, asset: &AssetReference) {
        discard(self.system, &self.assets, &snapshot_name(&asset.digest));
    }

    /// Whether the stored bytes of an asset are the recorded ones. Refuses with `snapshot_not_found`,
    /// `snapshot_irregular` or `snapshot_other_bytes`.
    pub(super) fn check_snapshot(&self, asset: &AssetReference) -> Result<(), Refusal> {
        match self.read(&self.assets, &snapshot_name(&asset.digest), limits::SNAPSHOT_BYTES) {
            Ok(stored) if Digest::of(&stored) == asset.digest => Ok(()),
            Ok(_) => Err(Reason::SnapshotOtherBytes.into()),
            Err(Fault::NotFound) => Err(Reason::SnapshotNotFound.into()),
            Err(_) => Err(Reason::SnapshotIrregular.into()),
        }
    }

    /// Whether the snapshot of this digest lies here, whole.
    pub(super) fn snapshot_is(&self, digest: &Digest) -> bool {
        let stored = self.read(&self.assets, &snapshot_name(digest), limits::SNAPSHOT_BYTES);
        stored.is_ok_and(|bytes| Digest::of(&bytes) == *digest)
    }

    /// The held `assets`.
    pub(super) fn assets(&self) -> &S::Directory {
        &self.assets
    }

    /// The system that all of this lies in.
    pub(super) fn system(&self) -> &'a S {
        self.system
    }

    /// Adds to `.gitignore` what is missing; what people wrote there stays.
    fn ignore(&self) -> Result<(), Refusal> {
        // Somebody else who attaches may put the same lines there at this moment.
        let stored = match settled(|| self.read(&self.kdna, GITIGNORE, limits::GITIGNORE_BYTES)) {
            Ok(bytes) => bytes,
            Err(Fault::NotFound) => Vec::new(),
            Err(_) => return Err(Reason::GitignoreIrregular.into()),
        };
        let mut lines: Vec<&[u8]> =
            stored.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).filter(|line| !line.is_empty()).collect();
        let missing: Vec<&[u8]> =
            IGNORED.iter().map(|pattern| pattern.as_bytes()).filter(|pattern| !lines.contains(pattern)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        lines.extend(missing);
        let mut bytes = lines.join(&b'\n');
        bytes.push(b'\n');
        let new = New { name: GITIGNORE, stem: ".attachments-gitignore", mode: 0o644, bytes: &bytes };
        replace(self.system, &self.kdna, &new, |_| Ok(()))
    }

    pub(super) fn read(&self, directory: &S::Directory, name: &str, limit: u64) -> Result<Vec<u8>, Fault> {
        read_beneath(self.system, directory, &entry(name), limit).map(|(bytes, _)| bytes)
    }
}

/// A file that is to take a name.
pub(super) struct New<'a> {
    pub(super) name: &'a str,
    pub(super) stem: &'a str,
    pub(super) mode: u32,
    pub(super) bytes: &'a [u8],
}

/// Writes under a temporary name, syncs, asks `last_check`, and renames. A directory that cannot be synced after the
/// rename is no failure: the new file is there, only a loss of power could still bring back the old one.
pub(super) fn replace<S: System>(
    system: &S,
    directory: &S::Directory,
    new: &New<'_>,
    last_check: impl FnOnce(&S::File) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let temporary = temporary_name(system, new.stem)?;
    let file = system.create_file(directory, &temporary, new.mode).map_err(write_failed)?;
    let renamed = system
        .write(&file, new.bytes)
        .and_then(|()| system.sync_file(&file))
        .map_err(write_failed)
        .and_then(|()| last_check(&file))
        .and_then(|()| system.rename(directory, &temporary, new.name).map_err(write_failed));
    match renamed {
        Ok(()) => drop(system.sync_directory(directory)),
        Err(_) => discard(system, directory, &temporary),
    }
    renamed
}

/// A name that nobody else uses and that `.gitignore` covers.
pub(super) fn temporary_name<S: System>(system: &S, stem: &str) -> Result<String, Refusal> {
    let mut random = [0; 8];
    system.random(&mut random).map_err(write_failed)?;
    Ok(format!("{stem}-{}-{}.tmp", system.process_id(), digest::hex(&random)))
}

/// Removes a name that this process made; once more if the system stumbles.
pub(super) fn discard<S: System>(system: &S, directory: &S::Directory, name: &str) {
    if !matches!(system.remove(directory, name), Ok(()) | Err(Fault::NotFound)) {
        let _ = system.remove(directory, name);
    }
}

fn private_directory<S: System>(system: &S, parent: &S::Directory, name: &str) -> Result<S::Directory, Refusal> {
    if system.look_beneath(parent, &entry(name)) == Err(Fault::NotFound) {
        match system.make_directory(parent, name, 0o700) {
            Ok(()) => system.sync_directory(parent).map_err(write_failed)?,
            Err(Fault::Exists) => {}
            Err(fault) => return Err(write_failed(fault)),
        }
    }
    let directory = system.open_directory_beneath(parent, &entry(name)).map_err(|fault| match fault {
        Fault::Link | Fault::WrongKind | Fault::Escapes => Reason::StorageIrregular,
        _ => Reason::WriteFailed,
    })?;
    let facts = system.directory_facts(&directory).map_err(write_failed)?;
    if facts.kind != Kind::Directory {
        return Err(Reason::StorageIrregular.into());
    }
    if facts.mode != 0o700 {
        // Somebody else's directory stays as it is.
        let _ = system.set_directory_mode(&directory, 0o700);
    }
    Ok(directory)
}

/// The path of a literal or validated name.
pub(super) fn entry(name: &str) -> RelativePath {
    RelativePath::parse(name).unwrap_or_default()
}

pub(super) fn write_failed(_: Fault) -> Refusal {
    Reason::WriteFailed.into()
}

fn other_bytes() -> Refusal {
    Refusal::labelled(Reason::SnapshotNameTaken, "Temporary snapshot digest verification failed.")
}

fn record_changed() -> Refusal {
    Refusal::labelled(Reason::RecordChanged, "The attachment record changed while the attachment was stored.")
        .at(Stage::Attach)
}
