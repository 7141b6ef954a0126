//! `routing`, `sort_tokens` and their kin against their references, what they refuse, and what they
//! cost.

use hk_core::dtype::bf16;
use hk_core::{Error, Stream, Tensor, record_tiles};
use hk_moe::{
    RoutingIndxOut, RoutingOptions, Score, SortOptions, block_m, parity, routing,
    routing_compute_indx_into, sort_tokens,
};
use hk_ref::harness::{Moved, rejected};
use hk_ref::{Guarded, Placement};

use crate::common::devices;

#[test]
fn moe_routing_has_parity() {
    hk_ref::run_module("moe_routing", &parity::cases(), &devices(), 30_000_000);
}

#[test]
fn moe_routing_rejects_wrong_tensors() {
    hk_ref::run_rejections("moe_routing", &parity::cases(), &devices());
}

/// Makes a call, which must be refused, of three tokens with two experts each.
fn refused(stream: &Stream, ids: [i32; 6], experts: usize) -> Error {
    let scal = Tensor::<f32>::zeros(stream, &[3, 2]).unwrap();
    let indx = Tensor::from_slice(stream, &ids, &[3, 2]).unwrap();
    let mut gate_scal = Tensor::empty(stream, &[6]).unwrap();
    let mut scatter = Tensor::empty(stream, &[6]).unwrap();
    let mut gather = Guarded::<i32>::new(stream, &[6], Placement::DENSE).unwrap();
    rejected(&mut gather, |gather| {
        let out = RoutingIndxOut {
            gate_scal: &mut gate_scal,
            gather_indx: gather,
            scatter_indx: &mut scatter,
        };
        routing_compute_indx_into(&scal, &indx, experts, &SortOptions::default(), out)
    })
}

#[test]
fn sort_tokens_rejects_wrong_numbers() {
    for device in devices() {
        let stream = device.default_stream();
        for (ids, experts, name) in [
            ([0, 1, 2, 3, 4, 5], 0, "n_expts_tot"),
            ([0, 1, 2, 3, 4, 5], 32_768, "n_expts_tot"),
            ([0, 1, 2, 3, 4, 5], 5, "expt_indx"),
            ([0, 1, 2, -2, 4, 5], 6, "expt_indx"),
            ([0, 1, 2, 2, 4, 5], 6, "expt_indx"),
        ] {
            let error = refused(&stream, ids, experts);
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
        }
        let scal = Tensor::<f32>::zeros(&stream, &[3, 2]).unwrap();
        let indx = Tensor::<i32>::from_slice(&stream, &[0, 1, 2, 3, 4, 5], &[3, 2]).unwrap();
        let error = sort_tokens(&scal, &indx, 0, 16, &SortOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "n_expts_tot", .. }), "{error}");
        for block_m in [0, 8, 24, 512] {
            let error = sort_tokens(&scal, &indx, 6, block_m, &SortOptions::default()).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "block_m", .. }), "{error}");
        }
        // All tokens may have the same expert, but not of so many tiles.
        let tokens = 32_767 * 16 + 1;
        let scal = Tensor::<f32>::zeros(&stream, &[tokens, 1]).unwrap();
        let indx = Tensor::<i32>::zeros(&stream, &[tokens, 1]).unwrap();
        let error = sort_tokens(&scal, &indx, 6, 16, &SortOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "T", .. }), "{error}");
    }
}

#[test]
fn routing_rejects_options_that_do_not_go_together() {
    for device in devices() {
        let stream = device.default_stream();
        let logits = Tensor::filled(&stream, &[3, 32], bf16::ONE).unwrap();
        let bias = Tensor::<f32>::zeros(&stream, &[32]).unwrap();
        let plain = RoutingOptions::default();
        for (options, k, name) in [
            (plain.bias(&bias), 4, "bias"),
            (plain.renorm(true), 4, "renorm"),
            (plain.routed_scaling_factor(2.0), 4, "routed_scaling_factor"),
            (plain.score_mode(Score::Sigmoid).sm_first(true), 4, "sm_first"),
            (plain.score_mode(Score::Logits).renorm(true), 4, "weight_norm"),
            (plain.score_mode(Score::SoftmaxFirst).bias(&bias), 4, "bias"),
            (plain.shared_experts(65, 1.0), 4, "shared_experts"),
            (plain.shared_experts(usize::MAX, 1.0), 4, "shared_experts"),
            (plain, 0, "k"),
            (plain, 33, "k"),
            (RoutingOptions::deepseek_v3(&bias), 17, "k"),
        ] {
            let (result, launched) = record_tiles(|| routing(&logits, k, &options));
            let error = result.unwrap_err();
            assert!(matches!(error, Error::Value { arg, .. } if arg == name), "{error}");
            assert!(launched.is_empty());
        }
        let none = Tensor::<f32>::zeros(&stream, &[3, 0]).unwrap();
        let error = routing(&none, 1, &plain).unwrap_err();
        assert!(matches!(error, Error::Shape { arg: "logits", .. }), "{error}");
    }
}

#[test]
fn routing_launches_twice_and_gathers_what_it_scatters() {
    for device in devices() {
        let stream = device.default_stream();
        let (tokens, experts, k) = (200, 64, 6);
        let x: Vec<_> = (0..tokens * experts).map(|i| (i * 7919 % 5003) as f32).collect();
        let x = Tensor::from_slice(&stream, &x, &[tokens, experts]).unwrap();
        let (result, launched) = record_tiles(|| routing(&x, k, &RoutingOptions::default()));
        assert_eq!(launched.len(), 2);
        let found = result.unwrap();
        assert_eq!(found.data.block_m, block_m(tokens, experts, k));
        assert_eq!((found.data.n_expts_tot, found.data.n_expts_act), (experts, k));
        let gather = found.gather_indx.to_vec().unwrap();
        let scatter = found.scatter_indx.to_vec().unwrap();
        assert!((0..tokens * k).all(|gate| gather[scatter[gate] as usize] == gate as i32));
        let hist = found.data.expt_hist.to_vec().unwrap();
        let offsets = found.data.expt_data.token_offs_raw.to_vec().unwrap();
        for expert in 0..experts {
            let [first, end] = [offsets[expert], offsets[expert + 1]];
            assert_eq!(end - first, hist[expert]);
            // Gates of an expert ascend.
            assert!(gather[first as usize..end as usize].is_sorted());
        }
    }
}

#[test]
fn sort_tokens_costs_what_gates_cost_and_what_experts_cost() {
    for device in devices() {
        let stream = device.default_stream();
        for tokens in [256, 2048] {
            for experts in [8, 64, 128, 256, 512] {
                let gates = tokens * 8;
                let ids: Vec<i32> = (0..gates).map(|gate| (gate * 31 % experts) as i32).collect();
                let ids = Tensor::from_slice(&stream, &ids, &[tokens, 8]).unwrap();
                let weights = Tensor::<f32>::zeros(&stream, &[tokens, 8]).unwrap();
                let options = SortOptions::default().validate_indices(false);
                let moved =
                    Moved::by(&stream, || sort_tokens(&weights, &ids, experts, 32, &options));
                let instructions = moved.counters.instructions.total() as usize;
                let most = 4 * gates + 200 * experts + 4000;
                assert!(instructions < most, "{gates}, {experts}: {instructions}, not {most}");
            }
        }
    }
}
