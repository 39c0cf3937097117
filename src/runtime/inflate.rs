//! Raw DEFLATE with a hard bound, and CRC-32. Never produces more than one byte above the size that was declared.

use super::fault::{RuntimeFault, code};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::cell::RefCell;

thread_local! {
    static INFLATER: RefCell<Inflater> = const { RefCell::new(Inflater(None)) };
}

/// Inflates one entry to exactly `size` bytes. Bytes after the end of the stream are ignored.
pub(super) fn inflate(data: &[u8], size: usize) -> Result<Vec<u8>, RuntimeFault> {
    INFLATER.with_borrow_mut(|inflater| inflater.inflate(data, size))
}

/// Inflates one entry after the other; its tables, of some ten thousand bytes, are made once for all of them.
struct Inflater(Option<Box<DecompressorOxide>>);

impl Inflater {
    fn inflate(&mut self, data: &[u8], size: usize) -> Result<Vec<u8>, RuntimeFault> {
        let mut output = vec![0; size.saturating_add(1)];
        let decoder = self.0.get_or_insert_default();
        decoder.init();
        let (status, _, written) = decompress(decoder, data, &mut output, 0, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
        match status {
            TINFLStatus::Done if written == size => {
                output.truncate(size);
                Ok(output)
            }
            TINFLStatus::Done | TINFLStatus::HasMoreOutput => Err(RuntimeFault::UNNAMED),
            TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
                Err(RuntimeFault::coded(code::DEFLATE_TRUNCATED))
            }
            _ => Err(RuntimeFault::coded(code::DEFLATE_INVALID)),
        }
    }
}

/// The CRC-32 that ZIP records.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec;

    #[test]
    fn nothing_of_one_entry_is_left_for_the_next() {
        let texts: [&[u8]; 3] = [b"judgment judgment judgment", b"", b"other words of other letters, 0123456789"];
        let mut inflater = Inflater(None);
        for (before, text) in texts.iter().flat_map(|before| texts.map(|text| (*before, text))) {
            for level in [0, 1, 9] {
                let (first, data) = (compress_to_vec(before, 9), compress_to_vec(text, level));
                for damaged in [&first[..], &first[..first.len() / 2], &[7, 0xff, 0xff]] {
                    let _ = inflater.inflate(damaged, before.len());
                    assert_eq!(inflater.inflate(&data, text.len()).as_deref(), Ok(text));
                    assert_eq!(
                        inflater.inflate(&data[..data.len() - 1], text.len()),
                        Err(RuntimeFault::coded(code::DEFLATE_TRUNCATED))
                    );
                }
            }
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_zip_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(crc32(b"The quick brown fox jumps over the lazy dog"), 0x414f_a339);
        assert_eq!(crc32(&[0xff; 32]), 0xff6c_ab0b);
    }

    /// Long texts are taken in other steps than short ones.
    #[test]
    fn the_checksum_is_that_of_its_definition_at_every_length() {
        let step = |crc: u32, byte: &u8| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 })
        };
        let bytes: Vec<u8> = (0..1_100u32).map(|at| u8::try_from(at * at % 251).unwrap()).collect();
        for length in 0..bytes.len() {
            let text = &bytes[length % 7..length.max(length % 7)];
            assert_eq!(crc32(text), !text.iter().fold(u32::MAX, step), "{length}");
        }
    }

    #[test]
    fn a_bomb_stops_one_byte_after_the_declared_size() {
        let bomb = compress_to_vec(&vec![0; 50_000_000], 9);
        assert!(bomb.len() < 60_000);
        for size in [0, 1, 26, 5_242_880] {
            assert_eq!(inflate(&bomb, size), Err(RuntimeFault::UNNAMED), "{size}");
        }
        let whole = inflate(&bomb, 50_000_000).unwrap();
        assert_eq!((whole.len(), whole.capacity()), (50_000_000, 50_000_001), "one allocation, one byte to spare");
    }

    #[test]
    fn size_and_truncation_are_told_apart() {
        let data = compress_to_vec(b"judgment judgment judgment", 6);
        assert_eq!(inflate(&data, 26).as_deref(), Ok(b"judgment judgment judgment".as_slice()));
        assert_eq!(inflate(&data, 27), Err(RuntimeFault::UNNAMED));
        assert_eq!(inflate(&data, 25), Err(RuntimeFault::UNNAMED));
        assert_eq!(inflate(&data[..data.len() - 1], 26), Err(RuntimeFault::coded(code::DEFLATE_TRUNCATED)));
        assert_eq!(inflate(&[], 0), Err(RuntimeFault::coded(code::DEFLATE_TRUNCATED)));
        assert_eq!(inflate(&[7, 0xff, 0xff], 3), Err(RuntimeFault::coded(code::DEFLATE_INVALID)));
    }
}
