//! Where a session may lie: a directory in memory that nobody else can get at. What the environment names is believed
//! only as far as it can be seen to be true.

use crate::capability::private_file::PrivateDirectory;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::os::{Directory, OsSystem};
use crate::system::{Kind, Observe};

/// The place that every user of a machine shares. Names in it are drawn, so that nobody can take them first.
const SHARED: &str = "/dev/shm";

/// A directory in memory in which sessions lie.
pub struct MemoryPlace<D> {
    /// The held directory.
    pub directory: D,
    /// Its path.
    pub path: AbsolutePath,
}

/// Every place that will do, the best first: what `XDG_RUNTIME_DIR` names if it is a private directory of this user on a
/// memory file system, and `/dev/shm`. Refuses `session_place_missing` where there is none: a password is never written
/// to a disk.
pub fn places(system: &OsSystem, runtime_directory: Option<&str>) -> Result<Vec<MemoryPlace<Directory>>, Refusal> {
    let own = runtime_directory.and_then(|text| own(*system, text));
    let places: Vec<_> = own.into_iter().chain(shared(*system)).collect();
    if places.is_empty() { Err(Reason::SessionPlaceMissing.into()) } else { Ok(places) }
}

fn own(system: OsSystem, text: &str) -> Option<MemoryPlace<Directory>> {
    let path = AbsolutePath::parse(text).ok()?;
    let directory = PrivateDirectory::open(&system, &path).ok()?.handle().clone();
    in_memory(MemoryPlace { directory, path })
}

fn shared(system: OsSystem) -> Option<MemoryPlace<Directory>> {
    let path = AbsolutePath::parse(SHARED).ok()?;
    let directory = system.open_directory(&path).ok()?;
    let facts = system.directory_facts(&directory).ok()?;
    let nobody_renames = facts.mode & 0o022 == 0 || facts.mode & 0o1000 != 0;
    let of_root_or_own = facts.owner == 0 || facts.owner == system.user();
    (facts.kind == Kind::Directory && of_root_or_own && nobody_renames).then_some(())?;
    in_memory(MemoryPlace { directory, path })
}

fn in_memory(place: MemoryPlace<Directory>) -> Option<MemoryPlace<Directory>> {
    place.directory.is_in_memory().is_ok_and(|memory| memory).then_some(place)
}
