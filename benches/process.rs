//! What starting and asking the built programs costs, beside bare process starts measured in the same run, and what each
//! measure of the sandbox adds. Prints milliseconds (p50, p95) and resident memory; judges nothing: a noisy machine must
//! not fail a build.
//!
//! A load starts this product's executable three times. It is measured in starts of that executable without any measure,
//! which is what the measures and the work of a load are an addition to; and, since it is the smallest program that every
//! reader has, in starts of `/bin/true`.
//!
//! For the measures this executable is its own worker: it applies as many of them as the file `measures` in its directory
//! says, tells that it is ready, and ends.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be arranged must stop, and says why"
)]

#[path = "../tests/support/mod.rs"]
mod support;
mod timing;

use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::system::os::confine::{self, Level};
use kdna_broker::system::os::{OsSystem, worker_io};
use kdna_broker::system::{Cancel, ChildOrder, Observe as _, System as _};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::command::{LIMIT, Program, Scratch, Server};
use support::golden::{Case, Stage};
use support::package;
use timing::{at, times};

const STARTS: usize = 50;
const LOADS: usize = 200;
const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("--runtime-worker") {
        return worker();
    }
    println!("{:44} {:>8} {:>8}   ({STARTS} starts, {LOADS} calls)", "", "p50 ms", "p95 ms");
    row("start of /bin/true", &times(STARTS, bare));
    let scratch = Scratch::new();
    let root = scratch.directory("ws", 0o755);
    let empty = || {
        let mut command = scratch.command(Program::Broker, ["mcp"]);
        command.env("KDNA_MCP_WORKSPACE_ROOT", &root);
        command
    };
    row("start, initialize, tools/list", &times(STARTS, || drop(opened(empty()))));
    let mut server = opened(empty());
    println!("{:44} {:>8}", "resident memory, idle (KiB)", resident(&server));
    row("a call that does no work (ping)", &times(LOADS * 10, || drop(server.ask(PING))));
    println!("{:44} {:>8}", "resident memory, after them (KiB)", resident(&server));
    drop(server);
    let load = loads();
    let three = times(STARTS, || (0..3).for_each(|_| bare()));
    row("start of /bin/true, three in a row", &three);
    let bare_worker = measures();
    if let Some(load) = load {
        let ratio = |name: &str, start: f64| println!("{name:44} {:>8.2}", at(&load, 50) / start);
        println!();
        ratio("a load, in three bare starts of the worker", 3.0 * bare_worker);
        ratio("a load, in three starts of /bin/true", at(&three, 50));
    }
}

type Measure = fn() -> Result<(), &'static str>;

/// The measures in the order in which a worker takes them.
const MEASURES: [(&str, Measure); 9] = [
    ("descriptors", confine::close_other_descriptors),
    ("session", confine::new_session),
    ("parent-death", || confine::die_with_parent(worker_io::parent_id().expect("a parent"))),
    ("no-new-privileges", confine::no_new_privileges),
    ("capabilities", confine::drop_capabilities),
    ("dumpable", confine::not_dumpable),
    ("limits", confine::limit_resources),
    ("landlock", || confine::landlock(true, None).map(drop)),
    ("seccomp", confine::filter_calls),
];

fn worker() {
    let count: usize = fs::read_to_string("measures").expect("how many").parse().expect("a number");
    for (name, measure) in &MEASURES[..count] {
        measure().unwrap_or_else(|_| panic!("{name}"));
    }
    worker_io::ready(Level { landlock: 0, seccomp: count == MEASURES.len() }).expect("somebody listens");
}

/// The cost of a worker with none of the measures, with the first, with the first two, and so on. Taken in turns, so that
/// a slow moment of the machine falls on all of them. Gives the median of the worker without any, in milliseconds.
fn measures() -> f64 {
    let scratch = Scratch::new();
    let system = OsSystem::new();
    let place = AbsolutePath::parse(scratch.path().to_str().expect("a plain path")).expect("a path");
    let directory = system.open_directory(&place).expect("a directory");
    let mut all = vec![Vec::new(); MEASURES.len() + 1];
    for _ in 0..LOADS {
        for (count, times) in all.iter_mut().enumerate() {
            fs::write(scratch.path().join("measures"), count.to_string()).expect("a file");
            let begun = Instant::now();
            let report = system.run(&ChildOrder {
                program: kdna_broker::system::Program::Embedded,
                directory: Some(&directory),
                sealed: None,
                request: b"",
                input: b"",
                deadline: LIMIT,
                output_limit: 0,
                cancel: &Cancel::new(),
            });
            times.push(begun.elapsed());
            assert_eq!(report.expect("a report").exit, 0);
        }
    }
    for times in &mut all {
        times.sort();
    }
    println!("\n{:44} {:>8} {:>8} {:>8}", "a worker of this executable", "p50 ms", "p95 ms", "adds");
    let names = std::iter::once("no measure (a bare start)").chain(MEASURES.iter().map(|(name, _)| *name));
    let mut before = at(&all[0], 50);
    for (name, times) in names.zip(&all) {
        let now = at(times, 50);
        println!("{:44} {now:>8.3} {:>8.3} {:>+8.3}", format!("+ {name}"), at(times, 95), now - before);
        before = now;
    }
    at(&all[0], 50)
}

fn bare() {
    let status = Command::new("/bin/true").env_clear().stdin(Stdio::null()).status().expect("/bin/true");
    assert!(status.success());
}

/// A load of a small public asset that a recorded case allows.
fn loads() -> Option<Vec<Duration>> {
    let cases = Case::all(&package().join("fixtures/golden/cases"));
    let case = cases.iter().find(|case| case.id == "mcp-load-ok").expect("the case");
    let stage = Stage::of(case);
    let request = String::from_utf8(stage.input().expect("a request")).expect("text");
    let mut server = opened(stage.command(&[]));
    let answer = server.ask(request.trim());
    if !answer.contains("kdna.runtime-capsule") {
        println!("{:44} not measured: the load was refused", "load");
        return None;
    }
    let times = times(LOADS, || drop(server.ask(request.trim())));
    row("load of a small public asset", &times);
    println!("{:44} {:>8}", "resident memory, after them (KiB)", resident(&server));
    Some(times)
}

fn opened(command: Command) -> Server {
    let mut server = Server::start(command);
    server.send(OPEN);
    server.receive(LIMIT).expect("an answer to initialize");
    server.send(READY);
    server.send(LIST);
    server.receive(LIMIT).expect("the list of tools");
    server
}

fn resident(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.id())).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

fn row(name: &str, times: &[Duration]) {
    println!("{name:44} {:>8.3} {:>8.3}", at(times, 50), at(times, 95));
}
