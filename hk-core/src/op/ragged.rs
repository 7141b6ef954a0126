//! Products of rows with the matrices of their experts, one expert's rows behind the other's: what the
//! kernels of `hk/ragged.h` take.

use super::Call;
use super::experts::{GatheredRows, gathered};
use super::plan::{Draft, PIECES, Plan};
use super::product::{Matrices, Order, Product, ProductArgs};
use super::tiling::{Problem, Split, Tile};
use crate::dtype::DType;
use crate::{AnyPtr, DevicePtr, Result, Stream, kernel_args};

/// The core that copies scales.
const CORE: &str = "ragged";

/// Rows in order of experts, in tiles of one expert each.
#[derive(Debug, Clone, Copy)]
pub struct RaggedRows {
    /// Where each expert's rows begin, and where the last one's end.
    pub offsets: DevicePtr<i32>,
    /// Of each tile the expert, and which of its tiles it is.
    pub tiles: DevicePtr<i32>,
    /// The gate of each row, if rows of x are gathered.
    pub gather: DevicePtr<i32>,
    /// How many tiles there are at most.
    pub tile_count: u64,
    /// Rows of a tile.
    pub tile_rows: u64,
    /// Rows of results.
    pub count: u64,
    /// Gates that each row of x has, if these are gathered: the next ones.
    pub per_row: u64,
}

/// Scales of an operand, or weights, that are brought into the order in which the kernels take them.
#[derive(Debug, Clone, Copy)]
pub struct ScaleCopy {
    /// Where they are; null if all of them are one.
    pub from: AnyPtr,
    /// That of them, of 8, 16 or 32 bits. If all of them are one: f32, or e8m0.
    pub dtype: DType,
    /// Distances between those of matrices, rows and groups, in elements.
    pub strides: [i64; 3],
    /// Matrices, rows and groups of the copy.
    pub shape: [u64; 3],
    /// Rows that there are in each matrix.
    pub from_rows: u64,
    /// Rows that share them.
    pub rows_per_scale: u64,
    /// Groups of the copy that share them.
    pub groups_per_scale: u64,
    /// Whether rows are those of the gates.
    pub gathered: bool,
    /// Whether rows of the copy follow each other, rather than begin at multiples of 16.
    pub dense: bool,
}

impl ScaleCopy {
    /// Elements from one row of the copy to the next.
    fn row(&self) -> u64 {
        if self.dense { self.shape[2] } else { self.shape[2].next_multiple_of(16) }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes_of(self.shape[1])
    }

    /// Of matrices of so many rows.
    pub(super) fn bytes_of(&self, rows: u64) -> usize {
        let matrices = self.shape[0];
        let elements = matrices.saturating_mul(rows).saturating_mul(self.row());
        elements.saturating_mul(self.dtype.size() as u64) as usize
    }

    /// Distances between matrices and rows of the copy.
    fn strides_of_copy(&self) -> [i64; 2] {
        let ([matrices, rows, _], row) = (self.shape, self.row());
        // One row of ones is for all, as one matrix is.
        let matrix = if matrices == 1 { 0 } else { rows * row };
        if self.from == AnyPtr::NULL { [0; 2] } else { [matrix, row].map(|stride| stride as i64) }
    }

    /// Plans the copy; rows that are gathered are those of these gates, of which each row has so many.
    pub(super) fn plan(
        &self,
        plan: &mut Plan,
        (gather, per_row): (DevicePtr<i32>, u64),
        to: AnyPtr,
    ) -> Result<()> {
        let variant = match self.dtype.size() {
            1 => "copy_u8",
            2 => "copy_u16",
            _ => "copy_f32",
        };
        let kernel = plan.kernel([CORE, variant], Some("any"), Problem::NONE, |_| 0.0)?;
        let [matrices, count, columns] = self.shape;
        let threads = u64::from(kernel.tile().threads);
        let groups = count.saturating_mul(self.row()).div_ceil(threads).clamp(1, MOST_GROUPS);
        let args = ScaleCopyArgs {
            from: self.from,
            to,
            gather: if self.gathered { gather } else { DevicePtr::NULL },
            matrix: self.strides[0],
            row: self.strides[1],
            column: self.strides[2],
            to_matrix: (count * self.row()) as i64,
            to_row: self.row() as i64,
            matrices: matrices as u32,
            rows: count as u32,
            columns: columns as u32,
            from_rows: self.from_rows as u32,
            rows_per_scale: self.rows_per_scale as u32,
            gates_per_row: per_row as u32,
            groups_per_scale: self.groups_per_scale as u32,
            reserved: 0,
        };
        plan.then(kernel, [groups as u32, matrices as u32, 1], args);
        Ok(())
    }

    /// Gives a product the copy, as scales of x or of w.
    pub(super) fn hand_over(&self, draft: &mut Draft<'_>, of: usize, to: AnyPtr) {
        if let Some(blocks) = &mut draft.sources.blocks[of] {
            blocks.ptr = to;
        } else if let Some(groups) = &mut draft.product.groups {
            let [matrix, row] = self.strides_of_copy();
            let is_one = self.from == AnyPtr::NULL;
            groups.tensors[of] = DevicePtr::new(to.address());
            groups.strides[of] = [row, if is_one { 0 } else { 1 }];
            groups.batch[of] = matrix;
        }
    }

