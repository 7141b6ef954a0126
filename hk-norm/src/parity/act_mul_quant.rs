//! Cases of `act_mul_fp8_group_quant` and `act_mul_mxfp4_quant`.

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, Float, Real, decode};
use hk_core::op::quant::{
    Fp8, GroupOptions, MX_BLOCK, MxOptions, MxRound, QuantisedOut, ScaleLayout,
};
use hk_core::{Activation, Arch};
use hk_ref::harness::Scales;
use hk_ref::norm::activation::{Gate, gated_values};
use hk_ref::quant::fused_fp8_quant::{quotients, scale};
use hk_ref::quant::fused_mxfp4_quant::blocks;
use hk_ref::{
    Arg, Case, Draw, Edge, Expected, Placement, RowCase, Setup, Size, Steps, Types, real,
};

use super::activation::{
    ALL, GATE_LAYOUTS, GATED_SHAPES, GATED_TILES, MODELS, far_rows, gate_of, of_tiles, pair_of,
    pairs, suite,
};
use crate::activation::*;

/// Rows and widths of the specification, beside those of all gated ops: last blocks of 2, 14, 16, 20
/// and 32 elements.
const ROWS: [usize; 6] = [1, 2, 128, 160, 256, 280];
const WIDTHS: [usize; 8] = [2, 14, 16, 20, 32, 34, 256, 512];

/// Rows and widths for scales that are shuffled, of one workgroup: more rows than it has lanes, with and
/// without blocks of padding, four such blocks, which are stored together, and more blocks than lanes.
const PADDINGS: [[usize; 2]; 4] = [[300, 40], [300, 256], [16, 128], [1, 8224]];

/// Element types that cases have in turn.
const TYPES: [&[DType]; 3] = [&[DType::Bf16], &[DType::F16], &[DType::F32]];

const GROUPS: [usize; 3] = [32, 64, 128];
const LAYOUTS: [ScaleLayout; 3] =
    [ScaleLayout::RowMajor, ScaleLayout::ColMajor, ScaleLayout::Shuffled32x8];

/// What x holds.
#[derive(Clone, Copy)]
enum Content {
    Normal,
    /// Rows of zeros, with one huge number, with NaN, with infinity, and of tiny numbers.
    Special,
    /// Nothing is let through but one element in each 32: each scale is of another gate.
    Sparse,
    /// What [`EXACT`] makes codes of that are known bit by bit: see [`tie`].
    Ties,
}

/// Activations that f32 has exactly, of numbers of few bits.
const EXACT: [Activation; 3] = [Activation::Relu, Activation::Relu6, Activation::LeakyRelu(-0.5)];

/// A gate and what it lets through, of an element of a row whose groups have so many elements, with
/// codes up to `most`. In units of the scale, their product is the largest code, a zero of either
/// sign, or often just between two codes. Scales are powers of two in every other row.
fn tie([row, column]: [usize; 2], group: usize, most: f64) -> [f64; 2] {
    let scale = if row % 2 == 0 { 0.25 } else { 1.0 / (3 + column / group) as f64 };
    let units = match (column % group, column % 6) {
        (0, _) => most,
        (_, 1) => 0.0,
        // Numbers of e2m1 and what is between them, and between numbers of e4m3.
        _ if most < 7.0 => (column % 25) as f64 * 0.25,
        _ => (column % 8 * 2 + 17) as f64 * [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0][column % 7],
    };
    let sign = |is_negative: bool| if is_negative { -1f64 } else { 1.0 };
    // No gate is beyond 6.
    [units * scale / 128.0 * sign(column % 4 == 3), 128.0 * sign(column % 8 > 3)]
}

/// What varies between cases, apart from types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    content: Content,
    activation: Activation,
    gates: GateLayout,
    group: usize,
    layout: ScaleLayout,
    mode: MxRound,
}

impl Spec {
    /// One of all that an op can be asked for.
    const fn new(row: RowCase, content: Content, i: usize) -> Self {
        Self {
            row,
            content,
            activation: ALL[i % ALL.len()],
            gates: GATE_LAYOUTS[i / 2 % 2],
            group: GROUPS[i % 3],
            layout: LAYOUTS[i / 3 % 3],
            mode: MxRound::ALL[i % 5],
        }
    }

