//! The shape of manifests, payloads and their parts, as data (`policy/schemas/`), and an evaluator for exactly the
//! keywords that they use. Errors come in the order and the words of the contract; general validators give others.
//! Fails closed: a pattern or format that is not known accepts nothing. The data are compiled in as tables
//! (`tests/schema_tables.rs`).

mod arranged;
mod format;
mod keywords;
mod pattern;
#[rustfmt::skip]
mod tables;

pub(super) use pattern::is_strict_version;

use super::fault::RuntimeFault;
use crate::foundation::limits;
use crate::foundation::switches::Switches;
use crate::foundation::value::Tree;
use arranged::Schema;
use std::borrow::Cow;
use std::fmt;

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

impl Shape {
    /// The manifest, with what is switched on.
    pub(super) const fn manifest(switches: Switches) -> Self {
        if switches.minimal { Shape::ManifestWithMinimal } else { Shape::Manifest }
    }

    /// The load contract, with what is switched on.
    pub(super) const fn load_contract(switches: Switches) -> Self {
        if switches.minimal { Shape::LoadContractWithMinimal } else { Shape::LoadContract }
    }

    fn schema(self) -> &'static Schema {
        match self {
            Shape::Manifest => &tables::MANIFEST,
            Shape::LoadContract => &tables::LOAD_CONTRACT,
            Shape::ManifestWithMinimal => &tables::MANIFEST_WITH_MINIMAL,
            Shape::LoadContractWithMinimal => &tables::LOAD_CONTRACT_WITH_MINIMAL,
            Shape::Judgment => &tables::JUDGMENT,
            Shape::Bundle => &tables::BUNDLE,
            Shape::Checksums => &tables::CHECKSUMS,
            Shape::ExternalGrant => &tables::EXTERNAL_GRANT,
        }
    }

    /// All errors of a value, in order; empty for a valid one. A value with more than [`limits::PROBLEMS`] errors is
    /// refused without a code.
    pub(super) fn errors(self, value: &Tree<'_>) -> Result<Vec<SchemaError>, RuntimeFault> {
        let mut errors = Errors::default();
        keywords::check(self.schema(), value, At { parent: None, step: Step::Start }, &mut errors);
        if errors.found > limits::PROBLEMS { Err(RuntimeFault::UNNAMED) } else { Ok(errors.kept) }
    }
}

/// Errors found so far. Counts without end but keeps a bounded number, so that a hostile document costs no memory.
#[derive(Default)]
struct Errors {
    kept: Vec<SchemaError>,
    found: usize,
    /// Only whether there are errors is asked, so none is kept or worded.
    silent: bool,
}

impl Errors {
    /// Nobody will read what is found.
    fn silent() -> Self {
        Errors { silent: true, ..Errors::default() }
    }

    /// Notes an error; `false`, as the answer of the check that found it.
    fn add(&mut self, at: At<'_>, message: impl fmt::Display) -> bool {
        if !self.silent && self.kept.len() == self.found && self.found <= limits::PROBLEMS {
            self.kept.push(SchemaError { path: at.pointer(), message: message.to_string() });
        }
        self.found += 1;
        false
    }
}

/// Where an evaluation stands in the value.
#[derive(Clone, Copy)]
struct At<'a> {
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
        At { parent: Some(self), step: Step::Member(key) }
    }

    fn item(&'a self, index: usize) -> At<'a> {
        At { parent: Some(self), step: Step::Item(index) }
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
pub(super) fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) { key.replace('~', "~0").replace('/', "~1").into() } else { key.into() }
}

#[cfg(test)]
mod tests {
    use super::arranged::{AnyType, Keywords};
    use super::*;
    use crate::foundation::value::Value;

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

    fn walk(schema: &Schema, visit: &mut dyn FnMut(&Keywords)) {
        let Schema::Keywords(keywords) = schema else { return };
        visit(keywords);
        for keyword in keywords.any_type {
            match keyword {
                AnyType::Reference(schema) => walk(schema, visit),
                AnyType::AnyOf(parts) | AnyType::OneOf(parts) | AnyType::AllOf(parts) => {
                    parts.iter().for_each(|part| walk(part, visit));
                }
                AnyType::If(condition, then) => {
                    std::iter::once(condition).chain(then).for_each(|part| walk(part, visit));
                }
                AnyType::Const(_) | AnyType::Enum(_) => {}
            }
        }
        if let Some(list) = keywords.list {
            list.prefix.iter().chain(&list.items).chain(&list.contains).for_each(|part| walk(part, visit));
        }
        if let Some(map) = keywords.map {
            map.properties.iter().map(|(_, part)| part).chain(&map.rest).for_each(|part| walk(part, visit));
        }
    }

    #[test]
    fn every_schema_uses_only_known_patterns_and_formats() {
        for shape in ALL {
            let (mut patterns, mut seen) = (0, 0);
            walk(shape.schema(), &mut |keywords| {
                seen += 1;
                let Some(text) = keywords.text else { return };
                assert!(text.pattern.is_none_or(pattern::is_known), "{:?}", text.pattern);
                assert!(text.format.is_none_or(|format| ["uri", "date-time"].contains(&format)), "{:?}", text.format);
                patterns += usize::from(text.pattern.is_some());
            });
            assert!(
                seen > 1
                    && (patterns > 0
                        || matches!(shape, Shape::LoadContract | Shape::LoadContractWithMinimal | Shape::Bundle))
            );
        }
    }

    #[test]
    fn a_document_of_nothing_but_errors_costs_bounded_memory_and_is_refused() {
        let keywords = |items| Value::object([("keywords", Value::Array(vec![Value::Null; items]))]);
        assert!(Shape::Manifest.errors(&keywords(10_000)).is_ok_and(|errors| errors.len() > 10_000));
        assert_eq!(Shape::Manifest.errors(&keywords(30_000)), Err(RuntimeFault::UNNAMED));
    }
}
