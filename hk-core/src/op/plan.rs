//! The launches of a product: what its main kernel takes is made ready before, and shares of k are added up
//! behind.

use super::Call;
use super::encode::{Encode, EncodeArgs};
use super::epilogue::Lowered;
use super::prequant::{Codes, Prequant, StepScales};
use super::product::{
    Copy, GroupScales, Matrices, Order, Product, ProductArgs, copies_of_blocks, real_code,
};
use super::quant::ByteCode;
use super::quant_rows::{AmaxArgs, MOST_WORKGROUPS, RowQuantArgs, StaticQuantArgs};
use super::rows::RowKernel;
use super::split_cat::SplitCat;
use super::tiling::{Axis, Problem, Split, Tail, Tile};
use crate::dtype::{DType, F8E4M3, Real};
use crate::kernel::{KernelSet, TileConfig};
use crate::launch::KernelArgs;
use crate::{AnyPtr, Device, DevicePtr, Error, Result, Stream, TileFunction};

/// The kernels that add up and pack, and those that quantise.
const SHARED: &str = "product";
const PREQUANT: &str = "prequant";
/// The kernel that makes results codes.
const ENCODE: &str = "encode";
/// The kernel that copies heads.
const SPLIT_CAT: &str = "split_cat";

/// Most workgroups of a launch's second dimension.
const MAX_GRID_Y: u64 = 65_535;

type Launch = Box<dyn FnOnce(&Stream) -> Result<()>>;

/// Launches, in order.
pub(super) struct Plan {
    op: &'static str,
    device: Device,
    kernels: &'static KernelSet,
    compute_units: u64,
    launches: Vec<Launch>,
}

/// How a main kernel is launched.
pub(super) struct Choice<A> {
    pub(super) kernel: TileFunction<A>,
    pub(super) tile: Tile,
    pub(super) split: Split,
}

impl Plan {
    pub(super) fn new(call: &Call, kernels: &'static KernelSet) -> Self {
        let (op, device) = (call.op(), call.device().clone());
        let compute_units = u64::from(device.info().compute_units).max(1);
        Self { op, device, kernels, compute_units, launches: Vec::new() }
    }

    /// For so many of the device's compute units, if they are given.
    pub(super) fn on(mut self, compute_units: Option<u32>) -> Self {
        self.compute_units = compute_units.map_or(self.compute_units, u64::from);
        self
    }

