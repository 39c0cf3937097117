//! An attachment is stored whole or not at all, only what was approved, only where it was approved; and the digest that a
//! person confirms is the recorded one.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]
#![cfg(feature = "runtime")]

mod support;

use kdna_broker::capability::workspace::{Located, mutation_root};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::load_plan::LoadPlan;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::record::{ApprovalSource, Record};
use kdna_broker::foundation::refusal::{Code, Reason, Refusal};
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::attachments::{AttachmentPolicy, PolicyArguments, Proposal, attach, attached};
use kdna_broker::system::sim::{Call, Content, Crash, HookAction, SimSystem};
use kdna_broker::system::{Fault, System};
use std::sync::{Arc, Mutex};
use support::documents::{at, parse, with};
use support::simulated::{Recorded, recorded_ids, recorded_plan};

const POLICY: &[u8] = br#"{"role":"change-review","applies_to":["review the pull request"],"does_not_apply_to":[]}"#;
const RECORD: &str = "/w/.kdna/attachments.json";

fn plan() -> LoadPlan {
    LoadPlan::check(parse(&Recorded::named("plan-review").stdout).unwrap()).unwrap()
}

fn asset() -> Vec<u8> {
    let case = Recorded::named("attach-preview");
    case.system.arrange(|world| world.content_of("/golden/attach-preview/a.kdna")).unwrap()
}

fn policy(bytes: &[u8]) -> Result<AttachmentPolicy, Refusal> {
    AttachmentPolicy::from_stdin(bytes, ApprovalSource::PreviewConfirmed)
}

/// A workspace at `/w` and its proposal; the home is elsewhere.
fn scene(system: &SimSystem) -> (Located<SimSystem>, Proposal) {
    system.arrange(|world| {
        world.directory("/home/me", 0o700).unwrap();
        world.set_account_home(AbsolutePath::parse("/home/me").ok());
        world.directory("/w", 0o755).unwrap();
    });
    let workspace = mutation_root(system, "/w", None).unwrap();
    let proposal = Proposal::new(&workspace.root, Digest::of(&asset()), &plan(), policy(POLICY).unwrap()).unwrap();
    system.clear_log();
    (workspace, proposal)
}

fn snapshot() -> String {
    format!("/w/.kdna/assets/sha256-{}.kdna", Digest::of(&asset()).hex())
}

/// What a person or another program would see of a workspace: record and snapshots, no temporaries.
fn seen(system: &SimSystem) -> Vec<(String, Vec<u8>)> {
    let paths = system.arrange(|world| world.paths());
    let files = paths.into_iter().filter(|path| path.starts_with("/w/.kdna/") && !path.ends_with("/assets"));
    let files = files.filter(|path| !path.ends_with("/.gitignore") && !path.ends_with("/.attachments-lock.tmp"));
    files.map(|path| (path.clone(), system.arrange(|world| world.content_of(&path)).unwrap_or_default())).collect()
}

#[test]
fn the_worked_consent_digest_is_reproduced() {
    let name = "kdna:example:deployment-review";
    let text = String::from_utf8(Recorded::named("plan-review").stdout).unwrap().replace("kdna:golden:review", name);
    let plan = LoadPlan::check(parse(text.as_bytes()).unwrap()).unwrap();
    let policy = policy(
        r#"{"role":" Article   Writing ","applies_to":["draft  article","写文章 é"],"does_not_apply_to":["code"]}"#
            .as_bytes(),
    );
    let digest = "sha256:3b488470a12c1c96b7f7b22acc4020d23c7f55ee28ff48889e2ed9f0648e4d63";
    let root = AbsolutePath::parse("/srv/projects/w1").unwrap();
    let proposal = Proposal::new(&root, Digest::parse(digest).unwrap(), &plan, policy.unwrap()).unwrap();
    assert_eq!(
        proposal.consent_digest().unwrap().to_string(),
        "sha256:c8dcc83c2b7e4bb8657c356c6aec29bd3bb2a5c921402da8055214392ed6b17f"
    );
}

