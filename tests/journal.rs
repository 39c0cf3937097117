//! The journal: rows that chain, that say nothing of the content, that are whole or absent, and that cannot be changed in
//! the middle without `verify` naming the place.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "journal/torn.rs"]
mod torn;

use kdna_broker::capability::private_file::PrivateDirectory;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::{read_strict, write};
use kdna_broker::foundation::limits;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::{Code, Reason, Refusal, Stage};
use kdna_broker::foundation::value::Value;
use kdna_broker::journal::{BadRow, Event, Journal, OperationId, RowDraft, Why, verify, verify_directory};
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::sim::{HookAction, SimSystem};
use kdna_broker::system::{Enforcement, Fault, System};
use std::collections::HashSet;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Mutex;
use std::time::Duration;

const STATE: &str = "/home/p/.local/state/kdna-broker";
const SEGMENT: &str = "/home/p/.local/state/kdna-broker/journal/journal-000001.jsonl";

fn machine() -> SimSystem {
    let system = SimSystem::new(5);
    system.arrange(|world| world.directory(STATE, 0o700)).unwrap();
    system
}

fn state<S: System>(system: &S, path: &str) -> PrivateDirectory<S> {
    PrivateDirectory::open(system, &AbsolutePath::parse(path).unwrap()).unwrap()
}

fn open(system: &SimSystem) -> Journal<SimSystem> {
    Journal::open(system, &state(system, STATE)).unwrap()
}

fn bytes(system: &SimSystem) -> Vec<u8> {
    system.arrange(|world| world.content_of(SEGMENT)).unwrap()
}

fn draft<S: System>(system: &S, event: Event) -> RowDraft {
    RowDraft::new(&OperationId::draw(system).unwrap(), event)
}

