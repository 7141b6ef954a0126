//! Conversions from and to floats of 8, 6 and 4 bits, and stochastic conversions.
//!
//! The instructions choose parts of registers by `op_sel` bits of their own; what they do not
//! write keeps its old value, which the kernels get as their last operand.

use super::half::Half;
use super::lane::{Brain, Context, Core, Wide, cores};
use crate::exec::float::{
    FloatFormat, bf16_from_f32, e8m0_decode, e8m0_of_f32, next_random, sr_bf16_from_f32,
    sr_f16_from_f32, stochastic,
};

/// The 8-bit format with the longer mantissa.
#[inline(always)]
fn fp8_format(cx: Context) -> FloatFormat {
    if cx.ocp() { FloatFormat::E4M3 } else { FloatFormat::E4M3_FNUZ }
}

/// The 8-bit format with the longer exponent.
#[inline(always)]
fn bf8_format(cx: Context) -> FloatFormat {
    if cx.ocp() { FloatFormat::E5M2 } else { FloatFormat::E5M2_FNUZ }
}

/// [`encode`] to fp8 without a scale; the format is a constant on each side of the branch.
#[inline(always)]
fn encode_fp8(x: f32, cx: Context) -> u32 {
    if cx.ocp() {
        encode(FloatFormat::E4M3, x, ONE, cx)
    } else {
        encode(FloatFormat::E4M3_FNUZ, x, ONE, cx)
    }
}

/// [`encode`] to bf8 without a scale.
#[inline(always)]
fn encode_bf8(x: f32, cx: Context) -> u32 {
    if cx.ocp() {
        encode(FloatFormat::E5M2, x, ONE, cx)
    } else {
        encode(FloatFormat::E5M2_FNUZ, x, ONE, cx)
    }
}

/// Value of a code in the low bits times the scale; a NaN has no sign.
#[inline(always)]
fn decode(format: FloatFormat, code: u32, scale: f32) -> f32 {
    // No format has so small values that the product would not fit into an `f32`.
    let value = format.decode(code) * e8m0_decode(e8m0_of_f32(scale));
    if value.is_nan() { f32::NAN } else { value }
}

/// Value of an fp8 code in the low byte.
#[inline(always)]
pub(super) fn fp8(cx: Context, code: u32) -> f32 {
    if cx.ocp() {
        decode(FloatFormat::E4M3, code, ONE)
    } else {
        decode(FloatFormat::E4M3_FNUZ, code, ONE)
    }
}

/// Value of a bf8 code in the low byte.
#[inline(always)]
pub(super) fn bf8(cx: Context, code: u32) -> f32 {
    if cx.ocp() {
        decode(FloatFormat::E5M2, code, ONE)
    } else {
        decode(FloatFormat::E5M2_FNUZ, code, ONE)
    }
}

/// `word` with `value` in the field of `width` bits number `at`.
#[inline(always)]
fn insert(word: u32, value: u32, width: u32, at: u32) -> u32 {
    let mask = ((1 << width) - 1) << (width * at);
    word & !mask | value << (width * at) & mask
}

/// Result in the half that `op_sel[3]` names.
#[inline(always)]
fn in_half(cx: Context, old: u32, value: u32) -> u32 {
    insert(old, value, 16, cx.op_sel() >> 3)
}

/// Result in the byte that `op_sel[3:2]` names.
#[inline(always)]
fn in_byte(cx: Context, old: u32, value: u32) -> u32 {
    insert(old, value, 8, cx.op_sel() >> 2)
}

/// Two 8-bit codes in the half that `op_sel[3]` names.
#[inline(always)]
fn bytes(cx: Context, old: u32, codes: [u32; 2]) -> u32 {
    in_half(cx, old, codes[0] | codes[1] << 8)
}

/// Two 4-bit codes in the byte that `op_sel[3:2]` names.
#[inline(always)]
fn nibbles(cx: Context, old: u32, codes: [u32; 2]) -> u32 {
    in_byte(cx, old, codes[0] | codes[1] << 4)
}

/// The byte of a source that `op_sel[1:0]` names.
#[inline(always)]
fn source_byte(cx: Context, word: u32) -> u32 {
    word >> (8 * (cx.op_sel() & 1) + 8 * (cx.op_sel() & 2)) & 0xff
}

/// The two 8-bit codes in the half of a source that `op_sel[0]` names.
#[inline(always)]
fn source_bytes(cx: Context, word: u32) -> [u32; 2] {
    let half = word >> (16 * (cx.op_sel() & 1));
    [half & 0xff, half >> 8 & 0xff]
}

