//! Attaching assets to one workspace and changing what is attached: what the person approved, the digest that binds it,
//! and the one transaction that stores it. Never asks the person, never parses an asset: plans come from the sandboxed
//! worker, bytes and their digests from the caller.

mod change;
mod cleanup;
mod inventory;
mod leftovers;
mod lock;
mod policy;
mod proposal;
mod staging;
mod storage;
mod switching;
mod transaction;

pub use cleanup::{CleanupPlan, cleanup, preview_cleanup};
pub use inventory::Stored;
pub use leftovers::temporary_owner;
pub use lock::is_stale;
pub use policy::{AttachmentPolicy, PolicyArguments};
pub use proposal::{Proposal, attached};
pub use storage::IGNORED;
pub use switching::{Former, Switch, SwitchRequest};
pub use transaction::{attach, refresh, remove, rollback, set_enabled, switch};
