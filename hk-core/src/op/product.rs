//! Products of matrices: arguments of the kernels of `hk/product.h`, and the launches that a product
//! takes.
//!
//! A crate whose ops multiply matrices has a core for each pair of element types, with tile
//! configurations of its own, and the core `product` for what all of them take besides.

use super::Call;
use super::epilogue::{Lowered, MAX_STEPS, MAX_TENSORS, StepArg};
use super::plan::{Choice, Draft, Operands, Plan};
use super::prequant::Prequant;
use super::split_cat::{SplitCat, SplitColumns};
use super::tiling::{Axis, Problem, Split, Tail, Tile};
use crate::dtype::{DType, Element, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, Real};
use crate::kernel::KernelSet;
use crate::{Activation, AnyPtr, DevicePtr, Error, Result, TensorSlice, kernel_args};

/// 8-bit element types whose products the matrix units add up; floating point in the flavour of the
/// chip.
pub trait Element8: Element {
    /// How the kernels' variants name it.
    const NAME: &'static str;
}

macro_rules! elements {
    ($($type:ident: $name:literal),*) => {$(
        impl Element8 for $type {
            const NAME: &'static str = $name;
        }
    )*};
}

elements!(i8: "i8", F8E4M3: "e4m3", F8E4M3Fnuz: "e4m3", F8E5M2: "e5m2", F8E5M2Fnuz: "e5m2");

/// Matrices of rows of adjacent elements: an operand or the result, as it is stored. Elements that
/// share a byte count as one.
#[derive(Debug, Clone, Copy)]
pub struct Matrices {
    pub(super) ptr: AnyPtr,
    pub(super) dtype: DType,
    /// Rows of each, and elements of a row.
    pub(super) shape: [u64; 2],
    /// Elements from one matrix to the next, and from one row of one to the next.
    pub(super) strides: [i64; 2],
    pub(super) order: Order,
}

/// How the rows of a matrix are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// One behind the other.
    Rows,
    /// In tiles, as [`Shuffled`](super::stored::Shuffled) has them: distances between them are averages.
    Tiles,
    /// As columns, of which the shape and the strides speak, and of which a copy is made in rows.
    Columns,
}

impl Matrices {
    /// Those of a tensor whose last two dimensions are rows and their elements, with the distances
    /// between neighbouring matrices and between neighbouring rows.
    pub fn of<T: Element>(tensor: &TensorSlice<T>, strides: [i64; 2]) -> Self {
        let rank = tensor.shape().len();
        let shape = [tensor.shape()[rank - 2], tensor.shape()[rank - 1] / T::PACK];
        let strides = strides.map(|stride| stride / T::PACK as i64);
        Self {
            ptr: tensor.ptr().any(),
            dtype: T::DTYPE,
            shape: shape.map(|size| size as u64),
            strides,
            order: Order::Rows,
        }
    }

    /// The same of that shape, in tiles.
    pub(super) const fn tiled(mut self, shape: [u64; 2]) -> Self {
        (self.shape, self.order) = (shape, Order::Tiles);
        self
    }

    /// Those whose transposes these are, of elements of 8 or 16 bits: a product copies them before.
    #[must_use]
    pub const fn turned(mut self) -> Self {
        self.order = Order::Columns;
        self
    }

    /// Those of a tensor whose first two dimensions are the other way round: rows, of which there are so
    /// many, then matrices.
    #[must_use]
    pub fn by_rows(self, rows: u64) -> Self {
        let [row, matrix] = self.strides;
        Self { shape: [rows, self.shape[1]], strides: [matrix, row], ..self }
    }

    /// The same with so many rows of so many elements.
    #[must_use]
    pub const fn with_shape(mut self, shape: [u64; 2]) -> Self {
        self.shape = shape;
        self
    }

    /// The same with rows as long as they are apart.
    #[must_use]
    pub const fn padded(mut self) -> Self {
        self.shape[1] = self.strides[1] as u64;
        self
    }

    /// Two matrices that follow each other in one, whose rows are stored, or, if they are `transposed`,
    /// its columns.
    #[must_use]
    pub fn halves(self, transposed: bool) -> Self {
        let ([rows, width], [_, row]) = (self.shape, self.strides);
        match transposed {
            false => {
                Self { shape: [rows / 2, width], strides: [rows as i64 / 2 * row, row], ..self }
            }
            true => Self { shape: [rows, width / 2], strides: [width as i64 / 2, row], ..self },
        }
    }

