//! The schemas of the runtime are data in two forms: `policy/schemas/*.json` for readers, and the tables that are compiled
//! in, so that a worker reads no JSON of its own before it judges an asset. This test makes the one from the other.
//!
//! `UPDATE_POLICY=1 cargo test --test schema_tables` writes the tables anew; read the difference before committing it.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be arranged must stop, and says why"
)]

use kdna_broker::foundation::json::read_javascript;
use kdna_broker::foundation::value::{Object, Value};
use std::fs;
use std::path::Path;

const TABLES: &str = "src/runtime/schema/tables.rs";
const SCHEMAS: [&str; 6] = ["manifest", "load-contract", "judgment", "bundle", "checksums", "external-grant"];
/// What is put where in a schema.
type Changes = &'static [(&'static [&'static str], &'static str)];
/// The same two where the profile `minimal` is switched on: a load contract may declare it and have it as its default.
const WITH_MINIMAL: [(&str, Changes); 2] = [
    ("manifest", &[(&["properties", "load_contract", "$ref"], r#""load-contract-with-minimal""#)]),
    (
        "load-contract",
        &[
            (&["properties", "profiles", "properties", "minimal"], r##"{"$ref": "#/$defs/profile"}"##),
            (&["properties", "default_profile", "enum"], r#"["index", "compact", "scenario", "full", "minimal"]"#),
        ],
    ),
];
const HEAD: &str = "//! The schemas of `policy/schemas/`, arranged. Written by `tests/schema_tables.rs`; do not edit.\n\n\
                    use super::arranged::{AnyType, Bounds, Keywords, Lists, Literal, Maps, Schema, Texts, Type};\n";

#[test]
fn the_tables_are_those_of_the_policy() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut wanted = HEAD.to_owned();
    for name in SCHEMAS {
        let text = fs::read(package.join(format!("policy/schemas/{name}.json"))).expect(name);
        let schema = read_javascript(&text).expect(name);
        wanted += &document(name, &schema);
        if let Some((_, changes)) = WITH_MINIMAL.iter().find(|(changed, _)| *changed == name) {
            let schema = changes.iter().fold(schema, |schema, (path, to)| {
                changed(&schema, path, read_javascript(to.as_bytes()).expect("a value"))
            });
            wanted += &document(&format!("{name}-with-minimal"), &schema);
        }
    }
    if std::env::var_os("UPDATE_POLICY").is_some_and(|value| value == "1") {
        fs::write(package.join(TABLES), &wanted).expect(TABLES);
    }
    let found = fs::read_to_string(package.join(TABLES)).expect(TABLES);
    let differs = found.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    assert_eq!(differs, None, "{TABLES} is not made of policy/schemas");
    assert_eq!(found.len(), wanted.len(), "{TABLES} is not made of policy/schemas");
}

/// A schema with another value at a path.
fn changed(schema: &Value, path: &[&str], to: Value) -> Value {
    let Some((key, rest)) = path.split_first() else { return to };
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.insert((*key).to_owned(), changed(schema.get(key).unwrap_or(&Value::Null), rest, to));
    object.into()
}

fn document(name: &str, schema: &Value) -> String {
    let name = static_name(name);
    let definitions = schema.get("$defs").and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let definitions = definitions.map(|(definition, schema)| {
        format!("\nstatic {name}_{}: Schema = {};\n", static_name(definition), schema_of(&name, schema, 0))
    });
    let whole = format!("\npub(super) static {name}: Schema = {};\n", schema_of(&name, schema, 0));
    std::iter::once(whole).chain(definitions).collect()
}

fn static_name(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

/// One schema. A keyword that is not known here must not be overlooked.
fn schema_of(document: &str, schema: &Value, level: usize) -> String {
    let schema = match schema {
        Value::Bool(false) => return "Schema::Nothing".to_owned(),
        schema => schema.as_object().expect("a schema"),
    };
    let below = |schema: &Value| schema_of(document, schema, level + 1);
    let all = |schemas: &Value| -> Vec<String> { schemas.as_array().unwrap().iter().map(below).collect() };
    let (mut any_type, mut text, mut list, mut map) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut keywords = Vec::new();
    // In the order in which the contract reports the errors of the keywords for every type.
    for keyword in ["$ref", "const", "enum", "anyOf", "oneOf", "allOf", "if"] {
        let Some(argument) = schema.get(keyword) else { continue };
        any_type.push(match keyword {
            "$ref" => format!("AnyType::Reference(&{})", reference(document, argument.as_str().unwrap())),
            "const" => format!("AnyType::Const({})", literal(argument)),
            "enum" => {
                let literals: Vec<String> = argument.as_array().unwrap().iter().map(literal).collect();
                format!("AnyType::Enum(&[{}])", literals.join(", "))
            }
            "anyOf" => format!("AnyType::AnyOf({})", lines(&all(argument), level)),
            "oneOf" => format!("AnyType::OneOf({})", lines(&all(argument), level)),
            "allOf" => format!("AnyType::AllOf({})", lines(&all(argument), level)),
            _ => {
                let then = schema.get("then").map_or_else(|| "None".to_owned(), |then| some(&below(then)));
                format!("AnyType::If({}, {then})", below(argument))
            }
        });
    }
    let (mut length, mut items, mut members) = (Vec::new(), Vec::new(), Vec::new());
    for (keyword, argument) in schema.iter() {
        match keyword {
            "$ref" | "const" | "enum" | "anyOf" | "oneOf" | "allOf" | "if" | "then" | "$defs" => {}
            "type" => keywords.push(format!("of_type: Some(Type::{})", capitalised(argument.as_str().unwrap()))),
            "minimum" => keywords.push(format!("minimum: Some({})", size(argument))),
            "minLength" => length.push(format!("least: Some({})", size(argument))),
            "maxLength" => length.push(format!("most: Some({})", size(argument))),
            "pattern" | "format" => text.push(format!("{keyword}: Some({:?})", argument.as_str().unwrap())),
            "minItems" => items.push(format!("least: Some({})", size(argument))),
            "maxItems" => items.push(format!("most: Some({})", size(argument))),
            "prefixItems" => list.push(format!("prefix: {}", lines(&all(argument), level))),
            "items" => list.push(format!("items: {}", some(&below(argument)))),
            "contains" => list.push(format!("contains: {}", some(&below(argument)))),
            "uniqueItems" => list.push(format!("unique: {}", argument.as_bool().unwrap())),
            "minProperties" => members.push(format!("least: Some({})", size(argument))),
            "required" => {
                let names: Vec<String> =
                    argument.as_array().unwrap().iter().map(|name| format!("{:?}", name.as_str().unwrap())).collect();
                map.push(format!("required: &[{}]", names.join(", ")));
            }
            "additionalProperties" => map.push(format!("rest: {}", some(&below(argument)))),
            "properties" => {
                let properties: Vec<String> = argument
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(name, schema)| format!("({name:?}, {})", below(schema)))
                    .collect();
                map.push(format!("properties: {}", lines(&properties, level)));
            }
            other => panic!("the keyword {other} has no place in the tables"),
        }
    }
    for (bounds, part, field) in
        [(length, &mut text, "length"), (items, &mut list, "length"), (members, &mut map, "size")]
    {
        if !bounds.is_empty() {
            part.insert(0, format!("{field}: {}", with_rest("Bounds", &bounds, 2)));
        }
    }
    if !any_type.is_empty() {
        keywords.push(format!("any_type: {}", lines(&any_type, level)));
    }
    for (part, name, kind, fields) in [(text, "text", "Texts", 3), (list, "list", "Lists", 5), (map, "map", "Maps", 4)]
    {
        if !part.is_empty() {
            keywords.push(format!("{name}: Some(&{})", with_rest(kind, &part, fields)));
        }
    }
    format!("Schema::Keywords(&{})", with_rest("Keywords", &keywords, 6))
}

fn with_rest(kind: &str, fields: &[String], all: usize) -> String {
    let rest = if fields.len() == all { String::new() } else { format!("..{kind}::NONE") };
    let fields: Vec<&str> =
        fields.iter().map(String::as_str).chain(Some(rest.as_str())).filter(|f| !f.is_empty()).collect();
    format!("{kind} {{ {} }}", fields.join(", "))
}

/// A slice: short ones in one line, others with one item a line.
fn lines(items: &[String], level: usize) -> String {
    let short = items.join(", ");
    if short.len() <= 60 && !short.contains('\n') {
        return format!("&[{short}]");
    }
    let indent = "    ".repeat(level + 1);
    let items: Vec<String> = items.iter().map(|item| format!("{indent}{item},\n")).collect();
    format!("&[\n{}{}]", items.concat(), "    ".repeat(level))
}

fn some(schema: &str) -> String {
    format!("Some({schema})")
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("Literal::Text({text:?})"),
        Value::Bool(flag) => format!("Literal::Bool({flag})"),
        other => panic!("{other:?} has no place in the tables"),
    }
}

fn reference(document: &str, name: &str) -> String {
    let definition = name.strip_prefix("#/$defs/");
    definition.map_or_else(|| static_name(name), |definition| format!("{document}_{}", static_name(definition)))
}

fn size(value: &Value) -> String {
    let number = value.as_number().unwrap();
    assert!(number.fract() == 0.0 && (0.0..4_294_967_296.0).contains(&number), "{number} is no size");
    format!("{number}")
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}
