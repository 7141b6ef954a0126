//! Cases of `fused_rms_gated_fp8_group_quant`.

use std::collections::BTreeSet;

use hk_core::Activation;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, decode};
use hk_core::op::quant::{Fp8, QuantisedOut};
use hk_ref::quant::fused_fp8_quant::{GatedNorm, gated_norm, gated_scale, quotients};
use hk_ref::{
    Arg, Case, Draw, Edge, Expected, Placement, REALS, RowCase, Setup, Size, Types, real,
};

use super::{EPS, NEAR, PIECE, heavy};
use crate::parity::quant::{CODES, NORMS, TYPES, small_count, small_norms, suite_of_norms};
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
    /// Gates of NaN and infinity, and infinite weights, or biases if there are some, beside numbers of
    /// which bf16 has the lowest bit.
    Special,
    /// See [`heavy`].
    Heavy,
    /// The last number of each group is the largest, by what every factor has there.
    Last,
    /// Nothing but biases, of f32: the first of a group gives the scale, and quotients of others are
    /// ties. Scales are other ones for each number.
    Ties(usize),
    /// All gates are alike and so far below zero that the last digits of an exponential count; by their
    /// weights, of f32, quotients are so close to ties that these digits decide what codes are.
    SteepTies,
    /// Nothing but biases, of f32: by the first of a group, every other scale is a power of two, and
    /// others are the next number. Those of the even groups are that first, or of the odd ones.
    Powers(usize),
    /// Nothing but biases, of f32: scales whose inverse is subnormal.
    Huge,
    /// Zeros, and gates of infinity, beside numbers of which bf16 has the lowest bit; gates far from
    /// zero. Weights, not of f16, make the least of numbers large.
    LowBits,
    /// Weights and biases, of bf16, that are zero beside numbers with the lowest bit. Gates, not of
    /// f16, make the least of numbers large.
    LowBitsOfFactors,
    /// Elements that are zero beside the least of bf16. Gates make these large, but one larger.
    LeastBits,
}

impl Content {
    /// How far off scales may be.
    fn tolerance(self) -> f64 {
        match self {
            Self::Steep | Self::SteepTies => 8e-7,
            Self::Heavy => 1e-6,
            _ => 2e-6,
        }
    }

    fn eps(self) -> f32 {
        // Little beside the squares of small numbers.
        if self == Self::LeastBits { 2f32.powi(-100) } else { EPS }
    }

    /// Whether codes are right only if they are the nearest ones.
    fn has_exact_codes(self) -> bool {
        matches!(self, Self::Ties(_) | Self::SteepTies | Self::LowBitsOfFactors)
    }
}

/// A number with the lowest bit that bf16 has.
const ODD: f64 = 1.0 + 1.0 / 128.0;

/// A number just between two codes of either format: of each place of a chunk another, and of either
/// sign.
fn tie(at: usize) -> f64 {
    let size = (17 + 2 * (at % 8)) as f64 / 16.0 * 2f64.powi((5 * at % 13) as i32 - 6);
    if at.is_multiple_of(2) { size } else { -size }
}

/// The elements of inputs. Biases are none if there are none.
struct Elements<T, W> {
    x: Vec<T>,
    z: Vec<T>,
    weight: Vec<W>,
    bias: Vec<W>,
}

