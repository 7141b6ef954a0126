//! Products of bf16 or f16 matrices: `y = epilogue(x w^T)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; each operand may be stored transposed |
//! | Dtypes | x and w bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 accumulation, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |

use hk_core::dtype::{Element, Real, Real16};
use hk_core::{Activation, DevicePtr, Error, Result, Tensor, TileFunction, kernel_args};

use crate::KERNELS;
use crate::epilogue::{Epilogue, Lowered, MAX_STEPS, Operand, StepArg};
use crate::tiling::{Problem, RUN, Split, Tile};

const OP: &str = "gemm_a16w16";

/// How the operands are stored: first letter x, second w. The names are those of BLAS as AITER uses
/// them, for column-major readers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// x is `(m, k)`, w is `(n, k)`: both have k contiguous.
    #[default]
    Tn,
    /// x is `(m, k)`, w is stored as `(k, n)`.
    Tt,
    /// x is stored as `(k, m)`, w is `(n, k)`.
    Nn,
    /// x is stored as `(k, m)`, w is stored as `(k, n)`.
    Nt,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Self; 4] = [Self::Tn, Self::Tt, Self::Nn, Self::Nt];

    /// Its name, such as `tn`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tn => "tn",
            Self::Tt => "tt",
            Self::Nn => "nn",
            Self::Nt => "nt",
        }
    }

    /// Whether x is stored as `(k, m)`.
    pub const fn x_is_transposed(self) -> bool {
        matches!(self, Self::Nn | Self::Nt)
    }

    /// Whether w is stored as `(k, n)`.
    pub const fn w_is_transposed(self) -> bool {
        matches!(self, Self::Tt | Self::Nt)
    }
}

/// What [`gemm_a16w16`] does besides the product. All of it happens in f32, before the one rounding:
/// first `bias`, then `activation`, then `residual`, then the steps of `epilogue`.
#[derive(Debug, Clone, Default)]
pub struct GemmOptions<'a> {
    layout: Layout,
    bias: Option<Operand<'a>>,
    activation: Option<Activation>,
    residual: Option<Operand<'a>>,
    epilogue: Epilogue<'a>,
    splits: Option<u32>,
    tile: Option<&'a str>,
}

impl<'a> GemmOptions<'a> {
    /// How the operands are stored.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Adds a vector of n to every row.
    #[must_use]
    pub fn bias(mut self, bias: impl Into<Operand<'a>>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// Applies a function to every element.
    #[must_use]
    pub fn activation(mut self, activation: Activation) -> Self {
        self.activation = Some(activation);
        self
    }

    /// Adds a tensor of `(m, n)`, which may be the output.
    #[must_use]
    pub fn residual(mut self, residual: impl Into<Operand<'a>>) -> Self {
        self.residual = Some(residual.into());
        self
    }

    /// Further steps.
    #[must_use]
    pub fn epilogue(mut self, epilogue: Epilogue<'a>) -> Self {
        self.epilogue = epilogue;
        self
    }

    /// Cuts k into at most so many shares that are computed side by side, instead of as many as fill
    /// the device: a number from 1 to k, whatever the tile. There are fewer where a share would be
    /// shorter than the tile's step along k, and more where one would be longer than 65,536.
    #[must_use]
    pub fn splits(mut self, splits: u32) -> Self {
        self.splits = Some(splits);
        self
    }

    /// Takes the tile configuration of that name, such as `128x128x64`, instead of the one that is
    /// expected to be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    fn steps(&self) -> Epilogue<'a> {
        let mut steps = Epilogue::default();
        if let Some(bias) = self.bias {
            steps = steps.add_columns(bias);
        }
        if let Some(activation) = self.activation {
            steps = steps.act(activation);
        }
        if let Some(residual) = self.residual {
            steps = steps.add_tensor(residual, 1.0);
        }
        steps.then(&self.epilogue)
    }
}

/// Multiplies `x` by the transpose of `w`: `y[i, j] = epilogue(sum_k x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, n or k is 0, or an operand of the epilogue
/// has the wrong shape; [`Error::Value`] if the options ask for what there is not, a stride is too
/// long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of that name.
pub fn gemm_a16w16<T: Real16, Y: Real>(
    x: &Tensor<T>,
    w: &Tensor<T>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let Problem { m, n, .. } = problem_of(x, w, options.layout)?;
    let mut y = Tensor::empty(x.stream(), &[m as usize, n as usize])?;
    gemm_a16w16_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w16`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16w16`]; [`Error::Shape`] also if `y` is not `(m, n)`, [`Error::Alias`] if it overlaps
