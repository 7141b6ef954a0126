//! Cases of `gemm_a16w16_gated`.

use std::iter;

use hk_core::Arch;
use hk_core::dtype::{DType, Real, Real16, bf16, f16};
use hk_ref::gemm::gemm_a16w16_gated::{Step, Term, expect_gated};
use hk_ref::{Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Size, real};
use ndarray::{ArrayView2, Axis};

use super::config::Config;
use super::gemm_a16w16::Getter;
use super::gemm_a16w16_cases::ACTIVATIONS;
use super::gemm_a16w16_limits::TURNS;
use crate::{Activation, Epilogue, GemmOptions, Layout, gemm_a16w16_gated_into};

/// A case as data.
#[derive(Clone)]
struct Spec {
    name: String,
    /// m, n, k, where w has 2n rows.
    shape: [usize; 3],
    layout: Layout,
    /// Of x, and of w.
    draw: [Draw; 2],
    /// Keeps one element of a row of x, and zeros around it: sums are exact.
    one_term: bool,
    /// Results are exact, and so are the signs of zeros.
    bits: bool,
    activation: Option<Activation>,
    bias: Option<DType>,
    /// Or one number for all.
    bias_number: Option<f32>,
    residual: bool,
    /// Stores tensors of y's shape, besides y, by columns.
    by_columns: bool,
    /// At last multiplies the result by a number, adds as many times what it is then, and a product.
    scale: Option<f32>,
    /// Or adds numbers of columns of that type.
    columns: Option<DType>,
    /// With a scale: then multiplies by numbers of rows of that type.
    rows: Option<DType>,
    /// Or adds the product of two tensors of that type, of the shape of y and of that.
    factors: Option<(DType, [usize; 2])>,
    /// At the very last.
    last: Option<Activation>,
    special: bool,
    splits: Option<u32>,
    compute_units: Option<u32>,
    tile: Option<(Arch, &'static str)>,
    place: Placement,
    size: Size,
}

fn spec(name: impl Into<String>, shape: [usize; 3]) -> Spec {
    Spec {
        name: name.into(),
        shape,
        layout: Layout::Tn,
        draw: [Draw::Normal; 2],
        one_term: false,
        bits: false,
        activation: Some(Activation::Silu),
        bias: None,
        bias_number: None,
        residual: false,
        by_columns: false,
        scale: None,
        columns: None,
        rows: None,
        factors: None,
        last: None,
        special: false,
        splits: None,
        compute_units: None,
        tile: None,
        place: Placement::default(),
        size: Size::Quick,
    }
}

fn case<T: Real16, Y: Real>(spec: Spec) -> Case {
    let gate = spec.activation.map_or_else(|| "none".into(), |of| format!("{of:?}"));
    let name = format!("{}, {}, gate {gate}", spec.name, spec.layout.name());
    let name = spec.bias.map_or(name.clone(), |kind| format!("{name}, bias {kind}"));
    let info = CaseInfo::new("gemm_a16w16_gated", "gemm_a16w16_gated", name, &[], &spec.shape);
    let dtype = format!("{}->{}", T::DTYPE, Y::DTYPE);
    let arch = spec.tile.map(|(arch, _)| arch);
    Case::new(CaseInfo { dtype, arch, size: spec.size, ..info }, move |s| {
        let [m, n, k] = spec.shape;
        let [x_transposed, w_transposed] =
            [spec.layout.x_is_transposed(), spec.layout.w_is_transposed()];
        let shape = |rows, transposed| if transposed { [k, rows] } else { [rows, k] };
        let mut elements: Vec<T> = s.draw("x", &[m * k], spec.draw[0]);
        if spec.one_term {
            let others = elements.iter_mut().enumerate().filter(|(at, _)| at % k != k / 3);
            others.for_each(|(_, element)| *element = T::from_f64(0.0));
        }
        if spec.special {
            let values = [f64::INFINITY, f64::NAN, f64::NEG_INFINITY];
            for (element, value) in elements.iter_mut().step_by(5 * k + 3).zip(values) {
                *element = T::encode(&[value])[0];
            }
        }
        let x = s.given("x", &shape(m, x_transposed), elements).place(spec.place);
        let w = s.input::<T>("w", &shape(2 * n, w_transposed), spec.draw[1]).place(spec.place);
        let bias = spec.bias.map(|dtype| -> (Vec<f64>, Getter) {
            real!(dtype, U => {
                let bias = s.input::<U>("bias", &[2 * n], Draw::Normal).place(spec.place);
                (bias.numbers(), Box::new(move || bias.get().into()))
            })
        });
        let order = if spec.by_columns { [1, 0] } else { [0, 1] };
        let residual = spec.residual.then(|| {
            s.input::<f32>("residual", &[m, n], Draw::Normal).place(spec.place).order(&order)
        });

        let mut operand = |name: &'static str, dtype: DType, shape: &[usize]| -> (_, Getter) {
            real!(dtype, U => {
                let of = s.input::<U>(name, shape, Draw::Normal).place(spec.place);
                let of = if shape.len() == order.len() { of.order(&order) } else { of };
                (of.numbers(), Box::new(move || of.get().into()))
            })
        };
        let columns = spec.columns.map(|dtype| operand("epilogue[0]", dtype, &[n]));
        // Behind the steps of the scale.
        let rows = spec.rows.map(|dtype| operand("epilogue[3]", dtype, &[m]));
        let factors = spec.factors.map(|(dtype, shape)| {
            let a = operand("epilogue[0].a", dtype, &[m, n]);
            (a, operand("epilogue[0].b", dtype, &shape))
        });

        let expected = {
            let of = |numbers: &[f64], rows: usize, transposed: bool| {
                let view = ArrayView2::from_shape(shape(rows, transposed), numbers)
                    .expect("a matrix of that shape");
                if transposed { view.reversed_axes().to_owned() } else { view.to_owned() }
            };
            let x = of(&x.numbers(), m, x_transposed);
            let w = of(&w.numbers(), 2 * n, w_transposed);
            let (gates, values) = w.view().split_at(Axis(0), n);
            let add_columns = |values: &[f64]| {
                Step::Add(Term { values: values.to_vec(), row_stride: 0, column_stride: 1 }, 1.0)
            };
            let before = [0..n, n..2 * n].map(|half| {
                let add = |(numbers, _): &(Vec<f64>, Getter)| add_columns(&numbers[half.clone()]);
                let number = spec.bias_number.map(|number| Step::Add(Term::number(number), 1.0));
                bias.iter().map(add).chain(number).collect::<Vec<_>>()
            });
            let mut behind: Vec<_> = residual
                .iter()
                .map(|of| Term { values: of.numbers(), row_stride: n, column_stride: 1 })
                .map(|term| Step::Add(term, 1.0))
                .collect();
            if let Some(scale) = spec.scale {
                behind.push(Step::Multiply(Term::number(scale)));
                behind.push(Step::ScaleAddSelf(scale));
                behind.push(Step::AddProduct(Term::number(scale), Term::number(3.0)));
            }
            behind.extend(columns.iter().map(|(numbers, _)| add_columns(numbers)));
            behind.extend(rows.iter().map(|(numbers, _)| {
                let values = numbers.clone();
                Step::Multiply(Term { values, row_stride: 1, column_stride: 0 })
            }));
            if let Some(((a, _), (b, _))) = &factors {
                let term = |numbers: &Vec<f64>| {
                    let [row_stride, column_stride] =
                        if numbers.len() > 1 { [n, 1] } else { [0; 2] };
                    Term { values: numbers.clone(), row_stride, column_stride }
                };
                behind.push(Step::AddProduct(term(a), term(b)));
            }
            behind.extend(spec.last.map(Step::Activate));
            let before = [before[0].as_slice(), before[1].as_slice()];
            expect_gated(x.view(), [gates, values], before, spec.activation, &behind, Y::DTYPE)
        };
        let expected = match spec.bits {
            true => Expected::bits(&Y::encode(&expected.values)),
            false => expected,
        };
        let y = s.output::<Y>("y", &[m, n], expected).place(spec.place);

        let of_each = [bias, columns, rows].map(|of| of.map(|(_, get)| get));
        let factors = factors.map(|((_, a), (_, b))| [a, b]);
        let spec = spec.clone();
        s.call(move || {
            let [bias, columns, rows] = of_each.each_ref().map(|get| get.as_ref().map(|get| get()));
            let residual = residual.as_ref().map(|residual| residual.get());
            let mut options = GemmOptions::default().layout(spec.layout);
            options = bias.iter().fold(options, GemmOptions::bias);
            options = spec.bias_number.into_iter().fold(options, GemmOptions::bias);
            options = spec.activation.into_iter().fold(options, GemmOptions::activation);
            options = residual.iter().fold(options, |options, of| options.residual(of));
            options = spec.splits.into_iter().fold(options, GemmOptions::splits);
            options = spec.compute_units.into_iter().fold(options, GemmOptions::compute_units);
            options = spec.tile.into_iter().fold(options, |options, (_, tile)| options.tile(tile));
            let mut steps = Epilogue::default();
            if let Some(scale) = spec.scale {
                steps = steps.mul_scalar(scale).scale_add_self(scale).add_product(scale, 3.0);
            }
            if let Some(columns) = &columns {
                steps = steps.add_columns(columns);
            }
            if let Some(rows) = &rows {
                steps = steps.mul_rows(rows);
            }
            let factors = factors.as_ref().map(|of| of.each_ref().map(|get| get()));
            if let Some([a, b]) = &factors {
                steps = steps.add_product(a, b);
            }
            steps = spec.last.into_iter().fold(steps, Epilogue::act);
            options = options.epilogue(steps);
            gemm_a16w16_gated_into(&x.get(), &w.get(), &options, &mut y.get())
        });
    })
}

