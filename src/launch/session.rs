//! One session: a private directory in memory with a lock that is held as long as the launcher runs, and the password
//! file. Gone when it is dropped; what a killed launcher left is swept by the next one, by the lock and never by age. The
//! directory of a session that is alive is never touched.

use crate::capability::private_file::temporary_name;
use crate::capability::secret::Secret;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::launch::place::MemoryPlace;
use crate::system::{Facts, Fault, Kind, System};
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
                // Somebody who sweeps saw it before it was locked, and may have locked it first.
                Err(Fault::NotFound | Fault::Locked | Fault::Changed | Fault::Exists) => {}
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
    let made = locked(system, place, &name);
    if made.is_err() {
        let path = RelativePath::parse(&name).unwrap_or_default();
        if let Ok(directory) = system.open_directory_beneath(&place.directory, &path) {
            empty(system, &directory);
        }
        let _ = system.remove_directory(&place.directory, &name);
    }
    made
}

fn locked<S: System + Clone>(system: &S, place: &MemoryPlace<S::Directory>, name: &str) -> Result<Session<S>, Fault> {
    let below = RelativePath::parse(name).ok_or(Fault::WrongKind)?;
    let directory = system.open_directory_beneath(&place.directory, &below)?;
    let file = system.create_file(&directory, LOCK, 0o600)?;
    let lock = hold(system, &directory, &file)?;
    Ok(Session {
        system: system.clone(),
        parent: place.directory.clone(),
        name: name.to_owned(),
        directory,
        path: place.path.join(&below),
        lock: Some(lock),
    })
}

/// Removes what ended launchers of this user left in a place; says how many sessions that were. Fails where the place cannot
/// be listed; what others put there is passed over.
pub fn sweep<S: System>(system: &S, place: &MemoryPlace<S::Directory>) -> Result<usize, Fault> {
    let sessions = system.list_own(&place.directory, &format!("{PREFIX}-"))?;
    Ok(sessions.iter().filter(|name| sweep_one(system, place, name).is_ok()).count())
}

fn sweep_one<S: System>(system: &S, place: &MemoryPlace<S::Directory>, name: &str) -> Result<(), Fault> {
    let below = RelativePath::parse(name).ok_or(Fault::WrongKind)?;
    let directory = system.open_directory_beneath(&place.directory, &below)?;
    let facts = system.directory_facts(&directory)?;
    if facts.owner != system.user() || facts.kind != Kind::Directory {
        return Err(Fault::Denied);
    }
    let lock = dead(system, &directory)?;
    empty(system, &directory);
    system.remove_directory(&place.directory, name)?;
    drop(lock);
    Ok(())
}

/// Holds the lock of a session whose launcher has ended, so that nobody else begins one there; `None` where something else
/// stands in its place, which nobody can hold.
fn dead<S: System>(system: &S, directory: &S::Directory) -> Result<Option<S::Lock>, Fault> {
    let file = match look_at_lock(system, directory) {
        Ok(facts) if facts.kind != Kind::Regular => return Ok(None),
        Ok(_) => system.open_file_in(directory, LOCK)?,
        // Killed before it had one, or just about to make it: who makes it first has the directory.
        Err(Fault::NotFound) => system.create_file(directory, LOCK, 0o600)?,
        Err(fault) => return Err(fault),
    };
    hold(system, directory, &file).map(Some)
}

/// Locks the file and makes sure that it still is the one of this name: who removed it did so before the lock was taken.
fn hold<S: System>(system: &S, directory: &S::Directory, file: &S::File) -> Result<S::Lock, Fault> {
    let lock = system.lock(file, Duration::ZERO)?;
    let same = look_at_lock(system, directory)?.identity == system.file_facts(file)?.identity;
    if same { Ok(lock) } else { Err(Fault::Changed) }
}

fn look_at_lock<S: System>(system: &S, directory: &S::Directory) -> Result<Facts, Fault> {
    system.look_beneath(directory, &RelativePath::parse(LOCK).ok_or(Fault::WrongKind)?)
}

