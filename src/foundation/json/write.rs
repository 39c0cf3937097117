//! The JavaScript-compatible writer: `JSON.stringify` with no indent or two spaces, byte for byte.

use crate::foundation::value::{Object, Value};
use std::fmt::Write as _;

/// The value holds something JSON cannot say: a number that is not finite, or [`Value::Unprintable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value has no JSON form")]
pub struct NoJsonForm;

/// No whitespace at all.
pub fn compact(value: &Value) -> Result<String, NoJsonForm> {
    let mut out = String::new();
    write_value(&mut out, value, None)?;
    Ok(out)
}

/// As [`compact`], for a map.
pub fn compact_object(object: &Object) -> Result<String, NoJsonForm> {
    let mut out = String::new();
    write_members(&mut out, object, None)?;
    Ok(out)
}

/// Two spaces a level and a final newline: what the commands print and what documents on disk look like.
pub fn pretty(value: &Value) -> Result<String, NoJsonForm> {
    let mut out = String::new();
    write_value(&mut out, value, Some(0))?;
    out.push('\n');
    Ok(out)
}

/// A number as ECMAScript prints it. `None` if it is not finite.
pub fn number(number: f64) -> Option<String> {
    if !number.is_finite() {
        return None;
    }
    let number = if number == 0.0 { 0.0 } else { number };
    Some(ryu_js::Buffer::new().format_finite(number).to_owned())
}

/// Appends a quoted, escaped text.
pub fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let short = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            b'\t' => "\\t",
            b'\n' => "\\n",
            0x0c => "\\f",
            b'\r' => "\\r",
            0..0x20 => "",
            _ => continue,
        };
        out.push_str(text.get(plain..at).unwrap_or_default());
        if short.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(short);
        }
        plain = at + 1;
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

fn write_value(out: &mut String, value: &Value, level: Option<usize>) -> Result<(), NoJsonForm> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(value) => out.push_str(&number(*value).ok_or(NoJsonForm)?),
        Value::String(text) => string(out, text),
        Value::Array(items) if items.is_empty() => out.push_str("[]"),
        Value::Array(items) => {
            let inner = level.map(|level| level + 1);
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                separate(out, at, inner);
                write_value(out, item, inner)?;
            }
            close(out, level);
            out.push(']');
        }
        Value::Object(object) => write_members(out, object, level)?,
        Value::Unprintable => return Err(NoJsonForm),
    }
    Ok(())
}

fn write_members(out: &mut String, object: &Object, level: Option<usize>) -> Result<(), NoJsonForm> {
    if object.is_empty() {
        out.push_str("{}");
        return Ok(());
    }
    let inner = level.map(|level| level + 1);
    out.push('{');
    for (at, (key, value)) in object.iter().enumerate() {
        separate(out, at, inner);
        string(out, key);
        out.push_str(if level.is_some() { ": " } else { ":" });
        write_value(out, value, inner)?;
    }
    close(out, level);
    out.push('}');
    Ok(())
}

fn separate(out: &mut String, at: usize, inner: Option<usize>) {
    if at > 0 {
        out.push(',');
    }
    close(out, inner);
}

fn close(out: &mut String, level: Option<usize>) {
    if let Some(level) = level {
        out.push('\n');
        for _ in 0..level {
            out.push_str("  ");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::json::read_javascript;

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
    fn the_layout_is_that_of_json_stringify() {
        let value = read_javascript(br#"{"a":[1,{"b":[]}],"c":{},"d":null}"#).unwrap();
        assert_eq!(compact(&value).unwrap(), r#"{"a":[1,{"b":[]}],"c":{},"d":null}"#);
        assert_eq!(
            pretty(&value).unwrap(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {},\n  \"d\": null\n}\n"
        );
    }
}
