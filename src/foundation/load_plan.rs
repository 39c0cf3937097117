//! The `LoadPlan`: what a runtime says about an asset before anything is opened. Judged field by field; the names an asset
//! gives itself may be any JSON, everything else is closed. Never decides whether a load is allowed.

use crate::foundation::digest::Digest;
use crate::foundation::record::words;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};

/// The issue that says that the password is all that is missing.
pub const PASSWORD_REQUIRED: &str = "KDNA_AUTH_PASSWORD_REQUIRED";

const KEYS: [&str; 13] = [
    "format_version",
    "asset",
    "access",
    "access_alias",
    "entitlement_profile",
    "state",
    "required_action",
    "can_load_now",
    "projection_policy",
    "input_fingerprint",
    "checks",
    "issues",
    "source",
];
const ASSET_KEYS: [&str; 5] = ["asset_id", "asset_uid", "title", "version", "judgment_version"];
const FINGERPRINT_KEYS: [&str; 3] = ["has_password_input", "entitlement_input", "source_fingerprint"];
const CHECK_KEYS: [&str; 6] =
    ["format_valid", "schema_valid", "payload_valid", "checksums_valid", "load_contract_valid", "overall_valid"];
const ISSUE_KEYS: [&str; 3] = ["code", "severity", "message"];

words! {
    /// What stands between the asset and a load.
    State {
        Ready = "ready",
        OfflineGrace = "offline_grace",
        NeedsPassword = "needs_password",
        NeedsAccount = "needs_account",
        NeedsOrgAuth = "needs_org_auth",
        NeedsLicense = "needs_license",
        NeedsRuntime = "needs_runtime",
        ExpiredGrace = "expired_grace",
        Denied = "denied",
        Invalid = "invalid",
    }
}
words! {
    /// How the asset's owner lets it be read.
    Access { Public = "public", Licensed = "licensed", Remote = "remote" }
}

/// A `LoadPlan` that follows the contract, and the document it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadPlan {
    state: State,
    access: Option<Access>,
    can_load_now: bool,
    overall_valid: bool,
    needs_password: bool,
    document: Value,
}

impl LoadPlan {
    /// Judges a runtime's reply. Refuses with `runtime_output_refused`.
    pub fn check(document: Value) -> Result<Self, Refusal> {
        read(document).ok_or_else(|| Reason::RuntimeOutputRefused.into())
    }

    /// What stands between the asset and a load.
    pub fn state(&self) -> State {
        self.state
    }
    /// Whether a load would succeed as things stand.
    pub fn can_load_now(&self) -> bool {
        self.can_load_now
    }
    /// Whether the password, and nothing else, is missing.
    pub fn needs_password(&self) -> bool {
        self.needs_password
    }
    /// How the asset may be read; `None` only for an invalid asset.
    pub fn access(&self) -> Option<Access> {
        self.access
    }
    /// Whether the asset passed every check.
    pub fn overall_valid(&self) -> bool {
        self.overall_valid
    }
    /// Whether the asset can be attached and resolved: valid, whatever authorization it still needs.
    pub fn is_usable(&self) -> bool {
        self.overall_valid && self.state != State::Invalid
    }
    /// The identifier the asset gives itself, if it is text and not empty.
    pub fn asset_id(&self) -> Option<&str> {
        self.named("asset_id")
    }
    /// The version the asset gives itself, if it is text and not empty.
    pub fn asset_version(&self) -> Option<&str> {
        self.named("version")
    }
    /// The title the asset gives itself: its own words, shown only through `text::display`.
    pub fn title(&self) -> Option<&str> {
        self.named("title")
    }
    /// The document, unchanged.
    pub fn document(&self) -> &Value {
        &self.document
    }

    fn named(&self, key: &str) -> Option<&str> {
        self.document.get("asset")?.get(key)?.as_str().filter(|text| !text.is_empty())
    }
}

fn read(document: Value) -> Option<LoadPlan> {
    let plan = in_order(&document, &KEYS)?;
    in_order(plan.get("asset")?, &ASSET_KEYS)?;
    let state = plan.get("state")?.as_str().and_then(State::parse)?;
    let access = match plan.get("access")? {
        Value::Null if state == State::Invalid => None,
        value => Some(Access::parse(value.as_str()?)?),
    };
    let can_load_now = plan.get("can_load_now")?.as_bool()?;
    let overall_valid = checks(plan.get("checks")?, state)?;
    let issues = plan.get("issues")?.as_array()?.iter().map(issue).collect::<Option<Vec<_>>>()?;
    let loadable = matches!(state, State::Ready | State::OfflineGrace);
    let consistent = can_load_now == loadable && (overall_valid || state == State::Invalid);
    (closed_words(plan)? && consistent).then_some(())?;
    Some(LoadPlan {
        state,
        access,
        can_load_now,
        overall_valid,
        needs_password: state == State::NeedsPassword && issues.contains(&PASSWORD_REQUIRED),
        document,
    })
}

/// The fields whose words are closed and that nothing here needs again.
fn closed_words(plan: &Object) -> Option<bool> {
    let action = plan.get("required_action")?.as_str()?;
    let policy = plan.get("projection_policy")?.as_str()?;
    let input = in_order(plan.get("input_fingerprint")?, &FINGERPRINT_KEYS)?;
    let source = in_order(plan.get("source")?, &["kind", "path"])?;
    let actions = [
        "block",
        "connect_runtime",
        "contact_issuer",
        "enter_password",
        "install_receipt",
        "load",
        "renew_entitlement",
        "sign_in_or_activate",
        "sync",
    ];
    input.get("has_password_input")?.as_bool()?;
    Digest::parse(input.get("source_fingerprint")?.as_str()?)?;
    Some(
        actions.contains(&action)
            && matches!(policy, "minimal" | "none" | "remote")
            && plan.get("access_alias")?.is_null()
            && is_text_or_null(plan.get("entitlement_profile")?)
            && is_text_or_null(input.get("entitlement_input")?)
            && matches!(source.get("kind")?.as_str()?, "file" | "memory")
            && is_text_or_null(source.get("path")?),
    )
}

/// An asset whose checksums use a foreign algorithm loses two of the six fields; it is invalid.
fn checks(value: &Value, state: State) -> Option<bool> {
    let checks = value.as_object()?;
    let present: Vec<&str> = CHECK_KEYS.into_iter().filter(|key| checks.contains_key(key)).collect();
    let complete = present.len() == CHECK_KEYS.len();
    let vanished = ["checksums_valid", "overall_valid"].iter().all(|key| !checks.contains_key(key));
    let allowed = complete || (state == State::Invalid && vanished && present.len() + 2 == CHECK_KEYS.len());
    let flags = in_order(value, &present)?.iter().all(|(_, flag)| flag.as_bool().is_some());
    (allowed && flags).then(|| checks.get("overall_valid").and_then(Value::as_bool).unwrap_or(false))
}

fn issue(value: &Value) -> Option<&str> {
    let issue = in_order(value, &ISSUE_KEYS)?;
    issue.get("message")?.as_str()?;
    matches!(issue.get("severity")?.as_str()?, "blocking" | "warning" | "info").then_some(())?;
    issue.get("code")?.as_str()
}

fn is_text_or_null(value: &Value) -> bool {
    value.is_null() || value.as_str().is_some()
}

/// The map, if its keys are exactly these, in this order.
pub(crate) fn in_order<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Object> {
    value.as_object().filter(|object| object.keys().eq(keys.iter().copied()))
}
