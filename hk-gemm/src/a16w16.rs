//! The core of products of 16-bit operands: arguments of `kernels/a16w16.hip`, and the launches that
//! a product takes.

use hk_core::dtype::{Element, Real, Real16};
use hk_core::op::Call;
use hk_core::op::epilogue::{Lowered, MAX_STEPS, MAX_TENSORS, StepArg};
use hk_core::op::tiling::{Problem, RUN, Split, Tile};
use hk_core::{AnyPtr, Device, DevicePtr, Error, Result, TensorSlice, TileFunction, kernel_args};

use crate::KERNELS;

const CORE: &str = "a16w16";

/// A product whose arguments are right.
pub(crate) struct Product<'a, T: Real16, Y: Real> {
    pub(crate) op: &'static str,
    pub(crate) x: &'a TensorSlice<T>,
    pub(crate) w: &'a TensorSlice<T>,
    pub(crate) y: &'a mut TensorSlice<Y>,
    /// Distances between rows of x, w and y.
    pub(crate) strides: [i64; 3],
    pub(crate) problem: Problem,
    /// How x and w are stored, as the kernel's variants name it.
    pub(crate) layout: &'static str,
    pub(crate) steps: Lowered,
    /// Shares of k at most, and the tile configuration, if they are chosen.
    pub(crate) splits: Option<u32>,
    pub(crate) tile: Option<&'a str>,
}

impl<T: Real16, Y: Real> Product<'_, T, Y> {
    /// Launches it, if it has rows.
    ///
    /// # Errors
    /// [`Error::NoTile`] if there is no tile of that name, [`Error::Value`] if the tile cannot
    /// compute a product so large.
    pub(crate) fn launch(self, mut call: Call) -> Result<()> {
        let Self { x, w, ref y, strides, problem, steps, .. } = self;
        if problem.m == 0 {
            return Ok(());
        }
        let mut plan = Plan::new(&call);
        let Choice { kernel, tile, split, grid } = plan.choose(&self)?;
        let longest = tile.longest_strides(problem);
        let widths = [
            copied_width(self.op, x, "x", strides[0], longest[0])?,
            copied_width(self.op, w, "w", strides[1], longest[1])?,
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
            y_stride: strides[2],
            m: problem.m as u32,
            n: problem.n as u32,
            k: problem.k as u32,
            split_k: split.share as u32,
            splits: split.count as u32,
            y_type: Y::CODE,
            y_store: StoreUnit::of::<Y>(y.ptr().address(), strides[2] as u64, tile.m, &steps)
                as u32,
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
}

/// The launches of a product, in order.
struct Plan {
    op: &'static str,
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
        Self { op: call.op(), device: call.device().clone(), launches: Vec::new() }
    }

    fn compute_units(&self) -> u64 {
        u64::from(self.device.info().compute_units).max(1)
    }

    fn choose<T: Real16, Y: Real>(&self, product: &Product<'_, T, Y>) -> Result<Choice> {
        let &Product { op, problem, layout, splits, tile, .. } = product;
        let variant = format!("{}_{layout}", T::DTYPE.name());
        let kernel: TileFunction<A16w16Args> = match tile {
            Some(name) => KERNELS.named_function(&self.device, op, CORE, &variant, name)?,
            None => {
                let dims = [("m", problem.m), ("n", problem.n), ("k", problem.k)];
                let score = |tile: &_| Tile::of(tile).score(problem, self.compute_units());
                KERNELS.best_function(&self.device, op, CORE, &variant, &dims, score)?
            }
        };
        let tile = Tile::of(kernel.tile());
        let split = match splits {
            None => tile.split(problem, self.compute_units()),
            Some(splits) => Split::new(problem.k, tile.k, splits.into()),
        };
        let grid = tile.grid(problem, split).ok_or_else(|| {
            let (most, [m, n]) = (tile.most_workgroups(), [tile.m, tile.n]);
            let constraint = format!("at most {most} blocks of {m} x {n}, one per share of k");
            let got = format!("[{}, {}] in {} shares", problem.m, problem.n, split.count);
            Error::value(op, "y", constraint, got)
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
        let kernel = KERNELS.named_function(&self.device, self.op, CORE, name, "any")?;
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

/// Length of the rows of a copy of the operand as the main kernels take it: of whole 16-byte pieces,
/// at most `longest` elements; none if the operand is so already. What is added is zeros.
fn copied_width<T: Real16>(
    op: &'static str,
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
        return Err(Error::value(op, arg, constraint, width));
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
