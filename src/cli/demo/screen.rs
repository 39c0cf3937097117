//! What the demonstration shows: a few plain lines for each step, colour on a terminal only.

use std::io::{IsTerminal, Write};

/// Standard output, as the demonstration writes to it.
pub(crate) struct Screen {
    colour: bool,
    step: usize,
}

impl Screen {
    /// Colour where standard output is a terminal that wants it.
    pub(crate) fn new() -> Self {
        Self { colour: std::io::stdout().is_terminal(), step: 0 }
    }

    /// The head of a step.
    pub(crate) fn step(&mut self, name: &str, what: &str) {
        self.step += 1;
        let number = self.step;
        self.line(&format!("\n{number}  {}  {what}", self.painted("1", &format!("{name:<9}"))));
    }

    /// A line of a step.
    pub(crate) fn note(&self, text: &str) {
        for line in text.lines() {
            self.line(&format!("   {line}"));
        }
    }

    /// How a step ended: something was given.
    pub(crate) fn given(&self, text: &str) {
        self.line(&format!("   {} {text}", self.painted("32", "✓")));
    }

    /// How a step ended: something was refused, as it should be.
    pub(crate) fn refused(&self, text: &str) {
        self.line(&format!("   {} {text}", self.painted("33", "✗")));
    }

    /// The last line.
    pub(crate) fn end(&self, text: &str) {
        self.line(&format!("\n{text}"));
    }

    /// One line as it is.
    #[allow(clippy::unused_self)] // the screen is what is written to
    pub(crate) fn line(&self, text: &str) {
        // A closed output ends the demonstration at its next real step; there is nothing to add here.
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
