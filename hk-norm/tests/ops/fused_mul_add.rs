//! `fused_mul_add` against its reference, what it refuses, and what it moves.

use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{RowOptions, fused_mul_add_into, parity};
use hk_ref::harness::{HELD, Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn fused_mul_add_has_parity() {
    hk_ref::run_module("fused_mul_add", &parity::cases(), &devices(), 20_000_000);
}

#[test]
fn fused_mul_add_rejects_wrong_tensors() {
    hk_ref::run_rejections("fused_mul_add", &parity::cases(), &devices());
}

#[test]
fn fused_mul_add_rejects_counts_and_workgroups_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let [x, other] = [64, 63].map(|n| Tensor::filled(&stream, &[n], bf16::ONE).unwrap());
        let mut out = Guarded::<bf16>::new(&stream, &[64], Placement::DENSE).unwrap();
        let none = RowOptions::default().workgroups(0);
        let error = rejected(&mut out, |out| fused_mul_add_into(&x, 2.0, 1.0, &none, out));
        assert!(matches!(error, Error::Value { arg: "workgroups", .. }), "{error}");
        let options = RowOptions::default();
        let error = rejected(&mut out, |out| fused_mul_add_into(&x, &*other, 1.0, &options, out));
        assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
        let error = rejected(&mut out, |out| fused_mul_add_into(&x, 2.0, &*other, &options, out));
        assert!(matches!(error, Error::Shape { arg: "b", .. }), "{error}");
        let wide = Tensor::filled(&stream, &[8, 16], bf16::ONE).unwrap();
        let gaps = wide.narrow(1, 0..8).unwrap();
        let error = rejected(&mut out, |out| fused_mul_add_into(&x, &*gaps, 1.0, &options, out));
        assert!(matches!(error, Error::Shape { arg: "a", .. }), "{error}");
    }
}

#[test]
fn fused_mul_add_reads_and_writes_elements_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, _) in HELD {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let mut out = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let (written, options) = (2 * x.len(), few_workgroups());
            let traffic = Traffic { read: written, written, shared: 0, rows_at_once: 1 };
            traffic.check(&stream, || fused_mul_add_into(&x, 2.0, 1.0, &options, &mut *out));
            let thrice = Traffic { read: 3 * written, ..traffic };
            thrice.check(&stream, || fused_mul_add_into(&x, &*x, &*x, &options, &mut *out));
        }
    }
}
