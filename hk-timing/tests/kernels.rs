//! Predictions of small kernels whose cycles are known, published or bounded.

mod common;

use common::kernel::{
    Kernel, global_address, kernel_units, lds_address, repeated, stream, turn, zeros,
};
use hk_sim::PRODUCTS;
use hk_timing::{Activity, Limit, Parameters, Reason, WaveLine};

#[test]
fn a_matrix_chain_goes_at_the_rate_of_its_passes() {
    // 8 passes of 4 cycles each: 32 instructions a turn.
    for (product, name, operands) in [
        ("mi300x", "v_mfma_f32_32x32x8_f16", "v[8:9], v[8:9]"),
        ("mi355x", "v_mfma_f32_32x32x16_bf16", "v[8:11], v[8:11]"),
    ] {
        let chain = format!("{name} v[16:31], {operands}, v[16:31]\n").repeat(32);
        let kernel = |turns| Kernel::new(product, repeated(&zeros(), &chain, turns));
        assert_eq!(turn(kernel), f64::from(32 * 32), "{product}");

        let full = kernel(64).groups(8 * kernel_units(product), 4).predict();
        assert_eq!(full.limit, Limit::Matrix, "{full:?}");
        assert!(full.roofline_share() > 0.3 && full.roofline_share() <= 1.0, "{full}");
    }
}

#[test]
fn vector_instructions_take_four_cycles_and_transcendental_ones_sixteen() {
    // A turn: all but the last, the last with two scalar instructions and the branch behind it.
    for (instruction, cycles) in [
        ("v_fma_f32 v16, v8, v9, v16", 63 * 4 + 28),
        ("v_exp_f32 v16, v8", 63 * 16 + 28),
        ("v_cvt_f32_i32 v16, v8", 63 * 16 + 28),
        ("s_nop 3", 63 * 16 + 16 + 24),
    ] {
        let body = format!("{instruction}\n").repeat(64);
        let found = turn(|turns| Kernel::new("mi300x", repeated(&zeros(), &body, turns)));
        assert_eq!(found, f64::from(cycles), "{instruction}");
    }
}

#[test]
fn waves_of_one_simd_share_its_units() {
    let chain = "v_fma_f32 v16, v8, v9, v16\n".repeat(64);
    let time = |waves| {
        let kernel = |turns| Kernel::new("mi300x", repeated(&zeros(), &chain, turns));
        turn(|turns| kernel(turns).groups(1, waves))
    };
    let times = [1, 4, 8].map(time);
    assert_eq!(times[..2], [280.0, 280.0]);
    // Two waves of a SIMD take what its VALU needs, and less than one behind the other.
    assert!((512.0..560.0).contains(&times[2]), "{times:?}");
}

#[test]
fn a_chain_of_lds_reads_takes_the_published_latency() {
    // MT4G on MI300X: 51.3 cycles of a dword.
    let step = "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n".repeat(64);
    let kernel = |turns| Kernel::new("mi300x", repeated(&lds_address(4), &step, turns));
    let cycles = turn(|turns| Kernel { lds: 4096, ..kernel(turns) }) / 64.0;
    assert!((cycles / 51.3).ln().abs() < 0.08, "{cycles} cycles");
}

#[test]
fn conflicts_cost_a_cycle_each() {
    let time = |stride| {
        let step = "ds_read_b32 v3, v2\n".repeat(8) + "s_waitcnt lgkmcnt(0)\n";
        let kernel = |turns| Kernel::new("mi300x", repeated(&lds_address(stride), &step, turns));
        turn(|turns| Kernel { lds: 1 << 15, ..kernel(turns) }) / 8.0
    };
    let times = [4, 16, 128].map(time);
    assert!(times[0] < times[1] && times[1] < times[2], "{times:?}");
    // 62 more cycles each.
    let added = times[2] - times[0];
    assert!((50.0..64.0).contains(&added), "{added}");
}

#[test]
fn nothing_that_is_added_makes_it_faster() {
    let step = "global_load_dwordx4 v[16:19], v[2:3], off\ns_waitcnt vmcnt(0)\n\
                v_fma_f32 v16, v8, v9, v16\n";
    let head = zeros() + &global_address(4, 16);
    let kernel = |more: &str| {
        let body = repeated(&head, &format!("{step}{more}"), 16);
        let kernel = Kernel::new("mi355x", body).groups(512, 4);
        Kernel { lds: 4096, ..kernel.buffer(512 * 4 * 1024) }.predict().seconds
    };
    let plain = kernel("");
    for more in [
        "s_barrier\n",
        "s_nop 7\n",
        "s_sleep 2\n",
        "v_exp_f32 v16, v8\n",
        "global_load_dwordx4 v[20:23], v[2:3], off sc0 sc1\ns_waitcnt vmcnt(0)\n",
        "global_store_dwordx4 v[2:3], v[8:11], off\n",
        "ds_read_b32 v20, v8\ns_waitcnt lgkmcnt(0)\n",
    ] {
        assert!(kernel(more) >= plain, "{more}");
    }
}

