//! Model of the conversions to and from floats of at most 16 bits with stochastic rounding or a
//! scale: by search among all values of the format.

use crate::exact::{BF16, F16, F32, F64, Format, Round, Value};
use crate::model::Cx;

/// Format of at most 16 bits.
#[derive(Clone, Copy)]
struct Small {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    /// Number of the largest finite magnitude.
    max: u32,
    /// Magnitude of the infinity, if there is one.
    infinity: Option<u32>,
    /// NaN of a sign; formats without have none.
    nan: Option<fn(u32) -> u32>,
}

const E4M3: Small = Small {
    exponent: 4,
    mantissa: 3,
    bias: 7,
    max: 0x7e,
    infinity: None,
    nan: Some(|sign| sign << 7 | 0x7f),
};
const E5M2: Small = Small {
    exponent: 5,
    mantissa: 2,
    bias: 15,
    max: 0x7b,
    infinity: Some(0x7c),
    nan: Some(|sign| sign << 7 | 0x7f),
};
const E4M3_FNUZ: Small =
    Small { exponent: 4, mantissa: 3, bias: 8, max: 0x7f, infinity: None, nan: Some(|_| 0x80) };
const E5M2_FNUZ: Small =
    Small { exponent: 5, mantissa: 2, bias: 16, max: 0x7f, infinity: None, nan: Some(|_| 0x80) };
const E2M3: Small =
    Small { exponent: 2, mantissa: 3, bias: 1, max: 0x1f, infinity: None, nan: None };
const E3M2: Small =
    Small { exponent: 3, mantissa: 2, bias: 3, max: 0x1f, infinity: None, nan: None };
const E2M1: Small = Small { exponent: 2, mantissa: 1, bias: 1, max: 7, infinity: None, nan: None };
const SMALL_F16: Small = Small {
    exponent: 5,
    mantissa: 10,
    bias: 15,
    max: 0x7bff,
    infinity: Some(0x7c00),
    nan: Some(|sign| sign << 15 | 0x7e00),
};
const SMALL_BF16: Small = Small {
    exponent: 8,
    mantissa: 7,
    bias: 127,
    max: 0x7f7f,
    infinity: Some(0x7f80),
    nan: Some(|sign| sign << 15 | 0x7fc0),
};

/// How a value between two neighbours is rounded.
#[derive(Clone, Copy)]
enum How {
    Nearest,
    /// Random number, and how many bits it has.
    Random(u32, u32),
}

impl Small {
    fn sign_at(self) -> u32 {
        self.exponent + self.mantissa
    }

    /// Value of a finite magnitude.
    fn magnitude(self, code: u32) -> f64 {
        let exponent = (code >> self.mantissa) as i32;
        let fraction = f64::from(code & ((1 << self.mantissa) - 1)) / f64::from(1 << self.mantissa);
        if exponent == 0 {
            fraction * 2f64.powi(1 - self.bias)
        } else {
            (1.0 + fraction) * 2f64.powi(exponent - self.bias)
        }
    }

    fn decode(self, code: u32) -> f64 {
        let sign = code >> self.sign_at() & 1;
        let magnitude = code & ((1 << self.sign_at()) - 1);
        let is_nan = match self.nan {
            None => false,
            Some(_) if self.infinity.is_some() => magnitude > self.max + 1,
            Some(nan) if self.max == (1 << self.sign_at()) - 1 => code == nan(0),
            Some(_) => magnitude > self.max,
        };
        if is_nan {
            return f64::NAN;
        }
        let value = if Some(magnitude) == self.infinity {
            f64::INFINITY
        } else {
            self.magnitude(magnitude)
        };
        if sign == 1 { -value } else { value }
    }

