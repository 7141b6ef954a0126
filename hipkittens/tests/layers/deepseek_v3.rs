//! The decoder of the example `deepseek_v3`: all at once, step by step, from a graph, and in f64.

use std::ops::Range;

use hipkittens::core::op::quant::Fp8;
use hipkittens::dtype::{Element, decode};
use hipkittens::moe::{F8E4M3, F8E4M3Fnuz, Fp8Matrices, RaggedElement};
use hipkittens::{Device, Stream, Tensor, bf16};
use hk_ref::attn::attention::{Head, Scores, attend};
use hk_ref::attn::rope::{Rope, Rotated};
use hk_ref::moe::fused_moe;
use hk_ref::moe::moe_topk::{Norm, Rule, Score, moe_topk};
use hk_ref::moe::ragged::Act;
use hk_ref::norm::rmsnorm::rmsnorm;
use hk_ref::quant::quant::per_group_quant;
use ndarray::{Array1, Array2, Array3, ArrayView1, s};

use super::{
    ALL, Limits, agrees_every_way, bytes, distinct, matrix, numbers, refuses_beyond_the_cache,
    sanitized,
};
use crate::shared::{DEVICE, Decoder, SEQUENCES, embedded, run};

#[path = "../../examples/deepseek_v3/model.rs"]
mod model;
#[path = "../../examples/deepseek_v3/step.rs"]
mod step;
#[path = "../../examples/deepseek_v3/weights.rs"]
mod weights;

use model::{
    Attention, DENSE_LAYERS, EPS, EXPERTS, HEADS, HIDDEN, INNER, KV_RANK, LAYERS, Layer, Mlp,
    Model, NOPE, Q_RANK, ROPE, VALUE,
};
use weights::{BLOCK, Experts};

/// How far results may be apart, all together: from f64, and of one way through the model from
/// another one. Both round what passes between ops to bf16, 2^-9 at most, some twenty times, and make
/// rows e4m3 before the products of experts, where what is near a boundary becomes another number, up to
/// 2^-3 away. Experts, whose codes go up to 448 or to 240, have a smaller share of results on CDNA3.
const CDNA3: Limits = Limits { reference: 6.5e-3, ways: 4.5e-3 };
const CDNA4: Limits = Limits { reference: 1.3e-2, ways: 9e-3 };

/// How much larger the biased sigmoid of the last chosen expert has to be than that of the first one that is
/// not chosen, and the sums of groups: no rounding chooses another expert.
const APART: f64 = 0.012;

/// How many times the bytes that a step cannot do without it may move.
const MOVED: f64 = 1.1;

/// Experts of a token, but the last one that all have; groups, and those that experts are chosen from.
const CHOSEN: usize = 8;
const GROUPS: usize = 8;
const KEPT: usize = 4;

/// `silu(gate)` times the other.
const SILU: Act = Act::Swiglu { alpha: 1.0, limit: f64::INFINITY, offset: 0.0 };

fn weight<T: Element>(tensor: &Tensor<T>) -> Array2<f64> {
    let [n, k] = *tensor.shape() else { panic!("a matrix") };
    matrix([n, k], numbers(tensor))
}

fn norm(weight: &Tensor<f32>, x: &Array2<f64>) -> Array2<f64> {
    let rows: Vec<_> = x.iter().copied().collect();
    matrix([x.nrows(), x.ncols()], rmsnorm(&rows, &numbers(weight), EPS, 0.0).y)
}

/// Columns, as an array of their own.
fn columns(x: &Array2<f64>, range: Range<usize>) -> Array2<f64> {
    x.slice(s![.., range]).to_owned()
}

