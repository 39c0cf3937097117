//! A text, arranged so that looking for a part of it costs the length of the part and not of the text: a suffix automaton.
//! Exact, and bounded whatever the text and the part are made of; knows nothing of what the symbols mean.

use std::cell::Cell;
use std::collections::HashMap;

/// The whole text's own state.
const ROOT: usize = 0;

/// One class of parts that end at the same places.
#[derive(Default)]
struct State {
    length: usize,
    link: Option<usize>,
    /// Where the first occurrence ends.
    first_end: usize,
    symbols: Vec<u32>,
}

/// A text of symbols.
pub(super) struct Sequence {
    states: Vec<State>,
    next: HashMap<(usize, u32), usize>,
    steps: Cell<u64>,
}

impl Sequence {
    /// Arranges a text; costs its length.
    pub(super) fn of(symbols: impl IntoIterator<Item = u32>) -> Self {
        let mut sequence = Self { states: vec![State::default()], next: HashMap::new(), steps: Cell::new(0) };
        let mut last = ROOT;
        for symbol in symbols {
            last = sequence.append(last, symbol);
        }
        sequence
    }

    /// Where a part begins for the first time. Costs the part's length at most.
    pub(super) fn find(&self, part: impl IntoIterator<Item = u32>) -> Option<usize> {
        let (mut state, mut length) = (ROOT, 0);
        for symbol in part {
            self.step();
            state = *self.next.get(&(state, symbol))?;
            length += 1;
        }
        self.states.get(state).map(|state| state.first_end.saturating_sub(length))
    }

    /// How many symbols and classes were looked at so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    fn step(&self) {
        self.steps.set(self.steps.get() + 1);
    }

    fn append(&mut self, last: usize, symbol: u32) -> usize {
        let length = self.length(last) + 1;
        let new = self.push(State { length, first_end: length, ..State::default() });
        let mut walk = Some(last);
        while let Some(state) = walk.filter(|state| !self.next.contains_key(&(*state, symbol))) {
            self.lead(state, symbol, new);
            walk = self.link(state);
        }
        let link = walk.map_or(ROOT, |state| self.class_of(state, symbol));
        self.set_link(new, link);
        new
    }

    /// The class that `symbol` leads to from `state`, of its own length: split off where the present one is longer.
    fn class_of(&mut self, state: usize, symbol: u32) -> usize {
        let Some(&old) = self.next.get(&(state, symbol)) else { return ROOT };
        let length = self.length(state) + 1;
        if self.length(old) == length {
            return old;
        }
        let (link, first_end, symbols) = match self.states.get(old) {
            Some(old) => (old.link, old.first_end, old.symbols.clone()),
            None => return ROOT,
        };
        let split = self.push(State { length, link, first_end, symbols: Vec::new() });
        for symbol in symbols {
            if let Some(&to) = self.next.get(&(old, symbol)) {
                self.lead(split, symbol, to);
            }
        }
        let mut walk = Some(state);
        while let Some(state) = walk.filter(|state| self.next.get(&(*state, symbol)) == Some(&old)) {
            self.lead(state, symbol, split);
            walk = self.link(state);
        }
        self.set_link(old, split);
        split
    }

    fn push(&mut self, state: State) -> usize {
        self.states.push(state);
        self.states.len() - 1
    }

    fn lead(&mut self, from: usize, symbol: u32, to: usize) {
        self.step();
        if self.next.insert((from, symbol), to).is_none()
            && let Some(state) = self.states.get_mut(from)
        {
            state.symbols.push(symbol);
        }
    }

    fn length(&self, state: usize) -> usize {
        self.states.get(state).map_or(0, |state| state.length)
    }

    fn link(&self, state: usize) -> Option<usize> {
        self.states.get(state).and_then(|state| state.link)
    }

    fn set_link(&mut self, state: usize, link: usize) {
        if let Some(state) = self.states.get_mut(state) {
            state.link = Some(link);
        }
    }
}

/// The symbols of a text: its characters.
pub(super) fn characters(text: &str) -> impl Iterator<Item = u32> {
    text.chars().map(u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::resolver::testing::draws;

    #[test]
    fn it_finds_what_a_search_finds_and_where() {
        let mut next = draws(11);
        let mut found = 0;
        for _ in 0..2_000 {
            let letters = 1 + next(3);
            let mut word = |longest: u32| -> Vec<u32> { (0..next(longest)).map(|_| next(letters)).collect() };
            let (text, part) = (word(24), word(6));
            let expected = if part.is_empty() { Some(0) } else { text.windows(part.len()).position(|at| at == part) };
            assert_eq!(Sequence::of(text.iter().copied()).find(part.iter().copied()), expected, "{text:?} {part:?}");
            found += u32::from(expected.is_some());
        }
        assert!((200..1_900).contains(&found), "{found}");
    }

    #[test]
    fn arranging_costs_the_length_of_the_text_also_where_it_repeats_itself() {
        for text in ["a".repeat(20_000), "ab".repeat(10_000), "aab".repeat(6_667)] {
            let sequence = Sequence::of(characters(&text));
            assert!(sequence.steps() < 100_000, "{}", sequence.steps());
        }
    }
}
