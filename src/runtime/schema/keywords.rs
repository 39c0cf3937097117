//! The keywords, in the order in which the contract reports their errors: type (unless its group is there to report
//! it), then the keywords for every value, then those for numbers, texts, lists and maps.

use super::arranged::{AnyType, Bounds, Keywords, Lists, Maps, Schema, Texts, Type};
use super::{At, Errors, format, pattern};
use crate::foundation::json::canonical::canonical;
use crate::foundation::value::{Map, Tree, is_same};
use std::borrow::Cow;
use std::collections::HashMap;

/// The types whose keywords judge values of that type only, in the order of their errors.
const GROUPS: [Type; 4] = [Type::Number, Type::String, Type::Array, Type::Object];

/// Judges a value; notes every error and says whether there was none.
pub(super) fn check(schema: &Schema, value: &Tree<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    match schema {
        Schema::Nothing => errors.add(at, "boolean schema is false"),
        Schema::Keywords(keywords) => check_keywords(keywords, value, at, errors),
    }
}

/// Whether a value has no error.
fn accepts(schema: &Schema, value: &Tree<'_>, at: At<'_>) -> bool {
    check(schema, value, at, &mut Errors::silent())
}

fn check_keywords(keywords: &Keywords, value: &Tree<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    let wrong = keywords.of_type.filter(|of_type| !of_type.holds(value));
    let reporter = wrong.filter(|wrong| keywords.judges(*wrong));
    let mut valid = true;
    if let (Some(wrong), None) = (wrong, reporter) {
        valid &= errors.add(at, format_args!("must be {}", wrong.as_str()));
    }
    for keyword in keywords.any_type {
        valid &= check_any_type(keyword, value, at, errors);
    }
    let Some(reporter) = reporter else { return valid & check_group(keywords, value, at, errors) };
    for group in GROUPS {
        if group.holds(value) {
            valid &= check_group(keywords, value, at, errors);
        } else if reporter == group {
            valid &= errors.add(at, format_args!("must be {}", group.as_str()));
        }
    }
    valid
}

fn check_group(keywords: &Keywords, value: &Tree<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    match value {
        Tree::Number(number) if number.is_finite() => check_number(keywords.minimum, *number, at, errors),
        Tree::String(text) => keywords.text.is_none_or(|keywords| check_text(keywords, text, at, errors)),
        Tree::Array(items) => keywords.list.is_none_or(|keywords| check_list(keywords, items, at, errors)),
        Tree::Object(map) => keywords.map.is_none_or(|keywords| check_map(keywords, map, at, errors)),
        _ => true,
    }
}

fn check_any_type(keyword: &AnyType, value: &Tree<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    match keyword {
        AnyType::Reference(schema) => check(schema, value, at, errors),
        AnyType::Const(constant) => constant.is(value) || errors.add(at, "must be equal to constant"),
        AnyType::Enum(allowed) => {
            allowed.iter().any(|literal| literal.is(value))
                || errors.add(at, "must be equal to one of the allowed values")
        }
        AnyType::AnyOf(branches) => check_any_of(branches, value, at, errors),
        AnyType::OneOf(branches) => check_one_of(branches, value, at, errors),
        AnyType::AllOf(parts) => parts.iter().fold(true, |valid, part| check(part, value, at, errors) & valid),
        AnyType::If(condition, then) => {
            !accepts(condition, value, at)
                || then.as_ref().is_none_or(|then| check(then, value, at, errors))
                || errors.add(at, "must match \"then\" schema")
        }
    }
}

/// What most values pass is asked in silence first; only for one that fails are the errors worded.
fn check_any_of(branches: &[Schema], value: &Tree<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    if branches.iter().any(|branch| accepts(branch, value, at)) {
        return true;
    }
    if !errors.silent {
        for branch in branches {
            check(branch, value, at, errors);
        }
    }
    errors.add(at, "must match a schema in anyOf")
}

fn check_one_of(branches: &[Schema], value: &Tree<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    let accepting = branches.iter().filter(|branch| accepts(branch, value, at)).take(2).count();
    if accepting == 1 {
        return true;
    }
    if !errors.silent {
        let mut passed = 0;
        for branch in branches {
            passed += usize::from(check(branch, value, at, errors));
            if passed > 1 {
                break;
            }
        }
    }
    errors.add(at, "must match exactly one schema in oneOf")
}

/// The upper and the lower bound, in this order, for sizes.
fn check_size(bounds: &Bounds, unit: &str, count: usize, at: At<'_>, errors: &mut Errors) -> bool {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let mut valid = true;
    for (word, broken) in
        [("more", bounds.most.filter(|limit| count > *limit)), ("fewer", bounds.least.filter(|limit| count < *limit))]
    {
        if let Some(limit) = broken {
            valid &= errors.add(at, format_args!("must NOT have {word} than {limit} {unit}"));
        }
    }
    valid
}

