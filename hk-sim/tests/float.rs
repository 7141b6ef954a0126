//! Float formats, conversions and MODE arithmetic against independent computations.
//!
//! Formats are checked against the list of all their values; wider conversions against the crates
//! `half`, `float8` and `rustc_apfloat`; arithmetic against error-free transformations.

use half::f16;
use hk_sim::exec::float::{self, Denormals, FloatEnv, FloatFormat, FloatMode, RoundMode, Rounding};
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn word(&mut self) -> u32 {
        self.bits() as u32
    }

    /// An `f32` of moderate magnitude, so that sums and products interact.
    fn moderate(&mut self) -> f32 {
        let word = self.word();
        f32::from_bits(word & 0x807f_ffff | (112 + word % 30) << 23)
    }
}

const MODES: [RoundMode; 4] = [
    RoundMode::NearestEven,
    RoundMode::TowardPositive,
    RoundMode::TowardNegative,
    RoundMode::TowardZero,
];

fn apfloat_round(mode: RoundMode) -> Round {
    match mode {
        RoundMode::NearestEven => Round::NearestTiesToEven,
        RoundMode::TowardPositive => Round::TowardPositive,
        RoundMode::TowardNegative => Round::TowardNegative,
        RoundMode::TowardZero => Round::TowardZero,
    }
}

/// A narrow format by its non-negative finite values, in the order of their codes.
struct Listed {
    name: &'static str,
    format: FloatFormat,
    values: Vec<f64>,
    /// What is beyond the largest value when not saturating, positive then negative.
    beyond: [u32; 2],
    /// Codes that NaNs become.
    nan: [u32; 2],
    signed_zero: bool,
}

fn listed() -> Vec<Listed> {
    // Values by hand: `count` codes per binade from 2^first on, after the denormals.
    let values = |per_binade: u32, first: i32, codes: usize| -> Vec<f64> {
        let unit = 2_f64.powi(first) / f64::from(per_binade);
        let denormals = (0..per_binade).map(|code| f64::from(code) * unit);
        let normals = (0..).flat_map(move |binade| {
            (per_binade..2 * per_binade)
                .map(move |code| f64::from(code) * unit * 2_f64.powi(binade))
        });
        denormals.chain(normals).take(codes).collect()
    };
    vec![
        Listed {
            name: "e4m3",
            format: FloatFormat::E4M3,
            values: values(8, -6, 127),
            beyond: [0x7f, 0xff],
            nan: [0x7f, 0xff],
            signed_zero: true,
        },
        Listed {
            name: "e4m3fnuz",
            format: FloatFormat::E4M3_FNUZ,
            values: values(8, -7, 128),
            beyond: [0x80, 0x80],
            nan: [0x80, 0x80],
            signed_zero: false,
        },
        Listed {
            name: "e5m2",
            format: FloatFormat::E5M2,
            values: values(4, -14, 124),
            beyond: [0x7c, 0xfc],
            nan: [0x7f, 0xff],
            signed_zero: true,
        },
        Listed {
            name: "e5m2fnuz",
            format: FloatFormat::E5M2_FNUZ,
            values: values(4, -15, 128),
            beyond: [0x80, 0x80],
            nan: [0x80, 0x80],
            signed_zero: false,
        },
        Listed {
            name: "e2m3",
            format: FloatFormat::E2M3,
            values: values(8, 0, 32),
            beyond: [0x1f, 0x3f],
            nan: [0x1f, 0x3f],
            signed_zero: true,
        },
        Listed {
            name: "e3m2",
            format: FloatFormat::E3M2,
            values: values(4, -2, 32),
            beyond: [0x1f, 0x3f],
            nan: [0x1f, 0x3f],
            signed_zero: true,
        },
        Listed {
            name: "e2m1",
            format: FloatFormat::E2M1,
            values: vec![0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0],
            beyond: [0x7, 0xf],
            nan: [0x7, 0xf],
            signed_zero: true,
        },
    ]
}

impl Listed {
    fn sign_bit(&self) -> u32 {
        1 << (self.format.bits() - 1)
    }

