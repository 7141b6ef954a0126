//! Cases of `per_block_quant`.

use hk_core::dtype::Real;
use hk_core::op::quant::{ByteCode, QuantisedOut};
use hk_ref::quant::quant::per_block_quant as reference;
use hk_ref::{Arg, Case, Draw, Edge, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::{Content, TYPES, case, code, expected, pairs, rows};
use crate::per_block_quant_into;

/// Shapes, beside those of all ops: one tile and less, several with whole and cut ones, rows of even and
/// odd width.
const SHAPES: [[usize; 2]; 6] = [[1, 1], [33, 130], [128, 128], [129, 257], [300, 200], [5, 1030]];

/// The sizes of tiles.
const SIDE: usize = 128;

/// Integers, of tiles whose largest is twice the largest code: all odd ones are just between two
/// codes of i8, and some are of e4m3.
fn ties<T: Real>(s: &mut Setup, shape: [usize; 2], most: f32) -> Arg<T> {
    let mut x = s.draw::<T>("x", &shape, Draw::Integers(-254, 255));
    for row in x.chunks_exact_mut(shape[1]) {
        row.iter_mut().step_by(SIDE).for_each(|x| *x = T::from_f64(f64::from(2.0 * most)));
    }
    s.given("x", &shape, x)
}

/// The last is the largest: the scale of its tile hangs on the element at the end of a row.
fn largest_last<T: Real>(s: &mut Setup, shape: [usize; 2]) -> Arg<T> {
    let mut x = s.draw::<T>("x", &shape, Draw::Normal);
    x.last_mut().into_iter().for_each(|x| *x = T::from_f64(-8.0));
    s.given("x", &shape, x)
}

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content) {
    let width = row.shape[1];
    let x = match row.name {
        "ties" => ties::<T>(s, row.shape, C::MOST),
        name if name.starts_with("ends of rows") => largest_last::<T>(s, row.shape),
        _ => rows::<T>(s, row.shape, content, C::MOST),
    };
    let (codes, scales) = reference::<C>(&x.numbers(), width, SIDE, C::MOST);
    let tiles = row.shape.map(|size| size.div_ceil(SIDE));
    let tile_of = |i: usize| i / width / SIDE * tiles[1] + i % width / SIDE;
    let expected = expected(&codes, |i| scales[tile_of(i)].is_finite());
    let codes = s.output::<C>("codes", &row.shape, expected);
    let scales = Expected::exact(scales.into_iter().map(f64::from).collect());
    let place = s.carried(tile_of);
    let scales = s.output::<f32>("scales", &tiles, scales);
    let scales = match row.place.carry {
        Some(_) => scales.place(place),
        // A single line of them has no other to be far from.
        None if tiles[0] == 1 => scales.place(place.gap(0)),
        None => scales,
    };
    s.call(move || {
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        per_block_quant_into(&x.get(), &row.options(), out)
    });
}

