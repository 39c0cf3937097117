//! The two readers, over `serde_json`'s parser. It alone accepts duplicate keys, so the visitor here decides on them.
//! Errors say what kind of fault it was and never quote the input.

use crate::foundation::limits;
use crate::foundation::text::utf16_len;
use crate::foundation::value::{Object, Value, push};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// Why a text is not an acceptable document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonFault {
    /// Not valid UTF-8.
    NotUtf8,
    /// Starts with U+FEFF.
    ByteOrderMark,
    /// Not one JSON value (trailing data, lone surrogates and numbers out of range included).
    NotJson,
    /// A key stands twice in one object.
    DuplicateKey,
    /// Nested deeper than the document kind allows.
    TooDeep,
    /// A list with more items than allowed.
    TooManyItems,
    /// A text longer than allowed.
    TextTooLong,
    /// More values than allowed.
    TooManyValues,
}

/// Reads an authority document: valid UTF-8, no byte order mark, no duplicate key, nested at most `depth` levels
/// (the root at 0, as in the contract's own limits), with at most as many values as a runtime reply may have.
pub fn read_strict(bytes: &[u8], depth: usize) -> Result<Value, JsonFault> {
    if bytes.starts_with("\u{feff}".as_bytes()) {
        return Err(JsonFault::ByteOrderMark);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| JsonFault::NotUtf8)?;
    read(text, Rules { strict: true, depth }, limits::RUNTIME_REPLY_VALUES)
}

/// Reads an entry of an asset as JavaScript would: invalid UTF-8 replaced, the last duplicate wins in the first
/// one's place, integer-like keys first. Refuses what the entry limits refuse, lone surrogates, and numbers that
/// overflow.
pub fn read_javascript(bytes: &[u8]) -> Result<Value, JsonFault> {
    // Texts are almost always whole, and that is seen much sooner than what to replace.
    let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    if text.starts_with('\u{feff}') {
        return Err(JsonFault::ByteOrderMark);
    }
    read(&text, Rules { strict: false, depth: limits::ENTRY_DEPTH }, limits::ENTRY_VALUES)
}

#[derive(Clone, Copy)]
struct Rules {
    strict: bool,
    depth: usize,
}

fn read(text: &str, rules: Rules, values: usize) -> Result<Value, JsonFault> {
    let fault = Cell::new(JsonFault::NotJson);
    let left = Cell::new(values);
    let mut parser = serde_json::Deserializer::from_str(text);
    let value =
        Node { rules, level: 0, fault: &fault, left: &left }.deserialize(&mut parser).map_err(|_| fault.get())?;
    parser.end().map_err(|_| JsonFault::NotJson)?;
    Ok(value)
}

/// One value at one level; carries where to note which rule was broken.
#[derive(Clone, Copy)]
struct Node<'a> {
    rules: Rules,
    level: usize,
    fault: &'a Cell<JsonFault>,
    /// Values that may still come.
    left: &'a Cell<usize>,
}

