//! Scheduling: progress, barriers, determinism, faults and budgets, on kernels that clang compiled.

#![expect(clippy::undocumented_unsafe_blocks, reason = "each block calls the C API under test")]

mod support;

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

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

// Each wave reads what the next one wrote, without a barrier, some time later.
KERNEL void in_step(unsigned* out) {
    SHARED volatile unsigned part[256];
    unsigned t = THREAD;
    part[t] = 3 * t + 1;
    asm volatile(".rept 32\n s_nop 0\n .endr");
    out[WG * 256 + t] = part[(t + 64) % 256];
}

KERNEL void paced(unsigned* flag) {
    while (LOAD(flag) == 0) __builtin_amdgcn_s_sleep(2);
    if (THREAD == 0) STORE(flag + 1, 5);
}

KERNEL void locked(unsigned* lock) {
    for (unsigned open = 0; !__hip_atomic_compare_exchange_strong(
             lock, &open, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
         open = 0) {}
}

KERNEL void adds_nothing(unsigned* flag) {
    unsigned none = flag[1];
    while (__hip_atomic_fetch_add(flag, none, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
}

// One wave polls LDS, the others wait for it at a barrier.
KERNEL void half_waits(unsigned* out) {
    SHARED unsigned flag;
    if (THREAD == 0) __hip_atomic_store(&flag, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    SYNC();
    if (THREAD < 64)
        while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {}
    SYNC();
    out[THREAD] = 1;
}

KERNEL void circles() { for (;;) asm volatile("s_nop 0"); }

// Takes its time, then sets a flag.
KERNEL void takes_time(unsigned* flag, unsigned n) {
    unsigned x = n;
    for (unsigned i = 0; i < n; i++) { x = x * 1664525 + 1013904223; asm volatile("" : "+v"(x)); }
    if (THREAD == 0) STORE(flag, x | 1);
}

// Polls so many times at most.
KERNEL void polls_some_time(unsigned* flag, unsigned n) {
    unsigned i = 0;
    while (i < n && LOAD(flag) == 0) i++;
    if (THREAD == 0) flag[1] = i;
}

// Polls while another wave works, which then helps it.
KERNEL void helped(unsigned* flag, unsigned n) {
    if (THREAD >= 64) {
        unsigned x = n;
        for (unsigned i = 0; i < n; i++) { x = x * 1664525 + 1; asm volatile("" : "+v"(x)); }
        STORE(flag, x | 1);
    } else {
        while (LOAD(flag) == 0) {}
    }
}

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
        self.launch(null_mut(), name, grid, block, args);
        unsafe { hipDeviceSynchronize() }
    }

    fn launch(&self, stream: HipStream, name: &str, grid: [u32; 3], block: [u32; 3], args: &[Arg]) {
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
                stream,
                pointers.as_mut_ptr(),
                null_mut(),
            ));
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
    const SLICES: [(u32, Option<u64>); 5] = [
        (ExecOptions::NEAR_LOCKSTEP, None),
        (ExecOptions::FAR_AHEAD, None),
        (1, None),
        (ExecOptions::NEAR_LOCKSTEP, Some(1)),
        (ExecOptions::PERMUTED, Some(2)),
    ];
    for threads in [1, 2, 5] {
        for (slice, seed) in SLICES {
            hk_sim::set_options(ExecOptions { threads, slice, seed, ..Default::default() });
            run();
        }
    }
    hk_sim::set_options(ExecOptions::default());
}

#[test]
fn workgroups_that_wait_for_later_ones_make_progress() {
    let _alone = alone();
    // More workgroups than are alive at once without need.
    for (product, threads, groups) in [("mi325x", 1, 20), ("mi355x", 3, 80)] {
        let kernels = Kernels::load(product);
        hk_sim::set_options(ExecOptions { threads, ..ExecOptions::default() });
        let flags = upload(&vec![0u32; groups as usize]);
        let args = [Arg::Buffer(flags), Arg::Word(groups)];
        ok(kernels.run("chain", [groups, 1, 1], [64, 1, 1], &args));
        let expected: Vec<u32> = (1..=groups).rev().collect();
        assert_eq!(download::<u32>(flags, groups as usize), expected);
        free(flags);
    }
    hk_sim::set_options(ExecOptions::default());
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
fn waves_advance_nearly_in_step_unless_told_otherwise() {
    let _alone = alone();
    let right: Vec<u32> = (0..512).map(|i| (i % 256 + 64) % 256 * 3 + 1).collect();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        let run = |slice| {
            hk_sim::set_options(ExecOptions { slice, ..ExecOptions::default() });
            let out = upload(&[0u32; 512]);
            ok(kernels.run("in_step", [2, 1, 1], [256, 1, 1], &[Arg::Buffer(out)]));
            let found = download::<u32>(out, 512);
            free(out);
            found
        };
        for slice in [ExecOptions::default().slice, 4, 1] {
            assert_eq!(run(slice), right, "{product}, turns of {slice}");
        }
        // The last wave finds what the first one wrote, the others come too early.
        let ahead = run(ExecOptions::FAR_AHEAD);
        assert_eq!(ahead[192..256], right[192..256]);
        assert!((0..192).all(|i| ahead[i] != right[i]), "{product}");
        hk_sim::set_options(ExecOptions::default());
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
            hk_sim::set_options(ExecOptions { threads, ..ExecOptions::default() });
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
        hk_sim::set_options(ExecOptions::default());
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
        hk_sim::set_options(ExecOptions { threads, max_instructions, ..Default::default() });
        let error = kernels.run("forever", [4, 1, 1], [64, 1, 1], &[Arg::Buffer(flag)]);
        assert_eq!(error, HipError::LAUNCH_TIME_OUT);
        let report = hk_sim::last_fault().expect("a report");
        assert_eq!(report.kind, FaultKind::InstructionBudget, "{report}");
    }
    hk_sim::set_options(ExecOptions::default());
    free(flag);
}

#[test]
fn short_launches_end_at_the_instruction_budget_too() {
    let _alone = alone();
    let kernels = Kernels::load("mi355x");
    let out = upload(&[0u32; 3]);
    let run = |max_instructions| {
        hk_sim::set_options(ExecOptions { max_instructions, ..Default::default() });
        kernels.run("leave_early", [3, 1, 1], [320, 1, 1], &[Arg::Buffer(out)])
    };
    // Each of the 15 waves executes an instruction at least.
    assert_eq!(run(14), HipError::LAUNCH_TIME_OUT);
    let report = hk_sim::last_fault().expect("a report");
    assert_eq!(report.kind, FaultKind::InstructionBudget, "{report}");
    ok(run(15 << 10));
    hk_sim::set_options(ExecOptions::default());
    free(out);
}

/// Options with so little patience that a test does not take long.
fn impatient(threads: usize, milliseconds: u64) -> ExecOptions {
    let patience = Duration::from_millis(milliseconds);
    ExecOptions { threads, patience, ..ExecOptions::default() }
}

#[test]
fn kernels_that_poll_for_ever_fail_with_the_places_of_their_waves() {
    let _alone = alone();
    for product in PRODUCTS {
        let kernels = Kernels::load(product);
        let word = upload(&[0u32; 256]);
        let one = upload(&[1u32]);
        let cases: [(&str, *mut c_void, u32, &str); 6] = [
            ("forever", word, 3, "polls at pc 0x"),
            ("paced", word, 2, "global_load_dword"),
            ("adds_nothing", word, 1, "global_atomic_add"),
            ("locked", one, 2, "global_atomic_cmpswap"),
            ("half_waits", word, 1, "s_barrier"),
            ("circles", word, 1, "goes round in circles"),
        ];
        for ((name, argument, groups, said), threads) in cases.into_iter().zip([1, 2, 1, 2, 1, 2]) {
            let block = if name == "half_waits" { 256 } else { 64 };
            hk_sim::set_options(impatient(threads, 300));
            let start = Instant::now();
            let error = kernels.run(name, [groups, 1, 1], [block, 1, 1], &[Arg::Buffer(argument)]);
            assert_eq!(error, HipError::LAUNCH_TIME_OUT, "{name}");
            assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
            let report = hk_sim::last_fault().expect("a report");
            assert_eq!(report.kind, FaultKind::Deadlock, "{name}: {report}");
            assert_eq!((report.workgroup, report.wave), ([0; 3], 0), "{name}: {report}");
            assert!(report.detail.contains(said), "{name}: {report}");
            for group in 0..groups {
                let place = format!("workgroup ({group}, 0, 0), wave 0");
                assert!(report.detail.contains(&place), "{name}: {report}");
            }
            if name == "half_waits" {
                assert!(report.detail.contains("wave 3 waits at pc"), "{report}");
                assert!(report.instruction.starts_with("ds_read"), "{report}");
            }
        }
        // The device is usable afterwards.
        hk_sim::set_options(ExecOptions::default());
        let out = upload(&[0u32; 3]);
        ok(kernels.run("leave_early", [3, 1, 1], [320, 1, 1], &[Arg::Buffer(out)]));
        assert_eq!(download::<u32>(out, 3), [7; 3]);
        for buffer in [out, word, one] {
            free(buffer);
        }
    }
}

/// Kernels that take far longer than the simulator's patience with those that cannot go on.
#[test]
fn kernels_that_get_somewhere_are_not_stopped() {
    let _alone = alone();
    let kernels = Kernels::load("mi355x");
    hk_sim::set_options(impatient(2, 50));
    let rounds = 20_000_000;
    for (name, block) in [("takes_time", 64), ("polls_some_time", 64), ("helped", 128)] {
        let mut n = if name == "polls_some_time" { rounds / 2 } else { rounds };
        loop {
            let flag = upload(&[0u32; 2]);
            let start = Instant::now();
            ok(kernels.run(name, [1; 3], [block, 1, 1], &[Arg::Buffer(flag), Arg::Word(n)]));
            let elapsed = start.elapsed();
            let after = download::<u32>(flag, 2);
            assert_ne!(after[usize::from(name == "polls_some_time")], 0, "{name}");
            free(flag);
            if elapsed > Duration::from_millis(700) {
                break;
            }
            // The host is too fast for that to show anything.
            n *= 2;
        }
    }
    hk_sim::set_options(ExecOptions::default());
}

#[test]
fn a_kernel_waits_for_the_host_and_for_other_streams() {
    let _alone = alone();
    let kernels = Kernels::load("mi355x");
    let streams: [HipStream; 2] =
        std::array::from_fn(|_| get(|s| unsafe { hipStreamCreateWithFlags(s, 1) }));
    // The host writes the flag while there is patience left.
    hk_sim::set_options(impatient(2, 5000));
    let flag = upload(&[0u32; 2]);
    kernels.launch(streams[0], "paced", [4, 1, 1], [64, 1, 1], &[Arg::Buffer(flag)]);
    std::thread::sleep(Duration::from_millis(1500));
    let one = 1u32;
    let from = std::ptr::from_ref(&one).cast::<c_void>();
    unsafe {
        ok(hipMemcpyAsync(flag, from, 4, 1, streams[1]));
        ok(hipDeviceSynchronize());
    }
    assert_eq!(download::<u32>(flag, 2), [1, 5]);
    free(flag);
    // Another kernel takes longer than the patience to get there.
    hk_sim::set_options(impatient(1, 50));
    let flag = upload(&[0u32; 2]);
    kernels.launch(streams[0], "paced", [2, 1, 1], [64, 1, 1], &[Arg::Buffer(flag)]);
    let args = [Arg::Buffer(flag), Arg::Word(60_000_000)];
    let start = Instant::now();
    kernels.launch(streams[1], "takes_time", [1; 3], [64, 1, 1], &args);
    unsafe { ok(hipDeviceSynchronize()) };
    assert!(start.elapsed() > Duration::from_millis(200), "it shows nothing");
    assert_eq!(download::<u32>(flag, 2)[1], 5);
    free(flag);
    // Two that wait for each other have nobody to wait for.
    let flags = [upload(&[0u32; 2]), upload(&[0u32; 2])];
    for (stream, flag) in streams.into_iter().zip(flags) {
        kernels.launch(stream, "paced", [1; 3], [64, 1, 1], &[Arg::Buffer(flag)]);
    }
    for stream in streams {
        assert_eq!(unsafe { hipStreamSynchronize(stream) }, HipError::LAUNCH_TIME_OUT);
        unsafe { ok(hipStreamDestroy(stream)) };
    }
    for flag in flags {
        free(flag);
    }
    hk_sim::set_options(ExecOptions::default());
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
