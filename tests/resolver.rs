//! One task, one decision: the resolver says what the recorded replies say, follows the ten rules, and looks at no more
//! than it needs.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "a test that cannot be arranged must stop, and says why"
)]
#![cfg(feature = "runtime")]

mod support;

use kdna_broker::capability::workspace::{locate, nearest_record};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::foundation::resolution::{Decision, ReasonCode, Resolution};
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::resolver::{NotAnAsset, ResolveRequest, Selection, TaskSource, resolve};
use kdna_broker::system::Observe;
use kdna_broker::system::sim::{Call, CallEvent, HookAction, SimSystem};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::documents::{at, parse, server_output};
use support::simulated::{Recorded, recorded_ids, recorded_plan};

fn plan(bytes: &[u8]) -> Result<Value, NotAnAsset> {
    recorded_plan(bytes).ok_or(NotAnAsset)
}

fn request(task: &[u8]) -> ResolveRequest<'_> {
    ResolveRequest {
        workspace: RelativePath::default(),
        display_root: ".".to_owned(),
        absolute_root: "/w".to_owned(),
        task,
        task_source: TaskSource::Stdin,
        selection: None,
        defer_password: false,
        hardened: false,
    }
}

/// What `kdna resolve` would print for a recorded case.
fn command(case: &Recorded) -> String {
    let cwd = case.option("--cwd").expect("--cwd");
    let boundary = case.option("--workspace-root");
    let Some(found) = locate(&case.system, cwd, boundary, Some(&case.home)).expect("a search") else {
        return write::pretty(Resolution::no_record().document()).unwrap();
    };
    let file = case.option("--task-file").map(|path| case.system.arrange(|world| world.content_of(path)).unwrap());
    let request = ResolveRequest {
        display_root: found.display.clone(),
        absolute_root: found.root.as_str().to_owned(),
        task_source: if file.is_some() { TaskSource::File } else { TaskSource::Stdin },
        defer_password: case.has("--defer-password-authorization"),
        ..request(file.as_deref().unwrap_or(&case.stdin))
    };
    let request = ResolveRequest { selection: chosen_by(case), ..request };
    match resolve(&case.system, &found.directory, &request, &plan) {
        Ok(document) => write::pretty(&document).unwrap(),
        Err(refusal) => {
            assert_eq!(refusal.reason(), Reason::TaskRefused);
            format!("Error: {}\n", refusal.message())
        }
    }
}

/// The selection of a recorded case, if it makes one.
fn chosen_by(case: &Recorded) -> Option<Selection> {
    let digest = |name: &str| case.option(name).map(|text| Digest::parse(text).expect("a digest"));
    Some(Selection {
        attachment_id: case.option("--select-attachment")?.to_owned(),
        task_digest: digest("--selection-task-digest")?,
        plan_digest: digest("--selection-plan-digest"),
    })
}

/// What the server would answer to `kdna.workspace-resolve` for a recorded case.
fn server(case: &Recorded) -> Value {
    let call = parse(&case.stdin).expect("one call");
    let argument = |name: &str| at(&call, &format!("/params/arguments/{name}")).and_then(Value::as_str).unwrap();
    let root = case.open("ws");
    let cwd = AbsolutePath::parse(argument("cwd")).unwrap();
    let start = cwd.below(&AbsolutePath::parse(&format!("/golden/{}/ws", case.id)).unwrap()).unwrap();
    let Some(found) = nearest_record(&case.system, &root, &start).expect("a search") else {
        return Resolution::no_record().document().clone();
    };
    let deferred = case.environment.get("KDNA_MCP_AUTHORIZATION_FILE").is_some();
    let request = ResolveRequest {
        absolute_root: format!("/golden/{}/ws", case.id),
        workspace: found.workspace,
        defer_password: deferred,
        ..request(argument("task").as_bytes())
    };
    let document = resolve(&case.system, &root, &request, &plan).expect("a document");
    match Resolution::check(document, deferred) {
        Ok(resolution) => resolution.document().clone(),
        Err(refusal) => Value::object([(
            "error",
            Value::object(
                [("code", refusal.code().as_str()), ("message", refusal.message())]
                    .map(|(key, text)| (key, Value::copied(text))),
            ),
        )]),
    }
}

