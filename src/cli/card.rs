//! `kdna inspect` for a person at a terminal: one card in words instead of the document that programs read. Every text of
//! the asset is shown escaped and cut; the card never says whether the asset is to be trusted.

use crate::cli::asset::in_worker;
use crate::delegate::contract::{LoadRequest, PlanRequest, Request};
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::switches::Switches;
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::system::{ChildReport, System};
use std::fmt::Write as _;

/// Characters of one text, and of the summary.
const SHOWN: usize = 72;
const SUMMARY: usize = 300;
/// Where the second column begins.
const COLUMN: usize = 14;

/// The card of an asset that the worker has inspected, or `None` if it could say nothing. Runs the worker twice more: for
/// the plan, and where the asset may be loaded now for what it says of itself.
pub(super) fn card<S: System>(
    system: &S,
    sealed: &S::Sealed,
    digest: Digest,
    size: u64,
    facts: &[u8],
    switches: Switches,
) -> Option<String> {
    let facts = read_strict(facts, limits::RUNTIME_REPLY_DEPTH).ok()?;
    let plan = in_worker(system, Request::PlanLoad(PlanRequest { switches, ..PlanRequest::default() }), sealed).ok()?;
    let plan = document(&plan).unwrap_or(Value::Null);
    let load = |profile: &str| {
        let request = LoadRequest {
            profile: profile.to_owned(),
            password: false,
            entitlement_status: None,
            loaded_at: system.now(),
            snapshot: None,
            switches,
        };
        in_worker(system, Request::Load(request), sealed).ok().as_ref().and_then(document)
    };
    let loadable = plan.get("can_load_now").and_then(Value::as_bool) == Some(true);
    let capsules = if loadable { [load("index"), load("compact"), load("full")] } else { [None, None, None] };
    Some(Card { facts, plan, capsules: capsules.map(|capsule| capsule?.get("context").cloned()) }.text(digest, size))
}

/// The document of a worker that printed one.
fn document(report: &ChildReport) -> Option<Value> {
    read_strict(&report.output, limits::RUNTIME_REPLY_DEPTH).ok()
}

/// What is known of an asset: the facts of its manifest, its plan, and the contexts of three Capsules.
struct Card {
    facts: Value,
    plan: Value,
    capsules: [Option<Value>; 3],
}

impl Card {
    fn text(&self, digest: Digest, size: u64) -> String {
        let [index, compact, full] = &self.capsules;
        let mut lines = Lines(String::new());
        lines.line("title", &format!("\"{}\"", shown(self.facts.get("title"), SHOWN)));
        lines.optional("maker", full.as_ref().and_then(maker));
        lines.line("identifier", &shown(self.facts.get("asset_id"), SHOWN));
        let (version, judgment) = (self.facts.get("version"), self.facts.get("judgment_version"));
        lines.line("version", &format!("{} (judgment {})", shown(version, SHOWN), shown(judgment, SHOWN)));
        let summary = index.as_ref().and_then(|index| index.get("summary")).filter(|summary| summary.is_truthy());
        lines.optional("summary", summary.map(|summary| shown(Some(summary), SUMMARY)));
        match compact {
            Some(compact) => {
                let question = compact.get("highest_question").filter(|question| question.is_truthy());
                lines.optional("asks", question.map(|question| shown(Some(question), SUMMARY)));
                lines.line("holds", &counts(compact));
            }
            None => lines.line("holds", "not shown: it cannot be loaded as it is"),
        }
        lines.line("access", &access(&self.plan, &self.facts));
        lines.line("state", &state(&self.plan));
        lines.line("digest", &digest.to_string());
        lines.line("size", &format!("{size} bytes"));
        lines
            .0
            .push_str("\nThese are the asset's own words; nobody has checked them. Piped, this command prints JSON.\n");
        lines.0
    }
}

/// Two columns.
struct Lines(String);

impl Lines {
    fn line(&mut self, name: &str, text: &str) {
        let _ = writeln!(self.0, "{name:COLUMN$}{text}");
    }

