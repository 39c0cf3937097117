//! The shape of manifests, payloads and their parts, as data (`policy/schemas/`), and an evaluator for exactly the
//! keywords that they use. Errors come in the order and the words of the contract; general validators give others.
//! Fails closed: a schema that cannot be read, or a pattern, format or reference that is not known, accepts nothing.

mod format;
mod keywords;
mod pattern;

pub(super) use pattern::is_strict_version;

use super::fault::RuntimeFault;
use crate::foundation::json::read_javascript;
use crate::foundation::limits;
use crate::foundation::switches::Switches;
use crate::foundation::value::Value;
use std::fmt;
use std::sync::LazyLock;

/// One error: where, and what. Shown as `<root> must be object`.
#[derive(Debug, PartialEq)]
pub(super) struct SchemaError {
    path: String,
    message: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "<root>" } else { &self.path };
        write!(f, "{path} {}", self.message)
    }
}

/// A document kind with a schema.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Manifest,
    LoadContract,
    ManifestWithMinimal,
    LoadContractWithMinimal,
    Judgment,
    Bundle,
    Checksums,
    ExternalGrant,
}

macro_rules! schema {
    ($file:literal) => {
        LazyLock::new(|| read(include_bytes!(concat!("../../../policy/schemas/", $file, ".json"))))
    };
}

static MANIFEST: LazyLock<Value> = schema!("manifest");
static LOAD_CONTRACT: LazyLock<Value> = schema!("load-contract");
/// The same two where the profile `minimal` is switched on: a load contract may declare it and have it as its default.
static MANIFEST_WITH_MINIMAL: LazyLock<Value> =
    LazyLock::new(|| changed(&MANIFEST, &["properties", "load_contract", "$ref"], "load-contract-minimal".into()));
static LOAD_CONTRACT_WITH_MINIMAL: LazyLock<Value> = LazyLock::new(|| {
    let declared = Value::object([("$ref", Value::from("#/$defs/profile"))]);
    let defaults = ["index", "compact", "scenario", "full", "minimal"].map(Value::from).to_vec();
    let profiles = changed(&LOAD_CONTRACT, &["properties", "profiles", "properties", "minimal"], declared);
    changed(&profiles, &["properties", "default_profile", "enum"], defaults.into())
});
static JUDGMENT: LazyLock<Value> = schema!("judgment");
static BUNDLE: LazyLock<Value> = schema!("bundle");
static CHECKSUMS: LazyLock<Value> = schema!("checksums");
static EXTERNAL_GRANT: LazyLock<Value> = schema!("external-grant");

fn read(bytes: &[u8]) -> Value {
    read_javascript(bytes).unwrap_or(Value::Bool(false))
}

/// A schema with another value at a path.
fn changed(schema: &Value, path: &[&str], to: Value) -> Value {
    let Some((key, rest)) = path.split_first() else { return to };
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.insert(*key, changed(schema.get(key).unwrap_or(&Value::Null), rest, to));
    object.into()
}

impl Shape {
    /// The manifest, with what is switched on.
    pub(super) const fn manifest(switches: Switches) -> Self {
        if switches.minimal { Shape::ManifestWithMinimal } else { Shape::Manifest }
    }

    /// The load contract, with what is switched on.
    pub(super) const fn load_contract(switches: Switches) -> Self {
        if switches.minimal { Shape::LoadContractWithMinimal } else { Shape::LoadContract }
    }

