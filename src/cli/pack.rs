//! `kdna pack SOURCE_DIR FILE.kdna`: reads an authoring directory as the person, without following a link below it, and makes
//! the asset in memory; the sandboxed worker judges it before it takes its name (`made.rs`). Never encrypts.

use crate::cli::grammar::Options;
use crate::cli::help::OWNER;
use crate::cli::made::{Target, judge, nothing_written, shown};
use crate::cli::outcome::Outcome;
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::text::{display, is_nfc};
use crate::foundation::value::{Object, Value};
use crate::runtime::writer::{self, Parts, Payload};
use crate::system::{Fault, Kind, System};

const OPTIONS: Options = Options { flags: &["--force"], values: &[], repeatable: &[], flags_once: true };
const MANIFEST: &str = "kdna.json";
const JSON_PAYLOAD: &str = "payload.json";
const CBOR_PAYLOAD: &str = "payload.kdnab";
const ATTACHMENTS: &str = "attachments";
/// Made anew by every pack, or no part of an asset: left out without a word, as are hidden files beside the manifest.
const LEFT_OUT: [&str; 4] = ["mimetype", "checksums.json", "build-receipt.json", "reports"];
/// Left out wherever it is.
const FINDER: &str = ".DS_Store";
const NAME_SHOWN: usize = 200;
/// Nesting of directories below `attachments`.
const DEPTH: usize = 16;

/// `kdna pack`.
pub(crate) fn pack<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::not_understood(&text))?;
    let [source, target] = arguments.positionals() else { return Err(Outcome::not_understood(&OWNER.usage("pack"))) };
    let target = Target::of(system, target, arguments.has("--force"))?;
    let (bytes, entries) = packed_source(system, source, &target)?;
    let plan = target.store(system, &bytes, |sealed| judge(system, sealed))?;
    let mut document = made(&plan, &bytes);
    document.insert("entries", number(entries));
    Ok(Outcome::document(&document.into()))
}

/// The asset of an authoring directory, judged by nobody yet, and how many entries it has.
pub(super) fn packed_source<S: System>(system: &S, source: &str, target: &Target) -> Result<(Vec<u8>, usize), Outcome> {
    let directory = named_directory(system, source)
        .map_err(|_| Outcome::not_understood(&format!("Not a directory: {}", display(source, NAME_SHOWN))))?;
    target.demand_outside(system, &directory)?;
    let parts = Source { system, directory, total: 0 }.read()?;
    let entries = parts.attachments.len().saturating_add(4);
    let bytes = writer::pack(&parts).map_err(|fault| nothing_written(&fault.to_string()))?;
    Ok((bytes, entries))
}

/// What is printed of an asset that was made.
pub(super) fn made(plan: &Value, bytes: &[u8]) -> Object {
    let of = |key: &str| plan.get("asset").and_then(|asset| asset.get(key)).cloned();
    let mut document = Object::new();
    for key in ["asset_id", "title", "version"] {
        document.insert(key, of(key));
    }
    document.insert("access", plan.get("access").cloned());
    document.insert("asset_digest", Digest::of(bytes));
    document.insert("size", number(bytes.len()));
    document
}

fn number(size: usize) -> Value {
    Value::from(u32::try_from(size).unwrap_or(u32::MAX))
}

/// Holds a directory that the person named. Links above it are followed once, it may be no link itself.
fn named_directory<S: System>(system: &S, named: &str) -> Result<S::Directory, Fault> {
    let path = system.working_directory()?.resolve(named).ok_or(Fault::WrongKind)?;
    system.open_directory(&system.canonical_directory(&path)?)
}

/// The authoring directory while it is read.
struct Source<'a, S: System> {
    system: &'a S,
    directory: S::Directory,
    total: u64,
}

impl<S: System> Source<'_, S> {
    fn read(mut self) -> Result<Parts, Outcome> {
        let names = self.names(&RelativePath::default())?;
        let (mut manifest, mut payloads, mut attachments) = (None, Vec::new(), Vec::new());
        for name in names.iter().map(String::as_str).filter(|name| !name.starts_with('.') && !LEFT_OUT.contains(name)) {
            let path = entry(name)?;
            match name {
                MANIFEST => manifest = Some(self.file(&path)?),
                JSON_PAYLOAD => payloads.push(Payload::Json(self.file(&path)?)),
                CBOR_PAYLOAD => payloads.push(Payload::Cbor(self.file(&path)?)),
                ATTACHMENTS => self.tree(&path, &mut attachments, DEPTH)?,
                other => return Err(nothing_written(&format!("{} has no place in an asset", shown(other)))),
            }
        }
        let manifest = manifest.ok_or_else(|| nothing_written(&format!("there is no {MANIFEST}")))?;
        match (payloads.pop(), payloads.is_empty()) {
            (Some(payload), true) => Ok(Parts { manifest, payload, attachments }),
            _ => Err(nothing_written(&format!("there must be one of {JSON_PAYLOAD} and {CBOR_PAYLOAD}"))),
        }
    }

    fn tree(
        &mut self,
        directory: &RelativePath,
        found: &mut Vec<(String, Vec<u8>)>,
        depth: usize,
    ) -> Result<(), Outcome> {
        for name in self.names(directory)?.iter().filter(|name| *name != FINDER) {
            let path = directory.join(&entry(name)?);
            let facts = self.system.look_beneath(&self.directory, &path).map_err(|_| unreadable(&path))?;
            match facts.kind {
                Kind::Directory if depth > 0 => self.tree(&path, found, depth - 1)?,
                Kind::Regular if found.len() < limits::CONTAINER_ENTRIES => {
                    found.push((path.as_str().to_owned(), self.file(&path)?));
                }
                Kind::Regular => return Err(nothing_written("there are more files than an asset may have")),
                Kind::Directory => {
                    return Err(nothing_written("there are more directories in each other than an asset may have"));
                }
                _ => return Err(unreadable(&path)),
            }
        }
        Ok(())
    }

    fn names(&self, directory: &RelativePath) -> Result<Vec<String>, Outcome> {
        let held = self.system.open_directory_beneath(&self.directory, directory);
        held.and_then(|held| self.system.list(&held)).map_err(|_| unreadable(directory))
    }

    fn file(&mut self, path: &RelativePath) -> Result<Vec<u8>, Outcome> {
        let opened = self.system.open_file_beneath(&self.directory, path);
        let read = opened.and_then(|file| self.system.read(&file, limits::ENTRY_BYTES));
        let bytes = read.map_err(|fault| match fault {
            Fault::TooLarge => nothing_written(&format!("{} is larger than an entry may be", shown(path.as_str()))),
            _ => unreadable(path),
        })?;
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.total > limits::CONTAINER_INFLATED_BYTES {
            return Err(nothing_written("the files together are larger than an asset may be"));
        }
        Ok(bytes)
    }
}

/// A name that an entry may have: readers accept nothing else.
fn entry(name: &str) -> Result<RelativePath, Outcome> {
    let plain = is_nfc(name) && !name.contains('\\');
    RelativePath::parse(name)
        .filter(|_| plain)
        .ok_or_else(|| nothing_written(&format!("{} is no name that an entry may have", shown(name))))
}

fn unreadable(path: &RelativePath) -> Outcome {
    let path = if path.is_here() { "." } else { path.as_str() };
    nothing_written(&format!("{} cannot be read, or is a link or no file", shown(path)))
}
