//! Command lines: bad files, bad options, bad input. Each ends within five seconds with its status; what it repeats of
//! the person's own words is escaped, and what lies in a file is not repeated at all.

use crate::place::{Place, report};
use crate::session::{run_bounded, titled_asset};
use crate::support::command::{Exit, Finished, Program};
use crate::support::documents::parse;
use crate::support::tree::tree;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

/// Which standard input a command gets.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Input {
    Nothing,
    Zeros,
    Foreign,
}

impl Input {
    fn open(self, place: &Place) -> Stdio {
        match self {
            Input::Nothing => Stdio::null(),
            Input::Zeros => File::open("/dev/zero").expect("zeros").into(),
            Input::Foreign => File::open(place.session.scratch.path().join("junk.kdna")).expect("junk").into(),
        }
    }
}

/// Things that a person could name by mistake, or be made to.
pub(crate) fn lay_out(place: &Place) {
    let here = place.session.scratch.path();
    let junk = [place.foreign.as_bytes(), &[0x1b, b'[', b'2', b'J', 0xff, 0x80, 0x9b]].concat();
    fs::write(here.join("junk.kdna"), &junk).unwrap();
    fs::write(here.join("junk.txt"), &junk).unwrap();
    fs::write(here.join("zip.kdna"), [b"PK\x03\x04", junk.as_slice()].concat()).unwrap();
    fs::write(here.join("empty.kdna"), "").unwrap();
    fs::write(here.join("cut.kdna"), &fs::read(place.session.snapshot_path()).unwrap()[..100]).unwrap();
    fs::create_dir(here.join("folder.kdna")).unwrap();
    mkfifoat(CWD, here.join("fifo.kdna"), Mode::RUSR | Mode::WUSR).unwrap();
    drop(UnixListener::bind(here.join("socket.kdna")).unwrap());
    symlink(place.session.snapshot_path(), here.join("link.kdna")).unwrap();
    symlink("/dev/zero", here.join("zero.kdna")).unwrap();
    symlink(place.outside("file"), here.join("dangling.kdna")).unwrap();
    fs::remove_file(place.outside("file")).unwrap();
    let sparse = File::create(here.join("huge.kdna")).unwrap();
    sparse.set_len((256 << 20) + 1).unwrap();
}

const FILES: [&str; 16] = [
    "junk.kdna",
    "zip.kdna",
    "empty.kdna",
    "cut.kdna",
    "folder.kdna",
    "fifo.kdna",
    "socket.kdna",
    "link.kdna",
    "zero.kdna",
    "dangling.kdna",
    "huge.kdna",
    "/dev/zero",
    "/dev/null",
    "/dev/stdin",
    "/proc/self/mem",
    "/",
];

pub(crate) fn run(place: &Place, program: Program, words: &[String], input: Input) -> Finished {
    let mut command = place.session.scratch.command(program, words);
    command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", place.session.consent_path());
    run_bounded(command, input.open(place))
}

/// Runs a command that must be refused: nothing on standard output, text on standard error, one of these statuses.
pub(crate) fn refused(
    place: &Place,
    program: Program,
    words: &[String],
    input: Input,
    statuses: &[i32],
    faults: &mut Vec<String>,
) {
    let given = run(place, program, words, input);
    let row = format!("{program:?} {words:?} < {input:?}");
    let said = given.stderr_text();
    if !statuses.iter().any(|status| given.exit == Exit::Status(*status)) || !given.stdout.is_empty() {
        faults.push(format!("{row}: {:?}, stdout {:?}, stderr {said:?}", given.exit, given.stdout_text()));
    }
    // What went wrong, the word that may have been meant, what to do.
    let most = 2 + usize::from(said.contains("\nDid you mean "));
    if !said.starts_with("Error: ") || !said.ends_with('\n') || said.lines().count() > most {
        faults.push(format!("{row}: stderr {said:?}"));
    }
    faults.extend(place.faults(&given.stderr).into_iter().map(|fault| format!("{row}: {fault} in {said:?}")));
}

