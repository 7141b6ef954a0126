//! Cases of the module `fused_fp8_quant`.

mod flatten;
mod gated;
mod silu_mul;

use hk_core::Result;
use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, bf16, decode, f16};
use hk_core::op::quant::{ByteCode, Fp8, GroupOptions, QuantisedOut, ScaleLayout};
use hk_ref::quant::fused_fp8_quant::{add, norm, products, quotients, scale};
use hk_ref::{
    Arg, Case, Draw, Edge, Expected, Placement, REALS, RowCase, Setup, Size, Steps, Types, real,
};

use super::quant::{CODES, NORMS, TYPES, code, small_count, small_norms, suite_of_norms};
use crate::{
    FusedAddRmsnormDynamicQuantOut, RmsInput, RmsOthers, RmsnormDynamicOptions, SecondRms,
    StaticOptions, fused_add_rmsnorm_dynamic_quant_into, fused_rms_fp8_group_quant_into,
    fused_rms_fp8_per_tensor_static_quant_into, rmsnorm_dynamic_quant_into,
};

pub(super) const EPS: f32 = 1e-6;

/// The scale that is given: some codes are clamped.
const SCALE: f32 = 0.005;

/// The bound of magnitudes, below those of most rows.
const BOUND: f32 = 1.5;

/// Codes that may be one step off, since the norm is not exact.
pub(super) const NEAR: Steps = Steps::NEAR_TIES;

/// Widths of rows, and of those that are normalised beside them.
const WIDTHS: [[usize; 2]; 4] = [[128, 128], [128, 1536], [200, 64], [1536, 512]];

/// Elements of a piece of a row, in the tile `any`.
const PIECE: usize = 4096;

/// Shapes of models: DeepSeek-V3, with the width of other rows.
const MODELS: [([usize; 2], Option<usize>); 9] = [
    ([8192, 1536], Some(512)),
    ([8192, 7168], Some(512)),
    ([256, 4096], None),
    ([1, 128], Some(7168)),
    ([32, 128], Some(7168)),
    ([256, 128], Some(7168)),
    ([1, 7168], Some(7168)),
    ([32, 7168], Some(7168)),
    ([256, 7168], Some(7168)),
];

/// Shapes of models for scales that are not of groups.
const WHOLE_MODELS: [[usize; 2]; 3] = [[256, 4096], [8192, 4096], [8192, 8192]];

/// Types of weights, and another one for those of other rows.
pub(super) trait Weight: Real {
    type Other: Real;
}

impl Weight for bf16 {
    type Other = f32;
}

impl Weight for f16 {
    type Other = bf16;
}

impl Weight for f32 {
    type Other = f16;
}

#[derive(Clone, Copy, PartialEq)]
enum Scales {
    Group(usize, ScaleLayout),
    /// Given; the norm is perhaps rounded before.
    Given(bool),
    /// Of rows, with a bound perhaps.
    Row(Option<f32>),
}

/// What the op is given.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Normal,
    /// Normal, with so large an eps that it counts.
    LargeEps,
    /// Zeros alone, in every other row.
    Zeros,
    /// The last element of a row is the largest, and so is its weight.
    Peak,
    /// See [`heavy`].
    Heavy,
    /// Numbers whose norm, scales and codes are known bit by bit: see [`exact`].
    Exact,
    /// In rows in turn, every other element is infinite, or its residual, or both with other signs, or
    /// none; so is every other weight. Of the rest, bf16 has the lowest bit.
    Infinite,
    /// Rows of which each is a power of two smaller, beside which `eps` is large: see [`EXPONENTS`].
    Small,
}

/// Binary exponents of [`Content::Small`], negated: those at which scales of rows become subnormal, those
/// of groups the least, and at which quotients are found in other ways.
const EXPONENTS: [i32; 20] =
    [126, 97, 127, 98, 128, 99, 129, 96, 130, 100, 95, 94, 113, 64, 42, 43, 44, 45, 23, 12];

impl Content {
    const fn eps(self) -> f32 {
        match self {
            Self::LargeEps => 0.5,
            // Nothing is left of the mean of squares, and the root is a power of two.
            Self::Exact => 1_073_741_824.0,
            _ => EPS,
        }
    }

    /// How far off scales may be.
    const fn tolerance(self) -> f64 {
        if matches!(self, Self::Heavy) { 1e-6 } else { 2e-6 }
    }

