//! Cases of `fused_rms_gated_fp8_group_quant`.

use std::collections::BTreeSet;

use hk_core::Activation;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real};
use hk_core::op::quant::{Fp8, QuantisedOut};
use hk_ref::quant::fused_fp8_quant::{GatedNorm, gated_norm, gated_scale, quotients};
use hk_ref::{Arg, Case, Draw, Expected, Placement, REALS, RowCase, Setup, Size, Types, real};

use super::{EPS, NEAR, PIECE, heavy};
use crate::parity::quant::{CODES, NORMS, TYPES, small_norms, suite_of_norms};
use crate::{GateActivation, GatedRmsInput, GatedRmsOptions, fused_rms_gated_fp8_group_quant_into};

/// Shapes of models: the output of Qwen3-Next's gated delta rule.
const MODELS: [[usize; 2]; 1] = [[65_536, 128]];

/// What elements are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    /// The rows are drawn so, the others nearly as normal.
    Drawn(Draw),
    /// One number of each group is the largest, by a gate so far below zero that the last digits of
    /// an exponential, and of what it is taken of, count. Not for weights of f16.
    Steep,
    /// Gates of NaN and infinity, and infinite weights beside numbers of which bf16 has the lowest bit.
    Special,
    /// See [`heavy`].
    Heavy,
}

impl Content {
    /// How far off scales may be.
    fn tolerance(self) -> f64 {
        match self {
            Self::Drawn(_) | Self::Special => 2e-6,
            Self::Steep => 8e-7,
            Self::Heavy => 1e-6,
        }
    }
}

/// What varies between cases, apart from types.
#[derive(Debug, Clone, Copy)]
struct Spec {
    row: RowCase,
    group: Option<usize>,
    gates_first: bool,
    activation: GateActivation,
    has_bias: bool,
    is_power: bool,
    most: Option<f32>,
    content: Content,
    /// The type of the weight and the bias, if it is not to depend on the width.
    weight: Option<DType>,
}

