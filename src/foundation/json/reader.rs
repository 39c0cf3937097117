//! The two readers, over `serde_json`'s parser. It alone accepts duplicate keys, so the visitor here decides on them.
//! Errors say what kind of fault it was and never quote the input.

use crate::foundation::limits;
use crate::foundation::text::utf16_len;
use crate::foundation::value::{Map, Tree, Value, is_same};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

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
    read::<Copied>(text, Rules { strict: true, depth }, limits::RUNTIME_REPLY_VALUES)
}

/// Reads an entry of an asset as JavaScript would: invalid UTF-8 replaced, the last duplicate wins in the first
/// one's place, integer-like keys first. Refuses what the entry limits refuse, lone surrogates, and numbers that
/// overflow.
pub fn read_javascript(bytes: &[u8]) -> Result<Value, JsonFault> {
    // Texts are almost always whole, and that is seen much sooner than what to replace.
    let text = std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    read_entry::<Copied>(&text)
}

/// As [`read_javascript`], with the texts borrowed from the bytes where they stand there as they are.
pub fn read_javascript_borrowing(bytes: &[u8]) -> Result<Tree<'_>, JsonFault> {
    std::str::from_utf8(bytes).map_or_else(|_| read_javascript(bytes), read_entry::<Borrowed>)
}

