//! Feed-forward layers of 16-bit matrices.

use hk_types::Activation;
use hk_types::dtype::{DType, Real16, decode};
use ndarray::{Array2, ArrayView2};

use super::product::{Operands, expect};
use crate::activation::activate;
use crate::expected::{Expected, unit_roundoff};

/// `h w_down` with its tolerance as an output of type `dtype`, where h is `activation(x w_up^T)`, rounded
/// to `T`.
pub fn expect_layer<T: Real16>(
    x: ArrayView2<'_, f64>,
    w_up: ArrayView2<'_, f64>,
    w_down: ArrayView2<'_, f64>,
    activation: Option<Activation>,
    dtype: DType,
) -> Expected {
    Hidden::of(x, w_up, activation).times::<T>(w_down, dtype)
}

/// Numbers of a hidden layer before they are rounded.
pub(super) struct Hidden {
    pub(super) numbers: Array2<f64>,
    /// How far off sums in f32 may be, generously.
    pub(super) errors: Array2<f64>,
}

impl Hidden {
    /// `activation(x w^T)`.
    pub(super) fn of(
        x: ArrayView2<'_, f64>,
        w: ArrayView2<'_, f64>,
        activation: Option<Activation>,
    ) -> Self {
        let activated = |sum| activation.map_or(sum, |activation| activate(activation, sum));
        let magnitudes = x.mapv(f64::abs).dot(&w.mapv(f64::abs).t());
        // No activation is steeper than 1.13.
        let errors = magnitudes.mapv(|magnitude| 1.25 * 2f64.powi(-20) * magnitude);
        Self { numbers: x.dot(&w.t()).mapv(activated), errors }
    }

    /// `h w_down` with h rounded to `T`, of which those numbers that lie in the middle between two may have
    /// become either.
    pub(super) fn times<T: Real16>(self, w_down: ArrayView2<'_, f64>, dtype: DType) -> Expected {
        let rounded = |numbers: Array2<f64>| {
            let shape = numbers.raw_dim();
            let (numbers, _) = numbers.into_raw_vec_and_offset();
            Array2::from_shape_vec(shape, decode(&T::encode(&numbers))).expect("as many numbers")
        };
        let Self { numbers, errors } = self;
        let apart = rounded(&numbers + &errors) - rounded(&numbers - &errors);
        let slack = apart.dot(&w_down.mapv(f64::abs)).iter().copied().collect();
        let h = rounded(numbers);
        let operands = Operands { x: h.view(), w: w_down.t(), integers: false };
        let expected = expect(operands, &[], dtype, false).plus(slack);
        // Of a result of f32, numbers of h that became the other are most of the error.
        let most = unit_roundoff(T::DTYPE);
        Expected { frobenius: expected.frobenius.map(|of| of.max(most)), ..expected }
    }
}
