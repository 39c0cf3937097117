//! The one ordered value of this crate: what every JSON and CBOR document becomes, and what every document is
//! written from. Objects keep insertion order; a repeated key keeps its first place and takes the last value.
//!
//! A [`Tree`] may borrow its texts from the bytes it was read from, which saves a copy and an allocation for each; a
//! [`Value`] stands on its own.

mod object;

pub(crate) use object::is_same;
pub use object::{IntoIter, Map, Object};

use std::borrow::Cow;

/// A JSON value that borrows from nothing.
pub type Value = Tree<'static>;

/// A JSON value, plus the two things an asset may hold that JSON cannot say.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Every number is an IEEE double, as in JavaScript. Non-finite ones cannot be written.
    Number(f64),
    /// Text
    String(Cow<'a, str>),
    /// A list
    Array(Vec<Tree<'a>>),
    /// An ordered map
    Object(Map<'a>),
    /// A decoded item with no JSON form (a 64-bit integer of CBOR). Writers refuse it.
    Unprintable,
    /// The `undefined` of CBOR: a member that is there and has no value. Writers refuse it.
    Undefined,
}

/// Adds an item. A list grows from one item on by doubling, not from four as a `Vec` would: most lists of a document are
/// short, and room that is given back later leaves gaps in memory that nothing fits into.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact(items.len().max(1));
    }
    items.push(item);
}

impl<'a> Tree<'a> {
    /// An object from pairs, in the order given.
    pub fn object<K: Into<Cow<'a, str>>, const N: usize>(pairs: [(K, Tree<'a>); N]) -> Self {
        let mut object = Map::with_room_for(N);
        for (key, value) in pairs {
            object.put(key.into(), value);
        }
        Tree::Object(object)
    }

    /// As [`Tree::object`], with keys that are borrowed and all different.
    pub fn borrowing<const N: usize>(pairs: [(&'a str, Tree<'a>); N]) -> Self {
        Tree::Object(Map::of_distinct(pairs))
    }

    /// A text that is borrowed.
    pub const fn text(text: &'a str) -> Self {
        Tree::String(Cow::Borrowed(text))
    }

    /// A text that is copied, where the document outlives it.
    pub fn copied(text: &str) -> Self {
        Tree::String(Cow::Owned(text.to_owned()))
    }

    /// A copy that borrows nothing.
    pub fn to_value(&self) -> Value {
        self.clone().into_owned()
    }

    /// The same value, with copies of what it borrows.
    pub fn into_owned(self) -> Value {
        match self {
            Tree::Null => Value::Null,
            Tree::Bool(flag) => Value::Bool(flag),
            Tree::Number(number) => Value::Number(number),
            Tree::String(text) => Value::String(Cow::Owned(text.into_owned())),
            Tree::Array(items) => Value::Array(items.into_iter().map(Tree::into_owned).collect()),
            Tree::Object(map) => Value::Object(map.into_owned()),
            Tree::Unprintable => Value::Unprintable,
            Tree::Undefined => Value::Undefined,
        }
    }

    /// A member of an object; `None` for a missing one and for every other kind of value.
    pub fn get(&self, key: &str) -> Option<&Tree<'a>> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// Takes the value of a member away, and leaves `null` in its place; `None` as for [`Tree::get`].
    pub fn take(&mut self, key: &str) -> Option<Tree<'a>> {
        let Tree::Object(map) = self else { return None };
        map.get_mut(key).map(|member| std::mem::replace(member, Tree::Null))
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Tree::String(text) = self { Some(text) } else { None }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Tree::Bool(flag) = self { Some(*flag) } else { None }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        if let Tree::Number(number) = self { Some(*number) } else { None }
    }

    /// The items, if it is a list.
    pub fn as_array(&self) -> Option<&[Tree<'a>]> {
        if let Tree::Array(items) = self { Some(items) } else { None }
    }

    /// The map, if it is one.
    pub fn as_object(&self) -> Option<&Map<'a>> {
        if let Tree::Object(object) = self { Some(object) } else { None }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Tree::Null)
    }

    /// JavaScript truth: everything but `null`, `undefined`, `false`, `0`, NaN and the empty text.
    pub fn is_truthy(&self) -> bool {
        match self {
            Tree::Null | Tree::Undefined | Tree::Bool(false) => false,
            Tree::Number(number) => *number != 0.0 && !number.is_nan(),
            Tree::String(text) => !text.is_empty(),
            Tree::Bool(true) | Tree::Array(_) | Tree::Object(_) | Tree::Unprintable => true,
        }
    }
}

impl<'a> From<&'a str> for Tree<'a> {
    fn from(text: &'a str) -> Self {
        Tree::String(Cow::Borrowed(text))
    }
}
impl From<String> for Tree<'_> {
    fn from(text: String) -> Self {
        Tree::String(Cow::Owned(text))
    }
}
impl From<bool> for Tree<'_> {
    fn from(flag: bool) -> Self {
        Tree::Bool(flag)
    }
}
impl From<u32> for Tree<'_> {
    fn from(number: u32) -> Self {
        Tree::Number(f64::from(number))
    }
}
impl<'a> From<Map<'a>> for Tree<'a> {
    fn from(object: Map<'a>) -> Self {
        Tree::Object(object)
    }
}
impl<'a> From<Vec<Tree<'a>>> for Tree<'a> {
    fn from(items: Vec<Tree<'a>>) -> Self {
        Tree::Array(items)
    }
}
impl From<crate::foundation::digest::Digest> for Tree<'_> {
    fn from(digest: crate::foundation::digest::Digest) -> Self {
        Tree::String(Cow::Owned(digest.text()))
    }
}
impl<'a, T: Into<Tree<'a>>> From<Option<T>> for Tree<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Tree::Null, Into::into)
    }
}
