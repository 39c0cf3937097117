//! The LoadPlan: whether an asset may be loaded now, and what is missing if not. The decision is a fixed order of
//! questions; the first that applies answers. A plan proves nothing about a password: only a load does.

use super::asset::Asset;
use super::digests::source_fingerprint;
use super::fault::{RuntimeFault, code};
use super::manifest::{
    LOADER_VERSION, access, claims_trust, dig, entitlement_profile, is_loader_compatible, min_loader_version, or_null,
    truthy,
};
use super::validation::Validation;
use crate::foundation::json::write;
use crate::foundation::value::Value;

/// What a person claims about an entitlement. A diagnostic: anyone can say `active`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum EntitlementStatus {
    Active,
    Expired,
    Revoked,
    OfflineGrace,
}

impl EntitlementStatus {
    const ALL: [EntitlementStatus; 4] = [Self::Active, Self::Expired, Self::Revoked, Self::OfflineGrace];

    /// The word in commands and plans.
    pub const fn as_str(self) -> &'static str {
        match self {
            EntitlementStatus::Active => "active",
            EntitlementStatus::Expired => "expired",
            EntitlementStatus::Revoked => "revoked",
            EntitlementStatus::OfflineGrace => "offline_grace",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// What a plan is asked with.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanInput<'a> {
    /// Whether there is a password; the plan never sees it.
    pub has_password: bool,
    /// A claimed entitlement status.
    pub entitlement_status: Option<EntitlementStatus>,
    /// The absolute path that the plan names as its source; `None` for an asset that is only in memory.
    pub source_path: Option<&'a str>,
}

/// One reason against (or a note beside) loading.
#[derive(Debug, PartialEq)]
pub(super) struct Issue {
    pub(super) code: &'static str,
    severity: &'static str,
    message: String,
}

/// The answer part of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) state: &'static str,
    action: &'static str,
    pub(super) loadable: bool,
    policy: &'static str,
}

const fn no(state: &'static str, action: &'static str) -> Outcome {
    Outcome { state, action, loadable: false, policy: "none" }
}

const INVALID: Outcome = no("invalid", "block");
const NEEDS_PASSWORD: Outcome = no("needs_password", "enter_password");
const NEEDS_RUNTIME: Outcome = Outcome { policy: "remote", ..no("needs_runtime", "connect_runtime") };
const NEEDS_LICENSE: Outcome = no("needs_license", "install_receipt");
const READY: Outcome = Outcome { state: "ready", action: "load", loadable: true, policy: "minimal" };
const OFFLINE_GRACE: Outcome = Outcome { state: "offline_grace", action: "sync", ..READY };

/// The decision for an asset.
pub(super) struct Decision {
    pub(super) outcome: Outcome,
    pub(super) issues: Vec<Issue>,
}

impl Decision {
    fn end(mut self, outcome: Outcome, code: &'static str, message: &str) -> Self {
        self.outcome = outcome;
        self.add(code, message);
        self
    }

    fn add(&mut self, code: &'static str, message: impl Into<String>) {
        let severity = match code {
            code::EXTENDS_RESOLVER_MISSING | code::OFFLINE_GRACE_ACTIVE => "warning",
            code::ACTIVE_DIAGNOSTIC | code::PASSWORD_DIAGNOSTIC => "info",
            _ => "blocking",
        };
        self.issues.push(Issue { code, severity, message: message.into() });
    }

    /// Whether an issue with this code is among the reasons.
    pub(super) fn has_issue(&self, code: &str) -> bool {
        self.issues.iter().any(|issue| issue.code == code)
    }
}

/// Decides; the first question that applies answers.
pub(super) fn decide(manifest: &Value, validation: &Validation, input: &PlanInput<'_>) -> Decision {
    let mut decision = Decision { outcome: INVALID, issues: Vec::new() };
    if !validation.is_valid() {
        for problem in &validation.problems {
            decision.add(problem_code(problem), problem.as_str());
        }
        return decision;
    }
    if is_loader_compatible(manifest) == Some(false) {
        let message = format!(
            "{}: asset requires loader {}, current loader is {LOADER_VERSION}",
            code::LOADER_VERSION_UNSUPPORTED,
            min_loader_version(manifest).unwrap_or_default()
        );
        return decision.end(INVALID, code::LOADER_VERSION_UNSUPPORTED, &message);
    }
    if manifest.get("dependencies").and_then(Value::as_object).is_some_and(|object| !object.is_empty()) {
        let message = "Asset has dependencies but no dependency resolver callback was provided.";
        return decision.end(INVALID, code::DEPENDENCY_RESOLVER_MISSING, message);
    }
    if let Some(base) = truthy(manifest, "extends") {
        let base = write::compact(base).unwrap_or_default();
        decision.add(
            code::EXTENDS_RESOLVER_MISSING,
            format!(
                "Asset declares 'extends: {base}' but no resolver was provided. Inheritance chain will not be applied."
            ),
        );
    }
    match access(manifest).as_str() {
        Some("remote") => {
            let message = "Remote assets require a runtime projection endpoint.";
            decision.end(NEEDS_RUNTIME, code::REMOTE_RUNTIME_REQUIRED, message)
        }
        Some("licensed") => decide_licensed(decision, entitlement_profile(manifest), input),
        _ => decide_public(decision, manifest, input),
    }
}

