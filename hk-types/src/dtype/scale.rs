//! The power-of-two scale of the MX block formats.

use std::fmt;

use bytemuck::{Pod, Zeroable};

/// OCP MX block scale: byte `b` stands for `2^(b - 127)`, 255 for NaN. There is neither zero nor
/// sign.
///
/// ```
/// use hk_types::dtype::E8M0;
/// assert_eq!(E8M0::from_bits(0).to_f32(), 2f32.powi(-127));
/// assert_eq!(E8M0::from_f32(0.75).to_f32(), 1.0);
/// ```
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(transparent)]
pub struct E8M0(u8);

impl E8M0 {
    /// The scale 1.
    pub const ONE: Self = Self(127);
    /// Not a number.
    pub const NAN: Self = Self(255);

    /// The scale with that byte.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its byte.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The nearest power of two, as [`from_f64`](Self::from_f64).
    pub fn from_f32(value: f32) -> Self {
        Self::from_f64(f64::from(value))
    }

    /// The nearest power of two by distance, a tie going to the larger; clamped to the range that
    /// exists. NaN and negative numbers, which no scale can stand for, give NaN.
    pub fn from_f64(value: f64) -> Self {
        if value.is_nan() || value < 0.0 {
            return Self::NAN;
        }
        let fields = value.abs().to_bits() >> 51;
        let exponent = (fields >> 1) as i32 - 1023;
        // The midpoint of 2^e and 2^(e+1) is 1.5 * 2^e: the first mantissa bit decides.
        let rounded = exponent + (fields & 1) as i32;
        Self((rounded + 127).clamp(0, 254) as u8)
    }

    /// The number, exactly; 2^-127 is a subnormal `f32`.
    pub fn to_f32(self) -> f32 {
        match self.0 {
            0 => f32::from_bits(0x0040_0000),
            255 => f32::NAN,
            byte => f32::from_bits(u32::from(byte) << 23),
        }
    }

    /// The number, exactly.
    pub fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    /// Whether it is not a number.
    pub const fn is_nan(self) -> bool {
        self.0 == 255
    }
}

impl Default for E8M0 {
    fn default() -> Self {
        Self::ONE
    }
}

impl PartialEq for E8M0 {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 && !self.is_nan()
    }
}

impl fmt::Debug for E8M0 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_f64(), f)
    }
}

impl fmt::Display for E8M0 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f64(), f)
    }
}

impl From<E8M0> for f32 {
    fn from(value: E8M0) -> Self {
        value.to_f32()
    }
}

impl From<E8M0> for f64 {
    fn from(value: E8M0) -> Self {
        value.to_f64()
    }
}
