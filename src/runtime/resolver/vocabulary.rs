//! The tokens of a task, arranged so that a phrase costs about its own length and not the task's: a record of a mebibyte
//! against a task of 64 KiB is no way to keep the resolver busy. Says only what comparing one by one would say.

use super::phrase::LONG_TOKEN_UNITS;
use crate::foundation::text;
use std::collections::{BTreeSet, HashSet};

/// Bytes of the pieces by which most tokens are told apart without a search. A long token has at least as many.
const PIECE: usize = LONG_TOKEN_UNITS;

/// The tokens of one task.
pub(super) struct Vocabulary {
    all: HashSet<String>,
    long: HashSet<String>,
    /// How long the long ones are, in bytes.
    lengths: BTreeSet<usize>,
    /// How they begin.
    beginnings: HashSet<Vec<u16>>,
    /// Every piece of them, for a first look.
    pieces: HashSet<[u8; PIECE]>,
    /// All of them, separated by what no token holds.
    joined: String,
}

impl Vocabulary {
    pub(super) fn of(tokens: &[String]) -> Self {
        let all: HashSet<String> = tokens.iter().cloned().collect();
        let long: HashSet<String> = all.iter().filter(|token| is_long(token)).cloned().collect();
        Self {
            lengths: long.iter().map(String::len).collect(),
            beginnings: long.iter().map(|token| beginning(token)).collect(),
            pieces: long.iter().flat_map(|token| pieces(token)).collect(),
            joined: long.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
            all,
            long,
        }
    }

    /// Whether every one of these tokens stands somewhere in the task.
    pub(super) fn has_all(&self, tokens: &[String]) -> bool {
        tokens.iter().all(|token| self.all.contains(token))
    }

    /// Whether a long token and a long one of the task contain each other or begin with the same four units.
    pub(super) fn is_near(&self, token: &str) -> bool {
        is_long(token) && (self.beginnings.contains(&beginning(token)) || self.holds(token) || self.is_held_by(token))
    }

    /// Whether a token of the task contains this one.
    fn holds(&self, token: &str) -> bool {
        pieces(token).all(|piece| self.pieces.contains(&piece)) && self.joined.contains(token)
    }

    /// Whether this token contains one of the task's.
    fn is_held_by(&self, token: &str) -> bool {
        let starts = token.char_indices().filter(|(start, _)| {
            let piece = token.as_bytes().get(*start..).and_then(<[u8]>::first_chunk::<PIECE>);
            piece.is_some_and(|piece| self.pieces.contains(piece))
        });
        starts.into_iter().any(|(start, _)| {
            let fits = self.lengths.range(..=token.len() - start);
            fits.into_iter().any(|length| token.get(start..start + length).is_some_and(|part| self.long.contains(part)))
        })
    }
}

fn is_long(token: &str) -> bool {
    text::utf16_len(token) >= LONG_TOKEN_UNITS
}

fn beginning(token: &str) -> Vec<u16> {
    token.encode_utf16().take(LONG_TOKEN_UNITS).collect()
}

fn pieces(token: &str) -> impl Iterator<Item = [u8; PIECE]> {
    token.as_bytes().windows(PIECE).filter_map(|piece| piece.first_chunk().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut state = 7_u32;
        let mut next = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % bound
        };
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
