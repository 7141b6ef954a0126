//! Cases of `per_token_quant` and `smooth_per_token_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::{ByteCode, QuantisedOut};
use hk_ref::quant::quant::{per_token_quant as reference, smooth as smoothed};
use hk_ref::{Arg, Case, Draw, Expected, Placement, REALS, RowCase, Setup, Size, Types, real};

use super::{
    Content, NORMS, all_rows, case, code, expected, pairs, pairs_or_all, rows, small_count,
    small_norms, special_rows, suite,
};
use crate::{per_token_quant_into, smooth_per_token_quant_into};

/// Widths of rows in pieces that end in the second chunk of a lane, the third and the fourth, or in
/// another piece.
const CHUNKS: [usize; 3] = [5003, 9001, 13_001];

/// Elements between rows of so many that share a wave, as far apart as may be where the setup adds 8.
pub(super) const fn far_in_wave(width: usize) -> usize {
    (1 << 27) - width - 8
}

/// Rows whose last element is the largest; those of the last row are twice as large as others.
pub(super) fn last_is_largest<T: Real>(s: &mut Setup, [count, width]: [usize; 2]) -> Arg<T> {
    let drawn = s.draw::<f32>("x", &[count, width], Draw::Uniform);
    let number = |(i, drawn): (usize, &f32)| {
        let size = if i % width == width - 1 { 1.0 } else { 0.5 + 0.49 * f64::from(*drawn) };
        let of_row = if i / width == count - 1 { 1.0 } else { 0.5 };
        T::from_f64(size * of_row * if i % 2 == 0 { -1.0 } else { 1.0 })
    };
    let x = drawn.iter().enumerate().map(number).collect();
    s.given("x", &[count, width], x)
}

/// Rows whose codes differ from those of the columns near them, of which the given column is the
/// largest; the last row is larger than all others, which have other scales than the next.
pub(super) fn with_largest_at<T: Real>(
    s: &mut Setup,
    [count, width]: [usize; 2],
    at: usize,
) -> Arg<T> {
    let number = |i: usize| {
        let (row, column) = (i / width, i % width);
        let of_row = if row == count - 1 { 1.0 } else { [0.5, 0.25][row % 2] };
        let eighths = (8 + column * 3 % 8) as f64;
        let size = if column == at { 1.0 } else { eighths / f64::from(16_u32 << (column % 3)) };
        T::from_f64(size * of_row * if column % 2 == 0 { -1.0 } else { 1.0 })
    };
    s.given("x", &[count, width], (0..count * width).map(number).collect())
}

/// Numbers for columns, of which those of the nearest differ, and that of the last is the largest.
fn largest_last<S: Real>(s: &mut Setup, width: usize) -> Arg<S> {
    let number = |column: usize| {
        S::from_f64(if column == width - 1 { 2.0 } else { 1.0 + (column * 2 % 5) as f64 / 16.0 })
    };
    s.given("smooth", &[width], (0..width).map(number).collect())
}

/// Rows of multiples of a number: up to `most` times, and half of that in every other one.
fn multiples<T: Real>(s: &mut Setup, shape: [usize; 2], number: f32, most: f32) -> Arg<T> {
    let element = |i: usize| {
        let times = match (i / shape[1] % 2, i % shape[1]) {
            (0, 0) => f64::from(most),
            (_, 0) => f64::from(most) / 2.0,
            (_, column) => (column % 31) as f64 - 15.0,
        };
        T::from_f64(times * f64::from(number))
    };
    s.given("x", &shape, (0..shape[0] * shape[1]).map(element).collect())
}

/// What rows hold of which few integers are to be zero, as most are beside outliers.
fn of_integers(row: RowCase, content: Content) -> Content {
    match content {
        Content::Drawn(Draw::Outliers) if !matches!(row.name, "plain" | "model") => {
            Content::Drawn(Draw::Alternating)
        }
        _ => content,
    }
}

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content) {
    let content = if C::DTYPE == DType::I8 { of_integers(row, content) } else { content };
    let x = rows::<T>(s, row.shape, content, C::MOST);
    set_up_of::<T, C>(s, row, x);
}

fn set_up_of<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, x: Arg<T>) {
    let [count, width] = row.shape;
    let (codes, scales) = reference::<C>(&x.numbers(), width, C::MOST);
    let expected = expected(&codes, |i| scales[i / width].is_finite());
    let codes = s.output::<C>("codes", &row.shape, expected);
    let each_row = s.carried(|element| element / width);
    let scales = Expected::exact(scales.into_iter().map(f64::from).collect());
    let scales = s.output::<f32>("scales", &[count], scales).place(each_row);
    s.call(move || {
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        per_token_quant_into(&x.get(), &row.options(), out)
    });
}