/// What attention adds to a sequence: with keys and values of each head.
fn attention(layer: &Attention, x: &Array2<f64>, tables: &[Vec<f64>; 2]) -> Array2<f64> {
    let latent = norm(&layer.norm, x).dot(&weight(&layer.down).t());
    let q_latent = norm(&layer.q_norm, &columns(&latent, 0..Q_RANK));
    let kv_latent = norm(&layer.kv_norm, &columns(&latent, Q_RANK..Q_RANK + KV_RANK));
    let q = q_latent.dot(&weight(&layer.q_up).t());
    let kv = kv_latent.dot(&weight(&layer.kv_up).t());
    let rope = Rope { dim: ROPE, first: NOPE, interleaved: true, paired: true };
    let rotated = |row: Vec<f64>, at: usize| {
        let [cos, sin] = tables.each_ref().map(|of| &of[at * rope.columns()..][..rope.columns()]);
        let mut to = Rotated::default();
        rope.rotate(&row, cos, sin, &mut to);
        to.values
    };
    let mut all = Array2::zeros((x.nrows(), HEADS * VALUE));
    for head in 0..HEADS {
        let (of_q, of_kv) = (head * (NOPE + ROPE), head * (NOPE + VALUE));
        let q = |at| rotated(q.slice(s![at, of_q..of_q + NOPE + ROPE]).to_vec(), at);
        let k = |at| {
            let nope = kv.slice(s![at, of_kv..of_kv + NOPE]);
            let pe = latent.slice(s![at, Q_RANK + KV_RANK..]);
            rotated(nope.iter().chain(pe).copied().collect(), at)
        };
        let v = |at| kv.slice(s![at, of_kv + NOPE..of_kv + NOPE + VALUE]).to_vec();
        let each = 0..x.nrows();
        let head_of = Head {
            q: each.clone().map(q).collect(),
            k: each.clone().map(k).collect(),
            v: each.map(v).collect(),
        };
        let scale = ((NOPE + ROPE) as f64).powf(-0.5);
        let scores = Scores { scale, window: [None, Some(0)], ..Scores::default() };
        for (at, row) in attend(&head_of, &scores).into_iter().enumerate() {
            let to = s![at, head * VALUE..(head + 1) * VALUE];
            all.slice_mut(to).assign(&Array1::from(row.o));
        }
    }
    all.dot(&weight(&layer.out).t())
}

/// What rows are as codes in groups of 128, which products of experts take.
fn in_groups<C: Fp8>(row: Vec<f64>) -> Vec<f64> {
    let (codes, scales) = per_group_quant::<C>(&row, row.len(), BLOCK, C::MOST);
    codes.iter().enumerate().map(|(at, code)| code * f64::from(scales[at / BLOCK])).collect()
}

/// The numbers of all experts' matrices, and the bias of the choice among them.
struct Matrices {
    w1: Array3<f64>,
    w2: Array3<f64>,
    bias: Vec<f32>,
}

fn matrices<C: Fp8>(of: &Fp8Matrices<C>) -> Array3<f64> {
    let [experts, rows, columns] = *of.codes.shape() else { panic!("matrices") };
    let shape = (experts, rows / BLOCK, columns / BLOCK);
    let scales = Array3::from_shape_vec(shape, numbers(&of.scales)).unwrap();
    let mut all = Array3::from_shape_vec((experts, rows, columns), numbers(&of.codes)).unwrap();
    all.indexed_iter_mut()
        .for_each(|((e, row, column), x)| *x *= scales[[e, row / BLOCK, column / BLOCK]]);
    all
}

impl Matrices {
    fn of<C: Fp8 + RaggedElement>(stream: &Stream, layer: usize) -> Self {
        let Experts::<C> { w1, w2, bias } = Experts::seeded(stream, layer).unwrap();
        Self { w1: matrices(&w1), w2: matrices(&w2), bias: bias.to_vec().unwrap() }
    }
}

