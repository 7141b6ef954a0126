//! Bits that hardware ignores: what LLVM's disassembler makes of words that have them set.

#[path = "isa_common/llvm.rs"]
mod llvm;

use hk_sim::isa::{Arch, decode};
use llvm::canonical;

/// Words with the ignored bits of a rule of `isa/ignored.csv` other than the assembler writes them,
/// and the instruction. LLVM's disassembler takes all of them; where its text shows such bits (an
/// offset of 13 bits, `op_sel` of dot products), the manuals say that they are ignored.
const SAMPLES: &[(&[u32], &str)] = &[
    (&[0xbeff_1d14], "s_setpc_b64 s[20:21]"),
    (&[0xbe88_1cff], "s_getpc_b64 s[8:9]"),
    (&[0x94ff_1814], "s_cbranch_g_fork s[20:21], s[24:25]"),
    (&[0xba7f_0000, 0x0000_1234], "s_setreg_imm32_b32 hwreg(0, 0, 1), 0x1234"),
    (&[0xc002_a804, 0x01e0_0000], "s_load_dword s32, s[8:9], 0x0"),
    (&[0xc002_0804, 0xfe00_0000], "s_load_dword s32, s[8:9], 0x0"),
    (&[0xc080_0000, 0xfe1f_ff80], "s_dcache_inv"),
    (&[0xc080_1fc0, 0x0000_0000], "s_dcache_inv"),
    (&[0xc081_0000, 0x0000_0000], "s_dcache_inv"),
    (&[0x7e00_01ff], "v_nop"),
    (
        &[0x7e10_02fa, 0xa306_8728],
        "v_mov_b32_dpp v8, v40 quad_perm:[3,1,0,2] row_mask:0xa bank_mask:0x3",
    ),
    (
        &[0x0010_98fa, 0xa306_8728],
        "v_cndmask_b32_dpp v8, v40, v76, vcc quad_perm:[3,1,0,2] row_mask:0xa bank_mask:0x3",
    ),
    (
        &[0x7010_98fa, 0xa3f0_8728],
        "v_dot2c_i32_i16_dpp v8, v40, v76 quad_perm:[3,1,0,2] row_mask:0xa bank_mask:0x3",
    ),
    (
        &[0x6610_98fa, 0xa3c0_8728],
        "v_ldexp_f16_dpp v8, v40, v76 quad_perm:[3,1,0,2] row_mask:0xa bank_mask:0x3",
    ),
    (
        &[0x7e10_02f9, 0x4040_0028],
        "v_mov_b32_sdwa v8, v40 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_0",
    ),
    (
        &[0x0010_98f9, 0x4040_0028],
        "v_cndmask_b32_sdwa v8, v40, v76, vcc dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:BYTE_0",
    ),
    (
        &[0x7c20_98f9, 0x4040_0028],
        "v_cmp_class_f32_sdwa vcc, v40, v76 src0_sel:BYTE_0 src1_sel:BYTE_0",
    ),
    (
        &[0x7c20_98f9, 0x0000_7f28],
        "v_cmp_class_f32_sdwa vcc, v40, v76 src0_sel:BYTE_0 src1_sel:BYTE_0",
    ),
    (
        &[0x7c20_98f9, 0x0000_ea28],
        "v_cmp_class_f32_sdwa vcc, v40, v76 src0_sel:BYTE_0 src1_sel:BYTE_0",
    ),
    (&[0xd141_0008, 0x0003_ff28], "v_mov_b32_e64 v8, v40"),
    (&[0xd010_0008, 0x07fe_9928], "v_cmp_class_f32_e64 s[8:9], v40, v76"),
    (&[0xd119_0c08, 0x07fe_9928], "v_add_co_u32_e64 v8, s[12:13], v40, v76"),
    (&[0xd381_4008, 0x1ffe_9928], "v_pk_mul_lo_u16 v8, v40, v76"),
    (&[0xd010_0808, 0x0002_9928], "v_cmp_class_f32_e64 s[8:9], v40, v76"),
    (&[0xd010_1008, 0x0002_9928], "v_cmp_class_f32_e64 s[8:9], v40, v76"),
    (&[0xd010_2008, 0x0002_9928], "v_cmp_class_f32_e64 s[8:9], v40, v76"),
    (&[0xd010_4008, 0x0002_9928], "v_cmp_class_f32_e64 s[8:9], v40, v76"),
    (&[0xd239_0108, 0x2002_9928], "v_cvt_scalef32_pk_f32_fp8 v[8:9], v40, v76"),
    (&[0xd138_0308, 0x6002_9928], "v_dot2c_i32_i16_e64 v8, v40, v76"),
    (&[0xd265_0708, 0xe5c2_9928], "v_ashr_pk_i8_i32 v8, v40, v76, v112"),
    (&[0xd133_0208, 0x4002_9928], "v_ldexp_f16_e64 v8, v40, v76"),
    (&[0xd1dd_0608, 0xc5c2_9928], "v_cvt_pk_u8_f32 v8, v40, v76, v112"),
    (&[0xd24c_0408, 0x8002_9928], "v_cvt_scalef32_pk_fp4_f16 v8, v40, v76"),
    (&[0xd381_0008, 0x1802_9928], "v_pk_mul_lo_u16 v8, v40, v76"),
    (&[0xd3a8_0008, 0x05c2_9928], "v_dot4_i32_i8 v8, v40, v76, v112"),
    (&[0xd3ac_4300, 0x7802_9928], "v_mfma_ld_scale_b32 v40, v76"),
    (&[0xd3d8_8008, 0x07ff_ff28], "v_accvgpr_read_b32 v8, a40"),
    (
        &[0xd3ac_e7ff, 0xe7ff_7194, 0xd3ad_0808, 0x05c2_9928],
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[8:11], v[40:47], v[76:83], v[112:115], v148, v184 op_sel_hi:[0,0,0]",
    ),
    (&[0xd801_0000, 0x0000_4c28], "ds_add_u32 v40, v76"),
    (&[0xdc40_0000, 0x0800_ff28], "flat_load_ubyte v8, v[40:41]"),
    (&[0xdc40_8000, 0x087f_ff28], "global_load_ubyte v8, v[40:41], off"),
    (&[0xdc40_6000, 0x087f_ff28], "scratch_load_ubyte v8, v40, off"),
    (&[0xdc60_0000, 0xff00_4c28], "flat_store_byte v[40:41], v76"),
    (&[0xdc60_8000, 0xff7f_4c28], "global_store_byte v[40:41], v76, off"),
    (&[0xdc60_6000, 0xff7f_4c28], "scratch_store_byte v40, v76, off"),
    (&[0xdd00_0000, 0xff00_4c28], "flat_atomic_swap v[40:41], v76"),
    (&[0xdd00_8000, 0xff7f_4c28], "global_atomic_swap v[40:41], v76, off"),
    (&[0xe200_0000, 0x0664_0800], "buffer_load_format_x v8, off, s[16:19], s6"),
    (&[0xe000_0000, 0x0604_08ff], "buffer_load_format_x v8, off, s[16:19], s6"),
    (&[0xe808_0000, 0x0604_08ff], "tbuffer_load_format_x v8, off, s[16:19], s6"),
    (&[0xe2a2_0fff, 0xff7f_ffff], "buffer_wbl2"),
    (&[0xbf11_f504, 0], "s_set_gpr_idx_on s4, gpr_idx(SRC0,SRC2)"),
    (&[0xc000_0804, 0xfe1f_ffb4], "s_load_dword s32, s[8:9], s52"),
    (&[0xc000_4804, 0x681f_ffff], "s_load_dword s32, s[8:9], s52"),
    (&[0xc090_e03f, 0xfe1f_ffff], "s_memtime s[0:1]"),
    (&[0x7e10_a8f9, 0x0038_1928], "v_cvt_f32_fp8_sdwa v8, v40 src0_sel:BYTE_0"),
    (&[0xd140_7800, 0x07ff_ffff], "v_nop_e64"),
    (&[0xd3a3_3808, 0x05c2_9928], "v_dot2_f32_f16 v8, v40, v76, v112"),
    (&[0xdc40_1010, 0x0800_0028], "flat_load_ubyte v8, v[40:41] offset:16"),
    (&[0xdc40_4000, 0x0805_00ff], "scratch_load_ubyte v8, off, s5"),
    (&[0xe051_1000, 0x0c02_ff04], "buffer_load_dword v4, s[8:11], s12 offen lds"),
    (
        &[0xd3ac_6000, 0x0003_118c, 0xd3ad_8c00, 0x8402_1148],
        "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[72:75], v[8:11], a[0:3], v140, v136 \
         op_sel_hi:[0,0,0] cbsz:4 blgp:4",
    ),
];

