//! Floor 7: starting hosts and servers. So far what the demonstration needs: this product's own server over pipes, and
//! one of its commands on a pseudo-terminal. Never starts anything that was not named by its caller.

mod server;
mod terminal;

pub use server::Server;
pub use terminal::{answer_on_terminal, continue_on_terminal, run_command};
