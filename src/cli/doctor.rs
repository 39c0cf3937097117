//! `kdna doctor`: what in this workspace would be refused, or is not as it should be, and what to do about it. Looks at
//! everything and stops at nothing: one problem does not hide the next. Changes nothing, takes no lock, follows no link,
//! and reads no more than its limits; the bytes of assets are judged by the sandboxed worker.

mod record;
mod storage;

use crate::capability::home::Homes;
use crate::capability::workspace::{self, KDNA, Located};
use crate::cli::attach::locate;
use crate::cli::environment::Environment;
use crate::cli::grammar::Options;
use crate::cli::help::OWNER;
use crate::cli::outcome::Outcome;
use crate::foundation::path::RelativePath;
use crate::foundation::refusal::Refusal;
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::system::{Fault, System};
use std::fmt::Write as _;

const OPTIONS: Options =
    Options { flags: &[], values: &["--cwd", "--workspace-root"], repeatable: &[], flags_once: false };
/// Exit status when something would be refused.
const REFUSED: u8 = 1;
/// Longest name of a file that is shown.
const SHOWN: usize = 96;
/// Findings that are listed; a workspace with more is hopeless anyhow.
const LISTED: usize = 256;

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    refused: bool,
    place: String,
    problem: String,
    remedy: String,
}

/// What was found, in order.
#[derive(Default)]
struct Findings {
    found: Vec<Finding>,
    more: bool,
}

impl Findings {
    /// Something that a command, a load or a host would be refused for.
    fn refused(&mut self, place: &str, problem: impl Into<String>, remedy: impl Into<String>) {
        self.add(true, place, problem.into(), remedy.into());
    }

    /// Something to know.
    fn noted(&mut self, place: &str, problem: impl Into<String>, remedy: impl Into<String>) {
        self.add(false, place, problem.into(), remedy.into());
    }

    /// A refusal of the catalogue.
    fn refusal(&mut self, place: &str, refusal: &Refusal) {
        self.refused(place, refusal.message(), refusal.remedy());
    }

    fn add(&mut self, refused: bool, place: &str, problem: String, remedy: String) {
        if self.found.len() == LISTED {
            self.more = true;
            return;
        }
        self.found.push(Finding { refused, place: display(place, SHOWN), problem, remedy });
    }
}

/// Runs it: exit 0, or 1 if something would be refused.
pub(crate) fn run<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(OWNER.misused("doctor"));
    }
    let cwd = arguments.value("--cwd").unwrap_or(".");
    workspace::check_directory(system, cwd)?;
    let mut findings = Findings::default();
    let located = match locate(system, environment, &arguments) {
        Ok(Some(located)) => Some(located),
        Ok(None) => beside(system, cwd),
        Err(refusal) => {
            findings.refusal(KDNA, &refusal);
            beside(system, cwd)
        }
    };
    if let Some(located) = &located {
        home(system, environment, located, &mut findings);
        if let Some(kdna) = storage::examine(system, &located.directory, &mut findings) {
            record::examine(system, located, &kdna, &mut findings);
        }
    }
    Ok(report(located.as_ref().map(|located| located.root.as_str()), &findings))
}

/// The nearest directory upwards that has anything called `.kdna`, whatever it is.
fn beside<S: System>(system: &S, cwd: &str) -> Option<Located<S>> {
    let start = workspace::check_directory(system, cwd).ok()?;
    let kdna = RelativePath::parse(KDNA)?;
    let root = start.ancestors().find(|path| system.look(&path.join(&kdna)) != Err(Fault::NotFound))?;
    let directory = system.open_directory(&root).ok()?;
    let identity = system.directory_facts(&directory).ok()?.identity;
    Some(Located { directory, root, display: String::new(), identity })
}

fn home<S: System>(system: &S, environment: &Environment, located: &Located<S>, findings: &mut Findings) {
    match Homes::find(system, environment.settings.home.as_deref()) {
        Ok(homes) if homes.is_home(located.identity) => {
            findings.noted(KDNA, "This is the home directory, which is no workspace.", "Use a project directory.");
        }
        Ok(_) => {}
        Err(refusal) => findings.refusal("HOME", &refusal),
    }
}

fn report(root: Option<&str>, findings: &Findings) -> Outcome {
    let refused = findings.found.iter().any(|finding| finding.refused);
    let listed = findings.found.iter().map(|finding| {
        Value::object([
            ("refused", Value::from(finding.refused)),
            ("place", Value::copied(finding.place.as_str())),
            ("problem", Value::copied(finding.problem.as_str())),
            ("remedy", Value::copied(finding.remedy.as_str())),
        ])
    });
    let document = Value::object([
        ("operation", Value::from("doctor")),
        ("workspace", root.map_or(Value::Null, |root| Value::from(display(root, 4096)))),
        ("refused", Value::from(refused)),
        ("findings", Value::Array(listed.collect())),
        ("more_findings", Value::from(findings.more)),
    ]);
    let outcome = Outcome::document(&document).shown_as(text(root, findings));
    if refused { outcome.exiting(REFUSED) } else { outcome }
}

fn text(root: Option<&str>, findings: &Findings) -> String {
    let mut text = match root {
        None => "No assets are attached here.\n".to_owned(),
        Some(root) => format!("Workspace {}\n", display(root, SHOWN)),
    };
    // A workspace that is in order says nothing of consent, policy or password.
    if root.is_some() {
        text += "Whether a host may load from it: 'kdna-broker doctor', with the host's environment.\n";
    }
    if findings.found.is_empty() {
        text += "Nothing to complain about.\n";
    }
    for finding in &findings.found {
        let mark = if finding.refused { "refused" } else { "note" };
        let _ = writeln!(text, "  {mark:8}{}", finding.place);
        let _ = writeln!(text, "          {}\n          {}", finding.problem, finding.remedy);
    }
    if findings.more {
        text += "  There is more; repair these first.\n";
    }
    text
}