#[test]
fn streams_are_bounded_by_memory() {
    for product in &PRODUCTS {
        let by = Parameters::of(product).expect("the set is whole");
        let kernel = stream(product.name, 1 << 14, 8, false);
        let (bytes, found) = (kernel.buffers[0] as f64, kernel.predict());
        let rate = bytes / found.seconds / 1e12;
        assert_eq!(found.limit, Limit::Hbm, "{}: {found:?}", product.name);
        assert!(rate < by.hbm_peak && rate > 0.6 * by.hbm_peak, "{}: {rate} TB/s", product.name);
        // Every byte once.
        assert!((found.bytes[2] / bytes - 1.0).abs() < 0.05, "{:?} of {bytes}", found.bytes);
        // What fits the MALL is faster there.
        let small = stream(product.name, 1 << 10, 8, false);
        let warm = Kernel { warm: true, ..small.clone() };
        assert!(warm.predict().seconds < small.predict().seconds);
    }
}

#[test]
fn a_launch_reads_no_more_from_memory_than_there_is() {
    // Of a square of workgroups each reads the block of its row and the block of its column.
    let address = |block: &str, to: u32| {
        format!(
            "{block}\ns_lshl_b32 s3, s3, 12\nv_lshlrev_b32 v1, 4, v0\nv_add_u32 v1, s3, v1\n\
             v_mov_b32 v{high}, s1\nv_add_co_u32 v{to}, vcc, s0, v1\n\
             v_addc_co_u32 v{high}, vcc, 0, v{high}, vcc\n\
             global_load_dwordx4 v[{}:{}], v[{to}:{high}], off\n",
            to + 8,
            to + 11,
            high = to + 1,
        )
    };
    let (row, column) = ("s_and_b32 s3, s2, 63", "s_lshr_b32 s3, s2, 6\ns_add_u32 s3, s3, 64");
    let body = address(row, 4) + &address(column, 20) + "s_waitcnt vmcnt(0)\n";
    for product in ["mi300x", "mi355x"] {
        let kernel = Kernel::new(product, body.clone()).groups(64 * 64, 4);
        let kernel = Kernel { warm: false, ..kernel.buffer(128 << 12) };
        let (found, all) = (kernel.predict().bytes[2], kernel.buffers[0] as f64);
        assert!((0.9..1.1).contains(&(found / all)), "{product}: {found} of {all}");
    }
}

#[test]
fn cycles_of_waves_are_issue_and_stalls() {
    let barriers = "ds_read_b32 v20, v8\ns_waitcnt lgkmcnt(0)\ns_barrier\n";
    let mut kernel = Kernel::new("mi325x", repeated(&zeros(), barriers, 20)).groups(700, 8);
    kernel.lds = 4096;
    let chain = "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[8:9], v[16:31]\n".repeat(8);
    let matrix = Kernel::new("mi325x", repeated(&zeros(), &chain, 20)).groups(300, 8);
    for kernel in [kernel, matrix, stream("mi355x", 600, 4, true)] {
        let stalls = kernel.predict().stalls;
        let lost: u64 = stalls.reasons.iter().map(|(_, cycles)| cycles).sum();
        assert_eq!(stalls.issue + lost, stalls.total, "{stalls:?}");
        assert_eq!(stalls.reasons.len(), Reason::ALL.len());
    }
}

/// Cycles of a wave by what it does.
fn cycles_of(wave: &WaveLine, activity: Activity) -> u64 {
    let spans = wave.spans.iter().filter(|span| span.activity == activity);
    spans.map(|span| span.end - span.start).sum()
}

