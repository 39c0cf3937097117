//! SHA-256 digests: the one type, and one function for each thing that is digested. Never compares secrets.

use crate::foundation::json::write;
use crate::foundation::value::{Object, Value};
use sha2::{Digest as _, Sha256};
use std::fmt;

const PREFIX: &str = "sha256:";

/// A SHA-256 digest, written `sha256:` and 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of bytes held in memory: an asset file, a record, a consent document, a task.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// Reads the written form; `None` for any other text (upper case included).
    pub fn parse(text: &str) -> Option<Self> {
        Self::parse_hex(text.strip_prefix(PREFIX)?)
    }

    /// Reads 64 lowercase hexadecimal digits.
    pub fn parse_hex(hex: &str) -> Option<Self> {
        from_hex(hex).map(Digest)
    }

    /// The written form.
    pub fn text(&self) -> String {
        [PREFIX, self.digits().as_str()].concat()
    }

    /// The 64 hexadecimal digits alone.
    pub fn hex(&self) -> String {
        self.digits().as_str().to_owned()
    }

    /// The 64 hexadecimal digits alone, without an allocation.
    pub fn digits(&self) -> Digits {
        let mut digits = [0; 64];
        write_digits(&mut digits, &self.0);
        Digits(digits)
    }

    /// The raw bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Exactly `N` bytes in lowercase hexadecimal digits.
pub fn from_hex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Bytes as lowercase hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = vec![0; bytes.len() * 2];
    write_digits(&mut digits, bytes);
    String::from_utf8(digits).unwrap_or_default()
}

fn write_digits(digits: &mut [u8], bytes: &[u8]) {
    let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' + half - 10 };
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
        *pair = [digit(byte >> 4), digit(byte & 0xf)];
    }
}

/// The hexadecimal digits of a digest.
pub struct Digits([u8; 64]);

impl Digits {
    /// The digits as bytes of text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digits as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        f.write_str(self.digits().as_str())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A digest fed piece by piece.
#[derive(Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Nothing fed yet.
    pub fn new() -> Self {
        Self::default()
    }
    /// Feeds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    /// The digest of all that was fed.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// The digest of a canonical absolute directory path (consent, `workspace_root_digest`).
pub fn of_root_path(path: &str) -> Digest {
    Digest::of(path.as_bytes())
}

/// The digest of a document's compact JSON in its own key order. `None` if it has no JSON form.
/// Used for the scope, the candidate set, the selection plan and the attach facts.
pub fn of_document(document: &Value) -> Option<Digest> {
    write::compact(document).ok().map(|text| Digest::of(text.as_bytes()))
}

/// As [`of_document`], for a map (the scope object of a record).
pub fn of_object(object: &Object) -> Option<Digest> {
    write::compact_object(object).ok().map(|text| Digest::of(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_written_form_is_read() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
        assert_eq!(Digest::parse(&digest.to_string().to_uppercase()), None);
        assert_eq!(Digest::parse(&digest.hex()), None);
        assert_eq!(Digest::parse("sha256:"), None);
    }

    #[test]
    fn a_workspace_root_digest_is_over_the_path_text() {
        assert_eq!(
            of_root_path("/srv/projects/w1").to_string(),
            "sha256:fbc77300dc374f26d4499cba96d6aaade52ef30fa93e384e8e4f3c74bd30c3e6"
        );
    }
}
