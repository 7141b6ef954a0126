//! `rmsnorm_pad` and `fused_add_rmsnorm_pad` against their references, what they refuse, and what they
//! move.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{
    FusedAddRmsnormPadOut, RmsnormPadOptions, fused_add_rmsnorm_pad_into, parity, rmsnorm_pad_into,
};
use hk_ref::harness::{HELD, Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn fused_add_rmsnorm_pad_has_parity() {
    hk_ref::run_module("fused_add_rmsnorm_pad", &parity::cases(), &devices(), 70_000_000);
}

#[test]
fn fused_add_rmsnorm_pad_rejects_wrong_tensors_and_eps() {
    hk_ref::run_rejections("fused_add_rmsnorm_pad", &parity::cases(), &devices());
}

#[test]
fn fused_add_rmsnorm_pad_rejects_widths_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |width, padded: usize, multiple| {
            let x = Tensor::filled(&stream, &[3, width], bf16::ONE).unwrap();
            let weight = Tensor::filled(&stream, &[width], bf16::ONE).unwrap();
            let place = Placement::DENSE.gap(8);
            let mut y = Guarded::<bf16>::new(&stream, &[3, padded.max(1)], place).unwrap();
            let options = RmsnormPadOptions::default().pad_to_multiple(multiple);
            rejected(&mut y, |y| {
                rmsnorm_pad_into(&x, &weight, 1e-6, &options, &mut *y.narrow_mut(1, 0..padded)?)
            })
        };
        let error = refused(0, 0, 256);
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        for padded in [64, 255, 512] {
            let error = refused(64, padded, 256);
            assert!(matches!(error, Error::Shape { arg: "y", .. }), "{error}");
        }
        for multiple in [1 << 31, usize::MAX] {
            let error = refused(64, 64, multiple);
            assert!(matches!(error, Error::Value { arg: "padded(n)", .. }), "{error}");
        }
    }
}

#[test]
fn fused_add_rmsnorm_pad_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for ([rows, padded], rows_at_once) in HELD {
            // As many columns as need padding to the next multiple of 64.
            let shape = [rows, padded - 8];
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let weight = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &[rows, padded]).unwrap();
            let mut sum = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let options = RmsnormPadOptions::default().pad_to_multiple(64).rows(few_workgroups());
            let (read, written, shared) = (x.len() * 2, y.len() * 2, 2 * shape[1]);
            let traffic = Traffic { read, written, shared, rows_at_once };
            traffic.check(&stream, || rmsnorm_pad_into(&x, &weight, 1e-6, &options, &mut *y));
            let fused = Traffic { read: 2 * read, written: written + read, ..traffic };
            fused.check(&stream, || {
                let out = FusedAddRmsnormPadOut { y: &mut *y, residual_out: &mut *sum };
                fused_add_rmsnorm_pad_into(&x, &x, &weight, 1e-6, &options, out)
            });
        }
    }
}
