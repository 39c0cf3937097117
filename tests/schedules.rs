//! Random schedules over the simulated system: any call may fail, be short or slow, or be preceded by a change or a
//! cancellation; the runtime may hang, flood, babble, die or lie. Whatever happens, nothing is delivered that was not
//! consented to, and what was there before stays whole.
//!
//! Each schedule follows from its seed. `KDNA_SCHEDULES` says how many are tried (1000), `KDNA_SCHEDULE_SEED` where they
//! begin (1); a failure prints what replays it.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "support/broker.rs"]
mod support;

#[path = "schedules/draw.rs"]
mod draw;

use draw::{Change, Draw, Event, Happening, Schedule, Tool, Trouble};
use kdna_broker::broker::checks::Checks;
use kdna_broker::broker::{Answer, Broker, Operations, Profile, Task};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::{read_strict, write};
use kdna_broker::foundation::refusal::{Code, Reason, Refusal, Stage};
use kdna_broker::foundation::value::Value;
use kdna_broker::journal::verify;
use kdna_broker::system::sim::{Call, CallEvent, HookAction, SimOrder, SimSystem, World};
use kdna_broker::system::{Cancel, ChildFault, ChildReport};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use support::*;

const JOURNAL: &str = "/state/journal/journal-000001.jsonl";

/// What was seen of one schedule.
#[derive(Default)]
struct Seen {
    /// What happened, by the number of the call before which it did.
    fired: Vec<(u64, Happening)>,
    /// The consent, as it lay there when the broker last opened it: its digest, if it was private.
    consent: Option<Digest>,
    truncate_failed: bool,
    random_failed: bool,
}

type Shared = Arc<Mutex<Seen>>;

/// The tally of all schedules.
#[derive(Default)]
struct Tally {
    delivered: usize,
    refused: usize,
    quiet: usize,
    suppressed: usize,
    fired: BTreeMap<String, usize>,
    codes: BTreeMap<&'static str, usize>,
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect(name))
}

