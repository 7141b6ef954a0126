//! `l2norm` and `l2norm_bwd` against their references, and what they refuse.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::dtype::bf16;
use hk_core::{Device, Error, Stream, Tensor};
use hk_norm::{L2normOut, RowOptions, l2norm_bwd_into, l2norm_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

#[test]
fn l2norm_has_parity() {
    hk_ref::run_module("l2norm", &parity::cases(), &devices());
}

#[test]
fn l2norm_rejects_wrong_tensors() {
    hk_ref::run_rejections("l2norm", &parity::cases(), &devices());
}

/// An output and an input that fit.
fn fitting(stream: &Stream) -> (Guarded<bf16>, Tensor<bf16>) {
    let y = Guarded::new(stream, &[3, 64], Placement::DENSE.gap(8)).unwrap();
    (y, Tensor::filled(stream, &[3, 64], bf16::ONE).unwrap())
}

#[test]
fn l2norm_rejects_wrong_arguments_and_leaves_output() {
    let options = RowOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        let (mut y, x) = fitting(&stream);
        for eps in [-1e-6, f32::NAN, f32::INFINITY] {
            let error =
                rejected(&mut y, |y| l2norm_into(&x, eps, &options, L2normOut { y, rstd: None }));
            assert!(matches!(error, Error::Value { arg: "eps", .. }), "{error}");
        }
        let narrow = Tensor::filled(&stream, &[3, 63], bf16::ONE).unwrap();
        let error =
            rejected(&mut y, |y| l2norm_into(&narrow, 1e-6, &options, L2normOut { y, rstd: None }));
        assert!(matches!(error, Error::Shape { arg: "y", .. }), "{error}");
        let mut rstd = Tensor::zeros(&stream, &[4]).unwrap();
        let error = rejected(&mut y, |y| {
            l2norm_into(&x, 1e-6, &options, L2normOut { y, rstd: Some(&mut rstd) })
        });
        assert!(matches!(error, Error::Shape { arg: "rstd", .. }), "{error}");
        let wide = Tensor::filled(&stream, &[3, 0], bf16::ONE).unwrap();
        let error = rejected(&mut y, |y| {
            let mut y = y.narrow_mut(1, 0..0)?;
            l2norm_into(&wide, 1e-6, &options, L2normOut { y: &mut y, rstd: None })
        });
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn l2norm_bwd_rejects_wrong_arguments_and_leaves_output() {
    let options = RowOptions::default();
    for device in devices() {
        let stream = device.default_stream();
        let (mut dx, y) = fitting(&stream);
        let rstd = |rows| Tensor::filled(&stream, &[rows], 1.0f32).unwrap();
        let error = rejected(&mut dx, |dx| l2norm_bwd_into(&y, &rstd(2), &y, &options, dx));
        assert!(matches!(error, Error::Shape { arg: "rstd", .. }), "{error}");
        let short = Tensor::filled(&stream, &[2, 64], bf16::ONE).unwrap();
        let error = rejected(&mut dx, |dx| l2norm_bwd_into(&y, &rstd(3), &short, &options, dx));
        assert!(matches!(error, Error::Shape { arg: "dy", .. }), "{error}");
    }
}
