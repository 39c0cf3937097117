//! The worker of the real broker, seen from outside. What needs a worker that misbehaves is in `tests/sandbox/faults.rs`.

use super::paths::filtered;
use crate::support::command::Exit;
use crate::support::real::{
    Place, TASK, alive, children, delivered, refused, signal, status, stop_a_worker, wait_until,
};
use kdna_broker::foundation::value::Value;
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

const HOSTILE: [(&str, &str); 12] = [
    ("NODE_OPTIONS", "--require /tmp/canary.js"),
    ("LD_PRELOAD", "/nonexistent/canary.so"),
    ("LD_AUDIT", "/nonexistent/canary.so"),
    ("GIT_SSH_COMMAND", "canary"),
    ("GIT_CONFIG_COUNT", "1"),
    ("BASH_ENV", "/tmp/canary"),
    ("PYTHONPATH", "/tmp/canary"),
    ("NODE_PATH", "/tmp/canary"),
    ("JAVA_TOOL_OPTIONS", "canary"),
    ("PERL5OPT", "canary"),
    ("SSH_AUTH_SOCK", "/tmp/canary"),
    ("AWS_SECRET_ACCESS_KEY", "canary"),
];

#[test]
fn child_env_denylist() {
    let place = Place::new();
    let mut server = place.serve_with(|command| command.envs(HOSTILE));
    let (worker, _) = stop_a_worker(&mut server, &place);
    let command = fs::read_to_string(format!("/proc/{worker}/cmdline")).unwrap();
    assert_eq!(command, "kdna-broker\0--runtime-worker\0", "fixed words and nothing else");
    // Not dumpable: only root may look, and sees nothing.
    match fs::read(format!("/proc/{worker}/environ")) {
        Ok(environment) => assert_eq!(String::from_utf8_lossy(&environment), ""),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
    }
    signal(worker, Signal::CONT);
    assert!(delivered(&server.receive(Duration::from_secs(20)).unwrap()), "and the load works");
}

#[test]
fn child_env_vscode() {
    let place = Place::new();
    let mut server = place.serve();
    for name in ["env", "environment", "NODE_OPTIONS", "runtime", "path"] {
        let more = [("task", Value::from(TASK)), (name, Value::object([("LD_PRELOAD", Value::from("x"))]))];
        refused(&server.ask(&place.call(1, "kdna.workspace-load", &more)), "arguments_invalid");
    }
}

#[test]
fn child_path_empty() {
    let place = Place::new();
    place.scratch.directory("evil", 0o755);
    for name in ["kdna-broker", "kdna", "node", "exe"] {
        let script = format!("#!/bin/sh\ntouch {}\n", place.path("touched").display());
        let path = place.scratch.file(format!("evil/{name}"), script, 0o755);
        assert!(fs::metadata(path).unwrap().permissions().mode() & 0o111 != 0);
    }
    for path in ["", ":/bin", ".:/bin", "evil"] {
        let mut server = place.serve_with(|command| command.env("PATH", path).current_dir(place.path("evil")));
        assert!(delivered(&server.ask(&place.load(1))), "{path}");
    }
    let mut server = place.serve_with(|command| command.env_remove("PATH").current_dir(place.path("evil")));
    assert!(delivered(&server.ask(&place.load(1))));
    assert!(!fs::exists(place.path("touched")).unwrap(), "something was looked up");
}

#[test]
fn child_no_new_privs() {
    let place = Place::new();
    let mut server = place.serve();
    let (worker, _) = stop_a_worker(&mut server, &place);
    let none = Some("0000000000000000".to_owned());
    assert_eq!(status(worker, "NoNewPrivs").as_deref(), Some("1"));
    assert_eq!(status(worker, "Seccomp").as_deref(), Some("2"));
    assert_eq!(
        [status(worker, "CapEff"), status(worker, "CapPrm"), status(worker, "CapAmb")],
        [(); 3].map(|()| none.clone())
    );
    let bounds = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
    let core = bounds.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");
    signal(worker, Signal::CONT);
}

#[test]
fn child_landlock_downgrade() {
    // No Landlock at all: the broker does not start. Each lower ABI is tried in tests/sandbox/faults.rs.
    filtered(libc::SYS_landlock_create_ruleset, "38");
}

#[test]
fn child_inherits_stdin() {
    let place = Place::new();
    let mut server = place.serve();
    let ping = |id: u32| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let mut lines: Vec<String> = (0..20).flat_map(|id| [place.load(id), ping(id + 1000)]).collect();
    lines.push(place.load(99));
    server.send(&lines.join("\n"));
    let answers: Vec<String> = (0..41).map(|_| server.receive(Duration::from_secs(20)).unwrap()).collect();
    assert_eq!(answers.iter().filter(|answer| delivered(answer)).count(), 21, "no byte of the protocol was eaten");
    let ended = server.close();
    assert_eq!((ended.exit, ended.stdout_text()), (Exit::Status(0), String::new()));
}

#[test]
fn child_zombie() {
    let place = Place::new();
    let mut server = place.serve();
    for id in 0..30 {
        match id % 3 {
            0 => place.allow(),
            1 => place.scratch.file("private/consent.json", "{}", 0o600),
            _ => place.scratch.file("private/consent.json", "", 0o644),
        };
        let answer = server.ask(&place.load(id));
        assert_eq!(delivered(&answer), id % 3 == 0, "{answer}");
        assert_eq!(children(server.id()), Vec::<u32>::new(), "a child is left, or a zombie of one");
    }
    place.allow();
    let (worker, _) = stop_a_worker(&mut server, &place);
    signal(server.id(), Signal::KILL);
    let begun = Instant::now();
    wait_until("the end of the worker", || !alive(worker));
    assert!(begun.elapsed() < Duration::from_secs(1), "it outlived its broker: {:?}", begun.elapsed());
}

#[test]
fn prompt_tiocsti() {
    let place = Place::new();
    let mut server = place.serve();
    let (worker, _) = stop_a_worker(&mut server, &place);
    let stat = fs::read_to_string(format!("/proc/{worker}/stat")).unwrap();
    let words: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    assert_eq!((words[3], words[4]), (worker.to_string().as_str(), "0"), "its own session, no terminal: {stat}");
    signal(worker, Signal::CONT);
    assert!(delivered(&server.receive(Duration::from_secs(20)).unwrap()));
}