/// The two 4-bit codes in the byte of a source that `op_sel[1:0]` names.
#[inline(always)]
fn source_nibbles(cx: Context, word: u32) -> [u32; 2] {
    let byte = source_byte(cx, word);
    [byte & 15, byte >> 4]
}

/// The half of a source that `op_sel[0]` names.
#[inline(always)]
fn source_half<T: Copy>(cx: Context, pair: [T; 2]) -> T {
    if cx.op_sel() & 1 == 0 { pair[0] } else { pair[1] }
}

/// Nearest code of a value over a scale.
#[inline(always)]
fn encode(format: FloatFormat, x: f32, scale: f32, cx: Context) -> u32 {
    format.encode_scaled_nearest(x, e8m0_of_f32(scale), cx.saturate_overflow())
}

/// Stochastically rounded code of a value over a scale.
fn encode_random(format: FloatFormat, x: f32, random: u32, scale: f32, cx: Context) -> u32 {
    let rounding = stochastic(format, random);
    format.encode_scaled(x, e8m0_of_f32(scale), rounding, cx.saturate_overflow())
}

/// Two codes, with a fresh random number for the second.
fn encode_random_pair(
    format: FloatFormat,
    [a, b]: [f32; 2],
    random: u32,
    scale: f32,
    cx: Context,
) -> [u32; 2] {
    let next = next_random(random);
    [encode_random(format, a, random, scale, cx), encode_random(format, b, next, scale, cx)]
}

#[inline(always)]
fn brain_of(x: f32) -> Brain {
    Brain(bf16_from_f32(x))
}

/// 6-bit codes of 32 values, the first in the lowest bits.
fn pack6(code: impl Fn(usize) -> u32) -> Wide<u32, 6> {
    let mut words = [0; 6];
    for at in 0..32 {
        let (word, shift) = (at * 6 / 32, at * 6 % 32);
        let bits = u64::from(code(at)) << shift;
        words[word] |= bits as u32;
        if shift > 26 {
            words[word + 1] |= (bits >> 32) as u32;
        }
    }
    Wide(words)
}

/// As [`pack6`] with a random number for each code, which follow from the first.
fn pack6_random(random: u32, code: impl Fn(usize, u32) -> u32) -> Wide<u32, 6> {
    let mut numbers = [random; 32];
    for at in 1..32 {
        numbers[at] = next_random(numbers[at - 1]);
    }
    pack6(|at| code(at, numbers[at]))
}

/// 6-bit code number `at`.
fn code6(codes: &Wide<u32, 6>, at: usize) -> u32 {
    let (word, shift) = (at * 6 / 32, at * 6 % 32);
    let next = codes.0.get(word + 1).copied().unwrap_or(0);
    ((u64::from(next) << 32 | u64::from(codes.0[word])) >> shift) as u32 & 0x3f
}

/// Half number `at` of a tuple.
fn half_at(words: &Wide<u32, 16>, at: usize) -> f32 {
    Half((words.0[at / 2] >> (16 * (at % 2))) as u16).to_f32()
}

/// `bf16` number `at` of a tuple.
fn brain_at(words: &Wide<u32, 16>, at: usize) -> f32 {
    Brain((words.0[at / 2] >> (16 * (at % 2))) as u16).to_f32()
}

/// Tuple of 32 halves.
fn halves(half: impl Fn(usize) -> u16) -> Wide<u32, 16> {
    Wide(std::array::from_fn(|at| u32::from(half(2 * at)) | u32::from(half(2 * at + 1)) << 16))
}

// The scaled conversions exist on the chip with the formats of OCP alone.
const E4M3: FloatFormat = FloatFormat::E4M3;
const E5M2: FloatFormat = FloatFormat::E5M2;
const E2M1: FloatFormat = FloatFormat::E2M1;
const E2M3: FloatFormat = FloatFormat::E2M3;
const E3M2: FloatFormat = FloatFormat::E3M2;
/// Scale of the conversions that have none.
const ONE: f32 = 1.0;

