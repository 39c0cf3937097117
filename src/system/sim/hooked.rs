//! A system that asks a hook before every call of another one, so that faults can be injected into the real system as
//! into the simulated one. Does nothing of its own.

use super::call::{Call, CallEvent, HookAction};
use crate::foundation::digest::Digest;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::time::Timestamp;
use crate::system::{Ancestor, ChildFault, ChildOrder, ChildReport, Facts, Fault, NoTerminal, Observe, System};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Another system with a hook before every call.
///
/// An event's `at` is the path or name that the call was given (handles have none to show); `step` and `in_child` stay
/// empty. The hook may use the other system itself, not this one: it would wait for itself.
pub struct Hooked<S, H> {
    system: S,
    hook: Mutex<(u64, H)>,
}

impl<S, H: FnMut(&CallEvent) -> HookAction + Send> Hooked<S, H> {
    /// Decorates a system.
    pub const fn new(system: S, hook: H) -> Self {
        Self { system, hook: Mutex::new((0, hook)) }
    }

    /// The decorated system.
    pub const fn inner(&self) -> &S {
        &self.system
    }

    fn before(&self, call: Call, at: &str) -> HookAction {
        let mut guard = self.hook.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, hook) = &mut *guard;
        *number += 1;
        hook(&CallEvent { number: *number, call, at: at.to_owned(), in_child: false, step: String::new() })
    }

    fn enter(&self, call: Call, at: &str) -> Result<&S, Fault> {
        self.before(call, at).fault().map_or(Ok(&self.system), Err)
    }
}

impl<S: Observe, H: FnMut(&CallEvent) -> HookAction + Send> Observe for Hooked<S, H> {
    type Directory = S::Directory;
    type File = S::File;

    fn open_directory(&self, path: &AbsolutePath) -> Result<S::Directory, Fault> {
        self.enter(Call::OpenDirectory, path.as_str())?.open_directory(path)
    }
    fn open_directory_beneath(&self, directory: &S::Directory, path: &RelativePath) -> Result<S::Directory, Fault> {
        self.enter(Call::OpenDirectoryBeneath, path.as_str())?.open_directory_beneath(directory, path)
    }
    fn open_file_beneath(&self, directory: &S::Directory, path: &RelativePath) -> Result<S::File, Fault> {
        self.enter(Call::OpenFileBeneath, path.as_str())?.open_file_beneath(directory, path)
    }
    fn open_file_in(&self, directory: &S::Directory, name: &str) -> Result<S::File, Fault> {
        self.enter(Call::OpenFileIn, name)?.open_file_in(directory, name)
    }
    fn directory_facts(&self, directory: &S::Directory) -> Result<Facts, Fault> {
        self.enter(Call::DirectoryFacts, "")?.directory_facts(directory)
    }
    fn file_facts(&self, file: &S::File) -> Result<Facts, Fault> {
        self.enter(Call::FileFacts, "")?.file_facts(file)
    }
    fn read(&self, file: &S::File, limit: u64) -> Result<Vec<u8>, Fault> {
        self.enter(Call::Read, "")?.read(file, limit)
    }
    fn look(&self, path: &AbsolutePath) -> Result<Facts, Fault> {
        self.enter(Call::Look, path.as_str())?.look(path)
    }
    fn look_beneath(&self, directory: &S::Directory, path: &RelativePath) -> Result<Facts, Fault> {
        self.enter(Call::LookBeneath, path.as_str())?.look_beneath(directory, path)
    }
    fn fill(&self, file: &S::File, buffer: &mut [u8]) -> Result<usize, Fault> {
        self.enter(Call::Fill, "")?.fill(file, buffer)
    }
    fn resolve_link(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
        self.enter(Call::ResolveLink, path.as_str())?.resolve_link(path)
    }
    fn canonical_directory(&self, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
        self.enter(Call::CanonicalDirectory, path.as_str())?.canonical_directory(path)
    }
    fn user(&self) -> u32 {
        self.before(Call::User, "");
        self.system.user()
    }
    fn account_home(&self) -> Option<AbsolutePath> {
        self.enter(Call::AccountHome, "").ok()?.account_home()
    }
    fn working_directory(&self) -> Result<AbsolutePath, Fault> {
        self.enter(Call::WorkingDirectory, "")?.working_directory()
    }
}

impl<S: System, H: FnMut(&CallEvent) -> HookAction + Send> System for Hooked<S, H> {
    type Sealed = S::Sealed;
    type Lock = S::Lock;
    type Standby = S::Standby;

    fn make_directory(&self, parent: &S::Directory, name: &str, mode: u32) -> Result<(), Fault> {
        self.enter(Call::MakeDirectory, name)?.make_directory(parent, name, mode)
    }
    fn create_file(&self, directory: &S::Directory, name: &str, mode: u32) -> Result<S::File, Fault> {
        self.enter(Call::CreateFile, name)?.create_file(directory, name, mode)
    }
    fn open_append(&self, directory: &S::Directory, name: &str, mode: u32) -> Result<S::File, Fault> {
        self.enter(Call::OpenAppend, name)?.open_append(directory, name, mode)
    }
    fn write(&self, file: &S::File, bytes: &[u8]) -> Result<(), Fault> {
        match self.before(Call::Write, "") {
            HookAction::Proceed => self.system.write(file, bytes),
            HookAction::Fail(fault) => Err(fault),
            HookAction::Short(length) => {
                self.system.write(file, bytes.get(..length).unwrap_or(bytes))?;
                Err(Fault::NoSpace)
            }
        }
    }
    fn truncate(&self, file: &S::File, length: u64) -> Result<(), Fault> {
        self.enter(Call::Truncate, "")?.truncate(file, length)
    }
    fn sync_file(&self, file: &S::File) -> Result<(), Fault> {
        self.enter(Call::SyncFile, "")?.sync_file(file)
    }
    fn sync_directory(&self, directory: &S::Directory) -> Result<(), Fault> {
        self.enter(Call::SyncDirectory, "")?.sync_directory(directory)
    }
    fn set_directory_mode(&self, directory: &S::Directory, mode: u32) -> Result<(), Fault> {
        self.enter(Call::SetDirectoryMode, "")?.set_directory_mode(directory, mode)
    }
    fn rename(&self, directory: &S::Directory, from: &str, to: &str) -> Result<(), Fault> {
        self.enter(Call::Rename, &format!("{from} -> {to}"))?.rename(directory, from, to)
    }
    fn link(&self, directory: &S::Directory, from: &str, to: &str) -> Result<(), Fault> {
        self.enter(Call::Link, &format!("{from} -> {to}"))?.link(directory, from, to)
    }
    fn link_across(&self, directory: &S::Directory, from: &str, target: &S::Directory, to: &str) -> Result<(), Fault> {
        self.enter(Call::LinkAcross, &format!("{from} -> {to}"))?.link_across(directory, from, target, to)
    }
    fn remove_directory(&self, parent: &S::Directory, name: &str) -> Result<(), Fault> {
        self.enter(Call::RemoveDirectory, name)?.remove_directory(parent, name)
    }
    fn remove(&self, directory: &S::Directory, name: &str) -> Result<(), Fault> {
        self.enter(Call::Remove, name)?.remove(directory, name)
    }
    fn list(&self, directory: &S::Directory) -> Result<Vec<String>, Fault> {
        self.enter(Call::List, "")?.list(directory)
    }
    fn lock(&self, file: &S::File, wait: Duration) -> Result<S::Lock, Fault> {
        self.enter(Call::Lock, "")?.lock(file, wait)
    }
    fn seal(&self, file: &S::File, limit: u64) -> Result<(S::Sealed, Digest), Fault> {
        self.enter(Call::Seal, "")?.seal(file, limit)
    }
    fn seal_bytes(&self, bytes: &[u8]) -> Result<S::Sealed, Fault> {
        self.enter(Call::Seal, "")?.seal_bytes(bytes)
    }
    fn stand_by(&self) -> Result<S::Standby, Fault> {
        self.enter(Call::StandBy, "")?.stand_by()
    }
    fn run_by(
        &self,
        process: Option<S::Standby>,
        order: &ChildOrder<'_, Self>,
        meanwhile: impl FnOnce(),
    ) -> Result<ChildReport, ChildFault> {
        let system = self.enter(Call::Run, "").map_err(ChildFault::NotStarted)?;
        system.run_by(process, &inner(order), meanwhile)
    }
    fn ask(&self, question: &str) -> Result<String, NoTerminal> {
        self.enter(Call::Ask, "").map_err(|_| NoTerminal)?.ask(question)
    }
    fn ask_secret(&self, question: &str, answer: &mut [u8]) -> Result<Option<usize>, NoTerminal> {
        self.enter(Call::Ask, "").map_err(|_| NoTerminal)?.ask_secret(question, answer)
    }
    fn window(&self) -> Option<(u16, u16)> {
        self.before(Call::Window, "");
        self.system.window()
    }
    fn ancestors(&self) -> Result<Vec<Ancestor>, Fault> {
        self.enter(Call::Ancestors, "")?.ancestors()
    }
    fn session(&self) -> u32 {
        self.system.session()
    }
    fn random(&self, buffer: &mut [u8]) -> Result<(), Fault> {
        self.enter(Call::Random, "")?.random(buffer)
    }
    fn now(&self) -> Timestamp {
        self.before(Call::Now, "");
        self.system.now()
    }
    fn monotonic(&self) -> Duration {
        self.before(Call::Monotonic, "");
        self.system.monotonic()
    }
}

/// The same order to the system within.
fn inner<'a, S: System, H: FnMut(&CallEvent) -> HookAction + Send>(
    order: &ChildOrder<'a, Hooked<S, H>>,
) -> ChildOrder<'a, S> {
    ChildOrder {
        program: order.program,
        directory: order.directory,
        sealed: order.sealed,
        request: order.request,
        input: order.input,
        deadline: order.deadline,
        output_limit: order.output_limit,
        cancel: order.cancel,
    }
}
