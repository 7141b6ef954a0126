//! The decoder of the example `qwen3_next`: all at once, step by step, from a graph, and in f64.

use std::ops::Range;

use hipkittens::dtype::decode;
use hipkittens::gdr::QkvzbaHeads;
use hipkittens::{Device, Stream, Tensor, bf16};
use hk_ref::attn::attention::{Head, Scores, attend};
use hk_ref::attn::fused_qkv_split_qk_rope::norm as head_norm;
use hk_ref::attn::rope::{Rope, Rotated};
use hk_ref::gdr::causal_conv1d::causal_conv1d;
use hk_ref::gdr::causal_conv1d_split_qkv::split_qkv;
use hk_ref::gdr::fused_gdn_gating_prefill::{decay, sigmoid};
use hk_ref::gdr::fused_qkvzba_split::{Heads, fused_qkvzba_split};
use hk_ref::gdr::fused_recurrent::{Token, learn, normalized};
use hk_ref::moe::fused_moe;
use hk_ref::moe::ragged::Act;
use hk_ref::norm::rmsnorm::rmsnorm;
use ndarray::{Array1, Array2, Array3, ArrayView1, Axis, s};

use super::{
    ALL, Limits, agrees_every_way, bytes, distinct, matrix, numbers, refuses_beyond_the_cache,
    sanitized,
};
use crate::shared::{DEVICE, Decoder, SEQUENCES, embedded, run};

#[path = "../../examples/qwen3_next/model.rs"]
mod model;
#[path = "../../examples/qwen3_next/step.rs"]
mod step;
#[path = "../../examples/qwen3_next/weights.rs"]
mod weights;

use model::{
    Attention, DELTA, DeltaNet, EPS, HEAD_DIM, HEADS, HIDDEN, INNER, KV_HEADS, Mlp, Model, ROTATED,
    TAPS,
};
use weights::Experts;

/// How far results may be apart, all together: from f64, and of one way through the model from
/// another one. Both round what passes between ops to bf16, 2^-9 at most, some fifteen times.
const LIMITS: Limits = Limits { reference: 1e-2, ways: 1e-2 };

/// How much larger the logit of the last chosen expert has to be than that of the first one that is
/// not chosen: no rounding chooses another expert.
const APART: f64 = 0.06;

/// How many times the bytes that a step cannot do without it may move.
const MOVED: f64 = 1.12;

/// Of each token.
const CHOSEN: usize = 10;

/// `silu(gate)` times the other.
const SILU: Act = Act::Swiglu { alpha: 1.0, limit: f64::INFINITY, offset: 0.0 };

fn weight<T: hipkittens::dtype::Element>(tensor: &Tensor<T>) -> Array2<f64> {
    let [n, k] = *tensor.shape() else { panic!("a matrix") };
    matrix([n, k], numbers(tensor))
}

fn norm(weight: &Tensor<f32>, x: &Array2<f64>) -> Array2<f64> {
    let rows: Vec<_> = x.iter().copied().collect();
    matrix([x.nrows(), HIDDEN], rmsnorm(&rows, &numbers(weight), EPS, 1.0).y)
}

