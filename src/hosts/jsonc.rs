//! JSON as hosts let people write it: with comments and trailing commas. They become spaces, so that the strict reader
//! judges what is left; a text in quotes is never touched.

/// The same document without comments and trailing commas, and without a byte order mark.
pub(super) fn plain(bytes: &[u8]) -> Vec<u8> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    without_trailing_commas(&without_comments(bytes))
}

fn without_comments(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let length = match rest {
            [b'"', ..] => {
                let end = end_of_text(rest);
                out.extend_from_slice(rest.get(..end).unwrap_or(rest));
                end
            }
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            // One that is not closed is left as it is, and is no JSON.
            [b'/', b'*', inside @ ..] => {
                let end = inside.windows(2).position(|pair| pair == b"*/");
                out.extend_from_slice(if end.is_some() { b" " } else { rest });
                end.map_or(rest.len(), |at| at + 4)
            }
            _ => {
                out.push(*first);
                rest.len() - after.len()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// The bytes of a text with its quotes; all of the rest if it is not closed.
fn end_of_text(bytes: &[u8]) -> usize {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    bytes.len()
}

/// A comma behind a value and before a closing bracket goes; `[,]` and `[1,,]` stay what they are, and are no JSON. Each
/// byte is looked at once, however far a comma is from its bracket.
fn without_trailing_commas(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut before = b'[';
    // Where the last comma behind a value stands, while nothing but space has come since.
    let mut comma = None;
    while let Some(first) = rest.first() {
        let length = if *first == b'"' { end_of_text(rest) } else { 1 };
        if !first.is_ascii_whitespace() {
            let trailing = comma.take().filter(|_| matches!(first, b']' | b'}'));
            if let Some(byte) = trailing.and_then(|at: usize| out.get_mut(at)) {
                *byte = b' ';
            }
            if *first == b',' && !matches!(before, b',' | b'[' | b'{' | b':') {
                comma = Some(out.len());
            }
            before = *first;
        }
        out.extend_from_slice(rest.get(..length).unwrap_or(rest));
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::plain;
    use crate::foundation::json::{read_strict, write};

    fn read(text: &str) -> Option<String> {
        read_strict(&plain(text.as_bytes()), 8).ok().map(|value| write::compact(&value).unwrap())
    }

    #[test]
    fn comments_and_trailing_commas_go_and_texts_stay() {
        for (text, expected) in [
            ("{\"a\":1}", "{\"a\":1}"),
            ("\u{feff}{}", "{}"),
            ("// x\n{\"a\": [1, 2,], /* y, */ \"b\": {\"c\": 3,\n},}// end", "{\"a\":[1,2],\"b\":{\"c\":3}}"),
            ("{\"u\": \"http://x/*y*/,]\", \"v\": \"\\\"//,}\"}", "{\"u\":\"http://x/*y*/,]\",\"v\":\"\\\"//,}\"}"),
            ("[1/**/,/**/2 , ]", "[1,2]"),
            ("[\"a\",]", "[\"a\"]"),
            ("{\"a\":/*,*/1}", "{\"a\":1}"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        for bad in [
            "[1,,\n,]",
            "{\"a\":1,,}",
            "[1 , , ]",
            "[,]",
            "{,}",
            "[1,,]",
            "{\"a\":,}",
            "/* [1]",
            "[1] /*",
            "[1/2]",
            "\"a",
            "[1,",
            "{\"a\":1}}",
            "/",
            "1/",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
