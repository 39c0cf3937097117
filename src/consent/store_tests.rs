//! Storing and ending a consent: whole or not at all, whatever fails, and never more than one document.

use super::document::ConsentFacts;
use super::store::{ConsentFile, ConsentSource, Standing, status};
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Code, Reason};
use crate::foundation::value::Value;
use crate::system::sim::{Call, Crash, HookAction, SimSystem};
use crate::system::{Fault, Identity};
use std::sync::{Arc, Mutex};

const FILE: &str = "/home/p/private/consent.json";
const NOWHERE: Identity = Identity { device: 0, inode: 0 };

fn document(nonce: char) -> Vec<u8> {
    ConsentFacts {
        nonce: nonce.to_string().repeat(32),
        host_id: "golden-host".into(),
        workspace_root_digest: of_root_path("/srv/w"),
        asset_digest: Digest::of(b"asset"),
        attachment_id: "att_000000000000000000000001".into(),
        scope_digest: Digest::of(b"scope"),
        processor: "Example Inference Ltd".into(),
        profile: "compact".into(),
    }
    .bytes()
}

fn path(text: &str) -> AbsolutePath {
    AbsolutePath::parse(text).unwrap()
}

fn machine(old: Option<&[u8]>) -> SimSystem {
    let system = SimSystem::new(11);
    system.arrange(|world| {
        world.directory("/home/p/private", 0o700).unwrap();
        if let Some(bytes) = old {
            world.file(FILE, 0o600, bytes).unwrap();
        }
    });
    system
}

fn file(system: &SimSystem) -> ConsentFile<SimSystem> {
    ConsentFile::open(system, &path(FILE)).unwrap().unwrap()
}

fn stored(system: &SimSystem) -> Option<Vec<u8>> {
    system.arrange(|world| world.content_of(FILE).ok())
}

fn names(system: &SimSystem) -> Vec<String> {
    system.arrange(|world| world.paths().into_iter().filter(|path| path.starts_with("/home/p/private/")).collect())
}

#[test]
fn a_new_document_replaces_the_old_one_and_nothing_else_remains() {
    for old in [None, Some(document('a'))] {
        let system = machine(old.as_deref());
        let digest = file(&system).install(&system, &document('b')).unwrap();
        assert_eq!(digest, Digest::of(&document('b')));
        assert_eq!(stored(&system), Some(document('b')));
        assert_eq!(names(&system), [FILE]);
        assert_eq!(system.arrange(|world| world.facts_of(FILE)).unwrap().mode, 0o600);
        let order: Vec<Call> = system.log().iter().map(|event| event.call).filter(|call| call.changes()).collect();
        assert_eq!(order, [Call::CreateFile, Call::Write, Call::SyncFile, Call::Rename, Call::SyncDirectory]);
        assert!(ConsentSource::bind(&system, Some(FILE), NOWHERE).read(&system).is_ok());
    }
}

#[test]
fn whatever_call_fails_the_old_document_stands_and_no_temporary_remains() {
    for old in [None, Some(document('a'))] {
        let system = machine(old.as_deref());
        let target = file(&system);
        system.clear_log();
        target.install(&system, &document('b')).unwrap();
        let calls = system.log().len();
        let mut refused = 0;
        for failing in 1..=u64::try_from(calls).unwrap() {
            for action in [
                HookAction::Fail(Fault::NoSpace),
                HookAction::Fail(Fault::Io(5)),
                HookAction::Fail(Fault::Denied),
                HookAction::Short(7),
            ] {
                let system = machine(old.as_deref());
                let target = file(&system);
                system.clear_log();
                system.set_hook(move |_, event| if event.number == failing { action } else { HookAction::Proceed });
                let result = target.install(&system, &document('b'));
                system.clear_hook();
                let expected = if result.is_ok() { Some(document('b')) } else { old.clone() };
                assert_eq!(stored(&system), expected, "call {failing}: {action:?}");
                assert!(names(&system).iter().all(|name| name == FILE), "call {failing}: {:?}", names(&system));
                refused += usize::from(result.is_err());
            }
        }
        assert!(refused >= 4 * 5, "create, write, sync, rename and sync of the directory each refuse");
    }
}

