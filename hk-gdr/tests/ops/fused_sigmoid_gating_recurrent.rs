//! `fused_sigmoid_gating_recurrent` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Stream, Tensor};
use hk_gdr::{
    GatingInputs, QkvzbaHeads, SigmoidGatingOptions, SigmoidGatingOut, State, StateLayout,
    fused_sigmoid_gating_recurrent_into, fused_sigmoid_gating_recurrent_packed,
    fused_sigmoid_gating_recurrent_packed_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn fused_sigmoid_gating_recurrent_has_parity() {
    let module = "fused_sigmoid_gating_recurrent";
    hk_ref::run_module(module, &parity::cases(), &devices(), 9_800_000);
}

#[test]
fn fused_sigmoid_gating_recurrent_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_sigmoid_gating_recurrent", &parity::cases(), &devices());
}

/// A step of a batch.
struct Step {
    mixed_qkv: Tensor<bf16>,
    of_heads: Tensor<f32>,
    of_tokens: Tensor<bf16>,
}

const HEADS: QkvzbaHeads =
    QkvzbaHeads { num_heads_qk: 2, num_heads_v: 4, head_qk: 128, head_v: 128 };

impl Step {
    fn new(stream: &Stream, batch: usize) -> Self {
        let numbers: Vec<bf16> =
            (0..batch * 1024).map(|i| bf16::from_f32((i % 13) as f32 / 8.0 - 0.5)).collect();
        Self {
            mixed_qkv: Tensor::from_slice(stream, &numbers, &[batch, 1, 1024]).unwrap(),
            of_heads: Tensor::filled(stream, &[4], -1.0).unwrap(),
            of_tokens: Tensor::filled(stream, &[batch, 1, 4], bf16::ONE).unwrap(),
        }
    }

    fn gating(&self) -> GatingInputs<'_, f32, f32, bf16> {
        let Self { of_heads, of_tokens, .. } = self;
        GatingInputs { a_log: of_heads, dt_bias: of_heads, a: of_tokens, b: of_tokens }
    }
}

#[test]
fn wrong_options_and_slots_are_refused_and_leave_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let step = Step::new(&stream, 2);
        let refused = |heads: QkvzbaHeads, with_state: bool, options: &SigmoidGatingOptions<'_>| {
            let mut state = Tensor::<f32>::zeros(&stream, &[3, 4, 128, 128]).unwrap();
            let mut o = Guarded::<bf16>::new(&stream, &[2, 1, 4, 128], Placement::DENSE).unwrap();
            rejected(&mut o, |o| {
                let state = with_state.then_some(&mut *state);
                let out = SigmoidGatingOut { o: &mut **o, state };
                let (gating, qkv) = (step.gating(), &step.mixed_qkv);
                fused_sigmoid_gating_recurrent_packed_into(gating, qkv, heads, options, out)
            })
        };
        let options = SigmoidGatingOptions::default();
        for wrong in [[0i32, 3], [0, -2], [1, 1]] {
            let slots = Tensor::from_slice(&stream, &wrong, &[2]).unwrap();
            let error = refused(HEADS, true, &options.state_indices(&slots));
            assert!(matches!(error, Error::Value { arg: "state_indices", .. }), "{error}");
            let error = refused(HEADS, false, &options.state_indices(&slots));
            assert!(matches!(error, Error::Value { arg: "state_indices", .. }), "{error}");
        }
        for factor in [0.0, -1.0, f32::NAN] {
            let error = refused(HEADS, true, &options.softplus_beta(factor));
            assert!(matches!(error, Error::Value { arg: "softplus_beta", .. }), "{error}");
        }
        let error = refused(HEADS, true, &options.softplus_threshold(f32::NAN));
        assert!(matches!(error, Error::Value { arg: "softplus_threshold", .. }), "{error}");
        let error = refused(HEADS, true, &options.scale(0.0));
        assert!(matches!(error, Error::Value { arg: "scale", .. }), "{error}");
        let error = refused(QkvzbaHeads { head_qk: 0, ..HEADS }, true, &options);
        assert!(matches!(error, Error::Value { arg: "head_qk", .. }), "{error}");
        let error = refused(QkvzbaHeads { head_qk: 64, ..HEADS }, true, &options);
        assert!(matches!(error, Error::Shape { arg: "mixed_qkv", .. }), "{error}");
    }
}

