//! The workspace root, pinned at start as a held directory. Everything a host asks for lies beneath it; the path text is
//! only ever used to ask whether it still names the same directory.

use crate::capability::home::Homes;
use crate::foundation::digest::{self, Digest};
use crate::foundation::path::{AbsolutePath, PathFault, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Fault, Identity, Kind, Observe};

/// The pinned workspace root: absolute, canonical, a real directory, neither HOME nor a filesystem root, without the
/// broker's own state inside and not inside that state.
pub struct PinnedRoot<S: Observe> {
    directory: S::Directory,
    identity: Identity,
    path: AbsolutePath,
}

impl<S: Observe> PinnedRoot<S> {
    /// Pins what the coordinate `KDNA_MCP_WORKSPACE_ROOT` names. Refuses with `host_root_invalid` and one reason for
    /// each rule; nothing is created or changed.
    pub fn pin(system: &S, coordinate: Option<&str>, homes: &Homes, state: &AbsolutePath) -> Result<Self, Refusal> {
        let path = parse_root(coordinate)?;
        if path.is_filesystem_root() {
            return Err(Reason::RootIsFilesystemRoot.into());
        }
        let directory = system.open_directory(&path).map_err(|fault| root_refusal(system, &path, fault))?;
        let facts = system.directory_facts(&directory).map_err(|_| Reason::RootUnreadable)?;
        if facts.kind != Kind::Directory {
            return Err(Reason::RootNotDirectory.into());
        }
        let slash = AbsolutePath::parse("/").ok().and_then(|slash| system.look(&slash).ok());
        if slash.is_some_and(|slash| slash.identity == facts.identity) {
            return Err(Reason::RootIsFilesystemRoot.into());
        }
        if homes.is_home(facts.identity) {
            return Err(Reason::RootIsHome.into());
        }
        let root = Self { directory, identity: facts.identity, path };
        if root.holds(system, state) {
            return Err(Reason::RootHoldsState.into());
        }
        if root.lies_in(system, state) {
            return Err(Reason::RootInsideState.into());
        }
        Ok(root)
    }

    /// The held directory.
    pub fn handle(&self) -> &S::Directory {
        &self.directory
    }

    /// The path it was pinned by.
    pub fn path(&self) -> &AbsolutePath {
        &self.path
    }

    /// Which directory it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// What a consent document binds: the digest of the path.
    pub fn digest(&self) -> Digest {
        digest::of_root_path(self.path.as_str())
    }

    /// Whether a path lies at or below this root, by the identity of everything above it. Parts that do not exist yet
    /// are judged by what is above them.
    pub fn holds(&self, system: &S, path: &AbsolutePath) -> bool {
        path.ancestors().any(|above| system.look(&above).is_ok_and(|facts| facts.identity == self.identity))
    }

    /// Whether this root lies in a directory: what writes in it could then change what the directory keeps.
    fn lies_in(&self, system: &S, directory: &AbsolutePath) -> bool {
        let Ok(directory) = system.look(directory) else { return false };
        self.path.ancestors().any(|above| system.look(&above).is_ok_and(|facts| facts.identity == directory.identity))
    }

    /// Whether the path still names the pinned directory; else `host_workspace_root_changed`.
    pub fn assert_unchanged(&self, system: &S) -> Result<(), Refusal> {
        let now = system.open_directory(&self.path).and_then(|directory| system.directory_facts(&directory));
        match now {
            Ok(facts) if facts.identity == self.identity => Ok(()),
            _ => Err(Reason::RootChanged.into()),
        }
    }

    /// The canonical path of the directory that a `cwd` argument names: absolute, or relative to the process's working
    /// directory. The last component may not be a link; above it links are followed. `workspace_unavailable`. Opens
    /// nothing for reading.
    pub fn canonical_cwd(system: &S, cwd: &str) -> Result<AbsolutePath, Refusal> {
        let asked = named(system, cwd).map_err(|_| Reason::CwdUnavailable)?;
        system.canonical_directory(&asked).map_err(|_| Reason::CwdUnavailable.into())
    }

    /// Where a canonical path lies below the root; `workspace_outside_host_root` elsewhere. What lies there is opened only
    /// beneath the held root, so a path that lies here by name alone leads nowhere.
    pub fn contain(&self, canonical: &AbsolutePath) -> Result<RelativePath, Refusal> {
        canonical.below(&self.path).ok_or_else(|| Reason::CwdOutsideRoot.into())
    }
}

/// The path that a text names: as it stands, or from the process's working directory. Where that directory is gone, what is
/// absolute can still be named. `..` is read as a person reads it, from the text. [`Fault::Escapes`] for no path.
pub fn named<S: Observe>(system: &S, text: &str) -> Result<AbsolutePath, Fault> {
    let base = if text.starts_with('/') {
        AbsolutePath::parse("/").map_err(|_| Fault::Escapes)?
    } else {
        system.working_directory()?
    };
    base.resolve(text).ok_or(Fault::Escapes)
}

fn parse_root(coordinate: Option<&str>) -> Result<AbsolutePath, Refusal> {
    let text = coordinate.filter(|text| !text.is_empty()).ok_or(Reason::RootUnset)?;
    AbsolutePath::parse(text).map_err(|fault| {
        match fault {
            PathFault::NotAbsolute => Reason::RootNotAbsolute,
            PathFault::Length | PathFault::Nul | PathFault::NotNormal => Reason::RootNotNormal,
        }
        .into()
    })
}

fn root_refusal<S: Observe>(system: &S, path: &AbsolutePath, fault: Fault) -> Refusal {
    match fault {
        Fault::NotFound => Reason::RootMissing,
        // The kernel reports ENOTDIR for a final link opened as a directory: look which it was.
        Fault::WrongKind if system.look(path).is_ok_and(|facts| facts.kind == Kind::Link) => Reason::RootSymlink,
        Fault::WrongKind => Reason::RootNotDirectory,
        Fault::Link => Reason::RootSymlink,
        Fault::Unsupported(_) => Reason::KernelTooOld,
        _ => Reason::RootUnreadable,
    }
    .into()
}
