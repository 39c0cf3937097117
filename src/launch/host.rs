//! The host: found, started where the person is, and attended to its end. It stays in the launcher's process group, so
//! that the terminal's keys reach it as if there were no launcher; what only the launcher is told is passed on.

use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::launch::variables::Variables;
use crate::system::os::OsSystem;
use crate::system::os::forward::{Forwarding, HostSignal};
use crate::system::os::host_process::{
    Change, Ending, HostOrder, HostProcess, NOT_FOUND, SHIM, Stream, become_program, find_program,
};
use crate::system::{Fault, Observe as _};
use std::ffi::{OsStr, OsString};

/// Where a command's program lies. A word with a slash is a path, from the directory that the person is in; any other is
/// looked for in the absolute directories of their `PATH`. Refuses `host_not_found`.
pub fn program(word: &str, here: &AbsolutePath, environment: &Variables) -> Result<OsString, Refusal> {
    if word.contains('/') {
        let path = here.resolve(word).ok_or(Reason::HostNotFound)?;
        // Said before anybody is asked; whether it can be started is seen when it is.
        if OsSystem::new().look(&path) == Err(Fault::NotFound) {
            return Err(Reason::HostNotFound.into());
        }
        return Ok(path.as_str().into());
    }
    let path = environment.iter().find(|(name, _)| name == OsStr::new("PATH"));
    let found = path.and_then(|(_, path)| find_program(word, path));
    found.map(Into::into).ok_or_else(|| Reason::HostNotFound.into())
}

/// Starts it with the person's own streams. Refuses `host_not_started`; what cannot be found or executed says so itself
/// ([`become_host`]) and ends with 127 or 126.
pub fn start(
    program: OsString,
    arguments: &[String],
    environment: Variables,
    directory: &AbsolutePath,
    signals: &Forwarding,
) -> Result<HostProcess, Refusal> {
    let order = HostOrder {
        program,
        arguments: arguments.iter().map(OsString::from).collect(),
        environment,
        directory: directory.clone(),
        input: Stream::Inherit,
        output: Stream::Inherit,
        errors: Stream::Inherit,
    };
    HostProcess::start_attended(order, signals).map_err(|_| Reason::HostNotStarted.into())
}

/// If this process was started to become a host: does so, or tells why it could not, with the status to end with.
pub fn become_host(words: &[OsString]) -> Option<(Refusal, u8)> {
    let (first, words) = words.split_first()?;
    (first == SHIM).then(|| match become_program(words) {
        NOT_FOUND => (Reason::HostNotFound.into(), NOT_FOUND),
        status => (Reason::HostNotStarted.into(), status),
    })
}

/// Attends it until it has ended. `leaving` is called at once when somebody asks for the end (SIGTERM, SIGHUP, SIGALRM …), whatever
/// the host makes of that.
pub fn attend(host: &mut HostProcess, signals: &Forwarding, mut leaving: impl FnMut()) -> Result<Ending, Fault> {
    loop {
        match host.change()? {
            Some(Change::Ended(ending)) => return Ok(ending),
            // The shell above takes the terminal back only when the launcher stops as well.
            Some(Change::Stopped) => signals.stop()?,
            None => {}
        }
        let notice = signals.next()?;
        match notice.signal {
            HostSignal::Continue => host.resume()?,
            HostSignal::End(number) => {
                leaving();
                host.signal(number)?;
            }
            HostSignal::Other(number) if !notice.from_kernel => host.signal(number)?,
            // Looked at above; and what the kernel sent to the group the host got itself.
            HostSignal::Child | HostSignal::Other(_) => {}
        }
    }
}
