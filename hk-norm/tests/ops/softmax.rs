//! `softmax` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{RowOptions, parity, softmax_into};
use hk_ref::harness::{HELD, Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn softmax_has_parity() {
    hk_ref::run_module("softmax", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn softmax_rejects_wrong_tensors() {
    hk_ref::run_rejections("softmax", &parity::cases(), &devices());
}

#[test]
fn softmax_rejects_empty_rows_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::<bf16>::zeros(&stream, &[4, 0]).unwrap();
        let mut y = Guarded::<bf16>::new(&stream, &[4, 1], Placement::DENSE).unwrap();
        let error = rejected(&mut y, |y| {
            softmax_into(&x, &RowOptions::default(), &mut *y.narrow_mut(1, 0..0)?)
        });
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn softmax_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in HELD {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let bytes = x.len() * 2;
            let traffic = Traffic { read: bytes, written: bytes, shared: 0, rows_at_once };
            traffic.check(&stream, || softmax_into(&x, &few_workgroups(), &mut *y));
        }
    }
}

#[test]
fn softmax_counts_columns_in_32_bits() {
    for device in devices() {
        let stream = device.default_stream();
        let call = |width| {
            let x = Tensor::<bf16>::empty(&stream, &[0, width]).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &[0, width]).unwrap();
            softmax_into(&x, &RowOptions::default(), &mut *y)
        };
        assert!(call((1 << 31) - 1).is_ok());
        let error = call(1 << 31).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}
