//! Products of bf16 or f16 matrices: `y = epilogue(x w^T)`.
//!
//! | | |
//! |---|---|
//! | Shapes | x `(m, k)`, w `(n, k)` -> y `(m, n)`; any sizes; each operand may be stored transposed |
//! | Dtypes | x and w bf16 or f16; y bf16, f16 or f32 |
//! | Numerics | f32 accumulation, one rounding at the end; bitwise deterministic, also when k is split |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |

use hk_core::dtype::{DType, Element, Real, Real16};
use hk_core::op::epilogue::{
    Epilogue, Extent, Lowered, MAX_STEPS, MAX_TENSORS, Operand, Step, StepArg,
};
use hk_core::op::tiling::{Problem, RUN, Split, Tile};
use hk_core::op::{Arguments, Call};
use hk_core::{
    Activation, AnyPtr, Device, DevicePtr, Error, Result, Tensor, TensorSlice, TileFunction,
    kernel_args,
};

use crate::KERNELS;

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

    /// Adds a tensor of `(m, n)`, which may be the output: see [`TensorSlice::in_place`].
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

    /// Declares the operands of the epilogue, and puts it into the kernel's form.
    fn lower(&self, args: &mut Arguments) -> Result<Lowered> {
        let mut steps = Lowered::default();
        if let Some(bias) = self.bias {
            steps.push(args, ["bias"; 3], Step::Add(bias, Extent::Columns, 1.0))?;
        }
        if let Some(activation) = self.activation {
            steps.push(args, ["activation"; 3], Step::Activate(activation))?;
        }
        if let Some(residual) = self.residual {
            steps.push(args, ["residual"; 3], Step::Add(residual, Extent::Full, 1.0))?;
        }
        self.epilogue.lower(args, &mut steps)?;
        Ok(steps)
    }
}

/// Multiplies `x` by the transpose of `w`: `y[i, j] = epilogue(sum_k x[i, k] w[j, k])`.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, n or k is 0, or an operand of the epilogue
/// has the wrong shape; [`Error::Value`] if the options ask for what there is not, a stride is too
/// long, or the epilogue has too many steps; [`Error::NoTile`] if there is no tile of that name.
pub fn gemm_a16w16<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
) -> Result<Tensor<Y>> {
    let (_, Problem { m, n, .. }, _) = operands(x, w, options.layout)?;
    let mut y = Tensor::empty(x.stream(), &[m as usize, n as usize])?;
    gemm_a16w16_into(x, w, options, &mut y)?;
    Ok(y)
}

/// As [`gemm_a16w16`], into `y`, whose rows may be any distance apart.
///
/// # Errors
/// As [`gemm_a16w16`]; [`Error::Shape`] also if `y` is not `(m, n)`, [`Error::Alias`] if it overlaps
/// an operand, unless it is the same view as one of `(m, n)` of the epilogue's.
pub fn gemm_a16w16_into<T: Real16, Y: Real>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    options: &GemmOptions<'_>,
    y: &mut TensorSlice<Y>,
) -> Result<()> {
    let (mut args, problem, strides) = operands(x, w, options.layout)?;
    let steps = options.lower(&mut args)?;
    let y_stride = args.output("y", y, &["m", "n"]).rows()?;
    if let Some(splits) = options.splits {
        let holds = (1..=problem.k).contains(&splits.into());
        args.require(holds, "splits", format_args!("1 to k = {}", problem.k), splits)?;
    }
    let mut call = args.check()?;
    if problem.m == 0 {
        return Ok(());
    }

    let mut plan = Plan::new(&call);
    let Choice { kernel, tile, split, grid } = plan.choose(T::DTYPE, problem, options)?;
    let longest = tile.longest_strides(problem);
    let widths = [
        copied_width(x, "x", strides[0], longest[0])?,
        copied_width(w, "w", strides[1], longest[1])?,
    ];
    let sums = Sums::of(problem, split);
    let [x_copy, w_copy, sums_at] = call.workspace([
        x.rows() * widths[0].unwrap_or(0) * size_of::<T>(),
        w.rows() * widths[1].unwrap_or(0) * size_of::<T>(),
        sums.map_or(0, |sums| sums.bytes(split)),
    ])?;
    let (x, x_stride) = plan.aligned(x, strides[0], x_copy, widths[0])?;
    let (w, w_stride) = plan.aligned(w, strides[1], w_copy, widths[1])?;
    let product = A16w16Args {
        x,
        w,
        y: y.ptr().any(),
        x_stride,
        w_stride,
        y_stride,
        m: problem.m as u32,
        n: problem.n as u32,
        k: problem.k as u32,
        split_k: split.share as u32,
        splits: split.count as u32,
        y_type: Y::CODE,
        y_store: StoreUnit::of::<Y>(y.ptr().address(), y_stride as u64, tile.m, &steps) as u32,
        ..A16w16Args::new(&steps)
    };
    match sums {
        None => plan.launches.push((kernel, [grid, 1, 1], product)),
        Some(sums) => plan.in_shares(kernel, grid, product, tile.m, (sums, sums_at.cast()))?,
    }
    call.submit(|stream| {
        for (kernel, grid, args) in &plan.launches {
            // SAFETY: the kernels read the operands, and what the ones before have written to
            // copies and sums, and write y, within the shapes and strides that were checked.
            unsafe { kernel.launch(stream, *grid, args) }?;
        }
        Ok(())
    })
}

