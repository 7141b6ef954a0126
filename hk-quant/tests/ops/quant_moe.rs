//! The ops of the module `quant_moe` against their references, what they refuse, and what they move.

use crate::common::{FEW, devices, moves, moves_beside, moves_in_turns};
use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, F8E5M2, bf16};
use hk_core::op::quant::{Fp8, MxCode};
use hk_core::{Arch, Error, Result, Stream, Tensor};
use hk_quant::{
    DowncastOptions, MxRound, Quantised, RowOptions, downcast_to_mxfp, downcast_to_mxfp_into,
    downcast_to_static_fp8_into, parity, upcast_from_mxfp, upcast_from_mxfp_into,
};

#[test]
fn quant_moe_has_parity() {
    hk_ref::run_module("quant_moe", &parity::cases(), &devices(), 80_000_000);
}

#[test]
fn quant_moe_rejects_wrong_tensors() {
    hk_ref::run_rejections("quant_moe", &parity::cases(), &devices());
}

fn downcast<C: MxCode>(x: &Tensor<bf16>, axis: isize, mode: MxRound) -> Result<()> {
    let options = DowncastOptions::default().round_mode(mode);
    downcast_to_mxfp::<bf16, C>(x, axis, &options).map(|_| ())
}

#[test]
fn quant_moe_rejects_dimensions_and_modes_that_there_are_not() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[4, 33, 2], bf16::ONE).unwrap();
        for axis in [3, -4] {
            let error = downcast::<F8E4M3>(&x, axis, MxRound::RoundUp).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "axis", .. }), "{error}");
        }
        let error = downcast::<F4x2E2M1>(&x, 1, MxRound::RoundUp).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n", .. }), "{error}");
        let error = downcast::<F8E5M2>(&x, 1, MxRound::Even).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "round_mode", .. }), "{error}");
        // Elements of neither dimension are adjacent.
        let apart = Tensor::filled(&stream, &[4, 32, 2, 2], bf16::ONE).unwrap();
        let apart = apart.permute(&[0, 3, 1, 2]).unwrap();
        let apart = apart.narrow(3, 0..1).unwrap();
        let options = DowncastOptions::default();
        let error = downcast_to_mxfp::<_, F8E4M3>(&apart, 2, &options).unwrap_err();
        assert!(matches!(error, Error::Stride { arg: "x", .. }), "{error}");
        let codes = Tensor::filled(&stream, &[2, 64], F8E4M3::from_bits(0)).unwrap();
        let scales = Tensor::filled(&stream, &[2, 2], E8M0::ONE).unwrap();
        let options = RowOptions::default();
        let error = upcast_from_mxfp::<_, bf16>(&codes, &scales, 2, &options).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "axis", .. }), "{error}");
    }
}

#[test]
fn rows_and_columns_are_read_and_written_once() {
    for device in devices() {
        let stream = device.default_stream();
        let x = Tensor::filled(&stream, &[512, 512], bf16::ONE).unwrap();
        let codes = Tensor::<F8E5M2>::empty(&stream, &[512, 512]).unwrap();
        let scales = Tensor::<E8M0>::empty(&stream, &[512, 16]).unwrap();
        let mut quantised = Quantised { codes, scales };
        let bytes = [2 * x.len(), x.len() + x.len() / 32, 3 * x.len() / 512];
        moves(&stream, bytes, || {
            let options = DowncastOptions::default().rows(RowOptions::default().workgroups(FEW));
            downcast_to_mxfp_into(&x, 1, &options, quantised.out())
        });
        let shape = [2, 256, 512];
        let count = shape.iter().product::<usize>();
        let x = Tensor::filled(&stream, &shape, bf16::ONE).unwrap();
        let codes = Tensor::<F4x2E2M1>::empty(&stream, &[2, 512, 256]).unwrap();
        let scales = Tensor::<E8M0>::empty(&stream, &[2, 512, 8]).unwrap();
        let mut quantised = Quantised { codes, scales };
        // Of each 4,096 elements eight loads, and two stores of codes and scales each.
        let bytes = [2 * count, count / 2 + count / 32, 12 * count / 4096];
        // Of each of which a wave reads its arguments again.
        moves_in_turns(count / 4096, &stream, bytes, || {
            let rows = RowOptions::default().workgroups(FEW);
            let options = DowncastOptions::default().rows(rows);
            downcast_to_mxfp_into(&x, 1, &options, quantised.out())
        });
    }
}

/// With codes of a chip.
fn static_codes_are_written_once<C: Fp8>(stream: &Stream) {
    for shape in [[1024, 128], [64, 2048]] {
        let x = Tensor::filled(stream, &shape, bf16::ONE).unwrap();
        let scale = Tensor::filled(stream, &[1], 0.5f32).unwrap();
        let mut codes = Tensor::<C>::empty(stream, &shape).unwrap();
        moves(stream, [2 * x.len(), x.len(), 2 * x.len() / 512], || {
            let rows = RowOptions::default().workgroups(FEW);
            downcast_to_static_fp8_into(&x, &scale, &rows, &mut *codes)
        });
    }
}

#[test]
fn downcast_to_static_fp8_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        match device.arch() {
            Arch::Gfx942 => static_codes_are_written_once::<F8E4M3Fnuz>(&stream),
            Arch::Gfx950 => static_codes_are_written_once::<F8E4M3>(&stream),
        }
    }
}

#[test]
fn upcast_from_mxfp_reads_and_writes_rows_once() {
    for device in devices() {
        let stream = device.default_stream();
        for shape in [[1024, 128], [64, 2048]] {
            let codes = Tensor::filled(&stream, &shape, F4x2E2M1::from_bits(0x45)).unwrap();
            let scales = Tensor::filled(&stream, &[shape[0], shape[1] / 32], E8M0::ONE).unwrap();
            let mut y = Tensor::<bf16>::empty(&stream, &shape).unwrap();
            let (count, chunks) = (y.len(), y.len() / 512);
            // With each eight codes a lane reads the scale of its block; of no row, that of the first.
            let [least, most] = [chunks, chunks + 4 * FEW as usize].map(|of| 64 * of as u64);
            moves_beside(least..=most, 0, &stream, [count / 2, 2 * count, 3 * chunks], || {
                let rows = RowOptions::default().workgroups(FEW);
                upcast_from_mxfp_into(&codes, &scales, 1, &rows, &mut *y)
            });
        }
    }
}