    /// The norm of rows as long as the weight.
    fn norm(self, h: &[f64], weight: &[f64], eps: f32) -> Vec<f64> {
        if self != Self::Exact {
            return norm(h, weight, eps);
        }
        let root = f64::from(eps).sqrt();
        h.iter().zip(weight.iter().cycle()).map(|(h, weight)| h / root * weight).collect()
    }

    /// A norm as it is stored.
    fn stored<T: Real>(self, norm: &[f64]) -> Expected {
        if self == Self::Exact {
            return Expected::bits(&T::encode(norm));
        }
        Expected::rounded(norm.to_vec(), T::DTYPE, false)
    }

    /// Makes what was drawn that. Sums of rows that have one scale are rounded.
    fn alter<T: Real, W: Real>(
        self,
        x: &mut [T],
        residual: &mut [T],
        weight: &mut [W],
        is_rounded: bool,
    ) {
        let width = weight.len();
        match self {
            Self::Normal | Self::LargeEps => {}
            Self::Zeros => {
                for of in [x, residual] {
                    of.chunks_mut(width).step_by(2).for_each(|row| row.fill(T::from_f64(0.0)));
                }
            }
            Self::Peak => {
                x.iter_mut().skip(width - 1).step_by(width).for_each(|x| *x = T::from_f64(16.0));
                weight[width - 1] = W::from_f64(1.0);
            }
            Self::Heavy => {
                x.copy_from_slice(&heavy(x.len(), width, 0.25));
                residual.fill(T::from_f64(0.0));
            }
            Self::Exact => {
                let is_sum = !residual.is_empty();
                for (i, x) in x.iter_mut().enumerate() {
                    let elements = exact(T::DTYPE, i / width, i % width, is_sum);
                    *x = T::from_f64(elements[0]);
                    if is_sum {
                        residual[i] = T::from_f64(elements[1]);
                    }
                }
                let tie = if is_sum && !is_rounded { 16_384.0 } else { 49_152.0 };
                for (column, weight) in weight.iter_mut().enumerate() {
                    *weight = W::from_f64(if column % 2 == 0 { 16_768.0 } else { tie });
                }
            }
            Self::Infinite => {
                const ODD: f64 = 131.0 / 128.0;
                let infinite =
                    |i: usize, rows: [bool; 4]| i % width % 2 == 1 && rows[i / width % 4];
                for (i, x) in x.iter_mut().enumerate() {
                    let is_there = infinite(i, [true, false, true, false]);
                    *x = T::from_f64(if is_there { f64::INFINITY } else { ODD });
                }
                for (i, residual) in residual.iter_mut().enumerate() {
                    let is_there = infinite(i, [false, true, true, false]);
                    *residual = T::from_f64(if is_there { f64::NEG_INFINITY } else { ODD });
                }
                for (i, weight) in weight.iter_mut().enumerate() {
                    *weight = W::from_f64(if i % 2 == 1 { f64::INFINITY } else { ODD });
                }
            }
            Self::Small => {
                for (i, x) in x.iter_mut().enumerate() {
                    let power = f64::from(-EXPONENTS[i / width % EXPONENTS.len()]).exp2();
                    // The first is the largest, and so is its weight.
                    let size = if i % width == 0 { 1.0 } else { x.to_f64() % 1.0 };
                    *x = T::from_f64(size * power);
                }
                residual.fill(T::from_f64(0.0));
                weight[0] = W::from_f64(1.0);
            }
        }
    }
}

/// An element of [`Content::Exact`] and its residual. As many bits as bf16 or f16 have are all needed, and
/// the lowest is set, of
/// - an element in an odd column, which in bf16 or f16 is a tie that becomes even by rounding down, if it
///   is tripled; of its sum with the residual; and of that sum, rounded and tripled;
/// - an element in an even column, and its sum.
fn exact(dtype: DType, row: usize, column: usize, is_sum: bool) -> [f64; 2] {
    let bits: i32 = if dtype == DType::Bf16 { 8 } else { 11 };
    let (least, step): (i32, i32) = (1 << (bits - 1), ((row + column) % 10) as i32);
    let whole = least + 3 + 4 * step;
    // Twice the one and the other come to 13 more than a multiple of 16.
    let other = least + (13 - 2 * whole - least).rem_euclid(16) + 16 * (step % 2);
    let sign = if (column / 8).is_multiple_of(2) { 1.0 } else { -1.0 };
    let of = |number: i32, exponent: i32| sign * f64::from(number) * f64::from(exponent).exp2();
    let x = of(whole, -bits - 2);
    match (is_sum, column % 2) {
        (false, _) => [x, 0.0],
        (true, 0) => [x, -2.0 * x],
        (true, _) => [x, of(other, -bits - 3)],
    }
}

