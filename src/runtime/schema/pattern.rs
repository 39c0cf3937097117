//! The handful of patterns that the schemas use, each as a small recogniser. A pattern that is not listed matches
//! nothing. Semantics are those of JavaScript with the `u` flag.

use crate::foundation::text::is_blank;

const IDENTIFIER: &str = "^[a-zA-Z][a-zA-Z0-9_-]*(:[a-zA-Z0-9_.-]+)+$";
const VERSION: &str = r"^[0-9]+\.[0-9]+\.[0-9]+([+-].+)?$";
const STRICT_VERSION: &str = r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$";
const VISIBLE: &str = r"\S";
const DIGEST: [&str; 2] = ["^sha256:[a-f0-9]{64}$", "^sha256:[0-9a-f]{64}$"];
const HEX_DIGEST: &str = "^[a-f0-9]{64}$";
const INNER_PATH: &str = "^[^/].*[^/]$|^[^/]$";
const BASE64URL: &str = "^[A-Za-z0-9_-]+$";
const BASE64URL_16: &str = "^[A-Za-z0-9_-]{16}$";
const BASE64URL_22: &str = "^[A-Za-z0-9_-]{22}$";

/// Whether a text matches a pattern of the schemas.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        IDENTIFIER => is_identifier(text),
        VERSION => is_version(text),
        STRICT_VERSION => is_strict_version(text),
        VISIBLE => !is_blank(text),
        HEX_DIGEST => is_hex_digest(text),
        INNER_PATH => is_inner_path(text),
        BASE64URL => !text.is_empty() && text.bytes().all(is_word),
        BASE64URL_16 => text.len() == 16 && text.bytes().all(is_word),
        BASE64URL_22 => text.len() == 22 && text.bytes().all(is_word),
        pattern if DIGEST.contains(&pattern) => text.strip_prefix("sha256:").is_some_and(is_hex_digest),
        _ => false,
    }
}

/// Whether the pattern is listed.
#[cfg(test)]
pub(super) fn is_known(pattern: &str) -> bool {
    [IDENTIFIER, VERSION, STRICT_VERSION, VISIBLE, HEX_DIGEST, INNER_PATH, BASE64URL, BASE64URL_16, BASE64URL_22]
        .contains(&pattern)
        || DIGEST.contains(&pattern)
}

/// Three numbers without leading zeros.
pub(in crate::runtime) fn is_strict_version(text: &str) -> bool {
    let is_number = |part: &str| is_digits(part) && (part == "0" || !part.starts_with('0'));
    is_three_of(text, is_number)
}

/// Whether a text is three parts of a kind, with points between them.
fn is_three_of(text: &str, is_part: impl Fn(&str) -> bool) -> bool {
    let mut parts = text.split('.');
    (0..3).all(|_| parts.next().is_some_and(&is_part)) && parts.next().is_none()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_hex_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_identifier(text: &str) -> bool {
    let mut parts = text.split(':');
    let scheme = parts.next().unwrap_or_default().as_bytes();
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| is_word(byte) || byte == b'.');
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().copied().all(is_word)
        && parts.clone().next().is_some()
        && parts.all(is_part)
}

fn is_version(text: &str) -> bool {
    let (numbers, suffix) = text.find(['+', '-']).and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
    let has_suffix = suffix.is_empty() || (suffix.len() > 1 && !suffix.contains(is_line_end));
    has_suffix && is_three_of(numbers, is_digits)
}

/// What `.` does not match.
fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

fn is_inner_path(text: &str) -> bool {
    let mut characters = text.chars();
    let is_edge = |character: Option<char>| character.is_some_and(|character| character != '/');
    is_edge(characters.next())
        && (characters.as_str().is_empty()
            || (is_edge(characters.next_back()) && !characters.as_str().contains(is_line_end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_identifiers() {
        for good in ["1.2.3", "01.2.3", "1.2.3-a", "1.2.3+b", "1.2.3-a-b+c", "1.2.3- "] {
            assert!(matches(VERSION, good), "{good:?}");
        }
        for bad in ["1.2", "1.2.3-", "1.2.3\n", "1.2.3-a\nb", "1.2.3-\u{2028}", "v1.2.3", "1.2.3.4", "1.2.-3", "-1.2.3"]
        {
            assert!(!matches(VERSION, bad), "{bad:?}");
        }
        assert!(is_strict_version("0.21.0") && !is_strict_version("00.1.0") && !is_strict_version("0.21"));
        assert!(matches(IDENTIFIER, "k-_9:a.b-c_d") && matches(IDENTIFIER, "kdna:a:b"));
        for bad in ["kdna", "kdna:", "9k:a", ":a", "kdna:a b", "kdna:é", "kdna::a", ""] {
            assert!(!matches(IDENTIFIER, bad), "{bad:?}");
        }
    }

    #[test]
    fn paths_inside_and_visible_text() {
        assert!(matches(INNER_PATH, "a") && matches(INNER_PATH, "a/b") && matches(INNER_PATH, "\n"));
        assert!(!matches(INNER_PATH, "/a") && !matches(INNER_PATH, "a/") && !matches(INNER_PATH, "a\nb"));
        assert!(!matches(INNER_PATH, "") && !matches(INNER_PATH, "/"));
        assert!(matches(VISIBLE, "\u{85}") && !matches(VISIBLE, "\u{feff}\u{a0}"));
        assert!(!matches("^unlisted$", "unlisted"));
    }
}
