//! `gemm_a16wfp4` against its reference, and what it refuses.

use crate::common::devices;
use hk_gemm::{
    A16Wfp4Options, E8M0, Error, F4x2E2M1, GemmOptions, Layout, Tensor, bf16, gemm_a16wfp4_into,
    parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn gemm_a16wfp4_has_parity() {
    hk_ref::run_module("gemm_a16wfp4", &parity::cases(), &devices(), 32_000_000);
}

#[test]
fn gemm_a16wfp4_rejects_wrong_tensors() {
    hk_ref::run_rejections("gemm_a16wfp4", &parity::cases(), &devices());
}

/// Elements that share a byte are neighbours along k.
#[test]
fn gemm_a16wfp4_rejects_columns_of_w() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[32, 32], bf16::ONE).unwrap();
        let w = Tensor::filled(&stream, &[32, 32], F4x2E2M1::from_bits(0x22)).unwrap();
        let w_scale = Tensor::filled(&stream, &[32, 1], E8M0::from_f32(1.0)).unwrap();
        let mut y = Guarded::<bf16>::new(&stream, &[32, 32], Placement::DENSE).unwrap();
        for (layout, prequant) in [(Layout::Tt, true), (Layout::Nt, true), (Layout::Nt, false)] {
            let options = A16Wfp4Options::default().prequant(prequant);
            let options = options.gemm(GemmOptions::default().layout(layout));
            let error = rejected(&mut y, |y| gemm_a16wfp4_into(&x, &w, &w_scale, &options, y));
            assert!(matches!(error, Error::Value { arg: "layout", .. }), "{error}");
        }
    }
}
