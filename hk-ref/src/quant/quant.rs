//! Quantisation in the steps of f32 that define it; its results are exact.

use hk_types::MxRound;
use hk_types::dtype::{E8M0, Element, Scalar, decode};

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

/// What the codes of numbers stand for, without the scale: `x (1 / scale)`, not beyond `most`,
/// rounded to the codes' type.
pub fn codes<C: Scalar>(x: &[f64], scale: f32, most: f32) -> Vec<f64> {
    let inverse = 1.0 / scale;
    let quotients = x.iter().map(|x| f64::from((*x as f32 * inverse).clamp(-most, most)));
    decode(&C::encode(&quotients.collect::<Vec<_>>()))
}

/// The codes of all elements, and their scale.
pub fn dynamic_per_tensor_quant<C: Scalar>(x: &[f64], most: f32) -> (Vec<f64>, f32) {
    let scale = scale(amax(x), most);
    (codes::<C>(x, scale, most), scale)
}

/// Rows with each column multiplied by a number, in f32.
pub fn smooth(x: &[f64], by: &[f64]) -> Vec<f64> {
    let product = |(i, x): (usize, &f64)| f64::from(*x as f32 * by[i % by.len()] as f32);
    x.iter().enumerate().map(product).collect()
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

/// The codes of tiles of so many rows and columns, of which the last may be smaller, and their
/// scales.
pub fn per_block_quant<C: Scalar>(
    x: &[f64],
    width: usize,
    side: usize,
    most: f32,
) -> (Vec<f64>, Vec<f32>) {
    let (mut all, mut scales) = (vec![0.0; x.len()], Vec::new());
    for top in (0..x.len()).step_by((side * width).max(1)) {
        for left in (0..width).step_by(side) {
            let rows = (top..x.len()).step_by(width).take(side);
            let tile = |row: usize| row + left..row + (left + side).min(width);
            let elements: Vec<_> = rows.clone().flat_map(|row| &x[tile(row)]).copied().collect();
            let scale = group_scale(amax(&elements), most);
            for row in rows {
                all[tile(row)].copy_from_slice(&codes::<C>(&x[tile(row)], scale, most));
            }
            scales.push(scale);
        }
    }
    (all, scales)
}

/// What codes with these scales stand for, in f32.
pub fn dequantize(codes: &[f64], scales: &[f64]) -> Vec<f64> {
    codes.iter().zip(scales).map(|(code, scale)| f64::from((code * scale) as f32)).collect()
}

/// The byte of the power of two that scales a block with that largest magnitude, for codes of at
/// most `most`: the smallest, or the largest, of which holds what the mode asks for.
pub fn mx_scale(mode: MxRound, amax: f32, most: f32) -> E8M0 {
    if !amax.is_finite() {
        return E8M0::NAN;
    }
    let (amax, most) = (f64::from(amax), f64::from(most));
    let whole = 2f64.powi(most.log2().floor() as i32);
    let power = |byte: u8| E8M0::from_bits(byte).to_f64();
    // Bytes are in the order of their powers.
    let count = |holds: &dyn Fn(f64) -> bool| {
        let bytes: [u8; 255] = std::array::from_fn(|byte| byte as u8);
        bytes.partition_point(|byte| holds(power(*byte))) as u8
    };
    let first = |most: f64| count(&|power| most * power < amax).min(254);
    let last = |least: f64| count(&|power| least * power <= amax).saturating_sub(1);
    E8M0::from_bits(match mode {
        MxRound::Even => last(0.875 * whole),
        MxRound::RoundUp => first(most),
        MxRound::RoundDown => last(whole),
        MxRound::Ceil => first(whole),
        MxRound::FloorOfRatio => last(most),
    })
}

/// What the codes of blocks of 32 elements of a row, the last of which may be shorter, stand for,
/// and their scales.
pub fn dynamic_mx_quant<C: Element>(
    x: &[f64],
    width: usize,
    mode: MxRound,
    most: f32,
) -> (Vec<f64>, Vec<E8M0>) {
    let (mut all, mut scales) = (Vec::new(), Vec::new());
    for block in x.chunks_exact(width).flat_map(|row| row.chunks(32)) {
        let scale = mx_scale(mode, amax(block), most);
        let most = f64::from(most);
        let quotient = |x: &f64| if scale.is_nan() { 0.0 } else { x / scale.to_f64() };
        let quotients: Vec<_> = block.iter().map(|x| quotient(x).clamp(-most, most)).collect();
        all.extend(decode(&C::encode(&quotients)));
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
    fn tensors_have_one_scale_and_columns_are_smoothed() {
        let (codes, scale) = dynamic_per_tensor_quant::<i8>(&[1.0, -2.0, 0.0], 127.0);
        assert_eq!((codes, scale), (vec![64.0, -127.0, 0.0], 2.0 / 127.0));
        assert_eq!(dynamic_per_tensor_quant::<i8>(&[], 127.0).1, 1.0);
        assert_eq!(smooth(&[1.0, 2.0, 3.0, 4.0], &[10.0, 0.5]), [10.0, 1.0, 30.0, 2.0]);
    }

    #[test]
    fn groups_end_with_their_row() {
        let x = [1.0, -2.0, 4.0, 0.0, 0.0, 127.0];
        let (codes, scales) = per_group_quant::<i8>(&x, 3, 2, 127.0);
        assert_eq!(codes, [64.0, -127.0, 127.0, 0.0, 0.0, 127.0]);
        assert_eq!(scales, [2.0 / 127.0, 4.0 / 127.0, 1e-10 / 127.0, 1.0]);
    }

    #[test]
    fn tiles_end_with_the_matrix() {
        let x = [1.0, -2.0, 4.0, 0.0, 0.0, 127.0, 6.0, 0.5, 2.0];
        let (codes, scales) = per_block_quant::<i8>(&x, 3, 2, 127.0);
        assert_eq!(codes, [64.0, -127.0, 4.0, 0.0, 0.0, 127.0, 127.0, 11.0, 127.0]);
        assert_eq!(scales, [2.0 / 127.0, 1.0, 6.0 / 127.0, 2.0 / 127.0]);
        assert_eq!(dequantize(&[3.0, -1.0], &[0.5, 2.0]), [1.5, -2.0]);
    }

    #[test]
    fn modes_differ_around_the_largest_code() {
        let bytes = |amax| MxRound::ALL.map(|mode| mx_scale(mode, amax, 6.0).to_bits());
        assert_eq!(bytes(4.0), [127, 127, 127, 127, 126]);
        assert_eq!(bytes(6.0), [127, 127, 127, 128, 127]);
        assert_eq!(bytes(6.5), [127, 128, 127, 128, 127]);
        assert_eq!(bytes(7.0), [128, 128, 127, 128, 127]);
        assert_eq!(bytes(0.0), [0; 5]);
        assert_eq!(bytes(f32::INFINITY), [255; 5]);
    }

    #[test]
    fn nan_is_the_largest() {
        assert!(amax(&[1.0, f64::NAN, f64::INFINITY]).is_nan());
        assert_eq!(amax(&[1.0, f64::NEG_INFINITY]), f32::INFINITY);
    }
}
