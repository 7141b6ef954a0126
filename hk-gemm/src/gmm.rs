//! Grouped products, such as of experts: rows belong to groups that follow each other, whose sizes the device
//! knows.
//!
//! [`gmm`] multiplies each group's rows by a matrix of its own: `out[r] = lhs[r] rhs[g] + bias[g]` for the rows
//! r of group g. [`ptgmm`] and [`nptgmm`] are what its gradient for these matrices takes:
//! `out[g] = sum_r lhs[., r] rhs[r]` over the group's rows, and `bias_grad[g] = sum_r lhs[., r]`; they differ in
//! how they are launched alone.
//!
//! | | |
//! |---|---|
//! | Shapes | `gmm`: lhs `(m, k)`, rhs `(groups, k, n)`, or `(groups, n, k)`, bias `(groups, n)` -> out `(m, n)`; `ptgmm`, `nptgmm`: lhs `(k, m)`, or `(m, k)`, rhs `(m, n)` -> out `(groups, k, n)`, bias_grad `(groups, k)`; group_sizes `(groups)`, each at least 0, at most m together; any sizes |
//! | Dtypes | lhs and rhs both bf16 or f16; out bf16, f16 or f32; bias any of the three; bias_grad f32; group_sizes i32 or i64 |
//! | Numerics | f32 sums, no chain of which is longer than 65,536, in order; one rounding at the end; bitwise deterministic |
//! | Hardware | cdna3, cdna4; each with tile configurations of its own |
//! | Source | MegaBlocks (arXiv 2211.15841), section 5; AITER `gmm`, `ptgmm`, `nptgmm` |
//!
//! ```
//! # #[cfg(feature = "cdna4")] {
//! use hk_gemm::{Device, GmmOptions, Tensor, bf16, gmm};
//!
//! let stream = Device::open("sim:mi355x")?.default_stream();
//! let lhs = [1.0, 2.0, 3.0].map(bf16::from_f32);
//! let lhs = Tensor::from_slice(&stream, &lhs, &[3, 1])?;
//! let rhs = Tensor::from_slice(&stream, &[10.0, 100.0].map(bf16::from_f32), &[2, 1, 1])?;
//! // One row, then two.
//! let sizes = Tensor::from_slice(&stream, &[1, 2], &[2])?;
//! let out: Tensor<f32> = gmm(&lhs, &rhs, &sizes, &GmmOptions::default())?;
//! assert_eq!(out.to_vec()?, [10.0, 200.0, 300.0]);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::{Real, Real16};
use hk_core::op::epilogue::{Extent, Lowered, Operand, Step};
use hk_core::op::grouped::Grouped;
use hk_core::op::indices::Indices;
use hk_core::op::product::{Matrices, Names, Product};
use hk_core::op::tiling::{MAX_CHAIN, Problem};
use hk_core::op::{Arguments, Call};
use hk_core::{Result, Tensor, TensorSlice};

use crate::KERNELS;

const CORE: &str = "grouped";

/// How an operand of a grouped product is given. Both of its last two dimensions may be the one whose
/// elements are adjacent, whatever its form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GroupedForm {
    /// rhs of [`gmm`] as `(groups, k, n)`, lhs of [`ptgmm`] and [`nptgmm`] as `(k, m)`.
    #[default]
    Plain,
    /// rhs of [`gmm`] as `(groups, n, k)`, lhs of [`ptgmm`] and [`nptgmm`] as `(m, k)`.
    Transposed,
}

/// What grouped products do besides.
#[derive(Debug, Clone, Default)]
pub struct GmmOptions<'a> {
    form: GroupedForm,
    bias: Option<Operand<'a>>,
    accumulate: bool,
    grid: Option<u32>,
    tile: Option<&'a str>,
    validate: Option<bool>,
}

impl<'a> GmmOptions<'a> {
    /// How rhs of [`gmm`], or lhs of the others, is given.
    #[must_use]
    pub fn form(mut self, form: GroupedForm) -> Self {
        self.form = form;
        self
    }

