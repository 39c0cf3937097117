//! What lies in `.kdna/assets`: snapshots under their own digest, damaged ones, and what does not belong there. Looks and
//! digests; removes nothing.

use super::storage::{Storage, entry};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::system::{Kind, System};

/// How many entries the storage holds, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Snapshots whose bytes are what their name says.
    pub managed: usize,
    /// Entries with another name.
    pub unknown: usize,
    /// Entries that no cleanup may touch: damaged snapshots, and what is no regular file.
    pub blocked: usize,
}

/// What one entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A snapshot with the bytes that its name says.
    Snapshot(Digest),
    /// A snapshot's name over other bytes.
    Damaged,
    /// Another name.
    Unknown,
    /// No regular file; whether its name is a snapshot's.
    Irregular { snapshot_name: bool },
}

/// Bytes of snapshots that a count reads in all; a hostile workspace could otherwise keep a command for hours.
const READ: u64 = 1 << 30;

/// Counts the entries. What lies here is no reason to keep an attachment that a person removes: a directory that cannot be
/// listed counts as one unknown, blocked entry, and snapshots beyond the bytes that a count reads count as blocked.
pub(super) fn count<S: System>(storage: &Storage<'_, S>) -> Stored {
    let mut stored = Stored::default();
    let Ok(names) = storage.system().list(storage.assets()) else {
        return Stored { unknown: 1, blocked: 1, ..stored };
    };
    let mut read = 0_u64;
    for name in names {
        let size = storage.system().look_beneath(storage.assets(), &entry(&name)).map_or(0, |facts| facts.size);
        read = read.saturating_add(size.min(limits::SNAPSHOT_BYTES));
        let found = if read > READ { Found::Damaged } else { look(storage, &name) };
        match found {
            Found::Snapshot(_) => stored.managed += 1,
            Found::Damaged | Found::Irregular { snapshot_name: true } => stored.blocked += 1,
            Found::Unknown => stored.unknown += 1,
            Found::Irregular { snapshot_name: false } => {
                stored.unknown += 1;
                stored.blocked += 1;
            }
        }
    }
    stored
}

/// What an entry of `assets` is.
pub(super) fn look<S: System>(storage: &Storage<'_, S>, name: &str) -> Found {
    let digest = name.strip_prefix("sha256-").and_then(|rest| rest.strip_suffix(".kdna")).and_then(Digest::parse_hex);
    let kind = storage.system().look_beneath(storage.assets(), &entry(name)).map(|facts| facts.kind);
    match (kind, digest) {
        (Ok(Kind::Regular), None) => Found::Unknown,
        (Ok(Kind::Regular), Some(digest)) => {
            let stored = storage.read(storage.assets(), name, limits::SNAPSHOT_BYTES);
            if stored.is_ok_and(|bytes| Digest::of(&bytes) == digest) {
                Found::Snapshot(digest)
            } else {
                Found::Damaged
            }
        }
        (_, digest) => Found::Irregular { snapshot_name: digest.is_some() },
    }
}
