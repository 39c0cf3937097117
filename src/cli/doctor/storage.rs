//! What lies in `.kdna`: kinds, owners, modes, second names, names that differ in case alone, locks, leftovers, and the
//! list for git.

use super::Findings;
use crate::capability::workspace::{KDNA, read_beneath};
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::text::display;
use crate::runtime::attachments::{IGNORED, is_stale, temporary_owner};
use crate::system::{Facts, Fault, Kind, System};
use std::collections::HashMap;

const ASSETS: &str = "assets";
const HARDENED: &str = "Make it yours alone (chown, chmod go-w); a hardened server refuses it.";
const REAL: &str = "Replace it by a real one, or remove it.";

/// Looks at the storage of a held workspace and gives the held `.kdna`, if there is a real one.
pub(super) fn examine<S: System>(
    system: &S,
    workspace: &S::Directory,
    findings: &mut Findings,
) -> Option<S::Directory> {
    twins(&system.list(workspace).unwrap_or_default(), "", Some(KDNA), findings);
    let kdna = directory(system, workspace, KDNA, KDNA, findings)?;
    let names = listed(system, &kdna, KDNA, findings);
    twins(&names, ".kdna/", None, findings);
    for name in &names {
        entry(system, &kdna, name, findings);
    }
    ignore_list(system, &kdna, findings);
    lock(system, &kdna, findings);
    if let Some(assets) = directory(system, &kdna, ASSETS, ".kdna/assets", findings) {
        let names = listed(system, &assets, ".kdna/assets", findings);
        twins(&names, ".kdna/assets/", None, findings);
        for name in &names {
            asset(system, &assets, name, findings);
        }
    }
    Some(kdna)
}

fn path(name: &str) -> RelativePath {
    RelativePath::parse(name).unwrap_or_default()
}

/// Opens a directory that must be a real one. An absent one is no problem.
fn directory<S: System>(
    system: &S,
    parent: &S::Directory,
    name: &str,
    place: &str,
    findings: &mut Findings,
) -> Option<S::Directory> {
    match system.look_beneath(parent, &path(name)) {
        Err(Fault::NotFound) => return None,
        Ok(facts) if facts.kind == Kind::Directory => access(system, place, &facts, findings),
        Ok(facts) => {
            findings.refused(place, format!("It is {}, not a directory.", kind(facts.kind)), REAL);
            return None;
        }
        Err(Fault::Escapes) => {
            findings.refused(
                place,
                "Another file system is mounted here.",
                "Unmount it: a workspace is one file system.",
            );
            return None;
        }
        Err(fault) => {
            findings.refused(place, format!("It cannot be looked at: {fault}."), "Make it readable for this user.");
            return None;
        }
    }
    match system.open_directory_beneath(parent, &path(name)) {
        Ok(directory) => Some(directory),
        Err(fault) => {
            findings.refused(place, format!("It cannot be opened: {fault}."), "Make it readable for this user.");
            None
        }
    }
}

fn listed<S: System>(system: &S, directory: &S::Directory, place: &str, findings: &mut Findings) -> Vec<String> {
    system.list(directory).unwrap_or_else(|fault| {
        let problem = format!("Its names cannot be listed: {fault}.");
        findings.refused(
            place,
            problem,
            "Remove files whose names are not UTF-8 text, and all that do not belong there.",
        );
        Vec::new()
    })
}

/// Names that are one name on a file system that ignores case.
fn twins(names: &[String], prefix: &str, only: Option<&str>, findings: &mut Findings) {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in names {
        let folded = name.to_lowercase();
        let relevant = only.is_none_or(|only| folded == only);
        if let (true, Some(other)) = (relevant, seen.insert(folded, name)) {
            findings.noted(
                &format!("{prefix}{name}"),
                format!("It differs from {} in case alone; on other systems they are one file.", display(other, 96)),
                "Remove the one that does not belong there.",
            );
        }
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Regular => "a file",
        Kind::Directory => "a directory",
        Kind::Link => "a symbolic link",
        Kind::Special => "a FIFO, socket or device",
    }
}

/// One entry of `.kdna`.
fn entry<S: System>(system: &S, kdna: &S::Directory, name: &str, findings: &mut Findings) {
    let place = format!(".kdna/{name}");
    let limit = match name {
        ASSETS => return,
        "attachments.json" => limits::RECORD_BYTES,
        ".gitignore" => limits::GITIGNORE_BYTES,
        "attachments.lock" => limits::LOCK_FILE_BYTES,
        ".attachments-lock.tmp" | "cleanup-last-receipt.json" => limits::CLEANUP_PLAN_BYTES,
        _ if name.starts_with(".cleanup-staging-") => {
            let remedy = "Run 'kdna cleanup': it puts the snapshots in it back.";
            findings.noted(&place, "A cleanup was interrupted.", remedy);
            return;
        }
        _ => {
            stray(system, &place, name, findings);
            return;
        }
    };
    file(system, kdna, name, &place, limit, findings);
}

