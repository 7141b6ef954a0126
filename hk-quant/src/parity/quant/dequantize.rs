//! Cases of what goes back from codes to numbers.

use std::collections::BTreeSet;

use hk_core::dtype::{DType, E8M0, F4x2E2M1, F8E4M3, F8E5M2, Real, decode};
use hk_core::op::quant::{ByteCode, GroupOptions, MX_BLOCK, MxCode, ScaleLayout};
use hk_core::{Result, TensorSlice};
use hk_ref::quant::quant::dequantize as reference;
use hk_ref::{Arg, Case, Draw, Edge, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::{PIECES, Scales, TYPES, case, code, pairs, suite_of_pieces};
use crate::{
    DequantizeMxOptions, dequantize_mxfp4_into, dequantize_mxfp8_into, dequantize_per_block_into,
    dequantize_per_group_into, dequantize_per_tensor_into, dequantize_per_token_into,
};

/// Orders of scales that cases have in turn.
const LAYOUTS: [ScaleLayout; 3] =
    [ScaleLayout::RowMajor, ScaleLayout::ColMajor, ScaleLayout::Shuffled32x8];

/// The name of cases whose products are rounded to even.
const TIES: &str = "ties";

/// The name of cases whose rows of codes are more than 4 GiB apart: those of results, which take
/// more bytes, are not.
const FAR_CODES: &str = "codes far apart";

/// The name of cases whose rows of results are as far apart as rows that share a wave may be.
const FAR_RESULTS: &str = "results far apart";

/// The name of cases of every remainder of the width by a chunk, whose results are numbers of all
/// types, and other ones where another group's scale is taken.
const REMAINDERS: &str = "remainders";

/// The name of cases with infinity and NaN, and the limits of scales.
const SPECIAL: &str = "special";

/// A 16-bit type and f32, in turn: the ends of their rows are stored in different ways.
const BOTH_SIZES: [&[DType]; 2] = [&[DType::Bf16, DType::F32], &[DType::F16, DType::F32]];

/// What has a scale.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Token,
    Tensor,
    Group(usize, ScaleLayout),
    Block,
}

impl Of {
    const fn op(self) -> &'static str {
        match self {
            Self::Token => "dequantize_per_token",
            Self::Tensor => "dequantize_per_tensor",
            Self::Group(..) => "dequantize_per_group",
            Self::Block => "dequantize_per_block",
        }
    }

    /// The shape of scales, and which of them an element has.
    fn scales(self, [rows, width]: [usize; 2]) -> (Vec<usize>, Box<dyn Fn(usize) -> usize>) {
        match self {
            Self::Token => (vec![rows], Box::new(move |i| i / width)),
            Self::Tensor => (vec![1], Box::new(|_| 0)),
            Self::Group(group, layout) => {
                let scales = Scales { shape: [rows, width], group, layout };
                let place = move |i| scales.place(scales.of_element(i));
                (scales.in_memory().to_vec(), Box::new(place))
            }
            Self::Block => {
                let columns = width.div_ceil(128);
                let place = move |i| i / width / 128 * columns + i % width / 128;
                (vec![rows.div_ceil(128), columns], Box::new(place))
            }
        }
    }
}

/// What codes and scales stand for.
fn expected<T: Real>(codes: &[f64], scales: &[f64], of: impl Fn(usize) -> usize) -> Expected {
    let scales: Vec<_> = (0..codes.len()).map(|i| scales[of(i)]).collect();
    Expected::exact(decode(&T::encode(&reference(codes, &scales))))
}

/// The tensor of results.
fn results<T: Real>(s: &mut Setup, row: RowCase, expected: Expected) -> Arg<T> {
    let y = s.output::<T>("y", &row.shape, expected);
    let far = Placement::DENSE.gap((1 << 27) - row.shape[1]);
    if row.name == FAR_RESULTS { y.place(far) } else { y }
}

