//! Transcendental functions of the vector ALU.
//!
//! The hardware documents about one unit in the last place; these are correctly rounded (see the
//! tests for how far that is proven), and `rough` has those that are as far off as that allows.
//! `f32` functions flush denormal operands and results to zero whatever MODE says, `f16` and `f64`
//! functions keep them. Sine and cosine take revolutions.
//!
//! The cores work in `f64` without branches or tables, so that a loop over lanes becomes vector
//! code. Their polynomials are Chebyshev fits computed with 200 bits. Where the host has AVX-512,
//! shorter computations give most results (`valu/near.rs`), and these those that are in doubt.

use std::f64::consts::{LN_2, TAU};
use std::sync::LazyLock;

use super::float::{RoundMode, f16_from_f64, f32_from_f16};

/// Adding and subtracting this rounds an `f64` below `2^51` to an integer, ties to even.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `((2^t - 1) / t - ln 2) / t` for `|t| <= 1/2`; error below `2^-56`.
const EXP2_TAIL: [f64; 10] = [
    0.240_226_506_959_100_97,
    0.055_504_108_664_821_6,
    0.009_618_129_107_606_888,
    0.001_333_355_814_641_693_6,
    0.000_154_035_304_417_360_5,
    1.525_273_382_983_612e-5,
    1.321_544_258_792_169e-6,
    1.017_806_244_584_577_4e-7,
    7.072_585_949_269_223e-9,
    4.454_960_598_186_518_6e-10,
];

/// `log2((1 + s) / (1 - s)) / s` in powers of `s^2`, for ratios between the square roots of 1/2 and
/// 2; error below `2^-59`.
const LOG2: [f64; 8] = [
    2.885_390_081_777_926_8,
    0.961_796_693_925_989_8,
    0.577_078_016_345_520_3,
    0.412_198_585_840_900_5,
    0.320_598_534_913_959_84,
    0.262_334_352_504_183,
    0.220_913_084_231_176_8,
    0.213_658_956_943_192_7,
];

/// `sin(2 pi r) / r` in powers of `r^2`, for `|r| <= 1/4`; error below `2^-61`.
const SIN: [f64; 9] = [
    TAU,
    -41.341_702_240_399_755,
    81.605_249_276_073_62,
    -76.705_859_752_824_92,
    42.058_693_925_428_685,
    -15.094_641_676_117_9,
    3.819_928_094_227_164_3,
    -0.717_733_792_141_345_4,
    0.100_896_955_016_468_12,
];

/// Largest argument of sine and cosine in revolutions.
const MAX_REVOLUTIONS: f64 = 256.0;

#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let [rest @ .., last] = coefficients.as_slice() else { return 0.0 };
    rest.iter().rev().fold(*last, |sum, c| fused(sum, x, *c))
}

