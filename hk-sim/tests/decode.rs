//! Decoding: samples without an assembler, illegal words, register use, and totality.

#[path = "isa_common/llvm.rs"]
mod llvm;

use hk_sim::isa::{Arch, DecodeError, Inst, MFMA, MfmaInfo, OPS, Op, OpInfo, Operand, decode};
use llvm::canonical;
use proptest::prelude::*;

/// Words and text of one instruction per encoding family and extension.
const SAMPLES: &[(&[u32], &str)] = &[
    (&[0x8002_0100], "s_add_u32 s2, s0, s1"),
    (&[0x8002_ff00, 0x1234_5678], "s_add_u32 s2, s0, 0x12345678"),
    (&[0xb880_f801], "s_getreg_b32 s0, hwreg(HW_REG_MODE)"),
    (&[0xba00_0901, 3], "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3"),
    (&[0xbe80_00ff, 0x3f80_0000], "s_mov_b32 s0, lit(0x3f800000)"),
    (&[0xbf8c_4370], "s_waitcnt vmcnt(16) lgkmcnt(3)"),
    (&[0xbf82_fffc], "s_branch 65532"),
    (&[0xc00a_0101, 0x0000_0010], "s_load_dwordx4 s[4:7], s[2:3], 0x10"),
    (&[0xc008_0101, 0x0000_0008], "s_load_dwordx4 s[4:7], s[2:3], s8"),
    (&[0xc002_4101, 0x1000_0010], "s_load_dword s4, s[2:3], s8 offset:0x10"),
    (&[0xc003_0101, 0x001f_fff0], "s_load_dword s4, s[2:3], -0x10 glc"),
    (&[0x7e00_70ff, 0x1234_5678], "v_mov_b64_e32 v[0:1], 0x12345678"),
    (&[0xd101_8200, 0x2802_0501], "v_add_f32_e64 v0, -v1, |v2| clamp mul:2"),
    (&[0xd206_6800, 0x040e_0501], "v_fma_f16 v0, v1, v2, v3 op_sel:[1,0,1,1]"),
    (&[0xd234_0200, 0xd40e_0501], "v_bitop3_b32 v0, v1, v2, v3 bitop3:0x96"),
    (
        &[0xd3cc_9100, 0x7402_0902],
        "v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], a[4:5], a[0:15] cbsz:1 abid:2 blgp:3",
    ),
    (
        &[0xd3ac_0800, 0x1002_2b14, 0xd3ad_0900, 0x8402_1904],
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:15], v[0:3], v20, v21 \
         op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:1 blgp:4",
    ),
    (&[0xdc50_6010, 0x0004_0004], "scratch_load_dword v0, v4, s4 offset:16"),
    (&[0xde5f_9ff0, 0x00ff_0002], "global_load_dwordx4 a[0:3], v[2:3], off offset:-16 sc0 nt sc1"),
    (&[0xe05d_1000, 0x0c02_0004], "buffer_load_dwordx4 v4, s[8:11], s12 offen lds"),
    (&[0xe0a0_c000, 0x0000_0000], "buffer_wbl2 sc0 sc1"),
    // The rows that only the vendor's table of gfx950 has.
    (&[0xbf9f_0001], "s_set_valu_coexec_mode 1"),
    (&[0xd142_0005, 0x0000_0101], "v_readfirstlane_b32_e64 s5, v1"),
    (&[0xd191_0005, 0x0000_0101], "v_swap_b32_e64 v5, v1"),
    (&[0xd192_0005, 0x0000_0101], "v_accvgpr_mov_b32_e64 a5, a1"),
    (&[0xd3be_0000, 0x0412_0501], "v_mfma_f32_16x16x8_xf32 v[0:3], v[1:2], v[2:3], v[4:7]"),
    (&[0xd3bf_0000, 0x0412_0501], "v_mfma_f32_32x32x4_xf32 v[0:15], v[1:2], v[2:3], v[4:19]"),
];

#[test]
fn samples_decode_to_their_text() {
    for (words, text) in SAMPLES {
        let inst = decode(Arch::Gfx950, words).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(inst.to_string(), *text);
        assert_eq!(usize::from(inst.size), words.len() * 4, "{text}");
        assert_eq!(&inst.raw[..words.len()], *words, "{text}");
    }
}

