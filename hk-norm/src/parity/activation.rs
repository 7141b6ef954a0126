//! Cases of activations.

use hk_core::dtype::{DType, Real, bf16, decode};
use hk_core::{Activation, TensorSlice};
use hk_ref::norm::activation::{Gate, activated, gated};
use hk_ref::{Arg, Case, Draw, Expected, Placement, RowCase, Setup, Size, Types, real};

use crate::activation::*;
use crate::{Result, RowOptions};

/// Every activation.
pub(super) const ALL: [Activation; 10] = [
    Activation::Relu,
    Activation::Relu6,
    Activation::LeakyRelu(0.125),
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Silu,
    Activation::SiluExp2,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Mish,
];

/// Activations that f32 has exactly, of numbers of few bits.
const EXACT: [Activation; 3] = [Activation::Relu, Activation::Relu6, Activation::LeakyRelu(-1.5)];
/// The same of gates with a limit, which may be zero: half the gate, as the sigmoid of nothing is.
const HALVING: [Gate; 2] = [Gate::Swiglu([0.0, 100.0]), Gate::Swiglu([0.0, 0.0])];
/// Activations that are good to a few units in the last place, however small they are.
const RELATIVE: [Activation; 3] = [Activation::Silu, Activation::Sigmoid, Activation::Mish];

/// The ops that are one activation.
const PLAIN: [(&str, Activation); 5] = [
    ("silu", Activation::Silu),
    ("gelu", Activation::Gelu),
    ("gelu_tanh", Activation::GeluTanh),
    ("relu", Activation::Relu),
    ("tanh", Activation::Tanh),
];
const GATED: [(&str, Activation); 3] = [
    ("silu_and_mul", Activation::Silu),
    ("gelu_and_mul", Activation::Gelu),
    ("gelu_tanh_and_mul", Activation::GeluTanh),
];

/// Shapes `[rows, width]` of the specification.
const SHAPES: [[usize; 2]; 4] = [[1, 1], [3, 7], [33, 257], [64, 1024]];
pub(super) const GATED_SHAPES: [[usize; 2]; 5] = [[5, 2], [9, 28], [7, 68], [3, 128], [4, 384]];

/// The shape of GPT-OSS, whose gates are clamped.
const GPT_OSS: [usize; 2] = [4096, 2880];

/// Shapes of models: DeepSeek-V3, Llama 3 70B, GPT-OSS and Qwen3-Next.
pub(super) const MODELS: [[usize; 2]; 6] =
    [[1024, 4096], [4096, 28_672], [512, 28_672], [8192, 2048], GPT_OSS, [8192, 512]];

/// Every tile configuration, with a shape for it; gated kernels have the first two.
const TILES: [(&str, [usize; 2]); 3] =
    [("n128", [83, 43]), ("any", [3, 2501]), ("n512", [21, 301])];
pub(super) const GATED_TILES: [(&str, [usize; 2]); 2] = [TILES[0], TILES[1]];

/// Tile configurations, as [`TILES`], with so many rows that they take several turns of a workgroup, of
/// which the last lacks some, and chunks of these, in lanes that have no bit in common.
const ENDS: [(&str, usize, [usize; 2]); 3] =
    [("n128", 21, [40, 80]), ("any", 5, [680, 848]), ("n512", 5, [168, 336])];
const GATED_ENDS: [(&str, usize, [usize; 2]); 2] = [ENDS[0], ENDS[1]];

/// Where gates may be.
pub(super) const GATE_LAYOUTS: [GateLayout; 2] = [GateLayout::Halves, GateLayout::Interleaved];

/// What rows hold, apart from what is drawn.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Drawn(Draw),
    /// Zeros, infinities, NaN and large numbers of both signs.
    Special,
    /// Every finite number of bf16, in 255 rows of 256.
    Sweep,
    /// Integers with all the bits that bf16 has, and zeros of both signs, of which [`EXACT`] and
    /// [`HALVING`] make results that are known bit by bit, many of them from just between two numbers
    /// of 16 bits.
    Exact,
    /// Numbers of both signs far from zero, of which [`RELATIVE`] makes small results.
    Far,
}

