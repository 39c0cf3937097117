//! A checkpoint: how many rows a journal had and what the last of them was, to be kept where whoever can change the journal
//! cannot. Compared later it shows what a journal alone cannot: that nothing was cut off or written anew up to there.
//! Content-free. Never written into the journal; not signed by this version, and a signature is not judged.

use super::examine::Row;
use super::row::is_install_id;
use crate::foundation::digest::Digest;
use crate::foundation::json::{read_strict, write};
use crate::foundation::text::utf16_len;
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Object, Value};

const DOCUMENT_TYPE: &str = "kdna.broker.journal-checkpoint";
const SCHEMA_VERSION: &str = "0.1.0";
const FIELDS: [&str; 8] =
    ["document_type", "schema_version", "install_id", "at", "rows", "head", "witness", "signature"];
/// UTF-16 code units of a witness's name and of a signature.
const TEXT_UNITS: usize = 4096;

/// How far a journal had come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    install_id: String,
    at: Timestamp,
    rows: u32,
    head: Option<Digest>,
    witness: Option<String>,
    signature: Option<String>,
}

/// What comparing shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Every row up to the checkpoint is there as it was; so many came after it.
    Whole {
        /// Rows after it.
        later: u64,
    },
    /// Rows that there were are missing at the end.
    Shorter,
    /// Its last row is another one: rows were changed, or the journal was written anew.
    Differs,
    /// The journal is that of another installation.
    OtherInstallation,
}

impl Checkpoint {
    /// Of a journal whose last row is this one. `None` for a journal with more rows than there can be, and for a witness
    /// that is no text of 1 to 4096 UTF-16 code units.
    pub fn of(last: &Row, now: Timestamp, witness: Option<&str>) -> Option<Self> {
        let fits = witness.is_none_or(is_bounded);
        let rows = u32::try_from(last.number).ok()?;
        fits.then(|| Self {
            install_id: last.install_id.clone(),
            at: now,
            rows,
            head: Some(last.digest),
            witness: witness.map(str::to_owned),
            signature: None,
        })
    }

    /// Reads one, strictly; `None` for anything else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let document = read_strict(bytes, 1).ok()?;
        let object = document.as_object().filter(|object| object.keys().eq(FIELDS))?;
        let text = |key: &str| object.get(key).and_then(Value::as_str);
        let optional = |key: &str| match object.get(key)? {
            Value::Null => Some(None),
            value => value.as_str().filter(|text| is_bounded(text)).map(|text| Some(text.to_owned())),
        };
        let head = match object.get("head")? {
            Value::Null => None,
            value => Some(value.as_str().and_then(Digest::parse)?),
        };
        let read = Self {
            install_id: text("install_id").filter(|id| is_install_id(id))?.to_owned(),
            at: text("at").and_then(Timestamp::parse)?,
            rows: object.get("rows").and_then(Value::as_number).and_then(write::number)?.parse().ok()?,
            head,
            witness: optional("witness")?,
            signature: optional("signature")?,
        };
        let named = text("document_type")? == DOCUMENT_TYPE && text("schema_version")? == SCHEMA_VERSION;
        (named && read.head.is_some() == (read.rows > 0)).then_some(read)
    }

    /// The document.
    pub fn to_value(&self) -> Value {
        let mut document = Object::new();
        document.insert("document_type", DOCUMENT_TYPE);
        document.insert("schema_version", SCHEMA_VERSION);
        document.insert("install_id", self.install_id.clone());
        document.insert("at", self.at.to_string());
        document.insert("rows", self.rows);
        document.insert("head", self.head);
        document.insert("witness", self.witness.clone());
        document.insert("signature", self.signature.clone());
        document.into()
    }

    /// How many rows there were.
    pub fn rows(&self) -> u64 {
        self.rows.into()
    }

    /// Compares with a journal: its row of the number [`Checkpoint::rows`], if it has so many, and its last one. Both are
    /// to be rows that verify.
    pub fn compare(&self, there: Option<&Row>, last: Option<&Row>) -> Coverage {
        let rows = last.map_or(0, |row| row.number);
        if rows > 0 && there.map(|row| row.digest) == self.head {
            return Coverage::Whole { later: rows.saturating_sub(self.rows()) };
        }
        match last {
            _ if self.rows == 0 => Coverage::Whole { later: rows },
            Some(row) if row.install_id != self.install_id => Coverage::OtherInstallation,
            _ if rows < self.rows() => Coverage::Shorter,
            _ => Coverage::Differs,
        }
    }
}

fn is_bounded(text: &str) -> bool {
    (1..=TEXT_UNITS).contains(&utf16_len(text))
}