/// Rows of which a lane's squares come to 2^23 in the first piece, and to about 1/2 in others, of
/// that element. These are lost if they are added to that one by one, and not to each other first.
fn heavy<T: Real>(count: usize, width: usize, other: f64) -> Vec<T> {
    let number = |i: usize| if i % width < PIECE { 1024.0 } else { other };
    (0..count).map(|i| T::from_f64(number(i))).collect()
}

/// What varies between cases, apart from types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    content: Content,
    scales: Scales,
    has_residual: bool,
    /// Not the sum, where that is for the caller to say.
    drops_sum: bool,
    stores_norm: bool,
    /// The width of other rows.
    second: Option<usize>,
}

impl Spec {
    /// Nothing but codes, scales and the sum.
    const fn new(row: RowCase, scales: Scales, has_residual: bool) -> Self {
        let (content, second) = (Content::Normal, None);
        Self { row, content, scales, has_residual, drops_sum: false, stores_norm: false, second }
    }

    /// With a residual, the norm and rows of that width beside, each if its bit is set; the last where it
    /// can be.
    fn with(row: RowCase, scales: Scales, options: usize, other: usize) -> Self {
        let can_have = !matches!(scales, Scales::Row(_));
        let second = (options & 4 != 0 && can_have).then_some(other);
        let stores_norm = options & 2 != 0;
        Self { stores_norm, second, ..Self::new(row, scales, options & 1 != 0) }
    }

    const fn op(&self) -> &'static str {
        match self.scales {
            Scales::Group(..) => "fused_rms_fp8_group_quant",
            Scales::Given(_) => "fused_rms_fp8_per_tensor_static_quant",
            Scales::Row(_) if self.has_residual => "fused_add_rmsnorm_dynamic_quant",
            Scales::Row(_) => "rmsnorm_dynamic_quant",
        }
    }

    fn what(&self) -> String {
        let scales = match self.scales {
            Scales::Group(group, layout) => format!(", groups of {group}, {layout:?}"),
            Scales::Given(true) => ", norm rounded".to_owned(),
            Scales::Row(Some(_)) => ", bound".to_owned(),
            _ => String::new(),
        };
        let residual = if self.has_residual { ", residual" } else { "" };
        let sum = if self.drops_sum { ", no sum" } else { "" };
        let norm = if self.stores_norm { ", norm" } else { "" };
        let second = self.second.map(|width| format!(", beside {width}")).unwrap_or_default();
        [&scales, residual, sum, norm, &second].concat()
    }

    /// Of those types of rows and codes, with a type of weights.
    fn case(self, x: DType, weight: DType, (codes, arch): (DType, Option<hk_core::Arch>)) -> Case {
        let types = [x, weight, codes];
        let mut case = self.row.case("fused_fp8_quant", self.op(), &types, move |s| {
            real!(x, T => real!(weight, W => match (self.scales, codes) {
                (Scales::Row(_), _) => {
                    code!(codes, C => set_up::<T, W, C>(s, self, launch_row::<T, W, C>));
                }
                (_, DType::F8E4M3Fnuz) => set_up::<T, W, F8E4M3Fnuz>(s, self, launch_fp8),
                _ => set_up::<T, W, F8E4M3>(s, self, launch_fp8),
            }));
        });
        case.info.arch = arch;
        case.info.case += &self.what();
        case
    }

    /// Of each type that the rows are for, with a type of weights each.
    fn cases(self) -> impl Iterator<Item = Case> {
        let types = self.row.inputs().iter().enumerate();
        types.flat_map(move |(i, x)| {
            let weight = REALS[(i + self.row.shape[1]) % 3];
            self.of_weights(*x, weight)
        })
    }

    /// Of each type of codes.
    fn of_weights(self, x: DType, weight: DType) -> impl Iterator<Item = Case> {
        let codes = CODES
            .into_iter()
            .filter(move |(_, arch)| arch.is_some() || matches!(self.scales, Scales::Row(_)));
        codes.map(move |codes| self.case(x, weight, codes))
    }
}

