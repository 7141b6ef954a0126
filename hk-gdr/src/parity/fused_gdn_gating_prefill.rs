//! Cases of `fused_gdn_gating`.

use hk_core::dtype::{DType, Real};
use hk_core::{Result, Tensor};
use hk_ref::gdr::fused_gdn_gating_prefill::{decay, sigmoid};
use hk_ref::{
    Arg, Case, Draw, Edge, Expected, Placement, REALS, RowCase, Setup, Size, Types, real,
};

use crate::{GdnGatingOptions, GdnGatingOut, fused_gdn_gating, fused_gdn_gating_into};

/// Shapes `[tokens, heads]` of the specification.
const SHAPES: [[usize; 2]; 6] = [[256, 16], [1, 1], [37, 3], [70, 32], [9, 64], [5, 100]];

/// Shapes of models: Qwen3-Next on 1, 2 and 8 chips, and Qwen3.5-397B.
const MODELS: [[usize; 2]; 4] = [[8192, 32], [8192, 16], [8192, 4], [8192, 64]];

/// Every tile configuration, with a shape of which the last workgroup has waves without a row, and
/// the last row of `any` several pieces.
const TILES: [(&str, [usize; 2]); 6] = [
    ("n8", [531, 7]),
    ("n16", [267, 13]),
    ("n32", [131, 27]),
    ("n64", [83, 59]),
    ("n512", [21, 301]),
    ("any", [3, 16_901]),
];

/// What steps and gates a case has.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    /// As of models: A from 0.5 to 16, a normal, dt_bias normal about -2, b normal.
    Drawn,
    /// Steps and gates at which the functions turn: far below 0, 0, around the threshold, far above;
    /// NaN and infinities; heads of which exp(A_log) is infinite or 0.
    Special,
    /// Steps that are exact in f32, and rates and gates, whose exponentials are as large and as small
    /// as f32 has them, so that their last digits show.
    Steep,
    /// Gates whose strengths are in the middle of two bf16 numbers, or next to it: strengths of bf16
    /// are to be those of f32, rounded once.
    Ties,
}

/// What varies between cases, apart from element types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    content: Content,
    /// Factor and threshold of softplus.
    softplus: [f32; 2],
    /// Types of A_log and dt_bias.
    parameters: [DType; 2],
    /// Whether the rows of each tensor are as far apart as those of no other one.
    apart: bool,
}

impl Spec {
    fn new(row: RowCase) -> Self {
        let (content, parameters) = (Content::Drawn, [DType::F32, DType::Bf16]);
        Self { row, content, softplus: [1.0, 20.0], parameters, apart: false }
    }

    /// Tokens of each type, to strengths of each other one that its rows are for.
    fn cases(self) -> impl Iterator<Item = Case> {
        // Only gates in f32 are as close to each other as ties ask for.
        let has_ties = |types: &(DType, DType)| *types == (DType::F32, DType::Bf16);
        let fits = move |types: &_| self.content != Content::Ties || has_ties(types);
        self.row.pairs().filter(fits).map(move |(x, y)| {
            let [a_log, dt_bias] = self.parameters;
            let set_up = move |s: &mut Setup| {
                real!(x, X => real!(y, Y => real!(a_log, A => real!(dt_bias, D => {
                    set_up::<X, Y, A, D>(s, self);
                }))));
            };
            let module = "fused_gdn_gating_prefill";
            let mut case = self.row.case(module, "fused_gdn_gating", &[x, y], set_up);
            case.info.case += &format!(", A_log {a_log}, dt_bias {dt_bias}");
            let [factor, threshold] = self.softplus;
            if self.content == Content::Steep {
                case.info.case += &format!(", softplus {factor} to {threshold}");
            }
            case
        })
    }
}

