//! `l2norm` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::{Error, Tensor};
use hk_norm::{RowOptions, l2norm, parity};

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
