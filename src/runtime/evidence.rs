//! Digest evidence in a Capsule: each digest, and whether it was compared with something the asset declares. A declared
//! digest that differs, or that is no digest, fails the load.

use super::asset::Asset;
use super::digests::{CONTAINER_BYTES, CONTENT_TREE, RUNTIME_ENTRY_SET, content_tree, runtime_entry_set};
use super::fault::{RuntimeFault, code};
use super::manifest::dig;
use crate::foundation::digest::Digest;
use crate::foundation::value::{Tree, Value};

/// A value that the asset declares for one of its digests.
struct Declared<'a> {
    value: &'a Tree<'a>,
    against: &'static str,
    source: &'static str,
    mismatch: &'static str,
}

/// The evidence document of an asset.
pub(super) fn of(asset: &Asset<'_>) -> Result<Value, RuntimeFault> {
    let content = content_tree(asset)?;
    Ok(Value::borrowing([
        ("profile", Tree::text("kdna.digest-evidence")),
        ("profile_version", Tree::text("0.1.0")),
        ("asset", proof(Digest::of(asset.container.bytes), CONTAINER_BYTES, None)?),
        ("content", proof(content, CONTENT_TREE, declared_content(&asset.manifest)?)?),
        ("runtime_entry_set", proof(runtime_entry_set(asset), RUNTIME_ENTRY_SET, declared_entry_set(asset))?),
    ]))
}

fn declared_content<'a>(manifest: &'a Tree<'a>) -> Result<Option<Declared<'a>>, RuntimeFault> {
    let declared = |path: &[&str]| dig(manifest, path).filter(|value| !value.is_null());
    let (own, authoring) = (declared(&["content_digest"]), declared(&["authoring", "content_digest"]));
    if own.is_some() && authoring.is_some() && own != authoring {
        return Err(RuntimeFault::coded(code::CONTENT_DECLARATION_CONFLICT));
    }
    let source = if own.is_some() { "kdna.json.content_digest" } else { "kdna.json.authoring.content_digest" };
    Ok(own.or(authoring).map(|value| Declared {
        value,
        against: "manifest_declaration",
        source,
        mismatch: code::CONTENT_MISMATCH,
    }))
}

fn declared_entry_set<'a>(asset: &'a Asset<'a>) -> Option<Declared<'a>> {
    let checksums = asset.checksums.as_ref()?.as_ref().ok()?;
    let value = checksums.get("entry_set_digest").filter(|value| !value.is_null())?;
    Some(Declared {
        value,
        against: "checksum_declaration",
        source: "checksums.json.entry_set_digest",
        mismatch: code::ENTRY_SET_MISMATCH,
    })
}

fn proof(actual: Digest, basis: &'static str, declared: Option<Declared<'_>>) -> Result<Value, RuntimeFault> {
    let comparison = match declared {
        None => comparison("not_compared", Value::Null, Value::Null, Value::Null),
        Some(declared) => {
            let expected = declared
                .value
                .as_str()
                .and_then(Digest::parse)
                .ok_or(RuntimeFault::coded(code::DIGEST_EXPECTATION_INVALID))?;
            if expected != actual {
                return Err(RuntimeFault::coded(declared.mismatch));
            }
            comparison("matched", Tree::text(declared.against), expected.into(), Tree::text(declared.source))
        }
    };
    Ok(Value::borrowing([("value", actual.into()), ("basis", Tree::text(basis)), ("comparison", comparison)]))
}

fn comparison(state: &'static str, against: Value, expected: Value, source: Value) -> Value {
    Value::borrowing([("state", Tree::text(state)), ("against", against), ("expected", expected), ("source", source)])
}
