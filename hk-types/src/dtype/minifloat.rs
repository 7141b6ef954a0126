//! One exact codec for every binary floating-point format of at most 16 bits.
//!
//! A format is data: field widths, bias, and what its special codes mean. Encoding scales the
//! value by a power of two, which is exact in `f64`, and rounds once to an integer; so the result
//! is the nearest representable value, ties to even, with no double rounding.

/// What the codes outside the ordinary ones mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Specials {
    /// The top exponent holds infinity and NaNs, as in IEEE 754.
    Ieee,
    /// Only all-ones is a NaN, there is no infinity (the OCP "fn" rule).
    AllOnesNan,
    /// The code of negative zero is the only NaN: no infinity and no negative zero.
    NegativeZeroNan,
    /// Every code is a finite number.
    None,
}

/// What becomes of a finite or infinite value beyond the largest finite one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The largest finite value of that sign.
    Saturate,
    /// Infinity, else NaN, of that sign. A format that has neither saturates.
    Special,
}

/// A binary floating-point format: sign, exponent, mantissa, from the top bit down.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

impl Format {
    pub(super) const BF16: Self = Self::new(8, 7, 127, Specials::Ieee);
    pub(super) const F16: Self = Self::new(5, 10, 15, Specials::Ieee);
    pub(super) const F8E4M3: Self = Self::new(4, 3, 7, Specials::AllOnesNan);
    pub(super) const F8E5M2: Self = Self::new(5, 2, 15, Specials::Ieee);
    pub(super) const F8E4M3_FNUZ: Self = Self::new(4, 3, 8, Specials::NegativeZeroNan);
    pub(super) const F8E5M2_FNUZ: Self = Self::new(5, 2, 16, Specials::NegativeZeroNan);
    pub(super) const F6E2M3: Self = Self::new(2, 3, 1, Specials::None);
    pub(super) const F6E3M2: Self = Self::new(3, 2, 3, Specials::None);
    pub(super) const F4E2M1: Self = Self::new(2, 1, 1, Specials::None);

    const fn new(exponent_bits: u32, mantissa_bits: u32, bias: i32, specials: Specials) -> Self {
        Self { exponent_bits, mantissa_bits, bias, specials }
    }

    const fn sign_bit(self) -> u16 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// Code of the largest finite value.
    pub(super) const fn max_code(self) -> u16 {
        match self.specials {
            Specials::Ieee => self.infinity_code() - 1,
            Specials::AllOnesNan => self.sign_bit() - 2,
            Specials::NegativeZeroNan | Specials::None => self.sign_bit() - 1,
        }
    }

    /// Code of infinity in the IEEE formats: exponent all ones, mantissa zero.
    const fn infinity_code(self) -> u16 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// Quiet NaN of that sign, where the format has one.
    const fn nan_code(self, sign: u16) -> Option<u16> {
        match self.specials {
            Specials::Ieee => Some(sign | self.infinity_code() | (1 << (self.mantissa_bits - 1))),
            Specials::AllOnesNan => Some(sign | (self.sign_bit() - 1)),
            Specials::NegativeZeroNan => Some(self.sign_bit()),
            Specials::None => None,
        }
    }

    /// Exponent of the smallest normal value.
    const fn min_exponent(self) -> i32 {
        1 - self.bias
    }

    /// Value of a code, exact in `f32` and so in `f64`.
    pub(super) fn decode(self, code: u16) -> f64 {
        let magnitude = code & (self.sign_bit() - 1);
        let negative = code & self.sign_bit() != 0;
        let value = match self.specials {
            Specials::Ieee if magnitude == self.infinity_code() => f64::INFINITY,
            Specials::Ieee if magnitude > self.infinity_code() => f64::NAN,
            Specials::AllOnesNan if magnitude == self.sign_bit() - 1 => f64::NAN,
            Specials::NegativeZeroNan if code == self.sign_bit() => f64::NAN,
            _ => {
                let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
                let exponent = i32::from(magnitude >> self.mantissa_bits);
                let hidden = u16::from(exponent != 0) << self.mantissa_bits;
                let scale = exponent.max(1) - self.bias - self.mantissa_bits as i32;
                f64::from(mantissa | hidden) * power_of_two(scale)
            }
        };
        if negative { -value } else { value }
    }

    /// Code of the nearest representable value, ties to even.
    ///
    /// A NaN stays a NaN of its sign; a format without NaN gives its largest magnitude, so that a
    /// NaN never turns into a harmless-looking number such as zero.
    pub(super) fn encode(self, value: f64, overflow: Overflow) -> u16 {
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        if value.is_nan() {
            return self.nan_code(sign).unwrap_or(sign | self.max_code());
        }
        let magnitude = value.abs();
        // Beyond this power of two every format here has overflowed; it keeps the scaling finite.
        let limit = power_of_two(self.bias + 2 + (1 << self.exponent_bits));
        let magnitude = magnitude.min(limit);
        let exponent = exponent_of(magnitude).max(self.min_exponent());
        let quantum = power_of_two(self.mantissa_bits as i32 - exponent);
        let rounded = (magnitude * quantum).round_ties_even() as u32;
        // Adding, not or-ing: a mantissa that rounds up to the next power of two carries into the
        // exponent, and a subnormal one into the first normal code.
        let steps = (exponent - self.min_exponent()) as u32;
        let code = (steps << self.mantissa_bits) + rounded;
        if code > u32::from(self.max_code()) {
            return match (overflow, self.specials) {
                (Overflow::Special, Specials::Ieee) => sign | self.infinity_code(),
                (Overflow::Special, Specials::AllOnesNan | Specials::NegativeZeroNan) => {
                    self.nan_code(sign).unwrap_or(sign | self.max_code())
                }
                _ => sign | self.max_code(),
            };
        }
        let code = code as u16;
        if code == 0 && self.specials == Specials::NegativeZeroNan { 0 } else { sign | code }
    }
}

/// `2^exponent` for the exponents of normal `f64` values.
fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent), "2^{exponent} is not a normal f64");
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `floor(log2(value))`, at least -1023 (where zero and the subnormals of `f64` are put).
fn exponent_of(value: f64) -> i32 {
    ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023
}
