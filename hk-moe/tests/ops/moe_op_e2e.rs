//! `moe_op_e2e` against its reference, and what it refuses.

use hk_core::dtype::{F8E4M3, F8E4M3Fnuz, bf16};
use hk_core::{Arch, Device, Error, Tensor};
use hk_moe::{
    ExpertWeight, MoeAlignOptions, MoeLayerOptions, moe_align_block_size, moe_e2e_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_op_e2e_has_parity() {
    hk_ref::run_module("moe_op_e2e", &parity::cases(), &devices(), 40_000_000);
}

#[test]
fn moe_op_e2e_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_op_e2e", &parity::cases(), &devices());
}

/// Options with scales.
type Form = for<'a> fn(MoeLayerOptions<'a>, &'a Tensor<f32>) -> MoeLayerOptions<'a>;

/// What is said of a layer with these options.
fn refusal<W: ExpertWeight<bf16>>(device: &Device, options: Form) -> Error {
    let stream = device.default_stream();
    let a = Tensor::<bf16>::zeros(&stream, &[4, 32]).unwrap();
    let w1 = Tensor::<W>::zeros(&stream, &[1, 16, 32]).unwrap();
    let w2 = Tensor::<W>::zeros(&stream, &[1, 32, 8]).unwrap();
    let ids = Tensor::<i32>::zeros(&stream, &[4, 1]).unwrap();
    let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
    let scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
    let options = options(MoeLayerOptions::default(), &scale);
    let mut c = Guarded::<bf16>::new(&stream, &[4, 1, 32], Placement::DENSE).unwrap();
    rejected(&mut c, |c| moe_e2e_into(&a, &w1, &w2, &gates.gates(16), 1, &options, c))
}

#[test]
fn moe_op_e2e_requires_the_scales_that_its_matrices_have() {
    let blames = |error: Error, name| {
        assert!(matches!(&error, Error::Value { arg, .. } if *arg == name), "{error}");
    };
    let none: Form = |options, _| options;
    let of_both: Form = |options, scale| options.scales([scale; 2]);
    let of_blocks: Form = |options, scale| options.block_scales([scale; 2]);
    let given: Form = |options, scale| options.scales([scale; 2]).a_scale(scale);
    let per_tensor: Form = |options, scale| options.scales([scale; 2]).intermediate_per_tensor();
    for device in devices() {
        blames(refusal::<bf16>(&device, of_both), "scales");
        blames(refusal::<i8>(&device, none), "scales");
        for (options, name) in [
            (of_blocks, "block_scales"),
            (given, "a_scale"),
            (per_tensor, "intermediate_per_tensor"),
        ] {
            blames(refusal::<i8>(&device, options), name);
        }
        blames(refusal::<i8>(&device, |o, s| o.scales([s; 2]).block_shape([64; 2])), "block_shape");
        let of_codes = |form: Form| match device.arch() {
            Arch::Gfx942 => refusal::<F8E4M3Fnuz>(&device, form),
            Arch::Gfx950 => refusal::<F8E4M3>(&device, form),
        };
        blames(of_codes(none), "scales");
        blames(
            of_codes(|options, scale| options.scales([scale; 2]).block_scales([scale; 2])),
            "scales",
        );
        let of_shapes: [Form; 4] = [
            |o, s| o.block_scales([s; 2]).block_shape([0, 64]),
            |o, s| o.block_scales([s; 2]).block_shape([64, 96]),
            |o, s| o.block_scales([s; 2]).block_shape([64, 512]),
            |o, s| o.scales([s; 2]).block_shape([128, 128]),
        ];
        for form in of_shapes {
            blames(of_codes(form), "block_shape");
        }
        blames(
            of_codes(|options, scale| options.block_scales([scale; 2]).a_scale(scale)),
            "a_scale",
        );
        blames(
            of_codes(|options, scale| options.block_scales([scale; 2]).intermediate_per_tensor()),
            "intermediate_per_tensor",
        );
    }
}

#[test]
fn moe_op_e2e_names_the_matrix_that_makes_rows_too_long() {
    for device in devices() {
        let stream = device.default_stream();
        let inner = 65_537;
        let a = Tensor::<bf16>::zeros(&stream, &[1, 1]).unwrap();
        let w1 = Tensor::<bf16>::zeros(&stream, &[1, 2 * inner, 1]).unwrap();
        let w2 = Tensor::<bf16>::zeros(&stream, &[1, 1, inner]).unwrap();
        let ids = Tensor::<i32>::zeros(&stream, &[1, 1]).unwrap();
        let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
        let options = MoeLayerOptions::default();
        let mut c = Guarded::<bf16>::new(&stream, &[1, 1, 1], Placement::DENSE).unwrap();
        let error =
            rejected(&mut c, |c| moe_e2e_into(&a, &w1, &w2, &gates.gates(16), 1, &options, c));
        assert!(matches!(error, Error::Value { arg: "w1", .. }), "{error}");
    }
}