/// `a * b + c`, fused: the accuracy of the cores relies on it.
#[inline(always)]
fn fused(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// `2^x`; below `2^-200` and above `2^200` it stays there.
///
/// The value is rounded to odd: where it is inexact its last bit is set, so that rounding it to a
/// narrower format goes the right way even if it lies just beside the middle of two values there.
#[inline(always)]
fn exp2(x: f64) -> f64 {
    /// What `LN_2` lacks of the logarithm of 2.
    const LN_2_REST: f64 = 2.319_046_813_846_299_6e-17;
    let bounded = x.clamp(-200.0, 200.0);
    let shifted = bounded + ROUND;
    let fraction = bounded - (shifted - ROUND);
    // The low bits of `shifted` are the integer; moved to the exponent field they scale exactly.
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    // 1 + (ln 2 + tail) fraction, with the errors of the last three operations collected.
    let tail = fused(polynomial(&EXP2_TAIL, fraction), fraction, LN_2_REST);
    let factor = LN_2 + tail;
    let factor_rest = tail - (factor - LN_2);
    let product = factor * fraction;
    let product_rest = fused(factor, fraction, -product) + factor_rest * fraction;
    let sum = 1.0 + product;
    let rest = (product - (sum - 1.0)) + product_rest;
    let value = to_odd(sum, rest) * scale;
    if x.is_nan() { x } else { value }
}

/// The positive number `value`, or its odd neighbour towards `value + rest` if it is even.
#[inline(always)]
fn to_odd(value: f64, rest: f64) -> f64 {
    let bits = value.to_bits();
    let towards = u64::from(rest > 0.0).wrapping_sub(u64::from(rest < 0.0));
    f64::from_bits(if bits & 1 == 0 { bits.wrapping_add(towards) } else { bits })
}

/// `log2(x)` of a positive, finite, normal number.
#[inline(always)]
fn log2(x: f64) -> f64 {
    /// Bits of the square root of 1/2, to split `x` into `2^exponent` and a ratio near 1.
    const SPLIT: u64 = 0x3fe6_a09e_667f_3bcd;
    let above = x.to_bits().wrapping_sub(SPLIT);
    let ratio = f64::from_bits((above & ((1 << 52) - 1)) + SPLIT);
    // The exponent becomes a float through the mantissa of a large one, which vectors can do.
    let exponent = (above as i64 >> 52) as u64;
    let exponent = f64::from_bits(ROUND.to_bits().wrapping_add(exponent)) - ROUND;
    let s = (ratio - 1.0) / (ratio + 1.0);
    fused(polynomial(&LOG2, s * s), s, exponent)
}

/// `sin(2 pi x)` for `|x|` up to [`MAX_REVOLUTIONS`].
#[inline(always)]
fn sin(x: f64) -> f64 {
    let rest = x - ((x + ROUND) - ROUND);
    let folded = if rest.abs() > 0.25 { 0.5_f64.copysign(rest) - rest } else { rest };
    polynomial(&SIN, folded * folded) * folded
}

/// `cos(2 pi x)` for `|x|` up to [`MAX_REVOLUTIONS`].
#[inline(always)]
fn cos(x: f64) -> f64 {
    let folded = 0.25 - (x - ((x + ROUND) - ROUND)).abs();
    polynomial(&SIN, folded * folded) * folded
}

/// Zero of the same sign if `x` is denormal.
#[inline(always)]
fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// `v_exp_f32`: `2^x`.
#[inline(always)]
pub fn exp2_f32(x: f32) -> f32 {
    flush(exp2(f64::from(flush(x))) as f32)
}

/// `v_log_f32`: `log2(x)`.
#[inline(always)]
pub fn log2_f32(x: f32) -> f32 {
    log2_any(f64::from(flush(x))) as f32
}

/// `log2` with its special cases; denormal `f64` do not occur.
#[inline(always)]
fn log2_any(x: f64) -> f64 {
    let value = log2(x);
    let value = if x == f64::INFINITY { x } else { value };
    let value = if x < 0.0 { f64::NAN } else { value };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    if x.is_nan() { x } else { value }
}

/// `v_rcp_f32`: `1 / x`.
#[inline(always)]
pub fn rcp_f32(x: f32) -> f32 {
    flush(1.0 / flush(x))
}

/// `v_rsq_f32`: `1 / sqrt(x)`; infinite with the sign of `x` for zeros.
#[inline(always)]
pub fn rsq_f32(x: f32) -> f32 {
    rsq(f64::from(flush(x))) as f32
}

#[inline(always)]
fn rsq(x: f64) -> f64 {
    1.0 / sqrt(x)
}

/// Square root; hosts differ in the sign of the NaN that they return for negative numbers.
#[inline(always)]
fn sqrt(x: f64) -> f64 {
    if x < 0.0 { f64::NAN } else { x.sqrt() }
}

/// `v_sqrt_f32`.
#[inline(always)]
pub fn sqrt_f32(x: f32) -> f32 {
    let x = flush(x);
    if x < 0.0 { f32::NAN } else { x.sqrt() }
}

/// `v_sin_f32`: `sin(2 pi x)`; 0 for `|x|` above 256, NaN for infinities.
#[inline(always)]
pub fn sin_f32(x: f32) -> f32 {
    revolve(f64::from(flush(x)), sin, 0.0) as f32
}

/// `v_cos_f32`: `cos(2 pi x)`; 1 for `|x|` above 256, NaN for infinities.
#[inline(always)]
pub fn cos_f32(x: f32) -> f32 {
    revolve(f64::from(flush(x)), cos, 1.0) as f32
}

#[inline(always)]
fn revolve(x: f64, function: impl Fn(f64) -> f64, outside: f64) -> f64 {
    let value = if x.abs() > MAX_REVOLUTIONS { outside } else { function(x) };
    let value = if x.abs() == f64::INFINITY { f64::NAN } else { value };
    if x.is_nan() { x } else { value }
}

/// Functions that give the neighbour of the rounded number on the other side of the exact one, which is
/// within a unit in the last place, too; what is exact stays.
pub(crate) mod rough {
    use super::{exp2, exp2_f32, flush, log2_any, log2_f32, rcp_f32, rsq, rsq_f32, sqrt, sqrt_f32};

    fn other_side(near: f32, exact: f64) -> f32 {
        let wide = f64::from(near);
        if !near.is_normal() || exact.is_nan() || exact == wide {
            return near;
        }
        let other = if exact > wide { near.next_up() } else { near.next_down() };
        if other.is_normal() { other } else { near }
    }

    /// `v_rcp_f32`.
    pub(crate) fn rcp(x: f32) -> f32 {
        other_side(rcp_f32(x), 1.0 / f64::from(flush(x)))
    }

    /// `v_rsq_f32`.
    pub(crate) fn rsqrt(x: f32) -> f32 {
        other_side(rsq_f32(x), rsq(f64::from(flush(x))))
    }

    /// `v_sqrt_f32`.
    pub(crate) fn root(x: f32) -> f32 {
        other_side(sqrt_f32(x), sqrt(f64::from(flush(x))))
    }

    /// `v_exp_f32`.
    pub(crate) fn exp(x: f32) -> f32 {
        other_side(exp2_f32(x), exp2(f64::from(flush(x))))
    }

    /// `v_log_f32`.
    pub(crate) fn log(x: f32) -> f32 {
        other_side(log2_f32(x), log2_any(f64::from(flush(x))))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn results_are_off_by_less_than_a_unit_and_exact_ones_stay() {
            let numbers = (0..4000).map(|i| f32::from_bits(0x2f12_3457 + i * 0x0002_1357));
            for x in numbers {
                let wide = f64::from(x);
                let exponent = wide.log2();
                let power = exponent as f32;
                for (of, near, exact) in [
                    (rcp(x), rcp_f32(x), 1.0 / wide),
                    (rsqrt(x), rsq_f32(x), 1.0 / wide.sqrt()),
                    (root(x), sqrt_f32(x), wide.sqrt()),
                    (exp(power), exp2_f32(power), f64::from(power).exp2()),
                    (log(x), log2_f32(x), exponent),
                ] {
                    let unit = f64::from(near.abs().next_up()) - f64::from(near.abs());
                    let off = (f64::from(of) - exact).abs();
                    assert!(of != near && off < 1.0001 * unit, "{x}: {of}, {near}, {exact}");
                }
            }
            for power in [-20, -1, 0, 3, 40] {
                let x = 2f32.powi(power);
                assert_eq!((rcp(x), root(x * x), rsqrt(x * x)), (1.0 / x, x, 1.0 / x));
                assert_eq!((exp(power as f32), log(x)), (x, power as f32));
            }
            for x in [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY] {
                assert_eq!(rcp(x).to_bits(), rcp_f32(x).to_bits());
                assert_eq!(exp(x).to_bits(), exp2_f32(x).to_bits());
                assert_eq!(log(x).to_bits(), log2_f32(x).to_bits());
            }
        }
    }
}

/// Functions on `f16` codes, of which there are so few that all results are computed at the first
/// use.
macro_rules! f16_functions {
    ($($(#[$doc:meta])* $name:ident = $function:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name(x: u16) -> u16 {
            static RESULTS: LazyLock<Box<[u16]>> = LazyLock::new(|| on_f16($function));
            RESULTS[usize::from(x)]
        }
    )*};
}

fn on_f16(function: impl Fn(f64) -> f64) -> Box<[u16]> {
    let result =
        |code| f16_from_f64(function(f64::from(f32_from_f16(code))), RoundMode::NearestEven);
    (0..=u16::MAX).map(result).collect()
}

f16_functions! {
    /// `v_exp_f16`: `2^x` on `f16` codes.
    exp2_f16 = exp2;
    /// `v_log_f16`: `log2(x)` on `f16` codes.
    log2_f16 = log2_any;
    /// `v_rcp_f16`: `1 / x` on `f16` codes.
    rcp_f16 = |x| 1.0 / x;
    /// `v_rsq_f16`: `1 / sqrt(x)` on `f16` codes.
    rsq_f16 = rsq;
    /// `v_sqrt_f16` on `f16` codes.
    sqrt_f16 = sqrt;
    /// `v_sin_f16`: `sin(2 pi x)` on `f16` codes; the range is that of `v_sin_f32`.
    sin_f16 = |x| revolve(x, sin, 0.0);
    /// `v_cos_f16`: `cos(2 pi x)` on `f16` codes; the range is that of `v_cos_f32`.
    cos_f16 = |x| revolve(x, cos, 1.0);
}

/// `v_rcp_f64`: `1 / x`, correctly rounded (the hardware gives about 26 bits).
#[inline(always)]
pub fn rcp_f64(x: f64) -> f64 {
    1.0 / x
}

/// `v_rsq_f64`: `1 / sqrt(x)` within one unit in the last place (the hardware gives 26 bits).
#[inline(always)]
pub fn rsq_f64(x: f64) -> f64 {
    rsq(x)
}

/// `v_sqrt_f64`: correctly rounded (the hardware gives about 26 bits).
#[inline(always)]
pub fn sqrt_f64(x: f64) -> f64 {
    sqrt(x)
}