/// What the delta rule adds to a sequence.
fn delta_rule(layer: &DeltaNet, x: &Array2<f64>) -> Array2<f64> {
    let QkvzbaHeads { num_heads_qk: h, num_heads_v: hv, head_qk, head_v } = DELTA;
    let normed = norm(&layer.norm, x);
    let (qkvz, ba) = (normed.dot(&weight(&layer.qkvz).t()), normed.dot(&weight(&layer.ba).t()));
    let sources = fused_qkvzba_split(Heads { qk: h, v: hv, qk_dim: head_qk, v_dim: head_v });
    let taps = numbers(&layer.conv);
    let convolved: Vec<Vec<f64>> = sources
        .mixed_qkv
        .iter()
        .zip(taps.chunks_exact(TAPS))
        .map(|(from, taps)| {
            let sums =
                causal_conv1d(&qkvz.column(*from).to_vec(), &[0.0; TAPS - 1], taps, 0.0, true);
            sums.into_iter().map(|sum| sum.value).collect()
        })
        .collect();
    let parts = split_qkv(h * head_qk, hv * head_v);
    let of_head = |part: usize, head: usize, width: usize, at: usize| -> Vec<f64> {
        convolved[parts[part].clone()][head * width..][..width].iter().map(|of| of[at]).collect()
    };
    let [a_log, dt_bias, out_norm] = [&layer.a_log, &layer.dt_bias, &layer.out_norm].map(numbers);
    let mut all = Array2::zeros((x.nrows(), hv * head_v));
    for head in 0..hv {
        let mut state = vec![0.0; head_qk * head_v];
        for at in 0..x.nrows() {
            let [q, k] =
                [0, 1].map(|part| normalized(&of_head(part, head / (hv / h), head_qk, at)));
            let v = of_head(2, head, head_v, at);
            let step = ba[[at, sources.a[head]]] + dt_bias[head];
            let (g, _) = decay(a_log[head], step, 1.0, 20.0);
            let beta = vec![sigmoid(ba[[at, sources.b[head]]]); head_v];
            let token = Token { q: &q, k: &k, v: &v, g, gk: &[], gv: &[], beta: &beta };
            let o = learn(&mut state, &token, (head_qk as f64).powf(-0.5));
            for (j, y) in rmsnorm(&o, &out_norm, EPS, 0.0).y.into_iter().enumerate() {
                let z = qkvz[[at, sources.z[head * head_v + j]]];
                all[[at, head * head_v + j]] = y * z * sigmoid(z);
            }
        }
    }
    all.dot(&weight(&layer.out).t())
}

/// What attention adds to a sequence.
fn attention(layer: &Attention, x: &Array2<f64>, tables: &[Vec<f64>; 2]) -> Array2<f64> {
    let qkv = norm(&layer.norm, x).dot(&weight(&layer.qkv).t());
    let head_of =
        |head: usize, at: usize| qkv.slice(s![at, head * HEAD_DIM..(head + 1) * HEAD_DIM]).to_vec();
    let rope = Rope { dim: ROTATED, first: 0, interleaved: false, paired: true };
    let rotated = |head: usize, weight: &[f64], at: usize| {
        let [cos, sin] = tables.each_ref().map(|of| &of[at * rope.columns()..][..rope.columns()]);
        let mut to = Rotated::default();
        rope.rotate(&head_norm(&head_of(head, at), weight, EPS, 1.0), cos, sin, &mut to);
        to.values
    };
    let [of_q, of_k] = [&layer.q_norm, &layer.k_norm].map(numbers);
    let mut all = Array2::zeros((x.nrows(), HEADS * HEAD_DIM));
    for head in 0..HEADS {
        // Each query head is followed by its gate.
        let of_kv = 2 * HEADS + head / (HEADS / KV_HEADS);
        let each = 0..x.nrows();
        let q = each.clone().map(|at| rotated(2 * head, &of_q, at)).collect();
        let k = each.clone().map(|at| rotated(of_kv, &of_k, at)).collect();
        let v = each.map(|at| head_of(of_kv + KV_HEADS, at)).collect();
        let scale = (HEAD_DIM as f64).powf(-0.5);
        let scores = Scores { scale, window: [None, Some(0)], ..Scores::default() };
        for (at, row) in attend(&Head { q, k, v }, &scores).into_iter().enumerate() {
            let gated = row.o.into_iter().zip(head_of(2 * head + 1, at));
            let row: Array1<f64> = gated.map(|(o, gate)| o * sigmoid(gate)).collect();
            all.slice_mut(s![at, head * HEAD_DIM..(head + 1) * HEAD_DIM]).assign(&row);
        }
    }
    all.dot(&weight(&layer.out).t())
}

