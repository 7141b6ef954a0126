//! Operations of VOP3P: packed arithmetic, dot products and mixed-precision fused operations.

use super::half::Half;
use super::lane::{Brain, Core, Wide, cores};
use super::numeric::*;
use super::soft;
use super::vop2::{sat_i32, sat_u32};

/// `(c + a0 * b0) + a1 * b1` with one rounding per step, denormals flushed on both sides.
#[inline(always)]
fn dot2_f32(a: [f32; 2], b: [f32; 2], c: f32) -> f32 {
    let c = flush32(c);
    let first = resolve3(a[0].mul_add(b[0], c), [a[0], b[0], c]);
    flush32(resolve3(a[1].mul_add(b[1], first), [first, a[1], b[1]]))
}

/// Dot product of `f16` pairs.
#[inline(always)]
pub(super) fn dot2(a: [Half; 2], b: [Half; 2], c: f32) -> f32 {
    let widen = |x: Half| {
        let normal = x.0 & 0x7c00 != 0;
        Half(if normal { x.0 } else { x.0 & 0x8000 }).to_f32()
    };
    dot2_f32(a.map(widen), b.map(widen), c)
}

/// Dot product of `bf16` pairs.
#[inline(always)]
pub(super) fn dot2_brain(a: [Brain; 2], b: [Brain; 2], c: f32) -> f32 {
    let widen = |x: Brain| flush32(x.to_f32());
    dot2_f32(a.map(widen), b.map(widen), c)
}

/// Exact dot product of pairs.
#[inline(always)]
pub(super) fn dot2_int(a: [i64; 2], b: [i64; 2], c: i64) -> i64 {
    c + a[0] * b[0] + a[1] * b[1]
}

/// Exact dot product of the signed bytes of two words.
#[inline(always)]
pub(super) fn dot4_int(a: i32, b: i32, c: i64) -> i64 {
    let byte = |x: i32, at: i32| x << (24 - 8 * at) >> 24;
    let sum: i32 = (0..4).map(|at| byte(a, at) * byte(b, at)).sum();
    c + i64::from(sum)
}

/// Exact dot product of the signed nibbles of two words.
#[inline(always)]
pub(super) fn dot8_int(a: i32, b: i32, c: i64) -> i64 {
    let nibble = |x: i32, at: i32| x << (28 - 4 * at) >> 28;
    let sum: i32 = (0..8).map(|at| nibble(a, at) * nibble(b, at)).sum();
    c + i64::from(sum)
}

/// Exact dot product of the `WIDTH`-bit unsigned fields of two words.
#[inline(always)]
fn dot_unsigned<const WIDTH: u32>(a: u32, b: u32, c: u32) -> u64 {
    let field = |x: u32, at: u32| x >> (WIDTH * at) & ((1 << WIDTH) - 1);
    let sum: u32 = (0..32 / WIDTH).map(|at| field(a, at) * field(b, at)).sum();
    u64::from(c) + u64::from(sum)
}

/// The same operation on both halves. It is written out twice, since a closure that is called twice
/// may stay a function and keep the loop over lanes from becoming vector code.
macro_rules! both {
    (|$($x:ident),+| $body:expr) => {
        [both!(@half 0, ($($x),+), $body), both!(@half 1, ($($x),+), $body)]
    };
    (@half $half:literal, ($($x:ident),+), $body:expr) => {{
        $(let $x = $x[$half];)+
        $body
    }};
}

