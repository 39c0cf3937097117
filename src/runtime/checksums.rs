//! The checksum gate: what `checksums.json` declares about the manifest and the payload, against their bytes. As in the
//! reference, a schema error is a problem but does not by itself make the gate fail; a digest does.

use super::asset::Asset;
use super::container::{MANIFEST, PAYLOAD};
use super::digests::{RUNTIME_ENTRY_SET, runtime_entry_set};
use super::fault::RuntimeFault;
use super::javascript::text_or;
use super::manifest::truthy;
use super::schema::Shape;
use crate::foundation::digest::Digest;
use crate::foundation::value::Tree;

/// What the gate says. `valid` is `None` for a foreign algorithm: then the documents leave the field out.
pub(super) struct Verdict {
    pub(super) valid: Option<bool>,
    pub(super) problems: Vec<String>,
}

impl Verdict {
    fn pass() -> Self {
        Verdict { valid: Some(true), problems: Vec::new() }
    }

    fn fail(mut self, problem: impl Into<String>) -> Self {
        self.valid = Some(false);
        self.problems.push(problem.into());
        self
    }
}

/// Runs the gate; an asset without checksums passes.
pub(super) fn verify(asset: &Asset<'_>) -> Result<Verdict, RuntimeFault> {
    let verdict = Verdict::pass();
    let declared = match &asset.checksums {
        None => return Ok(verdict),
        Some(Err(_)) => return Ok(verdict.fail("checksums: not valid JSON (the entry could not be read)")),
        Some(Ok(declared)) if !declared.is_truthy() => return Ok(verdict),
        Some(Ok(declared)) => declared,
    };
    let mut verdict = verdict;
    verdict.problems.extend(Shape::Checksums.errors(declared)?.iter().map(|error| format!("checksums: {error}")));
    if let Some(problem) = coverage_problem(declared) {
        return Ok(verdict.fail(problem));
    }
    let algorithm = text_or(declared.get("algorithm"), "sha256");
    if algorithm != "sha256" {
        verdict.valid = None;
        verdict.problems.push(format!("checksums: unsupported digest algorithm {algorithm} (supported: sha256)"));
        return Ok(verdict);
    }
    verify_digests(asset, declared, verdict)
}

const METADATA: [&str; 3] = ["digest_profile", "digest_profile_version", "covered_entries"];
const DIGESTS: [&str; 3] = ["manifest_digest", "payload_digest", "entry_set_digest"];

/// What is wrong with the declared coverage, if one is declared.
fn coverage_problem(declared: &Tree<'_>) -> Option<String> {
    if METADATA.iter().all(|key| declared.get(key).is_none()) {
        return None;
    }
    let missing: Vec<&str> =
        METADATA.iter().chain(&DIGESTS).copied().filter(|key| declared.get(key).is_none()).collect();
    let is = |key: &str, text: &str| declared.get(key).and_then(Tree::as_str) == Some(text);
    let covered = declared.get("covered_entries").and_then(Tree::as_array);
    if !missing.is_empty() {
        Some(format!("checksums: {RUNTIME_ENTRY_SET} metadata requires {}", missing.join(", ")))
    } else if !is("digest_profile", RUNTIME_ENTRY_SET) {
        Some(format!("checksums: unsupported digest_profile (expected {RUNTIME_ENTRY_SET})"))
    } else if !is("digest_profile_version", "0.1.0") {
        Some("checksums: unsupported digest_profile_version (expected 0.1.0)".to_owned())
    } else if covered != Some(&[Tree::text(MANIFEST), Tree::text(PAYLOAD)]) {
        Some(format!("checksums: covered_entries does not match {RUNTIME_ENTRY_SET}"))
    } else {
        None
    }
}

fn verify_digests(asset: &Asset<'_>, declared: &Tree<'_>, mut verdict: Verdict) -> Result<Verdict, RuntimeFault> {
    let mut unknown = Vec::new();
    for (key, entry) in [("manifest_digest", MANIFEST), ("payload_digest", PAYLOAD)] {
        match truthy(declared, key) {
            Some(expected) => verdict = compare(verdict, key, expected, asset.container.digest(entry))?,
            None => unknown.push(entry),
        }
    }
    match truthy(declared, "entry_set_digest") {
        None => Ok(verdict),
        Some(_) if !unknown.is_empty() => {
            Ok(verdict.fail(format!("checksums: entry_set_digest cannot be verified without {}", unknown.join(", "))))
        }
        Some(expected) => compare(verdict, "entry_set_digest", expected, runtime_entry_set(asset)),
    }
}

/// One digest. A declared value that is not text has no meaning at all, and the whole operation is refused.
fn compare(verdict: Verdict, key: &str, expected: &Tree<'_>, actual: Digest) -> Result<Verdict, RuntimeFault> {
    let Tree::String(expected) = expected else { return Err(RuntimeFault::UNNAMED) };
    let expected = expected.strip_prefix("sha256:").unwrap_or(expected);
    let actual = actual.digits();
    if expected == actual.as_str() {
        return Ok(verdict);
    }
    let start = |text: &str| text.chars().take(8).collect::<String>();
    let (declared, actual) = (start(expected), start(actual.as_str()));
    Ok(verdict.fail(format!("checksums: {key} mismatch (declared {declared}..., actual {actual}...)")))
}
