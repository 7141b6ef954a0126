//! `moe_op_mxfp4` against its reference, and what it refuses.

use hk_core::{Device, Error};
use hk_moe::{
    E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, MoeAlignOptions, MoeGemmOptions, Mxfp4Element, Tensor,
    bf16, moe_align_block_size, moe_gemm, moe_mxfp4, parity,
};

use crate::common::devices;

#[test]
fn moe_op_mxfp4_has_parity() {
    hk_ref::run_module("moe_op_mxfp4", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_mxfp4_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op_mxfp4", &parity::cases(), &devices());
}

/// What is said of rows of type `T`, with scales of blocks or without.
fn refusal<T: Mxfp4Element>(device: &Device, has_scales: bool) -> Option<Error> {
    let stream = device.default_stream();
    let a = Tensor::<T>::zeros(&stream, &[2, 64]).unwrap();
    let b = Tensor::<F4x2E2M1>::zeros(&stream, &[1, 6, 64]).unwrap();
    let of_b = Tensor::filled(&stream, &[1, 6, 2], E8M0::from_f32(1.0)).unwrap();
    let of_a = Tensor::filled(&stream, &[2, 2], E8M0::from_f32(1.0)).unwrap();
    let ids = Tensor::<i32>::zeros(&stream, &[2, 1]).unwrap();
    let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
    let options = MoeGemmOptions::default();
    let options = if has_scales { options.a_mx_scale(&of_a) } else { options };
    moe_mxfp4::<T, f32>(&a, &b, &of_b, &gates.gates(16), 1, &options).err()
}

#[test]
fn moe_mxfp4_requires_the_scales_that_its_rows_have() {
    let blames = |error: Option<Error>| {
        let is_blamed = matches!(error, Some(Error::Value { arg: "a_mx_scale", .. }));
        assert!(is_blamed, "{error:?}");
    };
    for device in devices() {
        blames(refusal::<bf16>(&device, true));
        blames(refusal::<F8E4M3Fnuz>(&device, true));
        blames(refusal::<F4x2E2M1>(&device, false));
        for error in [
            refusal::<bf16>(&device, false),
            refusal::<F4x2E2M1>(&device, true),
            refusal::<F8E4M3>(&device, true),
        ] {
            assert!(error.is_none(), "{error:?}");
        }
        // Rows of e4m3 without scales of blocks are the chip's.
        let [ocp, fnuz] =
            [refusal::<F8E4M3>(&device, false), refusal::<F8E4M3Fnuz>(&device, false)];
        assert!(ocp.is_none() != fnuz.is_none(), "{ocp:?}, {fnuz:?}");

        let stream = device.default_stream();
        let a = Tensor::<bf16>::zeros(&stream, &[2, 64]).unwrap();
        let b = Tensor::<bf16>::zeros(&stream, &[1, 6, 64]).unwrap();
        let of_a = Tensor::filled(&stream, &[2, 2], E8M0::from_f32(1.0)).unwrap();
        let ids = Tensor::<i32>::zeros(&stream, &[2, 1]).unwrap();
        let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
        let options = MoeGemmOptions::default().a_mx_scale(&of_a);
        blames(moe_gemm::<_, _, f32>(&a, &b, &gates.gates(16), 1, &options).err());
    }
}
