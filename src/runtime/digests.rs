//! The digests over an asset: its runtime entry set, its content tree, and the fingerprint of a plan's source.

use super::asset::Asset;
use super::container::{CHECKSUMS, Entry, MANIFEST, MIMETYPE, PAYLOAD, SIGNATURE};
use super::fault::RuntimeFault;
use crate::foundation::digest::{Digest, Hasher};
use crate::foundation::json::canonical::{canonical, canonical_in_room};
use crate::foundation::json::read_javascript;

pub(super) const CONTAINER_BYTES: &str = "kdna.digest-basis.container-bytes";
pub(super) const RUNTIME_ENTRY_SET: &str = "kdna.digest-basis.runtime-entry-set";
pub(super) const CONTENT_TREE: &str = "kdna.digest-basis.content-tree";

/// Over the two entries that a load reads; of a protected asset, over the envelope as stored.
pub(super) fn runtime_entry_set(asset: &Asset<'_>) -> Digest {
    let container = asset.container;
    *container.entry_set.get_or_init(|| entry_set(container.digest(MANIFEST), container.digest(PAYLOAD)))
}

/// Over the digests of the manifest's and the payload's bytes.
pub(super) fn entry_set(manifest: Digest, payload: Digest) -> Digest {
    let mut hasher = Hasher::new();
    update_lines(&mut hasher, &[(MANIFEST, manifest), (PAYLOAD, payload)]);
    hasher.finish()
}

/// A line for each entry, without an end of line after the last.
fn update_lines(hasher: &mut Hasher, lines: &[(&str, Digest)]) {
    for (at, (name, digest)) in lines.iter().enumerate() {
        hasher.update(if at > 0 { b"\n" } else { b"" });
        hasher.update(name.as_bytes());
        hasher.update(b":");
        hasher.update(digest.digits().as_bytes());
    }
}

/// Over name, length and bytes of the entries that decide a plan. Attachments are not among them.
pub(super) fn source_fingerprint(asset: &Asset<'_>) -> Digest {
    let mut hasher = Hasher::new();
    for name in [CHECKSUMS, MANIFEST, MIMETYPE, PAYLOAD, SIGNATURE] {
        if let Some(bytes) = asset.container.entry(name) {
            hasher.update(name.as_bytes());
            hasher.update(b"\0");
            hasher.update(bytes.len().to_string().as_bytes());
            hasher.update(b"\0");
            hasher.update(bytes);
            hasher.update(b"\0");
        }
    }
    hasher.finish()
}

/// Over every entry but the signature's, which signs it, JSON entries in their stable form. The other names that the contract leaves out of the tree cannot occur
/// in a container that was parsed. Refuses, without a code, a `.json` entry that is not JSON.
pub(super) fn content_tree(asset: &Asset<'_>) -> Result<Digest, RuntimeFault> {
    let mut lines = Vec::with_capacity(asset.container.entries.len());
    for entry in asset.container.entries.iter().filter(|entry| entry.name != SIGNATURE) {
        let digest = match stable_form(asset, entry)? {
            Some(text) => Digest::of(text.as_bytes()),
            None => entry.digest(),
        };
        lines.push((&*entry.name, digest));
    }
    lines.sort_unstable();
    let mut hasher = Hasher::new();
    update_lines(&mut hasher, &lines);
    Ok(hasher.finish())
}

/// Refuses what [`content_tree`] would refuse, without computing it.
pub(super) fn demand_readable_tree(asset: &Asset<'_>) -> Result<(), RuntimeFault> {
    let is_other = |entry: &&Entry<'_>| entry.is_json() && entry.name != MANIFEST && entry.name != CHECKSUMS;
    let others = asset.container.entries.iter().filter(is_other);
    let readable = !matches!(asset.checksums, Some(Err(_)));
    if readable && others.map(|entry| read_javascript(&entry.data)).all(|entry| entry.is_ok()) {
        return Ok(());
    }
    Err(RuntimeFault::UNNAMED)
}

/// The digests in a manifest that could not be over themselves.
const OWN_DIGESTS: [&[&str]; 5] =
    [&["asset_digest"], &["container_sha256"], &["content_digest"], &["_source"], &["authoring", "content_digest"]];

/// The sorted text of a JSON entry; `None` for any other entry.
fn stable_form(asset: &Asset<'_>, entry: &Entry<'_>) -> Result<Option<String>, RuntimeFault> {
    // The stable form is hardly ever longer than the entry.
    let expected = entry.data.len();
    let text = match (&*entry.name, &asset.checksums) {
        (MANIFEST, _) => canonical_in_room(&asset.manifest, &OWN_DIGESTS, expected),
        (CHECKSUMS, Some(Ok(checksums))) => canonical_in_room(checksums, &[], expected),
        _ if entry.is_json() => canonical(&read_javascript(&entry.data).map_err(|_| RuntimeFault::UNNAMED)?),
        _ => return Ok(None),
    };
    text.map(Some).map_err(|_| RuntimeFault::UNNAMED)
}
