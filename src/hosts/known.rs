//! The hosts that are known, as a table. What is not measured is not claimed.

use super::{PORTABLE_TOOLS, TOOLS};

/// A host.
#[derive(Debug, PartialEq, Eq)]
pub struct Host {
    /// The word on the command line.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The name of its program.
    pub program: &'static str,
    /// How it is kept from writing a transcript; `None` where no way is known.
    pub transcript: Option<TranscriptFlag>,
    /// The files that it reads, those for entries first.
    pub files: &'static [HostFile],
    /// The member of a file that holds its servers.
    pub servers: &'static str,
    /// How an entry is written.
    pub shape: Shape,
    /// Where it is told which tools may be used.
    pub list: ToolList,
    /// Characters of one result that are known to reach the model whole; `None` where that was not measured.
    pub keeps_whole: Option<usize>,
    /// Whether its entry asks the server for names without dots: hosts that take dots were measured.
    pub portable: bool,
    /// Whether it hands a server only those of its variables that the entry names.
    pub filters_variables: bool,
}

/// A file of a host.
#[derive(Debug, PartialEq, Eq)]
pub struct HostFile {
    /// Below the home directory or below the project.
    pub scope: Scope,
    /// Where, from there.
    pub path: &'static str,
    /// How it is written.
    pub syntax: Syntax,
    /// What it holds.
    pub holds: Holds,
    /// What a person must know before writing it; empty where there is nothing.
    pub note: &'static str,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every project of the person.
    User,
    /// One project.
    Project,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// TOML.
    Toml,
    /// JSON; comments and trailing commas are read, as most hosts do.
    Json,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Servers.
    Servers,
    /// Permissions alone.
    Permissions,
}

/// How an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `command` is a text, `args` a list, `env` a map.
    CommandAndArgs,
    /// `command` is the whole list, `environment` a map.
    CommandList,
}

/// Where a host is told which tools may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolList {
    /// In the entry, under this name, each tool by its own name.
    InEntry(&'static str),
    /// In `permissions.allow` of the files that hold permissions, as `mcp__SERVER__TOOL`.
    Allowed,
    /// In `permission` of the same file, as `SERVER_TOOL`.
    Permission,
    /// In the host's own settings, which are no file of the project.
    Elsewhere,
}

/// A flag that keeps no transcript, and what it needs.
#[derive(Debug, PartialEq, Eq)]
pub struct TranscriptFlag {
    /// The flag.
    pub flag: &'static str,
    /// Words one of which must stand in the command for the flag to hold; the flag goes right behind it.
    pub after: &'static [&'static str],
}

const fn servers(scope: Scope, path: &'static str, syntax: Syntax, note: &'static str) -> HostFile {
    HostFile { scope, path, syntax, holds: Holds::Servers, note }
}

const fn permissions(scope: Scope, path: &'static str) -> HostFile {
    HostFile { scope, path, syntax: Syntax::Json, holds: Holds::Permissions, note: "" }
}

/// The hosts.
pub const HOSTS: [Host; 6] = [
    Host {
        id: "codex",
        title: "Codex",
        program: "codex",
        transcript: Some(TranscriptFlag { flag: "--ephemeral", after: &["exec"] }),
        files: &[
            servers(
                Scope::Project,
                ".codex/config.toml",
                Syntax::Toml,
                "read only if the project is trusted ('codex exec --trust', or trust_level in the user's file)",
            ),
            servers(Scope::User, ".codex/config.toml", Syntax::Toml, ""),
        ],
        servers: "mcp_servers",
        shape: Shape::CommandAndArgs,
        list: ToolList::InEntry("enabled_tools"),
        keeps_whole: Some(8_000),
        portable: false,
        filters_variables: true,
    },
    Host {
        id: "opencode",
        title: "OpenCode",
        program: "opencode",
        transcript: None,
        files: &[
            servers(Scope::Project, "opencode.json", Syntax::Json, ""),
            servers(Scope::Project, "opencode.jsonc", Syntax::Json, ""),
            servers(Scope::User, ".config/opencode/opencode.json", Syntax::Json, ""),
            servers(Scope::User, ".config/opencode/opencode.jsonc", Syntax::Json, ""),
        ],
        servers: "mcp",
        shape: Shape::CommandList,
        list: ToolList::Permission,
        keeps_whole: Some(48_000),
        portable: false,
        filters_variables: false,
    },
    Host {
        id: "claude-code",
        title: "Claude Code",
        program: "claude",
        transcript: Some(TranscriptFlag { flag: "--no-session-persistence", after: &["-p", "--print"] }),
        files: &[
            servers(Scope::Project, ".mcp.json", Syntax::Json, ""),
            permissions(Scope::Project, ".claude/settings.local.json"),
            permissions(Scope::Project, ".claude/settings.json"),
            servers(
                Scope::User,
                ".claude.json",
                Syntax::Json,
                "the host writes this file itself: add to it, and while it does not run",
            ),
            permissions(Scope::User, ".claude/settings.json"),
        ],
        servers: "mcpServers",
        shape: Shape::CommandAndArgs,
        list: ToolList::Allowed,
        keeps_whole: Some(48_000),
        portable: false,
        filters_variables: false,
    },
    Host {
        id: "gemini-cli",
        title: "Gemini CLI",
        program: "gemini",
        transcript: None,
        files: &[
            servers(Scope::Project, ".gemini/settings.json", Syntax::Json, ""),
            servers(Scope::User, ".gemini/settings.json", Syntax::Json, ""),
        ],
        servers: "mcpServers",
        shape: Shape::CommandAndArgs,
        list: ToolList::InEntry("includeTools"),
        keeps_whole: None,
        portable: true,
        filters_variables: false,
    },
    Host {
        id: "vscode",
        title: "VS Code",
        program: "code",
        transcript: None,
        files: &[
            servers(Scope::Project, ".vscode/mcp.json", Syntax::Json, ""),
            servers(Scope::User, ".config/Code/User/mcp.json", Syntax::Json, ""),
        ],
        servers: "servers",
        shape: Shape::CommandAndArgs,
        list: ToolList::Elsewhere,
        keeps_whole: None,
        portable: true,
        filters_variables: false,
    },
    Host {
        id: "cursor",
        title: "Cursor",
        program: "cursor",
        transcript: None,
        files: &[
            servers(Scope::Project, ".cursor/mcp.json", Syntax::Json, ""),
            servers(Scope::User, ".cursor/mcp.json", Syntax::Json, ""),
        ],
        servers: "mcpServers",
        shape: Shape::CommandAndArgs,
        list: ToolList::Elsewhere,
        keeps_whole: None,
        portable: true,
        filters_variables: false,
    },
];

