//! Floor 1: the only code that touches the operating system, behind two small traits.
//!
//! [`Observe`] looks and reads; [`System`] also writes, locks, seals, starts the runtime, asks a person and tells the
//! time. `os::OsSystem` is the real one; `sim::SimSystem` runs the same broker code in memory with a hook before every
//! call. Nothing here decides whether something is allowed: facts go up, decisions are made above.

pub mod memory;
pub mod os;
pub mod sim;

use crate::foundation::digest::Digest;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::time::Timestamp;
use crate::foundation::value::Value;
use memory::LockedBuffer;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Why a call failed. Holds no path and no foreign byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing has this name.
    #[error("not found")]
    NotFound,
    /// A component is a symbolic link (or a magic link).
    #[error("a symbolic link is in the way")]
    Link,
    /// A component is not a directory, or a directory was not expected.
    #[error("not the expected kind of file")]
    WrongKind,
    /// The path leaves the file system that the capability is for, or the capability itself.
    #[error("leaves the capability")]
    Escapes,
    /// The name exists already (exclusive creation).
    #[error("exists already")]
    Exists,
    /// Permission denied.
    #[error("permission denied")]
    Denied,
    /// No space, quota, the size limit of the process, or a read-only file system.
    #[error("no space to write")]
    NoSpace,
    /// More bytes than the caller's limit.
    #[error("larger than its limit")]
    TooLarge,
    /// The file changed while it was read.
    #[error("changed while it was read")]
    Changed,
    /// Another process holds the lock for longer than the caller waits.
    #[error("locked by another process")]
    Locked,
    /// The kernel lacks what this call needs; names the facility.
    #[error("the kernel lacks {0}")]
    Unsupported(&'static str),
    /// Anything else: the errno.
    #[error("input/output error (errno {0})")]
    Io(i32),
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// Which file it is, for as long as a descriptor holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The facts of a file as `fstat` tells them; equal facts before and after a read mean it did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Which file.
    pub identity: Identity,
    /// What it is.
    pub kind: Kind,
    /// Permission bits with set-uid, set-gid and sticky: `mode & 0o7777`.
    pub mode: u32,
    /// Owner.
    pub owner: u32,
    /// Number of hard links.
    pub links: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of the content, nanoseconds since the epoch.
    pub modified: i128,
    /// Last change of content or facts, nanoseconds since the epoch.
    pub changed: i128,
}

/// Looks and reads, never changes anything.
///
/// *Absolute* opens refuse every symbolic and magic link on the way (openat2 `NO_SYMLINKS | NO_MAGICLINKS`). Opens
/// *beneath* a directory also refuse to leave it or its mount (`BENEATH | NO_XDEV`). All file opens are
/// `O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY`, so a FIFO or device never blocks and is refused by its facts.
pub trait Observe: Send + Sync {
    /// A held directory: the capability itself. Cheap to clone.
    type Directory: Clone + Send + Sync;
    /// A held file.
    type File: Send + Sync;