    /// To each type of codes.
    fn cases(self) -> impl Iterator<Item = Case> {
        let [rows, width] = self.row.shape;
        let even = RowCase { shape: [rows, width.next_multiple_of(2)], ..self.row };
        let fp4 = Self { row: even, ..self };
        let types = self.row.inputs().iter();
        types.flat_map(move |x| self.fp8_cases(*x).into_iter().chain([fp4.fp4(*x)]))
    }

    /// To that of each chip.
    fn fp8_cases(self, x: DType) -> [Case; 2] {
        let is_shuffled = self.layout == ScaleLayout::Shuffled32x8;
        let layout = if is_shuffled { ScaleLayout::RowMajor } else { self.layout };
        Arch::ALL.map(|arch| Self { layout, ..self }.fp8(x, arch))
    }

    fn named(&self, mut case: Case, scales: &str) -> Case {
        let Self { activation, gates, layout, .. } = self;
        case.info.case += &format!(", {activation:?}, {gates:?}, {scales}, {layout:?}");
        case
    }

    fn fp8(self, x: DType, arch: Arch) -> Case {
        let codes = match arch {
            Arch::Gfx942 => DType::F8E4M3Fnuz,
            Arch::Gfx950 => DType::F8E4M3,
        };
        let (op, types) = ("act_mul_fp8_group_quant", [x, codes]);
        let mut case = self.row.case("activation", op, &types, move |s| {
            real!(x, T => match codes {
                DType::F8E4M3Fnuz => self.set_up_fp8::<T, F8E4M3Fnuz>(s),
                _ => self.set_up_fp8::<T, F8E4M3>(s),
            });
        });
        case.info.arch = Some(arch);
        self.named(case, &format!("groups of {}", self.group))
    }

    fn fp4(self, x: DType) -> Case {
        let (op, types) = ("act_mul_mxfp4_quant", [x, DType::F4x2E2M1]);
        let case = self.row.case("activation", op, &types, move |s| {
            real!(x, T => self.set_up_fp4::<T>(s));
        });
        self.named(case, &format!("{:?}", self.mode))
    }

    /// The input, what is computed of it, and how far off f32 may make that; of groups of so many
    /// elements, with codes up to `most`.
    fn x<T: Real>(&self, s: &mut Setup, group: usize, most: f64) -> (Arg<T>, Vec<f64>, Vec<f64>) {
        let [rows, width] = self.row.shape;
        let shape = [rows, 2 * width];
        let mut x = s.draw::<T>("x", &shape, Draw::Normal);
        for (i, row) in x.chunks_exact_mut((2 * width).max(1)).enumerate() {
            match self.content {
                Content::Ties => {
                    for column in 0..width {
                        let pair = pair_of(column, width, self.gates);
                        for (at, number) in pair.into_iter().zip(tie([i, column], group, most)) {
                            row[at] = T::from_f64(number);
                        }
                    }
                }
                _ => self.alter(s, i, row),
            }
        }
        let pairs = pairs(&decode(&x), width, self.gates);
        let gate = Gate::Activation(self.activation, None);
        let (y, slacks) = gated_values(&pairs, &vec![1.0; pairs.len()], gate);
        let gates = s.carried(|element| gate_of(element, width, self.gates));
        (s.given("x", &shape, x).place(gates), y, slacks)
    }

    /// Makes row `i` what it is to hold, if that is not what was drawn.
    fn alter<T: Float>(&self, s: &Setup, i: usize, row: &mut [T]) {
        let width = row.len() / 2;
        match (self.content, i % 5) {
            (Content::Normal | Content::Ties, _) => {}
            (Content::Special, 0) => row.fill(T::from_f64(0.0)),
            (Content::Special, 4) => {
                row.copy_from_slice(&s.draw::<T>("tiny", &[row.len()], Draw::Denormal));
            }
            (Content::Special, kind) => {
                let [gate, _] = pair_of(width / 2, width, self.gates);
                row[gate] = T::from_f64([6e4, f64::NAN, f64::INFINITY][kind - 1]);
            }
            (Content::Sparse, _) => {
                for column in 0..width {
                    let [gate, linear] = pair_of(column, width, self.gates);
                    // Gates from -3 to 9, each in another lane's place.
                    let block = i * width.div_ceil(MX_BLOCK) + column / MX_BLOCK;
                    let step = (block * 37 % 512) as f64 / 512.0;
                    row[gate] = T::from_f64(12.0 * step - 3.0);
                    if column % MX_BLOCK != block * 5 % MX_BLOCK {
                        row[linear] = T::from_f64(0.0);
                    }
                }
            }
        }
    }

