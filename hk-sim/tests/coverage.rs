//! What is noted of executed instructions, on a kernel whose branches are marked.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use hk_build::{CompileOptions, compile_source};
use hk_sim::capi::*;
use hk_sim::exec::{Coverage, ExecOptions, Seen};
use hk_sim::object::{CodeObject, Next};
use support::*;

/// `s_nop N` marks a place; the lines are those of clang's output for such code, written down so that
/// no optimisation moves them.
const SOURCE: &str = r#"
extern "C" __attribute__((global)) void marked(unsigned* out, unsigned n) {
  unsigned lane = __builtin_amdgcn_workitem_id_x();
  asm volatile(
      "s_nop 1\n"
      "s_cmp_lt_u32 %1, 10\n"
      "s_cbranch_scc0 1f\n"
      "s_nop 2\n"
      "1:\n"
      "v_cmp_gt_u32 vcc, %1, %0\n"
      "s_and_saveexec_b64 s[20:21], vcc\n"
      "v_mov_b32 v20, 1\n"
      "s_mov_b64 exec, s[20:21]\n"
      :: "v"(lane), "s"(n) : "s20", "s21", "v20", "vcc", "scc");
  out[lane] = n;
}
"#;

/// Launches the kernel with each `n`, and returns what was seen of the marks and branches, in order:
/// `s_nop 1`, `s_nop 2`, the branch, the change of EXEC, and the vector instruction behind it.
fn seen(values: &[c_uint]) -> ([Seen; 5], u64) {
    let options = CompileOptions::default();
    let code = compile_source(SOURCE, hk_build::Arch::Gfx942, &options).expect("it compiles");
    let coverage = Arc::new(Coverage::default());
    let noted = Some(Arc::clone(&coverage));
    hk_sim::set_options(ExecOptions { coverage: noted, ..ExecOptions::default() });
    use_product("mi325x");
    let module = get(|to| unsafe { hipModuleLoadData(to, code.image.as_ptr().cast()) });
    let function = get(|to| unsafe { hipModuleGetFunction(to, module, c"marked".as_ptr()) });
    let stream = stream();
    for n in values {
        let mut out = upload(&[0 as c_uint; 64]);
        let mut n = *n;
        let mut args = [(&raw mut out).cast::<c_void>(), (&raw mut n).cast()];
        ok(unsafe {
            hipModuleLaunchKernel(
                function,
                1,
                1,
                1,
                64,
                1,
                1,
                0,
                stream.cast(),
                args.as_mut_ptr(),
                null_mut(),
            )
        });
        ok(unsafe { hipStreamSynchronize(stream.cast()) });
    }
    hk_sim::set_options(ExecOptions::default());
    let executed = coverage.kernel("marked");
    assert_eq!(executed.launches, values.len() as u64);
    let object = CodeObject::parse(&code.image).expect("it parses");
    let all = object.instructions("marked");
    let at = |text: &str| {
        let found = all.iter().find(|placed| placed.inst.to_string().starts_with(text));
        executed.at(found.unwrap_or_else(|| panic!("{text} is in the kernel")).offset)
    };
    let branch = all.iter().find(|placed| matches!(placed.next(), Next::Branch(_)));
    let branch = executed.at(branch.expect("there is a branch").offset);
    let marks = ["s_nop 1", "s_nop 2", "s_and_saveexec_b64", "v_mov_b32_e32 v20, 1"].map(at);
    ([marks[0], marks[1], branch, marks[2], marks[3]], executed.instructions)
}

#[test]
fn instructions_branches_and_lanes_are_noted() {
    // Below 10, the marked instruction is executed, and some lanes stay.
    let ([always, below, branch, mask, vector], short) = seen(&[5]);
    assert!(always.executed() && below.executed());
    assert!(branch.fell_through() && !branch.jumped());
    assert!(mask.lanes_left() && mask.lanes_stayed());
    assert!(vector.executed() && vector.with_lanes());

    // All lanes stay, and the branch jumps.
    let ([always, below, branch, mask, vector], _) = seen(&[64]);
    assert!(always.executed() && !below.executed());
    assert!(branch.jumped() && !branch.fell_through());
    assert!(!mask.lanes_left() && mask.lanes_stayed());
    assert!(vector.with_lanes());

    // No lane stays: the vector instruction is executed, by none.
    let ([.., mask, vector], _) = seen(&[0]);
    assert!(mask.lanes_left() && !mask.lanes_stayed());
    assert!(vector.executed() && !vector.with_lanes());

    // Launches add up.
    let ([_, below, branch, ..], both) = seen(&[5, 64]);
    assert!(below.executed() && branch.jumped() && branch.fell_through());
    assert_eq!(both, 2 * short - 1, "one of them leaves out the marked instruction");
}
