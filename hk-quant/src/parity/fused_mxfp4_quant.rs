//! Cases of the module `fused_mxfp4_quant`.

mod flatten;

use hk_core::dtype::{DType, E8M0, F4x2E2M1, Real, decode};
use hk_core::op::quant::{MX_BLOCK, MxOptions, MxRound, QuantisedOut, ScaleLayout};
use hk_ref::quant::fused_fp8_quant::{add, norm};
use hk_ref::quant::fused_mxfp4_quant::blocks;
use hk_ref::{Case, Draw, Expected, Placement, REALS, RowCase, Setup, Types, real};

use super::fused_fp8_quant::{EPS, NEAR, Weight};
use super::quant::{Scales, TYPES, paddings, small_norms, suite_of_norms};
use crate::{RmsInput, RmsOthers, SecondRms, fused_rms_mxfp4_quant_into};

/// Rows, and widths of rows and of those that are normalised beside them; the last are far apart.
const ROWS: [usize; 4] = [1, 4, 33, 64];
const WIDTHS: [[usize; 2]; 3] = [[200, 200], [256, 256], [34, 32]];

const LAYOUTS: [ScaleLayout; 3] =
    [ScaleLayout::RowMajor, ScaleLayout::ColMajor, ScaleLayout::Shuffled32x8];

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
    let x = s.input::<T>("x", &shape, Draw::Normal);
    let weight = s.input::<W>("weight", &[width], Draw::Uniform).place(columns);
    let residual = spec.has_residual.then(|| s.input::<T>("residual", &shape, Draw::Normal));
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
    for (i, rows) in ROWS.into_iter().enumerate() {
        for (j, [width, other]) in WIDTHS.into_iter().enumerate() {
            let gap = if width == 256 { 2112 - 256 } else { 0 };
            let row = RowCase::new([rows, width], "plain");
            let types = Types::Only(TYPES[(i + j) % 3]);
            let row = RowCase { types, place: Placement::DENSE.gap(gap), ..row };
            add(&mut specs, row, (i % 2 == 0).then_some(other));
        }
    }
    for row in RowCase::models(&[[8192, 1536], [256, 4096]]) {
        add(&mut specs, row, Some(512));
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
