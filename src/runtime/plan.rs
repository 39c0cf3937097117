//! The plan document: who the asset says it is, the decision, what it was decided on, and every issue. A plan can be
//! printed for an invalid asset too; it proves nothing about a password.

use super::asset::Asset;
use super::decision::{Decision, INVALID, NEEDS_PASSWORD, Outcome, decide};
use super::digests::source_fingerprint;
use super::fault::{RuntimeFault, code};
use super::manifest::{access, claims_trust, entitlement_profile, or_null, truthy};
use super::validation::Validation;
use crate::foundation::value::{Tree, Value};

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

/// The `LoadPlan` document. Refuses, without a code, to repeat an asset's own claim of trust.
pub(super) fn document(
    asset: &Asset<'_>,
    validation: &Validation<'_>,
    input: &PlanInput<'_>,
) -> Result<(Value, Outcome), RuntimeFault> {
    let manifest = &asset.manifest;
    let Decision { outcome, issues } = decide(manifest, validation, input);
    let source_kind = if input.source_path.is_some() { "file" } else { "memory" };
    let mut document = Value::borrowing([
        ("format_version", or_null(manifest, "format_version").into_owned()),
        ("asset", identity(manifest)),
        ("access", shown_access(manifest, outcome)),
        ("access_alias", Value::Null),
        ("entitlement_profile", entitlement_profile(manifest).map(str::to_owned).into()),
        ("state", Tree::text(outcome.state)),
        ("required_action", Tree::text(outcome.action)),
        ("can_load_now", outcome.loadable.into()),
        ("projection_policy", Tree::text(outcome.policy)),
        ("input_fingerprint", input_fingerprint(asset, input)),
        ("checks", validation.checks()),
        ("signature_state", Tree::text(validation.signature.state())),
        ("issues", issues.into_iter().map(Value::from).collect::<Vec<_>>().into()),
        (
            "source",
            Value::borrowing([
                ("kind", Tree::text(source_kind)),
                ("path", input.source_path.map(str::to_owned).into()),
            ]),
        ),
    ]);
    if let (false, Value::Object(document)) = (validation.switches.signatures, &mut document) {
        document.remove("signature_state");
    }
    if claims_trust(&document) { Err(RuntimeFault::UNNAMED) } else { Ok((document, outcome)) }
}

/// What a resolution needs to know of a usable asset: that part of its `LoadPlan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The identifier that the asset gives itself.
    pub asset_id: String,
    /// The version that the asset gives itself.
    pub version: String,
    /// Whether a load would succeed without any password.
    pub can_load_now: bool,
    /// Whether the password, and nothing else, is missing.
    pub needs_password: bool,
}

/// The standing, without the document that would say the same and more. Refuses, without a code, an asset whose plan
/// would be invalid.
pub(super) fn standing(manifest: &Tree<'_>, validation: &Validation<'_>) -> Result<Standing, RuntimeFault> {
    let decision = decide(manifest, validation, &PlanInput::default());
    let outcome = decision.outcome;
    let usable = validation.is_valid() && outcome.state != INVALID.state && is_known_access(manifest);
    let named = |key| truthy(manifest, key).and_then(Tree::as_str).map(str::to_owned);
    match (named("asset_id"), named("version")) {
        (Some(asset_id), Some(version)) if usable => Ok(Standing {
            asset_id,
            version,
            can_load_now: outcome.loadable,
            needs_password: outcome.state == NEEDS_PASSWORD.state && decision.has_issue(code::PASSWORD_REQUIRED),
        }),
        _ => Err(RuntimeFault::UNNAMED),
    }
}

fn is_known_access(manifest: &Tree<'_>) -> bool {
    matches!(access(manifest).as_str(), Some("public" | "licensed" | "remote"))
}

fn identity(manifest: &Tree<'_>) -> Value {
    let shown = |key| (key, or_null(manifest, key).into_owned());
    Value::borrowing(["asset_id", "asset_uid", "title", "version", "judgment_version"].map(shown))
}

/// An invalid plan repeats no access that the contract does not know.
fn shown_access(manifest: &Tree<'_>, outcome: Outcome) -> Value {
    if outcome.state == INVALID.state && !is_known_access(manifest) { Value::Null } else { access(manifest).to_value() }
}

fn input_fingerprint(asset: &Asset<'_>, input: &PlanInput<'_>) -> Value {
    Value::borrowing([
        ("has_password_input", input.has_password.into()),
        ("entitlement_input", input.entitlement_status.map(|status| Tree::text(status.as_str())).into()),
        ("source_fingerprint", source_fingerprint(asset).into()),
    ])
}