fn set_up<T: Real, W: Weight, C: ByteCode>(
    s: &mut Setup,
    spec: Spec,
    launch: fn(Spec, &Tensors<T, W, C>) -> Result<()>,
) {
    let (shape, [rows, width]) = (spec.row.shape, spec.row.shape);
    let columns = s.carried(|element| element % width);
    let mut x = s.draw::<T>("x", &shape, Draw::Normal);
    let drawn = spec.has_residual.then(|| s.draw::<T>("residual", &shape, Draw::Normal));
    let mut residual = drawn.unwrap_or_default();
    let mut weight = s.draw::<W>("weight", &[width], Draw::Uniform);
    let (content, of_rows) = (spec.content, matches!(spec.scales, Scales::Row(_)));
    content.alter(&mut x, &mut residual, &mut weight, of_rows);
    let x = s.given("x", &shape, x);
    let weight = s.given("weight", &[width], weight).place(columns);
    let residual = spec.has_residual.then(|| s.given("residual", &shape, residual));
    let sums = residual.as_ref().map(|residual| add(&x.numbers(), &residual.numbers()));
    let rounded = |values: &[f64]| -> Vec<f64> { decode(&T::encode(values)) };
    let in_f32 =
        |sums: &Vec<f64>| sums.iter().map(|sum| f64::from(*sum as f32)).collect::<Vec<_>>();
    let stored = sums.as_ref().map(|sums| rounded(&in_f32(sums)));
    let h = match (&sums, &stored) {
        (Some(_), Some(stored)) if of_rows => stored.clone(),
        (Some(sums), _) => sums.clone(),
        _ => x.numbers(),
    };
    let n = content.norm(&h, &weight.numbers(), content.eps());
    let stored = stored.filter(|_| !spec.drops_sum);
    let residual_out = stored.map(|of| s.output::<T>("residual_out", &shape, Expected::exact(of)));
    let norm_out = spec.stores_norm.then(|| s.output::<T>("norm", &shape, content.stored::<T>(&n)));
    let second = spec.second.map(|width| second::<T, W::Other>(s, [rows, width], content));
    let most = f64::from(C::MOST);
    let (scales, group) = match spec.scales {
        Scales::Given(_) => (vec![f64::from(SCALE)], usize::MAX),
        Scales::Row(bound) => {
            let bound = bound.map_or(f64::INFINITY, f64::from);
            let of_row = |row: &[f64]| scale(row, 0.0, bound, most);
            // Of zeros, 1.
            let whole = |of: f64| if of < f64::from(f32::MIN_POSITIVE) { 1.0 } else { of };
            (n.chunks(width).map(|row| whole(of_row(row))).collect(), width)
        }
        Scales::Group(group, _) => {
            let groups = n.chunks(width).flat_map(|row| row.chunks(group));
            let least = f64::from(1e-10f32);
            (groups.map(|of| scale(of, least, f64::INFINITY, most)).collect(), group)
        }
    };
    let n = if spec.scales == Scales::Given(true) { rounded(&n) } else { n };
    let codes = expected_codes::<C>(spec, &n, &scales, group);
    let codes = s.output::<C>("codes", &shape, codes);
    let scales = declare_scales(s, spec, scales);
    let tensors = Tensors { x, weight, residual, residual_out, norm_out, second, codes, scales };
    s.call(move || launch(spec, &tensors));
}

/// The codes of a norm, with the scales of each so many elements of a row, or with a given one.
fn expected_codes<C: ByteCode>(spec: Spec, n: &[f64], scales: &[f64], group: usize) -> Expected {
    let (width, most) = (spec.row.shape[1], f64::from(C::MOST));
    let is_given = matches!(spec.scales, Scales::Given(_));
    let groups = n.chunks(width).flat_map(|row| row.chunks(group));
    let scales = scales.iter().cycle().take(if is_given { usize::MAX } else { scales.len() });
    let groups = groups.zip(scales);
    if spec.content == Content::Exact {
        let codes = groups.flat_map(|(n, scale)| {
            let inverse = 1.0 / *scale as f32;
            n.iter().map(move |n| f64::from(*n as f32 * inverse).clamp(-most, most))
        });
        return Expected::bits(&C::encode(&codes.collect::<Vec<_>>()));
    }
    if is_given {
        // Where the norm is rounded, products with the inverse are often ties.
        return Expected::codes(products(n, f64::from(1.0 / SCALE), most), NEAR);
    }
    // Which codes there are where a scale is not finite is not specified.
    let finite = groups.clone().flat_map(|(n, scale)| n.iter().map(move |_| scale.is_finite()));
    let at = (spec.content == Content::Infinite)
        .then(|| finite.enumerate().filter_map(|(i, is)| is.then_some(i)).collect());
    let codes = groups.filter(|(_, scale)| at.is_none() || scale.is_finite());
    let codes = codes.flat_map(|(n, scale)| quotients(n, *scale, most)).collect();
    Expected { at, ..Expected::codes(codes, NEAR) }
}