/// Halves that are no multiples of a tile, nor of 8, among them.
const SHAPES: [[usize; 3]; 13] = [
    [1, 1, 1],
    [3, 5, 2],
    [16, 16, 16],
    [17, 33, 70],
    [1, 256, 512],
    [31, 72, 96],
    [64, 64, 64],
    [129, 127, 65],
    [64, 192, 320],
    [257, 129, 131],
    [7, 1003, 96],
    [16, 16, 16_384],
    [5, 2, 4100],
];

const GATES: [Option<Activation>; 6] = [
    None,
    Some(Activation::Gelu),
    Some(Activation::GeluTanh),
    Some(Activation::Silu),
    Some(Activation::SiluExp2),
    Some(Activation::Relu),
];

pub(super) fn add(cases: &mut Vec<Case>) {
    for shape in SHAPES {
        for layout in Layout::ALL {
            let spec = Spec { layout, ..spec("plain", shape) };
            cases.push(case::<bf16, bf16>(spec.clone()));
            cases.push(case::<f16, f32>(Spec { size: Size::Core, ..spec }));
        }
    }
    cases.push(case::<bf16, bf16>(spec("no rows", [0, 64, 64])));
    for activation in GATES {
        for (shape, splits) in [([64, 64, 64], None), ([21, 43, 1200], Some(3))] {
            let what = if splits.is_some() { "split" } else { "whole" };
            let number = format!("{what}, a number as bias");
            let number =
                Spec { bias_number: Some(0.75), activation, splits, ..spec(number, shape) };
            cases.push(case::<bf16, f32>(number));
            for bias in iter::once(None).chain(REALS.map(Some)) {
                let spec = Spec { activation, bias, splits, ..spec(what, shape) };
                cases.push(case::<bf16, bf16>(spec.clone()));
                cases.push(case::<f16, f16>(Spec { residual: true, ..spec.clone() }));
                let name = format!("{what}, scaled at last");
                let all = Spec { name, residual: true, scale: Some(0.5), ..spec.clone() };
                cases.push(case::<bf16, f32>(all));
                let name = format!("{what}, columns at last");
                let columns = bias.or(Some(DType::F16));
                cases.push(case::<bf16, f32>(Spec { name, columns, ..spec }));
            }
        }
    }
    activations(cases);
    factors(cases);
    for draw in [Draw::Outliers, Draw::Uniform, Draw::Zeros] {
        let spec = Spec { draw: [draw; 2], ..spec(format!("{draw:?}"), [24, 40, 200]) };
        cases.push(case::<bf16, f32>(spec.clone()));
        cases.push(case::<f16, f16>(Spec { splits: Some(2), ..spec }));
    }
    let special = Spec { special: true, ..spec("special values", [24, 40, 200]) };
    cases.push(case::<bf16, f32>(special));
    for (place, name) in [
        (Placement::DENSE.gap(24), "rows of wider tensors"),
        (Placement::DENSE.gap(5).shift(3), "rows off alignment"),
        (Placement::DENSE.edge(Edge::Start), "start of memory"),
        (Placement::DENSE.edge(Edge::End), "end of memory"),
    ] {
        for layout in Layout::ALL {
            for (shape, splits) in [([40, 72, 80], None), ([17, 33, 1210], Some(2))] {
                let spec = Spec { place, splits, layout, residual: true, ..spec(name, shape) };
                cases.push(case::<bf16, bf16>(spec));
            }
        }
        // Halves of a bias that are aligned, or not, and end within a run.
        for n in [1, 3, 7, 8, 15, 39, 40] {
            for (bias, k) in [(DType::Bf16, 40), (DType::Bf16, 610), (DType::F32, 610)] {
                let splits = (k > 40).then_some(2);
                let biased = Spec { bias: Some(bias), place, splits, ..spec(name, [17, n, k]) };
                cases.push(case::<bf16, bf16>(biased.clone()));
                cases.push(case::<f16, f16>(Spec { residual: true, ..biased.clone() }));
                cases.push(case::<bf16, f32>(Spec { size: Size::Core, ..biased }));
            }
        }
    }
    for [m, n] in TURNS {
        let few = spec("several turns of few workgroups", [m, n, 1200]);
        let few = Spec { bias: Some(DType::F32), residual: true, splits: Some(2), ..few };
        cases.push(case::<bf16, bf16>(Spec { compute_units: Some(1), ..few }));
    }
    tiles(cases);
    for [n, k] in [[28_672, 8192], [18_432, 7168], [512, 2048]] {
        for m in [1, 64] {
            cases.push(case::<bf16, bf16>(Spec { size: Size::Large, ..spec("model", [m, n, k]) }));
        }
    }
}

