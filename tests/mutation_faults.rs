//! Every change of a record, with every call failing once and with power lost before every call in every way: the record is
//! the old or the new one, whatever it names is whole, nothing is left that git would pick up, and the next command works.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]
#![cfg(feature = "runtime")]

mod support;

use kdna_broker::capability::workspace::{Located, locate, mutation_root};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::load_plan::LoadPlan;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::record::{ApprovalSource, Attachment, Record};
use kdna_broker::foundation::refusal::{Code, Reason, Refusal};
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::attachments::{
    AttachmentPolicy, Former, PolicyArguments, Proposal, Switch, SwitchRequest, attach, cleanup, preview_cleanup,
    remove, rollback, set_enabled, switch,
};
use kdna_broker::system::sim::{Call, Crash, HookAction, SimSystem};
use kdna_broker::system::{Fault, System};
use std::sync::{Arc, Mutex, OnceLock};
use support::documents::parse;
use support::simulated::Recorded;

const RECORD: &str = "/w/.kdna/attachments.json";
const UNNAMED: &[u8] = b"an asset that nothing names";

fn plan() -> LoadPlan {
    static PLAN: OnceLock<LoadPlan> = OnceLock::new();
    let read = || LoadPlan::check(parse(&Recorded::named("plan-review").stdout).unwrap()).unwrap();
    PLAN.get_or_init(read).clone()
}

fn policy(phrase: &str) -> AttachmentPolicy {
    let phrases = [phrase.to_owned()];
    let arguments = PolicyArguments { applies_to: &phrases, ..PolicyArguments::default() };
    AttachmentPolicy::from_arguments(&arguments, ApprovalSource::UserExplicit).unwrap()
}

type Workspace = Located<SimSystem>;

fn attach_bytes(system: &SimSystem, workspace: &Workspace, bytes: &[u8]) -> Result<Value, Refusal> {
    let proposal = Proposal::new(&workspace.root, Digest::of(bytes), &plan(), policy("review")).unwrap();
    attach(system, workspace, &proposal, bytes)
}

fn switch_to(system: &SimSystem, workspace: &Workspace, of: &Attachment, bytes: &[u8]) -> Result<Value, Refusal> {
    let plan = plan();
    let proposed = Switch::new(SwitchRequest {
        root: &workspace.root,
        attachment: of,
        former: Former::Verified(&plan),
        digest: Digest::of(bytes),
        plan: &plan,
        policy: policy("review more"),
    });
    switch(system, workspace, &proposed.unwrap(), bytes)
}

fn record(system: &SimSystem) -> Record {
    Record::read(&bytes_of_record(system)).expect("a record that can be read")
}

fn bytes_of_record(system: &SimSystem) -> Vec<u8> {
    system.arrange(|world| world.content_of(RECORD)).expect("a record")
}

fn snapshot(bytes: &[u8]) -> String {
    format!("/w/.kdna/assets/sha256-{}.kdna", Digest::of(bytes).hex())
}

/// A workspace with one enabled attachment that was switched once, one that is off, and a snapshot that nothing names.
fn scene() -> (SimSystem, Workspace) {
    let system = SimSystem::new(1);
    system.arrange(|world| {
        world.directory("/home/me", 0o700).unwrap();
        world.set_account_home(AbsolutePath::parse("/home/me").ok());
        world.directory("/w", 0o755).unwrap();
    });
    let workspace = mutation_root(&system, "/w", None).unwrap();
    attach_bytes(&system, &workspace, b"first").unwrap();
    switch_to(&system, &workspace, &record(&system).attachments()[0], b"second").unwrap();
    attach_bytes(&system, &workspace, b"off").unwrap();
    set_enabled(&system, &workspace, &record(&system).attachments()[1].id, None).unwrap();
    system.arrange(|world| world.file(&snapshot(UNNAMED), 0o600, UNNAMED)).unwrap();
    let workspace = locate(&system, "/w", None, None).unwrap().unwrap();
    system.clear_log();
    (system, workspace)
}