    /// Opens a directory by absolute path.
    fn open_directory(&self, path: &AbsolutePath) -> Result<Self::Directory, Fault>;
    /// Opens a directory beneath a held one (the same one again for the empty path).
    fn open_directory_beneath(
        &self,
        directory: &Self::Directory,
        path: &RelativePath,
    ) -> Result<Self::Directory, Fault>;
    /// Opens a file for reading beneath a held directory, on the same mount.
    fn open_file_beneath(&self, directory: &Self::Directory, path: &RelativePath) -> Result<Self::File, Fault>;
    /// The same, and the facts of what was opened, as [`Observe::file_facts`] tells them.
    fn open_file_with_facts(
        &self,
        directory: &Self::Directory,
        path: &RelativePath,
    ) -> Result<(Self::File, Facts), Fault> {
        let file = self.open_file_beneath(directory, path)?;
        let facts = self.file_facts(&file)?;
        Ok((file, facts))
    }
    /// Opens a file for reading that lies directly in a held private directory (a bind mount is allowed).
    fn open_file_in(&self, directory: &Self::Directory, name: &str) -> Result<Self::File, Fault>;
    /// The facts of a held directory.
    fn directory_facts(&self, directory: &Self::Directory) -> Result<Facts, Fault>;
    /// The facts of a held file.
    fn file_facts(&self, file: &Self::File) -> Result<Facts, Fault>;
    /// Reads a held file from its start, at most `limit` bytes; [`Fault::TooLarge`] if there are more (facts alone are
    /// not trusted: a file may grow). Fails with [`Fault::WrongKind`] on anything but a regular file, unread.
    fn read(&self, file: &Self::File, limit: u64) -> Result<Vec<u8>, Fault>;
    /// As [`Observe::read`], of a file whose facts were just taken: may end where they say that the file ends. Only for a
    /// caller that compares the facts, and their size with what was read, afterwards; for no secret. The bytes come into
    /// `bytes`, in the place of what was there and in the room that it has.
    fn read_sized(&self, file: &Self::File, facts: &Facts, limit: u64, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let _ = facts;
        *bytes = self.read(file, limit)?;
        Ok(())
    }
    /// The digest of a held regular file, read once to its end; [`Fault::TooLarge`] above `limit` bytes,
    /// [`Fault::Changed`] if its facts differ after the read.
    fn digest(&self, file: &Self::File, limit: u64) -> Result<Digest, Fault> {
        let before = self.file_facts(file)?;
        let digest = Digest::of(&self.read(file, limit)?);
        if self.file_facts(file)? == before { Ok(digest) } else { Err(Fault::Changed) }
    }
    /// Fills a buffer from the start of a held regular file and tells how much there was; never allocates, so that a
    /// secret is in one place only. [`Fault::TooLarge`] if the file holds more than the buffer.
    fn fill(&self, file: &Self::File, buffer: &mut [u8]) -> Result<usize, Fault>;
    /// Where a symbolic link leads, one step, as an absolute path. For the home directory only.
    fn resolve_link(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault>;
    /// The facts of what a path names now. Links above the last component are followed (as a person's `ls -ld` does),
    /// the last one is not. For questions only ("is this the home directory?"), never before an open by path.
    fn look(&self, path: &AbsolutePath) -> Result<Facts, Fault>;
    /// The facts of an entry beneath a held directory, not following it.
    fn look_beneath(&self, directory: &Self::Directory, path: &RelativePath) -> Result<Facts, Fault>;
    /// The path of the directory that `path` names, with every link resolved; refuses one that is itself a link or no
    /// directory. Opens nothing for reading.
    fn canonical_directory(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault>;
    /// The effective user id.
    fn user(&self) -> u32;
    /// The account's home from the password database, whatever `HOME` says. `None` if the account has none.
    fn account_home(&self) -> Option<AbsolutePath>;
    /// The process's working directory.
    fn working_directory(&self) -> Result<AbsolutePath, Fault>;
    /// Memory for a secret. Never fails: it says itself whether it could be locked.
    fn secret_memory(&self, length: usize) -> LockedBuffer {
        LockedBuffer::new(length)
    }
}

/// Everything the broker asks of the operating system.
pub trait System: Observe {
    /// An immutable copy of a file's bytes: sealed, so that nobody can change them any more.
    type Sealed: Send + Sync;
    /// An advisory lock, released when dropped.
    type Lock: Send;
    /// A runtime process that was started ahead and has been given nothing; ended and reaped when dropped. It belongs to
    /// the thread that started it.
    type Standby;

    /// Creates a directory in a held one with exactly this mode, whatever the umask. [`Fault::Exists`] if there.
    fn make_directory(&self, parent: &Self::Directory, name: &str, mode: u32) -> Result<(), Fault>;
    /// Creates a file exclusively with exactly this mode, open for reading and writing.
    fn create_file(&self, directory: &Self::Directory, name: &str, mode: u32) -> Result<Self::File, Fault>;
    /// Opens a file for reading and appending, creating it with this mode if it is absent.
    fn open_append(&self, directory: &Self::Directory, name: &str, mode: u32) -> Result<Self::File, Fault>;
    /// Writes all bytes at the end of what is there (short writes are continued).
    fn write(&self, file: &Self::File, bytes: &[u8]) -> Result<(), Fault>;
    /// Cuts a held file to a length.
    fn truncate(&self, file: &Self::File, length: u64) -> Result<(), Fault>;
    /// Makes the file's content durable.
    fn sync_file(&self, file: &Self::File) -> Result<(), Fault>;
    /// Makes the directory's entries durable.
    fn sync_directory(&self, directory: &Self::Directory) -> Result<(), Fault>;
    /// Sets the mode of a held directory.
    fn set_directory_mode(&self, directory: &Self::Directory, mode: u32) -> Result<(), Fault>;
    /// Renames within one held directory, replacing the target.
    fn rename(&self, directory: &Self::Directory, from: &str, to: &str) -> Result<(), Fault>;
    /// Makes a second name of a file in one held directory; [`Fault::Exists`] if the name is taken.
    fn link(&self, directory: &Self::Directory, from: &str, to: &str) -> Result<(), Fault>;
    /// Makes a second name of a file in another held directory of the same file system; [`Fault::Exists`] if the name is
    /// taken. What `from` names is not followed.
    fn link_across(
        &self,
        directory: &Self::Directory,
        from: &str,
        target: &Self::Directory,
        to: &str,
    ) -> Result<(), Fault>;
    /// Removes an empty directory.
    fn remove_directory(&self, parent: &Self::Directory, name: &str) -> Result<(), Fault>;
    /// Removes a file's name.
    fn remove(&self, directory: &Self::Directory, name: &str) -> Result<(), Fault>;
    /// The names in a held directory, sorted.
    fn list(&self, directory: &Self::Directory) -> Result<Vec<String>, Fault>;
    /// The names in a held directory that begin so, of entries that this user owns where the system tells owners; every
    /// other entry is passed over, whatever its name and however many there are. At most
    /// [`limits::DIRECTORY_NAMES`](crate::foundation::limits::DIRECTORY_NAMES), those found first.
    fn list_own(&self, directory: &Self::Directory, beginning: &str) -> Result<Vec<String>, Fault> {
        Ok(self.list(directory)?.into_iter().filter(|name| name.starts_with(beginning)).collect())
    }
    /// Removes what lies in a held directory, trees included, except the file of one name; goes on past what cannot be
    /// removed. Follows no link and leaves no mount.
    fn clear(&self, directory: &Self::Directory, kept: &str) -> Result<(), Fault> {
        let names = self.list(directory)?;
        names.iter().filter(|name| *name != kept).try_for_each(|name| self.remove(directory, name))
    }
    /// Takes an exclusive advisory lock on a held file, waiting at most `wait`; [`Fault::Locked`] after that.
    fn lock(&self, file: &Self::File, wait: Duration) -> Result<Self::Lock, Fault>;

    /// Reads a held file once, digesting while reading, into a sealed copy. [`Fault::TooLarge`] above `limit`,
    /// [`Fault::Changed`] if its facts differ after the read.
    fn seal(&self, file: &Self::File, limit: u64) -> Result<(Self::Sealed, Digest), Fault>;
    /// Seals bytes that are in memory only: no file system ever holds them.
    fn seal_bytes(&self, bytes: &[u8]) -> Result<Self::Sealed, Fault>;
    /// Runs one delegated runtime process to its end. Always reaps it.
    fn run(&self, order: &ChildOrder<'_, Self>) -> Result<ChildReport, ChildFault>
    where
        Self: Sized,
    {
        self.run_by(None, order, || ())
    }
    /// Starts an embedded runtime process ahead of its order. It confines itself and waits: nothing is sent to it before
    /// [`System::run_by`], which is also where a failure to confine itself is reported.
    fn stand_by(&self) -> Result<Self::Standby, Fault>;
    /// As [`System::run`], by a process that stands by, if there is one. That is only for an order to the embedded runtime
    /// without a directory: for any other it is ended unused, and the order fails as one that could not be started. What is
    /// to be done meanwhile is done once, while the process starts or works; it counts in the order's time, and is left
    /// out where there is no process.
    fn run_by(
        &self,
        process: Option<Self::Standby>,
        order: &ChildOrder<'_, Self>,
        meanwhile: impl FnOnce(),
    ) -> Result<ChildReport, ChildFault>
    where
        Self: Sized;

    /// This process's id: for people and lock files, never authority.
    fn process_id(&self) -> u32 {
        std::process::id()
    }
    /// Whether a process with this id exists here, whoever owns it. Ids of other containers cannot be known.
    fn process_exists(&self, id: u32) -> bool {
        let process = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
        process.is_some_and(|process| rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH))
    }

    /// Shows a question on the person's terminal and reads one line from it, discarding what was typed ahead. `Err` if
    /// there is no terminal. At most 16 bytes of the answer are returned.
    fn ask(&self, question: &str) -> Result<String, NoTerminal>;
    /// Shows a question on the person's terminal and reads one line from it that is not shown, into the caller's buffer
    /// (use locked memory) and nowhere else; what was typed ahead is discarded. Gives the length of the line without its
    /// end, `None` for anything that is no whole line of at most 1,024 bytes: Control-C, end of input, a longer line. `Err`
    /// if there is no terminal.
    fn ask_secret(&self, question: &str, answer: &mut [u8]) -> Result<Option<usize>, NoTerminal>;
    /// Rows and columns of the person's terminal; `None` if there is none or it tells no size.
    fn window(&self) -> Option<(u16, u16)> {
        None
    }
    /// The processes above this one, its parent first, up to the first one. Fails where they cannot be told.
    fn ancestors(&self) -> Result<Vec<Ancestor>, Fault> {
        Ok(Vec::new())
    }
    /// The session that this process belongs to: for records, never authority.
    fn session(&self) -> u32 {
        0
    }
    /// Fills a buffer with random bytes.
    fn random(&self, buffer: &mut [u8]) -> Result<(), Fault>;
    /// The time of day.
    fn now(&self) -> Timestamp;
    /// A clock that never goes back.
    fn monotonic(&self) -> Duration;
}

/// A process above this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its name as the system tells it: at most 15 bytes that it chose itself. Foreign.
    pub name: String,
    /// Whether it runs this product.
    pub is_ours: bool,
    /// Its first argument; empty where it has none or it cannot be read. Foreign.
    pub command: String,
    /// Whether its environment names a session of the launcher ([`SESSION`]); for the parent, also whether that of this
    /// process does. Whoever takes the variable away is not seen by it.
    pub in_session: bool,
}

/// The variable that names the directory of the launcher's session that a process belongs to.
pub const SESSION: &str = "KDNA_BROKER_SESSION";

/// There is no terminal to ask on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoTerminal;

/// What is to be run as the delegated runtime, in terms of a system's files and directories.
#[derive(Debug, PartialEq, Eq)]
pub enum Program<'a, F, D> {
    /// This executable's own worker mode, started from its verified descriptor.
    Embedded,
    /// A pinned interpreter, started by descriptor from this executable's sandbox. Its environment is exactly
    /// `LANG=C.UTF-8` and `TZ=UTC`. The order's request is its command line: a JSON list of texts.
    External(&'a External<F, D>),
}

impl<F, D> Clone for Program<'_, F, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F, D> Copy for Program<'_, F, D> {}

impl<F, D> Program<'_, F, D> {
    /// How what it runs is bound.
    pub const fn pin(&self) -> PinKind {
        match self {
            Program::Embedded => PinKind::Embedded,
            Program::External(_) => PinKind::External,
        }
    }
}