/// The password first, the lock last: what is swept half is swept again.
fn empty<S: System>(system: &S, directory: &S::Directory) {
    let _ = system.set_directory_mode(directory, 0o700);
    let _ = system.remove(directory, PASSWORD);
    let _ = system.clear(directory, LOCK);
    if system.remove(directory, LOCK).is_err() {
        // A directory stands there.
        let _ = system.clear(directory, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Observe;
    use crate::system::sim::{Call, HookAction, SimSystem};

    const PLACE: &str = "/run/user/7";

    fn machine() -> (SimSystem, MemoryPlace<<SimSystem as Observe>::Directory>) {
        let system = SimSystem::new(1);
        system.arrange(|world| world.directory(PLACE, 0o700)).unwrap();
        let path = AbsolutePath::parse(PLACE).unwrap();
        let directory = system.open_directory(&path).unwrap();
        (system, MemoryPlace { directory, path })
    }

    fn secret(system: &SimSystem) -> Secret {
        let mut buffer = Secret::buffer(system);
        buffer.as_mut_slice()[..6].copy_from_slice(b"canary");
        Secret::new(buffer, 6).unwrap()
    }

    /// What lies in the place, and whether any of it holds the password.
    fn left(system: &SimSystem) -> (Vec<String>, bool) {
        system.arrange(|world| {
            let below = |path: &String| path.starts_with(PLACE) && path != PLACE;
            let paths: Vec<String> = world.paths().into_iter().filter(below).collect();
            let holds = |path: &String| world.content_of(path).is_ok_and(|bytes| bytes.starts_with(b"canary"));
            let found = paths.iter().any(holds);
            (paths, found)
        })
    }

    /// A whole session; whether it came to be.
    fn session(system: &SimSystem, place: &MemoryPlace<<SimSystem as Observe>::Directory>) -> Result<(), Refusal> {
        let secret = secret(system);
        let session = Session::begin(system, place)?;
        let path = session.place_password(&secret)?;
        assert!(path.as_str().starts_with(session.path().as_str()));
        assert!(left(system).1, "it is there while the session lives");
        Ok(())
    }

    #[test]
    fn a_session_leaves_nothing_and_whatever_call_fails_no_password() {
        let (system, place) = machine();
        system.clear_log();
        session(&system, &place).unwrap();
        assert_eq!(left(&system), (vec![], false));
        let calls = u64::try_from(system.log().len()).unwrap();
        let mut refused = 0;
        for failing in 1..=calls {
            for action in [HookAction::Fail(Fault::NoSpace), HookAction::Fail(Fault::Io(5)), HookAction::Short(3)] {
                let (system, place) = machine();
                system.clear_log();
                system.set_hook(move |_, event| if event.number == failing { action } else { HookAction::Proceed });
                refused += usize::from(session(&system, &place).is_err());
                system.clear_hook();
                assert!(!left(&system).1, "call {failing}: {action:?}");
                sweep(&system, &place).unwrap();
                assert_eq!(left(&system).0, Vec::<String>::new(), "call {failing}: {action:?}: the next start sweeps");
            }
        }
        assert!(refused >= 8, "drawing, making, locking and writing each refuse: {refused}");
    }

    #[test]
    fn a_session_that_lives_is_never_swept_and_a_dead_one_and_nothing_else_is() {
        let (system, place) = machine();
        let live = Session::begin(&system, &place).unwrap();
        live.place_password(&secret(&system)).unwrap();
        let dead = format!("{PLACE}/{PREFIX}-0123456789abcdef");
        let others = [format!("{PLACE}/{PREFIX}"), format!("{PLACE}/{PREFIX}s-1"), format!("{PLACE}/other")];
        system.arrange(|world| {
            for path in others.iter().chain([&dead]) {
                world.directory(path, 0o700).unwrap();
                world.file(&format!("{path}/lock"), 0o600, b"").unwrap();
                world.file(&format!("{path}/password"), 0o600, b"x").unwrap();
            }
        });
        assert_eq!(sweep(&system, &place), Ok(1));
        let paths = left(&system).0;
        assert!(!paths.contains(&dead) && others.iter().all(|other| paths.contains(&format!("{other}/password"))));
        assert!(paths.contains(&format!("{}/password", live.path().as_str())));
        // Another user's directory of that name is left alone.
        system.arrange(|world| {
            world.directory(&dead, 0o700).unwrap();
            world.set_owner(&dead, 4242).unwrap();
        });
        assert_eq!((sweep(&system, &place), left(&system).0.contains(&dead)), (Ok(0), true));
        drop(live);
        assert!(!left(&system).1);
    }

    #[test]
    fn a_directory_that_is_swept_before_it_is_locked_is_made_anew() {
        let (system, place) = machine();
        let mut swept = false;
        system.set_hook(move |world, event| {
            if event.call == Call::Lock && !swept {
                swept = true;
                let made = world.paths().into_iter().find(|path| path.ends_with("/lock")).unwrap();
                world.remove(&made).unwrap();
                world.remove(made.trim_end_matches("/lock")).unwrap();
            }
            HookAction::Proceed
        });
        let session = Session::begin(&system, &place).unwrap();
        assert!(left(&system).0.contains(&format!("{}/lock", session.path().as_str())));
    }

    #[test]
    fn who_sweeps_takes_the_lock_of_a_directory_without_one_so_that_a_session_that_begins_there_is_never_removed() {
        let (system, place) = machine();
        let half = format!("{PLACE}/{PREFIX}-0123456789abcdef");
        system.arrange(|world| world.directory(&half, 0o700)).unwrap();
        let begins = half.clone();
        // The other launcher makes its lock between the look of who sweeps and what follows.
        system.set_hook(move |world, event| {
            if event.call == Call::CreateFile {
                world.file(&format!("{begins}/lock"), 0o600, b"").unwrap();
            }
            HookAction::Proceed
        });
        assert_eq!(sweep(&system, &place), Ok(0));
        system.clear_hook();
        assert!(left(&system).0.contains(&format!("{half}/lock")), "nothing of it was removed");
        assert_eq!((sweep(&system, &place), left(&system).0), (Ok(1), vec![]), "where nobody lives it is");
    }

    #[test]
    fn a_place_that_cannot_be_listed_is_told_apart_from_one_with_nothing_to_sweep() {
        let (system, place) = machine();
        assert_eq!(sweep(&system, &place), Ok(0));
        system.set_hook(|_, event| match event.call {
            Call::List => HookAction::Fail(Fault::Denied),
            _ => HookAction::Proceed,
        });
        assert_eq!(sweep(&system, &place), Err(Fault::Denied));
    }

    #[test]
    fn a_session_whose_lock_was_made_first_by_who_sweeps_takes_another_name() {
        let (system, place) = machine();
        let mut taken = false;
        system.set_hook(move |_, event| {
            let first = event.call == Call::CreateFile && !taken;
            taken |= first;
            if first { HookAction::Fail(Fault::Exists) } else { HookAction::Proceed }
        });
        let session = Session::begin(&system, &place).unwrap();
        assert_eq!(left(&system).0.len(), 2, "the directory and its lock, and nothing of the first try");
        assert!(left(&system).0.contains(&format!("{}/lock", session.path().as_str())));
    }
}