    /// Code of a finite magnitude whose rounding is given by `fraction_rounds_up`, which sees the
    /// position between two values and whether the lower code is odd.
    fn code(&self, value: f64, saturate: bool, rounds_up: impl Fn(f64, bool) -> bool) -> u32 {
        let negative = value.is_sign_negative();
        let magnitude = value.abs();
        let below = self.values.partition_point(|listed| *listed <= magnitude) - 1;
        let lower = self.values[below];
        // Above the largest value the spacing continues.
        let step = match self.values.get(below + 1) {
            Some(upper) => upper - lower,
            None => lower - self.values[below - 1],
        };
        let fraction = (magnitude - lower) / step;
        let code = below + usize::from(fraction >= 1.0 || rounds_up(fraction, below % 2 == 1));
        let sign = if negative { self.sign_bit() } else { 0 };
        if code < self.values.len() {
            if code == 0 && !self.signed_zero { 0 } else { sign | code as u32 }
        } else if saturate {
            sign | (self.values.len() - 1) as u32
        } else {
            self.beyond[usize::from(negative)]
        }
    }

    fn nearest(&self, value: f64, saturate: bool) -> u32 {
        self.code(value, saturate, |fraction, odd| fraction > 0.5 || (fraction == 0.5 && odd))
    }

    /// Values, midpoints, their neighbours in `f32`, and random numbers, of both signs.
    fn probes(&self, random: &mut Random) -> Vec<f32> {
        let mut probes = vec![0.0, f32::MIN_POSITIVE, f32::from_bits(1), f32::MAX, 1e10];
        let largest = self.values[self.values.len() - 1];
        let half_step = (largest - self.values[self.values.len() - 2]) / 2.0;
        let mut centers = self.values.clone();
        centers.extend(self.values.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0));
        centers.extend([largest + half_step, largest + 2.0 * half_step]);
        for center in centers {
            let center = center as f32;
            probes.extend([center, center.next_up()]);
            probes.extend((center > 0.0).then(|| center.next_down()));
        }
        for _ in 0..20_000 {
            let word = random.word();
            probes.push(f32::from_bits(word >> 1));
            // Most bit patterns are out of range: add some within.
            let exponent = 127 - 20 + word % 40;
            probes.push(f32::from_bits(word >> 9 | exponent << 23));
        }
        probes.retain(|probe| probe.is_finite());
        probes.iter().flat_map(|probe| [*probe, -probe]).collect()
    }
}

#[test]
fn narrow_codes_decode_to_the_listed_values() {
    for listed in listed() {
        for code in 0..1 << listed.format.bits() {
            let magnitude = code & (listed.sign_bit() - 1);
            let negative = code & listed.sign_bit() != 0;
            let got = listed.format.decode(code);
            let minus_zero = magnitude == 0 && negative;
            match listed.values.get(magnitude as usize) {
                Some(_) if minus_zero && !listed.signed_zero => assert!(got.is_nan()),
                Some(value) => {
                    let value = if negative { -value } else { *value } as f32;
                    assert_eq!(got.to_bits(), value.to_bits(), "{} {code:#x}", listed.name);
                }
                None if code == listed.beyond[usize::from(negative)] && listed.name == "e5m2" => {
                    assert!(got.is_infinite() && got.is_sign_negative() == negative);
                }
                None => assert!(got.is_nan(), "{} {code:#x}", listed.name),
            }
        }
    }
}

#[test]
fn narrow_codes_agree_with_other_crates() {
    for code in 0..=u8::MAX {
        let (e4m3, e5m2) = (float8::F8E4M3::from_bits(code), float8::F8E5M2::from_bits(code));
        for (format, other) in
            [(FloatFormat::E4M3, e4m3.to_f32()), (FloatFormat::E5M2, e5m2.to_f32())]
        {
            let got = format.decode(code.into());
            assert!(got.to_bits() == other.to_bits() || (got.is_nan() && other.is_nan()));
        }
    }
}

