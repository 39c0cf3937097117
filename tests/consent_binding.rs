//! A consent is about one load: every coordinate bites alone, with a reason of its own, and what a person was asked is
//! what is written.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

use kdna_broker::consent::{
    Consent, ConsentFacts, ConsentFile, ConsentLease, ConsentSource, Coordinates, check_destination, document,
};
use kdna_broker::foundation::digest::{Digest, of_root_path};
use kdna_broker::foundation::json::{read_javascript, read_strict, write};
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::{Reason, Refusal, Stage};
use kdna_broker::foundation::value::Value;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::sim::{Call, SimSystem};
use kdna_broker::system::{Identity, Observe};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

const HOST: &str = "golden-host";
const ATTACHMENT: &str = "att_000000000000000000000001";
const FILE: &str = "/home/p/private/consent.json";
const NONCE: &str = "00112233445566778899aabbccddeeff";

fn path(text: &str) -> AbsolutePath {
    AbsolutePath::parse(text).unwrap()
}

fn root() -> AbsolutePath {
    path("/srv/w")
}

fn coordinates(root: &AbsolutePath) -> Coordinates<'_> {
    Coordinates {
        host_id: HOST,
        host_root: root,
        workspace_root: root,
        asset_digest: Digest::of(b"asset"),
        attachment_id: ATTACHMENT,
        scope_digest: Digest::of(b"scope"),
        entry_digest: Digest::of(b"entry"),
        profile: "compact",
    }
}

fn facts() -> ConsentFacts {
    ConsentFacts {
        nonce: NONCE.into(),
        host_id: HOST.into(),
        workspace_root_digest: of_root_path("/srv/w"),
        asset_digest: Digest::of(b"asset"),
        attachment_id: ATTACHMENT.into(),
        scope_digest: Digest::of(b"scope"),
        processor: "Example Inference Ltd".into(),
        profile: "compact".into(),
    }
}

/// The valid document with one piece of text replaced, which must be there.
fn edited(from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(facts().bytes()).unwrap();
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1).into_bytes()
}

fn judge(bytes: &[u8]) -> Result<ConsentLease, Refusal> {
    ConsentLease::judge(Consent::read(bytes)?, &coordinates(&root()))
}

fn reason(bytes: &[u8]) -> Reason {
    judge(bytes).expect_err("a lease was given").reason()
}

#[test]
fn what_is_written_is_read_back_and_binds() {
    let lease = judge(&facts().bytes()).unwrap();
    assert_eq!(lease.digest(), Digest::of(&facts().bytes()));
    assert_eq!(lease.processor(), "Example Inference Ltd");
    let document = lease.binding_document();
    let keys: Vec<_> = document.as_object().unwrap().keys().collect();
    assert_eq!(
        keys.join(" "),
        "document_type schema_version host_id processing_boundary capsule_profile asset_digest use_boundary \
         workspace_root_digest approval_source consent_digest"
    );
}

#[test]
fn every_coordinate_changed_alone_gives_a_reason_of_its_own() {
    let other = Digest::of(b"other").to_string();
    let changes = [
        (edited(HOST, "other-host"), Reason::ConsentForOtherHost),
        (edited(&of_root_path("/srv/w").to_string(), &other), Reason::ConsentForOtherRoot),
        (edited(&Digest::of(b"asset").to_string(), &other), Reason::ConsentForOtherAsset),
        (edited(ATTACHMENT, "att_000000000000000000000002"), Reason::ConsentForOtherAttachment),
        (edited(&Digest::of(b"scope").to_string(), &other), Reason::ConsentForOtherScope),
        (edited("workspace_attachment", "something_else"), Reason::ConsentForOtherUse),
        (edited("\"compact\"", "\"full\""), Reason::ConsentForOtherProfile),
        (edited("\"0.1.0\"", "\"0.3.0\""), Reason::ConsentVersionUnknown),
        (edited(NONCE, "AA112233445566778899aabbccddeeff"), Reason::ConsentNonceInvalid),
        (edited("\"approved\": true", "\"approved\": 1"), Reason::ConsentApprovalMissing),
        (edited("\"named_remote\"", "\"verified_local_only\""), Reason::DestinationUnattested),
        (edited("\"named_remote\"", "\"somewhere\""), Reason::DestinationUnknown),
        (edited("\"approved\": true", "\"approved\": true, \"more\": 1"), Reason::ConsentFieldsWrong),
    ];
    let mut seen = BTreeSet::new();
    for (bytes, expected) in changes {
        assert_eq!(reason(&bytes), expected);
        assert!(seen.insert(expected), "{expected} is shared");
    }
    let no_object =
        edited("{\n    \"kind\": \"named_remote\",\n    \"processor\": \"Example Inference Ltd\"\n  }", "[]");
    assert_eq!(reason(&no_object), Reason::ConsentBoundaryInvalid);
}