    fn optional(&mut self, name: &str, text: Option<String>) {
        if let Some(text) = text {
            self.line(name, &text);
        }
    }
}

/// A text of the asset, safe to show; a dash for anything else.
fn shown(value: Option<&Value>, limit: usize) -> String {
    value.and_then(Value::as_str).map_or_else(|| "-".to_owned(), |text| display(text, limit))
}

/// The creator's name and kind, as the manifest states them.
fn maker(full: &Value) -> Option<String> {
    let creator = full.get("manifest")?.get("creator")?;
    let kind = creator.get("creator_type").map(|kind| format!(" ({})", shown(Some(kind), SHOWN))).unwrap_or_default();
    Some(format!("\"{}\"{kind}", shown(Some(creator.get("name")?), SHOWN)))
}

fn counts(compact: &Value) -> String {
    let count = |key: &str| compact.get(key).and_then(Value::as_array).map_or(0, <[Value]>::len);
    let word = |key: &str, one: &str, many: &str| match count(key) {
        1 => format!("1 {one}"),
        several => format!("{several} {many}"),
    };
    [
        word("axioms", "rule", "rules"),
        word("boundaries", "boundary", "boundaries"),
        word("self_checks", "self-check", "self-checks"),
        word("failure_modes", "failure mode", "failure modes"),
        word("patterns", "pattern", "patterns"),
    ]
    .join(", ")
}

fn access(plan: &Value, facts: &Value) -> String {
    let encrypted = facts.get("payload_encrypted").and_then(Value::as_bool) == Some(true);
    let how = plan.get("entitlement_profile").and_then(Value::as_str).map(|how| format!(" by {}", display(how, SHOWN)));
    let access = shown(plan.get("access"), SHOWN);
    format!("{access}{}{}", how.unwrap_or_default(), if encrypted { ", encrypted" } else { ", not encrypted" })
}

/// What a load would meet, and the first reason.
fn state(plan: &Value) -> String {
    let state = shown(plan.get("state"), SHOWN);
    let issues = plan.get("issues").and_then(Value::as_array).unwrap_or_default();
    match issues.first().and_then(|issue| issue.get("message")) {
        Some(message) => format!("{state}: {}", shown(Some(message), SUMMARY)),
        None => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(title: &str, capsules: [Option<Value>; 3]) -> String {
        let facts = Value::object([("title", Value::copied(title)), ("version", Value::Array(Vec::new()))]);
        Card { facts, plan: Value::Null, capsules }.text(Digest::of(b""), 7)
    }

    #[test]
    fn nothing_of_the_asset_moves_the_cursor_or_imitates_a_line_of_the_card() {
        let hostile = "t\u{1b}[2J\nstate         ready\u{202e}";
        let list = |count| Value::Array(vec![Value::Null; count]);
        let compact =
            Value::object([("axioms", list(1)), ("boundaries", list(2)), ("highest_question", hostile.into())]);
        let creator = Value::object([("name", Value::from(hostile)), ("creator_type", hostile.into())]);
        let full = Value::object([("manifest", Value::object([("creator", creator)]))]);
        let index = Value::object([("summary", Value::from(hostile))]);
        let card = text(hostile, [Some(index), Some(compact), Some(full)]);
        assert!(card.chars().all(|character| character == '\n' || !character.is_control() && character != '\u{202e}'));
        assert_eq!(card.lines().filter(|line| line.starts_with("state")).count(), 1);
        assert!(
            card.contains("holds         1 rule, 2 boundaries, 0 self-checks, 0 failure modes, 0 patterns\n"),
            "{card}"
        );
        assert!(card.contains("size          7 bytes\n"));
        assert!(card.contains("maker         \"t\\u{1b}[2J"));
    }

    #[test]
    fn what_cannot_be_loaded_is_said_and_texts_are_cut() {
        let card = text(&"x".repeat(1000), [None, None, None]);
        assert!(card.contains("holds         not shown"));
        assert!(!card.contains("maker") && card.lines().all(|line| line.chars().count() < 120), "{card}");
    }
}