/// Case by case: the recorded preview, or the recorded refusal; and in every case nothing is written.
#[test]
fn previews_are_the_recorded_ones_and_write_nothing() {
    // Refused here on purpose: duplicate keys, phrases that are no text, a role longer than a host may be shown.
    let stricter = ["attach-preview-dupkeys", "attach-nonstring-terms", "attach-preview-limits"];
    let mut compared = 0;
    for id in recorded_ids("attach-") {
        let case = Recorded::named(&id);
        if !case.has("--attachment-stdin") || !case.has("--preview") {
            continue;
        }
        // Without the shared data the plans of some assets are not at hand; tests/golden.rs replays those cases whole.
        let asset = case.system.arrange(|world| world.content_of(&case.arguments[1]));
        let planned = asset.is_ok_and(|asset| recorded_plan(&asset).is_some());
        if !planned && std::env::var_os("KDNA_SHARED").is_none_or(|value| value.is_empty()) {
            continue;
        }
        let said = preview(&case);
        assert_eq!(case.system.log().iter().filter(|event| event.call.changes()).count(), 0, "{id}");
        if stricter.contains(&id.as_str()) {
            assert_eq!(said.unwrap_err().code(), Code::InputInvalid, "{id}");
            continue;
        }
        let (given, recorded) = match said {
            Ok(document) => (write::pretty(&document).unwrap(), String::from_utf8(case.stdout).unwrap()),
            Err(refusal) => (format!("Error: {}\n", refusal.message()), case.stderr),
        };
        assert_eq!(given, recorded, "{id}");
        compared += 1;
    }
    assert!(compared >= if support::shared().is_some() { 16 } else { 1 }, "{compared}");
}

fn preview(case: &Recorded) -> Result<Value, Refusal> {
    let policy = policy(&case.stdin)?;
    let path = &case.arguments[1];
    if path.strip_suffix(".kdna").is_none() {
        return Err(Reason::SourceNotKdna.into());
    }
    let asset = case.system.arrange(|world| world.content_of(path)).expect("an asset");
    let plan = recorded_plan(&asset).map(LoadPlan::check).transpose()?;
    let workspace = mutation_root(&case.system, case.option("--cwd").expect("--cwd"), Some(&case.home))?;
    // Only one asset's plan was recorded as a failure of the command itself.
    let plan = plan.ok_or(Reason::SourceNotPlannable)?;
    Proposal::new(&workspace.root, Digest::of(&asset), &plan, policy)?.preview(&workspace.display, "ws")
}

#[test]
fn a_confirmed_attachment_is_stored_as_recorded() {
    let case = Recorded::named("attach-confirm");
    let workspace = mutation_root(&case.system, case.option("--cwd").unwrap(), Some(&case.home)).unwrap();
    let asset = case.system.arrange(|world| world.content_of(&case.arguments[1])).unwrap();
    let plan = LoadPlan::check(recorded_plan(&asset).unwrap()).unwrap();
    let policy = policy(&case.stdin).unwrap();
    let proposal = Proposal::new(&workspace.root, Digest::of(&asset), &plan, policy).unwrap();
    proposal.confirm(Digest::parse(case.option("--consent-digest").unwrap()).unwrap()).unwrap();
    assert_eq!(proposal.confirm(Digest::of(b"")).unwrap_err().reason(), Reason::ApprovalDrift);

    let entry = attach(&case.system, &workspace, &proposal, &asset).unwrap();

    let mut given = attached(&workspace.display, &entry);
    let mut recorded = parse(&case.stdout).unwrap();
    for volatile in ["/attachment/attachment_id", "/attachment/approved_at"] {
        assert_eq!(
            at(&given, volatile).unwrap().as_str().unwrap().len(),
            at(&recorded, volatile).unwrap().as_str().unwrap().len()
        );
        given = with(given, volatile, Some(Value::Null));
        recorded = with(recorded, volatile, Some(Value::Null));
    }
    assert_eq!(write::pretty(&given), write::pretty(&recorded));
    let root = "/golden/attach-confirm/ws";
    let facts = |path: &str| case.system.arrange(|world| world.facts_of(&format!("{root}/{path}"))).unwrap();
    let stored = format!(".kdna/{}", proposal.asset().snapshot);
    for (path, mode) in [
        (".kdna", 0o700),
        (".kdna/assets", 0o700),
        (".kdna/.gitignore", 0o644),
        (".kdna/attachments.json", 0o600),
        (stored.as_str(), 0o600),
    ] {
        assert_eq!(facts(path).mode, mode, "{path}");
    }
    let ignored = case.system.arrange(|world| world.content_of(&format!("{root}/.kdna/.gitignore"))).unwrap();
    assert_eq!(Digest::of(&ignored).hex(), "d005976062bb7905ac7bbaa755a4936f47d78d28c844599d98cd115b76d29970");
    let left: Vec<String> =
        case.system.arrange(|world| world.paths()).into_iter().filter(|path| path.contains("tmp")).collect();
    assert_eq!(left, [format!("{root}/.kdna/.attachments-lock.tmp")]);
}

