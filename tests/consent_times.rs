//! A consent of version 0.2.0 is about one moment and one entry: each coordinate bites alone, with a reason of its own, in a
//! whole load; and what a managed policy or the ledger forbids is refused by name.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/broker.rs"]
mod support;

use kdna_broker::broker::{Broker, Settings};
use kdna_broker::consent::document::Timed;
use kdna_broker::consent::ledger::{Key, Ledger};
use kdna_broker::consent::{Consent, managed};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::refusal::{Code, Reason, Refusal, Stage};
use kdna_broker::system::sim::{Crash, HookAction, SimSystem, World};
use kdna_broker::system::{Fault, System as _};
use std::collections::BTreeSet;
use support::*;

fn attempt(system: &SimSystem, settings: Settings) -> Result<String, Refusal> {
    load(&Broker::start(system.clone(), settings, Delegate::embedded()).unwrap())
}

/// What a load says after one thing was arranged otherwise; nothing of an asset if it is refused.
fn after_arranging(arrange: impl FnOnce(&mut World)) -> Result<(), Reason> {
    let system = full_system();
    system.arrange(arrange);
    let outcome = attempt(&system, settings());
    assert_eq!(format!("{outcome:?}").contains(CAPSULE_CANARY), outcome.is_ok());
    outcome.map(drop).map_err(|refusal| refusal.reason())
}

fn store(consent: &[u8]) -> impl FnOnce(&mut World) {
    let consent = consent.to_vec();
    move |world| world.set_content(CONSENT_PATH, &consent).unwrap()
}

#[test]
fn drift_of_one_coordinate_alone_gives_its_own_reason() {
    assert_eq!(after_arranging(|_| {}), Ok(()), "the control");
    let other = Digest::of(b"other");
    let edited = |from: &str, to: &str| {
        let text = String::from_utf8(timed_consent('a', &timed())).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        text.replace(from, to).into_bytes()
    };
    let digest = |key: &str| {
        let consent = kdna_broker::foundation::json::read_strict(&timed_consent('a', &timed()), 4).unwrap();
        format!("\"{key}\": \"{}\"", consent.get(key).unwrap().as_str().unwrap())
    };
    let swapped = |key: &str| edited(&digest(key), &format!("\"{key}\": \"{other}\""));
    let scope = Record::read(RECORD).unwrap().attachments()[0].scope_digest().to_string();
    let cases: Vec<(Vec<u8>, Reason)> = vec![
        (edited("golden-host", "other-host"), Reason::ConsentForOtherHost),
        (swapped("host_root_digest"), Reason::ConsentForOtherRoot),
        (swapped("workspace_root_digest"), Reason::ConsentForOtherWorkspace),
        (swapped("asset_digest"), Reason::ConsentForOtherAsset),
        (edited("att_000000000000000000000001", "att_000000000000000000000002"), Reason::ConsentForOtherAttachment),
        (edited(&scope, &other.to_string()), Reason::ConsentForOtherScope),
        (swapped("entry_digest"), Reason::ConsentEntryChanged),
        (edited("\"compact\"", "\"full\""), Reason::ConsentForOtherProfile),
        (edited("\"named_remote\"", "\"verified_local_only\""), Reason::DestinationUnattested),
        (edited("Example Inference Ltd", ""), Reason::DestinationUnknown),
        (edited("\"0.2.0\"", "\"0.3.0\""), Reason::ConsentFieldsWrong),
        (edited("\"approved\": true", "\"approved\": false"), Reason::ConsentApprovalMissing),
        (timed_consent('g', &timed()), Reason::ConsentNonceInvalid),
        (timed_consent('a', &Timed { issued_at: after(10), ..timed() }), Reason::ConsentIssuedLater),
        (
            timed_consent('a', &Timed { issued_at: after(-20), expires_at: Some(after(-10)), ..timed() }),
            Reason::ConsentEnded,
        ),
        (timed_consent('a', &Timed { expires_at: Some(after(-10)), ..timed() }), Reason::ConsentTimesInvalid),
    ];
    let mut seen = BTreeSet::new();
    for (consent, expected) in cases {
        assert_eq!(after_arranging(store(&consent)), Err(expected));
        assert!(seen.insert(expected), "{expected} is shared");
    }
    let processor = edited("Example Inference Ltd", "Another Ltd");
    assert_eq!(after_arranging(store(&processor)), Err(Reason::PolicyProcessorForbidden));
}

#[test]
fn an_end_counts_from_its_very_millisecond_and_a_beginning_too() {
    let at = |milliseconds: i64| {
        let system = full_system();
        let moment = beginning().milliseconds() + milliseconds;
        system.arrange(|world| world.set_now(kdna_broker::foundation::time::Timestamp::from_milliseconds(moment)));
        attempt(&system, settings()).map(drop).map_err(|refusal| refusal.code())
    };
    assert_eq!(at(-1), Err(Code::ConsentNotYetValid));
    assert_eq!((at(0), at(3_599_999)), (Ok(()), Ok(())));
    assert_eq!((at(3_600_000), at(i64::from(u32::MAX))), (Err(Code::ConsentExpired), Err(Code::ConsentExpired)));
}

