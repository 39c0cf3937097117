//! The recorded replies hold: every case answers as recorded, or differs exactly as `fixtures/golden/deviations.toml`
//! says and nowhere else.
//!
//! `KDNA_GOLDEN_EXTRA=DIR cargo test --test golden -- --nocapture` also replays every case below another directory and
//! prints what differs there; it never fails because of them.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use support::documents::parse;
use support::golden::{Case, Deviation};
use support::package;

/// How many cases are stored: a lost one must not pass unseen.
const CASES: usize = 295;

fn folder() -> PathBuf {
    package().join("fixtures/golden")
}

fn stored() -> Vec<Case> {
    Case::all(&folder().join("cases"))
}

/// One declared difference, as the file says it.
struct Declared {
    ids: Vec<String>,
    section: String,
    reason: String,
    deviation: Deviation,
}

fn declared() -> Vec<Declared> {
    let text = fs::read_to_string(folder().join("deviations.toml")).expect("deviations.toml");
    let table: toml::Table = text.parse().expect("TOML");
    let rows = table.get("deviation").and_then(toml::Value::as_array).expect("[[deviation]] rows");
    rows.iter().map(|row| read_declared(row.as_table().expect("a table"))).collect()
}

fn read_declared(row: &toml::Table) -> Declared {
    let text = |key: &str| row.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let deviation = if let Some(at) = text("at") {
        let absent = row.get("absent").and_then(toml::Value::as_bool) == Some(true);
        assert!(absent != row.contains_key("expect"), "{at}: either 'expect' or 'absent = true'");
        Deviation::Value { at, expect: text("expect") }
    } else if let Some(exit) = row.get("exit").and_then(toml::Value::as_integer) {
        Deviation::Exit(i32::try_from(exit).expect("an exit status"))
    } else if let Some(part) = text("stderr_contains") {
        Deviation::Stderr(part)
    } else if let Some(code) = text("stderr_code") {
        Deviation::StderrCode(code)
    } else {
        Deviation::LeftBehind(text("left_behind").expect("one of at, exit, stderr_contains, stderr_code, left_behind"))
    };
    let ids = row.get("ids").and_then(toml::Value::as_array).expect("ids");
    Declared {
        ids: ids.iter().map(|id| id.as_str().expect("an id").to_owned()).collect(),
        section: text("section").expect("a section"),
        reason: text("reason").expect("a reason"),
        deviation,
    }
}

fn deviations_by_case() -> BTreeMap<String, Vec<Deviation>> {
    let mut by_case: BTreeMap<String, Vec<Deviation>> = BTreeMap::new();
    for row in declared() {
        for id in row.ids {
            by_case.entry(id).or_default().push(row.deviation.clone());
        }
    }
    by_case
}

/// Replays cases on two threads; returns the differing ones with what differs.
fn replay(cases: &[Case], deviations: &BTreeMap<String, Vec<Deviation>>) -> Vec<String> {
    let none = Vec::new();
    let one = |case: &Case| {
        let problems = case.problems(deviations.get(&case.id).unwrap_or(&none));
        (!problems.is_empty()).then(|| format!("{}: {}", case.id, problems.join("; ")))
    };
    let half = cases.len() / 2;
    let (left, right) = cases.split_at(half);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| left.iter().filter_map(one).collect::<Vec<_>>());
        let mine: Vec<_> = right.iter().filter_map(one).collect();
        let mut all = other.join().expect("a replay");
        all.extend(mine);
        all
    })
}

#[test]
fn every_recorded_reply_holds_or_differs_as_declared() {
    let cases = stored();
    let differing = replay(&cases, &deviations_by_case());
    assert!(
        differing.is_empty(),
        "{} of {} cases differ from what is recorded and declared:\n{}",
        differing.len(),
        cases.len(),
        differing.join("\n")
    );
}

#[test]
fn no_case_and_no_file_of_a_case_is_missing() {
    let cases = stored();
    assert_eq!(cases.len(), CASES);
    assert_eq!(cases.iter().map(|case| &case.id).collect::<BTreeSet<_>>().len(), CASES);
    let faults: Vec<String> = cases
        .iter()
        .flat_map(|case| case.stored_faults().into_iter().map(move |fault| format!("{}: {fault}", case.id)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_deviation_names_cases_a_section_and_a_reason() {
    let known: BTreeSet<String> = stored().into_iter().map(|case| case.id).collect();
    for row in declared() {
        assert!(!row.ids.is_empty() && row.reason.len() > 20, "{:?}", row.ids);
        let unknown: Vec<_> = row.ids.iter().filter(|id| !known.contains(*id)).collect();
        assert!(unknown.is_empty(), "no such case: {unknown:?}");
        let (page, heading) = row.section.split_once('#').expect("PAGE#HEADING");
        let text = fs::read_to_string(package().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        let slug = |line: &str| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let found = text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == heading);
        assert!(found, "{page} has no heading {heading}");
    }
}

#[test]
fn a_difference_and_a_deviation_that_is_none_are_both_found() {
    let cases = stored();
    let case = cases.iter().find(|case| case.id == "mcp-status-none").expect("the case");
    // Whatever the server says: this cannot be both there and absent.
    let expect = Some(r#""never said""#.to_owned());
    let problems = case.problems(&[Deviation::Value { at: "/0/jsonrpc".to_owned(), expect }]);
    assert!(
        problems.iter().any(|problem| problem.starts_with("/0/jsonrpc: declared deviation not met")),
        "{problems:?}"
    );
    let recorded = Some(r#""2.0""#.to_owned());
    let problems = case.problems(&[Deviation::Value { at: "/0/jsonrpc".to_owned(), expect: recorded }]);
    assert!(problems.iter().any(|problem| problem.contains("is the recorded value")), "{problems:?}");
    let problems = case.problems(&[Deviation::Exit(0), Deviation::LeftBehind("ws/x".to_owned())]);
    assert!(problems.iter().any(|problem| problem.contains("a declared exit is the recorded one")), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("ws/x is declared")), "{problems:?}");
    let recorded = parse(br#"[{"a":1,"b":[2]}]"#).expect("a document");
    for other in [r#"[{"b":[2],"a":1}]"#, r#"[{"a":1,"b":[3]}]"#, r#"[{"a":1}]"#, r#"[{"a":1,"b":[2],"c":0}]"#, "[]"] {
        let other = parse(other.as_bytes()).expect("a document");
        assert!(!support::documents::differences(&recorded, &other).is_empty());
    }
    assert!(support::documents::differences(&recorded, &recorded).is_empty());
}

#[test]
fn further_cases_are_replayed_when_asked_for() {
    let Some(folder) = std::env::var_os("KDNA_GOLDEN_EXTRA").filter(|value| !value.is_empty()) else { return };
    let cases = Case::all(Path::new(&folder));
    assert!(!cases.is_empty(), "no case below KDNA_GOLDEN_EXTRA");
    let differing = replay(&cases, &deviations_by_case());
    for line in &differing {
        println!("{line}");
    }
    println!("{} same, {} different", cases.len() - differing.len(), differing.len());
}