#[test]
fn the_command_says_byte_for_byte_what_was_recorded() {
    let ids = recorded_ids("resolve-");
    for id in &ids {
        let case = Recorded::named(id);
        let recorded = if case.stdout.is_empty() { case.stderr.clone().into_bytes() } else { case.stdout.clone() };
        assert_eq!(command(&case), String::from_utf8(recorded).unwrap(), "{id}");
    }
    assert!(ids.len() >= 48, "{}", ids.len());
}

#[test]
fn the_server_says_what_was_recorded() {
    let ids = recorded_ids("mcp-resolve-");
    for id in &ids {
        let case = Recorded::named(id);
        let recorded = server_output(&case.stdout);
        let expected = at(&recorded, "/0/result/content/0/text").expect("a reply");
        assert_eq!(write::pretty(&server(&case)), write::pretty(expected), "{id}");
    }
    assert!(ids.len() >= 7, "{}", ids.len());
}

#[test]
fn an_ask_is_bound_to_task_record_candidates_and_place() {
    let case = Recorded::named("mcp-load-ask");
    let answer = server(&case);
    let bound = answer.get("selection_plan").unwrap();
    for (key, digest) in [
        ("task_digest", "sha256:785446271a55ee99857b3722923fe2d00bf8122cdfca29f0d7cda6fc174eb460"),
        ("record_digest", "sha256:6de51472c73762c780e1d03c4d40445c22169ce15f8e1f239bed33b5e6789c9a"),
        ("candidate_set_digest", "sha256:1c3960a879a45750bdf67889828c15572ce25a583932e7b608ddd5bf15b8ac43"),
        ("plan_digest", "sha256:bb51040aa68d18f09f1a72f1a2503aedc2ca77233c38b62d2eed529e81d52b73"),
    ] {
        assert_eq!(bound.get(key).and_then(Value::as_str), Some(digest), "{key}");
    }
    let elsewhere = ResolveRequest { absolute_root: "/elsewhere".to_owned(), ..request(b"bake bread") };
    let other = resolve(&case.system, &case.open("ws"), &elsewhere, &plan).unwrap();
    assert_eq!(at(&other, "/selection_plan/task_digest"), bound.get("task_digest"));
    assert_ne!(at(&other, "/selection_plan/plan_digest"), bound.get("plan_digest"));
}

/// An attachment of a made-up asset whose bytes are its role.
struct Entry {
    role: &'static str,
    applies: &'static [&'static str],
    excludes: &'static [&'static str],
    policy: &'static str,
}

