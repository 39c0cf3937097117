//! Floor 7: starting hosts and servers. The launcher settles consent, keeps a session in memory, obtains a password and
//! attends the host; the demonstration starts this product's own server over pipes, and one of its commands on a
//! pseudo-terminal. Never starts anything that was not named by its caller.

pub mod host;
pub mod place;
pub mod protected;
mod run;
pub mod secret;
mod server;
pub mod session;
pub mod settle;
mod terminal;
pub mod variables;
pub mod words;

pub use run::{LaunchOrder, Launched, REQUIRE_LEDGER, SESSION, launch};
pub use server::Server;
pub use terminal::{answer_on_terminal, continue_on_terminal, run_command};
