//! The JavaScript-compatible writer: `JSON.stringify` with no indent or two spaces, byte for byte.

use crate::foundation::value::{Map, Tree};
use std::fmt::Write as _;

/// The value holds something JSON cannot say: a number that is not finite, [`Tree::Unprintable`] or
/// [`Tree::Undefined`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value has no JSON form")]
pub struct NoJsonForm;

/// No whitespace at all.
pub fn compact(value: &Tree<'_>) -> Result<String, NoJsonForm> {
    let mut out = String::new();
    append_compact(&mut out, value)?;
    Ok(out)
}

/// As [`compact`], appended to a text.
pub fn append_compact(out: &mut String, value: &Tree<'_>) -> Result<(), NoJsonForm> {
    write_value(out, value, None)
}

/// As [`compact`], for a map.
pub fn compact_object(object: &Map<'_>) -> Result<String, NoJsonForm> {
    let mut out = String::new();
    write_members(&mut out, object, None)?;
    Ok(out)
}

/// Two spaces a level and a final newline: what the commands print and what documents on disk look like.
pub fn pretty(value: &Tree<'_>) -> Result<String, NoJsonForm> {
    let mut out = String::new();
    write_value(&mut out, value, Some(0))?;
    out.push('\n');
    Ok(out)
}

/// As [`pretty`], if that is no more than `limit` bytes; `None` for a longer text, of which no more than that is ever held.
/// There is room for an expected number of bytes from the start.
pub fn pretty_within(value: &Tree<'_>, limit: usize, expected: usize) -> Result<Option<String>, NoJsonForm> {
    let mut out = Within { text: String::with_capacity(expected.min(limit)), length: 0, limit };
    write_value(&mut out, value, Some(0))?;
    out.put("\n");
    Ok(if out.length <= limit { Some(out.text) } else { None })
}

/// Bytes that [`pretty`] would write, without writing them.
pub fn pretty_length(value: &Tree<'_>) -> Result<usize, NoJsonForm> {
    let mut length = Length(1);
    write_value(&mut length, value, Some(0))?;
    Ok(length.0)
}

/// A number as ECMAScript prints it. `None` if it is not finite.
pub fn number(number: f64) -> Option<String> {
    let mut out = String::new();
    write_number(&mut out, number).ok()?;
    Some(out)
}

/// Appends a quoted, escaped text.
pub fn string(out: &mut String, text: &str) {
    write_string(out, text);
}

/// Bytes of the quotes around a text.
const QUOTES: usize = 2;

/// Where the writer writes to.
trait Sink {
    fn put(&mut self, text: &str);
    /// A text in quotes that holds nothing to be escaped.
    fn quote(&mut self, text: &str);
    fn indent(&mut self, level: usize);
}

impl Sink for String {
    fn put(&mut self, text: &str) {
        self.push_str(text);
    }

    fn quote(&mut self, text: &str) {
        self.reserve(text.len().saturating_add(QUOTES));
        self.push('"');
        self.push_str(text);
        self.push('"');
    }

    fn indent(&mut self, level: usize) {
        const SPACES: &str = "\n                                                                ";
        if let Some(indent) = SPACES.get(..level.saturating_mul(2).saturating_add(1)) {
            self.push_str(indent);
        } else {
            self.push('\n');
            self.extend(std::iter::repeat_n("  ", level));
        }
    }
}

/// Writes up to a limit, and counts on beyond it.
struct Within {
    text: String,
    length: usize,
    limit: usize,
}

impl Within {
    /// Whether there is room for this many bytes more, and for all before them.
    fn admits(&mut self, bytes: usize) -> bool {
        self.length = self.length.saturating_add(bytes);
        self.length <= self.limit
    }
}

impl Sink for Within {
    fn put(&mut self, text: &str) {
        if self.admits(text.len()) {
            self.text.push_str(text);
        }
    }

    fn quote(&mut self, text: &str) {
        if self.admits(text.len().saturating_add(QUOTES)) {
            self.text.quote(text);
        }
    }