#[test]
fn every_prefix_of_a_longer_instruction_is_truncated() {
    for (words, text) in SAMPLES {
        for have in 0..words.len() {
            // The first half of a scaled matrix instruction is an instruction of its own.
            if words.len() == 4 && have == 2 {
                continue;
            }
            match decode(Arch::Gfx950, &words[..have]) {
                Err(DecodeError::Truncated { have: found }) => {
                    assert_eq!(found, have * 4, "{text}")
                }
                other => panic!("{text} cut to {have} words: {other:?}"),
            }
        }
    }
}

#[test]
fn opcodes_of_one_chip_are_unknown_on_the_other() {
    for row in OPS.iter().filter(|row| !row.archs.has(Arch::Gfx942)) {
        assert!(row.archs.has(Arch::Gfx950), "{} is on some chip", row.mnemonic);
    }
    for words in [[0xd234_0200_u32, 0xd40e_0501], [0xd3ad_0100, 0x0402_1904]] {
        assert!(decode(Arch::Gfx950, &words).is_ok());
        let error = decode(Arch::Gfx942, &words).expect_err("gfx950 only");
        assert!(matches!(error, DecodeError::Unknown { arch: Arch::Gfx942, .. }), "{error}");
    }
}

/// Words that are no instruction, the field that makes them so, and why. LLVM's disassembler takes
/// all from `null` on, some with a warning, or a mark that an operand is not of its class.
const REFUSED: &[(&[u32], &str, &str)] = &[
    (&[0xbe80_00fa], "ssrc0", "DPP extends vector instructions"),
    (&[0xd134_0200, 0x0002_0501], "abs", "integers have no sign modifiers"),
    (&[0x7e02_02fa, 0xff01_0000], "dpp_ctrl", "there is no shift by 0"),
    (&[0x7e02_02f9, 0x0006_0700], "dst_sel", "there are six selections"),
    (&[0xbed0_007d], "ssrc0", "125 is reserved: `null` is a register of GFX10 and later"),
    (&[0xbefd_000a], "sdst", "125 is reserved"),
    (&[0xc004_6739, 0xfb24_0804], "soffset", "125 is reserved"),
    (&[0x8050_e7d0], "ssrc1", "`src_flat_scratch_base_hi` is of GFX12 and later"),
    (&[0x7c21_22fe], "src0", "these chips pass no parameters in LDS: there is no `lds_direct`"),
    (&[0xbe81_0102], "sdst", "a pair of scalar registers starts at an even one"),
    (&[0x7c27_6807], "src0", "a pair of scalar registers starts at an even one"),
    (&[0xe9c0_12c0, 0xd039_3280], "srsrc", "s[100:103] ends in `flat_scratch`"),
    (&[0x7cc1_fe9d], "vsrc1", "v[255:256] ends behind the last register"),
    (&[0xd101_0000, 0x0002_02ff], "src", "encodings of 64 bits have no literal"),
    (&[0xe1ac_3b7f, 0xff04_04de], "soffset", "encodings of 64 bits have no literal"),
    (&[0x94e0_04ff, 0x0041_6720], "ssrc0", "a jump goes to what registers hold"),
    (&[0xbebe_2bee], "ssrc0", "what M0 is added to is a register"),
    (&[0x7fdc_0586], "vdst", "a constant is no destination"),
    (&[0xd0fe_40eb, 0x0308_0c02], "vdst", "a constant is no destination"),
    (&[0xd100_0008, 0x4620_0b04], "src", "a mask of lanes is in scalar registers"),
    (&[0x7e46_b4ee], "src0", "what is swapped is in vector registers"),
    (&[0xd3f7_657c, 0x1bcf_6cef], "src", "the factors of a matrix product are in vector registers"),
    (&[0xd3ad_0505, 0x0402_1904], "format", "there are five formats of f8f6f4"),
    (&[0x7e18_2afa, 0xbd3d_ae24], "dpp_ctrl", "of 64 bits, lanes are only broadcast in rows"),
];

