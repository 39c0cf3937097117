//! Floor 3, feature `runtime`: the embedded asset runtime. Runs only in the sandboxed worker process; imports
//! `foundation`, `system` and `capability`, never the broker.

pub mod attachments;
pub mod resolver;
