//! Cases of `per_token_quant` and `smooth_per_token_quant`.

use hk_core::dtype::{DType, Real};
use hk_core::op::quant::{ByteCode, QuantisedOut};
use hk_ref::quant::quant::{per_token_quant as reference, smooth as smoothed};
use hk_ref::{Case, Draw, Expected, REALS, RowCase, Setup, Types, real};

use super::{Content, all_rows, case, code, expected, pairs, rows, special_rows, suite};
use crate::{per_token_quant_into, smooth_per_token_quant_into};

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content) {
    let [count, width] = row.shape;
    let x = rows::<T>(s, row.shape, content, C::MOST);
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
    let [count, width] = row.shape;
    let x = rows::<T>(s, row.shape, content, i8::MOST);
    let columns = s.carried(|element| element % width);
    // The rows whose quotients are integers and halves are to keep them.
    let draw = if content == Content::Special { Draw::Equal } else { Draw::Spread };
    let smooth = s.input::<S>("smooth", &[width], draw).place(columns);
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

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (row, content) in all_rows(suite(), special_rows(), Draw::Outliers) {
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
    cases
}
