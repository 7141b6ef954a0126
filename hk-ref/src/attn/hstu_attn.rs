//! Attention whose weights are independent of each other.

use hk_types::dtype::DType;

use crate::expected::half_subnormal;
use crate::{Expected, unit_roundoff};

/// Which rows of a sequence see each other.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Rows of the sequence.
    pub rows: usize,
    /// Whether rows see none behind themselves.
    pub causal: bool,
    /// Last rows that are targets.
    pub targets: usize,
    /// How far apart rows see each other, if not at any distance.
    pub most_distance: Option<usize>,
    /// First rows that are the context.
    pub context: usize,
}

impl Rules {
    /// What targets have for a number.
    fn last(&self) -> i64 {
        self.rows as i64 - self.context.saturating_sub(1) as i64 - self.targets as i64
    }

    fn number(&self, row: usize) -> i64 {
        (row.saturating_sub(self.context.saturating_sub(1)) as i64).min(self.last())
    }

    /// Whether row i sees row j.
    pub fn sees(&self, i: usize, j: usize) -> bool {
        let (of_row, of_key) = (self.number(i), self.number(j));
        let distance = if self.causal { of_row - of_key } else { (of_row - of_key).abs() };
        let is_near = self.most_distance.is_none_or(|most| distance <= most as i64);
        let is_context = self.context > 0 && of_row == 0 && of_key < self.last();
        ((i == j || distance > 0) && is_near) || is_context
    }
}

/// A row of results: each column's, and how far off it may be.
#[derive(Debug, Clone, Default)]
pub struct Weighed {
    /// The results.
    pub values: Vec<f64>,
    /// The greatest error of each.
    pub allowed: Vec<f64>,
}

/// The weight of a score.
pub fn weight(score: f64, length: usize) -> f64 {
    if score == f64::NEG_INFINITY { 0.0 } else { score / (1.0 + (-score).exp()) / length as f64 }
}

/// What row i of a sequence and a head becomes, of keys and values in rows.
///
/// A score is at most `2^-20 |alpha| sum |q k|` off, which its weight is 1.1 times at most; a weight is
/// rounded to `dtype` once it is divided by the root of the length, at most, as the result is after all.
pub fn attend(
    (i, q): (usize, &[f64]),
    k: &[Vec<f64>],
    v: &[Vec<f64>],
    (alpha, length): (f64, usize),
    rules: &Rules,
    dtype: DType,
) -> Weighed {
    let (step, least) = (unit_roundoff(dtype), half_subnormal(dtype));
    let least_weight = least * (length as f64).sqrt();
    let width = v.first().map_or(0, Vec::len);
    let mut row = Weighed { values: vec![0.0; width], allowed: vec![0.0; width] };
    for (_, (k, v)) in k.iter().zip(v).enumerate().filter(|(j, _)| rules.sees(i, *j)) {
        let products = || q.iter().zip(k).map(|(q, k)| alpha * q * k);
        let weight = weight(products().sum(), length);
        let sizes: f64 = products().map(f64::abs).sum();
        // Infinite scores are exact.
        let size = if sizes.is_finite() { sizes } else { 0.0 };
        let error =
            step * weight.abs() + (least_weight + 1.1 * 2f64.powi(-20) * size) / length as f64;
        for (at, v) in v.iter().enumerate() {
            row.values[at] += weight * v;
            row.allowed[at] += error * v.abs();
        }
    }
    for (value, allowed) in row.values.iter().zip(&mut row.allowed) {
        *allowed += step * value.abs() + least;
    }
    row
}

/// Rows as they may come out, as numbers of a type.
pub fn results(rows: Vec<Weighed>, dtype: DType) -> Expected {
    let (mut values, mut allowed) = (Vec::new(), Vec::new());
    for row in rows {
        values.extend(row.values);
        allowed.extend(row.allowed);
    }
    let frobenius = Some(if dtype == DType::F16 { 7e-4 } else { 4e-3 });
    Expected { values, allowed, frobenius, ..Expected::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(rules: Rules) -> Vec<String> {
        let row = |i| (0..rules.rows).map(|j| if rules.sees(i, j) { 'x' } else { '.' }).collect();
        (0..rules.rows).map(row).collect()
    }

    const PLAIN: Rules =
        Rules { rows: 5, causal: true, targets: 0, most_distance: None, context: 0 };

    #[test]
    fn rows_see_themselves_and_those_before() {
        assert_eq!(seen(PLAIN), ["x....", "xx...", "xxx..", "xxxx.", "xxxxx"]);
        let both = Rules { causal: false, ..PLAIN };
        assert_eq!(seen(both), ["xxxxx"; 5]);
        let near = Rules { most_distance: Some(1), ..both };
        assert_eq!(seen(near), ["xx...", "xxx..", ".xxx.", "..xxx", "...xx"]);
    }

    #[test]
    fn targets_do_not_see_each_other_and_the_context_sees_all_else() {
        let targets = Rules { targets: 2, ..PLAIN };
        assert_eq!(seen(targets), ["x....", "xx...", "xxx..", "xxxx.", "xxx.x"]);
        let both = Rules { causal: false, ..targets };
        assert_eq!(seen(both), ["xxxxx", "xxxxx", "xxxxx", "xxxx.", "xxx.x"]);
        let context = Rules { context: 2, ..targets };
        assert_eq!(seen(context), ["xxx..", "xxx..", "xxx..", "xxxx.", "xxx.x"]);
        let near = Rules { most_distance: Some(1), ..context };
        assert_eq!(seen(near), ["xxx..", "xxx..", "xxx..", "..xx.", "..x.x"]);
    }

    #[test]
    fn weights_are_of_the_longest_sequence() {
        let ones = vec![vec![1.0]; 2];
        let rules = Rules { rows: 2, ..PLAIN };
        let row = attend((1, &[3.0]), &ones, &ones, (1.0, 4), &rules, DType::F16);
        assert!((row.values[0] - 2.0 * 3.0 / (1.0 + (-3f64).exp()) / 4.0).abs() < 1e-12);
        assert_eq!(weight(f64::NEG_INFINITY, 4), 0.0);
    }
}