    fn indent(&mut self, level: usize) {
        if self.admits(level.saturating_mul(2).saturating_add(1)) {
            self.text.indent(level);
        }
    }
}

/// Counts what would be written.
struct Length(usize);

impl Sink for Length {
    fn put(&mut self, text: &str) {
        self.0 = self.0.saturating_add(text.len());
    }

    fn quote(&mut self, text: &str) {
        self.0 = self.0.saturating_add(text.len()).saturating_add(QUOTES);
    }

    fn indent(&mut self, level: usize) {
        self.0 = self.0.saturating_add(level.saturating_mul(2)).saturating_add(1);
    }
}

fn write_number(out: &mut impl Sink, number: f64) -> Result<(), NoJsonForm> {
    if !number.is_finite() {
        return Err(NoJsonForm);
    }
    let number = if number == 0.0 { 0.0 } else { number };
    out.put(ryu_js::Buffer::new().format_finite(number));
    Ok(())
}

fn write_string(out: &mut impl Sink, text: &str) {
    let Some(mut at) = first_escaped(text.as_bytes()) else { return out.quote(text) };
    out.put("\"");
    let mut rest = text;
    loop {
        let (plain, special) = rest.split_at(at);
        out.put(plain);
        let mut characters = special.chars();
        escape(out, characters.next().unwrap_or_default());
        rest = characters.as_str();
        let Some(next) = first_escaped(rest.as_bytes()) else { break };
        at = next;
    }
    out.put(rest);
    out.put("\"");
}

/// Where the first byte stands that must be escaped. Most texts have none, so whole blocks are looked at together, which
/// the compiler turns into a few wide instructions.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let (blocks, _) = bytes.as_chunks::<32>();
    let plain = blocks.iter().take_while(|block| !holds_escaped(block)).count() * 32;
    // What is left over is looked at as part of a last whole block, which begins before it.
    if plain / 32 == blocks.len() && ends_plain(bytes) {
        return None;
    }
    let rest = bytes.get(plain..)?;
    rest.iter().position(|byte| must_be_escaped(*byte)).map(|at| plain + at)
}

fn holds_escaped<const N: usize>(block: &[u8; N]) -> bool {
    block.iter().fold(false, |found, byte| found | must_be_escaped(*byte))
}

/// Whether the last 32 bytes hold nothing to be escaped, or all of them where they are fewer, but at least eight.
fn ends_plain(bytes: &[u8]) -> bool {
    if let Some(end) = bytes.last_chunk::<32>() {
        return !holds_escaped(end);
    }
    edges_plain::<16>(bytes).or_else(|| edges_plain::<8>(bytes)).unwrap_or(false)
}

/// Whether neither the first nor the last block of this size holds anything to be escaped; `None` for fewer bytes.
fn edges_plain<const N: usize>(bytes: &[u8]) -> Option<bool> {
    Some(!holds_escaped(bytes.first_chunk::<N>()?) && !holds_escaped(bytes.last_chunk::<N>()?))
}

fn must_be_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn escape(out: &mut impl Sink, character: char) {
    match character {
        '"' => out.put("\\\""),
        '\\' => out.put("\\\\"),
        '\u{8}' => out.put("\\b"),
        '\t' => out.put("\\t"),
        '\n' => out.put("\\n"),
        '\u{c}' => out.put("\\f"),
        '\r' => out.put("\\r"),
        other => {
            let mut code = String::new();
            let _ = write!(code, "\\u{:04x}", u32::from(other));
            out.put(&code);
        }
    }
}

fn write_value(out: &mut impl Sink, value: &Tree<'_>, level: Option<usize>) -> Result<(), NoJsonForm> {
    match value {
        Tree::Null => out.put("null"),
        Tree::Bool(true) => out.put("true"),
        Tree::Bool(false) => out.put("false"),
        Tree::Number(value) => write_number(out, *value)?,
        Tree::String(text) => write_string(out, text),
        Tree::Array(items) if items.is_empty() => out.put("[]"),
        Tree::Array(items) => {
            let inner = level.map(|level| level + 1);
            out.put("[");
            for (at, item) in items.iter().enumerate() {
                separate(out, at, inner);
                write_value(out, item, inner)?;
            }
            close(out, level);
            out.put("]");
        }
        Tree::Object(object) => write_members(out, object, level)?,
        Tree::Unprintable | Tree::Undefined => return Err(NoJsonForm),
    }
    Ok(())
}

