//! `kdna-broker audit verify | show | export | checkpoint`: what the journal says, for who checks afterwards. Reads the journal
//! and nothing else, writes no file. What was recorded is never explained away: a journal that does not verify gives rows
//! to nobody but `show`, which shows what stands before the damage and says where it is.

use crate::capability::private_file::{PrivateDirectory, PrivateFault};
use crate::capability::state;
use crate::cli::asset;
use crate::cli::environment::Environment;
use crate::cli::grammar::{Arguments, Options};
use crate::cli::help::BROKER;
use crate::cli::outcome::Outcome;
use crate::cli::owner::with_errors;
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::display;
use crate::foundation::value::{Object, Value};
use crate::journal::{self, Checkpoint, Coverage, Damage, Event, Examined, Row, Tear, examine};
use crate::system::System;
use crate::system::os::{self, OsSystem};
use std::collections::VecDeque;
use std::fmt::Write as _;

const VERIFY: Options =
    Options { flags: &["--json"], values: &["--journal", "--checkpoint"], repeatable: &[], flags_once: false };
const SHOW: Options =
    Options { flags: &[], values: &["--journal", "--last", "--event"], repeatable: &[], flags_once: false };
const EXPORT: Options = Options { flags: &[], values: &["--journal", "--after"], repeatable: &[], flags_once: false };
const CHECKPOINT: Options =
    Options { flags: &[], values: &["--journal", "--witness"], repeatable: &[], flags_once: false };

/// Rows that are shown where nothing is said.
const SHOWN: usize = 20;
/// Digits of a digest that are shown to a person.
const DIGITS: usize = 12;
/// The answer is bad: something does not verify.
const DAMAGED: u8 = 1;

/// Runs one of them.
pub(crate) fn run(environment: &Environment, words: &[String]) -> Outcome {
    if os::start::check_platform().is_err() {
        return Outcome::refused(&Reason::KernelTooOld.into());
    }
    let system = OsSystem::new();
    with_errors(&BROKER, "audit", words, |words| {
        let Some((command, words)) = words.split_first() else { return BROKER.misused("audit") };
        let outcome = match command.as_str() {
            "verify" => verify(&system, environment, words),
            "show" => show(&system, environment, words),
            "export" => export(&system, environment, words),
            "checkpoint" => checkpoint(&system, environment, words),
            other => Err(Outcome::usage(&BROKER.unknown("There is no command", &format!("audit {other}")))),
        };
        outcome.unwrap_or_else(|refused| refused)
    })
}

fn parsed(options: &Options, command: &str, words: &[String]) -> Result<Arguments, Outcome> {
    let arguments = options.parse(words).map_err(|text| Outcome::usage(&text))?;
    if arguments.positionals().is_empty() { Ok(arguments) } else { Err(BROKER.misused(command)) }
}

/// A number that an option gives.
fn number(arguments: &Arguments, option: &str) -> Result<Option<u64>, Outcome> {
    let read = |text: &str| text.parse().map_err(|_| Outcome::usage(&format!("{option} takes a whole number.")));
    arguments.value(option).map(read).transpose()
}

/// The journal that is named, else that of the private state.
fn place<S: System>(system: &S, environment: &Environment, arguments: &Arguments) -> Result<AbsolutePath, Refusal> {
    let Some(named) = arguments.value("--journal") else {
        let state = state::state_path(system, environment.settings.state_directory.as_deref())?;
        return Ok(state.join(&RelativePath::parse(journal::DIRECTORY).unwrap_or_default()));
    };
    let path = system.working_directory().ok().and_then(|base| base.resolve(named));
    path.ok_or_else(|| Reason::JournalUnreadable.into())
}

/// `None`: there is none.
fn open<S: System>(system: &S, path: &AbsolutePath) -> Result<Option<PrivateDirectory<S>>, Refusal> {
    match PrivateDirectory::open(system, path) {
        Ok(directory) => Ok(Some(directory)),
        Err(PrivateFault::Missing) => Ok(None),
        Err(fault) => {
            Err(Refusal::labelled(Reason::JournalUnreadable, format!("The journal cannot be read: {fault}.")))
        }
    }
}

