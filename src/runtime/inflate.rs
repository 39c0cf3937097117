//! Raw DEFLATE with a hard bound, and CRC-32. Never produces more than one byte above the size that was declared.

use super::fault::{RuntimeFault, code};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Inflates one entry to exactly `size` bytes. Bytes after the end of the stream are ignored.
pub(super) fn inflate(data: &[u8], size: usize) -> Result<Vec<u8>, RuntimeFault> {
    let mut output = vec![0; size.saturating_add(1)];
    let mut decoder = Box::<DecompressorOxide>::default();
    let (status, _, written) = decompress(&mut decoder, data, &mut output, 0, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF);
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

/// The CRC-32 that ZIP records.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    let step = |crc: u32, byte: &u8| {
        let [low, ..] = (crc ^ u32::from(*byte)).to_le_bytes();
        TABLE.get(usize::from(low)).copied().unwrap_or_default() ^ (crc >> 8)
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // evaluated by the compiler, index below 256
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec;

    #[test]
    fn the_checksum_is_that_of_the_zip_standard() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
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
