//! Cases of `fused_moe`.

mod formats;
mod spec;

use hk_core::Tensor;
use hk_core::dtype::{Element, Real, Real16};
use hk_core::op::dry_run;
use hk_ref::moe::fused_moe::{Bound, Layer};
use hk_ref::{Arg, Case, CaseInfo, Draw, Setup};
use ndarray::{ArrayView2, ArrayView3};
use spec::{Route, Spec};

use super::ragged::act;
use crate::{ExpertWeights, FusedMoe, Router, SharedExpert};

/// Weights of a case.
struct Operands<W> {
    /// The numbers that they stand for.
    numbers: [Vec<f64>; 2],
    /// Rows of w1.
    rows: usize,
    in_pairs: bool,
    /// What becomes of the rows of x, and of those between the products, before they are
    /// multiplied.
    of_x: Rounding,
    of_z: Rounding,
    bound: Bound,
    /// How far results may be from those of rows that nothing becomes of, all together.
    sanity: f64,
    weights: Weights<W>,
}

/// What makes weights, with the biases of both products, if there are such.
type Weights<W> = Box<dyn Fn(Option<[Tensor<f32>; 2]>) -> W>;

/// What becomes of a row.
type Rounding = Box<dyn Fn(Vec<f64>) -> Vec<f64>>;

/// Rows that are rounded to a type.
fn rounded<T: Element>(row: Vec<f64>) -> Vec<f64> {
    hk_core::dtype::decode(&T::encode(&row))
}

/// Results whose errors average out.
const MANY: usize = 256;

/// The experts and weights of tokens.
struct Chosen {
    ids: Vec<i32>,
    weights: Vec<f64>,
}

/// What a case's router takes.
enum Routed<T: Real16> {
    Logits(Arg<f32>),
    Rounded(Arg<T>),
    Weights(Arg<T>, Arg<f32>),
    Chosen(Arg<i32>, Arg<f32>),
}

/// The router of a case, and what it chooses of the rows of x.
fn route<T: Real16>(s: &mut Setup, spec: &Spec, x: ArrayView2<'_, f64>) -> (Routed<T>, Chosen) {
    let [tokens, experts, _, hidden, _] = spec.shape;
    let f32s = |numbers: Vec<f64>| numbers.iter().map(|x| *x as f32).collect::<Vec<_>>();
    match spec.route {
        Route::Chosen(load) => {
            let slots = spec.slots();
            let ids = super::loads::ids([tokens, slots, spec.all()], load);
            let of_ids = s.given("topk_ids", &[tokens, slots], ids.clone());
            let weights = s.input::<f32>("topk_weights", &[tokens, slots], Draw::Uniform);
            let chosen = Chosen { ids, weights: weights.numbers() };
            (Routed::Chosen(of_ids, weights), chosen)
        }
        Route::Weights => {
            let weights = s.input::<T>("router_weights", &[experts, hidden], Draw::Scaled(-3));
            let bias = s.input::<f32>("router_bias", &[experts], Draw::Normal);
            let (w, b) = (weights.numbers(), bias.numbers());
            let w = ArrayView2::from_shape((experts, hidden), &w).expect("a matrix");
            let logits = x.outer_iter().flat_map(|x| {
                w.outer_iter().zip(&b).map(|(w, b)| w.dot(&x) + b).collect::<Vec<_>>()
            });
            let chosen = spec.choose(&f32s(logits.collect()));
            (Routed::Weights(weights, bias), chosen)
        }
        Route::Rounded => {
            let logits = s.input::<T>("logits", &[tokens, experts], Draw::Normal);
            let chosen = spec.choose(&f32s(logits.numbers()));
            (Routed::Rounded(logits), chosen)
        }
        _ => {
            let logits = s.input::<f32>("logits", &[tokens, experts], Draw::Normal);
            let chosen = spec.choose(&logits.elements());
            (Routed::Logits(logits), chosen)
        }
    }
}

