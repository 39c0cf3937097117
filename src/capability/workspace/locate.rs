//! How the owner commands find their workspace: by the person's working directory, upwards to a boundary.
//!
//! Directories are opened by their real path, one by one, so a workspace on another mount is found as well; every open
//! still refuses links. What is found is held, and all later work goes through the held directory.

use super::{RecordBytes, holds_record, settled_record};
use crate::capability::home::Homes;
use crate::capability::root::named;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Fault, Identity, Kind, Observe};

/// A workspace of the person, held.
pub struct Located<S: Observe> {
    /// The directory itself.
    pub directory: S::Directory,
    /// Its real path.
    pub root: AbsolutePath,
    /// How it is named from the working directory: `.`, `..`, `../..`.
    pub display: String,
    /// Which directory it is.
    pub identity: Identity,
}

impl<S: Observe> Located<S> {
    /// Whether the path still names the held directory. Refuses with `mutation_root_changed`.
    pub fn assert_unchanged(&self, system: &S) -> Result<(), Refusal> {
        match system.look(&self.root) {
            Ok(facts) if facts.kind == Kind::Directory && facts.identity == self.identity => Ok(()),
            _ => Err(Reason::MutationRootChanged.into()),
        }
    }

    /// Its record, read for a person ([`settled_record`]). Refuses with `record_unsafe` whatever stands against reading it.
    pub fn settled_record(&self, system: &S) -> Result<RecordBytes, Refusal> {
        settled_record(system, &self.directory).map_err(|_| Reason::RecordUnsafe.into())
    }
}

/// Finds the nearest workspace from `cwd` upwards. `boundary` is the person's `--workspace-root`; without it the search
/// ends at the home directory, or at the root of the file system. `home` is the text of `$HOME`.
///
/// Refuses with `directory_missing`, `directory_irregular`, `boundary_escape`, `home_unresolvable`, `home_ambiguous`,
/// `boundary_ambiguous`, and the three reasons of a search.
pub fn locate<S: Observe>(
    system: &S,
    cwd: &str,
    boundary: Option<&str>,
    home: Option<&str>,
) -> Result<Option<Located<S>>, Refusal> {
    let homes = Homes::find(system, home)?;
    let start = real_directory(system, cwd, "Working directory")?;
    let limit = match boundary {
        Some(text) => real_directory(system, text, "Workspace root boundary")?,
        None => implicit_boundary(&homes, &start)?,
    };
    let below = start.below(&limit).ok_or(Reason::BoundaryEscape)?;
    for (path, relative) in start.ancestors().zip(below.ancestors()) {
        // Only a question, so that an ancestor which may be passed but not read does not end the search.
        if system.look(&path.join(&super::relative(super::KDNA))) == Err(Fault::NotFound) {
            continue;
        }
        let directory = system.open_directory(&path).map_err(|_| Reason::RecordUninspectable)?;
        if !holds_record(system, &directory).map_err(super::SearchFault::reason)? {
            continue;
        }
        let identity = system.directory_facts(&directory).map_err(|_| Reason::RecordUninspectable)?.identity;
        if homes.is_home(identity) {
            return Err(Reason::HomeAmbiguous.into());
        }
        if boundary.is_none() && relative.is_here() {
            return Err(Reason::BoundaryAmbiguous.into());
        }
        return Ok(Some(Located { directory, root: path, display: below.display_of_ancestor(&relative), identity }));
    }
    Ok(None)
}

/// The directory that an attachment is made in: `cwd` itself, neither a home nor the root of the file system.
///
/// Refuses with `directory_missing`, `directory_irregular`, `home_unresolvable`, `home_ambiguous`, `root_ambiguous`.
pub fn mutation_root<S: Observe>(system: &S, cwd: &str, home: Option<&str>) -> Result<Located<S>, Refusal> {
    let homes = Homes::find(system, home)?;
    let root = real_directory(system, cwd, "Working directory")?;
    let directory = system.open_directory(&root).map_err(|_| irregular("Working directory"))?;
    let identity = system.directory_facts(&directory).map_err(|_| irregular("Working directory"))?.identity;
    if homes.is_home(identity) {
        return Err(Reason::HomeAmbiguous.into());
    }
    if root.is_filesystem_root() {
        return Err(Reason::RootAmbiguous.into());
    }
    Ok(Located { directory, root, display: ".".to_owned(), identity })
}

fn implicit_boundary(homes: &Homes, start: &AbsolutePath) -> Result<AbsolutePath, Refusal> {
    if let Some(home) = homes.paths().iter().find(|home| start.below(home).is_some()) {
        return Ok(home.clone());
    }
    AbsolutePath::parse("/").map_err(|_| Reason::Internal.into())
}

/// Whether the person's working directory is one: absent, a link or no directory is refused as in [`locate`].
pub fn check_directory<S: Observe>(system: &S, cwd: &str) -> Result<AbsolutePath, Refusal> {
    real_directory(system, cwd, "Working directory")
}

/// The real path of a directory that the person named. A link in its place is refused, links above it are resolved.
fn real_directory<S: Observe>(system: &S, text: &str, label: &'static str) -> Result<AbsolutePath, Refusal> {
    let path = named(system, text).map_err(|fault| match fault {
        Fault::Escapes => irregular(label),
        _ => missing(label),
    })?;
    match system.look(&path) {
        Ok(facts) if facts.kind == Kind::Directory => {}
        Err(Fault::NotFound) => return Err(missing(label)),
        Ok(_) | Err(_) => return Err(irregular(label)),
    }
    system.canonical_directory(&path).map_err(|_| irregular(label))
}

fn missing(label: &'static str) -> Refusal {
    Refusal::labelled(Reason::DirectoryMissing, format!("{label} does not exist."))
}

fn irregular(label: &'static str) -> Refusal {
    Refusal::labelled(Reason::DirectoryIrregular, format!("{label} must be a regular directory."))
}
