//! The canonical writer (RFC 8785): keys sorted by UTF-16 code units at every level, no whitespace.

use super::write::{NoJsonForm, compact};
use crate::foundation::value::Value;

/// The canonical text of a value.
pub fn canonical(value: &Value) -> Result<String, NoJsonForm> {
    compact(&sorted(value))
}

/// Compares two texts by UTF-16 code units, as JavaScript sorts.
pub fn utf16_order(left: &str, right: &str) -> std::cmp::Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(object) => {
            let mut members: Vec<(&str, &Value)> = object.iter().collect();
            members.sort_by(|(left, _), (right, _)| utf16_order(left, right));
            Value::Object(members.into_iter().map(|(key, value)| (key.to_owned(), sorted(value))).collect())
        }
        other => other.clone(),
    }
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