fn problem_code(problem: &str) -> &'static str {
    let problem = problem.to_ascii_lowercase();
    if problem.contains("checksum:") || problem.contains("checksums:") {
        code::DIGEST_FAILED
    } else if problem.contains("signature") {
        code::SIGNATURE_FAILED
    } else {
        code::FORMAT_INVALID
    }
}

fn decide_licensed(decision: Decision, profile: Option<&str>, input: &PlanInput<'_>) -> Decision {
    match (profile, input.entitlement_status) {
        (Some("password"), _) if input.has_password => decision.end(
            NEEDS_PASSWORD,
            code::PASSWORD_UNVERIFIED,
            "A password was provided but has not been verified. Only an authorized load may verify it by decrypting \
             the protected payload.",
        ),
        (Some("password"), _) => decision.end(
            NEEDS_PASSWORD,
            code::PASSWORD_REQUIRED,
            "A password is required before this asset can be loaded.",
        ),
        (Some("account"), _) => decision.end(
            no("needs_account", "sign_in_or_activate"),
            code::ACCOUNT_REQUIRED,
            "Account authorization is required before this asset can be loaded.",
        ),
        (Some("org"), _) => decision.end(
            no("needs_org_auth", "sign_in_or_activate"),
            code::ORG_REQUIRED,
            "Organization authorization is required before this asset can be loaded.",
        ),
        (_, Some(EntitlementStatus::Active)) => Decision { outcome: READY, ..decision },
        (_, Some(status)) => decide_lapsed(decision, status),
        (_, None) => decision.end(
            NEEDS_LICENSE,
            code::ENTITLEMENT_REQUIRED,
            "A valid entitlement is required before this asset can be loaded.",
        ),
    }
}

fn decide_lapsed(decision: Decision, status: EntitlementStatus) -> Decision {
    match status {
        EntitlementStatus::Expired => {
            decision.end(no("expired_grace", "renew_entitlement"), code::EXPIRED, "The entitlement is expired.")
        }
        EntitlementStatus::Revoked => {
            decision.end(no("denied", "contact_issuer"), code::REVOKED, "The entitlement has been revoked.")
        }
        _ => decision.end(
            OFFLINE_GRACE,
            code::OFFLINE_GRACE_ACTIVE,
            "The entitlement can load during offline grace but must sync before grace expires.",
        ),
    }
}

fn decide_public(decision: Decision, manifest: &Value, input: &PlanInput<'_>) -> Decision {
    let entries = dig(manifest, &["encryption", "encrypted_entries"]).and_then(Value::as_array).unwrap_or_default();
    if dig(manifest, &["payload", "encrypted"]) == Some(&Value::Bool(true)) || !entries.is_empty() {
        let message = "Encrypted entries require licensed access.";
        return decision.end(INVALID, code::CRYPTO_PROFILE_UNSUPPORTED, message);
    }
    match input.entitlement_status {
        Some(EntitlementStatus::Active) => {
            decision.end(READY, code::ACTIVE_DIAGNOSTIC, "Entitlement active diagnostic signal acknowledged.")
        }
        Some(status) => decide_lapsed(decision, status),
        None if input.has_password => decision.end(
            READY,
            code::PASSWORD_DIAGNOSTIC,
            "hasPassword is a diagnostic credential-presence signal only; it does not verify the password.",
        ),
        None => Decision { outcome: READY, ..decision },
    }
}

/// The LoadPlan document. Refuses, without a code, to repeat an asset's own claim of trust.
pub(super) fn document(
    asset: &Asset<'_>,
    validation: &Validation,
    input: &PlanInput<'_>,
) -> Result<(Value, Outcome), RuntimeFault> {
    let manifest = &asset.manifest;
    let Decision { outcome, issues } = decide(manifest, validation, input);
    let source_kind = if input.source_path.is_some() { "file" } else { "memory" };
    let document = Value::object([
        ("format_version", or_null(manifest, "format_version")),
        ("asset", identity(manifest)),
        ("access", shown_access(manifest, outcome)),
        ("access_alias", Value::Null),
        ("entitlement_profile", entitlement_profile(manifest).into()),
        ("state", outcome.state.into()),
        ("required_action", outcome.action.into()),
        ("can_load_now", outcome.loadable.into()),
        ("projection_policy", outcome.policy.into()),
        ("input_fingerprint", input_fingerprint(asset, input)),
        ("checks", validation.checks()),
        ("issues", issues.into_iter().map(Value::from).collect::<Vec<_>>().into()),
        ("source", Value::object([("kind", source_kind.into()), ("path", input.source_path.into())])),
    ]);
    if claims_trust(&document) { Err(RuntimeFault::UNNAMED) } else { Ok((document, outcome)) }
}

fn identity(manifest: &Value) -> Value {
    Value::object(
        ["asset_id", "asset_uid", "title", "version", "judgment_version"].map(|key| (key, or_null(manifest, key))),
    )
}

/// An invalid plan repeats no access that the contract does not know.
fn shown_access(manifest: &Value, outcome: Outcome) -> Value {
    let access = access(manifest);
    let known = matches!(access.as_str(), Some("public" | "licensed" | "remote"));
    if outcome.state == INVALID.state && !known { Value::Null } else { access }
}

fn input_fingerprint(asset: &Asset<'_>, input: &PlanInput<'_>) -> Value {
    Value::object([
        ("has_password_input", input.has_password.into()),
        ("entitlement_input", input.entitlement_status.map(EntitlementStatus::as_str).into()),
        ("source_fingerprint", source_fingerprint(asset).into()),
    ])
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
