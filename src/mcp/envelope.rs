//! The first of two parsing stages: one line becomes a message whose `params` are still raw text.
//!
//! So an id survives whatever stands in the arguments: unpaired surrogates, numbers out of range, any nesting (the
//! parser skips raw values without recursion). Repeated keys are never resolved, only reported.

use super::reply::Fault;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// The id of a request: text or an integer, kept as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Id(Box<str>);

impl Id {
    /// Takes a string or an integer; `None` for everything else, `1.0`, `1e3` and `null` included.
    pub(crate) fn read(raw: &RawValue) -> Option<Self> {
        let text = raw.get();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let known = text.starts_with('"') || digits.bytes().all(|byte| byte.is_ascii_digit());
        known.then(|| Self(text.into()))
    }

    /// The JSON text to echo.
    pub(crate) fn as_json(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Id {
    /// Equal as JSON values: two spellings of one text are one id.
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || matches!((text_of(&self.0), text_of(&other.0)), (Some(left), Some(right)) if left == right)
    }
}

/// The members of one JSON object, their values raw.
pub(crate) struct Members<'a> {
    values: BTreeMap<Cow<'a, [u8]>, &'a RawValue>,
    repeated: Vec<Cow<'a, [u8]>>,
}

impl<'a> Members<'a> {
    /// Reads the text of an object; `None` if it is anything else or not JSON at all.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let mut parser = serde_json::Deserializer::from_str(text);
        let members = parser.deserialize_map(MembersVisitor).ok()?;
        parser.end().ok()?;
        Some(members)
    }

    /// A member's raw value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.values.get(key.as_bytes()).copied()
    }

    /// Whether no key stands twice.
    pub(crate) fn are_distinct(&self) -> bool {
        self.repeated.is_empty()
    }

    /// Whether this key stands twice.
    pub(crate) fn repeats(&self, key: &str) -> bool {
        self.repeated.iter().any(|repeated| **repeated == *key.as_bytes())
    }

    /// Whether every key is one of these, and none stands twice.
    pub(crate) fn are_only(&self, keys: &[&str]) -> bool {
        self.are_distinct() && self.values.keys().all(|key| keys.iter().any(|known| known.as_bytes() == &**key))
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members<'de>, A::Error> {
        let mut members = Members { values: BTreeMap::new(), repeated: Vec::new() };
        while let Some(key) = access.next_key::<&'de RawValue>()? {
            let value = access.next_value::<&'de RawValue>()?;
            let key = text_of(key.get()).ok_or_else(|| serde::de::Error::custom("key"))?;
            match members.values.entry(key) {
                Entry::Occupied(place) => members.repeated.push(place.key().clone()),
                Entry::Vacant(place) => {
                    place.insert(value);
                }
            }
        }
        Ok(members)
    }
}

/// The text of a JSON string as bytes: UTF-8, except that an unpaired surrogate stands as its three bytes. `None` if
/// the (valid) JSON text is not a string.
pub(crate) fn text_of(json: &str) -> Option<Cow<'_, [u8]>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    serde_json::Deserializer::from_str(json).deserialize_bytes(TextVisitor).ok().map(Cow::Owned)
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

/// The `params` member.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Params<'a> {
    /// Not there.
    Absent,
    /// An object, still raw.
    Object(&'a RawValue),
    /// `null`, a list or a scalar.
    Wrong,
}

/// What one JSON value of the input asks for.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// Wants an answer.
    Request { id: Id, method: Cow<'a, str>, params: Params<'a> },
    /// Wants none.
    Notification { method: Cow<'a, str>, params: Params<'a> },
    /// Gets none, and has no effect: a malformed notification, or an answer to something never asked.
    Ignored,
    /// Gets this error.
    Bad { id: Option<Id>, fault: Fault },
    /// A list of messages.
    Batch(Vec<&'a RawValue>),
}

impl<'a> Message<'a> {
    /// Reads one line of valid UTF-8.
    pub(crate) fn read(text: &'a str) -> Self {
        let text = text.trim_matches([' ', '\t']);
        if text.starts_with('{') {
            return Members::read(text).map_or(Self::bad(None, Fault::ParseError), |members| Self::of(&members));
        }
        match serde_json::from_str::<&RawValue>(text) {
            Err(_) => Self::bad(None, Fault::ParseError),
            Ok(_) if text.starts_with('[') => serde_json::from_str(text)
                .ok()
                .filter(|items: &Vec<_>| !items.is_empty())
                .map_or(Self::bad(None, Fault::InvalidRequest), Self::Batch),
            Ok(_) => Self::bad(None, Fault::InvalidRequest),
        }
    }