    /// How many rows each has.
    pub(super) const fn rows(&self) -> u64 {
        self.shape[0]
    }

    /// The same with so many rows.
    pub(super) const fn with_rows(mut self, rows: u64) -> Self {
        self.shape[0] = rows;
        self
    }

    /// The same with rows of so many elements.
    pub(super) const fn with_width(mut self, width: u64) -> Self {
        self.shape[1] = width;
        self
    }

    /// Of what there is not.
    pub(super) const NONE: Self = Self {
        ptr: AnyPtr::NULL,
        dtype: DType::U8,
        shape: [0; 2],
        strides: [0; 2],
        order: Order::Rows,
    };

    /// With no distance to rows that there are not, which must not make offsets long. Of what is
    /// `transposed`, they must lie outside.
    pub(super) fn near(self, transposed: bool) -> Self {
        let is_single = self.shape[0] == 1 && !transposed;
        Self { strides: [self.strides[0], if is_single { 0 } else { self.strides[1] }], ..self }
    }

    /// Bytes of one matrix.
    pub(super) fn bytes(&self) -> usize {
        let bytes = self.rows().saturating_mul(self.strides[1] as u64).saturating_mul(self.size());
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Room for a matrix of such rows, aligned, in a workspace.
    pub fn in_workspace<T: Element>([rows, width]: [u64; 2]) -> Self {
        let strides = [0, width.next_multiple_of(16) as i64];
        Self {
            ptr: AnyPtr::NULL,
            dtype: T::DTYPE,
            shape: [rows, width],
            strides,
            order: Order::Rows,
        }
    }

    /// Bytes of one element.
    pub(super) fn size(&self) -> u64 {
        self.dtype.size() as u64
    }

    /// Whether each row of each of `batch` matrices begins at a multiple of 16 bytes.
    pub(super) fn are_aligned(&self, batch: u64) -> bool {
        let [matrix, row] = self.strides.map(|stride| (stride as u64).wrapping_mul(self.size()));
        let matrix = if batch > 1 { matrix } else { 0 };
        [self.ptr.address(), matrix, row].into_iter().all(|bytes| bytes.is_multiple_of(16))
    }

    /// Whether blocks of so many rows of `batch` matrices may be stored whole: rows are aligned, and a buffer
    /// can hold those of a block.
    pub(super) fn have_whole_blocks(&self, batch: u64, rows: u64) -> bool {
        let bytes = (self.strides[1] as u64).saturating_mul(self.size()).saturating_mul(rows);
        self.are_aligned(batch) && bytes < 1 << 31
    }

    /// The length of the rows of a copy as the main kernels take it: of whole chunks of 16 bytes, at
    /// most `longest` elements; none if they take the operand itself. What is added is zeros. Of operands
    /// that are `transposed`, lines past the end must not lie within the others, as they do if they overlap.
    pub(super) fn copied(
        &self,
        op: &'static str,
        arg: &'static str,
        batch: u64,
        longest: u64,
        transposed: bool,
    ) -> Result<Copy> {
        let [mut rows, mut width] = self.shape;
        if self.order == Order::Columns {
            (rows, width) = (width, rows);
            self.require_turnable(op, arg)?;
        }
        let chunk = 16 / self.size();
        let near = self.strides[1] as u64 <= longest;
        let is_ready = match self.order {
            Order::Rows => self.are_aligned(batch) && width.is_multiple_of(chunk),
            Order::Tiles => true,
            Order::Columns => false,
        };
        let apart = !transposed || self.strides[1] as u64 >= width;
        if is_ready && near && apart {
            return Ok(Copy { matrices: 0, rows, width, parts: 1 });
        }
        let padded = width.next_multiple_of(chunk);
        if padded > longest || self.order == Order::Tiles {
            let constraint = format!("rows of at most {} elements", longest / chunk * chunk);
            return Err(Error::value(op, arg, constraint, width));
        }
        // One copy for all, if they are all the same.
        let matrices = if self.strides[0] == 0 { 1 } else { batch };
        Ok(Copy { matrices, rows, width: padded, parts: 1 })
    }

    /// Requires that the kernel that turns matrices can address these and their transposes.
    ///
    /// # Errors
    /// [`Error::Value`] for that argument if rows, or columns, are too far apart.
    pub fn require_turnable(&self, op: &'static str, arg: &'static str) -> Result<()> {
        let apart = (self.strides[1] as u64).max(self.shape[0].next_multiple_of(16));
        if apart <= LONGEST_TURNED {
            return Ok(());
        }
        let constraint = format!("rows, and columns, at most {LONGEST_TURNED} elements apart");
        Err(Error::value(op, arg, constraint, apart))
    }

    /// As [`copied`](Self::copied), of rows that are two halves, each of which begins at a multiple of 16 bytes.
    pub(super) fn copied_halves(
        &self,
        op: &'static str,
        arg: &'static str,
        batch: u64,
        longest: u64,
    ) -> Result<Copy> {
        let [rows, width] = self.shape;
        let half = (width / 2).next_multiple_of(16 / self.size());
        if 2 * half == width {
            return self.copied(op, arg, batch, longest, true);
        }
        // Rows of that length are copied, and can be.
        let padded = self.with_width(2 * half).copied(op, arg, batch, longest, true)?.width;
        let matrices = if self.strides[0] == 0 { 1 } else { batch };
        Ok(Copy { matrices, rows, width: padded, parts: 2 })
    }
}

/// The copies that scales of blocks need, for blocks of the result of so many rows and columns.
pub(super) fn copies_of_blocks(
    op: &'static str,
    batch: u64,
    blocks: [Option<Matrices>; 2],
    rows: [u64; 2],
    names: [&'static str; 2],
) -> Result<[Copy; 2]> {
    let copy = |i: usize| match blocks[i] {
        // A buffer holds those of a block of the result, and of the tile in which they begin.
        Some(of) => {
            let rows = rows[i] + if of.order == Order::Tiles { 32 } else { 0 };
            of.copied(op, names[i], batch, ((1 << 31) - 1) / rows, false)
        }
        None => Ok(Copy::NONE),
    };
    Ok([copy(0)?, copy(1)?])
}

/// The longest distance between rows of a matrix that is turned, and of its transpose, in elements: offsets
/// within a square of 8 by 8 lanes' blocks of 16 bytes have 31 bits.
const LONGEST_TURNED: u64 = 1 << 24;

/// A copy of an operand in aligned rows: of as many matrices, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copy {
    pub(super) matrices: u64,
    pub(super) rows: u64,
    pub(super) width: u64,
    /// Of rows, equally long, each filled up.
    pub(super) parts: u64,
}

impl Copy {
    /// Of what is taken as it is.
    pub(super) const NONE: Self = Self { matrices: 0, rows: 0, width: 0, parts: 1 };

