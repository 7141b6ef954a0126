//! The ops of the module `lean_atten` against their references, and what they refuse.

use crate::common::devices;
use hk_attn::{LeanOptions, Tensor, bf16, lean_attn_fwd, parity};
use hk_core::Error;

#[test]
fn lean_atten_has_parity() {
    hk_ref::run_module("lean_atten", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn lean_atten_rejects_wrong_tensors() {
    hk_ref::run_rejections("lean_atten", &parity::cases(), &devices());
}

#[test]
fn lean_atten_has_tiles_of_some_sizes_alone() {
    for device in devices() {
        let stream = device.default_stream();
        let call = |d, options: &LeanOptions| {
            let q = Tensor::filled(&stream, &[40, 2, d], bf16::ONE)?;
            let k = Tensor::filled(&stream, &[70, 1, d], bf16::ONE)?;
            let lengths = Tensor::from_slice(&stream, &[70], &[1])?;
            lean_attn_fwd(&q, &k, &k, &lengths, options).map(|_| ())
        };
        let options = LeanOptions::default();
        for (d, m, n) in [(64, 16, 32), (64, 128, 64), (256, 64, 32), (30, 64, 32)] {
            assert!(call(d, &options.block_m(m).block_n(n)).is_ok());
            assert!(call(d, &options.block_m(m)).is_ok());
        }
        for (arg, d, wrong) in [
            ("block_m", 64, options.block_m(64)),
            ("block_m", 64, options.block_m(0)),
            ("block_m", 256, options.block_m(16)),
            ("block_n", 64, options.block_n(32)),
            ("block_n", 64, options.block_m(16).block_n(64)),
        ] {
            let error = call(d, &wrong).unwrap_err();
            assert!(matches!(error, Error::Value { arg: of, .. } if of == arg), "{error}");
        }
    }
}
