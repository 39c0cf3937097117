//! The payload's CBOR, decoded into the ordered value, which borrows its texts from the bytes. Refuses everything that has no plain JSON counterpart (byte
//! strings, tags, other simple values) except 64-bit integers, which become [`Tree::Unprintable`].
//! Recursion ends at the entry depth limit, a declared length allocates room for a bounded number of items, and what is decoded
//! takes no more memory than the limit of values allows, however small its items are.

use crate::foundation::limits;
use crate::foundation::text::utf16_len;
use crate::foundation::value::{Map, Tree, push};
use std::borrow::Cow;

/// Why a payload is refused; the texts are part of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CborFault {
    #[error("payload.kdnab: not valid CBOR. payload.kdnab must be CBOR-encoded (format 0.1.0).")]
    NotCbor,
    #[error("payload.kdnab exceeds maximum JSON depth (64)")]
    TooDeep,
    #[error("payload.kdnab contains an array exceeding 10000 items")]
    TooManyItems,
    #[error("payload.kdnab contains a string exceeding 1048576 characters")]
    TextTooLong,
    /// The contract has no words for it: the whole operation is refused.
    #[error("payload.kdnab holds too many values")]
    TooManyValues,
}

/// Decodes exactly one item that fills the input.
pub(super) fn decode(bytes: &[u8]) -> Result<Tree<'_>, CborFault> {
    let mut reader = Reader { rest: bytes, left: limits::ENTRY_VALUES };
    let mut value = Tree::Null;
    reader.item(&mut value, 0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(CborFault::NotCbor) }
}

const BREAK: u8 = 0xff;
/// Items that get their room before they are read. As many as the depth limit of lists may be open at a time.
const AT_ONCE: usize = 512;

struct Reader<'a> {
    rest: &'a [u8],
    /// Values that may still come.
    left: usize,
}