impl Node<'_> {
    fn refuse<E: serde::de::Error>(&self, fault: JsonFault) -> E {
        self.fault.set(fault);
        E::custom("refused")
    }

    /// Takes one more value, or a key, into account.
    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        self.left.set(self.left.get().checked_sub(1).ok_or_else(|| self.refuse(JsonFault::TooManyValues))?);
        Ok(())
    }

    fn below(self) -> Self {
        Node { level: self.level + 1, ..self }
    }

    fn text<E: serde::de::Error>(&self, text: String) -> Result<Value, E> {
        if !self.rules.strict && text.len() > limits::ENTRY_TEXT_UNITS && utf16_len(&text) > limits::ENTRY_TEXT_UNITS {
            return Err(self.refuse(JsonFault::TextTooLong));
        }
        Ok(Value::from(text))
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.level > self.rules.depth {
            return Err(self.refuse(JsonFault::TooDeep));
        }
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        // Every number is a double here; serde_json's own conversion rounds correctly.
        serde_json::Number::from(number).as_f64().map(Value::Number).ok_or_else(|| E::custom("number"))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value, E> {
        serde_json::Number::from(number).as_f64().map(Value::Number).ok_or_else(|| E::custom("number"))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.text(text.to_owned())
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Value, E> {
        self.text(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self.below())? {
            if !self.rules.strict && items.len() == limits::ENTRY_ITEMS {
                return Err(self.refuse(JsonFault::TooManyItems));
            }
            push(&mut items, item);
        }
        items.shrink_to_fit();
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Object::new();
        while let Some(key) = access.next_key::<String>()? {
            if self.rules.strict && object.contains_key(&key) {
                return Err(self.refuse(JsonFault::DuplicateKey));
            }
            self.count()?;
            object.insert(key, access.next_value_seed(self.below())?);
        }
        object.order_as_javascript();
        object.shrink();
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_refuses_what_two_readers_could_understand_differently() {
        let read = |text: &str| read_strict(text.as_bytes(), 4);
        assert_eq!(read(r#"{"a":1,"a":1}"#), Err(JsonFault::DuplicateKey));
        assert_eq!(read("{\"processor\":1,\"\\u0070rocessor\":1}"), Err(JsonFault::DuplicateKey));
        assert_eq!(read(r#"{"x":[{"a":1,"a":2}]}"#), Err(JsonFault::DuplicateKey));
        assert_eq!(read("\u{feff}{}"), Err(JsonFault::ByteOrderMark));
        assert_eq!(read("{} {}"), Err(JsonFault::NotJson));
        assert_eq!(read("{}\0"), Err(JsonFault::NotJson));
        assert_eq!(read(r#""\ud800""#), Err(JsonFault::NotJson));
        assert_eq!(read("1e999"), Err(JsonFault::NotJson));
        assert_eq!(read("[[[[1]]]]"), Ok(read_strict(b"[[[[1]]]]", 4).unwrap()));
        assert_eq!(read("[[[[[1]]]]]"), Err(JsonFault::TooDeep));
        assert_eq!(read(&"[".repeat(1_000_000)), Err(JsonFault::TooDeep));
        assert_eq!(read_strict(b"\"\xff\"", 4), Err(JsonFault::NotUtf8));
    }

    #[test]
    fn javascript_keeps_the_first_place_and_the_last_value() {
        let value = read_javascript(br#"{"b":1,"7":2,"a":3,"b":4}"#).unwrap();
        let pairs: Vec<_> =
            value.as_object().unwrap().iter().map(|(key, value)| (key, value.as_number().unwrap())).collect();
        assert_eq!(pairs, [("7", 2.0), ("b", 4.0), ("a", 3.0)]);
        assert_eq!(read_javascript(b"\"\xff\"").unwrap(), Value::from("\u{fffd}"));
    }

    #[test]
    fn entry_limits_hold_at_their_edge() {
        let list = |n: usize| format!("[{}]", vec!["0"; n].join(","));
        assert!(read_javascript(list(10_000).as_bytes()).is_ok());
        assert_eq!(read_javascript(list(10_001).as_bytes()), Err(JsonFault::TooManyItems));
        let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        assert!(read_javascript(nested(64).as_bytes()).is_ok());
        assert_eq!(read_javascript(nested(65).as_bytes()), Err(JsonFault::TooDeep));
        // 50 lists of 9,999 items and the outer list are 500,001 values.
        let many = |last: &str| format!("[{},{last}]", vec![list(9_999); 49].join(","));
        assert!(read_javascript(many(&list(9_998)).as_bytes()).is_ok());
        assert_eq!(read_javascript(many(&list(9_999)).as_bytes()), Err(JsonFault::TooManyValues));
        let members =
            |n: usize| format!("{{{}}}", (0..n).map(|at| format!("\"k{at}\":0")).collect::<Vec<_>>().join(","));
        assert!(read_javascript(members(249_999).as_bytes()).is_ok());
        assert_eq!(read_javascript(members(250_000).as_bytes()), Err(JsonFault::TooManyValues));
        let text = |n: usize| format!("\"{}\"", "a".repeat(n));
        assert!(read_javascript(text(1_048_576).as_bytes()).is_ok());
        assert_eq!(read_javascript(text(1_048_577).as_bytes()), Err(JsonFault::TextTooLong));
    }

    #[test]
    fn large_integers_become_the_nearest_double() {
        assert_eq!(read_strict(b"123456789012345680000", 1).unwrap().as_number(), Some(123_456_789_012_345_680_000.0));
        assert_eq!(read_strict(b"9007199254740993", 1).unwrap().as_number(), Some(9_007_199_254_740_992.0));
    }
}