    pub(super) fn elements(&self) -> u64 {
        self.matrices.saturating_mul(self.rows).saturating_mul(self.width)
    }
}

/// Scales of groups of k, in f32: of x one per row, of w one per group of rows.
#[derive(Debug, Clone, Copy)]
pub struct GroupScales {
    /// Those of x, and of w.
    pub tensors: [DevicePtr<f32>; 2],
    /// Distances between rows, or groups of rows, and between groups of k: of x, and of w.
    pub strides: [[i64; 2]; 2],
    /// Distances between matrices of a batch: of x, and of w.
    pub batch: [i64; 2],
    /// Rows of w, and k, of a group: powers of two.
    pub sizes: [u32; 2],
}

impl GroupScales {
    /// None, of groups of one.
    pub const NONE: Self =
        Self { tensors: [DevicePtr::NULL; 2], strides: [[0; 2]; 2], batch: [0; 2], sizes: [1; 2] };
}

/// What a gated product does between gates and what they let through.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// Steps of the epilogue that come before, on both.
    pub steps: u32,
    /// Of the gates, if there is one.
    pub activation: Option<Activation>,
    /// Whether w's matrices, one for each of the batch, have the rows of both; else there is one product,
    /// and w is two matrices. Of transposed ones, blocks multiply one half after the other.
    pub whole: bool,
}

/// What the arguments are called that a product is made of, in errors.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// x.
    pub x: &'static str,
    /// w.
    pub w: &'static str,
    /// Scales of blocks of x, and of w.
    pub blocks: [&'static str; 2],
}

impl Names {
    /// As most ops call them.
    pub const PLAIN: Self = Self { x: "x", w: "w", blocks: ["x_scale", "w_scale"] };
}

/// Gates as they are.
const NO_GATE: u32 = u32::MAX;

