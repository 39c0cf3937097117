//! `System` over the simulated world: writing, locking, sealing, asking, clocks. Every effect is in memory.

use super::call::{Call, HookAction};
use super::child::{self, SimOrder};
use super::walk::plain_name;
use super::world::{BAD_HANDLE, Body, Inode, LockState, World};
use super::{SimDirectory, SimFile, SimLock, SimSealed, SimSystem, labelled};
use crate::foundation::digest::Digest;
use crate::foundation::time::Timestamp;
use crate::system::{Ancestor, ChildFault, ChildOrder, ChildReport, Fault, Kind, NoTerminal, System};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of an answer that are returned.
const ANSWER_BYTES: usize = 16;
const NOT_EMPTY: Fault = Fault::Io(39);
/// A mount point can be neither renamed nor removed.
const BUSY: Fault = Fault::Io(16);

impl System for SimSystem {
    type Sealed = SimSealed;
    type Lock = SimLock;
    type Standby = ();

    fn make_directory(&self, parent: &SimDirectory, name: &str, mode: u32) -> Result<(), Fault> {
        let mut world = self.enter(Call::MakeDirectory, labelled(parent, name))?;
        plain_name(name)?;
        let parent = world.held(parent)?;
        world.add(parent, name, Body::Directory(BTreeMap::new()), mode).map(drop)
    }

    fn create_file(&self, directory: &SimDirectory, name: &str, mode: u32) -> Result<SimFile, Fault> {
        let label = labelled(directory, name);
        let mut world = self.enter(Call::CreateFile, label.clone())?;
        plain_name(name)?;
        let directory = world.held(directory)?;
        let inode = world.add(directory, name, Body::File(Arc::default()), mode)?;
        world.open_node(inode, label, true)
    }

    fn open_append(&self, directory: &SimDirectory, name: &str, mode: u32) -> Result<SimFile, Fault> {
        let label = labelled(directory, name);
        let mut world = self.enter(Call::OpenAppend, label.clone())?;
        plain_name(name)?;
        let directory = world.held(directory)?;
        let inode = match world.entry(directory, name) {
            Err(Fault::NotFound) => world.add(directory, name, Body::File(Arc::default()), mode)?,
            other => other?,
        };
        match world.node(inode)?.body.kind() {
            Kind::Regular => world.open_node(inode, label, true),
            Kind::Link => Err(Fault::Link),
            _ => Err(Fault::WrongKind),
        }
    }

    fn write(&self, file: &SimFile, bytes: &[u8]) -> Result<(), Fault> {
        let (mut world, action) = self.before(Call::Write, file.label.clone());
        let inode = world.writable(file)?;
        match action {
            HookAction::Proceed => world.append(inode, bytes),
            HookAction::Short(length) => {
                world.append(inode, bytes.get(..length).unwrap_or(bytes))?;
                Err(Fault::NoSpace)
            }
            HookAction::Fail(fault) => Err(fault),
        }
    }

    fn truncate(&self, file: &SimFile, length: u64) -> Result<(), Fault> {
        let mut world = self.enter(Call::Truncate, file.label.clone())?;
        let inode = world.writable(file)?;
        let mut content = world.content(inode)?.to_vec();
        content.resize(usize::try_from(length).map_err(|_| Fault::NoSpace)?, 0);
        world.replace_content(inode, content)
    }

    fn sync_file(&self, file: &SimFile) -> Result<(), Fault> {
        let mut world = self.enter(Call::SyncFile, file.label.clone())?;
        let inode = world.held_file(file)?;
        world.sync(inode)
    }

    fn sync_directory(&self, directory: &SimDirectory) -> Result<(), Fault> {
        let mut world = self.enter(Call::SyncDirectory, directory.label.clone())?;
        let inode = world.held(directory)?;
        world.sync(inode)
    }

    fn set_directory_mode(&self, directory: &SimDirectory, mode: u32) -> Result<(), Fault> {
        let mut world = self.enter(Call::SetDirectoryMode, directory.label.clone())?;
        let inode = world.held(directory)?;
        world.node_mut(inode)?.mode = mode & 0o7777;
        world.touch_facts(inode)
    }

