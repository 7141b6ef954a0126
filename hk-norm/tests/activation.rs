//! Activations against their references, what they refuse, and what they move.

mod common;

use hk_core::dtype::bf16;
use hk_core::{Activation, Error, Tensor};
use hk_norm::{
    GatedOptions, fused_clamp_act_mul_into, parity, silu_and_mul_into, silu_into,
    swiglu_and_mul_into,
};
use hk_ref::harness::{HELD, Traffic, few_workgroups, rejected};
use hk_ref::{Guarded, Placement};

use common::devices;

#[test]
fn activation_has_parity() {
    hk_ref::run_module("activation", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn activation_rejects_wrong_tensors() {
    hk_ref::run_rejections("activation", &parity::cases(), &devices());
}

#[test]
fn activation_rejects_numbers_and_odd_rows_and_leaves_output() {
    let options = GatedOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        let [x, odd] =
            [64, 63].map(|width| Tensor::filled(&stream, &[3, width], bf16::ONE).unwrap());
        let place = Placement::DENSE.gap(8);
        let mut y = Guarded::<bf16>::new(&stream, &[3, 32], place).unwrap();
        let error = rejected(&mut y, |y| silu_and_mul_into(&odd, &options, &mut **y));
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        for alpha in [f32::NAN, f32::INFINITY] {
            let error = rejected(&mut y, |y| swiglu_and_mul_into(&x, alpha, 7.0, &options, y));
            assert!(matches!(error, Error::Value { arg: "alpha", .. }), "{error}");
        }
        for limit in [-1.0, f32::NAN] {
            let error = rejected(&mut y, |y| swiglu_and_mul_into(&x, 1.0, limit, &options, y));
            assert!(matches!(error, Error::Value { arg: "limit", .. }), "{error}");
            let error = rejected(&mut y, |y| {
                fused_clamp_act_mul_into(&x, None, Activation::Silu, limit, &options, y)
            });
            assert!(matches!(error, Error::Value { arg: "limit", .. }), "{error}");
        }
        let error = rejected(&mut y, |y| {
            let empty = Tensor::<bf16>::zeros(&stream, &[3, 0])?;
            silu_and_mul_into(&empty, &options, &mut *y.narrow_mut(1, 0..0)?)
        });
        assert!(matches!(error, Error::Shape { arg: "y", .. }), "{error}");
    }
}

#[test]
fn activation_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for (shape, rows_at_once) in HELD {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let both = Tensor::filled(&stream, &[shape[0], 2 * shape[1]], bf16::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let bytes = x.len() * 2;
            let traffic = Traffic { read: bytes, written: bytes, shared: 0, rows_at_once };
            traffic.check(&stream, || silu_into(&x, &few_workgroups(), &mut *y));
            let twice = Traffic { read: 2 * bytes, ..traffic };
            let options = GatedOptions::default().rows(few_workgroups());
            twice.check(&stream, || silu_and_mul_into(&both, &options, &mut *y));
        }
    }
}
