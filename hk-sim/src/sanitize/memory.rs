//! Which bytes were ever written.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::exec::WAVE;

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

    /// Whether all of `len` bytes from `offset` on are written; what is outside counts as written.
    pub fn is_written(&self, offset: u64, len: u64) -> bool {
        self.complete.load(Ordering::Relaxed)
            || masks(offset, offset.saturating_add(len).min(self.len))
                .all(|(word, mask)| self.words[word].load(Ordering::Relaxed) & mask == mask)
    }
}

/// Which bytes of LDS or of private memory were written, one bit each.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    words: Vec<u64>,
    len: u64,
}

impl Bytes {
    /// Nothing of `len` bytes is written.
    pub(super) fn reset(&mut self, len: u64) {
        self.len = len;
        self.words.clear();
        self.words.resize(len.div_ceil(64) as usize, 0);
    }

    /// Sets whether the bytes are written; what is outside is ignored.
    #[inline]
    pub(super) fn set(&mut self, start: u64, len: u64, written: bool) {
        for (word, mask) in masks(start, start.saturating_add(len).min(self.len)) {
            let word = &mut self.words[word];
            *word = if written { *word | mask } else { *word & !mask };
        }
    }

    /// Whether all bytes are written; what is outside counts as written.
    #[inline]
    pub(super) fn all(&self, start: u64, len: u64) -> bool {
        masks(start, start.saturating_add(len).min(self.len))
            .all(|(word, mask)| self.words[word] & mask == mask)
    }

    /// Whether `bytes` bytes of each lane are written, which a power of two up to 16 shows at once if
    /// it divides all offsets; otherwise false.
    #[inline]
    pub(super) fn all_of_lanes(&self, at: &[u64; WAVE], bytes: u32) -> bool {
        if !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
            return false;
        }
        let (bytes, mask) = (u64::from(bytes), (1 << bytes) - 1);
        let (mut odd, mut missing) = (0, 0);
        for start in at {
            let word = self.words.get((start / 64) as usize).copied().unwrap_or(0);
            odd |= start;
            missing |= !(word >> (start % 64)) & mask;
        }
        odd % bytes == 0 && missing == 0
    }
}

/// Words of a bit set with one bit per byte, with the bits of the bytes `from..to`.
fn masks(from: u64, to: u64) -> impl Iterator<Item = (usize, u64)> {
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
    fn bytes_are_set_and_reset() {
        let mut bytes = Bytes::default();
        bytes.reset(100);
        bytes.set(10, 70, true);
        bytes.set(64, 1, false);
        for byte in 0..100 {
            assert_eq!(bytes.all(byte, 1), (10..80).contains(&byte) && byte != 64);
        }
        assert!(bytes.all(10, 54) && !bytes.all(10, 55) && bytes.all(100, 9) && bytes.all(3, 0));
        bytes.set(90, u64::MAX, true);
        assert!(bytes.all(90, 20));
        bytes.reset(100);
        assert!(!bytes.all(90, 1));
    }

    #[test]
    fn lanes_are_looked_at_together() {
        let mut bytes = Bytes::default();
        bytes.reset(4096);
        bytes.set(64, 1024, true);
        bytes.set(500, 1, false);
        let lanes =
            |start: u64, stride: u64| std::array::from_fn(|lane| start + stride * lane as u64);
        for (start, stride, size, expected) in [
            (64, 4, 4, true),
            (64, 0, 16, true),
            (60, 4, 4, false),
            (64, 8, 8, false),
            (512, 8, 8, true),
            (66, 4, 4, false),
            (512, 4, 12, false),
            (1 << 40, 0, 4, false),
        ] {
            let found = bytes.all_of_lanes(&lanes(start, stride), size);
            assert_eq!(found, expected, "{size} bytes at {start}, {stride} apart");
        }
    }

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
    }
}
