//! `kdna-broker host-config HOST`: the entry for a host's configuration, and where to put it. Writes no file: what a host
//! may start is the person's own decision.

use crate::capability::home::Homes;
use crate::capability::root::PinnedRoot;
use crate::capability::{state, workspace};
use crate::cli::consent;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::foundation::limits::PATH_UNITS;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::{display, is_host_id};
use crate::hosts::entry::{EntryFacts, advice, allowed, entry};
use crate::hosts::known::{Holds, Host, HostFile, Scope, by_id};
use crate::system::System;
use crate::system::os::{self, OsSystem};
use std::fmt::Write as _;

const OPTIONS: Options =
    Options { flags: &[], values: &["--server", "--workspace", "--host"], repeatable: &[], flags_once: true };

/// Runs it.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    with_errors(&BROKER, "host-config", words, |words| {
        let outcome = match OPTIONS.parse(words) {
            Ok(arguments) => printed(&OsSystem::new(), environment, &arguments),
            Err(text) => Err(Outcome::usage(&text)),
        };
        outcome.unwrap_or_else(|refused| refused)
    })
}

fn usage() -> Outcome {
    BROKER.misused("host-config")
}

fn printed<S: System>(system: &S, environment: &Environment, arguments: &Arguments) -> Result<Outcome, Outcome> {
    let host = arguments.only_positional().and_then(by_id).ok_or_else(usage)?;
    match arguments.value("--server").unwrap_or("workspace") {
        "workspace" => {}
        "review" => return Err(Outcome::usage("This version has no review server.")),
        _ => return Err(usage()),
    }
    let host_id = arguments.value("--host").unwrap_or(host.id);
    if !is_host_id(host_id) {
        return Err(Outcome::refused(&Reason::HostIdInvalid.into()));
    }
    let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
    let place = consent::place(system, environment)?;
    let (variable, consent) = place.variable();
    let facts = EntryFacts {
        program: program()?,
        root: root(system, environment, arguments.value("--workspace").unwrap_or("."), &state)?,
        host_id: host_id.to_owned(),
        consent: (variable, consent.clone()),
        state: environment.settings.state_directory.is_some().then_some(state),
    };
    let home = Homes::find(system, environment.settings.home.as_deref())?;
    Ok(Outcome::text(text(host, &facts, home.paths().first())))
}

/// This very program, wherever it was started from.
fn program() -> Result<AbsolutePath, Outcome> {
    let path = std::env::current_exe().ok().and_then(|path| AbsolutePath::parse(path.to_str()?).ok());
    path.ok_or_else(|| Outcome::failed("Error: The path of this program is not known, or is no text.".to_owned()))
}

/// The nearest workspace, else the directory itself; judged as a server judges its root.
fn root<S: System>(
    system: &S,
    environment: &Environment,
    start: &str,
    state: &AbsolutePath,
) -> Result<AbsolutePath, Refusal> {
    let home = environment.settings.home.as_deref();
    let root = match workspace::locate(system, start, None, home)? {
        Some(located) => located.root,
        None => PinnedRoot::canonical_cwd(system, start)?,
    };
    Ok(PinnedRoot::pin(system, Some(root.as_str()), &Homes::find(system, home)?, state)?.path().clone())
}

fn text(host: &Host, facts: &EntryFacts, home: Option<&AbsolutePath>) -> String {
    let mut text = format!("{}\n\n{}\n{}", host.title, places(host, facts, home, Holds::Servers), entry(host, facts));
    if let Some(allowed) = allowed(host) {
        let _ = write!(text, "\n{}\n{allowed}", places(host, facts, home, Holds::Permissions));
    }
    if let Some(advice) = advice(host) {
        let _ = write!(text, "\n{advice}\n");
    }
    text.push_str(
        "\nPut together what the file holds already and this. 'kdna-broker doctor' then says what it makes of it.",
    );
    text
}

/// Where it goes: one line for each file, whatever its directory is called.
fn places(host: &Host, facts: &EntryFacts, home: Option<&AbsolutePath>, holds: Holds) -> String {
    let line = |file: &HostFile| {
        let (whose, base) = match file.scope {
            Scope::Project => ("this project", Some(&facts.root)),
            Scope::User => ("read in every project; the entry still is for this one alone", home),
        };
        let path = base.and_then(|base| base.resolve(file.path))?;
        let note = if file.note.is_empty() { String::new() } else { format!("; {}", file.note) };
        Some(format!("  {} ({whose}{note})\n", display(path.as_str(), PATH_UNITS)))
    };
    let lines: String = host.files.iter().filter(|file| file.holds == holds).filter_map(line).collect();
    format!("Into one of these files:\n{lines}")
}
