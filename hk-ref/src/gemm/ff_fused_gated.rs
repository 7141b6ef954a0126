//! Gated feed-forward layers of 16-bit matrices.

use hk_types::Activation;
use hk_types::dtype::{DType, Real16};
use ndarray::{ArrayView2, Axis};

use super::ff_fused_ungated::Hidden;
use crate::expected::Expected;

/// `h w_down` with its tolerance as an output of type `dtype`, where h is
/// `activation(x gates^T) * (x values^T)`, rounded to `T`, and w_up the gates, then the values.
pub fn expect_gated_layer<T: Real16>(
    x: ArrayView2<'_, f64>,
    w_up: ArrayView2<'_, f64>,
    w_down: ArrayView2<'_, f64>,
    activation: Option<Activation>,
    dtype: DType,
) -> Expected {
    let (gates, values) = w_up.split_at(Axis(0), w_up.nrows() / 2);
    let (gates, values) = (Hidden::of(x, gates, activation), Hidden::of(x, values, None));
    let errors = gates.numbers.mapv(f64::abs) * &values.errors
        + values.numbers.mapv(f64::abs) * &gates.errors;
    Hidden { numbers: gates.numbers * values.numbers, errors }.times::<T>(w_down, dtype)
}
