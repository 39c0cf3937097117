//! The process that becomes an external runtime: it locks itself in, says how, and then is the pinned interpreter, which is
//! started from the descriptor that the broker verified. Never looks a program up by name, never passes anything on but
//! standard input, output and error.

use super::confine::{self, Level, Programs};
use super::worker_io;
use rustix::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// The whole environment of an external runtime.
pub const ENVIRONMENT: [(&str, &str); 2] = [("LANG", "C.UTF-8"), ("TZ", "UTC")];

/// Applies every measure; on an error the name of the one that failed. `readable_directory`: the runtime may read beneath
/// its current directory. `abi_ceiling`: as in
/// [`confine::confine`]. `parent`: the process that must be the parent.
pub fn confine(
    readable_directory: bool,
    abi_ceiling: Option<u32>,
    parent: u32,
) -> Result<(Level, Programs), &'static str> {
    confine::close_other_descriptors()?;
    let programs = worker_io::receive_programs().map_err(|_| "descriptors")?;
    let level = confine::confine_external(readable_directory, &programs, abi_ceiling, parent)?;
    Ok((level, programs))
}

/// Becomes the interpreter with these arguments. If that fails, the process dies by a signal and not with a status, so that
/// nobody takes it for an answer of the runtime.
pub fn become_interpreter(interpreter: &OwnedFd, arguments: &[String]) -> ! {
    let _ = Command::new(format!("/proc/self/fd/{}", interpreter.as_raw_fd()))
        .arg0("runtime")
        .args(arguments)
        .env_clear()
        .envs(ENVIRONMENT)
        .exec();
    std::process::abort()
}
