//! A pinned external runtime, through the real server and the real sandbox, with the machine's own Node: a full load works,
//! and whatever changed on disk, whatever the runtime does instead of answering, nothing is delivered that should not be.
//!
//! Prints `skipped: no node` where there is none; what needs none runs everywhere.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

#[path = "external_runtime/answers.rs"]
mod answers;
#[path = "external_runtime/binding.rs"]
mod binding;
#[path = "external_runtime/pinning.rs"]
mod pinning;
#[path = "external_runtime/sandbox.rs"]
mod sandbox;
#[path = "external_runtime/stage.rs"]
mod stage;
