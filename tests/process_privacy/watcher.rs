//! A watcher of `/proc` beside running loads.

use crate::session::{
    Names, PHRASE, Reply, Session, WORKER, asset, canary, children, files_below, holds, locked_asset,
};
use crate::support::command::{LIMIT, Program, Server};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// What could be seen of a process. The environment of one that may not be traced is unreadable for all but root.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Sight {
    arguments: Vec<u8>,
    environment: Option<Vec<u8>>,
}

/// Looks at every descendant of a process, as often as it can, until it is told to end.
struct Watcher {
    end: Arc<AtomicBool>,
    thread: JoinHandle<(BTreeSet<Sight>, usize)>,
}

impl Watcher {
    fn start(process: u32) -> Self {
        let end = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&end);
        let thread = spawn(move || {
            let own = arguments_of(process);
            let (mut sights, mut processes) = (BTreeSet::new(), BTreeSet::new());
            while !told.load(Ordering::SeqCst) {
                for child in descendants(process) {
                    if let Some(sight) = look(child, &own) {
                        processes.insert(child);
                        sights.insert(sight);
                    }
                }
            }
            (sights, processes.len())
        });
        Self { end, thread }
    }

    /// Everything seen, and of how many processes.
    fn finish(self) -> (BTreeSet<Sight>, usize) {
        self.end.store(true, Ordering::SeqCst);
        self.thread.join().expect("the watcher")
    }
}

/// A process that has just been started has no arguments for a moment.
fn arguments_of(process: u32) -> Vec<u8> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        match fs::read(format!("/proc/{process}/cmdline")) {
            Ok(arguments) if arguments.is_empty() => {}
            Ok(arguments) => return arguments,
            Err(_) => break,
        }
    }
    Vec::new()
}

fn descendants(process: u32) -> Vec<u32> {
    let mut all = children(process);
    let mut at = 0;
    while let Some(next) = all.get(at).copied() {
        all.extend(children(next));
        at += 1;
    }
    all
}

/// `None` for a process that has ended, or is still the starting half of its parent: until its exec it *is* the parent's
/// memory, so it shows what the parent was given and nothing else.
fn look(process: u32, parent: &[u8]) -> Option<Sight> {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).ok().filter(|arguments| !arguments.is_empty())?;
    if arguments == parent {
        return None;
    }
    let environment = fs::read(format!("/proc/{process}/environ")).ok();
    // A process that ended in between shows an empty environment; whoever still has arguments did not end.
    fs::read(format!("/proc/{process}/cmdline")).ok().filter(|again| *again == arguments)?;
    Some(Sight { arguments, environment })
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn a_watcher_finds_a_text_where_there_is_one() {
    let (argument, variable) = (canary("argument"), canary("variable"));
    let mut shell = Command::new("/bin/sh")
        .args(["-c", &format!("/bin/sh -c ': {argument}; read x; :'; :")])
        .env_clear()
        .env("VARIABLE", &variable)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let watcher = Watcher::start(shell.id());
    let end = Instant::now() + LIMIT;
    while descendants(shell.id()).iter().all(|child| look(*child, b"").is_none()) && Instant::now() < end {}
    std::thread::sleep(Duration::from_millis(50));
    drop(shell.stdin.take());
    let (sights, processes) = watcher.finish();
    shell.wait().unwrap();
    assert!(processes >= 1);
    assert!(sights.iter().any(|sight| holds(&sight.arguments, &argument)));
    assert!(sights.iter().any(|sight| sight.environment.as_deref().is_some_and(|all| holds(all, &variable))));
}

