//! The operating system in memory: deterministic, with a hook before every call, a virtual clock, a scripted runtime and
//! a power switch. Public, so that whoever builds on the broker can test as the broker's own tests do. Touches no file,
//! process or clock of the machine (threads that wait for each other's lock wait in real time).
//!
//! Permission bits are facts to judge, not enforced: opening fails only where [`World::set_denied`] says so.
//!
//! ```
//! use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
//! use kdna_broker::system::sim::{Call, HookAction, SimSystem};
//! use kdna_broker::system::{Fault, Observe};
//!
//! # fn main() -> Result<(), Fault> {
//! let system = SimSystem::new(1);
//! system.arrange(|world| world.file("/w/app/notes", 0o600, b"first"))?;
//! system.set_hook(|world, event| {
//!     if event.call == Call::Read {
//!         let _ = world.set_content("/w/app/notes", b"swapped");
//!     }
//!     HookAction::Proceed
//! });
//! # let (root, notes) = (AbsolutePath::parse("/w/app").unwrap(), RelativePath::parse("notes").unwrap());
//! let file = system.open_file_beneath(&system.open_directory(&root)?, &notes)?;
//! let before = system.file_facts(&file)?;
//! assert_eq!(system.read(&file, 100)?, b"swapped");
//! assert_ne!(system.file_facts(&file)?, before);
//! # Ok(())
//! # }
//! ```

mod arrange;
mod call;
mod child;
mod crash;
mod effects;
mod hooked;
mod observe;
mod walk;
mod world;

pub use call::{Call, CallEvent, HookAction};
pub use child::{Script, SimOrder};
pub use crash::{Content, Crash, Entries};
pub use hooked::Hooked;
pub use world::{Hook, World};

use crate::foundation::path::AbsolutePath;
use crate::system::{ChildFault, ChildReport, Fault};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use world::{BAD_HANDLE, Inode, LockState, ROOT};

/// A simulated system. Clones share one world.
#[derive(Clone)]
pub struct SimSystem {
    shared: Arc<Shared>,
    child: Option<Grant>,
}

/// The directory that a child may open things beneath.
#[derive(Clone, Copy)]
struct Grant(Option<Inode>);

struct Shared {
    world: Mutex<World>,
    released: Condvar,
}

/// A held directory of a simulated system.
#[derive(Clone, Debug)]
pub struct SimDirectory {
    world: u64,
    inode: Inode,
    label: String,
}

/// A held file of a simulated system.
#[derive(Debug)]
pub struct SimFile {
    world: u64,
    inode: Inode,
    label: String,
    writable: bool,
}

/// Sealed bytes of a simulated system: a copy that nothing changes any more.
pub struct SimSealed(Arc<[u8]>);

/// A held advisory lock of a simulated system. It excludes everybody, the same handle once more included, as the real one
/// does. Must not be dropped inside a hook.
pub struct SimLock {
    system: SimSystem,
    inode: Inode,
}

impl SimSystem {
    /// A world with an empty `/` (0755, root's), user 1000, the clock at 2026-06-01T09:00:00.000Z. The seed decides
    /// what `random` gives.
    pub fn new(seed: u64) -> Self {
        Self::of(World::new(seed))
    }

    fn of(world: World) -> Self {
        Self { shared: Arc::new(Shared { world: Mutex::new(world), released: Condvar::new() }), child: None }
    }

