//! What the programs say of their commands: one table, from which the whole help, the page of one command and the usage
//! line of an error are made. It names only what this version does, and decides nothing about a command but whether it
//! knows `--json-errors`.

mod broker;
mod owner;

use crate::cli::grammar::nearest;
use crate::cli::outcome::Outcome;
use crate::foundation::text::display;
use std::fmt::Write as _;

pub(crate) use broker::BROKER;
pub(crate) use owner::OWNER;

/// Asks for the page of a command, anywhere among its words.
const HELP: &str = "--help";
/// The column in which a description begins.
const COLUMN: usize = 25;
/// Longest piece of an argument that is shown back.
const SHOWN: usize = 64;

/// A program and its commands.
pub(crate) struct Page {
    program: &'static str,
    head: &'static str,
    entries: &'static [Entry],
    tail: &'static str,
}

/// One row of the table: commands that are described together.
pub(crate) struct Entry {
    /// Each with what stands behind its name.
    commands: &'static [(&'static str, &'static str)],
    says: &'static str,
    shared: Option<&'static Shared>,
    json_errors: bool,
    /// What stands behind the name in the usage line of an error, where that was recorded.
    recorded: Option<&'static str>,
}

/// Options that neighbouring rows share; said once in the whole help, after the last of them.
struct Shared {
    whose: &'static str,
    options: &'static str,
}

const fn entry(commands: &'static [(&'static str, &'static str)], says: &'static str) -> Entry {
    Entry { commands, says, shared: None, json_errors: false, recorded: None }
}

impl Entry {
    const fn sharing(self, shared: &'static Shared) -> Self {
        Self { shared: Some(shared), ..self }
    }

    /// A refusal can be had as JSON.
    const fn json(self) -> Self {
        Self { json_errors: true, ..self }
    }

    /// The usage line of an error is the recorded one.
    const fn recorded(self, syntax: &'static str) -> Self {
        Self { recorded: Some(syntax), ..self }
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.commands.iter().map(|(name, _)| *name)
    }

    /// As it stands in the whole help.
    fn block(&self) -> String {
        let each: Vec<String> =
            self.commands.iter().map(|command| format!("{}{}", command.0, behind(command.1))).collect();
        let syntax = format!("  {}", each.join(", "));
        let says = indented(self.says);
        if syntax.len() + 2 <= COLUMN {
            format!("{syntax:COLUMN$}{}", says.trim_start())
        } else {
            format!("{syntax}\n{says}")
        }
    }
}

/// A syntax, and the blank before it where there is one.
fn behind(syntax: &str) -> String {
    if syntax.is_empty() { String::new() } else { format!(" {syntax}") }
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| [&" ".repeat(COLUMN), line, "\n"].map(str::to_owned)).collect()
}

impl Page {
    /// The whole help.
    pub(crate) fn whole(&self) -> String {
        let mut text = format!("{}\n\n", self.head);
        for (at, entry) in self.entries.iter().enumerate() {
            text.push_str(&entry.block());
            let next = self.entries.get(at + 1).and_then(|next| next.shared);
            if let Some(shared) = entry.shared.filter(|shared| next.is_none_or(|next| !std::ptr::eq(*shared, next))) {
                text.push_str(&indented(&format!("{}: {}", shared.whose, shared.options)));
            }
        }
        text + self.tail
    }

    /// What `help` prints: everything, or what the words name. An unknown name is refused with the nearest one.
    pub(crate) fn help(&self, words: &[String]) -> Outcome {
        if words.is_empty() {
            return printed(self.whole());
        }
        let wanted = words.join(" ");
        match self.pages(&wanted) {
            Some(pages) => printed(pages),
            None => Outcome::usage(&self.unknown("There is no command", &wanted)),
        }
    }

    /// The page of the command that is called, if its words ask for one. What stands behind `--` is another program's.
    pub(crate) fn asked(&self, command: &str, words: &[String]) -> Option<Outcome> {
        let own: Vec<&str> = words.iter().map(String::as_str).take_while(|word| *word != "--").collect();
        if !own.contains(&HELP) {
            return None;
        }
        let sub = own.first().filter(|word| !word.starts_with('-')).map(|word| format!("{command} {word}"));
        sub.and_then(|name| self.pages(&name)).or_else(|| self.pages(command)).map(printed)
    }

    /// A message about a name that nothing has, and on a second line the nearest one that something has.
    pub(crate) fn unknown(&self, message: &str, name: &str) -> String {
        let shown = display(name, SHOWN);
        let names = || self.entries.iter().flat_map(Entry::names);
        let first = names().filter_map(|known| known.split(' ').next());
        // Of two words whose first is right, that one makes nothing nearer.
        let split = name.split_once(' ');
        let below = |known: &'static str| known.strip_prefix(split?.0)?.strip_prefix(' ');
        let below: Vec<&str> = names().filter_map(below).collect();
        let near = match split {
            Some((first, sub)) if !below.is_empty() => {
                nearest(sub, below.into_iter()).map(|sub| format!("{first} {sub}"))
            }
            _ => nearest(name, names().chain(first)).map(str::to_owned),
        };
        match near {
            Some(known) => format!("{message}: {shown}\nDid you mean {known}?"),
            None => format!("{message}: {shown}"),
        }
    }

