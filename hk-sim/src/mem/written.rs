//! Which bytes were ever written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Which bytes of an allocation were ever written, one bit each.
#[derive(Debug)]
pub struct Written {
    words: Box<[AtomicU64]>,
    len: u64,
    /// Set once all bytes are.
    complete: AtomicBool,
}

impl Written {
    /// An allocation of `len` bytes that nobody has written.
    pub fn new(len: u64) -> Self {
        const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
        // Memory that the host commits when it is touched, as that of the allocation itself.
        let zeros = vec![0u64; len.div_ceil(64) as usize].into_boxed_slice();
        // SAFETY: atomic integers are laid out as integers, and nobody else has these.
        let words = unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [AtomicU64]) };
        Self { words, len, complete: AtomicBool::new(len == 0) }
    }

    /// Notes that `len` bytes from `offset` on are written; what is outside is ignored.
    pub fn mark(&self, offset: u64, len: u64) {
        if self.complete.load(Ordering::Relaxed) {
            return;
        }
        if offset == 0 && len >= self.len {
            self.complete.store(true, Ordering::Relaxed);
            return;
        }
        for (word, mask) in masks(offset, offset.saturating_add(len).min(self.len)) {
            if self.words[word].load(Ordering::Relaxed) & mask != mask {
                self.words[word].fetch_or(mask, Ordering::Relaxed);
            }
        }
    }

    /// Takes `len` bytes from `offset` on for unwritten again; what is outside is ignored.
    pub fn forget(&self, offset: u64, len: u64) {
        if self.complete.load(Ordering::Relaxed) {
            self.words.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
            self.complete.store(self.len == 0, Ordering::Relaxed);
        }
        for (word, mask) in masks(offset, offset.saturating_add(len).min(self.len)) {
            self.words[word].fetch_and(!mask, Ordering::Relaxed);
        }
    }

    /// Whether all of `len` bytes from `offset` on are written; what is outside counts as written.
    pub fn is_written(&self, offset: u64, len: u64) -> bool {
        self.complete.load(Ordering::Relaxed)
            || masks(offset, offset.saturating_add(len).min(self.len))
                .all(|(word, mask)| self.words[word].load(Ordering::Relaxed) & mask == mask)
    }
}

/// Words of a bit set with one bit per byte, with the bits of the bytes `from..to`.
pub(crate) fn masks(from: u64, to: u64) -> impl Iterator<Item = (usize, u64)> {
    let words = if from < to { from / 64..(to - 1) / 64 + 1 } else { 0..0 };
    words.map(move |word| {
        let low = if word == from / 64 { u64::MAX << (from % 64) } else { u64::MAX };
        let high = if word == to / 64 { (1 << (to % 64)) - 1 } else { u64::MAX };
        (word as usize, low & high)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_marked_one_by_one() {
        let written = Written::new(200);
        assert!(
            !written.is_written(0, 1) && written.is_written(200, 10) && written.is_written(5, 0)
        );
        written.mark(60, 10);
        written.mark(128, 64);
        for byte in 0..200 {
            let expected = (60..70).contains(&byte) || (128..192).contains(&byte);
            assert_eq!(written.is_written(byte, 1), expected, "{byte}");
        }
        assert!(written.is_written(60, 10) && !written.is_written(59, 2));
        assert!(!written.is_written(60, 69) && written.is_written(128, 64));
        written.mark(0, 200);
        assert!(written.is_written(0, 200));
        written.forget(70, 300);
        assert!(written.is_written(0, 70) && !written.is_written(0, 71));
        assert!((70..200).all(|byte| !written.is_written(byte, 1)));
    }
}
