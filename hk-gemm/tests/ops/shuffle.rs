//! `shuffle` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::dtype::E8M0;
use hk_core::{Error, Tensor};
use hk_gemm::{parity, shuffle_scale, shuffle_weight};

#[test]
fn shuffle_has_parity() {
    hk_ref::run_module("shuffle", &parity::cases(), &devices(), 1_100_000);
}

#[test]
fn shuffle_rejects_wrong_tensors() {
    hk_ref::run_rejections("shuffle", &parity::cases(), &devices());
}

#[test]
fn shuffle_rejects_parts_of_tiles() {
    for device in devices() {
        let stream = device.default_stream();
        for shape in [[17, 32], [16, 48], [0, 32], [16, 0]] {
            let w = Tensor::filled(&stream, &shape, 1i8).unwrap();
            let error = shuffle_weight(&w).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "w", .. }), "{error}");
        }
        for shape in [[3, 7], [3, 0], [0, 8]] {
            let scales = Tensor::filled(&stream, &shape, E8M0::ONE).unwrap();
            let error = shuffle_scale(&scales).unwrap_err();
            assert!(matches!(error, Error::Shape { arg: "scales", .. }), "{error}");
        }
    }
}