    /// Changes or reads the world outside of any call: neither logged nor hooked. Inside of it, and inside a hook, no
    /// call of the system can be made (it would wait for itself).
    pub fn arrange<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        change(&mut self.world())
    }

    /// Installs the hook that is called before every call, in place of the one before.
    pub fn set_hook(&self, hook: impl FnMut(&mut World, &CallEvent) -> HookAction + Send + 'static) {
        self.world().hook = Some(Box::new(hook));
    }

    /// Removes the hook.
    pub fn clear_hook(&self) {
        self.world().hook = None;
    }

    /// Installs what plays the runtime process. Without one nothing can be run.
    pub fn set_script(
        &self,
        script: impl Fn(&SimSystem, &SimOrder<'_>) -> Result<ChildReport, ChildFault> + Send + Sync + 'static,
    ) {
        self.world().script = Some(Arc::new(Box::new(script)));
    }

    /// Announces which step of the load runs now; every later event carries it.
    pub fn set_step(&self, step: &str) {
        step.clone_into(&mut self.world().step);
    }

    /// Every call so far, in order.
    pub fn log(&self) -> Vec<CallEvent> {
        self.world().log.clone()
    }

    /// Forgets the calls so far; numbers start at 1 again.
    pub fn clear_log(&self) {
        let mut world = self.world();
        world.log.clear();
        world.calls = 0;
    }

    /// How often a call was made.
    pub fn calls(&self, call: Call) -> usize {
        self.world().log.iter().filter(|event| event.call == call).count()
    }

    /// How often something was opened by exactly this path, or its opening was tried.
    pub fn opens(&self, path: &str) -> usize {
        self.world().log.iter().filter(|event| event.call.opens() && event.at == path).count()
    }

    /// Lets time pass on both clocks.
    pub fn advance(&self, time: Duration) {
        self.world().advance(time);
    }

    /// The system after a loss of power now. This one is left as it is.
    pub fn crash(&self, crash: Crash) -> SimSystem {
        self.world().crash(crash)
    }

    /// The same world as a sandboxed runtime process sees it that was given this directory: its calls are marked, and
    /// those that the sandbox forbids, absolute opens outside of the directory among them, fail with [`Fault::Denied`].
    pub fn as_child(&self, directory: Option<&SimDirectory>) -> SimSystem {
        let grant = Grant(directory.map(|directory| directory.inode));
        SimSystem { shared: Arc::clone(&self.shared), child: Some(grant) }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call: log, hook, sandbox.
    fn before(&self, call: Call, at: String) -> (MutexGuard<'_, World>, HookAction) {
        let mut world = self.world();
        let action = world.before(call, at, self.child.is_some());
        let forbidden = self.child.is_some() && !call.works_in_child();
        (world, if forbidden { HookAction::Fail(Fault::Denied) } else { action })
    }

    /// Begins a call that happens whole or not at all.
    fn enter(&self, call: Call, at: String) -> Result<MutexGuard<'_, World>, Fault> {
        let (world, action) = self.before(call, at);
        action.fault().map_or(Ok(world), Err)
    }

    /// Whether whoever asks may open this path at all.
    fn granted(&self, world: &World, path: &AbsolutePath) -> Result<(), Fault> {
        let Some(Grant(grant)) = self.child else { return Ok(()) };
        let below = world.trail(path.as_str())?.into_iter().map(|(_, inode)| inode);
        if std::iter::once(ROOT).chain(below).any(|inode| Some(inode) == grant) { Ok(()) } else { Err(Fault::Denied) }
    }
}

impl World {
    /// The system after a loss of power now; for hooks, which cannot call [`SimSystem::crash`].
    pub fn crash(&self, crash: Crash) -> SimSystem {
        SimSystem::of(self.after(crash))
    }

    fn held(&self, directory: &SimDirectory) -> Result<Inode, Fault> {
        if directory.world == self.id { Ok(directory.inode) } else { Err(BAD_HANDLE) }
    }

    fn held_file(&self, file: &SimFile) -> Result<Inode, Fault> {
        if file.world == self.id { Ok(file.inode) } else { Err(BAD_HANDLE) }
    }

    fn open_node(&self, inode: Inode, label: String, writable: bool) -> Result<SimFile, Fault> {
        if self.node(inode)?.denied {
            return Err(Fault::Denied);
        }
        Ok(SimFile { world: self.id, inode, label, writable })
    }

    fn bounded(&self, file: &SimFile, limit: u64) -> Result<&[u8], Fault> {
        let bytes = self.content(self.held_file(file)?)?;
        if u64::try_from(bytes.len()).map_or(true, |length| length > limit) {
            return Err(Fault::TooLarge);
        }
        Ok(bytes)
    }
}

impl SimSealed {
    /// The sealed bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut world = self.system.world();
        if let Ok(node) = world.node_mut(self.inode)
            && matches!(node.lock, LockState::Here(_))
        {
            node.lock = LockState::Free;
        }
        drop(world);
        self.system.shared.released.notify_all();
    }
}

impl fmt::Debug for SimSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimSystem").field("in_child", &self.child.is_some()).finish_non_exhaustive()
    }
}

impl fmt::Debug for SimSealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimSealed").field("bytes", &self.0.len()).finish()
    }
}

/// The path by which something below a held directory is logged.
fn labelled(directory: &SimDirectory, below: &str) -> String {
    if below.is_empty() {
        return directory.label.clone();
    }
    format!("{}/{below}", directory.label.trim_end_matches('/'))
}
