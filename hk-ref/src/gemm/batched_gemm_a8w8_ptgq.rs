//! Batches of products of an operand that is quantised per token and group of k before.

use hk_types::dtype::Scalar;
use ndarray::{Array2, ArrayView2};

use super::gemm_a16w8_blockscale::quantised_by;

/// What the codes of rows in groups of so many k, and their scales, stand for. Scales are the largest
/// magnitude, at least 1e-10, times the f32 next to 1 / the largest code.
pub fn quantised<C: Scalar>(x: ArrayView2<'_, f64>, group: usize, most: f32) -> Array2<f64> {
    let scale = |amax: f32| (if amax < 1e-10 { 1e-10 } else { amax }) * (1.0 / most);
    quantised_by::<C>(x, group, most, scale)
}

#[cfg(test)]
mod tests {
    use hk_types::dtype::F8E4M3;

    use super::*;

    #[test]
    fn scales_are_products() {
        let x = ndarray::array![[3.0, 0.0]];
        let scale = f64::from(3.0f32 * (1.0f32 / 448.0));
        let code = F8E4M3::from_f32(3.0 * (1.0 / scale as f32)).to_f32();
        let quantised = quantised::<F8E4M3>(x.view(), 2, 448.0);
        assert_eq!(quantised, ndarray::array![[f64::from(code) * scale, 0.0]]);
    }
}
