//! What ops that quantise share: formats of codes, and where scales are.

use super::Arguments;
use crate::dtype::{F8E4M3, F8E4M3Fnuz, Scalar};

pub use hk_types::MxRound;

/// 8-bit element types of rows and tensors with scales in f32: i8, and e4m3 in the flavour of the chip.
pub trait ByteCode: Scalar {
    /// The type as kernels' arguments name it; the enum `byte_format` of `hk/quant.h`.
    const CODE: u32;
    /// The code of the largest magnitude: 127, or the largest finite number.
    const MOST: f32;
}

impl ByteCode for i8 {
    const CODE: u32 = 0;
    const MOST: f32 = 127.0;
}

impl ByteCode for F8E4M3 {
    const CODE: u32 = 1;
    const MOST: f32 = 448.0;
}

impl ByteCode for F8E4M3Fnuz {
    const CODE: u32 = 1;
    const MOST: f32 = 240.0;
}

/// How the scales of groups are in memory, of `m` rows with `g` groups each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ScaleLayout {
    /// A row after the other: `[.., g]`, with the leading dimensions of the rows.
    #[default]
    RowMajor,
    /// All first groups, then all second ones: `[g, m]`.
    ColMajor,
    /// Tiles of 32 rows and 8 groups, as scaled matrix products of gfx950 read them: `[m', g']`, with
    /// m' = m rounded up to 256 and g' = g rounded up to 8. The scale (i, j) is number `(i / 32) 32 g' +
    /// (j / 8) 256 + (j % 4) 64 + (i % 16) 4 + (j % 8 / 4) 2 + i % 32 / 16`, and those of no group are 1.
    Shuffled32x8,
}

/// Sizes of scales that [`ScaleLayout::dims`] has: groups of a row, and all rows.
const GROUPS: &str = "groups(n)";
const ROWS: &str = "rows(..)";
/// The same, rounded up to whole tiles.
const TILED_GROUPS: &str = "tiled(groups(n))";
const TILED_ROWS: &str = "tiled(rows(..))";

/// Rows and groups of so many, in whole tiles.
const fn tiled([rows, groups]: [usize; 2]) -> [usize; 2] {
    [rows.next_multiple_of(256), groups.next_multiple_of(8)]
}

impl ScaleLayout {
    /// The shape of the scales of rows of that shape, in groups of so many elements.
    pub fn shape(self, rows: &[usize], group: usize) -> Vec<usize> {
        let (width, leading) = rows.split_last().map_or((0, &[][..]), |(n, rows)| (*n, rows));
        let groups = width.div_ceil(group);
        match self {
            Self::RowMajor => [leading, &[groups]].concat(),
            Self::ColMajor => vec![groups, leading.iter().product()],
            Self::Shuffled32x8 => tiled([leading.iter().product(), groups]).to_vec(),
        }
    }

    /// The same by name, for the declaration of an argument after that of `".."` rows of `"n"`
    /// elements.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) if there was no such argument.
    pub fn dims(
        self,
        args: &mut Arguments,
        group: usize,
    ) -> crate::Result<&'static [&'static str]> {
        let [rows, width] = args.sizes(["..", "n"])?;
        let groups = width.div_ceil(group);
        let [tiled_rows, tiled_groups] = tiled([rows, groups]);
        let sizes = [GROUPS, ROWS, TILED_GROUPS, TILED_ROWS];
        for (name, size) in sizes.into_iter().zip([groups, rows, tiled_groups, tiled_rows]) {
            args.define(name, size);
        }
        Ok(match self {
            Self::RowMajor => &["..", GROUPS],
            Self::ColMajor => &[GROUPS, ROWS],
            Self::Shuffled32x8 => &[TILED_ROWS, TILED_GROUPS],
        })
    }

    /// The distances from row to row and from group to group, where that from line to line of the shape
    /// is `stride`; 0 if there are none such.
    pub const fn strides(self, stride: i64) -> [i64; 2] {
        match self {
            Self::RowMajor => [stride, 1],
            Self::ColMajor => [1, stride],
            Self::Shuffled32x8 => [0, 0],
        }
    }
}
