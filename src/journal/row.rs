//! One row: how it is made from a draft, and the one form in which it is written and accepted. Every row is one line of
//! printable ASCII; everything else is written as `\uXXXX`, so no text in it can break a line or steer a terminal.

use super::verify::Why;
use crate::foundation::digest::{Digest, hex};
use crate::foundation::json::{JsonFault, read_strict, write};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::text::{is_attachment_id, is_host_id, utf16_len};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Map, Object, Tree, Value};
use crate::system::{Enforcement, System};
use std::fmt::Write as _;

/// The members of a row, always all of them, in this order.
pub(super) const FIELDS: [&str; 19] = [
    "sequence",
    "event_id",
    "operation_id",
    "at",
    "install_id",
    "account",
    "product_version",
    "policy_digest",
    "event",
    "stage",
    "code",
    "reason",
    "attachment_id",
    "asset_digest",
    "consent_digest",
    "host_id",
    "processor",
    "enforcement",
    "previous",
];

/// The member that rows about questions have before `previous`: what asked.
const ASKED_BY: &str = "asked_by";
const ASKED_BY_FIELDS: [&str; 2] = ["session", "programs"];
/// Programs that are named, the nearest first.
const PROGRAMS: usize = 16;
/// Bytes of a program's name, as the system cuts it.
const PROGRAM_BYTES: usize = 15;

/// A member `secret` may follow: only where there was a password.
const ENFORCEMENT_FIELDS: [&str; 4] = ["landlock", "seccomp", "sealed", "pin"];
/// How rows before the pin kind said it; still verified, no longer written.
const EARLIER_ENFORCEMENT_FIELDS: [&str; 3] = ["landlock", "seccomp", "sealed"];

/// What a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A server or a command began.
    Started,
    /// A load is about to be tried; written before anything is started for it.
    Intended,
    /// The decision was not to load; nothing was refused and nothing was handed over.
    Withheld,
    /// A load was refused.
    Refused,
    /// A Capsule is handed over; written before its first byte.
    Delivered,
    /// A person allowed; written before the consent is in force.
    Allowed,
    /// A person declined.
    Declined,
    /// A person took a consent back.
    Revoked,
    /// A person approved an attachment that came with its workspace.
    Attached,
    /// The row before it in the files was cut off while it was written; the chain goes on behind the last whole one.
    Recovered,
}

impl Event {
    /// Every event that this version writes.
    pub const ALL: [Event; 10] = [
        Event::Started,
        Event::Intended,
        Event::Withheld,
        Event::Refused,
        Event::Delivered,
        Event::Allowed,
        Event::Declined,
        Event::Revoked,
        Event::Attached,
        Event::Recovered,
    ];

    /// Words that later versions may write; verified, never written here.
    pub const RESERVED: [&str; 3] = ["stopped", "asked", "checkpoint"];

    /// The word in the row.
    pub const fn as_str(self) -> &'static str {
        match self {
            Event::Started => "started",
            Event::Intended => "intended",
            Event::Withheld => "withheld",
            Event::Refused => "refused",
            Event::Delivered => "delivered",
            Event::Allowed => "allowed",
            Event::Declined => "declined",
            Event::Revoked => "revoked",
            Event::Attached => "attached",
            Event::Recovered => "recovered",
        }
    }
}

/// Names one load (or one start): `op_` and 32 hexadecimal digits, shared by its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationId(String);