/// A case of weights that `operands` makes.
fn case<W: ExpertWeights + 'static, Y: Real>(
    info: CaseInfo,
    spec: Spec,
    operands: impl Fn(&mut Setup, &Spec) -> Operands<W> + Send + Sync + 'static,
) -> Case {
    Case::new(info, move |s| {
        let [tokens, _, _, hidden, inner] = spec.shape;
        let x = s.input::<W::Hidden>("x", &[tokens, hidden], Draw::Normal).place(spec.place);
        let of_x = x.numbers();
        let of_x = ArrayView2::from_shape((tokens, hidden), &of_x).expect("rows");
        let (router, chosen) = route::<W::Hidden>(s, &spec, of_x);
        let Operands { numbers, rows, in_pairs, of_x: rounding, of_z, bound, sanity, weights } =
            operands(s, &spec);
        let here = spec.here();
        let biases = spec.biases.then(|| {
            let b1 = s.input::<f32>("b1", &[here, rows], Draw::Scaled(-3));
            [b1, s.input::<f32>("b2", &[here, hidden], Draw::Scaled(-3))]
        });
        let correction = spec.correction().map(|bias| s.given::<f32>("bias", &[bias.len()], bias));
        let map = spec.map.then(|| s.given::<i32>("expert_map", &[spec.all()], spec.expert_map()));
        let shared = spec.residual.map(|gated| {
            let rows = s.input::<Y>("shared", &[tokens, hidden], Draw::Normal);
            let gate =
                gated.then(|| s.input::<W::Hidden>("shared_gate", &[hidden], Draw::Scaled(-3)));
            (rows, gate)
        });

        let expected = {
            let multiplied: Vec<f64> =
                of_x.outer_iter().flat_map(|row| rounding(row.to_vec())).collect();
            let multiplied = ArrayView2::from_shape((tokens, hidden), &multiplied).expect("rows");
            let matrices = |shape, of| ArrayView3::from_shape(shape, of).expect("matrices");
            let ids: Vec<i32> = chosen.ids.iter().map(|id| spec.local(*id)).collect();
            let biases = biases.as_ref().map(|biases| biases.each_ref().map(Arg::numbers));
            let bias = |at: usize, width: usize| {
                let biases = biases.as_ref()?;
                Some(ArrayView2::from_shape((here, width), &biases[at]).expect("biases"))
            };
            let shared = shared.as_ref().map(|(rows, gate)| {
                let gate = gate.as_ref().map(Arg::numbers);
                let mut rows = ndarray::Array2::from_shape_vec((tokens, hidden), rows.numbers())
                    .expect("rows");
                for (mut row, x) in rows.outer_iter_mut().zip(of_x.outer_iter()) {
                    let gate = gate
                        .as_ref()
                        .map(|gate| x.iter().zip(gate).map(|(x, gate)| x * gate).sum::<f64>());
                    let by = gate.map_or(1.0, |gate| 1.0 / (1.0 + (-gate).exp()));
                    row.map_inplace(|x| *x *= by);
                }
                rows
            });
            let layer = Layer {
                x: multiplied,
                w1: matrices((here, rows, hidden), &numbers[0]),
                w2: matrices((here, hidden, inner), &numbers[1]),
                b1: bias(0, rows),
                b2: bias(1, hidden),
                act: act(spec.act),
                in_pairs,
                weighs_input: spec.weighs_input(),
                ids: &ids,
                weights: &chosen.weights,
                shared: shared.as_ref().map(|shared| shared.view()),
                between: &*of_z,
            };
            let expected = layer.expect(bound);
            if spec.here() <= 8 {
                assert!(distance(&expected.values, &layer.dense()) < 1e-12, "the dense layer");
            }
            let plain = Layer { x: of_x, between: &|row| row, ..layer }.expect(bound);
            let far = distance(&plain.values, &expected.values);
            let are_many = tokens * hidden >= MANY;
            assert!(!are_many || far <= sanity, "{far} from results of rows that are not rounded");
            expected
        };
        let out = s.output::<Y>("out", &[tokens, hidden], expected).place(spec.place);
        let spec = spec.clone();
        s.call(move || {
            let biases = biases.as_ref().map(|biases| biases.each_ref().map(Arg::get));
            let config = spec.config(correction.as_ref().map(Arg::get), map.as_ref().map(Arg::get));
            // There may be more tokens than there are.
            // Its arguments are those of each call as well, and are recorded then.
            let most = spec.most.unwrap_or(tokens + 3);
            let (layer, _) = dry_run(|| FusedMoe::new(config, weights(biases), most));
            let mut layer = layer?;
            let shared =
                shared.as_ref().map(|(rows, gate)| (rows.get(), gate.as_ref().map(Arg::get)));
            let shared =
                shared.as_ref().map(|(rows, gate)| SharedExpert { rows, gate: gate.as_deref() });
            let (x, mut out) = (x.get(), out.get());
            match &router {
                Routed::Logits(logits) => {
                    layer.forward_into(&x, Router::Logits(&logits.get()), shared, &mut out)
                }
                Routed::Rounded(logits) => {
                    layer.forward_into(&x, Router::RoundedLogits(&logits.get()), shared, &mut out)
                }
                Routed::Weights(weights, bias) => {
                    let (weights, bias) = (weights.get(), bias.get());
                    let router = Router::Weights { weights: &weights, bias: Some(&bias) };
                    layer.forward_into(&x, router, shared, &mut out)
                }
                Routed::Chosen(ids, weights) => {
                    let (ids, weights) = (ids.get(), weights.get());
                    let router = Router::Chosen { ids: &ids, weights: &weights };
                    layer.forward_into(&x, router, shared, &mut out)
                }
            }
        });
    })
}

/// How far numbers are from others, relative to all of them.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let sum = |of: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| of(*a, *b)).sum::<f64>();
    (sum(&|a, b| (a - b) * (a - b)) / sum(&|_, b| b * b).max(f64::MIN_POSITIVE)).sqrt()
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    formats::add(&mut cases);
    cases
}
