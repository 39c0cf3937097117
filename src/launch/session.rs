//! One session: a private directory in memory with a lock that is held as long as the launcher runs, and the password
//! file. Gone when it is dropped; what a killed launcher left is swept by the next one, by the lock and never by age. The
//! directory of a session that is alive is never touched.

use crate::capability::private_file::temporary_name;
use crate::capability::secret::Secret;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::launch::place::MemoryPlace;
use crate::system::{Fault, Kind, System};
use std::time::Duration;

/// Beginning of the name of every session's directory.
pub const PREFIX: &str = "kdna-broker-session";
const LOCK: &str = "lock";
const PASSWORD: &str = "password";
/// How often a new directory may be mistaken for a dead one and swept before it is locked.
const ATTEMPTS: usize = 8;

/// A session of this process.
pub struct Session<S: System> {
    system: S,
    parent: S::Directory,
    name: String,
    directory: S::Directory,
    path: AbsolutePath,
    lock: Option<S::Lock>,
}

impl<S: System + Clone> Session<S> {
    /// Makes a directory with mode 0700 and takes its lock. Refuses `session_not_made`.
    pub fn begin(system: &S, place: &MemoryPlace<S::Directory>) -> Result<Self, Refusal> {
        for _ in 0..ATTEMPTS {
            match attempt(system, place) {
                // Somebody who sweeps saw it before it was locked.
                Err(Fault::NotFound | Fault::Locked | Fault::Changed) => {}
                Err(_) => break,
                Ok(session) => return Ok(session),
            }
        }
        Err(Reason::SessionNotMade.into())
    }

    /// The directory.
    pub fn path(&self) -> &AbsolutePath {
        &self.path
    }

    /// Writes the password, 0600, and tells where. What is read of the file later is exactly what was given here: one line
    /// end is dropped from a file, so one is written.
    pub fn place_password(&self, secret: &Secret) -> Result<AbsolutePath, Refusal> {
        let path = self.path.resolve(PASSWORD).ok_or(Reason::SessionNotMade)?;
        let written = self.system.create_file(&self.directory, PASSWORD, 0o600).and_then(|file| {
            self.system.write(&file, secret.expose())?;
            self.system.write(&file, b"\r\n")
        });
        match written {
            Ok(()) => Ok(path),
            Err(_) => Err(Reason::SessionNotMade.into()),
        }
    }
}

impl<S: System> Session<S> {
    /// Removes everything, now. May be repeated.
    pub fn remove(&mut self) {
        if let Some(lock) = self.lock.take() {
            empty(&self.system, &self.directory);
            let _ = self.system.remove_directory(&self.parent, &self.name);
            drop(lock);
        }
    }
}

impl<S: System> Drop for Session<S> {
    fn drop(&mut self) {
        self.remove();
    }
}

fn attempt<S: System + Clone>(system: &S, place: &MemoryPlace<S::Directory>) -> Result<Session<S>, Fault> {
    let name = temporary_name(system, PREFIX)?;
    system.make_directory(&place.directory, &name, 0o700)?;
    let below = RelativePath::parse(&name).ok_or(Fault::WrongKind)?;
    let directory = system.open_directory_beneath(&place.directory, &below)?;
    let file = system.create_file(&directory, LOCK, 0o600)?;
    let lock = system.lock(&file, Duration::ZERO)?;
    // Whoever swept it did so before the lock was taken, or not at all.
    let there = system.look_beneath(&directory, &RelativePath::parse(LOCK).ok_or(Fault::WrongKind)?)?;
    if there.identity != system.file_facts(&file)?.identity {
        return Err(Fault::Changed);
    }
    Ok(Session {
        system: system.clone(),
        parent: place.directory.clone(),
        name,
        directory,
        path: place.path.join(&below),
        lock: Some(lock),
    })
}

/// Removes what ended launchers of this user left in a place; says how many sessions that were.
pub fn sweep<S: System>(system: &S, place: &MemoryPlace<S::Directory>) -> usize {
    let names = system.list(&place.directory).unwrap_or_default();
    let sessions = names.iter().filter(|name| name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('-')));
    sessions.filter(|name| sweep_one(system, place, name).is_ok()).count()
}

fn sweep_one<S: System>(system: &S, place: &MemoryPlace<S::Directory>, name: &str) -> Result<(), Fault> {
    let below = RelativePath::parse(name).ok_or(Fault::WrongKind)?;
    let directory = system.open_directory_beneath(&place.directory, &below)?;
    let facts = system.directory_facts(&directory)?;
    if facts.owner != system.user() || facts.kind != Kind::Directory {
        return Err(Fault::Denied);
    }
    let lock = match system.open_file_in(&directory, LOCK) {
        Ok(file) => Some(system.lock(&file, Duration::ZERO)?),
        // It was killed before it had one: there is nothing in it.
        Err(Fault::NotFound) => None,
        Err(fault) => return Err(fault),
    };
    empty(system, &directory);
    system.remove_directory(&place.directory, name)?;
    drop(lock);
    Ok(())
}

/// The password first, the lock last: what is swept half is swept again.
fn empty<S: System>(system: &S, directory: &S::Directory) {
    let _ = system.remove(directory, PASSWORD);
    let others = system.list(directory).unwrap_or_default();
    for name in others.iter().filter(|name| *name != LOCK) {
        let _ = system.remove(directory, name);
    }
    let _ = system.remove(directory, LOCK);
}
