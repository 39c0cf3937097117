//! The calls of `Observe` and `System` by name, and what a hook may answer before one. Holds no state, does nothing.

use crate::system::Fault;

macro_rules! calls {
    ($($variant:ident $name:literal,)*) => {
        /// One call of [`Observe`](crate::system::Observe) or [`System`](crate::system::System).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Call { $(#[doc = concat!("`", $name, "`")] $variant,)* }

        impl Call {
            /// Every call, in the order of the traits.
            pub const ALL: &'static [Call] = &[$(Call::$variant,)*];

            /// The name of the trait's method.
            pub const fn as_str(self) -> &'static str {
                match self { $(Call::$variant => $name,)* }
            }
        }
    };
}

calls! {
    OpenDirectory "open_directory",
    OpenDirectoryBeneath "open_directory_beneath",
    OpenFileBeneath "open_file_beneath",
    OpenFileIn "open_file_in",
    DirectoryFacts "directory_facts",
    FileFacts "file_facts",
    Read "read",
    Fill "fill",
    ResolveLink "resolve_link",
    Look "look",
    LookBeneath "look_beneath",
    CanonicalDirectory "canonical_directory",
    User "user",
    AccountHome "account_home",
    WorkingDirectory "working_directory",
    MakeDirectory "make_directory",
    CreateFile "create_file",
    OpenAppend "open_append",
    Write "write",
    Truncate "truncate",
    SyncFile "sync_file",
    SyncDirectory "sync_directory",
    SetDirectoryMode "set_directory_mode",
    Rename "rename",
    Link "link",
    LinkAcross "link_across",
    RemoveDirectory "remove_directory",
    Remove "remove",
    List "list",
    Lock "lock",
    Seal "seal",
    Run "run",
    StandBy "stand_by",
    Ask "ask",
    Window "window",
    Ancestors "ancestors",
    Random "random",
    Now "now",
    Monotonic "monotonic",
}

impl Call {
    /// Whether it opens a file or directory.
    pub const fn opens(self) -> bool {
        matches!(
            self,
            Call::OpenDirectory
                | Call::OpenDirectoryBeneath
                | Call::OpenFileBeneath
                | Call::OpenFileIn
                | Call::CreateFile
                | Call::OpenAppend
        )
    }

    /// Whether it may change what is stored, or is part of making a change durable.
    pub const fn changes(self) -> bool {
        matches!(
            self,
            Call::MakeDirectory
                | Call::CreateFile
                | Call::OpenAppend
                | Call::Write
                | Call::Truncate
                | Call::SyncFile
                | Call::SyncDirectory
                | Call::SetDirectoryMode
                | Call::Rename
                | Call::Link
                | Call::LinkAcross
                | Call::RemoveDirectory
                | Call::Remove
        )
    }

    /// Whether a sandboxed runtime process could do it: open and read beneath what it was given, ask for facts (Landlock
    /// does not govern those), clocks and random bytes. No write, no process, no terminal, no password database.
    pub const fn works_in_child(self) -> bool {
        use Call::{AccountHome, Ask, Lock, Run, Seal, StandBy};
        !self.changes() && !matches!(self, AccountHome | Lock | Seal | Run | StandBy | Ask)
    }
}

/// A call that is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEvent {
    /// Its running number, from 1.
    pub number: u64,
    /// Which call.
    pub call: Call,
    /// What it is about: the path by which the handle was opened, with the entry's name where there is one (a rename
    /// or link shows `from -> name`). Empty where a call is about no file. The path need not be true any more.
    pub at: String,
    /// Whether the runtime process makes it.
    pub in_child: bool,
    /// The step of the load that was announced last; empty before the first.
    pub step: String,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookAction {
    /// It happens.
    Proceed,
    /// It has no effect and fails: `run` with `NotStarted`, `ask` with `NoTerminal`, `account_home` with `None`. Calls
    /// that cannot fail (`user`, `now`, `monotonic`) happen all the same.
    Fail(Fault),
    /// A write stores only this many bytes, then there is no space. Any other call has no effect and fails with
    /// [`Fault::NoSpace`].
    Short(usize),
}

impl HookAction {
    /// The fault of a call that cannot be done in part.
    pub(super) const fn fault(self) -> Option<Fault> {
        match self {
            HookAction::Proceed => None,
            HookAction::Fail(fault) => Some(fault),
            HookAction::Short(_) => Some(Fault::NoSpace),
        }
    }
}
