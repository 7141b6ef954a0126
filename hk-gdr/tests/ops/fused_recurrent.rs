//! `fused_recurrent_fwd` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor, TensorSlice};
use hk_gdr::{
    FusedRecurrentOptions, FusedRecurrentOut, State, StateLayout, fused_recurrent_fwd,
    fused_recurrent_fwd_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

const NO_STATE: Option<&TensorSlice<f32>> = None;

#[test]
fn fused_recurrent_has_parity() {
    hk_ref::run_module("fused_recurrent", &parity::cases(), &devices(), 13_500_000);
}

#[test]
fn fused_recurrent_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_recurrent", &parity::cases(), &devices());
}

#[test]
fn fused_recurrent_rejects_wrong_options_and_sizes_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[h, hv, k, v]: [usize; 4], options: &FusedRecurrentOptions<'_>| {
            let q = Tensor::filled(&stream, &[1, 2, h, k], bf16::ONE).unwrap();
            let values = Tensor::filled(&stream, &[1, 2, hv, v], bf16::ONE).unwrap();
            let mut o = Guarded::<bf16>::new(&stream, &[1, 2, hv, v], Placement::DENSE).unwrap();
            rejected(&mut o, |o| {
                let out = FusedRecurrentOut::<_, f32> { o: &mut **o, final_state: None };
                fused_recurrent_fwd_into(&q, &q, &values, NO_STATE, options, out)
            })
        };
        let options = FusedRecurrentOptions::default();
        for scale in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused([1, 1, 4, 4], &options.scale(scale));
            assert!(matches!(error, Error::Value { arg: "scale", .. }), "{error}");
        }
        let error = refused([2, 3, 4, 4], &options);
        assert!(matches!(error, Error::Value { arg: "hv", .. }), "{error}");
        for (sizes, wrong) in [
            ([0, 1, 4, 4], "q"),
            ([1, 0, 4, 4], "v"),
            ([1, 1, 0, 4], "q"),
            ([1, 1, 4, 0], "v"),
            ([1, 1, 257, 4], "q"),
            ([1, 1, 4, 513], "v"),
        ] {
            let error = refused(sizes, &options);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == wrong), "{error}");
        }
        for wrong in [[1, 2], [0, 1], [0, 3]] {
            let bounds = Tensor::from_slice(&stream, &wrong, &[2]).unwrap();
            let error = refused([1, 1, 4, 4], &options.cu_seqlens(&bounds));
            assert!(matches!(error, Error::Value { arg: "cu_seqlens", .. }), "{error}");
        }
    }
}

/// Requires that each byte of states is read once and written once, 16 to a lane.
fn check_traffic<S: State>(layout: StateLayout) {
    let [b, h, hv, k, v] = [4, 2, 4, 128, 128];
    for device in devices() {
        let stream = device.default_stream();
        let q = Tensor::filled(&stream, &[b, 1, h, k], bf16::ONE).unwrap();
        let values = Tensor::filled(&stream, &[b, 1, hv, v], bf16::ONE).unwrap();
        let g = Tensor::filled(&stream, &[b, 1, hv], -1.0f32).unwrap();
        let states = Tensor::filled(&stream, &[b, hv, k, v], S::from_f64(1.0)).unwrap();
        let options = FusedRecurrentOptions::default().g(&g).state_layout(layout);
        let options = options.output_final_state(true);
        let moved =
            Moved::by(&stream, || fused_recurrent_fwd(&q, &q, &values, Some(&states), &options));
        let bytes = states.len() * size_of::<S>();
        let waves = (b * hv * v / 32) as u64;
        // Beside them, a wave reads a token, and the kernel's arguments several times.
        moved.once(bytes, 0..=waves * 6000, bytes + values.len() * 2);
        let accesses = moved.counters.instructions.vector_memory;
        let of_states = 2 * bytes as u64 / 1024;
        assert!(accesses <= of_states + waves * 16, "{accesses} accesses, {of_states} of states");
    }
}

#[test]
fn fused_recurrent_reads_and_writes_states_once() {
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        check_traffic::<f32>(layout);
        check_traffic::<bf16>(layout);
    }
}

#[test]
fn a_sequence_in_parts_gives_the_same_bits() {
    for device in devices() {
        let stream = device.default_stream();
        let (t, h, hv, k, v) = (9, 1, 2, 36, 40);
        let numbers = |count: usize, step: usize| -> Vec<f32> {
            (0..count).map(|i| (i * step % 101) as f32 / 202.0 - 0.25).collect()
        };
        let tensor = |shape: &[usize], step| {
            Tensor::from_slice(&stream, &numbers(shape.iter().product(), step), shape).unwrap()
        };
        let (q, key) = (tensor(&[1, t, h, k], 37), tensor(&[1, t, h, k], 53));
        let value = tensor(&[1, t, hv, v], 29);
        let options = FusedRecurrentOptions::default().output_final_state(true);
        let whole = fused_recurrent_fwd::<_, _, f32>(&q, &key, &value, None, &options).unwrap();
        let mut state = None;
        let mut o = Vec::new();
        for (from, to) in [(0, 4), (4, 5), (5, t)] {
            let [q, key, value] = [&q, &key, &value].map(|of| of.narrow(1, from..to).unwrap());
            let part =
                fused_recurrent_fwd::<_, _, f32>(&q, &key, &value, state.as_deref(), &options);
            let part = part.unwrap();
            o.extend(part.o.to_vec().unwrap());
            state = part.final_state;
        }
        assert_eq!(o, whole.o.to_vec().unwrap());
        let [part, whole] = [state, whole.final_state].map(|of| of.unwrap().to_vec().unwrap());
        assert_eq!(part, whole);
    }
}