#[test]
fn no_schedule_delivers_what_was_not_consented_to() {
    let first = from_environment("KDNA_SCHEDULE_SEED", 1);
    let count = from_environment("KDNA_SCHEDULES", 1000);
    println!("{count} schedules from seed {first}");
    let tally = Mutex::new(Tally::default());
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = u64::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap();
                    if number >= count {
                        return;
                    }
                    let seed = first.wrapping_add(number);
                    if catch_unwind(AssertUnwindSafe(|| run(seed, &tally))).is_err() {
                        failures.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    let replay: Vec<String> =
        failures.iter().map(|seed| format!("KDNA_SCHEDULE_SEED={seed} KDNA_SCHEDULES=1")).collect();
    assert!(failures.is_empty(), "{} failed; replay: {}", failures.len(), replay.join("; "));
    if count >= 1000 {
        tried_enough(&tally.into_inner().unwrap(), count);
    }
}

/// The schedules must have met what they are for.
fn tried_enough(tally: &Tally, count: u64) {
    let count = usize::try_from(count).unwrap();
    println!("{} delivered, {} refused, {} suppressed changes", tally.delivered, tally.refused, tally.suppressed);
    println!("{:?}", tally.fired);
    println!("{:?}", tally.codes);
    let changes: usize =
        tally.fired.iter().filter(|(name, _)| name.starts_with("change")).map(|(_, times)| *times).sum();
    assert!(changes * 5 > count, "only {changes} changes fired");
    assert!(tally.suppressed * 20 > count, "only {} changes fell into their window", tally.suppressed);
    assert!(tally.quiet * 20 > count, "only {} controls", tally.quiet);
    assert!(tally.delivered > tally.quiet, "troubles that do no harm must deliver too");
    for change in Change::ALL {
        assert!(tally.fired.contains_key(&format!("change {change:?}")), "{change:?} never fired");
    }
    for kind in ["fail", "short", "slow", "cancel", "hang", "flood", "garbage", "death", "lie", "exit"] {
        assert!(tally.fired.contains_key(kind), "{kind} never fired");
    }
    assert!(tally.codes.len() >= 8, "only these refusals: {:?}", tally.codes);
}

/// One schedule, from its seed alone.
fn run(seed: u64, tally: &Mutex<Tally>) {
    let schedule = Schedule::draw(&mut Draw::new(seed));
    let system = system();
    let before = documents(&system);
    let (outcome, seen) = perform(&schedule, &system, None);
    judge(&schedule, &system, &outcome, &seen, tally);
    intact(&system, &before, &seen);
    if seed.is_multiple_of(4) {
        goes_on(&system, &schedule, &seen);
    }
}

/// Leaves out one check: a broker that has lost it.
struct Without(Stage);

impl Checks for Without {
    fn judge(&self, stage: Stage, verdict: Result<(), Refusal>) -> Result<(), Refusal> {
        if stage == self.0 { Ok(()) } else { verdict }
    }
}

fn perform(schedule: &Schedule, system: &SimSystem, lost: Option<Stage>) -> (Result<String, Refusal>, Seen) {
    let (seen, cancel) = (Shared::default(), Cancel::new());
    arrange_runtime(system, schedule);
    if schedule.from_start {
        system.set_hook(hook(schedule, &seen, &cancel));
    }
    let outcome = match Broker::start(system.clone(), settings(), (schedule.shape)()) {
        Ok(broker) => {
            if !schedule.from_start {
                system.clear_log();
                system.set_hook(hook(schedule, &seen, &cancel));
            }
            let broker = match lost {
                Some(stage) => broker.with_checks(Box::new(Without(stage))),
                None => broker,
            };
            ask(&broker, schedule.tool, &cancel)
        }
        Err(refusal) if schedule.from_start => Err(refusal),
        Err(refusal) => panic!("it did not start: {refusal:?}"),
    };
    system.clear_hook();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

fn hook(
    schedule: &Schedule,
    seen: &Shared,
    cancel: &Cancel,
) -> impl FnMut(&mut World, &CallEvent) -> HookAction + Send + 'static {
    let (events, seen, cancel) = (schedule.events.clone(), Arc::clone(seen), cancel.clone());
    move |world, event| {
        let mut seen = seen.lock().unwrap();
        let mut action = HookAction::Proceed;
        for Event { at, happening } in events.iter().filter(|planned| planned.at == event.number) {
            match happening {
                Happening::Fail(fault) => action = HookAction::Fail(*fault),
                Happening::Short(bytes) => action = HookAction::Short(*bytes),
                Happening::Slow(time) => world.advance(*time),
                Happening::Cancel => cancel.set(),
                Happening::Change(change) => {
                    if change.apply(world).is_err() {
                        continue; // what it would change is gone already
                    }
                }
            }
            seen.fired.push((*at, *happening));
        }
        if action != HookAction::Proceed {
            seen.truncate_failed |= event.call == Call::Truncate;
            seen.random_failed |= event.call == Call::Random;
        }
        if event.at == CONSENT_PATH && event.call == Call::OpenFileIn {
            seen.consent = private_consent(world);
        }
        action
    }
}

/// What the broker would find now: the consent's digest, if the file is the person's alone. (Its directory has been looked
/// at by then, and has a window of its own.)
fn private_consent(world: &World) -> Option<Digest> {
    let file = world.facts_of(CONSENT_PATH).ok()?;
    let bytes = world.content_of(CONSENT_PATH).ok()?;
    (file.mode == 0o600 && file.links == 1).then(|| Digest::of(&bytes))
}

/// The runtime: honest but for the trouble drawn for one of its runs.
fn arrange_runtime(system: &SimSystem, schedule: &Schedule) {
    let trouble = schedule.trouble;
    let runs = AtomicUsize::new(0);
    system.set_script(move |system, order| {
        let run = runs.fetch_add(1, Ordering::SeqCst);
        match trouble {
            Some((at, trouble)) if at == run => troubled(system, order, trouble),
            _ => script(system, order),
        }
    });
}

fn troubled(system: &SimSystem, order: &SimOrder<'_>, trouble: Trouble) -> Result<ChildReport, ChildFault> {
    let report = script(system, order)?;
    let lied = |text: Vec<u8>| {
        let (honest, other) = (Digest::of(ASSET).to_string(), Digest::of(OTHER_ASSET).to_string());
        String::from_utf8(text).unwrap().replace(&honest, &other).into_bytes()
    };
    match trouble {
        Trouble::Hang => {
            system.advance(order.deadline + Duration::from_secs(1));
            Ok(report)
        }
        Trouble::Flood => Ok(ChildReport { output: vec![b' '; order.output_limit + 1], ..report }),
        Trouble::Garbage => Ok(ChildReport { output: b"{\"type\":\"kdna.runtime-capsule\"".to_vec(), ..report }),
        Trouble::Death => Err(ChildFault::Signal(11)),
        Trouble::Lie => Ok(ChildReport { output: lied(report.output), ..report }),
        Trouble::Exit(exit) => Ok(ChildReport { exit, ..report }),
    }
}

fn ask(broker: &Broker<SimSystem>, tool: Tool, cancel: &Cancel) -> Result<String, Refusal> {
    let task = Task::Text(TASK.into());
    let text = |answer: &Answer| Ok(write::compact(&answer.document).unwrap().into_bytes());
    let message = match tool {
        Tool::Status => text(&broker.status(ROOT, cancel)?)?,
        Tool::Resolve => text(&broker.resolve(ROOT, &task, None, cancel)?)?,
        Tool::Load => broker.load(ROOT, &task, None, Profile::Compact, &text, cancel)?,
    };
    Ok(String::from_utf8(message).unwrap())
}

/// What may come out of a schedule.
fn judge(
    schedule: &Schedule,
    system: &SimSystem,
    outcome: &Result<String, Refusal>,
    seen: &Seen,
    tally: &Mutex<Tally>,
) {
    let log = system.log();
    // A change within its window: after its coordinate was first acquired, before it was looked at for the last time.
    let within = seen.fired.iter().any(|(at, happening)| match happening {
        Happening::Change(change) => {
            let touched = touching(&log, change.coordinate());
            touched.first().is_some_and(|first| first + 4 <= *at) && touched.last().is_some_and(|last| at <= last)
        }
        // A cancellation counts until the last look of all has ended.
        Happening::Cancel => touching(&log, "consent").last().is_some_and(|last| at <= last),
        _ => false,
    });
    if delivered(outcome) {
        assert_eq!(schedule.tool, Tool::Load, "only a load delivers");
        assert!(!within, "delivered although {:?} happened meanwhile", seen.fired);
        of_the_consented(outcome.as_ref().unwrap(), seen);
        assert!(recorded(system), "a delivery that is in no journal");
    }
    if let Err(refusal) = outcome {
        assert!(Code::ALL.contains(&refusal.code()));
        assert!(refusal.reason() != Reason::Internal || seen.random_failed, "an internal error: {:?}", seen.fired);
    }
    if schedule.is_quiet() {
        assert!(outcome.is_ok(), "the control was refused: {outcome:?}");
        assert_eq!(delivered(outcome), schedule.tool == Tool::Load, "the control");
    }
    let mut tally = tally.lock().unwrap();
    tally.delivered += usize::from(delivered(outcome));
    tally.refused += usize::from(outcome.is_err());
    tally.quiet += usize::from(schedule.is_quiet() && schedule.tool == Tool::Load);
    tally.suppressed += usize::from(within);
    if let Err(refusal) = outcome {
        *tally.codes.entry(refusal.code().as_str()).or_default() += 1;
    }
    for (_, happening) in &seen.fired {
        *tally.fired.entry(happening.name()).or_default() += 1;
    }
    if let Some((_, trouble)) = schedule.trouble.filter(|(at, _)| *at < system.calls(Call::Run)) {
        *tally.fired.entry(trouble.name().to_owned()).or_default() += 1;
    }
}

/// The Capsule is of the consented asset, and the consent that it names is the one that lay there at the last look.
fn of_the_consented(message: &str, seen: &Seen) {
    let document = read_strict(message.as_bytes(), 90).unwrap();
    let text = |path: &[&str]| path.iter().try_fold(&document, |value, key| value.get(key)).and_then(Value::as_str);
    let asset = Digest::of(ASSET).to_string();
    assert_eq!(text(&["runtime_capsule", "digests", "asset", "value"]), Some(asset.as_str()));
    assert_eq!(text(&["host_processing", "asset_digest"]), Some(asset.as_str()));
    let consent = seen.consent.unwrap_or_else(|| panic!("no private consent at the last look: {:?}", seen.fired));
    let consent = consent.to_string();
    assert_eq!(text(&["host_processing", "consent_digest"]), Some(consent.as_str()));
}

fn journal(system: &SimSystem) -> Vec<u8> {
    system.arrange(|world| world.content_of(JOURNAL)).unwrap_or_default()
}

fn recorded(system: &SimSystem) -> bool {
    String::from_utf8(journal(system)).unwrap().contains(r#""event":"delivered""#)
}

/// The calls that take hold of a coordinate.
fn touching(log: &[CallEvent], coordinate: &str) -> Vec<u64> {
    let about = |event: &&CallEvent| match coordinate {
        "root" => event.at == ROOT && event.call == Call::OpenDirectory,
        "record" => event.at.ends_with("attachments.json") && event.call == Call::OpenFileBeneath && !event.in_child,
        "snapshot" => event.at.contains("sha256-") && event.call == Call::OpenFileBeneath && !event.in_child,
        "consent" => event.at.ends_with("consent.json") && event.call == Call::OpenFileIn,
        _ => event.at == "/private" && event.call == Call::Look,
    };
    log.iter().filter(about).map(|event| event.number).collect()
}

fn documents(system: &SimSystem) -> Vec<Vec<u8>> {
    let paths = [RECORD_PATH.to_owned(), snapshot_path(), CONSENT_PATH.to_owned()];
    system.arrange(|world| paths.iter().map(|path| world.content_of(path).unwrap_or_default()).collect())
}

/// What nobody changed is as it was, and every row of the journal stands.
fn intact(system: &SimSystem, before: &[Vec<u8>], seen: &Seen) {
    let changed = seen.fired.iter().any(|(_, happening)| matches!(happening, Happening::Change(_)));
    if !changed {
        assert_eq!(documents(system), before, "a document was changed");
    }
    let stray = system.arrange(|world| world.paths()).into_iter().find(|path| path.contains(".tmp"));
    assert_eq!(stray, None, "a temporary file is left");
    // A row that could be neither written whole nor taken back is torn, and stays so.
    let verified = verify(&journal(system));
    assert!(verified.is_ok() || seen.truncate_failed, "{verified:?} after {:?}", seen.fired);
}

/// Afterwards, without any trouble: no lock is held, and a load that nothing was changed for delivers.
fn goes_on(system: &SimSystem, schedule: &Schedule, seen: &Seen) {
    if seen.fired.iter().any(|(_, happening)| matches!(happening, Happening::Change(_))) {
        return;
    }
    system.set_script(script);
    let broker = Broker::start(system.clone(), settings(), (schedule.shape)()).unwrap();
    let outcome = ask(&broker, Tool::Load, &Cancel::new());
    assert!(delivered(&outcome), "afterwards, behind a torn row too: {outcome:?}");
}

/// The same seed is the same schedule: otherwise nothing could be replayed.
#[test]
fn a_schedule_follows_from_its_seed() {
    for seed in 0..200 {
        let [one, other] = [seed, seed].map(|seed| format!("{:?}", Schedule::draw(&mut Draw::new(seed))));
        assert_eq!(one, other);
        let next = format!("{:?}", Schedule::draw(&mut Draw::new(seed + 1)));
        assert!(one != next || one.contains("events: []"), "seed {seed} and the next are the same");
    }
}

/// A broker that has lost one of its last checks is caught by what is judged here.
#[test]
fn a_lost_check_is_noticed() {
    let lost = [
        (Stage::RootAgain, Change::RootMoved),
        (Stage::BindingAgain, Change::RecordRewritten),
        (Stage::SnapshotAgain, Change::SnapshotReplaced),
        (Stage::ConsentAgain, Change::ConsentRevoked),
    ];
    for (stage, change) in lost {
        let control = system();
        let quiet = Schedule { events: Vec::new(), ..loading() };
        assert!(delivered(&perform(&quiet, &control, None).0), "the control");
        // Between the last two looks at the coordinate, when the runtime has ended.
        let last = *touching(&control.log(), change.coordinate()).last().unwrap();
        let schedule = Schedule { events: vec![Event { at: last, happening: Happening::Change(change) }], ..loading() };
        let judged = |lost: Option<Stage>| {
            let system = system();
            let (outcome, seen) = perform(&schedule, &system, lost);
            assert_eq!(seen.fired.len(), 1, "{change:?} did not fire");
            catch_unwind(AssertUnwindSafe(|| judge(&schedule, &system, &outcome, &seen, &Mutex::default()))).is_ok()
        };
        assert!(judged(None), "{stage} holds");
        assert!(!judged(Some(stage)), "nobody noticed that {stage} was lost");
    }
}

fn loading() -> Schedule {
    Schedule { tool: Tool::Load, shape: Delegate::embedded, from_start: false, events: Vec::new(), trouble: None }
}
