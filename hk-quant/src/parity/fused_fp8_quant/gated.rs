//! Cases of `fused_rms_gated_fp8_group_quant`.

use std::collections::BTreeSet;

use hk_core::Activation;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real};
use hk_core::op::quant::{Fp8, QuantisedOut};
use hk_ref::quant::fused_fp8_quant::{GatedNorm, gated_norm, gated_scale, quotients};
use hk_ref::{Arg, Case, Draw, Expected, REALS, RowCase, Setup, Size, Types, real};

use super::{EPS, NEAR};
use crate::parity::quant::{CODES, NORMS, TYPES, small_norms, suite_of_norms};
use crate::{GateActivation, GatedRmsInput, GatedRmsOptions, fused_rms_gated_fp8_group_quant_into};

/// Shapes of models: the output of Qwen3-Next's gated delta rule.
const MODELS: [[usize; 2]; 1] = [[65_536, 128]];

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
    draw: Draw,
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

    fn set_up<T: Real, W: Real, C: Fp8>(self, s: &mut Setup) {
        let (shape, width) = (self.row.shape, self.row.shape[1]);
        let columns = s.carried(|element| element % width);
        // Nothing is to cancel: the errors of f32 would not be small beside a sum.
        let positive =
            |draw| if self.has_bias && draw == Draw::Normal { Draw::Uniform } else { draw };
        let x = s.input::<T>("x", &shape, positive(self.draw));
        let z = s.input::<T>("z", &shape, positive(Draw::Normal));
        let weight = s.input::<W>("weight", &[width], Draw::Uniform).place(columns);
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
        let group = self.group.unwrap_or(width);
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
        let scales = s.output::<f32>("scales", &of_scales, Expected::relative(scales, 2e-6));
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
                    draw: Draw::Normal,
                    weight: Some(weight),
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
        let weight = None;
        let of =
            Spec { row, group, gates_first, activation, has_bias, is_power, most, draw, weight };
        specs.push(of);
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
    specs.extend(factors());
    let cases = specs.into_iter().flat_map(Spec::cases);
    // Widths that are the same in whole groups fall together.
    let mut names = BTreeSet::new();
    cases.filter(|case| names.insert((case.info.title(), case.info.arch))).collect()
}
