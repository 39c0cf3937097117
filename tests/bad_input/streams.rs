//! Pipes that their maker set not to wait, and a partner who is slow: everything is read and written all the same.

use crate::place::Place;
use crate::session::{PHRASE, asset, canary, locked_asset};
use crate::support::command::Program;
use crate::support::documents::parse;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{sleep, spawn};
use std::time::Duration;

fn without_waiting(end: impl AsFd) {
    fcntl_setfl(&end, fcntl_getfl(&end).unwrap() | OFlags::NONBLOCK).unwrap();
}

/// Runs a command between two such pipes; what it says, read late, and how it ends.
fn run_between(mut command: Command, input: Vec<u8>) -> (ExitStatus, Vec<u8>) {
    let (read, mut write): (PipeReader, PipeWriter) = pipe().unwrap();
    let (mut output, end): (PipeReader, PipeWriter) = pipe().unwrap();
    without_waiting(&read);
    without_waiting(&end);
    let mut child = command.stdin(read).stdout(end).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    let writer = spawn(move || {
        sleep(Duration::from_millis(50));
        write.write_all(&input)
    });
    sleep(Duration::from_millis(100));
    let mut said = Vec::new();
    output.read_to_end(&mut said).unwrap();
    writer.join().unwrap().expect("all of the input is taken");
    (child.wait().unwrap(), said)
}

#[test]
fn a_server_waits_for_pipes_that_do_not() {
    let place = Place::new();
    let input = (0..2000).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n"));
    let (status, said) = run_between(place.session.command(), input.collect::<String>().into_bytes());
    assert!(status.success(), "{status:?}");
    let lines = String::from_utf8(said).unwrap();
    assert_eq!(lines.lines().count(), 2000);
    assert!(lines.lines().all(|line| parse(line.as_bytes()).is_some()), "a message was cut");
}

#[test]
fn a_command_waits_for_pipes_that_do_not() {
    let judgment = canary("judgment");
    let place = Place::with(&asset(&judgment, 1 << 20), judgment);
    let mut command = place.session.scratch.command(Program::Owner, ["load"]);
    command.arg(place.session.snapshot_path());
    let (status, said) = run_between(command, Vec::new());
    assert!(status.success() && said.len() > 1 << 20 && parse(&said).is_some(), "{status:?}, {} bytes", said.len());
    place.session.scratch.file("locked.kdna", locked_asset("x"), 0o600);
    for line in [&["resolve", "--cwd", "ws", "--task-stdin"][..], &["load", "locked.kdna", "--password-stdin"]] {
        let (status, said) = run_between(place.session.scratch.command(Program::Owner, line), PHRASE.into());
        let expected = if line[0] == "resolve" { (Some(0), true) } else { (Some(1), false) };
        assert_eq!((status.code(), parse(&said).is_some()), expected, "{line:?}");
    }
}
