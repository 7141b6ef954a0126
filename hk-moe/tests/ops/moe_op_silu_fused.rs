//! `moe_op_silu_fused` against its reference, and what it refuses.

use hk_core::{Error, Tensor};
use hk_moe::{MoeAlignOptions, MoeGemmOptions, bf16, moe_align_block_size, moe_silu_fused, parity};

use crate::common::devices;

#[test]
fn moe_op_silu_fused_has_parity() {
    hk_ref::run_module("moe_op_silu_fused", &parity::cases(), &devices(), 57_000_000);
}

#[test]
fn moe_op_silu_fused_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op_silu_fused", &parity::cases(), &devices());
}

#[test]
fn moe_op_silu_fused_does_not_cut_k() {
    for device in devices() {
        let stream = device.default_stream();
        let a = Tensor::<bf16>::zeros(&stream, &[4, 32]).unwrap();
        let b = Tensor::<bf16>::zeros(&stream, &[1, 16, 32]).unwrap();
        let ids = Tensor::<i32>::zeros(&stream, &[4, 1]).unwrap();
        let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
        let options = MoeGemmOptions::default().splits(2);
        let result: Result<Tensor<f32>, _> = moe_silu_fused(&a, &b, &gates.gates(16), 1, &options);
        assert!(matches!(result, Err(Error::Value { arg: "splits", .. })), "{result:?}");
    }
}