fn set_up<C: ByteCode, T: Real>(s: &mut Setup, row: RowCase, of: Of) {
    let codes = s.input::<C>("codes", &row.shape, Draw::Codes);
    let (shape, place_of) = of.scales(row.shape);
    let place = s.carried(&place_of);
    let name = if of == Of::Tensor { "scale" } else { "scales" };
    // Of few bits, so that products are often in the middle between two numbers.
    let drawn = if row.name == TIES { Draw::Integers(1, 64) } else { Draw::Spread };
    let mut scales = s.draw::<f32>(name, &shape, drawn);
    if row.name == SPECIAL {
        let [nan, infinity] = [f32::NAN, f32::INFINITY];
        let [least, odd] = [f32::from_bits(1), -f32::from_bits(0x0040_0001)];
        let special =
            [nan, infinity, -infinity, f32::MAX, f32::MIN_POSITIVE, -0.0, least, odd, -f32::MAX];
        scales.iter_mut().zip(special).for_each(|(scale, special)| *scale = special);
    }
    let scales = s.given(name, &shape, scales);
    let scales = if row.place.carry.is_some() { scales.place(place) } else { scales };
    let y = expected::<T>(&codes.numbers(), &scales.numbers(), place_of);
    let y = results::<T>(s, row, y);
    s.call(move || {
        let (codes, scales, mut y, options) = (codes.get(), scales.get(), y.get(), row.options());
        match of {
            Of::Token => dequantize_per_token_into(&codes, &scales, &options, &mut y),
            Of::Tensor => dequantize_per_tensor_into(&codes, &scales, &options, &mut y),
            Of::Group(group, layout) => {
                let options = GroupOptions::default().group(group).rows(options);
                let options = options.scale_layout(layout);
                dequantize_per_group_into(&codes, &scales, &options, &mut y)
            }
            Of::Block => dequantize_per_block_into(&codes, &scales, &options, &mut y),
        }
    });
}

/// Scales of MX blocks: in [`REMAINDERS`], of which neighbours differ, in [`TIES`] such that results
/// are subnormal, else of all powers of two and NaN.
fn mx_scales(s: &Setup, of: Scales, name: &str) -> Vec<E8M0> {
    let draw = |from, to| s.draw::<E8M0>("scales", &of.in_memory(), Draw::Powers(from, to));
    if name == TIES {
        return draw(-127, -120);
    }
    let mut scales = draw(-127, 128);
    if name == REMAINDERS {
        for at in 0..of.shape[0] * of.shape[1].div_ceil(of.group) {
            scales[of.place(at)] = E8M0::from_bits(121 + (5 * at % 13) as u8);
        }
        return scales;
    }
    for (at, byte) in [255, 0, 254, 1].into_iter().enumerate().take(scales.len() / 2) {
        scales[of.place(at)] = E8M0::from_bits(byte);
    }
    scales
}

type MxOp<C, T> = fn(
    &TensorSlice<C>,
    &TensorSlice<E8M0>,
    &DequantizeMxOptions<'_>,
    &mut TensorSlice<T>,
) -> Result<()>;

fn set_up_mx<C: MxCode, T: Real>(s: &mut Setup, row: RowCase, layout: ScaleLayout, op: MxOp<C, T>) {
    let of = Scales { shape: row.shape, group: MX_BLOCK, layout };
    let mut codes = s.draw::<C>("codes", &row.shape, Draw::Codes);
    if row.name == SPECIAL && C::PACK == 1 {
        // At each place of a chunk in turn.
        let special = C::encode(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN]);
        codes.chunks_exact_mut(9).for_each(|codes| codes[4..8].copy_from_slice(&special));
    }
    let codes = s.given("codes", &row.shape, codes);
    let far = Placement::DENSE.gap((3 << 31) * C::PACK);
    let codes = if row.name == FAR_CODES { codes.place(far) } else { codes };
    let (scales, place) = (mx_scales(s, of, row.name), of.carried(s));
    let scales = s.given("scales", &of.in_memory(), scales);
    let scales = if row.place.carry.is_some() { scales.place(place) } else { scales };
    let place_of = |i| of.place(of.of_element(i));
    let y = expected::<T>(&codes.numbers(), &scales.numbers(), place_of);
    let y = results::<T>(s, row, y);
    s.call(move || {
        let options = DequantizeMxOptions::default().scale_layout(layout).rows(row.options());
        op(&codes.get(), &scales.get(), &options, &mut y.get())
    });
}

/// Each tile with so many rows of such widths: of whole chunks, of whole dwords of 16-bit results,
/// and of neither.
fn of_tiles(rows: [usize; 2], widths: [usize; 3]) -> impl Iterator<Item = RowCase> {
    let shapes = move |width| rows.map(|rows| [rows, width]);
    PIECES.into_iter().flat_map(move |(tile, _)| {
        let all = widths.into_iter().flat_map(shapes);
        all.map(move |shape| RowCase { tile: Some(tile), ..RowCase::new(shape, "") })
    })
}

/// Rows that end with the memory, as their scales do: a row of one block, behind whose scale there
/// is nothing, and so many that a later turn loads the last, which is in the second half of a tile
/// of scales.
fn ends_of_memory() -> impl Iterator<Item = RowCase> {
    let place = Placement::DENSE.gap(3).edge(Edge::End);
    of_tiles([1, 17], [24, 26, 27]).enumerate().map(move |(i, row)| {
        let types = Types::Only(TYPES[i % 3]);
        RowCase { name: "end of memory", workgroups: Some(1), place, types, ..row }
    })
}