/// an operand, unless it is the same view as one of the epilogue's.
pub fn gemm_a16w16_into<T: Real16, Y: Real>(
    x: &Tensor<T>,
    w: &Tensor<T>,
    options: &GemmOptions<'_>,
    y: &mut Tensor<Y>,
) -> Result<()> {
    let problem = problem_of(x, w, options.layout)?;
    let size = [problem.m as usize, problem.n as usize];
    y.check_shape(OP, "y", &size, || "one row per row of x, one column per row of w".into())?;
    x.check_same_stream(OP, "x", w, "w")?;
    x.check_same_stream(OP, "x", y, "y")?;
    y.check_disjoint(OP, "y", x, "x")?;
    y.check_disjoint(OP, "y", w, "w")?;
    let y_stride = y.check_rows(OP, "y")?;
    let chain = options.steps();
    let steps = chain.lower(OP, y, size)?;
    for (arg, value) in [("m", problem.m), ("n", problem.n), ("k", problem.k)] {
        if value > Problem::MAX_SIZE {
            return Err(Error::value(OP, arg, format!("at most {}", Problem::MAX_SIZE), value));
        }
    }
    if problem.m == 0 {
        return Ok(());
    }

    let device = x.device();
    let compute_units = u64::from(device.info().compute_units).max(1);
    let variant = format!("{}_{}", T::DTYPE.name(), options.layout.name());
    let kernel: TileFunction<A16w16Args> = match options.tile {
        Some(name) => KERNELS.named_function(device, OP, FAMILY, &variant, name)?,
        None => {
            let dims = [("m", problem.m), ("n", problem.n), ("k", problem.k)];
            let score = |tile: &_| Tile::of(tile).score(problem, compute_units);
            KERNELS.best_function(device, OP, FAMILY, &variant, &dims, score)?
        }
    };
    let tile = Tile::of(kernel.tile());
    let split = match options.splits {
        None => tile.split(problem, compute_units),
        Some(splits) => {
            if splits == 0 || u64::from(splits) > problem.k {
                let constraint = format!("1 to k = {}", problem.k);
                return Err(Error::value(OP, "splits", constraint, splits));
            }
            Split::new(problem.k, tile.k, splits.into())
        }
    };
    let grid = tile.grid(problem, split).ok_or_else(|| {
        let (most, [m, n]) = (tile.most_workgroups(), [tile.m, tile.n]);
        let constraint = format!("at most {most} blocks of {m} x {n}, one per share of k");
        Error::value(OP, "y", constraint, format!("{size:?} in {} shares", split.count))
    })?;

    let [x_longest, w_longest] = tile.longest_strides(problem);
    let x = aligned(x, "x", x_longest)?;
    let w = aligned(w, "w", w_longest)?;
    let mut args = A16w16Args {
        x: erased(&x),
        w: erased(&w),
        y: erased(y),
        x_stride: x.check_rows(OP, "x")? as i64,
        w_stride: w.check_rows(OP, "w")? as i64,
        y_stride: y_stride as i64,
        m: problem.m as u32,
        n: problem.n as u32,
        k: problem.k as u32,
        split_k: split.share as u32,
        splits: split.count as u32,
        y_type: Y::CODE,
        y_wide: wide::<Y>(y.ptr().address(), y_stride as u64, tile.m),
        ..A16w16Args::new(&steps)
    };
    let stream = x.stream();
    let mut uses = vec![x.as_input(), w.as_input(), y.as_output()];
    uses.extend(chain.tensors());
    if split.count == 1 {
        return stream.submit(&uses, || {
            // SAFETY: the kernel reads the operands and writes y within the shapes and strides that
            // were checked above.
            unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
        });
    }

    // Partial sums first, without epilogue; rows of them are aligned.
    let reduce: TileFunction<A16w16Args> =
        KERNELS.named_function(device, OP, FAMILY, "reduce", "any")?;
    let width = size[1].next_multiple_of(RUN as usize);
    let sums = Tensor::<f32>::empty(stream, &[split.count as usize, size[0], width])?;
    let partial = A16w16Args {
        y: erased(&sums),
        y_stride: width as i64,
        split_stride: (size[0] * width) as i64,
        y_type: f32::CODE,
        y_wide: wide::<f32>(sums.ptr().address(), width as u64, tile.m),
        ..A16w16Args { step_count: 0, ..args }
    };
    args.x = erased(&sums);
    args.x_stride = partial.y_stride;
    args.split_stride = partial.split_stride;
    let reduce_grid = elementwise_grid(&reduce, size[0] * width, compute_units);
    stream.submit(&uses, || {
        // SAFETY: as above; the partial sums have a place of their own in `sums`.
        unsafe { kernel.launch(stream, [grid, 1, 1], &partial) }?;
        // SAFETY: it reads `sums` as they were written, and writes y as above.
        unsafe { reduce.launch(stream, reduce_grid, &args) }
    })
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/a16w16.hip` declares them.
    pub(crate) struct A16w16Args {
        pub(crate) x: DevicePtr<u8>,
        pub(crate) w: DevicePtr<u8>,
        pub(crate) y: DevicePtr<u8>,
        pub(crate) tensor0: DevicePtr<u8>,
        pub(crate) tensor1: DevicePtr<u8>,
        pub(crate) tensor2: DevicePtr<u8>,
        pub(crate) tensor3: DevicePtr<u8>,
        pub(crate) tensor4: DevicePtr<u8>,
        pub(crate) tensor5: DevicePtr<u8>,
        pub(crate) tensor6: DevicePtr<u8>,
        pub(crate) tensor7: DevicePtr<u8>,
        pub(crate) x_stride: i64,
        pub(crate) w_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) split_stride: i64,
        pub(crate) m: u32,
        pub(crate) n: u32,
        pub(crate) k: u32,
        pub(crate) split_k: u32,
        pub(crate) splits: u32,
        pub(crate) y_type: u32,
        pub(crate) y_wide: u32,
        pub(crate) step_count: u32,
        pub(crate) steps: [StepArg; MAX_STEPS],
    }
}

impl A16w16Args {
    /// Only the epilogue.
    fn new(steps: &Lowered) -> Self {
        let [tensor0, tensor1, tensor2, tensor3, tensor4, tensor5, tensor6, tensor7] =
            steps.tensors;
        Self {
            x: DevicePtr::NULL,
            w: DevicePtr::NULL,
            y: DevicePtr::NULL,
            tensor0,
            tensor1,
            tensor2,
            tensor3,
            tensor4,
            tensor5,
            tensor6,
            tensor7,
            x_stride: 0,
            w_stride: 0,
            y_stride: 0,
            split_stride: 0,
            m: 0,
            n: 0,
            k: 0,
            split_k: 0,
            splits: 1,
            y_type: 0,
            y_wide: 0,
            step_count: steps.count,
            steps: steps.steps,
        }
    }
}

const FAMILY: &str = "a16w16";

/// The sizes of the product, if the operands fit together.
fn problem_of<T: Real16>(x: &Tensor<T>, w: &Tensor<T>, layout: Layout) -> Result<Problem> {
    let size = |arg, tensor: &Tensor<T>, transposed| match *tensor.shape() {
        [k, rows] if transposed => Ok((rows, k)),
        [rows, k] => Ok((rows, k)),
        ref shape => Err(Error::Shape {
            op: OP,
            arg,
            expected: if transposed { "[k, rows]" } else { "[rows, k]" }.into(),
            got: shape.to_vec(),
            why: format!("a matrix, in layout {layout:?}"),
        }),
    };
    let (m, k) = size("x", x, layout.x_is_transposed())?;
    let (n, w_k) = size("w", w, layout.w_is_transposed())?;
    if w_k != k || n == 0 || k == 0 {
        let expected =
            if layout.w_is_transposed() { format!("[{k}, n]") } else { format!("[n, {k}]") };
        let why = format!("k as in x {:?} in layout {layout:?}, and neither n nor k 0", x.shape());
        return Err(Error::Shape { op: OP, arg: "w", expected, got: w.shape().to_vec(), why });
    }
    let transposed = [layout.x_is_transposed(), layout.w_is_transposed()];
    Ok(Problem { m: m as u64, n: n as u64, k: k as u64, transposed })
}

/// The operand as the main kernels take it: rows of whole 16-byte pieces, at most `longest` elements
/// apart. A copy, unless it is so already.
fn aligned<T: Real16>(operand: &Tensor<T>, arg: &'static str, longest: u64) -> Result<Tensor<T>> {
    let [count, width] = [operand.rows(), operand.row_len()];
    let stride = operand.check_rows(OP, arg)?;
    let run = RUN as usize;
    let whole = width.is_multiple_of(run) && stride.is_multiple_of(run);
    let address = operand.ptr().address();
    if address.is_multiple_of(16) && whole && stride as u64 <= longest {
        return Ok(operand.view());
    }
    let padded = width.next_multiple_of(run);
    if padded as u64 > longest {
        let constraint = format!("rows of at most {} elements", longest / RUN * RUN);
        return Err(Error::value(OP, arg, constraint, width));
    }
    let device = operand.device();
    let pack: TileFunction<A16w16Args> =
        KERNELS.named_function(device, OP, FAMILY, "pack", "any")?;
    let copy = Tensor::<T>::empty(operand.stream(), &[count, padded])?;
    let args = A16w16Args {
        x: erased(operand),
        y: erased(&copy),
        x_stride: stride as i64,
        y_stride: padded as i64,
        m: count as u32,
        n: width as u32,
        ..A16w16Args::new(&Lowered::default())
    };
    let grid = elementwise_grid(&pack, count * padded, u64::from(device.info().compute_units));
    let stream = operand.stream();
    stream.submit(&[operand.as_input()], || {
        // SAFETY: it reads the operand within its shape, and fills `copy`.
        unsafe { pack.launch(stream, grid, &args) }
    })?;
    // The columns that were added are zeros, and no part of the operand.
    copy.narrow(1, 0..width)
}

/// Workgroups for as many runs of elements, each a lane's work: not more than keep the device busy.
fn elementwise_grid(
    kernel: &TileFunction<A16w16Args>,
    elements: usize,
    compute_units: u64,
) -> [u32; 3] {
    let enough = (elements as u64).div_ceil(RUN * u64::from(kernel.tile().threads));
    [enough.clamp(1, compute_units.max(1) * 8) as u32, 1, 1]
}

/// Whether runs of every row may be stored at once, into a buffer of the `rows` that a block has:
/// they are aligned to 16 bytes or their size, and the buffer stays below its limit.
fn wide<T: Element>(address: u64, stride: u64, rows: u64) -> u32 {
    let aligned = |bytes: u64| bytes.is_multiple_of(16);
    let row_bytes = stride.saturating_mul(size_of::<T>() as u64);
    let near = row_bytes.saturating_mul(rows) < 1 << 31;
    u32::from(aligned(address) && aligned(row_bytes) && near)
}

/// A tensor's address without its type.
fn erased<T: Element>(tensor: &Tensor<T>) -> DevicePtr<u8> {
    DevicePtr::new(tensor.ptr().address())
}

#[cfg(test)]
mod tests {
    use hk_core::dtype::bf16;

    use super::*;

    #[test]
    fn a_block_is_stored_through_a_buffer_only_if_one_can_hold_it() {
        let widest = |rows: u64, size: u64| (1u64 << 31) / (rows * size);
        for rows in [16, 64, 256] {
            for stride in [widest(rows, 4), 4_210_752, 1 << 31, 1 << 40, u64::MAX / 4] {
                // The descriptor's size, as `store_block` computes it, in enough bits.
                let bytes = (u128::from(rows - 1) * u128::from(stride) + 256) * 4;
                assert!(wide::<f32>(0, stride, rows) == 0 || bytes < 1 << 31, "{rows} {stride}");
            }
            assert_eq!(wide::<f32>(4096, widest(rows, 4) - 4, rows), 1);
            assert_eq!(wide::<bf16>(4096, widest(rows, 2) - 8, rows), 1);
            assert_eq!(wide::<f32>(4096, widest(rows, 4), rows), 0);
        }
        assert_eq!(wide::<f32>(4096, 4_210_752, 256), 0, "2^32 bytes and a little");
        assert_eq!((wide::<f32>(8, 64, 16), wide::<f32>(16, 66, 16)), (0, 0), "not aligned");
    }
}