/// The experts of a token with their weights, and how far the last one's logit is above the next.
fn route(logits: ArrayView1<'_, f64>) -> (Vec<usize>, Vec<f64>, f64) {
    let mut order: Vec<_> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    let apart = logits[order[CHOSEN - 1]] - logits[order[CHOSEN]];
    order.truncate(CHOSEN);
    let sum: f64 = order.iter().map(|id| logits[*id].exp()).sum();
    let weights = order.iter().map(|id| logits[*id].exp() / sum).collect();
    (order, weights, apart)
}

/// The numbers of all experts' matrices.
struct Matrices {
    w1: Array3<f64>,
    w2: Array3<f64>,
}

impl Matrices {
    fn of(stream: &Stream, layer: u64) -> Self {
        let Experts { w1, w2 } = Experts::seeded(stream, layer).unwrap();
        let [w1, w2] = [w1, w2].map(|w| {
            let [experts, rows, columns] = *w.shape() else { panic!("matrices") };
            Array3::from_shape_vec((experts, rows, columns), numbers(&w)).unwrap()
        });
        Self { w1, w2 }
    }
}

/// What experts add to a sequence, how close each token's choice among them is, and that of the last one.
struct Fed {
    y: Array2<f64>,
    apart: Vec<f64>,
    last: Vec<usize>,
}

fn experts(mlp: &Mlp, matrices: &Matrices, x: &Array2<f64>) -> Fed {
    let normed = norm(&mlp.norm, x);
    let logits = normed.dot(&weight(&mlp.router).t());
    let (up, down) = (weight(&mlp.up).insert_axis(Axis(0)), weight(&mlp.down).insert_axis(Axis(0)));
    let gates = normed.dot(&Array1::from(numbers(&mlp.gate)));
    let (mut all, mut apart, mut last) = (vec![], vec![], vec![]);
    for (at, row) in normed.outer_iter().enumerate() {
        let (chosen, weights, by) = route(logits.row(at));
        apart.push(by);
        let feed =
            |w1: &Array3<f64>, w2: &Array3<f64>, weights: &[f64], shared: Option<&Array2<f64>>| {
                let ids: Vec<_> = (0..weights.len() as i32).collect();
                let layer = fused_moe::Layer {
                    x: row.insert_axis(Axis(0)),
                    w1: w1.view(),
                    w2: w2.view(),
                    b1: None,
                    b2: None,
                    act: SILU,
                    in_pairs: false,
                    weighs_input: false,
                    ids: &ids,
                    weights,
                    shared: shared.map(|shared| shared.view()),
                    between: &|row| row,
                };
                matrix([1, HIDDEN], layer.dense())
            };
        let shared = feed(&up, &down, &[sigmoid(gates[at])], None);
        let [w1, w2] = [&matrices.w1, &matrices.w2].map(|of| of.select(Axis(0), &chosen));
        all.extend(feed(&w1, &w2, &weights, Some(&shared)));
        last = chosen;
    }
    Fed { y: matrix([x.nrows(), HIDDEN], all), apart, last }
}

/// What the model makes of a sequence in f64, and of each layer, how close choices are and the last one.
type Made = (Array2<f64>, [(Vec<f64>, Vec<usize>); 2]);

fn sequence(model: &Model, of: &[Matrices; 2], x: Array2<f64>) -> Made {
    let tables = [&model.cos, &model.sin].map(numbers);
    let x = delta_rule(&model.delta, &x) + x;
    let first = experts(&model.mlps[0], &of[0], &x);
    let x = first.y + x;
    let x = attention(&model.attention, &x, &tables) + x;
    let second = experts(&model.mlps[1], &of[1], &x);
    (second.y + x, [(first.apart, first.last), (second.apart, second.last)])
}

