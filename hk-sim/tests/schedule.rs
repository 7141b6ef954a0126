//! Scheduling: progress, barriers, determinism, faults and budgets, on kernels that clang compiled.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hk_build::{Arch, CompileOptions, compile_source};
use hk_sim::capi::types::*;
use hk_sim::capi::*;
use hk_sim::exec::ExecOptions;
use hk_sim::{FaultKind, HipError};
use support::*;

const SOURCE: &str = r#"
#define KERNEL extern "C" __attribute__((global))
#define SHARED static __attribute__((shared))
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)
#define STORE(p, v) __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT)
#define SYNC() (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
                __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#define WG __builtin_amdgcn_workgroup_id_x()
#define THREAD __builtin_amdgcn_workitem_id_x()

// Each workgroup waits for its successor; the last one starts the chain.
KERNEL void chain(unsigned* flags, unsigned n) {
    unsigned wg = WG;
    if (THREAD == 0) {
        if (wg + 1 < n) while (LOAD(&flags[wg + 1]) == 0) {}
        STORE(&flags[wg], wg + 1 < n ? LOAD(&flags[wg + 1]) + 1 : 1);
    }
}

// Wave 0 waits, without a barrier, for a flag in LDS that the last wave sets.
KERNEL void handover(unsigned* out) {
    SHARED unsigned flag;
    if (THREAD == 0) __hip_atomic_store(&flag, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    SYNC();
    if (THREAD == 255)
        __hip_atomic_store(&flag, 42, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    if (THREAD == 0) {
        unsigned v;
        while ((v = __hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)) == 0)
            __builtin_amdgcn_s_sleep(1);
        out[WG] = v;
    }
}

// Sum of a row by a tree in LDS; the order of additions is fixed, whatever the schedule.
KERNEL void tree(const float* x, float* out) {
    SHARED float part[256];
    unsigned t = THREAD;
    part[t] = x[WG * 256 + t];
    for (unsigned half = 128; half > 0; half /= 2) {
        SYNC();
        if (t < half) part[t] += part[t + half];
    }
    if (t == 0) out[WG] = part[0];
}

// Waves that end early no longer count at the barrier.
KERNEL void leave_early(unsigned* out) {
    SHARED unsigned value;
    if (THREAD >= 128) return;
    if (THREAD == 64) value = 7;
    SYNC();
    if (THREAD == 0) out[WG] = value;
}

KERNEL void ids(unsigned* out) {
    unsigned bx = 5, by = 3, bz = 2;
    unsigned gx = __builtin_amdgcn_workgroup_id_x(), gy = __builtin_amdgcn_workgroup_id_y(),
             gz = __builtin_amdgcn_workgroup_id_z();
    unsigned tx = __builtin_amdgcn_workitem_id_x(), ty = __builtin_amdgcn_workitem_id_y(),
             tz = __builtin_amdgcn_workitem_id_z();
    unsigned group = (gz * 3 + gy) * 2 + gx, item = (tz * by + ty) * bx + tx;
    out[group * bx * by * bz + item] = gx | gy << 4 | gz << 8 | tx << 12 | ty << 16 | tz << 20;
}

// Faults in every workgroup from the fifth on.
KERNEL void fault_late(unsigned* out, unsigned* bad) {
    if (THREAD == 3 && WG >= 5) *bad = 1;
    out[WG * 64 + THREAD] = 1;
}

KERNEL void forever(unsigned* flag) { while (LOAD(flag) == 0) {} }

KERNEL void give_up() { __builtin_trap(); }

__attribute__((device, noinline)) unsigned ackermann(unsigned m, unsigned n) {
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

// Calls, a stack, and an array in registers or scratch with an index known at run time only.
KERNEL void calls(unsigned* out, unsigned m) {
    unsigned local[32];
    for (unsigned i = 0; i < 32; i++) local[i] = i * i + m;
    out[THREAD] = ackermann(m, THREAD % 4) * 1000 + local[(THREAD * 7 + m) % 32];
}
"#;

/// Serialises the tests: options and faults are those of the process.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Kernels(HipModule);

impl Kernels {
    /// The kernels above on the product, which becomes the device of this thread.
    fn load(product: &str) -> Self {
        use_product(product);
        let arch = if product == "mi325x" { Arch::Gfx942 } else { Arch::Gfx950 };
        let code = compile_source(SOURCE, arch, &CompileOptions::default()).unwrap();
        Self(get(|module| unsafe { hipModuleLoadData(module, code.image.as_ptr().cast()) }))
    }

    /// Launches and waits.
    fn run(&self, name: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) -> HipError {
        let name = CString::new(name).unwrap();
        let function = get(|f| unsafe { hipModuleGetFunction(f, self.0, name.as_ptr()) });
        let mut pointers: Vec<*mut c_void> = args
            .iter()
            .map(|arg| match arg {
                Arg::Buffer(pointer) => std::ptr::from_ref(pointer).cast_mut().cast(),
                Arg::Word(word) => std::ptr::from_ref(word).cast_mut().cast(),
            })
            .collect();
        unsafe {
            ok(hipModuleLaunchKernel(
                function,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                0,
                null_mut(),
                pointers.as_mut_ptr(),
                null_mut(),
            ));
            hipDeviceSynchronize()
        }
    }
}

enum Arg {
    Buffer(*mut c_void),
    Word(u32),
}

const PRODUCTS: [&str; 2] = ["mi325x", "mi355x"];

/// Runs under several thread counts and wave schedules.
fn under_schedules(mut run: impl FnMut()) {
    for threads in [1, 2, 5] {
        for seed in [None, Some(1), Some(2), Some(3)] {
            hk_sim::set_exec_options(ExecOptions { threads, seed, ..ExecOptions::default() });
            run();
        }
    }
    hk_sim::set_exec_options(ExecOptions::default());
}

#[test]
fn workgroups_that_wait_for_later_ones_make_progress() {
    let _alone = alone();
    // More workgroups than are alive at once without need.
    for (product, threads, groups) in [("mi325x", 1, 20), ("mi355x", 3, 80)] {
        let kernels = Kernels::load(product);
        hk_sim::set_exec_options(ExecOptions { threads, ..ExecOptions::default() });
        let flags = upload(&vec![0u32; groups as usize]);
        let args = [Arg::Buffer(flags), Arg::Word(groups)];
        ok(kernels.run("chain", [groups, 1, 1], [64, 1, 1], &args));
        let expected: Vec<u32> = (1..=groups).rev().collect();
        assert_eq!(download::<u32>(flags, groups as usize), expected);
        free(flags);
    }
    hk_sim::set_exec_options(ExecOptions::default());
}

#[test]
fn waves_that_wait_without_a_barrier_make_progress() {
    let _alone = alone();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        under_schedules(|| {
            let out = upload(&[0u32; 6]);
            ok(kernels.run("handover", [6, 1, 1], [256, 1, 1], &[Arg::Buffer(out)]));
            assert_eq!(download::<u32>(out, 6), [42; 6]);
            free(out);
        });
    }
}

#[test]
fn results_do_not_depend_on_threads_or_seeds() {
    let _alone = alone();
    let x: Vec<f32> = (0..16 * 256).map(|i| ((i * 7919) % 1009) as f32 * 0.37 - 180.0).collect();
    let tree = |row: &[f32]| {
        let mut part = row.to_vec();
        while part.len() > 1 {
            let (low, high) = part.split_at(part.len() / 2);
            part = low.iter().zip(high).map(|(a, b)| a + b).collect();
        }
        part[0].to_bits()
    };
    let expected: Vec<u32> = x.chunks(256).map(tree).collect();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        let input = upload(&x);
        under_schedules(|| {
            let out = upload(&[0u32; 16]);
            let args = [Arg::Buffer(input), Arg::Buffer(out)];
            ok(kernels.run("tree", [16, 1, 1], [256, 1, 1], &args));
            assert_eq!(download::<u32>(out, 16), expected);
            free(out);
        });
        free(input);
    }
}

