//! Whether two strided sets of elements share memory, and whether one has an element twice.
//!
//! The positions of a layout's elements are sums of a stride times an index for each dimension. Two
//! layouts share memory where their sums differ by less than an element: an equation with one bounded
//! unknown per dimension, and some slack. It is solved exactly by trying, from the largest stride
//! down, the few indices that the smaller strides can still make up for. For layouts that are parts
//! of contiguous tensors these are one or two.

use super::layout::{Layout, MAX_RANK};
use super::region::Placement;

/// Values that are tried before an overlap is assumed. Layouts whose dimensions nest, as those of
/// all views of contiguous tensors do, stay far below.
const MOST_TRIES: u32 = 100_000;

/// `factor * x` with `0 <= x <= most`.
#[derive(Debug, Clone, Copy, Default)]
struct Term {
    factor: i128,
    most: i128,
}

/// `target - slack <= Σ factor x <= target`, with terms by falling factors, none 0.
struct Equation {
    terms: [Term; 2 * MAX_RANK],
    count: usize,
    slack: i128,
    tries: u32,
}

impl Equation {
    fn new(slack: i128) -> Self {
        Self { terms: [Term::default(); 2 * MAX_RANK], count: 0, slack, tries: 0 }
    }

    /// Adds a term; those of one factor are one, whose sum reaches as far.
    fn add(&mut self, factor: i128, most: i128) {
        if factor == 0 || most == 0 {
            return;
        }
        let terms = &mut self.terms[..self.count];
        if let Some(same) = terms.iter_mut().find(|term| term.factor == factor) {
            same.most += most;
            return;
        }
        self.terms[self.count] = Term { factor, most };
        self.count += 1;
    }

    fn has_solution(&mut self, target: i128) -> bool {
        self.terms[..self.count].sort_by_key(|term| -term.factor);
        self.reaches(0, target)
    }

    /// Whether the terms from `first` on can be `target`; yes if that takes too long to tell.
    fn reaches(&mut self, first: usize, target: i128) -> bool {
        if (0..=self.slack).contains(&target) {
            return true;
        }
        let Some((term, rest)) = self.terms[first..self.count].split_first() else { return false };
        let Term { factor, most } = *term;
        // All sums are multiples of the divisor; those of the terms behind are at most `reach`.
        let divisor = rest.iter().fold(factor, |a, term| greatest_common_divisor(a, term.factor));
        let reach: i128 = rest.iter().map(|term| term.factor * term.most).sum();
        if target < 0 || target % divisor > self.slack {
            return false;
        }
        let least = (target - self.slack - reach).max(0);
        let least = least / factor + i128::from(least % factor != 0);
        for x in (least..=most.min(target / factor)).rev() {
            self.tries += 1;
            if self.tries > MOST_TRIES || self.reaches(first + 1, target - factor * x) {
                return true;
            }
        }
        false
    }
}

