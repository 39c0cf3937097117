//! How the measurements take and read their times.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The times of so many runs, sorted.
pub(crate) fn times(count: usize, mut work: impl FnMut()) -> Vec<Duration> {
    let one = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut times: Vec<Duration> = (0..count).map(one).collect();
    times.sort();
    times
}

/// A percentile in milliseconds: the smallest value that at least that share of the sorted samples does not exceed.
pub(crate) fn at(times: &[Duration], share: usize) -> f64 {
    times[(times.len() * share).div_ceil(100) - 1].as_secs_f64() * 1000.0
}

/// Runs a command to its end, which is waited for at once: the tests' way looks for it every few milliseconds.
#[allow(dead_code, reason = "not every bench runs commands")]
pub(crate) fn ended(mut command: Command, input: &[u8]) -> Output {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
    child.stdin.take().expect("its input").write_all(input).expect("it reads");
    child.wait_with_output().expect("its end")
}