#[test]
fn the_same_consent_is_refused_for_every_other_load() {
    let consent = Consent::read(&facts().bytes()).unwrap();
    let (same, below) = (root(), path("/srv/w/sub"));
    let base = coordinates(&same);
    for (load, expected) in [
        (Coordinates { host_id: "other", ..base }, Reason::ConsentForOtherHost),
        (Coordinates { host_root: &below, ..base }, Reason::ConsentForOtherRoot),
        (Coordinates { asset_digest: Digest::of(b"x"), ..base }, Reason::ConsentForOtherAsset),
        (Coordinates { attachment_id: "att_00000000000000000000000f", ..base }, Reason::ConsentForOtherAttachment),
        (Coordinates { scope_digest: Digest::of(b"x"), ..base }, Reason::ConsentForOtherScope),
        (Coordinates { profile: "index", ..base }, Reason::ConsentForOtherProfile),
        (Coordinates { host_id: "Bad Host!", ..base }, Reason::HostIdInvalid),
    ] {
        assert_eq!(ConsentLease::judge(consent.clone(), &load).unwrap_err().reason(), expected);
    }
    assert!(ConsentLease::judge(consent, &base).is_ok());
}

#[test]
fn the_use_boundary_binds_in_its_exact_order_and_nothing_else_does() {
    let (kind, id) = ("\"kind\": \"workspace_attachment\",", format!("\"attachment_id\": \"{ATTACHMENT}\","));
    let swapped = edited(&format!("{kind}\n    {id}"), &format!("{id}\n    {kind}"));
    assert_eq!(reason(&swapped), Reason::ConsentForOtherUse);

    let host = format!("  \"host_id\": \"{HOST}\",\n");
    let text = String::from_utf8(edited(&host, "")).unwrap();
    let moved = text.replacen("{\n", &format!("{{\n{host}"), 1);
    assert!(judge(moved.as_bytes()).is_ok());
    let (kind, name) = ("\"kind\": \"named_remote\"", "\"processor\": \"Example Inference Ltd\"");
    assert!(judge(&edited(&format!("{kind},\n    {name}"), &format!("{name},\n    {kind}"))).is_ok());
}

#[test]
fn a_document_that_two_readers_could_understand_differently_is_refused() {
    for (from, to, expected) in [
        ("\"approved\": true", "\"approved\": false,\n  \"approved\": true", Reason::ConsentAmbiguousJson),
        ("\"processor\":", "\"\\u0070rocessor\": \"Other\", \"processor\":", Reason::ConsentAmbiguousJson),
        ("\"Example Inference Ltd\"", "[[[[1]]]]", Reason::ConsentAmbiguousJson),
        ("{", "\u{feff}{", Reason::ConsentNotJson),
        ("true\n}", "true\n} {}", Reason::ConsentNotJson),
        ("true\n}", "true\n}\0", Reason::ConsentNotJson),
        ("true\n}", "true // yes\n}", Reason::ConsentNotJson),
        ("Example Inference Ltd", "\\ud800", Reason::ConsentNotJson),
        ("\"approved\": true", "\"__proto__\": {}, \"approved\": true", Reason::ConsentFieldsWrong),
        ("\"approved\": true", "\"aproved\": true", Reason::ConsentFieldsWrong),
    ] {
        assert_eq!(reason(&edited(from, to)), expected, "{from:?} -> {to:?}");
    }
    for (bytes, expected) in [
        (b"null".to_vec(), Reason::ConsentFieldsWrong),
        (b"[]".to_vec(), Reason::ConsentFieldsWrong),
        (b"\xff".to_vec(), Reason::ConsentNotJson),
        (Vec::new(), Reason::ConsentNotJson),
        (b"[".repeat(10_000), Reason::ConsentAmbiguousJson),
    ] {
        assert_eq!(reason(&bytes), expected);
    }
}

#[test]
fn every_missing_member_is_noticed() {
    assert!(Consent::read(&facts().bytes()).is_ok());
    let whole = read_strict(&facts().bytes(), 4).unwrap();
    for key in document::FIELDS {
        let mut object = whole.as_object().unwrap().clone();
        object.remove(key);
        let bytes = write::compact_object(&object).unwrap();
        assert_eq!(reason(bytes.as_bytes()), Reason::ConsentFieldsWrong, "{key}");
    }
}

