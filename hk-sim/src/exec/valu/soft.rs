//! Arithmetic in rounding modes that the host's vector instructions are not set to.

use super::half::Half;
use super::lane::Context;
use super::numeric::ldexp64_by;
use crate::exec::float::{
    Denormals, FloatEnv, RoundMode, add_f16, add_f32, add_f64, f16_from_f64, f32_from_f64, fma_f16,
    fma_f32, fma_f64, mul_f16, mul_f32, mul_f64,
};

/// Formats whose results MODE rounds.
pub(super) trait Soft: Copy {
    /// Position of the format's rounding mode in MODE.
    const ROUND_AT: u32;

    fn add_in(self, other: Self, env: FloatEnv) -> Self;
    fn mul_in(self, factor: Self, env: FloatEnv) -> Self;
    fn fma_in(self, factor: Self, addend: Self, env: FloatEnv) -> Self;
    fn negated(self) -> Self;
    /// Nearest value in the direction of `round`.
    fn from_f64(x: f64, round: RoundMode) -> Self;
}

macro_rules! softs {
    ($($type:ty, $round:literal, $add:ident, $mul:ident, $fma:ident,
       |$bits:ident| $in:expr, $out:path, $negated:expr, $from:expr;)*) => {$(
        impl Soft for $type {
            const ROUND_AT: u32 = $round;

            fn add_in(self, other: Self, env: FloatEnv) -> Self {
                let raw = |$bits: Self| $in;
                $out($add(raw(self), raw(other), env))
            }

            fn mul_in(self, factor: Self, env: FloatEnv) -> Self {
                let raw = |$bits: Self| $in;
                $out($mul(raw(self), raw(factor), env))
            }

            fn fma_in(self, factor: Self, addend: Self, env: FloatEnv) -> Self {
                let raw = |$bits: Self| $in;
                $out($fma(raw(self), raw(factor), raw(addend), env))
            }

            fn negated(self) -> Self {
                $negated(self)
            }

            fn from_f64(x: f64, round: RoundMode) -> Self {
                $from(x, round)
            }
        }
    )*};
}

softs! {
    f32, 0, add_f32, mul_f32, fma_f32, |x| x, f32::from,
        std::ops::Neg::neg, f32_from_f64;
    f64, 2, add_f64, mul_f64, fma_f64, |x| x, f64::from,
        std::ops::Neg::neg, |x, _| x;
    Half, 2, add_f16, mul_f16, fma_f16, |x| x.0, Half,
        |x: Half| Half(x.0 ^ 0x8000), |x, round| Half(f16_from_f64(x, round));
}

fn round_mode<T: Soft>(cx: Context) -> RoundMode {
    RoundMode::from_field(cx.mode >> T::ROUND_AT)
}

/// Denormals are the business of the handlers.
fn env<T: Soft>(cx: Context) -> FloatEnv {
    FloatEnv { round: round_mode::<T>(cx), denormals: Denormals::KEEP }
}

pub(super) fn add<T: Soft>(cx: Context, a: T, b: T) -> T {
    a.add_in(b, env::<T>(cx))
}

pub(super) fn sub<T: Soft>(cx: Context, a: T, b: T) -> T {
    a.add_in(b.negated(), env::<T>(cx))
}

pub(super) fn mul<T: Soft>(cx: Context, a: T, b: T) -> T {
    a.mul_in(b, env::<T>(cx))
}

pub(super) fn fma<T: Soft>(cx: Context, a: T, b: T, c: T) -> T {
    a.fma_in(b, c, env::<T>(cx))
}

/// Conversion of a value that `f64` holds exactly.
pub(super) fn convert<T: Soft>(cx: Context, x: impl Into<f64>) -> T {
    T::from_f64(x.into(), round_mode::<T>(cx))
}

/// `x * 2^exponent`.
pub(super) fn ldexp64(cx: Context, x: f64, exponent: i32) -> f64 {
    ldexp64_by(x, exponent, |x, factor| mul(cx, x, factor))
}

/// Rounding mode of the software library for results of type `T`.
pub(super) fn round<T: Soft>(cx: Context) -> rustc_apfloat::Round {
    use rustc_apfloat::Round;
    match round_mode::<T>(cx) {
        RoundMode::NearestEven => Round::NearestTiesToEven,
        RoundMode::TowardPositive => Round::TowardPositive,
        RoundMode::TowardNegative => Round::TowardNegative,
        RoundMode::TowardZero => Round::TowardZero,
    }
}
