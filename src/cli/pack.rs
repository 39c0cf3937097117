//! `kdna pack SOURCE_DIR FILE.kdna`: reads an authoring directory as the person, without following a link below it, makes
//! the asset in memory and lets the sandboxed worker judge it before it takes its name. What is not valid, or could not be
//! loaded, is never left behind; a file that is there stays unless `--force` is given. Never encrypts.

use crate::cli::asset::{failure_code, in_worker};
use crate::cli::grammar::Options;
use crate::cli::outcome::Outcome;
use crate::delegate::contract::{LoadRequest, PlanRequest, Request};
use crate::foundation::digest::{Digest, hex};
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::text::{display, is_nfc};
use crate::foundation::value::Value;
use crate::runtime::writer::{self, Parts, Payload};
use crate::system::{ChildReport, Fault, Kind, System};

const OPTIONS: Options = Options { flags: &["--force"], values: &[], repeatable: &[], flags_once: true };
const USAGE: &str = "Usage: kdna pack <source-dir> <file.kdna> [--force]";
const MANIFEST: &str = "kdna.json";
const JSON_PAYLOAD: &str = "payload.json";
const CBOR_PAYLOAD: &str = "payload.kdnab";
const ATTACHMENTS: &str = "attachments";
/// Made anew by every pack, or no part of an asset: left out without a word, as are hidden files beside the manifest.
const LEFT_OUT: [&str; 4] = ["mimetype", "checksums.json", "build-receipt.json", "reports"];
/// Left out wherever it is.
const FINDER: &str = ".DS_Store";
/// Problems that are shown, and characters of each.
const PROBLEMS_SHOWN: usize = 20;
const PROBLEM_SHOWN: usize = 300;
const NAME_SHOWN: usize = 200;
/// Nesting of directories below `attachments`.
const DEPTH: usize = 16;

/// `kdna pack`.
pub(crate) fn pack<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    let [source, target] = arguments.positionals() else { return Err(Outcome::usage(USAGE)) };
    let target = Target::of(system, target, arguments.has("--force"))?;
    let directory = named_directory(system, source)
        .map_err(|_| Outcome::usage(&format!("Not a directory: {}", display(source, NAME_SHOWN))))?;
    let parts = Source { system, directory, total: 0 }.read()?;
    let entries = parts.attachments.len().saturating_add(4);
    let bytes = writer::pack(&parts).map_err(|fault| not_packed(&fault.to_string()))?;
    let plan = target.store(system, &bytes)?;
    Ok(Outcome::document(&packed(&plan, &bytes, entries)))
}

/// What is printed of a packed asset.
fn packed(plan: &Value, bytes: &[u8], entries: usize) -> Value {
    let of = |key: &str| plan.get("asset").and_then(|asset| asset.get(key)).cloned();
    let number = |size: usize| Value::from(u32::try_from(size).unwrap_or(u32::MAX));
    Value::object([
        ("asset_id", Value::from(of("asset_id"))),
        ("title", of("title").into()),
        ("version", of("version").into()),
        ("access", plan.get("access").cloned().into()),
        ("asset_digest", Digest::of(bytes).into()),
        ("size", number(bytes.len())),
        ("entries", number(entries)),
    ])
}

fn not_packed(why: &str) -> Outcome {
    Outcome::failed(format!("Error: Nothing was written: {why}."))
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
                other => return Err(not_packed(&format!("{} has no place in an asset", shown(other)))),
            }
        }
        let manifest = manifest.ok_or_else(|| not_packed(&format!("there is no {MANIFEST}")))?;
        match (payloads.pop(), payloads.is_empty()) {
            (Some(payload), true) => Ok(Parts { manifest, payload, attachments }),
            _ => Err(not_packed(&format!("there must be one of {JSON_PAYLOAD} and {CBOR_PAYLOAD}"))),
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
                Kind::Regular => return Err(not_packed("there are more files than an asset may have")),
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
            Fault::TooLarge => not_packed(&format!("{} is larger than an entry may be", shown(path.as_str()))),
            _ => unreadable(path),
        })?;
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        if self.total > limits::CONTAINER_INFLATED_BYTES {
            return Err(not_packed("the files together are larger than an asset may be"));
        }
        Ok(bytes)
    }
}

/// A name that an entry may have: readers accept nothing else.
fn entry(name: &str) -> Result<RelativePath, Outcome> {
    let plain = is_nfc(name) && !name.contains('\\');
    RelativePath::parse(name)
        .filter(|_| plain)
        .ok_or_else(|| not_packed(&format!("{} is no name that an entry may have", shown(name))))
}

fn shown(name: &str) -> String {
    format!("\"{}\"", display(name, NAME_SHOWN))
}

fn unreadable(path: &RelativePath) -> Outcome {
    let path = if path.is_here() { "." } else { path.as_str() };
    not_packed(&format!("{} cannot be read, or is a link or no file", shown(path)))
}

/// Where the asset goes.
struct Target {
    directory: AbsolutePath,
    name: String,
    force: bool,
}