fn greatest_common_divisor(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Placement {
    /// Bits from an element to the next.
    const fn bits(self) -> i128 {
        (self.size * 8 / self.pack) as i128
    }
}

impl Layout {
    /// Steps in bits and their numbers, of every dimension.
    fn steps(&self, at: Placement) -> impl Iterator<Item = (i128, i128)> {
        let steps = self.shape().iter().zip(self.strides());
        steps.map(move |(dim, stride)| (*stride as i128 * at.bits(), *dim as i128 - 1))
    }

    /// Whether some element of `self` at `a` and some element of `other` at `b` share memory. Exact,
    /// but that layouts whose dimensions do not nest may be so irregular that it takes too long to
    /// tell: these overlap if their ranges do.
    pub(crate) fn overlaps(&self, a: Placement, other: &Self, b: Placement) -> bool {
        if self.len() == 0 || other.len() == 0 {
            return false;
        }
        // With `p = a + Σ step x` and `q = b + Σ step (most - y)`, counted from the end so that all
        // terms have one sign, `p - q` is more than `-a.bits()` and less than `b.bits()`.
        let mut equation = Equation::new(a.bits() + b.bits() - 2);
        let mut target = (i128::from(b.start) - i128::from(a.start)) * 8 + b.bits() - 1;
        for (step, most) in self.steps(a) {
            equation.add(step, most);
        }
        for (step, most) in other.steps(b) {
            equation.add(step, most);
            target += step * most;
        }
        equation.has_solution(target)
    }

    /// Whether no two indices lead to the same element. May be false for layouts whose dimensions do
    /// not nest.
    pub(crate) fn is_injective(&self) -> bool {
        let mut steps = [(0, 0); MAX_RANK];
        let mut count = 0;
        for (dim, stride) in self.shape().iter().zip(self.strides()).filter(|(dim, _)| **dim > 1) {
            steps[count] = (*stride, *dim);
            count += 1;
        }
        steps[..count].sort_unstable();
        let mut reach = 0;
        self.len() == 0
            || steps[..count].iter().all(|(stride, dim)| {
                let nests = *stride > reach;
                reach += stride * (dim - 1);
                nests
            })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// A layout by its dimensions and strides, with its place.
    #[derive(Debug, Clone)]
    struct Sample {
        layout: Layout,
        place: Placement,
    }

    /// Numbers that look random, by xorshift.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % limit as u64) as usize
        }
    }

    /// Every bit of every element, by the definition of strides.
    fn bits(sample: &Sample) -> HashSet<u64> {
        let Sample { layout, place } = sample;
        let width = (place.size * 8 / place.pack) as u64;
        let mut positions = vec![place.start * 8];
        for (dim, stride) in layout.shape().iter().zip(layout.strides()) {
            positions = positions
                .iter()
                .flat_map(|at| (0..*dim).map(move |index| at + (index * stride) as u64 * width))
                .collect();
        }
        positions.iter().flat_map(|at| *at..at + width).collect()
    }

    fn overlap(a: &Sample, b: &Sample) -> bool {
        let found = a.layout.overlaps(a.place, &b.layout, b.place);
        assert_eq!(found, b.layout.overlaps(b.place, &a.layout, a.place), "{a:?} {b:?}");
        found
    }

    /// Any strides, 0 among them, that need not nest.
    fn irregular(random: &mut Random) -> Sample {
        let rank = random.below(4);
        let (mut dims, mut strides) = (Vec::new(), Vec::new());
        for _ in 0..rank {
            dims.push(1 + random.below(4));
            strides.push(random.below(12));
        }
        let (size, pack) = [(1, 1), (2, 1), (4, 1), (1, 2)][random.below(4)];
        let layout = Layout::strided("test", &dims, &strides, 1).unwrap();
        Sample { layout, place: Placement { start: random.below(40) as u64, size, pack } }
    }

    /// A view of a contiguous tensor at 0: ranges of some dimensions, in any order.
    fn regular(random: &mut Random, shape: &[usize]) -> Sample {
        let mut layout = Layout::contiguous("test", shape, 1).unwrap();
        let mut start = 0;
        for (axis, dim) in shape.iter().enumerate() {
            let from = random.below(*dim);
            let to = from + random.below(dim - from + 1);
            let (skip, part) = layout.narrow("test", axis, from..to, 1).unwrap();
            (start, layout) = (start + skip, part);
        }
        let mut axes: Vec<_> = (0..shape.len()).collect();
        axes.rotate_left(random.below(shape.len()));
        let layout = layout.permute("test", &axes, 1).unwrap();
        Sample { layout, place: Placement { start: start as u64 * 2, size: 2, pack: 1 } }
    }

    #[test]
    fn overlap_agrees_with_the_sets_of_bits() {
        let mut random = Random(0x5eed);
        let mut counts = [0; 2];
        for turn in 0..20_000 {
            let [a, b] = if turn % 2 == 0 {
                [irregular(&mut random), irregular(&mut random)]
            } else {
                let shape = [2 + random.below(2), 2, 1 + random.below(3), 1 + random.below(4)];
                [regular(&mut random, &shape), regular(&mut random, &shape)]
            };
            let expected = !bits(&a).is_disjoint(&bits(&b));
            assert_eq!(overlap(&a, &b), expected, "{a:?} {b:?}");
            counts[usize::from(expected)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 2000), "{counts:?}");
    }

    #[test]
    fn views_of_large_tensors_are_decided_at_once() {
        let view = |ranges: &[(usize, std::ops::Range<usize>)], shape: &[usize]| {
            let mut layout = Layout::contiguous("test", shape, 1).unwrap();
            let mut start = 0;
            for (axis, range) in ranges {
                let (skip, part) = layout.narrow("test", *axis, range.clone(), 1).unwrap();
                (start, layout) = (start + skip, part);
            }
            Sample { layout, place: Placement { start: start as u64 * 2, size: 2, pack: 1 } }
        };
        // The K and the V of a paged cache.
        let cache = [100_000, 2, 16, 8, 128];
        let [k, v] = [0..1, 1..2].map(|kv| view(&[(1, kv)], &cache));
        assert!(!overlap(&k, &v) && overlap(&k, &k));
        assert!(overlap(&v, &view(&[(0, 99_999..100_000)], &cache)));
        // Heads of one block, heads of others.
        let [a, b] = [0..4, 4..8].map(|heads| view(&[(3, heads)], &cache));
        assert!(!overlap(&a, &b) && !overlap(&view(&[(1, 0..1), (3, 0..4)], &cache), &b));
        // Columns of a wide projection.
        let rows = [1 << 20, 12_288];
        let [q, kv] = [0..8192, 8192..12_288].map(|columns| view(&[(1, columns)], &rows));
        assert!(!overlap(&q, &kv) && overlap(&view(&[(1, 8191..8193)], &rows), &kv));
        // The transpose of one beside the other.
        let turned = Sample { layout: q.layout.permute("test", &[1, 0], 1).unwrap(), ..q };
        assert!(!overlap(&turned, &kv) && overlap(&turned, &q));
    }

    #[test]
    fn irregular_layouts_are_told_in_bounded_time() {
        let dims = [50; MAX_RANK];
        let strides = |seed| {
            let mut random = Random(seed);
            [0; MAX_RANK].map(|_: usize| 2 * (1_000_000 + random.below(1_000_000)))
        };
        let sample = |seed, start| Sample {
            layout: Layout::strided("test", &dims, &strides(seed), 1).unwrap(),
            place: Placement { start, size: 1, pack: 1 },
        };
        // One has even positions, the other odd ones.
        assert!(!overlap(&sample(1, 0), &sample(2, 1)));
        assert!(overlap(&sample(1, 0), &sample(2, 2)));
    }

    #[test]
    fn layouts_that_repeat_an_element_are_known() {
        let injective = |dims: &[usize], strides: &[usize]| {
            Layout::strided("test", dims, strides, 1).unwrap().is_injective()
        };
        assert!(injective(&[4, 8], &[8, 1]) && injective(&[8, 4], &[1, 8]));
        assert!(injective(&[3, 1, 5], &[9, 0, 1]) && injective(&[0, 4], &[0, 0]));
        assert!(!injective(&[4, 8], &[0, 1]) && !injective(&[4, 8], &[7, 1]));
        // Every index has its own element, though the dimensions do not nest.
        assert!(!injective(&[2, 3], &[3, 2]));
        let mut random = Random(0x5eed);
        for _ in 0..2000 {
            let Sample { layout, .. } = irregular(&mut random);
            let place = Placement { start: 0, size: 1, pack: 1 };
            let distinct = bits(&Sample { layout, place }).len() == layout.len() * 8;
            assert!(distinct || !layout.is_injective(), "{layout:?}");
        }
    }
}
