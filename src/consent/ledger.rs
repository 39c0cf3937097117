//! The ledger: which attachment entries this person approved on this machine, when one was last changed by this person's
//! commands, and which consents were taken back. One private file in the broker's state, outside every workspace, so that a
//! repository cannot bring its own approval. Never asks, and never approves by itself.

use crate::capability::private_file::{PrivateDirectory, PrivateFault};
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::is_attachment_id;
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};
use crate::system::{Observe, System};
use std::time::Duration;

/// `document_type` of the ledger.
pub const DOCUMENT_TYPE: &str = "kdna-broker.attachment-ledger";
/// Its `schema_version`.
pub const SCHEMA_VERSION: &str = "0.1.0";
/// Its name in the state directory.
pub const FILE: &str = "attachment-ledger.json";
const LOCK: &str = "attachment-ledger.lock";
const ROW_FIELDS: [&str; 5] = ["workspace_root_digest", "attachment_id", "entry_digest", "approved_at", "changed_at"];
const REVOKED_FIELDS: [&str; 2] = ["consent_digest", "revoked_at"];

/// Names one attachment of one workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    workspace_root_digest: Digest,
    attachment_id: String,
}

impl Key {
    /// The attachment with this id in the record of this directory.
    pub fn new(workspace_root: &AbsolutePath, attachment_id: &str) -> Self {
        Self { workspace_root_digest: of_root_path(workspace_root.as_str()), attachment_id: attachment_id.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    key: Key,
    /// The entry that was approved here; `None`: it was only changed here.
    approved: Option<(Digest, Timestamp)>,
    changed_at: Option<Timestamp>,
}

/// What the ledger says, read once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    rows: Vec<Row>,
    revoked: Vec<(Digest, Timestamp)>,
}

impl Ledger {
    /// Reads the ledger of a state directory; an absent one is empty. Refuses `ledger_unreadable` for anything else that
    /// cannot be read: what it would say is not guessed.
    pub fn read<S: Observe>(system: &S, state: &PrivateDirectory<S>) -> Result<Self, Refusal> {
        state.assert_unchanged(system).map_err(|_| Reason::LedgerUnreadable)?;
        match state.read(system, FILE, limits::LEDGER_BYTES) {
            Ok(bytes) => Self::parse(&bytes).ok_or_else(|| Reason::LedgerUnreadable.into()),
            Err(PrivateFault::Missing) => Ok(Self::default()),
            Err(_) => Err(Reason::LedgerUnreadable.into()),
        }
    }

    /// Whether the entry as it stands was approved here. Refuses `attachment_not_in_ledger` and `ledger_entry_other`.
    pub fn check(&self, key: &Key, entry_digest: Digest) -> Result<(), Refusal> {
        match self.row(key).and_then(|row| row.approved) {
            None => Err(Reason::AttachmentNotInLedger.into()),
            Some((approved, _)) if approved != entry_digest => Err(Reason::LedgerEntryOther.into()),
            Some(_) => Ok(()),
        }
    }

    /// When this person's commands last changed the attachment.
    pub fn changed_at(&self, key: &Key) -> Option<Timestamp> {
        self.row(key).and_then(|row| row.changed_at)
    }

    /// Whether a consent was taken back.
    pub fn is_revoked(&self, consent: Digest) -> bool {
        self.revoked.iter().any(|(digest, _)| *digest == consent)
    }

    fn row(&self, key: &Key) -> Option<&Row> {
        self.rows.iter().find(|row| row.key == *key)
    }

    /// Changes the ledger under its lock, durably. Refuses `ledger_unreadable` and `ledger_not_written`; the old one stands
    /// then.
    fn change<S: System>(
        system: &S,
        state: &PrivateDirectory<S>,
        change: impl FnOnce(&mut Self, Timestamp),
    ) -> Result<(), Refusal> {
        let not_written = Reason::LedgerNotWritten;
        let lock = system.open_append(state.handle(), LOCK, 0o600).map_err(|_| not_written)?;
        let wait = Duration::from_millis(limits::LOCK_MILLISECONDS);
        let _held = system.lock(&lock, wait).map_err(|_| not_written)?;
        let mut ledger = Self::read(system, state)?;
        let before = ledger.clone();
        change(&mut ledger, system.now());
        if ledger == before {
            return Ok(());
        }
        // The oldest go first; an entry that is forgotten is one that nobody approved.
        ledger.rows.drain(..ledger.rows.len().saturating_sub(limits::LEDGER_ROWS));
        ledger.revoked.drain(..ledger.revoked.len().saturating_sub(limits::LEDGER_ROWS));
        let bytes = write::pretty(&ledger.document()).map_err(|_| not_written)?;
        state.replace(system, FILE, bytes.as_bytes()).map_err(|_| not_written.into())
    }

    /// Remembers that the person approved exactly this entry, now.
    pub fn approve<S: System>(
        system: &S,
        state: &PrivateDirectory<S>,
        key: &Key,
        entry_digest: Digest,
    ) -> Result<(), Refusal> {
        Self::change(system, state, |ledger, now| {
            let changed_at = ledger.changed_at(key);
            ledger.put(Row { key: key.clone(), approved: Some((entry_digest, now)), changed_at });
        })
    }