    pub(super) const fn op(&self) -> &'static str {
        self.op
    }

    pub(super) const fn compute_units(&self) -> u64 {
        self.compute_units
    }

    /// The kernel of a core's variant in the tile configuration of that name, or in the one with the
    /// highest `score`.
    pub(super) fn kernel<A: KernelArgs>(
        &self,
        [core, variant]: [&str; 2],
        name: Option<&str>,
        problem: Problem,
        score: impl Fn(&TileConfig) -> f64,
    ) -> Result<TileFunction<A>> {
        let (op, device) = (self.op, &self.device);
        match name {
            Some(name) => self.kernels.named_function(device, op, core, variant, name),
            None => {
                let dims = [("m", problem.m), ("n", problem.n), ("k", problem.k)];
                self.kernels.best_function(device, op, core, variant, &dims, score)
            }
        }
    }

    /// The kernel, tile and shares of k of a product.
    pub(super) fn choose<A: KernelArgs>(&self, product: &Product<'_>) -> Result<Choice<A>> {
        let &Product { core, variant, problem, splits, tile, .. } = product;
        let score = |tile: &_| Tile::of(tile).score(problem, self.compute_units());
        let kernel = self.kernel([core, variant], tile, problem, score)?;
        let tile = Tile::of(kernel.tile());
        let split = match splits {
            None => tile.split(problem, self.compute_units()),
            Some(splits) => tile.split_into(problem, splits.into()),
        };
        Ok(Choice { kernel, tile, split })
    }

    /// Workgroups of a launch with one for each block and share of k.
    pub(super) fn grid(&self, problem: Problem, tile: Tile, split: Split) -> Result<u32> {
        tile.grid(problem, split).ok_or_else(|| {
            let (most, [m, n]) = (tile.most_workgroups(), [tile.m, tile.n]);
            let constraint = format!("at most {most} blocks of {m} x {n}, one per share of k");
            let batch = if problem.batch > 1 { format!("{} x ", problem.batch) } else { "".into() };
            let got = format!("{batch}[{}, {}] in {} shares", problem.m, problem.n, split.count);
            Error::value(self.op, "y", constraint, got)
        })
    }

    /// Launches a kernel after what there is.
    pub(super) fn then<A: KernelArgs + 'static>(
        &mut self,
        kernel: TileFunction<A>,
        grid: [u32; 3],
        args: A,
    ) {
        self.launches.push(Box::new(move |stream| {
            // SAFETY: the kernels read operands, and what those before have written to the workspace that
            // the call has, and write that and results, within the shapes and strides that were checked.
            unsafe { kernel.launch(stream, grid, &args) }
        }));
    }

    /// Launches something else after what there is.
    pub(super) fn last(&mut self, launch: impl FnOnce(&Stream) -> Result<()> + 'static) {
        self.launches.push(Box::new(launch));
    }

    /// Gives the stream everything.
    pub(super) fn submit(self, call: Call) -> Result<()> {
        call.submit(|stream| self.launches.into_iter().try_for_each(|launch| launch(stream)))
    }

    /// Quantises x.
    fn prequantize(&mut self, codes: &Codes, x: &Matrices) -> Result<()> {
        let groups = match codes.form {
            Prequant::Steps(scales) => return self.encode_rows(codes, scales, x),
            Prequant::Groups { k, reciprocal } => (Some(k), reciprocal),
            Prequant::Mx => (None, false),
        };
        let (name, args) = codes.launch(x, groups);
        let kernel = self.kernels.named_function(&self.device, self.op, PREQUANT, name, "any")?;
        let grid = self.grid_of(kernel.tile().threads, codes.runs());
        self.then(kernel, grid, args);
        Ok(())
    }

    /// Makes rows of x codes.
    fn encode_rows(&mut self, codes: &Codes, scales: StepScales, x: &Matrices) -> Result<()> {
        let ([rows, width], [_, x_stride]) = (codes.codes.shape, x.strides);
        let (rows_of_x, width_of_x) = (rows as u32, width as u32);
        let codes_stride = codes.codes.strides[1];
        let (format, at) = (F8E4M3::CODE, DevicePtr::new(codes.scales.ptr.address()));
        if let StepScales::Rows(_) = scales {
            let kernel =
                self.row_kernel(["row_quant", x.dtype.name()], [width, x_stride as u64])?;
            let workgroups = kernel.workgroups(rows as usize);
            let args = RowQuantArgs {
                x: x.ptr,
                codes: codes.codes.ptr,
                scales: at,
                x_stride,
                codes_stride,
                rows: rows_of_x,
                width: width_of_x,
                format,
            };
            self.then_rows(kernel, workgroups, args);
            return Ok(());
        }
        let stride = x_stride.max(codes_stride) as u64;
        let mut args = StaticQuantArgs {
            x: x.ptr,
            scale: DevicePtr::NULL,
            largest: DevicePtr::NULL,
            scale_out: DevicePtr::NULL,
            codes: codes.codes.ptr,
            x_stride,
            codes_stride,
            workgroups: 0,
            rows: rows_of_x,
            width: width_of_x,
            format,
            divides: 0,
        };
        if let StepScales::Given(scale) = scales {
            (args.scale, args.divides) = (scale, 1);
        } else {
            let variant = format!("amax_{}", x.dtype.name());
            let amax = self.row_kernel(["static_quant", &variant], [width, x_stride as u64])?;
            let workgroups = amax.workgroups(rows as usize).min(MOST_WORKGROUPS);
            (args.largest, args.scale_out) = (codes.largest(), at);
            args.workgroups = workgroups;
            let (x, largest, width) = (x.ptr, codes.largest(), width_of_x);
            let of_all = AmaxArgs { x, largest, x_stride, rows: rows_of_x, width };
            self.then_rows(amax, workgroups, of_all);
        }
        let kernel = self.row_kernel(["static_quant", x.dtype.name()], [width, stride])?;
        let workgroups = kernel.workgroups(rows as usize);
        self.then_rows(kernel, workgroups, args);
        Ok(())
    }

    /// The kernel of a core's variant for rows of so many elements, at most so far apart.
    fn row_kernel<A: KernelArgs>(
        &self,
        [core, variant]: [&str; 2],
        [width, stride]: [u64; 2],
    ) -> Result<RowKernel<A>> {
        let (op, device) = (self.op, &self.device);
        let sizes = [("n", width), ("stride", stride)];
        let function = self.kernels.function(device, op, core, variant, &sizes)?;
        RowKernel::of((op, device), function, width as usize, stride as i64)
    }

    /// Launches a kernel of rows after what there is.
    fn then_rows<A: KernelArgs + 'static>(
        &mut self,
        kernel: RowKernel<A>,
        workgroups: u32,
        args: A,
    ) {
        self.last(move |stream| {
            // SAFETY: as in `then`.
            unsafe { kernel.launch_on(stream, workgroups, &args) }
        });
    }

    /// Quantises and copies what is to be, to these places.
    fn operands(
        &mut self,
        sources: Sources,
        groups: Option<GroupScales>,
        [turned_at, codes_at, scales_at, x_at, w_at, x_blocks_at, w_blocks_at]: [DevicePtr<u8>; 7],
    ) -> Result<Operands> {
        let Sources { x, w, mut blocks, turned, codes, copies } = sources;
        let mut groups = groups.unwrap_or(GroupScales::NONE);
        let x = match codes {
            None => self.aligned(x, x_at, copies[0])?,
            Some(codes) => {
                let codes = codes.at([codes_at, scales_at]);
                let x = self.aligned(x, turned_at, turned)?;
                self.prequantize(&codes, &x)?;
                match codes.form {
                    Prequant::Mx => blocks[0] = Some(codes.scales),
                    Prequant::Groups { .. } => {
                        groups.tensors[0] = scales_at.cast();
                        groups.strides[0] = [codes.scales.strides[1], 1];
                        groups.batch[0] = codes.scales.strides[0];
                    }
                    Prequant::Steps(_) => (),
                }
                self.aligned(codes.codes, x_at, copies[0])?
            }
        };
        let w = self.aligned(w, w_at, copies[1])?;
        let mut aligned = |of: Option<Matrices>, at, copy| match of {
            Some(of) => self.aligned(of, at, copy),
            None => Ok(Matrices::NONE),
        };
        let x_blocks = aligned(blocks[0], x_blocks_at, copies[2])?;
        let w_blocks = aligned(blocks[1], w_blocks_at, copies[3])?;
        Ok(Operands { x, w, blocks: [x_blocks, w_blocks], groups })
    }

    /// Makes results at that place codes.
    fn encode(&mut self, encode: &Encode, at: DevicePtr<u8>) -> Result<()> {
        let kernel = self.kernels.named_function::<EncodeArgs>(
            &self.device,
            self.op,
            ENCODE,
            "e4m3",
            "any",
        )?;
        let grid = self.grid_of(kernel.tile().threads, encode.runs());
        self.then(kernel, grid, encode.arguments(at));
        Ok(())
    }

    /// Copies what goes beside the first parts of heads.
    fn cat(&mut self, split: &SplitCat) -> Result<()> {
        let Some((args, pieces)) = split.copy() else { return Ok(()) };
        let kernel = self.kernels.named_function(&self.device, self.op, SPLIT_CAT, "cat", "any")?;
        let grid = self.grid_of(kernel.tile().threads, [1, pieces]);
        self.then(kernel, grid, args);
        Ok(())
    }

    /// An operand as the main kernels take it: a copy that is made before, if it is to have one.
    fn aligned(&mut self, of: Matrices, at: DevicePtr<u8>, copy: Copy) -> Result<Matrices> {
        let Copy { matrices, rows, width, parts } = copy;
        if matrices == 0 {
            return Ok(of);
        }
        let per_matrix = if of.strides[0] == 0 { 0 } else { (rows * width) as i64 };
        let (ptr, strides) = (of.ptr.moved_to(at.address()), [per_matrix, width as i64]);
        let copied = Matrices { ptr, shape: [rows, width], strides, order: Order::Rows, ..of };
        if of.order == Order::Columns {
            self.turn(&of, &copied, matrices)?;
            return Ok(copied);
        }
        let [from, to] = [of.shape[1], width].map(|width| width / parts);
        for part in 0..parts {
            let at =
                |ptr: AnyPtr, width: u64| ptr.moved_to(ptr.address() + part * width * of.size());
            let args = ProductArgs {
                x: at(of.ptr, from),
                y: at(ptr, to),
                x_batch: of.strides[0],
                y_batch: per_matrix,
                x_stride: of.strides[1],
                y_stride: width as i64,
                m: of.shape[0] as u32,
                n: from as u32,
                batch: matrices as u32,
                ..ProductArgs::new(&Lowered::default())
            };
            let kernel = if of.size() == 1 { "pack_8" } else { "pack_16" };
            self.elementwise(kernel, [matrices, rows * to / (16 / of.size())], args)?;
        }
        Ok(copied)
    }

    /// Copies so many matrices as their transposes.
    pub(super) fn turn(&mut self, from: &Matrices, to: &Matrices, matrices: u64) -> Result<()> {
        let name = if from.size() == 1 { "turn_8" } else { "turn_16" };
        let kernel = self.kernels.named_function(&self.device, self.op, SHARED, name, "any")?;
        // Waves take squares of as many blocks as they have lanes.
        let square = 8 * 16 / from.size();
        let squares = from.shape.map(|size| size.div_ceil(square));
        let workgroups = (squares[0] * squares[1]).div_ceil(u64::from(kernel.tile().threads) / 64);
        if workgroups == 0 {
            return Ok(());
        }
        let [y, z] = grid_of_batch(matrices);
        let x = u32::try_from(workgroups).map_err(|_| {
            Error::value(self.op, "y", "at most 2^32 - 1 pieces of an operand", workgroups)
        })?;
        self.then(kernel, [x, y, z], ProductArgs::turn(from, to, matrices));
        Ok(())
    }

    /// A kernel whose lanes each take so many pieces of each matrix: not more workgroups than keep the
    /// device busy.
    fn elementwise(
        &mut self,
        name: &str,
        [matrices, pieces]: [u64; 2],
        args: ProductArgs,
    ) -> Result<()> {
        let kernel = self.kernels.named_function(&self.device, self.op, SHARED, name, "any")?;
        let grid = self.grid_of(kernel.tile().threads, [matrices, pieces]);
        self.then(kernel, grid, args);
        Ok(())
    }

    /// Makes the rows of a matrix in the workspace zeros.
    pub(super) fn clear(&mut self, y: &Matrices) -> Result<()> {
        let [rows, width] = y.shape;
        let args = ProductArgs {
            y: y.ptr,
            y_stride: y.strides[1],
            m: rows as u32,
            n: width as u32,
            y_type: real_code(y.dtype),
            ..ProductArgs::new(&Lowered::default())
        };
        self.elementwise("clear", [1, rows * width.div_ceil(8)], args)
    }

    /// What adds up partial sums.
    pub(super) fn reduce(&mut self, (sums, args): (Sums, ProductArgs)) -> Result<()> {
        let (name, pieces) = match sums.form {
            Form::Plain => ("reduce", sums.of_share / 8),
            Form::Gated => ("reduce_gated", sums.of_share / 16),
            Form::Split => ("reduce_split", sums.of_share / 8),
        };
        self.elementwise(name, [args.batch.into(), pieces], args)
    }

    /// Workgroups of a kernel whose lanes each take so many pieces of each matrix.
    pub(super) fn grid_of(&self, threads: u32, [matrices, pieces]: [u64; 2]) -> [u32; 3] {
        let enough = pieces.div_ceil(threads.into());
        let most = (self.compute_units() * 8).div_ceil(matrices);
        let [y, z] = grid_of_batch(matrices);
        [enough.clamp(1, most) as u32, y, z]
    }
}

