//! Arithmetic under the rounding and denormal settings of the MODE register.
//!
//! In the default environment (nearest even, denormals kept) plain host operators give the same
//! results; these functions are for the others.

use rustc_apfloat::ieee::{Double, Half, Single};
use rustc_apfloat::{Float, Round};

use super::{f16_from_f64, f32_from_f16};

/// IEEE rounding mode, numbered as in MODE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoundMode {
    /// To nearest, ties to even.
    #[default]
    NearestEven,
    /// Towards plus infinity.
    TowardPositive,
    /// Towards minus infinity.
    TowardNegative,
    /// Towards zero.
    TowardZero,
}

impl RoundMode {
    /// Mode of the two low bits of `field`.
    pub fn from_field(field: u32) -> Self {
        match field & 3 {
            0 => Self::NearestEven,
            1 => Self::TowardPositive,
            2 => Self::TowardNegative,
            _ => Self::TowardZero,
        }
    }

    /// Whether a magnitude of that sign is rounded towards zero, for the directed modes.
    pub(super) fn drops_fraction(self, negative: bool) -> bool {
        match self {
            Self::NearestEven => false,
            Self::TowardPositive => negative,
            Self::TowardNegative => !negative,
            Self::TowardZero => true,
        }
    }

    fn round(self) -> Round {
        match self {
            Self::NearestEven => Round::NearestTiesToEven,
            Self::TowardPositive => Round::TowardPositive,
            Self::TowardNegative => Round::TowardNegative,
            Self::TowardZero => Round::TowardZero,
        }
    }
}

/// Which denormals are kept; the others become zeros of the same sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denormals {
    /// Denormal operands are kept.
    pub inputs: bool,
    /// Denormal results are kept.
    pub outputs: bool,
}

impl Denormals {
    /// All denormals are kept.
    pub const KEEP: Self = Self { inputs: true, outputs: true };

    fn from_field(field: u32) -> Self {
        Self { inputs: field & 1 != 0, outputs: field & 2 != 0 }
    }
}

/// Rounding and denormals of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatEnv {
    /// Rounding mode.
    pub round: RoundMode,
    /// Denormals.
    pub denormals: Denormals,
}

impl FloatEnv {
    /// What the host's operators do.
    pub const DEFAULT: Self = Self { round: RoundMode::NearestEven, denormals: Denormals::KEEP };

    /// Whether the host's operators give the results of this environment.
    pub fn is_default(self) -> bool {
        self == Self::DEFAULT
    }
}

/// The float settings of the MODE register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatMode {
    /// Environment of `f32` operations.
    pub f32: FloatEnv,
    /// Environment of `f16` and `f64` operations.
    pub f16_f64: FloatEnv,
    /// Clamping turns NaN into 0.
    pub dx10_clamp: bool,
    /// Minimum and maximum quiet signalling NaNs.
    pub ieee: bool,
    /// 16-bit and narrower results saturate instead of overflowing.
    pub fp16_overflow: bool,
}

impl FloatMode {
    /// Settings of a value of the MODE register.
    pub fn from_mode_register(mode: u32) -> Self {
        let env = |round: u32, denormals: u32| FloatEnv {
            round: RoundMode::from_field(mode >> round),
            denormals: Denormals::from_field(mode >> denormals),
        };
        Self {
            f32: env(0, 4),
            f16_f64: env(2, 6),
            dx10_clamp: mode >> 8 & 1 != 0,
            ieee: mode >> 9 & 1 != 0,
            fp16_overflow: mode >> 23 & 1 != 0,
        }
    }
}

/// A format that both the host (or a wider host format) and the soft-float library compute in.
trait Arithmetic: Copy {
    type Soft: Float;

    fn soft(self) -> Self::Soft;
    fn hard(soft: Self::Soft) -> Self;
    fn is_nan(self) -> bool;
    /// Zero of the same sign if `self` is denormal.
    fn flushed(self) -> Self;
    /// `self * factor + addend` in the default environment; it also propagates NaNs.
    fn nearest_fma(self, factor: Self, addend: Self) -> Self;
    fn nearest_add(self, other: Self) -> Self;
    fn nearest_mul(self, other: Self) -> Self;

    fn prepared(self, env: FloatEnv) -> Self {
        if env.denormals.inputs { self } else { self.flushed() }
    }

    fn finished(self, env: FloatEnv) -> Self {
        if env.denormals.outputs { self } else { self.flushed() }
    }
}

