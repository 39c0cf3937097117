//! The one who runs a worker: bounds hold, everything ends, nothing is left behind, nothing is said too early.

use crate::Check;
use crate::stage::Stage;
use kdna_broker::foundation::limits;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::os::host_process::{HostOrder, HostProcess, Stream};
use kdna_broker::system::{Cancel, ChildFault, ChildOrder, Fault, Observe, Program, System};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub(crate) fn checks() -> Vec<Check> {
    let check = |name: &str, run: fn()| -> Check { (format!("running_a_worker::{name}"), Box::new(run)) };
    vec![
        check("passes_request_and_input_whole", passes_input),
        check("passes_no_environment_and_only_one_argument", passes_nothing_else),
        check("sends_nothing_before_ready", sends_nothing_early),
        check("confines_it_as_the_kernel_sees_it", kernel_agrees),
        check("ends_it_at_the_deadline", ends_at_deadline),
        check("ends_it_when_cancelled", ends_when_cancelled),
        check("ends_it_when_it_writes_too_much", ends_flood),
        check("keeps_only_the_end_of_its_errors", keeps_tail),
        check("tolerates_one_that_does_not_read", tolerates_deaf),
        check("refuses_one_that_never_says_ready", refuses_mute),
        check("refuses_one_that_could_not_confine_itself", refuses_unconfined),
        check("refuses_one_that_a_signal_ended", refuses_killed),
        check("does_not_wait_for_what_it_leaves_behind", ends_descendants),
        check("refuses_more_than_the_wire_carries", refuses_long),
        check("leaves_no_process_and_no_descriptor", leaves_nothing),
        check("ends_it_when_the_broker_is_killed", dies_with_broker),
        check("gives_one_that_stands_by_nothing_before_its_order", standby_waits),
        check("ends_one_that_stands_by_unused", standby_ends),
    ]
}

pub(crate) fn quick<T>(run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = run();
    assert!(start.elapsed() < Duration::from_secs(8), "took {:?}", start.elapsed());
    value
}

fn passes_input() {
    let stage = Stage::new();
    for (request, input) in [(0, 0), (1, 0), (0, 1), (5000, 70_000), (limits::RUNTIME_REQUEST_BYTES, 900_000)] {
        let (request, input) = (vec![b'r'; request], vec![b'i'; input]);
        let report = stage.run_with("confined 0 slow-echo", |order| {
            (order.request, order.input, order.output_limit) = (&request, &input, 1 << 24);
        });
        assert_eq!(report.unwrap().output, [&request[..], b"|", &input].concat());
    }
}

fn passes_nothing_else() {
    let stage = Stage::new();
    let place = fs::canonicalize(stage.path("inside")).unwrap();
    let expected = format!(r#"[] ["kdna-broker", "--runtime-worker"] {}"#, place.display());
    assert_eq!(stage.answer("confined 0 environment"), expected);
    // Without a directory it starts at the top, and finds no script there.
    let report = stage.run_with("", |order| order.directory = None).unwrap();
    assert!(report.output.ends_with(b"|the input"));
}

fn sends_nothing_early() {
    let stage = Stage::new();
    assert_eq!(
        stage.answer("listens 0 x"),
        "Err(Os { code: 11, kind: WouldBlock, message: \"Resource temporarily unavailable\" })"
    );
}

fn kernel_agrees() {
    let stage = Stage::new();
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let run = scope.spawn(|| stage.run_with("confined 0 hangs", |order| order.cancel = &cancel));
        let child = wait_for_child(|status| status.contains("Seccomp:\t2"));
        let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap();
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000", "CapPrm:\t0000000000000000"] {
            assert!(status.contains(line), "{line} in {status}");
        }
        let bounds = fs::read_to_string(format!("/proc/{child}/limits")).unwrap();
        let bound = |name: &str| bounds.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert!(bound("Max core file size").split_whitespace().any(|word| word == "0"));
        assert!(bound("Max open files").contains("64"));
        assert!(bound("Max data size").contains("536870912"));
        // Not dumpable: its files under /proc belong to root, whoever runs it.
        assert_eq!(fs::metadata(format!("/proc/{child}/mem")).unwrap().uid(), 0);
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        let words: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        assert_eq!(
            (words[2], words[3], words[4]),
            (child.as_str(), child.as_str(), "0"),
            "own group, session, no terminal"
        );
        cancel.set();
        assert_eq!(run.join().unwrap().unwrap_err(), ChildFault::Cancelled);
        assert!(fs::metadata(format!("/proc/{child}")).is_err(), "it is gone and reaped");
    });
}

