; Wait states between dependent instructions that the hardware does not check.

; case address_of_direct_load lds=256 args=in:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, 0
  s_nop 0                                   ;+
  global_load_lds_dword v0, s[4:5]          ;!hazard
  s_waitcnt vmcnt(0)

; case address_by_lane lds=256
  s_mov_b32 m0, 0
  s_nop 0                                   ;+
  ds_write_addtid_b32 v0                    ;!hazard

; case scalar_to_memory args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s4
  s_nop 0
  v_readfirstlane_b32 s4, v2
  s_nop 3                                   ;-
  s_nop 4                                   ;+
  global_store_dword v1, v0, s[4:5]         ;!hazard

; case lane_number
  v_readfirstlane_b32 s6, v0
  s_nop 2                                   ;-
  s_nop 3                                   ;+
  v_readlane_b32 s7, v0, s6                 ;!hazard

; case lane_number_to_write
  v_readfirstlane_b32 s6, v0
  s_nop 2                                   ;-
  s_nop 3                                   ;+
  v_writelane_b32 v1, 7, s6                 ;!hazard

; case division_mask
  v_cmp_lt_u32_e32 vcc, 5, v0
  s_nop 2                                   ;-
  s_nop 3                                   ;+
  v_div_fmas_f32 v1, v0, v0, v0             ;!hazard

; case mask_to_select
  v_cmp_lt_u32_e32 vcc, 5, v0
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_cndmask_b32_e32 v1, v0, v0, vcc         ;!hazard

; case carry
  v_add_co_u32_e64 v1, s[6:7], v0, v0
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_addc_co_u32_e64 v2, vcc, v0, v0, s[6:7] ;!hazard

; case exec_to_dpp
  v_cmpx_ge_u32_e32 vcc, 63, v0
  s_nop 3                                   ;-
  s_nop 4                                   ;+
  v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf ;!hazard

; case exec_to_lane
  v_cmpx_ge_u32_e32 vcc, 63, v0
  s_nop 2                                   ;-
  s_nop 3                                   ;+
  v_readfirstlane_b32 s6, v0                ;!hazard

; case exec_to_matrix
  v_cmpx_ge_u32_e32 vcc, 63, v0
  s_nop 2                                   ;-
  s_nop 3                                   ;+
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7] ;!hazard

; case exec_to_swap arch=gfx950
  v_cmpx_ge_u32_e32 vcc, 63, v0
  s_nop 2                                   ;-
  s_nop 3                                   ;+
  v_permlane32_swap_b32_e32 v1, v0          ;!hazard

; case vector_to_dpp
  v_add_u32_e32 v1, 1, v0
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_add_u32_dpp v2, v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf ;!hazard

; case vector_to_lane
  v_add_u32_e32 v1, 1, v0
  s_nop 0                                   ;+
  v_readlane_b32 s6, v1, 3                  ;!hazard

; case vector_to_swap arch=gfx950
  v_add_u32_e32 v1, 1, v0
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_permlane16_swap_b32_e32 v1, v0          ;!hazard

; case vector_to_matrix
  v_cvt_f16_f32_e32 v2, v0
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7] ;!hazard

; case vector_to_accumulator
  v_accvgpr_write_b32 a3, 0
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_mfma_f32_16x16x16_f16 a[0:3], v[2:3], v[2:3], a[0:3] ;!hazard

; A transcendental operation may follow another at once.
; case transcendental
  v_rcp_f32_e32 v1, v0
  v_exp_f32_e32 v1, v1
  s_nop 0                                   ;+
  v_mul_f32_e32 v1, v1, v0                  ;!hazard

; case high_half
  v_mad_u16 v1, v0, v0, v0 op_sel:[0,0,0,1]
  s_nop 0                                   ;+
  v_add_u32_e32 v2, v1, v0                  ;!hazard

; case byte_by_sdwa
  v_add_u32_sdwa v1, v0, v0 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD
  s_nop 0                                   ;+
  v_mov_b32_e32 v2, v1                      ;!hazard

; case second_pair_of_fp8
  v_cvt_pk_fp8_f32 v1, v0, v0
  v_mov_b32_e32 v2, v1
  v_cvt_pk_fp8_f32 v1, v0, v0 op_sel:[0,0,1]
  s_nop 0                                   ;+
  v_mov_b32_e32 v2, v1                      ;!hazard

; case fp4 arch=gfx950
  v_cvt_scalef32_sr_pk_fp4_f16 v1, v0, v0, v0
  s_nop 0                                   ;+
  v_mov_b32_e32 v2, v1                      ;!hazard

; case store_data args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v6, 0
  v_mov_b32_e32 v7, 0
  v_lshlrev_b32_e32 v1, 4, v0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx4 v1, v[4:7], s[4:5]   ;!hazard
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_mov_b32_e32 v6, 1

; Two registers are read at once.
; case store_data_of_three args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v6, 0
  v_lshlrev_b32_e32 v1, 4, v0
  s_waitcnt lgkmcnt(0)
  global_store_dwordx3 v1, v[4:6], s[4:5]   ;-!hazard
  global_store_dwordx2 v1, v[4:5], s[4:5]   ;+
  v_mov_b32_e32 v4, 1

