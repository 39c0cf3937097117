//! An asset from its parts: the media type first, then manifest, payload, checksums over both, then attachments by name.

use super::{PackFault, container, payload_cbor};
use crate::foundation::digest::Digest;
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::value::Value;
use crate::runtime::container::{CHECKSUMS, MANIFEST, MEDIA_TYPE, MIMETYPE, PAYLOAD};
use crate::runtime::digests::{RUNTIME_ENTRY_SET, entry_set};

/// What an asset is made of.
pub struct Parts {
    /// `kdna.json`, stored as it is.
    pub manifest: Vec<u8>,
    /// The content.
    pub payload: Payload,
    /// Names below `attachments/` (with that prefix) and their bytes, in any order.
    pub attachments: Vec<(String, Vec<u8>)>,
}

/// The content, as its author wrote it.
pub enum Payload {
    /// JSON text, written as CBOR into the asset.
    Json(Vec<u8>),
    /// CBOR, stored as it is.
    Cbor(Vec<u8>),
}

/// The packaged asset. Deterministic; judges only what cannot be written at all.
pub fn pack(parts: &Parts) -> Result<Vec<u8>, PackFault> {
    let encoded;
    let payload = match &parts.payload {
        Payload::Cbor(bytes) => bytes,
        Payload::Json(text) => {
            let value = read_strict(text, limits::ENTRY_DEPTH).map_err(|_| PackFault::PayloadNotJson)?;
            encoded = payload_cbor(&value)?;
            &encoded
        }
    };
    let checksums = checksums(&parts.manifest, payload);
    let mut entries: Vec<(&str, &[u8])> = vec![
        (MIMETYPE, MEDIA_TYPE),
        (MANIFEST, &parts.manifest),
        (PAYLOAD, payload),
        (CHECKSUMS, checksums.as_bytes()),
    ];
    let mut attachments: Vec<_> = parts.attachments.iter().map(|(name, data)| (name.as_str(), &**data)).collect();
    attachments.sort_unstable();
    entries.extend(attachments);
    container(&entries)
}

/// `checksums.json`: the digests of the two entries that a load reads, and of both together.
fn checksums(manifest: &[u8], payload: &[u8]) -> String {
    let (manifest, payload) = (Digest::of(manifest), Digest::of(payload));
    let covered = vec![Value::from(MANIFEST), Value::from(PAYLOAD)];
    let document = Value::object([
        ("digest_profile", Value::from(RUNTIME_ENTRY_SET)),
        ("digest_profile_version", "0.1.0".into()),
        ("covered_entries", covered.into()),
        ("algorithm", "sha256".into()),
        ("manifest_digest", manifest.into()),
        ("payload_digest", payload.into()),
        ("entry_set_digest", entry_set(manifest, payload).into()),
    ]);
    // Texts always have a JSON form.
    write::pretty(&document).unwrap_or_default()
}
