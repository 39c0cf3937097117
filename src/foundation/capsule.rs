//! The Runtime Capsule: the decrypted content as a runtime hands it over. Judged field by field before it is used; the
//! content itself stays opaque. Never shown, never logged: it has no `Debug` and no `Display`.

use crate::foundation::digest::Digest;
use crate::foundation::load_plan::{Access, in_order};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};

const KEYS: [&str; 9] =
    ["type", "contract_version", "asset", "digests", "signature", "access", "profile", "context", "trace"];
const ASSET_KEYS: [&str; 4] = ["asset_id", "asset_uid", "version", "judgment_version"];
const DIGEST_KEYS: [&str; 5] = ["profile", "profile_version", "asset", "content", "runtime_entry_set"];
const TRACE_KEYS: [&str; 9] = [
    "payload_encoding",
    "loaded_by",
    "loaded_at",
    "input_kind",
    "runtime_eligible",
    "schema_valid",
    "signature_state",
    "profile",
    "projection_report",
];
const PROFILES: [&str; 4] = ["index", "compact", "scenario", "full"];

/// A Capsule that follows the contract, and the document it came from.
#[derive(Clone, PartialEq)]
pub struct Capsule {
    asset_digest: Digest,
    document: Value,
}

impl Capsule {
    /// Judges a runtime's reply. Refuses with `runtime_output_refused`.
    pub fn check(document: Value) -> Result<Self, Refusal> {
        read(&document)
            .map(|asset_digest| Self { asset_digest, document })
            .ok_or_else(|| Reason::RuntimeOutputRefused.into())
    }

    /// The digest of the asset's bytes as the runtime read them.
    pub fn asset_digest(&self) -> Digest {
        self.asset_digest
    }
    /// The identifier the asset gives itself.
    pub fn asset_id(&self) -> &str {
        self.document.get("asset").and_then(|asset| asset.get("asset_id")).and_then(Value::as_str).unwrap_or_default()
    }
    /// The version the asset gives itself.
    pub fn asset_version(&self) -> &str {
        self.document.get("asset").and_then(|asset| asset.get("version")).and_then(Value::as_str).unwrap_or_default()
    }
    /// `index`, `compact`, `scenario` or `full`.
    pub fn profile(&self) -> &str {
        self.document.get("profile").and_then(Value::as_str).unwrap_or_default()
    }
    /// The document, unchanged.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// The rules of the Capsule's axioms for the adoption document; null if none has text.
    pub fn judgment_decision(&self) -> Value {
        let axioms = self.document.get("context").and_then(|context| context.get("axioms")).and_then(Value::as_array);
        let rules: Vec<Value> = axioms.unwrap_or_default().iter().filter_map(rule).collect();
        if rules.is_empty() {
            return Value::Null;
        }
        Value::object([("source", Value::from("runtime-capsule/context/axioms")), ("rules", Value::Array(rules))])
    }
}

fn rule(axiom: &Value) -> Option<Value> {
    let said = |key| axiom.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let list = |key| axiom.get(key).and_then(Value::as_array).unwrap_or_default().to_vec();
    Some(Value::object([
        ("rule", Value::copied(said("statement").or_else(|| said("one_sentence"))?)),
        ("applies_when", Value::Array(list("applies_when"))),
        ("does_not_apply_when", Value::Array(list("does_not_apply_when"))),
        ("failure_risk", Value::from(axiom.get("failure_risk").and_then(Value::as_str).map(str::to_owned))),
    ]))
}

fn read(document: &Value) -> Option<Digest> {
    let capsule = in_order(document, &KEYS)?;
    let asset = in_order(capsule.get("asset")?, &ASSET_KEYS)?;
    let profile = capsule.get("profile")?.as_str()?;
    let holds = is(capsule, "type", "kdna.runtime-capsule")
        && is(capsule, "contract_version", "0.1.0")
        && ["asset_id", "version"].iter().all(|key| asset.get(key).and_then(Value::as_str).is_some())
        && is(in_order(capsule.get("signature")?, &["state"])?, "state", "absent")
        && Access::parse(capsule.get("access")?.as_str()?).is_some()
        && PROFILES.contains(&profile)
        && capsule.get("context")?.as_object().is_some()
        && trace(capsule.get("trace")?, profile)?;
    if holds { digests(capsule.get("digests")?) } else { None }
}

fn trace(value: &Value, profile: &str) -> Option<bool> {
    let reported = profile == "compact";
    let keys = if reported { TRACE_KEYS.as_slice() } else { TRACE_KEYS.split_last()?.1 };
    let trace = in_order(value, keys)?;
    Timestamp::parse(trace.get("loaded_at")?.as_str()?)?;
    Some(
        is(trace, "payload_encoding", "cbor")
            && is(trace, "loaded_by", "kdna-core")
            && matches!(trace.get("input_kind")?.as_str()?, "packaged_file" | "packaged_bytes")
            && trace.get("runtime_eligible")?.as_bool()?
            && trace.get("schema_valid")?.as_bool()?
            && is(trace, "signature_state", "absent")
            && is(trace, "profile", profile)
            && (!reported || report(trace.get("projection_report")?)?),
    )
}

fn report(value: &Value) -> Option<bool> {
    let report = in_order(value, &["status", "omitted", "omitted_total"])?;
    let mut total = 0.0;
    for item in report.get("omitted")?.as_array()? {
        let item = in_order(item, &["path", "count"])?;
        item.get("path")?.as_str()?;
        total += item.get("count")?.as_number().filter(|count| *count >= 1.0)?;
    }
    let status = if total > 0.0 { "partial" } else { "complete" };
    Some(is(report, "status", status) && report.get("omitted_total")?.as_number()?.to_bits() == total.to_bits())
}

fn digests(value: &Value) -> Option<Digest> {
    let digests = in_order(value, &DIGEST_KEYS)?;
    let holds = is(digests, "profile", "kdna.digest-evidence") && is(digests, "profile_version", "0.1.0");
    evidence(digests.get("content")?, "kdna.digest-basis.content-tree")?;
    evidence(digests.get("runtime_entry_set")?, "kdna.digest-basis.runtime-entry-set")?;
    let asset = evidence(digests.get("asset")?, "kdna.digest-basis.container-bytes")?;
    holds.then_some(asset)
}

fn evidence(value: &Value, basis: &str) -> Option<Digest> {
    let evidence = in_order(value, &["value", "basis", "comparison"])?;
    let digest = Digest::parse(evidence.get("value")?.as_str()?)?;
    let comparison = in_order(evidence.get("comparison")?, &["state", "against", "expected", "source"])?;
    let compared = match comparison.get("state")?.as_str()? {
        "not_compared" => ["against", "expected", "source"].iter().all(|key| comparison.get(key) == Some(&Value::Null)),
        "matched" => {
            comparison.get("against")?.as_str()?;
            comparison.get("source")?.as_str()?;
            Digest::parse(comparison.get("expected")?.as_str()?)? == digest
        }
        _ => false,
    };
    (is(evidence, "basis", basis) && compared).then_some(digest)
}

fn is(object: &Object, key: &str, expected: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(expected)
}