#[test]
fn refused_fields_are_named() {
    for (words, field, why) in REFUSED {
        match decode(Arch::Gfx950, words) {
            Err(DecodeError::Operand { field: found, .. }) => assert_eq!(found, *field, "{why}"),
            other => panic!("{why}: {other:?}"),
        }
    }
    let plain = decode(Arch::Gfx950, &[0xbf88_0000, 0]);
    assert!(plain.is_ok(), "what follows an instruction is not its own: {plain:?}");
}

/// Instruction, registers read, registers written; SCC is written `scc`.
const REGISTER_USE: &[(&str, &str, &str)] = &[
    ("s_add_u32 s2, s0, 5", "s0", "s2 scc"),
    ("s_addc_u32 s2, s0, s1", "s0 s1 scc", "s2 scc"),
    ("s_cselect_b64 s[2:3], s[4:5], vcc", "s[4:5] vcc scc", "s[2:3]"),
    ("s_mul_i32 s2, s0, s1", "s0 s1", "s2"),
    ("s_cmp_eq_u32 s0, m0", "s0 m0", "scc"),
    ("s_cmpk_eq_i32 s7, 0x5", "s7", "scc"),
    ("s_addk_i32 s7, 0x5", "s7", "s7 scc"),
    ("s_movk_i32 s7, 0x5", "", "s7"),
    ("s_setreg_b32 hwreg(HW_REG_MODE), s3", "s3", ""),
    ("s_getreg_b32 s3, hwreg(HW_REG_MODE)", "", "s3"),
    ("s_bitset1_b64 s[2:3], s9", "s9 s[2:3]", "s[2:3]"),
    ("s_and_saveexec_b64 s[2:3], vcc", "vcc exec", "s[2:3] exec scc"),
    ("s_mov_b64 exec, s[0:1]", "s[0:1]", "exec"),
    ("s_swappc_b64 s[0:1], s[2:3]", "s[2:3]", "s[0:1]"),
    ("s_movrels_b32 s0, s8", "s8 m0", "s0"),
    ("s_cbranch_vccnz 5", "vcc", ""),
    ("s_cbranch_execz 5", "exec", ""),
    ("s_cbranch_scc1 5", "scc", ""),
    ("s_sendmsg sendmsg(MSG_INTERRUPT)", "m0", ""),
    ("s_load_dwordx4 s[4:7], s[2:3], s8 offset:0x10", "s[2:3] s8", "s[4:7]"),
    ("s_store_dword s4, s[2:3], 0x10", "s[2:3] s4", ""),
    ("s_atomic_cmpswap s[4:5], s[2:3], 0x10 glc", "s[2:3] s[4:5]", "s4"),
    ("s_memtime s[4:5]", "", "s[4:5]"),
    ("v_mov_b32_e32 v0, s1", "s1 exec", "v0"),
    ("v_mov_b32_e32 v0, src_scc", "exec scc", "v0"),
    ("v_mov_b32_e32 v0, src_vccz", "vcc exec", "v0"),
    ("v_nop", "", ""),
    ("v_readfirstlane_b32 s0, v1", "v1 exec", "s0"),
    ("v_readlane_b32 s0, v1, s2", "v1 s2", "s0"),
    ("v_writelane_b32 v0, s1, 3", "s1 v0", "v0"),
    ("v_swap_b32 v0, v1", "v1 v0 exec", "v0 v1"),
    ("v_fmac_f32_e32 v0, v1, v2", "v1 v2 v0 exec", "v0"),
    ("v_dot2c_f32_f16_e32 v0, v1, v2", "v1 v2 v0 exec", "v0"),
    ("v_fmaak_f32 v0, v1, v2, 0x1234", "v1 v2 exec", "v0"),
    ("v_cndmask_b32_e32 v0, v1, v2, vcc", "v1 v2 vcc exec", "v0"),
    ("v_cndmask_b32_e64 v0, v1, v2, s[4:5]", "v1 v2 s[4:5] exec", "v0"),
    ("v_addc_co_u32_e32 v0, vcc, v1, v2, vcc", "v1 v2 vcc exec", "v0 vcc"),
    ("v_add_co_u32_e64 v0, s[6:7], v1, v2", "v1 v2 exec", "v0 s[6:7]"),
    ("v_cmp_eq_u32_e32 vcc, v1, v2", "v1 v2 exec", "vcc"),
    ("v_cmp_eq_u32_e64 s[2:3], v1, v2", "v1 v2 exec", "s[2:3]"),
    ("v_cmpx_eq_u32_e64 s[2:3], v1, v2", "v1 v2 exec", "s[2:3] exec"),
    ("v_div_fmas_f32 v0, v1, v2, v3", "v1 v2 v3 vcc exec", "v0"),
    ("v_mad_u64_u32 v[0:1], vcc, v2, v3, v[4:5]", "v2 v3 v[4:5] exec", "v[0:1] vcc"),
    ("v_accvgpr_read_b32 v0, a1", "a1 exec", "v0"),
    ("v_accvgpr_write_b32 a0, v1", "v1 exec", "a0"),
    ("v_mfma_f32_4x4x4_16b_f16 a[0:3], v[2:3], v[4:5], 0", "v[2:3] v[4:5]", "a[0:3]"),
    ("v_mfma_f32_4x4x4_16b_f16 v[0:3], a[2:3], v[4:5], v[8:11]", "a[2:3] v[4:5] v[8:11]", "v[0:3]"),
    (
        "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12",
        "v[4:5] v[8:11] v12 v[0:3]",
        "v[0:3]",
    ),
    (
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:15], v[0:3], v20, v21 \
         op_sel_hi:[0,0,0] blgp:4",
        "v[4:11] v[12:15] v[0:3] v20 v21",
        "v[0:3]",
    ),
    ("v_permlane32_swap_b32_e32 v0, v1", "v1 v0 exec", "v0 v1"),
    ("ds_read2_b64 v[0:3], v4", "v4 exec", "v[0:3]"),
    ("ds_write_b64 v4, v[0:1]", "v4 v[0:1] exec", ""),
    ("ds_add_rtn_u32 v5, v4, v0", "v4 v0 exec", "v5"),
    ("ds_append v5", "exec m0", "v5"),
    ("flat_load_dword v0, v[2:3]", "v[2:3] exec flat_scratch", "v0"),
    ("global_load_dwordx2 v[0:1], v2, s[4:5]", "v2 s[4:5] exec", "v[0:1]"),
    ("global_store_dwordx2 v[2:3], a[0:1], off", "v[2:3] a[0:1] exec", ""),
    ("global_atomic_add v[2:3], v4, off", "v[2:3] v4 exec", ""),
    ("global_atomic_add v1, v[2:3], v4, off sc0", "v[2:3] v4 exec", "v1"),
    ("global_load_lds_dword v[2:3], off", "v[2:3] exec m0", ""),
    ("scratch_store_dword off, v1, s4", "v1 s4 exec flat_scratch", ""),
    ("buffer_load_dword v1, v2, s[4:7], s9 offen", "v2 s[4:7] s9 exec", "v1"),
    ("buffer_load_dword v2, s[4:7], s9 offen lds", "v2 s[4:7] s9 exec m0", ""),
    ("buffer_atomic_cmpswap v[2:3], off, s[4:7], 0 sc0", "v[2:3] s[4:7] exec", "v2"),
    ("buffer_atomic_cmpswap v[2:3], off, s[4:7], 0", "v[2:3] s[4:7] exec", ""),
];

