//! Grouped products: each group's rows with a matrix of its own, or with each other.

use hk_types::dtype::DType;
use ndarray::{ArrayView2, s};

use super::product::{Operands, Step, expect};
use crate::expected::Expected;

/// The rows of each group.
fn groups(sizes: &[usize]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    sizes.iter().scan(0, |end, size| {
        let start = *end;
        *end += size;
        Some(start..*end)
    })
}

/// `lhs[r] rhs[g]^T` for the rows r of each group g, with its steps, and its tolerance as an output of type
/// `dtype`. Rows behind the last group are `left`.
pub fn expect_grouped(
    lhs: ArrayView2<'_, f64>,
    rhs: &[ArrayView2<'_, f64>],
    sizes: &[usize],
    steps: &[Vec<Step>],
    (dtype, left): (DType, f64),
) -> Expected {
    let mut all = Expected::default();
    let columns = rhs.first().map_or(0, ArrayView2::nrows);
    for ((rows, rhs), steps) in groups(sizes).zip(rhs).zip(steps) {
        if !rows.is_empty() {
            let x = lhs.slice(s![rows, ..]);
            append(&mut all, expect(Operands { x, w: *rhs, integers: false }, steps, dtype, false));
        }
    }
    let rest = lhs.nrows() * columns - all.values.len();
    all.values.extend(std::iter::repeat_n(left, rest));
    all.allowed.extend(std::iter::repeat_n(0.0, rest));
    all
}

/// `sum_r lhs[r]^T rhs[r]` over the rows r of each group g, with its steps, and its tolerance as an output of
/// type `dtype`.
pub fn expect_sums(
    lhs: ArrayView2<'_, f64>,
    rhs: ArrayView2<'_, f64>,
    sizes: &[usize],
    steps: &[Vec<Step>],
    dtype: DType,
) -> Expected {
    let mut all = Expected::default();
    for (rows, steps) in groups(sizes).zip(steps) {
        let [x, w] = [lhs, rhs].map(|of| of.slice_move(s![rows.clone(), ..]).reversed_axes());
        append(&mut all, expect(Operands { x, w, integers: false }, steps, dtype, false));
    }
    all
}

/// `sum_r lhs[r]` over the rows r of each group g, with its tolerance as an output of f32.
pub fn expect_bias(lhs: ArrayView2<'_, f64>, sizes: &[usize]) -> Expected {
    let mut all = Expected::default();
    for rows in groups(sizes) {
        for column in lhs.columns() {
            let numbers = column.slice(s![rows.clone()]);
            let magnitude: f64 = numbers.iter().map(|number| number.abs()).sum();
            all.values.push(numbers.sum());
            // No number takes part in more additions than a quarter of the rows, and some.
            let additions = (rows.len() / 4 + 48) as f64;
            all.allowed.push(magnitude * additions * 2f64.powi(-24));
        }
    }
    all
}

fn append(all: &mut Expected, one: Expected) {
    all.values.extend(one.values);
    all.allowed.extend(one.allowed);
}
