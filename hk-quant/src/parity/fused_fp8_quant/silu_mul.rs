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
    /// Numbers whose codes are known bit by bit: see [`tie`].
    Ties,
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
            (Content::Normal, _) => SCALE,
            (Content::Ties, false) => 0.25,
            (Content::Ties, true) => 259.0 / 17.0,
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

/// A gate so large that it is let through whole, and what it lets through. Every other product is
/// just between two codes, and would not be with a bit of the one before, whose factors have the last
/// bit of bf16. Of those that are rounded, each is between two numbers of bf16 with different codes.
fn tie(column: usize, rounds: bool) -> [f64; 2] {
    let odd = (129 + column % 120) as f64;
    let [gate, linear] = match column % 2 {
        _ if rounds => [[37.0, 7.0], [127.0, 3.0], [137.0, 3.0]][column % 3],
        0 => [odd, odd / 2048.0],
        _ => [32.0, [17.0, 21.0, 25.0, 29.0][column / 2 % 4] / 128.0],
    };
    [gate, if (column / 8).is_multiple_of(2) { linear } else { -linear }]
}

fn set_up<T: Real, C: Fp8>(s: &mut Setup, spec: Spec) {
    let Spec { row, rounds, content, .. } = spec;
    let [rows, width] = row.shape;
    let gates = s.carried(|element| spec.carried(element));
    let mut x = s.draw::<T>("x", &[rows, 2 * width], Draw::Normal);
    if content == Content::Ties {
        for (i, x) in x.iter_mut().enumerate() {
            *x = T::from_f64(tie(i % width, rounds)[i / width % 2]);
        }
    }
    let x = s.given("x", &[rows, 2 * width], x).place(gates);
    let mut y = silu_mul(&x.numbers(), width);
    if content == Content::Ties {
        // That gates are whole is so in f32 only.
        y.iter_mut().for_each(|y| *y = f64::from(*y as f32));
    }
    let y = if rounds { decode(&T::encode(&y)) } else { y };
    let (inverse, most) = (1.0 / spec.scale(), f64::from(C::MOST));
    let codes = if content == Content::Ties {
        let product = |y: &f64| f64::from(*y as f32 * inverse).clamp(-most, most);
        Expected::bits(&C::encode(&y.iter().map(product).collect::<Vec<_>>()))
    } else {
        Expected::codes(products(&y, f64::from(inverse), most), NEAR)
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

/// Pieces of both halves of rows across 4 GiB, which are loaded in the first turn or in a later one.
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
    for row in of_tiles([104, 107], "ties") {
        let of = |rounds| Spec { content: Content::Ties, ..Spec::new(row, rounds) };
        specs.extend([false, true].map(of));
    }
    for row in of_tiles([24], "infinite scale") {
        specs.push(Spec { content: Content::InfiniteScale, ..Spec::new(row, false) });
    }
    let mut cases: Vec<_> = specs.into_iter().flat_map(Spec::cases).collect();
    let once = |row| RowCase { name: "end of memory, each byte once", ..row };
    let ends = RowCase::end_rows(&PIECES).into_iter().map(once);
    let ends = ends.flat_map(|row| Spec::new(row, false).cases());
    cases.extend(ends.map(Case::writes_once));
    cases
}
