//! The folders are the architecture: a file imports only from its own folder and from floors below it; only `system/`
//! touches the operating system, only `cli/` its environment, only `delegate/` and `launch/` start processes, and only
//! `runtime/` holds what parses assets.
//!
//! The check reads the sources as text (comments and literals removed) and follows every path: `use` trees, paths inside
//! code, `super::` chains. Each rule is shown to bite on a bad snippet below.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use std::fs;
use std::path::Path;
use support::package;

/// The floors. A folder that is not named here is a fault.
const FLOORS: [(&str, u8); 13] = [
    ("foundation", 0),
    ("system", 1),
    ("capability", 2),
    ("hosts", 2),
    ("journal", 3),
    ("consent", 3),
    ("delegate", 3),
    ("runtime", 3),
    ("broker", 4),
    ("review", 5),
    ("mcp", 6),
    ("launch", 7),
    ("cli", 8),
];

/// What only `system/` may name.
const OPERATING_SYSTEM: [&str; 9] =
    ["rustix", "libc", "nix", "landlock", "seccompiler", "cap_std", "cap_primitives", "region", "close_fds"];
const STANDARD_SYSTEM: [&str; 4] = ["fs", "process", "net", "os"];
/// What only `runtime/` may name.
const ASSET_PARSERS: [&str; 4] = ["miniz_oxide", "flate2", "icu_collator", "icu_properties"];
const LONGEST_FILE: usize = 600;

fn floor(folder: &str) -> Option<u8> {
    FLOORS.iter().find(|(name, _)| *name == folder).map(|(_, floor)| *floor)
}

/// One token: a word, `::`, or a single character.
fn tokens(source: &str) -> Vec<String> {
    let text: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let here = text[at];
        let next = text.get(at + 1).copied();
        if here == '/' && next == Some('/') {
            at = end_of_line(&text, at);
        } else if here == '/' && next == Some('*') {
            at = end_of_comment(&text, at);
        } else if let Some(end) = end_of_literal(&text, at) {
            at = end;
        } else if here.is_alphanumeric() || here == '_' {
            let end = (at..text.len()).find(|place| !is_word(text[*place])).unwrap_or(text.len());
            found.push(text[at..end].iter().collect());
            at = end;
        } else if here == ':' && next == Some(':') {
            found.push("::".to_owned());
            at += 2;
        } else {
            if !here.is_whitespace() {
                found.push(here.to_string());
            }
            at += 1;
        }
    }
    found
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn end_of_line(text: &[char], at: usize) -> usize {
    (at..text.len()).find(|place| text[*place] == '\n').unwrap_or(text.len())
}

fn end_of_comment(text: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut place = at;
    while place < text.len() {
        match (text[place], text.get(place + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                place += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                place += 2;
                if depth == 0 {
                    return place;
                }
            }
            _ => place += 1,
        }
    }
    place
}

/// The end of a string or character literal that begins here; `None` if none does (a lifetime is none).
fn end_of_literal(text: &[char], at: usize) -> Option<usize> {
    let begins_word = at > 0 && is_word(text[at - 1]);
    let mut start = at;
    if !begins_word {
        while start < text.len() && matches!(text[start], 'b' | 'c' | 'r') && start < at + 2 {
            start += 1;
        }
    }
    let raw = text[at..start].contains(&'r');
    let hashes = text[start..].iter().take_while(|character| **character == '#').count();
    if raw && text.get(start + hashes) == Some(&'"') {
        let close: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
        let inside = start + hashes + 1;
        let end = (inside..text.len()).find(|place| text[*place..].starts_with(&close))?;
        return Some(end + close.len());
    }
    match text.get(start)? {
        '"' => Some(end_of_quoted(text, start, '"')),
        '\'' if text.get(start + 1) == Some(&'\\') || text.get(start + 2) == Some(&'\'') => {
            Some(end_of_quoted(text, start, '\''))
        }
        _ => None,
    }
}

fn end_of_quoted(text: &[char], start: usize, quote: char) -> usize {
    let mut place = start + 1;
    while place < text.len() {
        match text[place] {
            '\\' => place += 2,
            character if character == quote => return place + 1,
            _ => place += 1,
        }
    }
    place
}

