//! The one ordered value of this crate: what every JSON and CBOR document becomes, and what every document is
//! written from. Objects keep insertion order; a repeated key keeps its first place and takes the last value.

mod object;

pub use object::{IntoIter, Object};

/// A JSON value, plus the one thing an asset may hold that JSON cannot say.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Every number is an IEEE double, as in JavaScript. Non-finite ones cannot be written.
    Number(f64),
    /// Text
    String(String),
    /// A list
    Array(Vec<Value>),
    /// An ordered map
    Object(Object),
    /// A decoded item with no JSON form (a 64-bit integer of CBOR, `undefined`). Writers refuse it.
    Unprintable,
}

/// Adds an item. A list grows from one item on by doubling, not from four as a `Vec` would: most lists of a document are
/// short, and room that is given back later leaves gaps in memory that nothing fits into.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len().max(1));
    }
    items.push(item);
}

impl Value {
    /// An object from pairs, in the order given.
    pub fn object<K: Into<String>, const N: usize>(pairs: [(K, Value); N]) -> Value {
        Value::Object(pairs.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// A member of an object; `None` for a missing one and for every other kind of value.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(flag) = self { Some(*flag) } else { None }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        if let Value::Number(number) = self { Some(*number) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(items) = self { Some(items) } else { None }
    }

    /// The map, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        if let Value::Object(object) = self { Some(object) } else { None }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// JavaScript truth: everything but `null`, `false`, `0`, NaN and the empty text.
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null | Value::Bool(false) => false,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::String(text) => !text.is_empty(),
            Value::Bool(true) | Value::Array(_) | Value::Object(_) | Value::Unprintable => true,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}
impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}
impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Bool(flag)
    }
}
impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Number(f64::from(number))
    }
}
impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object)
    }
}
impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Value::Array(items)
    }
}
impl From<crate::foundation::digest::Digest> for Value {
    fn from(digest: crate::foundation::digest::Digest) -> Self {
        Value::String(digest.to_string())
    }
}
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}
