//! The hosts that are known, as a table. What is not measured is not claimed.

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
}

/// A flag that keeps no transcript, and what it needs.
#[derive(Debug, PartialEq, Eq)]
pub struct TranscriptFlag {
    /// The flag.
    pub flag: &'static str,
    /// Words one of which must stand in the command for the flag to hold; the flag goes right behind it.
    pub after: &'static [&'static str],
}

/// The hosts.
pub const HOSTS: [Host; 6] = [
    Host {
        id: "codex",
        title: "Codex",
        program: "codex",
        transcript: Some(TranscriptFlag { flag: "--ephemeral", after: &["exec"] }),
    },
    Host { id: "opencode", title: "OpenCode", program: "opencode", transcript: None },
    Host {
        id: "claude-code",
        title: "Claude Code",
        program: "claude",
        transcript: Some(TranscriptFlag { flag: "--no-session-persistence", after: &["-p", "--print"] }),
    },
    Host { id: "gemini-cli", title: "Gemini CLI", program: "gemini", transcript: None },
    Host { id: "vscode", title: "VS Code", program: "code", transcript: None },
    Host { id: "cursor", title: "Cursor", program: "cursor", transcript: None },
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
