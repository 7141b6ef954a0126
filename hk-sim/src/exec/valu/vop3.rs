//! Operations that only VOP3 encodes.

use super::half::Half;
use super::lane::{Core, Wide, cores};
use super::numeric::*;
use super::soft;
use super::vop2::{i24, mad_half, sat_i32, sat_u32, u24};
use super::vop3p::{sat_i16, sat_u16};
use crate::exec::float;

/// Fraction bits of 2/pi, most significant word first.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// `v_trig_preop_f64`: 53 bits of 2/pi, chosen by the segment number and the exponent of the
/// argument that is to be reduced.
fn trig_preop(x: f64, segment: u32) -> f64 {
    let exponent = (x.to_bits() >> 52) as i32 & 0x7ff;
    let shift = (segment & 31) as i32 * 53 + (exponent - 1077).max(0);
    let at = shift as usize;
    let word = |index: usize| u128::from(TWO_OVER_PI.get(index).copied().unwrap_or(0));
    // Bits `at..at + 53` of the fraction.
    let pair = word(at / 64) << 64 | word(at / 64 + 1);
    let bits = (pair << (at % 64) >> (128 - 53)) as u64;
    let scale = -53 - shift + if exponent >= 1968 { 128 } else { 0 };
    ldexp64(bits as f64, scale)
}

/// Axis of the cube face that a direction points to: 0 x, 1 y, 2 z.
#[inline(always)]
fn major_axis(x: f32, y: f32, z: f32) -> u32 {
    let (x, y, z) = (x.abs(), y.abs(), z.abs());
    let minor = u32::from(y >= x);
    if z >= x && z >= y { 2 } else { minor }
}

#[inline(always)]
fn cube_id(x: f32, y: f32, z: f32) -> f32 {
    let face = |axis: f32, positive: f32| if axis < 0.0 { positive + 1.0 } else { positive };
    match major_axis(x, y, z) {
        2 => face(z, 4.0),
        1 => face(y, 2.0),
        _ => face(x, 0.0),
    }
}

#[inline(always)]
fn cube_s(x: f32, y: f32, z: f32) -> f32 {
    match major_axis(x, y, z) {
        2 => {
            if z < 0.0 {
                -x
            } else {
                x
            }
        }
        1 => x,
        _ => {
            if x < 0.0 {
                z
            } else {
                -z
            }
        }
    }
}

#[inline(always)]
fn cube_t(x: f32, y: f32, z: f32) -> f32 {
    match major_axis(x, y, z) {
        1 => {
            if y < 0.0 {
                -z
            } else {
                z
            }
        }
        _ => -y,
    }
}

#[inline(always)]
fn cube_major(x: f32, y: f32, z: f32) -> f32 {
    2.0 * [x, y, z][major_axis(x, y, z) as usize]
}

/// Applies `f` to the bytes of two words and adds the results up.
#[inline(always)]
fn sum_bytes(a: u32, b: u32, f: impl Fn(u32, u32) -> u32) -> u32 {
    (0..4).map(|at| f(a >> (8 * at) & 0xff, b >> (8 * at) & 0xff)).sum()
}

/// Sum of absolute differences of bytes.
#[inline(always)]
fn sad(a: u32, b: u32) -> u32 {
    sum_bytes(a, b, u32::abs_diff)
}

/// As [`sad`], without the bytes where the reference `b` is zero.
#[inline(always)]
fn masked_sad(a: u32, b: u32) -> u32 {
    sum_bytes(a, b, |a, b| if b == 0 { 0 } else { a.abs_diff(b) })
}

/// Sums of absolute differences of four overlapping windows of `a`, each added to a 16-bit field.
#[inline(always)]
fn quad_sad(
    a: u64,
    b: u32,
    c: u64,
    sad: impl Fn(u32, u32) -> u32,
    add: fn(u16, u16) -> u16,
) -> u64 {
    (0..4).fold(0, |result, at| {
        let sum = add((c >> (16 * at)) as u16, sad((a >> (8 * at)) as u32, b) as u16);
        result | u64::from(sum) << (16 * at)
    })
}