const fn open(role: &'static str, applies: &'static [&'static str], excludes: &'static [&'static str]) -> Entry {
    Entry { role, applies, excludes, policy: "open_world_ask" }
}

const fn closed(role: &'static str, applies: &'static [&'static str], excludes: &'static [&'static str]) -> Entry {
    Entry { role, applies, excludes, policy: "closed_world_skip" }
}

fn list(items: &[&str]) -> String {
    format!("[{}]", items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(","))
}

/// Each entry's asset is other bytes: its number and role.
fn asset(number: usize, entry: &Entry) -> Vec<u8> {
    format!("{number} {}", entry.role).into_bytes()
}

fn workspace(entries: &[Entry]) -> SimSystem {
    let system = SimSystem::new(1);
    let mut rows = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let hex = Digest::of(&asset(number, entry)).hex();
        let application = if entry.policy == "all_workspace" { "all_workspace" } else { "task_hints" };
        rows.push(format!(
            r#"{{"attachment_id":"att_{number:024}","asset":{{"id":"made:up","version":"1.0.0","digest":"sha256:{hex}","snapshot":"assets/sha256-{hex}.kdna"}},"state":"enabled","role":"{}","scope":{{"kind":"workspace","application":"{application}","matching_policy":"{}","authority":"user_approved_routing_hint","approval_source":"user_explicit","applies_to":{},"does_not_apply_to":{}}},"resolution_policy":"load_when_clear_ask_when_ambiguous","update_policy":"explicit_switch_only","approved_at":"2026-06-01T09:00:00.000Z","history":[]}}"#,
            entry.role, entry.policy, list(entry.applies), list(entry.excludes)
        ));
        let path = format!("/w/.kdna/assets/sha256-{hex}.kdna");
        system.arrange(|world| world.file(&path, 0o600, &asset(number, entry))).unwrap();
    }
    let record = format!(
        r#"{{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{{"root_marker":".kdna/attachments.json"}},"attachments":[{}]}}"#,
        rows.join(",")
    );
    system.arrange(|world| world.file("/w/.kdna/attachments.json", 0o600, record.as_bytes())).unwrap();
    system
}

/// A plan for any bytes: loadable, unless they end in `locked`.
fn made_up_plan(bytes: &[u8]) -> Result<Value, NotAnAsset> {
    let text =
        String::from_utf8(Recorded::named("plan-review").stdout).unwrap().replace("kdna:golden:review", "made:up");
    if !bytes.ends_with(b"locked") {
        return parse(text.as_bytes()).ok_or(NotAnAsset);
    }
    let issue = r#"[{"code":"KDNA_AUTH_PASSWORD_REQUIRED","severity":"blocking","message":"A password is required."}]"#;
    let locked = [
        ("\"access\": \"public\"", "\"access\": \"licensed\""),
        ("\"ready\"", "\"needs_password\""),
        ("\"load\"", "\"enter_password\""),
        ("\"can_load_now\": true", "\"can_load_now\": false"),
        ("\"minimal\"", "\"none\""),
        ("\"issues\": []", &format!("\"issues\": {issue}")),
    ];
    let text = locked.iter().fold(text, |text, (from, to)| text.replace(from, to));
    parse(text.as_bytes()).ok_or(NotAnAsset)
}

fn decide(system: &SimSystem, request: &ResolveRequest<'_>) -> Resolution {
    let root = system.open_directory(&AbsolutePath::parse("/w").unwrap()).unwrap();
    let document = resolve(system, &root, request, &made_up_plan).unwrap();
    Resolution::check(document, request.defer_password).expect("a resolution that follows the contract")
}

fn roles(resolution: &Resolution) -> Vec<&str> {
    resolution.candidates().iter().map(|candidate| candidate.role.as_str()).collect()
}

fn snapshot_opens(system: &SimSystem) -> usize {
    let is_snapshot = |event: &&kdna_broker::system::sim::CallEvent| {
        event.call == Call::OpenFileBeneath && event.at.contains("/assets/")
    };
    system.log().iter().filter(is_snapshot).count()
}

/// Rule, attachments, task, reason, roles in order, snapshots opened.
#[test]
fn each_rule_decides_what_it_says_lists_in_its_order_and_opens_only_what_it_lists() {
    type Row = (u8, Vec<Entry>, &'static str, ReasonCode, &'static [&'static str], usize);
    let rows: Vec<Row> = vec![
        (
            1,
            vec![
                closed("unmatched", &["poetry"], &[]),
                open("certainly out", &["poetry"], &["draft article"]),
                open("open", &["poetry"], &[]),
                open("uncertain", &["articles"], &[]),
                open("certain", &["draft article"], &[]),
            ],
            "draft article",
            ReasonCode::AmbiguousScope,
            &["open", "uncertain", "certain"],
            3,
        ),
        (
            2,
            vec![
                open("open", &["poetry"], &[]),
                open("positive", &["draft article"], &[]),
                open("both", &["draft article"], &["code review"]),
                open("out", &["poetry"], &["code review"]),
            ],
            "draft article and code review",
            ReasonCode::AmbiguousScope,
            &["both", "positive", "open"],
            3,
        ),
        (
            3,
            vec![
                open("open", &["poetry"], &[]),
                closed("Same  Role", &["poetry"], &["draft article"]),
                open("same role", &["draft article"], &[]),
            ],
            "draft article",
            ReasonCode::AttachmentConflict,
            &["same role", "Same  Role", "open"],
            3,
        ),
        (
            3,
            vec![closed("one", &["draft article"], &[]), closed("two", &["draft article"], &[])],
            "draft article",
            ReasonCode::AttachmentConflict,
            &["one", "two"],
            2,
        ),
        (
            4,
            vec![open("open", &["poetry"], &[]), open("positive", &["draft article"], &[])],
            "draft article",
            ReasonCode::ApplicabilityUnresolved,
            &["positive", "open"],
            2,
        ),
        (
            5,
            vec![
                closed("unmatched", &["poetry"], &[]),
                open("positive", &["draft article"], &[]),
                closed("out", &["poetry"], &["draft article"]),
            ],
            "draft article",
            ReasonCode::SingleApprovedAttachmentClearlyApplies,
            &["positive"],
            1,
        ),
        (
            5,
            vec![Entry { role: "all", applies: &[], excludes: &["poetry"], policy: "all_workspace" }],
            "bake bread",
            ReasonCode::SingleApprovedAttachmentClearlyApplies,
            &["all"],
            1,
        ),
        (
            6,
            vec![
                closed("out", &["poetry"], &["bake bread"]),
                open("open", &["poetry"], &[]),
                closed("unmatched", &["poetry"], &[]),
            ],
            "bake bread",
            ReasonCode::ApplicabilityUnresolved,
            &["open"],
            1,
        ),
        (
            7,
            vec![Entry { role: "all", applies: &[], excludes: &["bake bread"], policy: "all_workspace" }],
            "bake bread",
            ReasonCode::ExplicitlyOutsideScope,
            &["all"],
            0,
        ),
        (
            8,
            vec![closed("unmatched", &["poetry"], &[])],
            "bake bread",
            ReasonCode::ClosedWorldNoMatch,
            &["unmatched"],
            0,
        ),
        (
            9,
            vec![closed("unmatched", &["poetry"], &[]), closed("out", &["poetry"], &["bake bread"])],
            "bake bread",
            ReasonCode::NoApplicableAttachment,
            &["out", "unmatched"],
            0,
        ),
    ];
    for (rule, entries, task, reason, expected, opened) in rows {
        let system = workspace(&entries);
        let resolution = decide(&system, &request(task.as_bytes()));
        assert_eq!(resolution.reason(), reason, "rule {rule}");
        assert_eq!(roles(&resolution), expected, "rule {rule}");
        assert_eq!(snapshot_opens(&system), opened, "rule {rule}");
        assert_eq!(resolution.selection_plan().is_some(), reason.decision() == Decision::Ask, "rule {rule}");
    }
}

#[test]
fn phrases_in_scripts_without_spaces_decide_like_any_other() {
    use ReasonCode as R;
    let rows: [(Entry, &str, ReasonCode); 6] = [
        (closed("r", &["写文章"], &[]), "请写 文章", R::SingleApprovedAttachmentClearlyApplies),
        (closed("r", &["写文章"], &[]), "不要写文章", R::AmbiguousScope),
        (closed("r", &["写文章"], &[]), "bake bread", R::ClosedWorldNoMatch),
        (closed("r", &["bake bread"], &["写文章"]), "写文章", R::ExplicitlyOutsideScope),
        (closed("r", &["コードレビュー"], &[]), "コードレビューをお願い", R::SingleApprovedAttachmentClearlyApplies),
        (open("r", &["코드 리뷰"], &[]), "bake bread", R::ApplicabilityUnresolved),
    ];
    for (entry, task, reason) in rows {
        let system = workspace(&[entry]);
        assert_eq!(decide(&system, &request(task.as_bytes())).reason(), reason, "{task}");
    }
}

/// What is said, and what was done to the snapshot at a path.
type Damage = (ReasonCode, fn(&SimSystem, &str));

#[test]
fn the_first_snapshot_that_fails_blocks_and_is_the_only_candidate() {
    let entries = [open("first", &["draft article"], &[]), open("second", &["draft article"], &[])];
    let paths = entries
        .iter()
        .enumerate()
        .map(|(number, entry)| format!("/w/.kdna/assets/sha256-{}.kdna", Digest::of(&asset(number, entry)).hex()));
    let [_, second]: [String; 2] = paths.collect::<Vec<_>>().try_into().unwrap();
    let damages: [Damage; 4] = [
        (ReasonCode::SnapshotMissing, |system, path| system.arrange(|world| world.remove(path)).unwrap()),
        (ReasonCode::SnapshotDigestMismatch, |system, path| {
            system.arrange(|world| world.set_content(path, b"other")).unwrap();
        }),
        (ReasonCode::AssetInvalid, |system, path| system.arrange(|world| world.link(path, "elsewhere")).unwrap()),
        (ReasonCode::AssetInvalid, |system, path| system.arrange(|world| world.fifo(path, 0o600)).unwrap()),
    ];
    for (reason, damage) in damages {
        let system = workspace(&entries);
        damage(&system, &second);
        let resolution = decide(&system, &request(b"draft article"));
        assert_eq!((resolution.reason(), roles(&resolution)), (reason, vec!["second"]));
        assert_eq!(resolution.document().get("selected"), Some(&Value::Null));
    }
}

#[test]
fn a_missing_password_blocks_a_load_unless_it_was_deferred() {
    let system = workspace(&[open("locked", &["draft article"], &[])]);
    let blocked = decide(&system, &request(b"draft article"));
    assert_eq!(blocked.reason(), ReasonCode::AuthorizationRequired);
    assert!(blocked.selected().is_none());
    let deferred = decide(&system, &ResolveRequest { defer_password: true, ..request(b"draft article") });
    assert_eq!(deferred.decision(), Decision::Load);
    assert!(Resolution::check(deferred.document().clone(), false).is_err());
    let shown = deferred.authorized();
    for pointer in ["/authorization", "/selected/authorization", "/candidates/0/authorization"] {
        assert_eq!(at(&shown, pointer).and_then(Value::as_str), Some("satisfied"), "{pointer}");
    }
}

/// A selection of the first candidate of what is asked now.
fn first_of(system: &SimSystem, task: &[u8]) -> Selection {
    let asked = decide(system, &request(task));
    let plan = asked.selection_plan().expect("an ask");
    Selection {
        attachment_id: asked.candidates()[0].attachment_id.clone(),
        task_digest: plan.task_digest,
        plan_digest: Some(plan.plan_digest),
    }
}

#[test]
fn a_record_that_changes_while_a_selection_is_looked_at_blocks_it() {
    let entries = || [open("one", &["draft article"], &[]), open("two", &["draft article"], &[])];
    let record = |system: &SimSystem| system.arrange(|world| world.content_of("/w/.kdna/attachments.json")).unwrap();
    let is_record = |event: &CallEvent| event.call == Call::OpenFileBeneath && event.at.ends_with("attachments.json");
    for change in [false, true] {
        let system = workspace(&entries());
        let selection = first_of(&system, b"draft article");
        let changed = [record(&system), b"\n".to_vec()].concat();
        let (opens, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counter, changes) = (opens.clone(), seen.clone());
        system.set_hook(move |world, event| {
            if is_record(event) && counter.fetch_add(1, Ordering::SeqCst) == 1 && change {
                changes.fetch_add(1, Ordering::SeqCst);
                world.set_content("/w/.kdna/attachments.json", &changed).unwrap();
            }
            HookAction::Proceed
        });
        let chosen = decide(&system, &ResolveRequest { selection: Some(selection), ..request(b"draft article") });
        let expected =
            if change { ReasonCode::SelectionBindingChanged } else { ReasonCode::ExplicitTaskAttachmentSelection };
        assert_eq!((chosen.reason(), chosen.selected().is_some()), (expected, !change));
        assert_eq!((opens.load(Ordering::SeqCst), seen.load(Ordering::SeqCst)), (2, usize::from(change)));
    }
}

#[test]
fn a_selection_is_blocked_by_what_its_own_snapshot_or_password_lacks() {
    let entries = [open("locked", &["draft article"], &[]), open("two", &["draft article"], &[])];
    let system = workspace(&entries);
    let selection = first_of(&system, b"draft article");
    let with = |defer_password| ResolveRequest {
        selection: Some(selection.clone()),
        defer_password,
        ..request(b"draft article")
    };
    let blocked = decide(&system, &with(false));
    assert_eq!((blocked.reason(), roles(&blocked)), (ReasonCode::AuthorizationRequired, vec!["locked"]));
    assert_eq!(decide(&system, &with(true)).reason(), ReasonCode::ExplicitTaskAttachmentSelection);
    // What a skip lists was never verified: the selection of a named attachment verifies it.
    let task = format!("bake bread att_{:024}", 0);
    let system = workspace(&[closed("one", &["draft article"], &[])]);
    let named = Selection {
        attachment_id: format!("att_{:024}", 0),
        task_digest: Digest::of(task.as_bytes()),
        plan_digest: None,
    };
    let request = ResolveRequest { selection: Some(named), ..request(task.as_bytes()) };
    assert_eq!(decide(&system, &request).reason(), ReasonCode::ExplicitTaskAttachmentSelection);
    let path = format!("/w/.kdna/assets/sha256-{}.kdna", Digest::of(b"0 one").hex());
    system.arrange(|world| world.remove(&path)).unwrap();
    let blocked = decide(&system, &request);
    assert_eq!((blocked.reason(), roles(&blocked)), (ReasonCode::SnapshotMissing, vec!["one"]));
}

#[test]
fn only_a_name_that_stands_for_itself_names_an_attachment() {
    let system = workspace(&[open("one", &["draft article"], &[])]);
    let id = format!("att_{:024}", 0);
    for (task, named) in [
        (format!("bake {id}"), true),
        (format!("({id})"), true),
        (format!("bake\u{200b}{id}-now"), true),
        (format!("bake {id}0"), false),
        (format!("写{id}"), false),
        (format!("_{id}"), false),
        (format!("bake {}", id.to_uppercase()), false),
        (format!("x{id} and {id}"), true),
    ] {
        let selection =
            Selection { attachment_id: id.clone(), task_digest: Digest::of(task.as_bytes()), plan_digest: None };
        let chosen = decide(&system, &ResolveRequest { selection: Some(selection), ..request(task.as_bytes()) });
        let expected =
            if named { ReasonCode::ExplicitTaskAttachmentSelection } else { ReasonCode::SelectionReceiptRequired };
        assert_eq!(chosen.reason(), expected, "{task:?}");
    }
}

#[test]
fn a_record_that_cannot_be_used_blocks_without_candidates() {
    let damages: [fn(&SimSystem); 4] = [
        |system| system.arrange(|world| world.remove("/w/.kdna/attachments.json")).unwrap(),
        |system| system.arrange(|world| world.set_content("/w/.kdna/attachments.json", b"{}")).unwrap(),
        |system| system.arrange(|world| world.link("/w/.kdna/attachments.json", "x")).unwrap(),
        |system| {
            let large = vec![b' '; 1_048_577];
            system.arrange(|world| world.set_content("/w/.kdna/attachments.json", &large)).unwrap();
        },
    ];
    for damage in damages {
        let system = workspace(&[open("one", &["draft article"], &[])]);
        damage(&system);
        let resolution = decide(&system, &request(b"draft article"));
        assert_eq!(resolution.reason(), ReasonCode::AttachmentSchemaUnsupported);
        assert!(resolution.candidates().is_empty());
        assert_eq!(snapshot_opens(&system), 0);
    }
}

#[test]
fn attachments_that_share_a_snapshot_share_its_one_reading() {
    let system = SimSystem::new(1);
    let case = Recorded::named("mcp-resolve-load");
    let entry = case.system.arrange(|world| world.content_of("/golden/mcp-resolve-load/ws/.kdna/attachments.json"));
    let record = parse(&entry.unwrap()).unwrap();
    let one = write::compact(at(&record, "/attachments/0").unwrap()).unwrap();
    let many: Vec<String> =
        (1..=64).map(|number| one.replace("att_000000000000000000000001", &format!("att_{number:024}"))).collect();
    let text = write::compact(&record).unwrap().replace(&one, &many.join(","));
    let snapshot = at(&record, "/attachments/0/asset/snapshot").and_then(Value::as_str).unwrap();
    let asset = case.system.arrange(|world| world.content_of(&format!("/golden/mcp-resolve-load/ws/.kdna/{snapshot}")));
    system.arrange(|world| {
        world.file("/w/.kdna/attachments.json", 0o600, text.as_bytes()).unwrap();
        world.file(&format!("/w/.kdna/{snapshot}"), 0o600, &asset.unwrap()).unwrap();
    });
    let root = system.open_directory(&AbsolutePath::parse("/w").unwrap()).unwrap();
    let document = resolve(&system, &root, &request(b"review the pull request"), &plan).unwrap();
    let resolution = Resolution::check(document, false).unwrap();
    assert_eq!((resolution.reason(), resolution.candidates().len()), (ReasonCode::AttachmentConflict, 64));
    assert_eq!(snapshot_opens(&system), 1);
}
