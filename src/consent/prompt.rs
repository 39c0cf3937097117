//! The question that a person answers: a text of at most 24 rows of 79 cells, whatever the facts hold. Host, destination
//! and question stand in its last 12 rows and are never cut. Asks nobody and reads no answer by itself.
//!
//! Its digest is kept in the consent, so the same facts must always give the same text. What would be replaced, and the
//! machine's fields where they are asked for, stand above it and are no part of it.
//!
//! Foreign text is shown escaped, on its own rows, in quotes where it is somebody's words; a row that continues one never
//! starts where a label does.

use super::draft::{ConsentDraft, DraftFacts, profile_in_words};
use super::store::Standing;
use crate::foundation::digest::{Digest, of_root_path};
use crate::foundation::text::{collapse_whitespace, display, trim};
use crate::foundation::time::Timestamp;
use crate::foundation::value::Value;

/// Rows of the question on the smallest terminal; two more are for what stands above it.
const ROWS: usize = 22;
/// Rows and columns of the smallest terminal that every question fits, and what is assumed of one that tells no size.
pub const SMALLEST: (u16, u16) = (24, 80);
/// Rows at the end that hold host, destination and question.
const LAST_ROWS: usize = 12;
/// Where the text of a row begins, and how many cells it has (the last cell of 80 stays free).
pub(super) const INDENT: usize = 15;
const CELLS: usize = 64;
/// Most rows of the purpose and of each list.
pub(super) const FIELD_ROWS: usize = 3;

/// A quote inside of quotes.
const QUOTE: &str = "\\\"";
const HEADING: &str = "A host asks to receive a judgment asset of this workspace.";
pub(super) const QUESTION: &str = "Allow this host to have it processed there? [y/N] ";

/// Whether an answer allows: `y` or `yes`, trimmed, in any case; nothing else. An answer of 16 bytes or more may have
/// been cut by the terminal's reader, so it never allows.
pub fn allows(answer: &str) -> bool {
    let word = trim(answer);
    answer.len() < 16 && (word.eq_ignore_ascii_case("y") || word.eq_ignore_ascii_case("yes"))
}

/// What stands above a question, and is no part of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Above {
    /// What an allowance would replace.
    pub standing: Standing,
    /// Whether this machine's ledger knows the attachment as it is.
    pub approved_here: bool,
    /// Whether the machine's fields are shown.
    pub details: bool,
}

/// The whole text that is shown; it ends in `[y/N] ` without a newline.
pub fn shown(draft: &ConsentDraft, about: &Above) -> String {
    let mut above = if about.details { machine_fields(draft) } else { Vec::new() };
    above.extend(replaced(draft.as_facts(), &about.standing));
    if !about.approved_here {
        above.extend(field("Origin", &plain("it came with the workspace: nobody approved it on this machine"), 1, ""));
    }
    above.push(question(draft));
    above.join("\n")
}

/// The digest of the question, as a consent keeps it.
pub fn digest(draft: &ConsentDraft) -> Digest {
    Digest::of(question(draft).as_bytes())
}

/// The rows that must be seen at once: host, destination and question.
fn decision(facts: &DraftFacts) -> Vec<String> {
    let mut tail = field("Host", &plain(&facts.host_id), LAST_ROWS, "");
    tail.extend(field("Destination", &plain(&facts.processor), LAST_ROWS, ""));
    tail.extend(warning(&facts.processor));
    tail
}

/// Whether a window of these rows and columns shows a whole text at once.
pub fn holds(text: &str, (rows, columns): (u16, u16)) -> bool {
    text.split('\n').map(|row| lines(row, columns)).sum::<usize>() <= usize::from(rows)
}

/// Whether a window of these rows and columns shows host, destination and question at once.
pub fn fits(draft: &ConsentDraft, (rows, columns): (u16, u16)) -> bool {
    let tail = decision(draft.as_facts());
    // The blank row before the question, and the room for the answer.
    let needed = tail.iter().map(|row| lines(row, columns)).sum::<usize>()
        + 1
        + lines(QUESTION, columns)
        + usize::from(columns < 60);
    needed <= usize::from(rows)
}

/// The question: the same text for the same facts.
pub fn question(draft: &ConsentDraft) -> String {
    let facts = draft.as_facts();
    let tail = decision(facts);
    let identity = format!("{}@{}", facts.asset_id, facts.asset_version);
    let mut above = field("Asset title", &quoted([&facts.asset_title]), 1, "");
    let below = [
        field("Workspace", &middle_cut(plain(facts.workspace.as_str())), 1, ""),
        host_root(facts),
        field("Handed over", &plain(profile_in_words(&facts.profile).unwrap_or_default()), 1, ""),
        field("Valid", &plain(&validity(facts.expires_at)), 1, ""),
        field("Copies", &plain("the host may keep what it receives in its transcript"), 1, ""),
    ]
    .concat();
    // Heading, question, and a row for each of purpose, used for and not for.
    if 6 + above.len() + below.len() + tail.len() <= ROWS {
        above.extend(field("Asset", &plain(&identity), 1, ""));
    }
    let spare = ROWS.saturating_sub(2 + above.len() + below.len() + tail.len());
    let wishes = [
        ("Purpose", quoted([&facts.role]), String::new()),
        ("Used for", list(&facts.applies_to, "(everything in the workspace)"), in_all(&facts.applies_to)),
        ("Not for", list(&facts.does_not_apply_to, "(nothing excluded)"), in_all(&facts.does_not_apply_to)),
    ];
    let (recorded, spare) = share(&wishes, spare);
    let blank = usize::from(spare >= 2 && tail.len() + 2 <= LAST_ROWS);
    let mut rows = vec![HEADING.to_owned()];
    rows.extend(vec![String::new(); blank]);
    rows.extend(above);
    rows.extend(recorded);
    rows.extend(below);
    rows.extend(tail);
    rows.extend(vec![String::new(); blank]);
    rows.push(QUESTION.to_owned());
    rows.join("\n")
}