/// One change, and whether a record shows that it happened.
struct Change {
    name: &'static str,
    run: fn(&SimSystem, &Workspace, &Record) -> Result<(), Refusal>,
    happened: fn(&Record) -> bool,
}

const CHANGES: [Change; 7] = [
    Change {
        name: "attach",
        run: |system, workspace, _| attach_bytes(system, workspace, b"third").map(drop),
        happened: |record| record.attachments().len() == 3,
    },
    Change {
        name: "enable",
        run: |system, workspace, record| {
            let attachment = &record.attachments()[1];
            set_enabled(system, workspace, &attachment.id, Some(&attachment.asset)).map(drop)
        },
        happened: |record| record.attachments()[1].enabled,
    },
    Change {
        name: "disable",
        run: |system, workspace, record| set_enabled(system, workspace, &record.attachments()[0].id, None).map(drop),
        happened: |record| !record.attachments()[0].enabled,
    },
    Change {
        name: "switch",
        run: |system, workspace, record| switch_to(system, workspace, &record.attachments()[0], b"third").map(drop),
        happened: |record| record.attachments()[0].history.len() == 2,
    },
    Change {
        name: "rollback",
        run: |system, workspace, record| {
            let attachment = &record.attachments()[0];
            rollback(system, workspace, &attachment.id, &attachment.asset, &attachment.history[0]).map(drop)
        },
        happened: |record| record.attachments()[0].history.is_empty(),
    },
    Change {
        name: "remove",
        run: |system, workspace, record| remove(system, workspace, &record.attachments()[0].id).map(drop),
        happened: |record| record.attachments().len() == 1,
    },
    Change {
        name: "cleanup",
        run: |system, workspace, _| {
            let plan = preview_cleanup(system, workspace)?;
            cleanup(system, workspace, plan.digest()?).map(drop)
        },
        // It never changes the record.
        happened: |_| true,
    },
];

/// Names below `.kdna` that its `.gitignore` covers.
fn ignored(name: &str) -> bool {
    let first = name.split('/').next().unwrap_or_default();
    matches!(first, ".gitignore" | "assets" | "attachments.json" | "attachments.lock" | "cleanup-last-receipt.json")
        || (first.starts_with(".attachments-") && first.strip_suffix(".tmp").is_some())
        || (first.starts_with(".cleanup-staging-") && name.contains('/'))
}

fn below(system: &SimSystem) -> Vec<String> {
    let paths = system.arrange(|world| world.paths());
    paths.into_iter().filter_map(|path| path.strip_prefix("/w/.kdna/").map(str::to_owned)).collect()
}

/// What must hold after anything: the record can be read and what it names is whole; git sees nothing.
fn assert_whole(system: &SimSystem, context: &str) {
    for asset in record(system).references() {
        let path = format!("/w/.kdna/{}", asset.snapshot);
        let stored = system.arrange(|world| world.content_of(&path)).unwrap_or_default();
        assert_eq!(Digest::of(&stored), asset.digest, "{context}");
    }
    let ignore = system.arrange(|world| world.content_of("/w/.kdna/.gitignore")).unwrap_or_default();
    assert_eq!(ignore.len(), 125, "{context}");
    for name in below(system) {
        let staging = name.starts_with(".cleanup-staging-");
        assert!(ignored(&name) || staging, "{context}: git would see {name}");
    }
}

fn is_temporary(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".tmp").is_some() && name != ".attachments-lock.tmp"
}

fn snapshots(system: &SimSystem) -> Vec<String> {
    below(system).into_iter().filter(|name| name.starts_with("assets/") || name.starts_with(".cleanup-")).collect()
}

