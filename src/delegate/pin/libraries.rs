//! Which loader and shared libraries a program will be started with: what the program asks for, and what those ask for,
//! looked for where the loader looks when it may read no cache. Runs nothing. A library that is found nowhere is
//! refused at pinning, rather than missed at every start.

use super::elf::{self, Asked};
use super::held::open_library;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::Reason;
use crate::system::{Fault, Kind, Observe};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(target_arch = "x86_64")]
const PLACES: [&str; 7] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];
#[cfg(target_arch = "aarch64")]
const PLACES: [&str; 7] = [
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
];

/// Links on the way to one file.
const LINKS: usize = 16;

/// The real paths of a program's loader and libraries with their permission bits, in ascending order.
pub(super) fn of<S: Observe>(
    system: &S,
    program: &AbsolutePath,
    asked: Asked,
) -> Result<Vec<(AbsolutePath, u32)>, Reason> {
    let mut found: BTreeMap<String, (AbsolutePath, u32)> = BTreeMap::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut waiting = vec![(program.clone(), asked)];
    while let Some((object, asked)) = waiting.pop() {
        let loader = asked.loader.iter().map(|path| (path.clone(), AbsolutePath::parse(path).ok()));
        let libraries = asked.needed.iter().map(|name| (name.clone(), locate(system, name, &object, &asked.search)));
        for (name, place) in loader.chain(libraries) {
            if !seen.insert(name) {
                continue;
            }
            let real = place.and_then(|path| real_file(system, &path)).ok_or(Reason::LibraryMissing)?;
            let (file, facts) = open_library(system, &real)?;
            let bytes = system.read(&file, limits::PIN_FILE_BYTES).map_err(|_| Reason::LibraryMissing)?;
            waiting.push((real.clone(), elf::read(&bytes).ok_or(Reason::LibraryMissing)?));
            found.insert(real.as_str().to_owned(), (real, facts.mode));
            if found.len() > limits::PIN_LIBRARIES {
                return Err(Reason::PackageTooLarge);
            }
        }
    }
    Ok(found.into_values().collect())
}

fn locate<S: Observe>(system: &S, name: &str, object: &AbsolutePath, search: &[String]) -> Option<AbsolutePath> {
    if name.contains('/') {
        return AbsolutePath::parse(name).ok();
    }
    let (origin, _) = object.split_last()?;
    let search = search.iter().map(|place| place.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", origin.as_str()));
    search
        .chain(PLACES.map(str::to_owned))
        .filter_map(|place| origin.resolve(&format!("{place}/{name}")))
        .find(|path| system.look(path).is_ok())
}

/// The file behind a path, by its real path.
pub(super) fn real_file<S: Observe>(system: &S, path: &AbsolutePath) -> Option<AbsolutePath> {
    let mut path = path.clone();
    for _ in 0..LINKS {
        let (parent, name) = path.split_last()?;
        let parent = match system.canonical_directory(&parent) {
            Err(Fault::Link) => system.canonical_directory(&real_directory(system, &parent)?).ok()?,
            other => other.ok()?,
        };
        let real = parent.resolve(name)?;
        match system.look(&real).ok()?.kind {
            Kind::Regular => return Some(real),
            Kind::Link => path = system.resolve_link(&real).ok()?,
            Kind::Directory | Kind::Special => return None,
        }
    }
    None
}

/// A directory that is itself a link, one or more steps on.
fn real_directory<S: Observe>(system: &S, path: &AbsolutePath) -> Option<AbsolutePath> {
    let mut path = path.clone();
    for _ in 0..LINKS {
        if system.look(&path).ok()?.kind != Kind::Link {
            return Some(path);
        }
        path = system.resolve_link(&path).ok()?;
    }
    None
}
