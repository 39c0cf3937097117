//! Asset bytes for tests: base64 as vectors store it, and a ZIP writer that stores what it is told, true or not.
#![allow(dead_code)]

/// Decodes standard base64 with padding.
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        other => panic!("{other}"),
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

/// One entry, and everything that its headers say about it. A CRC-32 of zero is one that was not recorded.
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    pub(crate) local_name: &'a str,
    pub(crate) data: &'a [u8],
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) crc: u32,
    pub(crate) size: u32,
    pub(crate) mode: u32,
    /// A local header to point to instead of this entry's own.
    pub(crate) at: Option<u32>,
}

impl<'a> Entry<'a> {
    /// An honest stored entry.
    pub(crate) fn stored(name: &'a str, data: &'a [u8]) -> Self {
        let size = u32::try_from(data.len()).unwrap();
        Entry { name, local_name: name, data, method: 0, flags: 0, crc: 0, size, mode: 0o100_644, at: None }
    }

    /// The 26 bytes that both headers have, with one of the names.
    fn common(&self, name: &str) -> Vec<u8> {
        let compressed = u32::try_from(self.data.len()).unwrap();
        let words = [20, self.flags, self.method, 0, 0].map(u16::to_le_bytes).concat();
        let sizes = [self.crc, compressed, self.size].map(u32::to_le_bytes).concat();
        let lengths = [u16::try_from(name.len()).unwrap(), 0].map(u16::to_le_bytes).concat();
        [words, sizes, lengths].concat()
    }
}

/// A ZIP file with these entries, in this order.
pub(crate) fn zip(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let at = u32::try_from(file.len()).unwrap();
        file.extend(
            [b"PK\x03\x04", entry.common(entry.local_name).as_slice(), entry.local_name.as_bytes(), entry.data]
                .concat(),
        );
        directory.extend([b"PK\x01\x02\x14\0", entry.common(entry.name).as_slice(), &[0; 6]].concat());
        directory.extend([entry.mode << 16, entry.at.unwrap_or(at)].map(u32::to_le_bytes).concat());
        directory.extend(entry.name.as_bytes());
    }
    let (size, at) = (u32::try_from(directory.len()).unwrap(), u32::try_from(file.len()).unwrap());
    let count = u16::try_from(entries.len()).unwrap();
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].map(u16::to_le_bytes).concat());
    file.extend([size, at].map(u32::to_le_bytes).concat());
    file.extend([0, 0]);
    file
}

#[test]
fn base64_is_decoded() {
    for (text, bytes) in [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("+/8A", b"\xfb\xff\0")] {
        assert_eq!(base64(text), bytes);
    }
}