fn set_up_smooth<T: Real, S: Real>(s: &mut Setup, row: RowCase, content: Content) {
    let content = of_integers(row, content);
    let x = rows::<T>(s, row.shape, content, i8::MOST);
    let draw = match content {
        // The rows whose quotients are integers and halves are to keep them.
        Content::Special => Draw::Equal,
        Content::Drawn(Draw::Alternating) => Draw::Uniform,
        _ => Draw::Spread,
    };
    let smooth = s.input::<S>("smooth", &row.shape[1..], draw);
    set_up_smooth_of(s, row, x, smooth);
}

fn set_up_smooth_of<T: Real, S: Real>(s: &mut Setup, row: RowCase, x: Arg<T>, smooth: Arg<S>) {
    let [count, width] = row.shape;
    let columns = s.carried(|element| element % width);
    let smooth = smooth.place(columns);
    let products = smoothed(&x.numbers(), &smooth.numbers());
    let (codes, scales) = reference::<i8>(&products, width, i8::MOST);
    let expected = expected(&codes, |i| scales[i / width].is_finite());
    let codes = s.output::<i8>("codes", &row.shape, expected);
    let each_row = s.carried(|element| element / width);
    let scales = Expected::exact(scales.into_iter().map(f64::from).collect());
    let scales = s.output::<f32>("scales", &[count], scales).place(each_row);
    s.call(move || {
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
        smooth_per_token_quant_into(&x.get(), &smooth.get(), &row.options(), out)
    });
}

/// Types of rows and of the numbers for columns.
fn smooth_pairs(row: RowCase) -> impl Iterator<Item = (DType, DType)> {
    let all = matches!(row.types, Types::Pairs);
    // Each size is loaded by itself.
    let sizes = [AT_MULTIPLE, BEFORE_MULTIPLE].contains(&row.name);
    let types = move |x: &DType| {
        let x = *x;
        let is_wanted = move |of: &DType| match of {
            DType::F32 => true,
            DType::Bf16 => all || sizes,
            _ => all,
        };
        REALS.into_iter().filter(is_wanted).map(move |of| (x, of))
    };
    row.inputs().iter().flat_map(types)
}

/// Rows of each tile, of whose last element every scale is.
fn with_largest_last() -> Vec<Case> {
    let mut cases = Vec::new();
    let in_chunks = CHUNKS.map(|width| ("any", [2, width]));
    for (tile, [_, width]) in NORMS.into_iter().chain(in_chunks) {
        let row = RowCase {
            tile: Some(tile),
            size: Size::Core,
            ..RowCase::new([2, width], "last is largest")
        };
        cases.extend(pairs(RowCase { types: Types::Each, ..row }).map(|of| {
            case("per_token_quant", row, of, "", move |s| {
                real!(of.0, T => {
                    let x = last_is_largest::<T>(s, row.shape);
                    code!(of.1, C => set_up_of::<T, C>(s, row, x));
                });
            })
        }));
        cases.extend(smooth_pairs(row).map(|(x, by)| {
            row.case("quant", "smooth_per_token_quant", &[x, by, DType::I8], move |s| {
                real!(x, T => real!(by, S => {
                    let x = last_is_largest::<T>(s, row.shape);
                    let smooth = s.input::<S>("smooth", &row.shape[1..], Draw::Equal);
                    set_up_smooth_of::<T, S>(s, row, x, smooth);
                }));
            })
        }));
    }
    cases
}

/// Rows of each tile whose scale is the least normal number, or would be half of it.
fn of_least_scale() -> Vec<Case> {
    let mut cases = Vec::new();
    let rows = NORMS.into_iter().flat_map(|(tile, _)| [26, 27].map(|width| (tile, width)));
    for (tile, width) in rows {
        let row = RowCase {
            tile: Some(tile),
            size: Size::Core,
            types: Types::Each,
            ..RowCase::new([2, width], "least scale")
        };
        // Those of f16 are larger.
        let wide = RowCase { types: Types::Only(&[DType::Bf16, DType::F32]), ..row };
        cases.extend(pairs(wide).map(|of| {
            case("per_token_quant", row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => {
                    let x = multiples::<T>(s, row.shape, f32::MIN_POSITIVE, C::MOST);
                    set_up_of::<T, C>(s, row, x);
                }));
            })
        }));
        cases.extend(row.inputs().iter().copied().map(|x| {
            let types = [x, DType::F32, DType::I8];
            row.case("quant", "smooth_per_token_quant", &types, move |s| {
                real!(x, T => {
                    let x = multiples::<T>(s, row.shape, 1.0, i8::MOST);
                    let smooth = s.given("smooth", &[width], vec![f32::MIN_POSITIVE; width]);
                    set_up_smooth_of::<T, f32>(s, row, x, smooth);
                });
            })
        }));
    }
    cases
}

/// One of the types of 16 bits in turn, and f32.
pub(super) const fn two_types(i: usize) -> Types {
    Types::Only(if i.is_multiple_of(2) {
        &[DType::Bf16, DType::F32]
    } else {
        &[DType::F16, DType::F32]
    })
}

