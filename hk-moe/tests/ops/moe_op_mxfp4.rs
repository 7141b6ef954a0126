//! `moe_op_mxfp4` against its reference, and what it refuses.

use hk_core::{Device, Error};
use hk_moe::{
    Activation, E8M0, F4x2E2M1, F8E4M3, F8E4M3Fnuz, MoeAlignOptions, MoeGatedOptions,
    MoeGemmOptions, MoeRaggedOptions, Mxfp4Element, RowOptions, SortOptions, Tensor, bf16,
    moe_a8w4, moe_align_block_size, moe_gemm, moe_interleave_gate_up, moe_mxfp4,
    moe_mxfp4_silu_fused, moe_sum, parity, sort_tokens,
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

/// Tokens, experts, those of a token, hidden and inner size.
const LAYER: [usize; 5] = [21, 5, 3, 96, 64];

/// The results of one layer of e2m1, by products whose gates are filled up to tiles, and by those in the order
/// of experts.
fn layers(device: &Device) -> [Vec<f32>; 2] {
    let [tokens, experts, each, hidden, inner] = LAYER;
    let stream = device.default_stream();
    let number = |at: usize| ((at + 1) * 104_729 % 2003) as f32 / 1001.5 - 1.0;
    let x: Vec<_> = (0..tokens * hidden).map(|at| bf16::from_f32(number(at))).collect();
    let x = Tensor::from_slice(&stream, &x, &[tokens, hidden]).unwrap();
    let matrices = |rows: usize, columns: usize| {
        let code = |at: usize| F4x2E2M1::from_bits((at * 7919 % 251) as u8);
        let codes: Vec<_> = (0..experts * rows * columns / 2).map(code).collect();
        let scale = |at: usize| E8M0::from_f32(2f32.powi(-3 - (at % 3) as i32));
        let scales: Vec<_> = (0..experts * rows * columns / 32).map(scale).collect();
        let codes = Tensor::from_slice(&stream, &codes, &[experts, rows, columns]).unwrap();
        (codes, Tensor::from_slice(&stream, &scales, &[experts, rows, columns / 32]).unwrap())
    };
    let ((w1, of_w1), (w2, of_w2)) = (matrices(2 * inner, hidden), matrices(hidden, inner));
    let gates = tokens * each;
    let ids: Vec<_> = (0..gates).map(|gate| ((gate / each + 2 * gate) % experts) as i32).collect();
    let ids = Tensor::from_slice(&stream, &ids, &[tokens, each]).unwrap();
    let numbers: Vec<_> = (0..gates).map(number).collect();
    let weights = |shape: &[usize]| Tensor::from_slice(&stream, &numbers, shape).unwrap();
    let act = Activation::Swiglu { alpha: 1.702, limit: Some(7.0), add_residual: true };

    let aligned = moe_align_block_size(&ids, experts, 16, &MoeAlignOptions::default()).unwrap();
    let (of_tiles, options) = (aligned.gates(16), MoeGatedOptions::new(act));
    let z: Tensor<bf16> = moe_mxfp4_silu_fused(&x, &w1, &of_w1, &of_tiles, each, &options).unwrap();
    let (z, of_gates) = (z.reshape(&[gates, inner]).unwrap(), weights(&[gates, 1]));
    let options = MoeGemmOptions::default().topk_weights(&of_gates);
    let y: Tensor<f32> = moe_mxfp4(&z, &w2, &of_w2, &of_tiles, 1, &options).unwrap();
    let y = y.reshape(&[tokens, each, hidden]).unwrap();
    let sums: Tensor<f32> = moe_sum(&y, None, &RowOptions::default()).unwrap();

    let of_tokens = weights(&[tokens, each]);
    let sorted = sort_tokens(&of_tokens, &ids, experts, 16, &SortOptions::default()).unwrap();
    let pairs = moe_interleave_gate_up(&w1).unwrap();
    let of_pairs = moe_interleave_gate_up(&of_w1).unwrap();
    let options = MoeRaggedOptions::new(act);
    let z: Tensor<bf16> =
        moe_a8w4(&x, None, &pairs, &of_pairs, &sorted.gathered(), &options).unwrap();
    let options = MoeRaggedOptions::new(Activation::None).gammas(&sorted.data.gate_scal);
    let in_order: Tensor<f32> =
        moe_a8w4(&z, None, &w2, &of_w2, &sorted.scattered(), &options).unwrap();
    [sums, in_order].map(|results| results.to_vec().unwrap())
}

#[test]
fn products_of_both_orders_of_gates_make_the_same_layer() {
    for device in devices() {
        let [of_tiles, in_order] = layers(&device);
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            let pairs = of_tiles.iter().zip(&in_order);
            pairs.map(|(a, b)| of(f64::from(*a), f64::from(*b))).sum()
        };
        let size = sum(&|a, _| a * a);
        let apart = (sum(&|a, b| (a - b) * (a - b)) / size).sqrt();
        assert!(size > 0.0 && apart <= 5e-3, "{device}: {apart} apart, of {size}");
    }
}
