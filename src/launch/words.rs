//! A command in one text, split into words as a shell would: quotes and backslashes, and nothing else that a shell does.

/// The words; `None` for an open quote, a backslash at the end, or no word at all.
pub fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => quoted(&mut characters, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut characters, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(characters.next()?),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    (!words.is_empty()).then_some(words)
}

fn quoted(characters: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            character if character == quote => return Some(()),
            '\\' if quote == '"' => match characters.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            character => word.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, words) in [
            ("pass show kdna/x", &["pass", "show", "kdna/x"][..]),
            ("  a\t b\n", &["a", "b"]),
            ("sh -c 'pass show x | head -n1'", &["sh", "-c", "pass show x | head -n1"]),
            (r#"a "b \"c\" $d" e\ f"#, &["a", "b \"c\" $d", "e f"]),
            (r#""a\n" ''"#, &["a\\n", ""]),
            ("a'b'\"c\"", &["abc"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
        for bad in ["", "  ", "'a", "\"a", "a\\"] {
            assert_eq!(split(bad), None, "{bad:?}");
        }
    }
}
