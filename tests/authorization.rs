//! The password file: bound by facts, opened only when the plan asks for it, read only if it is still the one that was
//! bound, handed to the runtime's standard input and nowhere else.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "support/protect.rs"]
mod protect;
#[path = "support/broker.rs"]
mod support;

use kdna_broker::broker::checks::Checks;
use kdna_broker::broker::{Answer, Broker, Operations, Profile, Settings, Task};
use kdna_broker::delegate::Delegate;
use kdna_broker::delegate::contract::Request;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::refusal::{Code, Reason, Refusal, Stage};
use kdna_broker::system::sim::{Call, CallEvent, HookAction, SimSystem, World};
use kdna_broker::system::{Cancel, Fault};
use std::sync::{Arc, Mutex};
use support::{CONSENT_PATH, RECORD_PATH, ROOT, TASK, consent_for, delivered, script, settings, system};

/// The record of the recorded load of a protected asset; the asset here is another one, cheap to open.
const RECORDED: &str = include_str!("../fixtures/golden/cases/mcp-load-locked/files/ws/.kdna/attachments.json");
const PASSWORD: &str = "caf\u{e9} canary-7f3d";
const FILE: &str = "/secret/word";

/// Something that another program does to the machine.
type Change = fn(&mut World);

fn locked_asset() -> Vec<u8> {
    protect::asset(
        &protect::envelope(&protect::judgment().bytes(), Some((8, 1, 1))).bytes(),
        "kdna.encryption.password",
    )
}

fn locked_record() -> Vec<u8> {
    let recorded = "2539910af69228455d97aa8688ff13cd3d1d8f8f96fb997faf2ac3889c57424e";
    let digest = Digest::of(&locked_asset()).hex();
    RECORDED.replace(recorded, &digest).replace("kdna:golden:review-locked", protect::ASSET_ID).into_bytes()
}

/// A workspace with a protected asset, a consent for it, and a private password file.
fn locked() -> SimSystem {
    let system = system();
    system.arrange(|world| {
        world.file(RECORD_PATH, 0o600, &locked_record()).unwrap();
        let snapshot = format!("{ROOT}/.kdna/assets/sha256-{}.kdna", Digest::of(&locked_asset()).hex());
        world.file(&snapshot, 0o600, &locked_asset()).unwrap();
        world.set_content(CONSENT_PATH, &consent_for(&locked_record(), 'a', Profile::Compact)).unwrap();
        place_password(world);
    });
    system
}

fn place_password(world: &mut World) {
    world.directory("/secret", 0o755).unwrap();
    world.file(FILE, 0o600, format!("{PASSWORD}\n").as_bytes()).unwrap();
}

/// Says where a load has come to, and lets the world change as one stage begins.
struct Steps(SimSystem, Option<(Stage, Change)>, Arc<Mutex<usize>>);

impl Checks for Steps {
    fn entering(&self, stage: Stage) {
        self.0.set_step(stage.as_str());
        if let Some((_, change)) = self.1.filter(|(at, _)| *at == stage) {
            self.0.arrange(change);
            *self.2.lock().unwrap() += 1;
        }
    }
}

struct Ran {
    outcome: Result<String, Refusal>,
    fired: usize,
}

impl Ran {
    #[track_caller]
    fn refused(&self, reason: Reason, stage: Stage, why: &str) {
        assert!(!delivered(&self.outcome), "{why}");
        let refusal = self.outcome.as_ref().expect_err(why);
        assert_eq!((refusal.reason(), refusal.stage()), (reason, stage), "{why}");
        assert!(!format!("{refusal:?}{refusal}").contains(PASSWORD), "{why}");
    }
}

fn run(system: &SimSystem, file: Option<&str>, at: Option<(Stage, Change)>) -> Ran {
    let fired = Arc::new(Mutex::new(0));
    let steps = Steps(system.clone(), at, fired.clone());
    let settings = Settings { authorization_file: file.map(str::to_owned), ..settings() };
    let broker = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
    let broker = broker.with_checks(Box::new(steps));
    let outcome = support::load(&broker);
    let fired = *fired.lock().unwrap();
    Ran { outcome, fired }
}