/// The tokens without items under `#[cfg(test)]`: tests may use temporary files.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let marker = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].iter().zip(marker).filter(|(token, mark)| *token == mark).count() == marker.len() {
            at = end_of_item(tokens, at + marker.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// After the first `;` or balanced `{}` block.
fn end_of_item(tokens: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.as_str() {
            ";" if depth == 0 => return at + 1,
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Every path in the tokens, `use` trees spread out, each as its segments.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let starts = at == 0 || tokens[at - 1] != "::";
        let in_tree = at > 0 && tokens[at - 1] == "use";
        let is_path = tokens.get(at + 1).is_some_and(|token| token == "::") || in_tree;
        if starts && is_path && tokens[at].chars().all(is_word) {
            spread(tokens, at, &[], &mut found);
        } else if tokens[at] == "::" && (at == 0 || !ends_path(&tokens[at - 1])) {
            spread(tokens, at + 1, &[], &mut found);
        }
    }
    found
}

/// Whether `::` after this token goes on with a path.
fn ends_path(token: &str) -> bool {
    token.chars().all(is_word) || token == ">"
}

/// Follows one path or tree from a token; returns where it ends.
fn spread(tokens: &[String], from: usize, before: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = before.to_vec();
    let mut at = from;
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while let Some(token) = tokens.get(at) {
                    match token.as_str() {
                        "}" => return at + 1,
                        "," => at += 1,
                        _ => at = spread(tokens, at, &path, found).max(at + 1),
                    }
                }
                return at;
            }
            Some(word) if word == "*" || word.chars().all(is_word) => {
                path.push(word.to_owned());
                at += 1;
                if tokens.get(at).is_none_or(|token| token != "::") {
                    if tokens.get(at).is_some_and(|token| token == "as") {
                        at += 2;
                    }
                    found.push(path);
                    return at;
                }
                at += 1;
            }
            // A turbofish or a macro variable: what was read so far is the path.
            _ => {
                found.push(path);
                return at;
            }
        }
    }
}

/// A path below the crate, seen from a module; `None` if it leads elsewhere.
fn inside(module: &[String], path: &[String]) -> Option<Vec<String>> {
    match path.first()?.as_str() {
        "crate" | "kdna_broker" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let up = path.iter().take_while(|segment| *segment == "super").count();
            let kept = module.len().saturating_sub(up);
            Some([&module[..kept], &path[up..]].concat())
        }
        _ => None,
    }
}

