; LDS: bounds and values.

; case read_outside lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  ds_read_b32 v1, v0 offset:4               ;-!lds
  ds_read_b32 v1, v0                        ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; case write_outside lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write2_b32 v0, v0, v0 offset1:1        ;-!lds
  ds_write_b32 v0, v0                       ;+
  ds_read_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; case direct_outside lds=256 args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b32 m0, 4                           ;-
  s_mov_b32 m0, 0                           ;+
  s_waitcnt lgkmcnt(0)
  global_load_lds_dword v0, s[4:5]          ;!lds
  s_waitcnt vmcnt(0)
  ds_read_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[6:7]

; case misaligned_atomic lds=512 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 3, v0
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, 0
  ds_write_b64 v0, v[2:3]
  v_mov_b32_e32 v1, 4                       ;-
  v_mov_b32_e32 v1, 8                       ;+
  s_waitcnt lgkmcnt(0)
  ds_add_u64 v1, v[2:3]                     ;!lds
  s_waitcnt lgkmcnt(0)

; case never_written lds=512 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  ds_read_b32 v1, v0 offset:256             ;-!lds
  ds_read_b32 v1, v0                        ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; The second of two addresses.
; case never_written_pair lds=512 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  ds_read2_b32 v[2:3], v0 offset1:64        ;!lds
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v2, v2, v3                  ;-
  global_store_dword v0, v2, s[4:5]

; The padding of a tile reaches rows of a matrix product that nobody stores.
; case padding_rows lds=2048 args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 3, v0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 0x3c003c00
  v_mov_b32_e32 v3, v2
  v_and_b32_e32 v4, 0x38, v0
  v_cmp_gt_u32_e32 vcc, 16, v4
  s_and_saveexec_b64 s[6:7], vcc
  ds_write_b64 v1, v[2:3]
  s_mov_b64 exec, s[6:7]
  ds_read_b64 v[8:9], v1                    ;!lds
  v_mov_b32_e32 v10, v2
  v_mov_b32_e32 v11, v2
  s_nop 1
  s_waitcnt lgkmcnt(0)
  v_mfma_f32_16x16x16_f16 v[12:15], v[8:9], v[10:11], 0
  s_nop 15
  s_nop 1
  v_mov_b32_e32 v16, v12
  v_cmp_gt_u32_e32 vcc, 64, v0              ;+
  s_and_b64 exec, exec, vcc                 ;+
  global_store_dword v0, v16, s[4:5]

; case transposed_hole lds=1024 arch=gfx950 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 3, v0
  v_mov_b32_e32 v2, v0
  v_mov_b32_e32 v3, v0
  v_cmp_ne_u32_e32 vcc, 17, v0              ;-
  s_and_saveexec_b64 s[6:7], vcc            ;-
  ds_write_b64 v1, v[2:3]
  s_mov_b64 exec, s[6:7]                    ;-
  s_waitcnt lgkmcnt(0)
  ds_read_b64_tr_b16 v[4:5], v1             ;!lds
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v1, v[4:5], s[4:5]

; An exchange leaves nothing of what was there.
; case exchanged lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 1
  ds_add_rtn_u32 v2, v0, v1                 ;-
  ds_wrxchg_rtn_b32 v2, v0, v1              ;+
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v3, v0                        ;!lds
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; Undefined registers stay undefined in LDS.
; case stored_undefined lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v9, 1                       ;+
  ds_write_b32 v0, v9                       ;!uninit
  ds_read_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]
