//! Cases of the module `fused_mxfp4_quant`.

mod flatten;

use hk_core::dtype::{DType, E8M0, F4x2E2M1, Real, decode};
use hk_core::op::quant::{MX_BLOCK, MxOptions, MxRound, QuantisedOut, ScaleLayout};
use hk_ref::quant::fused_fp8_quant::{add, norm};
use hk_ref::quant::fused_mxfp4_quant::blocks;
use hk_ref::{Case, Draw, Expected, Placement, REALS, RowCase, Setup, Size, Types, real};

use super::fused_fp8_quant::{EPS, NEAR, Weight};
use super::quant::{NORMS, Scales, TYPES, paddings, small_norms, suite_of_norms};
use crate::{RmsInput, RmsOthers, SecondRms, fused_rms_mxfp4_quant_into};

/// Rows, and widths of rows and of those that are normalised beside them; those of 256 are far apart.
const ROWS: [usize; 4] = [1, 4, 33, 64];
const WIDTHS: [[usize; 2]; 3] = [[200, 200], [256, 256], [34, 32]];

const LAYOUTS: [ScaleLayout; 3] =
    [ScaleLayout::RowMajor, ScaleLayout::ColMajor, ScaleLayout::Shuffled32x8];

/// Shapes of models: DeepSeek-V3, with the width of other rows.
const MODELS: [([usize; 2], Option<usize>); 7] = [
    ([132, 1536], Some(512)),
    ([256, 1536], Some(512)),
    ([8192, 1536], Some(512)),
    ([132, 7168], None),
    ([256, 7168], None),
    ([8192, 7168], None),
    ([256, 4096], Some(512)),
];

/// The name of cases whose rows are as [`make_special`] says.
const SPECIAL: &str = "special";

/// Makes rows in turn zeros, with one huge number, with NaN, with infinity, and with one in the residual,
/// too, of the other sign; and leaves one.
fn make_special<T: Real>(x: &mut [T], residual: &mut [T], width: usize) {
    let (zero, infinity) = (T::from_f64(0.0), T::from_f64(f64::INFINITY));
    for (i, row) in x.chunks_exact_mut(width).enumerate() {
        let middle = width / 2;
        let other = residual.chunks_exact_mut(width).nth(i);
        match i % 6 {
            0 => {
                row.fill(zero);
                if let Some(other) = other {
                    other.fill(zero);
                }
            }
            // Its square is in the range of f32.
            1 => row[middle] = T::from_f64(6e4),
            2 => row[middle] = T::from_f64(f64::NAN),
            3 => row[middle] = infinity,
            4 => {
                row[middle] = infinity;
                if let Some(other) = other {
                    other[middle] = T::from_f64(f64::NEG_INFINITY);
                }
            }
            _ => {}
        }
    }
}

/// What varies between cases, apart from types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    mode: MxRound,
    layout: ScaleLayout,
    has_residual: bool,
    /// Not the sum.
    drops_sum: bool,
    stores_norm: bool,
    /// The width of other rows.
    second: Option<usize>,
}

impl Spec {
    fn cases(self) -> impl Iterator<Item = Case> {
        self.row.inputs().iter().enumerate().map(move |(i, x)| {
            let weight = REALS[(i + self.row.shape[1] / 2 + self.layout as usize) % 3];
            let types = [*x, weight, DType::F4x2E2M1];
            let (module, op) = ("fused_mxfp4_quant", "fused_rms_mxfp4_quant");
            let mut case = self.row.case(module, op, &types, move |s| {
                real!(*x, T => real!(weight, W => set_up::<T, W>(s, self)));
            });
            let Self { mode, layout, has_residual, drops_sum, stores_norm, second, .. } = self;
            let residual = if has_residual { ", residual" } else { "" };
            let sum = if drops_sum { ", no sum" } else { "" };
            let norm = if stores_norm { ", norm" } else { "" };
            let second = second.map(|width| format!(", beside {width}")).unwrap_or_default();
            case.info.case += &format!(", {mode:?}, {layout:?}{residual}{sum}{norm}{second}");
            case
        })
    }
}