/// Products of two tensors, or of one and a number in memory, of each type.
fn factors(cases: &mut Vec<Case>) {
    for dtype in REALS {
        // Waves of whole runs, of short ones, and of both.
        let split = [[64, 64, 1200], [70, 5, 1200], [21, 43, 1200]].map(|shape| (shape, Some(3)));
        for (shape, splits) in iter::once(([40, 40, 64], None)).chain(split) {
            let what = if splits.is_some() { "split" } else { "whole" };
            for (of_b, name) in
                [([shape[0], shape[1]], "two tensors"), ([1, 1], "a tensor and one")]
            {
                let spec = spec(format!("{what}, product of {name} of {dtype}"), shape);
                cases.push(case::<bf16, f32>(Spec {
                    factors: Some((dtype, of_b)),
                    splits,
                    ..spec
                }));
            }
            let by_columns = spec(format!("{what}, tensors of {dtype} by columns"), shape);
            let factors = Some((dtype, [shape[0], shape[1]]));
            let by_columns = Spec { by_columns: true, residual: true, factors, ..by_columns };
            cases.push(case::<bf16, f32>(Spec { splits, ..by_columns }));
        }
    }
}

/// Activations behind the gate of numbers small enough that they differ, of exact ones up to the ends of
/// powers, and of zeros of both signs; gates of exact numbers.
fn activations(cases: &mut Vec<Case>) {
    let shapes = [([40, 40, 64], None, "whole"), ([21, 43, 1200], Some(3), "split")];
    let slopes = [-0.5, 2.5].map(Activation::LeakyRelu);
    for (shape, splits, what) in shapes {
        for (turn, activation) in ACTIVATIONS.into_iter().chain(slopes).enumerate() {
            let spec = |name: &str| {
                let spec = spec(format!("{what}, {name}, {activation:?} at last"), shape);
                Spec { splits, last: Some(activation), ..spec }
            };
            let rows = Some(REALS[turn % 3]);
            cases.push(case::<bf16, f32>(Spec { rows, scale: Some(0.01), ..spec("rows") }));
            // Squares of x, of eight digits each, with either sign.
            let draw = [Draw::Scaled(3), Draw::Integers(-1, 2)];
            let exact = Spec { draw, one_term: true, activation: None, ..spec("exact") };
            cases.push(case::<bf16, f32>(exact.clone()));
            if matches!(activation, Activation::Relu | Activation::Relu6) || turn >= 10 {
                let name = exact.name.replace("exact", "bit by bit");
                cases.push(case::<bf16, f32>(Spec { name, bits: true, ..exact }));
            }
        }
        // Products of integers, many of them in the middle between two numbers of 16 bits.
        let draw = [Draw::Integers(-8, 9); 2];
        let bits = Spec {
            draw,
            one_term: true,
            bits: true,
            activation: None,
            splits,
            ..spec(format!("{what}, bit by bit"), shape)
        };
        cases.push(case::<bf16, bf16>(bits.clone()));
        cases.push(case::<f16, f16>(bits));
        for activation in GATES {
            let draw = [Draw::Scaled(5), Draw::Normal];
            let spec = spec(format!("{what}, exact gates"), shape);
            let exact = Spec { draw, one_term: true, activation, splits, ..spec };
            cases.push(case::<bf16, f32>(exact));
        }
    }
}

