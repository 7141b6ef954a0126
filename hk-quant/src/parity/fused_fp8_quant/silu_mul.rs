//! Cases of `fused_silu_mul_fp8_per_tensor_static_quant`.

use hk_core::dtype::{DType, F8E4M3, F8E4M3Fnuz, Real, decode};
use hk_core::op::quant::Fp8;
use hk_ref::quant::fused_fp8_quant::{products, silu_mul};
use hk_ref::{Case, Draw, Expected, Placement, RowCase, Setup, Size, Types, real};

use super::{NEAR, SCALE};
use crate::parity::quant::{CODES, PIECES, TYPES, suite_of_pieces};
use crate::{StaticOptions, fused_silu_mul_fp8_per_tensor_static_quant_into};

/// Shapes of models: Llama 3 70B and Qwen3-Next.
const MODELS: [[usize; 2]; 2] = [[512, 28_672], [8192, 512]];

/// Small rows.
const SHAPES: [[usize; 2]; 8] =
    [[1, 1], [3, 7], [33, 257], [0, 64], [8, 1024], [2, 1023], [2, 1026], [1, 16_900]];

/// What is quantised.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Normal,
    /// Numbers whose codes are known bit by bit: see [`ties`].
    Ties,
    /// See [`special`].
    Special,
    /// A gate so far below zero that the last digits of an exponential count, and a scale by which its
    /// code is just above a tie of two, or below.
    Steep(bool),
    /// Normal, with an infinite scale.
    InfiniteScale,
}

/// What of x is across 4 GiB, if something is to be.
#[derive(Clone, Copy)]
enum Across {
    Rows,
    Gates,
    Linear,
}

/// What varies between cases, apart from types.
#[derive(Clone, Copy)]
struct Spec {
    row: RowCase,
    rounds: bool,
    content: Content,
    across: Across,
}

impl Spec {
    const fn new(row: RowCase, rounds: bool) -> Self {
        Self { row, rounds, content: Content::Normal, across: Across::Rows }
    }

    /// The scale that is given.
    fn scale(&self) -> f32 {
        match (self.content, self.rounds) {
            (Content::Normal | Content::Special, _) => SCALE,
            (Content::Ties, false) => 0.25,
            (Content::Ties, true) => 259.0 / 17.0,
            (Content::Steep(above), _) => {
                // The exponential is 2.5e-7 off at most, and its corrections come to more than 1e-6.
                let size = if above { 17.0 * (1.0 + 6e-7) } else { 17.0 * (1.0 - 6e-7) };
                (silu_mul(&[STEEP, -1.0], 1)[0] / size) as f32
            }
            (Content::InfiniteScale, _) => f32::INFINITY,
        }
    }

    /// The element of x that is across 4 GiB with that of the codes.
    const fn carried(&self, element: usize) -> usize {
        let width = self.row.shape[1];
        let (row, column) = (element / width * 2 * width, element % width);
        match self.across {
            Across::Rows => row,
            Across::Gates => row + column,
            Across::Linear => row + width + column,
        }
    }

    /// Of each type of rows and of codes.
    fn cases(self) -> impl Iterator<Item = Case> {
        let types = self.row.inputs().iter();
        let types = types.flat_map(|x| CODES[1..].iter().map(move |codes| (*x, *codes)));
        types.map(move |(x, (codes, arch))| {
            let op = "fused_silu_mul_fp8_per_tensor_static_quant";
            let mut case = self.row.case("fused_fp8_quant", op, &[x, codes], move |s| {
                real!(x, T => match codes {
                    DType::F8E4M3Fnuz => set_up::<T, F8E4M3Fnuz>(s, self),
                    _ => set_up::<T, F8E4M3>(s, self),
                });
            });
            case.info.arch = arch;
            case.info.case += if self.rounds { ", rounded" } else { "" };
            case
        })
    }
}

/// The gate of [`Content::Steep`]: of less, the reciprocal of the exponential would be subnormal.
const STEEP: f64 = -87.0;

/// The number with four significant bits that is nearest.
fn of_four_bits(x: f64) -> f64 {
    let step = (x.log2().floor() - 3.0).exp2();
    (x / step).round_ties_even() * step
}

