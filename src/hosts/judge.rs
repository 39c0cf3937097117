//! What is to be said of an entry: paths that somebody else could answer, tools that nobody listed, secrets. Quotes nothing
//! of the file but the name of the server, escaped.

use super::file::{Allowing, Listed, Server};
use super::known::{Host, ToolList};
use super::{PORTABLE_TOOLS, SESSION_VARIABLES, TOOLS, listed_name};
use crate::foundation::path::AbsolutePath;
use crate::foundation::text::display;
use std::collections::BTreeSet;

/// One thing to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Whether a load through this entry cannot work.
    pub fatal: bool,
    /// What is so.
    pub says: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// Longest name of a server that is shown.
const SHOWN: usize = 48;
/// Variables of an entry that name a file or a directory.
const PATHS: [&str; 6] = [
    "KDNA_MCP_WORKSPACE_ROOT",
    "KDNA_MCP_HOST_PROCESSING_CONSENT_FILE",
    "KDNA_BROKER_CONSENT_DIR",
    "KDNA_MCP_AUTHORIZATION_FILE",
    "KDNA_BROKER_STATE_DIR",
    PINS,
];
/// Names programs that a load runs.
const PINS: &str = "KDNA_BROKER_RUNTIME_PINS";
/// Other variables of an entry that are known.
const WORDS: [&str; 2] = ["KDNA_MCP_HOST_ID", "KDNA_BROKER_REQUIRE_LEDGER"];
/// What a name holds that is the name of a secret.
const SECRETS: [&str; 8] = ["PASSW", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY"];

/// Variables by which whoever writes an entry has the loader or the C library take up files of his, beside `LD_*`.
const STEALING: [&str; 2] = ["GLIBC_TUNABLES", "GCONV_PATH"];

/// Longest rule that is looked into, in characters; stars that follow each other count once.
const RULE_CHARACTERS: usize = 512;
/// Comparisons of one character that the rules of one file are given.
const RULE_STEPS: usize = 20_000_000;

const LIST: &str = "List exactly the tools of this server; 'kdna-broker host-config HOST' prints the entry.";

/// How a server of this product is named in what is said.
pub fn shown(server: &Server) -> String {
    format!("the server \"{}\"", display(&server.name, SHOWN))
}

/// Whether a variable of an entry reaches the server that the doctor tries: what the server reads, and nothing by which a
/// file would choose what is run.
pub fn is_handed_on(name: &str) -> bool {
    name != PINS && PATHS.iter().chain(&WORDS).any(|known| *known == name)
}

/// Whether a variable has a program take up what it names before its first line runs.
fn steals(name: &str) -> bool {
    name.starts_with("LD_") || STEALING.contains(&name)
}

/// Everything to be said of one entry.
pub fn judge(host: &Host, server: &Server) -> Vec<Remark> {
    let mut found = Vec::new();
    let mut say =
        |fatal, says: String, remedy| found.push(Remark { fatal, says: format!("{} {says}", shown(server)), remedy });
    match server.command.first() {
        Some(program) if AbsolutePath::parse(program).is_ok() => {}
        _ => say(
            false,
            "names its program by no absolute path: another program could take its place".into(),
            "Write the absolute path of kdna-broker.",
        ),
    }
    for (name, value) in &server.environment {
        if PATHS.contains(&name.as_str()) && !value.is_empty() && !refers(value) && AbsolutePath::parse(value).is_err()
        {
            say(
                true,
                format!("gives {name} no absolute, normal path"),
                "Write an absolute path: the server refuses any other.",
            );
        }
    }
    if server.environment.iter().any(|(name, _)| is_secret(name)) {
        say(
            false,
            "has a variable that looks like a secret: every program that reads this file can read it".into(),
            "Take it out; the server reads a password from a private file, or below 'kdna-broker launch'.",
        );
    }
    if server.environment.iter().any(|(name, _)| steals(name)) {
        say(
            false,
            "has a variable of the program loader (LD_*, GLIBC_TUNABLES, GCONV_PATH): it can run foreign code in the server, which steals what the server reads".into(),
            "Take it out, and ask who wrote it; the doctor tried the server without it.",
        );
    }
    if server
        .command
        .iter()
        .skip(1)
        .any(|word| word.starts_with('-') && is_secret(word.split('=').next().unwrap_or_default()))
    {
        say(
            false,
            "has an argument that looks like a secret: command lines can be read by others".into(),
            "Take it out; the server takes no password as an argument.",
        );
    }
    if let ToolList::InEntry(list) = host.list
        && let Some((says, remedy)) = listed(list, &server.tools)
    {
        say(false, says, remedy);
    }
    if server.trusted {
        say(false, "lets every tool run without a question (trust)".into(), "Take \"trust\" out of the entry.");
    }
    found
}

/// What is wrong with an entry's own list.
fn listed(list: &str, tools: &Listed) -> Option<(String, &'static str)> {
    let tools = match tools {
        Listed::Nowhere => return Some((format!("has no {list}: every tool is let in"), LIST)),
        Listed::Unclear => {
            return Some((format!("has a {list} that is no list of texts: it may let every tool in"), LIST));
        }
        Listed::Texts(tools) if tools.is_empty() => {
            return Some((format!("has an empty {list}: a host may take it for none"), LIST));
        }
        Listed::Texts(tools) => tools,
    };
    if tools.iter().any(|tool| tool.contains(['*', '?'])) {
        return Some((format!("has a wildcard in {list}"), LIST));
    }
    let is_one_of = |known: &[&str; 3]| tools.iter().all(|tool| known.contains(&tool.as_str()));
    (!is_one_of(&TOOLS) && !is_one_of(&PORTABLE_TOOLS))
        .then(|| (format!("lists in {list} what this server does not offer"), LIST))
}

/// Whether a value is filled in by the host: `${NAME}`, `$NAME`, `{env:NAME}`.
fn refers(value: &str) -> bool {
    value.contains('$') || value.contains("{env:")
}

fn is_secret(name: &str) -> bool {
    let known = PATHS.iter().chain(&WORDS).chain(&SESSION_VARIABLES);
    let upper = name.to_ascii_uppercase().replace('-', "_");
    !known.into_iter().any(|known| *known == name) && SECRETS.iter().any(|word| upper.contains(word))
}

/// What is to be said of what a file lets run without a question, if it reaches one of these servers.
pub fn allowing(host: &Host, allowing: &Allowing, servers: &[String]) -> Vec<Remark> {
    if servers.is_empty() {
        return Vec::new();
    }
    let mut found = rules(host, &allowing.rules, servers);
    let remedy = "Take it out of the file, and let in single tools and servers by their names.";
    for (is, says) in [
        (allowing.unclear, "what stands in the place of the rules that let tools run is none"),
        (allowing.bypass, "every tool runs without a question (bypassPermissions)"),
        (
            allowing.all_servers,
            "every server that a project names is started without a question (enableAllProjectMcpServers)",
        ),
    ] {
        found.extend(is.then(|| Remark { fatal: false, says: says.to_owned(), remedy }));
    }
    found
}

/// What is to be said of the rules that let tools run: those with a wildcard that reaches a tool of this server. A host
/// without such rules asks for each call, which is no fault.
fn rules(host: &Host, rules: &[String], servers: &[String]) -> Vec<Remark> {
    let reach = Reach::of(host, servers);
    let mut steps = RULE_STEPS;
    let (mut wide, mut unknown) = (0, 0);
    for rule in rules {
        match reach.is_wide(rule, &mut steps) {
            Some(true) => wide += 1,
            Some(false) => {}
            None => unknown += 1,
        }
    }
    let remark = |count: usize, says: &str| {
        let says = format!("{count} of the rules that let tools run {says}");
        (count > 0).then_some(Remark { fatal: false, says, remedy: LIST })
    };
    let wide = remark(wide, "name more than single tools of this server");
    wide.into_iter().chain(remark(unknown, "are too long or too many, and were not looked into")).collect()
}

/// What a rule must not reach more than a part of.
struct Reach {
    /// Names by which a rule lets in a server as a whole.
    wholes: BTreeSet<String>,
    /// Each tool, as the host writes it.
    tools: BTreeSet<String>,
}

impl Reach {
    fn of(host: &Host, servers: &[String]) -> Self {
        let mut reach = Self { wholes: BTreeSet::new(), tools: BTreeSet::new() };
        for server in servers {
            let server = listed_name(server);
            let whole = if host.list == ToolList::Allowed { format!("mcp__{server}") } else { server };
            let between = if host.list == ToolList::Allowed { "__" } else { "_" };
            let tools = TOOLS.iter().chain(&PORTABLE_TOOLS);
            reach.tools.extend(tools.map(|tool| format!("{whole}{between}{}", listed_name(tool))));
            if host.list == ToolList::Allowed {
                reach.wholes.insert(whole);
            }
        }
        reach
    }

    /// Whether a rule is none for one tool, and reaches this server's; `None` if that takes longer than a file is given.
    fn is_wide(&self, rule: &str, steps: &mut usize) -> Option<bool> {
        if self.wholes.contains(rule) {
            return Some(true);
        }
        if self.tools.is_empty() || !rule.contains(['*', '?']) {
            return Some(false);
        }
        let pattern = pattern(rule);
        if pattern.len() > RULE_CHARACTERS {
            return None;
        }
        for tool in &self.tools {
            *steps = steps.checked_sub(pattern.len() * (tool.len() + 1))?;
            if matches(&pattern, tool) {
                return Some(true);
            }
        }
        Some(false)
    }
}

/// The characters of a rule, at most one more than is looked into; stars that follow each other are one star.
fn pattern(rule: &str) -> Vec<char> {
    let mut characters: Vec<char> = Vec::new();
    for character in rule.chars() {
        if character != '*' || characters.last() != Some(&'*') {
            characters.push(character);
        }
        if characters.len() > RULE_CHARACTERS {
            break;
        }
    }
    characters
}

/// Whether a text fits a pattern of `*` and `?`.
fn matches(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // Row by row: which beginnings of the text the pattern so far fits.
    let mut fits: Vec<bool> = std::iter::once(true).chain(text.iter().map(|_| false)).collect();
    for &wanted in pattern {
        let mut next = vec![wanted == '*' && fits.first() == Some(&true)];
        for ((before, above), character) in fits.iter().zip(fits.iter().skip(1)).zip(&text) {
            let left = next.last() == Some(&true);
            next.push(match wanted {
                '*' => *above || left,
                '?' => *before,
                wanted => *before && wanted == *character,
            });
        }
        fits = next;
    }
    fits.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::known::by_id;

    #[test]
    fn a_pattern_fits_what_its_stars_and_marks_can_stand_for() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("*", "a", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a***?**c", "abc", true),
            ("***", "", true),
            ("kdna_*", "kdna_kdna_workspace-load", true),
            ("*load", "kdna_kdna_workspace-load", true),
            ("other_*", "kdna_kdna_workspace-load", false),
        ] {
            assert_eq!(matches(&super::pattern(pattern), text), fits, "{pattern} {text}");
        }
    }

    fn said(rules: &[String], server: &str) -> Vec<String> {
        let host = by_id("opencode").unwrap();
        super::rules(host, rules, &[server.to_owned()]).into_iter().map(|remark| remark.says).collect()
    }

    #[test]
    fn rules_that_would_take_long_are_passed_over_and_counted_and_never_called_fine() {
        let long = "*a".repeat(10_000);
        assert_eq!(said(&["*".repeat(20_000), long.clone()], "kdna").len(), 2, "stars in a row are one star");
        assert_eq!(
            said(&[long], "kdna"),
            ["1 of the rules that let tools run are too long or too many, and were not looked into"]
        );
        let many: Vec<String> = (0..20_000).map(|number| format!("{}{number}", "*a".repeat(250))).collect();
        let said = said(&many, &"a".repeat(10_000));
        assert!(matches!(said.as_slice(), [says] if says.ends_with("were not looked into")), "{said:?}");
    }
}
