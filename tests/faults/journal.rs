//! The journal and the disk: edits, odd files, no space, many writers.

use super::meanwhile;
use super::simulated::{ASSET, CONSENT_PATH, RECORD_PATH, broker, load, snapshot_path, system};
use crate::support::command::{Exit, Server, run};
use crate::support::real::{self, Place, delivered, refused};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::refusal::{Code, Reason};
use kdna_broker::foundation::value::Value;
use kdna_broker::journal::verify;
use kdna_broker::system::Fault;
use kdna_broker::system::sim::{Call, HookAction, SimSystem};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

/// A place with a journal of some rows.
fn journalled() -> (Place, String) {
    let place = Place::new();
    let mut server = place.serve();
    (0..3).for_each(|id| assert!(delivered(&server.ask(&place.load(id)))));
    let journal = place.journal();
    assert!(verify(journal.as_bytes()).unwrap().rows >= 7, "the control");
    (place, journal)
}

#[test]
fn audit_chain_edit() {
    let (_, journal) = journalled();
    let rows: Vec<&str> = journal.lines().collect();
    let joined = |rows: &[&str]| rows.iter().map(|row| format!("{row}\n")).collect::<Vec<_>>().concat();
    let (a, b, c) = (rows[1], rows[2], rows[3]);
    let edits = [
        ("deleted", joined(&[&rows[..2], &rows[3..]].concat()), 3),
        ("swapped", joined(&[&rows[..1], &[b, a], &rows[3..]].concat()), 2),
        ("doubled", joined(&[&rows[..3], &[b], &rows[3..]].concat()), 4),
        ("inserted", joined(&[&rows[..2], &[c], &rows[2..]].concat()), 3),
    ];
    for (name, edited, first_bad) in edits {
        assert_eq!(verify(edited.as_bytes()).unwrap_err().number, first_bad, "{name}");
    }
    for place in (0..rows[0].len() + rows[1].len()).step_by(7) {
        let mut bytes = journal.clone().into_bytes();
        bytes[place] ^= 1;
        assert!(verify(&bytes).is_err(), "byte {place}");
    }
}

#[test]
fn dur_torn_audit_tail() {
    let (place, journal) = journalled();
    let directory = place.scratch.state().join("journal");
    let (path, next) = (directory.join("journal-000001.jsonl"), directory.join("journal-000002.jsonl"));
    let last = journal.trim_end().rfind('\n').unwrap() + 1;
    let line = journal[..last].lines().count() + 1;
    for length in (last + 1..journal.len()).step_by(41) {
        fs::write(&path, &journal.as_bytes()[..length]).unwrap();
        let bad = verify(&fs::read(&path).unwrap()).unwrap_err();
        assert_eq!(bad.number, u64::try_from(line).unwrap(), "{length}: the torn row is named");
        assert!(delivered(&place.try_load()), "{length}");
        assert_eq!(fs::read(&path).unwrap(), &journal.as_bytes()[..length], "history is never rewritten");
        let behind = fs::read_to_string(&next).unwrap();
        assert!(behind.lines().next().unwrap().contains("\"event\":\"recovered\""), "{behind}");
        assert_eq!(behind.matches("recovered").count(), 1, "said once");
        let ended = run(place.command(&["audit", "verify"]), None);
        assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stdout_text());
        let said = format!("cut off while it was written (line {line} of segment 1); row {line} goes on behind it.");
        assert!(ended.stdout_text().contains(&said), "{}", ended.stdout_text());
        fs::remove_file(&next).unwrap();
    }
    fs::write(&path, &journal).unwrap();
    assert!(delivered(&place.try_load()));
    assert!(!next.exists(), "the control");
}

#[test]
fn audit_log_injection() {
    let place = Place::new();
    let before = {
        place.serve().close();
        place.rows()
    };
    let forged = "golden-host\n{\"event\":\"delivered\"}";
    let mut server = place.serve_with(|command| command.env("KDNA_MCP_HOST_ID", forged));
    refused(&server.ask(&place.load(1)), super::CONSENT_INVALID);
    server.close();
    let rows = place.rows();
    assert_eq!(rows, before + 3, "started, intended, refused");
    assert_eq!(place.journal().lines().filter(|line| line.contains("delivered")).count(), 0);
}

