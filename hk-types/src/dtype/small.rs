//! The floating-point types of 8, 6 and 4 bits.

use std::cmp::Ordering;
use std::fmt;

use bytemuck::{Pod, Zeroable};

use super::minifloat::{Format, Overflow};

macro_rules! small_float {
    ($($(#[$doc:meta])* $name:ident: $format:ident, $mask:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Compares as the number it stands for: zeros are equal, a NaN equals nothing.
        #[derive(Clone, Copy, Default, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Largest finite value.
            pub const MAX: Self = Self(Format::$format.max_code() as u8);

            /// The number with that code; bits that the format does not have are dropped.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits & $mask)
            }

            /// Its code.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Nearest value, ties to even; beyond the largest, infinity included, the largest.
            pub fn from_f32(value: f32) -> Self {
                Self::from_f64(f64::from(value))
            }

            /// Nearest value, ties to even; beyond the largest, infinity included, the largest.
            pub fn from_f64(value: f64) -> Self {
                Self(Format::$format.encode(value, Overflow::Saturate) as u8)
            }

            /// Nearest value, ties to even; what rounds beyond the largest becomes infinity, or
            /// NaN where there is no infinity, or the largest where there is neither.
            pub fn from_f32_overflowing(value: f32) -> Self {
                Self::from_f64_overflowing(f64::from(value))
            }

            /// Nearest value, ties to even; what rounds beyond the largest becomes infinity, or
            /// NaN where there is no infinity, or the largest where there is neither.
            pub fn from_f64_overflowing(value: f64) -> Self {
                Self(Format::$format.encode(value, Overflow::Special) as u8)
            }

            /// The number, exactly.
            pub fn to_f32(self) -> f32 {
                self.to_f64() as f32
            }

            /// The number, exactly.
            pub fn to_f64(self) -> f64 {
                // The code may come from raw bytes, whose surplus bits mean nothing.
                Format::$format.decode(u16::from(self.0 & $mask))
            }

            /// Whether it is not a number.
            pub fn is_nan(self) -> bool {
                self.to_f64().is_nan()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f64() == other.to_f64()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f64().partial_cmp(&other.to_f64())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f64(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f64(), f)
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> Self {
                value.to_f64()
            }
        }
    )*};
}

small_float! {
    /// OCP e4m3 ("fn"): largest 448, no infinity. The 8-bit float of gfx950 and of most
    /// checkpoints.
    F8E4M3: F8E4M3, 0xff;
    /// OCP e5m2: largest 57344, with infinity. The wide 8-bit float of gfx950.
    F8E5M2: F8E5M2, 0xff;
    /// e4m3 FNUZ: largest 240, no infinity, no negative zero. The 8-bit float of gfx942.
    F8E4M3Fnuz: F8E4M3_FNUZ, 0xff;
    /// e5m2 FNUZ: largest 57344, no infinity, no negative zero. The wide 8-bit float of gfx942.
    F8E5M2Fnuz: F8E5M2_FNUZ, 0xff;
    /// OCP MX e2m3 in the low six bits: largest 7.5.
    F6E2M3: F6E2M3, 0x3f;
    /// OCP MX e3m2 in the low six bits: largest 28.
    F6E3M2: F6E3M2, 0x3f;
    /// OCP MX e2m1 in the low four bits: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
    F4E2M1: F4E2M1, 0x0f;
}

/// Two packed e2m1 numbers; the one of even index is in the low nibble.
///
/// ```
/// use hk_types::dtype::{F4E2M1, F4x2E2M1};
/// let pair = F4x2E2M1::from_f32(1.5, -6.0);
/// assert_eq!(pair.to_bits(), 0xf3);
/// assert_eq!(pair.high(), F4E2M1::from_f32(-6.0));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct F4x2E2M1(u8);

impl F4x2E2M1 {
    /// Packs two numbers.
    pub const fn new(low: F4E2M1, high: F4E2M1) -> Self {
        Self(low.to_bits() | high.to_bits() << 4)
    }

    /// Packs the nearest values, ties to even, saturating at 6.
    pub fn from_f32(low: f32, high: f32) -> Self {
        Self::new(F4E2M1::from_f32(low), F4E2M1::from_f32(high))
    }

    /// The pair with that byte.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its byte.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The number of even index.
    pub const fn low(self) -> F4E2M1 {
        F4E2M1::from_bits(self.0 & 0xf)
    }

    /// The number of odd index.
    pub const fn high(self) -> F4E2M1 {
        F4E2M1::from_bits(self.0 >> 4)
    }
}

impl fmt::Debug for F4x2E2M1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.low(), self.high())
    }
}