/// The launches of a product, in order.
struct Plan {
    device: Device,
    launches: Vec<(TileFunction<A16w16Args>, [u32; 3], A16w16Args)>,
}

/// How the main kernel is launched.
struct Choice {
    kernel: TileFunction<A16w16Args>,
    tile: Tile,
    split: Split,
    grid: u32,
}

/// Partial sums of the shares of k, in f32, with rows that are aligned, too.
#[derive(Debug, Clone, Copy)]
struct Sums {
    width: usize,
    of_share: usize,
}

impl Sums {
    fn of(problem: Problem, split: Split) -> Option<Self> {
        let width = (problem.n as usize).next_multiple_of(RUN as usize);
        (split.count > 1).then_some(Self { width, of_share: problem.m as usize * width })
    }

    fn bytes(&self, split: Split) -> usize {
        split.count as usize * self.of_share * size_of::<f32>()
    }
}

impl Plan {
    fn new(call: &Call) -> Self {
        Self { device: call.device().clone(), launches: Vec::new() }
    }

    fn compute_units(&self) -> u64 {
        u64::from(self.device.info().compute_units).max(1)
    }

    fn choose(&self, dtype: DType, problem: Problem, options: &GemmOptions<'_>) -> Result<Choice> {
        let variant = format!("{}_{}", dtype.name(), options.layout.name());
        let kernel: TileFunction<A16w16Args> = match options.tile {
            Some(name) => KERNELS.named_function(&self.device, OP, FAMILY, &variant, name)?,
            None => {
                let dims = [("m", problem.m), ("n", problem.n), ("k", problem.k)];
                let score = |tile: &_| Tile::of(tile).score(problem, self.compute_units());
                KERNELS.best_function(&self.device, OP, FAMILY, &variant, &dims, score)?
            }
        };
        let tile = Tile::of(kernel.tile());
        let split = match options.splits {
            None => tile.split(problem, self.compute_units()),
            Some(splits) => Split::new(problem.k, tile.k, splits.into()),
        };
        let grid = tile.grid(problem, split).ok_or_else(|| {
            let (most, [m, n]) = (tile.most_workgroups(), [tile.m, tile.n]);
            let constraint = format!("at most {most} blocks of {m} x {n}, one per share of k");
            let got = format!("[{}, {}] in {} shares", problem.m, problem.n, split.count);
            Error::value(OP, "y", constraint, got)
        })?;
        Ok(Choice { kernel, tile, split, grid })
    }

    /// An operand as the main kernels take it, with the distance between its rows: a copy that is
    /// made before, if it is to have one.
    fn aligned<T: Real16>(
        &mut self,
        operand: &TensorSlice<T>,
        stride: i64,
        copy: DevicePtr<u8>,
        copied_width: Option<usize>,
    ) -> Result<(AnyPtr, i64)> {
        let Some(width) = copied_width else { return Ok((operand.ptr().any(), stride)) };
        let args = A16w16Args {
            x: operand.ptr().any(),
            y: copy.cast::<T>().any(),
            x_stride: stride,
            y_stride: width as i64,
            m: operand.rows() as u32,
            n: operand.row_len() as u32,
            ..A16w16Args::new(&Lowered::default())
        };
        self.elementwise("pack", operand.rows() * width, args)?;
        Ok((args.y, args.y_stride))
    }

    /// A product whose shares of k are summed by a second kernel, which has the epilogue.
    fn in_shares(
        &mut self,
        kernel: TileFunction<A16w16Args>,
        grid: u32,
        product: A16w16Args,
        block_rows: u64,
        (sums, at): (Sums, DevicePtr<f32>),
    ) -> Result<()> {
        let none = Lowered::default();
        let partial = A16w16Args {
            y: at.any(),
            y_stride: sums.width as i64,
            split_stride: sums.of_share as i64,
            y_type: f32::CODE,
            y_store: StoreUnit::of::<f32>(at.address(), sums.width as u64, block_rows, &none)
                as u32,
            step_count: 0,
            ..product
        };
        let reduced = A16w16Args {
            x: partial.y,
            x_stride: partial.y_stride,
            split_stride: partial.split_stride,
            ..product
        };
        self.launches.push((kernel, [grid, 1, 1], partial));
        self.elementwise("reduce", sums.of_share, reduced)
    }

