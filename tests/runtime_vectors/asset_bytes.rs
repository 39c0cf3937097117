//! Asset bytes for tests: base64 as vectors store it, and a ZIP writer that stores.

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

/// A ZIP file with these entries, stored, in this order, without recorded CRC-32.
pub(crate) fn stored_zip(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in entries {
        let offset = u32::try_from(file.len()).unwrap();
        let common = common_fields(name, data);
        file.extend_from_slice(b"PK\x03\x04");
        file.extend_from_slice(&common);
        file.extend_from_slice(name.as_bytes());
        file.extend_from_slice(data);
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&common);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    let (size, at) = (u32::try_from(directory.len()).unwrap(), u32::try_from(file.len()).unwrap());
    file.extend_from_slice(&directory);
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    file.extend_from_slice(&[count, count].concat());
    file.extend_from_slice(&size.to_le_bytes());
    file.extend_from_slice(&at.to_le_bytes());
    file.extend_from_slice(&[0, 0]);
    file
}

/// Version, flags, method, time, CRC-32, sizes, name and extra length: the same 26 bytes in both headers.
fn common_fields(name: &str, data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(data.len()).unwrap().to_le_bytes();
    let name = u16::try_from(name.len()).unwrap().to_le_bytes();
    [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &size, &size, &name, &[0, 0]].concat()
}

#[test]
fn base64_is_decoded() {
    for (text, bytes) in [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("+/8A", b"\xfb\xff\0")] {
        assert_eq!(base64(text), bytes);
    }
}
