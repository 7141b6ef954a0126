; What MODE changes about vector instructions: GPR indices move their operands, VSKIP skips them.

; case indexed_source args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v40, 7                      ;-
  v_mov_b32_e32 v41, 7                      ;+
  s_set_gpr_idx_on 1, gpr_idx(SRC0)
  v_mov_b32_e32 v3, v40
  s_set_gpr_idx_off
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]         ;!uninit

; case indexed_destination args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  s_set_gpr_idx_on 1, gpr_idx(DST)
  v_mov_b32_e32 v3, 7
  s_set_gpr_idx_off
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]         ;-!uninit
  global_store_dword v2, v4, s[4:5]         ;+

; case indexed_accumulator args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_accvgpr_write_b32 a40, 7                ;-
  v_accvgpr_write_b32 a56, 7                ;+
  s_set_gpr_idx_on 16, gpr_idx(SRC0)
  v_accvgpr_read_b32 v3, a40
  s_set_gpr_idx_off
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]         ;!uninit

; case indexed_matrix args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 4, v0
  v_mov_b32_e32 v10, 0
  v_mov_b32_e32 v11, 0
  v_mov_b32_e32 v12, 0
  v_mov_b32_e32 v13, 0
  v_mov_b32_e32 v14, 0                      ;+
  v_mov_b32_e32 v15, 0                      ;+
  s_set_gpr_idx_on 2, gpr_idx(SRC1)
  s_nop 3
  v_mfma_f32_16x16x16_f16 v[20:23], v[10:11], v[12:13], 0
  s_set_gpr_idx_off
  s_waitcnt lgkmcnt(0)
  s_nop 15
  s_nop 3
  global_store_dwordx4 v2, v[20:23], s[4:5] ;!uninit

; case indexed_wait args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v40, 7
  s_waitcnt lgkmcnt(0)
  global_load_dword v41, v2, s[4:5]
  s_waitcnt vmcnt(0)                        ;+
  s_set_gpr_idx_on 1, gpr_idx(SRC0)
  v_mov_b32_e32 v3, v40                     ;!async
  s_set_gpr_idx_off
  global_store_dword v2, v3, s[6:7]

; case indexed_past_a_load args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v41, 7
  s_waitcnt lgkmcnt(0)
  global_load_dword v40, v2, s[4:5]
  s_set_gpr_idx_on 1, gpr_idx(SRC0)         ;+
  s_nop 0                                   ;-
  v_mov_b32_e32 v3, v40                     ;!async
  s_set_gpr_idx_off
  global_store_dword v2, v3, s[6:7]

; case indexed_hazard args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v9, 3
  s_set_gpr_idx_on 1, gpr_idx(DST)
  v_mov_b32_e32 v8, 7
  s_set_gpr_idx_off
  s_nop 0                                   ;+
  v_mov_b32_dpp v3, v9 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf ;!hazard
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; case skipped_store args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 7
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]
  s_setvskip 1, 0                           ;+
  global_store_dword v2, v3, s[4:5] offset:256 ;!memory
  s_setvskip 0, 0

; case skipped_load args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 7
  s_waitcnt lgkmcnt(0)
  s_setvskip 1, 0                           ;+
  global_load_dword v3, v2, s[4:5]
  s_setvskip 0, 0
  global_store_dword v2, v3, s[6:7]         ;!async

; case skipped_value args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  s_setvskip 1, 0                           ;-
  v_mov_b32_e32 v3, 7
  s_setvskip 0, 0
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]         ;!uninit

; case skipped_lds lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, 7
  s_setvskip 1, 0                           ;+
  ds_write_b32 v2, v3 offset:256            ;!lds
  s_setvskip 0, 0
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]