    /// Code for a value; `saturate` replaces what lies beyond the largest finite value by that.
    fn encode(self, x: f64, how: How, saturate: bool) -> u32 {
        let sign = u32::from(x.is_sign_negative());
        let signed = |magnitude: u32| sign << self.sign_at() | magnitude;
        let all_ones = signed((1 << self.sign_at()) - 1);
        if x.is_nan() {
            return self.nan.map_or(all_ones, |nan| nan(sign));
        }
        let beyond = match (self.infinity, self.nan) {
            (Some(infinity), _) => signed(infinity),
            (None, Some(nan)) => nan(sign),
            (None, None) => signed(self.max),
        };
        if x.is_infinite() {
            return beyond;
        }
        // The neighbours: the largest magnitude not above the value and the one after it.
        let (mut low, mut high) = (0, self.max + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if self.magnitude(middle) <= x.abs() { low = middle } else { high = middle }
        }
        let (below, above) = (self.magnitude(low), self.magnitude(low + 1));
        let part = (x.abs() - below) / (above - below);
        let up = match how {
            How::Nearest => part > 0.5 || part == 0.5 && low % 2 == 1,
            How::Random(random, bits) => {
                let random = f64::from(random & ((1 << bits) - 1)) / f64::from(1u32 << bits);
                // Far below the smallest value the sum would be rounded to 1.
                part + random >= 1.0 && part > 1e-9
            }
        };
        let magnitude = low + u32::from(up);
        if magnitude > self.max {
            return if saturate { signed(self.max) } else { beyond };
        }
        if magnitude == 0 && self.max == (1 << self.sign_at()) - 1 && self.nan.is_some() {
            return 0;
        }
        signed(magnitude)
    }
}

/// The small format in a name, by chip.
fn small_of(cx: &Cx, name: &str) -> Small {
    match name {
        "fp8" if cx.ocp => E4M3,
        "fp8" => E4M3_FNUZ,
        "bf8" if cx.ocp => E5M2,
        "bf8" => E5M2_FNUZ,
        "fp6" => E2M3,
        "bf6" => E3M2,
        "f16" => SMALL_F16,
        "bf16" => SMALL_BF16,
        _ => E2M1,
    }
}

/// Value of the scale operand: its exponent field.
fn scale_of(x: u32) -> f64 {
    match x >> 23 & 0xff {
        255 => f64::NAN,
        field => 2f64.powi(field as i32 - 127),
    }
}

fn value_of(format: Format, bits: u32) -> f64 {
    format.to_f64(bits.into())
}

/// Wide format of a name.
fn wide_of(name: &str) -> Format {
    match name {
        "f16" => F16,
        "bf16" => BF16,
        _ => F32,
    }
}

fn next_random(random: u32) -> u32 {
    random << 1 ^ if random >> 31 == 1 { 197 } else { 0 }
}

/// Elements of `width` bits.
fn unpack(words: &[u32], width: u32) -> Vec<u32> {
    let bit = |at: u32| words[at as usize / 32] >> (at % 32) & 1;
    (0..words.len() as u32 * 32 / width)
        .map(|element| (0..width).map(|at| bit(element * width + at) << at).sum())
        .collect()
}

fn pack(elements: &[u32], width: u32) -> Vec<u32> {
    let mut words = vec![0; elements.len() * width as usize / 32];
    for (at, element) in elements.iter().enumerate() {
        for bit in 0..width {
            let to = at as u32 * width + bit;
            words[to as usize / 32] |= (element >> bit & 1) << (to % 32);
        }
    }
    words
}

/// Replaces field `at` of `width` bits.
fn insert(old: u32, value: u32, width: u32, at: u32) -> Vec<u32> {
    let mut fields = unpack(&[old], width);
    fields[at as usize] = value;
    pack(&fields, width)
}