pub(crate) fn words(line: &[&str]) -> Vec<String> {
    line.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_file_that_is_no_asset_is_refused_unread_and_unquoted() {
    let place = Place::new();
    lay_out(&place);
    let mut faults = Vec::new();
    for file in FILES {
        for command in [
            &["plan-load", file][..],
            &["plan-load", file, "--json"],
            &["load", file],
            &["load", file, "--password-stdin"],
            &["inspect", file],
            &["validate", file],
            &["validate", file, "--runtime"],
            &["attach", file, "--cwd", "ws", "--all-workspace", "--preview"],
            &["attach", file, "--cwd", "ws", "--role", "r", "--applies-to", "x", "--yes", "--scope-user-approved"],
        ] {
            refused(&place, Program::Owner, &words(command), Input::Nothing, &[1, 2], &mut faults);
        }
    }
    report(&faults);
    assert_eq!(fs::read(place.session.record_path()).unwrap(), place.session.record(), "a record was changed");
}

#[test]
fn input_without_end_ends_the_command_and_foreign_input_is_not_repeated() {
    let place = Place::new();
    lay_out(&place);
    let asset = place.session.snapshot_path().to_str().unwrap().to_owned();
    let mut faults = Vec::new();
    for input in [Input::Nothing, Input::Zeros, Input::Foreign] {
        for line in [
            &["resolve", "--cwd", "ws", "--task-stdin"][..],
            &["attach", &asset, "--cwd", "ws", "--attachment-stdin", "--preview"],
            &["load", "junk.kdna", "--password-stdin"],
        ] {
            refused(&place, Program::Owner, &words(line), input, &[1, 2], &mut faults);
        }
    }
    for input in [Input::Nothing, Input::Zeros] {
        refused(&place, Program::Owner, &words(&["load", &asset, "--password-stdin"]), input, &[2], &mut faults);
    }
    // A worker's flag typed by a person does nothing: it has no broker to speak with.
    for program in [Program::Owner, Program::Broker] {
        let given = run(&place, program, &words(&["--runtime-worker"]), Input::Foreign);
        if given.exit != Exit::Status(1) || !given.stdout.is_empty() || !given.stderr.is_empty() {
            faults.push(format!("a worker without a broker: {given:?}"));
        }
    }
    report(&faults);
}

#[test]
fn a_consent_file_in_a_bad_state_is_told_by_its_code_and_not_quoted() {
    type Arrange = fn(&Place);
    let states: [(&str, Arrange, &str); 6] = [
        (
            "not JSON",
            |place| fs::write(place.session.consent_path(), place.hostile()).unwrap(),
            "[host_consent_invalid]",
        ),
        (
            "a repeated key",
            |place| {
                fs::write(place.session.consent_path(), format!("{{\"{0}\":1,\"{0}\":2}}", place.foreign)).unwrap();
            },
            "[host_consent_invalid]",
        ),
        (
            "too large",
            |place| fs::write(place.session.consent_path(), vec![b' '; 70_000]).unwrap(),
            "[host_consent_invalid]",
        ),
        (
            "a FIFO",
            |place| {
                fs::remove_file(place.session.consent_path()).unwrap();
                mkfifoat(CWD, place.session.consent_path(), Mode::RUSR | Mode::WUSR).unwrap();
            },
            "[host_consent_invalid]",
        ),
        (
            "a link",
            |place| {
                fs::remove_file(place.session.consent_path()).unwrap();
                symlink("/dev/zero", place.session.consent_path()).unwrap();
            },
            "[host_consent_invalid]",
        ),
        (
            "an open directory",
            |place| {
                use std::os::unix::fs::PermissionsExt;
                let parent = place.session.consent_path();
                fs::set_permissions(parent.parent().unwrap(), fs::Permissions::from_mode(0o755)).unwrap();
            },
            "[host_consent_parent_insecure]",
        ),
    ];
    let mut faults = Vec::new();
    for (state, arrange, code) in states {
        for (program, line) in
            [(Program::Broker, &["consent", "status"]), (Program::Owner, &["host-consent", "--status"])]
        {
            let place = Place::new();
            lay_out(&place);
            arrange(&place);
            let given = run(&place, program, &words(line), Input::Nothing);
            let said = given.stderr_text();
            if given.exit != Exit::Status(2) || !given.stdout.is_empty() || !said.starts_with(&format!("Error: {code}"))
            {
                faults.push(format!("{state}: {:?} {said:?} {:?}", given.exit, given.stdout_text()));
            }
            faults.extend(place.faults(&given.stderr).into_iter().map(|fault| format!("{state}: {fault}")));
        }
    }
    report(&faults);
}

#[test]
fn arguments_that_are_no_text_are_refused_and_not_passed_on() {
    let place = Place::new();
    lay_out(&place);
    let raw = OsString::from_vec([b"no".as_slice(), &[0xff, 0x9b, 0x80], b".kdna"].concat());
    let option = OsString::from_vec([b"--".as_slice(), &[0xff, 0x9b]].concat());
    let mut faults = Vec::new();
    for (program, command) in [
        (Program::Owner, "load"),
        (Program::Owner, "plan-load"),
        (Program::Owner, "inspect"),
        (Program::Owner, "attach"),
        (Program::Owner, "attachments"),
        (Program::Owner, "resolve"),
        (Program::Broker, "mcp"),
        (Program::Broker, "consent"),
    ] {
        for word in [&raw, &option] {
            let mut line = place.session.scratch.command(program, [command]);
            line.arg(word);
            let given = run_bounded(line, Stdio::null());
            if given.exit != Exit::Status(2) || !given.stdout.is_empty() || !given.stderr.starts_with(b"Error: ") {
                faults.push(format!("{command} {word:?}: {given:?}"));
            }
            faults.extend(place.faults(&given.stderr).into_iter().map(|fault| format!("{command} {word:?}: {fault}")));
        }
    }
    for program in [Program::Owner, Program::Broker] {
        for word in [&raw, &option] {
            let given = run_bounded(place.session.scratch.command(program, [word]), Stdio::null());
            assert_eq!(given.exit, Exit::Status(2));
            assert_eq!(place.faults(&given.stderr), Vec::<String>::new());
        }
    }
    report(&faults);
}

#[test]
fn an_output_that_takes_nothing_is_a_failure_and_not_a_crash() {
    let place = Place::new();
    let attachments = || place.session.scratch.command(Program::Owner, ["attachments", "--cwd", "ws"]);
    let lost = &b"Error: Standard output could not be written."[..];
    let commands = [
        (attachments(), lost),
        (place.session.scratch.command(Program::Broker, ["help"]), lost),
        (place.session.command(), b"Error: The session ended early: "),
    ];
    for (mut command, said) in commands {
        let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
        let input = place.session.scratch.file("ping", ping, 0o600);
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = command.stdin(File::open(input).unwrap()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(1));
        let lines = String::from_utf8_lossy(&ended.stderr).lines().count();
        assert!(ended.stderr.starts_with(said) && lines == 1, "{:?}", ended.stderr);
    }
}

#[test]
fn a_workspace_in_a_bad_state_ends_every_command_and_is_not_quoted() {
    let mut faults = Vec::new();
    for (state, arrange, _) in crate::workspace::ROWS.iter().skip(1) {
        let place = Place::new();
        lay_out(&place);
        let good = place.session.scratch.file("good.kdna", titled_asset("good"), 0o644);
        arrange(&place);
        let outside = tree(&place.outside(""));
        let task = place.session.scratch.file("task", &place.task, 0o600);
        let (good, task) = (good.to_str().unwrap(), task.to_str().unwrap());
        for (program, line) in [
            (Program::Owner, &["attachments", "--cwd", "ws"][..]),
            (Program::Owner, &["resolve", "--cwd", "ws", "--task-file", task]),
            (Program::Owner, &["attach", good, "--cwd", "ws", "--all-workspace", "--preview"]),
            (
                Program::Owner,
                &["attach", good, "--cwd", "ws", "--role", "r", "--all-workspace", "--yes", "--scope-user-approved"],
            ),
            (Program::Owner, &["host-consent", "--from-workspace", "--cwd", "ws", "--host", "h", "--processor", "x"]),
            (Program::Broker, &["consent", "request", "--host", "h", "--processor", "x", "--cwd", "ws"]),
        ] {
            let given = run(&place, program, &words(line), Input::Nothing);
            let row = format!("{state}: {}", line[0]);
            let sound = match given.exit {
                Exit::Status(0) => given.stderr.is_empty() && parse(&given.stdout).is_some(),
                Exit::Status(2 | 11) => given.stdout.is_empty() && given.stderr.starts_with(b"Error: ["),
                _ => false,
            };
            if !sound {
                faults.push(format!("{row}: {:?} {:?} {:?}", given.exit, given.stdout_text(), given.stderr_text()));
            }
            faults.extend(place.faults(&given.stderr).into_iter().map(|fault| format!("{row}: {fault}")));
            faults.extend(place.faults(&given.stdout).into_iter().map(|fault| format!("{row}: stdout: {fault}")));
        }
        if tree(&place.outside("")) != outside {
            faults.push(format!("{state}: something outside the workspace was changed"));
        }
    }
    report(&faults);
}
