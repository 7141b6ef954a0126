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

; The counter of LDS holds 15: when the 16th read is issued, the first is done.
; case full_lds_counter lds=512 args=out:256
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_movk_i32 s6, 16
  v_mov_b32_e32 v2, v0
  ds_write2_b32 v0, v0, v0 offset1:64
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v10, v0
  ds_read_b32 v11, v0 offset:4
  ds_read_b32 v12, v0 offset:8
  ds_read_b32 v13, v0 offset:12
  ds_read_b32 v14, v0 offset:16
  ds_read_b32 v15, v0 offset:20
  ds_read_b32 v16, v0 offset:24
  ds_read_b32 v17, v0 offset:28
  ds_read_b32 v18, v0 offset:32
  ds_read_b32 v19, v0 offset:36
  ds_read_b32 v20, v0 offset:40
  ds_read_b32 v21, v0 offset:44
  ds_read_b32 v22, v0 offset:48
  ds_read_b32 v23, v0 offset:52
  ds_read_b32 v24, v0 offset:56
  ds_read_b32 v25, v0 offset:60
  ds_read_b32 v26, v0                       ;+
  v_add_u32_e32 v2, v10, v11                ;!async
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[4:5]

; That of vector memory holds 63, loads and stores together.
; case full_vector_counter args=in:512,out:512
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v10, v0, s[4:5]
  global_load_dword v11, v0, s[4:5] offset:4
  global_load_dword v12, v0, s[4:5] offset:8
  global_load_dword v13, v0, s[4:5] offset:12
  global_load_dword v14, v0, s[4:5] offset:16
  global_load_dword v15, v0, s[4:5] offset:20
  global_load_dword v16, v0, s[4:5] offset:24
  global_load_dword v17, v0, s[4:5] offset:28
  global_load_dword v18, v0, s[4:5] offset:32
  global_load_dword v19, v0, s[4:5] offset:36
  global_load_dword v20, v0, s[4:5] offset:40
  global_load_dword v21, v0, s[4:5] offset:44
  global_load_dword v22, v0, s[4:5] offset:48
  global_load_dword v23, v0, s[4:5] offset:52
  global_load_dword v24, v0, s[4:5] offset:56
  global_load_dword v25, v0, s[4:5] offset:60
  global_load_dword v26, v0, s[4:5] offset:64
  global_load_dword v27, v0, s[4:5] offset:68
  global_load_dword v28, v0, s[4:5] offset:72
  global_load_dword v29, v0, s[4:5] offset:76
  global_load_dword v30, v0, s[4:5] offset:80
  global_load_dword v31, v0, s[4:5] offset:84
  global_load_dword v32, v0, s[4:5] offset:88
  global_load_dword v33, v0, s[4:5] offset:92
  global_load_dword v34, v0, s[4:5] offset:96
  global_load_dword v35, v0, s[4:5] offset:100
  global_load_dword v36, v0, s[4:5] offset:104
  global_load_dword v37, v0, s[4:5] offset:108
  global_load_dword v38, v0, s[4:5] offset:112
  global_load_dword v39, v0, s[4:5] offset:116
  global_load_dword v40, v0, s[4:5] offset:120
  global_load_dword v41, v0, s[4:5] offset:124
  global_load_dword v42, v0, s[4:5] offset:128
  global_load_dword v43, v0, s[4:5] offset:132
  global_load_dword v44, v0, s[4:5] offset:136
  global_load_dword v45, v0, s[4:5] offset:140
  global_load_dword v46, v0, s[4:5] offset:144
  global_load_dword v47, v0, s[4:5] offset:148
  global_load_dword v48, v0, s[4:5] offset:152
  global_load_dword v49, v0, s[4:5] offset:156
  global_load_dword v50, v0, s[4:5] offset:160
  global_load_dword v51, v0, s[4:5] offset:164
  global_load_dword v52, v0, s[4:5] offset:168
  global_load_dword v53, v0, s[4:5] offset:172
  global_load_dword v54, v0, s[4:5] offset:176
  global_load_dword v55, v0, s[4:5] offset:180
  global_load_dword v56, v0, s[4:5] offset:184
  global_load_dword v57, v0, s[4:5] offset:188
  global_load_dword v58, v0, s[4:5] offset:192
  global_load_dword v59, v0, s[4:5] offset:196
  global_load_dword v60, v0, s[4:5] offset:200
  global_load_dword v61, v0, s[4:5] offset:204
  global_load_dword v62, v0, s[4:5] offset:208
  global_load_dword v63, v0, s[4:5] offset:212
  global_load_dword v64, v0, s[4:5] offset:216
  global_load_dword v65, v0, s[4:5] offset:220
  global_load_dword v66, v0, s[4:5] offset:224
  global_load_dword v67, v0, s[4:5] offset:228
  global_load_dword v68, v0, s[4:5] offset:232
  global_load_dword v69, v0, s[4:5] offset:236
  global_load_dword v70, v0, s[4:5] offset:240
  global_load_dword v71, v0, s[4:5] offset:244
  global_load_dword v72, v0, s[4:5] offset:248
  global_load_dword v73, v0, s[4:5] offset:252
  global_store_dword v0, v0, s[6:7] offset:256 ;+
  v_add_u32_e32 v2, v10, v11                ;!async
  global_store_dword v0, v2, s[6:7]