impl Content {
    /// What results are to be, if these are within their tolerance.
    fn expected<T: Real>(self, expected: Expected) -> Expected {
        match self {
            Self::Exact => Expected::bits(&T::encode(&expected.values)),
            // Seven units in the last place: the power, sums, the reciprocal and products.
            Self::Far => Expected::relative(expected.values, 8e-7),
            _ => expected,
        }
    }
}

const SPECIAL: [f64; 12] =
    [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 40.0, -40.0, 6e4, -6e4, 7.5, -7.5, 1.0];

fn elements<T: Real>(s: &Setup, name: &str, shape: &[usize], content: Content) -> Vec<T> {
    match content {
        Content::Drawn(draw) => s.draw(name, shape, draw),
        Content::Special => {
            let count = shape.iter().product();
            // Of gated rows, each meets each.
            let number = |i: usize| SPECIAL[(i + i / SPECIAL.len()) % SPECIAL.len()];
            (0..count).map(|i| T::from_f64(number(i))).collect()
        }
        Content::Sweep => {
            let codes = (0..=u16::MAX).map(bf16::from_bits);
            let finite = codes.filter(|x| x.is_finite());
            finite.map(|x| T::from_f64(x.to_f64())).collect()
        }
        Content::Exact => {
            let drawn = s.draw::<f64>(name, shape, Draw::Integers(-255, 256));
            let number = |x: f64| if x % 5.0 == 0.0 { 0f64.copysign(x) } else { x };
            drawn.into_iter().map(|x| T::from_f64(number(x))).collect()
        }
        Content::Far => {
            let drawn = s.draw::<f64>(name, shape, Draw::Uniform);
            drawn.into_iter().map(|x| T::from_f64(160.0 * x - 80.0)).collect()
        }
    }
}

fn plain_into<T: Real>(
    (op, activation): (&str, Activation),
    x: &TensorSlice<T>,
    options: &RowOptions<'_>,
    y: &mut TensorSlice<T>,
) -> Result<()> {
    match op {
        "silu" => silu_into(x, options, y),
        "gelu" => gelu_into(x, options, y),
        "gelu_tanh" => gelu_tanh_into(x, options, y),
        "relu" => relu_into(x, options, y),
        "tanh" => tanh_into(x, options, y),
        _ => activation_into(x, activation, options, y),
    }
}

fn plain(row: RowCase, op: (&'static str, Activation), content: Content) -> Vec<Case> {
    let case = |dtype: &DType| {
        let dtype = *dtype;
        let set_up = move |s: &mut Setup| {
            real!(dtype, T => {
                let x = elements::<T>(s, "x", &row.shape, content);
                let x = s.given("x", &row.shape, x);
                let y = content.expected::<T>(activated(&x.numbers(), op.1, dtype));
                let y = s.output::<T>("y", &row.shape, y);
                s.call(move || plain_into(op, &x.get(), &row.options(), &mut *y.get()));
            });
        };
        named(row.case("activation", op.0, &[dtype], set_up), format!("{:?}", op.1))
    };
    row.inputs().iter().map(case).collect()
}

/// With that in the case's name.
fn named(mut case: Case, what: String) -> Case {
    case.info.case += &format!(", {what}");
    case
}

/// The columns of a gate and of what it lets through, of rows of twice the width.
pub(super) const fn pair_of(column: usize, width: usize, layout: GateLayout) -> [usize; 2] {
    match layout {
        GateLayout::Halves => [column, width + column],
        GateLayout::Interleaved => [2 * column, 2 * column + 1],
    }
}

/// The element of x that is the gate of an element of the result, both counted from the first row.
pub(super) const fn gate_of(element: usize, width: usize, layout: GateLayout) -> usize {
    let [gate, _] = pair_of(element % width, width, layout);
    element / width * 2 * width + gate
}

/// The gates of rows, and what they let through.
pub(super) fn pairs(x: &[f64], width: usize, layout: GateLayout) -> Vec<[f64; 2]> {
    let of_row = |row: &[f64]| -> Vec<_> {
        (0..width).map(|column| pair_of(column, width, layout).map(|i| row[i])).collect()
    };
    x.chunks_exact((2 * width).max(1)).flat_map(of_row).collect()
}

/// How results of gated rows are weighted.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Weights {
    None,
    OfRows,
    OfElements,
}

