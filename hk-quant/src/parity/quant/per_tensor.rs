//! Cases of `static_per_tensor_quant` and `dynamic_per_tensor_quant`.

use hk_core::Arch;
use hk_core::dtype::{DType, Real};
use hk_core::op::quant::{ByteCode, QuantisedOut};
use hk_ref::quant::quant::{codes as codes_of, dynamic_per_tensor_quant as reference};
use hk_ref::{Arg, Case, Draw, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::per_token::{far_in_wave, last_is_largest, two_types, with_largest_at};
use super::{Content, PIECES, TYPES, all_pieces, case, code, expected, pairs, pairs_or_all, rows};
use crate::parity::quant_moe::{TIES, ties};
use crate::{dynamic_per_tensor_quant_into, static_per_tensor_quant_into};

/// By which some elements are clamped.
const SCALE: f32 = 0.01;

/// Scales by which none is; that are subnormal, or whose reciprocal is; and of no use, which give codes
/// all the same.
const OTHER_SCALES: [f32; 5] = [1.0, f32::MIN_POSITIVE / 2.0, f32::MAX, 0.0, f32::NAN];

/// Rows of each tile that end in each dword of a chunk, and in each half of those of a piece.
const ENDS: [(&str, &[usize]); 2] = [
    ("n128", &[40, 41, 42, 43, 44, 45, 46, 47]),
    ("any", &[129, 130, 133, 136, 139, 387, 389, 391, 393, 647]),
];

/// Rows of each tile, ragged or not, of which one workgroup takes more than one turn, with a chunk's
/// first column.
const CHUNKS: [(&str, [usize; 2], usize); 4] =
    [("n128", [21, 43], 8), ("n128", [21, 48], 40), ("any", [6, 647], 520), ("any", [6, 656], 640)];

/// Workgroups of 16 rows before the last one, of which the largest is in each dword of a lane's load, in
/// that of another wave, and in a lane's second load.
const WORKGROUPS: [usize; 6] = [1, 2, 3, 4, 302, 1027];

fn set_up<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, content: Content, scale: f32) {
    let x = rows::<T>(s, row.shape, content, C::MOST);
    set_up_of::<T, C>(s, row, x, scale);
}

fn set_up_of<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, x: Arg<T>, scale: f32) {
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
    set_up_dynamic_of::<T, C>(s, row, x);
}