pub(super) const CORES: &[Core] = cores! {
    bits v_pk_mad_i16(_, a: [i16; 2], b: [i16; 2], c: [i16; 2]) -> [i16; 2] =
        both!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        clamp = both!(|a, b, c| sat_i16(i32::from(a) * i32::from(b) + i32::from(c)));
    bits v_pk_mul_lo_u16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] =
        both!(|a, b| a.wrapping_mul(b)),
        clamp = both!(|a, b| a.saturating_mul(b));
    bits v_pk_add_i16(_, a: [i16; 2], b: [i16; 2]) -> [i16; 2] = both!(|a, b| a.wrapping_add(b)),
        clamp = both!(|a, b| a.saturating_add(b));
    bits v_pk_sub_i16(_, a: [i16; 2], b: [i16; 2]) -> [i16; 2] = both!(|a, b| a.wrapping_sub(b)),
        clamp = both!(|a, b| a.saturating_sub(b));
    bits v_pk_lshlrev_b16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] = both!(|a, b| b << (a & 15));
    bits v_pk_lshrrev_b16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] = both!(|a, b| b >> (a & 15));
    bits v_pk_ashrrev_i16(_, a: [u16; 2], b: [i16; 2]) -> [i16; 2] = both!(|a, b| b >> (a & 15));
    bits v_pk_max_i16(_, a: [i16; 2], b: [i16; 2]) -> [i16; 2] = both!(|a, b| a.max(b));
    bits v_pk_min_i16(_, a: [i16; 2], b: [i16; 2]) -> [i16; 2] = both!(|a, b| a.min(b));
    bits v_pk_mad_u16(_, a: [u16; 2], b: [u16; 2], c: [u16; 2]) -> [u16; 2] =
        both!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        clamp = both!(|a, b, c| sat_u16(u64::from(a) * u64::from(b) + u64::from(c)));
    bits v_pk_add_u16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] = both!(|a, b| a.wrapping_add(b)),
        clamp = both!(|a, b| a.saturating_add(b));
    bits v_pk_sub_u16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] = both!(|a, b| a.wrapping_sub(b)),
        clamp = both!(|a, b| a.saturating_sub(b));
    bits v_pk_max_u16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] = both!(|a, b| a.max(b));
    bits v_pk_min_u16(_, a: [u16; 2], b: [u16; 2]) -> [u16; 2] = both!(|a, b| a.min(b));
    arith v_pk_fma_f16(_, a: [Half; 2], b: [Half; 2], c: [Half; 2]) -> [Half; 2] =
        both!(|a, b, c| a.mul_add(b, c)),
        round = |cx| both!(|a, b, c| soft::fma(cx, a, b, c));
    arith v_pk_add_f16(_, a: [Half; 2], b: [Half; 2]) -> [Half; 2] =
        both!(|a, b| Half::from_f32(a.to_f32() + b.to_f32())),
        round = |cx| both!(|a, b| soft::add(cx, a, b));
    arith v_pk_mul_f16(_, a: [Half; 2], b: [Half; 2]) -> [Half; 2] =
        both!(|a, b| Half::from_f32(a.to_f32() * b.to_f32())),
        round = |cx| both!(|a, b| soft::mul(cx, a, b));
    float v_pk_min_f16(cx, a: [Half; 2], b: [Half; 2]) -> [Half; 2] = both!(|a, b| min(cx, a, b));
    float v_pk_max_f16(cx, a: [Half; 2], b: [Half; 2]) -> [Half; 2] = both!(|a, b| max(cx, a, b));
    float v_pk_minimum3_f16(_, a: [Half; 2], b: [Half; 2], c: [Half; 2]) -> [Half; 2] =
        both!(|a, b, c| minimum(minimum(a, b), c));
    float v_pk_maximum3_f16(_, a: [Half; 2], b: [Half; 2], c: [Half; 2]) -> [Half; 2] =
        both!(|a, b, c| maximum(maximum(a, b), c));

    bits v_dot2_f32_f16(_, a: [Half; 2], b: [Half; 2], c: f32) -> f32 = dot2(a, b, c);
    bits v_dot2_f32_bf16(_, a: [Brain; 2], b: [Brain; 2], c: f32) -> f32 = dot2_brain(a, b, c);
    bits v_dot2_i32_i16(_, a: [i16; 2], b: [i16; 2], c: i32) -> i32 =
        dot2_int(a.map(i64::from), b.map(i64::from), c.into()) as i32,
        clamp = sat_i32(dot2_int(a.map(i64::from), b.map(i64::from), c.into()));
    bits v_dot2_u32_u16(_, a: [u16; 2], b: [u16; 2], c: u32) -> u32 =
        dot2_int(a.map(i64::from), b.map(i64::from), c.into()) as u32,
        clamp = sat_u32(dot2_int(a.map(i64::from), b.map(i64::from), c.into()) as u64);
    bits v_dot4_i32_i8(_, a: i32, b: i32, c: i32) -> i32 = dot4_int(a, b, c.into()) as i32,
        clamp = sat_i32(dot4_int(a, b, c.into()));
    bits v_dot4_u32_u8(_, a: u32, b: u32, c: u32) -> u32 = dot_unsigned::<8>(a, b, c) as u32,
        clamp = sat_u32(dot_unsigned::<8>(a, b, c));
    bits v_dot8_i32_i4(_, a: i32, b: i32, c: i32) -> i32 = dot8_int(a, b, c.into()) as i32,
        clamp = sat_i32(dot8_int(a, b, c.into()));
    bits v_dot8_u32_u4(_, a: u32, b: u32, c: u32) -> u32 = dot_unsigned::<4>(a, b, c) as u32,
        clamp = sat_u32(dot_unsigned::<4>(a, b, c));

    // The operands arrive as f32, whatever their format was.
    arith v_fma_mix_f32(_, a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    float v_fma_mixlo_f16(_, a: f32, b: f32, c: f32) -> Half =
        Half::from_f32(resolve3(a.mul_add(b, c), [a, b, c])),
        round = |cx| soft::convert(cx, resolve3(soft::fma(cx, a, b, c), [a, b, c]));
    float v_fma_mixhi_f16(_, a: f32, b: f32, c: f32) -> Half =
        Half::from_f32(resolve3(a.mul_add(b, c), [a, b, c])),
        round = |cx| soft::convert(cx, resolve3(soft::fma(cx, a, b, c), [a, b, c]));

    // One half of a 64-bit pair; the handler runs them on both.
    arith v_pk_fma_f32(_, a: f32, b: f32, c: f32) -> f32 = a.mul_add(b, c),
        round = |cx| soft::fma(cx, a, b, c);
    arith v_pk_mul_f32(_, a: f32, b: f32) -> f32 = a * b, round = |cx| soft::mul(cx, a, b);
    arith v_pk_add_f32(_, a: f32, b: f32) -> f32 = a + b, round = |cx| soft::add(cx, a, b);
    bits v_pk_mov_b32(_, a: u32) -> u32 = a;
};

