//! How a worker process locks itself in. Each measure is one function; the first that fails ends the worker, and nothing
//! foreign has been read by then. Never undoes a measure and never goes on without one.

use super::{seccomp, start};
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Resource, Rlimit, Signal, getppid, setsid};
use rustix::thread::{CapabilitySet, CapabilitySets, clear_ambient_capability_set, set_capabilities, set_no_new_privs};

/// The measures, as a refusal names them.
pub const MEASURES: [&str; 9] = [
    "descriptors",
    "session",
    "parent-death",
    "no-new-privileges",
    "capabilities",
    "dumpable",
    "limits",
    "landlock",
    "seccomp",
];

/// How strong the confinement of this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The Landlock ABI used.
    pub landlock: u32,
    /// Whether the system call filter is on.
    pub seccomp: bool,
}

/// Writable memory of the worker, in bytes.
const DATA_BYTES: u64 = 512 << 20;
/// Writable memory of an external runtime, whose garbage collector takes more.
const EXTERNAL_DATA_BYTES: u64 = 1 << 30;
/// All address space: data, the executable, stacks.
const ADDRESS_BYTES: u64 = 2 << 30;
const CPU_SECONDS: u64 = 60;
const OPEN_FILES: u64 = 64;

/// Applies every measure, in order; on an error the name of the one that failed (one of [`MEASURES`]).
///
/// `readable_directory`: the process may read beneath its current directory; otherwise it may open nothing. `abi_ceiling`:
/// uses no Landlock feature above this ABI, so that tests see every level; `None` outside tests. `parent`: the process
/// that must be the parent, so that a parent that died before the death signal was set is noticed.
pub fn confine(readable_directory: bool, abi_ceiling: Option<u32>, parent: u32) -> Result<Level, &'static str> {
    close_other_descriptors()?;
    new_session()?;
    die_with_parent(parent)?;
    no_new_privileges()?;
    drop_capabilities()?;
    not_dumpable()?;
    limit_resources()?;
    let landlock = landlock(readable_directory, abi_ceiling)?;
    filter_calls()?;
    Ok(Level { landlock, seccomp: true })
}

/// The held files of an external runtime: what the broker hands to the process that becomes it.
pub struct Programs {
    /// What is started.
    pub interpreter: OwnedFd,
    /// Where its scripts are: readable.
    pub package: OwnedFd,
    /// Its loader and libraries: readable and executable, nothing else is.
    pub libraries: Vec<OwnedFd>,
}

/// As [`confine`], for a process that becomes an external runtime: it may read and execute exactly the given files, read
/// its package and, where wanted, its current directory. Descriptors were closed before the files were received.
pub fn confine_external(
    readable_directory: bool,
    programs: &Programs,
    abi_ceiling: Option<u32>,
    parent: u32,
) -> Result<Level, &'static str> {
    new_session()?;
    die_with_parent(parent)?;
    no_new_privileges()?;
    drop_capabilities()?;
    not_dumpable()?;
    limit(&external_limits())?;
    let landlock = landlock_external(readable_directory, programs, abi_ceiling)?;
    let program = seccomp::external_program(std::process::id()).ok_or("seccomp")?;
    seccompiler::apply_filter(&program).map_err(|_| "seccomp")?;
    Ok(Level { landlock, seccomp: true })
}

/// Closes everything but standard input, output and error. Rust owns nothing else this early.
pub fn close_other_descriptors() -> Result<(), &'static str> {
    let failed = |_| "descriptors";
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok()).ok_or("descriptors")?;
        numbers.push(number);
    }
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // One of them was the listing itself, closed by now.
        match nix::unistd::close(number) {
            Ok(()) | Err(nix::errno::Errno::EBADF) => {}
            Err(_) => return Err("descriptors"),
        }
    }
    Ok(())
}

/// Leaves the terminal and the parent's process group.
pub fn new_session() -> Result<(), &'static str> {
    setsid().map(drop).map_err(|_| "session")
}

/// Is killed when the thread that started it ends.
pub fn die_with_parent(parent: u32) -> Result<(), &'static str> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|_| "parent-death")?;
    let now = getppid().map(Pid::as_raw_pid).and_then(|number| u32::try_from(number).ok());
    if now == Some(parent) { Ok(()) } else { Err("parent-death") }
}

/// No exec can give privileges.
pub fn no_new_privileges() -> Result<(), &'static str> {
    set_no_new_privs(true).map_err(|_| "no-new-privileges")
}

/// Gives up what root has beyond owning files.
pub fn drop_capabilities() -> Result<(), &'static str> {
    let none = CapabilitySet::empty();
    clear_ambient_capability_set().map_err(|_| "capabilities")?;
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(|_| "capabilities")
}