    fn bad(id: Option<Id>, fault: Fault) -> Self {
        Self::Bad { id, fault }
    }

    fn of(members: &Members<'a>) -> Self {
        let method = members.get("method").and_then(|raw| text_of(raw.get())).map(lossy);
        let sound = members.are_distinct()
            && members.get("jsonrpc").and_then(|raw| text_of(raw.get())).as_deref() == Some(b"2.0");
        let params = match members.get("params") {
            None => Params::Absent,
            Some(raw) if raw.get().starts_with('{') => Params::Object(raw),
            Some(_) => Params::Wrong,
        };
        if members.repeats("id") {
            return Self::bad(None, Fault::InvalidRequest);
        }
        match (members.get("id"), method) {
            (None, Some(method)) if sound => Self::Notification { method, params },
            (None, Some(_)) => Self::Ignored,
            (None, None) => Self::bad(None, Fault::InvalidRequest),
            (Some(_), None) if members.get("result").is_some() || members.get("error").is_some() => Self::Ignored,
            (Some(raw), method) => match (Id::read(raw), method) {
                (Some(id), Some(method)) if sound => Self::Request { id, method, params },
                (id, _) => Self::bad(id, Fault::InvalidRequest),
            },
        }
    }
}

/// A method name; an unpaired surrogate makes it one that is not known.
fn lossy(text: Cow<'_, [u8]>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> String {
        match Message::read(text) {
            Message::Request { id, method, .. } => format!("request {} {method}", id.as_json()),
            Message::Notification { method, .. } => format!("notification {method}"),
            Message::Ignored => "ignored".to_owned(),
            Message::Bad { id, fault } => {
                format!("{} {}", fault.code(), id.as_ref().map_or("null", |id| id.as_json()))
            }
            Message::Batch(items) => format!("batch of {}", items.len()),
        }
    }

    #[test]
    fn an_id_is_text_or_an_integer_and_is_kept_as_written() {
        for id in ["0", "-7", "123456789012345678901234567890", r#""""#, r#""\u0041\ud800""#] {
            assert_eq!(outcome(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)), format!("request {id} m"));
        }
        for id in ["null", "1.0", "1e3", "0.5", "true", "[]", "{}", "-0.0"] {
            assert_eq!(outcome(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)), "-32600 null", "{id}");
        }
    }

    #[test]
    fn two_spellings_of_one_text_are_one_id_and_a_number_is_never_a_text() {
        let id = |text: &str| Id::read(&RawValue::from_string(text.to_owned()).unwrap()).unwrap();
        assert_eq!(id(r#""A""#), id(r#""\u0041""#));
        assert_ne!(id("1"), id(r#""1""#));
        assert_ne!(id("1"), id("2"));
    }

    #[test]
    fn an_id_survives_what_stands_beside_it() {
        let deep = format!("{}{}", "[".repeat(400_000), "]".repeat(400_000));
        for params in [r#"{"a":"\ud800"}"#, r#"{"a":1e999}"#, &format!(r#"{{"a":{deep}}}"#), r#"{"a":1,"a":2}"#] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":"x","method":"m","params":{params}}}"#);
            assert_eq!(outcome(&line), "request \"x\" m");
        }
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":4,"method":7}"#), "-32600 4");
        assert_eq!(outcome(r#"{"jsonrpc":"1.0","id":4,"method":"m"}"#), "-32600 4");
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":4,"method":"m","method":"n"}"#), "-32600 4");
        assert_eq!(outcome("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"\\u006dethod\":\"n\"}"), "-32600 4");
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":4,"method":"m","id":4}"#), "-32600 null");
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_and_what_is_no_message_an_invalid_request() {
        for text in [
            "{",
            "x",
            "{\"id\":1,}",
            "{} {}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\tb\"}",
            "[1",
            "{\"a\tb\":1}",
            "\u{feff}{}",
            "{\"a\":01}",
            "{}\0",
        ] {
            assert_eq!(outcome(text), "-32700 null", "{text}");
        }
        for text in ["{}", "1", "null", "\"x\"", "[]", r#"{"id":null}"#] {
            assert_eq!(outcome(text), "-32600 null", "{text}");
        }
    }

    #[test]
    fn a_notification_is_one_even_when_malformed_and_a_stray_answer_is_none() {
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","method":"m","params":null}"#), "notification m");
        assert_eq!(outcome(r#"{"method":"m"}"#), "ignored");
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","method":"m","method":"m"}"#), "ignored");
        assert_eq!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "ignored");
        assert_eq!(outcome(r#"[{"jsonrpc":"2.0"},1]"#), "batch of 2");
    }
}
