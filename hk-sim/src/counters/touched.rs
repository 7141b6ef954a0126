//! Sets of bytes of memory.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::mem::Mixer;

const WORD: u64 = u64::BITS as u64;
/// Words of a page: 4 KiB, a bit each.
const WORDS: usize = 64;
const PAGE: u64 = WORD * WORDS as u64;

/// A set of addresses.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pages: HashMap<u64, Box<[u64; WORDS]>, BuildHasherDefault<Mixer>>,
}

impl Touched {
    /// Adds `len` bytes from `start` on.
    pub(crate) fn insert(&mut self, start: u64, len: u64) {
        let end = start.saturating_add(len);
        let mut at = start;
        while at < end {
            let stop = end.min((at / PAGE + 1).saturating_mul(PAGE));
            let words = self.pages.entry(at / PAGE).or_insert_with(|| Box::new([0; WORDS]));
            while at < stop {
                let next = stop.min((at / WORD + 1).saturating_mul(WORD));
                let bits = u64::MAX >> (WORD - (next - at));
                words[(at % PAGE / WORD) as usize] |= bits << (at % WORD);
                at = next;
            }
        }
    }

    /// Adds the bytes of another set.
    pub(crate) fn merge(&mut self, other: Self) {
        if self.pages.is_empty() {
            *self = other;
            return;
        }
        for (page, words) in other.pages {
            let own = self.pages.entry(page).or_insert_with(|| Box::new([0; WORDS]));
            for (own, word) in own.iter_mut().zip(*words) {
                *own |= word;
            }
        }
    }

    /// Bytes of the set.
    pub(crate) fn len(&self) -> u64 {
        let words = self.pages.values().flat_map(|words| words.iter());
        words.map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_once() {
        let mut touched = Touched::default();
        for (start, len, expected) in
            [(10, 4, 4), (12, 4, 6), (63, 2, 8), (4000, 200, 208), (0, 8192, 8192), (5, 0, 8192)]
        {
            touched.insert(start, len);
            assert_eq!(touched.len(), expected, "{len} bytes from {start}");
        }
        let mut other = Touched::default();
        other.insert(8190, 4);
        touched.merge(other);
        assert_eq!(touched.len(), 8194);
    }
}
