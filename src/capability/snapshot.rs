//! The asset's bytes, read once, digested while read, and sealed. What was digested is what the runtime parses; nothing
//! is opened twice for its content.

use crate::capability::workspace::KDNA;
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::record::AssetReference;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Facts, Fault, Kind, System};

/// Where an attachment's snapshot lies below its workspace. `None` only for a reference that no record admits.
pub fn place(asset: &AssetReference) -> Option<RelativePath> {
    RelativePath::parse(&format!("{KDNA}/{}", asset.snapshot))
}

/// Where the snapshots of a workspace lie below it.
pub fn directory() -> RelativePath {
    RelativePath::parse(&format!("{KDNA}/assets")).unwrap_or_default()
}

/// A sealed copy of a snapshot whose digest is the approved one.
pub struct SealedSnapshot<S: System> {
    sealed: S::Sealed,
    digest: Digest,
    facts: Facts,
    path: RelativePath,
}

impl<S: System> SealedSnapshot<S> {
    /// Seals the snapshot at `path` beneath a held workspace directory. `workspace_binding_changed` if it cannot be read
    /// safely or is not the approved bytes.
    pub fn seal(system: &S, workspace: &S::Directory, path: &RelativePath, expected: Digest) -> Result<Self, Refusal> {
        let (sealed, digest, facts) = seal_beneath(system, workspace, path).map_err(|_| Reason::SnapshotUnreadable)?;
        if digest != expected {
            return Err(Refusal::new(Reason::SnapshotChanged).at(Reason::SnapshotUnreadable.stage()));
        }
        Ok(Self { sealed, digest, facts, path: path.clone() })
    }

    /// The file's facts when it was sealed.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The sealed bytes.
    pub fn sealed(&self) -> &S::Sealed {
        &self.sealed
    }

    /// Their digest, equal to the approved one.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The path below the workspace that it was read from.
    pub fn path(&self) -> &RelativePath {
        &self.path
    }

    /// Whether the path still names the same unchanged file: device, inode, size and times, not bytes.
    pub fn assert_unchanged(&self, system: &S, workspace: &S::Directory) -> Result<(), Refusal> {
        let now = system.open_file_beneath(workspace, &self.path).and_then(|file| system.file_facts(&file));
        match now {
            Ok(facts) if facts == self.facts => Ok(()),
            _ => Err(Reason::SnapshotChanged.into()),
        }
    }
}

fn seal_beneath<S: System>(
    system: &S,
    workspace: &S::Directory,
    path: &RelativePath,
) -> Result<(S::Sealed, Digest, Facts), Fault> {
    let file = system.open_file_beneath(workspace, path)?;
    let facts = system.file_facts(&file)?;
    if facts.kind != Kind::Regular {
        return Err(Fault::WrongKind);
    }
    let (sealed, digest) = system.seal(&file, limits::SNAPSHOT_BYTES)?;
    if system.file_facts(&file)? != facts {
        return Err(Fault::Changed);
    }
    Ok((sealed, digest, facts))
}
