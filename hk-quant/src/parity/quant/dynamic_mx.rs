//! Cases of `dynamic_mxfp4_quant` and `dynamic_mxfp8_quant`.

use std::collections::BTreeSet;

use hk_core::dtype::{DType, E8M0, Element, F4x2E2M1, F8E4M3, F8E5M2, Real, decode};
use hk_core::op::quant::{MX_BLOCK, MxCode, MxOptions, MxRound, QuantisedOut, ScaleLayout};
use hk_ref::quant::quant::dynamic_mx_quant as reference;
use hk_ref::quant::quant_moe::mxfp4_away;
use hk_ref::{Arg, Case, Draw, Edge, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::{Content, Scales, TYPES, all_pieces, case, rows, special_pieces};
use crate::quant_moe::{DowncastOptions, Fp4Ties, downcast_to_mxfp_into};
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
    /// To each type of codes.
    fn cases(self) -> impl Iterator<Item = Case> {
        self.row.inputs().iter().flat_map(move |x| [self.fp4(*x), self.fp8(*x)])
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

/// Types of codes, each with how ties of 4-bit ones are rounded, and in how many binades below the
/// largest number there are codes.
const CODES: [(DType, Fp4Ties, i64); 4] = [
    (DType::F4x2E2M1, Fp4Ties::Away, 5),
    (DType::F8E4M3, Fp4Ties::Away, 19),
    (DType::F8E5M2, Fp4Ties::Away, 33),
    (DType::F4x2E2M1, Fp4Ties::ToEven, 5),
];

/// Tiles, and widths of rows that are not ragged, and of those that are. They end in low and in high
/// lanes, with each remainder of a dword of codes.
const WAYS: [(&str, &[usize]); 4] = [
    ("n128", &[128, 72, 120, 88, 104]),
    ("n128", &[127, 126, 125, 124, 121, 98, 66, 34, 9]),
    ("any", &[1024, 770, 510, 514, 1150]),
    ("any", &[257, 385, 511, 897, 1155, 1281, 1]),
];

/// Rows of numbers at the edges of codes and of scales, to one of the types of codes.
#[derive(Clone, Copy)]
struct Way {
    row: RowCase,
    codes: (DType, Fp4Ties, i64),
    mode: MxRound,
    /// Codes and scales are where the case says, and x is dense.
    dense_x: bool,
}

impl Way {
    /// Of a type of elements, with the modes in turn.
    fn new(shape: [usize; 2], name: &'static str, types: &'static [DType], i: usize) -> Self {
        let (size, types) = (Size::Core, Types::Only(types));
        let row = RowCase { size, types, ..RowCase::new(shape, name) };
        Self { row, codes: CODES[0], mode: MxRound::ALL[i % 5], dense_x: false }
    }

    fn case(self) -> Case {
        let Self { row, codes: (codes, ties, _), .. } = self;
        let x = row.inputs()[0];
        // Rows of 4-bit codes are whole bytes, and e5m2 has no mode Even.
        let unit = if codes == DType::F4x2E2M1 { 2 } else { 1 };
        let shape = [row.shape[0], row.shape[1].next_multiple_of(unit)];
        let has_mode = codes != DType::F8E5M2 || self.mode != MxRound::Even;
        let mode = if has_mode { self.mode } else { MxRound::RoundUp };
        let of = Self { row: RowCase { shape, ..row }, mode, ..self };
        let types = [x, codes];
        let mut case = of.row.case("quant_moe", "downcast_to_mxfp", &types, move |s| {
            real!(x, T => match codes {
                DType::F4x2E2M1 => of.set_up::<T, F4x2E2M1>(s),
                DType::F8E4M3 => of.set_up::<T, F8E4M3>(s),
                _ => of.set_up::<T, F8E5M2>(s),
            });
        });
        case.info.case += &format!(", {mode:?}, {ties:?}");
        case.writes_once()
    }

    fn set_up<T: Real, C: MxCode>(self, s: &mut Setup) {
        let Self { row, codes: (_, ties, binades), mode, dense_x } = self;
        let x = edges::<T>(s, row.shape, binades);
        let (numbers, width) = (decode(&x), row.shape[1]);
        let (codes, scales) = match (C::DTYPE, ties) {
            (DType::F4x2E2M1, Fp4Ties::Away) => mxfp4_away(&numbers, width, mode),
            _ => reference::<C>(&numbers, width, mode, C::MOST),
        };
        let x = s.given("x", &row.shape, x);
        let x = if dense_x { x.place(Placement::DENSE) } else { x };
        let codes = s.output::<C>("codes", &row.shape, Expected::exact(codes));
        let of = Scales { shape: row.shape, group: MX_BLOCK, layout: ScaleLayout::RowMajor };
        let place = of.carried(s);
        let scales = s.output::<E8M0>("scales", &of.in_memory(), Expected::exact(decode(&scales)));
        let scales = if row.place.carry.is_some() { scales.place(place) } else { scales };
        let options = DowncastOptions::default().round_mode(mode).ties(ties).rows(row.options());
        s.call(move || {
            let out = QuantisedOut { codes: &mut codes.get(), scales: &mut scales.get() };
            downcast_to_mxfp_into(&x.get(), -1, &options, out)
        });
    }
}

/// Rows of numbers at which codes and scales change. The largest of a block is, in three of four rows, at
/// a quarter of its binade or next to it, from where on modes take another power of two. Others, in so
/// many binades below, are codes, just between two of them, or next to that.
fn edges<T: Real>(s: &Setup, [rows, width]: [usize; 2], binades: i64) -> Vec<T> {
    let drawn = |name, to| s.draw::<f64>(name, &[rows * width], Draw::Integers(0, to));
    let (signs, next, steps) = (drawn("signs", 2), drawn("next", 3), drawn("steps", 32));
    let (digits, [least, most]) = match T::DTYPE {
        DType::Bf16 => (7, [-60, 100]),
        DType::F16 => (10, [8, 15]),
        _ => (23, [-60, 100]),
    };
    let (largest, below) = (drawn("largest", most - least), drawn("below", binades));
    let number = |at: usize| {
        let (row, column) = (at / width, at % width);
        let first = column - column % MX_BLOCK;
        let len = (width - first).min(MX_BLOCK);
        let is_largest = column - first == (5 * row + 3 * (first / MX_BLOCK)) % len;
        let of_block = least as f64 + largest[row * width + first];
        let power = of_block - if is_largest { 0.0 } else { 1.0 + below[at] };
        let is_quarter = is_largest && row % 4 != 3;
        let step = if is_quarter { steps[at] % 4.0 * 8.0 } else { steps[at] };
        // Below a power of two, numbers are half as far apart.
        let is_below = step == 0.0 && next[at] == 0.0;
        let apart = 2f64.powi(if is_below { -digits - 1 } else { -digits });
        let mantissa = 1.0 + step / 32.0 + (next[at] - 1.0) * apart;
        let sign = if signs[at] == 0.0 { 1.0 } else { -1.0 };
        T::from_f64(sign * mantissa * 2f64.powi(power as i32))
    };
    (0..rows * width).map(number).collect()
}

/// Every way through rows to every type of codes, for elements of 16 and of 32 bits.
fn ways() -> Vec<Case> {
    let gaps = Placement::DENSE.gap(5).shift(3);
    let end = Placement::DENSE.gap(3).edge(Edge::End);
    let mut ways = Vec::new();
    for (c, codes) in CODES.into_iter().enumerate() {
        for (w, (tile, widths)) in WAYS.into_iter().enumerate() {
            let mut add = |way: Way, workgroups: Option<u32>, place: Placement| {
                let row = RowCase { tile: Some(tile), workgroups, place, ..way.row };
                ways.push(Way { row, codes, ..way });
            };
            for (i, width) in widths.iter().copied().enumerate() {
                // Of the last turn of a workgroup, not all waves have as much as they could.
                let rows = if tile == "n128" { 19 } else { 7 / width.div_ceil(512).min(2) };
                for (j, types) in [TYPES[(c + w + i) % 2], TYPES[2]].into_iter().enumerate() {
                    let workgroups = [Some(1), Some(1), None][(c + i + j) % 3];
                    let place = [gaps, end][(i + j) % 2];
                    add(Way::new([rows, width], "edges", types, c + i), workgroups, place);
                }
            }
            // Even widths have no element and no byte that is moved by itself.
            let odd = w % 2;
            let (near, far, gap, types) = if tile == "n128" {
                ([40, 72 - 3 * odd], [20, 40 + 3 * odd], (1 << 27) - 128, TYPES[2])
            } else {
                ([3, 1150 + 5 * odd], [2, 1150 + 5 * odd], 3 << 32, TYPES[(c + w) % 3])
            };
            // Within a row of the second turn, or its second piece.
            let across = if tile == "n128" { 24 * near[1] + 1 } else { near[1] + 768 };
            for (i, workgroups) in [None, Some(1)].into_iter().enumerate() {
                for (j, types) in [TYPES[(c + i) % 2], TYPES[2]].into_iter().enumerate() {
                    let way = Way::new(near, "across 4 GiB", types, c + i + j);
                    add(way, workgroups, Placement::DENSE.carry(across));
                }
                // The upper halves of addresses differ from those before in their lowest bits.
                let way = Way::new(near, "behind 4 GiB", TYPES[(c + i) % 3], c + i);
                add(way, workgroups, Placement::DENSE.carry(1));
                let way = Way::new(far, "far apart", types, c + i);
                add(way, workgroups, Placement::DENSE.gap(gap));
            }
            if tile == "n128" {
                // Of 4-bit codes of rows as far apart as they may be, 65 rows take 4 GiB.
                let way = Way::new([72, far[1]], "codes far apart", TYPES[c % 2], c);
                add(Way { dense_x: true, ..way }, Some(1), Placement::DENSE.gap(gap));
            }
        }
    }
    ways.into_iter().map(Way::case).collect()
}

/// Each order of scales that fill the lanes of waves and several tiles of shuffled ones.
fn orders() -> impl Iterator<Item = Spec> {
    let shapes = [("n128", [35, 128]), ("any", [33, 544])];
    let orders = shapes.into_iter().flat_map(|of| LAYOUTS.map(|layout| (of, layout)));
    orders.enumerate().map(|(i, ((tile, shape), layout))| {
        let (types, size) = (Types::Only(TYPES[i % 3]), Size::Core);
        let (tile, workgroups) = (Some(tile), Some(1));
        let row = RowCase { types, size, tile, workgroups, ..RowCase::new(shape, "orders") };
        let (content, mode) = (Content::Drawn(Draw::Spread), MxRound::ALL[i % 5]);
        Spec { row, content, mode, layout }
    })
}

/// Rows in pieces that end just behind 32 bytes of codes of four bits, as
/// [`RowCase::rows_behind_32`] do.
fn behind_32() -> impl Iterator<Item = Spec> {
    [66, 68, 70].into_iter().enumerate().map(|(i, width)| {
        let (tile, workgroups, size) = (Some("any"), Some(1), Size::Core);
        let types = Types::Only(TYPES[i]);
        let name = "just behind 32 bytes";
        let row = RowCase { tile, workgroups, size, types, ..RowCase::new([9, width], name) };
        let (content, mode) = (Content::Drawn(Draw::Spread), MxRound::ALL[i]);
        Spec { row, content, mode, layout: LAYOUTS[i] }
    })
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
    specs.extend(orders().chain(behind_32()));
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    cases.extend(ways());
    // Widths that are the same in whole units fall together.
    let mut names = BTreeSet::new();
    cases.retain(|case| names.insert(case.info.title()));
    cases
}
