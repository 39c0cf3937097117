//! A Huffman code as DEFLATE notes it: the length of each symbol's code. Only complete codes are arranged.

use super::bits::Bits;

const LONGEST: usize = 15;

/// `QUICK`: how many beginnings of codes are looked up at once, a power of two. `SYMBOLS`: how many there may be, a multiple
/// of eight.
pub(super) struct Code<const QUICK: usize, const SYMBOLS: usize> {
    /// For each beginning the value of the symbol, with the length of its code in the lowest four bits; zero where the
    /// code is longer than the beginning.
    quick: [u32; QUICK],
    /// How many codes have each length.
    counts: [u16; LONGEST + 1],
    /// The symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
}

impl<const QUICK: usize, const SYMBOLS: usize> Code<QUICK, SYMBOLS> {
    pub(super) const fn new() -> Self {
        Code { quick: [0; QUICK], counts: [0; LONGEST + 1], symbols: [0; SYMBOLS] }
    }

    /// Takes the code with these lengths, at most 15 each. `None` unless every sequence of bits begins with a code.
    pub(super) fn arrange(&mut self, lengths: &[u8; SYMBOLS], values: &[u32; SYMBOLS]) -> Option<()> {
        let used = self.sort(lengths)?;
        let (mut filled, mut code) = (1, 0);
        let mut symbols = self.symbols.get(..used)?.iter();
        for (length, count) in (0..).zip(self.counts).skip(1) {
            if filled < QUICK {
                // Shorter codes mean the same whatever bit comes next.
                self.quick.copy_within(..filled, filled);
                filled *= 2;
            }
            let is_quick = 1 << length <= QUICK;
            for symbol in symbols.by_ref().take(usize::from(count)) {
                let value = *values.get(usize::from(*symbol))?;
                *self.quick.get_mut(code & (QUICK - 1))? = if is_quick { value | length } else { 0 };
                code = after(code, length);
            }
        }
        Some(())
    }

    /// Sorts the symbols by the lengths of their codes; gives how many have one. Most of a table is symbols that have
    /// none, eight of which are passed over at a time.
    fn sort(&mut self, lengths: &[u8; SYMBOLS]) -> Option<usize> {
        let (eights, _) = lengths.as_chunks::<8>();
        self.counts = [0; LONGEST + 1];
        for eight in eights.iter().filter(|eight| u64::from_le_bytes(**eight) != 0) {
            for length in eight {
                *self.counts.get_mut(usize::from(*length))? += 1;
            }
        }
        let mut next = [0; LONGEST + 1];
        let (mut used, mut taken) = (0, 0);
        for ((next, count), length) in next.iter_mut().zip(self.counts).zip(0..).skip(1) {
            *next = used;
            used += usize::from(count);
            taken += u32::from(count) << (LONGEST - length);
        }
        if taken != 1 << LONGEST {
            return None;
        }
        for (eight, first) in eights.iter().zip((0..).step_by(8)).filter(|(eight, _)| u64::from_le_bytes(**eight) != 0)
        {
            for (length, symbol) in eight.iter().zip(first..) {
                if *length != 0 {
                    let place = next.get_mut(usize::from(*length))?;
                    *self.symbols.get_mut(*place)? = symbol;
                    *place += 1;
                }
            }
        }
        Some(used)
    }

    /// The value of the next symbol, with something in the lowest four bits.
    #[inline]
    pub(super) fn next(&self, bits: &mut Bits<'_>, values: &[u32; SYMBOLS]) -> Option<u32> {
        let [low, high, ..] = bits.peek().to_le_bytes();
        let beginning = u16::from_le_bytes([low, high]);
        let quick = *self.quick.get(usize::from(beginning) & (QUICK - 1))?;
        let (entry, length) = if quick == 0 { self.longer(beginning, values)? } else { (quick, quick & 0xf) };
        bits.skip(length)?;
        Some(entry)
    }

    /// A symbol whose code is longer than what is looked up at once, found length by length, and its code's length.
    #[cold]
    fn longer(&self, mut bits: u16, values: &[u32; SYMBOLS]) -> Option<(u32, u32)> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for (length, count) in (0..).zip(self.counts).skip(1) {
            code = code << 1 | usize::from(bits & 1);
            first <<= 1;
            bits >>= 1;
            let count = usize::from(count);
            if let Some(place) = code.checked_sub(first).filter(|place| *place < count) {
                let symbol = *self.symbols.get(index + place)?;
                return Some((*values.get(usize::from(symbol))?, length));
            }
            index += count;
            first += count;
        }
        None
    }
}

/// The code after a code of the same length, both with their first bit lowest.
fn after(code: usize, length: u32) -> usize {
    let unset = code ^ ((1 << length) - 1);
    match unset.checked_ilog2() {
        Some(highest) => code & ((1 << highest) - 1) | 1 << highest,
        None => code,
    }
}