fn set_up<T: Real, W: Weight>(s: &mut Setup, spec: Spec) {
    let (shape, [rows, width]) = (spec.row.shape, spec.row.shape);
    let columns = s.carried(|element| element % width);
    let mut x = s.draw::<T>("x", &shape, Draw::Normal);
    let mut residual =
        if spec.has_residual { s.draw::<T>("residual", &shape, Draw::Normal) } else { Vec::new() };
    if spec.row.name == SPECIAL {
        make_special(&mut x, &mut residual, width);
    }
    let x = s.given("x", &shape, x);
    let weight = s.input::<W>("weight", &[width], Draw::Uniform).place(columns);
    let residual = spec.has_residual.then(|| s.given("residual", &shape, residual));
    let sums = residual.as_ref().map(|residual| add(&x.numbers(), &residual.numbers()));
    let n = norm(&sums.clone().unwrap_or_else(|| x.numbers()), &weight.numbers(), EPS);
    let residual_out = sums.filter(|_| !spec.drops_sum).map(|sums| {
        let in_f32: Vec<_> = sums.iter().map(|sum| f64::from(*sum as f32)).collect();
        s.output::<T>("residual_out", &shape, Expected::exact(decode(&T::encode(&in_f32))))
    });
    let of = Scales { shape, group: MX_BLOCK, layout: spec.layout };
    let (codes, scales) = blocks(&n, width, spec.mode);
    let codes = Expected::codes(codes, NEAR);
    let codes = s.output::<F4x2E2M1>("codes", &shape, codes);
    let place = of.carried(s);
    let expected = Expected::exact(decode(&of.arrange(&scales, E8M0::ONE)));
    let scales = s.output::<E8M0>("scales", &of.in_memory(), expected);
    let scales = if spec.row.place.carry.is_some() { scales.place(place) } else { scales };
    let norm_out = spec
        .stores_norm
        .then(|| s.output::<T>("norm", &shape, Expected::rounded(n.clone(), T::DTYPE, false)));
    let second = spec.second.map(|width| {
        let x = s.input::<T>("x2", &[rows, width], Draw::Normal);
        let weight = s.input::<W::Other>("weight2", &[width], Draw::Uniform);
        let y = norm(&x.numbers(), &weight.numbers(), EPS);
        (x, weight, s.output::<T>("y2", &[rows, width], Expected::rounded(y, T::DTYPE, false)))
    });
    s.call(move || {
        let (x, weight, mut codes, mut scales) = (x.get(), weight.get(), codes.get(), scales.get());
        let residual = residual.as_ref().map(hk_ref::Arg::get);
        let mut residual_out = residual_out.as_ref().map(hk_ref::Arg::get);
        let mut norm = norm_out.as_ref().map(hk_ref::Arg::get);
        let mut second = second.as_ref().map(|(x, w, y)| (x.get(), w.get(), y.get()));
        let second = second.as_mut().map(|(x, weight, y)| SecondRms::new(x, weight, EPS, y));
        let input = RmsInput { residual: residual.as_deref(), ..RmsInput::new(&x, &weight, EPS) };
        let (norm, residual_out) = (norm.as_deref_mut(), residual_out.as_deref_mut());
        let options = MxOptions::default().round_mode(spec.mode).scale_layout(spec.layout);
        let out = QuantisedOut { codes: &mut *codes, scales: &mut *scales };
        let others = RmsOthers { norm, residual_out, second };
        fused_rms_mxfp4_quant_into(&input, &options.rows(spec.row.options()), out, others)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut specs = Vec::new();
    let add = |specs: &mut Vec<Spec>, row: RowCase, second| {
        let i = specs.len();
        let (mode, layout) = (MxRound::ALL[i % 5], LAYOUTS[i % 3]);
        let (has_residual, stores_norm) = (i.is_multiple_of(2), (i / 2).is_multiple_of(2));
        let drops_sum = false;
        specs.push(Spec { row, mode, layout, has_residual, drops_sum, stores_norm, second });
    };
    for row in suite_of_norms() {
        let [rows, width] = row.shape;
        let even = RowCase { shape: [rows, width.next_multiple_of(2)], ..row };
        match row.types {
            // Each with and without a residual.
            Types::Pairs | Types::Each => {
                add(&mut specs, RowCase { types: Types::Each, ..even }, None);
                add(&mut specs, RowCase { types: Types::Each, name: "more turns", ..even }, None);
            }
            Types::Only(_) => add(&mut specs, even, None),
        }
    }
    for row in small_norms().filter(|row| row.shape[1] % 2 == 0) {
        for layout in LAYOUTS {
            for (has_residual, drops_sum) in [(false, false), (true, false), (true, true)] {
                let (mode, stores_norm) = (MxRound::ALL[specs.len() % 5], has_residual);
                let second = None;
                let spec = Spec { row, mode, layout, has_residual, drops_sum, stores_norm, second };
                specs.push(spec);
            }
        }
    }
    let shapes = ROWS.into_iter().flat_map(|rows| WIDTHS.map(|widths| (rows, widths)));
    for (i, (rows, [width, other])) in shapes.chain([(3, [34, 32])]).enumerate() {
        let gap = if width == 256 { 2112 - 256 } else { 0 };
        let size = if rows * (width + other) <= 10_000 { Size::Quick } else { Size::Core };
        let row = RowCase { size, ..RowCase::new([rows, width], "plain") };
        let row = RowCase { place: Placement::DENSE.gap(gap), ..row };
        // With other rows, a residual, and each order of scales.
        for options in 0..12 {
            let row = RowCase { types: Types::Only(TYPES[(i + options / 2) % 3]), ..row };
            let (mode, layout) = (MxRound::ALL[(i + options) % 5], LAYOUTS[options / 4]);
            let (has_residual, stores_norm) = (options & 1 != 0, (i + options) % 2 == 1);
            let second = (options & 2 != 0).then_some(other);
            let drops_sum = false;
            specs.push(Spec { row, mode, layout, has_residual, drops_sum, stores_norm, second });
        }
    }
    for (shape, second) in MODELS {
        for row in RowCase::models(&[shape]) {
            add(&mut specs, row, second);
        }
    }
    // Of each tile, whose waves take rows of every kind in turn; of whole chunks and not.
    for (i, (tile, _)) in NORMS.into_iter().enumerate() {
        for width in [40, 42] {
            let row = RowCase { tile: Some(tile), ..RowCase::new([7, width], SPECIAL) };
            let row = RowCase { workgroups: Some(1), types: Types::Each, ..row };
            for (j, has_residual) in [false, true].into_iter().enumerate() {
                let (mode, layout) = (MxRound::ALL[(i + width) % 5], LAYOUTS[(i + j) % 3]);
                let (drops_sum, stores_norm, second) = (false, true, None);
                let spec = Spec { row, mode, layout, has_residual, drops_sum, stores_norm, second };
                specs.push(spec);
            }
        }
    }
    for row in paddings() {
        let (mode, layout, second) = (MxRound::Even, ScaleLayout::Shuffled32x8, None);
        let (has_residual, stores_norm) = (false, false);
        let drops_sum = false;
        specs.push(Spec { row, mode, layout, has_residual, drops_sum, stores_norm, second });
    }
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    cases.extend(flatten::cases());
    cases
}