    /// Whether a command (its first word) knows `--json-errors`.
    pub(crate) fn knows_json_errors(&self, command: &str) -> bool {
        let is = |name: &str| name.split(' ').next() == Some(command);
        self.entries.iter().any(|entry| entry.json_errors && entry.names().any(is))
    }

    /// How one command is called, in one line.
    pub(crate) fn usage(&self, name: &str) -> String {
        let called = |entry: &Entry| {
            let (name, syntax) = entry.commands.iter().find(|(known, _)| *known == name)?;
            if let Some(recorded) = entry.recorded {
                return Some(format!("{name} {recorded}"));
            }
            let shared = entry.shared.map_or("", |shared| shared.options);
            let words = format!("{name} {syntax} {shared}");
            Some(words.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let below = |known: &'static str| known.split_once(' ').filter(|(first, _)| *first == name).map(|(_, sub)| sub);
        let words = self.entries.iter().find_map(called).unwrap_or_else(|| {
            let subs: Vec<&str> = self.entries.iter().flat_map(Entry::names).filter_map(below).collect();
            format!("{name} {}", subs.join("|"))
        });
        format!("Usage: {} {words}", self.program)
    }

    /// A command line that is not as [`Page::usage`] says.
    pub(crate) fn misused(&self, name: &str) -> Outcome {
        Outcome::usage(&self.usage(name))
    }

    /// The pages of a command, or of all whose first word it is.
    fn pages(&self, name: &str) -> Option<String> {
        let of = |known: &str| known == name || known.split(' ').next() == Some(name);
        let found = self
            .entries
            .iter()
            .flat_map(|entry| entry.names().filter(|known| of(known)).map(move |known| (entry, known)));
        let pages: Vec<String> = found.map(|(entry, known)| self.page(entry, known)).collect();
        (!pages.is_empty()).then(|| pages.join("\n"))
    }

    fn page(&self, entry: &Entry, name: &str) -> String {
        let syntax = entry.commands.iter().find(|(known, _)| *known == name).map_or("", |(_, syntax)| syntax);
        let mut text = format!("Usage: {} {name}{}\n\n{}\n", self.program, behind(syntax), entry.says);
        if let Some(shared) = entry.shared {
            let _ = writeln!(text, "Also: {}", shared.options);
        }
        if entry.json_errors {
            text.push_str("Also: [--json-errors] a refusal as one JSON object (code, reason, message, remedy)\n");
        }
        text
    }
}

fn printed(output: String) -> Outcome {
    Outcome { output, ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_in_the_whole_help_and_has_a_page_that_says_the_same() {
        for page in [&OWNER, &BROKER] {
            let whole = page.whole();
            for entry in page.entries {
                assert!(whole.contains(&entry.block()));
                for name in entry.names() {
                    let own = page.help(&name.split(' ').map(str::to_owned).collect::<Vec<_>>());
                    assert_eq!((own.exit, own.errors.as_str()), (0, ""), "{name}");
                    assert!(own.output.starts_with(&format!("Usage: {} {name}", page.program)), "{}", own.output);
                    assert!(own.output.contains(entry.says), "{}", own.output);
                }
            }
            for line in whole.lines() {
                assert!(line.chars().count() <= 132 && line.trim_end() == line, "{line:?}");
            }
        }
    }

    #[test]
    fn what_the_help_names_beside_the_commands_has_a_page_as_well() {
        for page in [&OWNER, &BROKER] {
            for name in ["help", "version"] {
                assert!(page.whole().contains(&format!("\n  {name}")));
                let said = page.help(&[name.to_owned()]);
                assert_eq!((said.exit, said.errors.as_str()), (0, ""), "{name}");
                assert_eq!(page.asked(name, &["--help".to_owned()]), Some(said));
            }
        }
    }

    #[test]
    fn a_name_that_nothing_has_is_answered_with_the_nearest_one() {
        let said = OWNER.help(&["atach".to_owned()]);
        assert_eq!((said.exit, said.output.as_str()), (2, ""));
        assert!(said.errors.contains("There is no command: atach\nDid you mean attach?\n"), "{}", said.errors);
        assert!(BROKER.help(&["cosent".to_owned()]).errors.contains("\nDid you mean consent?\n"));
        assert!(BROKER.unknown("No", "consent rewoke").ends_with("\nDid you mean consent revoke?"));
        assert!(!OWNER.help(&["frobnicate".to_owned()]).errors.contains("Did you mean"));
        for far in ["frob", "-h", "--host"] {
            assert_eq!(BROKER.unknown("No", &format!("consent {far}")), format!("No: consent {far}"));
        }
    }

    #[test]
    fn what_stands_behind_two_dashes_is_the_hosts() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert!(BROKER.asked("launch", &words("--host x -- codex --help")).is_none());
        let page = BROKER.asked("launch", &words("--host x --help -- codex")).unwrap();
        assert!(page.output.starts_with("Usage: kdna-broker launch --host ID "), "{}", page.output);
        let page = BROKER.asked("consent", &words("request --help")).unwrap().output;
        assert!(page.contains("consent request") && !page.contains("consent revoke"), "{page}");
        assert!(BROKER.asked("consent", &words("--help")).unwrap().output.contains("consent revoke"));
    }
}
