//! Formats of weights, and their cases.

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, Real, Real16, bf16, decode, f16};
use hk_ref::moe::fused_moe::Bound;
use hk_ref::moe::moe_op_gemm_a8w4::scaled;
use hk_ref::{Case, CaseInfo, Draw, Edge, Placement, Setup};

use super::super::loads::Load;
use super::spec::{Route, Spec};
use super::{Operands, case, rounded};
use crate::{Activation, DenseWeights, ExpertElement, ExpertWeights, MxMatrices, Mxfp4Weights};

/// GPT-OSS's.
const SWIGLU: Activation =
    Activation::Swiglu { alpha: 1.702, limit: Some(7.0), add_residual: true };

/// Rows of w1.
fn rows(spec: &Spec) -> usize {
    let inner = spec.shape[4];
    if spec.act.is_gated() { 2 * inner } else { inner }
}

/// How close results have to be of rows that are bf16 or f16 between the launches.
fn bound(hidden: DType) -> (Bound, f64) {
    match hidden {
        DType::F16 => {
            let unit = 2f64.powi(-11);
            (Bound { unit, step: unit, frobenius: 1e-3 }, 1e-3)
        }
        _ => (Bound { unit: 2f64.powi(-8), step: 2f64.powi(-8), frobenius: 5e-3 }, 6e-3),
    }
}

fn dense<T: Real16 + ExpertElement>(s: &mut Setup, spec: &Spec) -> Operands<DenseWeights<T>> {
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let w1 = s.input::<T>("w1", &[here, rows, hidden], Draw::Scaled(-3)).place(spec.place);
    let w2 = s.input::<T>("w2", &[here, hidden, inner], Draw::Scaled(-3)).place(spec.place);
    let (in_pairs, (bound, sanity)) = (spec.in_pairs, bound(T::DTYPE));
    Operands {
        numbers: [w1.numbers(), w2.numbers()],
        rows,
        in_pairs,
        of_x: Box::new(|row| row),
        of_z: Box::new(rounded::<T>),
        bound,
        sanity,
        weights: Box::new(move |biases| {
            let weights = DenseWeights::new(w1.get(), w2.get());
            let weights = if in_pairs { weights.pairs() } else { weights };
            biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
        }),
    }
}