impl Spec {
    fn options(&self) -> GatedRmsOptions<'static> {
        let options = GatedRmsOptions::default().activation(self.activation);
        let options = self.group.into_iter().fold(options, GatedRmsOptions::group);
        let options = self.most.into_iter().fold(options, GatedRmsOptions::qmax);
        let options = if self.gates_first { options.gate_before_norm() } else { options };
        let options = if self.is_power { options.ue8m0() } else { options };
        options.rows(self.row.options())
    }

    fn what(&self) -> String {
        let groups = self.group.map(|group| format!(", groups of {group}")).unwrap_or_default();
        let first = if self.gates_first { " first" } else { "" };
        let bias = if self.has_bias { ", bias" } else { "" };
        let power = if self.is_power { ", power" } else { "" };
        let most = self.most.map(|most| format!(", most {most}")).unwrap_or_default();
        format!("{groups}, {:?}{first}{bias}{power}{most}", self.activation)
    }

    /// The elements of a group.
    fn group(&self) -> usize {
        self.group.unwrap_or(self.row.shape[1])
    }

    /// Of [`Content::Steep`], the largest number of that group: in each place of a chunk, or where pieces
    /// begin and end.
    fn peak(&self, number: usize) -> usize {
        let group = self.group();
        if group > PIECE {
            return [PIECE - 1, PIECE, group - 1][number % 3];
        }
        number % 8 + number % 3 * 8
    }

    /// Rows, gates and weights.
    fn elements<T: Real, W: Real>(&self, s: &Setup) -> (Vec<T>, Vec<T>, Vec<W>) {
        let (shape, width) = (self.row.shape, self.row.shape[1]);
        // Nothing is to cancel: the errors of f32 would not be small beside a sum.
        let positive =
            |draw| if self.has_bias && draw == Draw::Normal { Draw::Uniform } else { draw };
        let draw = if let Content::Drawn(draw) = self.content { draw } else { Draw::Normal };
        let mut x = s.draw::<T>("x", &shape, positive(draw));
        let mut z = s.draw::<T>("z", &shape, positive(Draw::Normal));
        let mut weight = s.draw::<W>("weight", &[width], Draw::Uniform);
        match self.content {
            Content::Drawn(_) => {}
            Content::Steep => {
                let gate = |i: usize| {
                    let (number, at) = (i / self.group(), i % self.group());
                    let peak = [-86.0, -84.0][number / 8 % 2];
                    // Of other gates, bf16 has the lowest bit.
                    if at == self.peak(number) { peak } else { -86.5 }
                };
                z = (0..z.len()).map(|i| T::from_f64(gate(i))).collect();
                // Squares of what is gated, beside which `eps` is little, are beyond f16.
                let in_rows = self.gates_first && T::DTYPE != DType::F16;
                let (large, one) = (2f64.powi(120), 1.0);
                x.fill(T::from_f64(if in_rows { large } else { one }));
                weight.fill(W::from_f64(if in_rows { one } else { large }));
            }
            Content::Special => {
                z[2 * width - 2] = T::from_f64(f64::NAN);
                z[3 * width - 3] = T::from_f64(f64::INFINITY);
                let numbers = [1.0 + 2f64.powi(-7), f64::INFINITY];
                for (i, weight) in weight[..8].iter_mut().enumerate() {
                    *weight = W::from_f64(numbers[i % 2]);
                }
            }
            Content::Heavy => {
                x = heavy(x.len(), width, 0.2578125);
                z.fill(T::from_f64(0.0));
            }
        }
        (x, z, weight)
    }

    /// What scales should be.
    fn expected(&self, scales: Vec<f64>) -> Expected {
        // Nothing is left but biases, whose quotient is rounded once.
        if self.content == Content::Drawn(Draw::Zeros) && self.gates_first && !self.is_power {
            return Expected::exact(scales.iter().map(|scale| f64::from(*scale as f32)).collect());
        }
        Expected::relative(scales, self.content.tolerance())
    }

    fn set_up<T: Real, W: Real, C: Fp8>(self, s: &mut Setup) {
        let (shape, width) = (self.row.shape, self.row.shape[1]);
        let columns = s.carried(|element| element % width);
        let (x, z, weight) = self.elements::<T, W>(s);
        let (x, z) = (s.given("x", &shape, x), s.given("z", &shape, z));
        let weight = s.given("weight", &[width], weight).place(columns);
        let bias =
            self.has_bias.then(|| s.input::<W>("bias", &[width], Draw::Uniform).place(columns));
        let activation = match self.activation {
            GateActivation::Silu => Activation::Silu,
            GateActivation::Sigmoid => Activation::Sigmoid,
        };
        let by = GatedNorm { gates_first: self.gates_first, activation, eps: EPS };
        let biases = bias.as_ref().map_or_else(|| vec![0.0; width], Arg::numbers);
        let y = gated_norm(&x.numbers(), &z.numbers(), &weight.numbers(), &biases, by);
        let most = f64::from(self.most.unwrap_or(C::MOST));
        let group = self.group();
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for y in y.chunks(group) {
            let scale = gated_scale(y, most, self.is_power);
            codes.extend(quotients(y, scale, most));
            scales.push(scale);
        }
        let codes = s.output::<C>("codes", &shape, Expected::codes(codes, NEAR));
        let place = s.carried(|element| element / group);
        let of_scales = match self.group {
            Some(group) => vec![shape[0], width / group],
            None => vec![shape[0]],
        };
        let scales = s.output::<f32>("scales", &of_scales, self.expected(scales));
        let scales = if self.row.place.carry.is_some() { scales.place(place) } else { scales };
        s.call(move || {
            let (x, z, weight) = (x.get(), z.get(), weight.get());
            let bias = bias.as_ref().map(Arg::get);
            let input =
                GatedRmsInput { x: &x, z: &z, weight: &weight, bias: bias.as_deref(), eps: EPS };
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            fused_rms_gated_fp8_group_quant_into(&input, &self.options(), out)
        });
    }

    fn cases(self) -> impl Iterator<Item = Case> {
        let each = self.row.inputs().iter().enumerate();
        each.flat_map(move |(i, x)| {
            let weight = self.weight.unwrap_or(REALS[(i + self.row.shape[1]) % 3]);
            [CODES[1], CODES[2]].map(|(codes, arch)| {
                let (x, op) = (*x, "fused_rms_gated_fp8_group_quant");
                let types = [x, weight, codes];
                let mut case = self.row.case("fused_fp8_quant", op, &types, move |s| {
                    real!(x, T => real!(weight, W => match codes {
                        DType::F8E4M3Fnuz => self.set_up::<T, W, F8E4M3Fnuz>(s),
                        _ => self.set_up::<T, W, F8E4M3>(s),
                    }));
                });
                case.info.arch = arch;
                case.info.case += &self.what();
                case
            })
        })
    }
}

/// Groups of rows.
#[derive(Clone, Copy, PartialEq)]
enum Groups {
    Whole,
    /// That lanes have together.
    Of(usize),
    /// That are rows of their own.
    Thirds,
}

