//! Float formats of at most 32 bits and the conversions between them and the host's formats.

use super::RoundMode;

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

/// How a value between two codes is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// By an IEEE rounding mode.
    Mode(RoundMode),
    /// Up if the discarded bits plus this random number carry.
    ///
    /// The number has as many bits as separate an `f32` mantissa from the target's (20 for `e4m3`);
    /// they are aligned with the uppermost discarded bits, more of which there are for denormals.
    Stochastic(u32),
}

impl Rounding {
    /// To nearest, ties to even.
    pub const NEAREST: Self = Self::Mode(RoundMode::NearestEven);
}

/// A binary float format with a sign, an exponent and a mantissa, of at most 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloatFormat {
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the mantissa field.
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// Infinities and NaNs.
    pub specials: Specials,
}

impl FloatFormat {
    /// IEEE single precision.
    pub const F32: Self = Self::new(8, 23, 127, Specials::Ieee);
    /// The upper half of IEEE single precision.
    pub const BF16: Self = Self::new(8, 7, 127, Specials::Ieee);
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

    /// Value of a code, exactly; bits above the code's width are ignored.
    ///
    /// Branch-free, so that a loop over lanes with a constant format becomes vector code.
    #[inline(always)]
    pub const fn decode(self, code: u32) -> f32 {
        let sign = (code & self.sign_bit()) << (32 - self.bits());
        let magnitude = code & (self.sign_bit() - 1);
        // With the fields in their `f32` places the value is wrong by a power of two only.
        let scale = f32::from_bits(((254 - self.bias) as u32) << 23);
        let finite = f32::from_bits(magnitude << (23 - self.mantissa_bits)) * scale;
        let infinite = matches!(self.specials, Specials::Ieee) && magnitude == self.max_code() + 1;
        let special = if infinite { f32::INFINITY } else { f32::NAN };
        let minus_zero =
            matches!(self.specials, Specials::NanAtMinusZero) && magnitude == 0 && sign != 0;
        let is_special = magnitude > self.max_code() || minus_zero;
        let value = if is_special { special } else { finite };
        f32::from_bits(value.to_bits() | sign)
    }

    /// Value of a code times the E8M0 scale, exactly; NaN if either is.
    pub fn decode_scaled(self, code: u32, scale: u8) -> f64 {
        f64::from(self.decode(code)) * e8m0_value(scale)
    }

    /// Code of the value of this format that `rounding` chooses for `value`.
    ///
    /// A magnitude that rounds above the largest finite one becomes that if `saturate` is set (or
    /// if the format has nothing else), otherwise an infinity or, failing that, a NaN. Infinities
    /// ignore `saturate`. A NaN keeps its sign and gets every magnitude bit, where the format has
    /// no NaN too.
    pub fn encode(self, value: f64, rounding: Rounding, saturate: bool) -> u32 {
        let negative = value.is_sign_negative();
        let sign = if negative { self.sign_bit() } else { 0 };
        let nan = match self.specials {
            Specials::NanAtMinusZero => self.sign_bit(),
            _ => sign | (self.sign_bit() - 1),
        };
        if value.is_nan() {
            return nan;
        }
        let beyond = match self.specials {
            Specials::Ieee => sign | (self.max_code() + 1),
            Specials::NanAtMax | Specials::NanAtMinusZero => nan,
            Specials::Finite => sign | self.max_code(),
        };
        if value.is_infinite() {
            return beyond;
        }
        let code = self.round_magnitude(value.abs(), negative, rounding);
        if code > u64::from(self.max_code()) {
            // Rounding towards zero never leaves the finite values.
            let towards_zero = match rounding {
                Rounding::Mode(mode) => mode.drops_fraction(negative),
                Rounding::Stochastic(_) => false,
            };
            return if saturate || towards_zero { sign | self.max_code() } else { beyond };
        }
        match self.specials {
            // The code of -0 is the NaN.
            Specials::NanAtMinusZero if code == 0 => 0,
            _ => sign | code as u32,
        }
    }

