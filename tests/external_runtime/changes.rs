//! The pinned files in the simulated system, where a change or a failure can come before any single call.

use kdna_broker::delegate::pin::{Content, Entry, PinnedRuntime, RuntimePins};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::refusal::{Code, Refusal};
use kdna_broker::system::Fault;
use kdna_broker::system::sim::{HookAction, SimSystem, World};

const PINS: &str = "/private/pins.json";

fn content(bytes: &[u8], mode: u32) -> Content {
    Content { digest: Digest::of(bytes), size: u32::try_from(bytes.len()).unwrap(), mode }
}

fn pins() -> RuntimePins {
    let absolute = |text| AbsolutePath::parse(text).unwrap();
    let below = |text| RelativePath::parse(text).unwrap();
    RuntimePins {
        cli: "kdna@1".into(),
        core: "kdna-core@1".into(),
        interpreter: (absolute("/opt/bin/node"), content(b"node", 0o755)),
        libraries: vec![(absolute("/lib/libc.so"), 0o755)],
        package: absolute("/opt/kdna"),
        entry: below("src/cli.js"),
        entries: vec![
            (below("link"), Entry::Link(below("src/cli.js"))),
            (below("package.json"), Entry::File(content(b"{}", 0o644))),
            (below("src/cli.js"), Entry::File(content(b"script", 0o644))),
        ],
    }
}

fn system() -> SimSystem {
    let system = SimSystem::new(11);
    system.arrange(|world| {
        world.file("/opt/bin/node", 0o755, b"node").unwrap();
        world.file("/lib/libc.so", 0o755, b"libc").unwrap();
        for path in ["/", "/lib", "/lib/libc.so"] {
            world.set_owner(path, 0).unwrap();
        }
        world.file("/opt/kdna/package.json", 0o644, b"{}").unwrap();
        world.file("/opt/kdna/src/cli.js", 0o644, b"script").unwrap();
        world.link("/opt/kdna/link", "src/cli.js").unwrap();
        world.directory("/private", 0o700).unwrap();
        world.set_owner("/private", 1000).unwrap();
        world.file(PINS, 0o600, pins().write().unwrap().as_bytes()).unwrap();
    });
    system
}

type Change = (&'static str, fn(&mut World));

/// Each makes the files disagree with the pins.
const CHANGES: [Change; 10] = [
    ("interpreter", |world| world.set_content("/opt/bin/node", b"edon").unwrap()),
    ("interpreter's mode", |world| world.set_mode("/opt/bin/node", 0o777).unwrap()),
    ("library's owner", |world| world.set_owner("/lib/libc.so", 1000).unwrap()),
    ("library's mode", |world| world.set_mode("/lib/libc.so", 0o777).unwrap()),
    ("script", |world| world.set_content("/opt/kdna/src/cli.js", b"tpircs").unwrap()),
    ("script's mode", |world| world.set_mode("/opt/kdna/src/cli.js", 0o600).unwrap()),
    ("added", |world| world.file("/opt/kdna/src/more.js", 0o644, b"x").unwrap()),
    ("missing", |world| world.remove("/opt/kdna/package.json").unwrap()),
    ("script replaced by a link", |world| {
        world.rename("/opt/kdna/src/cli.js", "/opt/kdna/src/other.js").unwrap();
        world.link("/opt/kdna/src/cli.js", "other.js").unwrap();
    }),
    ("link", |world| {
        world.remove("/opt/kdna/link").unwrap();
        world.link("/opt/kdna/link", "package.json").unwrap();
    }),
];

fn open(system: &SimSystem) -> Result<PinnedRuntime<SimSystem>, Refusal> {
    PinnedRuntime::open(system, PINS)
}

/// How many calls this makes.
fn calls(system: &SimSystem, run: impl FnOnce()) -> u64 {
    system.clear_log();
    run();
    u64::try_from(system.log().len()).unwrap()
}

/// Runs this action before the so-manieth call from now on.
fn before_call(system: &SimSystem, at: u64, action: impl Fn(&mut World) -> HookAction + Send + 'static) {
    let mut count = 0;
    system.set_hook(move |world, _| {
        count += 1;
        if count == at { action(world) } else { HookAction::Proceed }
    });
}

#[test]
fn a_change_before_any_call_is_refused_at_the_latest_by_the_next_look() {
    let total = {
        let system = system();
        calls(&system, || drop(open(&system).unwrap()))
    };
    assert!(total > 20, "{total}");
    for (name, change) in CHANGES {
        for at in 1..=total {
            let system = system();
            before_call(&system, at, move |world| {
                change(world);
                HookAction::Proceed
            });
            let opened = open(&system);
            system.clear_hook();
            let verdict = opened.and_then(|pinned| pinned.current(&system).map(drop));
            assert_eq!(verdict.unwrap_err().code(), Code::RuntimeBindingInvalid, "{name} before call {at}");
        }
    }
}

#[test]
fn a_changed_file_is_not_accepted_because_a_call_failed() {
    for (name, change) in CHANGES {
        let system = system();
        let pinned = open(&system).unwrap();
        system.arrange(change);
        let total = calls(&system, || assert!(pinned.current(&system).is_err(), "{name}"));
        for fault in [Fault::Io(5), Fault::NotFound, Fault::Denied, Fault::Changed] {
            for at in 1..=total {
                before_call(&system, at, move |_| HookAction::Fail(fault));
                assert!(pinned.current(&system).is_err(), "{name}: {fault:?} at call {at}");
                system.clear_hook();
            }
        }
    }
}

#[test]
fn a_touched_file_with_the_same_bytes_is_accepted_after_it_was_read_again() {
    let system = system();
    let pinned = open(&system).unwrap();
    let cheap = calls(&system, || drop(pinned.current(&system).unwrap()));
    system.arrange(|world| world.set_content("/opt/kdna/src/cli.js", b"script").unwrap());
    let full = calls(&system, || drop(pinned.current(&system).unwrap()));
    assert!(full > cheap, "{full} {cheap}");
    assert_eq!(calls(&system, || drop(pinned.current(&system).unwrap())), cheap, "and remembered");
}
