//! Floor 6: the Model Context Protocol over standard input and output, and the tools offered through it.
//!
//! The transport ([`session`], with frame, envelope, queue and reply below it) knows nothing of attachments; a
//! [`session::Toolset`] says which tools there are and what a call answers. The tools themselves only translate:
//! no decision about a workspace, a consent or a load is taken here.

mod arguments;
mod envelope;
mod era;
mod frame;
mod queue;
mod reader;
mod reply;
pub mod revisions;
mod schema;
pub mod session;
mod worker;
mod workspace;

pub use schema::ToolNames;
pub use session::{Ending, ServeOptions, serve, serve_watched};
