//! The broker's own process: ended by a signal it leaves no child and no half line; a file size limit, a closed pipe,
//! closed standard streams and an empty argument vector are survived; a secret is locked in memory or said not to be.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::system::memory::LockedBuffer;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, remove_capability_from_bounding_set, set_capabilities};
use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::command::{Exit, Program, ending_signals};
use support::real::{self, Place, alive, children, delivered, stop_a_worker, wait_until};

/// Runs an ignored test of this file in a process of its own, where it may change what belongs to the process.
fn in_a_process_of_its_own(name: &str, prepare: impl FnOnce(&mut Command)) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", name]);
    prepare(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_signal_ends_an_idle_server_with_the_status_that_names_it() {
    let place = Place::new();
    for (signal, expected) in ending_signals() {
        let mut server = place.serve();
        assert!(delivered(&server.ask(&place.load(1))), "the control: it works");
        real::signal(server.id(), signal);
        let begun = Instant::now();
        wait_until("the end", || !alive(server.id()));
        assert!(begun.elapsed() < Duration::from_secs(1), "{signal:?} took {:?}", begun.elapsed());
        let ended = server.close();
        assert_eq!((ended.exit, ended.stdout_text()), (Exit::Status(expected), String::new()), "{signal:?}");
        assert_eq!(ended.stderr_text(), "", "{signal:?}");
    }
}

#[test]
fn a_signal_in_the_middle_of_a_load_delivers_nothing_and_reaps_the_worker() {
    let place = Place::new();
    for (signal, expected) in ending_signals() {
        let mut server = place.serve();
        let (worker, _) = stop_a_worker(&mut server, &place);
        real::signal(server.id(), signal);
        let ended = server.close();
        assert_eq!((ended.exit, ended.stdout_text()), (Exit::Status(expected), String::new()), "{signal:?}");
        assert!(!fs::exists(format!("/proc/{worker}")).unwrap(), "{signal:?}: the worker is gone and reaped");
        let journal = place.journal();
        let last = journal.lines().last().unwrap();
        assert!(last.contains(r#""event":"refused""#) && last.contains("call_cancelled"), "{last}");
    }
    assert!(place.rows() > 3);
}

#[test]
fn no_line_is_ever_cut_by_a_signal() {
    let place = Place::new();
    for round in 0..12 {
        let mut server = place.serve();
        (1..40).for_each(|id| server.send(&place.load(id)));
        std::thread::sleep(Duration::from_millis(round * 4));
        real::signal(server.id(), Signal::TERM);
        // Its input stays open until it ended: the end of the input would be another reason to end.
        wait_until("the server's end", || !alive(server.id()));
        let ended = server.close();
        assert_eq!(ended.exit, Exit::Status(143));
        for line in ended.stdout_text().lines() {
            assert!(line.starts_with(r#"{"jsonrpc":"2.0""#) && line.ends_with("}}"), "a cut line: {line}");
        }
    }
    place.rows();
}

#[test]
fn a_server_whose_output_nobody_reads_still_ends() {
    let place = Place::new();
    let mut command = place.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let flood = (0..400).map(|id| place.load(id)).collect::<Vec<_>>().join("\n");
    let writer = std::thread::spawn(move || drop(std::io::Write::write_all(&mut input, flood.as_bytes())));
    std::thread::sleep(Duration::from_millis(700));
    real::signal(child.id(), Signal::TERM);
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    writer.join().unwrap();
    assert_eq!(children(child.id()), Vec::<u32>::new());
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let place = Place::new();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" mcp", Program::Broker.path()]);
    let base = place.command(&["mcp"]);
    command.env_clear().envs(base.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut server = support::command::Server::start(command);
    server.ask(real::OPEN);
    real::signal(server.id(), Signal::HUP);
    std::thread::sleep(Duration::from_millis(50));
    assert!(delivered(&server.ask(&place.load(1))), "nohup means nohup");
    real::signal(server.id(), Signal::TERM);
    wait_until("the server's end", || !alive(server.id()));
    assert_eq!(server.close().exit, Exit::Status(143));
}

/// The limit hits the journal, the sealed copy and whatever else is written; each is an error value.
#[test]
fn a_file_size_limit_gives_a_refusal_and_not_a_death() {
    let place = Place::new();
    for bytes in [0, 100, 700, 2000] {
        let mut server = place.serve();
        assert!(delivered(&server.ask(&place.load(1))));
        set_limit(server.id(), Resource::Fsize, bytes);
        let answer = server.ask(&place.load(2));
        assert!(!delivered(&answer), "{bytes}");
        assert!(
            ["journal_unavailable", "workspace_binding_changed"].contains(&real::code(&answer).as_str()),
            "{answer}"
        );
        let status = server.ask(&place.call(3, "kdna.workspace-status", &[]));
        assert!(status.contains("kdna.mcp.workspace-status"), "status still works: {status}");
        assert_eq!(server.close().exit, Exit::Status(0), "{bytes}");
        place.rows();
    }
    assert!(delivered(&place.try_load()), "without the limit the same journal goes on");
}

#[test]
fn a_file_size_limit_from_the_start_is_survived() {
    let place = Place::new();
    let program = format!("ulimit -f 0; exec {} mcp", Program::Broker.path());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &program]).env_clear();
    command.envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut server = support::command::Server::start(command);
    assert!(server.ask(real::OPEN).contains("serverInfo"));
    real::refused(&server.ask(&place.load(1)), "journal_unavailable");
    assert_eq!(server.close().exit, Exit::Status(0));
}

fn set_limit(id: u32, resource: Resource, bytes: u64) {
    let process = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    // The hard limit stays as it is.
    let limit = Rlimit { current: Some(bytes), ..getrlimit(resource) };
    rustix::process::prlimit(process, resource, limit).unwrap();
}

#[test]
fn a_closed_output_ends_the_server_without_a_signal() {
    let place = Place::new();
    let mut command = place.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let _ = std::io::Write::write_all(&mut input, format!("{}\n{}\n", real::OPEN, place.load(1)).as_bytes());
    let status = child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn closed_standard_streams_are_not_given_to_files() {
    let place = Place::new();
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let program = format!("exec {} mcp {closed}", Program::Broker.path());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &program]).env_clear();
        command.envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        let input = format!("{}\n{}\n", real::OPEN, place.load(1));
        let ended = support::command::run(command, Some(input.as_bytes()));
        assert_eq!(ended.exit, Exit::Status(0), "{closed}: {}", ended.stderr_text());
        let answers = closed == "2>&-";
        assert_eq!(delivered(&ended.stdout_text()), answers, "{closed}: {}", ended.stdout_text());
        place.rows();
    }
    // Nothing of the protocol reached the journal or another file.
    assert!(!place.journal().contains("jsonrpc"));
}

