//! `batched_gemm_a8w8_ptgq` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::dtype::bf16;
use hk_core::op::quant::Fp8;
use hk_core::{Arch, Device, Error, Tensor};
use hk_gemm::{
    F8E4M3, F8E4M3Fnuz, GemmOptions, Layout, PtgqOptions, batched_gemm_a8w8_ptgq_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn batched_gemm_a8w8_ptgq_has_parity() {
    hk_ref::run_module("batched_gemm_a8w8_ptgq", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn batched_gemm_a8w8_ptgq_rejects_wrong_tensors() {
    hk_ref::run_rejections("batched_gemm_a8w8_ptgq", &parity::cases(), &devices());
}

/// An x whose rows are before the batch has no matrices of columns.
#[test]
fn batched_gemm_a8w8_ptgq_rejects_columns_of_x_by_rows() {
    fn test<W: Fp8>(device: &Device) {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[16, 2, 16], bf16::ONE).unwrap();
        let w = Tensor::filled(&stream, &[2, 16, 16], W::encode(&[1.0])[0]).unwrap();
        let w_scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let mut y = Guarded::<bf16>::new(&stream, &[2, 16, 16], Placement::DENSE).unwrap();
        for layout in [Layout::Nn, Layout::Nt] {
            let options = PtgqOptions::default().transpose_bm_in();
            let options = options.gemm(GemmOptions::default().layout(layout));
            let error =
                rejected(&mut y, |y| batched_gemm_a8w8_ptgq_into(&x, &w, &w_scale, &options, y));
            assert!(matches!(error, Error::Value { arg: "layout", .. }), "{error}");
        }
    }
    for device in devices() {
        match device.arch() {
            Arch::Gfx950 => test::<F8E4M3>(&device),
            _ => test::<F8E4M3Fnuz>(&device),
        }
    }
}
