//! Raw DEFLATE with a hard bound, and CRC-32. Never produces more than one byte above the size that was declared.
//!
//! A stream that nothing is wrong with is decoded by [`plain`]. Every other one is decoded again by `miniz_oxide`, which
//! alone says what is wrong: an entry is refused as if there were only one decoder.

mod plain;

use super::fault::{RuntimeFault, code};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use plain::Plain;
use std::cell::RefCell;

thread_local! {
    static INFLATER: RefCell<Inflater> = const { RefCell::new(Inflater::new()) };
}

/// Inflates one entry to exactly `size` bytes. Bytes after the end of the stream are ignored.
pub(super) fn inflate(data: &[u8], size: usize) -> Result<Vec<u8>, RuntimeFault> {
    INFLATER.with_borrow_mut(|inflater| inflater.inflate(data, size))
}

/// Takes back the room of an entry that is needed no more, for one that comes.
pub(super) fn take_back(room: Vec<u8>) {
    // Where the thread ends there is none that comes.
    let _ = INFLATER.try_with(|inflater| {
        if let Ok(mut inflater) = inflater.try_borrow_mut()
            && inflater.rooms.len() < ROOMS
            && room.capacity() <= ROOM
        {
            inflater.rooms.push(room);
        }
    });
}

/// How many rooms are kept, and how large each may be: those of a small asset.
const ROOMS: usize = 4;
const ROOM: usize = 64 * 1024;

/// Inflates one entry after the other; the tables, of some ten thousand bytes, are made once for all of them.
struct Inflater {
    plain: Plain,
    thorough: Option<Box<DecompressorOxide>>,
    rooms: Vec<Vec<u8>>,
}

impl Inflater {
    const fn new() -> Self {
        Inflater { plain: Plain::new(), thorough: None, rooms: Vec::new() }
    }

    fn inflate(&mut self, data: &[u8], size: usize) -> Result<Vec<u8>, RuntimeFault> {
        let mut output = self.room(size.saturating_add(1));
        let plain = output.get_mut(..size).and_then(|output| self.plain.inflate(data, output));
        if plain.is_some() {
            output.truncate(size);
            return Ok(output);
        }
        self.inflate_thoroughly(data, size, output)
    }

    /// So many bytes of zero, in a room that is there already if it suffices.
    fn room(&mut self, size: usize) -> Vec<u8> {
        match self.rooms.pop_if(|room| room.capacity() >= size) {
            Some(mut room) => {
                room.clear();
                room.resize(size, 0);
                room
            }
            None => vec![0; size],
        }
    }

    fn inflate_thoroughly(&mut self, data: &[u8], size: usize, mut output: Vec<u8>) -> Result<Vec<u8>, RuntimeFault> {
        let decoder = self.thorough.get_or_insert_default();
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

/// What a byte does to the CRC-32, directly and from one to fifteen bytes further on: sixteen bytes are taken at a step.
static TABLES: [[u32; 256]; STEP] = tables();
const STEP: usize = 16;

/// The CRC-32 that ZIP records.
#[allow(clippy::indexing_slicing)] // a byte is below 256
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let (chunks, rest) = bytes.as_chunks::<STEP>();
    let crc = chunks.iter().fold(u32::MAX, |crc, chunk| {
        let mixed = (u128::from_le_bytes(*chunk) ^ u128::from(crc)).to_le_bytes();
        mixed.iter().rev().zip(&TABLES).fold(0, |crc, (byte, table)| crc ^ table[usize::from(*byte)])
    });
    !rest.iter().fold(crc, |crc, byte| {
        let [low, ..] = (crc ^ u32::from(*byte)).to_le_bytes();
        TABLES[0][usize::from(low)] ^ (crc >> 8)
    })
}

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // evaluated by the compiler, indexes below 256
const fn tables() -> [[u32; 256]; STEP] {
    let mut tables = [[0; 256]; STEP];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
            bit += 1;
        }
        tables[0][index] = crc;
        index += 1;
    }
    let mut further = 256;
    while further < STEP * 256 {
        let before = tables[further / 256 - 1][further % 256];
        tables[further / 256][further % 256] = tables[0][(before & 0xff) as usize] ^ (before >> 8);
        further += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec;

    #[test]
    fn nothing_of_one_entry_is_left_for_the_next() {
        let texts: [&[u8]; 3] = [b"judgment judgment judgment", b"", b"other words of other letters, 0123456789"];
        let mut inflater = Inflater::new();
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
        assert_eq!(crc32(b"A text of three steps and some bytes more."), 0x540f_7e41);
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