fn there<S: System>(
    system: &S,
    environment: &Environment,
    arguments: &Arguments,
) -> Result<PrivateDirectory<S>, Refusal> {
    let directory = open(system, &place(system, environment, arguments)?)?;
    directory.ok_or_else(|| Refusal::labelled(Reason::JournalUnreadable, "There is no journal here."))
}

/// What a journal that is not there would be found to be.
const NONE: Examined = Examined {
    verified: journal::Verified { rows: 0, head: None },
    segments: 0,
    damage: None,
    ends_torn: false,
    last: None,
    tears: Vec::new(),
};

fn verify<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = parsed(&VERIFY, "audit verify", words)?;
    let checkpoint = arguments.value("--checkpoint").map(|file| read_checkpoint(system, file)).transpose()?;
    let wanted = checkpoint.as_ref().map(Checkpoint::rows);
    let mut seen = None;
    let mut visit = |row: &Row, _: &[u8]| {
        if Some(row.number) == wanted {
            seen = Some(row.clone());
        }
    };
    // A journal of which a checkpoint says that there was one is missing: that is an answer.
    let found = match (open(system, &place(system, environment, &arguments)?)?, &checkpoint) {
        (Some(directory), _) => examined(system, &directory, &mut visit)?,
        (None, Some(_)) => NONE,
        (None, None) => there(system, environment, &arguments).map(|_| NONE)?,
    };
    let coverage = checkpoint.as_ref().map(|checkpoint| checkpoint.compare(seen.as_ref(), found.last.as_ref()));
    let whole = coverage.is_none_or(|coverage| matches!(coverage, Coverage::Whole { .. }));
    let answer = Answer { found: &found, checkpoint: checkpoint.as_ref().zip(coverage) };
    let outcome =
        if arguments.has("--json") { Outcome::document(&answer.document()) } else { Outcome::text(answer.text()) };
    Ok(outcome.exiting(if found.damage.is_none() && whole { 0 } else { DAMAGED }))
}

fn examined<S: System>(
    system: &S,
    directory: &PrivateDirectory<S>,
    visit: &mut dyn FnMut(&Row, &[u8]),
) -> Result<Examined, Refusal> {
    examine(system, directory, visit).map_err(|_| Reason::JournalUnreadable.into())
}

fn read_checkpoint<S: System>(system: &S, file: &str) -> Result<Checkpoint, Refusal> {
    let path = system.working_directory().ok().and_then(|base| base.resolve(file)).ok_or(Reason::CheckpointInvalid)?;
    let read = asset::open_named(system, &path).and_then(|file| system.read(&file, limits::CHECKPOINT_BYTES));
    let bytes = read.map_err(|_| Reason::CheckpointInvalid)?;
    Checkpoint::read(bytes.trim_ascii_end()).ok_or_else(|| Reason::CheckpointInvalid.into())
}

/// What verifying says.
struct Answer<'a> {
    found: &'a Examined,
    checkpoint: Option<(&'a Checkpoint, Coverage)>,
}