    fn set_up_fp8<T: Real, C: Fp8>(self, s: &mut Setup) {
        let Self { row, activation, gates, group, layout, .. } = self;
        let width = row.shape[1];
        let most = f64::from(C::MOST);
        let (x, y, slacks) = self.x::<T>(s, group, most);
        let is_exact = matches!(self.content, Content::Ties);
        let (mut codes, mut scales, mut slack) = (Vec::new(), Vec::new(), Vec::new());
        let of_rows = y.chunks(width.max(1)).zip(slacks.chunks(width.max(1)));
        for (y, slacks) in of_rows.flat_map(|(y, slacks)| y.chunks(group).zip(slacks.chunks(group)))
        {
            let mut scale = scale(y, f64::from(1e-10f32), f64::INFINITY, most);
            if is_exact {
                let inverse = 1.0 / scale as f32;
                let code = |y: &f64| f64::from(*y as f32 * inverse).clamp(-most, most);
                codes.extend(y.iter().map(code));
                scale = f64::from(scale as f32);
            } else {
                codes.extend(quotients(y, scale, most));
            }
            scales.push(scale);
            slack.push(slacks.iter().copied().fold(0.0, f64::max) / most);
        }
        let of = Scales { shape: row.shape, group, layout };
        let at: Vec<_> =
            (0..codes.len()).filter(|i| scales[of.of_element(*i)].is_finite()).collect();
        let specified = at.iter().map(|i| codes[*i]).collect();
        let near = Expected { at: Some(at), ..Expected::codes(specified, Steps::NEAR_TIES) };
        let expected = if is_exact { Expected::bits(&C::encode(&codes)) } else { near };
        let codes = s.output::<C>("codes", &row.shape, expected);
        let place = of.carried(s);
        let scales = of.arrange(&scales, 1.0);
        let expected = if is_exact {
            Expected::exact(scales)
        } else {
            Expected::relative(scales, 2e-6).plus(of.arrange(&slack, 0.0))
        };
        let scales = placed(s.output::<f32>("scales", &of.in_memory(), expected), row, place);
        let options = GroupOptions::default().group(group).scale_layout(layout);
        s.call(move || {
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            let options = options.rows(row.options());
            act_mul_fp8_group_quant_into(&x.get(), activation, gates, &options, out)
        });
    }

    fn set_up_fp4<T: Real>(self, s: &mut Setup) {
        let Self { row, activation, gates, layout, mode, .. } = self;
        let (x, y, _) = self.x::<T>(s, MX_BLOCK, 6.0);
        let (codes, scales) = blocks(&y, row.shape[1].max(1), mode);
        let codes = match self.content {
            Content::Ties => Expected::bits(&F4x2E2M1::encode(&codes)),
            _ => Expected::codes(codes, Steps::NEAR_TIES),
        };
        let codes = s.output::<F4x2E2M1>("codes", &row.shape, codes);
        let of = Scales { shape: row.shape, group: MX_BLOCK, layout };
        let place = of.carried(s);
        let expected = Expected::exact(decode(&of.arrange(&scales, E8M0::ONE)));
        let scales = placed(s.output::<E8M0>("scales", &of.in_memory(), expected), row, place);
        let options = MxOptions::default().round_mode(mode).scale_layout(layout);
        s.call(move || {
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            let options = options.rows(row.options());
            act_mul_mxfp4_quant_into(&x.get(), activation, gates, &options, out)
        });
    }
}

