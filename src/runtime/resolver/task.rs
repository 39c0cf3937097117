//! The task, normalised once: everything that the assessment of a phrase asks about it.

use super::phrase::{self, LONG_TOKEN_UNITS};
use crate::foundation::digest::Digest;
use crate::foundation::refusal::Refusal;
use crate::foundation::task::{self, TaskSource};
use crate::foundation::text;
use std::collections::BTreeSet;

/// A task that is 1 to 65,536 bytes of text and not blank.
pub(super) struct Task {
    digest: Digest,
    /// The normalised text.
    pub(super) normal: String,
    /// The tokens of its Latin form.
    pub(super) tokens: Vec<String>,
    /// Those tokens, each once, that are long enough for an approximate match.
    pub(super) long_tokens: BTreeSet<String>,
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
        let long = |token: &&String| text::utf16_len(token) >= LONG_TOKEN_UNITS;
        let long_tokens = tokens.iter().filter(long).cloned().collect();
        let contrasts = phrase::contrasts(&latin);
        Self { digest, normal, tokens, long_tokens, contrasts }
    }

    /// The digest of the raw bytes.
    pub(super) fn digest(&self) -> Digest {
        self.digest
    }
}