#[test]
fn an_empty_argument_vector_is_survived() {
    in_a_process_of_its_own("exec_without_arguments_in_a_process_of_its_own", |_| {});
}

#[test]
#[ignore = "run by an_empty_argument_vector_is_survived, in a process of its own"]
fn exec_without_arguments_in_a_process_of_its_own() {
    // The shell of this test forks by itself: a thread's exec would replace the whole test.
    let me = std::env::current_exe().unwrap();
    let output = Command::new(me)
        .args(["--exact", "--ignored", "--nocapture", "becomes_the_broker_in_a_process_of_its_own"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("hands a project's judgment asset"), "the broker's help: {text}");
}

#[test]
#[ignore = "becomes the broker"]
fn becomes_the_broker_in_a_process_of_its_own() {
    let path = std::ffi::CString::new(Program::Broker.path()).unwrap();
    let none: [&std::ffi::CStr; 0] = [];
    let fault = nix::unistd::execve(&path, &none, &none).unwrap_err();
    panic!("{fault}");
}

#[test]
fn a_secret_that_cannot_be_locked_is_said_to_be_unlocked() {
    assert!(LockedBuffer::new(16_386).is_locked() || getrlimit(Resource::Memlock).current.is_some(), "the control");
    in_a_process_of_its_own("without_lockable_memory_in_a_process_of_its_own", |_| {});
}

#[test]
#[ignore = "run by a_secret_that_cannot_be_locked_is_said_to_be_unlocked, in a process of its own"]
fn without_lockable_memory_in_a_process_of_its_own() {
    forbid_locking();
    let mut buffer = LockedBuffer::new(100);
    assert!(!buffer.is_locked());
    buffer.as_mut_slice().copy_from_slice(&[7; 100]);
    assert_eq!(buffer.as_slice(), [7; 100], "it works all the same");
}

/// Neither the limit nor a capability lets this process, or one it starts, lock memory.
fn forbid_locking() {
    setrlimit(Resource::Memlock, Rlimit { current: Some(0), maximum: Some(0) }).unwrap();
    let _ = remove_capability_from_bounding_set(CapabilitySet::IPC_LOCK);
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none }).unwrap();
}
