//! What a broker does to itself at its start, and how it starts a host.

use crate::Check;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::system::Fault;
use kdna_broker::system::os::host_process::{Ending, HostOrder, HostProcess, Stream};
use kdna_broker::system::os::start;
use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

pub(crate) fn checks() -> Vec<Check> {
    let check = |name: &str, run: fn()| -> Check { (format!("starting::{name}"), Box::new(run)) };
    vec![
        check("a_broker_passes_on_no_descriptor_and_leaves_no_core", cleans_itself),
        check("a_broker_with_closed_streams_opens_nothing_in_their_place", reopens_streams),
        check("a_host_gets_exactly_what_is_stated", starts_exactly),
        check("a_host_is_never_looked_up", looks_nothing_up),
        check("a_host_is_waited_for_and_ended", ends_host),
    ]
}

/// The process that cleans itself and tells how it looks afterwards.
pub(crate) fn starter() -> ExitCode {
    start::reopen_standard_streams().unwrap();
    start::set_cloexec_everywhere();
    start::not_dumpable().unwrap();
    start::no_core().unwrap();
    let first = fs::File::open("/proc/self/status").unwrap();
    let listed = Command::new("/bin/ls").arg("/proc/self/fd").output().unwrap();
    println!(
        "{} {} {:?} {}",
        first.as_raw_fd() > 2,
        String::from_utf8(listed.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(","),
        getrlimit(Resource::Core).maximum,
        dumpable_behavior().unwrap() == DumpableBehavior::NotDumpable
    );
    ExitCode::SUCCESS
}

fn start_by_shell(redirections: &str) -> String {
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("exec \"$0\" --starter {redirections}")])
        .arg(std::env::current_exe().unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn cleans_itself() {
    // `ls` shows its standard streams and the listing itself.
    assert_eq!(start_by_shell("8</etc/passwd 9</etc/passwd"), "true 0,1,2,3 Some(0) true\n");
}

fn reopens_streams() {
    assert_eq!(start_by_shell("<&- 2>&-"), "true 0,1,2,3 Some(0) true\n");
}

fn order(program: &str, arguments: &[&str]) -> HostOrder {
    HostOrder {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        environment: vec![("ONLY".into(), "this one".into())],
        directory: AbsolutePath::parse("/usr").unwrap(),
        input: Stream::Pipe,
        output: Stream::Pipe,
        errors: Stream::Null,
    }
}

fn starts_exactly() {
    let script = "/usr/bin/env; pwd -P; cat";
    let mut host = HostProcess::start(order("/bin/sh", &["-c", script])).unwrap();
    host.take_input().unwrap().write_all(b"typed").unwrap();
    let mut text = String::new();
    host.take_output().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(host.wait(), Ok(Ending::Exit(0)));
    // The shell adds its own.
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !["PWD=", "_=", "SHLVL=", "OLDPWD="].iter().any(|own| line.starts_with(own)))
        .collect();
    lines.sort_unstable();
    assert_eq!(lines, ["/usr", "ONLY=this one", "typed"]);
}

fn looks_nothing_up() {
    assert_eq!(HostProcess::start(order("sh", &[])).map(drop), Err(Fault::NotFound));
    assert_eq!(HostProcess::start(order("/nowhere/sh", &[])).map(drop), Err(Fault::NotFound));
}

fn ends_host() {
    let mut host = HostProcess::start(order("/bin/sleep", &["600"])).unwrap();
    let start = Instant::now();
    assert_eq!(host.wait_at_most(Duration::from_millis(20)), Ok(None));
    host.terminate().unwrap();
    assert_eq!(host.wait_at_most(Duration::from_secs(10)), Ok(Some(Ending::Signal(15))));
    assert_eq!((host.terminate(), host.kill()), (Ok(()), Ok(())), "harmless after its end");
    let dropped = HostProcess::start(order("/bin/sleep", &["600"])).unwrap();
    let number = dropped.id();
    drop(dropped);
    assert!(fs::metadata(format!("/proc/{number}")).is_err(), "dropped means ended and reaped");
    assert!(start.elapsed() < Duration::from_secs(8));
}
