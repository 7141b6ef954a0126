; Device memory, between workgroups and between the waves of one.

; case two_groups grid=2 args=out:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, s2
  s_lshl_b32 s6, s2, 8                          ;+
  v_add_u32_e32 v0, s6, v0                      ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]             ;!race

; case same_bytes grid=4 args=out:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, v0
  s_lshl_b32 s6, s2, 8                          ;+
  v_add_u32_e32 v0, s6, v0                      ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]             ;?race

; Parts of registers, and more than one page.
; case same_halves grid=2 args=out:8192
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 7, v0
  v_lshlrev_b32_e32 v2, 16, v0
  v_or_b32_e32 v2, s2, v2
  s_lshl_b32 s6, s2, 6                          ;+
  v_add_u32_e32 v1, s6, v1                      ;+
  s_waitcnt lgkmcnt(0)
  global_store_short_d16_hi v1, v2, s[4:5]      ;?race

; case other_halves grid=2 args=out:8192
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 7, v0
  v_lshlrev_b32_e32 v2, 16, v0
  v_or_b32_e32 v2, s2, v2
  s_lshl_b32 s6, s2, 6                          ;+
  v_add_u32_e32 v1, s6, v1                      ;+
  s_waitcnt lgkmcnt(0)
  global_store_short v1, v2, s[4:5]             ;!race

; case lanes_of_a_store args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v1, 15, v0                      ;-
  v_mov_b32_e32 v1, v0                          ;+
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]             ;!race

; case lanes_of_a_byte_store args=out:64
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshrrev_b32_e32 v1, 1, v0
  v_mov_b32_e32 v2, v0                          ;-
  v_mov_b32_e32 v2, v1                          ;+
  s_waitcnt lgkmcnt(0)
  global_store_byte v1, v2, s[4:5]              ;!race

; Each workgroup reads what the other overwrites.
; case in_place grid=2 args=in:1024
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_lshl_b32 s6, s2, 8
  v_add_u32_e32 v1, s6, v0
  v_xor_b32_e32 v2, 0x100, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v3, v2, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v1, v3, s[4:5]             ;-!race
  global_store_dword v1, v3, s[4:5] offset:512  ;+

; Every other byte belongs to the other workgroup.
; case bytes grid=2 args=out:128
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v1, 1, v0
  v_add_u32_e32 v1, s2, v1                      ;+
  v_add_u32_e32 v0, s2, v0
  s_waitcnt lgkmcnt(0)
  global_store_byte v1, v0, s[4:5]              ;!race

; The vector cache serves the waves of a workgroup in order, so no wait is needed.
; case waves block=128 args=zero:512,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]             ;!race
  s_barrier                                     ;+
  global_load_dword v2, v1, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v2, s[6:7]

; case waves_swap block=128 args=in:512
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  s_barrier                                     ;+
  global_store_dword v0, v2, s[4:5]             ;!race

; case waves_to_lds block=128 lds=512 args=zero:512,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_lshl_b32 s8, s8, 2
  s_mov_b32 m0, s8
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v0, s[4:5]             ;!race
  s_barrier                                     ;+
  global_load_lds_dword v1, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  ds_read_b32 v2, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[6:7]

; case scalar_load block=128 args=zero:8,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 5
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 @read
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]             ;-!race
  global_store_dword v1, v2, s[4:5] offset:4    ;+
  s_endpgm
@read:
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s9
  global_store_dword v0, v2, s[6:7]

; case counter grid=4 args=zero:4
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v1, v2, s[4:5]              ;+
  global_load_dword v3, v1, s[4:5]              ;-!race
  s_waitcnt vmcnt(0)                            ;-
  v_add_u32_e32 v3, v3, v2                      ;-
  global_store_dword v1, v3, s[4:5]             ;-!race

; The first workgroup clears what all count with.
; case counter_cleared grid=4 args=zero:4
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @count
  global_store_dword v1, v1, s[4:5]             ;-!race
  s_waitcnt vmcnt(0)
@count:
  global_atomic_add v1, v2, s[4:5]