fn load(system: &SimSystem) -> Ran {
    run(system, Some(FILE), None)
}

/// Everything that was done about the password file or its directory.
fn touched(system: &SimSystem) -> Vec<CallEvent> {
    system.log().into_iter().filter(|event| event.at.starts_with("/secret")).collect()
}

#[test]
fn the_password_delivers_and_is_opened_once_and_only_in_its_stage() {
    let system = locked();
    let ran = load(&system);
    assert!(delivered(&ran.outcome), "{:?}", ran.outcome);
    let document: serde_json::Value = serde_json::from_str(&ran.outcome.unwrap()).unwrap();
    assert_eq!(document["resolution"]["authorization"], "satisfied");
    assert_eq!(document["resolution"]["selected"]["authorization"], "satisfied");
    assert_eq!(document["load_plan"]["state"], "needs_password", "the plan stays what it was before");
    assert_eq!(document["load_plan"]["input_fingerprint"]["has_password_input"], false);
    assert_eq!(document["runtime_capsule"]["access"], "licensed");
    assert!(document.to_string().contains(protect::HIDDEN));
    assert_eq!(system.opens(FILE), 1);
    let stages: Vec<String> =
        touched(&system).into_iter().filter(|event| event.call != Call::Look).map(|event| event.step).collect();
    assert!(!stages.is_empty() && stages.iter().all(|step| step == Stage::Authorization.as_str()), "{stages:?}");
    assert!(touched(&system).iter().all(|event| !event.in_child), "the runtime sees no path of it");
}

#[test]
fn the_password_is_in_the_runtimes_input_and_nowhere_else() {
    let system = locked();
    let inputs = Arc::new(Mutex::new(Vec::new()));
    let seen = inputs.clone();
    system.set_script(move |system, order| {
        let holds = |bytes: &[u8]| bytes.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
        assert!(!holds(order.request), "no request names it");
        let request = Request::read(order.request).unwrap();
        seen.lock().unwrap().push((request.command(), order.input == PASSWORD.as_bytes(), holds(order.input)));
        let report = script(system, order)?;
        assert!(!holds(&report.output) && !holds(&report.errors));
        Ok(report)
    });
    let ran = load(&system);
    assert!(delivered(&ran.outcome) && !ran.outcome.unwrap().contains(PASSWORD));
    let expected = [("resolve", false, false), ("plan-load", false, false), ("load", true, true)];
    assert_eq!(*inputs.lock().unwrap(), expected);
    // Nothing in the whole world holds it, but the file itself.
    assert_eq!(holders(&system, PASSWORD), [FILE]);
}

/// The files of the whole world that hold a text.
fn holders(system: &SimSystem, text: &str) -> Vec<String> {
    system.arrange(|world| {
        let holds = |path: &String| {
            let content = world.content_of(path).unwrap_or_default();
            content.windows(text.len()).any(|part| part == text.as_bytes())
        };
        world.paths().into_iter().filter(holds).collect()
    })
}

#[test]
fn a_wrong_password_delivers_nothing_and_is_told_from_nothing_else() {
    let decomposed = PASSWORD.replace('\u{e9}', "e\u{301}");
    let others = ["\r", "\n\n", " ", "\0"].map(|end| format!("{PASSWORD}{end}"));
    let others =
        others.into_iter().chain([decomposed, format!(" {PASSWORD}"), PASSWORD.to_uppercase(), "x".to_owned()]);
    for wrong in others {
        let system = locked();
        system.arrange(|world| world.set_content(FILE, wrong.as_bytes())).unwrap();
        let ran = load(&system);
        ran.refused(Reason::PasswordRejected, Stage::Load, &format!("{wrong:?}"));
        assert_eq!(ran.outcome.unwrap_err().code(), Code::AuthorizationRejected);
    }
}

