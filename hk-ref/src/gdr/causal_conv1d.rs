//! Short causal convolutions.

use hk_types::Activation;
use hk_types::dtype::DType;

use crate::Expected;
use crate::activation::activate;

/// A result, and the sum of the magnitudes that it is a sum of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sum {
    /// The result.
    pub value: f64,
    /// The magnitude of the bias and of each product.
    pub magnitude: f64,
}

/// The convolution of the tokens of one channel, before which there were `before`, oldest first, one
/// fewer than `weight` has taps.
pub fn causal_conv1d(
    tokens: &[f64],
    before: &[f64],
    weight: &[f64],
    bias: f64,
    silu: bool,
) -> Vec<Sum> {
    let all = [before, tokens].concat();
    let of_window = |window: &[f64]| {
        let products = window.iter().zip(weight).map(|(x, w)| x * w);
        let value = bias + products.clone().sum::<f64>();
        let magnitude = bias.abs() + products.map(f64::abs).sum::<f64>();
        Sum { value: if silu { activate(Activation::Silu, value) } else { value }, magnitude }
    };
    all.windows(weight.len()).map(of_window).collect()
}

/// The state after tokens: the last ones of it and them.
pub fn new_state<T: Copy>(tokens: &[T], before: &[T]) -> Vec<T> {
    [before, tokens].concat().split_off(tokens.len())
}

/// Results of [`causal_conv1d`], and how far off they may be.
pub fn expected(sums: &[Sum], dtype: DType, silu: bool) -> Expected {
    let part = if silu { 1.1 } else { 1.0 } * 2f64.powi(-21);
    let values = sums.iter().map(|sum| sum.value).collect();
    let slack = sums.iter().map(|sum| part * sum.magnitude).collect();
    Expected::rounded(values, dtype, true).plus(slack)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_sees_what_came_before() {
        let sums = causal_conv1d(&[1.0, 2.0, 3.0], &[-4.0, 5.0], &[100.0, 10.0, 1.0], 0.5, false);
        let values: Vec<f64> = sums.iter().map(|sum| sum.value).collect();
        assert_eq!(values, [-348.5, 512.5, 123.5]);
        assert_eq!(sums[0].magnitude, 451.5);
    }

    #[test]
    fn a_state_is_the_last_of_what_there_was() {
        assert_eq!(new_state(&[7], &[1, 2, 3]), [2, 3, 7]);
        assert_eq!(new_state(&[7, 8, 9, 10], &[1, 2, 3]), [8, 9, 10]);
        assert_eq!(new_state(&[], &[1, 2, 3]), [1, 2, 3]);
    }
}
