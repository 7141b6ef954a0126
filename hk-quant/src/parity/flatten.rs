//! Matrices for the ops that make rows of them.

use hk_core::dtype::{DType, Real};
use hk_core::op::rows::RowOptions;
use hk_ref::{Arg, Case, CaseInfo, Draw, Placement, REALS, Setup, Size};

use super::quant::make_special;

/// Matrices of a case: their shape, `[m, h, n]`, and in which order they are stored.
#[derive(Clone, Copy)]
pub(super) struct Flat {
    pub(super) shape: [usize; 3],
    order: &'static [usize],
    /// Whether rows are special, each kind in turn.
    is_special: bool,
    tile: Option<&'static str>,
    workgroups: Option<u32>,
    place: Placement,
}

/// Those of the specification, and for each tile configuration.
const SHAPES: [([usize; 3], Option<&str>); 11] = [
    ([3, 16, 128], None),
    ([5, 4, 96], None),
    ([4, 3, 32], None),
    ([4, 3, 64], None),
    ([4, 3, 128], None),
    ([1, 5, 200], None),
    ([0, 3, 64], None),
    ([2, 3, 7168], None),
    ([19, 3, 43], Some("n128")),
    ([7, 3, 301], Some("any")),
    ([2, 3, 2501], Some("any")),
];

/// Those whose first row is behind a multiple of 4 GiB from its third part on.
const ACROSS: [([usize; 3], &str); 4] =
    [([2, 3, 43], "n128"), ([2, 3, 48], "n128"), ([2, 3, 2501], "any"), ([2, 3, 2504], "any")];

/// Such as hold every kind of special rows twice, for each way through rows: of whole chunks and not.
const SPECIAL: [([usize; 3], &str); 4] =
    [([4, 3, 43], "n128"), ([4, 3, 48], "n128"), ([4, 3, 301], "any"), ([4, 3, 304], "any")];

/// That of a model.
const MODEL: [usize; 3] = [10_000, 64, 128];

const ROWS: &[usize] = &[0, 1, 2];
const MATRICES: &[usize] = &[1, 0, 2];
/// The elements of rows are apart.
const COLUMNS: [&[usize]; 2] = [&[0, 2, 1], &[2, 1, 0]];

/// Every kind of matrices, of widths in such units, with a type of elements.
pub(super) fn all(unit: usize) -> Vec<(Flat, DType)> {
    let mut all = Vec::new();
    for (i, ([m, h, n], tile)) in SHAPES.into_iter().enumerate() {
        let shape = [m, h, n.next_multiple_of(unit)];
        for (j, order) in [ROWS, MATRICES].into_iter().enumerate() {
            for (k, gap) in [0, 6].into_iter().enumerate() {
                let place = Placement::DENSE.gap(gap);
                let workgroups = (i % 2 == 1).then_some(4);
                let of = Flat { shape, order, tile, workgroups, place, ..Flat::PLAIN };
                all.push((of, REALS[(i + j + k) % 3]));
            }
        }
    }
    for (i, order) in COLUMNS.into_iter().enumerate() {
        let (shape, place) = ([2, 3, 41usize.next_multiple_of(unit)], Placement::DENSE.gap(6 * i));
        all.push((Flat { shape, order, place, ..Flat::PLAIN }, REALS[i]));
    }
    for (i, ([m, h, n], tile)) in ACROSS.into_iter().enumerate() {
        let shape = [m, h, n.next_multiple_of(unit)];
        // With gaps, so that parts are not counted as rows.
        let place = Placement::DENSE.gap(6).carry(shape[2] * 3 / 2);
        let of = Flat { shape, tile: Some(tile), place, ..Flat::PLAIN };
        all.push((of, REALS[i % 3]));
    }
    for (i, ([m, h, n], tile)) in SPECIAL.into_iter().enumerate() {
        let shape = [m, h, n.next_multiple_of(unit)];
        let order = [ROWS, MATRICES][i / 2];
        let of = Flat { shape, order, is_special: true, tile: Some(tile), ..Flat::PLAIN };
        all.extend(REALS.map(|x| (of, x)));
    }
    all.push((Flat { shape: MODEL, ..Flat::PLAIN }, DType::Bf16));
    all
}

impl Flat {
    /// Nothing, as it is usually given.
    const PLAIN: Self = Self {
        shape: [0; 3],
        order: ROWS,
        is_special: false,
        tile: None,
        workgroups: None,
        place: Placement::DENSE,
    };

    /// The matrices of a case, for codes up to `most`.
    pub(super) fn x<T: Real>(&self, s: &mut Setup, most: f32) -> Arg<T> {
        let mut x = s.draw::<T>("x", &self.shape, Draw::Spread);
        if self.is_special {
            for (i, row) in x.chunks_exact_mut(self.shape[2]).enumerate() {
                make_special(s, row, i % 6, most);
            }
        }
        s.given("x", &self.shape, x).order(self.order)
    }

    pub(super) fn options(&self) -> RowOptions<'static> {
        let options = self.tile.into_iter().fold(RowOptions::default(), RowOptions::tile);
        self.workgroups.into_iter().fold(options, RowOptions::workgroups)
    }

    pub(super) fn case(
        &self,
        module: &'static str,
        op: &'static str,
        types: &[DType],
        set_up: impl Fn(&mut Setup) + Send + Sync + 'static,
    ) -> Case {
        let order = match self.order {
            [0, 1, 2] => "rows",
            [1, 0, 2] => "matrices",
            _ => "columns",
        };
        let (gaps, size) = match self.place {
            Placement { carry: Some(_), .. } => (", across 4 GiB", Size::Core),
            Placement { gap: 0, .. } => ("", Size::Quick),
            _ => (", gaps", Size::Quick),
        };
        let is_large = self.shape.iter().product::<usize>() > 1 << 20;
        let size = if is_large { Size::Large } else { size };
        let tile = self.tile.map(|tile| format!(", tile {tile}")).unwrap_or_default();
        let special = if self.is_special { ", special" } else { "" };
        let name = format!("{order} first{gaps}{special}{tile}");
        let info = CaseInfo::new(module, op, name, types, &self.shape);
        Case::new(info, set_up).place(self.place).size(size)
    }
}
