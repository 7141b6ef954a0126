//! Model of the operations on floats, in exact arithmetic with one rounding at the end.

use std::cmp::Ordering;

use crate::exact::{BF16, Direction, F16, F32, F64, Format, Round, Value};
use crate::integer::{signed, unsigned};
use crate::model::{Cx, Out};

/// Format in the suffix of a name such as `v_add_f32`.
fn format_of(name: &str) -> Option<Format> {
    let (_, last) = name.rsplit_once('_')?;
    match last {
        "f16" => Some(F16),
        "f32" => Some(F32),
        "f64" => Some(F64),
        _ => None,
    }
}

fn bits(value: u64) -> Option<Out> {
    Some(Out { bits: value.into(), ..Out::default() })
}

fn flag(mask: bool) -> Option<Out> {
    Some(Out { mask, ..Out::default() })
}

/// The rule for NaNs: the first operand that is one, made quiet.
fn nan_of(format: Format, operands: &[u64]) -> Option<u64> {
    operands.iter().find(|x| format.is_nan(**x)).map(|x| x | format.quiet_bit())
}

/// Rounds a result of operands of the same format.
fn arith(cx: &Cx, format: Format, operands: &[u64], result: &Value) -> u64 {
    nan_of(format, operands).unwrap_or_else(|| format.pack(result, cx.round(format)))
}

fn fma(cx: &Cx, format: Format, [a, b, c]: [u64; 3]) -> u64 {
    let [x, y, z] = [a, b, c].map(|x| format.unpack(x));
    let sum = x.times(&y).plus(&z, cx.round(format));
    arith(cx, format, &[a, b, c], &sum)
}

fn add(cx: &Cx, format: Format, a: u64, b: u64) -> u64 {
    let sum = format.unpack(a).plus(&format.unpack(b), cx.round(format));
    arith(cx, format, &[a, b], &sum)
}

fn mul(cx: &Cx, format: Format, a: u64, b: u64) -> u64 {
    arith(cx, format, &[a, b], &format.unpack(a).times(&format.unpack(b)))
}

/// Key in the order -inf < .. < -0 < +0 < .. < inf.
fn key(format: Format, x: u64) -> i64 {
    let magnitude = (x & (format.sign() - 1)) as i64;
    if x & format.sign() != 0 { -1 - magnitude } else { magnitude }
}

/// Minimum, or with `sign` -1 maximum.
fn min_max(cx: &Cx, format: Format, a: u64, b: u64, sign: i64) -> u64 {
    if cx.ieee() {
        for x in [a, b] {
            if format.is_signalling(x) {
                return x | format.quiet_bit();
            }
        }
    }
    match (format.is_nan(a), format.is_nan(b)) {
        (true, _) => b,
        (_, true) => a,
        _ if sign * key(format, a) <= sign * key(format, b) => a,
        _ => b,
    }
}

/// Minimum or maximum that propagates NaNs.
fn propagating(format: Format, operands: &[u64], sign: i64) -> u64 {
    let best = operands.iter().min_by_key(|x| sign * key(format, **x)).copied().unwrap_or(0);
    nan_of(format, operands).unwrap_or(best)
}

