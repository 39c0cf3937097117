//! Raw DEFLATE for what every writer produces: complete codes, nothing missing, nothing too far back. Small entries are
//! mostly tables, so these are arranged to be made quickly. Says nothing about a stream that it does not understand:
//! that is for the thorough decoder, which finds the reason.
//!
//! Never writes beyond the room that it is given, and reads every byte at most once.

use bits::Bits;
use code::Code;

mod bits;
mod code;

const LITERALS: usize = 288;
const DISTANCES: usize = 32;
/// Of which 19 are used.
const LENGTHS: usize = 24;
/// The order in which the lengths of the code for lengths are noted.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// What a symbol stands for, in the upper 24 bits: a byte, the end, or a number with so many further bits.
const LITERAL: u32 = 1 << 31;
const END: u32 = 1 << 30;
const UNKNOWN: u32 = 1 << 29;

const fn number(base: u32, further: u32) -> u32 {
    base << 12 | further << 4
}

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // evaluated by the compiler, indexes below the lengths
const fn literals() -> [u32; LITERALS] {
    let mut values = [UNKNOWN; LITERALS];
    let mut symbol = 0;
    while symbol < 256 {
        values[symbol] = LITERAL | (symbol as u32) << 12;
        symbol += 1;
    }
    values[256] = END;
    let mut base = 3;
    while symbol < 284 {
        symbol += 1;
        let step = symbol as u32 - 257;
        let further = if step < 8 { 0 } else { step / 4 - 1 };
        values[symbol] = number(base, further);
        base += 1 << further;
    }
    values[285] = number(258, 0);
    values
}

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // evaluated by the compiler, indexes below the length
const fn distances() -> [u32; DISTANCES] {
    let mut values = [UNKNOWN; DISTANCES];
    let (mut symbol, mut base) = (0, 1);
    while symbol < 30 {
        let further = if symbol < 4 { 0 } else { symbol as u32 / 2 - 1 };
        values[symbol] = number(base, further);
        base += 1 << further;
        symbol += 1;
    }
    values
}

#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation)] // evaluated by the compiler, indexes below the length
const fn lengths() -> [u32; LENGTHS] {
    let mut values = [UNKNOWN; LENGTHS];
    let mut symbol = 0;
    while symbol < 19 {
        values[symbol] = number(symbol as u32, 0);
        symbol += 1;
    }
    values
}

static LITERAL_VALUES: [u32; LITERALS] = literals();
static DISTANCE_VALUES: [u32; DISTANCES] = distances();
static LENGTH_VALUES: [u32; LENGTHS] = lengths();

/// The three codes of a block, kept from one stream to the next for their room alone.
pub(super) struct Plain {
    literals: Code<1024, LITERALS>,
    distances: Code<512, DISTANCES>,
    lengths: Code<128, LENGTHS>,
}

impl Plain {
    pub(super) const fn new() -> Self {
        Plain { literals: Code::new(), distances: Code::new(), lengths: Code::new() }
    }

    /// Fills `output` exactly. `None` for a stream that is not plain, or gives more or less; the output is then of no
    /// meaning.
    pub(super) fn inflate(&mut self, data: &[u8], output: &mut [u8]) -> Option<()> {
        let mut bits = Bits::of(data);
        let mut at = 0;
        loop {
            bits.refill();
            let last = bits.take(1)? == 1;
            at = match bits.take(2)? {
                0 => stored(&mut bits, output, at)?,
                1 => {
                    self.fixed()?;
                    self.block(&mut bits, output, at)?
                }
                2 => {
                    self.dynamic(&mut bits)?;
                    self.block(&mut bits, output, at)?
                }
                _ => return None,
            };
            if last {
                return (at == output.len()).then_some(());
            }
        }
    }

    fn fixed(&mut self) -> Option<()> {
        let mut lengths = [8; LITERALS];
        lengths.iter_mut().skip(144).take(112).for_each(|length| *length = 9);
        lengths.iter_mut().skip(256).take(24).for_each(|length| *length = 7);
        self.literals.arrange(&lengths, &LITERAL_VALUES)?;
        self.distances.arrange(&[5; DISTANCES], &DISTANCE_VALUES)
    }