impl Answer<'_> {
    fn text(&self) -> String {
        let Examined { verified, segments, damage, last, tears, .. } = self.found;
        let until = last.as_ref().map(|row| format!("; the last is of {}", row.at)).unwrap_or_default();
        let mut text = format!(
            "{} in {}, each whole and chained to the one before{until}.",
            counted(verified.rows, "row"),
            counted(u64::try_from(*segments).unwrap_or(u64::MAX), "segment"),
        );
        for Tear { segment, line, continued } in tears {
            let _ = write!(
                text,
                "\nA row was cut off while it was written (line {line} of segment {segment}); row {continued} goes on behind it."
            );
        }
        if let Some(damage) = damage {
            let _ = write!(text, "\nThen the journal is damaged: {damage}. What follows was not looked at.");
        }
        text.push('\n');
        text.push_str(&self.completeness());
        text
    }

    fn completeness(&self) -> String {
        let Some((checkpoint, coverage)) = self.checkpoint else {
            return "That nothing is missing at the end, and that it was not written anew, is not shown: that takes a \
                    checkpoint\nkept elsewhere ('kdna-broker audit checkpoint' prints one, --checkpoint compares)."
                .to_owned();
        };
        let rows = counted(checkpoint.rows(), "row");
        match coverage {
            Coverage::Whole { later } => {
                format!(
                    "All that the checkpoint saw ({rows}) is there as it was; {} came later.",
                    counted(later, "row")
                )
            }
            Coverage::Shorter => format!("Rows are missing: the checkpoint saw {rows}."),
            Coverage::Differs => {
                format!("It is not the journal that the checkpoint saw: its last of {rows} was another one.")
            }
            Coverage::OtherInstallation => "The checkpoint is of another installation.".to_owned(),
        }
    }

    fn document(&self) -> Value {
        let Examined { verified, segments, damage, last, tears, .. } = self.found;
        let mut document = Object::new();
        document.insert("document_type", "kdna.broker.journal-verification");
        document.insert("schema_version", "0.1.0");
        document.insert("rows", whole(verified.rows));
        document.insert("segments", whole(u64::try_from(*segments).unwrap_or(u64::MAX)));
        document.insert("head", verified.head);
        document.insert("last_at", last.as_ref().map(|row| row.at.to_string()));
        document.insert("damage", damage.as_ref().map(damage_value));
        document.insert("cut_off", tears.iter().map(tear_value).collect::<Vec<_>>());
        document
            .insert("checkpoint", self.checkpoint.map(|(checkpoint, coverage)| coverage_value(checkpoint, coverage)));
        document.into()
    }
}

fn coverage_value(checkpoint: &Checkpoint, coverage: Coverage) -> Value {
    let (word, later) = match coverage {
        Coverage::Whole { later } => ("whole", Some(later)),
        Coverage::Shorter => ("rows_missing", None),
        Coverage::Differs => ("rows_changed", None),
        Coverage::OtherInstallation => ("other_installation", None),
    };
    let mut value = Object::new();
    value.insert("rows", whole(checkpoint.rows()));
    value.insert("state", word);
    value.insert("later_rows", later.map(whole));
    value.into()
}

fn tear_value(tear: &Tear) -> Value {
    let mut value = Object::new();
    value.insert("segment", tear.segment);
    value.insert("line", whole(tear.line));
    value.insert("continued_with_row", whole(tear.continued));
    value.into()
}

fn damage_value(damage: &Damage) -> Value {
    let (segment, line, row, why) = match damage {
        Damage::Row { segment, line, bad } => (*segment, Some(*line), Some(bad.number), bad.why.to_string()),
        Damage::Segment(segment) => (*segment, None, None, "a segment is missing".to_owned()),
    };
    let mut value = Object::new();
    value.insert("segment", segment);
    value.insert("line", line.map(whole));
    value.insert("row", row.map(whole));
    value.insert("why", why);
    value.into()
}

/// A count; a journal has no more rows than 32 bits number.
fn whole(count: u64) -> Value {
    Value::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What takes a whole journal has none of a damaged one.
fn demand_whole(found: &Examined) -> Result<(), Outcome> {
    let Some(damage) = &found.damage else { return Ok(()) };
    let message = format!("The journal does not verify: {damage}.");
    Err(Outcome::refused(&Refusal::labelled(Reason::JournalDamaged, message)).exiting(DAMAGED))
}

fn checkpoint<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = parsed(&CHECKPOINT, "audit checkpoint", words)?;
    let found = examined(system, &there(system, environment, &arguments)?, &mut |_, _| ())?;
    demand_whole(&found)?;
    let Some(last) = &found.last else {
        return Err(Outcome::refused(&Refusal::labelled(Reason::JournalUnreadable, "The journal has no row yet.")));
    };
    let made = Checkpoint::of(last, system.now(), arguments.value("--witness"));
    let made = made.ok_or_else(|| Outcome::usage("--witness takes a name of at most 4096 characters."))?;
    Ok(Outcome::document(&made.to_value()))
}

