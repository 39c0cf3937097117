//! What a worker must not be able to do: each action, at every Landlock level that this kernel can show.

use crate::Check;
use crate::stage::{Stage, kernel_abi};
use nix::sys::ptrace;
use rustix::fs::{CWD, FileType, MemfdFlags, Mode, OFlags, ResolveFlags, Timespec, Timestamps, UTIME_OMIT};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// What an action knows about the stage.
pub(crate) struct Facts {
    pub(crate) outside: String,
    pub(crate) port: u16,
    pub(crate) broker: i32,
}

type Action = fn(&Facts) -> io::Result<()>;

/// Whether the action works unconfined, wherever the tests run.
#[derive(PartialEq)]
enum Control {
    Works,
    Depends,
}
use Control::{Depends, Works};

pub(crate) fn find(name: &str) -> Option<Action> {
    ACTIONS.iter().find(|(known, _, _)| *known == name).map(|(_, _, action)| *action)
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ACTIONS.iter().map(|(name, _, _)| *name)
}

pub(crate) fn checks() -> Vec<Check> {
    let one = |(name, control, _): &'static (&'static str, Control, Action)| -> Check {
        (format!("a_worker_cannot::{name}"), Box::new(|| is_refused(name, *control == Works)))
    };
    let mut checks: Vec<Check> = ACTIONS.iter().map(one).collect();
    checks.push(("a_worker_cannot::keep_an_inherited_descriptor".to_owned(), Box::new(keeps_no_descriptor)));
    checks.push(("a_worker_cannot::read_anything_without_a_directory".to_owned(), Box::new(reads_nothing)));
    checks.push(("a_worker_cannot::use_more_than_its_memory".to_owned(), Box::new(memory_is_bounded)));
    checks
}

fn is_refused(name: &str, control: bool) {
    if control {
        let stage = Stage::new();
        let answer = stage.run(&format!("unconfined 0 {name}")).map(|report| report.output);
        // An action that replaces or ends the process has worked as well.
        assert!(matches!(answer.as_deref(), Ok(b"allowed" | b"")), "{name} must work unconfined: {answer:?}");
    }
    let stage = Stage::new();
    let before = stage.state();
    for abi in 1..=kernel_abi() {
        for mode in ["confined", "unreadable"] {
            let answer = stage.answer(&format!("{mode} {abi} {name}"));
            assert!(answer.starts_with("refused"), "{name} at Landlock ABI {abi}, {mode}: {answer}");
        }
    }
    assert_eq!(stage.state(), before, "{name} changed something");
}

fn keeps_no_descriptor() {
    let stage = Stage::new();
    let secret = fs::File::open(stage.path("outside/file")).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    assert!(stage.answer("unconfined 0 open-descriptors").parse::<u32>().unwrap() > 0, "nothing was inherited");
    assert_eq!(stage.answer("confined 1 open-descriptors"), "0");
    drop(secret);
}

fn reads_nothing() {
    let stage = Stage::new();
    for abi in 1..=kernel_abi() {
        assert_eq!(stage.answer(&format!("confined {abi} read-inside")), "content");
        assert!(stage.answer(&format!("unreadable {abi} read-inside")).starts_with("refused"), "ABI {abi}");
    }
}

fn memory_is_bounded() {
    let stage = Stage::new();
    assert_eq!(stage.answer("unconfined 0 take-memory"), "allowed");
    assert!(stage.answer("confined 1 take-memory").starts_with("refused"));
}

