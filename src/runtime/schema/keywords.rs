//! The keywords, in the order in which the contract reports their errors: type (unless its group is there to report
//! it), then the keywords for every value, then those for numbers, texts, lists and maps.

use super::{At, Errors, LOAD_CONTRACT, LOAD_CONTRACT_WITH_MINIMAL, format, pattern};
use crate::foundation::json::canonical::canonical;
use crate::foundation::json::write;
use crate::foundation::value::{Object, Value};
use std::collections::HashMap;

/// Keywords that judge values of one type only.
struct Group {
    type_name: &'static str,
    keywords: &'static [&'static str],
    check: fn(&Object, &Value, At<'_>, &mut Errors) -> bool,
}

const GROUPS: [Group; 4] = [
    Group { type_name: "number", keywords: &["minimum"], check: check_number },
    Group { type_name: "string", keywords: &["maxLength", "minLength", "pattern", "format"], check: check_text },
    Group {
        type_name: "array",
        keywords: &["maxItems", "minItems", "prefixItems", "items", "contains", "uniqueItems"],
        check: check_list,
    },
    Group {
        type_name: "object",
        keywords: &["minProperties", "required", "additionalProperties", "properties"],
        check: check_map,
    },
];

/// Judges a value; notes every error and says whether there was none.
pub(super) fn check(schema: &Value, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    match schema {
        Value::Bool(true) => true,
        Value::Object(schema) => check_keywords(schema, value, at, errors),
        _ => errors.add(at, "boolean schema is false"),
    }
}

fn check_keywords(schema: &Object, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let wrong = schema.get("type").and_then(Value::as_str).filter(|name| !has_type(value, name));
    let has_keywords = |group: &Group| group.keywords.iter().any(|keyword| schema.contains_key(keyword));
    let reporter = GROUPS.iter().find(|group| Some(group.type_name) == wrong && has_keywords(group));
    let mut valid = true;
    if let (Some(name), None) = (wrong, reporter) {
        valid &= errors.add(at, format!("must be {name}"));
    }
    valid &= check_any_type(schema, value, at, errors);
    for group in &GROUPS {
        if has_type(value, group.type_name) {
            valid &= (group.check)(schema, value, at, errors);
        } else if reporter.is_some_and(|reporter| reporter.type_name == group.type_name) {
            valid &= errors.add(at, format!("must be {}", group.type_name));
        }
    }
    valid
}

fn has_type(value: &Value, name: &str) -> bool {
    match (value, name) {
        (Value::Null, "null")
        | (Value::Bool(_), "boolean")
        | (Value::String(_), "string")
        | (Value::Array(_), "array")
        | (Value::Object(_), "object") => true,
        (Value::Number(number), "number") => number.is_finite(),
        (Value::Number(number), "integer") => number.is_finite() && number.fract() == 0.0,
        _ => false,
    }
}

/// What a reference names: a definition of the same document, or another document.
pub(super) fn resolve<'a>(root: &'a Value, name: &str) -> Option<(&'a Value, &'a Value)> {
    if name == "load-contract" {
        return Some((&LOAD_CONTRACT, &LOAD_CONTRACT));
    }
    if name == "load-contract-minimal" {
        return Some((&LOAD_CONTRACT_WITH_MINIMAL, &LOAD_CONTRACT_WITH_MINIMAL));
    }
    let definition = root.get("$defs")?.get(name.strip_prefix("#/$defs/")?)?;
    Some((root, definition))
}

fn check_any_type(schema: &Object, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let mut valid = true;
    for (keyword, argument) in ["$ref", "const", "enum", "anyOf", "oneOf", "allOf", "if"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword).map(|argument| (keyword, argument)))
    {
        valid &= match keyword {
            "$ref" => check_reference(argument, value, at, errors),
            "const" => argument == value || errors.add(at, "must be equal to constant"),
            "enum" => list(argument).contains(value) || errors.add(at, "must be equal to one of the allowed values"),
            "anyOf" => check_any_of(argument, value, at, errors),
            "oneOf" => check_one_of(argument, value, at, errors),
            "allOf" => list(argument).iter().fold(true, |valid, part| check(part, value, at, errors) & valid),
            _ => check_condition(argument, schema.get("then"), value, at, errors),
        };
    }
    valid
}

fn list(argument: &Value) -> &[Value] {
    argument.as_array().unwrap_or_default()
}

fn check_reference(name: &Value, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    match name.as_str().and_then(|name| resolve(at.root, name)) {
        Some((root, schema)) => check(schema, value, At { root, ..at }, errors),
        None => errors.add(at, "boolean schema is false"),
    }
}

fn check_any_of(branches: &Value, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let mark = errors.found;
    if list(branches).iter().any(|branch| check(branch, value, at, errors)) {
        errors.back_to(mark);
        return true;
    }
    errors.add(at, "must match a schema in anyOf")
}

fn check_one_of(branches: &Value, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let mark = errors.found;
    let mut passed = 0;
    for branch in list(branches) {
        passed += usize::from(check(branch, value, at, errors));
        if passed > 1 {
            break;
        }
    }
    if passed == 1 {
        errors.back_to(mark);
        return true;
    }
    errors.add(at, "must match exactly one schema in oneOf")
}