; Scalar loads may be done in any order, so a full counter says nothing of them.
; case full_counter_of_scalars args=in:512,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  s_load_dword s20, s[4:5], 0x0
  s_load_dword s21, s[4:5], 0x4
  s_load_dword s22, s[4:5], 0x8
  s_load_dword s23, s[4:5], 0xc
  s_load_dword s24, s[4:5], 0x10
  s_load_dword s25, s[4:5], 0x14
  s_load_dword s26, s[4:5], 0x18
  s_load_dword s27, s[4:5], 0x1c
  s_load_dword s28, s[4:5], 0x20
  s_load_dword s29, s[4:5], 0x24
  s_load_dword s30, s[4:5], 0x28
  s_load_dword s31, s[4:5], 0x2c
  s_load_dword s32, s[4:5], 0x30
  s_load_dword s33, s[4:5], 0x34
  s_load_dword s34, s[4:5], 0x38
  s_load_dword s35, s[4:5], 0x3c
  s_load_dword s36, s[4:5], 0x40
  s_load_dword s37, s[4:5], 0x44
  s_load_dword s38, s[4:5], 0x48
  s_load_dword s39, s[4:5], 0x4c
  s_waitcnt lgkmcnt(0)                      ;+
  v_mov_b32_e32 v1, s20                     ;!async
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[6:7]

; Reads of LDS are done in order also where scalar loads share their counter.
; case full_counter_of_both lds=512 args=in:512,out:256
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshlrev_b32_e32 v0, 2, v0
  ds_write2_b32 v0, v0, v0 offset1:64
  s_waitcnt lgkmcnt(0)
  s_load_dword s20, s[4:5], 0x0
  ds_read_b32 v10, v0 offset:0
  ds_read_b32 v11, v0 offset:4
  ds_read_b32 v12, v0 offset:8
  ds_read_b32 v13, v0 offset:12
  ds_read_b32 v14, v0 offset:16
  ds_read_b32 v15, v0 offset:20
  ds_read_b32 v16, v0 offset:24
  ds_read_b32 v17, v0 offset:28
  ds_read_b32 v18, v0 offset:32
  ds_read_b32 v19, v0 offset:36
  ds_read_b32 v20, v0 offset:40
  ds_read_b32 v21, v0 offset:44
  ds_read_b32 v22, v0 offset:48
  ds_read_b32 v23, v0 offset:52
  ds_read_b32 v24, v0 offset:56
  s_load_dword s21, s[4:5], 0x4             ;+
  v_mov_b32_e32 v1, v10                     ;!async
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v1, s[6:7]
