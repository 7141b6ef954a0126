//! Ways that execution can take, in code whose answer is plain.

use hk_sim::flow::{Flow, Ways};
use hk_sim::isa::Arch;
use hk_sim::object::Placed;

#[path = "support/assembled.rs"]
mod assembled;

const BOTH: Option<Ways> = Some(Ways { through: true, elsewhere: true });
const THROUGH: Option<Ways> = Some(Ways { through: true, elsewhere: false });
const ELSEWHERE: Option<Ways> = Some(Ways { through: false, elsewhere: true });

/// The ways behind each branch of the code; `None` if it cannot be executed.
fn branches(lines: &[&str]) -> Vec<Option<Ways>> {
    let code = assembled::placed(&assembled::words(lines, Arch::Gfx950), Arch::Gfx950);
    let flow = Flow::of(&code);
    let is_branch = |placed: &&Placed| placed.inst.info.op.name().starts_with("s_cbranch");
    code.iter().filter(is_branch).map(|placed| flow.behind(placed.offset)).collect()
}

#[test]
fn exec_is_not_zero_until_it_may_be() {
    assert_eq!(branches(&["s_cbranch_execz 1", "s_nop 0", "s_endpgm"]), [THROUGH]);
    assert_eq!(branches(&["s_cbranch_execnz 0", "s_endpgm"]), [ELSEWHERE]);
    let may = ["s_and_saveexec_b64 s[0:1], vcc", "s_cbranch_execz 0", "s_endpgm"];
    assert_eq!(branches(&may), [BOTH]);
    let may = ["v_cmpx_lt_u32_e32 0, v0", "s_cbranch_execnz 0", "s_endpgm"];
    assert_eq!(branches(&may), [BOTH]);
    // What is behind a way that cannot be taken, cannot be executed.
    let behind = ["s_cbranch_execnz 1", "s_cbranch_vccz 0", "s_endpgm"];
    assert_eq!(branches(&behind), [ELSEWHERE, None]);
}

/// `if` and `else` of lanes, each of which may be skipped, and what unites them.
fn if_else(united: &str) -> Vec<Option<Ways>> {
    branches(&[
        "s_and_saveexec_b64 s[0:1], vcc",
        "s_xor_b64 s[0:1], exec, s[0:1]",
        "s_cbranch_execz 1",
        "v_mov_b32_e32 v0, 0",
        "s_andn2_saveexec_b64 s[0:1], s[0:1]",
        "s_cbranch_execz 1",
        "v_mov_b32_e32 v0, 1",
        united,
        "s_cbranch_execz 0",
        "s_endpgm",
    ])
}

#[test]
fn masks_that_were_split_are_united() {
    assert_eq!(if_else("s_or_b64 exec, exec, s[0:1]"), [BOTH, BOTH, THROUGH]);
    assert_eq!(if_else("s_xor_b64 exec, exec, s[0:1]"), [BOTH, BOTH, BOTH]);
    assert_eq!(if_else("s_or_b64 exec, exec, s[2:3]"), [BOTH, BOTH, BOTH]);
    assert_eq!(if_else("s_mov_b64 exec, s[0:1]"), [BOTH, BOTH, BOTH]);
    // The same with a mask that a register in between has changed.
    let changed = branches(&[
        "s_and_saveexec_b64 s[0:1], vcc",
        "s_mov_b32 s1, s2",
        "s_or_b64 exec, exec, s[0:1]",
        "s_cbranch_execz 0",
        "s_endpgm",
    ]);
    assert_eq!(changed, [BOTH]);
}

#[test]
fn lanes_that_leave_a_loop_come_back_behind_it() {
    let leave = |united| {
        branches(&[
            "s_mov_b64 s[0:1], 0",
            "v_cmp_lt_u32_e32 vcc, v0, v1",
            "s_or_b64 s[0:1], vcc, s[0:1]",
            "s_andn2_b64 exec, exec, s[0:1]",
            "s_cbranch_execnz 65532",
            united,
            "s_cbranch_execz 0",
            "s_endpgm",
        ])
    };
    assert_eq!(leave("s_or_b64 exec, exec, s[0:1]"), [BOTH, THROUGH]);
    assert_eq!(leave("s_and_b64 exec, exec, s[0:1]"), [BOTH, ELSEWHERE]);
}

#[test]
fn constants_decide_only_where_all_ways_agree() {
    let decided = |first: &str, second: &str| {
        branches(&[
            "s_mov_b64 s[2:3], -1",
            "s_cbranch_scc0 1",
            first,
            "s_and_b64 vcc, exec, s[2:3]",
            "s_cbranch_vccz 1",
            second,
            "s_cmp_lt_i32 s4, 0",
            "s_cbranch_scc1 0",
            "s_endpgm",
        ])
    };
    let same = decided("s_mov_b64 s[2:3], -1", "s_movk_i32 s4, 0xffff");
    assert_eq!(same, [BOTH, THROUGH, ELSEWHERE]);
    assert_eq!(decided("s_mov_b64 s[2:3], 0", "s_nop 0"), [BOTH, BOTH, BOTH]);
    assert_eq!(decided("s_mov_b32 s3, s5", "s_movk_i32 s4, 0x1"), [BOTH, BOTH, BOTH]);
    // M0 says which register this writes.
    let relative = [
        "s_mov_b32 s4, 0",
        "s_movreld_b32 s0, s1",
        "s_cmp_eq_u32 s4, 0",
        "s_cbranch_scc0 0",
        "s_endpgm",
    ];
    assert_eq!(branches(&relative), [BOTH]);
}

#[test]
fn a_jump_to_where_a_register_says_may_go_anywhere() {
    let jump = ["s_cbranch_execz 1", "s_setpc_b64 s[0:1]", "s_cbranch_vccz 0", "s_endpgm"];
    assert_eq!(branches(&jump), [BOTH, BOTH]);
}
