//! system/os