#[test]
fn ended_waves_do_not_count_at_a_barrier() {
    let _alone = alone();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        under_schedules(|| {
            let out = upload(&[0u32; 3]);
            ok(kernels.run("leave_early", [3, 1, 1], [320, 1, 1], &[Arg::Buffer(out)]));
            assert_eq!(download::<u32>(out, 3), [7; 3]);
            free(out);
        });
    }
}

#[test]
fn ids_count_x_first_in_three_dimensions() {
    let _alone = alone();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        let out = upload(&[u32::MAX; 12 * 30]);
        ok(kernels.run("ids", [2, 3, 2], [5, 3, 2], &[Arg::Buffer(out)]));
        let mut expected = Vec::new();
        for (gz, gy, gx) in (0..12).map(|g| (g / 6, g / 2 % 3, g % 2)) {
            for (tz, ty, tx) in (0..30).map(|t| (t / 15, t / 5 % 3, t % 5)) {
                expected.push(gx | gy << 4 | gz << 8 | tx << 12 | ty << 16 | tz << 20);
            }
        }
        assert_eq!(download::<u32>(out, 12 * 30), expected);
        free(out);
    }
}

#[test]
fn the_first_faulting_workgroup_is_reported_and_the_device_stays_usable() {
    let _alone = alone();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        let out = upload(&[0u32; 64 * 64]);
        let gone = upload(&[0u32; 4096]);
        free(gone);
        for threads in [1, 4] {
            hk_sim::set_exec_options(ExecOptions { threads, ..ExecOptions::default() });
            let args = [Arg::Buffer(out), Arg::Buffer(gone)];
            let error = kernels.run("fault_late", [64, 1, 1], [64, 1, 1], &args);
            assert_eq!(error, HipError::ILLEGAL_ADDRESS);
            let report = hk_sim::last_fault().expect("a report");
            assert_eq!(report.kind, FaultKind::WriteViolation, "{report}");
            assert_eq!(report.workgroup, [5, 0, 0], "{report}");
            assert_eq!((report.wave, report.lane), (0, Some(3)), "{report}");
            assert_eq!(report.address, Some(gone as u64), "{report}");
            assert_eq!(report.kernel, "fault_late");
            assert!(report.instruction.starts_with("global_store_dword"), "{report}");
        }
        hk_sim::set_exec_options(ExecOptions::default());
        // The next launch works.
        let ok_out = upload(&[0u32; 3]);
        ok(kernels.run("leave_early", [3, 1, 1], [320, 1, 1], &[Arg::Buffer(ok_out)]));
        assert_eq!(download::<u32>(ok_out, 3), [7; 3]);
        free(ok_out);
        free(out);
    }
}

