//! The ops of the module `quant` against their references, what they refuse, and what they move.

use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, bf16};
use hk_core::op::dry_run;
use hk_core::{Error, Result, Stream, Tensor};
use hk_quant::{
    DequantizeMxOptions, GroupOptions, MxOptions, QuantisedOut, RowOptions, ScaleLayout,
    dequantize_mxfp4_into, dequantize_mxfp8_into, dequantize_per_block_into,
    dequantize_per_group_into, dequantize_per_tensor_into, dequantize_per_token_into,
    dynamic_mxfp4_quant, dynamic_mxfp4_quant_into, dynamic_mxfp8_quant, dynamic_mxfp8_quant_into,
    dynamic_per_tensor_quant, dynamic_per_tensor_quant_into, parity, per_block_quant_into,
    per_group_quant_into, per_token_quant_into, smooth_per_token_quant_into,
    static_per_tensor_quant_into,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::{FEW, devices, moves, moves_beside};

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

            let mut codes = Tensor::<F8E4M3>::empty(&stream, &shape).unwrap();
            moves(&stream, [2 * count, count + count / 32, 3 * chunks], || {
                let options = MxOptions::default().rows(rows);
                let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
                dynamic_mxfp8_quant_into(&x, &options, out)
            });

            let mut codes = Tensor::<i8>::empty(&stream, &shape).unwrap();
            let scale = Tensor::filled(&stream, &[1], 0.5f32).unwrap();
            moves(&stream, [2 * count, count, 2 * chunks], || {
                static_per_tensor_quant_into(&x, &scale, &rows, &mut *codes)
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
fn smooth_rows_are_read_and_written_once() {
    let rows = RowOptions::default().workgroups(FEW);
    for device in devices() {
        let stream = device.default_stream();
        // Each row that a workgroup has at once reads what rows are multiplied by.
        for (shape, rows_at_once) in
            [([2048, 128], 16), ([512, 512], 4), ([128, 2048], 4), ([48, 8192], 1)]
        {
            let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
            let smooth = Tensor::filled(&stream, &shape[1..], bf16::ONE).unwrap();
            let (count, chunks) = (x.len(), x.len() / 8 / 64);
            let mut codes = Tensor::<i8>::empty(&stream, &shape).unwrap();
            let mut scales = Tensor::<f32>::empty(&stream, &shape[..1]).unwrap();
            let read = 2 * count + FEW as usize * rows_at_once * 2 * shape[1];
            // Scales of rows are stored by a wave with several of them at once.
            let of_rows = shape[0] / if shape[1] == 128 { 4 } else { 1 };
            moves(&stream, [read, count + 4 * shape[0], 2 * chunks + of_rows], || {
                let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
                smooth_per_token_quant_into(&x, &smooth, &rows, out)
            });
        }
    }
}

/// Requires that numbers come back of codes of so many bits, with each eight of which a lane reads a
/// scale of so many bytes; of no row, that of the first.
fn come_back(
    stream: &Stream,
    [count, bits, scale]: [usize; 3],
    launch: impl FnOnce() -> Result<()>,
) {
    let chunks = count / 8 / 64;
    let scales = |chunks| (64 * scale * chunks) as u64;
    let of_no_row = 4 * FEW as usize;
    let shared = scales(chunks)..=scales(chunks + of_no_row);
    moves_beside(shared, 0, stream, [count * bits / 8, 2 * count, 3 * chunks], launch);
}

#[test]
fn codes_are_read_once_and_numbers_written_once() {
    let rows = RowOptions::default().workgroups(FEW);
    for device in devices() {
        let stream = device.default_stream();
        for shape in [[512, 128], [64, 1024]] {
            let count = shape[0] * shape[1];
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let codes = Tensor::filled(&stream, &shape, 3i8).unwrap();
            let scales = |shape: &[usize]| Tensor::filled(&stream, shape, 0.5f32).unwrap();
            let (of_rows, of_all) = (scales(&shape[..1]), scales(&[1]));
            let of_groups = scales(&[shape[0], shape[1] / 128]);
            let of_tiles = scales(&shape.map(|size| size.div_ceil(128)));
            come_back(&stream, [count, 8, 4], || {
                dequantize_per_token_into(&codes, &of_rows, &rows, &mut *y)
            });
            come_back(&stream, [count, 8, 4], || {
                dequantize_per_tensor_into(&codes, &of_all, &rows, &mut *y)
            });
            come_back(&stream, [count, 8, 4], || {
                let options = GroupOptions::default().rows(rows);
                dequantize_per_group_into(&codes, &of_groups, &options, &mut *y)
            });
            come_back(&stream, [count, 8, 4], || {
                dequantize_per_block_into(&codes, &of_tiles, &rows, &mut *y)
            });
            let powers = Tensor::filled(&stream, &[shape[0], shape[1] / 32], E8M0::ONE).unwrap();
            let options = DequantizeMxOptions::default().rows(rows);
            let codes = Tensor::filled(&stream, &shape, F8E4M3::from_bits(0x38)).unwrap();
            come_back(&stream, [count, 8, 1], || {
                dequantize_mxfp8_into(&codes, &powers, &options, &mut *y)
            });
            let codes = Tensor::filled(&stream, &shape, F4x2E2M1::from_bits(0x45)).unwrap();
            come_back(&stream, [count, 4, 1], || {
                dequantize_mxfp4_into(&codes, &powers, &options, &mut *y)
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

#[test]
fn per_token_quant_counts_columns_in_32_bits() {
    for device in devices() {
        let stream = device.default_stream();
        let call = |width| {
            let x = Tensor::<bf16>::empty(&stream, &[0, width]).unwrap();
            let mut codes = Tensor::<i8>::empty(&stream, &[0, width]).unwrap();
            let mut scales = Tensor::zeros(&stream, &[0]).unwrap();
            let out = QuantisedOut { codes: &mut codes, scales: &mut scales };
            per_token_quant_into(&x, &RowOptions::default(), out)
        };
        assert!(call((1 << 31) - 1).is_ok());
        let error = call(1 << 31).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
    }
}
