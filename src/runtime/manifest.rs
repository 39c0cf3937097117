//! What the manifest declares, read without trusting its shape: a question about a member that is not there, or is not
//! what it should be, has an answer here and never fails.

use super::schema::is_strict_version;
use crate::foundation::switches::Switches;
use crate::foundation::value::{Tree, Value};
use std::cmp::Ordering;

/// The version of the contract profile that this runtime implements, as documents print it.
pub const LOADER_VERSION: &str = "0.21.0";

/// The version of the later contract profile, whatever part of it is switched on.
const LATER_VERSION: &str = "0.22.0";

/// The version that documents print and that an asset's demand is compared with.
pub(super) const fn loader_version(switches: Switches) -> &'static str {
    if switches.any() { LATER_VERSION } else { LOADER_VERSION }
}

const PASSWORD_PROFILES: [&str; 2] = ["kdna.encryption.password", "kdna.encryption.password.scrypt"];
const TRUST_CLAIMS: [&str; 5] = ["trusted", "recommended", "high_quality", "officially_approved", "quality_badge"];

/// A member below members.
pub(super) fn dig<'v, 'a>(value: &'v Tree<'a>, path: &[&str]) -> Option<&'v Tree<'a>> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// A member that is there and means something.
pub(super) fn truthy<'v, 'a>(value: &'v Tree<'a>, key: &str) -> Option<&'v Tree<'a>> {
    value.get(key).filter(|member| member.is_truthy())
}

/// A member as it stands, or null where it is missing or means nothing.
pub(super) fn or_null<'a>(value: &Tree<'a>, key: &str) -> Tree<'a> {
    truthy(value, key).cloned().unwrap_or(Tree::Null)
}

/// The declared access; a missing one is public.
pub(super) fn access<'v, 'a>(manifest: &'v Tree<'a>) -> &'v Tree<'a> {
    static PUBLIC: Value = Tree::text("public");
    truthy(manifest, "access").unwrap_or(&PUBLIC)
}

/// Whether the asset is to be projected by a server.
pub(super) fn is_remote(manifest: &Tree<'_>) -> bool {
    access(manifest).as_str() == Some("remote")
}

/// How the right to load is shown.
pub(super) fn entitlement_profile<'v>(manifest: &'v Tree<'_>) -> Option<&'v str> {
    let implied = || {
        let profile = dig(manifest, &["encryption", "profile"]).and_then(Tree::as_str)?;
        PASSWORD_PROFILES.contains(&profile).then_some("password")
    };
    dig(manifest, &["entitlement", "profile"]).and_then(Tree::as_str).or_else(implied)
}

/// Whether the payload is said to be encrypted.
pub(super) fn declares_encryption(manifest: &Tree<'_>) -> bool {
    let entries = dig(manifest, &["encryption", "encrypted_entries"]).and_then(Tree::as_array);
    dig(manifest, &["payload", "encrypted"]).is_some_and(Tree::is_truthy)
        || entries.is_some_and(|entries| entries.contains(&Tree::text("payload.kdnab")))
}

/// Whether the payload is a bundle of components.
pub(super) fn is_bundle(manifest: &Tree<'_>) -> bool {
    dig(manifest, &["compatibility", "profile"]).and_then(Tree::as_str) == Some("kdna.payload.bundle")
        || manifest.get("asset_type").and_then(Tree::as_str) == Some("bundle")
}

/// The loader version that the asset asks for, if that is text.
pub(super) fn min_loader_version<'a>(manifest: &'a Tree<'_>) -> Option<&'a str> {
    dig(manifest, &["compatibility", "min_loader_version"]).and_then(Tree::as_str)
}

/// Whether this runtime is new enough; `None` if the asset does not say so in the strict form.
pub(super) fn is_loader_compatible(manifest: &Tree<'_>, switches: Switches) -> Option<bool> {
    let asked = min_loader_version(manifest).filter(|version| is_strict_version(version))?;
    Some(compare_versions(asked, loader_version(switches)) != Ordering::Greater)
}

/// Compares strict versions part by part, as decimal numbers of any length.
fn compare_versions(left: &str, right: &str) -> Ordering {
    fn by_length(part: &str) -> (usize, &str) {
        (part.len(), part)
    }
    left.split('.').map(by_length).cmp(right.split('.').map(by_length))
}

/// Whether a document would repeat an asset's own claim to be trusted, at any depth.
pub(super) fn claims_trust(document: &Tree<'_>) -> bool {
    match document {
        Tree::Object(object) => object.iter().any(|(key, value)| TRUST_CLAIMS.contains(&key) || claims_trust(value)),
        Tree::Array(items) => items.iter().any(claims_trust),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(version: &str) -> Value {
        Value::object([("compatibility", Value::object([("min_loader_version", Value::copied(version))]))])
    }

    #[test]
    fn loader_versions_compare_as_numbers_of_any_length() {
        for (version, compatible) in [
            ("0.21.0", Some(true)),
            ("0.9.99999999999999999999", Some(true)),
            ("0.21.1", Some(false)),
            ("0.100.0", Some(false)),
            ("99999999999999999999999.0.0", Some(false)),
            ("0.21", None),
            ("00.1.0", None),
            ("0.21.0-rc", None),
        ] {
            assert_eq!(is_loader_compatible(&asking(version), Switches::NONE), compatible, "{version}");
        }
        assert_eq!(is_loader_compatible(&Value::Null, Switches::NONE), None);
    }

    #[test]
    fn a_claim_of_trust_is_found_at_any_depth() {
        let claim = Value::object([("title", Value::Array(vec![Value::object([("trusted", Value::Null)])]))]);
        assert!(claims_trust(&claim));
        assert!(!claims_trust(&Value::object([("title", Value::from("trusted"))])));
    }
}
