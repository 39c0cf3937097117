//! Workspaces in every bad state: the record, the snapshot, the directory that holds them.

use crate::place::{Place, ask_all, outcome, quoted, report};
use crate::session::{canary, titled_asset};
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

pub(crate) type Arrange = fn(&Place);

const RECORD: [&str; 3] =
    ["runtime_rejected/record_refused", "block: attachment_schema_unsupported", "block: attachment_schema_unsupported"];
const RECORD_FILE: [&str; 3] = ["workspace_contract_invalid/record_file_invalid"; 3];
const DIRECTORY: [&str; 3] = ["workspace_contract_invalid/kdna_directory_invalid"; 3];
const ASSET: [&str; 3] = ["the record", "block: asset_invalid", "block: asset_invalid"];
const BYTES: [&str; 3] = ["the record", "block: snapshot_digest_mismatch", "block: snapshot_digest_mismatch"];

fn replace(place: &Place, old: &str, new: &str) {
    let text = String::from_utf8(place.session.record().to_vec()).unwrap();
    assert!(text.contains(old), "{old}");
    fs::write(place.session.record_path(), text.replacen(old, new, 1)).unwrap();
}

fn write_record(place: &Place, bytes: impl AsRef<[u8]>) {
    fs::write(place.session.record_path(), bytes).unwrap();
}

fn fifo(path: &Path) {
    fs::remove_file(path).unwrap();
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
}

/// Moves what is at a place out of the workspace and leaves a link to it.
fn link_out(place: &Place, path: &Path) {
    let away = place.outside("moved");
    fs::rename(path, &away).unwrap();
    symlink(away, path).unwrap();
}

