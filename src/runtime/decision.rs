//! Whether an asset may be loaded now, as a fixed order of questions: the first that applies answers. A password is
//! never judged here, only asked for; a claimed status is a diagnostic and opens nothing.

use super::fault::code;
use super::manifest::{
    access, dig, entitlement_profile, is_loader_compatible, loader_version, min_loader_version, truthy,
};
use super::plan::{EntitlementStatus, PlanInput};
use super::signature;
use super::validation::Validation;
use crate::foundation::json::write;
use crate::foundation::switches::Switches;
use crate::foundation::value::{Tree, Value};

/// One reason against loading, or a note beside it.
pub(super) struct Issue {
    pub(super) code: &'static str,
    severity: &'static str,
    message: String,
}

impl From<Issue> for Value {
    fn from(issue: Issue) -> Self {
        Value::object([
            ("code", issue.code.into()),
            ("severity", issue.severity.into()),
            ("message", Value::from(issue.message)),
        ])
    }
}

/// The answer part of a plan.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub(super) state: &'static str,
    pub(super) action: &'static str,
    pub(super) loadable: bool,
    pub(super) policy: &'static str,
}

const fn no(state: &'static str, action: &'static str) -> Outcome {
    Outcome { state, action, loadable: false, policy: "none" }
}

pub(super) const INVALID: Outcome = no("invalid", "block");
pub(super) const NEEDS_PASSWORD: Outcome = no("needs_password", "enter_password");
const NEEDS_RUNTIME: Outcome = Outcome { policy: "remote", ..no("needs_runtime", "connect_runtime") };
const NEEDS_ACCOUNT: Outcome = no("needs_account", "sign_in_or_activate");
const NEEDS_ORG: Outcome = no("needs_org_auth", "sign_in_or_activate");
const NEEDS_LICENSE: Outcome = no("needs_license", "install_receipt");
const EXPIRED: Outcome = no("expired_grace", "renew_entitlement");
const DENIED: Outcome = no("denied", "contact_issuer");
const READY: Outcome = Outcome { state: "ready", action: "load", loadable: true, policy: "minimal" };
const OFFLINE_GRACE: Outcome = Outcome { state: "offline_grace", action: "sync", ..READY };

/// Severity and wording of the issues whose text never varies.
const WORDING: [(&str, &str, &str); 13] = [
    (
        code::DEPENDENCY_RESOLVER_MISSING,
        "blocking",
        "Asset has dependencies but no dependency resolver callback was provided.",
    ),
    (code::REMOTE_RUNTIME_REQUIRED, "blocking", "Remote assets require a runtime projection endpoint."),
    (
        code::PASSWORD_UNVERIFIED,
        "blocking",
        "A password was provided but has not been verified. \
         Only an authorized load may verify it by decrypting the protected payload.",
    ),
    (code::PASSWORD_REQUIRED, "blocking", "A password is required before this asset can be loaded."),
    (code::ACCOUNT_REQUIRED, "blocking", "Account authorization is required before this asset can be loaded."),
    (code::ORG_REQUIRED, "blocking", "Organization authorization is required before this asset can be loaded."),
    (code::EXPIRED, "blocking", "The entitlement is expired."),
    (code::REVOKED, "blocking", "The entitlement has been revoked."),
    (
        code::OFFLINE_GRACE_ACTIVE,
        "warning",
        "The entitlement can load during offline grace but must sync before grace expires.",
    ),
    (code::ENTITLEMENT_REQUIRED, "blocking", "A valid entitlement is required before this asset can be loaded."),
    (code::CRYPTO_PROFILE_UNSUPPORTED, "blocking", "Encrypted entries require licensed access."),
    (code::ACTIVE_DIAGNOSTIC, "info", "Entitlement active diagnostic signal acknowledged."),
    (
        code::PASSWORD_DIAGNOSTIC,
        "info",
        "hasPassword is a diagnostic credential-presence signal only; it does not verify the password.",
    ),
];

/// The decision for an asset, with every issue that led to it.
pub(super) struct Decision {
    pub(super) outcome: Outcome,
    pub(super) issues: Vec<Issue>,
}

impl Decision {
    /// Ends with an outcome, and an issue in its fixed wording.
    fn end(mut self, outcome: Outcome, code: &'static str) -> Self {
        self.outcome = outcome;
        let wording = WORDING.iter().find(|(known, _, _)| *known == code);
        let (severity, message) = wording.map_or(("blocking", ""), |(_, severity, message)| (severity, message));
        self.issues.push(Issue { code, severity, message: message.to_owned() });
        self
    }

    fn ready(self) -> Self {
        Decision { outcome: READY, ..self }
    }

    /// Whether an issue with this code is among the reasons.
    pub(super) fn has_issue(&self, code: &str) -> bool {
        self.issues.iter().any(|issue| issue.code == code)
    }
}