#[test]
fn every_written_form_of_the_password_that_an_editor_leaves_opens() {
    for form in [PASSWORD.to_owned(), format!("{PASSWORD}\r\n"), format!("\u{feff}{PASSWORD}\n")] {
        let system = locked();
        system.arrange(|world| world.set_content(FILE, form.as_bytes())).unwrap();
        assert!(delivered(&load(&system).outcome), "{form:?}");
    }
}

/// Files that the rule refuses by their facts alone.
const REFUSED: [(&str, Change, &str); 18] = [
    ("readable by the group", |world| world.set_mode(FILE, 0o640).unwrap(), FILE),
    ("readable by others", |world| world.set_mode(FILE, 0o604).unwrap(), FILE),
    ("executable", |world| world.set_mode(FILE, 0o700).unwrap(), FILE),
    ("another user's", |world| world.set_owner(FILE, 4711).unwrap(), FILE),
    ("root's", |world| world.set_owner(FILE, 0).unwrap(), FILE),
    ("a link to it", |world| world.link("/secret/link", FILE).unwrap(), "/secret/link"),
    ("below a link", |world| world.link("/way", "/secret").unwrap(), "/way/word"),
    ("a second name of it", |world| world.hard_link(FILE, "/secret/other").unwrap(), FILE),
    ("a FIFO", |world| world.fifo(FILE, 0o600).unwrap(), FILE),
    ("a directory", |world| world.directory("/secret/folder", 0o600).unwrap(), "/secret/folder"),
    ("missing", |world| world.remove(FILE).unwrap(), FILE),
    ("empty", |world| world.set_content(FILE, b"").unwrap(), FILE),
    ("too large", |world| world.set_content(FILE, &[b'a'; 16_387]).unwrap(), FILE),
    ("below a directory that others write", |world| world.set_mode("/secret", 0o777).unwrap(), FILE),
    ("below another user's directory", |world| world.set_owner("/secret", 4711).unwrap(), FILE),
    ("inside the workspace", |world| world.file("/w/app/word", 0o600, PASSWORD.as_bytes()).unwrap(), "/w/app/word"),
    ("a relative path", |_| (), "secret/word"),
    ("a path that is not normal", |_| (), "/secret/../secret/word"),
];

#[test]
fn a_file_that_is_not_private_is_refused_without_being_opened() {
    for (why, change, path) in REFUSED {
        let system = locked();
        system.arrange(change);
        run(&system, Some(path), None).refused(Reason::AuthorizationFileInvalid, Stage::AuthorizationSource, why);
        assert_eq!(system.opens(path) + system.opens(FILE), 0, "{why}: opened");
        assert_eq!(system.opens(CONSENT_PATH), 0, "{why}: refused before consent is looked at");
    }
}

#[test]
fn a_private_file_may_lie_where_others_may_look_but_not_write() {
    let scenes: [(&str, Change); 3] = [
        ("read-only", |world| world.set_mode(FILE, 0o400).unwrap()),
        ("in a directory that all may read", |world| world.set_mode("/secret", 0o755).unwrap()),
        ("in a directory that is sticky", |world| world.set_mode("/secret", 0o1777).unwrap()),
    ];
    for (why, change) in scenes {
        let system = locked();
        system.arrange(change);
        assert!(delivered(&load(&system).outcome), "{why}");
    }
}

#[test]
fn bytes_that_are_no_password_are_refused_after_one_reading() {
    let large = "CANARY".repeat(2_731);
    let contents =
        ["\n".as_bytes(), b"\r\n", "\u{feff}".as_bytes(), b"CANARY\xff\xfe", b"CANARY\xed\xa0\x80", large.as_bytes()];
    for content in contents {
        let system = locked();
        system.arrange(|world| world.set_content(FILE, content)).unwrap();
        let ran = load(&system);
        ran.refused(Reason::AuthorizationFileInvalid, Stage::Authorization, "no password");
        assert_eq!(system.opens(FILE), 1);
        assert_eq!(system.calls(Call::Run), 2, "resolved and planned, never loaded");
        assert!(!format!("{:?}", ran.outcome).contains("CANARY"));
        assert!(holders(&system, "CANARY").iter().all(|path| path == FILE));
    }
}