/// A product whose arguments are right: `y[b] = epilogue(x[b] w[b]^T)`.
#[derive(Debug, Clone)]
pub struct Product<'a> {
    /// The kernels of the crate.
    pub kernels: &'static KernelSet,
    /// The core, and which of its variants.
    pub core: &'static str,
    /// The variant.
    pub variant: &'a str,
    /// Whether the core's blocks are multiplied by factors of rows and columns as a whole.
    pub scaled: bool,
    /// What the op calls its arguments.
    pub names: Names,
    /// `(batch, m, k)`, or as [`Problem::transposed`] says.
    pub x: Matrices,
    /// `(batch, n, k)`, or as [`Problem::transposed`] says.
    pub w: Matrices,
    /// `(batch, m, n)`.
    pub y: Matrices,
    /// If the core has such.
    pub groups: Option<GroupScales>,
    /// Scales of MX blocks, one for each 32 k of a row of x, and of w: e8m0, `(batch, rows, k / 32)`.
    pub blocks: [Option<Matrices>; 2],
    /// How x is quantised before, if it is: then its scales are those.
    pub prequant: Option<Prequant>,
    /// If the core is gated: then w is two matrices, those of the gates and of what they let through.
    pub gate: Option<Gate>,
    /// If the core adds shares of k to the result, of one matrix of f32, as they come: whether to what it
    /// holds.
    pub accumulate: Option<bool>,
    /// If the core splits the columns of one matrix: where they go. Then y is
    /// [`SplitCat::results`].
    pub split_cat: Option<SplitCat>,
    /// If y takes codes, e4m3 in the flavour of the chip: the scale, of one element, over which the results
    /// in f32 are.
    pub encode: Option<DevicePtr<f32>>,
    /// The sizes.
    pub problem: Problem,
    /// What is done to the sums.
    pub steps: Lowered,
    /// Shares of k at most, if they are chosen.
    pub splits: Option<u32>,
    /// The tile configuration, if it is chosen.
    pub tile: Option<&'a str>,
}

impl Product<'_> {
    /// Launches it, if it has results.
    ///
    /// # Errors
    /// [`Error::NoTile`] if there is no tile of that name, [`Error::Value`] if the tile cannot
    /// compute a product so large.
    pub fn launch(self, call: Call) -> Result<()> {
        self.launch_on(call, None)
    }

    /// As [`launch`](Self::launch), for so many of the device's compute units, if they are given.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn launch_on(self, mut call: Call, compute_units: Option<u32>) -> Result<()> {
        if self.has_no_results() {
            return Ok(());
        }
        let mut plan = Plan::new(&call, self.kernels).on(compute_units);
        let Choice { kernel, tile, split } = plan.choose(&self)?;
        let draft = Draft::of(self, &plan, tile, split)?.with_tail(plan.compute_units());
        let at = call.workspace(draft.bytes())?;
        draft.plan(&mut plan, kernel, at)?;
        plan.submit(call)
    }

    /// Whether there is nothing to compute.
    pub(super) const fn has_no_results(&self) -> bool {
        self.problem.m == 0 || self.problem.batch == 0
    }

    /// Those of the main kernel.
    pub(super) fn arguments(&self, operands: &Operands, tile: Tile, split: Split) -> ProductArgs {
        let Self { y, problem, steps, gate, .. } = self;
        let Operands { x, w, blocks: [x_blocks, w_blocks], groups } = operands;
        let is_linear = steps.is_linear(self.scaled);
        let [w_batch, w_half] = match gate {
            Some(Gate { whole: false, .. }) => [0, w.strides[0]],
            _ => [w.strides[0], problem.n as i64 * w.strides[1]],
        };
        ProductArgs {
            x: x.ptr,
            w: w.ptr,
            y: y.ptr,
            x_batch: x.strides[0],
            w_batch,
            w_half,
            y_batch: y.strides[0],
            x_stride: x.strides[1],
            w_stride: w.strides[1],
            y_stride: y.strides[1],
            x_scales: groups.tensors[0],
            w_scales: groups.tensors[1],
            x_scale_row: groups.strides[0][0],
            x_scale_group: groups.strides[0][1],
            w_scale_row: groups.strides[1][0],
            w_scale_group: groups.strides[1][1],
            x_scale_batch: groups.batch[0],
            w_scale_batch: groups.batch[1],
            x_blocks: x_blocks.ptr,
            w_blocks: w_blocks.ptr,
            x_block_batch: x_blocks.strides[0],
            w_block_batch: w_blocks.strides[0],
            x_block_row: x_blocks.strides[1],
            w_block_row: w_blocks.strides[1],
            log2_group_n: groups.sizes[0].ilog2(),
            log2_group_k: groups.sizes[1].ilog2(),
            m: problem.m as u32,
            n: problem.n as u32,
            k: problem.k as u32,
            batch: problem.batch as u32,
            split_k: split.share as u32,
            splits: split.count as u32,
            y_type: real_code(y.dtype),
            y_whole: (is_linear && y.have_whole_blocks(problem.batch, tile.m)).into(),
            gate_at: gate.map_or(0, |gate| gate.steps),
            gate: gate.and_then(|gate| gate.activation).map_or(NO_GATE, Activation::code),
            w_tiled: (w.order == Order::Tiles).into(),
            x_blocks_tiled: (x_blocks.order == Order::Tiles).into(),
            w_blocks_tiled: (w_blocks.order == Order::Tiles).into(),
            ..ProductArgs::new(steps)
        }
    }
}

