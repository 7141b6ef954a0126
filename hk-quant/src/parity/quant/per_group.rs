//! Cases of `per_group_quant`.

use hk_core::dtype::Real;
use hk_core::op::quant::{ByteCode, GroupOptions, QuantisedOut, ScaleLayout};
use hk_ref::quant::quant::per_group_quant as reference;
use hk_ref::{Case, Draw, Expected, RowCase, Setup, real};

use super::{Content, Scales, all_pieces, case, code, expected, pairs_or_all, rows};
use crate::per_group_quant_into;

/// Groups and orders that cases have in turn.
const SCALES: [(usize, ScaleLayout); 6] = [
    (32, ScaleLayout::RowMajor),
    (64, ScaleLayout::ColMajor),
    (128, ScaleLayout::RowMajor),
    (32, ScaleLayout::ColMajor),
    (64, ScaleLayout::RowMajor),
    (128, ScaleLayout::ColMajor),
];

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content, of: Scales) {
    let x = rows::<T>(s, row.shape, content, C::MOST);
    let (codes, scales) = reference::<C>(&x.numbers(), row.shape[1], of.group, C::MOST);
    let expected = expected(&codes, |i| scales[of.of_element(i)].is_finite());
    let codes = s.output::<C>("codes", &row.shape, expected);
    let scales: Vec<_> = scales.into_iter().map(f64::from).collect();
    let scales = Expected::exact(of.arrange(&scales, 1.0));
    let place = of.carried(s);
    let scales = s.output::<f32>("scales", &of.in_memory(), scales);
    let scales = if row.place.carry.is_some() { scales.place(place) } else { scales };
    s.call(move || {
        let options = GroupOptions::default().group(of.group).scale_layout(of.layout);
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        per_group_quant_into(&x.get(), &options.rows(row.options()), out)
    });
}

/// Special rows for the other way through each tile: whole chunks where rows share a wave, and a row
/// of an odd number whose end is in the second half of a piece and the first half of a chunk.
fn special() -> impl Iterator<Item = (RowCase, Content)> {
    [("n128", [12, 40]), ("any", [12, 299])].into_iter().map(|(tile, shape)| {
        let row = RowCase { tile: Some(tile), ..RowCase::new(shape, "special") };
        (row, Content::Special)
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let all = all_pieces(Draw::Spread).into_iter().chain(special());
    for (i, (row, content)) in all.enumerate() {
        // Each way through the kernel has groups of each size.
        let count = if row.name == "turns" { 3 } else { 1 };
        for (group, layout) in SCALES.into_iter().cycle().skip(i % SCALES.len()).take(count) {
            let scales = Scales { shape: row.shape, group, layout };
            let what = format!(", groups of {group}, {layout:?}");
            // Far rows are even or odd, and each way has codes of each type.
            let is_far = row.name == "rows far apart";
            cases.extend(pairs_or_all(row, is_far).map(|of| {
                case("per_group_quant", row, of, &what, move |s| {
                    real!(of.0, T => code!(of.1, C => set_up::<T, C>(s, row, content, scales)));
                })
            }));
        }
    }
    cases
}
