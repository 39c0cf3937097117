//! The ordered map of [`Tree`]. Most maps of a document are small, and a document may hold hundreds of thousands of
//! them: those are a plain list that is searched from the front; a hash index is made only for a larger one, so that
//! nothing is quadratic.

use super::{Tree, push};
use indexmap::IndexMap;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Members up to which a list is searched.
const LISTED: usize = 24;

/// A map that borrows from nothing.
pub type Object = Map<'static>;

/// An ordered map with text keys, which may be borrowed.
#[derive(Clone, Debug)]
pub struct Map<'a>(Members<'a>);

#[derive(Clone, Debug)]
enum Members<'a> {
    Listed(Vec<(Cow<'a, str>, Tree<'a>)>),
    Indexed(Box<IndexMap<Cow<'a, str>, Tree<'a>>>),
}

impl<'a> Map<'a> {
    /// An empty map.
    pub const fn new() -> Self {
        Map(Members::Listed(Vec::new()))
    }

    /// An empty map with room for some members, where their number is known.
    pub fn with_room_for(count: usize) -> Self {
        Map(Members::Listed(Vec::with_capacity(count.min(LISTED))))
    }

    /// A map of members whose keys are all different, which is not looked for again.
    pub(super) fn of_distinct<const N: usize>(members: [(&'a str, Tree<'a>); N]) -> Self {
        Self::of_different(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }

    /// Where the value of a key stands; a new one stands last, and is `null`.
    #[allow(clippy::indexing_slicing, reason = "a member that was found, or the one that was added")]
    pub fn slot(&mut self, key: Cow<'a, str>) -> &mut Tree<'a> {
        if let Members::Listed(list) = &mut self.0
            && list.len() == LISTED
            && list.iter().all(|(known, _)| **known != *key)
        {
            self.0 = Members::Indexed(Box::new(std::mem::take(list).into_iter().collect()));
        }
        match &mut self.0 {
            Members::Indexed(map) => map.entry(key).or_insert(Tree::Null),
            Members::Listed(list) => {
                let at = list.iter().position(|(known, _)| is_same(known, &key)).unwrap_or(list.len());
                if at == list.len() {
                    push(list, (key, Tree::Null));
                }
                &mut list[at].1
            }
        }
    }

    /// A map of members whose keys are different.
    pub(crate) fn of_different(members: Vec<(Cow<'a, str>, Tree<'a>)>) -> Self {
        Map(if members.len() > LISTED {
            Members::Indexed(Box::new(members.into_iter().collect()))
        } else {
            Members::Listed(members)
        })
    }

    /// Sets a member. An existing key keeps its place; the former value is returned.
    pub fn insert(&mut self, key: impl Into<Cow<'a, str>>, value: impl Into<Tree<'a>>) -> Option<Tree<'a>> {
        self.put(key.into(), value.into())
    }

    /// As [`Map::insert`], with a key that may be borrowed.
    pub fn put(&mut self, key: Cow<'a, str>, value: Tree<'a>) -> Option<Tree<'a>> {
        match &mut self.0 {
            Members::Indexed(map) => map.insert(key, value),
            Members::Listed(list) => {
                if let Some((_, former)) = list.iter_mut().find(|(known, _)| is_same(known, &key)) {
                    return Some(std::mem::replace(former, value));
                }
                push(list, (key, value));
                if list.len() > LISTED {
                    self.0 = Members::Indexed(Box::new(std::mem::take(list).into_iter().collect()));
                }
                None
            }
        }
    }

    /// The same members, with copies of what they borrow.
    pub fn into_owned(self) -> Object {
        let own = |(key, value): (Cow<'a, str>, Tree<'a>)| (Cow::Owned(key.into_owned()), value.into_owned());
        Map(match self.0 {
            Members::Listed(list) => Members::Listed(list.into_iter().map(own).collect()),
            Members::Indexed(map) => Members::Indexed(Box::new(map.into_iter().map(own).collect())),
        })
    }

