//! Scalar arithmetic that the kernels share, in forms that become vector code.

use super::half::Half;
use super::lane::{Context, NanRule, quiet32, quiet64};

/// Floats that minimum, maximum and median are defined on.
pub(super) trait Real: Copy + NanRule {
    /// Integer in the order of the values, with -0 below +0.
    type Key: Ord + Copy;

    fn key(self) -> Self::Key;
    fn is_nan(self) -> bool;
    fn is_signalling(self) -> bool;
    fn quiet(self) -> Self;
}

macro_rules! reals {
    ($($type:ty, $key:ty, $bits:expr, $quiet:expr, $quiet_bit:literal;)*) => {$(
        impl Real for $type {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                let bits = $bits(self) as $key;
                bits ^ (bits >> (<$key>::BITS - 1) & <$key>::MAX)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            #[inline(always)]
            fn is_signalling(self) -> bool {
                <$type>::is_nan(self) & ($bits(self) >> $quiet_bit & 1 == 0)
            }

            #[inline(always)]
            fn quiet(self) -> Self {
                $quiet(self)
            }
        }
    )*};
}

reals! {
    f32, i32, f32::to_bits, quiet32, 22;
    f64, i64, f64::to_bits, quiet64, 51;
    Half, i16, |x: Half| x.0, Half::quiet, 9;
}

/// Choice between two numbers; a NaN gives way to the other operand, except that in IEEE mode a
/// signalling NaN wins and becomes quiet.
#[inline(always)]
fn choose<T: Real>(cx: Context, a: T, b: T, first: bool) -> T {
    let chosen = if first { a } else { b };
    let chosen = if b.is_nan() { a } else { chosen };
    let chosen = if a.is_nan() { b } else { chosen };
    let chosen = if cx.ieee() & b.is_signalling() { b.quiet() } else { chosen };
    if cx.ieee() & a.is_signalling() { a.quiet() } else { chosen }
}

/// `v_min_*`.
#[inline(always)]
pub(super) fn min<T: Real>(cx: Context, a: T, b: T) -> T {
    choose(cx, a, b, a.key() <= b.key())
}

/// `v_max_*`.
#[inline(always)]
pub(super) fn max<T: Real>(cx: Context, a: T, b: T) -> T {
    choose(cx, a, b, a.key() >= b.key())
}

/// `v_med3_*`: the minimum of all if one is a NaN.
#[inline(always)]
pub(super) fn med3<T: Real>(cx: Context, a: T, b: T, c: T) -> T {
    let (low, high) = if a.key() <= b.key() { (a, b) } else { (b, a) };
    let upper = if high.key() <= c.key() { high } else { c };
    let median = if low.key() >= upper.key() { low } else { upper };
    let nan = a.is_nan() | b.is_nan() | c.is_nan();
    if nan { min(cx, min(cx, a, b), c) } else { median }
}

/// IEEE 754-2019 minimum: a NaN operand makes the result that NaN, quieted.
#[inline(always)]
pub(super) fn minimum<T: Real>(a: T, b: T) -> T {
    let chosen = if a.key() <= b.key() { a } else { b };
    propagate(a, b, chosen)
}

/// IEEE 754-2019 maximum.
#[inline(always)]
pub(super) fn maximum<T: Real>(a: T, b: T) -> T {
    let chosen = if a.key() >= b.key() { a } else { b };
    propagate(a, b, chosen)
}

#[inline(always)]
fn propagate<T: Real>(a: T, b: T, chosen: T) -> T {
    let chosen = if b.is_nan() { b.quiet() } else { chosen };
    if a.is_nan() { a.quiet() } else { chosen }
}

/// The middle of three integers.
#[inline(always)]
pub(super) fn median<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.min(b).max(a.max(b).min(c))
}

/// Conversion to an integer, towards zero; saturates, and a NaN becomes zero.
///
/// It is what `as` does, in a form without branches.
macro_rules! truncations {
    ($($name:ident: $from:ty => $to:ty, $above:expr, $largest:expr;)*) => {$(
        #[inline(always)]
        pub(super) fn $name(x: $from) -> $to {
            const LOWEST: $from = <$to>::MIN as $from;
            // `max` turns a NaN into the bound.
            let inside = x.max(LOWEST).min($largest);
            // SAFETY: the argument is in the range of the integer.
            let number = unsafe { inside.to_int_unchecked::<$to>() };
            let number = if x.is_nan() { 0 } else { number };
            if x >= $above { <$to>::MAX } else { number }
        }
    )*};
}

truncations! {
    f32_to_i32: f32 => i32, 2_147_483_648.0, 2_147_483_520.0;
    f32_to_u32: f32 => u32, 4_294_967_296.0, 4_294_967_040.0;
    f64_to_i32: f64 => i32, 2_147_483_648.0, 2_147_483_647.0;
    f64_to_u32: f64 => u32, 4_294_967_296.0, 4_294_967_295.0;
}

