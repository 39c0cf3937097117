//! The task, normalised once: everything that the assessment of a phrase asks about it, made when it is first asked for.
//! Counts the work that it is asked for, so that a test can hold it to a bound.

use super::cues;
use super::phrase;
use super::sequence::{Sequence, characters};
use super::unspaced::UnspacedTask;
use super::vocabulary::Vocabulary;
use crate::foundation::digest::Digest;
use crate::foundation::refusal::Refusal;
use crate::foundation::task::{self, TaskSource};
use crate::foundation::text;
use std::cell::{Cell, OnceCell};

/// A task that is 1 to 65,536 bytes of text and not blank.
pub(super) struct Task<'a> {
    digest: Digest,
    /// The text as it was given, without a byte order mark.
    raw: &'a str,
    /// The normalised text.
    normal: String,
    /// The tokens of its Latin form.
    pub(super) tokens: Vec<String>,
    /// The same tokens, arranged for looking up.
    pub(super) vocabulary: Vocabulary,
    /// Whether it says that something else is meant: but, only, instead, rather than, do not, not for.
    pub(super) contrasts: bool,
    unspaced: OnceCell<UnspacedTask>,
    quotable: OnceCell<Option<Sequence>>,
    counted: Cell<u64>,
}

impl<'a> Task<'a> {
    pub(super) fn read(bytes: &'a [u8], source: TaskSource) -> Result<Self, Refusal> {
        let raw = task::text_of(bytes, source)?;
        let normal = text::normalise_phrase(raw);
        let latin = phrase::latin(&normal);
        let tokens = phrase::tokens(&latin);
        Ok(Self {
            digest: Digest::of(bytes),
            raw,
            vocabulary: Vocabulary::of(&tokens),
            contrasts: phrase::contrasts(&latin),
            tokens,
            normal,
            unspaced: OnceCell::new(),
            quotable: OnceCell::new(),
            counted: Cell::new(0),
        })
    }

    /// The digest of the raw bytes.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }

    /// The task as phrases in scripts without spaces see it.
    pub(super) fn unspaced(&self) -> &UnspacedTask {
        self.unspaced.get_or_init(|| UnspacedTask::of(&self.normal))
    }

    /// Whether a normalised phrase stands in the task between quotation marks of one of these kinds.
    pub(super) fn quotes(&self, phrase: &str, kinds: &[(char, char)]) -> bool {
        let text = self.quotable.get_or_init(|| {
            let quoted = self.normal.contains(phrase::is_quotation_mark);
            quoted.then(|| Sequence::of(characters(&self.normal)))
        });
        text.as_ref().is_some_and(|text| {
            let quoted = |open: char, close: char| [open].into_iter().chain(phrase.chars()).chain([close]);
            kinds.iter().any(|(open, close)| text.find(quoted(*open, *close).map(u32::from)).is_some())
        })
    }

    /// Whether the given text holds an identifier that stands for itself: no letter, number or `_` touches it.
    pub(super) fn names(&self, id: &str) -> bool {
        self.raw.match_indices(id).any(|(at, _)| {
            let before = self.raw.get(..at).and_then(|text| text.chars().next_back());
            let after = self.raw.get(at + id.len()..).and_then(|text| text.chars().next());
            !before.is_some_and(phrase::is_name_part) && !after.is_some_and(phrase::is_name_part)
        })
    }

    /// Whether the task holds, anywhere, a word that denies or restricts.
    pub(super) fn negates(&self) -> bool {
        cues::negates(&self.normal)
    }

    /// Adds work that nothing else counts.
    pub(super) fn count(&self, steps: usize) {
        self.counted.set(self.counted.get().saturating_add(u64::try_from(steps).unwrap_or(u64::MAX)));
    }

    /// How many characters, tokens and classes were looked at so far.
    pub(super) fn steps(&self) -> u64 {
        let unspaced = self.unspaced.get().map_or(0, UnspacedTask::steps);
        let quotable = self.quotable.get().and_then(Option::as_ref).map_or(0, Sequence::steps);
        self.counted.get() + self.vocabulary.steps() + unspaced + quotable
    }
}
