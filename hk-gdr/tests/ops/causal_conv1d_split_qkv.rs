//! `causal_conv1d_split_qkv` against its reference, what it refuses, and what it moves.

use hk_core::Tensor;
use hk_core::dtype::bf16;
use hk_gdr::{CausalConv1dOptions, causal_conv1d_update_split_qkv, parity};
use hk_ref::harness::{BYTES_AT_ONCE, Moved};

use crate::common::{devices, of_arguments};

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

#[test]
fn parts_of_tokens_are_read_and_written_once() {
    for device in devices() {
        let stream = device.default_stream();
        let (n, [key_dim, value_dim], width) = (64, [512, 1024], 4);
        let channels = 2 * key_dim + value_dim;
        let x = Tensor::filled(&stream, &[n, channels], bf16::ONE).unwrap();
        let weight = Tensor::filled(&stream, &[channels, width], bf16::ONE).unwrap();
        let mut state = Tensor::filled(&stream, &[n, channels, width - 1], bf16::ONE).unwrap();
        let options = CausalConv1dOptions::default().validate_indices(false);
        let moved = Moved::by(&stream, || {
            causal_conv1d_update_split_qkv(&x, &weight, &mut state, key_dim, value_dim, &options)
        });
        // A wave has 512 channels of a sequence, and reads their filter.
        let written = 2 * n * channels * width;
        let read = written + 2 * n * channels * width;
        moved.once(read, of_arguments(n * channels / 512), written);
        moved.in_full_waves((read + written) as f64 / BYTES_AT_ONCE);
    }
}
