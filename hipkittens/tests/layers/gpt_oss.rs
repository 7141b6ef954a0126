//! The decoder of the example `gpt_oss`: all at once, step by step, from a graph, and in f64.

use std::ops::Range;

use hipkittens::dtype::decode;
use hipkittens::moe::{F4x2E2M1, MxMatrices};
use hipkittens::{Device, Stream, Tensor, bf16};
use hk_ref::attn::attention::{Head, Scores, attend};
use hk_ref::attn::rope::{Rope, Rotated};
use hk_ref::moe::fused_moe;
use hk_ref::moe::ragged::Act;
use hk_ref::norm::rmsnorm::rmsnorm;
use ndarray::{Array1, Array2, Array3, ArrayView2, s};

use super::{
    ALL, Limits, agrees_every_way, bytes, distinct, matrix, numbers, refuses_beyond_the_cache,
    sanitized,
};
use crate::shared::{CONTEXT, DEVICE, Decoder, SEQUENCES, embedded, run};

#[path = "../../examples/gpt_oss/model.rs"]
mod model;
#[path = "../../examples/gpt_oss/step.rs"]
mod step;
#[path = "../../examples/gpt_oss/weights.rs"]
mod weights;

use model::{EPS, EXPERTS, HEAD_DIM, HEADS, HIDDEN, INNER, KV_HEADS, LAYERS, Layer, Linear, Model};
use weights::Experts;

/// How far results may be apart, all together: from f64, and of one way through the model from
/// another one. Both round what passes between ops to bf16, 2^-9 at most, ten times.
const LIMITS: Limits = Limits { reference: 1e-2, ways: 5e-3 };

/// How much larger the logit of the last chosen expert has to be than that of the first one that is
/// not chosen: no rounding chooses another expert.
const APART: f64 = 0.03;

/// How many times the bytes that a step cannot do without it may move.
const MOVED: f64 = 1.35;

/// Of each token.
const CHOSEN: usize = 4;

fn linear(linear: &Linear, x: &Array2<f64>) -> Array2<f64> {
    let [n, k] = *linear.weight.shape() else { panic!("a matrix") };
    x.dot(&matrix([n, k], numbers(&linear.weight)).t()) + matrix([1, n], numbers(&linear.bias))
}

fn norm(weight: &Tensor<f32>, x: &Array2<f64>) -> Array2<f64> {
    let rows: Vec<_> = x.iter().copied().collect();
    matrix([x.nrows(), HIDDEN], rmsnorm(&rows, &numbers(weight), EPS, 0.0).y)
}

/// The numbers that matrices in blocks of MX stand for.
fn matrices(mx: &MxMatrices<F4x2E2M1>) -> Array3<f64> {
    let [experts, rows, columns] = *mx.codes.shape() else { panic!("matrices") };
    let scales = numbers(&mx.scales);
    let scaled = numbers(&mx.codes).into_iter().enumerate().map(|(at, x)| x * scales[at / 32]);
    Array3::from_shape_vec((experts, rows, columns), scaled.collect()).unwrap()
}

/// Rotated heads, from one of the columns of products on: `[head][token]`.
fn rotated(qkv: &Array2<f64>, heads: Range<usize>, tables: &[Vec<f64>; 2]) -> Vec<Vec<Vec<f64>>> {
    let rope = Rope { dim: HEAD_DIM, first: 0, interleaved: false, paired: true };
    let row = |head: usize, at: usize| {
        let x = head_of(qkv, head, at);
        let [cos, sin] = tables.each_ref().map(|of| &of[at * rope.columns()..][..rope.columns()]);
        let mut to = Rotated::default();
        rope.rotate(&x, cos, sin, &mut to);
        to.values
    };
    heads.map(|head| (0..qkv.nrows()).map(|at| row(head, at)).collect()).collect()
}

fn head_of(qkv: &Array2<f64>, head: usize, at: usize) -> Vec<f64> {
    qkv.row(at).iter().skip(head * HEAD_DIM).take(HEAD_DIM).copied().collect()
}

/// What attention to a sequence makes of its products.
fn attention(layer: &Layer, qkv: &Array2<f64>, tables: &[Vec<f64>; 2]) -> Array2<f64> {
    let q = rotated(qkv, 0..HEADS, tables);
    let k = rotated(qkv, HEADS..HEADS + KV_HEADS, tables);
    let sinks = numbers(&layer.sinks);
    let mut all = Array2::zeros((qkv.nrows(), HEADS * HEAD_DIM));
    for (head, q) in q.into_iter().enumerate() {
        let of_kv = head / (HEADS / KV_HEADS);
        let v = (0..qkv.nrows()).map(|at| head_of(qkv, HEADS + KV_HEADS + of_kv, at)).collect();
        let scores = Scores {
            scale: (HEAD_DIM as f64).powf(-0.5),
            window: [layer.window.map(|left| left as usize), Some(0)],
            sink: Some(sinks[head]),
            ..Scores::default()
        };
        let rows = attend(&Head { q, k: k[of_kv].clone(), v }, &scores);
        for (at, row) in rows.into_iter().enumerate() {
            let columns = s![at, head * HEAD_DIM..(head + 1) * HEAD_DIM];
            all.slice_mut(columns).assign(&Array1::from(row.o));
        }
    }
    all
}