/// The module that a file below `src/` is: `broker/mod.rs` is `broker`, `broker/load.rs` is `broker::load`.
fn module_of(name: &str) -> Vec<String> {
    let mut parts: Vec<String> = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// Everything that is wrong with one file below `src/`.
fn faults(name: &str, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = source.lines().count();
    if lines > LONGEST_FILE {
        found.push(format!("{name}: {lines} lines"));
    }
    if !name.contains('/') {
        return found;
    }
    let all = tokens(source);
    let folder = name.split('/').next().unwrap_or_default();
    if folder == "bin" {
        if lines > 10 {
            found.push(format!("{name}: an executable only hands over to the library"));
        }
        return found;
    }
    if floor(folder).is_none() {
        found.push(format!("{name}: {folder} has no floor"));
        return found;
    }
    let module = module_of(name);
    for path in paths(&all) {
        if let Some(path) = inside(&module, &path) {
            found.extend(arrow_fault(name, folder, &path));
        }
    }
    let shipped = without_tests(&all);
    for path in paths(&shipped) {
        found.extend(foreign_fault(name, folder, &path));
    }
    found.extend(start_faults(name, folder, &shipped));
    found.sort();
    found.dedup();
    found
}

fn arrow_fault(name: &str, folder: &str, path: &[String]) -> Option<String> {
    let other = path.first()?.as_str();
    if other == folder || other == "*" {
        return (other == "*").then(|| format!("{name}: imports everything of the crate"));
    }
    // A name at the crate's root that is no folder (an entry function): nobody below the top may use it.
    let upward = floor(other).is_none_or(|other| floor(folder).is_some_and(|own| other >= own));
    if upward {
        return Some(format!("{name}: {folder} must not know {other}"));
    }
    if other == "runtime" && folder != "cli" {
        return Some(format!("{name}: only cli hands over to runtime"));
    }
    if folder == "runtime" && !["foundation", "system", "capability"].contains(&other) {
        return Some(format!("{name}: runtime must not know {other}"));
    }
    None
}

fn foreign_fault(name: &str, folder: &str, path: &[String]) -> Option<String> {
    let (first, second) = (path.first()?.as_str(), path.get(1).map(String::as_str));
    let fault = |what: &str| Some(format!("{name}: {what} {}", path.join("::")));
    if folder != "system" && OPERATING_SYSTEM.contains(&first) {
        return fault("only system may use");
    }
    if folder != "runtime" && ASSET_PARSERS.contains(&first) {
        return fault("only runtime may use");
    }
    if first != "std" {
        return None;
    }
    match second {
        // Ending this process starts none.
        Some("process") if folder == "cli" && path.get(2).is_some_and(|end| end == "ExitCode" || end == "exit") => None,
        Some(second) if folder != "system" && STANDARD_SYSTEM.contains(&second) => fault("only system may use"),
        Some("env") if folder != "cli" => fault("only cli may use"),
        Some("*" | "self") | None => fault("hides what it uses behind"),
        _ => None,
    }
}

/// Processes are started below `delegate/` and `launch/` alone.
fn start_faults(name: &str, folder: &str, tokens: &[String]) -> Vec<String> {
    if ["system", "delegate", "launch"].contains(&folder) {
        return Vec::new();
    }
    let orders = tokens.iter().any(|token| token == "ChildOrder");
    let runs = tokens.windows(3).any(|window| {
        let receiver = window[0].to_lowercase();
        let is_system = receiver.ends_with("system") || receiver == "s";
        is_system
            && [".", "::"].contains(&window[1].as_str())
            && ["run", "stand_by", "run_by"].contains(&window[2].as_str())
    });
    let starters = paths(tokens).into_iter().filter(|path| {
        let system = path.iter().position(|segment| segment == "system");
        system.is_some_and(|at| path[at..].iter().any(|segment| segment == "spawn" || segment == "process"))
    });
    let mut found: Vec<String> =
        starters.map(|path| format!("{name}: starts a process through {}", path.join("::"))).collect();
    if orders || runs {
        found.push(format!("{name}: only delegate and launch start processes"));
    }
    found
}

fn sources(folder: &Path, below: &Path, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, below, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(below).expect("below").to_str().expect("a plain name").to_owned();
            found.push((name, fs::read_to_string(&path).expect("a source")));
        }
    }
}

fn all_sources(folder: &str) -> Vec<(String, String)> {
    let folder = package().join(folder);
    let mut found = Vec::new();
    sources(&folder, &folder, &mut found);
    found
}

