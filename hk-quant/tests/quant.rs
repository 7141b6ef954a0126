//! The ops of the module `quant` against their references, and what they refuse.

#[cfg(not(any(feature = "cdna3", feature = "cdna4")))]
compile_error!("tests need kernels: run them with --features cdna3,cdna4, or one of the two");

use hk_core::dtype::{E8M0, F8E4M3};
use hk_core::op::dry_run;
use hk_core::{Device, Error, Tensor};
use hk_quant::{
    MxQuantOptions, MxQuantOut, PerGroupQuantOptions, PerGroupQuantOut, PerTokenQuantOut,
    RowOptions, ScaleLayout, dynamic_mxfp4_quant, dynamic_mxfp8_quant, dynamic_mxfp8_quant_into,
    parity, per_group_quant_into, per_token_quant_into,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

/// A simulated device of each architecture that there are kernels for.
fn devices() -> Vec<Device> {
    hk_ref::devices_of(parity::kernels()).unwrap()
}

#[test]
fn quant_has_parity() {
    hk_ref::run_module("quant", &parity::cases(), &devices(), 60_000_000);
}

#[test]
fn quant_rejects_wrong_tensors() {
    hk_ref::run_rejections("quant", &parity::cases(), &devices());
}

#[test]
fn per_token_quant_rejects_wrong_arguments_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let mut codes = Guarded::<i8>::new(&stream, &[3, 64], Placement::DENSE.gap(8)).unwrap();
        let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
        let mut scales = Tensor::zeros(&stream, &[3]).unwrap();
        let options = RowOptions::default().tile("n7");
        let error = rejected(&mut codes, |codes| {
            per_token_quant_into(&x, &options, PerTokenQuantOut { codes, scales: &mut scales })
        });
        assert!(matches!(error, Error::NoTile { .. }), "{error}");
        let options = RowOptions::default();
        let empty = Tensor::filled(&stream, &[3, 0], 1.0f32).unwrap();
        let error = rejected(&mut codes, |codes| {
            let mut codes = codes.narrow_mut(1, 0..0)?;
            let out = PerTokenQuantOut { codes: &mut codes, scales: &mut scales };
            per_token_quant_into(&empty, &options, out)
        });
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}

#[test]
fn per_group_quant_rejects_wrong_arguments_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let mut codes = Guarded::<i8>::new(&stream, &[3, 64], Placement::DENSE.gap(8)).unwrap();
        let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
        for group in [0, 16, 48, 256] {
            let mut scales = Tensor::zeros(&stream, &[3, 1]).unwrap();
            let options = PerGroupQuantOptions::default().group(group);
            let error = rejected(&mut codes, |codes| {
                per_group_quant_into(&x, &options, PerGroupQuantOut { codes, scales: &mut scales })
            });
            assert!(matches!(error, Error::Value { arg: "group", .. }), "{error}");
        }
        let mut scales = Tensor::zeros(&stream, &[256, 8]).unwrap();
        let options = PerGroupQuantOptions::default().scale_layout(ScaleLayout::Shuffled32x8);
        let error = rejected(&mut codes, |codes| {
            per_group_quant_into(&x, &options, PerGroupQuantOut { codes, scales: &mut scales })
        });
        assert!(matches!(error, Error::Value { arg: "scale_layout", .. }), "{error}");
    }
}

#[test]
fn dynamic_mx_quant_rejects_rows_that_are_not_whole() {
    for device in devices() {
        let stream = device.default_stream();
        let options = MxQuantOptions::default();
        let odd = Tensor::filled(&stream, &[3, 63], 1.0f32).unwrap();
        let error = dynamic_mxfp4_quant(&odd, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let even = Tensor::filled(&stream, &[3, 62], 1.0f32).unwrap();
        let error = dynamic_mxfp8_quant(&even, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let mut codes = Guarded::<F8E4M3>::new(&stream, &[3, 62], Placement::DENSE).unwrap();
        let mut scales = Tensor::zeros(&stream, &[3, 2]).unwrap();
        let error = rejected(&mut codes, |codes| {
            dynamic_mxfp8_quant_into(&even, &options, MxQuantOut { codes, scales: &mut scales })
        });
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
    }
}

#[test]
fn dynamic_mx_quant_writes_nothing_in_a_dry_run() {
    for device in devices() {
        let stream = device.default_stream();
        let layout = ScaleLayout::Shuffled32x8;
        let options = MxQuantOptions::default().scale_layout(layout);
        let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
        let mut codes = Tensor::filled(&stream, &[3, 64], F8E4M3::from_bits(0x5a)).unwrap();
        let mut scales = Tensor::filled(&stream, &layout.shape(&[3, 64], 32), E8M0::NAN).unwrap();
        let (result, calls) = dry_run(|| {
            let out = MxQuantOut { codes: &mut *codes, scales: &mut scales };
            dynamic_mxfp8_quant_into(&x, &options, out)
        });
        result.unwrap();
        assert_eq!((calls.len(), calls[0].op), (1, "dynamic_mxfp8_quant"));
        let is_left = |scale: &E8M0| scale.to_bits() == E8M0::NAN.to_bits();
        assert!(scales.to_vec().unwrap().iter().all(is_left));
        assert!(codes.to_vec().unwrap().iter().all(|code| code.to_bits() == 0x5a));
    }
}
