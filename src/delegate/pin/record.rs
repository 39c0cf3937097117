//! Recording pins: looks at an interpreter and a package as they are now and says so, or says why they cannot be pinned.
//! Looks and reads only; the command writes the document.

use super::held::link_target;
use super::libraries::{self, real_file};
use super::tree::{self, Found};
use super::{Content, Entry, RuntimePins, elf, is_package_name, is_version};
use crate::foundation::json::read_javascript;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::Value;
use crate::system::{Facts, Kind, Observe, System};

/// What is to be pinned.
#[derive(Clone, Debug)]
pub struct PinRequest<'a> {
    /// The program, by any path to it.
    pub interpreter: &'a AbsolutePath,
    /// The package's directory.
    pub package: &'a AbsolutePath,
    /// The script in the package.
    pub entry: &'a str,
    /// The CLI's version, if its `package.json` does not say.
    pub cli_version: Option<&'a str>,
    /// The Core's version, if no `package.json` says.
    pub core_version: Option<&'a str>,
}

/// Bytes of a `package.json` that is looked at.
const MANIFEST_BYTES: u64 = 1 << 20;

/// Records everything. Refuses `interpreter_is_script`, `interpreter_not_program`, `library_missing`, `library_insecure`,
/// `package_unreadable`, `package_special_file`, `package_link_leaves`, `package_open_to_others`, `package_too_large`,
/// `package_entry_missing`, `package_file_changed` and `pin_versions_unknown`, all `runtime_binding_invalid`.
pub fn record<S: System>(system: &S, request: &PinRequest<'_>) -> Result<RuntimePins, Refusal> {
    let (interpreter, libraries) = interpreter(system, request.interpreter)?;
    let package = system.canonical_directory(request.package).map_err(|_| Reason::PackageUnreadable)?;
    let directory = system.open_directory(&package).map_err(|_| Reason::PackageUnreadable)?;
    let found = tree::walk(system, &directory)?.found;
    let entry = RelativePath::parse(request.entry).ok_or(Reason::PackageEntryMissing)?;
    if !found.iter().any(|found| found.path == entry && found.facts.kind == Kind::Regular) {
        return Err(Reason::PackageEntryMissing.into());
    }
    let mut entries = Vec::with_capacity(found.len());
    for found in found {
        let recorded = record_entry(system, &package, &directory, &found)?;
        entries.push((found.path, recorded));
    }
    let names = Names { system, directory: &directory, entries: &entries };
    let (cli, core) = (names.cli(request.cli_version)?, names.core(request.core_version)?);
    Ok(RuntimePins { cli, core, interpreter, libraries, package, entry, entries })
}

type Interpreter = ((AbsolutePath, Content), Vec<(AbsolutePath, u32)>);

fn interpreter<S: Observe>(system: &S, path: &AbsolutePath) -> Result<Interpreter, Reason> {
    let real = real_file(system, path).ok_or(Reason::InterpreterNotProgram)?;
    let file = super::held::open_file(system, &real).ok_or(Reason::InterpreterNotProgram)?;
    let facts = system.file_facts(&file).map_err(|_| Reason::InterpreterNotProgram)?;
    let bytes = system.read(&file, limits::PIN_FILE_BYTES).map_err(|_| Reason::InterpreterNotProgram)?;
    if bytes.starts_with(b"#!") {
        return Err(Reason::InterpreterScript);
    }
    let asked = elf::read(&bytes).filter(|_| facts.mode & 0o111 != 0).ok_or(Reason::InterpreterNotProgram)?;
    drop(bytes);
    let content = content(system, &file, &facts).map_err(|_| Reason::InterpreterNotProgram)?;
    let libraries = libraries::of(system, &real, asked)?;
    Ok(((real, content), libraries))
}

fn record_entry<S: System>(
    system: &S,
    package: &AbsolutePath,
    directory: &S::Directory,
    found: &Found,
) -> Result<Entry, Reason> {
    if found.facts.kind == Kind::Link {
        return link_target(system, package, &found.path).map(Entry::Link).ok_or(Reason::PackageLinkLeaves);
    }
    if found.facts.mode & 0o002 != 0 {
        return Err(Reason::PackageOpenToOthers);
    }
    let file = system.open_file_beneath(directory, &found.path).map_err(|_| Reason::PackageUnreadable)?;
    content(system, &file, &found.facts).map(Entry::File)
}

fn content<S: Observe>(system: &S, file: &S::File, facts: &Facts) -> Result<Content, Reason> {
    let size = u32::try_from(facts.size).map_err(|_| Reason::PackageTooLarge)?;
    if facts.size > limits::PIN_FILE_BYTES {
        return Err(Reason::PackageTooLarge);
    }
    let digest = system.digest(file, limits::PIN_FILE_BYTES).map_err(|_| Reason::PackageUnreadable)?;
    if system.file_facts(file).as_ref() != Ok(facts) {
        return Err(Reason::PackageFileChanged);
    }
    Ok(Content { digest, size, mode: facts.mode })
}

/// Names and versions, from the package's own manifests or from the person.
struct Names<'a, S: System> {
    system: &'a S,
    directory: &'a S::Directory,
    entries: &'a [(RelativePath, Entry)],
}

impl<S: System> Names<'_, S> {
    fn cli(&self, given: Option<&str>) -> Result<String, Reason> {
        let manifest = self.manifest("package.json");
        let (name, version) = manifest.unwrap_or_else(|| ("kdna".to_owned(), None));
        versioned(&name, given.or(version.as_deref()))
    }

    fn core(&self, given: Option<&str>) -> Result<String, Reason> {
        let is_core = |name: &str| name == "kdna-core" || name.ends_with("/kdna-core");
        let manifests = self.entries.iter().map(|(path, _)| path.as_str());
        let manifest = manifests
            .filter(|path| path.ends_with("kdna-core/package.json"))
            .filter_map(|path| self.manifest(path))
            .find(|(name, _)| is_core(name));
        let (name, version) = manifest.unwrap_or_else(|| ("kdna-core".to_owned(), None));
        versioned(&name, given.or(version.as_deref()))
    }

    /// Name and version of a manifest in the package.
    fn manifest(&self, path: &str) -> Option<(String, Option<String>)> {
        let file = self.system.open_file_beneath(self.directory, &RelativePath::parse(path)?).ok()?;
        let document = read_javascript(&self.system.read(&file, MANIFEST_BYTES).ok()?).ok()?;
        let text = |key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((text("name").filter(|name| is_package_name(name))?, text("version")))
    }
}

fn versioned(name: &str, version: Option<&str>) -> Result<String, Reason> {
    match version.filter(|version| is_version(version)) {
        Some(version) => Ok(format!("{name}@{version}")),
        None => Err(Reason::PinVersionsUnknown),
    }
}
