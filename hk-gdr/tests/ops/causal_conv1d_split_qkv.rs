//! `causal_conv1d_split_qkv` against its reference, and what it refuses.

use hk_core::Tensor;
use hk_gdr::{CausalConv1dOptions, causal_conv1d_update_split_qkv, parity};

use crate::common::devices;

#[test]
fn causal_conv1d_split_qkv_has_parity() {
    hk_ref::run_module("causal_conv1d_split_qkv", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn causal_conv1d_split_qkv_rejects_wrong_tensors() {
    hk_ref::run_rejections("causal_conv1d_split_qkv", &parity::cases(), &devices());
}

#[test]
fn results_are_activated_unless_it_is_said_otherwise() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[1, 4], 1.0f32).unwrap();
        let weight = Tensor::filled(&stream, &[4, 2], 1.0f32).unwrap();
        let default = CausalConv1dOptions::default();
        for (options, expected) in [(default, 1.761_594), (default.silu(false), 2.0)] {
            let mut state = Tensor::filled(&stream, &[1, 4, 1], 1.0f32).unwrap();
            let qkv =
                causal_conv1d_update_split_qkv(&x, &weight, &mut state, 1, 2, &options).unwrap();
            approx::assert_abs_diff_eq!(qkv.v.to_vec().unwrap()[..], [expected; 2], epsilon = 1e-6);
        }
    }
}
