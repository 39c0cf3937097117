//! delegate
