//! The processes above this one, as `/proc` tells them. What a process chose itself (its name, its arguments) is handed on as
//! foreign text; whether it runs this product is told by its program's file where that can be looked at, else by its name.

use crate::system::{Ancestor, Fault, SESSION};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

/// Processes above a process; a longer line is not believed.
const LIMIT: usize = 1024;
/// Walks before a process that cannot be looked at counts as one that may not be seen; each fails where one ended meanwhile.
const TRIES: usize = 5;
/// What such a process is called.
const HIDDEN: &str = "hidden";
/// The name of the executable.
const PROGRAM: &str = "kdna-broker";
/// How this product starts itself.
const ITSELF: &str = "/proc/self/exe";
/// The argument before a command that is internal to this product.
const INTERNAL: &str = "--on-terminal";
/// Bytes of arguments that are looked at.
const ARGUMENTS: usize = 4096;

pub(super) fn ancestors() -> Result<Vec<Ancestor>, Fault> {
    for _ in 0..TRIES {
        if let (found, true) = walk()? {
            return Ok(found);
        }
    }
    // Not a process that ended just now, so one that this user may not see: what is above it cannot be told.
    let (mut found, _) = walk()?;
    let in_session = OWN_SESSION.load(Ordering::Relaxed) && found.is_empty();
    found.push(Ancestor { name: HIDDEN.to_owned(), is_ours: false, command: String::new(), in_session });
    Ok(found)
}

/// The processes above, and whether the walk reached the first one.
fn walk() -> Result<(Vec<Ancestor>, bool), Fault> {
    let own = program("self");
    let mut found = Vec::new();
    let mut process = parent("self")?;
    // 0: the parent lives in another pid namespace, or there is none.
    while process != 0 {
        if found.len() == LIMIT {
            return Err(Fault::TooLarge);
        }
        let id = process.to_string();
        let Ok((mut ancestor, above)) = ancestor(&id, own).and_then(|ancestor| Ok((ancestor, parent(&id)?))) else {
            return Ok((found, false));
        };
        ancestor.in_session |= found.is_empty() && OWN_SESSION.load(Ordering::Relaxed);
        found.push(ancestor);
        process = above;
    }
    Ok((found, true))
}

fn ancestor(id: &str, own: Option<(u64, u64)>) -> Result<Ancestor, Fault> {
    let name = fs::read_to_string(format!("/proc/{id}/comm")).map_err(|_| Fault::NotFound)?.trim_end().to_owned();
    let mut arguments = fs::read(format!("/proc/{id}/cmdline")).map_err(|_| Fault::NotFound)?;
    arguments.truncate(ARGUMENTS);
    let mut words = arguments.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let started_as = words.next().unwrap_or_default();
    let command = words.find(|word| word != INTERNAL).unwrap_or_default();
    // A program may start itself again by the kernel's own name for it.
    let called = |text: &str| text.rsplit('/').next() == Some(PROGRAM) || text == ITSELF;
    let is_ours = (own.is_some() && program(id) == own) || called(&name) || called(&started_as);
    Ok(Ancestor { name, is_ours, command, in_session: in_session(id) })
}

/// Whether a process was started with the mark of a session; false where its environment may not be looked at.
fn in_session(id: &str) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    let value = |variable: &[u8]| variable.strip_prefix(SESSION.as_bytes())?.strip_prefix(b"=").map(<[u8]>::is_empty);
    environment.split(|byte| *byte == 0).any(|variable| value(variable) == Some(false))
}

static OWN_SESSION: AtomicBool = AtomicBool::new(false);

/// Says that this process has that mark itself. Its own `/proc` entries may be closed to its user, so who read its
/// variables says so once, at the start.
pub fn note_own_session() {
    OWN_SESSION.store(true, Ordering::Relaxed);
}

/// Which file a process runs; `None` where that may not be looked at (another user's, or one that is not dumpable).
fn program(id: &str) -> Option<(u64, u64)> {
    fs::metadata(format!("/proc/{id}/exe")).ok().map(|facts| (facts.dev(), facts.ino()))
}

fn parent(id: &str) -> Result<u32, Fault> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).map_err(|_| Fault::NotFound)?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:")).ok_or(Fault::WrongKind)?;
    line.trim().parse().map_err(|_| Fault::WrongKind)
}
