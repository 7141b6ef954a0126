//! Cases of `dynamic_mxfp4_quant` and `dynamic_mxfp8_quant`.

use std::collections::BTreeSet;

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, F8E4M3, Real, decode};
use hk_core::op::quant::{MxRound, ScaleLayout};
use hk_ref::quant::quant::dynamic_mx_quant as reference;
use hk_ref::{Arg, Case, CaseInfo, Draw, Edge, Expected, Placement, REALS, Setup, Size, real};

use super::{Content, TILES, in_layout, rows};
use crate::{
    MxQuantOptions, MxQuantOut, RowOptions, dynamic_mxfp4_quant_into, dynamic_mxfp8_quant_into,
};

/// Rows of small shapes, each of which is combined with each of the widths.
const ROWS: [usize; 6] = [1, 2, 128, 160, 256, 280];

/// Last blocks of 2, 4, 8, 20, 28 and 32 elements.
const WIDTHS: [usize; 8] = [4, 20, 28, 32, 40, 64, 66, 68];

/// Other shapes: wide rows, and none.
const SHAPES: [[usize; 2]; 4] = [[3, 4096], [2, 9000], [2, 20_002], [0, 64]];

const LAYOUTS: [ScaleLayout; 3] =
    [ScaleLayout::RowMajor, ScaleLayout::ColMajor, ScaleLayout::Shuffled32x8];

/// Shapes of models: GPT-OSS, and DeepSeek-V3.
const LARGE: [[usize; 2]; 2] = [[16_384, 2880], [8192, 7168]];

/// What varies between cases, apart from element types and places.
#[derive(Clone, Copy)]
struct Spec {
    shape: [usize; 2],
    name: &'static str,
    content: Content,
    mode: MxRound,
    layout: ScaleLayout,
    /// So few workgroups that they take several turns.
    workgroups: Option<u32>,
    tile: Option<&'static str>,
}

impl Spec {
    const fn new(
        shape: [usize; 2],
        name: &'static str,
        mode: MxRound,
        layout: ScaleLayout,
    ) -> Self {
        let content = Content::Drawn(Draw::Spread);
        Self { shape, name, content, mode, layout, workgroups: None, tile: None }
    }

    fn options(&self) -> MxQuantOptions<'static> {
        let rows = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        let rows = self.workgroups.into_iter().fold(rows, RowOptions::workgroups);
        MxQuantOptions::default().round_mode(self.mode).scale_layout(self.layout).rows(rows)
    }

    fn case(self, x: DType, is_fp4: bool) -> Case {
        // Whole blocks, where the op demands them.
        let unit = if is_fp4 { 2 } else { 32 };
        let [count, width] = self.shape;
        let spec = Self { shape: [count, width.next_multiple_of(unit)], ..self };
        let Self { name, mode, layout, .. } = self;
        let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
        let name = format!("{name}, {mode:?}, {layout:?}{tile}");
        let (op, codes) = if is_fp4 {
            ("dynamic_mxfp4_quant", DType::F4x2E2M1)
        } else {
            ("dynamic_mxfp8_quant", DType::F8E4M3)
        };
        let info = CaseInfo::new("quant", op, name, &[x, codes], &spec.shape);
        Case::new(info, move |s| {
            real!(x, T => if is_fp4 { set_up_fp4::<T>(s, spec) } else { set_up_fp8::<T>(s, spec) });
        })
    }
}

/// The input, and the outputs.
type Tensors<T, C> = (Arg<T>, Arg<C>, Arg<E8M0>);

fn tensors<T: Real, C: Element>(s: &mut Setup, spec: Spec, most: f32) -> Tensors<T, C> {
    let [count, width] = spec.shape;
    let x = rows::<T>(s, spec.shape, spec.content, most);
    let (codes, scales) = reference::<C>(&x.numbers(), width, spec.mode, most);
    let codes = s.output("codes", &spec.shape, Expected::exact(codes));
    let groups = width.div_ceil(32);
    let (shape, scales) = in_layout(spec.layout, [count, groups], scales, E8M0::ONE);
    let scales = s.output("scales", &shape, Expected::exact(decode(&scales)));
    (x, codes, scales)
}

fn set_up_fp4<T: Real>(s: &mut Setup, spec: Spec) {
    let (x, codes, scales) = tensors::<T, F4x2E2M1>(s, spec, 6.0);
    s.call(move || {
        let out = MxQuantOut { codes: &mut codes.get(), scales: &mut scales.get() };
        dynamic_mxfp4_quant_into(&x.get(), &spec.options(), out)
    });
}

fn set_up_fp8<T: Real>(s: &mut Setup, spec: Spec) {
    let (x, codes, scales) = tensors::<T, F8E4M3>(s, spec, 448.0);
    s.call(move || {
        let out = MxQuantOut { codes: &mut codes.get(), scales: &mut scales.get() };
        dynamic_mxfp8_quant_into(&x.get(), &spec.options(), out)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |spec: Spec, place: Placement| {
        for x in REALS {
            cases.extend([true, false].map(|is_fp4| spec.case(x, is_fp4).place(place)));
        }
    };
    let small = ROWS.into_iter().flat_map(|rows| WIDTHS.map(|width| [rows, width]));
    for (i, shape) in small.chain(SHAPES).enumerate() {
        let spec = Spec::new(shape, "plain", MxRound::ALL[i % 5], LAYOUTS[i % 3]);
        add(spec, Placement::DENSE);
    }
    let gaps = Placement::DENSE.gap(6).shift(4);
    let end = Placement::DENSE.gap(2).edge(Edge::End);
    for (i, (tile, [count, width])) in TILES.into_iter().enumerate() {
        let tile = Some(tile);
        let shape = [count, width.next_multiple_of(2)];
        for (j, layout) in LAYOUTS.into_iter().enumerate() {
            let mode = MxRound::ALL[(i + j) % 5];
            let turns =
                Spec { workgroups: Some(2), tile, ..Spec::new(shape, "turns", mode, layout) };
            add(turns, gaps);
            add(Spec { shape: [count, width / 8 * 8], ..turns }, gaps);
            add(Spec { workgroups: None, name: "end of memory", ..turns }, end);
        }
        for mode in MxRound::ALL {
            let shape = [12, 300.min(width / 8 * 8)];
            let special = Spec::new(shape, "special", mode, ScaleLayout::RowMajor);
            add(Spec { content: Content::Special, tile, ..special }, gaps);
        }
    }
    for shape in LARGE {
        let spec = Spec::new(shape, "model", MxRound::Even, ScaleLayout::RowMajor);
        let large = [true, false].map(|is_fp4| spec.case(DType::Bf16, is_fp4));
        cases.extend(large.map(|case| case.size(Size::Large)));
    }
    // Of mxfp8, widths that are the same in whole blocks fall together.
    let mut names = BTreeSet::new();
    cases.retain(|case| names.insert(case.info.title()));
    cases
}