fn export<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = parsed(&EXPORT, "audit export", words)?;
    let after = number(&arguments, "--after")?.unwrap_or(0);
    let mut rows = String::new();
    let mut last = None;
    let found = examined(system, &there(system, environment, &arguments)?, &mut |row, line| {
        if row.number <= after || last.is_some() {
            return;
        }
        if rows.len().saturating_add(line.len()) >= limits::JOURNAL_EXPORT_BYTES {
            last = Some(row.number.saturating_sub(1));
            return;
        }
        // A row is printable ASCII alone.
        rows.push_str(std::str::from_utf8(line).unwrap_or_default());
        rows.push('\n');
    })?;
    demand_whole(&found)?;
    let outcome = Outcome { output: rows, ..Outcome::default() };
    Ok(match last {
        None => outcome,
        Some(last) => {
            Outcome { errors: format!("These are the rows up to {last}; go on with --after {last}.\n"), ..outcome }
        }
    })
}

fn show<S: System>(system: &S, environment: &Environment, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = parsed(&SHOW, "audit show", words)?;
    let event = arguments.value("--event");
    let known = |word: &&str| Event::ALL.iter().any(|event| event.as_str() == *word);
    if event.is_some_and(|word| !known(&word)) {
        let words = Event::ALL.map(Event::as_str).join(", ");
        return Err(Outcome::usage(&format!("--event takes one of: {words}.")));
    }
    let most = match number(&arguments, "--last")? {
        None => SHOWN,
        Some(0) => usize::MAX,
        Some(most) => usize::try_from(most).unwrap_or(usize::MAX),
    };
    let mut lines = VecDeque::new();
    let found = examined(system, &there(system, environment, &arguments)?, &mut |row, line| {
        let Some(read) = Told::read(row, line).filter(|told| event.is_none_or(|word| told.event == word)) else {
            return;
        };
        if lines.len() == most {
            lines.pop_front();
        }
        lines.push_back(read.line());
    })?;
    let mut text = Vec::from(lines).join("\n");
    if let Some(damage) = &found.damage {
        let _ = write!(text, "\nThe journal is damaged here: {damage}. What follows is not shown.");
    } else if text.is_empty() {
        text.push_str("There is no such row.");
    }
    Ok(Outcome::text(text).exiting(if found.damage.is_some() { DAMAGED } else { 0 }))
}

/// A row, as a person reads it.
struct Told {
    number: u64,
    at: String,
    event: String,
    said: Vec<String>,
}

impl Told {
    fn read(row: &Row, line: &[u8]) -> Option<Self> {
        let document = read_strict(line, limits::JOURNAL_ROW_DEPTH).ok()?;
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        let digest = |key: &str| text(key).and_then(Digest::parse).map(|digest| short(&digest));
        let mut said = Vec::new();
        said.extend(text("reason").map(str::to_owned));
        if let Some(host) = text("host_id") {
            let to = text("processor").map(|name| format!(" for \"{}\"", display(name, limits::PROCESSOR_UNITS)));
            said.push(format!("host {host}{}", to.unwrap_or_default()));
        }
        said.extend(text("attachment_id").map(str::to_owned));
        said.extend(digest("asset_digest").map(|digest| format!("asset {digest}")));
        said.extend(digest("consent_digest").map(|digest| format!("consent {digest}")));
        Some(Self { number: row.number, at: row.at.to_string(), event: text("event")?.to_owned(), said })
    }

    fn line(&self) -> String {
        format!("{:>6}  {}  {:9}  {}", self.number, self.at, self.event, self.said.join(", ")).trim_end().to_owned()
    }
}

/// The first digits of a digest, which tell one from another among a few.
fn short(digest: &Digest) -> String {
    let digits: String = digest.hex().chars().take(DIGITS).collect();
    format!("{digits}…")
}