/// Two dimensions of a grid that have so many matrices: one alone is too short for every batch.
fn grid_of_batch(matrices: u64) -> [u32; 2] {
    [matrices.min(MAX_GRID_Y), matrices.div_ceil(MAX_GRID_Y)].map(|size| size as u32)
}

/// Partial sums of the shares of k, in f32, with rows that are aligned, too: by matrix, then by share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums {
    matrices: u64,
    width: u64,
    of_share: u64,
    form: Form,
}

/// What becomes of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// They are of gates, and then of what they let through.
    Gated,
    /// Columns go to different tensors.
    Split,
}

impl Sums {
    /// Those of a product, if it has any: of so many matrices of so many rows and columns.
    fn of(
        product: &Product<'_>,
        split: Split,
        [matrices, rows, columns]: [u64; 3],
    ) -> Option<Self> {
        if split.count == 1 || product.accumulate.is_some() {
            return None;
        }
        let form = match (&product.gate, &product.split_cat) {
            (Some(_), _) => Form::Gated,
            (None, Some(_)) => Form::Split,
            (None, None) => Form::Plain,
        };
        let columns = columns.next_multiple_of(8);
        let width = columns * if form == Form::Gated { 2 } else { 1 };
        Some(Self { matrices, width, of_share: rows * width, form })
    }

