//! The protocol as a client meets it: framing, ids, order, cancellation, endings, and what each revision may hear.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "mcp_protocol/client.rs"]
mod client;
#[path = "mcp_protocol/evidence.rs"]
mod evidence;
#[path = "mcp_protocol/framing.rs"]
mod framing;
#[path = "mcp_protocol/mutated.rs"]
mod mutated;
#[path = "mcp_protocol/order.rs"]
mod order;
#[path = "mcp_protocol/published.rs"]
mod published;
#[path = "mcp_protocol/stateless.rs"]
mod stateless;
#[path = "mcp_protocol/tools.rs"]
mod tools;