#[test]
fn narrow_encoding_takes_the_nearest_value() {
    let mut random = Random(1);
    for listed in listed() {
        for x in listed.probes(&mut random) {
            for saturate in [false, true] {
                let got = listed.format.encode(x.into(), Rounding::NEAREST, saturate);
                let expected = listed.nearest(x.into(), saturate);
                assert_eq!(got, expected, "{} {x:e} saturate {saturate}", listed.name);
            }
        }
    }
}

#[test]
fn quick_encoding_agrees_with_the_general_one() {
    let mut random = Random(9);
    let formats = [FloatFormat::F16, FloatFormat::BF16];
    let formats = formats.into_iter().chain(listed().into_iter().map(|listed| listed.format));
    for format in formats {
        let edges = [0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0001, 0, 1 << 31, 0x7f7f_ffff];
        let some: Vec<u32> = (0..300_000).map(|_| random.word()).collect();
        // Around every code boundary of every exponent.
        let near =
            (0..1 << 17).flat_map(|upper: u32| [0_u32, 1, 0x7fff].map(|low| upper << 15 | low));
        for bits in edges.into_iter().chain(some).chain(near) {
            let x = f32::from_bits(bits);
            // The sign of a NaN need not survive the conversion to f64.
            let exact = if x.is_nan() { f64::NAN.copysign(x.into()) } else { x.into() };
            for saturate in [false, true] {
                let got = format.encode_nearest(x, saturate);
                let expected = format.encode(exact, Rounding::NEAREST, saturate);
                assert_eq!(got, expected, "{format:?} {bits:#010x} saturate {saturate}");
            }
            if format != FloatFormat::BF16 {
                for scale in [0, 1, random.word() as u8, 127, 253, 254, 255] {
                    let got = format.encode_scaled_nearest(x, scale, bits & 1 == 0);
                    let expected = format.encode_scaled(x, scale, Rounding::NEAREST, bits & 1 == 0);
                    assert_eq!(got, expected, "{format:?} {bits:#010x} / {scale}");
                }
            }
        }
    }
}

#[test]
fn infinities_and_nans_have_their_codes() {
    for listed in listed() {
        for saturate in [false, true] {
            let encode = |x: f64| listed.format.encode(x, Rounding::NEAREST, saturate);
            assert_eq!(encode(f64::INFINITY), listed.beyond[0], "{}", listed.name);
            assert_eq!(encode(f64::NEG_INFINITY), listed.beyond[1], "{}", listed.name);
            assert_eq!(encode(f64::NAN.copysign(1.0)), listed.nan[0], "{}", listed.name);
            assert_eq!(encode(f64::NAN.copysign(-1.0)), listed.nan[1], "{}", listed.name);
        }
    }
}

#[test]
fn scaled_conversions_round_once() {
    let mut random = Random(2);
    for listed in listed() {
        for x in listed.probes(&mut random).into_iter().step_by(7) {
            let scale = random.word() as u8;
            let got = listed.format.encode_scaled(x, scale, Rounding::NEAREST, true);
            let expected = if scale == 255 {
                listed.nan[usize::from(x.is_sign_negative())]
            } else {
                listed.nearest(f64::from(x) * 2_f64.powi(127 - i32::from(scale)), true)
            };
            assert_eq!(got, expected, "{} {x:e} / {scale}", listed.name);
        }
        for code in 0..1 << listed.format.bits() {
            for scale in 0..=u8::MAX {
                let got = listed.format.decode_scaled(code, scale);
                let value = listed.format.decode(code);
                if scale == 255 || value.is_nan() {
                    assert!(got.is_nan());
                } else {
                    assert_eq!(got, f64::from(value) * 2_f64.powi(i32::from(scale) - 127));
                }
            }
        }
    }
    for code in 0..255 {
        assert_eq!(f64::from(float::e8m0_decode(code)), 2_f64.powi(i32::from(code) - 127));
        assert_eq!(float::e8m0_of_f32(float::e8m0_decode(code)), code);
    }
    assert!(float::e8m0_decode(255).is_nan());
    assert_eq!(float::e8m0_of_f32(-1.75), 127);
}

