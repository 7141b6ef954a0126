//! `moe_align_block_size` against its reference, what it refuses, and what it costs.

use hk_core::{Error, Result, Stream, Tensor};
use hk_moe::{
    MoeAlignOptions, MoeAlignOut, aligned_capacity, moe_align_block_size,
    moe_align_block_size_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_align_block_size_has_parity() {
    hk_ref::run_module("moe_align_block_size", &parity::cases(), &devices(), 10_000_000);
}

#[test]
fn moe_align_block_size_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_align_block_size", &parity::cases(), &devices());
}

/// Makes a call, which must be refused, that gives ten experts two tiles of four rows.
fn refused(stream: &Stream, ids: &[i32], shape: &[usize], [experts, block]: [usize; 2]) -> Error {
    let ids = Tensor::from_slice(stream, ids, shape).unwrap();
    let mut tiles = Tensor::empty(stream, &[2]).unwrap();
    let mut total = Tensor::empty(stream, &[1]).unwrap();
    let mut sorted = Guarded::<i32>::new(stream, &[8], Placement::DENSE).unwrap();
    rejected(&mut sorted, |sorted| -> Result<()> {
        let out = MoeAlignOut {
            sorted_token_ids: sorted,
            expert_ids: &mut tiles,
            num_tokens_post_pad: &mut total,
            hist: None,
            offsets: None,
        };
        moe_align_block_size_into(&ids, experts, block, &MoeAlignOptions::default(), out)
    })
}

#[test]
fn moe_align_block_size_rejects_wrong_numbers_and_leaves_outputs() {
    for device in devices() {
        let stream = device.default_stream();
        for (numbers, name) in [
            ([0, 4], "num_experts"),
            ([32_768, 4], "num_experts"),
            ([10, 0], "block_size"),
            ([10, 257], "block_size"),
        ] {
            let error = refused(&stream, &[1, 2], &[1, 2], numbers);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        for wrong in [-2, 10] {
            let error = refused(&stream, &[1, wrong], &[1, 2], [10, 4]);
            assert!(matches!(error, Error::Value { arg: "topk_ids", .. }), "{error}");
        }
        let error = refused(&stream, &[0, 1], &[1, 2], [1, 4]);
        assert!(matches!(error, Error::Shape { arg: "topk_ids", .. }), "{error}");
        let error = refused(&stream, &[], &[2, 0], [10, 4]);
        assert!(matches!(error, Error::Shape { arg: "topk_ids", .. }), "{error}");
        // Another size of tiles needs another number of rows.
        let error = refused(&stream, &[0, 1], &[1, 2], [10, 5]);
        assert!(matches!(error, Error::Shape { arg: "sorted_token_ids", .. }), "{error}");
    }
}

#[test]
fn moe_align_block_size_costs_what_gates_cost_and_what_experts_cost() {
    for device in devices() {
        let stream = device.default_stream();
        for tokens in [256, 2048] {
            for experts in [8, 64, 128, 256, 512] {
                let gates = tokens * 8;
                let ids: Vec<i32> = (0..gates).map(|gate| (gate * 31 % experts) as i32).collect();
                let ids = Tensor::from_slice(&stream, &ids, &[tokens, 8]).unwrap();
                let options = MoeAlignOptions::default().validate_indices(false);
                let moved =
                    Moved::by(&stream, || moe_align_block_size(&ids, experts, 16, &options));
                let instructions = moved.counters.instructions.total() as usize;
                // Of each wave that has 64 gates, and of one for each expert; not of all for each.
                let most = 4 * gates + 200 * experts + 4000;
                assert!(instructions < most, "{gates}, {experts}: {instructions}, not {most}");
                let rows = aligned_capacity(gates, experts, 16);
                let least = 4 * (rows + rows.div_ceil(16) + 1 + experts + experts + 1);
                let written = moved.counters.distinct_written_bytes as usize;
                // What launches hand to each other: sums take the place of counts.
                let between =
                    if gates > 4096 { 12 * (experts + 1) + 2 * 8 * 4 * experts } else { 0 };
                assert_eq!(written, least + between, "{gates}, {experts}");
            }
        }
    }
}
