//! Changing and judging the simulated world from outside of any call: how a test sets its scene, and how a hook plays
//! the other processes of the machine. Nothing here is logged or hooked.
//!
//! Paths are absolute; links above the last component are followed. What is changed here is durable at once: it was
//! there before the program under test, or is another's business.

use super::world::{Body, Inode, LockState, World};
use crate::foundation::path::AbsolutePath;
use crate::foundation::time::Timestamp;
use crate::system::{Ancestor, Facts, Fault, Kind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A directory would come to lie in itself.
const INVALID: Fault = Fault::Io(22);

impl World {
    /// Makes a directory with this mode, and those above it that are missing with mode 0755; an existing one gets the
    /// mode. Missing ones belong to the current user.
    pub fn directory(&mut self, path: &str, mode: u32) -> Result<(), Fault> {
        if path == "/" {
            return self.set_mode(path, mode);
        }
        self.parents(path)?;
        let (parent, name) = self.find_parent(path)?;
        match self.entry(parent, name) {
            Ok(_) => self.set_mode(path, mode),
            Err(Fault::NotFound) => self.place(path, Body::Directory(BTreeMap::new()), mode),
            Err(fault) => Err(fault),
        }
    }

    /// Puts a *new* regular file there, in place of what has the name; makes missing directories.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> Result<(), Fault> {
        self.place(path, Body::File(Arc::new(content.to_vec())), mode)
    }

    /// Puts a symbolic link there, in place of what has the name; makes missing directories.
    pub fn link(&mut self, path: &str, target: &str) -> Result<(), Fault> {
        self.place(path, Body::Link(target.to_owned()), 0o777)
    }

    /// Puts a FIFO there, in place of what has the name; makes missing directories.
    pub fn fifo(&mut self, path: &str, mode: u32) -> Result<(), Fault> {
        self.place(path, Body::Special, mode)
    }

    /// Makes a second name of a file.
    pub fn hard_link(&mut self, from: &str, to: &str) -> Result<(), Fault> {
        let inode = self.find(from)?;
        let (parent, name) = self.find_parent(to)?;
        self.free_name(parent, name)?;
        self.attach(parent, name, inode)?;
        self.keep_name(parent, name)
    }

    /// Changes the content of the file that is there: the same inode, other bytes.
    pub fn set_content(&mut self, path: &str, content: &[u8]) -> Result<(), Fault> {
        let inode = self.find(path)?;
        self.replace_content(inode, content.to_vec())?;
        self.sync(inode)
    }

    /// Renames across directories; what had the new name is removed.
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Fault> {
        let inode = self.find(from)?;
        if self.trail(to).is_ok_and(|trail| trail.last().is_some_and(|(_, there)| *there == inode)) {
            return Ok(());
        }
        self.refuse_inside(inode, to)?;
        self.remove_if_there(to)?;
        let (from, to) = (self.find_parent(from)?, self.find_parent(to)?);
        self.detach(from.0, from.1)?;
        self.attach(to.0, to.1, inode)?;
        self.keep_name(from.0, from.1)?;
        self.keep_name(to.0, to.1)
    }

    /// Exchanges what two paths name.
    pub fn swap(&mut self, one: &str, other: &str) -> Result<(), Fault> {
        let (first, second) = (self.find(one)?, self.find(other)?);
        self.refuse_inside(first, other)?;
        self.refuse_inside(second, one)?;
        let (one, other) = (self.find_parent(one)?, self.find_parent(other)?);
        self.detach(one.0, one.1)?;
        self.detach(other.0, other.1)?;
        self.attach(one.0, one.1, second)?;
        self.attach(other.0, other.1, first)?;
        self.keep_name(one.0, one.1)?;
        self.keep_name(other.0, other.1)
    }

    /// Removes a name, and everything below it.
    pub fn remove(&mut self, path: &str) -> Result<(), Fault> {
        let (parent, name) = self.find_parent(path)?;
        let inode = self.detach(parent, name)?;
        self.keep_name(parent, name)?;
        self.empty(inode)
    }

    /// Mounts an empty file system of another device on a directory; who holds what was there still sees it.
    pub fn mount(&mut self, path: &str, device: u64) -> Result<(), Fault> {
        let mode = self.node(self.find(path)?)?.mode;
        let (parent, name) = self.find_parent(path)?;
        self.detach(parent, name)?;
        self.place(path, Body::Directory(BTreeMap::new()), mode)?;
        let inode = self.find(path)?;
        let node = self.node_mut(inode)?;
        (node.mount, node.device) = (true, device);
        Ok(())
    }

    /// Makes what is there a mount point of the same device, as a bind mount onto itself does.
    pub fn bind(&mut self, path: &str) -> Result<(), Fault> {
        let inode = self.find(path)?;
        self.node_mut(inode)?.mount = true;
        Ok(())
    }

    /// Sets permission bits (`mode & 0o7777`).
    pub fn set_mode(&mut self, path: &str, mode: u32) -> Result<(), Fault> {
        let inode = self.find(path)?;
        self.node_mut(inode)?.mode = mode & 0o7777;
        self.touch_facts(inode)
    }

    /// Sets the owner.
    pub fn set_owner(&mut self, path: &str, owner: u32) -> Result<(), Fault> {
        let inode = self.find(path)?;
        self.node_mut(inode)?.owner = owner;
        self.touch_facts(inode)
    }

    /// Sets the time of the last change of content, as `touch -d` does; the time of change moves on.
    pub fn set_modified(&mut self, path: &str, modified: i128) -> Result<(), Fault> {
        let inode = self.find(path)?;
        self.node_mut(inode)?.modified = modified;
        self.touch_facts(inode)
    }

    /// Makes opening this file, and searching this directory, fail with [`Fault::Denied`], or no longer.
    pub fn set_denied(&mut self, path: &str, denied: bool) -> Result<(), Fault> {
        let inode = self.find(path)?;
        self.node_mut(inode)?.denied = denied;
        Ok(())
    }

    /// Another process takes the advisory lock of a file for this long (`Duration::MAX`: for ever).
    pub fn hold_lock(&mut self, path: &str, time: Duration) -> Result<(), Fault> {
        let (inode, until) = (self.find(path)?, self.monotonic.saturating_add(time));
        self.node_mut(inode)?.lock = LockState::Elsewhere(until);
        Ok(())
    }

    /// The facts of what a path names.
    pub fn facts_of(&self, path: &str) -> Result<Facts, Fault> {
        self.facts(self.find(path)?)
    }

    /// The content of a regular file.
    pub fn content_of(&self, path: &str) -> Result<Vec<u8>, Fault> {
        Ok(self.content(self.find(path)?)?.to_vec())
    }

    /// The paths of everything there is; a directory comes before what it holds.
    pub fn paths(&self) -> Vec<String> {
        self.all_paths().into_iter().map(|(path, _)| path).collect()
    }

    /// Sets the effective user id; 1000 at the start. What exists keeps its owner.
    pub fn set_user(&mut self, user: u32) {
        self.user = user;
    }

    /// Sets the account's home; `/home/person` at the start, which nothing creates.
    pub fn set_account_home(&mut self, home: Option<AbsolutePath>) {
        self.home = home;
    }

    /// Sets the working directory; `/` at the start. It is held: renaming it changes its path.
    pub fn set_working_directory(&mut self, path: &str) -> Result<(), Fault> {
        let inode = self.find(path)?;
        if self.node(inode)?.body.kind() != Kind::Directory {
            return Err(Fault::WrongKind);
        }
        self.working = inode;
        Ok(())
    }

    /// Sets the time of day, forwards or back. The monotonic clock does not move, and times of changes never go back.
    pub fn set_now(&mut self, now: Timestamp) {
        self.set_clock(now);
    }

    /// Lets time pass on both clocks.
    pub fn advance(&mut self, time: Duration) {
        self.pass(time);
    }

    /// Adds an answer for the person to give. With no answer left there is no terminal.
    pub fn answer(&mut self, line: &str) {
        self.answers.push_back(line.to_owned());
    }

    /// The processes above this one, its parent first; none at the start.
    pub fn set_ancestors(&mut self, ancestors: Vec<Ancestor>) {
        self.ancestors = ancestors;
    }

    /// The size of the person's terminal, rows and columns; untold at the start.
    pub fn set_window(&mut self, size: Option<(u16, u16)>) {
        self.window = size;
    }

    /// The questions shown so far.
    pub fn questions(&self) -> &[String] {
        &self.questions
    }

    fn parents(&mut self, path: &str) -> Result<(), Fault> {
        let (parent, _) = path.rsplit_once('/').ok_or(Fault::WrongKind)?;
        if parent.is_empty() || self.find(&format!("{parent}/.")).is_ok() {
            return Ok(());
        }
        self.directory(parent, 0o755)
    }

    fn place(&mut self, path: &str, body: Body, mode: u32) -> Result<(), Fault> {
        self.parents(path)?;
        self.remove_if_there(path)?;
        let (parent, name) = self.find_parent(path)?;
        let inode = self.add(parent, name, body, mode)?;
        self.sync(inode)?;
        self.keep_name(parent, name)
    }

    fn remove_if_there(&mut self, path: &str) -> Result<(), Fault> {
        match self.remove(path) {
            Err(Fault::NotFound) => Ok(()),
            other => other,
        }
    }

    fn empty(&mut self, directory: Inode) -> Result<(), Fault> {
        let Body::Directory(entries) = self.node(directory)?.body.clone() else { return Ok(()) };
        for name in entries.keys() {
            let inode = self.detach(directory, name)?;
            self.empty(inode)?;
        }
        self.sync(directory)
    }

    /// Makes one entry durable as it is now, without the others of its directory.
    fn keep_name(&mut self, directory: Inode, name: &str) -> Result<(), Fault> {
        let node = self.node_mut(directory)?;
        if let (Body::Directory(live), Body::Directory(durable)) = (&node.body, &mut node.durable) {
            match live.get(name) {
                Some(inode) => durable.insert(name.to_owned(), *inode),
                None => durable.remove(name),
            };
        }
        Ok(())
    }

    fn refuse_inside(&self, inode: Inode, path: &str) -> Result<(), Fault> {
        let (parent, _) = path.rsplit_once('/').ok_or(Fault::WrongKind)?;
        let inside = self.trail(&format!("{parent}/."))?.iter().any(|(_, above)| *above == inode);
        if inside { Err(INVALID) } else { Ok(()) }
    }
}
