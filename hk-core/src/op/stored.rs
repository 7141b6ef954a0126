//! Operands of products in the order in which matrix units take them, which is told by their type.

use super::Arguments;
use super::product::Matrices;
use super::tiling::Problem;
use crate::dtype::{E8M0, Element};
use crate::{Result, Tensor, TensorSlice, TensorView, TensorViewMut};

/// Elements that were put, before, into the order in which a wave takes them: "preshuffled", in the field's
/// words. Lanes that load next to each other find what they need side by side.
///
/// - Weights of `(n, k)` are in tiles of 16 rows by 16 bytes, rows within a tile behind each other: byte b of
///   row i is at `i / 16 * 16 B + b / 16 * 256 + i % 16 * 16 + b % 16` of rows of B bytes. Their shape is
///   `(n / 16, 16 k)`; n is a multiple of 16, k of 32 or, of 4-bit elements, of 64.
/// - Scales of MX blocks, [`E8M0`], are as [`Shuffled32x8`](super::quant::ScaleLayout::Shuffled32x8)
///   says, with the shape `(rows, k / 32)`; k is a multiple of 256, and rows are as many as there are, rounded
///   up to any multiple of 32.
///
/// Both are as AITER's `shuffle_weight` with `layout=(16, 16)` and its `e8m0_shuffle` make them.
#[derive(Debug)]
pub struct Shuffled<T: Element>(Tensor<T>);

/// Rows of a tile of weights, and bytes of each.
pub const WEIGHT_TILE: usize = 16;
/// Bytes of which rows of shuffled weights have a multiple.
const WEIGHT_BYTES: usize = 32;

/// Rows of a tile of scales.
pub const SCALE_ROWS: usize = 32;
/// Blocks that a tile has of each of its rows.
pub const SCALE_BLOCKS: usize = 8;

/// Sizes of tiles, as they are declared.
const TILES: &str = "tiles";
const ELEMENTS: &str = "16k";

impl<T: Element> Shuffled<T> {
    /// Elements of which rows of weights have a multiple.
    pub const ROW_UNIT: usize = WEIGHT_BYTES * T::PACK / size_of::<T>();

    /// Takes elements that are in that order.
    pub const fn new(tiles: Tensor<T>) -> Self {
        Self(tiles)
    }

    /// The elements, in that order.
    pub fn tiles(&self) -> &TensorSlice<T> {
        &self.0
    }

    /// The elements, in that order, as their owner.
    pub fn into_tiles(self) -> Tensor<T> {
        self.0
    }
}

/// An operand of a product: elements in rows, or [shuffled](Shuffled).
#[derive(Debug, Clone, Copy)]
pub enum Stored<'a, T: Element> {
    /// In rows.
    Rows(&'a TensorSlice<T>),
    /// In tiles.
    Tiles(&'a Shuffled<T>),
}

macro_rules! stored {
    ($($variant:ident: $of:ty),*) => {$(
        impl<'a, T: Element> From<&'a $of> for Stored<'a, T> {
            fn from(elements: &'a $of) -> Self {
                Self::$variant(elements)
            }
        }
    )*};
}

stored!(Rows: TensorSlice<T>, Rows: Tensor<T>, Rows: TensorView<'_, T>, Rows: TensorViewMut<'_, T>, Tiles: Shuffled<T>);

impl<'a, T: Element> Stored<'a, T> {
    /// How many rows there are, as far as the shape says.
    pub fn rows(self) -> usize {
        match self {
            Self::Rows(of) => of.shape().first().copied().unwrap_or_default(),
            Self::Tiles(of) => of.0.shape().first().map_or(0, |tiles| tiles * WEIGHT_TILE),
        }
    }

    /// Declares weights of rows of `"k"` elements, of which an argument before has said how many; how many
    /// rows there are gets the second of the names.
    ///
    /// # Errors
    /// Those of a declaration; [`Error::Value`](crate::Error::Value) also if there are no such tiles of
    /// such rows.
    pub fn weights(
        self,
        args: &mut Arguments,
        name: &'static str,
        dims: &'static [&'static str; 2],
    ) -> Result<Matrices> {
        let of = match self {
            Self::Rows(of) => {
                let stride = args.input(name, of, dims).rows()?;
                args.limit(dims[0], 1..=Problem::MAX_SIZE as usize)?;
                return Ok(Matrices::of(of, [0, stride]));
            }
            Self::Tiles(Shuffled(of)) => of,
        };
        let [k] = args.sizes(["k"])?;
        args.define(ELEMENTS, WEIGHT_TILE * k);
        args.input(name, of, &[TILES, ELEMENTS]).aligned(16).contiguous()?;
        args.limit(TILES, 1..=Problem::MAX_SIZE as usize / WEIGHT_TILE)?;
        let [tiles] = args.sizes([TILES])?;
        args.define(dims[0], WEIGHT_TILE * tiles);
        let unit = Shuffled::<T>::ROW_UNIT;
        let constraint = format_args!("shuffled rows of a multiple of {unit} elements");
        args.require(k.is_multiple_of(unit), name, constraint, k)?;
        let shape = [WEIGHT_TILE * tiles, k / T::PACK].map(|size| size as u64);
        Ok(Matrices::of(of, [0, k as i64]).tiled(shape))
    }
}

impl Stored<'_, E8M0> {
    /// Declares the scales of MX blocks of an operand: in rows, with the first of these shapes, in tiles with
    /// the second one, of which the last sizes are the same.
    ///
    /// # Errors
    /// Those of a declaration; [`Error::Value`](crate::Error::Value) also if there are no such tiles of
    /// such rows.
    pub fn scales(
        self,
        args: &mut Arguments,
        name: &'static str,
        [in_rows, in_tiles]: [&'static [&'static str; 2]; 2],
    ) -> Result<Matrices> {
        let of = match self {
            Self::Rows(of) => {
                let stride = args.input(name, of, in_rows).rows()?;
                return Ok(Matrices::of(of, [0, stride]));
            }
            Self::Tiles(of) => of,
        };
        let [rows] = args.sizes([in_rows[0]])?;
        of.scales(args, name, in_tiles, rows)
    }
}

impl Shuffled<E8M0> {
    /// Declares scales in tiles, of so many rows of each matrix. The last two sizes are the rows' in tiles, and
    /// the blocks'.
    ///
    /// # Errors
    /// As [`Stored::scales`].
    pub fn scales(
        &self,
        args: &mut Arguments,
        name: &'static str,
        dims: &'static [&'static str],
        rows: usize,
    ) -> Result<Matrices> {
        let tiles = self.tiles();
        args.input(name, tiles, dims).aligned(8).contiguous()?;
        let [.., of_rows, of_blocks] = *dims else { return Ok(Matrices::NONE) };
        let [tiled, blocks] = args.sizes([of_rows, of_blocks])?;
        let holds = tiled.is_multiple_of(SCALE_ROWS) && tiled >= rows;
        let constraint = format!("a multiple of {SCALE_ROWS}, for {rows} rows");
        args.require_size(of_rows, holds, constraint)?;
        let constraint = format_args!("shuffled rows of a multiple of {SCALE_BLOCKS} blocks");
        args.require(blocks.is_multiple_of(SCALE_BLOCKS), name, constraint, blocks)?;
        let strides = [(tiled * blocks) as i64, blocks as i64];
        Ok(Matrices::of(tiles, strides).tiled([rows as u64, blocks as u64]))
    }
}