    fn rename(&self, directory: &SimDirectory, from: &str, to: &str) -> Result<(), Fault> {
        let mut world = self.enter(Call::Rename, format!("{} -> {to}", labelled(directory, from)))?;
        plain_name(from)?;
        plain_name(to)?;
        let directory = world.held(directory)?;
        let moved = world.entry(directory, from)?;
        not_mounted(&world, moved)?;
        match world.entry(directory, to) {
            Ok(replaced) if replaced == moved => return Ok(()),
            Ok(replaced) => {
                not_mounted(&world, replaced)?;
                replaceable(&world, moved, replaced)?;
                world.detach(directory, to)?;
            }
            Err(Fault::NotFound) => {}
            Err(fault) => return Err(fault),
        }
        world.detach(directory, from)?;
        world.attach(directory, to, moved)
    }

    fn link(&self, directory: &SimDirectory, from: &str, to: &str) -> Result<(), Fault> {
        let mut world = self.enter(Call::Link, format!("{} -> {to}", labelled(directory, from)))?;
        world.second_name((directory, from), (directory, to))
    }

    fn link_across(&self, directory: &SimDirectory, from: &str, target: &SimDirectory, to: &str) -> Result<(), Fault> {
        let what = format!("{} -> {}", labelled(directory, from), labelled(target, to));
        let mut world = self.enter(Call::LinkAcross, what)?;
        world.second_name((directory, from), (target, to))
    }

    fn remove_directory(&self, parent: &SimDirectory, name: &str) -> Result<(), Fault> {
        let mut world = self.enter(Call::RemoveDirectory, labelled(parent, name))?;
        plain_name(name)?;
        let parent = world.held(parent)?;
        let inode = world.entry(parent, name)?;
        not_mounted(&world, inode)?;
        match &world.node(inode)?.body {
            Body::Directory(entries) if entries.is_empty() => {}
            Body::Directory(_) => return Err(NOT_EMPTY),
            _ => return Err(Fault::WrongKind),
        }
        world.detach(parent, name).map(drop)
    }

    fn remove(&self, directory: &SimDirectory, name: &str) -> Result<(), Fault> {
        let mut world = self.enter(Call::Remove, labelled(directory, name))?;
        plain_name(name)?;
        let directory = world.held(directory)?;
        let inode = world.entry(directory, name)?;
        if world.node(inode)?.body.kind() == Kind::Directory {
            return Err(Fault::WrongKind);
        }
        not_mounted(&world, inode)?;
        world.detach(directory, name).map(drop)
    }

    fn list(&self, directory: &SimDirectory) -> Result<Vec<String>, Fault> {
        let world = self.enter(Call::List, directory.label.clone())?;
        Ok(world.entries(world.held(directory)?)?.keys().cloned().collect())
    }

