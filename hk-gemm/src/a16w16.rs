//! Products of bf16 or f16 matrices: `y = epilogue(x w^T)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; each operand may be stored transposed |
//! | Dtypes | x and w bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 accumulation, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |

use hk_core::dtype::{Element, Real, Real16};
use hk_core::{DevicePtr, Error, Result, Tensor, TileFunction, kernel_args};

use crate::KERNELS;
use crate::epilogue::{Activation, Epilogue, Lowered, MAX_STEPS, Operand, StepArg};
use crate::tiling::{Problem, Split, Tile};

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

    /// Cuts k into about so many shares that are computed side by side, instead of as many as fill
    /// the device.
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
    let steps = options.steps().lower(OP, y, size)?;
    for (arg, value) in [("m", problem.m), ("n", problem.n), ("k", problem.k)] {
        if value > MAX_SIZE {
            return Err(Error::value(OP, arg, format!("at most {MAX_SIZE}"), value));
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
            let most = problem.k.div_ceil(tile.k);
            if splits == 0 || u64::from(splits) > most {
                let constraint = format!("1 to {most}, the steps along k of a tile");
                return Err(Error::value(OP, "splits", constraint, splits));
            }
            Split::new(problem.k, tile.k, splits.into())
        }
    };
    let grid = tile.blocks(problem) * split.count;
    if grid > MAX_SIZE {
        return Err(Error::value(OP, "y", format!("at most {MAX_SIZE} tiles"), grid));
    }
    let grid = grid as u32;

    let x = aligned(x, "x", tile.m.max(tile.k))?;
    let w = aligned(w, "w", tile.n.max(tile.k))?;
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
        y_wide: wide(y, y_stride, tile.m),
        ..A16w16Args::new(&steps)
    };
    let stream = y.stream();
    if split.count == 1 {
        // SAFETY: the kernel reads the operands and writes y within the shapes and strides that
        // were checked above.
        return unsafe { kernel.launch(stream, [grid, 1, 1], &args) };
    }

    // Partial sums first, without epilogue; rows of them are aligned.
    let reduce: TileFunction<A16w16Args> =
        KERNELS.named_function(device, OP, FAMILY, "reduce", "any")?;
    let width = size[1].next_multiple_of(RUN);
    let sums = Tensor::<f32>::empty(stream, &[split.count as usize, size[0], width])?;
    let partial = A16w16Args {
        y: erased(&sums),
        y_stride: width as i64,
        split_stride: (size[0] * width) as i64,
        y_type: f32::CODE,
        y_wide: 1,
        ..A16w16Args { step_count: 0, ..args }
    };
    args.x = erased(&sums);
    args.x_stride = partial.y_stride;
    args.split_stride = partial.split_stride;
    // SAFETY: as above; the partial sums have a place of their own in `sums`.
    unsafe { kernel.launch(stream, [grid, 1, 1], &partial) }?;
    let grid = elementwise_grid(&reduce, size[0] * width / RUN, compute_units);
    // SAFETY: it reads `sums` as they were written, and writes y as above.
    unsafe { reduce.launch(stream, grid, &args) }
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

/// Elements that a lane moves together: rows of operands are aligned to so many.
const RUN: usize = 8;

/// Largest m, n or k: the kernels count in 32 bits.
const MAX_SIZE: u64 = i32::MAX as u64;

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
    Ok(Problem { m: m as u64, n: n as u64, k: k as u64 })
}

/// The operand as the main kernels take it: rows of whole 16-byte pieces, not too far apart for
/// 32-bit offsets within the `rows` that a tile may have. A copy, unless it is so already.
fn aligned<T: Real16>(operand: &Tensor<T>, arg: &'static str, rows: u64) -> Result<Tensor<T>> {
    let [count, width] = [operand.rows(), operand.row_len()];
    let stride = operand.check_rows(OP, arg)?;
    let far = |stride: usize| rows * (stride as u64) * 2 >= 1 << 31;
    let whole = |elements: usize| elements.is_multiple_of(RUN);
    let address = operand.ptr().address();
    if address.is_multiple_of(16) && whole(width) && whole(stride) && !far(stride) {
        return Ok(operand.view());
    }
    let padded = width.next_multiple_of(RUN);
    if far(padded) {
        let constraint = format!("rows shorter than {} elements", (1u64 << 30) / rows);
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
    let compute_units = u64::from(device.info().compute_units);
    let grid = elementwise_grid(&pack, count * padded / RUN, compute_units);
    // SAFETY: it reads the operand within its shape, and fills `copy`.
    unsafe { pack.launch(operand.stream(), grid, &args) }?;
    // The columns that were added are zeros, and no part of the operand.
    copy.narrow(1, 0..width)
}

/// Workgroups for `runs` pieces of work of a lane each: not more than keep the device busy.
fn elementwise_grid(
    kernel: &TileFunction<A16w16Args>,
    runs: usize,
    compute_units: u64,
) -> [u32; 3] {
    let enough = runs.div_ceil(kernel.tile().threads as usize);
    [enough.clamp(1, compute_units.max(1) as usize * 8) as u32, 1, 1]
}

/// Whether every run of a row is aligned to 16 bytes or its size, and rows of a tile are near enough
/// for 32-bit offsets.
fn wide<T: Element>(y: &Tensor<T>, stride: usize, rows: u64) -> u32 {
    let aligned = |bytes: u64| bytes.is_multiple_of(16);
    let row_bytes = (stride * size_of::<T>()) as u64;
    let near = row_bytes.saturating_mul(rows) < 1 << 31;
    u32::from(aligned(y.ptr().address()) && aligned(row_bytes) && near)
}

/// A tensor's address without its type.
fn erased<T: Element>(tensor: &Tensor<T>) -> DevicePtr<u8> {
    DevicePtr::new(tensor.ptr().address())
}
