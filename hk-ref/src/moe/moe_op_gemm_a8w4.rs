//! Products of rows with the matrices of their experts, of which these are in blocks of MX; and results that
//! are.

use hk_types::MxRound;
use hk_types::dtype::E8M0;

pub use super::moe_op_gemm_a4w4::scaled;
pub use super::ragged::{Act, Problem};
use crate::quant::quant::mx_scale;

/// Columns of a block.
const BLOCK: usize = 32;
/// The largest number of OCP's e4m3.
const MOST: f32 = 448.0;

/// What rows of a width, of whole blocks, are in blocks of e4m3: numbers in units of their block's scale, and
/// the scales.
pub fn in_blocks(values: &[f64], width: usize) -> (Vec<f64>, Vec<E8M0>) {
    let (mut codes, mut scales) = (Vec::new(), Vec::new());
    for block in values.chunks_exact(width).flat_map(|row| row.chunks_exact(BLOCK)) {
        let amax = block.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let scale = mx_scale(MxRound::Even, amax as f32, MOST);
        codes.extend(block.iter().map(|x| x / scale.to_f64()));
        scales.push(scale);
    }
    (codes, scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_of_a_block_is_at_most_448_times_its_scale() {
        let values: Vec<f64> = (0..64).map(|i| f64::from(i) * 31.0).collect();
        let (codes, scales) = in_blocks(&values, 64);
        assert_eq!(scales.len(), 2);
        for (block, scale) in codes.chunks(32).zip(&scales) {
            let most = block.iter().fold(0.0, |most: f64, x| most.max(*x));
            assert!((224.0..=448.0).contains(&most), "{most} times {}", scale.to_f64());
        }
    }
}