/// The next command: it takes the locks, recovers, and changes the record.
fn assert_next_works(system: &SimSystem, context: &str) {
    let workspace = locate(system, "/w", None, None).unwrap().unwrap_or_else(|| panic!("{context}: no workspace"));
    preview_cleanup(system, &workspace).unwrap_or_else(|refusal| panic!("{context}: {}", refusal.reason()));
    assert!(!below(system).iter().any(|name| name.starts_with(".cleanup-staging-")), "{context}");
    let before = record(system).attachments().len();
    attach_bytes(system, &workspace, b"next").unwrap_or_else(|refusal| panic!("{context}: {}", refusal.reason()));
    assert_eq!(record(system).attachments().len(), before + 1, "{context}");
    assert!(!below(system).iter().any(|name| name == "attachments.lock"), "{context}");
    assert_whole(system, context);
}

/// Every call fails once.
#[test]
fn a_failure_at_any_call_leaves_the_old_record_or_the_new_one() {
    for change in CHANGES {
        let mut number = 0;
        loop {
            number += 1;
            let (system, workspace) = scene();
            let (old, stored) = (bytes_of_record(&system), snapshots(&system));
            let failed = Arc::new(Mutex::new(None));
            let noted = Arc::clone(&failed);
            system.set_hook(move |_, event| {
                if event.number == number {
                    *noted.lock().unwrap() = Some((event.call, event.at.clone()));
                    return HookAction::Fail(Fault::Io(5));
                }
                HookAction::Proceed
            });
            let result = (change.run)(&system, &workspace, &record_of(&old));
            system.clear_hook();
            let Some(call) = failed.lock().unwrap().clone() else {
                result.unwrap();
                assert!((change.happened)(&record(&system)) && number > 20, "{}: {number}", change.name);
                break;
            };
            let context = format!("{} with {call:?} failing", change.name);
            assert_whole(&system, &context);
            assert!(!below(&system).iter().any(|name| is_temporary(name)), "{context}: {:?}", below(&system));
            if result.is_ok() {
                assert!((change.happened)(&record(&system)), "{context}");
            } else {
                assert_eq!(bytes_of_record(&system), old, "{context}");
                assert!(change.name == "cleanup" || snapshots(&system) == stored, "{context}");
            }
            assert_next_works(&system, &context);
        }
    }
}

fn record_of(bytes: &[u8]) -> Record {
    Record::read(bytes).unwrap()
}

/// A full disk: a write stores only some of its bytes.
#[test]
fn a_short_write_at_any_place_leaves_the_old_record() {
    for change in CHANGES {
        let mut number = 0;
        loop {
            number += 1;
            let (system, workspace) = scene();
            let old = bytes_of_record(&system);
            let writes = Arc::new(Mutex::new(0));
            let counted = Arc::clone(&writes);
            system.set_hook(move |_, event| {
                let mut writes = counted.lock().unwrap();
                *writes += usize::from(event.call == Call::Write);
                if event.call == Call::Write && *writes == number { HookAction::Short(7) } else { HookAction::Proceed }
            });
            let result = (change.run)(&system, &workspace, &record_of(&old));
            system.clear_hook();
            if *writes.lock().unwrap() < number {
                result.unwrap();
                break;
            }
            let context = format!("{} with write {number} cut", change.name);
            assert_whole(&system, &context);
            assert!(!below(&system).iter().any(|name| is_temporary(name)), "{context}");
            assert!(result.is_ok() || bytes_of_record(&system) == old, "{context}");
        }
        assert!(number > 2, "{}", change.name);
    }
}

/// Power is lost before any call, in each of six ways.
#[test]
fn a_loss_of_power_at_any_call_leaves_the_old_record_or_the_new_one() {
    for change in CHANGES {
        let (system, workspace) = scene();
        let (old, stored) = (bytes_of_record(&system), snapshots(&system));
        let worlds = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&worlds);
        system.set_hook(move |world, event| {
            let context = format!("{:?} {}", event.call, event.at);
            kept.lock().unwrap().extend(Crash::ALL.map(|crash| (context.clone(), crash, world.crash(crash))));
            HookAction::Proceed
        });
        (change.run)(&system, &workspace, &record_of(&old)).unwrap();
        system.clear_hook();
        let worlds = std::mem::take(&mut *worlds.lock().unwrap());
        assert!(worlds.len() > 100);
        for (call, crash, after) in worlds {
            let context = format!("{} before {call}, {crash:?}", change.name);
            assert_whole(&after, &context);
            let now = bytes_of_record(&after);
            assert!(now == old || (change.happened)(&record(&after)), "{context}");
            assert_next_works(&after, &context);
            if now == old && change.name != "cleanup" {
                let lost: Vec<_> = stored.iter().filter(|name| !snapshots(&after).contains(name)).collect();
                assert!(lost.is_empty(), "{context}: {lost:?}");
            }
        }
    }
}