#[test]
fn a_full_disk_keeps_the_old_document() {
    let system = machine(Some(&document('a')));
    let target = file(&system);
    system.set_hook(|_, event| if event.call == Call::Write { HookAction::Short(3) } else { HookAction::Proceed });
    let refusal = target.install(&system, &document('b')).unwrap_err();
    assert_eq!(refusal.reason(), Reason::WriteFailed);
    system.clear_hook();
    assert_eq!((stored(&system), names(&system)), (Some(document('a')), vec![FILE.to_owned()]));
}

#[test]
fn a_loss_of_power_leaves_one_whole_document() {
    let crashes = Arc::new(Mutex::new(Vec::new()));
    let system = machine(Some(&document('a')));
    let target = file(&system);
    let kept = Arc::clone(&crashes);
    system.set_hook(move |world, event| {
        let after = Crash::ALL.map(|crash| world.crash(crash));
        kept.lock().unwrap().extend(after.map(|system| (event.call, system)));
        HookAction::Proceed
    });
    target.install(&system, &document('b')).unwrap();
    system.clear_hook();
    let crashes = crashes.lock().unwrap();
    assert!(crashes.len() > 5 * Crash::ALL.len());
    for (call, crashed) in crashes.iter() {
        let found = stored(crashed).unwrap();
        assert!(found == document('a') || found == document('b'), "power lost before {call:?}");
    }
    // Once it is reported as stored, it is.
    for crash in Crash::ALL {
        assert_eq!(stored(&system.crash(crash)), Some(document('b')), "{crash:?}");
    }
}

#[test]
fn a_temporary_made_by_somebody_else_is_not_written_through() {
    let system = machine(Some(&document('a')));
    system.arrange(|world| world.file("/home/p/victim", 0o600, b"victim").unwrap());
    let target = file(&system);
    // Whatever the name will be, a link to a victim is there first.
    system.set_hook(|world, event| {
        if event.call == Call::CreateFile {
            let _ = world.link(&event.at, "/home/p/victim");
        }
        HookAction::Proceed
    });
    assert_eq!(target.install(&system, &document('b')).unwrap_err().code(), Code::StorageFailed);
    system.clear_hook();
    assert_eq!(system.arrange(|world| world.content_of("/home/p/victim")).unwrap(), b"victim");
    assert_eq!(stored(&system), Some(document('a')));
}

#[test]
fn what_is_no_consent_is_never_stored() {
    let system = machine(Some(&document('a')));
    for bytes in [b"".as_slice(), b"null", b"{}", &document('g')] {
        assert!(file(&system).install(&system, bytes).is_err());
    }
    assert_eq!(stored(&system), Some(document('a')));
}

#[test]
fn a_missing_directory_is_made_private_and_an_open_one_is_refused_before_anything_is_written() {
    let system = machine(None);
    let made = ConsentFile::create(&system, &path("/home/p/.state/kdna/consent.json")).unwrap();
    made.install(&system, &document('b')).unwrap();
    for directory in ["/home/p/.state", "/home/p/.state/kdna"] {
        assert_eq!(system.arrange(|world| world.facts_of(directory)).unwrap().mode, 0o700);
    }
    system.arrange(|world| world.directory("/home/p/open", 0o755).unwrap());
    let refusal = ConsentFile::create(&system, &path("/home/p/open/consent.json")).err().unwrap();
    assert_eq!(refusal.code(), Code::HostConsentParentInsecure);
    for bad in ["", "consent.json", "/a/../b", "/a/", "/"] {
        assert_eq!(ConsentFile::<SimSystem>::coordinate(bad).unwrap_err().reason(), Reason::ConsentCoordinate);
    }
}

#[test]
fn revoking_says_whether_there_was_something_and_lasts() {
    let system = machine(Some(&document('a')));
    let target = file(&system);
    let source = ConsentSource::bind(&system, Some(FILE), NOWHERE);
    assert!(source.read(&system).is_ok());
    assert_eq!(target.revoke(&system), Ok(true));
    assert_eq!(target.revoke(&system), Ok(false));
    assert_eq!(source.read(&system).unwrap_err().reason(), Reason::ConsentMissing);
    assert!(Crash::ALL.iter().all(|crash| stored(&system.crash(*crash)).is_none()));

    let system = machine(Some(&document('a')));
    let target = file(&system);
    system.set_hook(|_, event| match event.call {
        Call::SyncDirectory => HookAction::Fail(Fault::Io(5)),
        _ => HookAction::Proceed,
    });
    assert_eq!(target.revoke(&system).unwrap_err().reason(), Reason::RevocationNotDurable);
}

