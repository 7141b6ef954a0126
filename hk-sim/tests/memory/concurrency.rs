//! Atomics of workgroups that run on several threads at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hk_sim::PRODUCTS;
use hk_sim::exec::{CodeSection, Dispatch, ExecOptions, Program, WaveSetup, run};
use hk_sim::isa::Arch;
use hk_sim::mem::Mapping;

const S_ENDPGM: u32 = 0xbf81_0000;

/// Runs one-lane workgroups whose `s[0:1]` is the address of `memory`.
fn launch(words: Vec<u32>, groups: u32, memory: &[AtomicU64]) {
    let product = PRODUCTS.iter().find(|p| p.arch == Arch::Gfx942).expect("a product");
    let base = memory.as_ptr().expose_provenance() as u64;
    let len = size_of_val(memory) as u64;
    let section = CodeSection { address: 0, words };
    let dispatch = Dispatch {
        product,
        program: Arc::new(Program::new(Arch::Gfx942, vec![section])),
        kernel: "concurrency".into(),
        entry: 0,
        setup: WaveSetup {
            mode: 0x3f0,
            vgprs: 8,
            user_sgprs: 2,
            kernarg_ptr: true,
            ..WaveSetup::default()
        },
        grid: [groups, 1, 1],
        block: [1, 1, 1],
        tail: [1, 1, 1],
        kernarg: base,
        dispatch_packet: 0,
        queue: 0,
        lds_bytes: 0,
        scratch_bytes: 0,
        regions: Arc::new([Mapping { base, len, mapped: len, name: "counters".into() }]),
    };
    let options = ExecOptions { threads: 4, ..ExecOptions::default() };
    run(&dispatch, &options).expect("no fault");
}

/// s_movk_i32 s20, times; the body; s_sub_u32 s20, s20, 1; s_cmp_lg_u32 s20, 0; branch back.
fn repeat(times: u32, body: &[u32]) -> Vec<u32> {
    let mut words = vec![0xb000_0000 | 20 << 16 | times];
    words.extend_from_slice(body);
    words.push(0x8094_8114);
    words.push(0xbf07_8014);
    let back = -(body.len() as i32 + 3);
    words.push(0xbf85_0000 | back as u32 & 0xffff);
    words.push(S_ENDPGM);
    words
}

const GROUPS: u32 = 64;
const TIMES: u32 = 500;

/// Lane 0 of `v0` is its work-item id, 0; `v1` is all ones, which counts down.
fn global_atomic(opcode: u32) -> [u32; 2] {
    [0b110111 << 26 | opcode << 18 | 2 << 14, 1 << 8]
}

#[test]
fn atomic_adds_of_all_threads_count() {
    let memory = [const { AtomicU64::new(0) }; 8];
    launch(repeat(TIMES, &global_atomic(66)), GROUPS, &memory);
    let expected = 0u32.wrapping_sub(GROUPS * TIMES);
    assert_eq!(memory[0].load(Ordering::Relaxed), u64::from(expected));
}

#[test]
fn wide_and_scalar_atomics_count_together() {
    let memory = [const { AtomicU64::new(0) }; 8];
    // global_atomic_add_x2 of v[1:2], all ones, and s_atomic_add_x2 of s[22:23].
    let mut body = global_atomic(98).to_vec();
    body.extend([0b110000 << 26 | 162 << 18 | 1 << 17 | 22 << 6, 0]);
    // s_mov_b64 s[22:23], 3.
    let mut words = vec![0xbe96_0183];
    words.extend(body);
    launch(repeat(TIMES, &words), GROUPS, &memory);
    assert_eq!(memory[0].load(Ordering::Relaxed), u64::from(2 * GROUPS * TIMES));
}

/// A compare-and-swap loop by float add: no update may be lost.
#[test]
fn float_atomics_do_not_lose_updates() {
    let memory = [const { AtomicU64::new(0) }; 8];
    // global_load_dword v1, v0, s[0:1] offset:8
    memory[1].store(1f32.to_bits().into(), Ordering::Relaxed);
    let load = [0b110111 << 26 | 20 << 18 | 2 << 14 | 8, 1 << 24];
    let mut body = load.to_vec();
    body.extend(global_atomic(77));
    launch(repeat(TIMES, &body), GROUPS, &memory);
    let sum = f32::from_bits(memory[0].load(Ordering::Relaxed) as u32);
    assert_eq!(sum, (GROUPS * TIMES) as f32);
}
