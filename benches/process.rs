//! What starting and asking the built programs costs, beside a bare process start measured in the same run. Prints
//! milliseconds (p50, p95) and resident memory; judges nothing: a noisy machine must not fail a build.
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

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::command::{LIMIT, Program, Scratch, Server};
use support::golden::{Case, Stage};
use support::package;

const STARTS: usize = 50;
const LOADS: usize = 200;
const OPEN: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const PING: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

fn main() {
    println!("{:44} {:>8} {:>8}   ({STARTS} starts, {LOADS} calls)", "", "p50 ms", "p95 ms");
    row("bare process start (/bin/true)", &times(STARTS, bare));
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
    loads();
    row("bare process start, three in a row", &times(STARTS, || (0..3).for_each(|_| bare())));
}

fn bare() {
    let status = Command::new("/bin/true").env_clear().stdin(Stdio::null()).status().expect("/bin/true");
    assert!(status.success());
}

/// A load of a small public asset that a recorded case allows.
fn loads() {
    let cases = Case::all(&package().join("fixtures/golden/cases"));
    let case = cases.iter().find(|case| case.id == "mcp-load-ok").expect("the case");
    let stage = Stage::of(case);
    let request = String::from_utf8(stage.input().expect("a request")).expect("text");
    let mut server = opened(stage.command(&[]));
    let answer = server.ask(request.trim());
    if !answer.contains("kdna.runtime-capsule") {
        println!("{:44} not measured: the load was refused", "load");
        return;
    }
    row("load of a small public asset", &times(LOADS, || drop(server.ask(request.trim()))));
    println!("{:44} {:>8}", "resident memory, after them (KiB)", resident(&server));
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

fn times(count: usize, mut work: impl FnMut()) -> Vec<Duration> {
    let one = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..count).map(one).collect();
    times.sort();
    times
}

fn row(name: &str, times: &[Duration]) {
    // The index of a percentile: the smallest value that at least that share of the samples does not exceed.
    let at = |share: usize| times[(times.len() * share).div_ceil(100) - 1].as_secs_f64() * 1000.0;
    println!("{name:44} {:>8.3} {:>8.3}", at(50), at(95));
}