/// The head of an item: major type, low five bits, argument (`None` for an indefinite length).
struct Head {
    major: u8,
    info: u8,
    argument: Option<u64>,
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], CborFault> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(CborFault::NotCbor)?;
        self.rest = rest;
        Ok(*head)
    }

    fn head(&mut self) -> Result<Head, CborFault> {
        let [first] = self.take::<1>()?;
        let info = first & 0x1f;
        let argument = match info {
            0..=23 => Some(u64::from(info)),
            24 => self.take::<1>().map(|[byte]| Some(u64::from(byte)))?,
            25 => self.take().map(|bytes| Some(u64::from(u16::from_be_bytes(bytes))))?,
            26 => self.take().map(|bytes| Some(u64::from(u32::from_be_bytes(bytes))))?,
            27 => self.take().map(|bytes| Some(u64::from_be_bytes(bytes)))?,
            31 => None,
            _ => return Err(CborFault::NotCbor),
        };
        Ok(Head { major: first >> 5, info, argument })
    }

    /// Decodes an item to where it is to stand: a value that is handed on from call to call is copied in each.
    fn item(&mut self, slot: &mut Tree<'a>, level: usize) -> Result<(), CborFault> {
        if level > limits::ENTRY_DEPTH {
            return Err(CborFault::TooDeep);
        }
        self.count()?;
        let head = self.head()?;
        *slot = match (head.major, head.argument) {
            (0 | 1, Some(argument)) => integer(&head, argument),
            (3, Some(length)) => Tree::text(bounded(self.text(length)?)?),
            (4, length) => Tree::Array(self.array(length, level)?),
            (5, length) => Tree::Object(self.map(length, level)?),
            (7, Some(argument)) => simple(head.info, argument)?,
            _ => return Err(CborFault::NotCbor),
        };
        Ok(())
    }

    /// Takes one more value, or a key, into account.
    fn count(&mut self) -> Result<(), CborFault> {
        self.left = self.left.checked_sub(1).ok_or(CborFault::TooManyValues)?;
        Ok(())
    }

    fn text(&mut self, length: u64) -> Result<&'a str, CborFault> {
        let length = usize::try_from(length).map_err(|_| CborFault::NotCbor)?;
        let (text, rest) = self.rest.split_at_checked(length).ok_or(CborFault::NotCbor)?;
        self.rest = rest;
        std::str::from_utf8(text).map_err(|_| CborFault::NotCbor)
    }

    /// Whether a list or map has another member; counts `left` down, or eats the break of an indefinite one.
    fn has_more(&mut self, left: &mut Option<u64>) -> bool {
        match left {
            Some(0) => false,
            Some(count) => {
                *count -= 1;
                true
            }
            None if self.rest.first() == Some(&BREAK) => {
                self.rest = self.rest.get(1..).unwrap_or_default();
                false
            }
            None => true,
        }
    }

    /// Items to make room for at once: what is declared, unless the rest of the input cannot hold it, and few of many.
    fn expected(&self, left: Option<u64>) -> usize {
        let declared = left.and_then(|count| usize::try_from(count).ok()).filter(|count| *count <= self.rest.len());
        declared.unwrap_or(0).min(AT_ONCE)
    }

    fn array(&mut self, mut left: Option<u64>, level: usize) -> Result<Vec<Tree<'a>>, CborFault> {
        let mut items = Vec::with_capacity(self.expected(left));
        while self.has_more(&mut left) {
            push(&mut items, Tree::Null);
            items.last_mut().map_or(Ok(()), |item| self.item(item, level + 1))?;
            if items.len() > limits::ENTRY_ITEMS {
                return Err(CborFault::TooManyItems);
            }
        }
        items.shrink_to_fit();
        Ok(items)
    }

    fn map(&mut self, mut left: Option<u64>, level: usize) -> Result<Map<'a>, CborFault> {
        let mut object = Map::with_room_for(self.expected(left));
        while self.has_more(&mut left) {
            let key = self.key()?;
            self.item(object.slot(key), level + 1)?;
        }
        object.order_as_javascript();
        object.shrink();
        Ok(object)
    }

    /// A key is text, or something whose JavaScript text is beyond doubt.
    fn key(&mut self) -> Result<Cow<'a, str>, CborFault> {
        self.count()?;
        let head = self.head()?;
        Ok(match (head.major, head.argument) {
            (0, Some(number)) => number.to_string().into(),
            (1, Some(number)) => (-1 - i128::from(number)).to_string().into(),
            (3, Some(length)) => match self.text(length)? {
                // The reference's decoder renames this one key, so that it cannot reach a prototype.
                "__proto__" => "__proto_".into(),
                key => key.into(),
            },
            (7, Some(20)) if head.info == 20 => "false".into(),
            (7, Some(21)) if head.info == 21 => "true".into(),
            (7, Some(22)) if head.info == 22 => "null".into(),
            (7, Some(23)) if head.info == 23 => "undefined".into(),
            _ => return Err(CborFault::NotCbor),
        })
    }
}

fn bounded(text: &str) -> Result<&str, CborFault> {
    if text.len() > limits::ENTRY_TEXT_UNITS && utf16_len(text) > limits::ENTRY_TEXT_UNITS {
        return Err(CborFault::TextTooLong);
    }
    Ok(text)
}

/// An integer of at most 32 bits; a wider encoding is a big integer to the reference, whatever its value.
fn integer(head: &Head, argument: u64) -> Tree<'static> {
    match u32::try_from(argument) {
        Ok(number) if head.info < 27 && head.major == 0 => Tree::from(number),
        Ok(number) if head.info < 27 => Tree::Number(-1.0 - f64::from(number)),
        _ => Tree::Unprintable,
    }
}

/// Booleans, `null`, `undefined` and the three widths of floating point.
fn simple(info: u8, argument: u64) -> Result<Tree<'static>, CborFault> {
    match info {
        20 => Ok(Tree::Bool(false)),
        21 => Ok(Tree::Bool(true)),
        22 => Ok(Tree::Null),
        23 => Ok(Tree::Undefined),
        25 => u16::try_from(argument).map(|bits| Tree::Number(half(bits))).map_err(|_| CborFault::NotCbor),
        26 => u32::try_from(argument)
            .map(|bits| Tree::Number(f64::from(f32::from_bits(bits))))
            .map_err(|_| CborFault::NotCbor),
        27 => Ok(Tree::Number(f64::from_bits(argument))),
        _ => Err(CborFault::NotCbor),
    }
}