#[test]
fn wrong_bounds_are_refused_and_leave_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let of_tokens = Tensor::filled(&stream, &[1, 5, 2], bf16::ONE).unwrap();
        let of_heads = Tensor::filled(&stream, &[2], -1.0f32).unwrap();
        let gating =
            GatingInputs { a_log: &of_heads, dt_bias: &of_heads, a: &of_tokens, b: &of_tokens };
        let q = Tensor::filled(&stream, &[1, 5, 1, 4], bf16::ONE).unwrap();
        let v = Tensor::filled(&stream, &[1, 5, 2, 8], bf16::ONE).unwrap();
        for wrong in [&[1, 3, 5][..], &[0, 3, 4], &[0, 6, 5], &[0, -1, 5]] {
            let bounds = Tensor::from_slice(&stream, wrong, &[wrong.len()]).unwrap();
            let options = SigmoidGatingOptions::default().cu_seqlens(&bounds);
            let mut pool = Tensor::filled(&stream, &[2, 2, 4, 8], 1.0f32).unwrap();
            let mut o = Guarded::<bf16>::new(&stream, &[1, 5, 2, 8], Placement::DENSE).unwrap();
            let error = rejected(&mut o, |o| {
                let out = SigmoidGatingOut { o: &mut **o, state: Some(&mut *pool) };
                fused_sigmoid_gating_recurrent_into(gating, &q, &q, &v, &options, out)
            });
            assert!(matches!(error, Error::Value { arg: "cu_seqlens", .. }), "{error}");
            assert!(pool.to_vec().unwrap().iter().all(|x| *x == 1.0));
        }
    }
}

/// Requires that each byte of states that sequences have is read once and written once, 16 to a lane.
fn check_traffic<S: State>(layout: StateLayout) {
    for device in devices() {
        let stream = device.default_stream();
        let step = Step::new(&stream, 4);
        let mut pool = Tensor::filled(&stream, &[6, 4, 128, 128], S::from_f64(0.5)).unwrap();
        let slots = Tensor::from_slice(&stream, &[5i32, -1, 0, 2], &[4]).unwrap();
        let options = SigmoidGatingOptions::default().state_indices(&slots).state_layout(layout);
        let options = options.use_qk_l2norm_in_kernel(true).validate_indices(false);
        let moved = Moved::by(&stream, || {
            let pool = Some(&mut *pool);
            let (gating, qkv) = (step.gating(), &step.mixed_qkv);
            fused_sigmoid_gating_recurrent_packed(gating, qkv, HEADS, pool, &options)
        });
        let (of_sequence, waves) = (4 * 128 * 128 * size_of::<S>(), 4 * 4 * 4);
        // Beside them, a wave reads a token, and the kernel's arguments several times.
        moved.once(3 * of_sequence, 0..=waves * 6000, 3 * of_sequence + 4 * 4 * 128 * 2);
        // 16 bytes to a lane; of a state that there is not, no lane has any.
        let accesses = moved.counters.instructions.vector_memory;
        let of_states = (4 + 3) * of_sequence as u64 / 1024;
        assert!(accesses <= of_states + waves * 16, "{accesses} accesses, {of_states} of states");
        let pool = pool.to_vec().unwrap();
        for slot in [1, 3, 4] {
            let untouched = &pool[slot * 4 * 128 * 128..][..4 * 128 * 128];
            assert!(untouched.iter().all(|x| x.to_f64() == 0.5));
        }
    }
}

#[test]
fn states_are_read_once_and_written_once() {
    for layout in [StateLayout::Kv, StateLayout::Vk] {
        check_traffic::<f32>(layout);
        check_traffic::<bf16>(layout);
    }
}