fn ends_at_deadline() {
    let stage = Stage::new();
    for script in ["confined 0 hangs", "hangs 0 x", "unconfined 0 hangs"] {
        let short = Duration::from_millis(150);
        let ended = quick(|| stage.run_with(script, |order| order.deadline = short));
        assert_eq!(ended.unwrap_err(), ChildFault::Deadline, "{script}");
    }
    assert_eq!(children(), Vec::<String>::new());
}

fn ends_when_cancelled() {
    let stage = Stage::new();
    let cancel = Cancel::new();
    let from_outside = cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        from_outside.set();
    });
    let ended = quick(|| stage.run_with("confined 0 hangs", |order| order.cancel = &cancel));
    assert_eq!(ended.unwrap_err(), ChildFault::Cancelled);
    canceller.join().unwrap();
    assert_eq!(children(), Vec::<String>::new());
}

fn ends_flood() {
    let stage = Stage::new();
    let ended = quick(|| stage.run("confined 0 floods-output"));
    assert_eq!(ended.unwrap_err(), ChildFault::OutputTooLarge);
    // The limit itself is allowed, one byte less is not.
    let request = [b'x'; 99];
    for (limit, fits) in [(100, true), (99, false)] {
        let report = stage.run_with("confined 0 echo", |order| {
            (order.request, order.input, order.output_limit) = (&request, b"", limit);
        });
        assert_eq!(report.is_ok(), fits, "{limit}");
    }
}

fn keeps_tail() {
    let report = quick(|| Stage::new().run("confined 0 floods-errors")).unwrap();
    assert_eq!(report.errors.len(), limits::RUNTIME_STDERR_BYTES);
    assert!(report.errors.ends_with(b"eeethe end"));
}

fn tolerates_deaf() {
    let big = vec![0; limits::RUNTIME_INPUT_BYTES];
    let report = Stage::new().run_with("confined 0 exits-unread", |order| order.input = &big).unwrap();
    assert_eq!((report.exit, report.output), (7, Vec::new()));
}

fn refuses_mute() {
    let stage = Stage::new();
    assert_eq!(stage.run("exits 0 x").unwrap_err(), ChildFault::Sandbox("no-ready"));
    assert_eq!(stage.run("babbles 0 x").unwrap_err(), ChildFault::Sandbox("no-ready"));
}

fn refuses_unconfined() {
    let stage = Stage::new();
    assert_eq!(stage.run("refuses 0 x").unwrap_err(), ChildFault::Sandbox("landlock"));
    assert_eq!(stage.run("lies 0 x").unwrap_err(), ChildFault::Sandbox("unknown"));
    assert_eq!(stage.run("orphan 0 x").unwrap_err(), ChildFault::Sandbox("parent-death"));
}

fn refuses_killed() {
    let stage = Stage::new();
    assert_eq!(stage.run("aborts 0 x").unwrap_err(), ChildFault::Signal(6));
    assert_eq!(stage.run("confined 0 aborts").unwrap_err(), ChildFault::Signal(6));
}

fn ends_descendants() {
    let report = quick(|| Stage::new().run("unconfined 0 leaves-a-child"));
    assert_eq!(report.unwrap().exit, 0);
    let left = format!("600.{}", std::process::id());
    // It is killed at once, but the kernel may take a moment to take it away; on its own it would stay for minutes.
    wait_for(|| (!processes().iter().any(|(_, line)| line.contains(&left))).then_some(()));
}

fn refuses_long() {
    let long = vec![0; limits::RUNTIME_INPUT_BYTES + 1];
    let refused = Stage::new().run_with("confined 0 echo", |order| order.input = &long);
    assert_eq!(refused.unwrap_err(), ChildFault::NotStarted(Fault::TooLarge));
}

fn leaves_nothing() {
    let stage = Stage::new();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for round in 0..200 {
        let script = ["confined 0 echo", "exits 0 x", "confined 0 aborts", "refuses 0 x"][round % 4];
        let report = stage.run(script);
        assert_eq!(report.is_ok(), round % 4 == 0, "{report:?}");
    }
    assert_eq!(descriptors(), before);
    assert_eq!(children(), Vec::<String>::new());
}