#[test]
fn the_longest_password_is_read_whole() {
    let system = locked();
    let longest = format!("{}\r\n", "a".repeat(16_384));
    system.arrange(|world| world.set_content(FILE, longest.as_bytes())).unwrap();
    load(&system).refused(Reason::PasswordRejected, Stage::Load, "16,384 letters");
}

const CHANGES: [(&str, Change); 7] = [
    ("other bytes", |world| world.set_content(FILE, b"another password").unwrap()),
    ("the same bytes in another file", |world| {
        world.remove(FILE).unwrap();
        place_password(world);
    }),
    ("opened to others", |world| world.set_mode(FILE, 0o644).unwrap()),
    ("a second name", |world| world.hard_link(FILE, "/secret/other").unwrap()),
    ("given away", |world| world.set_owner(FILE, 4711).unwrap()),
    ("replaced by a link", |world| {
        world.rename(FILE, "/secret/moved").unwrap();
        world.link(FILE, "/secret/moved").unwrap();
    }),
    ("removed", |world| world.remove(FILE).unwrap()),
];

#[test]
fn a_change_between_binding_and_reading_delivers_nothing() {
    let stages = Broker::<SimSystem>::SEQUENCE.map(|step| step.stage);
    let position = |stage| stages.iter().position(|at| *at == stage).unwrap();
    let window = position(Stage::AuthorizationSource) + 1..=position(Stage::Authorization);
    let mut tried = 0;
    for (what, change) in CHANGES {
        for stage in &stages[window.clone()] {
            let ran = run(&locked(), Some(FILE), Some((*stage, change)));
            assert_eq!(ran.fired, 1, "{what} as {stage} begins did not fire");
            ran.refused(Reason::AuthorizationFileInvalid, Stage::Authorization, what);
            tried += 1;
        }
        // What was read is what counts: the file is not looked at again.
        let after = run(&locked(), Some(FILE), Some((Stage::Load, change)));
        assert!(after.fired == 1 && delivered(&after.outcome), "{what} after the reading");
    }
    assert!(tried >= CHANGES.len() * 8, "{tried}");
}

#[test]
fn a_change_while_it_is_read_delivers_nothing() {
    for (what, change) in CHANGES.into_iter().filter(|(what, _)| !what.contains("another file")) {
        for call in [Call::OpenFileIn, Call::FileFacts, Call::Fill] {
            let system = locked();
            let mut fired = false;
            system.set_hook(move |world, event| {
                if event.call == call && event.at == FILE && !fired {
                    fired = true;
                    change(world);
                }
                HookAction::Proceed
            });
            load(&system).refused(Reason::AuthorizationFileInvalid, Stage::Authorization, what);
            assert!(system.log().iter().any(|event| event.call == call && event.at == FILE), "{what} at {call:?}");
        }
    }
}

#[test]
fn nothing_of_a_password_file_is_touched_for_an_asset_that_needs_none() {
    let scenes: [(&str, Change); 4] = [
        ("a FIFO", |world| world.fifo(FILE, 0o600).unwrap()),
        ("a link", |world| world.link(FILE, "/etc/shadow").unwrap()),
        ("open to all", |world| world.set_mode(FILE, 0o666).unwrap()),
        ("missing", |world| world.remove(FILE).unwrap()),
    ];
    for (why, change) in scenes {
        let system = system();
        system.arrange(place_password);
        system.arrange(change);
        assert!(delivered(&load(&system).outcome), "{why}");
        assert_eq!(touched(&system), [], "{why}");
    }
}

