//! What a run and a seal cost: `cargo test --release --test sandbox -- --measure`. Prints, and judges nothing.

use crate::stage::Stage;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::{Observe, System};
use std::fs;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

pub(crate) fn main() -> ExitCode {
    let stage = Stage::new();
    let sealed = stage.sealed(&vec![7; 65_536]);
    println!("microseconds, p50 / p95");
    print("/bin/true", 200, || drop(Command::new("/bin/true").stdin(Stdio::null()).output().unwrap()));
    print("unconfined worker", 200, || drop(stage.run("unconfined 0 echo").unwrap()));
    print("confined worker", 200, || drop(stage.run("confined 0 echo").unwrap()));
    print("confined worker, sealed 64 KiB", 200, || {
        drop(stage.run_with("unreadable 0 read-sealed", |order| order.sealed = Some(&sealed)).unwrap());
    });
    let bytes = vec![7; 64 << 20];
    fs::write(stage.path("inside/big"), &bytes).unwrap();
    let (system, name) = (OsSystem::new(), "big");
    let file = system.open_file_in(stage.directory(), name).unwrap();
    print("digest of 64 MiB in memory", 5, || drop(Digest::of(&bytes).hex()));
    print("seal of a 64 MiB file", 5, || drop(system.seal(&file, 1 << 30).unwrap()));
    ExitCode::SUCCESS
}

fn print(what: &str, times: usize, mut run: impl FnMut()) {
    let mut taken: Vec<u128> = (0..times)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_micros()
        })
        .collect();
    taken.sort_unstable();
    println!("{what}: {} / {}", taken[times / 2], taken[times * 95 / 100]);
}