    /// Adds a vector of each group to each of its rows: `(groups, n)`, whose elements may be any distances
    /// apart. Of [`gmm`] alone.
    #[must_use]
    pub fn bias(mut self, bias: impl Into<Operand<'a>>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// Adds to what `out` holds, in f32, before the one rounding. Of [`ptgmm_into`] and [`nptgmm_into`]
    /// alone.
    #[must_use]
    pub fn accumulate(mut self) -> Self {
        self.accumulate = true;
        self
    }

    /// Launches so many workgroups, which take blocks in turn, instead of as many as the device holds: to
    /// leave compute units to others.
    #[must_use]
    pub fn grid(mut self, workgroups: u32) -> Self {
        self.grid = Some(workgroups);
        self
    }

    /// Takes the tile configuration of that name; see [`GemmOptions::tile`](crate::GemmOptions::tile).
    #[must_use]
    pub fn tile(mut self, tile: &'a str) -> Self {
        self.tile = Some(tile);
        self
    }

    /// Whether sizes are looked at before the launch, which waits for the stream. If nothing is said, they
    /// are on the simulator and in builds with debug assertions. Whatever they are, nothing outside of
    /// tensors is read or written: negative sizes count as 0, and rows from m on belong to no group.
    #[must_use]
    pub fn validate(mut self, validate: bool) -> Self {
        self.validate = Some(validate);
        self
    }

    /// Checks that the sizes are what they must be, if they are to be looked at.
    fn check_sizes(&self, call: &Call, sizes: Indices<'_>, m: u64) -> Result<()> {
        // Of no rows, nothing depends on the sizes.
        if m == 0 || !call.validates_indices(self.validate)? {
            return Ok(());
        }
        let most = i64::try_from(m).unwrap_or(i64::MAX);
        let mut left = most;
        let constraint = format!("at least 0, and at most {m} together");
        call.require_each("group_sizes", &sizes.to_vec()?, &constraint, |_, size| {
            let fits = (0..=left).contains(&size);
            // One that does not fit may be any number.
            left = left.saturating_sub(size);
            fits
        })
    }
}

/// Results of [`ptgmm`] and [`nptgmm`].
#[derive(Debug)]
pub struct Tgmm<Y: Real> {
    /// The products, `(groups, k, n)`.
    pub out: Tensor<Y>,
    /// The sums of lhs, `(groups, k)`.
    pub bias_grad: Tensor<f32>,
}

/// Where these go. Matrices, and rows of `out`, may be any distance apart.
#[derive(Debug)]
pub struct TgmmOut<'a, Y: Real> {
    /// The products, `(groups, k, n)`.
    pub out: &'a mut TensorSlice<Y>,
    /// The sums of lhs, `(groups, k)`, if they are wanted. They are not added to what it holds.
    pub bias_grad: Option<&'a mut TensorSlice<f32>>,
}

/// Multiplies the rows of each group by its matrix: `out[r, n] = sum_k lhs[r, k] rhs[g, k, n] + bias[g, n]`.
/// Rows behind the last group are zero. There is a launch for each 65,536 of k; between several, sums are in
/// a workspace of m n f32.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, or groups, n or k is 0; [`Error::Stride`] if
/// elements of a row of lhs are not adjacent, or sizes have gaps; [`Error::Value`] if sizes are negative or
/// more than m together, as far as they are [looked at](GmmOptions::validate), neither of the last two
/// dimensions of rhs has adjacent elements, the options ask for what there is not, or a stride is too long;
/// [`Error::NoTile`] if there is no tile of that name.
pub fn gmm<'s, T: Real16, Y: Real>(
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    group_sizes: impl Into<Indices<'s>>,
    options: &GmmOptions<'_>,
) -> Result<Tensor<Y>> {
    let rows = lhs.shape().first().copied().unwrap_or_default();
    let at = if options.form == GroupedForm::Plain { 2 } else { 1 };
    let columns = rhs.shape().get(at).copied().unwrap_or_default();
    let mut out = Tensor::zeros(lhs.stream(), &[rows, columns])?;
    gmm_into(lhs, rhs, group_sizes, options, &mut out)?;
    Ok(out)
}

