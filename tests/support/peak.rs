//! The largest resident memory of a program and everything that it started and waited for. The kernel counts it for all
//! children of a process together, and counts what the parent held when it started them; so a small process of the
//! test's own executable stands in between, for one program each.

use super::command::{Exit, run};
use nix::sys::resource::{UsageWho, getrusage};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The first argument of that process.
const FLAG: &str = "--peak-of";

/// Must be called first in `main`: if this process is the small one in between, it starts the program and tells.
pub(crate) fn stand_in_between() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != FLAG {
        return None;
    }
    let status = Command::new(words.next()?).args(words).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.expect("the program starts");
    let kibibytes = getrusage(UsageWho::RUSAGE_CHILDREN).expect("its usage").max_rss();
    println!("{} {kibibytes}", status.code().unwrap_or(-1));
    Some(ExitCode::SUCCESS)
}

/// How a program ended, and its peak in KiB.
pub(crate) fn peak(program: &str, arguments: &[&str], directory: &Path) -> (i32, u64) {
    let mut command = Command::new(std::env::current_exe().expect("this executable"));
    command.arg(FLAG).arg(program).args(arguments).current_dir(directory).env_clear().env("PATH", "/usr/bin:/bin");
    let finished = run(command, None);
    assert_eq!(finished.exit, Exit::Status(0), "{}", finished.stderr_text());
    let text = finished.stdout_text();
    let (exit, kibibytes) = text.trim().split_once(' ').expect("two numbers");
    (exit.parse().expect("a status"), kibibytes.parse().expect("a number"))
}
