//! Floor 2: what is known of agent hosts: where their configuration lies, how it is written, how much of a result they
//! keep whole, and which flag keeps no transcript. Data and pure text; touches no file and starts nothing.

pub mod entry;
pub mod file;
mod jsonc;
pub mod judge;
pub mod known;

/// The workspace server's tools, as it offers them.
pub const TOOLS: [&str; 3] = ["kdna.workspace-status", "kdna.workspace-resolve", "kdna.workspace-load"];
/// The same under `--tool-names portable`.
pub const PORTABLE_TOOLS: [&str; 3] = ["kdna_workspace_status", "kdna_workspace_resolve", "kdna_workspace_load"];
/// The name of the entry.
pub const SERVER: &str = "kdna";
/// What a session of the launcher adds to a server's variables, beside those of the entry.
pub const SESSION_VARIABLES: [&str; 3] =
    ["KDNA_MCP_AUTHORIZATION_FILE", "KDNA_BROKER_SESSION", "KDNA_BROKER_REQUIRE_LEDGER"];

/// How a host writes a server's or a tool's name in its own lists: what is no letter, digit, `_` or `-` becomes `_`.
pub fn listed_name(name: &str) -> String {
    let kept = |character: char| character.is_ascii_alphanumeric() || character == '_' || character == '-';
    name.chars().map(|character| if kept(character) { character } else { '_' }).collect()
}
