//! What ops that quantise share: formats of codes, and where scales are.

use super::rows::RowOptions;
use super::{Argument, Arguments};
use crate::dtype::{E8M0, Element, F4x2E2M1, F8E4M3, F8E4M3Fnuz, F8E5M2, Scalar};
use crate::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice, kernel_args};

pub use hk_types::MxRound;

/// 8-bit element types of rows and tensors with scales in f32: i8, and e4m3 in the flavour of the
/// chip.
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

/// 8-bit floating point that a chip computes with.
pub trait Fp8: ByteCode {}

impl Fp8 for F8E4M3 {}

impl Fp8 for F8E4M3Fnuz {}

/// Element types of MX blocks, which are OCP's on every chip.
pub trait MxCode: Element {
    /// The type as kernels' arguments name it.
    const CODE: u32;
    /// The largest number.
    const MOST: f32;
}

impl MxCode for F4x2E2M1 {
    const CODE: u32 = 2;
    const MOST: f32 = 6.0;
}

impl MxCode for F8E4M3 {
    const CODE: u32 = 3;
    const MOST: f32 = 448.0;
}

impl MxCode for F8E5M2 {
    const CODE: u32 = 4;
    const MOST: f32 = 57344.0;
}

/// Those of 8-bit floating point.
pub trait MxFp8: MxCode {}

impl MxFp8 for F8E4M3 {}

impl MxFp8 for F8E5M2 {}

/// How the scales of groups are in memory, of `m` rows with `g` groups each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ScaleLayout {
    /// A row after the other: `[.., g]`, with the leading dimensions of the rows.
    #[default]
    RowMajor,
    /// All first groups, then all second ones: `[g, m]`.
    ColMajor,
    /// Tiles of 32 rows and 8 groups, as scaled matrix products of gfx950 read them: `[m', g']`,
    /// with m' = m rounded up to 256 and g' = g rounded up to 8. The scale (i, j) is number `(i /
    /// 32) 32 g' + (j / 8) 256 + (j % 4) 64 + (i % 16) 4 + (j % 8 / 4) 2 + i % 32 / 16`, and those
    /// of no group are 1.
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
        self.shape_of(leading, width.div_ceil(group))
    }

    /// As [`shape`](Self::shape), of rows in these dimensions with so many groups each.
    pub fn shape_of(self, leading: &[usize], groups: usize) -> Vec<usize> {
        match self {
            Self::RowMajor => [leading, &[groups]].concat(),
            Self::ColMajor => vec![groups, leading.iter().product()],
            Self::Shuffled32x8 => tiled([leading.iter().product(), groups]).to_vec(),
        }
    }

    /// Declares scales that an op writes, after the argument of `".."` rows of `"n"` elements that
    /// they are of. Gives the distances from row to row and from group to group.
    ///
    /// # Errors
    /// Those of a declaration.
    pub fn output<S: Element>(
        self,
        args: &mut Arguments,
        scales: &mut TensorSlice<S>,
        group: usize,
    ) -> Result<[i64; 2]> {
        let [width] = args.sizes(["n"])?;
        self.output_of(args, scales, width.div_ceil(group))
    }

    /// As [`output`](Self::output), of rows with so many groups each.
    ///
    /// # Errors
    /// Those of a declaration.
    pub fn output_of<S: Element>(
        self,
        args: &mut Arguments,
        scales: &mut TensorSlice<S>,
        groups: usize,
    ) -> Result<[i64; 2]> {
        let dims = self.dims(args, groups)?;
        self.strides(args.output("scales", scales, dims))
    }

    /// As [`output`](Self::output), of scales that an op reads.
    ///
    /// # Errors
    /// Those of a declaration.
    pub fn input<S: Element>(
        self,
        args: &mut Arguments,
        scales: &TensorSlice<S>,
        group: usize,
    ) -> Result<[i64; 2]> {
        let [width] = args.sizes(["n"])?;
        let dims = self.dims(args, width.div_ceil(group))?;
        self.strides(args.input("scales", scales, dims))
    }

    /// The shape by name.
    fn dims(self, args: &mut Arguments, groups: usize) -> Result<&'static [&'static str]> {
        let [rows] = args.sizes([".."])?;
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

    /// The distances; 0 of shuffled scales, which have no gaps.
    fn strides(self, scales: Argument<'_>) -> Result<[i64; 2]> {
        match self {
            Self::RowMajor => Ok([scales.rows()?, 1]),
            Self::ColMajor => Ok([1, scales.rows()?]),
            Self::Shuffled32x8 => scales.contiguous().map(|()| [0, 0]),
        }
    }
}

/// Elements of a block of MX formats.
pub const MX_BLOCK: usize = 32;

kernel_args! {
    /// Where a kernel stores the scales of groups; `GroupScales` of `hk/quant_rows.h`.
    pub struct GroupScales {
        /// The first.
        pub scales: DevicePtr<f32>,
        /// Scales from row to row.
        pub row_stride: i64,
        /// Scales from group to group.
        pub group_stride: i64,
        /// Elements of a group.
        pub group: u32,
        /// The [`ByteCode::CODE`] of the codes.
        pub format: u32,
    }
}

kernel_args! {
    /// Where a kernel stores the scales of MX blocks; `BlockScales` of `hk/quant_rows.h`.
    pub struct BlockScales {
        /// The first.
        pub scales: AnyPtr,
        /// Scales from row to row.
        pub row_stride: i64,
        /// Scales from block to block.
        pub block_stride: i64,
        /// Of shuffled scales, how many a row has; else 0.
        pub shuffled_columns: u32,
        /// The [`MxRound`].
        pub mode: u32,
    }
}

impl GroupScales {
    /// None, for a kernel that stores other ones.
    pub const NONE: Self =
        Self { scales: DevicePtr::NULL, row_stride: 0, group_stride: 0, group: 0, format: 0 };

    /// These scales of groups of so many elements, with codes of type `C`.
    pub fn new<C: ByteCode>(
        scales: &mut TensorSlice<f32>,
        [row_stride, group_stride]: [i64; 2],
        group: usize,
    ) -> Self {
        let (scales, group) = (scales.ptr_mut(), group as u32);
        Self { scales, row_stride, group_stride, group, format: C::CODE }
    }
}

impl BlockScales {
    /// None, for a kernel that stores other ones.
    pub const NONE: Self =
        Self { scales: AnyPtr::NULL, row_stride: 0, block_stride: 0, shuffled_columns: 0, mode: 0 };

    /// These scales in that layout.
    pub fn new(
        scales: &TensorSlice<E8M0>,
        [row_stride, block_stride]: [i64; 2],
        layout: ScaleLayout,
        mode: MxRound,
    ) -> Self {
        let is_shuffled = layout == ScaleLayout::Shuffled32x8;
        let shuffled_columns = if is_shuffled { scales.shape()[1] as u32 } else { 0 };
        let (scales, mode) = (scales.ptr().any(), mode as u32);
        Self { scales, row_stride, block_stride, shuffled_columns, mode }
    }
}

/// The size of the groups that have a scale each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group(usize);

impl Default for Group {
    /// 128 elements.
    fn default() -> Self {
        Self(128)
    }
}

/// What can be chosen where groups of elements have scales: what kind of scale, in which order, and
/// how the op is launched.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScaleOptions<'a, Kind> {
    kind: Kind,
    layout: ScaleLayout,
    rows: RowOptions<'a>,
}

/// Of scales in f32; groups of 128 elements if not given.
pub type GroupOptions<'a> = ScaleOptions<'a, Group>;

/// Of scales that are powers of two, for blocks of 32 elements; [`MxRound::Even`] if not given.
pub type MxOptions<'a> = ScaleOptions<'a, MxRound>;

impl<'a, Kind> ScaleOptions<'a, Kind> {
    /// With the scales in that order; [`ScaleLayout::RowMajor`] if not given.
    #[must_use]
    pub fn scale_layout(self, layout: ScaleLayout) -> Self {
        Self { layout, ..self }
    }

    /// Launched so.
    #[must_use]
    pub fn rows(self, rows: RowOptions<'a>) -> Self {
        Self { rows, ..self }
    }

    /// The order of scales.
    pub const fn layout(&self) -> ScaleLayout {
        self.layout
    }

    /// How the op is launched.
    pub const fn row_options(&self) -> &RowOptions<'a> {
        &self.rows
    }
}

impl GroupOptions<'_> {
    /// With groups of so many elements: 32, 64 or 128.
    #[must_use]
    pub fn group(self, group: usize) -> Self {
        Self { kind: Group(group), ..self }
    }

    /// Elements of a group.
    pub const fn group_size(&self) -> usize {
        self.kind.0
    }

    /// Requires a size and an order that ops have.
    ///
    /// # Errors
    /// [`Error::Value`](crate::Error::Value) for another.
    pub fn check(&self, args: &Arguments) -> Result<()> {
        let (group, layout) = (self.group_size(), self.layout);
        args.require([32, 64, 128].contains(&group), "group", "32, 64 or 128", group)?;
        let is_taken = layout != ScaleLayout::Shuffled32x8;
        args.require(is_taken, "scale_layout", "RowMajor or ColMajor", format!("{layout:?}"))
    }
}

impl MxOptions<'_> {
    /// With the scales that this mode gives.
    #[must_use]
    pub fn round_mode(self, mode: MxRound) -> Self {
        Self { kind: mode, ..self }
    }

    /// The mode.
    pub const fn mode(&self) -> MxRound {
        self.kind
    }
}

/// Codes and their scales.
#[derive(Debug)]
pub struct Quantised<C: Element, S: Element = f32> {
    /// The codes.
    pub codes: Tensor<C>,
    /// The scales.
    pub scales: Tensor<S>,
}

/// Where an op stores codes and their scales.
#[derive(Debug)]
pub struct QuantisedOut<'a, C: Element, S: Element = f32> {
    /// The codes.
    pub codes: &'a mut TensorSlice<C>,
    /// The scales.
    pub scales: &'a mut TensorSlice<S>,
}

impl<C: Element, S: Element> Quantised<C, S> {
    /// Codes in the shape of `x`, and scales in a shape of their own, that are still to be stored.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn empty<T: Element>(x: &TensorSlice<T>, scales: &[usize]) -> Result<Self> {
        let codes = Tensor::empty(x.stream(), x.shape())?;
        Ok(Self { codes, scales: Tensor::empty(x.stream(), scales)? })
    }

    /// Where to store them.
    pub fn out(&mut self) -> QuantisedOut<'_, C, S> {
        QuantisedOut { codes: &mut self.codes, scales: &mut self.scales }
    }
}
