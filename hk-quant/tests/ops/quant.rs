//! The ops of the module `quant` against their references, and what they refuse.

use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, bf16};
use hk_core::op::dry_run;
use hk_core::{Error, Tensor};
use hk_quant::{
    GroupOptions, MxOptions, QuantisedOut, RowOptions, ScaleLayout, dynamic_mxfp4_quant,
    dynamic_mxfp4_quant_into, dynamic_mxfp8_quant, dynamic_mxfp8_quant_into,
    dynamic_per_tensor_quant, dynamic_per_tensor_quant_into, parity, per_block_quant_into,
    per_group_quant_into, per_token_quant_into,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::{FEW, devices, moves};

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
            per_token_quant_into(&x, &options, QuantisedOut { codes, scales: &mut scales })
        });
        assert!(matches!(error, Error::NoTile { .. }), "{error}");
        let options = RowOptions::default();
        let empty = Tensor::filled(&stream, &[3, 0], 1.0f32).unwrap();
        let error = rejected(&mut codes, |codes| {
            let mut codes = codes.narrow_mut(1, 0..0)?;
            let out = QuantisedOut { codes: &mut codes, scales: &mut scales };
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
            let options = GroupOptions::default().group(group);
            let error = rejected(&mut codes, |codes| {
                per_group_quant_into(&x, &options, QuantisedOut { codes, scales: &mut scales })
            });
            assert!(matches!(error, Error::Value { arg: "group", .. }), "{error}");
        }
        let mut scales = Tensor::zeros(&stream, &[256, 8]).unwrap();
        let options = GroupOptions::default().scale_layout(ScaleLayout::Shuffled32x8);
        let error = rejected(&mut codes, |codes| {
            per_group_quant_into(&x, &options, QuantisedOut { codes, scales: &mut scales })
        });
        assert!(matches!(error, Error::Value { arg: "scale_layout", .. }), "{error}");
    }
}

#[test]
fn dynamic_mx_quant_rejects_rows_that_are_not_whole() {
    for device in devices() {
        let stream = device.default_stream();
        let options = MxOptions::default();
        let odd = Tensor::filled(&stream, &[3, 63], 1.0f32).unwrap();
        let error = dynamic_mxfp4_quant(&odd, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let even = Tensor::filled(&stream, &[3, 62], 1.0f32).unwrap();
        let error = dynamic_mxfp8_quant(&even, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let mut codes = Guarded::<F8E4M3>::new(&stream, &[3, 62], Placement::DENSE).unwrap();
        let mut scales = Tensor::zeros(&stream, &[3, 2]).unwrap();
        let error = rejected(&mut codes, |codes| {
            dynamic_mxfp8_quant_into(&even, &options, QuantisedOut { codes, scales: &mut scales })
        });
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
    }
}

#[test]
fn dynamic_mx_quant_writes_nothing_in_a_dry_run() {
    for device in devices() {
        let stream = device.default_stream();
        let layout = ScaleLayout::Shuffled32x8;
        let options = MxOptions::default().scale_layout(layout);
        let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
        let mut codes = Tensor::filled(&stream, &[3, 64], F8E4M3::from_bits(0x5a)).unwrap();
        let mut scales = Tensor::filled(&stream, &layout.shape(&[3, 64], 32), E8M0::NAN).unwrap();
        let (result, calls) = dry_run(|| {
            let out = QuantisedOut { codes: &mut *codes, scales: &mut scales };
            dynamic_mxfp8_quant_into(&x, &options, out)
        });
        result.unwrap();
        assert_eq!((calls.len(), calls[0].op), (1, "dynamic_mxfp8_quant"));
        let is_left = |scale: &E8M0| scale.to_bits() == E8M0::NAN.to_bits();
        assert!(scales.to_vec().unwrap().iter().all(is_left));
        assert!(codes.to_vec().unwrap().iter().all(|code| code.to_bits() == 0x5a));
    }
}

#[test]
fn rows_are_read_and_written_once() {
    let rows = RowOptions::default().workgroups(FEW);
    for device in devices() {
        let stream = device.default_stream();
        for shape in [[2048, 128], [512, 512], [64, 2048], [24, 8192]] {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let (count, chunks) = (x.len(), x.len() / 8 / 64);
            let mut codes = Tensor::<i8>::empty(&stream, &shape).unwrap();
            // Scales of rows are stored by a wave with several of them at once.
            let at_once = if shape[1] == 128 { 4 } else { 1 };
            let mut scales = Tensor::<f32>::empty(&stream, &shape[..1]).unwrap();
            let bytes = [2 * count, count + 4 * shape[0], 2 * chunks + shape[0] / at_once];
            moves(&stream, bytes, || {
                let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
                per_token_quant_into(&x, &rows, out)
            });

            let mut scales = Tensor::<f32>::empty(&stream, &[shape[0], shape[1] / 32]).unwrap();
            moves(&stream, [2 * count, count + count / 8, 3 * chunks], || {
                let options = GroupOptions::default().group(32).rows(rows);
                let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
                per_group_quant_into(&x, &options, out)
            });

            let mut codes = Tensor::<F4x2E2M1>::empty(&stream, &shape).unwrap();
            let mut scales = Tensor::<E8M0>::empty(&stream, &[shape[0], shape[1] / 32]).unwrap();
            moves(&stream, [2 * count, count / 2 + count / 32, 3 * chunks], || {
                let options = MxOptions::default().rows(rows);
                let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
                dynamic_mxfp4_quant_into(&x, &options, out)
            });

            // Once for the largest magnitude, and once to be quantised.
            let mut codes = Tensor::<i8>::empty(&stream, &shape).unwrap();
            let mut scale = Tensor::<f32>::empty(&stream, &[1]).unwrap();
            let written = count + 4 + 4 * FEW as usize;
            moves(&stream, [4 * count, written, 3 * chunks], || {
                let out = QuantisedOut { codes: &mut *codes, scales: &mut *scale };
                dynamic_per_tensor_quant_into(&x, &rows, out)
            });
        }
    }
}

#[test]
fn tiles_are_read_and_written_once() {
    for device in devices() {
        let stream = device.default_stream();
        let shape = [1024, 512];
        let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
        let mut codes = Tensor::<i8>::empty(&stream, &shape).unwrap();
        let mut scales = Tensor::<f32>::empty(&stream, &[8, 4]).unwrap();
        let (count, chunks) = (x.len(), x.len() / 8 / 64);
        moves(&stream, [2 * count, count + 4 * 32, 2 * chunks], || {
            let rows = RowOptions::default().workgroups(FEW);
            let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
            per_block_quant_into(&x, &rows, out)
        });
    }
}

#[test]
fn the_scale_of_no_rows_is_one() {
    for device in devices() {
        let stream = device.default_stream();
        for tile in ["n128", "any"] {
            let x = Tensor::<f32>::zeros(&stream, &[0, 64]).unwrap();
            let options = RowOptions::default().tile(tile);
            let quantised = dynamic_per_tensor_quant::<_, i8>(&x, &options).unwrap();
            assert_eq!(quantised.scales.to_vec().unwrap(), [1.0]);
        }
    }
}

#[test]
fn per_block_quant_rejects_wrong_arguments_and_leaves_output() {
    for device in devices() {
        let stream = device.default_stream();
        let mut codes = Guarded::<i8>::new(&stream, &[3, 64], Placement::DENSE.gap(8)).unwrap();
        let x = Tensor::filled(&stream, &[3, 64], 1.0f32).unwrap();
        let mut scales = Tensor::zeros(&stream, &[1, 1]).unwrap();
        let mut refused = |options: RowOptions<'_>| {
            rejected(&mut codes, |codes| {
                per_block_quant_into(&x, &options, QuantisedOut { codes, scales: &mut scales })
            })
        };
        let error = refused(RowOptions::default().tile("n128"));
        assert!(matches!(error, Error::NoTile { .. }), "{error}");
        let error = refused(RowOptions::default().workgroups(0));
        assert!(matches!(error, Error::Value { arg: "workgroups", .. }), "{error}");
    }
}
