//! `moe_op` against its reference, and what it refuses.

use hk_core::dtype::{Element, F8E4M3, F8E4M3Fnuz, Scalar, bf16};
use hk_core::{Arch, Device, Error, Tensor};
use hk_moe::{
    Activation, BlockScales, ExpertElement, ExpertWeight, MoeAlignOptions, MoeGemmOptions,
    WnA16Weights, moe_align_block_size, moe_gemm_into, moe_gemm_wna16_into, parity,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};
use hk_sim::{HipError, capi};

use crate::common::{capture, devices};

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
        let error = refusal::<bf16, bf16>(&device, |options, _| options.splits(0));
        assert!(is_of(&error, "splits"), "{error}");
        let made_codes = |form: Form| match device.arch() {
            Arch::Gfx942 => refusal::<bf16, F8E4M3Fnuz>(&device, form),
            Arch::Gfx950 => refusal::<bf16, F8E4M3>(&device, form),
        };
        let error = made_codes(|options, _| options);
        assert!(is_of(&error, "b_scale"), "{error}");
        let error = made_codes(|options, scale| {
            options.scales(BlockScales { a: scale, b: scale }).b_scale(scale)
        });
        assert!(is_of(&error, "scales"), "{error}");
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

#[test]
fn moe_op_refuses_rows_whose_copy_is_out_of_reach_and_more_experts_than_there_may_be() {
    for device in devices() {
        let stream = device.default_stream();
        let refused = |[rows, k, experts]: [usize; 3]| {
            // One row, as often as there are to be: only its copy takes memory.
            let a = Tensor::<bf16>::zeros(&stream, &[1, k]).unwrap();
            let b = Tensor::<bf16>::zeros(&stream, &[experts, 1, k]).unwrap();
            let ids = Tensor::<i32>::zeros(&stream, &[rows, 1]).unwrap();
            let gates = moe_align_block_size(&ids, 1, 128, &MoeAlignOptions::default()).unwrap();
            let (a, options) = (a.broadcast(&[rows, k]).unwrap(), MoeGemmOptions::default());
            let mut c = Guarded::<bf16>::new(&stream, &[rows, 1, 1], Placement::DENSE).unwrap();
            rejected(&mut c, |c| moe_gemm_into(&a, &b, &gates.gates(128), 1, &options, c))
        };
        // Rows of the copy have an element more, and are 2 GiB.
        let error = refused([16_384, 65_535, 1]);
        assert!(matches!(error, Error::Value { arg: "a", .. }), "{error}");
        let error = refused([4, 8, 32_768]);
        assert!(matches!(error, Error::Shape { arg: "b", .. }), "{error}");
    }
}

#[test]
fn moe_op_refuses_matrices_without_adjacent_elements() {
    for device in devices() {
        let stream = device.default_stream();
        let a = Tensor::<bf16>::zeros(&stream, &[4, 32]).unwrap();
        // One number, as often as there are to be.
        let one = Tensor::<i8>::zeros(&stream, &[1, 1, 1]).unwrap();
        let b = one.broadcast(&[1, 8, 32]).unwrap();
        let ids = Tensor::<i32>::zeros(&stream, &[4, 1]).unwrap();
        let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
        let scale = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let options = MoeGemmOptions::default().b_scale(&scale);
        let mut c = Guarded::<bf16>::new(&stream, &[4, 1, 8], Placement::DENSE).unwrap();
        let error = rejected(&mut c, |c| moe_gemm_into(&a, &b, &gates.gates(16), 1, &options, c));
        assert!(matches!(error, Error::Value { arg: "b", .. }), "{error}");
    }
}

#[test]
fn moe_op_requires_tiles_whose_rows_can_be_counted() {
    for device in devices() {
        let stream = device.default_stream();
        let a = Tensor::<bf16>::zeros(&stream, &[4, 32]).unwrap();
        let b = Tensor::<bf16>::zeros(&stream, &[1, 8, 32]).unwrap();
        let ids = Tensor::<i32>::zeros(&stream, &[4, 1]).unwrap();
        let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
        let options = MoeGemmOptions::default();
        let mut c = Guarded::<bf16>::new(&stream, &[4, 1, 8], Placement::DENSE).unwrap();
        for rows in [0, 24, 1 << 31, 1 << 32] {
            let error =
                rejected(&mut c, |c| moe_gemm_into(&a, &b, &gates.gates(rows), 1, &options, c));
            assert!(matches!(error, Error::Value { arg: "block_size", .. }), "{error}");
        }
    }
}

#[test]
fn moe_op_requires_blocks_that_there_can_be() {
    for device in devices() {
        let blamed = match device.arch() {
            Arch::Gfx942 => {
                [[0, 64], [64, 0], [64, 48], [128, 128]].map(|of| block::<F8E4M3Fnuz>(&device, of))
            }
            Arch::Gfx950 => {
                [[0, 64], [64, 0], [64, 48], [128, 128]].map(|of| block::<F8E4M3>(&device, of))
            }
        };
        // Scales of the last are those of other blocks.
        assert_eq!(blamed, ["block_shape", "block_shape", "block_shape", "a_scale"]);
    }
}

/// The argument that is wrong of a product with scales of blocks of 64 by 64, if they are said to be others.
fn block<T: ExpertElement>(device: &Device, shape: [usize; 2]) -> &'static str {
    let stream = device.default_stream();
    let a = Tensor::<T>::zeros(&stream, &[2, 192]).unwrap();
    let b = Tensor::<T>::zeros(&stream, &[1, 8, 192]).unwrap();
    let of_a = Tensor::<f32>::zeros(&stream, &[2, 3]).unwrap();
    let of_b = Tensor::<f32>::zeros(&stream, &[1, 1, 3]).unwrap();
    let ids = Tensor::<i32>::zeros(&stream, &[2, 1]).unwrap();
    let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
    let options = MoeGemmOptions::default().scales(BlockScales { a: &of_a, b: &of_b });
    let options = options.block_shape(shape);
    let mut c = Guarded::<bf16>::new(&stream, &[2, 1, 8], Placement::DENSE).unwrap();
    let error = rejected(&mut c, |c| moe_gemm_into(&a, &b, &gates.gates(16), 1, &options, c));
    match error {
        Error::Value { arg, .. } | Error::Shape { arg, .. } => arg,
        other => panic!("{other}"),
    }
}

