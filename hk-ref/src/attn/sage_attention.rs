//! Attention of codes, and how queries, keys and values become such, of one head.

use hk_types::dtype::{DType, Real};

use super::attention::{Attended, Head, Scores, attend};
use crate::{Expected, Steps};

pub use super::attention::logarithms;

/// Codes of rows in blocks, and the scale of each.
#[derive(Debug, Clone, Default)]
pub struct Blocks {
    /// The codes.
    pub codes: Vec<Vec<f64>>,
    /// The scales.
    pub scales: Vec<f64>,
}

/// Rows in blocks of so many, of which the largest magnitude becomes `most`: in steps of f32, each code half
/// a code away from zero, then towards it, but not beyond `most`, which a subnormal scale may be too small for.
pub fn blocks(rows: &[Vec<f64>], size: usize, most: f64) -> Blocks {
    let mut all = Blocks::default();
    for block in rows.chunks(size) {
        let amax = block.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        let scale = amax as f32 / most as f32;
        let code = |x: &f64| {
            let ratio = if scale == 0.0 { 0.0 } else { *x as f32 / scale };
            f64::from((ratio + 0.5f32.copysign(ratio)).trunc()).clamp(-most, most)
        };
        all.codes.extend(block.iter().map(|row| row.iter().map(code).collect()));
        all.scales.push(scale.into());
    }
    all
}

/// The mean of each column of rows, of which there are as many as `count` says.
pub fn means(rows: &[Vec<f64>], count: usize) -> Vec<f64> {
    let width = rows.first().map_or(0, Vec::len);
    let column = |at: usize| rows.iter().map(|row| row[at]).sum::<f64>() / count as f64;
    (0..width).map(column).collect()
}

/// Rows without a mean, as numbers of type T.
pub fn smoothed<T: Real>(rows: &[Vec<f64>], mean: &[f64]) -> Vec<Vec<f64>> {
    let of = |row: &Vec<f64>| row.iter().zip(mean).map(|(x, m)| rounded::<T>(x - m)).collect();
    rows.iter().map(of).collect()
}

/// A number as one of type T.
pub fn rounded<T: Real>(x: f64) -> f64 {
    T::from_f64(x).to_f64()
}

/// What scores of codes are multiplied by, what is added to them, and which keys are seen.
#[derive(Debug, Clone)]
pub struct Coded<'a> {
    /// Scales of blocks of queries, and rows of one.
    pub q: (&'a [f64], usize),
    /// Scales of blocks of keys, and rows of one.
    pub k: (&'a [f64], usize),
    /// Scales of channels of values.
    pub v: &'a [f64],
    /// For each block of queries, what is added for each key.
    pub delta: Option<&'a [Vec<f64>]>,
    /// For each block of queries, the blocks of keys that it sees; all if there is no list.
    pub seen: Option<&'a [Vec<usize>]>,
    /// Visible keys before a query's position, and behind it.
    pub window: [Option<usize>; 2],
}

/// The attention of codes of a head: results, and logarithms of sums.
pub fn attended(codes: &Head, of: &Coded<'_>) -> Vec<Attended> {
    let keys = codes.k.len();
    let mut all = Vec::new();
    for (i, q) in codes.q.iter().enumerate() {
        let block = i / of.q.1;
        // One query at a time: blocks differ.
        let visible = |key: usize| of.seen.is_none_or(|seen| seen[block].contains(&(key / of.k.1)));
        let scores = Scores {
            scale: std::f64::consts::LN_2 * of.q.0[block],
            key_scales: Some((0..keys).map(|key| of.k.0[key / of.k.1]).collect()),
            bias: of.delta.map(|delta| {
                delta[block].iter().map(|delta| std::f64::consts::LN_2 * delta).collect()
            }),
            mask: Some((0..keys).map(visible).collect()),
            window: of.window,
            first_position: keys as i64 - codes.q.len() as i64 + i as i64,
            ..Scores::default()
        };
        let one = Head { q: vec![q.clone()], k: codes.k.clone(), v: codes.v.clone() };
        let mut row = attend(&one, &scores).remove(0);
        row.o.resize(of.v.len(), 0.0);
        row.o.iter_mut().zip(of.v).for_each(|(o, scale)| *o *= scale);
        all.push(row);
    }
    all
}

/// Codes that may be one off where they are next to a tie.
pub fn codes(values: Vec<f64>) -> Expected {
    let allowed = vec![0.0; values.len()];
    let steps = Some(Steps { share: 0.005, near: f64::INFINITY });
    Expected { values, allowed, steps, ..Expected::default() }
}

/// Scales.
pub fn scales(values: Vec<f64>) -> Expected {
    let allowed = values.iter().map(|value| 1e-6 * value.abs()).collect();
    Expected { values, allowed, ..Expected::default() }
}

/// Sums of products, of so many of numbers of these magnitudes.
pub fn products(values: Vec<f64>, magnitudes: &[f64]) -> Expected {
    let allowed = magnitudes.iter().map(|size| 4e-3 * size).collect();
    Expected { values, allowed, ..Expected::default() }
}

/// Results, in bf16 of weights in e4m3; for each, the largest magnitude of values of its head.
pub fn results(values: Vec<f64>, largest: &[f64]) -> Expected {
    super::attention::coded_results(values, largest, DType::Bf16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_of_a_block_has_the_last_code() {
        let rows = vec![vec![1.0, -2.0], vec![0.5, 0.0], vec![0.0, 0.0]];
        let Blocks { codes, scales } = blocks(&rows, 2, 127.0);
        assert_eq!((codes[0][1], codes[0][0]), (-127.0, 64.0), "a tie goes away from zero");
        assert_eq!((codes[2][0], scales[1]), (0.0, 0.0));
        assert_eq!(means(&rows, 4), [0.375, -0.5]);
    }

    #[test]
    fn blocks_that_are_not_in_the_list_are_not_seen() {
        let head = Head {
            q: vec![vec![0.0]],
            k: vec![vec![1.0]; 4],
            v: vec![vec![1.0], vec![2.0], vec![4.0], vec![8.0]],
        };
        let of = Coded {
            q: (&[1.0], 1),
            k: (&[1.0, 1.0], 2),
            v: &[3.0],
            delta: None,
            seen: Some(&[vec![1]]),
            window: [None; 2],
        };
        let row = attended(&head, &of).remove(0);
        assert_eq!((row.o, row.lse), (vec![18.0], 2f64.ln()));
    }
}
