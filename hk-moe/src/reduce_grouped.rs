//! Sums of rows that belong together: the rows of a token's experts, the shares of a product.
//!
//! For groups of k rows each, of which x has several shares:
//!
//! `out[g] = residual[g] + sum over s of gammas[r] act(sum over b of x[b, r])`, with `r = indx[g,
//! s]`
//!
//! [`moe_sum`] is that of rows which follow each other: `out[t] = residual[t] + sum over s of c[t,
//! s]`. Of a residual with a gate, `sigmoid(gate[g]) residual[g]` is added.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[split, P, N]`, indx `[groups, k]`, or none for k = 1 and P groups -> out `[groups, N]`, with an activation of pairs `[groups, N/2]`; c `[T, k, N]` -> out `[T, N]`; rows evenly spaced, any distance apart; residual as out, gate `[groups]`, gammas `[P]` |
//! | Dtypes | x, c, out bf16, f16, f32; residual as out; indx i32; gate, gammas f32 |
//! | Numerics | sums in f32, first of shares, then of rows, both in order; rounded once |
//! | Hardware | cdna3, cdna4 |
//! | Source | Shazeer et al., "Outrageously Large Neural Networks" (2017); AITER, `reduce_grouped` and `moe_sum` |
//!
//! A pair is column 2j, the gate, and column 2j + 1, what it lets through. Entries of `indx` that
//! are -1, or no row, count as nothing. The residual may be the result.
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_moe::{Device, RowOptions, Tensor, moe_sum};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let c = Tensor::from_slice(&stream, &[1.0f32, 2.0, 30.0, 40.0], &[1, 2, 2])?;
//! let y: Tensor<f32> = moe_sum(&c, None, &RowOptions::default())?;
//! assert_eq!(y.to_vec()?, [31.0, 42.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{DType, Real};
use hk_core::op::ragged::Behind;
use hk_core::op::rows::RowOptions;
use hk_core::op::{Arguments, Call};
use hk_core::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice, TileFunction, kernel_args};

use crate::KERNELS;
use crate::activation::Activation;

/// What is added to the rows of groups.
#[derive(Debug, Clone, Copy)]
pub struct Residual<'a, V: Real> {
    /// A row for each group, as the result has.
    pub rows: &'a TensorSlice<V>,
    /// A number for each group, by whose sigmoid its row is multiplied.
    pub gate: Option<&'a TensorSlice<f32>>,
}

/// How rows are reduced.
#[derive(Debug, Clone, Copy)]
pub struct ReduceGroupedOptions<'a> {
    activation: Activation,
    gammas: Option<&'a TensorSlice<f32>>,
    validate: Option<bool>,
    rows: RowOptions<'a>,
}

impl<'a> ReduceGroupedOptions<'a> {
    /// With this activation of each row, whose shares are added up before.
    #[must_use]
    pub fn new(activation: Activation) -> Self {
        Self { activation, gammas: None, validate: None, rows: RowOptions::default() }
    }

    /// Multiplies each row by a number of its own, `[P]`, after the activation.
    #[must_use]
    pub fn gammas(mut self, gammas: &'a TensorSlice<f32>) -> Self {
        self.gammas = Some(gammas);
        self
    }

