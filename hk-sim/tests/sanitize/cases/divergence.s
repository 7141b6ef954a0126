; Work-items that do not meet where they must.

; case barrier_skipped block=128
  v_cmp_gt_u32_e32 vcc, 64, v0              ;-
  s_cbranch_vccz @end                       ;-
  s_barrier                                 ;!divergence
@end:

; One wave of three ends early.
; case early_exit block=192
  v_cmp_gt_u32_e32 vcc, 128, v0
  s_barrier                                 ;+
  s_cbranch_vccz @end
  s_barrier                                 ;-!divergence
@end:

; One wave goes round once more.
; case trip_count block=128
  v_readfirstlane_b32 s4, v0
  s_lshr_b32 s4, s4, 6                      ;-
  s_mov_b32 s4, 1                           ;+
  s_add_i32 s4, s4, 1
@loop:
  s_barrier                                 ;!divergence
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
  s_barrier                                 ;-!divergence
@end:
