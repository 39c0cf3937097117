//! A capability broker for host processing consent.
//!
//! The folders are the architecture; a file imports only from its own folder and from floors below it
//! (`tests/layering.rs`):
//!
//! | floor | folder | what it is |
//! | --- | --- | --- |
//! | 0 | [`foundation`] | values, digests, limits, refusals; no I/O |
//! | 1 | [`system`] | the only code that touches the operating system |
//! | 2 | [`capability`] | what may be touched: the pinned root, private files, snapshots, secrets |
//! | 2 | [`hosts`] | what is known of agent hosts |
//! | 3 | [`journal`], [`consent`], [`delegate`], `runtime` | the record of what happened, permission, the delegated runtime |
//! | 4 | [`broker`] | the load sequence as a table |
//! | 6 | [`mcp`] | the transport and the three tools |
//! | 7 | [`launch`] | the host launcher; starting servers |
//! | 8 | [`cli`] | the commands |
#![forbid(unsafe_code)]

pub mod broker;
pub mod capability;
pub mod cli;
pub mod consent;
pub mod delegate;
pub mod foundation;
pub mod hosts;
pub mod journal;
pub mod launch;
pub mod mcp;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod system;

pub use cli::{main_entry, worker_entry};
