//! Counters of small kernels whose figures are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use hk_build::assemble;
use hk_sim::PRODUCTS;
use hk_sim::counters::{Counters, Recorder};
use hk_sim::exec::{CodeSection, Dispatch, ExecOptions, Program, WaveSetup};
use hk_sim::isa::Arch;
use hk_sim::mem::{Memory, RegionKind, Request};
use hk_sim::sanitize::{Notes, Options, run};

/// Address that code is loaded at: far from everything else.
const BASE: u64 = 0x1000_0000;
/// Bytes of the buffer whose address is in `s[0:1]`.
const BUFFER: u64 = 1 << 16;
/// LDS of a workgroup.
const LDS: u32 = 1 << 16;

/// Head of the kernels: the address of the lane's dword in `v[2:3]`, 16 times its number in `v4`.
const HEAD: &str = "\
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v3, s1
v_add_co_u32 v2, vcc, s0, v1
v_addc_co_u32 v3, vcc, 0, v3, vcc
v_lshlrev_b32 v4, 4, v0
";
/// Vector instructions of the head.
const HEAD_VECTOR: u64 = 5;

/// Runs `body` behind [`HEAD`] in `groups` workgroups of `waves` full waves.
fn counters(arch: Arch, body: &str, groups: u32, waves: u32, options: &ExecOptions) -> Counters {
    let code = assemble(&format!("{HEAD}{body}\ns_endpgm\n"), arch).expect("it assembles");
    let words = code.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let program = Program::new(arch, vec![CodeSection { address: BASE, words }]);
    let memory = Memory::new();
    let request =
        Request { len: BUFFER, kind: RegionKind::Device, device: 0, flags: 0, managed: false };
    let buffer = memory.allocate(request, 1 << 30).expect("there is room");
    let block = [64 * waves, 1, 1];
    let dispatch = Dispatch {
        product: PRODUCTS.iter().find(|product| product.arch == arch).expect("one per chip"),
        program: Arc::new(program),
        kernel: "kernel".into(),
        entry: BASE,
        setup: WaveSetup {
            vgprs: 256,
            agprs: 256,
            mode: 0x3f0,
            user_sgprs: 2,
            // The kernels take the address of the buffer itself for that of the arguments.
            kernarg_ptr: true,
            workgroup_id: [true, false, false],
            ..WaveSetup::default()
        },
        grid: [groups, 1, 1],
        block,
        tail: block,
        kernarg: buffer,
        dispatch_packet: 0,
        queue: 0,
        lds_bytes: LDS,
        scratch_bytes: 0,
        regions: Arc::clone(memory.snapshot(0).regions()),
    };
    let recorder = Arc::new(Recorder::in_detail());
    let recorded = Some(Arc::clone(&recorder));
    let options = Options { recorder: recorded, ..options.clone().into() };
    let stats = run(&dispatch, &Notes::default(), &options).expect("it runs");
    let mut kernels = recorder.counters();
    let counters = kernels.remove("kernel").expect("it was counted");
    assert!(kernels.is_empty());
    assert_eq!(counters.instructions.total(), stats.instructions);
    counters
}

/// Counters of one wave.
fn one(arch: Arch, body: &str) -> Counters {
    counters(arch, body, 1, 1, &ExecOptions::default())
}

const BOTH: [Arch; 2] = [Arch::Gfx942, Arch::Gfx950];

/// Bytes read, written, distinct read, distinct written.
fn bytes(counters: &Counters) -> [u64; 4] {
    let Counters { read_bytes, written_bytes, .. } = *counters;
    [read_bytes, written_bytes, counters.distinct_read_bytes, counters.distinct_written_bytes]
}

#[test]
fn instructions_count_by_class() {
    let body = "\
        s_mov_b32 s4, 3
        v_mov_b32 v8, 0
        v_mov_b32 v9, 0
        s_load_dword s6, s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        again:
        v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[8:9], v[16:31]
        v_mfma_f32_16x16x16_f16 v[32:35], v[8:9], v[8:9], v[32:35]
        s_sub_u32 s4, s4, 1
        s_cmp_lg_u32 s4, 0
        s_cbranch_scc1 again
        s_barrier
        ds_read_b32 v10, v4
        s_nop 0";
    for arch in BOTH {
        let counters = counters(arch, body, 2, 2, &ExecOptions::default());
        let classes = counters.instructions;
        // Four waves.
        assert_eq!(classes.vector, 4 * (HEAD_VECTOR + 2));
        assert_eq!(classes.matrix, 4 * 6);
        assert_eq!((classes.scalar, classes.branch), (4 * 7, 4 * 3));
        assert_eq!((classes.wait, classes.barrier, classes.control), (4, 4, 8));
        assert_eq!((classes.scalar_memory, classes.lds, classes.vector_memory), (4, 4, 0));
        let matrix: BTreeMap<_, _> =
            [("v_mfma_f32_16x16x16_f16", 12), ("v_mfma_f32_32x32x8_f16", 12)]
                .map(|(mnemonic, count)| (mnemonic.to_owned(), count))
                .into();
        assert_eq!(counters.matrix, matrix);
        assert_eq!(bytes(&counters), [16, 0, 4, 0]);
        assert_eq!(counters.scalar_read_bytes, 16);
        assert_eq!(counters.launches, 1);
    }
}