#[test]
fn ignored_bits_change_nothing() {
    let texts: Vec<&str> = SAMPLES.iter().map(|(_, text)| *text).collect();
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let mut known = 0;
        for ((words, text), line) in SAMPLES.iter().zip(canonical(arch, &texts)) {
            let Some(line) = line else {
                assert!(arch == Arch::Gfx942, "{text} is an instruction of gfx950");
                assert!(decode(arch, words).is_err(), "{text} is no instruction of gfx942");
                continue;
            };
            known += 1;
            assert_ne!(line.words(), *words, "{text}");
            let plain = decode(arch, &line.words()).unwrap_or_else(|e| panic!("{text}: {e}"));
            let inst = decode(arch, words).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(inst, plain, "{text}");
            assert_eq!(usize::from(inst.size), 4 * line.words().len(), "{text}");
        }
        assert!(known > 40, "{arch}: {known}");
    }
}

/// Fields that look unused and are not: other values are other instructions or none.
#[test]
fn fields_that_count_are_not_ignored() {
    let differing: &[(&[u32], &[u32])] = &[
        // `fi` and `bound_ctrl` of an exchange of lanes.
        (&[0xd19a_0003, 0x0000_0104], &[0xd19a_0803, 0x0000_0104]),
        (&[0xd19a_0003, 0x0000_0104], &[0xd19a_1003, 0x0000_0104]),
        // The scalar offset beside an immediate one.
        (&[0xc002_4101, 0x1000_0010], &[0xc002_4101, 0x1200_0010]),
        // The half of a 16-bit source, the byte of a scale.
        (&[0xd206_0000, 0x040e_0501], &[0xd206_0800, 0x040e_0501]),
        (
            &[0xd3ac_6000, 0x0003_118c, 0xd3ad_8c00, 0x8402_1148],
            &[0xd3ac_7000, 0x0003_118c, 0xd3ad_8c00, 0x8402_1148],
        ),
    ];
    for (one, other) in differing {
        let [one, other] = [one, other]
            .map(|words| decode(Arch::Gfx950, words).unwrap_or_else(|e| panic!("{words:x?}: {e}")));
        assert_ne!(one, other);
        assert_ne!(one.to_string(), other.to_string());
    }
    // A misaligned scalar pair, selections and registers that do not exist.
    for words in [
        [0xbe81_0102, 0],
        [0x7e10_12f9, 0x0000_1828],
        [0x807d_1814, 0],
        [0xd3c0_00e8, 0x05c2_9928],
        [0xd101_0400, 0x0002_0501],
    ] {
        assert!(decode(Arch::Gfx950, &words).is_err(), "{words:x?}");
    }
}