/// What the model makes of all tokens, in f64, and each layer's experts of the last ones.
fn reference(model: &Model, stream: &Stream) -> ([Vec<f64>; SEQUENCES], [Vec<usize>; 2]) {
    let of = [0, 1].map(|layer| Matrices::of(stream, layer));
    let mut rows = decode(&embedded::<Model>(&ALL)).into_iter();
    let mut chosen = <[Vec<_>; 2]>::default();
    let y = ALL.map(|range| {
        let x = rows.by_ref().take(range.len() * HIDDEN).collect();
        let (y, layers) = sequence(model, &of, matrix([range.len(), HIDDEN], x));
        for (layer, (apart, last)) in layers.into_iter().enumerate() {
            for (at, by) in apart.into_iter().enumerate() {
                assert!(by > APART, "layer {layer}, token {at}: experts are only {by} apart");
            }
            chosen[layer].extend(last);
        }
        y.into_iter().collect()
    });
    (y, chosen)
}

/// Bytes that the last step cannot do without.
fn compulsory(model: &Model, chosen: &[Vec<usize>; 2]) -> usize {
    let QkvzbaHeads { num_heads_qk, num_heads_v, head_qk, head_v } = DELTA;
    let delta = &model.delta;
    let floats = [&delta.norm, &delta.a_log, &delta.dt_bias, &delta.out_norm];
    let linears = [&delta.qkvz, &delta.ba, &delta.conv, &delta.out];
    let of_delta = floats.map(bytes).iter().chain(&linears.map(bytes)).sum::<usize>();
    let channels = 2 * num_heads_qk * head_qk + num_heads_v * head_v;
    let conv = SEQUENCES * channels * (TAPS - 1) * size_of::<bf16>();
    let state = SEQUENCES * num_heads_v * head_qk * head_v * size_of::<f32>();
    let attention = &model.attention;
    let norms = [&attention.norm, &attention.q_norm, &attention.k_norm];
    let linears = [&attention.qkv, &attention.out];
    let of_attention = norms.map(bytes).iter().chain(&linears.map(bytes)).sum::<usize>();
    let rows = ALL.iter().map(Range::len).sum::<usize>() + SEQUENCES;
    let cache = rows * 2 * KV_HEADS * HEAD_DIM * size_of::<bf16>();
    let of_mlp = |(mlp, chosen): (&Mlp, &Vec<usize>)| {
        let matrices = [&mlp.router, &mlp.up, &mlp.down, &mlp.gate].map(bytes);
        let experts = distinct(chosen) * 3 * INNER * HIDDEN * size_of::<bf16>();
        bytes(&mlp.norm) + matrices.iter().sum::<usize>() + experts
    };
    let x = SEQUENCES * HIDDEN * size_of::<bf16>();
    let mlps = model.mlps.iter().zip(chosen).map(of_mlp).sum::<usize>();
    of_delta + of_attention + mlps + 2 * (conv + state + x) + cache
}

fn agrees(device: &str) {
    sanitized();
    let stream = Device::open(device).unwrap().new_stream().unwrap();
    let mut model = Model::seeded(&stream).unwrap();
    let (expected, chosen) = reference(&model, &stream);
    let compulsory = compulsory(&model, &chosen);
    let model = (&mut model, &stream);
    agrees_every_way(device, model, (&expected, &LIMITS), (compulsory, MOVED));
}

#[test]
fn qwen3_next_agrees_with_f64_at_once_step_by_step_and_from_a_graph_on_mi325x() {
    agrees("sim:mi325x");
}

#[test]
fn qwen3_next_agrees_with_f64_at_once_step_by_step_and_from_a_graph_on_mi355x() {
    agrees("sim:mi355x");
}

#[test]
fn qwen3_next_refuses_tokens_beyond_its_cache() {
    refuses_beyond_the_cache::<Model>();
}

#[test]
fn the_example_runs() {
    run::<Model>(&Device::open(DEVICE).unwrap()).unwrap();
}
