//! Cases of `per_token_quant` and `smooth_per_token_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::{ByteCode, QuantisedOut};
use hk_ref::quant::quant::{per_token_quant as reference, smooth as smoothed};
use hk_ref::{Arg, Case, Draw, Expected, REALS, RowCase, Setup, Size, Types, real};

use super::{
    Content, NORMS, all_rows, case, code, expected, pairs, rows, small_norms, special_rows, suite,
};
use crate::{per_token_quant_into, smooth_per_token_quant_into};

/// Widths of rows in pieces that end in the second chunk of a lane, the third and the fourth, or in
/// another piece.
const CHUNKS: [usize; 3] = [5003, 9001, 13_001];

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

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content) {
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
    let x = rows::<T>(s, row.shape, content, i8::MOST);
    // The rows whose quotients are integers and halves are to keep them.
    let draw = if content == Content::Special { Draw::Equal } else { Draw::Spread };
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
    let types = move |x: &DType| {
        let x = *x;
        REALS.into_iter().filter(move |of| all || *of == DType::F32).map(move |of| (x, of))
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

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut rows = all_rows(suite(), special_rows(), Draw::Outliers);
    let small = small_norms().map(|row| RowCase { name: "small", ..row });
    let outliers = Content::Drawn(Draw::Outliers);
    rows.extend(small.chain(RowCase::end_rows(&NORMS)).map(|row| (row, outliers)));
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
    cases
}
