//! Floor 3: a person's permission for one host, one workspace root, one asset, one use, one destination, one profile.
//!
//! Only the person's own commands write it ([`store`], after [`prompt`] was answered); everything else reads it, through
//! one reader ([`document`]) and one comparison ([`binding`]). Nothing here asks, starts or delivers anything.

pub mod adoption;
pub mod binding;
pub mod cooldown;
pub mod document;
pub mod draft;
#[cfg(feature = "runtime")]
pub(crate) mod fitted;
pub mod host_draft;
pub mod ledger;
pub mod managed;
pub mod prompt;
#[cfg(test)]
mod prompt_tests;
pub mod store;
#[cfg(test)]
mod store_tests;

pub use binding::{ConsentLease, Coordinates, check_binding, check_destination, check_host_id};
pub use document::{Consent, ConsentFacts};
pub use draft::{ConsentDraft, DraftFacts};
pub use store::{ConsentFile, ConsentSource};
