//! `layernorm` and `fused_add_layernorm` against their references, what they refuse, and what they
//! move.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{
    FusedAddLayernormOut, LayernormOut, RowOptions, fused_add_layernorm_into, layernorm_into,
    parity,
};
use hk_ref::harness::{HELD, Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn layernorm_has_parity() {
    hk_ref::run_module("layernorm", &parity::cases(), &devices(), 85_000_000);
}

#[test]
fn layernorm_rejects_wrong_tensors_and_eps() {
    hk_ref::run_rejections("layernorm", &parity::cases(), &devices());
}

#[test]
fn layernorm_rejects_empty_rows_and_leaves_output() {
    let options = RowOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        let none = None::<&Tensor<f32>>.map(|tensor| &**tensor);
        let mut y = Guarded::new(&stream, &[3, 64], Placement::DENSE.gap(8)).unwrap();
        let empty = Tensor::<bf16>::zeros(&stream, &[3, 0]).unwrap();
        let error = rejected(&mut y, |y| {
            let mut y = y.narrow_mut(1, 0..0)?;
            let out = LayernormOut { y: &mut y, mean: None, rstd: None };
            layernorm_into(&empty, none, none, 1e-5, &options, out)
        });
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn layernorm_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for ([rows, width], rows_at_once) in HELD {
            // So many that loads of weights and biases, which may be wider, hardly count.
            let shape = [2 * rows, width];
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let column = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
            let [mut y, mut sum] = [(); 2].map(|()| Tensor::empty(&stream, &shape).unwrap());
            let (bytes, shared) = (x.len() * 2, 4 * shape[1]);
            let traffic = Traffic { read: bytes, written: bytes, shared, rows_at_once };
            let (columns, options) = (Some(&*column), few_workgroups());
            traffic.check(&stream, || {
                let out = LayernormOut { y: &mut *y, mean: None, rstd: None };
                layernorm_into(&x, columns, columns, 1e-5, &options, out)
            });
            let twice = Traffic { read: 2 * bytes, written: 2 * bytes, ..traffic };
            twice.check(&stream, || {
                let (y, residual_out) = (&mut *y, &mut *sum);
                let out = FusedAddLayernormOut { y, residual_out, mean: None, rstd: None };
                fused_add_layernorm_into(&x, &x, columns, columns, 1e-5, &options, out)
            });
        }
    }
}
