//! Whatever changes while a load runs suppresses the result: every step and every call of the system, against every
//! coordinate, and every check shown to bite. Each mutation is seen to fire; each control, the same load without it,
//! delivers.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/broker.rs"]
mod support;

use kdna_broker::broker::Broker;
use kdna_broker::broker::checks::{Checks, StepKind, WINDOWS};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::refusal::{Code, Reason, Refusal, Stage};
use kdna_broker::system::sim::{CallEvent, HookAction, SimSystem, World};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use support::*;

/// One way to change one coordinate.
#[derive(Clone, Copy)]
struct Mutation {
    name: &'static str,
    coordinate: &'static str,
    code: Code,
    apply: fn(&mut World),
}

fn other_scope() -> Vec<u8> {
    String::from_utf8(RECORD.to_vec()).unwrap().replace("write documentation", "write documents").into_bytes()
}

const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "root moved away",
        coordinate: "root",
        code: Code::HostWorkspaceRootChanged,
        apply: |world| world.rename("/w/app", "/w/old").unwrap(),
    },
    Mutation {
        name: "root replaced by another directory",
        coordinate: "root",
        code: Code::HostWorkspaceRootChanged,
        apply: |world| {
            world.rename("/w/app", "/w/old").unwrap();
            world.directory("/w/app", 0o755).unwrap();
        },
    },
    Mutation {
        name: "root replaced by a link to itself",
        coordinate: "root",
        code: Code::HostWorkspaceRootChanged,
        apply: |world| {
            world.rename("/w/app", "/w/old").unwrap();
            world.link("/w/app", "/w/old").unwrap();
        },
    },
    Mutation {
        name: "scope changed in place",
        coordinate: "record",
        code: Code::WorkspaceBindingChanged,
        apply: |world| world.set_content(RECORD_PATH, &other_scope()).unwrap(),
    },
    Mutation {
        name: "record replaced by another file",
        coordinate: "record",
        code: Code::WorkspaceBindingChanged,
        apply: |world| {
            world.remove(RECORD_PATH).unwrap();
            world.file(RECORD_PATH, 0o600, &other_scope()).unwrap();
        },
    },
    Mutation {
        name: "record removed",
        coordinate: "record",
        code: Code::WorkspaceBindingChanged,
        apply: |world| world.remove(RECORD_PATH).unwrap(),
    },
    Mutation {
        name: "record behind a link",
        coordinate: "record",
        code: Code::WorkspaceBindingChanged,
        apply: |world| {
            world.rename(RECORD_PATH, "/w/app/.kdna/moved.json").unwrap();
            world.link(RECORD_PATH, "/w/app/.kdna/moved.json").unwrap();
        },
    },
    Mutation {
        name: "snapshot changed in place",
        coordinate: "snapshot",
        code: Code::WorkspaceBindingChanged,
        apply: |world| world.set_content(&snapshot_path(), OTHER_ASSET).unwrap(),
    },
    Mutation {
        name: "snapshot replaced by another file of the same bytes",
        coordinate: "snapshot",
        code: Code::WorkspaceBindingChanged,
        apply: |world| {
            world.remove(&snapshot_path()).unwrap();
            world.file(&snapshot_path(), 0o600, ASSET).unwrap();
        },
    },
    Mutation {
        name: "snapshot removed",
        coordinate: "snapshot",
        code: Code::WorkspaceBindingChanged,
        apply: |world| world.remove(&snapshot_path()).unwrap(),
    },
    Mutation {
        name: "consent replaced by another valid one",
        coordinate: "consent",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| world.set_content(CONSENT_PATH, &timed_consent('b', &timed())).unwrap(),
    },
    Mutation {
        name: "consent revoked",
        coordinate: "consent",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| world.remove(CONSENT_PATH).unwrap(),
    },
    Mutation {
        name: "consent opened to others",
        coordinate: "consent",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| world.set_mode(CONSENT_PATH, 0o644).unwrap(),
    },
    Mutation {
        name: "consent given a second name",
        coordinate: "consent",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| world.hard_link(CONSENT_PATH, "/home/person/copy").unwrap(),
    },
    Mutation {
        name: "consent directory replaced by a copy",
        coordinate: "consent-directory",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| {
            let bytes = world.content_of(CONSENT_PATH).unwrap();
            world.rename("/private", "/private.old").unwrap();
            world.directory("/private", 0o700).unwrap();
            world.set_owner("/private", 1000).unwrap();
            world.file(CONSENT_PATH, 0o600, &bytes).unwrap();
        },
    },
    Mutation {
        name: "consent directory opened to others",
        coordinate: "consent-directory",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| world.set_mode("/private", 0o755).unwrap(),
    },
    Mutation {
        name: "the consent's end",
        coordinate: "time",
        code: Code::ConsentExpired,
        apply: |world| world.set_now(after(3600)),
    },
    Mutation {
        name: "the clock set back",
        coordinate: "time",
        code: Code::ClockWentBack,
        apply: |world| world.set_now(after(-3600)),
    },
    Mutation {
        name: "the policy forbids the host",
        coordinate: "policy",
        code: Code::PolicyForbids,
        apply: |world| world.set_content(POLICY_PATH, POLICY.replace("golden-host", "other").as_bytes()).unwrap(),
    },
    Mutation {
        name: "the policy revokes the consent",
        coordinate: "policy",
        code: Code::PolicyForbids,
        apply: |world| {
            let revoked = format!("\"revoked_consents\":[\"{}\"]", Digest::of(&timed_consent('a', &timed())));
            world.set_content(POLICY_PATH, POLICY.replace("\"revoked_consents\":[]", &revoked).as_bytes()).unwrap();
        },
    },
    Mutation {
        name: "the policy cannot be understood",
        coordinate: "policy",
        code: Code::PolicyForbids,
        apply: |world| world.set_content(POLICY_PATH, b"{}").unwrap(),
    },
    Mutation {
        name: "the policy can be written by others",
        coordinate: "policy",
        code: Code::PolicyForbids,
        apply: |world| world.set_mode(POLICY_PATH, 0o666).unwrap(),
    },
    Mutation {
        name: "the ledger forgets",
        coordinate: "ledger",
        code: Code::AttachmentNotApprovedHere,
        apply: |world| world.remove(LEDGER_PATH).unwrap(),
    },
    Mutation {
        name: "the ledger says another entry",
        coordinate: "ledger",
        code: Code::AttachmentNotApprovedHere,
        apply: |world| world.set_content(LEDGER_PATH, ledger(Digest::of(b"x"), None, &[]).as_bytes()).unwrap(),
    },
    Mutation {
        name: "the ledger is opened to others",
        coordinate: "ledger",
        code: Code::AttachmentNotApprovedHere,
        apply: |world| world.set_mode(LEDGER_PATH, 0o640).unwrap(),
    },
    Mutation {
        name: "the consent is taken back in the ledger",
        coordinate: "ledger",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| {
            let revoked = ledger(timed().entry_digest, None, &[Digest::of(&timed_consent('a', &timed()))]);
            world.set_content(LEDGER_PATH, revoked.as_bytes()).unwrap();
        },
    },
    Mutation {
        name: "the attachment was changed and changed back",
        coordinate: "ledger",
        code: Code::HostProcessingConsentInvalid,
        apply: |world| {
            let changed = ledger(timed().entry_digest, Some(after(1)), &[]);
            world.set_content(LEDGER_PATH, changed.as_bytes()).unwrap();
        },
    },
];

