//! `l2norm` and `l2norm_bwd` against their references, and what they refuse.

use crate::common::devices;
use hk_core::dtype::bf16;
use hk_core::{Error, Tensor};
use hk_norm::{L2normOut, RowOptions, l2norm_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn l2norm_has_parity() {
    hk_ref::run_module("l2norm", &parity::cases(), &devices(), 13_000_000);
}

#[test]
fn l2norm_rejects_wrong_tensors() {
    hk_ref::run_rejections("l2norm", &parity::cases(), &devices());
}

#[test]
fn l2norm_rejects_eps_and_empty_rows_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |width, eps| {
            let mut y =
                Guarded::<bf16>::new(&stream, &[3, width], Placement::DENSE.gap(8)).unwrap();
            let x = Tensor::filled(&stream, &[3, width], bf16::ONE).unwrap();
            let options = RowOptions::default();
            rejected(&mut y, |y| l2norm_into(&x, eps, &options, L2normOut { y, rstd: None }))
        };
        for eps in [-1e-6, f32::NAN, f32::INFINITY] {
            let error = refused(64, eps);
            assert!(matches!(error, Error::Value { arg: "eps", .. }), "{error}");
        }
        let error = refused(0, 1e-6);
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}
