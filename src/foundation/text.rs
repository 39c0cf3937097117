//! Text rules: JavaScript whitespace, the normalised phrase, lengths in UTF-16 code units, and the one home of
//! display escaping. Everything foreign that a person sees goes through [`display`].

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Length in UTF-16 code units: how every text limit of the contract counts.
pub fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The JavaScript whitespace set. It holds U+FEFF and not U+0085, unlike `char::is_whitespace`.
pub fn is_javascript_whitespace(character: char) -> bool {
    matches!(character, '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

/// `String.prototype.trim`.
pub fn trim(text: &str) -> &str {
    text.trim_matches(is_javascript_whitespace)
}

/// Whether nothing remains after trimming.
pub fn is_blank(text: &str) -> bool {
    text.chars().all(is_javascript_whitespace)
}

/// Trims, and replaces each run of whitespace by one space.
pub fn collapse_whitespace(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(is_javascript_whitespace).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The normalised phrase: NFKC, trimmed, whitespace collapsed, lowercase by the full Unicode mapping. Two phrases are
/// the same when these are equal; tasks are matched in this form.
pub fn normalise_phrase(text: &str) -> String {
    // NFKC leaves ASCII as it is.
    if text.is_ascii() {
        return collapse_whitespace(text).to_ascii_lowercase();
    }
    collapse_whitespace(&text.nfkc().collect::<String>()).to_lowercase()
}

/// Whether a text is its own NFC form.
pub fn is_nfc(text: &str) -> bool {
    text.is_ascii() || unicode_normalization::is_nfc(text)
}

/// A host identifier: `^[a-z0-9][a-z0-9._-]{0,127}$`.
pub fn is_host_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.len() <= crate::foundation::limits::HOST_ID_BYTES
        && bytes.first().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

/// An attachment identifier: `att_` and 24 lowercase hexadecimal digits.
pub fn is_attachment_id(text: &str) -> bool {
    text.strip_prefix("att_").is_some_and(|digits| {
        digits.len() == 24 && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

/// Marks that one letter may carry before they are shown escaped: more of them grow into the rows above and below.
const STACKED_MARKS: usize = 2;

/// Foreign text made safe to show: everything that could move a cursor, hide, reorder or break a line is written as
/// `\u{…}`, and what is longer than `limit` characters ends in `…`. The backslash itself is doubled, so nothing can
/// imitate an escape.
pub fn display(text: &str, limit: usize) -> String {
    let mut out = String::new();
    let mut marks = 0;
    for (count, character) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        marks = if is_combining_mark(character) { marks + 1 } else { 0 };
        if character == '\\' {
            out.push_str("\\\\");
        } else if is_deceptive(character) || marks > STACKED_MARKS {
            use std::fmt::Write as _;
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    out
}

/// A whole text for a terminal: lines stay lines, and everything else that [`display`] would not show is written as JSON
/// writes it (`\u009b`), so that a printed document stays the same document.
pub fn terminal_text(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '\n' && is_deceptive(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// Whether a character can deceive a reader on a terminal: controls, line separators, bidirectional and invisible
/// formatting, tags, variation selectors, private use, combining marks that stack, unusual spaces.
pub fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{600}'..='\u{605}' | '\u{61c}'
        | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{1cd0}'..='\u{1cff}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1680}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{20d0}'..='\u{20ff}' | '\u{2800}' | '\u{3000}'
        | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{ffff}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
}

/// Characters that stored text may not hold: controls, line separators, reordering, and what cannot be seen. Combining
/// marks and the two emoji presentation selectors are people's own writing and stay.
pub fn is_hidden(character: char) -> bool {
    is_deceptive(character)
        && matches!(character,
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1345f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normalised_phrase_agrees_with_the_verified_examples() {
        assert_eq!(normalise_phrase("\u{FEFF}Ａ\u{3000}b\u{85}c\u{180E}d\u{200B}e "), "a b\u{85}c\u{180E}d\u{200B}e");
        assert_eq!(normalise_phrase("ΟΔΟΣ Σ"), "οδος σ");
        assert_eq!(normalise_phrase("İß"), "i\u{307}ß");
        assert!(!is_blank("\u{200b}") && !is_blank("\u{85}") && is_blank("\u{feff}\u{2029} \t"));
    }

    #[test]
    fn nothing_shown_can_move_the_cursor_hide_or_reorder() {
        let hostile = "a\u{1b}[2J\r\n\u{8}\u{7}\u{7f}\u{9b}\u{202e}\u{2066}\u{200e}\u{61c}\u{200b}\u{200d}\u{ad}\u{e0041}\u{fe0f}\u{2028}\u{fffa}\u{301}";
        let shown = display(hostile, 1000);
        assert!(shown.chars().all(|character| character.is_ascii_graphic()), "{shown}");
        assert!(shown.starts_with("a\\u{1b}[2J\\u{d}\\u{a}"));
        assert_eq!(display("\\u{1b}", 10), "\\\\u{1b}");
        assert_eq!(display("abcdef", 3), "abc…");
        assert_eq!(display("写文章 é", 10), "写文章 é");
    }

    #[test]
    fn a_document_on_a_terminal_is_harmless_and_still_the_same_document() {
        let printed = "{\n  \"a\": \"é写\u{9b}2J\u{202e}\u{e0041}\\u001b\"\n}\n";
        let shown = terminal_text(printed);
        assert_eq!(shown, "{\n  \"a\": \"é写\\u009b2J\\u202e\\udb40\\udc41\\u001b\"\n}\n");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&shown), read(printed));
    }

    #[test]
    fn what_a_terminal_draws_as_nothing_or_stacks_is_shown_escaped() {
        for invisible in ['\u{1bca0}', '\u{13430}', '\u{600}', '\u{110bd}', '\u{1cd0}'] {
            assert!(display(&invisible.to_string(), 9).is_ascii(), "{:x}", u32::from(invisible));
        }
        // Two marks are how some scripts are written; a tower of them is not.
        assert_eq!(display("\u{e1b}\u{e35}\u{e48}", 9), "\u{e1b}\u{e35}\u{e48}");
        assert_eq!(display("\u{e1b}\u{e35}\u{e48}\u{e48}", 9), "\u{e1b}\u{e35}\u{e48}\\u{e48}");
    }

    #[test]
    fn identifiers_are_closed() {
        assert!(is_host_id("codex") && is_host_id("0.a_b-c") && is_host_id(&"h".repeat(128)));
        for bad in ["", "-x", "A", "a b", "../x", "a/b", &"h".repeat(129), "é"] {
            assert!(!is_host_id(bad), "{bad:?}");
        }
        assert!(is_attachment_id("att_0123456789abcdef01234567"));
        assert!(
            !is_attachment_id("att_0123456789ABCDEF01234567")
                && !is_attachment_id("att_")
                && !is_attachment_id("../att_0123456789abcdef01234567")
        );
    }
}