/// The scales, as the op takes them.
fn declare_scales(s: &mut Setup, spec: Spec, scales: Vec<f64>) -> Arg<f32> {
    let [rows, width] = spec.row.shape;
    let relative = |scales: Vec<f64>| {
        if spec.content == Content::Exact {
            return Expected::exact(scales.iter().map(|scale| f64::from(*scale as f32)).collect());
        }
        Expected::relative(scales, spec.content.tolerance())
    };
    let carries = spec.row.place.carry.is_some();
    let (scales, place) = match spec.scales {
        Scales::Given(_) => {
            let place = s.carried(|_| 0);
            (s.given("scale", &[1], vec![SCALE]), place)
        }
        Scales::Row(_) => {
            let place = s.carried(|element| element / width);
            (s.output::<f32>("scales", &[rows], relative(scales)), place)
        }
        Scales::Group(group, layout) => {
            let of = super::quant::Scales { shape: [rows, width], group, layout };
            let place = of.carried(s);
            let arranged = relative(of.arrange(&scales, 1.0));
            (s.output::<f32>("scales", &of.in_memory(), arranged), place)
        }
    };
    if carries { scales.place(place) } else { scales }
}

/// The tensors of a case, of which not all cases have all.
struct Tensors<T: Real, W: Weight, C: ByteCode> {
    x: Arg<T>,
    weight: Arg<W>,
    residual: Option<Arg<T>>,
    residual_out: Option<Arg<T>>,
    norm_out: Option<Arg<T>>,
    second: Option<SecondArg<T, W::Other>>,
    codes: Arg<C>,
    scales: Arg<f32>,
}

/// Other rows, their weights, and their norm.
type SecondArg<T, W> = (Arg<T>, Arg<W>, Arg<T>);

/// Of what is added to their means, so many times that of the others.
const SECOND_EPS: f32 = 4.0;

fn second<T: Real, W: Real>(s: &mut Setup, shape: [usize; 2], content: Content) -> SecondArg<T, W> {
    let mut x = s.draw::<T>("x2", &shape, Draw::Normal);
    let mut weight = s.draw::<W>("weight2", &shape[1..], Draw::Uniform);
    content.alter(&mut x, &mut [], &mut weight, false);
    let x = s.given("x2", &shape, x);
    let weight = s.given("weight2", &shape[1..], weight);
    let y = content.norm(&x.numbers(), &weight.numbers(), SECOND_EPS * content.eps());
    let y = s.output::<T>("y2", &shape, content.stored::<T>(&y));
    (x, weight, y)
}

/// With scales of groups, or a given one.
fn launch_fp8<T: Real, W: Weight, C: Fp8>(spec: Spec, of: &Tensors<T, W, C>) -> Result<()> {
    let (rows, eps) = (spec.row.options(), spec.content.eps());
    let (x, weight, mut codes, mut scales) =
        (of.x.get(), of.weight.get(), of.codes.get(), of.scales.get());
    let residual = of.residual.as_ref().map(Arg::get);
    let mut residual_out = of.residual_out.as_ref().map(Arg::get);
    let mut norm = of.norm_out.as_ref().map(Arg::get);
    let mut second = of.second.as_ref().map(|(x, w, y)| (x.get(), w.get(), y.get()));
    let second =
        second.as_mut().map(|(x, weight, y)| SecondRms::new(x, weight, SECOND_EPS * eps, y));
    let input = RmsInput { residual: residual.as_deref(), ..RmsInput::new(&x, &weight, eps) };
    let (norm, residual_out) = (norm.as_deref_mut(), residual_out.as_deref_mut());
    let others = RmsOthers { norm, residual_out, second };
    if let Scales::Group(group, layout) = spec.scales {
        let options = GroupOptions::default().group(group).scale_layout(layout).rows(rows);
        let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
        return fused_rms_fp8_group_quant_into(&input, &options, out, others);
    }
    let options = StaticOptions::default().rows(rows);
    let rounds = spec.scales == Scales::Given(true);
    let options = if rounds { options.convert_to_input_type() } else { options };
    fused_rms_fp8_per_tensor_static_quant_into(&input, &scales, &options, &mut codes, others)
}