fn stray<S: System>(system: &S, place: &str, name: &str, findings: &mut Findings) {
    match temporary_owner(name) {
        Some(process) if system.process_exists(process) => {
            findings.noted(
                place,
                "A command is at work, or was killed.",
                "Nothing, if a command is running; else remove it.",
            );
        }
        Some(_) => findings.noted(place, "A killed command left it.", "Nothing: the next change removes it."),
        None => findings.noted(place, "It does not belong here.", "Remove it if you did not put it there."),
    }
}

/// One entry of `assets`.
fn asset<S: System>(system: &S, assets: &S::Directory, name: &str, findings: &mut Findings) {
    let place = format!(".kdna/assets/{name}");
    let managed = name.strip_prefix("sha256-").and_then(|rest| rest.strip_suffix(".kdna"));
    let managed = managed.is_some_and(|hex| crate::foundation::digest::Digest::parse_hex(hex).is_some());
    if !managed {
        stray(system, &place, name, findings);
    }
    file(system, assets, name, &place, limits::SNAPSHOT_BYTES, findings);
}

/// A file that must be a regular one of bounded size.
fn file<S: System>(system: &S, directory: &S::Directory, name: &str, place: &str, limit: u64, findings: &mut Findings) {
    let facts = match system.look_beneath(directory, &path(name)) {
        Ok(facts) => facts,
        Err(Fault::NotFound) => return,
        Err(fault) => {
            findings.refused(place, format!("It cannot be looked at: {fault}."), "Make it readable for this user.");
            return;
        }
    };
    if facts.kind != Kind::Regular {
        findings.refused(place, format!("It is {}, not a regular file.", kind(facts.kind)), REAL);
        return;
    }
    if facts.size > limit {
        findings.refused(place, format!("It is larger than its limit of {limit} bytes."), "Remove it.");
    }
    if facts.links > 1 {
        let remedy = "Copy it and put the copy in its place, so that nobody changes it by another name.";
        findings.noted(place, "It has a second name (hard link).", remedy);
    }
    access(system, place, &facts, findings);
}

/// Owner and permissions.
fn access<S: System>(system: &S, place: &str, facts: &Facts, findings: &mut Findings) {
    if facts.owner != system.user() {
        findings.noted(place, "It belongs to another user.", HARDENED);
    }
    if facts.mode & 0o022 != 0 {
        findings.noted(place, "Other users can change it.", HARDENED);
    }
    if facts.mode & 0o7000 != 0 {
        findings.noted(place, "It has set-user, set-group or sticky permissions.", "Take them away: chmod u-s,g-s,-t.");
    }
}

fn ignore_list<S: System>(system: &S, kdna: &S::Directory, findings: &mut Findings) {
    const PLACE: &str = ".kdna/.gitignore";
    let remedy = "Run any command that changes the record, 'kdna disable ID' for one: it adds what is missing.";
    match read_beneath(system, kdna, &path(".gitignore"), limits::GITIGNORE_BYTES) {
        Ok((bytes, _)) => {
            let has =
                |line: &str| bytes.split(|byte| *byte == b'\n').any(|there| there.trim_ascii_end() == line.as_bytes());
            let missing = IGNORED.iter().filter(|line| !has(line)).count();
            if missing > 0 {
                findings.noted(PLACE, format!("{missing} of its {} lines are missing.", IGNORED.len()), remedy);
            }
        }
        Err(Fault::NotFound) => findings.noted(PLACE, "It is missing: git would take the record.", remedy),
        // What is no regular file was said already.
        Err(_) => {}
    }
}

fn lock<S: System>(system: &S, kdna: &S::Directory, findings: &mut Findings) {
    const PLACE: &str = ".kdna/attachments.lock";
    match read_beneath(system, kdna, &path("attachments.lock"), limits::LOCK_FILE_BYTES) {
        Ok((bytes, _)) if is_stale(system, &bytes) => {
            findings.noted(PLACE, "A command that is gone left its lock.", "Nothing: the next change clears it away.");
        }
        Ok(_) => findings.refused(
            PLACE,
            "Another program changes the record, or its lock stayed behind: changes are refused (workspace_locked).",
            "If no such program is running, remove the file.",
        ),
        Err(_) => {}
    }
}