/// The held parts of a pinned external runtime. Whoever holds them has checked them against the pins.
#[derive(Debug, PartialEq, Eq)]
pub struct External<F, D> {
    /// The program.
    pub interpreter: F,
    /// Its loader and shared libraries: the only other files that may be executed.
    pub libraries: Vec<F>,
    /// The directory of its scripts, readable.
    pub package: D,
}

/// One runtime process: what it gets, and its bounds. Its environment is always empty.
pub struct ChildOrder<'a, S: System + ?Sized> {
    /// What to run.
    pub program: Program<'a, S::File, S::Directory>,
    /// The directory that it may read beneath, and starts in. `None`: it may read nothing.
    pub directory: Option<&'a S::Directory>,
    /// The sealed bytes that it is given as a descriptor.
    pub sealed: Option<&'a S::Sealed>,
    /// The request: one JSON document; never a secret.
    pub request: &'a [u8],
    /// What follows the request on its input: the task's text or the password. Sent only after READY.
    pub input: &'a [u8],
    /// Ended after this time.
    pub deadline: Duration,
    /// Ended when it writes more than this to its standard output.
    pub output_limit: usize,
    /// Ended when this is set.
    pub cancel: &'a Cancel,
}

/// How a runtime process ended on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildReport {
    /// The exit status.
    pub exit: i32,
    /// The enforcement level it reported before it read anything foreign.
    pub enforcement: Enforcement,
    /// Its standard output, whole.
    pub output: Vec<u8>,
    /// The last bytes of its standard error. Foreign: for people only, and only through `text::display`.
    pub errors: Vec<u8>,
}