fn rows(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// A journal of this many rows.
fn filled(count: u64) -> SimSystem {
    let system = machine();
    let journal = open(&system);
    for number in 1..=count {
        assert_eq!(journal.append(&system, &draft(&system, Event::Started)), Ok(number));
    }
    system
}

fn bad(bytes: &[u8]) -> BadRow {
    verify(bytes).expect_err("it verified")
}

#[test]
fn a_row_holds_every_field_and_null_where_nothing_is_known() {
    let system = machine();
    let journal = open(&system);
    let operation = OperationId::draw(&system).unwrap();
    assert_eq!(journal.prove(&system, &operation, Some("golden-host")), Ok(1));
    let full = RowDraft::new(&operation, Event::Refused)
        .refusal(&Refusal::new(Reason::ConsentForOtherAsset))
        .asset(Digest::of(b"asset"))
        .consent(Digest::of(b"consent"))
        .policy(Digest::of(b"policy"))
        .enforcement(Enforcement {
            landlock: 7,
            seccomp: true,
            sealed: true,
            pin: kdna_broker::system::PinKind::Embedded,
            secret_locked: None,
        })
        .attachment("att_000000000000000000000001")
        .and_then(|draft| draft.host("golden-host"))
        .and_then(|draft| draft.processor("Example Inference Ltd"))
        .unwrap();
    assert_eq!(journal.append(&system, &full), Ok(2));

    let written = bytes(&system);
    let lines = rows(&written);
    let read = |line: &[u8]| read_strict(line, 2).unwrap();
    let (first, second) = (read(&lines[0]), read(&lines[1]));
    let policy = read_strict(&std::fs::read("policy/journal.json").unwrap(), 8).unwrap();
    let fields = policy.get("row").unwrap().get("fields").unwrap().as_array().unwrap();
    let names: Vec<&str> = fields.iter().map(|field| field.get("name").unwrap().as_str().unwrap()).collect();
    for row in [&first, &second] {
        assert_eq!(row.as_object().unwrap().keys().collect::<Vec<_>>(), names);
    }
    for field in fields {
        let name = field.get("name").unwrap().as_str().unwrap();
        let expected = field.get("null").unwrap().as_bool().unwrap();
        let given = ["stage", "host_id"].contains(&name);
        assert_eq!(first.get(name).unwrap().is_null(), expected && !given, "{name}");
        assert!(!second.get(name).unwrap().is_null(), "{name}");
    }
    let text = |row: &Value, key: &str| row.get(key).unwrap().as_str().unwrap().to_owned();
    assert_eq!((text(&first, "event"), text(&first, "stage")), ("intended".into(), "journal-open".into()));
    assert_eq!(text(&first, "operation_id"), text(&second, "operation_id"));
    assert_ne!(text(&first, "event_id"), text(&second, "event_id"));
    assert_eq!(text(&second, "code"), "host_processing_consent_invalid");
    assert_eq!(text(&second, "reason"), "consent_for_other_asset");
    assert_eq!(text(&second, "stage"), Stage::ConsentBinding.as_str());
    assert_eq!(text(&second, "account"), "1000");
    assert_eq!(text(&second, "install_id"), journal.install_id());
    let preimage = lines[0].strip_suffix(b"\n").unwrap();
    assert_eq!(text(&second, "previous"), Digest::of(preimage).to_string());
    assert_eq!(
        write::compact(second.get("enforcement").unwrap()).unwrap(),
        "{\"landlock\":7,\"seccomp\":true,\"sealed\":true,\"pin\":\"embedded\"}"
    );
    let verified = verify(&written).unwrap();
    assert_eq!((verified.rows, verified.head), (2, Some(Digest::of(lines[1].strip_suffix(b"\n").unwrap()))));
}

#[test]
fn the_published_format_is_the_written_one() {
    let policy = read_strict(&std::fs::read("policy/journal.json").unwrap(), 8).unwrap();
    let words = |key: &str| -> Vec<String> {
        let words = policy.get("events").unwrap().get(key).unwrap().as_array().unwrap();
        words.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words("written"), Event::ALL.map(Event::as_str));
    assert_eq!(words("reserved"), Event::RESERVED);
    let segments = policy.get("segments").unwrap();
    let number = |key: &str| segments.get(key).unwrap().as_number().and_then(write::number).unwrap();
    assert_eq!(number("segment_bytes"), limits::JOURNAL_SEGMENT_BYTES.to_string());
    assert_eq!(number("row_bytes"), limits::JOURNAL_ROW_BYTES.to_string());
    let system = filled(1);
    let mut files: Vec<String> = system.arrange(|world| world.paths());
    files.retain(|path| path.starts_with(&format!("{STATE}/journal/")));
    let mut expected: Vec<&str> =
        segments.get("other_files").unwrap().as_array().unwrap().iter().filter_map(Value::as_str).collect();
    expected.extend(segments.get("first").unwrap().as_str());
    expected.sort_unstable();
    files.sort();
    assert_eq!(files, expected.iter().map(|name| format!("{STATE}/journal/{name}")).collect::<Vec<_>>());
}

#[test]
fn the_install_identifier_is_drawn_once() {
    let system = machine();
    let first = open(&system).install_id().to_owned();
    assert_eq!(open(&system).install_id(), first);
    assert_ne!(open(&machine_of(6)).install_id(), first);
    for (path, mode) in [("journal", 0o700), ("journal/install-id", 0o600), ("journal/lock", 0o600)] {
        assert_eq!(system.arrange(|world| world.facts_of(&format!("{STATE}/{path}"))).unwrap().mode, mode, "{path}");
    }
}

fn machine_of(seed: u64) -> SimSystem {
    let system = SimSystem::new(seed);
    system.arrange(|world| world.directory(STATE, 0o700)).unwrap();
    system
}

#[test]
fn verify_names_the_first_row_that_was_tampered_with() {
    let good = bytes(&filled(5));
    assert_eq!(verify(&good).unwrap().rows, 5);
    let lines = rows(&good);
    let joined = |order: &[usize]| order.iter().flat_map(|at| lines[*at].clone()).collect::<Vec<u8>>();
    let row = |number, why| BadRow { number, why };
    assert_eq!(bad(&joined(&[1, 2, 3, 4])), row(1, Why::Sequence), "the first row deleted");
    assert_eq!(bad(&joined(&[0, 2, 3, 4])), row(2, Why::Sequence), "a row deleted");
    assert_eq!(bad(&joined(&[0, 2, 1, 3, 4])), row(2, Why::Sequence), "rows swapped");
    assert_eq!(bad(&joined(&[0, 1, 1, 2, 3, 4])), row(3, Why::Sequence), "a row duplicated");
    assert_eq!(bad(&joined(&[0, 1, 4, 2, 3])), row(3, Why::Sequence), "a row moved");

    // A row edited so that it still looks like one is found by the next row's digest.
    let edit = |at: usize, from: &str, to: &str| {
        let mut lines = lines.clone();
        let text = String::from_utf8(lines[at].clone()).unwrap();
        assert!(text.contains(from), "{from} in {text}");
        lines[at] = text.replacen(from, to, 1).into_bytes();
        lines.concat()
    };
    assert_eq!(bad(&edit(2, "started", "delivered")), row(4, Why::Chain));
    assert_eq!(bad(&edit(2, "\"account\":\"1000\"", "\"account\":\"1001\"")), row(4, Why::Chain));
    assert_eq!(bad(&edit(2, "\"sequence\":3", "\"sequence\":4")), row(3, Why::Sequence), "renumbered");
    assert_eq!(
        bad(&edit(0, "\"previous\":null", &format!("\"previous\":\"{}\"", Digest::of(b"x")))),
        row(1, Why::Chain)
    );

    // A row inserted with the right number and chain breaks the next one.
    let mut inserted = lines.clone();
    let forged = String::from_utf8(lines[2].clone()).unwrap().replacen("started", "delivered", 1);
    inserted.insert(2, forged.into_bytes());
    assert_eq!(bad(&inserted.concat()), row(4, Why::Sequence));

    // A row of another journal.
    let other = bytes(&{
        let system = machine_of(99);
        let journal = open(&system);
        for _ in 0..5 {
            journal.append(&system, &draft(&system, Event::Started)).unwrap();
        }
        system
    });
    let mut mixed = lines.clone();
    mixed[3].clone_from(&rows(&other)[3]);
    assert_eq!(bad(&mixed.concat()), row(4, Why::Chain));
}

#[test]
fn verify_refuses_every_row_that_is_not_written_in_its_one_form() {
    let good = String::from_utf8(bytes(&filled(1))).unwrap();
    for (from, to, why) in [
        ("\"event\":\"started\"", "\"event\":\"started\",\"event\":\"delivered\"", Why::DuplicateKey),
        ("\"event\":\"started\"", "\"event\":\"started\",\"\\u0065vent\":\"delivered\"", Why::DuplicateKey),
        ("\"code\":null,", "", Why::Fields),
        ("\"code\":null", "\"code\":null,\"task\":\"text\"", Why::Fields),
        ("\"code\":null,\"reason\":null", "\"reason\":null,\"code\":null", Why::Fields),
        ("\"code\":null", "\"code\": null", Why::Form),
        ("\"sequence\":1", "\"sequence\":1.0", Why::Form),
        ("started", "st\\u0061rted", Why::Form),
        ("\"sequence\":1", "\"sequence\":\"1\"", Why::Value),
        ("\"sequence\":1", "\"sequence\":0", Why::Value),
        ("\"sequence\":1", "\"sequence\":1.5", Why::Value),
        ("started", "pretended", Why::Value),
        ("\"host_id\":null", "\"host_id\":\"Bad Host\"", Why::Value),
        ("\"stage\":null", "\"stage\":\"Any text at all\"", Why::Value),
        ("\"previous\":null", "\"previous\":\"sha256:00\"", Why::Value),
        ("\"enforcement\":null", "\"enforcement\":{\"landlock\":1,\"seccomp\":true}", Why::Value),
        ("\"enforcement\":null", "\"enforcement\":{\"landlock\":1,\"seccomp\":true,\"sealed\":[[1]]}", Why::NotJson),
        (
            "\"enforcement\":null",
            "\"enforcement\":{\"landlock\":1,\"seccomp\":true,\"sealed\":true,\"pin\":true}",
            Why::Value,
        ),
        ("{", "x{", Why::NotJson),
        ("}\n", "}x\n", Why::NotJson),
        ("}\n", "}\0\n", Why::NotJson),
        ("{", "\n{", Why::NotJson),
        ("}\n", "}", Why::NotComplete),
        ("\"processor\":null", &format!("\"processor\":\"{}\"", "x".repeat(257)), Why::Value),
        ("\"processor\":null", &format!("\"processor\":\"{}\"", "x".repeat(17_000)), Why::TooLong),
    ] {
        assert!(good.contains(from));
        assert_eq!(bad(good.replacen(from, to, 1).as_bytes()), BadRow { number: 1, why }, "{from} -> {to}");
    }
    let earlier = "\"enforcement\":{\"landlock\":1,\"seccomp\":true,\"sealed\":true}";
    let earlier = good.replacen("\"enforcement\":null", earlier, 1);
    assert_eq!(verify(earlier.as_bytes()).unwrap().rows, 1, "rows from before the pin kind stay valid");
    assert_eq!(bad(b"\xff\n").why, Why::NotJson);
    assert_eq!(verify(b"").unwrap().rows, 0);
}

#[test]
fn every_single_byte_that_is_flipped_before_the_last_row_is_noticed() {
    let good = bytes(&filled(3));
    let last = rows(&good)[2].len();
    for at in 0..good.len() - last {
        let mut flipped = good.clone();
        flipped[at] ^= 1;
        assert!(verify(&flipped).is_err(), "byte {at}");
    }
}

#[test]
fn foreign_text_stays_inside_its_row() {
    let system = machine();
    let journal = open(&system);
    let hostile = [
        "x\n{\"event\":\"delivered\"}\n",
        "\"},{\"event\":\"delivered\"",
        "\u{1b}[2J\u{85}\u{2028}\u{2029}\u{202e}\r\0\u{7f}",
        "\u{1f9ef}文\u{e0041}",
    ];
    for text in hostile {
        journal.append(&system, &draft(&system, Event::Delivered).processor(text).unwrap()).unwrap();
    }
    let written = bytes(&system);
    assert_eq!(rows(&written).len(), hostile.len());
    assert!(written.iter().all(|byte| *byte == b'\n' || (b' '..=b'~').contains(byte)), "printable ASCII only");
    assert_eq!(verify(&written).unwrap().rows, 4);
    for (line, text) in rows(&written).iter().zip(hostile) {
        let row = read_strict(line, 2).unwrap();
        assert_eq!(row.get("processor").unwrap().as_str(), Some(text));
        assert_eq!(row.get("event").unwrap().as_str(), Some("delivered"));
    }
}

#[test]
fn what_is_no_identifier_never_gets_into_a_row() {
    let system = machine();
    let draft = || draft(&system, Event::Refused);
    for refused in [
        draft().attachment("att_x"),
        draft().attachment("review the pull request"),
        draft().host("Golden Host!"),
        draft().host(&"h".repeat(129)),
        draft().processor(""),
        draft().processor(&"x".repeat(257)),
    ] {
        assert_eq!(refused.unwrap_err().reason(), Reason::Internal);
    }
}

#[test]
fn a_last_row_that_does_not_chain_is_not_continued() {
    let good = bytes(&filled(3));
    let lines = rows(&good);
    for damaged in [
        [lines[0].clone(), lines[2].clone()].concat(),
        [lines[1].clone(), lines[0].clone()].concat(),
        b"{}\n".to_vec(),
        b"\n".to_vec(),
        [good.clone(), b"\n".to_vec()].concat(),
    ] {
        let system = machine();
        let journal = open(&system);
        system.arrange(|world| world.file(SEGMENT, 0o600, &damaged)).unwrap();
        let refusal = journal.append(&system, &draft(&system, Event::Started)).unwrap_err();
        assert_eq!((refusal.reason(), refusal.code()), (Reason::JournalTorn, Code::JournalUnavailable));
        assert_eq!(bytes(&system), damaged);
    }
}

#[test]
fn rows_that_this_process_wrote_are_missed_when_they_are_gone() {
    let system = machine();
    let journal = open(&system);
    for _ in 0..3 {
        journal.append(&system, &draft(&system, Event::Started)).unwrap();
    }
    let whole = bytes(&system);
    let other = machine();
    let stranger = open(&other);
    for _ in 0..3 {
        stranger.append(&other, &draft(&other, Event::Withheld)).unwrap();
    }
    let replaced = bytes(&other);
    assert_ne!(replaced, whole);
    for (label, left) in [("cut", rows(&whole)[..2].concat()), ("emptied", Vec::new()), ("replaced", replaced)] {
        system.arrange(|world| world.set_content(SEGMENT, &left)).unwrap();
        assert!(verify(&left).is_ok(), "{label}: nobody else can tell");
        let refusal = journal.append(&system, &draft(&system, Event::Started)).unwrap_err();
        assert_eq!(refusal.reason(), Reason::JournalTorn, "{label}");
        assert_eq!(bytes(&system), left, "{label}");
    }
    system.arrange(|world| world.remove(SEGMENT)).unwrap();
    let refusal = journal.append(&system, &draft(&system, Event::Started)).unwrap_err();
    assert_eq!(refusal.reason(), Reason::JournalTorn);
    // One that is started anew begins again.
    system.arrange(|world| world.remove(SEGMENT)).unwrap_or(());
    assert_eq!(open(&system).append(&system, &draft(&system, Event::Started)), Ok(1));
}

#[test]
fn a_row_is_whole_or_absent_whatever_call_fails() {
    let system = filled(2);
    let journal = open(&system);
    system.clear_log();
    journal.append(&system, &draft(&system, Event::Started)).unwrap();
    let calls = u64::try_from(system.log().len()).unwrap();
    let mut refused = 0;
    for failing in 1..=calls {
        for action in [
            HookAction::Fail(Fault::NoSpace),
            HookAction::Fail(Fault::Io(5)),
            HookAction::Fail(Fault::Locked),
            HookAction::Short(0),
            HookAction::Short(40),
        ] {
            let system = filled(2);
            let journal = open(&system);
            let row = draft(&system, Event::Started);
            let before = bytes(&system);
            system.clear_log();
            system.set_hook(move |_, event| if event.number == failing { action } else { HookAction::Proceed });
            let result = journal.append(&system, &row);
            system.clear_hook();
            match result {
                Ok(number) => assert_eq!((number, rows(&bytes(&system)).len()), (3, 3)),
                Err(refusal) => {
                    refused += 1;
                    assert_eq!(refusal.code(), Code::JournalUnavailable);
                    assert_eq!(bytes(&system), before, "call {failing}: {action:?}");
                }
            }
            journal.append(&system, &row).unwrap();
            assert!(verify(&bytes(&system)).is_ok());
        }
    }
    assert!(refused >= 5 * 6, "only {refused} of {calls} calls were refused");
}

#[test]
fn a_journal_that_is_no_private_file_is_neither_read_nor_written() {
    type Change = fn(&mut kdna_broker::system::sim::World, &str);
    let changes: [(&str, Change); 6] = [
        ("link", |world, path| {
            world.file("/etc/x", 0o600, b"victim").unwrap();
            world.link(path, "/etc/x").unwrap();
        }),
        ("fifo", |world, path| world.fifo(path, 0o600).unwrap()),
        ("directory", |world, path| {
            let _ = world.remove(path);
            world.directory(path, 0o700).unwrap();
        }),
        ("readable", |world, path| world.set_mode(path, 0o640).unwrap()),
        ("second name", |world, path| world.hard_link(path, "/home/p/copy").unwrap()),
        ("another's", |world, path| world.set_owner(path, 4711).unwrap()),
    ];
    for name in ["journal-000001.jsonl", "lock"] {
        for (what, change) in changes {
            let system = filled(1);
            let journal = open(&system);
            system.arrange(|world| change(world, &format!("{STATE}/journal/{name}")));
            let refusal = journal.append(&system, &draft(&system, Event::Started)).unwrap_err();
            assert_eq!(refusal.reason(), Reason::JournalUnwritable, "{name}: {what}");
            if let Ok(victim) = system.arrange(|world| world.content_of("/etc/x")) {
                assert_eq!(victim, b"victim");
            }
        }
    }
    let system = filled(1);
    let journal = open(&system);
    system.arrange(|world| world.set_mode(&format!("{STATE}/journal"), 0o750)).unwrap();
    assert_eq!(
        journal.append(&system, &draft(&system, Event::Started)).unwrap_err().reason(),
        Reason::JournalUnwritable
    );
}

#[test]
fn a_lock_that_is_not_released_refuses() {
    let system = filled(1);
    let journal = open(&system);
    system.arrange(|world| world.hold_lock(&format!("{STATE}/journal/lock"), Duration::from_secs(3600))).unwrap();
    assert_eq!(
        journal.append(&system, &draft(&system, Event::Started)).unwrap_err().reason(),
        Reason::JournalUnwritable
    );
    assert_eq!(rows(&bytes(&system)).len(), 1);
}

#[test]
fn a_full_segment_is_followed_by_the_next_one_in_the_same_chain() {
    let system = machine();
    let journal = open(&system);
    let long = "\u{1f9ef}".repeat(128);
    let second = format!("{STATE}/journal/journal-000002.jsonl");
    let mut count = 0;
    while system.arrange(|world| world.content_of(&second)).is_err() {
        count = journal.append(&system, &draft(&system, Event::Started).processor(&long).unwrap()).unwrap();
        assert!(count < 2000, "no second segment");
    }
    assert!(bytes(&system).len() <= usize::try_from(limits::JOURNAL_SEGMENT_BYTES).unwrap());
    let verified = || verify_directory(&system, &state(&system, &format!("{STATE}/journal"))).unwrap().unwrap();
    assert_eq!(verified().rows, count);
    // Another process, which knows nothing, continues; so does one that finds the new segment still empty.
    assert_eq!(open(&system).append(&system, &draft(&system, Event::Started)), Ok(count + 1));
    system.arrange(|world| world.file(&second, 0o600, b"")).unwrap();
    assert_eq!(open(&system).append(&system, &draft(&system, Event::Started)), Ok(count));
    assert_eq!(verified().rows, count);
    // A missing segment is not passed over.
    system.arrange(|world| world.remove(SEGMENT)).unwrap();
    let refusal = verify_directory(&system, &state(&system, &format!("{STATE}/journal"))).unwrap_err();
    assert_eq!(refusal.reason(), Reason::JournalTorn);
    let refusal = open(&system).append(&system, &draft(&system, Event::Started)).unwrap_err();
    assert_eq!(refusal.reason(), Reason::JournalTorn, "nor continued");
}

/// A state directory on the real system.
fn real_state() -> (tempfile::TempDir, String) {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let path = place.path().canonicalize().unwrap().to_str().unwrap().to_owned();
    (place, path)
}

#[test]
fn many_writers_make_one_chain() {
    const WRITERS: u64 = 8;
    const ROWS: u64 = 25;
    let (_place, path) = real_state();
    let system = OsSystem::new();
    let shared = Journal::open(&system, &state(&system, &path)).unwrap();
    let numbers = Mutex::new(HashSet::new());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (shared, numbers, path) = (&shared, &numbers, &path);
            scope.spawn(move || {
                // Half of them share a journal, half open their own, as other processes do.
                let own = (writer % 2 == 0).then(|| Journal::open(&system, &state(&system, path)).unwrap());
                let journal = own.as_ref().unwrap_or(shared);
                for _ in 0..ROWS {
                    let number = journal.append(&system, &draft(&system, Event::Started)).unwrap();
                    assert!(numbers.lock().unwrap().insert(number), "{number} was given twice");
                }
            });
        }
    });
    let verified = verify(&std::fs::read(format!("{path}/journal/journal-000001.jsonl")).unwrap()).unwrap();
    assert_eq!(verified.rows, WRITERS * ROWS);
    let checked = verify_directory(&system, &state(&system, &format!("{path}/journal"))).unwrap().unwrap();
    assert_eq!(checked, verified);
}

#[test]
fn on_the_real_system_a_full_device_or_an_odd_file_refuses() {
    let (_place, path) = real_state();
    let system = OsSystem::new();
    let journal = Journal::open(&system, &state(&system, &path)).unwrap();
    journal.append(&system, &draft(&system, Event::Started)).unwrap();
    let segment = format!("{path}/journal/journal-000001.jsonl");
    assert_eq!(std::fs::metadata(&segment).unwrap().permissions().mode() & 0o7777, 0o600);
    std::fs::remove_file(&segment).unwrap();
    std::os::unix::fs::symlink("/dev/full", &segment).unwrap();
    assert_eq!(
        journal.append(&system, &draft(&system, Event::Started)).unwrap_err().reason(),
        Reason::JournalUnwritable
    );
}
