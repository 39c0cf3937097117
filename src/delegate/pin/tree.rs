//! What is in a package: every file and link below its directory, with its facts. Never follows a link, never crosses a
//! mount, and stops at a device, socket or FIFO, and at a directory that everybody may change.

use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::refusal::Reason;
use crate::system::{Facts, Fault, Kind, System};

/// One name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: RelativePath,
    pub(super) facts: Facts,
}

/// What is in a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Everything that is no directory, in ascending order of the paths.
    pub(super) found: Vec<Found>,
    /// The directories, whose facts tell of a name that was taken away and put back.
    directories: Vec<Found>,
}

/// Everything below a held directory.
pub(super) fn walk<S: System>(system: &S, package: &S::Directory) -> Result<Tree, Reason> {
    let mut found = Vec::new();
    let mut directories = Vec::new();
    let mut waiting = vec![(RelativePath::default(), package.clone())];
    while let Some((path, directory)) = waiting.pop() {
        if path.components().count() > limits::PIN_DEPTH {
            return Err(Reason::PackageTooLarge);
        }
        let facts = system.directory_facts(&directory).map_err(unreadable)?;
        if facts.mode & 0o002 != 0 {
            return Err(Reason::PackageOpenToOthers);
        }
        directories.push(Found { path: path.clone(), facts });
        for name in system.list(&directory).map_err(unreadable)? {
            let name = RelativePath::parse(&name).ok_or(Reason::PackageUnreadable)?;
            let facts = system.look_beneath(&directory, &name).map_err(unreadable)?;
            let path = path.join(&name);
            match facts.kind {
                Kind::Directory => {
                    waiting.push((path, system.open_directory_beneath(&directory, &name).map_err(unreadable)?));
                }
                Kind::Special => return Err(Reason::PackageSpecialFile),
                Kind::Regular | Kind::Link => found.push(Found { path, facts }),
            }
            if found.len() + waiting.len() > limits::PIN_FILES {
                return Err(Reason::PackageTooLarge);
            }
        }
    }
    let by_path = |before: &Found, after: &Found| before.path.as_str().cmp(after.path.as_str());
    found.sort_by(by_path);
    directories.sort_by(by_path);
    Ok(Tree { found, directories })
}

fn unreadable(fault: Fault) -> Reason {
    if fault == Fault::TooLarge { Reason::PackageTooLarge } else { Reason::PackageUnreadable }
}