/// The number by which the kernels know a type of results.
pub(super) fn real_code(dtype: DType) -> u32 {
    match dtype {
        DType::Bf16 => crate::dtype::bf16::CODE,
        DType::F16 => crate::dtype::f16::CODE,
        _ => f32::CODE,
    }
}

kernel_args! {
    /// Arguments of the kernels, as `hk/product.h` declares them.
    pub struct ProductArgs {
        pub(super) x: AnyPtr,
        pub(super) w: AnyPtr,
        pub(super) y: AnyPtr,
        pub(super) tensors: [AnyPtr; MAX_TENSORS],
        pub(super) x_stride: i64,
        pub(super) w_stride: i64,
        pub(super) y_stride: i64,
        pub(super) x_batch: i64,
        pub(super) w_batch: i64,
        pub(super) w_half: i64,
        pub(super) y_batch: i64,
        pub(super) x_scales: DevicePtr<f32>,
        pub(super) w_scales: DevicePtr<f32>,
        pub(super) x_scale_row: i64,
        pub(super) x_scale_group: i64,
        pub(super) w_scale_row: i64,
        pub(super) w_scale_group: i64,
        pub(super) x_scale_batch: i64,
        pub(super) w_scale_batch: i64,
        pub(super) x_blocks: AnyPtr,
        pub(super) w_blocks: AnyPtr,
        pub(super) x_block_row: i64,
        pub(super) w_block_row: i64,
        pub(super) x_block_batch: i64,
        pub(super) w_block_batch: i64,
        pub(super) log2_group_n: u32,
        pub(super) log2_group_k: u32,
        pub(super) m: u32,
        pub(super) n: u32,
        pub(super) k: u32,
        pub(super) batch: u32,
        pub(super) split_k: u32,
        pub(super) splits: u32,
        pub(super) y_type: u32,
        pub(super) y_whole: u32,
        pub(super) step_count: u32,
        pub(super) gate_at: u32,
        pub(super) gate: u32,
        pub(super) adds: u32,
        pub(super) w_tiled: u32,
        pub(super) x_blocks_tiled: u32,
        pub(super) w_blocks_tiled: u32,
        pub(super) split: SplitColumns,
        pub(super) steps: [StepArg; MAX_STEPS],
    }
}