impl Groups {
    /// The elements of a group, and of a row of about so many.
    fn of(self, width: usize) -> (Option<usize>, usize) {
        match self {
            Self::Whole => (None, width),
            Self::Of(group) => (Some(group), width.next_multiple_of(group)),
            Self::Thirds => (Some(width.div_ceil(3)), width.next_multiple_of(3)),
        }
    }
}

const GROUPS: [Groups; 4] = [Groups::Whole, Groups::Of(32), Groups::Of(128), Groups::Thirds];

/// Weights and biases of each type, with rows of whole chunks, of whole dwords and neither, in each way
/// through rows that reads them. Codes of rows that share a wave can be whole dwords where rows are not
/// whole chunks.
fn factors() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (tile, _) in NORMS {
        let widths = [72, 78, 75].into_iter().chain((tile == "n128").then_some(84));
        for (width, groups) in widths.flat_map(|width| [(width, None), (width, Some(width / 3))]) {
            for (i, weight) in REALS.into_iter().enumerate() {
                let row = RowCase {
                    tile: Some(tile),
                    workgroups: Some(1),
                    size: Size::Core,
                    types: Types::Only(&REALS),
                    ..RowCase::new([5, width], "factors")
                };
                specs.push(Spec {
                    row,
                    group: groups,
                    gates_first: i == 1,
                    activation: GateActivation::Silu,
                    has_bias: true,
                    is_power: i == 2,
                    most: None,
                    content: Content::Drawn(Draw::Normal),
                    weight: Some(weight),
                });
            }
        }
    }
    specs
}

/// Rows and groups of which a few are a workgroup's: of each way through them that a tile has, with
/// so many groups or some more. Groups of 32 are whole chunks.
fn ways(name: &'static str, groups: usize) -> impl Iterator<Item = (RowCase, Option<usize>)> {
    let of_tile = move |(tile, _): (&'static str, [usize; 2])| {
        [(24, None), (27, None), (72, Some(24)), (81, Some(27)), (64, Some(32))].map(
            |(width, group): (usize, Option<usize>)| {
                let of_row = group.map_or(1, |group| width / group);
                let row = RowCase {
                    tile: Some(tile),
                    size: Size::Core,
                    types: Types::Each,
                    ..RowCase::new([groups.div_ceil(of_row), width], name)
                };
                (row, group)
            },
        )
    };
    NORMS.into_iter().flat_map(of_tile)
}

/// Elements of which a certain one, or a certain kind, decides what scales are.
fn decisive() -> Vec<Spec> {
    let spec = |row, group, content| Spec {
        row,
        group,
        gates_first: false,
        activation: GateActivation::Silu,
        has_bias: false,
        is_power: false,
        most: None,
        content,
        weight: None,
    };
    let mut specs = Vec::new();
    for (i, (row, group)) in ways("steep gates", 16).enumerate() {
        let weight = Some([DType::F32, DType::Bf16][i % 2]);
        let steep = Spec { weight, ..spec(row, group, Content::Steep) };
        let first = Spec { gates_first: true, activation: GateActivation::Sigmoid, ..steep };
        specs.extend([steep, first]);
    }
    let any = |shape, name, types| RowCase {
        tile: Some("any"),
        size: Size::Core,
        types: Types::Only(types),
        ..RowCase::new(shape, name)
    };
    for (shape, group) in
        [([3, 8200], None), ([3, 8201], None), ([2, 16_400], Some(8200)), ([2, 16_402], Some(8201))]
    {
        let row = any(shape, "steep ends of pieces", TYPES[0]);
        specs.push(Spec { weight: Some(DType::F32), ..spec(row, group, Content::Steep) });
    }
    for (i, (row, group)) in ways("special", 12).enumerate() {
        let (gates_first, is_power) = (i % 4 == 3, i % 2 == 1);
        let special = spec(row, group, Content::Special);
        specs.push(Spec { gates_first, is_power, weight: Some(DType::Bf16), ..special });
    }
    for (row, group) in ways("biases alone", 9) {
        let zeros = spec(row, group, Content::Drawn(Draw::Zeros));
        specs.push(Spec { gates_first: true, has_bias: true, ..zeros });
    }
    // So many pieces that sums are folded.
    for (width, group) in [
        (262_141, None),
        (262_144, None),
        (262_144, Some(128)),
        (262_143, Some(87_381)),
        (262_144, Some(65_536)),
    ] {
        let heavy = spec(any([1, width], "heavy", TYPES[2]), group, Content::Heavy);
        specs.push(Spec { activation: GateActivation::Sigmoid, ..heavy });
    }
    specs
}