    /// Reads the codes of a block.
    fn dynamic(&mut self, bits: &mut Bits<'_>) -> Option<()> {
        let literals = usize::try_from(bits.take(5)?).ok()? + 257;
        let distances = usize::try_from(bits.take(5)?).ok()? + 1;
        let noted = usize::try_from(bits.take(4)?).ok()? + 4;
        if literals > 286 || distances > 30 {
            return None;
        }
        let mut lengths = [0; LENGTHS];
        for place in ORDER.into_iter().take(noted) {
            bits.refill();
            *lengths.get_mut(place)? = u8::try_from(bits.take(3)?).ok()?;
        }
        self.lengths.arrange(&lengths, &LENGTH_VALUES)?;
        let mut both = [0; LITERALS + DISTANCES];
        let both = both.get_mut(..literals + distances)?;
        self.read_lengths(bits, both)?;
        let (of_literals, of_distances) = both.split_at_checked(literals)?;
        self.literals.arrange(&padded(of_literals)?, &LITERAL_VALUES)?;
        self.distances.arrange(&padded(of_distances)?, &DISTANCE_VALUES)
    }

    fn read_lengths(&self, bits: &mut Bits<'_>, lengths: &mut [u8]) -> Option<()> {
        let mut at = 0;
        while at < lengths.len() {
            bits.refill();
            let symbol = self.lengths.next(bits, &LENGTH_VALUES)? >> 12;
            let (length, count) = match symbol {
                0..=15 => (u8::try_from(symbol).ok()?, 1),
                16 => (*lengths.get(at.checked_sub(1)?)?, bits.take(2)? + 3),
                17 => (0, bits.take(3)? + 3),
                _ => (0, bits.take(7)? + 11),
            };
            let end = at + usize::try_from(count).ok()?;
            lengths.get_mut(at..end)?.fill(length);
            at = end;
        }
        Some(())
    }

    /// Decodes to the end of a block; gives where the output then ends.
    fn block(&self, outer: &mut Bits<'_>, output: &mut [u8], mut at: usize) -> Option<usize> {
        // Of this function alone, so that it need not be in memory.
        let mut bits = outer.clone();
        loop {
            // A literal takes at most 15 bits; a repetition takes 48 at most.
            if bits.count() < 48 {
                bits.refill();
            }
            let entry = self.literals.next(&mut bits, &LITERAL_VALUES)?;
            if entry & LITERAL != 0 {
                *output.get_mut(at)? = byte(entry);
                at += 1;
            } else if entry & END != 0 {
                *outer = bits;
                return Some(at);
            } else {
                let length = value(entry, &mut bits)?;
                let distance = value(self.distances.next(&mut bits, &DISTANCE_VALUES)?, &mut bits)?;
                at = repeat(output, at, distance, length)?;
            }
        }
    }
}

/// The lengths, and zero for the symbols that have none.
fn padded<const N: usize>(lengths: &[u8]) -> Option<[u8; N]> {
    let mut all = [0; N];
    all.get_mut(..lengths.len())?.copy_from_slice(lengths);
    Some(all)
}

fn byte(entry: u32) -> u8 {
    let [_, low, high, _] = entry.to_le_bytes();
    low >> 4 | high << 4
}

/// The number that a symbol begins.
fn value(entry: u32, bits: &mut Bits<'_>) -> Option<usize> {
    if entry & (LITERAL | END | UNKNOWN) != 0 {
        return None;
    }
    usize::try_from((entry >> 12) + bits.take(entry >> 4 & 0xf)?).ok()
}

/// Repeats what was written `distance` bytes before.
fn repeat(output: &mut [u8], at: usize, distance: usize, length: usize) -> Option<usize> {
    let from = at.checked_sub(distance)?;
    let end = at.checked_add(length).filter(|end| *end <= output.len())?;
    if distance >= length {
        output.copy_within(from..from + length, at);
    } else {
        // What is written here is repeated itself.
        for to in at..end {
            let byte = *output.get(to - distance)?;
            *output.get_mut(to)? = byte;
        }
    }
    Some(end)
}

fn stored(bits: &mut Bits<'_>, output: &mut [u8], at: usize) -> Option<usize> {
    let [low, high, not_low, not_high] = bits.bytes(4)?.first_chunk().copied()?;
    let length = u16::from_le_bytes([low, high]);
    if length != !u16::from_le_bytes([not_low, not_high]) {
        return None;
    }
    let content = bits.bytes(usize::from(length))?;
    let end = at + content.len();
    output.get_mut(at..end)?.copy_from_slice(content);
    Some(end)
}

#[cfg(test)]
mod tests;