#[test]
fn a_destination_is_named_or_refused() {
    let named = |processor: &str| {
        let bytes = ConsentFacts { processor: processor.into(), ..facts() }.bytes();
        Consent::read(&bytes).and_then(|consent| check_destination(&consent).map(str::to_owned))
    };
    let fire = "\u{1f9ef}".repeat(128);
    // Reading accepts what the recorded replies accept.
    for accepted in [" ", "a\u{1b}[2Jb", "x", &"x".repeat(256), &fire] {
        assert_eq!(named(accepted).as_deref(), Ok(accepted));
    }
    for refused in ["", &"x".repeat(257), &format!("{fire}x"), "a\0b"] {
        assert_eq!(named(refused).unwrap_err().reason(), Reason::DestinationUnknown);
    }
    for (from, to) in [
        ("\"kind\": \"named_remote\",", ""),
        ("\"kind\": \"named_remote\"", "\"kind\": \"named_remote\", \"note\": 1"),
        ("\"Example Inference Ltd\"", "7"),
    ] {
        assert_eq!(reason(&edited(from, to)), Reason::DestinationUnknown);
    }
}

/// A person's machine: a private directory with a consent, and a workspace elsewhere.
fn machine() -> SimSystem {
    let system = SimSystem::new(7);
    system.arrange(|world| {
        world.directory("/srv/w", 0o755).unwrap();
        world.directory("/home/p/private", 0o700).unwrap();
        world.file(FILE, 0o600, &facts().bytes()).unwrap();
    });
    system
}

fn source(system: &SimSystem, coordinate: Option<&str>) -> ConsentSource<SimSystem> {
    ConsentSource::bind(system, coordinate, system.look(&root()).unwrap().identity)
}

#[test]
fn a_source_that_cannot_be_bound_does_not_stop_the_server_and_refuses_every_read() {
    let system = machine();
    system.arrange(|world| {
        world.directory("/srv/w/private", 0o700).unwrap();
        world.directory("/home/p/open", 0o755).unwrap();
        world.link("/home/p/linked", "/home/p/private").unwrap();
        world.link("/home/p/way", "/srv/w").unwrap();
    });
    for (coordinate, expected) in [
        (None, Reason::ConsentNotConfigured),
        (Some(""), Reason::ConsentNotConfigured),
        (Some("private/consent.json"), Reason::ConsentParentInsecure),
        (Some("/home/p/private/../private/consent.json"), Reason::ConsentParentInsecure),
        (Some("/home/p/private/"), Reason::ConsentParentInsecure),
        (Some("/"), Reason::ConsentParentInsecure),
        (Some("/home/p/open/consent.json"), Reason::ConsentParentInsecure),
        (Some("/home/p/linked/consent.json"), Reason::ConsentParentInsecure),
        (Some("/home/p/absent/consent.json"), Reason::ConsentParentMissing),
        (Some("/home/p/absent/too/consent.json"), Reason::ConsentParentMissing),
        (Some("/srv/w/private/consent.json"), Reason::ConsentInsideWorkspace),
        (Some("/srv/w/consent.json"), Reason::ConsentInsideWorkspace),
        (Some("/home/p/way/private/consent.json"), Reason::ConsentParentInsecure),
    ] {
        let source = source(&system, coordinate);
        assert_eq!(source.unbound(), Some(expected), "{coordinate:?}");
        let refusal = source.read(&system).unwrap_err();
        assert_eq!((refusal.reason(), refusal.code().as_str()), (expected, "host_processing_consent_required"));
    }
    assert_eq!(system.calls(Call::Read), 0, "nothing was read");
}

#[test]
fn a_directory_that_merely_sounds_like_the_workspace_is_outside_it() {
    let system = machine();
    system.arrange(|world| {
        world.directory("/srv/w-private", 0o700).unwrap();
        world.file("/srv/w-private/consent.json", 0o600, &facts().bytes()).unwrap();
    });
    assert!(source(&system, Some("/srv/w-private/consent.json")).read(&system).is_ok());
}

#[test]
fn the_bound_directory_stays_the_bound_one() {
    let system = machine();
    let source = source(&system, Some(FILE));
    assert!(source.read(&system).is_ok());
    system.arrange(|world| {
        world.rename("/home/p/private", "/home/p/old").unwrap();
        world.directory("/home/p/private", 0o700).unwrap();
        world.file(FILE, 0o600, &facts().bytes()).unwrap();
    });
    assert_eq!(source.read(&system).unwrap_err().reason(), Reason::ConsentParentChanged);
}

