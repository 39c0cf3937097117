//! Attaching an asset to one workspace: what the person approved, the digest that binds it, and the one transaction that
//! stores it. Never asks the person, never parses an asset: the plan comes from the sandboxed worker, the bytes and their
//! digest from the caller.

mod lock;
mod policy;
mod proposal;
mod storage;
mod transaction;

pub use policy::{AttachmentPolicy, PolicyArguments};
pub use proposal::{Proposal, attached};
pub use transaction::attach;