/// How long an allowance holds, to the minute.
fn validity(expires_at: Option<Timestamp>) -> String {
    let Some(time) = expires_at.map(|time| time.to_string()) else {
        return "until you revoke it (how is shown when you allow)".to_owned();
    };
    let (day, clock) = (time.get(..10).unwrap_or_default(), time.get(11..16).unwrap_or_default());
    format!("until {day} {clock} UTC, or until you revoke it")
}

/// The root that the consent binds, where it is wider than the workspace: the person allows a server for all of it.
fn host_root(facts: &DraftFacts) -> Vec<String> {
    if facts.host_root == facts.workspace {
        return Vec::new();
    }
    field("Server root", &middle_cut(plain(facts.host_root.as_str())), 1, "")
}

/// What an allowance would end, in one row: one place holds one consent.
fn replaced(facts: &DraftFacts, standing: &Standing) -> Vec<String> {
    let old = match standing {
        Standing::Nothing => return Vec::new(),
        Standing::Unreadable => return field("Replaces", &plain("a file there that is no readable consent"), 1, ""),
        Standing::Consent(old) => old,
    };
    let here = old.host_root_digest() == of_root_path(facts.host_root.as_str());
    let mut tokens = plain(if here { "this root's consent:" } else { "ANOTHER root's consent:" });
    tokens.push(" ".to_owned());
    let processor = old.processing_boundary().get("processor").and_then(Value::as_str).unwrap_or_default();
    tokens.extend(quoted([&old.host_id().to_owned(), &processor.to_owned()]));
    field("Replaces", &tokens, 1, "")
}

/// Gives each field one row and the rest of the rows in turn; the rows, and how many are left.
fn share(wishes: &[(&str, Vec<String>, String)], rows: usize) -> (Vec<String>, usize) {
    let full = |limit: usize| wishes.iter().map(move |(label, tokens, cut)| field(label, tokens, limit, cut));
    let wanted: Vec<usize> = full(FIELD_ROWS).map(|rows| rows.len()).collect();
    let mut given = vec![1; wanted.len()];
    let mut left = rows.saturating_sub(given.len());
    for level in 2..=FIELD_ROWS {
        for (given, wanted) in given.iter_mut().zip(&wanted) {
            if *wanted >= level && left > 0 {
                *given = level;
                left -= 1;
            }
        }
    }
    let shown = wishes.iter().zip(given).flat_map(|((label, tokens, cut), limit)| field(label, tokens, limit, cut));
    (shown.collect(), left)
}

/// A label and its text, wrapped to at most `limit` rows; what does not fit ends in `…` and `cut`.
pub(super) fn field(label: &str, tokens: &[String], limit: usize, cut: &str) -> Vec<String> {
    let mut rows = vec![format!("{:INDENT$}", format!("  {label}"))];
    let mut used = 0;
    let mark = format!("… {cut}");
    for (at, token) in tokens.iter().enumerate() {
        // No token is narrower than a cell, so a few more tell enough.
        let rest = || tokens.iter().skip(at).take(CELLS + 1).map(|token| cells(token)).sum::<usize>();
        if rows.len() == limit && used + cells(token) + cells(&mark) > CELLS && used + rest() > CELLS {
            rows.last_mut().into_iter().for_each(|row| row.push_str(mark.trim_end()));
            break;
        }
        if used + cells(token) > CELLS {
            rows.push(" ".repeat(INDENT));
            used = 0;
        }
        rows.last_mut().into_iter().for_each(|row| row.push_str(token));
        used += cells(token);
    }
    rows
}

/// Cells of a text, never too few: everything outside ASCII counts as wide, which it is on some terminals.
pub(super) fn cells(text: &str) -> usize {
    text.chars().map(width).sum()
}

