//! The owner's commands, as a person and a script start them: what is recorded holds, what fails leaves nothing, nobody is
//! asked for what would not be accepted, and only a person's own yes writes a permission.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "owner_commands/asking.rs"]
mod asking;
#[path = "owner_commands/attaching.rs"]
mod attaching;
#[path = "owner_commands/deciding.rs"]
mod deciding;
#[path = "owner_commands/demonstration.rs"]
mod demonstration;
#[path = "owner_commands/keeping.rs"]
mod keeping;
#[path = "owner_commands/person.rs"]
mod person;
#[path = "owner_commands/recorded.rs"]
mod recorded;
#[path = "owner_commands/scene.rs"]
mod scene;
#[path = "owner_commands/screens.rs"]
mod screens;
mod support;
#[path = "owner_commands/taken_back.rs"]
mod taken_back;
#[path = "owner_commands/typed.rs"]
mod typed;
