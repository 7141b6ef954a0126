; Registers and LDS that something asynchronous fills.

; case load_use args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)                        ;+
  v_add_u32_e32 v1, 1, v1                   ;!async
  global_store_dword v0, v1, s[6:7]

; case weak_wait args=in:512,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]
  global_load_dword v2, v0, s[4:5] offset:256
  s_waitcnt vmcnt(1)
  v_add_u32_e32 v1, 1, v1
  s_waitcnt vmcnt(1)                        ;-
  s_waitcnt vmcnt(0)                        ;+
  v_add_u32_e32 v1, v1, v2                  ;!async
  global_store_dword v0, v1, s[6:7]

; case store_counts args=in:256,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v2, 5
  global_load_dword v1, v0, s[4:5]
  global_store_dword v0, v2, s[6:7] offset:256 ;+
  s_waitcnt vmcnt(1)
  v_add_u32_e32 v1, 1, v1                   ;!async
  global_store_dword v0, v1, s[6:7]

; case scalar_load_use args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)                      ;+
  v_lshlrev_b32_e32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]          ;!async
  s_waitcnt lgkmcnt(0)                      ;-
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[6:7]

; case scalar_loads_out_of_order args=in:256,out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dwordx2 s[6:7], s[0:1], 0x8
  s_waitcnt lgkmcnt(1)                      ;-
  s_waitcnt lgkmcnt(0)                      ;+
  v_lshlrev_b32_e32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]          ;!async
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v0, v1, s[6:7]

; case overwritten_by_alu args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v0, 2, v0
  global_load_dword v1, v0, s[4:5]
  s_waitcnt vmcnt(0)                        ;+
  v_mov_b32_e32 v1, 3                       ;!async
  s_waitcnt vmcnt(0)
  global_store_dword v0, v1, s[6:7]

; Loads into lanes that do not meet need no wait between them.
; case lanes_of_two_branches args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_cmp_gt_u32_e32 vcc, 32, v0
  v_lshlrev_b32_e32 v0, 2, v0
  s_and_saveexec_b64 s[8:9], vcc
  global_load_dword v1, v0, s[4:5]
  s_xor_b64 exec, exec, s[8:9]
  v_mov_b32_e32 v1, 7
  s_mov_b64 exec, s[8:9]
  s_waitcnt vmcnt(0)                        ;+
  v_add_u32_e32 v1, 1, v1                   ;!async
  global_store_dword v0, v1, s[6:7]

; case lds_read_use lds=256 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write_b32 v0, v0
  ds_read_b32 v1, v0
  s_waitcnt lgkmcnt(0)                      ;+
  v_add_u32_e32 v1, 1, v1                   ;!async
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[4:5]

; Reads of LDS return in order, so a counter above zero is enough.
; case lds_reads_in_order lds=512 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write2_b32 v0, v0, v0 offset1:64
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v1, v0
  ds_read_b32 v2, v0 offset:256
  s_waitcnt lgkmcnt(2)                      ;-
  s_waitcnt lgkmcnt(1)                      ;+
  v_add_u32_e32 v1, 1, v1                   ;!async
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v1, v2, v1
  global_store_dword v0, v1, s[4:5]

; case atomic_result args=zero:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32_e32 v0, 2, v0
  v_mov_b32_e32 v1, 1
  global_atomic_add v2, v0, v1, s[4:5] sc0
  s_waitcnt vmcnt(0)                        ;+
  global_store_dword v0, v2, s[6:7]         ;!async

; The wave that loads must wait before the barrier, not only at some time.
; case direct_without_wait block=128 lds=512 args=in:512,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_lshl_b32 s3, s3, 2
  s_mov_b32 m0, s3
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_waitcnt lgkmcnt(0)
  global_load_lds_dword v0, s[4:5]
  s_waitcnt vmcnt(0)                        ;+
  s_barrier
  s_waitcnt vmcnt(0)
  ds_read_b32 v2, v1                        ;!async
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[6:7]

; The start-up barrier of a kernel that fills LDS directly.
; case direct_without_barrier block=128 lds=512 args=in:512,out:512 also=lds
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_lshl_b32 s3, s3, 2
  s_mov_b32 m0, s3
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_waitcnt lgkmcnt(0)
  global_load_lds_dword v0, s[4:5]          ;!async
  s_waitcnt vmcnt(0)
  s_barrier                                 ;+
  ds_read_b32 v2, v1                        ;!async
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[6:7]

; A wave reads what it loaded itself: its wait is enough.
; case direct_own lds=256 args=in:256,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, 0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_lds_dword v0, s[4:5]
  s_waitcnt vmcnt(0)                        ;+
  ds_read_b32 v2, v0                        ;!async
  s_waitcnt vmcnt(0) lgkmcnt(0)
  global_store_dword v0, v2, s[6:7]

; Two stages in flight: the wait leaves the younger stage outstanding.
; case direct_two_stages block=128 lds=1024 args=in:1024,out:1024
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_lshl_b32 s3, s3, 2
  s_add_u32 s8, s3, 0x200
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_mov_b32 m0, s3
  s_waitcnt lgkmcnt(0)
  global_load_lds_dword v0, s[4:5]
  s_mov_b32 m0, s8
  s_nop 0
  global_load_lds_dword v0, s[4:5] offset:0
  s_waitcnt vmcnt(1)
  s_barrier
  ds_read_b32 v2, v1
  s_waitcnt vmcnt(1) lgkmcnt(0)             ;-
  s_waitcnt vmcnt(0) lgkmcnt(0)             ;+
  s_barrier
  ds_read_b32 v3, v1 offset:512             ;!async
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32_e32 v2, v2, v3
  global_store_dword v0, v2, s[6:7]

; The next stage must not be loaded over the one that other waves still read.
; case direct_over_reads block=128 lds=512 args=in:512,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_readfirstlane_b32 s3, v0
  s_lshl_b32 s3, s3, 2
  s_mov_b32 m0, s3
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  s_waitcnt lgkmcnt(0)
  global_load_lds_dword v0, s[4:5]
  s_waitcnt vmcnt(0)
  s_barrier
  ds_read_b32 v2, v1                        ;!async
  s_waitcnt lgkmcnt(0)
  s_barrier                                 ;+
  global_load_lds_dword v0, s[4:5]          ;!async
  s_waitcnt vmcnt(0)
  s_barrier
  ds_read_b32 v3, v1
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v2, v2, v3
  global_store_dword v0, v2, s[6:7]
