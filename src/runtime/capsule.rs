//! The load: plan, decode, decrypt, project, prove the digests, and only then a Runtime Capsule. Nothing is returned in part.

use super::asset::Asset;
use super::container::PAYLOAD;
use super::decision::{Decision, NEEDS_PASSWORD, decide};
use super::envelope;
use super::evidence;
use super::fault::{RuntimeFault, code};
use super::manifest::{access, declares_encryption};
use super::payload::{self, is_envelope, is_external_grant};
use super::plan::{EntitlementStatus, PlanInput};
use super::projection;
use super::report;
use super::signature::Signature;
use super::validation::Validation;
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Tree, Value};

/// How much of an asset a Capsule carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum LoadProfile {
    Index,
    Compact,
    Scenario,
    Full,
    /// Known as a word, but not part of the base profile: there a load always fails, without a code.
    Minimal,
}

impl LoadProfile {
    const ALL: [LoadProfile; 5] = [Self::Index, Self::Compact, Self::Scenario, Self::Full, Self::Minimal];

    /// The word in commands and Capsules.
    pub const fn as_str(self) -> &'static str {
        match self {
            LoadProfile::Index => "index",
            LoadProfile::Compact => "compact",
            LoadProfile::Scenario => "scenario",
            LoadProfile::Full => "full",
            LoadProfile::Minimal => "minimal",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == word)
    }
}

/// Where the caller had the bytes from, as the Capsule states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A file.
    PackagedFile,
    /// Memory.
    PackagedBytes,
}

impl InputKind {
    const fn as_str(self) -> &'static str {
        match self {
            InputKind::PackagedFile => "packaged_file",
            InputKind::PackagedBytes => "packaged_bytes",
        }
    }
}

/// What a load is asked with. Has no `Debug`: it may hold a password.
#[derive(Clone, Copy)]
pub struct LoadInput<'a> {
    /// How much to project.
    pub profile: LoadProfile,
    /// The password, in UTF-8; an empty one counts as none.
    pub password: Option<&'a [u8]>,
    /// A claimed entitlement status.
    pub entitlement_status: Option<EntitlementStatus>,
    /// The instant that the Capsule states.
    pub loaded_at: Timestamp,
    /// Where the bytes came from.
    pub input_kind: InputKind,
}

pub(super) fn load<'c>(asset: Asset<'c>, input: &LoadInput<'_>) -> Result<Tree<'c>, RuntimeFault> {
    let capsule = proven(asset, input)?;
    let length = write::pretty_length(&capsule).map_err(|_| UNPRINTABLE)?;
    if length <= limits::RUNTIME_OUTPUT_BYTES { Ok(capsule) } else { Err(RuntimeFault::UNNAMED) }
}

pub(super) fn load_text(asset: Asset<'_>, input: &LoadInput<'_>) -> Result<String, RuntimeFault> {
    // Of most assets the payload is nearly all that is printed, and in JSON a little longer.
    let payload = asset.entry(PAYLOAD).len();
    let context = if input.profile == LoadProfile::Index { 0 } else { payload.saturating_add(payload / 8) };
    let expected = context.saturating_add(AROUND_CONTEXT);
    let capsule = proven(asset, input)?;
    let text = write::pretty_within(&capsule, limits::RUNTIME_OUTPUT_BYTES, expected).map_err(|_| UNPRINTABLE)?;
    text.ok_or(RuntimeFault::UNNAMED)
}

/// Bytes that are printed around the context, and a small manifest with it.
const AROUND_CONTEXT: usize = 3_072;

/// A Capsule has a JSON form, and one that a caller would read: both are known before a byte of it is written.
const UNPRINTABLE: RuntimeFault = RuntimeFault::coded(code::CAPSULE_BUILD_INVALID);