#[test]
fn the_same_asset_twice_gives_two_attachments_and_one_snapshot() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    let first = attach(&system, &workspace, &proposal, &asset()).unwrap();
    let second = attach(&system, &workspace, &proposal, &asset()).unwrap();
    assert_ne!(first.get("attachment_id"), second.get("attachment_id"));
    let record = Record::read(&system.arrange(|world| world.content_of(RECORD)).unwrap()).unwrap();
    let entries: Vec<&Value> =
        record.attachments().iter().map(kdna_broker::foundation::record::Attachment::entry).collect();
    assert_eq!(entries, [&first, &second]);
    assert_eq!(seen(&system).len(), 2);
}

#[test]
fn people_keep_their_own_gitignore_lines() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    system.arrange(|world| world.file("/w/.kdna/.gitignore", 0o644, b"mine\n\n/assets/\n").unwrap());
    attach(&system, &workspace, &proposal, &asset()).unwrap();
    let text = String::from_utf8(system.arrange(|world| world.content_of("/w/.kdna/.gitignore")).unwrap()).unwrap();
    assert!(text.starts_with("mine\n/assets/\n/.gitignore\n/attachments.json\n"), "{text}");
    assert_eq!(text.matches("/assets/").count(), 1);
}

/// Every call fails once. Whatever was refused left record and snapshots as they were, and no temporary.
#[test]
fn a_failure_at_any_call_changes_nothing_that_can_be_seen() {
    for former in [false, true] {
        let mut number = 0;
        loop {
            number += 1;
            let system = SimSystem::new(1);
            let (workspace, proposal) = scene(&system);
            let before = if former {
                attach(&system, &workspace, &proposal, &asset()).unwrap();
                system.arrange(|world| world.remove(&snapshot())).unwrap();
                seen(&system)
            } else {
                Vec::new()
            };
            system.clear_log();
            let failed = Arc::new(Mutex::new(None));
            let noted = Arc::clone(&failed);
            system.set_hook(move |_, event| {
                if event.number == number {
                    *noted.lock().unwrap() = Some(event.call);
                    return HookAction::Fail(Fault::Io(5));
                }
                HookAction::Proceed
            });
            let result = attach(&system, &workspace, &proposal, &asset());
            system.clear_hook();
            let Some(call) = *failed.lock().unwrap() else {
                assert!(result.is_ok());
                break;
            };
            if result.is_err() {
                assert_eq!(seen(&system), before, "call {number}: {}", call.as_str());
            } else {
                let stray = seen(&system).into_iter().filter(|(path, _)| path.contains("tmp") || path.contains("lock"));
                assert_eq!(stray.count(), 0, "call {number}: {}", call.as_str());
                assert!(Record::read(&system.arrange(|world| world.content_of(RECORD)).unwrap()).is_ok());
            }
        }
        assert!(number > 40, "{number}");
    }
}

/// Power is lost before any call: the record is the old or the new one, and what it names is there whole.
#[test]
fn a_loss_of_power_leaves_a_whole_record_and_the_snapshots_it_names() {
    let worlds = Arc::new(Mutex::new(Vec::new()));
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    attach(&system, &workspace, &proposal, &asset()).unwrap();
    let other = [asset(), b" ".to_vec()].concat();
    let second = Proposal::new(&workspace.root, Digest::of(&other), &plan(), policy(POLICY).unwrap()).unwrap();
    let kept = Arc::clone(&worlds);
    system.set_hook(move |world, _| {
        kept.lock().unwrap().extend(Crash::ALL.map(|crash| (crash, world.crash(crash))));
        HookAction::Proceed
    });
    attach(&system, &workspace, &second, &other).unwrap();
    system.clear_hook();
    let worlds = worlds.lock().unwrap();
    assert!(worlds.len() > 100);
    for (crash, after) in worlds.iter() {
        let bytes = after.arrange(|world| world.content_of(RECORD)).expect("a record");
        // What was never synced may be torn; the record is synced before it takes its name.
        let record = Record::read(&bytes).unwrap_or_else(|_| panic!("{crash:?}"));
        for attachment in record.attachments() {
            let path = format!("/w/.kdna/{}", attachment.asset.snapshot);
            let stored = after.arrange(|world| world.content_of(&path)).unwrap_or_default();
            assert_eq!(Digest::of(&stored), attachment.asset.digest, "{crash:?}");
        }
    }
    assert!(Crash::ALL.iter().any(|crash| crash.content == Content::Torn));
}

