//! However a server ends, no runtime process outlives it, and the journal goes on where it stood.

use crate::session::{
    Caught, Names, PHRASE, Reply, Session, all_end, asset, canary, children, is_running, signal, stop_worker,
};
use crate::support::command::{Exit, LIMIT, Server, ending_signals};
use kdna_broker::capability::state::open_state;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::journal::{Journal, verify_directory};
use kdna_broker::system::os::OsSystem;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Enough filler that a worker can be caught while it works.
const BULK: usize = 1 << 20;
const SECOND: Duration = Duration::from_secs(1);

fn session() -> Session {
    Session::new(&asset(&canary("judgment"), BULK), Names { consent: "consent".into(), authorization: "word".into() })
}

/// A server whose `number`th worker was stopped in the middle of a load, and that worker.
fn in_flight(session: &Session, number: usize) -> (Server, Caught) {
    for _ in 0..20 {
        let mut server = session.start();
        server.send(&session.load(1, PHRASE));
        if let Some(worker) = stop_worker(server.id(), number, SECOND * 3) {
            return (server, worker);
        }
    }
    panic!("no worker could be caught");
}

/// The whole journal chains; how many rows it has.
fn journal_rows(session: &Session) -> u64 {
    let system = OsSystem::new();
    let state = AbsolutePath::parse(session.scratch.state().to_str().unwrap()).unwrap();
    let journal = Journal::open(&system, &open_state(&system, &state).unwrap()).unwrap();
    verify_directory(&system, journal.directory()).unwrap().expect("a journal that chains").rows
}

/// The next server works as if nothing had happened.
fn goes_on(session: &Session) {
    let rows = journal_rows(session);
    let mut server = session.start();
    assert!(Reply::read(&server.ask(&session.load(1, PHRASE))).is_delivered());
    assert_eq!(server.close().exit, Exit::Status(0));
    assert_eq!(journal_rows(session), rows + 3, "a start, an intent and a delivery");
}

#[test]
fn a_killed_server_leaves_no_child_after_one_second() {
    let session = session();
    for number in 1..=3 {
        let (server, worker) = in_flight(&session, number);
        assert!(is_running(worker.0));
        signal(server.id(), Signal::KILL);
        assert!(all_end(&[worker.0], SECOND), "worker {number} outlived its server");
        let finished = server.close();
        assert_eq!((finished.exit, finished.stdout.as_slice()), (Exit::Signal(9), b"".as_slice()));
    }
    goes_on(&session);
}

#[test]
fn a_server_that_is_asked_to_end_ends_at_once_and_leaves_no_child() {
    let session = session();
    for (number, (asked, _)) in ending_signals().into_iter().enumerate() {
        let (server, worker) = in_flight(&session, number + 1);
        signal(server.id(), asked);
        assert!(all_end(&[server.id(), worker.0], SECOND), "{asked:?} left a process");
        let finished = server.close();
        assert!(
            [Exit::Signal(asked.as_raw()), Exit::Status(0), Exit::Status(128 + asked.as_raw())]
                .contains(&finished.exit),
            "{asked:?}: {:?}",
            finished.exit
        );
        assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (b"".as_slice(), b"".as_slice()));
    }
    for (asked, _) in ending_signals() {
        let server = session.start();
        signal(server.id(), asked);
        assert!(all_end(&[server.id()], SECOND), "{asked:?} is not heard by an idle server");
    }
    goes_on(&session);
}

#[test]
fn a_killed_worker_is_a_refusal_and_the_server_lives_on() {
    let session = session();
    for number in 1..=3 {
        let (mut server, worker) = in_flight(&session, number);
        signal(worker.0, Signal::KILL);
        let reply = Reply::read(&server.receive(LIMIT).expect("an answer"));
        assert_eq!(reply.refusal(), Some(("runtime_unavailable".into(), "runtime_died".into())));
        assert!(Reply::read(&server.ask(&session.load(2, PHRASE))).is_delivered());
        assert_eq!(children(server.id()), Vec::<u32>::new(), "a worker was not collected");
        assert_eq!(server.close().exit, Exit::Status(0));
    }
}

#[test]
fn a_cancelled_load_ends_its_worker_and_is_never_answered() {
    let session = session();
    for number in 1..=3 {
        let (mut server, worker) = in_flight(&session, number);
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
        assert!(all_end(&[worker.0], SECOND), "a cancelled worker goes on");
        let reply = server.ask(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
        assert!(reply.contains(r#""id":2"#), "{reply}");
        assert!(Reply::read(&server.ask(&session.load(3, PHRASE))).is_delivered());
        let finished = server.close();
        assert_eq!((finished.exit, finished.stdout.as_slice()), (Exit::Status(0), b"".as_slice()));
    }
}

#[test]
fn the_end_of_the_input_does_not_cut_off_a_load_in_flight() {
    let session = session();
    let (server, worker) = in_flight(&session, 2);
    let number = worker.0;
    let waker = spawn(move || {
        sleep(Duration::from_millis(100));
        signal(number, Signal::CONT);
    });
    let finished = server.close();
    waker.join().unwrap();
    assert_eq!(finished.exit, Exit::Status(0));
    let lines: Vec<_> = finished.stdout_text().lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 1);
    assert!(Reply::read(&lines[0]).is_delivered());
    assert!(all_end(&[worker.0], SECOND));
}

/// A greeted server whose pipes a test holds itself.
fn bare(session: &Session) -> (Child, BufReader<impl Read>) {
    let mut child =
        session.command().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    writeln!(child.stdin.as_mut().unwrap(), r#"{{"jsonrpc":"2.0","id":0,"method":"ping"}}"#).unwrap();
    output.read_line(&mut String::new()).unwrap();
    (child, output)
}

fn ends(child: &mut Child, within: Duration) -> bool {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

#[test]
fn a_server_whose_answers_nobody_reads_ends_though_its_input_is_open() {
    let session = session();
    let (mut idle, output) = bare(&session);
    drop(output);
    writeln!(idle.stdin.as_mut().unwrap(), r#"{{"jsonrpc":"2.0","id":1,"method":"ping"}}"#).unwrap();
    assert!(ends(&mut idle, SECOND * 5), "an idle server goes on");

    for _ in 0..20 {
        let (mut busy, output) = bare(&session);
        writeln!(busy.stdin.as_mut().unwrap(), "{}", session.load(1, PHRASE)).unwrap();
        let Some(worker) = stop_worker(busy.id(), 1, SECOND * 3) else {
            busy.kill().unwrap();
            busy.wait().unwrap();
            continue;
        };
        drop(output);
        signal(worker.0, Signal::CONT);
        let ended = ends(&mut busy, SECOND * 10);
        assert!(ended, "a busy server goes on");
        assert!(all_end(&[worker.0], SECOND));
        return;
    }
    panic!("no worker could be caught");
}
