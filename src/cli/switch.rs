//! `kdna switch`: another asset in the place of the attached one, after a preview of both. The version that is left must
//! still be whole, so that it can be rolled back to; a person may leave a damaged one by saying so.

use crate::broker::approval::plan_of_source;
use crate::broker::stored;
use crate::capability::workspace;
use crate::cli::approve::{self, Approval};
use crate::cli::approve_question::{SWITCHING, switch_question};
use crate::cli::attach::located;
use crate::cli::change::{self, find};
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::OWNER;
use crate::cli::outcome::Outcome;
use crate::cli::{people, remembered};
use crate::foundation::digest::Digest;
use crate::foundation::load_plan::LoadPlan;
use crate::foundation::record::{ApprovalSource, Attachment};
use crate::foundation::refusal::Refusal;
use crate::runtime::attachments::{self, AttachmentPolicy, Former, Switch, SwitchRequest};
use crate::system::System;

const OPTIONS: Options = Options {
    flags: &[
        "--retain-scope",
        "--attachment-stdin",
        "--all-workspace",
        "--closed-world-scope",
        "--preview",
        "--yes",
        "--scope-user-approved",
        "--from-damaged",
    ],
    values: &["--cwd", "--workspace-root", "--role", "--applies-to", "--does-not-apply-to", "--consent-digest"],
    repeatable: &["--applies-to", "--does-not-apply-to"],
    flags_once: false,
};
const ONE_POLICY: &str = "Switch requires exactly one reviewed policy source: --retain-scope, --attachment-stdin, or \
    role/scope argv options.";

/// Runs it.
pub(crate) fn run<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::usage(&text))?;
    let [id, file] = arguments.positionals() else { return Err(OWNER.misused("switch")) };
    let stdin = one_policy(&arguments)?;
    let approval = Approval::of(&arguments, "Switch")?;
    let source = approve::read_source(system, file)?;
    let plan = plan_of_source(system, &source.1)?;
    let found = located(system, environment, &arguments)?;
    // The directory that is changed is looked at by the rules of a change, and named as it was found.
    let mut located = workspace::mutation_root(system, found.root.as_str(), environment.settings.home.as_deref())?;
    located.display = found.display;
    let attachment = find(system, &located, id)?;
    let former = former(stored::verify(system, &located, &attachment.asset), arguments.has("--from-damaged"))?;
    let policy = policy(&arguments, stdin.as_deref(), &attachment, approval.source())?;
    let switch = Switch::new(SwitchRequest {
        root: &located.root,
        attachment: &attachment,
        former: former.as_ref().map_or(Former::Damaged, Former::Verified),
        digest: Digest::of(&source.0),
        plan: &plan,
        policy,
    })?;
    let boundary = approve::boundary(system, &located.root);
    match approval {
        Approval::Preview => {
            let shown = people::switch_preview(&boundary, &attachment, &switch, plan.title());
            let document = switch.preview(&located.display, &boundary, system.now())?;
            let next = people::confirm_command("switch", words, switch.consent_digest()?, stdin.is_some());
            return Ok(Outcome::document(&document).shown_as(shown + &next));
        }
        Approval::Digest(digest) => switch.confirm(digest)?,
        Approval::UserExplicit => {}
        Approval::Interactive => {
            let parts = switch_question(&boundary, &attachment, &switch, plan.title());
            approve::confirm(system, SWITCHING, &parts)?;
        }
    }
    let now = approve::read_source(system, file)?.0;
    let entry = attachments::switch(system, &located, &switch, &now)?;
    let errors = remembered::approved(system, environment, &located.root, Some(attachment.entry()), &entry);
    let done = people::changed("Switched", &entry, arguments.value("--cwd"));
    Ok(Outcome { errors, ..change::document("switch", &located, &entry).shown_as(done) })
}

/// Standard input, if the policy comes from there; exactly one source must be given.
fn one_policy(arguments: &Arguments) -> Result<Option<Vec<u8>>, Outcome> {
    let sources =
        [arguments.has("--retain-scope"), arguments.has("--attachment-stdin"), approve::has_policy_options(arguments)];
    if sources.iter().filter(|given| **given).count() != 1 {
        return Err(Outcome::usage(ONE_POLICY));
    }
    approve::read_policy(arguments)
}

fn policy(
    arguments: &Arguments,
    stdin: Option<&[u8]>,
    attachment: &Attachment,
    source: ApprovalSource,
) -> Result<AttachmentPolicy, Refusal> {
    if arguments.has("--retain-scope") {
        return AttachmentPolicy::retained(&attachment.role, &attachment.scope, source);
    }
    approve::policy(arguments, stdin, source)
}

/// The plan of the version that is left; nothing where it is damaged and the person leaves it all the same. A runtime
/// that could not be run says nothing about the copy.
fn former(verified: Result<LoadPlan, Refusal>, leave_damaged: bool) -> Result<Option<LoadPlan>, Refusal> {
    verified
        .map(Some)
        .or_else(|refusal| if leave_damaged && stored::is_damaged(refusal.reason()) { Ok(None) } else { Err(refusal) })
}
