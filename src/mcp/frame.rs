//! Cuts a byte stream into lines. Never holds more than one line's limit, and gives a large buffer back.
//!
//! LF, CRLF and a lone CR end a line (so CRLF is a line and an empty one); the last line may lack an end.

use crate::foundation::limits;
use std::io::{BufRead, BufReader, ErrorKind, Read, Result};

/// Bytes asked of the input at once, and the line capacity kept between lines.
const CHUNK_BYTES: usize = 65_536;

/// One line of input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// At most [`limits::FRAME_BYTES`] bytes; a byte order mark at the start of the stream is gone already.
    Whole(&'a [u8]),
    /// Longer than that. It was read to its end and forgotten.
    Oversize,
    /// There is no more input.
    End,
}

/// The reading half of a session.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    oversize: bool,
    at_start: bool,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(CHUNK_BYTES, input), line: Vec::new(), oversize: false, at_start: true }
    }

    /// The next line; waits for it.
    pub(crate) fn next(&mut self) -> Result<Line<'_>> {
        self.line.clear();
        self.line.shrink_to(CHUNK_BYTES);
        self.oversize = false;
        let ended = self.fill()?;
        let first = std::mem::take(&mut self.at_start);
        if self.oversize {
            return Ok(Line::Oversize);
        }
        if !ended && self.line.is_empty() {
            return Ok(Line::End);
        }
        let line = if first { without_mark(&self.line) } else { &self.line };
        Ok(Line::Whole(line))
    }

    /// Collects up to the next line end; false if the input ended first.
    fn fill(&mut self) -> Result<bool> {
        loop {
            let available = match self.input.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let length = end.unwrap_or(available.len());
            let piece = available.get(..length).unwrap_or_default();
            if self.oversize || self.line.len() + piece.len() > limits::FRAME_BYTES {
                self.oversize = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(piece);
            }
            self.input.consume(length + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out its bytes in pieces of one size.
    struct Pieces(Vec<u8>, usize, usize);
    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            let rest = &self.0[self.1..];
            let count = rest.len().min(self.2).min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            self.1 += count;
            Ok(count)
        }
    }

    fn lines(bytes: &[u8], size: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(Pieces(bytes.to_vec(), 0, size));
        let mut all = Vec::new();
        loop {
            match lines.next().unwrap() {
                Line::Whole(line) => all.push(Some(line.to_vec())),
                Line::Oversize => all.push(None),
                Line::End => return all,
            }
        }
    }

    #[test]
    fn every_kind_of_line_end_splits_and_the_last_line_needs_none() {
        for size in [1, 2, 3, 100] {
            let all = lines("\u{feff}a\r\nb\rc\n\u{feff}d\u{2028}e".as_bytes(), size);
            let text: Vec<_> = all.iter().flatten().map(|line| String::from_utf8(line.clone()).unwrap()).collect();
            assert_eq!(text, ["a", "", "b", "c", "\u{feff}d\u{2028}e"], "pieces of {size}");
        }
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole_and_one_byte_more_is_refused_once() {
        let mut bytes = vec![b'x'; limits::FRAME_BYTES];
        bytes.extend(b"\n");
        bytes.extend(vec![b'y'; limits::FRAME_BYTES + 1]);
        bytes.extend(b"\nz\n");
        bytes.extend(vec![b'w'; 3 * limits::FRAME_BYTES]);
        let all = lines(&bytes, 40_000);
        assert_eq!(all.len(), 4);
        assert_eq!(all[0].as_ref().map(Vec::len), Some(limits::FRAME_BYTES));
        assert_eq!((&all[1], &all[3]), (&None, &None));
        assert_eq!(all[2].as_deref(), Some(b"z".as_slice()));
    }

    #[test]
    fn the_buffer_never_exceeds_the_limit_by_much_and_is_given_back() {
        let mut bytes = vec![b'x'; limits::FRAME_BYTES - 1];
        bytes.extend(b"\nshort\n");
        bytes.extend(vec![b'y'; 20 * limits::FRAME_BYTES]);
        bytes.extend(b"\nend\n");
        let mut lines = Lines::new(Pieces(bytes, 0, 65_536));
        assert!(matches!(lines.next().unwrap(), Line::Whole(line) if line.len() == limits::FRAME_BYTES - 1));
        assert!(matches!(lines.next().unwrap(), Line::Whole(b"short")));
        assert!(lines.line.capacity() <= CHUNK_BYTES);
        assert_eq!(lines.next().unwrap(), Line::Oversize);
        assert!(lines.line.capacity() <= CHUNK_BYTES);
        assert!(matches!(lines.next().unwrap(), Line::Whole(b"end")));
        assert_eq!(lines.next().unwrap(), Line::End);
        assert_eq!(lines.next().unwrap(), Line::End);
    }
}
