//! Operations of VOP1: one source.

use super::half::Half;
use super::lane::{Brain, Core, cores};
use super::numeric::*;
use super::soft;
use crate::exec::float;
use crate::exec::transcendental::*;

/// Number of leading sign bits, or -1 if all bits are equal.
#[inline(always)]
fn sign_bits(x: i32) -> i32 {
    let zeros = (if x < 0 { !x } else { x }).leading_zeros() as i32;
    if zeros == 32 { -1 } else { zeros }
}

pub(super) const CORES: &[Core] = cores! {
    bits v_mov_b32(_, a: u32) -> u32 = a;
    bits v_mov_b64(_, a: u64) -> u64 = a;
    bits v_accvgpr_read_b32(_, a: u32) -> u32 = a;
    bits v_accvgpr_write_b32(_, a: u32) -> u32 = a;
    bits v_accvgpr_mov_b32(_, a: u32) -> u32 = a;
    bits v_not_b32(_, a: u32) -> u32 = !a;
    bits v_bfrev_b32(_, a: u32) -> u32 = a.reverse_bits();
    bits v_ffbh_u32(_, a: u32) -> u32 = if a == 0 { u32::MAX } else { a.leading_zeros() };
    bits v_ffbl_b32(_, a: u32) -> u32 = if a == 0 { u32::MAX } else { a.trailing_zeros() };
    bits v_ffbh_i32(_, a: i32) -> i32 = sign_bits(a);
    bits v_prng_b32(_, a: u32) -> u32 = float::next_random(a);
    bits v_sat_pk_u8_i16(_, a: [i16; 2]) -> u16 = {
        let [low, high] = a.map(|x| x.clamp(0, 255) as u16);
        low | high << 8
    };

    float v_cvt_i32_f32(_, a: f32) -> i32 = f32_to_i32(a);
    float v_cvt_u32_f32(_, a: f32) -> u32 = f32_to_u32(a);
    float v_cvt_i32_f64(_, a: f64) -> i32 = f64_to_i32(a);
    float v_cvt_u32_f64(_, a: f64) -> u32 = f64_to_u32(a);
    float v_cvt_rpi_i32_f32(_, a: f32) -> i32 = f64_to_i32((f64::from(a) + 0.5).floor());
    float v_cvt_flr_i32_f32(_, a: f32) -> i32 = f32_to_i32(a.floor());
    float v_cvt_f32_i32(_, a: i32) -> f32 = a as f32, round = |cx| soft::convert(cx, a);
    float v_cvt_f32_u32(_, a: u32) -> f32 = a as f32, round = |cx| soft::convert(cx, a);
    float v_cvt_f64_i32(_, a: i32) -> f64 = f64::from(a);
    float v_cvt_f64_u32(_, a: u32) -> f64 = f64::from(a);
    float v_cvt_f32_f64(_, a: f64) -> f32 = a as f32, round = |cx| soft::convert(cx, a);
    float v_cvt_f64_f32(_, a: f32) -> f64 = f64::from(a);
    float v_cvt_f16_f32(_, a: f32) -> Half = Half::from_f32(a), round = |cx| soft::convert(cx, a);
    float v_cvt_f32_f16(_, a: Half) -> f32 = a.to_f32();
    bits v_cvt_f32_bf16(_, a: Brain) -> f32 = a.to_f32();
    float v_cvt_f16_u16(_, a: u16) -> Half = Half::from_f32(f32::from(a)),
        round = |cx| soft::convert(cx, a);
    float v_cvt_f16_i16(_, a: i16) -> Half = Half::from_f32(f32::from(a)),
        round = |cx| soft::convert(cx, a);
    float v_cvt_u16_f16(_, a: Half) -> u16 = f32_to_i32(a.to_f32()).clamp(0, 0xffff) as u16;
    float v_cvt_i16_f16(_, a: Half) -> i16 =
        f32_to_i32(a.to_f32()).clamp(-0x8000, 0x7fff) as i16;
    float v_cvt_norm_i16_f16(_, a: Half) -> i16 = normalised(a.to_f32(), -1.0, 32767.0) as i16;
    float v_cvt_norm_u16_f16(_, a: Half) -> u16 = normalised(a.to_f32(), 0.0, 65535.0) as u16;
    bits v_cvt_off_f32_i4(_, a: u32) -> f32 = ((a << 28) as i32 >> 28) as f32 * 0.0625;
    bits v_cvt_f32_ubyte0(_, a: u32) -> f32 = (a & 0xff) as f32;
    bits v_cvt_f32_ubyte1(_, a: u32) -> f32 = (a >> 8 & 0xff) as f32;
    bits v_cvt_f32_ubyte2(_, a: u32) -> f32 = (a >> 16 & 0xff) as f32;
    bits v_cvt_f32_ubyte3(_, a: u32) -> f32 = (a >> 24) as f32;

    arith v_trunc_f32(_, a: f32) -> f32 = a.trunc();
    arith v_ceil_f32(_, a: f32) -> f32 = a.ceil();
    arith v_rndne_f32(_, a: f32) -> f32 = a.round_ties_even();
    arith v_floor_f32(_, a: f32) -> f32 = a.floor();
    arith v_fract_f32(_, a: f32) -> f32 = fract32(a);
    arith v_trunc_f64(_, a: f64) -> f64 = a.trunc();
    arith v_ceil_f64(_, a: f64) -> f64 = a.ceil();
    arith v_rndne_f64(_, a: f64) -> f64 = a.round_ties_even();
    arith v_floor_f64(_, a: f64) -> f64 = a.floor();
    arith v_fract_f64(_, a: f64) -> f64 = fract64(a);
    arith v_trunc_f16(_, a: Half) -> Half = a.via_f32(f32::trunc);
    arith v_ceil_f16(_, a: Half) -> Half = a.via_f32(f32::ceil);
    arith v_rndne_f16(_, a: Half) -> Half = a.via_f32(f32::round_ties_even);
    arith v_floor_f16(_, a: Half) -> Half = a.via_f32(f32::floor);
    arith v_fract_f16(_, a: Half) -> Half = {
        let fract = a.via_f32(|x| x - x.floor());
        if fract == Half(0x3c00) { Half(0x3bff) } else { fract }
    };

    arith v_rcp_f32(_, a: f32) -> f32 = rcp_f32(a), rough = rough::rcp(a);
    arith v_rcp_iflag_f32(_, a: f32) -> f32 = rcp_f32(a), rough = rough::rcp(a);
    arith v_sqrt_f32(_, a: f32) -> f32 = sqrt_f32(a), rough = rough::root(a);
    arith v_rsq_f32(_, a: f32) -> f32 = rsq_f32(a), rough = rough::rsqrt(a), near = Rsq;
    arith v_exp_f32(_, a: f32) -> f32 = exp2_f32(a), rough = rough::exp(a), near = Exp2;
    arith v_log_f32(_, a: f32) -> f32 = log2_f32(a), rough = rough::log(a), near = Log2;
    arith v_exp_legacy_f32(_, a: f32) -> f32 = exp2_f32(a), rough = rough::exp(a), near = Exp2;
    arith v_log_legacy_f32(_, a: f32) -> f32 = log2_f32(a), rough = rough::log(a), near = Log2;
    arith v_sin_f32(_, a: f32) -> f32 = sin_f32(a), near = Sin;
    arith v_cos_f32(_, a: f32) -> f32 = cos_f32(a), near = Cos;
    arith v_rcp_f64(_, a: f64) -> f64 = rcp_f64(a);
    arith v_sqrt_f64(_, a: f64) -> f64 = sqrt_f64(a);
    arith v_rsq_f64(_, a: f64) -> f64 = rsq_f64(a);
    arith v_rcp_f16(_, a: Half) -> Half = Half(rcp_f16(a.0));
    arith v_sqrt_f16(_, a: Half) -> Half = Half(sqrt_f16(a.0));
    arith v_rsq_f16(_, a: Half) -> Half = Half(rsq_f16(a.0));
    arith v_exp_f16(_, a: Half) -> Half = Half(exp2_f16(a.0));
    arith v_log_f16(_, a: Half) -> Half = Half(log2_f16(a.0));
    arith v_sin_f16(_, a: Half) -> Half = Half(sin_f16(a.0));
    arith v_cos_f16(_, a: Half) -> Half = Half(cos_f16(a.0));

    float v_frexp_exp_i32_f32(_, a: f32) -> i32 = frexp32(a).0;
    float v_frexp_mant_f32(_, a: f32) -> f32 = frexp32(a).1;
    float v_frexp_exp_i32_f64(_, a: f64) -> i32 = frexp64(a).0;
    float v_frexp_mant_f64(_, a: f64) -> f64 = frexp64(a).1;
    float v_frexp_exp_i16_f16(_, a: Half) -> i16 = frexp32(a.to_f32()).0 as i16;
    float v_frexp_mant_f16(_, a: Half) -> Half = Half::from_f32(frexp32(a.to_f32()).1);
};
