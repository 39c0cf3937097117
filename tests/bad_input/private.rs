//! The two private files: the consent and the password. Each violation of the rule has its code, and is not quoted.

use crate::place::{Place, ask_all, outcome, report};
use crate::session::{canary, greet, locked_asset};
use crate::support::command::Server;
use rustix::fs::{CWD, Mode, mkfifoat};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

type Arrange = fn(&Place, &Path);
type Coordinate = fn(&Place) -> Option<PathBuf>;

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn away(place: &Place) -> PathBuf {
    place.outside("moved")
}

fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::write(path, bytes).unwrap();
}

fn edit(path: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(old), "{old}");
    write(path, text.replacen(old, new, 1));
}

fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    let old = fs::read(path).unwrap();
    write(path, [&old, bytes.as_ref()].concat());
}

/// The digits by which a consent names the workspace root.
fn root_digest(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("\"workspace_root_digest\": \"sha256:").unwrap();
    rest.chars().take(64).collect()
}

/// What both files have in common: a violation of the private-file rule.
const COMMON: &[(&str, Arrange)] = &[
    ("readable by the group", |_, path| mode(path, 0o640)),
    ("readable by others", |_, path| mode(path, 0o604)),
    ("executable", |_, path| mode(path, 0o700)),
    ("set-uid", |_, path| mode(path, 0o4600)),
    ("a link", |place, path| {
        fs::rename(path, away(place)).unwrap();
        symlink(away(place), path).unwrap();
    }),
    ("with a second name", |place, path| fs::hard_link(path, away(place)).unwrap()),
    ("a FIFO", |_, path| {
        fs::remove_file(path).unwrap();
        mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
    }),
    ("a directory", |_, path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        mode(path, 0o600);
    }),
    ("empty", |_, path| write(path, "")),
    ("too large", |_, path| append(path, vec![b' '; 20_000])),
];

/// What only a consent can be.
const CONSENT: &[(&str, Arrange, &str)] = &[
    ("missing", |_, path| fs::remove_file(path).unwrap(), "consent_missing"),
    ("not JSON", |place, path| write(path, &place.foreign), "consent_not_json"),
    ("hostile bytes", |place, path| write(path, place.hostile()), "consent_not_json"),
    ("not UTF-8", |_, path| append(path, [0xff]), "consent_not_json"),
    (
        "with a byte order mark",
        |_, path| {
            let old = fs::read(path).unwrap();
            write(path, [b"\xef\xbb\xbf", old.as_slice()].concat());
        },
        "consent_not_json",
    ),
    ("two documents", |_, path| append(path, "{}"), "consent_not_json"),
    ("with a repeated key", |_, path| edit(path, "\"nonce\"", "\"nonce\": \"x\", \"nonce\""), "consent_ambiguous_json"),
    ("nested too deeply", |_, path| write(path, "[".repeat(10_000)), "consent_ambiguous_json"),
    ("null", |_, path| write(path, "null"), "consent_fields_wrong"),
    ("a list", |_, path| write(path, "[]"), "consent_fields_wrong"),
    (
        "with a hostile key",
        |place, path| edit(path, "\"nonce\"", &format!("\"{}\": 1, \"nonce\"", place.foreign)),
        "consent_fields_wrong",
    ),
    ("of another type", |place, path| edit(path, "kdna.mcp.", &place.foreign), "consent_version_unknown"),
    ("of another version", |_, path| edit(path, "\"0.1.0\"", "\"9.9.9\""), "consent_version_unknown"),
    ("with a hostile nonce", |place, path| edit(path, &"a".repeat(32), &place.foreign), "consent_nonce_invalid"),
    (
        "for a hostile host",
        |place, path| edit(path, "privacy-host", &format!("{}\\u001b[2J\\u202e", place.foreign)),
        "consent_for_other_host",
    ),
    ("for another workspace", |_, path| edit(path, &root_digest(path), &"0".repeat(64)), "consent_for_other_root"),
    (
        "for a hostile processor",
        |place, path| edit(path, "\"named_remote\"", &format!("\"{}\"", place.foreign)),
        "host_processing_destination_unknown/destination_unknown",
    ),
    ("not approved", |_, path| edit(path, "\"approved\": true", "\"approved\": \"true\""), "consent_approval_missing"),
];

/// Changes a session whose server is there, and says what load answers.
fn loaded(place: &Place, faults: &mut Vec<String>, state: &str, arrange: Arrange, path: &Path) -> String {
    let mut server = place.session.start();
    arrange(place, path);
    let lines = ask_all(place, &mut server);
    faults.extend(lines.iter().flat_map(|line| place.faults_of_reply(line)).map(|fault| format!("{state}: {fault}")));
    let finished = server.close();
    faults.extend(place.faults_of_state().into_iter().map(|fault| format!("{state}: {fault}")));
    faults.extend(place.faults(&finished.stderr).into_iter().map(|fault| format!("{state}: stderr: {fault}")));
    outcome(&lines[2])
}