/// Steps and gates at which the functions turn.
const TURNS: [f64; 12] = [
    -100.0,
    -20.0,
    0.0,
    19.99,
    20.01,
    100.0,
    -0.5,
    1.0,
    3.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// Logarithms of rates, of which some are beyond all numbers.
const RATES: [f64; 5] = [0.5, -3.0, 1.0, 200.0, -200.0];

/// Tokens and biases of steep steps, and logarithms of steep rates. There is a step at each threshold.
/// In bf16, the last bit of a number is set, other than that of 0 and of the logarithm of a rate that
/// is nearly the least: it shows in another number if it gets there.
const STEEP_TOKENS: [f64; 11] = [3.0, -20.0, 59.0, -7.0, 25.0, 0.0, -13.0, 41.0, 1.0, -2.0, 33.0];
const STEEP_BIASES: [f64; 3] = [-64.5, 0.0, -60.25];
const STEEP_RATES: [f64; 7] = [80.5, -87.0, -60.25, 71.5, 45.25, -75.5, 2.015_625];

/// Factors of softplus, with thresholds.
const STEEP_SOFTPLUS: [[f32; 2]; 2] = [[1.0, 3.0], [0.5, 1.5]];

/// Steep gates.
const STEEP_GATES: [f64; 11] =
    [-70.0, -66.0, -61.5, -57.0, -52.5, -49.0, -45.5, -41.0, 0.0, 12.0, 33.0];

/// Gates around those of which the strength is in the middle of two bf16 numbers; from each to the
/// next one, the strength moves by a quarter of its last digit in f32.
fn ties() -> Vec<f64> {
    let around = |strength: f64| {
        let gate = (strength / (1.0 - strength)).ln();
        (-32..=32).map(move |i| gate + f64::from(i) * 2f64.powi(-24))
    };
    (128..136).flat_map(|i| around(f64::from(2 * i + 1) / 512.0)).collect()
}

/// How far off the logarithm of a steep decay may be: by the rounding of the rate, of the product,
/// and of the softplus if the step is not above the threshold.
fn allowed_of_steep(g: f64, step: f64, [factor, threshold]: [f32; 2]) -> f64 {
    let part = if step * f64::from(factor) > f64::from(threshold) { 4e-7 } else { 1e-6 };
    part * g.abs() + 2f64.powi(-149)
}

/// Numbers of each in turn, as many as a tensor has.
fn in_turn<T: Real>(numbers: &[f64], count: usize) -> Vec<T> {
    numbers.iter().cycle().take(count).map(|number| T::from_f64(*number)).collect()
}

fn set_up<X: Real, Y: Real, A: Real, D: Real>(s: &mut Setup, spec: Spec) {
    let (shape, [tokens, heads]) = (&spec.row.shape, spec.row.shape);
    let (mut a, mut b) = (s.draw("a", shape, Draw::Normal), s.draw("b", shape, Draw::Normal));
    let mut a_log: Vec<A> = s.draw("a_log", &[heads], Draw::Normal);
    let mut dt_bias: Vec<D> = s.draw("dt_bias", &[heads], Draw::Normal);
    match spec.content {
        Content::Drawn => {
            let below = |x: &mut D| *x = D::from_f64(x.to_f64() - 2.0);
            dt_bias.iter_mut().for_each(below);
        }
        Content::Special => {
            a = in_turn::<X>(&TURNS, tokens * heads);
            b = in_turn(&TURNS, tokens * heads);
            a_log = in_turn(&RATES, heads);
            dt_bias = in_turn(&[0.0], heads);
        }
        Content::Steep => {
            a = in_turn(&STEEP_TOKENS, tokens * heads);
            b = in_turn(&STEEP_GATES, tokens * heads);
            a_log = in_turn(&STEEP_RATES, heads);
            dt_bias = in_turn(&STEEP_BIASES, heads);
        }
        Content::Ties => b = in_turn(&ties(), tokens * heads),
    }
    let columns = s.carried(|element| element % heads);
    let rows = s.carried(|element| element);
    let apart = |turn: usize| {
        let more = if spec.apart { [0, 8, 3, 1][turn] } else { 0 };
        Placement { gap: rows.gap + more, ..rows }
    };
    let a = s.given("a", shape, a).place(apart(0));
    let b = s.given("b", shape, b).place(apart(1));
    let a_log = s.given("a_log", &[heads], a_log).place(columns);
    let dt_bias = s.given("dt_bias", &[heads], dt_bias).place(columns);
    let [factor, threshold] = spec.softplus;
    let options = GdnGatingOptions::default().rows(spec.row.options());
    let options = options.softplus_beta(factor).softplus_threshold(threshold);
    let (rates, biases) = (a_log.numbers(), dt_bias.numbers());
    let gates = a.numbers().into_iter().enumerate().map(|(i, a)| {
        let step = a + biases[i % heads];
        let (g, allowed) = decay(rates[i % heads], step, factor, threshold);
        let is_steep = spec.content == Content::Steep;
        (g, if is_steep { allowed_of_steep(g, step, spec.softplus) } else { allowed })
    });
    let (values, allowed): (Vec<f64>, Vec<f64>) = gates.unzip();
    let g = s.output::<f32>("g", shape, Expected { values, allowed, ..Expected::default() });
    let g = g.place(apart(2));
    let strengths: Vec<f64> = b.numbers().into_iter().map(sigmoid).collect();
    let slack = strengths.iter().map(|beta| 5e-7 * beta + 1.2e-38).collect();
    let strengths = match Y::DTYPE {
        DType::F32 => {
            let allowed = slack;
            Expected { values: strengths, allowed, ..Expected::default() }
        }
        dtype => Expected::rounded(strengths, dtype, false).plus(slack),
    };
    let strengths = if spec.content == Content::Ties {
        // If that fails, so does the case's own call.
        let rounded = rounded::<X, Y, A, D>(s, shape, &options, (&a_log, &dt_bias, &a, &b));
        rounded.unwrap_or(strengths)
    } else {
        strengths
    };
    let beta = s.output::<Y>("beta", shape, strengths).place(apart(3));
    s.call(move || {
        let out = GdnGatingOut { g: &mut g.get(), beta: &mut *beta.get() };
        fused_gdn_gating_into(&a_log.get(), &dt_bias.get(), &a.get(), &b.get(), &options, out)
    });
}

/// The strengths in f32, which other cases hold against the reference, rounded to Y.
fn rounded<X: Real, Y: Real, A: Real, D: Real>(
    s: &Setup,
    shape: &[usize],
    options: &GdnGatingOptions<'_>,
    (a_log, dt_bias, a, b): (&Arg<A>, &Arg<D>, &Arg<X>, &Arg<X>),
) -> Result<Expected> {
    let heads = &shape[1..];
    let a_log = Tensor::from_slice(s.stream(), &a_log.elements(), heads)?;
    let dt_bias = Tensor::from_slice(s.stream(), &dt_bias.elements(), heads)?;
    let a = Tensor::from_slice(s.stream(), &a.elements(), shape)?;
    let b = Tensor::from_slice(s.stream(), &b.elements(), shape)?;
    let strengths = fused_gdn_gating(&a_log, &dt_bias, &a, &b, options)?.beta.to_vec()?;
    let rounded: Vec<Y> = strengths.into_iter().map(|beta| Y::from_f64(beta.into())).collect();
    Ok(Expected::bits(&rounded))
}

/// Rows of a tile that holds rows of `width` elements: of fewer, up to the end of memory, so that
/// lanes of the tile have no heads; that end in each dword of a chunk; and of tensors that each have
/// rows another distance apart.
fn narrow_rows(tile: &'static str, width: usize) -> Vec<Spec> {
    let mut specs = Vec::new();
    let mut add = |name, width, place, parameters| {
        let row = RowCase { tile: Some(tile), ..RowCase::new([5, width], name) };
        let row = RowCase { types: Types::Each, place, ..row };
        specs.push(Spec { parameters, ..Spec::new(row) });
    };
    let whole = width.min(2048).next_multiple_of(8);
    let half = (whole / 16 * 8).max(8);
    let [end, gap] = [Placement::DENSE.gap(3).edge(Edge::End), Placement::DENSE.gap(5).shift(3)];
    for parameters in [[DType::F32, DType::Bf16], [DType::Bf16, DType::F32]] {
        for less in [0, 1, 2, 3] {
            add("few heads before the end of memory", half - less, end, parameters);
        }
    }
    for less in [1, 3, 5, 7] {
        add("ends of a chunk", whole - less, gap, [DType::F16; 2]);
    }
    let most = width.min(2055);
    for width in [most, most.next_multiple_of(8)] {
        let row = RowCase { tile: Some(tile), ..RowCase::new([7, width], "rows apart") };
        let row = RowCase { types: Types::Each, place: gap, ..row };
        specs.push(Spec { apart: true, ..Spec::new(row) });
    }
    specs
}

/// Rows that share a wave and are as far apart as they may be: in f32, those of a wave take 2^31 bytes.
/// The wave that has rows in the first turn has others in a later one.
fn far_rows_of_wave() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (lanes, (tile, [_, width])) in [1, 2, 4, 8].into_iter().zip(TILES) {
        for width in [width, width.next_multiple_of(8)] {
            let rows = 256 / lanes + 64 / lanes;
            let row = RowCase::new([rows, width], "rows of a wave far apart");
            let place = Placement::DENSE.gap((lanes << 23) - width);
            let row = RowCase { tile: Some(tile), workgroups: Some(1), place, ..row };
            let (size, types) = (Size::Core, Types::Only(&[DType::F32]));
            specs.push(Spec::new(RowCase { size, types, ..row }));
        }
    }
    // Farther, so that they do not share one: the last of 17 rows would be 2^31 bytes from the first.
    let place = Placement::DENSE.gap(1 << 25);
    let row = RowCase::new([17, 8], "too far apart for a wave");
    let (size, types) = (Size::Core, Types::Only(&[DType::F32]));
    specs.push(Spec::new(RowCase { size, types, place, ..row }));
    specs
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let plain = SHAPES.iter().map(|shape| RowCase::new(*shape, "plain"));
    let rows = RowCase::suite_of(&TILES).into_iter().chain(plain);
    let rows = rows.filter(|row| !row.in_place).chain(RowCase::models(&MODELS));
    let mut specs: Vec<_> = rows.map(Spec::new).collect();
    for (tile, shape) in TILES {
        let width = shape[1].min(301);
        for width in [width, width.next_multiple_of(8)] {
            let row = RowCase { tile: Some(tile), ..RowCase::new([5, width], "types") };
            let each = Spec::new(RowCase { types: Types::Each, ..row });
            let special = RowCase { name: "special", ..row };
            specs.push(Spec { content: Content::Special, ..Spec::new(special) });
            let row = RowCase { name: "steep", ..each.row };
            let steep = Spec { row, content: Content::Steep, ..each };
            specs.extend(STEEP_SOFTPLUS.map(|softplus| Spec { softplus, ..steep }));
            let types = REALS.into_iter().flat_map(|a| REALS.map(|d| [a, d]));
            let types = types.filter(|types| *types != each.parameters);
            let steep = Spec { softplus: STEEP_SOFTPLUS[0], ..steep };
            specs.extend(types.map(|parameters| Spec { parameters, ..steep }));
            let shape = [ties().len().div_ceil(width), width];
            let row = RowCase { shape, name: "ties", types: Types::Pairs, ..row };
            specs.push(Spec { content: Content::Ties, ..Spec::new(row) });
        }
        specs.extend(narrow_rows(tile, shape[1]));
    }
    let ends = RowCase::end_rows(&TILES).into_iter().map(Spec::new);
    specs.extend(ends.chain(far_rows_of_wave()));
    let each = |name| RowCase { types: Types::Each, ..RowCase::new([24, 60], name) };
    for (softplus, name) in [
        ([0.5, 20.0], "slow softplus"),
        ([4.0, 3.0], "steep softplus, low threshold"),
        ([1.0, 0.0], "threshold 0"),
        ([1.0, f32::INFINITY], "no threshold"),
    ] {
        specs.push(Spec { softplus, ..Spec::new(each(name)) });
        let special = RowCase { shape: [25, 60], ..each(name) };
        specs.push(Spec { softplus, content: Content::Special, ..Spec::new(special) });
    }
    specs.into_iter().flat_map(Spec::cases).collect()
}
