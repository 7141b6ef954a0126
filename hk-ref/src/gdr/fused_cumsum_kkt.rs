//! Sums of the logarithms of decays of a chunk, and products of its keys.

use super::cumsum::cumsum;
use super::wy_representation::kkt;

/// Of a chunk of a head: its sums up to each token, each with the sum of magnitudes, and the products of
/// keys, a square. If `clamp`, decays of more than 1 are 0.
pub fn cumsum_kkt(
    g: &[f64],
    keys: &[&[f64]],
    beta: &[f64],
    clamp: bool,
) -> (Vec<(f64, f64)>, Vec<f64>) {
    let both = cumsum(g, g.len().max(1), false, 1.0);
    let sums: Vec<f64> = both.iter().map(|(sum, _)| *sum).collect();
    let decay = |x: f64| if clamp && x > 0.0 { 0.0 } else { x.exp() };
    let products = kkt(keys, &sums, beta, decay);
    (both, products)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_grow_is_clamped() {
        let keys: [&[f64]; 3] = [&[2.0], &[3.0], &[5.0]];
        let (sums, plain) = cumsum_kkt(&[-1.0, 2.0, -3.0], &keys, &[1.0, 0.5, 2.0], false);
        assert_eq!(sums, [(-1.0, 1.0), (1.0, 3.0), (-2.0, 6.0)]);
        let expected = [3.0 * 2f64.exp(), 20.0 * (-1f64).exp(), 30.0 * (-3f64).exp()];
        approx::assert_relative_eq!([plain[3], plain[6], plain[7]][..], expected[..]);
        let (_, clamped) = cumsum_kkt(&[-1.0, 2.0, -3.0], &keys, &[1.0, 0.5, 2.0], true);
        assert_eq!([clamped[3], clamped[6], clamped[7]], [0.0, plain[6], plain[7]]);
    }
}