#[test]
fn stochastic_rounding_carries_from_the_discarded_bits() {
    let mut random = Random(3);
    for listed in listed() {
        // The number of random bits that the instruction set gives for fp8 and bf8.
        let width = match listed.name {
            "e4m3" | "e4m3fnuz" | "e2m3" => 20,
            "e5m2" | "e5m2fnuz" | "e3m2" => 21,
            _ => 22,
        };
        for x in listed.probes(&mut random) {
            for operand in [0, u32::MAX, random.word()] {
                let part = f64::from(operand >> (32 - width)) / 2_f64.powi(width);
                let rounding = float::stochastic(listed.format, operand);
                let got = listed.format.encode(x.into(), rounding, true);
                let expected = listed.code(x.into(), true, |fraction, _| fraction + part >= 1.0);
                assert_eq!(got, expected, "{} {x:e} with {operand:#x}", listed.name);
            }
        }
    }
}

#[test]
fn stochastic_f16_and_bf16_use_the_low_bits() {
    let mut random = Random(4);
    for _ in 0..300_000 {
        let (x, operand) = (f32::from_bits(random.word()), random.word());
        if x.is_nan() {
            assert!(f16::from_bits(float::sr_f16_from_f32(x, operand, false)).is_nan());
            assert!(f32::from_bits(u32::from(float::sr_bf16_from_f32(x, operand)) << 16).is_nan());
            continue;
        }
        let carried = x.to_bits() + u32::from(x.is_finite()) * (operand & 0xffff);
        assert_eq!(float::sr_bf16_from_f32(x, operand), (carried >> 16) as u16, "{x:e}");

        let spread = random.moderate();
        let unit = f64::from(spread.abs()).log2().floor().max(-14.0) as i32 - 10;
        let units = f64::from(spread.abs()) * 2_f64.powi(-unit);
        let kept = (units + f64::from(operand & 0x1fff) / 8192.0).floor() * 2_f64.powi(unit);
        let expected = f16::from_f64(kept.copysign(spread.into()));
        let got = float::sr_f16_from_f32(spread, operand, false);
        assert_eq!(got, expected.to_bits(), "{spread:e} with {operand:#x}");
    }
    assert_eq!(float::sr_f16_from_f32(65_535.0, 0x1fff, false), 0x7c00);
    assert_eq!(float::sr_f16_from_f32(65_535.0, 0x1fff, true), 0x7bff);
    assert_eq!(float::sr_f16_from_f32(-65_535.0, 0, false), 0xfbff);
}

#[test]
fn f16_conversions_are_those_of_other_crates() {
    for code in 0..=u16::MAX {
        let got = float::f32_from_f16(code);
        assert_eq!(got.to_bits(), f16::from_bits(code).to_f32().to_bits(), "{code:#06x}");
    }
    // Every sign, exponent and upper mantissa with all interesting rests below.
    for upper in 0..=u32::MAX >> 12 {
        for lower in [0, 1, 0x7ff, 0x800, 0x801, 0xfff] {
            let x = f32::from_bits(upper << 12 | lower);
            let got = float::f16_from_f32_nearest(x);
            assert_eq!(got, f16::from_f32(x).to_bits(), "{:#010x}", x.to_bits());
        }
    }
}

