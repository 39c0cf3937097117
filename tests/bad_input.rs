//! Bad input of every kind gets its code: requests, workspaces, private files, environments, command lines. Nothing that
//! is printed holds a path outside the workspace, a task, or foreign bytes, and nothing hangs. With the real executables.
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

#[path = "bad_input/commands.rs"]
mod commands;
#[path = "bad_input/environment.rs"]
mod environment;
#[path = "bad_input/frames.rs"]
mod frames;
#[path = "bad_input/place.rs"]
mod place;
#[path = "bad_input/private.rs"]
mod private;
#[path = "bad_input/requests.rs"]
mod requests;
#[path = "bad_input/streams.rs"]
mod streams;
#[path = "bad_input/terminal.rs"]
mod terminal;
#[path = "bad_input/usage.rs"]
mod usage;
#[path = "bad_input/workspace.rs"]
mod workspace;