/// The experts of a token with their weights, and how far the choice is from another one.
fn route(logits: ArrayView1<'_, f64>, bias: &[f32]) -> (Vec<usize>, Vec<f64>, f64) {
    let group_of: Vec<_> = (0..EXPERTS).map(|expert| expert / (EXPERTS / GROUPS)).collect();
    let rule = Rule {
        k: CHOSEN,
        score: Score::Sigmoid,
        bias: Some(bias.to_vec()),
        groups: Some((group_of, GROUPS, KEPT)),
        takes_low: true,
        by_value: false,
        norm: Norm::Renorm,
        scale: 2.5,
    };
    let chosen = moe_topk(&logits.mapv(|x| x as f32).to_vec(), &rule);
    let choice = |expert: usize| 1.0 / (1.0 + (-logits[expert]).exp()) + f64::from(bias[expert]);
    let descending = |mut all: Vec<f64>| {
        all.sort_by(|a, b| b.total_cmp(a));
        all
    };
    let of_group = |group: usize| {
        let each = EXPERTS / GROUPS;
        descending((group * each..(group + 1) * each).map(choice).collect())
    };
    let groups: Vec<_> = (0..GROUPS).map(of_group).collect();
    let mut order: Vec<_> = groups.iter().map(|of| (of[0] + of[1], of)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let experts = descending(order[..KEPT].iter().flat_map(|(_, of)| of.iter().copied()).collect());
    let apart = experts[CHOSEN - 1] - experts[CHOSEN];
    (chosen.experts, chosen.weights, apart.min(order[KEPT - 1].0 - order[KEPT].0))
}

/// What experts add to a sequence, which of them tokens have, and how close the choices are.
struct Fed {
    y: Array2<f64>,
    chosen: Vec<Vec<usize>>,
    apart: Vec<f64>,
}

fn experts<C: Fp8>(router: &Tensor<bf16>, of: &Matrices, normed: &Array2<f64>) -> Fed {
    let logits = normed.dot(&weight(router).t());
    let routed = logits.outer_iter().map(|logits| route(logits, &of.bias));
    let (mut chosen, mut weights, mut apart) = (vec![], vec![], vec![]);
    for (mut experts, of_experts, by) in routed {
        experts.push(EXPERTS);
        chosen.push(experts);
        weights.extend(of_experts.into_iter().chain([1.0]));
        apart.push(by);
    }
    let ids: Vec<_> = chosen.iter().flatten().map(|expert| *expert as i32).collect();
    let x = normed.outer_iter().flat_map(|row| in_groups::<C>(row.to_vec())).collect();
    let x = matrix([normed.nrows(), HIDDEN], x);
    let layer = fused_moe::Layer {
        x: x.view(),
        w1: of.w1.view(),
        w2: of.w2.view(),
        b1: None,
        b2: None,
        act: SILU,
        in_pairs: false,
        weighs_input: false,
        ids: &ids,
        weights: &weights,
        shared: None,
        between: &in_groups::<C>,
    };
    let exact = fused_moe::Bound { unit: 0.0, step: 0.0, frobenius: 0.0 };
    Fed { y: matrix([normed.nrows(), HIDDEN], layer.expect(exact).values), chosen, apart }
}

fn dense(up: &Tensor<bf16>, down: &Tensor<bf16>, normed: &Array2<f64>) -> Array2<f64> {
    let hidden = normed.dot(&weight(up).t());
    let inner = hidden.ncols() / 2;
    let gated = |(at, column): (usize, usize)| {
        SILU.value(&[hidden[[at, column]], hidden[[at, inner + column]]])
    };
    Array2::from_shape_fn((normed.nrows(), inner), gated).dot(&weight(down).t())
}

/// The experts of the tokens of each layer.
type Chosen = [[Vec<Vec<usize>>; LAYERS]; SEQUENCES];

/// What the model makes of all tokens in f64, which experts each layer's tokens have, and how close the
/// choices of each token are.
struct Reference {
    y: [Vec<f64>; SEQUENCES],
    chosen: Chosen,
    apart: [Vec<f64>; SEQUENCES],
}

fn reference<C: Fp8 + RaggedElement>(model: &Model<C>, stream: &Stream) -> Reference {
    let tables = [&model.cos, &model.sin].map(numbers);
    let of: Vec<_> = (DENSE_LAYERS..LAYERS).map(|layer| Matrices::of::<C>(stream, layer)).collect();
    let mut rows = decode(&embedded::<Model<C>>(&ALL)).into_iter();
    let (mut all, mut closest) = <(Chosen, [_; SEQUENCES])>::default();
    let y = [0, 1].map(|b| {
        let tokens = ALL[b].len();
        let mut x = matrix([tokens, HIDDEN], rows.by_ref().take(tokens * HIDDEN).collect());
        closest[b] = vec![f64::INFINITY; tokens];
        for (i, layer) in model.layers.iter().enumerate() {
            x = attention(&layer.attention, &x, &tables) + x;
            let normed = norm(&layer.mlp_norm, &x);
            x += &match &layer.mlp {
                Mlp::Dense { up, down } => dense(up, down, &normed),
                Mlp::Experts { router, .. } => {
                    let Fed { y, chosen, apart } =
                        experts::<C>(router, &of[i - DENSE_LAYERS], &normed);
                    all[b][i] = chosen;
                    closest[b].iter_mut().zip(apart).for_each(|(a, b)| *a = a.min(b));
                    y
                }
            };
        }
        x.into_iter().collect()
    });
    Reference { y, chosen: all, apart: closest }
}

/// Bytes that the last step cannot do without.
fn compulsory<C: Fp8 + RaggedElement>(model: &Model<C>, chosen: &Chosen) -> usize {
    let row = (KV_RANK + ROPE) * size_of::<bf16>();
    let rows: usize = ALL.iter().map(Range::len).sum::<usize>() + SEQUENCES;
    let per_expert = 3 * INNER * HIDDEN + 3 * INNER / BLOCK * HIDDEN / BLOCK * size_of::<f32>();
    let of_layer = |(i, layer): (usize, &Layer<C>)| {
        let Attention { norm, down, q_norm, q_up, kv_norm, kv_up, out } = &layer.attention;
        let norms = [norm, q_norm, kv_norm, &layer.mlp_norm].map(bytes).iter().sum::<usize>();
        let linears = [down, q_up, kv_up, out].map(bytes).iter().sum::<usize>();
        let mlp = match &layer.mlp {
            Mlp::Dense { up, down } => bytes(up) + bytes(down),
            Mlp::Experts { router, .. } => {
                let last = chosen.iter().flat_map(|of| of[i].last().into_iter().flatten());
                bytes(router) + distinct(last) * per_expert + EXPERTS * size_of::<f32>()
            }
        };
        norms + linears + mlp + rows * row
    };
    let x = SEQUENCES * HIDDEN * size_of::<bf16>();
    2 * x + model.layers.iter().enumerate().map(of_layer).sum::<usize>()
}

fn agrees<C: Fp8 + RaggedElement>(device: &str, limits: &Limits) {
    sanitized();
    let stream = Device::open(device).unwrap().new_stream().unwrap();
    let mut model = Model::<C>::seeded(&stream).unwrap();
    let Reference { y: expected, chosen, apart } = reference(&model, &stream);
    for (b, apart) in apart.iter().enumerate() {
        for (at, by) in apart.iter().enumerate() {
            assert!(*by > APART, "sequence {b}, token {at}: experts are only {by} apart");
        }
    }
    let compulsory = compulsory(&model, &chosen);
    let model = (&mut model, &stream);
    agrees_every_way(device, model, (&expected, limits), (compulsory, MOVED));
}

#[test]
fn deepseek_v3_agrees_with_f64_at_once_step_by_step_and_from_a_graph_on_mi325x() {
    agrees::<F8E4M3Fnuz>("sim:mi325x", &CDNA3);
}

#[test]
fn deepseek_v3_agrees_with_f64_at_once_step_by_step_and_from_a_graph_on_mi355x() {
    agrees::<F8E4M3>("sim:mi355x", &CDNA4);
}

#[test]
fn deepseek_v3_refuses_tokens_beyond_its_cache() {
    refuses_beyond_the_cache::<Model<F8E4M3>>();
}

#[test]
fn the_example_runs() {
    run::<Model<F8E4M3>>(&Device::open(DEVICE).unwrap()).unwrap();
}
