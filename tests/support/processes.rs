//! The runtime workers of a server, as `/proc` shows them, and signals to them. Ends only what a test's server started.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The argument vector of every runtime worker.
pub(crate) const WORKER: &[u8] = b"kdna-broker\0--runtime-worker\0";

/// The processes that `parent` started and that are there now, ended ones included.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{parent}/task")) else { return Vec::new() };
    let lists: Vec<_> =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok()).collect();
    if lists.is_empty() {
        return children_by_search(parent);
    }
    lists.iter().flat_map(|list| list.split_ascii_whitespace()).filter_map(|number| number.parse().ok()).collect()
}

/// For kernels that list no children.
fn children_by_search(parent: u32) -> Vec<u32> {
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| status(*number, "PPid").is_some_and(|text| text == parent.to_string())).collect()
}

/// A line of `/proc/PID/status`.
pub(crate) fn status(process: u32, key: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned()))
}

/// Whether a process runs (one that has ended and was not collected does not).
pub(crate) fn is_running(process: u32) -> bool {
    status(process, "State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// Waits until none of these processes runs.
pub(crate) fn all_end(processes: &[u32], within: Duration) -> bool {
    let end = Instant::now() + within;
    while processes.iter().any(|process| is_running(*process)) {
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(1));
    }
    true
}

/// Sends a signal to one process that a test started, or that its server did.
pub(crate) fn signal(process: u32, signal: rustix::process::Signal) {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(process, signal).expect("a signal");
}

/// A worker that was stopped in the middle of its work. None is left behind, should a test fail.
pub(crate) struct Caught(pub(crate) u32);

impl Drop for Caught {
    fn drop(&mut self) {
        let is_ours = fs::read(format!("/proc/{}/cmdline", self.0)).is_ok_and(|arguments| arguments == WORKER);
        if is_ours && status(self.0, "State").is_some_and(|state| state.starts_with('T')) {
            signal(self.0, rustix::process::Signal::KILL);
        }
    }
}

/// Stops the `number`th worker that the server starts from now on, once it is confined: at its work, or while it stands by
/// for it. `None` if it was too quick.
pub(crate) fn stop_worker(server: u32, number: usize, within: Duration) -> Option<Caught> {
    let end = Instant::now() + within;
    let mut seen: Vec<u32> = Vec::new();
    while Instant::now() < end {
        let here = children(server);
        let new: Vec<u32> = here.iter().filter(|worker| !seen.contains(worker)).copied().collect();
        seen.extend(new);
        let Some(worker) = number.checked_sub(1).and_then(|index| seen.get(index)).copied() else { continue };
        if !here.contains(&worker) {
            return None;
        }
        if status(worker, "Seccomp").as_deref() == Some("2") {
            let process = i32::try_from(worker).ok().and_then(rustix::process::Pid::from_raw)?;
            let _ = rustix::process::kill_process(process, rustix::process::Signal::STOP);
            return stopped(worker).then_some(Caught(worker));
        }
    }
    None
}

/// A signal takes effect a little later than it is sent.
fn stopped(worker: u32) -> bool {
    loop {
        match status(worker, "State") {
            Some(state) if state.starts_with('T') => return true,
            Some(state) if state.starts_with(['R', 'S', 'D']) => sleep(Duration::from_micros(100)),
            _ => return false,
        }
    }
}