/// Scales, across 4 GiB if rows are.
fn placed<S: Element>(scales: Arg<S>, row: RowCase, place: Placement) -> Arg<S> {
    if row.place.carry.is_some() { scales.place(place) } else { scales }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut rows: Vec<_> = suite(&GATED_TILES).into_iter().filter(|row| !row.in_place).collect();
    let in_turn = |i: usize, shape, name| RowCase {
        types: Types::Only(TYPES[i % 3]),
        ..RowCase::new(shape, name)
    };
    rows.extend(GATED_SHAPES.into_iter().enumerate().map(|(i, shape)| in_turn(i, shape, "plain")));
    for (i, count) in ROWS.into_iter().enumerate() {
        for (j, width) in WIDTHS.into_iter().enumerate() {
            rows.push(in_turn(i + j, [count, width], "small"));
        }
    }
    rows.extend(RowCase::models(&MODELS));
    let mut specs: Vec<_> =
        rows.into_iter().enumerate().map(|(i, row)| Spec::new(row, Content::Normal, i)).collect();
    for (i, row) in of_tiles(&GATED_TILES, "special").enumerate() {
        let row = RowCase { shape: [12, row.shape[1]], ..row };
        specs.extend((0..5).map(|j| Spec::new(row, Content::Special, i + 3 * j)));
    }
    for gates in GATE_LAYOUTS {
        for (i, row) in RowCase::end_rows(&GATED_TILES).into_iter().chain(far_rows()).enumerate() {
            specs.push(Spec { gates, ..Spec::new(row, Content::Normal, i) });
        }
        for (i, activation) in EXACT.into_iter().enumerate() {
            for (j, row) in of_tiles(&GATED_TILES, "ties").enumerate() {
                let (shape, workgroups) = ([2, row.shape[1]], Some(1));
                let row = RowCase { shape, workgroups, size: Size::Core, ..row };
                let spec = Spec::new(row, Content::Ties, i + j);
                specs.push(Spec { activation, gates, ..spec });
            }
        }
    }
    for i in 0..2 * ALL.len() {
        let row = in_turn(i / 2, [16, 1024], "each gate");
        specs.push(Spec { group: 32, ..Spec::new(row, Content::Sparse, i) });
    }
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    for shape in PADDINGS {
        let row = RowCase { workgroups: Some(1), ..RowCase::new(shape, "padding") };
        let layout = ScaleLayout::Shuffled32x8;
        cases.push(Spec { layout, ..Spec::new(row, Content::Normal, 0) }.fp4(DType::Bf16));
    }
    // Every way of every kernel with every activation, every mode, and rows that end in every way.
    for gates in GATE_LAYOUTS {
        let bf16 = |row| RowCase { types: Types::Only(TYPES[0]), ..row };
        for row in of_tiles(&GATED_TILES, "each").map(bf16) {
            for i in 0..ALL.len() {
                let spec = Spec { gates, ..Spec::new(row, Content::Normal, i) };
                cases.extend(spec.fp8_cases(DType::Bf16));
                // Kernels of f32 compute pairs of elements.
                let shape = [1, row.shape[1]];
                let of_f32 = RowCase { shape, size: Size::Core, ..row };
                cases.extend(Spec { row: of_f32, ..spec }.fp8_cases(DType::F32));
            }
            // Several turns, the last of which has rows for some lanes of a wave alone.
            for (i, x) in [DType::Bf16, DType::F32].into_iter().enumerate() {
                let rows = if row.tile == Some("n128") { 83 } else { 5 };
                let (shape, workgroups) = ([rows, row.shape[1]], Some(1));
                let row = RowCase { name: "turns", shape, workgroups, size: Size::Core, ..row };
                let place = Placement::DENSE.gap(3).edge(Edge::End);
                let row = RowCase { place, ..row };
                let spec = Spec { gates, ..Spec::new(row, Content::Normal, i) };
                cases.extend(spec.fp8_cases(x).map(Case::writes_once));
            }
            for i in 0..MxRound::ALL.len() {
                let row = RowCase { shape: [12, row.shape[1]], ..row };
                cases.extend(Spec { gates, ..Spec::new(row, Content::Special, i) }.cases());
            }
        }
        for (i, (tile, _)) in GATED_TILES.into_iter().enumerate() {
            for width in 17..25 {
                let row = bf16(RowCase { tile: Some(tile), ..RowCase::new([5, width], "ends") });
                let spec = Spec { gates, ..Spec::new(row, Content::Normal, i + width) };
                cases.extend(spec.fp8_cases(DType::Bf16));
                cases.extend((width % 2 == 0).then(|| spec.fp4(DType::Bf16)));
            }
            // Groups of more than half of a row's lanes, and ends among the other half.
            let width = if tile == "n128" { 107 } else { 363 };
            for (j, group) in GROUPS.into_iter().enumerate() {
                let row = bf16(RowCase { tile: Some(tile), ..RowCase::new([5, width], "groups") });
                let spec = Spec { gates, group, ..Spec::new(row, Content::Normal, i + j) };
                cases.extend(spec.fp8_cases(DType::Bf16));
            }
        }
    }
    cases
}