/// A gated op.
#[derive(Clone, Copy)]
struct Gated {
    op: &'static str,
    gate: Gate,
    layout: GateLayout,
    weights: Weights,
}

impl Gated {
    fn cases(self, row: RowCase, content: Content) -> Vec<Case> {
        let case = |dtype: &DType| {
            let dtype = *dtype;
            let set_up = move |s: &mut Setup| real!(dtype, T => self.set_up::<T>(s, row, content));
            let case = row.case("activation", self.op, &[dtype], set_up);
            named(case, format!("{:?}, {:?}, weights {:?}", self.gate, self.layout, self.weights))
        };
        row.inputs().iter().map(case).collect()
    }

    fn set_up<T: Real>(self, s: &mut Setup, row: RowCase, content: Content) {
        let [rows, width] = row.shape;
        let x = elements::<T>(s, "x", &[rows, 2 * width], content);
        let mut pairs = pairs(&decode(&x), width, self.layout);
        if self.weights == Weights::None {
            // An offset of 0 leaves no negative zero.
            pairs.iter_mut().for_each(|[_, linear]| *linear += 0.0);
        }
        let columns = match self.weights {
            Weights::None => 0,
            Weights::OfRows => 1,
            Weights::OfElements => width,
        };
        let draw = if content == Content::Exact { Draw::Powers(-2, 1) } else { Draw::Normal };
        let weights = s.draw::<f32>("weights", &[rows, columns], draw);
        let weight = |i: usize| match self.weights {
            Weights::None => 1.0,
            Weights::OfRows => f64::from(weights[i / width]),
            Weights::OfElements => f64::from(weights[i]),
        };
        let of_pairs: Vec<_> = (0..rows * width).map(weight).collect();
        let expected = content.expected::<T>(gated(&pairs, &of_pairs, self.gate, T::DTYPE));
        let gates = s.carried(|element| gate_of(element, width, self.layout));
        let part =
            s.carried(|element| element / width * columns + element % width % columns.max(1));
        let x = s.given("x", &[rows, 2 * width], x).place(gates);
        let weights =
            (columns > 0).then(|| s.given("weights", &[rows, columns], weights).place(part));
        let y = s.output::<T>("y", &row.shape, expected);
        let options = GatedOptions::default().layout(self.layout).rows(row.options());
        s.call(move || {
            let weights = weights.as_ref().map(Arg::get);
            self.call(&x.get(), weights.as_deref(), &options, &mut *y.get())
        });
    }

    fn call<T: Real>(
        self,
        x: &TensorSlice<T>,
        weights: Option<&TensorSlice<f32>>,
        options: &GatedOptions<'_>,
        y: &mut TensorSlice<T>,
    ) -> Result<()> {
        match (self.op, self.gate) {
            (_, Gate::Swiglu([alpha, limit])) => swiglu_and_mul_into(x, alpha, limit, options, y),
            ("silu_and_mul", _) => silu_and_mul_into(x, options, y),
            ("gelu_and_mul", _) => gelu_and_mul_into(x, options, y),
            ("gelu_tanh_and_mul", _) => gelu_tanh_and_mul_into(x, options, y),
            (_, Gate::Activation(activation, limit)) => {
                let limit = limit.unwrap_or(0.0);
                fused_clamp_act_mul_into(x, weights, activation, limit, options, y)
            }
        }
    }
}