const ACTIONS: &[(&str, Control, Action)] = &[
    ("write_a_file", Works, |_| fs::OpenOptions::new().write(true).open("file")?.write_all(b"x")),
    ("append_to_a_file", Works, |_| fs::OpenOptions::new().append(true).open("file")?.write_all(b"x")),
    ("create_a_file", Works, |_| fs::File::create_new("made").map(drop)),
    ("create_a_file_outside", Works, |facts| fs::File::create_new(format!("{}/made", facts.outside)).map(drop)),
    ("empty_a_file_by_reading_it", Works, |_| {
        rustix::fs::open("file", OFlags::RDONLY | OFlags::TRUNC, Mode::empty()).map(drop).map_err(io::Error::from)
    }),
    ("make_an_unnamed_file", Depends, |_| {
        rustix::fs::open(".", OFlags::TMPFILE | OFlags::RDWR, Mode::RUSR).map(drop).map_err(io::Error::from)
    }),
    ("change_a_mode", Works, |_| fs::set_permissions("file", fs::Permissions::from_mode(0o777))),
    ("change_times", Works, |_| {
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 1, tv_nsec: 1 },
        };
        Ok(rustix::fs::utimensat(CWD, "file", &times, rustix::fs::AtFlags::empty())?)
    }),
    ("remove_a_file", Works, |_| fs::remove_file("file")),
    ("rename_a_file", Works, |_| fs::rename("file", "renamed")),
    ("make_a_directory", Works, |_| fs::create_dir("made")),
    ("make_a_link", Works, |_| symlink("/etc", "made")),
    ("make_a_second_name", Works, |_| fs::hard_link("file", "made")),
    ("make_a_fifo", Works, |_| Ok(rustix::fs::mknodat(CWD, "made", FileType::Fifo, Mode::RUSR, 0)?)),
    ("read_a_file_outside", Works, |facts| fs::read(format!("{}/file", facts.outside)).map(drop)),
    ("read_a_file_above", Works, |_| fs::read("../outside/file").map(drop)),
    ("list_a_directory_outside", Works, |_| fs::read_dir("/").map(drop)),
    ("read_its_own_maps", Works, |_| fs::read("/proc/self/maps").map(drop)),
    ("read_the_brokers_environment", Depends, |facts| fs::read(format!("/proc/{}/environ", facts.broker)).map(drop)),
    ("open_the_brokers_memory", Depends, |facts| fs::File::open(format!("/proc/{}/mem", facts.broker)).map(drop)),
    ("connect_by_tcp", Works, |facts| TcpStream::connect(("127.0.0.1", facts.port)).map(drop)),
    ("listen_on_tcp", Works, |_| TcpListener::bind("127.0.0.1:0").map(drop)),
    ("use_udp", Works, |_| UdpSocket::bind("127.0.0.1:0").map(drop)),
    ("connect_to_a_unix_socket", Works, |_| UnixStream::connect("listener").map(drop)),
    ("listen_on_a_unix_socket", Works, |_| UnixListener::bind("made").map(drop)),
    ("make_a_socket_pair", Works, |_| UnixStream::pair().map(drop)),
    ("trace_the_broker", Depends, |facts| Ok(ptrace::attach(nix::unistd::Pid::from_raw(facts.broker))?)),
    ("be_traced", Works, |_| Ok(ptrace::traceme()?)),
    ("open_the_terminal", Depends, |_| fs::File::open("/dev/tty").map(drop)),
    ("start_a_process", Works, |_| Command::new("/bin/true").status().map(drop)),
    ("become_another_program", Works, |_| Err(Command::new("/bin/true").exec())),
    ("make_a_memory_file", Works, |_| Ok(rustix::fs::memfd_create("made", MemfdFlags::CLOEXEC).map(drop)?)),
    ("use_openat2", Works, |_| {
        let (flags, resolve) = (OFlags::RDONLY, ResolveFlags::empty());
        Ok(rustix::fs::openat2(CWD, "file", flags, Mode::empty(), resolve).map(drop)?)
    }),
    ("change_its_limits", Works, |_| {
        Ok(rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
    }),
    ("signal_the_broker", Works, |facts| {
        Ok(rustix::process::kill_process(Pid::from_raw(facts.broker).unwrap(), Signal::CONT)?)
    }),
    ("start_a_new_session", Depends, |_| Ok(rustix::process::setsid().map(drop)?)),
    ("change_directory", Works, |_| std::env::set_current_dir("/")),
    ("control_a_device", Works, |_| Ok(rustix::io::ioctl_fionread(rustix::stdio::stdin()).map(drop)?)),
    ("become_dumpable_again", Works, |_| {
        Ok(rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)?)
    }),
    ("outlive_its_broker", Works, |_| Ok(rustix::process::set_parent_process_death_signal(None)?)),
    ("open_many_files", Works, |_| (0..200).map(|_| fs::File::open(".")).collect::<io::Result<Vec<_>>>().map(drop)),
];

/// Text of an action's end.
pub(crate) fn told(result: io::Result<()>) -> String {
    match result {
        Ok(()) => "allowed".to_owned(),
        // A missing or changed stage is no refusal by the sandbox.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::AlreadyExists) => {
            format!("broken {error}")
        }
        Err(error) => format!("refused {error}"),
    }
}