    /// The copy, as blocks' scales of so many rows.
    pub fn matrices(&self, rows: u64) -> Matrices {
        let (shape, strides) = ([rows, self.row()], self.strides_of_copy());
        Matrices { ptr: AnyPtr::NULL, dtype: self.dtype, shape, strides, order: Order::Rows }
    }
}

/// A product whose arguments are right: of rows of x, gathered or in order, with the matrix of their
/// expert. The problem's m are x's rows and its batch the experts.
#[derive(Debug, Clone)]
pub struct Ragged<'a> {
    /// The product; results of its rows are where `y` is, or in the workspace if something follows.
    pub product: Product<'a>,
    /// Which rows.
    pub rows: RaggedRows,
    /// What sums of rows of x are multiplied by, and the distance between them.
    pub row_scales: (DevicePtr<f32>, u32),
    /// Of the scales of groups or blocks of x, and of w, those that are copied before.
    pub copies: [Option<ScaleCopy>; 2],
    /// Elements of the longest rows of x: [`MAX_CHAIN`](super::tiling::MAX_CHAIN), unless sums are exact.
    pub most_k: u64,
}

/// What is launched behind a product, of the place of its results.
pub type Behind = Box<dyn FnOnce(AnyPtr, &Stream) -> Result<()>>;

kernel_args! {
    /// Arguments of the kernels, as `hk/ragged.h` declares them.
    pub struct RaggedArgs {
        product: ProductArgs,
        offsets: DevicePtr<i32>,
        tiles: DevicePtr<i32>,
        gather: DevicePtr<i32>,
        row_scales: DevicePtr<f32>,
        row_scale_stride: u32,
        tile_count: u32,
        tile_rows: u32,
        rows: u32,
        gates_per_row: u32,
        reserved: u32,
    }
}

kernel_args! {
    /// Arguments of the copies, as `hk/ragged.h` declares them.
    pub struct ScaleCopyArgs {
        from: AnyPtr,
        to: AnyPtr,
        gather: DevicePtr<i32>,
        matrix: i64,
        row: i64,
        column: i64,
        to_matrix: i64,
        to_row: i64,
        matrices: u32,
        rows: u32,
        columns: u32,
        from_rows: u32,
        rows_per_scale: u32,
        gates_per_row: u32,
        groups_per_scale: u32,
        reserved: u32,
    }
}

/// Workgroups of a copy, at most, of each matrix.
const MOST_GROUPS: u64 = 1024;

impl Ragged<'_> {
    /// Launches it, and what follows, if there are rows. Without tiles, only what follows.
    ///
    /// # Errors
    /// As [`Product::launch`].
    pub fn launch(self, mut call: Call, behind: Option<Behind>) -> Result<()> {
        let Self { product, rows, row_scales, copies, most_k } = self;
        // What follows also writes where no gate has an expert.
        let has_no_tiles = rows.tile_count == 0;
        if product.has_no_results() || rows.count == 0 || (has_no_tiles && behind.is_none()) {
            return Ok(());
        }
        let mut plan = Plan::new(&call, product.kernels);
        let whole = Split { count: 1, share: product.problem.k };
        let of = GatheredRows { x: "x", most_k, tile: ("block_m", rows.tile_rows) };
        let (kernel, mut draft) = gathered(&product, &plan, rows.count, &of, |_| whole)?;
        let mut bytes = [0; PIECES + 3];
        bytes[..PIECES].copy_from_slice(&draft.bytes());
        for (bytes, copy) in bytes[PIECES..].iter_mut().zip(&copies) {
            *bytes = copy.as_ref().map_or(0, ScaleCopy::bytes);
        }
        bytes[PIECES + 2] = if behind.is_some() { product.y.bytes() } else { 0 };
        let at = call.workspace(bytes)?;
        for (of, copy) in copies.into_iter().enumerate() {
            let Some(copy) = copy else { continue };
            let to = at[PIECES + of].any();
            copy.plan(&mut plan, (rows.gather, rows.per_row), to)?;
            copy.hand_over(&mut draft, of, to);
        }
        let between = at[PIECES + 2].any();
        if behind.is_some() {
            draft.product.y.ptr = between;
        }
        let (tile, problem) = (Tile::of(kernel.tile()), product.problem);
        let all = Problem { batch: 1, m: rows.tile_count * rows.tile_rows, ..problem };
        let grid = plan.grid(all, tile, whole)?;
        let pieces = std::array::from_fn(|piece| at[piece]);
        let args = RaggedArgs {
            product: draft.prepare(&mut plan, pieces)?.main,
            offsets: rows.offsets,
            tiles: rows.tiles,
            gather: rows.gather,
            row_scales: row_scales.0,
            row_scale_stride: row_scales.1,
            tile_count: rows.tile_count as u32,
            tile_rows: rows.tile_rows as u32,
            rows: rows.count as u32,
            gates_per_row: rows.per_row as u32,
            reserved: 0,
        };
        if !has_no_tiles {
            plan.then(kernel, [grid, 1, 1], args);
        }
        if let Some(behind) = behind {
            plan.last(move |stream| behind(between, stream));
        }
        plan.submit(call)
    }
}