#[test]
fn wide_conversions_follow_every_rounding_mode() {
    let mut random = Random(5);
    for number in 0..400_000 {
        let bits = random.bits();
        let spread = (bits % 300) << 52;
        let wide = match number % 3 {
            0 => f64::from_bits(bits),
            // Around the ranges of f16 and of f32, where most cases are.
            1 => f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (1023 - 150) << 52),
            _ => f64::from_bits((bits & 0x800f_ffff_e000_0000).wrapping_add((873 << 52) + spread)),
        };
        let narrow = wide as f32;
        if wide.is_nan() {
            continue;
        }
        for mode in MODES {
            let (round, mut lost) = (apfloat_round(mode), false);
            let soft = Double::from_bits(wide.to_bits().into());
            let single: Single = soft.convert_r(round, &mut lost).value;
            let got = float::f32_from_f64(wide, mode).to_bits();
            assert_eq!(u128::from(got), single.to_bits(), "{wide:e} {mode:?}");
            let half: Half = soft.convert_r(round, &mut lost).value;
            let got = float::f16_from_f64(wide, mode);
            assert_eq!(u128::from(got), half.to_bits(), "{wide:e} {mode:?}");
            let half: Half =
                Single::from_bits(narrow.to_bits().into()).convert_r(round, &mut lost).value;
            let got = float::f16_from_f32(narrow, mode);
            assert_eq!(u128::from(got), half.to_bits(), "{narrow:e} {mode:?}");
        }
        let mut lost = false;
        let brain: BFloat = Double::from_bits(wide.to_bits().into()).convert(&mut lost).value;
        assert_eq!(u128::from(float::bf16_from_f64(wide)), brain.to_bits(), "{wide:e}");
        let brain: BFloat = Single::from_bits(narrow.to_bits().into()).convert(&mut lost).value;
        assert_eq!(u128::from(float::bf16_from_f32(narrow)), brain.to_bits(), "{narrow:e}");
    }
}

#[test]
fn nan_conversions_stay_quiet_nans() {
    for bits in [0x7f80_0001_u32, 0xff80_0001, 0x7fff_ffff, 0xffc1_2345] {
        let nan = f32::from_bits(bits);
        assert_eq!(float::f16_from_f32_nearest(nan), f16::from_f32(nan).to_bits());
        for mode in MODES {
            assert_eq!(float::f16_from_f32(nan, mode), float::f16_from_f32_nearest(nan));
            assert!(float::f32_from_f64(nan.into(), mode).is_nan());
            assert!(f16::from_bits(float::f16_from_f64(nan.into(), mode)).is_nan());
        }
        let brain = u32::from(float::bf16_from_f32(nan)) << 16;
        assert_eq!(brain, bits & 0xffff_0000 | 0x0040_0000);
        assert!(f32::from_bits(u32::from(float::bf16_from_f64(nan.into())) << 16).is_nan());
    }
}

#[test]
fn random_numbers_follow_the_feedback_polynomial() {
    // Taps 197 = 0b1100_0101 feed back when the top bit leaves.
    assert_eq!(float::next_random(1), 2);
    assert_eq!(float::next_random(0x8000_0000), 197);
    assert_eq!(float::next_random(0xffff_ffff), 0xffff_fffe ^ 197);
    assert_eq!(float::next_random(0), 0);
}

/// The exact value `high + low` (`low` far smaller) rounded to `f32` in a direction.
fn directed(high: f64, low: f64, mode: RoundMode) -> f32 {
    let near = high as f32;
    // Exact, or infinite with the right sign.
    let error = (high - f64::from(near), low);
    let sign = if error.0 == 0.0 { error.1 } else { error.0 };
    let toward_negative = match mode {
        RoundMode::TowardPositive => false,
        RoundMode::TowardNegative => true,
        _ => high > 0.0,
    };
    match (toward_negative, sign) {
        (false, sign) if sign > 0.0 => near.next_up(),
        (true, sign) if sign < 0.0 => near.next_down(),
        _ => near,
    }
}

const DIRECTED: [RoundMode; 3] =
    [RoundMode::TowardPositive, RoundMode::TowardNegative, RoundMode::TowardZero];

fn env(round: RoundMode) -> FloatEnv {
    FloatEnv { round, ..FloatEnv::DEFAULT }
}

