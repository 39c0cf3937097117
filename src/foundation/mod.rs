//! Floor 0: values, digests, limits, refusals. No input, no output, no operating system.

pub mod capsule;
pub mod digest;
pub mod json;
pub mod limits;
pub mod load_plan;
pub mod path;
pub mod record;
pub mod refusal;
pub mod resolution;
pub mod switches;
pub mod task;
pub mod text;
pub mod time;
pub mod value;
