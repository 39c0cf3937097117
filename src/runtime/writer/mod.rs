//! Makes a packaged asset from its parts, or a protected one from a public one. Works on bytes alone: reads no directory,
//! writes no file. Whether what is packed is a valid asset is for the gates to say, in the sandboxed worker.
//!
//! The same parts give the same bytes: the order of entries, their timestamps and their modes are fixed. What is protected
//! differs in what is drawn anew each time: content key, salt and initial value.

mod cbor;
mod pack;
mod protect;
mod zip;

pub use crate::runtime::envelope::{Argon2id, Fresh};
pub use cbor::payload_cbor;
pub use pack::{Parts, Payload, pack};
pub use protect::{ProtectFault, protect};
pub use zip::container;

/// Why parts cannot be packed. Quotes nothing of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackFault {
    /// `payload.json` is not one JSON document, has a key twice, or is nested too deep.
    #[error("payload.json is not one JSON document without repeated keys")]
    PayloadNotJson,
    /// A value that CBOR readers of the contract would not give back: a number that is not finite, or the key
    /// `__proto__`, which they rename.
    #[error("payload.json holds a value that would not come back as it is (the key __proto__, or no finite number)")]
    PayloadNotKept,
    /// More or larger entries than a container may have.
    #[error("there are more or larger entries than a container may have")]
    TooLarge,
}