#[test]
fn a_clock_that_went_back_is_noticed_as_long_as_it_is_behind_also_by_another_server() {
    let system = full_system();
    system.arrange(|world| world.set_now(after(1800)));
    assert!(attempt(&system, settings()).is_ok());
    system.arrange(|world| world.set_now(after(60)));
    for _ in 0..3 {
        // Each refusal is a row too, and no row makes an earlier time the latest one.
        assert_eq!(attempt(&system, settings()).unwrap_err().code(), Code::ClockWentBack);
    }
    system.arrange(|world| world.set_now(after(1801)));
    assert!(attempt(&system, settings()).is_ok());
    // Version 0.1.0 tells no time, so none can be wrong; only a policy about age refuses it.
    system.arrange(|world| {
        world.set_now(after(60));
        world.file(CONSENT_PATH, 0o600, &consent('a', kdna_broker::broker::Profile::Compact)).unwrap();
        world.remove(POLICY_PATH).unwrap();
    });
    assert!(attempt(&system, settings()).is_ok());
}

/// What the owner's commands do to an entry and undo again leaves the same entry, and another approval is needed.
#[test]
fn what_was_changed_and_changed_back_needs_a_new_approval() {
    let (system, entry) = (full_system(), timed().entry_digest);
    let state = |system: &SimSystem| {
        let path = AbsolutePath::parse("/state").unwrap();
        kdna_broker::capability::private_file::PrivateDirectory::open(system, &path).unwrap()
    };
    let key = Key::new(&AbsolutePath::parse(ROOT).unwrap(), "att_000000000000000000000001");
    system.arrange(|world| world.advance(std::time::Duration::from_secs(60)));
    Ledger::changed(&system, &state(&system), &key, Some(entry), Digest::of(b"disabled")).unwrap();
    Ledger::changed(&system, &state(&system), &key, Some(Digest::of(b"disabled")), entry).unwrap();
    let ledger = Ledger::read(&system, &state(&system)).unwrap();
    assert_eq!(ledger.check(&key, entry), Ok(()), "approved here as before");
    assert_eq!(attempt(&system, settings()).unwrap_err().reason(), Reason::ConsentOlderThanChange);
    let renewed = timed_consent('b', &Timed { issued_at: system.now(), ..timed() });
    system.arrange(store(&renewed));
    assert!(attempt(&system, settings()).is_ok());
}

#[test]
fn a_ledger_is_needed_where_it_is_required_and_a_bad_one_is_never_taken_for_none() {
    let plain = || {
        let system = full_system();
        system.arrange(|world| world.remove(POLICY_PATH).unwrap());
        system
    };
    let required = || Settings { require_ledger: true, ..settings() };
    let reason = |system: &SimSystem, settings: Settings| {
        attempt(system, settings).map(drop).map_err(|refusal| refusal.reason())
    };
    assert_eq!((reason(&plain(), settings()), reason(&plain(), required())), (Ok(()), Ok(())));
    let without = plain();
    without.arrange(|world| world.remove(LEDGER_PATH).unwrap());
    assert_eq!(reason(&without, settings()), Ok(()), "the plain interface works without one");
    assert_eq!(reason(&without, required()), Err(Reason::AttachmentNotInLedger));
    let other = plain();
    other.arrange(|world| world.set_content(LEDGER_PATH, ledger(Digest::of(b"x"), None, &[]).as_bytes()).unwrap());
    assert_eq!((reason(&other, settings()), reason(&other, required())), (Ok(()), Err(Reason::LedgerEntryOther)));
    let bads: [fn(&mut World); 4] = [
        |world| world.set_content(LEDGER_PATH, b"{}").unwrap(),
        |world| world.set_mode(LEDGER_PATH, 0o644).unwrap(),
        |world| world.set_owner(LEDGER_PATH, 1001).unwrap(),
        |world| {
            world.rename(LEDGER_PATH, "/state/moved").unwrap();
            world.link(LEDGER_PATH, "/state/moved").unwrap();
        },
    ];
    for bad in bads {
        let system = plain();
        system.arrange(bad);
        for settings in [settings(), required()] {
            let refusal = attempt(&system, settings).unwrap_err();
            assert_eq!((refusal.reason(), refusal.code()), (Reason::LedgerUnreadable, Code::AttachmentNotApprovedHere));
        }
    }
}

