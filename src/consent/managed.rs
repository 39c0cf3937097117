//! The managed policy of a machine: what whoever manages it allows at most. It can only narrow: there is no member that
//! permits anything. Owned by root and writable by nobody else, or every load is refused; never ignored, never written.

use crate::consent::binding::ConsentLease;
use crate::foundation::digest::Digest;
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};
use crate::system::{Enforcement, Facts, Fault, Kind, Observe, PinKind};
use std::sync::{Arc, Mutex, PoisonError};

/// Its only place.
pub const MANAGED_POLICY: &str = "/etc/kdna-broker/policy.json";
/// `document_type` of a policy.
pub const DOCUMENT_TYPE: &str = "kdna-broker.managed-policy";
/// Its `schema_version`.
pub const SCHEMA_VERSION: &str = "0.1.0";

/// The members that a policy may have beside its type and version.
pub const MEMBERS: [&str; 8] = [
    "allowed_hosts",
    "allowed_processors",
    "maximum_consent_age_seconds",
    "minimum_enforcement",
    "require_ledger",
    "require_journal",
    "revoked_assets",
    "revoked_consents",
];

/// A policy that was read whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Managed {
    digest: Digest,
    hosts: Option<Vec<String>>,
    processors: Option<Vec<String>>,
    maximum_age: Option<u32>,
    minimum: Minimum,
    require_ledger: bool,
    revoked_assets: Vec<Digest>,
    revoked_consents: Vec<Digest>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Minimum {
    landlock: u32,
    seccomp: bool,
    sealed: bool,
    embedded: bool,
}

