; Waves of a workgroup and its LDS.

; case write_then_read block=128 lds=512 args=out:512 also=lds
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier                                 ;+
  ds_read_b32 v2, v1                        ;!race
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; The barrier does not wait for the write.
; case barrier_without_wait block=128 lds=512 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0                       ;!order
  s_waitcnt lgkmcnt(0)                      ;+
  s_barrier
  ds_read_b32 v2, v1                        ;!order
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; case read_then_write block=128 lds=512 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v2, v1                        ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier                                 ;+
  ds_write_b32 v0, v2                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; case two_writers block=128 lds=512 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_and_b32_e32 v1, 0xfc, v0                ;-
  v_mov_b32_e32 v1, v0                      ;+
  ds_write_b32 v1, v0                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; The first lanes of two waves write one word.
; case two_results block=128 lds=8 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshrrev_b32_e32 v1, 6, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b64 s[6:7], exec
  s_mov_b64 exec, 1
  v_mov_b32_e32 v1, 0                       ;-
  ds_write_b32 v1, v0                       ;!race
  s_mov_b64 exec, s[6:7]
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_mov_b32_e32 v2, 0
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; Halves of a dword belong to different waves.
; case halves block=128 lds=256 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v1, 63, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_lshrrev_b32_e32 v2, 6, v0
  v_lshlrev_b32_e32 v2, 1, v2
  v_add_u32_e32 v2, v1, v2
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, v1                      ;-
  ds_write_b16 v2, v0                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_u16 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; Two buffers need one barrier in each round, one buffer needs two.
; case rounds block=128 lds=1024 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  v_mov_b32_e32 v3, 0
  s_movk_i32 s6, 4
@loop:
  ds_write_b32 v0, v3                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v2, v1                        ;!race
  v_xor_b32_e32 v0, 0x200, v0               ;+
  v_xor_b32_e32 v1, 0x200, v1               ;+
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v3, v2, v3
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 @loop
  global_store_dword v0, v3, s[4:5]

; Waves that run half a round apart: the second arrives once more at the start, the first at the
; end. A barrier matches arrivals.
; case ping_pong block=128 lds=512 args=out:512 also=lds
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s6, v0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc0 @second
  ds_write_b32 v0, v0                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_mov_b32_e32 v2, 1
  s_barrier                                 ;+
  ds_read_b32 v2, v1                        ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_branch @end
@second:
  s_barrier
  ds_read_b32 v2, v1
  ds_write_b32 v0, v0                       ;!race
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_barrier                                 ;+
@end:
  global_store_dword v0, v2, s[4:5]

; One wave waits for a word that the other stores.
; case flag block=128 lds=260 args=out:512 also=lds
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_readfirstlane_b32 s6, v0
  v_and_b32_e32 v1, 63, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v4, 1
  v_lshlrev_b32_e32 v0, 2, v0
  s_cmp_eq_u32 s6, 0
  s_cbranch_scc0 @consumer
  ds_write_b32 v3, v3 offset:256
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_write_b32 v1, v0                       ;!order
  s_waitcnt lgkmcnt(0)                      ;+
  s_mov_b64 exec, 1
  ds_write_b32 v3, v4 offset:256
  s_branch @end
@consumer:
  s_barrier
@poll:
  ds_read_b32 v2, v3 offset:256
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s7, v2
  s_cmp_eq_u32 s7, 1
  s_cbranch_scc0 @poll
  ds_read_b32 v2, v1                        ;!order
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]
@end:

; The last wave to count itself reads what all wrote.
; case last_arrival block=256 lds=1028 args=out:1024 also=lds
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v3, 0
  v_mov_b32_e32 v4, 1
  v_readfirstlane_b32 s9, v0
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc0 @start
  ds_write_b32 v3, v3 offset:1024
@start:
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_write_b32 v0, v0                       ;!race
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[6:7], exec
  s_mov_b64 exec, 1
  ds_add_rtn_u32 v2, v3, v4 offset:1024
  s_waitcnt lgkmcnt(0)
  v_readfirstlane_b32 s8, v2
  s_mov_b64 exec, s[6:7]
  s_cmp_lt_u32 s8, 2                        ;-
  s_cbranch_scc0 @end                       ;-
  s_cmp_eq_u32 s8, 3                        ;+
  s_cbranch_scc0 @end                       ;+
  v_xor_b32_e32 v1, 0x300, v0
  ds_read_b32 v2, v1                        ;!race
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]
@end:

; The barrier does not wait for the read, and LDS serves the next write behind it all the same.
; case read_in_flight block=128 lds=512 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v2, v1                        ;!order
  s_waitcnt lgkmcnt(0)                      ;+
  s_barrier
  ds_write_b32 v0, v1                       ;!order
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; case write_over_write_in_flight block=128 lds=512 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0                       ;!order
  s_waitcnt lgkmcnt(0)                      ;+
  s_barrier
  ds_write_b32 v1, v0                       ;!order
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]

; Only the barrier tells the order of issue.
; case in_flight_without_barrier block=128 lds=512 args=out:512 also=order,lds
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0                       ;!race
  s_waitcnt lgkmcnt(0)                      ;+
  s_barrier                                 ;+
  ds_read_b32 v2, v1                        ;!race
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; Two waves store the same to one place; the right version leaves that to the first.
; case same_bytes block=128 lds=256 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_and_b32_e32 v1, 0xfc, v0
  v_mov_b32_e32 v2, 5
  v_cmp_gt_u32_e32 vcc, 0x100, v0
  s_and_saveexec_b64 s[6:7], vcc            ;+
  ds_write_b32 v1, v2                       ;?race
  s_mov_b64 exec, s[6:7]                    ;+
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; Each reads what it stored itself, whoever stored the same besides.
; case same_bytes_read block=256 lds=256 args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_and_b32_e32 v1, 0xfc, v0
  v_mov_b32_e32 v2, 5
  v_lshlrev_b32_e32 v4, 2, v0               ;+
  v_and_b32_e32 v1, 0xfc0, v4               ;+
  v_lshrrev_b32_e32 v1, 4, v1               ;+
  ds_write_b8 v1, v2                        ;?race
  ds_read_u8 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; The third wave does not store, and reads too early.
; case same_bytes_read_by_others block=192 lds=256 args=out:768 also=lds
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_and_b32_e32 v1, 0xfc, v0
  v_mov_b32_e32 v2, 5
  v_cmp_gt_u32_e32 vcc, 0x200, v0
  v_cmp_gt_u32_e32 vcc, 0x100, v0           ;+
  s_and_saveexec_b64 s[6:7], vcc
  ds_write_b32 v1, v2                       ;!race
  s_mov_b64 exec, s[6:7]
  s_waitcnt lgkmcnt(0)
  s_barrier                                 ;+
  ds_read_b32 v3, v1                        ;!race
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; The same in one round, but not in the next.
; case same_bytes_at_first block=128 lds=256 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_and_b32_e32 v1, 0xfc, v0
  v_mov_b32_e32 v2, 5
  v_cmp_gt_u32_e32 vcc, 0x100, v0
  s_and_saveexec_b64 s[6:7], vcc            ;+
  s_movk_i32 s8, 2
@loop:
  ds_write_b32 v1, v2                       ;!race
  v_mov_b32_e32 v2, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 @loop
  s_mov_b64 exec, s[6:7]                    ;+
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v3, s[4:5]

; Lanes of one wave that store different values to one word.
; case lanes_of_a_store lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v1, 31, v0                  ;-
  v_mov_b32_e32 v1, v0                      ;+
  v_lshlrev_b32_e32 v1, 2, v1
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v1, v0                       ;!race
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; case neighbours_of_a_store lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshrrev_b32_e32 v1, 1, v0
  v_lshlrev_b32_e32 v1, 2, v1
  v_mov_b32_e32 v2, v0                      ;-
  v_mov_b32_e32 v2, v1                      ;+
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v1, v2                       ;!race
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; Wide stores that overlap in part.
; case overlap_of_a_store lds=1024 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 3, v0               ;-
  v_lshlrev_b32_e32 v1, 4, v0               ;+
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v3, v2
  v_mov_b32_e32 v4, v2
  v_mov_b32_e32 v5, v2
  ds_write_b128 v1, v[2:5]                  ;!race
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; Updates of one word by all lanes are no race.
; case update_by_lanes lds=4 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  ds_write_b32 v1, v1
  ds_add_u32 v1, v0                         ;+
  ds_write_b32 v1, v0                       ;-!race
  ds_read_b32 v2, v1
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]