fn register_names(inst: &Inst, writes: bool) -> Vec<String> {
    let mut operands = Vec::new();
    let mut note = |operand: Operand| operands.push(operand);
    let scc = if writes {
        inst.writes(&mut note);
        inst.writes_scc()
    } else {
        inst.reads(&mut note);
        inst.reads_scc()
    };
    let mut names: Vec<String> = operands.iter().map(Operand::to_string).collect();
    names.extend(scc.then(|| "scc".to_owned()));
    names.sort();
    names
}

#[test]
fn registers_read_and_written_are_complete() {
    let lines: Vec<&str> = REGISTER_USE.iter().map(|(text, ..)| *text).collect();
    for ((text, reads, writes), line) in REGISTER_USE.iter().zip(canonical(Arch::Gfx950, &lines)) {
        let line = line.unwrap_or_else(|| panic!("{text}: not assembled"));
        let inst = decode(Arch::Gfx950, &line.words()).unwrap_or_else(|e| panic!("{text}: {e}"));
        let expected = |list: &str| {
            let mut names: Vec<String> = list.split_whitespace().map(str::to_owned).collect();
            names.sort();
            names
        };
        assert_eq!(register_names(&inst, false), expected(reads), "{text}: reads");
        assert_eq!(register_names(&inst, true), expected(writes), "{text}: writes");
        let named = |list: &str| list.split_whitespace().any(|name| name.starts_with("exec"));
        assert_eq!(inst.reads_exec(), named(reads), "{text}: reads exec");
        assert_eq!(inst.writes_exec(), named(writes), "{text}: writes exec");
    }
}