    fn schema(self) -> &'static Value {
        match self {
            Shape::Manifest => &MANIFEST,
            Shape::LoadContract => &LOAD_CONTRACT,
            Shape::ManifestWithMinimal => &MANIFEST_WITH_MINIMAL,
            Shape::LoadContractWithMinimal => &LOAD_CONTRACT_WITH_MINIMAL,
            Shape::Judgment => &JUDGMENT,
            Shape::Bundle => &BUNDLE,
            Shape::Checksums => &CHECKSUMS,
            Shape::ExternalGrant => &EXTERNAL_GRANT,
        }
    }

    /// All errors of a value, in order; empty for a valid one. A value with more than [`limits::PROBLEMS`] errors is
    /// refused without a code.
    pub(super) fn errors(self, value: &Value) -> Result<Vec<SchemaError>, RuntimeFault> {
        let mut errors = Errors::default();
        let root = self.schema();
        keywords::check(root, value, At { root, parent: None, step: Step::Start }, &mut errors);
        if errors.found > limits::PROBLEMS { Err(RuntimeFault::UNNAMED) } else { Ok(errors.kept) }
    }
}

/// Errors found so far. Counts without end but keeps a bounded number, so that a hostile document costs no memory.
#[derive(Default)]
struct Errors {
    kept: Vec<SchemaError>,
    found: usize,
}

impl Errors {
    /// Notes an error; `false`, as the answer of the check that found it.
    fn add(&mut self, at: At<'_>, message: impl Into<String>) -> bool {
        if self.kept.len() == self.found && self.found <= limits::PROBLEMS {
            self.kept.push(SchemaError { path: at.pointer(), message: message.into() });
        }
        self.found += 1;
        false
    }

    /// Forgets what was found after a mark.
    fn back_to(&mut self, mark: usize) {
        self.kept.truncate(mark);
        self.found = mark;
    }
}

/// Where an evaluation stands: the schema document, and the way through the value.
#[derive(Clone, Copy)]
struct At<'a> {
    root: &'a Value,
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Start,
    Member(&'a str),
    Item(usize),
}

impl<'a> At<'a> {
    fn member(&'a self, key: &'a str) -> At<'a> {
        At { root: self.root, parent: Some(self), step: Step::Member(key) }
    }

    fn item(&'a self, index: usize) -> At<'a> {
        At { root: self.root, parent: Some(self), step: Step::Item(index) }
    }

    /// The JSON pointer.
    fn pointer(&self) -> String {
        let mut path = self.parent.map(At::pointer).unwrap_or_default();
        match self.step {
            Step::Start => {}
            Step::Member(key) => {
                path.push('/');
                path.push_str(&escape(key));
            }
            Step::Item(index) => {
                path.push('/');
                path.push_str(&index.to_string());
            }
        }
        path
    }
}

/// A key as a segment of a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Shape; 8] = [
        Shape::Manifest,
        Shape::LoadContract,
        Shape::ManifestWithMinimal,
        Shape::LoadContractWithMinimal,
        Shape::Judgment,
        Shape::Bundle,
        Shape::Checksums,
        Shape::ExternalGrant,
    ];

    fn walk(schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
        match schema {
            Value::Object(object) => object.iter().for_each(|(key, value)| {
                visit(key, value);
                walk(value, visit);
            }),
            Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
            _ => {}
        }
    }

    #[test]
    fn every_schema_can_be_read_and_uses_only_known_patterns_formats_and_references() {
        for shape in ALL {
            let root = shape.schema();
            assert!(root.as_object().is_some());
            walk(root, &mut |key, value| match (key, value.as_str()) {
                ("pattern", Some(pattern)) => assert!(pattern::is_known(pattern), "{pattern}"),
                ("format", Some(format)) => assert!(["uri", "date-time"].contains(&format), "{format}"),
                ("$ref", Some(name)) => assert!(keywords::resolve(root, name).is_some(), "{name}"),
                _ => {}
            });
        }
    }

    #[test]
    fn a_document_of_nothing_but_errors_costs_bounded_memory_and_is_refused() {
        let keywords = |items| Value::object([("keywords", Value::Array(vec![Value::Null; items]))]);
        assert!(Shape::Manifest.errors(&keywords(10_000)).is_ok_and(|errors| errors.len() > 10_000));
        assert_eq!(Shape::Manifest.errors(&keywords(30_000)), Err(RuntimeFault::UNNAMED));
    }
}