#[test]
fn no_argument_and_no_environment_of_a_child_holds_task_coordinates_or_secrets() {
    let words = [canary("task"), canary("consent"), canary("authorization"), canary("secret"), canary("judgment")];
    let [task, consent, authorization, secret, judgment] = &words;
    let names = Names { consent: consent.clone(), authorization: authorization.clone() };
    let session = Session::new(&asset(judgment, 100_000), names);
    let mut command = session.command();
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "NODE_OPTIONS",
        "NODE_PATH",
        "LD_LIBRARY_PATH",
        "BASH_ENV",
        "PYTHONPATH",
        "GCONV_PATH",
        "KDNA_PASSWORD",
        "RUST_LOG",
        "XDG_RUNTIME_DIR",
    ] {
        command.env(name, format!("/{secret}"));
    }
    command.env("RUST_BACKTRACE", "full");
    let mut server = crate::session::greet(Server::start(command));
    let watcher = Watcher::start(server.id());
    let mut delivered = 0;
    for id in 1..=36 {
        // Every third is refused at another step, so that all kinds of children are seen.
        let line = match id % 3 {
            0 => session.load(id, &format!("a task about {task}")),
            _ => session.load(id, &format!("{PHRASE} {task}")),
        };
        let reply = server.ask(&line);
        assert!(!reply.contains(task.as_str()), "the reply repeats the task");
        delivered += usize::from(Reply::read(&reply).is_delivered());
    }
    let (sights, processes) = watcher.finish();
    let finished = server.close();
    assert_eq!(delivered, 24);
    assert!(processes >= 12, "only {processes} of 84 workers were seen");
    for sight in &sights {
        assert_eq!(String::from_utf8_lossy(&sight.arguments), String::from_utf8_lossy(WORKER));
        assert_eq!(sight.environment.as_deref().unwrap_or_default(), b"", "an environment that is not empty");
    }
    assert!(sights.iter().any(|sight| sight.environment.is_some()) || !is_root(), "root reads every environment");
    for word in &words {
        assert!(!holds(&finished.stderr, word), "standard error holds a word that is nobody's business");
    }
}

#[test]
fn a_password_is_in_no_argument_no_environment_and_no_file_but_its_own() {
    let (password, judgment) = (canary("password"), canary("judgment"));
    let names = Names { consent: canary("consent"), authorization: canary("authorization") };
    let session = Session::new(&locked_asset(&judgment), names);
    fs::write(session.authorization_path(), format!("{password}\n")).unwrap();
    let mut server = session.start();
    assert!(is_root() || fs::read(format!("/proc/{}/environ", server.id())).is_err(), "others read its environment");
    let watcher = Watcher::start(server.id());
    let mut said = Vec::new();
    for id in 1..=20 {
        let reply = server.ask(&session.load(id, PHRASE));
        assert_eq!(Reply::read(&reply).refusal().unwrap().0, "authorization_rejected");
        said.extend(reply.into_bytes());
    }
    let (sights, processes) = watcher.finish();
    said.extend(server.close().stderr);
    assert!(processes >= 6, "only {processes} of 60 workers were seen");
    for sight in &sights {
        assert_eq!(String::from_utf8_lossy(&sight.arguments), String::from_utf8_lossy(WORKER));
        assert_eq!(sight.environment.as_deref().unwrap_or_default(), b"");
    }
    assert!(!holds(&said, &password) && !holds(&said, &judgment));
    let mut files = Vec::new();
    files_below(session.scratch.path(), &mut files);
    let holders: Vec<_> = files.into_iter().filter(|file| holds(&fs::read(file).unwrap(), &password)).collect();
    assert_eq!(holders, [session.authorization_path()]);
}

#[test]
fn the_commands_of_a_person_tell_their_workers_nothing_in_argument_or_environment_either() {
    let (judgment, secret, path) = (canary("judgment"), canary("secret"), canary("path"));
    let names = Names { consent: canary("consent"), authorization: canary("authorization") };
    let session = Session::new(&asset(&judgment, 1 << 20), names);
    let file = session.scratch.file(format!("{path}.kdna"), fs::read(session.snapshot_path()).unwrap(), 0o600);
    let file = file.to_str().unwrap();
    let (mut sights, mut processes) = (BTreeSet::new(), 0);
    for words in [
        &["inspect", file][..],
        &["validate", file],
        &["plan-load", file],
        &["load", file],
        &["resolve", "--cwd", "ws", "--task-stdin"],
        &["attach", file, "--cwd", "ws", "--role", &secret, "--applies-to", &secret, "--preview"],
    ] {
        let mut command = session.scratch.command(Program::Owner, words);
        command.env("KDNA_PASSWORD", &secret).env("KDNA_MCP_AUTHORIZATION_FILE", session.authorization_path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let watcher = Watcher::start(child.id());
        // A command that was told nothing need not wait for it.
        let _ = child.stdin.take().unwrap().write_all(format!("{PHRASE} {secret}").as_bytes());
        assert!(child.wait().unwrap().success(), "{words:?}");
        let (seen, count) = watcher.finish();
        sights.extend(seen);
        processes += count;
    }
    assert!(processes >= 2, "only {processes} workers were seen");
    for sight in &sights {
        assert_eq!(String::from_utf8_lossy(&sight.arguments), String::from_utf8_lossy(WORKER));
        assert_eq!(sight.environment.as_deref().unwrap_or_default(), b"");
    }
}
