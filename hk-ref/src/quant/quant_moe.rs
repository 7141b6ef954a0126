//! Blocks along any dimension, and codes of numbers that are divided, in the steps of f32 that define
//! them; results are exact.

use hk_types::MxRound;
use hk_types::dtype::{E8M0, Scalar, decode};

use super::quant::{amax, mx_scale};

/// Elements with dimension `axis` of their shape at the end.
pub fn at_the_end<T: Copy>(x: &[T], shape: &[usize], axis: usize) -> Vec<T> {
    let after = shape[axis + 1..].iter().product::<usize>();
    let along = shape[axis];
    let element = |i: usize| {
        let (outer, k) = (i / along, i % along);
        x[(outer / after * along + k) * after + outer % after]
    };
    (0..x.len()).map(element).collect()
}

/// The inverse of [`at_the_end`], of elements of that shape.
pub fn from_the_end<T: Copy>(x: &[T], shape: &[usize], axis: usize) -> Vec<T> {
    let numbers: Vec<_> = (0..x.len()).collect();
    let mut back: Vec<_> = at_the_end(&numbers, shape, axis).into_iter().zip(x).collect();
    back.sort_by_key(|(at, _)| *at);
    back.into_iter().map(|(_, x)| *x).collect()
}

/// What 4-bit codes of blocks of 32 elements of a row, the last of which may be shorter, stand for if
/// ties are rounded to the larger in magnitude; and the scales.
pub fn mxfp4_away(x: &[f64], width: usize, mode: MxRound) -> (Vec<f64>, Vec<E8M0>) {
    const CODES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let (mut all, mut scales) = (Vec::new(), Vec::new());
    for block in x.chunks_exact(width).flat_map(|row| row.chunks(32)) {
        let scale = mx_scale(mode, amax(block), 6.0);
        all.extend(block.iter().map(|x| {
            let size = if scale.is_nan() { 0.0 } else { x.abs() / scale.to_f64() };
            let above = CODES.windows(2).filter(|of| size >= (of[0] + of[1]) / 2.0).count();
            CODES[above].copysign(*x)
        }));
        scales.push(scale);
    }
    (all, scales)
}

/// What the codes of numbers stand for, without the scale: `x / scale`, not beyond `most`, rounded to
/// the codes' type.
pub fn static_fp8<C: Scalar>(x: &[f64], scale: f32, most: f32) -> Vec<f64> {
    let quotients = x.iter().map(|x| f64::from((*x as f32 / scale).clamp(-most, most)));
    decode(&C::encode(&quotients.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use hk_types::dtype::F8E4M3;

    use super::*;

    #[test]
    fn a_dimension_goes_to_the_end_and_back() {
        let x: Vec<_> = (0..12).collect();
        let moved = at_the_end(&x, &[2, 3, 2], 1);
        assert_eq!(moved, [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]);
        assert_eq!(from_the_end(&moved, &[2, 3, 2], 1), x);
        assert_eq!(at_the_end(&x, &[12], 0), x);
    }

    #[test]
    fn ties_go_to_the_larger_code() {
        let x = [6.0, 0.25, -0.75, 1.25, 1.75, -2.5, 3.5, 5.0, 0.2, f64::NAN];
        let (codes, scales) = mxfp4_away(&x[..9], 9, MxRound::RoundUp);
        assert_eq!(codes, [6.0, 0.5, -1.0, 1.5, 2.0, -3.0, 4.0, 6.0, 0.0]);
        assert_eq!(scales, [E8M0::ONE]);
        let (codes, scales) = mxfp4_away(&x, 10, MxRound::RoundUp);
        assert!(codes.iter().all(|code| *code == 0.0) && scales[0].is_nan());
    }

    #[test]
    fn numbers_are_divided() {
        // Times the inverse of 3, which is rounded, 10.5 would be above a tie.
        assert_eq!(static_fp8::<F8E4M3>(&[3.0, 1e9, 25.5], 3.0, 448.0), [1.0, 448.0, 8.0]);
    }
}
