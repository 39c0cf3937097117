//! A question made for the window that it is asked in: what must be seen stands in its last rows and is never left out, and
//! of the rest there is as much as fits, so that nothing scrolls away. For questions of which no digest is kept.
//!
//! Foreign text is shown as in the other questions: escaped, on rows of its own, in quotes where it is somebody's words.

use super::prompt::{FIELD_ROWS, field, lines, list, middle_cut, plain, quoted};

/// What takes as many cells behind the question as an answer.
const ANSWER: &str = "yes";
/// What is said where something was left out or cut.
const CUT: &str = "  (cut here; --preview shows all)";

/// One fact of a question.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    label: &'static str,
    tokens: Vec<String>,
    cut: String,
    least: usize,
    required: bool,
}

impl Part {
    /// Plain text in at least one row.
    pub(crate) fn words(label: &'static str, text: &str) -> Self {
        Self { label, tokens: plain(text), cut: String::new(), least: 1, required: false }
    }

    /// A path, cut in its middle where it is long.
    pub(crate) fn path(label: &'static str, path: &str) -> Self {
        Self { tokens: middle_cut(plain(path)), ..Self::words(label, "") }
    }

    /// Somebody's words.
    pub(crate) fn quoted(label: &'static str, text: &str) -> Self {
        Self { tokens: quoted([&text.to_owned()]), ..Self::words(label, "") }
    }

    /// Phrases, or what is said where there are none.
    pub(crate) fn list(label: &'static str, phrases: &[String], none: &str) -> Self {
        let cut = format!("({} in all)", phrases.len());
        Self { tokens: list(phrases, none), cut, ..Self::words(label, "") }
    }

    /// The same, never left out.
    #[must_use]
    pub(crate) fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// The same, never left out and never cut: for short texts of this program's own.
    #[must_use]
    pub(crate) fn whole(self) -> Self {
        Self { least: self.rows(FIELD_ROWS).len(), ..self.required() }
    }

    fn rows(&self, limit: usize) -> Vec<String> {
        if limit == 0 { Vec::new() } else { field(self.label, &self.tokens, limit, &self.cut) }
    }
}

/// A question: its first row, its facts in the order in which they are shown (those that count most last), and what is
/// asked, which ends in `[y/N] `.
#[derive(Clone, Debug)]
pub(crate) struct Fitted<'a> {
    pub(crate) heading: &'a str,
    pub(crate) parts: &'a [Part],
    pub(crate) ask: &'a str,
}

