//! The fault recipes, each a test named after its id (dashes as underscores), tried on the real programs where that is
//! possible and on the simulated system where another user or a broken disk is needed. Recipes for which the worker must
//! misbehave stand in `tests/sandbox/faults.rs`. What does not apply is said in `docs/threats.md`.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "faults/bindings.rs"]
mod bindings;
#[path = "faults/children.rs"]
mod children;
#[path = "faults/documents.rs"]
mod documents;
#[path = "faults/files.rs"]
mod files;
#[path = "faults/journal.rs"]
mod journal;
#[path = "faults/limits.rs"]
mod limits;
#[path = "faults/paths.rs"]
mod paths;
#[path = "owner_commands/person.rs"]
mod person;
#[path = "faults/prompts.rs"]
mod prompts;
#[path = "faults/races.rs"]
mod races;
#[path = "faults/rotations.rs"]
mod rotations;
#[path = "owner_commands/scene.rs"]
mod scene;
#[path = "faults/secrets.rs"]
mod secrets;
#[path = "support/broker.rs"]
mod simulated;
mod support;

use kdna_broker::foundation::value::Value;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use support::documents::parse;
use support::package;

/// What a consent that is there and cannot be used is refused with.
const CONSENT_INVALID: &str = "host_processing_consent_invalid";
/// What a place where no consent may lie is refused with.
const CONSENT_REQUIRED: &str = "host_processing_consent_required";

/// Runs an ignored test of this file in a process of its own, where it may change what belongs to the process.
fn in_a_process_of_its_own(name: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", "--ignored", "--nocapture", name]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

/// Kinds of recipes that must be tried here, each in its own test.
const TRIED: [&str; 14] = [
    "path",
    "file",
    "race",
    "process",
    "env",
    "json",
    "durability",
    "audit",
    "limits",
    "secret",
    "child",
    "prompt",
    "binding",
    "order",
];

#[test]
fn every_recipe_of_these_kinds_is_a_test_here_or_does_not_apply() {
    let recipes = fs::read_to_string(package().join("fixtures/faults/recipes.jsonl")).unwrap();
    let threats = fs::read_to_string(package().join("docs/threats.md")).unwrap();
    let folders = ["tests/faults", "tests/sandbox", "tests/external_runtime"]
        .map(|folder| fs::read_dir(package().join(folder)).unwrap());
    let sources: String =
        folders.into_iter().flatten().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    let mut missing = Vec::new();
    let mut tried = 0;
    for line in recipes.lines() {
        let recipe = parse(line.as_bytes()).unwrap();
        let text = |key: &str| recipe.get(key).and_then(Value::as_str).unwrap().to_owned();
        let (id, kind) = (text("id"), text("kind"));
        let by_name = ["path-", "file-", "child-", "dur-", "audit-", "secret-", "json-", "prompt-", "bind-"];
        if !TRIED.contains(&kind.as_str()) && !by_name.iter().any(|start| id.starts_with(start)) {
            continue;
        }
        tried += 1;
        let row = threats.lines().find(|row| row.starts_with(&format!("| `{id}` "))).unwrap_or_default();
        let name = id.replace('-', "_");
        if !row.contains("does not apply") && !sources.contains(&format!("fn {name}()")) {
            missing.push(id);
        }
    }
    assert!(tried > 60, "only {tried} recipes are of these kinds");
    assert!(missing.is_empty(), "neither tried nor said not to apply: {missing:?}");
}

/// Does something over and over on a thread of its own while the work is done, and tells how often.
fn meanwhile<T>(mut busy: impl FnMut() + Send, work: impl FnOnce() -> T) -> (T, u64) {
    struct Ends<'a>(&'a AtomicBool);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let busy = scope.spawn(|| {
            let mut rounds = 0;
            while !over.load(Ordering::SeqCst) {
                busy();
                rounds += 1;
            }
            rounds
        });
        let done = {
            // Also when the work panics: the thread would be waited for for ever.
            let _ends = Ends(&over);
            work()
        };
        (done, busy.join().unwrap())
    })
}
