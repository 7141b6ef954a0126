//! `moe_routing_sigmoid_top1_fused` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_moe::{
    SigmoidTop1Options, SigmoidTop1Out, moe_routing_sigmoid_top1_fused,
    moe_routing_sigmoid_top1_fused_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

const MODULE: &str = "moe_routing_sigmoid_top1_fused";

#[test]
fn moe_routing_sigmoid_top1_fused_has_parity() {
    hk_ref::run_module(MODULE, &parity::cases(), &devices(), 10_000_000);
}

#[test]
fn moe_routing_sigmoid_top1_fused_rejects_wrong_tensors() {
    hk_ref::run_rejections(MODULE, &parity::cases(), &devices());
}

#[test]
fn moe_routing_sigmoid_top1_fused_rejects_wrong_numbers_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |k: usize, experts: usize, topk: usize| {
            let x = Tensor::<bf16>::zeros(&stream, &[3, k]).unwrap();
            let w = Tensor::<bf16>::zeros(&stream, &[k, experts]).unwrap();
            let mut weights = Tensor::empty(&stream, &[3, 1]).unwrap();
            let mut ids = Guarded::<i32>::new(&stream, &[3, 1], Placement::DENSE).unwrap();
            rejected(&mut ids, |ids| {
                let out = SigmoidTop1Out { topk_ids: ids, topk_weights: &mut weights };
                let options = SigmoidTop1Options::default();
                moe_routing_sigmoid_top1_fused_into(&x, &w, topk, &options, out)
            })
        };
        for topk in [0, 2] {
            let error = refused(8, 4, topk);
            assert!(matches!(error, Error::Value { arg: "topk", .. }), "{error}");
        }
        for (k, experts, name) in [(0, 4, "x"), (8, 0, "w"), (8, 1025, "w")] {
            let error = refused(k, experts, 1);
            assert!(matches!(error, Error::Shape { arg, .. } if arg == name), "{error}");
        }
    }
}

#[test]
fn moe_routing_sigmoid_top1_fused_reads_what_it_multiplies_once() {
    for device in devices() {
        let stream = device.default_stream();
        let (tokens, experts, k) = (16, 128, 1024);
        let x = Tensor::filled(&stream, &[tokens, k], bf16::ONE).unwrap();
        let w = Tensor::filled(&stream, &[k, experts], bf16::ONE).unwrap();
        let options = SigmoidTop1Options::default();
        let moved = Moved::by(&stream, || moe_routing_sigmoid_top1_fused(&x, &w, 1, &options));
        let arguments = moved.counters.scalar_read_bytes;
        moved.once(2 * k * (tokens + experts), 0..=arguments, 8 * tokens);
        moved.in_full_waves(2.0 * (k * (tokens + experts)) as f64 / 1024.0 + 8.0 * 2.0);
    }
}
