//! The canonical writer (RFC 8785): keys sorted by UTF-16 code units at every level, no whitespace.

use super::write::{self, NoJsonForm};
use crate::foundation::value::{Map, Tree};

/// The canonical text of a value.
pub fn canonical(value: &Tree<'_>) -> Result<String, NoJsonForm> {
    canonical_without(value, &[])
}

/// As [`canonical`], leaving out the members at these paths (keys from the root on).
pub fn canonical_without(value: &Tree<'_>, left_out: &[&[&str]]) -> Result<String, NoJsonForm> {
    canonical_in_room(value, left_out, 0)
}

/// As [`canonical_without`], with room for an expected number of bytes from the start.
pub fn canonical_in_room(value: &Tree<'_>, left_out: &[&[&str]], expected: usize) -> Result<String, NoJsonForm> {
    let mut out = String::with_capacity(expected);
    append(&mut out, value, left_out)?;
    Ok(out)
}

/// Compares two texts by UTF-16 code units, as JavaScript sorts.
pub fn utf16_order(left: &str, right: &str) -> std::cmp::Ordering {
    // Of ASCII text the units are the bytes.
    if left.is_ascii() && right.is_ascii() { left.cmp(right) } else { left.encode_utf16().cmp(right.encode_utf16()) }
}

fn append(out: &mut String, value: &Tree<'_>, left_out: &[&[&str]]) -> Result<(), NoJsonForm> {
    match value {
        Tree::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                append(out, item, &[])?;
            }
            out.push(']');
        }
        Tree::Object(object) => members(out, object, left_out)?,
        scalar => write::append_compact(out, scalar)?,
    }
    Ok(())
}

fn members(out: &mut String, object: &Map<'_>, left_out: &[&[&str]]) -> Result<(), NoJsonForm> {
    let stays = |key: &str| !left_out.contains(&[key].as_slice());
    let mut members = Vec::with_capacity(object.len());
    members.extend(object.iter().filter(|(key, _)| stays(key)));
    members.sort_by(|(left, _), (right, _)| utf16_order(left, right));
    out.push('{');
    for (at, (key, value)) in members.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write::string(out, key);
        out.push(':');
        if left_out.is_empty() {
            append(out, value, &[])?;
            continue;
        }
        let below: Vec<&[&str]> = left_out
            .iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| **first == key)
            .map(|(_, rest)| rest)
            .collect();
        append(out, value, &below)?;
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::json::read_javascript;

    #[test]
    fn keys_are_sorted_by_utf16_code_units_at_every_level() {
        // U+1F600 starts with the surrogate 0xD83D, so it comes before U+FB01.
        let value =
            read_javascript("{\"\u{fb01}\":1,\"\u{1f600}\":{\"b\":1,\"a\":2},\"10\":3,\"9\":4}".as_bytes()).unwrap();
        assert_eq!(canonical(&value).unwrap(), "{\"10\":3,\"9\":4,\"\u{1f600}\":{\"a\":2,\"b\":1},\"\u{fb01}\":1}");
    }
}