/// Rows for all that the schedules do.
pub(super) fn suite(tiles: &'static [(&str, [usize; 2])]) -> Vec<RowCase> {
    let mut rows: Vec<_> =
        tiles.iter().flat_map(|(tile, shape)| RowCase::of_tile(tile, *shape)).collect();
    rows.extend([[0, 64], [2, 1023], [2, 1026]].map(|shape| RowCase::new(shape, "plain")));
    rows
}

/// Rows far apart, and such as are across 4 GiB behind their first pieces, which are loaded in the
/// first turn or in a later one.
pub(super) fn far_rows() -> Vec<RowCase> {
    let mut rows = Vec::new();
    for workgroups in [None, Some(1)] {
        for width in [3301, 3304] {
            let row = |name, place| RowCase {
                tile: Some("any"),
                workgroups,
                place,
                size: Size::Core,
                types: Types::Only(&[DType::Bf16, DType::F32]),
                ..RowCase::new([2, width], name)
            };
            rows.push(row("rows far apart", Placement::DENSE.gap(3 << 31)));
            rows.push(row("pieces across 4 GiB", Placement::DENSE.carry(width + 1300)));
        }
    }
    rows
}

/// Rows that share waves and are more than 4 GiB behind the first, and rows of which the first, or two
/// of them, begin just before a multiple of 4 GiB: whatever is added to such an address carries, be it
/// the distance of a row of this turn or the next, or of the second half of x.
fn carried_rows() -> Vec<RowCase> {
    let mut rows = Vec::new();
    for (tile, count, widths) in [("n128", 21, [43, 40]), ("any", 2, [1301, 1304])] {
        for width in widths {
            let row = |name, place| RowCase {
                tile: Some(tile),
                workgroups: Some(1),
                place,
                size: Size::Core,
                types: Types::Only(&[DType::Bf16, DType::F32]),
                ..RowCase::new([count, width], name)
            };
            // As far apart as rows may be that share a wave.
            let far = Placement::DENSE.gap((1 << 27) - 128);
            rows.extend((tile == "n128").then(|| row("rows far apart", far)));
            rows.push(row("first row across 4 GiB", Placement::DENSE.carry(5)));
            rows.push(row("second row across 4 GiB", Placement::DENSE.carry(width + 5)));
        }
    }
    rows
}

/// Rows of these of [`ENDS`] that end in every dword of a chunk, and within it.
fn ends_in_turns(
    tiles: &'static [(&'static str, usize, [usize; 2])],
) -> impl Iterator<Item = RowCase> {
    let of_tile = |(tile, rows, chunks): &'static (&'static str, usize, [usize; 2])| {
        (0..16).map(move |i| RowCase {
            tile: Some(*tile),
            workgroups: Some(1),
            place: Placement::DENSE.gap(5),
            types: match i {
                8.. => Types::Only(&[DType::Bf16, DType::F16]),
                // Only where each lane checks its dwords do those of f32 differ.
                _ if *tile == "n128" => Types::Only(&[DType::Bf16, DType::F32]),
                _ => Types::Only(&[DType::Bf16]),
            },
            ..RowCase::new([*rows, chunks[i / 8] + i % 8 + 1], "ends in turns")
        })
    };
    tiles.iter().flat_map(of_tile)
}

/// A case of every tile, of odd and even rows.
pub(super) fn of_tiles(
    tiles: &'static [(&str, [usize; 2])],
    name: &'static str,
) -> impl Iterator<Item = RowCase> {
    let of_tile = move |(tile, [_, width]): &(&'static str, [usize; 2])| {
        [*width, width / 8 * 8].map(|width| RowCase {
            tile: Some(*tile),
            types: Types::Each,
            ..RowCase::new([5, width], name)
        })
    };
    tiles.iter().flat_map(of_tile)
}

