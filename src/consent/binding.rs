//! Whether a consent is about exactly the load at hand. One reason for each coordinate; no two share one. Never opens a
//! file and never repairs a difference.

use super::document::{APPROVAL_SOURCE, Consent, NAMED_REMOTE, USE_KIND, VERIFIED_LOCAL_ONLY};
use super::store::ConsentSource;
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::text::{is_host_id, utf16_len};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};
use crate::system::Observe;

/// What the load at hand is. Every member comes from the server's start or from checked documents, never from a tool
/// argument, except the profile, which the consent must name.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// The host's identifier, from the server's start.
    pub host_id: &'a str,
    /// The server's pinned root. In 0.1.0 this is what `workspace_root_digest` is about.
    pub host_root: &'a AbsolutePath,
    /// The directory that holds the record. Bound by 0.2.0 alone.
    pub workspace_root: &'a AbsolutePath,
    /// The asset selected.
    pub asset_digest: Digest,
    /// The attachment selected.
    pub attachment_id: &'a str,
    /// Digest of that attachment's scope.
    pub scope_digest: Digest,
    /// Digest of that attachment's whole entry. Bound by 0.2.0 alone.
    pub entry_digest: Digest,
    /// The profile requested.
    pub profile: &'a str,
}

/// The host identifier's own rule, which precedes every look at the document's fields. Refuses `host_id_invalid`.
pub fn check_host_id(host_id: &str) -> Result<(), Refusal> {
    if is_host_id(host_id) { Ok(()) } else { Err(Reason::HostIdInvalid.into()) }
}

/// Compares every coordinate, in the contract's order: host, server root, workspace, asset, use (kind, attachment, scope;
/// members in the exact order), entry, profile. One reason for each: `consent_for_other_host`, `…_root`, `…_workspace`,
/// `…_asset`, `…_use`, `…_attachment`, `…_scope`, `consent_entry_changed`, `consent_for_other_profile`.
pub fn check_binding(consent: &Consent, coordinates: &Coordinates<'_>) -> Result<(), Refusal> {
    let timed = consent.timed();
    let workspace = || of_root_path(coordinates.workspace_root.as_str());
    let differences = [
        (consent.host_id() != coordinates.host_id, Reason::ConsentForOtherHost),
        (consent.host_root_digest() != of_root_path(coordinates.host_root.as_str()), Reason::ConsentForOtherRoot),
        (timed.is_some_and(|timed| timed.workspace_root_digest != workspace()), Reason::ConsentForOtherWorkspace),
        (consent.asset_digest() != coordinates.asset_digest, Reason::ConsentForOtherAsset),
    ];
    let entry_changed = timed.is_some_and(|timed| timed.entry_digest != coordinates.entry_digest);
    let first = differences.into_iter().find(|(differs, _)| *differs).map(|(_, reason)| reason);
    let first = first.or_else(|| use_difference(consent.use_boundary(), coordinates));
    let first = first.or_else(|| entry_changed.then_some(Reason::ConsentEntryChanged));
    let other_profile = consent.capsule_profile() != coordinates.profile;
    match first.or_else(|| other_profile.then_some(Reason::ConsentForOtherProfile)) {
        Some(reason) => Err(reason.into()),
        None => Ok(()),
    }
}

/// How a use differs: its kind or the order of its members, its attachment, its scope.
fn use_difference(allowed: &Object, coordinates: &Coordinates<'_>) -> Option<Reason> {
    let says = |key: &str, word: &str| allowed.get(key).and_then(Value::as_str) == Some(word);
    if !allowed.keys().eq(super::document::USE_FIELDS) || !says("kind", USE_KIND) {
        Some(Reason::ConsentForOtherUse)
    } else if !says("attachment_id", coordinates.attachment_id) {
        Some(Reason::ConsentForOtherAttachment)
    } else if !says("scope_digest", &coordinates.scope_digest.to_string()) {
        Some(Reason::ConsentForOtherScope)
    } else {
        None
    }
}

/// What the time of a load is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The clock.
    pub now: Timestamp,
    /// The latest time in the journal.
    pub latest: Option<Timestamp>,
}

/// Whether a consent holds at this moment. Only 0.2.0 knows times. Refuses `clock_went_back` (the clock is behind the
/// journal, so an end could have been passed already), `consent_not_yet_valid`, `consent_expired`.
pub fn check_time(consent: &Consent, moment: Moment) -> Result<(), Refusal> {
    let Some(timed) = consent.timed() else { return Ok(()) };
    if moment.latest.is_some_and(|latest| moment.now < latest) {
        return Err(Reason::ClockBehindJournal.into());
    }
    if moment.now < timed.issued_at {
        return Err(Reason::ConsentIssuedLater.into());
    }
    match timed.expires_at {
        Some(expires_at) if moment.now >= expires_at => Err(Reason::ConsentEnded.into()),
        _ => Ok(()),
    }
}