/// Gates so large that they are let through whole, and what they let through, in turn: such whose code
/// is another with a bit less of either factor, and such whose product is just between two codes. Of
/// those that are rounded, each product is between two numbers of the type with different codes.
fn ties(dtype: DType, rounds: bool) -> Vec<[f64; 2]> {
    if rounds {
        return vec![[37.0, 7.0], [127.0, 3.0], [137.0, 3.0]];
    }
    let bits: i32 = if dtype == DType::Bf16 { 8 } else { 11 };
    let least = 1 << (bits - 1);
    let odd = |more: i32| f64::from(least + 2 * more + 1);
    let unit = f64::from(5 - 2 * bits).exp2();
    let pairs = (0..64).flat_map(|i| (0..least / 2).map(move |j| [odd(i), odd(j)]));
    let counts = |[gate, linear]: &[f64; 2]| {
        let code = of_four_bits(gate * linear);
        code != of_four_bits((gate - 1.0) * linear) && code != of_four_bits(gate * (linear - 1.0))
    };
    let between = |i: usize| [32.0, [17.0, 21.0, 25.0, 29.0][i % 4] / 128.0];
    let near = pairs.filter(counts).map(|[gate, linear]| [gate, linear * unit]);
    near.enumerate().flat_map(|(i, near)| [near, between(i)]).collect()
}

/// In rows in turn, every other gate is infinite, or what it lets through is, beside numbers of which
/// bf16 has the lowest bit; or gates are such whose exponential is infinite, zero or NaN.
fn special(row: usize, column: usize) -> [f64; 2] {
    const GATES: [f64; 8] =
        [f64::NEG_INFINITY, -100.0, -90.0, -60_000.0, f64::NAN, f64::INFINITY, 100.0, -95.5];
    let odd = 131.0 / 128.0;
    match (row % 3, column % 2) {
        (0, 1) => [f64::INFINITY, odd],
        (1, 1) => [odd, f64::INFINITY],
        (2, _) => [GATES[column % 8], odd],
        _ => [odd, odd],
    }
}

/// The gate of each element and what it lets through, unless they are drawn.
fn pairs(spec: Spec, dtype: DType) -> Option<Vec<[f64; 2]>> {
    let [rows, width] = spec.row.shape;
    let ties = if spec.content == Content::Ties { ties(dtype, spec.rounds) } else { Vec::new() };
    let pair = |row: usize, column: usize| match spec.content {
        Content::Normal | Content::InfiniteScale => None,
        Content::Ties => {
            // So that the last column has each of two kinds.
            let [gate, linear] = ties[(column + row) % ties.len()];
            Some([gate, if (column / 8).is_multiple_of(2) { linear } else { -linear }])
        }
        Content::Special => Some(special(row, column)),
        Content::Steep(_) => Some([STEEP, 1.0]),
    };
    (0..rows * width).map(|i| pair(i / width, i % width)).collect()
}

fn set_up<T: Real, C: Fp8>(s: &mut Setup, spec: Spec) {
    let Spec { row, rounds, content, .. } = spec;
    let [rows, width] = row.shape;
    let gates = s.carried(|element| spec.carried(element));
    let mut x = s.draw::<T>("x", &[rows, 2 * width], Draw::Normal);
    for (i, pair) in pairs(spec, T::DTYPE).into_iter().flatten().enumerate() {
        let gate = i / width * 2 * width + i % width;
        x[gate] = T::from_f64(pair[0]);
        x[gate + width] = T::from_f64(pair[1]);
    }
    let x = s.given("x", &[rows, 2 * width], x).place(gates);
    let mut y = silu_mul(&x.numbers(), width);
    if content == Content::Ties {
        // That gates are whole is so in f32 only.
        y.iter_mut().for_each(|y| *y = f64::from(*y as f32));
    }
    let y = if rounds { decode(&T::encode(&y)) } else { y };
    let (inverse, most) = (1.0 / spec.scale(), f64::from(C::MOST));
    let in_f64 = products(&y, f64::from(inverse), most);
    let codes = match content {
        Content::Ties => {
            let product = |y: &f64| f64::from(*y as f32 * inverse).clamp(-most, most);
            Expected::bits(&C::encode(&y.iter().map(product).collect::<Vec<_>>()))
        }
        Content::Steep(_) => Expected::bits(&C::encode(&in_f64)),
        _ => Expected::codes(in_f64, NEAR),
    };
    let one = s.carried(|_| 0);
    let scale = s.given("scale", &[1], vec![spec.scale()]).place(one);
    let codes = s.output::<C>("codes", &row.shape, codes);
    s.call(move || {
        let options = StaticOptions::default().rows(row.options());
        let options = if rounds { options.convert_to_input_type() } else { options };
        let (x, scale) = (x.get(), scale.get());
        fused_silu_mul_fp8_per_tensor_static_quant_into(&x, &scale, &options, &mut *codes.get())
    });
}

