// Generated from the tables in `isa/` by `cargo run -p hk-sim --example gen_isa`; do not edit.

// In this order: operands of rows, operations by name, encodings by format and opcode.

use super::Format;
use super::info::{
    ArchSet, Class, Elem, Forms, Imm, Implicit, Mods, OpInfo, Slot, mods, operations, row, slot,
};

const NO: Slot = Slot::NONE;
const NM: Mods = Mods::NONE;
const A_B32: Slot = slot(Class::Agpr, Elem::B32, 1, 1, false);
const C_B32X16: Slot = slot(Class::VectorOrConst, Elem::B32, 16, 16, false);
const C_B32X32: Slot = slot(Class::VectorOrConst, Elem::B32, 32, 32, false);
const C_B32X4: Slot = slot(Class::VectorOrConst, Elem::B32, 4, 4, false);
const C_F32X16: Slot = slot(Class::VectorOrConst, Elem::F32, 16, 16, false);
const C_F32X32: Slot = slot(Class::VectorOrConst, Elem::F32, 32, 32, false);
const C_F32X4: Slot = slot(Class::VectorOrConst, Elem::F32, 4, 4, false);
const C_F64: Slot = slot(Class::VectorOrConst, Elem::F64, 1, 2, false);
const C_F64X4: Slot = slot(Class::VectorOrConst, Elem::F64, 4, 8, false);
const D_B32: Slot = slot(Class::ScalarReg, Elem::B32, 1, 1, false);
const D_B32X16: Slot = slot(Class::ScalarReg, Elem::B32, 16, 16, false);
const D_B32X4: Slot = slot(Class::ScalarReg, Elem::B32, 4, 4, false);
const D_B32X8: Slot = slot(Class::ScalarReg, Elem::B32, 8, 8, false);
const D_B64: Slot = slot(Class::ScalarReg, Elem::B64, 1, 2, false);
const K_B32: Slot = slot(Class::Literal, Elem::B32, 1, 1, false);
const K_F16: Slot = slot(Class::Literal, Elem::F16, 1, 1, false);
const K_F32: Slot = slot(Class::Literal, Elem::F32, 1, 1, false);
const N_B32: Slot = slot(Class::ScalarNamed, Elem::B32, 1, 1, false);
const N_B64: Slot = slot(Class::ScalarNamed, Elem::B64, 1, 2, false);
const RW_D_B32: Slot = slot(Class::ScalarReg, Elem::B32, 1, 1, true);
const RW_D_B64: Slot = slot(Class::ScalarReg, Elem::B64, 1, 2, true);
const RW_V_B32: Slot = slot(Class::Vgpr, Elem::B32, 1, 1, true);
const RW_V_F16: Slot = slot(Class::Vgpr, Elem::F16, 1, 1, true);
const RW_V_F16X2: Slot = slot(Class::Vgpr, Elem::F16, 2, 1, true);
const RW_V_F32: Slot = slot(Class::Vgpr, Elem::F32, 1, 1, true);
const RW_V_F64: Slot = slot(Class::Vgpr, Elem::F64, 1, 2, true);
const RW_W_B32X16: Slot = slot(Class::VgprOrAgpr, Elem::B32, 16, 16, true);
const RW_W_B32X4: Slot = slot(Class::VgprOrAgpr, Elem::B32, 4, 4, true);
const RW_W_F32X16: Slot = slot(Class::VgprOrAgpr, Elem::F32, 16, 16, true);
const RW_W_F32X4: Slot = slot(Class::VgprOrAgpr, Elem::F32, 4, 4, true);
const R_B32: Slot = slot(Class::Address, Elem::B32, 1, 1, false);
const R_B32X4: Slot = slot(Class::Address, Elem::B32, 4, 4, false);
const R_B64: Slot = slot(Class::Address, Elem::B64, 1, 2, false);
const S_B32: Slot = slot(Class::Scalar, Elem::B32, 1, 1, false);
const S_B64: Slot = slot(Class::Scalar, Elem::B64, 1, 2, false);
const VCC_B64: Slot = slot(Class::Vcc, Elem::B64, 1, 2, false);
const V_B16: Slot = slot(Class::Vgpr, Elem::B16, 1, 1, false);
const V_B16X2: Slot = slot(Class::Vgpr, Elem::B16, 2, 1, false);
const V_B32: Slot = slot(Class::Vgpr, Elem::B32, 1, 1, false);
const V_B32X2: Slot = slot(Class::Vgpr, Elem::B32, 2, 2, false);
const V_B32X4: Slot = slot(Class::Vgpr, Elem::B32, 4, 4, false);
const V_B32X6: Slot = slot(Class::Vgpr, Elem::B32, 6, 6, false);
const V_B64: Slot = slot(Class::Vgpr, Elem::B64, 1, 2, false);
const V_BF16: Slot = slot(Class::Vgpr, Elem::Bf16, 1, 1, false);
const V_BF16X2: Slot = slot(Class::Vgpr, Elem::Bf16, 2, 1, false);
const V_BF16X32: Slot = slot(Class::Vgpr, Elem::Bf16, 32, 16, false);
const V_F16: Slot = slot(Class::Vgpr, Elem::F16, 1, 1, false);
const V_F16X2: Slot = slot(Class::Vgpr, Elem::F16, 2, 1, false);
const V_F16X32: Slot = slot(Class::Vgpr, Elem::F16, 32, 16, false);
const V_F32: Slot = slot(Class::Vgpr, Elem::F32, 1, 1, false);
const V_F32X16: Slot = slot(Class::Vgpr, Elem::F32, 16, 16, false);
const V_F32X2: Slot = slot(Class::Vgpr, Elem::F32, 2, 2, false);
const V_F32X32: Slot = slot(Class::Vgpr, Elem::F32, 32, 32, false);
const V_F64: Slot = slot(Class::Vgpr, Elem::F64, 1, 2, false);
const W_B32: Slot = slot(Class::VgprOrAgpr, Elem::B32, 1, 1, false);
const W_B32X16: Slot = slot(Class::VgprOrAgpr, Elem::B32, 16, 16, false);
const W_B32X2: Slot = slot(Class::VgprOrAgpr, Elem::B32, 2, 2, false);
const W_B32X3: Slot = slot(Class::VgprOrAgpr, Elem::B32, 3, 3, false);
const W_B32X32: Slot = slot(Class::VgprOrAgpr, Elem::B32, 32, 32, false);
const W_B32X4: Slot = slot(Class::VgprOrAgpr, Elem::B32, 4, 4, false);
const W_B32X8: Slot = slot(Class::VgprOrAgpr, Elem::B32, 8, 8, false);
const W_B64: Slot = slot(Class::VgprOrAgpr, Elem::B64, 1, 2, false);
const W_BF16X16: Slot = slot(Class::VgprOrAgpr, Elem::Bf16, 16, 8, false);
const W_BF16X4: Slot = slot(Class::VgprOrAgpr, Elem::Bf16, 4, 2, false);
const W_BF16X8: Slot = slot(Class::VgprOrAgpr, Elem::Bf16, 8, 4, false);
const W_BF8X16: Slot = slot(Class::VgprOrAgpr, Elem::Bf8, 16, 4, false);
const W_BF8X32: Slot = slot(Class::VgprOrAgpr, Elem::Bf8, 32, 8, false);
const W_BF8X8: Slot = slot(Class::VgprOrAgpr, Elem::Bf8, 8, 2, false);
const W_F16X16: Slot = slot(Class::VgprOrAgpr, Elem::F16, 16, 8, false);
const W_F16X4: Slot = slot(Class::VgprOrAgpr, Elem::F16, 4, 2, false);
const W_F16X8: Slot = slot(Class::VgprOrAgpr, Elem::F16, 8, 4, false);
const W_F32: Slot = slot(Class::VgprOrAgpr, Elem::F32, 1, 1, false);
const W_F32X16: Slot = slot(Class::VgprOrAgpr, Elem::F32, 16, 16, false);
const W_F32X32: Slot = slot(Class::VgprOrAgpr, Elem::F32, 32, 32, false);
const W_F32X4: Slot = slot(Class::VgprOrAgpr, Elem::F32, 4, 4, false);
const W_F64: Slot = slot(Class::VgprOrAgpr, Elem::F64, 1, 2, false);
const W_F64X4: Slot = slot(Class::VgprOrAgpr, Elem::F64, 4, 8, false);
const W_FP8X16: Slot = slot(Class::VgprOrAgpr, Elem::Fp8, 16, 4, false);
const W_FP8X32: Slot = slot(Class::VgprOrAgpr, Elem::Fp8, 32, 8, false);
const W_FP8X8: Slot = slot(Class::VgprOrAgpr, Elem::Fp8, 8, 2, false);
const W_XF32X2: Slot = slot(Class::VgprOrAgpr, Elem::Xf32, 2, 2, false);
const X_B16: Slot = slot(Class::Any, Elem::B16, 1, 1, false);
const X_B16X2: Slot = slot(Class::Any, Elem::B16, 2, 1, false);
const X_B32: Slot = slot(Class::Any, Elem::B32, 1, 1, false);
const X_B32X2: Slot = slot(Class::Any, Elem::B32, 2, 2, false);
const X_B64: Slot = slot(Class::Any, Elem::B64, 1, 2, false);
const X_BF16: Slot = slot(Class::Any, Elem::Bf16, 1, 1, false);
const X_BF16X2: Slot = slot(Class::Any, Elem::Bf16, 2, 1, false);
const X_F16: Slot = slot(Class::Any, Elem::F16, 1, 1, false);
const X_F16X2: Slot = slot(Class::Any, Elem::F16, 2, 1, false);
const X_F32: Slot = slot(Class::Any, Elem::F32, 1, 1, false);
const X_F32X2: Slot = slot(Class::Any, Elem::F32, 2, 2, false);
const X_F64: Slot = slot(Class::Any, Elem::F64, 1, 2, false);