/// The named destination. A claim of local-only processing cannot be verified here (`destination_unattested`); any
/// other shape is `destination_unknown`. Reading 0.1.0 accepts a name that is blank or holds control characters, as
/// the recorded replies do; U+0000 is refused, and writing a new consent is stricter.
pub fn check_destination(consent: &Consent) -> Result<&str, Refusal> {
    let boundary = consent.processing_boundary();
    let kind = boundary.get("kind").and_then(Value::as_str);
    if kind == Some(VERIFIED_LOCAL_ONLY) {
        return Err(Reason::DestinationUnattested.into());
    }
    let processor = boundary.get("processor").and_then(Value::as_str).filter(|processor| is_processor(processor));
    match processor {
        Some(processor) if kind == Some(NAMED_REMOTE) && boundary.has_exactly(&["kind", "processor"]) => Ok(processor),
        _ => Err(Reason::DestinationUnknown.into()),
    }
}

fn is_processor(text: &str) -> bool {
    (1..=limits::PROCESSOR_UNITS).contains(&utf16_len(text)) && !text.contains('\0')
}

/// Proof that one consent was read, is well-formed, is about these coordinates and names a destination.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsentLease {
    consent: Consent,
    processor: String,
    name: String,
}

impl ConsentLease {
    /// Reads and judges from the bound source, in the contract's order.
    pub fn obtain<S: Observe>(
        system: &S,
        source: &ConsentSource<S>,
        coordinates: &Coordinates<'_>,
    ) -> Result<Self, Refusal> {
        let bytes = source.read_for(system, &coordinates.set_name())?;
        check_host_id(coordinates.host_id)?;
        Self::judge(Consent::read(&bytes)?, coordinates)
    }

    /// Judges a consent that was read already: host identifier, binding, destination.
    pub fn judge(consent: Consent, coordinates: &Coordinates<'_>) -> Result<Self, Refusal> {
        check_host_id(coordinates.host_id)?;
        check_binding(&consent, coordinates)?;
        let processor = check_destination(&consent)?.to_owned();
        Ok(Self { consent, processor, name: coordinates.set_name() })
    }

    /// The document.
    pub fn consent(&self) -> &Consent {
        &self.consent
    }

    /// SHA-256 of the document's bytes.
    pub fn digest(&self) -> Digest {
        self.consent.digest()
    }

    /// The named destination.
    pub fn processor(&self) -> &str {
        &self.processor
    }

    /// Reads the source again and compares the bytes by digest (stage consent-again). Refuses `consent_changed` for
    /// other bytes, and whatever the read refuses, so a consent revoked meanwhile is `consent_missing`.
    pub fn assert_unchanged<S: Observe>(&self, system: &S, source: &ConsentSource<S>) -> Result<(), Refusal> {
        let bytes = source.read_for(system, &self.name).map_err(|refusal| refusal.at(Stage::ConsentAgain))?;
        if Digest::of(&bytes) == self.digest() { Ok(()) } else { Err(Reason::ConsentChanged.into()) }
    }

    /// The `host_processing` member of an adoption document.
    pub fn binding_document(&self) -> Value {
        let timed = self.consent.timed();
        let mut members = vec![
            ("document_type", Value::from("kdna.mcp.host-processing-binding")),
            ("schema_version", if timed.is_some() { "0.2.0" } else { "0.1.0" }.into()),
            ("host_id", Value::copied(self.consent.host_id())),
            ("processing_boundary", Value::Object(self.consent.processing_boundary().clone())),
            ("capsule_profile", Value::copied(self.consent.capsule_profile())),
            ("asset_digest", self.consent.asset_digest().into()),
            ("use_boundary", Value::Object(self.consent.use_boundary().clone())),
        ];
        match timed {
            None => members.push(("workspace_root_digest", self.consent.host_root_digest().into())),
            Some(timed) => members.extend([
                ("host_root_digest", self.consent.host_root_digest().into()),
                ("workspace_root_digest", timed.workspace_root_digest.into()),
                ("entry_digest", timed.entry_digest.into()),
                ("issued_at", timed.issued_at.to_string().into()),
                ("expires_at", timed.expires_at.map(|time| time.to_string()).into()),
            ]),
        }
        members.extend([("approval_source", APPROVAL_SOURCE.into()), ("consent_digest", self.digest().into())]);
        Value::Object(members.into_iter().collect())
    }
}

impl Coordinates<'_> {
    /// The name of the document for these coordinates in a consent set: host, both roots, attachment and profile. An asset
    /// or a scope that changed keeps the name, so that a load can say what changed.
    pub fn set_name(&self) -> String {
        let roots = [self.host_root, self.workspace_root].map(|root| of_root_path(root.as_str()).hex());
        let [host_root, workspace_root] = roots;
        let key = [self.host_id, &host_root, &workspace_root, self.attachment_id, self.profile].join("\n");
        let hex = Digest::of(key.as_bytes()).hex();
        format!("{SET_NAME_START}{}{SET_NAME_END}", hex.get(..32).unwrap_or_default())
    }
}

/// How the name of a document in a consent set begins.
pub const SET_NAME_START: &str = "consent-";
/// How it ends.
pub const SET_NAME_END: &str = ".json";