fn check_condition(condition: &Value, then: Option<&Value>, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let mark = errors.found;
    let holds = check(condition, value, at, errors);
    errors.back_to(mark);
    !holds || then.is_none_or(|then| check(then, value, at, errors)) || errors.add(at, "must match \"then\" schema")
}

fn bound(schema: &Object, keyword: &str) -> Option<f64> {
    schema.get(keyword).and_then(Value::as_number)
}

/// A size as the number that the schema states; sizes here are far below 2^32.
fn size(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// `maxX` and `minX`, in this order, for sizes.
fn check_size(
    schema: &Object,
    [most, least]: [&str; 2],
    unit: &str,
    count: usize,
    at: At<'_>,
    errors: &mut Errors,
) -> bool {
    let mut valid = true;
    for (word, limit, broken) in [
        ("more", bound(schema, most), bound(schema, most).is_some_and(|limit| size(count) > limit)),
        ("fewer", bound(schema, least), bound(schema, least).is_some_and(|limit| size(count) < limit)),
    ] {
        if let (Some(limit), true) = (limit, broken) {
            let limit = write::number(limit).unwrap_or_default();
            valid &= errors.add(at, format!("must NOT have {word} than {limit} {unit}"));
        }
    }
    valid
}

fn check_number(schema: &Object, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    match (bound(schema, "minimum"), value.as_number()) {
        (Some(least), Some(number)) if number < least => {
            errors.add(at, format!("must be >= {}", write::number(least).unwrap_or_default()))
        }
        _ => true,
    }
}

fn check_text(schema: &Object, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let text = value.as_str().unwrap_or_default();
    let mut valid = true;
    if schema.contains_key("maxLength") || schema.contains_key("minLength") {
        valid &= check_size(schema, ["maxLength", "minLength"], "characters", text.chars().count(), at, errors);
    }
    if let Some(source) = schema.get("pattern").and_then(Value::as_str) {
        valid &= pattern::matches(source, text) || errors.add(at, format!("must match pattern \"{source}\""));
    }
    if let Some(name) = schema.get("format").and_then(Value::as_str) {
        valid &= format::matches(name, text) || errors.add(at, format!("must match format \"{name}\""));
    }
    valid
}

fn check_list(schema: &Object, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let items = value.as_array().unwrap_or_default();
    let mut valid = check_size(schema, ["maxItems", "minItems"], "items", items.len(), at, errors);
    let prefix = schema.get("prefixItems").map(list).unwrap_or_default();
    for (index, (part, item)) in prefix.iter().zip(items).enumerate() {
        valid &= check(part, item, at.item(index), errors);
    }
    match schema.get("items") {
        Some(Value::Bool(false)) if items.len() > prefix.len() => {
            valid &= errors.add(at, format!("must NOT have more than {} items", prefix.len()));
        }
        Some(rest) => {
            for (index, item) in items.iter().enumerate().skip(prefix.len()) {
                valid &= check(rest, item, at.item(index), errors);
            }
        }
        None => {}
    }
    valid &= schema.get("contains").is_none_or(|part| check_contains(part, items, at, errors));
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        valid &= check_unique(items, at, errors);
    }
    valid
}

fn check_contains(part: &Value, items: &[Value], at: At<'_>, errors: &mut Errors) -> bool {
    let mark = errors.found;
    if items.iter().enumerate().any(|(index, item)| check(part, item, at.item(index), errors)) {
        errors.back_to(mark);
        return true;
    }
    errors.add(at, "must contain at least 1 valid item(s)")
}

/// Names the last item that equals an earlier one, and the nearest such.
fn check_unique(items: &[Value], at: At<'_>, errors: &mut Errors) -> bool {
    let mut seen = HashMap::new();
    let mut pair = None;
    for (index, item) in items.iter().enumerate() {
        if let Some(earlier) = canonical(item).ok().and_then(|text| seen.insert(text, index)) {
            pair = Some((earlier, index));
        }
    }
    let Some((lower, higher)) = pair else { return true };
    errors.add(at, format!("must NOT have duplicate items (items ## {lower} and {higher} are identical)"))
}

fn check_map(schema: &Object, value: &Value, at: At<'_>, errors: &mut Errors) -> bool {
    let Some(map) = value.as_object() else { return true };
    let mut valid = check_size(schema, ["maxProperties", "minProperties"], "properties", map.len(), at, errors);
    for name in schema.get("required").map(list).unwrap_or_default().iter().filter_map(Value::as_str) {
        valid &= map.contains_key(name) || errors.add(at, format!("must have required property '{name}'"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(rest) = schema.get("additionalProperties") {
        let is_named = |key: &str| properties.is_some_and(|properties| properties.contains_key(key));
        for (key, member) in map.iter().filter(|(key, _)| !is_named(key)) {
            valid &= match rest {
                Value::Bool(false) => errors.add(at, "must NOT have additional properties"),
                rest => check(rest, member, at.member(key), errors),
            };
        }
    }
    for (key, part) in properties.into_iter().flat_map(Object::iter) {
        valid &= map.get(key).is_none_or(|member| check(part, member, at.member(key), errors));
    }
    valid
}