/// Gated rows that end in every way and are stored once, and rows with addresses that carry.
fn gated_place_cases(layout: GateLayout) -> Vec<Case> {
    let mut cases = Vec::new();
    let gated = |activation, weights| Gated {
        op: "fused_clamp_act_mul",
        gate: Gate::Activation(activation, None),
        layout,
        weights,
    };
    for (i, row) in ends_in_turns(&GATED_ENDS).enumerate() {
        // Odd and even widths have both.
        let weighted = [Weights::OfRows, Weights::OfElements][i / 2 % 2];
        for weights in [Weights::None, weighted] {
            let of_row = gated(EXACT[2], weights).cases(row, Content::Exact);
            cases.extend(of_row.into_iter().map(Case::writes_once));
        }
    }
    for row in carried_rows() {
        for weights in [Weights::None, Weights::OfRows, Weights::OfElements] {
            cases.extend(gated(EXACT[2], weights).cases(row, Content::Exact));
        }
    }
    cases
}

/// Gates at which little shows: limits that are met exactly, infinite ones, and none, so that infinite
/// gates are activated.
fn gated_value_cases(layout: GateLayout) -> Vec<Case> {
    let swiglu = |gate| Gated { op: "swiglu_and_mul", gate, layout, weights: Weights::None };
    let mut cases = Vec::new();
    for gate in HALVING {
        for row in of_tiles(&GATED_TILES, "exact") {
            let row = RowCase { shape: [2, row.shape[1]], ..row };
            cases.extend(swiglu(gate).cases(row, Content::Exact));
        }
    }
    for row in of_tiles(&GATED_TILES, "far from zero") {
        let types = Types::Only(&[DType::F32]);
        let row = RowCase { shape: [2, row.shape[1]], types, ..row };
        cases.extend(swiglu(Gate::Swiglu([1.0, 100.0])).cases(row, Content::Far));
    }
    for row in of_tiles(&GATED_TILES, "special, no limit") {
        let unlimited = swiglu(Gate::Swiglu([1.702, f32::INFINITY]));
        cases.extend(unlimited.cases(row, Content::Special));
        for activation in RELATIVE {
            let gate = Gate::Activation(activation, None);
            let gated = Gated { op: "fused_clamp_act_mul", gate, ..unlimited };
            cases.extend(gated.cases(row, Content::Special));
        }
    }
    cases
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let normal = Content::Drawn(Draw::Normal);
    let spread = Content::Drawn(Draw::Outliers);
    let each = |shape, name| RowCase { types: Types::Each, ..RowCase::new(shape, name) };
    for op in PLAIN {
        let shapes = SHAPES.into_iter().map(|shape| each(shape, "plain"));
        for row in shapes.chain(RowCase::models(&MODELS)) {
            cases.extend(plain(row, op, normal));
        }
    }
    let others = RowCase::end_rows(&TILES).into_iter().chain(far_rows());
    let others = others.chain(RowCase::rows_behind_32(&TILES));
    for row in suite(&TILES).into_iter().chain(others) {
        cases.extend(plain(row, ("activation", Activation::Silu), spread));
    }
    // Waves go on to other pieces of other rows, which end in the second chunk of a lane.
    for width in [3013, 3016] {
        let row = RowCase { tile: Some("any"), workgroups: Some(1), ..each([5, width], "turns") };
        cases.extend(plain(row, ("activation", Activation::Silu), spread));
    }
    for row in ends_in_turns(&ENDS) {
        let of_row = plain(row, ("activation", EXACT[2]), Content::Exact);
        cases.extend(of_row.into_iter().map(Case::writes_once));
    }
    for row in carried_rows() {
        cases.extend(plain(row, ("activation", EXACT[2]), Content::Exact));
    }
    let swiglu = Gate::Swiglu([1.702, 7.0]);
    let gates = || {
        let gates = ALL.into_iter().map(|activation| Gate::Activation(activation, Some(1.5)));
        gates.chain([swiglu])
    };
    let bf16 = Types::Only(&[DType::Bf16]);
    for activation in ALL {
        let op = ("activation", activation);
        cases.extend(plain(
            RowCase { types: bf16, ..each([255, 256], "all numbers") },
            op,
            Content::Sweep,
        ));
        for row in of_tiles(&TILES, "special") {
            cases.extend(plain(row, op, Content::Special));
        }
    }
    for ((op, activation), layout) in
        GATED.into_iter().flat_map(|of| GATE_LAYOUTS.map(|by| (of, by)))
    {
        let gate = Gate::Activation(activation, None);
        let gated = Gated { op, gate, layout, weights: Weights::None };
        for shape in GATED_SHAPES {
            cases.extend(gated.cases(each(shape, "plain"), normal));
        }
        for row in RowCase::models(&MODELS) {
            cases.extend(gated.cases(row, normal));
        }
    }
    // Of small results, 16 bits show little.
    let exact = (Content::Exact, "exact", EXACT, Types::Each);
    let far = (Content::Far, "far from zero", RELATIVE, Types::Only(&[DType::F32]));
    for (content, name, activations, types) in [exact, far] {
        for activation in activations {
            for row in of_tiles(&TILES, name) {
                let row = RowCase { shape: [2, row.shape[1]], types, ..row };
                cases.extend(plain(row, ("activation", activation), content));
            }
        }
    }
    for layout in GATE_LAYOUTS {
        cases.extend(gated_place_cases(layout));
        cases.extend(gated_value_cases(layout));
        let clamped = |activation, limit, weights| Gated {
            op: "fused_clamp_act_mul",
            gate: Gate::Activation(activation, limit),
            layout,
            weights,
        };
        let of_swiglu =
            Gated { op: "swiglu_and_mul", gate: swiglu, layout, weights: Weights::None };
        let weighted = [Weights::OfRows, Weights::OfElements];
        let rows = suite(&GATED_TILES).into_iter().filter(|row| !row.in_place);
        let others = RowCase::end_rows(&GATED_TILES).into_iter().chain(far_rows());
        let others = others.chain(RowCase::rows_behind_32(&GATED_TILES));
        let in_turn = rows.enumerate().map(|(i, row)| (row, &weighted[i % 2..=i % 2]));
        for (row, weighted) in in_turn.chain(others.map(|row| (row, &weighted[..]))) {
            cases.extend(of_swiglu.cases(row, spread));
            for weights in weighted {
                cases.extend(clamped(Activation::Silu, None, *weights).cases(row, spread));
            }
        }
        for shape in GATED_SHAPES {
            // Of so few columns that one less is a weight for each row, no wrong calls are made.
            let size = if shape[1] < 3 { Size::Core } else { Size::Quick };
            let row = RowCase { size, ..each(shape, "plain") };
            for weights in weighted {
                cases.extend(clamped(Activation::Silu, None, weights).cases(row, normal));
            }
            cases.extend(of_swiglu.cases(each(shape, "plain"), normal));
        }
        for row in RowCase::models(&[GPT_OSS]) {
            cases.extend(of_swiglu.cases(row, normal));
            for weights in [Weights::None, Weights::OfRows, Weights::OfElements] {
                let clamped = clamped(Activation::Silu, Some(1.5), weights);
                cases.extend(clamped.cases(row, normal));
            }
        }
        for (content, name, activations, types) in [exact, far] {
            for (i, activation) in activations.into_iter().enumerate() {
                for row in of_tiles(&GATED_TILES, name) {
                    let row = RowCase { shape: [2, row.shape[1]], types, ..row };
                    for (limit, weights) in [(None, Weights::None), (Some(100.0), weighted[i % 2])]
                    {
                        cases.extend(clamped(activation, limit, weights).cases(row, content));
                    }
                }
            }
        }
        for (i, gate) in gates().enumerate() {
            let op = if i == ALL.len() { "swiglu_and_mul" } else { "fused_clamp_act_mul" };
            for row in of_tiles(&GATED_TILES, "special") {
                let gated = Gated { op, gate, layout, weights: Weights::None };
                cases.extend(gated.cases(row, Content::Special));
                if i < ALL.len() {
                    let weighted = Gated { weights: weighted[i % 2], ..gated };
                    cases.extend(weighted.cases(row, Content::Special));
                }
            }
        }
    }
    cases
}