fn read_entry<'de, 'out, K: Keep<'de, 'out>>(text: &'de str) -> Result<Tree<'out>, JsonFault> {
    if text.starts_with('\u{feff}') {
        return Err(JsonFault::ByteOrderMark);
    }
    read::<K>(text, Rules { strict: false, depth: limits::ENTRY_DEPTH }, limits::ENTRY_VALUES)
}

/// What becomes of a text that stands in the input as it is.
trait Keep<'de, 'out> {
    fn keep(text: &'de str) -> Cow<'out, str>;
}

#[derive(Clone, Copy)]
struct Borrowed;

impl<'de> Keep<'de, 'de> for Borrowed {
    fn keep(text: &'de str) -> Cow<'de, str> {
        Cow::Borrowed(text)
    }
}

#[derive(Clone, Copy)]
struct Copied;

impl<'de> Keep<'de, 'static> for Copied {
    fn keep(text: &'de str) -> Cow<'static, str> {
        Cow::Owned(text.to_owned())
    }
}

#[derive(Clone, Copy)]
struct Rules {
    strict: bool,
    depth: usize,
}

fn read<'de, 'out, K: Keep<'de, 'out>>(text: &'de str, rules: Rules, values: usize) -> Result<Tree<'out>, JsonFault> {
    let fault = Cell::new(JsonFault::NotJson);
    let left = Cell::new(values);
    let mut parser = serde_json::Deserializer::from_str(text);
    let room = Room { members: RefCell::new(Vec::with_capacity(MANY)), items: RefCell::default() };
    let node = Node::<K> { rules, level: 0, fault: &fault, left: &left, room: &room, kept: PhantomData };
    let value = node.deserialize(&mut parser).map_err(|_| fault.get())?;
    parser.end().map_err(|_| JsonFault::NotJson)?;
    Ok(value)
}

/// What was read of the maps and lists that are still open, those of the inner ones last. A list or map gets its own
/// memory once, when its size is known.
struct Room<'out> {
    members: RefCell<Vec<(Cow<'out, str>, Tree<'out>)>>,
    items: RefCell<Vec<Tree<'out>>>,
}

/// One value at one level; carries where to note which rule was broken.
struct Node<'a, 'out, K> {
    rules: Rules,
    level: usize,
    fault: &'a Cell<JsonFault>,
    /// Values that may still come.
    left: &'a Cell<usize>,
    room: &'a Room<'out>,
    kept: PhantomData<(K, &'out str)>,
}

impl<'out, K> Node<'_, 'out, K> {
    fn refuse<E: serde::de::Error>(&self, fault: JsonFault) -> E {
        self.fault.set(fault);
        E::custom("refused")
    }

    /// Takes one more value, or a key, into account.
    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        self.left.set(self.left.get().checked_sub(1).ok_or_else(|| self.refuse(JsonFault::TooManyValues))?);
        Ok(())
    }

    fn below(&self) -> Self {
        Node { level: self.level + 1, kept: PhantomData, ..*self }
    }

    fn text<E: serde::de::Error>(&self, text: Cow<'out, str>) -> Result<Tree<'out>, E> {
        if !self.rules.strict && text.len() > limits::ENTRY_TEXT_UNITS && utf16_len(&text) > limits::ENTRY_TEXT_UNITS {
            return Err(self.refuse(JsonFault::TextTooLong));
        }
        Ok(Tree::String(text))
    }
}

impl<'de, 'out, K: Keep<'de, 'out>> DeserializeSeed<'de> for Node<'_, 'out, K> {
    type Value = Tree<'out>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree<'out>, D::Error> {
        if self.level > self.rules.depth {
            return Err(self.refuse(JsonFault::TooDeep));
        }
        self.count()?;
        deserializer.deserialize_any(self)
    }
}

impl<'de, 'out, K: Keep<'de, 'out>> Visitor<'de> for Node<'_, 'out, K> {
    type Value = Tree<'out>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree<'out>, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Tree<'out>, E> {
        Ok(Tree::Bool(flag))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Tree<'out>, E> {
        // Every number is a double here; serde_json's own conversion rounds correctly.
        serde_json::Number::from(number).as_f64().map(Tree::Number).ok_or_else(|| E::custom("number"))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Tree<'out>, E> {
        serde_json::Number::from(number).as_f64().map(Tree::Number).ok_or_else(|| E::custom("number"))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Tree<'out>, E> {
        Ok(Tree::Number(number))
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> Result<Tree<'out>, E> {
        self.text(K::keep(text))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Tree<'out>, E> {
        self.text(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Tree<'out>, E> {
        self.text(Cow::Owned(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Tree<'out>, A::Error> {
        let start = self.room.items.borrow().len();
        while let Some(item) = access.next_element_seed(self.below())? {
            let mut items = self.room.items.borrow_mut();
            if !self.rules.strict && items.len() - start == limits::ENTRY_ITEMS {
                return Err(self.refuse(JsonFault::TooManyItems));
            }
            items.push(item);
        }
        let items = self.room.items.borrow_mut().drain(start..).collect();
        Ok(Tree::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Tree<'out>, A::Error> {
        let members = &self.room.members;
        let start = members.borrow().len();
        // Only a map of many members is one before it ends, so that no key is looked for among very many.
        let mut many: Option<Map<'out>> = None;
        while let Some(key) = access.next_key_seed(Key::<K>(PhantomData))? {
            let known = match &many {
                Some(map) => map.contains_key(&key),
                None => position(&members.borrow(), start, &key).is_some(),
            };
            if self.rules.strict && known {
                return Err(self.refuse(JsonFault::DuplicateKey));
            }
            self.count()?;
            let value = access.next_value_seed(self.below())?;
            let mut members = members.borrow_mut();
            match &mut many {
                None if !known => {
                    members.push((key, value));
                    if members.len() - start >= MANY {
                        many = Some(Map::of_different(members.drain(start..).collect()));
                    }
                }
                None => {
                    let at = position(&members, start, &key);
                    if let Some((_, former)) = at.and_then(|at| members.get_mut(at)) {
                        *former = value;
                    }
                }
                Some(map) => {
                    map.put(key, value);
                }
            }
        }
        let mut map = many.unwrap_or_else(|| Map::of_different(members.borrow_mut().drain(start..).collect()));
        map.order_as_javascript();
        map.shrink();
        Ok(Tree::Object(map))
    }
}

/// Members that a map still open may have at most.
const MANY: usize = 16;

/// Where a member with this key stands, from `start` on.
fn position(members: &[(Cow<'_, str>, Tree<'_>)], start: usize, key: &str) -> Option<usize> {
    let own = members.get(start..)?;
    own.iter().position(|(known, _)| is_same(known, key)).map(|at| start + at)
}

/// The key of a member.
struct Key<'out, K>(PhantomData<(K, &'out str)>);

impl<'de, 'out, K: Keep<'de, 'out>> DeserializeSeed<'de> for Key<'out, K> {
    type Value = Cow<'out, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'out, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, 'out, K: Keep<'de, 'out>> Visitor<'de> for Key<'out, K> {
    type Value = Cow<'out, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'out, str>, E> {
        Ok(K::keep(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'out, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
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
