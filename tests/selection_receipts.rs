//! A selection is for one task, once: a replay is refused, so is anything that it was not made for, and only a load that
//! was delivered spends it. Each refusal has a control that delivers.
#![cfg(feature = "runtime")]
#![allow(dead_code, reason = "the shared scene holds more than this file uses")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/broker.rs"]
mod support;

use kdna_broker::broker::checks::Checks;
use kdna_broker::broker::{Answer, Broker, Operations, Profile, Selection, Settings, Task};
use kdna_broker::consent::document::ConsentFacts;
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::json::{read_strict, write};
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::refusal::{Code, Reason, Refusal, Stage};
use kdna_broker::foundation::value::Value;
use kdna_broker::system::sim::{Call, HookAction, SimSystem};
use kdna_broker::system::{Cancel, Fault};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use support::{CAPSULE_CANARY, CONSENT_PATH, RECORD_PATH, ROOT, TASK};

/// Two attachments: one that applies to the task, and one that might.
const TWO: &[u8] = include_bytes!("../fixtures/golden/cases/mcp-load-selected/files/ws/.kdna/attachments.json");
const CHOSEN: &str = "att_000000000000000000000001";
const OTHER: &str = "att_000000000000000000000002";
const TRIAGE: &[u8] = include_bytes!(
    "../fixtures/golden/cases/mcp-load-selected/files/ws/.kdna/assets/sha256-c3e3316e82ea593ada6296fb22b86e4160e3205ebd54e97ea4e8b827eaa4e31e.kdna"
);

/// The workspace with both assets, and a consent for the first.
fn scene(record: &[u8]) -> SimSystem {
    let system = support::system();
    let triage = format!("{ROOT}/.kdna/assets/sha256-{}.kdna", Digest::of(TRIAGE).hex());
    system.arrange(|world| {
        world.set_content(RECORD_PATH, record).unwrap();
        world.file(&triage, 0o600, TRIAGE).unwrap();
        world.set_content(CONSENT_PATH, &consent(record)).unwrap();
    });
    system
}

fn consent(record: &[u8]) -> Vec<u8> {
    let record = Record::read(record).unwrap();
    let attachment = record.find(CHOSEN).unwrap();
    ConsentFacts {
        nonce: "a".repeat(32),
        host_id: "golden-host".into(),
        workspace_root_digest: of_root_path(ROOT),
        asset_digest: attachment.asset.digest,
        attachment_id: attachment.id.clone(),
        scope_digest: attachment.scope_digest(),
        processor: "Example Inference Ltd".into(),
        profile: "compact".into(),
    }
    .bytes()
}

fn started(system: &SimSystem) -> Broker<SimSystem> {
    support::broker(system, Delegate::embedded(), None)
}

fn load(broker: &Broker<SimSystem>, task: &str, selection: Option<&Selection>) -> Result<String, Refusal> {
    let render = |answer: &Answer| Ok(write::compact(&answer.document).unwrap().into_bytes());
    let task = Task::Text(task.into());
    let message = broker.load(ROOT, &task, selection, Profile::Compact, &render, &Cancel::new())?;
    Ok(String::from_utf8(message).unwrap())
}

/// What the answer to an ask lets the person choose.
fn choose(broker: &Broker<SimSystem>, task: &str, id: &str) -> Selection {
    let answer = broker.resolve(ROOT, &Task::Text(task.into()), None, &Cancel::new()).unwrap();
    let plan = answer.document.get("selection_plan").expect("an ask");
    let digest = |key: &str| plan.get(key).and_then(Value::as_str).unwrap().to_owned();
    Selection {
        attachment_id: id.to_owned(),
        task_digest: digest("task_digest"),
        plan_digest: Some(digest("plan_digest")),
    }
}

fn delivered(outcome: &Result<String, Refusal>) -> bool {
    outcome.as_ref().is_ok_and(|message| message.contains(CAPSULE_CANARY))
}

fn reason_code(outcome: &Result<String, Refusal>) -> String {
    let document = read_strict(outcome.as_ref().unwrap().as_bytes(), 90).unwrap();
    let resolution = document.get("resolution").and_then(|resolution| resolution.get("reason_code"));
    resolution.and_then(Value::as_str).unwrap().to_owned()
}

#[test]
fn a_selection_delivers_once_and_its_replay_is_refused() {
    let system = scene(TWO);
    let broker = started(&system);
    assert_eq!(reason_code(&load(&broker, TASK, None)), "applicability_unresolved", "without a selection it asks");
    let selection = choose(&broker, TASK, CHOSEN);
    let first = load(&broker, TASK, Some(&selection));
    assert!(delivered(&first), "{first:?}");
    assert!(first.unwrap().contains("explicit_task_attachment_selection"));

    system.clear_log();
    let refusal = load(&broker, TASK, Some(&selection)).unwrap_err();
    assert_eq!(
        (refusal.code(), refusal.reason(), refusal.stage()),
        (Code::SelectionReceiptSpent, Reason::SelectionSpent, Stage::Selection)
    );
    assert_eq!(system.calls(Call::Run), 1, "only the resolver ran");
    assert_eq!(system.calls(Call::Seal), 0, "no asset was read");
    assert_eq!(system.opens(CONSENT_PATH), 0, "no consent was read");
    // Its digests are public: a new server does not know them, which is why consent stands behind each load.
    assert!(delivered(&load(&started(&system), TASK, Some(&selection))));
}

