//! Formats of weights, and their cases.

use hk_core::dtype::{
    DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Real, Real16, bf16, decode, f16,
};
use hk_core::op::quant::{ByteCode, Fp8, MxCode, MxRound};
use hk_core::{Arch, Tensor};
use hk_ref::moe::fused_moe::Bound;
use hk_ref::moe::moe_op_gemm_a8w4::scaled;
use hk_ref::quant::quant::{dynamic_mx_quant, per_group_quant, per_token_quant, smooth};
use hk_ref::quant::quant_moe::static_fp8;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Placement, Setup, Size};

use super::super::int_groups::numbers;
use super::super::loads::Load;
use super::super::ragged::SWIGLU;
use super::spec::{Route, Spec};
use super::{Operands, case, rounded};
use crate::{
    A8w4Element, A8w8Weights, Activation, ByteMatrices, DenseWeights, ExpertElement, ExpertWeight,
    ExpertWeights, Fp8BlockWeights, Fp8Matrices, GroupedWeights, IntMatrices, MxMatrices,
    MxProduct, MxWeights, Mxfp4Weights, RaggedElement, RaggedOutput, StaticA8w4Weights,
    W8a16Weights,
};

/// The chips of the flavours of e4m3.
const CDNA3: Option<Arch> = Some(Arch::Gfx942);
const CDNA4: Option<Arch> = Some(Arch::Gfx950);

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

/// Of weights by which tokens are multiplied as they are.
fn of_16<T: Real16, M>(
    spec: &Spec,
    numbers: [Vec<f64>; 2],
    weights: impl Fn() -> DenseWeights<T, M> + 'static,
) -> Operands<DenseWeights<T, M>> {
    let (in_pairs, (bound, sanity)) = (spec.in_pairs, bound(T::DTYPE));
    Operands {
        numbers,
        rows: rows(spec),
        in_pairs,
        of_x: Box::new(|row| row),
        of_z: Box::new(rounded::<T>),
        bound,
        sanity,
        weights: Box::new(move |biases| {
            let weights = if in_pairs { weights().pairs() } else { weights() };
            biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
        }),
    }
}

fn dense<T: Real16 + ExpertElement>(s: &mut Setup, spec: &Spec) -> Operands<DenseWeights<T>> {
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let w1 = s.input::<T>("w1", &[here, rows, hidden], Draw::Scaled(-3)).place(spec.place);
    let w2 = s.input::<T>("w2", &[here, hidden, inner], Draw::Scaled(-3)).place(spec.place);
    let numbers = [w1.numbers(), w2.numbers()];
    of_16(spec, numbers, move || DenseWeights::new(w1.get(), w2.get()))
}

fn w8a16<T, const PER_ROW: bool>(s: &mut Setup, spec: &Spec) -> Operands<W8a16Weights<T>>
where
    T: Real16 + ExpertElement,
    i8: ExpertWeight<T>,
{
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let (w1, of_w1) = bytes::<i8>(s, ["w1", "w1_scales"], [here, rows, hidden], PER_ROW);
    let (w2, of_w2) = bytes::<i8>(s, ["w2", "w2_scales"], [here, hidden, inner], PER_ROW);
    of_16(spec, [of_w1, of_w2], move || W8a16Weights::scaled(w1(), w2()))
}

/// k of a group.
const INT_GROUP: usize = 16;

