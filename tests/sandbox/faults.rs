//! The fault recipes for which the worker itself must misbehave, named after their ids.

use crate::Check;
use crate::running::{children, processes, quick, status, wait_for_child};
use crate::stage::{Stage, kernel_abi};
use kdna_broker::system::{Cancel, ChildFault, Enforcement};
use std::fs;
use std::time::Duration;

pub(crate) fn checks() -> Vec<Check> {
    let check = |name: &str, run: fn()| -> Check { (format!("faults::{name}"), Box::new(run)) };
    vec![
        check("child_argv_secret", child_argv_secret),
        check("child_fd_leak", child_fd_leak),
        check("child_hang", child_hang),
        check("child_landlock_downgrade", child_landlock_downgrade),
        check("child_output_bomb", child_output_bomb),
        check("prompt_tiocsti", prompt_tiocsti),
        check("secret_fork_copy", secret_fork_copy),
    ]
}

pub(crate) const CANARY: &[u8] = b"canary-7b1f, a password";

fn child_argv_secret() {
    let stage = Stage::new();
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let run =
            scope.spawn(|| stage.run_with("confined 0 hangs", |order| (order.cancel, order.input) = (&cancel, CANARY)));
        let child = wait_for_child(|status| status.contains("Seccomp:\t2"));
        assert_eq!(fs::read(format!("/proc/{child}/cmdline")).unwrap(), b"kdna-broker\0--runtime-worker\0");
        // Who may not read it at all learns nothing either.
        let environment = fs::read(format!("/proc/{child}/environ")).unwrap_or_default();
        assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
        let canary = String::from_utf8_lossy(CANARY);
        assert!(processes().iter().all(|(_, line)| !line.contains(&*canary)), "it is in a command line");
        cancel.set();
        assert_eq!(run.join().unwrap().unwrap_err(), ChildFault::Cancelled);
    });
}

fn child_fd_leak() {
    let stage = Stage::new();
    let open: Vec<fs::File> = (0..50).map(|_| fs::File::open("/etc/passwd").unwrap()).collect();
    for file in &open {
        rustix::io::fcntl_setfd(file, rustix::io::FdFlags::empty()).unwrap();
    }
    assert!(stage.answer("unconfined 0 open-descriptors").parse::<u32>().unwrap() >= 50, "the control: they leak");
    assert_eq!(stage.answer("confined 0 open-descriptors"), "0");
}

fn child_hang() {
    let stage = Stage::new();
    let second = Duration::from_secs(1);
    for script in ["confined 0 hangs", "unconfined 0 hangs-with-a-child", "hangs 0 x"] {
        let ended = quick(|| stage.run_with(script, |order| order.deadline = second));
        assert_eq!(ended.unwrap_err(), ChildFault::Deadline, "{script}");
        assert_eq!(children(), Vec::<String>::new(), "{script}");
    }
    let left = format!("700.{}", std::process::id());
    crate::running::wait_for(|| (!processes().iter().any(|(_, line)| line.contains(&left))).then_some(()));
    // Confined, there is no grandchild to end: it cannot be started.
    assert!(stage.answer("confined 0 start_a_process").starts_with("refused"));
}

fn child_landlock_downgrade() {
    let stage = Stage::new();
    for abi in 1..=kernel_abi() {
        let report = stage.run(&format!("confined {abi} echo")).unwrap();
        let expected = Enforcement {
            landlock: abi,
            seccomp: true,
            sealed: false,
            pin: kdna_broker::system::PinKind::Embedded,
            secret_locked: None,
        };
        assert_eq!(report.enforcement, expected, "a lower level is said and not hidden");
    }
    assert_eq!(stage.run("refuses 0 x").unwrap_err(), ChildFault::Sandbox("landlock"));
}

fn child_output_bomb() {
    let stage = Stage::new();
    let resident = || {
        let own = status(&std::process::id().to_string());
        let line = own.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().to_owned();
        line.trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    let cap = 2 << 20;
    let before = resident();
    let ended = quick(|| stage.run_with("confined 0 floods-output", |order| order.output_limit = cap));
    assert_eq!(ended.unwrap_err(), ChildFault::OutputTooLarge);
    let report = quick(|| stage.run("confined 0 floods-errors")).unwrap();
    assert!(report.errors.len() <= kdna_broker::foundation::limits::RUNTIME_STDERR_BYTES);
    let grown = resident() - before;
    assert!(grown * 1024 < 2 * cap + (4 << 20), "{grown} KiB for a cap of {cap} bytes");
    assert_eq!(children(), Vec::<String>::new());
}

fn prompt_tiocsti() {
    let stage = Stage::new();
    for action in ["open_the_terminal", "control_a_device"] {
        for abi in [1, kernel_abi()] {
            let answer = stage.answer(&format!("confined {abi} {action}"));
            assert!(answer.starts_with("refused"), "{action}: {answer}");
        }
    }
}

/// There is no copy of the broker's memory to scan: the worker is another program by the time it runs its own code, and
/// nothing is sent to it before it has said READY.
fn secret_fork_copy() {
    let stage = Stage::new();
    let heard = stage.run_with("listens 0 x", |order| order.input = CANARY).unwrap();
    assert!(String::from_utf8(heard.output).unwrap().contains("WouldBlock"), "something came before READY");
    let found = stage.run_with("unconfined 0 scan-memory", |order| order.input = CANARY).unwrap();
    assert_eq!(String::from_utf8(found.output).unwrap(), "scanned, absent");
}
