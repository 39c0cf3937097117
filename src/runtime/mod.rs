//! Floor 3, feature `runtime`: the embedded asset runtime. Runs only in the sandboxed worker process; imports
//! `foundation`, `system` and `capability`, never the broker.
//!
//! What is re-exported here works on the bytes of one asset, read once by the caller: it opens no file, asks no clock,
//! contacts no server and prints nothing. Documents come back as ordered values; a refusal is a [`RuntimeFault`].

pub mod asset;
pub mod attachments;
pub mod capsule;
mod cbor;
mod checksums;
mod container;
mod digests;
mod evidence;
mod fault;
mod inflate;
mod inspect;
mod javascript;
pub mod manifest;
mod payload;
pub mod plan;
mod projection;
mod report;
pub mod resolver;
mod schema;
mod validation;

pub use asset::{Asset, inspect, load, plan, validate};
pub use capsule::{InputKind, LoadProfile};
pub use container::recognise;
pub use fault::RuntimeFault;
pub use manifest::LOADER_VERSION;
pub use plan::{EntitlementStatus, PlanInput};
