; Waits and barriers that order nothing, on the lines marked with a plus.

; case nothing_in_flight args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_waitcnt lgkmcnt(0)                      ;+
  global_store_dword v0, v0, s[4:5]

; case waited_for_later args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)                        ;+
  v_mov_b32_e32 v2, 0
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[6:7]

; case before_the_end args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]
  s_waitcnt vmcnt(0)                        ;+

; case own_lds_only args=out:512 block=128 lds=512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  s_barrier                                 ;+
  ds_read_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; case second_of_two_barriers args=out:512 block=128 lds=512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_barrier                                 ;+
  ds_read_b32 v1, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; case read_retired_before_the_barrier args=out:512 block=128 lds=512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v2, 0x100, v0
  ds_write_b32 v0, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v1, v2
  s_waitcnt lgkmcnt(0)                      ;+
  v_mov_b32_e32 v3, 0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_write_b32 v2, v3
  global_store_dword v0, v1, s[4:5]
