//! Operations of VOP2: two sources, and the accumulating ones whose third is the destination.

use super::half::Half;
use super::lane::{Bit, Brain, Core, cores};
use super::numeric::*;
use super::soft;
use super::vop3p::{dot2, dot2_brain, dot2_int, dot4_int, dot8_int};

/// Low 24 bits, sign-extended.
#[inline(always)]
pub(super) fn i24(x: u32) -> i64 {
    i64::from((x << 8) as i32 >> 8)
}

/// Low 24 bits.
#[inline(always)]
pub(super) fn u24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

/// Nearest `i32`.
#[inline(always)]
pub(super) fn sat_i32(x: i64) -> i32 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Nearest `u32`.
#[inline(always)]
pub(super) fn sat_u32(x: u64) -> u32 {
    x.min(u32::MAX.into()) as u32
}

/// `a + b + carry` with its carry.
#[inline(always)]
fn add_carry(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u32::from(carry));
    (sum, first | second)
}

/// `a - b - borrow` with its borrow.
#[inline(always)]
fn sub_borrow(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(u32::from(borrow));
    (difference, first | second)
}

/// Replaces a result that carried by a bound.
#[inline(always)]
fn saturate((value, carry): (u32, bool), bound: u32) -> (u32, bool) {
    (if carry { bound } else { value }, carry)
}

/// Product and sum, each rounded.
#[inline(always)]
pub(super) fn mad_half(a: Half, b: Half, c: Half) -> Half {
    let product = Half::from_f32(a.to_f32() * b.to_f32());
    Half::from_f32(product.to_f32() + c.to_f32())
}

/// `x * 2^exponent`, exactly.
#[inline(always)]
fn ldexp_half(x: Half, exponent: i16) -> f64 {
    f64::from(x.to_f32()) * power_of_two(i32::from(exponent).clamp(-60, 60))
}

pub(super) const CORES: &[Core] = cores! {
    bits v_cndmask_b32(_, a: u32, b: u32, m: Bit) -> u32 = if m.0 { b } else { a };
    arith v_add_f32(_, a: f32, b: f32) -> f32 = a + b, round = |cx| soft::add(cx, a, b);
    arith v_sub_f32(_, a: f32, b: f32) -> f32 = a - b, round = |cx| soft::sub(cx, a, b);
    arith v_subrev_f32(_, a: f32, b: f32) -> f32 = b - a, round = |cx| soft::sub(cx, b, a);
    arith v_mul_f32(_, a: f32, b: f32) -> f32 = a * b, round = |cx| soft::mul(cx, a, b);
    float v_min_f32(cx, a: f32, b: f32) -> f32 = min(cx, a, b);
    float v_max_f32(cx, a: f32, b: f32) -> f32 = max(cx, a, b);
    arith v_fmac_f32(_, a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    arith v_fmamk_f32(_, a: f32, k: f32, c: f32) -> f32 = a.mul_add(k, c),
        round = |cx| soft::fma(cx, a, k, c);
    arith v_fmaak_f32(_, a: f32, b: f32, k: f32) -> f32 = a.mul_add(b, k),
        round = |cx| soft::fma(cx, a, b, k);
    arith v_fmac_f64(_, a: f64, b: f64, c: f64) -> f64 = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);

    bits v_mul_i32_i24(_, a: u32, b: u32) -> i32 = (i24(a) * i24(b)) as i32,
        clamp = sat_i32(i24(a) * i24(b));
    bits v_mul_hi_i32_i24(_, a: u32, b: u32) -> i32 = ((i24(a) * i24(b)) >> 32) as i32;
    bits v_mul_u32_u24(_, a: u32, b: u32) -> u32 = (u24(a) * u24(b)) as u32,
        clamp = sat_u32(u24(a) * u24(b));
    bits v_mul_hi_u32_u24(_, a: u32, b: u32) -> u32 = ((u24(a) * u24(b)) >> 32) as u32;
    bits v_min_i32(_, a: i32, b: i32) -> i32 = a.min(b);
    bits v_max_i32(_, a: i32, b: i32) -> i32 = a.max(b);
    bits v_min_u32(_, a: u32, b: u32) -> u32 = a.min(b);
    bits v_max_u32(_, a: u32, b: u32) -> u32 = a.max(b);
    bits v_lshrrev_b32(_, a: u32, b: u32) -> u32 = b >> (a & 31);
    bits v_ashrrev_i32(_, a: u32, b: i32) -> i32 = b >> (a & 31);
    bits v_lshlrev_b32(_, a: u32, b: u32) -> u32 = b << (a & 31);
    bits v_and_b32(_, a: u32, b: u32) -> u32 = a & b;
    bits v_or_b32(_, a: u32, b: u32) -> u32 = a | b;
    bits v_xor_b32(_, a: u32, b: u32) -> u32 = a ^ b;
    bits v_xnor_b32(_, a: u32, b: u32) -> u32 = !(a ^ b);
    bits v_add_u32(_, a: u32, b: u32) -> u32 = a.wrapping_add(b), clamp = a.saturating_add(b);
    bits v_sub_u32(_, a: u32, b: u32) -> u32 = a.wrapping_sub(b), clamp = a.saturating_sub(b);
    bits v_subrev_u32(_, a: u32, b: u32) -> u32 = b.wrapping_sub(a),
        clamp = b.saturating_sub(a);
    bits v_add_co_u32(_, a: u32, b: u32) -> (u32, bool) = a.overflowing_add(b),
        clamp = saturate(a.overflowing_add(b), u32::MAX);
    bits v_sub_co_u32(_, a: u32, b: u32) -> (u32, bool) = a.overflowing_sub(b),
        clamp = saturate(a.overflowing_sub(b), 0);
    bits v_subrev_co_u32(_, a: u32, b: u32) -> (u32, bool) = b.overflowing_sub(a),
        clamp = saturate(b.overflowing_sub(a), 0);
    bits v_addc_co_u32(_, a: u32, b: u32, c: Bit) -> (u32, bool) = add_carry(a, b, c.0),
        clamp = saturate(add_carry(a, b, c.0), u32::MAX);
    bits v_subb_co_u32(_, a: u32, b: u32, c: Bit) -> (u32, bool) = sub_borrow(a, b, c.0),
        clamp = saturate(sub_borrow(a, b, c.0), 0);
    bits v_subbrev_co_u32(_, a: u32, b: u32, c: Bit) -> (u32, bool) = sub_borrow(b, a, c.0),
        clamp = saturate(sub_borrow(b, a, c.0), 0);

    arith v_add_f16(_, a: Half, b: Half) -> Half = Half::from_f32(a.to_f32() + b.to_f32()),
        round = |cx| soft::add(cx, a, b);
    arith v_sub_f16(_, a: Half, b: Half) -> Half = Half::from_f32(a.to_f32() - b.to_f32()),
        round = |cx| soft::sub(cx, a, b);
    arith v_subrev_f16(_, a: Half, b: Half) -> Half = Half::from_f32(b.to_f32() - a.to_f32()),
        round = |cx| soft::sub(cx, b, a);
    arith v_mul_f16(_, a: Half, b: Half) -> Half = Half::from_f32(a.to_f32() * b.to_f32()),
        round = |cx| soft::mul(cx, a, b);
    arith v_mac_f16(_, a: Half, b: Half, c: Half) -> Half = mad_half(a, b, c),
        round = |cx| soft::add(cx, soft::mul(cx, a, b), c);
    arith v_madmk_f16(_, a: Half, k: Half, c: Half) -> Half = mad_half(a, k, c),
        round = |cx| soft::add(cx, soft::mul(cx, a, k), c);
    arith v_madak_f16(_, a: Half, b: Half, k: Half) -> Half = mad_half(a, b, k),
        round = |cx| soft::add(cx, soft::mul(cx, a, b), k);
    arith v_pk_fmac_f16(_, a: [Half; 2], b: [Half; 2], c: [Half; 2]) -> [Half; 2] =
        [a[0].mul_add(b[0], c[0]), a[1].mul_add(b[1], c[1])],
        round = |cx| [soft::fma(cx, a[0], b[0], c[0]), soft::fma(cx, a[1], b[1], c[1])];
    float v_max_f16(cx, a: Half, b: Half) -> Half = max(cx, a, b);
    float v_min_f16(cx, a: Half, b: Half) -> Half = min(cx, a, b);
    float v_ldexp_f16(_, a: Half, b: i16) -> Half = Half::from_f64(ldexp_half(a, b)),
        round = |cx| soft::convert(cx, ldexp_half(a, b));
    bits v_add_u16(_, a: u16, b: u16) -> u16 = a.wrapping_add(b), clamp = a.saturating_add(b);
    bits v_sub_u16(_, a: u16, b: u16) -> u16 = a.wrapping_sub(b), clamp = a.saturating_sub(b);
    bits v_subrev_u16(_, a: u16, b: u16) -> u16 = b.wrapping_sub(a),
        clamp = b.saturating_sub(a);
    bits v_mul_lo_u16(_, a: u16, b: u16) -> u16 = a.wrapping_mul(b),
        clamp = a.saturating_mul(b);
    bits v_lshlrev_b16(_, a: u16, b: u16) -> u16 = b << (a & 15);
    bits v_lshrrev_b16(_, a: u16, b: u16) -> u16 = b >> (a & 15);
    bits v_ashrrev_i16(_, a: u16, b: i16) -> i16 = b >> (a & 15);
    bits v_max_u16(_, a: u16, b: u16) -> u16 = a.max(b);
    bits v_max_i16(_, a: i16, b: i16) -> i16 = a.max(b);
    bits v_min_u16(_, a: u16, b: u16) -> u16 = a.min(b);
    bits v_min_i16(_, a: i16, b: i16) -> i16 = a.min(b);

    bits v_dot2c_f32_f16(_, a: [Half; 2], b: [Half; 2], c: f32) -> f32 = dot2(a, b, c);
    bits v_dot2c_f32_bf16(_, a: [Brain; 2], b: [Brain; 2], c: f32) -> f32 = dot2_brain(a, b, c);
    bits v_dot2c_i32_i16(_, a: [i16; 2], b: [i16; 2], c: i32) -> i32 =
        dot2_int(a.map(i64::from), b.map(i64::from), c.into()) as i32,
        clamp = sat_i32(dot2_int(a.map(i64::from), b.map(i64::from), c.into()));
    bits v_dot4c_i32_i8(_, a: i32, b: i32, c: i32) -> i32 = dot4_int(a, b, c.into()) as i32,
        clamp = sat_i32(dot4_int(a, b, c.into()));
    bits v_dot8c_i32_i4(_, a: i32, b: i32, c: i32) -> i32 = dot8_int(a, b, c.into()) as i32,
        clamp = sat_i32(dot8_int(a, b, c.into()));
};
