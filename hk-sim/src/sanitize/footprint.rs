//! Which bytes an operation accessed, and how.

use std::cmp::Ordering;
use std::ops::{BitOr, BitOrAssign};

/// How bytes were accessed: a set, as one operation may do several things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch(u8);

impl Touch {
    /// A plain read.
    pub const READ: Self = Self(1);
    /// A plain write.
    pub const WRITE: Self = Self(2);
    /// A read that is atomic for the device.
    pub const ATOMIC_READ: Self = Self(4);
    /// A write, or an operation on memory, that is atomic for the device.
    pub const ATOMIC_WRITE: Self = Self(8);

    /// What must be ordered with this: everything with a write, writes with a read; atomic accesses
    /// may meet.
    const fn against(self) -> u8 {
        let mut set = 0;
        if self.0 & Self::READ.0 != 0 {
            set |= Self::WRITE.0 | Self::ATOMIC_WRITE.0;
        }
        if self.0 & Self::WRITE.0 != 0 {
            set |= 15;
        }
        if self.0 & Self::ATOMIC_READ.0 != 0 {
            set |= Self::WRITE.0;
        }
        if self.0 & Self::ATOMIC_WRITE.0 != 0 {
            set |= Self::READ.0 | Self::WRITE.0;
        }
        set
    }

    /// Whether the two must be ordered.
    const fn conflicts(self, other: Self) -> bool {
        self.against() & other.0 != 0
    }

    /// Whether everything that must be ordered with `earlier` must be with this, too.
    const fn as_strict_as(self, earlier: Self) -> bool {
        earlier.against() & !self.against() == 0
    }

    /// Whether anything is written.
    pub const fn writes(self) -> bool {
        self.0 & (Self::WRITE.0 | Self::ATOMIC_WRITE.0) != 0
    }
}

impl BitOr for Touch {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Touch {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// Bytes that an operation accessed in one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// Byte behind the last.
    pub end: u64,
    /// How.
    pub touch: Touch,
    /// Index of the instruction, if it is one.
    pub instruction: Option<u32>,
}

impl Span {
    /// Bytes that no instruction accesses.
    pub fn new(start: u64, len: u64, touch: Touch) -> Self {
        Self { start, end: start.saturating_add(len), touch, instruction: None }
    }
}

/// Spans that are kept of an operation. A kernel that accesses more separate pieces is rare; what
/// is beyond is not checked.
const MAX_SPANS: usize = 1 << 20;

/// All that an operation accessed: spans in ascending order that do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint(Vec<Span>);

impl Footprint {
    /// Adds a span behind the others; one that continues the last one is merged with it.
    pub fn push(&mut self, span: Span) {
        let full = self.0.len() == MAX_SPANS;
        match self.0.last_mut() {
            Some(last) if last.end == span.start && last.touch == span.touch => {
                last.end = span.end;
                if last.instruction != span.instruction {
                    last.instruction = None;
                }
            }
            _ if span.start >= span.end || full => {}
            _ => self.0.push(span),
        }
    }

    /// The spans.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether nothing is accessed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first byte that both access in ways which must be ordered, with the span of each.
    pub fn conflict(&self, other: &Self) -> Option<(u64, Span, Span)> {
        let (mut mine, mut theirs) = (self.0.as_slice(), other.0.as_slice());
        while let ([a, left @ ..], [b, right @ ..]) = (mine, theirs) {
            let start = a.start.max(b.start);
            if start < a.end.min(b.end) && a.touch.conflicts(b.touch) {
                return Some((start, *a, *b));
            }
            match a.end.cmp(&b.end) {
                Ordering::Less => mine = left,
                _ => theirs = right,
            }
        }
        None
    }