#[test]
fn moe_op_makes_rows_codes_when_a_graph_is_launched() {
    for device in devices() {
        match device.arch() {
            Arch::Gfx942 => is_captured::<F8E4M3Fnuz>(&device),
            Arch::Gfx950 => is_captured::<F8E4M3>(&device),
        }
    }
}

/// Captures a product of rows that are made codes, and compares what the graph does with what calls do.
fn is_captured<W: ExpertWeight<bf16> + Scalar>(device: &Device) {
    const SHAPE: [usize; 3] = [5, 24, 40];
    let [rows, n, k] = SHAPE;
    let stream = device.new_stream().unwrap();
    let numbers = |seed: usize, count: usize| -> Vec<f64> {
        (0..count).map(|at| ((at * 7919 + seed * 31) % 201) as f64 / 100.0 - 1.0).collect()
    };
    let b = Tensor::from_slice(&stream, &W::encode(&numbers(1, 2 * n * k)), &[2, n, k]).unwrap();
    let ids = Tensor::from_slice(&stream, &[0, 1, 1, 0, 1], &[rows, 1]).unwrap();
    let gates = moe_align_block_size(&ids, 2, 16, &MoeAlignOptions::default()).unwrap();
    let scale = Tensor::filled(&stream, &[2], 0.5f32).unwrap();
    let options = MoeGemmOptions::default().b_scale(&scale);
    let mut a = Tensor::<bf16>::zeros(&stream, &[rows, k]).unwrap();
    let mut c = Tensor::<f32>::zeros(&stream, &[rows, 1, n]).unwrap();
    let forward = |a: &Tensor<bf16>, c: &mut Tensor<f32>| {
        moe_gemm_into(a, &b, &gates.gates(16), 1, &options, c).unwrap();
    };
    let graph = capture(&stream, || forward(&a, &mut c));
    for turn in 1..4 {
        // Rows of another size have another scale.
        let of_turn = numbers(turn, rows * k).into_iter().map(|x| x * (turn * turn) as f64);
        a.write(&bf16::encode(&of_turn.collect::<Vec<_>>())).unwrap();
        forward(&a, &mut c);
        let expected = c.to_vec().unwrap();
        c.fill(f32::NAN).unwrap();
        // SAFETY: both are live.
        let launched = unsafe { capi::hipGraphLaunch(graph, stream.raw()) };
        assert_eq!(launched, HipError::SUCCESS);
        stream.synchronize().unwrap();
        assert_eq!(c.to_vec().unwrap(), expected, "{}", device.name());
        assert!(expected.iter().all(|y| y.is_finite()) && expected.iter().any(|y| *y != 0.0));
    }
    // SAFETY: it is live, and at no work.
    assert_eq!(unsafe { capi::hipGraphExecDestroy(graph) }, HipError::SUCCESS);
}

#[test]
fn moe_op_names_what_is_wrong_with_groups() {
    for device in devices() {
        let stream = device.default_stream();
        let ids = Tensor::<i32>::zeros(&stream, &[4, 1]).unwrap();
        let gates = moe_align_block_size(&ids, 1, 16, &MoeAlignOptions::default()).unwrap();
        let factor = Tensor::filled(&stream, &[1], 1.0f32).unwrap();
        let refused = |[n, k, groups]: [usize; 3],
                       has_zeros: bool,
                       options: &MoeGemmOptions<'_>| {
            let a = Tensor::<bf16>::zeros(&stream, &[4, k]).unwrap();
            let codes = Tensor::<u8>::zeros(&stream, &[1, n, k / 2]).unwrap();
            let scales = Tensor::<f32>::zeros(&stream, &[1, n, groups]).unwrap();
            let zeros = Tensor::<u8>::zeros(&stream, &[1, n / 2, groups]).unwrap();
            let b = WnA16Weights::of_4_bits(&codes, &scales);
            let b = if has_zeros { b.zero_points(&zeros) } else { b };
            let mut c = Guarded::<bf16>::new(&stream, &[4, 1, n], Placement::DENSE).unwrap();
            let error =
                rejected(&mut c, |c| moe_gemm_wna16_into(&a, &b, &gates.gates(16), 1, options, c));
            match error {
                Error::Value { op: "moe_gemm_wna16", arg, .. }
                | Error::Shape { op: "moe_gemm_wna16", arg, .. } => arg,
                other => panic!("{other}"),
            }
        };
        let plain = MoeGemmOptions::default();
        // Groups of 4, of 48, and of what does not divide k.
        for (k, groups) in [(32, 8), (72, 2), (40, 3), (32, 0)] {
            assert_eq!(refused([8, k, groups], false, &plain), "b_scale");
        }
        // There are as many groups as there would be of 8, but not of all k.
        assert_eq!(refused([8, 36, 4], false, &plain), "k");
        assert_eq!(refused([7, 32, 2], true, &plain), "b_zp");
        assert_eq!(refused([8, 32, 2], false, &plain.clone().a_scale(&factor)), "a_scale");
        assert_eq!(refused([8, 32, 2], false, &plain.clone().b_scale(&factor)), "b_scale");
        assert_eq!(refused([8, 32, 2], false, &plain.splits(0)), "splits");
    }
}
