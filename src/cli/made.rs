//! An asset that a command makes: judged by the sandboxed worker while it is in memory only, and then written and named.
//! What is not judged good is never left behind, not even by a killed process; a file that is there stays unless `--force`
//! is given.

use crate::cli::asset::{NOT_CONTAINER, failure_code, in_worker};
use crate::cli::outcome::Outcome;
use crate::delegate::contract::{LoadRequest, PlanRequest, Request};
use crate::foundation::digest::{Digest, hex};
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::switches::Switches;
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::system::{ChildReport, Fault, System};

/// Problems that are shown, and characters of each.
const PROBLEMS_SHOWN: usize = 20;
const PROBLEM_SHOWN: usize = 300;
const NAME_SHOWN: usize = 200;
/// The worker's status for bytes that are no container.
const UNRECOGNISED: i32 = 2;

pub(super) fn nothing_written(why: &str) -> Outcome {
    not_made(why, &[])
}

/// Why, and the problems behind it: a line each for a person, one message for a program.
fn not_made(why: &str, problems: &[String]) -> Outcome {
    let lines = |before: &str, between: &str| match problems {
        [] => String::new(),
        all => format!("{before}{}", all.join(between)),
    };
    let said = format!("Nothing was written: {why}.");
    let refusal = Refusal::labelled(Reason::AssetNotMade, format!("{said}{}", lines(" ", "; ")));
    Outcome { refusal: Some(refusal), ..Outcome::failed(format!("Error: {said}{}", lines("\n  ", "\n  "))) }
}

/// A foreign name in quotes.
pub(super) fn shown(name: &str) -> String {
    format!("\"{}\"", display(name, NAME_SHOWN))
}

/// Where the asset goes.
pub(super) struct Target {
    directory: AbsolutePath,
    name: String,
    force: bool,
}

impl Target {
    pub(super) fn of<S: System>(system: &S, named: &str, force: bool) -> Result<Self, Outcome> {
        let path = system.working_directory().ok().and_then(|base| base.resolve(named));
        let split = path.as_ref().and_then(|path| path.split_last());
        let (directory, name) = split
            .filter(|(_, name)| name.strip_suffix(".kdna").is_some_and(|stem| !stem.is_empty()))
            .ok_or_else(|| {
                Outcome::not_understood(&format!("The name of an asset ends in .kdna: {}", display(named, NAME_SHOWN)))
            })?;
        let target = Self { directory, name: name.to_owned(), force };
        if !force && path.as_ref().is_some_and(|path| system.look(path) != Err(Fault::NotFound)) {
            return Err(target.taken());
        }
        // Said before any work, and before anybody is asked for a password.
        target.open(system).map_err(unwritable)?;
        Ok(target)
    }

    fn taken(&self) -> Outcome {
        Outcome::not_understood(&format!(
            "{} is there already, or cannot be looked at. Use --force to replace it.",
            shown(&self.name)
        ))
    }

    /// Refuses a place at or below the directory that the asset is made of: it would be part of the next one.
    pub(super) fn demand_outside<S: System>(&self, system: &S, source: &S::Directory) -> Result<(), Outcome> {
        let source = system.directory_facts(source).map_err(unwritable)?.identity;
        let directory = self.canonical(system).map_err(unwritable)?;
        let inside = |above: AbsolutePath| system.look(&above).is_ok_and(|facts| facts.identity == source);
        if directory.ancestors().any(inside) {
            return Err(Outcome::not_understood(
                "The asset would lie in the directory that it is made of. Name another place.",
            ));
        }
        Ok(())
    }

    fn canonical<S: System>(&self, system: &S) -> Result<AbsolutePath, Fault> {
        match system.canonical_directory(&self.directory) {
            Err(Fault::Link) => system.resolve_link(&self.directory).and_then(|to| system.canonical_directory(&to)),
            other => other,
        }
    }

    fn open<S: System>(&self, system: &S) -> Result<S::Directory, Fault> {
        system.open_directory(&self.canonical(system)?)
    }

    /// Lets exactly these bytes be judged, then writes them under a temporary name and gives them their own. Returns the
    /// LoadPlan that the judgment gives.
    pub(super) fn store<S: System>(
        &self,
        system: &S,
        bytes: &[u8],
        judge: impl FnOnce(&S::Sealed) -> Result<Value, Outcome>,
    ) -> Result<Value, Outcome> {
        let plan = judge(&seal(system, bytes)?)?;
        let directory = self.open(system).map_err(unwritable)?;
        let temporary = temporary(system)?;
        let file = system.create_file(&directory, &temporary, 0o644).map_err(unwritable)?;
        let stored = write(system, &file, bytes).and_then(|()| self.take_name(system, &directory, &temporary));
        if stored.is_err() || !self.force {
            let _ = system.remove(&directory, &temporary);
        }
        stored?;
        let _ = system.sync_directory(&directory);
        Ok(plan)
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
            _ => nothing_written("the target cannot be written"),
        })
    }
}