impl Managed {
    /// Reads a policy; `None` for anything that is not exactly one: what it would forbid is not guessed.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let document = read_strict(bytes, limits::POLICY_DEPTH).ok()?;
        let object = document.as_object()?;
        let says = |key: &str, word: &str| object.get(key).and_then(Value::as_str) == Some(word);
        let known = |key: &str| MEMBERS.contains(&key) || matches!(key, "document_type" | "schema_version");
        if !says("document_type", DOCUMENT_TYPE) || !says("schema_version", SCHEMA_VERSION) || !object.keys().all(known)
        {
            return None;
        }
        let flag = |key: &str| object.get(key).map_or(Some(false), Value::as_bool);
        let require_journal = flag("require_journal")?;
        // No load is delivered without a journal whatever a policy says.
        let _ = require_journal;
        Some(Self {
            digest: Digest::of(bytes),
            hosts: texts(object, "allowed_hosts")?,
            processors: texts(object, "allowed_processors")?,
            maximum_age: object.get("maximum_consent_age_seconds").map_or(Some(None), |age| whole(age).map(Some))?,
            minimum: object.get("minimum_enforcement").map_or(Some(Minimum::default()), Minimum::read)?,
            require_ledger: flag("require_ledger")?,
            revoked_assets: digests(object, "revoked_assets")?,
            revoked_consents: digests(object, "revoked_consents")?,
        })
    }

    /// SHA-256 of its bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether loads need the ledger.
    pub fn requires_ledger(&self) -> bool {
        self.require_ledger
    }

    /// Whether a host may receive anything, and a destination process it. Refuses `policy_host_forbidden`,
    /// `policy_processor_forbidden`.
    pub fn allows_destination(&self, host_id: &str, processor: &str) -> Result<(), Refusal> {
        self.allows_host(host_id)?;
        if lists(self.processors.as_deref(), processor) { Ok(()) } else { Err(Reason::PolicyProcessorForbidden.into()) }
    }

    /// Whether a host may receive anything. Refuses `policy_host_forbidden`.
    pub fn allows_host(&self, host_id: &str) -> Result<(), Refusal> {
        if lists(self.hosts.as_deref(), host_id) { Ok(()) } else { Err(Reason::PolicyHostForbidden.into()) }
    }

    /// Whether an asset may be handed over at all. Refuses `policy_asset_revoked`.
    pub fn allows_asset(&self, asset: Digest) -> Result<(), Refusal> {
        if self.revoked_assets.contains(&asset) { Err(Reason::PolicyAssetRevoked.into()) } else { Ok(()) }
    }

    /// Whether an end of validity is within the age that is allowed. Refuses `policy_consent_age`.
    pub fn allows_lifetime(&self, issued_at: Timestamp, expires_at: Option<Timestamp>) -> Result<(), Refusal> {
        let Some(latest) = self.end_of(issued_at) else { return Ok(()) };
        let within = expires_at.is_some_and(|expires_at| expires_at <= latest);
        if within { Ok(()) } else { Err(Reason::PolicyConsentAge.into()) }
    }

    /// When a consent given at this time is too old; `None`: never.
    pub fn end_of(&self, issued_at: Timestamp) -> Option<Timestamp> {
        let age = i64::from(self.maximum_age?).saturating_mul(1000);
        Some(Timestamp::from_milliseconds(issued_at.milliseconds().saturating_add(age)))
    }

    /// Whether this load is allowed: host, destination, asset, consent, its age, how the runtime was confined. Refuses with
    /// one reason for each; a consent that tells no time has no age that could be allowed.
    pub fn allows(&self, lease: &ConsentLease, now: Timestamp, reached: Option<Enforcement>) -> Result<(), Refusal> {
        let consent = lease.consent();
        self.allows_destination(consent.host_id(), lease.processor())?;
        self.allows_asset(consent.asset_digest())?;
        self.allows_consent(lease, now)?;
        self.allows_enforcement(reached)
    }

    /// Whether a runtime that was confined like this may load; `None`: nobody can tell how it was. Refuses
    /// `policy_enforcement`.
    pub fn allows_enforcement(&self, reached: Option<Enforcement>) -> Result<(), Refusal> {
        let enough = reached.is_some_and(|reached| self.minimum.is_met(reached));
        if enough { Ok(()) } else { Err(Reason::PolicyEnforcement.into()) }
    }

    /// Whether [`Managed::allows_enforcement`] could refuse anything.
    pub fn judges_enforcement(&self) -> bool {
        self.minimum != Minimum::default()
    }

    /// Whether a consent is neither revoked nor too old. Refuses `policy_consent_revoked` and `policy_consent_age`.
    pub fn allows_consent(&self, lease: &ConsentLease, now: Timestamp) -> Result<(), Refusal> {
        let consent = lease.consent();
        if self.revoked_consents.contains(&lease.digest()) {
            return Err(Reason::PolicyConsentRevoked.into());
        }
        let end = consent.timed().and_then(|timed| self.end_of(timed.issued_at));
        if self.maximum_age.is_some() && end.is_none_or(|end| now >= end) {
            return Err(Reason::PolicyConsentAge.into());
        }
        Ok(())
    }
}

impl Minimum {
    fn read(value: &Value) -> Option<Self> {
        let object = value.as_object()?;
        if !object.keys().all(|key| matches!(key, "landlock" | "seccomp" | "sealed" | "pin")) {
            return None;
        }
        let flag = |key: &str| object.get(key).map_or(Some(false), Value::as_bool);
        Some(Self {
            landlock: object.get("landlock").map_or(Some(0), whole)?,
            seccomp: flag("seccomp")?,
            sealed: flag("sealed")?,
            embedded: object.get("pin").map_or(Some(false), |pin| match pin.as_str() {
                Some("embedded") => Some(true),
                Some("external") => Some(false),
                _ => None,
            })?,
        })
    }

    fn is_met(self, reached: Enforcement) -> bool {
        reached.landlock >= self.landlock
            && (reached.seccomp || !self.seccomp)
            && (reached.sealed || !self.sealed)
            && (reached.pin == PinKind::Embedded || !self.embedded)
    }
}