#[test]
fn a_file_imports_only_from_its_own_folder_and_floors_below() {
    let sources = all_sources("src");
    assert!(sources.len() > 20, "the sources were not found");
    let found: Vec<String> = sources.iter().flat_map(|(name, source)| faults(name, source)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_test_file_outgrows_its_reader() {
    for folder in ["tests", "benches"] {
        if !package().join(folder).is_dir() {
            continue;
        }
        for (name, source) in all_sources(folder) {
            assert!(source.lines().count() <= LONGEST_FILE, "{folder}/{name}");
        }
    }
}

#[test]
fn the_library_forbids_unsafe_code() {
    let library = fs::read_to_string(package().join("src/lib.rs")).expect("src/lib.rs");
    assert!(library.contains("#![forbid(unsafe_code)]"));
    let found: Vec<_> = all_sources("src")
        .into_iter()
        .filter(|(_, source)| tokens(source).iter().any(|token| token == "unsafe"))
        .map(|(name, _)| name)
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_rule_bites() {
    let bad = [
        // upward and sideways arrows, in every way to write them
        ("foundation/a.rs", "use crate::system::Observe;"),
        ("consent/a.rs", "use crate::journal::Row;"),
        ("broker/a.rs", "use crate::{foundation::text, mcp::frame};"),
        ("broker/a.rs", "fn f() { crate::mcp::serve() }"),
        ("broker/a.rs", "use kdna_broker::cli;"),
        ("broker/a.rs", "use super::super::mcp::frame;"),
        ("broker/mod.rs", "use super::mcp::frame;"),
        ("delegate/a/b.rs", "pub use super::super::super::runtime as x;"),
        ("journal/a.rs", "use crate::{foundation::{text, json::{write}}, broker};"),
        ("mcp/a.rs", "use crate::main_entry;"),
        ("mcp/a.rs", "use crate::*;"),
        ("runtime/a.rs", "use crate::delegate::contract;"),
        ("runtime/a.rs", "use crate::hosts::entry;"),
        ("broker/a.rs", "use crate::runtime::plan;"),
        ("novel/a.rs", "fn f() {}"),
        ("mcp/a.rs", "#[cfg(test)] mod tests { use crate::cli::main_entry; }"),
        // the operating system
        ("broker/a.rs", "use std::fs;"),
        ("broker/a.rs", "use std::{collections::BTreeMap, process::{Command, Stdio}};"),
        ("broker/a.rs", "fn f() { let _ = std::net::TcpStream::connect(1); }"),
        ("broker/a.rs", "fn f() { let _ = ::std::fs::read(1); }"),
        ("capability/a.rs", "use std::os::fd::OwnedFd;"),
        ("capability/a.rs", "use rustix::fs::openat;"),
        ("delegate/a.rs", "use libc;"),
        ("delegate/a.rs", "use landlock as l;"),
        ("delegate/a.rs", "use std as s;"),
        ("delegate/a.rs", "use std::*;"),
        ("cli/a.rs", "fn f() { std::process::Command::new(\"x\"); }"),
        ("cli/a.rs", "use std::process;"),
        ("mcp/a.rs", "fn f() { std::process::exit(1) }"),
        ("consent/a.rs", "fn f() { nix::unistd::getuid(); }"),
        ("mcp/a.rs", "use std::env;"),
        ("mcp/a.rs", "fn f() { std::env::var(\"X\"); }"),
        // what parses assets
        ("broker/a.rs", "use miniz_oxide::inflate;"),
        // processes
        ("broker/a.rs", "fn f(system: &S) { system.run(&order); }"),
        ("broker/a.rs", "fn f() { System::run(&self.system, &order); }"),
        ("broker/a.rs", "fn f(system: &S) { let process = system.stand_by()?; }"),
        ("broker/a.rs", "use crate::system::ChildOrder;"),
        ("cli/a.rs", "use crate::system::os::process::start;"),
        // a hidden one after things that could confuse a reader
        ("broker/a.rs", "const A: &str = \"// \\\" /*\"; /* /* */ */ const B: char = '\"'; use std::fs;"),
        ("broker/a.rs", "const A: &str = r#\"use \" // \"#; fn f<'a>(x: &'a str) { use std::fs; }"),
    ];
    for (name, source) in bad {
        assert!(!faults(name, source).is_empty(), "not found: {name}: {source}");
    }
    let long = "\n".repeat(LONGEST_FILE + 1);
    assert_eq!(faults("broker/a.rs", &long).len(), 1);
    assert_eq!(faults("bin/a.rs", &long).len(), 2);
}

#[test]
fn what_is_allowed_passes() {
    let good = [
        ("system/os/a.rs", "use std::fs; use rustix::fs as f; use crate::foundation::digest;"),
        (
            "cli/a.rs",
            "use std::env; use std::process::{ExitCode, exit}; use crate::runtime::plan; use crate::launch::x;",
        ),
        ("broker/a.rs", "// use std::fs;\n/* crate::mcp */ const A: &str = \"std::fs crate::mcp\"; use super::checks;"),
        ("broker/a.rs", "#[cfg(test)]\nmod tests { use std::fs; use crate::system::sim::SimSystem; }"),
        ("broker/a.rs", "use crate::{consent::{self, document}, delegate, system::{Observe, System}};"),
        ("delegate/a.rs", "fn f(system: &S) { system.run(&ChildOrder { program }); }"),
        ("runtime/a/b.rs", "use super::super::plan; use crate::capability::snapshot; use icu_collator::Collator;"),
        ("mcp/a.rs", "fn f() { let v = Vec::<u8>::new(); a::<B>::c(); <A as B>::run(); system.runs(); }"),
        ("mcp/a.rs", "macro_rules! m { ($a:ident) => { $a::b() } } fn f() { env!(\"X\"); }"),
    ];
    for (name, source) in good {
        assert_eq!(faults(name, source), Vec::<String>::new(), "{source}");
    }
}
