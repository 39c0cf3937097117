//! `kdna cleanup`: what could be deleted, with the digest of that plan; and the deletion of exactly that plan.

use crate::cli::attach::located;
use crate::cli::environment::Environment;
use crate::cli::grammar::Options;
use crate::cli::help::OWNER;
use crate::cli::outcome::Outcome;
use crate::cli::people;
use crate::foundation::digest::Digest;
use crate::runtime::attachments;
use crate::system::System;

const OPTIONS: Options = Options {
    flags: &["--yes"],
    values: &["--cwd", "--workspace-root", "--plan-digest"],
    repeatable: &[],
    flags_once: false,
};

/// Runs it.
pub(crate) fn run<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    if !arguments.positionals().is_empty() {
        return Err(OWNER.misused("cleanup"));
    }
    let confirmed = match (arguments.value("--plan-digest").map(Digest::parse), arguments.has("--yes")) {
        (None, false) => None,
        (Some(Some(digest)), true) => Some(digest),
        (Some(None), true) => return Err(Outcome::usage("--plan-digest must be a lowercase SHA-256 digest.")),
        _ => return Err(Outcome::usage("Cleanup execution requires both --plan-digest and --yes.")),
    };
    let located = located(system, environment, &arguments)?;
    let Some(digest) = confirmed else {
        let plan = attachments::preview_cleanup(system, &located)?;
        let shown = people::cleanup_preview(&plan, plan.digest()?, arguments.value("--cwd"));
        return Ok(Outcome::document(&plan.document(&located.display, None)?).shown_as(shown));
    };
    let plan = attachments::cleanup(system, &located, digest)?;
    let document = plan.document(&located.display, Some(plan.eligible()))?;
    Ok(Outcome::document(&document).shown_as(people::cleaned(&plan)))
}
