//! The ops of the module `fused_mxfp4_quant` against their references, what they refuse, and what they
//! move.

use hk_core::dtype::{F4x2E2M1, bf16};
use hk_core::op::quant::Quantised;
use hk_core::{Error, Tensor};
use hk_quant::{
    MxOptions, QuantisedOut, RmsInput, RmsOthers, RowOptions, SecondRms, fused_flatten_mxfp4_quant,
    fused_flatten_mxfp4_quant_into, fused_rms_mxfp4_quant, fused_rms_mxfp4_quant_into, parity,
};
use hk_ref::harness::HELD;

use crate::common::{FEW, devices, moves};

#[test]
fn fused_mxfp4_quant_has_parity() {
    hk_ref::run_module("fused_mxfp4_quant", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn fused_mxfp4_quant_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_mxfp4_quant", &parity::cases(), &devices());
}

#[test]
fn fused_mxfp4_quant_rejects_odd_rows() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[2, 3, 33], bf16::ONE).unwrap();
        let weight = Tensor::filled(&stream, &[33], bf16::ONE).unwrap();
        let options = MxOptions::default();
        let input = RmsInput::new(&x, &weight, 1e-6);
        let error = fused_rms_mxfp4_quant(&input, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let error = fused_flatten_mxfp4_quant(&x, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
    }
}

#[test]
fn fused_mxfp4_quant_reads_and_writes_rows_once() {
    let options = MxOptions::default().rows(RowOptions::default().workgroups(FEW));
    for device in devices() {
        let stream = device.default_stream();
        for ([held, width], rows_at_once) in HELD {
            // So many that loads of weights hardly count.
            let shape = [2 * held, width];
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let weight = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
            let (count, chunks) = (x.len(), x.len() / 8 / 64);
            let weights = FEW as usize * rows_at_once * 2 * width;
            let mut quantised =
                Quantised::<F4x2E2M1, _>::empty(&x, &[shape[0], width / 32]).unwrap();
            let written = count / 2 + count / 32;
            let input = RmsInput::new(&x, &weight, 1e-6);
            moves(&stream, [2 * count + weights, written, 3 * chunks], || {
                let others = RmsOthers::default();
                fused_rms_mxfp4_quant_into(&input, &options, quantised.out(), others)
            });
            // Stored by the second dimension.
            let (m, h) = (shape[0] / 4, 4);
            let x = Tensor::filled(&stream, &[h, m, width], bf16::ONE).unwrap();
            let x = x.permute(&[1, 0, 2]).unwrap();
            let mut codes = Tensor::<F4x2E2M1>::empty(&stream, &[m, h * width]).unwrap();
            let mut scales = Tensor::empty(&stream, &[m, h * width / 32]).unwrap();
            moves(&stream, [2 * count, written, 3 * chunks], || {
                let out = QuantisedOut { codes: &mut *codes, scales: &mut scales };
                fused_flatten_mxfp4_quant_into(&x, &options, out)
            });
        }
    }
}

#[test]
fn fused_mxfp4_quant_reads_and_writes_other_rows_once() {
    let options = MxOptions::default().rows(RowOptions::default().workgroups(FEW));
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in [([512, 128], 16), ([32, 2048], 1)] {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let weight = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
            let (count, chunks) = (x.len(), x.len() / 8 / 64);
            let weights = FEW as usize * rows_at_once * 2 * shape[1];
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let mut quantised =
                Quantised::<F4x2E2M1, _>::empty(&x, &[shape[0], shape[1] / 32]).unwrap();
            // Twice rows and weights.
            let read = 2 * (2 * count + weights);
            let written = 2 * count + count / 2 + count / 32;
            let input = RmsInput::new(&x, &weight, 1e-6);
            moves(&stream, [read, written, 5 * chunks], || {
                let second = Some(SecondRms::new(&x, &weight, 1e-6, &mut *y));
                let others = RmsOthers { second, ..RmsOthers::default() };
                fused_rms_mxfp4_quant_into(&input, &options, quantised.out(), others)
            });
        }
    }
}