/// Every tile configuration, whether it would be chosen or not.
fn tiles(cases: &mut Vec<Case>) {
    let end = Placement::DENSE.edge(Edge::End);
    for config in Config::all("a16w16_gated") {
        let Config { m, n, k, stages, layout, .. } = config;
        let mut push = |what: &str, shape, result: DType| {
            let spec = Spec {
                splits: Some(1),
                tile: Some((config.arch, config.name)),
                layout,
                size: if what.is_empty() { Size::Quick } else { Size::Core },
                place: end,
                ..spec(format!("tile {}{what}", config.name), shape)
            };
            cases.push(match (config.dtype, result) {
                (DType::Bf16, DType::Bf16) => case::<bf16, bf16>(spec),
                (DType::Bf16, _) => case::<bf16, f32>(spec),
                _ => case::<f16, f32>(spec),
            });
        };
        let (n, steps) = (n / 2, (3 * stages - 1).max(4));
        push("", [m + 5, n + 9, (steps - 1) * k + 7], DType::F32);
        for steps in 1..=4 {
            push(", whole", [m, n, steps * k], DType::Bf16);
        }
        push(", 11 x 3 blocks", [11 * m, 3 * n, 16], DType::F32);
        // With a bias, columns are never cut apart.
        let (lines, deep) = config.tail();
        for (what, shape, bias) in [
            ("row", [lines * m - 3, n - 5, deep + 8], Some(DType::F32)),
            ("column", [m - 3, lines * n - 5, deep + 8], None),
        ] {
            let name = format!("tile {}, the last {what} of blocks cut", config.name);
            let cut = Spec {
                compute_units: Some(2),
                tile: Some((config.arch, config.name)),
                layout,
                bias,
                residual: true,
                size: Size::Core,
                place: end,
                ..spec(name, shape)
            };
            cases.push(match config.dtype {
                DType::Bf16 => case::<bf16, bf16>(cut),
                _ => case::<f16, f32>(cut),
            });
        }
    }
}