#[test]
fn a_change_of_the_ledger_is_whole_or_absent_whatever_fails() {
    let path = AbsolutePath::parse("/state").unwrap();
    let key = Key::new(&AbsolutePath::parse(ROOT).unwrap(), "att_000000000000000000000009");
    let approve = |system: &SimSystem| {
        let state = kdna_broker::capability::private_file::PrivateDirectory::open(system, &path)
            .map_err(|_| Refusal::from(Reason::Internal))?;
        Ledger::approve(system, &state, &key, Digest::of(b"entry"))
    };
    let content = |system: &SimSystem| system.arrange(|world| world.content_of(LEDGER_PATH)).unwrap();
    let control = full_system();
    let (old, before) = (content(&control), control.log().len());
    approve(&control).unwrap();
    let (new, calls) = (content(&control), control.log().len() - before);
    let mut refused = 0;
    for failing in 1..=calls {
        for fault in [Fault::NoSpace, Fault::Io(5), Fault::Denied] {
            let system = full_system();
            let first = u64::try_from(system.log().len() + failing).unwrap();
            system.set_hook(
                move |_, event| if event.number == first { HookAction::Fail(fault) } else { HookAction::Proceed },
            );
            let outcome = approve(&system);
            system.clear_hook();
            let found = content(&system);
            assert!(found == old || found == new, "call {failing}");
            assert!(outcome.is_err() || found == new, "call {failing} was acknowledged");
            refused += usize::from(outcome.is_err());
        }
    }
    assert!(refused > 10);
    for crash in Crash::ALL {
        assert_eq!(content(&control.crash(crash)), new, "{crash:?}");
    }
}

fn with_policy(policy: String) -> Result<(), Reason> {
    after_arranging(move |world| world.set_content(POLICY_PATH, policy.as_bytes()).unwrap())
}

#[test]
fn a_managed_policy_narrows_by_each_of_its_members() {
    let policy = |from: &str, to: &str| {
        assert!(POLICY.contains(from), "{from}");
        with_policy(POLICY.replace(from, to))
    };
    let asset = Digest::of(ASSET).to_string();
    let consent = Digest::of(&timed_consent('a', &timed())).to_string();
    for (from, to, expected) in [
        ("[\"golden-host\"]", "[]", Reason::PolicyHostForbidden),
        ("[\"Example Inference Ltd\"]", "[\"example inference ltd\"]", Reason::PolicyProcessorForbidden),
        ("7200", "0", Reason::PolicyConsentAge),
        ("\"landlock\":1", "\"landlock\":8", Reason::PolicyEnforcement),
        ("\"revoked_assets\":[]", &format!("\"revoked_assets\":[\"{asset}\"]"), Reason::PolicyAssetRevoked),
        ("\"revoked_consents\":[]", &format!("\"revoked_consents\":[\"{consent}\"]"), Reason::PolicyConsentRevoked),
        // Anything that is not understood is not ignored.
        ("\"require_journal\":true", "\"allow_everything\":true", Reason::ManagedPolicyUnread),
        ("\"require_ledger\":true", "\"require_ledger\":1", Reason::ManagedPolicyUnread),
        ("0.1.0", "0.2.0", Reason::ManagedPolicyUnread),
        ("managed-policy", "unmanaged-policy", Reason::ManagedPolicyUnread),
        ("7200", "-1", Reason::ManagedPolicyUnread),
        ("7200", "1.5", Reason::ManagedPolicyUnread),
        ("\"seccomp\":true", "\"seccomp\":true,\"seccomp\":false", Reason::ManagedPolicyUnread),
        ("\"revoked_assets\":[]", "\"revoked_assets\":[\"sha256:AA\"]", Reason::ManagedPolicyUnread),
    ] {
        assert_eq!(policy(from, to), Err(expected), "{from} -> {to}");
        assert_eq!(expected.code(), Code::PolicyForbids);
        assert!(expected.remedy().contains(managed::MANAGED_POLICY), "{expected} names the policy");
    }
    let least = r#"{"document_type":"kdna-broker.managed-policy","schema_version":"0.1.0"}"#;
    assert_eq!(with_policy(least.to_owned()), Ok(()), "every member may be absent");
}

#[test]
fn a_policy_that_wants_the_asset_sealed_lets_the_embedded_runtime_load_and_none_that_is_given_a_path() {
    let policy = POLICY.replace("\"seccomp\":true", "\"seccomp\":true,\"sealed\":true,\"pin\":\"embedded\"");
    assert_eq!(with_policy(policy.clone()), Ok(()));
    let system = full_system();
    system.arrange(|world| world.set_content(POLICY_PATH, policy.as_bytes()).unwrap());
    let refused = load(&Broker::start(system.clone(), settings(), Delegate::path_bound()).unwrap()).unwrap_err();
    assert_eq!((refused.reason(), refused.stage()), (Reason::PolicyEnforcement, Stage::PolicyAllows));
}