fn set_up_dynamic_of<T: Real, C: ByteCode>(s: &mut Setup, row: RowCase, x: Arg<T>) {
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

/// Numbers between codes, which are multiplied with the inverse of their scale.
fn at_ties() -> Vec<Case> {
    let mut cases = Vec::new();
    for (tile, width) in [("n128", 72), ("n128", 75), ("any", 304), ("any", 301)] {
        let row =
            RowCase { tile: Some(tile), size: Size::Core, ..RowCase::new([3, width], "ties") };
        cases.extend(pairs(row).map(|of| {
            case("static_per_tensor_quant", row, of, "", move |s| {
                real!(of.0, T => {
                    let x = s.given("x", &row.shape, ties::<T>(3 * width));
                    code!(of.1, C => set_up_of::<T, C>(s, row, x, TIES));
                });
            })
        }));
    }
    cases
}

/// The largest element is the last one, of the first turn or of another wave in a later one.
fn with_largest_last() -> Vec<Case> {
    let mut cases = Vec::new();
    let rows = ENDS.into_iter().flat_map(|(tile, widths)| {
        let counts = if tile == "n128" { [2, 21] } else { [2, 6] };
        counts.into_iter().flat_map(move |count| widths.iter().map(move |n| (tile, [count, *n])))
    });
    for (tile, shape) in rows {
        let row = RowCase {
            tile: Some(tile),
            workgroups: Some(1),
            size: Size::Core,
            types: Types::Each,
            ..RowCase::new(shape, "last is largest")
        };
        cases.extend(pairs(row).map(|of| {
            case("dynamic_per_tensor_quant", row, of, "", move |s| {
                real!(of.0, T => {
                    let x = last_is_largest::<T>(s, row.shape);
                    code!(of.1, C => set_up_dynamic_of::<T, C>(s, row, x));
                });
            })
        }));
    }
    cases
}

/// A case of elements of which one is the largest.
fn largest(row: RowCase, of: (DType, DType, Option<Arch>), at: usize, what: &str) -> Case {
    case("dynamic_per_tensor_quant", row, of, what, move |s| {
        real!(of.0, T => {
            let x = with_largest_at::<T>(s, row.shape, at);
            code!(of.1, C => set_up_dynamic_of::<T, C>(s, row, x));
        });
    })
}

/// The largest element is each one of a chunk, in the first turn or a later one.
fn with_largest_anywhere() -> Vec<Case> {
    let mut cases = Vec::new();
    for (tile, [count, width], first) in CHUNKS {
        let columns = first..first + 8;
        for (count, at) in columns.flat_map(|at| [2, count].map(|count| (count, at))) {
            let row = RowCase {
                tile: Some(tile),
                workgroups: Some(1),
                size: Size::Core,
                types: Types::Each,
                ..RowCase::new([count, width], "largest")
            };
            let what = format!(", in column {at}");
            cases.extend(pairs(row).map(|of| largest(row, of, at, &what)));
        }
    }
    cases
}

/// The largest element is that of the last workgroup.
fn with_largest_in_last_workgroup() -> impl Iterator<Item = Case> {
    WORKGROUPS.into_iter().enumerate().flat_map(|(i, count)| {
        let row = RowCase {
            tile: Some("n128"),
            size: Size::Core,
            types: Types::Only(TYPES[i % 3]),
            ..RowCase::new([16 * count + 1, 1], "largest in the last workgroup")
        };
        pairs(row).map(move |of| largest(row, of, 0, ""))
    })
}

/// Rows that share a wave and are as far apart as may be, in one turn or two.
fn far_in_waves() -> Vec<Case> {
    let mut cases = Vec::new();
    for [count, width] in [[4, 40], [4, 43], [20, 40], [20, 43]] {
        let row = RowCase {
            tile: Some("n128"),
            workgroups: Some(1),
            place: Placement::DENSE.gap(far_in_wave(width)),
            size: Size::Core,
            types: Types::Only(&[DType::F32]),
            ..RowCase::new([count, width], "rows far apart")
        };
        cases.extend(pairs(row).map(|of| largest(row, of, width - 1, "")));
        cases.extend(pairs(row).map(|of| {
            case("static_per_tensor_quant", row, of, "", move |s| {
                real!(of.0, T => {
                    let x = with_largest_at::<T>(s, row.shape, width - 1);
                    code!(of.1, C => set_up_of::<T, C>(s, row, x, SCALE));
                });
            })
        }));
    }
    cases
}

/// Rows that end after each element of a chunk, and so after each byte of a dword of codes: in the
/// first chunks of a row and in others, in two turns, and behind whole pieces.
fn of_each_end() -> Vec<Case> {
    let mut cases = Vec::new();
    let of_end = |end: usize| {
        [("n128", 21, 32), ("any", 6, 40), ("any", 6, 304), ("any", 3, 648)]
            .map(|(tile, count, columns)| (tile, [count, columns + end]))
    };
    for (i, (tile, shape)) in (1..=8).flat_map(of_end).enumerate() {
        let row = RowCase {
            tile: Some(tile),
            workgroups: Some(1),
            size: Size::Core,
            types: two_types(i / 2),
            ..RowCase::new(shape, "ends of chunks")
        };
        // Both types of codes, each of one type of rows.
        let own = (i + i / 4) % 2 == 0;
        let of_turn = pairs_or_all(row, true)
            .filter(|(x, _, arch)| (arch.is_some() == own) == (*x == DType::F32));
        cases.extend(of_turn.map(|of| {
            case("static_per_tensor_quant", row, of, "", move |s| {
                real!(of.0, T => {
                    let x = with_largest_at::<T>(s, row.shape, shape[1] - 1);
                    code!(of.1, C => set_up_of::<T, C>(s, row, x, SCALE));
                });
            })
        }));
    }
    cases
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let (mut cases, statics, dynamics) =
        (Vec::new(), "static_per_tensor_quant", "dynamic_per_tensor_quant");
    let ends = RowCase::end_rows(&PIECES).into_iter().chain(RowCase::rows_behind_32(&PIECES));
    let ends = ends.map(|row| (row, Content::Drawn(Draw::Outliers)));
    for (row, content) in all_pieces(Draw::Outliers).into_iter().chain(ends) {
        cases.extend(pairs(row).map(|of| {
            case(statics, row, of, "", move |s| {
                real!(of.0, T => code!(of.1, C => set_up::<T, C>(s, row, content, SCALE)));
            })
        }));
        if content == Content::Special {
            cases.extend(OTHER_SCALES.into_iter().flat_map(|scale| {
                pairs(row).map(move |of| {
                    case(statics, row, of, &format!(", scale {scale:?}"), move |s| {
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
    cases.extend(at_ties());
    cases.extend(with_largest_last());
    cases.extend(with_largest_anywhere());
    cases.extend(with_largest_in_last_workgroup());
    cases.extend(far_in_waves());
    cases.extend(of_each_end());
    cases
}
