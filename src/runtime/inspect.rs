//! What `inspect` shows of a manifest, without judging it. Computes no digest and opens no payload.

use super::asset::Asset;
use super::container::CHECKSUMS;
use super::manifest::{claims_trust, is_loader_compatible, loader_version, min_loader_version, truthy};
use crate::foundation::value::{Object, Tree, Value};

const OWN_FIELDS: [&str; 7] =
    ["format_version", "asset_id", "asset_uid", "asset_type", "title", "version", "judgment_version"];
/// A part of the manifest, and the field of it that is shown.
const INNER_FIELDS: [[&str; 2]; 4] =
    [["payload", "path"], ["payload", "encrypted"], ["compatibility", "profile"], ["load_contract", "default_profile"]];

/// The document.
pub(super) fn document(asset: &Asset<'_>) -> Value {
    let manifest = &asset.manifest;
    let mut document = Object::new();
    for key in OWN_FIELDS {
        document.insert(key, manifest.get(key).map(Tree::to_value));
    }
    let [path, encrypted, profile, default_profile] = INNER_FIELDS;
    insert_inner(&mut document, manifest, "payload", path);
    insert_inner(&mut document, manifest, "payload_encrypted", encrypted);
    insert_inner(&mut document, manifest, "profile", profile);
    document.insert("loader_version", loader_version(asset.container.switches));
    document.insert("min_loader_version", min_loader_version(manifest));
    document.insert("loader_compatible", is_loader_compatible(manifest, asset.container.switches));
    insert_inner(&mut document, manifest, "load_contract_default_profile", default_profile);
    if asset.container.entry(CHECKSUMS).is_some() {
        document.insert("checksums_present", true);
    }
    document.into()
}

/// Whether the document would repeat an asset's own claim of trust, without making it.
pub(super) fn repeats_claim(asset: &Asset<'_>) -> bool {
    let manifest = &asset.manifest;
    let own = OWN_FIELDS.iter().filter_map(|key| manifest.get(key));
    let inner = INNER_FIELDS.iter().filter_map(|[part, field]| truthy(manifest, part)?.get(field));
    own.chain(inner).any(claims_trust)
}

/// A field of a part of the manifest: null without the part, left out where only the field is missing.
fn insert_inner(document: &mut Object, manifest: &Tree<'_>, key: &'static str, [part, field]: [&str; 2]) {
    match truthy(manifest, part) {
        None => {
            document.insert(key, Value::Null);
        }
        Some(part) => {
            if let Some(value) = part.get(field) {
                document.insert(key, value.to_value());
            }
        }
    }
}
