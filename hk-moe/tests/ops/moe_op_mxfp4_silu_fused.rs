//! `moe_op_mxfp4_silu_fused` against its reference, and what it refuses.

use hk_core::Error;
use hk_moe::{
    Activation, E8M0, F4x2E2M1, MoeAlignOptions, MoeGatedOptions, Tensor, bf16,
    moe_align_block_size, moe_mxfp4_silu_fused, parity,
};

use crate::common::devices;

#[test]
fn moe_op_mxfp4_silu_fused_has_parity() {
    hk_ref::run_module("moe_op_mxfp4_silu_fused", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_mxfp4_silu_fused_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op_mxfp4_silu_fused", &parity::cases(), &devices());
}

#[test]
fn gated_products_name_the_argument_that_is_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let a = |k: usize| Tensor::filled(&stream, &[2, k], bf16::from_f32(1.0)).unwrap();
        let b = |rows: usize, k: usize| {
            let codes = Tensor::filled(&stream, &[2, rows, k], F4x2E2M1::from_bits(0x22)).unwrap();
            let scales = [2, rows, k.div_ceil(32)];
            (codes, Tensor::filled(&stream, &scales, E8M0::from_f32(1.0)).unwrap())
        };
        let ids = Tensor::from_slice(&stream, &[0, 1], &[2, 1]).unwrap();
        let aligned = moe_align_block_size(&ids, 2, 16, &MoeAlignOptions::default()).unwrap();
        let bias = Tensor::filled(&stream, &[2, 3], 1.0f32).unwrap();
        type Experts = (Tensor<F4x2E2M1>, Tensor<E8M0>);
        let call = |a: &Tensor<bf16>, (b, scale): &Experts, rows, top_k, options: &_| {
            let gates = aligned.gates(rows);
            moe_mxfp4_silu_fused::<bf16, f32>(a, b, scale, &gates, top_k, options).map(|_| ())
        };
        let silu = MoeGatedOptions::new(Activation::SiluAndMul);
        let swiglu = |alpha, limit| {
            MoeGatedOptions::new(Activation::Swiglu { alpha, limit, add_residual: true })
        };
        assert!(call(&a(64), &b(6, 64), 16, 1, &silu).is_ok());
        assert!(call(&a(64), &b(6, 64), 16, 1, &swiglu(1.702, Some(7.0))).is_ok());
        for (arg, k, rows, block, top_k, options) in [
            ("b", 64, 5, 16, 1, silu.clone()),
            ("block_size", 64, 6, 24, 1, silu.clone()),
            ("top_k", 64, 6, 16, 0, silu.clone()),
            ("top_k", 64, 6, 16, 65, silu.clone()),
            ("bias", 64, 6, 16, 1, silu.clone().bias(&bias)),
            ("b_scale", 64, 6, 16, 1, silu.clone().b_scale(&bias)),
            ("activation", 64, 6, 16, 1, MoeGatedOptions::new(Activation::None)),
            ("activation", 64, 6, 16, 1, MoeGatedOptions::new(Activation::GeluTanh)),
            ("activation", 64, 6, 16, 1, swiglu(f32::NAN, None)),
            ("activation", 64, 6, 16, 1, swiglu(1.0, Some(-1.0))),
        ] {
            let error = call(&a(k), &b(rows, k), block, top_k, &options).unwrap_err();
            let named = match &error {
                Error::Shape { arg, .. } | Error::Value { arg, .. } => *arg,
                _ => "",
            };
            assert_eq!(named, arg, "{error}");
        }
        let no_tile = call(&a(64), &b(6, 64), 16, 1, &silu.clone().tile("1x1x1")).unwrap_err();
        assert!(matches!(no_tile, Error::NoTile { .. }), "{no_tile}");
    }
}
