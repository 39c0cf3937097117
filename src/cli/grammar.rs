//! The recorded argument grammar of both programs (docs/contract/commands.md): `--name value` or `--name=value`, single
//! values once, everything that does not begin with `--` positional. A parser of our own because the contract fixes its
//! texts; it holds no option of any command.

use crate::foundation::text::display;

/// Asks for refusals as JSON; taken out of the arguments before a command reads them.
pub(crate) const JSON_ERRORS: &str = "--json-errors";
/// Longest piece of an argument that is shown back.
const SHOWN: usize = 64;

/// What a command accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Options without a value.
    pub(crate) flags: &'static [&'static str],
    /// Options with a value.
    pub(crate) values: &'static [&'static str],
    /// Of these values, the ones that may stand several times.
    pub(crate) repeatable: &'static [&'static str],
    /// Whether a repeated flag is refused, as the asset commands do.
    pub(crate) flags_once: bool,
}

/// Arguments, understood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    positionals: Vec<String>,
    flags: Vec<&'static str>,
    values: Vec<(&'static str, String)>,
}

impl Options {
    /// Reads arguments; the error is the recorded text, with the person's own words made safe to show.
    pub(crate) fn parse(&self, arguments: &[String]) -> Result<Arguments, String> {
        let mut parsed = Arguments::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            if !argument.starts_with("--") {
                parsed.positionals.push(argument.clone());
                continue;
            }
            let (name, inline) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            if let Some(flag) = self.flags.iter().find(|flag| **flag == name) {
                if inline.is_some() {
                    return Err(format!("{flag} does not accept a value."));
                }
                if self.flags_once && parsed.has(flag) {
                    return Err(format!("{flag} may be supplied only once."));
                }
                parsed.flags.push(flag);
            } else if let Some(option) = self.values.iter().find(|option| **option == name) {
                if !self.repeatable.contains(option) && parsed.value(option).is_some() {
                    return Err(format!("{option} may be supplied only once."));
                }
                let value = match inline {
                    Some(value) => Some(value),
                    None => rest.next().filter(|value| !value.starts_with("--")).cloned(),
                };
                let value = value.filter(|value| !value.is_empty() && !value.starts_with("--"));
                parsed.values.push((option, value.ok_or_else(|| format!("{option} requires a value."))?));
            } else {
                return Err(self.unknown(name));
            }
        }
        Ok(parsed)
    }

    /// The recorded text, and on a second line the option that may have been meant.
    fn unknown(&self, name: &str) -> String {
        // The commands about an asset file, which take a flag once, do not know this one.
        let everywhere = [JSON_ERRORS];
        let everywhere = everywhere.iter().filter(|_| !self.flags_once);
        let known = self.flags.iter().chain(self.values).chain(everywhere);
        let shown = display(name, SHOWN);
        match nearest(name, known.copied()) {
            Some(known) => format!("Unknown option: {shown}\nDid you mean {known}?"),
            None => format!("Unknown option: {shown}"),
        }
    }
}

/// The known word that somebody may have meant, if one is near enough.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|known| (distance(name, known), known)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, known)| *distance <= (known.len() / 3).max(2)).map(|(_, known)| known)
}

/// How many characters must be added, removed or replaced to make one text of another. Longer texts than any option
/// are as far away as can be.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    if one.len() > SHOWN {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, character) in one.chars().enumerate() {
        let mut next = vec![at + 1];
        for ((there, above), diagonal) in other.iter().zip(row.iter().skip(1)).zip(&row) {
            let left = next.last().copied().unwrap_or_default();
            next.push((diagonal + usize::from(*there != character)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./=:@%+,".contains(character);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

impl Arguments {
    /// Whether a flag was given.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// The value of an option.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        self.values.iter().find(|(name, _)| *name == option).map(|(_, value)| value.as_str())
    }

    /// All values of a repeatable option, in order.
    #[cfg_attr(not(feature = "runtime"), allow(dead_code))] // only `attach` has one
    pub(crate) fn all(&self, option: &str) -> Vec<String> {
        self.values.iter().filter(|(name, _)| *name == option).map(|(_, value)| value.clone()).collect()
    }

    /// What does not begin with `--`.
    pub(crate) fn positionals(&self) -> &[String] {
        &self.positionals
    }

    /// The only positional, if there is exactly one.
    pub(crate) fn only_positional(&self) -> Option<&str> {
        match self.positionals.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: Options = Options {
        flags: &["--yes"],
        values: &["--cwd", "--applies-to"],
        repeatable: &["--applies-to"],
        flags_once: false,
    };

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        OPTIONS.parse(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_and_positionals_are_told_apart() {
        let parsed =
            parse(&["a.kdna", "--cwd", "w", "--applies-to=x", "--applies-to", "y", "--yes", "--yes", "-x"]).unwrap();
        assert_eq!(parsed.positionals(), ["a.kdna", "-x"]);
        assert_eq!(
            (parsed.value("--cwd"), parsed.all("--applies-to"), parsed.has("--yes")),
            (Some("w"), vec!["x".into(), "y".into()], true)
        );
        assert_eq!(parsed.only_positional(), None);
    }

    #[test]
    fn each_mistake_has_its_recorded_text() {
        let text = |arguments: &[&str]| parse(arguments).unwrap_err();
        assert_eq!(text(&["--yes=1"]), "--yes does not accept a value.");
        assert_eq!(text(&["--cwd"]), "--cwd requires a value.");
        assert_eq!(text(&["--cwd="]), "--cwd requires a value.");
        assert_eq!(text(&["--cwd", "--yes"]), "--cwd requires a value.");
        assert_eq!(text(&["--cwd", "a", "--cwd", "b"]), "--cwd may be supplied only once.");
        assert_eq!(text(&["--x\u{1b}=1"]), "Unknown option: --x\\u{1b}");
    }

    #[test]
    fn an_unknown_option_names_the_one_that_was_meant() {
        let text = |argument: &str| parse(&[argument]).unwrap_err();
        assert_eq!(text("--aplies-to=x"), "Unknown option: --aplies-to\nDid you mean --applies-to?");
        assert_eq!(text("--cdw"), "Unknown option: --cdw\nDid you mean --cwd?");
        assert_eq!(text("--json-error"), "Unknown option: --json-error\nDid you mean --json-errors?");
        assert_eq!(text("--frobnicate"), "Unknown option: --frobnicate");
        assert_eq!(text(&"--x".repeat(9999)), format!("Unknown option: {}…", "--x".repeat(21) + "-"));
    }
}
