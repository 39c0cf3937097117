//! consent