#[test]
fn a_managed_policy_that_is_not_roots_alone_allows_nothing() {
    type Bad = (&'static str, fn(&mut World));
    let bads: [Bad; 7] = [
        ("another owner", |world| world.set_owner(POLICY_PATH, 1000).unwrap()),
        ("written by its group", |world| world.set_mode(POLICY_PATH, 0o664).unwrap()),
        ("written by all", |world| world.set_mode(POLICY_PATH, 0o646).unwrap()),
        ("another owner of its directory", |world| world.set_owner("/etc/kdna-broker", 1000).unwrap()),
        ("a directory written by all", |world| world.set_mode("/etc/kdna-broker", 0o777).unwrap()),
        ("a directory above written by all", |world| world.set_mode("/etc", 0o777).unwrap()),
        ("a second name", |world| world.hard_link(POLICY_PATH, "/home/person/policy").unwrap()),
    ];
    for (label, bad) in bads {
        assert_eq!(after_arranging(bad), Err(Reason::ManagedPolicyInsecure), "{label}");
    }
    for (label, bad) in [("a link", true), ("a directory", false)] {
        let reason = after_arranging(|world| {
            world.rename(POLICY_PATH, "/etc/moved").unwrap();
            if bad {
                world.link(POLICY_PATH, "/etc/moved").unwrap();
            } else {
                world.directory(POLICY_PATH, 0o755).unwrap();
                world.set_owner(POLICY_PATH, 0).unwrap();
            }
        });
        assert!(
            matches!(reason, Err(Reason::ManagedPolicyUnread | Reason::ManagedPolicyInsecure)),
            "{label}: {reason:?}"
        );
    }
    assert_eq!(after_arranging(|world| world.remove(POLICY_PATH).unwrap()), Ok(()), "none at all narrows nothing");
}

#[test]
fn a_running_server_sees_a_policy_that_comes_changes_and_goes_and_records_which_one_it_was() {
    let system = full_system();
    system.arrange(|world| world.remove(POLICY_PATH).unwrap());
    let server = Broker::start(system.clone(), settings(), Delegate::embedded()).unwrap();
    assert!(load(&server).is_ok());
    let put = |policy: &str| {
        system.arrange(|world| {
            world.file(POLICY_PATH, 0o644, policy.as_bytes()).unwrap();
            world.set_owner(POLICY_PATH, 0).unwrap();
        });
    };
    put(&POLICY.replace("golden-host", "other"));
    assert_eq!(load(&server).unwrap_err().reason(), Reason::PolicyHostForbidden);
    put(POLICY);
    assert!(load(&server).is_ok());
    let rows = system.arrange(|world| world.content_of("/state/journal/journal-000001.jsonl")).unwrap();
    let rows = String::from_utf8(rows).unwrap();
    let last = rows.lines().last().unwrap();
    assert!(last.contains(&format!("\"policy_digest\":\"{}\"", Digest::of(POLICY.as_bytes()))), "{last}");
    system.arrange(|world| world.remove(POLICY_PATH).unwrap());
    assert!(load(&server).is_ok());
}

#[test]
fn the_published_schema_names_the_members_of_version_0_2_0() {
    use kdna_broker::consent::document::TIMED_FIELDS;
    use kdna_broker::foundation::{json::read_strict, value::Value};
    let schema = read_strict(&std::fs::read("policy/consent-0.2.0.schema.json").unwrap(), 8).unwrap();
    let required = schema.get("required").unwrap().as_array().unwrap().iter().filter_map(Value::as_str);
    assert!(required.eq(TIMED_FIELDS));
    assert!(schema.get("properties").unwrap().as_object().unwrap().keys().eq(TIMED_FIELDS));
    let document = read_strict(&timed_consent('a', &timed()), 4).unwrap();
    assert!(document.as_object().unwrap().keys().eq(TIMED_FIELDS), "written in that order");
    let text = String::from_utf8(timed_consent('a', &timed())).unwrap();
    let host = "  \"host_id\": \"golden-host\",\n";
    let moved = text.replacen(host, "", 1).replacen("{\n", &format!("{{\n{host}"), 1);
    assert_eq!(Consent::read(moved.as_bytes()).unwrap_err().reason(), Reason::ConsentFieldsWrong, "and only so");
}

#[test]
fn the_published_schema_of_the_policy_names_its_members() {
    use kdna_broker::foundation::json::read_strict;
    let schema = read_strict(&std::fs::read("policy/managed-policy.schema.json").unwrap(), 8).unwrap();
    let named = schema.get("properties").unwrap().as_object().unwrap().keys();
    assert!(named.eq(["document_type", "schema_version"].into_iter().chain(managed::MEMBERS)));
    assert!(managed::Managed::parse(POLICY.as_bytes()).is_some());
}
