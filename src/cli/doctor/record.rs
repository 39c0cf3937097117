//! What the record says: every rule that it breaks, texts that could deceive, more than a host may be shown, and whether
//! each stored copy that it names is there and whole.

use super::Findings;
use crate::broker::stored;
use crate::capability::workspace::{Located, read_beneath};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::record::{AssetReference, Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::{is_hidden, utf16_len};
use crate::system::{Fault, System};
use std::collections::HashSet;

const PLACE: &str = ".kdna/attachments.json";
/// Bytes of snapshots that are read in all: a hostile workspace could otherwise keep the doctor for hours.
const READ: u64 = 1 << 30;

/// Looks at the record in a held `.kdna`.
pub(super) fn examine<S: System>(system: &S, located: &Located<S>, kdna: &S::Directory, findings: &mut Findings) {
    let name = RelativePath::parse("attachments.json").unwrap_or_default();
    let bytes = match read_beneath(system, kdna, &name, limits::RECORD_BYTES) {
        Ok((bytes, _)) => bytes,
        Err(Fault::NotFound) => {
            findings.noted(
                PLACE,
                "There is no record: nothing is attached.",
                "Attach an asset: 'kdna attach FILE --cwd DIR'.",
            );
            return;
        }
        // What it is was said already.
        Err(Fault::Link | Fault::WrongKind | Fault::TooLarge) => return,
        Err(_) => return findings.refusal(PLACE, &Refusal::new(Reason::RecordUnsafe)),
    };
    for refusal in Record::problems(&bytes) {
        findings.refusal(PLACE, &refusal);
    }
    let Ok(record) = Record::read(&bytes) else { return };
    let enabled = record.attachments().iter().filter(|attachment| attachment.enabled).count();
    if enabled > limits::CANDIDATES {
        let problem = format!("{enabled} attachments are enabled; a host may be shown {}.", limits::CANDIDATES);
        findings.refused(PLACE, problem, "Disable or remove attachments: 'kdna disable ID'.");
    }
    for (index, attachment) in record.attachments().iter().enumerate() {
        texts(index, attachment, findings);
    }
    copies(system, located, &record, findings);
}

/// Texts of one attachment. They are foreign: named by their place, never shown.
fn texts(index: usize, attachment: &Attachment, findings: &mut Findings) {
    let scope = &attachment.scope;
    let phrases = |list: &str, phrases: &[String]| -> Vec<(String, String)> {
        let named = phrases.iter().enumerate().map(|(at, phrase)| (format!("scope.{list}[{at}]"), phrase.clone()));
        named.collect()
    };
    let named = |name: &str, text: &str| vec![(name.to_owned(), text.to_owned())];
    let all = [
        named("role", &attachment.role),
        named("asset.id", &attachment.asset.id),
        named("asset.version", &attachment.asset.version),
        phrases("applies_to", &scope.applies_to),
        phrases("does_not_apply_to", &scope.does_not_apply_to),
    ]
    .concat();
    for (name, text) in all.iter().filter(|(_, text)| text.chars().any(is_hidden)) {
        let hidden = text.chars().filter(|character| is_hidden(*character)).count();
        findings.noted(
            PLACE,
            format!("attachments[{index}].{name} holds {hidden} control, invisible or reordering characters."),
            "Remove the attachment if you did not write this text yourself: 'kdna remove ID'.",
        );
    }
    for (name, text, limit) in [
        ("role", &attachment.role, limits::ROLE_UNITS),
        ("asset.id", &attachment.asset.id, limits::ASSET_ID_UNITS),
        ("asset.version", &attachment.asset.version, limits::VERSION_UNITS),
    ] {
        if utf16_len(text) > limit {
            let problem =
                format!("attachments[{index}].{name} is longer than a host may be shown ({limit} characters).");
            findings.refused(PLACE, problem, "Remove the attachment and attach the asset with a shorter text.");
        }
    }
}

/// The stored copies: those of enabled attachments as a load would take them, the others by their bytes.
fn copies<S: System>(system: &S, located: &Located<S>, record: &Record, findings: &mut Findings) {
    let mut seen = HashSet::new();
    let mut read = 0;
    let enabled = record.attachments().iter().filter(|attachment| attachment.enabled).take(limits::CANDIDATES);
    for asset in enabled.map(|attachment| &attachment.asset) {
        if !seen.insert(asset.digest) || !affordable(system, located, asset, &mut read, findings) {
            continue;
        }
        if let Err(refusal) = stored::verify(system, located, asset) {
            let remedy = "Remove the attachment, or switch away from it: 'kdna switch ID FILE --from-damaged'.";
            findings.refused(&place(asset), refusal.message(), remedy);
        }
    }
    for asset in record.references() {
        if !seen.insert(asset.digest) || !affordable(system, located, asset, &mut read, findings) {
            continue;
        }
        if let Err(reason) = whole(system, located, asset) {
            let remedy =
                "Enabling it, or rolling back to it, will be refused. Remove the attachment, or put the file back.";
            findings.refused(&place(asset), reason.message(), remedy);
        }
    }
}

fn place(asset: &AssetReference) -> String {
    format!(".kdna/{}", asset.snapshot)
}

/// Whether this copy may still be read.
fn affordable<S: System>(
    system: &S,
    located: &Located<S>,
    asset: &AssetReference,
    read: &mut u64,
    findings: &mut Findings,
) -> bool {
    let path = RelativePath::parse(&place(asset)).unwrap_or_default();
    let size = system.look_beneath(&located.directory, &path).map_or(0, |facts| facts.size);
    *read = read.saturating_add(size);
    if *read > READ {
        findings.noted(
            &place(asset),
            "It was not looked into: the stored copies are too large in all.",
            "Remove attachments that are not used.",
        );
    }
    *read <= READ
}

fn whole<S: System>(system: &S, located: &Located<S>, asset: &AssetReference) -> Result<(), Reason> {
    let path = RelativePath::parse(&place(asset)).ok_or(Reason::Internal)?;
    match read_beneath(system, &located.directory, &path, limits::SNAPSHOT_BYTES) {
        Ok((bytes, _)) if Digest::of(&bytes) == asset.digest => Ok(()),
        Ok(_) => Err(Reason::SnapshotOtherBytes),
        Err(Fault::NotFound) => Err(Reason::SnapshotNotFound),
        Err(_) => Err(Reason::SnapshotIrregular),
    }
}
