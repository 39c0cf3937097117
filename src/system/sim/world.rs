//! The simulated world: inodes, clock, answers, log. Nodes are never freed while the world lives, so that a handle sees
//! its file whatever happens to the path. Reaches nothing outside memory.

use super::call::{Call, CallEvent, HookAction};
use super::child::Script;
use crate::foundation::path::AbsolutePath;
use crate::foundation::time::Timestamp;
use crate::system::{Ancestor, Facts, Fault, Identity, Kind};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// Called before every call, with the world to change as another process would.
pub type Hook = Box<dyn FnMut(&mut World, &CallEvent) -> HookAction + Send>;

pub(super) type Inode = u64;
/// The inode of `/`.
pub(super) const ROOT: Inode = 1;
/// Bad descriptor: a handle of another world, or one that is not open for writing.
pub(super) const BAD_HANDLE: Fault = Fault::Io(9);
/// 2026-06-01T09:00:00.000Z, where every clock starts.
const START_NANOSECONDS: i128 = 1_780_304_400_000_000_000;
/// The device of everything that is not mounted.
const FIRST_DEVICE: u64 = 1;

/// Tells handles of different worlds apart; never shown.
static WORLDS: AtomicU64 = AtomicU64::new(1);

#[derive(Clone)]
pub(super) enum Body {
    File(Arc<Vec<u8>>),
    Directory(BTreeMap<String, Inode>),
    Link(String),
    Special,
}

impl Body {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Body::File(_) => Kind::Regular,
            Body::Directory(_) => Kind::Directory,
            Body::Link(_) => Kind::Link,
            Body::Special => Kind::Special,
        }
    }

    /// What a crash leaves of a node that was never synced.
    fn blank(&self) -> Body {
        match self {
            Body::File(_) => Body::File(Arc::default()),
            Body::Directory(_) => Body::Directory(BTreeMap::new()),
            other => other.clone(),
        }
    }
}

/// Who holds the advisory lock of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    Free,
    Here(ThreadId),
    /// Another process, until this monotonic time.
    Elsewhere(Duration),
}

#[derive(Clone)]
pub(super) struct Node {
    pub(super) body: Body,
    /// What survives a loss of power.
    pub(super) durable: Body,
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) device: u64,
    pub(super) mount: bool,
    pub(super) denied: bool,
    /// Directory entries that name it; 0 = removed.
    pub(super) names: u64,
    pub(super) modified: i128,
    pub(super) changed: i128,
    pub(super) lock: LockState,
}

