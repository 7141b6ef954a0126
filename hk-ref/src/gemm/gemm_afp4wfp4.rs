//! Products of matrices with a scale per MX block of k.

use ndarray::{Array2, ArrayView2};

use super::gemm_a8w8_blockscale;

/// k of a block.
pub const BLOCK: usize = 32;

/// The operand times its scales, `(rows, k / 32)` of them.
pub fn dequantised(operand: ArrayView2<'_, f64>, scales: ArrayView2<'_, f64>) -> Array2<f64> {
    gemm_a8w8_blockscale::dequantised(operand, scales, [1, BLOCK])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_for_32_k_of_a_row() {
        let operand = Array2::from_elem((2, 64), 3.0);
        let scales = ndarray::array![[1.0, 2.0], [0.5, 4.0]];
        let scaled = dequantised(operand.view(), scales.view());
        assert_eq!([scaled[[0, 31]], scaled[[0, 32]]], [3.0, 6.0]);
        assert_eq!([scaled[[1, 0]], scaled[[1, 63]]], [1.5, 12.0]);
    }
}