#[test]
fn endless_loops_end_at_the_instruction_budget() {
    let _alone = alone();
    let kernels = Kernels::load("mi355x");
    let flag = upload(&[0u32]);
    for threads in [1, 2] {
        let max_instructions = 1_000_000;
        hk_sim::set_exec_options(ExecOptions { threads, max_instructions, ..Default::default() });
        let error = kernels.run("forever", [4, 1, 1], [64, 1, 1], &[Arg::Buffer(flag)]);
        assert_eq!(error, HipError::LAUNCH_TIME_OUT);
        let report = hk_sim::last_fault().expect("a report");
        assert_eq!(report.kind, FaultKind::InstructionBudget, "{report}");
    }
    hk_sim::set_exec_options(ExecOptions::default());
    free(flag);
}

#[test]
fn short_launches_end_at_the_instruction_budget_too() {
    let _alone = alone();
    let kernels = Kernels::load("mi355x");
    let out = upload(&[0u32; 3]);
    let run = |max_instructions| {
        hk_sim::set_exec_options(ExecOptions { max_instructions, ..Default::default() });
        kernels.run("leave_early", [3, 1, 1], [320, 1, 1], &[Arg::Buffer(out)])
    };
    // Each of the 15 waves executes an instruction at least.
    assert_eq!(run(14), HipError::LAUNCH_TIME_OUT);
    let report = hk_sim::last_fault().expect("a report");
    assert_eq!(report.kind, FaultKind::InstructionBudget, "{report}");
    ok(run(15 << 10));
    hk_sim::set_exec_options(ExecOptions::default());
    free(out);
}

#[test]
fn a_trap_is_a_launch_failure() {
    let _alone = alone();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        assert_eq!(kernels.run("give_up", [1; 3], [64, 1, 1], &[]), HipError::LAUNCH_FAILURE);
        let report = hk_sim::last_fault().expect("a report");
        assert_eq!(report.kind, FaultKind::Trap, "{report}");
    }
}

#[test]
fn calls_stacks_and_indexed_registers_work() {
    let _alone = alone();
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        for m in [0, 1, 2] {
            let out = upload(&[0u32; 64]);
            let args = [Arg::Buffer(out), Arg::Word(m)];
            ok(kernels.run("calls", [1; 3], [64, 1, 1], &args));
            let expected: Vec<u32> = (0..64)
                .map(|t| {
                    let at = (t * 7 + m) % 32;
                    ackermann(m, t % 4) * 1000 + at * at + m
                })
                .collect();
            assert_eq!(download::<u32>(out, 64), expected);
            free(out);
        }
    }
}