#[test]
fn a_lease_ends_when_its_document_is_replaced_opened_to_others_or_revoked() {
    let system = machine();
    let source = source(&system, Some(FILE));
    let root = root();
    let lease = ConsentLease::obtain(&system, &source, &coordinates(&root)).unwrap();
    assert!(lease.assert_unchanged(&system, &source).is_ok());
    let ends = |expected: Reason| {
        let refusal = lease.assert_unchanged(&system, &source).unwrap_err();
        assert_eq!((refusal.reason(), refusal.stage()), (expected, Stage::ConsentAgain));
        assert_eq!(refusal.code().as_str(), "host_processing_consent_invalid");
    };
    let other = ConsentFacts { nonce: "f".repeat(32), ..facts() };
    system.arrange(|world| world.file(FILE, 0o600, &other.bytes()).unwrap());
    ends(Reason::ConsentChanged);
    system.arrange(|world| world.file(FILE, 0o644, &facts().bytes()).unwrap());
    ends(Reason::ConsentNotPrivate);
    system.arrange(|world| world.remove(FILE).unwrap());
    ends(Reason::ConsentMissing);
}

#[test]
fn codes_and_messages_are_those_of_the_recorded_replies() {
    let unreadable = "The Host processing consent is invalid or unavailable.";
    let mismatch = "The Host processing consent is invalid.";
    let required = "Host processing consent is required before any Runtime Capsule delivery.";
    for (reason, code, message) in [
        (Reason::ConsentNotPrivate, "host_processing_consent_invalid", unreadable),
        (Reason::ConsentMissing, "host_processing_consent_invalid", unreadable),
        (Reason::ConsentNotJson, "host_processing_consent_invalid", unreadable),
        (Reason::ConsentForOtherAsset, "host_processing_consent_invalid", mismatch),
        (Reason::ConsentForOtherHost, "host_processing_consent_invalid", mismatch),
        (Reason::ConsentForOtherRoot, "host_processing_consent_invalid", mismatch),
        (Reason::ConsentForOtherUse, "host_processing_consent_invalid", mismatch),
        (Reason::ConsentForOtherProfile, "host_processing_consent_invalid", mismatch),
        (Reason::ConsentFieldsWrong, "host_processing_consent_invalid", mismatch),
        (Reason::HostIdInvalid, "host_processing_consent_invalid", mismatch),
        (Reason::ConsentNotConfigured, "host_processing_consent_required", required),
        (Reason::ConsentParentInsecure, "host_processing_consent_required", required),
        (
            Reason::DestinationUnattested,
            "local_processing_attestation_required",
            "This adapter cannot accept a Host's unverified local-only claim.",
        ),
        (
            Reason::DestinationUnknown,
            "host_processing_destination_unknown",
            "The Host processing destination is unknown.",
        ),
    ] {
        assert_eq!((reason.code().as_str(), reason.message()), (code, message));
    }
}

#[test]
fn the_published_schema_names_the_members_and_words_that_are_read() {
    let schema = read_strict(&std::fs::read("policy/consent-0.1.0.schema.json").unwrap(), 8).unwrap();
    let required: Vec<_> =
        schema.get("required").unwrap().as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(required, document::FIELDS);
    let properties = schema.get("properties").unwrap();
    assert_eq!(properties.as_object().unwrap().keys().collect::<Vec<_>>(), document::FIELDS);
    let constant = |path: &[&str]| {
        let member = path.iter().fold(properties, |value, key| value.get(key).unwrap());
        member.get("const").unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(constant(&["document_type"]), document::DOCUMENT_TYPE);
    assert_eq!(constant(&["schema_version"]), document::SCHEMA_VERSION);
    assert_eq!(constant(&["approval_source"]), document::APPROVAL_SOURCE);
    assert_eq!(constant(&["use_boundary", "properties", "kind"]), document::USE_KIND);
    assert_eq!(constant(&["processing_boundary", "properties", "kind"]), document::NAMED_REMOTE);
}

#[test]
fn a_reader_never_sees_a_replacement_half_done() {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let file = path(place.path().canonicalize().unwrap().join("consent.json").to_str().unwrap());
    let system = OsSystem::new();
    let install = |nonce: String| {
        let target = ConsentFile::open(&system, &file).unwrap().unwrap();
        target.install(&system, &ConsentFacts { nonce, ..facts() }.bytes()).unwrap();
    };
    install("0".repeat(32));
    let nowhere = Identity { device: 0, inode: 0 };
    let source = ConsentSource::bind(&system, Some(file.as_str()), nowhere);
    let writing = AtomicUsize::new(4);
    std::thread::scope(|scope| {
        for writer in 1..=4u32 {
            let (install, writing) = (&install, &writing);
            scope.spawn(move || {
                (0..25u32).for_each(|round| install(format!("{writer:016x}{round:016x}")));
                writing.fetch_sub(1, Ordering::SeqCst);
            });
        }
        let mut whole = 0;
        while writing.load(Ordering::SeqCst) > 0 || whole == 0 {
            match source.read(&system) {
                Ok(bytes) => {
                    assert!(Consent::read(&bytes).is_ok());
                    whole += 1;
                }
                // The one held was replaced meanwhile: refused, and neither missing nor mixed.
                Err(refusal) => assert!(
                    [Reason::ConsentChangedWhileRead, Reason::ConsentNotPrivate].contains(&refusal.reason()),
                    "{refusal:?}"
                ),
            }
        }
    });
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["consent.json"]);
}

