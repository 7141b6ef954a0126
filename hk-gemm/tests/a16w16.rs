//! `gemm_a16w16` against its reference, and what it refuses.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::dtype::bf16;
use hk_core::{Device, Error, Stream, Tensor};
use hk_gemm::{Epilogue, GemmOptions, Layout, gemm_a16w16_into, parity};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

#[test]
fn gemm_a16w16_has_parity() {
    hk_ref::run_module("gemm_a16w16", &parity::cases(), &devices());
}

fn ones(stream: &Stream, shape: [usize; 2]) -> Tensor<bf16> {
    Tensor::filled(stream, &shape, bf16::ONE).unwrap()
}

/// Requires that each device refuses a product of `x` and `w`, and returns one of the errors.
fn refused(
    x: [usize; 2],
    w: [usize; 2],
    options: impl for<'a> Fn(GemmOptions<'a>, &'a Tensor<f32>) -> GemmOptions<'a>,
) -> Error {
    let mut last = None;
    for device in devices() {
        let stream = device.default_stream();
        let place = Placement::DENSE.gap(8);
        let mut y = Guarded::<bf16>::new(&stream, 4, 8, place).unwrap();
        let operand = Tensor::filled(&stream, &[7], 1.0f32).unwrap();
        let (x, w) = (ones(&stream, x), ones(&stream, w));
        let options = options(GemmOptions::default(), &operand);
        last = Some(rejected(&mut y, |y| gemm_a16w16_into(&x, &w, &options, y)));
    }
    last.expect("there is a device")
}

#[test]
fn gemm_a16w16_rejects_different_k_and_leaves_output() {
    let error = refused([4, 16], [8, 17], |options, _| options);
    assert!(matches!(error, Error::Shape { arg: "w", .. }), "{error}");
    let error = refused([4, 16], [8, 16], |options, _| options.layout(Layout::Tt));
    assert!(matches!(error, Error::Shape { arg: "w", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_empty_k_and_leaves_output() {
    let error = refused([4, 0], [8, 0], |options, _| options);
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_wrong_output_shape_and_leaves_output() {
    let error = refused([4, 16], [9, 16], |options, _| options);
    assert!(matches!(error, Error::Shape { arg: "y", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_wrong_bias_length_and_leaves_output() {
    let error = refused([4, 16], [8, 16], |options, seven| options.bias(seven));
    assert!(matches!(error, Error::Shape { arg: "epilogue operand", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_division_by_zero_and_leaves_output() {
    let error = refused([4, 16], [8, 16], |options, _| {
        options.epilogue(Epilogue::default().div_scalar(0.0))
    });
    assert!(matches!(error, Error::Value { .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_nine_steps_and_leaves_output() {
    let error = refused([4, 16], [8, 16], |options, _| {
        options.epilogue((0..9).fold(Epilogue::default(), |steps, _| steps.mul_scalar(2.0)))
    });
    assert!(matches!(error, Error::Value { arg: "epilogue", .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_splits_and_leaves_output() {
    for splits in [0, 1000] {
        let error = refused([4, 16], [8, 16], |options, _| options.splits(splits));
        assert!(matches!(error, Error::Value { arg: "splits", .. }), "{error}");
    }
}

#[test]
fn gemm_a16w16_rejects_unknown_tile_and_leaves_output() {
    let error = refused([4, 16], [8, 16], |options, _| options.tile("1x1x1"));
    assert!(matches!(error, Error::NoTile { .. }), "{error}");
}

#[test]
fn gemm_a16w16_rejects_output_over_operand_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let mut y = Guarded::<bf16>::new(&stream, 8, 8, Placement::default()).unwrap();
        let (x, w) = (y.matrix().unwrap(), ones(&stream, [8, 8]));
        let error = rejected(&mut y, |y| gemm_a16w16_into(&x, &w, &GemmOptions::default(), y));
        assert!(matches!(error, Error::Alias { .. }), "{error}");
    }
}

#[test]
fn gemm_a16w16_rejects_another_stream_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let mut y = Guarded::<bf16>::new(&stream, 4, 8, Placement::default()).unwrap();
        let (x, w) = (ones(&stream, [4, 16]), ones(&device.new_stream().unwrap(), [8, 16]));
        let error = rejected(&mut y, |y| gemm_a16w16_into(&x, &w, &GemmOptions::default(), y));
        assert!(matches!(error, Error::Stream { .. }), "{error}");
    }
}
