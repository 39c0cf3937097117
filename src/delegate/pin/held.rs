//! A pinned runtime, held: opened, compared with its pins byte by byte, and looked at again before and after every use.
//! While nothing changed (device, inode, size, times of every file) a look is enough; after any change everything is read
//! and digested again. Never starts anything and never accepts a file that the pins do not name.

use super::tree::{self, Found, Tree};
use super::{Content, Entry, RuntimePins};
use crate::capability::private_file::PrivateDirectory;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{External, Facts, Kind, Observe, System};
use std::sync::{Arc, Mutex, PoisonError};

/// The external runtime that a server was started with.
pub struct PinnedRuntime<S: System> {
    coordinate: AbsolutePath,
    pins: RuntimePins,
    held: Mutex<Arc<Held<S>>>,
}

/// Its files as they agreed with the pins.
pub struct Held<S: System> {
    external: External<S::File, S::Directory>,
    interpreter: Facts,
    libraries: Vec<Facts>,
    package: Facts,
    tree: Tree,
}

impl<S: System> PinnedRuntime<S> {
    /// Reads the pins at a coordinate (an absolute path to a private file) and compares every file with them.
    ///
    /// All refusals are `runtime_binding_invalid`: `pins_coordinate_invalid`, `pins_not_private`, `pins_malformed`,
    /// `pins_version_unknown`, and those of [`PinnedRuntime::current`].
    pub fn open(system: &S, coordinate: &str) -> Result<Self, Refusal> {
        let path = AbsolutePath::parse(coordinate).map_err(|_| Reason::PinsCoordinateInvalid)?;
        let (parent, name) = path.split_last().ok_or(Reason::PinsCoordinateInvalid)?;
        let name = name.to_owned();
        let directory = PrivateDirectory::open(system, &parent).map_err(|_| Reason::PinsNotPrivate)?;
        let bytes = directory.read(system, &name, limits::PINS_BYTES).map_err(|_| Reason::PinsNotPrivate)?;
        let pins = RuntimePins::read(&bytes)?;
        let held = Mutex::new(Arc::new(Held::open(system, &pins)?));
        Ok(Self { coordinate: path, pins, held })
    }

    /// Where the pins were read.
    pub fn coordinate(&self) -> &AbsolutePath {
        &self.coordinate
    }

    /// What it was pinned to.
    pub fn pins(&self) -> &RuntimePins {
        &self.pins
    }

    /// Its files, which agree with the pins now. Refuses `interpreter_changed`, `library_insecure`, `library_missing`,
    /// `package_file_changed`, `package_file_added`, `package_file_missing`, `package_special_file`,
    /// `package_unreadable`, `package_open_to_others`, `package_too_large`.
    pub fn current(&self, system: &S) -> Result<Arc<Held<S>>, Refusal> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if !held.is_current(system, &self.pins) {
            *held = Arc::new(Held::open(system, &self.pins)?);
        }
        Ok(held.clone())
    }

    /// Whether nothing was touched since the files were held like this: also what was changed and put back was another
    /// file in between. Refuses as [`PinnedRuntime::current`]; `package_file_changed` where all agrees with the pins again.
    pub fn untouched(&self, system: &S, held: &Held<S>) -> Result<(), Refusal> {
        if held.is_current(system, &self.pins) {
            return Ok(());
        }
        self.current(system).and(Err(Reason::PackageFileChanged.into()))
    }
}

impl<S: System> Held<S> {
    /// What a process of it is made of.
    pub fn external(&self) -> &External<S::File, S::Directory> {
        &self.external
    }

    fn open(system: &S, pins: &RuntimePins) -> Result<Self, Reason> {
        let (path, content) = &pins.interpreter;
        let interpreter = open_file(system, path).ok_or(Reason::InterpreterChanged)?;
        let interpreter_facts = compare::<S>(system, &interpreter, content).ok_or(Reason::InterpreterChanged)?;
        let mut libraries = Vec::new();
        let mut library_facts = Vec::new();
        for (path, mode) in &pins.libraries {
            let (file, facts) = open_library(system, path)?;
            if facts.mode != *mode {
                return Err(Reason::LibraryInsecure);
            }
            libraries.push(file);
            library_facts.push(facts);
        }
        let package = system.open_directory(&pins.package).map_err(|_| Reason::PackageUnreadable)?;
        let package_facts = system.directory_facts(&package).map_err(|_| Reason::PackageUnreadable)?;
        let tree = tree::walk(system, &package)?;
        same_names(&tree.found, &pins.entries)?;
        for (found, (path, entry)) in tree.found.iter().zip(&pins.entries) {
            compare_entry(system, pins, &package, path, entry, &found.facts)?;
        }
        let external = External { interpreter, libraries, package };
        Ok(Self { external, interpreter: interpreter_facts, libraries: library_facts, package: package_facts, tree })
    }

