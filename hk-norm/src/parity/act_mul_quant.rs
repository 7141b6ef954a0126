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
    /// The same, of every size that f32 has: see [`power`].
    Powers,
    /// Nothing is let through but one element in each 32, whose gate is one of [`steep`].
    Steep,
}

/// Activations that f32 has exactly, of numbers of few bits.
const EXACT: [Activation; 3] = [Activation::Relu, Activation::Relu6, Activation::LeakyRelu(-0.5)];

/// A gate and what it lets through, of an element of a row whose groups have so many elements, with
/// codes up to `most`. In units of the scale, their product is the largest code, a zero of either
/// sign, or often just between two codes, or beside that. Scales are powers of two in every other row.
fn tie([row, column]: [usize; 2], group: usize, most: f64) -> [f64; 2] {
    let scale = if row % 2 == 0 { 0.25 } else { 1.0 / (3 + column / group) as f64 };
    let units = match (column % group, column % 6) {
        (0, _) => most,
        (_, 1) => 0.0,
        // Numbers of e2m1 and what is between them, and between numbers of e4m3.
        _ if most < 7.0 => (column % 25) as f64 * 0.25,
        _ => (column % 8 * 2 + 17) as f64 * [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0][column % 7],
    };
    let units = if column % group == 0 { units } else { beside(units, row / 2 % 3) };
    // No gate is beyond 6.
    [units * scale / 128.0 * sign(column % 4 == 3), 128.0 * sign(column % 8 > 3)]
}

const fn sign(is_negative: bool) -> f64 {
    if is_negative { -1.0 } else { 1.0 }
}

/// A number of f32, or the one above it or below; zero stays.
fn beside(number: f64, which: usize) -> f64 {
    let number = number as f32;
    f64::from(match which {
        1 if number > 0.0 => number.next_up(),
        2 if number > 0.0 => number.next_down(),
        _ => number,
    })
}

/// Powers of two that groups are made of: almost all that f32 has, those beside the least scale, and some
/// between them.
const POWERS: [i32; 16] =
    [125, 124, 64, 30, 3, 0, -1, -20, -32, -33, -64, -100, -125, -126, -127, -128];

/// The largest magnitudes of groups, in units of these powers: where modes of rounding go on to the next
/// scale, each with what [`beside`] takes.
const LARGEST: [(f64, usize); 8] =
    [(4.0, 0), (4.0, 1), (6.0, 2), (6.0, 0), (6.0, 1), (7.0, 2), (7.0, 0), (8.0, 2)];

/// A gate and what it lets through, as above, of groups as large as f32 can hold and as small. All have
/// another largest magnitude.
fn power([row, column]: [usize; 2], group: usize) -> [f64; 2] {
    let number = 11 * row + column / group;
    let power = POWERS[number % POWERS.len()];
    let (largest, which) = LARGEST[number / POWERS.len() % LARGEST.len()];
    // Of the largest power, 8 units would be infinite.
    let largest = if power == POWERS[0] { 7.0 } else { beside(largest, which) };
    let is_largest = column % group == 3 * number % 31;
    let units = if is_largest { largest } else { (column % 16) as f64 * 0.25 };
    let of_gate = power / 2;
    [units * 2f64.powi(of_gate), 2f64.powi(power - of_gate) * sign(column % 8 > 3)]
}

/// Gates at which f32 makes errors of a few units in the last place, however small the result is: far from
/// zero, around where another formula is taken, and where each constant counts.
const fn steep(activation: Activation) -> &'static [f64] {
    match activation {
        Activation::Gelu => &[
            -1.5, -1.375, -1.1875, -1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.125, 1.1875,
            1.21875, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.5, 6.0, 11.0,
        ],
        Activation::Tanh => &[
            -2.0, -1.0, -0.75, -0.640625, -0.6171875, -0.5, -0.25, 0.01171875, 0.0234375, 0.125,
            0.25, 0.375, 0.5, 0.5625, 0.6171875, 0.640625, 0.6875, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0,
            9.0,
        ],
        Activation::Silu | Activation::Sigmoid | Activation::Mish => &[
            -84.0, -80.0, -77.0, -70.0, -61.0, -50.0, -33.0, -20.0, -9.0, -5.0, -3.0, -2.0, -1.0,
            -0.5, 0.5, 1.0, 2.0, 3.0, 5.0, 9.0, 19.5, 20.5, 24.0,
        ],
        _ => &[
            -1.5, -1.25, -1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0,
            4.0, 9.0,
        ],
    }
}