    /// Arguments of the main kernel for partial sums at that place, of blocks of so many rows, and of what
    /// adds them up and has the epilogue.
    fn arguments(
        self,
        product: ProductArgs,
        block_rows: u64,
        at: DevicePtr<f32>,
    ) -> (ProductArgs, ProductArgs) {
        let per_matrix = self.of_share as i64 * i64::from(product.splits);
        let stored = Matrices {
            ptr: at.any(),
            dtype: DType::F32,
            shape: [product.m.into(), self.width],
            strides: [per_matrix, self.width as i64],
            order: Order::Rows,
        };
        let partial = ProductArgs {
            y: stored.ptr,
            y_batch: self.of_share as i64,
            y_stride: self.width as i64,
            y_type: f32::CODE,
            y_whole: stored.have_whole_blocks(product.batch.into(), block_rows).into(),
            step_count: 0,
            ..product
        };
        let reduced = ProductArgs {
            x: partial.y,
            x_batch: partial.y_batch,
            x_stride: partial.y_stride,
            ..product
        };
        (partial, reduced)
    }

    fn bytes(&self, split: Split) -> usize {
        let count = self.matrices.saturating_mul(split.count).saturating_mul(self.of_share);
        usize::try_from(count.saturating_mul(size_of::<f32>() as u64)).unwrap_or(usize::MAX)
    }
}

