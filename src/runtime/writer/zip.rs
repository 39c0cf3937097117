//! The ZIP file: every entry once, in the order given, with its true CRC-32 and sizes, a fixed timestamp and a fixed mode.
//! An entry is compressed where that makes it smaller and stays within the ratio that readers accept; the media type
//! is always stored. No extra fields, no comments, nothing between records. Written here because no entry may carry a
//! time of day or a path of the machine.

use super::PackFault;
use crate::foundation::limits;
use crate::runtime::container::MIMETYPE;
use crate::runtime::inflate::crc32;
use miniz_oxide::deflate::compress_to_vec;

/// Midnight of 1 January 1980, the first instant that the format knows.
const TIME: u16 = 0;
const DATE: u16 = 0x21;
/// The format's version 2.0, which introduced compression.
const VERSION: u16 = 20;
const MADE_BY_UNIX: u16 = 3 << 8 | VERSION;
/// A regular file that its owner may write and everybody may read.
const ATTRIBUTES: u32 = 0o100_644 << 16;
/// Names are UTF-8.
const UTF8_NAME: u16 = 1 << 11;
const LEVEL: u8 = 9;

/// A container of these entries. [`PackFault::TooLarge`] for more or larger ones than a container may have.
pub fn container(entries: &[(&str, &[u8])]) -> Result<Vec<u8>, PackFault> {
    let total: usize = entries.iter().map(|(_, data)| data.len()).sum();
    let fits = |size: usize, limit: u64| u64::try_from(size).is_ok_and(|size| size <= limit);
    let small = entries.iter().all(|(_, data)| fits(data.len(), limits::ENTRY_BYTES));
    if entries.len() > limits::CONTAINER_ENTRIES || !small || !fits(total, limits::CONTAINER_INFLATED_BYTES) {
        return Err(PackFault::TooLarge);
    }
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, data) in entries {
        let at = short::<u32>(file.len())?;
        let header = Header::of(name, data)?;
        file.extend(b"PK\x03\x04");
        file.extend(&header.common);
        file.extend(name.as_bytes());
        file.extend(header.compressed.as_deref().unwrap_or(data));
        directory.extend(b"PK\x01\x02");
        directory.extend(MADE_BY_UNIX.to_le_bytes());
        directory.extend(&header.common);
        // No comment, the first disk, no hint at text.
        directory.extend([0; 6]);
        directory.extend(ATTRIBUTES.to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    end(&mut file, &directory, short(entries.len())?)?;
    Ok(file)
}

/// What both headers of an entry say, and its compressed form where that is used.
struct Header {
    common: Vec<u8>,
    compressed: Option<Vec<u8>>,
}

impl Header {
    fn of(name: &str, data: &[u8]) -> Result<Self, PackFault> {
        let compressed = if name == MIMETYPE { None } else { smaller(data) };
        let method: u16 = if compressed.is_some() { 8 } else { 0 };
        let flags = if name.is_ascii() { 0 } else { UTF8_NAME };
        let length = compressed.as_ref().map_or(data.len(), Vec::len);
        let mut common = [VERSION, flags, method, TIME, DATE].map(u16::to_le_bytes).concat();
        common.extend([crc32(data), short(length)?, short(data.len())?].map(u32::to_le_bytes).concat());
        common.extend(short::<u16>(name.len())?.to_le_bytes());
        common.extend(0u16.to_le_bytes());
        Ok(Header { common, compressed })
    }
}

/// The compressed form, if it is smaller and not so small that readers take it for a bomb.
fn smaller(data: &[u8]) -> Option<Vec<u8>> {
    let compressed = compress_to_vec(data, LEVEL);
    let ratio = usize::try_from(limits::ENTRY_RATIO).ok()?;
    let honest = data.len() <= compressed.len().saturating_mul(ratio);
    (compressed.len() < data.len() && honest).then_some(compressed)
}

fn end(file: &mut Vec<u8>, directory: &[u8], count: u16) -> Result<(), PackFault> {
    let at = short::<u32>(file.len())?;
    file.extend(directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].map(u16::to_le_bytes).concat());
    file.extend([short(directory.len())?, at].map(u32::to_le_bytes).concat());
    file.extend([0, 0]);
    Ok(())
}

fn short<T: TryFrom<usize>>(number: usize) -> Result<T, PackFault> {
    T::try_from(number).map_err(|_| PackFault::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compresses_beyond_the_accepted_ratio_is_stored() {
        let zeros = vec![0; 1_000_000];
        assert_eq!(smaller(&zeros), None);
        assert_eq!(smaller(b""), None);
        assert!(smaller("a judgment ".repeat(20).as_bytes()).is_some());
        let file = container(&[("mimetype", b"x"), ("kdna.json", &zeros)]).unwrap();
        assert!(file.len() > zeros.len());
    }

    #[test]
    fn no_entry_is_larger_than_readers_accept() {
        let large = vec![7; usize::try_from(limits::ENTRY_BYTES).unwrap() + 1];
        assert_eq!(container(&[("a", &large)]), Err(PackFault::TooLarge));
        assert_eq!(container(&[("a", b"".as_slice()); 129]), Err(PackFault::TooLarge));
        let part = &large[1..];
        assert_eq!(container(&[("a", part), ("b", part), ("c", part)]), Err(PackFault::TooLarge));
    }
}