#[test]
fn status_says_what_the_file_says_and_that_it_is_not_revoked() {
    let keys = "document_type schema_version present consent_digest host_id asset_digest processor capsule_profile \
                approval_source approved_at revoked";
    let system = machine(Some(&document('a')));
    let present = status(&system, Some(&file(&system))).unwrap();
    assert_eq!(present.as_object().unwrap().keys().collect::<Vec<_>>().join(" "), keys);
    assert_eq!(present.get("consent_digest"), Some(&Value::from(Digest::of(&document('a')))));
    assert_eq!(present.get("processor").and_then(Value::as_str), Some("Example Inference Ltd"));
    assert_eq!((present.get("present"), present.get("revoked")), (Some(&true.into()), Some(&false.into())));

    file(&system).revoke(&system).unwrap();
    for absent in [status(&system, Some(&file(&system))).unwrap(), status(&system, None).unwrap()] {
        assert_eq!(absent.as_object().unwrap().keys().collect::<Vec<_>>().join(" "), keys);
        assert_eq!((absent.get("present"), absent.get("host_id")), (Some(&false.into()), Some(&Value::Null)));
    }
    let more = |file: Option<&ConsentFile<SimSystem>>| super::store::status_with_place(&system, file).unwrap();
    assert_eq!(more(None).get("attachment_id"), Some(&Value::Null));
    system.arrange(|world| world.file(FILE, 0o600, &document('a')).unwrap());
    let more = more(Some(&file(&system)));
    assert_eq!(
        more.as_object().unwrap().keys().collect::<Vec<_>>().join(" "),
        format!("{keys} host_root_digest expires_at workspace_root_digest attachment_id")
    );
    assert_eq!(more.get("workspace_root_digest"), Some(&Value::from(of_root_path("/srv/w"))));
    assert_eq!(more.get("attachment_id").and_then(Value::as_str), Some("att_000000000000000000000001"));
    for (mode, bytes, expected) in [
        (0o644, document('a'), Reason::ConsentFileInvalid),
        (0o600, Vec::new(), Reason::ConsentFileInvalid),
        (0o600, vec![b' '; 65_537], Reason::ConsentFileInvalid),
        (0o600, b"{".to_vec(), Reason::ConsentFileNotJson),
        (0o600, "\u{feff}{}".into(), Reason::ConsentFileNotJson),
    ] {
        system.arrange(|world| world.file(FILE, mode, &bytes).unwrap());
        assert_eq!(status(&system, Some(&file(&system))).unwrap_err().reason(), expected);
    }
    for odd in ["[]", "null", "7", "{\"host_id\":7}"] {
        system.arrange(|world| world.file(FILE, 0o600, odd.as_bytes()).unwrap());
        let shown = status(&system, Some(&file(&system))).unwrap();
        assert_eq!((shown.get("present"), shown.get("host_id")), (Some(&true.into()), Some(&Value::Null)), "{odd}");
    }
}

#[test]
fn what_stands_at_a_place_is_told_without_judging_whom_it_is_for() {
    let system = machine(None);
    let at = |place: &str| Standing::at(&system, &path(place));
    assert_eq!((at(FILE), at("/home/p/absent/consent.json")), (Standing::Nothing, Standing::Nothing));
    system.arrange(|world| world.file(FILE, 0o600, &document('a')).unwrap());
    assert!(matches!(at(FILE), Standing::Consent(old) if old.host_id() == "golden-host"));
    for (mode, bytes) in [(0o644, document('a')), (0o600, b"{}".to_vec()), (0o600, Vec::new())] {
        system.arrange(|world| world.file(FILE, mode, &bytes).unwrap());
        assert_eq!(at(FILE), Standing::Unreadable);
    }
}
