//! Whether a text holds any of many words, in one walk over the text however many words there are (Aho and Corasick).
//! Exact; says neither which word nor where.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};

/// No letter read.
const ROOT: usize = 0;

#[derive(Default)]
struct State {
    /// Where to go on when no letter fits: the longest end of what was read that begins a word.
    back: usize,
    /// Whether what was read ends with a word.
    ends: bool,
    children: Vec<(char, usize)>,
}

/// The words.
pub(super) struct Patterns {
    states: Vec<State>,
    next: HashMap<(usize, char), usize>,
    steps: Cell<u64>,
}

impl Patterns {
    /// Arranges the words; costs their length altogether.
    pub(super) fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Self { states: vec![State::default()], next: HashMap::new(), steps: Cell::new(0) };
        for word in words {
            let end = word.chars().fold(ROOT, |state, letter| patterns.child(state, letter));
            if let Some(state) = patterns.states.get_mut(end) {
                state.ends = true;
            }
        }
        patterns.connect();
        patterns
    }

    /// Whether a text holds one of them. Costs the text's length at most.
    pub(super) fn any_in(&self, text: &str) -> bool {
        let mut state = ROOT;
        text.chars().any(|letter| {
            state = self.follow(state, letter);
            self.states.get(state).is_some_and(|state| state.ends)
        })
    }

    /// How many letters were looked at so far.
    pub(super) fn steps(&self) -> u64 {
        self.steps.get()
    }

    fn follow(&self, mut state: usize, letter: char) -> usize {
        loop {
            self.steps.set(self.steps.get() + 1);
            match self.next.get(&(state, letter)) {
                Some(next) => return *next,
                None if state == ROOT => return ROOT,
                None => state = self.states.get(state).map_or(ROOT, |state| state.back),
            }
        }
    }

    fn child(&mut self, state: usize, letter: char) -> usize {
        if let Some(child) = self.next.get(&(state, letter)) {
            return *child;
        }
        let child = self.states.len();
        self.states.push(State::default());
        self.next.insert((state, letter), child);
        if let Some(state) = self.states.get_mut(state) {
            state.children.push((letter, child));
        }
        child
    }

    /// Sets every way back, the shortest beginnings first.
    fn connect(&mut self) {
        let mut waiting = VecDeque::from([ROOT]);
        while let Some(state) = waiting.pop_front() {
            let Some((back, children)) = self.states.get(state).map(|found| (found.back, found.children.clone()))
            else {
                continue;
            };
            for (letter, child) in children {
                let target = if state == ROOT { ROOT } else { self.follow(back, letter) };
                let ends = self.states.get(target).is_some_and(|target| target.ends);
                if let Some(child) = self.states.get_mut(child) {
                    child.back = target;
                    child.ends |= ends;
                }
                waiting.push_back(child);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::resolver::testing::draws;

    #[test]
    fn it_says_what_looking_for_each_word_says() {
        let mut next = draws(5);
        let mut held = 0;
        for _ in 0..2_000 {
            let mut word = |shortest: u32, longest: u32| -> String {
                (0..shortest + next(longest)).map(|_| ['a', 'b', '写'][usize::try_from(next(3)).unwrap()]).collect()
            };
            let words: Vec<String> = (0..3).map(|_| word(2, 4)).collect();
            let text = word(0, 10);
            let expected = words.iter().any(|word| text.contains(word));
            assert_eq!(Patterns::of(words.iter().map(String::as_str)).any_in(&text), expected, "{words:?} {text}");
            held += u32::from(expected);
        }
        assert!((200..1_900).contains(&held), "{held}");
        assert!(!Patterns::of([]).any_in("a"));
    }
}
