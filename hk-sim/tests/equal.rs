//! Proofs that an alteration changes nothing: each kind of proof with an alteration that it is for
//! and one that is almost like it, but changes something.

use hk_build::assemble_lines;
use hk_sim::equal::{Entry, is_equal};
use hk_sim::isa::{Arch, decode};
use hk_sim::object::Placed;

const ENTRY: Entry = Entry { threads: 256, group: Some(40) };

/// Code, one line of which is altered to the texts of the first list, which is proved equal, and to
/// those of the second, which is not.
struct Example {
    code: &'static [&'static str],
    line: usize,
    equal: &'static [&'static str],
    others: &'static [&'static str],
}

const EXAMPLES: &[Example] = &[
    // Overwritten before it is read, on every way.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "s_cbranch_scc0 1",
            "s_nop 0",
            "v_mov_b32_e32 v1, 2",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    // On one way only.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "s_cbranch_scc0 1",
            "v_mov_b32_e32 v1, 2",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // In some lanes only.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 2",
            "s_mov_b64 exec, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // In the lanes that execute, all of which it is overwritten in while they do.
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "v_mov_b32_e32 v1, 2",
            "s_or_b64 exec, exec, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    // Some of them have left by then.
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "s_and_b64 exec, exec, s[4:5]",
            "v_mov_b32_e32 v1, 2",
            "s_mov_b64 exec, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // Others than those that execute have it.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 2",
            "s_xor_b64 exec, exec, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 2,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // Idle lanes keep what they have, which one may read whether it executes or not.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 2",
            "v_readlane_b32 s4, v1, 3",
            "s_cmp_eq_u32 s4, 0",
            "s_cbranch_scc1 0",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // What is known in lanes that execute is not what others have, to which control comes back.
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_and_b32_e32 v1, 0xff, v1",
            "v_and_b32_e32 v2, 0xff, v1",
            "s_or_b64 exec, exec, s[2:3]",
            "global_store_dword v0, v2, s[0:1]",
            "s_endpgm",
        ],
        line: 2,
        equal: &["v_and_b32_e32 v2, 0x1ff, v1"],
        others: &["v_and_b32_e32 v2, 0x7f, v1"],
    },
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_and_b32_e32 v1, 0xff, v1",
            "s_or_b64 exec, exec, s[2:3]",
            "v_and_b32_e32 v2, 0xff, v1",
            "global_store_dword v0, v2, s[0:1]",
            "s_endpgm",
        ],
        line: 3,
        equal: &[],
        others: &["v_and_b32_e32 v2, 0x1ff, v1"],
    },
    // What is behind a branch that is taken if no lane executes is for others.
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "s_cbranch_execz 4",
            "v_mov_b32_e32 v1, 2",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "s_cbranch_execz 4",
            "v_mov_b32_e32 v1, 2",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
            "s_mov_b64 exec, -1",
            "global_store_dword v0, v2, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "s_cbranch_execnz 3",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
            "v_mov_b32_e32 v1, 2",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    // The other half of a branch has other lanes; behind both, all have it.
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "s_andn2_saveexec_b64 s[2:3], s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, 0",
            "s_andn2_saveexec_b64 s[2:3], s[2:3]",
            "s_or_b64 exec, exec, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    Example {
        code: &[
            "v_and_b32_e32 v1, 0xff, v1",
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v1, v2",
            "s_andn2_saveexec_b64 s[2:3], s[2:3]",
            "v_and_b32_e32 v3, 0xff, v1",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 4,
        equal: &["v_and_b32_e32 v3, 0x1ff, v1"],
        others: &["v_and_b32_e32 v3, 0x7f, v1"],
    },
    // A number that is only compared with another, wherever it goes before; not with two others, or
    // if more becomes of it.
    Example {
        code: &[
            "v_cndmask_b32_e64 v1, 0, 1, s[2:3]",
            "v_cndmask_b32_e32 v2, 5, v1, vcc",
            "v_cmp_ne_u32_e32 vcc, 1, v2",
            "s_cbranch_vccnz 0",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_cndmask_b32_e64 v1, -1, 1, s[2:3]"],
        others: &["v_cndmask_b32_e64 v1, 0, 2, s[2:3]", "v_cndmask_b32_e64 v1, 1, 1, s[2:3]"],
    },
    Example {
        code: &["s_cselect_b32 s4, 1, 0", "s_cmp_lg_u32 s4, 0", "s_cbranch_scc1 0", "s_endpgm"],
        line: 0,
        equal: &["s_cselect_b32 s4, 2, 0", "s_cselect_b32 s4, -1, 0"],
        others: &["s_cselect_b32 s4, 1, 1", "s_cselect_b32 s4, 0, 1"],
    },
    Example {
        code: &[
            "s_cselect_b32 s4, 1, 0",
            "s_cmp_lg_u32 s4, 0",
            "s_cbranch_scc1 2",
            "s_cmp_eq_u32 s4, 2",
            "s_cbranch_scc1 0",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["s_cselect_b32 s4, 2, 0"],
    },
    Example {
        code: &[
            "v_cndmask_b32_e64 v1, 0, 1, s[2:3]",
            "v_cmp_ne_u32_e32 vcc, 1, v1",
            "global_store_dword v1, v0, s[0:1]",
            "s_cbranch_vccnz 0",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_cndmask_b32_e64 v1, -1, 1, s[2:3]"],
    },
    // Lanes that do not execute keep what others test.
    Example {
        code: &[
            "v_cndmask_b32_e64 v1, 0, 1, s[2:3]",
            "s_and_saveexec_b64 s[4:5], vcc",
            "v_mov_b32_e32 v1, 2",
            "s_or_b64 exec, exec, s[4:5]",
            "v_cmp_ne_u32_e32 vcc, 1, v1",
            "s_cbranch_vccnz 0",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_cndmask_b32_e64 v1, -1, 1, s[2:3]"],
        others: &["v_cndmask_b32_e64 v1, 0, 0, s[2:3]"],
    },
    // Small numbers fill a register, too, unless they are for one half of it.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "global_load_ushort v1, v0, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "v_cvt_pk_bf16_f32 v1, v2, v3",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_mov_b32_e32 v1, 1"],
        others: &[],
    },
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "global_load_short_d16 v1, v0, s[2:3]",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // A buffer that is smaller than an access holds nothing, which some copies of its size may say.
    Example {
        code: &[
            "s_mov_b32 s7, 0x27000",
            "s_cselect_b32 s6, 0, s8",
            "s_mov_b32 s9, s6",
            "s_mov_b32 s6, s9",
            "buffer_load_dword v1, v0, s[4:7], 0 offen",
            "s_waitcnt vmcnt(0)",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["s_cselect_b32 s6, 1, s8", "s_cselect_b32 s6, 3, s8"],
        others: &["s_cselect_b32 s6, 4, s8", "s_cselect_b32 s6, 0, s10", "s_cselect_b32 s6, s8, 0"],
    },
    Example {
        code: &[
            "s_mov_b32 s7, 0x27000",
            "s_cselect_b32 s6, 0, s8",
            "buffer_load_ushort v1, v0, s[4:7], 0 offen",
            "s_endpgm",
        ],
        line: 1,
        equal: &["s_cselect_b32 s6, 1, s8"],
        others: &["s_cselect_b32 s6, 2, s8"],
    },
    // It is also a number.
    Example {
        code: &[
            "s_mov_b32 s7, 0x27000",
            "s_cselect_b32 s6, 0, s8",
            "s_add_u32 s9, s6, s8",
            "buffer_load_dword v1, v0, s[4:7], s9 offen",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["s_cselect_b32 s6, 1, s8"],
    },
    // The lowest bit changes the same way, whatever is added or taken off.
    Example {
        code: &[
            "s_add_i32 s4, s5, 1",
            "s_and_b32 s4, s4, 1",
            "s_load_dword s6, s[0:1], s4",
            "s_endpgm",
        ],
        line: 0,
        equal: &["s_sub_i32 s4, s5, 1"],
        others: &["s_add_i32 s4, s5, 2"],
    },
    Example {
        code: &[
            "s_add_i32 s4, s5, 1",
            "s_and_b32 s4, s4, 3",
            "s_load_dword s6, s[0:1], s4",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["s_sub_i32 s4, s5, 1"],
    },
    // One half of it only.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0",
            "v_cvt_f16_f32_e32 v1, v2",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_mov_b32_e32 v1, 1"],
    },
    // A sum of which only SCC is read, and then not even that.
    Example {
        code: &["s_add_u32 s4, s5, 1", "s_cbranch_scc1 0", "s_endpgm"],
        line: 0,
        equal: &[],
        others: &["s_add_u32 s4, s5, 2", "s_sub_u32 s4, s5, 1"],
    },
    Example {
        code: &["s_add_u32 s4, s5, 1", "s_cmp_eq_u32 s5, 0", "s_cbranch_scc1 0", "s_endpgm"],
        line: 0,
        equal: &["s_add_u32 s4, s5, 2", "s_sub_u32 s4, s5, 1"],
        others: &[],
    },
    // The format in a buffer's descriptor; not its kind, nor if the instruction asks for it, nor if
    // the word is also something else.
    Example {
        code: &[
            "s_mov_b32 s7, 0x27000",
            "buffer_load_dword v1, v0, s[4:7], 0 offen",
            "s_waitcnt vmcnt(0)",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["s_mov_b32 s7, 0x27001", "s_mov_b32 s7, 0x26fff"],
        others: &["s_mov_b32 s7, 0x827000", "s_mov_b32 s6, 0x27000"],
    },
    Example {
        code: &[
            "s_mov_b32 s7, 0x27000",
            "buffer_load_format_x v1, v0, s[4:7], 0 offen",
            "s_waitcnt vmcnt(0)",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["s_mov_b32 s7, 0x27001"],
    },
    Example {
        code: &[
            "s_mov_b32 s7, 0x27000",
            "s_mov_b32 s8, s7",
            "buffer_load_dword v1, v0, s[4:7], s8 offen",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["s_mov_b32 s7, 0x27001"],
    },
    // The lowest bits of a buffer's size, of accesses at multiples; not those that an access can end at, of
    // bytes, of structures, or if nothing is known of what is added.
    Example {
        code: &[
            "s_and_b32 s5, s5, 0xffff",
            "v_lshlrev_b32_e32 v0, 1, v0",
            "s_cselect_b32 s6, s8, 4",
            "buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen offset:16",
            "s_waitcnt vmcnt(0)",
            "global_store_dwordx4 v1, v[4:7], s[0:1]",
            "s_endpgm",
        ],
        line: 2,
        equal: &["s_cselect_b32 s6, s8, 5"],
        others: &["s_cselect_b32 s6, s8, 6", "s_cselect_b32 s6, s9, 4"],
    },
    Example {
        code: &[
            "s_and_b32 s5, s5, 0xffff",
            "v_lshlrev_b32_e32 v0, 4, v0",
            "s_mov_b32 s6, 4",
            "buffer_store_dword v1, v0, s[4:7], s9 offen",
            "s_endpgm",
        ],
        line: 2,
        equal: &[],
        others: &["s_mov_b32 s6, 5"],
    },
    Example {
        code: &[
            "s_and_b32 s5, s5, 0xffff",
            "v_lshlrev_b32_e32 v0, 4, v0",
            "s_mov_b32 s6, 0",
            "buffer_store_byte v1, v0, s[4:7], 0 offen",
            "s_endpgm",
        ],
        line: 2,
        equal: &[],
        others: &["s_mov_b32 s6, 1"],
    },
    Example {
        code: &[
            "v_lshlrev_b32_e32 v0, 4, v0",
            "s_mov_b32 s6, 4",
            "buffer_store_dword v1, v0, s[4:7], 0 offen",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["s_mov_b32 s6, 5"],
    },
    // Bits that a mask takes away, through a sum; those above are not.
    Example {
        code: &[
            "v_lshlrev_b32_e32 v1, 2, v0",
            "v_add_u32_e32 v2, 0x100, v1",
            "v_and_b32_e32 v3, 0xff, v2",
            "global_store_dword v3, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_add_u32_e32 v2, 0x300, v1"],
        others: &["v_add_u32_e32 v2, 0x101, v1", "v_sub_u32_e32 v2, 0x100, v1"],
    },
    // A mask of bits that are zero anyway, since the work-item's number has eight.
    Example {
        code: &[
            "v_lshlrev_b32_e32 v1, 3, v0",
            "v_and_b32_e32 v2, 0xff8, v1",
            "global_store_dword v2, v2, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_and_b32_e32 v2, 0xff9, v1", "v_and_b32_e32 v2, 0x7ff, v1"],
        others: &["v_and_b32_e32 v2, 0xff0, v1", "v_and_b32_e32 v2, 0x3ff, v1"],
    },
    // The same in a loop that adds to it.
    Example {
        code: &[
            "v_lshlrev_b32_e32 v1, 3, v0",
            "v_and_b32_e32 v2, 0xff8, v1",
            "v_add_u32_e32 v1, 4, v1",
            "global_store_dword v2, v2, s[0:1]",
            "s_cbranch_scc1 65530",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_and_b32_e32 v2, 0xff9, v1"],
        others: &["v_and_b32_e32 v2, 0xffc, v1"],
    },
    // The altered instruction must not rest on what it spoils itself.
    Example {
        code: &[
            "s_mov_b32 s4, 0",
            "s_and_b32 s4, s4, 1",
            "s_or_b32 s4, s4, s5",
            "s_cmp_eq_u32 s4, 0",
            "s_cbranch_scc1 65532",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["s_and_b32 s4, s4, 2", "s_and_b32 s4, s4, 0"],
    },
    // A shift to nothing: four waves have two bits of number.
    Example {
        code: &[
            "v_lshrrev_b32_e32 v1, 6, v0",
            "v_readfirstlane_b32 s4, v1",
            "s_lshr_b32 s5, s4, 2",
            "s_load_dword s6, s[0:1], s5",
            "s_endpgm",
        ],
        line: 2,
        equal: &["s_lshr_b32 s5, s4, 3", "s_lshr_b32 s5, s4, 2"],
        others: &["s_lshr_b32 s5, s4, 1", "s_lshr_b32 s5, s4, 32"],
    },
    // Operands that are equal, swapped; and such as differ in a byte that is selected.
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0x10002",
            "v_mov_b32_e32 v2, 0x30002",
            "s_mov_b32 s4, 0x5040100",
            "v_perm_b32 v3, v2, v1, s4",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 3,
        equal: &["v_perm_b32 v3, v1, v2, s4"],
        others: &["v_perm_b32 v3, v2, v2, v0"],
    },
    Example {
        code: &[
            "v_mov_b32_e32 v1, 0x10002",
            "v_mov_b32_e32 v2, 0x30002",
            "s_mov_b32 s4, 0x7060302",
            "v_perm_b32 v3, v2, v1, s4",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 3,
        equal: &[],
        others: &["v_perm_b32 v3, v1, v2, s4"],
    },
    // A multiple of 64 in the first lane of each wave, but not in others, nor in the first of some.
    Example {
        code: &[
            "v_lshrrev_b32_e32 v1, 4, v0",
            "v_readfirstlane_b32 s4, v1",
            "s_and_b32 s5, s4, 0xffffffc",
            "s_load_dword s6, s[0:1], s5",
            "s_endpgm",
        ],
        line: 2,
        equal: &["s_and_b32 s5, s4, 0xffffffd", "s_and_b32 s5, s4, 12"],
        others: &["s_and_b32 s5, s4, 4", "s_and_b32 s5, s4, 8"],
    },
    Example {
        code: &[
            "v_lshrrev_b32_e32 v1, 4, v0",
            "v_and_b32_e32 v2, 0xffffffc, v1",
            "global_store_dword v2, v2, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["v_and_b32_e32 v2, 0xffffffd, v1"],
    },
    Example {
        code: &[
            "v_lshrrev_b32_e32 v1, 4, v0",
            "s_and_b64 exec, exec, s[2:3]",
            "v_readfirstlane_b32 s4, v1",
            "s_and_b32 s5, s4, 0xffffffc",
            "s_load_dword s6, s[0:1], s5",
            "s_endpgm",
        ],
        line: 3,
        equal: &[],
        others: &["s_and_b32 s5, s4, 0xffffffd"],
    },
    // All lanes again behind a part that some have skipped; not if others have been left out for good.
    Example {
        code: &[
            "v_lshrrev_b32_e32 v1, 4, v0",
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_mov_b32_e32 v2, 2",
            "s_or_b64 exec, exec, s[2:3]",
            "v_readfirstlane_b32 s4, v1",
            "s_and_b32 s5, s4, 0xffffffc",
            "s_load_dword s6, s[0:1], s5",
            "s_endpgm",
        ],
        line: 5,
        equal: &["s_and_b32 s5, s4, 0xffffffd"],
        others: &["s_and_b32 s5, s4, 4"],
    },
    Example {
        code: &[
            "v_lshrrev_b32_e32 v1, 4, v0",
            "s_and_saveexec_b64 s[2:3], vcc",
            "s_and_saveexec_b64 s[4:5], vcc",
            "s_or_b64 exec, exec, s[4:5]",
            "v_readfirstlane_b32 s4, v1",
            "s_and_b32 s5, s4, 0xffffffc",
            "s_load_dword s6, s[0:1], s5",
            "s_endpgm",
        ],
        line: 5,
        equal: &[],
        others: &["s_and_b32 s5, s4, 0xffffffd"],
    },
    // SCC speaks of the lanes that are left, not of all.
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "s_cselect_b32 s4, 4, 8",
            "s_load_dword s6, s[0:1], s4",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["s_cselect_b32 s4, 4, 12"],
    },
    // Bits that are shifted away behind a choice; not those above, nor the choice.
    Example {
        code: &[
            "v_or_b32_e32 v1, 0x400000, v2",
            "v_cndmask_b32_e32 v3, v4, v1, vcc",
            "v_lshrrev_b32_e32 v3, 16, v3",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_or_b32_e32 v1, 0x400001, v2"],
        others: &["v_or_b32_e32 v1, 0x410000, v2", "v_or_b32_e32 v1, 0x400000, v4"],
    },
    // Bits that no byte that is picked has; not those of one.
    Example {
        code: &[
            "s_mov_b32 s4, 0x7060302",
            "v_or_b32_e32 v1, 0x400000, v2",
            "v_cndmask_b32_e32 v3, v4, v1, vcc",
            "v_perm_b32 v3, v5, v3, s4",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_or_b32_e32 v1, 0x400001, v2"],
        others: &["v_or_b32_e32 v1, 0x410000, v2"],
    },
    // Bits that are not stored; not those of an address.
    Example {
        code: &[
            "v_or_b32_e32 v1, 0x400000, v2",
            "global_store_short_d16_hi v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_or_b32_e32 v1, 0x400001, v2"],
        others: &["v_or_b32_e32 v1, 0x410000, v2"],
    },
    Example {
        code: &[
            "v_or_b32_e32 v1, 0x400000, v2",
            "global_store_short v0, v1, s[0:1]",
            "global_store_short_d16_hi v1, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_or_b32_e32 v1, 0x400001, v2", "v_or_b32_e32 v1, 0x410000, v2"],
    },
    Example {
        code: &[
            "s_mov_b32 s4, 0x9060302",
            "v_or_b32_e32 v1, 0x400000, v2",
            "v_perm_b32 v3, v5, v1, s4",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["v_or_b32_e32 v1, 0x400001, v2"],
    },
    Example {
        code: &[
            "s_or_b32 vcc_lo, s4, 1",
            "v_cndmask_b32_e32 v3, v4, v5, vcc",
            "v_lshrrev_b32_e32 v3, 16, v3",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["s_or_b32 vcc_lo, s4, 2"],
    },
    // The half of a register that another takes beside its own; not bits of that half.
    Example {
        code: &[
            "v_or_b32_e32 v1, 0x400000, v2",
            "v_and_b32_e32 v3, 0xffff0000, v3",
            "v_or_b32_sdwa v4, v1, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 \
             src1_sel:DWORD",
            "global_store_dword v0, v4, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_or_b32_e32 v1, 0x400001, v2"],
        others: &["v_or_b32_e32 v1, 0x410000, v2"],
    },
    Example {
        code: &[
            "v_or_b32_e32 v1, 0x400000, v2",
            "v_and_b32_e32 v3, 0xffff0000, v3",
            "v_or_b32_sdwa v4, v1, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 \
             src1_sel:DWORD",
            "global_store_dword v0, v4, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_or_b32_e32 v1, 0x410000, v2"],
        others: &["v_or_b32_e32 v1, 0x400001, v2"],
    },
    // Bits that a mask takes away behind an addition of registers, and such as remain.
    Example {
        code: &[
            "v_or_b32_e32 v1, 1, v2",
            "v_xor_b32_e32 v3, v1, v4",
            "v_and_b32_e32 v3, 12, v3",
            "global_store_dword v0, v3, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_or_b32_e32 v1, 2, v2"],
        others: &["v_or_b32_e32 v1, 4, v2"],
    },
    // Shifts of two words; a distance that is not known shifts in as many zeros as it must.
    Example {
        code: &[
            "s_mov_b32 s5, 0",
            "s_lshl_b64 s[6:7], s[4:5], 2",
            "s_and_b32 s8, s7, 3",
            "s_load_dword s9, s[0:1], s8",
            "s_endpgm",
        ],
        line: 2,
        equal: &["s_and_b32 s8, s7, 7"],
        others: &["s_and_b32 s8, s7, 1"],
    },
    Example {
        code: &[
            "s_cselect_b32 s5, 3, 2",
            "s_and_b32 s5, s5, 3",
            "s_lshl_b32 s6, s4, s5",
            "s_and_b32 s6, s6, -4",
            "s_load_dword s9, s[0:1], s6",
            "s_endpgm",
        ],
        line: 3,
        equal: &["s_and_b32 s6, s6, -3", "s_and_b32 s6, s6, -2"],
        others: &["s_and_b32 s6, s6, -8"],
    },
    // A sum that cannot carry: the upper half gets nothing, whether it is added or subtracted. One
    // that can.
    Example {
        code: &[
            "v_readfirstlane_b32 s4, v0",
            "s_add_u32 s6, s4, 16",
            "s_addc_u32 s7, s5, 0",
            "s_load_dword s9, s[6:7], 0x0",
            "s_endpgm",
        ],
        line: 2,
        equal: &["s_subb_u32 s7, s5, 0"],
        others: &["s_addc_u32 s7, s5, 1", "s_subb_u32 s7, s5, s4"],
    },
    Example {
        code: &[
            "s_add_u32 s6, s4, 16",
            "s_addc_u32 s7, s5, 0",
            "s_load_dword s9, s[6:7], 0x0",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["s_subb_u32 s7, s5, 0"],
    },
    // Of a sum, SCC is the carry, and not whether it is zero.
    Example {
        code: &[
            "s_mov_b32 s4, 0",
            "s_add_u32 s6, s5, s4",
            "s_cbranch_scc1 0",
            "s_load_dword s9, s[0:1], s6",
            "s_endpgm",
        ],
        line: 1,
        equal: &[],
        others: &["s_or_b32 s6, s5, s4"],
    },
    // The smaller of two of which one cannot be the smaller.
    Example {
        code: &[
            "v_min_u32_e32 v1, 0x1000, v0",
            "v_and_b32_e32 v2, 0xff, v1",
            "global_store_dword v2, v2, s[0:1]",
            "s_endpgm",
        ],
        line: 1,
        equal: &["v_and_b32_e32 v2, 0x1ff, v1"],
        others: &["v_and_b32_e32 v2, 0x7f, v1"],
    },
    // Loads go to dwords of LDS; a read by index uses the whole number.
    Example {
        code: &[
            "s_lshl_b32 s4, s5, 2",
            "s_or_b32 s4, s4, 0",
            "s_mov_b32 m0, s4",
            "buffer_load_dword v0, s[8:11], 0 offen lds",
            "s_endpgm",
        ],
        line: 1,
        equal: &["s_or_b32 s4, s4, 1", "s_or_b32 s4, s4, 3"],
        others: &["s_or_b32 s4, s4, 4"],
    },
    Example {
        code: &[
            "s_or_b32 m0, s4, 0",
            "buffer_load_dword v0, s[8:11], 0 offen lds",
            "v_readlane_b32 s6, v1, m0",
            "s_load_dword s7, s[0:1], s6",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["s_or_b32 m0, s4, 1"],
    },
    // A sign that another number's replaces.
    Example {
        code: &[
            "v_cndmask_b32_e32 v2, 1.0, v3, vcc",
            "s_brev_b32 s6, -2",
            "v_bfi_b32 v1, s6, v2, v4",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["v_cndmask_b32_e32 v2, -1.0, v3, vcc"],
        others: &["v_cndmask_b32_e32 v2, 2.0, v3, vcc", "v_cndmask_b32_e32 v2, v3, v5, vcc"],
    },
    Example {
        code: &[
            "v_cndmask_b32_e32 v1, 1.0, v3, vcc",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &[],
        others: &["v_cndmask_b32_e32 v1, -1.0, v3, vcc"],
    },
    // There are fewer than 2^24 workgroups of 256 work-items.
    Example {
        code: &[
            "s_lshr_b32 s4, s40, 31",
            "v_mov_b32_e32 v1, s4",
            "global_store_dword v0, v1, s[0:1]",
            "s_endpgm",
        ],
        line: 0,
        equal: &["s_lshr_b32 s4, s40, 30", "s_lshr_b32 s4, s40, 24"],
        others: &["s_lshr_b32 s4, s40, 23", "s_lshr_b32 s4, s41, 31"],
    },
    // A reduction gives all lanes of a half of the wave the same.
    Example {
        code: &[
            "v_add_f32_dpp v1, v1, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
            "v_add_f32_dpp v1, v1, v1 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf",
            "v_add_f32_dpp v1, v1, v1 row_half_mirror row_mask:0xf bank_mask:0xf",
            "v_add_f32_dpp v1, v1, v1 row_mirror row_mask:0xf bank_mask:0xf",
            "ds_swizzle_b32 v2, v1 offset:swizzle(SWAP,16)",
            "s_waitcnt lgkmcnt(0)",
            "v_add_f32_e32 v1, v1, v2",
            "v_readlane_b32 s4, v1, 32",
            "v_mov_b32_e32 v9, s4",
            "global_store_dword v0, v9, s[0:1]",
            "s_endpgm",
        ],
        line: 7,
        equal: &["v_readlane_b32 s4, v1, 33", "v_readlane_b32 s4, v1, 63"],
        others: &["v_readlane_b32 s4, v1, 31", "v_readlane_b32 s4, v2, 32"],
    },
    Example {
        code: &[
            "v_mov_b32_e32 v2, v1",
            "s_nop 1",
            "v_permlane16_swap_b32_e32 v1, v2",
            "v_max_f32_e32 v1, v1, v2",
            "v_readlane_b32 s4, v1, 32",
            "v_mov_b32_e32 v9, s4",
            "global_store_dword v0, v9, s[0:1]",
            "s_endpgm",
        ],
        line: 4,
        equal: &["v_readlane_b32 s4, v1, 48"],
        others: &["v_readlane_b32 s4, v1, 33", "v_readlane_b32 s4, v1, 0"],
    },
    // Of one half; of lanes that do not all take part; of what the other lanes had before.
    Example {
        code: &[
            "v_mov_b32_dpp v2, v1 row_mirror row_mask:0xf bank_mask:0xf",
            "v_add_f32_e32 v3, v1, v2",
            "v_readlane_b32 s4, v3, 0",
            "v_mov_b32_e32 v9, s4",
            "global_store_dword v0, v9, s[0:1]",
            "s_endpgm",
        ],
        line: 2,
        equal: &[],
        others: &["v_readlane_b32 s4, v3, 1", "v_readlane_b32 s4, v3, 8"],
    },
    Example {
        code: &[
            "s_and_saveexec_b64 s[2:3], vcc",
            "v_add_f32_dpp v1, v1, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
            "v_readlane_b32 s4, v1, 2",
            "v_mov_b32_e32 v9, s4",
            "global_store_dword v0, v9, s[0:1]",
            "s_endpgm",
        ],
        line: 2,
        equal: &[],
        others: &["v_readlane_b32 s4, v1, 3"],
    },
    Example {
        code: &[
            "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
            "v_add_f32_e32 v1, v1, v3",
            "v_add_f32_e32 v1, v1, v2",
            "v_readlane_b32 s4, v1, 2",
            "v_mov_b32_e32 v9, s4",
            "global_store_dword v0, v9, s[0:1]",
            "s_endpgm",
        ],
        line: 3,
        equal: &[],
        others: &["v_readlane_b32 s4, v1, 3"],
    },
    Example {
        code: &[
            "v_mov_b32_dpp v2, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
            "v_sub_f32_e32 v1, v1, v2",
            "v_readlane_b32 s4, v1, 2",
            "v_mov_b32_e32 v9, s4",
            "global_store_dword v0, v9, s[0:1]",
            "s_endpgm",
        ],
        line: 2,
        equal: &[],
        others: &["v_readlane_b32 s4, v1, 3"],
    },
];

fn words(text: &str) -> Vec<u32> {
    let assembled = assemble_lines(&[text], Arch::Gfx950).expect("the assembler starts");
    let bytes = assembled.into_iter().next().unwrap().unwrap_or_else(|why| panic!("{text}: {why}"));
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

#[test]
fn what_is_equal_is_proved_and_what_is_almost_is_not() {
    for Example { code, line, equal, others } in EXAMPLES {
        let mut placed = Vec::new();
        let mut offset = 0;
        for text in *code {
            let words = words(text);
            let inst = decode(Arch::Gfx950, &words).expect("it decodes");
            let size = u64::from(inst.size);
            placed.push(Placed { offset, vaddr: offset, position: offset as usize, inst });
            offset += size;
        }
        let proved = |text: &str| {
            let altered = decode(Arch::Gfx950, &words(text)).expect("it decodes");
            is_equal(&placed, ENTRY, &[(placed[*line].offset, &altered)])
        };
        for text in *equal {
            assert!(proved(text), "{} -> {text} of {code:?}", code[*line]);
        }
        for text in *others {
            assert!(!proved(text), "{} -> {text} of {code:?}", code[*line]);
        }
    }
}