#[test]
fn another_writer_is_never_overwritten() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    let other = Record::empty().to_bytes().unwrap();
    let text = other.clone();
    system.set_hook(move |world, event| {
        if event.call == Call::CreateFile
            && event.at.contains("/.attachments-")
            && !event.at.contains("lock")
            && !event.at.contains("gitignore")
        {
            world.file(RECORD, 0o600, &text).unwrap();
        }
        HookAction::Proceed
    });
    let refusal = attach(&system, &workspace, &proposal, &asset()).unwrap_err();
    assert_eq!(refusal.reason(), Reason::RecordChanged);
    assert_eq!(seen(&system), [(RECORD.to_owned(), other)]);
}

#[test]
fn an_ignore_list_that_another_attach_replaces_while_it_is_read_is_no_obstacle() {
    const IGNORED: &str = "/w/.kdna/.gitignore";
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    system.arrange(|world| {
        world.directory("/w/.kdna", 0o700).unwrap();
        world.file(IGNORED, 0o644, b"of a person\n").unwrap();
    });
    let replaced = Arc::new(Mutex::new(0));
    let count = Arc::clone(&replaced);
    system.set_hook(move |world, event| {
        let mut replaced = count.lock().unwrap();
        if event.call == Call::Read && event.at == IGNORED && *replaced < 3 {
            *replaced += 1;
            world.file("/w/.kdna/.attachments-gitignore-1-2.tmp", 0o644, b"of a person\n/assets/\n").unwrap();
            world.rename("/w/.kdna/.attachments-gitignore-1-2.tmp", IGNORED).unwrap();
        }
        HookAction::Proceed
    });
    attach(&system, &workspace, &proposal, &asset()).unwrap();
    assert_eq!(*replaced.lock().unwrap(), 3, "each replacement happened");
    let text = String::from_utf8(system.arrange(|world| world.content_of(IGNORED)).unwrap()).unwrap();
    assert!(text.starts_with("of a person\n/assets/\n") && text.matches("/assets/").count() == 1, "{text}");
}

#[test]
fn only_the_approved_asset_is_stored_and_only_in_the_approved_directory() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    let refusal = attach(&system, &workspace, &proposal, b"other bytes").unwrap_err();
    assert_eq!(refusal.reason(), Reason::ApprovalAssetChanged);
    system.arrange(|world| {
        world.directory("/v", 0o755).unwrap();
        world.swap("/v", "/w").unwrap();
    });
    let refusal = attach(&system, &workspace, &proposal, &asset()).unwrap_err();
    assert_eq!(refusal.reason(), Reason::MutationRootChanged);
    assert!(!system.arrange(|world| world.paths()).iter().any(|path| path.contains(".kdna")));
}

#[test]
fn links_in_the_storage_are_refused_and_nothing_behind_them_is_touched() {
    type Trap = (Reason, fn(&SimSystem));
    let traps: [Trap; 6] = [
        (Reason::StorageIrregular, |system| system.arrange(|world| world.link("/w/.kdna", "/away")).unwrap()),
        (Reason::StorageIrregular, |system| system.arrange(|world| world.file("/w/.kdna", 0o600, b"")).unwrap()),
        (Reason::StorageIrregular, |system| system.arrange(|world| world.link("/w/.kdna/assets", "/away")).unwrap()),
        (Reason::GitignoreIrregular, |system| {
            system.arrange(|world| world.link("/w/.kdna/.gitignore", "/away/file")).unwrap();
        }),
        (Reason::RecordFileIrregular, |system| system.arrange(|world| world.link(RECORD, "/away/file")).unwrap()),
        (Reason::SnapshotNameTaken, |system| {
            system.arrange(|world| world.link(&snapshot(), "/away/file")).unwrap();
        }),
    ];
    for (reason, trap) in traps {
        let system = SimSystem::new(1);
        let (workspace, proposal) = scene(&system);
        system.arrange(|world| world.file("/away/file", 0o600, b"precious")).unwrap();
        trap(&system);
        assert_eq!(attach(&system, &workspace, &proposal, &asset()).unwrap_err().reason(), reason);
        assert_eq!(system.arrange(|world| world.content_of("/away/file")), Ok(b"precious".to_vec()));
        let away = system.arrange(|world| world.paths()).into_iter().filter(|path| path.starts_with("/away/"));
        assert_eq!(away.count(), 1, "{reason}");
    }
}

