//! Cases of the module `quant`: what its ops share, and all cases.

mod dequantize;
mod dynamic_mx;
mod per_block;
mod per_group;
mod per_tensor;
mod per_token;
mod tensors;

use hk_core::Arch;
use hk_core::dtype::{DType, Float};
pub(super) use hk_ref::harness::Scales;
use hk_ref::{Arg, Case, Draw, Expected, RowCase, Setup, Size, Types};

/// Element types of 8-bit codes, with the chip that has them if not all have.
pub(super) const CODES: [(DType, Option<Arch>); 3] = [
    (DType::I8, None),
    (DType::F8E4M3Fnuz, Some(Arch::Gfx942)),
    (DType::F8E4M3, Some(Arch::Gfx950)),
];

/// Types of rows that cases have in turn.
pub(super) const TYPES: [&[DType]; 3] = [&[DType::Bf16], &[DType::F16], &[DType::F32]];

/// Shapes `[rows, width]` of the specification.
const SHAPES: [[usize; 2]; 12] = [
    [1, 1],
    [1, 32],
    [32, 32],
    [2, 16],
    [10, 128],
    [256, 13],
    [193, 75],
    [93, 75],
    [400, 400],
    [48, 96],
    [32, 4096],
    [3, 8192],
];

/// Shapes of models: Llama 3 70B, DeepSeek-V3, GPT-OSS; and others of the specification.
const MODELS: [[usize; 2]; 8] = [
    [16_384, 8192],
    [8192, 7168],
    [8192, 2048],
    [16_384, 2880],
    [1024, 1024],
    [1024, 4096],
    [2048, 1024],
    [4096, 16_384],
];

/// An expression with the type of codes that a `DType` among `CODES` names.
macro_rules! code {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            hk_core::dtype::DType::I8 => {
                type $name = i8;
                $body
            }
            hk_core::dtype::DType::F8E4M3Fnuz => {
                type $name = hk_core::dtype::F8E4M3Fnuz;
                $body
            }
            _ => {
                type $name = hk_core::dtype::F8E4M3;
                $body
            }
        }
    };
}
pub(super) use code;

pub(super) use dynamic_mx::paddings;
pub use tensors::{norm_cases, tensor_cases};

/// What elements an op is given.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Drawn(Draw),
    /// Rows of each special kind in turn.
    Special,
    /// Drawn, but for the first row, which is of that special kind.
    First(usize),
}

/// What every op is to pass that reduces rows: of each tile in several turns with all types,
/// elsewhere with one in turn.
pub(super) fn suite() -> impl Iterator<Item = RowCase> {
    in_turn(RowCase::suite())
}

/// The tile configurations of cores that normalise rows, with a shape for each. Rows in pieces have
/// three.
pub(super) const NORMS: [(&str, [usize; 2]); 5] = [
    ("n128", [67, 43]),
    ("n512", [21, 301]),
    ("n2048", [5, 905]),
    ("n8192", [3, 3593]),
    ("any", [3, 11_273]),
];

/// A few rows for each way of [`NORMS`] through rows: those that share a wave, that have one or
/// several of their own and that are read in pieces, of whole chunks, of whole dwords and neither. Their options
/// can be tried with each type. Those that share a wave can end with the half of a chunk. Several turns
/// where a workgroup has several rows. Just behind 32 columns, as [`RowCase::rows_behind_32`].
pub(super) fn small_norms() -> impl Iterator<Item = RowCase> {
    let ways = NORMS.into_iter().flat_map(|(tile, _)| [40, 34, 35].map(|width| (tile, width)));
    ways.chain([("n128", 36)]).map(|(tile, width)| RowCase {
        tile: Some(tile),
        workgroups: Some(1),
        size: Size::Core,
        types: Types::Each,
        ..RowCase::new([small_count(tile), width], "options")
    })
}

/// So many rows of a tile that one workgroup takes more than one turn; those of the most waves take long.
pub(super) fn small_count(tile: &str) -> usize {
    match tile {
        "n128" => 17,
        "n8192" => 2,
        _ => 5,
    }
}

/// As [`suite`], of ops that normalise them.
pub(super) fn suite_of_norms() -> impl Iterator<Item = RowCase> {
    in_turn(RowCase::suite_of(&NORMS))
}

/// The tile configurations of cores that reduce no rows, with a shape for each.
pub(super) const PIECES: [(&str, [usize; 2]); 2] = [("n128", [83, 43]), ("any", [3, 2501])];

/// As [`suite`], of ops that reduce none.
pub(super) fn suite_of_pieces() -> impl Iterator<Item = RowCase> {
    let rows = PIECES.into_iter().flat_map(|(tile, shape)| RowCase::of_tile(tile, shape));
    let none = RowCase::new([0, 64], "plain");
    in_turn(rows.chain(RowCase::far_rows("any", "any")).chain([none]).collect())
}

/// With types in turn, where not all are needed.
fn in_turn(mut rows: Vec<RowCase>) -> impl Iterator<Item = RowCase> {
    // Codes of rows that share a wave can be whole dwords where rows are not whole chunks.
    rows.push(RowCase { tile: Some("n128"), ..RowCase::new([3, 20], "ends of rows") });
    // Codes are never in the place of rows.
    let rows = rows.into_iter().filter(|row| !row.in_place);
    rows.enumerate().map(|(i, row)| {
        let types = match row.types {
            Types::Only(_) => row.types,
            _ if row.name == "turns" && row.shape[1] % 2 == 1 => Types::Pairs,
            _ if row.name == "turns" => Types::Each,
            _ => Types::Only(TYPES[i % 3]),
        };
        RowCase { types, ..row }
    })
}

