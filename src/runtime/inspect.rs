//! What `inspect` shows of a manifest, without judging it. Computes no digest and opens no payload.

use super::asset::Asset;
use super::container::CHECKSUMS;
use super::manifest::{is_loader_compatible, loader_version, min_loader_version, truthy};
use crate::foundation::value::{Object, Value};

const OWN_FIELDS: [&str; 7] =
    ["format_version", "asset_id", "asset_uid", "asset_type", "title", "version", "judgment_version"];

/// The document.
pub(super) fn document(asset: &Asset<'_>) -> Value {
    let manifest = &asset.manifest;
    let mut document = Object::new();
    for key in OWN_FIELDS {
        document.insert(key, manifest.get(key).cloned());
    }
    insert_inner(&mut document, manifest, "payload", ["payload", "path"]);
    insert_inner(&mut document, manifest, "payload_encrypted", ["payload", "encrypted"]);
    insert_inner(&mut document, manifest, "profile", ["compatibility", "profile"]);
    document.insert("loader_version", loader_version(asset.switches));
    document.insert("min_loader_version", min_loader_version(manifest));
    document.insert("loader_compatible", is_loader_compatible(manifest, asset.switches));
    insert_inner(&mut document, manifest, "load_contract_default_profile", ["load_contract", "default_profile"]);
    if asset.container.entry(CHECKSUMS).is_some() {
        document.insert("checksums_present", true);
    }
    document.into()
}

/// A field of a part of the manifest: null without the part, left out where only the field is missing.
fn insert_inner(document: &mut Object, manifest: &Value, key: &str, [part, field]: [&str; 2]) {
    match truthy(manifest, part) {
        None => {
            document.insert(key, Value::Null);
        }
        Some(part) => {
            if let Some(value) = part.get(field) {
                document.insert(key, value.clone());
            }
        }
    }
}
