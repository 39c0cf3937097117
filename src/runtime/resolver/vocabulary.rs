//! The tokens of a task, arranged so that a phrase costs about its own length and not the task's: a record of a mebibyte
//! against a task of 64 KiB is no way to keep the resolver busy. Says only what comparing one by one would say.

use super::patterns::Patterns;
use super::phrase::LONG_TOKEN_UNITS;
use super::sequence::{Sequence, characters};
use crate::foundation::text;
use std::cell::{Cell, OnceCell};
use std::collections::{HashMap, HashSet};

/// The tokens of one task.
pub(super) struct Vocabulary {
    /// Each token's number.
    numbers: HashMap<String, u32>,
    /// The tokens in order, as numbers.
    order: Sequence,
    steps: Cell<u64>,
    near: OnceCell<Near>,
}

/// The long tokens, for comparing approximately.
struct Near {
    /// How they begin.
    beginnings: HashSet<Vec<u16>>,
    /// All of them, separated by what no token holds.
    joined: Sequence,
    /// Each of them as something to look for.
    words: Patterns,
}

impl Vocabulary {
    pub(super) fn of(tokens: &[String]) -> Self {
        let mut numbers = HashMap::new();
        let order: Vec<u32> = tokens
            .iter()
            .map(|token| {
                let new = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(token.clone()).or_insert(new)
            })
            .collect();
        Self { numbers, order: Sequence::of(order), steps: Cell::new(0), near: OnceCell::new() }
    }

    /// Where these tokens stand in the task for the first time, one after the other.
    pub(super) fn position(&self, tokens: &[String]) -> Option<usize> {
        let numbers = tokens.iter().map(|token| {
            self.steps.set(self.steps.get() + 1);
            self.numbers.get(token).copied()
        });
        self.order.find(numbers.collect::<Option<Vec<u32>>>()?)
    }

    /// Whether a long token and a long one of the task contain each other or begin with the same four units.
    pub(super) fn is_near(&self, token: &str) -> bool {
        is_long(token) && {
            let near = self.near.get_or_init(|| Near::of(self.numbers.keys()));
            near.beginnings.contains(&beginning(token))
                || near.joined.find(characters(token)).is_some()
                || near.words.any_in(token)
        }
    }

    /// How much was looked at so far.
    pub(super) fn steps(&self) -> u64 {
        let near = self.near.get().map_or(0, |near| near.joined.steps() + near.words.steps());
        self.steps.get() + self.order.steps() + near
    }
}

impl Near {
    fn of<'a>(tokens: impl Iterator<Item = &'a String>) -> Self {
        let long: Vec<&str> = tokens.map(String::as_str).filter(|token| is_long(token)).collect();
        Self {
            beginnings: long.iter().map(|token| beginning(token)).collect(),
            joined: Sequence::of(long.iter().flat_map(|token| characters(token).chain([u32::from(' ')]))),
            words: Patterns::of(long),
        }
    }
}

fn is_long(token: &str) -> bool {
    text::utf16_len(token) >= LONG_TOKEN_UNITS
}

fn beginning(token: &str) -> Vec<u16> {
    token.encode_utf16().take(LONG_TOKEN_UNITS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::resolver::testing::draws;

    fn compared_one_by_one(task: &[String], token: &str) -> bool {
        is_long(token)
            && task.iter().filter(|other| is_long(other)).any(|other| {
                let same = token.encode_utf16().zip(other.encode_utf16()).take_while(|(left, right)| left == right);
                token.contains(other.as_str()) || other.contains(token) || same.count() >= LONG_TOKEN_UNITS
            })
    }

    #[test]
    fn it_says_what_comparing_one_by_one_says() {
        let letters = ['a', '写', '𠮷', '𠮸'];
        let mut next = draws(7);
        let mut near = 0;
        for _ in 0..20_000 {
            let mut word = || -> String {
                let length = next(8);
                (0..length).map(|_| letters[usize::try_from(next(4)).unwrap()]).collect()
            };
            let task = [word(), word(), word()];
            let token = word();
            let expected = compared_one_by_one(&task, &token);
            assert_eq!(Vocabulary::of(&task).is_near(&token), expected, "{task:?} {token}");
            near += u32::from(expected);
        }
        assert!((500..19_500).contains(&near), "{near}");
    }
}
