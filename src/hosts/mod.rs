//! Floor 2: what is known of agent hosts: where their configuration lies, how it is written, how much of a result they
//! keep whole, and which flag keeps no transcript. Data and pure text; touches no file and starts nothing.

pub mod known;
