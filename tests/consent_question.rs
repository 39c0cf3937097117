//! Asking a person, over the simulated system: who is asked for what, and that an allowance is recorded and in force, or
//! neither, whatever fails.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/broker.rs"]
mod support;

use kdna_broker::broker::approval::{Approval, ApprovalRequest, ConsentPlace, Question, lifetime};
use kdna_broker::broker::settle::{Settled, Validity, check, check_with, settle, standing};
use kdna_broker::broker::{Broker, Settings};
use kdna_broker::consent::Consent;
use kdna_broker::consent::document::Schema;
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::{Reason, Refusal};
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::sim::{Call, Crash, HookAction, SimSystem};
use kdna_broker::system::{Ancestor, Fault, System as _};
use support::*;

fn state() -> AbsolutePath {
    AbsolutePath::parse("/state").unwrap()
}

fn place() -> ConsentPlace {
    ConsentPlace::Set(AbsolutePath::parse("/state/consents").unwrap())
}

fn request(state: &AbsolutePath) -> ApprovalRequest<'_> {
    ApprovalRequest {
        cwd: ROOT,
        attachment: None,
        host_root: None,
        host_id: "golden-host",
        processor: "Example Inference Ltd",
        profile: "compact",
        lifetime: None,
        schema: Schema::Timed,
        require_ledger: false,
        home: Some("/home/person"),
        state,
    }
}

fn asked(system: &SimSystem) -> usize {
    system.arrange(|world| world.questions().len())
}

/// A world in which the person answers so, once.
fn answering(answer: &str) -> SimSystem {
    let system = full_system();
    system.arrange(|world| world.answer(answer));
    system
}

fn ask(system: &SimSystem) -> Result<Approval, Refusal> {
    let state = state();
    Question::prepare(system, &request(&state))?.ask(system, &place(), false)
}

/// The consents of the set that can be read.
fn stored(system: &SimSystem) -> Vec<Vec<u8>> {
    system.arrange(|world| {
        let names: Vec<String> =
            world.paths().into_iter().filter(|path| path.starts_with("/state/consents/")).collect();
        assert!(names.iter().all(|name| name.contains(".json") && !name.contains("tmp")), "{names:?}");
        names.iter().map(|name| world.content_of(name).unwrap()).collect()
    })
}

