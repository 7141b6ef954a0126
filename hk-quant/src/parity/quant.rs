//! Cases of the module `quant`: what its ops share, and all cases.

mod dynamic_mx;
mod per_group;
mod per_tensor;
mod per_token;

use hk_core::Arch;
use hk_core::dtype::{DType, Float};
use hk_core::op::quant::ScaleLayout;
use hk_ref::{Arg, Case, Draw, Expected, Setup};

/// Element types of 8-bit codes, with the chip that has them if not all have.
const CODES: [(DType, Option<Arch>); 3] = [
    (DType::I8, None),
    (DType::F8E4M3Fnuz, Some(Arch::Gfx942)),
    (DType::F8E4M3, Some(Arch::Gfx950)),
];

/// Every tile configuration, with a shape for it.
const TILES: [(&str, [usize; 2]); 5] = [
    ("n128", [83, 11]),
    ("n512", [21, 301]),
    ("n2048", [21, 601]),
    ("n8192", [7, 2501]),
    ("any", [5, 8401]),
];

/// An expression with the type of codes that a `DType` among `CODES` names.
macro_rules! code {
    ($dtype:expr, $name:ident => $body:expr) => {
        match $dtype {
            DType::I8 => {
                type $name = i8;
                $body
            }
            DType::F8E4M3Fnuz => {
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
use code;

/// What elements an op is given.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Drawn(Draw),
    /// Rows in turn of zeros, with one huge element, with NaN, with infinity, of which every quotient
    /// is an integer or half of one, and of subnormal numbers.
    Special,
}

/// Rows of such elements.
fn rows<T: Float>(s: &mut Setup, shape: [usize; 2], content: Content, most: f32) -> Arg<T> {
    let Content::Special = content else {
        let Content::Drawn(draw) = content else { unreachable!("there are two kinds") };
        return s.input("x", &shape, draw);
    };
    let mut x = s.draw::<T>("x", &shape, Draw::Normal);
    for (i, row) in x.chunks_exact_mut(shape[1]).enumerate() {
        let middle = row.len() / 2;
        match i % 6 {
            0 => row.fill(T::from_f64(0.0)),
            1 => row[middle] = T::from_f64(0.75 * T::MAX),
            2 => row[middle] = T::from_f64(f64::NAN),
            3 => row[middle] = T::from_f64(f64::NEG_INFINITY),
            4 => {
                let halves = |j: usize| (j % 255) as f64 / 2.0 - 63.5;
                row.iter_mut().enumerate().for_each(|(j, x)| *x = T::from_f64(halves(j)));
                row[0] = T::from_f64(f64::from(-most));
            }
            _ => {
                let tiny = s.draw::<T>("tiny", &[row.len()], Draw::Denormal);
                row.copy_from_slice(&tiny);
            }
        }
    }
    s.given("x", &shape, x)
}

/// Codes, of which those whose scale is not finite are not specified.
fn expected(codes: &[f64], is_finite: impl Fn(usize) -> bool) -> Expected {
    let at: Vec<_> = (0..codes.len()).filter(|i| is_finite(*i)).collect();
    let values = at.iter().map(|i| codes[*i]).collect();
    Expected { at: Some(at), ..Expected::exact(values) }
}

/// The scales of rows of groups in that order, with padding where it has some, and their shape.
fn in_layout<S: Copy>(
    layout: ScaleLayout,
    [rows, groups]: [usize; 2],
    scales: Vec<S>,
    padding: S,
) -> (Vec<usize>, Vec<S>) {
    match layout {
        ScaleLayout::RowMajor => (vec![rows, groups], scales),
        ScaleLayout::ColMajor => {
            let column = |group: usize| scales.iter().skip(group).step_by(groups).copied();
            (vec![groups, rows], (0..groups).flat_map(column).collect())
        }
        ScaleLayout::Shuffled32x8 => {
            let [tiled_rows, columns] = [rows.next_multiple_of(256), groups.next_multiple_of(8)];
            let mut shuffled = vec![padding; tiled_rows * columns];
            for (at, scale) in scales.into_iter().enumerate() {
                let (i, j) = (at / groups, at % groups);
                let in_tile = j % 4 * 64 + i % 16 * 4 + j % 8 / 4 * 2 + i % 32 / 16;
                shuffled[i / 32 * 32 * columns + j / 8 * 256 + in_tile] = scale;
            }
            (vec![tiled_rows, columns], shuffled)
        }
    }
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = per_token::cases();
    cases.extend(dynamic_mx::cases());
    cases.extend(per_tensor::cases());
    cases.extend(per_group::cases());
    cases
}
