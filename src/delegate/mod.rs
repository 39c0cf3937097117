//! Floor 3: the delegated runtime, seen from outside: one contract, one process for each request, every reply validated
//! before it is used. Never parses an asset; never starts anything but the pinned runtime.

pub mod child;
pub mod contract;
mod external;
pub mod pin;

pub use child::{Delegate, Shape, Witness};