#[test]
fn a_timeline_says_what_each_wave_waits_for() {
    // One workgroup, so that everything is in the timeline.
    for (body, reason) in [
        ("s_barrier\n", Reason::Pause),
        ("s_load_dwordx2 s[4:5], s[0:1], 0\ns_waitcnt lgkmcnt(0)\n", Reason::ScalarWait),
        ("ds_read_b32 v20, v8\ns_waitcnt lgkmcnt(0)\n", Reason::LdsWait),
        (
            "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[8:9], v[16:31]\n\
             v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[8:9], v[16:31]\n",
            Reason::Matrix,
        ),
    ] {
        let kernel = Kernel::new("mi300x", repeated(&zeros(), body, 20)).groups(1, 8);
        let kernel = Kernel { lds: 4096, ..kernel };
        let (stalls, line) = (kernel.predict().stalls, kernel.timeline());
        assert_eq!(line.waves.len(), 8);
        let mut found = 0;
        for wave in &line.waves {
            // Without gaps.
            assert!(wave.spans.windows(2).all(|two| two[0].end == two[1].start), "{wave:?}");
            assert!(wave.spans.iter().all(|span| span.start < span.end), "{wave:?}");
            found += cycles_of(wave, Activity::Wait(reason));
        }
        // The same cycles as those of the prediction, by every reason.
        let of = |activity| line.waves.iter().map(|wave| cycles_of(wave, activity)).sum::<u64>();
        assert_eq!(of(Activity::Issue), stalls.issue);
        for (reason, cycles) in stalls.reasons {
            let conflicts = if reason == Reason::LdsWait { of(Activity::Conflict) } else { 0 };
            assert_eq!(of(Activity::Wait(reason)) + conflicts, cycles, "{reason:?}");
        }
        assert!(found > 0, "{body}: no wave waits for {reason:?}");
    }
}

#[test]
fn a_timeline_tells_conflicts_from_other_waits() {
    let conflicts = |stride| {
        let step = "ds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n".repeat(8);
        let kernel = Kernel::new("mi300x", repeated(&lds_address(stride), &step, 10));
        let line = Kernel { lds: 1 << 15, ..kernel }.timeline();
        line.waves.iter().map(|wave| cycles_of(wave, Activity::Conflict)).sum::<u64>()
    };
    // 31 more dwords of a bank in each of two phases.
    assert_eq!([conflicts(4), conflicts(128)], [0, 80 * 62]);
}

#[test]
fn predictions_are_the_same_for_any_number_of_threads() {
    let kernel = stream("mi300x", 5000, 4, true);
    let (traces, first) = kernel.run();
    for threads in [2, 7] {
        let (other, second) = Kernel { threads, ..kernel.clone() }.run();
        assert!(traces == other);
        assert_eq!(first, second);
    }
}

#[test]
fn nothing_beats_its_roofline() {
    let chain = "v_mfma_f32_32x32x8_f16 v[16:31], v[8:9], v[8:9], v[16:31]\n".repeat(16);
    for product in PRODUCTS.map(|product| product.name) {
        let matrix = Kernel::new(product, repeated(&zeros(), &chain, 100)).groups(2000, 4);
        for kernel in [matrix, stream(product, 4000, 8, false), stream(product, 4, 1, true)] {
            let found = kernel.predict();
            assert!(found.roofline > 0.0 && found.roofline_share() <= 1.0, "{found}");
        }
    }
}

#[test]
fn a_barrier_waits_for_the_last_wave() {
    // One wave of four sleeps.
    let one = "v_readfirstlane_b32 s5, v0\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 behind\n\
               s_sleep 127\nbehind:\ns_barrier\n";
    let found = Kernel::new("mi300x", one).groups(1, 4).predict();
    let barrier = found.stalls.reasons.iter().find(|(reason, _)| *reason == Reason::Barrier);
    let waited = barrier.expect("it is one of them").1;
    assert!((3 * 8000..3 * 8400).contains(&waited), "{found:?}");
}

#[test]
fn what_is_extrapolated_goes_on_as_what_was_timed() {
    // Of the first 430 workgroups of a unit all are timed, of 600 not.
    let step = "global_load_dword v16, v[2:3], off sc0 sc1\ns_waitcnt vmcnt(0)\ns_barrier\n";
    let body = repeated(&global_address(4, 4), step, 99);
    let kernel = Kernel { vgprs: 64, ..Kernel::new("mi300x", body).buffer(1 << 30) };
    let time = |groups| {
        let kernel = kernel.clone().groups(groups * kernel_units("mi300x"), 4);
        kernel.predict().seconds
    };
    let [few, all, more] = [200, 400, 600].map(time);
    let expected = all + (all - few);
    assert!((more / expected - 1.0).abs() < 0.02, "{few} {all} {more}");
}