fn rows(system: &SimSystem) -> String {
    let bytes = system.arrange(|world| world.content_of("/state/journal/journal-000001.jsonl")).unwrap_or_default();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_allowance_is_recorded_before_it_is_in_force_and_no_failure_leaves_one_without_the_other() {
    let control = answering("y");
    control.clear_log();
    let Ok(Approval::Allowed { consent, .. }) = ask(&control) else { panic!("the control") };
    assert_eq!(stored(&control).iter().map(|bytes| Digest::of(bytes)).collect::<Vec<_>>(), [consent]);
    assert!(rows(&control).contains(&consent.to_string()));
    let calls = control.log().len();
    let mut refused = 0;
    for failing in 1..=u64::try_from(calls).unwrap() {
        for action in [HookAction::Fail(Fault::NoSpace), HookAction::Fail(Fault::Io(5)), HookAction::Short(3)] {
            let system = answering("y");
            system.clear_log();
            system.set_hook(move |_, event| if event.number == failing { action } else { HookAction::Proceed });
            let outcome = ask(&system);
            system.clear_hook();
            let found = stored(&system);
            for bytes in &found {
                let consent = Consent::read(bytes).expect("whole or absent");
                assert!(rows(&system).contains(&consent.digest().to_string()), "call {failing}: not recorded");
            }
            let allowed = matches!(outcome, Ok(Approval::Allowed { .. }));
            assert_eq!(allowed, !found.is_empty(), "call {failing} {action:?}: {outcome:?}");
            refused += usize::from(outcome.is_err());
        }
    }
    assert!(refused > 60, "only {refused} failures refused");
    for crash in Crash::ALL {
        assert_eq!(stored(&control.crash(crash)).len(), 1, "{crash:?}: what was said to be stored is");
    }
}

#[test]
fn a_decline_stores_nothing_and_a_person_without_a_terminal_was_not_asked() {
    let declined = answering("n");
    assert_eq!(ask(&declined), Ok(Approval::Declined));
    assert_eq!(stored(&declined), Vec::<Vec<u8>>::new());
    assert!(rows(&declined).contains("\"event\":\"declined\""));
    let nobody = full_system();
    assert_eq!(ask(&nobody), Ok(Approval::NoTerminal));
    assert_eq!((stored(&nobody).len(), rows(&nobody).as_str()), (0, ""));
}

#[test]
fn what_stands_above_the_command_decides_whether_a_person_may_be_asked() {
    let ancestor = |is_ours: bool, command: &str| Ancestor {
        name: "program".into(),
        is_ours,
        command: command.into(),
        in_session: false,
    };
    for (above, reason) in [
        (ancestor(true, "mcp"), Some(Reason::ConsentAskedByHost)),
        (ancestor(true, "launch"), Some(Reason::ConsentAskedByHost)),
        (ancestor(true, "demo"), None),
        (ancestor(true, ""), None),
        (ancestor(false, "mcp"), None),
    ] {
        let system = answering("n");
        system
            .arrange(|world| world.set_ancestors(vec![ancestor(false, "sh"), above.clone(), ancestor(false, "init")]));
        assert_eq!(ask(&system).err().map(|refusal| refusal.reason()), reason, "{above:?}");
        assert_eq!(asked(&system), usize::from(reason.is_none()), "{above:?}");
        assert!(rows(&system).contains("\"programs\":[\"program\",\"program\",\"program\"]"), "{above:?}");
    }
    let system = answering("y");
    system.set_hook(|_, event| match event.call {
        Call::Ancestors => HookAction::Fail(Fault::Denied),
        _ => HookAction::Proceed,
    });
    assert_eq!(ask(&system).unwrap_err().reason(), Reason::ConsentAskerUnknown);
    assert_eq!(asked(&system), 0);
    // The real system tells who started this test.
    let real = OsSystem::new().ancestors().unwrap();
    assert!(!real.is_empty() && real.iter().all(|ancestor| (1..=15).contains(&ancestor.name.len())), "{real:?}");
}

#[test]
fn a_program_cannot_write_into_the_journal_by_its_name() {
    let system = answering("n");
    let names = ["a\"b\n{}", "\u{1b}[2J", "\u{202e}x", "a name", "", "ünïcode", "abcdefghijklmnopqrstuvwxyz"];
    let above =
        |name: &str| Ancestor { name: name.into(), is_ours: false, command: "\u{1b}".into(), in_session: false };
    system.arrange(|world| world.set_ancestors(names.iter().map(|name| above(name)).collect()));
    assert_eq!(ask(&system), Ok(Approval::Declined));
    let rows = rows(&system);
    assert_eq!(rows.lines().count(), 1, "{rows}");
    let expected = "[\"a_b___\",\"__2J\",\"___x\",\"a_name\",\"__n__code\",\"abcdefghijklmno\"]";
    assert!(rows.contains(expected), "{rows}");
    let directory = kdna_broker::capability::private_file::PrivateDirectory::open(
        &system,
        &AbsolutePath::parse("/state/journal").unwrap(),
    );
    let verified = kdna_broker::journal::verify_directory(&system, &directory.unwrap()).unwrap();
    assert_eq!(verified.map(|verified| verified.rows), Ok(1));
}

#[test]
fn silence_after_declines_is_kept_for_a_minute_whatever_the_clock_does() {
    let system = full_system();
    system.arrange(|world| (0..20).for_each(|_| world.answer("n")));
    let reason = || ask(&system).err().map(|refusal| refusal.reason());
    let wait = |seconds: u64| system.arrange(|world| world.advance(std::time::Duration::from_secs(seconds)));
    assert_eq!((reason(), reason()), (None, None));
    wait(61);
    assert_eq!((reason(), reason(), reason()), (None, None, None), "declines of long ago do not count");
    let silent = Some(Reason::ConsentAskedTooOften);
    assert_eq!(reason(), silent);
    wait(58);
    assert_eq!(reason(), silent);
    wait(3);
    assert_eq!((reason(), reason(), reason(), reason()), (None, None, None, silent));
    // Set back by a day, it lasts a minute from then on, and no day.
    system.arrange(|world| world.set_now(after(-86_400)));
    assert_eq!(reason(), silent);
    wait(61);
    assert_eq!(reason(), None);
}

#[test]
fn a_lifetime_is_a_number_and_a_unit() {
    for (text, minutes) in [("1m", 1), ("90m", 90), ("12h", 720), ("30d", 43_200), ("3660d", 5_270_400)] {
        assert_eq!(lifetime(text), Ok(minutes * 60_000), "{text}");
    }
    for text in
        ["", "d", "0d", "-1d", "+1d", "1", "1w", "1.5d", " 1d", "1 d", "1D", "3661d", "99999999d", "1d1h", "١d", "é"]
    {
        assert_eq!(lifetime(text).unwrap_err().reason(), Reason::ConsentLifetimeInvalid, "{text}");
    }
}

#[test]
fn nobody_is_asked_for_what_the_policy_forbids_and_an_end_is_the_latest_that_it_allows() {
    let (state, place) = (state(), place());
    let base = request(&state);
    let system = full_system();
    system.arrange(|world| (0..9).for_each(|_| world.answer("y")));
    let delegate = Delegate::embedded();
    for (request, reason) in [
        (ApprovalRequest { host_id: "other", ..base.clone() }, Reason::PolicyHostForbidden),
        (ApprovalRequest { processor: "Other", ..base.clone() }, Reason::PolicyProcessorForbidden),
    ] {
        assert_eq!(settle(&system, &delegate, &request, &place, false).unwrap_err().reason(), reason);
    }
    for request in [
        ApprovalRequest { lifetime: Some(lifetime("3h").unwrap()), ..base.clone() },
        ApprovalRequest { schema: Schema::Plain, ..base.clone() },
    ] {
        assert_eq!(settle(&system, &delegate, &request, &place, false).unwrap_err().reason(), Reason::PolicyConsentAge);
    }
    assert_eq!(asked(&system), 0);
    assert!(matches!(check(&system, &base, &place), Ok(Validity::Needed(_))));
    let (about, settled) = settle(&system, &delegate, &base, &place, false).unwrap();
    let Settled::Asked(Approval::Allowed { consent, file, .. }) = settled else { panic!("{settled:?}") };
    assert_eq!((about.attachment_id.as_str(), about.host_root.as_str()), ("att_000000000000000000000001", ROOT));
    let end = system.now().milliseconds() + 7_200_000;
    match check(&system, &base, &place).unwrap() {
        Validity::Valid { consent: found, expires_at, file: lies } => {
            assert_eq!((found, lies), (consent, file));
            assert!(expires_at.is_some_and(|time| (end - 1000..=end).contains(&time.milliseconds())));
        }
        other @ Validity::Needed(_) => panic!("{other:?}"),
    }
    assert!(matches!(settle(&system, &delegate, &base, &place, false), Ok((_, Settled::Valid { .. }))));
    assert_eq!(asked(&system), 1, "once; what holds is not asked for again");
    let settings = Settings { consent_file: None, consent_directory: Some("/state/consents".into()), ..settings() };
    let server = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
    assert!(delivered(&load(&server)), "and a server loads under it");
}

#[test]
fn nobody_is_asked_where_the_policy_wants_a_stronger_sandbox_than_this_machine_gives() {
    let (state, place) = (state(), place());
    for (minimum, expected) in [
        ("\"landlock\":7", Ok(())),
        ("\"landlock\":8", Err(Reason::PolicyEnforcement)),
        ("\"landlock\":7,\"pin\":\"embedded\"", Ok(())),
    ] {
        let system = answering("y");
        let policy = POLICY.replace("\"landlock\":1", minimum);
        system.arrange(|world| world.set_content(POLICY_PATH, policy.as_bytes()).unwrap());
        let settled = settle(&system, &Delegate::embedded(), &request(&state), &place, false);
        assert_eq!(settled.map(drop).map_err(|refusal| refusal.reason()), expected, "{minimum}");
        assert_eq!(asked(&system), usize::from(expected.is_ok()), "{minimum}");
        let made = system.arrange(|world| world.paths().iter().any(|path| path.starts_with("/state/consents")));
        assert_eq!(made, expected.is_ok(), "{minimum}: what is refused leaves nothing");
    }
}

#[test]
fn a_consent_that_holds_is_not_called_valid_where_the_policy_wants_a_stronger_sandbox() {
    let (state, place) = (state(), place());
    let system = answering("y");
    ask(&system).unwrap();
    let judged = |minimum: &str| {
        let policy = POLICY.replace("{\"landlock\":1,\"seccomp\":true}", minimum);
        system.arrange(|world| world.set_content(POLICY_PATH, policy.as_bytes()).unwrap());
        let started = std::cell::Cell::new(0);
        let runtime = || {
            started.set(started.get() + 1);
            Ok(Delegate::embedded())
        };
        let checked = check_with(&system, runtime, &request(&state), &place);
        let settled = settle(&system, &Delegate::embedded(), &request(&state), &place, false);
        let checked = checked.map(drop).map_err(|refusal| refusal.reason());
        assert_eq!(
            checked,
            settled.map(drop).map_err(|refusal| refusal.reason()),
            "{minimum}: a launcher is told the same"
        );
        (checked, started.get())
    };
    assert_eq!(judged("{\"landlock\":7}"), (Ok(()), 1));
    assert_eq!(judged("{\"landlock\":8}"), (Err(Reason::PolicyEnforcement), 1));
    assert_eq!(judged("{}"), (Ok(()), 0), "a policy that asks for nothing starts nothing");
    assert_eq!(asked(&system), 1, "nobody is asked for what holds");
}

#[test]
fn what_a_server_would_meet_is_judged_for_the_destination_that_the_consent_names() {
    let (state, place) = (state(), place());
    let base = ApprovalRequest { processor: "", ..request(&state) };
    let system = answering("y");
    assert!(matches!(standing(&system, &base, &place), Ok(Validity::Needed(_))));
    ask(&system).unwrap();
    assert!(matches!(standing(&system, &base, &place), Ok(Validity::Valid { .. })));
    for (from, to, reason) in [
        ("[\"golden-host\"]", "[\"other\"]", Reason::PolicyHostForbidden),
        ("[\"Example Inference Ltd\"]", "[\"Other\"]", Reason::PolicyProcessorForbidden),
    ] {
        let policy = POLICY.replace(from, to);
        system.arrange(|world| world.set_content(POLICY_PATH, policy.as_bytes()).unwrap());
        assert_eq!(standing(&system, &base, &place).unwrap_err().reason(), reason);
    }
    assert_eq!(asked(&system), 1, "a look asks nobody");
}