    /// [`FloatFormat::encode`] of an `f32` to nearest, for formats narrower than `f32`.
    ///
    /// Branch-free, so that a loop over lanes with a constant format becomes vector code.
    #[inline(always)]
    pub const fn encode_nearest(self, value: f32, saturate: bool) -> u32 {
        let bits = value.to_bits();
        let sign = (bits >> 31) << (self.bits() - 1);
        let magnitude = bits & 0x7fff_ffff;
        let dropped = 23 - self.mantissa_bits;
        let rebias = ((127 - self.bias) as u32) << 23;
        let odd = magnitude >> dropped & 1;
        let rounded = magnitude.wrapping_add((1 << (dropped - 1)) - 1 + odd);
        let normal = rounded.wrapping_sub(rebias) >> dropped;
        // Adding a number whose last place is that of the format's denormals rounds to them, and
        // leaves the code in the mantissa.
        let unit = rebias + ((dropped + 1) << 23);
        let denormal = (f32::from_bits(magnitude) + f32::from_bits(unit)).to_bits();
        let denormal = denormal.wrapping_sub(unit);
        let code = if magnitude < rebias + (1 << 23) { denormal } else { normal };
        let nan = match self.specials {
            Specials::NanAtMinusZero => self.sign_bit(),
            _ => sign | (self.sign_bit() - 1),
        };
        let beyond = match self.specials {
            Specials::Ieee => sign | (self.max_code() + 1),
            Specials::NanAtMax | Specials::NanAtMinusZero => nan,
            Specials::Finite => sign | self.max_code(),
        };
        let overflow = if saturate { sign | self.max_code() } else { beyond };
        let unsigned_zero = matches!(self.specials, Specials::NanAtMinusZero) && code == 0;
        let finite = if unsigned_zero { 0 } else { sign | code };
        let number = if code > self.max_code() { overflow } else { finite };
        let number = if magnitude == 0x7f80_0000 { beyond } else { number };
        if magnitude > 0x7f80_0000 { nan } else { number }
    }

    /// [`FloatFormat::encode_scaled`] to nearest, for formats narrower than `f32` except `bf16`.
    ///
    /// Branch-free like [`FloatFormat::encode_nearest`].
    #[inline(always)]
    pub fn encode_scaled_nearest(self, value: f32, scale: u8, saturate: bool) -> u32 {
        // 2^(127 - scale), which is denormal for 254 and a NaN for 255.
        let factor = match scale {
            254 => 1 << 22,
            255 => 0x7fc0_0000,
            _ => (254 - u32::from(scale)) << 23,
        };
        let quotient = value * f32::from_bits(factor);
        // Below the normal range the product is rounded, but so is everything there to zero. Above
        // it must stay finite, since infinities do not saturate.
        let largest = f32::MAX.copysign(value);
        let overflows = quotient.is_infinite() && value.is_finite();
        let quotient = if overflows { largest } else { quotient };
        let nan = f32::NAN.copysign(value);
        self.encode_nearest(if quotient.is_nan() { nan } else { quotient }, saturate)
    }

    /// [`FloatFormat::encode`] of `value` divided by the E8M0 scale, with one rounding.
    pub fn encode_scaled(self, value: f32, scale: u8, rounding: Rounding, saturate: bool) -> u32 {
        // Division by a power of two is exact in `f64`, whose exponent range is ample.
        let quotient = f64::from(value) / e8m0_value(scale);
        let quotient = if quotient.is_nan() { f64::NAN.copysign(value.into()) } else { quotient };
        self.encode(quotient, rounding, saturate)
    }

    /// Code of a finite magnitude, as if exponents were unbounded above.
    fn round_magnitude(self, magnitude: f64, negative: bool, rounding: Rounding) -> u64 {
        const MANTISSA: i32 = 52;
        let bits = magnitude.to_bits();
        if bits == 0 {
            return 0;
        }
        // magnitude = mantissa * 2^quantum with bit 52 of the mantissa set.
        let field = (bits >> MANTISSA) as i32;
        let fraction = bits & ((1 << MANTISSA) - 1);
        let (mantissa, quantum) = if field == 0 {
            let shift = fraction.leading_zeros() as i32 - (63 - MANTISSA);
            (fraction << shift, 1 - 1023 - MANTISSA - shift)
        } else {
            (fraction | 1 << MANTISSA, field - 1023 - MANTISSA)
        };
        let normal = quantum + MANTISSA - self.mantissa_bits as i32;
        let target = normal.max(self.min_quantum());
        let all_discarded = (target - quantum) as u32;
        // From 62 on there is nothing to keep and less than a half to discard.
        let discarded = all_discarded.min(62);
        let kept = mantissa >> discarded;
        let rest = mantissa & ((1 << discarded) - 1);
        let half = 1 << (discarded - 1);
        let up = match rounding {
            Rounding::Mode(RoundMode::NearestEven) => {
                rest > half || (rest == half && kept & 1 == 1)
            }
            Rounding::Mode(mode) => rest != 0 && !mode.drops_fraction(negative),
            Rounding::Stochastic(random) => {
                let width = 23 - self.mantissa_bits;
                let random = u64::from(random) & ((1 << width) - 1);
                // Beyond that the random number leaves too large a gap for a carry.
                all_discarded < width + 53 && {
                    let random = u128::from(random) << (all_discarded - width);
                    u128::from(rest) + random >= 1 << all_discarded
                }
            }
        };
        // A carry out of the mantissa increments the exponent field, as it should.
        let exponent = u64::from((target - self.min_quantum()) as u32) << self.mantissa_bits;
        exponent + kept + u64::from(up)
    }
}