impl Fitted<'_> {
    /// The text for a window of these rows and columns; `None` where what must be seen does not fit.
    pub(crate) fn text(&self, (rows, columns): (u16, u16)) -> Option<String> {
        let rows = usize::from(rows);
        let lines = |row: &str| lines(row, columns);
        let fixed = lines(self.heading) + lines(&format!("{}{ANSWER}", self.ask));
        let least = |part: &Part| if part.required { part.least } else { 0 };
        let mut given: Vec<usize> = self.parts.iter().map(least).collect();
        let fits = |given: &[usize], more: usize| {
            let parts = self.parts.iter().zip(given).flat_map(|(part, limit)| part.rows(*limit));
            fixed + more + parts.map(|row| lines(&row)).sum::<usize>() <= rows
        };
        let full: Vec<usize> = self.parts.iter().map(|part| part.rows(FIELD_ROWS).len()).collect();
        let is_whole = self.parts.iter().all(|part| part.rows(FIELD_ROWS + 1).len() <= FIELD_ROWS);
        let more = if is_whole && fits(&full, 0) { 0 } else { lines(CUT) };
        if !fits(&given, more) {
            return None;
        }
        // A row for each, then a second and a third; first for those that stand last.
        for level in 1..=FIELD_ROWS {
            for (at, wanted) in full.iter().enumerate().rev() {
                let mut grown = given.clone();
                grown.iter_mut().skip(at).take(1).for_each(|rows| *rows = level.clamp(*rows, (*wanted).max(*rows)));
                if fits(&grown, more) {
                    given = grown;
                }
            }
        }
        let blank = fits(&given, more + 1);
        Some(self.shown(&given, more > 0, blank))
    }

    fn shown(&self, given: &[usize], cut: bool, blank: bool) -> String {
        let parts = |required: bool| {
            let parts = self.parts.iter().zip(given).filter(move |(part, _)| part.required == required);
            parts.flat_map(|(part, limit)| part.rows(*limit))
        };
        let mut rows = vec![self.heading.to_owned()];
        rows.extend(parts(false));
        rows.extend(cut.then(|| CUT.to_owned()));
        rows.extend(parts(true));
        rows.extend(blank.then(String::new));
        rows.push(self.ask.to_owned());
        rows.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::prompt::holds;

    const ASK: &str = "Allow? Only y or yes allows. [y/N] ";

    fn parts(text: &str) -> Vec<Part> {
        let phrases: Vec<String> = (0..40).map(|number| format!("{number} {text}")).collect();
        let digest = format!("sha256:{}", "0".repeat(64));
        vec![
            Part::quoted("Title", text),
            Part::path("Workspace", text),
            Part::list("Used for", &phrases, "(everything)"),
            Part::list("Not for", &[], "(nothing)"),
            Part::words("Asset", text).required(),
            Part::words("Digest", &digest).whole(),
        ]
    }

    #[test]
    fn a_question_never_takes_more_than_its_window_and_ends_with_what_must_be_seen() {
        for text in
            ["short", &"long words ".repeat(90), &"写".repeat(500), "\u{1b}[2J\r\n  Digest        forged\u{202e}"]
        {
            let parts = parts(text);
            let question = Fitted { heading: "Attach an asset:", parts: &parts, ask: ASK };
            for window in [(24, 80), (10, 40), (60, 200), (12, 79), (9, 41)] {
                let shown = question.text(window).unwrap();
                assert!(holds(&format!("{shown}yes"), window), "{window:?}\n{shown}");
                assert!(shown.ends_with(ASK) && !shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
                let labels: Vec<&str> = shown.lines().filter_map(|row| row.get(2..8)).collect();
                assert_eq!(labels.iter().filter(|label| **label == "Digest").count(), 1, "{shown}");
                assert!(labels.contains(&"Asset "), "{shown}");
            }
        }
    }

    /// As terminals do it: what does not fit the rest of a line begins the next.
    fn on_a_terminal(text: &str, columns: usize) -> usize {
        let mut lines = 0;
        for row in text.split('\n') {
            let mut left = 0;
            lines += usize::from(row.is_empty());
            for character in row.chars() {
                let cells = if character == '写' { 2 } else { 1 };
                if left < cells {
                    (lines, left) = (lines + 1, columns);
                }
                left -= cells;
            }
        }
        lines
    }

    #[test]
    fn a_wide_character_that_begins_a_new_line_makes_no_question_larger_than_its_window() {
        let parts = parts(&"写".repeat(500));
        let question = Fitted { heading: "Attach an asset:", parts: &parts, ask: ASK };
        for columns in 20..100 {
            for rows in 8..60 {
                let Some(shown) = question.text((rows, columns)) else { continue };
                let taken = on_a_terminal(&format!("{shown}yes"), usize::from(columns));
                assert!(taken <= usize::from(rows), "{rows} rows of {columns}\n{shown}");
            }
        }
        assert!(question.text((12, 39)).is_some());
    }

    #[test]
    fn what_is_left_out_is_said_and_what_is_not_is_not() {
        let (short, long) = (parts("short"), parts(&"long words ".repeat(90)));
        let short = Fitted { heading: "Attach an asset:", parts: short.get(..2).unwrap(), ask: ASK };
        assert!(!short.text((24, 80)).unwrap().contains("--preview"));
        let long = Fitted { heading: "Attach an asset:", parts: &long, ask: ASK };
        let shown = long.text((24, 80)).unwrap();
        assert!(shown.contains("(40 in all)"), "{shown}");
        assert!(long.text((10, 40)).unwrap().contains(CUT));
    }

    #[test]
    fn what_must_be_seen_and_does_not_fit_is_not_asked() {
        let parts = parts("short");
        let question = Fitted { heading: "Attach an asset:", parts: &parts, ask: ASK };
        for window in [(3, 80), (24, 1), (5, 20), (0, 0)] {
            assert_eq!(question.text(window), None, "{window:?}");
        }
    }
}
