//! The task, normalised once: everything that the assessment of a phrase asks about it.

use super::phrase;
use super::vocabulary::Vocabulary;
use crate::foundation::digest::Digest;
use crate::foundation::refusal::Refusal;
use crate::foundation::task::{self, TaskSource};
use crate::foundation::text;

/// A task that is 1 to 65,536 bytes of text and not blank.
pub(super) struct Task {
    digest: Digest,
    /// The normalised text.
    pub(super) normal: String,
    /// The tokens of its Latin form.
    pub(super) tokens: Vec<String>,
    /// The same tokens, arranged for looking up.
    pub(super) vocabulary: Vocabulary,
    /// Whether it says that something else is meant: but, only, instead, rather than, do not, not for.
    pub(super) contrasts: bool,
}

impl Task {
    pub(super) fn read(bytes: &[u8], source: TaskSource) -> Result<Self, Refusal> {
        let normal = text::normalise_phrase(task::text_of(bytes, source)?);
        Ok(Self::of(Digest::of(bytes), normal))
    }

    fn of(digest: Digest, normal: String) -> Self {
        let latin = phrase::latin(&normal);
        let tokens = phrase::tokens(&latin);
        let vocabulary = Vocabulary::of(&tokens);
        let contrasts = phrase::contrasts(&latin);
        Self { digest, normal, tokens, vocabulary, contrasts }
    }

    /// The digest of the raw bytes.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }
}
