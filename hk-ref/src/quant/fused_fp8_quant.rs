//! Rows that are normalised, quantised in f64.

use crate::norm::rmsnorm::rmsnorm;

/// Sums of two tensors, unrounded.
pub fn add(x: &[f64], residual: &[f64]) -> Vec<f64> {
    x.iter().zip(residual).map(|(x, residual)| x + residual).collect()
}

/// The norm of rows as long as the weight.
pub fn norm(rows: &[f64], weight: &[f64], eps: f32) -> Vec<f64> {
    rmsnorm(rows, weight, eps, 0.0).y
}

/// The scale of numbers whose largest magnitude, which counts as at least `least` and at most
/// `bound`, becomes `most`.
pub fn scale(x: &[f64], least: f64, bound: f64, most: f64) -> f64 {
    x.iter().fold(least, |amax, x| amax.max(x.abs())).min(bound) / most
}

/// What codes stand for, before they are rounded: quotients, not beyond `most`.
pub fn quotients(x: &[f64], scale: f64, most: f64) -> Vec<f64> {
    x.iter().map(|x| (x / scale).clamp(-most, most)).collect()
}

/// As [`quotients`], with the inverse of a scale that is given, as it is in f32.
pub fn products(x: &[f64], inverse: f64, most: f64) -> Vec<f64> {
    x.iter().map(|x| (x * inverse).clamp(-most, most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_are_scaled_to_the_largest_code() {
        let sums = add(&[2.0, 3.0], &[1.0, 1.0]);
        let norm = norm(&sums, &[1.0, 2.0], 1e-12);
        let scale = scale(&norm, 1e-10, f64::INFINITY, 448.0);
        assert!((scale - 8.0 / 12.5f64.sqrt() / 448.0).abs() < 1e-12);
        let codes = quotients(&norm, scale, 448.0);
        assert!((codes[0] - 168.0).abs() < 1e-9 && (codes[1] - 448.0).abs() < 1e-9, "{codes:?}");
        assert_eq!(quotients(&[5.0, -9.0], 1.0, 6.0), [5.0, -6.0]);
        assert_eq!(products(&[5.0, -9.0], 0.5, 4.0), [2.5, -4.0]);
    }
}