/// As [`ends_of_memory`], of whole blocks: behind the last scale there is nothing, nor is it that of
/// what would begin behind the row.
fn whole_blocks_at_end() -> impl Iterator<Item = RowCase> {
    let place = Placement::DENSE.gap(3).edge(Edge::End);
    let all = [("n128", [1, 64]), ("n128", [17, 64]), ("any", [1, 64]), ("any", [3, 576])];
    all.into_iter().enumerate().map(move |(i, (tile, shape))| RowCase {
        tile: Some(tile),
        workgroups: Some(1),
        place,
        types: Types::Only(TYPES[i % 3]),
        ..RowCase::new(shape, "end of memory")
    })
}

/// Rows for [`REMAINDERS`], in several turns. The last piece of a row is more than half of one.
fn remainders() -> impl Iterator<Item = RowCase> {
    (0..8).flat_map(|more| {
        let types = Types::Only(BOTH_SIZES[more / 2 % 2]);
        [("n128", [37, 113 + more]), ("any", [3, 773 + more])].map(|(tile, shape)| RowCase {
            tile: Some(tile),
            workgroups: Some(1),
            types,
            ..RowCase::new(shape, REMAINDERS)
        })
    })
}

/// Rows for [`REMAINDERS`] that end just behind 32 codes, or 32 bytes of codes of four bits, as
/// [`RowCase::rows_behind_32`] do; and of which an odd lane has the last code, so that it shows if the
/// lane before loads it too.
fn behind_32() -> impl Iterator<Item = RowCase> {
    let short = [33, 34, 35, 66, 70].map(|width| ("any", [9, width]));
    let long = [769, 770, 771, 578].map(|width| ("any", [5, width]));
    let shared = [66, 70, 97, 98, 99, 105, 106, 107].map(|width| ("n128", [37, width]));
    let all = short.into_iter().chain(long).chain(shared);
    all.enumerate().map(|(i, (tile, shape))| RowCase {
        tile: Some(tile),
        workgroups: Some(1),
        size: Size::Core,
        types: Types::Only(BOTH_SIZES[i % 2]),
        ..RowCase::new(shape, REMAINDERS)
    })
}

/// Rows for [`REMAINDERS`] of which the first turn and later ones have some in each half of a tile of
/// shuffled scales, and rows whose last piece is one element.
fn many_rows() -> impl Iterator<Item = RowCase> {
    let long = ("any", 1, [3, 513]);
    let all = [("n128", 2, [53, 120]), ("any", 10, [83, 41]), ("any", 10, [83, 44]), long];
    all.into_iter().enumerate().map(|(i, (tile, workgroups, shape))| RowCase {
        tile: Some(tile),
        workgroups: Some(workgroups),
        types: Types::Only(TYPES[i % 3]),
        ..RowCase::new(shape, REMAINDERS)
    })
}

/// Rows for [`SPECIAL`], and for [`TIES`] of MX formats. Other types than bf16 are rounded by the
/// hardware.
fn few_rows(name: &'static str) -> impl Iterator<Item = RowCase> {
    let count = if name == TIES { 1 } else { TYPES.len() };
    TYPES.into_iter().take(count).flat_map(move |types| {
        let rows = of_tiles([3, 5], [120, 122, 123]).step_by(2);
        rows.map(move |row| RowCase { name, types: Types::Only(types), ..row })
    })
}

/// Rows for [`FAR_RESULTS`], whose last one is at more than a GiB.
fn far_results() -> impl Iterator<Item = RowCase> {
    [24, 26, 27].into_iter().map(|width| RowCase {
        tile: Some("n128"),
        types: Types::Only(TYPES[2]),
        size: Size::Core,
        ..RowCase::new([4, width], FAR_RESULTS)
    })
}

/// Rows for [`TIES`], of as many elements that there are codes of both kinds. Other types than bf16
/// are rounded by the hardware.
fn ties() -> impl Iterator<Item = RowCase> {
    let types = Types::Only(TYPES[0]);
    of_tiles([16, 17], [120, 122, 123]).map(move |row| RowCase { name: TIES, types, ..row })
}

/// Rows for [`FAR_CODES`]: the second in the first turn, and in a later one.
fn far_codes() -> impl Iterator<Item = RowCase> {
    let (types, size) = (Types::Only(TYPES[0]), Size::Core);
    let all = [(43, None), (44, None), (2501, Some(1)), (2502, Some(1))];
    all.into_iter().map(move |(width, workgroups)| RowCase {
        tile: Some("any"),
        workgroups,
        types,
        size,
        ..RowCase::new([2, width], FAR_CODES)
    })
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (i, row) in suite_of_pieces().enumerate() {
        // Any op with scales in f32 takes the same ways through the kernel.
        let group = Of::Group([32, 64, 128][i % 3], LAYOUTS[i % 2]);
        let of = [Of::Token, Of::Tensor, group, Of::Block][i / 2 % 4];
        let all = matches!(row.name, "turns" | "ends of rows");
        if all || i % 2 == 0 {
            cases.extend(scaled(row, of));
        }
        if row.name == "turns" {
            cases.extend(LAYOUTS.into_iter().flat_map(|layout| mx(row, layout)));
        } else if all || i % 2 == 1 {
            cases.extend(mx(row, LAYOUTS[i % 3]));
        }
    }
    for shape in [[3, 200], [140, 300], [2, 8]] {
        let row = RowCase::new(shape, "scales");
        for layout in LAYOUTS {
            cases.extend(mx(row, layout));
        }
        let groups = [32, 64, 128].map(|group| Of::Group(group, LAYOUTS[group / 32 % 2]));
        let others = [Of::Token, Of::Tensor, Of::Block];
        cases.extend(groups.into_iter().chain(others).flat_map(|of| scaled(row, of)));
    }
    let group = Of::Group(32, ScaleLayout::RowMajor);
    for row in ends_of_memory().chain(whole_blocks_at_end()) {
        cases.extend(scaled(row, group));
        for layout in [ScaleLayout::RowMajor, ScaleLayout::Shuffled32x8] {
            cases.extend(mx(row, layout));
        }
    }
    cases.extend(ties().flat_map(|row| scaled(row, group)));
    cases.extend(far_codes().flat_map(|row| mx(row, ScaleLayout::RowMajor)));
    for (i, row) in remainders().chain(behind_32()).enumerate() {
        cases.extend(scaled(row, group));
        cases.extend(mx(row, LAYOUTS[i / 2 % 3]));
    }
    for row in many_rows() {
        cases.extend(LAYOUTS.into_iter().flat_map(|layout| mx(row, layout)));
        cases.extend([group, Of::Token, Of::Block].into_iter().flat_map(|of| scaled(row, of)));
    }
    for row in few_rows(SPECIAL).chain(far_results()) {
        cases.extend(scaled(row, group));
        cases.extend(mx(row, ScaleLayout::RowMajor));
    }
    cases.extend(few_rows(TIES).flat_map(|row| mx(row, ScaleLayout::RowMajor)));
    // Rows that are the same in whole bytes fall together.
    let mut names = BTreeSet::new();
    cases.retain(|case| names.insert(case.info.title()));
    cases
}

/// With scales in f32.
fn scaled(row: RowCase, of: Of) -> impl Iterator<Item = Case> {
    let what = match of {
        Of::Group(group, layout) => format!(", groups of {group}, {layout:?}"),
        _ => String::new(),
    };
    pairs(row).map(move |(y, codes, arch)| {
        case(of.op(), row, (codes, y, arch), &what, move |s| {
            real!(y, T => code!(codes, C => set_up::<C, T>(s, row, of)));
        })
    })
}

/// Of each MX format.
fn mx(row: RowCase, layout: ScaleLayout) -> impl Iterator<Item = Case> {
    let even = RowCase { shape: [row.shape[0], row.shape[1].next_multiple_of(2)], ..row };
    let what = format!(", {layout:?}");
    row.inputs().iter().flat_map(move |y| {
        let y = *y;
        let fp4 = (DType::F4x2E2M1, y, None);
        let fp4 = case("dequantize_mxfp4", even, fp4, &what, move |s| {
            real!(y, T => {
                set_up_mx::<F4x2E2M1, T>(s, even, layout, dequantize_mxfp4_into::<T>)
            });
        });
        let e4m3 = (DType::F8E4M3, y, None);
        let e4m3 = case("dequantize_mxfp8", row, e4m3, &what, move |s| {
            real!(y, T => set_up_mx::<F8E4M3, T>(s, row, layout, dequantize_mxfp8_into));
        });
        let e5m2 = (DType::F8E5M2, y, None);
        let e5m2 = case("dequantize_mxfp8", row, e5m2, &what, move |s| {
            real!(y, T => set_up_mx::<F8E5M2, T>(s, row, layout, dequantize_mxfp8_into));
        });
        [fp4, e4m3, e5m2]
    })
}
