; Registers that were never written.

; case vgpr args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v7, 2                       ;+
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v1, v0, v7                  ;!uninit
  global_store_dword v0, v1, s[4:5]

; case one_lane args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_ne_u32_e32 vcc, 5, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_mov_b64 exec, s[6:7]                    ;-
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]         ;!uninit

; case sgpr_to_branch args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s9, 1                           ;+
  s_cmp_eq_u32 s9, 0                        ;!uninit
  s_cbranch_scc1 @end
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]
@end:

; case sgpr_to_address args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b32 s10, 256
  s_mov_b32 s11, 0x27000                    ;+
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  buffer_store_dword v0, v0, s[8:11], 0 offen ;!uninit

; case mask args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_mov_b32_e32 v2, 9                       ;+
  v_cmp_gt_u32_e32 vcc, v2, v0              ;!uninit
  s_and_saveexec_b64 s[6:7], vcc
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]

; A bit that is zero on one side is zero in the mask.
; case mask_bits args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  v_cmp_gt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v2, 5
  s_mov_b64 exec, s[6:7]
  v_cmp_eq_u32_e64 s[8:9], 5, v2            ;!uninit
  s_and_b64 s[8:9], s[8:9], vcc             ;+
  s_and_saveexec_b64 s[6:7], s[8:9]
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]

; case agpr args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_accvgpr_write_b32 a3, v0
  v_accvgpr_read_b32 v1, a2                 ;-!uninit
  v_accvgpr_read_b32 v1, a3                 ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; case accumulator args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v6, 0                       ;+
  v_mov_b32_e32 v4, 0
  v_mov_b32_e32 v5, 0
  v_mov_b32_e32 v7, 0
  s_nop 1
  v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[2:3], v[4:7] ;!uninit
  s_nop 15
  s_nop 1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v6, s[4:5]

; case selected_side args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_mov_b64 vcc, 0                          ;-
  s_mov_b64 vcc, -1                         ;+
  v_cndmask_b32_e32 v2, v9, v0, vcc         ;!uninit
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v2, s[4:5]

; case read_lane args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_mov_b64 exec, s[6:7]
  s_nop 1
  v_readlane_b32 s8, v1, 8                  ;-!uninit
  v_readlane_b32 s8, v1, 7                  ;+
  s_nop 1
  v_mov_b32_e32 v2, s8
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; case dpp args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v2, 15, v0
  v_cmp_ne_u32_e32 vcc, 0, v2
  v_lshlrev_b32_e32 v0, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_mov_b64 exec, s[6:7]
  s_nop 1
  v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0 ;-!uninit
  v_mov_b32_dpp v2, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0 ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; What a lane receives of one that is not active is zero.
; case dpp_inactive args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v2, 15, v0
  v_cmp_ne_u32_e32 vcc, 0, v2
  v_lshlrev_b32_e32 v0, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_mov_b64 exec, s[6:7]                    ;-
  s_nop 1
  v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0 ;!uninit
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; Of private memory each dword counts.
; case private_dword scratch=16 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 7
  scratch_store_dwordx2 off, v[2:3], off
  s_waitcnt vmcnt(0)
  scratch_load_dword v4, off, off offset:4  ;-!uninit
  scratch_load_dword v4, off, off           ;+
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v0, v4, s[4:5]

; case packed args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 3, v0
  v_mov_b32_e32 v2, 1.0
  v_pk_mul_f32 v[4:5], v[2:3], v[2:3]       ;-!uninit
  v_pk_mul_f32 v[4:5], v[2:3], v[2:3] op_sel_hi:[0,0] ;+
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v0, v[4:5], s[4:5]

; Exclusive or with itself is zero whatever the register holds.
; case cleared_by_xor args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, v2, v1                  ;-!uninit
  v_xor_b32_e32 v1, v1, v1                  ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; The low dword of a sum does not depend on the high dwords.
; case low_dword args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v4, 0
  v_mad_u64_u32 v[2:3], s[6:7], v0, 4, v[4:5] ;!uninit
  v_mov_b32_e32 v1, v3                      ;-
  v_mov_b32_e32 v1, v2                      ;+
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]
