//! Whether a consent is about exactly the load at hand. One reason for each coordinate; no two share one. Never opens a
//! file and never repairs a difference.

use super::document::{APPROVAL_SOURCE, Consent, NAMED_REMOTE, VERIFIED_LOCAL_ONLY, use_boundary};
use super::store::ConsentSource;
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::text::{is_host_id, utf16_len};
use crate::foundation::value::Value;
use crate::system::Observe;

/// What the load at hand is. Every member comes from the server's start or from checked documents, never from a tool
/// argument, except the profile, which the consent must name.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// The host's identifier, from the server's start.
    pub host_id: &'a str,
    /// The server's pinned root. In 0.1.0 this is what `workspace_root_digest` is about.
    pub host_root: &'a AbsolutePath,
    /// The asset selected.
    pub asset_digest: Digest,
    /// The attachment selected.
    pub attachment_id: &'a str,
    /// Digest of that attachment's scope.
    pub scope_digest: Digest,
    /// The profile requested.
    pub profile: &'a str,
}

/// The host identifier's own rule, which precedes every look at the document's fields. Refuses `host_id_invalid`.
pub fn check_host_id(host_id: &str) -> Result<(), Refusal> {
    if is_host_id(host_id) { Ok(()) } else { Err(Reason::HostIdInvalid.into()) }
}

/// Compares every coordinate, in the contract's order: host, root, asset, use (members in the exact order), profile.
/// Refuses `consent_for_other_host`, `…_root`, `…_asset`, `…_use`, `…_profile`.
pub fn check_binding(consent: &Consent, coordinates: &Coordinates<'_>) -> Result<(), Refusal> {
    let expected_use = use_boundary(coordinates.attachment_id, coordinates.scope_digest);
    let differences = [
        (consent.host_id() != coordinates.host_id, Reason::ConsentForOtherHost),
        (consent.workspace_root_digest() != of_root_path(coordinates.host_root.as_str()), Reason::ConsentForOtherRoot),
        (consent.asset_digest() != coordinates.asset_digest, Reason::ConsentForOtherAsset),
        (!consent.use_boundary().iter().eq(expected_use.iter()), Reason::ConsentForOtherUse),
        (consent.capsule_profile() != coordinates.profile, Reason::ConsentForOtherProfile),
    ];
    match differences.into_iter().find(|(differs, _)| *differs) {
        Some((_, reason)) => Err(reason.into()),
        None => Ok(()),
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
}

impl ConsentLease {
    /// Reads and judges from the bound source, in the contract's order.
    pub fn obtain<S: Observe>(
        system: &S,
        source: &ConsentSource<S>,
        coordinates: &Coordinates<'_>,
    ) -> Result<Self, Refusal> {
        let bytes = source.read(system)?;
        check_host_id(coordinates.host_id)?;
        Self::judge(Consent::read(&bytes)?, coordinates)
    }

    /// Judges a consent that was read already: host identifier, binding, destination.
    pub fn judge(consent: Consent, coordinates: &Coordinates<'_>) -> Result<Self, Refusal> {
        check_host_id(coordinates.host_id)?;
        check_binding(&consent, coordinates)?;
        let processor = check_destination(&consent)?.to_owned();
        Ok(Self { consent, processor })
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
        let bytes = source.read(system).map_err(|refusal| refusal.at(Stage::ConsentAgain))?;
        if Digest::of(&bytes) == self.digest() { Ok(()) } else { Err(Reason::ConsentChanged.into()) }
    }

    /// The `host_processing` member of an adoption document.
    pub fn binding_document(&self) -> Value {
        Value::object([
            ("document_type", Value::from("kdna.mcp.host-processing-binding")),
            ("schema_version", "0.1.0".into()),
            ("host_id", self.consent.host_id().into()),
            ("processing_boundary", Value::Object(self.consent.processing_boundary().clone())),
            ("capsule_profile", self.consent.capsule_profile().into()),
            ("asset_digest", self.consent.asset_digest().into()),
            ("use_boundary", Value::Object(self.consent.use_boundary().clone())),
            ("workspace_root_digest", self.consent.workspace_root_digest().into()),
            ("approval_source", APPROVAL_SOURCE.into()),
            ("consent_digest", self.digest().into()),
        ])
    }
}
