//! runtime/resolver