/// The operations on pairs of dwords whose halves take the halves of their operands in order.
pub(super) const WHOLE_PAIR_CORES: &[Core] = cores! {
    arith v_pk_fma_f32(_, a: Wide<f32, 2>, b: Wide<f32, 2>, c: Wide<f32, 2>) -> Wide<f32, 2> =
        Wide([a.0[0].mul_add(b.0[0], c.0[0]), a.0[1].mul_add(b.0[1], c.0[1])]),
        round = |cx| Wide([0, 1].map(|row| soft::fma(cx, a.0[row], b.0[row], c.0[row])));
    arith v_pk_mul_f32(_, a: Wide<f32, 2>, b: Wide<f32, 2>) -> Wide<f32, 2> =
        Wide([a.0[0] * b.0[0], a.0[1] * b.0[1]]),
        round = |cx| Wide([0, 1].map(|row| soft::mul(cx, a.0[row], b.0[row])));
    arith v_pk_add_f32(_, a: Wide<f32, 2>, b: Wide<f32, 2>) -> Wide<f32, 2> =
        Wide([a.0[0] + b.0[0], a.0[1] + b.0[1]]),
        round = |cx| Wide([0, 1].map(|row| soft::add(cx, a.0[row], b.0[row])));
};

/// Nearest `i16`.
#[inline(always)]
pub(super) fn sat_i16(x: i32) -> i16 {
    x.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// Nearest `u16`.
#[inline(always)]
pub(super) fn sat_u16(x: u64) -> u16 {
    x.min(u16::MAX.into()) as u16
}