/// Rows of each tile that end after each element of a chunk, and so after each byte of a dword of
/// codes: in a lane's first chunk and in others, in several turns, and behind whole pieces.
fn ends_of_chunks() -> Vec<RowCase> {
    let of_end = |end: usize| {
        let more = 1 + end % 3;
        let several = [("n128", 32), ("n512", 296), ("n2048", 512 * more + 176)];
        let several = several.into_iter().chain([("n8192", 2048 * more + 688), ("any", 40)]);
        let several = several.map(|(tile, columns)| (tile, small_count(tile), columns));
        let single = [("n2048", 40), ("n8192", 40), ("any", 4096 * more + 1360), ("any", 16_464)];
        let single = single.map(|(tile, columns)| (tile, 1, columns));
        several.chain(single).map(move |(tile, count, columns)| (tile, [count, columns + end]))
    };
    let rows = (1..=8).flat_map(of_end).enumerate().map(|(i, (tile, shape))| RowCase {
        tile: Some(tile),
        workgroups: Some(1),
        size: Size::Core,
        types: two_types(i / 2),
        ..RowCase::new(shape, "ends of chunks")
    });
    rows.collect()
}

/// Rows of [`ends_of_chunks`], of whose last element every scale is.
fn of_each_end() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, row) in ends_of_chunks().into_iter().enumerate() {
        let width = row.shape[1];
        // Both types of codes, each of one type of rows.
        let of_turn = pairs_or_all(row, true)
            .filter(|(x, _, arch)| (arch.is_some() == (i % 2 == 0)) == (*x == DType::F32));
        cases.extend(of_turn.map(|of| {
            case("per_token_quant", row, of, "", move |s| {
                real!(of.0, T => {
                    let x = with_largest_at::<T>(s, row.shape, width - 1);
                    code!(of.1, C => set_up_of::<T, C>(s, row, x));
                });
            })
        }));
        let of_columns = |x: DType| {
            // Of a vector of 16-bit numbers, the last half of a dword is loaded by itself.
            let [one, other] = [DType::Bf16, DType::F16].map(|by| (x, by));
            match (width % 2, x) {
                (1, DType::F32) => vec![[one, other][i % 2]],
                (1, _) => vec![one, other],
                _ => vec![(x, REALS[i % 3])],
            }
        };
        cases.extend(row.inputs().iter().copied().flat_map(of_columns).map(|(x, by)| {
            row.case("quant", "smooth_per_token_quant", &[x, by, DType::I8], move |s| {
                real!(x, T => real!(by, S => {
                    let x = with_largest_at::<T>(s, row.shape, width - 1);
                    let smooth = largest_last::<S>(s, width);
                    set_up_smooth_of::<T, S>(s, row, x, smooth);
                }));
            })
        }));
    }
    cases
}

/// Rows of [`at_multiples`].
const AT_MULTIPLE: &str = "at a multiple of 4 GiB";
const BEFORE_MULTIPLE: &str = "before a multiple of 4 GiB";

/// Tensors that start at a multiple of 4 GiB, and just before one: of one or the other, the lowest bit
/// of the upper half of addresses is set.
fn at_multiples() -> Vec<RowCase> {
    let mut rows = Vec::new();
    for (i, (tile, _)) in NORMS.into_iter().enumerate() {
        for width in [24, 27] {
            for (name, element) in [(AT_MULTIPLE, 0), (BEFORE_MULTIPLE, width + 1)] {
                rows.push(RowCase {
                    tile: Some(tile),
                    place: Placement::DENSE.carry(element),
                    size: Size::Core,
                    types: two_types(i + width),
                    ..RowCase::new([2, width], name)
                });
            }
        }
    }
    rows
}

/// Rows that share a wave and are as far apart as may be, in two turns.
fn far_in_waves() -> impl Iterator<Item = RowCase> {
    [40, 43].into_iter().map(|width| RowCase {
        tile: Some("n128"),
        workgroups: Some(1),
        place: Placement::DENSE.gap(far_in_wave(width)),
        size: Size::Core,
        types: Types::Only(&[DType::F32]),
        ..RowCase::new([20, width], "rows far apart")
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut rows = all_rows(suite(), special_rows(), Draw::Outliers);
    let small = small_norms().map(|row| RowCase { name: "small", ..row });
    let outliers = Content::Drawn(Draw::Outliers);
    let small = small.chain(RowCase::end_rows(&NORMS));
    let small = small.chain(at_multiples()).chain(far_in_waves());
    rows.extend(small.map(|row| (row, outliers)));
    for (row, content) in rows {
        cases.extend(pairs(row).map(|of| {
            case("per_token_quant", row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => set_up::<T, C>(s, row, content)));
            })
        }));
        cases.extend(smooth_pairs(row).map(|(x, by)| {
            row.case("quant", "smooth_per_token_quant", &[x, by, DType::I8], move |s| {
                real!(x, T => real!(by, S => set_up_smooth::<T, S>(s, row, content)));
            })
        }));
    }
    cases.extend(with_largest_last());
    cases.extend(of_least_scale());
    cases.extend(of_each_end());
    cases
}