#[test]
fn a_resolution_spends_nothing() {
    let system = scene(TWO);
    let broker = started(&system);
    let selection = choose(&broker, TASK, CHOSEN);
    for _ in 0..3 {
        let answer = broker.resolve(ROOT, &Task::Text(TASK.into()), Some(&selection), &Cancel::new()).unwrap();
        assert_eq!(answer.document.get("decision").and_then(Value::as_str), Some("load"));
    }
    assert!(delivered(&load(&broker, TASK, Some(&selection))));
    let after = broker.resolve(ROOT, &Task::Text(TASK.into()), Some(&selection), &Cancel::new()).unwrap();
    assert_eq!(after.document.get("decision").and_then(Value::as_str), Some("load"), "it says what would be, only");
}

/// A task that names the identifier needs no plan, and a clear task none either: leaving it out is no way to go twice.
#[test]
fn leaving_the_plan_out_is_the_same_selection() {
    let named = format!("{TASK}, with {CHOSEN}");
    let system = scene(TWO);
    let broker = started(&system);
    let with_plan = choose(&broker, &named, CHOSEN);
    let without = Selection { plan_digest: None, ..with_plan.clone() };
    assert!(delivered(&load(&broker, &named, Some(&without))));
    for replay in [&without, &with_plan] {
        assert_eq!(load(&broker, &named, Some(replay)).unwrap_err().reason(), Reason::SelectionSpent);
    }
    // One attachment that clearly applies, and a selection of it all the same.
    let system = support::system();
    let broker = started(&system);
    let clear = Selection {
        attachment_id: CHOSEN.to_owned(),
        task_digest: Digest::of(TASK.as_bytes()).to_string(),
        plan_digest: None,
    };
    assert!(delivered(&load(&broker, TASK, Some(&clear))));
    assert_eq!(load(&broker, TASK, Some(&clear)).unwrap_err().reason(), Reason::SelectionSpent);
    assert!(delivered(&load(&broker, TASK, None)), "a clear task needs no selection");
}

/// Name, task, record, plan, and what is then said.
type Change<'a> = (&'a str, &'a str, &'a [u8], Option<String>, &'a str);

#[test]
fn what_a_selection_was_made_for_may_not_change() {
    let text = String::from_utf8(TWO.to_vec()).unwrap();
    let other_role = text.replace("incident-triage", "incident-handling").into_bytes();
    let disabled = text.replacen("\"state\": \"enabled\"", "\"state\": \"disabled\"", 1).into_bytes();
    let other_layout = [TWO, b"\n"].concat();
    let changes: [Change<'_>; 7] = [
        ("one byte more", "review the pull request ", TWO, None, "selection_binding_changed"),
        ("one byte less", "review the pull reques", TWO, None, "selection_binding_changed"),
        ("another case", "review the pull Request", TWO, None, "selection_binding_changed"),
        ("the same record in other bytes", TASK, &other_layout, None, "selection_binding_changed"),
        ("another candidate's role", TASK, &other_role, None, "selection_binding_changed"),
        ("the chosen one disabled", TASK, &disabled, None, "selection_not_current_candidate"),
        ("another plan", TASK, TWO, Some(Digest::of(b"x").to_string()), "selection_binding_changed"),
    ];
    for (name, task, record, plan, expected) in changes {
        let system = scene(TWO);
        let broker = started(&system);
        let made = choose(&broker, TASK, CHOSEN);
        let used = Selection { plan_digest: plan.or(made.plan_digest.clone()), ..made.clone() };
        system.arrange(|world| world.set_content(RECORD_PATH, record)).unwrap();
        let outcome = load(&broker, task, Some(&used));
        assert!(!delivered(&outcome), "{name}");
        assert_eq!(reason_code(&outcome), expected, "{name}");
        system.arrange(|world| world.set_content(RECORD_PATH, TWO)).unwrap();
        assert!(delivered(&load(&broker, TASK, Some(&made))), "{name}: the control, and nothing was spent");
    }
}

#[test]
fn the_other_attachment_needs_a_consent_of_its_own() {
    let system = scene(TWO);
    let broker = started(&system);
    let refusal = load(&broker, TASK, Some(&choose(&broker, TASK, OTHER))).unwrap_err();
    assert_eq!(refusal.code(), Code::HostProcessingConsentInvalid);
    assert!(delivered(&load(&broker, TASK, Some(&choose(&broker, TASK, CHOSEN)))));
}

