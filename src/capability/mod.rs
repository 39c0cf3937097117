//! Floor 2: what may be touched. Each type here is a proof: holding one means that its rule was checked.

pub mod home;
pub mod private_file;
pub mod root;
pub mod secret;
pub mod snapshot;
pub mod state;
pub mod workspace;