#[test]
fn audit_path_as_weapon() {
    type Make = fn(&Path);
    let makes: [(&str, Make); 4] = [
        ("a link", |path| symlink("/etc/hostname", path).unwrap()),
        ("a directory", |path| fs::create_dir(path).unwrap()),
        ("a FIFO", |path| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
        ("open to others", |path| {
            fs::write(path, "").unwrap();
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        }),
    ];
    for (name, make) in makes {
        let place = Place::new();
        place.scratch.directory("state/journal", 0o700);
        make(&place.scratch.state().join("journal/journal-000001.jsonl"));
        let begun = Instant::now();
        let mut server = place.serve();
        refused(&server.ask(&place.load(1)), "journal_unavailable");
        assert!(begun.elapsed() < Duration::from_secs(5), "{name}");
        assert!(server.ask(&place.call(2, "kdna.workspace-status", &[])).contains("workspace-status"), "{name}");
    }
    // Inside the workspace, or in a directory that others may enter: no start, or no load.
    let place = Place::new();
    let inside = place.scratch.directory("ws/state", 0o700);
    let ended = place.start(|command| command.env("KDNA_BROKER_STATE_DIR", inside));
    assert!(ended.stderr_text().contains("root_holds_state"), "{}", ended.stderr_text());
    let open = place.scratch.directory("open", 0o755);
    let mut server = place.serve_with(|command| command.env("KDNA_BROKER_STATE_DIR", open));
    refused(&server.ask(&place.load(1)), "journal_unavailable");
}

#[test]
fn audit_contains_secret() {
    let place = Place::new();
    let canary = "canary-5f3759df review the pull request";
    let mut server = place.serve();
    for tool in ["kdna.workspace-resolve", "kdna.workspace-load"] {
        server.ask(&place.call(1, tool, &[("task", Value::from(canary))]));
    }
    assert!(delivered(&server.ask(&place.load(2))));
    let ended = server.close();
    let digest = kdna_broker::foundation::digest::Digest::of(canary.as_bytes()).hex();
    for entry in fs::read_dir(place.scratch.state().join("journal")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for content in ["canary-5f3759df", digest.as_str(), real::CANARY, real::TASK] {
            assert!(!text.contains(content), "{content}: {text}");
        }
    }
    assert_eq!(ended.stderr_text(), "");
}

#[test]
fn audit_concurrent() {
    let place = Place::new();
    place.serve().close();
    let before = place.rows();
    let mut servers: Vec<Server> = (0..8).map(|_| place.serve()).collect();
    for server in &mut servers {
        (0..10).for_each(|id| server.send(&place.load(id)));
    }
    for server in servers {
        let answers = server.close().stdout_text();
        assert_eq!(answers.lines().filter(|line| delivered(line)).count(), 10, "{answers}");
    }
    assert_eq!(place.rows(), before + 8 * (1 + 2 * 10), "one start, and two rows a load");
}

/// Every call of the journal fails once in a load.
fn failing(fault: Fault, short: bool) {
    let mut failures = 0;
    for number in 1.. {
        let system = system();
        let server = broker(&system, Delegate::embedded(), None);
        system.clear_log();
        let fired = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seen = std::sync::Arc::clone(&fired);
        let mut changes = 0;
        system.set_hook(move |_, event| {
            if event.call.changes() && event.at.starts_with("/state") {
                changes += 1;
                if changes == number {
                    seen.store(true, std::sync::atomic::Ordering::SeqCst);
                    return if short { HookAction::Short(7) } else { HookAction::Fail(fault) };
                }
            }
            HookAction::Proceed
        });
        let outcome = load(&server);
        if !fired.load(std::sync::atomic::Ordering::SeqCst) {
            assert!(outcome.is_ok(), "without a failure it delivers");
            break;
        }
        failures += 1;
        let refusal = outcome.expect_err("a load that is not recorded is not delivered");
        assert_eq!(refusal.code(), Code::JournalUnavailable, "call {number}");
        intact(&system);
    }
    assert!(failures >= 4, "only {failures} calls could fail");
}

fn intact(system: &SimSystem) {
    system.clear_hook();
    system.arrange(|world| {
        let journal = world.content_of("/state/journal/journal-000001.jsonl").unwrap();
        assert!(verify(&journal).is_ok(), "a row is whole or absent");
        assert_eq!(world.content_of(RECORD_PATH).unwrap(), super::simulated::RECORD);
        assert_eq!(world.content_of(&snapshot_path()).unwrap(), ASSET);
        assert!(world.content_of(CONSENT_PATH).is_ok());
        assert!(world.paths().iter().all(|path| !path.contains(".tmp")), "a temporary file is left");
    });
}

#[test]
fn dur_enospc() {
    failing(Fault::NoSpace, false);
    failing(Fault::Io(5), false);
    failing(Fault::NoSpace, true);
}

#[test]
fn dur_readonly_fs() {
    let system = system();
    let server = broker(&system, Delegate::embedded(), None);
    system.clear_log();
    system.set_hook(
        |_, event| {
            if event.call.changes() { HookAction::Fail(Fault::NoSpace) } else { HookAction::Proceed }
        },
    );
    assert_eq!(load(&server).unwrap_err().reason(), Reason::JournalUnwritable);
    assert_eq!(system.calls(Call::Run), 0, "nothing was started");
    if rustix::process::geteuid().is_root() {
        return; // no mode keeps root from writing
    }
    let place = Place::new();
    drop(place.serve());
    let journal = place.scratch.state().join("journal/journal-000001.jsonl");
    fs::set_permissions(&journal, std::os::unix::fs::PermissionsExt::from_mode(0o400)).unwrap();
    let answer = place.try_load();
    refused(&answer, "journal_unavailable");
}

#[test]
fn dur_no_dir_fsync() {
    let system = system();
    let server = broker(&system, Delegate::embedded(), None);
    system.clear_log();
    assert!(load(&server).is_ok());
    let journal = |event: &&kdna_broker::system::sim::CallEvent| event.at.starts_with("/state/journal/journal-");
    let calls: Vec<Call> = system.log().iter().filter(journal).map(|event| event.call).collect();
    let writes: Vec<usize> =
        calls.iter().enumerate().filter(|(_, call)| **call == Call::Write).map(|(at, _)| at).collect();
    assert_eq!(writes.len(), 2, "the intent and the delivery: {calls:?}");
    for at in writes {
        let sync = calls[at..].iter().position(|call| *call == Call::SyncFile);
        let next = calls[at + 1..].iter().position(|call| *call == Call::Write).map(|next| next + 1);
        assert!(sync.is_some() && next.is_none_or(|next| sync.unwrap() < next), "a row counts before it is durable");
    }
    let crashed = system.crash(kdna_broker::system::sim::Crash {
        entries: kdna_broker::system::sim::Entries::Lost,
        content: kdna_broker::system::sim::Content::Lost,
    });
    let kept = crashed.arrange(|world| world.content_of("/state/journal/journal-000001.jsonl")).unwrap();
    assert!(
        String::from_utf8(kept).unwrap().contains(r#""event":"delivered""#),
        "the delivery survives the power loss"
    );
}

#[test]
fn dur_nonatomic() {
    let place = Place::new();
    let mut consent = place.consent();
    let mut rotations = 0_u32;
    let rotate = || {
        rotations += 1;
        consent.nonce = format!("{rotations:032}");
        let next = place.scratch.file("private/next", consent.bytes(), 0o600);
        fs::rename(next, place.path("private/consent.json")).unwrap();
        if rotations.is_multiple_of(32) {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let (passed, rotated) = meanwhile(rotate, || {
        let mut server = place.serve();
        let answers = (0..150).map(|id| server.ask(&place.load(id)));
        answers.filter(|answer| delivered(answer) || torn(answer)).count()
    });
    assert!(rotated > 100, "{rotated}");
    println!("{passed} of 150 met no rotation");
    assert!(delivered(&place.try_load()));
}

/// Fails for anything but a consent that was exchanged while it was looked at.
fn torn(answer: &str) -> bool {
    refused(answer, super::CONSENT_INVALID);
    let reasons = ["consent_changed", "consent_changed_while_read"];
    assert!(reasons.contains(&real::reason(answer).as_str()), "a torn document was read: {answer}");
    false
}