#[test]
fn nothing_of_a_password_file_is_opened_before_consent_is_valid() {
    let scenes: [(&str, Change); 3] = [
        ("no consent", |world| world.remove(CONSENT_PATH).unwrap()),
        ("another asset's consent", |world| {
            world.set_content(CONSENT_PATH, &support::consent('a', Profile::Compact)).unwrap();
        }),
        ("another profile's consent", |world| {
            world.set_content(CONSENT_PATH, &consent_for(&locked_record(), 'a', Profile::Full)).unwrap();
        }),
    ];
    for (why, change) in scenes {
        let system = locked();
        system.arrange(change);
        let ran = load(&system);
        assert_eq!(ran.outcome.unwrap_err().code(), Code::HostProcessingConsentInvalid, "{why}");
        assert_eq!(system.opens(FILE), 0, "{why}");
        assert_eq!(system.calls(Call::Run), 1, "{why}: resolved, not planned");
    }
}

#[test]
fn without_a_password_file_a_protected_asset_is_not_offered() {
    for file in [None, Some("")] {
        let system = locked();
        let ran = run(&system, file, None);
        assert!(!delivered(&ran.outcome));
        let document: serde_json::Value = serde_json::from_str(&ran.outcome.unwrap()).unwrap();
        assert_eq!((&document["adoption"], &document["runtime_capsule"]), (&"block".into(), &serde_json::Value::Null));
        assert_eq!(document["resolution"]["reason_code"], "authorization_required");
        assert_eq!(touched(&system), []);
    }
}

/// Resolving says that a password would be asked for; it neither looks at nor opens a file.
#[test]
fn a_resolution_defers_the_password_and_touches_no_file() {
    let system = locked();
    system.arrange(|world| world.fifo(FILE, 0o600)).unwrap();
    let settings = Settings { authorization_file: Some(FILE.into()), ..settings() };
    let broker = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
    let answer: Answer =
        kdna_broker::broker::Operations::resolve(&broker, ROOT, &Task::Text(TASK.into()), None, &Cancel::new())
            .unwrap();
    let text = write::compact(&answer.document).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(text.contains(r#""authorization":"required""#), "{text}");
    assert_eq!(document["decision"], "load", "{text}");
    assert!(!text.contains("\"satisfied\""), "{text}");
    assert_eq!(touched(&system), []);
}

/// The starts of processes, in their order.
fn starts(system: &SimSystem) -> Vec<Call> {
    system.log().into_iter().map(|event| event.call).filter(|call| matches!(call, Call::Run | Call::StandBy)).collect()
}

#[test]
fn a_load_for_which_no_process_stands_by_starts_its_own() {
    let system = locked();
    system.set_hook(|_, event| match event.call {
        Call::StandBy => HookAction::Fail(Fault::Io(11)),
        _ => HookAction::Proceed,
    });
    assert!(delivered(&load(&system).outcome));
    let relay = [Call::Run, Call::StandBy, Call::Run, Call::StandBy, Call::Run];
    assert_eq!(starts(&system), relay);
    // The control: where one can stand by, the same is done.
    let system = locked();
    assert!(delivered(&load(&system).outcome));
    assert_eq!(starts(&system), relay);
}

#[test]
fn what_only_resolves_has_nobody_stand_by() {
    let system = locked();
    let settings = Settings { authorization_file: Some(FILE.to_owned()), ..settings() };
    let broker = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
    assert!(broker.resolve(ROOT, &Task::Text(TASK.into()), None, &Cancel::new()).is_ok());
    assert_eq!(starts(&system), [Call::Run]);
}

#[test]
fn nobody_stands_by_for_a_runtime_that_is_started_with_a_path() {
    let system = system();
    let broker = Broker::start(system.clone(), settings(), Delegate::path_bound()).unwrap();
    assert!(delivered(&support::load(&broker)));
    assert!(
        starts(&system).len() > 1 && starts(&system).iter().all(|call| *call == Call::Run),
        "{:?}",
        starts(&system)
    );
}
