; NaN and infinity out of finite operands.

; case product checks=float
  v_cvt_f32_u32_e32 v1, v0
  v_mov_b32_e32 v2, 0x7f000000              ;-
  v_mov_b32_e32 v2, 0x70000000              ;+
  v_mul_f32_e32 v3, v1, v2                  ;!float

; case reciprocal checks=float
  v_cvt_f32_u32_e32 v1, v0
  v_add_f32_e32 v1, 1.0, v1                 ;+
  v_rcp_f32_e32 v2, v1                      ;!float

; case root checks=float
  v_cvt_f32_i32_e32 v1, v0
  v_sqrt_f32_e64 v2, -v1                    ;-!float
  v_sqrt_f32_e64 v2, v1                     ;+

; What is infinite already may come to be NaN.
; case masked checks=float
  v_mov_b32_e32 v1, 0xff800000              ;+
  v_mov_b32_e32 v1, 0xff7fffff              ;-
  v_add_f32_e32 v2, v1, v1                  ;!float
  v_sub_f32_e32 v3, v2, v2

; case narrower checks=float
  v_mov_b32_e32 v1, 0x47800000              ;-
  v_mov_b32_e32 v1, 0x47000000              ;+
  v_cvt_f16_f32_e32 v2, v1                  ;!float

; Only the high half overflows.
; case packed checks=float
  v_mov_b32_e32 v1, 0x7bff3c00
  v_pk_add_f16 v2, v1, v1                   ;-!float
  v_pk_add_f16 v2, v1, v1 op_sel_hi:[0,0]   ;+

; case packed_single checks=float
  v_mov_b32_e32 v2, 1.0
  v_mov_b32_e32 v3, 0x7f000000
  v_pk_mul_f32 v[4:5], v[2:3], v[2:3]       ;-!float
  v_pk_mul_f32 v[4:5], v[2:3], v[2:3] op_sel_hi:[1,0] ;+

; case double checks=float
  v_mov_b32_e32 v2, 0
  v_mov_b32_e32 v3, 0x7fe00000              ;-
  v_mov_b32_e32 v3, 0x7fd00000              ;+
  v_add_f64 v[4:5], v[2:3], v[2:3]          ;!float

; case fp8 checks=float
  v_mov_b32_e32 v1, 0x44800000              ;-
  v_mov_b32_e32 v1, 0x42800000              ;+
  v_cvt_pk_fp8_f32 v2, v1, v1               ;!float

; What is NaN already may become NaN of another format; the byte that is read counts.
; case from_fp8 arch=gfx950 checks=float
  v_mov_b32_e32 v1, 0x7e7f
  v_mov_b32_e32 v2, 0x7f000000
  v_cvt_f32_fp8_e32 v3, v1
  v_cvt_scalef32_f32_fp8 v3, v1, v2 op_sel:[1,0,0] ;-!float
  v_cvt_scalef32_f32_fp8 v3, v1, v2         ;+

; case from_fp8_gfx942 arch=gfx942 checks=float
  v_mov_b32_e32 v1, 0x80008000
  v_mov_b32_e32 v5, 0                       ;-
  v_mov_b32_e32 v5, 1.0                     ;+
  v_cvt_f32_fp8_sdwa v2, v1 src0_sel:BYTE_1
  v_cvt_pk_f32_bf8_sdwa v[2:3], v1 src0_sel:WORD_1
  v_rcp_f32_e32 v4, v5                      ;!float

; The half that is not written does not count.
; case one_half arch=gfx950 checks=float
  v_mov_b32_e32 v1, 0x7e
  v_mov_b32_e32 v2, 0x7f000000              ;-
  v_mov_b32_e32 v2, 1.0                     ;+
  v_mov_b32_e32 v3, 0x7c000000
  v_cvt_scalef32_f16_fp8 v3, v1, v2         ;!float

; One half is converted.
; case random_half arch=gfx950 checks=float
  v_mov_b32_e32 v1, 0x7c007bff
  v_mov_b32_e32 v2, 1.0
  v_cvt_scalef32_sr_fp8_f16 v3, v1, v0, v2  ;-!float
  v_cvt_scalef32_sr_fp8_f16 v3, v1, v0, v2 op_sel:[1,0,0,0] ;+

; case matrix checks=float
  v_mov_b32_e32 v1, 0x7f000000              ;-
  v_mov_b32_e32 v1, 0x50000000              ;+
  s_nop 1
  v_mfma_f32_16x16x4_f32 v[4:7], v1, v1, 0  ;!float

; One row of A is infinite, and only that of D may be.
; case matrix_row checks=float
  v_mov_b32_e32 v1, 0x50000000
  v_mov_b32_e32 v2, 0x50000000
  v_cmp_eq_u32_e32 vcc, 5, v0
  s_and_saveexec_b64 s[4:5], vcc
  v_mov_b32_e32 v1, 0x7f800000
  v_mov_b32_e32 v2, 0x7f000000              ;-
  s_mov_b64 exec, s[4:5]
  s_nop 1
  v_mfma_f32_16x16x4_f32 v[4:7], v1, v2, 0  ;!float