/// Of a tile configuration: ends of rows, and tiles in several turns.
fn ends_and_turns(tile: &'static str) -> impl Iterator<Item = RowCase> {
    let core = move |shape, name, workgroups| RowCase {
        tile: Some(tile),
        workgroups,
        size: Size::Core,
        types: Types::Each,
        ..RowCase::new(shape, name)
    };
    // Of each remainder of a chunk. They are in odd lanes, so that the lane before
    // has elements, and one in an even lane, behind which another would store.
    let ends = [25, 45, 58, 67, 78, 111, 124];
    // In every pass over a tile; and of a tile that is loaded in a later turn.
    let first = ends.map(|width| core([125, width], "ends of rows", None));
    let later = ends.map(|width| core([9, SIDE + width], "ends of rows in turns", Some(1)));
    // Just behind 32 columns, as `RowCase::rows_behind_32`.
    let behind = [97, 98].into_iter().flat_map(move |width| {
        let first = core([5, width], "ends of rows", None);
        [first, core([5, SIDE + width], "ends of rows in turns", Some(1))]
    });
    // Behind a multiple of 4 GiB within the first row; by one workgroup, in more than eight turns.
    let row = [None, Some(1)].into_iter().flat_map(move |groups| {
        [1157, 1160].map(|width| core([1, width], "tiles of a row", groups))
    });
    // A turn is of three lines of tiles, or of one and a half: columns wrap.
    let lines = [[385, 3], [385, 8], [257, 131], [257, 136]];
    let lines = lines.map(|shape| core(shape, "turns of lines of tiles", Some(3)));
    let in_turn = |(i, row): (usize, RowCase)| RowCase { types: Types::Only(TYPES[i % 3]), ..row };
    let of_one_type = row.chain(lines).enumerate().map(in_turn);
    first.into_iter().chain(later).chain(behind).chain(of_one_type)
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let drawn = Content::Drawn(Draw::Spread);
    let plain = SHAPES.map(|shape| (RowCase::new(shape, "plain"), drawn));
    let mut all: Vec<_> = plain.into();
    for shape in super::SHAPES.into_iter().filter(|shape| !SHAPES.contains(shape)) {
        let is_small = shape[0] * shape[1] <= 20_000;
        let size = if is_small { Size::Quick } else { Size::Core };
        let row = RowCase { size, types: Types::Each, ..RowCase::new(shape, "plain") };
        all.push((row, drawn));
    }
    let each = |shape, name| RowCase { types: Types::Each, ..RowCase::new(shape, name) };
    all.push((each([0, 64], "plain"), drawn));
    for tile in ["near", "far"] {
        let of_tile = |shape, name| RowCase { tile: Some(tile), ..each(shape, name) };
        // The last has whole chunks, and more than a pass of rows in its second line of tiles.
        for shape in [[140, 260], [140, 393], [165, 264]] {
            let gaps = Placement::DENSE.gap(5).shift(3);
            let turns = RowCase { workgroups: Some(2), place: gaps, ..of_tile(shape, "turns") };
            let end = Placement::DENSE.gap(3).edge(Edge::End);
            all.push((RowCase { types: Types::Pairs, ..turns }, drawn));
            all.push((RowCase { place: end, ..of_tile(shape, "end of memory") }, drawn));
        }
        for width in [24, 26, 27, 29] {
            all.push((of_tile([3, width], "ends of rows"), drawn));
        }
        // More lines of tiles than the corrections of a quotient reach from zero.
        for width in [3, 8] {
            all.push((of_tile([385, width], "lines of tiles"), drawn));
        }
        for width in [91, 96] {
            let types = Types::Pairs;
            all.push((RowCase { types, ..of_tile([128, width], "ties") }, drawn));
        }
        all.extend(ends_and_turns(tile).map(|row| (row, Content::Drawn(Draw::Normal))));
        let zeros = Content::Drawn(Draw::Zeros);
        all.push((of_tile([130, 30], "zeros"), zeros));
        for (kind, name) in [(1, "one huge"), (2, "NaN"), (3, "infinity"), (5, "subnormal")] {
            all.push((of_tile([5, 260], name), Content::First(kind)));
        }
        // In the first column behind a tile that is loaded in the first turn, or in a later one.
        for width in [256, 257] {
            all.push((of_tile([5, width], "one huge"), Content::First(1)));
        }
        for width in [512, 513] {
            let turns = RowCase { workgroups: Some(1), ..of_tile([5, width], "one huge") };
            all.push((turns, Content::First(1)));
        }
    }
    // Rows that share a wave, nearly as far apart as they may be: of f32, the fourth is more than
    // 2^30 bytes behind the first.
    for width in [24, 27] {
        let place = Placement::DENSE.gap((1 << 27) - 32 - width);
        let (tile, size) = (Some("near"), Size::Core);
        let wave = each([4, width], "rows of a wave far apart");
        all.push((RowCase { tile, place, size, ..wave }, drawn));
    }
    // More than 2^32 bytes, of codes too, in the first turn and in a later one; where the tile is
    // not chosen by name.
    for width in [SIDE + 43, SIDE + 44] {
        let place = Placement::DENSE.gap(1 << 32);
        let far = RowCase { place, size: Size::Core, ..each([2, width], "rows far apart") };
        let turns = RowCase { workgroups: Some(1), types: Types::Pairs, ..far };
        all.push((turns, drawn));
    }
    all.extend(RowCase::models(&[[7168, 2048]]).map(|row| (row, drawn)));
    let cases = all.into_iter().flat_map(|(row, content)| {
        pairs(row).map(move |of| {
            case("per_block_quant", row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => set_up::<T, C>(s, row, content)));
            })
        })
    });
    cases.collect()
}
