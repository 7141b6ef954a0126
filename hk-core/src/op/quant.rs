//! What ops that quantise share: formats of codes, and where scales are.

use super::Arguments;
use crate::dtype::{F8E4M3, F8E4M3Fnuz, Scalar};

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
}

/// Sizes of scales that [`ScaleLayout::dims`] has: groups of a row, and all rows.
const GROUPS: &str = "groups(n)";
const ROWS: &str = "rows(..)";

impl ScaleLayout {
    /// The shape of the scales of rows of that shape, in groups of so many elements.
    pub fn shape(self, rows: &[usize], group: usize) -> Vec<usize> {
        let (width, leading) = rows.split_last().map_or((0, &[][..]), |(n, rows)| (*n, rows));
        let groups = width.div_ceil(group);
        match self {
            Self::RowMajor => [leading, &[groups]].concat(),
            Self::ColMajor => vec![groups, leading.iter().product()],
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
        args.define(GROUPS, width.div_ceil(group));
        args.define(ROWS, rows);
        Ok(match self {
            Self::RowMajor => &["..", GROUPS],
            Self::ColMajor => &[GROUPS, ROWS],
        })
    }
}
