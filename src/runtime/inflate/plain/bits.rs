//! The bits of a stream, lowest first. Gives none that the stream does not hold.

#[derive(Clone)]
pub(super) struct Bits<'a> {
    data: &'a [u8],
    /// The next byte that is not held yet.
    at: usize,
    /// The next bits. Above `count` stand, if anything, bits that will be held again.
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) const fn of(data: &'a [u8]) -> Self {
        Bits { data, at: 0, held: 0, count: 0 }
    }

    /// Holds 56 bits or more, or all that are left.
    #[inline]
    pub(super) fn refill(&mut self) {
        let rest = self.data.get(self.at..).unwrap_or_default();
        if let Some(next) = rest.first_chunk::<8>() {
            self.held |= u64::from_le_bytes(*next) << self.count;
            self.at += usize::try_from((63 - self.count) >> 3).unwrap_or_default();
            // To the most that whole bytes give: 56 to 63.
            self.count |= 0b11_1000;
        } else {
            for byte in rest {
                if self.count > 55 {
                    break;
                }
                self.held |= u64::from(*byte) << self.count;
                self.at += 1;
                self.count += 8;
            }
        }
    }

    /// The bits held, and perhaps more or fewer than a code needs.
    #[inline]
    pub(super) const fn peek(&self) -> u64 {
        self.held
    }

    /// How many bits are held.
    #[inline]
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Leaves bits behind; `None` if so many are not held. At most 56.
    #[inline]
    pub(super) fn skip(&mut self, count: u32) -> Option<()> {
        self.count = self.count.checked_sub(count)?;
        self.held >>= count;
        Some(())
    }

    /// The next bits, at most 16, as a number.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        let [low, high, ..] = self.held.to_le_bytes();
        let bits = u32::from(u16::from_le_bytes([low, high])) & ((1 << count) - 1);
        self.skip(count)?;
        Some(bits)
    }

    /// So many whole bytes, from the next one that no bit was taken from.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let from = self.at.checked_sub(usize::try_from(self.count / 8).ok()?)?;
        let end = from.checked_add(count)?;
        let bytes = self.data.get(from..end)?;
        (self.at, self.held, self.count) = (end, 0, 0);
        Some(bytes)
    }
}