/// Pieces of a workspace that a product takes.
pub(super) const PIECES: usize = 9;

/// A product whose tile is chosen, and what it needs besides.
pub(super) struct Draft<'a> {
    pub(super) product: Product<'a>,
    pub(super) sources: Sources,
    tile: Tile,
    split: Split,
    sums: Option<Sums>,
    /// Blocks that are cut along k, if the others are not.
    tail: Option<Tail>,
    encode: Option<Encode>,
}

/// Arguments of a main kernel, whose operands are ready, and of what adds up its partial sums, if it has
/// such.
pub(super) struct Ready {
    pub(super) main: ProductArgs,
    /// Of the last blocks, if they are cut apart from those of `main`.
    pub(super) tail: Option<ProductArgs>,
    pub(super) sums: Option<(Sums, ProductArgs)>,
}

impl<'a> Draft<'a> {
    pub(super) fn of(
        mut product: Product<'a>,
        plan: &Plan,
        tile: Tile,
        split: Split,
    ) -> Result<Self> {
        let sources = Sources::of(&product, plan.op, tile)?;
        let Problem { batch, m, n, .. } = product.problem;
        let sums = Sums::of(&product, split, [batch, m, n]);
        let Product { y, problem, .. } = product;
        let encode = product.encode.map(|scale| Encode { y, scale, problem });
        if let Some(encode) = &encode {
            product.y = encode.results(DevicePtr::NULL);
        }
        Ok(Self { product, sources, tile, split, sums, tail: None, encode })
    }

    /// With so many rows of partial sums, of whichever matrices.
    pub(super) fn with_sums_of(mut self, rows: u64) -> Self {
        self.sums = Sums::of(&self.product, self.split, [1, rows, self.product.problem.n]);
        self
    }

