//! A validator for the part of JSON Schema that the published protocol schemas use. It fails on keywords it does not
//! know, so that nothing passes unchecked.

use serde_json::Value;

/// Where `value` breaks the definition `name`; `None` if it does not.
pub(crate) fn fault(schema: &Value, name: &str, value: &Value) -> Option<String> {
    let definitions = if schema["$defs"].is_object() { &schema["$defs"] } else { &schema["definitions"] };
    assert!(definitions[name].is_object(), "no definition {name}");
    check(definitions, &definitions[name], value).err().map(|place| format!("{name}{place}"))
}

fn check(definitions: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    for (keyword, rule) in schema.as_object().unwrap() {
        keyword_holds(definitions, schema, keyword, rule, value)?;
    }
    Ok(())
}

fn keyword_holds(
    definitions: &Value,
    schema: &Value,
    keyword: &str,
    rule: &Value,
    value: &Value,
) -> Result<(), String> {
    let fail = |holds: bool| if holds { Ok(()) } else { Err(format!(": {keyword} {rule}")) };
    match keyword {
        "$ref" => check(definitions, &definitions[rule.as_str().unwrap().rsplit('/').next().unwrap()], value),
        "allOf" => rule.as_array().unwrap().iter().try_for_each(|one| check(definitions, one, value)),
        "anyOf" => fail(rule.as_array().unwrap().iter().any(|one| check(definitions, one, value).is_ok())),
        "type" => fail(types(rule).iter().any(|kind| is_of(kind, value))),
        "const" => fail(rule == value),
        "enum" => fail(rule.as_array().unwrap().contains(value)),
        "required" => fail(value.as_object().is_none_or(|object| {
            rule.as_array().unwrap().iter().all(|key| object.contains_key(key.as_str().unwrap()))
        })),
        "properties" => members(value).try_for_each(|(key, member)| match rule.get(key) {
            Some(rule) => check(definitions, rule, member).map_err(|place| format!("/{key}{place}")),
            None => Ok(()),
        }),
        "additionalProperties" => members(value)
            .filter(|(key, _)| schema["properties"].get(key.as_str()).is_none())
            .try_for_each(|(key, member)| match rule {
                Value::Bool(allowed) => fail(*allowed),
                rule => check(definitions, rule, member).map_err(|place| format!("/{key}{place}")),
            }),
        "items" => value.as_array().into_iter().flatten().try_for_each(|item| check(definitions, rule, item)),
        "minimum" => fail(value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap())),
        "maximum" => fail(value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap())),
        "description" | "format" | "$comment" | "default" | "title" => Ok(()),
        other => panic!("the validator does not know {other}"),
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn types(rule: &Value) -> Vec<&str> {
    match rule {
        Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap()).collect(),
        kind => vec![kind.as_str().unwrap()],
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("the validator does not know type {other}"),
    }
}
