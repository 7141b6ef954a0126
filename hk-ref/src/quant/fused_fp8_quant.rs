//! Rows that are normalised, quantised in f64.

use hk_types::Activation;

use crate::activation::activate;
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
/// `bound`, becomes `most`. NaN is the largest.
pub fn scale(x: &[f64], least: f64, bound: f64, most: f64) -> f64 {
    let amax = largest(x.iter().copied(), least);
    (if amax > bound { bound } else { amax }) / most
}

/// The largest magnitude, at least `least`; NaN is the largest.
pub(super) fn largest(x: impl Iterator<Item = f64>, least: f64) -> f64 {
    x.fold(least, |most, x| if x.is_nan() || x.abs() > most { x.abs() } else { most })
}

/// What codes stand for, before they are rounded: quotients, not beyond `most`.
pub fn quotients(x: &[f64], scale: f64, most: f64) -> Vec<f64> {
    x.iter().map(|x| (x / scale).clamp(-most, most)).collect()
}

/// As [`quotients`], with the inverse of a scale that is given, as it is in f32.
pub fn products(x: &[f64], inverse: f64, most: f64) -> Vec<f64> {
    x.iter().map(|x| (x * inverse).clamp(-most, most)).collect()
}

/// Gates, the first halves of rows, times what they let through.
pub fn silu_mul(x: &[f64], width: usize) -> Vec<f64> {
    let product = |(gate, linear): (&f64, &f64)| activate(Activation::Silu, *gate) * linear;
    let halves = x.chunks_exact(2 * width).map(|row| row.split_at(width));
    halves.flat_map(|(gates, linear)| gates.iter().zip(linear).map(product)).collect()
}

/// How gated rows are normalised.
#[derive(Debug, Clone, Copy)]
pub struct GatedNorm {
    /// Whether what is normalised is gated, rather than the norm.
    pub gates_first: bool,
    /// What gates are: [`Activation::Silu`] or [`Activation::Sigmoid`].
    pub activation: Activation,
    /// Added to the mean of squares.
    pub eps: f32,
}

/// Gated norms of rows as long as the weight and the bias.
pub fn gated_norm(x: &[f64], z: &[f64], weight: &[f64], bias: &[f64], by: GatedNorm) -> Vec<f64> {
    let gates: Vec<_> = z.iter().map(|z| activate(by.activation, *z)).collect();
    let h = |(x, gate): (&f64, &f64)| if by.gates_first { x * gate } else { *x };
    let h: Vec<_> = x.iter().zip(&gates).map(h).collect();
    let after = |gate: f64| if by.gates_first { 1.0 } else { gate };
    let y = norm(&h, weight, by.eps).into_iter().zip(&gates).enumerate();
    y.map(|(i, (y, gate))| (y + bias[i % bias.len()]) * after(*gate)).collect()
}

/// The scale of a group of a gated norm: the largest magnitude, which is taken to be at least 1 / 512,
/// becomes `most`; rounded up to a power of two, if that is wanted.
pub fn gated_scale(y: &[f64], most: f64, is_power: bool) -> f64 {
    let scale = scale(y, 1.0 / 512.0, f64::INFINITY, most);
    if is_power { scale.log2().ceil().exp2() } else { scale }
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
        assert!(super::scale(&[1.0, f64::NAN, f64::INFINITY], 0.0, 9.0, 448.0).is_nan());
        assert_eq!(quotients(&[5.0, -9.0], 1.0, 6.0), [5.0, -6.0]);
        assert_eq!(products(&[5.0, -9.0], 0.5, 4.0), [2.5, -4.0]);
    }

    #[test]
    fn gates_come_first_or_last() {
        assert_eq!(silu_mul(&[0.0, 1.0, 5.0, 2.0], 2), [0.0, 2.0 / (1.0 + (-1f64).exp())]);
        let by = GatedNorm { gates_first: false, activation: Activation::Sigmoid, eps: 1e-12 };
        let last = gated_norm(&[3.0, -3.0], &[0.0, 0.0], &[1.0, 2.0], &[0.5, 0.5], by);
        assert!((last[0] - 0.75).abs() < 1e-9 && (last[1] + 0.75).abs() < 1e-9, "{last:?}");
        let by = GatedNorm { gates_first: true, ..by };
        let first = gated_norm(&[3.0, -3.0], &[0.0, 0.0], &[1.0, 2.0], &[0.5, 0.5], by);
        assert!((first[0] - 1.5).abs() < 1e-9 && (first[1] + 1.5).abs() < 1e-9, "{first:?}");
        assert_eq!(gated_scale(&[0.0], 2.0, false), 1.0 / 1024.0);
        assert_eq!(gated_scale(&[3.0], 2.0, true), 2.0);
    }
}