/// With scales of rows.
fn launch_row<T: Real, W: Weight, C: ByteCode>(spec: Spec, of: &Tensors<T, W, C>) -> Result<()> {
    let (x, weight, mut codes, mut scales) =
        (of.x.get(), of.weight.get(), of.codes.get(), of.scales.get());
    let mut norm = of.norm_out.as_ref().map(Arg::get);
    let (norm, eps) = (norm.as_deref_mut(), spec.content.eps());
    let options = RmsnormDynamicOptions::default().rows(spec.row.options());
    let options = match spec.scales {
        Scales::Row(Some(bound)) => options.scale_ub(bound),
        _ => options,
    };
    let quantised = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
    let (Some(residual), Some(residual_out)) = (&of.residual, &of.residual_out) else {
        return rmsnorm_dynamic_quant_into(&x, &weight, eps, &options, quantised, norm);
    };
    let mut residual_out = residual_out.get();
    let out = FusedAddRmsnormDynamicQuantOut { quantised, residual_out: &mut residual_out, norm };
    fused_add_rmsnorm_dynamic_quant_into(&x, &residual.get(), &weight, eps, &options, out)
}

/// Scales that cases have in turn.
const SCALES: [Scales; 8] = [
    Scales::Group(32, ScaleLayout::RowMajor),
    Scales::Given(false),
    Scales::Row(None),
    Scales::Group(128, ScaleLayout::ColMajor),
    Scales::Group(64, ScaleLayout::RowMajor),
    Scales::Given(true),
    Scales::Row(Some(BOUND)),
    Scales::Group(128, ScaleLayout::RowMajor),
];

/// Scales of each kind, with a residual and without, and all that can be stored.
fn of_each_kind(row: RowCase, content: Content) -> impl Iterator<Item = Spec> {
    SCALES[..3].iter().flat_map(move |scales| {
        [false, true].map(|has_residual| {
            let second =
                (!has_residual && !matches!(scales, Scales::Row(_))).then_some(row.shape[1]);
            Spec { content, stores_norm: true, second, ..Spec::new(row, *scales, has_residual) }
        })
    })
}

/// Rows that need each kind of scales, which the suite has in turn.
fn rows_of_each_kind() -> Vec<RowCase> {
    let row = |tile, shape, name| RowCase {
        tile: Some(tile),
        workgroups: Some(1),
        size: Size::Core,
        types: Types::Only(TYPES[0]),
        ..RowCase::new(shape, name)
    };
    let mut rows = Vec::new();
    // Ends in several dwords of a chunk, in another group than the first, and late in a piece.
    for (tile, _) in NORMS {
        let widths = if tile == "any" { [7001, 7003, 7005, 7007] } else { [17, 21, 23, 107] };
        let each = widths.map(|width| row(tile, [small_count(tile), width], "each end"));
        rows.extend(each);
    }
    for width in [8200, 8201] {
        let place = Placement::DENSE.carry(width + 4200);
        rows.push(RowCase { place, ..row("any", [2, width], "pieces across 4 GiB") });
    }
    for (tile, width) in narrow().filter(|(tile, _)| *tile != "n128") {
        for workgroups in [None, Some(1)] {
            let place = Placement::DENSE.gap(3 << 31);
            rows.push(RowCase { workgroups, place, ..row(tile, [2, width], "far apart") });
        }
    }
    rows
}

/// Each tile with widths that it holds, odd and even.
fn narrow() -> impl Iterator<Item = (&'static str, usize)> {
    NORMS.into_iter().flat_map(|(tile, _)| [43, 48].map(|width| (tile, width)))
}