; One workgroup writes data and a flag, the other waits for the flag. The flag must not overtake.
; case flag_wait grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;!race
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)                            ;+
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; Without a write-back the data may stay in the cache of the writer.
; case flag_write_back grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;!race
  buffer_wbl2 sc1                               ;+
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; The write-back comes before the data.
; case flag_late grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  buffer_wbl2 sc1                               ;-
  global_store_dword v0, v0, s[4:5]             ;!race
  buffer_wbl2 sc1                               ;+
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; The write-back is for the workgroup only.
; case flag_workgroup_write_back grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;!race
  buffer_wbl2 sc1                               ;+
  buffer_wbl2 sc0                               ;-
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; Without an invalidation the reader may find an old line in its cache.
; case flag_stale grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;!race
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1                                ;+
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; The cache is invalidated before the flag has arrived.
; case flag_invalidated_early grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;!race
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  buffer_inv sc1                                ;-
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1                                ;+
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; The flag itself stays in the cache of the writer.
; case flag_store_scope grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1 ;+
  global_store_dword v1, v2, s[4:5] offset:256 sc0 ;-!race
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1 ;!race
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; The reader polls its own cache.
; case flag_load_scope grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1 ;+
  global_load_dword v3, v1, s[4:5] offset:256 sc0 ;-!race
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; Stores of device scope need no write-back, loads of device scope no invalidation.
; case flag_coherent_store grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5] sc1         ;+
  global_store_dword v0, v0, s[4:5]             ;-!race
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  global_load_dword v3, v0, s[4:5] sc1
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; case flag_coherent_load grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5] sc1
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  global_load_dword v3, v0, s[4:5] sc1          ;+
  global_load_dword v3, v0, s[4:5]              ;-!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; In a workgroup a flag needs no more than order.
; case flag_of_waves block=128 args=zero:260,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_and_b32_e32 v3, 63, v0
  v_lshlrev_b32_e32 v0, 2, v0
  v_lshlrev_b32_e32 v3, 2, v3
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;+
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc0
  s_mov_b64 exec, -1
  global_store_dword v0, v0, s[4:5]             ;-!race
  s_endpgm
@consumer:
  global_load_dword v4, v1, s[4:5] offset:256 sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v4
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  global_load_dword v4, v3, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v4, s[6:7]

; Of LDS it tells nothing: the caches and LDS are apart.
; case flag_of_lds block=128 lds=256 args=zero:4,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_and_b32_e32 v3, 63, v0
  v_lshlrev_b32_e32 v0, 2, v0
  v_lshlrev_b32_e32 v3, 2, v3
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 @consumer
  ds_write_b32 v0, v0                           ;!order
  s_waitcnt lgkmcnt(0)                          ;+
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] sc0
  s_endpgm
@consumer:
  global_load_dword v4, v1, s[4:5] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v4
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  ds_read_b32 v4, v3                            ;!order
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v4, s[6:7]

; Nor is a scalar load in the order of the vector cache.
; case flag_of_scalar block=128 args=in:256,zero:4
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s8, v0
  v_and_b32_e32 v3, 63, v0
  v_lshlrev_b32_e32 v3, 2, v3
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 @overwrite
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)                          ;+
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[6:7] sc0
  s_endpgm
@overwrite:
  global_load_dword v4, v1, s[6:7] sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v4
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @overwrite
  global_store_dword v3, v3, s[4:5]             ;!race

; The data is complete, its write-back is not.
; case flag_write_back_wait grid=2 args=zero:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @consumer
  global_store_dword v0, v0, s[4:5]             ;!race
  s_waitcnt vmcnt(0)
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)                            ;+
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:256 sc1
  s_endpgm
@consumer:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @consumer
  buffer_inv sc1
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]

; A reader gives memory free for overwriting; its loads have to be over.
; case credit grid=2 args=in:260,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 100
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc0 @overwrite
  global_load_dword v3, v0, s[4:5]              ;!race
  s_waitcnt vmcnt(0)                            ;+
  s_mov_b64 exec, 1
  global_atomic_add v1, v2, s[4:5] offset:256
  s_mov_b64 exec, -1
  s_waitcnt vmcnt(0)
  global_store_dword v0, v3, s[6:7]
  s_endpgm
@overwrite:
  global_load_dword v3, v1, s[4:5] offset:256 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_gt_u32 s8, 99
  s_cbranch_scc0 @overwrite
  global_store_dword v0, v0, s[4:5]             ;!race

; The last workgroup to count itself reads what all wrote; counting passes on what it found.
; case last_arrival grid=4 args=zero:1028,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_lshl_b32 s8, s2, 8
  v_add_u32_e32 v3, s8, v0
  s_waitcnt lgkmcnt(0)
  global_store_dword v3, v0, s[4:5]             ;!race
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, 1
  global_atomic_add v4, v1, v2, s[4:5] offset:1024 sc0
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s9, v4
  s_mov_b64 exec, -1
  s_cmp_eq_u32 s9, 3                            ;+
  s_cmp_eq_u32 s9, 2                            ;-
  s_cbranch_scc0 @end
  buffer_inv sc1
  global_load_dword v4, v0, s[4:5]              ;!race
  global_load_dword v5, v0, s[4:5] offset:256   ;!race
  global_load_dword v6, v0, s[4:5] offset:512   ;!race
  global_load_dword v7, v0, s[4:5] offset:768   ;!race
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v4, v4, v5
  v_add3_u32 v4, v4, v6, v7
  global_store_dword v0, v4, s[6:7]
@end:
