//! The elementary functions against their reference, what they refuse, and what they move.

use hk_core::{Error, Tensor};
use hk_gdr::{OpOptions, op_all, op_exp, op_softplus_into, parity};
use hk_ref::harness::{BYTES_AT_ONCE, Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn op_has_parity() {
    hk_ref::run_module("op", &parity::cases(), &devices(), 1_200_000);
}

#[test]
fn op_rejects_wrong_tensors() {
    hk_ref::run_rejections("op", &parity::cases(), &devices());
}

#[test]
fn op_rejects_wrong_options_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[5], 1.0f32).unwrap();
        let refused = |options: OpOptions| {
            let mut y = Guarded::<f32>::new(&stream, &[5], Placement::DENSE).unwrap();
            rejected(&mut y, |y| op_softplus_into(&x, &options, y))
        };
        let options = OpOptions::default();
        for factor in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let error = refused(options.softplus_beta(factor));
            assert!(matches!(error, Error::Value { arg: "softplus_beta", .. }), "{error}");
        }
        let error = refused(options.softplus_threshold(f32::NAN));
        assert!(matches!(error, Error::Value { arg: "softplus_threshold", .. }), "{error}");
        let error = refused(options.workgroups(0));
        assert!(matches!(error, Error::Value { arg: "workgroups", .. }), "{error}");
        let none = Tensor::<f32>::zeros(&stream, &[3, 0]).unwrap();
        assert_eq!(op_exp(&none, &options).unwrap().shape(), [3, 0]);
    }
}

#[test]
fn op_reads_x_once_and_writes_each_result_once() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[512, 1024], 1.0f32).unwrap();
        let bytes = x.len() * 4;
        let options = OpOptions::default().workgroups(4);
        for (results, moved) in [
            (1, Moved::by(&stream, || op_exp(&x, &options).map(|_| ()))),
            (8, Moved::by(&stream, || op_all(&x, &options).map(|_| ()))),
        ] {
            moved.once(bytes, 0..=1 << 20, results * bytes);
            moved.in_full_waves(((1 + results) * bytes) as f64 / BYTES_AT_ONCE);
        }
    }
}
