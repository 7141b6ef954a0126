//! `moe_op` against its reference, and what it refuses.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::{Arch, Device, Error, Tensor};
use hk_moe::{
    Activation, BlockScales, ExpertElement, ExpertWeight, MoeAlignOptions, MoeGemmOptions,
    moe_align_block_size, moe_gemm_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_op_has_parity() {
    hk_ref::run_module("moe_op", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op", &parity::cases(), &devices());
}

/// Options with scales.
type Form = for<'a> fn(MoeGemmOptions<'a>, &'a Tensor<f32>) -> MoeGemmOptions<'a>;

/// What is said of a product with these options.
fn refusal<T: ExpertElement, W: ExpertWeight<T>>(device: &Device, options: Form) -> Error {
    let stream = device.default_stream();
    let a = Tensor::<T>::zeros(&stream, &[4, 32]).unwrap();
    let b = Tensor::<W>::zeros(&stream, &[1, 8, 32]).unwrap();
    let ids = Tensor::<i32>::zeros(&stream, &[4, 1]).unwrap();
    let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
    let scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
    let options = options(MoeGemmOptions::default(), &scale);
    let mut c = Guarded::<bf16>::new(&stream, &[4, 1, 8], Placement::DENSE).unwrap();
    rejected(&mut c, |c| moe_gemm_into(&a, &b, &gates.gates(16), 1, &options, c))
}

#[test]
fn moe_op_requires_the_scales_that_its_operands_have() {
    let is_of = |error: &Error, name| matches!(error, Error::Value { arg, .. } if *arg == name);
    for device in devices() {
        let error = refusal::<bf16, bf16>(&device, |options, scale| options.b_scale(scale));
        assert!(is_of(&error, "b_scale"), "{error}");
        let error = refusal::<bf16, i8>(&device, |options, _| options);
        assert!(is_of(&error, "b_scale"), "{error}");
        let error =
            refusal::<bf16, i8>(&device, |options, scale| options.b_scale(scale).a_scale(scale));
        assert!(is_of(&error, "a_scale"), "{error}");
        let error =
            refusal::<bf16, bf16>(&device, |options, _| options.activation(Activation::SiluAndMul));
        assert!(is_of(&error, "activation"), "{error}");
        let of_8_bits = |form: Form| match device.arch() {
            Arch::Gfx942 => refusal::<F8E4M3Fnuz, F8E4M3Fnuz>(&device, form),
            Arch::Gfx950 => refusal::<F8E4M3, F8E4M3>(&device, form),
        };
        let error = of_8_bits(|options, _| options);
        assert!(is_of(&error, "scales"), "{error}");
        let error = of_8_bits(|options, scale| {
            options.scales(BlockScales { a: scale, b: scale }).b_scale(scale)
        });
        assert!(is_of(&error, "b_scale"), "{error}");
    }
}
