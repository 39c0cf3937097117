//! What a hostile external runtime tries is refused by its sandbox or ends in the right refusal, in bounded time.

use crate::stage::{CAPSULE_CANARY, Host, Loaded, Stage, command_line, stage};
use crate::support::command::LIMIT;
use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

/// Tries everything, and writes into the Capsule's context what happened. `ABOUT` holds what the test knows.
const TRIES: &str = r"'use strict';
const fs = require('node:fs');
const net = require('node:net');
const child = require('node:child_process');
const dgram = require('node:dgram');
const { Worker } = require('node:worker_threads');
const about = ABOUT;

const spawned = (result) => { if (result.error) throw result.error; if (result.status !== 0) throw new Error('status'); };
const connected = (options) => new Promise((done, failed) => {
  const socket = net.connect(options, () => { socket.destroy(); done(); });
  socket.on('error', failed);
});
const listening = (options) => new Promise((done, failed) => {
  const server = net.createServer().on('error', failed);
  server.listen(options, () => server.close(done));
});
const bound = () => new Promise((done, failed) => {
  const socket = dgram.createSocket('udp4').on('error', failed);
  socket.bind(0, '127.0.0.1', () => socket.close(done));
});

const TRIES = {
  write_a_file: () => fs.writeFileSync('made', 'x'),
  append_to_the_record: () => fs.appendFileSync('.kdna/attachments.json', ' '),
  empty_the_record: () => fs.closeSync(fs.openSync('.kdna/attachments.json', fs.constants.O_RDONLY | fs.constants.O_TRUNC)),
  truncate_the_record: () => fs.truncateSync('.kdna/attachments.json', 1),
  write_into_its_package: () => fs.writeFileSync(__filename, 'x'),
  write_outside: () => fs.writeFileSync(about.outside + '/made', 'x'),
  write_null: () => fs.writeFileSync('/dev/null', 'x'),
  make_a_directory: () => fs.mkdirSync('made'),
  make_a_link: () => fs.symlinkSync('/etc', 'made'),
  make_a_hard_link: () => fs.linkSync('.kdna/attachments.json', 'made'),
  rename_a_file: () => fs.renameSync('.kdna/attachments.json', 'made'),
  remove_a_file: () => fs.unlinkSync('.kdna/attachments.json'),
  change_a_mode: () => fs.chmodSync('.kdna/attachments.json', 0o777),
  change_times: () => fs.utimesSync('.kdna/attachments.json', 1, 1),
  read_outside: () => fs.readFileSync(about.outside + '/secret'),
  read_the_consent: () => fs.readFileSync(about.consent),
  read_the_password_file: () => fs.readFileSync('/etc/passwd'),
  list_the_root: () => fs.readdirSync('/'),
  read_its_own_environment: () => fs.readFileSync('/proc/self/environ'),
  read_the_brokers_environment: () => fs.readFileSync(`/proc/${process.ppid}/environ`),
  read_the_brokers_memory: () => fs.openSync(`/proc/${process.ppid}/mem`, 'r'),
  list_the_brokers_descriptors: () => fs.readdirSync(`/proc/${process.ppid}/fd`),
  open_a_terminal: () => fs.openSync('/dev/tty', 'r'),
  connect_by_tcp: () => connected({ host: '127.0.0.1', port: about.port }),
  connect_to_a_socket_file: () => connected({ path: about.outside + '/socket' }),
  listen_on_tcp: () => listening({ host: '127.0.0.1', port: 0 }),
  listen_on_a_socket_file: () => listening({ path: 'made' }),
  bind_udp: () => bound(),
  start_a_process: () => spawned(child.spawnSync('/bin/true')),
  start_itself: () => spawned(child.spawnSync(process.execPath, ['-e', '0'])),
  start_a_shell: () => child.execSync('true'),
  signal_the_broker: () => process.kill(process.ppid, 0),
  signal_itself: () => process.kill(process.pid, 0),
  change_its_user: () => process.setuid(process.getuid()),
};
const ALLOWED = {
  read_the_record: () => fs.readFileSync('.kdna/attachments.json'),
  read_its_package: () => fs.readdirSync(__dirname),
  use_a_worker_thread: () => new Promise((done, failed) => {
    const worker = new Worker('0', { eval: true }).on('error', failed);
    worker.on('exit', (code) => (code === 0 ? done() : failed(new Error('code'))));
  }),
  use_webassembly: () => new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])),
  take_some_memory: () => Buffer.alloc(64 << 20, 1),
};