/// Matrices of integers of so many bits with scales of groups, and their numbers as type `T` has them.
fn integers<T: Real16, S: Real>(
    s: &mut Setup,
    [name, of_scales, of_zeros]: [&'static str; 3],
    [here, rows, columns]: [usize; 3],
    (bits, has_zeros): (usize, bool),
) -> (impl Fn() -> IntMatrices<S> + use<T, S>, Vec<f64>) {
    let codes = s.input::<u8>(name, &[here, rows, columns * bits / 8], Draw::Codes);
    let groups = columns / INT_GROUP;
    // Numbers of about an eighth.
    let draw = if bits == 4 { Draw::Scaled(-5) } else { Draw::Scaled(-9) };
    let scales = s.input::<S>(of_scales, &[here, rows, groups], draw);
    let shape = [here, rows * bits / 8, groups];
    let zeros = has_zeros.then(|| s.input::<u8>(of_zeros, &shape, Draw::Codes));
    let of_groups = zeros.as_ref().map(Arg::elements);
    let numbers = numbers::<T>(
        (codes.elements(), bits),
        &scales.numbers(),
        of_groups.as_deref(),
        [INT_GROUP, groups],
    );
    let make = move || {
        let matrices = match bits {
            4 => IntMatrices::of_4_bits(codes.get(), scales.get()),
            _ => IntMatrices::of_8_bits(codes.get(), scales.get()),
        };
        zeros.iter().fold(matrices, |matrices, zeros| matrices.zero_points(zeros.get()))
    };
    (make, numbers)
}

fn grouped<T: Real16 + ExpertElement, S: Real, const BITS: usize, const ZEROS: bool>(
    s: &mut Setup,
    spec: &Spec,
) -> Operands<GroupedWeights<T, S>> {
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let kind = (BITS, ZEROS);
    let of_w1 = ["w1", "w1_scales", "w1_zero_points"];
    let (w1, of_w1) = integers::<T, S>(s, of_w1, [here, rows, hidden], kind);
    let of_w2 = ["w2", "w2_scales", "w2_zero_points"];
    let (w2, of_w2) = integers::<T, S>(s, of_w2, [here, hidden, inner], kind);
    of_16(spec, [of_w1, of_w2], move || GroupedWeights::grouped(w1(), w2()))
}

/// Matrices in blocks of MX, and their numbers.
fn mx<C: MxCode>(
    s: &mut Setup,
    [name, of_scales]: [&'static str; 2],
    [here, rows, columns]: [usize; 3],
) -> (impl Fn() -> MxMatrices<C> + use<C>, Vec<f64>) {
    let codes = s.input::<C>(name, &[here, rows, columns], Draw::Codes);
    let blocks = [here, rows, columns.div_ceil(32)];
    // Numbers of about an eighth.
    let powers = if C::MOST > 6.0 { Draw::Powers(-12, -9) } else { Draw::Powers(-6, -3) };
    let scales = s.input::<E8M0>(of_scales, &blocks, powers);
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

/// What rows are as codes in blocks of MX.
fn in_blocks<X: MxCode>(row: Vec<f64>) -> Vec<f64> {
    let (codes, scales) = dynamic_mx_quant::<X>(&row, row.len(), MxRound::Even, X::MOST);
    let numbers = codes.iter().enumerate().map(|(at, code)| code * scales[at / 32].to_f64());
    numbers.collect()
}

/// How close results have to be of rows that become codes, which are so far apart.
fn coded(hidden: DType, [step, frobenius, sanity]: [f64; 3]) -> (Bound, f64) {
    (Bound { step, frobenius, ..bound(hidden).0 }, sanity)
}

const E4M3: [f64; 3] = [1.0 / 16.0, 1e-2, 6e-2];
const E2M1: [f64; 3] = [1.0 / 4.0, 2e-2, 0.35];

/// Of weights whose products take rows as codes.
fn of_codes<T: Real16, W>(
    spec: &Spec,
    numbers: [Vec<f64>; 2],
    row: fn(Vec<f64>) -> Vec<f64>,
    apart: [f64; 3],
    weights: impl Fn(Option<[Tensor<f32>; 2]>) -> W + 'static,
) -> Operands<W> {
    let (bound, sanity) = coded(T::DTYPE, apart);
    Operands {
        numbers,
        rows: rows(spec),
        in_pairs: true,
        of_x: Box::new(row),
        of_z: Box::new(move |of_z| row(rounded::<T>(of_z))),
        bound,
        sanity,
        weights: Box::new(weights),
    }
}

fn mx_coded<T, X, W>(s: &mut Setup, spec: &Spec) -> Operands<MxWeights<T, X, W>>
where
    T: Real16 + ExpertElement + RaggedOutput,
    X: MxProduct<W>,
    W: MxCode,
{
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let (w1, of_w1) = mx::<W>(s, ["w1", "w1_scales"], [here, rows, hidden]);
    let (w2, of_w2) = mx::<W>(s, ["w2", "w2_scales"], [here, hidden, inner]);
    let apart = if X::MOST > 6.0 { E4M3 } else { E2M1 };
    of_codes::<T, _>(spec, [of_w1, of_w2], in_blocks::<X>, apart, move |biases| {
        let weights = MxWeights::new(w1(), w2());
        biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
    })
}

/// What rows are as codes in groups of 128.
fn in_groups<C: Fp8>(row: Vec<f64>) -> Vec<f64> {
    let (codes, scales) = per_group_quant::<C>(&row, row.len(), 128, C::MOST);
    codes.iter().enumerate().map(|(at, code)| code * f64::from(scales[at / 128])).collect()
}

/// Matrices of 8-bit floating point with scales of blocks of so many rows, and their numbers.
fn fp8<C: Fp8>(
    s: &mut Setup,
    [name, of_scales]: [&'static str; 2],
    [here, rows, columns]: [usize; 3],
    group: usize,
) -> (impl Fn() -> Fp8Matrices<C> + use<C>, Vec<f64>) {
    let codes = s.input::<C>(name, &[here, rows, columns], Draw::Codes);
    let [down, across] = [rows.div_ceil(group), columns.div_ceil(128)];
    let scales = s.input::<f32>(of_scales, &[here, down, across], Draw::Powers(-11, -8));
    let (of_codes, by) = (codes.numbers(), scales.numbers());
    let number = |at: usize| {
        let (row, column) = (at / columns, at % columns);
        let (matrix, row) = (row / rows, row % rows);
        of_codes[at] * by[(matrix * down + row / group) * across + column / 128]
    };
    let numbers = (0..of_codes.len()).map(number).collect();
    (move || Fp8Matrices { codes: codes.get(), scales: scales.get() }, numbers)
}

fn fp8_blocks<T, C, const GROUP: usize>(
    s: &mut Setup,
    spec: &Spec,
) -> Operands<Fp8BlockWeights<T, C>>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: Fp8 + RaggedElement,
{
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let (w1, of_w1) = fp8::<C>(s, ["w1", "w1_scales"], [here, rows, hidden], GROUP);
    let (w2, of_w2) = fp8::<C>(s, ["w2", "w2_scales"], [here, hidden, inner], 128);
    of_codes::<T, _>(spec, [of_w1, of_w2], in_groups::<C>, E4M3, move |biases| {
        let weights = Fp8BlockWeights::new(w1(), w2());
        biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
    })
}

/// What rows are as codes with a scale each.
fn in_rows<C: ByteCode>(row: Vec<f64>) -> Vec<f64> {
    let (codes, scales) = per_token_quant::<C>(&row, row.len(), C::MOST);
    codes.iter().map(|code| code * f64::from(scales[0])).collect()
}

/// Matrices of 8 bits with a scale each, or for each row, and their numbers.
fn bytes<C: ByteCode>(
    s: &mut Setup,
    [name, of_scales]: [&'static str; 2],
    [here, rows, columns]: [usize; 3],
    per_row: bool,
) -> (impl Fn() -> ByteMatrices<C> + use<C>, Vec<f64>) {
    let codes = s.input::<C>(name, &[here, rows, columns], Draw::Codes);
    let shape = [here, rows];
    let shape = if per_row { &shape[..] } else { &shape[..1] };
    let scales = s.input::<f32>(of_scales, shape, Draw::Powers(-11, -8));
    let (of_codes, by) = (codes.numbers(), scales.numbers());
    let rows_of_scale = if per_row { columns } else { rows * columns };
    let numbers = of_codes.iter().enumerate().map(|(at, code)| code * by[at / rows_of_scale]);
    let numbers = numbers.collect();
    (move || ByteMatrices { codes: codes.get(), scales: scales.get() }, numbers)
}

fn a8w8<T, C, const PER_ROW: bool>(s: &mut Setup, spec: &Spec) -> Operands<A8w8Weights<T, C>>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: ByteCode + RaggedElement,
{
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let (w1, of_w1) = bytes::<C>(s, ["w1", "w1_scales"], [here, rows, hidden], PER_ROW);
    let (w2, of_w2) = bytes::<C>(s, ["w2", "w2_scales"], [here, hidden, inner], PER_ROW);
    of_codes::<T, _>(spec, [of_w1, of_w2], in_rows::<C>, E4M3, move |biases| {
        let weights = A8w8Weights::new(w1(), w2());
        biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
    })
}

/// Of i8, with rows smoothed before both products.
fn smoothed<T>(s: &mut Setup, spec: &Spec) -> Operands<A8w8Weights<T, i8>>
where
    T: Real16 + ExpertElement + RaggedOutput,
{
    let [.., hidden, inner] = spec.shape;
    let of_x = s.input::<f32>("smooth_scale", &[hidden], Draw::Powers(-3, 3));
    let of_z = s.input::<f32>("inner_smooth_scale", &[inner], Draw::Powers(-3, 3));
    let mut operands = a8w8::<T, i8, true>(s, spec);
    // Weights that go with them are divided by what their columns are multiplied by.
    let by = [of_x.numbers(), of_z.numbers()];
    let in_smooth_rows = |by: Vec<f64>| {
        move |row: Vec<f64>| {
            let codes = in_rows::<i8>(smooth(&row, &by));
            codes.iter().zip(&by).map(|(code, by)| code / by).collect::<Vec<_>>()
        }
    };
    for (numbers, by) in operands.numbers.iter_mut().zip(&by) {
        numbers.iter_mut().enumerate().for_each(|(at, number)| *number *= by[at % by.len()]);
    }
    let [by_x, by_z] = by.map(in_smooth_rows);
    operands.of_x = Box::new(by_x);
    operands.of_z = Box::new(move |row| by_z(rounded::<T>(row)));
    let weights = operands.weights;
    operands.weights = Box::new(move |biases| {
        weights(biases).smooth_scale(of_x.get()).inner_smooth_scale(of_z.get())
    });
    operands
}

/// Scales for all rows of each product, by which some numbers are beyond the largest code.
fn given_scales<C: Fp8>() -> [f32; 2] {
    [3.0 / C::MOST, 1.0 / C::MOST]
}

/// What rows are as codes by a scale.
fn by_scale<C: Fp8>(row: &[f64], scale: f32) -> Vec<f64> {
    let codes = static_fp8::<C>(row, scale, C::MOST);
    codes.iter().map(|code| code * f64::from(scale)).collect()
}

/// Of e2m1, with such scales for all rows of each product.
fn static_a8w4<T, C>(s: &mut Setup, spec: &Spec) -> Operands<StaticA8w4Weights<T, C>>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: Fp8 + A8w4Element,
{
    let ([.., hidden, inner], here, rows) = (spec.shape, spec.here(), rows(spec));
    let (w1, of_w1) = mx::<F4x2E2M1>(s, ["w1", "w1_scales"], [here, rows, hidden]);
    let (w2, of_w2) = mx::<F4x2E2M1>(s, ["w2", "w2_scales"], [here, hidden, inner]);
    let scales = given_scales::<C>();
    let of_x = s.given::<f32>("activation_scales[0]", &[1], vec![scales[0]]);
    let of_z = s.given::<f32>("activation_scales[1]", &[1], vec![scales[1]]);
    Operands {
        numbers: [of_w1, of_w2],
        rows,
        in_pairs: true,
        of_x: Box::new(move |row: Vec<f64>| by_scale::<C>(&row, scales[0])),
        of_z: Box::new(move |row: Vec<f64>| by_scale::<C>(&rounded::<T>(row), scales[1])),
        bound: coded(T::DTYPE, E4M3).0,
        // Numbers that are beyond the largest code are elsewhere.
        sanity: f64::INFINITY,
        weights: Box::new(move |biases| {
            let weights = StaticA8w4Weights::new(w1(), w2(), [of_x.get(), of_z.get()]);
            biases.into_iter().fold(weights, |weights, [b1, b2]| weights.biases(b1, b2))
        }),
    }
}

/// With such scales for all rows of each product.
fn given<T, C>(s: &mut Setup, spec: &Spec) -> Operands<A8w8Weights<T, C>>
where
    T: Real16 + ExpertElement + RaggedOutput,
    C: Fp8 + RaggedElement,
{
    let scales = given_scales::<C>();
    let of_x = s.given::<f32>("activation_scales[0]", &[1], vec![scales[0]]);
    let of_z = s.given::<f32>("activation_scales[1]", &[1], vec![scales[1]]);
    let mut operands = a8w8::<T, C, true>(s, spec);
    operands.of_x = Box::new(move |row: Vec<f64>| by_scale::<C>(&row, scales[0]));
    operands.of_z = Box::new(move |row: Vec<f64>| by_scale::<C>(&rounded::<T>(row), scales[1]));
    // Numbers that are beyond the largest code are elsewhere.
    operands.sanity = f64::INFINITY;
    let weights = operands.weights;
    operands.weights =
        Box::new(move |biases| weights(biases).activation_scales([of_x.get(), of_z.get()]));
    operands
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
        Spec { map: true, ..new("fewer here than slots", [9, 6, 5, 64, 32]) },
        Spec { map: true, ..grouped },
        Spec { map: true, shared: 1, residual: None, ..llama.clone() },
        Spec { map: true, ..llama },
    ]
}

/// Layers of models with as many experts, chosen as there, of smaller matrices.
fn models(cases: &mut Vec<Case>) {
    let new = Spec::new;
    let renorm = |spec| Spec { route: Route::Renorm, ..spec };
    let of_16 = [
        new("Mixtral 8x7B", [4, 8, 2, 256, 448]),
        renorm(new("Qwen3 30B-A3B", [5, 128, 8, 128, 48])),
        renorm(Spec { residual: Some(true), ..new("Qwen3-Next 80B-A3B", [5, 512, 10, 64, 32]) }),
        Spec {
            route: Route::OnInput,
            residual: Some(false),
            ..new("Llama-4 Maverick", [5, 128, 1, 80, 128])
        },
    ];
    all::<_, bf16>(cases, ("16", None), of_16, dense::<bf16>);
    let deepseek = || {
        let of = new("DeepSeek-V3", [3, 256, 8, 128, 64]);
        [Spec { route: Route::Grouped(8, 4), shared: 1, ..of }]
    };
    all::<_, bf16>(cases, ("fp8", CDNA4), deepseek(), fp8_blocks::<bf16, F8E4M3, 128>);
    all::<_, bf16>(cases, ("fp8", CDNA3), deepseek(), fp8_blocks::<bf16, F8E4M3Fnuz, 128>);
    let gpt_oss = Spec { act: SWIGLU, biases: true, ..new("GPT-OSS 120B", [7, 128, 4, 96, 96]) };
    all::<_, bf16>(cases, ("e2m1", None), [gpt_oss], mxfp4::<bf16>);
}

/// What is quick of every format.
const QUICK: [&str; 5] = ["Mixtral", "GPT-OSS", "on input", "no tokens", "several blocks"];

/// Cases of a format.
fn all<W: ExpertWeights + 'static, Y: Real>(
    cases: &mut Vec<Case>,
    (format, arch): (&'static str, Option<Arch>),
    specs: impl IntoIterator<Item = Spec>,
    operands: fn(&mut Setup, &Spec) -> Operands<W>,
) {
    let hidden = <W::Hidden as Element>::DTYPE;
    for spec in specs {
        let info = CaseInfo::new("fused_moe", "fused_moe", spec.title(), &[], &spec.shape);
        let dtype = format!("{hidden}*{format}->{}", Y::DTYPE);
        // Routers and loads are alike for all formats.
        let is_large = spec.all() * spec.shape[3] * spec.shape[4] > 500_000;
        let is_quick = (format == "16" || QUICK.contains(&spec.name)) && !is_large;
        let size = if is_quick { Size::Quick } else { Size::Core };
        cases.push(case::<W, Y>(CaseInfo { dtype, arch, size, ..info }, spec, operands));
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
    let on_input =
        Spec { route: Route::OnInput, biases: true, ..Spec::new("on input", [5, 16, 1, 64, 64]) };
    let plain = Spec { biases: true, ..Spec::new("no gates", [9, 6, 2, 64, 40]) };
    let biased = Spec { biases: true, act: Activation::SiluAndMul, ..gpt_oss.clone() };

    all::<_, bf16>(cases, ("16", None), specs(), dense::<bf16>);
    all::<_, bf16>(cases, ("16", None), places(), dense::<bf16>);
    // As many tokens as there may be would not be within 2 GiB, so far apart, but these are.
    let far = Spec {
        place: Placement::DENSE.gap(40_000),
        most: Some(32_768),
        ..Spec::new("few tokens far apart", [3, 2, 1, 16, 8])
    };
    let one_group =
        Spec { route: Route::Grouped(1, 1), ..Spec::new("one group", [9, 16, 4, 64, 32]) };
    // As many experts of a token as there may be.
    let most = Spec::new("most experts of a token", [2, 66, 64, 32, 8]);
    all::<_, bf16>(cases, ("16", None), [far, one_group, most], dense::<bf16>);
    let pairs = |spec: &Spec| Spec { in_pairs: true, ..spec.clone() };
    let in_halves = [gpt_oss.clone(), on_input.clone()];
    all::<_, bf16>(cases, ("16", None), in_halves, dense::<bf16>);
    all::<_, bf16>(cases, ("16", None), [pairs(&gpt_oss), pairs(&biased)], dense::<bf16>);
    let gelu = Spec { act: Activation::GeluTanh, ..plain.clone() };
    let none = Spec { act: Activation::None, ..plain };
    let weighed =
        [gelu.clone(), none.clone()].map(|spec| Spec { act: spec.act, ..on_input.clone() });
    all::<_, f32>(cases, ("16", None), [gelu, none], dense::<bf16>);
    all::<_, bf16>(cases, ("16", None), [pairs(&on_input)], dense::<bf16>);
    all::<_, f32>(cases, ("16", None), weighed, dense::<bf16>);
    let [small, model] = [[4, 4, 2, 64, 64], [7, 8, 2, 128, 96]];
    let of_f16 = [Spec::new("small", small), Spec::new("Mixtral", model), pairs(&gpt_oss)];
    all::<_, f16>(cases, ("16", None), of_f16, dense::<f16>);

    let few_of_16 = || specs().into_iter().take(6).chain([pairs(&gpt_oss), gpt_oss.clone()]);
    all::<_, bf16>(cases, ("i8 of 16", None), few_of_16(), w8a16::<bf16, true>);
    all::<_, f32>(cases, ("i8 of 16", None), few_of_16().take(2), w8a16::<f16, false>);

    all::<_, bf16>(cases, ("u4 of 16", None), few_of_16(), grouped::<bf16, f16, 4, true>);
    all::<_, f32>(cases, ("u4 of 16", None), few_of_16().take(3), grouped::<f16, f32, 4, false>);
    all::<_, bf16>(cases, ("u8 of 16", None), few_of_16().take(3), grouped::<bf16, bf16, 8, true>);
    all::<_, bf16>(cases, ("u8 of 16", None), [on_input.clone()], grouped::<bf16, f32, 8, false>);
    let gelu = Spec { act: Activation::GeluTanh, ..on_input.clone() };
    all::<_, bf16>(cases, ("u4 of 16", None), [gelu], grouped::<bf16, f32, 4, true>);

    let mx = [gpt_oss.clone(), biased, on_input.clone()];
    all::<_, bf16>(cases, ("e2m1", None), mx.into_iter().chain(specs()), mxfp4::<bf16>);
    all::<_, f32>(cases, ("e2m1", None), [gpt_oss.clone()], mxfp4::<f16>);
    let of_blocks = |act| {
        // One block and a part of one between the products.
        let plain = Spec { act, biases: true, ..Spec::new("no gates", [9, 6, 2, 64, 40]) };
        let nothing =
            Spec { shape: [0, 6, 2, 64, 40], name: "no gates, no tokens", ..plain.clone() };
        [plain, nothing, Spec { act, ..on_input.clone() }]
    };
    all::<_, bf16>(cases, ("e2m1", None), of_blocks(Activation::GeluTanh), mxfp4::<bf16>);
    all::<_, f32>(cases, ("e2m1", None), of_blocks(Activation::None), mxfp4::<f16>);

    let coded = specs();
    let swiglu = || [gpt_oss.clone(), Spec { act: Activation::GeluTanh, ..gpt_oss.clone() }];
    let with_swiglu = || coded.iter().cloned().chain(swiglu()).chain([on_input.clone()]);
    all::<_, bf16>(cases, ("mxfp8", None), with_swiglu(), mx_coded::<bf16, F8E4M3, F8E4M3>);
    all::<_, bf16>(cases, ("a8w4", None), with_swiglu(), mx_coded::<bf16, F8E4M3, F4x2E2M1>);
    all::<_, bf16>(cases, ("a4w4", None), with_swiglu(), mx_coded::<bf16, F4x2E2M1, F4x2E2M1>);
    let few = || [coded[1].clone(), coded[4].clone()];
    all::<_, f32>(cases, ("mxfp8", None), few(), mx_coded::<f16, F8E4M3, F8E4M3>);
    all::<_, f32>(cases, ("a8w4", None), few(), mx_coded::<f16, F8E4M3, F4x2E2M1>);
    all::<_, f32>(cases, ("a4w4", None), few(), mx_coded::<f16, F4x2E2M1, F4x2E2M1>);

    let wide = || {
        let spec = Spec::new("several blocks", [9, 4, 2, 272, 160]);
        coded.iter().cloned().chain([spec])
    };
    all::<_, bf16>(cases, ("fp8", CDNA4), wide(), fp8_blocks::<bf16, F8E4M3, 128>);
    all::<_, bf16>(cases, ("fp8", CDNA3), wide(), fp8_blocks::<bf16, F8E4M3Fnuz, 128>);
    let biased = || [on_input.clone(), gpt_oss.clone()];
    all::<_, bf16>(cases, ("fp8", CDNA4), biased(), fp8_blocks::<bf16, F8E4M3, 128>);
    all::<_, bf16>(cases, ("fp8", CDNA3), biased(), fp8_blocks::<bf16, F8E4M3Fnuz, 128>);
    all::<_, f16>(cases, ("fp8 rows", CDNA4), few(), fp8_blocks::<f16, F8E4M3, 1>);
    all::<_, f16>(cases, ("fp8 rows", CDNA3), few(), fp8_blocks::<f16, F8E4M3Fnuz, 1>);

    all::<_, bf16>(cases, ("i8", None), with_swiglu(), a8w8::<bf16, i8, true>);
    all::<_, f32>(cases, ("i8", None), few(), a8w8::<f16, i8, false>);
    all::<_, bf16>(cases, ("e4m3", CDNA4), with_swiglu(), a8w8::<bf16, F8E4M3, false>);
    all::<_, bf16>(cases, ("e4m3", CDNA3), with_swiglu(), a8w8::<bf16, F8E4M3Fnuz, false>);
    let smooth = || few().into_iter().chain(swiglu());
    all::<_, bf16>(cases, ("smooth i8", None), smooth(), smoothed::<bf16>);
    all::<_, f32>(cases, ("smooth i8", None), few().into_iter().take(1), smoothed::<f16>);
    all::<_, bf16>(cases, ("given e4m3", CDNA4), few(), given::<bf16, F8E4M3>);
    all::<_, bf16>(cases, ("given e4m3", CDNA3), few(), given::<bf16, F8E4M3Fnuz>);
    let of_4_bits = || few().into_iter().chain(swiglu()).chain([on_input.clone()]);
    all::<_, bf16>(cases, ("given a8w4", CDNA4), of_4_bits(), static_a8w4::<bf16, F8E4M3>);
    all::<_, bf16>(cases, ("given a8w4", CDNA3), of_4_bits(), static_a8w4::<bf16, F8E4M3Fnuz>);
    let no_gates = Spec { act: Activation::GeluTanh, ..gpt_oss };
    all::<_, f32>(cases, ("given e4m3", CDNA4), [no_gates.clone()], given::<f16, F8E4M3>);
    all::<_, f32>(cases, ("given e4m3", CDNA3), [no_gates], given::<f16, F8E4M3Fnuz>);
    models(cases);
}
