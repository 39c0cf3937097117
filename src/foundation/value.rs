//! The one ordered value of this crate: what every JSON and CBOR document becomes, and what every document is
//! written from. Objects keep insertion order; a repeated key keeps its first place and takes the last value.

use indexmap::IndexMap;

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

/// An ordered map with text keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(IndexMap<String, Value>);

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

impl Object {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a member. An existing key keeps its place; the former value is returned.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(key.into(), value.into())
    }

    /// Removes a member, keeping the order of the others.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    /// A member.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Value)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.keys().map(String::as_str)
    }

    /// Whether the keys are exactly these, in any order.
    pub fn has_exactly(&self, keys: &[&str]) -> bool {
        self.len() == keys.len() && keys.iter().all(|key| self.contains_key(key))
    }

    /// Reorders as JavaScript lists own properties: canonical array indexes first, ascending, then the rest in
    /// insertion order.
    pub fn order_as_javascript(&mut self) {
        if self.0.keys().any(|key| array_index(key).is_some()) {
            self.0.sort_by(|left, _, right, _| match (array_index(left), array_index(right)) {
                (Some(left), Some(right)) => left.cmp(&right),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => std::cmp::Ordering::Equal,
            });
        }
    }
}

/// The key as a canonical array index (0 to 4294967294, no leading zero).
fn array_index(key: &str) -> Option<u32> {
    let index = key.parse::<u32>().ok().filter(|index| *index != u32::MAX)?;
    (key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'))).then_some(index)
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<T: IntoIterator<Item = (String, Value)>>(pairs: T) -> Self {
        let mut object = Object::new();
        for (key, value) in pairs {
            object.insert(key, value);
        }
        object
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_keys_come_first_in_ascending_order_and_only_canonical_ones() {
        let mut object: Object = ["b", "10", "01", "2", "4294967295", "a", "4294967294", "-1", "+1", "0"]
            .into_iter()
            .map(|key| (key.to_owned(), Value::Null))
            .collect();
        object.order_as_javascript();
        assert_eq!(
            object.keys().collect::<Vec<_>>(),
            ["0", "2", "10", "4294967294", "b", "01", "4294967295", "a", "-1", "+1"]
        );
    }

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_value() {
        let mut object = Object::new();
        object.insert("a", 1u32);
        object.insert("b", 2u32);
        object.insert("a", 3u32);
        assert_eq!(
            object.iter().map(|(key, value)| (key, value.as_number())).collect::<Vec<_>>(),
            [("a", Some(3.0)), ("b", Some(2.0))]
        );
    }
}
