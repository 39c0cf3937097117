//! Temporaries that a killed process left behind: removed by the next change, under both locks. Touches only names that
//! changes of a record give, and only those of processes that are gone.

use super::storage::{Storage, discard};
use crate::system::System;

/// The stems of temporaries, this product's and those of other programs of the field.
const STEMS: [&str; 7] = [
    ".attachments",
    ".attachments-cleanup-receipt",
    ".attachments-gitignore",
    ".attachments-lock-owner",
    ".attachments-lock-stale",
    ".cleanup-receipt",
    ".gitignore",
];
const SNAPSHOT_STEM: &str = ".snapshot";

/// Removes what can be removed; what cannot stays, and is no reason to refuse the change.
pub(super) fn clear<S: System>(storage: &Storage<'_, S>) {
    let system = storage.system();
    for (directory, stems) in [(storage.kdna(), &STEMS[..]), (storage.assets(), &[SNAPSHOT_STEM][..])] {
        for name in system.list(directory).unwrap_or_default() {
            if owner(&name, stems).is_some_and(|process| !system.process_exists(process)) {
                discard(system, directory, &name);
            }
        }
    }
}

/// The process that made a temporary of a change of a record, by the temporary's name.
pub fn temporary_owner(name: &str) -> Option<u32> {
    owner(name, &STEMS).or_else(|| owner(name, &[SNAPSHOT_STEM]))
}

/// The process that made a temporary: `<stem>-<pid>-<16 hexadecimal digits>.tmp`.
fn owner(name: &str, stems: &[&str]) -> Option<u32> {
    let (rest, random) = name.strip_suffix(".tmp")?.rsplit_once('-')?;
    let (stem, process) = rest.rsplit_once('-')?;
    let random =
        random.len() == 16 && random.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let process: u32 = process.parse().ok().filter(|process| *process > 0)?;
    (random && stems.contains(&stem)).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_temporaries_of_a_change_are_leftovers() {
        assert_eq!(owner(".attachments-77-0123456789abcdef.tmp", &STEMS), Some(77));
        assert_eq!(owner(".attachments-lock-owner-77-0123456789abcdef.tmp", &STEMS), Some(77));
        for name in [
            ".attachments-lock.tmp",
            ".attachments-77-0123456789ABCDEF.tmp",
            ".attachments-77-0123.tmp",
            ".attachments-0-0123456789abcdef.tmp",
            ".attachments--0123456789abcdef.tmp",
            ".notes-77-0123456789abcdef.tmp",
            "attachments-77-0123456789abcdef.tmp",
            ".snapshot-77-0123456789abcdef.tmp",
            "attachments.json",
        ] {
            assert_eq!(owner(name, &STEMS), None, "{name}");
        }
    }
}