/// Cannot be traced or dumped by others of the same user; exec had reset this.
pub fn not_dumpable() -> Result<(), &'static str> {
    start::not_dumpable().map_err(|_| "dumpable")
}

/// Bounds memory, processor time and descriptors. No file may grow (a write to one ends the process); no core file.
pub fn limit_resources() -> Result<(), &'static str> {
    limit(&[
        (Resource::Data, DATA_BYTES),
        (Resource::As, ADDRESS_BYTES),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ])
}

/// Without a bound on address space, of which an interpreter reserves far more than it uses.
fn external_limits() -> [(Resource, u64); 5] {
    [
        (Resource::Data, EXTERNAL_DATA_BYTES),
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Nofile, OPEN_FILES),
        (Resource::Fsize, 0),
        (Resource::Core, 0),
    ]
}

fn limit(wanted: &[(Resource, u64)]) -> Result<(), &'static str> {
    for (resource, bound) in wanted.iter().copied() {
        // A limit that is lower already stays.
        let bound = rustix::process::getrlimit(resource).maximum.map_or(bound, |maximum| maximum.min(bound));
        rustix::process::setrlimit(resource, Rlimit { current: Some(bound), maximum: Some(bound) })
            .map_err(|_| "limits")?;
    }
    Ok(())
}

/// Takes away the file system, but for reading beneath the current directory where that is wanted; TCP from ABI 4 on;
/// signals and abstract sockets of others from ABI 6 on. Returns the ABI used.
pub fn landlock(readable_directory: bool, abi_ceiling: Option<u32>) -> Result<u32, &'static str> {
    let abi = usable_abi(abi_ceiling)?;
    match restrict(readable_directory, abi) {
        Some(RulesetStatus::FullyEnforced) => Ok(abi),
        _ => Err("landlock"),
    }
}

fn restrict(readable_directory: bool, abi: u32) -> Option<RulesetStatus> {
    let mut created = nothing_allowed(abi)?;
    if readable_directory {
        created = here_readable(created)?;
    }
    Some(created.restrict_self().ok()?.ruleset)
}

/// Landlock for an external runtime.
fn landlock_external(
    readable_directory: bool,
    programs: &Programs,
    abi_ceiling: Option<u32>,
) -> Result<u32, &'static str> {
    let abi = usable_abi(abi_ceiling)?;
    match restrict_external(readable_directory, programs, abi) {
        Some(RulesetStatus::FullyEnforced) => Ok(abi),
        _ => Err("landlock"),
    }
}

fn usable_abi(ceiling: Option<u32>) -> Result<u32, &'static str> {
    match start::landlock_abi().min(ceiling.unwrap_or(u32::MAX)) {
        0 => Err("landlock"),
        abi => Ok(abi),
    }
}

fn restrict_external(readable_directory: bool, programs: &Programs, abi: u32) -> Option<RulesetStatus> {
    let mut created = nothing_allowed(abi)?;
    for file in std::iter::once(&programs.interpreter).chain(&programs.libraries) {
        created = created.add_rule(PathBeneath::new(file, AccessFs::Execute | AccessFs::ReadFile)).ok()?;
    }
    created = created.add_rule(PathBeneath::new(&programs.package, AccessFs::ReadFile | AccessFs::ReadDir)).ok()?;
    created = created.add_rule(PathBeneath::new(PathFd::new("/dev/null").ok()?, AccessFs::ReadFile)).ok()?;
    if readable_directory {
        created = here_readable(created)?;
    }
    Some(created.restrict_self().ok()?.ruleset)
}

fn nothing_allowed(abi: u32) -> Option<RulesetCreated> {
    let version = ABI::from(i32::try_from(abi).ok()?);
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    rules = rules.handle_access(AccessFs::from_all(version)).ok()?;
    if version >= ABI::V4 {
        rules = rules.handle_access(AccessNet::from_all(version)).ok()?;
    }
    if version >= ABI::V6 {
        rules = rules.scope(Scope::from_all(version)).ok()?;
    }
    rules.create().ok()
}

fn here_readable(created: RulesetCreated) -> Option<RulesetCreated> {
    let here = PathFd::new(".").ok()?;
    created.add_rule(PathBeneath::new(here, AccessFs::ReadFile | AccessFs::ReadDir)).ok()
}

/// Leaves only the listed system calls.
pub fn filter_calls() -> Result<(), &'static str> {
    let program = seccomp::program(std::process::id()).ok_or("seccomp")?;
    seccompiler::apply_filter(&program).map_err(|_| "seccomp")
}
