//! Comparisons of tensors.

/// The largest number; NaN if one is.
pub fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(f64::NEG_INFINITY, |most, x| {
        if most.is_nan() || x.is_nan() { f64::NAN } else { f64::max(most, x) }
    })
}

/// `rms(x - y) / (rms(x) + 1e-8)`.
pub fn err_ratio(x: &[f64], y: &[f64]) -> f64 {
    let rms = |squares: f64| (squares / x.len() as f64).sqrt();
    let differences = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
    rms(differences) / (rms(x.iter().map(|x| x * x).sum()) + 1e-8)
}

/// Rows of `width` elements divided by `sqrt(sum of squares + eps)`; zeros if all are finite and their
/// squares are more than f32 holds.
pub fn l2_normalize(x: &[f64], width: usize, eps: f32) -> Vec<f64> {
    let of_row = |row: &[f64]| {
        let squares = row.iter().map(|x| x * x).sum::<f64>();
        let length = (squares + f64::from(eps)).sqrt();
        let overflows = squares > f64::from(f32::MAX) && row.iter().all(|x| x.is_finite());
        let is_zero = overflows || length == 0.0;
        row.iter().map(|x| if is_zero { 0.0 } else { x / length }).collect::<Vec<_>>()
    };
    x.chunks_exact(width).flat_map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_small_tensors() {
        assert_eq!(largest(&[-3.0, -1.0, -2.0]), -1.0);
        assert!(largest(&[f64::NAN, 1.0]).is_nan() && largest(&[1.0, f64::NAN]).is_nan());
        approx::assert_relative_eq!(err_ratio(&[3.0, 4.0], &[3.0, 5.0]), 0.2, epsilon = 1e-8);
        assert_eq!(
            l2_normalize(&[3.0, 4.0, 0.0, 0.0, 1e30, 0.0], 2, 0.0),
            [0.6, 0.8, 0.0, 0.0, 0.0, 0.0]
        );
        let special = l2_normalize(&[f64::INFINITY, 1.0, f64::NAN, 1.0], 2, 0.0);
        assert!([0, 2, 3].iter().all(|i| special[*i].is_nan()) && special[1] == 0.0);
    }
}