/// Matrices of e2m1 in blocks of MX, and their numbers.
fn mx(
    s: &mut Setup,
    [name, of_scales]: [&'static str; 2],
    [here, rows, columns]: [usize; 3],
) -> (impl Fn() -> MxMatrices<F4x2E2M1> + use<>, Vec<f64>) {
    let codes = s.input::<F4x2E2M1>(name, &[here, rows, columns], Draw::Codes);
    let blocks = [here, rows, columns.div_ceil(32)];
    let scales = s.input::<E8M0>(of_scales, &blocks, Draw::Powers(-6, -3));
    let numbers = scaled(decode(&codes.elements()), &decode(&scales.elements()), columns);
    (move || MxMatrices { codes: codes.get(), scales: scales.get() }, numbers)
}

fn mxfp4<T: Real16 + ExpertElement>(s: &mut Setup, spec: &Spec) -> Operands<Mxfp4Weights<T>> {
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let (w1, of_w1) = mx(s, ["w1", "w1_scales"], [here, rows, hidden]);
    let (w2, of_w2) = mx(s, ["w2", "w2_scales"], [here, hidden, inner]);
    let (bound, sanity) = bound(T::DTYPE);
    Operands {
        numbers: [of_w1, of_w2],
        rows,
        in_pairs: false,
        of_x: Box::new(|row| row),
        of_z: Box::new(rounded::<T>),
        bound,
        sanity,
        weights: Box::new(move |biases| {
            let weights = Mxfp4Weights::new(w1(), w2());
            biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
        }),
    }
}

/// Layers of models, of reduced size, and what is at the ends of what can be.
fn specs() -> Vec<Spec> {
    let new = Spec::new;
    let llama = Spec { route: Route::OnInput, ..new("Llama-4", [5, 16, 1, 64, 128]) };
    let grouped =
        Spec { route: Route::Grouped(4, 2), shared: 1, ..new("DeepSeek-V3", [9, 16, 4, 128, 64]) };
    let qwen = Spec {
        route: Route::Renorm,
        residual: Some(true),
        ..new("Qwen3-Next", [7, 64, 10, 64, 64])
    };
    vec![
        new("small", [4, 4, 2, 64, 64]),
        new("Mixtral", [7, 8, 2, 128, 96]),
        Spec { route: Route::SoftmaxFirst, ..new("not a power of two", [12, 24, 6, 64, 32]) },
        Spec { residual: Some(false), ..llama.clone() },
        grouped.clone(),
        qwen,
        Spec { route: Route::SqrtSoftplus, ..new("one token", [1, 8, 2, 64, 64]) },
        new("no tokens", [0, 8, 2, 64, 64]),
        Spec { route: Route::Rounded, ..new("logits as tokens", [19, 8, 2, 64, 64]) },
        Spec { route: Route::Weights, ..new("a router's weights", [21, 8, 2, 64, 64]) },
        Spec { route: Route::Chosen(Load::One(2)), ..new("one expert", [150, 4, 1, 64, 32]) },
        Spec { route: Route::Chosen(Load::Absent), ..new("no experts", [5, 4, 2, 64, 32]) },
        Spec { route: Route::Chosen(Load::Zipf), ..new("skewed", [37, 8, 2, 96, 32]) },
        Spec { map: true, ..new("elsewhere", [9, 8, 2, 64, 64]) },
        Spec { map: true, ..grouped },
        Spec { map: true, ..llama },
    ]
}

/// Cases of a format.
fn all<W: ExpertWeights + 'static, Y: Real>(
    cases: &mut Vec<Case>,
    format: &'static str,
    specs: impl IntoIterator<Item = Spec>,
    operands: fn(&mut Setup, &Spec) -> Operands<W>,
) {
    let hidden = <W::Hidden as Element>::DTYPE;
    for spec in specs {
        let info = CaseInfo::new("fused_moe", "fused_moe", spec.title(), &[], &spec.shape);
        let dtype = format!("{hidden}*{format}->{}", Y::DTYPE);
        cases.push(case::<W, Y>(CaseInfo { dtype, ..info }, spec, operands));
    }
}

/// Where rows of tokens and of weights are.
fn places() -> impl Iterator<Item = Spec> {
    [
        (Placement::DENSE.gap(48), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ]
    .map(|(place, name)| Spec { place, ..Spec::new(name, [6, 5, 2, 72, 40]) })
    .into_iter()
}

pub(super) fn add(cases: &mut Vec<Case>) {
    let gpt_oss = Spec { act: SWIGLU, biases: true, ..Spec::new("GPT-OSS", [16, 32, 4, 96, 96]) };
    let on_input = Spec { route: Route::OnInput, ..Spec::new("on input", [5, 16, 1, 64, 64]) };
    let plain = Spec { biases: true, ..Spec::new("no gates", [9, 6, 2, 64, 40]) };
    let biased = Spec { biases: true, act: Activation::SiluAndMul, ..gpt_oss.clone() };

    all::<_, bf16>(cases, "16", specs(), dense::<bf16>);
    all::<_, bf16>(cases, "16", places(), dense::<bf16>);
    let pairs = |spec: &Spec| Spec { in_pairs: true, ..spec.clone() };
    all::<_, bf16>(cases, "16", [pairs(&gpt_oss), pairs(&biased)], dense::<bf16>);
    let gelu = Spec { act: Activation::GeluTanh, ..plain.clone() };
    let none = Spec { act: Activation::None, ..plain };
    all::<_, f32>(cases, "16", [gelu, none], dense::<bf16>);
    let [small, model] = [[4, 4, 2, 64, 64], [7, 8, 2, 128, 96]];
    let of_f16 = [Spec::new("small", small), Spec::new("Mixtral", model), pairs(&gpt_oss)];
    all::<_, f16>(cases, "16", of_f16, dense::<f16>);

    let mx = [gpt_oss.clone(), biased, Spec { biases: true, ..on_input }];
    all::<_, bf16>(cases, "e2m1", mx.into_iter().chain(specs()), mxfp4::<bf16>);
    all::<_, f32>(cases, "e2m1", [gpt_oss], mxfp4::<f16>);
}
