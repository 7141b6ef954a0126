//! Root-mean-square normalisation of rows:
//! `y[i,j] = h[i,j] / sqrt(mean_j h[i,j]^2 + eps) * (weight[j] + weight_offset)`.
//!
//! `h` is `x`, or, in the fused op, `x + residual` rounded to the element type, which is stored too.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]`, weight `[n]` -> y `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; weight bf16, f16, f32, whatever x is; y as x |
//! | Numerics | f32 throughout, rounded once at the store; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RmsnormOptions, Tensor, fused_add_rmsnorm};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let [x, residual, weight] =
//!     [[2.0f32, 3.0], [1.0, 1.0], [1.0, 2.0]].map(|v| Tensor::from_slice(&stream, &v, &[2]));
//! let (x, residual) = (x?, residual?);
//! let out = fused_add_rmsnorm(&x, &residual, &weight?, 1e-12, &RmsnormOptions::default())?;
//! assert_eq!(out.residual_out.to_vec()?, [3.0, 4.0]);
//! approx::assert_abs_diff_eq!(out.y.to_vec()?[..], [0.848_528, 2.262_742], epsilon = 1e-6);
//! # }
//! # Ok::<(), hk_core::Error>(())
//! ```

#[cfg(doc)]
use hk_core::Error;
use hk_core::dtype::Real;
use hk_core::op::Arguments;
use hk_core::op::rows::{ROWS, RowOptions};
use hk_core::{AnyPtr, DevicePtr, Result, Tensor, TensorSlice, kernel_args};

use crate::KERNELS;

/// What [`rmsnorm`] and [`fused_add_rmsnorm`] do besides the default.
#[derive(Debug, Clone, Copy, Default)]
pub struct RmsnormOptions<'a> {
    weight_offset: f32,
    rows: RowOptions<'a>,
}

impl<'a> RmsnormOptions<'a> {
    /// Adds a number to each weight: 1 for weights that are stored centred at zero, as those of
    /// Gemma and Qwen3-Next are. 0 if not given.
    #[must_use]
    pub fn weight_offset(mut self, offset: f32) -> Self {
        self.weight_offset = offset;
        self
    }

    /// How the kernel is launched.
    #[must_use]
    pub fn rows(mut self, rows: RowOptions<'a>) -> Self {
        self.rows = rows;
        self
    }
}

/// Where [`rmsnorm_into`] stores.
#[derive(Debug)]
pub struct RmsnormOut<'a, T: Real> {
    /// The normalised rows, in the shape of x; may be x.
    pub y: &'a mut TensorSlice<T>,
    /// `1 / sqrt(mean_j x[i,j]^2 + eps)` of every row, in the shape of x without its last dimension,
    /// without gaps.
    pub rstd: Option<&'a mut TensorSlice<f32>>,
}

/// What [`fused_add_rmsnorm`] returns.
#[derive(Debug)]
pub struct FusedAddRmsnorm<T: Real> {
    /// The normalised rows.
    pub y: Tensor<T>,
    /// `x + residual`, rounded to the element type.
    pub residual_out: Tensor<T>,
}

/// Where [`fused_add_rmsnorm_into`] stores.
#[derive(Debug)]
pub struct FusedAddRmsnormOut<'a, T: Real> {
    /// The normalised rows, in the shape of x; may be x.
    pub y: &'a mut TensorSlice<T>,
    /// `x + residual`, rounded to the element type; may be the residual.
    pub residual_out: &'a mut TensorSlice<T>,
    /// As [`RmsnormOut::rstd`], of the sum.
    pub rstd: Option<&'a mut TensorSlice<f32>>,
}

/// Normalises the rows of `x` to a root mean square of one, and scales the columns by `weight`.
///
/// `eps` is added to the mean of squares, in units of x squared.
///
/// # Errors
/// [`Error::Shape`] if `weight` is not as long as a row or rows are empty, [`Error::Stride`] if rows
/// are not evenly spaced, [`Error::Value`] if `eps` is not positive and finite, or the tile does not
/// hold rows so long, and [`Error::NoTile`] if there is no tile of that name.
pub fn rmsnorm<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    rmsnorm_into(x, weight, eps, options, RmsnormOut { y: &mut y, rstd: None })?;
    Ok(y)
}

/// As [`rmsnorm`], into given tensors.
///
/// # Errors
/// As [`rmsnorm`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`RmsnormOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn rmsnorm_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
    out: RmsnormOut<'_, T>,
) -> Result<()> {
    launch("rmsnorm", x, None, weight, eps, options, out)
}

/// As [`rmsnorm`], into `x`.
///
/// # Errors
/// As [`rmsnorm`].
pub fn rmsnorm_inplace<T: Real, W: Real>(
    x: &mut TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    rmsnorm_into(&x, weight, eps, options, RmsnormOut { y: &mut y, rstd: None })
}