/// Decides; the first question that applies answers.
pub(super) fn decide(manifest: &Tree<'_>, validation: &Validation<'_>, input: &PlanInput<'_>) -> Decision {
    let mut decision = Decision { outcome: INVALID, issues: problem_issues(validation) };
    if !validation.is_valid() {
        return decision;
    }
    if is_loader_compatible(manifest, validation.switches) == Some(false) {
        return Decision { issues: vec![loader_issue(manifest, validation.switches)], ..decision };
    }
    if manifest.get("dependencies").and_then(Tree::as_object).is_some_and(|object| !object.is_empty()) {
        return decision.end(INVALID, code::DEPENDENCY_RESOLVER_MISSING);
    }
    decision.issues.extend(truthy(manifest, "extends").map(base_issue));
    match access(manifest).as_str() {
        Some("remote") => decision.end(NEEDS_RUNTIME, code::REMOTE_RUNTIME_REQUIRED),
        Some("licensed") => decide_licensed(decision, entitlement_profile(manifest), input),
        _ => decide_public(decision, manifest, input),
    }
}

/// One issue for each problem of an invalid asset. A valid one may have problems too (of a checksums document that
/// declares nothing wrong): they are no issues.
fn problem_issues(validation: &Validation<'_>) -> Vec<Issue> {
    let issue =
        |problem: &String| Issue { code: problem_code(problem), severity: "blocking", message: problem.clone() };
    if validation.is_valid() { Vec::new() } else { validation.problems.iter().map(issue).collect() }
}

fn problem_code(problem: &str) -> &'static str {
    if let Some(code) = signature::unsupported_code(problem) {
        return code;
    }
    let problem = problem.to_ascii_lowercase();
    if problem.contains("checksum:") || problem.contains("checksums:") {
        code::DIGEST_FAILED
    } else if problem.contains("signature") {
        code::SIGNATURE_FAILED
    } else {
        code::FORMAT_INVALID
    }
}

fn loader_issue(manifest: &Tree<'_>, switches: Switches) -> Issue {
    let code = code::LOADER_VERSION_UNSUPPORTED;
    let asked = min_loader_version(manifest).unwrap_or_default();
    let current = loader_version(switches);
    let message = format!("{code}: asset requires loader {asked}, current loader is {current}");
    Issue { code, severity: "blocking", message }
}

fn base_issue(base: &Tree<'_>) -> Issue {
    let base = write::compact(base).unwrap_or_default();
    Issue {
        code: code::EXTENDS_RESOLVER_MISSING,
        severity: "warning",
        message: format!(
            "Asset declares 'extends: {base}' but no resolver was provided. Inheritance chain will not be applied."
        ),
    }
}

fn decide_licensed(decision: Decision, profile: Option<&str>, input: &PlanInput<'_>) -> Decision {
    match (profile, input.entitlement_status) {
        (Some("password"), _) if input.has_password => decision.end(NEEDS_PASSWORD, code::PASSWORD_UNVERIFIED),
        (Some("password"), _) => decision.end(NEEDS_PASSWORD, code::PASSWORD_REQUIRED),
        (Some("account"), _) => decision.end(NEEDS_ACCOUNT, code::ACCOUNT_REQUIRED),
        (Some("org"), _) => decision.end(NEEDS_ORG, code::ORG_REQUIRED),
        (_, Some(EntitlementStatus::Active)) => decision.ready(),
        (_, Some(status)) => decide_lapsed(decision, status),
        (_, None) => decision.end(NEEDS_LICENSE, code::ENTITLEMENT_REQUIRED),
    }
}

fn decide_lapsed(decision: Decision, status: EntitlementStatus) -> Decision {
    match status {
        EntitlementStatus::Expired => decision.end(EXPIRED, code::EXPIRED),
        EntitlementStatus::Revoked => decision.end(DENIED, code::REVOKED),
        EntitlementStatus::OfflineGrace => decision.end(OFFLINE_GRACE, code::OFFLINE_GRACE_ACTIVE),
        EntitlementStatus::Active => decision.end(READY, code::ACTIVE_DIAGNOSTIC),
    }
}

fn decide_public(decision: Decision, manifest: &Tree<'_>, input: &PlanInput<'_>) -> Decision {
    let entries = dig(manifest, &["encryption", "encrypted_entries"]).and_then(Tree::as_array).unwrap_or_default();
    if dig(manifest, &["payload", "encrypted"]) == Some(&Value::Bool(true)) || !entries.is_empty() {
        return decision.end(INVALID, code::CRYPTO_PROFILE_UNSUPPORTED);
    }
    match input.entitlement_status {
        Some(status) => decide_lapsed(decision, status),
        None if input.has_password => decision.end(READY, code::PASSWORD_DIAGNOSTIC),
        None => decision.ready(),
    }
}
