//! Hardened mode asks or refuses where the contract would load, and never the other way round.
#![cfg(feature = "runtime")]
#![allow(dead_code, reason = "the shared scene holds more than this file uses")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/broker.rs"]
mod scene;

use kdna_broker::broker::{Broker, Operations, Settings, Task};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::foundation::resolution::{Decision, ReasonCode, Resolution};
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::resolver::{ResolveRequest, Selection, TaskSource, resolve};
use kdna_broker::runtime::{PlanInput, plan};
use kdna_broker::system::sim::{SimSystem, World};
use kdna_broker::system::{Cancel, Observe};
use scene::{ASSET, RECORD_PATH, ROOT, TASK, delivered, load, snapshot_path};

/// One attachment: phrases for, phrases against, policy.
type Entry<'a> = (&'a [&'a str], &'a [&'a str], &'a str);

/// What stands for the asset: small, because it is digested for each decision.
const BYTES: &[u8] = b"asset";

fn stored() -> String {
    format!("{ROOT}/.kdna/assets/sha256-{}.kdna", Digest::of(BYTES).hex())
}

/// A record whose attachments all name the one asset.
fn record(entries: &[Entry<'_>]) -> Vec<u8> {
    let list = |phrases: &[&str]| Value::Array(phrases.iter().map(|phrase| Value::copied(phrase)).collect());
    let hex = Digest::of(BYTES).hex();
    let rows = entries.iter().enumerate().map(|(number, (applies, excludes, policy))| {
        let application = if *policy == "all_workspace" { "all_workspace" } else { "task_hints" };
        format!(
            r#"{{"attachment_id":"{}","asset":{{"id":"kdna:golden:review","version":"1.0.0","digest":"sha256:{hex}","snapshot":"assets/sha256-{hex}.kdna"}},"state":"enabled","role":"role {number}","scope":{{"kind":"workspace","application":"{application}","matching_policy":"{policy}","authority":"user_approved_routing_hint","approval_source":"user_explicit","applies_to":{},"does_not_apply_to":{}}},"resolution_policy":"load_when_clear_ask_when_ambiguous","update_policy":"explicit_switch_only","approved_at":"2026-06-01T09:00:00.000Z","history":[]}}"#,
            id(number),
            write::compact(&list(applies)).unwrap(),
            write::compact(&list(excludes)).unwrap()
        )
    });
    let rows: Vec<String> = rows.collect();
    format!(
        r#"{{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{{"root_marker":".kdna/attachments.json"}},"attachments":[{}]}}"#,
        rows.join(",")
    )
    .into_bytes()
}

fn id(number: usize) -> String {
    format!("att_{number:024}")
}

fn workspace(record: &[u8]) -> SimSystem {
    let system = SimSystem::new(1);
    system.arrange(|world| {
        world.file(RECORD_PATH, 0o600, record).unwrap();
        world.file(&stored(), 0o600, BYTES).unwrap();
    });
    system
}

fn answer(system: &SimSystem, task: &str, selection: Option<Selection>, hardened: bool) -> Value {
    let request = ResolveRequest {
        workspace: RelativePath::default(),
        display_root: ".".to_owned(),
        absolute_root: ROOT.to_owned(),
        task: task.as_bytes(),
        task_source: TaskSource::Stdin,
        selection,
        defer_password: false,
        hardened,
    };
    system.clear_log();
    let root = system.open_directory(&AbsolutePath::parse(ROOT).unwrap()).unwrap();
    let inspector = |_: &[u8]| Ok(review_plan());
    resolve(system, &root, &request, &inspector).unwrap()
}

fn decide(system: &SimSystem, task: &str, selection: Option<Selection>, hardened: bool) -> Resolution {
    Resolution::check(answer(system, task, selection, hardened), false).expect("the contract")
}

/// The plan of the one asset, made once.
fn review_plan() -> Value {
    thread_local!(static PLAN: Value = plan(ASSET, &PlanInput::default()).unwrap());
    PLAN.with(Clone::clone)
}

/// Checks that hardened mode says no more than the contract; gives the two decisions for counting.
fn compare(system: &SimSystem, task: &str, selecting: bool) -> (Decision, Decision) {
    let (plain, hardened) = (answer(system, task, None, false), answer(system, task, None, true));
    let word = |document: &Value, key: &str| document.get(key).and_then(Value::as_str).unwrap().to_owned();
    let decision = |document: &Value| Decision::parse(&word(document, "decision")).unwrap();
    let pair = (decision(&plain), decision(&hardened));
    if pair.0 == Decision::Load && hardened != plain {
        assert!(matches!(pair.1, Decision::Ask | Decision::Block), "{task:?}");
        assert!(pair.1 == Decision::Block || word(&hardened, "reason_code") == "ambiguous_scope", "{task:?}");
    } else {
        assert_eq!(hardened, plain, "{task:?}");
    }
    if selecting {
        let check = |document| Resolution::check(document, false).expect("the contract");
        never_more_by_selection(system, task, &check(plain), &check(hardened));
    }
    pair
}

/// What can be had in hardened mode by selecting can be had without it, by selecting or at once.
fn never_more_by_selection(system: &SimSystem, task: &str, plain: &Resolution, hardened: &Resolution) {
    for candidate in hardened.candidates() {
        for plan in [None, hardened.selection_plan().map(|plan| plan.plan_digest)] {
            let selection = Selection {
                attachment_id: candidate.attachment_id.clone(),
                task_digest: Digest::of(task.as_bytes()),
                plan_digest: plan,
            };
            let chosen = decide(system, task, Some(selection.clone()), true);
            if chosen.decision() != Decision::Load {
                continue;
            }
            let at_once = plain.selected().map(|selected| &selected.attachment_id) == Some(&candidate.attachment_id);
            let selected = || decide(system, task, Some(selection), false).decision() == Decision::Load;
            assert!(plan.is_some() && (at_once || selected()), "{task:?} {}", candidate.attachment_id);
        }
    }
}

const CLOSED: &str = "closed_world_skip";
const OPEN: &str = "open_world_ask";

const ENTRIES: &[&[Entry<'static>]] = &[
    &[(&["draft article", "写文章"], &["code review", "代码审查"], CLOSED)],
    &[(&["draft", "コードレビュー"], &["poetry"], OPEN), (&["code review", "审查代码"], &["draft article"], CLOSED)],
    &[(&[], &["poetry", "写诗"], "all_workspace")],
    &[(&["코드 리뷰", "general help"], &["与口播脚本发布无关的任务"], CLOSED), (&["no mercy", "c++"], &[], CLOSED)],
];

/// The task texts of the contract's vectors.
const VECTORS: &[&str] = &[
    "draft article",
    "no draft",
    "Draft-Article!",
    "not a b c d e draft",
    "redraft it",
    "not a b c d e f draft",
    "drifting",
    "draft a b c d e quote",
    "drafts",
    "draft a b c d e f quote",
    "draf",
    "draft;but;fast",
    "dra",
    "butter draft",
    "a b",
    "don't draft",
    "code",
    "n't draft",
    "go now",
    "cannot draft",
    "please help",
    "'draft' it",
    "work on general help",
    "the draft's x",
    "step 10 now",
    "`draft` it",
    "step 1000 now",
    "x10000",
    "ﬁle upload",
    "école",
    "Straße",
    "write c code",
    "写文章",
    "写文",
    "请写 文章",
    "不要写文章",
    "不要马上写文章",
    "是否写文章",
    "写文章但快",
    "「写文章」",
    "写诗",
    "一二",
    "审代码",
    "审查代码",
    "口播脚本发布",
    "与口播脚本发布无关",
    "ｶﾞｲﾄﾞ",
    "코드 리뷰",
    "C言語 review",
    "이 코드를 리뷰해줘",
    "不要判断这条口播脚本值不值得发布。",
    "写文章，之后不要写文章",
    "draft article (the good one), never",
];

const WORDS: &[&str] = &[
    "draft",
    "article",
    "draft article",
    "code review",
    "review",
    "poetry",
    "general",
    "help",
    "not",
    "no",
    "never",
    "cannot",
    "don't",
    "don’t",
    "without",
    "but",
    "but,",
    "only",
    "instead",
    "a",
    "b",
    "c",
    "explain",
    "\"draft\"",
    "写文章",
    "不要",
    "别",
    "审查代码",
    "代码审查",
    "写诗",
    "コードレビュー",
    "しないで",
    "코드 리뷰",
    "하지 마세요",
    "。",
    ",",
    ";",
    "(",
    ")",
    "nicht",
    "sans",
    "please",
    "the",
    "🚫",
    "\u{200b}",
    "no\u{200b}t",
    "att_000000000000000000000000",
    "att_000000000000000000000001",
    "mercy",
    "c++",
    "与口播脚本发布无关",
    "任务",
    "DRAFT",
    "drafts",
    "\n",
    "isn't",
];

/// A small generator of our own: the same tasks on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % u64::try_from(bound).unwrap()).unwrap()
    }

    fn task(&mut self) -> String {
        let words: Vec<&str> = (0..=self.below(7)).map(|_| WORDS[self.below(WORDS.len())]).collect();
        words.join(if self.below(4) == 0 { "" } else { " " })
    }
}

const TASKS: usize = 20_000;

/// Compares every vector, and this record's share of the random tasks.
fn compare_all(entries: &[Entry<'_>], seed: u64) -> Vec<(Decision, Decision)> {
    let system = workspace(&record(entries));
    let mut random = Random(seed);
    let share = TASKS / ENTRIES.len();
    let tasks = std::iter::repeat_with(|| random.task()).filter(|task| !task.trim().is_empty()).take(share);
    let vectors = VECTORS.iter().map(|task| compare(&system, task, true));
    vectors.chain(tasks.enumerate().map(|(number, task)| compare(&system, &task, number % 10 == 0))).collect()
}

#[test]
fn hardened_mode_never_loads_what_the_contract_does_not() {
    use Decision::{Ask, Load, Skip};
    let pairs: Vec<(Decision, Decision)> = std::thread::scope(|scope| {
        let each = (2026..).zip(ENTRIES).map(|(seed, entries)| scope.spawn(move || compare_all(entries, seed)));
        each.collect::<Vec<_>>().into_iter().flat_map(|thread| thread.join().expect("no difference")).collect()
    });
    assert!(pairs.len() >= TASKS);
    let seen = |plain, hardened| pairs.iter().filter(|pair| **pair == (plain, hardened)).count();
    let counts = [seen(Load, Load), seen(Load, Ask), seen(Ask, Ask), seen(Skip, Skip)];
    assert!(counts.iter().all(|count| *count > 300), "too few of a kind to mean anything: {counts:?}");
}

#[test]
fn a_denial_that_the_contract_overlooks_asks() {
    let system = workspace(&record(&[(&["draft article", "写文章"], &[], CLOSED), (&["코드 리뷰"], &[], CLOSED)]));
    for task in [
        "cannot draft article",
        "n't draft article",
        "draft article a b c d e f, never",
        "never a b c d e f draft article",
        "draft article now, then don't draft article",
        "draft article; I'd rather you didn't",
        "draft article, but, well",
        "bitte nicht draft article",
        "draft article 不要",
        "不要马上写文章",
        "写文章，之后不要写文章",
        "写文章。别写",
        "코드 리뷰 하지 마세요",
        "🚫 draft article",
        "n\u{200b}ot a b c d e f g draft article",
    ] {
        assert_eq!(compare(&system, task, true), (Decision::Load, Decision::Ask), "{task:?}");
    }
    for task in ["draft article", "请写 文章", "이 코드를 리뷰해줘"] {
        assert_eq!(compare(&system, task, true), (Decision::Load, Decision::Load), "{task:?}");
    }
}

#[test]
fn a_question_that_hardened_mode_asks_can_be_answered() {
    let system = workspace(&record(&[(&["draft article"], &[], CLOSED)]));
    let task = "draft article, cannot wait";
    let asked = decide(&system, task, None, true);
    let selection = Selection {
        attachment_id: id(0),
        task_digest: Digest::of(task.as_bytes()),
        plan_digest: asked.selection_plan().map(|plan| plan.plan_digest),
    };
    assert_eq!(decide(&system, task, Some(selection), true).reason(), ReasonCode::ExplicitTaskAttachmentSelection);
}

#[test]
fn a_selection_never_overrides_an_exclusion() {
    let select = |task: &str, plan| Selection {
        attachment_id: id(0),
        task_digest: Digest::of(task.as_bytes()),
        plan_digest: plan,
    };
    // Certainly outside: the contract loads when the task names the attachment, even to forbid it.
    let system = workspace(&record(&[(&["poetry"], &["draft article"], CLOSED)]));
    let task = format!("draft article, do NOT use {}", id(0));
    let plain = decide(&system, &task, None, false);
    assert_eq!(plain.reason(), ReasonCode::AmbiguousScope, "'do not' makes the exclusion itself uncertain");
    let task = format!("draft article a b c d e f g, by all means {}", id(0));
    assert_eq!(decide(&system, &task, None, true).reason(), ReasonCode::ExplicitlyOutsideScope);
    assert_eq!(decide(&system, &task, Some(select(&task, None)), false).decision(), Decision::Load, "the control");
    for plan in [None, Some(Digest::of(b"any"))] {
        let blocked = decide(&system, &task, Some(select(&task, plan)), true);
        assert_eq!(blocked.reason(), ReasonCode::SelectionReceiptRequired);
        assert!(blocked.selected().is_none());
    }
    // Both for and against: the person may not be talked into the excluded one.
    let system = workspace(&record(&[(&["draft article"], &["code review"], CLOSED)]));
    let task = "draft article and code review";
    let plan = decide(&system, task, None, true).selection_plan().map(|plan| plan.plan_digest);
    assert_eq!(decide(&system, task, Some(select(task, plan)), false).decision(), Decision::Load, "the control");
    let blocked = decide(&system, task, Some(select(task, plan)), true);
    assert_eq!(blocked.reason(), ReasonCode::SelectionNotCurrentCandidate);
}

#[test]
fn a_selection_always_needs_its_plan() {
    for (task, policy) in [(format!("bake bread with {}", id(0)), OPEN), ("draft article".to_owned(), OPEN)] {
        let system = workspace(&record(&[(&["draft article"], &[], policy)]));
        let selection = Selection { attachment_id: id(0), task_digest: Digest::of(task.as_bytes()), plan_digest: None };
        assert_eq!(decide(&system, &task, Some(selection.clone()), false).decision(), Decision::Load, "{task}");
        let blocked = decide(&system, &task, Some(selection), true);
        assert_eq!(blocked.reason(), ReasonCode::SelectionReceiptRequired, "{task}");
    }
}

/// What is wrong with the files, what the resolver then says, and what the server refuses with.
type Exposure = (&'static str, fn(&mut World), ReasonCode, Reason);

const EXPOSURES: &[Exposure] = &[
    ("record of another user", |world| world.set_owner(RECORD_PATH, 0).unwrap(), BAD_RECORD, Reason::RecordNotOwn),
    ("record for the group", |world| world.set_mode(RECORD_PATH, 0o620).unwrap(), BAD_RECORD, Reason::RecordNotOwn),
    ("record for all", |world| world.set_mode(RECORD_PATH, 0o602).unwrap(), BAD_RECORD, Reason::RecordNotOwn),
    (".kdna of another user", |world| world.set_owner(KDNA, 1001).unwrap(), BAD_RECORD, Reason::RecordNotOwn),
    (".kdna for the group", |world| world.set_mode(KDNA, 0o770).unwrap(), BAD_RECORD, Reason::RecordNotOwn),
    (".kdna for all, sticky", |world| world.set_mode(KDNA, 0o1777).unwrap(), BAD_RECORD, Reason::RecordNotOwn),
    ("assets of another user", |world| world.set_owner(ASSETS, 0).unwrap(), BAD_ASSET, Reason::SnapshotNotOwn),
    ("assets for the group", |world| world.set_mode(ASSETS, 0o720).unwrap(), BAD_ASSET, Reason::SnapshotNotOwn),
    (
        "snapshot of another user",
        |world| each_snapshot(world, |world, path| world.set_owner(path, 0).unwrap()),
        BAD_ASSET,
        Reason::SnapshotNotOwn,
    ),
    (
        "snapshot for all",
        |world| each_snapshot(world, |world, path| world.set_mode(path, 0o606).unwrap()),
        BAD_ASSET,
        Reason::SnapshotNotOwn,
    ),
];

fn each_snapshot(world: &mut World, change: fn(&mut World, &str)) {
    let paths = [stored(), snapshot_path()];
    let there = paths.iter().filter(|path| world.facts_of(path).is_ok()).cloned().collect::<Vec<_>>();
    assert!(!there.is_empty());
    for path in &there {
        change(world, path);
    }
}

const KDNA: &str = "/w/app/.kdna";
const ASSETS: &str = "/w/app/.kdna/assets";
const BAD_RECORD: ReasonCode = ReasonCode::AttachmentSchemaUnsupported;
const BAD_ASSET: ReasonCode = ReasonCode::AssetInvalid;

#[test]
fn files_that_others_own_or_may_write_are_not_believed() {
    for (name, expose, reason, _) in EXPOSURES {
        let system = workspace(&record(&[(&["draft article"], &[], CLOSED)]));
        assert_eq!(decide(&system, "draft article", None, true).decision(), Decision::Load, "{name}: the control");
        system.arrange(expose);
        let blocked = decide(&system, "draft article", None, true);
        assert_eq!((blocked.reason(), blocked.selected()), (*reason, None), "{name}");
        assert_eq!(decide(&system, "draft article", None, false).decision(), Decision::Load, "{name}: not hardened");
    }
    let system = workspace(&record(&[(&["draft article"], &[], CLOSED)]));
    system.arrange(|world| [RECORD_PATH, &stored()].map(|path| world.set_mode(path, 0o644).unwrap()));
    assert_eq!(decide(&system, "draft article", None, true).decision(), Decision::Load, "others may read");
}

#[test]
fn the_hardened_server_refuses_them_too_and_delivers_nothing() {
    let hardened = || Settings { hardened: true, ..scene::settings() };
    let control = scene::system();
    let broker = Broker::start(control.clone(), hardened(), Delegate::embedded()).unwrap();
    assert!(delivered(&load(&broker)), "the control");
    for (name, expose, reason, refused) in EXPOSURES {
        let system = scene::system();
        let broker = Broker::start(system.clone(), hardened(), Delegate::embedded()).unwrap();
        system.arrange(expose);
        let outcome = load(&broker);
        assert!(!delivered(&outcome), "{name}");
        if *refused == Reason::RecordNotOwn {
            assert_eq!(outcome.unwrap_err().reason(), *refused, "{name}");
            let status = broker.status(ROOT, &Cancel::new()).unwrap_err();
            assert_eq!(status.reason(), *refused, "{name}: status");
        } else {
            assert!(outcome.unwrap().contains(reason.as_str()), "{name}: the resolver blocks it first");
        }
        assert!(delivered(&load(&scene::broker(&system, Delegate::embedded(), None))), "{name}: not hardened");
    }
}

/// The resolver has looked, and then the file is opened to others: the server looks for itself.
#[test]
fn the_hardened_server_does_not_leave_it_to_the_resolver() {
    use kdna_broker::system::sim::{Call, HookAction};
    for (name, expose, _, refused) in EXPOSURES {
        let system = scene::system();
        let settings = Settings { hardened: true, ..scene::settings() };
        let broker = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
        let (expose, mut runs, mut done) = (*expose, 0, false);
        system.set_hook(move |world, event| {
            runs += usize::from(event.call == Call::Run);
            if runs == 1 && !event.in_child && !matches!(event.call, Call::Run | Call::StandBy) && !done {
                done = true;
                expose(world);
            }
            HookAction::Proceed
        });
        let outcome = load(&broker).map_err(|refusal| refusal.reason());
        let expected = if *refused == Reason::RecordNotOwn { Reason::RecordChanged } else { *refused };
        assert_eq!(outcome, Err(expected), "{name}");
    }
}

#[test]
fn the_hardened_server_asks_where_the_plain_one_loads() {
    let settings = Settings { hardened: true, ..scene::settings() };
    let task = Task::Text(format!("{TASK}, I cannot wait"));
    let decision = |broker: &Broker<SimSystem>| {
        let answer = broker.resolve(ROOT, &task, None, &Cancel::new()).unwrap();
        answer.document.get("decision").and_then(Value::as_str).unwrap().to_owned()
    };
    let system = scene::system();
    assert_eq!(decision(&scene::broker(&system, Delegate::embedded(), None)), "load");
    assert_eq!(decision(&Broker::start(system, settings, Delegate::embedded()).unwrap()), "ask");
}
