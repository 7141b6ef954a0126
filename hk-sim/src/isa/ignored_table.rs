// Generated from the tables in `isa/` by `cargo run -p hk-sim --example gen_isa`; do not edit.

use super::ignored::{Ignored, Rows};
use super::{Format, Forms, Mods, Op};

/// Every field that hardware does not read.
pub(super) static IGNORED: [Ignored; 60] = [
    // the operation writes no register
    Ignored { format: Format::Sop1, form: 0, rows: Rows::NoDst, when: (0x0, 0x0), bits: 0x7f0000, value: 0x0 },
    // the operation reads no register
    Ignored { format: Format::Sop1, form: 0, rows: Rows::NoSrc(0), when: (0x0, 0x0), bits: 0xff, value: 0x0 },
    // the operation writes no register
    Ignored { format: Format::Sop2, form: 0, rows: Rows::NoDst, when: (0x0, 0x0), bits: 0x7f0000, value: 0x0 },
    // the value is the literal
    Ignored { format: Format::Sopk, form: 0, rows: Rows::Of(&[Op::s_setreg_imm32_b32]), when: (0x0, 0x0), bits: 0x7f0000, value: 0x0 },
    // four bits select operands
    Ignored { format: Format::Sopc, form: 0, rows: Rows::Of(&[Op::s_set_gpr_idx_on]), when: (0x0, 0x0), bits: 0xf000, value: 0x0 },
    // reserved
    Ignored { format: Format::Smem, form: 0, rows: Rows::All, when: (0x0, 0x0), bits: 0x1e000000000a000, value: 0x0 },
    // the offset is immediate alone
    Ignored { format: Format::Smem, form: 0, rows: Rows::All, when: (0x24000, 0x20000), bits: 0xfe00000000000000, value: 0x0 },
    // the offset is the register that bits 38:32 name
    Ignored { format: Format::Smem, form: 0, rows: Rows::All, when: (0x24000, 0x0), bits: 0xfe1fff8000000000, value: 0x0 },
    // the offset is the register that bits 63:57 name
    Ignored { format: Format::Smem, form: 0, rows: Rows::All, when: (0x24000, 0x4000), bits: 0x1fffff00000000, value: 0x0 },
    // the operation has no address
    Ignored { format: Format::Smem, form: 0, rows: Rows::NoSrc(0), when: (0x0, 0x0), bits: 0xfe1fffff0002403f, value: 0x0 },
    // the operation moves no data
    Ignored { format: Format::Smem, form: 0, rows: Rows::Of(&[Op::s_dcache_discard, Op::s_dcache_discard_x2, Op::s_dcache_inv, Op::s_dcache_inv_vol, Op::s_dcache_wb, Op::s_dcache_wb_vol]), when: (0x0, 0x0), bits: 0x1fc0, value: 0x0 },
    // the operation is not cached
    Ignored { format: Format::Smem, form: 0, rows: Rows::Of(&[Op::s_atc_probe, Op::s_atc_probe_buffer, Op::s_dcache_discard, Op::s_dcache_discard_x2, Op::s_dcache_inv, Op::s_dcache_inv_vol, Op::s_dcache_wb, Op::s_dcache_wb_vol, Op::s_memrealtime, Op::s_memtime]), when: (0x0, 0x0), bits: 0x10000, value: 0x0 },
    // the operation reads no register
    Ignored { format: Format::Vop1, form: 0, rows: Rows::NoSrc(0), when: (0x0, 0x0), bits: 0x1ff, value: 0x0 },
    // reserved
    Ignored { format: Format::Vop1, form: Forms::DPP, rows: Rows::All, when: (0x0, 0x0), bits: 0x6000000000000, value: 0x0 },
    Ignored { format: Format::Vop2, form: Forms::DPP, rows: Rows::All, when: (0x0, 0x0), bits: 0x6000000000000, value: 0x0 },
    // integers have no sign modifiers
    Ignored { format: Format::Vop2, form: Forms::DPP, rows: Rows::Of(&[Op::v_dot2c_i32_i16, Op::v_dot4c_i32_i8, Op::v_dot8c_i32_i4]), when: (0x0, 0x0), bits: 0xf0000000000000, value: 0x0 },
    // the exponent is an integer
    Ignored { format: Format::Vop2, form: Forms::DPP, rows: Rows::Of(&[Op::v_ldexp_f16]), when: (0x0, 0x0), bits: 0xc0000000000000, value: 0x0 },
    // reserved
    Ignored { format: Format::Vop1, form: Forms::SDWA, rows: Rows::All, when: (0x0, 0x0), bits: 0x4040000000000000, value: 0x0 },
    Ignored { format: Format::Vop2, form: Forms::SDWA, rows: Rows::All, when: (0x0, 0x0), bits: 0x4040000000000000, value: 0x0 },
    Ignored { format: Format::Vopc, form: Forms::SDWA, rows: Rows::All, when: (0x0, 0x0), bits: 0x4040000000000000, value: 0x0 },
    // the destination is vcc
    Ignored { format: Format::Vopc, form: Forms::SDWA, rows: Rows::All, when: (0x800000000000, 0x0), bits: 0x7f0000000000, value: 0x0 },
    // the destination is vcc also by its number
    Ignored { format: Format::Vopc, form: Forms::SDWA, rows: Rows::All, when: (0xff0000000000, 0xea0000000000), bits: 0xff0000000000, value: 0x0 },
    // these conversions take nothing but the source and its selection
    Ignored { format: Format::Vop1, form: Forms::SDWA, rows: Rows::Of(&[Op::v_cvt_f32_bf8, Op::v_cvt_f32_fp8, Op::v_cvt_pk_f32_bf8, Op::v_cvt_pk_f32_fp8]), when: (0x0, 0x0), bits: 0x381f0000000000, value: 0x60000000000 },
    // the operation has no source
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSrc(0), when: (0x0, 0x0), bits: 0x1ff00000000, value: 0x0 },
    // the operation has no second source
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSrc(1), when: (0x0, 0x0), bits: 0x3fe0000000000, value: 0x0 },
    // the operation has no third source
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSrc(2), when: (0x0, 0x0), bits: 0x7fc000000000000, value: 0x0 },
    Ignored { format: Format::Vop3b, form: 0, rows: Rows::NoSrc(2), when: (0x0, 0x0), bits: 0x7fc000000000000, value: 0x0 },
    Ignored { format: Format::Vop3p, form: 0, rows: Rows::NoSrc(2), when: (0x0, 0x0), bits: 0x7fc000000000000, value: 0x0 },
    // the source is not halved
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSel(0), when: (0x0, 0x0), bits: 0x800, value: 0x0 },
    // the source is not halved
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSel(1), when: (0x0, 0x0), bits: 0x1000, value: 0x0 },
    // the source is not halved
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSel(2), when: (0x0, 0x0), bits: 0x2000, value: 0x0 },
    // the destination is not halved
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::NoSel(3), when: (0x0, 0x0), bits: 0x4000, value: 0x0 },
    // packed bits have no sign modifiers
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::Of(&[Op::v_cvt_scalef32_f16_bf8, Op::v_cvt_scalef32_f16_fp8, Op::v_cvt_scalef32_f32_bf8, Op::v_cvt_scalef32_f32_fp8, Op::v_cvt_scalef32_pk_bf16_bf8, Op::v_cvt_scalef32_pk_bf16_fp4, Op::v_cvt_scalef32_pk_bf16_fp8, Op::v_cvt_scalef32_pk_f16_bf8, Op::v_cvt_scalef32_pk_f16_fp4, Op::v_cvt_scalef32_pk_f16_fp8, Op::v_cvt_scalef32_pk_f32_bf8, Op::v_cvt_scalef32_pk_f32_fp4, Op::v_cvt_scalef32_pk_f32_fp8]), when: (0x0, 0x0), bits: 0x2000000000000100, value: 0x0 },
    // integers have no sign modifiers
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::Of(&[Op::v_dot2c_i32_i16, Op::v_dot4c_i32_i8, Op::v_dot8c_i32_i4]), when: (0x0, 0x0), bits: 0x6000000000000300, value: 0x0 },
    // integers have no sign modifiers
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::Of(&[Op::v_ashr_pk_i8_i32, Op::v_ashr_pk_u8_i32]), when: (0x0, 0x0), bits: 0xe000000000000700, value: 0x0 },
    // the second source is an integer
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::Of(&[Op::v_cvt_pkaccum_u8_f32, Op::v_cvt_scalef32_sr_bf8_bf16, Op::v_cvt_scalef32_sr_bf8_f16, Op::v_cvt_scalef32_sr_bf8_f32, Op::v_cvt_scalef32_sr_fp8_bf16, Op::v_cvt_scalef32_sr_fp8_f16, Op::v_cvt_scalef32_sr_fp8_f32, Op::v_cvt_scalef32_sr_pk_fp4_bf16, Op::v_cvt_scalef32_sr_pk_fp4_f16, Op::v_cvt_scalef32_sr_pk_fp4_f32, Op::v_cvt_sr_bf16_f32, Op::v_cvt_sr_f16_f32, Op::v_ldexp_f16, Op::v_ldexp_f32, Op::v_ldexp_f64, Op::v_trig_preop_f64]), when: (0x0, 0x0), bits: 0x4000000000000200, value: 0x0 },
    // the later sources are integers
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::Of(&[Op::v_cvt_pk_u8_f32, Op::v_cvt_sr_bf8_f32, Op::v_cvt_sr_fp8_f32]), when: (0x0, 0x0), bits: 0xc000000000000600, value: 0x0 },
    // there is no third source
    Ignored { format: Format::Vop3a, form: 0, rows: Rows::Of(&[Op::v_cvt_scalef32_pk_fp4_bf16, Op::v_cvt_scalef32_pk_fp4_f16]), when: (0x0, 0x0), bits: 0x8000000000000400, value: 0x0 },
    // the operation has no third source
    Ignored { format: Format::Vop3p, form: 0, rows: Rows::NoSrc(2), when: (0x0, 0x0), bits: 0x4000, value: 0x4000 },
    // dot products read whole registers
    Ignored { format: Format::Vop3p, form: 0, rows: Rows::Of(&[Op::v_dot4_i32_i8, Op::v_dot4_u32_u8, Op::v_dot8_i32_i4, Op::v_dot8_u32_u4]), when: (0x0, 0x0), bits: 0x1800000000004000, value: 0x1800000000004000 },
    // dot products read whole registers
    Ignored { format: Format::Vop3p, form: 0, rows: Rows::Of(&[Op::v_dot2_f32_bf16, Op::v_dot2_f32_f16, Op::v_dot2_i32_i16, Op::v_dot2_u32_u16]), when: (0x0, 0x0), bits: 0x1800000000007800, value: 0x1800000000004000 },
    // scales have no sign modifiers
    Ignored { format: Format::Vop3p, form: 0, rows: Rows::Of(&[Op::v_mfma_ld_scale_b32]), when: (0x0, 0x0), bits: 0x6000000000000300, value: 0x0 },
    // a move has one source and the banks are fixed
    Ignored { format: Format::Mai, form: 0, rows: Rows::Of(&[Op::v_accvgpr_read_b32, Op::v_accvgpr_write_b32]), when: (0x0, 0x0), bits: 0x1ffffe000000c000, value: 0x1800000000004000 },
    // the prefix carries two scales and their bytes; vendors' libraries set bits 13 and 14
    Ignored { format: Format::Vop3px2, form: 0, rows: Rows::All, when: (0x0, 0x0), bits: 0xe7fc00000000e7ff, value: 0x0 },
    // these chips have no global data share
    Ignored { format: Format::Ds, form: 0, rows: Rows::Without(Mods::GDS), when: (0x0, 0x0), bits: 0x10000, value: 0x0 },
    // the operation stores no data
    Ignored { format: Format::Flat, form: 0, rows: Rows::NoSrc(1), when: (0x0, 0x0), bits: 0xff0000000000, value: 0x0 },
    Ignored { format: Format::Global, form: 0, rows: Rows::NoSrc(1), when: (0x0, 0x0), bits: 0xff0000000000, value: 0x0 },
    Ignored { format: Format::Scratch, form: 0, rows: Rows::NoSrc(1), when: (0x0, 0x0), bits: 0xff0000000000, value: 0x0 },
    // the operation returns nothing
    Ignored { format: Format::Flat, form: 0, rows: Rows::NoDst, when: (0x0, 0x0), bits: 0xff00000000000000, value: 0x0 },
    Ignored { format: Format::Global, form: 0, rows: Rows::NoDst, when: (0x0, 0x0), bits: 0xff00000000000000, value: 0x0 },
    Ignored { format: Format::Scratch, form: 0, rows: Rows::NoDst, when: (0x0, 0x0), bits: 0xff00000000000000, value: 0x0 },
    // the atomic returns nothing
    Ignored { format: Format::Flat, form: 0, rows: Rows::With(Mods::RET), when: (0x10000, 0x0), bits: 0xff00000000000000, value: 0x0 },
    Ignored { format: Format::Global, form: 0, rows: Rows::With(Mods::RET), when: (0x10000, 0x0), bits: 0xff00000000000000, value: 0x0 },
    // generic addresses take 12 bits of offset
    Ignored { format: Format::Flat, form: 0, rows: Rows::All, when: (0x0, 0x0), bits: 0x1000, value: 0x0 },
    // the address is scalar
    Ignored { format: Format::Scratch, form: 0, rows: Rows::All, when: (0x2000, 0x0), bits: 0xff00000000, value: 0x0 },
    // reserved
    Ignored { format: Format::Mubuf, form: 0, rows: Rows::All, when: (0x0, 0x0), bits: 0x60000002000000, value: 0x0 },
    // the address is scalar
    Ignored { format: Format::Mubuf, form: 0, rows: Rows::All, when: (0x3000, 0x0), bits: 0xff00000000, value: 0x0 },
    Ignored { format: Format::Mtbuf, form: 0, rows: Rows::All, when: (0x3000, 0x0), bits: 0xff00000000, value: 0x0 },
    // the data goes to LDS
    Ignored { format: Format::Mubuf, form: 0, rows: Rows::All, when: (0x10000, 0x10000), bits: 0xff0000000000, value: 0x0 },
    // the operation has no address
    Ignored { format: Format::Mubuf, form: 0, rows: Rows::Of(&[Op::buffer_inv, Op::buffer_wbl2]), when: (0x0, 0x0), bits: 0xff7fffff02020fff, value: 0x0 },
];