impl OperationId {
    /// Draws a new one. Refuses `journal_unwritable` if the system gives no random bytes.
    pub fn draw<S: System>(system: &S) -> Result<Self, Refusal> {
        draw(system, "op_").map(Self)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A prefix and 32 random hexadecimal digits.
pub(super) fn draw<S: System>(system: &S, prefix: &str) -> Result<String, Refusal> {
    let mut random = [0; 16];
    system.random(&mut random).map_err(|_| Reason::JournalUnwritable)?;
    Ok(format!("{prefix}{}", hex(&random)))
}

/// What a caller says in a row. It has no place for a task, a role, a path, a secret or a Capsule.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a draft is not in the journal before it was appended"]
pub struct RowDraft {
    operation: OperationId,
    event: Event,
    stage: Option<Stage>,
    reason: Option<Reason>,
    attachment_id: Option<String>,
    asset_digest: Option<Digest>,
    consent_digest: Option<Digest>,
    policy_digest: Option<Digest>,
    host_id: Option<String>,
    processor: Option<String>,
    enforcement: Option<Enforcement>,
    asked_by: Option<AskedBy>,
}

/// What asked a person: the session, and the names of the programs above the command, the nearest first. A program chooses
/// its name itself, so this tells who claims to have asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedBy {
    session: u32,
    programs: Vec<String>,
}

impl AskedBy {
    /// Takes at most 16 names; of each, what is not a letter, a digit or one of `._+-` becomes `_`.
    pub fn new<'a>(session: u32, programs: impl IntoIterator<Item = &'a str>) -> Self {
        let plain = |byte: u8| if is_plain(byte) { char::from(byte) } else { '_' };
        let name = |name: &str| name.bytes().take(PROGRAM_BYTES).map(plain).collect::<String>();
        let programs = programs.into_iter().filter(|program| !program.is_empty()).take(PROGRAMS).map(name).collect();
        Self { session, programs }
    }

    fn value(&self) -> Value {
        let programs: Vec<Value> = self.programs.iter().map(|program| Value::copied(program)).collect();
        Value::object([("session", Value::from(self.session)), ("programs", programs.into())])
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._+-".contains(&byte)
}

impl RowDraft {
    /// A row of one operation.
    pub fn new(operation: &OperationId, event: Event) -> Self {
        Self {
            operation: operation.clone(),
            event,
            stage: None,
            reason: None,
            attachment_id: None,
            asset_digest: None,
            consent_digest: None,
            policy_digest: None,
            host_id: None,
            processor: None,
            enforcement: None,
            asked_by: None,
        }
    }

    /// The stage that was reached.
    pub fn stage(self, stage: Stage) -> Self {
        Self { stage: Some(stage), ..self }
    }
    /// The stage, code and reason of a refusal; never its message.
    pub fn refusal(self, refusal: &Refusal) -> Self {
        Self { stage: Some(refusal.stage()), reason: Some(refusal.reason()), ..self }
    }
    /// The asset.
    pub fn asset(self, digest: Digest) -> Self {
        Self { asset_digest: Some(digest), ..self }
    }
    /// The consent document.
    pub fn consent(self, digest: Digest) -> Self {
        Self { consent_digest: Some(digest), ..self }
    }
    /// The managed policy in force.
    pub fn policy(self, digest: Digest) -> Self {
        Self { policy_digest: Some(digest), ..self }
    }
    /// How strongly the runtime was confined.
    pub fn enforcement(self, enforcement: Enforcement) -> Self {
        Self { enforcement: Some(enforcement), ..self }
    }
    /// What asked the person.
    pub fn asked_by(self, asked_by: AskedBy) -> Self {
        Self { asked_by: Some(asked_by), ..self }
    }
    /// The attachment. Refuses `internal` for what is no attachment identifier.
    pub fn attachment(self, id: &str) -> Result<Self, Refusal> {
        let id = checked(id, is_attachment_id)?;
        Ok(Self { attachment_id: Some(id), ..self })
    }
    /// The host. Refuses `internal` for what is no host identifier.
    pub fn host(self, id: &str) -> Result<Self, Refusal> {
        let id = checked(id, is_host_id)?;
        Ok(Self { host_id: Some(id), ..self })
    }
    /// The named destination. Refuses `internal` for an empty or too long one.
    pub fn processor(self, name: &str) -> Result<Self, Refusal> {
        let name = checked(name, is_processor)?;
        Ok(Self { processor: Some(name), ..self })
    }

