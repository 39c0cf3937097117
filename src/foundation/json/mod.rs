//! Two readers and two writers of JSON, and no third of either.
//!
//! * [`read_strict`]: authority documents (consent, record, ledger, policy, pins, drafts), frames and runtime replies.
//! * [`read_javascript`]: entries inside an asset, as the reference's `JSON.parse` takes them.
//! * [`write`]: JavaScript layout and key order, for every document of the contract.
//! * [`canonical`]: sorted keys (RFC 8785), for digests over entries and for review documents.

pub mod canonical;
mod reader;
pub mod write;

pub use reader::{JsonFault, read_javascript, read_javascript_borrowing, read_strict};
