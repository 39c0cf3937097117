//! The payload gate: an encrypted envelope that agrees with the manifest, or plain judgment of the declared shape.
//! Looks at an envelope's fields only; it never opens one, and judges what an opened one held.

use super::cbor;
use super::fault::{RuntimeFault, code};
use super::javascript::text_or;
use super::manifest::{declares_encryption, dig, is_bundle, truthy};
use super::schema::Shape;
use crate::foundation::value::{Tree, Value};

const EXTERNAL_GRANT: &str = "kdna.envelope.external-grant";
const PREFIX: &str = "payload: ";
/// Schema errors of an external envelope that its one problem lists.
const LISTED_ERRORS: usize = 4;

/// Whether the payload looks like an envelope.
pub(super) fn is_envelope(payload: &Tree<'_>) -> bool {
    truthy(payload, "profile").is_some() && truthy(payload, "ciphertext").is_some()
}

/// Whether only a device grant opens the envelope.
pub(super) fn is_external_grant(payload: &Tree<'_>) -> bool {
    payload.get("profile").and_then(Tree::as_str) == Some(EXTERNAL_GRANT)
}

/// Every problem of a decoded payload, in order.
pub(super) fn problems(manifest: &Tree<'_>, payload: &Tree<'_>) -> Result<Vec<String>, RuntimeFault> {
    let mut problems = Vec::new();
    match (declares_encryption(manifest), is_envelope(payload)) {
        (true, true) => return envelope_problems(manifest, payload),
        (true, false) => {
            problems
                .push("payload: manifest declares encryption but payload.kdnab is not an encrypted envelope".into());
        }
        (false, true) => {
            problems.push("payload: encrypted envelope is missing its manifest encryption declaration".into());
        }
        (false, false) => {}
    }
    problems.extend(plain_shape(manifest).errors(payload)?.iter().map(|error| format!("{PREFIX}{error}")));
    Ok(problems)
}

/// The payload that an envelope held. `KDNA_PAYLOAD_INVALID` unless it decodes and has the declared shape.
pub(super) fn revealed<'c>(manifest: &Tree<'_>, bytes: &'c [u8]) -> Result<Tree<'c>, RuntimeFault> {
    let invalid = RuntimeFault::coded(code::PAYLOAD_INVALID);
    let payload = cbor::decode(bytes).map_err(|_| invalid)?;
    let valid = plain_shape(manifest).errors(&payload).is_ok_and(|errors| errors.is_empty());
    if valid { Ok(payload) } else { Err(invalid) }
}

fn plain_shape(manifest: &Tree<'_>) -> Shape {
    if is_bundle(manifest) { Shape::Bundle } else { Shape::Judgment }
}

fn envelope_problems(manifest: &Tree<'_>, envelope: &Tree<'_>) -> Result<Vec<String>, RuntimeFault> {
    let mut problems = Vec::new();
    if truthy(manifest, "encryption").is_none() {
        problems.push("payload: encrypted payload requires a manifest encryption declaration".to_owned());
    }
    let covered = dig(manifest, &["encryption", "encrypted_entries"]).and_then(Tree::as_array);
    if covered != Some(&[Value::from("payload.kdnab")]) {
        problems.push("payload: manifest encrypted_entries must declare only payload.kdnab".to_owned());
    }
    problems.extend(coordinate_problems(manifest, envelope));
    let external = if is_external_grant(envelope) { Some(Shape::ExternalGrant.errors(envelope)?) } else { None };
    if let Some(errors) = external.as_ref().filter(|errors| !errors.is_empty()) {
        let listed: Vec<String> = errors.iter().take(LISTED_ERRORS).map(ToString::to_string).collect();
        problems.push(format!("payload: external envelope is invalid: {}", listed.join("; ")));
    }
    if !has_key_material(envelope) && !external.is_some_and(|errors| errors.is_empty()) {
        problems
            .push("payload: encrypted envelope missing required fields (profile/ciphertext/key material)".to_owned());
    }
    Ok(problems)
}

/// Where envelope and manifest name different profiles or versions.
fn coordinate_problems(manifest: &Tree<'_>, envelope: &Tree<'_>) -> Vec<String> {
    let version_key = if is_external_grant(envelope) { "contract_version" } else { "profile_version" };
    let pairs = [
        ("profile", "encrypted envelope profile", "profile", "profile"),
        ("profile_version", "encrypted envelope compatibility coordinate", version_key, "profile_version"),
    ];
    let mut problems = Vec::new();
    for (declared_key, subject, envelope_key, word) in pairs {
        let declared = manifest.get("encryption").and_then(|encryption| truthy(encryption, declared_key));
        if let Some(declared) = declared.filter(|declared| envelope.get(envelope_key) != Some(*declared)) {
            let found = text_or(envelope.get(envelope_key), "unknown");
            let declared = text_or(Some(declared), "unknown");
            problems.push(format!("{PREFIX}{subject} {found} does not match manifest encryption {word} {declared}"));
        }
    }
    problems
}

fn has_key_material(envelope: &Tree<'_>) -> bool {
    let slots = envelope.get("key_slots").and_then(Tree::as_array);
    truthy(envelope, "wrapped_key").is_some() || slots.is_some_and(|slots| !slots.is_empty())
}
