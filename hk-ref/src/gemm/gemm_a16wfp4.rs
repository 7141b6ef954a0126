//! Products of an operand that is quantised to MX blocks of e2m1 before.

use hk_types::MxRound;
use hk_types::dtype::F4x2E2M1;
use ndarray::{Array2, ArrayView2};

use super::gemm_afp4wfp4::BLOCK;
use crate::quant::quant::dynamic_mx_quant;

/// The largest number of e2m1.
const MOST: f32 = 6.0;

/// What the codes of rows and the scales of their blocks of 32 k stand for.
pub fn quantised(x: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, k) = x.dim();
    let numbers: Vec<f64> = x.iter().copied().collect();
    let (codes, scales) = dynamic_mx_quant::<F4x2E2M1>(&numbers, k, MxRound::Even, MOST);
    Array2::from_shape_fn((rows, k), |(row, i)| {
        codes[row * k + i] * scales[row * (k / BLOCK) + i / BLOCK].to_f64()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_scales_of_their_own() {
        let x = Array2::from_shape_fn((1, 64), |(_, i)| if i < 32 { 1.25 } else { -96.0 });
        let quantised = quantised(x.view());
        assert_eq!([quantised[[0, 0]], quantised[[0, 32]]], [1.0, -96.0]);
        let special = Array2::from_elem((1, 32), f64::INFINITY);
        assert!(super::quantised(special.view()).iter().all(|x| x.is_nan()));
    }
}
