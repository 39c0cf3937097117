//! The payload as CBOR: shortest heads, definite lengths, members in the order of the value. Written here because only
//! this subset comes back from the contract's readers as it was: integers of at most 32 bits, every other number as a
//! double.

use super::PackFault;
use crate::foundation::value::{Object, Value};

/// The CBOR of a payload. Refuses what would not come back: [`Value::Unprintable`], numbers that are not finite, and the
/// key `__proto__`.
pub fn payload_cbor(value: &Value) -> Result<Vec<u8>, PackFault> {
    let mut out = Vec::new();
    item(&mut out, value)?;
    Ok(out)
}

fn item(out: &mut Vec<u8>, value: &Value) -> Result<(), PackFault> {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(flag) => out.push(if *flag { 0xf5 } else { 0xf4 }),
        Value::Number(number) => numeric(out, *number)?,
        Value::String(words) => text(out, words)?,
        Value::Array(items) => {
            head(out, 4, items.len())?;
            for member in items {
                item(out, member)?;
            }
        }
        Value::Object(object) => members(out, object)?,
        Value::Unprintable | Value::Undefined => return Err(PackFault::PayloadNotKept),
    }
    Ok(())
}

fn members(out: &mut Vec<u8>, object: &Object) -> Result<(), PackFault> {
    head(out, 5, object.len())?;
    for (key, value) in object.iter() {
        if key == "__proto__" {
            return Err(PackFault::PayloadNotKept);
        }
        text(out, key)?;
        item(out, value)?;
    }
    Ok(())
}

fn text(out: &mut Vec<u8>, words: &str) -> Result<(), PackFault> {
    head(out, 3, words.len())?;
    out.extend_from_slice(words.as_bytes());
    Ok(())
}

fn head(out: &mut Vec<u8>, major: u8, length: usize) -> Result<(), PackFault> {
    argument(out, major, u32::try_from(length).map_err(|_| PackFault::TooLarge)?);
    Ok(())
}

/// The head of an item with the shortest argument.
fn argument(out: &mut Vec<u8>, major: u8, argument: u32) {
    let major = major << 5;
    match (u8::try_from(argument), u16::try_from(argument)) {
        (Ok(small @ 0..=23), _) => out.push(major | small),
        (Ok(byte), _) => out.extend([major | 0x18, byte]),
        (_, Ok(word)) => {
            out.push(major | 0x19);
            out.extend(word.to_be_bytes());
        }
        _ => {
            out.push(major | 0x1a);
            out.extend(argument.to_be_bytes());
        }
    }
}

fn numeric(out: &mut Vec<u8>, number: f64) -> Result<(), PackFault> {
    if !number.is_finite() {
        return Err(PackFault::PayloadNotKept);
    }
    match (whole(number), whole(-1.0 - number)) {
        (Some(natural), _) => argument(out, 0, natural),
        (None, Some(below)) => argument(out, 1, below),
        (None, None) => {
            out.push(0xfb);
            out.extend(number.to_bits().to_be_bytes());
        }
    }
    Ok(())
}

/// The number as an unsigned integer of 32 bits, if it is one. Negative zero is zero, as documents print it.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::float_cmp)] // checked by the comparison back
fn whole(number: f64) -> Option<u32> {
    let integer = number as u32;
    (f64::from(integer) == number).then_some(integer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::digest::hex;
    use crate::foundation::json::read_javascript;

    #[test]
    fn heads_are_the_shortest_and_numbers_keep_their_value() {
        for (text, bytes) in [
            ("0", "00"),
            ("23", "17"),
            ("24", "1818"),
            ("256", "190100"),
            ("65536", "1a00010000"),
            ("4294967295", "1affffffff"),
            ("4294967296", "fb41f0000000000000"),
            ("-1", "20"),
            ("-4294967296", "3affffffff"),
            ("-4294967297", "fbc1f0000000100000"),
            ("-0.0", "00"),
            ("1.5", "fb3ff8000000000000"),
            ("-0.5", "fbbfe0000000000000"),
            (r#""é""#, "62c3a9"),
            (r#"[null,true,false,{"b":[],"a":{}}]"#, "84f6f5f4a26162806161a0"),
        ] {
            let value = read_javascript(text.as_bytes()).unwrap();
            assert_eq!(payload_cbor(&value).map(|bytes| hex(&bytes)), Ok(bytes.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_would_not_come_back_is_refused() {
        for value in [
            Value::Unprintable,
            Value::Number(f64::NAN),
            Value::Number(f64::INFINITY),
            Value::object([("a", Value::object([("__proto__", Value::Null)]))]),
        ] {
            assert_eq!(payload_cbor(&value), Err(PackFault::PayloadNotKept));
        }
    }
}
