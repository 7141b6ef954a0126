//! Softmax.

use hk_types::dtype::DType;

use crate::Expected;

/// `exp(x - max) / sum exp(x - max)` of each row of `width` elements.
pub fn softmax(x: &[f64], width: usize) -> Vec<f64> {
    let of_row = |row: &[f64]| {
        // Powers of the greatest number; NaN comes back by those of itself.
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| power / sum)
    };
    x.chunks_exact(width).flat_map(of_row).collect()
}

/// Results of [`softmax`], and how far off they may be.
pub fn expected(y: Vec<f64>, dtype: DType, comparable: bool) -> Expected {
    let slack = |slack| vec![slack; y.len()];
    match dtype {
        DType::F32 => {
            let slack = slack(1e-38);
            Expected::relative(y, 1e-5).plus(slack)
        }
        _ => {
            let slack = slack(1e-7);
            Expected::rounded(y, dtype, comparable).plus(slack)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_one() {
        let y = softmax(&[0.0, 3f64.ln(), f64::NEG_INFINITY, 700.0, 700.0, 0.0], 3);
        approx::assert_abs_diff_eq!(y[..], [0.25, 0.75, 0.0, 0.5, 0.5, 0.0], epsilon = 1e-15);
    }

    #[test]
    fn rows_without_a_finite_greatest_number_are_nan() {
        for x in [[f64::NEG_INFINITY; 2], [1.0, f64::INFINITY], [1.0, f64::NAN]] {
            assert!(softmax(&x, 2).iter().all(|y| y.is_nan()), "{x:?}");
        }
    }
}