impl ProductArgs {
    /// The product but for its last rows, columns or matrices, and the one of these.
    pub(super) fn cut_at(
        self,
        tail: Tail,
        operands: &Operands,
        transposed: [bool; 2],
    ) -> [Self; 2] {
        let Tail { axis, first, split } = tail;
        let (mut whole, mut cut) = (self, self);
        let lines = first as i64;
        let moved = |ptr: AnyPtr, elements: i64, size: u64| {
            ptr.moved_to(ptr.address().wrapping_add_signed(elements * size as i64))
        };
        let scales = |ptr: DevicePtr<f32>, elements: i64| {
            DevicePtr::new(ptr.address().wrapping_add_signed(4 * elements))
        };
        // A place in a workspace does not say of what type.
        let y_size = if self.y_type == f32::CODE { 4 } else { 2 };
        let y_step = match axis {
            Axis::Rows => {
                let step = if transposed[0] { 1 } else { self.x_stride };
                cut.x = moved(self.x, lines * step, operands.x.size());
                cut.x_scales = scales(self.x_scales, lines * self.x_scale_row);
                cut.x_blocks = moved(self.x_blocks, lines * self.x_block_row, 1);
                cut.split = self.split.with_rows_from(lines, y_size);
                (whole.m, cut.m) = (first as u32, self.m - first as u32);
                self.y_stride
            }
            Axis::Columns => {
                let step = if transposed[1] { 1 } else { self.w_stride };
                cut.w = moved(self.w, lines * step, operands.w.size());
                let groups = lines >> self.log2_group_n;
                cut.w_scales = scales(self.w_scales, groups * self.w_scale_row);
                cut.w_blocks = moved(self.w_blocks, lines * self.w_block_row, 1);
                (whole.n, cut.n) = (first as u32, self.n - first as u32);
                1
            }
            Axis::Matrices => {
                cut.x = moved(self.x, lines * self.x_batch, operands.x.size());
                cut.w = moved(self.w, lines * self.w_batch, operands.w.size());
                cut.x_scales = scales(self.x_scales, lines * self.x_scale_batch);
                cut.w_scales = scales(self.w_scales, lines * self.w_scale_batch);
                cut.x_blocks = moved(self.x_blocks, lines * self.x_block_batch, 1);
                cut.w_blocks = moved(self.w_blocks, lines * self.w_block_batch, 1);
                (whole.batch, cut.batch) = (first as u32, self.batch - first as u32);
                self.y_batch
            }
        };
        cut.y = moved(self.y, lines * y_step, y_size);
        for step in self.steps {
            for (tensor, bytes) in step.bytes_apart(axis) {
                cut.tensors[tensor] = moved(self.tensors[tensor], lines * bytes, 1);
            }
        }
        cut.split_k = split.share as u32;
        cut.splits = split.count as u32;
        [whole, cut]
    }

    /// The part of the product with so many k from `first` on, of operands of 8 or 16 bits without scales of
    /// groups or blocks.
    pub(super) fn of_k(self, problem: Problem, first: u64, count: u64) -> Self {
        let from = |of: usize, ptr: AnyPtr, stride: i64| {
            let step = if problem.transposed[of] { stride as u64 } else { 1 };
            ptr.moved_to(ptr.address() + first * step * (problem.bits[of] / 8))
        };
        Self {
            x: from(0, self.x, self.x_stride),
            w: from(1, self.w, self.w_stride),
            k: count as u32,
            split_k: count as u32,
            ..self
        }
    }

    /// To copy x, so many matrices, to y as their transposes.
    pub(super) fn turn(x: &Matrices, y: &Matrices, matrices: u64) -> Self {
        Self {
            x: x.ptr,
            y: y.ptr,
            x_batch: x.strides[0],
            y_batch: y.strides[0],
            x_stride: x.strides[1],
            y_stride: y.strides[1],
            m: x.shape[0] as u32,
            k: x.shape[1] as u32,
            batch: matrices as u32,
            ..Self::new(&Lowered::default())
        }
    }

