//! Floor 8: the commands.

use std::process::ExitCode;

/// What both executables run.
pub fn main_entry() -> ExitCode {
    ExitCode::FAILURE
}

/// Must be the first call of any program that embeds the broker with the embedded runtime: if this process was
/// started as a runtime worker it runs as one and never returns.
pub fn worker_entry() {}
