//! `kdna-broker launch`, as a person starts it: on a terminal, with a script in the place of a host. Consent is settled
//! first, the password is nowhere but in one file in memory, and nothing is left however the session ends.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "launch/ending.rs"]
mod ending;
#[path = "owner_commands/person.rs"]
mod person;
#[path = "support/processes.rs"]
mod processes;
#[path = "support/protect.rs"]
mod protect;
#[path = "launch/secrets.rs"]
mod secrets;
#[path = "launch/stage.rs"]
mod stage;
#[path = "launch/starting.rs"]
mod starting;
mod support;