#[test]
fn directed_f32_arithmetic_is_exact() {
    let mut random = Random(6);
    for number in 0..200_000 {
        let [a, b, c] = if number % 2 == 0 {
            std::array::from_fn(|_| random.moderate())
        } else {
            std::array::from_fn(|_| f32::from_bits(random.word()))
        };
        if !(a.is_finite() && b.is_finite() && c.is_finite()) {
            continue;
        }
        let [x, y, z] = [a, b, c].map(f64::from);
        let two_sum = |a: f64, b: f64| {
            let sum = a + b;
            let part = sum - a;
            (sum, (a - (sum - part)) + (b - part))
        };
        for mode in DIRECTED {
            let (sum, error) = two_sum(x, y);
            if sum != 0.0 {
                let got = float::add_f32(a, b, env(mode));
                assert_eq!(got.to_bits(), directed(sum, error, mode).to_bits(), "{a:e} + {b:e}");
            }
            let product = float::mul_f32(a, b, env(mode));
            let expected = directed(x * y, 0.0, mode);
            // A zero product cannot be told from a tiny one by its error: compare as numbers.
            assert_eq!(product, expected, "{a:e} * {b:e} {mode:?}");
            let (sum, error) = two_sum(x * y, z);
            if sum != 0.0 {
                let got = float::fma_f32(a, b, c, env(mode));
                assert_eq!(got, directed(sum, error, mode), "{a:e} * {b:e} + {c:e} {mode:?}");
            }
        }
    }
}

#[test]
fn f16_arithmetic_rounds_once() {
    let mut random = Random(7);
    let value = |code: u16| f64::from(f16::from_bits(code).to_f32());
    for _ in 0..200_000 {
        let [a, b, c]: [u16; 3] = std::array::from_fn(|_| random.word() as u16);
        let [x, y, z] = [a, b, c].map(value);
        if !(x.is_finite() && y.is_finite() && z.is_finite()) {
            continue;
        }
        for mode in MODES {
            let round = apfloat_round(mode);
            let [sa, sb, sc] = [a, b, c].map(|code| Half::from_bits(code.into()));
            let sum = sa.add_r(sb, round).value.to_bits();
            assert_eq!(u128::from(float::add_f16(a, b, env(mode))), sum, "{x} + {y} {mode:?}");
            let product = sa.mul_r(sb, round).value.to_bits();
            assert_eq!(u128::from(float::mul_f16(a, b, env(mode))), product, "{x} * {y} {mode:?}");
            let fused = sa.mul_add_r(sb, sc, round).value.to_bits();
            let got = float::fma_f16(a, b, c, env(mode));
            assert_eq!(u128::from(got), fused, "{x} * {y} + {z} {mode:?}");
        }
        // Sums and products of f16 are exact in f64.
        if x + y != 0.0 {
            assert_eq!(float::add_f16(a, b, FloatEnv::DEFAULT), f16::from_f64(x + y).to_bits());
        }
        assert_eq!(float::mul_f16(a, b, FloatEnv::DEFAULT), f16::from_f64(x * y).to_bits());
    }
}

#[test]
fn directed_f64_arithmetic_brackets_the_exact_result() {
    let mut random = Random(8);
    for _ in 0..200_000 {
        let [a, b, c]: [f64; 3] = std::array::from_fn(|_| {
            let bits = random.bits();
            f64::from_bits(bits & 0x800f_ffff_ffff_ffff | (1000 + bits % 40) << 52)
        });
        // The error of the rounded product and sum is a float, and says where the exact value is.
        let (product, sum) = (a * b, a + b);
        let product_error = a.mul_add(b, -product);
        let part = sum - a;
        let sum_error = (a - (sum - part)) + (b - part);
        for (near, error, function) in [
            (product, product_error, float::mul_f64 as fn(f64, f64, FloatEnv) -> f64),
            (sum, sum_error, float::add_f64),
        ] {
            if near == 0.0 {
                continue;
            }
            let above = if error > 0.0 { near.next_up() } else { near };
            let below = if error < 0.0 { near.next_down() } else { near };
            assert_eq!(function(a, b, env(RoundMode::TowardPositive)), above);
            assert_eq!(function(a, b, env(RoundMode::TowardNegative)), below);
            let zero = if near > 0.0 { below } else { above };
            assert_eq!(function(a, b, env(RoundMode::TowardZero)), zero);
            assert_eq!(function(a, b, FloatEnv::DEFAULT), near);
        }
        let low = float::fma_f64(a, b, c, env(RoundMode::TowardNegative));
        let high = float::fma_f64(a, b, c, env(RoundMode::TowardPositive));
        let near = a.mul_add(b, c);
        assert!(low == near || high == near, "{a:e} * {b:e} + {c:e}");
        assert!(low == high || low.next_up() == high, "{a:e} * {b:e} + {c:e}");
    }
}