/// Announces every step to the simulated world, applies a mutation as one step begins, and may skip one check.
struct Probe {
    system: SimSystem,
    at: Option<(Stage, Mutation)>,
    skip: Option<Stage>,
    fired: Arc<AtomicUsize>,
    entered: Arc<Mutex<Vec<Stage>>>,
}

impl Checks for Probe {
    fn entering(&self, stage: Stage) {
        self.system.set_step(stage.as_str());
        self.entered.lock().unwrap().push(stage);
        if let Some((_, mutation)) = self.at.filter(|(at, _)| *at == stage) {
            self.system.arrange(mutation.apply);
            self.fired.fetch_add(1, Ordering::SeqCst);
        }
    }
    fn judge(&self, stage: Stage, verdict: Result<(), Refusal>) -> Result<(), Refusal> {
        if self.skip == Some(stage) { Ok(()) } else { verdict }
    }
}

struct Ran {
    outcome: Result<String, Refusal>,
    fired: usize,
    entered: Vec<Stage>,
}

fn run(delegate: Delegate<SimSystem>, at: Option<(Stage, Mutation)>, skip: Option<Stage>) -> Ran {
    let system = full_system();
    let (fired, entered) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let probe = Probe { system: system.clone(), at, skip, fired: fired.clone(), entered: entered.clone() };
    let broker = broker(&system, delegate, Some(Box::new(probe)));
    let outcome = load(&broker);
    let entered = entered.lock().unwrap().clone();
    Ran { outcome, fired: fired.load(Ordering::SeqCst), entered }
}