/// Everything there is. A hook gets it to play the other processes of the machine; see `arrange.rs` for the ways to
/// change it by path.
pub struct World {
    pub(super) id: u64,
    pub(super) nodes: BTreeMap<Inode, Node>,
    pub(super) next: Inode,
    pub(super) wall: i128,
    pub(super) monotonic: Duration,
    /// The last time given to a change; no two changes share one.
    pub(super) stamp: i128,
    pub(super) random: u64,
    pub(super) user: u32,
    pub(super) home: Option<AbsolutePath>,
    pub(super) working: Inode,
    pub(super) answers: VecDeque<String>,
    pub(super) questions: Vec<String>,
    pub(super) ancestors: Vec<Ancestor>,
    pub(super) window: Option<(u16, u16)>,
    pub(super) step: String,
    pub(super) log: Vec<CallEvent>,
    pub(super) calls: u64,
    pub(super) hook: Option<Hook>,
    pub(super) script: Option<Arc<Script>>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut world = World {
            id: Self::new_id(),
            nodes: BTreeMap::new(),
            next: ROOT,
            wall: START_NANOSECONDS,
            monotonic: Duration::ZERO,
            stamp: START_NANOSECONDS,
            random: seed,
            user: 1000,
            home: AbsolutePath::parse("/home/person").ok(),
            working: ROOT,
            answers: VecDeque::new(),
            questions: Vec::new(),
            ancestors: Vec::new(),
            window: None,
            step: String::new(),
            log: Vec::new(),
            calls: 0,
            hook: None,
            script: None,
        };
        world.new_node(Body::Directory(BTreeMap::new()), 0o755, 0, FIRST_DEVICE, 1);
        world
    }

    pub(super) fn new_id() -> u64 {
        WORLDS.fetch_add(1, Ordering::Relaxed)
    }

    /// Logs a call and asks the hook. The hook is taken out meanwhile, so that it can have the whole world.
    pub(super) fn before(&mut self, call: Call, at: String, in_child: bool) -> HookAction {
        self.calls += 1;
        let event = CallEvent { number: self.calls, call, at, in_child, step: self.step.clone() };
        self.log.push(event.clone());
        let Some(mut hook) = self.hook.take() else { return HookAction::Proceed };
        let action = hook(self, &event);
        self.hook = Some(hook);
        action
    }

    fn new_node(&mut self, body: Body, mode: u32, owner: u32, device: u64, names: u64) -> Inode {
        let now = self.next_stamp();
        let inode = self.next;
        self.next += 1;
        let node = Node {
            durable: body.blank(),
            body,
            mode,
            owner,
            device,
            mount: false,
            denied: false,
            names,
            modified: now,
            changed: now,
            lock: LockState::Free,
        };
        self.nodes.insert(inode, node);
        inode
    }

    fn next_stamp(&mut self) -> i128 {
        self.stamp = self.wall.max(self.stamp + 1);
        self.stamp
    }

    pub(super) fn node(&self, inode: Inode) -> Result<&Node, Fault> {
        self.nodes.get(&inode).ok_or(BAD_HANDLE)
    }

    pub(super) fn node_mut(&mut self, inode: Inode) -> Result<&mut Node, Fault> {
        self.nodes.get_mut(&inode).ok_or(BAD_HANDLE)
    }

    pub(super) fn facts(&self, inode: Inode) -> Result<Facts, Fault> {
        let node = self.node(inode)?;
        let (size, links) = match &node.body {
            Body::File(bytes) => (bytes.len(), node.names),
            Body::Directory(_) if node.names == 0 => (0, 0),
            Body::Directory(entries) => (entries.len(), 2 + self.subdirectories(entries)),
            Body::Link(target) => (target.len(), node.names),
            Body::Special => (0, node.names),
        };
        Ok(Facts {
            identity: Identity { device: node.device, inode },
            kind: node.body.kind(),
            mode: node.mode,
            owner: node.owner,
            links,
            size: u64::try_from(size).unwrap_or(u64::MAX),
            modified: node.modified,
            changed: node.changed,
        })
    }

    fn subdirectories(&self, entries: &BTreeMap<String, Inode>) -> u64 {
        let is_directory = |inode: &&Inode| self.nodes.get(inode).is_some_and(|n| n.body.kind() == Kind::Directory);
        entries.values().filter(is_directory).fold(0, |count, _| count + 1)
    }

    /// The entries of a directory that can be searched.
    pub(super) fn entries(&self, directory: Inode) -> Result<&BTreeMap<String, Inode>, Fault> {
        let node = self.node(directory)?;
        match &node.body {
            Body::Directory(_) if node.denied => Err(Fault::Denied),
            Body::Directory(entries) => Ok(entries),
            _ => Err(Fault::WrongKind),
        }
    }

    pub(super) fn entry(&self, directory: Inode, name: &str) -> Result<Inode, Fault> {
        self.entries(directory)?.get(name).copied().ok_or(Fault::NotFound)
    }

    pub(super) fn content(&self, inode: Inode) -> Result<&Arc<Vec<u8>>, Fault> {
        match &self.node(inode)?.body {
            Body::File(bytes) => Ok(bytes),
            _ => Err(Fault::WrongKind),
        }
    }

    /// Notes that content (of a file) or entries (of a directory) changed.
    pub(super) fn touch_content(&mut self, inode: Inode) -> Result<(), Fault> {
        let now = self.next_stamp();
        let node = self.node_mut(inode)?;
        (node.modified, node.changed) = (now, now);
        Ok(())
    }

    /// Notes that facts changed.
    pub(super) fn touch_facts(&mut self, inode: Inode) -> Result<(), Fault> {
        let now = self.next_stamp();
        self.node_mut(inode)?.changed = now;
        Ok(())
    }

    pub(super) fn replace_content(&mut self, inode: Inode, content: Vec<u8>) -> Result<(), Fault> {
        match &mut self.node_mut(inode)?.body {
            Body::File(bytes) => *bytes = Arc::new(content),
            _ => return Err(Fault::WrongKind),
        }
        self.touch_content(inode)
    }

    pub(super) fn append(&mut self, inode: Inode, more: &[u8]) -> Result<(), Fault> {
        match &mut self.node_mut(inode)?.body {
            Body::File(bytes) => Arc::make_mut(bytes).extend_from_slice(more),
            _ => return Err(Fault::WrongKind),
        }
        self.touch_content(inode)
    }

    /// A new node under a free name, on the directory's device.
    pub(super) fn add(&mut self, directory: Inode, name: &str, body: Body, mode: u32) -> Result<Inode, Fault> {
        let (device, owner) = (self.node(directory)?.device, self.user);
        self.free_name(directory, name)?;
        let inode = self.new_node(body, mode & 0o7777, owner, device, 0);
        self.attach(directory, name, inode)?;
        Ok(inode)
    }

    /// [`Fault::Exists`] if the name is taken, [`Fault::NotFound`] in a removed directory.
    pub(super) fn free_name(&self, directory: Inode, name: &str) -> Result<(), Fault> {
        match self.entry(directory, name) {
            Ok(_) => Err(Fault::Exists),
            Err(Fault::NotFound) if self.node(directory)?.names > 0 => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    pub(super) fn attach(&mut self, directory: Inode, name: &str, inode: Inode) -> Result<(), Fault> {
        match &mut self.node_mut(directory)?.body {
            Body::Directory(entries) => entries.insert(name.to_owned(), inode),
            _ => return Err(Fault::WrongKind),
        };
        self.node_mut(inode)?.names += 1;
        self.touch_facts(inode)?;
        self.touch_content(directory)
    }

    pub(super) fn detach(&mut self, directory: Inode, name: &str) -> Result<Inode, Fault> {
        let removed = match &mut self.node_mut(directory)?.body {
            Body::Directory(entries) => entries.remove(name),
            _ => return Err(Fault::WrongKind),
        };
        let inode = removed.ok_or(Fault::NotFound)?;
        let node = self.node_mut(inode)?;
        node.names = node.names.saturating_sub(1);
        self.touch_facts(inode)?;
        self.touch_content(directory)?;
        Ok(inode)
    }

    pub(super) fn sync(&mut self, inode: Inode) -> Result<(), Fault> {
        let node = self.node_mut(inode)?;
        node.durable = node.body.clone();
        Ok(())
    }

    pub(super) fn set_clock(&mut self, now: Timestamp) {
        self.wall = i128::from(now.milliseconds()) * 1_000_000;
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.monotonic = self.monotonic.saturating_add(time);
        self.wall = self.wall.saturating_add(i128::try_from(time.as_nanos()).unwrap_or(i128::MAX));
    }

    pub(super) fn timestamp(&self) -> Timestamp {
        Timestamp::from_milliseconds(i64::try_from(self.wall.div_euclid(1_000_000)).unwrap_or(i64::MAX))
    }

    /// The next number of splitmix64.
    pub(super) fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