/// Rows to the end of memory, with a wave behind the last, of each kind of scales; in the first turn of
/// a workgroup, or in a later one.
fn end_rows() -> impl Iterator<Item = RowCase> {
    NORMS.into_iter().flat_map(|(tile, _)| {
        let widths = if tile == "any" { [4107, 4112] } else { [43, 48] };
        let counts = match tile {
            "n128" => [5, 21],
            "n512" => [5, 9],
            _ => [2, 2],
        };
        widths.into_iter().flat_map(move |width| {
            let of = move |(rows, workgroups)| RowCase {
                tile: Some(tile),
                workgroups,
                place: Placement::DENSE.gap(3).edge(Edge::End),
                size: Size::Core,
                types: Types::Only(TYPES[0]),
                ..RowCase::new([rows, width], "end of memory, each byte once")
            };
            [(counts[0], None), (counts[1], Some(1))].map(of)
        })
    })
}

/// Rows in several turns, whose results are known bit by bit, or which have infinite elements; of whole
/// chunks and not. Of each tile but n8192, whose code is that of n2048 with more lanes.
fn known(types: &'static [DType], name: &'static str) -> impl Iterator<Item = RowCase> {
    let tiles = NORMS.into_iter().filter(|(tile, _)| *tile != "n8192");
    tiles.flat_map(move |(tile, _)| {
        let rows = match tile {
            "n128" => 19,
            "n512" => 7,
            _ => 4,
        };
        [40, 43].map(|width| RowCase {
            tile: Some(tile),
            workgroups: Some(1),
            types: Types::Only(types),
            ..RowCase::new([rows, width], name)
        })
    })
}

/// Of [`known`] rows, with weights of each type beside bf16, and of one beside others.
fn known_cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in known(&[DType::F16, DType::F32], "exact") {
        for spec in of_each_kind(row, Content::Exact) {
            cases.extend(spec.cases());
        }
    }
    for row in known(TYPES[0], "exact") {
        for (i, scales) in SCALES.into_iter().enumerate() {
            for has_residual in [false, true] {
                let second =
                    (!has_residual && !matches!(scales, Scales::Row(_))).then_some(row.shape[1]);
                let spec = Spec::new(row, scales, has_residual);
                let spec = Spec { content: Content::Exact, stores_norm: true, second, ..spec };
                let weight = [DType::Bf16, REALS[i % 3]][i / 3 % 2];
                cases.extend(spec.of_weights(DType::Bf16, weight));
            }
        }
    }
    for row in known(TYPES[0], "infinite") {
        for spec in of_each_kind(row, Content::Infinite) {
            cases.extend(spec.of_weights(DType::Bf16, DType::Bf16));
        }
    }
    cases
}

/// Rows of small numbers, of those tiles in which divisions are compiled anew.
fn small() -> Vec<Spec> {
    let mut specs = Vec::new();
    let count = EXPONENTS.len();
    for (tile, shape) in [("n128", [count, 43]), ("n512", [count, 48]), ("any", [8, 48])] {
        let types = Types::Only(&[DType::Bf16, DType::F32]);
        let row = RowCase { tile: Some(tile), types, ..RowCase::new(shape, "small") };
        for scales in [SCALES[0], SCALES[2]] {
            for has_residual in [false, true] {
                let spec = Spec::new(row, scales, has_residual);
                specs.push(Spec { content: Content::Small, ..spec });
            }
        }
    }
    specs
}