/// Whether a list, where there is one, has a name.
fn lists(list: Option<&[String]>, name: &str) -> bool {
    list.is_none_or(|allowed| allowed.iter().any(|one| one == name))
}

fn whole(value: &Value) -> Option<u32> {
    value.as_number().and_then(write::number)?.parse().ok()
}

fn texts(object: &Object, key: &str) -> Option<Option<Vec<String>>> {
    let Some(list) = object.get(key) else { return Some(None) };
    list.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>().map(Some)
}

fn digests(object: &Object, key: &str) -> Option<Vec<Digest>> {
    let Some(list) = object.get(key) else { return Some(Vec::new()) };
    list.as_array()?.iter().map(|item| item.as_str().and_then(Digest::parse)).collect()
}

/// The machine's policy as a server knows it: read at start, and again when the file is another.
#[derive(Debug, Default)]
pub struct ManagedSource(Mutex<Option<(Facts, Arc<Managed>)>>);

impl ManagedSource {
    /// The policy in force; `None` if the machine has none. Refuses `managed_policy_insecure` and `managed_policy_unread`.
    pub fn current<S: Observe>(&self, system: &S) -> Result<Option<Arc<Managed>>, Refusal> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = open(system)? else {
            *known = None;
            return Ok(None);
        };
        let facts = system.file_facts(&file).map_err(unread)?;
        if let Some((_, policy)) = known.as_ref().filter(|(read, _)| *read == facts) {
            return Ok(Some(Arc::clone(policy)));
        }
        *known = None;
        let policy = Arc::new(read(system, &file, &facts)?);
        *known = Some((facts, Arc::clone(&policy)));
        Ok(Some(policy))
    }
}

/// The machine's policy now. Refusals as [`ManagedSource::current`].
pub fn look<S: Observe>(system: &S) -> Result<Option<Arc<Managed>>, Refusal> {
    ManagedSource::default().current(system)
}

fn open<S: Observe>(system: &S) -> Result<Option<S::File>, Refusal> {
    let path = AbsolutePath::parse(MANAGED_POLICY).map_err(|_| Reason::Internal)?;
    let (parent, name) = path.split_last().ok_or(Reason::Internal)?;
    let directory = match system.open_directory(&parent) {
        Err(Fault::NotFound | Fault::WrongKind) => return Ok(None),
        // A system whose /etc is a link has no policy if there is none behind it; one that is there is not followed to.
        Err(Fault::Link) if system.look(&path) == Err(Fault::NotFound) => return Ok(None),
        other => other.map_err(unread)?,
    };
    let file = match system.open_file_in(&directory, name) {
        Err(Fault::NotFound) => return Ok(None),
        other => other.map_err(unread)?,
    };
    let roots = system.directory_facts(&directory).map_err(unread)?;
    let above = parent.ancestors().skip(1).map(|above| system.look(&above).map_err(unread));
    let above = above.collect::<Result<Vec<_>, _>>()?;
    if is_roots(&roots) && above.iter().all(is_roots) {
        Ok(Some(file))
    } else {
        Err(Reason::ManagedPolicyInsecure.into())
    }
}

fn read<S: Observe>(system: &S, file: &S::File, facts: &Facts) -> Result<Managed, Refusal> {
    if facts.kind != Kind::Regular || facts.links != 1 || !is_roots(facts) {
        return Err(Reason::ManagedPolicyInsecure.into());
    }
    let bytes = system.read(file, limits::MANAGED_POLICY_BYTES).map_err(unread)?;
    if system.file_facts(file).map_err(unread)? != *facts {
        return Err(Reason::ManagedPolicyUnread.into());
    }
    Managed::parse(&bytes).ok_or_else(|| Reason::ManagedPolicyUnread.into())
}

/// Root's own, and writable by nobody else.
fn is_roots(facts: &Facts) -> bool {
    facts.owner == 0 && facts.mode & 0o022 == 0
}

fn unread(_: Fault) -> Refusal {
    Reason::ManagedPolicyUnread.into()
}