/// The four experts of each token with their weights.
fn route(logits: ArrayView2<'_, f64>) -> (Vec<i32>, Vec<f64>) {
    let (mut ids, mut weights) = (vec![], vec![]);
    for logits in logits.outer_iter() {
        let mut order: Vec<_> = (0..EXPERTS).collect();
        order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
        let apart = logits[order[CHOSEN - 1]] - logits[order[CHOSEN]];
        assert!(apart > APART, "experts {:?} are only {apart} apart", &order[CHOSEN - 1..=CHOSEN]);
        let sum: f64 = order[..CHOSEN].iter().map(|id| logits[*id].exp()).sum();
        ids.extend(order[..CHOSEN].iter().map(|id| *id as i32));
        weights.extend(order[..CHOSEN].iter().map(|id| logits[*id].exp() / sum));
    }
    (ids, weights)
}

/// What a layer makes of a sequence, and the experts of its last token.
fn layer(
    layer: &Layer,
    experts: &Experts,
    x: Array2<f64>,
    tables: &[Vec<f64>; 2],
) -> (Array2<f64>, Vec<usize>) {
    let qkv = linear(&layer.qkv, &norm(&layer.attention_norm, &x));
    let x = linear(&layer.out, &attention(layer, &qkv, tables)) + x;
    let normed = norm(&layer.mlp_norm, &x);
    let (ids, weights) = route(linear(&layer.router, &normed).view());
    let (w1, w2) = (matrices(&experts.w1), matrices(&experts.w2));
    let [b1, b2] = [(&experts.b1, 2 * INNER), (&experts.b2, HIDDEN)]
        .map(|(bias, width)| matrix([EXPERTS, width], numbers(bias)));
    let experts = fused_moe::Layer {
        x: normed.view(),
        w1: w1.view(),
        w2: w2.view(),
        b1: Some(b1.view()),
        b2: Some(b2.view()),
        act: Act::Swiglu { alpha: 1.702, limit: 7.0, offset: 1.0 },
        in_pairs: false,
        weighs_input: false,
        ids: &ids,
        weights: &weights,
        shared: Some(x.view()),
        between: &|row| row,
    };
    let last = ids[ids.len() - CHOSEN..].iter().map(|id| *id as usize).collect();
    (matrix([x.nrows(), HIDDEN], experts.dense()), last)
}

/// What the model makes of all tokens, in f64, and each layer's experts of the last ones.
fn reference(model: &Model, stream: &Stream) -> ([Vec<f64>; SEQUENCES], [Vec<usize>; LAYERS]) {
    let tables = [&model.cos, &model.sin].map(numbers);
    let mut rows = decode(&embedded::<Model>(&ALL)).into_iter();
    let mut chosen = <[Vec<_>; LAYERS]>::default();
    let y = ALL.map(|range| {
        let x = rows.by_ref().take(range.len() * HIDDEN).collect();
        let mut x = matrix([range.len(), HIDDEN], x);
        for (i, of) in model.layers.iter().enumerate() {
            let last;
            (x, last) = layer(of, &Experts::seeded(stream, i).unwrap(), x, &tables);
            chosen[i].extend(last);
        }
        x.into_iter().collect()
    });
    (y, chosen)
}

/// Bytes that the last step cannot do without.
fn compulsory(model: &Model, stream: &Stream, chosen: &[Vec<usize>; LAYERS]) -> usize {
    let linear = |of: &Linear| bytes(&of.weight) + bytes(&of.bias);
    let mx = |of: &MxMatrices<F4x2E2M1>| bytes(&of.codes) + bytes(&of.scales);
    let of_layer = |(i, layer): (usize, &Layer)| {
        let Experts { w1, b1, w2, b2 } = Experts::seeded(stream, i).unwrap();
        let experts = mx(&w1) + bytes(&b1) + mx(&w2) + bytes(&b2);
        let window = layer.window.map_or(CONTEXT, |left| left as usize + 1);
        let seen = |range: &Range<usize>| range.len().min(window);
        let rows = ALL.iter().map(seen).sum::<usize>() + SEQUENCES;
        let norms = bytes(&layer.attention_norm) + bytes(&layer.mlp_norm);
        let linears = linear(&layer.qkv) + linear(&layer.out) + linear(&layer.router);
        norms
            + linears
            + bytes(&layer.sinks)
            + experts / EXPERTS * distinct(&chosen[i])
            + rows * 2 * KV_HEADS * HEAD_DIM * size_of::<bf16>()
    };
    let x = SEQUENCES * HIDDEN * size_of::<bf16>();
    2 * x + model.layers.iter().enumerate().map(of_layer).sum::<usize>()
}

fn agrees(device: &str) {
    sanitized();
    let stream = Device::open(device).unwrap().new_stream().unwrap();
    let mut model = Model::seeded(&stream).unwrap();
    let (expected, chosen) = reference(&model, &stream);
    let compulsory = compulsory(&model, &stream, &chosen);
    let model = (&mut model, &stream);
    agrees_every_way(device, model, (&expected, &LIMITS), (compulsory, MOVED));
}

#[test]
fn gpt_oss_agrees_with_f64_at_once_step_by_step_and_from_a_graph_on_mi325x() {
    agrees("sim:mi325x");
}

#[test]
fn gpt_oss_agrees_with_f64_at_once_step_by_step_and_from_a_graph_on_mi355x() {
    agrees("sim:mi355x");
}

#[test]
fn gpt_oss_refuses_tokens_beyond_its_cache() {
    refuses_beyond_the_cache::<Model>();
}

#[test]
fn the_example_runs() {
    run::<Model>(&Device::open(DEVICE).unwrap()).unwrap();
}