#[test]
fn bytes_count_per_active_lane_and_once_for_distinct_ones() {
    for arch in BOTH {
        let body = |instructions: &str| bytes(&one(arch, instructions));
        assert_eq!(body("global_load_dword v8, v[2:3], off"), [256, 0, 256, 0]);
        assert_eq!(body("global_store_dword v[2:3], v0, off"), [0, 256, 0, 256]);
        // Lanes overlap: each reads 16 bytes at a distance of 4.
        assert_eq!(body("global_load_dwordx4 v[8:11], v[2:3], off"), [1024, 0, 268, 0]);
        assert_eq!(body("global_load_ushort v8, v4, s[0:1]"), [128, 0, 128, 0]);
        assert_eq!(body("s_mov_b64 exec, 0xff\nglobal_load_dword v8, v[2:3], off"), [32, 0, 32, 0]);
        assert_eq!(body("s_mov_b64 exec, 0\nglobal_load_dword v8, v[2:3], off"), [0; 4]);
        assert_eq!(body("global_atomic_add v[2:3], v0, off"), [256; 4]);
        assert_eq!(body("s_load_dwordx8 s[8:15], s[0:1], 0x0"), [32, 0, 32, 0]);
        let twice = "flat_load_dword v8, v[2:3]\nflat_load_dword v9, v[2:3]";
        assert_eq!(body(twice), [512, 0, 256, 0]);
        // Workgroups share what they read.
        let counters = counters(
            arch,
            "global_load_dword v8, v[2:3], off",
            3,
            1,
            &ExecOptions { threads: 2, ..ExecOptions::default() },
        );
        assert_eq!(bytes(&counters), [768, 0, 256, 0]);
    }
}

#[test]
fn lanes_out_of_range_of_a_buffer_count_nothing() {
    // 100 bytes of records: 25 dwords, or six pieces of 16 bytes and one dword.
    let head = "s_mov_b32 s8, s0\ns_mov_b32 s9, s1\ns_mov_b32 s10, 100\ns_mov_b32 s11, 0x27000\n";
    for arch in BOTH {
        let body = |instruction: &str| bytes(&one(arch, &format!("{head}{instruction}")));
        assert_eq!(body("buffer_load_dword v8, v1, s[8:11], 0 offen"), [100, 0, 100, 0]);
        assert_eq!(body("buffer_store_dword v0, v1, s[8:11], 0 offen"), [0, 100, 0, 100]);
        assert_eq!(body("buffer_load_dwordx4 v[8:11], v4, s[8:11], 0 offen"), [100, 0, 100, 0]);
        let to_lds = "s_mov_b32 m0, 0\nbuffer_load_dword v1, s[8:11], 0 offen lds";
        assert_eq!(body(to_lds), [100, 0, 100, 0]);
    }
}

/// LDS accesses and conflict cycles.
fn lds(arch: Arch, body: &str) -> (u64, u64) {
    let counters = one(arch, body);
    (counters.lds_accesses, counters.lds_conflict_cycles)
}

#[test]
fn bank_conflicts_follow_the_phases_of_each_chip() {
    for (arch, column32, rows128) in [(Arch::Gfx942, 62, 24), (Arch::Gfx950, 62, 24)] {
        // Contiguous, and all at one place.
        for body in ["ds_read_b32 v8, v1", "ds_write_b32 v1, v0", "ds_read_b128 v[8:11], v4"] {
            assert_eq!(lds(arch, body), (1, 0), "{body}");
        }
        assert_eq!(lds(arch, "v_mov_b32 v5, 64\nds_read_b128 v[8:11], v5"), (1, 0));
        // A column of rows of 128 bytes: 32 banks.
        let column = "v_lshlrev_b32 v5, 7, v0\n";
        assert_eq!(lds(arch, &format!("{column}ds_write_b32 v5, v0")), (1, column32));
        // Eight lanes read 16 bytes each of rows of 64 bytes: half the banks.
        let rows = "v_lshlrev_b32 v5, 6, v0\n";
        assert_eq!(lds(arch, &format!("{rows}ds_write_b128 v5, v[8:11]")), (1, rows128));
        // Padding by 16 bytes spreads rows of 128 over all banks.
        let padded = "v_mul_u32_u24 v5, 0x90, v0\nds_read_b128 v[8:11], v5";
        assert_eq!(lds(arch, padded), (1, 0));
        // Two addresses are two accesses; lanes out of range make none.
        assert_eq!(lds(arch, "ds_read2_b32 v[8:9], v1 offset1:1"), (2, 0));
        assert_eq!(lds(arch, "v_mov_b32 v5, -4\nds_read_b32 v8, v5"), (0, 0));
        assert_eq!(lds(arch, "v_mov_b32 v5, 0\nds_add_u32 v5, v0"), (1, 62));
        assert_eq!(lds(arch, "ds_bpermute_b32 v8, v1, v0"), (0, 0));
    }
    // A column of 256-byte rows: all lanes of a phase in one bank.
    let column = "v_lshlrev_b32 v5, 8, v0\n";
    for (body, gfx942, gfx950) in [
        ("ds_read_b32 v8, v5", 62, 63),
        ("ds_read_b64 v[8:9], v5", 60, 62),
        ("ds_read_b128 v[8:11], v5", 56, 60),
    ] {
        let body = format!("{column}{body}");
        assert_eq!([lds(Arch::Gfx942, &body).1, lds(Arch::Gfx950, &body).1], [gfx942, gfx950]);
    }
}

#[test]
fn counters_do_not_depend_on_the_schedule() {
    let body = "\
        ds_write_b32 v1, v0
        s_barrier
        ds_read_b128 v[8:11], v4
        s_waitcnt lgkmcnt(0)
        global_store_dwordx4 v4, v[8:11], s[0:1]";
    let options = |threads, seed| ExecOptions { threads, seed, ..ExecOptions::default() };
    let expected = counters(Arch::Gfx942, body, 8, 4, &options(1, None));
    assert_eq!(bytes(&expected), [0, 8 * 4096, 0, 4096]);
    for (threads, seed) in [(1, Some(1)), (2, None), (3, Some(2))] {
        assert_eq!(counters(Arch::Gfx942, body, 8, 4, &options(threads, seed)), expected);
    }
}