    /// Removes a member, keeping the order of the others.
    pub fn remove(&mut self, key: &str) -> Option<Tree<'a>> {
        match &mut self.0 {
            Members::Listed(list) => {
                let at = list.iter().position(|(known, _)| is_same(known, key))?;
                Some(list.remove(at).1)
            }
            Members::Indexed(map) => map.shift_remove(key),
        }
    }

    /// A member.
    pub fn get(&self, key: &str) -> Option<&Tree<'a>> {
        match &self.0 {
            Members::Listed(list) => list.iter().find(|(known, _)| is_same(known, key)).map(|(_, value)| value),
            Members::Indexed(map) => map.get(key),
        }
    }

    /// A member, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Tree<'a>> {
        match &mut self.0 {
            Members::Listed(list) => list.iter_mut().find(|(known, _)| is_same(known, key)).map(|(_, value)| value),
            Members::Indexed(map) => map.get_mut(key),
        }
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// How many members.
    pub fn len(&self) -> usize {
        match &self.0 {
            Members::Listed(list) => list.len(),
            Members::Indexed(map) => map.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Members in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &Tree<'a>)> + ExactSizeIterator {
        let (list, map) = match &self.0 {
            Members::Listed(list) => (list.as_slice(), None),
            Members::Indexed(map) => (&[][..], Some(map)),
        };
        Iter { list: list.iter(), map: map.map(|map| map.iter()) }
    }

    /// Keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.iter().map(|(key, _)| key)
    }

    /// Whether the keys are exactly these, in any order.
    pub fn has_exactly(&self, keys: &[&str]) -> bool {
        self.len() == keys.len() && keys.iter().all(|key| self.contains_key(key))
    }

    /// Gives back the room that growing took. For a map that stays as it is.
    pub fn shrink(&mut self) {
        match &mut self.0 {
            Members::Listed(list) => list.shrink_to_fit(),
            Members::Indexed(map) => map.shrink_to_fit(),
        }
    }

    /// Reorders as JavaScript lists own properties: canonical array indexes first, ascending, then the rest in
    /// insertion order.
    pub fn order_as_javascript(&mut self) {
        if self.keys().any(|key| array_index(key).is_some()) {
            match &mut self.0 {
                Members::Listed(list) => list.sort_by(|(left, _), (right, _)| javascript_order(left, right)),
                Members::Indexed(map) => map.sort_by(|left, _, right, _| javascript_order(left, right)),
            }
        }
    }
}

/// Whether two keys are the same. Keys of the same length mostly differ at their ends, which is seen at once.
#[inline]
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    left.len() == right.len() && left.as_bytes().last() == right.as_bytes().last() && left == right
}

/// The members of a map of either kind; the other part is empty.
struct Iter<'i, 'a> {
    list: std::slice::Iter<'i, (Cow<'a, str>, Tree<'a>)>,
    map: Option<indexmap::map::Iter<'i, Cow<'a, str>, Tree<'a>>>,
}

impl<'i, 'a> Iterator for Iter<'i, 'a> {
    type Item = (&'i str, &'i Tree<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.map {
            None => self.list.next().map(|(key, value)| (&**key, value)),
            Some(map) => map.next().map(|(key, value)| (&**key, value)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.map.as_ref().map_or_else(|| self.list.size_hint(), Iterator::size_hint)
    }
}

impl DoubleEndedIterator for Iter<'_, '_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.map {
            None => self.list.next_back().map(|(key, value)| (&**key, value)),
            Some(map) => map.next_back().map(|(key, value)| (&**key, value)),
        }
    }
}

impl ExactSizeIterator for Iter<'_, '_> {}

/// Canonical array indexes (0 to 4294967294, no leading zero) before everything else.
fn javascript_order(left: &str, right: &str) -> Ordering {
    match (array_index(left), array_index(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn array_index(key: &str) -> Option<u32> {
    // Hardly any key begins with a digit, and that is seen sooner.
    if !key.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let index = key.parse::<u32>().ok().filter(|index| *index != u32::MAX)?;
    (key.bytes().all(|byte| byte.is_ascii_digit()) && (key == "0" || !key.starts_with('0'))).then_some(index)
}

impl Default for Map<'_> {
    fn default() -> Self {
        Self::new()
    }
}

/// The same members, in any order.
impl PartialEq for Map<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(key, value)| other.get(key) == Some(value))
    }
}