/// Rows of every kind that an op takes, with what they hold: those of its suite, those of the
/// specification and of models, and special ones.
fn all_rows(
    suite: impl Iterator<Item = RowCase>,
    special: impl Iterator<Item = RowCase>,
    draw: Draw,
) -> Vec<(RowCase, Content)> {
    let plain = SHAPES.map(|shape| RowCase { types: Types::Each, ..RowCase::new(shape, "plain") });
    let rows = suite.chain(plain).chain(RowCase::models(&MODELS));
    let mut all: Vec<_> = rows.map(|row| (row, Content::Drawn(draw))).collect();
    all.extend(special.map(|row| (row, Content::Special)));
    all
}

/// As [`all_rows`], for ops that reduce no rows.
fn all_pieces(draw: Draw) -> Vec<(RowCase, Content)> {
    all_rows(suite_of_pieces(), special_pieces(0), draw)
}

/// Rows for [`Content::Special`], of each tile.
fn special_rows() -> impl Iterator<Item = RowCase> {
    let rows = RowCase::of_tiles([12, 300], "special");
    rows.map(|row| RowCase { types: Types::Pairs, ..row })
}

/// As [`special_rows`] and so many more, of tiles that reduce none.
fn special_pieces(more: usize) -> impl Iterator<Item = RowCase> {
    PIECES.into_iter().map(move |(tile, [_, width])| {
        let shape = [12 + more, width.min(300)];
        RowCase { tile: Some(tile), ..RowCase::new(shape, "special") }
    })
}

/// The types of rows with each type of codes, or, of rows that are not for pairs of types, with i8
/// or the chip's own in turn.
fn pairs(row: RowCase) -> impl Iterator<Item = (DType, DType, Option<Arch>)> {
    pairs_or_all(row, false)
}

/// As [`pairs`], with each type of codes if all are wanted.
fn pairs_or_all(row: RowCase, all: bool) -> impl Iterator<Item = (DType, DType, Option<Arch>)> {
    let all = all || matches!(row.types, Types::Pairs) || row.name == "ends of rows";
    let own = row.shape.iter().sum::<usize>() % 2 == 1;
    let codes = CODES.into_iter().filter(move |(_, arch)| all || arch.is_some() == own);
    row.inputs().iter().flat_map(move |x| codes.clone().map(|(codes, arch)| (*x, codes, arch)))
}

/// A case of an op with such rows and codes, and what else is to be said of it.
fn case(
    op: &'static str,
    row: RowCase,
    (x, codes, arch): (DType, DType, Option<Arch>),
    what: &str,
    set_up: impl Fn(&mut Setup) + Send + Sync + 'static,
) -> Case {
    let mut case = row.case("quant", op, &[x, codes], set_up);
    case.info.arch = arch;
    case.info.case += what;
    case
}

/// Rows of such elements.
fn rows<T: Float>(s: &mut Setup, shape: [usize; 2], content: Content, most: f32) -> Arg<T> {
    let draw = if let Content::Drawn(draw) = content { draw } else { Draw::Normal };
    let mut x = s.draw::<T>("x", &shape, draw);
    for (i, row) in x.chunks_exact_mut(shape[1].max(1)).enumerate() {
        match content {
            Content::Special => make_special(s, row, i % 6, most),
            Content::First(kind) if i == 0 => make_special(s, row, kind, most),
            _ => {}
        }
    }
    s.given("x", &shape, x)
}

/// Makes a row one of zeros, with one huge element, with NaN, with infinity, of which every
/// quotient is an integer or half of one, or of subnormal numbers.
pub(super) fn make_special<T: Float>(s: &Setup, row: &mut [T], kind: usize, most: f32) {
    let middle = row.len() / 2;
    match kind {
        0 => row.fill(T::from_f64(0.0)),
        1 => row[middle] = T::from_f64(0.75 * T::MAX),
        2 => row[middle] = T::from_f64(f64::NAN),
        3 => row[middle] = T::from_f64(f64::NEG_INFINITY),
        4 => {
            let halves = |j: usize| (j % 255) as f64 / 2.0 - 63.5;
            row.iter_mut().enumerate().for_each(|(j, x)| *x = T::from_f64(halves(j)));
            row[0] = T::from_f64(f64::from(-most));
        }
        _ => row.copy_from_slice(&s.draw::<T>("tiny", &[row.len()], Draw::Denormal)),
    }
}

/// Codes, of which those whose scale is not finite are not specified.
pub(super) fn expected(codes: &[f64], is_finite: impl Fn(usize) -> bool) -> Expected {
    let at: Vec<_> = (0..codes.len()).filter(|i| is_finite(*i)).collect();
    let values = at.iter().map(|i| codes[*i]).collect();
    Expected { at: Some(at), ..Expected::exact(values) }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = per_token::cases();
    cases.extend(dynamic_mx::cases());
    cases.extend(per_tensor::cases());
    cases.extend(per_group::cases());
    cases.extend(per_block::cases());
    cases.extend(dequantize::cases());
    cases
}