fn check_number(minimum: Option<u32>, number: f64, at: At<'_>, errors: &mut Errors) -> bool {
    match minimum.filter(|least| number < f64::from(*least)) {
        Some(least) => errors.add(at, format_args!("must be >= {least}")),
        None => true,
    }
}

fn check_text(keywords: &Texts, text: &str, at: At<'_>, errors: &mut Errors) -> bool {
    let mut valid = true;
    if !keywords.length.hold_for_text_of(text.len()) {
        valid &= check_size(&keywords.length, "characters", text.chars().count(), at, errors);
    }
    if let Some(source) = keywords.pattern {
        valid &= pattern::matches(source, text) || errors.add(at, format_args!("must match pattern \"{source}\""));
    }
    if let Some(name) = keywords.format {
        valid &= format::matches(name, text) || errors.add(at, format_args!("must match format \"{name}\""));
    }
    valid
}

fn check_list(keywords: &Lists, items: &[Tree<'_>], at: At<'_>, errors: &mut Errors) -> bool {
    let mut valid = check_size(&keywords.length, "items", items.len(), at, errors);
    let prefix = &keywords.prefix;
    for (index, (part, item)) in prefix.iter().zip(items).enumerate() {
        valid &= check(part, item, at.item(index), errors);
    }
    match &keywords.items {
        Some(Schema::Nothing) if items.len() > prefix.len() => {
            valid &= errors.add(at, format_args!("must NOT have more than {} items", prefix.len()));
        }
        Some(rest) => {
            for (index, item) in items.iter().enumerate().skip(prefix.len()) {
                valid &= check(rest, item, at.item(index), errors);
            }
        }
        None => {}
    }
    valid &= keywords.contains.as_ref().is_none_or(|part| check_contains(part, items, at, errors));
    valid & (!keywords.unique || check_unique(items, at, errors))
}

fn check_contains(part: &Schema, items: &[Tree<'_>], at: At<'_>, errors: &mut Errors) -> bool {
    if items.iter().enumerate().any(|(index, item)| accepts(part, item, at.item(index))) {
        return true;
    }
    if !errors.silent {
        for (index, item) in items.iter().enumerate() {
            check(part, item, at.item(index), errors);
        }
    }
    errors.add(at, "must contain at least 1 valid item(s)")
}

/// Names the last item that equals an earlier one, and the nearest such.
fn check_unique(items: &[Tree<'_>], at: At<'_>, errors: &mut Errors) -> bool {
    if items.len() < 2 {
        return true;
    }
    let mut seen = HashMap::with_capacity(items.len());
    let mut pair = None;
    for (index, item) in items.iter().enumerate() {
        let text = match item {
            Tree::String(text) => Some((true, Cow::Borrowed(&**text))),
            other => canonical(other).ok().map(|text| (false, Cow::Owned(text))),
        };
        if let Some(earlier) = text.and_then(|text| seen.insert(text, index)) {
            pair = Some((earlier, index));
        }
    }
    let Some((lower, higher)) = pair else { return true };
    errors.add(at, format_args!("must NOT have duplicate items (items ## {lower} and {higher} are identical)"))
}

/// One bit for a key, which few others have too. Most members that a schema knows are missing, and a map whose keys have
/// not that bit need not be searched for them.
fn mark(key: &str) -> u64 {
    let last = key.as_bytes().last().copied().unwrap_or_default();
    1 << ((key.len() + usize::from(last)) % 64)
}

fn check_map(keywords: &Maps, map: &Map<'_>, at: At<'_>, errors: &mut Errors) -> bool {
    let mut valid = check_size(&keywords.size, "properties", map.len(), at, errors);
    for name in keywords.required {
        valid &= value_of(map, name).is_some() || errors.add(at, format_args!("must have required property '{name}'"));
    }
    if let Some(rest) = &keywords.rest {
        let is_named = |key: &str| keywords.properties.iter().any(|(name, _)| is_same(name, key));
        for (key, member) in map.iter().filter(|(key, _)| !is_named(key)) {
            valid &= match rest {
                Schema::Nothing => errors.add(at, "must NOT have additional properties"),
                rest @ Schema::Keywords(_) => check(rest, member, at.member(key), errors),
            };
        }
    }
    let marks = map.keys().fold(0, |marks, key| marks | mark(key));
    for (key, part) in keywords.properties.iter().filter(|(key, _)| marks & mark(key) != 0) {
        valid &= value_of(map, key).is_none_or(|member| check(part, member, at.member(key), errors));
    }
    valid
}

/// A member that is there: one without a value is none, as in JavaScript.
fn value_of<'v, 'a>(map: &'v Map<'a>, key: &str) -> Option<&'v Tree<'a>> {
    map.get(key).filter(|member| !matches!(member, Tree::Undefined))
}
