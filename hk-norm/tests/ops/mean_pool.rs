//! `mean_pool` against its reference, and what it refuses.

use crate::common::devices;
use hk_core::{Error, Tensor};
use hk_norm::{MeanPoolOptions, mean_pool, mean_pool_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

#[test]
fn mean_pool_has_parity() {
    hk_ref::run_module("mean_pool", &parity::cases(), &devices(), 690_000);
}

#[test]
fn mean_pool_rejects_wrong_tensors() {
    hk_ref::run_rejections("mean_pool", &parity::cases(), &devices());
}

#[test]
fn mean_pool_rejects_wrong_bounds_and_empty_rows_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |width, bounds: [i32; 3]| {
            let mut y = Guarded::<f32>::new(&stream, &[2, width], Placement::DENSE.gap(8)).unwrap();
            let x = Tensor::filled(&stream, &[6, width], 1.0f32).unwrap();
            let bounds = Tensor::from_slice(&stream, &bounds, &[3]).unwrap();
            let options = MeanPoolOptions::default();
            rejected(&mut y, |y| mean_pool_into(&x, &bounds, &options, y))
        };
        for bounds in [[1, 3, 6], [0, 3, 5], [0, 3, 7], [0, 7, 6], [0, -1, 6]] {
            let error = refused(64, bounds);
            assert!(matches!(error, Error::Value { arg: "cu_seqlens", .. }), "{error}");
        }
        let error = refused(0, [0, 3, 6]);
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        // Without a token, rows that are too long take no memory.
        for (width, bounds, of) in [(33_553_921, &[0_i32][..], "x"), (64, &[][..], "cu_seqlens")] {
            let x = Tensor::<f32>::empty(&stream, &[0, width]).unwrap();
            let bounds = Tensor::from_slice(&stream, bounds, &[bounds.len()]).unwrap();
            let options = MeanPoolOptions::default();
            let error = mean_pool::<f32, f32>(&x, &bounds, &options).unwrap_err();
            assert!(matches!(error, Error::Shape { arg, .. } if arg == of), "{of}: {error}");
        }
    }
}