fn dies_with_broker() {
    let stage = Stage::new();
    fs::write(stage.path("inside/script"), "confined 0 hangs").unwrap();
    let mut broker = HostProcess::start(HostOrder {
        program: "/proc/self/exe".into(),
        arguments: vec!["--middleman".into(), stage.path("inside").into()],
        environment: Vec::new(),
        directory: AbsolutePath::parse("/").unwrap(),
        input: Stream::Null,
        output: Stream::Null,
        errors: Stream::Inherit,
    })
    .unwrap();
    let broker_id = broker.id().to_string();
    // One that works, and one that stands by.
    let confined = |child: &String| status(child).contains("Seccomp:\t2");
    let workers = wait_for(|| {
        let found: Vec<_> = children_of(&broker_id).into_iter().filter(confined).collect();
        (found.len() == 2).then_some(found)
    });
    broker.kill().unwrap();
    broker.wait().unwrap();
    for worker in workers {
        let gone = || status(&worker).lines().all(|line| !line.starts_with("State:") || line.contains('Z'));
        wait_for(|| gone().then_some(()));
    }
}

fn standby_waits() {
    let stage = Stage::new();
    let process = OsSystem::new().stand_by().unwrap();
    let child = wait_for_child(|status| status.contains("Seccomp:\t2"));
    // It has nothing to read and nothing to open: it sleeps until its order comes, which may be long after.
    wait_for(|| status(&child).contains("State:\tS").then_some(()));
    std::thread::sleep(Duration::from_millis(50));
    let report =
        stage.run_by("", |order| order.directory = None, |order| OsSystem::new().run_by(Some(process), order, || ()));
    let report = report.unwrap();
    assert!(report.exit == 0 && report.output.ends_with(b"|the input"));
    assert_eq!((report.enforcement.seccomp, children()), (true, Vec::<String>::new()), "as confined as any, and gone");
}

fn standby_ends() {
    let stage = Stage::new();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    quick(|| drop(OsSystem::new().stand_by().unwrap()));
    assert_eq!((descriptors(), children()), (before, Vec::new()));
    // It cannot be given a directory any more, so it is not used for an order with one.
    let process = OsSystem::new().stand_by().unwrap();
    let refused = stage.run_by("confined 0 echo", |_| {}, |order| OsSystem::new().run_by(Some(process), order, || ()));
    assert_eq!(refused.unwrap_err(), ChildFault::NotStarted(Fault::WrongKind));
    // Nor for one that was cancelled before.
    let process = OsSystem::new().stand_by().unwrap();
    let cancel = Cancel::new();
    cancel.set();
    let change = |order: &mut ChildOrder<'_, OsSystem>| order.directory = None;
    let cancelled = stage.run_by("", change, |order| {
        OsSystem::new().run_by(Some(process), &ChildOrder { cancel: &cancel, ..*order }, || ())
    });
    assert_eq!(cancelled.unwrap_err(), ChildFault::Cancelled);
    assert_eq!((descriptors(), children()), (before, Vec::new()));
}

/// A broker that waits for a worker that hangs, while another stands by.
pub(crate) fn middleman(directory: &str) -> ExitCode {
    let system = OsSystem::new();
    let directory = system.open_directory(&AbsolutePath::parse(directory).unwrap()).unwrap();
    let cancel = Cancel::new();
    let order = ChildOrder {
        program: Program::Embedded,
        directory: Some(&directory),
        sealed: None,
        request: b"",
        input: b"",
        deadline: Duration::from_secs(60),
        output_limit: 10,
        cancel: &cancel,
    };
    let standby = system.stand_by();
    drop(system.run(&order));
    drop(standby);
    ExitCode::SUCCESS
}

pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(start.elapsed() < Duration::from_secs(10), "it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) fn wait_for_child(ready: impl Fn(&str) -> bool) -> String {
    wait_for(|| children().into_iter().find(|child| ready(&status(child))))
}

pub(crate) fn status(process: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default()
}

pub(crate) fn children() -> Vec<String> {
    children_of(&std::process::id().to_string())
}

/// Zombies included.
fn children_of(parent: &str) -> Vec<String> {
    let is_child = |process: &String| status(process).lines().any(|line| line == format!("PPid:\t{parent}"));
    processes().into_iter().map(|(process, _)| process).filter(is_child).collect()
}

pub(crate) fn processes() -> Vec<(String, String)> {
    let names = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .map(|name| (fs::read_to_string(format!("/proc/{name}/cmdline")).unwrap_or_default(), name))
        .map(|(line, name)| (name, line))
        .collect()
}
