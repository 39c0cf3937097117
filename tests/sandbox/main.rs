//! The sandbox, tried from inside, and the one who runs it, tried with a worker that misbehaves.
//!
//! The worker is this executable, started by `System::run` like the real one, so there is no libtest harness here: `main`
//! is worker, middleman, asker or tester, by its first argument (or measures what a run costs: `--measure`). What the worker shall do is in the file `script` of its
//! directory. Every forbidden action is also run unconfined, where it must succeed: otherwise its refusal proves nothing.
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod allowed;
mod external;
mod forbidden;
mod measure;
mod running;
mod stage;
mod starting;
mod terminal;
mod worker;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// A check: the promise it holds, and how it is tried.
type Check = (String, Box<dyn Fn()>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("--runtime-worker") => worker::main(),
        Some("--external-shim") => external::shim(),
        Some("--external-action") => external::act(&arguments[1..]),
        Some("--middleman") => running::middleman(&arguments[1]),
        Some("--starter") => starting::starter(),
        Some("--asker") => terminal::asker(&arguments[1]),
        Some("--measure") => measure::main(),
        Some("--list") => list(),
        _ => test(&arguments),
    }
}

fn checks() -> Vec<Check> {
    [
        forbidden::checks(),
        external::checks(),
        allowed::checks(),
        running::checks(),
        starting::checks(),
        terminal::checks(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn list() -> ExitCode {
    for (name, _) in checks() {
        println!("{name}: test");
    }
    ExitCode::SUCCESS
}

fn test(arguments: &[String]) -> ExitCode {
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    // As the broker is: its own files under /proc then belong to root, and it must still reach them.
    kdna_broker::system::os::start::not_dumpable().expect("every Linux has this");
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in checks() {
        if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter.as_str())) {
            continue;
        }
        let held = catch_unwind(AssertUnwindSafe(check)).is_ok();
        *(if held { &mut passed } else { &mut failed }) += 1;
        println!("test {name} ... {}", if held { "ok" } else { "FAILED" });
    }
    println!("\n{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}
