//! Alterations of instructions, against what the assembler makes of their text.

use std::collections::HashMap;

use hk_sim::alter::{Kind, alterations};
use hk_sim::isa::{Arch, decode};

#[path = "support/assembled.rs"]
mod assembled;

/// An instruction, and all that it may be altered to.
const TABLE: &[(&str, &[(Kind, &str)])] = {
    use Kind::{AddSub, Compare, Float, Integer, MinMax, Select, Swap};
    &[
        (
            "s_add_u32 s0, s1, 64",
            &[(Integer, "s_add_u32 s0, s1, 63"), (AddSub, "s_sub_u32 s0, s1, 64")],
        ),
        (
            "s_sub_u32 s0, -16, s1",
            &[
                (Integer, "s_sub_u32 s0, -15, s1"),
                (AddSub, "s_add_u32 s0, -16, s1"),
                (Swap, "s_sub_u32 s0, s1, -16"),
            ],
        ),
        (
            "s_lshl_b32 s0, s1, 0x12345",
            &[
                (Integer, "s_lshl_b32 s0, s1, 0x12346"),
                (Integer, "s_lshl_b32 s0, s1, 0x12344"),
                (Swap, "s_lshl_b32 s0, 0x12345, s1"),
            ],
        ),
        (
            "s_cselect_b64 s[0:1], -1, 0",
            &[
                (Integer, "s_cselect_b64 s[0:1], 0, 0"),
                (Integer, "s_cselect_b64 s[0:1], -1, -1"),
                (Select, "s_cselect_b64 s[0:1], 0, -1"),
            ],
        ),
        ("s_cmp_lt_i32 s0, s1", &[(Compare, "s_cmp_le_i32 s0, s1")]),
        ("s_cmp_lg_u64 s[0:1], s[2:3]", &[(Compare, "s_cmp_eq_u64 s[0:1], s[2:3]")]),
        (
            "s_cmpk_ge_u32 s0, 0x7",
            &[
                (Integer, "s_cmpk_ge_u32 s0, 0x8"),
                (Integer, "s_cmpk_ge_u32 s0, 0x6"),
                (Compare, "s_cmpk_gt_u32 s0, 0x7"),
            ],
        ),
        ("s_movk_i32 s0, 0x1", &[(Integer, "s_movk_i32 s0, 0x2"), (Integer, "s_movk_i32 s0, 0x0")]),
        ("s_min_u32 s0, s1, s2", &[(MinMax, "s_max_u32 s0, s1, s2")]),
        (
            "s_load_dwordx2 s[0:1], s[2:3], 0x10",
            &[
                (Integer, "s_load_dwordx2 s[0:1], s[2:3], 0x14"),
                (Integer, "s_load_dwordx2 s[0:1], s[2:3], 0xc"),
            ],
        ),
        (
            "v_sub_f32_e32 v0, v1, v2",
            &[(AddSub, "v_add_f32_e32 v0, v1, v2"), (Swap, "v_subrev_f32_e32 v0, v1, v2")],
        ),
        (
            "v_mul_f32_e32 v0, 4.0, v1",
            &[(Float, "v_mul_f32_e32 v0, -4.0, v1"), (Float, "v_mul_f32_e32 v0, 2.0, v1")],
        ),
        (
            "v_fmaak_f32 v0, v1, v2, 0x3f317218",
            &[
                (Float, "v_fmaak_f32 v0, v1, v2, 0xbf317218"),
                (Float, "v_fmaak_f32 v0, v1, v2, 0x3fb17218"),
            ],
        ),
        (
            "v_mov_b32_e32 v0, 0x800",
            &[(Integer, "v_mov_b32_e32 v0, 0x801"), (Integer, "v_mov_b32_e32 v0, 0x7ff")],
        ),
        (
            "v_mov_b32_e32 v0, 0x40400000",
            &[(Float, "v_mov_b32_e32 v0, 0xc0400000"), (Float, "v_mov_b32_e32 v0, 0x40c00000")],
        ),
        ("v_lshlrev_b32_e32 v0, v1, v2", &[(Swap, "v_lshlrev_b32_e32 v0, v2, v1")]),
        (
            "v_lshlrev_b32_e32 v0, 2, v2",
            &[(Integer, "v_lshlrev_b32_e32 v0, 3, v2"), (Integer, "v_lshlrev_b32_e32 v0, 1, v2")],
        ),
        ("v_cndmask_b32_e32 v0, v1, v2, vcc", &[(Select, "v_cndmask_b32_e32 v0, v2, v1, vcc")]),
        (
            "v_cndmask_b32_e64 v0, |v1|, -v2, s[2:3]",
            &[(Select, "v_cndmask_b32_e64 v0, -v2, |v1|, s[2:3]")],
        ),
        ("v_cmp_ngt_f32_e32 vcc, v0, v1", &[(Compare, "v_cmp_nge_f32_e32 vcc, v0, v1")]),
        ("v_cmp_u_f32_e32 vcc, v0, v1", &[(Compare, "v_cmp_o_f32_e32 vcc, v0, v1")]),
        ("v_max_f32_e32 v0, v1, v2", &[(MinMax, "v_min_f32_e32 v0, v1, v2")]),
        ("v_max_f32_e32 v0, v1, v1", &[]),
        (
            "v_fma_f32 v0, v1, v2, -v3",
            &[(Swap, "v_fma_f32 v0, v1, -v3, v2"), (AddSub, "v_fma_f32 v0, v1, v2, v3")],
        ),
        (
            "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0,1]",
            &[
                (Swap, "v_pk_fma_f32 v[0:1], v[2:3], v[6:7], v[4:5] op_sel_hi:[1,1,0]"),
                (
                    AddSub,
                    "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0,1] \
                     neg_lo:[0,0,1] neg_hi:[0,0,1]",
                ),
            ],
        ),
        (
            "v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]",
            &[(Swap, "v_mfma_f32_16x16x16_f16 v[0:3], v[6:7], v[4:5], v[0:3]")],
        ),
        (
            "ds_read2_b32 v[0:1], v2 offset0:3",
            &[
                (Integer, "ds_read2_b32 v[0:1], v2 offset0:4"),
                (Integer, "ds_read2_b32 v[0:1], v2 offset0:2"),
            ],
        ),
        (
            "global_load_dword v0, v1, s[0:1] offset:-4096",
            &[
                (Integer, "global_load_dword v0, v1, s[0:1] offset:-4095"),
                (Integer, "global_load_dword v0, v1, s[0:1] offset:4095"),
            ],
        ),
        (
            "buffer_load_dword v0, v1, s[0:3], 0 offen offset:16",
            &[
                (Integer, "buffer_load_dword v0, v1, s[0:3], 0 offen offset:17"),
                (Integer, "buffer_load_dword v0, v1, s[0:3], 0 offen offset:15"),
            ],
        ),
        // Neither values nor their order.
        ("s_waitcnt vmcnt(0)", &[]),
        ("s_barrier", &[]),
        ("s_nop 3", &[]),
        ("s_setprio 1", &[]),
        ("v_mul_f32_e32 v0, v1, v2", &[]),
    ]
};

/// The words of every text of the table.
fn assemble(arch: Arch) -> HashMap<&'static str, Vec<u32>> {
    let texts: Vec<&str> = TABLE
        .iter()
        .flat_map(|(text, altered)| {
            [*text].into_iter().chain(altered.iter().map(|(_, text)| *text))
        })
        .collect();
    let words = assembled::words(&texts, arch);
    texts.into_iter().zip(words).collect()
}

#[test]
fn alterations_are_the_listed_ones_in_the_assemblers_encoding() {
    for arch in [Arch::Gfx942, Arch::Gfx950] {
        let words = assemble(arch);
        for (text, expected) in TABLE {
            let inst = decode(arch, &words[text]).expect("it decodes");
            let found: Vec<(Kind, Vec<u32>)> = alterations(arch, &inst)
                .into_iter()
                .map(|found| {
                    (found.change.kind, found.inst.raw[..usize::from(inst.size / 4)].to_vec())
                })
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|(kind, text)| (*kind, words[text].clone())).collect();
            assert_eq!(found, expected, "{arch} {text}");
        }
    }
}
