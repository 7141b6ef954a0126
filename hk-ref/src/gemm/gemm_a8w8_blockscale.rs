//! Products of matrices with a scale per group of k.

use ndarray::{Array2, ArrayView2};

/// The operand times its scales: `(rows / group_rows, k / group_k)` of them, the last group of either
/// may be shorter.
pub fn dequantised(
    operand: ArrayView2<'_, f64>,
    scales: ArrayView2<'_, f64>,
    [group_rows, group_k]: [usize; 2],
) -> Array2<f64> {
    Array2::from_shape_fn(operand.dim(), |(row, k)| {
        operand[[row, k]] * scales[[row / group_rows, k / group_k]]
    })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_scale_is_for_a_block() {
        let operand = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
        let scales = array![[1.0, 10.0], [100.0, -1.0]];
        let scaled = dequantised(operand.view(), scales.view(), [2, 2]);
        let expected = array![[1.0, 2.0, 30.0], [4.0, 5.0, 60.0], [700.0, 800.0, -9.0]];
        assert_eq!(scaled, expected);
    }
}
