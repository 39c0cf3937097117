//! Floor 2: what may be touched. Each type here is a proof: holding one means that its rule was checked.

pub mod private_file;
pub mod workspace;
