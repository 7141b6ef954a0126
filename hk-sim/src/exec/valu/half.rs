//! `f16` in terms of host arithmetic, in forms that become vector code.

use crate::exec::float::{f16_from_f32_nearest, f32_from_f16};

/// `f16` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Half(pub(super) u16);

/// Rounds to an `f32` in such a way that rounding once more to a narrower format is the same as
/// rounding `x` to it at once: towards zero, and if that is inexact, to the odd neighbour.
#[inline(always)]
pub(super) fn to_odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits() - u32::from(back.abs() > x.abs());
    let inexact = back != x && nearest.is_finite() | x.is_finite();
    f32::from_bits(bits | u32::from(inexact))
}

const MAGNITUDE: u16 = 0x7fff;
const INFINITY: u16 = 0x7c00;

impl Half {
    /// The value; a NaN becomes quiet.
    #[inline(always)]
    pub(super) fn to_f32(self) -> f32 {
        f32_from_f16(self.0)
    }

    /// Rounds to nearest even; NaNs keep their upper bits and become quiet.
    #[inline(always)]
    pub(super) fn from_f32(x: f32) -> Self {
        Self(f16_from_f32_nearest(x))
    }

    /// Rounds to nearest even.
    #[inline(always)]
    pub(super) fn from_f64(x: f64) -> Self {
        Self::from_f32(to_odd_f32(x))
    }

    #[inline(always)]
    pub(super) fn is_nan(self) -> bool {
        self.0 & MAGNITUDE > INFINITY
    }

    /// Sets the quiet bit.
    #[inline(always)]
    pub(super) fn quiet(self) -> Self {
        Self(self.0 | 0x200)
    }

    /// A function of `f32` whose result, rounded once more, is right.
    #[inline(always)]
    pub(super) fn via_f32(self, f: impl Fn(f32) -> f32) -> Self {
        Self::from_f32(f(self.to_f32()))
    }

    /// `self * factor + addend`, rounded once.
    ///
    /// In `f64` the product is exact, and the sum is not only where the addend or the product is
    /// too small to matter to a result of 11 bits.
    #[inline(always)]
    pub(super) fn mul_add(self, factor: Self, addend: Self) -> Self {
        let [a, b, c] = [self, factor, addend].map(|x| f64::from(x.to_f32()));
        Self::from_f64(a * b + c)
    }
}