/// How strong the sandbox of one runtime process was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforcement {
    /// The Landlock ABI used.
    pub landlock: u32,
    /// Whether the system call filter was applied.
    pub seccomp: bool,
    /// Whether the bytes were handed over sealed (else by path).
    pub sealed: bool,
    /// How the runtime's own program is bound.
    pub pin: PinKind,
    /// Whether the broker's buffer for the password was locked in memory; `None` where there was no password.
    pub secret_locked: Option<bool>,
}

/// How the runtime's own program is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PinKind {
    /// It is this very executable.
    Embedded,
    /// It is another program, every file of which has the digest that a person pinned.
    External,
}

impl PinKind {
    /// The word in the journal and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            PinKind::Embedded => "embedded",
            PinKind::External => "external",
        }
    }
}

impl Enforcement {
    /// The members of its JSON form, in order: `landlock`, `seccomp`, `sealed`, `pin`, and where there was a password
    /// `secret` with `locked` or `unlocked`.
    pub fn members(self) -> impl Iterator<Item = (String, Value)> {
        let secret = self.secret_locked.map(|locked| ("secret", if locked { "locked" } else { "unlocked" }.into()));
        [
            ("landlock", self.landlock.into()),
            ("seccomp", self.seccomp.into()),
            ("sealed", self.sealed.into()),
            ("pin", self.pin.as_str().into()),
        ]
        .into_iter()
        .chain(secret)
        .map(|(name, value)| (name.to_owned(), value))
    }
}

/// Why a runtime process gave no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChildFault {
    /// It could not be started.
    #[error("the worker could not be started: {0}")]
    NotStarted(Fault),
    /// It did not get through its sandbox; names the measure that failed.
    #[error("the worker did not get through its sandbox: {0}")]
    Sandbox(&'static str),
    /// It ran past the deadline.
    #[error("the worker ran past its deadline and was ended")]
    Deadline,
    /// The caller cancelled.
    #[error("the worker was ended because the call was cancelled")]
    Cancelled,
    /// It wrote too much.
    #[error("the worker wrote too much and was ended")]
    OutputTooLarge,
    /// It was ended by a signal.
    #[error("the worker was ended by signal {0}")]
    Signal(i32),
}

/// A flag that ends a running call from another thread.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Not set.
    pub fn new() -> Self {
        Self::default()
    }
    /// Sets it, for good.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
