//! `fused_gdn_gating` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_gdr::{GdnGatingOptions, GdnGatingOut, RowOptions, fused_gdn_gating_into, parity};
use hk_ref::harness::{Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn fused_gdn_gating_has_parity() {
    let module = "fused_gdn_gating_prefill";
    hk_ref::run_module(module, &parity::cases(), &devices(), 17_000_000);
}

#[test]
fn fused_gdn_gating_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_gdn_gating_prefill", &parity::cases(), &devices());
}

#[test]
fn fused_gdn_gating_rejects_wrong_options_and_no_heads_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |heads: usize, options: &GdnGatingOptions<'_>| {
            let a = Tensor::filled(&stream, &[3, heads], bf16::ONE).unwrap();
            let of_head = Tensor::filled(&stream, &[heads], 1.0f32).unwrap();
            let mut beta = Tensor::<f32>::empty(&stream, &[3, heads]).unwrap();
            let mut g = Guarded::<f32>::new(&stream, &[3, heads], Placement::DENSE).unwrap();
            rejected(&mut g, |g| {
                let out = GdnGatingOut { g, beta: &mut *beta };
                fused_gdn_gating_into(&of_head, &of_head, &a, &a, options, out)
            })
        };
        for factor in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused(4, &GdnGatingOptions::default().softplus_beta(factor));
            assert!(matches!(error, Error::Value { arg: "softplus_beta", .. }), "{error}");
        }
        let error = refused(4, &GdnGatingOptions::default().softplus_threshold(f32::NAN));
        assert!(matches!(error, Error::Value { arg: "softplus_threshold", .. }), "{error}");
        let error = refused(0, &GdnGatingOptions::default());
        assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        let tile = GdnGatingOptions::default().rows(RowOptions::default().tile("n8"));
        let error = refused(9, &tile);
        assert!(matches!(error, Error::Value { arg: "tile", .. }), "{error}");
    }
}

#[test]
fn fused_gdn_gating_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in [([16_384, 8], 256), ([8192, 32], 64), ([4096, 64], 32)] {
            let [tokens, heads] = shape;
            let a = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let of_head = Tensor::filled(&stream, &[heads], 1.0f32).unwrap();
            let [mut g, mut beta] = [0; 2].map(|_| Tensor::<f32>::empty(&stream, &shape).unwrap());
            let (read, written) = (2 * tokens * heads * 2, 2 * tokens * heads * 4);
            let traffic = Traffic { read, written, shared: 2 * heads * 4, rows_at_once };
            let options = GdnGatingOptions::default().rows(few_workgroups());
            traffic.check(&stream, || {
                let out = GdnGatingOut { g: &mut g, beta: &mut *beta };
                fused_gdn_gating_into(&of_head, &of_head, &a, &a, &options, out)
            });
        }
    }
}