    /// With the last blocks cut along k, if that is better and the product has a form that can be.
    pub(super) fn with_tail(self, compute_units: u64) -> Self {
        let Product { problem, splits, gate, accumulate, split_cat, groups, .. } = &self.product;
        if self.split.count > 1 || splits.is_some() || accumulate.is_some() {
            return self;
        }
        let rows_of_w = groups.map_or(1, |groups| u64::from(groups.sizes[0]));
        // Columns are together if they have one scale, are heads, or if n tells where what is done to values
        // has its numbers, behind those of gates.
        let have_columns = split_cat.is_none() && gate.is_none_or(|gate| gate.steps == 0);
        let may_begin = |axis, first: u64| {
            axis != Axis::Columns || (have_columns && first.is_multiple_of(rows_of_w))
        };
        match self.tile.tail(*problem, compute_units, may_begin) {
            Some(tail) => self.cut_at(tail),
            None => self,
        }
    }

    /// With these last blocks cut along k, where k is not shared otherwise.
    pub(super) fn cut_at(mut self, tail: Tail) -> Self {
        let [_, Problem { batch, m, n, .. }] = tail.cut(self.product.problem);
        self.sums = Sums::of(&self.product, tail.split, [batch, m, n]);
        self.tail = Some(tail);
        self
    }

    /// The shares of k.
    pub(super) const fn split(&self) -> Split {
        self.split
    }

    /// Of a workspace.
    pub(super) fn bytes(&self) -> [usize; PIECES] {
        let [turned, codes, scales, x, w, x_blocks, w_blocks] = self.sources.bytes();
        let split = self.tail.map_or(self.split, |tail| tail.split);
        let sums = self.sums.map_or(0, |sums| sums.bytes(split));
        let results = self.encode.map_or(0, |encode| encode.bytes());
        [turned, codes, scales, x, w, x_blocks, w_blocks, sums, results]
    }

    /// Makes ready what the main kernel takes.
    pub(super) fn prepare(self, plan: &mut Plan, at: [DevicePtr<u8>; PIECES]) -> Result<Ready> {
        let [turned, codes, scales, x, w, x_blocks, w_blocks, sums_at, results_at] = at;
        let Self { mut product, sources, tile, split, sums, tail, encode } = self;
        if let Some(encode) = &encode {
            product.y = encode.results(results_at);
        }
        if let Some(prequant) = product.prequant {
            prequant.hand_scales(&mut product.steps, scales);
        }
        let at = [turned, codes, scales, x, w, x_blocks, w_blocks];
        let operands = plan.operands(sources, product.groups, at)?;
        let adds = product.accumulate.is_some_and(|accumulates| accumulates || split.count > 1);
        let mut main = product.arguments(&operands, tile, split);
        main.adds = adds.into();
        if let Some(split) = product.split_cat {
            main.split = split.columns();
            plan.cat(&split)?;
        }
        if adds && product.accumulate == Some(false) {
            let Problem { m, n, .. } = product.problem;
            plan.elementwise("clear", [1, m * n.div_ceil(8)], main)?;
        }
        let mut tail = tail.map(|tail| {
            let [whole, cut] = main.cut_at(tail, &operands, product.problem.transposed);
            main = whole;
            cut
        });
        let sums = sums.map(|sums| {
            let of = tail.as_mut().unwrap_or(&mut main);
            let (partial, reduced) = sums.arguments(*of, tile.m, sums_at.cast());
            *of = partial;
            (sums, reduced)
        });
        Ok(Ready { main, tail, sums })
    }

    /// Launches it with that kernel.
    pub(super) fn plan(
        self,
        plan: &mut Plan,
        kernel: TileFunction<ProductArgs>,
        at: [DevicePtr<u8>; PIECES],
    ) -> Result<()> {
        let problem = self.product.problem;
        let [grid, tail_grid] = match self.tail {
            None => [plan.grid(problem, self.tile, self.split)?, 0],
            Some(tail) => {
                let [whole, cut] = tail.cut(problem);
                [plan.grid(whole, self.tile, self.split)?, plan.grid(cut, self.tile, tail.split)?]
            }
        };
        let encode = self.encode;
        let Ready { main, tail, sums } = self.prepare(plan, at)?;
        plan.then(kernel.clone(), [grid, 1, 1], main);
        if let Some(tail) = tail {
            plan.then(kernel, [tail_grid, 1, 1], tail);
        }
        if let Some(sums) = sums {
            plan.reduce(sums)?;
        }
        let [.., results] = at;
        encode.map_or(Ok(()), |encode| plan.encode(&encode, results))
    }
}

