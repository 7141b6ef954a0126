; Device memory.

; case past_the_end args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5] offset:4 ;-!memory
  global_store_dword v0, v0, s[4:5]         ;+

; case before_the_start args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5] offset:-4 ;-!memory
  global_load_dword v1, v0, s[4:5]          ;+
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[6:7]

; The last dword of a wide access is outside.
; case partly_outside args=in:1024,out:1024
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 4, v0
  s_waitcnt lgkmcnt(0)
  global_load_dwordx4 v[4:7], v0, s[4:5] offset:4 ;-!memory
  global_load_dwordx4 v[4:7], v0, s[4:5]    ;+
  s_waitcnt vmcnt(0)
  global_store_dwordx4 v0, v[4:7], s[6:7]

; case used_after_free args=freed:256,in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]          ;-!memory
  global_load_dword v1, v0, s[6:7]          ;+
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[8:9]

; Loads and stores may begin at any byte, atomics may not.
; case misaligned_atomic args=zero:512,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5] offset:2
  s_waitcnt vmcnt(0)
  global_atomic_add v0, v2, s[4:5] offset:2 ;-!memory
  global_atomic_add v0, v2, s[4:5] offset:4 ;+
  global_store_dword v0, v1, s[6:7]

; case write_to_input args=const:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[4:5]         ;-!memory
  global_store_dword v0, v1, s[6:7]         ;+

; Only metadata says so, and it is known to say so of outputs.
; case write_to_declared_input args=declared:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[4:5]         ;-?memory
  global_store_dword v0, v1, s[6:7]         ;+

; case unwritten_to_output args=out:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]         ;+
  global_load_dword v1, v0, s[4:5]          ;!memory
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v1, 1, v1
  global_store_dword v0, v1, s[6:7]

; case unwritten_to_branch args=out:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0              ;-!memory
  s_load_dword s8, s[0:1], 0x0              ;+
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 7
  s_cbranch_scc1 @end
  v_lshlrev_b32_e32 v0, 2, v0
  global_store_dword v0, v0, s[6:7]
@end:

; case unwritten_to_address args=out:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]         ;+
  global_load_dword v1, v0, s[4:5]          ;!memory
  s_waitcnt vmcnt(0)
  v_and_b32_e32 v1, 0xfc, v1
  global_store_dword v1, v3, s[6:7]

; Half of the vector is never written, but its value does not matter.
; case unwritten_and_unused args=out:1024,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 3, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  global_load_dwordx2 v[2:3], v1, s[4:5]    ;!memory
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v2, v3
  global_store_dword v0, v4, s[6:7]         ;-
  global_store_dword v0, v2, s[6:7]         ;+

; A descriptor that is too large lets through what it should cut off.
; case buffer_records args=in:200,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b32 s10, 256                        ;-
  s_mov_b32 s10, 200                        ;+
  s_mov_b32 s11, 0x27000
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s8, s4
  s_mov_b32 s9, s5
  buffer_load_dword v1, v0, s[8:11], 0 offen ;!memory
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[6:7]

; case atomic_on_unwritten args=out:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]         ;+
  global_atomic_add v2, v0, v1, s[4:5] sc0  ;!memory
  s_waitcnt vmcnt(0)
  global_store_dword v0, v2, s[6:7]

; A sum with what nobody wrote is nothing that was written.
; case sum_on_unwritten args=out:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v0, v1, s[4:5]          ;-
  global_atomic_swap v0, v1, s[4:5]         ;+
  s_waitcnt vmcnt(0)
  global_load_dword v2, v0, s[4:5]          ;!memory
  s_waitcnt vmcnt(0)
  global_store_dword v0, v2, s[6:7]

; case unwritten_through_lds lds=256 args=out:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]         ;+
  global_load_lds_dword v0, s[4:5]          ;!memory
  s_waitcnt vmcnt(0)
  ds_read_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[6:7]

; Of a wide load to LDS each dword counts.
; case unwritten_dword_through_lds arch=gfx950 lds=1024 args=out:1024,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, 0
  v_lshlrev_b32_e32 v1, 4, v0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 1
  v_mov_b32_e32 v3, 2
  s_waitcnt lgkmcnt(0)
  global_store_dwordx2 v1, v[2:3], s[4:5]
  s_waitcnt vmcnt(0)
  global_load_lds_dwordx4 v1, s[4:5]        ;!memory
  s_waitcnt vmcnt(0)
  ds_read_b32 v4, v1 offset:8               ;-
  ds_read_b32 v4, v1 offset:4               ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v4, s[6:7]

; Scalar loads ignore the low bits of their address, here those of a bf16 at an odd index.
; case unaligned_scalar args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s4, s4, 2                       ;-
  s_add_u32 s4, s4, 4                       ;+
  s_addc_u32 s5, s5, 0
  s_load_dwordx2 s[8:9], s[4:5], 0x8        ;!memory
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s9
  global_store_dword v0, v1, s[6:7]

; case unaligned_scalar_offset args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_movk_i32 s10, 0x2a                      ;-
  s_movk_i32 s10, 0x2c                      ;+
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], s10              ;!memory
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v1, s8
  global_store_dword v0, v1, s[6:7]

; Vector loads take any address, which a descriptor may have as its base as well.
; case unaligned_scalar_buffer args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b32 s10, 128
  s_mov_b32 s11, 0x27000
  s_waitcnt lgkmcnt(0)
  s_add_u32 s8, s4, 6
  s_addc_u32 s9, s5, 0
  s_buffer_load_dword s12, s[8:11], 0x10    ;-!memory
  buffer_load_dword v1, off, s[8:11], 0 offset:16 ;+
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_mov_b32_e32 v1, s12                     ;-
  global_store_dword v0, v1, s[6:7]