fn width(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

/// Lines that a row takes in a window of so many columns, never too few: a wide character does not begin in the last cell of
/// a line, which stays free.
pub(super) fn lines(row: &str, columns: u16) -> usize {
    let columns = usize::from(columns).max(1);
    let mut used = 0;
    let mut lines = 1;
    for character in row.chars() {
        let cells = width(character);
        if used + cells > columns {
            lines += 1;
            used = 0;
        }
        used += cells;
    }
    lines
}

fn cells_of(tokens: &[String]) -> usize {
    tokens.iter().map(|token| cells(token)).sum()
}

/// Text as pieces that stay together: one character, or the escape that stands for it.
pub(super) fn plain(text: &str) -> Vec<String> {
    let mut buffer = [0; 4];
    collapse_whitespace(text).chars().map(|character| display(character.encode_utf8(&mut buffer), 1)).collect()
}

/// Texts in quotes, separated by commas. A quote inside is escaped, so none can end early.
pub(super) fn quoted<'a>(texts: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut tokens = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        if tokens.len() > FIELD_ROWS * CELLS {
            break; // More than can be shown already.
        }
        tokens.extend((at > 0).then(|| ", ".to_owned()));
        tokens.push("\"".to_owned());
        tokens.extend(plain(text).into_iter().map(|token| if token == "\"" { QUOTE.to_owned() } else { token }));
        tokens.push("\"".to_owned());
    }
    tokens
}

/// One text in quotes that end where it ends, in one piece: at most so many characters of it.
pub(crate) fn in_quotes(text: &str, limit: usize) -> String {
    format!("\"{}\"", display(&collapse_whitespace(text), limit).replace('"', QUOTE))
}

pub(super) fn list(phrases: &[String], none: &str) -> Vec<String> {
    if phrases.is_empty() { plain(none) } else { quoted(phrases) }
}

fn in_all(phrases: &[String]) -> String {
    format!("({} in all)", phrases.len())
}

/// A long path keeps its beginning and its end, which say most.
pub(super) fn middle_cut(tokens: Vec<String>) -> Vec<String> {
    if cells_of(&tokens) <= CELLS {
        return tokens;
    }
    let fitting = |budget: usize| {
        let mut used = 0;
        move |token: &&String| {
            used += cells(token);
            used <= budget
        }
    };
    let start: Vec<String> = tokens.iter().take_while(fitting(20)).cloned().collect();
    let mut end: Vec<String> = tokens.iter().rev().take_while(fitting(CELLS - 20 - 4)).cloned().collect();
    end.reverse();
    [start, vec!["…".to_owned()], end].concat()
}

/// One row in plain words if letters of two alphabets stand in one name, as in a name made to look like another.
fn warning(name: &str) -> Vec<String> {
    let letters = || name.chars().filter_map(|character| Some((character, alphabet(character)?)));
    let Some((_, first)) = letters().next() else { return Vec::new() };
    let Some((_, other)) = letters().find(|(_, alphabet)| *alphabet != first) else { return Vec::new() };
    let shown = letters().find(|(_, alphabet)| *alphabet != "Latin").map_or(0, |(character, _)| u32::from(character));
    field("Careful", &plain(&format!("the destination mixes {first} and {other} letters: U+{shown:04X}")), 1, "")
}

/// The alphabet of a letter or of a foreign digit. East Asian writing counts as none: names mix it with Latin letters every
/// day, and its characters look like no letter.
fn alphabet(character: char) -> Option<&'static str> {
    Some(match character {
        'A'..='Z'
        | 'a'..='z'
        | '\u{c0}'..='\u{d6}'
        | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{24f}'
        | '\u{1e00}'..='\u{1eff}' => "Latin",
        '\u{250}'..='\u{2af}' | '\u{1d00}'..='\u{1dbf}' => "phonetic",
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => "Greek",
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{a640}'..='\u{a69f}' => "Cyrillic",
        '\u{531}'..='\u{58f}' => "Armenian",
        '\u{10a0}'..='\u{10ff}' | '\u{1c90}'..='\u{1cbf}' => "Georgian",
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => "Cherokee",
        '\u{2c80}'..='\u{2cff}' => "Coptic",
        '\u{a4d0}'..='\u{a4ff}' => "Lisu",
        '\u{2100}'..='\u{218f}' | '\u{2460}'..='\u{24ff}' | '\u{1d400}'..='\u{1d7ff}' | '\u{1f130}'..='\u{1f189}' => {
            "symbol"
        }
        '\u{ff21}'..='\u{ff3a}' | '\u{ff41}'..='\u{ff5a}' => "full-width",
        // Kana, Bopomofo, the characters of Chinese, Hangul syllables.
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{312f}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}' => return None,
        other if !other.is_ascii() && other.is_alphanumeric() => "foreign",
        _ => return None,
    })
}

/// What a machine compares, one value a row.
fn machine_fields(draft: &ConsentDraft) -> Vec<String> {
    let facts = draft.as_facts();
    let values = [
        ("asset_digest", facts.asset_digest.to_string()),
        ("attachment_id", facts.attachment_id.clone()),
        ("scope_digest", facts.scope_digest.to_string()),
        ("entry_digest", facts.entry_digest.to_string()),
        ("host_root_digest", of_root_path(facts.host_root.as_str()).to_string()),
        ("workspace_root_digest", of_root_path(facts.workspace.as_str()).to_string()),
        ("capsule_profile", facts.profile.clone()),
    ];
    values.into_iter().flat_map(|(name, value)| [format!("{name}:"), format!("  {value}")]).collect()
}
