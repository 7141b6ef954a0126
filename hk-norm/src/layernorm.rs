//! Normalisation of rows to mean zero and variance one,
//! `y[i,j] = (h[i,j] - mean[i]) rstd[i] weight[j] + bias[j]` with `mean[i] = mean_j h[i,j]` and
//! `rstd[i] = 1 / sqrt(mean_j (h[i,j] - mean[i])^2 + eps)`.
//!
//! `h` is `x`, or, in the fused op, `x + residual` rounded to the element type, which is stored too.
//! Without a weight or bias, these are ones or zeros: `None::<&Tensor<f32>>`. Of a row with NaN or an
//! infinity, all of y and rstd are NaN; what its mean is is not specified.
//!
//! | | |
//! |---|---|
//! | Shapes | x `[.., n]`, weight and bias `[n]` -> y `[.., n]`; any n >= 1, rows any distance apart |
//! | Dtypes | x bf16, f16, f32; weight and bias each bf16, f16, f32, whatever x is; y as x |
//! | Numerics | f32 throughout, centred before it is squared, rounded once at the store; a constant row gives the bias exactly; bitwise deterministic |
//! | Hardware | cdna3, cdna4 |
//! | Source | Ba, Kiros and Hinton, "Layer Normalization" (2016) |
//!
//! ```
//! # #[cfg(feature = "cdna3")] {
//! use hk_norm::{Device, RowOptions, Tensor, layernorm};
//!
//! let stream = Device::open("sim:mi325x")?.default_stream();
//! let x = Tensor::from_slice(&stream, &[1.0f32, 3.0, 7.0, 7.0], &[2, 2])?;
//! let weight = Tensor::from_slice(&stream, &[2.0f32, 3.0], &[2])?;
//! let bias = Tensor::from_slice(&stream, &[0.5f32, -1.0], &[2])?;
//! let y = layernorm(&x, Some(&weight), Some(&bias), 1e-12, &RowOptions::default())?;
//! approx::assert_abs_diff_eq!(y.to_vec()?[..], [-1.5, 2.0, 0.5, -1.0], epsilon = 1e-6);
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

/// Where [`layernorm_into`] stores.
#[derive(Debug)]
pub struct LayernormOut<'a, T: Real> {
    /// The normalised rows, in the shape of x; may be x.
    pub y: &'a mut TensorSlice<T>,
    /// The mean of every row, in the shape of x without its last dimension, without gaps.
    pub mean: Option<&'a mut TensorSlice<f32>>,
    /// `1 / sqrt(variance + eps)` of every row, in that shape, without gaps.
    pub rstd: Option<&'a mut TensorSlice<f32>>,
}

/// What [`fused_add_layernorm`] returns.
#[derive(Debug)]
pub struct FusedAddLayernorm<T: Real> {
    /// The normalised rows.
    pub y: Tensor<T>,
    /// `x + residual`, rounded to the element type.
    pub residual_out: Tensor<T>,
}

/// Where [`fused_add_layernorm_into`] stores.
#[derive(Debug)]
pub struct FusedAddLayernormOut<'a, T: Real> {
    /// The normalised rows, in the shape of x; may be x.
    pub y: &'a mut TensorSlice<T>,
    /// `x + residual`, rounded to the element type; may be the residual.
    pub residual_out: &'a mut TensorSlice<T>,
    /// As [`LayernormOut::mean`], of the sum.
    pub mean: Option<&'a mut TensorSlice<f32>>,
    /// As [`LayernormOut::rstd`], of the sum.
    pub rstd: Option<&'a mut TensorSlice<f32>>,
}

/// Normalises the rows of `x` to mean zero and variance one, scales the columns by `weight` and adds
/// `bias`.
///
/// `eps` is added to the variance, in units of x squared; 1e-5 is usual.
///
/// # Errors
/// [`Error::Shape`] if `weight` or `bias` is not as long as a row or rows are empty,
/// [`Error::Stride`] if rows are not evenly spaced, [`Error::Value`] if `eps` is not positive and
/// finite, or the tile does not take such rows, and [`Error::NoTile`] if there is no tile of that name.
pub fn layernorm<T: Real, W: Real, B: Real>(
    x: &TensorSlice<T>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
) -> Result<Tensor<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    let out = LayernormOut { y: &mut *y, mean: None, rstd: None };
    layernorm_into(x, weight, bias, eps, options, out)?;
    Ok(y)
}

/// As [`layernorm`], into given tensors.
///
/// # Errors
/// As [`layernorm`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`LayernormOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn layernorm_into<T: Real, W: Real, B: Real>(
    x: &TensorSlice<T>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
    out: LayernormOut<'_, T>,
) -> Result<()> {
    launch(x, None, weight, bias, eps, options, out)
}

/// As [`layernorm`], into `x`.
///
/// # Errors
/// As [`layernorm`].
pub fn layernorm_inplace<T: Real, W: Real, B: Real>(
    x: &mut TensorSlice<T>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    let out = LayernormOut { y: &mut *y, mean: None, rstd: None };
    layernorm_into(&x, weight, bias, eps, options, out)
}

/// Adds `residual` to `x`, and normalises the sum, which is rounded before, as [`layernorm`] does.
///
/// # Errors
/// As [`layernorm`]; [`Error::Shape`] also if `residual` has another shape than `x`.
pub fn fused_add_layernorm<T: Real, W: Real, B: Real>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<T>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
) -> Result<FusedAddLayernorm<T>> {
    let mut y = Tensor::empty(x.stream(), x.shape())?;
    let mut residual_out = Tensor::empty(x.stream(), x.shape())?;
    let out = FusedAddLayernormOut {
        y: &mut *y,
        residual_out: &mut *residual_out,
        mean: None,
        rstd: None,
    };
    fused_add_layernorm_into(x, residual, weight, bias, eps, options, out)?;
    Ok(FusedAddLayernorm { y, residual_out })
}