    fn lock(&self, file: &SimFile, wait: Duration) -> Result<SimLock, Fault> {
        let mut world = self.enter(Call::Lock, file.label.clone())?;
        let inode = world.held_file(file)?;
        let here = std::thread::current().id();
        let started = Instant::now();
        loop {
            match world.node(inode)?.lock {
                LockState::Free => break,
                LockState::Elsewhere(until) if until <= world.monotonic.saturating_add(wait) => {
                    let left = until.saturating_sub(world.monotonic);
                    world.pass(left);
                    break;
                }
                // Only another thread of ours can still let go; whoever waits for itself waits in virtual time.
                LockState::Here(holder) if holder != here && started.elapsed() < wait => {
                    let left = wait.saturating_sub(started.elapsed());
                    let woken = self.shared.released.wait_timeout(world, left);
                    world = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => {
                    world.pass(wait);
                    return Err(Fault::Locked);
                }
            }
        }
        world.node_mut(inode)?.lock = LockState::Here(here);
        Ok(SimLock { system: self.clone(), inode })
    }

    fn seal(&self, file: &SimFile, limit: u64) -> Result<(SimSealed, Digest), Fault> {
        let world = self.enter(Call::Seal, file.label.clone())?;
        let bytes = world.bounded(file, limit)?;
        Ok((SimSealed(Arc::from(bytes)), Digest::of(bytes)))
    }

    fn seal_bytes(&self, bytes: &[u8]) -> Result<SimSealed, Fault> {
        drop(self.enter(Call::Seal, String::new())?);
        Ok(SimSealed(Arc::from(bytes)))
    }

    fn run_by(
        &self,
        _: Option<()>,
        order: &ChildOrder<'_, Self>,
        meanwhile: impl FnOnce(),
    ) -> Result<ChildReport, ChildFault> {
        let label = order.directory.map_or_else(String::new, |directory| directory.label.clone());
        let world = self.enter(Call::Run, label).map_err(ChildFault::NotStarted)?;
        if let Some(directory) = order.directory {
            world.held(directory).map_err(ChildFault::NotStarted)?;
        }
        drop(world);
        meanwhile();
        child::run(self, &SimOrder::of(order))
    }
    fn stand_by(&self) -> Result<(), Fault> {
        self.enter(Call::StandBy, String::new()).map(drop)
    }

    fn ask(&self, question: &str) -> Result<String, NoTerminal> {
        let mut answer = self.answered(question)?;
        while answer.len() > ANSWER_BYTES {
            answer.pop();
        }
        Ok(answer)
    }

    fn ask_secret(&self, question: &str, answer: &mut [u8]) -> Result<Option<usize>, NoTerminal> {
        let typed = self.answered(question)?;
        let Some(room) = answer.get_mut(..typed.len()) else { return Ok(None) };
        room.copy_from_slice(typed.as_bytes());
        Ok(Some(typed.len()))
    }

    fn window(&self) -> Option<(u16, u16)> {
        self.before(Call::Window, String::new()).0.window
    }

    fn ancestors(&self) -> Result<Vec<Ancestor>, Fault> {
        Ok(self.enter(Call::Ancestors, String::new())?.ancestors.clone())
    }

    fn random(&self, buffer: &mut [u8]) -> Result<(), Fault> {
        let mut world = self.enter(Call::Random, String::new())?;
        for chunk in buffer.chunks_mut(8) {
            let number = world.next_random().to_le_bytes();
            for (byte, random) in chunk.iter_mut().zip(number) {
                *byte = random;
            }
        }
        Ok(())
    }

    fn now(&self) -> Timestamp {
        self.before(Call::Now, String::new()).0.timestamp()
    }

    fn monotonic(&self) -> Duration {
        self.before(Call::Monotonic, String::new()).0.monotonic
    }
}

impl SimSystem {
    /// The next answer that the person was told to give, if any is left.
    fn answered(&self, question: &str) -> Result<String, NoTerminal> {
        let mut world = self.enter(Call::Ask, String::new()).map_err(|_| NoTerminal)?;
        let answer = world.answers.pop_front().ok_or(NoTerminal)?;
        world.questions.push(question.to_owned());
        Ok(answer)
    }
}

impl World {
    fn second_name(&mut self, from: (&SimDirectory, &str), to: (&SimDirectory, &str)) -> Result<(), Fault> {
        plain_name(from.1)?;
        plain_name(to.1)?;
        let (directory, target) = (self.held(from.0)?, self.held(to.0)?);
        let inode = self.entry(directory, from.1)?;
        self.free_name(target, to.1)?;
        if self.node(inode)?.body.kind() == Kind::Directory {
            return Err(Fault::Denied);
        }
        self.attach(target, to.1, inode)
    }

    fn writable(&self, file: &SimFile) -> Result<Inode, Fault> {
        if file.writable { self.held_file(file) } else { Err(BAD_HANDLE) }
    }
}

fn not_mounted(world: &World, inode: Inode) -> Result<(), Fault> {
    if world.node(inode)?.mount { Err(BUSY) } else { Ok(()) }
}

/// Whether a rename may put `moved` in place of `replaced`.
fn replaceable(world: &World, moved: Inode, replaced: Inode) -> Result<(), Fault> {
    let moves_directory = world.node(moved)?.body.kind() == Kind::Directory;
    match &world.node(replaced)?.body {
        Body::Directory(entries) if moves_directory && entries.is_empty() => Ok(()),
        Body::Directory(_) if moves_directory => Err(NOT_EMPTY),
        Body::Directory(_) => Err(Fault::WrongKind),
        _ if moves_directory => Err(Fault::WrongKind),
        _ => Ok(()),
    }
}
