//! What stands below a directory, as facts that can be compared.

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::value::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What stands at a place of a case's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Directory { mode: u32 },
    File { mode: u32, digest: String },
    Link { target: String },
}

pub(crate) fn read_entry(entry: &Value) -> Option<Entry> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let mode = || u32::from_str_radix(text("mode")?.strip_prefix("0o")?, 8).ok();
    match text("type")?.as_str() {
        "dir" => Some(Entry::Directory { mode: mode()? }),
        "file" => Some(Entry::File { mode: mode()?, digest: text("sha256")? }),
        "symlink" => Some(Entry::Link { target: text("target")? }),
        _ => None,
    }
}

/// Everything below a directory.
pub(crate) fn tree(root: &Path) -> BTreeMap<String, Entry> {
    fn walk(directory: &Path, prefix: &str, found: &mut BTreeMap<String, Entry>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let entry = entry.expect("an entry");
            let name = format!("{prefix}{}", entry.file_name().to_str().expect("a plain name"));
            let facts = fs::symlink_metadata(entry.path()).expect("its facts");
            let mode = facts.permissions().mode() & 0o7777;
            if facts.is_symlink() {
                let target =
                    fs::read_link(entry.path()).expect("its target").to_str().expect("a plain name").to_owned();
                found.insert(name, Entry::Link { target });
            } else if facts.is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
                found.insert(name, Entry::Directory { mode });
            } else {
                let digest = Digest::of(&fs::read(entry.path()).expect("its content")).hex();
                found.insert(name, Entry::File { mode, digest });
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}

pub(crate) fn tree_faults(found: &BTreeMap<String, Entry>, expected: &BTreeMap<String, Entry>) -> Vec<String> {
    let missing =
        expected.iter().filter(|(name, _)| !found.contains_key(*name)).map(|(name, _)| format!("missing: {name}"));
    let extra = found.keys().filter(|name| !expected.contains_key(*name)).map(|name| format!("left behind: {name}"));
    let other = expected.iter().filter_map(|(name, expected)| {
        found
            .get(name)
            .filter(|found| *found != expected)
            .map(|found| format!("{name}: {found:?}, expected {expected:?}"))
    });
    missing.chain(extra).chain(other).collect()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let source = entry.expect("an entry").path();
        let name = source.file_name().expect("a name");
        // Stored under another name so that git keeps its neighbours.
        let target = to.join(if name == "_gitignore" { Path::new(".gitignore") } else { Path::new(name) });
        if source.is_dir() {
            fs::create_dir_all(&target).expect("a directory");
            copy(&source, &target);
        } else {
            fs::write(&target, fs::read(&source).expect("its content")).expect("a copy");
        }
    }
}

pub(crate) fn replace_all(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(place) = rest.windows(old.len()).position(|window| window == old) {
        out.extend_from_slice(&rest[..place]);
        out.extend_from_slice(new);
        rest = &rest[place + old.len()..];
    }
    out.extend_from_slice(rest);
    out
}
