//! Memory for a secret: pages of its own, kept out of swap where the system allows it, wiped before they are given back.
//! Says whether it is locked and never pretends; has no `Debug` and no clone.

use zeroize::{Zeroize, Zeroizing};

/// A buffer of fixed size on pages that hold nothing else.
pub struct LockedBuffer {
    // In this order: unlocked first, then given back. It is wiped before both.
    lock: Option<region::LockGuard>,
    pages: Zeroizing<Vec<u8>>,
    start: usize,
    length: usize,
}

impl LockedBuffer {
    /// Zeroed bytes. If the pages cannot be locked (the limit `RLIMIT_MEMLOCK`, or a call filter around this process) the
    /// buffer is there all the same and [`LockedBuffer::is_locked`] says so.
    pub fn new(length: usize) -> Self {
        let page = region::page::size();
        let whole = length.max(1).div_ceil(page).saturating_mul(page);
        // One page more, so that whole pages lie within wherever the allocation begins. Written, so that they exist.
        let pages = Zeroizing::new(vec![0; whole.saturating_add(page)]);
        let start = pages.as_ptr().align_offset(page).min(page);
        let lock = pages.get(start..).and_then(|own| region::lock(own.as_ptr(), whole).ok());
        Self { lock, pages, start, length }
    }

    /// Whether the kernel keeps it out of swap.
    pub const fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.pages.get(self.start..).and_then(|own| own.get(..self.length)).unwrap_or_default()
    }

    /// The bytes, to be written.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.pages.get_mut(self.start..).and_then(|own| own.get_mut(..self.length)).unwrap_or_default()
    }
}

impl Drop for LockedBuffer {
    fn drop(&mut self) {
        self.pages.as_mut_slice().zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::LockedBuffer;

    #[test]
    fn a_buffer_lies_on_pages_of_its_own_and_holds_what_is_written() {
        let page = region::page::size();
        for length in [0, 1, page, page + 1, 16_386] {
            let (mut one, other) = (LockedBuffer::new(length), LockedBuffer::new(length));
            assert_eq!(one.as_slice(), vec![0; length]);
            one.as_mut_slice().fill(7);
            assert_eq!(one.as_slice(), vec![7; length], "all of it can be written");
            assert_eq!(one.as_slice().as_ptr().align_offset(page), 0, "{length}");
            let pages = |buffer: &LockedBuffer| {
                let first = buffer.as_slice().as_ptr().addr() / page;
                first..=first + length.saturating_sub(1) / page
            };
            assert!(pages(&one).all(|number| !pages(&other).contains(&number)), "they share a page");
        }
    }
}