impl Target {
    fn of<S: System>(system: &S, named: &str, force: bool) -> Result<Self, Outcome> {
        let path = system.working_directory().ok().and_then(|base| base.resolve(named));
        let split = path.as_ref().and_then(|path| path.split_last());
        let (directory, name) =
            split.filter(|(_, name)| name.strip_suffix(".kdna").is_some_and(|stem| !stem.is_empty())).ok_or_else(
                || Outcome::usage(&format!("The name of an asset ends in .kdna: {}", display(named, NAME_SHOWN))),
            )?;
        let target = Self { directory, name: name.to_owned(), force };
        if !force && path.as_ref().is_some_and(|path| system.look(path) != Err(Fault::NotFound)) {
            return Err(target.taken());
        }
        Ok(target)
    }

    fn taken(&self) -> Outcome {
        Outcome::usage(&format!(
            "{} is there already, or cannot be looked at. Use --force to replace it.",
            shown(&self.name)
        ))
    }

    /// Writes under a temporary name, lets the worker judge exactly these bytes, and only then gives them their name.
    /// Returns the LoadPlan.
    fn store<S: System>(&self, system: &S, bytes: &[u8]) -> Result<Value, Outcome> {
        let failed = |_| not_packed("the target directory cannot be written");
        let directory = match system.canonical_directory(&self.directory) {
            Err(Fault::Link) => system.resolve_link(&self.directory).and_then(|to| system.canonical_directory(&to)),
            other => other,
        };
        let directory = directory.and_then(|path| system.open_directory(&path)).map_err(failed)?;
        let mut random = [0; 8];
        system.random(&mut random).map_err(failed)?;
        let temporary = format!(".kdna-pack-{}.tmp", hex(&random));
        let file = system.create_file(&directory, &temporary, 0o644).map_err(failed)?;
        let written = system.write(&file, bytes).and_then(|()| system.sync_file(&file)).map_err(failed);
        let stored = written.and_then(|()| judge(system, &file, bytes)).and_then(|plan| {
            self.take_name(system, &directory, &temporary)?;
            Ok(plan)
        });
        if stored.is_err() || !self.force {
            let _ = system.remove(&directory, &temporary);
        }
        if stored.is_ok() {
            let _ = system.sync_directory(&directory);
        }
        stored
    }

    /// Without `--force` the name is taken by a link, which fails if somebody else took it meanwhile.
    fn take_name<S: System>(&self, system: &S, directory: &S::Directory, temporary: &str) -> Result<(), Outcome> {
        let taken = if self.force {
            system.rename(directory, temporary, &self.name)
        } else {
            system.link(directory, temporary, &self.name)
        };
        taken.map_err(|fault| match fault {
            Fault::Exists => self.taken(),
            _ => not_packed("the target cannot be written"),
        })
    }
}

/// Every gate, and for an asset that may be loaded now also the load itself, which compares declared digests.
fn judge<S: System>(system: &S, file: &S::File, bytes: &[u8]) -> Result<Value, Outcome> {
    let sealed = system.seal(file, limits::CONTAINER_BYTES);
    let (sealed, digest) = sealed.map_err(|_| not_packed("the file could not be read back"))?;
    if digest != Digest::of(bytes) {
        return Err(not_packed("the file is not what was written"));
    }
    let report = in_worker(system, Request::Validate(Some(PlanRequest::default())), &sealed)?;
    let document = read_strict(&report.output, limits::RUNTIME_REPLY_DEPTH).map_err(|_| refused_by(&report))?;
    let plan = document.get("runtime_load_plan").cloned().ok_or_else(|| refused_by(&report))?;
    match report.exit {
        0 => {}
        3 => return Ok(plan),
        _ => return Err(invalid(&document, &plan)),
    }
    let request = LoadRequest {
        profile: "full".to_owned(),
        password: false,
        entitlement_status: None,
        loaded_at: system.now(),
        snapshot: None,
    };
    let report = in_worker(system, Request::Load(request), &sealed)?;
    if report.exit == 0 { Ok(plan) } else { Err(refused_by(&report)) }
}

fn refused_by(report: &ChildReport) -> Outcome {
    not_packed(&match failure_code(&report.errors) {
        Some(code) => format!("the result could not be loaded [{code}]"),
        None => "the result could not be read (kdna.json and every .json attachment must be JSON) or is larger than a \
                 load may be"
            .to_owned(),
    })
}

/// The gates' problems, else the plan's issues: the words of the contract with the author's own names in them.
fn invalid(document: &Value, plan: &Value) -> Outcome {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).unwrap_or_default().to_vec();
    let problems = list(document.get("problems"));
    let issues = list(plan.get("issues"));
    let texts: Vec<&str> = if problems.is_empty() {
        issues.iter().filter_map(|issue| issue.get("message")?.as_str()).collect()
    } else {
        problems.iter().filter_map(Value::as_str).collect()
    };
    let mut text = "Error: Nothing was written: the result would not be a valid asset.".to_owned();
    for problem in texts.iter().take(PROBLEMS_SHOWN) {
        text.push_str("\n  ");
        text.push_str(&display(problem, PROBLEM_SHOWN));
    }
    if texts.len() > PROBLEMS_SHOWN {
        text.push_str("\n  …");
    }
    Outcome::failed(text)
}
