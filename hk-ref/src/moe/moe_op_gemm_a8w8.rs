//! Products of rows with the matrices of their experts, of 8 bits.

pub use super::moe_op_gemm_a4w4::scaled as scaled_by_blocks;
pub use super::ragged::{Act, Problem};

/// Numbers of rows of k, of which each is multiplied by its own, or so many that follow each other, or all.
pub fn scaled(numbers: Vec<f64>, scales: &[f64], k: usize) -> Vec<f64> {
    let rows = numbers.len() / k;
    let each = rows.div_ceil(scales.len().max(1)).max(1);
    numbers.into_iter().enumerate().map(|(i, x)| x * scales[i / k / each]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_scales_of_their_own_or_share_them() {
        let ones = || vec![1.0; 8];
        assert_eq!(scaled(ones(), &[3.0], 2), [3.0; 8]);
        assert_eq!(scaled(ones(), &[3.0, 5.0], 2), [3.0, 3.0, 3.0, 3.0, 5.0, 5.0, 5.0, 5.0]);
        assert_eq!(scaled(ones(), &[1.0, 2.0, 3.0, 4.0], 2)[4..6], [3.0; 2]);
    }
}
