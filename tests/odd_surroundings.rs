//! Limits, endless inputs and odd names around the programs: each is refused or taken for what it is; none ends a program
//! in the middle of its work, makes it wait for ever, or passes for something else.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "owner_commands/scene.rs"]
mod scene;
mod support;

use scene::{Reply, Scene, delivered, load, resolve, status};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use support::command::{Exit, Program, Server, run};
use support::tree::tree;

#[test]
fn a_file_size_limit_spoils_loads_and_ends_nobody() {
    let scene = Scene::new();
    let id = scene.attach("ws");
    scene.allow("ws", "ws");
    for blocks in [0, 1] {
        let limited = scene.in_shell(&scene.server_command("ws"), &format!("ulimit -f {blocks}; exec \"$0\" \"$@\""));
        let mut server = Server::start(limited);
        let replies: Vec<Reply> = (0..6).map(|_| load(&mut server, scene.at("ws"))).collect();
        assert_eq!(replies[5], Reply::refused("journal_unavailable"), "{blocks}");
        assert_eq!(status(&mut server, scene.at("ws")), Reply::of(&id), "{blocks}");
        assert_eq!(resolve(&mut server, scene.at("ws")), Reply::Decision("load".to_owned(), false), "{blocks}");
        assert_eq!(server.close().exit, Exit::Status(0), "{blocks}");
        // No half a row was left: the journal goes on.
        assert_eq!(load(&mut scene.server("ws"), scene.at("ws")), delivered(), "{blocks}");
    }
}

#[test]
fn a_file_size_limit_leaves_the_record_as_it_was() {
    let scene = Scene::new();
    scene.attach("ws");
    let before = tree(&scene.at("ws"));
    let limited = scene.in_shell(&scene.attach_command("ws"), "ulimit -f 0; exec \"$0\" \"$@\"");
    let done = run(limited, None);
    assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{}", done.stderr_text());
    assert_eq!(tree(&scene.at("ws")), before);
}

#[test]
fn an_input_that_never_ends_is_refused_in_time() {
    let scene = Scene::new();
    scene.attach("ws");
    let cwd = scene.text("ws");
    let asset = scene::asset();
    let commands = [
        scene.owner(["resolve", "--cwd", &cwd, "--task-stdin"]),
        scene.owner(["attach", asset.to_str().unwrap(), "--cwd", &cwd, "--attachment-stdin", "--preview"]),
    ];
    for command in commands {
        let done = run(scene.in_shell(&command, "exec \"$0\" \"$@\" </dev/zero"), None);
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0));
        assert!(done.stderr_text().contains(" stdin exceeds the size limit."), "{}", done.stderr_text());
    }
}

#[test]
fn an_argument_that_is_no_text_is_not_repaired() {
    let scene = Scene::new();
    scene.scratch.directory("ws", 0o755);
    // What a repair would make of the name is there.
    fs::copy(scene::asset(), scene.at("a\u{fffd}.kdna")).unwrap();
    scene.scratch.directory("w\u{fffd}", 0o755);
    let odd = |bytes| OsStr::from_bytes(bytes);
    let rest = ["--all-workspace", "--yes", "--scope-user-approved"].map(OsStr::new);
    let good = scene::asset();
    for [file, cwd, role] in [
        [odd(b"a\xff.kdna"), OsStr::new("ws"), OsStr::new("r")],
        [good.as_os_str(), odd(b"w\xff"), OsStr::new("r")],
        [good.as_os_str(), OsStr::new("ws"), odd(b"r\xff")],
    ] {
        let words = [OsStr::new("attach"), file, OsStr::new("--cwd"), cwd, OsStr::new("--role"), role];
        let done = run(scene.scratch.command(Program::Owner, words.into_iter().chain(rest)), None);
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{}", done.stderr_text());
        assert!(tree(&scene.at("ws")).is_empty() && tree(&scene.at("w\u{fffd}")).is_empty());
    }
}

#[test]
fn a_server_that_cannot_serve_says_so_in_one_line() {
    let scene = Scene::new();
    scene.scratch.directory("ws", 0o755);
    // No thread can be started; processes of this user count, so root is not limited.
    let limited =
        scene.in_shell(&scene.server_command("ws"), "ulimit -p 1 2>/dev/null || ulimit -u 1; exec \"$0\" \"$@\"");
    let done = run(limited, Some(b""));
    match done.exit {
        Exit::Status(0) => println!("skipped: the number of processes is not limited for this user"),
        exit => {
            assert_eq!((exit, done.stdout.len(), done.stderr_text().lines().count()), (Exit::Status(1), 0, 1));
            assert!(done.stderr_text().starts_with("Error: "));
        }
    }
}
