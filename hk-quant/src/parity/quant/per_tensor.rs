//! Cases of `static_per_tensor_quant` and `dynamic_per_tensor_quant`.

use hk_core::dtype::Real;
use hk_core::op::quant::{ByteCode, QuantisedOut};
use hk_ref::quant::quant::{codes as codes_of, dynamic_per_tensor_quant as reference};
use hk_ref::{Case, Draw, Expected, RowCase, Setup, Types, real};

use super::{Content, all_pieces, case, code, expected, pairs, rows};
use crate::{dynamic_per_tensor_quant_into, static_per_tensor_quant_into};

/// By which some elements are clamped.
const SCALE: f32 = 0.01;

/// Scales by which none is; and of no use, which give codes all the same.
const OTHER_SCALES: [f32; 3] = [1.0, 0.0, f32::NAN];

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content, scale: f32) {
    let x = rows::<T>(s, row.shape, content, C::MOST);
    let first = s.carried(|_| 0);
    let given = s.given("scale", &[1], vec![scale]).place(first);
    let codes = Expected::exact(codes_of::<C>(&x.numbers(), scale, C::MOST));
    let codes = s.output::<C>("codes", &row.shape, codes);
    s.call(move || {
        static_per_tensor_quant_into(&x.get(), &given.get(), &row.options(), &mut codes.get())
    });
}

fn set_up_dynamic<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content) {
    let x = rows::<T>(s, row.shape, content, C::MOST);
    let (codes, scale) = reference::<C>(&x.numbers(), C::MOST);
    let codes = s.output::<C>("codes", &row.shape, expected(&codes, |_| scale.is_finite()));
    let first = s.carried(|_| 0);
    let scale = Expected::exact(vec![f64::from(scale)]);
    let scale = s.output::<f32>("scale", &[1], scale).place(first);
    s.call(move || {
        let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scale.get() };
        dynamic_per_tensor_quant_into(&x.get(), &row.options(), out)
    });
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let (mut cases, statics, dynamics) =
        (Vec::new(), "static_per_tensor_quant", "dynamic_per_tensor_quant");
    for (row, content) in all_pieces(Draw::Outliers) {
        cases.extend(pairs(row).map(|of| {
            case(statics, row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => set_up::<T, C>(s, row, content, SCALE)));
            })
        }));
        if content == Content::Special {
            cases.extend(OTHER_SCALES.into_iter().flat_map(|scale| {
                pairs(row).map(move |of| {
                    case(statics, row, of, &format!(", scale {scale}"), move |s| {
                        real!(of.0, T => code!(of.1, C => set_up::<T, C>(s, row, content, scale)));
                    })
                })
            }));
            continue;
        }
        // Its codes are stored by the same kernels.
        if row.name != "ends of rows" {
            cases.extend(pairs(row).map(|of| {
                case(dynamics, row, of, "", move |s| {
                    real!(of.0, T => code!(of.1, C => set_up_dynamic::<T, C>(s, row, content)));
                })
            }));
        }
    }
    let contents = [
        ("zeros", Content::Drawn(Draw::Zeros)),
        ("subnormal", Content::Drawn(Draw::Denormal)),
        ("one huge", Content::First(1)),
        ("infinity", Content::First(3)),
        ("ties", Content::First(4)),
        ("NaN and infinity", Content::Special),
    ];
    for (name, content) in contents {
        let row = RowCase { types: Types::Pairs, ..RowCase::new([12, 75], name) };
        cases.extend(pairs(row).map(|of| {
            case(dynamics, row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => set_up_dynamic::<T, C>(s, row, content)));
            })
        }));
    }
    cases
}