/// Rows whose scale is that of their last element, with weights of each type.
fn peaks() -> Vec<Case> {
    let mut cases = Vec::new();
    for (tile, _) in NORMS {
        // In pieces, that is not in the first.
        let widths = if tile == "any" { [4301, 4302] } else { [43, 48] };
        for width in widths {
            let row = RowCase { tile: Some(tile), ..RowCase::new([2, width], "peak") };
            for has_residual in [false, true] {
                let spec = Spec::new(row, SCALES[2], has_residual);
                let spec = Spec { content: Content::Peak, ..spec };
                cases.extend(REALS.map(|weight| spec.case(DType::Bf16, weight, CODES[0])));
            }
        }
    }
    cases
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    // Each kind of scale takes the same ways through rows.
    for (i, row) in suite_of_norms().enumerate() {
        let all = matches!(row.types, Types::Pairs | Types::Each);
        for (j, scales) in SCALES.into_iter().enumerate().filter(|(j, _)| all || i % 8 == *j) {
            let has_residual = (i + j / 2) % 2 == 0;
            let stores_norm = j % 3 == 0;
            // There is but one tile for rows in pieces.
            let each = row.tile == Some("any") && row.name == "turns";
            let types = match row.types {
                _ if each => Types::Each,
                _ if all => Types::Only(TYPES[(i + j) % 3]),
                types => types,
            };
            let row = RowCase { types, ..row };
            specs.push(Spec { stores_norm, ..Spec::new(row, scales, has_residual) });
        }
    }
    for row in small_norms() {
        for (i, scales) in SCALES.into_iter().enumerate() {
            for has_residual in [false, true] {
                let second = (!has_residual && !matches!(scales, Scales::Row(_)))
                    .then_some(row.shape[1] - i % 2);
                // So that each kind of scale has it with a residual and without.
                let stores_norm = (i + i / 4) % 2 == usize::from(has_residual);
                let spec = Spec { stores_norm, second, ..Spec::new(row, scales, has_residual) };
                specs.push(spec);
                if has_residual && !matches!(scales, Scales::Row(_)) {
                    specs.push(Spec { drops_sum: true, ..spec });
                }
            }
        }
    }
    for (i, [width, other]) in WIDTHS.into_iter().enumerate() {
        for (j, rows) in [1, 3, 32].into_iter().enumerate() {
            for options in 0..8 {
                let scales = SCALES[(i + j + options) % 8];
                let types = Types::Only(TYPES[(i + j + options) % 3]);
                let row = RowCase { types, ..RowCase::new([rows, width], "plain") };
                specs.push(Spec::with(row, scales, options, other));
                let is_small = rows * (width + other) <= 10_000;
                let size = if is_small { Size::Quick } else { Size::Core };
                let row = RowCase { size, name: "each option", ..row };
                for (k, group) in [32, 128].into_iter().enumerate() {
                    let layout = [ScaleLayout::RowMajor, ScaleLayout::ColMajor][(i + j + k) % 2];
                    let types = Types::Only(TYPES[(i + j + k + options) % 3]);
                    let row = RowCase { types, ..row };
                    specs.push(Spec::with(row, Scales::Group(group, layout), options, other));
                }
            }
        }
    }
    for (i, scales) in SCALES.into_iter().enumerate() {
        let types = Types::Only(TYPES[i % 3]);
        let row = RowCase { types, ..RowCase::new([8, 1024], "plain") };
        specs.push(Spec::new(row, scales, i % 2 == 0));
    }
    // Beside rows of so many pieces that lanes fold their chains.
    for width in [266_240, 266_001] {
        let row = RowCase {
            size: Size::Core,
            types: Types::Each,
            ..RowCase::new([1, 64], "beside long rows")
        };
        specs.push(Spec { second: Some(width), ..Spec::new(row, SCALES[4], false) });
    }
    for (shape, second) in MODELS {
        let of = |row| Spec { second, ..Spec::new(row, SCALES[7], true) };
        specs.extend(RowCase::models(&[shape]).map(of));
    }
    for row in RowCase::models(&WHOLE_MODELS) {
        let of = |scales| [false, true].map(|has_residual| Spec::new(row, scales, has_residual));
        specs.extend(SCALES[1..3].iter().copied().flat_map(of));
    }
    for row in rows_of_each_kind() {
        specs.extend(of_each_kind(row, Content::Normal));
    }
    for (tile, width) in narrow() {
        let row = RowCase {
            tile: Some(tile),
            types: Types::Only(TYPES[0]),
            ..RowCase::new([2, width], "large eps")
        };
        specs.extend(of_each_kind(row, Content::LargeEps));
        let row = RowCase { name: "zeros", ..row };
        let zeros = |has_residual| Spec {
            content: Content::Zeros,
            ..Spec::new(row, SCALES[2], has_residual)
        };
        specs.extend([false, true].map(zeros));
    }
    for width in [530_000, 530_001] {
        let types = Types::Only(TYPES[0]);
        let row = RowCase { size: Size::Core, types, ..RowCase::new([1, width], "heavy") };
        for scales in [SCALES[2], SCALES[7]] {
            specs.push(Spec { content: Content::Heavy, ..Spec::new(row, scales, false) });
        }
    }
    specs.extend(small());
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    let ends = end_rows().flat_map(|row| of_each_kind(row, Content::Normal));
    cases.extend(ends.flat_map(Spec::cases).map(Case::writes_once));
    cases.extend(known_cases());
    cases.extend(peaks());
    cases.extend(flatten::cases());
    cases.extend(silu_mul::cases());
    cases.extend(gated::cases());
    cases
}
