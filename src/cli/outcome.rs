//! What a command ends with: text for standard output, text for standard error, an exit status. The one place that
//! writes to the standard streams, apart from the server's own transport.

use crate::foundation::json::write;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text::terminal_text;
use crate::foundation::value::{Tree, Value};
use crate::system::os::forward::end_by;
use crate::system::os::streams::Waiting;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// Added to a signal's number, it is the status of what ended by it, as shells have it.
const SIGNAL: i32 = 128;

/// The end of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Standard output, whole.
    pub(crate) output: String,
    /// Standard error, whole.
    pub(crate) errors: String,
    /// The exit status.
    pub(crate) exit: u8,
    /// What stands in the place of `output` where standard output is a terminal.
    pub(crate) for_people: Option<String>,
    /// The refusal behind `errors`, if one is.
    pub(crate) refusal: Option<Refusal>,
}

impl Outcome {
    /// A document as the contract prints it.
    pub(crate) fn document(value: &Value) -> Self {
        match write::pretty(value) {
            Ok(output) => Self { output, ..Self::default() },
            Err(_) => Self::failed("Error: operation failed safely.".to_owned()),
        }
    }

    /// Plain text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        let mut output = text.into();
        output.push('\n');
        Self { output, ..Self::default() }
    }

    /// A document, and what a person at a terminal reads instead.
    #[must_use]
    #[cfg_attr(not(feature = "runtime"), allow(dead_code))] // only commands about attachments have such a text
    pub(crate) fn shown_as(self, text: String) -> Self {
        Self { for_people: Some(text), ..self }
    }

    /// A refused command: `Error: [code] message`, and what to do about it on a second line; exit 2.
    pub(crate) fn refused(refusal: &Refusal) -> Self {
        let text = format!("Error: [{}] {}\n{}", refusal.code(), refusal.message(), refusal.remedy());
        Self { refusal: Some(refusal.clone()), ..Self::error(text, 2) }
    }

    /// A command line that cannot be understood; exit 2.
    pub(crate) fn usage(text: &str) -> Self {
        Self::refused(&Refusal::labelled(Reason::Usage, text.to_owned()))
    }

    /// The same of a command about an asset file, of `version`, and of a command that there is none of: the recorded text
    /// alone.
    pub(crate) fn not_understood(text: &str) -> Self {
        Self { errors: format!("Error: {text}\n"), ..Self::usage(text) }
    }

    /// The same, with a refusal said as one JSON object on one line (`--json-errors`).
    #[must_use]
    pub(crate) fn with_json_errors(self) -> Self {
        let Some(refusal) = &self.refusal else { return self };
        // A message of two lines carries its own advice.
        let (message, remedy) = refusal.message().split_once('\n').unwrap_or((refusal.message(), refusal.remedy()));
        let document = Tree::object([
            ("code", Tree::from(refusal.code().as_str())),
            ("reason", Tree::from(refusal.reason().as_str())),
            ("message", Tree::from(message)),
            ("remedy", Tree::from(remedy)),
        ]);
        let line = write::compact(&document);
        match line {
            Ok(line) => Self { errors: line + "\n", ..self },
            Err(_) => self,
        }
    }

    /// The end of a command that a signal ended, or that stood before something that one ended: by the same signal, so that
    /// whoever waits for it sees the same; 128 and its number where it does not end a process.
    pub(crate) fn ended_by(signal: i32) -> Self {
        end_by(signal);
        Self { exit: u8::try_from(SIGNAL.saturating_add(signal)).unwrap_or(u8::MAX), ..Self::default() }
    }

    /// A failure; exit 1.
    pub(crate) fn failed(text: String) -> Self {
        Self::error(text, 1)
    }

    /// One text on standard error and a status.
    pub(crate) fn error(text: String, exit: u8) -> Self {
        let mut errors = text;
        errors.push('\n');
        Self { errors, exit, ..Self::default() }
    }

    /// The same with another status.
    #[must_use]
    pub(crate) fn exiting(self, exit: u8) -> Self {
        Self { exit, ..self }
    }

    /// Writes and gives the status. A standard output that cannot take the text is a failure. Documents hold texts of
    /// strangers (a record from a clone, an asset's title): on a terminal nothing in them can steer it.
    pub(crate) fn finish(self) -> ExitCode {
        let mut output = Waiting(std::io::stdout().lock());
        let text = if output.0.is_terminal() {
            terminal_text(self.for_people.as_ref().unwrap_or(&self.output))
        } else {
            self.output
        };
        let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
        let mut errors = self.errors;
        // A reader that has seen enough is told nothing.
        let lost = written.as_ref().is_err_and(|fault| fault.kind() != ErrorKind::BrokenPipe);
        if lost && errors.is_empty() {
            errors.push_str("Error: Standard output could not be written.\n");
        }
        let _ = Waiting(std::io::stderr().lock()).write_all(errors.as_bytes());
        if written.is_err() && self.exit == 0 { ExitCode::FAILURE } else { ExitCode::from(self.exit) }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::refused(&refusal)
    }
}
