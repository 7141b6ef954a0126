//! Float formats of at most 16 bits.

/// How a format spends its codes on infinities and NaNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// As IEEE 754: the largest exponent holds infinity (mantissa 0) and NaNs.
    Ieee,
    /// No infinities; only the largest magnitude is a NaN (OCP `e4m3`).
    NanAtMax,
    /// No infinities, no negative zero; its code is the NaN (`fnuz`).
    NanAtMinusZero,
    /// Every code is a finite number.
    Finite,
}

/// A binary float format with a sign, an exponent and a mantissa, of at most 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MiniFloat {
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the mantissa field.
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// Infinities and NaNs.
    pub specials: Specials,
}

impl MiniFloat {
    /// IEEE half precision.
    pub const F16: Self = Self::new(5, 10, 15, Specials::Ieee);
    /// OCP `e4m3` (fp8 of gfx950): largest value 448.
    pub const E4M3: Self = Self::new(4, 3, 7, Specials::NanAtMax);
    /// `e4m3fnuz` (fp8 of gfx942): largest value 240.
    pub const E4M3_FNUZ: Self = Self::new(4, 3, 8, Specials::NanAtMinusZero);
    /// OCP `e5m2` (bf8 of gfx950): largest value 57344.
    pub const E5M2: Self = Self::new(5, 2, 15, Specials::Ieee);
    /// `e5m2fnuz` (bf8 of gfx942): largest value 57344.
    pub const E5M2_FNUZ: Self = Self::new(5, 2, 16, Specials::NanAtMinusZero);
    /// OCP `e2m3` (fp6): largest value 7.5.
    pub const E2M3: Self = Self::new(2, 3, 1, Specials::Finite);
    /// OCP `e3m2` (bf6): largest value 28.
    pub const E3M2: Self = Self::new(3, 2, 3, Specials::Finite);
    /// OCP `e2m1` (fp4): largest value 6.
    pub const E2M1: Self = Self::new(2, 1, 1, Specials::Finite);

    const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> Self {
        Self { exponent_bits, mantissa_bits, bias, specials }
    }

    /// Width of a code.
    pub const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.mantissa_bits
    }

    /// The sign bit of a code.
    pub const fn sign_bit(self) -> u32 {
        1 << (self.bits() - 1)
    }

    /// Code of the largest finite value.
    pub const fn max_code(self) -> u32 {
        let all = self.sign_bit() - 1;
        match self.specials {
            Specials::Ieee => all - (1 << self.mantissa_bits),
            Specials::NanAtMax => all - 1,
            Specials::NanAtMinusZero | Specials::Finite => all,
        }
    }

    /// Exponent of the unit in the last place of denormal and smallest normal values.
    pub const fn min_quantum(self) -> i32 {
        1 - self.bias - self.mantissa_bits as i32
    }

    /// Whether any code is an infinity or a NaN.
    pub const fn has_specials(self) -> bool {
        !matches!(self.specials, Specials::Finite)
    }

    /// Value of a code, exactly; bits above the code's width are ignored.
    pub fn decode(self, code: u32) -> f32 {
        let sign = if code & self.sign_bit() == 0 { 1.0 } else { -1.0 };
        let magnitude = code & (self.sign_bit() - 1);
        if magnitude > self.max_code() {
            let infinity = self.max_code() + 1;
            let is_infinite = self.specials == Specials::Ieee && magnitude == infinity;
            return if is_infinite { sign * f32::INFINITY } else { f32::NAN };
        }
        let exponent = magnitude >> self.mantissa_bits;
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        if self.specials == Specials::NanAtMinusZero && magnitude == 0 && sign < 0.0 {
            return f32::NAN;
        }
        let hidden = u32::from(exponent != 0) << self.mantissa_bits;
        let quantum = self.min_quantum() + exponent.max(1) as i32 - 1;
        sign * (mantissa | hidden) as f32 * power_of_two(quantum)
    }

    /// Non-zero if a word packed with 8-bit or 16-bit codes holds an infinity or a NaN.
    ///
    /// For formats of other widths, which have neither, the result is 0.
    #[inline(always)]
    pub const fn specials_in_word(self, word: u32) -> u32 {
        let ones = u32::MAX / ((1 << self.bits()) - 1);
        let signs = ones << (self.bits() - 1);
        let magnitudes = word & !signs;
        match self.specials {
            // Adding the distance to the sign bit carries into it.
            Specials::Ieee | Specials::NanAtMax => {
                (magnitudes + ones * (self.sign_bit() - 1 - self.max_code())) & signs
            }
            // A code whose magnitude is zero does not carry.
            Specials::NanAtMinusZero => word & signs & !(magnitudes + !signs),
            Specials::Finite => 0,
        }
    }
}

/// `2^exponent` for exponents of normal `f32`.
pub(crate) const fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// Value of an E8M0 scale: `2^(code - 127)`, NaN for 255.
pub fn e8m0_decode(code: u8) -> f32 {
    match code {
        // 2^-127 is denormal.
        0 => f32::from_bits(1 << 22),
        255 => f32::NAN,
        _ => f32::from_bits(u32::from(code) << 23),
    }
}