#[test]
fn denormals_are_flushed_as_asked() {
    let (tiny, small) = (f32::from_bits(3), f32::MIN_POSITIVE);
    let flush = |inputs: bool, outputs: bool| FloatEnv {
        denormals: Denormals { inputs: !inputs, outputs: !outputs },
        ..FloatEnv::DEFAULT
    };
    let product = |env| float::mul_f32(-tiny, 2.0, env).to_bits();
    assert_eq!(product(flush(false, false)), (-2.0 * tiny).to_bits());
    assert_eq!(product(flush(true, false)), (-0.0_f32).to_bits());
    assert_eq!(product(flush(false, true)), (-0.0_f32).to_bits());
    // A denormal operand with a normal result, and the other way round.
    assert_eq!(float::add_f32(small, tiny, flush(true, false)), small);
    assert_eq!(float::add_f32(small, tiny, flush(false, true)), small + tiny);
    assert_eq!(float::mul_f32(small, 0.5, flush(true, false)), small / 2.0);
    assert_eq!(float::mul_f32(small, 0.5, flush(false, true)), 0.0);
    assert_eq!(float::fma_f32(small, 0.5, tiny, flush(true, false)), small / 2.0);
    assert_eq!(float::mul_f16(0x0001, 0x4000, flush(true, false)), 0);
    assert_eq!(float::mul_f16(0x8001, 0x4000, flush(false, true)), 0x8000);
    assert_eq!(float::mul_f16(0x0001, 0x4000, flush(false, false)), 2);
    let tiny = f64::from_bits(5);
    assert_eq!(float::mul_f64(tiny, 1.0, flush(false, false)), tiny);
    assert_eq!(float::mul_f64(tiny, 1.0, flush(true, false)), 0.0);
    // Directed rounding happens before flushing.
    let up = FloatEnv { round: RoundMode::TowardPositive, ..flush(false, true) };
    assert_eq!(float::mul_f32(f32::from_bits(1), 0.25, up), 0.0);
}

#[test]
fn nan_operands_give_quiet_nans_in_every_mode() {
    let nan = f32::from_bits(0x7f80_0001);
    for mode in MODES {
        assert!(float::add_f32(nan, 1.0, env(mode)).is_nan());
        assert!(float::mul_f32(1.0, nan, env(mode)).is_nan());
        assert!(float::fma_f32(1.0, 1.0, nan, env(mode)).is_nan());
        assert_eq!(float::add_f16(0x7c01, 0x3c00, env(mode)) & 0x7e00, 0x7e00);
        assert!(float::mul_f64(f64::NAN, 0.0, env(mode)).is_nan());
        assert!(float::mul_f32(f32::INFINITY, 0.0, env(mode)).is_nan());
    }
}

#[test]
fn mode_register_fields_are_read() {
    let default = FloatMode::from_mode_register(0x3f0);
    assert!(default.f32.is_default() && default.f16_f64.is_default());
    assert!(default.dx10_clamp && default.ieee && !default.fp16_overflow);
    let mode = FloatMode::from_mode_register(1 | 2 << 2 | 1 << 4 | 2 << 6 | 1 << 23);
    assert_eq!(mode.f32.round, RoundMode::TowardPositive);
    assert_eq!(mode.f16_f64.round, RoundMode::TowardNegative);
    assert_eq!(mode.f32.denormals, Denormals { inputs: true, outputs: false });
    assert_eq!(mode.f16_f64.denormals, Denormals { inputs: false, outputs: true });
    assert!(!mode.dx10_clamp && !mode.ieee && mode.fp16_overflow);
    assert_eq!(FloatMode::from_mode_register(3).f32.round, RoundMode::TowardZero);
}