    /// Whether `indx` is looked at before the launch, which waits for the stream; on the simulator,
    /// and in builds with debug assertions, if not given.
    #[must_use]
    pub fn validate_indices(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Launches at most so many workgroups, which take pieces of rows in turn.
    #[must_use]
    pub fn workgroups(mut self, most: u32) -> Self {
        self.rows = self.rows.workgroups(most);
        self
    }
}

kernel_args! {
    /// Arguments of the kernel, as `kernels/reduce_grouped.hip` declares them.
    pub(crate) struct ReduceGroupedArgs {
        x: AnyPtr,
        indx: DevicePtr<i32>,
        gammas: DevicePtr<f32>,
        residual: AnyPtr,
        residual_gate: DevicePtr<f32>,
        out: AnyPtr,
        x_strides: [i64; 2],
        residual_stride: i64,
        out_stride: i64,
        shares: u32,
        rows: u32,
        width: u32,
        groups: u32,
        k: u32,
        activation: u32,
        out_type: u32,
        alpha: f32,
        limit: f32,
        offset: f32,
        quant_scale: DevicePtr<f32>,
        mx_scales: AnyPtr,
        mx_stride: i64,
        groups_there: DevicePtr<u32>,
    }
}

/// Types of results that are codes: the enum `reduced_type` of the kernel.
pub(crate) const E4M3: u32 = 3;
pub(crate) const MXFP8: u32 = 4;

/// A reduction behind a product, whose rows lie in the workspace: everything is declared and checked.
pub(crate) struct Combine {
    /// Their type, and how far they are apart.
    pub(crate) between: (DType, i64),
    /// Of which they are: rows, columns.
    pub(crate) shape: [usize; 2],
    /// Rows of each group, where these are.
    pub(crate) indx: DevicePtr<i32>,
    /// Groups, and rows of one.
    pub(crate) groups: [usize; 2],
    /// How many of the groups have rows, the first ones; the results of others are not written.
    pub(crate) groups_there: DevicePtr<u32>,
    pub(crate) activation: Activation,
    pub(crate) gammas: DevicePtr<f32>,
    /// As the results.
    pub(crate) residual: (AnyPtr, i64),
    /// Where results are, how far apart, and of which type.
    pub(crate) out: (AnyPtr, i64, u32),
    pub(crate) quant_scale: DevicePtr<f32>,
    pub(crate) mx_scales: (AnyPtr, i64),
}

impl Combine {
    /// What is launched, of a call.
    pub(crate) fn behind(self, call: &Call) -> Result<Behind> {
        let (op, variant) = (call.op(), self.between.0.name());
        let kernel: TileFunction<ReduceGroupedArgs> =
            KERNELS.function(call.device(), op, "reduce_grouped", variant, &[])?;
        let ([rows, width], [groups, k]) = (self.shape, self.groups);
        let (activation, [alpha, limit, offset]) = self.activation.code();
        let args = ReduceGroupedArgs {
            x: AnyPtr::NULL,
            indx: self.indx,
            gammas: self.gammas,
            residual: self.residual.0,
            residual_gate: DevicePtr::NULL,
            out: self.out.0,
            x_strides: [0, self.between.1],
            residual_stride: self.residual.1,
            out_stride: self.out.1,
            shares: 1,
            rows: rows as u32,
            width: width as u32,
            groups: groups as u32,
            k: k as u32,
            activation,
            out_type: self.out.2,
            alpha,
            limit,
            offset,
            quant_scale: self.quant_scale,
            mx_scales: self.mx_scales.0,
            mx_stride: self.mx_scales.1,
            groups_there: self.groups_there,
        };
        let most = RowOptions::default().most_workgroups(call.device(), kernel.tile());
        let grid = grid(&kernel, [groups, width], most);
        Ok(Box::new(move |x, stream| {
            let args = ReduceGroupedArgs { x, ..args };
            // SAFETY: the kernel reads rows that the launch before has written to the workspace, and
            // writes rows of the shapes and strides that were checked.
            unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
        }))
    }
}

/// Workgroups for so many groups of rows of a width.
fn grid(kernel: &TileFunction<ReduceGroupedArgs>, [groups, width]: [usize; 2], most: u32) -> u32 {
    let waves = kernel.tile().threads / WAVE;
    let pieces = groups.saturating_mul(width.div_ceil(PIECE));
    pieces.div_ceil(waves as usize).min(most as usize) as u32
}

/// Columns of a piece, which a wave has.
const PIECE: usize = 512;

/// The rows of each group of `indx` added up, or each row's shares if there is none.
///
/// # Errors
/// [`Error::Shape`] if a size is 0 that is not the number of groups, or rows of pairs are of odd
/// length; [`Error::Stride`] if rows are not evenly spaced; [`Error::Value`] if an activation's
/// numbers are not finite or its limit is below 0, `indx` has more entries than 31 bits count, or
/// there are no workgroups; where `indx` is looked at, if an entry is neither -1 nor a row.
pub fn reduce_grouped<T: Real, V: Real>(
    x: &TensorSlice<T>,
    indx: Option<&TensorSlice<i32>>,
    residual: Option<Residual<'_, V>>,
    options: &ReduceGroupedOptions<'_>,
) -> Result<Tensor<V>> {
    let mut args = Arguments::new(REDUCE);
    args.input("x", x, &["split", "P", "N"]).matrices()?;
    let [rows, width] = args.sizes(["P", "N"])?;
    let groups = indx.map_or(rows, TensorSlice::rows);
    let width = if options.activation.is_gated() { width / 2 } else { width };
    let mut out = Tensor::empty(x.stream(), &[groups, width])?;
    reduce_grouped_into(x, indx, residual, options, &mut out)?;
    Ok(out)
}

/// As [`reduce_grouped`], into a given tensor.
///
/// # Errors
/// As [`reduce_grouped`]; [`Error::Shape`] or [`Error::Stride`] also if `out` has another shape or
/// rows that are not evenly spaced, and [`Error::Alias`] if it overlaps another argument, other
/// than as the residual.
pub fn reduce_grouped_into<T: Real, V: Real>(
    x: &TensorSlice<T>,
    indx: Option<&TensorSlice<i32>>,
    residual: Option<Residual<'_, V>>,
    options: &ReduceGroupedOptions<'_>,
    out: &mut TensorSlice<V>,
) -> Result<()> {
    let mut args = Arguments::new(REDUCE);
    let x_strides = args.input("x", x, &["split", "P", "N"]).matrices()?;
    // The kernel counts shares in steps, which must not wrap.
    args.limit("split", 1..=i32::MAX as usize)?;
    args.limit("P", 0..=i32::MAX as usize)?;
    let [shares, rows] = args.sizes(["split", "P"])?;
    let mut names = &OF_ROWS;
    if let Some(indx) = indx {
        names = &OF_GROUPS;
        args.input("indx", indx, &["groups", "k"]).contiguous()?;
        args.limit("groups", 0..=i32::MAX as usize)?;
        args.limit("k", 1..=i32::MAX as usize)?;
        let few = indx.len() <= i32::MAX as usize;
        args.require(few, "indx", "fewer than 2^31 entries", indx.len())?;
    }
    if let Some(gammas) = options.gammas {
        args.input("gammas", gammas, &["P"]).contiguous()?;
    }
    let k = indx.map_or(1, TensorSlice::row_len);
    let (x, variant) = (x.ptr().any(), T::DTYPE.name());
    let plan = Plan { x, variant, x_strides, shares, rows, k, options, indx };
    plan.launch(args, names, residual, out)
}

/// The rows of each token added up.
///
/// # Errors
/// [`Error::Shape`] if there are no rows of a token, or these are empty; [`Error::Stride`] if rows
/// are not evenly spaced; [`Error::Value`] if there are no workgroups.
pub fn moe_sum<T: Real, V: Real>(
    c: &TensorSlice<T>,
    residual: Option<Residual<'_, V>>,
    options: &RowOptions<'_>,
) -> Result<Tensor<V>> {
    let mut args = Arguments::new(SUM);
    args.input("c", c, &["T", "k", "N"]).rows()?;
    let mut out = Tensor::empty(c.stream(), &args.sizes(["T", "N"])?)?;
    moe_sum_into(c, residual, options, &mut out)?;
    Ok(out)
}

/// As [`moe_sum`], into a given tensor.
///
/// # Errors
/// As [`moe_sum`] and [`reduce_grouped_into`].
pub fn moe_sum_into<T: Real, V: Real>(
    c: &TensorSlice<T>,
    residual: Option<Residual<'_, V>>,
    options: &RowOptions<'_>,
    out: &mut TensorSlice<V>,
) -> Result<()> {
    let mut args = Arguments::new(SUM);
    let stride = args.input("c", c, &["T", "k", "N"]).rows()?;
    args.limit("T", 0..=i32::MAX as usize)?;
    args.limit("k", 1..=i32::MAX as usize)?;
    let [tokens, k] = args.sizes(["T", "k"])?;
    let few = tokens * k <= i32::MAX as usize;
    args.require(few, "c", "fewer than 2^31 rows", tokens * k)?;
    let plain =
        ReduceGroupedOptions { rows: *options, ..ReduceGroupedOptions::new(Activation::None) };
    let plan = Plan {
        x: c.ptr().any(),
        variant: T::DTYPE.name(),
        x_strides: [0, stride],
        shares: 1,
        rows: tokens * k,
        k,
        options: &plain,
        indx: None,
    };
    plan.launch(args, &OF_TOKENS, residual, out)
}

const REDUCE: &str = "reduce_grouped";
const SUM: &str = "moe_sum";

/// A reduction whose rows are declared.
struct Plan<'a> {
    x: AnyPtr,
    /// Of the kernels: the element type of x.
    variant: &'static str,
    x_strides: [i64; 2],
    shares: usize,
    rows: usize,
    /// Rows of a group.
    k: usize,
    options: &'a ReduceGroupedOptions<'a>,
    indx: Option<&'a TensorSlice<i32>>,
}

/// What the sizes of results are called.
struct Names {
    groups: &'static str,
    rows: &'static [&'static str],
    pairs: &'static [&'static str],
    each: &'static [&'static str],
}

const OF_ROWS: Names = Names { groups: "P", rows: &["P", "N"], pairs: &["P", "N/2"], each: &["P"] };
const OF_GROUPS: Names = Names {
    groups: "groups",
    rows: &["groups", "N"],
    pairs: &["groups", "N/2"],
    each: &["groups"],
};
const OF_TOKENS: Names =
    Names { groups: "T", rows: &["T", "N"], pairs: &["T", "N/2"], each: &["T"] };

impl Plan<'_> {
    /// Declares the rest, and launches.
    fn launch<V: Real>(
        self,
        mut args: Arguments,
        names: &Names,
        residual: Option<Residual<'_, V>>,
        out: &mut TensorSlice<V>,
    ) -> Result<()> {
        let Self { options, .. } = self;
        args.limit("N", 1..=i32::MAX as usize)?;
        options.activation.check(&args)?;
        options.rows.check_workgroups(&args)?;
        let [groups, width] = args.sizes([names.groups, "N"])?;
        let is_gated = options.activation.is_gated();
        if is_gated {
            args.require(width.is_multiple_of(2), "N", "even, as columns are pairs", width)?;
        }
        args.define("N/2", width / 2);
        let rows = if is_gated { names.pairs } else { names.rows };
        let residual_stride = match &residual {
            Some(residual) => args.input("residual", residual.rows, rows).may_be("out").rows()?,
            None => 0,
        };
        let gate = residual.as_ref().and_then(|residual| residual.gate);
        if let Some(gate) = gate {
            args.input("residual_gate", gate, names.each).contiguous()?;
        }
        let out_stride = args.output("out", out, rows).rows()?;
        let call = args.check()?;
        if let Some(indx) = self.indx
            && call.validates_indices(options.validate)?
        {
            let indices: Vec<_> = indx.to_vec()?.into_iter().map(i64::from).collect();
            let range = -1..self.rows as i64;
            let constraint = format!("-1, or a row below {}", self.rows);
            call.require_each("indx", &indices, &constraint, |_, index| range.contains(&index))?;
        }
        let core = ("reduce_grouped", self.variant);
        let kernel = options.rows.function(&call, &KERNELS, core, &[])?;
        if groups == 0 {
            return Ok(());
        }
        let (activation, [alpha, limit, offset]) = options.activation.code();
        let args = ReduceGroupedArgs {
            x: self.x,
            indx: self.indx.map_or(DevicePtr::NULL, TensorSlice::ptr),
            gammas: options.gammas.map_or(DevicePtr::NULL, TensorSlice::ptr),
            residual: residual.map_or(AnyPtr::NULL, |residual| residual.rows.ptr().any()),
            residual_gate: gate.map_or(DevicePtr::NULL, TensorSlice::ptr),
            out: out.ptr_mut().any(),
            x_strides: self.x_strides,
            residual_stride,
            out_stride,
            shares: self.shares as u32,
            rows: self.rows as u32,
            width: width as u32,
            groups: groups as u32,
            k: self.k as u32,
            activation,
            out_type: V::CODE,
            alpha,
            limit,
            offset,
            quant_scale: DevicePtr::NULL,
            mx_scales: AnyPtr::NULL,
            mx_stride: 0,
            groups_there: DevicePtr::NULL,
        };
        let most = options.rows.most_workgroups(call.device(), kernel.tile());
        let grid = grid(&kernel, [groups, width], most);
        call.submit(|stream| {
            // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
            unsafe { kernel.launch(stream, [grid, 1, 1], &args) }
        })
    }
}

/// Lanes of a wave.
const WAVE: u32 = 64;
