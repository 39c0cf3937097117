//! system/sim
