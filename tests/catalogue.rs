//! The catalogue of refusals is one thing in three places: the code, `policy/refusals.json` for auditors, and
//! `docs/contract/codes.md` for readers. The table of threats knows every fault recipe and names tests that exist.
//!
//! `UPDATE_POLICY=1 cargo test --test catalogue` writes `policy/refusals.json` anew; read the difference before
//! committing it.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::json::write;
use kdna_broker::foundation::refusal::{Code, Reason, Stage};
use kdna_broker::foundation::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use support::documents::parse;
use support::package;

const POLICY: &str = "policy/refusals.json";
const RECIPES: &str = "fixtures/faults/recipes.jsonl";
const THREATS: &str = "docs/threats.md";

fn read(name: &str) -> String {
    fs::read_to_string(package().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn row(reason: Reason) -> Value {
    Value::object([
        ("reason", Value::from(reason.as_str())),
        ("code", Value::from(reason.code().as_str())),
        ("stage", Value::from(reason.stage().as_str())),
        ("message", Value::from(reason.message())),
        ("remedy", Value::from(reason.remedy())),
    ])
}

/// One row a line, so that a change reads as a change of rows.
fn rendered() -> String {
    let rows: Vec<String> =
        Reason::ALL.iter().map(|reason| format!("    {}", write::compact(&row(*reason)).expect("JSON"))).collect();
    format!("{{\n  \"document_type\": \"kdna-broker.refusals\",\n  \"refusals\": [\n{}\n  ]\n}}\n", rows.join(",\n"))
}

#[test]
fn the_policy_lists_exactly_the_refusals_of_the_code() {
    if std::env::var_os("UPDATE_POLICY").is_some_and(|value| value == "1") {
        fs::write(package().join(POLICY), rendered()).expect(POLICY);
    }
    let text = read(POLICY);
    let document = parse(text.as_bytes()).expect("a document");
    let listed = document.get("refusals").and_then(Value::as_array).expect("refusals");
    let name = |row: &Value| row.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    let in_code: Vec<Value> = Reason::ALL.iter().map(|reason| row(*reason)).collect();
    let unlisted: Vec<String> = in_code.iter().filter(|row| !listed.contains(row)).map(name).collect();
    let unknown: Vec<String> = listed.iter().filter(|row| !in_code.contains(row)).map(name).collect();
    assert!(
        unlisted.is_empty() && unknown.is_empty(),
        "in the code alone: {unlisted:?}; in {POLICY} alone: {unknown:?}"
    );
    assert_eq!(text, rendered(), "{POLICY} is in another order or layout");
}

/// The codes of the reader's page, each with what the page says of it.
fn explained(text: &str) -> BTreeMap<&str, &str> {
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).collect()
}

#[test]
fn every_code_is_explained_and_no_other() {
    let text = read("docs/contract/codes.md");
    let explained: BTreeSet<&str> = explained(&text).into_keys().collect();
    let codes: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let missing: Vec<_> = codes.difference(&explained).collect();
    let unknown: Vec<_> = explained.difference(&codes).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}; unknown: {unknown:?}");
}

#[test]
fn a_code_that_nothing_says_yet_is_called_reserved_and_no_other() {
    let text = read("docs/contract/codes.md");
    let explained = explained(&text);
    let spoken: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.code().as_str()).collect();
    let wrong: Vec<_> = Code::ALL
        .iter()
        .map(|code| code.as_str())
        .filter(|code| explained.get(code).is_some_and(|row| row.contains("Reserved")) == spoken.contains(code))
        .collect();
    assert!(wrong.is_empty(), "either a reason speaks under it or its row says \"Reserved\": {wrong:?}");
    assert!(Reason::ALL.iter().all(|reason| Stage::ALL.contains(&reason.stage())));
}

/// The rows of the table of threats: recipe, status, what shows it.
fn threats(text: &str) -> Vec<[String; 3]> {
    text.lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [recipe, _, status, shown] = cells.as_slice() else { panic!("four cells: {line}") };
            [recipe.trim_matches('`').to_owned(), (*status).to_owned(), (*shown).to_owned()]
        })
        .collect()
}

#[test]
fn every_fault_recipe_has_one_row_in_the_table_of_threats() {
    let recipes: Vec<String> = read(RECIPES)
        .lines()
        .map(|line| {
            let recipe = parse(line.as_bytes()).unwrap_or_else(|| panic!("no document: {line}"));
            for key in ["kind", "setup", "action", "expected"] {
                assert!(recipe.get(key).and_then(Value::as_str).is_some_and(|text| !text.is_empty()), "{key}: {line}");
            }
            recipe.get("id").and_then(Value::as_str).expect("an id").to_owned()
        })
        .collect();
    assert!(recipes.len() >= 86, "recipes are missing");
    let rows: Vec<String> = threats(&read(THREATS)).into_iter().map(|[recipe, ..]| recipe).collect();
    assert_eq!(rows, recipes, "the table lists the recipes in their order, each once");
}

#[test]
fn what_the_table_of_threats_calls_tested_is_tested() {
    let mut wrong = Vec::new();
    for [recipe, status, shown] in threats(&read(THREATS)) {
        let fine = match status.as_str() {
            "tested" => {
                let names: Vec<&str> = shown.split('`').skip(1).step_by(2).collect();
                !names.is_empty() && names.iter().all(|name| is_test(name))
            }
            "later" | "does not apply" => shown.len() > 15,
            _ => false,
        };
        if !fine {
            wrong.push(format!("{recipe}: {status}: {shown}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether `FILE::NAME` (or `FILE`, for a whole file) is a test of this package.
fn is_test(name: &str) -> bool {
    let (file, test) = name.split_once("::").map_or((name, None), |(file, test)| (file, Some(test)));
    fs::read_to_string(package().join(file)).is_ok_and(|source| match test {
        // The sandbox's tests are named by their texts: its executable is its own harness.
        Some(test) if file.starts_with("tests/sandbox/") => {
            source.contains(&format!("\"{test}\"")) || source.contains(&format!("::{test}\""))
        }
        Some(test) => source.contains(&format!("fn {test}(")) || source.contains(&format!("fn {test}<")),
        None => source.contains("#[test]"),
    })
}

#[test]
fn a_test_that_is_none_is_found() {
    assert!(is_test("tests/catalogue.rs") && is_test("tests/catalogue.rs::a_test_that_is_none_is_found"));
    let invented = ["tests/catalogue.rs", "no_such_test"].join("::");
    assert!(!is_test(&invented) && !is_test("tests/none.rs") && !is_test("Cargo.toml"));
}