#[test]
fn a_snapshot_name_that_other_bytes_hold_is_refused() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    system.arrange(|world| world.file(&snapshot(), 0o600, b"damaged")).unwrap();
    let refusal = attach(&system, &workspace, &proposal, &asset()).unwrap_err();
    assert_eq!(refusal.code(), Code::SnapshotDigestMismatch);
    assert_eq!(seen(&system), [(snapshot(), b"damaged".to_vec())]);
}

#[test]
fn whoever_holds_a_lock_is_left_alone() {
    let lock = "/w/.kdna/attachments.lock";
    let live = format!(r#"{{"pid":{},"created_at":"2026-01-01T00:00:00.000Z"}}"#, std::process::id());
    for owner in [live.as_str(), "", "{}", "not json", r#"{"pid":"1"}"#, r#"{"pid":1.5}"#, r#"{"pid":0}"#] {
        let system = SimSystem::new(1);
        let (workspace, proposal) = scene(&system);
        system.arrange(|world| world.file(lock, 0o600, owner.as_bytes())).unwrap();
        let refusal = attach(&system, &workspace, &proposal, &asset()).unwrap_err();
        assert_eq!(refusal.code(), Code::WorkspaceLocked, "{owner}");
        assert_eq!(seen(&system), [(lock.to_owned(), owner.as_bytes().to_vec())]);
    }
}

#[test]
fn the_lock_of_a_process_that_is_gone_is_cleared_away() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    let dead = br#"{"pid": 4194303, "created_at": "2026-01-01T00:00:00.000Z"}"#;
    assert!(!system.process_exists(4_194_303));
    system.arrange(|world| world.file("/w/.kdna/attachments.lock", 0o644, dead)).unwrap();
    attach(&system, &workspace, &proposal, &asset()).unwrap();
    assert_eq!(seen(&system).into_iter().map(|(path, _)| path).collect::<Vec<_>>(), [RECORD.to_owned(), snapshot()]);
}

