//! `kdna-broker runtime pin`: records an external runtime as it is now, so that a server starts exactly it or nothing.
//! Looks and reads; writes one document. Never runs what it pins.

use crate::capability::private_file::{PrivateFault, make_private};
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::delegate::pin::{PinRequest, PinnedRuntime, RuntimePins, record};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::System;
use crate::system::os::{self, OsSystem};

const PIN: Options = Options {
    flags: &[],
    values: &["--interpreter", "--package", "--entry", "--out", "--cli-version", "--core-version"],
    repeatable: &[],
    flags_once: true,
};

/// Runs it.
pub(crate) fn run(words: &[String]) -> Outcome {
    let Some((command, words)) = words.split_first() else { return BROKER.misused("runtime pin") };
    if command != "pin" {
        return BROKER.misused("runtime pin");
    }
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    match PIN.parse(words) {
        Ok(arguments) => pin(&OsSystem::new(), &arguments).unwrap_or_else(|refused| refused),
        Err(text) => Outcome::usage(&text),
    }
}

fn pin<S: System>(system: &S, arguments: &Arguments) -> Result<Outcome, Outcome> {
    let value = |name: &str| arguments.value(name).ok_or_else(|| BROKER.misused("runtime pin"));
    if !arguments.positionals().is_empty() {
        return Err(BROKER.misused("runtime pin"));
    }
    let here = system.working_directory().map_err(|_| Refusal::new(Reason::CwdUnavailable))?;
    let path = |name: &str| here.resolve(value(name)?).ok_or_else(|| BROKER.misused("runtime pin"));
    let (interpreter, package, out) = (path("--interpreter")?, path("--package")?, path("--out")?);
    let pins = record(
        system,
        &PinRequest {
            interpreter: &interpreter,
            package: &package,
            entry: value("--entry")?,
            cli_version: arguments.value("--cli-version"),
            core_version: arguments.value("--core-version"),
        },
    )?;
    store(system, &out, &pins)?;
    // What a server would say about it, before anybody relies on it.
    PinnedRuntime::open(system, out.as_str())?;
    Ok(Outcome::text(summary(&out, &pins)))
}

fn store<S: System>(system: &S, out: &AbsolutePath, pins: &RuntimePins) -> Result<(), Refusal> {
    let text = pins.write().ok_or(Reason::PinsNotWritten)?;
    let (parent, name) = out.split_last().ok_or(Reason::PinsNotWritten)?;
    if parent.below(&pins.package).is_some() {
        return Err(Reason::PinsNotWritten.into());
    }
    let directory = make_private(system, &parent).map_err(|_| Reason::PinsNotWritten)?;
    // What stands there is replaced only if it is an earlier pin: a mistyped name costs nobody a file.
    match directory.read(system, name, limits::PINS_BYTES) {
        Err(PrivateFault::Missing) => {}
        Ok(bytes) if RuntimePins::read(&bytes).is_ok() => {}
        _ => return Err(Reason::PinsNotWritten.into()),
    }
    directory.replace(system, name, text.as_bytes()).map_err(|_| Reason::PinsNotWritten.into())
}

fn summary(out: &AbsolutePath, pins: &RuntimePins) -> String {
    format!(
        "Pinned {} and {}: 1 interpreter, {} libraries of root, {} files.\nGive the server this value:\n  \
         KDNA_BROKER_RUNTIME_PINS={}",
        pins.cli,
        pins.core,
        pins.libraries.len(),
        pins.entries.len(),
        out.as_str()
    )
}
