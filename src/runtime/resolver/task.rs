//! The task, normalised once: everything that the assessment of a phrase asks about it.

use super::TaskSource;
use super::phrase::{self, LONG_TOKEN_UNITS};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
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
        let (label, empty) = match source {
            TaskSource::Stdin => ("Task stdin", "Task stdin must not be empty."),
            TaskSource::File => ("Task file", "Task file must contain non-empty UTF-8 text."),
        };
        if bytes.is_empty() {
            return Err(Refusal::labelled(Reason::TaskRefused, empty));
        }
        if u64::try_from(bytes.len()).map_or(true, |length| length > limits::TASK_BYTES) {
            return Err(Refusal::labelled(Reason::TaskRefused, format!("{label} exceeds the size limit.")));
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Refusal::labelled(Reason::TaskRefused, format!("{label} must contain valid UTF-8 text.")))?;
        let normal = text::normalise_phrase(text.strip_prefix('\u{feff}').unwrap_or(text));
        if normal.is_empty() {
            return Err(Refusal::labelled(Reason::TaskRefused, "Task input must contain non-empty UTF-8 text."));
        }
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