fn stages() -> Vec<Stage> {
    Broker::<SimSystem>::SEQUENCE.iter().map(|step| step.stage).collect()
}

fn position(stage: Stage) -> usize {
    stages().iter().position(|entry| *entry == stage).unwrap_or_else(|| panic!("{stage} is not in the table"))
}

type Shape = (&'static str, fn() -> Delegate<SimSystem>);

const SHAPES: [Shape; 2] = [("sealed", Delegate::embedded), ("path-bound", Delegate::path_bound)];

#[test]
fn the_control_delivers_and_walks_the_whole_table_in_order() {
    for (shape, delegate) in SHAPES {
        let ran = run(delegate(), None, None);
        assert!(delivered(&ran.outcome), "{shape}: {:?}", ran.outcome.err());
        assert!(ran.outcome.unwrap().contains(CAPSULE_CANARY), "{shape}");
        assert_eq!(ran.entered, stages(), "{shape}");
    }
}

#[test]
fn a_change_of_any_coordinate_at_any_step_of_its_window_delivers_nothing() {
    let mut tried = 0;
    for (shape, delegate) in SHAPES {
        for mutation in MUTATIONS {
            let window = WINDOWS.iter().find(|window| window.coordinate == mutation.coordinate).unwrap();
            for stage in stages() {
                let (first, at, last) = (position(window.first), position(stage), position(window.last));
                let ran = run(delegate(), Some((stage, *mutation)), None);
                let case = format!("{shape}: {} as {stage} begins", mutation.name);
                if first < at && at <= last {
                    tried += 1;
                    assert_eq!(ran.fired, 1, "{case} did not fire");
                    assert!(!delivered(&ran.outcome), "{case} delivered");
                    assert!(!format!("{:?}", ran.outcome).contains(CAPSULE_CANARY), "{case} leaked");
                }
            }
        }
    }
    assert!(tried > 400, "only {tried} pairs were in a window");
}

#[test]
fn the_code_names_the_coordinate_that_changed() {
    for mutation in MUTATIONS {
        let stage = WINDOWS.iter().find(|window| window.coordinate == mutation.coordinate).unwrap().last;
        let refusal = run(Delegate::embedded(), Some((stage, *mutation)), None).outcome.unwrap_err();
        assert_eq!((refusal.code(), refusal.stage()), (mutation.code, stage), "{}", mutation.name);
    }
}

/// The numbers of the calls that take hold of a coordinate, of a control. What is replaced after the last of them is
/// replaced after the last look at it.
fn touching(log: &[CallEvent], coordinate: &str) -> Vec<u64> {
    let about: fn(&CallEvent) -> bool = match coordinate {
        "root" => |event| event.at == ROOT && event.call.as_str() == "open_directory",
        "record" => |event| event.at.ends_with("attachments.json") && event.call.as_str() == "open_file_beneath",
        "snapshot" => {
            |event| event.at.contains("sha256-") && !event.in_child && event.call.as_str() == "open_file_beneath"
        }
        "consent" => |event| event.at.ends_with("consent.json") && event.call.as_str() == "open_file_in",
        "policy" => |event| event.at == POLICY_PATH && event.call.as_str() == "open_file_in",
        "ledger" => |event| event.at == LEDGER_PATH && event.call.as_str() == "open_file_in",
        "time" => |event| event.call.as_str() == "now",
        _ => |event| event.at == "/private" && event.call.as_str() == "look",
    };
    let mut found: Vec<u64> = log.iter().filter(|event| about(event)).map(|event| event.number).collect();
    if coordinate == "time" {
        // The last two looks at the clock are for the age that the policy allows, and for the journal's row.
        found.truncate(found.len() - 2);
    }
    found
}

#[test]
fn a_change_before_any_single_call_between_first_and_last_look_delivers_nothing() {
    let mut tried = 0;
    for (shape, delegate) in SHAPES {
        let control = full_system();
        let server = broker(&control, delegate(), None);
        control.clear_log();
        assert!(delivered(&load(&server)));
        let log = control.log();
        for mutation in MUTATIONS {
            // How the runtime gets its bytes makes no difference to these.
            if shape == "path-bound" && ["time", "policy", "ledger"].contains(&mutation.coordinate) {
                continue;
            }
            let touched = touching(&log, mutation.coordinate);
            // After the first look at it has ended, and before the last one begins.
            // A coordinate is acquired when it has been read: four calls after it was taken hold of.
            let (first, last) = (touched[0] + 4, *touched.last().unwrap());
            assert!(last > first, "{shape}: {} is looked at only once", mutation.coordinate);
            for number in first..=last {
                let system = full_system();
                let server = broker(&system, delegate(), None);
                system.clear_log();
                let fired = Arc::new(AtomicUsize::new(0));
                let (counter, apply) = (fired.clone(), mutation.apply);
                system.set_hook(move |world, event| {
                    if event.number == number {
                        apply(world);
                        counter.fetch_add(1, Ordering::SeqCst);
                    }
                    HookAction::Proceed
                });
                let outcome = load(&server);
                tried += 1;
                let case = format!("{shape}: {} before call {number}", mutation.name);
                assert_eq!(fired.load(Ordering::SeqCst), 1, "{case} did not fire");
                assert!(!delivered(&outcome), "{case} delivered");
            }
        }
    }
    assert!(tried > 1000, "only {tried} interleavings");
}

#[test]
fn swapping_the_snapshot_only_while_the_load_child_runs_delivers_nothing() {
    for (shape, delegate) in SHAPES {
        let system = full_system();
        let server = broker(&system, delegate(), None);
        system.arrange(|world| world.file("/w/app/.kdna/assets/evil", 0o600, OTHER_ASSET)).unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let swaps = Arc::new(AtomicUsize::new(0));
        let (runs_seen, swapped) = (runs.clone(), swaps.clone());
        let evil = "/w/app/.kdna/assets/evil";
        system.set_hook(move |world, event| {
            if event.call.as_str() == "run" {
                // resolve, plan-load, load: only the third is the load child.
                if runs_seen.fetch_add(1, Ordering::SeqCst) == 2 {
                    world.swap(&snapshot_path(), evil).unwrap();
                    swapped.fetch_add(1, Ordering::SeqCst);
                }
            } else if swapped.load(Ordering::SeqCst) == 1 && !event.in_child {
                world.swap(&snapshot_path(), evil).unwrap();
                swapped.fetch_add(1, Ordering::SeqCst);
            }
            HookAction::Proceed
        });
        let outcome = load(&server);
        assert_eq!(swaps.load(Ordering::SeqCst), 2, "{shape}: the swap did not happen and end");
        assert!(!delivered(&outcome), "{shape}");
        let expected = if shape == "sealed" { Reason::SnapshotChanged } else { Reason::CapsuleForeign };
        assert_eq!(outcome.unwrap_err().reason(), expected, "{shape}");
    }
}

/// For each check, a change that only this check stands against: enforced it refuses, skipped it delivers.
#[test]
fn every_check_after_the_load_bites_by_itself() {
    let cases: [(Stage, &str); 8] = [
        (Stage::RootAgain, "root moved away"),
        (Stage::BindingAgain, "record removed"),
        (Stage::SnapshotAgain, "snapshot removed"),
        (Stage::ConsentAgain, "consent revoked"),
        (Stage::ConsentAgain, "the consent's end"),
        (Stage::ConsentAgain, "the policy forbids the host"),
        (Stage::ConsentAgain, "the ledger forgets"),
        (Stage::ConsentAgain, "the attachment was changed and changed back"),
    ];
    for (stage, name) in cases {
        let mutation = MUTATIONS.iter().find(|mutation| mutation.name == name).unwrap();
        // A root that moved away keeps its content reachable by the held descriptor, so nothing else notices.
        let enforced = run(Delegate::embedded(), Some((stage, *mutation)), None);
        assert!(!delivered(&enforced.outcome), "{stage} does not refuse");
        let skipped = run(Delegate::embedded(), Some((stage, *mutation)), Some(stage));
        assert!(delivered(&skipped.outcome), "{stage} is not what refuses: {:?}", skipped.outcome.err());
    }
}

/// A runtime that delivers another asset than it was given, and leaves no trace on the disk.
#[test]
fn a_capsule_of_another_asset_is_refused_by_its_own_digest() {
    for skip in [None, Some(Stage::CapsuleIdentity)] {
        let system = full_system();
        let (fired, entered) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let probe = Probe { system: system.clone(), at: None, skip, fired, entered };
        let server = broker(&system, Delegate::embedded(), Some(Box::new(probe)));
        system.set_script(lying_script);
        let outcome = load(&server);
        match skip {
            None => assert_eq!(outcome.unwrap_err().reason(), Reason::CapsuleForeign),
            Some(_) => assert!(delivered(&outcome), "nothing but the identity check stands against it"),
        }
    }
}

#[test]
fn check_steps_are_exactly_those_that_only_say_yes() {
    let checks: Vec<Stage> = Broker::<SimSystem>::SEQUENCE
        .iter()
        .filter(|step| step.kind == StepKind::Check)
        .map(|step| step.stage)
        .collect();
    for stage in [Stage::Root, Stage::HomeGuard, Stage::ConsentBinding, Stage::CapsuleIdentity, Stage::ConsentAgain] {
        assert!(checks.contains(&stage), "{stage}");
    }
}

/// Consent is replaced between two loads of one session: both deliver, each under its own digest.
#[test]
fn consent_rotates_without_a_restart() {
    let system = full_system();
    let server = broker(&system, Delegate::embedded(), None);
    let first = load(&server).unwrap();
    assert!(first.contains(&Digest::of(&timed_consent('a', &timed())).to_string()));
    system.arrange(|world| {
        world.file("/private/next", 0o600, &timed_consent('b', &timed())).unwrap();
        world.remove(CONSENT_PATH).unwrap();
        world.rename("/private/next", CONSENT_PATH).unwrap();
    });
    let second = load(&server).unwrap();
    assert!(second.contains(&Digest::of(&timed_consent('b', &timed())).to_string()));
    assert!(delivered(&Ok(first)) && delivered(&Ok(second)));
}

/// Before consent is valid nothing but the record is read by the broker itself, and no load child runs.
#[test]
fn without_consent_the_broker_reads_only_the_record() {
    let system = full_system();
    system.arrange(|world| world.remove(CONSENT_PATH)).unwrap();
    let server = broker(&system, Delegate::embedded(), None);
    system.clear_log();
    let refusal = load(&server).unwrap_err();
    assert_eq!(refusal.reason(), Reason::ConsentMissing);
    let log = system.log();
    let own = |event: &&CallEvent| !event.in_child && event.at.starts_with(ROOT) && event.call.as_str() == "read";
    assert!(log.iter().filter(own).all(|event| event.at == RECORD_PATH), "the broker read something else");
    assert_eq!(log.iter().filter(|event| event.call.as_str() == "seal").count(), 0);
    assert_eq!(log.iter().filter(|event| event.call.as_str() == "run").count(), 1, "only the resolver may run");
}