/// Activations that have gates of [`steep`].
const STEEP: [Activation; 7] = [
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::Silu,
    Activation::SiluExp2,
    Activation::Sigmoid,
    Activation::Tanh,
    Activation::Mish,
];

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
                Content::Ties => self.fill(row, |column| tie([i, column], group, most)),
                Content::Powers => self.fill(row, |column| power([i, column], group)),
                _ => self.alter(s, i, row),
            }
        }
        let pairs = pairs(&decode(&x), width, self.gates);
        let gate = Gate::Activation(self.activation, None);
        let (y, slacks) = gated_values(&pairs, &vec![1.0; pairs.len()], gate);
        let gates = s.carried(|element| gate_of(element, width, self.gates));
        (s.given("x", &shape, x).place(gates), y, slacks)
    }

    /// Makes a row pairs of a gate and what it lets through.
    fn fill<T: Float>(&self, row: &mut [T], pair: impl Fn(usize) -> [f64; 2]) {
        let width = row.len() / 2;
        for column in 0..width {
            for (at, number) in pair_of(column, width, self.gates).into_iter().zip(pair(column)) {
                row[at] = T::from_f64(number);
            }
        }
    }

    /// Whether codes and scales are known bit by bit.
    const fn is_exact(&self) -> bool {
        matches!(self.content, Content::Ties | Content::Powers)
    }

    /// Makes row `i` what it is to hold, if that is not what was drawn.
    fn alter<T: Float>(&self, s: &Setup, i: usize, row: &mut [T]) {
        let width = row.len() / 2;
        match (self.content, i % 5) {
            (Content::Normal | Content::Ties | Content::Powers, _) => {}
            (Content::Special, 0) => row.fill(T::from_f64(0.0)),
            (Content::Special, 4) => {
                row.copy_from_slice(&s.draw::<T>("tiny", &[row.len()], Draw::Denormal));
            }
            (Content::Special, kind) => {
                let [gate, _] = pair_of(width / 2, width, self.gates);
                row[gate] = T::from_f64([6e4, f64::NAN, f64::INFINITY][kind - 1]);
            }
            (Content::Steep, _) => self.fill(row, |column| {
                let block = i * width.div_ceil(MX_BLOCK) + column / MX_BLOCK;
                let gates = steep(self.activation);
                // The least results are well above the least scale.
                let is_let = column % MX_BLOCK == block * 5 % 8;
                [gates[block % gates.len()], if is_let { 2f64.powi(100) } else { 0.0 }]
            }),
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
        let is_exact = self.is_exact();
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
        let expected = match self.content {
            _ if is_exact => Expected::exact(scales),
            // Seven units in the last place: the power, sums, the reciprocal and products.
            Content::Steep => Expected::relative(scales, 8e-7),
            _ => Expected::relative(scales, 2e-6).plus(of.arrange(&slack, 0.0)),
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
        let codes = if self.is_exact() {
            Expected::bits(&F4x2E2M1::encode(&codes))
        } else {
            Expected::codes(codes, Steps::NEAR_TIES)
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

/// Odd and even rows of each tile: so many of tile n128, and so many with at least so many elements, a
/// multiple of 8, of tile any.
fn short_rows(
    name: &'static str,
    shared: usize,
    [alone, width]: [usize; 2],
) -> impl Iterator<Item = RowCase> {
    of_tiles(&GATED_TILES, name).map(move |row| {
        let whole = row.shape[1];
        let is_shared = row.tile == Some("n128");
        let shape = if is_shared { [shared, whole] } else { [alone, width + whole % 8] };
        RowCase { shape, ..row }
    })
}

/// Shuffled scales with blocks of padding of every number, and without rows of padding.
fn padding_cases() -> Vec<Case> {
    let one_workgroup = |shape| RowCase { workgroups: Some(1), ..RowCase::new(shape, "padding") };
    let of_blocks = (1..=8).map(|blocks| [40, blocks * MX_BLOCK]);
    let mut rows: Vec<_> = PADDINGS.into_iter().chain(of_blocks).map(one_workgroup).collect();
    // As many rows as lanes of one workgroup, and lanes of more.
    rows.extend([one_workgroup([256, 40]), RowCase::new([256, 40], "padding")]);
    let layout = ScaleLayout::Shuffled32x8;
    let case = |row| Spec { layout, ..Spec::new(row, Content::Normal, 0) }.fp4(DType::Bf16);
    rows.into_iter().map(case).collect()
}

/// Results that are known bit by bit, or to the last few: of every way of every kernel, in each layout of
/// scales and each mode, of every size; and of each activation.
fn close_cases(gates: GateLayout) -> Vec<Case> {
    let mut cases = Vec::new();
    let types = Types::Only(&[DType::Bf16, DType::F32]);
    for i in 0..MxRound::ALL.len() {
        // Tiles of shuffled scales are of 32 rows.
        let alone = if i % 3 == 2 { 34 } else { 12 };
        for row in short_rows("powers", 35, [alone, 296]) {
            let spec = Spec {
                activation: [EXACT[0], EXACT[2]][i % 2],
                gates,
                group: GROUPS[i % 3],
                layout: LAYOUTS[i % 3],
                mode: MxRound::ALL[i],
                ..Spec::new(RowCase { types, ..row }, Content::Powers, 0)
            };
            cases.extend(spec.cases());
        }
    }
    for activation in STEEP {
        for row in short_rows("steep", 12, [1, 816]) {
            let spec = Spec {
                activation,
                gates,
                group: MX_BLOCK,
                layout: ScaleLayout::RowMajor,
                ..Spec::new(row, Content::Steep, 0)
            };
            cases.extend([DType::Bf16, DType::F32].into_iter().flat_map(|x| spec.fp8_cases(x)));
        }
    }
    cases
}

/// Rows that end in every way, in lanes that have no bit in common, in first turns and in later ones.
fn end_cases(gates: GateLayout) -> Vec<Case> {
    let mut cases = Vec::new();
    // Chunks 5 and 10 of 16, and 21 and 42 of 64 in the second piece.
    for (tile, rows, starts) in [("n128", 35, [40, 80]), ("any", 5, [680, 848])] {
        for (i, width) in starts.into_iter().flat_map(|start| start + 1..start + 9).enumerate() {
            let row = RowCase {
                tile: Some(tile),
                workgroups: Some(1),
                place: Placement::DENSE.gap(5),
                types: Types::Only(TYPES[0]),
                ..RowCase::new([rows, width], "ends in turns")
            };
            let spec = Spec { gates, ..Spec::new(row, Content::Normal, i) };
            cases.extend(spec.fp8_cases(DType::Bf16).map(Case::writes_once));
            cases.extend((width % 2 == 0).then(|| spec.fp4(DType::Bf16)));
        }
    }
    cases
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
        let rows = RowCase::end_rows(&GATED_TILES).into_iter().chain(far_rows());
        let rows = rows.chain(RowCase::rows_behind_32(&GATED_TILES));
        for (i, row) in rows.enumerate() {
            specs.push(Spec { gates, ..Spec::new(row, Content::Normal, i) });
        }
        for (i, activation) in EXACT.into_iter().enumerate() {
            for (j, row) in short_rows("ties", 6, [6, 816]).enumerate() {
                let row = RowCase { workgroups: Some(1), size: Size::Core, ..row };
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
    cases.extend(padding_cases());
    for gates in GATE_LAYOUTS {
        cases.extend(close_cases(gates));
        cases.extend(end_cases(gates));
    }
    // What is let through is behind a multiple of 4 GiB, gates of the same row are before it.
    for row in short_rows("halves across 4 GiB", 2, [2, 816]) {
        let (place, types) = (Placement::DENSE.carry(3), Types::Only(TYPES[0]));
        let row = RowCase { place, types, size: Size::Core, ..row };
        let spec = Spec::new(row, Content::Normal, 0);
        cases.extend(Spec { gates: GateLayout::Halves, ..spec }.cases());
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
            let widths = if tile == "n128" { [107, 104] } else { [363, 360] };
            for (j, group) in GROUPS.into_iter().enumerate() {
                for width in widths {
                    let row = RowCase { tile: Some(tile), ..RowCase::new([5, width], "groups") };
                    let spec = Spec { gates, group, ..Spec::new(row, Content::Normal, i + j) };
                    cases.extend(spec.fp8_cases(DType::Bf16));
                }
            }
        }
    }
    cases
}
