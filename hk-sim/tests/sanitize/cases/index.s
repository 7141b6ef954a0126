; Addresses computed in 32 bits.

; As an `int`, the product is negative.
; case signed_product args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_add_u32_e32 v1, 0x20000, v0             ;-
  v_mov_b32_e32 v1, v0                      ;+
  s_movk_i32 s6, 0x4000                     ;-
  s_mov_b32 s6, 4                           ;+
  v_mul_lo_u32 v2, v1, s6                   ;!index
  v_ashrrev_i32_e32 v3, 31, v2
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], v[2:3], 0, s[4:5]
  global_store_dword v[2:3], v0, off

; case unsigned_product args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_add_u32_e32 v1, 0x20000, v0             ;-
  v_mov_b32_e32 v1, v0                      ;+
  s_mov_b32 s6, 0x8000                      ;-
  s_mov_b32 s6, 4                           ;+
  v_mul_lo_u32 v2, v1, s6                   ;!index
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], v[2:3], 0, s[4:5]
  global_store_dword v[2:3], v0, off

; The address is that of another element of the same array.
; case shifted_offset args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_add_u32_e32 v1, 0x40000000, v0          ;-
  v_mov_b32_e32 v1, v0                      ;+
  v_lshlrev_b32_e32 v2, 2, v1               ;!index
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v0, s[4:5]

; More than 2^31 is right if it is not taken for a negative number.
; case large_unsigned args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_add_u32_e32 v1, 0x20000000, v0
  v_lshlrev_b32_e32 v2, 2, v1               ;!index
  v_ashrrev_i32_e32 v3, 31, v2              ;-
  v_mov_b32_e32 v3, 0                       ;+
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s4, s4, 0x80000000
  s_subb_u32 s5, s5, 0
  v_lshl_add_u64 v[2:3], v[2:3], 0, s[4:5]
  global_store_dword v[2:3], v0, off

; A negative number is right if its sign is extended.
; case negative args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_subrev_u32_e32 v2, 4, v2                ;!index
  v_mov_b32_e32 v3, 0                       ;-
  v_ashrrev_i32_e32 v3, 31, v2              ;+
  s_waitcnt lgkmcnt(0)
  s_add_u32 s4, s4, 4
  s_addc_u32 s5, s5, 0
  v_lshl_add_u64 v[2:3], v[2:3], 0, s[4:5]
  global_store_dword v[2:3], v0, off

; case scalar_product args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s7, 0x10000
  s_mov_b32 s8, 0x8000                      ;-
  s_mov_b32 s8, 0                           ;+
  s_mul_i32 s8, s7, s8                      ;!index
  s_ashr_i32 s9, s8, 31
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_add_u32 s4, s4, s8
  s_addc_u32 s5, s5, s9
  global_store_dword v1, v0, s[4:5]

; The low half of a product of 64 bits is not the whole of it.
; case wide_product args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s7, 0x10000
  s_mul_i32 s8, s7, s7                      ;!index
  s_mov_b32 s9, 0                           ;-
  s_mul_hi_u32 s9, s7, s7                   ;+
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s5, s5, 1
  s_add_u32 s4, s4, s8
  s_addc_u32 s5, s5, s9
  global_store_dword v1, v0, s[4:5]

; The high half of a sum does not matter to what takes its low half alone.
; case half_of_sum args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  s_mov_b32 s6, 0x10000
  v_mul_lo_u32 v3, s6, s6                   ;!index
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], v[2:3], 0, 0
  v_lshl_add_u64 v[2:3], v[2:3], 0, s[4:5]  ;-
  global_store_dword v[2:3], v0, off        ;-
  global_store_dword v2, v0, s[4:5]         ;+

; case sum args=out:256 also=memory
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 2, v0
  s_brev_b32 s6, -2                         ;-
  s_mov_b32 s6, 0                           ;+
  v_add3_u32 v2, v1, s6, 0                  ;!index
  v_ashrrev_i32_e32 v3, 31, v2
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], v[2:3], 0, s[4:5]
  global_store_dword v[2:3], v0, off

; case product_of_24_bits args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_mov_b32 s6, 0x10000                     ;-
  s_mov_b32 s6, 0                           ;+
  v_mov_b32_e32 v4, 0x10000
  v_mad_u32_u24 v2, v4, s6, v0              ;!index
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  v_lshl_add_u64 v[2:3], v[2:3], 2, s[4:5]
  global_store_dword v[2:3], v0, off

; Hash functions overflow by design; the high bits are a small number again.
; case hash args=in:256,out:256 also=memory
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v3, 2, v0
  s_mov_b32 s8, 0x9e3779b1
  v_mul_lo_u32 v1, v0, s8                   ;!index
  v_lshrrev_b32_e32 v1, 26, v1              ;+
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v3, v2, s[6:7]
