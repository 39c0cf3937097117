//! How a schema is arranged for evaluation: one place for each keyword, references followed, nothing to be read or looked up
//! by name at run time. `tables.rs` holds the schemas of `policy/schemas/` in this form.

use crate::foundation::value::Tree;

/// What is said of one value.
pub(super) enum Schema {
    Nothing,
    Keywords(&'static Keywords),
}

/// The keywords of one schema, in the groups and the order in which their errors are reported.
pub(super) struct Keywords {
    pub(super) of_type: Option<Type>,
    pub(super) any_type: &'static [AnyType],
    pub(super) minimum: Option<u32>,
    pub(super) text: Option<&'static Texts>,
    pub(super) list: Option<&'static Lists>,
    pub(super) map: Option<&'static Maps>,
}

/// The types that the schemas name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Boolean,
    Number,
    Integer,
    String,
    Array,
    Object,
}

/// A keyword for values of every type.
pub(super) enum AnyType {
    Reference(&'static Schema),
    Const(Literal),
    Enum(&'static [Literal]),
    AnyOf(&'static [Schema]),
    OneOf(&'static [Schema]),
    AllOf(&'static [Schema]),
    If(Schema, Option<Schema>),
}

/// A value that a schema names.
pub(super) enum Literal {
    Text(&'static str),
    Bool(bool),
}

/// The least and the greatest size.
pub(super) struct Bounds {
    pub(super) least: Option<u32>,
    pub(super) most: Option<u32>,
}

/// Keywords for texts.
pub(super) struct Texts {
    pub(super) length: Bounds,
    pub(super) pattern: Option<&'static str>,
    pub(super) format: Option<&'static str>,
}

/// Keywords for lists.
pub(super) struct Lists {
    pub(super) length: Bounds,
    pub(super) prefix: &'static [Schema],
    pub(super) items: Option<Schema>,
    pub(super) contains: Option<Schema>,
    pub(super) unique: bool,
}

/// Keywords for maps.
pub(super) struct Maps {
    pub(super) size: Bounds,
    pub(super) required: &'static [&'static str],
    pub(super) rest: Option<Schema>,
    pub(super) properties: &'static [(&'static str, Schema)],
}

impl Keywords {
    pub(super) const NONE: Self =
        Keywords { of_type: None, any_type: &[], minimum: None, text: None, list: None, map: None };

    /// Whether there is a keyword that judges values of this type alone, and so reports another type itself.
    pub(super) fn judges(&self, group: Type) -> bool {
        match group {
            Type::Number => self.minimum.is_some(),
            Type::String => self.text.is_some(),
            Type::Array => self.list.is_some(),
            Type::Object => self.map.is_some(),
            Type::Null | Type::Boolean | Type::Integer => false,
        }
    }
}

impl Bounds {
    pub(super) const NONE: Self = Bounds { least: None, most: None };
}

impl Texts {
    pub(super) const NONE: Self = Texts { length: Bounds::NONE, pattern: None, format: None };
}

impl Lists {
    pub(super) const NONE: Self =
        Lists { length: Bounds::NONE, prefix: &[], items: None, contains: None, unique: false };
}

impl Maps {
    pub(super) const NONE: Self = Maps { size: Bounds::NONE, required: &[], rest: None, properties: &[] };
}

impl Type {
    /// The word in the schemas and in errors.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Type::Null => "null",
            Type::Boolean => "boolean",
            Type::Number => "number",
            Type::Integer => "integer",
            Type::String => "string",
            Type::Array => "array",
            Type::Object => "object",
        }
    }

    /// Whether a value is of this type.
    pub(super) fn holds(self, value: &Tree<'_>) -> bool {
        match (value, self) {
            (Tree::Null, Type::Null)
            | (Tree::Bool(_), Type::Boolean)
            | (Tree::String(_), Type::String)
            | (Tree::Array(_), Type::Array)
            | (Tree::Object(_), Type::Object) => true,
            (Tree::Number(number), Type::Number) => number.is_finite(),
            (Tree::Number(number), Type::Integer) => number.is_finite() && number.fract() == 0.0,
            _ => false,
        }
    }
}

impl Literal {
    /// Whether a value is this one.
    pub(super) fn is(&self, value: &Tree<'_>) -> bool {
        match self {
            Literal::Text(text) => value.as_str() == Some(text),
            Literal::Bool(flag) => value.as_bool() == Some(*flag),
        }
    }
}
