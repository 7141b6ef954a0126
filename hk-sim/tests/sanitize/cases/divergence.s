; Work-items that do not meet where they must.

; case barrier_skipped block=128
  v_cmp_gt_u32_e32 vcc, 64, v0              ;-
  s_cbranch_vccz @end                       ;-
  s_barrier                                 ;?divergence
@end:

; One wave of three ends early.
; case early_exit block=192
  v_cmp_gt_u32_e32 vcc, 128, v0
  s_barrier                                 ;+
  s_cbranch_vccz @end
  s_barrier                                 ;-?divergence
@end:

; One wave goes round once more.
; case trip_count block=128
  v_readfirstlane_b32 s4, v0
  s_lshr_b32 s4, s4, 6                      ;-
  s_mov_b32 s4, 1                           ;+
  s_add_i32 s4, s4, 1
@loop:
  s_barrier                                 ;?divergence
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 @loop

; The barriers of two branches may meet.
; case barrier_of_each_branch block=128
  v_cmp_gt_u32_e32 vcc, 64, v0
  s_cbranch_vccz @second
  s_barrier
  s_branch @end
@second:
  s_barrier
  s_barrier                                 ;-?divergence
@end:

; case lane_that_never_wrote args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_nop 1
  v_readlane_b32 s8, v1, 9                  ;-!divergence
  v_readlane_b32 s8, v1, 7                  ;+
  s_waitcnt lgkmcnt(0)
  s_nop 1
  v_mov_b32_e32 v3, s8
  global_store_dword v2, v3, s[4:5]

; The register is kept where the lane to the right takes no part.
; case neighbour args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  v_mov_b32_e32 v3, 0                       ;+
  s_nop 1
  v_mov_b32_dpp v3, v1 row_shl:1 row_mask:0xf bank_mask:0xf ;!divergence
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; case swap_fetches arch=gfx950 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 32, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, 3                       ;+
  v_mov_b32_e32 v3, 4
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_nop 1
  v_permlane32_swap_b32_e64 v1, v3 fi:1     ;!divergence
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; case swap_keeps arch=gfx950 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 32, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  v_mov_b32_e32 v3, 4                       ;+
  s_nop 1
  v_permlane32_swap_b32_e32 v1, v3          ;!divergence
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; case swap_zeroes arch=gfx950 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 32, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_nop 1
  v_permlane32_swap_b32_e32 v1, v3          ;-!divergence
  v_permlane32_swap_b32_e64 v1, v3 bound_ctrl:1 ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; case permute args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_xor_b32_e32 v1, 32, v2                  ;-
  v_xor_b32_e32 v1, 16, v2                  ;+
  s_and_saveexec_b64 s[6:7], vcc
  ds_bpermute_b32 v3, v1, v2                ;!divergence
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; case swizzle args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  ds_swizzle_b32 v3, v2 offset:swizzle(SWAP,8) ;-!divergence
  ds_swizzle_b32 v3, v2 offset:swizzle(SWAP,4) ;+
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; Lane 9 has what was there before the branch, whose value the register no longer is.
; case lane_before_the_branch args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, v0
  v_mov_b32_e32 v4, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_add_u32_e32 v1, 3, v1
  s_nop 1
  v_readlane_b32 s8, v1, 9                  ;-!divergence
  v_readlane_b32 s8, v4, 9                  ;+
  s_nop 1
  v_mov_b32_e32 v3, s8
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; What both sides of a branch wrote is one value behind it.
; case lane_of_both_sides args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_xor_b64 exec, exec, s[6:7]
  v_mov_b32_e32 v1, 4
  s_nop 1
  v_readlane_b32 s8, v1, 7                  ;-!divergence
  s_mov_b64 exec, s[6:7]
  v_cmp_lt_u32_e32 vcc, 32, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_readlane_b32 s8, v1, 7                  ;+
  v_readlane_b32 s9, v1, 9
  s_nop 1
  v_mov_b32_e32 v3, s8
  v_add_u32_e32 v3, s9, v3
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; A loop that lane 0 has left.
; case lane_that_left_a_loop args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, v0
  s_mov_b32 s8, 0
  s_mov_b64 s[6:7], exec
@loop:
  v_add_u32_e32 v1, 1, v1
  s_add_i32 s8, s8, 1
  v_readlane_b32 s9, v1, 0                  ;-!divergence
  v_cmp_gt_u32_e32 vcc, s8, v0
  s_andn2_b64 exec, exec, vcc
  s_cbranch_execnz @loop
  s_mov_b64 exec, s[6:7]
  v_readlane_b32 s9, v1, 0                  ;+
  s_nop 1
  v_mov_b32_e32 v3, s9
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; Scalar registers that are kept in lanes.
; case scalars_in_lanes args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, 0
  s_and_saveexec_b64 s[6:7], vcc
  v_mov_b32_e32 v1, 3
  s_movk_i32 s10, 20
  v_writelane_b32 v1, s10, 20
  v_mov_b32_e32 v1, 3                       ;-
  s_nop 1
  v_readlane_b32 s8, v1, 20                 ;!divergence
  s_nop 1
  v_mov_b32_e32 v3, s8
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; What was written for all lanes.
; case lane_of_the_whole_wave args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, v0
  s_and_saveexec_b64 s[6:7], vcc
  s_or_saveexec_b64 s[10:11], -1            ;+
  v_add_u32_e32 v1, 3, v1
  s_mov_b64 exec, s[10:11]                  ;+
  s_nop 1
  v_readlane_b32 s8, v1, 63                 ;!divergence
  s_nop 1
  v_mov_b32_e32 v3, s8
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; No lane is active: the first is read.
; case first_lane_of_none args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, v0
  v_cmp_lt_u32_e32 vcc, 8, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_add_u32_e32 v1, 3, v1
  s_nop 1
  v_readfirstlane_b32 s8, v1                ;+
  s_mov_b64 exec, 0
  v_readfirstlane_b32 s8, v1                ;-!divergence
  s_mov_b64 exec, s[6:7]
  s_nop 1
  v_mov_b32_e32 v3, s8
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v3, s[4:5]

; Such a value may be copied, but not be of use.
; case old_lane_and_unused args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_cmp_gt_u32_e32 vcc, 8, v0
  v_lshlrev_b32_e32 v2, 2, v0
  v_mov_b32_e32 v1, v0
  s_and_saveexec_b64 s[6:7], vcc
  v_add_u32_e32 v1, 3, v1
  s_nop 1
  v_readlane_b32 s8, v1, 9                  ;!divergence
  s_mov_b32 s9, s8
  s_cmp_eq_u32 s9, 0                        ;-
  s_cbranch_scc1 @end                       ;-
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v1, s[4:5]
@end:
