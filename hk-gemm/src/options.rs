//! What products do besides: options that the ops of this crate share.

use hk_core::dtype::{Element, Real};
use hk_core::op::epilogue::{Epilogue, Extent, Lowered, Operand, Step};
use hk_core::op::prequant::Prequant;
use hk_core::op::product::{Gate, GroupScales, Matrices, Names, Product};
use hk_core::op::split_cat::{self as product, Heads};
use hk_core::op::stored::Stored;
use hk_core::op::tiling::Problem;
use hk_core::op::{Argument, Arguments};
use hk_core::{Activation, DevicePtr, Result, Stream, Tensor, TensorSlice};

use crate::KERNELS;

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

/// What an op does besides the product. All of it happens in f32, before the one rounding:
/// first `bias`, then `activation`, then `residual`, then the steps of `epilogue`.
#[derive(Debug, Clone, Default)]
pub struct GemmOptions<'a> {
    pub(crate) layout: Layout,
    bias: Option<Operand<'a>>,
    pub(crate) activation: Option<Activation>,
    residual: Option<Operand<'a>>,
    epilogue: Epilogue<'a>,
    splits: Option<u32>,
    compute_units: Option<u32>,
    tile: Option<&'a str>,
    pub(crate) transpose_bm: bool,
}

impl<'a> GemmOptions<'a> {
    /// How the operands are stored.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Adds a vector of n, also as `(1, n)`, to every row; in a batch, `(batch, n)` or `(batch, 1, n)`, of which
    /// all may be one. Elements may be any distances apart.
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

    /// Adds a tensor of `(m, n)`, in a batch `(batch, m, n)`, with any strides, which may be the output, unless
    /// that is [`(m, batch, n)`](Self::transpose_bm): see [`TensorSlice::in_place`].
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

    /// Chooses the tile, and how blocks and k are shared, for so many compute units, at least one, instead of
    /// all that the device has: where others are busy, or a stream may not use them.
    #[must_use]
    pub fn compute_units(mut self, compute_units: u32) -> Self {
        self.compute_units = Some(compute_units);
        self
    }

    /// Takes the tile configuration of that name, such as `128x128x64`, instead of the one that is
    /// expected to be fastest.
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    /// In a batch, the result is `(m, batch, n)`.
    #[must_use]
    pub fn transpose_bm(mut self) -> Self {
        self.transpose_bm = true;
        self
    }

    /// Declares the operands of the epilogue, and puts it into the kernel's form, behind the steps
    /// before. Of a gated product, the bias alone comes before the gate, and the activation is its.
    pub(crate) fn lower(
        &self,
        args: &mut Arguments,
        steps: &mut Lowered,
        gated: bool,
    ) -> Result<Option<Gate>> {
        steps.set_by_rows(self.transpose_bm);
        let mut gate = None;
        if gated {
            if let Some(bias) = self.bias {
                steps.push(args, ["bias"; 3], Step::Add(bias, Extent::Halves, 1.0))?;
            }
            gate = Some(Gate { steps: steps.len(), activation: self.activation, whole: false });
        } else if let Some(bias) = self.bias {
            steps.push(args, ["bias"; 3], Step::Add(bias, Extent::Columns, 1.0))?;
        }
        if let Some(activation) = self.activation.filter(|_| !gated) {
            steps.push(args, ["activation"; 3], Step::Activate(activation))?;
        }
        if let Some(residual) = self.residual {
            steps.push(args, ["residual"; 3], Step::Add(residual, Extent::Full, 1.0))?;
        }
        self.epilogue.lower(args, steps)?;
        Ok(gate)
    }
}

/// Distances between matrices, if an argument is `batched`, and between rows.
pub(crate) fn strides(argument: Argument<'_>, batched: bool) -> Result<[i64; 2]> {
    match batched {
        false => Ok([0, argument.rows()?]),
        true => argument.adjacent::<3>().map(|[batch, row, _]| [batch, row]),
    }
}

/// Operands of a product, declared.
pub(crate) struct Operands {
    pub(crate) args: Arguments,
    pub(crate) problem: Problem,
    x: Matrices,
    w: Matrices,
    batched: bool,
    pub(crate) groups: Option<GroupScales>,
    /// Scales of blocks of x and of w, as the op declared them.
    pub(crate) blocks: [Option<Matrices>; 2],
    /// How x is quantised before, if it is.
    pub(crate) prequant: Option<Prequant>,
    /// Whether w is gates and what they let through.
    gated: bool,
    /// If shares of k are added to the result as they come: whether to what it holds.
    pub(crate) accumulate: Option<bool>,
    /// If the result is codes, of e4m3: their scale.
    pub(crate) encode: Option<DevicePtr<f32>>,
}

/// Results of a product whose columns are heads of two parts.
#[derive(Debug)]
pub struct SplitCat<T: Real> {
    /// The first parts, beside the copies, `(m, heads, s1 + s3)`.
    pub c1: Tensor<T>,
    /// The second parts, `(m, heads, s2)`.
    pub c2: Tensor<T>,
}

/// Where these go. Rows and heads may be any distances apart.
#[derive(Debug)]
pub struct SplitCatOut<'a, T: Real> {
    /// The first parts, beside the copies, `(m, heads, s1 + s3)`.
    pub c1: &'a mut TensorSlice<T>,
    /// The second parts, `(m, heads, s2)`.
    pub c2: &'a mut TensorSlice<T>,
}

/// Sizes of heads, as they are declared.
const FIRST: &str = "s1 + copied";
const SECOND: &str = "n / heads - s1";

impl Operands {
    /// Declares x and w, with a dimension for a batch before those that the layout says if they are
    /// `batched`.
    pub(crate) fn declare<'w, X: Element, W: Element>(
        op: &'static str,
        x: &TensorSlice<X>,
        w: impl Into<Stored<'w, W>>,
        layout: Layout,
        batched: bool,
    ) -> Result<Self> {
        Self::declare_as(op, (x, w.into()), layout, batched.then_some(false), false)
    }

    /// As [`declare`](Self::declare), with twice as many rows of w as the result has columns: gates,
    /// then what they let through.
    pub(crate) fn declare_gated<T: Element>(
        op: &'static str,
        x: &TensorSlice<T>,
        w: &TensorSlice<T>,
        layout: Layout,
    ) -> Result<Self> {
        Self::declare_as(op, (x, w.into()), layout, None, true)
    }

    /// As [`declare`](Self::declare), with a batch of which x is perhaps stored by rows, as
    /// `(m, batch, k)`.
    pub(crate) fn declare_by<X: Element, W: Element>(
        op: &'static str,
        x: &TensorSlice<X>,
        w: &TensorSlice<W>,
        layout: Layout,
        by_rows: bool,
    ) -> Result<Self> {
        Self::declare_as(op, (x, w.into()), layout, Some(by_rows), false)
    }

    fn declare_as<X: Element, W: Element>(
        op: &'static str,
        (x, w): (&TensorSlice<X>, Stored<'_, W>),
        layout: Layout,
        by_rows: Option<bool>,
        gated: bool,
    ) -> Result<Self> {
        let batched = by_rows.is_some();
        let transposed = [layout.x_is_transposed(), layout.w_is_transposed()];
        let mut args = Arguments::new(op);
        let of = |dims: &'static [&'static str; 3]| &dims[usize::from(!batched)..];
        let x_dims = if transposed[0] { &["batch", "k", "m"] } else { &["batch", "m", "k"] };
        let x_dims = if by_rows == Some(true) { &["m", "batch", "k"] } else { x_dims };
        let x_strides = strides(args.input("x", x, of(x_dims)), batched)?;
        if batched {
            args.limit("batch", 0..=Problem::MAX_SIZE as usize)?;
        }
        args.limit("m", 0..=Problem::MAX_SIZE as usize)?;
        args.limit("k", 1..=Problem::MAX_SIZE as usize)?;
        let w = match w {
            Stored::Rows(w) => {
                let w_dims = match (transposed[1], gated) {
                    (false, false) => &["batch", "n", "k"],
                    (true, false) => &["batch", "k", "n"],
                    (false, true) => &["batch", "2n", "k"],
                    (true, true) => &["batch", "k", "2n"],
                };
                if gated {
                    // An odd number of rows is none of these.
                    let n = w.shape().get(usize::from(transposed[1])).map_or(0, |rows| rows / 2);
                    args.define("2n", 2 * n);
                    args.define("n", n);
                }
                let w_strides = strides(args.input("w", w, of(w_dims)), batched)?;
                args.limit(if gated { "2n" } else { "n" }, 1..=Problem::MAX_SIZE as usize)?;
                let w = Matrices::of(w, w_strides);
                if gated { w.halves(transposed[1]) } else { w }
            }
            Stored::Tiles(_) => {
                let of_rows = !transposed[1];
                args.require(of_rows, "layout", "tn or nn, of shuffled w", layout.name())?;
                w.weights(&mut args, "w", &["n", "k"])?
            }
        };
        let [m, n, k] = args.sizes(["m", "n", "k"])?.map(|size| size as u64);
        let batch = if batched { args.sizes(["batch"])?[0] as u64 } else { 1 };
        let bits = [size_of::<X>() * 8 / X::PACK, size_of::<W>() * 8 / W::PACK];
        let bits = bits.map(|bits| bits as u64);
        let problem = Problem { batch, m, n, k, transposed, bits, group: 1 };
        let mut x = Matrices::of(x, x_strides);
        if by_rows == Some(true) {
            x = x.by_rows(m);
        }
        Ok(Self {
            args,
            problem,
            x,
            w,
            batched,
            groups: None,
            blocks: [None; 2],
            prequant: None,
            gated,
            accumulate: None,
            encode: None,
        })
    }

    /// Has operands that are transposed turned before, for a core that takes no such.
    pub(crate) fn turn(&mut self) {
        let turned = std::mem::take(&mut self.problem.transposed);
        for (of, _) in [&mut self.x, &mut self.w].into_iter().zip(turned).filter(|(_, is)| *is) {
            *of = of.turned();
        }
    }

    /// Shape of the result.
    pub(crate) fn shape(&self, options: &GemmOptions<'_>) -> Vec<usize> {
        let Problem { batch, m, n, .. } = self.problem;
        let shape = match (self.batched, options.transpose_bm) {
            (false, _) => vec![m, n],
            (true, false) => vec![batch, m, n],
            (true, true) => vec![m, batch, n],
        };
        shape.into_iter().map(|size| size as usize).collect()
    }

    /// None of the steps yet.
    pub(crate) fn steps(&self) -> Lowered {
        if self.batched { Lowered::batched() } else { Lowered::default() }
    }

    /// Allocates the results of heads of which `s1` columns are the first part, for copies of y.
    pub(crate) fn split_results<Y: Real, U: Real>(
        &self,
        stream: &Stream,
        y: &TensorSlice<U>,
        s1: usize,
    ) -> Result<SplitCat<Y>> {
        let (m, n) = (self.problem.m as usize, self.problem.n as usize);
        let [heads, s3] = match *y.shape() {
            [_, heads, s3] => [heads, s3],
            _ => [0; 2],
        };
        let s2 = n.checked_div(heads).unwrap_or_default().saturating_sub(s1);
        Ok(SplitCat {
            c1: Tensor::empty(stream, &[m, heads, s1.saturating_add(s3)])?,
            c2: Tensor::empty(stream, &[m, heads, s2])?,
        })
    }

    /// Declares what is copied and the results, and launches the product.
    pub(crate) fn launch_split<Y: Real, U: Real>(
        mut self,
        kernel: (&'static str, &str, bool),
        (y, s1): (&TensorSlice<U>, usize),
        options: &GemmOptions<'_>,
        out: SplitCatOut<'_, Y>,
    ) -> Result<()> {
        let (SplitCatOut { c1, c2 }, n) = (out, self.problem.n as usize);
        let args = &mut self.args;
        let y_strides = args.input("y", y, &["m", "heads", "copied"]).strides::<3>()?;
        let [heads, copied] = args.sizes(["heads", "copied"])?;
        args.limit("heads", 1..=n)?;
        // The copy counts the elements of a row in 31 bits.
        let elements = heads.saturating_mul(copied);
        let few = elements <= i32::MAX as usize;
        args.require(few, "y", "at most 2^31 - 1 copied elements in a row", elements)?;
        args.define(FIRST, s1.saturating_add(copied));
        args.define(SECOND, (n / heads).saturating_sub(s1));
        let c1_strides = args.output("c1", c1, &["m", "heads", FIRST]).adjacent::<3>()?;
        let c2_strides = args.output("c2", c2, &["m", "heads", SECOND]).adjacent::<3>()?;
        args.require(n.is_multiple_of(heads), "y", "heads that divide n", heads)?;
        args.require((1..n / heads).contains(&s1), "s1", "1 to below n / heads", s1)?;
        let split = product::SplitCat {
            first: Heads::of(c1, c1_strides),
            second: Heads::of(c2, c2_strides),
            copied: Heads::of(y, y_strides),
        };
        let mut steps = self.steps();
        options.lower(&mut self.args, &mut steps, false)?;
        let y = split.results(self.problem.n);
        self.submit(kernel, (steps, None), options, (y, Some(split)))
    }

    /// Declares what is left, and launches the product.
    pub(crate) fn launch<Y: Element>(
        mut self,
        kernel: (&'static str, &str, bool),
        mut steps: Lowered,
        options: &GemmOptions<'_>,
        y: &mut TensorSlice<Y>,
    ) -> Result<()> {
        let (args, batched) = (&mut self.args, self.batched);
        let gate = options.lower(args, &mut steps, self.gated)?;
        let mut of_y = |args: &mut Arguments, dims| args.output("y", y, dims).adjacent::<3>();
        let strides = match (batched, options.transpose_bm) {
            (false, _) => [0, args.output("y", y, &["m", "n"]).rows()?],
            (true, false) => of_y(args, &["batch", "m", "n"]).map(|[b, m, _]| [b, m])?,
            (true, true) => of_y(args, &["m", "batch", "n"]).map(|[m, b, _]| [b, m])?,
        };
        self.submit(kernel, (steps, gate), options, (Matrices::of(y, strides), None))
    }

    /// Launches the product in one of a core's variants, whose blocks may be scaled.
    fn submit(
        self,
        (core, variant, scaled): (&'static str, &str, bool),
        (steps, gate): (Lowered, Option<Gate>),
        options: &GemmOptions<'_>,
        (y, split_cat): (Matrices, Option<product::SplitCat>),
    ) -> Result<()> {
        let by_rows = options.transpose_bm;
        let constraint = "false for a single product";
        self.args.require(self.batched || !by_rows, "transpose_bm", constraint, by_rows)?;
        let Self { args, problem, x, w, groups, blocks, prequant, accumulate, encode, .. } = self;
        if let Some(splits) = options.splits {
            let holds = (1..=problem.k).contains(&splits.into());
            args.require(holds, "splits", format_args!("1 to k = {}", problem.k), splits)?;
        }
        require_units(&args, options.compute_units)?;
        let call = args.check()?;
        let (splits, tile) = (options.splits, options.tile);
        let product = Product {
            kernels: &KERNELS,
            core,
            variant,
            scaled,
            names: Names::PLAIN,
            x,
            w,
            y,
            groups,
            blocks,
            prequant,
            gate,
            accumulate,
            split_cat,
            encode,
            problem,
            steps,
            splits,
            tile,
        };
        product.launch_on(call, options.compute_units)
    }
}

/// Refuses no compute units, if a number of them is given.
pub(crate) fn require_units(args: &Arguments, units: Option<u32>) -> Result<()> {
    match units {
        Some(units) => args.require(units > 0, "compute_units", "at least 1", units),
        None => Ok(()),
    }
}
