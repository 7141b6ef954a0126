//! `l2norm` against its reference, what it refuses, and what it moves.

use crate::common::devices;
use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{L2normOut, RowOptions, l2norm, l2norm_into, parity};
use hk_ref::harness::{HELD, Traffic, few_workgroups};

#[test]
fn l2norm_has_parity() {
    hk_ref::run_module("l2norm", &parity::cases(), &devices(), 13_000_000);
}

#[test]
fn l2norm_rejects_wrong_tensors_and_eps() {
    hk_ref::run_rejections("l2norm", &parity::cases(), &devices());
}

#[test]
fn l2norm_rejects_empty_rows() {
    for device in devices() {
        let x = Tensor::<f32>::zeros(&device.default_stream(), &[3, 0]).unwrap();
        let error = l2norm(&x, 1e-6, &RowOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn l2norm_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in HELD {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let bytes = x.len() * 2;
            let traffic = Traffic { read: bytes, written: bytes, shared: 0, rows_at_once };
            traffic.check(&stream, || {
                l2norm_into(&x, 1e-6, &few_workgroups(), L2normOut { y: &mut *y, rstd: None })
            });
        }
    }
}