operations! {
    buffer_atomic_add
    buffer_atomic_add_f32
    buffer_atomic_add_f64
    buffer_atomic_add_x2
    buffer_atomic_and
    buffer_atomic_and_x2
    buffer_atomic_cmpswap
    buffer_atomic_cmpswap_x2
    buffer_atomic_dec
    buffer_atomic_dec_x2
    buffer_atomic_inc
    buffer_atomic_inc_x2
    buffer_atomic_max_f64
    buffer_atomic_min_f64
    buffer_atomic_or
    buffer_atomic_or_x2
    buffer_atomic_pk_add_bf16
    buffer_atomic_pk_add_f16
    buffer_atomic_smax
    buffer_atomic_smax_x2
    buffer_atomic_smin
    buffer_atomic_smin_x2
    buffer_atomic_sub
    buffer_atomic_sub_x2
    buffer_atomic_swap
    buffer_atomic_swap_x2
    buffer_atomic_umax
    buffer_atomic_umax_x2
    buffer_atomic_umin
    buffer_atomic_umin_x2
    buffer_atomic_xor
    buffer_atomic_xor_x2
    buffer_inv
    buffer_load_dword
    buffer_load_dwordx2
    buffer_load_dwordx3
    buffer_load_dwordx4
    buffer_load_format_d16_hi_x
    buffer_load_format_d16_x
    buffer_load_format_d16_xy
    buffer_load_format_d16_xyz
    buffer_load_format_d16_xyzw
    buffer_load_format_x
    buffer_load_format_xy
    buffer_load_format_xyz
    buffer_load_format_xyzw
    buffer_load_sbyte
    buffer_load_sbyte_d16
    buffer_load_sbyte_d16_hi
    buffer_load_short_d16
    buffer_load_short_d16_hi
    buffer_load_sshort
    buffer_load_ubyte
    buffer_load_ubyte_d16
    buffer_load_ubyte_d16_hi
    buffer_load_ushort
    buffer_store_byte
    buffer_store_byte_d16_hi
    buffer_store_dword
    buffer_store_dwordx2
    buffer_store_dwordx3
    buffer_store_dwordx4
    buffer_store_format_d16_hi_x
    buffer_store_format_d16_x
    buffer_store_format_d16_xy
    buffer_store_format_d16_xyz
    buffer_store_format_d16_xyzw
    buffer_store_format_x
    buffer_store_format_xy
    buffer_store_format_xyz
    buffer_store_format_xyzw
    buffer_store_short
    buffer_store_short_d16_hi
    buffer_wbl2
    ds_add_f32
    ds_add_f64
    ds_add_rtn_f32
    ds_add_rtn_f64
    ds_add_rtn_u32
    ds_add_rtn_u64
    ds_add_u32
    ds_add_u64
    ds_and_b32
    ds_and_b64
    ds_and_rtn_b32
    ds_and_rtn_b64
    ds_append
    ds_bpermute_b32
    ds_cmpst_b32
    ds_cmpst_b64
    ds_cmpst_f32
    ds_cmpst_f64
    ds_cmpst_rtn_b32
    ds_cmpst_rtn_b64
    ds_cmpst_rtn_f32
    ds_cmpst_rtn_f64
    ds_condxchg32_rtn_b64
    ds_consume
    ds_dec_rtn_u32
    ds_dec_rtn_u64
    ds_dec_u32
    ds_dec_u64
    ds_gws_barrier
    ds_gws_init
    ds_gws_sema_br
    ds_gws_sema_p
    ds_gws_sema_release_all
    ds_gws_sema_v
    ds_inc_rtn_u32
    ds_inc_rtn_u64
    ds_inc_u32
    ds_inc_u64
    ds_max_f32
    ds_max_f64
    ds_max_i32
    ds_max_i64
    ds_max_rtn_f32
    ds_max_rtn_f64
    ds_max_rtn_i32
    ds_max_rtn_i64
    ds_max_rtn_u32
    ds_max_rtn_u64
    ds_max_u32
    ds_max_u64
    ds_min_f32
    ds_min_f64
    ds_min_i32
    ds_min_i64
    ds_min_rtn_f32
    ds_min_rtn_f64
    ds_min_rtn_i32
    ds_min_rtn_i64
    ds_min_rtn_u32
    ds_min_rtn_u64
    ds_min_u32
    ds_min_u64
    ds_mskor_b32
    ds_mskor_b64
    ds_mskor_rtn_b32
    ds_mskor_rtn_b64
    ds_nop
    ds_or_b32
    ds_or_b64
    ds_or_rtn_b32
    ds_or_rtn_b64
    ds_permute_b32
    ds_pk_add_bf16
    ds_pk_add_f16
    ds_pk_add_rtn_bf16
    ds_pk_add_rtn_f16
    ds_read2_b32
    ds_read2_b64
    ds_read2st64_b32
    ds_read2st64_b64
    ds_read_addtid_b32
    ds_read_b128
    ds_read_b32
    ds_read_b64
    ds_read_b64_tr_b16
    ds_read_b64_tr_b4
    ds_read_b64_tr_b8
    ds_read_b96
    ds_read_b96_tr_b6
    ds_read_i16
    ds_read_i8
    ds_read_i8_d16
    ds_read_i8_d16_hi
    ds_read_u16
    ds_read_u16_d16
    ds_read_u16_d16_hi
    ds_read_u8
    ds_read_u8_d16
    ds_read_u8_d16_hi
    ds_rsub_rtn_u32
    ds_rsub_rtn_u64
    ds_rsub_u32
    ds_rsub_u64
    ds_sub_rtn_u32
    ds_sub_rtn_u64
    ds_sub_u32
    ds_sub_u64
    ds_swizzle_b32
    ds_wrap_rtn_b32
    ds_write2_b32
    ds_write2_b64
    ds_write2st64_b32
    ds_write2st64_b64
    ds_write_addtid_b32
    ds_write_b128
    ds_write_b16
    ds_write_b16_d16_hi
    ds_write_b32
    ds_write_b64
    ds_write_b8
    ds_write_b8_d16_hi
    ds_write_b96
    ds_wrxchg2_rtn_b32
    ds_wrxchg2_rtn_b64
    ds_wrxchg2st64_rtn_b32
    ds_wrxchg2st64_rtn_b64
    ds_wrxchg_rtn_b32
    ds_wrxchg_rtn_b64
    ds_xor_b32
    ds_xor_b64
    ds_xor_rtn_b32
    ds_xor_rtn_b64
    flat_atomic_add
    flat_atomic_add_f32
    flat_atomic_add_f64
    flat_atomic_add_x2
    flat_atomic_and
    flat_atomic_and_x2
    flat_atomic_cmpswap
    flat_atomic_cmpswap_x2
    flat_atomic_dec
    flat_atomic_dec_x2
    flat_atomic_inc
    flat_atomic_inc_x2
    flat_atomic_max_f64
    flat_atomic_min_f64
    flat_atomic_or
    flat_atomic_or_x2
    flat_atomic_pk_add_bf16
    flat_atomic_pk_add_f16
    flat_atomic_smax
    flat_atomic_smax_x2
    flat_atomic_smin
    flat_atomic_smin_x2
    flat_atomic_sub
    flat_atomic_sub_x2
    flat_atomic_swap
    flat_atomic_swap_x2
    flat_atomic_umax
    flat_atomic_umax_x2
    flat_atomic_umin
    flat_atomic_umin_x2
    flat_atomic_xor
    flat_atomic_xor_x2
    flat_load_dword
    flat_load_dwordx2
    flat_load_dwordx3
    flat_load_dwordx4
    flat_load_sbyte
    flat_load_sbyte_d16
    flat_load_sbyte_d16_hi
    flat_load_short_d16
    flat_load_short_d16_hi
    flat_load_sshort
    flat_load_ubyte
    flat_load_ubyte_d16
    flat_load_ubyte_d16_hi
    flat_load_ushort
    flat_store_byte
    flat_store_byte_d16_hi
    flat_store_dword
    flat_store_dwordx2
    flat_store_dwordx3
    flat_store_dwordx4
    flat_store_short
    flat_store_short_d16_hi
    global_atomic_add
    global_atomic_add_f32
    global_atomic_add_f64
    global_atomic_add_x2
    global_atomic_and
    global_atomic_and_x2
    global_atomic_cmpswap
    global_atomic_cmpswap_x2
    global_atomic_dec
    global_atomic_dec_x2
    global_atomic_inc
    global_atomic_inc_x2
    global_atomic_max_f64
    global_atomic_min_f64
    global_atomic_or
    global_atomic_or_x2
    global_atomic_pk_add_bf16
    global_atomic_pk_add_f16
    global_atomic_smax
    global_atomic_smax_x2
    global_atomic_smin
    global_atomic_smin_x2
    global_atomic_sub
    global_atomic_sub_x2
    global_atomic_swap
    global_atomic_swap_x2
    global_atomic_umax
    global_atomic_umax_x2
    global_atomic_umin
    global_atomic_umin_x2
    global_atomic_xor
    global_atomic_xor_x2
    global_load_dword
    global_load_dwordx2
    global_load_dwordx3
    global_load_dwordx4
    global_load_lds_dword
    global_load_lds_dwordx3
    global_load_lds_dwordx4
    global_load_lds_sbyte
    global_load_lds_sshort
    global_load_lds_ubyte
    global_load_lds_ushort
    global_load_sbyte
    global_load_sbyte_d16
    global_load_sbyte_d16_hi
    global_load_short_d16
    global_load_short_d16_hi
    global_load_sshort
    global_load_ubyte
    global_load_ubyte_d16
    global_load_ubyte_d16_hi
    global_load_ushort
    global_store_byte
    global_store_byte_d16_hi
    global_store_dword
    global_store_dwordx2
    global_store_dwordx3
    global_store_dwordx4
    global_store_short
    global_store_short_d16_hi
    s_abs_i32
    s_absdiff_i32
    s_add_i32
    s_add_u32
    s_addc_u32
    s_addk_i32
    s_and_b32
    s_and_b64
    s_and_saveexec_b64
    s_andn1_saveexec_b64
    s_andn1_wrexec_b64
    s_andn2_b32
    s_andn2_b64
    s_andn2_saveexec_b64
    s_andn2_wrexec_b64
    s_ashr_i32
    s_ashr_i64
    s_atc_probe
    s_atc_probe_buffer
    s_atomic_add
    s_atomic_add_x2
    s_atomic_and
    s_atomic_and_x2
    s_atomic_cmpswap
    s_atomic_cmpswap_x2
    s_atomic_dec
    s_atomic_dec_x2
    s_atomic_inc
    s_atomic_inc_x2
    s_atomic_or
    s_atomic_or_x2
    s_atomic_smax
    s_atomic_smax_x2
    s_atomic_smin
    s_atomic_smin_x2
    s_atomic_sub
    s_atomic_sub_x2
    s_atomic_swap
    s_atomic_swap_x2
    s_atomic_umax
    s_atomic_umax_x2
    s_atomic_umin
    s_atomic_umin_x2
    s_atomic_xor
    s_atomic_xor_x2
    s_barrier
    s_bcnt0_i32_b32
    s_bcnt0_i32_b64
    s_bcnt1_i32_b32
    s_bcnt1_i32_b64
    s_bfe_i32
    s_bfe_i64
    s_bfe_u32
    s_bfe_u64
    s_bfm_b32
    s_bfm_b64
    s_bitcmp0_b32
    s_bitcmp0_b64
    s_bitcmp1_b32
    s_bitcmp1_b64
    s_bitreplicate_b64_b32
    s_bitset0_b32
    s_bitset0_b64
    s_bitset1_b32
    s_bitset1_b64
    s_branch
    s_brev_b32
    s_brev_b64
    s_buffer_atomic_add
    s_buffer_atomic_add_x2
    s_buffer_atomic_and
    s_buffer_atomic_and_x2
    s_buffer_atomic_cmpswap
    s_buffer_atomic_cmpswap_x2
    s_buffer_atomic_dec
    s_buffer_atomic_dec_x2
    s_buffer_atomic_inc
    s_buffer_atomic_inc_x2
    s_buffer_atomic_or
    s_buffer_atomic_or_x2
    s_buffer_atomic_smax
    s_buffer_atomic_smax_x2
    s_buffer_atomic_smin
    s_buffer_atomic_smin_x2
    s_buffer_atomic_sub
    s_buffer_atomic_sub_x2
    s_buffer_atomic_swap
    s_buffer_atomic_swap_x2
    s_buffer_atomic_umax
    s_buffer_atomic_umax_x2
    s_buffer_atomic_umin
    s_buffer_atomic_umin_x2
    s_buffer_atomic_xor
    s_buffer_atomic_xor_x2
    s_buffer_load_dword
    s_buffer_load_dwordx16
    s_buffer_load_dwordx2
    s_buffer_load_dwordx4
    s_buffer_load_dwordx8
    s_buffer_store_dword
    s_buffer_store_dwordx2
    s_buffer_store_dwordx4
    s_call_b64
    s_cbranch_cdbgsys
    s_cbranch_cdbgsys_and_user
    s_cbranch_cdbgsys_or_user
    s_cbranch_cdbguser
    s_cbranch_execnz
    s_cbranch_execz
    s_cbranch_g_fork
    s_cbranch_i_fork
    s_cbranch_join
    s_cbranch_scc0
    s_cbranch_scc1
    s_cbranch_vccnz
    s_cbranch_vccz
    s_cmov_b32
    s_cmov_b64
    s_cmovk_i32
    s_cmp_eq_i32
    s_cmp_eq_u32
    s_cmp_eq_u64
    s_cmp_ge_i32
    s_cmp_ge_u32
    s_cmp_gt_i32
    s_cmp_gt_u32
    s_cmp_le_i32
    s_cmp_le_u32
    s_cmp_lg_i32
    s_cmp_lg_u32
    s_cmp_lg_u64
    s_cmp_lt_i32
    s_cmp_lt_u32
    s_cmpk_eq_i32
    s_cmpk_eq_u32
    s_cmpk_ge_i32
    s_cmpk_ge_u32
    s_cmpk_gt_i32
    s_cmpk_gt_u32
    s_cmpk_le_i32
    s_cmpk_le_u32
    s_cmpk_lg_i32
    s_cmpk_lg_u32
    s_cmpk_lt_i32
    s_cmpk_lt_u32
    s_cselect_b32
    s_cselect_b64
    s_dcache_discard
    s_dcache_discard_x2
    s_dcache_inv
    s_dcache_inv_vol
    s_dcache_wb
    s_dcache_wb_vol
    s_decperflevel
    s_endpgm
    s_endpgm_ordered_ps_done
    s_endpgm_saved
    s_ff0_i32_b32
    s_ff0_i32_b64
    s_ff1_i32_b32
    s_ff1_i32_b64
    s_flbit_i32
    s_flbit_i32_b32
    s_flbit_i32_b64
    s_flbit_i32_i64
    s_getpc_b64
    s_getreg_b32
    s_icache_inv
    s_incperflevel
    s_load_dword
    s_load_dwordx16
    s_load_dwordx2
    s_load_dwordx4
    s_load_dwordx8
    s_lshl1_add_u32
    s_lshl2_add_u32
    s_lshl3_add_u32
    s_lshl4_add_u32
    s_lshl_b32
    s_lshl_b64
    s_lshr_b32
    s_lshr_b64
    s_max_i32
    s_max_u32
    s_memrealtime
    s_memtime
    s_min_i32
    s_min_u32
    s_mov_b32
    s_mov_b64
    s_movk_i32
    s_movreld_b32
    s_movreld_b64
    s_movrels_b32
    s_movrels_b64
    s_mul_hi_i32
    s_mul_hi_u32
    s_mul_i32
    s_mulk_i32
    s_nand_b32
    s_nand_b64
    s_nand_saveexec_b64
    s_nop
    s_nor_b32
    s_nor_b64
    s_nor_saveexec_b64
    s_not_b32
    s_not_b64
    s_or_b32
    s_or_b64
    s_or_saveexec_b64
    s_orn1_saveexec_b64
    s_orn2_b32
    s_orn2_b64
    s_orn2_saveexec_b64
    s_pack_hh_b32_b16
    s_pack_lh_b32_b16
    s_pack_ll_b32_b16
    s_quadmask_b32
    s_quadmask_b64
    s_rfe_b64
    s_rfe_restore_b64
    s_scratch_load_dword
    s_scratch_load_dwordx2
    s_scratch_load_dwordx4
    s_scratch_store_dword
    s_scratch_store_dwordx2
    s_scratch_store_dwordx4
    s_sendmsg
    s_sendmsghalt
    s_set_gpr_idx_idx
    s_set_gpr_idx_mode
    s_set_gpr_idx_off
    s_set_gpr_idx_on
    s_set_valu_coexec_mode
    s_sethalt
    s_setkill
    s_setpc_b64
    s_setprio
    s_setreg_b32
    s_setreg_imm32_b32
    s_setvskip
    s_sext_i32_i16
    s_sext_i32_i8
    s_sleep
    s_store_dword
    s_store_dwordx2
    s_store_dwordx4
    s_sub_i32
    s_sub_u32
    s_subb_u32
    s_swappc_b64
    s_trap
    s_ttracedata
    s_waitcnt
    s_wakeup
    s_wqm_b32
    s_wqm_b64
    s_xnor_b32
    s_xnor_b64
    s_xnor_saveexec_b64
    s_xor_b32
    s_xor_b64
    s_xor_saveexec_b64
    scratch_load_dword
    scratch_load_dwordx2
    scratch_load_dwordx3
    scratch_load_dwordx4
    scratch_load_lds_dword
    scratch_load_lds_sbyte
    scratch_load_lds_sshort
    scratch_load_lds_ubyte
    scratch_load_lds_ushort
    scratch_load_sbyte
    scratch_load_sbyte_d16
    scratch_load_sbyte_d16_hi
    scratch_load_short_d16
    scratch_load_short_d16_hi
    scratch_load_sshort
    scratch_load_ubyte
    scratch_load_ubyte_d16
    scratch_load_ubyte_d16_hi
    scratch_load_ushort
    scratch_store_byte
    scratch_store_byte_d16_hi
    scratch_store_dword
    scratch_store_dwordx2
    scratch_store_dwordx3
    scratch_store_dwordx4
    scratch_store_short
    scratch_store_short_d16_hi
    tbuffer_load_format_d16_x
    tbuffer_load_format_d16_xy
    tbuffer_load_format_d16_xyz
    tbuffer_load_format_d16_xyzw
    tbuffer_load_format_x
    tbuffer_load_format_xy
    tbuffer_load_format_xyz
    tbuffer_load_format_xyzw
    tbuffer_store_format_d16_x
    tbuffer_store_format_d16_xy
    tbuffer_store_format_d16_xyz
    tbuffer_store_format_d16_xyzw
    tbuffer_store_format_x
    tbuffer_store_format_xy
    tbuffer_store_format_xyz
    tbuffer_store_format_xyzw
    v_accvgpr_mov_b32
    v_accvgpr_read_b32
    v_accvgpr_write_b32
    v_add3_u32
    v_add_co_u32
    v_add_f16
    v_add_f32
    v_add_f64
    v_add_i16
    v_add_i32
    v_add_lshl_u32
    v_add_u16
    v_add_u32
    v_addc_co_u32
    v_alignbit_b32
    v_alignbyte_b32
    v_and_b32
    v_and_or_b32
    v_ashr_pk_i8_i32
    v_ashr_pk_u8_i32
    v_ashrrev_i16
    v_ashrrev_i32
    v_ashrrev_i64
    v_bcnt_u32_b32
    v_bfe_i32
    v_bfe_u32
    v_bfi_b32
    v_bfm_b32
    v_bfrev_b32
    v_bitop3_b16
    v_bitop3_b32
    v_ceil_f16
    v_ceil_f32
    v_ceil_f64
    v_clrexcp
    v_cmp_class_f16
    v_cmp_class_f32
    v_cmp_class_f64
    v_cmp_eq_f16
    v_cmp_eq_f32
    v_cmp_eq_f64
    v_cmp_eq_i16
    v_cmp_eq_i32
    v_cmp_eq_i64
    v_cmp_eq_u16
    v_cmp_eq_u32
    v_cmp_eq_u64
    v_cmp_f_f16
    v_cmp_f_f32
    v_cmp_f_f64
    v_cmp_f_i16
    v_cmp_f_i32
    v_cmp_f_i64
    v_cmp_f_u16
    v_cmp_f_u32
    v_cmp_f_u64
    v_cmp_ge_f16
    v_cmp_ge_f32
    v_cmp_ge_f64
    v_cmp_ge_i16
    v_cmp_ge_i32
    v_cmp_ge_i64
    v_cmp_ge_u16
    v_cmp_ge_u32
    v_cmp_ge_u64
    v_cmp_gt_f16
    v_cmp_gt_f32
    v_cmp_gt_f64
    v_cmp_gt_i16
    v_cmp_gt_i32
    v_cmp_gt_i64
    v_cmp_gt_u16
    v_cmp_gt_u32
    v_cmp_gt_u64
    v_cmp_le_f16
    v_cmp_le_f32
    v_cmp_le_f64
    v_cmp_le_i16
    v_cmp_le_i32
    v_cmp_le_i64
    v_cmp_le_u16
    v_cmp_le_u32
    v_cmp_le_u64
    v_cmp_lg_f16
    v_cmp_lg_f32
    v_cmp_lg_f64
    v_cmp_lt_f16
    v_cmp_lt_f32
    v_cmp_lt_f64
    v_cmp_lt_i16
    v_cmp_lt_i32
    v_cmp_lt_i64
    v_cmp_lt_u16
    v_cmp_lt_u32
    v_cmp_lt_u64
    v_cmp_ne_i16
    v_cmp_ne_i32
    v_cmp_ne_i64
    v_cmp_ne_u16
    v_cmp_ne_u32
    v_cmp_ne_u64
    v_cmp_neq_f16
    v_cmp_neq_f32
    v_cmp_neq_f64
    v_cmp_nge_f16
    v_cmp_nge_f32
    v_cmp_nge_f64
    v_cmp_ngt_f16
    v_cmp_ngt_f32
    v_cmp_ngt_f64
    v_cmp_nle_f16
    v_cmp_nle_f32
    v_cmp_nle_f64
    v_cmp_nlg_f16
    v_cmp_nlg_f32
    v_cmp_nlg_f64
    v_cmp_nlt_f16
    v_cmp_nlt_f32
    v_cmp_nlt_f64
    v_cmp_o_f16
    v_cmp_o_f32
    v_cmp_o_f64
    v_cmp_t_i16
    v_cmp_t_i32
    v_cmp_t_i64
    v_cmp_t_u16
    v_cmp_t_u32
    v_cmp_t_u64
    v_cmp_tru_f16
    v_cmp_tru_f32
    v_cmp_tru_f64
    v_cmp_u_f16
    v_cmp_u_f32
    v_cmp_u_f64
    v_cmpx_class_f16
    v_cmpx_class_f32
    v_cmpx_class_f64
    v_cmpx_eq_f16
    v_cmpx_eq_f32
    v_cmpx_eq_f64
    v_cmpx_eq_i16
    v_cmpx_eq_i32
    v_cmpx_eq_i64
    v_cmpx_eq_u16
    v_cmpx_eq_u32
    v_cmpx_eq_u64
    v_cmpx_f_f16
    v_cmpx_f_f32
    v_cmpx_f_f64
    v_cmpx_f_i16
    v_cmpx_f_i32
    v_cmpx_f_i64
    v_cmpx_f_u16
    v_cmpx_f_u32
    v_cmpx_f_u64
    v_cmpx_ge_f16
    v_cmpx_ge_f32
    v_cmpx_ge_f64
    v_cmpx_ge_i16
    v_cmpx_ge_i32
    v_cmpx_ge_i64
    v_cmpx_ge_u16
    v_cmpx_ge_u32
    v_cmpx_ge_u64
    v_cmpx_gt_f16
    v_cmpx_gt_f32
    v_cmpx_gt_f64
    v_cmpx_gt_i16
    v_cmpx_gt_i32
    v_cmpx_gt_i64
    v_cmpx_gt_u16
    v_cmpx_gt_u32
    v_cmpx_gt_u64
    v_cmpx_le_f16
    v_cmpx_le_f32
    v_cmpx_le_f64
    v_cmpx_le_i16
    v_cmpx_le_i32
    v_cmpx_le_i64
    v_cmpx_le_u16
    v_cmpx_le_u32
    v_cmpx_le_u64
    v_cmpx_lg_f16
    v_cmpx_lg_f32
    v_cmpx_lg_f64
    v_cmpx_lt_f16
    v_cmpx_lt_f32
    v_cmpx_lt_f64
    v_cmpx_lt_i16
    v_cmpx_lt_i32
    v_cmpx_lt_i64
    v_cmpx_lt_u16
    v_cmpx_lt_u32
    v_cmpx_lt_u64
    v_cmpx_ne_i16
    v_cmpx_ne_i32
    v_cmpx_ne_i64
    v_cmpx_ne_u16
    v_cmpx_ne_u32
    v_cmpx_ne_u64
    v_cmpx_neq_f16
    v_cmpx_neq_f32
    v_cmpx_neq_f64
    v_cmpx_nge_f16
    v_cmpx_nge_f32
    v_cmpx_nge_f64
    v_cmpx_ngt_f16
    v_cmpx_ngt_f32
    v_cmpx_ngt_f64
    v_cmpx_nle_f16
    v_cmpx_nle_f32
    v_cmpx_nle_f64
    v_cmpx_nlg_f16
    v_cmpx_nlg_f32
    v_cmpx_nlg_f64
    v_cmpx_nlt_f16
    v_cmpx_nlt_f32
    v_cmpx_nlt_f64
    v_cmpx_o_f16
    v_cmpx_o_f32
    v_cmpx_o_f64
    v_cmpx_t_i16
    v_cmpx_t_i32
    v_cmpx_t_i64
    v_cmpx_t_u16
    v_cmpx_t_u32
    v_cmpx_t_u64
    v_cmpx_tru_f16
    v_cmpx_tru_f32
    v_cmpx_tru_f64
    v_cmpx_u_f16
    v_cmpx_u_f32
    v_cmpx_u_f64
    v_cndmask_b32
    v_cos_f16
    v_cos_f32
    v_cubeid_f32
    v_cubema_f32
    v_cubesc_f32
    v_cubetc_f32
    v_cvt_f16_f32
    v_cvt_f16_i16
    v_cvt_f16_u16
    v_cvt_f32_bf16
    v_cvt_f32_bf8
    v_cvt_f32_f16
    v_cvt_f32_f64
    v_cvt_f32_fp8
    v_cvt_f32_i32
    v_cvt_f32_u32
    v_cvt_f32_ubyte0
    v_cvt_f32_ubyte1
    v_cvt_f32_ubyte2
    v_cvt_f32_ubyte3
    v_cvt_f64_f32
    v_cvt_f64_i32
    v_cvt_f64_u32
    v_cvt_flr_i32_f32
    v_cvt_i16_f16
    v_cvt_i32_f32
    v_cvt_i32_f64
    v_cvt_norm_i16_f16
    v_cvt_norm_u16_f16
    v_cvt_off_f32_i4
    v_cvt_pk_bf16_f32
    v_cvt_pk_bf8_f32
    v_cvt_pk_f16_f32
    v_cvt_pk_f32_bf8
    v_cvt_pk_f32_fp8
    v_cvt_pk_fp8_f32
    v_cvt_pk_i16_i32
    v_cvt_pk_u16_u32
    v_cvt_pk_u8_f32
    v_cvt_pkaccum_u8_f32
    v_cvt_pknorm_i16_f16
    v_cvt_pknorm_i16_f32
    v_cvt_pknorm_u16_f16
    v_cvt_pknorm_u16_f32
    v_cvt_pkrtz_f16_f32
    v_cvt_rpi_i32_f32
    v_cvt_scalef32_2xpk16_bf6_f32
    v_cvt_scalef32_2xpk16_fp6_f32
    v_cvt_scalef32_f16_bf8
    v_cvt_scalef32_f16_fp8
    v_cvt_scalef32_f32_bf8
    v_cvt_scalef32_f32_fp8
    v_cvt_scalef32_pk32_bf16_bf6
    v_cvt_scalef32_pk32_bf16_fp6
    v_cvt_scalef32_pk32_bf6_bf16
    v_cvt_scalef32_pk32_bf6_f16
    v_cvt_scalef32_pk32_f16_bf6
    v_cvt_scalef32_pk32_f16_fp6
    v_cvt_scalef32_pk32_f32_bf6
    v_cvt_scalef32_pk32_f32_fp6
    v_cvt_scalef32_pk32_fp6_bf16
    v_cvt_scalef32_pk32_fp6_f16
    v_cvt_scalef32_pk_bf16_bf8
    v_cvt_scalef32_pk_bf16_fp4
    v_cvt_scalef32_pk_bf16_fp8
    v_cvt_scalef32_pk_bf8_bf16
    v_cvt_scalef32_pk_bf8_f16
    v_cvt_scalef32_pk_bf8_f32
    v_cvt_scalef32_pk_f16_bf8
    v_cvt_scalef32_pk_f16_fp4
    v_cvt_scalef32_pk_f16_fp8
    v_cvt_scalef32_pk_f32_bf8
    v_cvt_scalef32_pk_f32_fp4
    v_cvt_scalef32_pk_f32_fp8
    v_cvt_scalef32_pk_fp4_bf16
    v_cvt_scalef32_pk_fp4_f16
    v_cvt_scalef32_pk_fp4_f32
    v_cvt_scalef32_pk_fp8_bf16
    v_cvt_scalef32_pk_fp8_f16
    v_cvt_scalef32_pk_fp8_f32
    v_cvt_scalef32_sr_bf8_bf16
    v_cvt_scalef32_sr_bf8_f16
    v_cvt_scalef32_sr_bf8_f32
    v_cvt_scalef32_sr_fp8_bf16
    v_cvt_scalef32_sr_fp8_f16
    v_cvt_scalef32_sr_fp8_f32
    v_cvt_scalef32_sr_pk32_bf6_bf16
    v_cvt_scalef32_sr_pk32_bf6_f16
    v_cvt_scalef32_sr_pk32_bf6_f32
    v_cvt_scalef32_sr_pk32_fp6_bf16
    v_cvt_scalef32_sr_pk32_fp6_f16
    v_cvt_scalef32_sr_pk32_fp6_f32
    v_cvt_scalef32_sr_pk_fp4_bf16
    v_cvt_scalef32_sr_pk_fp4_f16
    v_cvt_scalef32_sr_pk_fp4_f32
    v_cvt_sr_bf16_f32
    v_cvt_sr_bf8_f32
    v_cvt_sr_f16_f32
    v_cvt_sr_fp8_f32
    v_cvt_u16_f16
    v_cvt_u32_f32
    v_cvt_u32_f64
    v_div_fixup_f16
    v_div_fixup_f32
    v_div_fixup_f64
    v_div_fixup_legacy_f16
    v_div_fmas_f32
    v_div_fmas_f64
    v_div_scale_f32
    v_div_scale_f64
    v_dot2_f32_bf16
    v_dot2_f32_f16
    v_dot2_i32_i16
    v_dot2_u32_u16
    v_dot2c_f32_bf16
    v_dot2c_f32_f16
    v_dot2c_i32_i16
    v_dot4_i32_i8
    v_dot4_u32_u8
    v_dot4c_i32_i8
    v_dot8_i32_i4
    v_dot8_u32_u4
    v_dot8c_i32_i4
    v_exp_f16
    v_exp_f32
    v_exp_legacy_f32
    v_ffbh_i32
    v_ffbh_u32
    v_ffbl_b32
    v_floor_f16
    v_floor_f32
    v_floor_f64
    v_fma_f16
    v_fma_f32
    v_fma_f64
    v_fma_legacy_f16
    v_fma_mix_f32
    v_fma_mixhi_f16
    v_fma_mixlo_f16
    v_fmaak_f32
    v_fmac_f32
    v_fmac_f64
    v_fmamk_f32
    v_fract_f16
    v_fract_f32
    v_fract_f64
    v_frexp_exp_i16_f16
    v_frexp_exp_i32_f32
    v_frexp_exp_i32_f64
    v_frexp_mant_f16
    v_frexp_mant_f32
    v_frexp_mant_f64
    v_ldexp_f16
    v_ldexp_f32
    v_ldexp_f64
    v_lerp_u8
    v_log_f16
    v_log_f32
    v_log_legacy_f32
    v_lshl_add_u32
    v_lshl_add_u64
    v_lshl_or_b32
    v_lshlrev_b16
    v_lshlrev_b32
    v_lshlrev_b64
    v_lshrrev_b16
    v_lshrrev_b32
    v_lshrrev_b64
    v_mac_f16
    v_mad_f16
    v_mad_i16
    v_mad_i32_i16
    v_mad_i32_i24
    v_mad_i64_i32
    v_mad_legacy_f16
    v_mad_legacy_i16
    v_mad_legacy_u16
    v_mad_u16
    v_mad_u32_u16
    v_mad_u32_u24
    v_mad_u64_u32
    v_madak_f16
    v_madmk_f16
    v_max3_f16
    v_max3_f32
    v_max3_i16
    v_max3_i32
    v_max3_u16
    v_max3_u32
    v_max_f16
    v_max_f32
    v_max_f64
    v_max_i16
    v_max_i32
    v_max_u16
    v_max_u32
    v_maximum3_f32
    v_mbcnt_hi_u32_b32
    v_mbcnt_lo_u32_b32
    v_med3_f16
    v_med3_f32
    v_med3_i16
    v_med3_i32
    v_med3_u16
    v_med3_u32
    v_mfma_f32_16x16x128_f8f6f4
    v_mfma_f32_16x16x16_bf16
    v_mfma_f32_16x16x16_f16
    v_mfma_f32_16x16x1_4b_f32
    v_mfma_f32_16x16x32_bf16
    v_mfma_f32_16x16x32_bf8_bf8
    v_mfma_f32_16x16x32_bf8_fp8
    v_mfma_f32_16x16x32_f16
    v_mfma_f32_16x16x32_fp8_bf8
    v_mfma_f32_16x16x32_fp8_fp8
    v_mfma_f32_16x16x4_4b_bf16
    v_mfma_f32_16x16x4_4b_f16
    v_mfma_f32_16x16x4_f32
    v_mfma_f32_16x16x8_xf32
    v_mfma_f32_32x32x16_bf16
    v_mfma_f32_32x32x16_bf8_bf8
    v_mfma_f32_32x32x16_bf8_fp8
    v_mfma_f32_32x32x16_f16
    v_mfma_f32_32x32x16_fp8_bf8
    v_mfma_f32_32x32x16_fp8_fp8
    v_mfma_f32_32x32x1_2b_f32
    v_mfma_f32_32x32x2_f32
    v_mfma_f32_32x32x4_2b_bf16
    v_mfma_f32_32x32x4_2b_f16
    v_mfma_f32_32x32x4_xf32
    v_mfma_f32_32x32x64_f8f6f4
    v_mfma_f32_32x32x8_bf16
    v_mfma_f32_32x32x8_f16
    v_mfma_f32_4x4x1_16b_f32
    v_mfma_f32_4x4x4_16b_bf16
    v_mfma_f32_4x4x4_16b_f16
    v_mfma_f64_16x16x4_f64
    v_mfma_f64_4x4x4_4b_f64
    v_mfma_i32_16x16x32_i8
    v_mfma_i32_16x16x4_4b_i8
    v_mfma_i32_16x16x64_i8
    v_mfma_i32_32x32x16_i8
    v_mfma_i32_32x32x32_i8
    v_mfma_i32_32x32x4_2b_i8
    v_mfma_i32_4x4x4_16b_i8
    v_mfma_ld_scale_b32
    v_mfma_scale_f32_16x16x128_f8f6f4
    v_mfma_scale_f32_32x32x64_f8f6f4
    v_min3_f16
    v_min3_f32
    v_min3_i16
    v_min3_i32
    v_min3_u16
    v_min3_u32
    v_min_f16
    v_min_f32
    v_min_f64
    v_min_i16
    v_min_i32
    v_min_u16
    v_min_u32
    v_minimum3_f32
    v_mov_b32
    v_mov_b64
    v_mqsad_pk_u16_u8
    v_mqsad_u32_u8
    v_msad_u8
    v_mul_f16
    v_mul_f32
    v_mul_f64
    v_mul_hi_i32
    v_mul_hi_i32_i24
    v_mul_hi_u32
    v_mul_hi_u32_u24
    v_mul_i32_i24
    v_mul_legacy_f32
    v_mul_lo_u16
    v_mul_lo_u32
    v_mul_u32_u24
    v_nop
    v_not_b32
    v_or3_b32
    v_or_b32
    v_pack_b32_f16
    v_perm_b32
    v_permlane16_swap_b32
    v_permlane32_swap_b32
    v_pk_add_f16
    v_pk_add_f32
    v_pk_add_i16
    v_pk_add_u16
    v_pk_ashrrev_i16
    v_pk_fma_f16
    v_pk_fma_f32
    v_pk_fmac_f16
    v_pk_lshlrev_b16
    v_pk_lshrrev_b16
    v_pk_mad_i16
    v_pk_mad_u16
    v_pk_max_f16
    v_pk_max_i16
    v_pk_max_u16
    v_pk_maximum3_f16
    v_pk_min_f16
    v_pk_min_i16
    v_pk_min_u16
    v_pk_minimum3_f16
    v_pk_mov_b32
    v_pk_mul_f16
    v_pk_mul_f32
    v_pk_mul_lo_u16
    v_pk_sub_i16
    v_pk_sub_u16
    v_prng_b32
    v_qsad_pk_u16_u8
    v_rcp_f16
    v_rcp_f32
    v_rcp_f64
    v_rcp_iflag_f32
    v_readfirstlane_b32
    v_readlane_b32
    v_rndne_f16
    v_rndne_f32
    v_rndne_f64
    v_rsq_f16
    v_rsq_f32
    v_rsq_f64
    v_sad_hi_u8
    v_sad_u16
    v_sad_u32
    v_sad_u8
    v_sat_pk_u8_i16
    v_screen_partition_4se_b32
    v_sin_f16
    v_sin_f32
    v_smfmac_f32_16x16x128_bf8_bf8
    v_smfmac_f32_16x16x128_bf8_fp8
    v_smfmac_f32_16x16x128_fp8_bf8
    v_smfmac_f32_16x16x128_fp8_fp8
    v_smfmac_f32_16x16x32_bf16
    v_smfmac_f32_16x16x32_f16
    v_smfmac_f32_16x16x64_bf16
    v_smfmac_f32_16x16x64_bf8_bf8
    v_smfmac_f32_16x16x64_bf8_fp8
    v_smfmac_f32_16x16x64_f16
    v_smfmac_f32_16x16x64_fp8_bf8
    v_smfmac_f32_16x16x64_fp8_fp8
    v_smfmac_f32_32x32x16_bf16
    v_smfmac_f32_32x32x16_f16
    v_smfmac_f32_32x32x32_bf16
    v_smfmac_f32_32x32x32_bf8_bf8
    v_smfmac_f32_32x32x32_bf8_fp8
    v_smfmac_f32_32x32x32_f16
    v_smfmac_f32_32x32x32_fp8_bf8
    v_smfmac_f32_32x32x32_fp8_fp8
    v_smfmac_f32_32x32x64_bf8_bf8
    v_smfmac_f32_32x32x64_bf8_fp8
    v_smfmac_f32_32x32x64_fp8_bf8
    v_smfmac_f32_32x32x64_fp8_fp8
    v_smfmac_i32_16x16x128_i8
    v_smfmac_i32_16x16x64_i8
    v_smfmac_i32_32x32x32_i8
    v_smfmac_i32_32x32x64_i8
    v_sqrt_f16
    v_sqrt_f32
    v_sqrt_f64
    v_sub_co_u32
    v_sub_f16
    v_sub_f32
    v_sub_i16
    v_sub_i32
    v_sub_u16
    v_sub_u32
    v_subb_co_u32
    v_subbrev_co_u32
    v_subrev_co_u32
    v_subrev_f16
    v_subrev_f32
    v_subrev_u16
    v_subrev_u32
    v_swap_b32
    v_trig_preop_f64
    v_trunc_f16
    v_trunc_f32
    v_trunc_f64
    v_writelane_b32
    v_xad_u32
    v_xnor_b32
    v_xor_b32
}