/// Makes each number what `of` says of its place and of itself.
fn fill<T: Real>(numbers: &mut [T], of: impl Fn(usize, f64) -> f64) {
    for (i, number) in numbers.iter_mut().enumerate() {
        *number = T::from_f64(of(i, number.to_f64()));
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

    /// What is drawn, made what the content says. `most` is the largest code.
    fn elements<T: Real, W: Real>(&self, s: &Setup, most: f64) -> Elements<T, W> {
        let (shape, width) = (self.row.shape, self.row.shape[1]);
        // Nothing is to cancel: the errors of f32 would not be small beside a sum.
        let positive =
            |draw| if self.has_bias && draw == Draw::Normal { Draw::Uniform } else { draw };
        let draw = if let Content::Drawn(draw) = self.content { draw } else { Draw::Normal };
        let of_bias = if self.has_bias { width } else { 0 };
        let mut of = Elements {
            x: s.draw::<T>("x", &shape, positive(draw)),
            z: s.draw::<T>("z", &shape, positive(Draw::Normal)),
            weight: s.draw::<W>("weight", &[width], Draw::Uniform),
            bias: s.draw::<W>("bias", &[of_bias], Draw::Uniform),
        };
        match self.content {
            Content::Drawn(_) => {}
            Content::Steep | Content::SteepTies => self.make_steep(&mut of, most),
            Content::Special => {
                of.z[2 * width - 2] = T::from_f64(f64::NAN);
                of.z[3 * width - 3] = T::from_f64(f64::INFINITY);
                let factors = if self.has_bias { &mut of.bias } else { &mut of.weight };
                fill(&mut factors[..8], |i, _| [ODD, f64::INFINITY][i % 2]);
            }
            Content::Heavy => {
                of.x = heavy(of.x.len(), width, 0.2578125);
                of.z.fill(T::from_f64(0.0));
            }
            Content::Last => {
                let is_last = |i: usize| i % self.group() == self.group() - 1;
                fill(&mut of.x, |i, x| if is_last(i) { 8.0 } else { x });
                fill(&mut of.z, |i, z| if is_last(i) { 4.0 } else { z });
                fill(&mut of.weight, |i, weight| if is_last(i) { 4.0 } else { weight });
                fill(&mut of.bias, |i, bias| if is_last(i) { 4.0 } else { bias });
            }
            Content::Ties(_) | Content::Powers(_) | Content::Huge => {
                of.x.fill(T::from_f64(0.0));
                fill(&mut of.bias, |i, _| self.bias_alone(i, most));
            }
            Content::LowBits => self.clear_odd(&mut of),
            Content::LowBitsOfFactors => {
                let is_odd = |i: usize| i % self.group() % 2 == 1;
                of.x.fill(T::from_f64(1.0));
                fill(&mut of.z, |i, _| if is_odd(i) { 2f64.powi(127) } else { 0.0 });
                fill(&mut of.weight, |i, _| if is_odd(i) { 0.0 } else { ODD });
                fill(&mut of.bias, |i, _| if is_odd(i) { 0.0 } else { ODD });
            }
            Content::LeastBits => {
                // The first element comes to 2^-24; the least number in an odd place would to 2^-22.
                let gate = |at: usize| if at == 0 { 109 } else { 127 };
                let is_gated = |at: usize| at == 0 || at % 2 == 1;
                let gate = |at: usize| if is_gated(at) { 2f64.powi(gate(at)) } else { 0.0 };
                fill(&mut of.x, |i, _| [2f64.powi(-133), 0.0][i % width % 2]);
                fill(&mut of.z, |i, _| gate(i % width));
                of.weight[0] = W::from_f64(1.0);
            }
        }
        of
    }

    /// Of [`Content::Steep`] and [`Content::SteepTies`].
    fn make_steep<T: Real, W: Real>(&self, of: &mut Elements<T, W>, most: f64) {
        let is_tie = self.content == Content::SteepTies;
        let gate = |i: usize| {
            let (number, at) = (i / self.group(), i % self.group());
            let peak = [-86.0, -84.0][number / 8 % 2];
            // Of other gates, bf16 has the lowest bit.
            if is_tie {
                -86.0
            } else if at == self.peak(number) {
                peak
            } else {
                -86.5
            }
        };
        fill(&mut of.z, |i, _| gate(i));
        // Squares of what is gated, beside which `eps` is little, are beyond f16.
        let in_rows = self.gates_first && T::DTYPE != DType::F16;
        let (large, one) = (2f64.powi(120), 1.0);
        let (x, weight) = if in_rows { (large, one) } else { (one, large) };
        of.x.fill(T::from_f64(x));
        let part = |at: usize| {
            // Beside a tie by more than what f32 rounds, all gates being alike.
            let beside = [1.0 + 7e-7, 1.0 - 7e-7][at / 8 % 2];
            if is_tie && at != 0 { tie(at) * beside / most } else { 1.0 }
        };
        fill(&mut of.weight, |i, _| weight * part(i % self.group()));
    }

    /// The bias of a column where there is nothing else.
    fn bias_alone(&self, column: usize, most: f64) -> f64 {
        let (number, at) = (column / self.group(), column % self.group());
        let seed = match self.content {
            Content::Powers(first) => {
                let scales = [1.0, 1.0 + 2f64.powi(-23)];
                return if at == 0 { scales[(number + first) % 2] } else { 0.25 };
            }
            Content::Huge => return [1.5, 0.1875][usize::from(at != 0)] * 2f64.powi(127),
            Content::Ties(seed) => seed,
            _ => 0,
        };
        // So few bits that the largest, and ties, are products without rounding.
        let bits = (40_503 * (number + 16 * self.row.shape[1] + seed) + 12_345) % (1 << 18);
        let scale = 0.125 + bits as f64 * 2f64.powi(-21);
        scale * if at == 0 { most } else { tie(at) }
    }

    /// Of [`Content::LowBits`].
    fn clear_odd<T: Real, W: Real>(&self, of: &mut Elements<T, W>) {
        let is_odd = |i: usize| i % self.group() % 2 == 1;
        let far = |at: usize| {
            let ends = [f64::INFINITY, f64::NEG_INFINITY, 200.0, -200.0];
            ends[(at / 2 + at / 8) % 4]
        };
        let gate = |i: usize| match i / self.row.shape[1] % 2 {
            0 if is_odd(i) => f64::INFINITY,
            0 => ODD,
            _ => far(i % self.group()),
        };
        fill(&mut of.x, |i, _| if is_odd(i) { 0.0 } else { ODD });
        fill(&mut of.z, |i, _| gate(i));
        fill(&mut of.weight, |i, _| if is_odd(i) { 2f64.powi(127) } else { 1.0 });
    }

    /// What scales should be.
    fn expected(&self, scales: Vec<f64>) -> Expected {
        let zeros = self.content == Content::Drawn(Draw::Zeros);
        // Nothing is left but biases, whose quotient is rounded once, or the least scale.
        let is_exact = match self.content {
            Content::Ties(_) | Content::Huge | Content::LowBitsOfFactors => true,
            _ => zeros && (self.gates_first || !self.has_bias),
        };
        if is_exact || self.is_power {
            return Expected::exact(scales.iter().map(|scale| f64::from(*scale as f32)).collect());
        }
        Expected::relative(scales, self.content.tolerance())
    }

    fn set_up<T: Real, W: Real, C: Fp8>(self, s: &mut Setup) {
        let (shape, width) = (self.row.shape, self.row.shape[1]);
        let columns = s.carried(|element| element % width);
        let most = f64::from(self.most.unwrap_or(C::MOST));
        let of = self.elements::<T, W>(s, most);
        let (x, z) = (s.given("x", &shape, of.x), s.given("z", &shape, of.z));
        let weight = s.given("weight", &[width], of.weight).place(columns);
        let bias = self.has_bias.then(|| s.given("bias", &[width], of.bias).place(columns));
        let eps = self.content.eps();
        let activation = match self.activation {
            GateActivation::Silu => Activation::Silu,
            GateActivation::Sigmoid => Activation::Sigmoid,
        };
        let by = GatedNorm { gates_first: self.gates_first, activation, eps };
        let biases = bias.as_ref().map_or_else(|| vec![0.0; width], Arg::numbers);
        let y = gated_norm(&x.numbers(), &z.numbers(), &weight.numbers(), &biases, by);
        let group = self.group();
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for y in y.chunks(group) {
            let scale = gated_scale(y, most, self.is_power);
            codes.extend(quotients(y, scale, most));
            scales.push(scale);
        }
        let codes = if self.content.has_exact_codes() {
            Expected::exact(decode(&C::encode(&codes)))
        } else {
            Expected::codes(codes, NEAR)
        };
        let codes = s.output::<C>("codes", &shape, codes);
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
            let input = GatedRmsInput { x: &x, z: &z, weight: &weight, bias: bias.as_deref(), eps };
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

/// A case of rows with gates of silu that come last, and nothing else.
fn plain(row: RowCase, group: Option<usize>, content: Content) -> Spec {
    Spec {
        row,
        group,
        gates_first: false,
        activation: GateActivation::Silu,
        has_bias: false,
        is_power: false,
        most: None,
        content,
        weight: None,
    }
}

/// Codes and scales of which the last bit of each step decides what they are.
fn exact() -> Vec<Spec> {
    let mut specs = Vec::new();
    let in_turn =
        |row: RowCase, i: usize| RowCase { types: Types::Only(TYPES[i % TYPES.len()]), ..row };
    for (i, (row, group)) in ways("steep ties", 3).enumerate() {
        let weight = Some(DType::F32);
        let last = Spec { weight, ..plain(row, group, Content::SteepTies) };
        let activation = GateActivation::Sigmoid;
        specs.extend([last, Spec { row: in_turn(row, i), gates_first: true, activation, ..last }]);
    }
    let biases = |row, group, content| Spec {
        gates_first: true,
        has_bias: true,
        weight: Some(DType::F32),
        ..plain(row, group, content)
    };
    for (i, (row, group)) in ways("ties", 3).enumerate() {
        specs.extend([0, 1, 2].map(|j| biases(in_turn(row, i + j), group, Content::Ties(8 * j))));
    }
    for (i, (row, group)) in ways("huge", 2).enumerate() {
        let huge = biases(in_turn(row, i), group, Content::Huge);
        specs.push(Spec { most: Some(1.0), ..huge });
    }
    for (first, name) in ["powers", "beside powers"].into_iter().enumerate() {
        for (i, (row, group)) in ways(name, 2).enumerate() {
            let powers = biases(in_turn(row, i), group, Content::Powers(first));
            specs.push(Spec { is_power: true, most: Some(1.0), ..powers });
        }
    }
    specs
}

/// Numbers beside others of which bf16 has the lowest bit, that would show it.
fn low_bits() -> Vec<Spec> {
    let mut specs = Vec::new();
    let only = |row: RowCase, types| RowCase { types: Types::Only(types), ..row };
    for (i, (row, group)) in ways("low bits", 6).enumerate() {
        let activation = GateActivation::Sigmoid;
        let weight = Some([DType::F32, DType::Bf16][i % 2]);
        let last = Spec { activation, weight, ..plain(row, group, Content::LowBits) };
        let (bf16, others) = (only(row, TYPES[0]), only(row, TYPES[1 + i % 2]));
        specs.extend([bf16, others].map(|row| Spec { row, ..last }));
        specs.push(Spec { row: bf16, gates_first: true, ..last });
    }
    for (row, group) in ways("low bits of factors", 2) {
        let row = only(row, &[DType::Bf16, DType::F32]);
        let weight = Some(DType::Bf16);
        let factors = plain(row, group, Content::LowBitsOfFactors);
        specs.push(Spec { has_bias: true, weight, ..factors });
    }
    for (row, group) in ways("least bits", 3) {
        let least = plain(only(row, TYPES[0]), group, Content::LeastBits);
        specs.push(Spec { gates_first: true, ..least });
    }
    specs
}

/// Groups whose last element gives the scale: of each remainder of a chunk; and such that no bit of the
/// last dword's number is among those of its lane's, but the upper two of these are set.
fn last_elements() -> Vec<Spec> {
    let mut specs = Vec::new();
    let mut add = |tile, shape, group, weight, gates_first| {
        let row = RowCase {
            tile,
            size: Size::Core,
            types: Types::Only(&[DType::Bf16, DType::F16]),
            ..RowCase::new(shape, "last elements")
        };
        let last = plain(row, group, Content::Last);
        specs.push(Spec { gates_first, has_bias: true, weight: Some(weight), ..last });
    };
    for (i, (tile, _)) in NORMS.into_iter().enumerate() {
        for (j, width) in [26, 27, 28, 29, 31, 33].into_iter().enumerate() {
            let (weights, is_first) = ([0, 1].map(|more| REALS[(i + j + more) % 3]), j % 2 == 1);
            add(Some(tile), [2, width], None, weights[0], is_first);
            add(Some(tile), [2, 3 * width], Some(width), weights[1], is_first);
        }
        let width = [97, 385, 1537, 6145, PIECE + 3073][i];
        // Of two such groups, the tile does not hold a row: for each launch another is chosen.
        let of_groups = (tile == "any").then_some(tile);
        for (is_first, weight) in [(false, DType::Bf16), (true, DType::F16)] {
            add(Some(tile), [1, width], None, weight, is_first);
            add(of_groups, [1, 2 * width], Some(width), weight, is_first);
        }
    }
    specs
}

/// Rows up to the end of memory, of each way through them, the last of which are loaded in the first
/// turn or in a later one.
fn ends() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (row, group) in ways("ends of memory", 1) {
        let shape = [small_count(row.tile.unwrap_or_default()), row.shape[1]];
        let place = Placement::DENSE.gap(3).edge(Edge::End);
        for workgroups in [None, Some(1)] {
            let row = RowCase { shape, place, workgroups, ..row };
            let drawn = plain(row, group, Content::Drawn(Draw::Normal));
            specs.push(Spec { gates_first: workgroups.is_some(), has_bias: true, ..drawn });
        }
    }
    specs
}

/// Elements of which a certain one, or a certain kind, decides what scales are.
fn decisive() -> Vec<Spec> {
    let mut specs = Vec::new();
    for (i, (row, group)) in ways("steep gates", 16).enumerate() {
        let weight = Some([DType::F32, DType::Bf16][i % 2]);
        let steep = Spec { weight, ..plain(row, group, Content::Steep) };
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
        specs.push(Spec { weight: Some(DType::F32), ..plain(row, group, Content::Steep) });
    }
    for (i, (row, group)) in ways("special", 12).enumerate() {
        let (gates_first, is_power) = (i % 4 == 3, i % 2 == 1);
        let special = plain(row, group, Content::Special);
        let special = Spec { gates_first, is_power, weight: Some(DType::Bf16), ..special };
        let row = RowCase { types: Types::Only(TYPES[i % 3]), ..row };
        specs.extend([special, Spec { row, has_bias: true, ..special }]);
    }
    for (row, group) in ways("biases alone", 9) {
        let zeros = plain(row, group, Content::Drawn(Draw::Zeros));
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
        let heavy = plain(any([1, width], "heavy", TYPES[2]), group, Content::Heavy);
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
                let (group, width) = groups.of(row.shape[1] + 37);
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
    specs.extend(exact().into_iter().chain(low_bits()).chain(last_elements()).chain(ends()));
    let cases = specs.into_iter().flat_map(Spec::cases);
    // Widths that are the same in whole groups fall together.
    let mut names = BTreeSet::new();
    cases.filter(|case| names.insert((case.info.title(), case.info.arch))).collect()
}