/// In a new workspace git may see one thing for the moment in which its `.gitignore` is made, and not after the next
/// command.
#[test]
fn the_first_attachment_shows_nothing_to_git_once_the_ignore_list_is_there() {
    let arrange = || {
        let system = SimSystem::new(1);
        system.arrange(|world| world.directory("/w", 0o755)).unwrap();
        system.arrange(|world| world.directory("/home/me", 0o700)).unwrap();
        system.arrange(|world| world.set_account_home(AbsolutePath::parse("/home/me").ok()));
        system
    };
    let system = arrange();
    let workspace = mutation_root(&system, "/w", None).unwrap();
    let worlds = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&worlds);
    system.set_hook(move |world, _| {
        kept.lock().unwrap().extend(Crash::ALL.map(|crash| world.crash(crash)));
        HookAction::Proceed
    });
    attach_bytes(&system, &workspace, b"first").unwrap();
    system.clear_hook();
    for after in std::mem::take(&mut *worlds.lock().unwrap()) {
        let names = below(&after);
        if names.iter().any(|name| name == ".gitignore") {
            assert!(names.iter().all(|name| ignored(name)), "{names:?}");
        } else {
            assert!(
                names.iter().all(|name| name == "assets" || name.starts_with(".attachments-gitignore-")),
                "{names:?}"
            );
        }
        let workspace = mutation_root(&after, "/w", None).unwrap();
        attach_bytes(&after, &workspace, b"next").unwrap();
        assert_whole(&after, "the next attach");
    }
}

#[test]
fn what_changed_since_the_person_looked_is_not_changed_once_more() {
    let (system, workspace) = scene();
    let before = record(&system);
    let [first, off] = before.attachments() else { panic!("two attachments") };
    switch_to(&system, &workspace, first, b"third").unwrap();
    let after = bytes_of_record(&system);
    let refused = |result: Result<Value, Refusal>| result.unwrap_err().code();
    assert_eq!(refused(switch_to(&system, &workspace, first, b"fourth")), Code::ApprovalBindingChanged);
    assert_eq!(
        refused(rollback(&system, &workspace, &first.id, &first.asset, &first.history[0])),
        Code::ApprovalBindingChanged
    );
    assert_eq!(refused(set_enabled(&system, &workspace, &off.id, Some(&first.asset))), Code::ApprovalBindingChanged);
    assert_eq!(bytes_of_record(&system), after);
    assert!(!system.arrange(|world| world.paths()).contains(&snapshot(b"fourth")));
}

