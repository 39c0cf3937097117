//! The one rule of what a task's bytes must be, before anything is matched. Never keeps or shows the text.

use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::is_blank;

/// Where a task's bytes came from; only messages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSource {
    /// Standard input.
    Stdin,
    /// A file that the person named.
    File,
}

/// The text of a task: 1 to [`limits::TASK_BYTES`] bytes of UTF-8 that are not blank; one byte order mark is dropped.
/// `task_refused` otherwise.
pub fn text_of(bytes: &[u8], source: TaskSource) -> Result<&str, Refusal> {
    let (label, empty) = match source {
        TaskSource::Stdin => ("Task stdin", "Task stdin must not be empty."),
        TaskSource::File => ("Task file", "Task file must contain non-empty UTF-8 text."),
    };
    let refuse = |message: String| Refusal::labelled(Reason::TaskRefused, message);
    if bytes.is_empty() {
        return Err(refuse(empty.to_owned()));
    }
    if u64::try_from(bytes.len()).map_or(true, |length| length > limits::TASK_BYTES) {
        return Err(refuse(format!("{label} exceeds the size limit.")));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| refuse(format!("{label} must contain valid UTF-8 text.")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if is_blank(text) {
        return Err(refuse("Task input must contain non-empty UTF-8 text.".to_owned()));
    }
    Ok(text)
}
