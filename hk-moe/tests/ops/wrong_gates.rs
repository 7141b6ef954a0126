//! What products of experts say of gates and tiles that are wrong. What they do if they do not look at them has cases.

use hk_core::dtype::bf16;
use hk_core::{Error, Result, Tensor, TensorSlice};
use hk_moe::{
    Activation, AlignedGates, E8M0, F4x2E2M1, MoeGatedOptions, MoeGemmOptions, MoeLayerOptions,
    WnA16Weights, moe_e2e_into, moe_gelu_into, moe_gemm_into, moe_gemm_wna16_into, moe_mxfp4_into,
    moe_mxfp4_silu_fused_into, moe_silu_fused_into, moe_silu_fused_wna16_into,
};
use hk_ref::harness::rejected;
use hk_ref::{Guarded, Placement};

use crate::common::devices;

/// Rows with a gate each, of two experts; columns of the results, which are as many as k; and rows of a tile.
const ROWS: usize = 4;
const WIDTH: usize = 32;
const EXPERTS: usize = 2;
const TILE: usize = 16;

/// The gates of rows, the experts of tiles, and how many rows there are: what is behind these does not count.
type Lists = ([i32; 3 * TILE], [i32; 3], i32);

/// What is wrong with lists, and the argument that it is of.
type Edit = (&'static str, fn(&mut Lists));

/// A tile of each expert, and one behind them.
fn lists() -> Lists {
    let mut gates = [ROWS as i32; 3 * TILE];
    (gates[0], gates[1], gates[3]) = (2, 0, -1);
    (gates[TILE], gates[TILE + 2]) = (1, 3);
    gates[2 * TILE..].fill(77);
    (gates, [0, 1, 9], 2 * TILE as i32)
}

/// Calls an op, which looks at gates as it is told.
type Product<'a> =
    Box<dyn Fn(&AlignedGates<'_>, Option<bool>, &mut TensorSlice<f32>) -> Result<()> + 'a>;

#[test]
fn products_of_experts_name_the_gates_and_tiles_that_are_wrong() {
    for device in devices() {
        let stream = device.default_stream();
        let ones = |shape: &[usize]| Tensor::filled(&stream, shape, bf16::ONE).unwrap();
        let a = ones(&[ROWS, WIDTH]);
        let [b, both] = [WIDTH, 2 * WIDTH].map(|rows| ones(&[EXPERTS, rows, WIDTH]));
        let [codes, both_codes] = [WIDTH, 2 * WIDTH]
            .map(|rows| Tensor::<u8>::zeros(&stream, &[EXPERTS, rows, WIDTH / 2]).unwrap());
        let [scales, both_scales] = [WIDTH, 2 * WIDTH]
            .map(|rows| Tensor::filled(&stream, &[EXPERTS, rows, 1], 1.0f32).unwrap());
        let [mx, both_mx] = [WIDTH, 2 * WIDTH]
            .map(|rows| Tensor::<F4x2E2M1>::zeros(&stream, &[EXPERTS, rows, WIDTH]).unwrap());
        let [mx_scales, both_mx_scales] = [WIDTH, 2 * WIDTH]
            .map(|rows| Tensor::filled(&stream, &[EXPERTS, rows, 1], E8M0::from_f32(1.0)).unwrap());
        let plain = |validate: Option<bool>| {
            validate.into_iter().fold(MoeGemmOptions::default(), MoeGemmOptions::validate_indices)
        };
        let products: [Product<'_>; 8] = [
            Box::new(|gates, validate, c| moe_gemm_into(&a, &b, gates, 1, &plain(validate), c)),
            Box::new(|gates, validate, c| moe_gelu_into(&a, &b, gates, 1, &plain(validate), c)),
            Box::new(|gates, validate, c| {
                moe_silu_fused_into(&a, &both, gates, 1, &plain(validate), c)
            }),
            Box::new(|gates, validate, c| {
                let b = WnA16Weights::of_4_bits(&codes, &scales);
                moe_gemm_wna16_into(&a, &b, gates, 1, &plain(validate), c)
            }),
            Box::new(|gates, validate, c| {
                let b = WnA16Weights::of_4_bits(&both_codes, &both_scales);
                moe_silu_fused_wna16_into(&a, &b, gates, 1, &plain(validate), c)
            }),
            Box::new(|gates, validate, c| {
                moe_mxfp4_into(&a, &mx, &mx_scales, gates, 1, &plain(validate), c)
            }),
            Box::new(|gates, validate, c| {
                let options = MoeGatedOptions::new(Activation::SiluAndMul);
                let options = validate.into_iter().fold(options, MoeGatedOptions::validate_indices);
                moe_mxfp4_silu_fused_into(&a, &both_mx, &both_mx_scales, gates, 1, &options, c)
            }),
            Box::new(|gates, validate, c| {
                let options = MoeLayerOptions::default();
                let options = validate.into_iter().fold(options, MoeLayerOptions::validate_indices);
                moe_e2e_into(&a, &both, &b, gates, 1, &options, c)
            }),
        ];
        let mut c = Guarded::<f32>::new(&stream, &[ROWS, 1, WIDTH], Placement::DENSE).unwrap();
        let mut out = Tensor::<f32>::zeros(&stream, &[ROWS, 1, WIDTH]).unwrap();
        let edits: [Edit; 11] = [
            ("", |_| ()),
            ("", |(_, tiles, _)| tiles[1] = -1),
            ("", |(.., length)| *length = 0),
            ("num_tokens_post_pad", |(.., length)| *length = -1),
            ("num_tokens_post_pad", |(.., length)| *length = 3 * TILE as i32 + 1),
            ("sorted_token_ids", |(gates, ..)| gates[2] = -2),
            ("sorted_token_ids", |(gates, ..)| gates[2] = ROWS as i32 + 1),
            // One that another row has.
            ("sorted_token_ids", |(gates, ..)| gates[TILE + 1] = 2),
            ("sorted_token_ids", |(.., length)| *length = 3 * TILE as i32),
            ("expert_ids", |(_, tiles, _)| tiles[0] = EXPERTS as i32),
            ("expert_ids", |(_, tiles, _)| tiles[1] = -2),
        ];
        for (wrong, edit) in edits {
            let mut of = lists();
            edit(&mut of);
            let list = |list: &[i32]| Tensor::from_slice(&stream, list, &[list.len()]).unwrap();
            let (sorted, tiles, length) = (list(&of.0), list(&of.1), list(&[of.2]));
            let gates = AlignedGates {
                sorted_token_ids: &sorted,
                expert_ids: &tiles,
                num_tokens_post_pad: &length,
                block_size: TILE,
            };
            for product in &products {
                if wrong.is_empty() {
                    product(&gates, None, &mut out).unwrap();
                    continue;
                }
                for validate in [None, Some(true)] {
                    let error = rejected(&mut c, |c| product(&gates, validate, c));
                    let is_named = matches!(error, Error::Value { arg, .. } if arg == wrong);
                    assert!(is_named, "{wrong}: {error}");
                }
            }
            stream.synchronize().unwrap();
        }
    }
}