; case mode
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  s_getreg_b32 s6, hwreg(HW_REG_MODE)       ;!hazard

; Only the accumulator of the same operation is forwarded.
; case dot_product
  v_dot2c_f32_f16_e32 v1, v0, v2
  v_dot2c_f32_f16_e32 v1, v0, v2
  s_nop 1                                   ;-
  s_nop 2                                   ;+
  v_add_f32_e32 v3, v1, v0                  ;!hazard

; case dot_product_as_factor
  v_dot2c_f32_f16_e32 v1, v0, v2
  s_nop 1                                   ;-
  s_nop 2                                   ;+
  v_dot2c_f32_f16_e32 v3, v1, v2            ;!hazard

; case dot_product_overwritten
  v_dot4_i32_i8 v1, v0, v2, v3
  s_nop 1                                   ;-
  s_nop 2                                   ;+
  v_mov_b32_e32 v1, 0                       ;!hazard

; case double_fma
  v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], v[8:15]
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_fma_f64 v[16:17], v[18:19], v[18:19], v[18:19] ;!hazard

; case matrix_read arch=gfx942
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7]
  s_nop 5                                   ;-
  s_nop 6                                   ;+
  v_add_f32_e32 v1, v7, v0                  ;!hazard

; case matrix_read_gfx950 arch=gfx950
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7]
  s_nop 6                                   ;-
  s_nop 7                                   ;+
  v_add_f32_e32 v1, v7, v0                  ;!hazard

; case large_matrix_stored args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  s_nop 0
  s_waitcnt lgkmcnt(0)
  v_mfma_f32_32x32x8_f16 v[4:19], v[2:3], v[2:3], 0
  s_nop 9                                   ;-
  s_nop 11                                  ;+
  global_store_dword v1, v4, s[4:5]         ;!hazard

; case four_blocks
  v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], v[4:7]
  s_nop 3                                   ;-
  s_nop 4                                   ;+
  v_add_f32_e32 v1, v4, v0                  ;!hazard

; case single_precision
  v_mfma_f32_16x16x4_f32 v[4:7], v2, v3, v[4:7]
  s_nop 8                                   ;-
  s_nop 9                                   ;+
  v_add_f32_e32 v1, v4, v0                  ;!hazard

; case double_precision arch=gfx942
  v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], v[8:15]
  s_nop 9                                   ;-
  s_nop 10                                  ;+
  v_add_f64 v[16:17], v[8:9], v[8:9]        ;!hazard

; case double_precision_gfx950 arch=gfx950
  v_mfma_f64_16x16x4_f64 v[8:15], v[2:3], v[4:5], v[8:15]
  s_nop 15
  s_nop 1                                   ;-
  s_nop 2                                   ;+
  v_add_f64 v[16:17], v[8:9], v[8:9]        ;!hazard

; case double_precision_small
  v_mfma_f64_4x4x4_4b_f64 v[8:9], v[2:3], v[4:5], v[8:9]
  s_nop 4                                   ;-
  s_nop 5                                   ;+
  v_add_f64 v[16:17], v[8:9], v[8:9]        ;!hazard

; case matrix_overwritten
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[8:11]
  s_nop 5                                   ;-
  s_nop 7                                   ;+
  v_mov_b32_e32 v5, 0                       ;!hazard

; case matrix_to_factor
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7]
  s_nop 5                                   ;-
  s_nop 7                                   ;+
  v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[2:3], v[8:11] ;!hazard

; The same registers are forwarded.
; case matrix_to_other_accumulator
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7]
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7] ;+
  v_mfma_f32_16x16x16_f16 v[6:9], v[2:3], v[2:3], v[6:9] ;-!hazard

; case smallest_matrix_to_accumulator
  v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], v[4:7]
  s_nop 0                                   ;-
  s_nop 1                                   ;+
  v_mfma_f32_4x4x4_16b_f16 v[4:7], v[2:3], v[2:3], v[4:7] ;!hazard

; case accumulator_overwritten
  v_mfma_f32_32x32x8_f16 v[32:47], v[2:3], v[2:3], v[4:19]
  s_nop 5                                   ;-
  s_nop 6                                   ;+
  v_mov_b32_e32 v19, 0                      ;!hazard

; case narrow_formats arch=gfx950
  v_mfma_f32_16x16x128_f8f6f4 v[4:7], v[8:15], v[16:19], v[4:7] blgp:4
  s_nop 7                                   ;-
  s_nop 11                                  ;+
  v_add_f32_e32 v1, v4, v0                  ;!hazard
  v_mfma_f32_16x16x128_f8f6f4 v[4:7], v[8:11], v[16:19], v[4:7] cbsz:4 blgp:4
  s_nop 7
  v_add_f32_e32 v1, v4, v0

; Wait states are counted along the way that is taken.
; case around_a_branch
  v_cmp_lt_u32_e32 vcc, 5, v0
  s_branch @on
  s_nop 4
@on:
  s_nop 0                                   ;+
  v_cndmask_b32_e32 v1, v0, v0, vcc         ;!hazard