async function all() {
  const seen = {};
  for (const [name, attempt] of [...Object.entries(TRIES), ...Object.entries(ALLOWED)]) {
    try {
      await attempt();
      seen[name] = 'worked';
    } catch (fault) {
      seen[name] = `refused ${fault.code}`;
    }
  }
  return seen;
}

module.exports = { TRIES, all, answer: async (name, document) => {
  if (name === 'load') document.context.seen = await all();
  return document;
} };
";

fn hostile(stage: &Stage, port: u16) {
    let about = format!(
        "{{ outside: '{}', consent: '{}', port: {port} }}",
        stage.path("outside").display(),
        stage.path("private/consent.json").display()
    );
    stage.behave(&TRIES.replace("ABOUT", &about));
}

/// Everything below the stage but the broker's own state.
fn state(stage: &Stage) -> Vec<(String, Vec<u8>, u32)> {
    use std::os::unix::fs::PermissionsExt;
    fn walk(at: &std::path::Path, found: &mut Vec<(String, Vec<u8>, u32)>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let facts = fs::symlink_metadata(&path).unwrap();
            let bytes = if facts.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            found.push((path.display().to_string(), bytes, facts.permissions().mode()));
            if facts.is_dir() && !path.ends_with("state") {
                walk(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(stage.scratch.path(), &mut found);
    found.sort();
    found
}

#[test]
fn what_it_must_not_do_is_refused_and_what_it_needs_works() {
    let Some(stage) = stage() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(stage.path("outside/socket")).unwrap();
    hostile(&stage, listener.local_addr().unwrap().port());
    let mut host = stage.serve();
    let before = state(&stage);
    let loaded = host.load(&stage.path("ws"));
    loaded.assert_delivered();
    assert_eq!(state(&stage), before, "something changed on disk");
    let seen = loaded.document(&["runtime_capsule", "context", "seen"]).unwrap().as_object().unwrap();
    let said = |name: &str| seen.get(name).and_then(|value| value.as_str()).unwrap().to_owned();
    let allowed = ["read_the_record", "read_its_package", "use_a_worker_thread", "use_webassembly", "take_some_memory"];
    let mut wrong = Vec::new();
    for name in seen.keys() {
        if (said(name) == "worked") != allowed.contains(&name) {
            wrong.push(format!("{name}: {}", said(name)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(seen.len(), 39, "every attempt was made");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody connected");

    // The control: without the sandbox the same attempts work, so that their refusal says something.
    let script = "require(process.argv[1]).all().then((seen) => console.log(JSON.stringify(seen)))";
    let control = Command::new("/usr/bin/node")
        .args(["-e", script])
        .arg(stage.runtime().join("src/behaviour.js"))
        .current_dir(stage.path("ws"))
        .env_clear()
        .output()
        .unwrap();
    let control = String::from_utf8(control.stdout).unwrap();
    for name in ["write_a_file", "write_outside", "read_outside", "connect_by_tcp", "start_a_process", "start_itself"] {
        assert!(control.contains(&format!("\"{name}\":\"worked\"")), "{name} must work outside: {control}");
    }
}

/// The refusal of a load whose runtime does this before it answers `command`.
fn answer_to(script: &str) -> Option<(Stage, Loaded, Duration)> {
    let stage = stage()?;
    stage.behave(script);
    let mut host = stage.serve();
    let begun = Instant::now();
    let loaded = host.load(&stage.path("ws"));
    let took = begun.elapsed();
    assert!(host.children().is_empty(), "a process was left behind");
    assert!(!stage.journal().contains("\"delivered\""));
    Some((stage, loaded, took))
}

fn in_load(action: &str) -> String {
    format!("module.exports = {{ before: (name) => {{ if (name === 'load') {{ {action} }} }} }};")
}

#[test]
fn nonsense_is_no_answer() {
    let Some(stage) = stage() else { return };
    // The pins bind what is said here, so the workspace says what is to be done.
    stage.behave(&in_load("eval(require('node:fs').readFileSync('action', 'utf8'))"));
    let mut host = stage.serve();
    for (action, code, reason) in [
        ("console.log('{}'); process.exit(0)", "runtime_output_invalid", "runtime_output_refused"),
        ("console.log('not JSON'); process.exit(0)", "runtime_output_invalid", "runtime_output_refused"),
        ("process.exit(0)", "runtime_output_invalid", "runtime_output_refused"),
        ("console.log('{}\\n{}'); process.exit(0)", "runtime_output_invalid", "runtime_output_refused"),
        ("process.exit(7)", "runtime_rejected", "runtime_refused"),
        ("process.abort()", "runtime_unavailable", "runtime_died"),
        ("throw new Error('foreign words')", "runtime_rejected", "runtime_refused"),
    ] {
        stage.scratch.file("ws/action", action, 0o644);
        let loaded = host.load(&stage.path("ws"));
        loaded.assert_refused(code, reason);
        assert!(!loaded.line.contains("foreign words"), "{}", loaded.line);
        assert!(host.children().is_empty(), "a process was left behind");
    }
    stage.scratch.file("ws/action", "", 0o644);
    host.load(&stage.path("ws")).assert_delivered();
}

#[test]
fn a_second_document_after_a_good_one_is_no_answer() {
    let script = "module.exports = { answer: (name, document) => {
        if (name === 'load') process.stdout.write('{}');
        return document;
    } };";
    let Some((_stage, loaded, _)) = answer_to(script) else { return };
    loaded.assert_refused("runtime_output_invalid", "runtime_output_refused");
}

#[test]
fn a_flood_is_ended() {
    let flood =
        "const fs = require('node:fs'); const much = Buffer.alloc(1 << 20, 0x20); for (;;) fs.writeSync(1, much);";
    let Some((_stage, loaded, took)) = answer_to(&in_load(flood)) else { return };
    loaded.assert_refused("runtime_unavailable", "runtime_output_too_large");
    assert!(took < Duration::from_secs(25), "{took:?}");
}

#[test]
fn too_much_memory_is_not_given() {
    let much = "const held = []; for (let at = 0; at < 64; at += 1) held.push(Buffer.alloc(64 << 20, 1));";
    let Some((_stage, loaded, _)) = answer_to(&in_load(much)) else { return };
    assert!(loaded.line.contains("runtime_died") || loaded.line.contains("runtime_refused"), "{}", loaded.line);
    assert!(!loaded.line.contains(CAPSULE_CANARY));
}

#[test]
fn one_that_hangs_is_ended_when_the_call_is_cancelled() {
    let Some(stage) = stage() else { return };
    stage.behave(&in_load("for (;;) ;"));
    let mut host = stage.serve();
    let id = host.begin(&stage.path("ws"));
    let end = Instant::now() + LIMIT;
    while !host.children().iter().any(|line| line.contains(" load ./.kdna/")) {
        assert!(Instant::now() < end, "no load was started");
        std::thread::sleep(Duration::from_millis(5));
    }
    host.cancel(id);
    let ended = Instant::now();
    while !host.children().is_empty() {
        assert!(ended.elapsed() < Duration::from_secs(5), "it was not ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(host.receive(Duration::from_millis(200)).is_none_or(|line| !line.contains(CAPSULE_CANARY)));
    assert!(!stage.journal().contains("\"delivered\""));
}

#[test]
fn it_ends_with_its_broker() {
    let Some(stage) = stage() else { return };
    stage.behave(&in_load("for (;;) ;"));
    let mut host = stage.serve();
    host.begin(&stage.path("ws"));
    let end = Instant::now() + LIMIT;
    let child = loop {
        if let Some(child) = host.child_ids().into_iter().find(|id| command_line(*id).contains(" load ./.kdna/")) {
            break child;
        }
        assert!(Instant::now() < end, "no load was started");
        std::thread::sleep(Duration::from_millis(5));
    };
    drop::<Host>(host);
    let gone = Instant::now();
    while command_line(child).contains(" load ./.kdna/") {
        assert!(gone.elapsed() < Duration::from_secs(1), "it outlived its broker");
        std::thread::sleep(Duration::from_millis(5));
    }
}