/// The Capsule, of which nothing is left to be proven but that it can be printed.
fn proven<'c>(asset: Asset<'c>, input: &LoadInput<'_>) -> Result<Tree<'c>, RuntimeFault> {
    let password = input.password.filter(|password| !password.is_empty());
    let validation = Validation::of(&asset)?;
    let plan =
        PlanInput { has_password: password.is_some(), entitlement_status: input.entitlement_status, source_path: None };
    let decision = decide(&asset.manifest, &validation, &plan);
    demand_loadable(&decision, password.is_some())?;
    let payload = validation.decoded.ok_or(RuntimeFault::UNNAMED)?;
    let payload = opened(&asset, payload, &decision, password)?;
    if matches!(asset.checksums, Some(Ok(Tree::Null))) {
        return Err(RuntimeFault::UNNAMED);
    }
    if input.profile == LoadProfile::Minimal && !asset.container.switches.minimal {
        return Err(RuntimeFault::UNNAMED);
    }
    assemble(asset, payload, &validation.signature, input)
}

fn assemble<'c>(
    asset: Asset<'c>,
    payload: Tree<'c>,
    signature: &Signature,
    input: &LoadInput<'_>,
) -> Result<Tree<'c>, RuntimeFault> {
    let digests = evidence::of(&asset)?;
    let (identity, access) = (identity(&asset.manifest), access(&asset.manifest).clone());
    let trace = trace(&payload, signature, input);
    Ok(Tree::borrowing([
        ("type", Tree::text("kdna.runtime-capsule")),
        ("contract_version", Tree::text("0.1.0")),
        ("asset", identity),
        ("digests", digests),
        ("signature", signature.shown()),
        ("access", access),
        ("profile", Tree::text(input.profile.as_str())),
        ("context", projection::context(input.profile, asset.manifest, payload)),
        ("trace", trace),
    ]))
}

fn identity<'a>(manifest: &Tree<'a>) -> Tree<'a> {
    let member = |key| (key, manifest.get(key).cloned().into());
    Tree::borrowing(["asset_id", "asset_uid", "version", "judgment_version"].map(member))
}

fn trace(payload: &Tree<'_>, signature: &Signature, input: &LoadInput<'_>) -> Value {
    let mut trace = Object::with_room_for(9);
    trace.insert("payload_encoding", Tree::text("cbor"));
    trace.insert("loaded_by", Tree::text("kdna-core"));
    trace.insert("loaded_at", input.loaded_at.to_string());
    trace.insert("input_kind", Tree::text(input.input_kind.as_str()));
    trace.insert("runtime_eligible", true);
    trace.insert("schema_valid", true);
    trace.insert("signature_state", Tree::text(signature.state()));
    trace.insert("profile", Tree::text(input.profile.as_str()));
    if matches!(input.profile, LoadProfile::Compact | LoadProfile::Minimal) {
        trace.insert("projection_report", report::of(payload));
    }
    trace.into()
}

/// The plan says ready, or only the password is left to be proven. Otherwise the first issue names the refusal,
/// whatever its severity.
fn demand_loadable(decision: &Decision, has_password: bool) -> Result<(), RuntimeFault> {
    let password_left =
        decision.outcome.state == NEEDS_PASSWORD.state && decision.has_issue(code::PASSWORD_UNVERIFIED) && has_password;
    if decision.outcome.loadable || password_left {
        return Ok(());
    }
    Err(decision.issues.first().map_or(RuntimeFault::UNNAMED, |issue| RuntimeFault::coded(issue.code)))
}

/// The payload in the clear. An envelope is opened with the password; plain content behind a password entitlement is
/// refused, because there no password could ever be wrong.
fn opened<'c>(
    asset: &Asset<'c>,
    payload: Tree<'c>,
    decision: &Decision,
    password: Option<&[u8]>,
) -> Result<Tree<'c>, RuntimeFault> {
    let manifest = &asset.manifest;
    let protected = declares_encryption(manifest) && is_envelope(&payload);
    match (protected, password) {
        (true, Some(password)) => {
            let content = envelope::open(manifest, &payload, password)?;
            payload::revealed(manifest, asset.container.keep(content)?)
        }
        (true, None) if is_external_grant(&payload) => Err(RuntimeFault::coded(code::ACCOUNT_REQUIRED)),
        (true, None) => Err(RuntimeFault::coded(code::PASSWORD_REQUIRED)),
        (false, _) if !decision.outcome.loadable => Err(RuntimeFault::coded(code::DECRYPT_FAILED)),
        (false, _) => Ok(payload),
    }
}
