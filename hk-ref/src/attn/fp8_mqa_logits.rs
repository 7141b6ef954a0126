//! Scores of keys for rows of queries of several heads, added up by their weights.

use std::ops::Range;

use crate::Expected;

/// A number and how far off it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Score {
    /// The number.
    pub value: f64,
    /// The greatest error.
    pub allowed: f64,
}

/// What each head of a row, of as many queries as weights, adds for a key.
///
/// With `R = |q . k|` and `T = sqrt(sum (q k)^2)`, a sum in f32 is at most
/// `2^-22 sqrt(d / 16 + 16) (R + T)` off; what follows rounds twice.
pub fn terms(q: &[f64], weights: &[f64], key: &[f64], scale: f64) -> Vec<Score> {
    let growth = 2f64.powi(-22) * (key.len() as f64 / 16.0 + 16.0).sqrt();
    let term = |(q, weight): (&[f64], &f64)| {
        let products = || q.iter().zip(key).map(|(q, k)| q * k);
        let dot: f64 = products().sum();
        let squares: f64 = products().map(|product| product * product).sum();
        let scaled = dot * scale;
        // NaN stays.
        let positive = if scaled <= 0.0 { 0.0 } else { scaled };
        let error = growth * (dot.abs() + squares.sqrt()) * scale.abs();
        let value = weight * positive;
        let allowed = weight.abs() * error + 2f64.powi(-23) * value.abs() + 2f64.powi(-149);
        Score { value, allowed }
    };
    q.chunks_exact(key.len()).zip(weights).map(term).collect()
}

/// Their sum, of which each addition in f32 rounds.
pub fn sum(terms: &[Score]) -> Score {
    let sizes: f64 = terms.iter().map(|term| term.value.abs()).sum();
    let allowed: f64 = terms.iter().map(|term| term.allowed).sum();
    let rounded = 2f64.powi(-24) * (terms.len() as f64).sqrt() * sizes;
    Score { value: terms.iter().map(|term| term.value).sum(), allowed: allowed + rounded }
}

/// The columns of a row of so many that have scores: a window, as far as it is there.
pub fn window([start, end]: [i64; 2], columns: usize) -> Range<usize> {
    let within = |at: i64| usize::try_from(at).map_or(0, |at| at.min(columns));
    within(start)..within(end)
}

/// What scores should be: of those outside of windows -inf, or what was there.
pub fn expected(scores: &[Option<Score>], held: Option<&[f64]>) -> Expected {
    let outside = |at: usize| held.map_or(f64::NEG_INFINITY, |held| held[at]);
    let value = |(at, score): (usize, &Option<Score>)| score.map_or(outside(at), |of| of.value);
    let values: Vec<f64> = scores.iter().enumerate().map(value).collect();
    let allowed = scores.iter().map(|score| score.map_or(0.0, |of| of.allowed)).collect();
    let frobenius = (values.len() >= 1024).then_some(1e-5);
    Expected { values, allowed, frobenius, ..Expected::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_that_are_against_it_add_nothing() {
        let terms = terms(&[1.0, 2.0, -1.0, -2.0], &[3.0, 5.0], &[1.0, 1.0], 2.0);
        assert_eq!(terms.iter().map(|term| term.value).collect::<Vec<_>>(), [18.0, 0.0]);
        assert_eq!(sum(&terms).value, 18.0);
        let opposite = super::terms(&[1.0, 2.0, -1.0, -2.0], &[3.0, 5.0], &[1.0, 1.0], -2.0);
        assert_eq!(sum(&opposite).value, 30.0);
    }

    #[test]
    fn windows_end_where_keys_do() {
        assert_eq!(window([-3, 9], 5), 0..5);
        assert!(window([4, 2], 5).is_empty() && window([7, 9], 5).is_empty());
        let scores = [None, Some(Score { value: 1.0, allowed: 0.5 })];
        assert_eq!(expected(&scores, None).values, [f64::NEG_INFINITY, 1.0]);
        assert_eq!(expected(&scores, Some(&[7.0, 8.0])).values, [7.0, 1.0]);
    }
}
