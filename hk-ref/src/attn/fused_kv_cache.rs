//! Keys and values in the slots of a cache.

use hk_types::dtype::DType;

use super::rope::Rotated;
use crate::{Expected, Steps};

/// How the elements of slots are in a cache of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `[blocks, slots, heads, elements]`.
    Nhd,
    /// `[blocks, heads, slots, elements]`.
    Hnd,
    /// `[blocks, heads, elements / x, slots, x]`.
    Split,
    /// `[blocks, heads, elements, slots]`.
    Columns,
    /// `[blocks, heads, slots / x, elements, x]`.
    SplitColumns,
}

/// A cache.
#[derive(Debug, Clone, Copy)]
pub struct Cache {
    /// Its layout.
    pub layout: Layout,
    /// Blocks, slots of a block, heads, elements of a row.
    pub sizes: [usize; 4],
    /// Elements that stay together where the layout splits them.
    pub x: usize,
}

impl Cache {
    /// Its shape.
    pub fn shape(&self) -> Vec<usize> {
        let Self { layout, sizes: [blocks, slots, heads, elements], x } = *self;
        match layout {
            Layout::Nhd => vec![blocks, slots, heads, elements],
            Layout::Hnd => vec![blocks, heads, slots, elements],
            Layout::Split => vec![blocks, heads, elements / x, slots, x],
            Layout::Columns => vec![blocks, heads, elements, slots],
            Layout::SplitColumns => vec![blocks, heads, slots / x, elements, x],
        }
    }

    /// Which element, in row-major order, is that of a slot's head.
    fn index(&self, slot: usize, head: usize, element: usize) -> usize {
        let Self { sizes: [_, slots, ..], x, .. } = *self;
        let (block, slot) = (slot / slots, slot % slots);
        let at = match self.layout {
            Layout::Nhd => vec![block, slot, head, element],
            Layout::Hnd => vec![block, head, slot, element],
            Layout::Split => vec![block, head, element / x, slot, element % x],
            Layout::Columns => vec![block, head, element, slot],
            Layout::SplitColumns => vec![block, head, slot / x, element, slot % x],
        };
        at.iter().zip(self.shape()).fold(0, |index, (at, size)| index * size + at)
    }

    /// What a cache that held `held` holds with rows of tokens in their slots, divided by a scale
    /// if there is one, with so many parts of a pair's magnitudes allowed of what was rotated;
    /// slots that are not there are skipped, and those of several tokens not compared.
    pub fn expected(
        &self,
        held: Vec<f64>,
        rows: &Rotated,
        slots: &[i64],
        scale: Option<f32>,
        [from, to]: [DType; 2],
        part: f64,
    ) -> Expected {
        let [blocks, of_block, heads, width] = self.sizes;
        let count = blocks * of_block;
        let mut writers = vec![0; held.len()];
        let mut cache = Rotated { sizes: vec![None; held.len()], values: held };
        for (token, slot) in slots.iter().enumerate() {
            let Some(slot) = usize::try_from(*slot).ok().filter(|slot| *slot < count) else {
                continue;
            };
            for at in 0..heads * width {
                let index = self.index(slot, at / width, at % width);
                let of = token * heads * width + at;
                let (mut value, mut size) = (rows.values[of], rows.sizes[of]);
                if let Some(scale) = scale {
                    let inverse = 1.0 / scale;
                    // Of what was not rotated, the product in f32 is known.
                    value = match size {
                        None => f64::from(value as f32 * inverse),
                        Some(_) => value * f64::from(inverse),
                    };
                    size = Some(size.unwrap_or(0.0) * f64::from(inverse));
                } else if from != to {
                    size = size.or(Some(0.0));
                }
                (cache.values[index], cache.sizes[index]) = (value, size);
                writers[index] += 1;
            }
        }
        let once: Vec<usize> = (0..writers.len()).filter(|at| writers[*at] < 2).collect();
        let compared = |of: &[f64]| once.iter().map(|at| of[*at]).collect();
        let values = compared(&cache.values);
        let sizes = once.iter().map(|at| cache.sizes[*at]).collect();
        let expected = if to.size() == 1 {
            Expected::codes(values, Steps { share: 0.002, near: 2f64.powi(-16) })
        } else {
            // Elements that were there before are not to change.
            let expected = Rotated { values, sizes }.expected(to, to, part);
            Expected { frobenius: None, ..expected }
        };
        Expected { at: Some(once), ..expected }
    }

    /// As [`expected`](Self::expected), of elements that are copied bit by bit, into slots of one
    /// token each.
    pub fn copied<T: Copy>(&self, mut held: Vec<T>, rows: &[T], slots: &[i64]) -> Vec<T> {
        let [_, _, heads, width] = self.sizes;
        for (slot, row) in slots.iter().zip(rows.chunks_exact(heads * width)) {
            let Ok(slot) = usize::try_from(*slot) else { continue };
            for (at, element) in row.iter().enumerate() {
                held[self.index(slot, at / width, at % width)] = *element;
            }
        }
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attn::rope::TABLES;

    #[test]
    fn layouts_are_permutations_of_each_other() {
        for layout in
            [Layout::Nhd, Layout::Hnd, Layout::Split, Layout::Columns, Layout::SplitColumns]
        {
            let cache = Cache { layout, sizes: [3, 4, 2, 8], x: 2 };
            let mut seen: Vec<usize> = (0..12)
                .flat_map(|slot| (0..16).map(move |at| (slot, at / 8, at % 8)))
                .map(|(slot, head, element)| cache.index(slot, head, element))
                .collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..cache.shape().iter().product()), "{layout:?}");
        }
        let cache = Cache { layout: Layout::Split, sizes: [3, 4, 2, 8], x: 2 };
        // Block 1, head 1, elements 4 and 5, slot 2.
        assert_eq!(cache.index(6, 1, 5), (((2 + 1) * 4 + 2) * 4 + 2) * 2 + 1);
    }

    #[test]
    fn slots_that_are_not_there_are_skipped_and_those_of_two_not_compared() {
        let cache = Cache { layout: Layout::Nhd, sizes: [2, 2, 1, 1], x: 1 };
        let mut rows = Rotated::default();
        rows.copy(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let dtypes = [DType::Bf16, DType::Bf16];
        let held = vec![9.0; 4];
        let expected = cache.expected(held, &rows, &[3, -1, 4, 0, 0], Some(2.0), dtypes, TABLES);
        assert_eq!((expected.at, expected.values), (Some(vec![1, 2, 3]), vec![9.0, 9.0, 0.5]));
    }
}
