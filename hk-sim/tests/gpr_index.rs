//! VGPR indexing against the same instructions with their registers renumbered by hand.

#[path = "isa_common/llvm.rs"]
mod llvm;

use hk_sim::FaultKind;
use hk_sim::exec::SingleWave;
use hk_sim::isa::Arch;
use llvm::canonical;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Instructions. `0.`, `1.`, `2.` and `D.` before a register say which bit of the selection moves
/// it; registers without a mark stay.
const FORMS: &[&str] = &[
    "v_mov_b32_e32 D.v3, 0.v9",
    "v_mov_b64_e32 D.v[4:5], 0.v[10:11]",
    "v_not_b32_e64 D.v3, 0.v9",
    "v_add_f32_e32 D.v3, 0.v9, 1.v12",
    "v_add_f32_e32 D.v3, s5, 1.v12",
    "v_add_f32_e32 D.v3, 0x12345678, 1.v12",
    "v_add_f32_e64 D.v3, -0.v9, |1.v12| clamp",
    "v_lshlrev_b32_e32 D.v3, 0.v9, 1.v12",
    "v_fma_f32 D.v3, 0.v9, 1.v12, 2.v15",
    "v_fma_f64 D.v[4:5], 0.v[8:9], 1.v[12:13], 2.v[16:17]",
    "v_fmac_f32_e32 D.v3, 0.v9, 1.v12",
    "v_fmamk_f32 D.v3, 0.v9, 0x40000000, 1.v12",
    "v_fmaak_f32 D.v3, 0.v9, 1.v12, 0x40000000",
    "v_dot2c_f32_f16_e32 D.v3, 0.v9, 1.v12",
    "v_cndmask_b32_e32 D.v3, 0.v9, 1.v12, vcc",
    "v_cndmask_b32_e64 D.v3, 0.v9, 1.v12, s[8:9]",
    "v_addc_co_u32_e32 D.v3, vcc, 0.v9, 1.v12, vcc",
    "v_mad_u64_u32 D.v[4:5], s[8:9], 0.v9, 1.v12, 2.v[16:17]",
    "v_fma_mixlo_f16 D.v3, 0.v9, 1.v12, 2.v15",
    "v_pk_fma_f32 D.v[4:5], 0.v[8:9], 1.v[12:13], 2.v[16:17]",
    "v_pk_add_f16 D.v3, 0.v9, 1.v12",
    "v_cmp_lt_f32_e32 vcc, 0.v9, 1.v12",
    "v_cmp_lt_f32_e64 s[8:9], 0.v9, 1.v12",
    "v_cmpx_ne_u32_e32 vcc, 0.v9, 1.v12",
    "v_mov_b32_sdwa D.v3, 0.v9 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1",
    "v_add_u32_sdwa D.v3, 0.v9, 1.v12 dst_sel:WORD_1 dst_unused:UNUSED_SEXT \
     src0_sel:BYTE_2 src1_sel:DWORD",
    "v_mov_b32_dpp D.v3, 0.v9 row_shl:3 row_mask:0xf bank_mask:0x5",
    "v_add_f32_dpp D.v3, 0.v9, 1.v12 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf",
    "v_cvt_pk_fp8_f32 D.v3, 0.v9, 1.v12 op_sel:[0,0,1]",
    "v_swap_b32 D.v3, 0.v9",
    "v_readlane_b32 s8, 0.v9, 17",
    "v_readfirstlane_b32 s8, 0.v9",
    "v_writelane_b32 D.v3, s5, 17",
    "v_accvgpr_read_b32 D.v3, 0.a9",
    "v_accvgpr_write_b32 D.a3, 0.v9",
    "v_accvgpr_write_b32 D.a3, s5",
    "v_accvgpr_mov_b32 D.a3, 0.a9",
    "v_mfma_f32_4x4x4_16b_f16 D.v[4:7], 0.v[8:9], 1.v[12:13], 2.v[16:19]",
    "v_mfma_f32_4x4x4_16b_f16 D.a[4:7], 0.a[8:9], 1.v[12:13], 2.a[16:19]",
    "v_mfma_f32_4x4x4_16b_f16 D.a[4:7], 0.v[8:9], 1.a[12:13], 1.0",
    "v_smfmac_f32_16x16x32_f16 D.a[4:7], 0.v[8:9], 1.v[12:15], 2.v18",
    "ds_read_b32 v3, v9",
    "ds_write_b32 v9, v12",
    "ds_bpermute_b32 v3, v9, v12",
    "s_add_u32 s8, s5, s7",
];

/// Those of gfx950.
const FORMS_GFX950: &[&str] = &[
    "v_permlane16_swap_b32_e32 D.v3, 0.v9",
    "v_permlane32_swap_b32_e64 D.v3, 0.v9 bound_ctrl:1",
    "v_bitop3_b32 D.v3, 0.v9, 1.v12, 2.v15 bitop3:0x96",
    "v_mfma_f32_16x16x128_f8f6f4 D.v[32:35], 0.v[40:43], 1.a[48:51], 2.v[56:59] cbsz:4 blgp:4",
    "v_mfma_scale_f32_16x16x128_f8f6f4 D.a[32:35], 0.v[40:43], 1.v[48:51], 2.a[56:59], \
     0.v9, 1.v12 op_sel_hi:[0,0,0] cbsz:4 blgp:4",
];