    /// Only the epilogue.
    pub(super) fn new(steps: &Lowered) -> Self {
        Self {
            x: AnyPtr::NULL,
            w: AnyPtr::NULL,
            y: AnyPtr::NULL,
            tensors: steps.tensors,
            x_stride: 0,
            w_stride: 0,
            y_stride: 0,
            x_batch: 0,
            w_batch: 0,
            w_half: 0,
            y_batch: 0,
            x_scales: DevicePtr::NULL,
            w_scales: DevicePtr::NULL,
            x_scale_row: 0,
            x_scale_group: 0,
            w_scale_row: 0,
            w_scale_group: 0,
            x_scale_batch: 0,
            w_scale_batch: 0,
            x_blocks: AnyPtr::NULL,
            w_blocks: AnyPtr::NULL,
            x_block_row: 0,
            w_block_row: 0,
            x_block_batch: 0,
            w_block_batch: 0,
            log2_group_n: 0,
            log2_group_k: 0,
            m: 0,
            n: 0,
            k: 0,
            batch: 1,
            split_k: 0,
            splits: 1,
            y_type: 0,
            y_whole: 0,
            step_count: steps.count,
            gate_at: 0,
            gate: NO_GATE,
            adds: 0,
            w_tiled: 0,
            x_blocks_tiled: 0,
            w_blocks_tiled: 0,
            split: SplitColumns::NONE,
            steps: steps.steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_stored_through_a_buffer_only_if_one_can_hold_it() {
        let widest = |rows: u64, size: u64| (1u64 << 31) / (rows * size);
        let whole = |dtype: DType, address, stride: u64, rows| {
            let ptr = AnyPtr::NULL.moved_to(address);
            let y = Matrices {
                ptr,
                dtype,
                shape: [rows, 1],
                strides: [3, stride as i64],
                order: Order::Rows,
            };
            y.have_whole_blocks(1, rows)
        };
        let f32s = |address, stride, rows| whole(DType::F32, address, stride, rows);
        for rows in [16, 64, 256] {
            for stride in [widest(rows, 4), 4_210_752, 1 << 31, 1 << 40, u64::MAX / 8] {
                // The descriptor's size, as `store_block` computes it, in enough bits.
                let bytes = (u128::from(rows - 1) * u128::from(stride) + 256) * 4;
                let whole = f32s(0, stride, rows);
                assert!(!whole || bytes < 1 << 31, "{rows} {stride}");
            }
            assert!(f32s(4096, widest(rows, 4) - 4, rows));
            assert!(whole(DType::Bf16, 4096, widest(rows, 2) - 8, rows));
            assert!(!f32s(4096, widest(rows, 4), rows));
        }
        assert!(!f32s(4096, 4_210_752, 256), "2^32 bytes and a little");
        assert_eq!([f32s(8, 64, 16), f32s(16, 66, 16)], [false; 2], "not aligned");
        let y = Matrices {
            ptr: AnyPtr::NULL,
            dtype: DType::F32,
            shape: [1, 8],
            strides: [6, 8],
            order: Order::Rows,
        };
        let whole = [1, 2].map(|batch| y.have_whole_blocks(batch, 16));
        assert_eq!(whole, [true, false], "matrices not aligned");
    }

    #[test]
    fn matrices_that_are_all_the_same_are_copied_once() {
        let ptr = AnyPtr::NULL.moved_to(4096);
        let x = Matrices {
            ptr,
            dtype: DType::I8,
            shape: [3, 20],
            strides: [0, 32],
            order: Order::Rows,
        };
        let copied = |x: Matrices, batch| x.copied("op", "x", batch, 1 << 20, false).unwrap();
        let copy = copied(x, 5);
        assert_eq!([copy.matrices, copy.rows, copy.width], [1, 3, 32]);
        let apart = Matrices { strides: [60, 32], ..x };
        assert_eq!(copied(apart, 5).matrices, 5);
        let whole = Matrices { shape: [3, 32], strides: [96, 32], ..x };
        assert_eq!(copied(whole, 5).matrices, 0);
        assert_eq!(copied(Matrices { strides: [100, 32], ..whole }, 5).matrices, 5);
        assert_eq!(copied(Matrices { strides: [100, 32], ..whole }, 1).matrices, 0);
        // Lines that overlap, or are all the same, are copied if those past the end would be among them.
        for (stride, transposed, matrices) in
            [(32, true, 0), (16, true, 1), (0, true, 1), (0, false, 0)]
        {
            let lines = Matrices { strides: [0, stride], ..whole };
            let copy = lines.copied("op", "x", 1, 1 << 20, transposed).unwrap();
            assert_eq!(copy.matrices, matrices, "{stride}");
        }
        let error = x.copied("op", "x", 1, 31, false).unwrap_err();
        assert!(matches!(error, Error::Value { arg: "x", .. }), "{error}");
    }

    #[test]
    fn matrices_that_are_turned_are_copied_as_far_as_offsets_reach() {
        let ptr = AnyPtr::NULL.moved_to(4096);
        let (shape, strides) = ([20, 3], [60, 3]);
        let x = Matrices { ptr, dtype: DType::I8, shape, strides, order: Order::Columns };
        let copy = x.copied("op", "x", 2, 1 << 20, false).unwrap();
        assert_eq!([copy.matrices, copy.rows, copy.width], [2, 3, 32]);
        let most = LONGEST_TURNED;
        for (shape, stride) in [([20, 3], most), ([most, 3], 3)] {
            let far = Matrices { shape, strides: [0, stride as i64], ..x };
            far.require_turnable("op", "x").unwrap();
        }
        for (shape, stride) in [([20, 3], most + 1), ([most + 1, 3], 3)] {
            let far = Matrices { shape, strides: [0, stride as i64], ..x };
            let error = far.copied("op", "x", 1, u64::MAX, false).unwrap_err();
            assert!(matches!(error, Error::Value { arg: "x", .. }), "{error}");
        }
    }
}
