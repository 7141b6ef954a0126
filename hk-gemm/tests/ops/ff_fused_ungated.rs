//! `ff_fused_ungated` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::record_tiles;
use hk_gemm::{
    Activation, Error, FeedForwardOptions, Tensor, bf16, ff_a16w16_fused_ungated_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn ff_fused_ungated_has_parity() {
    hk_ref::run_module("ff_fused_ungated", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn ff_fused_ungated_rejects_wrong_tensors() {
    hk_ref::run_rejections("ff_fused_ungated", &parity::cases(), &devices());
}

#[test]
fn ff_fused_ungated_rejects_other_activations() {
    for device in devices() {
        let stream = device.default_stream();
        let [x, up, down] = [[2, 16], [4, 16], [4, 16]]
            .map(|shape| Tensor::filled(&stream, &shape, bf16::ONE).unwrap());
        let mut y = Guarded::<bf16>::new(&stream, &[2, 16], Placement::DENSE).unwrap();
        for activation in [Activation::Mish, Activation::Sigmoid, Activation::LeakyRelu(0.5)] {
            let options = FeedForwardOptions::default().activation(activation);
            let error =
                rejected(&mut y, |y| ff_a16w16_fused_ungated_into(&x, &up, &down, &options, y));
            assert!(matches!(error, Error::Value { arg: "activation", .. }), "{error}");
        }
    }
}

/// What a kernel cannot reach is called as the op calls it.
#[test]
fn ff_fused_ungated_names_the_operand_whose_rows_are_too_long() {
    for device in devices() {
        let stream = device.default_stream();
        let row = || Tensor::<bf16>::empty(&stream, &[1, 40_000_000]).unwrap();
        // By rows, w_down is stored as (k, n): of as many rows as a step has.
        let (x, up, down, mut y) = (row(), row(), row(), row());
        let options = FeedForwardOptions::default();
        let (result, launched) =
            record_tiles(|| ff_a16w16_fused_ungated_into(&x, &up, &down, &options, &mut y));
        let error = result.unwrap_err();
        assert!(launched.is_empty(), "{launched:?}");
        assert!(matches!(error, Error::Value { arg: "w_down", .. }), "{error}");
    }
}