/// As [`fused_add_layernorm`], into given tensors.
///
/// # Errors
/// As [`fused_add_layernorm`]; [`Error::Shape`] or [`Error::Stride`] also if an output is not as
/// [`FusedAddLayernormOut`] says, and [`Error::Alias`] if one overlaps another argument otherwise.
pub fn fused_add_layernorm_into<T: Real, W: Real, B: Real>(
    x: &TensorSlice<T>,
    residual: &TensorSlice<T>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
    out: FusedAddLayernormOut<'_, T>,
) -> Result<()> {
    let FusedAddLayernormOut { y, residual_out, mean, rstd } = out;
    let fused = Some((residual, residual_out));
    launch(x, fused, weight, bias, eps, options, LayernormOut { y, mean, rstd })
}

/// As [`fused_add_layernorm`], with the normalised rows into `x`, and the sum into `residual`.
///
/// # Errors
/// As [`fused_add_layernorm`]; [`Error::Alias`] also if the two overlap.
pub fn fused_add_layernorm_inplace<T: Real, W: Real, B: Real>(
    x: &mut TensorSlice<T>,
    residual: &mut TensorSlice<T>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
) -> Result<()> {
    let (x, mut y) = x.in_place();
    let (residual, mut sum) = residual.in_place();
    let out = FusedAddLayernormOut { y: &mut *y, residual_out: &mut *sum, mean: None, rstd: None };
    fused_add_layernorm_into(&x, &residual, weight, bias, eps, options, out)
}

kernel_args! {
    /// Arguments of the kernels, as `kernels/layernorm.hip` declares them.
    pub(crate) struct LayernormArgs {
        pub(crate) x: AnyPtr,
        pub(crate) residual: AnyPtr,
        pub(crate) weight: AnyPtr,
        pub(crate) bias: AnyPtr,
        pub(crate) y: AnyPtr,
        pub(crate) residual_out: AnyPtr,
        pub(crate) mean: DevicePtr<f32>,
        pub(crate) rstd: DevicePtr<f32>,
        pub(crate) x_stride: i64,
        pub(crate) residual_stride: i64,
        pub(crate) y_stride: i64,
        pub(crate) residual_out_stride: i64,
        pub(crate) rows: u32,
        pub(crate) width: u32,
        pub(crate) weight_type: u32,
        pub(crate) bias_type: u32,
        pub(crate) eps: f32,
    }
}

fn launch<T: Real, W: Real, B: Real>(
    x: &TensorSlice<T>,
    mut fused: Option<(&TensorSlice<T>, &mut TensorSlice<T>)>,
    weight: Option<&TensorSlice<W>>,
    bias: Option<&TensorSlice<B>>,
    eps: f32,
    options: &RowOptions<'_>,
    mut out: LayernormOut<'_, T>,
) -> Result<()> {
    let op = if fused.is_some() { "fused_add_layernorm" } else { "layernorm" };
    let mut args = Arguments::new(op);
    let x_stride = args.input("x", x, ROWS).may_be("y").rows()?;
    if let Some(weight) = weight {
        args.input("weight", weight, &["n"]).contiguous()?;
    }
    if let Some(bias) = bias {
        args.input("bias", bias, &["n"]).contiguous()?;
    }
    let [mut residual_stride, mut residual_out_stride] = [0; 2];
    if let Some((residual, sum)) = &mut fused {
        residual_stride = args.input("residual", residual, ROWS).may_be("residual_out").rows()?;
        residual_out_stride = args.output("residual_out", sum, ROWS).rows()?;
    }
    let y_stride = args.output("y", out.y, ROWS).rows()?;
    for (name, stored) in [("mean", &mut out.mean), ("rstd", &mut out.rstd)] {
        if let Some(stored) = stored {
            args.output(name, stored, &[".."]).contiguous()?;
        }
    }
    args.require(eps > 0.0 && eps.is_finite(), "eps", "positive and finite", eps)?;
    let [rows, width] = options.check(&args)?;
    let call = args.check()?;

    let stride = x_stride.max(residual_stride).max(residual_out_stride).max(y_stride);
    let variant = [if fused.is_some() { "add_" } else { "" }, T::DTYPE.name()].concat();
    let core = ("layernorm", &*variant);
    let mut kernel = options.kernel(&call, &KERNELS, core, width, stride)?;
    // Rows that are added to are fastest so, as those of `rmsnorm` are.
    if fused.is_some() {
        kernel = kernel.for_all_rows();
    }
    let (residual, sum) = fused.unzip();
    let args = LayernormArgs {
        x: x.ptr().any(),
        residual: residual.map_or(AnyPtr::NULL, |residual| residual.ptr().any()),
        weight: weight.map_or(AnyPtr::NULL, |weight| weight.ptr().any()),
        bias: bias.map_or(AnyPtr::NULL, |bias| bias.ptr().any()),
        y: out.y.ptr().any(),
        residual_out: sum.map_or(AnyPtr::NULL, |sum| sum.ptr().any()),
        mean: out.mean.map_or(DevicePtr::NULL, TensorSlice::ptr_mut),
        rstd: out.rstd.map_or(DevicePtr::NULL, TensorSlice::ptr_mut),
        x_stride,
        residual_stride,
        y_stride,
        residual_out_stride,
        rows: rows as u32,
        width: width as u32,
        weight_type: W::CODE,
        bias_type: B::CODE,
        eps,
    };
    // SAFETY: the kernel reads and writes rows of the shapes and strides that were checked.
    unsafe { kernel.launch(call, rows, &args) }
}