/// As [`gmm`], into `out`, whose rows may be any distance apart. Rows behind the last group stay as they are.
///
/// # Errors
/// As [`gmm`]; [`Error::Shape`] or [`Error::Stride`] also if `out` is not `(m, n)` with such rows,
/// [`Error::Alias`] if it overlaps an operand.
pub fn gmm_into<'s, T: Real16, Y: Real>(
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    group_sizes: impl Into<Indices<'s>>,
    options: &GmmOptions<'_>,
    out: &mut TensorSlice<Y>,
) -> Result<()> {
    let most = Problem::MAX_SIZE as usize;
    let sizes = group_sizes.into();
    let mut args = Arguments::new("gmm");
    let x_row = args.input("lhs", lhs, &["m", "k"]).rows()?;
    args.limit("m", 0..=most)?;
    args.limit("k", 1..=most)?;
    let dims: &[&str] = match options.form {
        GroupedForm::Plain => &["batch", "k", "n"],
        GroupedForm::Transposed => &["batch", "n", "k"],
    };
    let [group, first, second] = args.input("rhs", rhs, dims).strides::<3>()?;
    args.limit("batch", 1..=most)?;
    args.limit("n", 1..=most)?;
    let [batch, m, n, k] = args.sizes(["batch", "m", "n", "k"])?.map(|size| size as u64);
    let (k_stride, n_stride) = match options.form {
        GroupedForm::Plain => (first, second),
        GroupedForm::Transposed => (second, first),
    };
    let by_k = n_stride == 1 || n == 1;
    let adjacent = by_k || k_stride == 1 || k == 1;
    args.require(adjacent, "rhs", "adjacent elements in rows or columns", n_stride)?;
    let list = sizes.declare(&mut args, "group_sizes", &["batch"])?;
    let mut steps = Lowered::batched();
    let chains = (k > MAX_CHAIN).then(|| Matrices::in_workspace::<f32>([m, n]));
    if let Some(chains) = &chains {
        steps.push_results(&args, chains, batch)?;
    }
    if let Some(bias) = options.bias {
        steps.push(&mut args, ["bias"; 3], Step::Add(bias, Extent::Columns, 1.0))?;
    }
    args.require(!options.accumulate, "accumulate", "false", true)?;
    args.require(options.grid != Some(0), "grid", "at least 1", 0)?;
    let y_row = args.output("out", out, &["m", "n"]).rows()?;
    let call = args.check()?;
    options.check_sizes(&call, sizes, m)?;

    let (rows, stride) = if by_k { ([k, n], k_stride) } else { ([n, k], n_stride) };
    let bits = [16; 2];
    let transposed = [false, by_k];
    let product = Product {
        variant: &format!("{}_{}", T::DTYPE.name(), if by_k { "tt" } else { "tn" }),
        x: Matrices::of(lhs, [0, x_row]),
        w: Matrices::of(rhs, [group, stride]).with_shape(rows),
        y: Matrices::of(out, [0, y_row]),
        problem: Problem { batch, m, n, k, transposed, bits, group: 1 },
        steps,
        tile: options.tile,
        ..product()
    };
    let grouped = Grouped {
        product,
        sizes: list,
        sums: false,
        upright: None,
        chains,
        bias: None,
        grid: options.grid,
        per_block: false,
    };
    grouped.launch(call)
}

/// Nothing yet.
fn product() -> Product<'static> {
    let nowhere = Matrices::in_workspace::<f32>([0; 2]);
    Product {
        kernels: &KERNELS,
        core: CORE,
        variant: "",
        scaled: false,
        names: Names { x: "lhs", w: "rhs", ..Names::PLAIN },
        x: nowhere,
        w: nowhere,
        y: nowhere,
        groups: None,
        blocks: [None; 2],
        prequant: None,
        gate: None,
        accumulate: None,
        split_cat: None,
        encode: None,
        problem: Problem::NONE,
        steps: Lowered::default(),
        splits: None,
        tile: None,
    }
}

/// The products of each group's rows: `out[g, k, n] = sum_r lhs[k, r] rhs[r, n]`, and
/// `bias_grad[g, k] = sum_r lhs[k, r]`, both 0 where there are none. As many workgroups as the device
/// holds take blocks in turn.
///
/// # Errors
/// [`Error::Shape`] if the operands do not fit together, or groups, n or k is 0; [`Error::Stride`] if elements
/// of a row of rhs are not adjacent, or sizes have gaps; [`Error::Value`] if sizes are negative or more than m
/// together, as far as they are [looked at](GmmOptions::validate), neither dimension of lhs has adjacent
/// elements, the options ask for what there is not, or a stride is too long; [`Error::NoTile`] if there is no
/// tile of that name.
pub fn ptgmm<'s, T: Real16, Y: Real>(
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    group_sizes: impl Into<Indices<'s>>,
    options: &GmmOptions<'_>,
) -> Result<Tgmm<Y>> {
    sums_of_new("ptgmm", lhs, rhs, group_sizes.into(), options)
}

/// As [`ptgmm`], into given tensors, and perhaps without the sums of lhs.
///
/// # Errors
/// As [`ptgmm`]; [`Error::Shape`] or [`Error::Stride`] also if a result has the wrong shape or no
/// such rows, [`Error::Alias`] if it overlaps the other one or an operand.
pub fn ptgmm_into<'s, T: Real16, Y: Real>(
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    group_sizes: impl Into<Indices<'s>>,
    options: &GmmOptions<'_>,
    out: TgmmOut<'_, Y>,
) -> Result<()> {
    sums(("ptgmm", false), lhs, rhs, group_sizes.into(), options, out)
}

/// As [`ptgmm`], with a workgroup for each block.
///
/// # Errors
/// As [`ptgmm`].
pub fn nptgmm<'s, T: Real16, Y: Real>(
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    group_sizes: impl Into<Indices<'s>>,
    options: &GmmOptions<'_>,
) -> Result<Tgmm<Y>> {
    sums_of_new("nptgmm", lhs, rhs, group_sizes.into(), options)
}