/// Adds `residual` to `x`, and normalises the sum, which is rounded before, as [`rmsnorm`] does.
///
/// # Errors
/// As [`rmsnorm`]; [`Error::Shape`] also if `residual` has another shape than `x`.
pub fn fused_add_rmsnorm<T: Real, W: Real>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
) -> Result<FusedAddRmsnorm<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    let mut residual_out = Tensor::empty(x.stream(), x.shape())?;
    let out = FusedAddRmsnormOut { y: &mut y, residual_out: &mut residual_out, rstd: None };
    fused_add_rmsnorm_into(x, residual, weight, eps, options, out)?;
    Ok(FusedAddRmsnorm { y, residual_out })
}

/// As [`fused_add_rmsnorm`], into given tensors.
///
/// # Errors
/// As [`fused_add_rmsnorm`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`FusedAddRmsnormOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn fused_add_rmsnorm_into<T: Real, W: Real>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
    out: FusedAddRmsnormOut<'_, T>,
) -> Result<()> {
    let FusedAddRmsnormOut { y, residual_out, rstd } = out;
    let fused = Some((residual, residual_out));
    launch("fused_add_rmsnorm", x, fused, weight, eps, options, RmsnormOut { y, rstd })
}

/// As [`fused_add_rmsnorm`], with the normalised rows into `x`, and the sum into `residual`.
///
/// # Errors
/// As [`fused_add_rmsnorm`]; [`Error::Alias`] also if the two overlap.
pub fn fused_add_rmsnorm_inplace<T: Real, W: Real>(
    x: &mut TensorSlice<T>,
    residual: &mut TensorSlice<T>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    let (residual, mut sum) = residual.in_place();
    let out = FusedAddRmsnormOut { y: &mut y, residual_out: &mut sum, rstd: None };
    fused_add_rmsnorm_into(&x, &residual, weight, eps, options, out)
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/rmsnorm.hip` declares them.
    pub(crate) struct RmsnormArgs {
        pub(crate) x: AnyPtr,
        pub(crate) residual: AnyPtr,
        pub(crate) weight: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) residual_out: AnyPtr,
        pub(crate) rstd: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) residual_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) residual_out_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) weight_type: u32,
        pub(crate) eps: f32,
        pub(crate) weight_offset: f32,
    }
}

fn launch<T: Real, W: Real>(
    op: &'static str,
    x: &TensorSlice<T>,
    mut fused: Option<(&TensorSlice<T>, &mut TensorSlice<T>)>,
    weight: &TensorSlice<W>,
    eps: f32,
    options: &RmsnormOptions<'_>,
    mut out: RmsnormOut<'_, T>,
) -> Result<()> {
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).may_be("y").rows()?;
    args.input("weight", weight, &["n"]).contiguous()?;
    let [mut residual_stride, mut residual_out_stride] = [0; 2];
    if let Some((residual, sum)) = &mut fused {
        residual_stride = args.input("residual", residual, ROWS).may_be("residual_out").rows()?;
        residual_out_stride = args.output("residual_out", sum, ROWS).rows()?;
    }
    let y_stride = args.output("y", out.y, ROWS).rows()?;
    if let Some(rstd) = &mut out.rstd {
        args.output("rstd", rstd, &[".."]).contiguous()?;
    }
    args.require(eps > 0.0 && eps.is_finite(), "eps", "positive and finite", eps)?;
    let [rows, width] = options.rows.check(&args)?;
    let call = args.check()?;

    let stride = x_stride.max(residual_stride).max(residual_out_stride).max(y_stride);
    let variant = [if fused.is_some() { "add_" } else { "" }, T::DTYPE.name()].concat();
    let core = ("rmsnorm", &*variant);
    let mut kernel = options.rows.kernel(&call, &KERNELS, core, width, stride)?;
    // Rows that are added to are fastest so.
    if fused.is_some() {
        kernel = kernel.for_all_rows();
    }
    let (residual, sum) = fused.unzip();
    let args = RmsnormArgs {
        x: x.ptr().any(),
        residual: residual.map_or(AnyPtr::NULL, |residual| residual.ptr().any()),
        weight: weight.ptr().any(),
        y: out.y.ptr().any(),
        residual_out: sum.map_or(AnyPtr::NULL, |sum| sum.ptr().any()),
        rstd: out.rstd.map_or(DevicePtr::NULL, TensorSlice::ptr_mut),
        x_stride,
        residual_stride,
        y_stride,
        residual_out_stride,
        rows: rows as u32,
        width: width as u32,
        weight_type: W::CODE,
        eps,
        weight_offset: options.weight_offset,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
