//! Rows that are normalised, quantised to blocks of 4-bit codes in f64.

use hk_types::MxRound;
use hk_types::dtype::E8M0;

use super::fused_fp8_quant::largest;
use super::quant::mx_scale;

/// The largest number of e2m1.
const MOST: f64 = 6.0;

/// What the codes of blocks of 32 elements of a row stand for before they are rounded, in units of
/// their scales, and these scales. Blocks with NaN or infinity have codes of 0.
pub fn blocks(x: &[f64], width: usize, mode: MxRound) -> (Vec<f64>, Vec<E8M0>) {
    let (mut all, mut scales) = (Vec::new(), Vec::new());
    for block in x.chunks_exact(width).flat_map(|row| row.chunks(32)) {
        let amax = largest(block.iter().copied(), 0.0);
        let scale = mx_scale(mode, amax as f32, MOST as f32);
        let quotient = |x: &f64| if scale.is_nan() { 0.0 } else { x / scale.to_f64() };
        all.extend(block.iter().map(|x| quotient(x).clamp(-MOST, MOST)));
        scales.push(scale);
    }
    (all, scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_end_with_their_row() {
        let mut x = [1.0; 68];
        x[33] = -16.0;
        let (codes, scales) = blocks(&x, 34, MxRound::Even);
        assert_eq!(
            scales.iter().map(|scale| scale.to_f64()).collect::<Vec<_>>(),
            [0.25, 4.0, 0.25, 0.25]
        );
        assert_eq!(blocks(&[f64::NAN, 1.0], 2, MxRound::Even).0, [0.0; 2]);
        assert_eq!((codes[0], codes[32], codes[33], codes[67]), (4.0, 0.25, -4.0, 4.0));
    }
}
