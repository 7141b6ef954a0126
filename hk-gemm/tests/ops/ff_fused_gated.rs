//! `ff_fused_gated` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::{
    Activation, Error, FeedForwardOptions, Tensor, bf16, ff_a16w16_fused_gated_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn ff_fused_gated_has_parity() {
    hk_ref::run_module("ff_fused_gated", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn ff_fused_gated_rejects_wrong_tensors() {
    hk_ref::run_rejections("ff_fused_gated", &parity::cases(), &devices());
}

#[test]
fn ff_fused_gated_rejects_other_activations() {
    for device in devices() {
        let stream = device.default_stream();
        let [x, up, down] = [[2, 16], [8, 16], [4, 16]]
            .map(|shape| Tensor::filled(&stream, &shape, bf16::ONE).unwrap());
        let mut y = Guarded::<bf16>::new(&stream, &[2, 16], Placement::DENSE).unwrap();
        for activation in [Activation::Mish, Activation::Sigmoid, Activation::LeakyRelu(0.5)] {
            let options = FeedForwardOptions::default().activation(activation);
            let error =
                rejected(&mut y, |y| ff_a16w16_fused_gated_into(&x, &up, &down, &options, y));
            assert!(matches!(error, Error::Value { arg: "activation", .. }), "{error}");
        }
    }
}