/// A few rows of each tile, of each type.
fn of_tiles(
    widths: impl IntoIterator<Item = usize> + Clone,
    name: &'static str,
) -> impl Iterator<Item = RowCase> {
    PIECES.into_iter().flat_map(move |(tile, _)| {
        let row = move |width| RowCase {
            tile: Some(tile),
            types: Types::Each,
            ..RowCase::new([5, width], name)
        };
        widths.clone().into_iter().map(row)
    })
}

/// As [`of_tiles`], of one workgroup that takes several turns.
fn of_turns(
    widths: impl IntoIterator<Item = usize> + Clone,
    name: &'static str,
) -> impl Iterator<Item = RowCase> {
    of_tiles(widths, name).map(|row| {
        let rows = if row.tile == Some("any") { 9 } else { 35 };
        RowCase { workgroups: Some(1), shape: [rows, row.shape[1]], ..row }
    })
}

/// Pieces of both halves of rows across 4 GiB, which are loaded in the first turn or in a later one; and
/// the first row, where rows share waves.
fn across() -> Vec<Spec> {
    let mut specs = Vec::new();
    let halves = [("gates across 4 GiB", Across::Gates), ("linear across 4 GiB", Across::Linear)];
    for (name, across) in halves {
        for workgroups in [None, Some(1)] {
            for width in [3301, 3304] {
                let row = RowCase {
                    tile: Some("any"),
                    workgroups,
                    place: Placement::DENSE.carry(width + 1300),
                    size: Size::Core,
                    types: Types::Only(&[DType::Bf16, DType::F32]),
                    ..RowCase::new([2, width], name)
                };
                specs.push(Spec { across, ..Spec::new(row, false) });
            }
        }
        for width in [43, 48] {
            let row = RowCase {
                tile: Some("n128"),
                place: Placement::DENSE.carry(20),
                size: Size::Core,
                types: Types::Only(&[DType::Bf16, DType::F32]),
                ..RowCase::new([3, width], name)
            };
            specs.push(Spec { across, ..Spec::new(row, false) });
        }
    }
    specs
}

/// Every case.
pub(super) fn cases() -> Vec<Case> {
    let small = SHAPES.into_iter().enumerate().map(|(i, shape)| RowCase {
        types: Types::Only(TYPES[i % 3]),
        ..RowCase::new(shape, "small")
    });
    let rows = suite_of_pieces().chain(small).chain(RowCase::models(&MODELS));
    let mut specs = Vec::new();
    for (i, row) in rows.enumerate() {
        let both = row.name == "turns";
        for rounds in [false, true].into_iter().filter(|rounds| both || *rounds == (i % 2 == 1)) {
            specs.push(Spec::new(row, rounds));
        }
    }
    // Ends of codes in every way, and of several turns such as take whole rows.
    specs.extend(of_tiles(17..25, "ends").map(|row| Spec::new(row, false)));
    specs.extend(of_turns(17..25, "ends in turn").map(|row| Spec::new(row, false)));
    for width in [1000, 1001] {
        let row = RowCase {
            tile: Some("any"),
            workgroups: Some(1),
            types: Types::Each,
            ..RowCase::new([5, width], "whole rows")
        };
        specs.push(Spec::new(row, false));
    }
    specs.extend(across());
    // In each place of a chunk the last element, and both halves of a dword.
    for row in of_turns([104, 105, 107, 109, 111], "ties") {
        let of = |rounds| Spec { content: Content::Ties, ..Spec::new(row, rounds) };
        specs.extend([false, true].map(of));
    }
    for row in of_turns([24, 27], "special") {
        let of = |rounds| Spec { content: Content::Special, ..Spec::new(row, rounds) };
        specs.extend([false, true].map(of));
    }
    for row in of_tiles([24, 27], "steep") {
        let of = |(name, above)| {
            let row = RowCase { name, ..row };
            Spec { content: Content::Steep(above), ..Spec::new(row, false) }
        };
        specs.extend([("steep, above", true), ("steep, below", false)].map(of));
    }
    for row in of_tiles([24], "infinite scale") {
        specs.push(Spec { content: Content::InfiniteScale, ..Spec::new(row, false) });
    }
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    let once = |row| RowCase { name: "end of memory, each byte once", ..row };
    let ends = RowCase::end_rows(&PIECES).into_iter().map(once);
    let ends = ends.flat_map(|row| Spec::new(row, false).cases());
    cases.extend(ends.map(Case::writes_once));
    let behind = RowCase::rows_behind_32(&PIECES).into_iter();
    cases.extend(behind.flat_map(|row| Spec::new(row, false).cases()));
    cases
}
