//! Many real loads with failures mixed in leave nothing behind: no zombie, no orphan, no descriptor, no memory. A broker
//! that is killed in the middle of a load leaves no child either.
//!
//! `KDNA_SOAK_LOADS` says how many loads (1000).
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

use rustix::process::Signal;
use std::fs;
use std::time::{Duration, Instant};
use support::command::{Exit, LIMIT, Server};
use support::real::{Place, alive, children, code, delivered, refused, signal, status, stop_a_worker, wait_until};

/// Loads before the memory is first looked at: what is allocated once is there by then.
const WARM: u32 = 100;
/// Growth that is allowed afterwards, in KiB.
const GROWTH: u64 = 1024;

fn loads() -> u32 {
    std::env::var("KDNA_SOAK_LOADS").ok().map_or(1000, |text| text.parse().expect("a number"))
}

/// What the kernel knows of the server.
#[derive(Debug)]
struct Held {
    resident: u64,
    descriptors: usize,
    threads: usize,
}

fn held(server: &Server) -> Held {
    let of = |name: &str| status(server.id(), name).unwrap_or_else(|| panic!("{name} of the server"));
    // Not dumpable: only root may list them, FDSize is there for everybody.
    let listed = fs::read_dir(format!("/proc/{}/fd", server.id())).map(Iterator::count);
    Held {
        resident: of("VmRSS").trim_end_matches(" kB").parse().unwrap(),
        descriptors: listed.unwrap_or_else(|_| of("FDSize").parse().unwrap()),
        threads: of("Threads").parse().unwrap(),
    }
}

#[test]
fn a_thousand_loads_leave_nothing_behind() {
    let place = Place::new();
    let mut server = place.serve();
    let (mut passed, mut stopped) = (0, 0);
    let mut warm = None;
    let begun = Instant::now();
    for id in 0..loads().max(2 * WARM) {
        if id == WARM {
            warm = Some(held(&server));
        }
        if one(&place, &mut server, id) {
            passed += 1;
        } else {
            stopped += 1;
        }
        assert_eq!(children(server.id()), Vec::<u32>::new(), "load {id} left a process or a zombie");
    }
    let (warm, end) = (warm.unwrap(), held(&server));
    println!("{passed} delivered, {stopped} not, in {:?}; {warm:?} became {end:?}", begun.elapsed());
    assert!(passed > 100 && stopped > 100, "{passed} delivered, {stopped} not");
    assert!(end.resident < warm.resident + GROWTH, "{warm:?} grew to {end:?}");
    assert_eq!((end.descriptors, end.threads), (warm.descriptors, warm.threads));
    place.rows();
    let ended = server.close();
    assert_eq!((ended.exit, ended.stderr_text()), (Exit::Status(0), String::new()));
}

/// One load, and whether it delivered. Every second one fails in one of six ways.
fn one(place: &Place, server: &mut Server, id: u32) -> bool {
    match id % 12 {
        1 => spoiled(place, server, id),
        3 => unconsented(place, server, id),
        5 => cancelled(place, server, id),
        7 => killed(place, server, id),
        9 => {
            let answer = server.ask(&place.call_in("home", id, "kdna.workspace-load", &[("task", "x".into())]));
            refused(&answer, "workspace_outside_host_root");
            false
        }
        11 => {
            let answer = server.ask(&place.load(id).replace("review the pull request", "write documentation"));
            assert!(!delivered(&answer), "{answer}");
            false
        }
        _ => {
            assert!(delivered(&server.ask(&place.load(id))), "load {id}");
            true
        }
    }
}

/// The stored asset is another.
fn spoiled(place: &Place, server: &mut Server, id: u32) -> bool {
    let path = place.path(Place::snapshot());
    fs::write(&path, support::real::OTHER_ASSET).unwrap();
    let answer = server.ask(&place.load(id));
    fs::write(&path, support::real::ASSET).unwrap();
    assert!(!delivered(&answer), "{answer}");
    false
}

fn unconsented(place: &Place, server: &mut Server, id: u32) -> bool {
    fs::remove_file(place.path("private/consent.json")).unwrap();
    refused(&server.ask(&place.load(id)), "host_processing_consent_invalid");
    place.allow();
    false
}

/// Cancelled while it runs, or just before or after: no answer, or a whole one.
fn cancelled(place: &Place, server: &mut Server, id: u32) -> bool {
    server.send(&place.load(id));
    std::thread::sleep(Duration::from_micros(u64::from(id % 7) * 700));
    server.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#));
    server.send(r#"{"jsonrpc":"2.0","id":"after","method":"tools/call","params":{"name":"none"}}"#);
    let mut answered = false;
    loop {
        let line = server.receive(LIMIT).expect("an answer");
        if line.contains(r#""id":"after""#) {
            return answered;
        }
        answered = delivered(&line);
    }
}

/// Somebody kills the worker, if it can be caught.
fn killed(place: &Place, server: &mut Server, id: u32) -> bool {
    server.send(&place.load(id));
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(20) {
        if let Some(worker) = children(server.id()).first() {
            signal(*worker, Signal::KILL);
            break;
        }
    }
    let answer = server.receive(LIMIT).expect("an answer");
    let expected = ["runtime_unavailable", "sandbox_unavailable", "runtime_rejected"];
    assert!(delivered(&answer) || expected.contains(&code(&answer).as_str()), "{answer}");
    delivered(&answer)
}

#[test]
fn a_broker_that_is_killed_in_the_middle_of_a_load_leaves_no_child() {
    let place = Place::new();
    for _ in 0..5 {
        let mut server = place.serve();
        let (worker, _) = stop_a_worker(&mut server, &place);
        signal(server.id(), Signal::KILL);
        let begun = Instant::now();
        wait_until("the end of the worker", || !alive(worker));
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    // At any moment, a worker that has not confined itself yet included.
    for round in 0..20 {
        let mut server = place.serve();
        (0..20).for_each(|id| server.send(&place.load(id)));
        std::thread::sleep(Duration::from_micros(500 * round));
        let left = children(server.id());
        signal(server.id(), Signal::KILL);
        let begun = Instant::now();
        wait_until("the end of all", || left.iter().all(|worker| !alive(*worker)));
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
    place.rows();
    assert!(delivered(&place.try_load()), "what is left behind does not stop the next one");
}
