//! The one conversion of JavaScript that reaches documents: a value as text inside a message.

use crate::foundation::json::write;
use crate::foundation::value::Tree;

/// `String(value)`.
pub(super) fn to_text(value: &Tree<'_>) -> String {
    match value {
        Tree::Null => "null".to_owned(),
        Tree::Bool(flag) => flag.to_string(),
        Tree::String(text) => text.clone().into_owned(),
        Tree::Number(number) => write::number(*number).unwrap_or_else(|| not_finite(*number).to_owned()),
        Tree::Array(items) => items.iter().map(to_item_text).collect::<Vec<_>>().join(","),
        Tree::Object(_) => "[object Object]".to_owned(),
        Tree::Unprintable | Tree::Undefined => "undefined".to_owned(),
    }
}

fn to_item_text(item: &Tree<'_>) -> String {
    if matches!(item, Tree::Null | Tree::Unprintable | Tree::Undefined) { String::new() } else { to_text(item) }
}

fn not_finite(number: f64) -> &'static str {
    if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
}

/// The text of a value, or a word for one that is missing or means nothing.
pub(super) fn text_or<'a>(value: Option<&Tree<'_>>, word: &'a str) -> std::borrow::Cow<'a, str> {
    value.filter(|value| value.is_truthy()).map_or(word.into(), |value| to_text(value).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::json::read_javascript;
    use crate::foundation::value::Value;

    #[test]
    fn texts_are_those_of_javascript() {
        let value = read_javascript(br#"[1.0,null,"a",[true,[2]],{"b":1},1e21]"#).unwrap();
        assert_eq!(to_text(&value), "1,,a,true,2,[object Object],1e+21");
        assert_eq!(to_text(&Value::Number(f64::NEG_INFINITY)), "-Infinity");
        assert_eq!(text_or(Some(&Value::from("")), "unknown"), "unknown");
        assert_eq!(text_or(Some(&Value::from(7u32)), "unknown"), "7");
    }
}