/// The recorded cases, and the reason that stands behind each recorded code; `None` is a load.
const RECORDED: [(&str, Option<Reason>); 21] = [
    ("asset", Some(Reason::ConsentForOtherAsset)),
    ("boundary-order", Some(Reason::ConsentForOtherUse)),
    ("extra-key", Some(Reason::ConsentFieldsWrong)),
    ("nonce-upper", Some(Reason::ConsentNonceInvalid)),
    ("null", Some(Reason::ConsentFieldsWrong)),
    ("profile", Some(Reason::ConsentForOtherProfile)),
    // It calls itself 0.2.0, a version that is known here, and has not its members.
    ("schema", Some(Reason::ConsentFieldsWrong)),
    ("workspace", Some(Reason::ConsentForOtherRoot)),
    ("badjson", Some(Reason::ConsentNotJson)),
    ("16385", Some(Reason::ConsentNotPrivate)),
    ("local", Some(Reason::DestinationUnattested)),
    ("unknown-dest", Some(Reason::DestinationUnknown)),
    ("dest-257", Some(Reason::DestinationUnknown)),
    ("dest-empty", Some(Reason::DestinationUnknown)),
    ("badhostid", Some(Reason::HostIdInvalid)),
    // Listed deviation: the reference lets the last duplicate win and loads.
    ("dupkeys", Some(Reason::ConsentAmbiguousJson)),
    ("16384", None),
    ("crlf", None),
    ("dest-blank", None),
    ("dest-emoji-256", None),
    ("hostid-128", None),
];

#[test]
fn recorded_consents_are_judged_as_recorded() {
    let Ok(shared) = std::env::var("KDNA_SHARED") else {
        println!("skipped: KDNA_SHARED is not set");
        return;
    };
    for (case, expected) in RECORDED {
        let directory = format!("{shared}/golden/cases/mcp-consent-{case}");
        let bytes = std::fs::read(format!("{directory}/files/private/processing-consent.json")).unwrap();
        let reply = std::fs::read(format!("{directory}/stdout")).unwrap();
        let reply = read_javascript(&reply).unwrap();
        let text = reply.get("result").unwrap().get("content").unwrap().as_array().unwrap()[0].get("text").unwrap();
        let reply = read_javascript(text.as_str().unwrap().as_bytes()).unwrap();
        let host_id = match case {
            "badhostid" => "Golden Host!".to_owned(),
            "hostid-128" => "h".repeat(128),
            _ => HOST.to_owned(),
        };
        let root = path(&format!("/golden/mcp-consent-{case}/ws"));
        let digest = |hex| Digest::parse_hex(hex).unwrap();
        let coordinates = Coordinates {
            host_id: &host_id,
            host_root: &root,
            workspace_root: &root,
            asset_digest: digest("0ce68818faeac40a1a50be6205ee5b303e99adb558118d56d12ac5bdb76caecb"),
            attachment_id: ATTACHMENT,
            scope_digest: digest("3476d14f3fdd755a22d42290addd2d03ee38259d59e443d14170314d9eb87fc2"),
            entry_digest: Digest::of(b"not bound by 0.1.0"),
            profile: "compact",
        };
        let judged = Consent::read(&bytes).and_then(|consent| ConsentLease::judge(consent, &coordinates));
        assert_eq!(judged.as_ref().err().map(Refusal::reason), expected, "{case}");
        match judged {
            _ if case == "dupkeys" => {}
            Err(refusal) => {
                let error = reply.get("error").unwrap();
                assert_eq!(error.get("code").unwrap().as_str(), Some(refusal.code().as_str()), "{case}");
                assert_eq!(error.get("message").unwrap().as_str(), Some(refusal.message()), "{case}");
            }
            Ok(lease) => {
                let recorded = write::compact(reply.get("host_processing").unwrap()).unwrap();
                assert_eq!(write::compact(&lease.binding_document()).unwrap(), recorded, "{case}");
            }
        }
    }
}
