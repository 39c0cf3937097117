//! The coordinates that a host gives at the start: a bad one ends the start with one line, or refuses every load.

use crate::place::{Place, ask_all, outcome, report};
use crate::session::{greet, run_bounded};
use crate::support::command::{Exit, Server};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

const ROOT: &str = "KDNA_MCP_WORKSPACE_ROOT";
const STATE: &str = "KDNA_BROKER_STATE_DIR";
const ROOT_PHRASE: &str = "Error: [host_root_invalid] The KDNA MCP Host workspace root is invalid. (";

type Arrange = fn(&Place);
type Coordinate = fn(&Place) -> OsString;

/// A variable, what it is set to, and the beginning of the one line that says why the server does not start.
const STARTS: &[(&str, Coordinate, &str)] = &[
    (ROOT, |_| OsString::new(), "root_unset"),
    (ROOT, |place| place.foreign.clone().into(), "root_not_absolute"),
    (ROOT, |place| format!("./{}", place.foreign).into(), "root_not_absolute"),
    (ROOT, |place| format!("-{}", place.foreign).into(), "root_not_absolute"),
    (ROOT, |place| place.session.root().join("../ws").into(), "root_not_normal"),
    (ROOT, |place| format!("{}/", place.outside("").to_str().unwrap()).into(), "root_not_normal"),
    (ROOT, |place| [b"/".as_slice(), &[0xff, 0xfe], place.foreign.as_bytes()].concat().into_os_string(), "root_not_"),
    (ROOT, |place| place.outside(&place.foreign).into(), "root_missing"),
    (ROOT, |place| format!("/{}", place.hostile()).into(), "root_missing"),
    (ROOT, |place| place.outside("file").into(), "root_not_directory"),
    (ROOT, |_| "/dev/zero".into(), "root_not_directory"),
    (
        ROOT,
        |place| {
            let link = place.session.scratch.path().join(&place.foreign);
            symlink(place.session.root(), &link).unwrap();
            link.into()
        },
        "root_symlink",
    ),
    (
        ROOT,
        |place| {
            let link = place.session.scratch.path().join(&place.foreign);
            symlink(place.session.scratch.path(), &link).unwrap();
            link.join("ws").into()
        },
        "root_symlink",
    ),
    (ROOT, |_| "/".into(), "root_is_filesystem_root"),
    (ROOT, |_| "/proc/self/root".into(), "root_symlink"),
    (ROOT, |place| place.session.scratch.home().into(), "root_is_home"),
    (ROOT, |place| place.session.scratch.path().into(), "root_holds_state"),
    (STATE, |place| place.foreign.clone().into(), "state_coordinate_invalid"),
    (STATE, |place| format!("/{}/../x", place.foreign).into(), "state_coordinate_invalid"),
    (STATE, |_| "/".into(), "state_coordinate_invalid"),
    (STATE, |place| place.session.root().join(&place.foreign).into(), "root_holds_state"),
    ("HOME", |place| place.foreign.clone().into(), "home_unresolvable"),
    ("HOME", |place| format!("/{}", place.hostile()).into(), "home_unresolvable"),
    ("HOME", |place| place.outside("file").into(), "home_unresolvable"),
];

trait IntoOsString {
    fn into_os_string(self) -> OsString;
}

impl IntoOsString for Vec<u8> {
    fn into_os_string(self) -> OsString {
        OsString::from_vec(self)
    }
}

#[test]
fn a_bad_coordinate_ends_the_start_with_one_line_and_nothing_on_standard_output() {
    let mut faults = Vec::new();
    for (number, (variable, coordinate, reason)) in STARTS.iter().enumerate() {
        let place = Place::new();
        let row = format!("row {number}, {variable}, {reason}");
        let mut command = place.session.command();
        command.env(variable, coordinate(&place));
        let given = run_bounded(command, Stdio::null());
        let said = given.stderr_text();
        let phrase = if reason.starts_with("root") || reason.starts_with("home") { ROOT_PHRASE } else { "Error: [" };
        if given.exit != Exit::Status(1)
            || !given.stdout.is_empty()
            || !said.ends_with(".\n")
            || said.lines().count() != 1
        {
            faults.push(format!("{row}: {given:?}"));
        }
        if !said.starts_with(phrase) || !said.contains(&format!("({reason}")) {
            faults.push(format!("{row}: {said}"));
        }
        faults.extend(place.faults(&given.stderr).into_iter().map(|fault| format!("{row}: {fault}")));
    }
    report(&faults);
}

#[test]
fn a_state_that_cannot_be_written_refuses_every_load_and_nothing_else() {
    let states: [(&str, Arrange); 5] = [
        ("open to others", |place| {
            fs::set_permissions(place.session.scratch.state(), fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a file", |place| {
            fs::remove_dir(place.session.scratch.state()).unwrap();
            fs::write(place.session.scratch.state(), &place.foreign).unwrap();
        }),
        ("a link", |place| {
            fs::remove_dir(place.session.scratch.state()).unwrap();
            symlink(place.outside(""), place.session.scratch.state()).unwrap();
        }),
        ("with a damaged journal", |place| {
            place.session.scratch.directory("state/journal", 0o700);
            place.session.scratch.file("state/journal/journal-000001.jsonl", format!("{}\n", place.hostile()), 0o600);
        }),
        ("with a foreign identifier", |place| {
            place.session.scratch.directory("state/journal", 0o700);
            place.session.scratch.file("state/journal/install-id", place.hostile(), 0o600);
        }),
    ];
    let mut faults = Vec::new();
    for (state, arrange) in states {
        let place = Place::new();
        arrange(&place);
        let mut server = place.session.start();
        let lines = ask_all(&place, &mut server);
        let given: Vec<_> = lines.iter().map(|line| outcome(line)).collect();
        if given[0] != "the record" || !given[1].starts_with("load: ") || !given[2].starts_with("journal_unavailable/")
        {
            faults.push(format!("{state}: {given:?}"));
        }
        faults
            .extend(lines.iter().flat_map(|line| place.faults_of_reply(line)).map(|fault| format!("{state}: {fault}")));
        faults
            .extend(place.faults(&server.close().stderr).into_iter().map(|fault| format!("{state}: stderr: {fault}")));
    }
    report(&faults);
}

#[test]
fn a_host_without_a_proper_name_is_delivered_nothing() {
    let names: [Option<Coordinate>; 6] = [
        None,
        Some(|_| OsString::new()),
        Some(|place| place.hostile().into()),
        Some(|place| format!("../{}", place.foreign).into()),
        Some(|place| place.foreign.to_uppercase().into()),
        Some(|place| [place.foreign.as_bytes(), &[0xff]].concat().into_os_string()),
    ];
    for name in names {
        let place = Place::new();
        let mut command = place.session.command();
        command.env_remove("KDNA_MCP_HOST_ID");
        if let Some(name) = name {
            command.env("KDNA_MCP_HOST_ID", name(&place));
        }
        let mut server = greet(Server::start(command));
        let lines = ask_all(&place, &mut server);
        assert_eq!(outcome(&lines[2]), "host_processing_consent_invalid/host_id_invalid");
        assert_eq!(lines.iter().flat_map(|line| place.faults_of_reply(line)).collect::<Vec<_>>(), Vec::<String>::new());
        let finished = server.close();
        assert_eq!(place.faults(&finished.stderr), Vec::<String>::new());
    }
}