#[test]
fn a_damaged_copy_is_not_switched_on_nor_gone_back_to_and_left_only_on_purpose() {
    let (system, workspace) = scene();
    let before = record(&system);
    let [first, off] = before.attachments() else { panic!("two attachments") };
    system.arrange(|world| world.set_content(&snapshot(b"off"), b"OFF")).unwrap();
    system.arrange(|world| world.set_content(&snapshot(b"second"), b"SECOND")).unwrap();
    let old = bytes_of_record(&system);
    let enabled = set_enabled(&system, &workspace, &off.id, Some(&off.asset));
    assert_eq!(enabled.unwrap_err().reason(), Reason::SnapshotOtherBytes);
    let back = rollback(&system, &workspace, &first.id, &first.asset, &first.history[0]);
    assert_eq!(back.unwrap_err().reason(), Reason::SnapshotOtherBytes);
    let away = switch_to(&system, &workspace, first, b"third");
    assert_eq!(away.unwrap_err().reason(), Reason::SnapshotOtherBytes);
    assert_eq!(bytes_of_record(&system), old);

    let plan = plan();
    let request = |former| SwitchRequest {
        root: &workspace.root,
        attachment: first,
        former,
        digest: Digest::of(b"third"),
        plan: &plan,
        policy: policy("review more"),
    };
    let damaged = Switch::new(request(Former::Damaged)).unwrap();
    let whole = Switch::new(request(Former::Verified(&plan))).unwrap();
    assert_ne!(damaged.consent_digest().unwrap(), whole.consent_digest().unwrap(), "the person confirms which it is");
    assert!(damaged.facts(".", system.now()).unwrap().get("note").is_some());
    assert!(whole.facts(".", system.now()).unwrap().get("note").is_none());
    switch(&system, &workspace, &damaged, b"third").unwrap();
    assert_eq!(record(&system).attachments()[0].asset.digest, Digest::of(b"third"));
}

#[test]
fn a_switch_is_confirmed_by_the_digest_of_its_preview_whenever_it_is_made() {
    let (system, workspace) = scene();
    let before = record(&system);
    let plan = plan();
    let propose = |bytes: &[u8], phrase: &str| {
        Switch::new(SwitchRequest {
            root: &workspace.root,
            attachment: &before.attachments()[0],
            former: Former::Verified(&plan),
            digest: Digest::of(bytes),
            plan: &plan,
            policy: policy(phrase),
        })
        .unwrap()
    };
    let digest = propose(b"third", "review").consent_digest().unwrap();
    system.advance(std::time::Duration::from_secs(3600));
    propose(b"third", "review").confirm(digest).unwrap();
    for other in [propose(b"other", "review"), propose(b"third", "anything")] {
        assert_eq!(other.confirm(digest).unwrap_err().reason(), Reason::SwitchDrift);
    }
}

#[test]
fn a_workspace_enables_no_more_attachments_than_a_host_may_be_shown() {
    let (system, workspace) = scene();
    for _ in 0..63 {
        attach_bytes(&system, &workspace, b"first").unwrap();
    }
    let off = record(&system).attachments()[1].clone();
    let refusal = set_enabled(&system, &workspace, &off.id, Some(&off.asset)).unwrap_err();
    assert_eq!(refusal.reason(), Reason::AttachmentLimit);
    set_enabled(&system, &workspace, &record(&system).attachments()[0].id, None).unwrap();
    set_enabled(&system, &workspace, &off.id, Some(&off.asset)).unwrap();
}

#[test]
fn a_cleanup_deletes_exactly_what_was_confirmed() {
    let (system, workspace) = scene();
    let plan = preview_cleanup(&system, &workspace).unwrap();
    assert_eq!(plan.eligible(), [Digest::of(UNNAMED)]);
    let stored = snapshots(&system);
    // Another snapshot without a name since the preview: another plan.
    system.arrange(|world| world.file(&snapshot(b"late"), 0o600, b"late")).unwrap();
    let refusal = cleanup(&system, &workspace, plan.digest().unwrap()).unwrap_err();
    assert_eq!(refusal.code(), Code::CleanupPlanChanged);
    assert_eq!(snapshots(&system).len(), stored.len() + 1);
    let plan = preview_cleanup(&system, &workspace).unwrap();
    cleanup(&system, &workspace, plan.digest().unwrap()).unwrap();
    assert_eq!(snapshots(&system).len(), stored.len() - 1);
    let receipt = system.arrange(|world| world.content_of("/w/.kdna/cleanup-last-receipt.json")).unwrap();
    let receipt = parse(&receipt).unwrap();
    assert_eq!(receipt.get("status").and_then(Value::as_str), Some("PASS"));
    assert_eq!(receipt.get("deleted_snapshot_count").and_then(Value::as_number), Some(2.0));
    assert_whole(&system, "cleaned");
}

