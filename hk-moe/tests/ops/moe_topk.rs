//! `moe_topk` and `moe_grouped_topk` against their reference, what they refuse, and what they move.

use hk_core::dtype::bf16;
use hk_core::{Error, Result, Stream, Tensor};
use hk_moe::{
    ExpertGroups, MoeTopkOptions, MoeTopkOut, Score, WeightNorm, moe_grouped_topk_into, moe_topk,
    moe_topk_into, parity,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_topk_has_parity() {
    hk_ref::run_module("moe_topk", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn moe_topk_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_topk", &parity::cases(), &devices());
}

/// Makes a call, which must be refused, for seven tokens.
fn refused(
    stream: &Stream,
    [experts, k]: [usize; 2],
    groups: Option<ExpertGroups<'_>>,
    options: &MoeTopkOptions<'_>,
) -> Error {
    let x = Tensor::filled(stream, &[7, experts], bf16::ONE).unwrap();
    let mut y_indx = Tensor::<i32>::empty(stream, &[7, k]).unwrap();
    let mut y_vals = Guarded::<f32>::new(stream, &[7, k.max(1)], Placement::DENSE).unwrap();
    rejected(&mut y_vals, |y_vals| -> Result<()> {
        let mut y_vals = y_vals.narrow_mut(1, 0..k)?;
        let out = MoeTopkOut { y_vals: &mut *y_vals, y_indx: &mut y_indx, bitmatrix: None };
        match groups {
            Some(groups) => moe_grouped_topk_into(&x, k, groups, options, out),
            None => moe_topk_into(&x, k, options, out),
        }
    })
}

#[test]
fn moe_topk_rejects_wrong_numbers_and_leaves_outputs() {
    let plain = MoeTopkOptions::default();
    let sigmoid = plain.score(Score::Sigmoid);
    for device in devices() {
        let stream = device.default_stream();
        let bias = Tensor::<f32>::zeros(&stream, &[32]).unwrap();
        for (sizes, options, name) in [
            ([32, 0], plain, "k"),
            ([32, 33], plain, "k"),
            ([128, 65], plain, "k"),
            ([32, 4], plain.shared_experts(65, 1.0), "shared_experts"),
            ([32, 4], plain.bias(&bias), "bias"),
            ([32, 4], plain.score(Score::SoftmaxFirst).bias(&bias), "bias"),
            ([32, 4], plain.weight_norm(WeightNorm::Renorm), "weight_norm"),
            ([32, 4], sigmoid.weight_norm(WeightNorm::Softmax), "weight_norm"),
            ([32, 4], plain.workgroups(0), "workgroups"),
        ] {
            let error = refused(&stream, sizes, None, &options);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        let error = refused(&stream, [32_768, 4], None, &plain);
        assert!(matches!(error, Error::Shape { arg: "x", .. }), "{error}");
        let error = refused(&stream, [16, 4], None, &sigmoid.bias(&bias));
        assert!(matches!(error, Error::Shape { arg: "bias", .. }), "{error}");
    }
}

#[test]
fn moe_grouped_topk_rejects_wrong_groups_and_leaves_outputs() {
    let plain = MoeTopkOptions::default();
    let sigmoid = plain.score(Score::Sigmoid);
    for device in devices() {
        let stream = device.default_stream();
        let bias = Tensor::<f32>::zeros(&stream, &[32]).unwrap();
        let groups = |num_expert_group, topk_group| {
            Some(ExpertGroups { num_expert_group, topk_group, expert_group: None })
        };
        for ([experts, k, count, kept], options, name) in [
            ([32, 4, 1, 1], plain, "num_expert_group"),
            ([32, 4, 17, 2], plain, "num_expert_group"),
            ([32, 4, 5, 2], plain, "num_expert_group"),
            ([32, 4, 8, 0], plain, "topk_group"),
            ([32, 4, 8, 9], plain, "topk_group"),
            ([32, 9, 8, 2], plain, "k"),
            ([32, 17, 2, 2], plain, "k"),
        ] {
            let error = refused(&stream, [experts, k], groups(count, kept), &options);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        let narrow = bias.narrow(0, 0..16).unwrap();
        let alone = sigmoid.bias(&narrow);
        let error = refused(&stream, [16, 4], groups(16, 8), &alone);
        assert!(matches!(error, Error::Value { arg: "num_expert_group", .. }), "{error}");

        let shuffled = |map: Vec<i32>, options: &MoeTopkOptions<'_>| {
            let map = Tensor::from_slice(&stream, &map, &[32]).unwrap();
            let expert_group = Some(&*map);
            let groups = ExpertGroups { num_expert_group: 4, topk_group: 2, expert_group };
            refused(&stream, [32, 4], Some(groups), options)
        };
        for wrong in [-1, 4] {
            let mut map: Vec<i32> = (0..32).map(|expert| expert % 4).collect();
            map[30] = wrong;
            let error = shuffled(map, &plain);
            assert!(matches!(error, Error::Value { arg: "expert_group", .. }), "{error}");
        }
        for least in [0, 1] {
            let map = (0..32).map(|expert| if expert < least { 3 } else { expert % 3 }).collect();
            let error = shuffled(map, &sigmoid.bias(&bias));
            assert!(matches!(error, Error::Value { arg: "expert_group", .. }), "{error}");
        }
    }
}

#[test]
fn experts_of_groups_that_there_are_not_do_no_harm() {
    for device in devices() {
        let stream = device.default_stream();
        let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
        let x = Tensor::from_slice(&stream, &x, &[1, 64]).unwrap();
        let map: Vec<i32> = (0..64)
            .map(|e| if e >= 32 { [i32::MIN, -1, 4, i32::MAX][e % 4] } else { e as i32 % 4 })
            .collect();
        let map = Tensor::from_slice(&stream, &map, &[64]).unwrap();
        let groups = ExpertGroups { num_expert_group: 4, topk_group: 2, expert_group: Some(&map) };
        let options = MoeTopkOptions::default().validate_indices(false);
        let top = hk_moe::moe_grouped_topk(&x, 4, groups, &options).unwrap();
        assert_eq!(top.y_indx.to_vec().unwrap(), [26, 27, 30, 31]);
    }
}

#[test]
fn moe_topk_reads_rows_once_and_writes_results_once() {
    for device in devices() {
        let stream = device.default_stream();
        for [experts, k] in [[128, 4], [256, 8], [512, 10]] {
            let tokens = 256;
            let x: Vec<_> =
                (0..tokens * experts).map(|i| bf16::from_f32((i * 7919 % 509) as f32)).collect();
            let x = Tensor::from_slice(&stream, &x, &[tokens, experts]).unwrap();
            let options = MoeTopkOptions::default().workgroups(2);
            let moved = Moved::by(&stream, || moe_topk(&x, k, &options));
            let written = tokens * (k * 8 + experts / 8);
            // A token's experts are looked at again, for their weights.
            let again = (tokens * k * 2) as u64;
            let arguments = moved.counters.scalar_read_bytes;
            moved.once(2 * tokens * experts, again..=again + arguments, written);
        }
    }
}