#[inline(always)]
fn quad_sad_u32(a: u64, b: u32, c: [u32; 4], add: fn(u32, u32) -> u32) -> [u32; 4] {
    std::array::from_fn(|at| add(c[at], masked_sad((a >> (8 * at)) as u32, b)))
}

/// Byte of `v_perm_b32` that a selector chooses from the eight bytes of `bytes`.
#[inline(always)]
fn permuted_byte(bytes: u64, selector: u32) -> u32 {
    let byte = (bytes >> (8 * (selector & 7))) as u32 & 0xff;
    // Selectors 8 to 11 replicate the sign of a half.
    let half = selector & 3;
    let sign = if bytes >> (16 * half + 15) & 1 == 1 { 0xff } else { 0 };
    let constant = if selector == 12 { 0 } else { 0xff };
    let special = if selector < 12 { sign } else { constant };
    if selector < 8 { byte } else { special }
}

#[inline(always)]
fn perm(a: u32, b: u32, selectors: u32) -> u32 {
    let bytes = u64::from(a) << 32 | u64::from(b);
    (0..4).fold(0, |word, at| word | permuted_byte(bytes, selectors >> (8 * at) & 0xff) << (8 * at))
}

/// Average of bytes, rounded up where the low bit of the byte in `round` is set.
#[inline(always)]
fn lerp(a: u32, b: u32, round: u32) -> u32 {
    (0..4).fold(0, |word, at| {
        let byte = |x: u32| x >> (8 * at) & 0xff;
        word | ((byte(a) + byte(b) + (byte(round) & 1)) >> 1) << (8 * at)
    })
}

#[inline(always)]
fn bfe_i32(x: i32, offset: u32, width: u32) -> i32 {
    let width = width & 31;
    let spare = (32 - width) & 31;
    let field = x >> (offset & 31) << spare >> spare;
    if width == 0 { 0 } else { field }
}

/// Three-input function with the truth table `table`; the first input has the highest weight.
#[inline(always)]
fn bitop3(table: u32, a: u32, b: u32, c: u32) -> u32 {
    (0..8).fold(0, |result, row| {
        let pick = |x: u32, bit: u32| if row >> bit & 1 == 1 { x } else { !x };
        let minterm = pick(a, 2) & pick(b, 1) & pick(c, 0);
        result | if table >> row & 1 == 1 { minterm } else { 0 }
    })
}

/// Replaces byte number `at` of a word.
#[inline(always)]
fn insert_byte(word: u32, at: u32, byte: u32) -> u32 {
    let shift = 8 * (at & 3);
    word & !(0xff << shift) | byte << shift
}

/// Unsigned byte of a float, towards zero.
#[inline(always)]
fn byte_of(x: f32) -> u32 {
    f32_to_u32(x).min(255)
}

/// 64-bit product and sum with the carry out of them.
#[inline(always)]
fn mad_u64(a: u32, b: u32, c: u64) -> (u64, bool) {
    (u64::from(a) * u64::from(b)).overflowing_add(c)
}

#[inline(always)]
fn mad_i64(a: i32, b: i32, c: i64) -> (i64, bool) {
    (i64::from(a) * i64::from(b)).overflowing_add(c)
}

/// A 64-bit value as its two registers, in steps of 32 bits, which the vector units have more of.
type Pair = Wide<u32, 2>;

/// `x << count` for counts below 64.
#[inline(always)]
fn shl_pair(Wide([low, high]): Pair, count: u32) -> Pair {
    let within = count & 31;
    // The spilled bits are shifted by 32 - n in two steps, each of which is legal.
    let spilled = high << within | low >> 1 >> (31 - within);
    if count & 32 == 0 { Wide([low << within, spilled]) } else { Wide([0, low << within]) }
}

/// `x >> count` for counts below 64, with `fill` as the word above.
#[inline(always)]
fn shr_pair(Wide([low, high]): Pair, count: u32, fill: u32) -> Pair {
    let within = count & 31;
    let join = |low: u32, high: u32| low >> within | high << 1 << (31 - within);
    let (low, high) = if count & 32 == 0 { (low, high) } else { (high, fill) };
    Wide([join(low, high), join(high, fill)])
}

#[inline(always)]
fn add_pair(Wide([a, b]): Pair, Wide([c, d]): Pair) -> Pair {
    let (low, carry) = a.overflowing_add(c);
    Wide([low, b.wrapping_add(d).wrapping_add(carry.into())])
}

pub(super) const CORES: &[Core] = cores! {
    bits v_mad_i32_i24(_, a: u32, b: u32, c: i32) -> i32 =
        (i24(a) * i24(b) + i64::from(c)) as i32,
        clamp = sat_i32(i24(a) * i24(b) + i64::from(c));
    bits v_mad_u32_u24(_, a: u32, b: u32, c: u32) -> u32 =
        (u24(a) * u24(b) + u64::from(c)) as u32,
        clamp = sat_u32(u24(a) * u24(b) + u64::from(c));
    float v_cubeid_f32(_, a: f32, b: f32, c: f32) -> f32 = cube_id(a, b, c);
    float v_cubesc_f32(_, a: f32, b: f32, c: f32) -> f32 = cube_s(a, b, c);
    float v_cubetc_f32(_, a: f32, b: f32, c: f32) -> f32 = cube_t(a, b, c);
    float v_cubema_f32(_, a: f32, b: f32, c: f32) -> f32 = cube_major(a, b, c);
    bits v_bfe_u32(_, a: u32, b: u32, c: u32) -> u32 =
        a >> (b & 31) & ((1u32 << (c & 31)) - 1);
    bits v_bfe_i32(_, a: i32, b: u32, c: u32) -> i32 = bfe_i32(a, b, c);
    bits v_bfi_b32(_, a: u32, b: u32, c: u32) -> u32 = a & b | !a & c;
    bits v_bfm_b32(_, a: u32, b: u32) -> u32 = ((1u32 << (a & 31)) - 1) << (b & 31);
    arith v_fma_f32(_, a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    arith v_fma_f64(_, a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    arith v_fma_f16(_, a: Half, b: Half, c: Half) -> Half = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    arith v_fma_legacy_f16(_, a: Half, b: Half, c: Half) -> Half = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    arith v_mad_f16(_, a: Half, b: Half, c: Half) -> Half = mad_half(a, b, c),
        round = |cx| soft::add(cx, soft::mul(cx, a, b), c);
    arith v_mad_legacy_f16(_, a: Half, b: Half, c: Half) -> Half = mad_half(a, b, c),
        round = |cx| soft::add(cx, soft::mul(cx, a, b), c);
    arith v_mul_legacy_f32(_, a: f32, b: f32) -> f32 =
        if a == 0.0 || b == 0.0 { 0.0 } else { a * b },
        round = |cx| if a == 0.0 || b == 0.0 { 0.0 } else { soft::mul(cx, a, b) };
    bits v_lerp_u8(_, a: u32, b: u32, c: u32) -> u32 = lerp(a, b, c);
    bits v_alignbit_b32(_, a: u32, b: u32, c: u32) -> u32 =
        ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32;
    bits v_alignbyte_b32(_, a: u32, b: u32, c: u32) -> u32 =
        ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32;

    float v_min3_f32(cx, a: f32, b: f32, c: f32) -> f32 = min(cx, min(cx, a, b), c);
    float v_max3_f32(cx, a: f32, b: f32, c: f32) -> f32 = max(cx, max(cx, a, b), c);
    float v_med3_f32(cx, a: f32, b: f32, c: f32) -> f32 = med3(cx, a, b, c);
    float v_min3_f16(cx, a: Half, b: Half, c: Half) -> Half = min(cx, min(cx, a, b), c);
    float v_max3_f16(cx, a: Half, b: Half, c: Half) -> Half = max(cx, max(cx, a, b), c);
    float v_med3_f16(cx, a: Half, b: Half, c: Half) -> Half = med3(cx, a, b, c);
    float v_minimum3_f32(_, a: f32, b: f32, c: f32) -> f32 = minimum(minimum(a, b), c);
    float v_maximum3_f32(_, a: f32, b: f32, c: f32) -> f32 = maximum(maximum(a, b), c);
    bits v_min3_i32(_, a: i32, b: i32, c: i32) -> i32 = a.min(b).min(c);
    bits v_max3_i32(_, a: i32, b: i32, c: i32) -> i32 = a.max(b).max(c);
    bits v_med3_i32(_, a: i32, b: i32, c: i32) -> i32 = median(a, b, c);
    bits v_min3_u32(_, a: u32, b: u32, c: u32) -> u32 = a.min(b).min(c);
    bits v_max3_u32(_, a: u32, b: u32, c: u32) -> u32 = a.max(b).max(c);
    bits v_med3_u32(_, a: u32, b: u32, c: u32) -> u32 = median(a, b, c);
    bits v_min3_i16(_, a: i16, b: i16, c: i16) -> i16 = a.min(b).min(c);
    bits v_max3_i16(_, a: i16, b: i16, c: i16) -> i16 = a.max(b).max(c);
    bits v_med3_i16(_, a: i16, b: i16, c: i16) -> i16 = median(a, b, c);
    bits v_min3_u16(_, a: u16, b: u16, c: u16) -> u16 = a.min(b).min(c);
    bits v_max3_u16(_, a: u16, b: u16, c: u16) -> u16 = a.max(b).max(c);
    bits v_med3_u16(_, a: u16, b: u16, c: u16) -> u16 = median(a, b, c);

    bits v_sad_u8(_, a: u32, b: u32, c: u32) -> u32 = sad(a, b).wrapping_add(c),
        clamp = sad(a, b).saturating_add(c);
    bits v_sad_hi_u8(_, a: u32, b: u32, c: u32) -> u32 = (sad(a, b) << 16).wrapping_add(c),
        clamp = (sad(a, b) << 16).saturating_add(c);
    bits v_sad_u16(_, a: [u16; 2], b: [u16; 2], c: u32) -> u32 =
        (u32::from(a[0].abs_diff(b[0])) + u32::from(a[1].abs_diff(b[1]))).wrapping_add(c),
        clamp = (u32::from(a[0].abs_diff(b[0])) + u32::from(a[1].abs_diff(b[1]))).saturating_add(c);
    bits v_sad_u32(_, a: u32, b: u32, c: u32) -> u32 = a.abs_diff(b).wrapping_add(c),
        clamp = a.abs_diff(b).saturating_add(c);
    bits v_msad_u8(_, a: u32, b: u32, c: u32) -> u32 = masked_sad(a, b).wrapping_add(c),
        clamp = masked_sad(a, b).saturating_add(c);
    scalar v_qsad_pk_u16_u8(_, a: u64, b: u32, c: u64) -> u64 =
        quad_sad(a, b, c, sad, u16::wrapping_add),
        clamp = quad_sad(a, b, c, sad, u16::saturating_add);
    scalar v_mqsad_pk_u16_u8(_, a: u64, b: u32, c: u64) -> u64 =
        quad_sad(a, b, c, masked_sad, u16::wrapping_add),
        clamp = quad_sad(a, b, c, masked_sad, u16::saturating_add);
    scalar v_mqsad_u32_u8(_, a: u64, b: u32, c: Wide<u32, 4>) -> Wide<u32, 4> =
        Wide(quad_sad_u32(a, b, c.0, u32::wrapping_add)),
        clamp = Wide(quad_sad_u32(a, b, c.0, u32::saturating_add));
    float v_cvt_pk_u8_f32(_, a: f32, b: u32, c: u32) -> u32 = insert_byte(c, b, byte_of(a));
    float v_cvt_pkaccum_u8_f32(_, a: f32, b: u32, c: u32) -> u32 = insert_byte(c, b, byte_of(a));

    bits v_mad_u64_u32(_, a: u32, b: u32, c: u64) -> (u64, bool) = mad_u64(a, b, c),
        clamp = {
            let (sum, carry) = mad_u64(a, b, c);
            (if carry { u64::MAX } else { sum }, carry)
        };
    bits v_mad_i64_i32(_, a: i32, b: i32, c: i64) -> (i64, bool) = mad_i64(a, b, c),
        clamp = {
            let (sum, overflow) = mad_i64(a, b, c);
            let bound = if c < 0 { i64::MIN } else { i64::MAX };
            (if overflow { bound } else { sum }, overflow)
        };
    bits v_mad_u16(_, a: u16, b: u16, c: u16) -> u16 = a.wrapping_mul(b).wrapping_add(c),
        clamp = sat_u16(u64::from(a) * u64::from(b) + u64::from(c));
    bits v_mad_legacy_u16(_, a: u16, b: u16, c: u16) -> u16 = a.wrapping_mul(b).wrapping_add(c),
        clamp = sat_u16(u64::from(a) * u64::from(b) + u64::from(c));
    bits v_mad_i16(_, a: i16, b: i16, c: i16) -> i16 = a.wrapping_mul(b).wrapping_add(c),
        clamp = sat_i16(i32::from(a) * i32::from(b) + i32::from(c));
    bits v_mad_legacy_i16(_, a: i16, b: i16, c: i16) -> i16 = a.wrapping_mul(b).wrapping_add(c),
        clamp = sat_i16(i32::from(a) * i32::from(b) + i32::from(c));
    bits v_mad_u32_u16(_, a: u16, b: u16, c: u32) -> u32 =
        (u32::from(a) * u32::from(b)).wrapping_add(c),
        clamp = (u32::from(a) * u32::from(b)).saturating_add(c);
    bits v_mad_i32_i16(_, a: i16, b: i16, c: i32) -> i32 =
        (i32::from(a) * i32::from(b)).wrapping_add(c),
        clamp = (i32::from(a) * i32::from(b)).saturating_add(c);
    bits v_perm_b32(_, a: u32, b: u32, c: u32) -> u32 = perm(a, b, c);
    bits v_xad_u32(_, a: u32, b: u32, c: u32) -> u32 = (a ^ b).wrapping_add(c);
    bits v_lshl_add_u32(_, a: u32, b: u32, c: u32) -> u32 = (a << (b & 31)).wrapping_add(c);
    bits v_add_lshl_u32(_, a: u32, b: u32, c: u32) -> u32 = a.wrapping_add(b) << (c & 31);
    bits v_add3_u32(_, a: u32, b: u32, c: u32) -> u32 = a.wrapping_add(b).wrapping_add(c);
    bits v_lshl_or_b32(_, a: u32, b: u32, c: u32) -> u32 = a << (b & 31) | c;
    bits v_and_or_b32(_, a: u32, b: u32, c: u32) -> u32 = a & b | c;
    bits v_or3_b32(_, a: u32, b: u32, c: u32) -> u32 = a | b | c;
    bits v_lshl_add_u64(_, a: Pair, b: u32, c: Pair) -> Pair = add_pair(shl_pair(a, b & 7), c);
    bits v_bitop3_b32(cx, a: u32, b: u32, c: u32) -> u32 = bitop3(cx.truth_table(), a, b, c);
    bits v_bitop3_b16(cx, a: u16, b: u16, c: u16) -> u16 =
        bitop3(cx.truth_table(), a.into(), b.into(), c.into()) as u16;
    bits v_ashr_pk_i8_i32(_, a: i32, b: i32, c: u32) -> u16 = {
        let [low, high] = [a, b].map(|x| (x >> (c & 31)).clamp(-128, 127) as u8);
        u16::from(low) | u16::from(high) << 8
    };
    bits v_ashr_pk_u8_i32(_, a: i32, b: i32, c: u32) -> u16 = {
        let [low, high] = [a, b].map(|x| (x >> (c & 31)).clamp(0, 255) as u8);
        u16::from(low) | u16::from(high) << 8
    };

    arith v_add_f64(_, a: f64, b: f64) -> f64 = a + b, round = |cx| soft::add(cx, a, b);
    arith v_mul_f64(_, a: f64, b: f64) -> f64 = a * b, round = |cx| soft::mul(cx, a, b);
    float v_min_f64(cx, a: f64, b: f64) -> f64 = min(cx, a, b);
    float v_max_f64(cx, a: f64, b: f64) -> f64 = max(cx, a, b);
    scalar_float v_ldexp_f64(_, a: f64, b: i32) -> f64 = ldexp64(a, b),
        round = |cx| soft::ldexp64(cx, a, b);
    float v_ldexp_f32(_, a: f32, b: i32) -> f32 = ldexp32(a, b) as f32,
        round = |cx| soft::convert(cx, ldexp32(a, b));
    scalar v_trig_preop_f64(_, a: f64, b: u32) -> f64 = trig_preop(a, b);
    bits v_mul_lo_u32(_, a: u32, b: u32) -> u32 = a.wrapping_mul(b);
    bits v_mul_hi_u32(_, a: u32, b: u32) -> u32 = ((u64::from(a) * u64::from(b)) >> 32) as u32;
    bits v_mul_hi_i32(_, a: i32, b: i32) -> i32 = ((i64::from(a) * i64::from(b)) >> 32) as i32;
    bits v_bcnt_u32_b32(_, a: u32, b: u32) -> u32 = a.count_ones().wrapping_add(b);
    bits v_mbcnt_lo_u32_b32(cx, a: u32, b: u32) -> u32 =
        (a & ((1u64 << cx.lane.min(32)) - 1) as u32).count_ones().wrapping_add(b);
    bits v_mbcnt_hi_u32_b32(cx, a: u32, b: u32) -> u32 =
        (a & ((1u64 << cx.lane.saturating_sub(32)) - 1) as u32).count_ones().wrapping_add(b);
    bits v_lshlrev_b64(_, a: u32, b: Pair) -> Pair = shl_pair(b, a & 63);
    bits v_lshrrev_b64(_, a: u32, b: Pair) -> Pair = shr_pair(b, a & 63, 0);
    bits v_ashrrev_i64(_, a: u32, b: Pair) -> Pair =
        shr_pair(b, a & 63, (b.0[1] as i32 >> 31) as u32);
    bits v_add_i32(_, a: i32, b: i32) -> i32 = a.wrapping_add(b), clamp = a.saturating_add(b);
    bits v_sub_i32(_, a: i32, b: i32) -> i32 = a.wrapping_sub(b), clamp = a.saturating_sub(b);
    bits v_add_i16(_, a: i16, b: i16) -> i16 = a.wrapping_add(b), clamp = a.saturating_add(b);
    bits v_sub_i16(_, a: i16, b: i16) -> i16 = a.wrapping_sub(b), clamp = a.saturating_sub(b);
    bits v_pack_b32_f16(_, a: u16, b: u16) -> [u16; 2] = [a, b];

    float v_cvt_pknorm_i16_f32(_, a: f32, b: f32) -> [i16; 2] =
        [a, b].map(|x| normalised(x, -1.0, 32767.0) as i16);
    float v_cvt_pknorm_u16_f32(_, a: f32, b: f32) -> [u16; 2] =
        [a, b].map(|x| normalised(x, 0.0, 65535.0) as u16);
    float v_cvt_pknorm_i16_f16(_, a: Half, b: Half) -> [i16; 2] =
        [a, b].map(|x| normalised(x.to_f32(), -1.0, 32767.0) as i16);
    float v_cvt_pknorm_u16_f16(_, a: Half, b: Half) -> [u16; 2] =
        [a, b].map(|x| normalised(x.to_f32(), 0.0, 65535.0) as u16);
    bits v_cvt_pk_u16_u32(_, a: u32, b: u32) -> [u16; 2] = [a, b].map(|x| x.min(0xffff) as u16);
    bits v_cvt_pk_i16_i32(_, a: i32, b: i32) -> [i16; 2] = [a, b].map(sat_i16);
    scalar_float v_cvt_pkrtz_f16_f32(_, a: f32, b: f32) -> [Half; 2] =
        [a, b].map(|x| Half(float::f16_from_f32(x, float::RoundMode::TowardZero)));
    float v_cvt_pk_f16_f32(_, a: f32, b: f32) -> [Half; 2] = [Half::from_f32(a), Half::from_f32(b)],
        round = |cx| [soft::convert(cx, a), soft::convert(cx, b)];
};