/// The host of this identifier.
pub fn by_id(id: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.id == id)
}

/// The host whose program a command's first word names.
pub fn by_program(word: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| word.rsplit('/').next() == Some(host.program))
}

impl Host {
    /// The tools as its entry has the server offer them.
    pub const fn tools(&self) -> [&'static str; 3] {
        if self.portable { PORTABLE_TOOLS } else { TOOLS }
    }

    /// The arguments of its entry.
    pub const fn arguments(&self) -> &'static [&'static str] {
        if self.portable { &["mcp", "--tool-names", "portable"] } else { &["mcp"] }
    }

    /// The command with the flag that keeps no transcript; `None` where the flag is not known or does not hold.
    pub fn without_transcript(&self, command: &[String]) -> Option<Vec<String>> {
        let known = self.transcript.as_ref()?;
        if known.stands_in(command) {
            return Some(command.to_vec());
        }
        let at = known.place_in(command)?;
        let mut command = command.to_vec();
        command.insert(at + 1, known.flag.to_owned());
        Some(command)
    }

    /// What to tell a person about what the host keeps; nothing where the command says the flag already.
    pub fn transcript_note(&self, command: &[String]) -> Option<String> {
        let keeps = format!("{} keeps what it receives in a transcript", self.title);
        match &self.transcript {
            Some(known) if known.stands_in(command) => None,
            Some(known) if known.place_in(command).is_some() => {
                Some(format!("{keeps}; --no-transcript before the -- adds its flag {}.", known.flag))
            }
            Some(known) => Some(format!("{keeps}; {} with {} keeps none.", known.after.join(" or "), known.flag)),
            None => Some(format!("{keeps}; no flag is known that keeps none.")),
        }
    }
}

impl TranscriptFlag {
    fn stands_in(&self, command: &[String]) -> bool {
        command.iter().any(|word| word == self.flag)
    }

    fn place_in(&self, command: &[String]) -> Option<usize> {
        command.iter().position(|word| self.after.contains(&word.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_flag_is_added_where_it_holds_and_once() {
        let codex = by_program("/opt/x/codex").unwrap();
        assert_eq!(codex.without_transcript(&words("codex exec do")).unwrap(), words("codex exec --ephemeral do"));
        assert_eq!(
            codex.without_transcript(&words("codex exec --ephemeral do")).unwrap(),
            words("codex exec --ephemeral do")
        );
        assert_eq!(codex.without_transcript(&words("codex")), None, "it holds for exec alone");
        assert_eq!(by_program("opencode").unwrap().without_transcript(&words("opencode run x")), None);
        assert_eq!(by_program("sh"), None);
    }

    #[test]
    fn a_person_is_told_what_a_host_keeps_unless_it_keeps_nothing() {
        let note = |text: &str| by_program(text.split(' ').next().unwrap()).unwrap().transcript_note(&words(text));
        assert_eq!(note("claude -p --no-session-persistence x"), None);
        assert!(note("claude -p x").unwrap().contains("--no-transcript"));
        assert!(note("claude").unwrap().contains("-p or --print with --no-session-persistence"));
        assert!(note("opencode").unwrap().contains("no flag is known"));
    }
}
