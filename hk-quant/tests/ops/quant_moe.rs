//! The ops of the module `quant_moe` against their references, and what they refuse.

use crate::common::{FEW, devices, moves, moves_in_turns};
use hk_core::dtype::{E8M0, F4x2E2M1, F8E4M3, F8E5M2, bf16};
use hk_core::op::quant::MxCode;
use hk_core::{Error, Result, Tensor};
use hk_quant::{
    DowncastOptions, MxRound, Quantised, RowOptions, downcast_to_mxfp, downcast_to_mxfp_into,
    parity, upcast_from_mxfp,
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