/// Nearest integer, ties to even, of a number of at most 22 bits; a NaN stays one.
#[inline(always)]
pub(super) fn round_small(x: f64) -> f64 {
    const SHIFT: f64 = (3u64 << 51) as f64;
    x + SHIFT - SHIFT
}

/// Signed normalised integer: `x` in [-1, 1] times `scale`, rounded to nearest even.
#[inline(always)]
pub(super) fn normalised(x: f32, low: f64, scale: f64) -> i32 {
    let x = if x.is_nan() { 0.0 } else { f64::from(x) };
    f64_to_i32(round_small(x.max(low).min(1.0) * scale))
}

/// Distance of a number from the integer below, below one.
#[inline(always)]
pub(super) fn fract32(x: f32) -> f32 {
    let fract = x - x.floor();
    if fract >= 1.0 { f32::from_bits(0x3f7f_ffff) } else { fract }
}

/// Distance of a number from the integer below, below one.
#[inline(always)]
pub(super) fn fract64(x: f64) -> f64 {
    let fract = x - x.floor();
    if fract >= 1.0 { f64::from_bits(0x3fef_ffff_ffff_ffff) } else { fract }
}

/// `2^exponent` where that is a normal number.
#[inline(always)]
pub(super) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((i64::from(exponent) + 1023) as u64) << 52)
}

/// Exponent and mantissa such that `x = mantissa * 2^exponent` with the mantissa in [0.5, 1);
/// exponent 0 and `x` itself, quieted, for zeros, infinities and NaNs.
#[inline(always)]
pub(super) fn frexp32(x: f32) -> (i32, f32) {
    let magnitude = x.to_bits() & 0x7fff_ffff;
    let denormal = magnitude < 1 << 23;
    let normal = if denormal { x * 4_294_967_296.0 } else { x };
    let bits = normal.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 126 - if denormal { 32 } else { 0 };
    let special = magnitude == 0 || magnitude >= 0x7f80_0000;
    let mantissa = f32::from_bits(bits & 0x807f_ffff | 126 << 23);
    let unchanged = if x.is_nan() { quiet32(x) } else { x };
    if special { (0, unchanged) } else { (exponent, mantissa) }
}

/// As [`frexp32`].
#[inline(always)]
pub(super) fn frexp64(x: f64) -> (i32, f64) {
    let magnitude = x.to_bits() & (u64::MAX >> 1);
    let denormal = magnitude < 1 << 52;
    let normal = if denormal { x * 18_446_744_073_709_551_616.0 } else { x };
    let bits = normal.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1022 - if denormal { 64 } else { 0 };
    let special = magnitude == 0 || magnitude >= 0x7ff << 52;
    let mantissa = f64::from_bits(bits & 0x800f_ffff_ffff_ffff | 1022 << 52);
    let unchanged = if x.is_nan() { quiet64(x) } else { x };
    if special { (0, unchanged) } else { (exponent, mantissa) }
}

/// `x * 2^exponent`, exactly but for exponents so large that the result leaves the range of `f32`
/// anyway.
#[inline(always)]
pub(super) fn ldexp32(x: f32, exponent: i32) -> f64 {
    f64::from(x) * power_of_two(exponent.clamp(-400, 400))
}

/// `x * 2^exponent`, rounded once.
pub(super) fn ldexp64(x: f64, exponent: i32) -> f64 {
    ldexp64_by(x, exponent, |x, factor| x * factor)
}

/// [`ldexp64`] with a multiplication of choice.
pub(super) fn ldexp64_by(mut x: f64, exponent: i32, mul: impl Fn(f64, f64) -> f64) -> f64 {
    // Each step but the last is exact, because on the way down 53 bits of distance to the
    // denormals are kept, or overflows for good.
    const UP: i32 = 1023;
    const DOWN: i32 = -1022 + 53;
    let mut left = exponent.clamp(-2 * 1100, 2 * 1100);
    while left > UP {
        x = mul(x, power_of_two(UP));
        left -= UP;
    }
    while left < -1022 {
        x = mul(x, power_of_two(DOWN));
        left -= DOWN;
    }
    mul(x, power_of_two(left))
}

/// Replaces a denormal by the zero of its sign.
#[inline(always)]
pub(super) fn flush32(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// As [`NanRule`], for an expression inside a kernel.
#[inline(always)]
pub(super) fn resolve3(result: f32, [a, b, c]: [f32; 3]) -> f32 {
    let nan = f32::from_bits(0x7fc0_0000);
    let nan = if c.is_nan() { quiet32(c) } else { nan };
    let nan = if b.is_nan() { quiet32(b) } else { nan };
    let nan = if a.is_nan() { quiet32(a) } else { nan };
    if result.is_nan() { nan } else { result }
}