/// The text with registers whose mark is selected moved by `offset`, and whether all of them exist.
fn moved(form: &str, select: u32, offset: u32) -> (String, bool) {
    let (mut text, mut exists) = (String::new(), true);
    for word in form.split_inclusive([' ', '|', '-']) {
        let marked = word.split_once('.').filter(|(mark, rest)| {
            ["0", "1", "2", "D"].contains(mark) && rest.starts_with(['v', 'a'])
        });
        let Some((mark, register)) = marked else {
            text += word;
            continue;
        };
        let bit = "012D".find(mark).expect("it is one of them");
        let by = if select >> bit & 1 == 1 { offset } else { 0 };
        let mut digits = String::new();
        for letter in register.chars().chain(['\0']) {
            if letter.is_ascii_digit() {
                digits.push(letter);
                continue;
            }
            if !digits.is_empty() {
                let number = digits.parse::<u32>().expect("digits") + by;
                exists &= number < 256;
                text += &number.to_string();
                digits.clear();
            }
            text.extend((letter != '\0').then_some(letter));
        }
    }
    (text, exists)
}

/// A wave with random registers; few rows, so that offsets reach others that differ.
fn wave(arch: Arch, words: &[u32], rng: &mut StdRng) -> SingleWave {
    let mut wave = SingleWave::new(arch, words);
    for row in 0..512 {
        wave.set_vgpr(row, std::array::from_fn(|_| rng.random_range(0x3c00_0000..0x4400_0000)));
    }
    for sgpr in 0..100 {
        wave.set_sgpr(sgpr, rng.random_range(0..64));
    }
    let lds: Vec<u8> = (0..65536u32).map(|at| ((at * 7) >> 3) as u8).collect();
    wave.set_lds(&lds);
    wave.set_exec(rng.random());
    wave.set_vcc(rng.random());
    wave
}

fn check(arch: Arch, forms: &[&str]) {
    let mut cases = Vec::new();
    for form in forms {
        for select in 0..16 {
            // LDS addresses are registers that stay small.
            for offset in [0, 1, 2, 30, 190, 243, 255] {
                let (text, exists) = moved(form, select, offset);
                cases.push((form, select, offset, text, exists));
            }
        }
    }
    let plain: Vec<String> = forms.iter().map(|form| moved(form, 0, 0).0).collect();
    let plain = canonical(arch, &plain);
    let texts: Vec<&str> = cases.iter().map(|case| case.3.as_str()).collect();
    let lines = canonical(arch, &texts);
    let mut past_the_end = 0;
    for ((form, select, offset, text, exists), line) in cases.iter().zip(lines) {
        let at = forms.iter().position(|other| other == *form).expect("it is one of them");
        let Some(plain) = &plain[at] else { panic!("{form} is not assembled") };
        // Where the assembler wants tuples to be even, odd ones are not tried.
        let odd = offset % 2 == 1 && text.contains('[');
        if *exists && odd && line.is_none() {
            continue;
        }
        // s_mov_b32 s90, offset; s_set_gpr_idx_on s90, select; ...; s_set_gpr_idx_off
        let on = 0xbf11_005a | select << 8;
        let mut words = vec![0xbeda_00ff, *offset, on];
        words.extend(plain.words());
        words.push(0xbf9c_0000);
        let seed = u64::from(select << 8 | offset);
        let mut indexed = wave(arch, &words, &mut StdRng::seed_from_u64(seed));
        let result = indexed.run();
        let mut rng = StdRng::seed_from_u64(seed);
        if !exists {
            past_the_end += 1;
            let report = result.expect_err("there is no such register");
            assert_eq!(report.kind, FaultKind::IllegalState, "{text}: {report}");
            assert!(report.detail.contains("past the last register"), "{report}");
            let untouched = wave(arch, &words, &mut rng);
            assert!((0..512).all(|row| indexed.vgpr(row) == untouched.vgpr(row)), "{text}");
            continue;
        }
        result.unwrap_or_else(|report| panic!("{form} by {offset}: {report}"));
        let words = line.unwrap_or_else(|| panic!("{text} is not assembled")).words();
        let mut renumbered = wave(arch, &words, &mut rng);
        renumbered.run().unwrap_or_else(|report| panic!("{text}: {report}"));
        for row in 0..512 {
            assert_eq!(
                indexed.vgpr(row),
                renumbered.vgpr(row),
                "{form}, select {select:#x}, offset {offset}: row {row}"
            );
        }
        // The index itself stands in s90 and m0.
        let scalars = |wave: &SingleWave| {
            let others = (0..128).filter(|code| ![90, 124].contains(code));
            others.map(|code| wave.sgpr(code)).collect::<Vec<u32>>()
        };
        assert_eq!(scalars(&indexed), scalars(&renumbered), "{form}: scalar registers");
        assert_eq!(indexed.lds(), renumbered.lds(), "{form}: LDS");
    }
    assert!(past_the_end > 10, "{arch}: {past_the_end}");
}

#[test]
fn selected_operands_move() {
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        check(arch, FORMS);
    }
    check(Arch::Gfx950, FORMS_GFX950);
}

/// `v_accvgpr_read` in a loop over blocks of accumulation registers reads each of them.
#[test]
fn an_index_counts_up_through_accumulation_registers() {
    let lines = ["v_accvgpr_read_b32 v3, a8", "v_accvgpr_write_b32 a8, v4"];
    let [read, write] = lines
        .map(|line| canonical(Arch::Gfx950, &[line])[0].as_ref().expect("it is assembled").words());
    for index in [0, 1, 16, 100, 247] {
        let mut words = vec![0xbeda_00ff, index, 0xbf11_015a];
        words.extend(&read);
        words.push(0xbf11_085a);
        words.extend(&write);
        words.push(0xbf9c_0000);
        let mut wave = SingleWave::new(Arch::Gfx950, &words);
        for row in 0..512 {
            wave.set_vgpr(row, [row as u32; 64]);
        }
        wave.run().unwrap_or_else(|report| panic!("{report}"));
        assert_eq!(wave.vgpr(3), &[256 + 8 + index; 64]);
        assert_eq!(wave.vgpr(256 + 8 + index as usize), &[4; 64]);
    }
}