fn unwritable(_: Fault) -> Outcome {
    nothing_written("the target directory cannot be written")
}

fn temporary<S: System>(system: &S) -> Result<String, Outcome> {
    let mut random = [0; 8];
    system.random(&mut random).map_err(unwritable)?;
    Ok(format!(".kdna-pack-{}.tmp", hex(&random)))
}

/// Writes and makes durable what is then read back: it must be what was written.
fn write<S: System>(system: &S, file: &S::File, bytes: &[u8]) -> Result<(), Outcome> {
    system.write(file, bytes).and_then(|()| system.sync_file(file)).map_err(unwritable)?;
    match system.digest(file, limits::CONTAINER_BYTES) {
        Ok(digest) if digest == Digest::of(bytes) => Ok(()),
        Ok(_) => Err(nothing_written("the file is not what was written")),
        Err(_) => Err(nothing_written("the file could not be read back")),
    }
}

/// Bytes for the worker, on no disk.
pub(super) fn seal<S: System>(system: &S, bytes: &[u8]) -> Result<S::Sealed, Outcome> {
    system.seal_bytes(bytes).map_err(|_| nothing_written("it could not be sealed in memory"))
}

/// Every gate, and for an asset that may be loaded now also the load itself, which compares declared digests. Gives the
/// LoadPlan.
pub(super) fn judge<S: System>(system: &S, sealed: &S::Sealed) -> Result<Value, Outcome> {
    let report = in_worker(system, Request::Validate { plan: PlanRequest::default(), planned: true }, sealed)?;
    if report.exit == UNRECOGNISED {
        return Err(Outcome::not_understood(NOT_CONTAINER));
    }
    let document = read_strict(&report.output, limits::RUNTIME_REPLY_DEPTH).map_err(|_| refused_by(&report))?;
    let plan = document.get("runtime_load_plan").cloned().ok_or_else(|| refused_by(&report))?;
    match report.exit {
        0 => {}
        3 => return Ok(plan),
        _ => return Err(invalid(&document, &plan)),
    }
    let report = in_worker(system, full_load(system, false), sealed)?;
    if report.exit == 0 { Ok(plan) } else { Err(refused_by(&report)) }
}

/// A load of everything.
pub(super) fn full_load<S: System>(system: &S, password: bool) -> Request {
    Request::Load(LoadRequest {
        profile: "full".to_owned(),
        password,
        entitlement_status: None,
        loaded_at: system.now(),
        snapshot: None,
        switches: Switches::NONE,
    })
}

pub(super) fn refused_by(report: &ChildReport) -> Outcome {
    nothing_written(&match failure_code(&report.errors) {
        Some(code) => format!("the result could not be loaded [{code}]"),
        None => "the result could not be read (kdna.json and every .json attachment must be JSON) or is larger than a \
                 load may be"
            .to_owned(),
    })
}

/// The members that every manifest has, in the order in which an author writes them (docs/contract/authoring.md).
const MEMBERS: [&str; 11] = [
    "format_version",
    "asset_id",
    "asset_uid",
    "asset_type",
    "title",
    "version",
    "judgment_version",
    "created_at",
    "updated_at",
    "compatibility",
    "payload",
];

/// Where a problem is listed: members that are missing first. What a condition asks for that holds only because of them
/// (a manifest without `payload` is told to have `encryption`) comes after them.
fn rank(problem: &str) -> usize {
    let missing = problem.strip_prefix("manifest: <root> must have required property '");
    let member = missing.and_then(|rest| rest.strip_suffix('\''));
    MEMBERS.iter().position(|known| Some(*known) == member).unwrap_or(MEMBERS.len())
}

/// The gates' problems, else the plan's issues: the words of the contract with the author's own names in them.
fn invalid(document: &Value, plan: &Value) -> Outcome {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).unwrap_or_default().to_vec();
    let problems = list(document.get("problems"));
    let issues = list(plan.get("issues"));
    let mut texts: Vec<&str> = if problems.is_empty() {
        issues.iter().filter_map(|issue| issue.get("message")?.as_str()).collect()
    } else {
        problems.iter().filter_map(Value::as_str).collect()
    };
    texts.sort_by_key(|text| rank(text));
    let mut shown: Vec<String> =
        texts.iter().take(PROBLEMS_SHOWN).map(|problem| display(problem, PROBLEM_SHOWN)).collect();
    if texts.len() > PROBLEMS_SHOWN {
        shown.push("…".to_owned());
    }
    not_made("the result would not be a valid asset", &shown)
}