/// Integer of `width` bits nearest to a float in a direction; NaN is zero.
fn to_integer(value: &Value, direction: Direction, width: u32, is_signed: bool) -> u64 {
    let (low, high) = if is_signed {
        (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
    } else {
        (0, (1i128 << width) - 1)
    };
    let whole = value.to_integer(direction).unwrap_or(0).clamp(low, high);
    whole as u64 & (u64::MAX >> (64 - width))
}

/// Normalised integer: `x` limited to `[low, 1]`, times `scale`, to nearest even.
fn normalised(format: Format, x: u64, is_signed: bool) -> u64 {
    let value = format.to_f64(x);
    let (low, scale) = if is_signed { (-1.0, 32767.0) } else { (0.0, 65535.0) };
    let limited = if value.is_nan() { 0.0 } else { value.clamp(low, 1.0) };
    let product = Value::f64(limited).times(&Value::f64(scale));
    to_integer(&product, Direction::NearestEven, 16, is_signed)
}

/// Format conversion; the payload of a NaN keeps its upper bits.
pub(crate) fn convert(from: Format, to: Format, x: u64, round: Round) -> u64 {
    if !from.is_nan(x) {
        return to.pack(&from.unpack(x), round);
    }
    let payload = x & (from.quiet_bit() * 2 - 1);
    let shift = from.mantissa as i32 - to.mantissa as i32;
    let payload = if shift >= 0 { payload >> shift } else { payload << -shift };
    let sign = if x & from.sign() != 0 { to.sign() } else { 0 };
    sign | to.default_nan() | payload
}

fn flushed(format: Format, x: u64) -> u64 {
    if format.is_denormal(x) { x & format.sign() } else { x }
}

/// A function that the hardware approximates, here up to a unit in the last place.
fn approximate(format: Format, x: u64, f: impl Fn(f64) -> f64) -> Option<Out> {
    // The functions of `f32` flush denormals whatever MODE says.
    let coarse = format == F32;
    let x = if coarse { flushed(F32, x) } else { x };
    let value = f(format.to_f64(x));
    let result = nan_of(format, &[x]).unwrap_or_else(|| {
        if value.is_nan() {
            format.default_nan()
        } else {
            format.pack(&Value::f64(value), Round::Even)
        }
    });
    let result = if coarse { flushed(F32, result) } else { result };
    Some(Out { bits: result.into(), ulp: 1, ..Out::default() })
}

/// A function that is computed exactly and rounded to nearest even.
fn precise(format: Format, x: u64, f: impl Fn(&Value) -> Value) -> u64 {
    let coarse = format == F32;
    let x = if coarse { flushed(F32, x) } else { x };
    let result =
        nan_of(format, &[x]).unwrap_or_else(|| format.pack(&f(&format.unpack(x)), Round::Even));
    if coarse { flushed(F32, result) } else { result }
}

/// `function(2 pi x)`; beyond 256 revolutions as for zero.
fn revolutions(x: f64, function: fn(f64) -> f64) -> f64 {
    if x.is_infinite() {
        return f64::NAN;
    }
    let inside = if x.abs() > 256.0 { 0.0 } else { x };
    // Quarter turns exactly; the rest is small.
    let turns = inside - inside.round();
    let quarters = (turns * 4.0).round();
    let rest = (turns - quarters / 4.0) * std::f64::consts::TAU;
    let quarters = quarters as i32 & 3;
    let is_sine = function(0.0) == 0.0;
    let shifted = if is_sine { quarters } else { quarters + 1 } & 3;
    let value = match shifted {
        0 => rest.sin(),
        1 => rest.cos(),
        2 => -rest.sin(),
        _ => -rest.cos(),
    };
    // The zeros are positive, but for that of a negative zero.
    match value {
        0.0 if is_sine && inside == 0.0 => inside,
        0.0 => 0.0,
        _ => value,
    }
}

fn class_bit(format: Format, x: u64) -> u32 {
    let negative = x & format.sign() != 0;
    let magnitude = x & (format.sign() - 1);
    let (minus, plus) = if format.is_signalling(x) {
        (0, 0)
    } else if format.is_nan(x) {
        (1, 1)
    } else if magnitude == format.infinity() {
        (2, 9)
    } else if magnitude == 0 {
        (5, 6)
    } else if format.is_denormal(x) {
        (4, 7)
    } else {
        (3, 8)
    };
    if negative { minus } else { plus }
}

fn compare(name: &str, s: &[u64]) -> Option<Out> {
    let rest = name.strip_prefix("v_cmp_").or_else(|| name.strip_prefix("v_cmpx_"))?;
    let (predicate, _) = rest.split_once('_')?;
    let format = format_of(name)?;
    if predicate == "class" {
        return flag(s[1] >> class_bit(format, s[0]) & 1 == 1);
    }
    use Ordering::{Equal, Greater, Less};
    let order = format.unpack(s[0]).order(&format.unpack(s[1]));
    let is = |orders: &[Ordering]| order.is_some_and(|order| orders.contains(&order));
    flag(match predicate {
        "f" => false,
        "lt" => is(&[Less]),
        "eq" => is(&[Equal]),
        "le" => is(&[Less, Equal]),
        "gt" => is(&[Greater]),
        "lg" => is(&[Less, Greater]),
        "ge" => is(&[Greater, Equal]),
        "o" => order.is_some(),
        "u" => order.is_none(),
        "nge" => !is(&[Greater, Equal]),
        "nlg" => !is(&[Less, Greater]),
        "ngt" => !is(&[Greater]),
        "nle" => !is(&[Less, Equal]),
        "neq" => !is(&[Equal]),
        "nlt" => !is(&[Less]),
        "tru" => true,
        _ => return None,
    })
}

/// Exponent field.
fn field(format: Format, x: u64) -> i32 {
    ((x & format.infinity()) >> format.mantissa) as i32
}

/// `v_div_scale`: see the note on divisions in the semantics.
fn div_scale(format: Format, [x, denominator, numerator]: [u64; 3]) -> Out {
    let (far, low, by) = if format == F32 { (96, 23, 64) } else { (768, 53, 128) };
    let [d, n] = [denominator, numerator].map(|x| format.to_f64(x));
    let distance = field(format, numerator) - field(format, denominator);
    let scaled = |by: i32| {
        let value = format.unpack(x).scaled(by);
        nan_of(format, &[x]).unwrap_or_else(|| format.pack(&value, Round::Even))
    };
    let out = |bits: u64, mask: bool| Out { bits: bits.into(), mask, ulp: 0, any_nan: false };
    let quotient = format.unpack(numerator).times(&format.unpack(denominator).reciprocal());
    let tiny = quotient.exponent().is_some_and(|e| e <= 2 - (1 << (format.exponent - 1)));
    let inverse = format.unpack(denominator).reciprocal();
    let inverse_tiny = inverse.exponent().is_some_and(|e| e <= 2 - (1 << (format.exponent - 1)));
    let keep_or = |operand: u64, by: i32| if x == operand { scaled(by) } else { x };
    if n == 0.0 || d == 0.0 {
        out(format.default_nan(), false)
    } else if distance >= far {
        out(keep_or(denominator, by), true)
    } else if format.is_denormal(denominator) {
        out(scaled(by), false)
    } else if inverse_tiny && tiny {
        out(keep_or(denominator, -by), true)
    } else if inverse_tiny {
        out(scaled(-by), false)
    } else if tiny {
        out(keep_or(numerator, by), true)
    } else if field(format, numerator) <= low {
        out(scaled(by), false)
    } else {
        out(x, false)
    }
}

fn div_fixup(format: Format, [quotient, denominator, numerator]: [u64; 3]) -> u64 {
    let sign = (denominator ^ numerator) & format.sign();
    let [d, n] = [denominator, numerator].map(|x| x & (format.sign() - 1));
    let infinity = format.infinity();
    if let Some(nan) = nan_of(format, &[numerator, denominator]) {
        return nan;
    }
    if (d == 0 && n == 0) || (d == infinity && n == infinity) {
        return format.default_nan() | format.sign();
    }
    if d == 0 || n == infinity {
        return sign | infinity;
    }
    if d == infinity || n == 0 {
        return sign;
    }
    let vanishes = match format {
        F32 => field(F32, numerator) - field(F32, denominator) < -150,
        F64 => field(F64, numerator) - field(F64, denominator) < -1075,
        _ => false,
    };
    match quotient & (format.sign() - 1) {
        _ if vanishes => sign,
        // The refinement of a quotient that overflows ends in NaN.
        _ if format.is_nan(quotient) => sign | infinity,
        magnitude => sign | magnitude,
    }
}

/// `v_trig_preop_f64` from 2/pi = 0.a2f9836e4e441529fc27... to 1216 bits.
fn trig_preop(x: u64, segment: u64) -> u64 {
    const DIGITS: &str = "\
        a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561b7246e3a424dd2e0\
        06492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484e99c7026b45f7e413991d639835339f4\
        9c845f8bbdf9283b1ff897ffde05980fef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d\
        7527bac7ebe5f17b3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6bab";
    let exponent = field(F64, x);
    let skipped = (segment & 31) as i32 * 53 + (exponent - 1077).max(0);
    let digit =
        |at: usize| DIGITS.as_bytes().get(at).map_or(0, |d| (*d as char).to_digit(16).unwrap());
    let bit = |at: i32| u64::from(digit(at as usize / 4) >> (3 - at % 4) & 1);
    let bits = (0..53).fold(0, |bits, at| bits << 1 | bit(skipped + at));
    let scale = -53 - skipped + if exponent >= 1968 { 128 } else { 0 };
    F64.pack(&Value::integer(bits.into()).scaled(scale), Round::Even)
}

fn cube(name: &str, [x, y, z]: [u64; 3]) -> u64 {
    let [fx, fy, fz] = [x, y, z].map(|x| f32::from_bits(x as u32));
    let negated = |x: u64| x ^ F32.sign();
    let z_major = fz.abs() >= fx.abs() && fz.abs() >= fy.abs();
    let y_major = !z_major && fy.abs() >= fx.abs();
    let (axis, value) = if z_major {
        (2, z)
    } else if y_major {
        (1, y)
    } else {
        (0, x)
    };
    let negative = f32::from_bits(value as u32) < 0.0;
    match name {
        "v_cubeid_f32" => ((2 * axis + i32::from(negative)) as f32).to_bits().into(),
        "v_cubema_f32" => (f32::from_bits(value as u32) * 2.0).to_bits().into(),
        "v_cubesc_f32" => match (axis, negative) {
            (2, true) => negated(x),
            (2, false) | (1, _) => x,
            (_, true) => z,
            (_, false) => negated(z),
        },
        _ => match (axis, negative) {
            (1, true) => negated(z),
            (1, false) => z,
            _ => negated(y),
        },
    }
}

/// `(c + a0 * b0) + a1 * b1`, each step rounded to nearest even, denormals flushed.
fn dot2(cx: &Cx, format: Format, a: u64, b: u64, c: u64) -> u64 {
    let nearest = Cx { mode: 0, ..*cx };
    let half = |x: u64, at: u32| {
        let half = x >> (16 * at) & 0xffff;
        convert(format, F32, flushed(format, half), Round::Even)
    };
    let first = fma(&nearest, F32, [half(a, 0), half(b, 0), flushed(F32, c)]);
    // The NaN of the first step comes before those of the second.
    let [a, b] = [half(a, 1), half(b, 1)];
    let second = nan_of(F32, &[first, a, b]).unwrap_or_else(|| fma(&nearest, F32, [a, b, first]));
    flushed(F32, second)
}

pub(crate) fn eval(cx: &Cx, name: &str, s: &[u128]) -> Option<Out> {
    let s: Vec<u64> = s.iter().map(|x| *x as u64).collect();
    if let Some(out) = compare(name, &s) {
        return Some(out);
    }
    let at = |index: usize| s.get(index).copied().unwrap_or(0);
    let abc = [at(0), at(1), at(2)];
    let [a, b, c] = abc;
    let format = format_of(name).unwrap_or(F32);
    let narrow = |x: u64| x & (u64::MAX >> (64 - format.bits()));
    let (value_a, value_b) = (format.unpack(narrow(a)), format.unpack(narrow(b)));
    let integral =
        |direction: Direction| bits(arith(cx, format, &[a], &value_a.to_integral(direction)));
    let from_int = |x: i128| bits(format.pack(&Value::integer(x), cx.round(format)));
    let to_int = |from: Format, direction: Direction, width: u32, is_signed: bool| {
        bits(to_integer(&from.unpack(a), direction, width, is_signed))
    };
    let cvt = |from: Format, to: Format| bits(convert(from, to, a, cx.round(to)));
    let min3 = |sign: i64| min_max(cx, format, min_max(cx, format, a, b, sign), c, sign);
    match name {
        "v_add_f32" | "v_add_f16" | "v_add_f64" => bits(add(cx, format, a, b)),
        "v_sub_f32" | "v_sub_f16" => {
            let difference = value_a.plus(&value_b.negated(), cx.round(format));
            bits(arith(cx, format, &[a, b], &difference))
        }
        "v_subrev_f32" | "v_subrev_f16" => {
            let difference = value_b.plus(&value_a.negated(), cx.round(format));
            bits(arith(cx, format, &[a, b], &difference))
        }
        "v_mul_f32" | "v_mul_f16" | "v_mul_f64" => bits(mul(cx, format, a, b)),
        "v_mul_legacy_f32" => {
            let zero = [a, b].iter().any(|x| x & 0x7fff_ffff == 0);
            if zero { bits(0) } else { bits(mul(cx, format, a, b)) }
        }
        "v_fma_f32" | "v_fma_f64" | "v_fma_f16" | "v_fma_legacy_f16" | "v_fmac_f32"
        | "v_fmac_f64" | "v_fmamk_f32" | "v_fmaak_f32" | "v_pk_fma_f16" => {
            bits(fma(cx, format, abc))
        }
        "v_mad_f16" | "v_mad_legacy_f16" | "v_mac_f16" | "v_madmk_f16" | "v_madak_f16" => {
            let product = mul(cx, F16, a, b);
            bits(nan_of(F16, &abc).unwrap_or_else(|| add(cx, F16, product, c)))
        }
        "v_min_f32" | "v_min_f16" | "v_min_f64" => bits(min_max(cx, format, a, b, 1)),
        "v_max_f32" | "v_max_f16" | "v_max_f64" => bits(min_max(cx, format, a, b, -1)),
        "v_min3_f32" | "v_min3_f16" => bits(min3(1)),
        "v_max3_f32" | "v_max3_f16" => bits(min3(-1)),
        "v_med3_f32" | "v_med3_f16" => {
            if abc.iter().any(|x| format.is_nan(*x)) {
                return bits(min3(1));
            }
            let mut sorted = abc;
            sorted.sort_by_key(|x| key(format, *x));
            bits(sorted[1])
        }
        "v_minimum3_f32" | "v_minimum3_f16" => bits(propagating(format, &abc, 1)),
        "v_maximum3_f32" | "v_maximum3_f16" => bits(propagating(format, &abc, -1)),
        "v_trunc_f32" | "v_trunc_f64" | "v_trunc_f16" => integral(Direction::Truncate),
        "v_ceil_f32" | "v_ceil_f64" | "v_ceil_f16" => integral(Direction::Ceil),
        "v_rndne_f32" | "v_rndne_f64" | "v_rndne_f16" => integral(Direction::NearestEven),
        "v_floor_f32" | "v_floor_f64" | "v_floor_f16" => integral(Direction::Floor),
        "v_fract_f32" | "v_fract_f64" | "v_fract_f16" => {
            let floor = value_a.to_integral(Direction::Floor);
            let fract = value_a.plus(&floor.negated(), Round::Even);
            let below_one = format.pack(&Value::f64(1.0), Round::Even) - 1;
            let rounded = nan_of(format, &[a]).unwrap_or_else(|| format.pack(&fract, Round::Even));
            bits(if rounded == below_one + 1 { below_one } else { rounded })
        }
        "v_rcp_f32" | "v_rcp_iflag_f32" | "v_rcp_f64" | "v_rcp_f16" => {
            bits(precise(format, a, Value::reciprocal))
        }
        "v_sqrt_f32" | "v_sqrt_f64" | "v_sqrt_f16" => bits(precise(format, a, Value::root)),
        "v_rsq_f32" | "v_rsq_f64" | "v_rsq_f16" => approximate(format, a, |x| 1.0 / x.sqrt()),
        "v_exp_f32" | "v_exp_legacy_f32" | "v_exp_f16" => approximate(format, a, f64::exp2),
        "v_log_f32" | "v_log_legacy_f32" | "v_log_f16" => approximate(format, a, f64::log2),
        "v_sin_f32" | "v_sin_f16" => approximate(format, a, |x| revolutions(x, f64::sin)),
        "v_cos_f32" | "v_cos_f16" => approximate(format, a, |x| revolutions(x, f64::cos)),
        "v_frexp_exp_i32_f32" | "v_frexp_exp_i32_f64" => {
            bits(value_a.exponent().unwrap_or(0) as u32 as u64)
        }
        "v_frexp_exp_i16_f16" => bits(value_a.exponent().unwrap_or(0) as u16 as u64),
        "v_frexp_mant_f32" | "v_frexp_mant_f64" | "v_frexp_mant_f16" => {
            let by = value_a.exponent().unwrap_or(0);
            bits(arith(cx, format, &[a], &value_a.clone().scaled(-by)))
        }
        "v_ldexp_f32" | "v_ldexp_f64" => {
            let by = signed(b.into(), 32).clamp(-10_000, 10_000) as i32;
            bits(
                nan_of(format, &[a])
                    .unwrap_or_else(|| format.pack(&value_a.scaled(by), cx.round(format))),
            )
        }
        "v_ldexp_f16" => {
            let by = signed(b.into(), 16).clamp(-10_000, 10_000) as i32;
            bits(nan_of(F16, &[a]).unwrap_or_else(|| F16.pack(&value_a.scaled(by), cx.round(F16))))
        }
        "v_cvt_i32_f32" => to_int(F32, Direction::Truncate, 32, true),
        "v_cvt_u32_f32" => to_int(F32, Direction::Truncate, 32, false),
        "v_cvt_i32_f64" => to_int(F64, Direction::Truncate, 32, true),
        "v_cvt_u32_f64" => to_int(F64, Direction::Truncate, 32, false),
        "v_cvt_u16_f16" => to_int(F16, Direction::Truncate, 16, false),
        "v_cvt_i16_f16" => to_int(F16, Direction::Truncate, 16, true),
        "v_cvt_rpi_i32_f32" => to_int(F32, Direction::NearestUp, 32, true),
        "v_cvt_flr_i32_f32" => to_int(F32, Direction::Floor, 32, true),
        "v_cvt_f32_i32" => bits(F32.pack(&Value::integer(signed(a.into(), 32)), cx.round(F32))),
        "v_cvt_f32_u32" => bits(F32.pack(&Value::integer(unsigned(a.into(), 32)), cx.round(F32))),
        "v_cvt_f64_i32" => bits(F64.pack(&Value::integer(signed(a.into(), 32)), Round::Even)),
        "v_cvt_f64_u32" => bits(F64.pack(&Value::integer(unsigned(a.into(), 32)), Round::Even)),
        "v_cvt_f16_u16" => bits(F16.pack(&Value::integer(unsigned(a.into(), 16)), cx.round(F16))),
        "v_cvt_f16_i16" => bits(F16.pack(&Value::integer(signed(a.into(), 16)), cx.round(F16))),
        "v_cvt_f32_f64" => cvt(F64, F32),
        "v_cvt_f64_f32" => cvt(F32, F64),
        "v_cvt_f16_f32" => cvt(F32, F16),
        "v_cvt_f32_f16" => cvt(F16, F32),
        "v_cvt_f32_bf16" => bits(a << 16),
        "v_cvt_norm_i16_f16" => bits(normalised(F16, a, true)),
        "v_cvt_norm_u16_f16" => bits(normalised(F16, a, false)),
        "v_cvt_pknorm_i16_f32" => bits(normalised(F32, a, true) | normalised(F32, b, true) << 16),
        "v_cvt_pknorm_u16_f32" => bits(normalised(F32, a, false) | normalised(F32, b, false) << 16),
        "v_cvt_pknorm_i16_f16" => bits(normalised(F16, a, true) | normalised(F16, b, true) << 16),
        "v_cvt_pknorm_u16_f16" => bits(normalised(F16, a, false) | normalised(F16, b, false) << 16),
        "v_cvt_off_f32_i4" => {
            bits(F32.pack(&Value::integer(signed(a.into(), 4)).scaled(-4), Round::Even))
        }
        "v_cvt_f32_ubyte0" => from_int((a & 0xff).into()),
        "v_cvt_f32_ubyte1" => from_int((a >> 8 & 0xff).into()),
        "v_cvt_f32_ubyte2" => from_int((a >> 16 & 0xff).into()),
        "v_cvt_f32_ubyte3" => from_int((a >> 24 & 0xff).into()),
        "v_cvt_pkrtz_f16_f32" => {
            let [a, b] = [a, b].map(|x| convert(F32, F16, x, Round::Zero));
            bits(a | b << 16)
        }
        "v_cvt_pk_f16_f32" => {
            let [a, b] = [a, b].map(|x| convert(F32, F16, x, cx.round(F16)));
            bits(a | b << 16)
        }
        "v_cvt_pk_bf16_f32" => {
            let [a, b] = [a, b].map(|x| convert(F32, BF16, x, Round::Even));
            bits(a | b << 16)
        }
        "v_cvt_pk_u8_f32" | "v_cvt_pkaccum_u8_f32" => {
            let byte = to_integer(&F32.unpack(a), Direction::Truncate, 8, false);
            let shift = 8 * (b & 3);
            bits(c & !(0xff << shift) | byte << shift)
        }
        "v_cubeid_f32" | "v_cubesc_f32" | "v_cubetc_f32" | "v_cubema_f32" => {
            Some(Out { any_nan: true, ..bits(cube(name, abc))? })
        }
        "v_div_scale_f32" | "v_div_scale_f64" => Some(div_scale(format, abc)),
        "v_div_fixup_f32" | "v_div_fixup_f64" | "v_div_fixup_f16" | "v_div_fixup_legacy_f16" => {
            bits(div_fixup(format, abc))
        }
        "v_div_fmas_f32" | "v_div_fmas_f64" => {
            if at(3) == 0 {
                return bits(fma(cx, format, abc));
            }
            let by = if format == F32 { 64 } else { 128 };
            let large = field(format, c) > (1 << (format.exponent - 1)) - 1;
            let sum = value_a.times(&value_b).plus(&format.unpack(c), cx.round(format));
            bits(arith(cx, format, &abc, &sum.scaled(if large { by } else { -by })))
        }
        "v_trig_preop_f64" => bits(trig_preop(a, b)),
        "v_dot2_f32_f16" | "v_dot2c_f32_f16" => bits(dot2(cx, F16, a, b, c)),
        "v_dot2_f32_bf16" | "v_dot2c_f32_bf16" => bits(dot2(cx, BF16, a, b, c)),
        "v_fma_mix_f32" => bits(fma(cx, F32, abc)),
        "v_fma_mixlo_f16" | "v_fma_mixhi_f16" => {
            bits(convert(F32, F16, fma(cx, F32, abc), cx.round(F16)))
        }
        _ => None,
    }
}
