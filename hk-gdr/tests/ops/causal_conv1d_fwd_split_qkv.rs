//! `causal_conv1d_fwd_split_qkv` against its reference, what it refuses, and what it moves.

use hk_core::Tensor;
use hk_core::dtype::bf16;
use hk_gdr::{CausalConv1dOptions, causal_conv1d_fwd_split_qkv, parity};
use hk_ref::harness::{BYTES_AT_ONCE, Moved};

use crate::common::devices;

#[test]
fn causal_conv1d_fwd_split_qkv_has_parity() {
    hk_ref::run_module("causal_conv1d_fwd_split_qkv", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn causal_conv1d_fwd_split_qkv_rejects_wrong_tensors() {
    hk_ref::run_rejections("causal_conv1d_fwd_split_qkv", &parity::cases(), &devices());
}

#[test]
fn results_are_activated_unless_it_is_said_otherwise() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[4, 2], 1.0f32).unwrap();
        let weight = Tensor::filled(&stream, &[4, 2], 1.0f32).unwrap();
        let bounds = Tensor::from_slice(&stream, &[0i32, 2], &[2]).unwrap();
        let default = CausalConv1dOptions::default();
        for (options, expected) in [(default, 1.761_594), (default.silu(false), 2.0)] {
            let qkv =
                causal_conv1d_fwd_split_qkv(&x, &weight, &bounds, None, 1, 2, &options).unwrap();
            let last = qkv.v.to_vec().unwrap().split_off(2);
            approx::assert_abs_diff_eq!(last[..], [expected; 2], epsilon = 1e-6);
        }
    }
}

#[test]
fn rows_and_columns_become_rows_without_reading_or_writing_twice() {
    for (device, by_token) in devices().into_iter().flat_map(|of| [(of.clone(), true), (of, false)])
    {
        let stream = device.default_stream();
        let (channels, count, chunk) = (2048, 512, 256);
        let (shape, axes) =
            if by_token { ([count, channels], [1, 0]) } else { ([channels, count], [0, 1]) };
        let whole = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
        let x = whole.permute(&axes).unwrap();
        let weight = Tensor::filled(&stream, &[channels, 4], bf16::ONE).unwrap();
        let bounds = Tensor::from_slice(&stream, &[0i32, count as i32], &[2]).unwrap();
        let options = CausalConv1dOptions::default().chunk(chunk).validate_indices(false);
        let moved = Moved::by(&stream, || {
            causal_conv1d_fwd_split_qkv(&x, &weight, &bounds, None, 512, 1024, &options)
        });
        let (bytes, chunks) = (2 * channels * count, count / chunk);
        let compulsory = bytes + (chunks - 1) * channels * 3 * 2 + chunks * channels * 4 * 2;
        moved.once(compulsory, 0..=0, bytes);
        moved.in_full_waves((compulsory + bytes) as f64 / BYTES_AT_ONCE);
    }
}