/// What a product is given, and the copies of it that the main kernel takes.
#[derive(Debug)]
pub(super) struct Sources {
    pub(super) x: Matrices,
    w: Matrices,
    pub(super) blocks: [Option<Matrices>; 2],
    /// Of an x that is quantised, if it is stored as columns.
    turned: Copy,
    /// What x is quantised to before.
    codes: Option<Codes>,
    /// Of x or its codes, of w, and of the blocks' scales.
    copies: [Copy; 4],
}

/// What the main kernel takes.
#[derive(Debug)]
pub(super) struct Operands {
    pub(super) x: Matrices,
    pub(super) w: Matrices,
    pub(super) blocks: [Matrices; 2],
    pub(super) groups: GroupScales,
}

impl Sources {
    fn of(product: &Product<'_>, op: &'static str, tile: Tile) -> Result<Self> {
        let (problem, names) = (product.problem, product.names);
        let [x_transposed, w_transposed] = problem.transposed;
        let (x, w) = (product.x.near(x_transposed), product.w.near(w_transposed));
        let blocks = product.blocks.map(|blocks| blocks.map(|blocks| blocks.near(false)));
        let codes = product.prequant.map(|form| Codes::of(form, &x, problem));
        let turned = match &codes {
            // Codes have rows of their own, however long those of the copy are.
            Some(_) if x.order == Order::Columns => {
                x.copied(op, names.x, problem.batch, u64::MAX, false)?
            }
            _ => Copy::NONE,
        };
        let longest = tile.longest_strides(problem);
        let taken = codes.as_ref().map_or(x, |codes| codes.codes);
        let in_halves = product.gate.is_some_and(|gate| !gate.whole);
        let in_turn = w_transposed && product.gate.is_some_and(|gate| gate.whole);
        let w_matrices = if in_halves { 2 } else { problem.batch };
        let rows = [tile.m, tile.n];
        let [x_blocks, w_blocks] = copies_of_blocks(op, problem.batch, blocks, rows, names.blocks)?;
        let copies = [
            taken.copied(
                op,
                names.x,
                problem.batch,
                longest[0],
                x_transposed && codes.is_none(),
            )?,
            match in_turn {
                true => w.copied_halves(op, names.w, w_matrices, longest[1])?,
                false => w.copied(op, names.w, w_matrices, longest[1], w_transposed)?,
            },
            x_blocks,
            w_blocks,
        ];
        Ok(Self { x, w, blocks, turned, codes, copies })
    }

    /// Bytes from one row of x, as the main kernel takes it, to the next.
    pub(super) fn taken_row(&self) -> u64 {
        let taken = self.codes.as_ref().map_or(&self.x, |codes| &codes.codes);
        let row = match self.copies[0] {
            Copy { matrices: 0, .. } => taken.strides[1] as u64,
            copy => copy.width,
        };
        row.saturating_mul(taken.size())
    }

    /// The length of w's rows with what fills up their halves, if that is a copy of such.
    pub(super) fn padded_halves(&self) -> Option<u64> {
        let Copy { width, parts, .. } = self.copies[1];
        (parts == 2).then_some(width)
    }

    /// Of a workspace: for what codes are made of if that is a copy, codes and their scales, and for each
    /// other copy.
    fn bytes(&self) -> [usize; 7] {
        let [codes, scales] = self.codes.as_ref().map_or([0; 2], Codes::bytes);
        let bytes_of = |copy: &Copy, size: u64| {
            usize::try_from(copy.elements().saturating_mul(size)).unwrap_or(usize::MAX)
        };
        let bytes = |copy: usize, size| bytes_of(&self.copies[copy], size);
        let turned = bytes_of(&self.turned, self.x.size());
        let taken = self.codes.as_ref().map_or(&self.x, |codes| &codes.codes);
        let (x, w) = (bytes(0, taken.size()), bytes(1, self.w.size()));
        [turned, codes, scales, x, w, bytes(2, 1), bytes(3, 1)]
    }
}