/// `2^exponent` for exponents of normal `f64`.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
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

fn e8m0_value(code: u8) -> f64 {
    if code == 255 { f64::NAN } else { power_of_two(i32::from(code) - 127) }
}

/// The E8M0 scale that the `v_cvt_scalef32_*` instructions take from an `f32`: its exponent field.
pub fn e8m0_of_f32(scale: f32) -> u8 {
    (scale.to_bits() >> 23) as u8
}

/// `f16` nearest to `x`, ties to even; NaNs are quieted and keep the upper payload bits.
///
/// Branch-free, so that a loop over lanes becomes vector code.
#[inline(always)]
pub fn f16_from_f32_nearest(x: f32) -> u16 {
    let bits = x.to_bits();
    let nan = bits >> 16 & 0x8000 | 0x7e00 | bits >> 13 & 0x3ff;
    (if x.is_nan() { nan } else { FloatFormat::F16.encode_nearest(x, false) }) as u16
}

/// `f16` that the rounding mode chooses for `x`; NaNs are quieted and keep the upper payload bits.
pub fn f16_from_f32(x: f32, round: RoundMode) -> u16 {
    if round == RoundMode::NearestEven || x.is_nan() {
        return f16_from_f32_nearest(x);
    }
    FloatFormat::F16.encode(f64::from(x), Rounding::Mode(round), false) as u16
}

/// Value of an `f16`; NaNs are quieted and keep their payload.
///
/// Branch-free, so that a loop over lanes becomes vector code.
#[inline(always)]
pub fn f32_from_f16(code: u16) -> f32 {
    let sign = u32::from(code & 0x8000) << 16;
    let magnitude = u32::from(code & 0x7fff);
    let finite = f32::from_bits(magnitude << 13) * f32::from_bits((254 - 15) << 23);
    let quiet = u32::from(magnitude > 0x7c00) << 22;
    let special = 0x7f80_0000 | magnitude << 13 | quiet;
    let bits = if magnitude >= 0x7c00 { special } else { finite.to_bits() };
    f32::from_bits(sign | bits)
}

/// `f16` that the rounding mode chooses for `x`.
pub fn f16_from_f64(x: f64, round: RoundMode) -> u16 {
    if x.is_nan() {
        return f16_from_f32_nearest(x as f32);
    }
    FloatFormat::F16.encode(x, Rounding::Mode(round), false) as u16
}

/// `bf16` nearest to `x`, ties to even; NaNs are quieted and keep the upper payload bits.
///
/// Branch-free, so that a loop over lanes becomes vector code.
#[inline(always)]
pub fn bf16_from_f32(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let code = if bits & 0x7fff_ffff > 0x7f80_0000 { bits | 1 << 22 } else { rounded };
    (code >> 16) as u16
}

/// `bf16` nearest to `x`, ties to even, with one rounding.
pub fn bf16_from_f64(x: f64) -> u16 {
    if x.is_nan() {
        return bf16_from_f32(x as f32);
    }
    FloatFormat::BF16.encode(x, Rounding::NEAREST, false) as u16
}

/// `f32` that the rounding mode chooses for `x`.
pub fn f32_from_f64(x: f64, round: RoundMode) -> f32 {
    if round == RoundMode::NearestEven || x.is_nan() {
        return x as f32;
    }
    f32::from_bits(FloatFormat::F32.encode(x, Rounding::Mode(round), false))
}

/// `v_cvt_sr_f16_f32`: `x` stochastically rounded by the low 13 bits of `random`.
pub fn sr_f16_from_f32(x: f32, random: u32, saturate: bool) -> u16 {
    if x.is_nan() {
        return f16_from_f32_nearest(x);
    }
    FloatFormat::F16.encode(x.into(), Rounding::Stochastic(random), saturate) as u16
}

/// `v_cvt_sr_bf16_f32`: `x` stochastically rounded by the low 16 bits of `random`.
pub fn sr_bf16_from_f32(x: f32, random: u32) -> u16 {
    if x.is_nan() {
        return bf16_from_f32(x);
    }
    FloatFormat::BF16.encode(x.into(), Rounding::Stochastic(random), false) as u16
}

/// The stochastic rounding of `v_cvt_sr_fp8_f32` and of all `v_cvt_scalef32_sr_*`, which use the
/// upper bits of their random operand: as many as `format` discards of an `f32` mantissa.
pub fn stochastic(format: FloatFormat, random: u32) -> Rounding {
    Rounding::Stochastic(random >> (9 + format.mantissa_bits))
}

/// `v_prng_b32`: the random number that follows `random`.
pub fn next_random(random: u32) -> u32 {
    random << 1 ^ if random >> 31 == 1 { 197 } else { 0 }
}