/// As [`nptgmm`], into given tensors, and perhaps without the sums of lhs.
///
/// # Errors
/// As [`ptgmm_into`].
pub fn nptgmm_into<'s, T: Real16, Y: Real>(
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    group_sizes: impl Into<Indices<'s>>,
    options: &GmmOptions<'_>,
    out: TgmmOut<'_, Y>,
) -> Result<()> {
    sums(("nptgmm", true), lhs, rhs, group_sizes.into(), options, out)
}

fn sums_of_new<T: Real16, Y: Real>(
    op: &'static str,
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    sizes: Indices<'_>,
    options: &GmmOptions<'_>,
) -> Result<Tgmm<Y>> {
    let args = Arguments::new(op);
    args.require(!options.accumulate, "accumulate", "false for new results", true)?;
    let at = usize::from(options.form == GroupedForm::Transposed);
    let k = lhs.shape().get(at).copied().unwrap_or_default();
    let n = rhs.shape().get(1).copied().unwrap_or_default();
    let mut out = Tensor::empty(lhs.stream(), &[sizes.len(), k, n])?;
    let mut bias_grad = Tensor::empty(lhs.stream(), &[sizes.len(), k])?;
    let to = TgmmOut { out: &mut out, bias_grad: Some(&mut bias_grad) };
    sums((op, op == "nptgmm"), lhs, rhs, sizes, options, to)?;
    Ok(Tgmm { out, bias_grad })
}

fn sums<T: Real16, Y: Real>(
    (op, per_block): (&'static str, bool),
    lhs: &TensorSlice<T>,
    rhs: &TensorSlice<T>,
    sizes: Indices<'_>,
    options: &GmmOptions<'_>,
    to: TgmmOut<'_, Y>,
) -> Result<()> {
    let most = Problem::MAX_SIZE as usize;
    let TgmmOut { out, bias_grad } = to;
    let mut args = Arguments::new(op);
    let dims: &[&str] = match options.form {
        GroupedForm::Plain => &["k", "m"],
        GroupedForm::Transposed => &["m", "k"],
    };
    let [first, second] = args.input("lhs", lhs, dims).strides::<2>()?;
    args.limit("m", 0..=most)?;
    args.limit("k", 1..=most)?;
    let w_row = args.input("rhs", rhs, &["m", "n"]).rows()?;
    args.limit("n", 1..=most)?;
    let list = sizes.declare(&mut args, "group_sizes", &["batch"])?;
    args.limit("batch", 1..=most)?;
    let [batch, m, n, k] = args.sizes(["batch", "m", "n", "k"])?.map(|size| size as u64);
    let (k_stride, m_stride) = match options.form {
        GroupedForm::Plain => (first, second),
        GroupedForm::Transposed => (second, first),
    };
    let by_rows = k_stride == 1 || k == 1;
    let adjacent = by_rows || m_stride == 1 || m <= 1;
    args.require(adjacent, "lhs", "adjacent elements in rows or columns", k_stride)?;
    args.require(options.bias.is_none(), "bias", "none", "one")?;
    args.require(options.grid != Some(0), "grid", "at least 1", 0)?;
    let [y_group, y_row, _] = args.output("out", out, &["batch", "k", "n"]).adjacent::<3>()?;
    let y = Matrices::of(out, [y_group, y_row]);
    let mut steps = Lowered::batched();
    if options.accumulate {
        steps.push_results(&args, &y, batch)?;
    }
    let dtype = T::DTYPE.name();
    let bias_variant = format!("{dtype}_bias");
    let bias = match bias_grad {
        None => None,
        Some(bias) => {
            args.output("bias_grad", bias, &["batch", "k"]).contiguous()?;
            Some((bias.ptr_mut(), bias_variant.as_str()))
        }
    };
    let call = args.check()?;
    options.check_sizes(&call, sizes, m)?;

    let stored = Matrices::of(lhs, [0, if by_rows { m_stride } else { k_stride }]);
    let (x, upright) = match by_rows {
        true => (stored.with_shape([m, k]), None),
        false => {
            let x = Matrices::in_workspace::<T>([m, k]);
            (x.padded(), Some(stored.with_shape([k, m])))
        }
    };
    let (transposed, bits) = ([true; 2], [16; 2]);
    let product = Product {
        variant: &format!("{dtype}_sums"),
        x,
        w: Matrices::of(rhs, [0, w_row]),
        y,
        problem: Problem { batch, m: k, n, k: m, transposed, bits, group: 1 },
        steps,
        tile: options.tile,
        ..product()
    };
    let grouped = Grouped {
        product,
        sizes: list,
        sums: true,
        upright,
        chains: None,
        bias,
        grid: options.grid,
        per_block,
    };
    grouped.launch(call)
}