    /// The line without its newline.
    pub(super) fn line(&self, place: &Place<'_>) -> Result<String, Refusal> {
        let values: [Tree<'_>; FIELDS.len()] = [
            place.sequence.into(),
            place.event_id.into(),
            self.operation.as_str().into(),
            place.at.to_string().into(),
            place.install_id.into(),
            place.account.to_string().into(),
            env!("CARGO_PKG_VERSION").into(),
            self.policy_digest.into(),
            self.event.as_str().into(),
            self.stage.map(Stage::as_str).into(),
            self.reason.map(|reason| reason.code().as_str()).into(),
            self.reason.map(Reason::as_str).into(),
            self.attachment_id.as_deref().into(),
            self.asset_digest.into(),
            self.consent_digest.into(),
            self.host_id.as_deref().into(),
            self.processor.as_deref().into(),
            self.enforcement.map(enforcement_value).into(),
            place.previous.into(),
        ];
        let mut members: Vec<(&str, Tree<'_>)> = FIELDS.into_iter().zip(values).collect();
        if let Some(asked_by) = &self.asked_by {
            members.insert(FIELDS.len() - 1, (ASKED_BY, asked_by.value()));
        }
        render(&members.into_iter().collect()).ok_or_else(|| Reason::JournalUnwritable.into())
    }
}

fn checked(text: &str, fits: impl Fn(&str) -> bool) -> Result<String, Refusal> {
    if fits(text) { Ok(text.to_owned()) } else { Err(Reason::Internal.into()) }
}

fn is_processor(text: &str) -> bool {
    (1..=limits::PROCESSOR_UNITS).contains(&utf16_len(text))
}

fn enforcement_value(level: Enforcement) -> Value {
    Value::Object(level.members().collect())
}

/// What the journal adds to a draft.
pub(super) struct Place<'a> {
    pub(super) sequence: u32,
    pub(super) event_id: &'a str,
    pub(super) at: Timestamp,
    pub(super) install_id: &'a str,
    pub(super) account: u32,
    pub(super) previous: Option<Digest>,
}

/// What the next row depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) sequence: u32,
    pub(super) event_id: String,
    pub(super) install_id: String,
    pub(super) at: Timestamp,
    pub(super) previous: Option<Digest>,
    /// Whether it goes on behind a row that was cut off.
    pub(super) recovers: bool,
}

/// Judges one line (without its newline): strict JSON, exactly the fields, each of its form, written as this file writes.
pub(super) fn check(line: &[u8]) -> Result<Link, Why> {
    if u64::try_from(line.len()).map_or(true, |length| length >= limits::JOURNAL_ROW_BYTES) {
        return Err(Why::TooLong);
    }
    let value = read_strict(line, limits::JOURNAL_ROW_DEPTH).map_err(|fault| match fault {
        JsonFault::DuplicateKey => Why::DuplicateKey,
        _ => Why::NotJson,
    })?;
    let row = value.as_object().filter(|row| has_fields(row)).ok_or(Why::Fields)?;
    if !row.iter().all(|(key, value)| fits(key, value)) {
        return Err(Why::Value);
    }
    if render(row).is_none_or(|line_as_written| line_as_written.as_bytes() != line) {
        return Err(Why::Form);
    }
    let text = |key: &str| row.get(key).and_then(Value::as_str);
    let sequence = row.get("sequence").and_then(whole).ok_or(Why::Value)?;
    let event_id = text("event_id").ok_or(Why::Value)?.to_owned();
    let install_id = text("install_id").ok_or(Why::Value)?.to_owned();
    let at = text("at").and_then(Timestamp::parse).ok_or(Why::Value)?;
    let recovers = text("event") == Some(Event::Recovered.as_str());
    Ok(Link { sequence, event_id, install_id, at, previous: text("previous").and_then(Digest::parse), recovers })
}