fn write_members(out: &mut impl Sink, object: &Map<'_>, level: Option<usize>) -> Result<(), NoJsonForm> {
    if object.is_empty() {
        out.put("{}");
        return Ok(());
    }
    let inner = level.map(|level| level + 1);
    out.put("{");
    for (at, (key, value)) in object.iter().enumerate() {
        separate(out, at, inner);
        write_string(out, key);
        out.put(if level.is_some() { ": " } else { ":" });
        write_value(out, value, inner)?;
    }
    close(out, level);
    out.put("}");
    Ok(())
}

fn separate(out: &mut impl Sink, at: usize, inner: Option<usize>) {
    if at > 0 {
        out.put(",");
    }
    close(out, inner);
}

fn close(out: &mut impl Sink, level: Option<usize>) {
    if let Some(level) = level {
        out.indent(level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::json::read_javascript;
    use crate::foundation::value::Value;

    #[test]
    fn numbers_print_as_ecmascript_prints_them() {
        let cases = [
            (1.0, "1"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (5e-324, "5e-324"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value).as_deref(), Some(text));
        }
        assert_eq!(number(f64::NAN), None);
        assert_eq!(compact(&Value::Array(vec![Value::Number(f64::INFINITY)])), Err(NoJsonForm));
        assert_eq!(compact(&Value::object([("a", Value::Unprintable)])), Err(NoJsonForm));
    }

    #[test]
    fn only_what_json_must_escape_is_escaped() {
        let mut out = String::new();
        string(&mut out, "\"\\\u{8}\t\n\u{c}\r\u{1}\u{1f}\u{7f}/\u{2028}\u{1f600}é");
        assert_eq!(out, "\"\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}/\u{2028}\u{1f600}é\"");
    }

    #[test]
    fn an_escape_is_found_wherever_it_stands() {
        for length in 0..100 {
            let text = "a".repeat(length);
            assert_eq!(compact(&Value::copied(text.as_str())).unwrap(), format!("\"{text}\""));
            for at in 0..length {
                let mut changed = text.clone();
                changed.replace_range(at..=at, "\n");
                assert_eq!(
                    compact(&Value::from(changed)).unwrap(),
                    format!("\"{}\\n{}\"", "a".repeat(at), "a".repeat(length - at - 1))
                );
            }
        }
    }

    #[test]
    fn the_layout_is_that_of_json_stringify() {
        let value = read_javascript(br#"{"a":[1,{"b":[]}],"c":{},"d":null}"#).unwrap();
        assert_eq!(compact(&value).unwrap(), r#"{"a":[1,{"b":[]}],"c":{},"d":null}"#);
        assert_eq!(pretty_length(&value), Ok(pretty(&value).unwrap().len()));
        assert_eq!(pretty_length(&Value::Unprintable), Err(NoJsonForm));
        let text = pretty(&value).unwrap();
        assert_eq!(pretty_within(&value, text.len(), 9), Ok(Some(text.clone())));
        assert!((0..text.len()).all(|limit| pretty_within(&value, limit, 1_000) == Ok(None)));
        let unprintable = Value::Array(vec![value.clone(), Value::Unprintable]);
        assert_eq!(pretty_within(&unprintable, 3, 0), Err(NoJsonForm), "also beyond the limit");
        let nested = format!("{}\"\\u0001é\"{}", "[".repeat(60), "]".repeat(60));
        let nested = read_javascript(nested.as_bytes()).unwrap();
        assert_eq!(pretty_length(&nested), Ok(pretty(&nested).unwrap().len()));
        assert!(pretty(&nested).unwrap().contains(&format!("\n{}\"\\u0001é\"\n", " ".repeat(120))));
        assert_eq!(
            pretty(&value).unwrap(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {},\n  \"d\": null\n}\n"
        );
    }
}
