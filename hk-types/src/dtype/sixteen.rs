//! Many numbers at once as 16-bit ones.

use half::slice::HalfFloatSliceExt;

use super::{bf16, f16};

/// The nearest bf16 of each, ties to even; beyond the largest, infinity.
pub(super) fn encode_bf16(values: &[f64]) -> Vec<bf16> {
    let round = |value: &f64| {
        let bits = to_odd(*value).to_bits();
        let nearest = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        let nan = (bits >> 16) | 0x40;
        bf16::from_bits(if value.is_nan() { nan } else { nearest } as u16)
    };
    values.iter().map(round).collect()
}

/// The nearest f16 of each, ties to even; beyond the largest, infinity.
pub(super) fn encode_f16(values: &[f64]) -> Vec<f16> {
    let odd: Vec<f32> = values.iter().map(|value| to_odd(*value)).collect();
    let mut nearest = vec![f16::ZERO; values.len()];
    nearest.convert_from_f32_slice(&odd);
    nearest
}

/// The number in f32: of its two neighbours, where it is neither, the one whose last bit is set. To
/// round that to half as many bits gives what rounding the number itself would give.
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let beyond = u32::from(back.abs() > value.abs());
    let inexact = u32::from(back != value && !value.is_nan());
    f32::from_bits((nearest.to_bits() - beyond) | inexact)
}