/// Rows more than 2^32 elements apart, of each tile that takes them, in the first turn and in a later
/// one, where a workgroup has one row.
fn far() -> Vec<Spec> {
    let mut specs = Vec::new();
    for tile in ["n512", "n2048", "n8192", "any"] {
        for (width, group) in
            [(43, None), (44, None), (45, Some(15)), (48, Some(16)), (64, Some(32))]
        {
            let later = (tile != "n512").then_some(Some(1));
            for (i, workgroups) in [None].into_iter().chain(later).enumerate() {
                let row = RowCase {
                    tile: Some(tile),
                    workgroups,
                    place: Placement::DENSE.gap(3 << 31),
                    size: Size::Core,
                    types: Types::Only(TYPES[0]),
                    ..RowCase::new([2, width], "rows of all steps far apart")
                };
                specs.push(Spec {
                    row,
                    group,
                    gates_first: i == 1,
                    activation: GateActivation::Silu,
                    has_bias: true,
                    is_power: false,
                    most: None,
                    content: Content::Drawn(Draw::Normal),
                    weight: None,
                });
            }
        }
    }
    specs
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let mut add = |row: RowCase, group: Option<usize>, draw| {
        let i = specs.len();
        let activation = [GateActivation::Silu, GateActivation::Sigmoid][i % 2];
        let (gates_first, has_bias) = (i / 2 % 2 == 1, i % 3 != 0);
        let (is_power, most) = (i % 5 == 0, (i % 7 == 0).then_some(224.0));
        specs.push(Spec {
            row,
            group,
            gates_first,
            activation,
            has_bias,
            is_power,
            most,
            content: Content::Drawn(draw),
            weight: None,
        });
    };
    for (i, row) in suite_of_norms().enumerate() {
        let all = matches!(row.types, Types::Pairs | Types::Each);
        for (j, groups) in GROUPS.into_iter().enumerate() {
            // Of many pieces, those of whole rows are enough.
            let is_long = row.name == "long";
            let is_turn = if is_long { groups == Groups::Whole } else { all || i % 4 == j };
            if !is_turn {
                continue;
            }
            let (group, width) = groups.of(row.shape[1]);
            let shape = [row.shape[0], width];
            let types = if all { Types::Only(TYPES[(i + j) % 3]) } else { row.types };
            add(RowCase { shape, types, ..row }, group, Draw::Normal);
        }
    }
    // Each way to make gates, with all groups and types.
    for row in small_norms() {
        for groups in GROUPS {
            for _ in 0..4 {
                // So many that there are several groups of 32, and thirds of whole chunks.
                let (group, width) = groups.of(row.shape[1] + 45);
                add(RowCase { shape: [row.shape[0], width], ..row }, group, Draw::Normal);
            }
        }
    }
    for (i, (shape, group)) in [
        ([3, 128], None),
        ([1, 128], Some(128)),
        ([32, 1536], Some(64)),
        ([3, 128], Some(1)),
        ([3, 200], Some(8)),
        ([5, 128], Some(32)),
        ([5, 128], Some(64)),
        ([5, 1210], Some(605)),
        ([2, 6000], Some(3000)),
        ([2, 36_000], Some(18_000)),
        ([0, 96], Some(12)),
    ]
    .into_iter()
    .enumerate()
    {
        let types = Types::Only(TYPES[i % 3]);
        for draw in [Draw::Normal, Draw::Zeros] {
            let name = if draw == Draw::Zeros { "zeros" } else { "plain" };
            add(RowCase { types, ..RowCase::new(shape, name) }, group, draw);
        }
    }
    // Rows and groups of several pieces.
    for (width, group) in [(8193, None), (16_386, Some(8193))] {
        let (size, types) = (Size::Core, Types::Each);
        add(RowCase { size, types, ..RowCase::new([1, width], "pieces") }, group, Draw::Normal);
    }
    for row in RowCase::models(&MODELS) {
        add(row, None, Draw::Normal);
    }
    specs.extend(factors().into_iter().chain(decisive()).chain(far()));
    let cases = specs.into_iter().flat_map(Spec::cases);
    // Widths that are the same in whole groups fall together.
    let mut names = BTreeSet::new();
    cases.filter(|case| names.insert((case.info.title(), case.info.arch))).collect()
}
