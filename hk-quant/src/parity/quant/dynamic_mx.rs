//! Cases of `dynamic_mxfp4_quant` and `dynamic_mxfp8_quant`.

use std::collections::BTreeSet;

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, F8E4M3, Real, decode};
use hk_core::op::quant::{MX_BLOCK, MxOptions, MxRound, QuantisedOut, ScaleLayout};
use hk_ref::quant::quant::dynamic_mx_quant as reference;
use hk_ref::{Arg, Case, Draw, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::{Content, Scales, TYPES, all_pieces, case, rows, special_pieces};
use crate::{dynamic_mxfp4_quant_into, dynamic_mxfp8_quant_into};

/// Rows of small shapes of the specification, and widths: last blocks of 2, 4, 8, 20, 28 and 32
/// elements.
const ROWS: [usize; 6] = [1, 2, 128, 160, 256, 280];
const WIDTHS: [usize; 8] = [4, 20, 28, 32, 40, 64, 66, 68];

const LAYOUTS: [ScaleLayout; 3] =
    [ScaleLayout::RowMajor, ScaleLayout::ColMajor, ScaleLayout::Shuffled32x8];

/// Rows, what they hold, and how they are scaled.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    content: Content,
    mode: MxRound,
    layout: ScaleLayout,
}

impl Spec {
    /// To each type of codes. In several turns, no row is taken twice.
    fn cases(self) -> impl Iterator<Item = Case> {
        let cases = self.row.inputs().iter().flat_map(move |x| [self.fp4(*x), self.fp8(*x)]);
        let takes_turns = self.row.workgroups.is_some();
        cases.map(move |case| if takes_turns { case.writes_once() } else { case })
    }

    /// With rows of whole units.
    fn whole(self, unit: usize) -> Self {
        let shape = [self.row.shape[0], self.row.shape[1].next_multiple_of(unit)];
        Self { row: RowCase { shape, ..self.row }, ..self }
    }

    fn what(&self) -> String {
        format!(", {:?}, {:?}", self.mode, self.layout)
    }

    fn fp4(self, x: DType) -> Case {
        let spec = self.whole(2);
        let types = (x, DType::F4x2E2M1, None);
        case("dynamic_mxfp4_quant", spec.row, types, &self.what(), move |s| {
            real!(x, T => spec.set_up_fp4::<T>(s));
        })
    }

    fn fp8(self, x: DType) -> Case {
        let spec = self.whole(MX_BLOCK);
        let types = (x, DType::F8E4M3, None);
        case("dynamic_mxfp8_quant", spec.row, types, &self.what(), move |s| {
            real!(x, T => spec.set_up_fp8::<T>(s));
        })
    }

    fn tensors<T: Real, C: Element>(self, s: &mut Setup, most: f32) -> Tensors<T, C> {
        let Self { row, layout, .. } = self;
        let x = rows::<T>(s, row.shape, self.content, most);
        let (codes, scales) = reference::<C>(&x.numbers(), row.shape[1], self.mode, most);
        let codes = s.output("codes", &row.shape, Expected::exact(codes));
        let of = Scales { shape: row.shape, group: MX_BLOCK, layout };
        let place = of.carried(s);
        let expected = Expected::exact(decode(&of.arrange(&scales, E8M0::ONE)));
        let scales = s.output("scales", &of.in_memory(), expected);
        (x, codes, if row.place.carry.is_some() { scales.place(place) } else { scales })
    }

    fn options(&self) -> MxOptions<'static> {
        let options = MxOptions::default().round_mode(self.mode).scale_layout(self.layout);
        options.rows(self.row.options())
    }

    fn set_up_fp4<T: Real>(self, s: &mut Setup) {
        let (x, codes, scales) = self.tensors::<T, F4x2E2M1>(s, 6.0);
        s.call(move || {
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            dynamic_mxfp4_quant_into(&x.get(), &self.options(), out)
        });
    }

    fn set_up_fp8<T: Real>(self, s: &mut Setup) {
        let (x, codes, scales) = self.tensors::<T, F8E4M3>(s, 448.0);
        s.call(move || {
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            dynamic_mxfp8_quant_into(&x.get(), &self.options(), out)
        });
    }
}

/// The input, and the outputs.
type Tensors<T, C> = (Arg<T>, Arg<C>, Arg<E8M0>);

/// Rows of which a workgroup has more than lanes, with and without blocks of padding, of which four are
/// stored together, for scales that are shuffled.
pub(in crate::parity) fn paddings() -> impl Iterator<Item = RowCase> {
    let shapes = [([1100, 40], 1), ([300, 256], 1), ([256, 32], 2), ([16, 128], 1)];
    shapes.into_iter().map(|(shape, most)| RowCase {
        workgroups: Some(most),
        types: Types::Only(TYPES[shape[0] % 3]),
        ..RowCase::new(shape, "padding")
    })
}

/// Rows that share waves, nearly as far apart as they may be: behind the second row of the first wave
/// are so many that their codes of 8 bits take 4 GiB.
fn far() -> RowCase {
    let (place, types) = (Placement::DENSE.gap((1 << 27) - 64), Types::Only(TYPES[0]));
    let (tile, size) = (Some("n128"), Size::Core);
    RowCase { tile, size, place, types, ..RowCase::new([34, 32], "4 GiB of codes") }
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let drawn = Draw::Spread;
    let mut rows: Vec<_> = all_pieces(drawn);
    // Each width is drawn with each type in turn.
    for (i, count) in ROWS.into_iter().enumerate() {
        for (j, width) in WIDTHS.into_iter().enumerate() {
            let types = Types::Only(TYPES[(i + j) % 3]);
            let row = RowCase { types, ..RowCase::new([count, width], "small") };
            rows.push((row, Content::Drawn(drawn)));
        }
    }
    let mut specs: Vec<_> = rows
        .into_iter()
        .enumerate()
        .map(|(i, (row, content))| {
            let (mode, layout) = (MxRound::ALL[i % 5], LAYOUTS[i % 3]);
            Spec { row, content, mode, layout }
        })
        .collect();
    for (i, mode) in MxRound::ALL.into_iter().enumerate() {
        let layout = LAYOUTS[i % 3];
        let content = Content::Special;
        specs.extend(special_pieces(i).map(|row| Spec { row, content, mode, layout }));
    }
    let (mode, layout, content) = (MxRound::Even, ScaleLayout::Shuffled32x8, Content::Drawn(drawn));
    specs.push(Spec { row: far(), content, mode, layout: ScaleLayout::RowMajor });
    specs.extend(paddings().map(|row| Spec { row, content, mode, layout }));
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    // Widths that are the same in whole units fall together.
    let mut names = BTreeSet::new();
    cases.retain(|case| names.insert(case.info.title()));
    cases
}