#[test]
fn a_load_that_fails_at_any_call_spends_nothing_and_one_that_delivers_does() {
    let control = scene(TWO);
    let broker = started(&control);
    let selection = choose(&broker, TASK, CHOSEN);
    control.clear_log();
    assert!(delivered(&load(&broker, TASK, Some(&selection))));
    let numbers: Vec<u64> = control.log().iter().map(|event| event.number).collect();
    let (mut failed, mut fired) = (0, 0);
    for number in numbers {
        let system = scene(TWO);
        let broker = started(&system);
        let selection = choose(&broker, TASK, CHOSEN);
        system.clear_log();
        let seen = Arc::new(AtomicUsize::new(0));
        let counter = seen.clone();
        system.set_hook(move |_, event| {
            if event.number != number {
                return HookAction::Proceed;
            }
            counter.fetch_add(1, Ordering::SeqCst);
            HookAction::Fail(Fault::Io(5))
        });
        let outcome = load(&broker, TASK, Some(&selection));
        system.clear_hook();
        fired += seen.load(Ordering::SeqCst);
        let again = load(&broker, TASK, Some(&selection));
        if delivered(&outcome) {
            assert_eq!(again.unwrap_err().reason(), Reason::SelectionSpent, "call {number}");
        } else {
            failed += 1;
            assert!(delivered(&again), "call {number} failed and spent the selection: {again:?}");
        }
    }
    assert!(failed > 50 && fired >= failed, "{failed} failed, {fired} fired");
}

/// Skips one check, or loads once more, with the same selection, as a stage begins.
struct Meddler {
    skip: Option<Stage>,
    nested_at: Option<Stage>,
    broker: Arc<OnceLock<Arc<Broker<SimSystem>>>>,
    selection: Selection,
    nesting: AtomicBool,
    outcome: Arc<Mutex<Option<Result<String, Refusal>>>>,
}

impl Checks for Meddler {
    fn entering(&self, stage: Stage) {
        if self.nested_at == Some(stage)
            && !self.nesting.swap(true, Ordering::SeqCst)
            && let Some(broker) = self.broker.get()
        {
            *self.outcome.lock().unwrap() = Some(load(broker, TASK, Some(&self.selection)));
        }
    }
    fn judge(&self, stage: Stage, verdict: Result<(), Refusal>) -> Result<(), Refusal> {
        if self.skip == Some(stage) { Ok(()) } else { verdict }
    }
}

type Nested = Option<Result<String, Refusal>>;

/// Loads twice with one selection; what both gave, and what a load inside the first one gave.
fn twice(skip: Option<Stage>, nested_at: Option<Stage>) -> (Vec<Result<String, Refusal>>, Nested) {
    let system = scene(TWO);
    let selection = choose(&started(&system), TASK, CHOSEN);
    let (cell, outcome) = (Arc::new(OnceLock::new()), Arc::new(Mutex::new(None)));
    let meddler = Meddler {
        skip,
        nested_at,
        broker: cell.clone(),
        selection: selection.clone(),
        nesting: AtomicBool::new(false),
        outcome: outcome.clone(),
    };
    let broker = Arc::new(support::broker(&system, Delegate::embedded(), Some(Box::new(meddler))));
    assert!(cell.set(broker.clone()).is_ok());
    let given = (0..2).map(|_| load(&broker, TASK, Some(&selection))).collect();
    let nested = outcome.lock().unwrap().take();
    (given, nested)
}

#[test]
fn the_check_bites_by_itself() {
    let (enforced, _) = twice(None, None);
    assert!(delivered(&enforced[0]) && !delivered(&enforced[1]));
    let (skipped, _) = twice(Some(Stage::Selection), None);
    assert!(delivered(&skipped[0]) && delivered(&skipped[1]), "nothing else stands against a replay");
}

#[test]
fn a_second_load_inside_the_first_delivers_nothing() {
    for stage in [Stage::AuthorizationSource, Stage::SnapshotSeal, Stage::Load, Stage::ConsentAgain, Stage::Deliver] {
        let (given, nested) = twice(None, Some(stage));
        assert_eq!(nested.expect("a nested load").unwrap_err().reason(), Reason::SelectionSpent, "{stage}");
        assert!(delivered(&given[0]) && !delivered(&given[1]), "{stage}");
    }
    let (given, nested) = twice(None, Some(Stage::Resolve));
    assert!(delivered(&nested.unwrap()), "before the check the inner one is the first");
    assert!(given.iter().all(|outcome| !delivered(outcome)));
}

#[test]
fn under_hardened_mode_a_selection_needs_its_plan() {
    let system = scene(TWO);
    let settings = Settings { hardened: true, ..support::settings() };
    let broker = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
    let named = format!("{TASK}, with {CHOSEN}");
    let selection = choose(&broker, &named, CHOSEN);
    let without = Selection { plan_digest: None, ..selection.clone() };
    let plain = started(&system);
    assert!(delivered(&load(&plain, &named, Some(&without))), "the control: the contract takes the name for a plan");
    let outcome = load(&broker, &named, Some(&without));
    assert_eq!(reason_code(&outcome), "selection_receipt_required");
    assert!(!delivered(&outcome) && delivered(&load(&broker, &named, Some(&selection))));
}
