//! `gemm_a16w16_gated` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::{Activation, Error, GemmOptions, Tensor, bf16, gemm_a16w16_gated_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn gemm_a16w16_gated_has_parity() {
    hk_ref::run_module("gemm_a16w16_gated", &parity::cases(), &devices(), 24_000_000);
}

#[test]
fn gemm_a16w16_gated_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_a16w16_gated", &parity::cases(), &devices());
}

#[test]
fn gemm_a16w16_gated_rejects_gates_of_other_activations() {
    for device in devices() {
        let stream = device.default_stream();
        let [x, w] =
            [[2, 16], [8, 16]].map(|shape| Tensor::filled(&stream, &shape, bf16::ONE).unwrap());
        let mut y = Guarded::<bf16>::new(&stream, &[2, 4], Placement::DENSE).unwrap();
        for activation in [Activation::Mish, Activation::Sigmoid, Activation::LeakyRelu(0.5)] {
            let options = GemmOptions::default().activation(activation);
            let error = rejected(&mut y, |y| gemm_a16w16_gated_into(&x, &w, &options, y));
            assert!(matches!(error, Error::Value { arg: "activation", .. }), "{error}");
        }
    }
}
