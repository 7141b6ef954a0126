//! Which bytes of LDS and of private memory were written.

use crate::exec::WAVE;
use crate::mem::masks;

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
}