    /// Remembers that the person's own command changed the attachment. An entry that was approved here stays approved as
    /// it is now; one that was not does not become so.
    pub fn changed<S: System>(
        system: &S,
        state: &PrivateDirectory<S>,
        key: &Key,
        before: Option<Digest>,
        after: Digest,
    ) -> Result<(), Refusal> {
        Self::change(system, state, |ledger, now| {
            let approved = ledger.row(key).and_then(|row| row.approved).filter(|(digest, _)| Some(*digest) == before);
            let approved = approved.map(|(_, at)| (after, at));
            ledger.put(Row { key: key.clone(), approved, changed_at: Some(now) });
        })
    }

    /// Remembers that the person removed the attachment: it is approved no more, and what was allowed for it before is
    /// older than this change, should somebody put the entry back.
    pub fn removed<S: System>(system: &S, state: &PrivateDirectory<S>, key: &Key) -> Result<(), Refusal> {
        Self::change(system, state, |ledger, now| {
            ledger.put(Row { key: key.clone(), approved: None, changed_at: Some(now) });
        })
    }

    /// Remembers that a consent was taken back, so that no copy of it allows anything.
    pub fn revoke<S: System>(system: &S, state: &PrivateDirectory<S>, consent: Digest) -> Result<(), Refusal> {
        Self::change(system, state, |ledger, now| {
            if !ledger.is_revoked(consent) {
                ledger.revoked.push((consent, now));
            }
        })
    }

    fn put(&mut self, row: Row) {
        self.rows.retain(|other| other.key != row.key);
        self.rows.push(row);
    }

    fn document(&self) -> Value {
        let time = |time: Option<Timestamp>| Value::from(time.map(|time| time.to_string()));
        let row = |row: &Row| {
            Value::object([
                ("workspace_root_digest", Value::from(row.key.workspace_root_digest)),
                ("attachment_id", row.key.attachment_id.clone().into()),
                ("entry_digest", row.approved.map(|(digest, _)| digest).into()),
                ("approved_at", time(row.approved.map(|(_, at)| at))),
                ("changed_at", time(row.changed_at)),
            ])
        };
        let revoked = |(digest, at): &(Digest, Timestamp)| {
            Value::object([("consent_digest", Value::from(*digest)), ("revoked_at", at.to_string().into())])
        };
        Value::object([
            ("document_type", Value::from(DOCUMENT_TYPE)),
            ("schema_version", SCHEMA_VERSION.into()),
            ("attachments", self.rows.iter().map(row).collect::<Vec<_>>().into()),
            ("revoked_consents", self.revoked.iter().map(revoked).collect::<Vec<_>>().into()),
        ])
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let document = read_strict(bytes, limits::CONSENT_DEPTH).ok()?;
        let object = document.as_object()?;
        let known = object.has_exactly(&["document_type", "schema_version", "attachments", "revoked_consents"])
            && object.get("document_type")?.as_str()? == DOCUMENT_TYPE
            && object.get("schema_version")?.as_str()? == SCHEMA_VERSION;
        if !known {
            return None;
        }
        let list =
            |key: &str| object.get(key).and_then(Value::as_array).filter(|rows| rows.len() <= limits::LEDGER_ROWS);
        Some(Self {
            rows: list("attachments")?.iter().map(read_row).collect::<Option<_>>()?,
            revoked: list("revoked_consents")?.iter().map(read_revoked).collect::<Option<_>>()?,
        })
    }
}

fn read_row(value: &Value) -> Option<Row> {
    let row = value.as_object().filter(|row| row.has_exactly(&ROW_FIELDS))?;
    let attachment_id = row.get("attachment_id")?.as_str().filter(|id| is_attachment_id(id))?.to_owned();
    let key = Key { workspace_root_digest: digest(row, "workspace_root_digest")?, attachment_id };
    let approved = match (row.get("entry_digest")?, row.get("approved_at")?) {
        (Value::Null, Value::Null) => None,
        _ => Some((digest(row, "entry_digest")?, time(row, "approved_at")?)),
    };
    let changed_at = match row.get("changed_at")? {
        Value::Null => None,
        _ => Some(time(row, "changed_at")?),
    };
    Some(Row { key, approved, changed_at })
}

fn read_revoked(value: &Value) -> Option<(Digest, Timestamp)> {
    let row = value.as_object().filter(|row| row.has_exactly(&REVOKED_FIELDS))?;
    Some((digest(row, "consent_digest")?, time(row, "revoked_at")?))
}

fn digest(row: &Object, key: &str) -> Option<Digest> {
    row.get(key).and_then(Value::as_str).and_then(Digest::parse)
}

fn time(row: &Object, key: &str) -> Option<Timestamp> {
    row.get(key).and_then(Value::as_str).and_then(Timestamp::parse)
}
