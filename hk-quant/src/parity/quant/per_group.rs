//! Cases of `per_group_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::{ByteCode, GroupOptions, QuantisedOut, ScaleLayout};
use hk_ref::quant::quant::per_group_quant as reference;
use hk_ref::{Arg, Case, Draw, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::{Content, PIECES, Scales, TYPES, all_pieces, case, code, expected, pairs_or_all, rows};
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

/// Elements of 16 bits, which rows can end within a dword of, in turn, and of 32.
const SIZES: [&[DType]; 2] = [&[DType::Bf16, DType::F32], &[DType::F16, DType::F32]];

/// Widths of rows of which there are several turns, but for 1 to 8 columns more, with their tiles and
/// so many rows. Of rows in pieces, the last begins at a multiple of 512, and ends in each quarter.
const ENDS: [(&str, [usize; 2]); 7] = [
    ("n128", [18, 0]),
    ("n128", [18, 40]),
    ("n128", [18, 112]),
    ("any", [9, 0]),
    ("any", [3, 512 + 152]),
    ("any", [9, 280]),
    ("any", [2, 1024 + 408]),
];

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content, of: Scales) {
    let x = rows::<T>(s, row.shape, content, C::MOST);
    set_up_of::<T, C>(s, row, x, of);
}

fn set_up_of<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, x: Arg<T>, of: Scales) {
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

/// Rows without a small number, so that every code tells. Of each 32 elements one is the largest,
/// each in another row: the last in the first row.
fn with_peaks<T: Real>(s: &mut Setup, shape: [usize; 2]) -> Arg<T> {
    let width = shape[1];
    let drawn = s.draw::<f32>("x", &shape, Draw::Uniform);
    let number = |(i, drawn): (usize, &f32)| {
        let (row, column) = (i / width, i % width);
        let part = column / 32;
        let len = (width - 32 * part).min(32);
        let is_peak = column % 32 == (5 * row + len - 1) % len;
        let size = if is_peak { 1.0 } else { 0.3 } + 0.6 * f64::from(*drawn);
        let of_part = [1.0, 0.5, 0.25][(row + part) % 3];
        T::from_f64(size * of_part * if (row + column / 3) % 2 == 0 { -1.0 } else { 1.0 })
    };
    let x = drawn.iter().enumerate().map(number).collect();
    s.given("x", &shape, x)
}

/// Rows whose scales are 1, and every other of whose quotients is just between two codes, of which the
/// smaller is even. The lowest bit of the elements before these is set.
fn with_ties<T: Real>(s: &mut Setup, shape: [usize; 2], most: f32) -> Arg<T> {
    let tie = if most < 128.0 { 16.5 } else { 17.0 };
    let number = |column: usize| match column {
        column if column.is_multiple_of(32) => f64::from(most),
        column if column.is_multiple_of(2) => 1.0 + 0.5f64.powi(7),
        _ => tie,
    };
    let x = (0..shape[0] * shape[1]).map(|i| T::from_f64(number(i % shape[1]))).collect();
    s.given("x", &shape, x)
}

/// Special rows for the other way through each tile: whole chunks where rows share a wave, and a row
/// of an odd number whose end is in the second half of a piece and the first half of a chunk.
fn special() -> impl Iterator<Item = (RowCase, Content)> {
    [("n128", [12, 40]), ("any", [12, 299])].into_iter().map(|(tile, shape)| {
        let row = RowCase { tile: Some(tile), ..RowCase::new(shape, "special") };
        (row, Content::Special)
    })
}

/// Rows of every remainder of a chunk, with each type of codes, in several turns.
fn ends() -> impl Iterator<Item = RowCase> {
    ENDS.into_iter().flat_map(|(tile, [count, width])| {
        (1..=8).map(move |more| RowCase {
            tile: Some(tile),
            workgroups: Some(1),
            types: Types::Only(SIZES[more / 2 % 2]),
            ..RowCase::new([count, width + more], "each remainder")
        })
    })
}

/// Rows of which the first ones, or the first pieces of one, are before a multiple of 4 GiB.
fn across() -> impl Iterator<Item = RowCase> {
    let pieces = [1100, 1101].map(|width| ("any", [5, width], 600));
    let rows = [40, 43].map(|width| ("n128", [21, width], 2 * width + 8));
    pieces.into_iter().chain(rows).map(|(tile, shape, element)| RowCase {
        tile: Some(tile),
        workgroups: Some(1),
        place: Placement::DENSE.carry(element),
        size: Size::Core,
        types: Types::Each,
        ..RowCase::new(shape, "across 4 GiB")
    })
}

/// Rows that share a wave, nearly as far apart as they may be: of f32, the fourth is more than 2^30
/// bytes behind the first.
fn near() -> impl Iterator<Item = RowCase> {
    [24, 27].into_iter().map(|width| RowCase {
        tile: Some("n128"),
        place: Placement::DENSE.gap((1 << 27) - 32 - width),
        size: Size::Core,
        types: Types::Only(TYPES[2]),
        ..RowCase::new([4, width], "rows of a wave far apart")
    })
}

/// Of rows with peaks.
fn cases_with_peaks() -> Vec<Case> {
    let mut cases = Vec::new();
    // Rows of scales follow each other where rows are across 4 GiB.
    let rows = ends().enumerate();
    let rows = rows.chain(across().chain(near()).enumerate().map(|(i, row)| (2 * i, row)));
    for (i, row) in rows {
        let (group, layout) = SCALES[i % SCALES.len()];
        let scales = Scales { shape: row.shape, group, layout };
        let what = format!(", groups of {group}, {layout:?}");
        cases.extend(pairs_or_all(row, true).map(|of| {
            let case = case("per_group_quant", row, of, &what, move |s| {
                real!(of.0, T => {
                    let x = with_peaks::<T>(s, row.shape);
                    code!(of.1, C => set_up_of::<T, C>(s, row, x, scales));
                });
            });
            case.writes_once()
        }));
    }
    cases
}

/// Of rows with ties.
fn cases_with_ties() -> Vec<Case> {
    let ways = [("n128", [40, 43]), ("any", [300, 301])];
    let rows = ways.into_iter().flat_map(|(tile, widths)| widths.map(|width| (tile, width)));
    let cases = rows.flat_map(|(tile, width)| {
        let (tile, types) = (Some(tile), Types::Only(TYPES[0]));
        let row = RowCase { tile, types, ..RowCase::new([3, width], "ties") };
        let scales = Scales { shape: row.shape, group: 64, layout: ScaleLayout::RowMajor };
        pairs_or_all(row, true).map(move |of| {
            case("per_group_quant", row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => {
                    let x = with_ties::<T>(s, row.shape, C::MOST);
                    set_up_of::<T, C>(s, row, x, scales);
                }));
            })
        })
    });
    cases.collect()
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let spread = Content::Drawn(Draw::Spread);
    let end_rows = RowCase::end_rows(&PIECES).into_iter().map(|row| (row, spread));
    let all = all_pieces(Draw::Spread).into_iter().chain(special()).chain(end_rows);
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
    cases.extend(cases_with_peaks());
    cases.extend(cases_with_ties());
    cases
}