#[test]
fn a_consent_that_is_not_private_or_not_a_consent_refuses_every_load_and_is_not_quoted() {
    let mut faults = Vec::new();
    let private = COMMON.iter().map(|(state, arrange)| (*state, *arrange, "consent_not_private"));
    for (state, arrange, reason) in private.chain(CONSENT.iter().copied()) {
        let place = Place::new();
        let given = loaded(&place, &mut faults, state, arrange, &place.session.consent_path());
        let expected =
            if reason.contains('/') { reason.to_owned() } else { format!("host_processing_consent_invalid/{reason}") };
        if given != expected {
            faults.push(format!("{state}: {given}, expected {expected}"));
        }
    }
    report(&faults);
}

#[test]
fn the_directory_of_a_consent_is_judged_at_the_start_and_again_at_each_load() {
    let mut faults = Vec::new();
    let later: [(&str, Arrange, &str); 3] = [
        (
            "opened to others",
            |_, path| mode(path.parent().unwrap(), 0o755),
            "host_processing_consent_invalid/consent_parent_changed",
        ),
        (
            "replaced",
            |place, path| {
                fs::rename(path.parent().unwrap(), away(place)).unwrap();
                fs::create_dir(path.parent().unwrap()).unwrap();
                mode(path.parent().unwrap(), 0o700);
                fs::copy(away(place).join("consent.json"), path).unwrap();
                mode(path, 0o600);
            },
            "host_processing_consent_invalid/consent_parent_changed",
        ),
        (
            "a link",
            |place, path| {
                fs::rename(path.parent().unwrap(), away(place)).unwrap();
                symlink(away(place), path.parent().unwrap()).unwrap();
            },
            "host_processing_consent_invalid/consent_parent_changed",
        ),
    ];
    for (state, arrange, expected) in later {
        let place = Place::new();
        let given = loaded(&place, &mut faults, state, arrange, &place.session.consent_path());
        if given != expected {
            faults.push(format!("{state}: {given}, expected {expected}"));
        }
    }
    let start: [(&str, Coordinate, &str); 8] = [
        ("not set", |_| None, "consent_not_configured"),
        ("nothing", |_| Some(PathBuf::new()), "consent_not_configured"),
        ("relative", |place| Some(place.foreign.clone().into()), "consent_parent_insecure"),
        ("not normal", |place| Some(place.session.consent_path().join("../consent.json")), "consent_parent_insecure"),
        ("hostile", |place| Some(format!("/{}", place.hostile()).into()), "consent_parent_insecure"),
        ("the root", |_| Some("/".into()), "consent_parent_insecure"),
        (
            "through a link",
            |place| {
                let link = place.session.scratch.path().join("link");
                symlink(place.session.consent_path().parent().unwrap(), &link).unwrap();
                Some(link.join("consent.json"))
            },
            "consent_parent_insecure",
        ),
        (
            "inside the workspace",
            |place| {
                let inside = place.session.scratch.directory(format!("ws/{}", place.outside), 0o700);
                fs::rename(place.session.consent_path(), inside.join("consent.json")).unwrap();
                Some(inside.join("consent.json"))
            },
            "consent_inside_workspace",
        ),
    ];
    for (state, coordinate, expected) in start {
        let place = Place::new();
        let mut command: Command = place.session.command();
        command.env_remove("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE");
        if let Some(coordinate) = coordinate(&place) {
            command.env("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", coordinate);
        }
        let mut server = greet(Server::start(command));
        let lines = ask_all(&place, &mut server);
        let given = outcome(&lines[2]);
        if given != format!("host_processing_consent_required/{expected}") {
            faults.push(format!("{state}: {given}, expected {expected}"));
        }
        faults
            .extend(lines.iter().flat_map(|line| place.faults_of_reply(line)).map(|fault| format!("{state}: {fault}")));
        faults.extend(place.faults(&server.close().stderr));
    }
    report(&faults);
}

#[test]
fn a_password_file_that_is_not_private_is_refused_and_never_quoted() {
    let mut faults = Vec::new();
    let more: [(&str, Arrange, &str); 3] = [
        (
            "missing",
            |_, path| fs::remove_file(path).unwrap(),
            "authorization_source_invalid/authorization_file_invalid",
        ),
        ("not UTF-8", |_, path| write(path, [0xff, 0xfe]), "authorization_source_invalid/authorization_file_invalid"),
        (
            "private",
            |place, path| write(path, format!("{}\n", place.foreign)),
            "authorization_rejected/password_rejected",
        ),
    ];
    let common = COMMON
        .iter()
        .map(|(state, arrange)| (*state, *arrange, "authorization_source_invalid/authorization_file_invalid"));
    for (state, arrange, expected) in common.chain(more) {
        let judgment = canary("judgment");
        let place = Place::with(&locked_asset(&judgment), judgment);
        let given = loaded(&place, &mut faults, state, arrange, &place.session.authorization_path());
        if given != expected {
            faults.push(format!("{state}: {given}, expected {expected}"));
        }
    }
    report(&faults);
}