    /// Whether every file is still the one that was compared, unchanged.
    fn is_current(&self, system: &S, pins: &RuntimePins) -> bool {
        let same = |path: &AbsolutePath, facts: &Facts| system.look(path).as_ref() == Ok(facts);
        same(&pins.interpreter.0, &self.interpreter)
            && pins.libraries.iter().zip(&self.libraries).all(|((path, _), facts)| same(path, facts))
            && system.look(&pins.package).is_ok_and(|facts| facts.identity == self.package.identity)
            && tree::walk(system, &self.external.package).as_ref() == Ok(&self.tree)
    }
}

/// Opens a file by its real path: no symbolic link on the way.
pub(super) fn open_file<S: Observe>(system: &S, path: &AbsolutePath) -> Option<S::File> {
    let (parent, name) = path.split_last()?;
    let parent = system.open_directory(&parent).ok()?;
    system.open_file_in(&parent, name).ok()
}

/// Opens a library and judges it: root's, as is every directory above it, and writable by nobody else.
pub(super) fn open_library<S: Observe>(system: &S, path: &AbsolutePath) -> Result<(S::File, Facts), Reason> {
    let file = open_file(system, path).ok_or(Reason::LibraryMissing)?;
    let facts = system.file_facts(&file).map_err(|_| Reason::LibraryMissing)?;
    let is_roots = |facts: &Facts| facts.owner == 0 && facts.mode & 0o022 == 0;
    let above = path.ancestors().skip(1);
    let mut above = above.map(|path| system.look(&path).is_ok_and(|facts| is_roots(&facts)));
    if facts.kind != Kind::Regular || !is_roots(&facts) || !above.all(|secure| secure) {
        return Err(Reason::LibraryInsecure);
    }
    Ok((file, facts))
}

/// The facts of a held file whose size, mode and digest are the pinned ones.
fn compare<S: Observe>(system: &S, file: &S::File, content: &Content) -> Option<Facts> {
    let facts = system.file_facts(file).ok()?;
    let fits = facts.kind == Kind::Regular && facts.size == u64::from(content.size) && facts.mode == content.mode;
    let digest = fits.then(|| system.digest(file, limits::PIN_FILE_BYTES).ok())??;
    (digest == content.digest).then_some(facts)
}

/// The pinned names and no other.
fn same_names(found: &[Found], pinned: &[(RelativePath, Entry)]) -> Result<(), Reason> {
    let mut found = found.iter().map(|found| found.path.as_str()).peekable();
    for (path, _) in pinned {
        match found.peek() {
            Some(name) if *name == path.as_str() => drop(found.next()),
            Some(name) if *name < path.as_str() => return Err(Reason::PackageFileAdded),
            _ => return Err(Reason::PackageFileMissing),
        }
    }
    if found.next().is_some() { Err(Reason::PackageFileAdded) } else { Ok(()) }
}

fn compare_entry<S: System>(
    system: &S,
    pins: &RuntimePins,
    package: &S::Directory,
    path: &RelativePath,
    entry: &Entry,
    facts: &Facts,
) -> Result<(), Reason> {
    let same = match entry {
        Entry::File(content) => {
            let file = system.open_file_beneath(package, path).map_err(|_| Reason::PackageFileChanged)?;
            compare::<S>(system, &file, content).as_ref() == Some(facts)
        }
        Entry::Link(target) => {
            facts.kind == Kind::Link && link_target(system, &pins.package, path).as_ref() == Some(target)
        }
    };
    if same { Ok(()) } else { Err(Reason::PackageFileChanged) }
}

/// Where a link of the package leads, if that is in the package.
pub(super) fn link_target<S: Observe>(system: &S, package: &AbsolutePath, path: &RelativePath) -> Option<RelativePath> {
    system.resolve_link(&package.join(path)).ok()?.below(package)
}
