//! Who may change a record now. Two locks, both held: an advisory one on a permanent file, which the kernel releases
//! whatever happens and which orders all processes of this product; and the published lock file that other programs of
//! the field look at. Waits for the first, never for the second.

use super::storage::{discard, entry, temporary_name, write_failed};
use crate::capability::workspace::read_beneath;
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::Value;
use crate::system::{Fault, Identity, Kind, System};
use std::time::Duration;

/// The permanent file of the advisory lock; its name is one that `.gitignore` covers.
const ADVISORY: &str = ".attachments-lock.tmp";
/// The published lock.
const PUBLISHED: &str = "attachments.lock";
/// In a published lock: its owner holds the advisory lock as long as it is published.
const HOLDS: &str = "advisory_lock";
/// How often a dead owner's lock is cleared away before the lock counts as taken.
const ATTEMPTS: usize = 3;

/// Runs a change of the storage in `.kdna` while nobody else makes one. Refuses with `record_locked`, or `write_failed`
/// if the locks cannot be made; then the change was not run.
pub(super) fn locked<S: System, T>(
    system: &S,
    kdna: &S::Directory,
    change: impl FnOnce() -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let file = system.open_append(kdna, ADVISORY, 0o600).map_err(write_failed)?;
    if system.file_facts(&file).map_err(write_failed)?.kind != Kind::Regular {
        return Err(Reason::StorageIrregular.into());
    }
    let _held = system.lock(&file, Duration::from_millis(limits::LOCK_MILLISECONDS)).map_err(|fault| match fault {
        Fault::Locked => Reason::RecordLocked,
        _ => Reason::WriteFailed,
    })?;
    let ours = publish(system, kdna)?;
    let result = change();
    withdraw(system, kdna, ours);
    result
}

/// Publishes the lock file by one link, clearing away the lock of a process that is gone.
fn publish<S: System>(system: &S, kdna: &S::Directory) -> Result<Identity, Refusal> {
    for _ in 0..ATTEMPTS {
        match publish_once(system, kdna)? {
            Some(ours) => return Ok(ours),
            None => clear_dead(system, kdna)?,
        }
    }
    Err(Reason::RecordLocked.into())
}

/// `None`: somebody's lock is there.
fn publish_once<S: System>(system: &S, kdna: &S::Directory) -> Result<Option<Identity>, Refusal> {
    let owner = temporary_name(system, ".attachments-lock-owner")?;
    let says = Value::object([
        ("pid", Value::from(system.process_id())),
        ("created_at", Value::from(system.now().to_string())),
        (HOLDS, Value::from(ADVISORY)),
    ]);
    let text = write::compact(&says).map_err(|_| Reason::Internal)? + "\n";
    let file = system.create_file(kdna, &owner, 0o600).map_err(write_failed)?;
    let linked = system
        .write(&file, text.as_bytes())
        .and_then(|()| system.sync_file(&file))
        .and_then(|()| Ok(system.file_facts(&file)?.identity))
        .and_then(|identity| system.link(kdna, &owner, PUBLISHED).map(|()| identity));
    discard(system, kdna, &owner);
    match linked {
        Ok(identity) => {
            let _ = system.sync_directory(kdna);
            Ok(Some(identity))
        }
        Err(Fault::Exists) => Ok(None),
        Err(fault) => Err(write_failed(fault)),
    }
}

/// Removes the lock of a process that is gone: its id is free, or it would hold the advisory lock. Refuses with `record_locked` if its owner lives or cannot be read. What is
/// moved away is looked at once more, so that a lock published meanwhile is put back and not lost.
fn clear_dead<S: System>(system: &S, kdna: &S::Directory) -> Result<(), Refusal> {
    let (bytes, facts) = match read_beneath(system, kdna, &entry(PUBLISHED), limits::LOCK_FILE_BYTES) {
        Ok(read) => read,
        Err(Fault::NotFound) => return Ok(()),
        Err(_) => return Err(Reason::RecordLocked.into()),
    };
    // Whoever finds this holds the advisory lock, so an owner that would hold it is gone, whoever has its process id now.
    if !is_stale(system, &bytes) {
        return Err(Reason::RecordLocked.into());
    }
    let stale = temporary_name(system, ".attachments-lock-stale")?;
    match system.rename(kdna, PUBLISHED, &stale) {
        Ok(()) => {}
        Err(Fault::NotFound) => return Ok(()),
        Err(fault) => return Err(write_failed(fault)),
    }
    let same = system.look_beneath(kdna, &entry(&stale)).is_ok_and(|moved| moved.identity == facts.identity);
    if !same {
        let _ = system.link(kdna, &stale, PUBLISHED);
    }
    discard(system, kdna, &stale);
    if same { Ok(()) } else { Err(Reason::RecordLocked.into()) }
}

/// Whether a lock file is from a program that takes both locks.
fn held_the_advisory(bytes: &[u8]) -> bool {
    let says = read_strict(bytes, limits::POLICY_DEPTH);
    says.is_ok_and(|says| says.get(HOLDS).and_then(Value::as_str) == Some(ADVISORY))
}

/// The process id that a lock file names.
fn owner(bytes: &[u8]) -> Option<u32> {
    let id = read_strict(bytes, limits::POLICY_DEPTH).ok()?.get("pid")?.as_number()?;
    let whole = id.fract() == 0.0 && (1.0..=f64::from(i32::MAX)).contains(&id);
    if whole { format!("{id}").parse().ok() } else { None }
}

/// Whether what a published lock says lets the next change of the record clear it away.
pub fn is_stale<S: System>(system: &S, bytes: &[u8]) -> bool {
    held_the_advisory(bytes) || owner(bytes).is_some_and(|id| !system.process_exists(id))
}

/// Takes the published lock back if it is still ours; looks once more if the system stumbles.
fn withdraw<S: System>(system: &S, kdna: &S::Directory, ours: Identity) {
    let look = || system.look_beneath(kdna, &entry(PUBLISHED)).map(|facts| facts.identity);
    if look().or_else(|_| look()) == Ok(ours) {
        discard(system, kdna, PUBLISHED);
        let _ = system.sync_directory(kdna);
    }
}