#[test]
fn a_cleanup_touches_nothing_that_does_not_belong_there() {
    type Trap = (Code, fn(&SimSystem));
    let traps: [Trap; 6] = [
        (Code::CleanupUnsafePath, |system| {
            system.arrange(|world| world.link("/w/.kdna/assets/x", "/away/file")).unwrap();
        }),
        (Code::CleanupUnsafePath, |system| system.arrange(|world| world.fifo("/w/.kdna/assets/x", 0o600)).unwrap()),
        (Code::SnapshotDigestMismatch, |system| {
            system.arrange(|world| world.set_content(&snapshot(UNNAMED), b"other")).unwrap();
        }),
        (Code::CleanupRecoveryRequired, |system| {
            let name = format!("/w/.kdna/.cleanup-staging-{}", "0".repeat(64));
            system.arrange(|world| world.file(&format!("{name}/notes"), 0o600, b"mine")).unwrap();
        }),
        (Code::CleanupRecoveryRequired, |system| {
            let name = format!("/w/.kdna/.cleanup-staging-{}", "0".repeat(64));
            system.arrange(|world| world.link(&name, "/away")).unwrap();
        }),
        (Code::CleanupRecoveryRequired, |system| {
            for digit in ["0", "1"] {
                let name = format!("/w/.kdna/.cleanup-staging-{}", digit.repeat(64));
                system.arrange(|world| world.directory(&name, 0o700)).unwrap();
            }
        }),
    ];
    for (code, trap) in traps {
        let (system, workspace) = scene();
        let plan = preview_cleanup(&system, &workspace).unwrap();
        system.arrange(|world| world.file("/away/file", 0o600, b"precious")).unwrap();
        trap(&system);
        let before = below(&system);
        assert_eq!(cleanup(&system, &workspace, plan.digest().unwrap()).unwrap_err().code(), code);
        assert_eq!(below(&system), before, "{code}");
        assert_eq!(system.arrange(|world| world.content_of("/away/file")), Ok(b"precious".to_vec()));
    }
}

#[test]
fn leftovers_of_killed_processes_are_cleared_and_those_of_living_ones_are_not() {
    let (system, workspace) = scene();
    assert!(!system.process_exists(4_194_303));
    let left = |process: u32| {
        [".attachments", ".attachments-gitignore", ".attachments-lock-owner", ".gitignore", ".cleanup-receipt"]
            .map(|stem| format!("/w/.kdna/{stem}-{process}-0123456789abcdef.tmp"))
            .into_iter()
            .chain([format!("/w/.kdna/assets/.snapshot-{process}-0123456789abcdef.tmp")])
            .collect::<Vec<_>>()
    };
    let kept = [left(std::process::id()), vec!["/w/.kdna/.attachments-notes.tmp".to_owned()]].concat();
    for path in left(4_194_303).iter().chain(&kept) {
        system.arrange(|world| world.file(path, 0o600, b"x")).unwrap();
    }
    set_enabled(&system, &workspace, &record(&system).attachments()[0].id, None).unwrap();
    let paths = system.arrange(|world| world.paths());
    assert!(left(4_194_303).iter().all(|path| !paths.contains(path)), "{paths:?}");
    assert!(kept.iter().all(|path| paths.contains(path)), "{paths:?}");
}

#[test]
fn the_lock_of_a_crashed_command_is_cleared_whoever_has_its_process_id_now() {
    let lock = "/w/.kdna/attachments.lock";
    let (system, workspace) = scene();
    let id = record(&system).attachments()[0].id.clone();
    let ours = format!(
        r#"{{"pid":{},"created_at":"2026-01-01T00:00:00.000Z","advisory_lock":".attachments-lock.tmp"}}"#,
        std::process::id()
    );
    system.arrange(|world| world.file(lock, 0o600, ours.as_bytes())).unwrap();
    set_enabled(&system, &workspace, &id, None).unwrap();
    assert!(!system.arrange(|world| world.paths()).contains(&lock.to_owned()));
}