    /// Drops the bytes for which `later`, which is ordered behind this, stands as well: whatever
    /// is in a race with this is in one with `later`, too.
    pub fn supersede(&mut self, later: &Self) {
        let overlaps = match (self.0.first(), self.0.last(), later.0.first(), later.0.last()) {
            (Some(a), Some(z), Some(b), Some(y)) => a.start < y.end && b.start < z.end,
            _ => false,
        };
        if !overlaps {
            return;
        }
        let mut kept = Vec::with_capacity(self.0.len());
        let mut behind = later.0.as_slice();
        for span in &self.0 {
            let mut rest = *span;
            while let [first, others @ ..] = behind
                && first.end <= rest.start
            {
                behind = others;
            }
            for over in behind.iter().take_while(|over| over.start < span.end) {
                if !over.touch.as_strict_as(span.touch) {
                    continue;
                }
                if rest.start < over.start {
                    kept.push(Span { end: over.start, ..rest });
                }
                rest.start = rest.start.max(over.end);
            }
            if rest.start < rest.end {
                kept.push(rest);
            }
        }
        self.0 = kept;
    }
}

impl FromIterator<Span> for Footprint {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut all = Self::default();
        spans.into_iter().for_each(|span| all.push(span));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Touch; 4] = [Touch::READ, Touch::WRITE, Touch::ATOMIC_READ, Touch::ATOMIC_WRITE];

    #[test]
    fn ways_of_access_conflict_as_they_do_in_a_launch() {
        let expected = [
            // read, write, atomic read, atomic write
            [false, true, false, true],
            [true, true, true, true],
            [false, true, false, false],
            [true, true, false, false],
        ];
        for (a, row) in ALL.into_iter().zip(expected) {
            for (b, conflicts) in ALL.into_iter().zip(row) {
                assert_eq!(a.conflicts(b), conflicts, "{a:?} {b:?}");
                // A set conflicts if one of its members does.
                assert!((a | Touch::WRITE).conflicts(b));
            }
        }
        for earlier in ALL {
            for later in ALL {
                let stands = ALL.iter().all(|z| !earlier.conflicts(*z) || later.conflicts(*z));
                assert_eq!(later.as_strict_as(earlier), stands, "{later:?} {earlier:?}");
            }
        }
    }

    /// How each of 24 bytes is accessed, from a seed.
    fn bytes(seed: u64) -> [Option<Touch>; 24] {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut touch = None;
        std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if state >> 62 == 0 {
                touch = ALL.get((state >> 32) as usize % 6).copied();
            }
            touch
        })
    }

    fn footprint(bytes: &[Option<Touch>]) -> Footprint {
        let spans = bytes.iter().zip(0..);
        spans.filter_map(|(touch, at)| touch.map(|touch| Span::new(at, 1, touch))).collect()
    }

    #[test]
    fn footprints_are_compared_byte_by_byte() {
        let mut conflicts = 0;
        for seed in 0..2000 {
            let (a, b) = (bytes(2 * seed), bytes(2 * seed + 1));
            let (one, other) = (footprint(&a), footprint(&b));
            let pairs = || a.iter().zip(&b);
            let expected = pairs().position(|pair| match pair {
                (Some(a), Some(b)) => a.conflicts(*b),
                _ => false,
            });
            let found = one.conflict(&other);
            assert_eq!(found.map(|(at, ..)| at as usize), expected, "{seed}");
            if let (Some((_, left, right)), Some(at)) = (found, expected) {
                assert_eq!((Some(left.touch), Some(right.touch)), (a[at], b[at]));
                conflicts += 1;
            }
            let left = pairs().map(|(earlier, later)| match (earlier, later) {
                (Some(earlier), Some(later)) if later.as_strict_as(*earlier) => None,
                _ => *earlier,
            });
            let mut rest = one;
            rest.supersede(&other);
            let rejoined: Footprint = rest.spans().iter().copied().collect();
            assert_eq!(rejoined, footprint(&left.collect::<Vec<_>>()), "{seed}");
        }
        assert!((200..1800).contains(&conflicts), "{conflicts}");
    }

    #[test]
    fn merged_spans_forget_who_accessed_them() {
        let by = |start, instruction| Span {
            instruction: Some(instruction),
            ..Span::new(start, 4, Touch::WRITE)
        };
        let all: Footprint = [by(0, 7), by(4, 7), by(12, 7), by(16, 8)].into_iter().collect();
        let found: Vec<_> = all.spans().iter().map(|s| (s.start, s.end, s.instruction)).collect();
        assert_eq!(found, [(0, 8, Some(7)), (12, 20, None)]);
    }
}