impl<'a> FromIterator<(String, Tree<'a>)> for Map<'a> {
    fn from_iter<T: IntoIterator<Item = (String, Tree<'a>)>>(pairs: T) -> Self {
        let mut object = Map::new();
        for (key, value) in pairs {
            object.insert(key, value);
        }
        object
    }
}

impl<'a> IntoIterator for Map<'a> {
    type Item = (String, Tree<'a>);
    type IntoIter = IntoIter<'a>;
    fn into_iter(self) -> IntoIter<'a> {
        match self.0 {
            Members::Listed(list) => IntoIter { list: list.into_iter(), map: None },
            Members::Indexed(map) => IntoIter { list: Vec::new().into_iter(), map: Some(map.into_iter()) },
        }
    }
}

/// The members of a map, given away in order.
pub struct IntoIter<'a> {
    list: std::vec::IntoIter<(Cow<'a, str>, Tree<'a>)>,
    map: Option<indexmap::map::IntoIter<Cow<'a, str>, Tree<'a>>>,
}

impl<'a> Iterator for IntoIter<'a> {
    type Item = (String, Tree<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let next = match &mut self.map {
            None => self.list.next(),
            Some(map) => map.next(),
        };
        next.map(|(key, value)| (key.into_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foundation::value::Value;

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

    /// Everything a map does, beside the same done to a list of pairs.
    #[test]
    fn a_map_behaves_the_same_below_and_above_the_size_that_is_indexed() {
        for size in [0, 1, 23, 24, 25, 40] {
            let keys: Vec<String> =
                (0..size).rev().map(|n| format!("{n}{}", if n % 3 == 0 { "" } else { "x" })).collect();
            let mut object: Object = keys.iter().map(|key| (key.clone(), Value::from(key.as_str()))).collect();
            assert_eq!((object.len(), object.is_empty()), (size, size == 0));
            assert!(object.keys().eq(keys.iter().map(String::as_str)) && object.keys().rev().eq(keys.iter().rev()));
            for key in &keys {
                assert_eq!(object.insert(key.clone(), true), Some(Value::from(key.as_str())));
                assert_eq!(object.get(key), Some(&Value::Bool(true)));
            }
            assert!(object.get("y").is_none() && object.remove("y").is_none());
            let reversed: Object = keys.iter().rev().map(|key| (key.clone(), Value::Bool(true))).collect();
            assert_eq!(object, reversed, "order does not matter for equality");
            object.order_as_javascript();
            let mut sorted = keys.clone();
            sorted.sort_by_key(|key| key.parse::<u32>().unwrap_or(u32::MAX));
            assert!(object.keys().eq(sorted.iter().map(String::as_str)));
            if let Some(key) = sorted.get(size / 2) {
                assert_eq!(object.remove(key), Some(Value::Bool(true)));
                sorted.remove(size / 2);
                assert_ne!(object, reversed);
            }
            assert!(object.into_iter().map(|(key, _)| key).eq(sorted));
        }
    }

    #[test]
    fn a_slot_is_where_the_member_of_that_key_stands() {
        for size in [0u32, 1, 11, 12, 13, 40] {
            let mut object = Object::new();
            for number in 0..size {
                assert_eq!(*object.slot(number.to_string().into()), Value::Null);
                *object.slot(number.to_string().into()) = number.into();
            }
            *object.slot("0".into()) = "again".into();
            let mut inserted: Vec<(String, Value)> = (0..size.max(1)).map(|at| (at.to_string(), at.into())).collect();
            inserted[0].1 = "again".into();
            assert!(object.into_iter().eq(inserted), "{size}");
        }
        let pairs = [("b", Value::Null), ("a", true.into())];
        assert!(Value::borrowing(pairs.clone()).as_object().unwrap().keys().eq(["b", "a"]));
        assert_eq!(Value::borrowing(pairs.clone()), Value::object(pairs));
    }

    #[test]
    fn a_value_is_small() {
        assert!(size_of::<Value>() <= 32, "{}", size_of::<Value>());
    }
}