    /// A kernel whose lanes each take runs of elements: not more workgroups than keep the device busy.
    fn elementwise(&mut self, name: &str, elements: usize, args: A16w16Args) -> Result<()> {
        let kernel = KERNELS.named_function(&self.device, OP, FAMILY, name, "any")?;
        let enough = (elements as u64).div_ceil(RUN * u64::from(kernel.tile().threads));
        let grid = enough.clamp(1, self.compute_units() * 8) as u32;
        self.launches.push((kernel, [grid, 1, 1], args));
        Ok(())
    }
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/a16w16.hip` declares them.
    pub(crate) struct A16w16Args {
        pub(crate) x: AnyPtr,
        pub(crate) w: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) tensors: [AnyPtr; MAX_TENSORS],
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
        pub(crate) y_store: u32,
        pub(crate) step_count: u32,
        pub(crate) steps: [StepArg; MAX_STEPS],
    }
}

impl A16w16Args {
    /// Only the epilogue.
    fn new(steps: &Lowered) -> Self {
        Self {
            x: AnyPtr::NULL,
            w: AnyPtr::NULL,
            y: AnyPtr::NULL,
            tensors: steps.tensors,
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
            y_store: 0,
            step_count: steps.count,
            steps: steps.steps,
        }
    }
}

const FAMILY: &str = "a16w16";

/// Declares the operands; with the sizes of the product, and the distances between rows.
fn operands<T: Real16>(
    x: &TensorSlice<T>,
    w: &TensorSlice<T>,
    layout: Layout,
) -> Result<(Arguments, Problem, [i64; 2])> {
    let transposed = [layout.x_is_transposed(), layout.w_is_transposed()];
    let mut args = Arguments::new(OP);
    let x_dims = if transposed[0] { &["k", "m"] } else { &["m", "k"] };
    let x_stride = args.input("x", x, x_dims).rows()?;
    args.limit("m", 0..=Problem::MAX_SIZE as usize)?;
    args.limit("k", 1..=Problem::MAX_SIZE as usize)?;
    let w_dims = if transposed[1] { &["k", "n"] } else { &["n", "k"] };
    let w_stride = args.input("w", w, w_dims).rows()?;
    args.limit("n", 1..=Problem::MAX_SIZE as usize)?;
    let [m, n, k] = args.sizes(["m", "n", "k"])?.map(|size| size as u64);
    Ok((args, Problem { m, n, k, transposed }, [x_stride, w_stride]))
}

/// Length of the rows of a copy of the operand as the main kernels take it: of whole 16-byte pieces,
/// at most `longest` elements; none if the operand is so already. What is added is zeros.
fn copied_width<T: Real16>(
    operand: &TensorSlice<T>,
    arg: &'static str,
    stride: i64,
    longest: u64,
) -> Result<Option<usize>> {
    let (width, stride) = (operand.row_len() as u64, stride as u64);
    let whole = width.is_multiple_of(RUN) && stride.is_multiple_of(RUN);
    if operand.ptr().address().is_multiple_of(16) && whole && stride <= longest {
        return Ok(None);
    }
    let padded = width.next_multiple_of(RUN);
    if padded > longest {
        let constraint = format!("rows of at most {} elements", longest / RUN * RUN);
        return Err(Error::value(OP, arg, constraint, width));
    }
    Ok(Some(padded as usize))
}

/// The largest units in which results may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreUnit {
    Element,
    /// Rows are aligned to 16 bytes, and a buffer can hold those of a block.
    Run,
    /// And there is no step, or only a bias whose runs are aligned.
    Block,
}

impl StoreUnit {
    /// That of a matrix of which a block has so many rows.
    fn of<T: Element>(address: u64, stride: u64, rows: u64, steps: &Lowered) -> Self {
        let aligned = |bytes: u64| bytes.is_multiple_of(16);
        let row_bytes = stride.saturating_mul(size_of::<T>() as u64);
        let near = row_bytes.saturating_mul(rows) < 1 << 31;
        match aligned(address) && aligned(row_bytes) && near {
            false => Self::Element,
            true if steps.only_bias() => Self::Block,
            true => Self::Run,
        }
    }
}

#[cfg(test)]
mod tests {
    use hk_core::dtype::bf16;

    use super::*;

    #[test]
    fn a_block_is_stored_through_a_buffer_only_if_one_can_hold_it() {
        let none = Lowered::default();
        let widest = |rows: u64, size: u64| (1u64 << 31) / (rows * size);
        let f32s = |address, stride, rows| StoreUnit::of::<f32>(address, stride, rows, &none);
        for rows in [16, 64, 256] {
            for stride in [widest(rows, 4), 4_210_752, 1 << 31, 1 << 40, u64::MAX / 4] {
                // The descriptor's size, as `store_block` computes it, in enough bits.
                let bytes = (u128::from(rows - 1) * u128::from(stride) + 256) * 4;
                let unit = f32s(0, stride, rows);
                assert!(unit == StoreUnit::Element || bytes < 1 << 31, "{rows} {stride}");
            }
            assert_eq!(f32s(4096, widest(rows, 4) - 4, rows), StoreUnit::Block);
            let bf16s = StoreUnit::of::<bf16>(4096, widest(rows, 2) - 8, rows, &none);
            assert_eq!(bf16s, StoreUnit::Block);
            assert_eq!(f32s(4096, widest(rows, 4), rows), StoreUnit::Element);
        }
        assert_eq!(f32s(4096, 4_210_752, 256), StoreUnit::Element, "2^32 bytes and a little");
        let unaligned = [f32s(8, 64, 16), f32s(16, 66, 16)];
        assert_eq!(unaligned, [StoreUnit::Element; 2], "not aligned");
    }
}
