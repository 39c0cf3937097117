//! What a load leaves behind, and where: nothing in an argument vector or an environment, nothing on a disk, no process;
//! and a consent is read anew for every load. With the real executables, real files and real signals.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "support/session.rs"]
mod session;
mod support;

#[path = "process_privacy/disk.rs"]
mod disk;
#[path = "process_privacy/ending.rs"]
mod ending;
#[path = "process_privacy/rotation.rs"]
mod rotation;
#[path = "process_privacy/watcher.rs"]
mod watcher;