/// Every encoding of every operation, by format and opcode.
pub static OPS: [OpInfo; 1595] = [
    // Sop2
    row(Op::s_add_u32, Format::Sop2, 0, "s_add_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_sub_u32, Format::Sop2, 1, "s_sub_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_add_i32, Format::Sop2, 2, "s_add_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_sub_i32, Format::Sop2, 3, "s_sub_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_addc_u32, Format::Sop2, 4, "s_addc_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::SCC_READ),
    row(Op::s_subb_u32, Format::Sop2, 5, "s_subb_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::SCC_READ),
    row(Op::s_min_i32, Format::Sop2, 6, "s_min_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_min_u32, Format::Sop2, 7, "s_min_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_max_i32, Format::Sop2, 8, "s_max_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_max_u32, Format::Sop2, 9, "s_max_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cselect_b32, Format::Sop2, 10, "s_cselect_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_READ),
    row(Op::s_cselect_b64, Format::Sop2, 11, "s_cselect_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_READ),
    row(Op::s_and_b32, Format::Sop2, 12, "s_and_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_and_b64, Format::Sop2, 13, "s_and_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_or_b32, Format::Sop2, 14, "s_or_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_or_b64, Format::Sop2, 15, "s_or_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_xor_b32, Format::Sop2, 16, "s_xor_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_xor_b64, Format::Sop2, 17, "s_xor_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_andn2_b32, Format::Sop2, 18, "s_andn2_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_andn2_b64, Format::Sop2, 19, "s_andn2_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_orn2_b32, Format::Sop2, 20, "s_orn2_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_orn2_b64, Format::Sop2, 21, "s_orn2_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_nand_b32, Format::Sop2, 22, "s_nand_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_nand_b64, Format::Sop2, 23, "s_nand_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_nor_b32, Format::Sop2, 24, "s_nor_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_nor_b64, Format::Sop2, 25, "s_nor_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_xnor_b32, Format::Sop2, 26, "s_xnor_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_xnor_b64, Format::Sop2, 27, "s_xnor_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshl_b32, Format::Sop2, 28, "s_lshl_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshl_b64, Format::Sop2, 29, "s_lshl_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshr_b32, Format::Sop2, 30, "s_lshr_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshr_b64, Format::Sop2, 31, "s_lshr_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_ashr_i32, Format::Sop2, 32, "s_ashr_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_ashr_i64, Format::Sop2, 33, "s_ashr_i64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bfm_b32, Format::Sop2, 34, "s_bfm_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bfm_b64, Format::Sop2, 35, "s_bfm_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_mul_i32, Format::Sop2, 36, "s_mul_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bfe_u32, Format::Sop2, 37, "s_bfe_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bfe_i32, Format::Sop2, 38, "s_bfe_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bfe_u64, Format::Sop2, 39, "s_bfe_u64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bfe_i64, Format::Sop2, 40, "s_bfe_i64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cbranch_g_fork, Format::Sop2, 41, "s_cbranch_g_fork", ArchSet::BOTH, 0, [NO, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_absdiff_i32, Format::Sop2, 42, "s_absdiff_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_rfe_restore_b64, Format::Sop2, 43, "s_rfe_restore_b64", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_mul_hi_u32, Format::Sop2, 44, "s_mul_hi_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_mul_hi_i32, Format::Sop2, 45, "s_mul_hi_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_lshl1_add_u32, Format::Sop2, 46, "s_lshl1_add_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshl2_add_u32, Format::Sop2, 47, "s_lshl2_add_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshl3_add_u32, Format::Sop2, 48, "s_lshl3_add_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_lshl4_add_u32, Format::Sop2, 49, "s_lshl4_add_u32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_pack_ll_b32_b16, Format::Sop2, 50, "s_pack_ll_b32_b16", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_pack_lh_b32_b16, Format::Sop2, 51, "s_pack_lh_b32_b16", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_pack_hh_b32_b16, Format::Sop2, 52, "s_pack_hh_b32_b16", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    // Sopk
    row(Op::s_movk_i32, Format::Sopk, 0, "s_movk_i32", ArchSet::BOTH, 0, [D_B32, NO], [NO, NO, NO, NO, NO], Imm::Hex, NM, 0),
    row(Op::s_cmovk_i32, Format::Sopk, 1, "s_cmovk_i32", ArchSet::BOTH, 0, [D_B32, NO], [NO, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_READ),
    row(Op::s_cmpk_eq_i32, Format::Sopk, 2, "s_cmpk_eq_i32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_lg_i32, Format::Sopk, 3, "s_cmpk_lg_i32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_gt_i32, Format::Sopk, 4, "s_cmpk_gt_i32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_ge_i32, Format::Sopk, 5, "s_cmpk_ge_i32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_lt_i32, Format::Sopk, 6, "s_cmpk_lt_i32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_le_i32, Format::Sopk, 7, "s_cmpk_le_i32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_eq_u32, Format::Sopk, 8, "s_cmpk_eq_u32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_lg_u32, Format::Sopk, 9, "s_cmpk_lg_u32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_gt_u32, Format::Sopk, 10, "s_cmpk_gt_u32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_ge_u32, Format::Sopk, 11, "s_cmpk_ge_u32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_lt_u32, Format::Sopk, 12, "s_cmpk_lt_u32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_cmpk_le_u32, Format::Sopk, 13, "s_cmpk_le_u32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_addk_i32, Format::Sopk, 14, "s_addk_i32", ArchSet::BOTH, 0, [RW_D_B32, NO], [NO, NO, NO, NO, NO], Imm::Hex, NM, Implicit::SCC_WRITE),
    row(Op::s_mulk_i32, Format::Sopk, 15, "s_mulk_i32", ArchSet::BOTH, 0, [RW_D_B32, NO], [NO, NO, NO, NO, NO], Imm::Hex, NM, 0),
    row(Op::s_cbranch_i_fork, Format::Sopk, 16, "s_cbranch_i_fork", ArchSet::BOTH, 0, [NO, NO], [D_B64, NO, NO, NO, NO], Imm::Branch, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_getreg_b32, Format::Sopk, 17, "s_getreg_b32", ArchSet::BOTH, 0, [D_B32, NO], [NO, NO, NO, NO, NO], Imm::HwReg, NM, 0),
    row(Op::s_setreg_b32, Format::Sopk, 18, "s_setreg_b32", ArchSet::BOTH, 0, [NO, NO], [D_B32, NO, NO, NO, NO], Imm::HwReg, NM, 0),
    row(Op::s_setreg_imm32_b32, Format::Sopk, 20, "s_setreg_imm32_b32", ArchSet::BOTH, 0, [NO, NO], [K_B32, NO, NO, NO, NO], Imm::HwReg, NM, 0),
    row(Op::s_call_b64, Format::Sopk, 21, "s_call_b64", ArchSet::BOTH, 0, [D_B64, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, 0),
    // Sop1
    row(Op::s_mov_b32, Format::Sop1, 0, "s_mov_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_mov_b64, Format::Sop1, 1, "s_mov_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_cmov_b32, Format::Sop1, 2, "s_cmov_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_READ),
    row(Op::s_cmov_b64, Format::Sop1, 3, "s_cmov_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_READ),
    row(Op::s_not_b32, Format::Sop1, 4, "s_not_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_not_b64, Format::Sop1, 5, "s_not_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_wqm_b32, Format::Sop1, 6, "s_wqm_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_wqm_b64, Format::Sop1, 7, "s_wqm_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_brev_b32, Format::Sop1, 8, "s_brev_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_brev_b64, Format::Sop1, 9, "s_brev_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bcnt0_i32_b32, Format::Sop1, 10, "s_bcnt0_i32_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bcnt0_i32_b64, Format::Sop1, 11, "s_bcnt0_i32_b64", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bcnt1_i32_b32, Format::Sop1, 12, "s_bcnt1_i32_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bcnt1_i32_b64, Format::Sop1, 13, "s_bcnt1_i32_b64", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_ff0_i32_b32, Format::Sop1, 14, "s_ff0_i32_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_ff0_i32_b64, Format::Sop1, 15, "s_ff0_i32_b64", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_ff1_i32_b32, Format::Sop1, 16, "s_ff1_i32_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_ff1_i32_b64, Format::Sop1, 17, "s_ff1_i32_b64", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_flbit_i32_b32, Format::Sop1, 18, "s_flbit_i32_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_flbit_i32_b64, Format::Sop1, 19, "s_flbit_i32_b64", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_flbit_i32, Format::Sop1, 20, "s_flbit_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_flbit_i32_i64, Format::Sop1, 21, "s_flbit_i32_i64", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_sext_i32_i8, Format::Sop1, 22, "s_sext_i32_i8", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_sext_i32_i16, Format::Sop1, 23, "s_sext_i32_i16", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bitset0_b32, Format::Sop1, 24, "s_bitset0_b32", ArchSet::BOTH, Forms::LIT, [RW_D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bitset0_b64, Format::Sop1, 25, "s_bitset0_b64", ArchSet::BOTH, Forms::LIT, [RW_D_B64, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bitset1_b32, Format::Sop1, 26, "s_bitset1_b32", ArchSet::BOTH, Forms::LIT, [RW_D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_bitset1_b64, Format::Sop1, 27, "s_bitset1_b64", ArchSet::BOTH, Forms::LIT, [RW_D_B64, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_getpc_b64, Format::Sop1, 28, "s_getpc_b64", ArchSet::BOTH, 0, [D_B64, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_setpc_b64, Format::Sop1, 29, "s_setpc_b64", ArchSet::BOTH, 0, [NO, NO], [D_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_swappc_b64, Format::Sop1, 30, "s_swappc_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_rfe_b64, Format::Sop1, 31, "s_rfe_b64", ArchSet::BOTH, 0, [NO, NO], [D_B64, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_and_saveexec_b64, Format::Sop1, 32, "s_and_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_or_saveexec_b64, Format::Sop1, 33, "s_or_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_xor_saveexec_b64, Format::Sop1, 34, "s_xor_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_andn2_saveexec_b64, Format::Sop1, 35, "s_andn2_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_orn2_saveexec_b64, Format::Sop1, 36, "s_orn2_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_nand_saveexec_b64, Format::Sop1, 37, "s_nand_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_nor_saveexec_b64, Format::Sop1, 38, "s_nor_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_xnor_saveexec_b64, Format::Sop1, 39, "s_xnor_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_quadmask_b32, Format::Sop1, 40, "s_quadmask_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_quadmask_b64, Format::Sop1, 41, "s_quadmask_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_movrels_b32, Format::Sop1, 42, "s_movrels_b32", ArchSet::BOTH, 0, [D_B32, NO], [N_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::M0_READ),
    row(Op::s_movrels_b64, Format::Sop1, 43, "s_movrels_b64", ArchSet::BOTH, 0, [D_B64, NO], [D_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::M0_READ),
    row(Op::s_movreld_b32, Format::Sop1, 44, "s_movreld_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::M0_READ),
    row(Op::s_movreld_b64, Format::Sop1, 45, "s_movreld_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::M0_READ),
    row(Op::s_cbranch_join, Format::Sop1, 46, "s_cbranch_join", ArchSet::BOTH, 0, [NO, NO], [N_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_abs_i32, Format::Sop1, 48, "s_abs_i32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_set_gpr_idx_idx, Format::Sop1, 50, "s_set_gpr_idx_idx", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::M0_READ | Implicit::M0_WRITE),
    row(Op::s_andn1_saveexec_b64, Format::Sop1, 51, "s_andn1_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_orn1_saveexec_b64, Format::Sop1, 52, "s_orn1_saveexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_andn1_wrexec_b64, Format::Sop1, 53, "s_andn1_wrexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_andn2_wrexec_b64, Format::Sop1, 54, "s_andn2_wrexec_b64", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE | Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::s_bitreplicate_b64_b32, Format::Sop1, 55, "s_bitreplicate_b64_b32", ArchSet::BOTH, Forms::LIT, [D_B64, NO], [S_B32, NO, NO, NO, NO], Imm::None, NM, 0),
    // Sopc
    row(Op::s_cmp_eq_i32, Format::Sopc, 0, "s_cmp_eq_i32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_lg_i32, Format::Sopc, 1, "s_cmp_lg_i32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_gt_i32, Format::Sopc, 2, "s_cmp_gt_i32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_ge_i32, Format::Sopc, 3, "s_cmp_ge_i32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_lt_i32, Format::Sopc, 4, "s_cmp_lt_i32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_le_i32, Format::Sopc, 5, "s_cmp_le_i32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_eq_u32, Format::Sopc, 6, "s_cmp_eq_u32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_lg_u32, Format::Sopc, 7, "s_cmp_lg_u32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_gt_u32, Format::Sopc, 8, "s_cmp_gt_u32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_ge_u32, Format::Sopc, 9, "s_cmp_ge_u32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_lt_u32, Format::Sopc, 10, "s_cmp_lt_u32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_le_u32, Format::Sopc, 11, "s_cmp_le_u32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bitcmp0_b32, Format::Sopc, 12, "s_bitcmp0_b32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bitcmp1_b32, Format::Sopc, 13, "s_bitcmp1_b32", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bitcmp0_b64, Format::Sopc, 14, "s_bitcmp0_b64", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_bitcmp1_b64, Format::Sopc, 15, "s_bitcmp1_b64", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B64, S_B32, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_setvskip, Format::Sopc, 16, "s_setvskip", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_set_gpr_idx_on, Format::Sopc, 17, "s_set_gpr_idx_on", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B32, NO, NO, NO, NO], Imm::GprIdx, NM, Implicit::M0_READ | Implicit::M0_WRITE),
    row(Op::s_cmp_eq_u64, Format::Sopc, 18, "s_cmp_eq_u64", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    row(Op::s_cmp_lg_u64, Format::Sopc, 19, "s_cmp_lg_u64", ArchSet::BOTH, Forms::LIT, [NO, NO], [S_B64, S_B64, NO, NO, NO], Imm::None, NM, Implicit::SCC_WRITE),
    // Sopp
    row(Op::s_nop, Format::Sopp, 0, "s_nop", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_endpgm, Format::Sopp, 1, "s_endpgm", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Optional, NM, 0),
    row(Op::s_branch, Format::Sopp, 2, "s_branch", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, 0),
    row(Op::s_wakeup, Format::Sopp, 3, "s_wakeup", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_cbranch_scc0, Format::Sopp, 4, "s_cbranch_scc0", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, Implicit::SCC_READ),
    row(Op::s_cbranch_scc1, Format::Sopp, 5, "s_cbranch_scc1", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, Implicit::SCC_READ),
    row(Op::s_cbranch_vccz, Format::Sopp, 6, "s_cbranch_vccz", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, Implicit::VCC_READ),
    row(Op::s_cbranch_vccnz, Format::Sopp, 7, "s_cbranch_vccnz", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, Implicit::VCC_READ),
    row(Op::s_cbranch_execz, Format::Sopp, 8, "s_cbranch_execz", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, Implicit::EXEC_READ),
    row(Op::s_cbranch_execnz, Format::Sopp, 9, "s_cbranch_execnz", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, Implicit::EXEC_READ),
    row(Op::s_barrier, Format::Sopp, 10, "s_barrier", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_setkill, Format::Sopp, 11, "s_setkill", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_waitcnt, Format::Sopp, 12, "s_waitcnt", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::WaitCnt, NM, 0),
    row(Op::s_sethalt, Format::Sopp, 13, "s_sethalt", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_sleep, Format::Sopp, 14, "s_sleep", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_setprio, Format::Sopp, 15, "s_setprio", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_sendmsg, Format::Sopp, 16, "s_sendmsg", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::SendMsg, NM, Implicit::M0_READ),
    row(Op::s_sendmsghalt, Format::Sopp, 17, "s_sendmsghalt", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::SendMsg, NM, Implicit::M0_READ),
    row(Op::s_trap, Format::Sopp, 18, "s_trap", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_icache_inv, Format::Sopp, 19, "s_icache_inv", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_incperflevel, Format::Sopp, 20, "s_incperflevel", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_decperflevel, Format::Sopp, 21, "s_decperflevel", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    row(Op::s_ttracedata, Format::Sopp, 22, "s_ttracedata", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, Implicit::M0_READ),
    row(Op::s_cbranch_cdbgsys, Format::Sopp, 23, "s_cbranch_cdbgsys", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, 0),
    row(Op::s_cbranch_cdbguser, Format::Sopp, 24, "s_cbranch_cdbguser", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, 0),
    row(Op::s_cbranch_cdbgsys_or_user, Format::Sopp, 25, "s_cbranch_cdbgsys_or_user", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, 0),
    row(Op::s_cbranch_cdbgsys_and_user, Format::Sopp, 26, "s_cbranch_cdbgsys_and_user", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Branch, NM, 0),
    row(Op::s_endpgm_saved, Format::Sopp, 27, "s_endpgm_saved", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_set_gpr_idx_off, Format::Sopp, 28, "s_set_gpr_idx_off", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_set_gpr_idx_mode, Format::Sopp, 29, "s_set_gpr_idx_mode", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::GprIdx, NM, Implicit::M0_READ | Implicit::M0_WRITE),
    row(Op::s_endpgm_ordered_ps_done, Format::Sopp, 30, "s_endpgm_ordered_ps_done", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_set_valu_coexec_mode, Format::Sopp, 31, "s_set_valu_coexec_mode", ArchSet::GFX950, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::Decimal, NM, 0),
    // Smem
    row(Op::s_load_dword, Format::Smem, 0, "s_load_dword", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_load_dwordx2, Format::Smem, 1, "s_load_dwordx2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_load_dwordx4, Format::Smem, 2, "s_load_dwordx4", ArchSet::BOTH, 0, [D_B32X4, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_load_dwordx8, Format::Smem, 3, "s_load_dwordx8", ArchSet::BOTH, 0, [D_B32X8, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_load_dwordx16, Format::Smem, 4, "s_load_dwordx16", ArchSet::BOTH, 0, [D_B32X16, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_scratch_load_dword, Format::Smem, 5, "s_scratch_load_dword", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_scratch_load_dwordx2, Format::Smem, 6, "s_scratch_load_dwordx2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_scratch_load_dwordx4, Format::Smem, 7, "s_scratch_load_dwordx4", ArchSet::BOTH, 0, [D_B32X4, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_load_dword, Format::Smem, 8, "s_buffer_load_dword", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_load_dwordx2, Format::Smem, 9, "s_buffer_load_dwordx2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_load_dwordx4, Format::Smem, 10, "s_buffer_load_dwordx4", ArchSet::BOTH, 0, [D_B32X4, NO], [R_B32X4, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_load_dwordx8, Format::Smem, 11, "s_buffer_load_dwordx8", ArchSet::BOTH, 0, [D_B32X8, NO], [R_B32X4, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_load_dwordx16, Format::Smem, 12, "s_buffer_load_dwordx16", ArchSet::BOTH, 0, [D_B32X16, NO], [R_B32X4, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_store_dword, Format::Smem, 16, "s_store_dword", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, NM, 0),
    row(Op::s_store_dwordx2, Format::Smem, 17, "s_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, NM, 0),
    row(Op::s_store_dwordx4, Format::Smem, 18, "s_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, D_B32X4, NO, NO], Imm::None, NM, 0),
    row(Op::s_scratch_store_dword, Format::Smem, 21, "s_scratch_store_dword", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, NM, 0),
    row(Op::s_scratch_store_dwordx2, Format::Smem, 22, "s_scratch_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, NM, 0),
    row(Op::s_scratch_store_dwordx4, Format::Smem, 23, "s_scratch_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, D_B32X4, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_store_dword, Format::Smem, 24, "s_buffer_store_dword", ArchSet::BOTH, 0, [NO, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_store_dwordx2, Format::Smem, 25, "s_buffer_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_store_dwordx4, Format::Smem, 26, "s_buffer_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [R_B32X4, R_B32, D_B32X4, NO, NO], Imm::None, NM, 0),
    row(Op::s_dcache_inv, Format::Smem, 32, "s_dcache_inv", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_dcache_wb, Format::Smem, 33, "s_dcache_wb", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_dcache_inv_vol, Format::Smem, 34, "s_dcache_inv_vol", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_dcache_wb_vol, Format::Smem, 35, "s_dcache_wb_vol", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_memtime, Format::Smem, 36, "s_memtime", ArchSet::BOTH, 0, [D_B64, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_memrealtime, Format::Smem, 37, "s_memrealtime", ArchSet::BOTH, 0, [D_B64, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_atc_probe, Format::Smem, 38, "s_atc_probe", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, NO, NO, NO], Imm::Probe, NM, 0),
    row(Op::s_atc_probe_buffer, Format::Smem, 39, "s_atc_probe_buffer", ArchSet::BOTH, 0, [NO, NO], [R_B32X4, R_B32, NO, NO, NO], Imm::Probe, NM, 0),
    row(Op::s_dcache_discard, Format::Smem, 40, "s_dcache_discard", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_dcache_discard_x2, Format::Smem, 41, "s_dcache_discard_x2", ArchSet::BOTH, 0, [NO, NO], [R_B64, R_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::s_buffer_atomic_swap, Format::Smem, 64, "s_buffer_atomic_swap", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_cmpswap, Format::Smem, 65, "s_buffer_atomic_cmpswap", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_add, Format::Smem, 66, "s_buffer_atomic_add", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_sub, Format::Smem, 67, "s_buffer_atomic_sub", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_smin, Format::Smem, 68, "s_buffer_atomic_smin", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_umin, Format::Smem, 69, "s_buffer_atomic_umin", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_smax, Format::Smem, 70, "s_buffer_atomic_smax", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_umax, Format::Smem, 71, "s_buffer_atomic_umax", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_and, Format::Smem, 72, "s_buffer_atomic_and", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_or, Format::Smem, 73, "s_buffer_atomic_or", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_xor, Format::Smem, 74, "s_buffer_atomic_xor", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_inc, Format::Smem, 75, "s_buffer_atomic_inc", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_dec, Format::Smem, 76, "s_buffer_atomic_dec", ArchSet::BOTH, 0, [D_B32, NO], [R_B32X4, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_swap_x2, Format::Smem, 96, "s_buffer_atomic_swap_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_cmpswap_x2, Format::Smem, 97, "s_buffer_atomic_cmpswap_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_add_x2, Format::Smem, 98, "s_buffer_atomic_add_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_sub_x2, Format::Smem, 99, "s_buffer_atomic_sub_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_smin_x2, Format::Smem, 100, "s_buffer_atomic_smin_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_umin_x2, Format::Smem, 101, "s_buffer_atomic_umin_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_smax_x2, Format::Smem, 102, "s_buffer_atomic_smax_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_umax_x2, Format::Smem, 103, "s_buffer_atomic_umax_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_and_x2, Format::Smem, 104, "s_buffer_atomic_and_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_or_x2, Format::Smem, 105, "s_buffer_atomic_or_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_xor_x2, Format::Smem, 106, "s_buffer_atomic_xor_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_inc_x2, Format::Smem, 107, "s_buffer_atomic_inc_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_buffer_atomic_dec_x2, Format::Smem, 108, "s_buffer_atomic_dec_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B32X4, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_swap, Format::Smem, 128, "s_atomic_swap", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_cmpswap, Format::Smem, 129, "s_atomic_cmpswap", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_add, Format::Smem, 130, "s_atomic_add", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_sub, Format::Smem, 131, "s_atomic_sub", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_smin, Format::Smem, 132, "s_atomic_smin", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_umin, Format::Smem, 133, "s_atomic_umin", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_smax, Format::Smem, 134, "s_atomic_smax", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_umax, Format::Smem, 135, "s_atomic_umax", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_and, Format::Smem, 136, "s_atomic_and", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_or, Format::Smem, 137, "s_atomic_or", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_xor, Format::Smem, 138, "s_atomic_xor", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_inc, Format::Smem, 139, "s_atomic_inc", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_dec, Format::Smem, 140, "s_atomic_dec", ArchSet::BOTH, 0, [D_B32, NO], [R_B64, R_B32, D_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_swap_x2, Format::Smem, 160, "s_atomic_swap_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_cmpswap_x2, Format::Smem, 161, "s_atomic_cmpswap_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_add_x2, Format::Smem, 162, "s_atomic_add_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_sub_x2, Format::Smem, 163, "s_atomic_sub_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_smin_x2, Format::Smem, 164, "s_atomic_smin_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_umin_x2, Format::Smem, 165, "s_atomic_umin_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_smax_x2, Format::Smem, 166, "s_atomic_smax_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_umax_x2, Format::Smem, 167, "s_atomic_umax_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_and_x2, Format::Smem, 168, "s_atomic_and_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_or_x2, Format::Smem, 169, "s_atomic_or_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_xor_x2, Format::Smem, 170, "s_atomic_xor_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_inc_x2, Format::Smem, 171, "s_atomic_inc_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    row(Op::s_atomic_dec_x2, Format::Smem, 172, "s_atomic_dec_x2", ArchSet::BOTH, 0, [D_B64, NO], [R_B64, R_B32, D_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), 0),
    // Vop1
    row(Op::v_nop, Format::Vop1, 0, "v_nop", ArchSet::BOTH, Forms::DPP | Forms::SDWA, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::v_mov_b32, Format::Vop1, 1, "v_mov_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_readfirstlane_b32, Format::Vop1, 2, "v_readfirstlane_b32", ArchSet::BOTH, Forms::LIT, [D_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_i32_f64, Format::Vop1, 3, "v_cvt_i32_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_B32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_f64_i32, Format::Vop1, 4, "v_cvt_f64_i32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_i32, Format::Vop1, 5, "v_cvt_f32_i32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_u32, Format::Vop1, 6, "v_cvt_f32_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_u32_f32, Format::Vop1, 7, "v_cvt_u32_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_i32_f32, Format::Vop1, 8, "v_cvt_i32_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_f16_f32, Format::Vop1, 10, "v_cvt_f16_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_f16, Format::Vop1, 11, "v_cvt_f32_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_rpi_i32_f32, Format::Vop1, 12, "v_cvt_rpi_i32_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_flr_i32_f32, Format::Vop1, 13, "v_cvt_flr_i32_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_off_f32_i4, Format::Vop1, 14, "v_cvt_off_f32_i4_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_f64, Format::Vop1, 15, "v_cvt_f32_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_f64_f32, Format::Vop1, 16, "v_cvt_f64_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte0, Format::Vop1, 17, "v_cvt_f32_ubyte0_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte1, Format::Vop1, 18, "v_cvt_f32_ubyte1_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte2, Format::Vop1, 19, "v_cvt_f32_ubyte2_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte3, Format::Vop1, 20, "v_cvt_f32_ubyte3_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_u32_f64, Format::Vop1, 21, "v_cvt_u32_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_B32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_f64_u32, Format::Vop1, 22, "v_cvt_f64_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_trunc_f64, Format::Vop1, 23, "v_trunc_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_ceil_f64, Format::Vop1, 24, "v_ceil_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_rndne_f64, Format::Vop1, 25, "v_rndne_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_floor_f64, Format::Vop1, 26, "v_floor_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_fract_f32, Format::Vop1, 27, "v_fract_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_trunc_f32, Format::Vop1, 28, "v_trunc_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_ceil_f32, Format::Vop1, 29, "v_ceil_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rndne_f32, Format::Vop1, 30, "v_rndne_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_floor_f32, Format::Vop1, 31, "v_floor_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_exp_f32, Format::Vop1, 32, "v_exp_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_log_f32, Format::Vop1, 33, "v_log_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_f32, Format::Vop1, 34, "v_rcp_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_iflag_f32, Format::Vop1, 35, "v_rcp_iflag_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rsq_f32, Format::Vop1, 36, "v_rsq_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_f64, Format::Vop1, 37, "v_rcp_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_rsq_f64, Format::Vop1, 38, "v_rsq_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_sqrt_f32, Format::Vop1, 39, "v_sqrt_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sqrt_f64, Format::Vop1, 40, "v_sqrt_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_sin_f32, Format::Vop1, 41, "v_sin_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cos_f32, Format::Vop1, 42, "v_cos_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_not_b32, Format::Vop1, 43, "v_not_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_bfrev_b32, Format::Vop1, 44, "v_bfrev_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_ffbh_u32, Format::Vop1, 45, "v_ffbh_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_ffbl_b32, Format::Vop1, 46, "v_ffbl_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_ffbh_i32, Format::Vop1, 47, "v_ffbh_i32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_frexp_exp_i32_f64, Format::Vop1, 48, "v_frexp_exp_i32_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_B32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_frexp_mant_f64, Format::Vop1, 49, "v_frexp_mant_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_fract_f64, Format::Vop1, 50, "v_fract_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_frexp_exp_i32_f32, Format::Vop1, 51, "v_frexp_exp_i32_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_frexp_mant_f32, Format::Vop1, 52, "v_frexp_mant_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_clrexcp, Format::Vop1, 53, "v_clrexcp", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::v_screen_partition_4se_b32, Format::Vop1, 55, "v_screen_partition_4se_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mov_b64, Format::Vop1, 56, "v_mov_b64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [V_B64, NO], [X_B64, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_f16_u16, Format::Vop1, 57, "v_cvt_f16_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_B16, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f16_i16, Format::Vop1, 58, "v_cvt_f16_i16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_B16, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_u16_f16, Format::Vop1, 59, "v_cvt_u16_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_i16_f16, Format::Vop1, 60, "v_cvt_i16_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_rcp_f16, Format::Vop1, 61, "v_rcp_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sqrt_f16, Format::Vop1, 62, "v_sqrt_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rsq_f16, Format::Vop1, 63, "v_rsq_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_log_f16, Format::Vop1, 64, "v_log_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_exp_f16, Format::Vop1, 65, "v_exp_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_frexp_mant_f16, Format::Vop1, 66, "v_frexp_mant_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_frexp_exp_i16_f16, Format::Vop1, 67, "v_frexp_exp_i16_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_floor_f16, Format::Vop1, 68, "v_floor_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_ceil_f16, Format::Vop1, 69, "v_ceil_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_trunc_f16, Format::Vop1, 70, "v_trunc_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rndne_f16, Format::Vop1, 71, "v_rndne_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fract_f16, Format::Vop1, 72, "v_fract_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sin_f16, Format::Vop1, 73, "v_sin_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cos_f16, Format::Vop1, 74, "v_cos_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_exp_legacy_f32, Format::Vop1, 75, "v_exp_legacy_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_log_legacy_f32, Format::Vop1, 76, "v_log_legacy_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_norm_i16_f16, Format::Vop1, 77, "v_cvt_norm_i16_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_norm_u16_f16, Format::Vop1, 78, "v_cvt_norm_u16_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sat_pk_u8_i16, Format::Vop1, 79, "v_sat_pk_u8_i16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16X2, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_swap_b32, Format::Vop1, 81, "v_swap_b32", ArchSet::BOTH, Forms::LIT, [RW_V_B32, NO], [RW_V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_accvgpr_mov_b32, Format::Vop1, 82, "v_accvgpr_mov_b32", ArchSet::BOTH, Forms::LIT, [A_B32, NO], [A_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_f32_fp8, Format::Vop1, 84, "v_cvt_f32_fp8_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD | Mods::DSTDWORD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_bf8, Format::Vop1, 85, "v_cvt_f32_bf8_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD | Mods::DSTDWORD), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_f32_fp8, Format::Vop1, 86, "v_cvt_pk_f32_fp8_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32X2, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD | Mods::DSTDWORD | Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_f32_bf8, Format::Vop1, 87, "v_cvt_pk_f32_bf8_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32X2, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD | Mods::DSTDWORD | Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_prng_b32, Format::Vop1, 88, "v_prng_b32_e32", ArchSet::GFX950, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 1, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_permlane16_swap_b32, Format::Vop1, 89, "v_permlane16_swap_b32_e32", ArchSet::GFX950, Forms::LIT, [RW_V_B32, NO], [RW_V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_permlane32_swap_b32, Format::Vop1, 90, "v_permlane32_swap_b32_e32", ArchSet::GFX950, Forms::LIT, [RW_V_B32, NO], [RW_V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_f32_bf16, Format::Vop1, 91, "v_cvt_f32_bf16_e32", ArchSet::GFX950, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_BF16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    // Vop2
    row(Op::v_cndmask_b32, Format::Vop2, 0, "v_cndmask_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, VCC_B64, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_add_f32, Format::Vop2, 1, "v_add_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sub_f32, Format::Vop2, 2, "v_sub_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_subrev_f32, Format::Vop2, 3, "v_subrev_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fmac_f64, Format::Vop2, 4, "v_fmac_f64_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_F64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::DPP64), Implicit::EXEC_READ),
    row(Op::v_mul_f32, Format::Vop2, 5, "v_mul_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_i32_i24, Format::Vop2, 6, "v_mul_i32_i24_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_hi_i32_i24, Format::Vop2, 7, "v_mul_hi_i32_i24_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_u32_u24, Format::Vop2, 8, "v_mul_u32_u24_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_hi_u32_u24, Format::Vop2, 9, "v_mul_hi_u32_u24_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_min_f32, Format::Vop2, 10, "v_min_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max_f32, Format::Vop2, 11, "v_max_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min_i32, Format::Vop2, 12, "v_min_i32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_max_i32, Format::Vop2, 13, "v_max_i32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_min_u32, Format::Vop2, 14, "v_min_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_max_u32, Format::Vop2, 15, "v_max_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_lshrrev_b32, Format::Vop2, 16, "v_lshrrev_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_ashrrev_i32, Format::Vop2, 17, "v_ashrrev_i32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_lshlrev_b32, Format::Vop2, 18, "v_lshlrev_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_and_b32, Format::Vop2, 19, "v_and_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_or_b32, Format::Vop2, 20, "v_or_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_xor_b32, Format::Vop2, 21, "v_xor_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2c_f32_bf16, Format::Vop2, 22, "v_dot2c_f32_bf16_e32", ArchSet::GFX950, Forms::DPP | Forms::LIT, [RW_V_F32, NO], [X_BF16X2, V_BF16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_fmamk_f32, Format::Vop2, 23, "v_fmamk_f32", ArchSet::BOTH, Forms::LIT, [V_F32, NO], [X_F32, K_F32, V_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_fmaak_f32, Format::Vop2, 24, "v_fmaak_f32", ArchSet::BOTH, Forms::LIT, [V_F32, NO], [X_F32, V_F32, K_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_add_co_u32, Format::Vop2, 25, "v_add_co_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, VCC_B64], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_co_u32, Format::Vop2, 26, "v_sub_co_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, VCC_B64], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subrev_co_u32, Format::Vop2, 27, "v_subrev_co_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, VCC_B64], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_addc_co_u32, Format::Vop2, 28, "v_addc_co_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, VCC_B64], [X_B32, V_B32, VCC_B64, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subb_co_u32, Format::Vop2, 29, "v_subb_co_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, VCC_B64], [X_B32, V_B32, VCC_B64, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subbrev_co_u32, Format::Vop2, 30, "v_subbrev_co_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, VCC_B64], [X_B32, V_B32, VCC_B64, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_add_f16, Format::Vop2, 31, "v_add_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sub_f16, Format::Vop2, 32, "v_sub_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_subrev_f16, Format::Vop2, 33, "v_subrev_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_f16, Format::Vop2, 34, "v_mul_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mac_f16, Format::Vop2, 35, "v_mac_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_madmk_f16, Format::Vop2, 36, "v_madmk_f16", ArchSet::BOTH, Forms::LIT, [V_F16, NO], [X_F16, K_F16, V_F16, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_madak_f16, Format::Vop2, 37, "v_madak_f16", ArchSet::BOTH, Forms::LIT, [V_F16, NO], [X_F16, V_F16, K_F16, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_add_u16, Format::Vop2, 38, "v_add_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_u16, Format::Vop2, 39, "v_sub_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subrev_u16, Format::Vop2, 40, "v_subrev_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_lo_u16, Format::Vop2, 41, "v_mul_lo_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_lshlrev_b16, Format::Vop2, 42, "v_lshlrev_b16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_lshrrev_b16, Format::Vop2, 43, "v_lshrrev_b16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_ashrrev_i16, Format::Vop2, 44, "v_ashrrev_i16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_max_f16, Format::Vop2, 45, "v_max_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min_f16, Format::Vop2, 46, "v_min_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max_u16, Format::Vop2, 47, "v_max_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_max_i16, Format::Vop2, 48, "v_max_i16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_min_u16, Format::Vop2, 49, "v_min_u16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_min_i16, Format::Vop2, 50, "v_min_i16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B16, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_ldexp_f16, Format::Vop2, 51, "v_ldexp_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_F16, NO], [X_F16, V_B16, NO, NO, NO], Imm::None, mods(1, 1, 2, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_add_u32, Format::Vop2, 52, "v_add_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_u32, Format::Vop2, 53, "v_sub_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subrev_u32, Format::Vop2, 54, "v_subrev_u32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2c_f32_f16, Format::Vop2, 55, "v_dot2c_f32_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_F32, NO], [X_F16X2, V_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_dot2c_i32_i16, Format::Vop2, 56, "v_dot2c_i32_i16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_B32, NO], [X_B16X2, V_B16X2, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_dot4c_i32_i8, Format::Vop2, 57, "v_dot4c_i32_i8_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_dot8c_i32_i4, Format::Vop2, 58, "v_dot8c_i32_i4_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_fmac_f32, Format::Vop2, 59, "v_fmac_f32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT, [RW_V_F32, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_pk_fmac_f16, Format::Vop2, 60, "v_pk_fmac_f16_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [RW_V_F16X2, NO], [X_F16X2, V_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_xnor_b32, Format::Vop2, 61, "v_xnor_b32_e32", ArchSet::BOTH, Forms::DPP | Forms::LIT | Forms::SDWA, [V_B32, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    // Vopc
    row(Op::v_cmp_class_f32, Format::Vopc, 16, "v_cmp_class_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_B32, NO, NO, NO], Imm::None, mods(1, 1, 2, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_class_f32, Format::Vopc, 17, "v_cmpx_class_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_B32, NO, NO, NO], Imm::None, mods(1, 1, 2, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_class_f64, Format::Vopc, 18, "v_cmp_class_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmpx_class_f64, Format::Vopc, 19, "v_cmpx_class_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_class_f16, Format::Vopc, 20, "v_cmp_class_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_B32, NO, NO, NO], Imm::None, mods(1, 1, 2, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_class_f16, Format::Vopc, 21, "v_cmpx_class_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_B32, NO, NO, NO], Imm::None, mods(1, 1, 2, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_f16, Format::Vopc, 32, "v_cmp_f_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_f16, Format::Vopc, 33, "v_cmp_lt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_f16, Format::Vopc, 34, "v_cmp_eq_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_le_f16, Format::Vopc, 35, "v_cmp_le_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_f16, Format::Vopc, 36, "v_cmp_gt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lg_f16, Format::Vopc, 37, "v_cmp_lg_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_f16, Format::Vopc, 38, "v_cmp_ge_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_o_f16, Format::Vopc, 39, "v_cmp_o_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_u_f16, Format::Vopc, 40, "v_cmp_u_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nge_f16, Format::Vopc, 41, "v_cmp_nge_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nlg_f16, Format::Vopc, 42, "v_cmp_nlg_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ngt_f16, Format::Vopc, 43, "v_cmp_ngt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nle_f16, Format::Vopc, 44, "v_cmp_nle_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_neq_f16, Format::Vopc, 45, "v_cmp_neq_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nlt_f16, Format::Vopc, 46, "v_cmp_nlt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_tru_f16, Format::Vopc, 47, "v_cmp_tru_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_f16, Format::Vopc, 48, "v_cmpx_f_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_f16, Format::Vopc, 49, "v_cmpx_lt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_f16, Format::Vopc, 50, "v_cmpx_eq_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_f16, Format::Vopc, 51, "v_cmpx_le_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_f16, Format::Vopc, 52, "v_cmpx_gt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lg_f16, Format::Vopc, 53, "v_cmpx_lg_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_f16, Format::Vopc, 54, "v_cmpx_ge_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_o_f16, Format::Vopc, 55, "v_cmpx_o_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_u_f16, Format::Vopc, 56, "v_cmpx_u_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nge_f16, Format::Vopc, 57, "v_cmpx_nge_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlg_f16, Format::Vopc, 58, "v_cmpx_nlg_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ngt_f16, Format::Vopc, 59, "v_cmpx_ngt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nle_f16, Format::Vopc, 60, "v_cmpx_nle_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_neq_f16, Format::Vopc, 61, "v_cmpx_neq_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlt_f16, Format::Vopc, 62, "v_cmpx_nlt_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_tru_f16, Format::Vopc, 63, "v_cmpx_tru_f16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F16, V_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_f32, Format::Vopc, 64, "v_cmp_f_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_f32, Format::Vopc, 65, "v_cmp_lt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_f32, Format::Vopc, 66, "v_cmp_eq_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_le_f32, Format::Vopc, 67, "v_cmp_le_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_f32, Format::Vopc, 68, "v_cmp_gt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lg_f32, Format::Vopc, 69, "v_cmp_lg_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_f32, Format::Vopc, 70, "v_cmp_ge_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_o_f32, Format::Vopc, 71, "v_cmp_o_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_u_f32, Format::Vopc, 72, "v_cmp_u_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nge_f32, Format::Vopc, 73, "v_cmp_nge_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nlg_f32, Format::Vopc, 74, "v_cmp_nlg_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ngt_f32, Format::Vopc, 75, "v_cmp_ngt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nle_f32, Format::Vopc, 76, "v_cmp_nle_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_neq_f32, Format::Vopc, 77, "v_cmp_neq_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_nlt_f32, Format::Vopc, 78, "v_cmp_nlt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_tru_f32, Format::Vopc, 79, "v_cmp_tru_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_f32, Format::Vopc, 80, "v_cmpx_f_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_f32, Format::Vopc, 81, "v_cmpx_lt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_f32, Format::Vopc, 82, "v_cmpx_eq_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_f32, Format::Vopc, 83, "v_cmpx_le_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_f32, Format::Vopc, 84, "v_cmpx_gt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lg_f32, Format::Vopc, 85, "v_cmpx_lg_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_f32, Format::Vopc, 86, "v_cmpx_ge_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_o_f32, Format::Vopc, 87, "v_cmpx_o_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_u_f32, Format::Vopc, 88, "v_cmpx_u_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nge_f32, Format::Vopc, 89, "v_cmpx_nge_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlg_f32, Format::Vopc, 90, "v_cmpx_nlg_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ngt_f32, Format::Vopc, 91, "v_cmpx_ngt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nle_f32, Format::Vopc, 92, "v_cmpx_nle_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_neq_f32, Format::Vopc, 93, "v_cmpx_neq_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlt_f32, Format::Vopc, 94, "v_cmpx_nlt_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_tru_f32, Format::Vopc, 95, "v_cmpx_tru_f32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_F32, V_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_f64, Format::Vopc, 96, "v_cmp_f_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_f64, Format::Vopc, 97, "v_cmp_lt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_f64, Format::Vopc, 98, "v_cmp_eq_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_f64, Format::Vopc, 99, "v_cmp_le_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_f64, Format::Vopc, 100, "v_cmp_gt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lg_f64, Format::Vopc, 101, "v_cmp_lg_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_f64, Format::Vopc, 102, "v_cmp_ge_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_o_f64, Format::Vopc, 103, "v_cmp_o_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_u_f64, Format::Vopc, 104, "v_cmp_u_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_nge_f64, Format::Vopc, 105, "v_cmp_nge_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_nlg_f64, Format::Vopc, 106, "v_cmp_nlg_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ngt_f64, Format::Vopc, 107, "v_cmp_ngt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_nle_f64, Format::Vopc, 108, "v_cmp_nle_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_neq_f64, Format::Vopc, 109, "v_cmp_neq_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_nlt_f64, Format::Vopc, 110, "v_cmp_nlt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_tru_f64, Format::Vopc, 111, "v_cmp_tru_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmpx_f_f64, Format::Vopc, 112, "v_cmpx_f_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_f64, Format::Vopc, 113, "v_cmpx_lt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_f64, Format::Vopc, 114, "v_cmpx_eq_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_f64, Format::Vopc, 115, "v_cmpx_le_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_f64, Format::Vopc, 116, "v_cmpx_gt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lg_f64, Format::Vopc, 117, "v_cmpx_lg_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_f64, Format::Vopc, 118, "v_cmpx_ge_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_o_f64, Format::Vopc, 119, "v_cmpx_o_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_u_f64, Format::Vopc, 120, "v_cmpx_u_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nge_f64, Format::Vopc, 121, "v_cmpx_nge_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlg_f64, Format::Vopc, 122, "v_cmpx_nlg_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ngt_f64, Format::Vopc, 123, "v_cmpx_ngt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nle_f64, Format::Vopc, 124, "v_cmpx_nle_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_neq_f64, Format::Vopc, 125, "v_cmpx_neq_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlt_f64, Format::Vopc, 126, "v_cmpx_nlt_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_tru_f64, Format::Vopc, 127, "v_cmpx_tru_f64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_F64, V_F64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_i16, Format::Vopc, 160, "v_cmp_f_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_i16, Format::Vopc, 161, "v_cmp_lt_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_i16, Format::Vopc, 162, "v_cmp_eq_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_le_i16, Format::Vopc, 163, "v_cmp_le_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_i16, Format::Vopc, 164, "v_cmp_gt_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ne_i16, Format::Vopc, 165, "v_cmp_ne_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_i16, Format::Vopc, 166, "v_cmp_ge_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_t_i16, Format::Vopc, 167, "v_cmp_t_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_f_u16, Format::Vopc, 168, "v_cmp_f_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_u16, Format::Vopc, 169, "v_cmp_lt_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_u16, Format::Vopc, 170, "v_cmp_eq_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_le_u16, Format::Vopc, 171, "v_cmp_le_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_u16, Format::Vopc, 172, "v_cmp_gt_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ne_u16, Format::Vopc, 173, "v_cmp_ne_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_u16, Format::Vopc, 174, "v_cmp_ge_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_t_u16, Format::Vopc, 175, "v_cmp_t_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_i16, Format::Vopc, 176, "v_cmpx_f_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_i16, Format::Vopc, 177, "v_cmpx_lt_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_i16, Format::Vopc, 178, "v_cmpx_eq_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_i16, Format::Vopc, 179, "v_cmpx_le_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_i16, Format::Vopc, 180, "v_cmpx_gt_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_i16, Format::Vopc, 181, "v_cmpx_ne_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_i16, Format::Vopc, 182, "v_cmpx_ge_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_i16, Format::Vopc, 183, "v_cmpx_t_i16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_f_u16, Format::Vopc, 184, "v_cmpx_f_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_u16, Format::Vopc, 185, "v_cmpx_lt_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_u16, Format::Vopc, 186, "v_cmpx_eq_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_u16, Format::Vopc, 187, "v_cmpx_le_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_u16, Format::Vopc, 188, "v_cmpx_gt_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_u16, Format::Vopc, 189, "v_cmpx_ne_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_u16, Format::Vopc, 190, "v_cmpx_ge_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_u16, Format::Vopc, 191, "v_cmpx_t_u16_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B16, V_B16, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_i32, Format::Vopc, 192, "v_cmp_f_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_i32, Format::Vopc, 193, "v_cmp_lt_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_i32, Format::Vopc, 194, "v_cmp_eq_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_le_i32, Format::Vopc, 195, "v_cmp_le_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_i32, Format::Vopc, 196, "v_cmp_gt_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ne_i32, Format::Vopc, 197, "v_cmp_ne_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_i32, Format::Vopc, 198, "v_cmp_ge_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_t_i32, Format::Vopc, 199, "v_cmp_t_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_f_u32, Format::Vopc, 200, "v_cmp_f_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_u32, Format::Vopc, 201, "v_cmp_lt_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_u32, Format::Vopc, 202, "v_cmp_eq_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_le_u32, Format::Vopc, 203, "v_cmp_le_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_u32, Format::Vopc, 204, "v_cmp_gt_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ne_u32, Format::Vopc, 205, "v_cmp_ne_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_u32, Format::Vopc, 206, "v_cmp_ge_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmp_t_u32, Format::Vopc, 207, "v_cmp_t_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_i32, Format::Vopc, 208, "v_cmpx_f_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_i32, Format::Vopc, 209, "v_cmpx_lt_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_i32, Format::Vopc, 210, "v_cmpx_eq_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_i32, Format::Vopc, 211, "v_cmpx_le_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_i32, Format::Vopc, 212, "v_cmpx_gt_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_i32, Format::Vopc, 213, "v_cmpx_ne_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_i32, Format::Vopc, 214, "v_cmpx_ge_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_i32, Format::Vopc, 215, "v_cmpx_t_i32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_f_u32, Format::Vopc, 216, "v_cmpx_f_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_u32, Format::Vopc, 217, "v_cmpx_lt_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_u32, Format::Vopc, 218, "v_cmpx_eq_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_u32, Format::Vopc, 219, "v_cmpx_le_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_u32, Format::Vopc, 220, "v_cmpx_gt_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_u32, Format::Vopc, 221, "v_cmpx_ne_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_u32, Format::Vopc, 222, "v_cmpx_ge_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_u32, Format::Vopc, 223, "v_cmpx_t_u32_e32", ArchSet::BOTH, Forms::LIT | Forms::SDWA, [VCC_B64, NO], [X_B32, V_B32, NO, NO, NO], Imm::None, mods(0, 0, 3, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_i64, Format::Vopc, 224, "v_cmp_f_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_i64, Format::Vopc, 225, "v_cmp_lt_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_i64, Format::Vopc, 226, "v_cmp_eq_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_i64, Format::Vopc, 227, "v_cmp_le_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_i64, Format::Vopc, 228, "v_cmp_gt_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_i64, Format::Vopc, 229, "v_cmp_ne_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_i64, Format::Vopc, 230, "v_cmp_ge_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_i64, Format::Vopc, 231, "v_cmp_t_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_f_u64, Format::Vopc, 232, "v_cmp_f_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_u64, Format::Vopc, 233, "v_cmp_lt_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_u64, Format::Vopc, 234, "v_cmp_eq_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_u64, Format::Vopc, 235, "v_cmp_le_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_u64, Format::Vopc, 236, "v_cmp_gt_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_u64, Format::Vopc, 237, "v_cmp_ne_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_u64, Format::Vopc, 238, "v_cmp_ge_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_u64, Format::Vopc, 239, "v_cmp_t_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmpx_f_i64, Format::Vopc, 240, "v_cmpx_f_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_i64, Format::Vopc, 241, "v_cmpx_lt_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_i64, Format::Vopc, 242, "v_cmpx_eq_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_i64, Format::Vopc, 243, "v_cmpx_le_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_i64, Format::Vopc, 244, "v_cmpx_gt_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_i64, Format::Vopc, 245, "v_cmpx_ne_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_i64, Format::Vopc, 246, "v_cmpx_ge_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_i64, Format::Vopc, 247, "v_cmpx_t_i64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_f_u64, Format::Vopc, 248, "v_cmpx_f_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_u64, Format::Vopc, 249, "v_cmpx_lt_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_u64, Format::Vopc, 250, "v_cmpx_eq_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_u64, Format::Vopc, 251, "v_cmpx_le_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_u64, Format::Vopc, 252, "v_cmpx_gt_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_u64, Format::Vopc, 253, "v_cmpx_ne_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_u64, Format::Vopc, 254, "v_cmpx_ge_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_u64, Format::Vopc, 255, "v_cmpx_t_u64_e32", ArchSet::BOTH, Forms::LIT, [VCC_B64, NO], [X_B64, V_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    // Vop3a
    row(Op::v_cmp_class_f32, Format::Vop3a, 16, "v_cmp_class_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_class_f32, Format::Vop3a, 17, "v_cmpx_class_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_class_f64, Format::Vop3a, 18, "v_cmp_class_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_class_f64, Format::Vop3a, 19, "v_cmpx_class_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_class_f16, Format::Vop3a, 20, "v_cmp_class_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cmpx_class_f16, Format::Vop3a, 21, "v_cmpx_class_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, 0), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_f16, Format::Vop3a, 32, "v_cmp_f_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_f16, Format::Vop3a, 33, "v_cmp_lt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_f16, Format::Vop3a, 34, "v_cmp_eq_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_le_f16, Format::Vop3a, 35, "v_cmp_le_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_f16, Format::Vop3a, 36, "v_cmp_gt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_lg_f16, Format::Vop3a, 37, "v_cmp_lg_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_f16, Format::Vop3a, 38, "v_cmp_ge_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_o_f16, Format::Vop3a, 39, "v_cmp_o_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_u_f16, Format::Vop3a, 40, "v_cmp_u_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nge_f16, Format::Vop3a, 41, "v_cmp_nge_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nlg_f16, Format::Vop3a, 42, "v_cmp_nlg_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_ngt_f16, Format::Vop3a, 43, "v_cmp_ngt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nle_f16, Format::Vop3a, 44, "v_cmp_nle_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_neq_f16, Format::Vop3a, 45, "v_cmp_neq_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nlt_f16, Format::Vop3a, 46, "v_cmp_nlt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_tru_f16, Format::Vop3a, 47, "v_cmp_tru_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_f16, Format::Vop3a, 48, "v_cmpx_f_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_f16, Format::Vop3a, 49, "v_cmpx_lt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_f16, Format::Vop3a, 50, "v_cmpx_eq_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_f16, Format::Vop3a, 51, "v_cmpx_le_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_f16, Format::Vop3a, 52, "v_cmpx_gt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lg_f16, Format::Vop3a, 53, "v_cmpx_lg_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_f16, Format::Vop3a, 54, "v_cmpx_ge_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_o_f16, Format::Vop3a, 55, "v_cmpx_o_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_u_f16, Format::Vop3a, 56, "v_cmpx_u_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nge_f16, Format::Vop3a, 57, "v_cmpx_nge_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlg_f16, Format::Vop3a, 58, "v_cmpx_nlg_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ngt_f16, Format::Vop3a, 59, "v_cmpx_ngt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nle_f16, Format::Vop3a, 60, "v_cmpx_nle_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_neq_f16, Format::Vop3a, 61, "v_cmpx_neq_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlt_f16, Format::Vop3a, 62, "v_cmpx_nlt_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_tru_f16, Format::Vop3a, 63, "v_cmpx_tru_f16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_f32, Format::Vop3a, 64, "v_cmp_f_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_f32, Format::Vop3a, 65, "v_cmp_lt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_f32, Format::Vop3a, 66, "v_cmp_eq_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_le_f32, Format::Vop3a, 67, "v_cmp_le_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_f32, Format::Vop3a, 68, "v_cmp_gt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_lg_f32, Format::Vop3a, 69, "v_cmp_lg_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_f32, Format::Vop3a, 70, "v_cmp_ge_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_o_f32, Format::Vop3a, 71, "v_cmp_o_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_u_f32, Format::Vop3a, 72, "v_cmp_u_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nge_f32, Format::Vop3a, 73, "v_cmp_nge_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nlg_f32, Format::Vop3a, 74, "v_cmp_nlg_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_ngt_f32, Format::Vop3a, 75, "v_cmp_ngt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nle_f32, Format::Vop3a, 76, "v_cmp_nle_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_neq_f32, Format::Vop3a, 77, "v_cmp_neq_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nlt_f32, Format::Vop3a, 78, "v_cmp_nlt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_tru_f32, Format::Vop3a, 79, "v_cmp_tru_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_f32, Format::Vop3a, 80, "v_cmpx_f_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_f32, Format::Vop3a, 81, "v_cmpx_lt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_f32, Format::Vop3a, 82, "v_cmpx_eq_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_f32, Format::Vop3a, 83, "v_cmpx_le_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_f32, Format::Vop3a, 84, "v_cmpx_gt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lg_f32, Format::Vop3a, 85, "v_cmpx_lg_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_f32, Format::Vop3a, 86, "v_cmpx_ge_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_o_f32, Format::Vop3a, 87, "v_cmpx_o_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_u_f32, Format::Vop3a, 88, "v_cmpx_u_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nge_f32, Format::Vop3a, 89, "v_cmpx_nge_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlg_f32, Format::Vop3a, 90, "v_cmpx_nlg_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ngt_f32, Format::Vop3a, 91, "v_cmpx_ngt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nle_f32, Format::Vop3a, 92, "v_cmpx_nle_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_neq_f32, Format::Vop3a, 93, "v_cmpx_neq_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlt_f32, Format::Vop3a, 94, "v_cmpx_nlt_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_tru_f32, Format::Vop3a, 95, "v_cmpx_tru_f32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_f64, Format::Vop3a, 96, "v_cmp_f_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_lt_f64, Format::Vop3a, 97, "v_cmp_lt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_eq_f64, Format::Vop3a, 98, "v_cmp_eq_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_le_f64, Format::Vop3a, 99, "v_cmp_le_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_gt_f64, Format::Vop3a, 100, "v_cmp_gt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_lg_f64, Format::Vop3a, 101, "v_cmp_lg_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_ge_f64, Format::Vop3a, 102, "v_cmp_ge_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_o_f64, Format::Vop3a, 103, "v_cmp_o_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_u_f64, Format::Vop3a, 104, "v_cmp_u_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nge_f64, Format::Vop3a, 105, "v_cmp_nge_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nlg_f64, Format::Vop3a, 106, "v_cmp_nlg_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_ngt_f64, Format::Vop3a, 107, "v_cmp_ngt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nle_f64, Format::Vop3a, 108, "v_cmp_nle_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_neq_f64, Format::Vop3a, 109, "v_cmp_neq_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_nlt_f64, Format::Vop3a, 110, "v_cmp_nlt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmp_tru_f64, Format::Vop3a, 111, "v_cmp_tru_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cmpx_f_f64, Format::Vop3a, 112, "v_cmpx_f_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_f64, Format::Vop3a, 113, "v_cmpx_lt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_f64, Format::Vop3a, 114, "v_cmpx_eq_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_f64, Format::Vop3a, 115, "v_cmpx_le_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_f64, Format::Vop3a, 116, "v_cmpx_gt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lg_f64, Format::Vop3a, 117, "v_cmpx_lg_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_f64, Format::Vop3a, 118, "v_cmpx_ge_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_o_f64, Format::Vop3a, 119, "v_cmpx_o_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_u_f64, Format::Vop3a, 120, "v_cmpx_u_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nge_f64, Format::Vop3a, 121, "v_cmpx_nge_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlg_f64, Format::Vop3a, 122, "v_cmpx_nlg_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ngt_f64, Format::Vop3a, 123, "v_cmpx_ngt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nle_f64, Format::Vop3a, 124, "v_cmpx_nle_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_neq_f64, Format::Vop3a, 125, "v_cmpx_neq_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_nlt_f64, Format::Vop3a, 126, "v_cmpx_nlt_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_tru_f64, Format::Vop3a, 127, "v_cmpx_tru_f64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_i16, Format::Vop3a, 160, "v_cmp_f_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_i16, Format::Vop3a, 161, "v_cmp_lt_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_i16, Format::Vop3a, 162, "v_cmp_eq_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_i16, Format::Vop3a, 163, "v_cmp_le_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_i16, Format::Vop3a, 164, "v_cmp_gt_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_i16, Format::Vop3a, 165, "v_cmp_ne_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_i16, Format::Vop3a, 166, "v_cmp_ge_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_i16, Format::Vop3a, 167, "v_cmp_t_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_f_u16, Format::Vop3a, 168, "v_cmp_f_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_u16, Format::Vop3a, 169, "v_cmp_lt_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_u16, Format::Vop3a, 170, "v_cmp_eq_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_u16, Format::Vop3a, 171, "v_cmp_le_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_u16, Format::Vop3a, 172, "v_cmp_gt_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_u16, Format::Vop3a, 173, "v_cmp_ne_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_u16, Format::Vop3a, 174, "v_cmp_ge_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_u16, Format::Vop3a, 175, "v_cmp_t_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmpx_f_i16, Format::Vop3a, 176, "v_cmpx_f_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_i16, Format::Vop3a, 177, "v_cmpx_lt_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_i16, Format::Vop3a, 178, "v_cmpx_eq_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_i16, Format::Vop3a, 179, "v_cmpx_le_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_i16, Format::Vop3a, 180, "v_cmpx_gt_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_i16, Format::Vop3a, 181, "v_cmpx_ne_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_i16, Format::Vop3a, 182, "v_cmpx_ge_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_i16, Format::Vop3a, 183, "v_cmpx_t_i16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_f_u16, Format::Vop3a, 184, "v_cmpx_f_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_u16, Format::Vop3a, 185, "v_cmpx_lt_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_u16, Format::Vop3a, 186, "v_cmpx_eq_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_u16, Format::Vop3a, 187, "v_cmpx_le_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_u16, Format::Vop3a, 188, "v_cmpx_gt_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_u16, Format::Vop3a, 189, "v_cmpx_ne_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_u16, Format::Vop3a, 190, "v_cmpx_ge_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_u16, Format::Vop3a, 191, "v_cmpx_t_u16_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_i32, Format::Vop3a, 192, "v_cmp_f_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_i32, Format::Vop3a, 193, "v_cmp_lt_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_i32, Format::Vop3a, 194, "v_cmp_eq_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_i32, Format::Vop3a, 195, "v_cmp_le_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_i32, Format::Vop3a, 196, "v_cmp_gt_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_i32, Format::Vop3a, 197, "v_cmp_ne_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_i32, Format::Vop3a, 198, "v_cmp_ge_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_i32, Format::Vop3a, 199, "v_cmp_t_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_f_u32, Format::Vop3a, 200, "v_cmp_f_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_u32, Format::Vop3a, 201, "v_cmp_lt_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_u32, Format::Vop3a, 202, "v_cmp_eq_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_u32, Format::Vop3a, 203, "v_cmp_le_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_u32, Format::Vop3a, 204, "v_cmp_gt_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_u32, Format::Vop3a, 205, "v_cmp_ne_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_u32, Format::Vop3a, 206, "v_cmp_ge_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_u32, Format::Vop3a, 207, "v_cmp_t_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmpx_f_i32, Format::Vop3a, 208, "v_cmpx_f_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_i32, Format::Vop3a, 209, "v_cmpx_lt_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_i32, Format::Vop3a, 210, "v_cmpx_eq_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_i32, Format::Vop3a, 211, "v_cmpx_le_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_i32, Format::Vop3a, 212, "v_cmpx_gt_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_i32, Format::Vop3a, 213, "v_cmpx_ne_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_i32, Format::Vop3a, 214, "v_cmpx_ge_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_i32, Format::Vop3a, 215, "v_cmpx_t_i32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_f_u32, Format::Vop3a, 216, "v_cmpx_f_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_u32, Format::Vop3a, 217, "v_cmpx_lt_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_u32, Format::Vop3a, 218, "v_cmpx_eq_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_u32, Format::Vop3a, 219, "v_cmpx_le_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_u32, Format::Vop3a, 220, "v_cmpx_gt_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_u32, Format::Vop3a, 221, "v_cmpx_ne_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_u32, Format::Vop3a, 222, "v_cmpx_ge_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_u32, Format::Vop3a, 223, "v_cmpx_t_u32_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmp_f_i64, Format::Vop3a, 224, "v_cmp_f_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_i64, Format::Vop3a, 225, "v_cmp_lt_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_i64, Format::Vop3a, 226, "v_cmp_eq_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_i64, Format::Vop3a, 227, "v_cmp_le_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_i64, Format::Vop3a, 228, "v_cmp_gt_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_i64, Format::Vop3a, 229, "v_cmp_ne_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_i64, Format::Vop3a, 230, "v_cmp_ge_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_i64, Format::Vop3a, 231, "v_cmp_t_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_f_u64, Format::Vop3a, 232, "v_cmp_f_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_lt_u64, Format::Vop3a, 233, "v_cmp_lt_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_eq_u64, Format::Vop3a, 234, "v_cmp_eq_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_le_u64, Format::Vop3a, 235, "v_cmp_le_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_gt_u64, Format::Vop3a, 236, "v_cmp_gt_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ne_u64, Format::Vop3a, 237, "v_cmp_ne_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_ge_u64, Format::Vop3a, 238, "v_cmp_ge_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmp_t_u64, Format::Vop3a, 239, "v_cmp_t_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cmpx_f_i64, Format::Vop3a, 240, "v_cmpx_f_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_i64, Format::Vop3a, 241, "v_cmpx_lt_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_i64, Format::Vop3a, 242, "v_cmpx_eq_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_i64, Format::Vop3a, 243, "v_cmpx_le_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_i64, Format::Vop3a, 244, "v_cmpx_gt_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_i64, Format::Vop3a, 245, "v_cmpx_ne_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_i64, Format::Vop3a, 246, "v_cmpx_ge_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_i64, Format::Vop3a, 247, "v_cmpx_t_i64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_f_u64, Format::Vop3a, 248, "v_cmpx_f_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_lt_u64, Format::Vop3a, 249, "v_cmpx_lt_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_eq_u64, Format::Vop3a, 250, "v_cmpx_eq_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_le_u64, Format::Vop3a, 251, "v_cmpx_le_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_gt_u64, Format::Vop3a, 252, "v_cmpx_gt_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ne_u64, Format::Vop3a, 253, "v_cmpx_ne_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_ge_u64, Format::Vop3a, 254, "v_cmpx_ge_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cmpx_t_u64, Format::Vop3a, 255, "v_cmpx_t_u64_e64", ArchSet::BOTH, 0, [D_B64, NO], [X_B64, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::EXEC_WRITE),
    row(Op::v_cndmask_b32, Format::Vop3a, 256, "v_cndmask_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, N_B64, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, 0), Implicit::EXEC_READ),
    row(Op::v_add_f32, Format::Vop3a, 257, "v_add_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sub_f32, Format::Vop3a, 258, "v_sub_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_subrev_f32, Format::Vop3a, 259, "v_subrev_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fmac_f64, Format::Vop3a, 260, "v_fmac_f64_e64", ArchSet::BOTH, 0, [RW_V_F64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_f32, Format::Vop3a, 261, "v_mul_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_i32_i24, Format::Vop3a, 262, "v_mul_i32_i24_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_hi_i32_i24, Format::Vop3a, 263, "v_mul_hi_i32_i24_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mul_u32_u24, Format::Vop3a, 264, "v_mul_u32_u24_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_hi_u32_u24, Format::Vop3a, 265, "v_mul_hi_u32_u24_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_min_f32, Format::Vop3a, 266, "v_min_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max_f32, Format::Vop3a, 267, "v_max_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min_i32, Format::Vop3a, 268, "v_min_i32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_max_i32, Format::Vop3a, 269, "v_max_i32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_min_u32, Format::Vop3a, 270, "v_min_u32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_max_u32, Format::Vop3a, 271, "v_max_u32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshrrev_b32, Format::Vop3a, 272, "v_lshrrev_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ashrrev_i32, Format::Vop3a, 273, "v_ashrrev_i32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshlrev_b32, Format::Vop3a, 274, "v_lshlrev_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_and_b32, Format::Vop3a, 275, "v_and_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_or_b32, Format::Vop3a, 276, "v_or_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_xor_b32, Format::Vop3a, 277, "v_xor_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_dot2c_f32_bf16, Format::Vop3a, 278, "v_dot2c_f32_bf16_e64", ArchSet::GFX950, 0, [RW_V_F32, NO], [X_BF16X2, X_BF16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_add_f16, Format::Vop3a, 287, "v_add_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sub_f16, Format::Vop3a, 288, "v_sub_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_subrev_f16, Format::Vop3a, 289, "v_subrev_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_f16, Format::Vop3a, 290, "v_mul_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mac_f16, Format::Vop3a, 291, "v_mac_f16_e64", ArchSet::BOTH, 0, [RW_V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_add_u16, Format::Vop3a, 294, "v_add_u16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_u16, Format::Vop3a, 295, "v_sub_u16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subrev_u16, Format::Vop3a, 296, "v_subrev_u16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_lo_u16, Format::Vop3a, 297, "v_mul_lo_u16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshlrev_b16, Format::Vop3a, 298, "v_lshlrev_b16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshrrev_b16, Format::Vop3a, 299, "v_lshrrev_b16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ashrrev_i16, Format::Vop3a, 300, "v_ashrrev_i16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_max_f16, Format::Vop3a, 301, "v_max_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min_f16, Format::Vop3a, 302, "v_min_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max_u16, Format::Vop3a, 303, "v_max_u16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_max_i16, Format::Vop3a, 304, "v_max_i16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_min_u16, Format::Vop3a, 305, "v_min_u16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_min_i16, Format::Vop3a, 306, "v_min_i16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ldexp_f16, Format::Vop3a, 307, "v_ldexp_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_B16, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_add_u32, Format::Vop3a, 308, "v_add_u32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_u32, Format::Vop3a, 309, "v_sub_u32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subrev_u32, Format::Vop3a, 310, "v_subrev_u32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2c_f32_f16, Format::Vop3a, 311, "v_dot2c_f32_f16_e64", ArchSet::BOTH, 0, [RW_V_F32, NO], [X_F16X2, X_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_dot2c_i32_i16, Format::Vop3a, 312, "v_dot2c_i32_i16_e64", ArchSet::BOTH, 0, [RW_V_B32, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot4c_i32_i8, Format::Vop3a, 313, "v_dot4c_i32_i8_e64", ArchSet::BOTH, 0, [RW_V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot8c_i32_i4, Format::Vop3a, 314, "v_dot8c_i32_i4_e64", ArchSet::BOTH, 0, [RW_V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_fmac_f32, Format::Vop3a, 315, "v_fmac_f32_e64", ArchSet::BOTH, 0, [RW_V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_pk_fmac_f16, Format::Vop3a, 316, "v_pk_fmac_f16_e64", ArchSet::BOTH, 0, [RW_V_F16X2, NO], [X_F16X2, X_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_xnor_b32, Format::Vop3a, 317, "v_xnor_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_nop, Format::Vop3a, 320, "v_nop_e64", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::v_mov_b32, Format::Vop3a, 321, "v_mov_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_readfirstlane_b32, Format::Vop3a, 322, "v_readfirstlane_b32_e64", ArchSet::GFX950, 0, [D_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_i32_f64, Format::Vop3a, 323, "v_cvt_i32_f64_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f64_i32, Format::Vop3a, 324, "v_cvt_f64_i32_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_i32, Format::Vop3a, 325, "v_cvt_f32_i32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_u32, Format::Vop3a, 326, "v_cvt_f32_u32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_u32_f32, Format::Vop3a, 327, "v_cvt_u32_f32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_i32_f32, Format::Vop3a, 328, "v_cvt_i32_f32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f16_f32, Format::Vop3a, 330, "v_cvt_f16_f32_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_f16, Format::Vop3a, 331, "v_cvt_f32_f16_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_rpi_i32_f32, Format::Vop3a, 332, "v_cvt_rpi_i32_f32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_flr_i32_f32, Format::Vop3a, 333, "v_cvt_flr_i32_f32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_off_f32_i4, Format::Vop3a, 334, "v_cvt_off_f32_i4_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_f64, Format::Vop3a, 335, "v_cvt_f32_f64_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f64_f32, Format::Vop3a, 336, "v_cvt_f64_f32_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte0, Format::Vop3a, 337, "v_cvt_f32_ubyte0_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte1, Format::Vop3a, 338, "v_cvt_f32_ubyte1_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte2, Format::Vop3a, 339, "v_cvt_f32_ubyte2_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_ubyte3, Format::Vop3a, 340, "v_cvt_f32_ubyte3_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_u32_f64, Format::Vop3a, 341, "v_cvt_u32_f64_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f64_u32, Format::Vop3a, 342, "v_cvt_f64_u32_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_trunc_f64, Format::Vop3a, 343, "v_trunc_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_ceil_f64, Format::Vop3a, 344, "v_ceil_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rndne_f64, Format::Vop3a, 345, "v_rndne_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_floor_f64, Format::Vop3a, 346, "v_floor_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fract_f32, Format::Vop3a, 347, "v_fract_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_trunc_f32, Format::Vop3a, 348, "v_trunc_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_ceil_f32, Format::Vop3a, 349, "v_ceil_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rndne_f32, Format::Vop3a, 350, "v_rndne_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_floor_f32, Format::Vop3a, 351, "v_floor_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_exp_f32, Format::Vop3a, 352, "v_exp_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_log_f32, Format::Vop3a, 353, "v_log_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_f32, Format::Vop3a, 354, "v_rcp_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_iflag_f32, Format::Vop3a, 355, "v_rcp_iflag_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rsq_f32, Format::Vop3a, 356, "v_rsq_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_f64, Format::Vop3a, 357, "v_rcp_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rsq_f64, Format::Vop3a, 358, "v_rsq_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sqrt_f32, Format::Vop3a, 359, "v_sqrt_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sqrt_f64, Format::Vop3a, 360, "v_sqrt_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sin_f32, Format::Vop3a, 361, "v_sin_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cos_f32, Format::Vop3a, 362, "v_cos_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_not_b32, Format::Vop3a, 363, "v_not_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_bfrev_b32, Format::Vop3a, 364, "v_bfrev_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ffbh_u32, Format::Vop3a, 365, "v_ffbh_u32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ffbl_b32, Format::Vop3a, 366, "v_ffbl_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ffbh_i32, Format::Vop3a, 367, "v_ffbh_i32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_frexp_exp_i32_f64, Format::Vop3a, 368, "v_frexp_exp_i32_f64_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_frexp_mant_f64, Format::Vop3a, 369, "v_frexp_mant_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fract_f64, Format::Vop3a, 370, "v_fract_f64_e64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_frexp_exp_i32_f32, Format::Vop3a, 371, "v_frexp_exp_i32_f32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_frexp_mant_f32, Format::Vop3a, 372, "v_frexp_mant_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_clrexcp, Format::Vop3a, 373, "v_clrexcp_e64", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, NM, 0),
    row(Op::v_screen_partition_4se_b32, Format::Vop3a, 375, "v_screen_partition_4se_b32_e64", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mov_b64, Format::Vop3a, 376, "v_mov_b64_e64", ArchSet::BOTH, 0, [V_B64, NO], [X_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_f16_u16, Format::Vop3a, 377, "v_cvt_f16_u16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_B16, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f16_i16, Format::Vop3a, 378, "v_cvt_f16_i16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_B16, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_u16_f16, Format::Vop3a, 379, "v_cvt_u16_f16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_i16_f16, Format::Vop3a, 380, "v_cvt_i16_f16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rcp_f16, Format::Vop3a, 381, "v_rcp_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sqrt_f16, Format::Vop3a, 382, "v_sqrt_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rsq_f16, Format::Vop3a, 383, "v_rsq_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_log_f16, Format::Vop3a, 384, "v_log_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_exp_f16, Format::Vop3a, 385, "v_exp_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_frexp_mant_f16, Format::Vop3a, 386, "v_frexp_mant_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_frexp_exp_i16_f16, Format::Vop3a, 387, "v_frexp_exp_i16_f16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_floor_f16, Format::Vop3a, 388, "v_floor_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_ceil_f16, Format::Vop3a, 389, "v_ceil_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_trunc_f16, Format::Vop3a, 390, "v_trunc_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_rndne_f16, Format::Vop3a, 391, "v_rndne_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fract_f16, Format::Vop3a, 392, "v_fract_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sin_f16, Format::Vop3a, 393, "v_sin_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cos_f16, Format::Vop3a, 394, "v_cos_f16_e64", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_exp_legacy_f32, Format::Vop3a, 395, "v_exp_legacy_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_log_legacy_f32, Format::Vop3a, 396, "v_log_legacy_f32_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_norm_i16_f16, Format::Vop3a, 397, "v_cvt_norm_i16_f16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_norm_u16_f16, Format::Vop3a, 398, "v_cvt_norm_u16_f16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_F16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_sat_pk_u8_i16, Format::Vop3a, 399, "v_sat_pk_u8_i16_e64", ArchSet::BOTH, 0, [V_B16, NO], [X_B16X2, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_swap_b32, Format::Vop3a, 401, "v_swap_b32_e64", ArchSet::GFX950, 0, [RW_V_B32, NO], [RW_V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_accvgpr_mov_b32, Format::Vop3a, 402, "v_accvgpr_mov_b32_e64", ArchSet::GFX950, 0, [A_B32, NO], [A_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_f32_fp8, Format::Vop3a, 404, "v_cvt_f32_fp8_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_bf8, Format::Vop3a, 405, "v_cvt_f32_bf8_e64", ArchSet::BOTH, 0, [V_F32, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_f32_fp8, Format::Vop3a, 406, "v_cvt_pk_f32_fp8_e64", ArchSet::BOTH, 0, [V_F32X2, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_f32_bf8, Format::Vop3a, 407, "v_cvt_pk_f32_bf8_e64", ArchSet::BOTH, 0, [V_F32X2, NO], [X_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_prng_b32, Format::Vop3a, 408, "v_prng_b32_e64", ArchSet::GFX950, 0, [V_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_permlane16_swap_b32, Format::Vop3a, 409, "v_permlane16_swap_b32_e64", ArchSet::GFX950, 0, [RW_V_B32, NO], [RW_V_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 3, 0, Mods::FETCH), Implicit::EXEC_READ),
    row(Op::v_permlane32_swap_b32, Format::Vop3a, 410, "v_permlane32_swap_b32_e64", ArchSet::GFX950, 0, [RW_V_B32, NO], [RW_V_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 3, 0, Mods::FETCH), Implicit::EXEC_READ),
    row(Op::v_cvt_f32_bf16, Format::Vop3a, 411, "v_cvt_f32_bf16_e64", ArchSet::GFX950, 0, [V_F32, NO], [X_BF16, NO, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mad_i32_i24, Format::Vop3a, 450, "v_mad_i32_i24", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_u32_u24, Format::Vop3a, 451, "v_mad_u32_u24", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cubeid_f32, Format::Vop3a, 452, "v_cubeid_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cubesc_f32, Format::Vop3a, 453, "v_cubesc_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cubetc_f32, Format::Vop3a, 454, "v_cubetc_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cubema_f32, Format::Vop3a, 455, "v_cubema_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_bfe_u32, Format::Vop3a, 456, "v_bfe_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_bfe_i32, Format::Vop3a, 457, "v_bfe_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_bfi_b32, Format::Vop3a, 458, "v_bfi_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_fma_f32, Format::Vop3a, 459, "v_fma_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_fma_f64, Format::Vop3a, 460, "v_fma_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, X_F64, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_lerp_u8, Format::Vop3a, 461, "v_lerp_u8", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_alignbit_b32, Format::Vop3a, 462, "v_alignbit_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_alignbyte_b32, Format::Vop3a, 463, "v_alignbyte_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_min3_f32, Format::Vop3a, 464, "v_min3_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min3_i32, Format::Vop3a, 465, "v_min3_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_min3_u32, Format::Vop3a, 466, "v_min3_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_max3_f32, Format::Vop3a, 467, "v_max3_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max3_i32, Format::Vop3a, 468, "v_max3_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_max3_u32, Format::Vop3a, 469, "v_max3_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_med3_f32, Format::Vop3a, 470, "v_med3_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_med3_i32, Format::Vop3a, 471, "v_med3_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_med3_u32, Format::Vop3a, 472, "v_med3_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_sad_u8, Format::Vop3a, 473, "v_sad_u8", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sad_hi_u8, Format::Vop3a, 474, "v_sad_hi_u8", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sad_u16, Format::Vop3a, 475, "v_sad_u16", ArchSet::BOTH, 0, [V_B32, NO], [X_B16X2, X_B16X2, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sad_u32, Format::Vop3a, 476, "v_sad_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_u8_f32, Format::Vop3a, 477, "v_cvt_pk_u8_f32", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, X_B32, X_B32, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_div_fixup_f32, Format::Vop3a, 478, "v_div_fixup_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_div_fixup_f64, Format::Vop3a, 479, "v_div_fixup_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, X_F64, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_div_fmas_f32, Format::Vop3a, 482, "v_div_fmas_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ | Implicit::VCC_READ),
    row(Op::v_div_fmas_f64, Format::Vop3a, 483, "v_div_fmas_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, X_F64, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ | Implicit::VCC_READ),
    row(Op::v_msad_u8, Format::Vop3a, 484, "v_msad_u8", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_qsad_pk_u16_u8, Format::Vop3a, 485, "v_qsad_pk_u16_u8", ArchSet::BOTH, 0, [V_B64, NO], [X_B64, X_B16, X_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mqsad_pk_u16_u8, Format::Vop3a, 486, "v_mqsad_pk_u16_u8", ArchSet::BOTH, 0, [V_B64, NO], [X_B64, X_B16, X_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mqsad_u32_u8, Format::Vop3a, 487, "v_mqsad_u32_u8", ArchSet::BOTH, 0, [V_B32X4, NO], [X_B64, X_B32, V_B32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_legacy_f16, Format::Vop3a, 490, "v_mad_legacy_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mad_legacy_u16, Format::Vop3a, 491, "v_mad_legacy_u16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_legacy_i16, Format::Vop3a, 492, "v_mad_legacy_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_perm_b32, Format::Vop3a, 493, "v_perm_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_fma_legacy_f16, Format::Vop3a, 494, "v_fma_legacy_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_div_fixup_legacy_f16, Format::Vop3a, 495, "v_div_fixup_legacy_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_pkaccum_u8_f32, Format::Vop3a, 496, "v_cvt_pkaccum_u8_f32", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_u32_u16, Format::Vop3a, 497, "v_mad_u32_u16", ArchSet::BOTH, 0, [V_B32, NO], [X_B16, X_B16, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_i32_i16, Format::Vop3a, 498, "v_mad_i32_i16", ArchSet::BOTH, 0, [V_B32, NO], [X_B16, X_B16, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_xad_u32, Format::Vop3a, 499, "v_xad_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_min3_f16, Format::Vop3a, 500, "v_min3_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min3_i16, Format::Vop3a, 501, "v_min3_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_min3_u16, Format::Vop3a, 502, "v_min3_u16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_max3_f16, Format::Vop3a, 503, "v_max3_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max3_i16, Format::Vop3a, 504, "v_max3_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_max3_u16, Format::Vop3a, 505, "v_max3_u16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_med3_f16, Format::Vop3a, 506, "v_med3_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_med3_i16, Format::Vop3a, 507, "v_med3_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_med3_u16, Format::Vop3a, 508, "v_med3_u16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_lshl_add_u32, Format::Vop3a, 509, "v_lshl_add_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_add_lshl_u32, Format::Vop3a, 510, "v_add_lshl_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_add3_u32, Format::Vop3a, 511, "v_add3_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshl_or_b32, Format::Vop3a, 512, "v_lshl_or_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_and_or_b32, Format::Vop3a, 513, "v_and_or_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_or3_b32, Format::Vop3a, 514, "v_or3_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mad_f16, Format::Vop3a, 515, "v_mad_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mad_u16, Format::Vop3a, 516, "v_mad_u16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_i16, Format::Vop3a, 517, "v_mad_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_fma_f16, Format::Vop3a, 518, "v_fma_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_div_fixup_f16, Format::Vop3a, 519, "v_div_fixup_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F16, X_F16, X_F16, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_lshl_add_u64, Format::Vop3a, 520, "v_lshl_add_u64", ArchSet::BOTH, 0, [V_B64, NO], [X_B64, X_B32, X_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_bitop3_b16, Format::Vop3a, 563, "v_bitop3_b16", ArchSet::GFX950, 0, [V_B16, NO], [X_B16, X_B16, X_B16, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, Mods::BITOP3), Implicit::EXEC_READ),
    row(Op::v_bitop3_b32, Format::Vop3a, 564, "v_bitop3_b32", ArchSet::GFX950, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BITOP3), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_fp8_f32, Format::Vop3a, 565, "v_cvt_scalef32_pk_fp8_f32", ArchSet::GFX950, 0, [V_B32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_bf8_f32, Format::Vop3a, 566, "v_cvt_scalef32_pk_bf8_f32", ArchSet::GFX950, 0, [V_B32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_fp8_f32, Format::Vop3a, 567, "v_cvt_scalef32_sr_fp8_f32", ArchSet::GFX950, 0, [V_B32, NO], [X_F32, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_bf8_f32, Format::Vop3a, 568, "v_cvt_scalef32_sr_bf8_f32", ArchSet::GFX950, 0, [V_B32, NO], [X_F32, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_f32_fp8, Format::Vop3a, 569, "v_cvt_scalef32_pk_f32_fp8", ArchSet::GFX950, 0, [V_F32X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_f32_bf8, Format::Vop3a, 570, "v_cvt_scalef32_pk_f32_bf8", ArchSet::GFX950, 0, [V_F32X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_f32_fp8, Format::Vop3a, 571, "v_cvt_scalef32_f32_fp8", ArchSet::GFX950, 0, [V_F32, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_f32_bf8, Format::Vop3a, 572, "v_cvt_scalef32_f32_bf8", ArchSet::GFX950, 0, [V_F32, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_fp4_f32, Format::Vop3a, 573, "v_cvt_scalef32_pk_fp4_f32", ArchSet::GFX950, 0, [V_B32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk_fp4_f32, Format::Vop3a, 574, "v_cvt_scalef32_sr_pk_fp4_f32", ArchSet::GFX950, 0, [V_B32, NO], [X_F32X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_f32_fp4, Format::Vop3a, 575, "v_cvt_scalef32_pk_f32_fp4", ArchSet::GFX950, 0, [V_F32X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_fp8_f16, Format::Vop3a, 576, "v_cvt_scalef32_pk_fp8_f16", ArchSet::GFX950, 0, [V_B32, NO], [X_F16X2, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_bf8_f16, Format::Vop3a, 577, "v_cvt_scalef32_pk_bf8_f16", ArchSet::GFX950, 0, [V_B32, NO], [X_F16X2, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_fp8_f16, Format::Vop3a, 578, "v_cvt_scalef32_sr_fp8_f16", ArchSet::GFX950, 0, [V_B32, NO], [X_F16X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_bf8_f16, Format::Vop3a, 579, "v_cvt_scalef32_sr_bf8_f16", ArchSet::GFX950, 0, [V_B32, NO], [X_F16X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_fp8_bf16, Format::Vop3a, 580, "v_cvt_scalef32_pk_fp8_bf16", ArchSet::GFX950, 0, [V_B32, NO], [X_BF16X2, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_bf8_bf16, Format::Vop3a, 581, "v_cvt_scalef32_pk_bf8_bf16", ArchSet::GFX950, 0, [V_B32, NO], [X_BF16X2, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_fp8_bf16, Format::Vop3a, 582, "v_cvt_scalef32_sr_fp8_bf16", ArchSet::GFX950, 0, [V_B32, NO], [X_BF16X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_bf8_bf16, Format::Vop3a, 583, "v_cvt_scalef32_sr_bf8_bf16", ArchSet::GFX950, 0, [V_B32, NO], [X_BF16X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_f16_fp8, Format::Vop3a, 584, "v_cvt_scalef32_pk_f16_fp8", ArchSet::GFX950, 0, [V_F16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_f16_bf8, Format::Vop3a, 585, "v_cvt_scalef32_pk_f16_bf8", ArchSet::GFX950, 0, [V_F16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_f16_fp8, Format::Vop3a, 586, "v_cvt_scalef32_f16_fp8", ArchSet::GFX950, 0, [V_F16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_f16_bf8, Format::Vop3a, 587, "v_cvt_scalef32_f16_bf8", ArchSet::GFX950, 0, [V_F16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_fp4_f16, Format::Vop3a, 588, "v_cvt_scalef32_pk_fp4_f16", ArchSet::GFX950, 0, [V_B32, NO], [X_F16X2, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_fp4_bf16, Format::Vop3a, 589, "v_cvt_scalef32_pk_fp4_bf16", ArchSet::GFX950, 0, [V_B32, NO], [X_BF16X2, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk_fp4_f16, Format::Vop3a, 590, "v_cvt_scalef32_sr_pk_fp4_f16", ArchSet::GFX950, 0, [V_B32, NO], [X_F16X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk_fp4_bf16, Format::Vop3a, 591, "v_cvt_scalef32_sr_pk_fp4_bf16", ArchSet::GFX950, 0, [V_B32, NO], [X_BF16X2, X_B32, X_F32, NO, NO], Imm::None, mods(5, 5, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_f16_fp4, Format::Vop3a, 592, "v_cvt_scalef32_pk_f16_fp4", ArchSet::GFX950, 0, [V_F16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_bf16_fp4, Format::Vop3a, 593, "v_cvt_scalef32_pk_bf16_fp4", ArchSet::GFX950, 0, [V_BF16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_2xpk16_fp6_f32, Format::Vop3a, 594, "v_cvt_scalef32_2xpk16_fp6_f32", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F32X16, V_F32X16, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_2xpk16_bf6_f32, Format::Vop3a, 595, "v_cvt_scalef32_2xpk16_bf6_f32", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F32X16, V_F32X16, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk32_fp6_f32, Format::Vop3a, 596, "v_cvt_scalef32_sr_pk32_fp6_f32", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F32X32, X_B32, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk32_bf6_f32, Format::Vop3a, 597, "v_cvt_scalef32_sr_pk32_bf6_f32", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F32X32, X_B32, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_f32_fp6, Format::Vop3a, 598, "v_cvt_scalef32_pk32_f32_fp6", ArchSet::GFX950, 0, [V_F32X32, NO], [V_B32X6, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_f32_bf6, Format::Vop3a, 599, "v_cvt_scalef32_pk32_f32_bf6", ArchSet::GFX950, 0, [V_F32X32, NO], [V_B32X6, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_fp6_f16, Format::Vop3a, 600, "v_cvt_scalef32_pk32_fp6_f16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F16X32, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_fp6_bf16, Format::Vop3a, 601, "v_cvt_scalef32_pk32_fp6_bf16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_BF16X32, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_bf6_f16, Format::Vop3a, 602, "v_cvt_scalef32_pk32_bf6_f16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F16X32, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_bf6_bf16, Format::Vop3a, 603, "v_cvt_scalef32_pk32_bf6_bf16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_BF16X32, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk32_fp6_f16, Format::Vop3a, 604, "v_cvt_scalef32_sr_pk32_fp6_f16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F16X32, X_B32, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk32_fp6_bf16, Format::Vop3a, 605, "v_cvt_scalef32_sr_pk32_fp6_bf16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_BF16X32, X_B32, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk32_bf6_f16, Format::Vop3a, 606, "v_cvt_scalef32_sr_pk32_bf6_f16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_F16X32, X_B32, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_sr_pk32_bf6_bf16, Format::Vop3a, 607, "v_cvt_scalef32_sr_pk32_bf6_bf16", ArchSet::GFX950, 0, [V_B32X6, NO], [V_BF16X32, X_B32, X_F32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_f16_fp6, Format::Vop3a, 608, "v_cvt_scalef32_pk32_f16_fp6", ArchSet::GFX950, 0, [V_F16X32, NO], [V_B32X6, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_bf16_fp6, Format::Vop3a, 609, "v_cvt_scalef32_pk32_bf16_fp6", ArchSet::GFX950, 0, [V_BF16X32, NO], [V_B32X6, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_f16_bf6, Format::Vop3a, 610, "v_cvt_scalef32_pk32_f16_bf6", ArchSet::GFX950, 0, [V_F16X32, NO], [V_B32X6, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk32_bf16_bf6, Format::Vop3a, 611, "v_cvt_scalef32_pk32_bf16_bf6", ArchSet::GFX950, 0, [V_BF16X32, NO], [V_B32X6, X_F32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ashr_pk_i8_i32, Format::Vop3a, 613, "v_ashr_pk_i8_i32", ArchSet::GFX950, 0, [V_B16, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_ashr_pk_u8_i32, Format::Vop3a, 614, "v_ashr_pk_u8_i32", ArchSet::GFX950, 0, [V_B16, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(0, 0, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_f16_f32, Format::Vop3a, 615, "v_cvt_pk_f16_f32", ArchSet::GFX950, 0, [V_F16X2, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_bf16_f32, Format::Vop3a, 616, "v_cvt_pk_bf16_f32", ArchSet::GFX950, 0, [V_BF16X2, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_bf16_fp8, Format::Vop3a, 617, "v_cvt_scalef32_pk_bf16_fp8", ArchSet::GFX950, 0, [V_BF16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_scalef32_pk_bf16_bf8, Format::Vop3a, 618, "v_cvt_scalef32_pk_bf16_bf8", ArchSet::GFX950, 0, [V_BF16X2, NO], [X_B32, X_F32, NO, NO, NO], Imm::None, mods(2, 2, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_add_f64, Format::Vop3a, 640, "v_add_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_f64, Format::Vop3a, 641, "v_mul_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_min_f64, Format::Vop3a, 642, "v_min_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_max_f64, Format::Vop3a, 643, "v_max_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_F64, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_ldexp_f64, Format::Vop3a, 644, "v_ldexp_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mul_lo_u32, Format::Vop3a, 645, "v_mul_lo_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mul_hi_u32, Format::Vop3a, 646, "v_mul_hi_u32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mul_hi_i32, Format::Vop3a, 647, "v_mul_hi_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ldexp_f32, Format::Vop3a, 648, "v_ldexp_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_readlane_b32, Format::Vop3a, 649, "v_readlane_b32", ArchSet::BOTH, 0, [D_B32, NO], [V_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::v_writelane_b32, Format::Vop3a, 650, "v_writelane_b32", ArchSet::BOTH, 0, [RW_V_B32, NO], [S_B32, S_B32, NO, NO, NO], Imm::None, NM, 0),
    row(Op::v_bcnt_u32_b32, Format::Vop3a, 651, "v_bcnt_u32_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mbcnt_lo_u32_b32, Format::Vop3a, 652, "v_mbcnt_lo_u32_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_mbcnt_hi_u32_b32, Format::Vop3a, 653, "v_mbcnt_hi_u32_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshlrev_b64, Format::Vop3a, 655, "v_lshlrev_b64", ArchSet::BOTH, 0, [V_B64, NO], [X_B32, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_lshrrev_b64, Format::Vop3a, 656, "v_lshrrev_b64", ArchSet::BOTH, 0, [V_B64, NO], [X_B32, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_ashrrev_i64, Format::Vop3a, 657, "v_ashrrev_i64", ArchSet::BOTH, 0, [V_B64, NO], [X_B32, X_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_trig_preop_f64, Format::Vop3a, 658, "v_trig_preop_f64", ArchSet::BOTH, 0, [V_F64, NO], [X_F64, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_bfm_b32, Format::Vop3a, 659, "v_bfm_b32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_pknorm_i16_f32, Format::Vop3a, 660, "v_cvt_pknorm_i16_f32", ArchSet::BOTH, 0, [V_B16X2, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_pknorm_u16_f32, Format::Vop3a, 661, "v_cvt_pknorm_u16_f32", ArchSet::BOTH, 0, [V_B16X2, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_pkrtz_f16_f32, Format::Vop3a, 662, "v_cvt_pkrtz_f16_f32", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_u16_u32, Format::Vop3a, 663, "v_cvt_pk_u16_u32", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_pk_i16_i32, Format::Vop3a, 664, "v_cvt_pk_i16_i32", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_cvt_pknorm_i16_f16, Format::Vop3a, 665, "v_cvt_pknorm_i16_f16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_cvt_pknorm_u16_f16, Format::Vop3a, 666, "v_cvt_pknorm_u16_f16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_add_i32, Format::Vop3a, 668, "v_add_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_i32, Format::Vop3a, 669, "v_sub_i32", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_add_i16, Format::Vop3a, 670, "v_add_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, mods(0, 0, 0, 11, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_i16, Format::Vop3a, 671, "v_sub_i16", ArchSet::BOTH, 0, [V_B16, NO], [X_B16, X_B16, NO, NO, NO], Imm::None, mods(0, 0, 0, 11, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pack_b32_f16, Format::Vop3a, 672, "v_pack_b32_f16", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F16, X_F16, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mul_legacy_f32, Format::Vop3a, 673, "v_mul_legacy_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_fp8_f32, Format::Vop3a, 674, "v_cvt_pk_fp8_f32", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_pk_bf8_f32, Format::Vop3a, 675, "v_cvt_pk_bf8_f32", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, X_F32, NO, NO, NO], Imm::None, mods(3, 3, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_sr_fp8_f32, Format::Vop3a, 676, "v_cvt_sr_fp8_f32", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_sr_bf8_f32, Format::Vop3a, 677, "v_cvt_sr_bf8_f32", ArchSet::BOTH, 0, [V_B32, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 15, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_sr_f16_f32, Format::Vop3a, 678, "v_cvt_sr_f16_f32", ArchSet::GFX950, 0, [V_F16, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_cvt_sr_bf16_f32, Format::Vop3a, 679, "v_cvt_sr_bf16_f32", ArchSet::GFX950, 0, [V_BF16, NO], [X_F32, X_B32, NO, NO, NO], Imm::None, mods(1, 1, 0, 11, 0, 0), Implicit::EXEC_READ),
    row(Op::v_minimum3_f32, Format::Vop3a, 680, "v_minimum3_f32", ArchSet::GFX950, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_maximum3_f32, Format::Vop3a, 681, "v_maximum3_f32", ArchSet::GFX950, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    // Vop3b
    row(Op::v_add_co_u32, Format::Vop3b, 281, "v_add_co_u32_e64", ArchSet::BOTH, 0, [V_B32, D_B64], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_sub_co_u32, Format::Vop3b, 282, "v_sub_co_u32_e64", ArchSet::BOTH, 0, [V_B32, D_B64], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subrev_co_u32, Format::Vop3b, 283, "v_subrev_co_u32_e64", ArchSet::BOTH, 0, [V_B32, D_B64], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_addc_co_u32, Format::Vop3b, 284, "v_addc_co_u32_e64", ArchSet::BOTH, 0, [V_B32, D_B64], [X_B32, X_B32, N_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subb_co_u32, Format::Vop3b, 285, "v_subb_co_u32_e64", ArchSet::BOTH, 0, [V_B32, D_B64], [X_B32, X_B32, N_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_subbrev_co_u32, Format::Vop3b, 286, "v_subbrev_co_u32_e64", ArchSet::BOTH, 0, [V_B32, D_B64], [X_B32, X_B32, N_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_div_scale_f32, Format::Vop3b, 480, "v_div_scale_f32", ArchSet::BOTH, 0, [V_F32, D_B64], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_div_scale_f64, Format::Vop3b, 481, "v_div_scale_f64", ArchSet::BOTH, 0, [V_F64, D_B64], [X_F64, X_F64, X_F64, NO, NO], Imm::None, mods(7, 0, 0, 0, 0, Mods::CLAMP | Mods::OMOD), Implicit::EXEC_READ),
    row(Op::v_mad_u64_u32, Format::Vop3b, 488, "v_mad_u64_u32", ArchSet::BOTH, 0, [V_B64, D_B64], [X_B32, X_B32, X_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mad_i64_i32, Format::Vop3b, 489, "v_mad_i64_i32", ArchSet::BOTH, 0, [V_B64, D_B64], [X_B32, X_B32, X_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    // Vop3p
    row(Op::v_pk_mad_i16, Format::Vop3p, 0, "v_pk_mad_i16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, X_B16X2, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_mul_lo_u16, Format::Vop3p, 1, "v_pk_mul_lo_u16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_add_i16, Format::Vop3p, 2, "v_pk_add_i16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_sub_i16, Format::Vop3p, 3, "v_pk_sub_i16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_lshlrev_b16, Format::Vop3p, 4, "v_pk_lshlrev_b16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_lshrrev_b16, Format::Vop3p, 5, "v_pk_lshrrev_b16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_ashrrev_i16, Format::Vop3p, 6, "v_pk_ashrrev_i16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_max_i16, Format::Vop3p, 7, "v_pk_max_i16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_min_i16, Format::Vop3p, 8, "v_pk_min_i16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_mad_u16, Format::Vop3p, 9, "v_pk_mad_u16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, X_B16X2, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_add_u16, Format::Vop3p, 10, "v_pk_add_u16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_sub_u16, Format::Vop3p, 11, "v_pk_sub_u16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_max_u16, Format::Vop3p, 12, "v_pk_max_u16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_min_u16, Format::Vop3p, 13, "v_pk_min_u16", ArchSet::BOTH, 0, [V_B16X2, NO], [X_B16X2, X_B16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_fma_f16, Format::Vop3p, 14, "v_pk_fma_f16", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, X_F16X2, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_add_f16, Format::Vop3p, 15, "v_pk_add_f16", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_mul_f16, Format::Vop3p, 16, "v_pk_mul_f16", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_min_f16, Format::Vop3p, 17, "v_pk_min_f16", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_max_f16, Format::Vop3p, 18, "v_pk_max_f16", ArchSet::BOTH, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2_f32_bf16, Format::Vop3p, 26, "v_dot2_f32_bf16", ArchSet::GFX950, 0, [V_F32, NO], [X_BF16X2, X_BF16X2, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_minimum3_f16, Format::Vop3p, 27, "v_pk_minimum3_f16", ArchSet::GFX950, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, X_F16X2, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_maximum3_f16, Format::Vop3p, 28, "v_pk_maximum3_f16", ArchSet::GFX950, 0, [V_F16X2, NO], [X_F16X2, X_F16X2, X_F16X2, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_fma_mix_f32, Format::Vop3p, 32, "v_fma_mix_f32", ArchSet::BOTH, 0, [V_F32, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::MIX | Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_fma_mixlo_f16, Format::Vop3p, 33, "v_fma_mixlo_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::MIX | Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_fma_mixhi_f16, Format::Vop3p, 34, "v_fma_mixhi_f16", ArchSet::BOTH, 0, [V_F16, NO], [X_F32, X_F32, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::MIX | Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2_f32_f16, Format::Vop3p, 35, "v_dot2_f32_f16", ArchSet::BOTH, 0, [V_F32, NO], [X_F16X2, X_F16X2, X_F32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2_i32_i16, Format::Vop3p, 38, "v_dot2_i32_i16", ArchSet::BOTH, 0, [V_B32, NO], [X_B16X2, X_B16X2, X_B32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot2_u32_u16, Format::Vop3p, 39, "v_dot2_u32_u16", ArchSet::BOTH, 0, [V_B32, NO], [X_B16X2, X_B16X2, X_B32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot4_i32_i8, Format::Vop3p, 40, "v_dot4_i32_i8", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot4_u32_u8, Format::Vop3p, 41, "v_dot4_u32_u8", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot8_i32_i4, Format::Vop3p, 42, "v_dot8_i32_i4", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_dot8_u32_u4, Format::Vop3p, 43, "v_dot8_u32_u4", ArchSet::BOTH, 0, [V_B32, NO], [X_B32, X_B32, X_B32, NO, NO], Imm::None, mods(7, 7, 0, 0, 0, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_mfma_ld_scale_b32, Format::Vop3p, 44, "v_mfma_ld_scale_b32", ArchSet::GFX950, 0, [NO, NO], [X_B32, X_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 3, 3, 0), 0),
    row(Op::v_pk_fma_f32, Format::Vop3p, 48, "v_pk_fma_f32", ArchSet::BOTH, 0, [V_F32X2, NO], [X_F32X2, X_F32X2, X_F32X2, NO, NO], Imm::None, mods(7, 7, 0, 7, 7, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_mul_f32, Format::Vop3p, 49, "v_pk_mul_f32", ArchSet::BOTH, 0, [V_F32X2, NO], [X_F32X2, X_F32X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_add_f32, Format::Vop3p, 50, "v_pk_add_f32", ArchSet::BOTH, 0, [V_F32X2, NO], [X_F32X2, X_F32X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    row(Op::v_pk_mov_b32, Format::Vop3p, 51, "v_pk_mov_b32", ArchSet::BOTH, 0, [V_B32X2, NO], [X_B32X2, X_B32X2, NO, NO, NO], Imm::None, mods(3, 3, 0, 3, 3, Mods::CLAMP), Implicit::EXEC_READ),
    // Mai
    row(Op::v_mfma_f32_16x16x128_f8f6f4, Format::Mai, 45, "v_mfma_f32_16x16x128_f8f6f4", ArchSet::GFX950, 0, [W_F32X4, NO], [W_B32X8, W_B32X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::FMT), 0),
    row(Op::v_mfma_f32_32x32x64_f8f6f4, Format::Mai, 46, "v_mfma_f32_32x32x64_f8f6f4", ArchSet::GFX950, 0, [W_F32X16, NO], [W_B32X8, W_B32X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::FMT), 0),
    row(Op::v_mfma_f32_16x16x32_bf16, Format::Mai, 53, "v_mfma_f32_16x16x32_bf16", ArchSet::GFX950, 0, [W_F32X4, NO], [W_BF16X8, W_BF16X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_i32_16x16x64_i8, Format::Mai, 54, "v_mfma_i32_16x16x64_i8", ArchSet::GFX950, 0, [W_B32X4, NO], [W_B32X4, W_B32X4, C_B32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x16_bf16, Format::Mai, 55, "v_mfma_f32_32x32x16_bf16", ArchSet::GFX950, 0, [W_F32X16, NO], [W_BF16X8, W_BF16X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_i32_32x32x32_i8, Format::Mai, 56, "v_mfma_i32_32x32x32_i8", ArchSet::GFX950, 0, [W_B32X16, NO], [W_B32X4, W_B32X4, C_B32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_16x16x64_bf16, Format::Mai, 57, "v_smfmac_f32_16x16x64_bf16", ArchSet::GFX950, 0, [RW_W_F32X4, NO], [W_BF16X8, W_BF16X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_i32_16x16x128_i8, Format::Mai, 58, "v_smfmac_i32_16x16x128_i8", ArchSet::GFX950, 0, [RW_W_B32X4, NO], [W_B32X4, W_B32X8, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x128_bf8_bf8, Format::Mai, 59, "v_smfmac_f32_16x16x128_bf8_bf8", ArchSet::GFX950, 0, [RW_W_F32X4, NO], [W_BF8X16, W_BF8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x128_bf8_fp8, Format::Mai, 60, "v_smfmac_f32_16x16x128_bf8_fp8", ArchSet::GFX950, 0, [RW_W_F32X4, NO], [W_BF8X16, W_FP8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x128_fp8_bf8, Format::Mai, 61, "v_smfmac_f32_16x16x128_fp8_bf8", ArchSet::GFX950, 0, [RW_W_F32X4, NO], [W_FP8X16, W_BF8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f32_16x16x8_xf32, Format::Mai, 62, "v_mfma_f32_16x16x8_xf32", ArchSet::BOTH, 0, [W_F32X4, NO], [W_XF32X2, W_XF32X2, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x4_xf32, Format::Mai, 63, "v_mfma_f32_32x32x4_xf32", ArchSet::BOTH, 0, [W_F32X16, NO], [W_XF32X2, W_XF32X2, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x1_2b_f32, Format::Mai, 64, "v_mfma_f32_32x32x1_2b_f32", ArchSet::BOTH, 0, [W_F32X32, NO], [W_F32, W_F32, C_F32X32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x1_4b_f32, Format::Mai, 65, "v_mfma_f32_16x16x1_4b_f32", ArchSet::BOTH, 0, [W_F32X16, NO], [W_F32, W_F32, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_4x4x1_16b_f32, Format::Mai, 66, "v_mfma_f32_4x4x1_16b_f32", ArchSet::BOTH, 0, [W_F32X4, NO], [W_F32, W_F32, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_16x16x128_fp8_fp8, Format::Mai, 67, "v_smfmac_f32_16x16x128_fp8_fp8", ArchSet::GFX950, 0, [RW_W_F32X4, NO], [W_FP8X16, W_FP8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f32_32x32x2_f32, Format::Mai, 68, "v_mfma_f32_32x32x2_f32", ArchSet::BOTH, 0, [W_F32X16, NO], [W_F32, W_F32, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x4_f32, Format::Mai, 69, "v_mfma_f32_16x16x4_f32", ArchSet::BOTH, 0, [W_F32X4, NO], [W_F32, W_F32, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_32x32x32_bf16, Format::Mai, 70, "v_smfmac_f32_32x32x32_bf16", ArchSet::GFX950, 0, [RW_W_F32X16, NO], [W_BF16X8, W_BF16X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_i32_32x32x64_i8, Format::Mai, 71, "v_smfmac_i32_32x32x64_i8", ArchSet::GFX950, 0, [RW_W_B32X16, NO], [W_B32X4, W_B32X8, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f32_32x32x4_2b_f16, Format::Mai, 72, "v_mfma_f32_32x32x4_2b_f16", ArchSet::BOTH, 0, [W_F32X32, NO], [W_F16X4, W_F16X4, C_F32X32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x4_4b_f16, Format::Mai, 73, "v_mfma_f32_16x16x4_4b_f16", ArchSet::BOTH, 0, [W_F32X16, NO], [W_F16X4, W_F16X4, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_4x4x4_16b_f16, Format::Mai, 74, "v_mfma_f32_4x4x4_16b_f16", ArchSet::BOTH, 0, [W_F32X4, NO], [W_F16X4, W_F16X4, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_32x32x64_bf8_bf8, Format::Mai, 75, "v_smfmac_f32_32x32x64_bf8_bf8", ArchSet::GFX950, 0, [RW_W_F32X16, NO], [W_BF8X16, W_BF8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f32_32x32x8_f16, Format::Mai, 76, "v_mfma_f32_32x32x8_f16", ArchSet::BOTH, 0, [W_F32X16, NO], [W_F16X4, W_F16X4, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x16_f16, Format::Mai, 77, "v_mfma_f32_16x16x16_f16", ArchSet::BOTH, 0, [W_F32X4, NO], [W_F16X4, W_F16X4, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_32x32x64_bf8_fp8, Format::Mai, 78, "v_smfmac_f32_32x32x64_bf8_fp8", ArchSet::GFX950, 0, [RW_W_F32X16, NO], [W_BF8X16, W_FP8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x64_fp8_bf8, Format::Mai, 79, "v_smfmac_f32_32x32x64_fp8_bf8", ArchSet::GFX950, 0, [RW_W_F32X16, NO], [W_FP8X16, W_BF8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_i32_32x32x4_2b_i8, Format::Mai, 80, "v_mfma_i32_32x32x4_2b_i8", ArchSet::BOTH, 0, [W_B32X32, NO], [W_B32, W_B32, C_B32X32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_i32_16x16x4_4b_i8, Format::Mai, 81, "v_mfma_i32_16x16x4_4b_i8", ArchSet::BOTH, 0, [W_B32X16, NO], [W_B32, W_B32, C_B32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_i32_4x4x4_16b_i8, Format::Mai, 82, "v_mfma_i32_4x4x4_16b_i8", ArchSet::BOTH, 0, [W_B32X4, NO], [W_B32, W_B32, C_B32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_32x32x64_fp8_fp8, Format::Mai, 83, "v_smfmac_f32_32x32x64_fp8_fp8", ArchSet::GFX950, 0, [RW_W_F32X16, NO], [W_FP8X16, W_FP8X32, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f32_16x16x32_f16, Format::Mai, 84, "v_mfma_f32_16x16x32_f16", ArchSet::GFX950, 0, [W_F32X4, NO], [W_F16X8, W_F16X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x16_f16, Format::Mai, 85, "v_mfma_f32_32x32x16_f16", ArchSet::GFX950, 0, [W_F32X16, NO], [W_F16X8, W_F16X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_i32_32x32x16_i8, Format::Mai, 86, "v_mfma_i32_32x32x16_i8", ArchSet::BOTH, 0, [W_B32X16, NO], [W_B32X2, W_B32X2, C_B32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_i32_16x16x32_i8, Format::Mai, 87, "v_mfma_i32_16x16x32_i8", ArchSet::BOTH, 0, [W_B32X4, NO], [W_B32X2, W_B32X2, C_B32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_accvgpr_read_b32, Format::Mai, 88, "v_accvgpr_read_b32", ArchSet::BOTH, 0, [V_B32, NO], [A_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_accvgpr_write_b32, Format::Mai, 89, "v_accvgpr_write_b32", ArchSet::BOTH, 0, [A_B32, NO], [X_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::v_smfmac_f32_16x16x64_f16, Format::Mai, 90, "v_smfmac_f32_16x16x64_f16", ArchSet::GFX950, 0, [RW_W_F32X4, NO], [W_F16X8, W_F16X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x32_f16, Format::Mai, 91, "v_smfmac_f32_32x32x32_f16", ArchSet::GFX950, 0, [RW_W_F32X16, NO], [W_F16X8, W_F16X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f32_32x32x4_2b_bf16, Format::Mai, 93, "v_mfma_f32_32x32x4_2b_bf16", ArchSet::BOTH, 0, [W_F32X32, NO], [W_BF16X4, W_BF16X4, C_F32X32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x4_4b_bf16, Format::Mai, 94, "v_mfma_f32_16x16x4_4b_bf16", ArchSet::BOTH, 0, [W_F32X16, NO], [W_BF16X4, W_BF16X4, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_4x4x4_16b_bf16, Format::Mai, 95, "v_mfma_f32_4x4x4_16b_bf16", ArchSet::BOTH, 0, [W_F32X4, NO], [W_BF16X4, W_BF16X4, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x8_bf16, Format::Mai, 96, "v_mfma_f32_32x32x8_bf16", ArchSet::BOTH, 0, [W_F32X16, NO], [W_BF16X4, W_BF16X4, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x16_bf16, Format::Mai, 97, "v_mfma_f32_16x16x16_bf16", ArchSet::BOTH, 0, [W_F32X4, NO], [W_BF16X4, W_BF16X4, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_16x16x32_f16, Format::Mai, 98, "v_smfmac_f32_16x16x32_f16", ArchSet::BOTH, 0, [RW_W_F32X4, NO], [W_F16X4, W_F16X8, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x16_f16, Format::Mai, 100, "v_smfmac_f32_32x32x16_f16", ArchSet::BOTH, 0, [RW_W_F32X16, NO], [W_F16X4, W_F16X8, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x32_bf16, Format::Mai, 102, "v_smfmac_f32_16x16x32_bf16", ArchSet::BOTH, 0, [RW_W_F32X4, NO], [W_BF16X4, W_BF16X8, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x16_bf16, Format::Mai, 104, "v_smfmac_f32_32x32x16_bf16", ArchSet::BOTH, 0, [RW_W_F32X16, NO], [W_BF16X4, W_BF16X8, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_i32_16x16x64_i8, Format::Mai, 106, "v_smfmac_i32_16x16x64_i8", ArchSet::BOTH, 0, [RW_W_B32X4, NO], [W_B32X2, W_B32X4, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_i32_32x32x32_i8, Format::Mai, 108, "v_smfmac_i32_32x32x32_i8", ArchSet::BOTH, 0, [RW_W_B32X16, NO], [W_B32X2, W_B32X4, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_mfma_f64_16x16x4_f64, Format::Mai, 110, "v_mfma_f64_16x16x4_f64", ArchSet::BOTH, 0, [W_F64X4, NO], [W_F64, W_F64, C_F64X4, NO, NO], Imm::None, mods(7, 0, 0, 0, 0, Mods::BCAST), 0),
    row(Op::v_mfma_f64_4x4x4_4b_f64, Format::Mai, 111, "v_mfma_f64_4x4x4_4b_f64", ArchSet::BOTH, 0, [W_F64, NO], [W_F64, W_F64, C_F64, NO, NO], Imm::None, mods(7, 0, 0, 0, 0, Mods::BCAST), 0),
    row(Op::v_mfma_f32_16x16x32_bf8_bf8, Format::Mai, 112, "v_mfma_f32_16x16x32_bf8_bf8", ArchSet::BOTH, 0, [W_F32X4, NO], [W_BF8X8, W_BF8X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x32_bf8_fp8, Format::Mai, 113, "v_mfma_f32_16x16x32_bf8_fp8", ArchSet::BOTH, 0, [W_F32X4, NO], [W_BF8X8, W_FP8X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x32_fp8_bf8, Format::Mai, 114, "v_mfma_f32_16x16x32_fp8_bf8", ArchSet::BOTH, 0, [W_F32X4, NO], [W_FP8X8, W_BF8X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_16x16x32_fp8_fp8, Format::Mai, 115, "v_mfma_f32_16x16x32_fp8_fp8", ArchSet::BOTH, 0, [W_F32X4, NO], [W_FP8X8, W_FP8X8, C_F32X4, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x16_bf8_bf8, Format::Mai, 116, "v_mfma_f32_32x32x16_bf8_bf8", ArchSet::BOTH, 0, [W_F32X16, NO], [W_BF8X8, W_BF8X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x16_bf8_fp8, Format::Mai, 117, "v_mfma_f32_32x32x16_bf8_fp8", ArchSet::BOTH, 0, [W_F32X16, NO], [W_BF8X8, W_FP8X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x16_fp8_bf8, Format::Mai, 118, "v_mfma_f32_32x32x16_fp8_bf8", ArchSet::BOTH, 0, [W_F32X16, NO], [W_FP8X8, W_BF8X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_mfma_f32_32x32x16_fp8_fp8, Format::Mai, 119, "v_mfma_f32_32x32x16_fp8_fp8", ArchSet::BOTH, 0, [W_F32X16, NO], [W_FP8X8, W_FP8X8, C_F32X16, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::BCAST | Mods::BLGP), 0),
    row(Op::v_smfmac_f32_16x16x64_bf8_bf8, Format::Mai, 120, "v_smfmac_f32_16x16x64_bf8_bf8", ArchSet::BOTH, 0, [RW_W_F32X4, NO], [W_BF8X8, W_BF8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x64_bf8_fp8, Format::Mai, 121, "v_smfmac_f32_16x16x64_bf8_fp8", ArchSet::BOTH, 0, [RW_W_F32X4, NO], [W_BF8X8, W_FP8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x64_fp8_bf8, Format::Mai, 122, "v_smfmac_f32_16x16x64_fp8_bf8", ArchSet::BOTH, 0, [RW_W_F32X4, NO], [W_FP8X8, W_BF8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_16x16x64_fp8_fp8, Format::Mai, 123, "v_smfmac_f32_16x16x64_fp8_fp8", ArchSet::BOTH, 0, [RW_W_F32X4, NO], [W_FP8X8, W_FP8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x32_bf8_bf8, Format::Mai, 124, "v_smfmac_f32_32x32x32_bf8_bf8", ArchSet::BOTH, 0, [RW_W_F32X16, NO], [W_BF8X8, W_BF8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x32_bf8_fp8, Format::Mai, 125, "v_smfmac_f32_32x32x32_bf8_fp8", ArchSet::BOTH, 0, [RW_W_F32X16, NO], [W_BF8X8, W_FP8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x32_fp8_bf8, Format::Mai, 126, "v_smfmac_f32_32x32x32_fp8_bf8", ArchSet::BOTH, 0, [RW_W_F32X16, NO], [W_FP8X8, W_BF8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    row(Op::v_smfmac_f32_32x32x32_fp8_fp8, Format::Mai, 127, "v_smfmac_f32_32x32x32_fp8_fp8", ArchSet::BOTH, 0, [RW_W_F32X16, NO], [W_FP8X8, W_FP8X16, V_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::INDEX), 0),
    // Vop3px2
    row(Op::v_mfma_scale_f32_16x16x128_f8f6f4, Format::Vop3px2, 45, "v_mfma_scale_f32_16x16x128_f8f6f4", ArchSet::GFX950, 0, [W_F32X4, NO], [W_B32X8, W_B32X8, C_F32X4, X_B32, X_B32], Imm::None, mods(0, 0, 0, 0, 0, Mods::FMT), 0),
    row(Op::v_mfma_scale_f32_32x32x64_f8f6f4, Format::Vop3px2, 46, "v_mfma_scale_f32_32x32x64_f8f6f4", ArchSet::GFX950, 0, [W_F32X16, NO], [W_B32X8, W_B32X8, C_F32X16, X_B32, X_B32], Imm::None, mods(0, 0, 0, 0, 0, Mods::FMT), 0),
    // Ds
    row(Op::ds_add_u32, Format::Ds, 0, "ds_add_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_sub_u32, Format::Ds, 1, "ds_sub_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_rsub_u32, Format::Ds, 2, "ds_rsub_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_inc_u32, Format::Ds, 3, "ds_inc_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_dec_u32, Format::Ds, 4, "ds_dec_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_i32, Format::Ds, 5, "ds_min_i32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_i32, Format::Ds, 6, "ds_max_i32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_u32, Format::Ds, 7, "ds_min_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_u32, Format::Ds, 8, "ds_max_u32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_and_b32, Format::Ds, 9, "ds_and_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_or_b32, Format::Ds, 10, "ds_or_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_xor_b32, Format::Ds, 11, "ds_xor_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_mskor_b32, Format::Ds, 12, "ds_mskor_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_b32, Format::Ds, 13, "ds_write_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write2_b32, Format::Ds, 14, "ds_write2_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_write2st64_b32, Format::Ds, 15, "ds_write2st64_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_cmpst_b32, Format::Ds, 16, "ds_cmpst_b32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_cmpst_f32, Format::Ds, 17, "ds_cmpst_f32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_f32, Format::Ds, 18, "ds_min_f32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_f32, Format::Ds, 19, "ds_max_f32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_nop, Format::Ds, 20, "ds_nop", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::NOADDR), 0),
    row(Op::ds_add_f32, Format::Ds, 21, "ds_add_f32", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_pk_add_f16, Format::Ds, 23, "ds_pk_add_f16", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_pk_add_bf16, Format::Ds, 24, "ds_pk_add_bf16", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_addtid_b32, Format::Ds, 29, "ds_write_addtid_b32", ArchSet::BOTH, 0, [NO, NO], [NO, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_write_b8, Format::Ds, 30, "ds_write_b8", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_b16, Format::Ds, 31, "ds_write_b16", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_add_rtn_u32, Format::Ds, 32, "ds_add_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_sub_rtn_u32, Format::Ds, 33, "ds_sub_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_rsub_rtn_u32, Format::Ds, 34, "ds_rsub_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_inc_rtn_u32, Format::Ds, 35, "ds_inc_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_dec_rtn_u32, Format::Ds, 36, "ds_dec_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_rtn_i32, Format::Ds, 37, "ds_min_rtn_i32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_rtn_i32, Format::Ds, 38, "ds_max_rtn_i32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_rtn_u32, Format::Ds, 39, "ds_min_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_rtn_u32, Format::Ds, 40, "ds_max_rtn_u32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_and_rtn_b32, Format::Ds, 41, "ds_and_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_or_rtn_b32, Format::Ds, 42, "ds_or_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_xor_rtn_b32, Format::Ds, 43, "ds_xor_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_mskor_rtn_b32, Format::Ds, 44, "ds_mskor_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_wrxchg_rtn_b32, Format::Ds, 45, "ds_wrxchg_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_wrxchg2_rtn_b32, Format::Ds, 46, "ds_wrxchg2_rtn_b32", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_wrxchg2st64_rtn_b32, Format::Ds, 47, "ds_wrxchg2st64_rtn_b32", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_cmpst_rtn_b32, Format::Ds, 48, "ds_cmpst_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_cmpst_rtn_f32, Format::Ds, 49, "ds_cmpst_rtn_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_rtn_f32, Format::Ds, 50, "ds_min_rtn_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_rtn_f32, Format::Ds, 51, "ds_max_rtn_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_wrap_rtn_b32, Format::Ds, 52, "ds_wrap_rtn_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, W_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_add_rtn_f32, Format::Ds, 53, "ds_add_rtn_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b32, Format::Ds, 54, "ds_read_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read2_b32, Format::Ds, 55, "ds_read2_b32", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_read2st64_b32, Format::Ds, 56, "ds_read2st64_b32", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_read_i8, Format::Ds, 57, "ds_read_i8", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_u8, Format::Ds, 58, "ds_read_u8", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_i16, Format::Ds, 59, "ds_read_i16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_u16, Format::Ds, 60, "ds_read_u16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_swizzle_b32, Format::Ds, 61, "ds_swizzle_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::Swizzle, NM, Implicit::EXEC_READ),
    row(Op::ds_permute_b32, Format::Ds, 62, "ds_permute_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_bpermute_b32, Format::Ds, 63, "ds_bpermute_b32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_add_u64, Format::Ds, 64, "ds_add_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_sub_u64, Format::Ds, 65, "ds_sub_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_rsub_u64, Format::Ds, 66, "ds_rsub_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_inc_u64, Format::Ds, 67, "ds_inc_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_dec_u64, Format::Ds, 68, "ds_dec_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_i64, Format::Ds, 69, "ds_min_i64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_i64, Format::Ds, 70, "ds_max_i64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_u64, Format::Ds, 71, "ds_min_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_u64, Format::Ds, 72, "ds_max_u64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_and_b64, Format::Ds, 73, "ds_and_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_or_b64, Format::Ds, 74, "ds_or_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_xor_b64, Format::Ds, 75, "ds_xor_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_mskor_b64, Format::Ds, 76, "ds_mskor_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_b64, Format::Ds, 77, "ds_write_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write2_b64, Format::Ds, 78, "ds_write2_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_write2st64_b64, Format::Ds, 79, "ds_write2st64_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_cmpst_b64, Format::Ds, 80, "ds_cmpst_b64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_cmpst_f64, Format::Ds, 81, "ds_cmpst_f64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_f64, Format::Ds, 82, "ds_min_f64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_f64, Format::Ds, 83, "ds_max_f64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_b8_d16_hi, Format::Ds, 84, "ds_write_b8_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_b16_d16_hi, Format::Ds, 85, "ds_write_b16_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_u8_d16, Format::Ds, 86, "ds_read_u8_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_u8_d16_hi, Format::Ds, 87, "ds_read_u8_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_i8_d16, Format::Ds, 88, "ds_read_i8_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_i8_d16_hi, Format::Ds, 89, "ds_read_i8_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_u16_d16, Format::Ds, 90, "ds_read_u16_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_u16_d16_hi, Format::Ds, 91, "ds_read_u16_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_add_f64, Format::Ds, 92, "ds_add_f64", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_add_rtn_u64, Format::Ds, 96, "ds_add_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_sub_rtn_u64, Format::Ds, 97, "ds_sub_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_rsub_rtn_u64, Format::Ds, 98, "ds_rsub_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_inc_rtn_u64, Format::Ds, 99, "ds_inc_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_dec_rtn_u64, Format::Ds, 100, "ds_dec_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_rtn_i64, Format::Ds, 101, "ds_min_rtn_i64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_rtn_i64, Format::Ds, 102, "ds_max_rtn_i64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_rtn_u64, Format::Ds, 103, "ds_min_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_rtn_u64, Format::Ds, 104, "ds_max_rtn_u64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_and_rtn_b64, Format::Ds, 105, "ds_and_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_or_rtn_b64, Format::Ds, 106, "ds_or_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_xor_rtn_b64, Format::Ds, 107, "ds_xor_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_mskor_rtn_b64, Format::Ds, 108, "ds_mskor_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_wrxchg_rtn_b64, Format::Ds, 109, "ds_wrxchg_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_wrxchg2_rtn_b64, Format::Ds, 110, "ds_wrxchg2_rtn_b64", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_wrxchg2st64_rtn_b64, Format::Ds, 111, "ds_wrxchg2st64_rtn_b64", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_cmpst_rtn_b64, Format::Ds, 112, "ds_cmpst_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_cmpst_rtn_f64, Format::Ds, 113, "ds_cmpst_rtn_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, W_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_min_rtn_f64, Format::Ds, 114, "ds_min_rtn_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_max_rtn_f64, Format::Ds, 115, "ds_max_rtn_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b64, Format::Ds, 118, "ds_read_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read2_b64, Format::Ds, 119, "ds_read2_b64", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_read2st64_b64, Format::Ds, 120, "ds_read2st64_b64", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::OFF2), Implicit::EXEC_READ),
    row(Op::ds_add_rtn_f64, Format::Ds, 124, "ds_add_rtn_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_condxchg32_rtn_b64, Format::Ds, 126, "ds_condxchg32_rtn_b64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_gws_sema_release_all, Format::Ds, 152, "ds_gws_sema_release_all", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::GDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_gws_init, Format::Ds, 153, "ds_gws_init", ArchSet::BOTH, 0, [NO, NO], [W_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::GDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_gws_sema_v, Format::Ds, 154, "ds_gws_sema_v", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::GDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_gws_sema_br, Format::Ds, 155, "ds_gws_sema_br", ArchSet::BOTH, 0, [NO, NO], [W_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::GDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_gws_sema_p, Format::Ds, 156, "ds_gws_sema_p", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::GDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_gws_barrier, Format::Ds, 157, "ds_gws_barrier", ArchSet::BOTH, 0, [NO, NO], [W_B32, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::GDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_read_addtid_b32, Format::Ds, 182, "ds_read_addtid_b32", ArchSet::BOTH, 0, [W_B32, NO], [NO, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_pk_add_rtn_f16, Format::Ds, 183, "ds_pk_add_rtn_f16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_pk_add_rtn_bf16, Format::Ds, 184, "ds_pk_add_rtn_bf16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_consume, Format::Ds, 189, "ds_consume", ArchSet::BOTH, 0, [W_B32, NO], [NO, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_append, Format::Ds, 190, "ds_append", ArchSet::BOTH, 0, [W_B32, NO], [NO, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::ds_write_b96, Format::Ds, 222, "ds_write_b96", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32X3, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_write_b128, Format::Ds, 223, "ds_write_b128", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32X4, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b64_tr_b4, Format::Ds, 224, "ds_read_b64_tr_b4", ArchSet::GFX950, 0, [W_B64, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b96_tr_b6, Format::Ds, 225, "ds_read_b96_tr_b6", ArchSet::GFX950, 0, [W_B32X3, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b64_tr_b8, Format::Ds, 226, "ds_read_b64_tr_b8", ArchSet::GFX950, 0, [W_B64, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b64_tr_b16, Format::Ds, 227, "ds_read_b64_tr_b16", ArchSet::GFX950, 0, [W_B64, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b96, Format::Ds, 254, "ds_read_b96", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::ds_read_b128, Format::Ds, 255, "ds_read_b128", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    // Flat
    row(Op::flat_load_ubyte, Format::Flat, 16, "flat_load_ubyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_sbyte, Format::Flat, 17, "flat_load_sbyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_ushort, Format::Flat, 18, "flat_load_ushort", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_sshort, Format::Flat, 19, "flat_load_sshort", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_dword, Format::Flat, 20, "flat_load_dword", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_dwordx2, Format::Flat, 21, "flat_load_dwordx2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_dwordx3, Format::Flat, 22, "flat_load_dwordx3", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_dwordx4, Format::Flat, 23, "flat_load_dwordx4", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_byte, Format::Flat, 24, "flat_store_byte", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_byte_d16_hi, Format::Flat, 25, "flat_store_byte_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_short, Format::Flat, 26, "flat_store_short", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_short_d16_hi, Format::Flat, 27, "flat_store_short_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_dword, Format::Flat, 28, "flat_store_dword", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_dwordx2, Format::Flat, 29, "flat_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_dwordx3, Format::Flat, 30, "flat_store_dwordx3", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32X3, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_store_dwordx4, Format::Flat, 31, "flat_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32X4, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_ubyte_d16, Format::Flat, 32, "flat_load_ubyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_ubyte_d16_hi, Format::Flat, 33, "flat_load_ubyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_sbyte_d16, Format::Flat, 34, "flat_load_sbyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_sbyte_d16_hi, Format::Flat, 35, "flat_load_sbyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_short_d16, Format::Flat, 36, "flat_load_short_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_load_short_d16_hi, Format::Flat, 37, "flat_load_short_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, NO, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_swap, Format::Flat, 64, "flat_atomic_swap", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_cmpswap, Format::Flat, 65, "flat_atomic_cmpswap", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_add, Format::Flat, 66, "flat_atomic_add", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_sub, Format::Flat, 67, "flat_atomic_sub", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_smin, Format::Flat, 68, "flat_atomic_smin", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_umin, Format::Flat, 69, "flat_atomic_umin", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_smax, Format::Flat, 70, "flat_atomic_smax", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_umax, Format::Flat, 71, "flat_atomic_umax", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_and, Format::Flat, 72, "flat_atomic_and", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_or, Format::Flat, 73, "flat_atomic_or", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_xor, Format::Flat, 74, "flat_atomic_xor", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_inc, Format::Flat, 75, "flat_atomic_inc", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_dec, Format::Flat, 76, "flat_atomic_dec", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_add_f32, Format::Flat, 77, "flat_atomic_add_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_pk_add_f16, Format::Flat, 78, "flat_atomic_pk_add_f16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_add_f64, Format::Flat, 79, "flat_atomic_add_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_min_f64, Format::Flat, 80, "flat_atomic_min_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_max_f64, Format::Flat, 81, "flat_atomic_max_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_pk_add_bf16, Format::Flat, 82, "flat_atomic_pk_add_bf16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_swap_x2, Format::Flat, 96, "flat_atomic_swap_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_cmpswap_x2, Format::Flat, 97, "flat_atomic_cmpswap_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B32X4, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_add_x2, Format::Flat, 98, "flat_atomic_add_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_sub_x2, Format::Flat, 99, "flat_atomic_sub_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_smin_x2, Format::Flat, 100, "flat_atomic_smin_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_umin_x2, Format::Flat, 101, "flat_atomic_umin_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_smax_x2, Format::Flat, 102, "flat_atomic_smax_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_umax_x2, Format::Flat, 103, "flat_atomic_umax_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_and_x2, Format::Flat, 104, "flat_atomic_and_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_or_x2, Format::Flat, 105, "flat_atomic_or_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_xor_x2, Format::Flat, 106, "flat_atomic_xor_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_inc_x2, Format::Flat, 107, "flat_atomic_inc_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::flat_atomic_dec_x2, Format::Flat, 108, "flat_atomic_dec_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    // Scratch
    row(Op::scratch_load_ubyte, Format::Scratch, 16, "scratch_load_ubyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_sbyte, Format::Scratch, 17, "scratch_load_sbyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_ushort, Format::Scratch, 18, "scratch_load_ushort", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_sshort, Format::Scratch, 19, "scratch_load_sshort", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_dword, Format::Scratch, 20, "scratch_load_dword", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_dwordx2, Format::Scratch, 21, "scratch_load_dwordx2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_dwordx3, Format::Scratch, 22, "scratch_load_dwordx3", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_dwordx4, Format::Scratch, 23, "scratch_load_dwordx4", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_byte, Format::Scratch, 24, "scratch_store_byte", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_byte_d16_hi, Format::Scratch, 25, "scratch_store_byte_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_short, Format::Scratch, 26, "scratch_store_short", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_short_d16_hi, Format::Scratch, 27, "scratch_store_short_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_dword, Format::Scratch, 28, "scratch_store_dword", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_dwordx2, Format::Scratch, 29, "scratch_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B64, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_dwordx3, Format::Scratch, 30, "scratch_store_dwordx3", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32X3, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_store_dwordx4, Format::Scratch, 31, "scratch_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [V_B32, W_B32X4, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_ubyte_d16, Format::Scratch, 32, "scratch_load_ubyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_ubyte_d16_hi, Format::Scratch, 33, "scratch_load_ubyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_sbyte_d16, Format::Scratch, 34, "scratch_load_sbyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_sbyte_d16_hi, Format::Scratch, 35, "scratch_load_sbyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_short_d16, Format::Scratch, 36, "scratch_load_short_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_short_d16_hi, Format::Scratch, 37, "scratch_load_short_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, NM, Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ),
    row(Op::scratch_load_lds_ubyte, Format::Scratch, 38, "scratch_load_lds_ubyte", ArchSet::BOTH, 0, [NO, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ | Implicit::M0_READ),
    row(Op::scratch_load_lds_sbyte, Format::Scratch, 39, "scratch_load_lds_sbyte", ArchSet::BOTH, 0, [NO, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ | Implicit::M0_READ),
    row(Op::scratch_load_lds_ushort, Format::Scratch, 40, "scratch_load_lds_ushort", ArchSet::BOTH, 0, [NO, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ | Implicit::M0_READ),
    row(Op::scratch_load_lds_sshort, Format::Scratch, 41, "scratch_load_lds_sshort", ArchSet::BOTH, 0, [NO, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ | Implicit::M0_READ),
    row(Op::scratch_load_lds_dword, Format::Scratch, 42, "scratch_load_lds_dword", ArchSet::BOTH, 0, [NO, NO], [V_B32, NO, R_B32, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::FLAT_SCRATCH_READ | Implicit::M0_READ),
    // Global
    row(Op::global_load_ubyte, Format::Global, 16, "global_load_ubyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_sbyte, Format::Global, 17, "global_load_sbyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_ushort, Format::Global, 18, "global_load_ushort", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_sshort, Format::Global, 19, "global_load_sshort", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_dword, Format::Global, 20, "global_load_dword", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_dwordx2, Format::Global, 21, "global_load_dwordx2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_dwordx3, Format::Global, 22, "global_load_dwordx3", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_dwordx4, Format::Global, 23, "global_load_dwordx4", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_byte, Format::Global, 24, "global_store_byte", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_byte_d16_hi, Format::Global, 25, "global_store_byte_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_short, Format::Global, 26, "global_store_short", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_short_d16_hi, Format::Global, 27, "global_store_short_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_dword, Format::Global, 28, "global_store_dword", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_dwordx2, Format::Global, 29, "global_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_dwordx3, Format::Global, 30, "global_store_dwordx3", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32X3, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_store_dwordx4, Format::Global, 31, "global_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [V_B64, W_B32X4, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_ubyte_d16, Format::Global, 32, "global_load_ubyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_ubyte_d16_hi, Format::Global, 33, "global_load_ubyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_sbyte_d16, Format::Global, 34, "global_load_sbyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_sbyte_d16_hi, Format::Global, 35, "global_load_sbyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_short_d16, Format::Global, 36, "global_load_short_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_short_d16_hi, Format::Global, 37, "global_load_short_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::global_load_lds_ubyte, Format::Global, 38, "global_load_lds_ubyte", ArchSet::BOTH, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::global_load_lds_sbyte, Format::Global, 39, "global_load_lds_sbyte", ArchSet::BOTH, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::global_load_lds_ushort, Format::Global, 40, "global_load_lds_ushort", ArchSet::BOTH, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::global_load_lds_sshort, Format::Global, 41, "global_load_lds_sshort", ArchSet::BOTH, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::global_load_lds_dword, Format::Global, 42, "global_load_lds_dword", ArchSet::BOTH, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::global_atomic_swap, Format::Global, 64, "global_atomic_swap", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_cmpswap, Format::Global, 65, "global_atomic_cmpswap", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_add, Format::Global, 66, "global_atomic_add", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_sub, Format::Global, 67, "global_atomic_sub", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_smin, Format::Global, 68, "global_atomic_smin", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_umin, Format::Global, 69, "global_atomic_umin", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_smax, Format::Global, 70, "global_atomic_smax", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_umax, Format::Global, 71, "global_atomic_umax", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_and, Format::Global, 72, "global_atomic_and", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_or, Format::Global, 73, "global_atomic_or", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_xor, Format::Global, 74, "global_atomic_xor", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_inc, Format::Global, 75, "global_atomic_inc", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_dec, Format::Global, 76, "global_atomic_dec", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_add_f32, Format::Global, 77, "global_atomic_add_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_pk_add_f16, Format::Global, 78, "global_atomic_pk_add_f16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_add_f64, Format::Global, 79, "global_atomic_add_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_min_f64, Format::Global, 80, "global_atomic_min_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_max_f64, Format::Global, 81, "global_atomic_max_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_pk_add_bf16, Format::Global, 82, "global_atomic_pk_add_bf16", ArchSet::BOTH, 0, [W_B32, NO], [V_B64, W_B32, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_swap_x2, Format::Global, 96, "global_atomic_swap_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_cmpswap_x2, Format::Global, 97, "global_atomic_cmpswap_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B32X4, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_add_x2, Format::Global, 98, "global_atomic_add_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_sub_x2, Format::Global, 99, "global_atomic_sub_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_smin_x2, Format::Global, 100, "global_atomic_smin_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_umin_x2, Format::Global, 101, "global_atomic_umin_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_smax_x2, Format::Global, 102, "global_atomic_smax_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_umax_x2, Format::Global, 103, "global_atomic_umax_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_and_x2, Format::Global, 104, "global_atomic_and_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_or_x2, Format::Global, 105, "global_atomic_or_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_xor_x2, Format::Global, 106, "global_atomic_xor_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_inc_x2, Format::Global, 107, "global_atomic_inc_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_atomic_dec_x2, Format::Global, 108, "global_atomic_dec_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B64, W_B64, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::global_load_lds_dwordx4, Format::Global, 125, "global_load_lds_dwordx4", ArchSet::GFX950, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    row(Op::global_load_lds_dwordx3, Format::Global, 126, "global_load_lds_dwordx3", ArchSet::GFX950, 0, [NO, NO], [V_B64, NO, R_B64, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDS), Implicit::EXEC_READ | Implicit::M0_READ),
    // Mubuf
    row(Op::buffer_load_format_x, Format::Mubuf, 0, "buffer_load_format_x", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT), Implicit::EXEC_READ),
    row(Op::buffer_load_format_xy, Format::Mubuf, 1, "buffer_load_format_xy", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_xyz, Format::Mubuf, 2, "buffer_load_format_xyz", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_xyzw, Format::Mubuf, 3, "buffer_load_format_xyzw", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_x, Format::Mubuf, 4, "buffer_store_format_x", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_xy, Format::Mubuf, 5, "buffer_store_format_xy", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_xyz, Format::Mubuf, 6, "buffer_store_format_xyz", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32X3, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_xyzw, Format::Mubuf, 7, "buffer_store_format_xyzw", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32X4, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_d16_x, Format::Mubuf, 8, "buffer_load_format_d16_x", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_d16_xy, Format::Mubuf, 9, "buffer_load_format_d16_xy", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_d16_xyz, Format::Mubuf, 10, "buffer_load_format_d16_xyz", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_d16_xyzw, Format::Mubuf, 11, "buffer_load_format_d16_xyzw", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_d16_x, Format::Mubuf, 12, "buffer_store_format_d16_x", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_d16_xy, Format::Mubuf, 13, "buffer_store_format_d16_xy", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_d16_xyz, Format::Mubuf, 14, "buffer_store_format_d16_xyz", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_d16_xyzw, Format::Mubuf, 15, "buffer_store_format_d16_xyzw", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_ubyte, Format::Mubuf, 16, "buffer_load_ubyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT), Implicit::EXEC_READ),
    row(Op::buffer_load_sbyte, Format::Mubuf, 17, "buffer_load_sbyte", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT), Implicit::EXEC_READ),
    row(Op::buffer_load_ushort, Format::Mubuf, 18, "buffer_load_ushort", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT), Implicit::EXEC_READ),
    row(Op::buffer_load_sshort, Format::Mubuf, 19, "buffer_load_sshort", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT), Implicit::EXEC_READ),
    row(Op::buffer_load_dword, Format::Mubuf, 20, "buffer_load_dword", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT), Implicit::EXEC_READ),
    row(Op::buffer_load_dwordx2, Format::Mubuf, 21, "buffer_load_dwordx2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_dwordx3, Format::Mubuf, 22, "buffer_load_dwordx3", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT950), Implicit::EXEC_READ),
    row(Op::buffer_load_dwordx4, Format::Mubuf, 23, "buffer_load_dwordx4", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::LDSBIT950), Implicit::EXEC_READ),
    row(Op::buffer_store_byte, Format::Mubuf, 24, "buffer_store_byte", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_byte_d16_hi, Format::Mubuf, 25, "buffer_store_byte_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_short, Format::Mubuf, 26, "buffer_store_short", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_short_d16_hi, Format::Mubuf, 27, "buffer_store_short_d16_hi", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_dword, Format::Mubuf, 28, "buffer_store_dword", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_dwordx2, Format::Mubuf, 29, "buffer_store_dwordx2", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_dwordx3, Format::Mubuf, 30, "buffer_store_dwordx3", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32X3, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_dwordx4, Format::Mubuf, 31, "buffer_store_dwordx4", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32X4, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_ubyte_d16, Format::Mubuf, 32, "buffer_load_ubyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_ubyte_d16_hi, Format::Mubuf, 33, "buffer_load_ubyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_sbyte_d16, Format::Mubuf, 34, "buffer_load_sbyte_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_sbyte_d16_hi, Format::Mubuf, 35, "buffer_load_sbyte_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_short_d16, Format::Mubuf, 36, "buffer_load_short_d16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_short_d16_hi, Format::Mubuf, 37, "buffer_load_short_d16_hi", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_load_format_d16_hi_x, Format::Mubuf, 38, "buffer_load_format_d16_hi_x", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_store_format_d16_hi_x, Format::Mubuf, 39, "buffer_store_format_d16_hi_x", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, NM, Implicit::EXEC_READ),
    row(Op::buffer_wbl2, Format::Mubuf, 40, "buffer_wbl2", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::NOADDR), 0),
    row(Op::buffer_inv, Format::Mubuf, 41, "buffer_inv", ArchSet::BOTH, 0, [NO, NO], [NO, NO, NO, NO, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::NOADDR), 0),
    row(Op::buffer_atomic_swap, Format::Mubuf, 64, "buffer_atomic_swap", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_cmpswap, Format::Mubuf, 65, "buffer_atomic_cmpswap", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_add, Format::Mubuf, 66, "buffer_atomic_add", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_sub, Format::Mubuf, 67, "buffer_atomic_sub", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_smin, Format::Mubuf, 68, "buffer_atomic_smin", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_umin, Format::Mubuf, 69, "buffer_atomic_umin", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_smax, Format::Mubuf, 70, "buffer_atomic_smax", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_umax, Format::Mubuf, 71, "buffer_atomic_umax", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_and, Format::Mubuf, 72, "buffer_atomic_and", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_or, Format::Mubuf, 73, "buffer_atomic_or", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_xor, Format::Mubuf, 74, "buffer_atomic_xor", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_inc, Format::Mubuf, 75, "buffer_atomic_inc", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_dec, Format::Mubuf, 76, "buffer_atomic_dec", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_add_f32, Format::Mubuf, 77, "buffer_atomic_add_f32", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_pk_add_f16, Format::Mubuf, 78, "buffer_atomic_pk_add_f16", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_add_f64, Format::Mubuf, 79, "buffer_atomic_add_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_min_f64, Format::Mubuf, 80, "buffer_atomic_min_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_max_f64, Format::Mubuf, 81, "buffer_atomic_max_f64", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_pk_add_bf16, Format::Mubuf, 82, "buffer_atomic_pk_add_bf16", ArchSet::GFX950, 0, [W_B32, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_swap_x2, Format::Mubuf, 96, "buffer_atomic_swap_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_cmpswap_x2, Format::Mubuf, 97, "buffer_atomic_cmpswap_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B32X4, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_add_x2, Format::Mubuf, 98, "buffer_atomic_add_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_sub_x2, Format::Mubuf, 99, "buffer_atomic_sub_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_smin_x2, Format::Mubuf, 100, "buffer_atomic_smin_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_umin_x2, Format::Mubuf, 101, "buffer_atomic_umin_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_smax_x2, Format::Mubuf, 102, "buffer_atomic_smax_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_umax_x2, Format::Mubuf, 103, "buffer_atomic_umax_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_and_x2, Format::Mubuf, 104, "buffer_atomic_and_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_or_x2, Format::Mubuf, 105, "buffer_atomic_or_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_xor_x2, Format::Mubuf, 106, "buffer_atomic_xor_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_inc_x2, Format::Mubuf, 107, "buffer_atomic_inc_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    row(Op::buffer_atomic_dec_x2, Format::Mubuf, 108, "buffer_atomic_dec_x2", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::None, mods(0, 0, 0, 0, 0, Mods::RET), Implicit::EXEC_READ),
    // Mtbuf
    row(Op::tbuffer_load_format_x, Format::Mtbuf, 0, "tbuffer_load_format_x", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_xy, Format::Mtbuf, 1, "tbuffer_load_format_xy", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_xyz, Format::Mtbuf, 2, "tbuffer_load_format_xyz", ArchSet::BOTH, 0, [W_B32X3, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_xyzw, Format::Mtbuf, 3, "tbuffer_load_format_xyzw", ArchSet::BOTH, 0, [W_B32X4, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_x, Format::Mtbuf, 4, "tbuffer_store_format_x", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_xy, Format::Mtbuf, 5, "tbuffer_store_format_xy", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_xyz, Format::Mtbuf, 6, "tbuffer_store_format_xyz", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32X3, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_xyzw, Format::Mtbuf, 7, "tbuffer_store_format_xyzw", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32X4, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_d16_x, Format::Mtbuf, 8, "tbuffer_load_format_d16_x", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_d16_xy, Format::Mtbuf, 9, "tbuffer_load_format_d16_xy", ArchSet::BOTH, 0, [W_B32, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_d16_xyz, Format::Mtbuf, 10, "tbuffer_load_format_d16_xyz", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_load_format_d16_xyzw, Format::Mtbuf, 11, "tbuffer_load_format_d16_xyzw", ArchSet::BOTH, 0, [W_B64, NO], [V_B32X2, NO, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_d16_x, Format::Mtbuf, 12, "tbuffer_store_format_d16_x", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_d16_xy, Format::Mtbuf, 13, "tbuffer_store_format_d16_xy", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B32, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_d16_xyz, Format::Mtbuf, 14, "tbuffer_store_format_d16_xyz", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
    row(Op::tbuffer_store_format_d16_xyzw, Format::Mtbuf, 15, "tbuffer_store_format_d16_xyzw", ArchSet::BOTH, 0, [NO, NO], [V_B32X2, W_B64, R_B32X4, S_B32, NO], Imm::BufFormat, NM, Implicit::EXEC_READ),
];
