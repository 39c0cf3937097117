//! Shared by the test files: starting the executables as a host or a person would, and replaying recorded cases.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

pub(crate) mod command;
pub(crate) mod documents;
pub(crate) mod golden;
pub(crate) mod peak;
pub(crate) mod real;
pub(crate) mod simulated;
pub(crate) mod tree;

use std::path::PathBuf;

/// The folder of this package.
pub(crate) fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The shared data that must not be committed, or `None` after saying so.
pub(crate) fn shared() -> Option<PathBuf> {
    let found = std::env::var_os("KDNA_SHARED").filter(|value| !value.is_empty()).map(PathBuf::from);
    if found.is_none() {
        println!("skipped: KDNA_SHARED is not set");
    }
    found
}