fn directory(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

/// A state, how it comes to be, and what status, resolve and load must say.
pub(crate) const ROWS: &[(&str, Arrange, [&str; 3])] = &[
    ("as it should be", |_| {}, ["the record", "load: single_approved_attachment_clearly_applies", "delivered"]),
    ("a record that is not JSON", |place| write_record(place, &place.foreign), RECORD),
    ("an empty record", |place| write_record(place, ""), RECORD),
    ("a record of hostile bytes", |place| write_record(place, place.hostile()), RECORD),
    (
        "a record that is not UTF-8",
        |place| write_record(place, [b"{\"".as_slice(), &[0xff, 0x80], b"\":1}"].concat()),
        RECORD,
    ),
    (
        "a record with a byte order mark",
        |place| write_record(place, [b"\xef\xbb\xbf", place.session.record()].concat()),
        RECORD,
    ),
    ("a record with a repeated key", |place| replace(place, "\"role\"", "\"role\": \"x\", \"role\""), RECORD),
    (
        "a record with an unknown key",
        |place| replace(place, "\"role\"", &format!("\"{}\": 1, \"role\"", place.foreign)),
        RECORD,
    ),
    ("a record nested too deeply", |place| write_record(place, "[".repeat(100_000)), RECORD),
    ("a record of another schema", |place| replace(place, "\"0.3.0\"", &format!("\"{}\"", place.foreign)), RECORD),
    ("a record of a former schema", |place| replace(place, "\"0.3.0\"", "\"0.2.0\""), RECORD),
    ("a record larger than its limit", |place| write_record(place, vec![b' '; (1 << 20) + 1]), RECORD),
    ("a record that is a list", |place| write_record(place, "[]"), RECORD),
    ("a record that is null", |place| write_record(place, "null"), RECORD),
    (
        "a record whose id leads elsewhere",
        |place| replace(place, "att_000000000000000000000001", "../../outside"),
        RECORD,
    ),
    (
        "a record whose snapshot leads elsewhere",
        |place| replace(place, "\"assets/", &format!("\"../{}/", place.outside)),
        RECORD,
    ),
    ("a record without a role", |place| replace(place, "\"change-review\"", "\" \""), RECORD),
    ("a record that is a link", |place| link_out(place, &place.session.record_path()), RECORD_FILE),
    ("a record that is a FIFO", |place| fifo(&place.session.record_path()), RECORD_FILE),
    ("a record that is a directory", |place| directory(&place.session.record_path()), RECORD_FILE),
    (".kdna that is a link", |place| link_out(place, &place.session.root().join(".kdna")), DIRECTORY),
    (
        ".kdna that is a file",
        |place| {
            fs::remove_dir_all(place.session.root().join(".kdna")).unwrap();
            fs::write(place.session.root().join(".kdna"), &place.foreign).unwrap();
        },
        DIRECTORY,
    ),
    (
        "no .kdna",
        |place| fs::remove_dir_all(place.session.root().join(".kdna")).unwrap(),
        ["no record", "skip: no_approved_attachment", "skip: no_approved_attachment"],
    ),
    ("assets that are a link", |place| link_out(place, &place.session.root().join(".kdna/assets")), ASSET),
    (
        "no snapshot",
        |place| fs::remove_file(place.session.snapshot_path()).unwrap(),
        ["the record", "block: snapshot_missing", "block: snapshot_missing"],
    ),
    ("a snapshot that is a link", |place| link_out(place, &place.session.snapshot_path()), ASSET),
    ("a snapshot that is a FIFO", |place| fifo(&place.session.snapshot_path()), ASSET),
    ("a snapshot that is a directory", |place| directory(&place.session.snapshot_path()), ASSET),
    ("an empty snapshot", |place| fs::write(place.session.snapshot_path(), "").unwrap(), BYTES),
    ("a snapshot of hostile bytes", |place| fs::write(place.session.snapshot_path(), place.hostile()).unwrap(), BYTES),
    (
        "a snapshot with one byte more",
        |place| {
            let path = place.session.snapshot_path();
            let bytes = [fs::read(&path).unwrap(), vec![0]].concat();
            fs::write(path, bytes).unwrap();
        },
        BYTES,
    ),
    (
        "a root that was replaced",
        |place| {
            fs::rename(place.session.root(), place.outside("moved")).unwrap();
            fs::create_dir(place.session.root()).unwrap();
        },
        ["host_workspace_root_changed/root_changed"; 3],
    ),
    (
        "a root that is gone",
        |place| fs::rename(place.session.root(), place.outside("moved")).unwrap(),
        ["workspace_unavailable/cwd_unavailable"; 3],
    ),
];

#[test]
fn a_workspace_in_a_bad_state_gets_its_code_and_is_not_quoted() {
    let mut faults = Vec::new();
    for (state, arrange, expected) in ROWS {
        let place = Place::new();
        let mut server = place.session.start();
        arrange(&place);
        let lines = ask_all(&place, &mut server);
        let given: Vec<_> = lines.iter().map(|line| outcome(line)).collect();
        if given != expected.map(str::to_owned) {
            faults.push(format!("{state}: {given:?}, expected {expected:?}"));
        }
        for line in &lines {
            if outcome(line) == "delivered" {
                assert!(!line.contains(&place.task) && !line.contains(&place.outside));
                continue;
            }
            faults.extend(place.faults_of_reply(line).into_iter().map(|fault| format!("{state}: {fault}")));
        }
        let finished = server.close();
        faults.extend(place.faults_of_state().into_iter().map(|fault| format!("{state}: {fault}")));
        faults.extend(place.faults(&finished.stderr).into_iter().map(|fault| format!("{state}: stderr: {fault}")));
    }
    report(&faults);
}

#[test]
fn an_attached_file_that_is_no_asset_is_blocked_and_not_quoted() {
    let good = titled_asset("good");
    let word = canary("judgment");
    let files: [(&str, Vec<u8>); 7] = [
        ("text", word.clone().into_bytes()),
        ("hostile bytes", [word.as_bytes(), &[0x1b, b'[', 0xff, 0x9b, 0, b'\r']].concat()),
        ("the beginning of an asset", good[..good.len() / 2].to_vec()),
        ("the end of an asset", good[good.len() / 2..].to_vec()),
        ("an asset after something else", [word.as_bytes(), &good].concat()),
        ("a program", [b"\x7fELF", word.as_bytes()].concat()),
        ("zeros", vec![0; 1 << 20]),
    ];
    let mut faults = Vec::new();
    for (state, bytes) in files {
        let place = Place::with(&bytes, word.clone());
        let mut server = place.session.start();
        let lines = ask_all(&place, &mut server);
        let given: Vec<_> = lines.iter().map(|line| outcome(line)).collect();
        if given != ASSET {
            faults.push(format!("{state}: {given:?}"));
        }
        faults
            .extend(lines.iter().flat_map(|line| place.faults_of_reply(line)).map(|fault| format!("{state}: {fault}")));
        let finished = server.close();
        faults.extend(place.faults(&finished.stderr).into_iter().map(|fault| format!("{state}: stderr: {fault}")));
        faults.extend(place.faults_of_state().into_iter().map(|fault| format!("{state}: {fault}")));
    }
    report(&faults);
}

#[test]
fn a_hostile_purpose_reaches_the_host_as_data_on_one_line_and_no_error() {
    let place = Place::new();
    let hostile = quoted(&format!("{} \u{2028}", place.hostile()));
    replace(&place, "\"change-review\"", &hostile);
    let mut server = place.session.start();
    let lines = ask_all(&place, &mut server);
    let given: Vec<_> = lines.iter().map(|line| outcome(line)).collect();
    assert_eq!(given, ["the record", "load: single_approved_attachment_clearly_applies", "delivered"]);
    for line in &lines {
        assert!(!line.bytes().any(|byte| byte < 0x20), "a control character in a line");
        assert!(line.contains(&place.foreign), "the person's words are data");
    }
    let finished = server.close();
    assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (b"".as_slice(), b"".as_slice()));
    assert_eq!(place.faults_of_state(), Vec::<String>::new());
}
