//! Quantisation in the steps of f32 that define it; its results are exact.

use hk_types::dtype::{Scalar, decode};

/// The largest magnitude, which NaN is above all others.
pub fn amax(x: &[f64]) -> f32 {
    let largest = |most: f32, x: &f64| {
        let size = (*x as f32).abs();
        if most.is_nan() || size <= most { most } else { size }
    };
    x.iter().fold(0.0, largest)
}

/// The scale of elements with that largest magnitude, which becomes `most`: 1 rather than 0 or a
/// subnormal number.
pub fn scale(amax: f32, most: f32) -> f32 {
    let scale = amax / most;
    if scale < f32::MIN_POSITIVE { 1.0 } else { scale }
}

/// What the codes of numbers stand for, without the scale: `x (1 / scale)`, not beyond `most`, rounded
/// to the codes' type.
pub fn codes<C: Scalar>(x: &[f64], scale: f32, most: f32) -> Vec<f64> {
    let inverse = 1.0 / scale;
    let quotients = x.iter().map(|x| f64::from((*x as f32 * inverse).clamp(-most, most)));
    decode(&C::encode(&quotients.collect::<Vec<_>>()))
}

/// The codes of rows, and their scales.
pub fn per_token_quant<C: Scalar>(x: &[f64], width: usize, most: f32) -> (Vec<f64>, Vec<f32>) {
    let (mut all, mut scales) = (Vec::new(), Vec::new());
    for row in x.chunks_exact(width) {
        let scale = scale(amax(row), most);
        all.extend(codes::<C>(row, scale, most));
        scales.push(scale);
    }
    (all, scales)
}

/// The scale of a group with that largest magnitude, which is taken to be at least 1e-10.
pub fn group_scale(amax: f32, most: f32) -> f32 {
    (if amax < 1e-10 { 1e-10 } else { amax }) / most
}

/// The codes of groups of so many elements of a row, the last of which may be shorter, and their
/// scales.
pub fn per_group_quant<C: Scalar>(
    x: &[f64],
    width: usize,
    group: usize,
    most: f32,
) -> (Vec<f64>, Vec<f32>) {
    let (mut all, mut scales) = (Vec::new(), Vec::new());
    for group in x.chunks_exact(width).flat_map(|row| row.chunks(group)) {
        let scale = group_scale(amax(group), most);
        all.extend(codes::<C>(group, scale, most));
        scales.push(scale);
    }
    (all, scales)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_scaled_to_the_largest_code() {
        let x = [1.0, -2.0, 0.0, 0.0, 63.5, 127.0];
        let (codes, scales) = per_token_quant::<i8>(&x, 2, 127.0);
        // 63.5 and 64 are a tie, and the even one is taken.
        assert_eq!(codes, [64.0, -127.0, 0.0, 0.0, 64.0, 127.0]);
        assert_eq!(scales, [2.0 / 127.0, 1.0, 1.0]);
    }

    #[test]
    fn groups_end_with_their_row() {
        let x = [1.0, -2.0, 4.0, 0.0, 0.0, 127.0];
        let (codes, scales) = per_group_quant::<i8>(&x, 3, 2, 127.0);
        assert_eq!(codes, [64.0, -127.0, 127.0, 0.0, 0.0, 127.0]);
        assert_eq!(scales, [2.0 / 127.0, 4.0 / 127.0, 1e-10 / 127.0, 1.0]);
    }

    #[test]
    fn nan_is_the_largest() {
        assert!(amax(&[1.0, f64::NAN, f64::INFINITY]).is_nan());
        assert_eq!(amax(&[1.0, f64::NEG_INFINITY]), f32::INFINITY);
    }
}
