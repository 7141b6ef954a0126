; Scalar loads of what was written during the launch.

; case same_wave args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s8
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  s_dcache_inv                                  ;+
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; Without a load before, there is nothing old in the cache.
; case first_load args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0                  ;-
  s_waitcnt lgkmcnt(0)
  s_mov_b64 exec, 1
  global_store_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; The line that was brought in has the bytes, though they were not asked for.
; case same_line args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x3c                 ;-
  s_load_dword s8, s[4:5], 0x40                 ;+
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s8
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; The bytes that are read must be written for their line to matter.
; case other_bytes args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x4
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s8
  v_mov_b32_e32 v3, s8
  s_mov_b64 exec, 1
  global_store_dwordx2 v1, v[2:3], s[4:5]       ;-!race
  global_store_dword v1, v2, s[4:5]             ;+
  global_store_dword v1, v2, s[4:5] offset:8
  s_waitcnt vmcnt(0)
  s_load_dword s9, s[4:5], 0x4
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; The cache is emptied before the write, and what was in it before the write is gone.
; case emptied_between args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_dcache_inv                                  ;-
  s_load_dword s8, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_dcache_inv                                  ;+
  v_mov_b32_e32 v2, s8
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; Emptying the cache while the store is under way is too early if something is loaded then.
; case emptied_early args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v0, s[4:5]
  s_dcache_inv                                  ;-
  s_load_dword s8, s[4:5], 0x4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  s_dcache_inv                                  ;+
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; Other caches have other instructions.
; case vector_cache_emptied args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s8
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  buffer_inv sc1                                ;-
  s_dcache_wb                                   ;-
  s_dcache_inv                                  ;+
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; case atomic args=zero:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  global_atomic_add v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  s_load_dword s9, s[4:5], 0x0                  ;-!race
  s_load_dword s9, s[4:5], 0x0 glc              ;+
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; case descriptor args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_mov_b32 s14, 256
  s_mov_b32 s15, 0x27000
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s12, s4
  s_mov_b32 s13, s5
  s_buffer_load_dwordx4 s[16:19], s[12:15], 0x8
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v2, s16
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] offset:12
  s_waitcnt vmcnt(0)
  s_dcache_inv                                  ;+
  s_buffer_load_dwordx2 s[16:17], s[12:15], 0xc ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s16
  global_store_dword v0, v3, s[6:7]

; All waves have read what one of them replaces.
; case barrier block=128 args=in:256,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s10, v0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc0 @meet
  v_mov_b32_e32 v2, s8
  s_mov_b64 s[12:13], exec
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_mov_b64 exec, s[12:13]
  s_waitcnt vmcnt(0)
@meet:
  s_barrier
  s_dcache_inv                                  ;+
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; The waves share the cache: one empties it for all, behind the write.
; case emptied_by_one block=128 args=in:256,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s10, v0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s8, s[4:5], 0x0
  s_waitcnt lgkmcnt(0)
  s_barrier
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc0 @meet
  v_mov_b32_e32 v2, s8
  s_mov_b64 s[12:13], exec
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_mov_b64 exec, s[12:13]
  s_waitcnt vmcnt(0)
  s_dcache_inv                                  ;+
@meet:
  s_barrier
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[6:7]

; One workgroup replaces what the other has read, and says so.
; case groups grid=2 args=zero:64,zero:8,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[14:15], s[0:1], 0x10
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 @consumer
@read:
  global_load_dword v3, v1, s[6:7] offset:4 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @read
  buffer_inv sc1
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  buffer_wbl2 sc1
  s_waitcnt vmcnt(0)
  global_store_dword v1, v2, s[6:7] sc1
  s_endpgm
@consumer:
  s_load_dword s9, s[4:5], 0x4
  s_waitcnt lgkmcnt(0)
  s_mov_b64 s[12:13], exec
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[6:7] offset:4 sc1
  s_mov_b64 exec, s[12:13]
@poll:
  global_load_dword v3, v1, s[6:7] sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @poll
  buffer_inv sc1
  s_dcache_inv                                  ;+
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[14:15]

; A workgroup reads its own word again, whose line another one has read meanwhile.
; case neighbour grid=2 args=in:64,zero:4,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[14:15], s[0:1], 0x10
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s2, 0
  s_cbranch_scc1 @writer
  s_load_dword s9, s[4:5], 0x4                  ;-
  s_load_dword s9, s[0:1], 0x0                  ;+
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[14:15] offset:256
  s_endpgm
@writer:
  s_mov_b64 s[12:13], exec
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5]
  s_waitcnt vmcnt(0)
  s_mov_b64 exec, s[12:13]
  s_sleep 20
  s_load_dword s9, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  v_mov_b32_e32 v3, s9
  global_store_dword v0, v3, s[14:15]

; A loop that polls through the scalar cache.
; case poll block=128 args=zero:4,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s10, v0
  v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc1 @poll
  s_movk_i32 s11, 0x1000
@delay:
  s_sub_u32 s11, s11, 1
  s_cmp_eq_u32 s11, 0
  s_cbranch_scc0 @delay
  s_mov_b64 exec, 1
  global_store_dword v1, v2, s[4:5] sc0
  s_endpgm
@poll:
  s_dcache_inv                                  ;+
  s_load_dword s8, s[4:5], 0x0                  ;!race
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc0 @poll
  global_store_dword v0, v0, s[6:7]
