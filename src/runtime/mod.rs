//! Floor 3, feature `runtime`: the embedded asset runtime. Runs only in the sandboxed worker process; imports
//! `foundation`, `system` and `capability`, never the broker.
//!
//! What is re-exported here works on the bytes of one asset, read once by the caller: it opens no file, asks no clock,
//! contacts no server and prints nothing. Documents come back as ordered values; a refusal is a [`RuntimeFault`].

mod asset;
pub mod attachments;
mod capsule;
mod cbor;
mod checksums;
mod container;
mod decision;
mod digests;
mod envelope;
mod evidence;
mod fault;
mod inflate;
mod inspect;
mod javascript;
mod manifest;
mod payload;
mod plan;
mod projection;
mod report;
pub mod resolver;
mod schema;
mod signature;
mod validation;
pub mod writer;

pub use asset::{Asset, inspect, load, plan, standing, validate};
pub use capsule::{InputKind, LoadInput, LoadProfile};
pub use container::{Container, recognise};
pub use fault::RuntimeFault;
pub use manifest::LOADER_VERSION;
pub use plan::{EntitlementStatus, PlanInput, Standing};