fn add<T: Arithmetic>(a: T, b: T, env: FloatEnv) -> T {
    let (a, b) = (a.prepared(env), b.prepared(env));
    let sum = if env.round == RoundMode::NearestEven || a.is_nan() || b.is_nan() {
        a.nearest_add(b)
    } else {
        T::hard(a.soft().add_r(b.soft(), env.round.round()).value)
    };
    sum.finished(env)
}

fn mul<T: Arithmetic>(a: T, b: T, env: FloatEnv) -> T {
    let (a, b) = (a.prepared(env), b.prepared(env));
    let product = if env.round == RoundMode::NearestEven || a.is_nan() || b.is_nan() {
        a.nearest_mul(b)
    } else {
        T::hard(a.soft().mul_r(b.soft(), env.round.round()).value)
    };
    product.finished(env)
}

fn fma<T: Arithmetic>(a: T, b: T, c: T, env: FloatEnv) -> T {
    let (a, b, c) = (a.prepared(env), b.prepared(env), c.prepared(env));
    let any_nan = a.is_nan() || b.is_nan() || c.is_nan();
    let sum = if env.round == RoundMode::NearestEven || any_nan {
        a.nearest_fma(b, c)
    } else {
        T::hard(a.soft().mul_add_r(b.soft(), c.soft(), env.round.round()).value)
    };
    sum.finished(env)
}

macro_rules! host_arithmetic {
    ($float:ty, $soft:ty) => {
        impl Arithmetic for $float {
            type Soft = $soft;

            fn soft(self) -> $soft {
                <$soft>::from_bits(self.to_bits().into())
            }

            fn hard(soft: $soft) -> Self {
                Self::from_bits(soft.to_bits() as _)
            }

            fn is_nan(self) -> bool {
                Self::is_nan(self)
            }

            fn flushed(self) -> Self {
                if self.is_subnormal() { (0.0 as Self).copysign(self) } else { self }
            }

            fn nearest_fma(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }

            fn nearest_add(self, other: Self) -> Self {
                self + other
            }

            fn nearest_mul(self, other: Self) -> Self {
                self * other
            }
        }
    };
}

host_arithmetic!(f32, Single);
host_arithmetic!(f64, Double);

/// Code of an `f16`.
impl Arithmetic for u16 {
    type Soft = Half;

    fn soft(self) -> Half {
        Half::from_bits(self.into())
    }

    fn hard(soft: Half) -> Self {
        soft.to_bits() as u16
    }

    fn is_nan(self) -> bool {
        self & 0x7fff > 0x7c00
    }

    fn flushed(self) -> Self {
        if self & 0x7c00 == 0 { self & 0x8000 } else { self }
    }

    // `f64` has more than twice the bits of an `f16` and its exponents are ample, so rounding twice
    // is rounding once.
    fn nearest_fma(self, factor: Self, addend: Self) -> Self {
        let [a, b, c] = [self, factor, addend].map(|code| f64::from(f32_from_f16(code)));
        f16_from_f64(a.mul_add(b, c), RoundMode::NearestEven)
    }

    fn nearest_add(self, other: Self) -> Self {
        let [a, b] = [self, other].map(|code| f64::from(f32_from_f16(code)));
        f16_from_f64(a + b, RoundMode::NearestEven)
    }

    fn nearest_mul(self, other: Self) -> Self {
        let [a, b] = [self, other].map(|code| f64::from(f32_from_f16(code)));
        f16_from_f64(a * b, RoundMode::NearestEven)
    }
}

macro_rules! functions {
    ($float:ty, $name:literal, $add:ident, $mul:ident, $fma:ident) => {
        #[doc = concat!("`a + b` of ", $name, " in an environment.")]
        pub fn $add(a: $float, b: $float, env: FloatEnv) -> $float {
            add(a, b, env)
        }

        #[doc = concat!("`a * b` of ", $name, " in an environment.")]
        pub fn $mul(a: $float, b: $float, env: FloatEnv) -> $float {
            mul(a, b, env)
        }

        #[doc = concat!("`a * b + c` of ", $name, ", rounded once, in an environment.")]
        pub fn $fma(a: $float, b: $float, c: $float, env: FloatEnv) -> $float {
            fma(a, b, c, env)
        }
    };
}

functions!(f32, "`f32`", add_f32, mul_f32, fma_f32);
functions!(f64, "`f64`", add_f64, mul_f64, fma_f64);
functions!(u16, "`f16` codes", add_f16, mul_f16, fma_f16);