#[test]
fn a_lock_published_while_a_dead_one_is_cleared_away_stays() {
    let lock = "/w/.kdna/attachments.lock";
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    let dead = br#"{"pid": 4194303, "created_at": "2026-01-01T00:00:00.000Z"}"#;
    let live = format!(r#"{{"pid":{},"created_at":"2026-01-01T00:00:00.000Z"}}"#, std::process::id());
    system.arrange(|world| world.file(lock, 0o644, dead)).unwrap();
    let published = live.clone();
    system.set_hook(move |world, event| {
        if event.call == Call::Rename && event.at.contains("attachments.lock") {
            world.file(lock, 0o600, published.as_bytes()).unwrap();
        }
        HookAction::Proceed
    });
    let refusal = attach(&system, &workspace, &proposal, &asset()).unwrap_err();
    assert_eq!(refusal.code(), Code::WorkspaceLocked);
    assert_eq!(seen(&system), [(lock.to_owned(), live.into_bytes())]);
}

#[test]
fn a_workspace_takes_as_many_enabled_attachments_as_a_host_may_be_shown() {
    let system = SimSystem::new(1);
    let (workspace, proposal) = scene(&system);
    for _ in 0..64 {
        attach(&system, &workspace, &proposal, &asset()).unwrap();
    }
    let before = seen(&system);
    let refusal = attach(&system, &workspace, &proposal, &asset()).unwrap_err();
    assert_eq!(refusal.reason(), Reason::AttachmentLimit);
    assert_eq!(seen(&system), before);
}

#[test]
fn a_home_and_the_root_of_the_file_system_are_no_workspaces() {
    let system = SimSystem::new(1);
    scene(&system);
    system.arrange(|world| {
        world.directory("/elsewhere", 0o700).unwrap();
        world.link("/w/link", "/w").unwrap();
    });
    for (cwd, home, reason) in [
        ("/home/me", None, Reason::HomeAmbiguous),
        ("/home/me", Some("/elsewhere"), Reason::HomeAmbiguous),
        ("/elsewhere", Some("/elsewhere/"), Reason::HomeAmbiguous),
        ("/w", Some(""), Reason::HomeUnresolvable),
        ("/", None, Reason::RootAmbiguous),
        ("/w/link", None, Reason::DirectoryIrregular),
        ("/absent", None, Reason::DirectoryMissing),
    ] {
        let refusal = mutation_root(&system, cwd, home).map(|_| ()).unwrap_err();
        assert_eq!(refusal.reason(), reason, "{cwd} {home:?}");
    }
}

#[test]
fn stored_text_deceives_nobody() {
    let with_phrase = |phrase: &str| {
        let phrases = [phrase.to_owned()];
        let arguments = PolicyArguments { applies_to: &phrases, ..PolicyArguments::default() };
        AttachmentPolicy::from_arguments(&arguments, ApprovalSource::UserExplicit)
    };
    for hidden in [
        '\u{1b}',
        '\u{7f}',
        '\u{85}',
        '\u{ad}',
        '\u{61c}',
        '\u{180e}',
        '\u{200b}',
        '\u{200d}',
        '\u{202e}',
        '\u{2066}',
        '\u{3164}',
        '\u{e0041}',
    ] {
        let refusal = with_phrase(&format!("review{hidden} code")).unwrap_err();
        assert_eq!(refusal.reason(), Reason::PhraseDeceptive, "{hidden:?}");
        assert!(!refusal.message().contains(hidden));
    }
    for plain in ["Cafe\u{301} check", "审查 代码", "🧯\u{fe0f} fire", "don’t \"quote\"", "a\tb\r\nc\u{3000}d"]
    {
        assert!(with_phrase(plain).is_ok(), "{plain:?}");
    }
    assert_eq!(with_phrase("a\tb\r\nc\u{3000}d").unwrap().scope().applies_to, ["a b c d"]);
}

#[test]
fn a_policy_is_bounded_and_of_one_meaning() {
    let long_role = format!(r#"{{"role":"{}","applies_to":["x"],"does_not_apply_to":[]}}"#, "r".repeat(513));
    let many: Vec<String> = (0..257).map(|n| format!("\"p{n}\"")).collect();
    let many = format!(r#"{{"role":"r","applies_to":[{}],"does_not_apply_to":[]}}"#, many.join(","));
    for (text, reason) in [
        (long_role.as_str(), Reason::RoleUnbounded),
        (r#"{"role":"   ","applies_to":["x"],"does_not_apply_to":[]}"#, Reason::RoleUnbounded),
        (many.as_str(), Reason::PhraseTooMany),
        (r#"{"role":"r","applies_to":[1],"does_not_apply_to":[]}"#, Reason::PhraseNotText),
        (r#"{"role":"r","applies_to":["x"],"does_not_apply_to":[null]}"#, Reason::PhraseNotText),
        (r#"{"role":"r","role":"s","applies_to":["x"],"does_not_apply_to":[]}"#, Reason::InputUnreadable),
        (r#"{"role":null,"applies_to":["x"],"does_not_apply_to":[]}"#, Reason::InputUnreadable),
        (r#"{"role":"r","applies_to":["x"],"does_not_apply_to":[],"scope_mode":null}"#, Reason::InputUnreadable),
        (
            r#"{"role":"r","applies_to":["x"],"does_not_apply_to":[],"matching_policy":"all_workspace"}"#,
            Reason::InputUnreadable,
        ),
        ("[]", Reason::InputUnreadable),
    ] {
        assert_eq!(policy(text.as_bytes()).unwrap_err().reason(), reason, "{text}");
    }
    assert!(policy(&[b"\xef\xbb\xbf", POLICY].concat()).is_ok());
    let both = PolicyArguments { all_workspace: true, closed_world: true, ..PolicyArguments::default() };
    let refusal = AttachmentPolicy::from_arguments(&both, ApprovalSource::UserExplicit).unwrap_err();
    assert_eq!(refusal.message(), "--all-workspace and --closed-world-scope are mutually exclusive.");
}