pub(super) const CORES: &[Core] = cores! {
    bits v_cvt_f32_fp8(cx, a: u32) -> f32 = fp8(cx, a);
    bits v_cvt_f32_bf8(cx, a: u32) -> f32 = bf8(cx, a);
    bits v_cvt_pk_f32_fp8(cx, a: u32) -> Wide<f32, 2> = Wide([fp8(cx, a), fp8(cx, a >> 8)]);
    bits v_cvt_pk_f32_bf8(cx, a: u32) -> Wide<f32, 2> = Wide([bf8(cx, a), bf8(cx, a >> 8)]);
    bits v_cvt_pk_fp8_f32(cx, a: f32, b: f32, old: u32) -> u32 =
        bytes(cx, old, [encode_fp8(a, cx), encode_fp8(b, cx)]);
    bits v_cvt_pk_bf8_f32(cx, a: f32, b: f32, old: u32) -> u32 =
        bytes(cx, old, [encode_bf8(a, cx), encode_bf8(b, cx)]);
    scalar v_cvt_sr_fp8_f32(cx, a: f32, r: u32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(fp8_format(cx), a, r, ONE, cx));
    scalar v_cvt_sr_bf8_f32(cx, a: f32, r: u32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(bf8_format(cx), a, r, ONE, cx));
    scalar v_cvt_sr_f16_f32(cx, a: f32, r: u32) -> Half =
        Half(sr_f16_from_f32(a, r, cx.saturate_overflow()));
    scalar v_cvt_sr_bf16_f32(_, a: f32, r: u32) -> Brain = Brain(sr_bf16_from_f32(a, r));
    bits v_cvt_pk_bf16_f32(_, a: f32, b: f32) -> [Brain; 2] =
        [Brain(bf16_from_f32(a)), Brain(bf16_from_f32(b))];

    bits v_cvt_scalef32_pk_fp8_f32(cx, a: f32, b: f32, s: f32, old: u32) -> u32 =
        bytes(cx, old, [encode(E4M3, a, s, cx), encode(E4M3, b, s, cx)]);
    bits v_cvt_scalef32_pk_bf8_f32(cx, a: f32, b: f32, s: f32, old: u32) -> u32 =
        bytes(cx, old, [encode(E5M2, a, s, cx), encode(E5M2, b, s, cx)]);
    scalar v_cvt_scalef32_sr_fp8_f32(cx, a: f32, r: u32, s: f32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(E4M3, a, r, s, cx));
    scalar v_cvt_scalef32_sr_bf8_f32(cx, a: f32, r: u32, s: f32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(E5M2, a, r, s, cx));
    bits v_cvt_scalef32_pk_fp8_f16(cx, a: [Half; 2], s: f32, old: u32) -> u32 =
        bytes(cx, old, [encode(E4M3, a[0].to_f32(), s, cx), encode(E4M3, a[1].to_f32(), s, cx)]);
    bits v_cvt_scalef32_pk_bf8_f16(cx, a: [Half; 2], s: f32, old: u32) -> u32 =
        bytes(cx, old, [encode(E5M2, a[0].to_f32(), s, cx), encode(E5M2, a[1].to_f32(), s, cx)]);
    bits v_cvt_scalef32_pk_fp8_bf16(cx, a: [Brain; 2], s: f32, old: u32) -> u32 =
        bytes(cx, old, [encode(E4M3, a[0].to_f32(), s, cx), encode(E4M3, a[1].to_f32(), s, cx)]);
    bits v_cvt_scalef32_pk_bf8_bf16(cx, a: [Brain; 2], s: f32, old: u32) -> u32 =
        bytes(cx, old, [encode(E5M2, a[0].to_f32(), s, cx), encode(E5M2, a[1].to_f32(), s, cx)]);
    scalar v_cvt_scalef32_sr_fp8_f16(cx, a: [Half; 2], r: u32, s: f32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(E4M3, source_half(cx, a).to_f32(), r, s, cx));
    scalar v_cvt_scalef32_sr_bf8_f16(cx, a: [Half; 2], r: u32, s: f32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(E5M2, source_half(cx, a).to_f32(), r, s, cx));
    scalar v_cvt_scalef32_sr_fp8_bf16(cx, a: [Brain; 2], r: u32, s: f32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(E4M3, source_half(cx, a).to_f32(), r, s, cx));
    scalar v_cvt_scalef32_sr_bf8_bf16(cx, a: [Brain; 2], r: u32, s: f32, old: u32) -> u32 =
        in_byte(cx, old, encode_random(E5M2, source_half(cx, a).to_f32(), r, s, cx));
    bits v_cvt_scalef32_pk_fp4_f32(cx, a: f32, b: f32, s: f32, old: u32) -> u32 =
        nibbles(cx, old, [encode(E2M1, a, s, cx), encode(E2M1, b, s, cx)]);
    bits v_cvt_scalef32_pk_fp4_f16(cx, a: [Half; 2], s: f32, old: u32) -> u32 =
        nibbles(cx, old, [encode(E2M1, a[0].to_f32(), s, cx), encode(E2M1, a[1].to_f32(), s, cx)]);
    bits v_cvt_scalef32_pk_fp4_bf16(cx, a: [Brain; 2], s: f32, old: u32) -> u32 =
        nibbles(cx, old, [encode(E2M1, a[0].to_f32(), s, cx), encode(E2M1, a[1].to_f32(), s, cx)]);
    scalar v_cvt_scalef32_sr_pk_fp4_f32(cx, a: Wide<f32, 2>, r: u32, s: f32, old: u32) -> u32 =
        nibbles(cx, old, encode_random_pair(E2M1, a.0, r, s, cx));
    scalar v_cvt_scalef32_sr_pk_fp4_f16(cx, a: [Half; 2], r: u32, s: f32, old: u32) -> u32 =
        nibbles(cx, old, encode_random_pair(E2M1, a.map(Half::to_f32), r, s, cx));
    scalar v_cvt_scalef32_sr_pk_fp4_bf16(cx, a: [Brain; 2], r: u32, s: f32, old: u32) -> u32 =
        nibbles(cx, old, encode_random_pair(E2M1, a.map(Brain::to_f32), r, s, cx));

    bits v_cvt_scalef32_f32_fp8(cx, a: u32, s: f32) -> f32 =
        decode(E4M3, source_byte(cx, a), s);
    bits v_cvt_scalef32_f32_bf8(cx, a: u32, s: f32) -> f32 =
        decode(E5M2, source_byte(cx, a), s);
    bits v_cvt_scalef32_f16_fp8(cx, a: u32, s: f32, old: u32) -> u32 =
        in_half(cx, old, Half::from_f32(decode(E4M3, source_byte(cx, a), s)).0.into());
    bits v_cvt_scalef32_f16_bf8(cx, a: u32, s: f32, old: u32) -> u32 =
        in_half(cx, old, Half::from_f32(decode(E5M2, source_byte(cx, a), s)).0.into());
    bits v_cvt_scalef32_pk_f32_fp8(cx, a: u32, s: f32) -> Wide<f32, 2> =
        Wide(source_bytes(cx, a).map(|code| decode(E4M3, code, s)));
    bits v_cvt_scalef32_pk_f32_bf8(cx, a: u32, s: f32) -> Wide<f32, 2> =
        Wide(source_bytes(cx, a).map(|code| decode(E5M2, code, s)));
    bits v_cvt_scalef32_pk_f32_fp4(cx, a: u32, s: f32) -> Wide<f32, 2> =
        Wide(source_nibbles(cx, a).map(|code| decode(E2M1, code, s)));
    bits v_cvt_scalef32_pk_f16_fp8(cx, a: u32, s: f32) -> [Half; 2] =
        source_bytes(cx, a).map(|code| Half::from_f32(decode(E4M3, code, s)));
    bits v_cvt_scalef32_pk_f16_bf8(cx, a: u32, s: f32) -> [Half; 2] =
        source_bytes(cx, a).map(|code| Half::from_f32(decode(E5M2, code, s)));
    bits v_cvt_scalef32_pk_f16_fp4(cx, a: u32, s: f32) -> [Half; 2] =
        source_nibbles(cx, a).map(|code| Half::from_f32(decode(E2M1, code, s)));
    bits v_cvt_scalef32_pk_bf16_fp8(cx, a: u32, s: f32) -> [Brain; 2] =
        source_bytes(cx, a).map(|code| brain_of(decode(E4M3, code, s)));
    bits v_cvt_scalef32_pk_bf16_bf8(cx, a: u32, s: f32) -> [Brain; 2] =
        source_bytes(cx, a).map(|code| brain_of(decode(E5M2, code, s)));
    bits v_cvt_scalef32_pk_bf16_fp4(cx, a: u32, s: f32) -> [Brain; 2] =
        source_nibbles(cx, a).map(|code| brain_of(decode(E2M1, code, s)));

    // Of two tuples of 16, the elements of the first come at even places.
    scalar v_cvt_scalef32_2xpk16_fp6_f32(cx, a: Wide<f32, 16>, b: Wide<f32, 16>, s: f32)
        -> Wide<u32, 6> = pack6(|at| encode(E2M3, [a, b][at % 2].0[at / 2], s, cx));
    scalar v_cvt_scalef32_2xpk16_bf6_f32(cx, a: Wide<f32, 16>, b: Wide<f32, 16>, s: f32)
        -> Wide<u32, 6> = pack6(|at| encode(E3M2, [a, b][at % 2].0[at / 2], s, cx));
    scalar v_cvt_scalef32_sr_pk32_fp6_f32(cx, a: Wide<f32, 32>, r: u32, s: f32) -> Wide<u32, 6> =
        pack6_random(r, |at, r| encode_random(E2M3, a.0[at], r, s, cx));
    scalar v_cvt_scalef32_sr_pk32_bf6_f32(cx, a: Wide<f32, 32>, r: u32, s: f32) -> Wide<u32, 6> =
        pack6_random(r, |at, r| encode_random(E3M2, a.0[at], r, s, cx));
    scalar v_cvt_scalef32_pk32_fp6_f16(cx, a: Wide<u32, 16>, s: f32) -> Wide<u32, 6> =
        pack6(|at| encode(E2M3, half_at(&a, at), s, cx));
    scalar v_cvt_scalef32_pk32_fp6_bf16(cx, a: Wide<u32, 16>, s: f32) -> Wide<u32, 6> =
        pack6(|at| encode(E2M3, brain_at(&a, at), s, cx));
    scalar v_cvt_scalef32_pk32_bf6_f16(cx, a: Wide<u32, 16>, s: f32) -> Wide<u32, 6> =
        pack6(|at| encode(E3M2, half_at(&a, at), s, cx));
    scalar v_cvt_scalef32_pk32_bf6_bf16(cx, a: Wide<u32, 16>, s: f32) -> Wide<u32, 6> =
        pack6(|at| encode(E3M2, brain_at(&a, at), s, cx));
    scalar v_cvt_scalef32_sr_pk32_fp6_f16(cx, a: Wide<u32, 16>, r: u32, s: f32) -> Wide<u32, 6> =
        pack6_random(r, |at, r| encode_random(E2M3, half_at(&a, at), r, s, cx));
    scalar v_cvt_scalef32_sr_pk32_fp6_bf16(cx, a: Wide<u32, 16>, r: u32, s: f32) -> Wide<u32, 6> =
        pack6_random(r, |at, r| encode_random(E2M3, brain_at(&a, at), r, s, cx));
    scalar v_cvt_scalef32_sr_pk32_bf6_f16(cx, a: Wide<u32, 16>, r: u32, s: f32) -> Wide<u32, 6> =
        pack6_random(r, |at, r| encode_random(E3M2, half_at(&a, at), r, s, cx));
    scalar v_cvt_scalef32_sr_pk32_bf6_bf16(cx, a: Wide<u32, 16>, r: u32, s: f32) -> Wide<u32, 6> =
        pack6_random(r, |at, r| encode_random(E3M2, brain_at(&a, at), r, s, cx));
    scalar v_cvt_scalef32_pk32_f32_fp6(_, a: Wide<u32, 6>, s: f32) -> Wide<f32, 32> =
        Wide(std::array::from_fn(|at| decode(E2M3, code6(&a, at), s)));
    scalar v_cvt_scalef32_pk32_f32_bf6(_, a: Wide<u32, 6>, s: f32) -> Wide<f32, 32> =
        Wide(std::array::from_fn(|at| decode(E3M2, code6(&a, at), s)));
    scalar v_cvt_scalef32_pk32_f16_fp6(_, a: Wide<u32, 6>, s: f32) -> Wide<u32, 16> =
        halves(|at| Half::from_f32(decode(E2M3, code6(&a, at), s)).0);
    scalar v_cvt_scalef32_pk32_f16_bf6(_, a: Wide<u32, 6>, s: f32) -> Wide<u32, 16> =
        halves(|at| Half::from_f32(decode(E3M2, code6(&a, at), s)).0);
    scalar v_cvt_scalef32_pk32_bf16_fp6(_, a: Wide<u32, 6>, s: f32) -> Wide<u32, 16> =
        halves(|at| brain_of(decode(E2M3, code6(&a, at), s)).0);
    scalar v_cvt_scalef32_pk32_bf16_bf6(_, a: Wide<u32, 6>, s: f32) -> Wide<u32, 16> =
        halves(|at| brain_of(decode(E3M2, code6(&a, at), s)).0);
};