/// Result of a conversion as registers; `old` is the destination before.
pub(crate) fn eval(cx: &Cx, name: &str, s: &[Vec<u32>], old: u32) -> Option<Vec<u32>> {
    let rest = name.strip_prefix("v_cvt_")?;
    let (scaled, rest) = match rest.strip_prefix("scalef32_") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let (random, rest) = match rest.strip_prefix("sr_") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let mut parts: Vec<&str> = rest.split('_').collect();
    let from_name = parts.pop()?;
    let to_name = parts.pop()?;
    let count = parts.pop().unwrap_or("");
    let is_small = |name: &str| matches!(name, "fp8" | "bf8" | "fp6" | "bf6" | "fp4");
    if !is_small(from_name) && !is_small(to_name) && !random {
        return None;
    }
    let scale = if scaled { scale_of(s.last()?[0]) } else { 1.0 };
    let sel = cx.op_sel;
    let ovfl = cx.mode >> 23 & 1 == 1;
    if is_small(from_name) {
        let small = small_of(cx, from_name);
        let width = small.sign_at() + 1;
        let codes = unpack(&s[0], width);
        let pair = |at: u32| codes[2 * at as usize..][..2].to_vec();
        // Without a scale, operand selects have moved the code to the low end.
        let chosen = match (count, width, scaled) {
            ("pk32", ..) => codes,
            ("pk", 8, true) => pair(sel & 1),
            ("pk", 4, true) => pair(sel & 3),
            ("pk", ..) => pair(0),
            (_, _, true) => vec![codes[sel as usize & 3]],
            _ => vec![codes[0]],
        };
        let to = wide_of(to_name);
        let values: Vec<u32> = chosen
            .into_iter()
            .map(|code| {
                let value = small.decode(code) * scale;
                to.pack(&Value::f64(value), Round::Even) as u32
            })
            .collect();
        return Some(match (to_name, count) {
            ("f16", "") => insert(old, values[0], 16, sel >> 3 & 1),
            _ => pack(&values, to.bits()),
        });
    }
    let (small, wide) = (small_of(cx, to_name), wide_of(from_name));
    let width = small.sign_at() + 1;
    let elements: Vec<u32> = match (count, from_name) {
        ("2xpk16", _) => s[0].iter().zip(&s[1]).flat_map(|(a, b)| [*a, *b]).collect(),
        ("pk32", "f32") => s[0].clone(),
        ("pk", "f32") if random => s[0].clone(),
        ("pk", "f32") => vec![s[0][0], s[1][0]],
        ("", "f16" | "bf16") => vec![s[0][0] >> (16 * (sel & 1)) & 0xffff],
        ("", _) => vec![s[0][0]],
        _ => unpack(&s[0], 16),
    };
    let mut number = if random { s[1][0] } else { 0 };
    let saturate = match to_name {
        "bf16" => false,
        _ => ovfl,
    };
    let codes: Vec<u32> = elements
        .into_iter()
        .map(|element| {
            // The 16-bit formats take the low bits of the random number, the others the upper.
            let bits = 23 - small.mantissa;
            let how = match (random, width) {
                (false, _) => How::Nearest,
                (true, 16) => How::Random(number, bits),
                (true, _) => How::Random(number >> (32 - bits), bits),
            };
            number = next_random(number);
            let value = value_of(wide, element);
            // A NaN keeps the sign of the value.
            let value = if scale.is_nan() { f64::NAN.copysign(value) } else { value / scale };
            if value.is_nan() && width == 16 {
                // NaNs keep the upper bits of their payload.
                let to = if to_name == "f16" { F16 } else { BF16 };
                return crate::float::convert(F32, to, element.into(), Round::Even) as u32;
            }
            small.encode(value, how, saturate)
        })
        .collect();
    Some(match (width, codes.len()) {
        (16, _) => vec![codes[0]],
        (_, 32) => pack(&codes, width),
        (8, 2) => insert(old, codes[0] | codes[1] << 8, 16, sel >> 3 & 1),
        (4, 2) => insert(old, codes[0] | codes[1] << 4, 8, sel >> 2 & 3),
        _ => insert(old, codes[0], 8, sel >> 2 & 3),
    })
}

#[test]
fn small_formats_have_their_published_extremes() {
    for (format, largest, smallest) in [
        (E4M3, 448.0, 2f64.powi(-9)),
        (E5M2, 57344.0, 2f64.powi(-16)),
        (E4M3_FNUZ, 240.0, 2f64.powi(-10)),
        (E5M2_FNUZ, 57344.0, 2f64.powi(-17)),
        (E2M3, 7.5, 0.125),
        (E3M2, 28.0, 0.0625),
        (E2M1, 6.0, 0.5),
    ] {
        assert_eq!(format.decode(format.max), largest);
        assert_eq!(format.decode(1), smallest);
        assert_eq!(
            format.encode(-largest, How::Nearest, false),
            format.max | 1 << format.sign_at()
        );
    }
    assert_eq!(F64.to_f64(1.5f64.to_bits()), 1.5);
}