/// Exactly the fields in their order; rows about questions have one more before the last.
fn has_fields(row: &Object) -> bool {
    let before = FIELDS.len() - 1;
    let with_asked_by = FIELDS.into_iter().take(before).chain([ASKED_BY]).chain(FIELDS.into_iter().skip(before));
    row.keys().eq(FIELDS) || row.keys().eq(with_asked_by)
}

/// Whether a member has its form. Stages, codes and reasons are judged by their form alone, so that rows of an older or
/// newer version stay verifiable.
fn fits(key: &str, value: &Value) -> bool {
    let text = |rule: fn(&str) -> bool| value.as_str().is_some_and(rule);
    let nullable = |rule: fn(&str) -> bool| value.is_null() || text(rule);
    match key {
        "sequence" => whole(value).is_some_and(|sequence| sequence > 0),
        "event_id" => text(|id| is_random_id(id, "evt_")),
        "operation_id" => text(|id| is_random_id(id, "op_")),
        "install_id" => text(is_install_id),
        "at" => text(|at| Timestamp::parse(at).is_some()),
        "account" => text(|user| user.parse::<u32>().is_ok_and(|number| number.to_string() == user)),
        "product_version" => text(|version| {
            (1..=64).contains(&version.len())
                && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte))
        }),
        "event" => text(is_event),
        "stage" | "code" | "reason" => nullable(is_word),
        "policy_digest" | "asset_digest" | "consent_digest" | "previous" => {
            nullable(|digest| Digest::parse(digest).is_some())
        }
        "attachment_id" => nullable(is_attachment_id),
        "host_id" => nullable(is_host_id),
        "processor" => nullable(is_processor),
        ASKED_BY => value.as_object().is_some_and(is_asked_by),
        "enforcement" => value.is_null() || value.as_object().is_some_and(is_enforcement),
        _ => false,
    }
}

fn is_event(word: &str) -> bool {
    Event::ALL.iter().any(|event| event.as_str() == word) || Event::RESERVED.contains(&word)
}

fn is_word(word: &str) -> bool {
    (1..=64).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
}

fn is_random_id(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|digits| {
        digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

/// The install identifier: `ins_` and 32 hexadecimal digits.
pub(super) fn is_install_id(text: &str) -> bool {
    is_random_id(text, "ins_")
}

fn is_enforcement(level: &Object) -> bool {
    let is = |fields: &[&str]| {
        let fields = fields.iter().copied();
        level.keys().eq(fields.clone()) || level.keys().eq(fields.chain(["secret"]))
    };
    (is(&ENFORCEMENT_FIELDS) || is(&EARLIER_ENFORCEMENT_FIELDS))
        && level.iter().all(|(key, value)| match key {
            "landlock" => whole(value).is_some(),
            "pin" => value.as_str().is_some_and(is_word),
            "secret" => matches!(value.as_str(), Some("locked" | "unlocked")),
            _ => value.as_bool().is_some(),
        })
}

fn is_asked_by(asked_by: &Object) -> bool {
    let program = |name: &Value| {
        name.as_str().is_some_and(|name| (1..=PROGRAM_BYTES).contains(&name.len()) && name.bytes().all(is_plain))
    };
    let programs = asked_by.get("programs").and_then(Value::as_array);
    asked_by.keys().eq(ASKED_BY_FIELDS)
        && asked_by.get("session").and_then(whole).is_some()
        && programs.is_some_and(|programs| programs.len() <= PROGRAMS && programs.iter().all(program))
}

/// A number that is a whole one of 32 bits.
fn whole(value: &Value) -> Option<u32> {
    value.as_number().and_then(write::number)?.parse().ok()
}

/// Compact JSON with everything outside printable ASCII escaped.
fn render(row: &Map<'_>) -> Option<String> {
    let text = write::compact_object(row).ok()?;
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_graphic() || character == ' ' {
            line.push(character);
            continue;
        }
        // Outside its texts compact JSON is printable ASCII, so this is always inside one.
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(line, "\\u{unit:04x}");
        }
    }
    Some(line)
}
