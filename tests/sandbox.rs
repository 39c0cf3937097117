//! smoke
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used, clippy::print_stderr)]
use kdna_broker::system::os::{OsSystem, confine, worker_io};
use kdna_broker::system::*;
use std::time::*;
fn main() {
    if std::env::args().nth(1).as_deref() == Some("--runtime-worker") {
        let level = confine::confine(true, None, worker_io::parent_id().unwrap());
        match level {
            Ok(level) => worker_io::ready(level).unwrap(),
            Err(measure) => {
                worker_io::refused(measure).unwrap();
                std::process::exit(3)
            }
        }
        let got = worker_io::receive().unwrap();
        if let Some(s) = &got.sealed {
            eprintln!("sealed {}", worker_io::read_sealed(s, 1 << 30).unwrap().len());
        }
        worker_io::write_output(&got.request).unwrap();
        worker_io::write_output(&got.input).unwrap();
        return;
    }
    let s = OsSystem::new();
    println!("{:?}", kdna_broker::system::os::start::check_platform());
    let cancel = Cancel::new();
    let d = tempfile::tempdir().unwrap();
    let dir = s
        .open_directory(&kdna_broker::foundation::path::AbsolutePath::parse(d.path().to_str().unwrap()).unwrap())
        .unwrap();
    std::fs::write(d.path().join("x"), vec![7; 3_000_000]).unwrap();
    let f = s.open_file_in(&dir, "x").unwrap();
    let (sealed, digest) = s.seal(&f, 1 << 30).unwrap();
    println!("{digest} {}", digest == kdna_broker::foundation::digest::Digest::of(&vec![7; 3_000_000]));
    let order = ChildOrder {
        program: Program::Embedded,
        directory: Some(&dir),
        sealed: Some(&sealed),
        request: b"{}",
        input: b"secret",
        deadline: Duration::from_secs(5),
        output_limit: 1000,
        cancel: &cancel,
    };
    println!("{:?}", s.run(&order));
    let order = ChildOrder { sealed: None, ..order };
    let mut times: Vec<_> = (0..200)
        .map(|_| {
            let t = Instant::now();
            s.run(&order).unwrap();
            t.elapsed().as_micros()
        })
        .collect();
    times.sort();
    println!("p50 {} p95 {}", times[100], times[190]);
}