#[test]
fn operations_are_found_by_name() {
    for (at, op) in Op::ALL.into_iter().enumerate() {
        assert_eq!(op as usize, at);
        assert_eq!(Op::from_name(op.name()), Some(op));
        assert!(op.encodings().count() > 0, "{op} has an encoding");
    }
    for row in &OPS {
        assert_eq!(OpInfo::from_mnemonic(row.mnemonic).map(|r| r.op), Some(row.op));
    }
    assert_eq!(Op::from_name("v_nonsense"), None);
}

/// The register counts of the matrix table agree with the operands of the opcode table, and the
/// durations with the published peak rates.
#[test]
fn matrix_table_agrees_with_the_opcode_table() {
    for info in &MFMA {
        let row = info.op.encodings().next().expect("an encoding");
        assert!(row.archs.has(info.arch), "{}", info.op);
        let operands = [row.dst[0], row.src[0], row.src[1]].map(|slot| slot.dwords);
        assert_eq!(operands, [info.cd_vgprs, info.a_vgprs, info.b_vgprs], "{}", info.op);
        let elements = u32::from(info.m) * u32::from(info.n) * u32::from(info.blocks);
        let bits = u32::from(info.cd_vgprs) * 64 * 32 / elements;
        let expected = if info.op.name().starts_with("v_mfma_f64") { 64 } else { 32 };
        assert_eq!(bits, expected, "{}: bits per element of D", info.op);
        assert_eq!(MfmaInfo::get(info.op, info.arch), Some(info));
    }
    let matrix = |op: &Op| op.name().starts_with("v_mfma_") || op.name().starts_with("v_smfmac_");
    for op in Op::ALL.iter().filter(|op| matrix(op) && op.name() != "v_mfma_ld_scale_b32") {
        let archs = [Arch::Gfx942, Arch::Gfx950];
        assert!(archs.iter().any(|&a| MfmaInfo::get(*op, a).is_some()), "{op}");
    }
    // Operations per cycle of a compute unit (four matrix units), from the vendor's data sheets.
    let rate = |name: &str, arch| {
        let info = MfmaInfo::get(Op::from_name(name).expect("a name"), arch).expect("a row");
        4 * info.operations() / (4 * u64::from(info.passes_narrow))
    };
    assert_eq!(rate("v_mfma_f32_32x32x8_f16", Arch::Gfx942), 2048);
    assert_eq!(rate("v_mfma_f32_32x32x16_fp8_fp8", Arch::Gfx942), 4096);
    assert_eq!(rate("v_mfma_f64_16x16x4_f64", Arch::Gfx942), 256);
    assert_eq!(rate("v_mfma_f64_16x16x4_f64", Arch::Gfx950), 128);
    assert_eq!(rate("v_mfma_f32_32x32x16_bf16", Arch::Gfx950), 4096);
    assert_eq!(rate("v_mfma_f32_32x32x64_f8f6f4", Arch::Gfx950), 16384);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200_000))]

    /// Any words give an instruction or an error, and any instruction prints.
    #[test]
    fn decoding_and_printing_are_total(words: [u32; 4], length in 0_usize..=4, gfx950: bool) {
        let arch = if gfx950 { Arch::Gfx950 } else { Arch::Gfx942 };
        match decode(arch, &words[..length]) {
            Ok(inst) => {
                let text = inst.to_string();
                prop_assert!(text.starts_with(inst.info.base()), "{}", text);
                prop_assert!(!text.contains("reserved"), "{}", text);
                prop_assert!(usize::from(inst.size) <= length * 4);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