/// A half-precision number, widened exactly.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::json::write::compact;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |byte: &u8| u8::try_from(char::from(*byte).to_digit(16).unwrap()).unwrap();
        text.as_bytes().chunks(2).map(|pair| digit(&pair[0]) << 4 | digit(&pair[1])).collect()
    }

    fn shown(text: &str) -> Result<String, CborFault> {
        decode(&hex(text)).map(|value| compact(&value).unwrap_or_else(|_| "unprintable".to_owned()))
    }

    #[test]
    fn what_json_can_say_is_decoded_to_the_same_value() {
        for (input, output) in [
            ("00", "0"),
            ("1a00000001", "1"),
            ("1affffffff", "4294967295"),
            ("3affffffff", "-4294967296"),
            ("20", "-1"),
            ("f93c00", "1"),
            ("f90001", "5.960464477539063e-8"),
            ("f97bff", "65504"),
            ("f9c400", "-4"),
            ("f98000", "0"),
            ("fa3dcccccd", "0.10000000149011612"),
            ("fb3fb999999999999a", "0.1"),
            ("63e282ac", "\"€\""),
            ("7800", "\"\""),
            ("9f01820203ff", "[1,[2,3]]"),
            ("bf616101616202ff", r#"{"a":1,"b":2}"#),
            ("a3616101616202616103", r#"{"a":3,"b":2}"#),
            ("b90001616101", r#"{"a":1}"#),
            ("a7616200020a0a01f402f503f604f705", r#"{"2":10,"10":1,"b":0,"false":2,"true":3,"null":4,"undefined":5}"#),
            ("a2200069 5f5f70726f746f5f5f01", r#"{"-1":0,"__proto_":1}"#),
            ("a11bffffffffffffffff00", r#"{"18446744073709551615":0}"#),
        ] {
            assert_eq!(shown(&input.replace(' ', "")).as_deref(), Ok(output), "{input}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_kept_as_unprintable() {
        for input in ["1b0000000000000001", "3b0000000000000001", "f7", "f97c00", "fa7f800000", "fb7ff8000000000000"] {
            assert_eq!(shown(input).as_deref(), Ok("unprintable"), "{input}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for input in [
            "",
            "0000",
            "40",
            "4161",
            "5f4100ff",
            "7f6161ff",
            "c074",
            "c100",
            "d9d9f700",
            "e0",
            "f818",
            "f0",
            "ff",
            "1c",
            "1d",
            "1e",
            "1f",
            "3f",
            "df00ff",
            "18",
            "61",
            "62c3",
            "61ff",
            "82",
            "8200",
            "9f00",
            "a1",
            "a16161",
            "bf6161ff",
            "a1400000",
            "a1f93c0000",
            "a1800000",
            "9bffffffffffffffff",
            "bbffffffffffffffff",
            "7bffffffffffffffff",
            "7affffffff61",
        ] {
            assert_eq!(decode(&hex(input)), Err(CborFault::NotCbor), "{input}");
        }
    }

    #[test]
    fn the_entry_limits_hold_at_their_edge() {
        let nested = |levels: usize| [vec![0x81; levels], vec![0]].concat();
        assert!(decode(&nested(64)).is_ok());
        assert_eq!(decode(&nested(65)), Err(CborFault::TooDeep));
        assert_eq!(decode(&vec![0x9f; 5_000_000]), Err(CborFault::TooDeep));
        let list = |items: u16| [vec![0x99], items.to_be_bytes().to_vec(), vec![0; usize::from(items)]].concat();
        assert!(decode(&list(10_000)).is_ok());
        assert_eq!(decode(&list(10_001)), Err(CborFault::TooManyItems));
        let lists = |count: u8| [vec![0x98, count], list(9_999).repeat(usize::from(count))].concat();
        assert!(decode(&lists(49)).is_ok());
        assert_eq!(decode(&lists(50)), Err(CborFault::TooManyValues), "500,001 values");
        let text = |units: u32| [vec![0x7a], units.to_be_bytes().to_vec(), vec![b'a'; units as usize]].concat();
        assert!(decode(&text(1_048_576)).is_ok());
        assert_eq!(decode(&text(1_048_577)), Err(CborFault::TextTooLong));
    }
}
